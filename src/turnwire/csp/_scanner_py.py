"""The scanner of CSP/1 in plain Python: the readable twin of ``_native/csp/scanner.pxi``.

    stream  = { blank | message | template | preamble | fence | junk }
    message = "CSP/1" FROM TO CTX INTENT 1*blank block            [MESSAGE FORMAT]

It copies nothing: it fills tables of spans (``turnwire.csp.spec`` gives their columns). A line ends with LF or CRLF and
nothing else. What is not a valid message becomes a reject, and the scan goes on at the next line that can start a
record; a line inside a heredoc never does.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection
from typing import Any, NamedTuple

from turnwire.csp._marks_py import (
    EXACT,
    LOOK_ALIKE,
    NEAR,
    TEMPLATE as TEMPLATE_LINE,
    NeedMore,
    classify_magic_line,
    has_title,
)
from turnwire.csp.spec import (
    BLOCK_WORD,
    ENUMS,
    FENCE,
    FIELDS,
    FILE_OPS,
    HEADERS,
    ID_LETTER,
    INSIDE_UNCLOSED,
    INTENT_ALIAS,
    INTENTS,
    MISSING_HEADER,
    PREAMBLE,
    REASONS,
    REQUIRED,
    TEMPLATE,
)
from turnwire.errors import Reason
from turnwire.fences import is_fence

Table = list[tuple[int, ...]]
NO_LIMIT = (1 << 62, 1 << 62, 1 << 62)
Span = tuple[int, int]

BLANK = re.compile(rb"[ \t]*")
MAGIC = b"CSP/1"
TEMPLATE_HEAD = re.compile(rb"CSP/1(?: MODE)?;")
LOOKS_LIKE_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]")
OPENING = re.compile(rb"(<{3,})(-?)")
TOKEN = re.compile(rb"[^\x00-\x20\x7f]+")
KEY = re.compile(rb"[A-Z][A-Z0-9_]*(?= |\Z)")
OP_WORD = re.compile(rb"[A-Z][A-Z0-9_]*")
CHECKPOINT = re.compile(rb"C[0-9]+")
DEF_LINE = re.compile(rb"DEF ([A-Z_][A-Z0-9_]*) =(?: (.*))?", re.DOTALL)
LAW_LINE = re.compile(rb"- (L[0-9]+):(?: (.*))?", re.DOTALL)
CHANGE = re.compile(rb"([+~-]) DEF ([A-Z_][A-Z0-9_]*)(?: (.*))?", re.DOTALL)
CHANGE_LIKE = re.compile(rb"[+~-]|. DEF ", re.DOTALL)
_CLOSING_RUN = re.compile(rb"(?m)^(>{3,})\r?$")

_HEADER = {key.encode(): reason for key, reason in zip(HEADERS, MISSING_HEADER, strict=True)}
_HEADERLESS = frozenset((Reason.BAD_HEADER_LINE, *MISSING_HEADER))
"""Faults of what may be another protocol."""
_INTENT = {intent.encode(): code for code, intent in enumerate(INTENTS)}
_WORD = {intent.encode(): word.encode() for intent, word in BLOCK_WORD.items()}
_WORDS = frozenset(_WORD.values())
_FIELDS = {word.encode(): {key.encode(): slot for slot, key in enumerate(keys)} for word, keys in FIELDS.items()}
_REQUIRED = {word.encode(): {key.encode(): reason for key, reason in keys.items()} for word, keys in REQUIRED.items()}
_ENUM = {key.encode(): frozenset(value.encode() for value in values) for key, values in ENUMS.items()}
_OPS = frozenset(op.encode() for op in FILE_OPS)
_LETTER = {word.encode(): letter.encode() for word, letter in ID_LETTER.items()}
_ID = {letter: re.compile(letter + rb"[0-9]+") for letter in _LETTER.values()}
_CHECKPOINT = {
    b"BASE": (b"BASE ", Reason.BAD_BASE, Reason.MISSING_BASE),
    b"APPLY": (b"APPLY -> ", Reason.BAD_APPLY, Reason.MISSING_APPLY),
}
"""Keys of a patch: how such a line begins, and the reasons for one of another form, and for none."""
CODE = {reason: code for code, reason in enumerate(REASONS)}
ABSENT: Span = (-1, -1)


class Line(NamedTuple):
    """One line: ``data[start:stop]`` is its text, ``next`` the offset after its LF."""

    start: int
    stop: int
    next: int
    text: bytes


class Field(NamedTuple):
    """One field of a block: its key, the offset of its line, its value, and whether that is a heredoc."""

    key: bytes
    line: int
    value: Any
    heredoc: bool


class ScanFault(Exception):
    """A fault, and the offset at which the rest of the message goes on (behind_opening: the heredoc never closes)."""

    def __init__(self, reason: Reason, offset: int, resume: int, run: int = 0) -> None:
        self.reason = reason
        self.offset = offset
        self.resume = resume
        self.run = run


class Cursor:
    """Lines and heredocs of ``data[start:end]``; ``final`` says that nothing follows."""

    def __init__(self, data: bytes, end: int, final: bool = True) -> None:
        self.data = data
        self.end = end
        self.final = final
        self.closings: dict[int, list[int]] | None = None

    def ends(self, line: Line) -> bool:
        """True if a line (outside a heredoc) ends the record before it."""
        return is_delimiter(line.text)

    def line(self, place: int) -> Line | None:
        """The line at ``place``, or None at the end."""
        data = self.data
        newline = data.find(b"\n", place, self.end)
        if newline < 0:
            if not self.final:
                raise NeedMore
            if place >= self.end:
                return None
            return Line(place, self.end, self.end, data[place : self.end])
        stop = newline - 1 if newline > place and data[newline - 1] == 13 else newline
        return Line(place, stop, newline + 1, data[place:stop])

    def closing(self, place: int, run: int, bound: int) -> Line | None:
        """The first line from ``place`` on that is exactly ``run`` times ``>`` and ends by ``bound``."""
        if self.closings is None:
            found = self.closing_before(place, run, bound)
            if found is None:
                self._index(place)  # a failed search costs the whole rest: never pay it twice
            return found
        starts = self.closings.get(run, [])
        at = bisect_left(starts, place)
        if at == len(starts):
            return None
        return self._closing_at(starts[at], run, bound)

    def closing_before(self, place: int, run: int, bound: int) -> Line | None:
        """The same without the index."""
        data, needle = self.data, b">" * run
        bound = min(bound, self.end)
        from_here = place
        while True:
            hit = data.find(needle, from_here, bound)
            if hit < 0:
                return None
            if hit == place or data[hit - 1] == 10:
                found = self._closing_at(hit, run, bound)
                if found is not None:
                    return found
            newline = data.find(b"\n", hit, bound)
            if newline < 0:
                return None
            from_here = newline + 1

    def _closing_at(self, start: int, run: int, bound: int) -> Line | None:
        data, stop = self.data, start + run
        if stop == self.end and self.final:
            behind = stop
        elif data[stop : stop + 1] == b"\n":
            behind = stop + 1
        elif data[stop : stop + 2] == b"\r\n":
            behind = stop + 2
        else:
            return None
        if behind > min(bound, self.end):
            return None
        return Line(start, stop, behind, data[start:stop])

    def _index(self, place: int) -> None:
        self.closings = {}
        for match in _CLOSING_RUN.finditer(self.data, place):
            self.closings.setdefault(len(match[1]), []).append(match.start())


def is_delimiter(text: bytes) -> bool:
    """True if a line (outside a heredoc) ends the record before it: CSP/1, a template, a fence, a would-be CSP/1."""
    first = text[:1]
    if first not in b"Cc \t\xef`~" or not first:
        return False
    return LOOKS_LIKE_MAGIC.match(text) is not None or is_fence(text)


def is_blank(text: bytes) -> bool:
    """True if a line holds nothing but spaces and tabs."""
    return not text or BLANK.fullmatch(text) is not None


def is_look_alike(cursor: Cursor, first: Line, kind: int = EXACT) -> bool:
    """True if the record whose first line this is, is the Compact Symbol Protocol (reading 9)."""
    return classify_magic_line(cursor.data, first.start, cursor.end, cursor.final, kind) == LOOK_ALIKE


# --- messages -------------------------------------------------------------------------------------------------------


class MessageReader:
    """Reads one message; raises ScanFault at the first thing that is wrong.

    Lenient reading is a subclass: it mends lines before they are read, and goes on behind what is wrong with them. A
    value is what ``cut`` and ``content`` make of a part of a line and of the data: here the span.
    """

    def __init__(self, cursor: Cursor, first: Line, limits: tuple[int, int, int]) -> None:
        self.cursor = cursor
        self.first = first
        self.place = first.next  # the start of the line that is read next
        self.bound = first.start + limits[0]
        self.max_fields = limits[1]
        self.max_key = limits[2]
        self.header: dict[bytes, Any] = {}
        self.word = b""  # of the block
        self.id: Any = ABSENT
        self.op: Any = ABSENT
        self.fields: list[Field] = []
        self.seen: set[bytes] = set()  # their keys
        self.checkpoints: dict[bytes, Any] = {}  # BASE and APPLY of a patch
        self.ops: list[tuple[bytes, Any, Any]] = []  # of a patch: sign, name, value (None for none)

    # --- what lenient reading does otherwise ---

    def blame(self, reason: Reason, offset: int) -> None:
        """Tells a fault at a line. What stands in front of ``place`` is the message's own, whatever is wrong."""
        if reason in _HEADERLESS and is_look_alike(self.cursor, self.first):
            reason, offset = Reason.LOOK_ALIKE, self.first.start
        raise ScanFault(reason, offset, self.place)

    def cut(self, line: Line, start: int, stop: int) -> Any:
        """The value that is ``line.text[start:stop]``."""
        return line.start + start, stop - start

    def content(self, start: int, stop: int) -> Any:
        """The value that is ``data[start:stop]``."""
        return start, stop - start

    def is_header_value(self, value: bytes) -> bool:
        """True if a value may stand in the header."""
        return TOKEN.fullmatch(value) is not None

    def odd_header(self, line: Line, word: bytes, value: bytes, reason: Reason) -> bool:
        """Takes a line that is none of the header. False where the header ends in front of it."""
        self.blame(reason, line.start)
        return False

    def odd_intent(self, intent: bytes) -> bytes:
        """The intent of one that is none."""
        self.blame(Reason.BAD_INTENT, self.first.start)
        return intent

    def parts(self, line: Line) -> bool:
        """True if a line parts the header and the block as a blank one does."""
        return False

    def block_line(self, line: Line) -> Line:
        """The first line of a block as it is read."""
        return line

    def odd_block(self, line: Line, word: bytes, intent: bytes) -> bool:
        """Takes the first line of a block that does not match the intent. True if the block is read."""
        self.blame(Reason.BLOCK_MISMATCH, line.start)
        return False

    def odd_word(self, value: bytes, reason: Reason, line: Line, words: Collection[bytes]) -> Any:
        """The value of an id (words: its letter, or none) or of one of these words that has not the form."""
        self.blame(reason, line.start)

    def field_line(self, keys: Collection[bytes] | None) -> Line | None:
        """The next line of a block with these keys, or any."""
        return self.line()

    def patch_line(self) -> Line | None:
        """The next line of a patch."""
        return self.line()

    def odd_line(self, line: Line, reason: Reason) -> None:
        """Takes a line of a block that is none of its own."""
        self.blame(reason, line.start)

    def odd_change(self, line: Line, reason: Reason) -> None:
        """Takes a line of a patch that is no operation."""
        self.odd_line(line, reason)

    # --- the grammar ---

    def within(self, line: Line) -> None:
        """Raises for a line of the message that ends after the limit."""
        if line.next > self.bound:
            raise ScanFault(Reason.MESSAGE_TOO_LARGE, self.first.start, max(line.start, self.first.next), run=-1)

    def line(self) -> Line | None:
        """The next line, unless it ends the header or the block."""
        line = self.cursor.line(self.place)
        if line is None or is_blank(line.text) or self.cursor.ends(line):
            return None
        self.within(line)
        return line

    def read(self) -> int:
        """Reads the message; returns the offset after its block."""
        self.block(self.read_header())
        return self.place

    def read_header(self) -> bytes:
        """Reads up to the first blank line, a delimiter or the end; returns the intent."""
        found, start = self.header, self.first.start
        while (line := self.line()) is not None:
            word, space, value = line.text.partition(b" ")
            if word in _HEADER and word not in found and self.is_header_value(value):
                found[word] = self.cut(line, len(word) + len(space), len(line.text))
                self.place = line.next
                continue
            reason = Reason.BAD_HEADER_LINE
            if word in _HEADER:
                reason = Reason.DUP_HEADER if word in found else Reason.BAD_HEADER_VALUE
            if not self.odd_header(line, word, value, reason):
                break
        for key, reason in _HEADER.items():
            if key not in found:
                self.blame(reason, start)
        if len(found) == len(_HEADER) and list(found) != list(_HEADER):
            self.blame(Reason.HEADER_ORDER, start)
        intent = self.bytes_of(found.get(b"INTENT", ABSENT))
        if intent == INTENT_ALIAS.encode():
            self.blame(Reason.INTENT_ALIAS, start)
        elif intent.startswith(b"<") and intent.endswith(b">"):  # a place to fill in, as in a description
            raise ScanFault(Reason.LOOK_ALIKE, start, self.place)
        elif intent not in _INTENT and b"INTENT" in found:
            return self.odd_intent(intent)
        return intent

    def bytes_of(self, value: Any) -> bytes:
        """The bytes of a value; none where it is absent."""
        return value.encode() if isinstance(value, str) else self.cursor.data[value[0] : value[0] + max(value[1], 0)]

    def block(self, intent: bytes) -> None:
        while (line := self.cursor.line(self.place)) is not None and not self.cursor.ends(line):
            self.within(line)
            if not (is_blank(line.text) or self.parts(line)):
                break
            self.place = line.next
        if line is None or self.cursor.ends(line):
            self.blame(Reason.NO_BODY, self.first.start)
            return
        line = self.block_line(line)
        word, space, rest = line.text.partition(b" ")
        if (word != _WORD.get(intent, intent) or word not in _WORDS) and not self.odd_block(line, word, intent):
            return
        name, gap, op = rest.partition(b" ") if word == b"FILEOP" else (rest, b"", b"")
        start = len(word) + len(space)
        letter = _LETTER.get(word, b"")
        self.word = word
        if (_ID[letter] if letter else TOKEN).fullmatch(name):
            self.id = self.cut(line, start, start + len(name))
        else:
            self.id = self.odd_word(name, Reason.BAD_ID, line, (letter,) if letter else ())
        if word == b"FILEOP":
            if OP_WORD.fullmatch(op):
                self.op = self.cut(line, start + len(name) + len(gap), len(line.text))
            else:
                self.op = self.odd_word(op, Reason.BAD_OP if op else Reason.MISSING_OP, line, _OPS)
        self.place = line.next
        (self.patch if word == b"PATCH" else self.read_fields)(line)

    def read_fields(self, first: Line) -> None:
        keys = _FIELDS.get(self.word)
        while (line := self.field_line(keys)) is not None:
            match = KEY.match(line.text)
            key = b"" if match is None else match[0]
            if match is None or (keys is not None and key not in keys):
                self.odd_line(line, Reason.STRAY_LINE if match is None else Reason.UNKNOWN_KEY)
                continue
            if keys is None and len(key) > self.max_key:
                self.blame(Reason.KEY_TOO_LONG, line.start)
            elif keys is None and len(self.fields) >= self.max_fields:
                self.blame(Reason.TOO_MANY_FIELDS, line.start)
            elif keys is not None and key in self.seen:
                self.blame(Reason.DUP_FIELD, line.start)
            self.seen.add(key)
            value, heredoc = self.value(line, key)
            if key == b"CONTENT" and keys is not None and not heredoc:
                self.blame(Reason.HEREDOC_EXPECTED, line.start)
            if keys is not None and key in _ENUM and self.bytes_of(value) not in _ENUM[key]:
                value = self.odd_word(self.bytes_of(value), Reason.BAD_ENUM, line, _ENUM[key])
            self.fields.append(Field(key, line.start, value, heredoc))
        for key, reason in _REQUIRED.get(self.word, {}).items():
            if key not in self.seen:
                self.blame(reason, first.start)

    def value(self, line: Line, key: bytes) -> tuple[Any, bool]:
        """The value of a field, and whether it is a heredoc."""
        self.place = line.next
        following = self.cursor.line(line.next) if len(line.text) == len(key) else None
        opening = None if following is None else OPENING.fullmatch(following.text)
        if following is None or opening is None:
            return self.cut(line, min(len(key) + 1, len(line.text)), len(line.text)), False
        self.within(following)
        run = len(opening[1])
        closing = heredoc_closing(self.cursor, following, run, self.bound, self.first.start)
        if isinstance(closing, Reason):
            at = following.start if closing is Reason.UNCLOSED_HEREDOC else self.first.start
            raise ScanFault(closing, at, following.next, run)
        self.place = closing.next
        chomped = bool(opening[2]) and closing.start > following.next
        return self.content(following.next, closing.start - chomped), True

    def patch(self, first: Line) -> None:
        while (line := self.patch_line()) is not None:
            match = KEY.match(line.text)
            word = b"" if match is None else match[0]
            if word not in _CHECKPOINT:
                self.change(line)
                continue
            if word in self.checkpoints:
                self.odd_line(line, Reason.DUP_FIELD)
                continue
            if word == b"BASE" and (self.ops or self.checkpoints):
                self.blame(Reason.STRAY_LINE, line.start)
            prefix, bad, _ = _CHECKPOINT[word]
            if not line.text.startswith(prefix) or not CHECKPOINT.fullmatch(line.text, len(prefix)):
                self.blame(bad, line.start)
            self.checkpoints[word] = self.cut(line, len(prefix), len(line.text))
            self.place = line.next
        for word, (_, _, missing) in _CHECKPOINT.items():
            if word not in self.checkpoints:
                self.blame(missing, first.start)

    def change(self, line: Line) -> None:
        """One operation of a patch: ``+ DEF N = v``, ``~ DEF N := v`` or ``- DEF N``."""
        span = change_span(line.text)
        if b"APPLY" in self.checkpoints or not CHANGE_LIKE.match(line.text):
            span = Reason.STRAY_LINE
        if isinstance(span, Reason):
            self.odd_change(line, span)
            return
        start, size, at, length = span
        value = self.cut(line, at, at + length) if length >= 0 else None
        self.ops.append((line.text[:1], self.cut(line, start, start + size), value))
        self.place = line.next

    def row(self) -> tuple[int, list[Span], Table]:
        """The code, the spans and the extras of the message."""
        spans = [*(self.header[key] for key in (b"FROM", b"TO", b"CTX")), self.id, *(ABSENT,) * 5]
        extras: Table = []
        keys = _FIELDS.get(self.word)
        if keys is not None:
            spans[7] = self.op
            for field in self.fields:
                spans[4 + keys[field.key]] = field.value
        elif self.word == b"PATCH":
            spans[4], spans[5] = self.checkpoints[b"BASE"], self.checkpoints[b"APPLY"]
            extras = [(sign[0], *name, *(ABSENT if value is None else value)) for sign, name, value in self.ops]
        else:
            extras = [(0, field.line, len(field.key), *field.value) for field in self.fields]
        return _INTENT[self.bytes_of(self.header[b"INTENT"])], spans, extras


