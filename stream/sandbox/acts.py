"""What people do on a wiki: each method changes the truth and announces it as MediaWiki would.

An act happens at a whole second. Most are announced twice, on recentchange and on
page_change; the docstrings say where reality leaves one of them out.
"""

from collections.abc import Sequence
from datetime import datetime
from random import Random
from typing import Any

from stream.sandbox.feed import Feed, page_body, revision_body, underscored
from stream.sandbox.model import DOMAINS, NAMESPACES
from stream.sandbox.prose import Redirection
from stream.sandbox.wiki import Content, PageState, Revision, Wiki

TEXT: frozenset[str] = frozenset({"text"})
COMMENT: frozenset[str] = frozenset({"comment"})
_BITS = {"text": 1, "comment": 2, "user": 4}


def namespace_of(wiki: str, title: str) -> int:
    """Number of a display title's namespace."""
    prefix, colon, _ = title.partition(":")
    names = {name: number for number, name in NAMESPACES[wiki].items()}
    return names.get(prefix, 0) if colon else 0


class Acts:
    """Acts on one wiki."""

    def __init__(self, wiki: Wiki, feed: Feed, rng: Random, first_id: int) -> None:
        self.wiki = wiki
        self.feed = feed
        self._rng = rng
        self._page_id = first_id // 50
        self._rev_id = first_id

    def next_page_id(self) -> int:
        """A fresh page id: other pages take some in between."""
        self._page_id += self._rng.randint(1, 30)
        return self._page_id

    def next_rev_id(self) -> int:
        """A fresh revision id."""
        self._rev_id += self._rng.randint(1, 90)
        return self._rev_id

    # --- what happened before the stream: not announced -------------------------------------

    def seed(self, at: datetime, title: str, content: Content, user: str, comment: str = "") -> int:
        """A page that was there before the world began; gives its id."""
        page_id = self.next_page_id()
        revision = self.wiki.write(self.next_rev_id(), 0, at, content, comment=comment, user=user)
        namespace = namespace_of(self.wiki.name, title)
        self.wiki.create(at, page_id, title, namespace, revision.rev_id)
        return page_id

    def seed_edit(self, at: datetime, page_id: int, content: Content, user: str) -> None:
        """An edit that was made before the world began."""
        parent = self.wiki.current(page_id)
        revision = self.wiki.write(self.next_rev_id(), parent.rev_id, at, content, user=user)
        self.wiki.attach(at, page_id, revision.rev_id)

    # --- acts -------------------------------------------------------------------------------

    def create(
        self, at: datetime, title: str, content: Content, user: str, comment: str = ""
    ) -> int:
        """Make a page; gives its id."""
        self.feed.new_request()
        page_id = self.next_page_id()
        revision = self.wiki.write(self.next_rev_id(), 0, at, content, comment=comment, user=user)
        namespace = namespace_of(self.wiki.name, title)
        self.wiki.create(at, page_id, title, namespace, revision.rev_id)
        self._announce_edit(at, page_id, revision, None, user=user, comment=comment)
        return page_id

    def edit(
        self,
        at: datetime,
        page_id: int,
        content: Content,
        user: str,
        comment: str = "",
        *,
        minor: bool = False,
        bot: bool = False,
        arrival: datetime | None = None,
    ) -> Revision:
        """Save a new text. ``arrival``: of both events; by default a little after ``at``."""
        self.feed.new_request()
        parent = self.wiki.current(page_id)
        revision = self.wiki.write(
            self.next_rev_id(), parent.rev_id, at, content,
            comment=comment, user=user, minor=minor, bot=bot,
        )  # fmt: skip
        self.wiki.attach(at, page_id, revision.rev_id)
        self._announce_edit(
            at, page_id, revision, parent, user=user, comment=comment, arrival=arrival
        )
        return revision

    def move(
        self, at: datetime, page_id: int, title: str, user: str, *, leave_redirect: bool
    ) -> None:
        """Give a page another title: a dummy revision, and a redirect at the old title.

        recentchange says it with the *old* title and without ids; the redirect is a new page
        with events of its own.
        """
        feed, wiki = self.feed, self.wiki
        feed.new_request()
        before, parent = wiki.pages[page_id].last, wiki.current(page_id)
        comment = f"{user} moved page [[{before.title}]] to [[{title}]]"
        dummy = wiki.write(
            self.next_rev_id(), parent.rev_id, at, parent.content,
            comment=comment, user=user, minor=True,
        )  # fmt: skip
        wiki.rename(at, page_id, title, namespace_of(wiki.name, title))
        wiki.attach(at, page_id, dummy.rev_id)
        left: dict[str, Any] | None = None
        if leave_redirect:
            redirect_id = self.next_page_id()
            redirect = wiki.write(
                self.next_rev_id(), 0, at, Redirection(title), comment=comment, user=user
            )
            wiki.create(at, redirect_id, before.title, before.namespace, redirect.rev_id)
            left = page_body(redirect_id, wiki.pages[redirect_id].last, redirect)
            left.pop("redirect_page_link")
        self._log(
            at, before, "move/move", {"target": title, "noredir": "0" if left else "1"}, user=user
        )
        feed.page_change(
            wiki.name, "move", at, page_id, wiki.pages[page_id].last, revision=dummy,
            user=user, comment=comment, created_redirect=left,
            prior={
                "page": {
                    "page_title": underscored(before.title),
                    "namespace_id": before.namespace,
                },
                "revision": revision_body(parent),
            },
        )  # fmt: skip
        if leave_redirect:
            self._announce_edit(at, redirect_id, redirect, None, user=user, comment=comment)

    def delete(self, at: datetime, page_id: int, user: str, comment: str) -> None:
        """Delete a page. recentchange names only its title."""
        self.feed.new_request()
        state, revision = self.wiki.pages[page_id].last, self.wiki.current(page_id)
        self.wiki.delete(at, page_id)
        self._log(at, state, "delete/delete", [], user=user, comment=comment)
        self.feed.page_change(
            self.wiki.name, "delete", at, page_id, state, revision=revision,
            user=user, comment=comment, revision_count=len(state.revisions),
        )  # fmt: skip

    def restore(
        self, at: datetime, page_id: int, rev_ids: tuple[int, ...], user: str, comment: str
    ) -> None:
        """Undelete some revisions. recentchange tells how many, not which."""
        self.feed.new_request()
        self.wiki.restore(at, page_id, rev_ids)
        state, revision = self.wiki.pages[page_id].last, self.wiki.current(page_id)
        count = {"count": {"revisions": len(rev_ids), "files": 0}}
        self._log(at, state, "delete/restore", count, user=user, comment=comment)
        self.feed.page_change(
            self.wiki.name,
            "undelete",
            at,
            page_id,
            state,
            revision=revision,
            user=user,
            comment=comment,
        )

    def merge_history(self, at: datetime, source: int, target: int, user: str) -> None:
        """Move the whole history of one page into another, newer one.

        Announced on recentchange alone, under the title of the source, which is gone.
        """
        self.feed.new_request()
        state, last = self.wiki.pages[source].last, self.wiki.current(source)
        dest = self.wiki.pages[target].last
        self.wiki.merge(at, source, target)
        params = {
            "dest": dest.title,
            "mergepoint": f"{last.timestamp:%Y%m%d%H%M%S}",
            "mergerevid": str(last.rev_id),
        }
        self._log(
            at, state, "merge/merge", params, user=user, comment="copy and paste move repaired"
        )

    def import_page(
        self, at: datetime, title: str, versions: Sequence[tuple[datetime, Content]], user: str
    ) -> int:
        """Import a page: new ids, old times. page_change names its last revision alone."""
        self.feed.new_request()
        page_id, parent_id = self.next_page_id(), 0
        for number, (written, content) in enumerate(versions):
            revision = self.wiki.write(
                self.next_rev_id(), parent_id, written, content, user=user, comment="imported"
            )
            parent_id = revision.rev_id
            if number == 0:
                namespace = namespace_of(self.wiki.name, title)
                self.wiki.create(at, page_id, title, namespace, revision.rev_id)
            else:
                self.wiki.attach(at, page_id, revision.rev_id)
        state = self.wiki.pages[page_id].last
        params = {"count": str(len(versions)), "interwiki": f"simple:{title}"}
        self._log(at, state, "import/interwiki", params, user=user, comment="for the author")
        self.feed.page_change(
            self.wiki.name, "create", revision.timestamp, page_id, state, revision=revision,
            user=user, comment="imported", arrival=self.feed.arrival(at),
        )  # fmt: skip
        return page_id

    def import_revision(
        self, at: datetime, page_id: int, written: datetime, content: Content, user: str
    ) -> None:
        """Import an old revision below the current one, which stays."""
        self.feed.new_request()
        wiki = self.wiki
        state = wiki.pages[page_id].last
        older = [rev for rev in state.revisions if wiki.revisions[rev].timestamp <= written]
        revision = wiki.write(
            self.next_rev_id(), older[-1] if older else 0, written, content,
            user=user, comment="imported",
        )  # fmt: skip
        wiki.attach(at, page_id, revision.rev_id, current=False)
        params = {"count": "1", "interwiki": f"nost:{state.title}"}
        self._log(at, state, "import/interwiki", params, user=user, comment="early history")
        self.feed.page_change(
            wiki.name, "edit", written, page_id, state, revision=revision,
            user=user, comment="imported", arrival=self.feed.arrival(at),
        )  # fmt: skip

    def hide(
        self, at: datetime, page_id: int, rev_ids: tuple[int, ...], user: str,
        fields: frozenset[str] = TEXT,
    ) -> None:  # fmt: skip
        """Revision deletion. page_change tells only when the current revision is touched."""
        self.feed.new_request()
        state = self.wiki.pages[page_id].last
        self.wiki.hide(at, rev_ids, fields)
        params = {
            "type": "revision",
            "ids": [str(rev) for rev in rev_ids],
            "ofield": "0",
            "nfield": str(sum(_BITS[field] for field in fields)),
        }
        self._log(at, state, "delete/revision", params, user=user, comment="RD2")
        if state.rev_id in rev_ids:
            self._visibility(at, page_id, state, fields, user)

    def suppress(self, at: datetime, page_id: int) -> None:
        """Hide the current text by suppression: nothing on recentchange, no performer."""
        self.feed.new_request()
        state = self.wiki.pages[page_id].last
        self.wiki.hide(at, (state.rev_id,), TEXT)
        self._visibility(at, page_id, state, TEXT, None)

    def protect(self, at: datetime, page_id: int, user: str) -> Revision:
        """Protect a page: a dummy revision with the same text, which page_change never names."""
        self.feed.new_request()
        state, parent = self.wiki.pages[page_id].last, self.wiki.current(page_id)
        comment = f'Protected "[[{state.title}]]": Persistent vandalism'
        dummy = self.wiki.write(
            self.next_rev_id(), parent.rev_id, at, parent.content,
            comment=comment, user=user, minor=True,
        )  # fmt: skip
        self.wiki.attach(at, page_id, dummy.rev_id)
        level = "[edit=autoconfirmed] (indefinite)"
        detail = {"type": "edit", "level": "autoconfirmed", "expiry": "infinity", "cascade": False}
        params = {"description": level, "cascade": False, "details": [detail]}
        self._log(at, state, "protect/protect", params, user=user, comment="Persistent vandalism")
        return dummy

    def categorise(self, at: datetime, page_id: int, category: str, user: str) -> None:
        """The recentchange event of type ``categorize`` that goes with an edit."""
        title = self.wiki.pages[page_id].last.title
        state = PageState(f"Category:{category}", 14, 0, ())
        comment = f"[[:{title}]] added to category"
        fields = {"type": "categorize"}
        self.feed.recentchange(self.wiki.name, at, state, fields, user=user, comment=comment)

    def log_noise(self, at: datetime, page_id: int, user: str) -> None:
        """A log event that changes no page: an abuse filter's hit, without an id."""
        state = self.wiki.pages[page_id].last
        params = {"filter": 79, "actions": "tag", "log": 4037520, "action": "edit"}
        self._log(at, state, "abusefilter/hit", params, user=user, unnumbered=True)

    # --- announcing -------------------------------------------------------------------------

    def _announce_edit(
        self,
        at: datetime,
        page_id: int,
        revision: Revision,
        parent: Revision | None,
        *,
        user: str,
        comment: str,
        arrival: datetime | None = None,
    ) -> None:
        state = self.wiki.pages[page_id].last
        fields: dict[str, Any] = {
            "type": "edit" if parent else "new",
            "minor": revision.minor,
            "patrolled": True,
            "length": {"old": parent.size if parent else None, "new": revision.size},
            "revision": {"old": parent.rev_id if parent else None, "new": revision.rev_id},
            "notify_url": f"https://{DOMAINS[self.wiki.name]}/w/index.php?diff={revision.rev_id}",
        }
        self.feed.recentchange(
            self.wiki.name,
            at,
            state,
            fields,
            user=user,
            comment=comment,
            arrival=arrival,
            bot=revision.bot,
        )
        prior = {"revision": revision_body(parent)} if parent else None
        self.feed.page_change(
            self.wiki.name, "edit" if parent else "create", at, page_id, state, revision=revision,
            user=user, comment=comment, prior=prior, arrival=arrival,
        )  # fmt: skip

    def _log(
        self,
        at: datetime,
        state: PageState,
        name: str,
        params: dict[str, Any] | list[Any],
        *,
        user: str,
        comment: str = "",
        unnumbered: bool = False,
    ) -> None:
        kind, _, action = name.partition("/")
        fields: dict[str, Any] = {
            "type": "log",
            "log_id": 0 if unnumbered else self.feed.number("log"),
            "log_type": kind,
            "log_action": action,
            "log_params": params,
            "log_action_comment": f"{action} [[{state.title}]]: {comment}",
        }
        if unnumbered:
            fields["id"] = None
        self.feed.recentchange(self.wiki.name, at, state, fields, user=user, comment=comment)

    def _visibility(
        self, at: datetime, page_id: int, state: PageState, fields: frozenset[str], user: str | None
    ) -> None:
        prior = {"revision": {f"is_{_VISIBLE[field]}_visible": True for field in sorted(fields)}}
        self.feed.page_change(
            self.wiki.name, "visibility_change", at, page_id, state,
            revision=self.wiki.current(page_id),
            user=user, hidden=fields, prior=prior,
        )  # fmt: skip


_VISIBLE = {"text": "content", "comment": "comment", "user": "editor"}
