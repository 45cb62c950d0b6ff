"""Where bytes come from: paths, bytes, file objects, standard input, cut into blocks that end with a line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.log.memory import Pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BACK = 1 << 16


class Block(NamedTuple):
    """A piece of one input.

    data: the bytes (a uint8 array that owns its memory, or bytes); size: how many of them are input; final: whether
    nothing follows that could change how the last of them are read; base: offset of the first one in the input.
    """

    data: Any
    size: int
    final: bool
    base: int


class Source(NamedTuple):
    """One input: a name for the ``file`` column (None for bytes) and either bytes or something that opens.

    mappable: whether it is a file of its own, read from its start, so that a map of it holds the same bytes.
    base, line: where the first byte stands in the input that it is named after, and in which line.
    """

    name: str | None
    data: Any = None
    open: Any = None
    mappable: bool = False
    base: int = 0
    line: int = 1


def sources(source: Any) -> Iterator[Source]:
    """The inputs that ``source`` names, in order: see :func:`turnwire.scan`. Raises FileNotFoundError or TypeError."""
    if isinstance(source, Source):
        yield source
    elif isinstance(source, (bytes, bytearray, memoryview)):
        yield Source(None, data=source)
    elif isinstance(source, (list, tuple)):
        for part in source:
            yield from sources(part)
    elif isinstance(source, (str, PathLike)):
        yield from _paths(fspath(source))
    elif hasattr(source, "read"):
        name = getattr(source, "name", None)
        yield Source(name if isinstance(name, str) else None, open=lambda: nullcontext(source))
    else:
        try:
            view = memoryview(source)
        except TypeError:
            kind = type(source).__name__
            raise TypeError(f"scan reads a path, bytes, a binary file object or a list of these, not {kind}") from None
        yield Source(None, data=view)


def _paths(path: str | bytes) -> Iterator[Source]:
    if isinstance(path, bytes):
        path = path.decode(sys.getfilesystemencoding(), "surrogateescape")
    if path == "-":
        yield Source("-", open=lambda: nullcontext(sys.stdin.buffer))
        return
    found = Path(path)
    if found.is_dir():
        names = _once(str(name) for name in found.rglob("*") if name.is_file())
    elif has_magic(path) and not found.exists():
        names = _once(name for name in glob(path, recursive=True) if Path(name).is_file())
        if not names:
            raise FileNotFoundError(2, "no file matches", path)
    else:
        names = [path]
    for name in names:
        yield Source(name, open=lambda name=name: closing(open(name, "rb", buffering=0)), mappable=True)  # noqa: SIM115


def _once(names: Iterable[str]) -> list[str]:
    """The names in order; of several that lead to one file, by links or loops of links, the most direct one."""
    found: dict[str, tuple[bool, int, str]] = {}
    for name in names:
        real = os.path.realpath(name)
        way = (real != os.path.abspath(name), len(name), name)
        found[real] = min(way, found.get(real, way))
    return sorted(name for _, _, name in found.values())


def blocks(source: Source, pool: Pool, batch_bytes: int, borrow: bool) -> Generator[Block, int | None, None]:
    """The blocks of one input. ``send(position)`` says up to where the last one was used; the rest comes again."""
    if source.data is not None:
        data = source.data
        if not isinstance(data, bytes) and not borrow:
            data = memoryview(data)
            if not data.contiguous:
                raise TypeError("the bytes to scan must be contiguous")
            data = bytes(data)
        yield from _of_memory(data, batch_bytes)
    else:
        with source.open() as file:
            mapped = _map(file) if borrow and source.mappable else None
            if mapped is None:
                yield from _of_file(file, pool, batch_bytes, source.base)
        if mapped is not None:
            yield from _of_memory(mapped, batch_bytes)


def _map(file: Any) -> NDArray[np.uint8] | None:
    """A map of a whole file, which lives as long as somebody looks into it; None where only reading helps: pipes,
    devices, and files that are empty or made as they are read."""
    import mmap

    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
        return None
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _of_memory(data: Any, batch_bytes: int) -> Generator[Block, int | None, None]:
    view = memoryview(data).cast("B")
    start, size, wanted = 0, len(view), batch_bytes
    while True:
        stop = min(size, start + wanted)
        line_end = _line_end(view, start, stop) if stop < size else size
        stop = stop if line_end < 0 else line_end
        used = yield Block(view[start:stop], stop - start, line_end >= 0, start)
        start = stop if used is None else start + used
        wanted = batch_bytes + 2 * (stop - start)
        if start >= size:
            return


def _line_end(view: memoryview, start: int, stop: int) -> int:
    """Behind the last newline of ``view[start:stop]``, or -1."""
    high = stop
    while high > start:
        low = max(start, high - _BACK)
        place = bytes(view[low:high]).rfind(b"\n")
        if place >= 0:
            return low + place + 1
        high = low
    return -1


def _of_file(file: IO[bytes], pool: Pool, batch_bytes: int, base: int) -> Generator[Block, int | None, None]:
    carried, ended = b"", False
    while not ended or carried:
        data = pool.take(batch_bytes + 2 * len(carried))
        view = data.data
        size = len(carried)
        view[:size] = carried
        read, ended = _fill(file, view[size:], ended)
        size += read
        stop = size if ended else _line_end(view, 0, size)
        used = yield Block(data, size if stop < 0 else stop, stop >= 0, base)
        used = (size if stop < 0 else stop) if used is None else used
        carried = bytes(view[used:size])
        base += used
        if ended and used == size:
            return


def _fill(file: Any, view: memoryview, ended: bool) -> tuple[int, bool]:
    """Reads until the view is full or the input ends: (bytes, ended)."""
    done = 0
    while done < len(view) and not ended:
        if hasattr(file, "readinto"):
            count = file.readinto(view[done:])
        else:
            chunk = file.read(len(view) - done)
            if isinstance(chunk, str):
                raise TypeError("scan reads bytes: open the file in binary mode")
            count = None if chunk is None else len(chunk)
            view[done : done + len(chunk or b"")] = chunk or b""
        if count is None:
            raise BlockingIOError("the input has no data yet; scan needs a blocking file")
        ended = count == 0
        done += count
    return done, ended
