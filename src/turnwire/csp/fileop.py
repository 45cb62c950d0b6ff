"""FILEOP done for real: create, patch and delete files inside one directory, all or nothing.

A path is relative, has no ``..`` and stays inside the root when symbolic links are followed. BASE is the SHA-256 of
the file (``sha256:<hex>``, or at least 7 of its digits); any other form only the caller can judge. On systems with
``openat`` the way to the file is walked without following links, so that it cannot be swapped underneath.

From the reading of the file to its rename the root directory is locked (``flock``; not on Windows): of several that
patch one file on one BASE, one does.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import chain
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

from turnwire.atomic import create, done_before, keep_access, locked, named, sweep, sync_directory, temporary_name
from turnwire.csp.messages import FileOp
from turnwire.csp.spec import FILE_OPS, WIRE
from turnwire.errors import Reason, RuleError
from turnwire.showing import visible

_LONGEST, _SHOWN = 1 << 14, 60
"""Characters of a path that is followed, several times what systems take; of a longer one, those that are told."""
_DIGEST = re.compile(r"sha256:([0-9a-fA-F]{7,64})|([0-9a-fA-F]{7,64})")
_WALKS = {os.open, os.mkdir, os.unlink, os.rename, os.stat, os.rmdir} <= os.supports_dir_fd and hasattr(
    os, "O_NOFOLLOW"
)
Resolver = Callable[[Path, str], bool]
PROTECTED = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", "cvs", ".pijul", ".fslckout"})
"""Folders (and files) that version control keeps for itself: what is written there can be run by it."""

_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")  # by HFS+, when it compares names
_SHORT = {name[1:7]: name for name in PROTECTED if name.startswith(".")}  # NTFS also calls .git GIT~1, and so on


class Plan(NamedTuple):
    """The effect of a file operation, applied (``done``) or planned. Digests are ``sha256:<hex>``, None for no file."""

    op: str
    path: Path
    before: str | None
    after: str | None
    added: int
    removed: int
    directories: tuple[str, ...]
    done: bool

    def __str__(self) -> str:
        """One line, safe to print: what a stranger put into a name is escaped."""
        verb = "did" if self.done else "would"
        made = "".join(f", making {visible(name)}/" for name in self.directories)
        change = f"{_short(self.before)} -> {_short(self.after)}"
        return f"{verb} {self.op} {visible(str(self.path))}: +{self.added} -{self.removed} lines, {change}{made}"


def _short(digest: str | None) -> str:
    return "no file" if digest is None else digest[:19]


class _Fault(Exception):
    """The reason, in words, why a file operation is not done."""

    def __init__(self, text: str, reason: Reason = Reason.BAD_DIFF) -> None:
        super().__init__(text)
        self.reason = reason


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    """Raises a fault as a RuleError about the file ``path``."""
    try:
        yield
    except _Fault as fault:
        rule = "diff" if fault.reason in (Reason.BAD_DIFF, Reason.DIFF_MISMATCH) else "fileop"
        raise RuleError(fault.reason, str(fault), rule=rule, wire=WIRE, path=path) from fault.__cause__


def digest(content: bytes) -> str:
    """``sha256:`` and the hex digest of a content: what BASE is compared with."""
    return f"sha256:{sha256(content).hexdigest()}"


def apply(
    block: FileOp,
    root: str | Path,
    *,
    dry_run: bool = False,
    recount: bool = False,
    resolve: Resolver | None = None,
    allow: Iterable[str] | None = None,
    deny: Iterable[str] = (),
) -> Plan:
    """Does a file operation inside ``root``, or plans it; see :meth:`turnwire.csp.FileOp.apply`."""
    if isinstance(allow, (str, bytes)) or isinstance(deny, (str, bytes)):
        raise TypeError("patterns must be a list of strings, not one string")
    path = block.get("PATH")
    with _refusing(block.id if path is None else path):
        if path is None:
            raise _Fault("a FILEOP needs PATH", Reason.MISSING_PATH)
        if block.op not in FILE_OPS:
            raise _Fault(f"{block.op!r} is not one of {', '.join(FILE_OPS)}", Reason.UNKNOWN_OP)
        top = Path(root).resolve(strict=True)
        if not top.is_dir():
            raise _Fault(f"{top} is not a directory", Reason.NOT_A_FILE)
        parts = _inside(top, path)
        allowed, denied = None if allow is None else tuple(allow), tuple(deny)
        for asked in {parts, tuple(part for part in PurePosixPath(path).parts if part != ".")}:
            if text := forbidden(asked, allowed, denied):
                raise _Fault(text, Reason.UNSAFE_PATH)
        file = top.joinpath(*parts)
        with nullcontext() if dry_run else locked(top):
            old = _current(file)
            if old is not None and block.op != "CREATE":
                _check_base(block.get("BASE"), old, resolve, file)
            new, added, removed = _wanted(block, old, recount)
            missing = tuple(_missing_directories(top, parts[:-1]))
            if not dry_run:
                _write(top, parts, old, new)
    before, after = (None if content is None else digest(content) for content in (old, new))
    return Plan(block.op, Path(*parts), before, after, added, removed, missing, not dry_run)


def _inside(top: Path, path: str) -> tuple[str, ...]:
    """The parts below ``top`` of the file that ``path`` names, links followed."""
    posix, windows = PurePosixPath(path), PureWindowsPath(path)
    if not path or "\0" in path or path.endswith("/"):
        raise _Fault("the path names no file", Reason.UNSAFE_PATH)
    if posix.is_absolute() or windows.drive or windows.root:
        raise _Fault("the path is absolute", Reason.UNSAFE_PATH)
    if ".." in posix.parts or ".." in windows.parts:
        raise _Fault("the path has a ..", Reason.UNSAFE_PATH)
    try:
        if len(path) > _LONGEST:  # following its parts one by one would cost the square of that
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), f"{path[:_SHOWN]}...")
        real = (top / path).resolve()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            os.stat(real)  # from Python 3.13 on, resolve() says nothing of links that run in a circle
    except (OSError, RuntimeError, ValueError) as error:
        raise _Fault(f"the path cannot be followed: {error}", Reason.UNSAFE_PATH) from error
    if real == top or not real.is_relative_to(top):
        raise _Fault("the path leads outside the root", Reason.UNSAFE_PATH)
    return real.relative_to(top).parts


def _current(file: Path) -> bytes | None:
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            raise _Fault("this is not a regular file", Reason.NOT_A_FILE)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise _Fault("a directory of the path is a file", Reason.NOT_A_FILE) from None
    return file.read_bytes()


def _check_base(base: str | None, old: bytes, resolve: Resolver | None, file: Path) -> None:
    match = None if base is None else _DIGEST.fullmatch(base)
    if base is None or (match is None and resolve is not None and resolve(file, base)):
        return
    if match is None:
        why = "is not the state of the file" if resolve else "is not a SHA-256 digest and cannot be checked here"
        raise _Fault(f"BASE {base} {why}", Reason.BASE_MISMATCH)
    if not sha256(old).hexdigest().startswith((match[1] or match[2]).lower()):
        raise _Fault(f"BASE is {base}, the file is {digest(old)}", Reason.BASE_MISMATCH)


def _wanted(block: FileOp, old: bytes | None, recount: bool) -> tuple[bytes | None, int, int]:
    """The content after the operation, None for no file, and how many lines are added and removed."""
    if block.op == "CREATE" and old is not None:
        raise _Fault("CREATE needs a new file, but this one exists", Reason.FILE_EXISTS)
    if block.op == "CREATE" and block.get("BASE") is not None:
        raise _Fault("CREATE must not have a BASE: the file is new", Reason.BASE_MISMATCH)
    if block.op != "CREATE" and old is None:
        raise _Fault(f"there is no file to {block.op}", Reason.FILE_MISSING)
    if block.op == "DELETE":
        return None, 0, len((old or b"").splitlines())
    try:
        content = (block.get("CONTENT") or "").encode()
    except UnicodeEncodeError as error:
        raise _Fault(f"CONTENT is not text: {error.reason}", Reason.LONE_SURROGATE) from None
    if old is None:
        return content, len(content.splitlines()), 0
    return apply_diff(old, content, block.get("PATH") or "", recount)


def _missing_directories(top: Path, parts: tuple[str, ...]) -> Iterator[str]:
    """The directories that must be made for a file; refuses anything else that stands in their place."""
    for count in range(1, len(parts) + 1):
        place, parent = "/".join(parts[:count]), top.joinpath(*parts[:count])
        if not os.path.lexists(parent):
            yield place
        elif not parent.is_dir():
            raise _Fault(f"{place} is not a directory", Reason.NOT_A_FILE)


# --- writing ----------------------------------------------------------------------------------------------------------


def _write(top: Path, parts: tuple[str, ...], old: bytes | None, new: bytes | None) -> None:
    made: list[Path] = []
    place = os.path.join(top, *parts)
    try:
        with named(place), _directory(top, parts[:-1], made) as (folder, prefix):
            name = os.path.join(prefix, parts[-1])
            before = None if old is None else _unchanged(name, folder, old)
            if new is None:
                os.unlink(name, dir_fd=folder)
            else:
                _replace(name, folder, new, before)
            with done_before(place):  # the name of the file in its folder, and those of new folders in theirs
                if folder is not None:
                    sync_directory(folder)
                    for directory in {one.parent for one in made}:
                        sync_directory(directory)
    except BaseException:
        for directory in reversed(made):
            with suppress(OSError):  # somebody else has put something into it: it is theirs now
                directory.rmdir()
        raise


@contextmanager
def _directory(top: Path, parts: tuple[str, ...], made: list[Path]) -> Iterator[tuple[int | None, str]]:
    """(descriptor, "") of the directory, or (None, its path) where the system has no openat. Makes what is missing."""
    if not _WALKS:
        place = top
        for part in parts:
            place = place / part
            if not place.is_dir():
                place.mkdir()
                made.append(place)
        yield None, str(place)
        return
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for depth, part in enumerate(parts, 1):
            try:
                os.mkdir(part, dir_fd=folder)
                made.append(top.joinpath(*parts[:depth]))
            except FileExistsError:
                pass
            try:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            except OSError as error:
                raise _Fault(f"{part} is no longer a directory: {error}", Reason.UNSAFE_PATH) from error
            os.close(folder)
            folder = inner
        yield folder, ""
    finally:
        os.close(folder)


def _unchanged(name: str, folder: int | None, old: bytes) -> os.stat_result:
    """The status of the file, which must still be what the plan was made from."""
    with open(os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0), dir_fd=folder), "rb") as file:
        if file.read() != old:
            raise _Fault("the file changed during the operation", Reason.BASE_MISMATCH)
        return os.fstat(file.fileno())


def _replace(name: str, folder: int | None, content: bytes, before: os.stat_result | None) -> None:
    """Writes a neighbour and moves it into place, so that nobody ever sees half a file. before: of what it replaces."""
    directory = os.path.dirname(name)
    sweep(folder if folder is not None else directory)
    beside = os.path.join(directory, temporary_name())
    try:
        # Never readable by more than the file itself, not even while it is written.
        with open(create(beside, 0o666 if before is None else before.st_mode & 0o600, folder), "wb") as file:
            if before is not None:
                keep_access(file.fileno(), before)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if before is not None:
                os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
                return
            try:
                os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                raise _Fault("another process has just created the file", Reason.FILE_EXISTS) from None
    finally:
        with suppress(OSError):  # it is not there any more; or it stays, and who writes there next sweeps it
            os.unlink(beside, dir_fd=folder)


# --- the paths that an operation may touch: patterns as in .gitignore, and the folders of version control -------------


def plain(part: str) -> str:
    """A part of a path as the laxest file system compares it: without case, ignored signs, or what NTFS cuts off."""
    name = _IGNORED.sub("", unicodedata.normalize("NFKC", part)).casefold()
    name = name.partition(":")[0].rstrip(" .")
    short, tilde, number = name.partition("~")
    return _SHORT.get(short, name) if tilde and number.isdigit() else name


def matches(pattern: str, parts: Sequence[str], *, fold: bool = False) -> bool:
    """True if a pattern matches a path (its parts below the root), as in ``.gitignore``.

    ``*`` and ``?`` stand for signs of one part, ``**`` for any parts. A pattern with a ``/`` begins at the root, one
    without matches a part at any depth; what matches a folder matches all in it. ``fold``: case does not count. Raises
    ValueError for an empty pattern.
    """
    if not isinstance(pattern, str) or not pattern.strip("/"):
        raise ValueError(f"{pattern!r} is not a path pattern")
    wanted = (pattern.lower() if fold else pattern).replace("[", "[[]").strip("/").split("/")
    if "/" not in pattern.rstrip("/"):
        wanted.insert(0, "**")
    said = [part.lower() if fold else part for part in parts]
    taken = {0}  # how many parts the pattern can match so far
    for number, one in enumerate(wanted, 1):
        if one == "**":
            taken = set(range(min(taken) + (number == len(wanted)), len(said) + 1))
        else:
            taken = {place + 1 for place in taken if place < len(said) and fnmatchcase(said[place], one)}
        if not taken:
            return False
    return True


def forbidden(parts: Sequence[str], allow: Sequence[str] | None, deny: Sequence[str]) -> str | None:
    """The reason, in words, why a path may not be touched by ``allow=`` and ``deny=`` of a file operation, or None."""
    for pattern in deny:
        if matches(pattern, parts, fold=True):
            return f"the path is denied by {pattern!r}"
    if allow is not None and not any(matches(pattern, parts) for pattern in allow):
        return "no pattern allows the path"
    named = {plain(part) for pattern in allow or () for part in pattern.split("/")}
    for part in parts:
        # Elsewhere a backslash is a separator, and a folder may be shared with such a system.
        if any(plain(piece) in PROTECTED - named for piece in part.split("\\")):
            return f"{part} belongs to version control and is denied unless an allowed pattern names it"
    return None


# --- unified diffs of one file, as git and GNU diff write them, applied as ``git apply`` does -------------------------

_HUNK = re.compile(rb"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")
_NOT_APPLIED = re.compile(
    rb"rename (?:old|new|from|to) |copy (?:from|to) |(?:new|deleted) file mode |(?:old|new) mode "
    rb"|(?:dis)?similarity index |index \S+ 1[26]0000|Binary files .* differ$|GIT binary patch$",
    re.MULTILINE,
)
"""Lines of a header that say more than a change of a text."""
_BLANK = (b"\n", b"\r\n")
_NO_NEWLINE = b"\\"
_SIGNS = (b" ", b"+", b"-")
_SIGNATURE = b"-- \n"
"""The line in front of git's version, at the end of a mailed diff."""
_DIFF_LINE = re.compile(rb"[-+ @\\]|diff ")
"""No text behind the last hunk begins so: a line that no hunk counts, or a further file."""
_GIT = b"diff --git "
_NO_FILE = re.compile(rb"/dev/null(?:\s|\Z)|[^\t]*\t19(?:70-01-01|69-12-31) ")
"""No file by its name, or by a time of the days around 1970, as GNU diff writes it in any zone."""
_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"')
_NAME_END = re.compile(rb"[\t\r\n]| (?:[0-9]{2}){1,2}(?:-[0-9]{2}){2} [0-9]{2}(?::[0-9]{2}){2}[-+.: 0-9]*\n?\Z")
"""A tab, or a time that a blank parts from a name."""
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Hunk(NamedTuple):
    """One hunk: ``start`` is the 1-based first old line, or if there is none the line in front; the lines before the
    diff and after it, with their newlines; ``signs``: that of each of its lines."""

    start: int
    before: list[bytes]
    after: list[bytes]
    signs: bytes


