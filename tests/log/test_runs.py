"""Each start of a scan reads afresh, with a tally of its own; records and errors come one by one, in order."""

from __future__ import annotations

import asyncio
import copy
import gc
import gzip
import io
import json
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.conftest import put, raised, rounds
from tests.log.engines import GOOD, UPSTREAM, VECTORS, damaged_log
from tests.log.mixed_logs import GOOD_JSON
from tests.log.rotating import numbers_of
from tests.log.test_scan import scan_nslip
from turnwire import LIMITS, DecodeError
from turnwire.log import Message, Reject
from turnwire.nslip import base62

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.once


def numbered(count: int) -> bytes:
    """Records whose conversations are numbers from 0 on."""
    record = b'@a3|f0|c%s|S0|d1|T1|t"text number %d"#\n'
    return b"".join(record % (base62.encode(row).encode(), row) for row in range(count))


DATA = numbered(300) + b"@a3|f0 bad\n"
NUMBERS = list(range(300))


@pytest.fixture(params=["file", "files", "bytes", "compressed"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "bytes":
        return DATA
    path = put(tmp_path / "a.log", gzip.compress(DATA) if request.param == "compressed" else DATA)
    if request.param == "files":
        lines = DATA.splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:100]))
        return [path, b"".join(lines[100:])]
    return path


@pytest.mark.parametrize("threads", [1, 3])
def test_each_start_reads_all(source: Any, threads: int) -> None:
    found = scan_nslip(source, threads=threads, batch_bytes=500)
    assert found.counts.bytes == 0, "nothing is read before"
    first = iter(found)
    assert next(first)["conv_id"].tolist()[0] == 0
    assert numbers_of(found) == numbers_of(found) == NUMBERS
    counts = found.counts
    assert (counts.wires, counts.bytes, len(found.rejects)) == ({"nslip": 300}, len(DATA), 1), "of one run"
    assert len(next(first)) > 0, "the first one goes on"
    assert found.counts == counts, "what it tells is of the run begun last"
    first.close()  # type: ignore[attr-defined]
    kept, again = found.rejects, iter(found)
    with pytest.raises(RuntimeError, match="has read nothing yet"):
        _ = found.rejects
    assert len(kept) == 1, "those of a run are its own"
    list(again)
    assert found.rejects is not kept and found.rejects.rows() == kept.rows()


def test_every_way_to_start(source: Any) -> None:
    found = scan_nslip(source, batch_bytes=500)
    next(iter(found))

    async def rows_later() -> list[int]:
        return numbers_of([batch async for batch in found])

    for _ in range(2):
        assert asyncio.run(rows_later()) == NUMBERS
        assert pl.DataFrame(found)["conv_id"].to_list() == NUMBERS
        assert pa.table(found)["conv_id"].to_pylist() == NUMBERS
        assert duckdb.sql("select conv_id from found").fetchall() == [(number,) for number in NUMBERS]
        assert [one.message.conv_id for one in found.messages()] == NUMBERS
        assert len(list(found.errors())) == 1


