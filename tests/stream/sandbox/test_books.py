"""The books' articles against expectations written by hand: every tricky case of a boundary."""

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from stream.sandbox import books
from stream.sandbox.acts import COMMENT, Acts
from stream.sandbox.books import difference, keep_books
from stream.sandbox.feed import Feed
from stream.sandbox.model import ENWIKI, WIKIDATA
from stream.sandbox.prose import Document, Part, Redirection, Section, Sentence
from stream.sandbox.wiki import Wiki
from stream.sandbox.world import World
from twiki.records import Window

FIRST = datetime(2026, 9, 1, tzinfo=UTC)
SECOND = datetime(2026, 10, 1, tzinfo=UTC)
THIRD = datetime(2026, 11, 1, tzinfo=UTC)
SEPTEMBER = Window(start=FIRST, end=SECOND, name="2026-09")
OCTOBER = Window(start=SECOND, end=THIRD, name="2026-10")
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def said(*sentences):
    return tuple(Sentence(one, one) for one in sentences)


def text(*paragraphs, fields=()):
    """A document with a paragraph for each argument, its sentences split at bars."""
    parts = tuple(Part(said(*one.split("|"))) for one in paragraphs)
    return Document((), "", fields, (Section("", parts),), ())


class Stage:
    """A wiki with one article "Ada" from before the first boundary."""

    def __init__(self, document=None):
        rng = Random(0)
        self.feed = Feed(rng)
        self.acts = Acts(Wiki(ENWIKI), self.feed, rng, 5000)
        self.page = self.acts.seed(FIRST - 9 * DAY, "Ada", document or text("One.|Two."), "Quill")

    @property
    def rev(self):
        return self.acts.wiki.pages[self.page].last.rev_id

    def edit(self, at, document):
        self.acts.edit(at, self.page, document, "Quill")
        return self.rev

    def books(self, window=SEPTEMBER, known_at=None):
        return keep_books(
            self.acts.wiki,
            Wiki(WIKIDATA),
            window,
            before=FIRST if window == OCTOBER else None,
            known_at=known_at or window.end + 3 * DAY,
        ).data

    def gained(self, window=SEPTEMBER, **options):
        """Title -> (kind, diffset text) of every article in the diffset."""
        books = self.books(window, **options)
        return {one["title"]: (one["kind"], one["text"]) for one in books["articles"]}


@pytest.fixture
def stage():
    return Stage()


# --- sentences ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "gained", "lost"),
    [
        (["A.|B."], ["A.|B."], [], []),
        (["A.|B."], ["A.|B.|C."], ["C."], []),
        (["A.|B."], ["C.|A.|B."], ["C."], []),
        (["A.|B."], ["B."], [], ["A."]),
        (["A.", "B."], ["B.", "A."], [], []),
        (["A.|B."], ["B.|A."], [], []),
        (["A.|B."], ["A.", "B."], [], []),
        (["A."], ["A.|A."], ["A."], []),
        (["A.|A."], ["A."], [], ["A."]),
        (["It cost 1.5 million."], ["It cost 15 million."], ["It cost 15 million."], None),
        (["An US city."], ["An us city."], ["An us city."], None),
        (["Cafe\u0301 X."], ["Caf\u00e9  X."], [], []),
    ],
)
def test_a_difference_is_one_of_multisets(old, new, gained, lost):
    change = difference(text(*old), text(*new))
    assert [one.clean for one, _ in change.gained] == gained
    if lost is not None:
        assert [one.clean for one in change.lost] == lost


def test_of_a_repeated_sentence_the_last_ones_outside_equal_paragraphs_are_new():
    change = difference(text("N.", "A.|N."), text("N.", "B.|N.|N."))
    assert [(one.clean, paragraph) for one, paragraph in change.gained] == [("B.", 1), ("N.", 1)]
    change = difference(text("A.|N."), text("N.", "A.|N."))
    assert [(one.clean, paragraph) for one, paragraph in change.gained] == [("N.", 0)]


