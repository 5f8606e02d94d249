"""``python -m twiki``: the command, where its script is not on the path."""

from twiki.cli import main

main()
