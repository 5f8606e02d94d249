"""The published procedure, plainly: every page of both dumps extracted, compared by its rules.

An oracle for speed and for what is found, faults included: lines are compared without their
punctuation, only what lies strictly between two common lines counts, sentences end at every
full stop, and whatever line of the comparison holds a plus sign is taken for new.
"""

import difflib
import importlib.util
import itertools
import json
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_BARE = str.maketrans("", "", string.punctuation)


def installed() -> bool:
    """Whether WikiExtractor, which the procedure extracts with, is there."""
    return importlib.util.find_spec("wikiextractor") is not None


def extract(dump: Path, folder: Path, *, processes: int = 1) -> dict[int, str]:
    """Plain text by page id, as WikiExtractor gives it in processes of its own."""
    command = [
        *(sys.executable, "-m", "wikiextractor.WikiExtractor", str(dump), "--json", "--quiet"),
        *("--processes", str(processes), "--output", str(folder)),
    ]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed arguments
    return dict(_read(folder))


def _read(folder: Path) -> Iterator[tuple[int, str]]:
    for path in sorted(folder.rglob("wiki_*")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                article = json.loads(line)
                yield int(article["id"]), article["text"]


def difference(old: str, new: str) -> str:
    """What the procedure takes for the new text of an article."""
    before, after = old.split("\n"), new.split("\n")
    bare_before = [line.translate(_BARE) for line in before]
    bare_after = [line.translate(_BARE) for line in after]
    common: list[tuple[int, int]] = []
    at = 0
    for index, line in enumerate(bare_before):
        if line in bare_after[at:]:
            at = bare_after.index(line)
            common.append((index, at))
    found: list[str] = []
    for (i, j), (next_i, next_j) in itertools.pairwise(common):
        was = ".".join(before[i + 1 : next_i]).split(".")
        now = ".".join(after[j + 1 : next_j]).split(".")
        if was != now:
            told = difflib.Differ().compare(was, now)
            found += [line.replace("+ ", "") for line in told if "+" in line]
    return ". ".join(found)


def changed(old: dict[int, str], new: dict[int, str]) -> set[int]:
    """Pages that the procedure finds new text in: new ones, and those that differ."""
    return {
        page for page, text in new.items() if page not in old or difference(old[page], text).strip()
    }
