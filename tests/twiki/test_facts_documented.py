"""The worked example of the documentation, run."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from twiki import facts
from twiki.config import QualityConfig
from twiki.entities import decode
from twiki.records import Category, Window
from twiki.windows import quality
from twiki.windows.probes import ArticleText, Candidate, build
from twiki.windows.prompts import prompt, table

PAGE = Path(__file__).parents[2] / "docs" / "facts.md"
TEXT = PAGE.read_text("utf-8")
WINDOW = Window(
    start=datetime(2026, 11, 1, tzinfo=UTC), end=datetime(2026, 12, 1, tzinfo=UTC), name="2026-11"
)


def example(name):
    return decode(re.search(rf"`{name}`\n\n```json\n(.*?)```", TEXT, re.DOTALL)[1])


def changes():
    return facts.compare(example("october.json"), example("november.json"))


def test_the_example_prints_what_the_page_says():
    printed = json.loads(re.search(r"```text\n(.*?)```", TEXT, re.DOTALL)[1])
    found = {"changed": [], "unchanged": [], "removed": []}
    for change in changes():
        group = "changed" if change.fact_class in facts.CHANGED else change.fact_class.value
        found[group].append(
            {
                "subject": change.fact.subject,
                "relation": change.fact.relation,
                "object": change.fact.object,
                "class": change.fact_class.value,
                "previous_objects": list(change.previous_objects),
            }
        )
    assert found == printed


def test_the_example_becomes_the_probe_that_the_page_shows():
    sentences = ("On 9 November 2026 she became Minister of Rivers.", "She likes tea.")

    class Articles:
        def live(self, title):
            return ArticleText(page_id=1, title=title, rev_id=2, sentences=sentences)

        changed = live

    (change,) = (each for each in changes() if each.fact_class in facts.CHANGED)
    candidate = Candidate(
        change=change,
        subject="Maria Example",
        relation="position held",
        object="Minister of Rivers",
        sitelink="Maria Example",
        old_rev=1,
        new_rev=2,
        changed_at=WINDOW.start,
    )
    (probe,) = build(WINDOW, [candidate], Category.CHANGED, Articles(), QualityConfig()).probes
    assert f"`{probe.subject} | {probe.relation} | {probe.object}`" in TEXT
    assert probe.evidence in " ".join(TEXT.split())
    assert f'"{prompt("P39", probe.subject).cloze}"' in TEXT


def test_every_rule_and_reason_is_documented():
    for rule in quality.RULES:
        assert f"`{rule}`" in TEXT
    assert len(table()) > 250
