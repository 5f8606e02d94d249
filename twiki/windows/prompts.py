"""A probe as natural language: a cloze that its object completes, a question that it answers.

>>> prompt("P19", "Ada Lovelace")
Prompt(kind='place', cloze='Ada Lovelace was born in', question='Where was Ada Lovelace born?')

The table is data (``prompts.toml``): the most used properties, each with the kind of object that
its wording expects. A property without a line has no prompt; the plain concatenation of the
paper, :func:`plain`, is there for every probe.
"""

import tomllib
from functools import cache
from importlib import resources

import msgspec

from twiki.records import Record

_SUBJECT = "{}"


class Prompt(Record, frozen=True):
    """Natural-language forms of subject and relation; the object follows the cloze."""

    kind: str
    """What the object is: a kind of ``kinds.toml``, or ``time``, ``quantity``, ``text``."""
    cloze: str
    question: str


@cache
def table() -> dict[str, Prompt]:
    """The prompts by property, with ``{}`` where the subject goes."""
    data = (
        resources.files(__package__ or "twiki.windows").joinpath("prompts.toml").read_text("utf-8")
    )
    rows = msgspec.convert(tomllib.loads(data), dict[str, tuple[str, str, str]])
    return {
        relation: Prompt(kind=kind, cloze=cloze, question=question)
        for relation, (kind, cloze, question) in rows.items()
    }


def prompt(relation: str, subject: str) -> Prompt | None:
    """The prompt of a property for a subject; None where the table has none."""
    template = table().get(relation)
    if template is None:
        return None
    return Prompt(
        kind=template.kind,
        cloze=template.cloze.replace(_SUBJECT, subject),
        question=template.question.replace(_SUBJECT, subject),
    )


def plain(subject: str, relation: str) -> str:
    """The paper's form: subject and relation, separated by a space."""
    return f"{subject} {relation}"
