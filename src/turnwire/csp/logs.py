"""Logs of CSP/1: the messages wherever they are, the preambles around them, and the state they replay to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from glob import glob
from itertools import groupby
from operator import itemgetter
from os import PathLike
from typing import Any, NamedTuple

from turnwire.checklists import log_lines, spoken, statement
from turnwire.contract import LIMITS, Limits, checked_limits, record_bytes, type_fault
from turnwire.csp._lines_py import is_near_state, is_preamble_line
from turnwire.csp.codec import parse, preambles
from turnwire.csp.faults import decode_fault, explain, issue
from turnwire.csp.messages import CspMessage, Document, Junk, Preamble, Record
from turnwire.csp.spec import WIRE
from turnwire.csp.state import State
from turnwire.csp.store import Store
from turnwire.errors import DecodeError, Reason, WireError
from turnwire.fences import is_fence
from turnwire.registry import reading

BOM = b"\xef\xbb\xbf"
_FENCES = (b"```", b"~~~")
_NEWLINE = 0x0A
_RECORD = b"\n\0\n"
"""Stands for each record in a text without them."""
_NEAR_STATE = re.compile(rb"(?m)^[ \t]*(?:DEF[ \t]+[A-Z{]|-[ \t]*L[0-9]+[: \t])[^\n]*")
"""Such lines of a log; without the dash a law is not told from text."""


class SurroundingText(NamedTuple):
    """Text around messages: its byte offset, length and line (1-based), and what it is: a preamble, the error of a
    damaged preamble, or other text."""

    offset: int
    length: int
    line: int
    record: Preamble | DecodeError | Junk


class Log(NamedTuple):
    """The content of a log: its good records as a document, and what is wrong with each that is damaged."""

    document: Document
    damaged: list[DecodeError]


def read_log(source: Any, *, limits: Limits = LIMITS) -> Log:
    """Reads a log: its valid records, and the fault of each damaged one.

    source: the text or bytes of a log, or any source of :func:`turnwire.scan`: a path, a glob, a file, or a list of
    these, in order. A str of one line is a file name if such a file exists. Messages and templates are those that a
    scan finds. Preambles are separate lines, or precede a message in its string or after its prefix; other text is
    skipped. A message that follows an unclosed heredoc has the issue ``inside_unclosed_heredoc``, so that ``encode``
    and stores reject it. Raises ValueError for 2 GiB or more, DecodeError(wrong_type) for a source that cannot be read.
    """
    checked_limits(limits)
    records: list[Record] = []
    damaged: list[DecodeError] = []
    for raw in _parts(source, limits):
        good, bad = _read_part(raw, limits)
        records += good
        damaged += bad
    return Log(Document(records), damaged)


def names_files(source: Any) -> bool:
    """True if a source names a log and is not its content: a str is a name if it is one line and such a file exists."""
    if isinstance(source, str):
        return "\n" not in source and "\0" not in source and bool(glob(source, recursive=True))
    # A file, or what opens as one does: a UPath or an OpenFile of fsspec.
    return isinstance(source, (PathLike, list, tuple)) or hasattr(source, "read") or hasattr(source, "open")


def _parts(source: Any, limits: Limits) -> Iterator[bytes]:
    """The bytes of each input."""
    if names_files(source):
        for _, raw in reading("contents").contents(source, limits=limits):
            yield raw
        return
    raw = record_bytes(source)
    if raw is None:
        raise type_fault(source, WIRE)
    yield raw


def _read_part(raw: bytes, limits: Limits) -> tuple[list[Record], list[DecodeError]]:
    several = list(reading("located").pieces(raw, WIRE, limits=limits))
    records: list[tuple[tuple[int, int], Record]] = []
    damaged: list[DecodeError] = []
    around = FilePreambles(reading("surroundings").LocatedRecords(raw, several), limits)
    damaged += around.misspelt()
    for start, _, line, beside in around.preambles():
        if isinstance(beside, DecodeError):
            damaged.append(DecodeError(beside.reason, beside.text, offset=start, line=line, wire=WIRE))
        elif isinstance(beside, Preamble):
            beside.line = line
            records.append(((start, -1), beside))
    for one in (one for piece in several for one in piece.of()):
        if one.error is not None:
            damaged.append(one.error)
            continue
        record = one.message
        record.line = one.line
        if one.doubtful and isinstance(record, CspMessage):
            record.issues = (issue(Reason.INSIDE_UNCLOSED_HEREDOC, one.line),)
        records.append((one.place, record))
    records.sort(key=itemgetter(0))
    return [record for _, record in records], sorted(damaged, key=lambda error: error.offset or 0)


# --- what is around the messages --------------------------------------------------------------------------------------


class FilePreambles:
    """Preambles, and text that has no place in a document, around what was found in a file.

    found: everything in it (:class:`turnwire.read.surroundings.LocatedRecords`).

    any: whether there is CSP/1 in it.
    """

    def __init__(self, found: Any, limits: Limits = LIMITS) -> None:
        self._data: bytes = found.data
        self._found = found
        self._limits = limits
        own = found.of(WIRE)
        self.any = bool(own.any())
        self._alone = bool(own.all()) and self._on_lines()

    def _on_lines(self) -> bool:
        """True if everything begins a line, and nothing is in a string."""
        import numpy as np

        offsets, _, _, inside = self._found.places
        first = offsets <= (len(BOM) if self._data.startswith(BOM) else 0)
        before = np.frombuffer(self._data, np.uint8)[np.maximum(offsets - 1, 0)]
        return bool((first | (before == _NEWLINE)).all() and not inside.any())

    def is_document(self) -> bool:
        """True if nothing says that this is a log."""
        return self._alone and not any(log_lines(self._data[start:stop]) for start, stop in self._found.gaps)

    def preambles(self) -> list[SurroundingText]:
        """The preambles, and what is wrong with those that are damaged."""
        rows = preambles(self._data, self._limits)
        found = [SurroundingText(start, size, one.line or 1, one) for start, size, one in rows]
        if not self._on_lines() and (b"DEF " in self._data or b"LAWS" in self._data):
            found += [*self._in_strings(), *self._behind_prefixes()]
        return found

    def _in_strings(self) -> Iterator[SurroundingText]:
        """Those in JSON strings with messages. One after the first message there is placed after all of them."""
        for start, said in self._found.strings(_RECORD):
            for offset, _, record in preambles(said, self._limits):
                before = offset < said.find(_RECORD)
                place = start if isinstance(record, DecodeError) else start - 1 if before else start + 1
                yield SurroundingText(place, 0, self._found.line_of(start), record)

    def _behind_prefixes(self) -> Iterator[SurroundingText]:
        """Those in lines that begin as the first line of the message after them does, or of the one before."""
        messages = self._found.places[0][self._found.of(WIRE)]
        lines = self._found.lines_behind_prefixes(WIRE)
        for _, several in groupby(lines, key=lambda one: int(messages.searchsorted(one.offset))):
            rows = list(several)
            for _, _, record in preambles(b"".join(one.text + b"\n" for one in rows), self._limits):
                row = rows[(record.line or 1) - 1]
                yield SurroundingText(row.offset, 0, row.line, record)

    def misspelt(self) -> Iterator[DecodeError]:
        """The fault of each line that was meant as a name or a law of C0, and is none."""
        for start, stop in self._found.gaps if self.any else ():
            for match in _NEAR_STATE.finditer(self._data, start, stop):
                if not is_preamble_line(match[0].strip(b" \t\r"), laws=True):
                    yield decode_fault(Reason.JUNK, match.start(), self._found.line_of(match.start()))

    def junk(self, taken: list[SurroundingText]) -> Iterator[SurroundingText]:
        """The lines that are not blank, no fence and no part of others."""
        spans = iter([(one.offset, one.length) for one in taken] + [(len(self._data) + 1, 0)])
        here = next(spans)
        for start, stop in self._found.gaps:
            for line, row in enumerate(self._data[start:stop].split(b"\n"), self._found.line_of(start)):
                while sum(here) <= start:
                    here = next(spans)
                text = row.removeprefix(BOM if start == 0 else b"").strip()
                if text and here[0] > start and not is_fence(text):
                    yield SurroundingText(start, len(row), line, Junk(line, text.decode(errors="replace")))
                start += len(row) + 1

    def prose(self) -> Iterator[tuple[int, int, str]]:
        """Yields (offset, line, text) of each line that does not belong among the messages of its string or prefix: in
        a log, prose; elsewhere, all but preambles and fences."""
        for one in self._found.lines_around(WIRE):
            if spoken(one.text) if one.in_log else not (statement(one.text) or one.text.startswith(_FENCES)):
                yield one.offset, one.line, one.text.decode(errors="replace")


# --- the state of a log [STATE MANAGEMENT] ----------------------------------------------------------------------------


class Replay(NamedTuple):
    """The store built from a document, and the rejected records with their errors."""

    store: Store
    refused: list[tuple[CspMessage | Preamble | Junk, WireError]]


class Replaying:
    """Replays records one after the other. Preambles before the first message are C0; a later one changes nothing and
    is refused (restate)."""

    def __init__(self) -> None:
        self._first = State()
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The store as it is; from now on a preamble is refused."""
        if self._store is None:
            self._first.begun = True
            self._store = Store(self._first.defs, self._first.laws)
        return self._store

    def feed(self, record: CspMessage | Preamble) -> WireError | None:
        """Takes the next record; why it is refused, where it is. Then it changes nothing."""
        if isinstance(record, Preamble):
            return self._first.feed(record)
        try:
            self.store.apply(record)
        except WireError as error:
            return error
        return None


def replay(source: Any, *, mode: str = "strict") -> Replay:
    """Returns the state at the end of a document or a log.

    source: a Document, or the result of ``read_log``; text or bytes of one (read by ``parse`` with ``mode``); or any
    source of :func:`turnwire.scan`, whose messages form one history. Preambles before the first message are C0.
    Messages are applied in order; a rejected message, a later preamble (restate) and a misspelt DEF or law (junk) are
    listed and change nothing.
    """
    replaying = Replaying()
    refused: list[tuple[CspMessage | Preamble | Junk, WireError]] = []
    if isinstance(source, Log):
        source = source.document
    if not isinstance(source, Document):
        source = read_log(source).document if names_files(source) else parse(source, mode=mode)
    for record in source.records:
        if isinstance(record, Junk) and is_near_state(record.text):
            refused.append((record, DecodeError(Reason.JUNK, explain(Reason.JUNK), line=record.line, wire=WIRE)))
        if isinstance(record, (CspMessage, Preamble)) and (error := replaying.feed(record)) is not None:
            refused.append((record, error))
    return Replay(replaying.store, refused)
