"""Zip archives are read as folders of files; other binary files are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import pickle
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as command
from tests.log.rotating import append, numbers_of, record, stepped
from tests.log.test_scan import scan_nslip
from tests.log.test_sources import Trickle
from turnwire import LIMITS
from turnwire.errors import FileRefused
from turnwire.log import plan, read_block
from turnwire.read.contents import contents

pytestmark = pytest.mark.once
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
    path = tmp_path / "any name"
    path.write_bytes(zipped(FILES, method))
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
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"a": record(1)}))
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
    path = tmp_path / "some.log"
    path.write_bytes(BINARY[name])
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
    path = tmp_path / "a.log"
    path.write_bytes(head + b"\n" + record(1))
    for source in (path, io.BytesIO(path.read_bytes()), Trickle(path.read_bytes(), 1), bz2.compress(path.read_bytes())):
        assert numbers_of(scan_nslip(source)) == [1]
    path.write_bytes(head)
    assert numbers_of(scan_nslip(path)) == []
