"""Plans that look at a few places of a file, and blocks of many small files: the rows are those of one scan, or the
block says that it was cut at the wrong place; a file that changed is seen."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import turnwire
from tests.counting import called
from tests.log import mixed_logs
from tests.log.engines import GOOD, VECTORS, damaged_log
from tests.log.test_plan import rows, together
from tests.nslip.twins import rounds
from turnwire import LIMITS, WIRES
from turnwire.errors import DecodeError, Reason
from turnwire.log import Block, plan, read_block
from turnwire.log.input.resuming import TICK
from turnwire.log.planning import between, cutting, line_numbers, states
from turnwire.log.planning.line_numbers import LineNumbers
from turnwire.log.planning.plain import plain, restored
from turnwire.log.planning.proving import Proof

pytestmark = pytest.mark.once


@pytest.fixture
def near_sighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are looked at, too, and no further than a line or so."""
    monkeypatch.setattr(cutting, "LEAST_LOOKED_AT", 1)
    monkeypatch.setattr(cutting, "_AROUND", 80)


def one_scan(source: Any, wire: str | None) -> tuple[Any, Any, list[int]]:
    scan = turnwire.scan(source, wire=wire)
    return rows(scan), scan.rejects.rows(), list(scan.counts[:4])


def outcome(blocks: list[Block]) -> tuple[Any, Reason | None]:
    """What blocks give together, or why one of them cannot be read."""
    try:
        return together(blocks), None
    except DecodeError as error:
        return None, error.reason


@pytest.mark.usefixtures("near_sighted")
@pytest.mark.parametrize("wire", [None, *WIRES])
def test_looking_never_gives_other_rows_in_silence(tmp_path: Path, wire: str | None) -> None:
    """What a look misses is found by the proof: the block says so, and reading the file gives the rows."""
    chance = random.Random(7)
    path = tmp_path / "mixed.log"
    looked = refused = 0
    for _ in range(rounds(40)):
        parts = [mixed_logs.damaged_log(chance), damaged_log(chance, VECTORS), mixed_logs.good_log(chance)[0]]
        parts += [chance.choice([b"CSP/1\n", b"```\n", b"<<<\n", b"text\n", b"CSP/1\nFROM A\nTO B\nCONTENT\n<<<\nx\n"])]
        chance.shuffle(parts)
        path.write_bytes(b"\n".join(parts))
        size = chance.choice((50, 300, 1000))
        blocks = plan(str(path), wire=wire, block_bytes=size)
        expected = one_scan(str(path), wire)
        found, reason = outcome(blocks)
        if reason is None:
            assert found == expected, path.read_bytes()
            looked += any(not block.proved for block in blocks)
        else:
            assert reason is Reason.BLOCK_OPEN
            refused += 1
            assert together(plan(str(path), wire=wire, block_bytes=size, read=True)) == expected
    assert looked and refused


@pytest.mark.usefixtures("near_sighted")
def test_lines_that_nobody_counted_are_counted_when_a_block_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes((GOOD + b"\n") * 300)
    blocks = plan(str(path), wire="nslip", block_bytes=1000)
    assert [block.line for block in blocks] == [1, *[None] * (len(blocks) - 1)] and len(blocks) > 5
    counted = plan(str(path), wire="nslip", block_bytes=1000, read=True)
    chance = random.Random(1)
    for block in chance.sample(blocks, len(blocks)):
        (same,) = (one for one in counted if one.start == block.start)
        assert rows(read_block(block)) == rows(read_block(same))
        (first, *_), *_ = (batch["line"] for batch in read_block(block, count_lines=False))
        assert first == 1


def test_a_large_file_is_looked_at(tmp_path: Path) -> None:
    """Of a file with holes, no more than some of its bytes; a line of zeros is not cut."""
    path = tmp_path / "large.log"
    lines = (GOOD + b"\n") * 1000
    with open(path, "wb") as file:
        for place in range(6):
            file.seek(place * (10 << 30))
            file.write(lines)
        file.truncate(60 << 30)
    blocks = plan(str(path), wire="nslip")
    assert len(blocks) == 6 and blocks[-1].stop == 60 << 30
    assert all(block.start % (10 << 30) < len(lines) and not block.proved for block in blocks)


def test_small_files_stand_in_one_block(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}.log").write_bytes(GOOD + b"\n@a3|bad#\n" * (number % 3))
    (tmp_path / "05.log").write_bytes(gzip.compress(GOOD * 3))
    (tmp_path / "10.log").write_bytes((GOOD + b"\n") * 1200)
    expected = one_scan(str(tmp_path), "nslip")
    for size, least, most in ((30_000, 2, 8), (1 << 30, 1, 1), (200, 13, 5000)):
        blocks = plan(str(tmp_path), wire="nslip", block_bytes=size)
        assert least <= len(blocks) <= most
        assert together(blocks) == expected
    (packed,) = plan(str(tmp_path), wire="nslip")
    assert len(packed.files) == 12 and packed.size == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert Block.from_dict(json.loads(json.dumps(packed.to_dict()))) == packed


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


