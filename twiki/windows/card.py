"""The card."""

from collections.abc import Mapping
from typing import Any

from twiki.windows.manifest import Data, Run
from twiki.windows.schema import Part, ProbeRow

EXAMPLES = (Part.PROBES_CHANGED, Part.PROBES_UNCHANGED)


def render(
    data: Data,
    stats: Mapping[str, Any],
    examples: Mapping[Part, tuple[ProbeRow, ...]],
    run: Run,
    reconcile: object,
) -> str:
    """Return the text of README.md."""
    return f"# {data.id}\n"
