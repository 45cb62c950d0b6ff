"""Carriers join text that comes in pieces, line by line or object by object.

Each yields, for each of its keys, one text with a map of its places. A prefix is alike on its lines but for digits and
ANSI sequences; CRI's lines are told apart by their stream, Docker's and journald's objects by stream and container.
Lines of others may stand in between.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from turnwire.csp._lines_py import LETTERS, LOOK_ALIKE_LINE, is_header_like
from turnwire.json._rows_py import EscapeMap
from turnwire.json._text_py import plain
from turnwire.json._wrapper_py import Numbers, bytes_said, message_bytes, wrapper_time
from turnwire.json.times import head_time, read_time
from turnwire.log.search.state import Taken
from turnwire.log.search.texts import BOM, Joiner, Text, lines_of

MOST_PREFIX = 1024
MOST_FOREIGN_LINES, MOST_FOREIGN = 64, 1 << 14
"""Lines, and bytes, of others that may stand between two pieces of one text."""
_ANSI = rb"\x1b\[[0-9;]*[A-Za-z]"
_ANSI_SEQUENCES = re.compile(_ANSI)
_DIGITS = re.compile(rb"[ \t]*[0-9]+")  # lined up, perhaps
_BLANKS = b" \t\r"
_RECORD = re.compile(rb'@[A-Za-z][0-9A-Za-z]*\||\{[ \t]*["}]|\A[^{}]*\}')
"""Nothing of a prefix: something that may be a record of its own, or end one that began in a line before."""
_BEFORE_TEMPLATE = (b" ", b"\t", b">", b"|", b":", b"]")
_OPERATION = re.compile(rb"[+~-] DEF [A-Z_]")
_MAGIC = re.compile(rb"[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]")
_FIRST = re.compile(rb"(?:FROM|TO|CTX|INTENT) +[^ \t\r\n]+[ \t\r\n]*\Z")
CRI = re.compile(
    rb"(?:\xef\xbb\xbf)?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"
    rb" (stdout|stderr) ([PF])(?::[^ \r\n]*)?(?: |(?=\r?(?:\n|\Z)))"
)
_TOKEN = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"|[{}\[\]]', re.DOTALL)
_EMPTY = re.compile(rb"\[[ \t]*(?=\])")
_COLON = re.compile(rb"[ \t]*:[ \t]*")
OPEN: Any = object()
"""More must be there to say which form the lines have."""


def is_prefix(prefix: bytes) -> bool:
    """True if what stands before something on its line can be a prefix of that."""
    if len(prefix) > MOST_PREFIX or prefix == BOM or _RECORD.search(prefix):
        return False
    last = _ANSI_SEQUENCES.sub(b"", prefix)[-4:].decode("utf-8", "replace")[-1:]
    return bool(prefix) and not (last.isalnum() or last == "_")


def is_sentence(prefix: bytes) -> bool:
    """True if a prefix reads as the beginning of a sentence: a template after it is only spoken of."""
    last = prefix.rstrip(b" \t")[-1:]
    return last.isalnum() or last >= b"\x80" or prefix[-1:] not in _BEFORE_TEMPLATE


class _Prefix:
    """A prefix, alike but for its digits and ANSI sequences. Built for each line that may begin something, so that it
    compiles no pattern."""

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        plain = _ANSI_SEQUENCES.sub(b"", prefix) if b"\x1b" in prefix else prefix
        self._literals = _DIGITS.split(plain)

    def taken(self, line: bytes) -> int:
        """Bytes of a line that are the prefix, or -1."""
        if line.startswith(self._prefix):
            return len(self._prefix)
        place = 0
        for number, literal in enumerate(self._literals):
            if number:
                digits = _DIGITS.match(line, _behind_ansi(line, place))
                if digits is None:
                    return -1
                place = digits.end()
            place = _behind_literal(line, place, literal)
            if place < 0:
                return -1
        return _behind_ansi(line, place) if b"\x1b" in self._prefix else place


def _behind_ansi(line: bytes, place: int) -> int:
    while line.startswith(b"\x1b", place) and (found := _ANSI_SEQUENCES.match(line, place)) is not None:
        place = found.end()
    return place


def _behind_literal(line: bytes, place: int, literal: bytes) -> int:
    """Behind a literal at a place, ANSI sequences among it, or -1."""
    while True:
        place = _behind_ansi(line, place)
        escape = line.find(b"\x1b", place, place + len(literal))
        size = len(literal) if escape < 0 else escape - place
        if line[place : place + size] != literal[:size]:
            return -1
        place += size
        literal = literal[size:]
        if not literal:
            return place
        if _ANSI_SEQUENCES.match(line, place) is None:
            return -1


class EveryLinePrefix:
    """The prefix on each line; of a blank line what is left of it without the white space at its end."""

    bare = False

    def __init__(self, prefix: bytes, exact: bool = False) -> None:
        self._prefix = _Prefix(prefix)
        self._blank = None if exact else _Prefix(prefix.rstrip(_BLANKS))
        self.foreign = MOST_FOREIGN_LINES if prefix.strip() else 0

    def taken(self, line: bytes) -> int:
        """Bytes of a line that are the prefix, after a byte order mark, or -1 for a line that has none."""
        mark = 3 * line.startswith(BOM)
        taken = self._prefix.taken(line[mark:])
        if taken >= 0 or self._blank is None:
            return taken if taken < 0 else mark + taken
        taken = self._blank.taken(line[mark:])
        return -1 if taken < 0 or line[mark + taken :].strip() else len(line.rstrip(b" \t\r\n"))


class IndentPrefix:
    """White space as wide as the prefix, as below the mark of a list."""

    bare = False
    foreign = 0

    def __init__(self, width: int) -> None:
        self._spaces = b" " * width

    def taken(self, line: bytes) -> int:
        """As :meth:`EveryLinePrefix.taken`."""
        if line.startswith(self._spaces):
            return len(self._spaces)
        return -1 if line.strip(b" \t\r\n") else len(line.rstrip(b"\r\n"))


class FirstLinePrefix:
    """Nothing before the lines after the first one; one that begins like that ends the message."""

    bare = True
    foreign = 0

    def __init__(self, prefix: bytes) -> None:
        self._prefix = _Prefix(prefix) if prefix.strip(b" \t") else None

    def taken(self, line: bytes) -> int:
        """As :meth:`EveryLinePrefix.taken`, for the lines of the log around the message."""
        return -1 if self._prefix is None or _OPERATION.match(line) else self._prefix.taken(line)


def form_of(text: Text, prefix: bytes, place: int, taken_lines: Taken) -> Any:
    """The form that the lines after a first one with that prefix have, told by the first of them that is not blank and
    belongs to no other text; None if no message continues there; OPEN."""
    repeated, hanging = EveryLinePrefix(prefix), IndentPrefix(len(prefix))
    foreign = size = 0
    marked = LETTERS.search(prefix) is None
    damaged = False  # the first line may be a damaged one of the header; ordinary text has no second one like that
    for start, behind in lines_of(text.data, place):
        if taken_lines.behind(start) > start:
            continue
        line = text.data[start:behind]
        if not line.endswith(b"\n") and not text.final:
            return OPEN
        size += len(line)
        taken = repeated.taken(line)
        if taken >= 0:
            if line[taken:].strip():
                return None if _MAGIC.match(line, taken) else repeated
            continue
        if not line.strip():
            continue
        content = line.rstrip(b"\r\n")
        if not foreign:
            if hanging.taken(line) >= 0 and _FIRST.match(line, len(prefix)):
                return hanging
            if _FIRST.match(line) or (LOOK_ALIKE_LINE.match(line) and not is_sentence(prefix)):
                return FirstLinePrefix(prefix)
            damaged = is_header_like(content, marked) and head_time(content[:256]) is None
        elif foreign == 1 and damaged and is_header_like(content, marked):
            return FirstLinePrefix(prefix)
        foreign += 1
        if foreign > repeated.foreign + damaged or size > MOST_FOREIGN:
            return None
    if not text.final:
        return OPEN
    return FirstLinePrefix(prefix) if damaged and foreign == 1 else None


Lines = list[tuple[tuple[int, int], int]]
"""Lines, each with the place in the text that its piece begins at."""


def gathered(text: Text, line: int, at: int, form: Any, most: int, taken_lines: Taken) -> tuple[Text, Lines, bool]:
    """The lines of a form that belong to no other text, from what stands at ``at`` on, up to ``most`` bytes of text.

    (text, its lines, whether no more can follow)."""
    joiner = Joiner(text, "prefix")
    spans: Lines = []
    foreign = size = 0
    whole = text.final
    for start, behind in lines_of(text.data, line):
        if start > line and taken_lines.behind(start) > start:
            continue
        piece = text.data[start:behind]
        if not piece.endswith(b"\n") and not text.final:
            whole = False
            break
        taken = at - line if start == line else form.taken(piece)
        if taken < 0:
            foreign += 1
            size += len(piece)
            if foreign > form.foreign or size > MOST_FOREIGN:
                whole = True
                break
            continue
        foreign = size = 0
        spans.append(((start, behind), joiner.size))
        joiner.add(piece[taken:], start + taken)
        if joiner.size >= most:
            whole = behind == len(text.data) and text.final
            break
    return joiner.text(whole), spans, whole


def of_object(value: dict[str, Any]) -> str | None:
    """The carrier whose lines are objects like this one."""
    if isinstance(value.get("log"), str) and value.get("stream") in ("stdout", "stderr"):
        return "docker"
    if "__REALTIME_TIMESTAMP" in value and isinstance(value.get("MESSAGE"), str | list):
        return "journald"
    return None


def _key(carrier: str, value: dict[str, Any]) -> tuple[str, ...]:
    names = (
        ("stream", "container_id", "container_name", "container")
        if carrier == "docker"
        else ("CONTAINER_ID", "CONTAINER_ID_FULL", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER", "_PID")
    )
    return tuple(str(value.get(name, "")) for name in names)


def _member(data: bytes, at: int, key: bytes) -> tuple[bytes, int, EscapeMap | Numbers | None] | None:
    """The text of a member of the object at ``at``, its place, and the map of its places."""
    depth, place = 0, at
    while (token := _TOKEN.search(data, place)) is not None:
        place = token.end()
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if not depth:
                return None
        elif depth == 1 and token[1] == key and (colon := _COLON.match(data, place)) is not None:
            value = _TOKEN.match(data, colon.end())
            if value is not None and value[1] is not None:
                return plain(value[1]), value.start(1), EscapeMap(value[1]) if b"\\" in value[1] else None
            array = message_bytes(data, place)
            if array is None:
                empty = _EMPTY.match(data, colon.end())
                return None if empty is None else (b"", empty.end(), None)
            written = data[array[1] : array[2]]
            return bytes_said(written), array[1], Numbers(written)
    return None


class Piece(NamedTuple):
    """One line of a carrier.

    key: whose it is; text, place, written: what it says, where that is, and the map of its places; goes_on: the rest is
    in the next piece; line_end: a line end is to be added.
    """

    key: tuple[str, ...]
    text: bytes
    place: int
    written: EscapeMap | Numbers | None
    time: int | None
    goes_on: bool
    line_end: bool = False


def _cri_piece(text: Text, start: int, behind: int) -> Piece | None:
    head = CRI.match(text.data, start, behind)
    if head is None:
        return None
    part = head[3] == b"P"
    stop = text.line_end(start) if part else behind
    moment = read_time(head[1])
    said = text.data[head.end() : stop]
    return Piece((head[2].decode(),), said, head.end(), None, None if moment is None else moment[0], part)


def _object_piece(text: Text, start: int, behind: int, carrier: str) -> Piece | None:
    value = _object(text.data[start:behind])
    if value is None or of_object(value) != carrier:
        return None
    member = _member(text.data, start, b"log" if carrier == "docker" else b"MESSAGE")
    if member is None:
        return None
    time = wrapper_time(text.data, text.data.index(b"{", start))
    line_end = carrier == "journald" and value.get("CONTAINER_PARTIAL_MESSAGE") != "true"
    return Piece(_key(carrier, value), *member, time, not line_end and not member[0].endswith(b"\n"), line_end)


def run_of(
    text: Text, at: int, carrier: str, taken_lines: Taken, others: tuple[int, int] | None
) -> tuple[dict[tuple[str, ...], Joiner], list[tuple[int, int]], bool]:
    """The lines of a carrier from ``at`` on: (a text for each key, their lines, whether no more can follow). What is in
    parts has the time of the first one. An object that says several lines by itself is a text by itself, so that the
    message in it ends there: it is none of these lines. others: of a run that continues, the lines and bytes of others
    since its last line; any other one begins at ``at`` or nowhere."""
    joiners: dict[tuple[str, ...], Joiner] = {}
    times: dict[tuple[str, ...], int | None] = {}
    spans: list[tuple[int, int]] = []
    foreign, size = others or (0, 0)
    for start, behind in lines_of(text.data, at):
        piece = None
        if taken_lines.behind(start) == start:
            piece = _cri_piece(text, start, behind) if carrier == "cri" else _object_piece(text, start, behind, carrier)
        alone = piece is not None and carrier != "cri" and not piece.goes_on and b"\n" in piece.text[:-1]
        if piece is None or (alone and piece.key not in times):
            foreign += 1
            size += behind - start
            if (not spans and others is None) or foreign > MOST_FOREIGN_LINES or size > MOST_FOREIGN:
                return joiners, spans, True
            continue
        foreign = size = 0
        joiner = joiners.setdefault(piece.key, Joiner(text, carrier))
        joiner.add(piece.text, piece.place, piece.written, times.setdefault(piece.key, piece.time))
        if piece.line_end:
            joiner.end_line()
        if not piece.goes_on:
            del times[piece.key]
        spans.append((start, behind))
    return joiners, spans, text.final


def _object(line: bytes) -> dict[str, Any] | None:
    line = line.removeprefix(BOM).strip()
    if not line.startswith(b"{") or not line.endswith(b"}"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
