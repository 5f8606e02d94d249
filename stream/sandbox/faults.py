"""What goes wrong, planned from a seed: the same seed breaks the same things in the same place.

Two kinds, kept apart because the real ones differ: faults of the *log* (an event twice, out of
order, lost, huge, in the other data centre) are the same for every reader; faults of a
*connection* (cut, mute, refused, an error event) hit the connection with a given number and
leave the log alone. After the last planned connection every further one runs clean, so a
client that comes back often enough always reaches the end::

    Faults(seed=1, cuts=20, mutes=2, refusals=5, duplicates=0.02, disorder=timedelta(seconds=60))
"""

import random
from datetime import timedelta
from hashlib import blake2b

import msgspec


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """A fault plan. The default plan is no fault at all."""

    seed: int = 0

    # --- the log ---
    duplicates: float = 0.0
    """Share of events that stand in the log twice, all values equal (reference I9)."""
    duplicate_span: timedelta = timedelta(days=2)
    """The copy comes up to so much later."""
    disorder: timedelta = timedelta(0)
    """An event is held back by up to so much against its arrival time."""
    losses: float = 0.0
    """Share of events that never appear: their offset stays unused, a gap."""
    redactions: float = 0.0
    """Share of events without ``user`` or ``performer`` (I13)."""
    huge: int = 0
    """Number of events that grow by ``huge_bytes``."""
    huge_bytes: int = 5 << 20
    switch_at: float | None = None
    """Share of the log after which events go to the other data centre's topics (I11)."""

    # --- connections to the stream ---
    cuts: int = 0
    """Number of connections cut after a number of body bytes below ``cut_bytes``."""
    cut_bytes: int = 64 << 10
    cut_at: tuple[int, ...] = ()
    """Cut the first connections after exactly these numbers of body bytes, before all else."""
    mutes: int = 0
    """Number of connections that fall silent and stay open."""
    refusals: int = 0
    """Number of connections answered 503 or 429 with Retry-After; never the first."""
    retry_after_seconds: int = 0
    errors: int = 0
    """Number of connections, cut ones first, that carry an ``event: error`` on the way."""

    # --- the API ---
    api_refusals: float = 0.0
    """Share of API requests answered 503 or 429 with Retry-After."""
    maxlag: float = 0.0
    """Share of API requests answered with error ``maxlag`` in a 200 body."""
    lagging: float = 0.0
    """Share of revisions that the API does not know when first asked (replication lag)."""


class ConnectionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one connection; bytes count from the first byte of the body."""

    refuse: int | None = None
    """HTTP status instead of a stream."""
    cut_after: int | None = None
    mute_after: int | None = None
    error_after: int | None = None
    """An error event follows the first whole event past this byte."""


CLEAN = ConnectionPlan()


def rough_weather(seed: int) -> Faults:
    """What a reader of the real stream lives through in some weeks, in one reading.

    Without replication lag: a reader that waits for it only while an event is young by the
    wall clock takes an event of another month for settled.
    """
    return Faults(
        seed=seed,
        duplicates=0.01,
        disorder=timedelta(seconds=30),
        redactions=0.01,
        cuts=12,
        cut_bytes=128 << 10,
        refusals=4,
        errors=2,
        api_refusals=0.02,
        maxlag=0.02,
    )


def connection_plans(faults: Faults) -> tuple[ConnectionPlan, ...]:
    """The plans of the first connections, in the order in which they are made."""
    rng = random.Random(f"{faults.seed}:connections")
    plans = (
        [ConnectionPlan(cut_after=rng.randrange(faults.cut_bytes)) for _ in range(faults.cuts)]
        + [ConnectionPlan(mute_after=rng.randrange(faults.cut_bytes)) for _ in range(faults.mutes)]
        + [ConnectionPlan(refuse=rng.choice((503, 429))) for _ in range(faults.refusals)]
    )
    rng.shuffle(plans)
    served = [number for number, plan in enumerate(plans) if plan.refuse is None]
    for number in rng.sample(served, min(faults.errors, len(served))):
        limit = plans[number].cut_after or plans[number].mute_after or 1
        plans[number] = msgspec.structs.replace(plans[number], error_after=rng.randrange(limit))
    alone = max(0, faults.errors - len(served))
    plans += [ConnectionPlan(error_after=rng.randrange(faults.cut_bytes)) for _ in range(alone)]
    if served and served[0] > 0:
        plans.insert(0, plans.pop(served[0]))
    elif plans and plans[0].refuse is not None:
        plans.insert(0, CLEAN)
    return (*(ConnectionPlan(cut_after=position) for position in faults.cut_at), *plans)


def chosen(faults: Faults, what: str, key: object, share: float) -> bool:
    """Whether the fault ``what`` hits ``key``: a hash below ``share``."""
    if share <= 0.0:
        return False
    text = f"{faults.seed}:{what}:{key}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") < share * 2.0**64


def amount(faults: Faults, what: str, key: object) -> float:
    """A number in [0, 1) that depends on the seed, the fault and ``key`` alone."""
    text = f"{faults.seed}:{what}:{key}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") / 2.0**64