def test_the_diffset_joins_sentences_of_a_paragraph_by_a_space(stage):
    stage.edit(FIRST + DAY, text("One.|Three.|Four.", "Two.", "Five."))
    assert stage.gained() == {"Ada": ("updated", "Three. Four.\nFive.")}


def test_a_replaced_sentence_is_known_by_what_it_states():
    old = Document((), "", (), (Section("", (Part((Sentence("A.", "A.", "P1"),)),)),), ())
    new = Document((), "", (), (Section("", (Part((Sentence("B.", "B.", "P1"),)),)),), ())
    stage = Stage(old)
    stage.edit(FIRST + DAY, new)
    (article,) = stage.books()["articles"]
    assert article["sentences"] == [
        {"kind": "updated", "text": "B.", "replaced": "A.", "paragraph": 0}
    ]
    assert article["removed"] == ["A."]


# --- windows --------------------------------------------------------------------------------


def test_the_books_of_a_window_in_which_nothing_happened_are_empty(stage):
    books = stage.books()
    assert books["articles"] == books["facts_changed"] == books["facts_removed"] == []
    assert books["counts"]["articles_live"] == 1
    assert books["counts"]["diff_sentences"] == 0


def test_an_edit_reverted_in_the_window_leaves_nothing(stage):
    stage.edit(FIRST + DAY, text("One.|Nonsense."))
    stage.edit(FIRST + 2 * DAY, text("One.|Two."))
    assert stage.gained() == {}


def test_a_template_alone_leaves_nothing(stage):
    stage.edit(FIRST + DAY, text("One.|Two.", fields=(("population", "7"),)))
    assert stage.gained() == {}


def test_a_second_before_midnight_is_this_window_and_midnight_the_next(stage):
    stage.edit(SECOND - timedelta(seconds=1), text("One.|Last."))
    stage.edit(SECOND, text("One.|First."))
    assert stage.gained() == {"Ada": ("updated", "Last.")}
    assert stage.gained(OCTOBER) == {"Ada": ("updated", "First.")}


def test_of_two_edits_in_a_second_the_child_counts(stage):
    stage.edit(FIRST + DAY, text("One.|Earlier."))
    stage.edit(FIRST + DAY, text("One.|Later."))
    assert stage.gained() == {"Ada": ("updated", "Later.")}


def test_a_dummy_revision_of_protection_changes_nothing(stage):
    dummy = stage.acts.protect(FIRST + DAY, stage.page, "Quill")
    assert stage.rev == dummy.rev_id
    assert stage.gained() == {}


def test_a_new_page_gives_all_its_sentences(stage):
    stage.acts.create(FIRST + DAY, "Bela", text("Three.|Four."), "Quill")
    assert stage.gained() == {"Bela": ("new_article", "Three. Four.")}


def test_pages_of_other_namespaces_are_no_articles(stage):
    stage.acts.create(FIRST + DAY, "Draft:Bela", text("Three."), "Quill")
    stage.acts.create(FIRST + DAY, "Bela", Redirection("Ada"), "Quill")
    assert stage.gained() == {}
    assert stage.books()["counts"]["articles_live"] == 1


# --- moves and redirects --------------------------------------------------------------------


def test_a_move_alone_leaves_nothing_and_an_edit_counts_under_the_new_title(stage):
    stage.acts.move(FIRST + DAY, stage.page, "Ada (poet)", "Quill", leave_redirect=True)
    assert stage.gained() == {}
    stage.edit(FIRST + 2 * DAY, text("One.|Two.|Three."))
    assert stage.gained() == {"Ada (poet)": ("updated", "Three.")}


def test_a_draft_moved_among_the_articles_is_new(stage):
    page = stage.acts.seed(FIRST - DAY, "Draft:Bela", text("Three."), "Quill")
    stage.acts.move(FIRST + DAY, page, "Bela", "Quill", leave_redirect=False)
    assert stage.gained() == {"Bela": ("new_article", "Three.")}


