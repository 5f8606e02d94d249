"""Windows: cut from the state, reconciled with dumps, written as datasets."""
