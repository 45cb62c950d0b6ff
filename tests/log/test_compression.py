"""gzip, bzip2, xz and zstd: the same rows as from plain bytes, and damage said exactly."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import random
import sqlite3
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as command
from tests.conftest import put
from tests.log.engines import GOOD, UPSTREAM
from tests.log.rotating import append, numbers_of, record, stepped
from tests.log.test_scan import everything, scan_nslip
from tests.log.test_sources import Trickle
from turnwire import LIMITS, DecodeError, Reason
from turnwire.errors import FileRefused
from turnwire.log import plan, read_block
from turnwire.log.input import reading
from turnwire.log.input.compression import Decompressed
from turnwire.read.contents import contents

zstandard = pytest.importorskip("zstandard")
pytestmark = pytest.mark.once

DATA = b"".join(UPSTREAM.read_bytes().splitlines(keepends=True)[:400]) + b"@a3|f0 bad\n" + GOOD


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def zst(data: bytes, **options: Any) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(data)


def streamed(data: bytes) -> bytes:
    """zstd without the size of the content, in several blocks."""
    out = io.BytesIO()
    with zstandard.ZstdCompressor(write_checksum=True).stream_writer(out, closefd=False) as writer:
        for start in range(0, len(data), 5000):
            writer.write(data[start : start + 5000])
            writer.flush(zstandard.FLUSH_BLOCK)
    return out.getvalue()


def skippable(size: int) -> bytes:
    return b"\x53\x2a\x4d\x18" + size.to_bytes(4, "little") + b"@" * size


HALF = len(DATA) // 2
STREAMS = ("gzip", "bzip2", "xz", "zstd")
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gz,
    "gzip with a name": lambda data: _named(data),
    "gzip, stored": lambda data: gzip.compress(data, 0),
    "gzip members": lambda data: gz(data[:HALF]) + gz(b"") + gz(data[HALF:]),
    "gzip members and padding": lambda data: gz(data[:HALF]) + b"\0" * 700 + gz(data[HALF:]) + b"\0" * 70_000,
    "bzip2": bz2.compress,
    "bzip2 streams": lambda data: bz2.compress(data[:HALF], 1) + bz2.compress(b"") + bz2.compress(data[HALF:]),
    "bzip2 streams and padding": lambda data: bz2.compress(data[:HALF]) + b"\0" * 9 + bz2.compress(data[HALF:]) + b"\0",
    "xz": lzma.compress,
    "xz, level 9": lambda data: lzma.compress(data, preset=9),
    "xz streams": lambda data: lzma.compress(data[:HALF]) + b"\0" * 8 + lzma.compress(b"") + lzma.compress(data[HALF:]),
    "zstd": zst,
    "zstd with checksum": lambda data: zst(data, write_checksum=True),
    "zstd without sizes": streamed,
    "zstd frames": lambda data: zst(data[:HALF]) + zst(b"") + zst(data[HALF:]),
    "zstd, skippable frames": lambda data: skippable(9) + zst(data[:HALF]) + skippable(100_000) + zst(data[HALF:]),
    "zstd, level 19": lambda data: zst(data, level=19),
}


def _named(data: bytes) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile("a log.txt", "wb", fileobj=out) as file:
        file.write(data)
    return out.getvalue()


@cache
def stored_as(form: str, data: bytes = DATA) -> bytes:
    return FORMS[form](data)


@cache
def plain(columns: tuple[str, ...] | None = None) -> Any:
    return everything(scan_nslip(DATA, batch_bytes=10_000, columns=columns))


FEW = ("offset", "length", "line", "conv_id", "tag")
"""Columns that show which bytes came, and where."""


@pytest.mark.parametrize("form", FORMS)
def test_rows_and_offsets_are_those_of_the_plain_bytes(form: str, tmp_path: Path) -> None:
    stored = stored_as(form)
    path = put(tmp_path / "wrong.suffix", stored)
    every = ({"batch_bytes": 10_000}, {"borrow": True}, {"threads": 2})
    for source in (stored, io.BytesIO(stored)):
        for options in (*every, {"batch_bytes": 77}) if source is stored else every:
            assert everything(scan_nslip(source, columns=FEW, **options)) == plain(FEW)  # type: ignore[arg-type]
            if hasattr(source, "seek"):
                source.seek(0)
    for borrow in (False, True):
        columns, rejects, counts = everything(scan_nslip(path, borrow=borrow))
        assert set(columns.pop("file")) == {str(path)}
        assert columns == {name: values for name, values in plain()[0].items() if name != "file"}
        assert [{**row, "file": None} for row in rejects] == plain()[1]
        assert counts == plain()[2]


@pytest.mark.parametrize("form", [*STREAMS, "gzip members and padding", "zstd, a frame to be skipped first"])
def test_what_is_judged_as_a_whole_is_decompressed_too(form: str, tmp_path: Path) -> None:
    data = b"more words\n" * 60 + b"CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\n"
    stored = FORMS[form](data) if form in FORMS else skippable(7) + zst(data)
    assert list(contents(stored)) == [(None, data)]
    file, plain = tmp_path / "a.log.x", tmp_path / "a.log"
    file.write_bytes(stored)
    plain.write_bytes(data)
    for wire in ("csp", "nslip"):
        judged, expected = (command("conform", wire, path, "--json") for path in (file, plain))
        assert judged.code == expected.code
        assert judged.out.replace(b"a.log.x", b"a.log") == expected.out


def test_what_only_looks_compressed_is_text() -> None:
    heads = (b"\x1f", b"\x1f\x8b", b"\x1f\x8bx", b"\x28\xb5\x2f", b"P*M\x17", b"Q*")
    for head in (*heads, b"BZh9", b"BZh01AY&SY", b"BZh91AY&S?", b"BZh91AY&S", b"\xfd7zXZ"):
        found = scan_nslip(head + b"\n" + GOOD)
        assert sum(map(len, found)) == 1
        assert found.counts.text_bytes == len(head) + 1
    for head in (b"\x1f", b"\x28\xb5\x2f", b"P*M", b"B", b"BZh91AY&S", b"\xfd7zXZ"):
        found = scan_nslip(head)
        assert (list(found), found.counts.text_bytes) == ([], len(head))


@pytest.mark.parametrize("form", STREAMS)
def test_a_head_that_is_cut_off_is_no_junk(form: str) -> None:
    """A beginning of the next member, frame or stream is cut off; with one other byte it is junk."""
    stored = FORMS[form](GOOD)
    longest = {"gzip": 3, "bzip2": 10, "xz": 6, "zstd": 4}[form]
    for size in range(1, longest):
        for more, reason in ((stored[:size], "cut_off"), (stored[: size - 1] + b"?", "trailing_junk")):
            found = scan_nslip(stored + more)
            assert sum(map(len, found)) == 1
            (row,) = found.rejects.rows()
            place = len(stored) + (size if reason == "cut_off" else 0)
            assert (row["reason"], row["fault"]) == (reason, place), more


@pytest.mark.parametrize("form", STREAMS)
def test_a_pipe_may_bring_the_first_bytes_one_by_one(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long each of them is waited for, they tell what the stream is."""
    stored = FORMS[form](GOOD)
    pieces = [stored[place : place + 1] for place in range(12)] + [stored[12:]]
    ours, theirs = os.pipe()
    usual, waits = reading.Input.into, 0

    def into(self: reading.Input, view: memoryview, /) -> int | None:
        nonlocal waits
        count = usual(self, view)
        if count is None:
            waits += 1
            if pieces:
                os.write(theirs, pieces.pop(0))
            elif waits == 14:
                os.close(theirs)
        return count

    monkeypatch.setattr(reading, "IDLE", 0.0)
    monkeypatch.setattr(reading.Input, "into", into)
    with open(ours, "rb", buffering=0) as file:
        found = scan_nslip(file)
        assert (sum(map(len, found)), found.counts.bytes, waits) == (1, len(GOOD), 14)


