"""``turnwire.scan(wire="csp")``: what is found, that nothing is lost, and batches as columns."""

from __future__ import annotations

import io
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pytest

from tests.counting import called
from tests.csp.generate import document
from tests.csp.test_bulk import log
from tests.log.plain_values import plain_values
from tests.nslip.twins import rounds
from turnwire import LIMITS, DecodeError, Reason, Scan, csp, scan
from turnwire.csp import bulk
from turnwire.log.output import rejects

pytestmark = pytest.mark.usefixtures("scan_core")


def message(number: int, data: str = "x") -> bytes:
    """A RESULT; content that is more than one line makes a heredoc."""
    return csp.encode(csp.message("A", "B", "C0", csp.Result(f"T{number}", {"STATUS": "OK", "DATA": data}))).encode()


def everything(found: Scan) -> tuple[Any, ...]:
    columns: dict[str, list[Any]] = {column.name: [] for column in found.columns}
    for batch in found:
        for column in batch.columns:
            columns[column.name] += plain_values(batch, column.name)
    return columns, found.rejects.rows(), found.counts


def add_up(data: bytes, found: Scan) -> tuple[dict[str, list[Any]], list[dict[str, Any]], Any]:
    """Every byte belongs to exactly one record, reject or text."""
    columns, rejects, counts = everything(found)
    spans = [
        *zip(columns["offset"], columns["length"], strict=True),
        *((one["offset"], one["length"]) for one in rejects),
    ]
    end = 0
    for offset, length in sorted(spans):
        assert offset >= end
        assert length > 0
        end = offset + length
    assert end <= len(data)
    assert counts.bytes == len(data) == counts.records + counts.rejects + counts.text
    assert (counts.records, counts.rejects) == (sum(columns["length"]), sum(one["length"] for one in rejects))
    assert counts.wires == {"csp": len(columns["offset"])}
    assert sum(counts.reasons.values()) == len(rejects)
    for one in rejects:
        assert one["raw"] == data[one["offset"] : one["offset"] + one["length"]]
        assert one["wire"] == "csp"
    return columns, rejects, counts


def test_bytes_add_up_however_they_are_cut() -> None:
    bad = 0
    for seed in range(rounds(25)):
        data = log(seed)
        limits = LIMITS._replace(message=random.Random(seed).choice((1 << 24, 1 << 24, 200, 60)))
        once = add_up(data, scan(data, wire="csp", limits=limits))
        bad += len(once[1])
        for batch_bytes in (1, 7, 64, 500):
            assert everything(scan(data, wire="csp", limits=limits, batch_bytes=batch_bytes)) == once, seed
            assert everything(scan(io.BytesIO(data), wire="csp", limits=limits, batch_bytes=batch_bytes)) == once, seed
    assert bad > 20


def test_messages_and_raw_bytes_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "csp.log"
    wires = [message(1), message(2, "a\nCSP/1\n>>>\n"), b"CSP/1;!prose\nTASK REQ:x\n", message(3, "")]
    data = b"2026 started\n" + b"\n".join(wires) + b"\n2026 ended\n"
    path.write_bytes(data)
    for borrow in (False, True):
        (batch,) = scan(path, wire="csp", borrow=borrow)
        assert [bytes(batch.raw(row)) for row in range(4)] == wires
        assert [batch.message(row) for row in range(4)] == [csp.parse(wire).records[0] for wire in wires]
        assert list(batch["data"]) == ["x", "a\nCSP/1\n>>>\n", None, ""]
        names = batch.column("intent").names
        assert [names[code] for code in batch["intent"]] == ["RESULT", "RESULT", "TEMPLATE", "RESULT"]
        assert batch["line"].tolist() == [1 + data.count(b"\n", 0, data.index(wire)) for wire in wires]


def test_a_message_with_an_unclosed_heredoc_in_front_is_marked_in_every_block() -> None:
    opened = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M\nK\n<<<\n"
    data = message(1) + b"\n" + opened + b"".join(message(number) + b"\n" for number in range(2, 40))
    for batch_bytes in (1 << 20, 100, 1):
        columns, rejects, _ = add_up(data, scan(data, wire="csp", batch_bytes=batch_bytes))
        assert columns["inside_unclosed_heredoc"] == [False] + [True] * 38
        assert [one["reason"] for one in rejects] == ["unclosed_heredoc"]