def apply_diff(content: bytes, diff: bytes, path: str, recount: bool = False) -> tuple[bytes, int, int]:
    """``content`` after the diff of the file ``path``, and how many lines were added and removed.

    As for git, all lines of a hunk must be there, and it may be elsewhere than it says: the nearest such place is taken
    at which no hunk was applied. A hunk that begins at line 1 stands at the beginning of the file, one without lines
    after its changes at the end. One without any context stands where it says.

    recount: a hunk extends to the next one, whatever its header counts; it begins at the line that its header names.
    Raises RuleError(bad_diff) for a broken diff, diff_mismatch if it does not fit.
    """
    with _refusing(path):
        return _applied(content, _hunks(_split(diff), path, recount), recount)


def _split(content: bytes) -> list[bytes]:
    """Lines with their LF; the last may have none."""
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


# --- reading ----------------------------------------------------------------------------------------------------------


def _hunks(lines: list[bytes], path: str, recount: bool) -> list[Hunk]:
    """The hunks of a diff. Lines before the first are its header, whose names must be ``path``; after the last
    may be text, and a mail's signature.

    Git passes over all that is no further diff, and so would lose a line that its hunk does not count.
    """
    place = next((number for number, line in enumerate(lines) if line.startswith(b"@@")), len(lines))
    _check_header(lines[:place], path)
    if place == len(lines):
        raise _Fault("the diff has no hunk")
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
    """The hunk whose header is at a place, and the place after it."""
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
            raise _Fault(wrong if recount else f"the hunk at line {head} of the diff has a wrong line count")
        if not line.endswith(b"\n"):  # a file that ends so is told by a line of its own
            raise _Fault(f"line {place + 1} of the diff is cut off: it has no newline")
        signs += sign
        text = line if line in _BLANK else line[1:]
        if sign != b"+":
            before.append(text)
        if sign != b"-":
            after.append(text)
    if not recount and (len(before), len(after)) != (old, new):
        raise _Fault(f"the hunk at line {head} of the diff has a wrong line count")
    if not signs.strip():
        raise _Fault(f"the hunk at line {head} of the diff changes nothing")
    if recount and old and start and not before:
        start -= 1  # without old lines a header names the line in front: this one says that it has some
    return Hunk(start, before, after, signs), place