WITHIN = ("gzip", "gzip members", "bzip2", "bzip2 streams", "xz", "zstd", "zstd without sizes", "zstd frames")


@pytest.mark.parametrize("form", WITHIN)
def test_a_stream_that_is_cut_off_anywhere(form: str) -> None:
    """Bytes that come out in front of the cut are scanned; the cut is said at its byte; sums add up."""
    data = DATA[:6000]
    stored = FORMS[form](data)
    clean = {len(FORMS[form](data)), len(gz(data[:HALF])), len(gz(data[:HALF]) + gz(b""))}
    clean |= {len(bz2.compress(data[:HALF], 1)), len(bz2.compress(data[:HALF], 1) + bz2.compress(b""))}
    whole = everything(scan_nslip(data, columns=["offset"]))[0]["offset"]
    seen = 0
    for size in range(5 if form.startswith(("gzip", "zstd")) else 10, len(stored), max(len(stored) // 40, 1)):
        found = scan_nslip(stored[:size], columns=["offset"])
        rows = everything(found)[0]
        counts = found.counts
        assert counts.bytes == counts.record_bytes + counts.reject_bytes + counts.text_bytes <= len(data)
        assert rows["offset"] == whole[: len(rows["offset"])]
        cut = found.rejects.rows()[-1:]
        if cut and cut[0]["wire"] in STREAMS:
            assert (cut[0]["reason"], cut[0]["fault"], cut[0]["length"], cut[0]["raw"]) == ("cut_off", size, 0, b"")
            assert cut[0]["offset"] == counts.bytes
            seen += 1
        else:
            assert form in ("gzip members", "zstd frames") or size in clean
    assert seen > 20


@pytest.mark.parametrize("form", ["gzip", "bzip2", "xz", "zstd", "zstd without sizes", "gzip members", "zstd frames"])
def test_junk_behind_a_stream(form: str) -> None:
    stored = stored_as(form)
    for junk in (b"junk\n" + GOOD, b"\0\0\0x" + GOOD):
        found = scan_nslip(stored + junk)
        list(found)
        last = found.rejects.rows()[-1]
        place = len(stored) + len(junk) - len(junk.lstrip(b"\0"))
        assert (last["reason"], last["fault"], last["offset"]) == ("trailing_junk", place, len(DATA))
        assert found.counts.bytes == len(DATA)


@pytest.mark.parametrize("form", ["gzip", "bzip2", "xz", "zstd with checksum", "zstd without sizes"])
def test_bytes_that_were_changed(form: str) -> None:
    """Never a crash, never a byte too many, and the damage is told wherever a checksum sees it."""
    data = DATA[:6000]
    stored = FORMS[form](data)
    chance = random.Random(4)
    told = 0
    for _ in range(40):
        place = chance.randrange(10, len(stored))
        changed = bytearray(stored)
        changed[place] ^= 1 << chance.randrange(8)
        found = scan_nslip(bytes(changed))
        list(found)
        counts = found.counts
        assert counts.bytes == counts.record_bytes + counts.reject_bytes + counts.text_bytes
        faults = [row for row in found.rejects.rows() if row["wire"] in STREAMS]
        assert len(faults) <= 1
        told += len(faults)
        if faults:
            assert 0 <= faults[0]["fault"] <= len(stored)
    assert told > 30


def test_errors_raise_and_skip() -> None:
    stored = gz(DATA)[:-20]
    raised = scan_nslip(stored[:], errors="raise")
    with pytest.raises(DecodeError, match=r"@a3\|f0 bad|cut off"):
        list(raised)
    good = gz(GOOD * 3)[:-3]
    raised = scan_nslip(good, errors="raise")
    batches = iter(raised)
    assert len(next(batches)) == 3
    with pytest.raises(DecodeError) as caught:
        next(batches)
    error = caught.value
    assert (error.reason, error.offset, error.wire, error.line) == (Reason.CUT_OFF, len(good), "gzip", 1)
    assert f"after byte {3 * len(GOOD)} as decompressed" in str(error)
    skipped = scan_nslip(good, errors="skip")
    list(skipped)
    assert (skipped.rejects.rows(), skipped.counts.reasons) == ([], {"cut_off": 1})


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut_off": lambda stored: stored[:-3],
    "trailing_junk": lambda stored: stored + b"junk\n",
    "bad_compression": lambda stored: stored[:-6] + bytes([stored[-6] ^ 1]) + stored[-5:],
    "ratio_too_high": lambda stored: stored,
}


@pytest.mark.parametrize("reason", DAMAGE)
@pytest.mark.parametrize("form", ["gzip", "bzip2", "xz", "zstd with checksum"])
def test_what_may_still_be_written_waits_and_damage_does_not(form: str, reason: str, tmp_path: Path) -> None:
    """A scan that keeps its position leaves a stream that is cut off for the next one; any other fault it tells."""
    path = put(tmp_path / "a.log", DAMAGE[reason](stored_as(form)))
    limits = LIMITS._replace(ratio=1, ratio_from=100) if reason == "ratio_too_high" else LIMITS
    positions: tuple[Any, ...] = (None, {})
    for resume in positions:
        found = scan_nslip(path, resume=resume, limits=limits)
        list(found)
        told = [row["reason"] for row in found.rejects.rows() if row["wire"] in STREAMS]
        assert told == ([] if resume is not None and reason == "cut_off" else [reason])
        assert found.counts.reasons.get(reason, 0) == len(told)


LIMIT = LIMITS._replace(ratio=200, ratio_from=1 << 20)


@pytest.mark.parametrize("form", ["gzip", "bzip2", "xz", "zstd", "zstd without sizes"])
def test_bombs_stop_at_the_ratio(form: str) -> None:
    zeros = (GOOD + b"\n") * 10 + b"\0" * (8 << 20)
    stored = FORMS[form](zeros)
    found = scan_nslip(stored, limits=LIMIT)
    assert sum(map(len, found)) == 10
    (row,) = found.rejects.rows()
    assert row["reason"] == "ratio_too_high"
    assert row["offset"] == found.counts.bytes == max(1 << 20, 200 * min(len(stored), 32 << 10))
    assert row["fault"] <= len(stored)
    harmless = FORMS[form](zeros[: 1 << 20])
    assert list(everything(scan_nslip(harmless, limits=LIMIT))[1]) == []


def bomb(form: str) -> bytes:
    """Zeros, as small as a form has them: blocks of bzip2 have 46 MB in some 40 bytes, those of zstd 128 KiB in 4."""
    if form == "zstd":
        block = (0x20000 << 3 | 2).to_bytes(3, "little") + b"\0"
        return b"\x28\xb5\x2f\xfd\0\x38" + block * 1000
    return FORMS[form](b"\0" * (140 << 20))


@pytest.mark.parametrize("form", ["gzip", "bzip2", "zstd"])
def test_a_bomb_takes_little_memory(form: str) -> None:
    stored, view = io.BytesIO(bomb(form)), bytearray(1 << 16)
    tracemalloc.start()
    try:
        found = Decompressed(form, SimpleNamespace(into=stored.readinto), LIMITS)
        while found.into(memoryview(view)):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.fault is not None and found.fault.reason is Reason.RATIO_TOO_HIGH
    assert peak < 80 << 20


@pytest.mark.parametrize("more", [-2, -1, 0, 1])
def test_a_window_of_zstandard_that_is_just_the_limit(more: int) -> None:
    """Made by hand: its size in two bytes, one block that is not compressed, too large to be given at once."""
    data = b"@a0|f0|c1|S1|d2|T0#\n" * 3000
    head = b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", len(data) - 256) + struct.pack("<I", 1 | len(data) << 3)[:3]
    front = zst(GOOD)
    found = scan_nslip(io.BytesIO(front + head + data), limits=LIMITS._replace(zstd_window=len(data) + more))
    assert sum(map(len, found)) == 1 + 3000 * (more >= 0)
    told = [(row["reason"], row["fault"]) for row in found.rejects.rows()]
    assert told == ([] if more >= 0 else [("window_too_large", len(front))])


# --- zip archives are read as folders of files; other binary files are refused ----------------------------------------


CSP = b"CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\n\n"
FILES = {
    "z/b.log": record(1) + record(2),
    "a.log.gz": gzip.compress(record(3)),
    "empty": b"",
    "z/c.log": b"@a3|f0 bad\n" + record(4) * 2_000 + record(5),
}
ROWS = [1, 2, 3, *[4] * 2_000, 5]
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("z/", b"")
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("method", METHODS)
def test_the_files_in_an_archive_are_read_in_its_order(method: int, tmp_path: Path) -> None:
    path = put(tmp_path / "any name", zipped(FILES, method))
    many: list[dict[str, Any]] = [{}, {"threads": 2}, {"borrow": True}, {"batch_bytes": 1000}, {"resume": {}}]
    for options in many:
        found = scan_nslip(path, **options)
        batches = list(found)
        assert numbers_of(batches) == ROWS, options
        assert list(dict.fromkeys(batch.file for batch in batches)) == [
            f"{path}/{name}" for name in FILES if name != "empty"
        ]
        assert [(row["file"], row["offset"], row["line"]) for row in found.rejects.rows()] == [
            (f"{path}/z/c.log", 0, 1)
        ]
        counts = found.counts
        assert counts.record_bytes + counts.reject_bytes + counts.text_bytes == counts.bytes
    for source in (
        path.read_bytes(),
        bytearray(path.read_bytes()),
        io.BytesIO(path.read_bytes()),
        Trickle(path.read_bytes(), 1),
        tmp_path,
    ):
        assert numbers_of(scan_nslip(source)) == ROWS, type(source)
    (block,) = plan(path, wire="nslip", block_bytes=1000)
    assert numbers_of(read_block(block)) == ROWS
    assert [data for _, data in contents(path)] == [*list(FILES.values())[:1], record(3), *list(FILES.values())[2:]]


def test_an_empty_archive_holds_nothing() -> None:
    assert numbers_of(scan_nslip(zipped({}))) == []


def test_an_archive_is_not_read_again_until_it_grows(tmp_path: Path) -> None:
    path = put(tmp_path / "a.zip", zipped({"a": record(1)}))
    (tmp_path / "b.log").write_bytes(record(2))
    found = scan_nslip(tmp_path, resume={})
    assert numbers_of(found) == [1, 2]
    append(tmp_path / "b.log", record(3))
    found = scan_nslip(tmp_path, resume=found.position)
    assert numbers_of(found) == [3]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b", record(4))
    assert numbers_of(scan_nslip(tmp_path, resume=found.position)) == [1, 4]


def test_one_that_is_followed_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"a": record(1)}))
    (tmp_path / "b.log").write_bytes(record(2))

    def write() -> None:
        (tmp_path / "c.zip").write_bytes(zipped({"a": record(3)}))
        append(tmp_path / "b.log", record(4))

    assert stepped(tmp_path, write) == ([[1, 2], [4]], [])


