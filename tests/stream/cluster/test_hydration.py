import asyncio

import msgspec
from cluster_records import FIRST, change, record

from stream.cluster.commit import Taken
from stream.cluster.hydration import Hydration
from stream.found import Failed, Failure
from stream.topics import (
    ChangeRecord,
    CloseRecord,
    NeedRecord,
    RevisionRecord,
    Topic,
    decode_revision,
    encode,
    partition_of,
)
from twiki.records import ChangeKind, Revision


class Api:
    """Gives every revision ``text``, or fails."""

    def __init__(self, text="Text.", failure=None):
        self.text, self.failure = text, failure
        self.closed = False

    def fetch(self, changes):
        return [self._one(c.wiki, c) for c in changes]

    def revisions(self, wiki, rev_ids):
        return [self._one(wiki, change(rev, page=99)) for rev in rev_ids]

    def _one(self, wiki, asked):
        if self.failure is not None:
            return Failed(wiki=wiki, reason=self.failure, change=asked, rev_id=asked.rev_id)
        return Revision(change=asked, content=self.text)

    def close(self):
        self.closed = True


def hydrate(settings, api, *records):
    sent, acknowledged = [], []

    async def tell(messages):
        assert not acknowledged
        sent.append(list(messages))

    async def go():
        hydration = Hydration(settings, lambda _share: api, tell)
        events = [
            Taken(n, offset, b"k", encode(told), lambda: acknowledged.append(1))
            for offset, (n, told) in enumerate(records)
        ]
        await hydration(events)

    asyncio.run(go())
    assert len(acknowledged) == len(records)
    return sent


def asked(rev=1, **more):
    page = more.pop("hint", None)
    return ChangeRecord(change=change(rev, **more), first=FIRST, closed=5, page=page)


def test_a_change_becomes_a_revision_under_its_page(settings):
    (told,) = hydrate(settings, Api(), (0, asked()))
    ((partition, message),) = told
    assert message.topic is Topic.PAGES
    assert message.key == b"enwiki:7"
    assert partition == partition_of(b"enwiki:7", 3)
    revision = decode_revision(message.value)
    assert revision.revision.content == "Text."
    assert (revision.first, revision.closed, revision.supplied) == (FIRST, 5, False)


def test_barriers_follow_when_everything_before_them_is_acknowledged(settings):
    close = CloseRecord(start=FIRST, end=FIRST + 1, first=FIRST)
    revisions, barriers = hydrate(settings, Api(), (2, asked()), (2, close), (1, asked(2)))
    assert len(revisions) == 2
    assert len(barriers) == 6  # each partition of both topics
    assert {decode_revision(message.value).source for _, message in barriers} == {2}


def test_a_need_comes_back_as_supplied_and_leaves_the_current_text_alone(settings):
    need = NeedRecord(wiki="enwiki", page=7, rev_id=3, first=FIRST)
    (told,) = hydrate(settings, Api(), (0, need))
    ((_, message),) = told
    assert message.key == b"enwiki:7#3"
    assert decode_revision(message.value).supplied


def test_what_cannot_be_had_is_told_without_content_and_as_a_dead_letter(settings):
    (told,) = hydrate(settings, Api(failure=Failure.MISSING), (0, asked()))
    topics = {message.topic: message for _, message in told}
    assert decode_revision(topics[Topic.PAGES].value).revision.content is None
    assert msgspec.json.decode(topics[Topic.DEAD].value)["reason"] == "fetch_missing"


def test_a_content_above_the_limit_is_left_out_and_told(settings):
    (told,) = hydrate(settings, Api("x" * 30_000), (0, asked()))
    topics = {message.topic: message for _, message in told}
    assert decode_revision(topics[Topic.PAGES].value).revision.content is None
    assert msgspec.json.decode(topics[Topic.DEAD].value)["reason"] == "too_large"


def test_a_lone_surrogate_costs_the_content_alone(settings):
    (told,) = hydrate(settings, Api("\ud800"), (0, asked()))
    assert decode_revision(told[0][1].value).revision.content is None


def test_hidden_text_is_removed_from_what_compaction_keeps(settings):
    hides = asked(3, kind=ChangeKind.VISIBILITY, visible=False, rev_ids=(3,))
    (told,) = hydrate(settings, Api(None), (0, hides))
    tombs = [message.key for _, message in told if message.value is None]
    assert tombs == [b"enwiki:7", b"enwiki:7#3"]


def test_the_page_that_bore_the_title_then_wins_over_the_apis_of_today(settings):
    (told,) = hydrate(settings, Api(), (0, asked(page=None, parent=4, hint=7)))
    assert told[0][1].key == b"enwiki:7"


def test_a_recorded_revision_passes_as_it_is(settings):
    told_before = record(4, "As recorded.", closed=9)
    (told,) = hydrate(settings, Api("never asked"), (0, told_before))
    assert decode_revision(told[0][1].value) == RevisionRecord(
        revision=told_before.revision, first=FIRST, closed=9
    )


def test_a_new_share_of_the_budget_takes_the_old_clients_place(settings):
    made = []

    def contents(share):
        made.append((share, Api()))
        return made[-1][1]

    async def go():
        hydration = Hydration(settings, contents, None)
        for share in (1.0, 0.5, 0.5, 0.0):
            await hydration.share(share)

    asyncio.run(go())
    assert [share for share, _ in made] == [1.0, 0.5]
    assert made[0][1].closed


def test_what_names_no_page_goes_to_the_one_that_bore_its_title_at_the_first_boundary(settings):
    merge = msgspec.structs.replace(
        change(5, kind=ChangeKind.MERGE), page_id=None, title="Old", namespace=0
    )
    asked = []

    class Nameless(Api):
        def fetch(self, changes):
            return [Revision(change=c) for c in changes]

    def pages_of(keys):
        asked.extend(keys)
        return {b"enwiki:Old": 44}

    async def go(sent):
        async def tell(messages):
            sent.extend(messages)

        hydration = Hydration(settings, lambda _share: Nameless(), tell, pages_of=pages_of)
        told = encode(ChangeRecord(change=merge, first=FIRST))
        await hydration([Taken(0, 0, b"k", told, lambda: None)])

    sent = []
    asyncio.run(go(sent))
    assert asked == [b"enwiki:Old"]
    assert [m.key.partition(b"#")[0] for _, m in sent if m.topic is Topic.PAGES] == [b"enwiki:44"]
