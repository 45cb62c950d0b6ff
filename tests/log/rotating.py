"""Logs that are written and rotated, at once and in steps, their readers, and races at the system calls of those."""

from __future__ import annotations

import builtins
import gzip
import os
import queue
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from turnwire import Scan, scan
from turnwire.log.input import reading, rotation
from turnwire.log.input.reading import Stop
from turnwire.nslip import base62

BANNER = b"# the same banner of every file\n" * 50


def record(number: int) -> bytes:
    return b"@a3|f0|c%s|S0|d1|T1#\n" % base62.encode(number).encode()


KINDS = (
    "rename",
    "late",
    "compressed",
    "copytruncate",
    "copied and compressed",
    "truncate",
    "mixed",
    "mixed with cuts",
)

open_file = builtins.open


class Log:
    """``app.log`` and what is beside it, written in steps: each ``yield`` is a place where a reader may look. Every
    record has its own number; ``written`` says how many there are."""

    def __init__(self, folder: Path, chance: random.Random, banner: bool = False, keep: int = 30) -> None:
        self.path = folder / "app.log"
        self.written = 0
        self._banner = BANNER if banner else b""
        self._chance = chance
        self._keep = keep
        self._packed = 0
        self._file: Any = None
        self.open()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()

    def open(self) -> None:
        """Makes the file anew."""
        self.close()
        self._file = open_file(self.path, "ab", buffering=0)
        self._file.write(self._banner)

    def write(self, count: int) -> Iterator[None]:
        """So many records, sometimes in two pieces."""
        for _ in range(count):
            data, cut = record(self.written), self._chance.choice((0, 0, 0, 5))
            if cut:
                self._file.write(data[:cut])
                yield
            self._file.write(data[cut:])
            self.written += 1
            yield

    def _shift(self) -> Iterator[None]:
        for number in range(self._keep, 0, -1):
            for ending in ("", ".gz", ".zst"):
                path = self.path.with_name(f"app.log.{number}{ending}")
                if path.exists():
                    if number == self._keep:
                        path.unlink()
                    else:
                        path.rename(self.path.with_name(f"app.log.{number + 1}{ending}"))
                    yield

    def rename(self, late: int = 0) -> Iterator[None]:
        """As logrotate does by default; ``late``: records that are written before the writer opens the new file."""
        yield from self._shift()
        self.path.rename(self.path.with_name("app.log.1"))
        yield
        if late:
            self.path.touch()
            yield
            yield from self.write(late)
        self.open()
        yield

    def _in_halves(self, path: Path, data: bytes) -> Iterator[None]:
        with open_file(path, "wb", buffering=0) as file:
            for half in (data[: len(data) // 2], data[len(data) // 2 :]):
                yield
                file.write(half)
        yield

    def copytruncate(self) -> Iterator[None]:
        """As logrotate's copytruncate does, while nobody writes."""
        yield from self._shift()
        yield from self._in_halves(self.path.with_name("app.log.1"), self.path.read_bytes())
        yield from self.truncate()

    def truncate(self) -> Iterator[None]:
        """Cuts the file and keeps nothing."""
        os.truncate(self.path, 0)
        self._file.write(self._banner)
        yield

    def compress(self, number: int = 1) -> Iterator[None]:
        """Compresses a file that was rotated, as ``gzip`` and ``zstd --rm`` do."""
        import zstandard

        path = self.path.with_name(f"app.log.{number}")
        if not path.exists():
            return
        self._packed += 1
        pack, ending = ((gzip.compress, ".gz"), (zstandard.ZstdCompressor().compress, ".zst"))[self._packed % 2]
        packed = path.with_name(path.name + ending)
        yield from self._in_halves(packed, pack(path.read_bytes()))
        shutil.copystat(path, packed)
        path.unlink()
        yield

    def step(self, kind: str) -> Iterator[None]:
        """One rotation of a kind."""
        if kind.startswith("mixed"):
            kinds = ("rename", "late", "compressed", "copytruncate", "copied and compressed")
            kind = self._chance.choice(kinds if kind == "mixed" else ("rename", "copytruncate", "truncate"))
        if kind in ("copytruncate", "copied and compressed"):
            yield from self.copytruncate()
        elif kind == "truncate":
            yield from self.truncate()
        elif kind != "pack":
            yield from self.rename(late=3 if kind == "late" else 0)
        if kind in ("compressed", "copied and compressed", "pack"):
            yield from self.compress(self._chance.choice((1, 1, 2, 3)))


def run(steps: Iterator[None]) -> None:
    """Takes all steps at once."""
    for _ in steps:
        pass


def rotations(log: Log, chance: random.Random, kinds: tuple[str, ...]) -> Iterator[None]:
    """Eight rotations, and records before, between and behind them."""
    yield from log.write(2)
    for _ in range(8):
        yield from log.write(chance.choice((0, 1, 3, 8)))
        yield from log.step(chance.choice(kinds))
    yield from log.write(4)


class Steps:
    """Takes the steps of a writer: some of them, by chance, whenever a reader that is watched asks the system."""

    def __init__(self, steps: Iterator[None], chance: random.Random, rate: float) -> None:
        self.over = self.watched = False
        self._steps, self._chance, self._rate = steps, chance, rate

    def take(self, *most: int) -> None:
        """So many steps, one of these numbers."""
        watched, self.watched = self.watched, False
        for _ in range(self._chance.choice(most)):
            if next(self._steps, self) is self:
                self.over = True
        self.watched = watched

    def asked(self) -> None:
        """The reader looks."""
        if self.watched and self._chance.random() < self._rate:
            self.take(1, 1, 2, 5, 20)


def interleave(patch: pytest.MonkeyPatch, steps: Steps, asleep: Callable[[Stop], None]) -> None:
    """Lets the steps happen in front of what a reader asks of the system; ``asleep`` instead of sleeping."""

    def before(call: Callable[..., Any]) -> Callable[..., Any]:
        def asks(*arguments: Any, **named: Any) -> Any:
            steps.asked()
            return call(*arguments, **named)

        return asks

    for name in ("stat", "fstat", "scandir", "pread", "listdir"):
        patch.setattr(os, name, before(getattr(os, name)))
    patch.setattr(builtins, "open", before(open_file))
    patch.setattr(reading.Input, "into", before(reading.Input.into))
    patch.setattr(Stop, "sleep", lambda stop, seconds: asleep(stop))


# --- readers that follow ----------------------------------------------------------------------------------------------

LONG = 120
"""Seconds to wait for what must come; it comes at once, however slow the machine is."""
ENDLESS = 10**9
"""Seconds for which a renamed file is read on, until a test says that nobody writes to it any more: a test that comes
late, on a slow machine, is not too late."""
ENDED = 8
"""Looks behind which nobody waits for the writers of a file that was renamed."""


class Follower:
    """A scan that follows, read by a thread of its own."""

    def __init__(self, found: Scan) -> None:
        self.scan = found
        self.rows: queue.Queue[tuple[int, int]] = queue.Queue()
        self.error: BaseException | None = None
        self.looks = 0
        self._looking = threading.Lock()
        self._looking.acquire()
        stop = found._run.stop
        pause = stop.sleep

        def sleep(seconds: float) -> None:
            self.looks += 1
            self._looking.release()
            try:
                pause(seconds)
            finally:
                self._looking.acquire()

        stop.sleep = sleep  # type: ignore[method-assign]
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        try:
            for batch in self.scan:
                for row in zip(batch["conv_id"].tolist(), batch["line"].tolist(), strict=True):
                    self.rows.put(row)
        except BaseException as error:
            self.error = error

    def next(self, count: int = 1) -> list[tuple[int, int]]:
        """The next rows: (conversation, line)."""
        return [self.rows.get(timeout=LONG) for _ in range(count)]

    @contextmanager
    def between_looks(self) -> Iterator[None]:
        """While this lasts nobody looks at the files: what is done to them in several steps is seen as one."""
        assert self._looking.acquire(timeout=LONG)
        try:
            yield
        finally:
            self._looking.release()

    def quiet(self, looks: int = 3) -> bool:
        """True if nothing comes for so many looks at the files, however long they take. What comes is not taken."""
        until = self.looks + looks
        return soon(lambda: self.looks >= until or not self.rows.empty()) and self.rows.empty()


@contextmanager
def followed(source: Any, **options: Any) -> Iterator[Follower]:
    follower = Follower(scan(source, wire="nslip", follow=True, **options))
    try:
        yield follower
    finally:
        follower.scan.close()
        follower.thread.join(LONG)
    assert not follower.thread.is_alive()
    if follower.error is not None:
        raise follower.error


def soon(condition: Callable[[], bool]) -> bool:
    """True if something becomes true."""
    for _ in range(LONG * 50):
        if condition():
            return True
        time.sleep(0.02)
    return False


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def in_steps(
    source: Any, *steps: Callable[[], Any], wire: str = "nslip", column: str = "conv_id", **options: Any
) -> tuple[list[list[int]], Scan]:
    """The records before the first of the steps, and behind each: the next one is done when ``ENDED`` looks
    found nothing new. No threads, and no clock."""
    found = scan(source, wire=wire, follow=True, **options)
    stop, left, quiet = found._run.stop, list(steps), 0
    seen: list[list[int]] = [[]]

    def sleep(seconds: float) -> None:
        nonlocal quiet
        quiet += seconds >= rotation.INTERVAL
        if quiet < ENDED:
            return
        quiet = 0
        if not left:
            stop.set()
        else:
            seen.append([])
            left.pop(0)()
        stop.check()

    stop.sleep = sleep  # type: ignore[method-assign]
    for batch in found:
        seen[-1] += batch[column].tolist()
    return seen, found


def stepped(source: Any, *steps: Callable[[], Any], **options: Any) -> tuple[list[list[int]], list[tuple[str, str]]]:
    """The same, and the gaps: (name, why)."""
    seen, found = in_steps(source, *steps, **options)
    return seen, [(os.path.basename(gap.file), str(gap.why)) for gap in found.gaps]


def packed(path: Path, data: bytes, when: int = 0) -> None:
    """A compressed file; ``when``: written then."""
    path.write_bytes(gzip.compress(data))
    if when:
        os.utime(path, (when, when))


def numbers_of(found: Any) -> list[int]:
    """The numbers of the records of a scan."""
    return [number for batch in found for number in batch["conv_id"].tolist()]
