"""Questions on ``⫻query/*`` and the answers they are owed (section 002, rule 3 of section 004)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.kick.spec import BROADCAST, EventKind
from turnwire.kick.tracking import Kept, Query, Tell, drop, event

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnwire.kick.messages import Envelope


class Questions:
    """The questions. ``known`` says whether anything else than a question has a correlation."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self.known: Callable[[str], bool] = lambda correlation: False
        self._queries: dict[str, list[Query]] = {}  # by question id and by correlation

    def query(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻query/*``: an answer where a question is open on that correlation, else a question."""
        if envelope.correlation_id is not None:
            if self.answered(envelope, tell):
                return
            if envelope.correlation_id not in self._queries and not self.known(envelope.correlation_id):
                text = f"nothing that was sent has the correlation_id {envelope.correlation_id!r}"
                tell(event(EventKind.UNCORRELATED, envelope, text))
                return
        query = Query(envelope)
        for key in {query.id, query.group}:
            self._queries.setdefault(key, []).append(query)
        self._kept.alarms.set(query, "answer", now, self._kept.deadlines.answer)
        tell(event(EventKind.ASKED, envelope, "", subject=query))

    def answered(self, envelope: Envelope, tell: Tell) -> bool:
        """Whether the envelope is an answer (right, late or by the wrong agent) to a question; then that is told."""
        asked = self._queries.get(envelope.correlation_id or "", [])
        mine = [query for query in asked if envelope.receiver == query.asker and envelope.sender != query.asker]
        fit = [query for query in mine if query.asked in (envelope.sender, BROADCAST)]
        query = next((query for query in fit if not query.answered), fit[0] if fit else None)
        if query is None:
            if mine:
                text = f"the question went to {mine[0].asked!r}, not to {envelope.sender!r}"
                tell(event(EventKind.UNAUTHORISED, envelope, text, subject=mine[0]))
            return bool(mine)
        if query.answered and query.asked != BROADCAST:
            tell(event(EventKind.LATE, envelope, "the question has its answer", subject=query))
            return True
        if not query.answered:
            query.answered = True
            self._kept.alarms.clear(query)
            self._kept.forget_later(lambda: drop(self._queries, query))
        tell(event(EventKind.ANSWERED, envelope, "", subject=query))
        return True