def _check_header(header: list[bytes], path: str) -> None:
    """Refuses a diff of another file than ``path``, and one that does more than change its text.

    As for ``git apply``, a name begins after its first folder, whatever that is called; without a line ``diff --git``
    it need not have one. The file is that of the line ``+++``; behind ``diff --git`` that of ``---`` as well. A diff
    may have no names, or those of such a line alone.
    """
    git = [number for number, line in enumerate(header) if line.startswith(_GIT)]
    for line in filter(_NOT_APPLIED.match, header[git[0] :] if git else header[-2:]):
        words = line.split(b"\n")[0].decode("utf-8", "replace")
        raise _Fault(f"a PATCH can only change the text of one file: {words}")
    said = [line for line in header if line.startswith((b"--- ", b"+++ "))]
    own = [line for line in header[git[0] + 1 :] if not line.startswith(b"index ")] if git else header[-2:]
    if [line[:4] for line in said] not in ([], [b"--- ", b"+++ "]) or ((said or git) and own != said):
        raise _Fault("the names of one file, --- and +++, must directly precede the first hunk")
    for line in said:
        if _NO_FILE.match(line, 4):
            other = "DELETE" if line.startswith(b"+") else "CREATE"
            raise _Fault(f"a PATCH must change an existing file: this one is for {other}")
    names = [_named(line[4:], bool(git)) for line in (said if git else said[1:])]
    if git and not said:
        names = [_git_name(header[git[0]])]
    wanted = str(PurePosixPath(path)).encode(errors="surrogatepass")
    if any(name != wanted for name in names):
        shown = " and ".join(dict.fromkeys(name.decode("utf-8", "replace") or "no file" for name in names))
        raise _Fault(f"the diff is for {shown} (after the first folder of its names), not for {path}")


