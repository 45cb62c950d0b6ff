"""Sources of bytes: paths, URLs, bytes, file objects, standard input."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from glob import glob, has_magic
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import MissingDependency, UnknownName, needs
from turnwire.log.input.rotated_names import oldest_first

if TYPE_CHECKING:
    from turnwire.contract import Limits
    from turnwire.errors import WireError
    from turnwire.log.input.bookmarks import Gap
    from turnwire.log.input.compression import Refuse
    from turnwire.log.input.memory import Pool
    from turnwire.log.input.reading import Stop


URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|[a-z]+::")
"""The beginning of the name of a file in a storage, not on this machine."""
SOURCE_CODE = (
    *(".py", ".pyc", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".c", ".h", ".cc", ".cpp", ".hpp"),
    *(".java", ".kt", ".scala", ".go", ".rs", ".rb", ".php", ".pl", ".lua", ".m", ".swift", ".sh", ".bash", ".ps1"),
    *(".cs", ".pyx"),
)
"""How the names of files of programs end. What looks like a damaged message in one that nobody named is a program that
makes or reads messages."""


class Source(NamedTuple):
    """One input: a name for the ``file`` column (None for bytes) and either bytes or something that opens.

    mappable: whether it is a file of its own, read from its start, so that a map of it holds the same bytes; only
    such files can be resumed and followed. size: bytes as stored, where that is known without asking again. start,
    line: the offset at which reading begins, in what is opened, and the number of the line there; stop: where it ends,
    None for the end of what is opened. carried: the state of the search at the start, as ``SearchState.kept`` says.
    cut: where more follows after what is read: called at its end with the offset up to which all is decided and the
    state there, it gives the fault that is to be raised, if any. listed: whether it was found in a folder or by a glob:
    it may be gone by the time it is opened, and nothing is missing then.
    """

    name: str | None
    data: Any = None
    open: Any = None
    mappable: bool = False
    size: int | None = None
    start: int = 0
    stop: int | None = None
    line: int = 1
    listed: bool = False
    carried: dict[str, Any] | None = None
    cut: Callable[[int, dict[str, Any] | None], WireError | None] | None = None

    def bytes(self) -> int | None:
        """The number of bytes stored there; None if that is unknown."""
        if self.data is not None:
            return memoryview(self.data).nbytes
        if not self.mappable or self.name is None:
            return self.size
        try:
            found = os.stat(self.name)
        except OSError:
            return None  # reading it will say why
        return found.st_size if stat.S_ISREG(found.st_mode) else None


def sources(source: Any) -> Iterator[Source]:
    """The inputs that ``source`` names, in order. Raises the failure of :func:`found_sources` after them."""
    found, failure = found_sources(source)
    yield from found
    if failure is not None:
        raise failure


def found_sources(source: Any) -> tuple[list[Source], Exception | None]:
    """The inputs that ``source`` names, in order: see :func:`turnwire.scan`. A file or URL that is named again (in a
    list, beside its directory, by a link) is met once; the rotated files of one log are met oldest first. And the
    FileNotFoundError or TypeError that is behind them, if any."""
    found: list[Source] = []
    failure: Exception | None = None
    try:
        for one in _named(source, set()):
            found.append(one)
    except Exception as error:
        failure = error
    if len(found) > 1:
        names = [one.name if one.mappable or URL.match(one.name or "") else None for one in found]
        found = [found[place] for place in oldest_first(names)]
    return found, failure


def read_once(source: Any) -> str | None:
    """Names what among the sources can be read only once; None if all of them can be read again.

    Files, directories, URLs and bytes can; pipes, terminals, sockets and file objects, which are read from where they
    are, cannot.
    """
    if isinstance(source, (list, tuple)):
        return next((found for part in source if (found := read_once(part)) is not None), None)
    path = _path(source)
    if path is not None:
        return _path_read_once(path)
    return "a file object" if hasattr(source, "read") else None


def _path(source: Any) -> str | None:
    """The path, the URL or "-" that a source names; None for what names none, and for what is in a storage."""
    if isinstance(source, str):
        return source
    place = place_in_storage(source)
    if place is not None:
        return place[1] if place[0] is None else None
    return os.fsdecode(source) if isinstance(source, PathLike) else None


def _path_read_once(path: str) -> str | None:
    if path == "-":
        return "standard input"
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None  # a URL, a glob, or nothing at all: reading says which
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISBLK(mode):
        return None
    return "a pipe" if stat.S_ISFIFO(mode) else "a device or socket"


def names_files(source: Any) -> bool:
    """True if files may appear or grow under what ``source`` names: not under a URL, a pipe or a device."""
    if isinstance(source, (list, tuple)):
        return any(names_files(part) for part in source)
    path = _path(source)
    return path is not None and not URL.match(path) and _path_read_once(path) is None


class StartGuard:
    """Counts how often sources were begun: what can be read only once allows one start."""

    def __init__(self, source: Any, follow: bool = False) -> None:
        self._source = source
        self._follow = follow
        self._lock = Lock()
        self.begun = False

    def only_one(self) -> str | None:
        """Names what can be read only once, or None."""
        return "what follow=True follows" if self._follow else read_once(self._source)

    def check(self) -> None:
        """Raises ValueError if there can be no further start."""
        if self.begun and (what := self.only_one()) is not None:
            raise ValueError(
                f"{what} can be read only once, and this scan has already read from it: "
                "keep its results, or call turnwire.scan again for later data"
            )

    def begin(self) -> None:
        """Counts one more start. Raises ValueError as :meth:`check` does."""
        with self._lock:
            self.check()
            self.begun = True


def _named(source: Any, met: set[str | None]) -> Iterator[Source]:
    """The same; ``met``: the files and URLs that came before, which grows."""
    if isinstance(source, Source):
        yield source
    elif isinstance(source, (bytes, bytearray, memoryview)):
        yield Source(None, data=source)
    elif isinstance(source, (list, tuple)):
        for part in source:
            yield from _named(part, met)
    elif (path := _path(source)) is not None:
        yield from _in_storage(_storage(path), path, met) if URL.match(path) else _paths(path, met)
    elif (place := place_in_storage(source)) is not None:
        yield from _in_storage(place, place[0].unstrip_protocol(place[1]), met)
    elif hasattr(source, "read"):
        name = getattr(source, "name", None)
        yield Source(name if isinstance(name, str) else None, open=lambda: nullcontext(source))
    else:
        try:
            view = memoryview(source)
        except TypeError:
            kind = type(source).__name__
            raise TypeError(
                f"scan reads a path, a URL, bytes, a binary file object or a list of these, not {kind}"
            ) from None
        yield Source(None, data=view)


def _paths(path: str, met: set[str | None]) -> Iterator[Source]:
    if not path:
        raise ValueError("a source has an empty name; write '.' for this directory")
    if "\0" in path:
        raise ValueError(f"there is a NUL character in the name of a source: {path!r}")
    if path == "-":
        yield Source("-", open=lambda: nullcontext(sys.stdin.buffer))
        return
    listed = True
    if os.path.isdir(path):
        names = _once(files_in(path))
    elif has_magic(path) and not os.path.exists(path):
        names = _once(name for name in glob(path, recursive=True) if _is_file(name))
        if not names:
            raise FileNotFoundError(2, "no file matches", path)
    else:
        names, listed = {os.path.realpath(path): path}, False
    yield from _unmet({key: file_source(name, listed) for key, name in names.items()}, met)


def _unmet(found: Mapping[str | None, Source], met: set[str | None]) -> Iterator[Source]:
    """Those of which the key, a file or a URL, was not met before."""
    for key, one in found.items():
        if key not in met:
            met.add(key)
            yield one


def files_in(directory: str) -> Iterator[str]:
    """The regular files in a directory and below it, links followed, each directory entered once. One that cannot be
    read is named as if it were a file, as opening it says why: what is in it would be missing without a word."""
    met: set[tuple[int, int]] = set()
    roots, unread = [str(Path(directory))], list[OSError]()
    for root in roots:  # what is there itself comes before what links lead to
        for here, folders, names in os.walk(root, onerror=unread.append):
            try:
                found = os.stat(here)
            except OSError as error:
                unread.append(error)
                continue
            if (found.st_dev, found.st_ino) in met:
                folders.clear()
                continue
            met.add((found.st_dev, found.st_ino))
            paths = [os.path.join(here, name).removeprefix(f".{os.sep}") for name in (*folders, *names)]
            roots += filter(os.path.islink, paths[: len(folders)])
            yield from filter(_is_file, paths[len(folders) :])
    yield from (str(error.filename).removeprefix(f".{os.sep}") for error in unread if error.errno not in _NOTHING)


def _is_file(name: str) -> bool:
    """True for a regular file, and where nobody may know what a name leads to: opening it says why. False if it leads
    to nothing, by a link to nowhere, or to itself."""
    try:
        return stat.S_ISREG(os.stat(name).st_mode)
    except OSError as error:
        return error.errno not in _NOTHING  # else it went away meanwhile


_NOTHING = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR)


def file_source(name: str, listed: bool = False) -> Source:
    """The file of a name as a source."""
    return Source(name, open=lambda: open(name, "rb", buffering=0, opener=_opened), mappable=True, listed=listed)


def _opened(path: str, flags: int) -> int:
    """Opens a file. A named pipe is opened without waiting for its writer; reading waits for it."""
    try:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    except BlockingIOError:  # somebody has a lease on the file
        return os.open(path, flags)


def _once(names: Iterable[str]) -> dict[str, str]:
    """The names in order, by the file that each leads to; of several that lead to one, by links or loops of links, the
    most direct one."""
    real_folder, found = cache(os.path.realpath), dict[str, tuple[bool, int, str]]()
    for name in names:
        folder, base = os.path.split(name)
        real = os.path.realpath(name) if os.path.islink(name) else os.path.join(real_folder(folder), base)
        rank = (real != os.path.abspath(name), len(name), name)
        found[real] = min(rank, found.get(real, rank))
    return {real: name for real, (_, _, name) in sorted(found.items(), key=lambda one: one[1][2])}


class ReadOptions(NamedTuple):
    """The settings of reading beside the source: see :func:`turnwire.scan`; bookmarks: None where no input is a file;
    follows: files are followed."""

    pool: Pool
    batch_bytes: int
    borrow: bool
    limits: Limits
    stop: Stop
    bookmarks: Any
    tell: Callable[[Gap], None]
    refuse: Refuse
    follows: bool = False


# --- files in any storage that fsspec knows: every error of one names the URL -----------------------------------------


def place_in_storage(source: Any) -> tuple[Any, str] | None:
    """The storage of fsspec and the path there that a UPath or an OpenFile names; None for anything else, an open file
    too. What is on this machine is a path alone: its storage is None."""
    storage: Any = getattr(source, "fs", None)
    path = getattr(source, "path", None)
    if not isinstance(path, str) or not hasattr(storage, "unstrip_protocol") or hasattr(source, "read"):
        return None
    protocol = storage.protocol
    return None if "file" in protocol else storage, path


def _in_storage(place: tuple[Any, str], url: str, met: set[str | None]) -> Iterator[Source]:
    """The files that a path in a storage names: one, those of a glob, or those below a folder. Raises OSError (with
    the URL as its ``filename``) for what cannot be listed."""
    storage, path = place
    with _naming(url):
        if has_magic(path) and not storage.exists(path):
            names = sorted(name for name in storage.glob(path) if storage.isfile(name))
            if not names:
                raise FileNotFoundError(errno.ENOENT, "no file matches", url)
        elif not _is_page(path) and storage.isdir(path):
            names = sorted(storage.find(path))
        else:
            names = [path]
        urls = {storage.unstrip_protocol(name): name for name in names}
        sizes = [storage.size(name) if len(urls) > 1 or storage.exists(name) else None for name in urls.values()]
    found = zip(urls.items(), sizes, strict=True)
    yield from _unmet(
        {full: Source(full, open=partial(_File, storage, name, full), size=size) for (full, name), size in found}, met
    )


def _is_page(path: str) -> bool:
    # To see whether it is a folder, fsspec would download all of it, and take a log with links in it for one.
    return path.startswith(("http://", "https://")) and not path.endswith("/")


class _File(io.RawIOBase):
    """An open file of a storage, whose errors name it."""

    def __init__(self, storage: Any, name: str, url: str) -> None:
        self._url = url
        with _naming(url):
            self._file = storage.open(name, "rb")
        self._into = getattr(self._file, "readinto", None)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, view: Any, /) -> Any:
        """The number of bytes read into ``view``; 0 at the end."""
        with _naming(self._url):
            if self._into is not None:
                return self._into(view)
            part = self._file.read(len(view))
            view[: len(part)] = part
            return len(part)

    def close(self) -> None:
        """Closes it."""
        if not self.closed:
            super().close()
            with _naming(self._url):
                self._file.close()


@contextmanager
def _naming(url: str) -> Iterator[None]:
    """Raises what a storage raises as an OSError that names the URL: storages have errors of many kinds."""
    try:
        yield
    except (FileNotFoundError, PermissionError) as error:
        number = error.errno or (errno.ENOENT if isinstance(error, FileNotFoundError) else errno.EACCES)
        raise type(error)(number, error.strerror or os.strerror(number), url) from None
    except (MissingDependency, MemoryError):
        raise
    except Exception as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        code = error.errno if isinstance(error, OSError) else None
        raise OSError(code or errno.EIO, text or type(error).__name__, url) from error


def _storage(url: str) -> tuple[Any, str]:
    """The storage of a URL, and the path there. Raises MissingDependency without fsspec or what it needs for this
    storage, UnknownName for a storage that it does not know."""
    with needs("fsspec", "URLs need the package fsspec"):
        import fsspec
    try:
        storage, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingDependency(f"{url} needs another package besides fsspec: {error}") from None
    except ValueError as error:
        known = fsspec.available_protocols()
        if (protocol := re.split("://|::", url)[0]) in known:
            raise OSError(errno.EINVAL, str(error), url) from None
        raise UnknownName("storage", protocol, known, f"fsspec does not support the storage {protocol!r}") from None
    except Exception as error:
        raise OSError(errno.EIO, str(error) or type(error).__name__, url) from error
    return storage, path
