"""What happens in a month, how often, and when."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from stream.sandbox import itemlife, pagelife, textlife
from stream.sandbox.model import STREAMS
from stream.sandbox.scene import Scene, Story
from twiki.records import Window

PER = 150
"""The counts below are for a world of so many articles."""
LEAST_ARTICLES = 60
"""Fewer cannot play all the parts of a month."""


class Entry(NamedTuple):
    """A kind of story: how often in a month, and how long before the end it must begin."""

    story: Callable[[Scene], Story]
    times: float
    least: int = 1
    before_end: timedelta = timedelta(hours=2)


_DAYS = timedelta(days=1)

COMMON = (
    Entry(textlife.fact_change, 85),
    Entry(textlife.fact_in_prose_alone, 6),
    Entry(textlife.fact_in_data_alone, 8),
    Entry(textlife.sentence_edit, 38),
    Entry(textlife.rewrite, 4),
    Entry(textlife.quiet_edit, 24),
    Entry(textlife.noise, 4),
    Entry(pagelife.talk, 2),
    Entry(itemlife.statement_edit, 26),
    Entry(itemlife.term_edit, 6),
    Entry(itemlife.label_change, 3),
    Entry(itemlife.new_pool_item, 4),
)
"""What goes on all the time, in the days after the last boundary too."""

STORIES = (
    Entry(textlife.vandalism, 8, before_end=_DAYS),
    Entry(textlife.hide_old, 2, before_end=2 * _DAYS),
    Entry(textlife.hide_comment, 1),
    Entry(textlife.protect, 1, before_end=_DAYS),
    Entry(textlife.same_second, 1),
    Entry(pagelife.new_article, 5, before_end=5 * _DAYS),
    Entry(pagelife.new_article_of_an_item, 3, before_end=5 * _DAYS),
    Entry(pagelife.new_article, 1, before_end=_DAYS),
    Entry(pagelife.import_page, 1, before_end=2 * _DAYS),
    Entry(pagelife.import_old, 1, before_end=2 * _DAYS),
    Entry(pagelife.new_draft, 1),
    Entry(pagelife.draft_move, 1, before_end=3 * _DAYS),
    Entry(pagelife.move, 3, before_end=_DAYS),
    Entry(pagelife.redirect_and_back, 1, before_end=2 * _DAYS),
    Entry(pagelife.redirect_for_good, 1),
    Entry(pagelife.redirect_undone, 1),
    Entry(pagelife.delete, 2, before_end=3 * _DAYS),
    Entry(pagelife.delete_and_restore, 1, before_end=2 * _DAYS),
    Entry(pagelife.partial_restore, 1, before_end=_DAYS),
    Entry(pagelife.restore_next_month, 1),
    Entry(pagelife.merge_history, 1, before_end=2 * _DAYS),
    Entry(itemlife.all_ranks, 2, before_end=_DAYS),
    Entry(itemlife.data_vandalism, 3, before_end=_DAYS),
    Entry(itemlife.property_label, 0.4, least=0),
    Entry(itemlife.merge_object, 2, before_end=3 * _DAYS),
    Entry(itemlife.merge_subject, 1, before_end=2 * _DAYS),
    Entry(itemlife.homonym, 1, before_end=_DAYS),
    Entry(itemlife.delete_item, 1),
)
"""What happens at least once in a month, begun at a random moment."""

AT_THE_END = (
    (textlife.hide_last, timedelta(hours=5)),
    (textlife.suppress_last, timedelta(hours=4)),
    (textlife.around_midnight, timedelta(hours=2)),
    (itemlife.data_around_midnight, timedelta(hours=2)),
    (pagelife.redirect_over_boundary, timedelta(hours=30)),
    (pagelife.move_late, timedelta(hours=3)),
)
"""What happens once at each boundary, begun so long before it."""


def plan_month(scene: Scene, window: Window, articles: int) -> None:
    """Start a month's stories, each at its moment."""
    _scatter(scene, COMMON, window, articles / PER)
    _scatter(scene, STORIES, window, articles / PER)
    for story, before in AT_THE_END:
        scene.start(window.end - before, story(scene))


def plan_tail(scene: Scene, window: Window, articles: int) -> None:
    """Start what goes on in the days after the last boundary."""
    days = (window.end - window.start) / timedelta(days=30)
    _scatter(scene, COMMON, window, articles / PER * days)


def _scatter(scene: Scene, entries: tuple[Entry, ...], window: Window, scale: float) -> None:
    for entry in entries:
        whole = entry.times * scale
        count = int(whole) + (scene.rng.random() < whole - int(whole))
        span = window.end - window.start - entry.before_end - timedelta(hours=1)
        for _ in range(max(entry.least, count)):
            at = window.start + timedelta(hours=1) + span * scene.rng.random()
            scene.start(at, entry.story(scene))


def plan_canaries(scene: Scene, boundaries: tuple[datetime, ...], until: datetime) -> None:
    """Canary events twice a day, and every half hour for some hours after each boundary."""
    for stream in STREAMS:
        at = boundaries[0] + timedelta(minutes=scene.rng.randint(1, 20))
        while at < until:
            scene.feed.canary(stream, scene.feed.arrival(at))
            at += timedelta(hours=12)
        for boundary in boundaries:
            for half_hours in range(1, 7):
                at = boundary + timedelta(minutes=30 * half_hours + 3)
                scene.feed.canary(stream, scene.feed.arrival(at))
