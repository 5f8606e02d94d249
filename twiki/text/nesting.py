r"""What encloses what in wikitext: one linear pass over its opening and closing marks.

Templates, links, tables, comments and raw tags nest; :func:`scan` finds the outermost of
them and the positions outside of all where a block may start. A closing ``}}`` or ``|}``
closes the innermost opening of its kind, and whatever opened after that opened nothing; a
``]]`` closes only a link that is innermost, and ``</ref>`` the last ``<ref>`` before it. What
is never closed opens nothing either (MediaWiki shows it as text), except a comment, which
hides the rest of the page. So what is closed inside a stretch of text is the same wherever
the stretch stands, and an edit can be scanned by itself (but see :func:`shuts`). Example::

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
    (?: (\n(?:[ \t]*+\n)*+)    # 1 newline before a blank line, list or heading
      | (\{\{)                 # 2
      | (\}\})                 # 3
      | (\[\[)                 # 4
      | (\]\])                 # 5
      | <(?:(!--)              # 6
        | (/)?+                # 7
          ([a-z]++) )          # 8 name of a raw tag or table
      | (\{\|)                 # 9
      | (\})                   # 10 after a bar
      | \Z )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BLANK = re.compile(r"\n(?:[ \t]*+\n)*+|\Z")
_OPEN_TAG = re.compile(r"<[a-z]++(?:\s[^<>]*+|/?+)>", re.IGNORECASE)
_LINE_START = re.compile(r"(?:[^\n]*-->)?[ \t:]*\Z")

_SAME_TAG = {
    name: re.compile(rf"<(/)?{name}(?=[\s/>])[^<>]*>", re.IGNORECASE)
    for name in RAW_TAGS.split("|")
}
_RAW_TAG = re.compile(rf"<(/)?({RAW_TAGS})(?=[\s/>])[^<>]*>", re.IGNORECASE)
_CLOSED = re.compile(r"[^<>\n]{0,200}>")

_LIST = tuple("*#:;")
_REACH = 200
"""How far back a line may start for a table mark to count as first on it."""

TEMPLATE, LINK, TABLE, HTML_TABLE, COMMENT, TAG = range(6)


class Scan(NamedTuple):
    """Result of :func:`scan`.

    ``cuts``: where a block starts. ``spans``: the outermost (kind, start, end) in order, but
    for templates, links and references without inner markup or newline. ``loose``: something
    is left open, or was closed without being open.
    """

    cuts: list[int]
    spans: list[tuple[int, int, int]]
    loose: bool


def scan(text: str) -> Scan:
    """Find the outermost constructs of ``text``, block starts outside them, and loose ends."""
    scanner = _Scanner(text)
    scanner.run()
    size = len(text)
    return Scan([c for c in scanner.cuts if c < size], scanner.spans, scanner.loose)


class _Scanner:
    """One pass. ``skip``: tokens before this position lie in a comment or a raw tag."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cuts: list[int] = []
        self.spans: list[tuple[int, int, int]] = []
        self.loose = False
        self.skip = 0
        self.stack: list[tuple[int, int]] = []
        self.opened = [0, 0, 0, 0]
        self.absent: set[str] = set()

    def run(self) -> None:
        if self.text.startswith("=") and (stop := heading_end(self.text, 0)):
            self.cuts.append(stop)
        handlers = (
            None,
            self._newline,
            self._braces,
            self._braces_end,
            self._brackets,
            self._brackets_end,
            self._comment,
            None,
            self._tag,
            self._table,
            self._table_end,
        )
        for match in _TOKEN.finditer(self.text):
            group = match.lastindex
            if group is None:
                break
            start, end = match.span(group)
            if start >= self.skip and (handler := handlers[group]):
                handler(start, end)
        self.loose |= bool(self.stack)

    def _open(self, kind: int, start: int) -> None:
        self.stack.append((kind, start))
        self.opened[kind] += 1

    def _close(self, kind: int, end: int) -> None:
        """Close the innermost ``kind``; what was opened after it opened nothing."""
        if not self.opened[kind]:
            self.loose = True
            return
        stack, cuts, spans = self.stack, self.cuts, self.spans
        while True:
            top, start = stack.pop()
            self.opened[top] -= 1
            if top == kind:
                break
        while cuts and cuts[-1] > start:
            cuts.pop()
        while spans and spans[-1][1] > start:
            spans.pop()
        spans.append((kind, start, end))

    def _newline(self, start: int, end: int) -> None:
        text, cuts = self.text, self.cuts
        follow = text[end : end + 1]
        stop = heading_end(text, end) if follow == "=" else 0
        if (stop or end - start > 1 or follow in _LIST) and (not cuts or cuts[-1] < end):
            cuts.append(end)
        if stop:
            cuts.append(stop)

    def _braces(self, start: int, _: int) -> None:
        self._open(TEMPLATE, start)

    def _braces_end(self, _: int, end: int) -> None:
        self._close(TEMPLATE, end)

    def _brackets(self, start: int, _: int) -> None:
        self._open(LINK, start)

    def _brackets_end(self, _: int, end: int) -> None:
        if self.stack and self.stack[-1][0] == LINK:
            self._close(LINK, end)
        else:
            self.loose = True

    def _comment(self, start: int, end: int) -> None:
        shut = self.text.find("-->", end)
        self.loose |= shut < 0
        self.skip = len(self.text) if shut < 0 else shut + 3
        self.spans.append((COMMENT, start - 1, self.skip))

    def _tag(self, start: int, end: int) -> None:
        text = self.text
        name = text[start:end].lower()
        closing = text[start - 1] == "/"
        start -= 1 + closing
        if name == "table":
            if closing:
                shut = _CLOSED.match(text, end)
                self._close(HTML_TABLE, shut.end() if shut else end)
            else:
                self._open(HTML_TABLE, start)
            return
        tag = None if closing else _OPEN_TAG.match(text, start)
        shut_at = 0 if tag is None else tag.end()
        if tag is not None and text[shut_at - 2] != "/":
            shut_at = self._raw_end(name, shut_at)
        if shut_at:
            self.skip = shut_at
            self.spans.append((TAG, start, shut_at))
        else:
            self.loose = True

    def _raw_end(self, name: str, position: int) -> int:
        """End of the closing tag of a raw tag; 0: there is none before the next opening one."""
        if name not in self.absent:
            for tag in _SAME_TAG[name].finditer(self.text, position):
                if tag[1]:
                    return tag.end()
                if not tag[0].endswith("/>"):
                    return 0
            self.absent.add(name)
        return 0

    def _table(self, start: int, _: int) -> None:
        if self._starts_line(start):
            self._open(TABLE, start)

    def _table_end(self, start: int, end: int) -> None:
        if self._starts_line(start - 1):
            self._close(TABLE, end)

    def _starts_line(self, position: int) -> bool:
        low = max(position - _REACH, 0)
        line = self.text.rfind("\n", low, position) + 1
        return (line > 0 or low == 0) and bool(_LINE_START.match(self.text, line, position))


