"""Wikimedia in a box: a little world, its books, and a server that speaks for it."""
