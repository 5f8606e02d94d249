"""Full: continued pretraining on the whole corpus as of each later boundary.

All parameters train. The costly way that the others are measured against.
"""

from typing import Any, ClassVar

from trainer.config import Preset
from trainer.methods.protocol import PAPER, RECOMMENDED, EveryParameter, Text


class Full(EveryParameter):
    """See the module's text."""

    name: ClassVar[str] = "full"
    text: ClassVar[Text] = "corpus"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": PAPER,
        "recommended": RECOMMENDED,
    }
