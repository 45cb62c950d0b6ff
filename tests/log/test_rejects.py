"""Rejects: every damaged range with its place, reason and bytes; ordinary JSON is text."""

from __future__ import annotations

import gc
import io
import json
import random
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.log.engines import ENGINES, GOOD, LIMIT, damaged_log, read
from tests.log.found import fed, in_pieces
from tests.log.test_scan import LINES, scan_nslip
from turnwire import LIMITS, DecodeError, Decoder, extract, scan
from turnwire.log.output import rejects as quarantine

DATA = GOOD + b"\n@a3|q\xff \n" + GOOD + b'@a1|t"x\n@c0|'


def scanned(source: Any, **options: Any) -> quarantine.Rejects:
    found = scan_nslip(source, **options)
    for _ in found:
        pass
    return found.rejects


@pytest.mark.usefixtures("scan_core")
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


@pytest.mark.usefixtures("scan_core")
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


@pytest.mark.usefixtures("scan_core")
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


@pytest.mark.usefixtures("scan_core")
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


@pytest.mark.usefixtures("scan_core")
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


@pytest.mark.usefixtures("scan_core")
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


usesbackend = pytest.mark.usefixtures("scan_core")

TEXT = [
    "@dataclass",
    "@a",
    "@a3",
    "@a3#",
    "@a3 |f0",
    "@c123456789012|",
    "@d|",
    "@T-1|",
    "@app.route('/')|",
    "@angular/core",
    "@s3|",
    "@A3|f0|c1#",
    "a@a.org|b@c.net|",
    "@f\u00e9|",
    '@a"3"|',
]

CANDIDATES = ["@a3|", "@f0|x", "@T12345678901|", "@c1|@d2|", "@Szzzzzzzzzzz|#"]


@usesbackend
@pytest.mark.parametrize("wire", [None, "nslip"])
@pytest.mark.parametrize("text", TEXT)
def test_other_text(text: str, wire: str | None) -> None:
    for data in (text.encode(), f"{text}\n {text} {text}".encode(), json.dumps({"log": text}).encode()):
        for batch_bytes in (1, 5, 1 << 20):
            found = scan(io.BytesIO(data), wire=wire, batch_bytes=batch_bytes)
            assert (sum(map(len, found)), found.rejects.rows()) == (0, [])
    assert fed(Decoder("nslip"), in_pieces(text.encode(), 1)) == ([], [])
    assert extract(f"{text} {GOOD.decode()}")[0].start == len(text) + 1


@usesbackend
@pytest.mark.parametrize("wire", [None, "nslip"])
@pytest.mark.parametrize("text", CANDIDATES)
def test_candidates_that_fail(text: str, wire: str | None) -> None:
    number = text.count("@")
    found = scan(text.encode(), wire=wire)
    assert (sum(map(len, found)), len(found.rejects)) == (0, number)
    messages, errors = fed(Decoder("nslip"), in_pieces(text.encode(), 1))
    assert (messages, len(errors)) == ([], number)


@usesbackend
@pytest.mark.parametrize("limit", [len(GOOD), len(GOOD) + 9])
def test_a_record_at_the_edge_of_a_piece_of_a_long_line(limit: int) -> None:
    """Wherever the piece ends in it, and with what may become a candidate in front of it."""
    limits = LIMITS._replace(message=limit)
    for before in range(0, 2 * len(GOOD), 3):
        for filler in (b"x", b"@a3"):
            data = filler * before + GOOD + b" " + b"y" * 20 + b"\n"
            for batch_bytes in (1, 37):
                found = scan(io.BytesIO(data), limits=limits, batch_bytes=batch_bytes)
                assert (sum(map(len, found)), len(found.rejects)) == (1, 0), (before, filler, batch_bytes)


@pytest.mark.parametrize("name", ENGINES)
def test_candidates_that_are_longer_than_the_limit_are_rejects(name: str) -> None:
    data = b"x @a12345678901|f0 @c1| @d2|\n"
    for limit in (1, 2, 3, 4, 5, 13, 14, 15, 16, 19):
        once = read(name, data, limit=limit)
        assert [one["offset"] for one in once[1]] == [2, 19, 24]
        for size in range(1, len(data), 3):
            assert read(name, data, limit=limit, batch_bytes=size) == once


@pytest.mark.parametrize("name", ENGINES)
def test_a_damaged_record_ends_where_the_next_candidate_begins(name: str) -> None:
    data = b"@a3|f0 bad @a4 @c123456789012| @T9|\n"
    _, rejects, _ = read(name, data)
    assert [(one["offset"], one["length"]) for one in rejects] == [(0, 31), (31, 4)]


