"""Files that appear whole or not at all: written beside their place, flushed to the disk, then renamed."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

PREFIX = ".turnwire-"
SUFFIX = ".tmp"


# What is begun and not ended, and by which process. An interruption can come between any two steps, also between making
# a file and telling anybody of it: whatever is still here when Python ends goes then.
_begun: dict[Path, int] = {}


def temporary(directory: Path) -> Path:
    """A new name in that directory, hidden, the same length whatever it becomes. Says that it is begun."""
    path = directory / f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}"
    _begun[path] = os.getpid()
    return path


def _remove(path: Path) -> None:
    """Removes what was begun under a temporary name, file or directory, if it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    _begun.pop(path, None)


@atexit.register
def _sweep() -> None:
    for path, process in list(_begun.items()):
        if process == os.getpid():  # a child that was forked leaves its parent's files alone
            with suppress(OSError):
                _remove(path)


def sync_directory(directory: Path) -> None:
    """Flushes the names in a directory to the disk; does nothing where the system cannot."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class AtomicFile:
    """A binary file for a ``with`` block: there under its name when the block ends well, otherwise as if never begun.

    A symbolic link is followed, the permissions of a file that is replaced are kept. What is there already and is no
    regular file (``/dev/stdout``, a named pipe) cannot be replaced and is written to as it is.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self._place = Path(os.path.realpath(self.name))
        self._beside: Path | None = None
        self.file: BinaryIO | Any = None

    def __enter__(self) -> Self:
        try:
            self.file = self._opened()
        except OSError as error:
            self._drop()
            error.filename = self.name
            del error.filename2  # None would be shown, as "-> None"
            raise
        return self

    def _opened(self) -> Any:
        mode = None
        with suppress(FileNotFoundError):
            status = os.stat(self._place)
            if not stat.S_ISREG(status.st_mode):
                return open(self._place, "wb")
            mode = stat.S_IMODE(status.st_mode)
        self._beside = temporary(self._place.parent)
        file = open(self._beside, "xb")  # noqa: SIM115
        if mode is not None:
            with suppress(OSError):  # somebody else's file: a new one is ours
                os.chmod(self._beside, mode)
        return file

    def write(self, data: Any) -> int:
        """Writes all of it. Raises OSError with the name of the file."""
        try:
            count: int = self.file.write(data)
        except OSError as error:
            raise self._named(error) from None
        return count

    def flush(self) -> None:
        """Hands on what is still held back. Raises as :meth:`write` does."""
        try:
            self.file.flush()
        except OSError as error:
            raise self._named(error) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._commit()
        except OSError as failure:
            raise self._named(failure) from None
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
        _begun.pop(self._beside, None)
        self._beside = None
        sync_directory(self._place.parent)

    def _drop(self) -> None:
        if self.file is not None:
            with suppress(OSError):  # on a full disk the last flush fails again
                self.file.close()
        if self._beside is not None:
            _remove(self._beside)

    def _named(self, error: OSError) -> OSError:
        error.filename = self.name
        del error.filename2  # None would be shown, as "-> None"
        return error


class AtomicDirectory:
    """A directory for a ``with`` block: ``path`` is where to write; it gets its name when the block ends well.

    Its name must be free, or an empty directory: FileExistsError says otherwise, before anything is written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self._place = Path(os.path.realpath(self.name))
        self.path = temporary(self._place.parent)

    def __enter__(self) -> Self:
        if os.path.lexists(self._place) and not (self._place.is_dir() and not any(self._place.iterdir())):
            raise FileExistsError(17, "exists already and is not an empty directory", self.name)
        try:
            self.path.mkdir()
        except OSError as error:
            error.filename = self.name
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                for directory in {self.path, *(found for found in self.path.rglob("*") if found.is_dir())}:
                    sync_directory(directory)
                os.rename(self.path, self._place)
                sync_directory(self._place.parent)
        except OSError as failure:
            failure.filename = self.name
            del failure.filename2  # None would be shown, as "-> None"
            raise
        finally:
            _remove(self.path)


def remove_leftovers(directory: Path) -> None:
    """Removes what killed processes left half written in a directory that nobody writes to any more."""
    for found in directory.glob(f"{PREFIX}*{SUFFIX}"):
        found.unlink(missing_ok=True)
