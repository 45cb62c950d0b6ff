"""The bulk scan of JSON wires in plain Python: the readable twin of ``_native/json/lines.pyx`` (and json/scan.h).

A line is gone through from one ``{`` to the next. What a ``{`` begins is tried as a JSON object: a message of a wire is
a record; good JSON that is none is looked into, its objects and its strings; damaged JSON waits until a record follows
or the line ends, and is then a reject where it carries the marks of a wire, text otherwise. The whole rule is in
docs/scan.md.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, Reason
from turnwire.framing import _line_heads_py as line_heads
from turnwire.json import _others_py as among
from turnwire.json import _parts_py as between
from turnwire.json._inside_py import NestedSearch, OutOfRoom
from turnwire.json._line_wires_py import LineWires
from turnwire.json._lines_plan_py import Plan
from turnwire.json._over_lines_py import HELD, LEFT, OverLines, piece_end
from turnwire.json._region_py import BROKEN, DEEPEST_STRING, Region, Tried, WalkState, opened_at, parse, quote_before
from turnwire.json._rows_py import Cell, filled, time_of
from turnwire.json._text_py import Reader
from turnwire.json._unescape_py import plain
from turnwire.json._values_py import Values, are_values
from turnwire.json._wrapper_py import Times
from turnwire.json.plan import OTHER, RECORD, REJECT, Judgement

__all__ = ["Plan", "plain", "scan_block"]

STRING_REJECTS = 512
_OPENING = re.compile(rb'\{[ \t\r\n]*(?:(["}])|(\Z)|(?:[ \t\r\n]|\\+[nrt])*+\\+")')
_QUOTE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_SIGN = re.compile(rb'[{"\[\\@]')
"""A line without any of these has nothing in it, unless there are further wires of tokens."""


class _Lines(among.NslipHooks, NestedSearch, LineWires, OverLines, Times, Values):
    """One call of :func:`scan_block`: the same state as tw_lines in json/region.h."""

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
        self.judgement = Judgement(plan.plans, plan.reasons, Reader("json"), limit)
        self.arena: list[bytes] = [columns.get("arena", b"")]
        self.arena_size = len(self.arena[0])
        self.rows = self.room = self.bad = self.reject_room = 0
        self.base = self.head = 0
        self.line = 1
        self.head_known = 0
        self.head_time = 0
        self.carried = self.values = False
        self.string_rejects = 0
        self.stopped = 0
        self.partial = -1
        self.rows_full = self.mute = self.grows = False
        self.stop, self.final = len(data), True
        self.several, self.counted, self.counted_line = False, 0, 1
        self.held, self.open_at = False, -1
        self.claims: Any = None

    # --- rows and rejects ---

    def emit(self, region: Region, at: int, tried: Tried) -> None:
        """Stores the record from ``at`` to its end."""
        plan = self.plan.plans[tried.wire]
        variant = plan.variants[plan.variant_of(tried.value)]
        shift = len(self.data) if region.level else 0
        values, present = self.row(region, at, tried.end, plan.code)
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
        """The columns that any record has, and its bits of ``present``."""
        if self.rows == self.room:
            self.rows_full = True
            raise OutOfRoom
        values: dict[str, Any] = {
            "place": region.start + at + (len(self.data) if region.level else 0),
            "size": end - at,
            "line": self.line_of(region.quote if region.level else region.start + at),
            "wire": wire,
            "depth": region.level,
            "inner": region.inner(at) if region.level else 0,
            "offset": self.base + (region.quote if region.level else region.start + at),
            "length": region.in_block(end) - region.in_block(at),
        }
        return values, 1 << self.plan.valid.get("inner", 63) if region.level and "inner" in self.columns else 0

    def store(self, region: Region, at: int, values: dict[str, Any], present: int, time: int | None) -> None:
        """Stores a row; a time that it lacks is at the head of its line."""
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

    def value(self, values: dict[str, Any], column: str, found: Cell, constant: int, start: int) -> int:
        """Puts what was found for a column (and ``constant`` on top) among the values of its row; returns its bits."""
        if self.plan.kinds.get(column) == "text":
            values[f"{column}.offset"] = start + found.start
            values[f"{column}.length"] = found.end - found.start
            return 1 << self.plan.valid[column] | (1 << self.plan.escaped[column] if found.escaped else 0)
        values[column] = found.value + constant if constant else found.value  # adding 0 takes the sign of -0.0
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
            "line": self.line_of(first),
            "fault": self.base + region.in_block(fault),
            "reason": reason,
            "wire": self.plan.plans[wire].code if code is None else code,
            "inner": region.inner(at) if region.level else -1,
        }
        if not self.put_reject(row):
            raise OutOfRoom

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
        """Parse and judge the object at ``at`` of a region."""
        raw = region.raw[:end] if end < len(region.raw) else region.raw
        try:
            value, behind = parse(raw, at, self.limits)
        except DecodeError as error:
            tried = Tried(BROKEN)
            tried.cut = error.reason in (Reason.CUT_OFF, Reason.UNTERMINATED_STRING)
            tried.fault = error.offset or 0
            tried.opened = opened_at(raw, at, tried.fault)
            return tried
        what, wire, reason, fault = OTHER, 0, 0, 0
        if self.may_be(value):
            what, wire, reason, fault = self.judgement.whole(raw[at:behind])
        tried = Tried(what, behind, wire, reason, at + fault)
        tried.value = value
        return tried

    def may_be(self, value: dict[str, Any]) -> bool:
        """True if an object may be a message of a wire, good or not, so that the wire has to judge it."""
        return any(all(path in value for path in clue) for plan in self.plan.plans for clue in plan.clues)

    # --- the way through a region ---

    def settle(self, region: Region, at: int, end: int, too_large: bool) -> None:
        """The damaged bytes from ``at`` to ``end``: a reject where they carry the marks of a wire, text otherwise."""
        raw = b"" if self.mute else region.raw[at:end]
        if any(token in raw for token in self.plan.torn):
            what, wire, reason, fault = self.judgement.torn(raw, too_large)
            if what == REJECT:
                self.reject(region, at, end, at + fault, wire, reason)

    def settle_before(self, region: Region, way: WalkState, place: int) -> None:
        if way.bad >= 0:
            self.settle(region, way.bad, place, way.too_large)

    def look_at(self, region: Region, place: int, end: int, span: tuple[int, int], tried: Any) -> None:
        """Scan the inside of a literal (without ``tried``), or of good JSON that is not a message."""
        if tried is None:
            self.literal(region, place, *span)
        elif tried.what == REJECT:
            self.refused(region, place, tried)
        else:
            self.inside(region, place, end)

    def has_record(self, region: Region, place: int, end: int, span: tuple[int, int], tried: Any) -> bool:
        """True if there is a record in it, or no room for one. Leaves everything as it was."""
        before = WalkState(self)
        self.mute = True
        try:
            self.look_at(region, place, end, span, tried)
            return bool(self.rows != before.rows)
        except OutOfRoom:
            return True
        finally:
            self.mute, self.partial = False, -1
            self.take_back(before)

    def look_into(
        self, region: Region, way: WalkState, place: int, end: int, span: tuple[int, int], tried: Any
    ) -> None:
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
        except OutOfRoom:
            if waiting:
                self.partial = -1
            if not waiting or self.rows != rows or way.rejects or self.rows_full or self.grows:
                raise  # else it never fits
        if waiting and self.rows == rows:
            self.bad = before
            self.arena_size = arena
            del self.arena[parts:]
            return
        way.bad = -1
        way.done = end

    def look_into_string(self, region: Region, way: WalkState, place: int) -> int:
        """The literal around the byte at ``place``; returns the offset behind it."""
        raw = region.raw
        floor = way.done if way.bad < 0 else way.bad
        end = region.end if region.level else region.line_stop(place)  # in a block it is in one line
        quote = quote_before(raw, place, floor)
        quote = -1 if quote >= 0 and not region.level and b"\n" in raw[quote:place] else quote
        close = _QUOTE.match(raw, place, end).end()  # type: ignore[union-attr]
        close = close if close < end and raw[close] == 0x22 else end
        start = place if quote < 0 else quote + 1
        quote = place if quote < 0 else quote
        if way.bad < 0:
            self.stopped = region.start + quote if region.level == 0 else self.stopped
        behind = min(close + 1, end)
        self.look_into(region, way, quote, behind, (start, close), None)
        return behind

    def broken(self, region: Region, way: WalkState, place: int, tried: Tried) -> None:
        way.opened = tried.opened
        if region.cut and tried.cut:
            way.too_large = True
            region.end = min([region.end, *(start for start in tried.opened if start > place)])
        if way.bad < 0:
            way.bad = place

    def take_back(self, way: WalkState) -> None:
        self.rows, self.bad, self.arena_size = way.rows, way.rejects, way.arena
        del self.arena[way.parts :]

    def walk(self, region: Region, place: int = 0) -> Region:
        """One region to its end; at level 0, ``stopped`` is where reading stopped. Returns the region that was read
        last: a part of this one from where damage over several lines begins, or this."""
        way = WalkState(self)
        way.done = way.searched = place
        going: tuple[Region, WalkState, int] | None = (region, way, place)
        try:
            while going is not None:
                region, way, place = going
                going = self._walk(region, way, place)
        except OutOfRoom:
            if self.partial < 0 or self.grows or (way.rows if self.rows_full else way.rejects):
                self.partial = -1
                self.take_back(way)
            elif not region.level:
                self.stopped, self.partial = region.start + self.partial, -1
            raise
        return region

    def opening(self, region: Region, place: int) -> re.Match[bytes] | None:
        """The first ``{`` from ``place`` on that may open something."""
        found = _OPENING.search(region.raw, place, region.end)
        if found is not None and found[2] is not None and not self.opens_below(region, found.start()):
            return None  # nothing is behind it here
        return found

    def _walk(self, region: Region, way: WalkState, place: int) -> tuple[Region, WalkState, int] | None:
        within, opening = -1, None
        while True:
            if within != region.end or (opening is not None and opening.start() < place):
                opening = self.opening(region, place)  # once, however much else is before it
                within = region.end
            place = region.end if opening is None else opening.start()
            string = opening is not None and opening[1] is None and opening[2] is None
            hopeless = opening is not None and place in way.opened
            if hopeless or (string and region.level >= DEEPEST_STRING):
                place += 1
                continue
            if region.values:
                behind = self.strings(region, way, place)
            else:
                behind = self.others(region, way, place) if self.plan.nslip or self.plan.marks else None
            if self.held:
                return None
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
                below = self.over_lines(region, way, place, tried)
                if below in (HELD, LEFT):
                    return None
                if below is not None:
                    return below  # type: ignore[no-any-return]
                if region.cut and tried.cut and place > 0:
                    self.settle_before(region, way, place)
                    self.stopped = region.start + place
                    return None
                self.broken(region, way, place, tried)
                region.values = False
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
        return None

    def read(self, position: int, size: int, final: bool) -> int:
        """Reads from ``position`` on, line by line; returns where to go on."""
        self.stop, self.final, self.held, self.open_at = size, final, False, -1
        full = False
        while position < size and not full and not self.held:
            if (after := self.behind_plain(position, size)) > position:
                position = after
                continue
            newline = self.data.find(b"\n", position, size)
            line_end = size if newline < 0 else newline
            if newline < 0 and not final and size - position <= self.limit + 1:
                break
            end = line_end
            if newline >= 0 and end > position and self.data[end - 1] == 0x0D:
                end -= 1
            cut = end - position > self.limit
            if cut:
                end = piece_end(self.data, position, position + self.limit)
            region = Region(self.data[position:end], position)
            region.cut = cut
            if not self.carried:
                self.head, self.head_known = position, 0
                self.values = not cut and are_values(region.raw)
            region.values = self.values and not cut
            self.carried = True
            try:
                region = self.walk(region)
            except OutOfRoom:
                full = True
            position = self.stopped
            if not full and not region.cut:
                position = self.behind_line(region)
                self.carried = False
            elif "time" in self.columns and not self.head_known:
                self.line_head()
            self.line = (
                self.line_of(position)
                if self.several
                else self.line + (not self.carried and self.data[position - 1] == 0x0A)
            )
            self.several = False
        return position

    def behind_plain(self, position: int, size: int) -> int:
        """Behind the lines from ``position`` on that have no sign in them, which is where one begins; counts them."""
        if self.carried or self.plan.tokens is not None:
            return position
        sign = _SIGN.search(self.data, position, size)
        start = self.data.rfind(b"\n", position, size if sign is None else sign.start()) + 1
        self.line += self.data.count(b"\n", position, start)
        return start

    def behind_line(self, region: Region) -> int:
        """The offset behind the end of the line that a region ends."""
        end = region.start + region.end
        end += self.data.startswith(b"\r\n", end) and end + 1 < self.stop
        return min(end + 1, self.stop)


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
    claims: Any = None,
    signs: int | None = None,
) -> tuple[int, int, int, int]:
    """Reads JSON messages from ``data[start:size]`` into columns, from row ``rows`` on: see the native twin."""
    first = start
    if parts is not None:
        start = int(parts["start"][first]) if first < len(parts["what"]) else size
    if not 0 <= start <= size <= len(memoryview(data).cast("B")):
        raise ValueError("start and size must lie in the data")
    if signs is not None and _shows_sign(data, start, size, parts, first, signs):
        return rows, reject_rows, -1, line
    lines = _Lines(plan, bytes(memoryview(data)[:size]), columns, rejects, limit, keep)
    lines.rows, lines.room, lines.bad, lines.reject_room = rows, room, reject_rows, reject_room
    lines.base, lines.line, lines.head = base, line, start
    lines.claims = claims
    if state is not None and state.at == base + start:
        lines.carried, lines.head_known, lines.head_time = True, state.known, state.time
        lines.values = state.values
    lines.grows = state is not None and state.grows
    if parts is None:
        place = position = lines.read(start, size, final)
    else:
        position = between.read_parts(lines, parts, first, bool(final))
        place = int(parts["start"][position]) if position < len(parts["what"]) else size
    if lines.arena_size > len(lines.arena[0]):
        columns["arena"] = b"".join(lines.arena)
    if state is not None:
        state.at = base + place if lines.carried else -1
        state.known, state.time, state.values = lines.head_known, lines.head_time, lines.values
        state.held = -1 if lines.open_at < 0 else base + lines.open_at
    return lines.rows, lines.bad, position, lines.line


def _shows_sign(data: Any, start: int, size: int, parts: dict[str, Any] | None, first: int, since: int) -> bool:
    """True if a line from ``since`` on shows a sign: of all lines, or of those outside of good claims."""
    start = max(start, since)
    if parts is None:
        return line_heads.signs(data, start, size) != (-1, 0)
    good = parts["what"][first:] == between.CLAIMED
    starts, stops = (parts[name][first:][good] for name in ("start", "stop"))
    stop = int(parts["stop"][-1]) if len(parts["stop"]) else size
    return start < stop and bool(line_heads.signs_between(data, starts, stops, start, stop))
