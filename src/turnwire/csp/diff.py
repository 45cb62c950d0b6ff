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
_SIGNS = (b" ", b"+", b"-")


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


def parse_diff(text: bytes, path: str, recount: bool = False) -> list[Hunk]:
    """The hunks of a diff; lines before the first are its header, whose names must be ``path``.

    recount: a hunk goes up to the next one, whatever its header counts; it begins at the line that its header names.
    Raises RuleError(bad_diff).
    """
    lines = _split(text)
    place = 0
    while place < len(lines) and not lines[place].startswith(b"@@"):
        if _NOT_APPLIED.match(lines[place]):
            words = lines[place].split(b"\n")[0].decode("utf-8", "replace")
            raise _fault(Reason.BAD_DIFF, f"a PATCH changes the text of one file, nothing else: {words}", path)
        place += 1
    if place == len(lines):
        raise _fault(Reason.BAD_DIFF, "the diff has no hunk", path)
    _check_names(lines[:place], path)
    hunks = []
    while place < len(lines):
        hunk, place = _hunk(lines, place, path, recount)
        hunks.append(hunk)
    return hunks


def _hunk(lines: list[bytes], place: int, path: str, recount: bool) -> tuple[Hunk, int]:
    match = _HUNK.match(lines[place])
    if match is None:
        raise _fault(Reason.BAD_DIFF, f"line {place + 1} of the diff is neither a hunk nor part of one", path)
    head = place + 1
    start, old, new = int(match[1]), *(1 if match[group] is None else int(match[group]) for group in (2, 4))
    left, right = old, new
    found: list[tuple[bytes, bytes]] = []
    while (place := place + 1) <= len(lines):
        line = lines[place] if place < len(lines) else b""
        if (line[:2] in (b"@@", b"")) if recount else not (left or right or line.startswith(_NO_NEWLINE)):
            break
        blank = line in (b"\n", b"\r\n")
        sign = b" " if blank else line[:1]
        if sign == _NO_NEWLINE and found and found[-1][1].endswith(b"\n"):
            found[-1] = (found[-1][0], found[-1][1][:-1])
            continue
        left -= sign in (b" ", b"-")
        right -= sign in (b" ", b"+")
        if recount and sign not in _SIGNS:
            raise _fault(Reason.BAD_DIFF, f"line {place + 1} of the diff is not part of a hunk", path)
        if not recount and (sign not in _SIGNS or left < 0 or right < 0):
            text = f"the hunk at line {head} of the diff does not have the lines it counts"
            raise _fault(Reason.BAD_DIFF, text, path)
        found.append((sign, line if blank else line[1:]))
    if recount:
        counted = old
        old, new = (sum(sign != other for sign, _ in found) for other in (b"+", b"-"))
        if not old and counted and start:  # without old lines a header names the line in front: that is one earlier
            start -= 1
    return Hunk(start, old, new, found), place


_NAME = re.compile(rb"(---|\+\+\+) ([^\t\r\n]+)")
_NO_FILE = b"/dev/null"
_PREFIXES = tuple(f"{letter}/" for letter in "abciow")
"""Prefixes that git puts before names: a/ and b/; c/, i/, o/ and w/ where it is to say what is compared."""


def _check_names(header: list[bytes], path: str) -> None:
    """Refuses a diff of another file than ``path``, and one that makes or deletes a file.

    As for git, the file is that of the line ``+++``; or that of ``---``, where ``+++`` says the same with something
    behind it (f and f.new).
    """
    found = {match[1]: match[2].strip() for line in header if (match := _NAME.match(line)) is not None}
    if _NO_FILE in found.values():
        other = "DELETE" if found.get(b"+++") == _NO_FILE else "CREATE"
        raise _fault(Reason.BAD_DIFF, f"a PATCH changes a file that stays: this one is for {other}", path)
    old, new = (None if name is None else _names(name) for name in (found.get(b"---"), found.get(b"+++")))
    if old and new and any(name.startswith(shorter) and name != shorter for name in new for shorter in old):
        new = old
    wanted = path.removeprefix("./")
    if wanted not in (new or old or {wanted}):
        shown = " and ".join(dict.fromkeys(name.decode("utf-8", "replace") for name in found.values()))
        raise _fault(Reason.BAD_DIFF, f"the diff is of {shown}, not of {path}", path)


def _names(written: bytes) -> set[str]:
    """The names that one in the header of a diff may mean: git quotes it and puts a letter and / before it."""
    name = written.decode("utf-8", "surrogateescape")
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = _ESCAPE.sub(_unescaped, written[1:-1]).decode("utf-8", "surrogateescape")
    return {name, name.removeprefix("./"), name[2:] if name.startswith(_PREFIXES) else name}


_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def _unescaped(match: re.Match[bytes]) -> bytes:
    said = match[1]
    return bytes([int(said, 8)]) if len(said) == 3 else _LETTERS.get(said, said)


def apply_diff(content: bytes, diff: bytes, path: str, recount: bool = False) -> bytes:
    """``content`` after the diff; recount as in :func:`parse_diff`. Raises
    RuleError(bad_diff) for a broken diff, diff_mismatch where it does not fit."""
    lines = _split(content)
    result: list[bytes] = []
    place = 0
    for hunk in parse_diff(diff, path, recount):
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
        raise _fault(Reason.BAD_DIFF, "a line without a newline would be in the middle of the file", path)
    return b"".join(result)
