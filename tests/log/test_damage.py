"""Damage is a reject with its place and reason, and costs neither the record before it nor the one behind."""

from __future__ import annotations

import gc
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwire
from tests import vectors
from tests.conftest import put, rounds
from tests.log.engines import GOOD, damaged_log
from tests.log.found import add_up, everything
from tests.log.json_engines import both
from tests.log.test_scan import LINES, scan_nslip
from tests.sap.documents import TASK
from turnwire import WIRES, DecodeError, scan
from turnwire.log.output import rejects as quarantine

pytestmark = pytest.mark.usefixtures("scan_core")


def found(data: bytes, wire: str | None = None, **options: Any) -> Any:
    """Columns, rejects and counts of a scan; all bytes are accounted for."""
    result = everything(scan(data, wire=wire, **options))
    add_up(data, result, wire)
    return result


@vectors.cases("damage", kind="log")
def test_damage_of_each_kind(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()
    for batch_bytes in (1 << 20, 1):
        columns, rejects, _ = found(data, case["wire"], batch_bytes=batch_bytes)
        assert (len(columns["offset"]), [one["reason"] for one in rejects]) == (case["records"], case["rejects"])


# --- every wire beside every wire, torn, flipped, cut and grown at random ---------------------------------------------

ENVELOPE = {
    "id": "3f2b8c1e-9d4a-4b6e-8f10-1a2b3c4d5e6f",
    "timestamp": "2026-01-15T10:00:00Z",
    "sender": "Orchestrator",
    "receiver": "WePlan",
    "type": "Command",
    "channel": "⫻command/dispatch",
    "content": "⫻task/dispatch:T-7/001\nWrite.\n",
}
KNOWLEDGE = {
    "header": {"kind": "knowledge", "actor_id": "a", "schema_id": "ioc.knowledge.v0", "logical_clock": 1},
    "payload": {"content": "x", "confidence": 1, "evidence_refs": []},
}
FORM = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n{}"
RECORDS = {
    "nslip": ['@a3|f0|c3|S0|d1|T1|gH|t"a|b#c"#'],
    "csp": [
        FORM.format("RESULT", "RESULT T1\nSTATUS OK\nDATA done\n\n"),
        FORM.format("FILE", "FILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\nx\ny\n>>>\n\n"),
    ],
    "sstp": [json.dumps(KNOWLEDGE), json.dumps(KNOWLEDGE, indent=1), json.dumps({"log": json.dumps(KNOWLEDGE) + "\n"})],
    "sap": [json.dumps(TASK), json.dumps(TASK, indent=1)],
    "kick": [json.dumps(ENVELOPE), json.dumps(ENVELOPE, ensure_ascii=False)],
}
WHOLE = {one.encode() for one in [*RECORDS["csp"], *RECORDS["nslip"], *RECORDS["kick"]]}
"""Records that a damaged CSP/1 message in front of them leaves alone: they begin one, or are a line as a whole."""
ODD = [*(bytes([one]) for one in b'"{}[]\\@#| \t\0\xff,:9'), b"\xe2\xab\xbb"]


def damaged(record: bytes, chance: random.Random) -> bytes:
    """The record with one to three accidents in it."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        if not record:
            break
        place = chance.randrange(len(record))
        what = chance.randrange(5)
        if what == 0:
            record = record[:place]
        elif what == 1:
            record = record[place:]
        elif what == 2:
            record = record[:place] + bytes([record[place] ^ 1 << chance.randrange(8)]) + record[place + 1 :]
        elif what == 3:
            record = record[:place] + chance.choice(ODD) + record[place:]
        else:
            record = record[:place] + record[place + chance.randrange(1, 20) :]
    return record


def leaves_a_heredoc_open(record: bytes) -> bool:
    """True if a line opens one and no later line closes it."""
    lines = record.split(b"\n")
    openings = [place for place, line in enumerate(lines) if re.fullmatch(b"<{3,}-?", line)]
    return any(b">" * lines[place].count(b"<") not in lines[place + 1 :] for place in openings)


@pytest.mark.parametrize("wire", WIRES)
def test_a_damaged_record_costs_neither_the_one_before_it_nor_the_one_behind(wire: str, scan_core: str) -> None:
    chance = random.Random(f"{wire} 1")
    broken = 0
    for _ in range(rounds(30)):
        before, behind = (chance.choice(RECORDS[name]).encode() for name in chance.choices(WIRES, k=2))
        hurt = damaged(chance.choice(RECORDS[wire]).encode(), chance)
        if wire == "csp":  # which takes for its own what its heredoc holds, and one line behind it
            if leaves_a_heredoc_open(hurt):
                continue
            hurt += b"" if behind in WHOLE else b"\nplain text"
        data = before + b"\n" + hurt + b"\n" + behind + b"\n"
        for size in (1 << 20, 64):
            columns, rejects, _ = found(data, batch_bytes=size)
            assert sum(start < len(before) for start in columns["offset"]) == 1, data
            assert sum(start >= len(data) - len(behind) - 1 for start in columns["offset"]) == 1, data
            broken += len(rejects) > 0
    assert broken > 4


@pytest.mark.parametrize(
    "rest", ['"t":\n"2026-01-01T00:00","origin":{"":""},"":{}}', '\n"2026-01-01T00:00":1,"origin":{}}x']
)
@pytest.mark.parametrize("front", ['{"":', '{"a":1,"b":', '{"":{"":', '{"":[', ""])
def test_an_object_that_closes_in_a_further_line_is_judged_by_itself(front: str, rest: str) -> None:
    """Its parent ends with the first line, since the next one begins with a time."""
    rejects = both("sstp", f'{front}{{"kind":"intent","d":"",{rest}'.encode())[1]
    assert [one["offset"] for one in rejects] == [len(front)]


# --- rejects: every damaged range with its place, reason and bytes ----------------------------------------------------


DATA = GOOD + b"\n@a3|q\xff \n" + GOOD + b'@a1|t"x\n@c0|'


def scanned(source: Any, **options: Any) -> quarantine.Rejects:
    found = scan_nslip(source, **options)
    for _ in found:
        pass
    return found.rejects


def test_what_a_reject_says(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", DATA)
    second, third = DATA.index(b"@a1"), DATA.index(b"@c0|")
    first = len(GOOD) + 1
    expected = [
        (first, 7, 2, first + 5, "bad_digit", b"@a3|q\xff "),
        (second, 7, 3, second + 7, "newline_in_string", b'@a1|t"x'),
        (third, 4, 4, third + 4, "bad_framing", b"@c0|"),
    ]
    names = ("offset", "length", "line", "fault", "reason", "raw")
    rejects = scanned(path)
    common = {"file": str(path), "wire": "nslip", "inner": None}
    rows = [{**common, **dict(zip(names, row, strict=True))} for row in expected]
    assert rejects.rows() == list(rejects.since(0)) == rows
    assert list(rejects.since(2)) == rows[2:]
    assert list(rejects.since(3)) == []
    assert (len(rejects), rejects.bytes) == (3, 18)
    assert rejects.counts == {"bad_digit": 1, "newline_in_string": 1, "bad_framing": 1}
    assert rejects.names == ("file", "offset", "length", "line", "fault", "wire", "reason", "raw", "inner")
    assert repr(rejects) == "<Rejects 3 ranges, 18 bytes>"
    assert rejects["offset"].dtype == rejects["fault"].dtype == np.int64
    assert rejects["raw"] == [row["raw"] for row in rows]
    assert {type(value) for row in rejects.rows() for value in row.values()} == {str, int, bytes, type(None)}
    with pytest.raises(KeyError, match="file, offset"):
        rejects["tag"]


def test_many_rejects_in_one_block_and_over_several_files(tmp_path: Path) -> None:
    """More than fit into the table of a block, several times over, with and without gaps between them."""
    number = 1505
    (tmp_path / "a.log").write_bytes(b"@a1|" * number)
    (tmp_path / "b.log").write_bytes(b"@a1| \n" * number)
    rejects = scanned(tmp_path)
    assert len(rejects) == 2 * number
    assert rejects.counts == {"unknown_prefix": 2 * number - 1, "bad_framing": 1}
    raw = rejects["raw"]
    assert raw[:number] == [b"@a1|"] * number
    assert raw[number:] == [b"@a1| "] * number
    assert rejects["offset"].tolist() == [*range(0, 4 * number, 4), *range(0, 6 * number, 6)]
    assert rejects["line"].tolist() == [1] * number + list(range(1, number + 1))
    assert rejects["file"] == [str(tmp_path / "a.log")] * number + [str(tmp_path / "b.log")] * number
    assert [row["raw"] for row in rejects.since(number - 1)] == raw[number - 1 :]
    skipped = scanned(tmp_path, errors="skip")
    assert (skipped.counts, skipped.bytes, skipped.rows()) == (rejects.counts, rejects.bytes, [])
    exported = pytest.importorskip("pyarrow").record_batch(skipped)
    assert skipped.kept == len(skipped.valid("inner")) == exported.num_rows == 0


def test_raw_bytes_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a size they wait on disk; reading in between disturbs nothing."""
    monkeypatch.setattr(quarantine, "IN_MEMORY", 100)
    found = scan_nslip(b"@a1|f0 xyz\n" * 200 + GOOD + b"\n", batch_bytes=50)
    for _ in found:
        assert set(found.rejects["raw"]) == {b"@a1|f0 xyz"}
    assert found.rejects["raw"] == [b"@a1|f0 xyz"] * 200
    found.rejects.close()
    del found
    gc.collect()


def test_since_while_scanning() -> None:
    chance = random.Random(8)
    data = b"\n".join(damaged_log(chance, LINES) for _ in range(20))
    found = scan_nslip(data, batch_bytes=200)
    seen: list[Any] = []
    for _ in found:
        seen += found.rejects.since(len(seen))
    seen += found.rejects.since(len(seen))
    assert seen == found.rejects.rows()
    assert len(seen) > 15


def test_a_fault_in_front_of_a_range_is_in_an_earlier_line() -> None:
    """As of the first one that is raised. Of a range as long as what is shown of it nothing is left out."""
    data = b"a\nb\n" + b"x" * 81
    for length, more in ((80, ""), (81, "...")):
        found = {
            name: np.array([number])
            for name, number in (("offset", 14), ("fault", 11), ("line", 5), ("reason", 1), ("wire", 0))
        }
        found["length"] = found["own_bytes"] = np.array([length])
        error = quarantine.first_error(found, None, memoryview(data), 10)
        assert (error.line, error.offset) == (3, 11)
        assert error.text.endswith(f"{b'x' * 80!r}{more}")
        counted = quarantine.Rejects()
        counted.add(found, 1, memoryview(data), 10, None, False)
        assert (len(counted), counted.bytes, counted.rows()) == (1, length, [])
    assert quarantine.fault_line({"fault": 11, "offset": 14, "line": 5, "raw": b"x\ny\nzzzz"}) == 5


def test_words_and_pointers_are_those_of_the_reason() -> None:
    """Reading a range alone may find another fault than the scan did: then the reason has to say it all."""
    slip = b"@a3|f0|c-|S0|d1|T1#"
    header = {"kind": "intent", "actor_id": "a", "schema_id": "ioc.intent.v0", "session_id": "s", "logical_clock": "x"}
    intent = json.dumps({"header": header, "payload": {}}).encode()
    for wire, raw in ("nslip", slip), ("sstp", intent):
        assert quarantine.explained(wire, "message_too_large", raw, None) == ("message too large", None)
        [(reason, said)] = [(one.reason, one.text) for one in turnwire.scan(raw).errors()]
        with pytest.raises(DecodeError) as caught:
            list(turnwire.scan(raw, errors="raise"))
        path = caught.value.path
        assert quarantine.explained(wire, reason, raw, None) == (said, path)
        assert said != "message too large"
    assert path is not None