def test_an_article_moved_out_of_its_namespace_is_gone(stage):
    stage.acts.move(FIRST + DAY, stage.page, "Draft:Ada", "Quill", leave_redirect=False)
    assert stage.gained() == {}
    assert stage.books()["counts"]["articles_live"] == 0


def test_text_redirect_boundary_text_is_new_in_the_second_window(stage):
    stage.edit(SECOND - 2 * HOUR, text("One.|Two.|Three."))
    stage.edit(SECOND - HOUR, Redirection("Bela"))
    stage.edit(SECOND + HOUR, text("One.|Two.|Three."))
    assert stage.gained() == {}
    assert stage.books()["counts"]["articles_live"] == 0
    assert stage.gained(OCTOBER) == {"Ada": ("new_article", "One. Two. Three.")}


def test_a_redirect_made_and_undone_in_a_window_leaves_only_the_edit(stage):
    stage.edit(FIRST + DAY, Redirection("Bela"))
    stage.edit(FIRST + 2 * DAY, text("One.|Two.|Three."))
    assert stage.gained() == {"Ada": ("updated", "Three.")}


# --- deletions ------------------------------------------------------------------------------


def test_a_deleted_article_is_gone_and_new_when_restored_in_the_next_window(stage):
    revisions = stage.acts.wiki.pages[stage.page].last.revisions
    stage.acts.delete(FIRST + DAY, stage.page, "Quill", "")
    stage.acts.restore(SECOND + DAY, stage.page, revisions, "Quill", "")
    assert stage.gained() == {}
    assert stage.gained(OCTOBER) == {"Ada": ("new_article", "One. Two.")}


def test_a_partial_restore_brings_back_the_older_revision(stage):
    kept = stage.edit(FIRST + DAY, text("One.|Two.|Ten."))
    revisions = stage.acts.wiki.pages[stage.page].last.revisions
    stage.edit(FIRST + 2 * DAY, text("One.|Two.|Ten.|Eleven."))
    stage.edit(FIRST + 3 * DAY, text("One.|Two.|Ten.|Eleven.|Twelve."))
    stage.acts.delete(FIRST + 4 * DAY, stage.page, "Quill", "")
    stage.acts.restore(FIRST + 5 * DAY, stage.page, revisions, "Quill", "")
    assert stage.rev == kept
    assert stage.gained() == {"Ada": ("updated", "Ten.")}


def test_a_full_history_merge_leaves_the_target_with_its_own_text(stage):
    target = stage.acts.create(FIRST + DAY, "Ada (poet)", text("One.|Two.|Three."), "Quill")
    stage.acts.merge_history(FIRST + 2 * DAY, stage.page, target, "Quill")
    assert stage.gained() == {"Ada (poet)": ("new_article", "One. Two. Three.")}
    assert stage.books()["counts"]["articles_live"] == 1


# --- imports --------------------------------------------------------------------------------


def test_an_imported_page_is_new_however_old_its_revisions(stage):
    versions = [(FIRST - 60 * DAY, text("Three.")), (FIRST - 50 * DAY, text("Three.|Four."))]
    stage.acts.import_page(FIRST + DAY, "Bela", versions, "Quill")
    assert stage.gained() == {"Bela": ("new_article", "Three. Four.")}


def test_an_old_revision_imported_below_the_current_one_changes_nothing(stage):
    current = stage.edit(FIRST + DAY, text("One.|Two.|Three."))
    for written in (datetime(2010, 1, 1, tzinfo=UTC), FIRST - DAY):
        stage.acts.import_revision(FIRST + 2 * DAY, stage.page, written, text("Old."), "Quill")
    assert stage.rev == current
    assert stage.gained() == {"Ada": ("updated", "Three.")}


# --- hidden text ----------------------------------------------------------------------------


