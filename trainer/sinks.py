"""Where a run's figures go: a JSON line a step always, TensorBoard or W&B where wanted."""

import importlib
import json
import math
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from trainer import files
from twiki.errors import TrainerError


@dataclass(frozen=True)
class StepReport:
    """One optimizer step as it is logged."""

    step: int
    steps: int
    loss: float
    """Mean over the step's tokens, nats."""
    loss_old: float | None
    """The same over reviewed rows alone; None: there were none."""
    lr: float
    grad_norm: float
    skipped: bool
    tokens: int
    """Targets since the run's start."""
    tokens_per_second: float
    mfu: float | None
    """Share of the device's peak FLOP/s, where that is known."""
    memory_bytes: int


class Sink(Protocol):
    """Takes every step."""

    def write(self, report: StepReport) -> None:
        """Take one step."""
        ...

    def close(self) -> None:
        """Flush what is held."""
        ...


class JsonLines:
    """``log.jsonl``; a resumed run drops the lines from its first step on."""

    def __init__(self, path: Path, first_step: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [
                line
                for line in lines
                if line.endswith("\n") and json.loads(line)["step"] < first_step
            ]
            # Aside and renamed: a kill must not lose the lines that are kept.
            files.write_text(path, "".join(kept))
        self._file = path.open("a", encoding="utf-8")

    def write(self, report: StepReport) -> None:
        """Append a line."""
        figures = {
            # JSON has no NaN: a step that was not finite has null.
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(report).items()
        }
        self._file.write(json.dumps(figures, sort_keys=True) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TensorBoard:
    """Scalars for TensorBoard; a resumed run hides those from its first step on."""

    def __init__(self, folder: Path, first_step: int) -> None:
        made = _package("tensorboard").SummaryWriter(str(folder), purge_step=first_step)
        self._writer: Any = made

    def write(self, report: StepReport) -> None:
        """Add the scalars."""
        for name in ("loss", "lr", "grad_norm", "tokens_per_second"):
            self._writer.add_scalar(name, getattr(report, name), report.step)

    def close(self) -> None:
        """Close the writer."""
        self._writer.close()


class WeightsAndBiases:
    """A W&B run, kept below ``folder`` and sent nowhere unless ``WANDB_MODE`` is ``online``.

    Its name stands in ``wandb.json``, so that a resumed run goes on in it. W&B leaves out steps
    that it has, and the resumed run's are the same.
    """

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        wandb = _package("wandb")
        mode = os.environ.get("WANDB_MODE", "offline")
        known = folder / "wandb.json"
        if not known.exists():
            files.write_json(known, {"id": secrets.token_hex(8)})
        self._run: Any = wandb.init(
            project="twiki",
            dir=str(folder),
            config=config,
            mode=mode,
            id=files.read_json(known)["id"],
            resume="allow",
        )

    def write(self, report: StepReport) -> None:
        """Log the step."""
        self._run.log(asdict(report), step=report.step)

    def close(self) -> None:
        """Finish the run."""
        self._run.finish()


class Sinks:
    """Several sinks as one, closed together."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks

    def write(self, report: StepReport) -> None:
        """Give the step to each."""
        for sink in self._sinks:
            sink.write(report)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for sink in self._sinks:
            sink.close()


_PACKAGES = {"tensorboard": "torch.utils.tensorboard", "wandb": "wandb"}


def check(names: Sequence[str]) -> None:
    """Whether each of these sinks exists and is installed.

    Raises:
        TrainerError: one does not, or its package is missing.
    """
    for name in names:
        _package(name)


def _package(name: str) -> Any:  # noqa: ANN401 - optional packages
    if name not in _PACKAGES:
        raise TrainerError(f"sink {name!r} does not exist; there are {' and '.join(_PACKAGES)}")
    try:
        return importlib.import_module(_PACKAGES[name])
    except ImportError as error:
        raise TrainerError(f"sink {name}: pip install 'twiki[sinks]'") from error


def open_sinks(
    out: Path, names: Sequence[str], *, first_step: int, config: dict[str, Any]
) -> Sinks:
    """The JSON log, and each of ``names`` (``tensorboard``, ``wandb``).

    Raises:
        TrainerError: an unknown name, or its package is not installed.
    """
    check(names)
    sinks: list[Sink] = [JsonLines(out / "log.jsonl", first_step)]
    if "tensorboard" in names:
        sinks.append(TensorBoard(out / "tensorboard", first_step))
    if "wandb" in names:
        sinks.append(WeightsAndBiases(out, config))
    return Sinks(sinks)
