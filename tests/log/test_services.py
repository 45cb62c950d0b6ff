"""A scan inside of something else: progress, ``async for``, storage behind URLs, pipes that pause."""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.log.engines import GOOD, UPSTREAM
from tests.log.test_scan import everything, scan_nslip, table
from turnwire import DecodeError

pytestmark = pytest.mark.once
LINES = (GOOD + b"\n") * 100


def test_progress_tells_bytes_records_and_rejects(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LINES + b"@a3|f0 bad\n")
    (tmp_path / "b.log.gz").write_bytes(packed := gzip.compress(LINES))
    total = len(LINES) + len(b"@a3|f0 bad\n") + len(packed)
    for threads in (1, 3):
        told: list[tuple[int, int | None, int, int]] = []
        found = scan_nslip(
            tmp_path, progress=lambda *news, told=told: told.append(news), batch_bytes=500, threads=threads
        )
        for batch in found:
            assert told[-1][2] >= batch["record"][-1]
        assert told == sorted(told), "it never goes back"
        assert {news[1] for news in told} == {total}
        assert told[-1] == (total, total, 200, 1)
        assert len(told) > 10


def test_progress_as_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    from turnwire import progress

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    class Bar:
        task_ids = (0,)
        going = False

        def start(self) -> None:
            self.going = True

        def update(self, task: int, **news: Any) -> None:
            told.append(news)

        def stop(self) -> None:
            self.going = False

    told: list[dict[str, Any]] = []
    bar = Bar()
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "INTERVAL", 0)
    monkeypatch.setattr(progress, "_bar", lambda total: bar)
    monkeypatch.setenv("TERM", "xterm")
    list(scan_nslip(LINES + b"@a3|f0 bad", progress=True))
    assert told[-1]["records"] == "100 records, 1 reject" and not bar.going
    with pytest.raises(TypeError, match=r"^progress "):
        scan_nslip(b"", progress=3)


async def gathered(found: Any) -> list[int]:
    return [row async for batch in found for row in batch["record"].tolist()]


def test_async_iteration_and_its_errors() -> None:
    async def two() -> list[list[int]]:
        return await asyncio.gather(*(gathered(scan_nslip(LINES, batch_bytes=200, threads=2)) for _ in range(2)))

    assert asyncio.run(two()) == [list(range(100))] * 2

    async def failing() -> None:
        async for _ in scan_nslip(LINES + b"@a3|f0 bad", errors="raise"):
            pass

    with pytest.raises(DecodeError, match="bad"):
        asyncio.run(failing())


def test_async_back_pressure_and_cancelling() -> None:
    class Counted:
        reads = 0
        blocked = threading.Event()

        def read(self, size: int) -> bytes:
            self.reads += 1
            return LINES[:size]

    source = Counted()

    async def slow() -> None:
        async for _ in scan_nslip(source, batch_bytes=len(LINES)):
            assert source.reads <= 4, "nothing is read before it is asked for"
            await asyncio.sleep(0.2)
            assert source.reads <= 4
            break

    asyncio.run(slow())
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as pipe, os.fdopen(reading, "rb", buffering=0) as waiting:
        pipe.write(GOOD + b"\n")

        async def cancelled() -> int:
            task = asyncio.create_task(gathered(found))
            while not found.counts.records:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return len(set(threading.enumerate()) - before)

        before = set(threading.enumerate())
        found = scan_nslip(waiting)
        assert asyncio.run(cancelled()) == 0
        with pytest.raises(ValueError, match="a file object can be read only once"):
            list(found)


def test_urls() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    data = b"".join(UPSTREAM.read_bytes().splitlines(keepends=True)[:50])
    memory.pipe("/logs/a.log", data)
    memory.pipe("/logs/sub/b.log.gz", gzip.compress(data))
    try:
        rows = table(scan_nslip("memory://logs/a.log"))
        assert (len(rows["record"]), set(rows["file"])) == (50, {"memory:///logs/a.log"})
        told: list[Any] = []
        rows = table(scan_nslip("memory://logs", threads=2, progress=lambda *news: told.append(news)))
        assert list(dict.fromkeys(rows["file"])) == ["memory:///logs/a.log", "memory:///logs/sub/b.log.gz"]
        assert told[-1][:3] == (len(data) + len(gzip.compress(data)),) * 2 + (100,)
        assert len(table(scan_nslip(["memory://logs/*.log", data]))["record"]) == 100
        for missing in ("memory://logs/no.log", "memory://nothing/*.log"):
            with pytest.raises(FileNotFoundError):
                list(scan_nslip(missing))
    finally:
        memory.rm("/logs", recursive=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_named_pipe_whose_writer_pauses(threads: int, tmp_path: Path) -> None:
    """Complete records are handed on while the writer pauses; nothing hangs, also when no writer ever comes."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    found = scan_nslip(path, threads=threads)
    handed_on = threading.Event()

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            pipe.write(GOOD + b"\n" + GOOD[:10])
            assert handed_on.wait(120)
            pipe.write(GOOD[10:] + b"\n" + GOOD)

    writer = threading.Thread(target=write)
    writer.start()
    rows = []
    for batch in found:
        rows.append(len(batch))
        handed_on.set()
    writer.join()
    assert sum(rows) == 3
    assert rows[0] == 1
    lonely = scan_nslip(path, threads=threads)
    reader = threading.Thread(target=lambda: list(lonely))
    reader.start()
    time.sleep(0.05)
    lonely.close()
    reader.join(120)
    assert not reader.is_alive()


def test_what_waits_in_the_buffer_of_a_pipe_is_read() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as pipe:
        pipe.write(b"head\n" + GOOD + b"\n")
        with os.fdopen(reading, "rb") as source:
            assert source.readline() == b"head\n"
            pipe.write(GOOD)
            pipe.close()
            assert everything(scan_nslip(source))[0]["offset"] == [0, len(GOOD) + 1]
