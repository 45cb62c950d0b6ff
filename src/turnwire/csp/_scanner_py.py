"""A text of CSP/1 as a stream of records, and messages as they are mostly written.

    stream  = { blank | message | template | preamble | fence | junk }
    message = "CSP/1" FROM TO CTX INTENT 1*blank block            [MESSAGE FORMAT]

It copies nothing: records are places and spans. What is not a valid message becomes a reject, and the stream continues
at the next line that can start a record; a line inside a heredoc never does.
"""

from __future__ import annotations

import re

from turnwire.csp._lines_py import (
    ABSENT,
    MAGIC,
    NEAR,
    OPENING,
    TEMPLATE as TEMPLATE_LINE,
    Cursor,
    Line,
    ScanFault,
    Span,
    Table,
    has_title,
    heredoc_closing,
    is_blank,
    is_delimiter,
    is_look_alike,
    is_preamble_line,
)
from turnwire.csp.reader import OP_WORD, MessageReader, change_span
from turnwire.csp.spec import (
    BLOCK_WORD,
    ENUMS,
    FENCE,
    FIELDS,
    HEADERS,
    ID_LETTER,
    PREAMBLE,
    REQUIRED,
    TEMPLATE,
)
from turnwire.errors import Reason
from turnwire.fences import is_fence

TEMPLATE_HEAD = re.compile(rb"CSP/1(?: MODE)?;")


class Stream:
    """Cuts a text into records and rejects, which a class below takes.

    limits: bytes of a message, fields of a generic block, bytes of a key; tail: a message came before, after which
    trailing text may stand.
    """

    def __init__(self, cursor: Cursor, place: int, limits: tuple[int, int, int]) -> None:
        self.cursor = cursor
        self.place = place
        self.limits = limits
        self.tail = False

    # --- what a class below does with it ---

    def found(self, start: int, stop: int, code: int, spans: list[Span], extras: Table) -> None:
        """Takes a record: its code, its spans and its extras, as ``spec`` describes a row."""
        raise NotImplementedError

    def reject(self, reason: Reason, start: int, stop: int, fault: int) -> int:
        """Takes what is no record; returns ``stop``. ``fault`` lies at or after ``start``."""
        raise NotImplementedError

    def unclosed(self, run: int) -> None:
        """Takes notice of a heredoc of this run that never closes."""

    # --- the items ---

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
                self.cursor.fence = self.cursor.behind_fence(text)
                return self.record(line.start, line.next, FENCE)
            if TEMPLATE_HEAD.match(text):
                return self.template(line)
            return self.near(line)
        if is_preamble_line(text, laws=False):
            return self.preamble(line)
        if self.tail:
            return self.trailing(line)
        return self.reject(Reason.LOOK_ALIKE if has_title(text) else Reason.JUNK, line.start, line.next, line.start)

    def record(
        self, start: int, stop: int, code: int, spans: list[Span] | None = None, extras: Table | None = None
    ) -> int:
        """Adds a record, or a reject if it is not UTF-8; returns ``stop``."""
        if code != FENCE and (bad := bad_utf8(self.cursor.data, start, stop)) >= 0:
            return self.reject(Reason.BAD_UTF8, start, stop, bad)
        self.found(start, stop, code, spans or [ABSENT] * 9, extras or [])
        return stop

    def message(self, first: Line) -> int:
        """The message that begins with a line."""
        message = MessageReader(self.cursor, first, self.limits)
        try:
            stop = message.read()
        except ScanFault as fault:
            return self.failed(first, fault)
        self.tail = True
        return self.record(first.start, stop, *message.row())

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
            if is_delimiter(line.text) and place > start:
                return place
            opening = OPENING.fullmatch(line.text)
            place = line.next
            if opening:
                closing = heredoc_closing(self.cursor, line, len(opening[1]), bound, start)
                if isinstance(closing, Reason):
                    self.unclosed(len(opening[1]))
                    return place
                place = closing.next

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
            if line is None or is_blank(line.text) or is_fence(line.text) or self.cursor.ends(line):
                break
            stop = line.next
        if is_look_alike(self.cursor, first, TEMPLATE_LINE):
            return self.reject(Reason.LOOK_ALIKE, first.start, stop, first.start)
        spans = [ABSENT] * 9
        spans[4] = (first.start + head.end(), len(first.text) - head.end())
        return self.record(first.start, stop, TEMPLATE, spans)

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
        return self.record(first.start, stop, PREAMBLE)


