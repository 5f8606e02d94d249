"""Diff: continued pretraining on the window's diffset alone.

All parameters train. Cheapest, learns the new, forgets the old.
"""

from typing import Any, ClassVar

from trainer.config import Preset
from trainer.methods.protocol import PAPER, RECOMMENDED, EveryParameter


class Diff(EveryParameter):
    """See the module's text."""

    name: ClassVar[str] = "diff"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": PAPER,
        "recommended": RECOMMENDED,
    }
