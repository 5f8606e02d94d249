"""The core: state, windows and datasets of what changed in Wikipedia and Wikidata."""
