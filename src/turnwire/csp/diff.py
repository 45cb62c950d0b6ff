"""Unified diffs of one file, as git and GNU diff write them, applied as ``git apply`` does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from turnwire.csp.spec import WIRE
from turnwire.errors import Reason, RuleError

_HUNK = re.compile(rb"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_NOT_APPLIED = re.compile(
    rb"Binary files |GIT binary patch|rename |copy |new file |deleted file |old mode |new mode |similarity "
)
_NO_NEWLINE = b"\\"
_SIGNS = (b" ", b"+", b"-")
_SIGNATURE = b"-- \n"
"""The line in front of git's version, at the end of a mailed diff."""


class Hunk(NamedTuple):
    """One hunk: ``start`` is the 1-based first old line, or where there is none the line in front; ``lines`` are (sign,
    text with its newline)."""

    start: int
    lines: list[tuple[bytes, bytes]]

    def without(self, sign: bytes) -> list[bytes]:
        """The lines before the diff (without "+"), or after it (without "-")."""
        return [line for one, line in self.lines if one != sign]

    def has_context(self) -> bool:
        """True if any line stays as it is."""
        return any(sign == b" " for sign, _ in self.lines)


def _fault(reason: Reason, text: str, path: str) -> RuleError:
    return RuleError(reason, text, rule="diff", wire=WIRE, path=path)


def _split(content: bytes) -> list[bytes]:
    """Lines with their LF; the last may have none."""
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def parse_diff(text: bytes, path: str, recount: bool = False) -> list[Hunk]:
    """The hunks of a diff. Lines in front of the first are its header, whose names must be ``path``.

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
    while place < len(lines) and lines[place].startswith(b"@@"):
        hunk, place = _hunk(lines, place, path, recount)
        hunks.append(hunk)
    _check_rest(lines, place, path)
    return hunks


def _check_rest(lines: list[bytes], place: int, path: str) -> None:
    """Refuses more text behind the last hunk but for a mail's signature: its counts are wrong, or files are several.

    Git passes over what is no further diff, and so would lose a line that its hunk does not count.
    """
    for number, line in enumerate(lines[place:], place + 1):
        if line == _SIGNATURE:
            break
        if line.strip():
            raise _fault(Reason.BAD_DIFF, f"line {number} of the diff is neither a hunk nor part of one", path)


def _hunk(lines: list[bytes], place: int, path: str, recount: bool) -> tuple[Hunk, int]:
    match = _HUNK.match(lines[place])
    if match is None:
        raise _fault(Reason.BAD_DIFF, f"line {place + 1} of the diff is neither a hunk nor part of one", path)
    head = place + 1
    start, old, _, new = (1 if count is None else int(count) for count in match.groups())
    left, right = old, new
    found: list[tuple[bytes, bytes]] = []
    while (place := place + 1) <= len(lines):
        line = lines[place] if place < len(lines) else b""
        if (line[:2] in (b"@@", b"")) if recount else not (left or right or line.startswith(_NO_NEWLINE)):
            break
        blank = line in (b"\n", b"\r\n")
        sign = b" " if blank else line[:1]
        if sign == _NO_NEWLINE and found:
            found[-1] = (found[-1][0], found[-1][1].removesuffix(b"\n"))
            continue
        left -= sign in (b" ", b"-")
        right -= sign in (b" ", b"+")
        if recount and sign not in _SIGNS:
            raise _fault(Reason.BAD_DIFF, f"line {place + 1} of the diff is not part of a hunk", path)
        if not recount and (sign not in _SIGNS or left < 0 or right < 0):
            text = f"the hunk at line {head} of the diff does not have the lines it counts"
            raise _fault(Reason.BAD_DIFF, text, path)
        found.append((sign, line if blank else line[1:]))
    if all(sign == b" " for sign, _ in found):
        raise _fault(Reason.BAD_DIFF, f"the hunk at line {head} of the diff changes nothing", path)
    if recount and old and start and all(sign == b"+" for sign, _ in found):
        start -= 1  # without old lines a header names the line in front: this one says that it has some
    return Hunk(start, found), place


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


class Patched(NamedTuple):
    """A content after a diff, and how many lines were added and removed."""

    content: bytes
    added: int
    removed: int


def apply_diff(content: bytes, diff: bytes, path: str, recount: bool = False) -> Patched:
    """``content`` after the diff; recount as in :func:`parse_diff`.

    As for git, all lines of a hunk must be there, and it may be elsewhere than it says: the nearest such place is taken
    at which no hunk was applied. A hunk that begins at line 1 stands at the beginning of the file, one without lines
    behind its changes at the end. One without any context stands where it says.

    Raises RuleError(bad_diff) for a broken diff, diff_mismatch where it does not fit.
    """
    image = _split(content)
    size, behind = len(image), 0
    done = [False] * size  # lines of hunks that were applied
    hunks = parse_diff(diff, path, recount)
    for hunk in hunks:
        before, after = hunk.without(b"+"), hunk.without(b"-")
        place = _place(hunk, image, done, len(image) - size, recount)
        if place is None:
            text = f"the lines of the hunk at line {hunk.start} of the file are not there"
            raise _fault(Reason.DIFF_MISMATCH, text, path)
        if place < behind and not hunk.has_context():
            raise _fault(Reason.BAD_DIFF, "the hunks overlap or are out of order", path)
        behind = place + len(after)
        image[place : place + len(before)] = after
        done[place : place + len(before)] = [True] * len(after)
    signs = [sign for hunk in hunks for sign, _ in hunk.lines]
    if any(not line.endswith(b"\n") for line in image[:-1]):
        raise _fault(Reason.BAD_DIFF, "a line without a newline would be in the middle of the file", path)
    return Patched(b"".join(image), signs.count(b"+"), signs.count(b"-"))


def _place(hunk: Hunk, image: list[bytes], done: list[bool], shift: int, recount: bool) -> int | None:
    """The number of lines in front of the place of a hunk, or None.

    shift: the lines that earlier hunks added. A hunk that is recounted may lack context, so it need not stand at an end
    of the file.
    """
    before = hunk.without(b"+")
    last = len(image) - len(before)
    trailing = hunk.lines[-1][0] == b" "
    wanted = max(hunk.start - bool(before), 0) + shift
    ends = [place for place in (0, last) if (place == 0 or hunk.start > 1) and (place == last or trailing)]
    places: Iterable[int] = chain([wanted], *((wanted + step, wanted - step) for step in range(1, len(image) + wanted)))
    if not hunk.has_context():
        places = [wanted, *ends]
    elif not recount and (hunk.start <= 1 or not trailing):
        places = ends
    return next((place for place in places if 0 <= place <= last and _fits(before, image, done, place, trailing)), None)


def _fits(before: list[bytes], image: list[bytes], done: list[bool], place: int, trailing: bool) -> bool:
    """True if the lines are there. A last one without a newline, if it need not end the file, may be there with one."""
    there = image[place : place + len(before)]
    if trailing and not before[-1].endswith(b"\n"):
        there[-1] = there[-1].removesuffix(b"\n")
    return there == before and not any(done[place : place + len(before)])