def test_errors_skip_and_raise() -> None:
    data = message(1) + b"\nCSP/1\nFROM A\nTO B C\n\n" + message(2) + b"\nCSP/9\nFROM A\n"
    skipped = scan(data, wire="csp", errors="skip")
    assert sum(map(len, skipped)) == 2
    assert skipped.counts.reasons == {"bad_header_value": 1, "bad_magic": 1}
    assert skipped.rejects.rows() == []
    raised = scan(data, wire="csp", errors="raise")
    batches = iter(raised)
    assert len(next(batches)) == 1
    with pytest.raises(DecodeError) as caught:
        next(batches)
    error = caught.value
    assert (error.reason, error.offset, error.wire) == (Reason.BAD_HEADER_VALUE, data.index(b"TO B C"), "csp")
    assert error.line == data[: error.offset].count(b"\n") + 1, "of the fault, not of the message"
    counts = raised.counts
    assert counts.bytes == data.index(b"\n" + message(2)) == counts.records + counts.rejects + counts.text


@pytest.mark.parametrize("name", [column.name for column in scan(b"", wire="csp").columns])
def test_each_column_alone_is_the_same(name: str) -> None:
    data = b"".join(document(seed) for seed in range(20))
    whole, _, _ = everything(scan(data, wire="csp"))
    alone, _, _ = everything(scan(data, wire="csp", columns=[name]))
    assert alone == {name: whole[name]}


def test_arrow_gives_the_same_columns(tmp_path: Path) -> None:
    data = b"".join(document(seed, damage=0.02) for seed in range(40))
    (tmp_path / "a.log").write_bytes(data)
    columns, rejects, _ = everything(scan(tmp_path / "a.log", wire="csp"))
    found = scan(tmp_path / "a.log", wire="csp", batch_bytes=3000)
    frame = polars.DataFrame(found)
    names = {column.name: column.names for column in found.columns if column.kind == "enum"}
    for name, values in columns.items():
        if name in names:
            values = [None if code is None else names[name][code] for code in values]
        assert frame[name].to_list() == values, name
    assert polars.DataFrame(found.rejects)["reason"].to_list() == [one["reason"] for one in rejects]
    log_scan = scan(data, wire="csp")
    counted = duckdb.sql("SELECT intent, count(*) FROM log_scan WHERE id IS NOT NULL GROUP BY intent").fetchall()
    assert sum(number for _, number in counted) == len(columns["id"]) - columns["id"].count(None)
    assert dict(counted).get("TASK") == columns["intent"].count(1)
    assert log_scan.counts.bytes == len(data)


def test_more_records_than_room_for_a_block() -> None:
    data = b"CSP/1;\n" * 3000
    columns, rejects, _ = add_up(data, scan(data, wire="csp"))
    assert len(columns["offset"]) == 3000
    assert columns["flags"] == columns["body"] == [""] * 3000
    assert rejects == []


def test_a_message_at_the_limit_and_one_over() -> None:
    data = message(1, "a\n" * 50)
    limits = LIMITS._replace(message=len(data))
    assert len(add_up(data, scan(data, wire="csp", limits=limits))[1]) == 0
    for batch_bytes in (1 << 20, 10):
        limits = LIMITS._replace(message=len(data) - 1)
        whole = data + b"\n" + message(2)
        columns, rejects, _ = add_up(whole, scan(whole, wire="csp", limits=limits, batch_bytes=batch_bytes))
        assert [one["reason"] for one in rejects] == ["message_too_large"]
        assert columns["id"] == ["T2"]


def test_a_message_longer_than_the_default_limit() -> None:
    big = message(1, "a\n").replace(b"\na\n", b"\n" + b"a" * (17 << 20) + b"\n")
    (batch,) = scan(big, wire="csp", limits=LIMITS._replace(message=32 << 20))
    assert len(batch.message(0).block.get("DATA")) == (17 << 20) + 1


