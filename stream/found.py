"""What a fetch gives: a revision with its content, or why there is none. Values, not errors."""

from datetime import datetime
from enum import StrEnum

import msgspec

from twiki.records import Change, Record


class Failure(StrEnum):
    """Why a content could not be had. Also the label of its counter."""

    MISSING = "missing"
    """The API does not know the revision: deleted meanwhile, or never there."""
    TEXT_MISSING = "text_missing"
    """The revision is there, its text is not: lost in storage."""
    BAD_ANSWER = "bad_answer"
    """An answer that tells nothing, such as an empty one."""
    REFUSED = "refused"
    """The API refuses the request."""
    UNAVAILABLE = "unavailable"
    """No answer after all attempts."""
    STOPPED = "stopped"
    """The program is stopping: not applied, so the position must not pass it."""


class Failed(Record, frozen=True, kw_only=True):
    """A content that could not be had, and what it was for."""

    wiki: str
    reason: Failure
    detail: str = ""
    change: Change | None = None
    rev_id: int | None = None
    title: str | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A revision as the API has it now."""

    page_id: int
    title: str
    namespace: int
    rev_id: int
    parent_rev_id: int | None
    rev_dt: datetime | None
    comment: str | None = None
    content: str | None = None
    hidden: bool = False
    model: str | None = None


class Lost(msgspec.Struct, frozen=True):
    """A revision that could not be had."""

    reason: Failure
    detail: str = ""


Fetched = Found | Lost
