from hypothesis import given
from hypothesis import strategies as st

from twiki.records import CleanBlock, Diff, DiffSentence, Paragraph, ParagraphKind, SentenceKind
from twiki.windows.nondiff import PASSAGE_CHARACTERS, NondiffArticle, passages, untouched

URL = "https://wiki.example"


def prose(*sentences):
    return Paragraph(kind=ParagraphKind.PROSE, sentences=sentences)


def heading(text):
    return Paragraph(kind=ParagraphKind.HEADING, sentences=(text,))


def article(paragraphs, changed=(), page_id=1):
    return NondiffArticle(
        page_id=page_id,
        title="T",
        rev_id=5,
        paragraphs=paragraphs,
        unchanged=lambda index: index not in changed,
    )


def texts(*articles, budget=10**9):
    return [row.text for row in passages(articles, budget=budget, wiki_url=URL)]


def test_consecutive_unchanged_paragraphs_make_one_passage():
    found = list(
        passages(
            [article([prose("A.", "B."), prose("C."), prose("D."), prose("E.")], {2})],
            budget=100,
            wiki_url=URL,
        )
    )
    assert [(r.text, r.first, r.paragraphs, r.ordinal) for r in found] == [
        ("A. B.\nC.", 0, 2, 0),
        ("E.", 3, 1, 1),
    ]
    assert found[0].url == "https://wiki.example/wiki?curid=1"


def test_headings_give_no_text_and_do_not_end_a_passage():
    assert texts(article([prose("A."), heading("H"), prose("B.")])) == ["A.\nB."]


def test_a_passage_is_cut_between_paragraphs_before_it_grows_too_long():
    half = "x" * (PASSAGE_CHARACTERS // 2)
    assert texts(article([prose(half), prose(half), prose("y")])) == [half, f"{half}\ny"]


def test_a_long_paragraph_is_cut_between_sentences():
    long = "x" * 2000
    assert texts(article([prose(long, long, "y")])) == [long, f"{long} y"]


def test_a_sentence_too_long_for_any_passage_is_left_out():
    assert texts(article([prose("a", "x" * 2501, "b")])) == ["a", "b"]


def test_articles_are_read_only_until_the_budget_is_reached():
    seen = []

    def articles():
        for page in range(100):
            seen.append(page)
            yield article([prose("12345")], page_id=page)

    assert len(list(passages(articles(), budget=12, wiki_url=URL))) == 3
    assert seen == [0, 1, 2]


def test_paragraphs_with_a_diff_sentence_are_touched():
    blocks = [
        CleanBlock(paragraphs=(prose("A."), prose("B."))),
        CleanBlock(),
        CleanBlock(paragraphs=(prose("C."),)),
    ]
    new = DiffSentence(kind=SentenceKind.ADDED, text="B.", block=0, paragraph=1)
    unchanged = untouched(blocks, Diff(sentences=(new,)))
    assert [unchanged(i) for i in range(3)] == [True, False, True]


paragraphs = st.lists(
    st.builds(
        lambda kind, lengths: Paragraph(kind=kind, sentences=tuple("z" * n for n in lengths)),
        st.sampled_from(ParagraphKind),
        st.lists(st.integers(1, 2600), min_size=1, max_size=4),
    ),
    max_size=8,
)


@given(paragraphs=paragraphs, changed=st.sets(st.integers(0, 7)))
def test_no_passage_is_too_long_and_no_unchanged_sentence_is_lost_or_repeated(paragraphs, changed):
    found = texts(article(paragraphs, changed))
    assert all(0 < len(text) <= PASSAGE_CHARACTERS for text in found)
    expected = [
        sentence
        for index, paragraph in enumerate(paragraphs)
        if index not in changed and paragraph.kind is not ParagraphKind.HEADING
        for sentence in paragraph.sentences
        if len(sentence) <= PASSAGE_CHARACTERS
    ]
    assert " ".join(found).split() == expected