@pytest.mark.parametrize("count", [2, 90, 5000])
@pytest.mark.parametrize("at", [0.1, 0.55, 0.99])
@pytest.mark.parametrize("size", [1000, 1 << 30])
def test_one_bit_under_the_same_size_and_times(tmp_path: Path, count: int, at: float, size: int) -> None:
    path = tmp_path / "log"
    path.write_bytes((GOOD + b"\n") * count)
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


@pytest.mark.parametrize(("count", "age", "waits"), [(5000, 1, 1), (5000, TICK, 0), (5, 1, 0)])
def test_a_file_that_was_just_written_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, age: int, waits: int
) -> None:
    """Until its clock has moved on: what is written in the same moment leaves no trace in its times. Of a file that is
    digested as a whole it leaves one in the digest."""
    path = tmp_path / "log"
    path.write_bytes((GOOD + b"\n") * count)
    waited: list[float] = []

    def write(seconds: float) -> None:
        waited.append(seconds)
        keeping_times(path, flip(0.55))

    clock = SimpleNamespace(sleep=write, time_ns=lambda: os.stat(path).st_ctime_ns + age)
    monkeypatch.setattr(states, "time", clock)
    blocks = plan(str(path), wire="nslip")
    assert waited == [TICK / 1e9] * waits
    assert together(blocks) == one_scan(str(path), "nslip")


def test_another_file_of_the_same_size_and_time(tmp_path: Path) -> None:
    """The inode is another one, which is told where samples alone would not tell it; not where all bytes are known."""
    for count, refused in ((10, False), (3000, True)):
        path, other = tmp_path / "log", tmp_path / "other"
        path.write_bytes((GOOD + b"\n") * count)
        (block,) = plan(str(path), wire="nslip")
        other.write_bytes(path.read_bytes())
        os.utime(other, ns=(block.mtime_ns, block.mtime_ns))
        other.replace(path)
        if not refused:
            assert len(rows(read_block(block))) == count
            continue
        with pytest.raises(DecodeError, match="inode"):
            list(read_block(block))


def test_line_numbers_are_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"ab\n" * 1000)
    chance = random.Random(5)
    numbers = LineNumbers()
    with open(path, "rb", buffering=0) as file:
        for _ in range(200):
            start, stop = sorted((chance.randrange(3001), chance.randrange(3001)))
            assert numbers.between("key", file, start, stop) == stop // 3 - start // 3
        numbers.learn("other", 0, 300, 7)
        assert numbers.between("other", file, 0, 300) == 7
        assert numbers.between("other", file, 0, 600) == 107


@pytest.mark.parametrize(
    "sizes", [[20] * 12, [100, 1, 1, 900, 4000, 4000, 1, 20_000, 1, 1], [5000] * 5, [0, 0, 30_000, 0]]
)
@pytest.mark.parametrize("block_bytes", [1, 5000, 9000, 16_384, 1 << 20])
def test_small_files_fill_a_block_before_the_next_one_is_begun(
    tmp_path: Path, sizes: list[int], block_bytes: int
) -> None:
    """Each weighs its bytes and 4096 for opening it; the first of a block may be larger than that."""
    for number, size in enumerate(sizes):
        (tmp_path / f"{number:02}.log").write_bytes(b"x" * size)
    together: list[list[str]] = []
    left = 0
    for number, size in enumerate(sizes):
        if not together or size + 4096 > left:
            together.append([])
            left = block_bytes
        together[-1].append(str(tmp_path / f"{number:02}.log"))
        left -= size + 4096
    blocks = plan(str(tmp_path), wire="nslip", block_bytes=block_bytes)
    assert [[state.name for state in block.states] for block in blocks] == together
    assert sum(block.size for block in blocks) == sum(sizes)


@pytest.mark.parametrize("sampled", [False, True])
def test_on_another_machine_a_file_has_another_device_and_inode(tmp_path: Path, sampled: bool) -> None:
    """Within one device another inode is another file, where not all of it is digested; and devices are in no key."""
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * (states.HEAD * states.SAMPLES + 1))
    (block,) = plan(str(path), wire="nslip", read=not sampled)
    (state,) = block.states
    assert (state.sampled, state.inode is None) == (sampled, False)
    assert state.inode is not None
    device, inode, written = state.inode
    with path.open("rb", buffering=0) as file:
        for other, refused in (
            ((device, inode, written), False),
            ((device, inode + 1, written), sampled),
            ((device, inode, written + 1), sampled),
            ((device + 1, inode, written), False),
            ((device + 1, inode + 1, written + 1), False),
        ):
            moved = state._replace(inode=other)
            assert (states.changed(moved, file, 0, state.size) is not None) is refused, other
    keys = {place: block._replace(inode=place).key for place in ((1, 2, 3), (9, 2, 3), (1, 9, 3), (1, 2, 9))}
    assert keys[1, 2, 3] == keys[9, 2, 3]
    assert len(set(keys.values())) == 3


