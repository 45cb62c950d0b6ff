"""What is whole in a damaged session: everything before the damage, and everything after the next anchor."""

from __future__ import annotations

from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Reason
from turnwire.session.interpreting import value_of
from turnwire.session.reading import ANCHOR, Session, after_anchor, beginning, plain_events
from turnwire.session.records import fault, records

DOUBTED = 2
"""Events before a damage that are not vouched for: the check of each lets one change in 128 pass."""


class Part(NamedTuple):
    """Events that are whole and follow each other. first: the number of the first in the session, from 0 on."""

    first: int
    events: list[Any]


class Salvage(NamedTuple):
    """What ``salvage`` found.

    parts: whole events. doubtful: those right before a damage, which are probably whole. missing: (first, behind the
    last) of the events that are lost or doubtful; the second is None where nothing says how many there were.
    complete: whether nothing is missing. faults: what is wrong, in order.
    """

    parts: list[Part]
    doubtful: list[Part]
    missing: list[tuple[int, int | None]]
    complete: bool
    faults: list[DecodeError]

    @property
    def events(self) -> list[Any]:
        """All events that are whole."""
        return [event for part in self.parts for event in part.events]


def salvage(text: str) -> Salvage:
    """All that is whole in a session, whatever happened to it. Never raises for text.

    Where a record's check fails, the events before it count but for the last two; reading goes on at the next anchor.
    """
    begin = beginning(text)
    result = Salvage([], [], [], True, [])
    if begin < 0:
        return _lines(text, result)
    before = _lines(text[:begin], result)
    return _Salvor(before, text, begin).run()


def _lines(text: str, result: Salvage) -> Salvage:
    """JSON lines, which have no checks: those before the first that is none. They count where that is the last line,
    which was cut; where more follows, this may be the middle of a session, and they are doubtful."""
    lines = text.rstrip("\n").split("\n")
    found: list[Any] = []
    try:
        found = [value_of(line) for line in plain_events(text)]
    except DecodeError as error:
        whole = 0
        for line in lines:
            try:
                found += [value_of(each) for each in plain_events(line)]
            except DecodeError:
                break
            whole += 1
        result.faults.append(error)
        result = result._replace(complete=False)
        if whole + 1 < len(lines):
            result.missing.append((0, None))
            if found:
                result.doubtful.append(Part(0, found))
            return result
        result.missing.append((len(found), None))
    if found:
        result.parts.append(Part(0, found))
    return result


class _Salvor:
    def __init__(self, result: Salvage, text: str, begin: int) -> None:
        self.result = result
        self.session = Session(True, text[:begin], True)
        self.session.events = sum(len(part.events) for part in result.parts)
        self.records = list(records(text, True, begin))
        self.first = self.session.events
        self.found: list[Any] = []

    def run(self) -> Salvage:
        at = 0
        while at < len(self.records):
            record = self.records[at]
            try:
                if not record.closed and record.raw[:1] != ".":
                    raise fault(Reason.CUT_OFF, "the last record is not complete", record)
                event = self.session.read(record)
                if event is not None:
                    self.found.append(event)
            except DecodeError as error:
                self.result.faults.append(error)
                if at == 0:  # the header's check is that of the JSON lines before it, too
                    self.first, self.found = 0, [event for part in self.result.parts for event in part.events]
                    self.result.parts.clear()
                    self._keep(len(self.found) or DOUBTED)
                else:
                    self._keep(DOUBTED)
                at = self._resume(at)
                continue
            at += 1
        behind = None if self.result.missing and self.result.missing[-1][1] is None else self.session.events
        if self.found:
            self._keep(0)
        if not self.session.ended and behind is not None:
            self.result.missing.append((behind, None))
        if not self.session.ended and not self.result.faults:
            self.result.faults.append(fault(Reason.CUT_OFF, "the session has no end"))
        complete = self.session.ended and not self.result.missing and not self.result.faults
        return self.result._replace(complete=complete)

    def _keep(self, doubted: int) -> None:
        """The events read so far are a part; the last of them are doubtful."""
        sure = max(len(self.found) - doubted, 0)
        if sure:
            self.result.parts.append(Part(self.first, self.found[:sure]))
        if self.found[sure:]:
            self.result.doubtful.append(Part(self.first + sure, self.found[sure:]))
        if doubted:
            self.result.missing.append((self.first + sure, None))
        self.found = []

    def _resume(self, at: int) -> int:
        """The record behind the next anchor whose followers are chained to it; the number of records: none."""
        for place in range(at, len(self.records) - 1):
            anchor = self.records[place]
            found = ANCHOR(anchor.raw)
            if found is None:
                continue
            session = Session(True, values=True)
            session.verifier.resume(anchor)
            try:
                session.interpreter = after_anchor(found, True)
            except ValueError:
                continue
            session.events = int(found[1])
            if session.events < self.result.missing[-1][0] or not session.verifier.right(self.records[place + 1]):
                continue
            session.verifier.resume(anchor)
            self.session, self.first = session, session.events
            start = self.result.missing.pop()[0]
            self.result.missing.append((start, self.first))
            return place + 1
        self.session.ended = False
        return len(self.records)
