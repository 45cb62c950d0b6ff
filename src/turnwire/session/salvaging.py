"""Salvages damaged sessions: everything before the damage, and everything after the next anchor; seals new ones."""

from __future__ import annotations

from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Reason
from turnwire.session.checks import Chain
from turnwire.session.header import HEADER
from turnwire.session.reading import RecordReader, anchor_of, beginning, records, size_of

DOUBTED = 2
"""Events before a damage, or before the end of a text that has no end record, that are not vouched for: the check of
each lets one change in 128 pass. So each event that counts was passed by three checks: its own and two behind it, or by
that of the end, which has its number, too."""


class Part(NamedTuple):
    """Events that are whole and follow each other. first: the number of the first in the session, from 0 on."""

    first: int
    events: list[Any]


class Salvage(NamedTuple):
    """The result of ``salvage``.

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
    return _Salvor(text).salvaged()


class _Salvor:
    """Reads what is whole in a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._header = beginning(text)
        self._records = list(records(text, True, self._header))
        self._reader = RecordReader(True)
        self._found: list[Any] = []
        self._first = self._lines = self._right = 0
        self._parts: list[Part] = []
        self._doubtful: list[Part] = []
        self._missing: list[tuple[int, int | None]] = []
        self._faults: list[DecodeError] = []

    def salvaged(self) -> Salvage:
        """The result."""
        at = 0
        while at < len(self._records):
            record = self._records[at]
            is_line = record.pair is None
            try:
                if not (is_line or record.closed or record.raw[:1] == "."):
                    place: dict[str, Any] = {"offset": record.offset, "line": record.line}
                    raise DecodeError(Reason.CUT_OFF, "the last record is not complete", **place, wire="session")
                event = self._reader.read(record)
            except DecodeError as error:
                self._faults.append(error)
                if self._reader.ended:
                    break
                at = self._lose_lines(at) if is_line else self._lose(at)
                continue
            if event is not None:
                self._found.append(event)
                self._lines += is_line
            self._right += not is_line
            at += 1
        if self._reader.ended or not (self._reader.begun or self._missing):
            self._keep(0)
        elif not self._missing or self._missing[-1][1] is not None:
            self._faults.append(DecodeError(Reason.CUT_OFF, "the session has no end", wire="session"))
            self._lose(at)
        for fault in self._faults:
            if fault.offset is not None:
                fault.offset = size_of(self._text[: fault.offset])
        is_whole = (self._reader.ended or not self._reader.begun) and not self._missing and not self._faults
        return Salvage(self._parts, self._doubtful, self._missing, is_whole, self._faults)

    def _lose_lines(self, at: int) -> int:
        """A JSON line is none. Those before it count where it is the last line, which was cut; where more follows, it
        may be of the middle of a session, and they are doubtful. Returns the record to go on with."""
        more = any(each.raw or each.pair for each in self._records[at + 1 :])
        self._missing.append((0 if more else len(self._found), None))
        self._keep(len(self._found) if more else 0)
        header = self._header if self._header < len(self._text) else 0
        line = 1 + self._text.count("\n", 0, header)
        self._records = list(records(self._text, True, header, header, line))
        return self._resume(0)

    def _lose(self, at: int) -> int:
        """The events behind those read so far are lost; the last of these are doubtful, and so are JSON lines where the
        header and the records behind it, which vouch for all of them, are too few. Returns the record to go on with."""
        doubtful = len(self._found) if self._lines and self._right <= DOUBTED else min(DOUBTED, len(self._found))
        self._missing.append((self._first + len(self._found) - doubtful, None))
        self._keep(doubtful)
        return self._resume(at)

    def _keep(self, doubtful: int) -> None:
        """The events read so far are a part, but for so many at its end."""
        sure = len(self._found) - doubtful
        if sure:
            self._parts.append(Part(self._first, self._found[:sure]))
        if doubtful:
            self._doubtful.append(Part(self._first + sure, self._found[sure:]))
        self._found, self._lines = [], 0

    def _resume(self, at: int) -> int:
        """The record behind the next anchor to which the one after it is chained; the number of records: none.

        A header to which the next record is chained is that of another session, whose anchors are not taken; where
        nothing stands before it, the session begins there.
        """
        for place in range(at, len(self._records) - 1):
            record, follower = self._records[place : place + 2]
            if record.raw[:1] == HEADER[:1] and place:
                chain = Chain()
                if chain.follows(record.raw, record.pair) and chain.follows(follower.raw, follower.pair):
                    if self._parts or self._doubtful:
                        break
                    self._reader, self._first = RecordReader(True), 0
                    self._missing.clear()
                    return place
            anchor = anchor_of(record.raw)
            if anchor is None or anchor[0] < self._missing[-1][0]:
                continue
            reader = RecordReader(True, events=anchor[0])
            reader.checks.resume(record.raw)
            try:
                reader.begin(anchor[1])
            except ValueError:
                continue
            if reader.checks.follows(follower.raw, follower.pair):
                reader.checks.resume(record.raw)
                self._reader, self._first = reader, anchor[0]
                self._missing[-1] = (self._missing[-1][0], anchor[0])
                return place + 1
        return len(self._records)


def seal(text: str) -> str:
    """A session without checks as one with checks; a header and an end are added where they are missing.

    Raises DecodeError for a record that cannot be read: what is sealed is whole.
    """
    is_plain = beginning(text) == len(text)
    if is_plain:
        text = f"{HEADER}\n{text}"
    header = beginning(text)
    reader, checks = RecordReader(False, False), Chain()
    checks.cover(text[:header])
    parts = [text[:header]]
    try:
        for record in records(text, False, header):
            if is_plain and record.raw[:1] == '"':  # JSON lines hold text as it is, records behind a mark
                record = record._replace(raw=f"!{record.raw}")
            if record.raw.strip():
                reader.read(record)
                if record.pair is not None:
                    parts.append(checks.sealed(record.raw))
    except DecodeError as error:
        error.offset = size_of(text[: error.offset])
        raise
    if not reader.ended:
        parts.append(checks.sealed(f".{reader.events}"))
    return "".join(parts)
