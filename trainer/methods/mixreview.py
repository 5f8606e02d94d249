"""Mix-review (He et al., 2021): the diffset with twice as much old text among it.

All parameters train. ``paper`` draws from the initial corpus alone; ``recommended`` from all
earlier windows too, because text of the initial corpus does not protect what last month
brought. The draw is a function of the seed and the epoch.
"""

from typing import Any, ClassVar

from trainer.config import Preset
from trainer.methods.protocol import PAPER, RECOMMENDED, EveryParameter


class MixReview(EveryParameter):
    """See the module's text."""

    name: ClassVar[str] = "mixreview"
    presets: ClassVar[dict[Preset, dict[str, Any]]] = {
        "paper": {**PAPER, "review.ratio": 2.0, "review.source": "initial"},
        "recommended": {**RECOMMENDED, "review.ratio": 2.0, "review.source": "all-previous"},
    }
