"""Files that appear whole or not at all: written beside their place, flushed to the disk, then renamed.

What a process that was killed left half written is removed by the next one that writes there. The writer of a temporary
file holds a lock on it (``flock``), which ends with its process; an unlocked file has no owner.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from turnwire.errors import NotFlushed

# Windows has other locks, and none on directories: nothing is known to be left there.
fcntl: Any = import_module("fcntl") if os.name == "posix" else None

# What file systems say that cannot flush a directory at all.
_NO_FLUSH = (errno.EINVAL, errno.ENOTSUP)

_BEHIND_FOLDERS = (os.sep, os.altsep or os.sep)
"""Endings that only the name of a folder has."""
PREFIX = ".turnwire-"
SUFFIX = ".tmp"

_swept: set[tuple[int, Path]] = set()
"""Processes (a child that was forked is another one), each with a directory that it has swept."""


def temporary_name() -> str:
    """A new name, hidden, and of the same length whatever it becomes: no name is too long for it."""
    return f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}"


def hold(descriptor: int, *, wait: bool = True) -> bool:
    """Locks an open file or directory until it is closed; whether it is locked now. True if there are no locks."""
    if fcntl is None:
        return wait
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if wait:
            raise
        return False
    return True


@contextmanager
def locked(directory: str | os.PathLike[str], refusal: str | None = None) -> Iterator[None]:
    """Only one such block of a directory runs at a time, in all processes. The lock is on
    the directory itself: it leaves no file, and ends with the process. Nothing is locked on Windows. Where somebody is,
    this waits, or raises BlockingIOError with the words of ``refusal``."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        if not hold(descriptor, wait=refusal is None):
            raise BlockingIOError(11, refusal, os.fspath(directory))
        yield
    finally:
        os.close(descriptor)


