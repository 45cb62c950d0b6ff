"""The bulk scan of CSP/1 in plain Python: the readable twin of ``_native/csp/bulk.pxi``.

Records are the messages and templates that the scanner finds. Preambles, code fences and every other line are
text here, also a line that says CSP/1 where nothing of a message follows closely (``_marks_py.py``). A damaged message
is a reject from its first line to the last that can be its own, its faulty line included: lines with a key or an
operation, heredocs, and a header or a block after blank lines. What follows up to the next message is text, so that a
message cut off in a log costs none of the lines after it.
"""

from __future__ import annotations

import re
import struct
from typing import Any

from turnwire.contract import LIMITS
from turnwire.csp._marks_py import EXACT, LOOK_ALIKE, NEAR, TEXT, are_flags, classify_magic_line, is_header_like
from turnwire.csp._scanner_py import (
    OPENING,
    TEMPLATE_HEAD,
    Cursor,
    Line,
    ScanFault,
    Span,
    Stream,
    Table,
    check_size,
    is_blank,
)
from turnwire.csp.spec import (
    BLOCK_WORD,
    BULK_ENUMS,
    BULK_KINDS,
    BULK_LINES,
    BULK_SLOTS,
    BULK_SPANS,
    BULK_TEXTS,
    INSIDE_UNCLOSED,
    TEMPLATE,
)
from turnwire.errors import Reason

OWN_LINE = re.compile(rb"[A-Z][A-Z0-9_]*(?: |\Z)|[+~-] DEF |<{3,}-?\Z")
BLOCK_LINE = re.compile(rb"(?:%s)(?: |\Z)" % b"|".join(word.encode() for word in BLOCK_WORD.values()))
_BIT = {name: 1 << place for place, name in enumerate((*BULK_TEXTS, *BULK_ENUMS))}
_HEADERS = ("from", "to", "ctx", "id")
_ABSENT = 255
_ROW = struct.Struct("=24i")


class LogStream(Stream):
    """The stream with text in it; ``rows`` and ``rejects`` hold what the last step found."""

    def row(
        self, start: int, stop: int, code: int, spans: list[Span] | None = None, extras: Table | None = None
    ) -> int:
        """Adds a record; preambles and fences are none."""
        return super().row(start, stop, code, spans) if code <= TEMPLATE else stop

    def reject(self, reason: Reason, start: int, stop: int, fault: int) -> int:
        """Adds a reject; lines outside messages are none."""
        return stop if reason in (Reason.JUNK, Reason.TRAILING_TEXT) else super().reject(reason, start, stop, fault)

    def preamble(self, first: Line) -> int:
        """Text, one line at a time."""
        return first.next

    def classify(self, first: Line, kind: int) -> int:
        """Tells what begins with a line."""
        return classify_magic_line(self.cursor.data, first.start, self.cursor.end, self.cursor.final, kind)

    def text(self, first: Line) -> int:
        """A line that begins no message after all. It ends what was open, as any line of its looks does."""
        self.tail = False
        return first.next

    def failed(self, first: Line, fault: ScanFault) -> int:
        """A damaged message, or text."""
        return self.text(first) if self.classify(first, EXACT) == TEXT else super().failed(first, fault)

    def near(self, first: Line) -> int:
        """The same where the line only nearly says CSP/1."""
        what = self.classify(first, NEAR)
        if what == TEXT:
            return self.text(first)
        reason = Reason.LOOK_ALIKE if what == LOOK_ALIKE else Reason.BAD_MAGIC
        return self.recover(first.start, ScanFault(reason, first.start, first.next))

    def template(self, first: Line) -> int:
        """A template, where its first line is not a sentence."""
        head = TEMPLATE_HEAD.match(first.text)
        assert head is not None, "or it is none"
        return super().template(first) if are_flags(first.text[head.end() :]) else self.near(first)

    def reach(self, start: int, stop: int, fault: int) -> int:
        """Behind the last line of a damaged message that can be its own."""
        place = end = start
        blank = block = False
        while place < stop:
            line = self.cursor.line(place)
            assert line is not None
            place = line.next
            if is_blank(line.text):
                if block:
                    break
                blank = True
                continue
            if line.start > fault and not block and is_header_like(line.text):
                blank = False
            elif line.start > fault and not (BLOCK_LINE if blank and not block else OWN_LINE).match(line.text):
                break
            block = block or blank
            opening = OPENING.fullmatch(line.text)
            if opening:
                closing = self.cursor.closing_before(place, len(opening[1]), stop)
                if closing is None:
                    return place
                place = closing.next
            end = place
        return end


def _lines(data: bytes, start: int, stop: int) -> Span:
    """The lines after the rest of the line at ``start``, without their last line end."""
    start += data.startswith(b"\r", start)
    start += data.startswith(b"\n", start)
    if stop > start and data[stop - 1] == 10:
        stop -= 1
        if data[stop - 1] == 13:
            stop -= 1
    return start, stop - start


