"""Replay: the diffset with a little old text and the learning rate warmed anew.

All parameters train. Beyond the paper: Mix-review's code at a fraction of its cost. The
literature finds 1 to 5 % enough within one language at scale (``paper``); on a small model a
quarter protects visibly (``recommended``).
"""

from typing import Any, ClassVar

from trainer.config import Preset
from trainer.methods.protocol import PAPER, RECOMMENDED, EveryParameter


class Replay(EveryParameter):
    """See the module's text."""

    name: ClassVar[str] = "replay"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": {
            **PAPER,
            "schedule": "rewarm",
            "warmup": 0.02,
            "review.ratio": 0.05,
            "review.source": "initial",
        },
        "recommended": {**RECOMMENDED, "review.ratio": 0.25, "review.source": "all-previous"},
    }
