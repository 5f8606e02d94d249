"""Shapes of the action API's answers, typed to what we read and tolerant of both versions.

``formatversion=2`` is what we ask for; the older one marks flags by an empty string, keys pages
by id and calls the text ``*``. Both are read, because not every wiki gives what is asked for.
"""

from typing import Any

import msgspec

Flag = bool | str | None
"""Version 2: true. Version 1: the empty string. Absent: no."""


def is_set(flag: Flag) -> bool:
    """Whether a flag of either version is set."""
    return flag is not None and flag is not False


class SlotJson(msgspec.Struct):
    """``slots.main``."""

    content: str | None = None
    star: str | None = msgspec.field(name="*", default=None)
    contentmodel: str | None = None
    texthidden: Flag = None
    textmissing: Flag = None


class SlotsJson(msgspec.Struct):
    """``slots``."""

    main: SlotJson | None = None


class RevisionJson(msgspec.Struct):
    """One revision of ``prop=revisions``."""

    revid: int = 0
    parentid: int | None = None
    timestamp: str | None = None
    comment: str | None = None
    slots: SlotsJson | None = None
    content: str | None = None
    star: str | None = msgspec.field(name="*", default=None)
    contentmodel: str | None = None
    texthidden: Flag = None
    textmissing: Flag = None
    suppressed: Flag = None

    @property
    def slot(self) -> SlotJson:
        """The main slot, also where it stands in the revision itself (before 1.32)."""
        if self.slots is not None and self.slots.main is not None:
            return self.slots.main
        return SlotJson(content=self.content, star=self.star, contentmodel=self.contentmodel)

    @property
    def text(self) -> str | None:
        """The text, None where there is none to read."""
        slot = self.slot
        return slot.content if slot.content is not None else slot.star

    @property
    def hidden(self) -> bool:
        """Whether the text may not be read."""
        return is_set(self.texthidden) or is_set(self.slot.texthidden)


class PageJson(msgspec.Struct):
    """One page of a query."""

    pageid: int | None = None
    ns: int | None = None
    title: str | None = None
    missing: Flag = None
    invalid: Flag = None
    redirect: Flag = None
    pageprops: dict[str, str] | list[Any] = msgspec.field(default_factory=dict)
    revisions: list[RevisionJson] = msgspec.field(default_factory=list)


class RenamedJson(msgspec.Struct):
    """``normalized``: how the API spells a title that was asked for."""

    source: str = msgspec.field(name="from", default="")
    to: str = ""


class BadRevisionJson(msgspec.Struct):
    """One of ``badrevids``."""

    revid: int = 0


class LogEventJson(msgspec.Struct):
    """One row of ``list=logevents``."""

    logid: int = 0
    ns: int | None = None
    title: str | None = None
    pageid: int | None = None
    logpage: int | None = None
    type: str | None = None
    action: str | None = None
    timestamp: str | None = None
    comment: str | None = None
    params: msgspec.Raw = msgspec.Raw()


class RecentChangeJson(msgspec.Struct):
    """One row of ``list=recentchanges``."""

    type: str | None = None
    ns: int | None = None
    title: str | None = None
    pageid: int | None = None
    revid: int | None = None
    old_revid: int | None = None
    rcid: int | None = None
    timestamp: str | None = None
    comment: str | None = None
    redirect: Flag = None


class QueryJson(msgspec.Struct):
    """``query``."""

    pages: list[PageJson] | dict[str, PageJson] = msgspec.field(default_factory=list)
    badrevids: dict[str, BadRevisionJson] | list[BadRevisionJson] = msgspec.field(
        default_factory=list
    )
    normalized: list[RenamedJson] = msgspec.field(default_factory=list)
    logevents: list[LogEventJson] = msgspec.field(default_factory=list)
    recentchanges: list[RecentChangeJson] = msgspec.field(default_factory=list)

    @property
    def all_pages(self) -> list[PageJson]:
        """The pages, whichever version lists them."""
        return list(self.pages.values()) if isinstance(self.pages, dict) else self.pages


class EntityJson(msgspec.Struct):
    """The head of an entity in ``wbgetentities`` or ``Special:EntityData``."""

    id: str | None = None
    type: str | None = None
    pageid: int | None = None
    ns: int | None = None
    title: str | None = None
    lastrevid: int | None = None
    modified: str | None = None
    missing: Flag = None
    redirects: Any = None


class Answer(msgspec.Struct):
    """The whole of an answer."""

    query: QueryJson = msgspec.field(default_factory=QueryJson)
    entities: dict[str, msgspec.Raw] | list[msgspec.Raw] = msgspec.field(default_factory=list)
    error: msgspec.Raw = msgspec.Raw()
    """Empty when there is none."""
    errors: list[msgspec.Raw] = msgspec.field(default_factory=list)
    proceed: dict[str, str | int] | None = msgspec.field(name="continue", default=None)


class Problem(msgspec.Struct, frozen=True):
    """An error that the API reports."""

    code: str
    info: str = ""
    lag: float | None = None


_answers = msgspec.json.Decoder(Answer)
_heads = msgspec.json.Decoder(EntityJson)
_anything = msgspec.json.Decoder()


def decode_answer(body: bytes) -> Answer:
    """Read an answer of either version.

    Raises:
        ValueError: not JSON, or not the shape of an answer.
    """
    try:
        return _answers.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not an answer of the API: {error}") from error


def decode_head(entity: msgspec.Raw | bytes) -> EntityJson:
    """Read id and revision of an entity.

    Raises:
        ValueError: not the shape of an entity.
    """
    try:
        return _heads.decode(entity)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not an entity: {error}") from error


def problem(answer: Answer) -> Problem | None:
    """The error in an answer: an object, a mere string, or the first of a list."""
    raw = answer.error or (answer.errors[0] if answer.errors else b"")
    if not raw:
        return None
    value = _anything.decode(raw)
    if not isinstance(value, dict):
        return Problem(str(value)[:100])
    info = value.get("info") or value.get("text") or value.get("reason") or ""
    lag = value.get("lag")
    return Problem(
        str(value.get("code", ""))[:100],
        str(info)[:200],
        float(lag) if isinstance(lag, int | float) and not isinstance(lag, bool) else None,
    )