@pytest.mark.parametrize("method", METHODS)
def test_damage_is_a_reject_and_the_next_file_is_read(method: int) -> None:
    data = bytearray(zipped({"a": record(1) * 5000, "b": record(2)}, method))
    data[data.index(b"PK\3\4", 4) + 60] ^= 0x55
    found = scan_nslip(bytes(data))
    assert numbers_of(found)[-1:] == [2]
    assert [(row["wire"], row["reason"], row["file"]) for row in found.rejects.rows() if row["wire"] == "zip"] == [
        ("zip", "bad_compression", "a")
    ]


def test_too_much_out_of_too_little_ends_the_archive() -> None:
    data = zipped({name: record(1) * 10_000 for name in "abc"})
    found = scan_nslip(data, limits=LIMITS._replace(ratio=2, ratio_from=1000))
    assert 0 < len(numbers_of(found)) < 10_000
    assert found.rejects.counts["ratio_too_high"] == 1


def encrypted() -> bytes:
    data = bytearray(zipped({"a": record(1)}))
    for sign, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = data.rfind(sign)
        data[at + place] |= 1
    return bytes(data)


def database() -> bytes:
    with sqlite3.connect(":memory:") as base:
        base.execute("create table logs (line text)")
        base.execute("insert into logs values (?)", (record(1).decode(),))
        return base.serialize()


