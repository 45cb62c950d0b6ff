"""The bulk scan of JSON wires in plain Python: the readable twin of ``_native/json/lines.pyx`` (and json/walk.h).

A line is gone through from one ``{`` to the next. What a ``{`` begins is tried as a JSON object: a message of a wire is
a record; good JSON that is none is looked into, its objects and its strings; damaged JSON waits until a record follows
or the line ends, and is then a reject where it carries the marks of a wire, text otherwise. The whole rule is in
docs/scan.md.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire._pure.json import others as among
from turnwire._pure.json import parts as between
from turnwire._pure.json.lines_plan import Plan
from turnwire._pure.json.region import (
    BROKEN,
    DEEPEST_STRING,
    TOKEN,
    Region,
    Tried,
    Way,
    opened_at,
    parse,
    quote_before,
)
from turnwire._pure.json.rows import Filled, filled, time_of
from turnwire._pure.json.text import Reader
from turnwire._pure.json.unescape import plain
from turnwire._pure.json.wrapper import Times, bytes_said, message_bytes
from turnwire.contract import LIMITS, WIRES
from turnwire.errors import DecodeError, Reason
from turnwire.json.plan import OTHER, RECORD, REJECT, Judgement

__all__ = ["Plan", "plain", "scan_block"]

STRING_REJECTS = 512
_OPENING = re.compile(rb'\{[ \t\r\n]*(?:(["}])|(?:[ \t\r\n]|\\+[nrt])*+\\+")')
_QUOTE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)


class _Full(Exception):
    """There is no room for a row or a reject."""


class _Lines(among.Among, Times):
    """One call of :func:`scan_block`: the same state as tw_lines in json/scan.h."""

    plan: Plan

    def __init__(
        self, plan: Plan, data: bytes, columns: dict[str, Any], rejects: dict[str, Any], limit: int, keep: bool
    ) -> None:
        self.plan = plan
        self.data = data
        self.columns = columns
        self.reject_columns = rejects
        self.limit = limit
        self.keep = keep
        self.limits = LIMITS._replace(message=limit)
        self.judgement = Judgement(plan.plans, plan.reasons, Reader("json").read, limit)
        self.arena: list[bytes] = [columns.get("arena", b"")]
        self.arena_size = len(self.arena[0])
        self.rows = self.room = self.bad = self.reject_room = 0
        self.base = self.head = 0
        self.line = 1
        self.head_known = 0
        self.head_time = 0
        self.carried = False
        self.string_rejects = 0
        self.stopped = 0
        self.partial = -1
        self.rows_full = self.mute = False

    # --- rows and rejects ---

    def emit(self, region: Region, at: int, tried: Tried) -> None:
        """Stores the record from ``at`` to its end."""
        plan = self.plan.plans[tried.wire]
        variant = plan.variants[plan.variant_of(tried.value)]
        shift = len(self.data) if region.level else 0
        values, present = self.row(region, at, tried.end, WIRES.index(plan.wire))
        noted = self.plan.reading.noted(region.raw, at)
        time = None
        for fill in variant.fills:
            there = noted.get(fill.path, noted.get(fill.other))
            if fill.column == "time":
                time = None if there is None else time_of(region.raw, there)
                continue
            known = self.plan.reading.values.get(fill.path if fill.path in noted else fill.other)
            found = filled(fill, known, region.raw, there)
            if found is not None and self.wanted(fill.column):
                added = fill.constant if fill.how == "word" else 0
                present |= self.value(values, fill.column, found, added, region.start + shift)
        self.store(region, at, values, present, time)

    def row(self, region: Region, at: int, end: int, wire: int) -> tuple[dict[str, Any], int]:
        """What any record has: its columns, and its bits of ``present``."""
        if self.rows == self.room:
            self.rows_full = True
            raise _Full
        values: dict[str, Any] = {
            "place": region.start + at + (len(self.data) if region.level else 0),
            "size": end - at,
            "line": self.line,
            "wire": wire,
            "inner": region.inner(at) if region.level else 0,
            "offset": self.base + (region.quote if region.level else region.start + at),
            "length": region.in_block(end) - region.in_block(at),
        }
        return values, 1 << self.plan.valid.get("inner", 63) if region.level and "inner" in self.columns else 0

    def store(self, region: Region, at: int, values: dict[str, Any], present: int, time: int | None) -> None:
        """Stores a row; a time that it lacks stands at the head of its line."""
        row = self.rows
        self.rows += 1
        if "time" in self.columns:
            time = self.time_at_head(region, at) if time is None else time
            values["time"] = time or 0
            present |= 0 if time is None else 1 << self.plan.valid.get("time", 63)
        values["present"] = present
        for name, array in self.columns.items():
            if name != "arena":
                array[row] = values.get(name, 0)

    def wanted(self, column: str) -> bool:
        return column in self.columns or f"{column}.length" in self.columns

    def value(self, values: dict[str, Any], column: str, found: Filled, constant: int, start: int) -> int:
        """Puts what was found for a column (and ``constant`` on top) among the values of its row; returns its bits."""
        if self.plan.kinds.get(column) == "text":
            values[f"{column}.offset"] = start + found.start
            values[f"{column}.length"] = found.end - found.start
            return 1 << self.plan.valid[column] | (1 << self.plan.escaped[column] if found.escaped else 0)
        values[column] = found.value + constant
        return 1 << self.plan.valid[column]

    def reject(
        self, region: Region, at: int, end: int, fault: int, wire: int, reason: int, code: int | None = None
    ) -> None:
        """Stores the reject from ``at`` to ``end``; ``code``: the wire's number, where it has no plan."""
        if self.mute:
            return
        if region.level:
            self.string_rejects += 1
            if self.string_rejects > STRING_REJECTS:
                return
        first = region.in_block(at)
        row = {
            "offset": self.base + first,
            "length": region.in_block(end) - first,
            "line": self.line,
            "fault": self.base + region.in_block(fault),
            "reason": reason,
            "wire": WIRES.index(self.plan.plans[wire].wire) if code is None else code,
            "inner": region.inner(at) if region.level else -1,
        }
        if not self.put_reject(row):
            raise _Full

    def put_reject(self, row: dict[str, int]) -> bool:
        """Stores a reject, if there is room, with the number of rows before it."""
        if self.bad == self.reject_room:
            return False
        row["row"] = self.rows
        for name, array in self.reject_columns.items():
            array[self.bad] = row[name]
        self.bad += 1
        return True

    # --- one candidate ---

    def try_object(self, region: Region, at: int, end: int) -> Tried:
        """What the object at ``at`` of a region is."""
        raw = region.raw[:end] if end < len(region.raw) else region.raw
        try:
            value, behind = parse(raw, at, self.limits)
        except DecodeError as error:
            tried = Tried(BROKEN)
            tried.cut = error.reason in (Reason.CUT_OFF, Reason.UNTERMINATED_STRING)
            tried.opened = opened_at(raw, at, error.offset or 0)
            return tried
        what, wire, reason, fault = OTHER, 0, 0, 0
        if self.may_be(value):
            what, wire, reason, fault = self.judgement.whole(raw[at:behind])
        tried = Tried(what, behind, wire, reason, at + fault)
        tried.value = value
        return tried

    def may_be(self, value: dict[str, Any]) -> bool:
        """Whether an object may be a message of a wire, good or not: whether it is worth asking."""
        return any(all(path in value for path in clue) for plan in self.plan.plans for clue in plan.clues)

    # --- strings ---

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
            self.walk(inside)
        finally:
            if (self.rows, self.bad) == (rows, bad):  # nobody points there
                del self.arena[parts:]
                self.arena_size = size

    # --- inside good JSON ---

    def inside(self, region: Region, at: int, end: int) -> None:
        """Looks into the good object from ``at`` to ``end``, which is no message: its objects and its strings. The
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
            before = Way(self)
            try:
                place = self.inner_token(region, first, place, end, objects)
            except _Full:
                if not region.level and self.partial < 0:
                    self.partial = first
                    self.take_back(before)
                raise

    def inner_token(self, region: Region, first: int, place: int, end: int, objects: bool) -> int:
        """Looks into the string or brace from ``first`` to ``place`` of a good object; where to go on."""
        if region.raw[first] == 0x22:
            text = region.raw[first + 1 : place - 1]
            object_inside = b"\\" in text and b"{" in text
            worth = object_inside or (self.plan.nslip and among.look(text))
            array = message_bytes(region.raw, place) if text == b"MESSAGE" and not worth else None
            if region.level < DEEPEST_STRING and (worth or array):
                span = array or (first, first + 1, place - 1)
                self.literal(region, *span, numbers=array is not None)
            return place if array is None else array[2] + 1
        if region.raw[first] == 0x7B and objects:
            tried = self.try_object(region, first, end)
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

    # --- the way through a region ---

    def settle(self, region: Region, at: int, end: int, too_large: bool) -> None:
        """The damaged bytes from ``at`` to ``end``: a reject where they carry the marks of a wire, text otherwise."""
        raw = b"" if self.mute else region.raw[at:end]
        if any(token in raw for token in self.plan.torn):
            what, wire, reason, fault = self.judgement.torn(raw, too_large)
            if what == REJECT:
                self.reject(region, at, end, at + fault, wire, reason)

    def settle_before(self, region: Region, way: Way, place: int) -> None:
        if way.bad >= 0:
            self.settle(region, way.bad, place, way.too_large)

    def look_at(self, region: Region, place: int, end: int, span: tuple[int, int], tried: Any) -> None:
        """What a literal (without ``tried``) or good JSON that is no message has in it."""
        if tried is None:
            self.literal(region, place, *span)
        elif tried.what == REJECT:
            self.refused(region, place, tried)
        else:
            self.inside(region, place, end)

    def has_record(self, region: Region, place: int, end: int, span: tuple[int, int], tried: Any) -> bool:
        """Whether there is a record in it, or no room for one. Leaves everything as it was."""
        before = Way(self)
        self.mute = True
        try:
            self.look_at(region, place, end, span, tried)
            return bool(self.rows != before.rows)
        except _Full:
            return True
        finally:
            self.mute, self.partial = False, -1
            self.take_back(before)

    def look_into(self, region: Region, way: Way, place: int, end: int, span: tuple[int, int], tried: Any) -> None:
        """Looks into a literal or good JSON. Where damaged bytes wait, only a record in it ends them: they are settled
        when one was seen, since what is settled for each candidate anew is read as often."""
        rows, before = self.rows, self.bad
        arena, parts = self.arena_size, len(self.arena)
        waiting = way.bad >= 0
        if waiting and not self.mute and not self.has_record(region, place, end, span, tried):
            return
        try:
            self.settle_before(region, way, place)
            self.look_at(region, place, end, span, tried)
        except _Full:
            if waiting:
                self.partial = -1
            if not waiting or self.rows != rows or way.rejects or self.rows_full:
                raise  # else it never fits
        if waiting and self.rows == rows:
            self.bad = before
            self.arena_size = arena
            del self.arena[parts:]
            return
        way.bad = -1
        way.done = end

    def look_into_string(self, region: Region, way: Way, place: int) -> int:
        """The literal around the byte at ``place``; returns the offset behind it."""
        raw = region.raw
        floor = way.done if way.bad < 0 else way.bad
        quote = quote_before(raw, place, floor)
        close = _QUOTE.match(raw, place, region.end).end()  # type: ignore[union-attr]
        close = close if close < region.end and raw[close] == 0x22 else region.end
        start = place if quote < 0 else quote + 1
        quote = place if quote < 0 else quote
        if way.bad < 0:
            self.stopped = region.start + quote if region.level == 0 else self.stopped
        behind = min(close + 1, region.end)
        self.look_into(region, way, quote, behind, (start, close), None)
        return behind

    def broken(self, region: Region, way: Way, place: int, tried: Tried) -> None:
        way.opened = tried.opened
        if region.cut and tried.cut:
            way.too_large = True
            region.end = min([region.end, *(start for start in tried.opened if start > place)])
        if way.bad < 0:
            way.bad = place

    def take_back(self, way: Way) -> None:
        self.rows, self.bad, self.arena_size = way.rows, way.rejects, way.arena
        del self.arena[way.parts :]

    def walk(self, region: Region) -> None:
        """One region to its end; at level 0, ``stopped`` is where reading stopped."""
        way = Way(self)
        try:
            self._walk(region, way)
        except _Full:
            if self.partial < 0 or (way.rows if self.rows_full else way.rejects):
                self.partial = -1
                self.take_back(way)
            elif not region.level:
                self.stopped, self.partial = region.start + self.partial, -1
            raise

    def _walk(self, region: Region, way: Way) -> None:
        place, within, opening = 0, -1, None
        while True:
            if within != region.end or (opening is not None and opening.start() < place):
                opening = _OPENING.search(region.raw, place, region.end)  # once, however much else stands before it
                within = region.end
            place = region.end if opening is None else opening.start()
            string = opening is not None and opening[1] is None
            hopeless = opening is not None and place in way.opened
            if hopeless or (string and region.level >= DEEPEST_STRING):
                place += 1
                continue
            behind = self.others(region, way, place) if self.plan.nslip else None
            if behind is not None:
                place = behind
                continue
            if opening is None:
                break
            if way.bad < 0:
                way.mark(self)
            if region.level == 0:
                self.stopped = region.start + (place if way.bad < 0 else way.bad)
            if string:
                place = self.look_into_string(region, way, place)
                continue
            tried = self.try_object(region, place, region.end)
            if tried.what == BROKEN:
                if region.cut and tried.cut and place > 0:
                    self.settle_before(region, way, place)
                    self.stopped = region.start + place
                    return
                self.broken(region, way, place, tried)
                place += 1
            elif tried.what == RECORD:
                self.settle_before(region, way, place)
                self.emit(region, place, tried)
                way.bad = -1
                place = way.done = tried.end
            else:
                self.look_into(region, way, place, tried.end, (0, 0), tried)
                place = tried.end
        if region.level == 0 and way.bad >= 0:
            self.stopped = region.start + way.bad
        self.settle_before(region, way, region.end)
        if region.level == 0:
            self.stopped = region.start + region.end

    def read(self, position: int, size: int, final: bool) -> int:
        """Reads from ``position`` on, line by line; returns where to go on."""
        while position < size:
            newline = self.data.find(b"\n", position, size)
            line_end = size if newline < 0 else newline
            if newline < 0 and not final and size - position <= self.limit + 1:
                break
            end = line_end
            if newline >= 0 and end > position and self.data[end - 1] == 0x0D:
                end -= 1
            cut = end - position > self.limit
            if cut:
                end = position + self.limit
                for _ in range(3):
                    end -= end > position + 1 and self.data[end] & 0xC0 == 0x80
            region = Region(self.data[position:end], position)
            region.cut = cut
            if not self.carried:
                self.head, self.head_known = position, 0
            self.carried = True
            full = False
            try:
                self.walk(region)
            except _Full:
                full = True
            position = self.stopped
            if not full and not cut:
                position = line_end + (newline >= 0)
                self.line += newline >= 0
                self.carried = False
            elif "time" in self.columns and not self.head_known:
                self.line_head()
            if full:
                break
        return position


def scan_block(
    plan: Plan,
    data: Any,
    start: int,
    size: int,
    final: bool,
    columns: dict[str, Any],
    rows: int,
    room: int,
    rejects: dict[str, Any],
    reject_rows: int,
    reject_room: int,
    *,
    base: int = 0,
    line: int = 1,
    keep: bool = False,
    limit: int = 16 << 20,
    state: Any = None,
    parts: dict[str, Any] | None = None,
) -> tuple[int, int, int, int]:
    """Reads JSON messages from ``data[start:size]`` into columns, from row ``rows`` on: see the native twin."""
    first = start
    if parts is not None:
        start = int(parts["start"][first]) if first < len(parts["what"]) else size
    if not 0 <= start <= size <= len(memoryview(data).cast("B")):
        raise ValueError("start and size must lie in the data")
    lines = _Lines(plan, bytes(memoryview(data)[:size]), columns, rejects, limit, keep)
    lines.rows, lines.room, lines.bad, lines.reject_room = rows, room, reject_rows, reject_room
    lines.base, lines.line, lines.head = base, line, start
    if state is not None and state.at == base + start:
        lines.carried, lines.head_known, lines.head_time = True, state.known, state.time
    if parts is None:
        place = position = lines.read(start, size, final)
    else:
        position = between.read_parts(lines, parts, first)
        place = int(parts["start"][position]) if position < len(parts["what"]) else size
    if lines.arena_size > len(lines.arena[0]):
        columns["arena"] = b"".join(lines.arena)
    if state is not None:
        state.at = base + place if lines.carried else -1
        state.known, state.time = lines.head_known, lines.head_time
    return lines.rows, lines.bad, position, lines.line
