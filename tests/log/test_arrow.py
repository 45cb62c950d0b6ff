"""The Arrow C data interface: Polars, DuckDB and pyarrow read scans and batches, and memory comes back."""

from __future__ import annotations

import ctypes
import gc
import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.log.engines import GOOD, UPSTREAM
from tests.log.test_memory import numbered
from tests.log.test_scan import scan_nslip, table
from turnwire import backend as process_backend
from turnwire import nslip
from turnwire.log.output import arrow, joining
from turnwire.nslip.spec import Slot

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.usefixtures("scan_core")
REAL = b"".join(UPSTREAM.read_bytes().splitlines(keepends=True)[:1500])
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
            3,
            4,
            row % 11,
            row % 5,
            {slot: text for slot, text in ((Slot.TAG, one), (Slot.STATUS, other)) if text is not None},
        )
        for row, (one, other) in enumerate(zip(TEXTS, reversed(TEXTS), strict=True))
    )


@pytest.fixture(autouse=True)
def _nothing_leaks() -> Iterator[None]:
    before = arrow.held(), len(arrow._structs)
    yield
    for _ in range(400):  # the threads of a consumer may let go a moment later
        if (arrow.held(), len(arrow._structs)) == before:
            break
        gc.collect()
        time.sleep(0.05)
    assert (arrow.held(), len(arrow._structs)) == before


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


@cache
def upstream(core: str) -> dict[str, list[Any]]:
    """What a scan of real lines gives; by the core in use, which has that name."""
    return expected(REAL)


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
def test_the_upstream_lines(reader: str, scan_core: str) -> None:
    assert READERS[reader](scan_nslip(REAL, batch_bytes=30_000)) == upstream(scan_core)


@pytest.mark.parametrize("reader", READERS)
def test_one_batch(reader: str) -> None:
    (batch,) = scan_nslip(text_log())
    for _ in range(2):
        assert READERS[reader](batch) == expected(text_log())


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
def test_some_columns(reader: str) -> None:
    found = READERS[reader](scan_nslip(text_log(), columns=["tag", "conv_id"]))
    assert found == {"tag": TEXTS, "conv_id": list(range(len(TEXTS)))}


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
    pa.table(scan_nslip(b"@a3| \n").rejects).validate(full=True)


def test_pandas(scan_core: str) -> None:
    pandas = pytest.importorskip("pandas", "3.0")  # the first that reads Arrow streams
    columns = ["tag", "conv_id", "act", "goal_id"]
    found = scan_nslip(REAL, columns=columns)
    for wrong in (pandas.DataFrame, np.asarray):  # one object for each batch would be a frame of shape (1, 1)
        with pytest.raises(TypeError, match=r"a scan is a table.* pandas.DataFrame.from_arrow\(scan\)"):
            wrong(found)
    frame = pandas.DataFrame.from_arrow(found)
    for name in columns:
        assert [None if pandas.isna(value) else value for value in frame[name]] == upstream(scan_core)[name]


def test_duckdb_gives_times_to_python() -> None:
    stamped = scan_nslip(b"2026-11-22T07:00:00.5Z " + GOOD, columns=["time"])  # noqa: F841
    [(time,)] = duckdb.sql("select time from stamped").fetchall()
    assert time.timestamp() == 1795330800.5


def test_sql_over_a_variable(scan_core: str) -> None:
    logged = scan_nslip(REAL)  # noqa: F841  (DuckDB looks it up)
    rows = duckdb.sql("select act, count(*) from logged where turn > 0 group by act order by act").fetchall()
    columns = upstream(scan_core)
    acts = [act for act, turn in zip(columns["act"], columns["turn"], strict=True) if turn]
    assert sorted(rows) == sorted((act, acts.count(act)) for act in set(acts))


def test_what_was_exported_stays_when_all_else_is_gone(tmp_path: Path) -> None:
    """Memory is reused by the scan that goes on, and by others; nothing of it may show in what a reader holds."""
    path = tmp_path / "a.log"
    path.write_bytes(numbered(200))
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


def test_hundreds_of_exports_leave_nothing() -> None:
    (batch,) = scan_nslip(text_log(), columns=["file", "act", "goal_id", "tag"])
    before = arrow.held(), len(arrow._structs)
    for number in range(200):
        pa.record_batch(batch) if number % 2 else pl.DataFrame(batch)
    gc.collect()
    assert (arrow.held(), len(arrow._structs)) == before


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
@pytest.mark.parametrize("place", ["ArrowSchema", "SchemaRelease"])
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
    assert (key in arrow._held) == (times == 2), "what was let go of is free, but where nothing could be done"
    arrow._held.pop(key, None)


def test_capsules_that_nobody_takes() -> None:
    (batch,) = scan_nslip(GOOD)
    found = scan_nslip(GOOD)
    before = arrow.held(), len(arrow._structs)
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
        assert (arrow.held(), len(arrow._structs)) == before
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


def test_a_child_that_is_moved_out_outlives_its_batch() -> None:
    """A consumer may take one column and release the rest."""
    (batch,) = scan_nslip(numbered(50))
    capsules = batch.__arrow_c_array__()
    taken = pa.RecordBatch._import_from_c_capsule(*capsules).column("tag")
    del batch, capsules
    gc.collect()
    assert taken[49].as_py() == "text number 49 of many"


