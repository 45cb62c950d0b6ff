"""Records in files: the same in every format, whole or not at all, safe for spreadsheets, parted by wire or day."""

from __future__ import annotations

import csv
import errno
import gc
import json
import os
import random
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, ipc, parquet

import turnwire
from tests.log.engines import GOOD, UPSTREAM
from tests.log.found import rows_of
from tests.log.test_every_wire import lines, log
from turnwire import WIRES
from turnwire.atomic import PREFIX, SUFFIX, AtomicFile
from turnwire.contract import Column, text_span
from turnwire.errors import NotFlushed
from turnwire.log import guarded, unguarded, write
from turnwire.log.engine.all_wires import finder
from turnwire.log.engine.columns import chosen
from turnwire.log.output import batch, outputs
from turnwire.log.output.json_lines import times
from turnwire.log.output.outputs import FORMATS, DirectoryOutput
from turnwire.nslip import base62

pytestmark = pytest.mark.once
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "'=x", "''@", "'plain", "plain", "", "a=b", 'über,\n"q"', "-"]
FORMULAS += ["\n=1", "＝1+1", "＋1", "－1", "＠SUM(A1)", "'＝x"]

FORMULAS += [
    *(" =1", "\u00a0=1", "\ufeff=1", "\u200b+1", "\x0b@x", "'\u2060=1", "﹦1", "\n\n=1", "\u202e-1"),
    *("\u061c=1", " plain", "\u200b"),
]


class Rows(NamedTuple):
    """Stands for a scan: its columns, and batches that come one after the other."""

    columns: tuple[Column, ...]
    batches: list[Any]

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return iter(self.batches)


def scanned(**options: Any) -> Any:
    return turnwire.scan(str(UPSTREAM), wire="nslip", batch_bytes=30_000, **options)


