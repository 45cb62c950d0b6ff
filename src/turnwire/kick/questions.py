"""Questions on ``⫻query/*`` and the answers they are owed (section 002, rule 3 of section 004)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.space import first_section
from turnwire.kick.spec import BROADCAST, EventKind
from turnwire.kick.tracking import Kept, Query, Table, Tell, Unfinished, drop, event, first, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnwire.kick.messages import Envelope


ANSWER, QUESTION, EITHER = "answer", "question", "either"


def is_answer(name: str | None, content: str) -> bool:
    """Whether what is on the channel ``⫻query/<name>`` says that it is an answer: by that name, or by the type of
    the content's first section."""
    section = first_section(content)
    return name == ANSWER or (section is not None and section.type == ANSWER)


def kind_of(envelope: Envelope) -> str:
    """What an envelope on ``⫻query/*`` says of itself: an answer where the channel or the type of the content's first
    section is "answer"; a question where that section is another ``⫻query/…``; else it may be either."""
    if is_answer(channel_parts(envelope.channel)[1], envelope.content):
        return ANSWER
    section = first_section(envelope.content)
    return QUESTION if section is not None and section.name == "query" else EITHER


class Questions:
    """The questions. ``known`` says whether anything else than a question has a correlation. What is a fault is told
    before anything changes."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self.known: Callable[[str], bool] = lambda correlation: False
        self._open: dict[str, Query] = {}  # those that wait for an answer, by question id
        self._waiting: Table[Query] = {}  # the same by their keys
        self._answered: Table[Query] = {}  # those that have their answer, by their marks
        self._turn = 0

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
            there = correlation in self._answered or correlation in self._waiting
            if kind == ANSWER or not (there or self.known(correlation)):
                text = f"nothing that was sent has the correlation_id {correlation!r}"
                tell(event(EventKind.UNCORRELATED, envelope, "this answers no question" if there else text))
                return
        query = Query(envelope)
        self._open[query.id] = query
        self._put(self._waiting, query)
        self._kept.alarms.set(query, "answer", now, self._kept.deadlines.answer)
        tell(event(EventKind.ASKED, envelope, "", subject=query))

    def answered(self, envelope: Envelope, tell: Tell) -> bool:
        """Whether the envelope is an answer (right, late or by the wrong agent) to a question; then that is told."""
        correlation, sender, asker = envelope.correlation_id or "", envelope.sender, envelope.receiver
        if sender == asker:
            return False
        table = self._waiting if (correlation, asker) in self._waiting else self._answered
        mine = first(table, (correlation, asker))
        if mine is None:
            return False
        fit = [first(table, (correlation, asker, asked)) for asked in (sender, BROADCAST)]
        query = min((one for one in fit if one is not None), key=lambda one: one.turn, default=None)
        if query is None:
            text = f"the question went to {mine.asked!r}, not to {sender!r}"
            tell(event(EventKind.UNAUTHORISED, envelope, text, subject=mine))
            return True
        if query.answered and query.asked != BROADCAST:
            tell(event(EventKind.LATE, envelope, "the question has its answer", subject=query))
            return True
        if not query.answered:
            query.answered = True
            self._settle(query)
            self._kept.alarms.clear(query)
            self._kept.forget_later(partial(self._take, self._answered, query))
        tell(event(EventKind.ANSWERED, envelope, "", subject=query))
        return True

    def _settle(self, query: Query) -> None:
        """Moves a question to those that have their answer."""
        self._open.pop(query.id, None)
        self._take(self._waiting, query)
        self._put(self._answered, query)

    def _put(self, table: Table[Query], query: Query) -> None:
        self._turn += 1
        query.turn = self._turn
        for key in query.marks():
            put(table, key, query)

    @staticmethod
    def _take(table: Table[Query], query: Query) -> None:
        for key in query.marks():
            drop(table, key, query)

    def unfinished(self) -> list[Unfinished]:
        """The questions without an answer, in order."""
        return [
            Unfinished("question", query.id, None, f"{query.asked} has not answered") for query in self._open.values()
        ]