class Failing:
    """Some good bytes, then an error."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._left = 3

    def read(self, size: int) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise self._error
        return (GOOD * 9)[:size]


ERRORS = [OSError(5, "the disk is gone"), ValueError("the disk is gone"), KeyboardInterrupt("the disk is gone")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "reader", ["polars", "duckdb", *(pytest.param(name, marks=native_only) for name in ("pyarrow", "pyarrow batches"))]
)
def test_an_error_in_the_stream_surfaces(reader: str, error: BaseException) -> None:
    with pytest.raises(BaseException, match="the disk is gone") as caught:  # Polars 1.22 calls it a panic
        READERS[reader](scan_nslip(Failing(error), batch_bytes=100))
    assert type(error).__name__ in str(caught.value)
    del caught


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
    """What stands on the stack is let go while the exception is on its way."""
    with pytest.raises(ZeroDivisionError):
        [make(), 1 // 0]


def test_releases_from_other_threads() -> None:
    (batch,) = scan_nslip(numbered(30))
    frames = [pl.DataFrame(batch) for _ in range(40)]

    def drop() -> None:
        while frames:
            frames.pop()

    threads = [threading.Thread(target=drop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_layout_of_a_view_in_memory() -> None:
    """The bytes that another reader sees: views into the scanned bytes, nothing copied where nothing is escaped."""
    data = b'@a3|f0|c1|S0|d1|T1|t"a text that is longer than a view"#'
    (batch,) = scan_nslip(data, columns=["tag"], borrow=True)
    struct = arrow.ArrowArray()
    arrow._export_batch(ctypes.addressof(struct), batch)
    child = struct.children[0].contents
    assert (child.length, child.null_count, child.n_buffers, child.offset) == (1, 0, 4, 0)
    view = ctypes.string_at(child.buffers[1], 16)
    assert view == (33).to_bytes(4, "little") + b"a te" + bytes(4) + data.index(b"a te").to_bytes(4, "little")
    assert ctypes.string_at(child.buffers[2], len(data)) == data
    assert int.from_bytes(ctypes.string_at(child.buffers[3], 8), "little") == len(data)
    struct.release(ctypes.pointer(struct))


def run(program: str, backend: str) -> str:
    environment = {**os.environ, "TURNWIRE_PURE": "1" if backend == "pure" else "0"}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60)
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    return ran.stdout


HOLDS = {
    "sys": [
        "kept1 = scan.__arrow_c_schema__(), scan.__arrow_c_stream__()",
        "kept2 = [batch.__arrow_c_array__() for batch in scan]",
        "sys.kept = scan.__arrow_c_schema__(), [batch.__arrow_c_array__() for batch in scan]",
    ],
    "duckdb, polars": [
        "kept1 = polars.DataFrame(scan)",
        "assert kept1['tag'].to_list() == ['hello'] * 100",
        "kept2 = duckdb.connect(); kept2.execute('select * from scan').fetchone()",
        "assert duckdb.sql('select distinct act, tag from scan').fetchall() == [('REQUEST', 'hello')]",
        "sys.kept = polars.DataFrame(scan); sys.other = scan.__arrow_c_schema__()",
    ],
    "duckdb, pyarrow": [
        "kept1 = pyarrow.table(scan)",
        "kept2 = [pyarrow.record_batch(batch) for batch in scan]",
        "kept3 = pyarrow.RecordBatchReader.from_stream(scan); kept3.read_next_batch()",
        "kept4 = duckdb.connect(); kept4.execute('select * from scan').fetchone()",
    ],
}
"""Modules that are imported, and what holds on to what they read."""


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


def test_small_batches_of_many_files_are_joined(tmp_path: Path) -> None:
    """The same rows in the same order as those of the batches: texts with escapes, absent values, names of files."""
    pyarrow = pytest.importorskip("pyarrow")
    lines = [
        b'@a3|f0|c1|S0|d1|T1|gH|t"he \\"said\\" what was long enough"#',
        b"@a3|f1|c1|S0|d1|T1#",
        b'{"log":"@a3|f0|c1|S0|d1|T1|t\\"in a string, and long enough\\"#"}',
        "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ dö it\n".encode(),
    ]
    for number in range(60):
        content = b"\n".join(lines[place % 4] for place in range(number % 7)) + b"\n"
        (tmp_path / f"{number:03}.log").write_bytes(content if number % 25 else content * 60)
    for wire in (None, "nslip", "csp"):
        table = pyarrow.table(turnwire.scan(tmp_path, wire=wire))
        parts = [pyarrow.record_batch(batch) for batch in turnwire.scan(tmp_path, wire=wire)]
        plain = [part.to_pylist() for part in parts]
        assert table.to_pylist() == [row for rows in plain for row in rows]
        assert table.column("file").num_chunks < len(parts) / 10


def test_what_is_joined_is_small_and_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One alone, those of one file and those of bytes stay as they are; enough of the others are one."""
    record = b"@a3|f0|c1|S0|d1|T1#\n"
    paths = [tmp_path / f"{number}.log" for number in range(6)]
    for path in paths:
        path.write_bytes(record * 2)
    one = list(turnwire.scan(paths[0], batch_bytes=20))
    assert list(joining.joined(iter(one))) == one
    sources = [record, paths[0], record, *paths[1:]]
    assert [len(part) for part in joining.joined(iter(turnwire.scan(sources)))] == [1, 2, 1, 10]
    monkeypatch.setattr(joining, "_ENOUGH", 70)
    assert [len(part) for part in joining.joined(iter(turnwire.scan(paths)))] == [4, 4, 4]
