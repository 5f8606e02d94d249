"""Initial: continued pretraining on the whole corpus as of the first boundary.

All parameters train. Every other method starts from its result.
"""

from typing import Any, ClassVar

from trainer.config import Preset
from trainer.methods.protocol import PAPER, RECOMMENDED, EveryParameter, Text


class Initial(EveryParameter):
    """See the module's text."""

    name: ClassVar[str] = "initial"
    text: ClassVar[Text] = "corpus"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": {**PAPER, "epochs": 4.0},
        "recommended": {**RECOMMENDED, "epochs": 4.0},
    }
