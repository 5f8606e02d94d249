"""What all pages are made from, and what a request asked for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import jinja2
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse

from stream.pages import shown, sketch
from stream.pages.library import Library, Shelved
from stream.pages.livefeed import LiveFeed
from stream.pages.models import Models
from stream.pages.query import Tables
from stream.pages.reading import Reading, object_digest
from stream.pages.search import Indexes
from stream.settings import Settings
from twiki.windows.schema import FACT_PARTS, Part
from twiki.windows.versions import Status


@dataclass(frozen=True)
class Site:
    """Everything that a page may read."""

    settings: Settings
    library: Library
    tables: Tables
    reading: Reading
    indexes: Indexes
    models: Models
    links: shown.Links
    feed: LiveFeed | None
    """None: served without a state."""
    templates: jinja2.Environment

    def page(
        self, request: Request, name: str, status: int = 200, **content: object
    ) -> HTMLResponse:
        """A page from the template ``name``."""
        fragment = request.headers.get("hx-request") == "true"
        text = self.templates.get_template(name).render(
            request=request, links=self.links, fragment=fragment, **content
        )
        return HTMLResponse(text, status_code=status)

    def shelf(self, dataset_id: str) -> Shelved:
        """The dataset of that id, fit to be shown.

        Raises:
            HTTPException: 404 where there is none, 410 where it is withdrawn.
        """
        shelf = self.library.find(dataset_id)
        if shelf is None:
            raise HTTPException(404, "There is no such dataset here.")
        if shelf.status is Status.WITHDRAWN:
            current = self.library.listing().current(shelf.wiki, shelf.window)
            instead = f" Read {current.id} instead." if current else ""
            raise HTTPException(
                410, f"{shelf.id} is withdrawn: it holds text that was hidden since.{instead}"
            )
        return shelf

    def close(self) -> None:
        """Release what is open."""
        if self.feed is not None:
            self.feed.close()
        self.indexes.close()
        self.tables.close()


def whole(request: Request, name: str, default: int, *, least: int = 0, most: int = 2**62) -> int:
    """A whole number that a request gave.

    Raises:
        HTTPException: 400 where it is none, or out of bounds.
    """
    given = request.query_params.get(name)
    if given is None or given == "":
        return default
    return number(given, name, least=least, most=most)


def number(given: str, name: str, *, least: int = 0, most: int = 2**62) -> int:
    """The same for a part of the address."""
    digits = given.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 20:  # noqa: PLR2004 - of 2**62
        value = int(given)
        if least <= value <= most:
            return value
    raise HTTPException(400, f"{name}: expected a whole number from {least} to {most}")


def given_text(request: Request, name: str, most: int = 300) -> str:
    """A text that a request gave, empty where none.

    Raises:
        HTTPException: 400 where it is too long.
    """
    given = request.query_params.get(name, "")
    if len(given) > most:
        raise HTTPException(400, f"{name}: expected at most {most} characters")
    return given.strip()


def fact_part(name: str) -> Part:
    """A part whose rows are facts.

    Raises:
        HTTPException: 404 where it is none.
    """
    found = next((part for part in FACT_PARTS if part.value == name), None)
    if found is None:
        raise HTTPException(404, "There is no such set of facts.")
    return found


def environment() -> jinja2.Environment:
    """The templates, with what they may use."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        text=shown.text,
        plain=shown.plain,
        count=lambda value: "–" if value is None else f"{value:,}",
        share=lambda value: "–" if value is None else f"{value:.2%}",
        figure=figure,
        moment=moment,
        size=size,
        words=lambda value: str(value).replace("_", " "),
    )
    made.globals.update(
        segments=shown.segments,
        marked=shown.marked,
        days_svg=sketch.days,
        calendar=sketch.calendar,
        bars=sketch.bars,
        length_rows=sketch.length_rows,
        value_rows=sketch.value_rows,
        digest=object_digest,
        previous=previous,
    )
    return made


def figure(value: object) -> str:
    """A number of a report for people: four digits, none lost of whole ones."""
    if value is None:
        return "–"
    if value in (math.inf, "inf"):
        return "∞"
    if isinstance(value, bool | str):
        return shown.plain(value, 200)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"  # noqa: PLR2004 - more digits say nothing
    return shown.plain(value, 200)


def moment(value: Any) -> str:  # noqa: ANN401 - a time, as record or as JSON has it
    """A time in UTC to the second."""
    if value is None:
        return "–"
    told = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return shown.plain(told.replace("T", " ")[:19], 40) + " UTC"


def size(value: int) -> str:
    """Bytes for people."""
    amount, unit = float(value), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):  # noqa: B007 - the last one is told
        if amount < 1024:  # noqa: PLR2004 - of a KiB
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def previous(fact: Mapping[str, Any]) -> list[str]:
    """What stood before, by label; by id or value where there is none."""
    objects, labels = fact["previous_objects"] or [], fact["previous_labels"] or []
    return [
        label or value
        for value, label in zip_longest(objects, labels[: len(objects)], fillvalue="")
    ]


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON object, empty where it is none."""
    return value if isinstance(value, Mapping) else {}
