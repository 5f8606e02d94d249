"""``csv/``: the paper's file names and columns, so that its readers work unchanged.

::

    csv/20261101-20261201/
      TWiki_Diffsets/wikipedia_1112_subset.csv                    id,url,title,text
      twiki_probes/1101-1201_changed.csv, …_unchanged.csv         subject,relation,object
      evaluation/lighttuning/lighttuning_changed_500.csv, …       subject,relation,object
      perplexity/nondiff.csv                                      text

The paper's names have no year, so each window has a dated folder. Not written are its
``wikipedia_1112_gpt2.csv``: the same text, cut to a tokenizer's length.

Form: UTF-8, line feeds, header bare, text always in double quotes with quotes doubled (RFC
4180), numbers bare. A quoted ``"None"`` or ``"NA"`` is a string for every reader that heeds
quotes; pandas needs ``keep_default_na=False``. Cells that begin with ``=``, ``+``, ``-`` or
``@`` stay as they are: the files are read by programs, and a guard character would change the
training text. The card warns against opening them in a spreadsheet.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from twiki.records import Window
from twiki.windows.calendar import dated_name, legacy_name, legacy_pair
from twiki.windows.schema import Part

_TRIPLE = ("subject", "relation", "object")


def csv_files(window: Window) -> dict[str, tuple[Part, tuple[str, ...]]]:
    """Return path in the dataset folder → part and columns of every CSV file of a window."""
    top, name = f"csv/{dated_name(window)}", legacy_name(window)
    light = f"{top}/evaluation/lighttuning/lighttuning"
    subset = f"{top}/TWiki_Diffsets/wikipedia_{legacy_pair(window)}_subset.csv"
    return {
        subset: (Part.DIFFSET, ("id", "url", "title", "text")),
        f"{top}/twiki_probes/{name}_changed.csv": (Part.PROBES_CHANGED, _TRIPLE),
        f"{top}/twiki_probes/{name}_unchanged.csv": (Part.PROBES_UNCHANGED, _TRIPLE),
        f"{light}_changed_500.csv": (Part.LIGHTTUNING_CHANGED, _TRIPLE),
        f"{light}_unchanged_500.csv": (Part.LIGHTTUNING_UNCHANGED, _TRIPLE),
        f"{top}/perplexity/nondiff.csv": (Part.NONDIFF, ("text",)),
    }


def write_csv(folder: Path, window: Window) -> None:
    """Write the CSV files of a dataset folder from its Parquet files, a row group at a time."""
    for name, (part, columns) in csv_files(window).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(",".join(columns) + "\n")
            file.writelines(_lines(folder / part.file, columns))


def line(cells: Iterable[Any]) -> str:
    """Return one record with its line feed."""
    return ",".join(_cell(cell) for cell in cells) + "\n"


def _lines(path: Path, columns: tuple[str, ...]) -> Iterator[str]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1000, columns=list(columns)):
            values = [batch.column(name).to_pylist() for name in columns]
            yield from (line(cells) for cells in zip(*values, strict=True))


def _cell(value: Any) -> str:  # noqa: ANN401 - whatever a column holds
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return str(value)
