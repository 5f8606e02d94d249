"""Settings of one training run and of the small model: frozen values with their reasons.

Plain data classes, because a training machine has torch but not always the rest of the
system. What a method changes against :class:`TrainSettings`' defaults stands in its own file
(``trainer/methods/``); :func:`trainer.methods.settings_for` puts both together. The
``[trainer]`` section of the TOML file is :class:`trainer.section.TrainerConfig`.
"""

import dataclasses
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from twiki.errors import ConfigError

Preset = Literal["paper", "recommended"]
"""``paper``: what the paper's text says; ``recommended``: what works, with the reason."""

LOW_RANK = ("lora", "dora", "pissa")
"""Methods that need a rank."""


@dataclass(frozen=True, kw_only=True)
class RecAdamSettings:
    """The pull towards an anchor (Chen et al., 2020)."""

    gamma: float | None = None
    """Strength of the pull a unit of learning rate; None: 0.1 / ``lr``, a tenth of the way a
    step at the highest learning rate."""
    anneal: Literal["sigmoid", "constant"] = "constant"
    """``sigmoid``: lambda(t) = 1 / (1 + exp(-k (t - t0))) moves from pull to training."""
    k: float = 0.5
    t0: float = 250.0
    """Step at which the sigmoid is one half."""
    anchor: Literal["initial", "previous"] = "previous"


@dataclass(frozen=True, kw_only=True)
class ReviewSettings:
    """Old text mixed into the new (Mix-review, replay)."""

    ratio: float = 0.0
    """Tokens of old text per token of new text."""
    decay: float = 1.0
    """The ratio of the n-th window is ``ratio * decay ** n``."""
    source: Literal["initial", "all-previous"] = "all-previous"


@dataclass(frozen=True, kw_only=True)
class LoraSettings:
    """Low-rank adaptation through peft."""

    variant: Literal["lora", "dora", "pissa"] = "lora"
    rank: int = 0
    """0: no adaptation; a low-rank method needs at least 1."""
    alpha: int = 32
    """The update is scaled by ``alpha / rank``."""
    dropout: float = 0.0
    targets: tuple[str, ...] = ()
    """Ends of module names; empty: every linear layer but the head."""


@dataclass(frozen=True, kw_only=True)
class KAdapterSettings:
    """Decoder blocks beside the frozen model (Wang et al., 2021)."""

    layers: tuple[int, ...] = ()
    """Hidden states that the blocks read, 0 being the embedding. Empty: 1 and 11, or 1 and a
    third of the depth where the model has fewer layers than 11."""
    scale: float | None = 0.1
    """Weight of the adapter's output; None: 2 / (lr * steps), at least 0.1, because the
    zero-initialised gain grows by at most the learning rate a step."""
    train_embeddings: bool = False


