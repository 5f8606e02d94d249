"""A small world in plain words, for studies: persons and clubs whose facts change by month.

Written as corpus and dataset folders, so that a study on it runs the trainer as it is used.
What makes forgetting show at this size: names from shared pools, so that one fact disturbs
others; every fact in five phrasings and four documents, each stating it once, so that it is
learned and not copied from the context; the probe's own forms among them.
"""

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trainer import files
from trainer.study_plan import WindowData

PERSONS, CLUBS, NEW_A_MONTH = 240, 60, 6
CHANGED_SHARE = 0.05
DOCUMENTS = 4
"""Documents an entity: each states every fact once, in its own order and phrasing."""
UNCHANGED = 400
"""Facts that no month changes: one fixed sample, so that months can be compared in pairs."""

# fmt: off
_ONSETS = (
    "b", "br", "d", "dr", "f", "g", "gr", "h", "k", "kl", "l",
    "m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v", "z",
)
# fmt: on
_VOWELS = ["a", "e", "i", "o", "u"]
_CODAS = ["l", "m", "n", "r", "s", "th", "ck", "x"]

PHRASES: dict[str, tuple[str, ...]] = {
    "birthplace": ("was born in", "comes from", "first saw light in", "grew up in", "hails from"),
    "residence": ("lives in", "has a home in", "resides in", "settled in", "can be found in"),
    "occupation": ("works as", "earns a living as", "is known as", "is employed as", "serves as"),
    "employer": ("is paid by", "is with", "signed for", "belongs to", "represents"),
    "language": ("speaks", "writes in", "thinks in", "is fluent in", "gives talks in"),
    "award": ("won", "was honoured with", "received", "holds", "was given"),
    "city": ("is based in", "plays in", "has its seat in", "is at home in", "trains in"),
    "president": ("is led by", "is headed by", "is run by", "is chaired by", "answers to"),
    "colour": ("plays in the colour", "wears", "is dressed in", "is painted in", "shows"),
    "ground": ("fills the ground", "meets rivals at", "hosts games at", "uses", "rents"),
}
"""Five ways to say each relation; the first is the one that sentence probes use."""

PERSON = ("birthplace", "residence", "occupation", "employer", "language", "award")
CLUB = ("city", "president", "colour", "ground")
FIXED = "birthplace"
"""The relation that never changes."""
PLAIN = ("residence", "occupation", "award", "city", "president")
"""Relations that also stand as "subject relation object": half of them."""

Key = tuple[str, str]
Facts = dict[Key, str]
"""Object by (subject, relation)."""


@dataclass
class World:
    """Facts as of each boundary: ``states[0]`` is the start, ``states[m]`` the end of month m."""

    seed: int
    states: list[Facts]
    changed: list[list[Key]]
    """What each month set anew, in order."""
    unchanged: list[Key] = field(default_factory=list)


@dataclass(frozen=True)
class Folders:
    """A world on disk."""

    corpus: Path
    windows: tuple[WindowData, ...]
    plain: tuple[Path, ...]
    """Datasets with the same facts as "subject relation object"."""


def make(seed: int, months: int = 3) -> World:
    """Tell a world of ``months`` months; the seed decides all of it."""
    chance = random.Random(seed)
    pools = _pools(chance)
    facts: Facts = {}
    persons = iter(_names(chance, pools))
    clubs = iter(pools["employer"])
    for _ in range(PERSONS):
        _add(facts, next(persons), PERSON, pools, chance)
    for _ in range(CLUBS):
        _add(facts, next(clubs), CLUB, pools, chance)
    states, changed = [facts], []
    for _ in range(months):
        now = dict(states[-1])
        movable = [key for key in now if key[1] != FIXED]
        touched = sorted(chance.sample(movable, round(CHANGED_SHARE * len(now))))
        for key in touched:
            now[key] = chance.choice([o for o in pools[key[1]] if o != now[key]])
        before = set(now)
        for _ in range(NEW_A_MONTH):
            _add(now, next(persons), PERSON, pools, chance)
        changed.append(touched + [key for key in now if key not in before])
        states.append(now)
    ever = {key for month in changed for key in month}
    never = [key for key in facts if key not in ever]
    return World(seed, states, changed, sorted(chance.sample(never, UNCHANGED)))


def write(world: World, root: Path) -> Folders:
    """Write the world's corpora and datasets below ``root``; folders that exist are kept."""
    wiki = f"study-{world.seed}"
    windows, plain = [], []
    first = _folder(root / "corpus", wiki, "start", 0, {"part-0": _corpus(world, 0)})
    for month, touched in enumerate(world.changed, start=1):
        name = f"month-{month}"
        corpus = _folder(root / f"corpus-{month}", wiki, name, month, {"p": _corpus(world, month)})
        texts = _documents(world.states[month], touched, f"{world.seed} {month}")
        parts = {
            "diffset": _texts(texts),
            "nondiff": _texts(_documents(world.states[month], world.unchanged, "rest")),
        }
        both = []
        for form in ("sentence", "plain"):
            probes = {
                "probes_changed": _probes(world.states[month], touched, form),
                "probes_unchanged": _probes(world.states[month], world.unchanged, form),
            }
            folder = root / form / name
            both.append(_folder(folder, wiki, name, month, {**parts, **probes}))
        windows.append(WindowData(both[0], corpus))
        plain.append(both[1])
    return Folders(first, tuple(windows), tuple(plain))


