"""Where commands get their input from: dumps as the manifest names them, contents by id."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twiki.cli.common import say

if TYPE_CHECKING:
    from stream.embedded import Contents
    from stream.settings import Settings
    from twiki.windows.cut import Beside
    from twiki.windows.gate import PageProps
    from twiki.windows.stats import Tokenizer


def described(
    articles: Sequence[Path], entities: Sequence[Path] = ()
) -> tuple[dict[str, Any], ...]:
    """Verify dumps and describe them for a manifest.

    A file without a published checksum is read to its end first, so that damage shows before
    anything is written.

    Raises:
        DumpError: a file is damaged.
    """
    from twiki.dumps.files import verify
    from twiki.windows.reconcile import check

    sources = []
    for files, kind in ((articles, "articles"), (entities, "entities")):
        for path in files:
            found = verify(path)
            if found.verified_by == "unverified":
                say(f"{path}: no checksum beside it; reading it to its end first")
                check(*(([path], []) if kind == "articles" else ([], [path])))
            sources.append(
                {
                    "kind": kind,
                    "file": path.name,
                    "bytes": found.bytes,
                    "sha256": found.sha256,
                    "verified_by": found.verified_by,
                }
            )
    return tuple(sources)


def totals(articles: Sequence[Path], entities: Sequence[Path] = ()) -> dict[str, int]:
    """Bytes to be read, by the stages that bootstrap and reconcile tell of."""
    from twiki.windows.bootstrap import ARTICLE_BYTES, ENTITY_BYTES

    stages = ((ARTICLE_BYTES, articles), (ENTITY_BYTES, entities))
    return {stage: sum(path.stat().st_size for path in files) for stage, files in stages}


@contextmanager
def contents_for(settings: "Settings", *, needed: bool) -> "Iterator[Contents]":
    """The API of the settings' wiki, or nothing where no content is to be fetched.

    Raises:
        ConfigError: the wiki wants a contact and there is none.
    """
    import random

    from stream.clock import SystemClock
    from stream.embedded import NoContents
    from stream.hydrate import Hydrator
    from stream.metrics import Metrics

    if not needed:
        yield NoContents()
        return
    hydrator = Hydrator(settings, clock=SystemClock(), chance=random.Random(), metrics=Metrics())
    with hydrator:
        yield hydrator


def page_props_of(paths: Sequence[Path] | None, contents: object) -> "list[PageProps]":
    """Where articles of entities without a link are told: dumps, and the API where it is meant."""
    from stream.hydrate import Hydrator

    found: list[PageProps] = [*(paths or ())]
    return [*found, contents] if isinstance(contents, Hydrator) else found


def beside(
    corpus: Path | None, tokenizer: str | None, labels: object = None, *, empty: bool = False
) -> "Beside":
    """What a cut may use beside the state, as a command's options name it.

    Args:
        corpus: the folder of a corpus.
        tokenizer: see :func:`token_counter`.
        labels: where labels are had, if it can tell of earlier revisions; None: nowhere.
        empty: candidates without a probe are allowed.
    """
    from stream.hydrate import Hydrator
    from twiki.windows.cut import Beside

    return Beside(
        labels=labels if isinstance(labels, Hydrator) else None,
        corpus=corpus,
        tokenizer=None if tokenizer is None else token_counter(tokenizer),
        tokenizer_name=tokenizer or "",
        require_probes=not empty,
    )


def token_counter(name: str) -> "Tokenizer":
    """Text to number of tokens, by a folder's ``tokenizer.json`` or a name on the hub.

    Raises:
        ConfigError: there is no such tokenizer.
    """
    from tokenizers import Tokenizer

    from twiki.errors import ConfigError

    folder = Path(name)
    try:
        if folder.is_dir():
            found = Tokenizer.from_file(str(folder / "tokenizer.json"))
        else:
            found = Tokenizer.from_pretrained(name)
    except Exception as error:  # tokenizers raises plain Exception for everything
        raise ConfigError(f"tokenizer {name}: cannot be read: {error}") from error
    return lambda text: len(found.encode(text, add_special_tokens=False))
