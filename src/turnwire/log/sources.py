"""Where bytes come from: paths, bytes, file objects, standard input, cut into blocks that end with a line."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import closing, nullcontext
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from turnwire.log.memory import Pool

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
    """One input: a name for the ``file`` column (None for bytes) and either bytes or something that opens."""

    name: str | None
    data: Any = None
    open: Any = None


def sources(source: Any) -> Iterator[Source]:
    """The inputs that ``source`` names, in order: see :func:`turnwire.scan`. Raises FileNotFoundError or TypeError."""
    if isinstance(source, (bytes, bytearray, memoryview)):
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
        names = sorted(str(name) for name in found.rglob("*") if name.is_file())
    elif has_magic(path) and not found.exists():
        names = sorted(name for name in glob(path, recursive=True) if Path(name).is_file())
        if not names:
            raise FileNotFoundError(2, "no file matches", path)
    else:
        names = [path]
    for name in names:
        yield Source(name, open=lambda name=name: closing(open(name, "rb", buffering=0)))  # noqa: SIM115


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
    elif borrow:
        yield from _of_map(source, batch_bytes)
    else:
        with source.open() as file:
            yield from _of_file(file, pool, batch_bytes)


def _of_map(source: Source, batch_bytes: int) -> Generator[Block, int | None, None]:
    import mmap

    with source.open() as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file cannot be mapped
            yield Block(b"", 0, True, 0)
            return
    # The map closes when the last batch that looks into it goes.
    yield from _of_memory(np.frombuffer(mapped, np.uint8), batch_bytes)


def _of_memory(data: Any, batch_bytes: int) -> Generator[Block, int | None, None]:
    view = memoryview(data).cast("B")
    start, size = 0, len(view)
    while True:
        stop = size
        if size - start > batch_bytes:
            stop = _line_end(view, start, start + batch_bytes)
            grown = batch_bytes
            while stop < 0 and start + grown < size:
                grown *= 2
                stop = _line_end(view, start, min(size, start + grown))
            stop = size if stop < 0 else stop
        yield Block(view[start:stop], stop - start, True, start)
        start = stop
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


def _of_file(file: IO[bytes], pool: Pool, batch_bytes: int) -> Generator[Block, int | None, None]:
    base, carried, ended = 0, b"", False
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
            count = len(chunk) if chunk else 0
            view[done : done + count] = chunk or b""
        if count is None:
            raise BlockingIOError("the input has no data yet; scan needs a blocking file")
        ended = count == 0
        done += count
    return done, ended