_ASSIGN = {b"+": b"=", b"~": b":="}


def change_span(text: bytes) -> tuple[int, int, int, int] | Reason:
    """(name start, name length, value start, value length or -1) of an operation, or what is wrong with it."""
    match = CHANGE.fullmatch(text)
    if match is None:
        return Reason.BAD_OP
    sign, rest = match[1], match[3]
    word = b"" if rest is None else rest.split(b" ", 1)[0]
    wanted = _ASSIGN.get(sign, b"")
    if word != wanted or (rest == b"" and sign != b"-"):
        return Reason.OP_MISMATCH if rest is None or word in (b"=", b":=") else Reason.BAD_OP
    start, stop = match.span(2)
    if sign == b"-":
        return (start, stop - start, -1, -1) if rest is None else Reason.BAD_OP
    value = min(match.start(3) + len(word) + 1, len(text))
    return start, stop - start, value, len(text) - value


def heredoc_closing(cursor: Cursor, opening: Line, run: int, bound: int, start: int) -> Line | Reason:
    """The closing line of a heredoc in the message that began at ``start``, or why there is none."""
    closing = cursor.closing(opening.next, run, bound)
    if closing is not None:
        return closing
    if bound < cursor.end:
        return Reason.MESSAGE_TOO_LARGE
    if not cursor.final:
        raise NeedMore
    return Reason.UNCLOSED_HEREDOC


