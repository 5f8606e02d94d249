"""The worked example of the documentation, run."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from histories import (
    CONFIG,
    DECEMBER,
    NOVEMBER,
    OCTOBER,
    at,
    edit,
    engine,
    entity_edit,
    item,
)

from twiki.cli import main
from twiki.windows import calendar, quality
from twiki.windows.dataset import Dataset, Part
from twiki.windows.prompts import table
from twiki.windows.publishing import cut_closed

PAGE = Path(__file__).parents[2] / "docs" / "facts.md"
TEXT = PAGE.read_text("utf-8")


def source(name):
    return re.search(rf"`{name}`\n\n```json\n(.*?)```", TEXT, re.DOTALL)[1]


def test_the_command_of_the_example_prints_what_the_page_says(tmp_path, monkeypatch, capsys):
    (command,) = re.findall(r"`twiki (inspect facts [^`]*)` prints", TEXT)
    monkeypatch.chdir(tmp_path)
    for name in command.split()[2:]:
        Path(name).write_text(source(name), "utf-8")
    with pytest.raises(SystemExit) as end:
        main(command.split())
    assert end.value.code == 0
    printed = json.loads(re.search(r"```text\n(.*?)```", TEXT, re.DOTALL)[1])
    assert json.loads(capsys.readouterr().out) == printed


def test_the_example_goes_all_the_way_to_the_rows_that_the_page_tells(tmp_path):
    config = msgspec.structs.replace(
        CONFIG, wiki=msgspec.structs.replace(CONFIG.wiki, name="enwiki")
    )
    made = engine((OCTOBER, NOVEMBER, DECEMBER), config=config)
    names = {"P39": "position held", "Q900010": "Mayor", "Q900020": "Minister of Rivers"}
    texts = re.search(r"diff sentences of November are (.*?)\.\s+5\. ", TEXT, re.DOTALL)[1]
    sentences = re.findall(r'"(.*?)"', " ".join(texts.split()))
    assert len(sentences) == 2
    page = {"wiki": "enwiki", "title": "Maria Example"}
    events = [
        *(entity_edit(at(10, 1), 50 + n, i, item(i, label=names[i])) for n, i in enumerate(names)),
        edit(at(10, 2), 10, "She was born on 21 June 1972.", **page),
        entity_edit(at(10, 15), 100, "Q900001", source("october.json")),
        edit(at(11, 9), 11, f"She was born. {' '.join(sentences)}", parent_rev_id=10, **page),
        entity_edit(at(11, 9), 101, "Q900001", source("november.json"), parent_rev_id=100),
    ]
    for event in events:
        made.apply(event)
    made.close(calendar.month("2026-10"))
    made.close(calendar.month("2026-11"))
    made.commit()
    report = cut_closed(made, calendar.month("2026-11"), tmp_path)
    dataset = Dataset.open(report.folder)
    (probe,) = dataset.rows(Part.PROBES_CHANGED)
    assert f"`{probe.subject} | {probe.relation} | {probe.object}`" in TEXT
    told = f"`previous_objects`\n`{json.dumps(list(probe.previous_objects))}`"
    assert told in TEXT
    assert (probe.previous_object, probe.evidence) == ("Mayor", sentences[0])
    assert (probe.evidence_rev, str(probe.fact_class)) == (11, "new_object")
    assert f'"{probe.cloze}"' in TEXT
    for part in (Part.FACTS_REMOVED, Part.PROBES_REMOVED):
        (gone,) = dataset.rows(part)
        assert (gone.subject, gone.object_qid_or_value) == ("Maria Example", "Q900010")


def test_every_rule_and_reason_is_documented():
    for rule in quality.RULES:
        assert f"`{rule}`" in TEXT
    assert len(table()) > 250
