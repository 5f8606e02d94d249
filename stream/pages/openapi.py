"""The description of the API: OpenAPI 3.1, made from the calls themselves."""

from collections.abc import Sequence
from typing import Any

import msgspec

from stream.pages.calls import Call, Failure, Hit, Parameter
from twiki.live import LiveFact, LiveSentence, LiveTombstone
from twiki.windows.schema import ROWS, ProbeRow

PREFIX = "/api/v1"


def description(calls: Sequence[Call], live_call: Call) -> dict[str, Any]:
    """The OpenAPI 3.1 description of all calls."""
    kinds = [call.returns for call in calls if call.returns not in (dict[str, Any], str)]
    live = LiveSentence | LiveFact | LiveTombstone
    rows = [*dict.fromkeys(ROWS.values()), Hit]
    schemas, components = msgspec.json.schema_components(
        [*kinds, Failure, live, *rows], ref_template="#/components/schemas/{name}"
    )
    by_kind = dict(zip(kinds, schemas[: len(kinds)], strict=True))
    by_row = dict(zip(rows, schemas[-len(rows) :], strict=True))
    parts = [schema for row, schema in by_row.items() if row is not Hit]
    components["Rows"]["properties"]["rows"]["items"] = {"anyOf": parts}
    components["Found"]["properties"]["rows"]["items"] = {"anyOf": [by_row[Hit], by_row[ProbeRow]]}
    paths = {
        f"{PREFIX}{call.path}": {
            "get": {
                **operation(call),
                "responses": _responses(
                    "application/json", by_kind.get(call.returns, {"type": "object"})
                ),
            }
        }
        for call in calls
    }
    paths[f"{PREFIX}{live_call.path}"] = {
        "get": {
            **operation(live_call),
            "description": (
                "Events sentence, fact and tombstone, data as JSON, id the record's number. "
                "Event reset: the state is younger than the number given. "
                "Last-Event-ID counts like after."
            ),
            "responses": _responses("text/event-stream", {"type": "string"}),
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "TWiki",
            "version": "1",
            "description": "What changed in a wiki and in Wikidata: by window, and as it happens.",
            "license": {"name": "Text: CC BY-SA 4.0; facts: CC0"},
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def operation(call: Call) -> dict[str, Any]:
    """What a call does and takes."""
    return {
        "summary": call.summary,
        "operationId": call.path.strip("/").replace("/", "_").replace("{", "").replace("}", ""),
        "parameters": [_parameter(one) for one in call.parameters],
    }


def _parameter(one: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": one.kind}
    if one.choices:
        schema["enum"] = list(one.choices)
    if one.bounds:
        schema["minimum"], schema["maximum"] = one.bounds
    return {
        "name": one.name,
        "in": one.place,
        "required": one.needed or one.place == "path",
        "description": one.about,
        "schema": schema,
    }


def _responses(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    failure = {
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
    }
    return {
        "200": {"description": "the answer", "content": {kind: {"schema": schema}}},
        "400": {"description": "a parameter that cannot be used", **failure},
        "404": {"description": "there is no such thing", **failure},
        "410": {"description": "the dataset is withdrawn", **failure},
        "414": {"description": "the address is too long"},
        "503": {"description": "it takes too long, or is not ready", **failure},
    }
