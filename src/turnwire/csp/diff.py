"""Unified diffs of one file, as git and GNU diff write them, applied exactly: no fuzz, no offset."""

from __future__ import annotations

import re
from typing import NamedTuple

from turnwire.csp.spec import WIRE
from turnwire.errors import Reason, RuleError

_HUNK = re.compile(rb"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_NOT_APPLIED = re.compile(
    rb"Binary files |GIT binary patch|rename |copy |new file |deleted file |old mode |new mode |similarity "
)
_NO_NEWLINE = b"\\"


class Hunk(NamedTuple):
    """One hunk: ``start`` is the 1-based first old line (0 for none), ``lines`` are (sign, text with its newline)."""

    start: int
    old: int
    new: int
    lines: list[tuple[bytes, bytes]]


def _fault(reason: Reason, text: str, path: str) -> RuleError:
    return RuleError(reason, text, rule="diff", wire=WIRE, path=path)


def _split(content: bytes) -> list[bytes]:
    """Lines with their LF; the last may have none."""
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def parse_diff(text: bytes, path: str) -> list[Hunk]:
    """The hunks of a diff; lines before the first are its header. Raises RuleError(bad_diff)."""
    lines = _split(text)
    place = 0
    while place < len(lines) and not lines[place].startswith(b"@@"):
        if _NOT_APPLIED.match(lines[place]):
            words = lines[place].split(b"\n")[0].decode("utf-8", "replace")
            raise _fault(Reason.BAD_DIFF, f"a PATCH changes the text of one file, nothing else: {words}", path)
        place += 1
    if place == len(lines):
        raise _fault(Reason.BAD_DIFF, "the diff has no hunk", path)
    hunks = []
    while place < len(lines):
        hunk, place = _hunk(lines, place, path)
        hunks.append(hunk)
    return hunks


def _hunk(lines: list[bytes], place: int, path: str) -> tuple[Hunk, int]:
    match = _HUNK.match(lines[place])
    if match is None:
        raise _fault(Reason.BAD_DIFF, f"line {place + 1} of the diff is no hunk and no part of one", path)
    old, new = (1 if match[group] is None else int(match[group]) for group in (2, 4))
    found: list[tuple[bytes, bytes]] = []
    left, right = old, new
    head = place + 1
    place += 1
    while left or right or (place < len(lines) and lines[place].startswith(_NO_NEWLINE)):
        line = lines[place] if place < len(lines) else b"\\"
        sign = b" " if line in (b"\n", b"\r\n") else line[:1]
        if sign == _NO_NEWLINE and place < len(lines) and found and found[-1][1].endswith(b"\n"):
            found[-1] = (found[-1][0], found[-1][1][:-1])
            place += 1
            continue
        left -= sign in (b" ", b"-")
        right -= sign in (b" ", b"+")
        if sign not in (b" ", b"+", b"-") or left < 0 or right < 0:
            raise _fault(
                Reason.BAD_DIFF, f"the hunk at line {head} of the diff does not have the lines it counts", path
            )
        found.append((sign, line if line in (b"\n", b"\r\n") else line[1:]))
        place += 1
    return Hunk(int(match[1]), old, new, found), place


def apply_diff(content: bytes, diff: bytes, path: str) -> bytes:
    """``content`` after the diff. Raises RuleError(bad_diff) for a broken diff, diff_mismatch where it does not fit."""
    lines = _split(content)
    result: list[bytes] = []
    place = 0
    for hunk in parse_diff(diff, path):
        start = hunk.start - 1 if hunk.old else hunk.start
        if start < place:
            raise _fault(Reason.BAD_DIFF, "the hunks overlap or are out of order", path)
        if start > len(lines):
            raise _fault(Reason.DIFF_MISMATCH, f"the file has no line {hunk.start}", path)
        result += lines[place:start]
        place = start
        for sign, line in hunk.lines:
            if sign == b"+":
                result.append(line)
                continue
            if place >= len(lines) or lines[place] != line:
                raise _fault(Reason.DIFF_MISMATCH, f"line {place + 1} of the file is not what the diff expects", path)
            if sign == b" ":
                result.append(line)
            place += 1
    result += lines[place:]
    if any(not line.endswith(b"\n") for line in result[:-1]):
        raise _fault(Reason.BAD_DIFF, "a line without a newline would stand in the middle of the file", path)
    return b"".join(result)