def read_back(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
    elif path.suffix == ".arrow":
        table = ipc.open_file(path).read_all()
    else:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return table.to_pylist()  # type: ignore[no-any-return]


def said(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON has it."""
    return {name: f"{one:%Y-%m-%dT%H:%M:%S.%fZ}" if isinstance(one, datetime) else one for name, one in row.items()}


@pytest.mark.parametrize("wire", WIRES)
def test_a_file_holds_every_value(tmp_path: Path, wire: str) -> None:
    found = turnwire.scan(
        b"\n".join(lines(wire)) + b"\n" + log(wire, random.Random(5), 300), wire=wire, batch_bytes=30_000
    )
    expected = pa.table(found).to_pylist()
    plain = rows_of(found)
    texts = [column.name for column in found.columns if column.kind in ("text", "f64", "i64", "u64")]
    assert [[row[name] for name in texts] for row in plain] == [[row[name] for name in texts] for row in expected]
    assert len(plain) > 5
    for ending in (".parquet", ".arrow", ".ndjson"):
        path = tmp_path / f"out{ending}"
        assert write(found, path) == [str(path)]
        assert read_back(path) == (list(map(said, expected)) if ending == ".ndjson" else expected)
    assert len(os.listdir(tmp_path)) == 3


def test_csv_holds_every_value_and_tells_nothing_from_empty(tmp_path: Path) -> None:
    record = b'@a3|f0|c1|S0|d1|T1|u""|t"%b"#'
    write(turnwire.scan(record % b'a,\\"b' + b"\n" + GOOD, wire="nslip"), tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text("utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    assert [row["tag"] for row in rows] == ['a,"b', "hello"]
    assert (rows[0]["act"], rows[0]["conv_id"], rows[0]["goal_id"]) == ("REQUEST", "1", "")
    assert ',"",' in lines[1] and ',"",' not in lines[2], "an empty text is quoted, an absent one is not"


# --- formulas -------------------------------------------------------------------------------------------------------


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    rows = Rows(
        (Column("text", "text"), Column("n", "i64")),
        [pa.record_batch({"text": FORMULAS, "n": range(-9, len(FORMULAS) - 9)})],
    )
    write(rows, tmp_path / "safe.csv")
    with open(tmp_path / "safe.csv", newline="") as file:
        read = [row["text"] for row in csv.DictReader(file)]
    assert read == [guarded(text) for text in FORMULAS]
    assert [unguarded(cell) for cell in read] == FORMULAS
    assert all(cell[:1] not in "=+-@\t\r\n＝＋－＠" for cell in read if cell)
    write(rows, tmp_path / "as_is.csv", formulas="keep")
    with open(tmp_path / "as_is.csv", newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == FORMULAS
    with pytest.raises(ValueError, match="guard or keep"):
        write(rows, tmp_path / "no.csv", formulas="maybe")


# --- partitions -----------------------------------------------------------------------------------------------------

SEARCHED = finder(None).scanner
MIXED = chosen(SEARCHED, ["wire", "time", "subject"])


def mixed(count: int = 90) -> Rows:
    """Batches with the columns that records can be parted by."""
    batches = []
    for start in range(0, count, 30):
        numbers = range(start, start + 30)
        subjects = [b"s%d" % number for number in numbers]
        lengths = np.array(list(map(len, subjects)))
        time, subject = (1 << SEARCHED.bits[name] for name in ("time", "subject"))
        noon = [datetime(2026, 11, 1 + number // 40, 23, 59, tzinfo=UTC) for number in numbers]
        arrays = {
            "wire": np.array([number % 3 for number in numbers], np.uint8),
            "time": np.array([int(one.timestamp()) * 1_000_000 for one in noon]),
            "subject": text_span(np.cumsum(lengths) - lengths, lengths),
            "present": np.array([subject | (time if number % 5 else 0) for number in numbers], np.uint64),
        }
        rows = batch.Rows(memoryview(b"".join(subjects)), arrays, 30, None, 0, start, False)
        batches.append(batch.Batch(SEARCHED, MIXED, rows))
    return Rows(MIXED, batches)


def test_one_folder_for_each_wire(tmp_path: Path) -> None:
    paths = write(mixed(), tmp_path / "out", partition_by="wire")
    assert paths == [str(tmp_path / f"out/wire={wire}/part-0.parquet") for wire in sorted(WIRES[:3])]
    assert [field.name for field in parquet.ParquetFile(paths[0]).schema_arrow] == ["time", "subject"]
    rows = dataset.dataset(tmp_path / "out", partitioning="hive").to_table().to_pylist()
    assert {(row["wire"], row["subject"]) for row in rows} == {(WIRES[n % 3], f"s{n}") for n in range(90)}


@pytest.mark.parametrize("format", ["ndjson", "csv", "arrow"])
def test_one_folder_for_each_day(tmp_path: Path, format: str) -> None:
    paths = write(mixed(), tmp_path / "out", partition_by="day", format=format)
    days = ["2026-11-01", "2026-11-02", "2026-11-03", "__HIVE_DEFAULT_PARTITION__"]
    assert [Path(path).parts[-2:] for path in paths] == [(f"day={day}", f"part-0{FORMATS[format]}") for day in days]
    if format == "ndjson":
        rows = [json.loads(line) for line in Path(paths[1]).read_text().splitlines()]
        assert rows[0] == {"wire": "csp", "time": "2026-11-02T23:59:00.000000Z", "subject": "s40"} | {
            "wire": WIRES[41 % 3],
            "subject": "s41",
        }
        assert len(rows) == 32


def test_many_days_keep_few_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwire.log.output.outputs.MOST_OPEN", 2)
    paths = write(mixed(), tmp_path / "out", partition_by="wire", format="ndjson")
    assert len(paths) == 9, "that which waited for the longest time is ended, so each goes on three times"
    found = sorted(json.loads(line)["subject"] for path in paths for line in Path(path).read_text().splitlines())
    assert found == sorted(f"s{number}" for number in range(90))


def test_records_are_parted_by_a_column_that_they_have(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="wire or day"):
        write(mixed(), tmp_path / "other", partition_by="hour")
    with pytest.raises(ValueError, match="needs the column 'time'"):
        write(Rows(MIXED[:1], []), tmp_path / "other", partition_by="day")


# --- whole or not at all --------------------------------------------------------------------------------------------


class Failing(Rows):
    """Batches, then an error."""

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        *batches, error = self.batches
        yield from batches
        raise error


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The errors that nobody could catch, as those of what pyarrow still writes when it is forgotten."""
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: told.append(one.exc_value))
    return told


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "broken disk"), MemoryError()], ids=repr)
@pytest.mark.parametrize("name", ["out.parquet", "out.arrow", "out.csv", "out.ndjson", "out"])
def test_nothing_is_left_behind(tmp_path: Path, name: str, error: BaseException, dropped: list[Any]) -> None:
    part = None if "." in name else "wire"
    batches = [] if name == "out.ndjson" else mixed().batches  # JSON lines take batches of a scan only
    if part is None:
        (tmp_path / name).write_bytes(b"what was there before")
    with pytest.raises(type(error)):
        write(Failing(MIXED, [*batches, error]), tmp_path / name, partition_by=part)
    assert os.listdir(tmp_path) == ([] if part else [name])
    if part is None:
        assert (tmp_path / name).read_bytes() == b"what was there before"
    error.__traceback__ = None
    gc.collect()
    assert dropped == []


