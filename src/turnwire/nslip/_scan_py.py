"""The bulk scan of nSLIP in plain Python: the readable twin of ``_native/nslip/scan.pyx`` (readings 8).

A candidate is ``@``, a header prefix, one to eleven digits and ``|``; a record ends at the first ``#`` outside quotes;
what fails is a reject from its ``@`` to the next candidate or the end of its line; everything else is text.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire.errors import DecodeError, Reason
from turnwire.nslip._codec_py import SlipMessage, decode
from turnwire.nslip._parser_py import ParseFault, parse
from turnwire.nslip.spec import CANDIDATE, CANDIDATE_CUT, MOST_CANDIDATE, REASONS, FrameType, Slot

CANDIDATES = re.compile(CANDIDATE)
_CUT = re.compile(CANDIDATE_CUT)
# The common record, so that most of them need not go through the parser.
_COMMON = re.compile(
    rb'@a[0-9A]\|f[0-4](?:\|[cSdT][0-9A-Za-z]{1,10}){4}(?:\|(?:[gkprqse][0-9A-Za-z]{1,10}|[ut]"[^"\\\n]*"))*#'
)
_CODE = {reason: code for code, reason in enumerate(REASONS)}
_HEAD = ("conv_id", "src", "dst", "turn")
_NAME = {slot: slot.name.lower() for slot in Slot}
_BIT = {slot: 1 << place for place, slot in enumerate(Slot)}
_ESCAPED = {Slot.STATUS: 1 << 9, Slot.TAG: 1 << 10}
_KEPT = 1 << 11
_FRAME_KNOWN = 1 << 12
_TEXTS = re.compile(rb'[|@]([ut])"((?:[^"\\]|\\.)*)"(?=[|#])|"(?:[^"\\]|\\.)*"', re.DOTALL)


def begins(data: bytes, at: int, end: int) -> bool | None:
    """True if a candidate begins with the ``@`` at ``at`` of ``data[:end]``; None where only what follows can say."""
    if CANDIDATES.match(data, at, end):
        return True
    return None if _CUT.fullmatch(data, at, end) else False


def next_candidate(data: bytes, start: int, to: int, end: int, limit: int, cut: bool = False) -> int:
    """The next candidate that starts in ``data[start:to]`` and is in ``data[:end]`` and within ``limit`` bytes, or
    ``to``. cut: what may become one after ``end`` counts."""
    while (at := data.find(b"@", start, to)) >= 0:
        within = end - at <= limit
        found = begins(data, at, end if within else at + limit)
        if found or (found is None and within and cut):
            return at
        start = at + 1
    return to


class _Block:
    """One call of :func:`scan_block`: the same state as tw_scan in nslip/rows.h."""

    def __init__(self, data: Any, size: int, final: bool, keep: bool, limit: int, base: int, line: int) -> None:
        self.data = bytes(memoryview(data)[:size])
        self.size = size
        self.final = final
        self.keep = keep
        self.limit = limit
        self.base = base
        self.line = line
        self.line_end = -1

    def end_of_line(self, place: int) -> int:
        if self.line_end < place:
            newline = self.data.find(b"\n", place)
            self.line_end = self.size if newline < 0 else newline
        return self.line_end

    def read(self, at: int, columns: dict[str, Any], row: int) -> int | None:
        """The candidate at ``at`` into its row; the offset after it. None when more input is needed."""
        data = self.data
        match = _COMMON.match(data, at)
        if match and match.end() - at <= self.limit:
            try:
                self.store(match[0], at, decode(match[0]), columns, row)
                return match.end()
            except DecodeError:
                pass  # a duplicate or bad UTF-8: below, with the right place
        newline = self.end_of_line(at)
        line = newline - (newline < self.size and data[newline - 1 : newline] == b"\r")
        end = min(line, at + self.limit)
        try:
            fields, stop = parse(data, at, end, keep=self.keep, log=True)
        except ParseFault as error:
            reason, fault = error.reason, error.offset
            if end < line and (fault >= end or reason is Reason.UNTERMINATED_STRING):
                reason, fault = Reason.MESSAGE_TOO_LARGE, end
            # The byte after the limit may be the "\r" of a line that ends there, so one more is waited for; and a
            # candidate that begins in front of the limit may end after it.
            if newline == self.size and not self.final and self.size - at < self.limit + MOST_CANDIDATE - 1:
                return None
            raise _Reject(reason, fault, next_candidate(data, at + 1, end, line, self.limit)) from None
        self.store(data[at:stop], at, SlipMessage(*fields[:7], extra=fields[7]), columns, row)
        return stop

    def store(self, text: bytes, at: int, message: Any, columns: dict[str, Any], row: int) -> None:
        values = {"offset": self.base + at, "length": len(text), "line": self.line} | _values(text, at, message)
        for name, array in columns.items():
            array[row] = values[name]


def _values(text: bytes, at: int, message: Any) -> dict[str, int]:
    """Own columns of the record ``text``, with the places of its texts where it stands at ``at``."""
    present = sum(_BIT[slot] for slot in message.slots)
    spans = {Slot.STATUS: (0, 0), Slot.TAG: (0, 0)}
    for match in _TEXTS.finditer(text):
        if match[1]:
            slot = Slot.TAG if match[1] == b"t" else Slot.STATUS
            spans[slot] = (at + match.start(2), len(match[2]))
            if b"\\" in match[2]:
                present |= _ESCAPED[slot]
    if message.extra:
        present |= _KEPT
    known = isinstance(message.frame, FrameType)
    values: dict[str, int] = {
        "present": present | (_FRAME_KNOWN if known else 0),
        "act": int(message.act),
        "frame": int(message.frame) if known else 255,
        **{name: getattr(message, name) for name in _HEAD},
    }
    for slot, name in _NAME.items():
        if slot in spans:
            values[f"{name}.offset"], values[f"{name}.length"] = spans[slot]
        else:
            values[name] = message.slots.get(slot, 0)
    return values


def values(data: bytes, start: int, stop: int, fields: Any, shift: int) -> dict[str, int]:
    """The own columns of a record that the search found in ``data``, by what the parser gave; see ``BulkScanner``."""
    return _values(data[start:stop], start + shift, SlipMessage(*fields[:7], extra=fields[7]))


class _Reject(Exception):
    def __init__(self, reason: Reason, fault: int, stop: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fault = fault
        self.stop = stop


def scan_block(
    data: Any,
    start: int,
    size: int,
    final: bool,
    columns: dict[str, Any],
    rows: int,
    room: int,
    rejects: dict[str, Any],
    reject_rows: int,
    reject_room: int,
    *,
    base: int = 0,
    line: int = 1,
    keep: bool = False,
    limit: int = 16 << 20,
) -> tuple[int, int, int, int]:
    """Reads nSLIP records from ``data[start:size]`` into columns, from row ``rows`` on: see the native twin."""
    if not 0 <= start <= size <= len(memoryview(data).cast("B")):
        raise ValueError("start and size must lie in the data")
    block = _Block(data, size, final, keep, limit, base, line)
    text = block.data
    position = counted = start
    while True:
        at = text.find(b"@", position)
        if at < 0:
            position = size
            break
        candidate = begins(text, at, min(size, at + limit))
        if candidate is None and not final and size - at <= limit:
            position = at
            break
        if not candidate:
            position = at + 1
            continue
        block.line += text.count(b"\n", counted, at)
        position = counted = at
        if rows == room:
            break
        try:
            stop = block.read(at, columns, rows)
        except _Reject as reject:
            if reject_rows == reject_room:
                break
            rejects["offset"][reject_rows] = base + at
            rejects["length"][reject_rows] = reject.stop - at
            rejects["line"][reject_rows] = block.line
            rejects["fault"][reject_rows] = base + reject.fault
            rejects["reason"][reject_rows] = _CODE[reject.reason]
            reject_rows += 1
            position = reject.stop
            continue
        if stop is None:
            break
        rows += 1
        position = stop
    return rows, reject_rows, position, block.line + text.count(b"\n", counted, position)
