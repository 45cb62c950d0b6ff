"""The Arrow C data interface: Polars, DuckDB and pyarrow read scans and batches, and memory comes back."""

from __future__ import annotations

import ctypes
import gc
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.conftest import PURE_ONLY, put
from tests.log.engines import GOOD
from tests.log.test_memory import numbered
from tests.log.test_scan import scan_nslip, table
from turnwire import backend as process_backend, nslip
from turnwire.log.output import arrow
from turnwire.nslip.spec import Slot

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")


def unreleased() -> int:
    """The number of structures that consumers have not released: one for each column, dictionary, batch, schema and
    stream."""
    return len(arrow._owners) + int(arrow._core.exported())


pytestmark = pytest.mark.usefixtures("scan_core")
native_only = pytest.mark.skipif(process_backend == "pure", reason="ctypes cannot keep an exception that is on its way")

TEXTS = [
    "",
    "short",
    "twelve bytes",
    "thirteen byte",
    "long " * 20,
    None,
    'an "escape"',
    'a long escape: "' + "x" * 40 + '" \\ ',
    "\\",
    '"' * 12,
    '"' * 13,
    "ünïcödé",
    "日本語" * 9,
    "😀",
    "\0",
]


def text_log() -> bytes:
    """Records whose TAG is each of TEXTS, and STATUS the same backwards."""
    return nslip.encode_many(
        nslip.SlipMessage(
            row,
            2,
            10 ** (row + 5) - row % 2,  # its text has up to 12 bytes, or more
            (1 << 64) - 1 - row,
            row % 11,
            row % 5,
            {slot: text for slot, text in ((Slot.TAG, one), (Slot.STATUS, other)) if text is not None},
        )
        for row, (one, other) in enumerate(zip(TEXTS, reversed(TEXTS), strict=True))
    )


@pytest.fixture(autouse=True)
def _nothing_leaks() -> Iterator[None]:
    gc.collect()  # what earlier tests left
    before = unreleased(), len(arrow._structs)
    yield
    for _ in range(400):  # the threads of a consumer may let go a moment later
        if (unreleased(), len(arrow._structs)) == before:
            break
        gc.collect()
        time.sleep(0.05)
    assert (unreleased(), len(arrow._structs)) == before


def expected(data: Any, **options: Any) -> dict[str, list[Any]]:
    """The columns of a scan as Arrow shows them: enums by name."""
    found = scan_nslip(data, **options)
    columns = table(found)
    for column in found.columns:
        if column.kind == "enum":
            columns[column.name] = [None if code is None else column.names[code] for code in columns[column.name]]
    return columns


