"""Stories of items: statements of every rank, qualifiers, labels, merges, deletions."""

from datetime import timedelta
from typing import NamedTuple

from stream.sandbox.cast import new_object
from stream.sandbox.items import Item, Statement, Value
from stream.sandbox.scene import Scene, Story, Subject, single
from stream.sandbox.topics import (
    END_TIME,
    ENGLISH_WIKIPEDIA,
    IMPORTED_FROM,
    POINT_IN_TIME,
    START_TIME,
    VIAF,
    Relation,
)

SECOND, MINUTE, HOUR, DAY = (
    timedelta(seconds=1),
    timedelta(minutes=1),
    timedelta(hours=1),
    timedelta(days=1),
)


class ItemChange(NamedTuple):
    """What is to become of a relation of an item.

    ``mode``: ``replace`` the object in its statement, let a preferred statement ``succeed``
    it, or ``add`` one beside it.
    """

    relation: Relation
    value: Value
    mode: str


def plan_change(scene: Scene, subject: Subject) -> ItemChange:
    """Choose a relation, a new object, and how it comes in."""
    item = scene.item(subject.item_id)
    held = {statement.relation for statement in item.statements}
    missing = [relation for relation in subject.kind.relations if relation.id not in held]
    if missing and scene.rng.random() < 0.35:  # noqa: PLR2004 - gaps get filled
        relation, mode = scene.rng.choice(missing), "add"
    else:
        relation = scene.rng.choice(subject.kind.relations)
        mode = scene.rng.choice(("replace", "replace", "replace", "succeed", "add"))
    avoid = (*(one.value for one in item.statements), Value("wikibase-item", subject.item_id))
    return ItemChange(relation, scene.draw(relation, avoid), mode)


def apply_change(scene: Scene, item_id: str, change: ItemChange) -> None:
    """Carry a plan out, unless the item is gone meanwhile."""
    if not scene.is_item(item_id):
        return
    item, relation = scene.item(item_id), change.relation.id
    new = scene.statement(item_id, relation, change.value)
    old = next((one for one in best(item) if one.relation == relation), None)
    verb = "wbsetclaim-create"
    if old is not None and change.mode == "replace":
        verb = "wbsetclaim-update"
        item = swap(item, old, old._replace(value=change.value))
    elif old is not None and change.mode == "succeed":
        today = Value("time", date=(scene.now.year, scene.now.month, scene.now.day))
        ended = old._replace(rank="normal", qualifiers=(*old.qualifiers, (END_TIME, today)))
        new = new._replace(rank="preferred", qualifiers=((START_TIME, today),))
        item = swap(item, old, ended)
        item = item._replace(statements=(*item.statements, new))
    else:
        # Beside a preferred one only another preferred one would count.
        item = item._replace(statements=(*item.statements, new))
    scene.save(item, f"/* {verb}:2||1 */ [[Property:{relation}]]: {change.value.text}")


def best(item: Item) -> list[Statement]:
    """Statements of the best rank of their relation that have a value."""
    preferred = {one.relation for one in item.statements if one.rank == "preferred"}
    return [
        one
        for one in item.statements
        if one.value is not None
        and (one.rank == "preferred" or (one.rank == "normal" and one.relation not in preferred))
    ]


def _best_of(scene: Scene, item_id: str) -> list[Statement]:
    """Best statements of an item, none when it is gone."""
    return best(scene.item(item_id)) if scene.is_item(item_id) else []


def swap(item: Item, old: Statement, *new: Statement) -> Item:
    """The item with a statement replaced, or taken out."""
    at = item.statements.index(old)
    return item._replace(statements=(*item.statements[:at], *new, *item.statements[at + 1 :]))


def _pick(scene: Scene) -> Item:
    """The item of a random article, with facts."""

    def fits(page_id: int) -> bool:
        item_id = scene.subjects[page_id].item_id
        return scene.is_item(item_id) and len(best(scene.item(item_id))) > 2  # noqa: PLR2004

    return scene.item(scene.subjects[scene.pick(fits)].item_id)


