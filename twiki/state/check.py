"""Reading a whole state to see that it is what was written."""

import msgspec

from twiki.errors import StateCorrupt, StateVersionError
from twiki.state import codec
from twiki.state.codec import Held
from twiki.state.contents import Texts
from twiki.state.layout import Id
from twiki.state.store import Store

_MOST_PROBLEMS = 100


class Checked(msgspec.Struct, kw_only=True):
    """What was read, and what was wrong with it."""

    pages: int = 0
    entities: int = 0
    texts: int = 0
    """Contents of revisions, of pages and entities."""
    needs: int = 0
    problems: list[str] = []


def check(store: Store) -> Checked:
    """Decode every ledger record and every content it names.

    Raises:
        StateVersionError: the state is of another version as a whole.
    """
    found = Checked()
    for page_id, held in store.pages():
        found.pages += 1
        _contents(store, page_id, held, found)
    for entity_id, held in store.entities():
        found.entities += 1
        _contents(store, entity_id, held, found)
    found.needs = sum(1 for _ in store.needs())
    return found


def _contents(store: Store, key: Id, held: Held, found: Checked) -> None:
    texts = Texts(lambda rev: store.content(key, rev))
    for rev in held.revs:
        try:
            if isinstance(key, int):
                texts.blocks(rev)
            else:
                data = store.content(key, rev)
                if data is None:
                    raise StateCorrupt(f"the content of revision {rev} is not held")  # noqa: TRY301
                codec.decode_entity(data)
        except (StateCorrupt, StateVersionError) as error:
            if len(found.problems) < _MOST_PROBLEMS:
                found.problems.append(f"{key}, revision {rev}: {error}")
        else:
            found.texts += 1