# --- the stream of records --------------------------------------------------------------------------------------------


class Stream:
    """Cuts a buffer into rows and rejects.

    tail: a message came before, behind which trailing text may stand; run: the length of the heredoc that never closes,
    -1 for several.
    """

    def __init__(self, cursor: Cursor, place: int, limits: tuple[int, int, int]) -> None:
        self.cursor = cursor
        self.place = place
        self.limits = limits
        self.tail = False
        self.run = 0
        self.rows: Table = []
        self.extras: Table = []
        self.rejects: Table = []
        self.lines = 0  # newlines before self.place
        self.counted = place

    def line_of(self, offset: int) -> int:
        """0-based line of an offset at or after the last one asked for."""
        self.lines += self.cursor.data.count(b"\n", self.counted, offset)
        self.counted = offset
        return self.lines

    def step(self) -> None:
        """Reads one item."""
        run = self.run
        behind = self.item(self.place)
        if run > 0 and self.run == run and self.swallowed_end(self.place, behind, run):
            self.run = 0
        self.place = behind

    def swallowed_end(self, start: int, stop: int, run: int) -> bool:
        return (
            Cursor(self.cursor.data, stop, self.cursor.final and stop == self.cursor.end).closing_before(
                start, run, stop
            )
            is not None
        )

    def item(self, place: int) -> int:
        """One item at the start of a line; returns the offset after it."""
        line = self.cursor.line(place)
        assert line is not None
        text = line.text
        if is_blank(text):
            return line.next
        if text == MAGIC:
            return self.message(line)
        if is_delimiter(text):
            if is_fence(text):
                self.tail = False
                return self.row(line.start, line.next, FENCE)
            if TEMPLATE_HEAD.match(text):
                return self.template(line)
            return self.near(line)
        if is_preamble_line(text, laws=False):
            return self.preamble(line)
        if self.tail:
            return self.trailing(line)
        return self.reject(Reason.JUNK, line.start, line.next, line.start)

    def row(
        self, start: int, stop: int, code: int, spans: list[Span] | None = None, extras: Table | None = None
    ) -> int:
        """Adds a row and its extras; returns ``stop``."""
        flat = [part for span in spans or [ABSENT] * 9 for part in span]
        if self.run:
            code |= INSIDE_UNCLOSED
        line = self.line_of(start)
        extras = extras or []
        self.rows.append((start, stop - start, line, code, *flat, len(self.extras), len(extras)))
        self.extras.extend(extras)
        return stop

    def reject(self, reason: Reason, start: int, stop: int, fault: int) -> int:
        """Adds a reject; returns ``stop``. ``fault`` lies at or after ``start``."""
        line = self.line_of(start)
        fault_line = line + self.cursor.data.count(b"\n", start, fault)
        self.rejects.append((start, stop - start, line, CODE[reason], fault, fault_line))
        return stop

    def message(self, first: Line) -> int:
        message = MessageReader(self.cursor, first, self.limits)
        try:
            stop = message.read()
        except ScanFault as fault:
            return self.failed(first, fault)
        self.tail = True
        bad = bad_utf8(self.cursor.data, first.start, stop)
        if bad >= 0:
            return self.reject(Reason.BAD_UTF8, first.start, stop, bad)
        return self.row(first.start, stop, *message.row())

    def failed(self, first: Line, fault: ScanFault) -> int:
        """A message with a fault."""
        return self.recover(first.start, fault)

    def near(self, first: Line) -> int:
        """Rejects what begins with a line that only nearly says CSP/1."""
        alike = has_title(first.text) or is_look_alike(self.cursor, first, NEAR)
        return self.recover(
            first.start, ScanFault(Reason.LOOK_ALIKE if alike else Reason.BAD_MAGIC, first.start, first.next)
        )

    def recover(self, start: int, fault: ScanFault) -> int:
        """Rejects a message from its first line to its end, which is found with respect for heredocs."""
        self.tail = True
        if fault.run:
            if fault.run > 0:
                self.unclosed(fault.run)
            return self.reject(fault.reason, start, fault.resume, fault.offset)
        return self.reject(fault.reason, start, self.end_of(start, fault.resume), fault.offset)

    def end_of(self, start: int, place: int) -> int:
        bound = start + self.limits[0]
        while True:
            line = self.cursor.line(place)
            if line is None or (line.next > bound and place > start):
                return place
            if self.cursor.ends(line) and place > start:
                return place
            opening = OPENING.fullmatch(line.text)
            place = line.next
            if opening:
                closing = heredoc_closing(self.cursor, line, len(opening[1]), bound, start)
                if isinstance(closing, Reason):
                    self.unclosed(len(opening[1]))
                    return place
                place = closing.next

    def unclosed(self, run: int) -> None:
        self.run = run if self.run in (0, run) else -1

    def trailing(self, line: Line) -> int:
        opening = OPENING.fullmatch(line.text)
        stop = line.next
        if opening:
            run = len(opening[1])
            closing = heredoc_closing(self.cursor, line, run, line.start + self.limits[0], line.start)
            if isinstance(closing, Reason):
                self.unclosed(run)
            else:
                stop = closing.next
        return self.reject(Reason.TRAILING_TEXT, line.start, stop, line.start)

    def template(self, first: Line) -> int:
        self.tail = False
        head = TEMPLATE_HEAD.match(first.text)
        assert head is not None
        stop = first.next
        while True:
            line = self.cursor.line(stop)
            if line is None or is_blank(line.text) or self.cursor.ends(line):
                break
            stop = line.next
        if is_look_alike(self.cursor, first, TEMPLATE_LINE):
            return self.reject(Reason.LOOK_ALIKE, first.start, stop, first.start)
        bad = bad_utf8(self.cursor.data, first.start, stop)
        if bad >= 0:
            return self.reject(Reason.BAD_UTF8, first.start, stop, bad)
        spans = [ABSENT] * 9
        spans[4] = (first.start + head.end(), len(first.text) - head.end())
        return self.row(first.start, stop, TEMPLATE, spans)

    def preamble(self, first: Line) -> int:
        laws = first.text == b"LAWS"
        place = stop = first.next
        while True:
            line = self.cursor.line(place)
            if line is None:
                break
            place = line.next
            if is_blank(line.text):
                continue
            if is_delimiter(line.text) or not is_preamble_line(line.text, laws):
                break
            laws = line.text == b"LAWS" or (laws and line.text.startswith(b"- "))
            stop = place
        bad = bad_utf8(self.cursor.data, first.start, stop)
        if bad >= 0:
            return self.reject(Reason.BAD_UTF8, first.start, stop, bad)
        return self.row(first.start, stop, PREAMBLE)


