"""``twiki publish``: give a dataset away."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stream.publish import Plan, Target

_HUB = "hf://"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("publish")(publish)


def publish(
    dataset: Annotated[Path, typer.Argument(exists=True, file_okay=False)],
    to: Annotated[str, typer.Option(help="A folder, or hf://owner/name.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run/--no-dry-run", help="Say what would be done, do nothing.")
    ] = True,
    private: Annotated[
        bool, typer.Option("--private/--public", help="How a new repository is made.")
    ] = True,
    endpoint: Annotated[
        str, typer.Option(envvar="HF_ENDPOINT", help="Address of the hub.")
    ] = "https://huggingface.co",
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Publish a version, or a window's current version, into a collection of datasets.

    The dataset is verified first; what was withdrawn is deleted from the collection. The token
    for the hub is read from the environment variable HF_TOKEN. A dry run asks the hub nothing
    and takes the repository for empty.

    Example: twiki publish datasets/enwiki/2026-11 --to hf://owner/twiki --no-dry-run

    With --json: {"id", "to", "dry_run", "files": [{"path", "bytes"}, …], "delete": […], "url"}
    """
    from stream.publish import plan
    from twiki.windows.dataset import Dataset

    opened = Dataset.open(dataset)
    target = _target(to, endpoint, dry_run=dry_run, private=private)
    planned = plan(opened, target)
    url = None
    if target is not None and not dry_run and not planned.empty:
        url = target.change(planned)
    _tell(planned, to, url, dry_run=dry_run)
    if as_json:
        _give(planned, to, url, dry_run=dry_run)


def _target(to: str, endpoint: str, *, dry_run: bool, private: bool) -> "Target | None":
    from stream.publish import FolderTarget
    from twiki.errors import UsageError

    if not to.startswith(_HUB):
        return FolderTarget(Path(to))
    if dry_run:
        return None
    token = os.environ.get("HF_TOKEN", "")
    if not token:
        raise UsageError("HF_TOKEN: expected a token of the hub in the environment, found none")
    try:
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError as error:
        raise UsageError("publishing to the hub needs: pip install 'twiki[publish]'") from error
    from stream.hub import HubTarget

    if not sys.stderr.isatty():
        disable_progress_bars()
    return HubTarget(to.removeprefix(_HUB), token, endpoint=endpoint, private=private)


def _tell(planned: "Plan", to: str, url: str | None, *, dry_run: bool) -> None:
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    if planned.empty:
        console.print(f"{planned.id}: is in {to} already, nothing to do")
        return
    for file in planned.files():
        console.print(f"add     {file['path']} ({file['bytes']} bytes)")
    for path in planned.delete:
        console.print(f"delete  {path}/ (withdrawn; the history of a repository still holds it)")
    if dry_run:
        console.print(f"{planned.id}: dry run, nothing was written; --no-dry-run publishes to {to}")
    else:
        console.print(f"{planned.id}: published: {url}")


def _give(planned: "Plan", to: str, url: str | None, *, dry_run: bool) -> None:
    import msgspec

    answer = {
        "id": planned.id,
        "to": to,
        "dry_run": dry_run,
        "files": planned.files(),
        "delete": planned.delete,
        "url": url,
    }
    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