@pytest.mark.parametrize("number", [0, 1, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, 1 << 64])
def test_numbers_that_other_readers_of_json_would_round_are_text(number: int) -> None:
    """Both signs; truths are none."""
    for one in (number, -number):
        written = plain(one)
        assert written == ({"int": str(one)} if abs(one) >= 1 << 53 else one)
        assert restored(json.loads(json.dumps(written))) == one
    assert [plain(one) for one in (True, False)] == [True, False]


@pytest.mark.parametrize(
    "value",
    [frozenset("ab"), bytearray(b"ab"), memoryview(b"ab"), LIMITS, ("a", [b"b"]), {"a": {"b", 1 << 60}}, "\udcff"],
)
def test_options_are_in_json_what_they_were(value: Any) -> None:
    found = restored(json.loads(json.dumps(plain(value))))
    assert (found, isinstance(found, turnwire.Limits)) == (value, value is LIMITS)


def test_options_are_in_json_in_one_order() -> None:
    """So that the key of a block is one in each process."""
    assert plain({f"{number}" for number in range(10)}) == {"set": [f"{number}" for number in range(10)]}


def test_of_many_files_the_last_ones_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_numbers, "_MOST_FILES", 2)
    numbers = LineNumbers()
    for name in ("a", "b", "a", "c"):
        numbers.learn(name, 0, 5, 3)
    assert [numbers.between(name, None, 0, 5) for name in "ac"] == [3, 3]


def test_what_shows_a_document_or_an_object_that_goes_on(tmp_path: Path) -> None:
    """Also behind a byte order mark; also where nothing but white space is near."""
    path, sigil = tmp_path / "a.log", between.SIGIL
    for data, header in ((between.BOM + sigil, True), (b"\n" + sigil, True), (sigil, True), (b"x" + sigil, False)):
        path.write_bytes(data)
        with path.open("rb") as file:
            assert between.has_header(file) == header, data
    for data, goes_on in ((b'{"a":\n' + b" " * 5000 + b"1}", True), (b" \n{}", True), (b"a\nb", False)):
        path.write_bytes(data)
        with path.open("rb") as file:
            assert between.between_objects(file, data.index(b"\n") + 1) != goes_on, data


@pytest.mark.parametrize("line", [b"x CSP/1\nx FROM A\n", b"2026-01-01T00:00:00Z stdout P x\n", b"a CSP/1;A>B\nIN A\n"])
def test_lines_that_may_go_on_are_looked_at_a_few_times(
    tmp_path: Path, line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each place where the file might be cut."""
    path = tmp_path / "a.log"
    data = line * 200
    path.write_bytes(data)
    looked = called(monkeypatch, between, "find", lambda found, start, stop, *_: stop - start)
    blocks = plan(str(path), block_bytes=200)
    assert looked and sum(looked) < 12 * len(data)
    assert together(blocks) == one_scan(str(path), None)


@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENXIO])
def test_holes_are_asked_for_where_a_file_system_knows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """One that knows none says so in another way than one whose file has nothing more: then all is read, as far as
    the file goes that may have become shorter."""

    def asked(*_: int) -> int:
        raise OSError(error, os.strerror(error))

    (tmp_path / "x.log").write_bytes(b"one\ntwo\nthree")
    monkeypatch.setattr(os, "lseek", asked)
    with open(tmp_path / "x.log", "rb", buffering=0) as file:
        places = [cutting._next_line(file, at, 99) for at in (0, 5, 9)]
    assert places == ([4, 8, 99] if error == errno.EINVAL else [99] * 3)


def test_a_proof_sees_what_is_behind_a_byte_order_mark_and_over_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, mark = tmp_path / "x.log", b"\xef\xbb\xbf"
    message = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA\n<<<\nx\ny\n>>>\n\ntext\n"
    document, prose = "prose\n⫻a/b:c/0\nmore\nmore\n".encode(), b"prose\nprose\nmore\nmore\n"
    for data, start, stop, fault, lines in (
        (mark + message, 0, message.index(b"y\n") + 3, "a record of several lines may be open where it ends", 11),
        (document, 0, len(document) - 5, "a line begins like the header of a Space document", 3),
        (document, 6, len(document) - 5, "a line begins like the header of a Space document", 2),
        (document, 0, 6, None, 1),
        (prose, 0, len(prose) - 5, None, 3),
        (prose, 6, len(prose), None, 3),
    ):
        path.write_bytes(data)
        with open(path, "rb", buffering=0) as file:
            for size in (3, 4, 5, 6, 7, 8, 1 << 20):
                monkeypatch.setattr(between, "READ", size)
                proof = Proof(file, start, stop, len(data), 1 << 20)
                assert (proof.fault, proof.lines) == (fault, lines), (data, size)