def test_before_a_run_nothing_is_said_to_be_good(tmp_path: Path) -> None:
    """A scan that read nothing has no rejects, which would pass for a file without any."""
    (tmp_path / "bad.log").write_bytes(b"@a3|f0 bad\n")
    found = scan_nslip(tmp_path / "bad.log")
    with pytest.raises(RuntimeError, match="has read nothing yet"):
        _ = found.rejects
    assert "not read yet" in found._repr_html_() and found.position and found.counts.bytes == 0
    assert next(iter(found), None) is None
    assert (len(found.rejects), found.counts.rejects) == (1, 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_unfinished_run_is_not_said_to_be_good(threads: int, tmp_path: Path) -> None:
    (tmp_path / "bad.log").write_bytes((GOOD + b"\n") * 100 + b"@a3|f0 bad\n")
    found = scan_nslip(tmp_path / "bad.log", batch_bytes=1000, threads=threads)
    batches = iter(found)
    with pytest.raises(RuntimeError, match="has read nothing yet"):
        _ = found.rejects
    next(batches)
    assert len(found.rejects) == 0 and found.rejects.rows() == [], "so far"
    with pytest.raises(RuntimeError, match="has not ended"):
        assert not found.rejects
    for _ in batches:
        pass
    assert found.rejects and len(found.rejects) == 1
    with scan_nslip((GOOD + b"\n") * 100, batch_bytes=1000, threads=threads) as left:
        next(iter(left))
    with pytest.raises(RuntimeError, match="has not ended"):
        bool(left.rejects)
    assert not left.read().rejects and not left.rejects
    assert not scan_nslip(b"").read().rejects


def test_what_follows_ends_when_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(GOOD + b"\n")
    with scan_nslip(tmp_path / "a.log", follow=True) as found:
        for _ in found:
            with pytest.raises(RuntimeError, match="has not ended"):
                bool(found.rejects)
            found.close()
    assert not found.rejects


def test_all_at_once() -> None:
    found = scan_nslip((GOOD + b"\n") * 200 + b"@a3|f0 bad\n" + GOOD, batch_bytes=1000)
    batches, rejects = found.read()
    assert len(batches) > 1 and sum(map(len, batches)) == 201
    assert [row["reason"] for row in rejects.rows()] == ["bad_digit"] and len(found.rejects) == 1
    assert sum(map(len, found.read().batches)) == 201, "once more"
    assert scan_nslip(io.BytesIO(GOOD)).read().rejects.rows() == []


@pytest.mark.parametrize("way", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy])
def test_a_scan_is_pickled_and_copied_as_its_description(way: Any, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(GOOD * 3 + b"\n@a3|f0 bad\n")
    options: dict[str, Any] = {"columns": ["src", "line"], "where": {"conv_id": (0, None)}, "errors": "skip"}
    found = scan_nslip(tmp_path / "a.log", threads=2, **options)
    for _ in range(2):  # before a run, and behind one
        other = way(found)
        assert isinstance(other, turnwire.Scan) and other is not found
        with pytest.raises(RuntimeError):
            _ = other.rejects
        assert [column.name for column in other.columns] == ["src", "line"]
        assert [batch["src"].tolist() for batch in other] == [batch["src"].tolist() for batch in found]
        assert other.counts == found.counts and other.rejects.rows() == []
    later = way(scan_nslip(tmp_path / "a.log", resume=found.position))
    assert sum(map(len, later)) == 0
    with open(os.devnull, "rb") as file, pytest.raises(TypeError):
        way(scan_nslip(file))


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


ONCE = [lambda: io.BytesIO(GOOD * 3), piped, socketed, lambda: [b"", [io.BytesIO(GOOD * 3)], b""]]


@pytest.mark.parametrize("make", ONCE, ids=["memory", "pipe", "socket", "among others"])
def test_a_second_start_is_refused(make: Any) -> None:
    source = make()
    found = scan_nslip(source)
    assert sum(map(len, found)) == 3
    starts = [iter, found.__class__.messages, found.__class__.errors, pl.DataFrame, pa.table, list]
    for start in starts:
        with pytest.raises(ValueError, match="a file object can be read only once, and this scan has already"):
            start(found)

    async def later() -> None:
        async for _ in found:
            pass

    with pytest.raises(ValueError, match="read only once"):
        asyncio.run(later())
    assert found.counts.wires == {"nslip": 3}, "the tally stays"
    if hasattr(source, "close"):
        source.close()


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        def __init__(self) -> None:
            self.buffer = io.BytesIO(DATA)

    for source in ("-", ["-"]):
        monkeypatch.setattr("sys.stdin", Input())
        found = scan_nslip(source, batch_bytes=70)
        assert (numbers_of(found), found.counts.bytes, found.rejects["file"]) == (NUMBERS, len(DATA), ["-"])
        with pytest.raises(ValueError, match="standard input can be read only once"):
            iter(found)


def test_following(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", GOOD + b"\n")
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
    return sum(thread.name.startswith("turnwire-scan") for thread in threading.enumerate())


def none_running() -> bool:
    deadline = time.monotonic() + 120
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
        return numbers_of(going)

    assert len(asyncio.run(first_of_two())) > 200


NSLIP = b'@a3|f0|c1|S0|d1|T1|t"hello"#'
CSP = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA done\n\n"
SSTP = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))


