"""Every counter and gauge of the edge, named once, and their Prometheus text.

::

    metrics = Metrics()
    metrics.add(EVENTS, label="change")
    metrics.set(WATERMARK, change.arrival_time.timestamp())
    metrics.render()        # the body of /metrics
"""

import threading
from collections.abc import Iterable
from typing import Literal, NamedTuple


class Metric(NamedTuple):
    """A name, what it means, and by what it is split."""

    name: str
    help: str
    kind: Literal["counter", "gauge"]
    label: str | None = None


EVENTS = Metric("twiki_events_total", "Events read, by outcome.", "counter", "outcome")
REJECTED = Metric(
    "twiki_events_rejected_total", "Events that became no change.", "counter", "reason"
)
CHANGES = Metric("twiki_changes_total", "Changes decoded, by wiki and kind.", "counter", "kind")
REPEATED = Metric("twiki_changes_repeated_total", "Changes dropped as repetitions.", "counter")
GAPS = Metric("twiki_offset_gaps_total", "Gaps in offsets: suspected losses.", "counter")
GAPS_OPEN = Metric("twiki_offset_gaps_open", "Gaps that no backfill has healed yet.", "gauge")
NOTICES = Metric("twiki_source_notices_total", "Things to know of the source.", "counter", "kind")
CONNECTS = Metric("twiki_stream_connects_total", "Connections to the source.", "counter")
CUTS = Metric("twiki_stream_cuts_total", "Connections that ended, by cause.", "counter", "cause")
SERVER_ERRORS = Metric("twiki_stream_errors_total", "event: error of the source.", "counter")
OVERSIZE = Metric("twiki_stream_oversize_total", "Events above the size limit.", "counter")
BYTES = Metric("twiki_stream_bytes_total", "Bytes of the source, decompressed.", "counter")
REQUESTS = Metric("twiki_api_requests_total", "Requests to the API, by kind.", "counter", "kind")
RETRIES = Metric("twiki_api_retries_total", "Requests asked again.", "counter")
FETCHED = Metric("twiki_revisions_fetched_total", "Revisions hydrated, by wiki.", "counter", "wiki")
FAILED = Metric("twiki_revisions_failed_total", "Contents not to be had.", "counter", "reason")
SKIPPED = Metric("twiki_revisions_skipped_total", "Contents not asked for.", "counter", "why")
IN_FLIGHT = Metric("twiki_in_flight", "Events read and not yet done.", "gauge")
WATERMARK = Metric("twiki_watermark_seconds", "Arrival time reached, Unix time.", "gauge")
LAG = Metric("twiki_lag_seconds", "Clock minus watermark.", "gauge")
LATE = Metric("twiki_late_total", "Changes for a window that has closed.", "counter")
SIDE = Metric("twiki_side_records_total", "Side records, by reason.", "counter", "reason")
BACKFILLED = Metric("twiki_backfilled_total", "Changes found by backfill.", "counter")
UNREACHABLE = Metric(
    "twiki_unreachable_total", "Spans that the API's lists do not reach any more.", "counter"
)
REREAD = Metric("twiki_reread_total", "Pages and entities read again.", "counter")
QUEUE = Metric("twiki_reconcile_queue", "Pages and entities to be read again.", "gauge")
SILENT = Metric("twiki_kind_silent", "1: overdue against its own history.", "gauge", "kind")
DATASETS = Metric("twiki_datasets_total", "Dataset versions written, by why.", "counter", "why")
WINDOWS_OPEN = Metric(
    "twiki_windows_unreconciled", "Closed windows that no dump was reconciled with.", "gauge"
)
TRAININGS = Metric("twiki_trainings_total", "Trainings that ended, by outcome.", "counter", "end")
TROUBLE = Metric(
    "twiki_trouble_total", "Work of the service put off by an error.", "counter", "what"
)
STEP = Metric("twiki_step_seconds", "Unix time of the engine's last step.", "gauge")
DISK_FREE = Metric("twiki_disk_free_bytes", "Room beside the state.", "gauge")
STATE_BYTES = Metric("twiki_state_bytes", "Files of the state folder, by part.", "gauge", "part")
MEMORY = Metric("process_resident_memory_bytes", "Memory of this process in RAM.", "gauge")
"""Under the name that Prometheus' own clients give it, which dashboards know."""
BUFFERED = Metric("twiki_reorder_buffered", "Changes in the reorder buffer.", "gauge")

METRICS: tuple[Metric, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Metric)
)


class Metrics:
    """Values in this process; threads may share it.

    Args:
        shown: what :meth:`render` shows.
    """

    def __init__(self, shown: Iterable[Metric] = METRICS) -> None:
        self._shown = tuple(shown)
        self._values: dict[tuple[Metric, str], float] = {}
        self._lock = threading.Lock()

    def add(self, metric: Metric, amount: float = 1, label: str = "") -> None:
        """Count ``amount`` more."""
        key = (metric, label)
        with self._lock:
            self._values[key] = self._values.get(key, 0) + amount

    def set(self, metric: Metric, value: float, label: str = "") -> None:
        """Set a gauge."""
        with self._lock:
            self._values[(metric, label)] = value

    def value(self, metric: Metric, label: str | None = None) -> float:
        """Value under ``label``, or the sum over all labels."""
        with self._lock:
            return sum(
                value
                for (known, held), value in self._values.items()
                if known is metric and label in (None, held)
            )

    def labels(self, metric: Metric) -> dict[str, float]:
        """Values by label, sorted."""
        with self._lock:
            return {
                held: value
                for (known, held), value in sorted(self._values.items())
                if known is metric
            }

    def render(self) -> str:
        """Everything in Prometheus' text format; what was never counted is 0."""
        lines = []
        for metric in self._shown:
            lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
            values = self.labels(metric)
            if not values and metric.label is None:
                values = {"": 0}
            for held, value in values.items():
                label = f'{{{metric.label}="{_escaped(held)}"}}' if metric.label else ""
                lines.append(f"{metric.name}{label} {value:.15g}")
        return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
