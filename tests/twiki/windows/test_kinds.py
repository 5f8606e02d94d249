import re
import tomllib
from collections import Counter
from importlib import resources

from twiki.records import Entity, Fact
from twiki.windows.kinds import count, kind, object_kind, order, table


def instance_of(*classes):
    return Entity(
        id="Q1", facts=tuple(Fact(subject="Q1", relation="P31", object=each) for each in classes)
    )


def test_the_kind_follows_from_the_class():
    assert kind(instance_of("Q5")) == "person"
    assert kind(instance_of("Q515")) == "place"
    assert kind(instance_of("Q16521")) == "taxon"
    assert kind(instance_of("Q4830453")) == "organisation"
    assert kind(instance_of("Q11424")) == "work"
    assert kind(instance_of("Q178561")) == "event"


def test_what_is_not_in_the_table_is_other():
    assert kind(instance_of("Q999999999")) == "other"
    assert kind(instance_of()) == "other"
    assert kind(None) == "other"


def test_the_order_of_classes_has_no_effect():
    assert kind(instance_of("Q515", "Q43229")) == kind(instance_of("Q43229", "Q515"))
    assert kind(instance_of("Q999999999", "Q515")) == "place"


def test_only_instance_of_says_what_an_entity_is():
    worker = Entity(id="Q1", facts=(Fact(subject="Q1", relation="P279", object="Q5"),))
    assert kind(worker) == "other"


def test_an_object_is_of_the_kind_of_its_entity_or_data_type():
    entity = Fact(subject="Q1", relation="P26", object="Q2")
    assert object_kind(entity, instance_of("Q5")) == "person"
    for datatype, expected in (("time", "time"), ("quantity", "quantity"), ("string", "text")):
        literal = Fact(subject="Q1", relation="P1", object="x", datatype=datatype)
        assert object_kind(literal, None) == expected


def rows():
    """(kind, what stands between two dots) of the table as it is written."""
    text = resources.files("twiki.windows").joinpath("kinds.toml").read_text("utf-8")
    for name, classes in tomllib.loads(text).items():
        for each in classes.split("·"):
            yield name, each.strip()


def test_every_class_is_an_id_with_its_name():
    assert [row for _, row in rows() if not re.fullmatch(r"Q[1-9]\d* \S.*\S", row)] == []
    names = [row.partition(" ")[2] for _, row in rows()]
    assert len(names) == len(set(names))


def test_no_class_stands_twice_in_the_table():
    listed = [row.split()[0] for _, row in rows()]
    assert len(listed) == len(set(listed)) == len(table())
    assert table() == {row.split()[0]: name for name, row in rows()}


def test_every_kind_has_its_classes():
    counts = Counter(table().values())
    assert min(counts.values()) >= 10
    assert order() == ("person", "taxon", "event", "work", "organisation", "place", "other")


def test_the_kinds_of_subjects_and_objects_are_counted():
    entities = {"Q1": instance_of("Q5"), "Q2": instance_of("Q515")}
    facts = [
        Fact(subject="Q1", relation="P19", object="Q2"),
        Fact(subject="Q1", relation="P569", object="1815", datatype="time"),
        Fact(subject="Q9", relation="P1", object="Q8"),
    ]
    assert count(facts, entities.get) == {
        "subjects": {"person": 2, "other": 1},
        "objects": {"place": 1, "time": 1, "other": 1},
    }