def test_the_last_text_hidden_two_days_later_counts_as_the_text_before(stage):
    stage.edit(FIRST + DAY, text("One.|Two.|Three."))
    bad = stage.edit(SECOND - HOUR, text("One.|Two.|Three.|Bad."))
    stage.edit(SECOND + DAY, text("One.|Two.|Three."))
    stage.acts.hide(SECOND + 2 * DAY, stage.page, (bad,), "Quill")
    assert stage.gained() == {}
    assert stage.books()["counts"]["articles_live"] == 1
    # The next window starts from the text that stands for the boundary.
    assert stage.gained(OCTOBER) == {"Ada": ("updated", "Three.")}


def test_before_the_hiding_is_known_the_text_counts(stage):
    bad = stage.edit(SECOND - HOUR, text("One.|Two.|Bad."))
    stage.edit(SECOND + DAY, text("One.|Two."))
    stage.acts.hide(SECOND + 2 * DAY, stage.page, (bad,), "Quill")
    assert stage.gained(known_at=SECOND + HOUR) == {"Ada": ("updated", "Bad.")}


def test_a_text_hidden_at_both_boundaries_leaves_an_article_without_text(stage):
    first = stage.rev
    second = stage.edit(FIRST + DAY, text("One.|Two.|Three."))
    stage.edit(SECOND + HOUR, text("Two."))
    stage.acts.hide(SECOND + DAY, stage.page, (first, second), "Quill")
    assert stage.gained() == {}
    assert stage.books()["counts"]["articles_without_text"] == 1


def test_a_hidden_text_is_not_replaced_by_that_of_a_redirect():
    stage = Stage(Redirection("Bela"))
    bad = stage.edit(FIRST + DAY, text("Bad."))
    stage.edit(SECOND + HOUR, text("Good."))
    stage.acts.hide(SECOND + DAY, stage.page, (bad,), "Quill")
    assert stage.gained() == {}
    assert stage.books()["counts"]["articles_without_text"] == 1


def test_a_hidden_old_revision_or_comment_changes_nothing(stage):
    bad = stage.edit(FIRST + DAY, text("One.|Bad."))
    good = stage.edit(FIRST + 2 * DAY, text("One.|Two.|Three."))
    stage.acts.hide(FIRST + 3 * DAY, stage.page, (bad,), "Quill")
    stage.acts.hide(FIRST + 3 * DAY, stage.page, (good,), "Quill", COMMENT)
    assert stage.gained() == {"Ada": ("updated", "Three.")}


# --- whole worlds ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 6))
def test_books_of_a_world_add_up(seed):
    world = World(seed, articles=60)
    for window in world.windows:
        books = world.books(window.name).data
        counts = books["counts"]
        assert counts["articles_new"] + counts["articles_updated"] == len(books["articles"])
        assert counts["articles_without_text"] == 0
        assert counts["diff_sentences"] == sum(len(a["sentences"]) for a in books["articles"])
        assert counts["articles_new"] >= 5
        assert counts["articles_updated"] >= 20
        assert len(books["articles"]) < counts["articles_live"]
        for category in ("changed", "unchanged"):
            kept = counts[f"probes_{category}"]
            dropped = sum(books[f"dropped_{category}"].values())
            assert kept + dropped == counts[f"candidates_{category}"]
            assert counts[f"candidates_{category}"] <= counts[f"facts_{category}"]
            assert kept >= 15
        assert {fact["class"] for fact in books["facts_changed"]} == {
            "new_subject", "new_relation", "new_object",
        }  # fmt: skip


def test_a_window_of_another_world_is_refused():
    with pytest.raises(ValueError, match="2020-01"):
        World(1, articles=60).books("2020-01")


def test_the_books_share_no_code_with_what_they_judge():
    folder = Path(books.__file__).parent
    seen, waiting = set(), ["stream.sandbox.books"]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name.startswith("stream.sandbox."):
            path = folder / f"{name.rpartition('.')[2]}.py"
            tree = ast.parse(path.read_text(encoding="utf-8"))
            waiting += [
                node.module
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and node.module
            ]
    assert {name for name in seen if name.startswith("twiki")} == {"twiki.records"}