# --- statements -----------------------------------------------------------------------------


@single
def statement_edit(scene: Scene) -> None:
    """One statement gets another rank, a qualifier, a reference, or goes."""
    item = _pick(scene)
    rng = scene.rng
    one = rng.choice(best(item))
    now = Value("time", date=(scene.now.year, scene.now.month, scene.now.day))
    what = f"[[Property:{one.relation}]]"
    match rng.randrange(9):
        case 0:
            changed, verb = swap(item, one, one._replace(rank="deprecated")), "wbsetclaim-update"
        case 1:
            rank = "normal" if one.rank == "preferred" else "preferred"
            changed, verb = swap(item, one, one._replace(rank=rank)), "wbsetclaim-update"
        case 2 | 3:
            pair = (rng.choice((POINT_IN_TIME, START_TIME)), now)
            new = one._replace(qualifiers=(*one.qualifiers, pair))
            changed, verb = swap(item, one, new), "wbsetqualifier-add"
        case 4 | 5:
            source = (IMPORTED_FROM, Value("wikibase-item", ENGLISH_WIKIPEDIA))
            new = one._replace(references=(*one.references, source))
            changed, verb = swap(item, one, new), "wbsetreference-add"
        case 6:
            changed, verb = swap(item, one), "wbremoveclaims-remove"
        case 7:
            new = one._replace(value=None, snak=rng.choice(("somevalue", "novalue")))
            changed, verb = swap(item, one, new), "wbsetclaim-update"
        case _:
            viaf = Value("external-id", str(rng.randrange(10**8, 10**9)))
            new = scene.statement(item.id, VIAF, viaf)
            changed = item._replace(statements=(*item.statements, new))
            verb = "wbsetclaim-create"
    scene.save(changed, f"/* {verb}:1||1 */ {what}", bot=rng.random() < 0.4)  # noqa: PLR2004


def all_ranks(scene: Scene) -> Story:
    """One item sees each thing that can happen to a statement, several edits in a day."""
    item_id = _pick(scene).id
    for rank in ("deprecated", "preferred"):
        normal = [one for one in _best_of(scene, item_id) if one.rank == "normal"]
        if not normal:
            return
        item, one = scene.item(item_id), normal[-1]
        scene.save(swap(item, one, one._replace(rank=rank)), "/* wbsetclaim-update:2||1 */ rank")
        yield scene.after(MINUTE, HOUR)
    for one in _best_of(scene, item_id)[-1:]:
        item = scene.item(item_id)
        scene.save(swap(item, one), f"/* wbremoveclaims-remove:1| */ [[Property:{one.relation}]]")
        yield scene.after(MINUTE, HOUR)
    for one in _best_of(scene, item_id)[:1]:
        item = scene.item(item_id)
        now = Value("time", date=(scene.now.year, scene.now.month, scene.now.day))
        new = one._replace(qualifiers=(*one.qualifiers, (POINT_IN_TIME, now)))
        scene.save(swap(item, one, new), "/* wbsetqualifier-add:1| */ [[Property:P585]]")


def data_vandalism(scene: Scene) -> Story:
    """Wrong objects, and their revert."""
    item = _pick(scene)
    one = scene.rng.choice(best(item))
    scene.save(swap(item, one), "/* wbremoveclaims-remove:1| */")
    yield scene.after(MINUTE, 5 * HOUR)
    if scene.is_item(item.id):
        scene.save(item, "/* undo:0||1 */")


def data_around_midnight(scene: Scene) -> Story:
    """A statement added at 23:59:59 and another at 00:00:00, on one item."""
    end = scene.window.end
    item_id = _pick(scene).id
    for at in (end - SECOND, end):
        yield at
        if scene.is_item(item_id):
            page = next(p for p, s in scene.subjects.items() if s.item_id == item_id)
            subject = scene.subjects[page]
            change = plan_change(scene, subject)._replace(mode="add")
            apply_change(scene, item_id, change)


