"""The histories that a ``Converter`` writes, each judged by the target's checklist, in bounded memory."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from turnwire.checklists import ClauseFault, RecordChecklist
from turnwire.errors import ConvertError, Reason
from turnwire.registry import reading

_BEFORE = 0
"""The line of what is in front of a history."""


class Closing(NamedTuple):
    """The findings of the target's checklist at the end: what is wrong only now, and what is open."""

    faults: tuple[ClauseFault, ...]
    open: tuple[ClauseFault, ...]


class _Findings:
    """The findings in several histories, each with at most ``room`` places; of more, how many there are."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._found: tuple[list[ClauseFault], list[ClauseFault]] = ([], [])
        self._more: tuple[Counter[str], Counter[str]] = (Counter(), Counter())

    def add(self, closing: Closing) -> None:
        for several, found, more in zip(closing, self._found, self._more, strict=True):
            kept = self._room - len(found)
            found += several[:kept]
            more.update(fault.clause for fault in several[kept:])

    def closing(self) -> Closing:
        def told(more: Counter[str]) -> Iterator[ClauseFault]:
            for clause, count in more.items():
                yield ClauseFault(clause, _BEFORE, f"{count} more, which are not listed")

        return Closing(*((*found, *told(more)) for found, more in zip(self._found, self._more, strict=True)))


class History:
    """One history of messages, as the target's checklist judges it. room: of what it remembers."""

    def __init__(self, wire: str, room: int, opening: Any = None) -> None:
        self._room = room
        self.judge: RecordChecklist = reading("judging").judge_of(wire)
        if opening is not None:  # of the conversation, not of this history of it
            self.judge.message(opening, _BEFORE)
            _clear(self.judge)
        self.count = 0
        self.asked = False  # whether something was asked for there
        self.early: ClauseFault | None = None  # what is wrong where something else was asked for

    def refuses(self, message: Any) -> ClauseFault | None:
        """The first fault of a message, which then was not written; else it was."""
        fault = self.judge.admits(message, self.count + 1)
        self.judge.forget(self._room)
        _clear(self.judge)
        self.count += fault is None
        return fault

    def end(self, moment: float, any_asked: bool) -> Closing:
        """The faults at the end, and what is unfinished. moment: the last time that any message tells, in seconds
        since 1970, or 0; any_asked: whether anything was asked for anywhere."""
        if moment:
            self.judge.as_of(moment)
        self.judge.end()
        found, left = (
            tuple(one for one in several if one.line != _BEFORE) for several in (self.judge.faults, self.judge.open)
        )
        early = self.early if any_asked and not self.asked else None
        return Closing(found if early is None else (*found, early), left)


def _clear(judge: RecordChecklist) -> None:
    judge.doubts.clear()
    judge.faults.clear()


class Histories:
    """The histories that are followed, and those that were given up.

    Args:
        wire: the target.
        room: how many are known of by name; a tenth of that, at least ten, is followed, and of those that have ended
            again a tenth.
    """

    def __init__(self, wire: str, room: int) -> None:
        self._wire = wire
        self._room = room
        self._open: OrderedDict[Any, History] = OrderedDict()
        self._ended: OrderedDict[Any, History] = OrderedDict()
        self._given_up: OrderedDict[Any, None] = OrderedDict()
        self._moment = 0.0
        self._findings = _Findings(2 * room + 1)  # as many as a judge of one history leaves open
        self.any_asked = False

    def __len__(self) -> int:
        return len(self._open) + len(self._ended)

    def at(self, key: tuple[Any, ...], opening: Any = None) -> History:
        """The history of that name, a new one if there is none. Raises ConvertError where it was given up."""
        found = self._open.get(key) or self._ended.get(key)
        if found is None and key in self._given_up:
            work = "its conversation" if key[1] is None else key[1]
            text = f"the history of {work} is no longer followed (remember is the limit), so nothing can be added to it"
            raise ConvertError(Reason.NOT_CONFORMING, text, wire=self._wire, path="remember", missing=["remember"])
        return History(self._wire, self._room, opening) if found is None else found

    def written(self, key: Any, history: History, asks: bool, moment: float | None) -> None:
        """Something was added to a history."""
        if asks:
            history.asked = self.any_asked = True
        self._moment = max(self._moment, moment or 0.0)
        if key in self._ended and not asks:
            self._ended.move_to_end(key)
            return
        self._ended.pop(key, None)
        self._open[key] = history
        self._open.move_to_end(key)
        self._shorten(self._open, max(10, self._room // 10))

    def over(self, key: tuple[Any, ...]) -> None:
        """The task of a history has ended: of all it is the first to be given up."""
        history = self._open.pop(key, None) if key[1] is not None else None
        if history is not None:
            self._ended[key] = history
            self._shorten(self._ended, max(10, self._room // 100))

    def _shorten(self, table: OrderedDict[Any, History], room: int) -> None:
        while len(table) > room:
            key, history = table.popitem(last=False)
            self._findings.add(history.end(self._moment, self.any_asked))
            self._given_up[key] = None
            if len(self._given_up) > self._room:
                self._given_up.popitem(last=False)

    def close(self) -> Closing:
        """The findings in all of them, when nothing follows."""
        for table in (self._ended, self._open):
            for history in table.values():
                self._findings.add(history.end(self._moment, self.any_asked))
            table.clear()
        return self._findings.closing()
