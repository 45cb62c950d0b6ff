"""What the target's checklist makes of the histories that a ``Converter`` writes, in bounded memory."""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict
from typing import Any, NamedTuple

from turnwire.checklists import Fault, Judge
from turnwire.conversion import faults
from turnwire.registry import reading

_BEFORE = 0
"""The line of what is in front of a history."""
_SHORT = 16
"""Judges that do not foresee: a history of so many messages is judged anew where one is refused; of a longer one there
is a second judge."""


class Closing(NamedTuple):
    """What the target's checklist finds at the end of what was written: what is wrong only now, and what is open."""

    faults: tuple[Fault, ...]
    open: tuple[Fault, ...]


class _Findings:
    """What was found in several histories, each with at most ``room`` places; of more, how many there are."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._found: tuple[list[Fault], list[Fault]] = ([], [])
        self._more: tuple[Counter[str], Counter[str]] = (Counter(), Counter())

    def add(self, closing: Closing) -> None:
        for several, found, more in zip(closing, self._found, self._more, strict=True):
            for fault in several:
                if len(found) < self._room:
                    found.append(fault)
                else:
                    more[fault.clause] += 1

    def closing(self) -> Closing:
        faults, left = (
            (*found, *(Fault(clause, _BEFORE, f"{count} more, which are not listed") for clause, count in more.items()))
            for found, more in zip(self._found, self._more, strict=True)
        )
        return Closing(faults, left)


class Watch:
    """What the target's checklist makes of one history. A judge that foresees is asked before it takes a message;
    another one takes it and, where it was wrong, is made anew. room: of what it remembers."""

    def __init__(self, wire: str, room: int, opening: Any = None) -> None:
        self._wire = wire
        self._room = room
        self._opening = opening  # of the conversation, not of this history of it
        self._written: list[Any] | None = []  # as long as they are few, and the judge does not foresee
        self._before: Judge | None = None  # else the judge as it was in front of the message that is tried
        self.judge = self._fresh()
        self.count = 0
        self.asked = False  # whether something was asked for there
        self.early: Fault | None = None  # what is wrong where something else was asked for

    def _fresh(self) -> Judge:
        judge: Judge = reading("judging").judge_of(self._wire)
        if self._opening is not None:
            judge.message(self._opening, _BEFORE)
            _clear(judge)
        return judge

    def refuses(self, message: Any) -> Fault | None:
        """The first fault of a message, which then was not written; else it was."""
        if self.judge.foresees:
            fault = self.judge.admits(message, self.count + 1)
            self.judge.forget(self._room)
        else:
            self.judge.message(message, self.count + 1)
            fault = self.judge.faults[0] if self.judge.faults else None
            self._back() if fault is not None else self._on(message)
        _clear(self.judge)
        self.count += fault is None
        return fault

    def _on(self, message: Any) -> None:
        """The message is written."""
        if self._written is not None:
            self._written.append(message)
            if len(self._written) > _SHORT:
                self._written, self._before = None, copy.deepcopy(self.judge)
        elif self._before is not None:
            self._before.message(message, self.count + 1)
            _clear(self._before)

    def _back(self) -> None:
        """The message is not written."""
        if self._written is None:
            self.judge = copy.deepcopy(self._before)  # type: ignore[assignment]
            return
        self.judge = self._fresh()
        for number, message in enumerate(self._written, 1):
            self.judge.message(message, number)
            _clear(self.judge)

    def end(self, moment: float, any_asked: bool) -> Closing:
        """What is wrong at the end, and what is unfinished. moment: the last time that any message tells, in seconds
        since 1970, or 0; any_asked: whether anything was asked for anywhere."""
        if moment:
            self.judge.as_of(moment)
        self.judge.end()
        found, left = (
            tuple(one for one in several if one.line != _BEFORE) for several in (self.judge.faults, self.judge.open)
        )
        early = self.early if any_asked and not self.asked else None
        return Closing(found if early is None else (*found, early), left)


def _clear(judge: Judge) -> None:
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
        self._open: OrderedDict[Any, Watch] = OrderedDict()
        self._ended: OrderedDict[Any, Watch] = OrderedDict()
        self._given_up: OrderedDict[Any, None] = OrderedDict()
        self._moment = 0.0
        self._findings = _Findings(2 * room + 1)  # as many as a judge of one history leaves open
        self.any_asked = False

    def __len__(self) -> int:
        return len(self._open) + len(self._ended)

    def at(self, history: tuple[Any, ...], opening: Any = None) -> Watch:
        """The history of that name, a new one if there is none. Raises ConvertError where it was given up."""
        watch = self._open.get(history) or self._ended.get(history)
        if watch is None and history in self._given_up:
            raise faults.given_up(self._wire, history[1])
        return Watch(self._wire, self._room, opening) if watch is None else watch

    def written(self, history: Any, watch: Watch, asks: bool, moment: float | None) -> None:
        """Something was added to a history."""
        if asks:
            watch.asked = self.any_asked = True
        self._moment = max(self._moment, moment or 0.0)
        if history in self._ended and not asks:
            self._ended.move_to_end(history)
            return
        self._ended.pop(history, None)
        self._open[history] = watch
        self._open.move_to_end(history)
        self._shorten(self._open, max(10, self._room // 10))

    def over(self, history: tuple[Any, ...]) -> None:
        """The task of a history has ended: of all it is the first to be given up."""
        watch = self._open.pop(history, None) if history[1] is not None else None
        if watch is not None:
            self._ended[history] = watch
            self._shorten(self._ended, max(10, self._room // 100))

    def _shorten(self, table: OrderedDict[Any, Watch], room: int) -> None:
        while len(table) > room:
            history, watch = table.popitem(last=False)
            self._findings.add(watch.end(self._moment, self.any_asked))
            self._given_up[history] = None
            if len(self._given_up) > self._room:
                self._given_up.popitem(last=False)

    def close(self) -> Closing:
        """Nothing follows: what is wrong or open in all of them."""
        for table in (self._ended, self._open):
            for watch in table.values():
                self._findings.add(watch.end(self._moment, self.any_asked))
            table.clear()
        return self._findings.closing()
