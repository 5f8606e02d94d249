"""Numbers that JSON has no word for: infinity and "not a number", as texts and back.

A model that diverged has an infinite perplexity, or none that is a number. Files hold these
as ``"inf"``, ``"-inf"`` and ``"nan"``, so that every JSON reader can take them.
"""

import math
from typing import Any

_TEXTS = ("inf", "-inf", "nan")


def to_json(value: Any) -> Any:  # noqa: ANN401 - JSON
    """``value`` with a text in the place of each number that JSON lacks."""
    if isinstance(value, dict):
        return {k: to_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    return value


def from_json(value: Any) -> Any:  # noqa: ANN401 - JSON
    """A single value as :func:`to_json` was given it."""
    return float(value) if isinstance(value, str) and value in _TEXTS else value