def is_preamble_line(text: bytes, laws: bool) -> bool:
    """True if a line is ``DEF N = v``, ``LAWS`` or (below it, ``laws``) ``- Ln: text``."""
    if text == b"LAWS":
        return True
    return (DEF_LINE if text.startswith(b"DEF ") else LAW_LINE).fullmatch(text) is not None and (
        laws or text.startswith(b"DEF ")
    )


def bad_utf8(data: bytes, start: int, stop: int) -> int:
    """Offset of the first byte of ``data[start:stop]`` that is not UTF-8, or -1."""
    part = data[start:stop]
    if part.isascii():
        return -1
    try:
        part.decode()
    except UnicodeDecodeError as error:
        return start + error.start
    return -1


# --- tables of spans --------------------------------------------------------------------------------------------------


def tables(data: bytes, limits: tuple[int, int, int] = NO_LIMIT, wanted: str = "all") -> tuple[Table, Table, Table]:
    """(rows, extras, rejects) of a whole buffer.

    ``limits``: bytes of a message, fields of a generic block, bytes of a key. wanted: "all" rejects, "first": up to the
    first one, what is behind it is not read, "none" of them. Raises ValueError for 2 GiB or more, as spans are 32
    bits wide.
    """
    if len(data) >= 1 << 31:
        raise ValueError("a buffer of 2 GiB or more cannot be scanned at once: spans are 32 bits wide")
    stream = Stream(Cursor(data, len(data)), 0, limits)
    while stream.place < len(data) and not (wanted == "first" and stream.rejects):
        stream.step()
    if wanted == "none":
        return stream.rows, stream.extras, []
    if wanted == "first" and stream.rejects:
        del stream.rejects[1:]
        return [row for row in stream.rows if row[0] < stream.rejects[0][0]], stream.extras, stream.rejects
    return stream.rows, stream.extras, stream.rejects