def _texts(data: bytes, row: tuple[int, ...]) -> dict[str, Span]:
    """Column -> (offset, length) of what a row has, enums among them."""
    kind = BULK_KINDS[row[3] & 0xFF]
    names = (*_HEADERS, *BULK_SLOTS[kind])
    found = {name: (row[4 + 2 * slot], row[5 + 2 * slot]) for slot, name in enumerate(names)}
    found = {name: span for name, span in found.items() if span[1] >= 0}
    if kind == "PATCH":
        base, apply = found["base"], found["apply"]
        found["ops"] = _lines(data, sum(base), apply[0] - len("APPLY -> "))
    elif kind in BULK_LINES:
        found[BULK_LINES[kind]] = _lines(data, sum(found["id" if "id" in found else "flags"]), row[0] + row[1])
    return found


def _values(data: bytes, row: tuple[int, ...], found: dict[str, Span]) -> dict[str, int]:
    values = {"present": sum(_BIT[name] for name in found), "intent": row[3] & 0xFF}
    for name, words in BULK_ENUMS.items():
        start, length = found.get(name, (0, 0))
        values[name] = words.index(data[start : start + length].decode()) if name in found else _ABSENT
    return values


def _whole_row(row: tuple[int, ...], found: dict[str, Span]) -> tuple[int, ...]:
    """A row with the span of its lines."""
    return *row[:22], *found.get(BULK_LINES.get(BULK_KINDS[row[3] & 0xFF], ""), (-1, -1))


def _store(data: bytes, row: tuple[int, ...], base: int, line: int, columns: dict[str, Any], place: int) -> None:
    found = _texts(data, row)
    values = {"offset": base + row[0], "length": row[1], "line": line + row[2]} | _values(data, row, found)
    values["inside_unclosed_heredoc"] = row[3] & INSIDE_UNCLOSED != 0
    for name, array in columns.items():
        text, _, part = name.partition(".")
        if part:
            array[place] = found.get(text, (0, 0))[part == "length"]
        elif name == "spans":
            _ROW.pack_into(array, place * _ROW.size, *_whole_row(row, found))
        else:
            array[place] = values[name]


def values(data: bytes, start: int, stop: int, row: Any, shift: int) -> dict[str, Any]:
    """The own columns of a record that the search found in ``data``, by the row of the scanner; see ``BulkScanner``."""
    found = _texts(data, row)
    whole = list(_whole_row(row, found))
    for place in (0, *(at for at in range(4, len(whole), 2) if whole[at + 1] >= 0)):
        whole[place] += shift
    return {**_values(data, row, found), "spans": _ROW.pack(*whole)}


def text_spans(rows: Any, count: int, text: int, offsets: Any, lengths: Any) -> None:
    """The place of a text of each record: see the native twin."""
    if not 0 <= text < len(BULK_TEXTS):
        raise ValueError(f"there are {len(BULK_TEXTS)} texts")
    data = memoryview(rows).tobytes()
    if min(len(data) // _ROW.size, len(offsets), len(lengths)) < count:
        raise ValueError("there are fewer rows than that")
    for place in range(count):
        row = _ROW.unpack_from(data, place * _ROW.size)
        offset, length = 0, -1
        names = BULK_SPANS[BULK_KINDS[row[3] & 0xFF]]
        if BULK_TEXTS[text] in names:
            span = 4 + 2 * names.index(BULK_TEXTS[text])
            offset, length = row[span], row[span + 1]
        offsets[place], lengths[place] = (offset, length) if length >= 0 else (0, 0)


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
    limit: int = LIMITS.message,
    state: Any = None,
) -> tuple[int, int, int, int]:
    """Reads CSP/1 records from ``data[start:size]`` into columns, from row ``rows`` on: see the native twin."""
    check_size(size)
    if not 0 <= start <= size <= len(memoryview(data).cast("B")):
        raise ValueError("start and size must lie in the data")
    if not (0 <= rows <= room and 0 <= reject_rows <= reject_room):
        raise ValueError("rows and rejects must lie in their tables")
    if not rejects.keys() >= {"offset", "length", "line", "fault", "reason"}:
        raise ValueError("rejects need offset, length, line, fault and reason")
    text = bytes(memoryview(data).cast("B")[:size])
    state = [0, 0, 0, 0] if state is None else state
    limits = (limit, LIMITS.fields, LIMITS.key)
    stream = LogStream(Cursor(text, size, final), start, limits, [int(part) for part in state])
    while stream.place < size and rows < room and reject_rows < reject_room and stream.step():
        for row in stream.rows:
            _store(text, row, base, line, columns, rows)
            rows += 1
        for offset, length, number, reason, fault, _ in stream.rejects:
            values = (base + offset, length, line + number, base + fault, reason)
            for name, value in zip(("offset", "length", "line", "fault", "reason"), values, strict=True):
                rejects[name][reject_rows] = value
            reject_rows += 1
        stream.rows, stream.rejects = [], []
    state[1], state[2], state[3] = int(stream.tail), stream.run, int(stream.settled)
    return rows, reject_rows, stream.place, line + text.count(b"\n", start, stream.place)