@pytest.mark.usefixtures("scan_core")
def test_messages_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    wrapped = json.dumps({"log": "sent " + NSLIP.decode()}).encode()
    path.write_bytes(NSLIP + b"\n" + b"12:00 INFO " + NSLIP + b"\n" + wrapped + b"\n" + CSP + SSTP)
    for source, name in ((path, str(path)), (path.read_bytes(), None)):
        found = list(turnwire.scan(source, columns=["subject"]).messages())
        assert [one.wire for one in found] == ["nslip", "nslip", "nslip", "csp", "sstp"]
        assert {one.file for one in found} == {name}
        assert [one.line for one in found] == [1, 2, 3, 4, 14]
        assert [one.inner for one in found] == [None, None, 5, None, None]
        data = path.read_bytes()
        for one in found:
            raw = data[one.offset :][: one.length]
            if one.inner is None:
                assert turnwire.decode(raw, one.wire) == one.message
        assert found[2].message == found[0].message
        assert data[found[2].offset :].startswith(b'"sent')
    (named,) = turnwire.scan(path, wire="sstp").messages()
    assert named == found[-1]._replace(file=str(path))
    match named:
        case Message(message=turnwire.sstp.Message(), wire="sstp", line=14):
            pass
        case _:
            raise AssertionError


def damaged() -> bytes:
    return b"\n".join([NSLIP, b"@a3|f0|c-|S0|d1|T1#", NSLIP, b'{"log":"@a3|f0|c1|S0|d1|Tx-#"}', b"@a3|f0|c1", NSLIP])


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("options", [{}, {"batch_bytes": 1}, {"threads": 3, "batch_bytes": 20}, {"errors": "skip"}])
def test_errors_are_the_rejects(options: dict[str, Any], tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", damaged())
    kept = turnwire.scan(path)
    list(kept)
    found = turnwire.scan(path, **options)
    errors = list(found.errors())
    assert [{name: getattr(one, name) for name in kept.rejects.names} for one in errors] == kept.rejects.rows()
    assert len(errors) == 3
    assert [one.fault_line for one in errors] == [2, 4, 5]
    assert found.counts == kept.counts
    assert (len(found.rejects), found.rejects.rows()) == (3, []), "counted and handed out, not kept"
    assert list(found.errors()) == errors


@pytest.mark.usefixtures("scan_core")
def test_errors_in_words(tmp_path: Path) -> None:
    first, inside, last = turnwire.scan(damaged()).errors()
    assert isinstance(first, Reject)
    caught = raised(turnwire.DecodeError, turnwire.decode, first.raw)
    assert (first.text, first.reason) == (caught.text, str(caught.reason))
    assert str(first) == f"2: byte {first.fault}: nslip: {first.reason}: {first.text}"
    assert (inside.inner, last.inner) == (0, None)
    path = put(tmp_path / "a\x1b\u202e.log.gz", gzip.compress(NSLIP)[:-4])
    (cut,) = turnwire.scan(path).errors()
    assert (cut.wire, cut.reason, cut.raw) == ("gzip", "cut_off", b"")
    assert "as stored" in cut.text
    assert "\x1b" not in str(cut) and "\u202e" not in str(cut)


# --- any number of threads: the same batches, rejects, counts and errors, in the same order; and a clean end ----------


both_cores = pytest.mark.usefixtures("scan_core")
LINES = UPSTREAM.read_bytes().split(b"\n")[:300] + VECTORS


def batches(source: Any, **options: Any) -> list[Any]:
    """Every batch with its rows, and what stands in the quarantine and the tally after it."""
    found = scan_nslip(source, **options)
    seen = []
    for batch in found:
        columns = {name: list(batch[name]) for name in batch.names}
        seen.append((columns, len(found.rejects), found.counts, found.position))
    return [*seen, found.rejects.rows(), found.counts, found.position]


@both_cores
def test_the_same_from_any_number_of_threads(tmp_path: Path) -> None:
    chance = random.Random(12)
    for round_number in range(rounds(6)):
        data = damaged_log(chance, LINES)
        options: dict[str, Any] = {"batch_bytes": chance.choice((1, 7, 100, 1000, 1 << 20))}
        options["limits"] = LIMITS._replace(message=chance.choice((1 << 20, 40)))
        path = put(tmp_path / f"{round_number}.log", data)
        for source in (data, path, [path, data, path]):
            once = batches(source, **options)
            for threads in (2, 5):
                assert batches(source, threads=threads, **options) == once


@both_cores
def test_the_first_error_is_the_one_of_one_thread() -> None:
    data = b"\n".join([GOOD] * 50 + [b"@a3|f0 bad"] + [GOOD] * 50 + [b"@c1|", GOOD])

    def until_error(threads: int) -> Any:
        found = scan_nslip(data, threads=threads, batch_bytes=200, errors="raise")
        rows: list[int] = []
        with pytest.raises(DecodeError) as caught:
            rows.extend(line for batch in found for line in batch["line"].tolist())
        return rows, str(caught.value), caught.value.offset, caught.value.line, found.counts, found.position

    once = until_error(1)
    assert (len(once[0]), once[3]) == (50, 51)
    assert until_error(2) == until_error(4) == once


def test_stopping_early_ends_the_threads() -> None:
    class Endless(io.RawIOBase):
        reads = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.reads += 1
            part = ((GOOD + b"\n") * (len(buffer) // 20 + 1))[: len(buffer)]
            buffer[:] = part
            return len(part)

    def closed(source: Endless) -> None:
        found = scan_nslip(source, threads=3, batch_bytes=5000)
        for _ in zip(range(4), found, strict=False):
            pass
        found.close()
        with pytest.raises(ValueError, match="a file object can be read only once"):
            list(found)

    def left(source: Endless) -> None:
        for _ in scan_nslip(source, threads=3, batch_bytes=5000):
            break

    def with_statement(source: Endless) -> None:
        with scan_nslip(source, threads=3, batch_bytes=5000) as found:
            batches = iter(found)
            next(batches)
        assert list(batches) == []

    for way in (closed, left, with_statement):
        source = Endless()
        way(source)
        assert none_running()
        reads = source.reads
        assert reads < 60
        time.sleep(0.05)
        assert source.reads == reads


def test_closing_from_another_thread() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as pipe, os.fdopen(reading, "rb", buffering=0) as source:
        for threads in (1, 2):
            pipe.write(GOOD + b"\n")
            found = scan_nslip(source, threads=threads)
            seen = threading.Event()
            counted: list[int] = []

            def read(found: Any = found, seen: threading.Event = seen, counted: list[int] = counted) -> None:
                for batch in found:
                    counted.append(len(batch))
                    seen.set()

            reader = threading.Thread(target=read)
            reader.start()
            assert seen.wait(120), "a pipe's complete lines are handed on while it waits"
            found.close()
            reader.join(120)
            assert not reader.is_alive()
            assert counted == [1]
    assert running() == 0


def test_errors_of_reading_come_at_their_place() -> None:
    class Breaking:
        def __init__(self) -> None:
            self.left = 5

        def read(self, size: int) -> bytes:
            self.left -= 1
            if not self.left:
                raise OSError(5, "the disk is gone")
            return ((GOOD + b"\n") * 100)[:size]

    met = []
    for threads in (1, 2, 4):
        found = scan_nslip(Breaking(), threads=threads, batch_bytes=320)
        rows: list[int] = []
        with pytest.raises(OSError, match="the disk is gone"):
            rows.extend(len(batch) for batch in found)
        met.append(sum(rows))
    assert met == [met[0]] * 3
    assert met[0] >= 100


PROGRAM = """
import io, sys, time
import turnwire

class Slow(io.RawIOBase):
    def readable(self): return True
    def readinto(self, buffer):
        time.sleep(0.01)
        line = b'@a3|f0|c1|S0|d1|T1#\\n'
        buffer[:len(line)] = line
        return len(line)

try:
    for number, batch in enumerate(turnwire.scan(Slow(), wire="nslip", threads=2, batch_bytes=200)):
        if number == 1:
            print("going", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_control_c_ends_it_at_once(backend: str) -> None:
    environment = {**os.environ, "TURNWIRE_PURE": "1" if backend == "pure" else "0"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as program:
        assert program.stdout.readline() == "going\n"
        program.send_signal(signal.SIGINT)
        assert program.stdout.read() == "interrupted\n"
        assert program.stderr.read() == ""
        assert program.wait(120) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("threads", [1, 3])
def test_a_scan_does_not_go_on_in_a_fork(threads: int, tmp_path: Path) -> None:
    path = put(tmp_path / "one.log", (GOOD + b"\n") * 10_000)
    scan = turnwire.scan(path, wire="nslip", threads=threads, batch_bytes=1 << 14)
    batches = iter(scan)
    count = len(next(batches))
    child = os.fork()
    if not child:
        signal.alarm(60)  # whatever hangs ends with the child
        try:
            next(batches)
            code = 1
        except RuntimeError as error:
            code = 2
            if "another process" in str(error) and sum(map(len, scan)) == 10_000:
                code = 0
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert count + sum(map(len, batches)) == 10_000
