import re
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from twiki.errors import DatasetError
from twiki.records import Category
from twiki.windows import card, charts
from twiki.windows.dataset import Dataset, Part, Run
from twiki.windows.stats import QualitySteps, Volume, snapshot_volume

HOSTILE = (
    "a|b\n## Provenance\n---\n<script>alert(1)</script> ![x](http://e.com) `c` $x$ www.e.com "
    "\x1b[31m \u202eevil &lt; [l](javascript:1) **b** @me"
)


def front(text):
    return yaml.safe_load(text.split("---\n")[1])


def test_the_front_matter_names_every_part_for_the_hub(folder):
    found = front((folder / "README.md").read_text())
    assert found["license"] == "cc-by-sa-4.0"
    assert found["language"] == ["en"]
    assert found["size_categories"] == ["n<1K"]
    configs = {c["config_name"]: c for c in found["configs"]}
    assert set(configs) == {part.value for part in Part}
    assert [name for name, c in configs.items() if c.get("default")] == ["diffset"]
    for config in configs.values():
        for files in config["data_files"]:
            assert (folder / files["path"]).exists()
            assert files["split"] in ("train", "test")


def test_the_card_tells_rows_rules_and_columns(folder):
    text = (folder / "README.md").read_text()
    assert "| `probes_changed.parquet` | 2 |" in text
    assert "| dropped by `no_label` | 1 |" in text
    assert "| **kept** | **2** |" in text
    assert "| `object_labels` |" in text
    assert "from 2026-11-01 to 2026-12-01" in text


def test_provenance_is_the_last_section_and_all_that_a_run_changes(made, tmp_path):
    run = Run(engine="stream", details={"gaps": 3}, sources=({"url": "https://x.example"},))
    folder = made.write(tmp_path, run=run, reconcile={"confirmed": 5, "pages": [1]})
    data, provenance = card.split((folder / "README.md").read_text())
    assert "\n## " not in provenance.removeprefix("\n## Provenance\n")
    assert "| confirmed | 5 |" in provenance
    assert "| gaps | 3 |" in provenance
    other = made.write(tmp_path / "b", run=Run(engine="dump pair"), version=3)
    assert card.split((other / "README.md").read_text())[0] == data


def test_hostile_text_stays_text(made, tmp_path):
    row = made.probe(subject=HOSTILE, relation=HOSTILE, evidence=HOSTILE, page_title=HOSTILE)
    folder = made.write(tmp_path, {Part.PROBES_CHANGED: [row]})
    text = (folder / "README.md").read_text()
    assert text.count("\n## Provenance\n") == 1
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    example = next(line for line in text.splitlines() if line.startswith("| changed |"))
    assert example.count("|") == 8
    for svg in folder.glob("charts/*.svg"):
        ET.fromstring(svg.read_text())  # noqa: S314 - our own file
        assert "<script" not in svg.read_text()


@given(st.text())
def test_escaped_text_holds_nothing_that_markdown_reads(text):
    escaped = card.escape(text)
    assert "\n" not in escaped
    assert not re.search(r"[\\`*_{}\[\]<>!|$~@\"'^=+]", escaped)
    assert not re.search(r"&(?!#\d+;)", escaped)
    assert "www." not in escaped


def test_charts_are_the_same_for_the_same_counts_and_wide_as_the_largest():
    drawn = charts.bars("Title", [("a", 10), ("b & c", 5), ("x" * 99, 0)])
    assert drawn == charts.bars("Title", [("a", 10), ("b & c", 5), ("x" * 99, 0)])
    tree = ET.fromstring(drawn)  # noqa: S314 - our own text
    widths = [r.get("width") for r in tree.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert widths == ["400", "200", "1"]


def test_only_charts_with_bars_are_drawn_and_the_card_shows_each(made, tmp_path):
    types = {"subjects": {"person": 2, "place": 1}}
    folder = made.write(tmp_path, entity_types=types)
    text = (folder / "README.md").read_text()
    found = sorted(p.relative_to(folder).as_posix() for p in folder.glob("charts/*"))
    assert "charts/entity_types_subjects.svg" in found
    assert "charts/entity_types_objects.svg" not in found
    assert all(f"]({name})" in text for name in found)


def test_stats_give_both_tables_of_the_paper(made, tmp_path):
    snapshot = Volume(articles=9, sentences=20, words=100, bytes=600)
    quality = {
        Category.CHANGED: QualitySteps(
            candidates=10, dropped={"no_label": 3, "no_evidence": 2, "subject_cap": 3}
        )
    }
    folder = made.write(tmp_path, quality=quality, snapshot=snapshot)
    stats = Dataset.open(folder).stats()
    assert stats["table1"]["snapshot"]["articles"] == 9
    assert stats["table1"]["diffset"] == {
        "articles": 2,
        "sentences": 3,
        "words": 9,
        "bytes": 45,
        "tokens": None,
    }
    assert stats["table1"]["nondiff"]["articles"] == 2
    assert stats["table2"]["changed"] == {"categorised": 10, "aligned": 5, "filtered": 2}
    assert [d["rule"] for d in stats["quality"]["changed"]["dropped"]] == [
        "no_label",
        "no_evidence",
        "subject_cap",
    ]
    assert stats["classes"] == {"new_object": 2, "removed": 1, "unchanged": 1}


def test_the_snapshots_row_is_read_from_the_manifest_of_a_corpus(tmp_path):
    path = tmp_path / "manifest.json"
    end = datetime(2026, 12, 1, tzinfo=UTC)
    counts = '{"articles": 3, "sentences": 9, "words": 40, "bytes": 200, "unreadable": 1}'
    whole = f'{{"wiki": "enwiki", "as_of": "2026-12-01T00:00:00Z", "counts": {counts}}}'
    path.write_text(whole)
    found = snapshot_volume(path, "enwiki", end)
    assert found == Volume(articles=3, sentences=9, words=40, bytes=200)
    with pytest.raises(DatasetError, match="expected the corpus of dewiki as of 2026-12-01"):
        snapshot_volume(path, "dewiki", end)
    with pytest.raises(DatasetError, match="found enwiki as of 2026-12-01"):
        snapshot_volume(path, "enwiki", datetime(2026, 11, 1, tzinfo=UTC))
    for wrong in ("[]", "{}", "{", whole.replace("3", '"many"')):
        path.write_text(wrong)
        with pytest.raises(DatasetError, match="expected the manifest of a corpus"):
            snapshot_volume(path, "enwiki", end)


def test_the_hubs_own_reader_takes_the_card(folder):
    hub = pytest.importorskip("huggingface_hub")
    data = hub.DatasetCard((folder / "README.md").read_text()).data
    assert data.license == "cc-by-sa-4.0"
    assert len(data.configs) == len(Part)


def test_tokens_are_counted_where_a_tokenizer_is_given(made, tmp_path):
    from twiki.windows.dataset import DatasetWriter

    def tokens(text):
        return len(text.split())

    with DatasetWriter(
        tmp_path, made.config, made.window, tokenizer=tokens, tokenizer_name="white space"
    ) as writer:
        writer.extend(Part.DIFFSET, made.rows[Part.DIFFSET])
        folder = writer.finish(run=Run(engine="replay"))
    dataset = Dataset.open(folder)
    assert dataset.stats()["table1"]["diffset"]["tokens"] == 9
    assert dataset.manifest.data.settings["tokenizer"] == "white space"