# --- terms ----------------------------------------------------------------------------------


@single
def label_change(scene: Scene) -> None:
    """A person of the pool takes another name; prose follows only where it is written anew."""
    item_id = _unlinked(scene)
    item, name = scene.item(item_id), scene.words.person()
    scene.names[item_id] = name
    others = tuple(label for label in item.labels if label[0] != "en")
    scene.save(item._replace(labels=(("en", name), *others)), f"/* wbsetlabel-set:1|en */ {name}")


@single
def term_edit(scene: Scene) -> None:
    """Descriptions, aliases and labels of other languages: no fact changes."""
    item = _pick(scene)
    name = scene.names[item.id]
    match scene.rng.randrange(3):
        case 0:
            item = item._replace(descriptions=(*item.descriptions, ("fr", f"sujet {name}")))
            verb = "wbsetdescription-add:1|fr"
        case 1:
            item = item._replace(aliases=(*item.aliases, ("en", f"{name} the second")))
            verb = "wbsetaliases-add:1|en"
        case _:
            others = tuple(label for label in item.labels if label[0] != "sv")
            item = item._replace(labels=(*others, ("sv", name)))
            verb = "wbsetlabel-add:1|sv"
    scene.save(item, f"/* {verb} */ {name}", bot=True)


@single
def property_label(scene: Scene) -> None:
    """A property is renamed: all its probes carry the label as of the end."""
    subject = scene.subjects[scene.pick()]
    relation = scene.rng.choice(subject.kind.relations)
    name = f"{relation.label} ({scene.now:%B})"
    scene.save(
        scene.item(relation.id)._replace(labels=(("en", name),)),
        f"/* wbsetlabel-set:1|en */ {name}",
    )


# --- items come and go ----------------------------------------------------------------------


@single
def new_pool_item(scene: Scene) -> None:
    """Somebody whom statements may name from now on."""
    item = new_object(scene, "person")
    scene.create_item(item)
    scene.pools["person"].append(item.id)


def _unlinked(scene: Scene) -> str:
    """A pool person without article, an object of statements as often as not."""
    for _ in range(100):
        item_id = scene.rng.choice(scene.pools["person"])
        if scene.is_item(item_id) and not scene.item(item_id).sitelink:
            return item_id
    raise ValueError("no pool person is left: make the world larger")


def _used_person(scene: Scene) -> str:
    """An unlinked pool person who is the object of a statement, if one is soon found."""
    for _ in range(100):
        for one in best(_pick(scene)):
            person = one.value.text if one.value is not None else ""
            if person in scene.page_of_item and _is_extra(scene, person):
                return person
    return _unlinked(scene)


def _is_extra(scene: Scene, item_id: str) -> bool:
    """Whether the item is a person without article whom no story has taken away."""
    return item_id in scene.pools["person"] and not scene.item(item_id).sitelink


def users_of(scene: Scene, object_id: str) -> list[str]:
    """Items of articles that have a statement with this object."""
    return [
        subject.item_id
        for subject in scene.subjects.values()
        if scene.is_item(subject.item_id)
        and any(
            one.value is not None and one.value.text == object_id
            for one in scene.item(subject.item_id).statements
        )
    ]


