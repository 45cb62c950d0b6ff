"""What is whole in a damaged session: everything before the damage, and everything after the next anchor."""

from __future__ import annotations

from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Reason
from turnwire.session.checks import Chain
from turnwire.session.howto import HEADER
from turnwire.session.interpreting import value_of
from turnwire.session.reading import ANCHOR, Session, after_anchor, beginning, plain_events
from turnwire.session.records import Record, fault, records

DOUBTED = 2
"""Events before a damage, or before the end of a text that has no end record, that are not vouched for: the check of
each lets one change in 128 pass. So each event that counts was passed by three checks: its own and two behind it, or by
that of the end, which has its number, too."""


class Part(NamedTuple):
    """Events that are whole and follow each other. first: the number of the first in the session, from 0 on."""

    first: int
    events: list[Any]


class Salvage(NamedTuple):
    """What ``salvage`` found.

    parts: whole events. doubtful: those right before a damage, which are probably whole. missing: (first, behind the
    last) of the events that are lost or doubtful; the second is None where nothing says how many there were.
    complete: whether nothing is missing and nothing is wrong. faults: what is wrong, in order.
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

    Where a record's check fails, or the text ends without an end record, the events before it count but for the last
    two; reading goes on at the next anchor, also where the header is lost. What stands behind the end is not read.
    """
    begin = beginning(text)
    result = Salvage([], [], [], True, [])
    before = _lines(text if begin < 0 else text[:begin], result, begin >= 0)
    if before.missing == [(0, None)]:
        return _Salvor(before, text, max(begin, 0)).resumed()
    return before if begin < 0 else _Salvor(before, text, begin).run(0)


def _lines(text: str, result: Salvage, more: bool) -> Salvage:
    """JSON lines, which have no checks: those before the first that is none. They count where that is the last line,
    which was cut; where more follows, this may be the middle of a session, and they are doubtful. more: whether a
    header follows."""
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
        if more or whole + 1 < len(lines):
            result.missing.append((0, None))
            if found:
                result.doubtful.append(Part(0, found))
            return result
        result.missing.append((len(found), None))
    if found:
        result.parts.append(Part(0, found))
    return result


class _Salvor:
    """Reads the records of a text from ``begin`` on. result: what the JSON lines in front of them gave."""

    def __init__(self, result: Salvage, text: str, begin: int = 0) -> None:
        self.result = result
        self.session = Session(True, text[:begin], True)
        self.records = list(records(text, True, begin))
        self.first = 0
        self.found = [event for part in result.parts for event in part.events]
        self.session.events = self.lines = len(self.found)
        self.right = 0
        result.parts.clear()

    def resumed(self) -> Salvage:
        """What is whole behind the first anchor of a text whose header is lost."""
        return self.run(self._resume(0))

    def run(self, at: int) -> Salvage:
        """What is whole from a record on."""
        while at < len(self.records):
            try:
                event = self._read(self.records[at])
                if event is not None:
                    self.found.append(event)
            except DecodeError as error:
                self.result.faults.append(error)
                if self.session.ended:
                    break
                self._keep(DOUBTED)
                at = self._resume(at)
                continue
            self.right += 1
            at += 1
        lost = bool(self.result.missing) and self.result.missing[-1][1] is None
        if self.session.ended:
            self._keep(0)
        elif not lost:
            self.result.faults.append(fault(Reason.CUT_OFF, "the session has no end"))
            self._keep(DOUBTED)
        complete = self.session.ended and not self.result.missing and not self.result.faults
        return self.result._replace(complete=complete)

    def _read(self, record: Record) -> Any:
        if not record.closed and record.raw[:1] != ".":
            raise fault(Reason.CUT_OFF, "the last record is not complete", record)
        return self.session.read(record)

    def _keep(self, doubted: int) -> None:
        """The events read so far are a part; the last of them are doubtful, and JSON lines where the header and the
        records behind it, which vouch for all of them, are too few."""
        sure = max(len(self.found) - doubted, 0)
        if doubted and self.lines and self.right <= doubted:
            sure = 0
        if sure:
            self.result.parts.append(Part(self.first, self.found[:sure]))
        if self.found[sure:]:
            self.result.doubtful.append(Part(self.first + sure, self.found[sure:]))
        if doubted:
            self.result.missing.append((self.first + sure, None))
        self.found, self.lines = [], 0

    def _resume(self, at: int) -> int:
        """The record behind the next anchor to which the one after it is chained; the number of records: none.

        A header to which the next record is chained is that of another session, whose anchors are not taken; where
        nothing stands before it, the session begins there.
        """
        for place in range(at, len(self.records) - 1):
            anchor = self.records[place]
            if anchor.raw[:1] == HEADER[:1] and place and self._begins(place):
                if self.result.parts or self.result.doubtful:
                    break
                self.session, self.first = Session(True, values=True), 0
                self.result.missing.clear()
                return place
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
        return len(self.records)

    def _begins(self, place: int) -> bool:
        """Whether a session begins with a record: the one behind it is chained to it."""
        chain = Chain()
        header, follower = self.records[place : place + 2]
        return chain.pair(header.raw) == header.pair and chain.pair(follower.raw) == follower.pair
