"""Any number of threads: the same batches, rejects, counts and errors, in the same order; and a clean end."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.conftest import rounds
from tests.log.engines import GOOD, UPSTREAM, VECTORS, damaged_log
from tests.log.test_runs import none_running, running
from tests.log.test_scan import scan_nslip
from turnwire import LIMITS, DecodeError

pytestmark = pytest.mark.once
both_cores = pytest.mark.usefixtures("scan_core")
LINES = UPSTREAM.read_bytes().split(b"\n")[:300] + VECTORS


def batches(source: Any, **options: Any) -> list[Any]:
    """Every batch with its rows, and what stands in the quarantine and the tally after it."""
    found = scan_nslip(source, **options)
    seen = []
    for batch in found:
        columns = {name: list(batch[name]) for name in batch.names}
        seen.append((columns, len(found.rejects), found.counts, found.position))
    return [*seen, found.rejects.rows(), found.counts, found.position]


@both_cores
def test_the_same_from_any_number_of_threads(tmp_path: Path) -> None:
    chance = random.Random(12)
    for round_number in range(rounds(6)):
        data = damaged_log(chance, LINES)
        options: dict[str, Any] = {"batch_bytes": chance.choice((1, 7, 100, 1000, 1 << 20))}
        options["limits"] = LIMITS._replace(message=chance.choice((1 << 20, 40)))
        path = tmp_path / f"{round_number}.log"
        path.write_bytes(data)
        for source in (data, path, [path, data, path]):
            once = batches(source, **options)
            for threads in (2, 5):
                assert batches(source, threads=threads, **options) == once


@both_cores
def test_the_first_error_is_the_one_of_one_thread() -> None:
    data = b"\n".join([GOOD] * 50 + [b"@a3|f0 bad"] + [GOOD] * 50 + [b"@c1|", GOOD])

    def until_error(threads: int) -> Any:
        found = scan_nslip(data, threads=threads, batch_bytes=200, errors="raise")
        rows: list[int] = []
        with pytest.raises(DecodeError) as caught:
            rows.extend(line for batch in found for line in batch["line"].tolist())
        return rows, str(caught.value), caught.value.offset, caught.value.line, found.counts, found.position

    once = until_error(1)
    assert (len(once[0]), once[3]) == (50, 51)
    assert until_error(2) == until_error(4) == once


def test_stopping_early_ends_the_threads() -> None:
    class Endless(io.RawIOBase):
        reads = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.reads += 1
            part = ((GOOD + b"\n") * (len(buffer) // 20 + 1))[: len(buffer)]
            buffer[:] = part
            return len(part)

    def closed(source: Endless) -> None:
        found = scan_nslip(source, threads=3, batch_bytes=5000)
        for _ in zip(range(4), found, strict=False):
            pass
        found.close()
        with pytest.raises(ValueError, match="a file object can be read only once"):
            list(found)

    def left(source: Endless) -> None:
        for _ in scan_nslip(source, threads=3, batch_bytes=5000):
            break

    def with_statement(source: Endless) -> None:
        with scan_nslip(source, threads=3, batch_bytes=5000) as found:
            batches = iter(found)
            next(batches)
        assert list(batches) == []

    for way in (closed, left, with_statement):
        source = Endless()
        way(source)
        assert none_running()
        reads = source.reads
        assert reads < 60
        time.sleep(0.05)
        assert source.reads == reads


def test_closing_from_another_thread() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as pipe, os.fdopen(reading, "rb", buffering=0) as source:
        for threads in (1, 2):
            pipe.write(GOOD + b"\n")
            found = scan_nslip(source, threads=threads)
            seen = threading.Event()
            counted: list[int] = []

            def read(found: Any = found, seen: threading.Event = seen, counted: list[int] = counted) -> None:
                for batch in found:
                    counted.append(len(batch))
                    seen.set()

            reader = threading.Thread(target=read)
            reader.start()
            assert seen.wait(120), "a pipe's complete lines are handed on while it waits"
            found.close()
            reader.join(120)
            assert not reader.is_alive()
            assert counted == [1]
    assert running() == 0


def test_errors_of_reading_come_at_their_place() -> None:
    class Breaking:
        def __init__(self) -> None:
            self.left = 5

        def read(self, size: int) -> bytes:
            self.left -= 1
            if not self.left:
                raise OSError(5, "the disk is gone")
            return ((GOOD + b"\n") * 100)[:size]

    met = []
    for threads in (1, 2, 4):
        found = scan_nslip(Breaking(), threads=threads, batch_bytes=320)
        rows: list[int] = []
        with pytest.raises(OSError, match="the disk is gone"):
            rows.extend(len(batch) for batch in found)
        met.append(sum(rows))
    assert met == [met[0]] * 3
    assert met[0] >= 100


PROGRAM = """
import io, sys, time
import turnwire

class Slow(io.RawIOBase):
    def readable(self): return True
    def readinto(self, buffer):
        time.sleep(0.01)
        line = b'@a3|f0|c1|S0|d1|T1#\\n'
        buffer[:len(line)] = line
        return len(line)

try:
    for number, batch in enumerate(turnwire.scan(Slow(), wire="nslip", threads=2, batch_bytes=200)):
        if number == 1:
            print("going", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_control_c_ends_it_at_once(backend: str) -> None:
    environment = {**os.environ, "TURNWIRE_PURE": "1" if backend == "pure" else "0"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline() == "going\n"
        program.send_signal(signal.SIGINT)
        assert program.stdout.read() == "interrupted\n"
        assert program.stderr.read() == ""
        assert program.wait(120) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("threads", [1, 3])
def test_a_scan_does_not_go_on_in_a_fork(threads: int, tmp_path: Path) -> None:
    path = tmp_path / "one.log"
    path.write_bytes((GOOD + b"\n") * 10_000)
    scan = turnwire.scan(path, wire="nslip", threads=threads, batch_bytes=1 << 14)
    batches = iter(scan)
    count = len(next(batches))
    child = os.fork()
    if not child:
        signal.alarm(60)  # whatever hangs ends with the child
        try:
            next(batches)
            code = 1
        except RuntimeError as error:
            code = 2
            if "another process" in str(error) and sum(map(len, scan)) == 10_000:
                code = 0
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert count + sum(map(len, batches)) == 10_000
