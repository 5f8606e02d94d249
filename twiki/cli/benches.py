"""The benchmarks by name, and the machine that they ran on."""

import importlib
import inspect
import os
import platform
from typing import TYPE_CHECKING, Any, NamedTuple

from twiki.errors import UsageError

if TYPE_CHECKING:
    from twiki.bench.figures import Figure


class Bench(NamedTuple):
    """A module with ``run() -> list[Figure]``, and what it measures."""

    module: str
    about: str


BENCHES = {
    "edits": Bench("twiki.bench.edits", "article edits through the engine, by size and kind"),
    "entities": Bench("twiki.bench.entities", "entity edits and the entity dump"),
    "clean": Bench("twiki.bench.clean", "cleaning wikitext, beside WikiExtractor"),
    "sentences": Bench("twiki.bench.sentences", "sentence boundaries, beside spaCy and pySBD"),
    "corpus": Bench("twiki.bench.corpus", "whole articles a second, beside WikiExtractor"),
    "cut": Bench("twiki.bench.cut", "a window's cut against pages touched and pages held"),
    "reconcile": Bench("twiki.bench.reconcile", "an XML dump, beside its decompression"),
    "diff-dumps": Bench("twiki.bench.diff_dumps", "a pair of dumps, beside the reference's way"),
    "probes": Bench("twiki.bench.probes", "alignment and quality control of candidates"),
    "soak": Bench("stream.bench_soak", "the service under every fault at once; 20 minutes"),
    "sse": Bench("stream.bench_sse", "SSE bytes to changes"),
    "kafka": Bench("stream.bench_kafka", "the cluster: bridge, broker, hydrator, workers"),
    "serve": Bench("stream.bench_serve", "pages over ten million sentences, beside a worker"),
    "train": Bench("twiki.cli.bench_train", "training, beside the Hugging Face Trainer"),
    "study": Bench("twiki.cli.bench_study", "the paper's claims on small worlds; 15 minutes"),
}


def run(name: str, **options: Any) -> "list[Figure]":  # noqa: ANN401 - each benchmark its own
    """The figures of a benchmark; ``options`` that are None are left to its defaults.

    Raises:
        UsageError: there is no such benchmark, or it does not have such an option.
    """
    if name not in BENCHES:
        raise UsageError(f"no benchmark {name!r}; there are {', '.join(sorted(BENCHES))}")
    measure = importlib.import_module(BENCHES[name].module).run
    given = {option: value for option, value in options.items() if value is not None}
    if unknown := given.keys() - inspect.signature(measure).parameters.keys():
        raise UsageError(f"benchmark {name!r} has no option {', '.join(sorted(unknown))}")
    figures: list[Figure] = measure(**given)
    return figures


def machine() -> dict[str, Any]:
    """Processor, cores, memory and Python of this machine."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages * size / 2**30, 1),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:  # noqa: PTH123 - a kernel file
            names = [line.partition(":")[2].strip() for line in info if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.processor()
