"""Blocks of a plan: together they are the scan that they were cut from, and they refuse a file that has changed."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import turnwire
from tests.conftest import put, raised, rounds
from tests.golden.logs import log
from tests.log.engines import GOOD, UPSTREAM
from tests.log.found import rows_of
from turnwire import WIRES
from turnwire.errors import DecodeError, Reason
from turnwire.log import Block, cluster_plan, plan, read_block
from turnwire.log.cluster_plan import FileState
from turnwire.log.input.rotated_names import TICK

pytestmark = pytest.mark.once


def rows(scan: Any, first: int = 0) -> list[dict[str, Any]]:
    """Every record with its bytes; numbers count on from ``first``."""
    return [{**row, "record": row["record"] + first} for row in rows_of(scan)]


def together(blocks: list[Block]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[int]]:
    """Records, rejects and the sums of bytes of all blocks."""
    records: list[dict[str, Any]] = []
    rejects: list[dict[str, Any]] = []
    sums = [0] * 7
    for block in blocks:
        scan = read_block(pickle.loads(pickle.dumps(block)))
        records += rows(scan, len(records))
        rejects += scan.rejects.rows()
        sums = [total + part for total, part in zip(sums, scan.counts[:7], strict=True)]
    return records, rejects, sums


def one_scan(source: Any, wire: str | None = "nslip") -> tuple[Any, Any, list[int]]:
    scan = turnwire.scan(source, wire=wire)
    return rows(scan), scan.rejects.rows(), list(scan.counts[:7])


@pytest.mark.parametrize("block_bytes", [1, 777, 40_000, 1 << 30])
def test_the_blocks_of_real_messages_are_one_scan(block_bytes: int) -> None:
    path = UPSTREAM.parent if block_bytes > 777 else UPSTREAM.parent / "damaged.log"
    blocks = plan(str(path), wire="nslip", block_bytes=block_bytes)
    assert together(blocks) == one_scan(str(path))


@pytest.mark.parametrize("wire", [None, *WIRES])
def test_the_blocks_of_any_wire_are_one_scan(tmp_path: Path, wire: str | None) -> None:
    """Mixed logs in blocks of a line or so: what spans lines is never cut, also where another wire is wanted."""
    chance = random.Random(3)
    path = tmp_path / "mixed.log"
    cut = met = 0
    for number in range(rounds(8)):
        path.write_bytes(b"\n".join(log(8 * place + number).data for place in range(3)))
        blocks = plan(str(path), wire=wire, block_bytes=chance.choice((1, 50, 300)))
        expected = one_scan(str(path), wire)
        assert together(blocks) == expected, path.read_bytes()
        assert [block.start for block in blocks[1:]] == [block.stop for block in blocks[:-1]]
        assert blocks[0].start == 0 and blocks[-1].stop == path.stat().st_size
        cut, met = cut + len(blocks) - 1, met + len(expected[0])
    assert cut > 10 and met > 1


def test_an_object_over_several_lines_is_never_cut(tmp_path: Path) -> None:
    path = tmp_path / "pretty.log"
    value = json.dumps({"a": [1, {"b": "x"}, "y"], "c": None}, indent=2) + "\n"
    path.write_text(value * 20)
    blocks = plan(str(path), block_bytes=1)
    assert [block.start for block in blocks] == [len(value) * place for place in range(20)]


@pytest.mark.parametrize("head", ["", "CSP/1\n", "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\n"])
@pytest.mark.parametrize("front", ["```", "x: ", "> ", "  "])
def test_a_message_behind_a_prefix_is_never_cut(tmp_path: Path, head: str, front: str) -> None:
    """Also where a line that says ``CSP/1`` and no more stands before it."""
    path = tmp_path / "prefixed.log"
    path.write_text(f"{head}text\n{front}CSP/1\nTO P\nFROM A\nCTX C0\nINTENT TASK\n\nTASK T1\nQ \n", "utf-8")
    assert together(plan(str(path), wire="csp", block_bytes=1)) == one_scan(str(path), "csp")


def test_a_line_longer_than_a_block(tmp_path: Path) -> None:
    path = put(tmp_path / "long.log", GOOD + b"\n" + b"x" * 1500 + GOOD + b"y" * 1500 + b"\n" + (GOOD + b"\n") * 300)
    first, second, *_ = blocks = plan(str(path), wire="nslip", block_bytes=100)
    assert (first.line, len(rows(read_block(first)))) == (1, (second.line or 0) - 1)
    assert len(blocks) > 30 and (first.stop or 0) < path.stat().st_size // 2
    assert together(blocks) == one_scan(str(path))


def test_an_empty_file_is_one_block_without_records(tmp_path: Path) -> None:
    (tmp_path / "none").write_bytes(b"")
    (block,) = plan(str(tmp_path / "none"), wire="nslip")
    assert (block.start, block.stop, rows(read_block(block))) == (0, 0, [])


def test_a_compressed_file_is_one_block(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(GOOD * 1000))
    (block,) = plan(str(tmp_path), wire="nslip", block_bytes=10)
    assert (block.start, block.stop) == (0, None)


def test_options_travel_with_a_block() -> None:
    blocks = plan(str(UPSTREAM), wire="nslip", block_bytes=100_000, columns=["src", "tag"], batch_bytes=1000)
    assert len(blocks) == 3
    batches = list(read_block(blocks[1]))
    assert batches[0].names == ("src", "tag")
    assert len(batches) > 50
    assert next(iter(read_block(blocks[1], columns=["act"]))).names == ("act",)


def test_a_block_survives_pickle() -> None:
    odd = {
        "where": {
            "kind": {"ASK", "REQUEST"},
            "src": 1 << 63,
            "text": b"\xff",
            "name": "\udcff",
            "dict": {"a": [1, True]},
        },
        "limits": turnwire.LIMITS._replace(message=1000),
        "time": (datetime(2026, 11, 22, tzinfo=UTC), None),
    }
    file = FileState("a\udcff.log", 9, 1_800_000_000_000_000_001, "00", (1, 2, 3))
    block = Block((file,), 5, None, 2, None, odd)
    assert (found := pickle.loads(pickle.dumps(block))) == block
    assert block.key == found.key
    other = block._replace(files=(file._replace(head=""),))
    assert len({block.key, block._replace(start=6).key, block._replace(wire="csp").key, other.key}) == 4
    assert block._replace(files=(file._replace(inode=(9, 2, 3)),)).key == block.key, "a device has no number to keep"


def append(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(GOOD)


def shrink(path: Path) -> None:
    os.truncate(path, 100)


def touch(path: Path) -> None:
    os.utime(path, ns=(0, 0))


def replace(path: Path) -> None:
    before = os.stat(path)
    path.write_bytes(b"y" + path.read_bytes()[1:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [append, shrink, touch, replace])
def test_a_file_that_has_changed_is_refused(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = put(tmp_path / "log", (GOOD + b"\n") * 100)
    blocks = plan(str(path), wire="nslip", block_bytes=1000)
    change(path)
    for block in blocks:
        with pytest.raises(DecodeError, match="changed after it was cut") as caught:
            list(read_block(block))
        assert (caught.value.reason, caught.value.path) == (Reason.FILE_CHANGED, str(path))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "log", (GOOD + b"\n") * 100)
    block, *_ = plan(str(path), wire="nslip", block_bytes=1000)
    reading = iter(read_block(block, batch_bytes=100))
    next(reading)
    touch(path)
    with pytest.raises(DecodeError, match="changed after it was cut"):
        list(reading)


def test_what_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    for source in (b"bytes", "-", open):
        raised(TypeError, plan, source, wire="nslip")
    with pytest.raises(FileNotFoundError):
        plan(str(tmp_path / "none"), wire="nslip")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="regular files"):
            plan(str(tmp_path / "pipe"), wire="nslip")
    with pytest.raises(ValueError, match="no column 'nope'"):
        plan(str(UPSTREAM), wire="nslip", columns=["nope"])


def test_small_files_stand_in_one_block(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}.log").write_bytes(GOOD + b"\n@a3|bad#\n" * (number % 3))
    (tmp_path / "05.log").write_bytes(gzip.compress(GOOD * 3))
    (tmp_path / "10.log").write_bytes((GOOD + b"\n") * 300)
    expected = one_scan(str(tmp_path))
    for size, least, most in ((8_000, 2, 14), (1 << 30, 1, 1), (200, 13, 2000)):
        blocks = plan(str(tmp_path), wire="nslip", block_bytes=size)
        assert least <= len(blocks) <= most
        assert together(blocks) == expected
    (packed,) = plan(str(tmp_path), wire="nslip")
    assert len(packed.files) == 12 and packed.size == sum(path.stat().st_size for path in tmp_path.iterdir())


def keeping_times(path: Path, change: Callable[[bytearray], None]) -> None:
    before = os.stat(path)
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip(at: float) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        data[int(len(data) * at)] ^= 1

    return change


@pytest.mark.parametrize(("count", "at"), [(2, 0.55), (90, 0.99), (5000, 0.1)])
@pytest.mark.parametrize("size", [1000, 1 << 30])
def test_one_bit_under_the_same_size_and_times(tmp_path: Path, count: int, at: float, size: int) -> None:
    path = put(tmp_path / "log", (GOOD + b"\n") * count)
    blocks = plan(str(path), wire="nslip", block_bytes=max(size, len(GOOD) * count // 8))
    keeping_times(path, flip(at))
    with pytest.raises(DecodeError, match="changed after it was cut"):
        together(blocks)


def test_a_changed_file_among_many(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes((GOOD + b"\n") * 5)
    (block,) = plan(str(tmp_path), wire="nslip")
    keeping_times(tmp_path / "b", flip(0.5))
    with pytest.raises(DecodeError, match="changed after it was cut") as caught:
        list(read_block(block))
    assert caught.value.path == str(tmp_path / "b")


@pytest.mark.parametrize(("age", "waits"), [(1, 1), (TICK, 0)])
def test_a_file_that_was_just_written_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: int, waits: int
) -> None:
    """Until its clock has moved on: what is written in the same moment leaves no trace in its times."""
    path = put(tmp_path / "log", (GOOD + b"\n") * 5000)
    waited: list[float] = []

    def write(seconds: float) -> None:
        waited.append(seconds)
        keeping_times(path, flip(0.55))

    clock = SimpleNamespace(sleep=write, time_ns=lambda: os.stat(path).st_ctime_ns + age)
    monkeypatch.setattr(cluster_plan, "time", clock)
    blocks = plan(str(path), wire="nslip")
    assert waited == [TICK / 1e9] * waits
    assert together(blocks) == one_scan(str(path))


def test_another_file_of_the_same_size_and_time(tmp_path: Path) -> None:
    """The inode is another one. On another machine it always is, by the number of the device."""
    path, other = tmp_path / "log", tmp_path / "other"
    path.write_bytes((GOOD + b"\n") * 3000)
    (block,) = plan(str(path), wire="nslip")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(block.files[0].mtime_ns,) * 2)
    other.replace(path)
    with pytest.raises(DecodeError, match="inode"):
        list(read_block(block))
    state = block.files[0]
    elsewhere = block._replace(files=(state._replace(inode=(state.inode[0] + 1, *state.inode[1:])),))
    assert len(rows(read_block(elsewhere))) == 3000