def merge_object(scene: Scene) -> Story:
    """An object is merged into its double; some statements are pointed there afterwards."""
    old_id = _used_person(scene)
    scene.pools["person"].remove(old_id)
    double = new_object(scene, "person")
    scene.names[double.id] = scene.names[old_id]
    double = double._replace(labels=(("en", scene.names[old_id]),))
    scene.create_item(double)
    yield scene.after(HOUR, 2 * DAY)
    before = scene.item(old_id)
    merged = before._replace(id=double.id, labels=double.labels, statements=double.statements)
    scene.save(merged, f"/* wbmergeitems-from:0||{old_id} */")
    scene.save(Item(old_id, redirect=double.id), f"/* wbcreateredirect:0||{old_id}|{double.id} */")
    scene.pools["person"].append(double.id)
    yield scene.after(MINUTE, HOUR)
    for number, user_id in enumerate(users_of(scene, old_id)):
        if number % 2 == 0:
            item = scene.item(user_id)
            for one in item.statements:
                if one.value is not None and one.value.text == old_id:
                    moved = one._replace(value=Value("wikibase-item", double.id))
                    item = swap(item, one, moved)
            scene.save(item, "/* wbsetclaim-update:2||1 */ redirect resolved", bot=True)
    if scene.rng.random() < 0.2:  # noqa: PLR2004 - some merges are undone
        yield scene.after(DAY, 3 * DAY)
        scene.save(before, f"/* undo:0||{double.id} */")


def merge_subject(scene: Scene) -> Story:
    """The item of an article gets a double, and one of them becomes a redirect."""
    page_id = scene.claim(lambda page: scene.is_item(scene.subjects[page].item_id))
    subject = scene.subjects[page_id]
    double_id = scene.new_item_id()
    scene.names[double_id] = subject.name
    first = scene.item(subject.item_id).statements[0]
    double = Item(
        double_id,
        labels=(("en", subject.name),),
        statements=(scene.statement(double_id, first.relation, first.value),),
    )
    scene.create_item(double)
    yield scene.after(HOUR, DAY)
    kept, gone = scene.item(subject.item_id), double
    if scene.rng.random() < 0.3:  # noqa: PLR2004 - now and then the younger one stays
        kept, gone = double, kept
        kept = kept._replace(sitelink=gone.sitelink, statements=gone.statements)
        scene.save(gone._replace(sitelink=None), "/* wbsetsitelink-remove:1|enwiki */")
        scene.subjects[page_id] = subject._replace(item_id=double_id)
        pool = scene.pools[scene.pool_of(subject.kind)]
        if subject.item_id in pool:
            pool[pool.index(subject.item_id)] = double_id
    else:
        kept = kept._replace(aliases=(*kept.aliases, ("en", f"{subject.name} again")))
    scene.save(kept, f"/* wbmergeitems-from:0||{gone.id} */")
    scene.save(Item(gone.id, redirect=kept.id), f"/* wbcreateredirect:0||{gone.id}|{kept.id} */")
    scene.release(page_id)


def homonym(scene: Scene) -> Story:
    """A second person of the same name becomes an object beside the first."""
    old_id = _used_person(scene)
    double = new_object(scene, "person")
    scene.names[double.id] = scene.names[old_id]
    scene.create_item(double._replace(labels=(("en", scene.names[old_id]),)))
    yield scene.after(MINUTE, HOUR)
    for user_id in users_of(scene, old_id)[:1]:
        item = scene.item(user_id)
        one = next(one for one in item.statements if one.value and one.value.text == old_id)
        twin = Value("wikibase-item", double.id)
        new = scene.statement(user_id, one.relation, twin)._replace(rank=one.rank)
        scene.save(
            item._replace(statements=(*item.statements, new)),
            f"/* wbsetclaim-create:2||1 */ [[Property:{one.relation}]]: [[{double.id}]]",
        )


def delete_item(scene: Scene) -> Story:
    """An item is deleted; every third one comes back in the next window."""
    end = scene.window.end
    item_id = _unlinked(scene)
    scene.pools["person"].remove(item_id)
    page_id = scene.page_of_item[item_id]
    revisions = scene.data.wiki.pages[page_id].last.revisions
    scene.data.delete(scene.now, page_id, "Tinker 1", "not notable")
    if scene.rng.random() < 0.35:  # noqa: PLR2004 - every third
        yield end + DAY
        scene.data.restore(scene.now, page_id, revisions, "Tinker 1", "notable after all")
        scene.pools["person"].append(item_id)
