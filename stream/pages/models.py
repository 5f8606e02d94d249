"""What the trainer left in files: its report and its runs. The trainer itself is not imported.

::

    <report>/report.json     tables, runs with their costs
    <report>/report.html     the same with its charts, which are taken from there
    <runs>/<wiki>/<window>/v<version>/<label>/run.json
                                              evaluations/<window>-v<version>/facts.parquet
"""

import math
from pathlib import Path
from typing import Any

import msgspec

from stream.pages.drawings import Figure, figures
from stream.pages.query import Tables
from twiki.errors import DatasetError
from twiki.records import Record

_MOST_BYTES = 32 << 20


class Report(Record, frozen=True, kw_only=True):
    """The trainer's report."""

    wiki: str
    windows: tuple[str, ...]
    findings: tuple[str, ...]
    tables: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    figures: tuple[Figure, ...]


class Measured(Record, frozen=True, kw_only=True):
    """A run's facts, scored on one dataset."""

    run: str
    """``<wiki>/<window>/v<version>/<label>``."""
    label: str
    trained: str
    dataset: str
    """Id of the dataset that it was tried on."""
    window: str
    facts: Path


class Score(Record, frozen=True, kw_only=True):
    """What one model made of one fact."""

    run: str
    label: str
    trained: str
    perplexity: float
    tokens: int


class Difference(Record, frozen=True, kw_only=True):
    """A fact that two models see differently; perplexities of its object."""

    category: str
    subject: str
    relation: str
    object: str
    first: float
    second: float


