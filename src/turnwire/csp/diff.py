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
_BLANK = (b"\n", b"\r\n")
_NO_NEWLINE = b"\\"
_SIGNS = (b" ", b"+", b"-")
_SIGNATURE = b"-- \n"
"""The line in front of git's version, at the end of a mailed diff."""
_DIFF_LINE = re.compile(rb"[-+ @\\]|diff ")
"""What no text behind the last hunk begins with: a line that no hunk counts, or a further file."""
_NAME = re.compile(rb"(---|\+\+\+) ([^\t\r\n]+)")
_NO_FILE = b"/dev/null"
_PREFIXES = tuple(f"{letter}/" for letter in "abciow")
"""Prefixes that git puts before names: a/ and b/; c/, i/, o/ and w/ where it is to say what is compared."""
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Hunk(NamedTuple):
    """One hunk: ``start`` is the 1-based first old line, or where there is none the line in front; the lines before the
    diff and after it, with their newlines; ``signs``: that of each of its lines."""

    start: int
    before: list[bytes]
    after: list[bytes]
    signs: bytes


class Patched(NamedTuple):
    """A content after a diff, and how many lines were added and removed."""

    content: bytes
    added: int
    removed: int


def apply_diff(content: bytes, diff: bytes, path: str, recount: bool = False) -> Patched:
    """``content`` after the diff of the file ``path``.

    As for git, all lines of a hunk must be there, and it may be elsewhere than it says: the nearest such place is taken
    at which no hunk was applied. A hunk that begins at line 1 stands at the beginning of the file, one without lines
    behind its changes at the end. One without any context stands where it says.

    recount: a hunk goes up to the next one, whatever its header counts; it begins at the line that its header names.
    Raises RuleError(bad_diff) for a broken diff, diff_mismatch where it does not fit.
    """
    try:
        return _applied(content, _hunks(_split(diff), path, recount), recount)
    except _Fault as fault:
        raise RuleError(fault.reason, str(fault), rule="diff", wire=WIRE, path=path) from None


class _Fault(Exception):
    """A fault of a diff, in words."""

    def __init__(self, text: str, reason: Reason = Reason.BAD_DIFF) -> None:
        super().__init__(text)
        self.reason = reason


def _split(content: bytes) -> list[bytes]:
    """Lines with their LF; the last may have none."""
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


# --- reading ----------------------------------------------------------------------------------------------------------


def _hunks(lines: list[bytes], path: str, recount: bool) -> list[Hunk]:
    """The hunks of a diff. Lines in front of the first are its header, whose names must be ``path``; behind the last
    may be text, and a mail's signature.

    Git passes over all that is no further diff, and so would lose a line that its hunk does not count.
    """
    place = next((number for number, line in enumerate(lines) if line.startswith(b"@@")), len(lines))
    for line in lines[:place]:
        if _NOT_APPLIED.match(line):
            words = line.split(b"\n")[0].decode("utf-8", "replace")
            raise _Fault(f"a PATCH changes the text of one file, nothing else: {words}")
    if place == len(lines):
        raise _Fault("the diff has no hunk")
    _check_names(lines[:place], path)
    found = []
    while place < len(lines) and lines[place].startswith(b"@@"):
        hunk, place = _hunk(lines, place, recount)
        found.append(hunk)
    for number, line in enumerate(lines[place:], place + 1):
        if line == _SIGNATURE:
            break
        if _DIFF_LINE.match(line):
            raise _Fault(f"line {number} of the diff is neither a hunk nor part of one")
    return found


def _hunk(lines: list[bytes], place: int, recount: bool) -> tuple[Hunk, int]:
    """The hunk whose header is at a place, and the place behind it."""
    head = place + 1
    match = _HUNK.match(lines[place])
    if match is None:
        raise _Fault(f"line {head} of the diff is neither a hunk nor part of one")
    start, old, _, new = (1 if count is None else int(count) for count in match.groups())
    before: list[bytes] = []
    after: list[bytes] = []
    signs = b""
    for place in range(head, len(lines) + 1):
        line = lines[place] if place < len(lines) else b""
        counted = len(before) >= old and len(after) >= new
        if (line[:2] in (b"@@", b"")) if recount else (counted and not line.startswith(_NO_NEWLINE)):
            break
        sign = b" " if line in _BLANK else line[:1]
        if sign == _NO_NEWLINE and signs:
            for side, others in ((before, b"+"), (after, b"-")):
                if signs[-1:] != others:
                    side[-1] = side[-1].removesuffix(b"\n")
            continue
        if sign not in _SIGNS:
            wrong = f"line {place + 1} of the diff is not part of a hunk"
            raise _Fault(wrong if recount else f"the hunk at line {head} of the diff does not have the lines it counts")
        signs += sign
        text = line if line in _BLANK else line[1:]
        if sign != b"+":
            before.append(text)
        if sign != b"-":
            after.append(text)
    if not recount and (len(before), len(after)) != (old, new):
        raise _Fault(f"the hunk at line {head} of the diff does not have the lines it counts")
    if not signs.strip():
        raise _Fault(f"the hunk at line {head} of the diff changes nothing")
    if recount and old and start and not before:
        start -= 1  # without old lines a header names the line in front: this one says that it has some
    return Hunk(start, before, after, signs), place


