"""CSP/1 behind something that is in front of its lines: the prefix of a log, white space, the ``>`` of a quote.

The first line is ``<prefix>CSP/1``. What follows has one of three forms, told by the first line that is not blank and
that has to begin like a header line: *repeated*, the same prefix on each line, alike but for the digits in it;
*hanging*, white space as wide as the prefix, as below the mark of a list; *bare*, nothing in front, as of a logger that
marks records and not lines. Where the prefix begins with the head of a line of CRI, its lines are those of the same
stream, parts put together, and the three forms are those of what is behind the head.

The lines end where a line cannot belong to the message: by the prefix, by another first line, by what the line says.
So the records of a log that follow a message are none of it, although at the start of lines they would damage it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Protocol

from turnwire.framing.lines import MOST_PREFIX, Assembly, Block, Piece
from turnwire.framing.parts import CRI, Joined, cri_part, joined
from turnwire.framing.templates import MOST_LINE, Alike, is_one, template_at

__all__ = ["Prefixed"]

_MAGIC = re.compile(rb"CSP/1\r?\n?\Z")
_DIGITS = re.compile(rb"[0-9]+")
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_BLANKS = b" \t\r"
_BOM = b"\xef\xbb\xbf"
_INDENT = re.compile(rb"[ \t]*(?:>[ \t]*)*")
_FIRST = re.compile(rb"(?:FROM|TO|CTX|INTENT) +[^ \t\r\n]+[ \t\r\n]*\Z")
"""A header line with its one word: ``FROM python:3.11 AS base`` is none."""
# Which lines can be a message's own, as in the bulk scan of CSP/1 (_native/csp/bulk.pxi):
_OWN = re.compile(rb"[A-Z][A-Z0-9_]*(?: |\Z)|[+~-] DEF |<{3,}-?\Z")
_BODY = re.compile(rb"(?:PLAN|TASK|RESULT|ERROR|QUERY|PATCH|FILEOP|MEM)(?: |\Z)")
_RECORD = re.compile(rb'@[A-Za-z][0-9A-Za-z]*\||\{[ \t]*["}]|\A[^{}]*\}')
"""What a prefix has not: something that may be a record of its own, or end one that began in a line before."""
_OPERATION = re.compile(rb"[+~-] DEF [A-Z_]")
_OPENING = re.compile(rb"(<{3,})-?")
_ENDING = re.compile(rb"CSP[ \t]*/[ \t]*[0-9]")
_CLOSING = re.compile(rb"(?<=\n)>{3,}(?=\r?(?:\n|\Z))")


class Form(Protocol):
    """How the lines behind the first one begin."""

    def taken(self, line: bytes) -> int:
        """How many bytes of a line (without its end) are prefix, or -1 for a line that does not belong there."""


class _Alike:
    """A prefix, but for its digits. It does not end in one.

    shape: it, with 0 for each digit. literals: what is between its numbers: one of hundreds is not cut for each line.
    """

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self.shape = prefix.translate(_ZEROS)
        self.literals = _DIGITS.split(prefix)

    def taken(self, line: bytes) -> int:
        """Bytes of ``line`` that are the prefix, or -1."""
        size = len(self.prefix)
        if line.startswith(self.prefix) or line[:size].translate(_ZEROS) == self.shape:
            return size
        place = 0
        for number, literal in enumerate(self.literals):
            if number:
                run = _DIGITS.match(line, place)
                if run is None:
                    return -1
                place = run.end()
            if not line.startswith(literal, place):
                return -1
            place += len(literal)
        return place


class Repeated:
    """The prefix on each line; of a blank line what is left of it without the white space at its end."""

    def __init__(self, prefix: bytes) -> None:
        self._alike = _Alike(prefix)
        bare = prefix.rstrip(_BLANKS)
        self._bare_shape = _DIGITS.sub(b"0", bare)
        self._bare_start = _DIGITS.split(bare, maxsplit=1)[0]

    def taken(self, line: bytes) -> int:
        """As :class:`Form` says."""
        size = self._alike.taken(line)
        if size >= 0:
            return size
        if not line.startswith(self._bare_start):
            return -1
        line = line.rstrip(_BLANKS)
        return len(line) if _DIGITS.sub(b"0", line) == self._bare_shape else -1


class Hanging:
    """White space as wide as the prefix."""

    def __init__(self, width: int) -> None:
        self.spaces = b" " * width

    def taken(self, line: bytes) -> int:
        """As :class:`Form` says."""
        if line.startswith(self.spaces):
            return len(self.spaces)
        return -1 if line.strip(_BLANKS) else len(line)


class Bare:
    """No prefix; a line that begins like the first one ends it."""

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self._alike = _Alike(prefix)

    def taken(self, line: bytes) -> int:
        """As :class:`Form` says."""
        if not self.prefix or _OPERATION.match(line):  # "- " may be a prefix, too
            return 0
        return -1 if self._alike.taken(line) >= 0 else 0


class Body:
    """Which lines behind ``CSP/1``, without their prefix, can belong to its message."""

    HEADER, GAP, BLOCK, TAIL = range(4)

    def __init__(self) -> None:
        self.state = self.HEADER
        self.run = 0
        self.any = False

    def takes(self, line: bytes) -> bool:
        """Whether the next line (without its end) belongs to the message."""
        if self.run:
            if line == b">" * self.run:
                self.run = 0
            return True
        if not line or not line.strip(_BLANKS):
            if self.any and self.state in (self.HEADER, self.BLOCK):
                self.state += 1
            return True
        if self.state == self.TAIL or not (_BODY if self.state == self.GAP else _OWN).match(line):
            return False
        if line.startswith(b"CSP") and _ENDING.match(line):
            return False
        self.any = True
        if self.state == self.GAP:
            self.state = self.BLOCK
        opening = _OPENING.fullmatch(line) if line.startswith(b"<") else None
        if opening is not None:
            self.run = len(opening[1])
        return True


class Prefixed:
    """Finds CSP/1 behind prefixes in one block. ``claimed``: starts of lines that belong to something already."""

    def __init__(self, block: Block, claimed: set[int]) -> None:
        self.block = block
        self.claimed = claimed
        self._closings: dict[int, list[int]] | None = None
        self._made: tuple[bytes, list[Form]] | None = None
        self.done = True

    def at(self, line: int, behind: int) -> Assembly | None:
        """The message whose first line this is; None where it is none, or where (``done`` is false then) that cannot be
        said before there are more bytes."""
        self.done = True
        head = self.block.view[max(line, behind - 8) : behind].tobytes()
        magic = _MAGIC.search(head)
        if magic is not None:
            at = behind - len(head) + magic.start()
        elif behind - line <= MOST_LINE:
            at = line + template_at(self.block.view[line:behind].tobytes())
        else:
            return None
        if not 0 < at - line <= MOST_PREFIX:
            return None
        prefix = self.block.view[line:at].tobytes()
        cri = CRI.match(prefix)
        first = [Piece(line, behind, at, self.block.view[at:behind].tobytes())]
        return self._begun(first, prefix, None if cri is None else cri.end(), cri and cri[1], magic is not None)

    def behind_parts(self, found: Joined, stream: bytes | None) -> Assembly | None:
        """The same for a first line that CRI cut into parts."""
        self.done = True
        line = b"".join(piece.text for piece in found.pieces)
        magic = _MAGIC.search(line[-8:])
        at = template_at(line[:MOST_LINE]) if magic is None else max(len(line) - 8, 0) + magic.start()
        if not 0 <= at <= MOST_PREFIX or (magic is None and len(line) > MOST_LINE):
            return None
        return self._begun(_without(found.pieces, at), line[:at], 0, stream, magic is not None)

    def _begun(
        self, first: list[Piece], prefix: bytes, head: int | None, stream: bytes | None, exact: bool
    ) -> Assembly | None:
        """The message that begins with these pieces of a line. head: bytes of the prefix that are CRI's, None where it
        is not a line of CRI, exact: whether the line is ``CSP/1`` but for its prefix."""
        if prefix == _BOM or _RECORD.search(prefix) or (prefix and (_last(prefix).isalnum() or prefix.endswith(b"_"))):
            return None
        own = prefix if head is None else prefix[head:]
        form = self._form(own, first[-1].behind, stream) if exact else None
        if form is None and head and exact and self.done:
            stream, own = None, prefix  # no log of CRI: what is there only looks so
            form = self._form(prefix, first[-1].behind, None)
        if not self.done:
            return None
        if form is None:
            pieces = self._template(first, own, stream, exact)
        else:
            pieces = self._pieces(first, form, stream)
        if not self.done or not pieces:
            return None
        kind = "indent" if _INDENT.fullmatch(prefix) or isinstance(form, Hanging) else "prefix"
        return Assembly(kind, pieces, self.block.time(first[0].line))

    def _template(self, first: list[Piece], own: bytes, stream: bytes | None, exact: bool) -> list[Piece]:
        """The lines of a template or a look-alike; nothing where it is none."""
        text = b"".join(piece.text for piece in first)
        alike = Alike(text, exact, plain=_INDENT.fullmatch(own) is not None)
        if not alike.may_be:
            return []
        forms = self._forms(own)
        pieces, kept = [*first], len(first)
        for found in self._lines(first[-1].behind, stream):
            line = _content(found)
            taken, forms = _agreed(forms, line, alike)
            if taken < 0 or not alike.takes(line[taken:]):
                self.done = True
                break
            pieces += _without(found, taken)
            kept = len(pieces) if line[taken:].strip(_BLANKS) else kept
        if not self.done or (exact and kept == len(first)):
            return []  # the line CSP/1 alone is neither
        pieces = pieces[:kept]
        said = b"".join(piece.text for piece in pieces)
        return pieces if is_one(said, own, exact) else []

    def _lines(self, place: int, stream: bytes | None) -> Iterator[list[Piece]]:
        """The lines from ``place`` on, each as its pieces; of a log of CRI those of the stream. A line of more than
        ``block.reach`` bytes ends them. ``done`` becomes false where the bytes end before the input does."""
        block = self.block
        if stream is None:
            for start, line in block.lines(place):
                place = start + len(line)
                if len(line) > block.reach:
                    return
                if not block.ended(place):
                    place = start
                    break
                yield [Piece(start, place, start, line)]
        while stream is not None and place < block.stop:
            found = joined(block, place, cri_part, stream, self.claimed)
            if not found.done:
                break
            if not found.pieces or found.behind - place > block.reach:
                return
            yield found.pieces
            place = found.behind
        # Parts that reach that far are too long, whatever the line is that is not there yet.
        self.done = block.final or block.stop - place > 2 * block.reach

    def _forms(self, prefix: bytes) -> list[Form]:
        """The forms that lines after that prefix may have: those of the last one again where it is the same."""
        if self._made is None or self._made[0] != prefix:
            forms: list[Form] = [Repeated(prefix), Hanging(len(prefix)), Bare(prefix)] if prefix else [Bare(prefix)]
            self._made = prefix, forms
        return self._made[1]

    def _form(self, prefix: bytes, place: int, stream: bytes | None) -> Form | None:
        """The form that the first line with anything in it has; None where that does not begin like a header line."""
        forms = self._forms(prefix)
        size = 0
        for pieces in self._lines(place, stream):
            line = _content(pieces)
            size += sum(len(piece.text) for piece in pieces)
            for form in forms:
                taken = form.taken(line)
                if taken >= 0 and _FIRST.match(line, taken):
                    return form
            taken = max(forms[0].taken(line), 0)
            if line[taken:].strip(_BLANKS) or size > self.block.limit:
                return None
        return None

    def _pieces(self, first: list[Piece], form: Form, stream: bytes | None) -> list[Piece]:
        """The lines of the message; no blank ones at the end."""
        body = Body()
        pieces = [*first]
        kept = len(pieces)
        size = sum(len(piece.text) for piece in first)
        sure = first[-1].behind  # up to there all lines belong to an open heredoc
        again = 0  # where a message may begin in a heredoc that may never be closed
        for found in self._lines(sure, stream):
            line = _content(found)
            place = found[0].place
            taken = 0 if place < sure else form.taken(line)
            text = line[taken:]
            inside = body.run
            if taken < 0 or not body.takes(text):
                self.done = True
                break
            if not inside:
                again = 0
            elif text.startswith(b"CSP") and _ENDING.match(text):
                again = len(pieces)
            size += sum(len(piece.text) for piece in found) - taken
            if size > self.block.limit:  # with this line it is too large; what is open without it is refused for that
                self.done = True
                return pieces[: again or None] if inside else pieces + _without(found, taken)
            if body.run and isinstance(form, Bare) and stream is None and place >= sure:
                closing = self._closing(found[-1].behind, body.run, first[0].place)
                if closing is None:
                    self.done = False
                    return []
                if closing < 0:  # as of any message, what is behind that is none of it
                    pieces += _without(found, taken)
                    self.done = True
                    return pieces
                sure = closing
            pieces += _without(found, taken)
            kept = len(pieces) if text.strip(_BLANKS) or body.run else kept
        else:
            self.done = self.done or body.state == Body.TAIL
        return pieces[:kept]

    def _closing(self, place: int, run: int, start: int) -> int | None:
        """Where the line begins that closes a heredoc, lines without prefix; -1 where none does that can; None where
        it may still come."""
        if self._closings is None:
            self._closings = {}
            for match in _CLOSING.finditer(self.block.view, self.block.start, self.block.stop):
                self._closings.setdefault(match.end() - match.start(), []).append(match.start())
        closings = self._closings.get(run, [])
        number = bisect_left(closings, place)
        if number < len(closings) and closings[number] - start <= self.block.limit:
            return closings[number]
        more = not self.block.final and number == len(closings) and self.block.stop - start <= self.block.limit
        return None if more else -1


def _agreed(forms: list[Form], line: bytes, alike: Alike) -> tuple[int, list[Form]]:
    """How much of a line is prefix (-1: too little), and the forms that it still may have."""
    if not line.strip(_BLANKS):
        return len(line), forms
    for form in forms:
        taken = form.taken(line)
        if taken >= 0 and alike.own(line[taken:], isinstance(form, Bare) and form.prefix != b""):
            return taken, [form]
    return -1, forms


def _last(prefix: bytes) -> str:
    """The last character of a prefix; of bytes that are not UTF-8, a sign."""
    return prefix[-4:].decode("utf-8", "replace")[-1]


def _content(pieces: list[Piece]) -> bytes:
    """What a line says, without its end."""
    line = pieces[0].text if len(pieces) == 1 else b"".join(piece.text for piece in pieces)
    return line[: -2 if line.endswith(b"\r\n") else -1] if line.endswith(b"\n") else line


def _without(pieces: list[Piece], taken: int) -> list[Piece]:
    """The pieces of a line without its first bytes, which stand in the first of them unless that is short."""
    if not taken:
        return pieces
    result = []
    for line, behind, place, text, span in pieces:
        cut = min(taken, len(text))
        taken -= cut
        result.append(Piece(line, behind, place + cut, text[cut:], span))
    return result