_RANGES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    *(
        (name, lambda x: x >= 1, "at least 1")
        for name in ("sequence", "batch", "max_bad_steps", "keep", "lora.alpha")
    ),
    *(
        (name, lambda x: x >= 0, "0 or more")
        for name in (
            *("micro_batch", "epochs", "steps", "weight_decay", "clip", "checkpoint_every"),
            *("recadam.gamma", "recadam.k", "review.ratio", "review.decay"),
        )
    ),
    *((name, lambda x: x > 0, "a number above 0") for name in ("lr", "eps", "kadapter.scale")),
    *((name, lambda x: 0 <= x <= 1, "0 to 1") for name in ("warmup", "final_lr", "merge")),
    # A step's seed is a multiple of it, and must fit 64 bits.
    ("seed", lambda x: 0 <= x < 1 << 32, "0 to 4294967295"),
    # A multiple of at most 1 would skip steps that are as the mean.
    ("spike", lambda x: x == 0 or x > 1, "0, or a multiple above 1"),
    (
        "betas",
        lambda x: len(x) == 2 and all(0 <= beta < 1 for beta in x),  # noqa: PLR2004
        "two numbers from 0 to below 1",
    ),
)
"""Dotted name, what a value must fulfil (None is left alone), and that in words."""


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Everything that decides what a training run does, apart from its inputs."""

    method: str = "diff"
    preset: Preset = "recommended"
    seed: int = 0
    sequence: int = 512
    """Tokens a row."""
    batch: int = 64
    """Rows a step, over all micro-batches and processes."""
    micro_batch: int = 0
    """Rows a forward pass and process; 0: as many as fit a GPU, or logits of 256 MiB on a CPU."""
    epochs: float = 1.0
    steps: int = 0
    """Steps of the whole run; 0: as many as ``epochs`` takes."""
    lr: float = 1e-4
    """The schedule's highest learning rate."""
    schedule: Literal["one-cycle", "rewarm", "constant"] = "one-cycle"
    warmup: float = 0.3
    """Share of the steps in which the learning rate grows."""
    final_lr: float = 0.1
    """``rewarm``: the last learning rate as a share of ``lr``."""
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.01
    """On matrices only: biases and norms are not decayed."""
    clip: float = 1.0
    """Largest norm of the gradient; 0: not clipped."""
    mask: Literal["document", "none"] = "document"
    """``document``: a token sees its own document alone; ``none``: the whole row."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Of the forward pass; weights and optimizer are always fp32. auto: bf16 on a GPU."""
    compile: bool = False
    deterministic: bool = False
    """Only deterministic GPU kernels, at some cost in speed. A CPU run always repeats."""
    checkpoint_every: int = 500
    """Steps between checkpoints; 0: none before the end."""
    keep: int = 2
    """Newest checkpoints kept."""
    spike: float = 0.0
    """A step whose gradient norm exceeds this multiple of its running mean is skipped; 0:
    only steps that are not finite are."""
    max_bad_steps: int = 5
    """Skipped steps in a row after which the run stops."""
    recadam: RecAdamSettings = field(default_factory=RecAdamSettings)
    review: ReviewSettings = field(default_factory=ReviewSettings)
    lora: LoraSettings = field(default_factory=LoraSettings)
    kadapter: KAdapterSettings = field(default_factory=KAdapterSettings)
    merge: float = 1.0
    """Share of the new weights in the result; 1: no interpolation with the start."""

    def __post_init__(self) -> None:
        for name, value in _numbers(self):
            if not math.isfinite(value):
                raise ConfigError(
                    f"trainer setting {name}: expected a finite number, found {value}"
                )
        for name, fits, wanted in _RANGES:
            value = attrgetter(name)(self)
            if value is not None and not fits(value):
                raise ConfigError(f"trainer setting {name}: expected {wanted}, found {value}")
        if not (self.epochs or self.steps):
            raise ConfigError("trainer settings epochs and steps: one of them must be above 0")
        if self.lora.rank < (1 if self.method in LOW_RANK else 0):
            raise ConfigError(
                f"trainer setting lora.rank: {self.method} expects at least 1, "
                f"found {self.lora.rank}"
            )
        if not 0 <= self.lora.dropout < 1:
            raise ConfigError(
                f"trainer setting lora.dropout: expected 0 to below 1, found {self.lora.dropout}"
            )
        gamma = self.recadam.gamma
        if gamma is not None and self.lr * gamma >= 2:  # noqa: PLR2004
            # theta - theta* is multiplied by (1 - lr * gamma) a step: from 2 on it grows.
            raise ConfigError(
                f"trainer settings lr {self.lr:g} and recadam.gamma {gamma:g}: their product "
                f"must stay below 2, else the pull diverges; lower gamma below {2 / self.lr:g}"
            )

    def digest(self) -> str:
        """sha256 of the settings that shape the result (not how often it is saved)."""
        data = dataclasses.asdict(self)
        for name in ("micro_batch", "checkpoint_every", "keep"):
            del data[name]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class SmallModel:
    """A GPT-2 small enough to be trained from nothing on a CPU."""

    layers: int = 2
    width: int = 128
    heads: int = 4
    positions: int = 256
    vocabulary: int = 2048
    prefix_space: bool = False
    """A word at the start of a text is the same token as within it. GPT-2 has two for it and learns
    from the whole web that they mean one thing; from a few hundred texts nobody does."""
    dropout: float = 0.0


def _numbers(settings: Any, before: str = "") -> Iterator[tuple[str, float]]:  # noqa: ANN401 - any part
    """Every number of the settings and its parts, by its dotted name."""
    for part in dataclasses.fields(settings):
        name, value = before + part.name, getattr(settings, part.name)
        if dataclasses.is_dataclass(value):
            yield from _numbers(value, name + ".")
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int | float):
                yield name, number


def replace(settings: TrainSettings, changes: dict[str, Any]) -> TrainSettings:
    """``settings`` with ``changes``; a dotted name reaches into a part (``lora.rank``).

    Raises:
        ConfigError: an unknown name, or a value that does not fit.
    """
    top: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in changes.items():
        head, _, rest = name.partition(".")
        part = getattr(settings, head, None) if head in get_type_hints(TrainSettings) else None
        known = not rest or (dataclasses.is_dataclass(part) and hasattr(part, rest))
        if part is None or not known:
            raise ConfigError(f"trainer setting {name!r} does not exist")
        if rest:
            fitted = _fitted(name, get_type_hints(type(part))[rest], value)
            parts.setdefault(head, {})[rest] = fitted
        else:
            top[head] = _fitted(name, get_type_hints(TrainSettings)[head], value)
    for head, values in parts.items():
        top[head] = dataclasses.replace(getattr(settings, head), **values)
    return dataclasses.replace(settings, **top)


def _fitted(name: str, kind: Any, value: Any) -> Any:  # noqa: ANN401 - values of any setting
    """``value`` as ``kind`` has it: an int may be a float, a list a tuple.

    Raises:
        ConfigError: it is something else.
    """
    if get_origin(kind) is Literal:
        fits = value in get_args(kind)
    elif isinstance(kind, UnionType):
        return None if value is None else _fitted(name, get_args(kind)[0], value)
    elif get_origin(kind) is tuple and isinstance(value, list | tuple):
        return tuple(_fitted(name, get_args(kind)[0], item) for item in value)
    elif kind is float and type(value) is int and abs(value) < sys.float_info.max:
        return float(value)
    else:
        fits = type(value) is kind
    if not fits:
        raise ConfigError(f"trainer setting {name}: expected {kind}, found {value!r}")
    return value


def as_dict(settings: TrainSettings) -> dict[str, Any]:
    """The settings as plain JSON values."""
    data: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(settings)))
    return data
