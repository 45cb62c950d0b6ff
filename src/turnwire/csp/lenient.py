"""Lenient reading of CSP/1: the same grammar, but a fault becomes an issue and what cannot be used becomes Junk.

Records are cut as strictly as ever: a line inside a heredoc never starts a message, and a heredoc that never closes
rejects its message (readings 2 and 4).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from itertools import takewhile
from typing import Any

from turnwire.contract import Limits
from turnwire.csp._marks_py import EXACT, NEAR, has_title
from turnwire.csp._objects_py import Spans
from turnwire.csp._scanner_py import (
    CHECKPOINT,
    KEY,
    MAGIC,
    OPENING,
    TOKEN,
    Cursor,
    Line,
    MessageReader,
    ScanFault,
    Stream,
    Table,
    is_blank,
    is_delimiter,
    is_look_alike,
    is_preamble_line,
)
from turnwire.csp.faults import issue
from turnwire.csp.messages import (
    AnyBlock,
    CspMessage,
    Document,
    Error,
    FileOp,
    Generic,
    Junk,
    Op,
    Patch,
    Record,
    Result,
    Task,
)
from turnwire.csp.spec import (
    BLOCK_WORD,
    ENUMS,
    HEADERS,
    ID_LETTER,
    Intent,
)
from turnwire.errors import Issue, Reason

_BOM = b"\xef\xbb\xbf"
_STEP = 1024  # bytes from one offset whose line is kept to the next
_WORDS = frozenset(word.encode() for word in BLOCK_WORD.values())
_LOOSE_CHANGE = re.compile(r"[ \t]*([+~-])[ \t]*DEF[ \t]+([A-Z_][A-Z0-9_]*)(?:[ \t]*:?=(?: (.*))?|[ \t]*)", re.DOTALL)
_LOOSE_APPLY = re.compile(r"[ \t]*APPLY[ \t]*(?:->|→|:)?[ \t]*(.*)", re.DOTALL | re.IGNORECASE)
_LOOSE_BASE = re.compile(r"[ \t]*BASE(?:[ \t]*[:=][ \t]*|[ \t]+)(.*)", re.DOTALL | re.IGNORECASE)
_LOOSE_CHECKPOINTS = ((b"BASE", _LOOSE_BASE, "BASE {}"), (b"APPLY", _LOOSE_APPLY, "APPLY -> {}"))
_BEFORE = r"[ \t]*(?:(?:[-*•]|#{1,6}|[0-9]{1,2}[.)])[ \t]+)?[*_`\[]{0,3}"
_BEHIND = r"[*_`]{0,3}[ \t]*"
_HEADER = re.compile(rf"{_BEFORE}([A-Za-z]+){_BEHIND}(?::|=|->|→)?{_BEHIND}(.*)")
_BLOCK = re.compile(rf"{_BEFORE}([A-Za-z]+){_BEHIND}(?::{_BEHIND}|(?<=[ \t]))(.*)")
_FIELD = re.compile(rf"{_BEFORE}([A-Za-z]+){_BEHIND}([:=]?){_BEHIND}(.*)")
"""Lines as models write them: indented, in a list or a heading, in bold, in another case, with a colon."""
_RULE = re.compile(r"[ \t]*(?:[-=*_]{3,}|END|EOF)[ \t]*")
"""A line that only ends or parts something."""
_ENCLOSED = re.compile(
    r"[-=:> \t]*[\"'`*<(\[]*([^\s\"'`*<>()\[\]]+)[\"'`*>)\]]*[.,;]?(?:[ \t]*|[ \t]+(?:[#(]|//|[^\w\s]+\Z).*)"
)
"""One word with quotes or brackets around it, or one of them, and perhaps a remark behind it."""
_TITLE = re.compile(rb"(?mi)CSP/1[*`:. \t]*\r?$")
Known = type[Task] | type[Result] | type[Error]
_KINDS: dict[str, Known] = {"TASK": Task, "RESULT": Result, "ERROR": Error}


def parse_leniently(raw: bytes, limits: Limits) -> Document:
    """All records of a text that is valid UTF-8, and what was forgiven, by line. Never raises."""
    reader = _LenientReader(raw, limits)
    reader.read()
    return Document(reader.records, sorted(reader.issues, key=lambda found: int(found.where)))


def without_prefix(raw: bytes) -> bytes:
    """The first message that stands behind the same text in each line, as a quote or a line of a log does, without it;
    of a title (``# CSP/1``) that line alone. Lines in front of it are blank, so that numbers of lines stay; what
    follows the last line that begins so is left out. The same again where there is none."""
    found = _TITLE.search(raw)
    if found is None:
        return raw
    title = raw[raw.rfind(b"\n", 0, found.start()) + 1 : found.start()]
    before, lines = b"\n" * raw.count(b"\n", 0, found.start()), raw[found.end() :].split(b"\n")[1:]
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(title, lines[0] if lines else b"", strict=False))
    prefix = bytes(byte for byte, _ in alike).rstrip(b"*`")
    if not prefix.strip() or title[len(prefix) :].strip(b"#*` \t"):
        return b"".join((before, b"CSP/1\n", b"\n".join(lines)))
    short = prefix.rstrip()
    kept = takewhile(lambda line: line.startswith(short), lines)
    bare = (line[len(prefix if line.startswith(prefix) else short) :] for line in kept)
    return b"".join((before, b"CSP/1\n", *(line + b"\n" for line in bare)))


def _word(value: str) -> str:
    """A value that is one word, without what is around it; any other value without white space around it."""
    match = _ENCLOSED.fullmatch(value)
    return value.strip() if match is None else match[1].rstrip(".,;") or value


class _LenientReader(Stream):
    """Cuts as strictly as ever, and makes records of the rows, and issues and Junk of the rejects."""

    def __init__(self, raw: bytes, limits: Limits) -> None:
        super().__init__(
            Cursor(raw, len(raw)), len(_BOM) * raw.startswith(_BOM), (limits.message, limits.fields, limits.key)
        )
        self.raw = raw
        self.records: list[Record] = []
        self.issues: list[Issue] = []
        self.inside = False  # whether an unclosed heredoc would have swallowed what comes: it is not to be trusted
        self._newlines = [0]

    def line_of(self, offset: int) -> int:
        """0-based line of an offset, in any order: what is blamed of a message goes to and fro in it."""
        step = offset // _STEP
        for known in range(len(self._newlines), step + 1):
            self._newlines.append(self._newlines[-1] + self.raw.count(b"\n", (known - 1) * _STEP, known * _STEP))
        return self._newlines[step] + self.raw.count(b"\n", step * _STEP, offset)

    def blame(self, reason: Reason, offset: int) -> None:
        self.issues.append(issue(reason, self.line_of(offset) + 1))

    def junk(self, start: int, stop: int, reason: Reason | None = None) -> None:
        text = self.raw[start:stop].decode()
        if text.count("\n") <= 1:
            text = text.removesuffix("\n").removesuffix("\r")
        self.records.append(Junk(self.line_of(start) + 1, text, None if reason is None else str(reason)))

    def read(self) -> None:
        if self.place:
            self.blame(Reason.BOM, 0)
        while self.place < len(self.raw):
            self.place = self.item(self.place)

    def row(
        self, start: int, stop: int, code: int, spans: list[tuple[int, int]] | None = None, extras: Table | None = None
    ) -> int:
        super().row(start, stop, code, spans, extras)
        self.records.append(Spans(self.raw, []).record(self.rows.pop(), self.issues))
        return stop

    def reject(self, reason: Reason, start: int, stop: int, fault: int) -> int:
        if reason is Reason.JUNK and has_title(self.raw[start:stop]):
            reason = Reason.LOOK_ALIKE
        if reason is not Reason.JUNK:
            self.blame(reason, fault)
        self.junk(start, stop, None if reason in (Reason.JUNK, Reason.TRAILING_TEXT) else reason)
        return stop

    def unclosed(self, run: int) -> None:
        self.inside = True

    def skip(self, line: Line) -> int:
        """The end of a heredoc that no field owns; one that never closes is one line."""
        run = len(line.text.rstrip(b"-"))
        closing = self.cursor.closing(line.next, run, line.start + self.limits[0])
        if closing is not None:
            return closing.next
        self.unclosed(run)
        return line.next

    def near(self, first: Line) -> int:
        if first.text.removeprefix(_BOM).strip(b" \t").upper() != MAGIC:
            return super().near(first)
        self.blame(Reason.BAD_MAGIC, first.start)
        return self.message(first)

    def message(self, first: Line) -> int:
        """One message, with the marks taken back if it is rejected."""
        records, issues = len(self.records), len(self.issues)
        self.records.append(Junk(0, ""))  # its place: Junk met inside it follows it
        try:
            reader = _MessageReader(self, first)
            stop = reader.read()
        except ScanFault as fault:
            del self.records[records:], self.issues[issues:]
            return self.recover(first.start, fault)
        if self.inside:
            self.blame(Reason.INSIDE_UNCLOSED_HEREDOC, first.start)
        blamed = self.issues[issues - (first.text != MAGIC) :]
        message = reader.message()
        message.issues = tuple(sorted(blamed, key=lambda found: int(found.where)))
        self.records[records] = message
        self.tail = True
        return stop


class _MessageReader(MessageReader):
    """One message from its CSP/1 line on. Values are texts; what is mended is an issue, what cannot be is Junk."""

    def __init__(self, reader: _LenientReader, first: Line) -> None:
        super().__init__(reader.cursor, first, reader.limits)
        self.reader = reader
        self.swallowed = False  # whether a heredoc that never closes came: nothing of the block follows
        self.styles: set[Any] = set()  # in which case keys are written beside upper case: str.islower, str.istitle
        self.more: dict[int, list[str]] = {}  # number of a field -> lines in which its value goes on

    def message(self) -> CspMessage:
        """The message that was read."""
        sender, receiver, ctx, word = (self.header.get(key.encode()) for key in HEADERS)
        intent = Intent(word) if word in BLOCK_WORD else word
        line = self.reader.line_of(self.first.start) + 1
        return CspMessage(sender, receiver, ctx, intent, self.made() if self.word else None, line=line)

    def made(self) -> AnyBlock:
        """The block that was read."""
        word = self.word.decode()
        if word == "PATCH":
            base, apply = (self.checkpoints.get(key) for key in (b"BASE", b"APPLY"))
            return Patch(self.id, base, [Op(sign.decode(), name, value) for sign, name, value in self.ops], apply)
        fields = [
            (field.key.decode(), "\n".join((field.value, *self.more.get(number, ()))))
            for number, field in enumerate(self.fields)
        ]
        if word == "FILEOP":
            return FileOp(self.id, self.op, fields)
        kind = _KINDS.get(word)
        return Generic(word, self.id, fields) if kind is None else kind(self.id, fields)

    def read(self) -> int:
        if is_look_alike(self.cursor, self.first, EXACT if self.first.text == MAGIC else NEAR):
            raise ScanFault(Reason.LOOK_ALIKE, self.first.start, self.place)
        self.skip_blanks(lambda text: _loose_header(text, self.header) is not None)
        return super().read()

    # --- what is forgiven ---

    def blame(self, reason: Reason, offset: int) -> None:
        self.reader.blame(reason, offset)

    def cut(self, line: Line, start: int, stop: int) -> str:
        return line.text[start:stop].decode()

    def content(self, start: int, stop: int) -> str:
        return self.cursor.data[start:stop].decode()

    def is_header_value(self, value: bytes) -> bool:
        return super().is_header_value(value) and (value[0] not in b"\"'`*" or _word(value.decode()) == value.decode())

    def junk(self, line: Line) -> None:
        """Keeps a line that nothing can use, and a heredoc that no field owns as a whole."""
        self.place = self.reader.skip(line) if OPENING.fullmatch(line.text) else line.next
        self.reader.junk(line.start, self.place)

    def skip_blanks(self, wanted: Callable[[str], bool]) -> None:
        """Goes over blank lines to a line that is wanted, and blames the first of them; stays where there is none."""
        place = self.place
        while (line := self.cursor.line(place)) is not None and is_blank(line.text):
            place = line.next
        if place != self.place and line is not None and not is_delimiter(line.text) and wanted(line.text.decode()):
            self.blame(Reason.STRAY_LINE, self.place)
            self.place = place

    def odd_header(self, line: Line, word: bytes, value: bytes, reason: Reason) -> bool:
        text = line.text.decode()
        loose = _loose_header(text, self.header) if word not in _WORDS else None
        self.blame(reason, line.start)
        if loose is None and (word in _WORDS or ((block := _loose_block(text)) and block[0] in ID_LETTER)):
            return False  # the block, without a blank line in front of it
        if loose is None and reason is Reason.BAD_HEADER_VALUE:
            loose = word.decode(), _word(value.decode())
        if loose is None:
            self.junk(line)
        else:
            self.header[loose[0].encode()] = loose[1]
            self.place = line.next
        return True

    def odd_intent(self, intent: bytes) -> bytes:
        self.blame(Reason.BAD_INTENT, self.first.start)
        word = _word(intent.decode()).upper()
        if word in BLOCK_WORD:
            self.header[b"INTENT"] = word
        return self.bytes_of(self.header[b"INTENT"])

    def parts(self, line: Line) -> bool:
        if _RULE.fullmatch(line.text.decode()) is None:
            return False
        self.blame(Reason.STRAY_LINE, line.start)
        return True

    def block_line(self, line: Line) -> Line:
        text = line.text.decode()
        loose = _loose_block(text) if text.partition(" ")[0].encode() not in _WORDS else None
        if loose is None:
            return line
        self.blame(Reason.BAD_HEADER_LINE, line.start)
        self.note_style(text)
        return line._replace(text=" ".join(loose).encode())

    def note_style(self, text: str) -> None:
        """Keeps the case in which the first word of a line is written, if it is not upper case."""
        match = _FIELD.fullmatch(text)
        self.styles |= {style for style in (str.islower, str.istitle) if match is not None and style(match[1])}

    def odd_block(self, line: Line, word: bytes, intent: bytes) -> bool:
        if word == intent and word and intent.decode() not in BLOCK_WORD:
            return False  # what it is nobody knows
        if word not in _WORDS or intent.decode() in BLOCK_WORD:
            self.blame(Reason.BLOCK_MISMATCH, line.start)
        if word not in _WORDS:
            self.reader.junk(line.start, line.next)
            self.place = line.next
        return word in _WORDS

    def odd_word(self, value: bytes, reason: Reason, line: Line, words: Collection[bytes]) -> str:
        self.blame(reason, line.start)
        text = value.decode()
        if reason is Reason.BAD_ID:
            letter = b"".join(words).decode()
            match = re.match(rf"\W*({letter}[0-9]+)(?!\w)" if letter else r"\W*(\S+)\s*\Z", text)
            return text if match is None else match[1]
        word = _word(text).upper()
        return word if word.encode() in words else text

    def field_line(self, keys: Collection[bytes] | None) -> Line | None:
        if self.swallowed:
            return None
        if keys is not None:
            self.skip_blanks(lambda text: _loose_field(text, keys, self.seen, self.styles) is not None)
        line = self.line()
        if line is None or keys is None:
            return line
        if is_preamble_line(line.text, laws=False):  # which a block of any keys takes
            self.blame(Reason.UNKNOWN_KEY, line.start)
            return None
        match = KEY.match(line.text)
        if match is not None and match[0] in keys:
            return line
        text = line.text.decode()
        if not self.fields:
            self.note_style(text)
        loose = _loose_field(text, keys, self.seen, self.styles)
        if loose is None:
            return line
        self.blame(Reason.STRAY_LINE, line.start)
        return line._replace(text=" ".join(loose).rstrip(" ").encode())

    def odd_line(self, line: Line, reason: Reason) -> None:
        text = line.text.decode()
        last = self.fields[-1] if self.fields else None
        goes_on = last is not None and not last.heredoc and last.key.decode() not in ENUMS
        if goes_on and not OPENING.fullmatch(line.text) and not _is_no_value(text):
            self.blame(Reason.CONTINUED, line.start)
            self.more.setdefault(len(self.fields) - 1, []).append(text)
            self.place = line.next
            return
        self.blame(reason, line.start)
        self.junk(line)
        self.swallowed = OPENING.fullmatch(line.text) is not None and self.place == line.next

    def value(self, line: Line, key: bytes) -> tuple[Any, bool]:
        said = line.text[len(key) + 1 :]
        opened = line._replace(text=said) if said.strip(b" \t") else self.cursor.line(line.next)
        if opened is not None and opened.start != line.start and OPENING.fullmatch(opened.text):
            return super().value(line._replace(text=key), key)
        content = None if opened is None else self.loose_heredoc(opened)
        return super().value(line, key) if content is None else (content, True)

    def loose_heredoc(self, opened: Line) -> str | None:
        """The content of a heredoc whose marks have white space around them, or begin behind the key; what stands in
        front of its end stands in front of each line. None where there is none, or no end of it."""
        opening = OPENING.fullmatch(opened.text.strip(b" \t"))
        place = opened.next
        while opening is not None and (end := self.cursor.line(place)) is not None and end.next <= self.bound:
            place = end.next
            if end.text.strip(b" \t") == b">" * len(opening[1]):
                self.blame(Reason.STRAY_LINE, opened.start)
                self.place = place
                before = end.text[: end.text.index(b">")]
                rows = self.cursor.data[opened.next : end.start].split(b"\n")
                content = b"\n".join(row.removeprefix(before) for row in rows).decode()
                return content.removesuffix("\n") if opening[2] else content
        return None

    def patch_line(self) -> Line | None:
        line = None if self.swallowed else self.line()
        for key, pattern, form in _LOOSE_CHECKPOINTS if line is not None else ():
            assert line is not None, "or there is no loop"
            match = pattern.fullmatch(line.text.decode())
            if match is None:
                continue
            word = _word(match[1])
            good = CHECKPOINT.fullmatch(word.encode()) is not None
            text = form.format(word if good else match[1]).encode()
            if good and key not in self.checkpoints and text != line.text:
                self.blame(Reason.BAD_BASE if key == b"BASE" else Reason.BAD_APPLY, line.start)
            return line._replace(text=text)
        return line

    def odd_change(self, line: Line, reason: Reason) -> None:
        text = line.text.decode()
        match = _LOOSE_CHANGE.fullmatch(text)
        if match is None:
            self.odd_line(line, reason)
            return
        self.blame(reason, line.start)
        assigned = " =" in text or " :=" in text
        self.ops.append((match[1].encode(), match[2], (match[3] or "") if assigned else None))
        self.place = line.next


def _loose_header(text: str, found: Collection[bytes]) -> tuple[str, str] | None:
    """The key and the value of a header line that is written in another form; None for any other line."""
    match = _HEADER.fullmatch(text)
    if match is None or match[1].upper() not in HEADERS or match[1].upper().encode() in found:
        return None
    value = _word(match[2])
    return (match[1].upper(), value) if TOKEN.fullmatch(value.encode()) else None


def _loose_block(text: str) -> tuple[str, str] | None:
    """The word and what follows it, of the first line of a block that is written in another form, or None."""
    match = _BLOCK.fullmatch(text)
    if match is None or match[1].upper().encode() not in _WORDS:
        return None
    word, rest = match[1].upper(), match[2].rstrip(" \t*_`]").lstrip("*_`")
    letter = ID_LETTER.get(word)
    return (word, rest) if letter is None or re.match(rf"#?{letter}[0-9]+(?!\w)", rest) else None


def _is_no_value(text: str) -> bool:
    """True for a line that goes on with no value: one that parts something, or begins as a header or a block does."""
    word, _, rest = text.partition(" ")
    if _RULE.fullmatch(text) or (word in HEADERS and TOKEN.fullmatch(rest.encode())):
        return True
    block = _loose_block(text)
    return block is not None and block[0] in ID_LETTER


def _loose_field(
    text: str, keys: Collection[bytes], found: Collection[bytes], styles: Collection[Any]
) -> tuple[str, str] | None:
    """The key and the value of a field that is written in another form; of one that is not in upper case, with a colon
    behind it or in a case that the block is in (``styles``), since a line of a value may begin with such a word."""
    match = _FIELD.fullmatch(text)
    if match is None or not (match[2] or match[1].isupper() or any(style(match[1]) for style in styles)):
        return None
    key = match[1].upper()
    return (key, match[3]) if key.encode() in keys and key.encode() not in found else None
