"""Facts from real entities: fixtures in every shape, and years of real change by month."""

import bz2
import csv
import gzip
import html
import json
import lzma
import re
import tarfile
from collections import Counter
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from twiki import facts
from twiki.config import QualityConfig
from twiki.entities import BadEntity, BadReason, decode
from twiki.records import FactClass
from twiki.windows import quality

DATA = Path(__file__).parents[3] / "shared" / "data"
WIKIDATA = DATA / "wikidata"
PROBES = DATA / "temporalwiki" / "twiki_probes"


def real(*parts):
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no real data at {path}")
    return path


# --- the same facts, computed plainly -------------------------------------------------------

_MONTHS = "January February March April May June July August September October November December"
_CENTURIES = {10: "10th", 20: "20th", 21: "21st", 26: "26th", 27: "27th"}
_LITERALS = {"time", "quantity", "monolingualtext", "string"}


def plain_object(snak):
    # A deleted property leaves no data type: only an entity can be told by its value.
    value, datatype = snak["datavalue"]["value"], snak.get("datatype")
    if datatype in ("wikibase-item", "wikibase-property") or (
        datatype is None and "entity-type" in value
    ):
        return value.get("id") or f"Q{value['numeric-id']}"
    if datatype not in _LITERALS:
        return None
    if datatype == "time":
        sign, year, month, day = re.match(r"(.)(\d+)-(\d\d)-(\d\d)", value["time"]).groups()
        if value["precision"] == 7:
            words = [_CENTURIES[-(-int(year) // 100)], "century"]
        else:
            words = [str(int(year))]
        if sign == "-":
            words.append("BCE")
        if value["precision"] >= 10 and month != "00":
            words.insert(0, _MONTHS.split()[int(month) - 1])
            if value["precision"] == 11 and day != "00":
                words.insert(0, str(int(day)))
        assert value["precision"] in (7, 9, 10, 11)
        return " ".join(words)
    if datatype == "quantity":
        unit = value["unit"].rpartition("/")[2]
        return value["amount"].lstrip("+") + ("" if unit == "1" else f" {unit}")
    return " ".join((value if datatype == "string" else value["text"]).split())


def plain_facts(content):
    """{(relation, object)} of an entity, from a full parse and nothing of ours."""
    entity = json.loads(content)
    if "entities" in entity:
        (entity,) = entity["entities"].values()
    found = set()
    for relation, statements in dict(entity.get("claims") or {}).items():
        ranks = {each["rank"] for each in statements}
        best = "preferred" if "preferred" in ranks else "normal"
        for each in statements:
            snak = each["mainsnak"]
            if each["rank"] == best and snak["snaktype"] == "value":
                text = plain_object(snak)
                if text is not None:
                    found.add((relation, text))
    return found


def plain_classes(old, new):
    classes = {}
    relations = {relation for relation, _ in old or ()}
    for key in new:
        if old is None:
            classes[key] = FactClass.NEW_SUBJECT
        elif key in old:
            classes[key] = FactClass.UNCHANGED
        else:
            known = key[0] in relations
            classes[key] = FactClass.NEW_OBJECT if known else FactClass.NEW_RELATION
    for key in (old or set()) - new:
        classes[key] = FactClass.REMOVED
    return classes


def classes(old, new):
    return {
        (change.fact.relation, change.fact.object): change.fact_class
        for change in facts.compare(old, new)
    }


# --- years of real change -------------------------------------------------------------------


def month_ends(name, meta):
    """(month, content of the last revision before its end) for every month with a revision."""
    with meta.open(encoding="utf-8", newline="") as file:
        times = {
            int(row["rev_id"]): datetime.fromisoformat(row["timestamp"])
            for row in csv.DictReader(file)
        }
    last = {}
    for rev_id, time in sorted(times.items(), key=lambda item: (item[1], item[0])):
        last[f"{time:%Y-%m}"] = rev_id
    wanted = {rev_id: month for month, rev_id in last.items()}
    contents = {}
    with lzma.open(name) as stream, tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 22) as tar:
        for member in tar:
            rev_id = int(Path(member.name).stem)
            if rev_id in wanted:
                contents[wanted[rev_id]] = tar.extractfile(member).read()
    assert contents.keys() == last.keys()
    return sorted(contents.items())


OFFICES = {
    # Q140686 chair, Q1162163 president-elect, Q11696 President of the United States.
    "donald_trump": {
        "2016-03": [("new_relation", "Q140686")],
        "2016-11": [("new_object", "Q1162163")],
        "2017-01": [("removed", "Q1162163"), ("new_object", "Q11696"), ("removed", "Q140686")],
        "2024-02": [("new_object", q) for q in ("Q1162163", "Q1255921", "Q140686", "Q1467287")],
        "2024-11": [("removed", q) for q in ("Q1162163", "Q11696", "Q1255921", "Q140686")],
        "2025-01": [("new_object", "Q11696"), ("removed", "Q1467287")],
    }
}
"""The months in which `position held` (P39) changed, and how."""


@pytest.mark.parametrize(
    ("name", "meta", "months", "changed_months"),
    [
        ("castle", "castle", 50, 20),
        ("noah_kahan", "noah_kahan", 25, 15),
        ("pyramid", "pyramid", 90, 30),
        ("covid19_pandemic", "Q81068910_covid19_pandemic", 60, 25),
        ("donald_trump", "Q22686_donald_trump", 140, 100),
    ],
)
def test_every_month_has_the_classes_of_a_plain_set_difference(name, meta, months, changed_months):
    folder = real("wikidata", "revisions")
    before, before_plain, seen, offices = None, None, Counter(), {}
    for month, content in month_ends(folder / f"{name}.tar.xz", folder / f"{meta}.meta.csv"):
        now, now_plain = decode(content), plain_facts(content)
        found = classes(before, now)
        assert found == plain_classes(before_plain, now_plain)
        seen["months"] += 1
        seen["changed"] += any(each is not FactClass.UNCHANGED for each in found.values())
        moved = [
            (each.value, obj)
            for (relation, obj), each in found.items()
            if relation == "P39" and each is not FactClass.UNCHANGED
        ]
        if moved:
            offices[month] = moved
        before, before_plain = now, now_plain
    assert seen["months"] >= months
    assert seen["changed"] >= changed_months
    assert offices == OFFICES.get(name, {})


# --- fixtures in every shape ----------------------------------------------------------------


def read_all(lines):
    outcomes, stated = Counter(), 0
    for line in lines:
        text = line.strip().rstrip(b",")
        if len(text) < 3:
            continue
        try:
            stated += len(decode(text).facts)
            outcomes["read"] += 1
        except BadEntity as error:
            outcomes[error.reason] += 1
    return outcomes, stated


@pytest.mark.parametrize(
    ("parts", "opened", "read", "lexemes"),
    [
        (("opentapioca", "sample_wikidata_items.json.bz2"), bz2.open, 100, 0),
        (("opentapioca", "short_stream.json.bz2"), bz2.open, 635, 0),
        (("wikibase-dump-filter", "entities.json.xz"), lzma.open, 49, 0),
        (("wdtk-dumps", "mock-dump-for-testing.json"), open, None, 1),
        (("wdtk-dumps", "mock-dump-for-long-testing.json"), open, None, 0),
        (("wdtk-dumps", "sample-dump-20150815.json.gz"), gzip.open, None, 0),
    ],
)
def test_every_line_of_a_dump_slice_is_read(parts, opened, read, lexemes):
    with closing(opened(real("wikidata", *parts), "rb")) as file:
        outcomes, stated = read_all(file)
    assert outcomes[BadReason.UNSUPPORTED] == lexemes
    assert outcomes.total() == outcomes["read"] + lexemes
    assert outcomes["read"] == (read or outcomes["read"]) > 0
    assert stated > 0


def test_a_dump_with_bugs_is_read_but_for_its_broken_lines():
    with real("wikidata", "wdtk-dumps", "mock-dump-with-bugs.json").open("rb") as file:
        outcomes, _ = read_all(file)
    assert outcomes["read"] > 3
    assert set(outcomes) <= {"read", BadReason.NOT_JSON}


def test_the_plain_parse_of_real_items_finds_the_same_facts():
    with bz2.open(real("wikidata", "opentapioca", "short_stream.json.bz2")) as file:
        for line in [line.strip() for line in file][:200]:
            entity = json.loads(line)
            times = json.dumps([v for k, v in entity["claims"].items()])
            if '"precision": 8' in times or '"precision": 7' in times or '"time": "-' in times:
                continue  # the plain renderer knows years, months and days
            mine = {(fact.relation, fact.object) for fact in decode(line).facts}
            assert mine == plain_facts(line)


def test_the_old_storage_format_is_read():
    text = real("wikidata", "wdtk-dumps", "sample-daily-dump-20140220.xml").read_text("utf-8")
    found = [html.unescape(each) for each in re.findall(r"<text [^>]*>(\{.*?)</text>", text)]
    old = [each for each in found if '"entity":' in each and '"redirect"' not in each]
    assert old
    universe = [decode(each) for each in old if '"entity":["item",1]' in each]
    assert {entity.labels["en"] for entity in universe} >= {"universe"}
    assert ("P793", "Q323") in {(fact.relation, fact.object) for fact in universe[0].facts}
    for each in old:
        assert decode(each).id[0] in "QP"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("qwikidata", "wd_Q42.json"), "Q42"),
        (("qwikidata", "wd_P279.json"), "P279"),
        (("qwikidata", "wd_L3354.json"), BadReason.UNSUPPORTED),
        (("wikibase-dump-filter", "Q22.json"), "Q22"),
        (("opentapioca", "Q31.json"), "Q31"),
        (("opentapioca", "wbgetentities_response.json"), BadReason.SEVERAL),
        (("wdtk", "item.json"), "Q34987"),
        (("wdtk", "property.json"), "P3467"),
        (("wdtk", "lexeme.json"), BadReason.UNSUPPORTED),
        (("wdtk", "mediainfo.json"), BadReason.UNSUPPORTED),
        (("wdtk", "wbgetentites-Oliver-Kahn.json"), "Q131261"),
        (("wdtk", "wbgetentities-1234567890-missing.json"), BadReason.MISSING),
        (("wdtk", "wbgetentities-missing-mid.json"), BadReason.MISSING),
        (("wdtk", "wbgetentities-virtual-Test.jpg.json"), BadReason.MISSING),
        (("wdtk", "wbgetentities-RandomImage.jpg.json"), BadReason.UNSUPPORTED),
        (("wdtk", "wbgetentities-bogus.json"), BadReason.NO_ID),
        (("wdtk", "wbgetentities-Q6-Q42-P31.json"), BadReason.SEVERAL),
        (("wdtk", "wbgetentities-Douglas-Adams.json"), "Q42"),
        (("wdtk", "wbgetentities-Q1.json"), "Q1"),
    ],
)
def test_a_fixture_is_read_or_refused_with_its_reason(parts, expected):
    content = real("wikidata", *parts).read_bytes()
    if isinstance(expected, BadReason):
        with pytest.raises(BadEntity) as refusal:
            decode(content)
        assert refusal.value.reason is expected
    else:
        assert decode(content).id == expected