def create(path: str, mode: int = 0o666, folder: int | None = None) -> int:
    """A descriptor of a new file to write, locked as long as it is open. ``mode``: what the file has from its first
    moment on, less the umask. ``folder``: the directory that ``path`` is relative to. Raises FileExistsError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    while True:
        descriptor = os.open(path, flags, mode, dir_fd=folder)
        try:
            with suppress(OSError):  # a file system without locks: then nobody can see that this file is left
                hold(descriptor)
            if os.fstat(descriptor).st_nlink:  # else it was swept before it was locked
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def keep_access(descriptor: int, before: os.stat_result) -> None:
    """Gives a new file the owner, the group and the permissions of the file that it replaces, as far as this process
    may: nobody can do more with it than with that one. Without the group, its members get what everybody has.

    The bits that let a program run as its owner or group are not kept, as a system drops them where a file is written:
    whoever wrote this content is not who set them. Raises OSError if the permissions cannot be set.
    """
    if not hasattr(os, "fchmod"):
        return
    mode, now = before.st_mode & 0o777, os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, -1, before.st_gid)
        with suppress(OSError):  # only a superuser gives files away
            os.fchown(descriptor, before.st_uid, -1)
        if os.fstat(descriptor).st_gid != before.st_gid:
            mode &= ~0o070 | mode << 3
    os.fchmod(descriptor, mode)


def sweep(directory: str | os.PathLike[str] | int) -> None:
    """Removes what processes that are no more left half written in a directory (a path, or its descriptor)."""
    if fcntl is None:
        return
    folder = directory if isinstance(directory, int) else None
    for name in os.listdir(directory):
        if name.startswith(PREFIX) and name.endswith(SUFFIX):
            place = name if folder is not None else os.path.join(os.fspath(directory), name)  # type: ignore[arg-type]
            with suppress(OSError):  # somebody else was first, or permission is denied
                _sweep_one(place, folder)


def _sweep_one(place: str, folder: int | None) -> None:
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        if hold(descriptor, wait=False):
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.unlink(place, dir_fd=folder)
            elif folder is None:
                _remove(place)
    finally:
        os.close(descriptor)


def _remove(place: str | Path) -> None:
    """Removes what was begun under a temporary name, file or directory, if it is there."""
    if os.path.isdir(place):
        import shutil  # which imports much, and hardly ever is there a folder

        shutil.rmtree(place, ignore_errors=True)
    elif os.path.lexists(place):  # a read-only file system refuses to remove also what is not there
        os.unlink(place)


def _temporary(directory: Path) -> Path:
    """A new name in a directory, which is swept when this process first writes there: many files in one directory cost
    one look."""
    key = os.getpid(), directory
    if key not in _swept:
        _swept.add(key)
        sweep(directory)
    return directory / temporary_name()


def sync_directory(directory: Path | int) -> None:
    """Flushes the names in a directory (a path, or its descriptor) to the disk; does nothing if the system cannot.
    Raises OSError."""
    if os.name != "posix":
        return
    descriptor = directory if isinstance(directory, int) else os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FLUSH:
            raise
    finally:
        if descriptor is not directory:
            os.close(descriptor)


@contextmanager
def done_before(name: str | os.PathLike[str]) -> Iterator[None]:
    """For the flush of a directory once what has that name is written and in its place: an OSError in the block is
    raised as NotFlushed, so that nobody takes what is done for undone."""
    try:
        yield
    except OSError as error:
        text = f"the file was written, but its directory could not be flushed to disk: {error.strerror or error}"
        raise NotFlushed(error.errno or errno.EIO, text, os.fspath(name)) from error


@contextmanager
def named(name: str) -> Iterator[None]:
    """An OSError of the block carries this name."""
    try:
        yield
    except OSError as error:
        error.filename = name
        del error.filename2  # None would be shown, as "-> None"
        raise


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """A hidden directory for what may make files of its own beside a file, such as SQLite; it is gone, with all that is
    in it, when the block ends, and where the process was killed, when somebody next writes to ``parent``."""
    path, held = _temporary(parent), None
    try:
        path.mkdir(0o700)
        if fcntl is not None:
            held = os.open(path, os.O_RDONLY)
            with suppress(OSError):
                hold(held)
        yield path
    finally:
        if held is not None:
            os.close(held)
        _remove(path)


class AtomicFile:
    """A binary file for a ``with`` block: it gets its name when the block succeeds; otherwise nothing changes.

    A symbolic link is followed; permissions, owner and group of a file that is replaced are kept
    (:func:`keep_access`). What is there already and is no regular file (``/dev/stdout``, a named pipe) cannot be
    replaced and is written to as it is.

    Raises OSError if nothing has changed, and NotFlushed where the file is there, but may not outlast a loss of
    power.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self._place = Path(os.path.realpath(self.name))
        self._beside: Path | None = None
        self.file: BinaryIO | Any = None

    def __enter__(self) -> Self:
        try:
            with named(self.name):
                self.file = self._opened()
        except BaseException:
            self._drop()
            raise
        return self

    def expect(self) -> None:
        """Raises OSError if the block could not begin, before there is anything to write; nothing is left."""
        if os.path.isdir(self._place) or os.path.isfile(self._place) or not os.path.lexists(self._place):
            self.__enter__()
            self._drop()

    def _opened(self) -> Any:
        if self.name.endswith(_BEHIND_FOLDERS):  # the system's own open refuses that; the place has lost it
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        status = None
        with suppress(FileNotFoundError):
            status = os.stat(self._place)
            if not stat.S_ISREG(status.st_mode):
                return open(self._place, "wb")
        self._beside = _temporary(self._place.parent)
        # What replaces a file is never readable by more than the file was.
        descriptor = create(str(self._beside), 0o666 if status is None else status.st_mode & 0o600)
        file = open(descriptor, "wb")  # noqa: SIM115
        if status is not None:
            with suppress(OSError):  # a file system that keeps no permissions
                keep_access(descriptor, status)
        return file

    def write(self, data: Any) -> int:
        """Writes all of it. Raises OSError with the name of the file."""
        try:
            count: int = self.file.write(data)
        except OSError:
            with named(self.name):  # entering that block for each write would cost more than a short one does
                raise
        return count

    def flush(self) -> None:
        """Hands on what is still held back. Raises as :meth:`write` does."""
        with named(self.name):
            self.file.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                with named(self.name):
                    self._commit()
        finally:
            self._drop()

    def _commit(self) -> None:
        self.file.flush()
        if self._beside is None:
            self.file.close()
            return
        os.fsync(self.file.fileno())
        self.file.close()
        os.replace(self._beside, self._place)
        self._beside = None
        with done_before(self.name):
            sync_directory(self._place.parent)

    def _drop(self) -> None:
        if self.file is not None:
            with suppress(OSError):  # on a full disk the last flush fails again
                self.file.close()
        if self._beside is not None:
            _remove(self._beside)