def test_many_files_each_begin_anew(tmp_path: Path) -> None:
    (tmp_path / "1.log").write_bytes(message(1) + b"\nCSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M\nK\n<<<\nx\n")
    (tmp_path / "2.log").write_bytes(b">>>\n" + message(2))
    columns, rejects, _ = everything(scan(tmp_path, wire="csp"))
    assert columns["id"] == ["T1", "T2"]
    assert columns["inside_unclosed_heredoc"] == [False, False]
    assert [one["reason"] for one in rejects] == ["unclosed_heredoc"]


ODD = {
    "nothing": (b"", 0, []),
    "white space": (b" \t\r\n\n \x0b\x0c\n", 0, []),
    "a byte order mark": (b"\xef\xbb\xbf" + message(1) + b"\n" + message(2), 2, []),
    "a byte order mark within": (message(1) + b"\n\xef\xbb\xbf" + message(2), 1, ["bad_magic"]),
    "UTF-16": (message(1).decode().encode("utf-16") + b"\n" + message(2), 1, []),
    "overlong UTF-8": (message(1).replace(b"x", b"\xc0\xaf") + b"\n" + message(2), 1, ["bad_utf8"]),
    "a surrogate": (message(1).replace(b"x", b"\xed\xa0\x80") + b"\n" + message(2), 1, ["bad_utf8"]),
    "half a character": (message(1).replace(b"x", b"\xe2\x82") + b"\n" + message(2), 1, ["bad_utf8"]),
    "other line ends": (message(1).replace(b"x", "\u2028\x85\u0085\x0b\x0c\r.".encode()) + b"\n" + message(2), 2, []),
    "CRLF": (message(1).replace(b"\n", b"\r\n") + b"\r\n" + message(2), 2, []),
    "lone CR": (message(1).replace(b"\n", b"\r") + b"\n" + message(2), 1, ["bad_magic"]),
    "a NUL run": (message(1) + b"\n" + b"\0" * 5000 + b"\n" + message(2), 2, []),
    "no last line end": (message(1)[:-1], 1, []),
    "the wrong block": (message(1).replace(b"RESULT T", b"TASK T") + b"\n" + message(2), 1, ["block_mismatch"]),
    "an unknown intent": (message(1).replace(b"INTENT RESULT", b"INTENT DO") + b"\n" + message(2), 1, ["bad_intent"]),
    "a closing line without a heredoc": (message(1) + b"\n>>>\n" + message(2), 2, []),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_input_costs_no_neighbour(name: str) -> None:
    data, rows, reasons = ODD[name]
    for batch_bytes in (1 << 20, 1):
        columns, rejects, _ = add_up(data, scan(data, wire="csp", batch_bytes=batch_bytes))
        assert (len(columns["offset"]), [one["reason"] for one in rejects]) == (rows, reasons)


def test_buffers_of_every_kind() -> None:
    data = message(1) + b"\n" + message(2)
    for buffer in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        for borrow in (False, True):
            (batch,) = scan(buffer, wire="csp", borrow=borrow)
            assert list(batch["id"]) == ["T1", "T2"]
    with pytest.raises(TypeError, match="contiguous"):
        list(scan(memoryview(data)[::2], wire="csp"))
    mutable = bytearray(data)
    found = scan(mutable, wire="csp")
    batches = iter(found)
    (batch,) = batches
    mutable[:] = b"-" * len(data)
    assert batch["id"][1] == "T2", "what is not borrowed belongs to the batch"


def test_scans_in_several_threads_do_not_meet() -> None:
    datas = [log(seed) for seed in range(8)]
    expected = [everything(scan(data, wire="csp")) for data in datas]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(3):
            found = threads.map(lambda data: everything(scan(data, wire="csp", batch_bytes=100)), datas)
            assert list(found) == expected


def test_tables_of_rejects_grow_where_heredocs_stay_open(scan_core: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table that is full costs a look for the end of a heredoc, as far as the block goes."""
    monkeypatch.setattr(rejects, "ROOM", 8)
    calls = called(monkeypatch, bulk._core, "scan_block")
    found = scan(b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M\nK\n<<<\n" * 2000)
    assert not sum(map(len, found)) and len(found.rejects) == 2000
    assert 0 < len(calls) < 12