def _named(written: bytes, folder: bool = True) -> bytes:
    """The name that one in the header of a diff means, after its first folder. folder: it must have one."""
    quoted = _QUOTED.match(written)
    name = _NAME_END.split(written, maxsplit=1)[0] if quoted is None else _ESCAPE.sub(_unescaped, quoted[1])
    first, _, rest = name.partition(b"/")
    return rest if folder or rest else first


def _git_name(head: bytes) -> bytes:
    """The name that both after ``diff --git`` are, which nothing tells apart where they have spaces."""
    line = head[len(_GIT) :].rstrip()
    quoted = _QUOTED.match(line)
    ends = [match.start() for match in re.finditer(b" ", line)]
    if quoted is not None:
        ends = [quoted.end()] * line.startswith(b' "', quoted.end())  # git takes no second name without quotes
    for size in ends:
        name = _named(line[:size])
        if name and name == _named(line[size + 1 :]):
            return name
    raise _Fault(f"the names after diff --git differ: {line.decode('utf-8', 'replace')}")


def _unescaped(match: re.Match[bytes]) -> bytes:
    said = match[1]
    return bytes([int(said, 8)]) if len(said) == 3 else _LETTERS.get(said, said)


# --- applying ---------------------------------------------------------------------------------------------------------


def _applied(content: bytes, hunks: list[Hunk], recount: bool) -> tuple[bytes, int, int]:
    image = _split(content)
    size, behind = len(image), 0
    done = [False] * size  # lines of hunks that were applied
    for hunk in hunks:
        place = _place(hunk, image, done, len(image) - size, recount)
        if place is None:
            raise _Fault(f"the lines of the hunk at line {hunk.start} do not match the file", Reason.DIFF_MISMATCH)
        if place < behind and b" " not in hunk.signs:
            raise _Fault("the hunks overlap or are out of order")
        behind = place + len(hunk.after)
        stop = place + len(hunk.before)
        image[place:stop] = hunk.after
        done[place:stop] = [True] * len(hunk.after)
    if any(not line.endswith(b"\n") for line in image[:-1]):
        raise _Fault("a line without a newline would be in the middle of the file")
    signs = b"".join(hunk.signs for hunk in hunks)
    return b"".join(image), signs.count(b"+"), signs.count(b"-")


def _place(hunk: Hunk, image: list[bytes], done: list[bool], shift: int, recount: bool) -> int | None:
    """The number of lines before the place of a hunk, or None.

    shift: the lines that earlier hunks added. A hunk that is recounted may lack context, so it need not stand at an end
    of the file.
    """
    before = hunk.before
    last = len(image) - len(before)
    trailing = hunk.signs.endswith(b" ")
    wanted = max(hunk.start - bool(before), 0) + shift
    ends = [place for place in (0, last) if (place == 0 or hunk.start > 1) and (place == last or trailing)]
    near = min(max(wanted, 0), last)  # a header may name any line, however far behind the file
    steps = ((near + step, near - step) for step in range(1, last + 1))
    places: Iterable[int] = chain([near], chain.from_iterable(steps))
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
