"""``twiki bench train``: the trainer's speed as the figures of a benchmark."""

from twiki.bench.figures import Figure


def run(model: str | None = None, tokens: int | None = None) -> list[Figure]:
    """Measure; a figure without a value (a GPU's on a CPU) is left out."""
    from trainer import bench_train, threads

    threads.wait_passively()
    from twiki.cli.common import say

    found = bench_train.run(model, tokens=tokens, tell=say)
    return [Figure(**figure) for figure in found["figures"] if figure["value"] is not None]
