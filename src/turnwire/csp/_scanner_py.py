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
from collections.abc import Iterator
from typing import NamedTuple

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

_HEADER = {key.encode(): place for place, key in enumerate(HEADERS)}
_INTENT = {intent.encode(): code for code, intent in enumerate(INTENTS)}
_WORD = [BLOCK_WORD[intent].encode() for intent in INTENTS]
_FIELDS = {word.encode(): {key.encode(): slot for slot, key in enumerate(keys)} for word, keys in FIELDS.items()}
_REQUIRED = {
    word.encode(): [(FIELDS[word].index(key), reason) for key, reason in keys.items()]
    for word, keys in REQUIRED.items()
}
_ENUM = {key.encode(): frozenset(value.encode() for value in values) for key, values in ENUMS.items()}
_ID = {word.encode(): re.compile(letter.encode() + rb"[0-9]+") for word, letter in ID_LETTER.items()}
CODE = {reason: code for code, reason in enumerate(REASONS)}
ABSENT: Span = (-1, -1)


class Line(NamedTuple):
    """One line: ``data[start:stop]`` is its text, ``next`` the offset after its LF."""

    start: int
    stop: int
    next: int
    text: bytes


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


def is_form(intent: bytes) -> bool:
    """True if an INTENT is a place to fill in, ``<...>``, as in the document that describes the message."""
    return intent.startswith(b"<") and intent.endswith(b">")


def is_look_alike(cursor: Cursor, first: Line, kind: int = EXACT) -> bool:
    """True if the record whose first line this is, is the Compact Symbol Protocol (reading 9)."""
    return classify_magic_line(cursor.data, first.start, cursor.end, cursor.final, kind) == LOOK_ALIKE


# --- messages -------------------------------------------------------------------------------------------------------