BIG = b"@a3|f0|c1|S0|d1|T1|gzzzzzzzzzzz|k1#"
"""Up to its last digit but one the number of slot g is small enough."""


@pytest.mark.parametrize("name", ENGINES)
def test_a_number_is_too_large_by_the_digits_within_the_limit_of_a_scan(name: str) -> None:
    at = BIG.index(b"z|")
    whole, cut, free = (read(name, BIG + b"\n", limit=limit)[1] for limit in (at + 1, at, LIMIT))
    assert [[one["length"] for one in found] for found in (whole, cut)] == [[at + 1], [at]]
    assert [one["reason"] for one in whole] == [one["reason"] for one in free] != [one["reason"] for one in cut]


LOOK_ALIKES = [
    {"version": "0", "kind": "intent", "protocol": "SSTP", "origin": {"actor_id": "a"}, "payload": {}},
    {"kind": "knowledge", "message_id": "m", "origin": {"actor_id": "a"}, "payload": {"content": "x"}},
    {"kind": "note", "protocol": "SSTP/0", "origin": {}},
    {"header": {"protocol": "SSTP", "participants": ["a"]}, "payload": {}},
    {"header": {"protocol": "L9", "kind": "intent"}, "payload": {}},
]


@pytest.mark.usefixtures("scan_core")
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


ORDINARY = [
    {"name": "app", "version": "1.0.0", "type": "module", "dependencies": {"@angular/core": "^17.0.0", "d3|x": "*"}},
    {"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"in": "header", "name": "x", "content": {}}]}}}},
    {"time": "2026-01-01T00:00:00Z", "level": "info", "sender": "a@b.org", "receiver": "c@d.org", "channel": "mail"},
    {"id": "1", "sender": "Ann", "receiver": "Bob", "timestamp": "2026-01-01T00:00:00Z", "content": "Hi @all"},
    {"id": 1, "timestamp": 2, "sender": "Ann", "receiver": "Bob", "type": "text", "channel": "#dev", "content": "x"},
    {"header": {"title": "Chat"}, "payload": {"messages": []}},
    {"header": {"alg": "RS256", "typ": "JWT"}, "payload": {"sub": "1"}, "signature": "x"},
    {"header": "eyJhbGciOi", "payload": "eyJzdWIi", "signature": "x"},
    {"header": {"schema_id": 12, "kind": "created"}, "payload": {"content": "x"}},
    {"header": {"actor_id": "u1", "event": "login"}, "payload": {"scope": "all", "task": "x"}},
    {"header": {"protocol": "https"}, "payload": {}},
    {"header": None, "payload": None},
    {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {}, "spec": {}, "origin": {"host": "a"}},
    {"specversion": "1.0", "type": "com.example", "source": "/a", "id": "1", "data": {"payload": {}}},
    {"kind": "query", "payload": {"question": "x"}},
    {"from": "a@b.org", "to": ["c@d.org"], "subject": "x", "headers": {"Message-ID": "<1>"}, "body": "Hi"},
    {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}},
    {"protocolVersion": "1.3", "target": "page", "issuer": "x"},
    {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18", "serverInfo": {}}},
    {"taskId": "1", "correlationId": "2", "status": "FAILED", "producer": "kafka", "target": "x"},
    {"messageId": "1", "correlationId": "2", "status": "ACK", "queue": "q", "broker": "b", "ts": 1},
    {"messageId": "1", "correlationId": "2", "status": "DELIVERED"},
    {"role": "user", "content": "\u2afbtask/dispatch:T-7/001\nGo."},
    {"channel": "\u2afbcommand"},
    {"channel": {"id": 1}, "sender": {"id": 2}, "receiver": None},
]


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("value", ORDINARY)
def test_ordinary_json_is_text(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    forms = [text, json.dumps(value, ensure_ascii=False), json.dumps({"log": text}), json.dumps([value]), text * 2]
    forms += [json.dumps(value, indent=2), *(text[:size] for size in range(0, len(text), 17))]
    lines = [f"INFO {form}\n".encode() for form in forms]
    for wire, logs in ((None, lines), *((one, [b"".join(lines)]) for one in ("nslip", "csp", "sstp", "sap", "kick"))):
        for data in logs:
            found = scan(data, wire=wire)
            assert (sum(map(len, found)), found.rejects.rows()) == (0, []), data
