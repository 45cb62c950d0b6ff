"""Texts that the scan of JSON wires goes through, and one object in them: part of ``json/_lines_py``."""

from __future__ import annotations

import re
import sys
from typing import Any

from turnwire.contract import Limits
from turnwire.json._rows_py import EscapeMap
from turnwire.json._text_py import _QUICK, _SURROGATE_ESCAPE, _Doubtful, _Silent
from turnwire.json._wrapper_py import Numbers

DEEPEST_STRING = 8
"""How deep strings inside strings are looked through."""
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)


class Region:
    """Text that is looked through: a line (level 0), or what a JSON string says.

    raw: the text; start: where it is in the block or, from level 1 on, in the arena. inside: where the string's
    inside begins in the text around it. quote: place in the block of the quote of the outermost string.
    """

    def __init__(self, raw: bytes, start: int, outer: Region | None = None, inside: int = 0, quote: int = 0) -> None:
        self.raw = raw
        self.start = start
        self.outer = outer
        self.level: int = 0 if outer is None else outer.level + 1
        self.inside = inside
        self.quote = quote
        self.end = len(raw)
        self.cut = False
        self.several = False  # level 0: it has several lines
        self.values = False  # level 0: it is a line of strings and arrays
        self.written: EscapeMap | Numbers | None = None
        self.numbers = False  # the string is written as an array of bytes
        self.around = -1  # where the good object starts that is looked into
        self.moment: int | bool | None = False  # its time; False: nobody has looked yet
        self.escaped_mark: tuple[int, int, re.Match[bytes] | None] = (
            0,
            -1,
            None,
        )  # from where, to where, and the first

    def outside(self, at: int) -> int:
        """The offset of the byte at ``at`` in the text around the string, as written."""
        if self.written is None:
            assert self.outer is not None, "only a string is inside other text"
            span = self.outer.raw[self.inside : self.inside + self.size_as_written]
            self.written = Numbers(span) if self.numbers else EscapeMap(span)
        return self.inside + self.written.place(at)

    def line_stop(self, at: int) -> int:
        """The end of the line in which the byte at ``at`` is, its line end excluded."""
        newline = self.raw.find(b"\n", at, self.end) if self.level or self.several else -1
        if newline < 0:
            return self.end
        return newline - (newline > at and self.raw[newline - 1] == 0x0D)

    size_as_written = 0

    def in_block(self, at: int) -> int:
        """The offset of the byte at ``at`` in the block, as written there."""
        region = self
        while region.outer is not None:
            at = region.outside(at)
            region = region.outer
        return region.start + at

    def inner(self, at: int) -> int:
        """The offset of the byte at ``at`` within the text of the outermost string."""
        region = self
        while region.outer is not None and region.level > 1:
            at = region.outside(at)
            region = region.outer
        return at


class Tried:
    """The outcome for a tried object: ``RECORD``, ``REJECT``, ``OTHER``, or ``BROKEN`` JSON, which has no end."""

    def __init__(self, what: int, end: int = 0, wire: int = 0, reason: int = 0, fault: int = 0) -> None:
        self.what = what
        self.end = end
        self.wire = wire
        self.reason = reason
        self.fault = fault
        self.value: dict[str, Any] = {}
        self.cut = False
        self.opened: set[int] = set()


BROKEN = 3


class WalkState:
    """The state of the walk through a region: twin of tw_way."""

    def __init__(self, lines: Any) -> None:
        self.done = 0
        self.bad = -1
        self.searched = 0
        self.too_large = False
        self.opened: set[int] = set()
        self.tokens: tuple[int, int, int, Any] = (0, -1, -1, None)  # from and up to where they are known, the first
        self.mark(lines)

    def mark(self, lines: Any) -> None:
        """Remembers how much there is: what begins now may not fit."""
        self.rows, self.rejects = lines.rows, lines.bad
        self.arena, self.parts = lines.arena_size, len(lines.arena)


def parse(raw: bytes, at: int, limits: Limits) -> tuple[dict[str, Any], int]:
    """The object at ``at`` and the offset behind it. Raises DecodeError with reason and offset."""
    if len(raw) - at <= limits.key and raw.count(b"{", at) + raw.count(b"[", at) <= limits.nesting:
        try:
            text = raw[at:].decode()
            if not _SURROGATE_ESCAPE.search(text):
                found, size = _QUICK.raw_decode(text)
                return found, at + (size if text.isascii() else len(text[:size].encode()))
        except (ValueError, _Doubtful, RecursionError):
            pass
    most = sys.get_int_max_str_digits() or limits.integer_digits
    shown = limits._replace(integer_digits=min(limits.integer_digits, most))
    value, behind = _Silent(raw, "json", shown, {}).containers(at)
    return value, behind


def opened_at(raw: bytes, start: int, fault: int) -> set[int]:
    """The starts of the objects that are open at the fault: all of them meet it."""
    starts: list[int] = []
    place = start
    while (token := TOKEN.search(raw, place, fault)) is not None:
        if b'"' in raw[place : token.start()]:
            break  # a string that is not closed before the fault
        place = token.end()
        if raw[token.start()] == 0x7B:
            starts.append(token.start())
        elif raw[token.start()] == 0x7D:
            starts.pop()
    return set(starts)


def quote_before(raw: bytes, at: int, floor: int) -> int:
    """The unescaped quote next to ``at`` from ``floor`` on, or -1."""
    while (at := raw.rfind(b'"', floor, at)) >= 0:
        slashes = at - len(raw[floor:at].rstrip(b"\\")) - floor
        if slashes % 2 == 0:
            return at
    return -1
