"""The values that travel through the system: frozen, comparable, without behaviour.

Every stage takes some of these and gives some of these::

    Change ──hydrate──▶ Revision ──apply──▶ DiffSentence, FactChange      (as they happen)
    Article at start, Article at end ──diff──▶ DiffSentence               (window close)
    Entity at start, Entity at end ──facts──▶ FactChange ──probes──▶ Probe

Times are aware datetimes in UTC. Titles are display titles: spaces, not underscores, with
the namespace prefix, in Unicode form NFC. Ids of entities are strings (``Q42``, ``P31``).
"""

from datetime import datetime
from enum import StrEnum

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all records: immutable, compared by value.

    Subclasses repeat ``frozen=True, kw_only=True``: keyword-only is not inherited.
    """


# --- events -------------------------------------------------------------------------------


class ChangeKind(StrEnum):
    """What happened to a page or entity (DESIGN: words)."""

    CREATE = "create"
    EDIT = "edit"
    MOVE = "move"
    DELETE = "delete"
    RESTORE = "restore"
    VISIBILITY = "visibility"
    MERGE = "merge"


class SourcePosition(Record, frozen=True, kw_only=True):
    """Where an event stands in the source: one topic-partition of Wikimedia's Kafka."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class Change(Record, frozen=True, kw_only=True):
    """One normalised event.

    ``rev_dt`` orders content, ``effective_time`` decides the window, ``arrival_time`` drives
    the watermark. A field that the event does not carry is ``None``.
    """

    wiki: str
    kind: ChangeKind
    effective_time: datetime
    arrival_time: datetime
    page_id: int | None = None
    title: str | None = None
    """For a move: the new title."""
    namespace: int | None = None
    rev_id: int | None = None
    """Revision that is current after the change; for MERGE and RESTORE the one it names."""
    parent_rev_id: int | None = None
    """0: there is no parent."""
    rev_dt: datetime | None = None
    redirect: bool | None = None
    visible: bool | None = None
    """VISIBILITY: may the text of ``rev_ids`` be read now; else: of ``rev_id``."""
    rev_ids: tuple[int, ...] = ()
    """VISIBILITY: the revisions concerned."""
    from_title: str | None = None
    """MOVE: the title before."""
    target_title: str | None = None
    """MERGE: the page whose history took the revisions."""
    comment: str | None = None
    event_id: str = ""
    position: SourcePosition | None = None


class ContentModel(StrEnum):
    """Content models that state understands."""

    WIKITEXT = "wikitext"
    ITEM = "wikibase-item"
    PROPERTY = "wikibase-property"


class Revision(Record, frozen=True, kw_only=True):
    """A Change with its content: wikitext, or entity JSON as text.

    ``content`` is ``None`` where there is none to have: a deletion, a hidden text, a change
    of visibility. A redirect entity's content is ``{"entity": …, "redirect": …}``.
    """

    change: Change
    content: str | None = None
    model: ContentModel = ContentModel.WIKITEXT
    pinned: bool = False
    """From a dump: stands for the page at ``boundary`` whatever its own time (ENGINE 2)."""
    boundary: datetime | None = None
    """From the dump for this boundary: the live feed tells nothing of it."""
    outline: bool = False
    """An entity without an article: only its labels are to be kept."""
    absent: bool = False
    """With ``pinned``: the dump for ``boundary`` does not have the page."""


# --- text ---------------------------------------------------------------------------------


class ParagraphKind(StrEnum):
    """How a paragraph stands on the page."""

    PROSE = "prose"
    ITEM = "item"
    HEADING = "heading"


class Paragraph(Record, frozen=True, kw_only=True):
    """A cleaned paragraph, list item or heading, as its sentences in order."""

    kind: ParagraphKind
    sentences: tuple[str, ...]