class MessageReader:
    """Reads one message strictly; raises ScanFault at the first thing that is wrong."""

    def __init__(self, cursor: Cursor, first: Line, limits: tuple[int, int, int]) -> None:
        self.cursor = cursor
        self.first = first
        self.bound = first.start + limits[0]
        self.max_fields = limits[1]
        self.max_key = limits[2]
        self.spans: list[Span] = [ABSENT] * 9
        self.extras: Table = []
        self.intent = 0

    def within(self, line: Line) -> None:
        """Raises for a line of the message that ends after the limit."""
        if line.next > self.bound:
            raise ScanFault(Reason.MESSAGE_TOO_LARGE, self.first.start, max(line.start, self.first.next), run=-1)

    def read(self) -> int:
        """Reads the message; returns the offset after its block."""
        return self.block(self.header())

    def header(self) -> int:
        """The header; returns the offset after it: its first blank line, a delimiter or the end."""
        order: list[int] = []
        place = self.first.next
        intent = b""
        while True:
            line = self.cursor.line(place)
            if line is None or is_blank(line.text) or self.cursor.ends(line):
                break
            self.within(line)
            word, space, value = line.text.partition(b" ")
            header = _HEADER.get(word)
            if header is None:
                raise self.header_fault(Reason.BAD_HEADER_LINE, line.start, line.start)
            if header in order:
                raise ScanFault(Reason.DUP_HEADER, line.start, line.start)
            if not TOKEN.fullmatch(value):
                raise ScanFault(Reason.BAD_HEADER_VALUE, line.start, line.start)
            order.append(header)
            if header < 3:
                self.spans[header] = (line.start + len(word) + len(space), len(value))
            else:
                intent = value
            place = line.next
        start = self.first.start
        for header, reason in enumerate(MISSING_HEADER):
            if header not in order:
                raise self.header_fault(reason, start, place)
        if order != [0, 1, 2, 3]:
            raise ScanFault(Reason.HEADER_ORDER, start, place)
        if intent == INTENT_ALIAS.encode():
            raise ScanFault(Reason.INTENT_ALIAS, start, place)
        if intent not in _INTENT:
            raise ScanFault(Reason.LOOK_ALIKE if is_form(intent) else Reason.BAD_INTENT, start, place)
        self.intent = _INTENT[intent]
        return place

    def header_fault(self, reason: Reason, offset: int, resume: int) -> ScanFault:
        if is_look_alike(self.cursor, self.first):
            return ScanFault(Reason.LOOK_ALIKE, self.first.start, resume)
        return ScanFault(reason, offset, resume)

    def block(self, place: int) -> int:
        while True:
            line = self.cursor.line(place)
            if line is None or self.cursor.ends(line):
                raise ScanFault(Reason.NO_BODY, self.first.start, place)
            self.within(line)
            if not is_blank(line.text):
                break
            place = line.next
        word, space, rest = line.text.partition(b" ")
        if word != _WORD[self.intent]:
            raise ScanFault(Reason.BLOCK_MISMATCH, line.start, line.start)
        self.block_id(word, line, line.start + len(word) + len(space), rest)
        if word == b"PATCH":
            return self.patch(line)
        keys = _FIELDS.get(word)
        return self.generic(line) if keys is None else self.known(line, word, keys)

    def block_id(self, word: bytes, line: Line, start: int, rest: bytes) -> None:
        name, space, op = (rest, b"", b"") if word != b"FILEOP" else rest.partition(b" ")
        if not _ID.get(word, TOKEN).fullmatch(name):
            raise ScanFault(Reason.BAD_ID, line.start, line.start)
        self.spans[3] = (start, len(name))
        if word == b"FILEOP":
            if not op:
                raise ScanFault(Reason.MISSING_OP, line.start, line.start)
            if not OP_WORD.fullmatch(op):
                raise ScanFault(Reason.BAD_OP, line.start, line.start)
            self.spans[7] = (start + len(name) + len(space), len(op))

    def lines(self, place: int) -> Iterator[Line]:
        """The lines of the block from ``place`` on. The consumer moves ``self.place`` after what it took."""
        self.place = place
        while True:
            line = self.cursor.line(self.place)
            if line is None or is_blank(line.text) or self.cursor.ends(line):
                return
            self.within(line)
            self.place = line.next
            yield line

    def value(self, line: Line, key: bytes) -> tuple[Span, bool]:
        """The value of a field, and whether it is a heredoc."""
        if len(line.text) > len(key):
            return (line.start + len(key) + 1, len(line.text) - len(key) - 1), False
        following = self.cursor.line(line.next)
        opening = None if following is None else OPENING.fullmatch(following.text)
        if following is None or opening is None:
            return (line.stop, 0), False
        self.within(following)
        run = len(opening[1])
        closing = heredoc_closing(self.cursor, following, run, self.bound, self.first.start)
        if isinstance(closing, Reason):
            at = following.start if closing is Reason.UNCLOSED_HEREDOC else self.first.start
            raise ScanFault(closing, at, following.next, run)
        self.place = closing.next
        length = closing.start - following.next
        return (following.next, length - 1 if opening[2] and length else length), True

    def known(self, first: Line, word: bytes, keys: dict[bytes, int]) -> int:
        spans = self.spans
        for line in self.lines(first.next):
            match = KEY.match(line.text)
            if match is None:
                raise ScanFault(Reason.STRAY_LINE, line.start, line.start)
            key = match[0]
            slot = keys.get(key)
            if slot is None:
                raise ScanFault(Reason.UNKNOWN_KEY, line.start, line.start)
            if spans[4 + slot] != ABSENT:
                raise ScanFault(Reason.DUP_FIELD, line.start, line.start)
            (start, length), heredoc = self.value(line, key)
            if key == b"CONTENT" and not heredoc:
                raise ScanFault(Reason.HEREDOC_EXPECTED, line.start, line.next)
            if key in _ENUM and self.cursor.data[start : start + length] not in _ENUM[key]:
                raise ScanFault(Reason.BAD_ENUM, line.start, self.place)
            spans[4 + slot] = (start, length)
        for slot, reason in _REQUIRED[word]:
            if spans[4 + slot] == ABSENT:
                raise ScanFault(reason, first.start, self.place)
        return self.place

    def generic(self, first: Line) -> int:
        for line in self.lines(first.next):
            match = KEY.match(line.text)
            if match is None:
                raise ScanFault(Reason.STRAY_LINE, line.start, line.start)
            if len(match[0]) > self.max_key:
                raise ScanFault(Reason.KEY_TOO_LONG, line.start, line.start)
            if len(self.extras) >= self.max_fields:
                raise ScanFault(Reason.TOO_MANY_FIELDS, line.start, line.start)
            span, _ = self.value(line, match[0])
            self.extras.append((0, line.start, len(match[0]), *span))
        return self.place

    def patch(self, first: Line) -> int:
        base = apply = ABSENT
        for line in self.lines(first.next):
            key = KEY.match(line.text)
            word = key[0] if key else b""
            if word == b"BASE" or word == b"APPLY":
                if (base if word == b"BASE" else apply) != ABSENT:
                    raise ScanFault(Reason.DUP_FIELD, line.start, line.start)
                if word == b"BASE" and (self.extras or apply != ABSENT):
                    raise ScanFault(Reason.STRAY_LINE, line.start, line.start)
                prefix = b"BASE " if word == b"BASE" else b"APPLY -> "
                if not line.text.startswith(prefix) or not CHECKPOINT.fullmatch(line.text, len(prefix)):
                    reason = Reason.BAD_BASE if word == b"BASE" else Reason.BAD_APPLY
                    raise ScanFault(reason, line.start, line.start)
                span = (line.start + len(prefix), len(line.text) - len(prefix))
                if word == b"BASE":
                    base = span
                else:
                    apply = span
            elif apply != ABSENT or not CHANGE_LIKE.match(line.text):
                raise ScanFault(Reason.STRAY_LINE, line.start, line.start)
            else:
                self.extras.append(self.change(line))
        self.spans[4], self.spans[5] = base, apply
        if base == ABSENT or apply == ABSENT:
            reason = Reason.MISSING_BASE if base == ABSENT else Reason.MISSING_APPLY
            raise ScanFault(reason, first.start, self.place)
        return self.place

    def change(self, line: Line) -> tuple[int, ...]:
        """One operation of a patch: ``+ DEF N = v``, ``~ DEF N := v`` or ``- DEF N``."""
        span = change_span(line.text)
        if isinstance(span, Reason):
            raise ScanFault(span, line.start, line.start)
        name_start, name_length, start, length = span
        return line.text[0], line.start + name_start, name_length, (line.start + start if length >= 0 else -1), length


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
        return self.row(first.start, stop, message.intent, message.spans, message.extras)

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
