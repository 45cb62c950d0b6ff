"""``turnwire.scan`` without a wire: the records of all wires in one pass, nothing lost, the same however it is read."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.conftest import PURE_ONLY
from tests.log.engines import GOOD
from tests.log.mixed_logs import GOOD_JSON, csp_message, damaged_log, good_log
from tests.log.plain_values import plain_values
from tests.nslip.twins import rounds
from turnwire import LIMITS, WIRES, DecodeError, Scan, scan
from turnwire._backend import core_module
from turnwire.registry import bulk_scanner

usesbackend = pytest.mark.usefixtures("scan_core")


def everything(found: Scan) -> tuple[dict[str, list[Any]], list[dict[str, Any]], Any]:
    columns: dict[str, list[Any]] = {column.name: [] for column in found.columns}
    columns["raw"] = []
    for batch in found:
        for column in batch.columns:
            columns[column.name] += plain_values(batch, column.name)
        columns["raw"] += batch.raws()
    return columns, found.rejects.rows(), found.counts


def add_up(data: bytes, found: Any) -> None:
    """Every byte belongs to one record, reject or text; counts are those of what is there."""
    columns, rejects, counts = found
    spans = [
        (offset, length)
        for offset, length, inner in zip(columns["offset"], columns["length"], columns["inner"], strict=True)
        if inner is None
    ]
    spans += [(one["offset"], one["length"]) for one in rejects]
    end = 0
    for offset, length in sorted(spans):
        assert offset >= end
        assert length > 0
        end = offset + length
    assert end <= len(data)
    assert counts.bytes == len(data) == counts.records + counts.rejects + counts.text
    assert (counts.records, counts.rejects) == (sum(columns["length"]), sum(one["length"] for one in rejects))
    assert counts.text >= 0
    assert counts.wires == {wire: columns["wire"].count(code) for code, wire in enumerate(WIRES)}
    assert sum(counts.reasons.values()) == len(rejects)
    assert columns["offset"] == sorted(columns["offset"])
    for one in rejects:
        assert one["raw"] == data[one["offset"] : one["offset"] + one["length"]]
        assert one["wire"] in WIRES
        assert one["line"] == 1 + data.count(b"\n", 0, one["offset"])
    for offset, line, inner in zip(columns["offset"], columns["line"], columns["inner"], strict=True):
        assert inner is not None or line == 1 + data.count(b"\n", 0, offset)


@usesbackend
def test_every_good_record_of_every_wire_is_found() -> None:
    chance = random.Random(1)
    met = set()
    for _ in range(rounds(25)):
        data, records = good_log(chance)
        found = scan(data)
        columns, rejects, _ = everything(found)
        assert rejects == []
        assert [WIRES[code] for code in columns["wire"]] == [wire for wire, _ in records], data
        raw = [text.rstrip(b"\n") for text in columns["raw"]]
        assert raw == [record for _, record in records]
        met |= {wire for wire, _ in records}
    assert met == set(WIRES)


@usesbackend
def test_columns_say_what_each_wire_says() -> None:
    """As the scan of that wire alone says it."""
    chance = random.Random(2)
    for _ in range(rounds(12)):
        data, _ = good_log(chance)
        columns = everything(scan(data))[0]
        names = scan(data).columns[[column.name for column in scan(b"").columns].index("kind")].names
        for code, wire in enumerate(WIRES):
            wanted = ["offset", "length", "kind", "sender", "receiver", "conversation", "sequence", "time", "subject"]
            if "inner" in {column.name for column in bulk_scanner(wire).columns}:
                wanted.append("inner")
            alone = everything(scan(data, wire=wire, columns=wanted))[0]
            kinds = next(column.names for column in scan(b"", wire=wire).columns if column.name == "kind")
            rows = [row for row, other in enumerate(columns["wire"]) if other == code]
            mine = {name: [columns[name][row] for row in rows] for name in (*wanted, "raw")}
            if wire in ("nslip", "csp"):  # alone, they do not look into JSON strings
                rows = [row for row in rows if columns["inner"][row] is None]
                mine = {name: [columns[name][row] for row in rows] for name in (*wanted, "raw")}
            keep = [place for place, offset in enumerate(alone["offset"]) if offset in mine["offset"]]
            alone = {name: [values[place] for place in keep] for name, values in alone.items()}
            mine["kind"] = [names[kind] for kind in mine["kind"]]
            alone["kind"] = [kinds[kind] for kind in alone["kind"]]
            assert mine == alone, (wire, data)


@usesbackend
def test_bytes_add_up_however_they_are_read(tmp_path: Path) -> None:
    chance = random.Random(3)
    rows = bad = 0
    for _ in range(rounds(5)):
        data = damaged_log(chance)
        path = tmp_path / "a.log"
        path.write_bytes(gzip.compress(data, 1))
        once = everything(scan(data))
        add_up(data, once)
        rows, bad = rows + len(once[0]["offset"]), bad + len(once[1])
        for batch_bytes in (chance.randrange(1, 9), chance.randrange(9, 300), chance.randrange(1, len(data) + 2)):
            assert everything(scan(data, batch_bytes=batch_bytes)) == once, data
            for threads in (1, 2, 3):
                assert everything(scan(io.BytesIO(data), batch_bytes=batch_bytes, threads=threads)) == once
            columns, rejects, counts = everything(scan(path, batch_bytes=batch_bytes))
            assert ({**columns, "file": once[0]["file"]}, counts) == (once[0], once[2])
            assert [{**one, "file": None} for one in rejects] == once[1]
    assert rows > 20
    assert bad > 10


@pytest.mark.skipif(PURE_ONLY, reason="compares the cores")
def test_native_and_pure_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(4)
    for _ in range(rounds(25)):
        data = damaged_log(chance)
        limits = LIMITS._replace(message=chance.choice((16 << 20, 16 << 20, 400)))
        options: dict[str, Any] = {"unknown": chance.choice(("error", "keep")), "limits": limits}
        found = []
        for backend in ("native", "pure"):
            with monkeypatch.context() as patch:
                use(backend, patch)
                found.append(everything(scan(data, **options)))
        assert found[0] == found[1], data


def use(backend: str, patch: pytest.MonkeyPatch) -> None:
    from importlib import import_module

    for module, core in (
        ("turnwire.nslip.bulk", "nslip.scan"),
        ("turnwire.csp.bulk", "csp.codec"),
        ("turnwire.json.scanner", "json.lines"),
        ("turnwire.log.engine.block_pass", "json.lines"),
    ):
        patch.setattr(import_module(module), "_core", core_module(backend, core))
    patch.setattr("turnwire.log.engine.block_pass._heads", core_module(backend, "framing.line_heads"))


@usesbackend
def test_what_contains_another_is_the_record() -> None:
    """Content is never a record of its own; a wrapper is looked into."""
    sstp = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))
    inside = {
        "nSLIP in a string of a message": sstp.replace(
            b'"header"', b'"note": ' + json.dumps(GOOD.decode()).encode() + b', "header"', 1
        ),
        "JSON in a quoted string": b'@a3|f0|c1|S0|d1|T1|t"' + sstp.replace(b'"', b'\\"') + b'"#',
        "a heredoc": csp_message(random.Random(5)).rstrip(b"\n"),
    }
    for name, record in inside.items():
        columns, rejects, _ = everything(scan(record + b"\n"))
        assert ([text.rstrip() for text in columns["raw"]], rejects) == ([record], []), name
    wrapper = json.dumps({"log": GOOD.decode(), "more": [{"deep": f"x {sstp.decode()} y {GOOD.decode()}"}]}).encode()
    columns, rejects, _ = everything(scan(wrapper))
    assert (columns["raw"], rejects) == ([GOOD, sstp, GOOD], [])
    assert columns["inner"] == [0, 2, 2 + len(sstp) + 3]
    assert [wrapper[offset : offset + 1] for offset in columns["offset"]] == [b'"'] * 3


@usesbackend
def test_an_escaped_record_in_prose() -> None:
    escaped = json.dumps(GOOD.decode()).encode()
    columns, rejects, _ = everything(scan(b"he said " + escaped + b" and left\n"))
    assert (columns["raw"], columns["inner"], columns["offset"], rejects) == ([GOOD], [0], [8], [])
    assert columns["subject"] == ["hello"]


@usesbackend
@pytest.mark.parametrize("record", [GOOD, GOOD_JSON[0]], ids=["nslip", "json"])
def test_two_writers_at_once(record: bytes) -> None:
    """A whole line of another wire inside a damaged CSP/1 message is found, and is not part of the reject."""
    lines = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS MAYBE\nDATA x\n"
    whole = lines.splitlines(keepends=True)
    for place in range(1, len(whole)):
        for end in (b"\n", b"\r\n"):
            data = b"".join(whole[:place]) + record + end + b"".join(whole[place:]) + GOOD + b"\n"
            found = everything(scan(data))
            add_up(data, found)
            columns, rejects, _ = found
            assert columns["raw"] == [record, GOOD], (place, data)
            assert {one["wire"] for one in rejects} == {"csp"}
            assert all(record not in one["raw"] for one in rejects)


@usesbackend
def test_a_damaged_one_ends_where_another_begins() -> None:
    sstp = GOOD_JSON[0]
    for data, raw, wires in (
        (b"@a3|f0 " + sstp + GOOD, [sstp, GOOD], ["nslip"]),
        (GOOD[:-3] + sstp + b"\n", [sstp], ["nslip"]),
        (sstp[:-9] + GOOD + b"\n", [GOOD], [None]),
        (b"CSP/1\nFROM A\n" + sstp + b"\n", [sstp], ["csp"]),
        (GOOD + b"\0" * 100 + sstp + b"\0", [GOOD, sstp], []),
    ):
        columns, rejects, _ = found = everything(scan(data))
        add_up(data, found)
        assert columns["raw"] == raw, data
        if wires != [None]:
            assert [one["wire"] for one in rejects] == wires


@usesbackend
def test_messages_errors_and_conditions() -> None:
    chance = random.Random(9)
    data = b"\n".join([GOOD, *GOOD_JSON[:40], csp_message(chance).rstrip(b"\n"), b"```", b"@a3|f0 bad", GOOD])
    found = scan(data)
    for batch in found:
        codes = batch.column("wire").names
        for row in range(len(batch)):
            wire = codes[batch["wire"][row]]
            assert type(batch.message(row)) is type(bulk_scanner(wire).decode(bytes(batch.raw(row))))
    assert [one["wire"] for one in found.rejects.rows()] == ["nslip"]
    raised = scan(data, errors="raise")
    with pytest.raises(DecodeError, match="bad_digit") as caught:
        list(raised)
    assert (caught.value.wire, caught.value.offset) == ("nslip", data.index(b" bad"))
    columns = everything(found := scan(data))[0]
    for where in (
        {"wire": "nslip"},
        {"wire": {"csp", "kick"}},
        {"kind": "REQUEST"},
        {"text": b"hello"},
        {"sender": "0"},
    ):
        chosen = everything(scan(data, where=where, threads=2))[0]
        rows = [row for row in range(len(columns["raw"])) if row_passes(columns, row, where)]
        assert chosen["record"] == rows, where
        assert chosen["raw"] == [columns["raw"][row] for row in rows]
    assert everything(scan(data, columns=["sender"]))[0]["sender"] == columns["sender"]


def row_passes(columns: dict[str, list[Any]], row: int, where: dict[str, Any]) -> bool:
    ((name, wanted),) = where.items()
    if name == "text":
        return wanted in columns["raw"][row]
    value = columns[name][row]
    if name in ("wire", "kind"):
        value = next(column.names for column in scan(b"").columns if column.name == name)[value]
    return value in (wanted if isinstance(wanted, set) else {wanted})


@usesbackend
def test_arrow_consumers() -> None:
    import duckdb
    import polars

    data, records = good_log(random.Random(11), most=40)
    columns = everything(scan(data))[0]
    frame = polars.DataFrame(scan(data, batch_bytes=500))
    assert [*map(str, frame["wire"])] == [wire for wire, _ in records]
    for name in ("sender", "receiver", "conversation", "subject", "sequence", "inner", "offset"):
        assert frame[name].to_list() == columns[name], name
    connection = duckdb.connect()
    connection.register("log", scan(data))
    assert connection.sql("select count(*), count(distinct wire) from log").fetchall() == [
        (len(records), len({wire for wire, _ in records}))
    ]


def test_a_position_in_a_mixed_log(tmp_path: Path) -> None:
    chance = random.Random(13)
    for _ in range(rounds(20)):
        data, _ = good_log(chance)
        path = tmp_path / "a.log"
        path.write_bytes(data[: chance.randrange(len(data) + 1)])
        first = scan(path, resume={})
        rows = everything(first)[0]["raw"]
        path.write_bytes(data)
        second = scan(path, resume=first.position)
        assert rows + everything(second)[0]["raw"] == everything(scan(data))[0]["raw"], data
        assert first.counts.bytes + second.counts.bytes <= len(data)


@pytest.mark.parametrize("wire", [None, *WIRES])
def test_two_scans_of_a_damaged_log_are_one(wire: str | None, tmp_path: Path) -> None:
    """However much of it was there the first time, also in the middle of a message or after an unclosed heredoc."""
    chance = random.Random(5)
    path = tmp_path / "a.log"

    def found(scanned: Scan) -> tuple[list[Any], list[Any]]:
        rows = [(int(at), bytes(batch.raw(row))) for batch in scanned for row, at in enumerate(batch["offset"])]
        return rows, [(one["offset"], one["length"], one["reason"]) for one in scanned.rejects.rows()]

    for _ in range(rounds(25)):
        data = damaged_log(chance) + b"\n"
        path.write_bytes(data)
        rows, rejects = found(scan(path, wire=wire, resume={}))
        path.write_bytes(data[: chance.randrange(len(data) + 1)])
        first = scan(path, wire=wire, resume={}, batch_bytes=chance.choice((50, 1 << 20)))
        before = found(first)
        path.write_bytes(data)
        after = found(scan(path, wire=wire, resume=json.dumps(first.position)))
        assert (before[0] + after[0], before[1] + after[1]) == (rows, rejects), data


@pytest.mark.parametrize(
    "data",
    [
        b"prose\n%b\n%b\nmore\n",
        b"prose\n```\n%b\n%b\n```\n@a3|f0|c1|S0|d1|T1#\n",
        b"@a3|f0|c1|S0|d1|T1#\n````\nx\n%b\n%b\n```\n````\nx\n",
        b"```\n@a3|f0|c1|S0|d1|T1#\n%b\n```\n@a3|f0|c2|S0|d1|T1#\n%b\n",
    ],
)
def test_a_position_knows_whether_a_document_may_begin(data: bytes, tmp_path: Path) -> None:
    """Behind prose, in a fence and behind one, as one scan has it; what is in a document that waits stays in it."""
    data %= ("⫻note/x:y/1".encode(), GOOD)
    path = tmp_path / "a.log"

    def found(scanned: Scan) -> list[tuple[int, bytes]]:
        return [(int(at), bytes(batch.raw(row))) for batch in scanned for row, at in enumerate(batch["offset"])]

    path.write_bytes(data)
    whole = found(scan(path, resume={}))
    for cut in [at for at in range(len(data) + 1) if data[at - 1 : at] in (b"", b"\n", b"`", b"n")]:
        path.write_bytes(data[:cut])
        first = scan(path, resume={})
        before = found(first)
        path.write_bytes(data)
        assert before + found(scan(path, resume=json.dumps(first.position))) == whole, cut


def test_a_mixed_scan_says_so() -> None:
    assert repr(turnwire.scan(b"")) == "<Scan of ...>"
    with pytest.raises(ValueError, match="no column 'tag'"):
        scan(b"", columns=["tag"])


@usesbackend
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_string_that_its_line_cuts_off(end: bytes) -> None:
    """Its newline is where reading failed, with or without a carriage return."""
    damaged = b'@a3|f0|c1|S0|d1|T1|t"x'
    (reject,) = everything(scan(damaged + end))[1]
    reason = "newline_in_string" if end else "unterminated_string"
    fault = len(damaged + end) - 1 if end else damaged.index(b'"')
    assert (reject["raw"], reject["reason"], reject["fault"]) == (damaged, reason, fault)
