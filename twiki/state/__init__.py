"""State: what is kept of every page and entity so that it can be read as of a boundary."""
