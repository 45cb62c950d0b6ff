"""Questions on ``⫻query/*`` and the answers they are owed (section 002, rule 3 of section 004)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.space import first_section
from turnwire.kick.spec import BROADCAST, EventKind
from turnwire.kick.tracking import Kept, Query, Tell, Unfinished, drop, event

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnwire.kick.messages import Envelope


ANSWER, QUESTION, EITHER = "answer", "question", "either"


def kind_of(envelope: Envelope) -> str:
    """What an envelope on ``⫻query/*`` says of itself: an answer where the channel or the type of the content's first
    section is "answer"; a question where that section is another ``⫻query/…``; else it may be either."""
    section = first_section(envelope.content)
    if channel_parts(envelope.channel)[1] == ANSWER or (section is not None and section.type == ANSWER):
        return ANSWER
    return QUESTION if section is not None and section.name == "query" else EITHER


class Questions:
    """The questions. ``known`` says whether anything else than a question has a correlation."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self.known: Callable[[str], bool] = lambda correlation: False
        self._queries: dict[str, list[Query]] = {}  # those that have their answer, by question id and by correlation
        self._open: dict[str, dict[str, Query]] = {}  # those that wait for one, by the same and then by question id

    def query(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻query/*``: an answer where a question is open on that correlation, else a question. One that says of
        itself that it is a question answers none."""
        kind, correlation = kind_of(envelope), envelope.correlation_id
        if correlation is None:
            if kind == ANSWER:
                text = "an answer has the correlation_id of its question"
                tell(event(EventKind.UNCORRELATED, envelope, text))
                return
        else:
            if kind != QUESTION and self.answered(envelope, tell):
                return
            there = correlation in self._queries or correlation in self._open
            if kind == ANSWER or not (there or self.known(correlation)):
                text = f"nothing that was sent has the correlation_id {correlation!r}"
                tell(event(EventKind.UNCORRELATED, envelope, "this answers no question" if there else text))
                return
        query = Query(envelope)
        for key in {query.id, query.group}:
            self._open.setdefault(key, {})[query.id] = query
        self._kept.alarms.set(query, "answer", now, self._kept.deadlines.answer)
        tell(event(EventKind.ASKED, envelope, "", subject=query))

    def answered(self, envelope: Envelope, tell: Tell) -> bool:
        """Whether the envelope is an answer (right, late or by the wrong agent) to a question; then that is told."""
        correlation = envelope.correlation_id or ""
        waiting = self._open.get(correlation)
        asked = [*waiting.values()] if waiting else []
        if not any(self._fits(envelope, query) for query in asked):
            asked += self._queries.get(correlation, [])
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
            self._settle(query)
            self._kept.alarms.clear(query)
            self._kept.forget_later(lambda: drop(self._queries, query))
        tell(event(EventKind.ANSWERED, envelope, "", subject=query))
        return True

    @staticmethod
    def _fits(envelope: Envelope, query: Query) -> bool:
        return envelope.receiver == query.asker and envelope.sender != query.asker

    def _settle(self, query: Query) -> None:
        """Moves a question to those that have their answer."""
        for key in {query.id, query.group}:
            waiting = self._open.get(key, {})
            waiting.pop(query.id, None)
            if not waiting:
                self._open.pop(key, None)
            self._queries.setdefault(key, []).append(query)

    def unfinished(self) -> list[Unfinished]:
        """The questions without an answer, in order."""
        waiting = [query for key, several in self._open.items() for query in several.values() if query.id == key]
        return [Unfinished("question", query.id, None, f"{query.asked} has not answered") for query in waiting]
