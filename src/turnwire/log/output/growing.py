"""A directory to which runs add files: after a crash it has all files of a run or none.

A run writes to a hidden folder beside the directory, where no reader looks. It ends by writing ``.NAME.commit`` beside
the directory, a list of the files to move there, and from then on the run counts; if the process dies while it moves
them, the next writer goes on. The folder of the first run becomes the directory at once. ``.NAME.commit`` also keeps
the position of a scan that is to be resumed, so the position always fits the files.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from glob import escape
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from turnwire.atomic import AtomicFile, done_before, explained, locked, sweep, sync_directory

_SUFFIX = ".run"


class GrowingDirectory:
    """A directory for a ``with`` block, which is there, empty, from the beginning.

    Args:
        path: its name. fits: (name of a file in it) -> whether that is a file of such an output.

    Attributes:
        path: where to write in the block. there: the names of the files that the directory has already.
        position: that of the last run, if it kept one. Set it in the block to keep one with the files of this run.

    Raises OSError: FileExistsError or NotADirectoryError where there is something else, BlockingIOError where another
    process writes there.
    """

    def __init__(self, path: str | os.PathLike[str], fits: Callable[[str], bool]) -> None:
        self.name = os.fspath(path)
        self.there: list[str] = []
        self.position: dict[str, Any] | None = None
        self._fits = fits
        self._place = Path(os.path.realpath(self.name))
        self._commit_file = self._place.with_name(f".{self._place.name}.commit")
        self._is_new = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:
            self._make()
            self._stack.enter_context(locked(self.name, "another process writes there"))
            self.position = recovered(self._place).get("position")
            for left in self._place.parent.glob(f".{escape(self._place.name)}.*{_SUFFIX}"):
                shutil.rmtree(left)  # nobody else holds the directory
            sweep(self._place)
            found = (path for path in self._place.rglob("*") if not path.is_dir())
            self.there = sorted(path.relative_to(self._place).as_posix() for path in found)
            if not all(map(self._fits, self.there)):
                raise FileExistsError(17, "exists already and has files that are not such parts", self.name)
            self._begin()
            if self._is_new:
                self._stack.enter_context(locked(self.path))  # it becomes the directory
            self._stack = self._stack.pop_all()
        return self

    def _make(self) -> None:
        """Makes the directory, which goes again where nothing comes into it."""
        try:
            self._place.mkdir()
        except FileExistsError:
            if not self._place.is_dir():
                raise NotADirectoryError(20, "is a file; the output is a folder of parts", self.name) from None
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise explained(error, self.name) from None
        else:
            self._is_new = True
            self._stack.push(self._unmake)

    def _unmake(self, kind: object, error: object, trace: object) -> None:
        if error is not None:
            with suppress(OSError):  # it has files of a run that ended well
                self._place.rmdir()

    def _begin(self) -> None:
        self.path = self._place.with_name(f".{self._place.name}.{os.urandom(8).hex()}{_SUFFIX}")
        self.path.mkdir()

    def commit(self, position: dict[str, Any]) -> None:
        """Ends a run: its files and the position are in the directory. Later files belong to the next run."""
        self.position = position
        self._append({"position": position})
        self._begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError) and Path(str(error.filename or self.path)).is_relative_to(self.path):
            error.filename = self.name  # of a file in it that is open
        with self._stack as stack:
            if error is not None:
                self._drop()
                stack.pop_all().__exit__(kind, error, trace)
                return
            self._append({} if self.position is None else {"position": self.position})

    def _drop(self) -> None:
        """Removes the files of this run, unless it has happened."""
        if _read(self._commit_file).get("folder") != self.path.name:
            shutil.rmtree(self.path, ignore_errors=True)

    def _append(self, kept: dict[str, Any]) -> None:
        files = sorted(path.relative_to(self.path).as_posix() for path in self.path.rglob("*") if path.is_file())
        if files:
            for folder in {self.path, *(path for path in self.path.iterdir() if path.is_dir())}:
                sync_directory(folder)
            try:
                if kept or not (self._is_new and os.name == "posix"):  # else a rename does it all
                    _write(self._commit_file, {**kept, "folder": self.path.name, "files": files})
            except BaseException:
                self._drop()
                raise
            _move(self._place, self.path.name, files, self._is_new)
            self._is_new = False
        else:
            self.path.rmdir()
        if kept:
            _write(self._commit_file, kept)
        else:
            self._commit_file.unlink(missing_ok=True)


def recovered(place: Path) -> dict[str, Any]:
    """The state that the last run committed. Moves the files that it had not moved yet."""
    file = place.with_name(f".{place.name}.commit")
    kept = _read(file)
    if kept and not place.is_dir():
        file.unlink()
        return {}
    if "folder" in kept:
        _move(place, kept.pop("folder"), kept.pop("files"))
        _write(file, kept)
    return kept


def _move(place: Path, folder: str, files: list[str], whole: bool = False) -> None:
    """Moves files to their places, those that are not there yet; ``whole``: the folder takes the place, if the system
    renames to a directory that is there."""
    if whole:
        with suppress(OSError):
            os.rename(place.parent / folder, place)
    for name in files:
        target = place / name
        target.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # it was moved before
            (place.parent / folder / name).rename(target)
    with done_before(place):  # from here on nothing is lost
        for directory in {place, place.parent, *(place / name for name in map(os.path.dirname, files))}:
            sync_directory(directory)
    shutil.rmtree(place.parent / folder, ignore_errors=True)


def _read(file: Path) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):  # what else is wrong with the name is told by who writes there
        return {}
    return kept


def _write(file: Path, kept: dict[str, Any]) -> None:
    with AtomicFile(file) as out:
        out.write(json.dumps(kept).encode() + b"\n")


def later(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    """The position behind more records: a kill can come between a run and the file that keeps the position."""
    if not one or not other:
        return one or other
    return one if one.get("record", 0) > other.get("record", 0) else other
