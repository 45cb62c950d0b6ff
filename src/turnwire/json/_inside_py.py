"""Search for messages inside good JSON and inside its strings, in plain Python: part of ``json/_lines_py``."""

from __future__ import annotations

from typing import Any

from turnwire.json import _others_py as among
from turnwire.json._region_py import DEEPEST_STRING, TOKEN, Region, Tried, WalkState
from turnwire.json._unescape_py import plain
from turnwire.json._wrapper_py import bytes_said, message_bytes
from turnwire.json.plan import RECORD, REJECT


class OutOfRoom(Exception):
    """There is no room for a row or a reject."""


class NestedSearch:
    """Looks into strings and objects, for the class that scans lines."""

    plan: Any
    arena: list[bytes]
    arena_size: int
    rows: int
    bad: int
    partial: int
    string_rejects: int
    has_mark: Any
    walk_string: Any
    emit: Any
    reject: Any
    try_object: Any
    take_back: Any

    def literal(self, region: Region, quote: int, start: int, end: int, numbers: bool = False) -> None:
        """Looks through what the string (``numbers``: the array of bytes) says whose inside is ``start`` to ``end``."""
        text = bytes_said(region.raw[start:end]) if numbers else plain(region.raw[start:end])
        outermost = region.quote if region.level else region.start + quote
        inside = Region(text, self.arena_size, region, start, outermost)
        inside.size_as_written, inside.numbers = end - start, numbers
        if not region.level:
            self.string_rejects = 0
        rows, bad, size, parts = self.rows, self.bad, self.arena_size, len(self.arena)
        self.arena.append(text + b"\n")
        self.arena_size += len(text) + 1
        try:
            self.walk_string(inside)
        finally:
            if (self.rows, self.bad) == (rows, bad):  # nobody points there
                del self.arena[parts:]
                self.arena_size = size

    def inside(self, region: Region, at: int, end: int) -> None:
        """Looks into the good object from ``at`` to ``end``, which is not a message: its objects and its strings. The
        outermost of objects in objects gives its time to the records in it."""
        if region.around >= 0:
            return self.inside_object(region, at, end)
        region.around, region.moment = at, False
        try:
            self.inside_object(region, at, end)
        finally:
            region.around = -1

    def inside_object(self, region: Region, at: int, end: int) -> None:
        objects = any(token in region.raw[at:end] for token in self.plan.inside)
        place = at + 1
        while place < end:
            token = TOKEN.search(region.raw, place, end)
            if token is None:
                return
            first, place = token.span()
            before = WalkState(self)
            try:
                place = self.inner_token(region, first, place, end, objects)
            except OutOfRoom:
                if not region.level and self.partial < 0:
                    self.partial = first
                    self.take_back(before)
                raise

    def inner_token(self, region: Region, first: int, place: int, end: int, objects: bool) -> int:
        """Looks into the string or brace from ``first`` to ``place`` of a good object; where to go on."""
        if region.raw[first] == 0x22:
            text = region.raw[first + 1 : place - 1]
            object_inside = b"\\" in text and b"{" in text
            worth = object_inside or (self.plan.nslip and among.look(text)) or self.has_mark(text)
            array = message_bytes(region.raw, place) if text == b"MESSAGE" and not worth else None
            if region.level < DEEPEST_STRING and (worth or array):
                span = array or (first, first + 1, place - 1)
                self.literal(region, *span, numbers=array is not None)
            return place if array is None else array[2] + 1
        if region.raw[first] == 0x7B and objects:
            tried: Tried = self.try_object(region, first, end)
            if tried.what == RECORD:
                self.emit(region, first, tried)
                return tried.end
            if tried.what == REJECT:
                self.refused(region, first, tried)
                return tried.end
        return place

    def refused(self, region: Region, at: int, tried: Tried) -> None:
        """Looks into an object that a wire claims and refuses: a reject, unless there is something in it."""
        before = self.rows, self.bad
        self.inside(region, at, tried.end)
        if (self.rows, self.bad) == before:
            self.reject(region, at, tried.end, tried.fault, tried.wire, tried.reason)
