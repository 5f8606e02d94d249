"""Lines of expanded wikitext → paragraphs, list items and headings.

A blank line ends a paragraph, every list line is one of its own, ``;term : meaning`` is two.
What is left of broken tables is dropped by line.
"""

import re
from collections.abc import Generator, Iterator

from twiki.records import ParagraphKind
from twiki.text.inline import GONE, NOTE

_HEADING = re.compile(r"(={1,6})([^\n]+?)\1[^\S\n]*\Z")
_TERM = re.compile(r"\s:\s?|:\s")
_RULE = re.compile(r"-{4,}")


def paragraphs(text: str) -> Iterator[tuple[ParagraphKind, str]]:
    """The paragraphs of a text whose templates and links are expanded, in reading order."""
    open_lines: list[str] = []
    table = False
    for raw in text.split("\n"):
        line = raw.strip()
        if line and not line.strip(f"{NOTE} "):
            continue  # a line of references alone does not end the paragraph
        kind = ParagraphKind.PROSE
        parts: list[str] = []
        first = line[:1]
        if table or first in ("{", "|"):
            table, dropped = _table_line(line, table)
            line = "" if dropped else line
        if first == "=" and (heading := _HEADING.match(line)):
            kind, parts = ParagraphKind.HEADING, [heading[2].strip(" =")]
        elif line and first in "*#:;":
            kind, parts = ParagraphKind.ITEM, _item(line)
        elif first == "-" and (rule := _RULE.match(line)):
            open_lines = yield from _flush(open_lines)
            line = line[rule.end() :].strip()
        if parts or not line.strip(f"{GONE}{NOTE} "):
            open_lines = yield from _flush(open_lines)
            yield from ((kind, part) for part in parts)
        else:
            open_lines.append(line)
    yield from _flush(open_lines)


def _flush(lines: list[str]) -> Generator[tuple[ParagraphKind, str], None, list[str]]:
    if lines:
        yield ParagraphKind.PROSE, " ".join(lines)
    return []


def _item(line: str) -> list[str]:
    marks = len(line) - len(line.lstrip("*#:;"))
    rest = line[marks:].strip()
    if line[marks - 1] == ";" and (colon := _TERM.search(rest)):
        return [rest[: colon.start()], rest[colon.end() :]]
    return [rest]


def _table_line(line: str, table: bool) -> tuple[bool, bool]:
    """Whether a table is open after ``line``, and whether the line belongs to one."""
    if line.startswith("{|"):
        return True, True
    if line.startswith("|}"):
        return False, True
    return table, line.startswith("|") or (table and line.startswith("!"))