def shuts(old: str, new: str, after: str, start: int) -> bool:
    """Whether replacing ``old`` by ``new`` may close a raw tag that stands open before them.

    Both are closed in themselves; ``after[start:]`` follows. An open ``<ref>`` before them
    closes when the next tag of its name is a ``</ref>``: that can change only for names
    whose first tag in the stretch is another than before.
    """
    first_old, first_new = _first_raw_tags(old), _first_raw_tags(new)
    for name in first_old.keys() | first_new.keys():
        if first_old.get(name) != first_new.get(name):
            first = first_new.get(name)
            if first is None:
                tags = (t for t in _SAME_TAG[name].finditer(after, start) if t[0][-2:] != "/>")
                tag = next(tags, None)
                first = tag is not None and tag[1] is not None
            if first:
                return True
    return False


def _first_raw_tags(text: str) -> dict[str, bool]:
    """Name of a raw tag → whether its first tag in ``text`` closes; ``<ref/>`` counts not."""
    found: dict[str, bool] = {}
    for tag in _RAW_TAG.finditer(text):
        if not tag[0].endswith("/>"):
            found.setdefault(tag[2].lower(), tag[1] is not None)
    return found


def heading_end(text: str, start: int) -> int:
    """End of the heading line at ``start`` with the blank lines after it; 0: it is none."""
    stop = text.find("\n", start)
    line = text[start : stop if stop >= 0 else len(text)].rstrip(" \t")
    for _ in range(4):
        if not line.endswith("-->"):
            break
        line = line[: max(line.rfind("<!--"), 0)].rstrip(" \t")
    if len(line) < len("=x=") or not line.endswith("="):
        return 0
    blank = _BLANK.match(text, stop if stop >= 0 else len(text))
    return blank.end() if blank else 0
