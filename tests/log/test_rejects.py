"""The quarantine: every damaged range with its place, its reason and its bytes."""

from __future__ import annotations

import gc
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.log.engines import GOOD, damaged_log
from tests.log.test_scan import LINES, scan_nslip
from turnwire import registry
from turnwire.errors import Reason
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


def test_no_rejects() -> None:
    rejects = scanned(GOOD)
    assert (len(rejects), rejects.rows(), rejects["raw"], rejects["offset"].tolist()) == (0, [], [], [])
    assert list(rejects.since(0)) == []


def test_many_rejects_in_one_block_and_over_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than fit into the table of a block, several times over, with and without gaps between them."""
    monkeypatch.setattr(quarantine, "ROOM", 500)
    number = 3 * quarantine.ROOM + 5
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


@pytest.mark.once
def test_rejects_that_were_never_made_end_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption can come before there is a file to close; what a ``__del__`` raises is an error in tests."""

    def interrupted(*_: object, **__: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(quarantine, "BytesIO", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quarantine.Rejects()
    gc.collect()


def test_a_fault_in_front_of_a_range_is_in_an_earlier_line() -> None:
    """As of the first one that is raised. Of a range as long as what is shown of it nothing is left out."""
    data, scanner = b"a\nb\n" + b"x" * 81, registry.bulk_scanner("nslip")
    for length, more in ((80, ""), (81, "...")):
        found = {
            name: np.array([number]) for name, number in (("offset", 14), ("fault", 11), ("line", 5), ("reason", 1))
        }
        found["length"] = np.array([length])
        error = quarantine.first_error(found, scanner, None, memoryview(data), 10)
        assert (error.line, error.offset) == (3, 11)
        assert error.text.endswith(f"{b'x' * 80!r}{more}")
        counted = quarantine.Rejects()
        counted.add(found, 1, memoryview(data), 10, None, scanner, False)
        assert (len(counted), counted.bytes, counted.rows()) == (1, length, [])
    assert quarantine.fault_line({"fault": 11, "offset": 14, "line": 5, "raw": b"x\ny\nzzzz"}) == 5


def test_words_and_pointers_are_those_of_the_reason() -> None:
    """Reading a range alone may find another fault than the scan did: then the reason has to say it all."""
    slip = b"@a3|f0|c-|S0|d1|T1#"
    header = {"kind": "intent", "actor_id": "a", "schema_id": "ioc.intent.v0", "session_id": "s", "logical_clock": "x"}
    intent = json.dumps({"header": header, "payload": {}}).encode()
    for wire, raw in ("nslip", slip), ("sstp", intent):
        assert quarantine.explained(wire, "message_too_large", raw, None) == ("message too large", None)
        [(reason, said, path)] = [
            (Reason(one.reason), one.text, quarantine._pointer(raw, wire, Reason(one.reason)))
            for one in turnwire.scan(raw).errors()
        ]
        assert quarantine.explained(wire, str(reason), raw, None) == (said, path)
        assert said != "message too large"
        assert quarantine._pointer(raw, wire, Reason.MESSAGE_TOO_LARGE) is None
    assert path is not None


def test_what_was_handed_out_is_in_no_later_range() -> None:
    data = [b"@a3|f0|c-|S0|d1|T1#", b"@a3|f0|c1|S0|d?|T12345#", b"@a3|f0|c1|S0|dxx-|T1#"]
    found = turnwire.scan(b"".join(line + b"\n" for line in data), batch_bytes=20)
    assert [one.raw for one in found.errors()] == data
