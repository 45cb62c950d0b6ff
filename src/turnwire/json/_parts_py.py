"""Parts of a block between what another wire has claimed: the readable twin of ``_native/json/parts.h``.

What lies between claims is scanned, rows for the claims are left open where they belong, damaged claims are rejected
but for the whole lines in them that are a record.
"""

from __future__ import annotations

from typing import Any

BETWEEN, CLAIMED, DAMAGED = range(3)


class _NoRoom(Exception):
    """There is no room for a reject, or for a row."""


def read_parts(lines: Any, parts: dict[str, Any], first: int, final: bool) -> int:
    """Reads the parts from number ``first`` on; returns the number of the one to go on with."""
    size = len(lines.data)
    if any(not 0 <= start <= stop <= size for start, stop in zip(parts["start"], parts["stop"], strict=True)):
        raise ValueError("parts must lie in the data")
    for part in range(first, len(parts["what"])):
        lines.open_at = -1
        start, stop = int(parts["start"][part]), int(parts["stop"][part])
        if parts["what"][part] == CLAIMED:
            if lines.rows == lines.room:
                return part
            parts["row"][part] = lines.rows
            lines.rows += 1
        elif parts["what"][part] == DAMAGED:
            try:
                _carve(lines, parts, part)
            except _NoRoom:
                return part
        elif start < stop:
            lines.line = int(parts["line"][part + 1]) - lines.data.count(b"\n", start, stop)
            # behind the last part the input goes on, behind others a claim
            place = lines.read(start, stop, final or part + 1 < len(parts["what"]))
            parts["start"][part] = place
            if place < stop:
                return part
    return len(parts["what"])


def _carve(lines: Any, parts: dict[str, Any], part: int) -> None:
    """A damaged claim: records that fill a line in it, and a reject of each piece around them. Where there is no room
    the part starts with the piece that did not fit."""
    place, stop = int(parts["start"][part]), int(parts["stop"][part])
    line = int(parts["line"][part])
    while place < stop:
        newline = lines.data.find(b"\n", place, stop)
        behind = stop if newline < 0 else newline + 1
        end = stop if newline < 0 else newline
        end -= lines.data[end - 1] == 0x0D and end > place
        row, size, texts = lines.rows, lines.arena_size, len(lines.arena)
        lines.line = line
        whole = lines.data[place] in b"{@" and _whole_line(lines, place, end, behind)
        line += newline >= 0
        if whole:
            lines.rows = row  # what is before it comes first
            try:
                _piece(lines, parts, part, place)
            except _NoRoom:
                lines.arena_size = size
                del lines.arena[texts:]
                raise
            lines.rows = row + 1
            parts["start"][part], parts["line"][part] = behind, line
        place = behind
    _piece(lines, parts, part, stop)
    parts["start"][part] = stop


def _whole_line(lines: Any, start: int, end: int, behind: int) -> bool:
    """True if a record fills the line from ``start`` to ``end``, its line end excluded; its row stays then."""
    row, size, texts = lines.rows, lines.arena_size, len(lines.arena)
    lines.carried, lines.mute = False, True
    place = lines.read(start, behind, True)  # an object that goes on behind the line does not fill it
    lines.carried = lines.mute = False
    lines.open_at = -1
    if place >= behind and lines.rows == row + 1:
        found = lines.columns["place"][row], lines.columns["size"][row]
        if (int(found[0]), int(found[1])) == (start, end - start):
            return True
    lines.rows, lines.arena_size = row, size
    del lines.arena[texts:]
    if place < behind:
        raise _NoRoom
    return False


def _piece(lines: Any, parts: dict[str, Any], part: int, stop: int) -> None:
    start, fault = int(parts["start"][part]), int(parts["fault"][part])
    if start == stop:
        return
    first = lines.base + start
    row = {
        "offset": first,
        "length": stop - start,
        "line": int(parts["line"][part]),
        "fault": fault if first <= fault <= lines.base + stop else first,
        "reason": int(parts["reason"][part]),
        "wire": parts["wire"],
        "inner": -1,
    }
    if not lines.put_reject(row):
        raise _NoRoom