BINARY = {
    "encrypted": encrypted(),
    "an archive in an archive": zipped({"a.zip": zipped(FILES)}),
    "an archive that is cut off": zipped(FILES)[:-30],
    "docx": zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": record(1)}),
    "sqlite": database(),
    "pickle": pickle.dumps([record(1).decode()] * 3),
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "pdf": b"%PDF-1.7\n" + record(1),
    "parquet": b"PAR1\x15\x04" + record(1) + b"PAR1",
    "elf": b"\x7fELF\2\1\1" + bytes(9),
    "a picture in an archive": zipped({"a.png": b"\x89PNG\r\n\x1a\n"}),
}


@pytest.mark.parametrize("name", BINARY)
def test_other_binary_files_are_refused(name: str, tmp_path: Path) -> None:
    path = put(tmp_path / "some.log", BINARY[name])
    for source in (path, tmp_path, [record(7), path]):
        for options in ({}, {"borrow": True}, {"threads": 2}):
            with pytest.raises(OSError, match=r".") as caught:
                list(turnwire.scan(source, **options))  # type: ignore[arg-type]
            assert str(caught.value.filename).startswith(str(path))
    for arguments in (
        ["scan"],
        ["stats"],
        ["validate"],
        ["tokens"],
        ["report", "-o", tmp_path / "r.html"],
        ["conform", "csp"],
        ["conform", "nslip"],
    ):
        done = command(*arguments, path)
        assert (done.code, "some.log" in done.err) == (3, True), (arguments, done.err)
    with pytest.raises(OSError, match=r"."):
        list(turnwire.scan(Trickle(BINARY[name], 1)))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("options", [{}, {"borrow": True}, {"threads": 2}, {"resume": {}}])
