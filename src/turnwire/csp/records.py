"""The records of a text of CSP/1, one after the other, each as an object."""

from __future__ import annotations

import re
from typing import Any

from turnwire.contract import Limits
from turnwire.csp._lines_py import DEF_LINE, LAW_LINE, Cursor, Line, Span, Table
from turnwire.csp._scanner_py import Stream
from turnwire.csp.faults import decode_fault
from turnwire.csp.messages import Junk, Preamble, Record, Template
from turnwire.csp.spec import FENCE, PREAMBLE, TEMPLATE
from turnwire.errors import DecodeError, Reason

_SPEAKS_OF_STATE = re.compile(rb"(?m)^(?:DEF |LAWS\r?$)")


class RecordReader(Stream):
    """Makes records of templates, preambles and fences; those below read messages, and say what becomes of faults.

    places: (start, stop) of each record.
    """

    def __init__(self, cursor: Cursor, place: int, limits: Limits) -> None:
        super().__init__(cursor, place, (limits.message, limits.fields, limits.key))
        self.raw = cursor.data
        self.records: list[Record] = []
        self.places: list[tuple[int, int]] = []
        self._lines = 0  # newlines before self._counted
        self._counted = 0

    def line_of(self, offset: int) -> int:
        """0-based line of an offset at or after the last one asked for."""
        self._lines += self.raw.count(b"\n", self._counted, offset)
        self._counted = offset
        return self._lines

    def read(self) -> None:
        """Reads to the end."""
        while self.place < len(self.raw):
            self.place = self.item(self.place)

    def add(self, start: int, stop: int, record: Record) -> None:
        """Keeps a record."""
        self.records.append(record)
        self.places.append((start, stop))

    def found(self, start: int, stop: int, code: int, spans: list[Span], extras: Table) -> None:
        text, line = self.raw[start:stop].decode(), self.line_of(start) + 1
        if code == PREAMBLE:
            self.add(start, stop, self.preamble_of(text, line, start))
            return
        first, *lines = (one.removesuffix("\r") for one in text.split("\n"))
        if lines and not lines[-1]:
            lines.pop()
        if code == TEMPLATE:
            mode, _, flags = first.partition(";")
            made = Template(flags.split(";") if flags else [], lines, mode=mode == "CSP/1 MODE", line=line)
            self.add(start, stop, made)
        else:
            assert code == FENCE, "the core reads messages"
            self.add(start, stop, Junk(line, first))

    def preamble_of(self, text: str, line: int, offset: int) -> Preamble:
        """The preamble of a text, which stands at an offset and a line."""
        record = Preamble(line=line)
        for number, row in enumerate(text.encode().split(b"\n"), line):
            row_text = row.removesuffix(b"\r")
            match = DEF_LINE.fullmatch(row_text)
            kind: dict[str, str] = record.laws if match is None else record.defs
            match = match or LAW_LINE.fullmatch(row_text)
            if match is not None:
                name = match[1].decode()
                if name not in kind:
                    kind[name] = (match[2] or b"").decode()
                else:
                    self.repeated(Reason.DEF_EXISTS if kind is record.defs else Reason.DUPLICATE, offset, number)
            offset += len(row) + 1
        return record

    def repeated(self, reason: Reason, offset: int, line: int) -> None:
        """Takes notice of a line of a preamble that says a name or a law again."""
        raise NotImplementedError


class StrictReader(RecordReader):
    """Raises a DecodeError at the first fault. core: the module of ``csp.codec`` whose ``Messages`` reads what is a
    message; the fault of what is none is found here. Raises ValueError for 2 GiB or more."""

    def __init__(self, raw: bytes, limits: Limits, core: Any) -> None:
        super().__init__(Cursor(raw, len(raw)), 0, limits)
        self._messages = core.Messages(raw, self.limits)

    def message(self, first: Line) -> int:
        made = self._messages.at(first.start, self.cursor.fence)
        if made is None:
            return super().message(first)
        stop, message = made
        message.line = self.line_of(first.start) + 1
        self.tail = True
        self.add(first.start, stop, message)
        return int(stop)

    def reject(self, reason: Reason, start: int, stop: int, fault: int) -> int:
        raise decode_fault(reason, fault, self.raw.count(b"\n", 0, fault) + 1)

    def repeated(self, reason: Reason, offset: int, line: int) -> None:
        raise decode_fault(reason, offset, line)


class PreambleReader(StrictReader):
    """Keeps the preambles among anything, each with its offset and length, or what is wrong with it and where."""

    def __init__(self, raw: bytes, limits: Limits, core: Any) -> None:
        super().__init__(raw, limits, core)
        self.preambles: list[tuple[int, int, Preamble | DecodeError]] = []

    def read(self) -> None:
        if _SPEAKS_OF_STATE.search(self.raw):
            super().read()

    def add(self, start: int, stop: int, record: Record) -> None:
        if isinstance(record, Preamble):
            self.preambles.append((start, stop - start, record))

    def found(self, start: int, stop: int, code: int, spans: list[Span], extras: Table) -> None:
        if code != PREAMBLE:  # a fence may be no UTF-8
            return
        try:
            super().found(start, stop, code, spans, extras)
        except DecodeError as error:
            self.preambles.append((error.offset or 0, 0, error))

    def reject(self, reason: Reason, start: int, stop: int, fault: int) -> int:
        return stop
