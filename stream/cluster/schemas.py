"""JSON schemas of the topics' records, made from the records themselves.

``python -m stream.cluster.schemas deploy/schemas`` writes them anew after a record changed.
"""

import sys
from pathlib import Path
from typing import Any, Union

import msgspec

from stream.topics import OF_TOPIC, Topic
from twiki.live import LiveFact, LiveSentence

_HEAD = "https://json-schema.org/draft/2020-12/schema"
_TOLD = {Topic.SENTENCES: (LiveSentence,), Topic.FACTS: (LiveFact,), **OF_TOPIC}


def schema_of(topic: Topic) -> dict[str, Any]:
    """The schema of a topic's values; changelogs have none, they are bytes."""
    kinds = _TOLD[topic]
    kind: Any = Union[kinds]  # noqa: UP007 - made at run time
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    title = f"Values of the topic {topic}"
    return {"$schema": _HEAD, "title": title, **schema, "$defs": parts}


def write(folder: Path) -> None:
    """Write the schema of every topic that has one."""
    folder.mkdir(parents=True, exist_ok=True)
    for topic in _TOLD:
        path = folder / f"{topic}.json"
        path.write_bytes(msgspec.json.format(encoded(topic), indent=2) + b"\n")


def encoded(topic: Topic) -> bytes:
    """A topic's schema as JSON, the same bytes each time."""
    return msgspec.json.encode(schema_of(topic), order="sorted")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
