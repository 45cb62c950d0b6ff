"""Blocks, files and statistics of every wire: the same as one scan gives."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import turnwire
from tests.fuzz.edits import MESSAGES
from tests.log.mixed_logs import NSLIP
from tests.log.test_mixed import everything
from tests.vectors import load
from turnwire.log import plan, read_block, stats, write
from turnwire.registry import WIRES

pytestmark = pytest.mark.once

TIMED = b"2026-05-04T10:00:%02dZ INFO agent: "


@cache
def lines(wire: str) -> tuple[bytes, ...]:
    """Texts of the vectors, good and bad ones; no Space documents, of which the first would be all of a log."""
    cases = [case for case in load(wire) if case.get("kind") != "space"]
    texts = [case[key] for case in cases for key in ("wire", "text", "input", "json") if isinstance(case.get(key), str)]
    return tuple(text.encode("utf-8", "surrogatepass") for text in texts)


def log(wire: str, chance: random.Random, most: int = 30) -> bytes:
    """Some of them, one after the other, some damaged, some with a time in front."""
    found = lines(wire)
    parts = []
    for number in range(chance.randrange(1, most)):
        text = bytearray(chance.choice(found))
        if text and chance.random() < 0.3:
            place = chance.randrange(len(text))
            text[place : place + chance.randrange(3)] = chance.choice(
                (b"", b"\n", b"\x00", b"\xff", b'"', b"{", b"<<<\n")
            )
        if wire != "csp" and chance.random() < 0.5:
            parts.append(TIMED % (number % 60))
        parts.append(bytes(text) + chance.choice((b"\n", b"\n", b"\n\n", b"\r\n", b" ", b"")))
    return b"".join(parts)


def facts(scan: Any) -> tuple[list[Any], list[Any], list[int]]:
    """Every record, every reject, and the sums."""
    records = []
    for batch in scan:
        columns = {column.name: column for column in batch.columns if column.name != "record"}
        valid = {name: batch.valid(name).tolist() for name in columns}
        values = {name: batch[name] for name in columns}
        for row in range(len(batch)):
            record = {name: str(values[name][row]) if valid[name][row] else None for name in columns}
            records.append((record, bytes(batch.raw(row))))
    return records, scan.rejects.rows(), list(scan.counts[:4])


@pytest.mark.parametrize("wire", WIRES)
def test_the_vectors_hold_records(wire: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\n".join(lines(wire)))
    records, _, sums = facts(turnwire.scan(str(tmp_path / "log"), wire=wire))
    assert len(records) > 3
    assert sum(sums[1:]) == sums[0]


@pytest.mark.parametrize("wire", WIRES)
@given(seed=st.integers(0, 2**32), block_bytes=st.integers(1, 3000))
def test_blocks_are_one_scan(wire: str, tmp_path_factory: pytest.TempPathFactory, seed: int, block_bytes: int) -> None:
    path = tmp_path_factory.getbasetemp() / f"any-{wire}.log"
    path.write_bytes(log(wire, random.Random(seed)))
    records: list[Any] = []
    rejects: list[Any] = []
    sums = [0, 0, 0, 0]
    for block in plan(str(path), wire=wire, block_bytes=block_bytes):
        found = facts(read_block(block))
        records += found[0]
        rejects += found[1]
        sums = [total + part for total, part in zip(sums, found[2], strict=True)]
    assert (records, rejects, sums) == facts(turnwire.scan(str(path), wire=wire))


@pytest.mark.parametrize("wire", WIRES)
def test_files_hold_what_the_scan_gives(wire: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\n".join(lines(wire)) + b"\n" + log(wire, random.Random(5), 300))
    kinds = {column.name: column.kind for column in turnwire.scan(b"", wire=wire).columns}
    records, _, _ = facts(turnwire.scan(str(tmp_path / "log"), wire=wire))
    for ending in ("parquet", "arrow", "csv", "ndjson"):
        write(turnwire.scan(str(tmp_path / "log"), wire=wire), tmp_path / f"out.{ending}")
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    other = [json.loads(line) for line in (tmp_path / "out.ndjson").read_text("utf-8").splitlines()]
    assert len(rows) == len(other) == len(records) > 5
    for row, line, (record, _) in zip(rows, other, records, strict=True):
        for name, value in record.items():
            assert (row[name] is None) == (line[name] is None) == (value is None), name
            if kinds[name] == "text":
                assert row[name] == line[name] == value


@pytest.mark.parametrize("wire", WIRES)
def test_statistics_count_what_the_scan_gives(wire: str) -> None:
    data = log(wire, random.Random(7), 80)
    found = stats(data, wire=wire)
    scan = turnwire.scan(data, wire=wire)
    records, _, _ = facts(scan)
    assert found.counts == scan.counts
    assert found.wires[wire] == scan.counts.records
    assert found.kinds.counts.total() == len(records), "every record has a kind"
    assert next(found.rows(3))["records"] == len(records)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("by", ["wire", "day"])
def test_files_are_parted(wire: str, by: str, tmp_path: Path) -> None:
    data = log(wire, random.Random(9), 300)
    paths = write(turnwire.scan(data, wire=wire), tmp_path / "out", partition_by=by)
    expected = sum(map(len, turnwire.scan(data, wire=wire)))
    assert sum(parquet.ParquetFile(path).metadata.num_rows for path in paths) == expected > 0
    folders = {Path(path).parent.name for path in paths}
    if by == "wire":
        assert folders == {f"wire={wire}"}
    else:
        assert all(folder.startswith("day=") for folder in folders)
        # SAP and KickLang have times of their own.
        assert wire in ("csp", "sap", "kick") or "day=2026-05-04" in folders


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", [None, *WIRES])
def test_whatever_columns_are_asked_for_are_the_same(wire: str | None) -> None:
    """All but one, all but those of text, and a few in any order."""
    chance = random.Random(str(wire))
    logs = [log(wire or chance.choice(WIRES), chance) for _ in range(1 if wire else 2)]
    good = [text for one in ([wire] if wire else WIRES) for text in MESSAGES[one]]
    good.append(json.dumps({"log": f"\n{good[0]}", "time": "2026-05-04T10:00:00Z"}))
    data = b"".join(logs) + b"\n".join(NSLIP[::40]) + b"\n```\n" + "\n\n".join(good).encode()
    columns = turnwire.scan(b"", wire=wire).columns
    names = [column.name for column in columns]
    texts = {column.name for column in columns if column.kind == "text"}
    whole = everything(turnwire.scan(data, wire=wire))
    assert len(whole[0]["raw"]) > len(good) and any(whole[0]["inner"]) and whole[1]
    asked = [[other for other in names if other != name] for name in names]
    asked += [[name for name in names if name not in texts - {one}] for one in (*texts, "")]
    asked += [chance.sample(names, chance.randrange(len(names))) for _ in range(5)]
    for some in asked:
        found = everything(turnwire.scan(data, wire=wire, columns=some))
        assert found == ({name: whole[0][name] for name in (*some, "raw")}, *whole[1:]), some
