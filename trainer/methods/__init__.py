"""The methods by name; adding one is adding a file and a line here."""

from typing import Any

from trainer.config import Preset, TrainSettings, replace
from trainer.methods.diff import Diff
from trainer.methods.full import Full
from trainer.methods.initial import Initial
from trainer.methods.kadapter import KAdapter
from trainer.methods.lora import Dora, Lora, Pissa
from trainer.methods.merge import Merge
from trainer.methods.mixreview import MixReview
from trainer.methods.protocol import Method
from trainer.methods.recadam import RecAdam
from trainer.methods.replay import Replay
from twiki.errors import ConfigError

METHODS: dict[str, type[Method]] = {
    kind.name: kind
    for kind in (
        Initial,
        Full,
        Diff,
        RecAdam,
        MixReview,
        Lora,
        KAdapter,
        Replay,
        Dora,
        Pissa,
        Merge,
    )
}

PAPER_METHODS = ("initial", "full", "diff", "recadam", "mixreview", "lora", "kadapter")
"""The seven of the paper."""


def method(name: str) -> Method:
    """A new instance of a method.

    Raises:
        ConfigError: there is no such method.
    """
    if name not in METHODS:
        raise ConfigError(f"method {name!r} does not exist; there are {', '.join(METHODS)}")
    return METHODS[name]()


def settings_for(
    name: str, preset: Preset = "recommended", changes: dict[str, Any] | None = None
) -> TrainSettings:
    """Settings of a method in a preset, with ``changes`` (dotted names) on top.

    Raises:
        ConfigError: an unknown method, preset or name, or a value out of range.
    """
    kind = type(method(name))
    if preset not in kind.presets:
        raise ConfigError(f"preset {preset!r} does not exist; there are {', '.join(kind.presets)}")
    settings = replace(TrainSettings(), {"method": name, **kind.presets[preset], **(changes or {})})
    if kind is RecAdam and preset == "paper" and settings.recadam.gamma is None:
        raise ConfigError("recadam in preset paper: recadam.gamma must be given")
    return settings
