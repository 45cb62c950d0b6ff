"""``Scan.position`` and ``resume=``: nothing twice, nothing lost without a word; also in folders."""

from __future__ import annotations

import gzip
import io
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.conftest import put
from tests.log.engines import GOOD
from tests.log.rotating import append, numbers_of, packed, record
from tests.log.test_scan import everything, scan_nslip, table
from turnwire import DecodeError, Reason
from turnwire.log.input import rotation

pytestmark = pytest.mark.once
both_cores = pytest.mark.usefixtures("scan_core")


def test_a_scan_goes_on_where_another_stopped(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", b"".join(map(record, range(5))))
    first = scan_nslip(path)
    assert numbers_of(first) == [0, 1, 2, 3, 4]
    token = json.loads(json.dumps(first.position))
    assert numbers_of(scan_nslip(path, resume=token)) == []
    with path.open("ab") as file:
        file.write(record(5) + record(6))
    for resume in (token, json.dumps(token)):
        for options in ({}, {"borrow": True}, {"threads": 2}):
            found = scan_nslip(path, resume=resume, **options)  # type: ignore[arg-type]
            rows, _, counts = everything(found)
            assert (rows["conv_id"], rows["record"], rows["line"]) == ([5, 6], [5, 6], [6, 7])
            assert rows["offset"] == [5 * len(record(0)), 6 * len(record(0))]
            assert counts.bytes == 2 * len(record(0))
            assert numbers_of(scan_nslip(path, resume=found.position)) == []


def test_of_many_files_each_goes_on(tmp_path: Path) -> None:
    """Also those whose bookmarks were made while the scan went on, in any state: whole, empty, cut off, compressed."""
    ends = b"", record(1)[:7], b"text", b"\n"
    for number in range(40):
        packed = number % 10 == 9
        data = record(0) + ends[number % 4]
        (tmp_path / f"{number:03}.log").write_bytes(gzip.compress(data) if packed else data)
    found = scan_nslip(tmp_path, resume={})
    few, many = iter(found), 0
    for many, _ in enumerate(few, 1):
        if many == 30:
            token = json.loads(json.dumps(found.position))  # in the middle
    assert many == 40
    whole = json.loads(json.dumps(found.position))
    assert [Path(mark["name"]).name for mark in whole["files"]] == [f"{number:03}.log" for number in range(40)]
    assert numbers_of(scan_nslip(tmp_path, resume=token)) == [0] * 10
    for number in range(40):
        with (tmp_path / f"{number:03}.log").open("ab") as file:
            more = record(1)[7:] if number % 4 == 1 and number % 10 != 9 else b"\n" + record(1)
            file.write(gzip.compress(more) if number % 10 == 9 else more)
    later = scan_nslip(tmp_path, resume=whole)
    assert numbers_of(later) == [1] * 40
    assert numbers_of(scan_nslip(tmp_path, resume=later.position)) == []


def test_a_compressed_file_is_read_over_up_to_the_position(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log.gz", gzip.compress(b"".join(map(record, range(9)))))
    first = scan_nslip(path, batch_bytes=3 * len(record(0)), resume={})
    assert next(iter(first))["conv_id"].tolist() == [0, 1, 2]
    second = scan_nslip(path, resume=first.position)
    assert numbers_of(second) == [3, 4, 5, 6, 7, 8]
    with path.open("ab") as file:
        file.write(gzip.compress(record(9)))
    assert numbers_of(scan_nslip(path, resume=second.position)) == [9]


@both_cores
def test_a_half_written_record_waits(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    whole = record(0) + record(1) + record(2)
    for size in range(len(record(0)), len(whole), 2):
        path.write_bytes(whole[:size])
        for resume in ({}, None):
            first = scan_nslip(path, resume=resume)
            before = numbers_of(first)
            if resume is not None:
                assert len(first.rejects) == 0, "it may still become a record"
                assert first.counts.bytes == first.position["files"][0]["offset"]
            with path.open("ab") as file:
                file.write(whole[size:])
            assert before + numbers_of(scan_nslip(path, resume=first.position)) == [0, 1, 2]
            path.write_bytes(whole[:size])


def lost(path: Any, token: Any) -> Reason:
    """Why a scan that goes on has a gap; one that raises errors raises it."""
    with pytest.raises(DecodeError) as caught:
        list(scan_nslip(path, resume=token, errors="raise"))
    assert str(path) in str(caught.value)
    found = scan_nslip(path, resume=token)
    there = table(scan_nslip(path, resume={}))
    assert table(found) == {**there, "record": [token["record"] + number for number in there["record"]]}
    (gap,) = found.gaps
    assert (gap.file, gap.stop, gap.why) == (str(path), None, caught.value.reason)
    assert found.counts.gaps == 1
    return gap.why


@pytest.mark.parametrize("packed", [False, True])
def test_other_files_are_told_as_gaps(packed: bool, tmp_path: Path) -> None:
    def write(path: Path, data: bytes) -> None:
        path.write_bytes(gzip.compress(data, mtime=0) if packed else data)

    path = tmp_path / "a.log"
    data = b"".join(map(record, range(100)))
    write(path, data)
    first = scan_nslip(path)
    list(first)
    token = first.position
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1)
    assert lost(path, token) is Reason.FILE_SHRUNK
    write(path, data.replace(b"c0|", b"c1|"))
    assert lost(path, token) in (Reason.FILE_REPLACED, Reason.FILE_SHRUNK)
    with path.open("ab") as file:
        file.write(b"\0" * 100)
    assert lost(path, token) is Reason.FILE_REPLACED
    write(tmp_path / "new", data)
    os.replace(tmp_path / "new", path)
    assert lost(path, token) is Reason.FILE_GONE


@pytest.mark.parametrize("once_more", [False, True])
def test_a_file_that_was_cut_and_has_grown_behind_the_same_beginning_is_told(tmp_path: Path, once_more: bool) -> None:
    path = tmp_path / "a.log"
    banner = b"# the same banner of every day\n" * 60
    path.write_bytes(banner + b"".join(map(record, range(20))))
    first = scan_nslip(path, resume={})
    list(first)
    token = first.position
    if once_more:  # nothing new: the position stays as good as it was
        again = scan_nslip(path, resume=token)
        list(again)
        token = again.position
    with path.open("ab") as file:
        file.write(record(20))
    assert len(numbers_of(scan_nslip(path, resume=token))) == 1
    with path.open("r+b") as file:
        file.truncate()
        file.write(banner + b"".join(map(record, range(100, 150))))
    assert lost(path, token) is Reason.FILE_REPLACED


def test_what_is_no_file_has_no_position() -> None:
    for source in (GOOD, io.BytesIO(GOOD)):
        found = scan_nslip(source, resume={})
        assert sum(map(len, found)) == 1
        assert found.position == {"turnwire": 1, "record": 1, "files": []}


@both_cores
@pytest.mark.parametrize("wire", ["nslip", None])
@pytest.mark.parametrize("batch_bytes", [26, 25, 13, 1 << 20])
def test_a_block_that_ends_with_half_a_line_waits(wire: str | None, batch_bytes: int, tmp_path: Path) -> None:
    """A last line that fills its block to the byte, and goes on later."""
    path = put(tmp_path / "one.log", b"@a4|f1|c1|S1|d0|T2|gH|ppp1")
    first = turnwire.scan(path, wire=wire, resume={}, batch_bytes=batch_bytes)
    assert (sum(map(len, first)), len(first.rejects)) == (0, 0)
    with path.open("ab") as file:
        file.write(b'|t"plan_v1"#\n')
    then = turnwire.scan(path, wire=wire, resume=first.position, batch_bytes=batch_bytes)
    assert (sum(map(len, then)), len(then.rejects)) == (1, 0)


def went_on(source: Any, position: Any) -> tuple[list[int], list[tuple[str, str]], Any]:
    """The numbers of the records, the gaps (name, why) and the position."""
    found = scan_nslip(source, resume=position)
    numbers = numbers_of(found)
    gaps = [(os.path.basename(gap.file), str(gap.why)) for gap in found.gaps]
    return numbers, gaps, json.loads(json.dumps(found.position))


def with_inode(position: Any, name: str, other: Path) -> Any:
    """The position, as it is where the file that was read is gone and another one has its inode."""
    (mark,) = [mark for mark in position["files"] if mark["name"].endswith(name)]
    mark["inode"] = other.stat().st_ino
    return position


@pytest.mark.parametrize("names", [("app-1.log", "app.log"), ("b/app.log.1", "b/app.log", "a.log")])
def test_a_log_is_read_before_the_files_that_had_its_name(names: tuple[str, ...], tmp_path: Path) -> None:
    """Whatever the order of their names: what is in a copy behind what was read is read, and nothing else."""
    paths = [tmp_path / name for name in names]
    paths[0].parent.mkdir(exist_ok=True)
    for number, path in enumerate(paths[1:]):
        path.write_bytes(record(10 * number))
    seen, gaps, position = went_on(paths[1:], {})
    assert (seen, gaps) == ([10 * number for number in range(len(paths) - 1)], [])
    for path in paths[2:]:
        append(path, record(11))
    paths[0].write_bytes(record(0) + record(1))
    paths[1].write_bytes(record(2))
    for source in (paths, sorted(paths), paths[::-1]):
        seen, gaps, _ = went_on(source, position)
        assert sorted(seen) == [1, 2, 11][: len(paths)] and gaps == [(paths[1].name, "file_replaced")]
    seen, gaps, _ = went_on(tmp_path, position)
    assert sorted(seen) == [1, 2, 11][: len(paths)] and gaps == [(paths[1].name, "file_replaced")]


def test_what_is_compressed_is_known_where_a_file_of_the_folder_has_its_inode(tmp_path: Path) -> None:
    path, old, other = (tmp_path / name for name in ("app.log", "app.log.1", "other.log"))
    for number, file in enumerate((path, old, other)):
        file.write_bytes(record(number))
    assert went_on([path, old], {})[0] == [1, 0]
    position = went_on([path, old], {})[2]
    packed(tmp_path / "app.log.1.gz", old.read_bytes())
    old.unlink()
    assert went_on(tmp_path, with_inode(position, ".1", other))[:2] == ([2], [])


@pytest.mark.parametrize("folder", [True, False])
@pytest.mark.parametrize("compressed", [True, False])
def test_what_was_written_to_an_old_file_is_no_cut(compressed: bool, folder: bool, tmp_path: Path) -> None:
    """Of the log nothing was read, so that its bytes do not show whether it was cut."""
    path, old = tmp_path / "app.log", tmp_path / "app.log.1"
    source = tmp_path if folder else path
    path.write_bytes(record(0))
    position = went_on(source, {})[2]
    path.rename(old)
    path.write_bytes(b"")
    seen, gaps, position = went_on(source, position)
    assert (seen, gaps) == ([], [])
    append(old, record(1))
    if compressed:
        packed(tmp_path / "app.log.1.gz", old.read_bytes())
        old.unlink()
    append(path, record(2))
    seen, gaps, _ = went_on(source, position)
    assert (sorted(seen), gaps) == ([1, 2], [])


@pytest.mark.parametrize("bytes_less", [0, 1, 30])
def test_what_is_just_being_compressed_in_a_folder_is_not_read(bytes_less: int, tmp_path: Path) -> None:
    path, old, made = (tmp_path / name for name in ("app.log", "app.log.1", "app.log.1.gz"))
    path.write_bytes(record(0))
    old.write_bytes(record(1))
    seen, _, position = went_on(tmp_path, {})
    assert seen == [1, 0]
    whole = gzip.compress(old.read_bytes())
    made.write_bytes(whole[: len(whole) - bytes_less])
    (tmp_path / "a.log").write_bytes(record(2))
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(record(3)))
    seen, gaps, position = went_on(tmp_path, position)
    assert (seen, gaps) == ([2, 3], [])
    made.write_bytes(whole)
    old.unlink()
    assert went_on(tmp_path, position)[:2] == ([], [])


@pytest.mark.parametrize("position", [None, {}])
def test_a_log_that_is_renamed_behind_its_end_comes_once(position: Any, tmp_path: Path) -> None:
    """To the next name of the folder that is read."""
    path, old = tmp_path / "a.log", tmp_path / "b.log"
    path.write_bytes(record(0))
    old.write_bytes(record(1))
    batches = iter(scan_nslip(tmp_path, resume=position, threads=1))
    assert next(batches)["conv_id"].tolist() == [0]
    path.rename(old)
    assert numbers_of(batches) == []


def test_logs_that_are_new_in_a_folder_are_read_oldest_first_beside_known_ones(tmp_path: Path) -> None:
    log, new = tmp_path / "app.log", tmp_path / "new.log"
    log.write_bytes(record(0))
    token = went_on(tmp_path, {})[-1]
    log.rename(tmp_path / "app.log.1")
    append(tmp_path / "app.log.1", record(1))
    log.write_bytes(record(2))
    for number, path in ((5, new), (4, tmp_path / "new.log.1"), (3, tmp_path / "new.log.2")):
        path.write_bytes(record(number))
    rows, gaps, token = went_on(tmp_path, token)
    assert (rows, gaps) == ([1, 2, 3, 4, 5], [])
    assert went_on(tmp_path, token)[:2] == ([], [])


@pytest.mark.parametrize("name", ["app.log", "app-{}.log"])
def test_a_position_forgets_files_that_were_removed_long_ago(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one name, and of a name each; those that are there are known however many they are."""
    (tmp_path / "other").mkdir()
    for number in range(10):
        (tmp_path / "other" / f"{number}.log").write_bytes(record(0))
    position, seen, last = went_on(tmp_path, {})[2], list[int](), None
    monkeypatch.setattr(rotation, "REMOVED", 4)
    monkeypatch.setattr(rotation, "GONE", 3)
    for number in range(12):
        path = tmp_path / name.format(number)
        (tmp_path / "new").write_bytes(record(number))  # beside the last one: it has an inode of its own
        if last is not None:
            last.unlink()
        (tmp_path / "new").rename(last := path)
        numbers, _, position = went_on(tmp_path, position)
        seen += numbers
    assert seen == list(range(12))
    assert 10 < len(position["files"]) <= 10 + 1 + rotation.REMOVED


@pytest.mark.parametrize("source", ["folder", "glob", "list"])
@pytest.mark.parametrize("kind", ["rename", "compress", "delete"])
def test_a_log_that_is_rotated_before_its_turn_is_read_or_told(kind: str, source: str, tmp_path: Path) -> None:
    """Without a position, too: the file that had the name when the files were listed is read in front of the new one,
    or there is a gap."""
    path = tmp_path / "app.log"
    for number, name in enumerate(("app.log.2", "app.log.1", "app.log")):
        (tmp_path / name).write_bytes(record(number))
        os.utime(tmp_path / name, (number + 1, number + 1))
    names = [str(tmp_path / name) for name in ("app.log.2", "app.log.1", "app.log")]
    found = scan_nslip({"folder": tmp_path, "glob": str(tmp_path / "app*"), "list": names}[source])
    batches = iter(found)
    seen = [*next(batches)["conv_id"].tolist(), *next(batches)["conv_id"].tolist()]
    for number in (2, 1):
        (tmp_path / f"app.log.{number}").rename(tmp_path / f"app.log.{number + 1}")
    path.rename(tmp_path / "app.log.1")
    if kind == "compress":
        packed(tmp_path / "app.log.1.gz", record(2), 5)
    if kind != "rename":
        (tmp_path / "app.log.1").unlink()
    time.sleep(0.02)  # the clock of files is coarse
    path.write_bytes(record(3))
    seen += numbers_of(batches)
    assert seen == ([0, 1, 3] if kind == "delete" else [0, 1, 2, 3])
    assert [str(gap.why) for gap in found.gaps] == ([] if kind == "rename" else ["file_gone"])
