"""``twiki bench study``: the paper's claims as the figures of a benchmark."""

from pathlib import Path

from twiki.bench.figures import Figure


def run(out: Path | None = None) -> list[Figure]:
    """Run or finish the study in ``out``; a figure is a claim on a seed."""
    from trainer import threads

    threads.wait_passively()
    from trainer import bench_study
    from twiki.cli.common import say

    found = bench_study.run(out or Path("study"), tell=say)
    for text in found["findings"]:
        say(text)
    say(f"report: {found['report']}")
    return [Figure(**figure) for figure in found["figures"]]