# --- messages as they are mostly written ------------------------------------------------------------------------------
#
# One expression reads the header and one the block, with its keys in the order of their table, each value in one line,
# and a heredoc of three signs for what a file holds, whose end is looked up. Whatever is not just so is read line by
# line.

_TOKEN = rb"[^\x00-\x20\x7f]+"
_VALUE = rb"[^\r\n]++"
_HEAD = re.compile(
    rb"CSP/1\n" + b"".join(rb"%b (%b)\n" % (key.encode(), _TOKEN) for key in HEADERS[:-1]) + rb"INTENT ([A-Z]+)\n\n"
)
_ANY_FIELD = re.compile(rb"(?!CSP)([A-Z][A-Z0-9_]*) (%b)\n" % _VALUE)
_END = rb"(?=\n|CSP/1\n|\Z)"
_IS_END = re.compile(_END).match


def _field(word: str, key: str) -> bytes:
    value = b"|".join(one.encode() for one in ENUMS.get(key, ())) or _VALUE
    form = rb"%b (%b)\n" % (key.encode(), value)
    return form if key in REQUIRED[word] else rb"(?:%b)?" % form


def _block(word: str) -> re.Pattern[bytes]:
    letter = ID_LETTER.get(word)
    first = rb"%b (%b)" % (word.encode(), _TOKEN if letter is None else letter.encode() + rb"[0-9]+")
    if word in FIELDS:
        rest = b"".join(_field(word, key) for key in FIELDS[word] if key != "CONTENT")
        first += rb" (%b)" % OP_WORD.pattern if word == "FILEOP" else b""
    elif word == "PATCH":
        rest = rb"BASE (C[0-9]+)\n((?:[+~-] DEF %b\n)*+)APPLY -> (C[0-9]+)\n" % _VALUE
    else:
        rest = rb"((?:%b)*+)" % re.sub(rb"\((?!\?)", b"(?:", _ANY_FIELD.pattern)
    return re.compile(first + rb"\n" + rest + (rb"(?:CONTENT\n<<<(\n)|%b)" % _END if word == "FILEOP" else _END))


_BLOCKS = {intent.encode(): (code, word, _block(word)) for code, (intent, word) in enumerate(BLOCK_WORD.items())}


def usual_message(
    cursor: Cursor, start: int, limits: tuple[int, int, int]
) -> tuple[int, int, list[Span], Table] | None:
    """The end of a message of the usual form, its code, its spans and its extras; None for any other. limits: as of
    :class:`Stream`. Raises NeedMore."""
    data, end = cursor.data, min(cursor.end, start + limits[0])
    head = _HEAD.match(data, start, end)
    code, word, pattern = _BLOCKS.get(head[4], (0, "", None)) if head else (0, "", None)
    block = None if head is None or pattern is None else pattern.match(data, head.end(), end)
    if head is None or block is None:
        return None
    stop = block.end()
    spans = [(at, stop - at) if at >= 0 else ABSENT for at, stop in (*head.regs[1:4], *block.regs[1:])]
    extras: Table = []
    if word == "PATCH":
        at, size = spans.pop(5)
        for line in data[at : at + size].splitlines(keepends=True):
            change = change_span(line[:-1])
            if isinstance(change, Reason):
                return None
            name, length, value, rest = change
            extras.append((line[0], at + name, length, *((at + value, rest) if rest >= 0 else ABSENT)))
            at += len(line)
    elif word == "FILEOP":
        operation, (opened, _) = spans.pop(4), spans.pop()
        closed = cursor.closing(stop, 3, end) if opened >= 0 else None
        if opened >= 0 and (closed is None or closed.next != closed.stop + 1 or not _IS_END(data, closed.next, end)):
            return None
        spans += [ABSENT if closed is None else (stop, closed.start - stop), operation]
        stop = stop if closed is None else closed.next
    elif word not in FIELDS:
        at, size = spans.pop()
        fields = [*_ANY_FIELD.finditer(data, at, at + size)]
        if len(fields) > limits[1] or any(len(field[1]) > limits[2] for field in fields):
            return None
        extras = [(0, one.start(), len(one[1]), one.start(2), len(one[2])) for one in fields]
    if stop == end and not (cursor.final and end == cursor.end):
        return None
    return stop, code, spans + [ABSENT] * (9 - len(spans)), extras


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