class Models:
    """Report and runs in two folders, either of which may be missing."""

    def __init__(self, report: Path | None, runs: Path | None, tables: Tables) -> None:
        self._report = report
        self._runs = runs
        self._tables = tables
        self._cache: dict[Path, tuple[tuple[int, int], Any]] = {}

    def report(self) -> Report | None:
        """The report; None where there is none yet.

        Raises:
            DatasetError: it is not what the trainer writes.
        """
        if self._report is None:
            return None
        found = self._json(self._report / "report.json")
        if not isinstance(found, dict):
            return None
        try:
            return Report(
                wiki=str(found["wiki"]),
                windows=tuple(map(str, found["windows"])),
                findings=tuple(map(str, found["findings"])),
                tables=[_table(table) for table in found["tables"]],
                runs=list(found["runs"]),
                figures=self._figures(self._report / "report.html"),
            )
        except (KeyError, TypeError) as error:
            raise DatasetError(f"{self._report}: not a report of the trainer: {error}") from error

    def measured(self) -> list[Measured]:
        """Every evaluation that kept its facts, by run and dataset."""
        if self._runs is None or not self._runs.is_dir():
            return []
        found = []
        for path in sorted(self._runs.glob("*/*/v*/*/evaluations/*/facts.parquet")):
            about = self._json(path.with_name("evaluation.json"))
            dataset = about.get("dataset", {}) if isinstance(about, dict) else {}
            folder = path.parents[2].relative_to(self._runs)
            found.append(
                Measured(
                    run=folder.as_posix(),
                    label=folder.parts[3],
                    trained=folder.parts[1],
                    dataset=str(dataset.get("id", "")),
                    window=str(dataset.get("window", "")),
                    facts=path,
                )
            )
        return found

    def scores(self, dataset: str, fact: dict[str, Any]) -> list[Score]:
        """What each model that was tried on the dataset made of a fact."""
        found = []
        where = "category = ? AND subject = ? AND relation = ? AND object = ?"
        values = [str(fact[name]) for name in ("category", "subject", "relation", "object")]
        for one in self.measured():
            if one.dataset != dataset:
                continue
            rows = self._tables.rows(
                f"SELECT object_nll, object_tokens FROM {{file}} WHERE {where} LIMIT 1",  # noqa: S608 - no input in it
                one.facts,
                values,
            )
            found += [
                Score(
                    run=one.run,
                    label=one.label,
                    trained=one.trained,
                    perplexity=_perplexity(row["object_nll"], row["object_tokens"]),
                    tokens=int(row["object_tokens"]),
                )
                for row in rows
            ]
        return found

    def figures_of(self, one: Measured) -> dict[str, float | int | None]:
        """What an evaluation measured and its run cost, by name; None: not measured."""
        evaluation = self._json(one.facts.with_name("evaluation.json"))
        run = self._json(one.facts.parents[2] / "run.json")
        found = {
            f"{category} facts, perplexity of objects": _at(
                evaluation, "extrinsic", category, "object", "perplexity"
            )
            for category in ("changed", "unchanged")
        }
        for part in ("diffset", "nondiff"):
            found[f"{part}, perplexity of text"] = _at(
                evaluation, "intrinsic", part, "all", "perplexity"
            )
        for name in ("tokens", "steps", "seconds", "flops"):
            found[f"training, {name}"] = _at(run, "costs", name)
        return found

    def compare(self, first: Measured, second: Measured, *, limit: int = 50) -> list[Difference]:
        """The facts on which two models differ most, by nats a token of the object."""
        sql = (
            "WITH scored AS (SELECT *, object_nll / greatest(object_tokens, 1) AS nats,"
            " filename = ? AS mine FROM read_parquet($files, filename = true))"
            " SELECT a.category, a.subject, a.relation, a.object, a.nats AS first,"
            " b.nats AS second FROM scored a JOIN scored b USING (category, subject, relation,"
            " object) WHERE a.mine AND NOT b.mine"
            " ORDER BY abs(a.nats - b.nats) DESC, a.subject, a.relation, a.object LIMIT ?"
        )
        files = [first.facts, second.facts]
        rows = self._tables.rows(sql, files, [str(first.facts.resolve()), limit])
        return [
            Difference(
                category=row["category"],
                subject=row["subject"],
                relation=row["relation"],
                object=row["object"],
                first=_exp(row["first"]),
                second=_exp(row["second"]),
            )
            for row in rows
        ]

    def _json(self, path: Path) -> Any:  # noqa: ANN401 - JSON
        """The content of a JSON file, kept until the file changes; None where there is none."""
        try:
            stat = path.stat()
        except OSError:
            return None
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._cache.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        if stat.st_size > _MOST_BYTES:
            raise DatasetError(f"{path}: expected at most {_MOST_BYTES} bytes")
        try:
            content = msgspec.json.decode(path.read_bytes())
        except msgspec.DecodeError as error:
            raise DatasetError(f"{path}: expected JSON, found {error}") from error
        self._cache[path] = (stamp, content)
        return content

    def _figures(self, path: Path) -> tuple[Figure, ...]:
        try:
            stat = path.stat()
        except OSError:
            return ()
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._cache.get(path)
        if known is None or known[0] != stamp:
            content = path.read_text(encoding="utf-8") if stat.st_size <= _MOST_BYTES else ""
            known = (stamp, tuple(figures(content)))
            self._cache[path] = known
        drawn: tuple[Figure, ...] = known[1]
        return drawn


_NOT_FINITE = ("inf", "-inf", "nan")
"""How files write what a diverged model measured; JSON has no word for it."""


def _table(table: dict[str, Any]) -> dict[str, Any]:
    """A table with its columns of numbers named, so that they line up."""
    rows = [list(row) for row in table["rows"]]
    columns = [str(name) for name in table["columns"]]
    numeric = [
        all(isinstance(row[i], int | float) or row[i] in (None, "", *_NOT_FINITE) for row in rows)
        for i in range(len(columns))
    ]
    return {
        "id": str(table["id"]),
        "title": str(table["title"]),
        "note": str(table["note"]),
        "columns": columns,
        "numeric": numeric,
        "rows": rows,
    }


def _at(content: Any, *path: str) -> float | int | None:  # noqa: ANN401 - JSON
    """A number in a JSON object, None where there is none."""
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    if isinstance(content, str) and content in _NOT_FINITE:
        return float(content)
    return content if isinstance(content, int | float) else None


def _perplexity(nll: float, tokens: float) -> float:
    return _exp(nll / tokens) if tokens else math.nan


def _exp(nats: float) -> float:
    return math.exp(nats) if nats < 700 else math.inf  # noqa: PLR2004 - above it a float overflows