def _pools(chance: random.Random) -> dict[str, list[str]]:
    """Words for every role: objects of one or two words, from pools of 12 to 40."""
    made: set[str] = set()

    def words(count: int) -> list[str]:
        found: list[str] = []
        while len(found) < count:
            parts = [chance.choice(_ONSETS) + chance.choice(_VOWELS) for _ in range(2)]
            word = ("".join(parts) + chance.choice(_CODAS)).capitalize()
            if word not in made:
                made.add(word)
                found.append(word)
        return found

    cities, first, last = words(40), words(28), words(40)
    pools = {
        "first": first,
        "last": last,
        "birthplace": cities,
        "residence": cities,
        "city": cities,
        "occupation": [w.lower() for w in words(24)],
        "language": words(16),
        "award": [f"{a} Prize" for a in words(12)],
        "employer": [f"{a} {b}" for a in words(20) for b in ("United", "Rovers", "Athletic")],
        "colour": [w.lower() for w in words(12)],
        "ground": [f"{a} Park" for a in words(20)],
    }
    chance.shuffle(pools["employer"])
    pools["president"] = [f"{a} {b}" for a, b in zip(first, last, strict=False)]
    return pools


def _names(chance: random.Random, pools: dict[str, list[str]]) -> list[str]:
    names = [f"{a} {b}" for a in pools["first"] for b in pools["last"]]
    chance.shuffle(names)
    return [name for name in names if name not in pools["president"]]


def _add(
    facts: Facts,
    subject: str,
    relations: Sequence[str],
    pools: dict[str, list[str]],
    chance: random.Random,
) -> None:
    for relation in relations:
        facts[subject, relation] = chance.choice(pools[relation])


def _corpus(world: World, month: int) -> list[dict[str, Any]]:
    facts = world.states[month]
    return _texts(_documents(facts, list(facts), f"{world.seed} corpus {month}"))


def _documents(facts: Facts, keys: Iterable[Key], salt: str) -> list[str]:
    """Four documents an entity that state its facts among ``keys``, each once."""
    own: dict[str, list[str]] = {}
    for subject, relation in keys:
        own.setdefault(subject, []).append(relation)
    texts = []
    for subject, relations in own.items():
        chance = random.Random(f"{salt} {subject}")
        # The probe's own phrasing is among the four, the other three are drawn: whether a fact is
        # known must not depend on whether its probe's form came up for it.
        forms = {r: _four(r, chance) for r in relations}
        for document in range(DOCUMENTS):
            order = chance.sample(relations, len(relations))
            said = [f"{subject} {forms[r][document]} {facts[subject, r]}." for r in order]
            texts.append(" ".join(said))
    return texts


def _four(relation: str, chance: random.Random) -> list[str]:
    """A phrasing a document, each another, in any order."""
    first, *others = _forms(relation)
    return chance.sample([first, *chance.sample(others, DOCUMENTS - 1)], DOCUMENTS)


def _forms(relation: str) -> list[str]:
    return [*PHRASES[relation], *([relation] if relation in PLAIN else [])]


def _probes(facts: Facts, keys: Iterable[Key], form: str) -> list[dict[str, Any]]:
    """A probe's text is "subject relation object": with a phrase it is a sentence."""
    return [
        {
            "subject": subject,
            "relation": PHRASES[relation][0] if form == "sentence" else relation,
            "object": facts[subject, relation],
        }
        for subject, relation in keys
        if form == "sentence" or relation in PLAIN
    ]


def _texts(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"id": i, "url": "", "title": str(i), "text": text} for i, text in enumerate(texts)]


def _folder(
    path: Path, wiki: str, window: str, start: int, tables: dict[str, list[dict[str, Any]]]
) -> Path:
    if (path / "manifest.json").exists():
        return path
    with files.new_folder(path) as aside:
        checksums = {}
        for name, rows in tables.items():
            file = aside / f"{name}.parquet"
            pq.write_table(pa.Table.from_pylist(rows), file)
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            checksums[file.name] = {"bytes": file.stat().st_size, "sha256": digest}
        data = {
            "schema_version": 1,
            "id": f"{wiki}-{window}",
            "wiki": wiki,
            "window": window,
            "start": f"{start:04d}",
            "version": 1,
            "files": checksums,
        }
        (aside / "manifest.json").write_text(json.dumps({"data": data, "run": {}}, indent=1))
    return path