def test_one_in_a_folder_is_refused_and_the_rest_is_read(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    for number, path in enumerate(("a.log", "z.log")):
        (tmp_path / path).write_bytes(record(number))
    (tmp_path / "b.log").write_bytes(BINARY[name])
    for source in (tmp_path, str(tmp_path / "*.log")):
        found = scan_nslip(source, **options)
        with pytest.warns(FileRefused, match=r"b\.log") as told:
            seen = numbers_of(found)
        assert seen == [0, 1]
        assert [refusal.filename for refusal in found.refused] == [warning.message.error.filename for warning in told]
        assert len(told) == 1
    with pytest.raises(OSError, match=r"b\.log"):
        list(scan_nslip(tmp_path, errors="raise"))
    with pytest.warns(FileRefused, match=r"b\.log"):
        held = list(contents(tmp_path))
    assert [data for _, data in held] == [record(0), record(1)]


def test_a_plan_refuses_what_a_scan_refuses(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(record(0))
    (tmp_path / "b.db").write_bytes(database())
    with pytest.warns(FileRefused, match=r"b\.db: is a SQLite database"):
        (block,) = plan(tmp_path, wire="nslip")
    assert numbers_of(read_block(block)) == [0]
    for source in (tmp_path / "b.db", str(tmp_path / "*.db")):
        with pytest.raises(OSError, match=r"is a SQLite database"):
            plan(source, wire="nslip")


def test_the_other_files_of_an_archive_in_a_folder_are_read(tmp_path: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n"
    (tmp_path / "a.zip").write_bytes(zipped({"a.log": record(0), "a.png": picture, "z.log": record(1)}))
    with pytest.warns(FileRefused, match=r"a\.zip/a\.png: is a PNG image"):
        seen = numbers_of(scan_nslip(tmp_path))
    assert seen == [0, 1]


def test_commands_tell_of_a_binary_file_in_a_folder_and_end_with_3(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(CSP)
    (tmp_path / "b.db").write_bytes(database())
    (tmp_path / "z.log").write_bytes(CSP + b"@a3|f0 bad\n")
    (tmp_path / "out").mkdir()
    for arguments in (
        ["scan"],
        ["scan", "-o", tmp_path / "out" / "rows.csv"],
        ["stats", "--json"],
        ["validate"],
        ["tokens"],
        ["report", "-o", tmp_path / "out" / "r.html"],
    ):
        done = command(*arguments, tmp_path / "*.*")
        assert (done.code, done.err.count("b.db: is a SQLite database")) == (3, 1), (arguments, done.err)
    assert command("stats", "--json", tmp_path / "*.*").records[0]["records"] == 2


@pytest.mark.parametrize(
    "head", [b"", b"\0" * 4096, b"PAR1 is here\n", b"PK\n", b"MZ\n", b"SQLite format 3 is read\n", b"\xff\xff\n"]
)
def test_what_is_no_binary_file_is_read(head: bytes, tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", head + b"\n" + record(1))
    for source in (path, io.BytesIO(path.read_bytes()), Trickle(path.read_bytes(), 1), bz2.compress(path.read_bytes())):
        assert numbers_of(scan_nslip(source)) == [1]
    path.write_bytes(head)
    assert numbers_of(scan_nslip(path)) == []
