"""The scanner of CSP/1 in plain Python: the readable twin of ``_native/csp/scanner.pxi``.

    stream  = { blank | message | template | preamble | fence | junk }
    message = "CSP/1" FROM TO CTX INTENT 1*blank block            [MESSAGE FORMAT]

It copies nothing: it fills tables of spans (``turnwire.csp.spec`` gives their columns). What is not a valid message
becomes a reject, and the scan continues at the next line that can start a record; a line inside a heredoc never does.
"""

from __future__ import annotations

import re
from itertools import chain

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
    INSIDE_UNCLOSED,
    PREAMBLE,
    REASONS,
    REQUIRED,
    TEMPLATE,
)
from turnwire.errors import Reason
from turnwire.fences import is_fence

NO_LIMIT = (1 << 62, 1 << 62, 1 << 62)
TEMPLATE_HEAD = re.compile(rb"CSP/1(?: MODE)?;")
CODE = {reason: code for code, reason in enumerate(REASONS)}


class Stream:
    """Cuts a buffer into rows and rejects.

    tail: a message came before, after which trailing text may stand; run: the length of the heredoc that never closes,
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
        if run > 0 and self.run == run and self.cursor.closing(self.place, run, behind) is not None:
            self.run = 0  # what the heredoc would have swallowed ends here
        self.place = behind

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
        """Adds a row and its extras, or a reject if they are not UTF-8; returns ``stop``."""
        if code != FENCE and (bad := bad_utf8(self.cursor.data, start, stop)) >= 0:
            return self.reject(Reason.BAD_UTF8, start, stop, bad)
        flat = chain.from_iterable(spans or [ABSENT] * 9)
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
        cursor = self.cursor
        usual = usual_message(cursor, first.start, self.limits) if cursor.is_plain else None
        if usual is not None:
            self.tail = True
            return self.row(first.start, *usual)
        message = MessageReader(cursor, first, self.limits)
        try:
            stop = message.read()
        except ScanFault as fault:
            return self.failed(first, fault)
        self.tail = True
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
            if line is None or is_blank(line.text) or is_fence(line.text) or self.cursor.ends(line):
                break
            stop = line.next
        if is_look_alike(self.cursor, first, TEMPLATE_LINE):
            return self.reject(Reason.LOOK_ALIKE, first.start, stop, first.start)
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
        return self.row(first.start, stop, PREAMBLE)


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
    :func:`tables`. Raises NeedMore."""
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