def plain(rows: list[tuple[Any, ...]], names: list[str]) -> dict[str, list[Any]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def by_duckdb(scan: Any) -> dict[str, list[Any]]:
    with duckdb.connect() as connection:
        relation = connection.sql("select * from scan")
        return plain(relation.fetchall(), relation.columns)


READERS: dict[str, Callable[[Any], dict[str, list[Any]]]] = {
    "polars": lambda scan: pl.DataFrame(scan).to_dict(as_series=False),
    "duckdb": by_duckdb,
    "pyarrow": lambda scan: pa.table(scan).to_pydict(),
    "pyarrow batches": lambda scan: pa.RecordBatchReader.from_stream(scan).read_all().to_pydict(),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("batch_bytes", [8 << 20, 100])
def test_text_numbers_and_enums(reader: str, batch_bytes: int) -> None:
    for wrap in (bytes, io.BytesIO):
        data = text_log() + b"@a3|f0 bad\n" + GOOD
        assert READERS[reader](scan_nslip(wrap(data), batch_bytes=batch_bytes)) == expected(data)


@pytest.mark.parametrize("reader", READERS)
def test_several_files_one_dictionary_each(reader: str, tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}.log").write_bytes(GOOD * (number + 1))
    source = [tmp_path, GOOD * 3]
    assert READERS[reader](scan_nslip(source, batch_bytes=100)) == expected(source)
    assert READERS[reader](scan_nslip(source)) == expected(source)


@pytest.mark.parametrize("reader", READERS)
def test_an_unknown_frame_is_null(reader: str) -> None:
    data = GOOD + b"@a3|f9|c1|S0|d1|T1#"
    columns = READERS[reader](scan_nslip(data, unknown="keep"))
    assert (columns["frame"], columns["act"]) == (["TASK", None], ["REQUEST", "REQUEST"])


@pytest.mark.parametrize("reader", READERS)
def test_an_empty_scan_has_its_columns(reader: str) -> None:
    found = scan_nslip(b"no records")
    assert READERS[reader](found) == {column.name: [] for column in found.columns}


@pytest.mark.parametrize("reader", READERS)
def test_rejects(reader: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"@a3| \xff\0\n" + GOOD)
    for source in (b"", tmp_path, [tmp_path, b"@a3|q#", b"x"]):
        found = scan_nslip(source)
        assert sum(map(len, found)) == (source != b"")
        rows = found.rejects.rows()
        assert READERS[reader](found.rejects) == {name: [row[name] for row in rows] for name in found.rejects.names}


def test_the_types_of_columns() -> None:
    found = scan_nslip(GOOD)
    schema = pa.schema(found)
    assert schema == pa.table(found).schema == pa.schema(next(iter(scan_nslip(GOOD))))
    types = {field.name: (str(field.type), field.nullable) for field in schema}
    assert types["tag"] == types["status"] == ("string_view", True)
    assert types["src"] == ("uint64", False)
    assert types["goal_id"] == ("uint64", True)
    assert types["act"] == ("dictionary<values=string, indices=uint8, ordered=0>", False)
    assert types["offset"] == ("int64", False)
    pa.table(scan_nslip(text_log(), batch_bytes=100)).validate(full=True)
    pa.table(scan_nslip(b"@a3| \n").read().rejects).validate(full=True)


def test_what_was_exported_stays_when_all_else_is_gone(tmp_path: Path) -> None:
    """Memory is reused by the scan that goes on, and by others; nothing of it may show in what a reader holds."""
    path = put(tmp_path / "a.log", numbered(200))
    names = ["conv_id", "status", "tag", "file"]
    for borrow in (False, True):
        found = scan_nslip(path, batch_bytes=1500, columns=names, borrow=borrow)
        frames = [(pl.DataFrame(batch), pa.record_batch(batch)) for batch in found]
        del found
        gc.collect()
        for _ in scan_nslip(io.BytesIO(GOOD * 600), batch_bytes=1500):
            pass
        table = expected(path, columns=names)
        assert pl.concat([frame for frame, _ in frames]).to_dict(as_series=False) == table
        assert pa.Table.from_batches([batch for _, batch in frames]).to_pydict() == table
        part = frames[0][0]["tag"]
        del frames, _
        gc.collect()
        assert part[0] == "text number 0 of many"
        del part


class Interrupted:
    """Something of the module that is interrupted so many times when it is asked, and does its work then."""

    def __init__(self, whole: Any, times: int) -> None:
        self._whole, self._times = whole, times

    def __call__(self, *arguments: Any) -> Any:
        if self._times:
            self._times -= 1
            raise KeyboardInterrupt
        return self._whole(*arguments)

    def from_address(self, address: int) -> Any:
        if self._times:
            self._times -= 1
            raise KeyboardInterrupt
        return self._whole.from_address(address)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("place", ["ArrowSchema", "release"])
def test_a_signal_while_a_consumer_lets_go(monkeypatch: pytest.MonkeyPatch, place: str, times: int) -> None:
    """A consumer in C++ ends the process where a struct is not released then."""
    told = list[Any]()
    schema = arrow._batch_schema(arrow.ArrowSchema(), ())
    key = schema.private_data
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: told.append(dropped.exc_type))
    monkeypatch.setattr(arrow, place, Interrupted(getattr(arrow, place), times))
    schema.release(ctypes.pointer(schema))
    assert not schema.release
    assert set(told) == {KeyboardInterrupt}
    assert (key in arrow._owners) == (times == 2), "what was let go of is free, but where nothing could be done"
    arrow._owners.pop(key, None)


def test_capsules_that_nobody_takes() -> None:
    found = scan_nslip(GOOD)
    (batch,) = found
    before = unreleased(), len(arrow._structs)
    for make in (
        batch.__arrow_c_array__,
        batch.__arrow_c_schema__,
        batch.__arrow_c_stream__,
        found.__arrow_c_schema__,
        found.__arrow_c_stream__,
        found.rejects.__arrow_c_schema__,
        found.rejects.__arrow_c_array__,
        found.rejects.__arrow_c_stream__,
    ):
        capsules = make()
        assert len(arrow._structs) > before[1]
        del capsules
        assert (unreleased(), len(arrow._structs)) == before
    assert [len(one) for one in found] == [1]


def test_a_consumer_that_stops_half_way() -> None:
    found = scan_nslip(io.BytesIO(numbered(300)), batch_bytes=1000)
    reader = pa.RecordBatchReader.from_stream(found)
    first = reader.read_next_batch()
    reader.close()
    del reader
    gc.collect()
    with pytest.raises(ValueError, match="a file object can be read only once"):
        pa.RecordBatchReader.from_stream(found)
    assert first["status"].to_pylist() == [str(row) for row in range(len(first))]


def test_a_damaged_record_surfaces_as_an_error_where_asked() -> None:
    with pytest.raises(BaseException, match="unknown_prefix at byte 4, line 1"):  # as above
        pl.DataFrame(scan_nslip(b"@a3| \n", errors="raise"))


@native_only
@pytest.mark.parametrize(
    "make",
    [
        lambda: pl.DataFrame(scan_nslip(GOOD)),
        lambda: pa.table(scan_nslip(GOOD)),
        lambda: scan_nslip(GOOD).__arrow_c_stream__(),
        lambda: scan_nslip(GOOD).__arrow_c_schema__(),
        lambda: next(iter(scan_nslip(GOOD))).__arrow_c_array__(),
    ],
)
def test_an_exception_survives_what_is_released_under_it(make: Callable[[], Any]) -> None:
    """Objects on the stack are let go while the exception is on its way."""
    with pytest.raises(ZeroDivisionError):
        [make(), 1 // 0]


def test_releases_from_other_threads() -> None:
    (batch,) = scan_nslip(numbered(30))
    frames = [pl.DataFrame(batch) for _ in range(40)]

    def drop(_: int) -> None:
        with suppress(IndexError):  # another thread had the last one
            while True:
                frames.pop()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(drop, range(4)))
    assert not frames and batch["offset"].tolist() == next(iter(scan_nslip(numbered(30))))["offset"].tolist()


def run(program: str, backend: str) -> str:
    environment = {**os.environ, "TURNWIRE_PURE": "1" if backend == "pure" else "0"}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=600)
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    return ran.stdout


