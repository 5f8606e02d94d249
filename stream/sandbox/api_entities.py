"""``action=wbgetentities``, and an entity with the data of its page, as all sources tell it."""

from typing import Any

import msgspec

from stream.sandbox.api_call import Answer, ApiError, Call
from stream.sandbox.api_lists import stamp
from stream.sandbox.model import NAMESPACES, WIKIDATA, RevisionView
from stream.sandbox.view import View

_FILTERED = {
    "labels": "labels",
    "descriptions": "descriptions",
    "aliases": "aliases",
    "claims": "claims",
    "sitelinks": "sitelinks",
}
_DEFAULT_PROPS = "info|sitelinks|aliases|labels|descriptions|claims|datatype"
REDIRECT_STEPS = 3
"""A chain of redirects is followed no further (bots resolve them)."""


def page_title(entity_id: str) -> str:
    """Title of the entity's page: properties have a namespace of their own."""
    return f"{NAMESPACES[WIKIDATA][120]}:{entity_id}" if entity_id.startswith("P") else entity_id


def is_entity_id(text: str) -> bool:
    """Whether it has the form of an item's or a property's id."""
    digits = text[1:]
    return text[:1] in ("Q", "P") and digits.isascii() and digits.isdigit() and digits[0] != "0"


def page_data(revision: RevisionView) -> Answer:
    """The members that say which page and revision an entity stands on."""
    return {
        "pageid": revision.page_id,
        "ns": revision.namespace,
        "title": revision.title,
        "lastrevid": revision.rev_id,
        "modified": stamp(revision.timestamp),
    }


def content(revision: RevisionView) -> dict[str, Any]:
    """The JSON object of a revision whose text can be read."""
    if revision.text is None:
        raise ValueError(f"revision {revision.rev_id} is hidden")
    decoded: dict[str, Any] = msgspec.json.decode(revision.text, type=dict[str, Any])
    return decoded


def current(view: View, entity_id: str, *, steps: int = REDIRECT_STEPS) -> RevisionView | None:
    """The revision that tells about the entity now, redirects followed; None: none is readable."""
    page = view.page(WIKIDATA, page_title(entity_id))
    if page is None:
        return None
    if page.redirect is not None and steps > 0:
        return current(view, page.redirect, steps=steps - 1)
    revision = view.revision(WIKIDATA, page.rev_id)
    return None if revision is None or revision.text is None else revision


def wbgetentities(call: Call) -> Answer:
    """The entities asked for, by the ids they were asked by."""
    ids = call.values("ids")
    if not ids and not (call.parameters.get("sites") and call.parameters.get("titles")):
        raise ApiError(
            "param-missing",
            'Either provide the item "ids" or pairs of "sites" and "titles" for corresponding '
            "pages",
        )
    follow = call.one_of("redirects", ("yes", "no"), "yes") == "yes"
    entities: Answer = {}
    for entity_id in ids:
        if not is_entity_id(entity_id):
            raise ApiError(
                "no-such-entity",
                f"Could not find such an entity (Invalid id: {entity_id})",
                messages=[
                    {
                        "name": "wikibase-api-no-such-entity",
                        "parameters": [],
                        "html": {"*": "Could not find such an entity"},
                    }
                ],
            )
        entities[entity_id] = _entity(call, entity_id, follow=follow)
    if not ids:
        entities = _by_sitelink(call, follow=follow)
    return {"entities": entities, "success": 1}


def _entity(call: Call, entity_id: str, *, follow: bool) -> Answer:
    revision = current(call.view, entity_id, steps=REDIRECT_STEPS if follow else 0)
    if revision is None:
        return {"id": entity_id, "missing": ""}
    entity = content(revision)
    if "redirect" in entity:
        return {"id": entity_id, "missing": ""}
    props = call.values("props", _DEFAULT_PROPS)
    languages = frozenset(call.values("languages"))
    answer: Answer = page_data(revision) if "info" in props else {}
    if entity["id"] != entity_id:
        answer["redirects"] = {"from": entity_id, "to": entity["id"]}
    for name, value in entity.items():
        if name in _FILTERED and name not in props:
            continue
        spoken = name in ("labels", "descriptions", "aliases") and languages
        answer[name] = (
            {key: text for key, text in value.items() if key in languages}
            if spoken and isinstance(value, dict)
            else value
        )
    return answer


def _by_sitelink(call: Call, *, follow: bool) -> Answer:
    """Items by the articles they are linked to; titles without an item are numbered from -1."""
    site, *others = call.values("sites")
    if others:
        raise ApiError("params-illegal", "Only one site is served together with titles.")
    entities: Answer = {}
    absent = 0
    for title in call.values("titles"):
        page = call.view.page(site, title) if site in NAMESPACES else None
        if page is None or page.item is None:
            absent += 1
            entities[str(-absent)] = {"site": site, "title": title, "missing": ""}
        else:
            entities[page.item] = _entity(call, page.item, follow=follow)
    return entities