def _check_names(header: list[bytes], path: str) -> None:
    """Refuses a diff of another file than ``path``, and one that makes or deletes a file.

    As for git, the file is that of the line ``+++``; or that of ``---``, where ``+++`` says the same with something
    behind it (f and f.new). Behind a line ``diff --git`` both name it, or both in a folder.
    """
    matches = {match[1]: match for line in header if (match := _NAME.match(line)) is not None}
    if b"+++" in matches and not header[-1].startswith(b"+++ "):
        raise _Fault(f"line {len(header)} of the diff stands between the names and the first hunk")
    found = {mark: match[2].strip() for mark, match in matches.items()}
    if _NO_FILE in found.values():
        other = "DELETE" if found.get(b"+++") == _NO_FILE else "CREATE"
        raise _Fault(f"a PATCH changes a file that stays: this one is for {other}")
    old, new = (None if name is None else _names(name) for name in (found.get(b"---"), found.get(b"+++")))
    wanted = path.removeprefix("./")
    if any(line.startswith(b"diff --git ") for line in header):
        several = [name for name in (old, new) if name is not None]
        good = any(all(wanted == name.split("/", folders)[-1] for name, *_ in several) for folders in (0, 1))
    else:
        if old and new and any(name.startswith(shorter) and name != shorter for name in new for shorter in old):
            new = old
        good = wanted in (new or old or {wanted})
    if not good:
        shown = " and ".join(dict.fromkeys(name.decode("utf-8", "replace") for name in found.values()))
        raise _Fault(f"the diff is of {shown}, not of {path}")


def _names(written: bytes) -> tuple[str, ...]:
    """The names that one in the header of a diff may mean, as it is first: git puts a letter and / before it."""
    name = written.decode("utf-8", "surrogateescape")
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = _ESCAPE.sub(_unescaped, written[1:-1]).decode("utf-8", "surrogateescape")
    return name, name.removeprefix("./"), name[2:] if name.startswith(_PREFIXES) else name


def _unescaped(match: re.Match[bytes]) -> bytes:
    said = match[1]
    return bytes([int(said, 8)]) if len(said) == 3 else _LETTERS.get(said, said)


# --- applying ---------------------------------------------------------------------------------------------------------


def _applied(content: bytes, hunks: list[Hunk], recount: bool) -> Patched:
    image = _split(content)
    size, behind = len(image), 0
    done = [False] * size  # lines of hunks that were applied
    for hunk in hunks:
        place = _place(hunk, image, done, len(image) - size, recount)
        if place is None:
            raise _Fault(f"the lines of the hunk at line {hunk.start} of the file are not there", Reason.DIFF_MISMATCH)
        if place < behind and b" " not in hunk.signs:
            raise _Fault("the hunks overlap or are out of order")
        behind = place + len(hunk.after)
        stop = place + len(hunk.before)
        image[place:stop] = hunk.after
        done[place:stop] = [True] * len(hunk.after)
    if any(not line.endswith(b"\n") for line in image[:-1]):
        raise _Fault("a line without a newline would be in the middle of the file")
    signs = b"".join(hunk.signs for hunk in hunks)
    return Patched(b"".join(image), signs.count(b"+"), signs.count(b"-"))


def _place(hunk: Hunk, image: list[bytes], done: list[bool], shift: int, recount: bool) -> int | None:
    """The number of lines in front of the place of a hunk, or None.

    shift: the lines that earlier hunks added. A hunk that is recounted may lack context, so it need not stand at an end
    of the file.
    """
    before = hunk.before
    last = len(image) - len(before)
    trailing = hunk.signs.endswith(b" ")
    wanted = max(hunk.start - bool(before), 0) + shift
    ends = [place for place in (0, last) if (place == 0 or hunk.start > 1) and (place == last or trailing)]
    places: Iterable[int] = chain([wanted], *((wanted + step, wanted - step) for step in range(1, len(image) + wanted)))
    if b" " not in hunk.signs:
        places = [wanted, *ends]
    elif not recount and (hunk.start <= 1 or not trailing):
        places = ends

    def fits(place: int) -> bool:
        """True if the lines are there. A last one without a newline, if it need not end the file, may have one."""
        there = image[place : place + len(before)]
        if trailing and not before[-1].endswith(b"\n"):
            there[-1] = there[-1].removesuffix(b"\n")
        return there == before and not any(done[place : place + len(before)])

    return next((place for place in places if 0 <= place <= last and fits(place)), None)
