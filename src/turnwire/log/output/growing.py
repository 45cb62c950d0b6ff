"""A directory to which runs add files: after a crash it has all files of a run or none.

A run writes to a hidden folder beside the directory, where no reader looks. The folder of the first run is renamed to
the directory at the end, unless the directory has to exist earlier. A later run ends by writing ``.NAME.commit`` beside
the directory: a list of the files to move there. From then on the run counts; if the process dies while it moves them,
the next writer goes on. That file also keeps the position of a scan that is to be resumed, so the position always fits
the files.
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

from turnwire.atomic import AtomicFile, atomic_directory, done_before, explained, locked, sweep, sync_directory

_SUFFIX = ".run"


class GrowingDirectory:
    """A directory for a ``with`` block.

    Args:
        path: its name. fits: (name of a file in it) -> whether that is a file of such an output. early: whether the
            directory exists from the beginning, and takes the files of several runs.

    Attributes:
        path: where to write in the block. there: the names of the files that the directory has already.
        position: that of the last run, if it kept one. Set it in the block to keep one with the files of this run.

    Raises OSError: FileExistsError or NotADirectoryError where there is something else, BlockingIOError where another
    process writes there.
    """

    def __init__(self, path: str | os.PathLike[str], fits: Callable[[str], bool], *, early: bool = False) -> None:
        self.name = os.fspath(path)
        self.there: list[str] = []
        self.position: dict[str, Any] | None = None
        self._fits = fits
        self._early = early
        self._place = Path(os.path.realpath(self.name))
        self._commit_file = self._place.with_name(f".{self._place.name}.commit")
        self._grows = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._early:
            self._make()
        self._grows = self._early or (self._place.is_dir() and any(self._place.iterdir()))
        with self._stack:
            if self._grows:
                self._stack.enter_context(locked(self.name, "another process writes there"))
            self.position = recovered(self._place).get("position")
            if self._grows:
                for left in self._place.parent.glob(f".{escape(self._place.name)}.*{_SUFFIX}"):
                    shutil.rmtree(left)  # nobody else holds the directory
                sweep(self._place)
                found = (path for path in self._place.rglob("*") if not path.is_dir())
                self.there = sorted(path.relative_to(self._place).as_posix() for path in found)
                if not all(map(self._fits, self.there)):
                    raise FileExistsError(17, "exists already and has files that are not such parts", self.name)
                self._begin()
            else:
                self.path = self._stack.enter_context(atomic_directory(self.name))
            self._stack = self._stack.pop_all()
        return self

    def _make(self) -> None:
        try:
            self._place.mkdir()
            sync_directory(self._place.parent)
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise explained(error, self.name) from None
        except FileExistsError:
            if not self._place.is_dir():
                text = "is a file; with --follow or --resume the output is a folder of parts"
                raise NotADirectoryError(20, text, self.name) from None

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
        if error is not None:
            if self._grows:
                self._drop()
            self._stack.__exit__(kind, error, trace)
            return
        kept = {} if self.position is None else {"position": self.position}
        with self._stack:
            if self._grows:
                self._append(kept)
            elif kept:
                _write(self._commit_file, {**kept, "new": True})
        if kept and not self._grows:
            _write(self._commit_file, kept)

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
                _write(self._commit_file, {**kept, "folder": self.path.name, "files": files})
            except BaseException:
                self._drop()
                raise
            _move(self._place, self.path.name, files)
        else:
            self.path.rmdir()
        if kept:
            _write(self._commit_file, kept)
        else:
            self._commit_file.unlink(missing_ok=True)


def recovered(place: Path) -> dict[str, Any]:
    """The state that the last run committed. Moves the files that it had not moved yet; a first run that did not end
    counts for nothing."""
    file = place.with_name(f".{place.name}.commit")
    kept = _read(file)
    if not kept:
        return {}
    if not place.is_dir() or (kept.pop("new", False) and not any(place.iterdir())):
        file.unlink()
        return {}
    if "folder" in kept:
        _move(place, kept.pop("folder"), kept.pop("files"))
        _write(file, kept)
    return kept


def _move(place: Path, folder: str, files: list[str]) -> None:
    """Moves files to their places, those that are not there yet."""
    for name in files:
        target = place / name
        target.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # it was moved before
            (place.parent / folder / name).rename(target)
    with done_before(place):  # from here on nothing is lost
        for directory in {place, *(place / name for name in map(os.path.dirname, files))}:
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
