"""Reads one message of CSP/1, strictly or leniently, by one grammar.

Each fault is reported in one place. Strict reading raises it. Lenient reading keeps it as an issue and continues with
the probable meaning of the line; unusable text becomes Junk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.csp._lines_py import (
    ABSENT,
    CHECKPOINT,
    EXACT,
    KEY,
    MAGIC,
    NEAR,
    OPENING,
    TOKEN,
    Cursor,
    Line,
    ScanFault,
    Span,
    Table,
    heredoc_closing,
    is_blank,
    is_delimiter,
    is_look_alike,
    is_preamble_line,
)
from turnwire.csp.messages import AnyBlock, CspMessage, Op, Patch, made_block
from turnwire.csp.spec import (
    BLOCK_WORD,
    ENUMS,
    FIELDS,
    FILE_OPS,
    HEADERS,
    ID_LETTER,
    INTENT_ALIAS,
    INTENTS,
    MISSING_HEADER,
    REQUIRED,
    Intent,
)
from turnwire.errors import Reason
from turnwire.fences import is_fence

if TYPE_CHECKING:
    from turnwire.csp.lenient import LenientReader

OP_WORD = re.compile(rb"[A-Z][A-Z0-9_]*")
CHANGE = re.compile(rb"([+~-]) DEF ([A-Z_][A-Z0-9_]*)(?: (.*))?", re.DOTALL)
CHANGE_LIKE = re.compile(rb"[+-]|~(?!~~)|. DEF ", re.DOTALL)
_HEADER = {key.encode(): reason for key, reason in zip(HEADERS, MISSING_HEADER, strict=True)}
_HEADERLESS = frozenset((Reason.BAD_HEADER_LINE, *MISSING_HEADER))
"""Faults of what may be another protocol."""
_INTENT = {intent.encode(): code for code, intent in enumerate(INTENTS)}
_WORD = {intent.encode(): word.encode() for intent, word in BLOCK_WORD.items()}
_WORDS = frozenset(_WORD.values())
_FIELDS = {word.encode(): {key.encode(): slot for slot, key in enumerate(keys)} for word, keys in FIELDS.items()}
_REQUIRED = {word.encode(): {key.encode(): reason for key, reason in keys.items()} for word, keys in REQUIRED.items()}
_ENUM = {key.encode(): frozenset(value.encode() for value in values) for key, values in ENUMS.items()}
_NAMES = frozenset({b"IN", b"OWNER", b"PRODUCED", b"AT", b"PATH", b"BASE"})
"""Keys of known blocks whose value is a name or names between commas: another line goes on only behind a comma."""
_OPS = frozenset(op.encode() for op in FILE_OPS)
_LETTER = {word.encode(): letter.encode() for word, letter in ID_LETTER.items()}
_ID = {letter: re.compile(letter + rb"[0-9]+") for letter in _LETTER.values()}
_CHECKPOINT = {
    b"BASE": (b"BASE ", Reason.BAD_BASE, Reason.MISSING_BASE),
    b"APPLY": (b"APPLY -> ", Reason.BAD_APPLY, Reason.MISSING_APPLY),
}
"""Keys of a patch: how such a line begins, and the reasons for one of another form, and for none."""
_ASSIGN = {b"+": b"=", b"~": b":="}

# Lines as models write them: indented, in a list or a heading, in bold, in another case, with a colon.
_LOOSE_CHANGE = re.compile(
    r"[ \t]*(?:[-*•][ \t]+)?(`)?([+~-])[ \t]*DEF[ \t]+([A-Z_][A-Z0-9_]*)[ \t]*(?:(?::?=|:)[ \t]?(.*?))?(?(1)`)",
    re.DOTALL,
)
_BEFORE = r"[ \t]*(?:(?:[-*•]|#{1,6}|[0-9]{1,2}[.)])[ \t]+)?[*_`\[]{0,3}"
_BEHIND = r"[*_`]{0,3}[ \t]*"
_LOOSE = re.compile(rf"{_BEFORE}([A-Za-z]+){_BEHIND}(:|：|=|->|→|—|–)?{_BEHIND}(.*)", re.DOTALL)
_RULE = re.compile(r"[ \t]*(?:[-=*_]{3,}|END|EOF|</?[A-Za-z]+>)[ \t]*")
"""A line that only ends or parts something."""
_ENCLOSED = re.compile(
    r"[-=:> \t]*[\"'`*<(\[“‘]*([^\s\"'`*<>()\[\]“”‘’]+)[\"'`*>)\]”’]*[.,;]?"
    r"(?:[ \t]*|[ \t]+(?:[#(]|//|[-–—][ \t]|[^\w\s]+\Z).*)"
)
"""One word with quotes or brackets around it, or one of them, and perhaps a remark behind it."""


class Field(NamedTuple):
    """One field of a block: its key, the offset of its line, its value, and whether that is a heredoc."""

    key: bytes
    line: int
    value: Any
    heredoc: bool


class MessageReader:
    """One message from its CSP/1 line on. forgiving: reads leniently, where given; otherwise the first fault is a
    ScanFault. Values are spans, for lenient reading texts."""

    def __init__(
        self, cursor: Cursor, first: Line, limits: tuple[int, int, int], forgiving: LenientReader | None = None
    ) -> None:
        self.cursor = cursor
        self.first = first
        self.forgiving = forgiving
        self.place = first.next  # the start of the line that is read next; what is in front of it is the message's own
        self.bound = first.start + limits[0]
        self.max_fields = limits[1]
        self.max_key = limits[2]
        self.header: dict[bytes, Any] = {}
        self.word = b""  # of the block
        self.block_at = -1  # where it begins behind text, once looked for; 0: nowhere
        self.id: Any = ABSENT
        self.op: Any = ABSENT
        self.fields: list[Field] = []
        self.seen: set[bytes] = set()  # their keys
        self.more: dict[int, list[str]] = {}  # number of a field -> lines in which its value goes on
        self.styles: set[Any] = set()  # in which case keys are written beside upper case: str.islower, str.istitle
        self.marks: set[bytes] = set()  # signs that the header has between keys and values
        self.swallowed = False  # whether a heredoc that never closes came: nothing of the block follows
        self.checkpoints: dict[bytes, Any] = {}  # BASE and APPLY of a patch
        self.ops: list[tuple[bytes, Any, Any]] = []  # of a patch: sign, name, value (None for none)

    # --- faults, lines and values ---

    def blame(self, reason: Reason, offset: int) -> None:
        """Reports a fault at a line: lenient reading keeps it and continues."""
        if self.forgiving is None:
            if reason in _HEADERLESS and is_look_alike(self.cursor, self.first):
                reason, offset = Reason.LOOK_ALIKE, self.first.start
            raise ScanFault(reason, offset, self.place)
        self.forgiving.blame(reason, offset)

    def within(self, line: Line) -> None:
        """Raises for a line of the message that ends after the limit."""
        if line.next > self.bound:
            raise ScanFault(Reason.MESSAGE_TOO_LARGE, self.first.start, max(line.start, self.first.next), run=-1)

    def line(self) -> Line | None:
        """The next line, unless it ends the header or the block."""
        line = self.cursor.line(self.place)
        if line is None or is_blank(line.text) or self.cursor.ends(line):
            return None
        if line.next > self.bound:
            self.within(line)
        return line

    def skip_blanks(self, wanted: Callable[[str], Any]) -> None:
        """Goes over blank lines to a line that is wanted, and blames the first of them; stays if there is none."""
        place = self.place
        while (line := self.cursor.line(place)) is not None and is_blank(line.text):
            place = line.next
        if place != self.place and line is not None and not is_delimiter(line.text) and wanted(line.text.decode()):
            self.blame(Reason.STRAY_LINE, self.place)
            self.place = place

    def junk(self, line: Line) -> None:
        """Keeps a line that nothing can use, and a heredoc that no field owns as a whole."""
        assert self.forgiving is not None, "strict reading has raised"
        self.place = self.forgiving.skip(line) if OPENING.fullmatch(line.text) else line.next
        self.forgiving.junk(line.start, self.place)

    def cut(self, line: Line, start: int, stop: int) -> Any:
        """The value that is ``line.text[start:stop]``."""
        return (line.start + start, stop - start) if self.forgiving is None else line.text[start:stop].decode()

    def bytes_of(self, value: Any) -> bytes:
        """The bytes of a value; none if it is absent."""
        return value.encode() if isinstance(value, str) else self.cursor.data[value[0] : value[0] + max(value[1], 0)]

    # --- the header ---

    def read(self) -> int:
        """Reads the message; returns the offset after its block."""
        if self.forgiving is not None:
            if is_look_alike(self.cursor, self.first, EXACT if self.first.text == MAGIC else NEAR):
                raise ScanFault(Reason.LOOK_ALIKE, self.first.start, self.place)
            self.skip_blanks(self.loose_header)
        self.block(self.read_header())
        behind = None if self.forgiving is None else self.cursor.line(self.place)
        if behind is not None and is_fence(behind.text) and not self.cursor.closes(behind.text):
            self.blame(Reason.STRAY_LINE, behind.start)
        return self.place

    def read_header(self) -> bytes:
        """Reads up to the first blank line, a delimiter or the end; returns the intent."""
        found, start = self.header, self.first.start
        while (line := self.line()) is not None:
            word, space, value = line.text.partition(b" ")
            good = word in _HEADER and word not in found and TOKEN.fullmatch(value) is not None
            if good and (self.forgiving is None or value[0] not in b"\"'`*" or _word(value.decode()) == value.decode()):
                found[word] = self.cut(line, len(word) + len(space), len(line.text))
                self.place = line.next
            elif not self.odd_header(line, word, value):
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
            self.blame(Reason.BAD_INTENT, start)
            if (word := _word(intent.decode()).upper().encode()) in _INTENT:
                found[b"INTENT"] = word.decode()
                return word
        return intent

    def odd_header(self, line: Line, word: bytes, value: bytes) -> bool:
        """Takes a line that is none of the header. False if the header ends before it."""
        reason = Reason.BAD_HEADER_LINE
        if word in _HEADER:
            reason = Reason.DUP_HEADER if word in self.header else Reason.BAD_HEADER_VALUE
        self.blame(reason, line.start)
        text = line.text.decode()
        loose = None if word in _WORDS else self.loose_header(text)
        if loose is None and (word in _WORDS or ((block := _loose_block(text)) and block[0] in ID_LETTER)):
            return False  # the block, without a blank line in front of it
        if loose is None and reason is Reason.BAD_HEADER_VALUE:
            loose = word, _word(value.decode())
        if loose is None:
            self.junk(line)
        else:
            self.header[loose[0]] = loose[1]
            self.place = line.next
        return True

    def loose_header(self, text: str) -> tuple[bytes, str] | None:
        """The key and the value of a header line that is written in another form; None for any other line."""
        loose = _loose(text)
        key = b"" if loose is None else loose.word.encode()
        if loose is None or key not in _HEADER or key in self.header:
            return None
        value = _word(loose.rest)
        if loose.mark in (":", "="):
            self.marks.add(f"{loose.mark} ".encode())
        return (key, value) if TOKEN.fullmatch(value.encode()) else None

    # --- the block ---

    def block(self, intent: bytes) -> None:
        """Reads the block after the header."""
        while (line := self.cursor.line(self.place)) is not None and not self.cursor.ends(line):
            self.within(line)
            if not is_blank(line.text):
                if self.forgiving is None:
                    break
                if _RULE.fullmatch(line.text.decode()) is None:
                    if not self.block_follows(line, _WORD.get(intent, intent).decode()):
                        break
                    self.blame(Reason.BLOCK_MISMATCH, line.start)
                    self.junk(line)
                    continue
                self.blame(Reason.STRAY_LINE, line.start)
            self.place = line.next
        if line is None or self.cursor.ends(line):
            self.blame(Reason.NO_BODY, self.first.start)
            return
        if self.forgiving is not None and line.text.partition(b" ")[0] not in _WORDS:
            loose = _loose_block(line.text.decode())
            if loose is not None:
                self.blame(Reason.BAD_HEADER_LINE, line.start)
                self.note_style(line)
                line = line._replace(text=" ".join(loose).encode())
        word, space, rest = line.text.partition(b" ")
        if word == _WORD.get(intent, intent) and word in _WORDS:
            self.word = word
        elif not (word and word == intent and intent not in _WORD):  # or nobody knows what it is
            if word not in _WORDS or intent in _WORD:
                self.blame(Reason.BLOCK_MISMATCH, line.start)
            if word in _WORDS:
                self.word = word
            else:
                self.junk(line._replace(text=b""))
        if self.word:
            self.head(line, len(word) + len(space), rest)
            (self.patch if word == b"PATCH" else self.read_fields)(line)

    def block_follows(self, line: Line, word: str) -> bool:
        """True for text before the block: a later line of the message begins it, and no heredoc in between."""
        following: Line | None = line
        if self.block_at < 0 and word in ID_LETTER:
            while following is not None and not self.cursor.ends(following) and following.next <= self.bound:
                block = _loose_block(following.text.decode())
                if OPENING.fullmatch(following.text) or (block is not None and block[0] in ID_LETTER):
                    self.block_at = following.start * (block is not None and block[0] == word)
                    break
                following = self.cursor.line(following.next)
        return line.start < self.block_at and line.text.partition(b" ")[0] not in _WORDS

    def head(self, line: Line, start: int, rest: bytes) -> None:
        """Reads the id and, for FILE, the operation from the first line of a block."""
        name, gap, op = rest.partition(b" ") if self.word == b"FILEOP" else (rest, b"", b"")
        letter = _LETTER.get(self.word, b"")
        self.id = self.cut(line, start, start + len(name))
        if not (_ID[letter] if letter else TOKEN).fullmatch(name):
            self.blame(Reason.BAD_ID, line.start)
            inner = re.match(rf"\W*({letter.decode()}[0-9]+)(?!\w)" if letter else r"\W*(\S+)\s*\Z", name.decode())
            self.id = name.decode() if inner is None else inner[1]
        if self.word == b"FILEOP":
            self.op = self.cut(line, start + len(name) + len(gap), len(line.text))
            if not OP_WORD.fullmatch(op):
                self.blame(Reason.BAD_OP if op else Reason.MISSING_OP, line.start)
                self.op = _one_of(op, _OPS)
        self.place = line.next

    def note_style(self, line: Line) -> None:
        """Keeps the case in which the first word of a line is written, if it is not upper case."""
        loose = _loose(line.text.decode())
        self.styles |= {style for style in (str.islower, str.istitle) if loose is not None and style(loose.said)}

    def odd_line(self, line: Line, reason: Reason) -> None:
        """Takes a line of a block that is none of its own: leniently, of a value in one line it is what follows."""
        last = self.fields[-1] if self.fields else None
        goes_on = self.forgiving is not None and last is not None and not last.heredoc and last.key not in _ENUM
        if goes_on and last is not None and last.key in _NAMES and self.word in _FIELDS:
            said = self.more.get(len(self.fields) - 1) or [self.bytes_of(last.value).decode()]
            goes_on = said[-1].rstrip().endswith(",")
        if goes_on and not OPENING.fullmatch(line.text) and not _is_no_value(line.text.decode()):
            self.blame(Reason.CONTINUED, line.start)
            self.more.setdefault(len(self.fields) - 1, []).append(line.text.decode())
            self.place = line.next
            return
        self.blame(reason, line.start)
        self.junk(line)
        self.swallowed = OPENING.fullmatch(line.text) is not None and self.place == line.next

    # --- fields ---

    def read_fields(self, first: Line) -> None:
        """Reads the fields of a block with keys of its own, or any."""
        keys = _FIELDS.get(self.word)
        following = self.line if self.forgiving is None else partial(self.field_line, keys)
        while (line := following()) is not None:
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
            if keys is not None and key in _ENUM and (said := self.bytes_of(value)) not in _ENUM[key]:
                self.blame(Reason.BAD_ENUM, line.start)
                value = _one_of(said, _ENUM[key])
            self.fields.append(Field(key, line.start, value, heredoc))
        for key, reason in _REQUIRED.get(self.word, {}).items():
            if key not in self.seen:
                self.blame(reason, first.start)

    def field_line(self, keys: Collection[bytes] | None) -> Line | None:
        """The next line of a block with these keys; one that is written in another form as it would be."""
        if keys is not None and not self.swallowed:
            self.skip_blanks(lambda text: self.loose_field(text, keys))
        line = None if self.swallowed else self.line()
        match = None if line is None else KEY.match(line.text)
        if line is None or keys is None:
            return line
        if match is not None and match[0] in keys and line.text[match.end() :].lstrip()[:2] not in self.marks:
            return line
        if is_preamble_line(line.text, laws=False):  # which a block of any keys takes
            self.blame(Reason.UNKNOWN_KEY, line.start)
            return None
        if not self.fields:
            self.note_style(line)
        loose = self.loose_field(line.text.decode(), keys)
        if loose is None:
            return line
        self.blame(Reason.STRAY_LINE, line.start)
        return line._replace(text=" ".join(loose).rstrip(" ").encode())

    def loose_field(self, text: str, keys: Collection[bytes]) -> tuple[str, str] | None:
        """The key and the value of a field that is written in another form; of one that is not in upper case, with a
        colon after it or in a case that the block is in, since a line of a value may begin with such a word."""
        loose = _loose(text)
        if loose is None or not (
            loose.mark in (":", "=") or loose.said.isupper() or any(style(loose.said) for style in self.styles)
        ):
            return None
        key = loose.word.encode()
        value = loose.rest if loose.mark in (None, ":", "=") else f"{loose.mark} {loose.rest}"
        return (loose.word, value) if key in keys and key not in self.seen else None

    def value(self, line: Line, key: bytes) -> tuple[Any, bool]:
        """The value of a field, and whether it is a heredoc."""
        self.place = line.next
        opened = None
        if len(line.text) == len(key) or (self.forgiving is not None and not line.text[len(key) :].strip(b" \t")):
            opened = self.cursor.line(line.next)
        elif self.forgiving is not None:
            opened = line._replace(text=line.text[len(key) + 1 :])
        opening = None if opened is None else OPENING.fullmatch(opened.text)
        if opened is not None and opening is not None and opened.start != line.start:
            return self.heredoc(opened, opening), True
        content = None if opened is None or self.forgiving is None else self.loose_heredoc(opened)
        if content is not None:
            return content, True
        return self.cut(line, min(len(key) + 1, len(line.text)), len(line.text)), False

    def heredoc(self, opened: Line, opening: re.Match[bytes]) -> Any:
        """The content of a heredoc, by its opening line."""
        self.within(opened)
        run = len(opening[1])
        closing = heredoc_closing(self.cursor, opened, run, self.bound, self.first.start)
        if isinstance(closing, Reason):
            at = opened.start if closing is Reason.UNCLOSED_HEREDOC else self.first.start
            raise ScanFault(closing, at, opened.next, run)
        self.place = closing.next
        stop = closing.start - (bool(opening[2]) and closing.start > opened.next)
        if self.forgiving is None:
            return opened.next, stop - opened.next
        return self.cursor.data[opened.next : stop].decode()

    def loose_heredoc(self, opened: Line) -> str | None:
        """The content of a heredoc whose marks have white space around them, or begin after the key; what stands
        before its end stands before each line. None if there is none, or no end of it."""
        opening = OPENING.fullmatch(opened.text.strip(b" \t"))
        end = None if opening is None else self.cursor.loose_closing(opened.next, len(opening[1]))
        if opening is None or end is None or end.next > self.bound:
            return None
        self.blame(Reason.STRAY_LINE, opened.start)
        self.place = end.next
        before = end.text[: end.text.index(b">")]
        rows = self.cursor.data[opened.next : end.start].split(b"\n")
        content = b"\n".join(row.removeprefix(before) for row in rows).decode()
        return content.removesuffix("\n") if opening[2] else content

    # --- patches ---

    def patch(self, first: Line) -> None:
        """Reads the lines of a patch."""
        while not self.swallowed and (line := self.line()) is not None:
            if self.forgiving is not None:
                line = self.plain_checkpoint(line)
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

    def plain_checkpoint(self, line: Line) -> Line:
        """A line with BASE or APPLY in another form as it would be; any other line as it is."""
        loose = _loose(line.text.decode())
        key = b"" if loose is None else loose.word.encode()
        if loose is None or key not in _CHECKPOINT:
            return line
        word = _word(loose.rest).encode()
        good = CHECKPOINT.fullmatch(word) is not None
        text = _CHECKPOINT[key][0] + (word if good else loose.rest.encode())
        if good and key not in self.checkpoints and text != line.text:
            self.blame(_CHECKPOINT[key][1], line.start)
        return line._replace(text=text)

    def change(self, line: Line) -> None:
        """One operation of a patch: ``+ DEF N = v``, ``~ DEF N := v`` or ``- DEF N``."""
        span = change_span(line.text)
        if b"APPLY" in self.checkpoints or not CHANGE_LIKE.match(line.text):
            span = Reason.STRAY_LINE
        if not isinstance(span, Reason):
            start, size, at, length = span
            value = self.cut(line, at, at + length) if length >= 0 else None
            self.ops.append((line.text[:1], self.cut(line, start, start + size), value))
        else:
            text = "" if self.forgiving is None else line.text.decode()
            loose = _LOOSE_CHANGE.fullmatch(text)
            if loose is None:
                self.odd_line(line, span)
                return
            self.blame(span, line.start)
            self.ops.append((loose[2].encode(), loose[3], loose[4]))
        self.place = line.next

    # --- what was read ---

    def row(self) -> tuple[int, list[Span], Table]:
        """The code, the spans and the extras of a message that was read strictly."""
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

    def message(self) -> CspMessage:
        """The message that was read leniently."""
        assert self.forgiving is not None, "values are texts"
        sender, receiver, ctx, word = (self.header.get(key) for key in _HEADER)
        intent = Intent(word) if word in BLOCK_WORD else word
        line = self.forgiving.line_of(self.first.start) + 1
        return CspMessage(sender, receiver, ctx, intent, self.made() if self.word else None, line=line)

    def made(self) -> AnyBlock:
        """The block that was read leniently."""
        if self.word == b"PATCH":
            base, apply = (self.checkpoints.get(key) for key in _CHECKPOINT)
            return Patch(self.id, base, [Op(sign.decode(), name, value) for sign, name, value in self.ops], apply)
        fields = [
            (field.key.decode(), "\n".join((field.value, *self.more.get(number, ()))))
            for number, field in enumerate(self.fields)
        ]
        return made_block(self.word.decode(), self.id, fields, self.op)


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


class LenientKey(NamedTuple):
    """A line as models write it: its first word in upper case and as it is said, the sign after it, and the rest."""

    word: str
    said: str
    mark: str | None
    rest: str


def _loose(text: str) -> LenientKey | None:
    """The parts of a line in another form, None if it does not begin with a word."""
    match = _LOOSE.fullmatch(text)
    if match is None:
        return None
    said, mark, rest = match.groups()
    return LenientKey(said.upper(), said, ":" if mark == "：" else mark, rest)


def _word(value: str) -> str:
    """A value that is one word, without what is around it; any other value without white space around it."""
    match = _ENCLOSED.fullmatch(value)
    return value.strip() if match is None else match[1].rstrip(".,;") or value


def _one_of(value: bytes, words: Collection[bytes]) -> str:
    """The one of some words that a value says; the value where it says none."""
    word = _word(value.decode()).upper()
    return word if word.encode() in words else value.decode()


def _loose_block(text: str) -> tuple[str, str] | None:
    """The word and what follows it, of the first line of a block that is written in another form, or None."""
    loose = _loose(text)
    if loose is None or loose.word.encode() not in _WORDS:
        return None
    word, rest = loose.word, loose.rest.rstrip(" \t*_`]").lstrip("*_`")
    letter = ID_LETTER.get(word)
    return (word, rest) if letter is None or re.match(rf"#?{letter}[0-9]+(?!\w)", rest) else None


def _is_no_value(text: str) -> bool:
    """True for a line that continues with no value: one that parts something, or begins as a header or a block does."""
    word, _, rest = text.partition(" ")
    if _RULE.fullmatch(text) or (word in HEADERS and TOKEN.fullmatch(rest.encode())):
        return True
    block = _loose_block(text)
    return block is not None and block[0] in ID_LETTER
