"""``nondiff.parquet``: text that the window left as it was, the paper's Non-Diffset.

Articles come in the order of :func:`twiki.windows.schema.page_hash` and are read only until
the budget of characters is reached, so that a cut cleans few of them. A passage is a run of
consecutive unchanged paragraphs of one article. Headings give no text and do not end a run.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from twiki.records import CleanBlock, Diff, Paragraph, ParagraphKind, Record
from twiki.windows.convert import article_url
from twiki.windows.schema import NondiffRow

PASSAGE_CHARACTERS = 2_500
"""About 512 tokens of GPT-2 at 4.7 characters a token."""

Unchanged = Callable[[int], bool]
"""Index of a paragraph in the article → whether the window left it as it was."""


class NondiffArticle(Record, frozen=True, kw_only=True):
    """A live article as of the window's end, with what the window left of it."""

    page_id: int
    title: str
    rev_id: int
    paragraphs: Sequence[Paragraph]
    unchanged: Unchanged


def untouched(blocks: Sequence[CleanBlock], diff: Diff) -> Unchanged:
    """Say which paragraphs of ``blocks`` (the newer text) hold no diff sentence."""
    touched = {(sentence.block, sentence.paragraph) for sentence in diff.sentences}
    places = [
        (block, paragraph)
        for block, clean in enumerate(blocks)
        for paragraph in range(len(clean.paragraphs))
    ]
    return lambda index: places[index] not in touched


def passages(
    articles: Iterable[NondiffArticle], *, budget: int, wiki_url: str
) -> Iterator[NondiffRow]:
    """Yield passages in the order of ``articles`` until they hold ``budget`` characters."""
    spent = 0
    for article in articles:
        if spent >= budget:
            return
        for ordinal, (first, count, text) in enumerate(_passages(article)):
            yield NondiffRow(
                id=article.page_id,
                url=article_url(wiki_url, article.page_id),
                title=article.title,
                text=text,
                rev=article.rev_id,
                ordinal=ordinal,
                first=first,
                paragraphs=count,
            )
            spent += len(text)
            if spent >= budget:
                return


def _passages(article: NondiffArticle) -> Iterator[tuple[int, int, str]]:
    """Yield (first paragraph, number of paragraphs, text) of every passage."""
    run: list[tuple[int, str]] = []
    for index, paragraph in enumerate(article.paragraphs):
        if paragraph.kind is ParagraphKind.HEADING:
            continue
        if not article.unchanged(index):
            yield from _packed(run)
            run = []
            continue
        for piece in _pieces(paragraph):
            if piece is None:
                yield from _packed(run)
                run = []
            else:
                run.append((index, piece))
    yield from _packed(run)


def _pieces(paragraph: Paragraph) -> Iterator[str | None]:
    """Yield the paragraph whole where it fits a passage, else cut between sentences.

    None stands for a sentence that fits none: it is left out, and ends the run.
    """
    sentences: list[str] = []
    length = 0
    for sentence in paragraph.sentences:
        if sentences and length + 1 + len(sentence) > PASSAGE_CHARACTERS:
            yield " ".join(sentences)
            sentences, length = [], 0
        if len(sentence) > PASSAGE_CHARACTERS:
            yield None
            continue
        length += len(sentence) + bool(sentences)
        sentences.append(sentence)
    if sentences:
        yield " ".join(sentences)


def _packed(run: list[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Join the pieces of a run to passages as long as allowed."""
    start = 0
    while start < len(run):
        end, length = start + 1, len(run[start][1])
        while end < len(run) and length + 1 + len(run[end][1]) <= PASSAGE_CHARACTERS:
            length += 1 + len(run[end][1])
            end += 1
        pieces = run[start:end]
        count = len({index for index, _ in pieces})
        yield pieces[0][0], count, "\n".join(text for _, text in pieces)
        start = end