class CleanBlock(Record, frozen=True, kw_only=True):
    """The prose of one block of wikitext, with the templates that were dropped, by name."""

    paragraphs: tuple[Paragraph, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()
    broken: str | None = None
    """Why the block has no prose: it broke its bound of time or memory."""


class SentenceKind(StrEnum):
    """Why a sentence is in the diffset."""

    NEW_ARTICLE = "new_article"
    ADDED = "added"
    UPDATED = "updated"


class DiffSentence(Record, frozen=True, kw_only=True):
    """A sentence that is new in the newer text, and the one that it replaced, if any."""

    kind: SentenceKind
    text: str
    replaced: str | None = None
    block: int = 0
    """Index of its block in the newer text, and of its paragraph in that block: sentences
    with the same pair stand in one paragraph."""
    paragraph: int = 0
    cosmetic: bool = False
    """UPDATED only: the same words and numbers, other punctuation."""


class Diff(Record, frozen=True, kw_only=True):
    """What one article gained and lost between two texts, in reading order."""

    sentences: tuple[DiffSentence, ...] = ()
    removed: tuple[str, ...] = ()


# --- facts --------------------------------------------------------------------------------


class Fact(Record, frozen=True, kw_only=True):
    """(subject, relation, object) from the main snak of a best-rank statement.

    ``object`` is an entity id or the rendered text of a literal. A quantity with a unit is
    rendered ``"<amount> <unit id>"`` and has ``unit``; labels replace the id in a probe.
    """

    subject: str
    relation: str
    object: str
    datatype: str = "wikibase-item"
    statement_id: str = ""
    rank: str = "normal"
    unit: str | None = None
    valid_from: str | None = None
    """Qualifier P580 (start time), ISO 8601 at the precision given, e.g. ``2021-03``."""
    valid_to: str | None = None
    """Qualifier P582 (end time)."""
    point_in_time: str | None = None
    """Qualifier P585."""

    @property
    def is_entity(self) -> bool:
        """Whether ``object`` is the id of an entity."""
        return self.datatype in ("wikibase-item", "wikibase-property")


class Entity(Record, frozen=True, kw_only=True):
    """What state keeps of an item or property: all that facts, labels and alignment need."""

    id: str
    type: str = "item"
    labels: dict[str, str] = {}
    aliases: dict[str, tuple[str, ...]] = {}
    sitelink: str | None = None
    """Title of the article about it in the wiki being followed."""
    facts: tuple[Fact, ...] = ()
    redirect: str | None = None
    outline: bool = False
    """Its statements were not read: it had no article where it came from."""


class FactClass(StrEnum):
    """Algorithm 2's outcome for a fact."""

    NEW_SUBJECT = "new_subject"
    NEW_RELATION = "new_relation"
    NEW_OBJECT = "new_object"
    UNCHANGED = "unchanged"
    REMOVED = "removed"


class FactChange(Record, frozen=True, kw_only=True):
    """A fact, its class, and the objects of the same (subject, relation) before and after."""

    fact: Fact
    fact_class: FactClass
    previous_objects: tuple[str, ...] = ()
    all_objects: tuple[str, ...] = ()


class Category(StrEnum):
    """Which file a probe belongs to."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"


# --- windows ------------------------------------------------------------------------------


class Window(Record, order=True, frozen=True, kw_only=True):
    """A half-open interval of effective time ``[start, end)`` in UTC, with its name."""

    start: datetime
    end: datetime
    name: str


class Policy(StrEnum):
    """Which text stands for a boundary when a dump is at hand (DESIGN: words)."""

    BOUNDARY = "boundary"
    DUMP = "dump"


class Article(Record, frozen=True, kw_only=True):
    """A live article as of a boundary.

    ``blocks`` concatenate to its wikitext; ``None`` where the text is hidden or not held.
    """

    page_id: int
    title: str
    rev_id: int
    rev_dt: datetime
    blocks: tuple[str, ...] | None

    @property
    def text(self) -> str | None:
        """The wikitext, or None where it cannot be had."""
        return None if self.blocks is None else "".join(self.blocks)


class EntityAt(Record, frozen=True, kw_only=True):
    """An entity as of a boundary, with the revision that says so."""

    entity: Entity
    rev_id: int
    rev_dt: datetime


class Probe(Record, frozen=True, kw_only=True):
    """A fact with labels that passed alignment and quality control, with its evidence."""

    subject: str
    relation: str
    object: str
    change: FactChange
    category: Category
    page_id: int
    page_title: str
    evidence: str
    evidence_rev: int
    old_rev: int | None
    """Revision of the subject's entity at the window's start; None: there was none."""
    new_rev: int
    changed_at: datetime
    """Timestamp of ``new_rev``."""
    current: bool = True
    """False: its end time lies before the window's end."""
    previous_labels: tuple[str, ...] = ()
    object_labels: tuple[str, ...] = ()
    """Labels of ``change.previous_objects`` and ``change.all_objects``."""
