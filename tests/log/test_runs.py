"""A scan is a description: each start reads afresh, with a tally of its own; what can be read only once says so."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.log.engines import GOOD
from tests.log.test_arrow import plain
from tests.log.test_scan import scan_nslip
from turnwire.nslip import base62

pytestmark = pytest.mark.once

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")


def numbered(count: int) -> bytes:
    """Records whose conversations are numbers from 0 on."""
    record = b'@a3|f0|c%s|S0|d1|T1|t"text number %d"#\n'
    return b"".join(record % (base62.encode(row).encode(), row) for row in range(count))


DATA = numbered(300) + b"@a3|f0 bad\n"
NUMBERS = list(range(300))


@pytest.fixture(params=["file", "files", "bytes", "compressed"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    import gzip

    if request.param == "bytes":
        return DATA
    path = tmp_path / "a.log"
    path.write_bytes(gzip.compress(DATA) if request.param == "compressed" else DATA)
    if request.param == "files":
        lines = DATA.splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:100]))
        return [path, b"".join(lines[100:])]
    return path


def rows(batches: Any) -> list[int]:
    return [number for batch in batches for number in batch["conv_id"].tolist()]


@pytest.mark.parametrize("threads", [1, 3])
def test_each_start_reads_all(source: Any, threads: int) -> None:
    found = scan_nslip(source, threads=threads, batch_bytes=500)
    assert (found.counts.bytes, len(found.rejects)) == (0, 0), "nothing is read before"
    first = iter(found)
    assert next(first)["conv_id"].tolist()[0] == 0
    assert rows(found) == rows(found) == NUMBERS
    counts = found.counts
    assert (counts.wires, counts.bytes, len(found.rejects)) == ({"nslip": 300}, len(DATA), 1), "of one run"
    assert len(next(first)) > 0, "the first one goes on"
    assert found.counts == counts, "what it tells is of the run begun last"
    first.close()  # type: ignore[attr-defined]


def test_every_way_to_start(source: Any) -> None:
    found = scan_nslip(source, batch_bytes=500)
    next(iter(found))

    async def rows_later() -> list[int]:
        return [number async for batch in found for number in batch["conv_id"].tolist()]

    for _ in range(2):
        assert asyncio.run(rows_later()) == NUMBERS
        assert pl.DataFrame(found)["conv_id"].to_list() == NUMBERS
        assert pa.table(found)["conv_id"].to_pylist() == NUMBERS
        assert duckdb.sql("select conv_id from found").fetchall() == [(number,) for number in NUMBERS]
        assert [one.message.conv_id for one in found.messages()] == NUMBERS
        assert len(list(found.errors())) == 1


def test_a_view_of_duckdb_after_a_limit(source: Any) -> None:
    found = scan_nslip(source, batch_bytes=500)
    with duckdb.connect() as connection:
        assert len(connection.sql("select * from found limit 5").fetchall()) == 5
        assert connection.sql("select count(*) from found").fetchall() == [(300,)]
        connection.register("log", found)
        connection.sql("create view busy as select * from log where conv_id >= 100")
        for _ in range(3):
            assert connection.sql("select count(*) from busy").fetchall() == [(200,)]
        both = connection.sql("select count(*) from found a join found b on a.conv_id = b.conv_id").fetchall()
        assert both == [(300,)]


def test_two_readers_of_pyarrow_side_by_side(source: Any) -> None:
    found = scan_nslip(source, batch_bytes=500)
    one, other = (pa.RecordBatchReader.from_stream(found) for _ in range(2))
    assert found.counts.bytes == 0, "a stream that nobody reads is no run"
    batches = [(one.read_next_batch(), other.read_next_batch()) for _ in range(5)]
    assert all(left.equals(right) for left, right in batches)
    rest = one.read_all()
    assert rest.equals(other.read_all())
    assert rest.num_rows + sum(batch.num_rows for batch, _ in batches) == 300


@pytest.mark.parametrize("threads", [1, 2])
def test_runs_in_several_threads(source: Any, threads: int) -> None:
    found = scan_nslip(source, threads=threads, batch_bytes=300)
    seen: list[list[int]] = []
    readers = [threading.Thread(target=lambda: seen.append(rows(found))) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(60)
    assert seen == [NUMBERS] * 4
    assert found.counts.wires == {"nslip": 300}


def test_rejects_are_those_of_a_run(source: Any) -> None:
    found = scan_nslip(source)
    list(found)
    kept = found.rejects
    assert len(kept) == 1
    again = iter(found)
    assert (len(found.rejects), len(kept)) == (0, 1)
    list(again)
    assert found.rejects is not kept
    assert found.rejects.rows() == kept.rows()


def test_each_run_begins_at_the_same_token(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(DATA)
    first = scan_nslip(path, resume={})
    list(first)
    token = first.position
    with path.open("ab") as file:
        file.write(numbered(3))
    second = scan_nslip(path, resume=token)
    token.clear()
    for _ in range(2):
        assert [batch["record"].tolist() for batch in second] == [[300, 301, 302]]
        assert second.position["record"] == 303


def test_progress_of_each_run() -> None:
    told: list[tuple[Any, ...]] = []
    found = scan_nslip(DATA, progress=lambda *news: told.append(news))
    list(found)
    first = list(told)
    list(found)
    assert told == first * 2


def test_errors_raise_in_each_run() -> None:
    found = scan_nslip(DATA, errors="raise")
    for _ in range(2):
        with pytest.raises(turnwire.DecodeError, match="bad_digit"):
            list(found)
    assert len(list(found.errors())) == 1, "whatever errors= says"


def test_a_file_that_grew_is_read_to_its_new_end(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(GOOD + b"\n")
    found = scan_nslip(path)
    assert sum(map(len, found)) == 1
    path.write_bytes((GOOD + b"\n") * 3)
    assert sum(map(len, found)) == 3


# --- what can be read only once ---------------------------------------------------------------------------------------


def piped() -> Any:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(GOOD * 3)
    return os.fdopen(reading, "rb")


def socketed() -> Any:
    here, there = socket.socketpair()
    with here:
        here.sendall(GOOD * 3)
    with there:
        return there.makefile("rb")


ONCE = {
    "memory": (lambda: io.BytesIO(GOOD * 3), "a file object"),
    "pipe": (piped, "a file object"),
    "socket": (socketed, "a file object"),
    "among others": (lambda: [b"", [io.BytesIO(GOOD * 3)], b""], "a file object"),
}


@pytest.mark.parametrize("name", ONCE)
def test_a_second_start_is_refused(name: str) -> None:
    make, what = ONCE[name]
    source = make()
    found = scan_nslip(source)
    assert sum(map(len, found)) == 3
    starts = [iter, found.__class__.messages, found.__class__.errors, pl.DataFrame, pa.table, list]
    for start in starts:
        with pytest.raises(ValueError, match=f"{what} can be read only once, and this scan has begun"):
            start(found)

    async def later() -> None:
        async for _ in found:
            pass

    with pytest.raises(ValueError, match="read only once"):
        asyncio.run(later())
    assert found.counts.wires == {"nslip": 3}, "the tally stays"
    if hasattr(source, "close"):
        source.close()


def test_streams_that_are_not_read_are_no_start() -> None:
    """DuckDB asks for a stream to see its columns."""
    found = scan_nslip(io.BytesIO(GOOD * 3))
    for _ in range(3):
        assert pa.schema(found).names == [column.name for column in found.columns]
        found.__arrow_c_stream__()
    first, second = (pa.RecordBatchReader.from_stream(found) for _ in range(2))
    assert first.read_all().num_rows == 3
    with pytest.raises(Exception, match="a file object can be read only once"):
        second.read_all()


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(GOOD * 3)

    monkeypatch.setattr("sys.stdin", Input)
    for source in ("-", ["-"]):
        found = scan_nslip(source)
        list(found)
        with pytest.raises(ValueError, match="standard input can be read only once"):
            iter(found)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(GOOD * 2,))
    writer.start()
    found = scan_nslip(path)
    assert sum(map(len, found)) == 2
    writer.join()
    with pytest.raises(ValueError, match="a pipe can be read only once"):
        iter(found)
    with pytest.raises(ValueError, match="a device or socket can be read only once"):
        [list(null) for null in [scan_nslip("/dev/null")] * 2]


def test_following(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(GOOD + b"\n")
    found = scan_nslip(path, follow=True)
    batches = iter(found)
    assert len(next(batches)) == 1
    with pytest.raises(ValueError, match="what follow=True follows can be read only once"):
        iter(found)
    found.close()
    assert list(batches) == []
    ended = scan_nslip(path, follow=True)
    ended.close()
    assert list(ended) == [], "closed before it began"


# --- ends -------------------------------------------------------------------------------------------------------------


def running() -> int:
    return sum(thread.name == "turnwire-scan" for thread in threading.enumerate())


def none_running() -> bool:
    deadline = time.monotonic() + 20
    while running() and time.monotonic() < deadline:
        time.sleep(0.01)
    return running() == 0


def test_a_run_ends_when_it_is_dropped() -> None:
    """The scan lives on, and does not keep what it began."""
    found = scan_nslip(DATA * 20, threads=2, batch_bytes=300)
    for begin in (iter, turnwire.Scan.messages, turnwire.Scan.errors, pa.RecordBatchReader.from_stream):
        steps: Iterator[Any] = begin(found)
        next(iter(steps))
        assert running() > 0
        dropped = weakref.ref(steps)
        del steps
        gc.collect()
        assert dropped() is None
        assert none_running()
    assert sum(map(len, found)) == 6000


def test_close_ends_every_run() -> None:
    with scan_nslip(DATA * 20, threads=2, batch_bytes=300) as found:
        going = [iter(found), iter(found), found.messages()]
        for steps in going:
            next(steps)
    assert none_running()
    assert [sum(1 for _ in steps) for steps in going[:2]] == [0, 0]
    assert sum(map(len, found)) == 6000, "it can be read anew"


def test_close_of_an_async_run_leaves_others_alone() -> None:
    found = scan_nslip(DATA, batch_bytes=300)

    async def first_of_two() -> list[int]:
        going = iter(found)
        next(going)
        async for _ in found:
            break
        return rows(going)

    assert len(asyncio.run(first_of_two())) > 200


def test_nothing_is_kept_of_runs_that_are_over() -> None:
    found = scan_nslip(DATA, batch_bytes=300)
    for _ in range(20):
        next(iter(found))
    list(found)
    assert len(found._going) <= 2


def test_there_is_no_length() -> None:
    with pytest.raises(TypeError):
        len(scan_nslip(DATA))  # type: ignore[arg-type]


def test_sql_twice_gives_the_same_rows(source: Any) -> None:
    found = scan_nslip(source, batch_bytes=500)  # noqa: F841
    query = 'select act, count(*) as n, min("offset") as first from found group by act order by act'
    once = duckdb.sql(query)
    twice = duckdb.sql(query)
    assert plain(once.fetchall(), once.columns) == plain(twice.fetchall(), twice.columns)