@pytest.mark.skipif(os.name != "posix", reason="directories are flushed on POSIX systems")
@pytest.mark.parametrize("name", ["out.csv", "out"])
def test_a_directory_that_is_not_flushed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unflushed: Callable[..., None], name: str
) -> None:
    """Once the output has its name nobody is told that there is none."""
    unflushed(folder=tmp_path)
    with pytest.raises(NotFlushed, match="the file was written, but") as caught:
        write(scanned(), tmp_path / name, partition_by=None if "." in name else "wire")
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(tmp_path / name))
    monkeypatch.undo()
    assert os.listdir(tmp_path) == [name]
    write(scanned(), tmp_path / "again.csv")
    written = tmp_path / name
    if written.is_dir():
        assert len(list(written.rglob("*.parquet"))) == 1
    else:
        assert written.read_bytes() == (tmp_path / "again.csv").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk_is_named(format: str) -> None:
    with pytest.raises(OSError, match="No space left") as caught:
        write(scanned(), "/dev/full", format=format)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode), "a device is written to, never replaced"


def test_links_are_followed_and_permissions_kept(tmp_path: Path) -> None:
    real = tmp_path / "real.ndjson"
    real.write_bytes(b"old")
    real.chmod(0o640)
    (tmp_path / "link.ndjson").symlink_to(real)
    write(scanned(columns=["act"]), tmp_path / "link.ndjson")
    assert (tmp_path / "link.ndjson").is_symlink()
    assert len(real.read_bytes().splitlines()) == 4356
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    for path, kind in ((tmp_path, IsADirectoryError), (tmp_path / "no" / "out.csv", FileNotFoundError)):
        with pytest.raises(kind) as caught, AtomicFile(path):
            pass
        assert caught.value.filename == str(path)
        assert str(caught.value).endswith(f": {str(path)!r}")
    assert os.listdir(tmp_path) == []


def test_formats_are_named_or_seen(tmp_path: Path) -> None:
    write(scanned(), tmp_path / "plain", format="csv")
    with pytest.raises(ValueError, match="does not determine"):
        write(scanned(), tmp_path / "other")
    with pytest.raises(ValueError, match="formats are parquet"):
        write(scanned(), tmp_path / "other", format="xlsx")
    assert os.listdir(tmp_path) == ["plain"]


SIGNS = ("EQUALS SIGN", "PLUS SIGN", "HYPHEN-MINUS", "COMMERCIAL AT")
SPACES = [sign for sign in map(chr, range(0x3001)) if sign.isspace() and sign not in "\x1c\x1d\x1e\x1f"]
HIDDEN = [
    unicodedata.lookup(name) for name in ("ZERO WIDTH SPACE", "LEFT-TO-RIGHT OVERRIDE", "WORD JOINER", "SOFT HYPHEN")
]