HOLDS = {
    "duckdb, polars": [
        "kept0 = scan.__arrow_c_schema__(), scan.__arrow_c_stream__(), [batch.__arrow_c_array__() for batch in scan]",
        "kept1 = polars.DataFrame(scan)",
        "assert kept1['tag'].to_list() == ['hello'] * 100",
        "kept2 = duckdb.connect(); kept2.execute('select * from scan').fetchone()",
        "assert duckdb.sql('select distinct act, tag from scan').fetchall() == [('REQUEST', 'hello')]",
        "sys.kept = polars.DataFrame(scan), scan.__arrow_c_schema__(), [batch.__arrow_c_array__() for batch in scan]",
    ],
    "duckdb, pyarrow": [
        "kept1 = pyarrow.table(scan)",
        "kept2 = [pyarrow.record_batch(batch) for batch in scan]",
        "kept3 = pyarrow.RecordBatchReader.from_stream(scan); kept3.read_next_batch()",
        "kept4 = duckdb.connect(); kept4.execute('select * from scan').fetchone()",
    ],
}
"""Modules that are imported, and what holds on to what they read."""


@pytest.mark.skipif(PURE_ONLY, reason="what ends wrongly is memory of C")
@pytest.mark.parametrize("readers", HOLDS)
def test_the_interpreter_ends_with_live_frames(readers: str, backend: str) -> None:
    """DuckDB and Polars need no pyarrow."""
    holds = "\n".join(HOLDS[readers])
    without = "" if "pyarrow" in readers else 'sys.modules["pyarrow"] = None'
    program = f"""
import sys
{without}
import {readers}, turnwire
scan = turnwire.scan({GOOD!r} * 100, wire="nslip", batch_bytes=500)
{holds}
print("fine")
"""
    assert run(program, backend) == "fine\n"