# --- the published probes under our rules ---------------------------------------------------


def published(name):
    with real("temporalwiki", "twiki_probes", f"{name}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        for row in csv.DictReader(file):
            texts = (row["subject"], row["relation"], row["object"])
            yield quality.Row(subject=texts[0], relation=texts[1], object=texts[2], key=texts)


@pytest.mark.parametrize(
    ("name", "size", "over", "subjects"),
    [
        ("0801-0901_changed", 1776, {"different from": 5.12, "occupation": 5.12}, {}),
        ("0901-1001_changed", 1982, {"occupation": 5.15}, {"God of War Ragnarök": 1.01}),
        ("1001-1101_changed", 1358, {}, {}),
        ("1101-1201_changed", 1951, {"form of creative work": 5.02}, {}),
        ("0801-0901_unchanged", 6935, {"occupation": 5.59}, {}),
        ("0901-1001_unchanged", 7340, {"occupation": 5.52}, {}),
        ("1001-1101_unchanged", 7313, {"occupation": 5.48}, {}),
        ("1101-1201_unchanged", 7293, {"occupation": 5.51}, {}),
    ],
)
def test_the_published_probes_break_the_share_rule_and_ours_keep_it(name, size, over, subjects):
    rows, config = list(published(name)), QualityConfig()
    assert len(rows) == size
    review = quality.review(rows, config)
    relations = {each: round(share * 100, 2) for each, share in review.over["relation_cap"].items()}
    assert over.items() <= relations.items()
    assert bool(relations) is bool(over)
    found = {each: round(share * 100, 2) for each, share in review.over["subject_cap"].items()}
    assert found == subjects
    assert review.over["object_cap"] == {}
    assert review.broken["object_words"] == review.broken["duplicate"] == ()
    # One name is contained in another only when ß is folded to ss: Grassmann, Graßmann.
    assert len(review.broken["substring"]) == (name == "0901-1001_unchanged")

    kept = quality.check(rows, config, "")
    assert len(kept.kept) + sum(kept.dropped.values()) == size
    shares = quality.shares([rows[index] for index in kept.kept])
    assert max(shares["Subject"].values()) <= 0.01
    assert max(shares["Relation"].values()) <= 0.05
    assert max(shares["Object"].values()) <= 0.05


def test_the_largest_relation_of_each_published_set_has_the_share_that_is_on_record():
    largest = {}
    for window in ("0801-0901", "0901-1001", "1001-1101", "1101-1201"):
        for category in ("changed", "unchanged"):
            shares = quality.shares(list(published(f"{window}_{category}")))["Relation"]
            largest[window, category] = round(max(shares.values()) * 100, 2)
    assert [largest[key] for key in largest if key[1] == "changed"] == [5.12, 5.15, 4.27, 5.02]
    assert [largest[key] for key in largest if key[1] == "unchanged"] == [5.59, 5.52, 5.48, 5.51]