@pytest.mark.parametrize("size", ["", "FULLWIDTH ", "SMALL "])
@pytest.mark.parametrize("name", SIGNS)
def test_each_sign_of_a_formula_is_guarded(name: str, size: str) -> None:
    """Also behind each white space of Unicode, and behind what nobody sees."""
    sign = unicodedata.lookup(size + name)
    for before in ("", *SPACES, *HIDDEN, " \u00a0", "'", "''", "' "):
        text = f"{before}{sign}1"
        assert guarded(text) == f"'{text}", repr(text)
        assert unguarded(guarded(text)) == text
    for text in (f"1{sign}1", f"a {sign}1", f"\u00b7{sign}"):
        assert guarded(text) == text


def test_a_folder_of_parts_is_one_process_alone_and_swept(tmp_path: Path) -> None:
    """Leftovers of the dead go, and nothing of ours stays open behind a refusal."""
    out, opened = tmp_path / "out.ndjson", Path("/proc/self/fd")
    with DirectoryOutput(out):
        before = len(list(opened.iterdir())) if opened.exists() else 0
        with pytest.raises(BlockingIOError), DirectoryOutput(out):
            pass
        assert before in (0, len(list(opened.iterdir())))
    (out / "other").touch()
    with pytest.raises(FileExistsError), DirectoryOutput(out):
        pass
    (out / "other").rename(out / f"{PREFIX}1{SUFFIX}")
    with DirectoryOutput(out):
        assert list(out.iterdir()) == []


def test_a_part_is_as_old_as_its_first_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where it is ended, that says how far it is."""
    monkeypatch.setattr(outputs.time, "monotonic", lambda: 1e6)
    found = turnwire.scan(b"@a3|f0|c1|S0|d1|T1#\n")
    with DirectoryOutput(tmp_path / "out.ndjson") as output:
        output.begin(found.columns)
        for batch in found:
            output.take(batch)
            assert (output.position, output.due) == (None, False)
        output.commit({"record": 1})
        assert output.position == {"record": 1}
    assert [Path(path).name for path in output.paths] == ["part-00001.ndjson"]


@pytest.mark.parametrize("last", [9, 10, 99_999, 100_000])
def test_the_next_part_has_the_highest_number(last: int, tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    out.mkdir()
    for number in (1, last - 1, last):
        (out / f"part-{number:05}.ndjson").write_text("")
    found = turnwire.scan(b"@a3|f0|c1|S0|d1|T1#\n")
    with DirectoryOutput(out) as output:
        output.begin(found.columns)
        for batch in found:
            output.take(batch)
        output.commit({"record": 1})
    assert [Path(path).name for path in output.paths] == [f"part-{last + 1:05}.ndjson"]


def test_times_around_1970() -> None:
    """Microseconds since then; the first moment is one as any other."""
    moments = (-1, 0, 1, None, 999_999, 1_000_000, 253_402_300_799_999_999)
    assert times(moments) == [
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:00.000001Z",
        None,
        "1970-01-01T00:00:00.999999Z",
        "1970-01-01T00:00:01.000000Z",
        "9999-12-31T23:59:59.999999Z",
    ]


def test_a_record_of_the_first_moment_has_its_time(tmp_path: Path) -> None:
    data = b"1970-01-01T00:00:00Z @a3|f0|c1|S0|d1|T1#\n@a3|f0|c1|S0|d1|T1#\n"
    for partition in (None, "day"):
        place = tmp_path / f"out-{partition}.ndjson"
        paths = write(turnwire.scan(data), place, partition_by=partition, format="ndjson")
        rows = [json.loads(line) for path in paths for line in Path(path).read_bytes().splitlines()]
        assert {row["time"] for row in rows} == {"1970-01-01T00:00:00.000000Z", None}


@pytest.mark.parametrize("turn", [0, (1 << 63) - 2, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_a_sequence_is_a_signed_number_where_it_fits(turn: int) -> None:
    data = b"@a3|f0|c1|S0|d1|T%s#\n" % base62.encode(turn).encode()
    for beside in (b"", b"@a3|f0|c1|S0|d1|T5#\n"):
        for wire in ("nslip", None):
            found = turnwire.scan(data + beside, wire=wire, columns=["sequence"])
            wanted = [turn if turn < 1 << 63 else None, *([5] if beside else [])]
            assert pa.table(found)["sequence"].to_pylist() == wanted
