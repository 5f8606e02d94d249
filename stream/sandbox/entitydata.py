"""``/wiki/Special:EntityData/Q1.json``: one entity, of now or of a revision.

Statuses as Wikibase gives them: 404 unknown id or revision, also a revision of another entity;
400 for a revision that is a redirect, unless ``flavor=dump``; 406 for another format than
JSON. Without a revision a redirect answers with its *target*, whose id is not the one asked
for.
"""

import re
from collections.abc import Mapping

import msgspec

from stream.sandbox.api_entities import content, current, is_entity_id, page_data
from stream.sandbox.model import WIKIDATA
from stream.sandbox.view import View

_PAGE = re.compile(r"([A-Za-z]\d{1,12})(?:\.([a-z0-9]+))?")


class EntityDataError(Exception):
    """The status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def entity_data(view: View, name: str, parameters: Mapping[str, str]) -> bytes:
    """The JSON body for ``Special:EntityData/<name>``.

    Raises:
        EntityDataError: there is nothing to give.
    """
    matched = _PAGE.fullmatch(name)
    if matched is None or not is_entity_id(matched[1].upper()):
        raise EntityDataError(400, f"Invalid ID: {name}.")
    entity_id = matched[1].upper()
    if (matched[2] or parameters.get("format", "json")) != "json":
        raise EntityDataError(406, f"The data format {matched[2]} is not supported.")
    given = parameters.get("revision", "0")
    if re.fullmatch(r"\d{1,18}", given, re.ASCII) is None:
        raise EntityDataError(400, f"Invalid revision: {given}.")
    if int(given):
        entity = _revision(view, entity_id, int(given), parameters.get("flavor"))
    else:
        entity = _current(view, entity_id)
    return msgspec.json.encode({"entities": {entity.get("id", entity_id): entity}})


def _current(view: View, entity_id: str) -> dict[str, object]:
    revision = current(view, entity_id)
    entity = content(revision) if revision is not None else {}
    if revision is None or "redirect" in entity:
        raise EntityDataError(404, f"No entity with ID {entity_id} was found.")
    return {**page_data(revision), **entity}


def _revision(view: View, entity_id: str, rev_id: int, flavour: str | None) -> dict[str, object]:
    revision = view.by_id(WIKIDATA, rev_id)
    if revision is None or revision.text is None:
        raise EntityDataError(404, f"Can't find revision {rev_id} of entity {entity_id}.")
    entity = content(revision)
    if entity.get("id", entity.get("entity")) != entity_id:
        raise EntityDataError(404, f"Revision {rev_id} is not of entity {entity_id}.")
    if "redirect" in entity and flavour != "dump":
        raise EntityDataError(400, f"Revision {rev_id} of {entity_id} is a redirect.")
    return {**page_data(revision), **entity}
