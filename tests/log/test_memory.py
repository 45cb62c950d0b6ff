"""Memory is reused, but never under somebody's feet; there is a bound on it."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.conftest import needs_both, put
from tests.log.engines import GOOD
from tests.log.test_scan import scan_nslip
from tests.nslip.twins import plain

usesbackend = pytest.mark.usefixtures("scan_core")


def numbered(count: int) -> bytes:
    """Records that say which they are, in numbers and in text long and short."""
    record = b'@a3|f0|c%d|S0|d1|T1|u"%d"|t"text number %d of many"#\n'
    return b"".join(record % (row % 10, row, row) for row in range(count))


def snapshot(batch: Any) -> Any:
    return (
        batch["offset"].tolist(),
        batch["conv_id"].tolist(),
        list(batch["status"]),
        list(batch["tag"]),
        batch.valid("tag").tolist(),
        [bytes(batch.raw(row)) for row in range(len(batch))],
        [plain(batch.message(row)) for row in range(len(batch))],
    )


@usesbackend
@pytest.mark.parametrize("wrap", [bytes, io.BytesIO], ids=["bytes", "file"])
def test_batches_stay_what_they_were(wrap: Any) -> None:
    """All kept, every other kept, and columns kept alone, while the scan reuses what is let go."""
    data = numbered(400)
    kept, texts, numbers, snapshots = [], [], [], []
    for number, batch in enumerate(scan_nslip(wrap(data), batch_bytes=1500)):
        if number % 3 == 0:
            kept.append(batch)
            snapshots.append(snapshot(batch))
        elif number % 3 == 1:
            texts.append((batch["tag"], list(batch["tag"])))
            numbers.append((batch["offset"], batch["offset"].tolist()))
        del batch
    gc.collect()
    assert len(kept) > 3
    assert [snapshot(batch) for batch in kept] == snapshots
    assert all(list(text) == values for text, values in texts)
    assert all(array.tolist() == values for array, values in numbers)


@usesbackend
def test_memory_that_is_let_go_is_reused() -> None:
    addresses = set()
    for batch in scan_nslip(io.BytesIO(numbered(3000)), batch_bytes=1500):
        addresses.add((batch["offset"].ctypes.data, np.frombuffer(batch["tag"].buffer, np.uint8).ctypes.data))
        del batch
    assert len(addresses) < 12


@usesbackend
def test_batches_outlive_scan_and_file(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", numbered(100))
    for borrow in (False, True):
        found = scan_nslip(path, batch_bytes=2000, borrow=borrow)
        batches = list(found)
        expected = [snapshot(batch) for batch in batches]
        rows = sum(map(len, batches))
        del found
        gc.collect()
        assert rows == 100
        assert [snapshot(batch) for batch in batches] == expected


PEAK = """
import io, sys, zlib
import turnwire, turnwire.log

class Endless(io.RawIOBase):
    line = %r
    lines = memoryview(line * 2000)
    size = %d
    at = 0
    def readable(self):
        return True
    def readinto(self, buffer):
        part = self.lines[self.at %% len(self.line):][: min(len(buffer), self.size - self.at)]
        buffer[: len(part)] = part
        self.at += len(part)
        return len(part)

class Packed:
    # members of 2,000 lines each, packed once
    def __init__(self, plain):
        self.plain = plain
        pack = zlib.compressobj(wbits=31)
        self.lines = len(plain.lines) // len(plain.line)
        self.member = pack.compress(plain.lines) + pack.flush()
        self.left = plain.size // len(plain.lines)
        plain.size = self.left * len(plain.lines)
        self.rest = b""
    def read(self, size):
        if not self.rest and self.left:
            self.left -= 1
            self.rest = self.member
        part, self.rest = self.rest[:size], self.rest[size:]
        return part

source = plain = Endless()
if %r:
    source = Packed(plain)
scan = turnwire.scan(source, wire="nslip", threads=%d, limits=turnwire.LIMITS._replace(ratio=100_000))
rows = sum(len(batch) for batch in scan)
# not ru_maxrss: a child starts out with its parent's, which here is the whole test run's
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) // 1024
assert scan.counts.bytes == plain.size, scan.counts
print(rows, peak)
"""


def peak(backend: str, line: bytes, size: int, packed: bool = False, threads: int = 1) -> int:
    """The peak in MB of a scan of so many bytes of such lines, generated; all of their records must be found."""
    environment = {**os.environ, "TURNWIRE_PURE": "1" if backend == "pure" else "0"}
    program = PEAK % (line, size // len(line) * len(line), packed, threads)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    rows, megabytes = map(int, ran.stdout.split())
    unit = 2000 if packed else 1
    assert rows == size // len(line) // unit * unit * line.count(b"#")
    return megabytes


@needs_both
@pytest.mark.once
def test_the_peak_of_a_long_stream_is_bounded() -> None:
    """The pure core reads less than the bound in the time of a test."""
    assert peak("native", GOOD * 3 + b"\n", 150 << 20, packed=True, threads=2) < 200


@needs_both
@pytest.mark.once
def test_the_peak_of_many_columns_is_bounded() -> None:
    """The shortest records there are: as many rows as a block can have."""
    assert peak("native", b"@a0|f0|c0|S0|d0|T0#" * 50 + b"\n", 40 << 20, threads=2) < 300


def kept(folder: Path, files: int) -> int:
    """The bytes that a scan of so many files of a folder keeps when it has read them, garbage not counted."""
    for number in range(files):
        (folder / f"{number:05}.log").write_bytes(GOOD + b"\n")
    tracemalloc.start()
    found = scan_nslip(folder)
    rows = taken = 0
    for batch in found:
        rows += len(batch)
        if rows == files:
            gc.collect()
            taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert (rows, len(found.position["files"])) == (files, files)
    return taken


@pytest.mark.once
def test_what_many_small_files_take_is_bounded(tmp_path: Path) -> None:
    """Of a file that was read there is a bookmark, 900 bytes, and not all by which it was read, twice as much."""
    few, many = kept(tmp_path, 128), kept(tmp_path, 320)
    assert (many - few) / (320 - 128) < 1700  # with its place among the rotated files of its log


@pytest.mark.soak
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_peak_of_ten_gigabytes_is_bounded(packed: bool, threads: int) -> None:
    assert peak("native", GOOD * 3 + b"\n", 10 << 30, packed, threads) < 300


@pytest.mark.usefixtures("scan_core")
def test_columns_of_long_records_lie_close_together() -> None:
    """With room for the shortest records there are, they would take ten times as much memory."""
    data = (b'@a3|f0|c1|S0|d1|T1|t"%b"#\n' % (b"x" * 180)) * 9_000
    batches = list(turnwire.scan(data, wire="nslip", batch_bytes=1 << 15))
    spans: list[Any] = [np.lib.array_utils.byte_bounds(one["offset"].base) for one in batches]
    rows = max(map(len, batches))
    assert len(spans) > 50
    assert max(end - start for start, end in spans[-9:-1]) < rows * 140 * 2 + 16 * 4096
