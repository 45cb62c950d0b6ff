"""Rejects: every damaged range with its place, reason and bytes."""

from __future__ import annotations

import gc
import json
import random
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.log.engines import GOOD, damaged_log
from tests.log.found import fed, in_pieces
from tests.log.test_scan import LINES, scan_nslip
from turnwire import DecodeError, Decoder, scan
from turnwire.log.output import rejects as quarantine

pytestmark = pytest.mark.usefixtures("scan_core")
DATA = GOOD + b"\n@a3|q\xff \n" + GOOD + b'@a1|t"x\n@c0|'


def scanned(source: Any, **options: Any) -> quarantine.Rejects:
    found = scan_nslip(source, **options)
    for _ in found:
        pass
    return found.rejects


def test_what_a_reject_says(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(DATA)
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


CANDIDATES = ["@a3|", "@f0|x", "@T12345678901|", "@c1|@d2|", "@Szzzzzzzzzzz|#"]


@pytest.mark.parametrize("wire", [None, "nslip"])
@pytest.mark.parametrize("text", CANDIDATES)
def test_candidates_that_fail(text: str, wire: str | None) -> None:
    number = text.count("@")
    found = scan(text.encode(), wire=wire)
    assert (sum(map(len, found)), len(found.rejects)) == (0, number)
    messages, errors = fed(Decoder("nslip"), in_pieces(text.encode(), 1))
    assert (messages, len(errors)) == ([], number)


LOOK_ALIKES = [
    {"version": "0", "kind": "intent", "protocol": "SSTP", "origin": {"actor_id": "a"}, "payload": {}},
    {"kind": "knowledge", "message_id": "m", "origin": {"actor_id": "a"}, "payload": {"content": "x"}},
    {"kind": "note", "protocol": "SSTP/0", "origin": {}},
    {"header": {"protocol": "SSTP", "participants": ["a"]}, "payload": {}},
    {"header": {"protocol": "L9", "kind": "intent"}, "payload": {}},
]


@pytest.mark.parametrize("message", LOOK_ALIKES)
def test_dialects_of_sstp_are_named(message: dict[str, Any]) -> None:
    text = json.dumps(message)
    with pytest.raises(DecodeError, match="dialect") as caught:
        import_module("turnwire.sstp").decode(text)
    assert caught.value.reason == "look_alike"
    for wire in (None, "sstp"):
        for line in (text, json.dumps({"log": text})):
            found = scan(line.encode(), wire=wire)
            assert sum(map(len, found)) == 0
            assert [(one["wire"], one["reason"]) for one in found.rejects.rows()] == [("sstp", "look_alike")]
