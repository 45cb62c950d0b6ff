"""Lenient reading of CSP/1: the same grammar, but a fault becomes an issue and what cannot be used becomes Junk.

Records are cut as strictly as ever: a line inside a heredoc never starts a message, and a heredoc that never closes
rejects its message (readings 2 and 4).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from itertools import takewhile
from typing import Any

from turnwire.contract import Limits
from turnwire.csp._marks_py import EXACT, NEAR, has_title
from turnwire.csp._objects_py import Spans
from turnwire.csp._scanner_py import (
    CHECKPOINT,
    KEY,
    MAGIC,
    OP_WORD,
    OPENING,
    TOKEN,
    Cursor,
    Line,
    ScanFault,
    Stream,
    Table,
    change_span,
    is_blank,
    is_delimiter,
    is_form,
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
    FIELDS,
    FILE_OPS,
    HEADERS,
    ID_LETTER,
    INTENT_ALIAS,
    MISSING_HEADER,
    REQUIRED,
    Intent,
)
from turnwire.errors import Issue, Reason

_BOM = b"\xef\xbb\xbf"
_STEP = 1024  # bytes from one offset whose line is kept to the next
_WORDS = frozenset(BLOCK_WORD.values())
_LOOSE_CHANGE = re.compile(r"[ \t]*([+~-])[ \t]*DEF[ \t]+([A-Z_][A-Z0-9_]*)(?:[ \t]*:?=(?: (.*))?|[ \t]*)", re.DOTALL)
_LOOSE_APPLY = re.compile(r"[ \t]*APPLY[ \t]*(?:->|→|:)?[ \t]*(.*)", re.DOTALL | re.IGNORECASE)
_LOOSE_BASE = re.compile(r"[ \t]*BASE(?:[ \t]*[:=][ \t]*|[ \t]+)(.*)", re.DOTALL | re.IGNORECASE)
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

    def bound(self, start: int) -> int:
        return min(len(self.raw), start + self.limits[0])

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
        closing = self.cursor.closing(line.next, run, self.bound(line.start))
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
            message, stop = _MessageReader(self, first).read()
            if stop - first.start > self.limits[0]:
                raise ScanFault(Reason.MESSAGE_TOO_LARGE, first.start, stop)
        except ScanFault as fault:
            del self.records[records:], self.issues[issues:]
            return self.recover(first.start, fault)
        if self.inside:
            self.blame(Reason.INSIDE_UNCLOSED_HEREDOC, first.start)
        blamed = self.issues[issues - (first.text != MAGIC) :]
        message.issues = tuple(sorted(blamed, key=lambda found: int(found.where)))
        self.records[records] = message
        self.tail = True
        return stop


class _MessageReader:
    """One message from its CSP/1 line on."""

    def __init__(self, reader: _LenientReader, first: Line) -> None:
        self.reader = reader
        self.cursor = reader.cursor
        self.first = first
        self.place = first.next
        self.swallowed = False
        self.styles: set[Any] = set()  # in which case keys are written beside upper case: str.islower, str.istitle

    def read(self) -> tuple[CspMessage, int]:
        if is_look_alike(self.cursor, self.first, EXACT if self.first.text == MAGIC else NEAR):
            raise ScanFault(Reason.LOOK_ALIKE, self.first.start, self.place)
        header, headless = self.header()
        sender, receiver, ctx, word = (header.get(key) for key in HEADERS)
        intent: Intent | str | None = word
        if word is not None:
            if word == INTENT_ALIAS:
                self.blame(Reason.INTENT_ALIAS, self.first.start)
            elif word in BLOCK_WORD:
                intent = Intent(word)
            elif is_form(word.encode()):
                raise ScanFault(Reason.LOOK_ALIKE, self.first.start, self.place)
            else:
                self.blame(Reason.BAD_INTENT, self.first.start)
                if _word(word).upper() in BLOCK_WORD:
                    word = _word(word).upper()
                    intent = Intent(word)
        block = self.body(word, headless)
        line = self.reader.line_of(self.first.start) + 1
        return CspMessage(sender, receiver, ctx, intent, block, line=line), self.place

    def blame(self, reason: Reason, offset: int) -> None:
        self.reader.blame(reason, offset)

    def next_line(self) -> Line | None:
        """The line at ``self.place`` unless it ends the header or the block."""
        line = self.cursor.line(self.place)
        return None if line is None or is_blank(line.text) or is_delimiter(line.text) else line

    def header(self) -> tuple[dict[str, str], bool]:
        """The header lines that were found, and whether the block follows without a blank line."""
        found: dict[str, str] = {}
        headless = False
        self.skip_blanks(lambda text: _loose_header(text, found) is not None)
        while (line := self.next_line()) is not None:
            text = line.text.decode()
            word, _, value = text.partition(" ")
            usual = word in _WORDS or (word in HEADERS and TOKEN.fullmatch(value.encode()) is not None)
            loose = None if usual else _loose_header(text, found)
            if loose is not None:
                self.blame(Reason.BAD_HEADER_VALUE if word in HEADERS else Reason.BAD_HEADER_LINE, line.start)
                word, value = loose
            elif word not in _WORDS and (block := _loose_block(text)) is not None and ID_LETTER.get(block[0]):
                word = block[0]
            if word in _WORDS:
                self.blame(Reason.BAD_HEADER_LINE, line.start)
                headless = True
                break
            self.place = line.next
            if word in HEADERS and word not in found:
                good = TOKEN.fullmatch(value.encode()) and value[0] not in "\"'`*"
                found[word] = value if good else _word(value)
                if loose is None and (not TOKEN.fullmatch(value.encode()) or value != found[word]):
                    self.blame(Reason.BAD_HEADER_VALUE, line.start)
                continue
            self.blame(Reason.DUP_HEADER if word in found else Reason.BAD_HEADER_LINE, line.start)
            self.place = self.reader.skip(line) if OPENING.fullmatch(line.text) else line.next
            self.reader.junk(line.start, self.place)
        missing = [reason for key, reason in zip(HEADERS, MISSING_HEADER, strict=True) if key not in found]
        for reason in missing or ([Reason.HEADER_ORDER] if list(found) != list(HEADERS) else []):
            self.blame(reason, self.first.start)
        return found, headless

    def skip_blanks(self, wanted: Callable[[str], bool]) -> None:
        """Goes over blank lines to a line that is wanted, and blames the first of them; stays where there is none."""
        place = self.place
        while (line := self.cursor.line(place)) is not None and is_blank(line.text):
            place = line.next
        if place != self.place and line is not None and not is_delimiter(line.text) and wanted(line.text.decode()):
            self.blame(Reason.STRAY_LINE, self.place)
            self.place = place

    def body(self, intent: str | None, headless: bool) -> AnyBlock | None:
        while not headless:
            line = self.cursor.line(self.place)
            if line is None or not (is_blank(line.text) or _RULE.fullmatch(line.text.decode())):
                break
            if not is_blank(line.text):
                self.blame(Reason.STRAY_LINE, line.start)
            self.place = line.next
        line = self.next_line()
        if line is None:
            self.blame(Reason.NO_BODY, self.first.start)
            return None
        word, _, rest = line.text.decode().partition(" ")
        if word not in _WORDS and (loose := _loose_block(line.text.decode())) is not None:
            self.blame(Reason.BAD_HEADER_LINE, line.start)
            self.styles |= {style for style in (str.islower, str.istitle) if style(_first_word(line.text.decode()))}
            word, rest = loose
        if word != BLOCK_WORD.get(intent or "", intent):
            if word not in _WORDS or intent in BLOCK_WORD:
                self.blame(Reason.BLOCK_MISMATCH, line.start)
            if word not in _WORDS:
                self.reader.junk(line.start, line.next)
                self.place = line.next
                return None
        elif word not in _WORDS:
            return None
        self.place = line.next
        op = ""
        if word == "FILEOP":
            rest, _, op = rest.partition(" ")
        letter = ID_LETTER.get(word)
        good = TOKEN.fullmatch(rest.encode()) if letter is None else re.fullmatch(f"{letter}[0-9]+", rest)
        if not good:
            self.blame(Reason.BAD_ID, line.start)
            rest = _id(rest, letter)
        if word == "PATCH":
            return self.patch(line, rest)
        fields = self.fields(line, word)
        if word == "FILEOP":
            if not OP_WORD.fullmatch(op.encode()):
                self.blame(Reason.BAD_OP if op else Reason.MISSING_OP, line.start)
                op = _word(op).upper() if _word(op).upper() in FILE_OPS else op
            return FileOp(rest, op, fields)
        kind = _KINDS.get(word)
        return Generic(word, rest, fields) if kind is None else kind(rest, fields)

    # --- blocks ---

    def stray(self, line: Line, reason: Reason) -> None:
        """A line the block cannot use, and a heredoc that no field owns as a whole."""
        self.blame(reason, line.start)
        self.place = line.next
        if OPENING.fullmatch(line.text):
            self.place = self.reader.skip(line)
            self.swallowed = self.place == line.next
        self.reader.junk(line.start, self.place)

    def is_field(self, keys: Collection[str], found: list[tuple[str, str]], text: str) -> bool:
        """True for a field that is not there yet, in any form."""
        return _loose_field(text, keys, found, self.styles) is not None

    def fields(self, first: Line, word: str) -> list[tuple[str, str]]:
        keys = FIELDS.get(word)
        found: list[tuple[str, str]] = []
        places: list[int] = []
        open_value = False  # whether the last value may go on in the next line
        more: list[str] = []  # the lines in which it did
        while not self.swallowed:
            if keys is not None:
                self.skip_blanks(partial(self.is_field, keys, found))
            if (line := self.next_line()) is None:
                break
            match = KEY.match(line.text)
            key = "" if match is None else match[0].decode()
            text = line.text.decode()
            if keys is not None and is_preamble_line(line.text, laws=False):  # which a block of any keys takes
                self.blame(Reason.UNKNOWN_KEY, line.start)
                break
            if keys is not None and key not in keys and not open_value and not found:
                self.styles |= {style for style in (str.islower, str.istitle) if style(_first_word(text))}
            loose = None if keys is None or key in keys else _loose_field(text, keys, found, self.styles)
            if loose is not None:
                self.blame(Reason.STRAY_LINE, line.start)
                key, said = loose
                line = line._replace(text=f"{key} {said}".rstrip(" ").encode())
            elif match is None or (keys is not None and key not in keys):
                if not open_value or OPENING.fullmatch(line.text) or _is_no_value(text):
                    self.stray(line, Reason.STRAY_LINE if match is None else Reason.UNKNOWN_KEY)
                    continue
                self.blame(Reason.CONTINUED, line.start)
                more.append(line.text.decode())
                self.place = line.next
                continue
            _go_on(found, more)
            if keys is not None:  # which bounds them by itself
                if any(name == key for name, _ in found):
                    self.blame(Reason.DUP_FIELD, line.start)
            elif len(key) > self.reader.limits[2] or len(found) >= self.reader.limits[1]:
                too_long = len(key) > self.reader.limits[2]
                self.blame(Reason.KEY_TOO_LONG if too_long else Reason.TOO_MANY_FIELDS, line.start)
            value, heredoc = self.value(line, key)
            open_value = not heredoc and key not in ENUMS
            if word == "FILEOP" and key == "CONTENT" and not heredoc:
                self.blame(Reason.HEREDOC_EXPECTED, line.start)
            found.append((key, value))
            places.append(line.start)
        _go_on(found, more)
        for number, ((key, value), start) in enumerate(zip(found, places, strict=True)):
            if keys is not None and key in ENUMS and value not in ENUMS[key]:
                self.blame(Reason.BAD_ENUM, start)
                if _word(value).upper() in ENUMS[key]:
                    found[number] = key, _word(value).upper()
        for key, reason in REQUIRED.get(word, {}).items():
            if all(name != key for name, _ in found):
                self.blame(reason, first.start)
        return found

    def value(self, line: Line, key: str) -> tuple[str, bool]:
        self.place = line.next
        if len(line.text) > len(key):
            said = line.text[len(key) + 1 :]
            if said.strip(b" \t") and OPENING.fullmatch(said.strip(b" \t")) is None:
                return said.decode(), False
            following = line._replace(text=said) if said.strip(b" \t") else self.cursor.line(line.next)
        else:
            said = b""
            following = self.cursor.line(line.next)
        opening = None if following is None else OPENING.fullmatch(following.text)
        if following is None or opening is None or following.start == line.start:
            content = None if following is None else self.loose_heredoc(following)
            return (said.decode(), False) if content is None else (content, True)
        run = len(opening[1])
        bound = self.reader.bound(self.first.start)
        closing = self.cursor.closing(following.next, run, bound)
        if closing is None:
            if bound < len(self.reader.raw):
                raise ScanFault(Reason.MESSAGE_TOO_LARGE, self.first.start, following.next, run)
            raise ScanFault(Reason.UNCLOSED_HEREDOC, following.start, following.next, run)
        self.place = closing.next
        content = self.reader.raw[following.next : closing.start].decode()
        return content.removesuffix("\n") if opening[2] else content, True

    def loose_heredoc(self, opened: Line) -> str | None:
        """The content of a heredoc whose marks have white space around them, or begin behind the key; what stands in
        front of its end stands in front of each line. None where there is none, or no end of it."""
        opening = OPENING.fullmatch(opened.text.strip(b" \t"))
        if opening is None:
            return None
        place, bound = opened.next, self.reader.bound(self.first.start)
        while (line := self.cursor.line(place)) is not None and line.next <= bound:
            place = line.next
            if line.text.strip(b" \t") == b">" * len(opening[1]):
                self.blame(Reason.STRAY_LINE, opened.start)
                self.place = place
                before = line.text[: line.text.index(b">")]
                rows = self.reader.raw[opened.next : line.start].split(b"\n")
                content = b"\n".join(row.removeprefix(before) for row in rows).decode()
                return content.removesuffix("\n") if opening[2] else content
        return None

    def patch(self, first: Line, name: str) -> Patch:
        base: str | None = None
        apply: str | None = None
        ops: list[Op] = []
        while not self.swallowed and (line := self.next_line()) is not None:
            text = line.text.decode()
            based, applied = _LOOSE_BASE.fullmatch(text), _LOOSE_APPLY.fullmatch(text)
            word = "BASE" if based else "APPLY" if applied else ""
            if (word == "BASE" and base is not None) or (word == "APPLY" and apply is not None):
                self.stray(line, Reason.DUP_FIELD)
                continue
            self.place = line.next
            if based is not None:
                base = _checkpoint(based[1])
                if ops or apply is not None:
                    self.blame(Reason.STRAY_LINE, line.start)
                if text != f"BASE {base}" or not CHECKPOINT.fullmatch(base.encode()):
                    self.blame(Reason.BAD_BASE, line.start)
            elif applied is not None:
                apply = _checkpoint(applied[1])
                if f"APPLY -> {apply}" != text or not CHECKPOINT.fullmatch(apply.encode()):
                    self.blame(Reason.BAD_APPLY, line.start)
            else:
                self.change(line, text, ops, apply)
        if base is None:
            self.blame(Reason.MISSING_BASE, first.start)
        if apply is None:
            self.blame(Reason.MISSING_APPLY, first.start)
        return Patch(name, base, ops, apply)

    def change(self, line: Line, text: str, ops: list[Op], apply: str | None) -> None:
        match = _LOOSE_CHANGE.fullmatch(text)
        if match is None:
            looks = text[:1] in ("+", "~", "-") or text[1:6] == " DEF "
            self.stray(line, Reason.BAD_OP if looks else Reason.STRAY_LINE)
            return
        fault = change_span(line.text)
        if isinstance(fault, Reason):
            self.blame(fault, line.start)
        elif apply is not None:
            self.blame(Reason.STRAY_LINE, line.start)
        assigned = " =" in text or " :=" in text
        ops.append(Op(match[1], match[2], (match[3] or "") if assigned else None))


def _loose_header(text: str, found: Collection[str]) -> tuple[str, str] | None:
    """The key and the value of a header line that is written in another form; None for any other line."""
    match = _HEADER.fullmatch(text)
    if match is None or match[1].upper() not in HEADERS or match[1].upper() in found:
        return None
    value = _word(match[2])
    return (match[1].upper(), value) if TOKEN.fullmatch(value.encode()) else None


def _loose_block(text: str) -> tuple[str, str] | None:
    """The word and what follows it, of the first line of a block that is written in another form, or None."""
    match = _BLOCK.fullmatch(text)
    if match is None or match[1].upper() not in _WORDS:
        return None
    word, rest = match[1].upper(), match[2].rstrip(" \t*_`]").lstrip("*_`")
    letter = ID_LETTER.get(word)
    return (word, rest) if letter is None or re.match(rf"#?{letter}[0-9]+(?!\w)", rest) else None


def _id(text: str, letter: str | None) -> str:
    """The id in the first line of a block, without what is around it; all of it where there is none."""
    match = re.match(rf"\W*({letter}[0-9]+)(?!\w)" if letter else r"\W*(\S+)\s*\Z", text)
    return text if match is None else match[1]


def _checkpoint(value: str) -> str:
    """The id of a checkpoint without what is around it; any other value as it is."""
    word = _word(value)
    return word if CHECKPOINT.fullmatch(word.encode()) else value


def _first_word(text: str) -> str:
    match = _FIELD.fullmatch(text)
    return "" if match is None else match[1]


def _is_no_value(text: str) -> bool:
    """True for a line that goes on with no value: one that parts something, or begins as a header or a block does."""
    word, _, rest = text.partition(" ")
    if _RULE.fullmatch(text) or (word in HEADERS and TOKEN.fullmatch(rest.encode())):
        return True
    block = _loose_block(text)
    return block is not None and block[0] in ID_LETTER


def _loose_field(
    text: str, keys: Collection[str], found: list[tuple[str, str]], styles: Collection[Any]
) -> tuple[str, str] | None:
    """The key and the value of a field that is written in another form; of one that is not in upper case, with a colon
    behind it or in a case that the block is in (``styles``), since a line of a value may begin with such a word."""
    match = _FIELD.fullmatch(text)
    if match is None or not (match[2] or match[1].isupper() or any(style(match[1]) for style in styles)):
        return None
    key = match[1].upper()
    return None if key not in keys or any(name == key for name, _ in found) else (key, match[3])


def _go_on(fields: list[tuple[str, str]], lines: list[str]) -> None:
    """Puts lines behind the value of the last field: all at once, since each would copy what is there."""
    if lines:
        key, value = fields[-1]
        fields[-1] = key, "\n".join((value, *lines))
        lines.clear()