LINES = (
    b'@a3|f0|c1|S0|d1|T1|gH|t"he \\"said\\" what was long enough"#',
    b"@a3|f1|c1|S0|d1|T1#",
    b'{"log":"@a3|f0|c1|S0|d1|T1|t\\"in a string, and long enough\\"#"}',
    "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ dö it\n".encode(),
)


@pytest.mark.once
@pytest.mark.skipif(PURE_ONLY, reason="the memory of C")
def test_a_text_of_a_row_that_begins_before_the_buffer_is_empty() -> None:
    whole = memoryview(b"-" * 16 + b"text" * 8)
    rows = np.array([(0, offset, 4) for offset in (0, *range(-16, 0), 28, 29, 1 << 30)], np.int32)
    arrays = {"rows": rows.view("V12"), "present": np.ones(len(rows), np.uint16)}
    plan = (("rows", "rows", np.ones(16, np.int32), 0, 0),)
    core = import_module("turnwire._native.log.arrow")  # the twin takes the texts of each column alone
    rooms = lambda number, size: [np.zeros(size, np.uint8) for _ in range(number)]  # noqa: E731
    [(_, (_, views, *_), _)] = core.filled(
        plan, arrays, whole[16:], b"", len(rows), list, rooms, lambda size: np.zeros(size, np.uint8), list
    )
    assert np.frombuffer(views, np.int32)[::4].tolist() == [4, *[0] * 16, 4, 0, 0]


@pytest.mark.parametrize("wire", [None, "nslip", "csp"])
@pytest.mark.parametrize("rows", [[], slice(None, None, 2), slice(3, 3), [5, 1, 1], slice(None, None, -1)], ids=str)
def test_picked_rows_are_those_of_the_batch(wire: str | None, rows: Any) -> None:
    (batch,) = turnwire.scan(b"\n".join(LINES * 40) + b"\n", wire=wire)
    numbers = range(len(batch))[rows] if isinstance(rows, slice) else rows
    picked, whole = pa.record_batch(batch.picked(rows)), pa.record_batch(batch).to_pylist()
    picked.validate(full=True)
    assert picked.to_pylist() == [whole[number] for number in numbers]


def test_small_batches_of_many_files_are_joined(tmp_path: Path) -> None:
    """The same rows in the same order as those of the batches: texts with escapes, absent values, names of files."""
    for number in range(30):
        content = b"\n".join(LINES[place % 4] for place in range(number % 7)) + b"\n"
        (tmp_path / f"{number:03}.log").write_bytes(content if number % 25 else content * 20)
    for wire in (None, "nslip", "csp"):
        table = pa.table(turnwire.scan(tmp_path, wire=wire))
        parts = [pa.record_batch(batch) for batch in turnwire.scan(tmp_path, wire=wire)]
        plain = [part.to_pylist() for part in parts]
        assert table.to_pylist() == [row for rows in plain for row in rows]
        assert table.column("file").num_chunks < len(parts) / 10
