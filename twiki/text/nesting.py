"""What encloses what in wikitext: one linear pass over its opening and closing marks.

Templates, links, tables, comments and raw tags nest; :func:`scan` finds the outermost of
them and the positions outside of all where a block may start. A closing ``}}`` or ``|}``
closes the innermost opening of its kind, and whatever opened after that opened nothing; a
``]]`` closes only a link that is innermost. What is never closed opens nothing either
(MediaWiki shows it as text), except a comment, which hides the rest of the page. Example::

    scan("a [[b|{{c}}]]\n\nd").spans  ->  [(LINK, 2, 13)]
"""

import re
from typing import NamedTuple

RAW_TAGS = (
    "ref|nowiki|math|gallery|pre|source|syntaxhighlight|poem|timeline|hiero|imagemap|score|chem|ce"
    "|graph|mapframe|maplink|templatedata|templatestyles|inputbox|categorytree|section|includeonly"
    "|indicator|phonos|charinsert|langconvert"
)
"""Tags whose content is theirs alone: markup in it opens and closes nothing outside."""

# One token a match: what lies before it (text, and links, templates and references without
# inner markup) is skipped inside the match, at the speed of the regex engine. Possessive
# repetition and the final \Z keep it linear on any input.
_TOKEN = re.compile(
    r"""
    (?: [^{}\[\]<\n]++
      | \n(?![ \t]*+\n|[*\#:;=])
      | \[\[[^{}\[\]<>\n]++\]\]
      | \{\{[^{}\[\]<>\n]++\}\}
      | <ref(?:\s[^<>\n]*+)?(?<=/)>
      | <(?!!--|/?(?:"""
    + RAW_TAGS
    + r"""|table)\b)
      | \[(?!\[) | \[\[(?=[^{}\[\]<>|\n]*+\n) | \](?!\])
      | \{(?![{|]) | (?<!\|)\}(?!\})
    )*+
    (?: (\n(?:[ \t]*+\n)*+)        # 1
      | (\{\{)                     # 2
      | (\}\})                     # 3
      | (\[\[)                     # 4
      | (\]\])                     # 5
      | <(?:(!--)                  # 6
        | (/)?+                    # 7
          ([a-z]++) )              # 8
      | (\{\|)                     # 9
      | (\})                       # 10
      | \Z )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BLANK = re.compile(r"\n(?:[ \t]*+\n)*+|\Z")
_OPEN_TAG = re.compile(r"<[a-z]++(?:\s[^<>]*+|/?+)>", re.IGNORECASE)
_LINE_START = re.compile(r"(?:[^\n]*-->)?[ \t:]*\Z")
_REACH = 200
"""How far back a line may start for a table mark to count as first on it."""
_CLOSE_TAG = {name: re.compile(rf"</{name}\s*+>", re.IGNORECASE) for name in RAW_TAGS.split("|")}

_LIST = tuple("*#:;")
(
    _NEWLINE,
    _BRACES,
    _BRACES_END,
    _BRACKETS,
    _BRACKETS_END,
    _COMMENT,
    _TAG_SLASH,
    _TAG_NAME,
    _TABLE,
    _TABLE_END,
) = range(1, 11)

TEMPLATE, LINK, TABLE, HTML_TABLE, COMMENT, TAG = range(6)


class Scan(NamedTuple):
    """``cuts``: where a block starts. ``spans``: outermost (kind, start, end) that hold inner
    markup or a newline. ``loose``: something is left open or was closed without opening."""

    cuts: list[int]
    spans: list[tuple[int, int, int]]
    loose: bool


def scan(text: str) -> Scan:
    """Find the outermost constructs of ``text``, block starts outside them, and loose ends."""
    cuts: list[int] = []
    spans: list[tuple[int, int, int]] = []
    stack: list[tuple[int, int]] = []
    opened = [0, 0, 0, 0]
    absent: set[str] = set()
    loose = False
    skip = 0
    if text.startswith("=") and (stop := heading_end(text, 0)):
        cuts.append(stop)

    def close(kind: int, end: int) -> bool:
        if not opened[kind]:
            return True
        while True:
            top, start = stack.pop()
            opened[top] -= 1
            if top == kind:
                break
        while cuts and cuts[-1] > start:
            cuts.pop()
        while spans and spans[-1][1] > start:
            spans.pop()
        spans.append((kind, start, end))
        return False

    for match in _TOKEN.finditer(text):
        group = match.lastindex
        if group is None:
            break
        start, end = match.span(group)
        if start < skip:
            continue
        if group == _NEWLINE:
            follow = text[end : end + 1]
            if follow == "=" and (stop := heading_end(text, end)):
                if not cuts or cuts[-1] < end:
                    cuts.append(end)
                cuts.append(stop)
            elif (end - start > 1 or follow in _LIST) and (not cuts or cuts[-1] < end):
                cuts.append(end)
        elif group == _BRACES:
            stack.append((TEMPLATE, start))
            opened[TEMPLATE] += 1
        elif group == _BRACES_END:
            loose |= close(TEMPLATE, end)
        elif group == _BRACKETS:
            stack.append((LINK, start))
            opened[LINK] += 1
        elif group == _BRACKETS_END:
            loose |= not (stack and stack[-1][0] == LINK) or close(LINK, end)
        elif group == _COMMENT:
            found = text.find("-->", end)
            loose |= found < 0
            skip = len(text) if found < 0 else found + 3
            spans.append((COMMENT, start - 1, skip))
        elif group == _TAG_NAME:
            name = match[group].lower()
            start -= 2 if match[_TAG_SLASH] else 1
            if name == "table":
                if match[_TAG_SLASH]:
                    shut = text.find(">", end, end + _REACH) + 1
                    loose |= close(HTML_TABLE, shut or len(text))
                else:
                    stack.append((HTML_TABLE, start))
                    opened[HTML_TABLE] += 1
            elif match[_TAG_SLASH]:
                loose = True
            elif tag := _OPEN_TAG.match(text, start):
                shut = tag.end()
                if text[shut - 2] != "/":
                    closing = None if name in absent else _CLOSE_TAG[name].search(text, shut)
                    if closing is None:
                        absent.add(name)
                        loose = True
                        continue
                    shut = closing.end()
                skip = shut
                spans.append((TAG, start, shut))
        elif group == _TABLE:
            if _starts_line(text, start):
                stack.append((TABLE, start))
                opened[TABLE] += 1
        elif _starts_line(text, start - 1):
            loose |= close(TABLE, end)
    return Scan([c for c in cuts if c < len(text)], spans, loose or bool(stack))


def heading_end(text: str, start: int) -> int:
    """End of the heading line at ``start`` with the blank lines after it; 0: it is none."""
    stop = text.find("\n", start)
    line = text[start : stop if stop >= 0 else len(text)].rstrip(" \t")
    for _ in range(4):
        if not line.endswith("-->"):
            break
        line = line[: max(line.rfind("<!--"), 0)].rstrip(" \t")
    if len(line) < 3 or not line.endswith("="):
        return 0
    blank = _BLANK.match(text, stop if stop >= 0 else len(text))
    return blank.end() if blank else 0


def _starts_line(text: str, position: int) -> bool:
    low = max(position - _REACH, 0)
    line = text.rfind("\n", low, position) + 1
    return (line > 0 or low == 0) and bool(_LINE_START.match(text, line, position))
