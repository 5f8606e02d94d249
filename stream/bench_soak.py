"""``twiki bench soak``: the service under every fault at once, and the oracle's verdict.

::

    world ─▶ sandbox, 50 × enwiki's rate ───▶ worker, killed and started again ─▶ state, datasets
      │      (cuts, mutes, 503, duplicates,   (SIGKILL, SIGTERM, frozen, a full          │
      │      disorder, losses, 5 MB events,    disk, a jumping clock, a rival)           │
      └─▶ books     another data centre)                                                 │
           └────────────────────────────── verdict ◀─────────────────────────────────────┘

Rounds follow one another until the time is over, each with a world, a weather and a fate of its
own seed. A round ends when the window is reconciled; then its dataset is held against the
world's books and its state against the world's pages and items, at both boundaries; and state
and live feed against those of a worker that read the same log undisturbed (ENGINE 4).
"""

import sys
import tempfile
import time
from pathlib import Path

from stream.soak_round import Outcome, Round
from twiki.bench.figures import Figure, figure

LIVE_EVENTS = 5.0
"""Events a second that English Wikipedia's articles make: about two edits, told by two streams."""
TIMES = 50
SIGKILLED = ("killed", "frozen", "rival")
"""Fates that end so: at once, after it woke up again, and beside a second process."""
KILLS = 200
"""A soak of twenty minutes kills at least so often."""
_FULL_MINUTES = 20


def run(
    minutes: float = _FULL_MINUTES, *, seed: int = 1, articles: int = 300, rate: float | None = None
) -> list[Figure]:
    """Soak for so many minutes and tell how it went.

    ``rate``: events a second; None: 50 times English Wikipedia's.
    """
    until = time.monotonic() + minutes * 60
    outcome, number = Outcome(), seed
    while outcome.rounds == 0 or time.monotonic() < until:
        with tempfile.TemporaryDirectory(prefix="twiki-soak-") as folder:
            Round(number, Path(folder), outcome, articles, rate or LIVE_EVENTS * TIMES).run()
        number += 1
        for example in outcome.examples:
            sys.stderr.write(example + "\n")
        outcome.examples.clear()
    return figures(outcome, minutes)


def figures(outcome: Outcome, minutes: float) -> list[Figure]:
    """The outcome beside what it must be."""
    kills = KILLS if minutes >= _FULL_MINUTES else None
    told = [
        figure("rounds", outcome.rounds, "worlds"),
        figure("events sent", outcome.sent, "events"),
        figure("events a second", outcome.sent / max(outcome.seconds, 1e-9), "events/s"),
        figure("revisions applied", outcome.applied, "revisions"),
        figure("events told again", outcome.repeated, "events"),
        figure("lost", outcome.lost, "events", budget=0, better="less"),
        figure("wrong in state", outcome.wrong, "records", budget=0, better="less"),
        figure("kill -9", sum(outcome.ends[end] for end in SIGKILLED), "kills", budget=kills),
        figure("peak memory", outcome.memory, "MB"),
        figure("largest lag", outcome.lag, "s"),
    ]
    told += [figure(f"ended: {end}", n, "times") for end, n in sorted(outcome.ends.items())]
    for reason, n in sorted(outcome.rejected.items()):
        told.append(figure(f"rejected: {reason}", n, "events"))
    return told
