"""``Scan.messages()`` and ``Scan.errors()``: records and damaged ranges one by one, in the order of the input."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.log.mixed_logs import GOOD_JSON
from turnwire.log import Message, Reject

pytestmark = pytest.mark.usefixtures("scan_core")

NSLIP = b'@a3|f0|c1|S0|d1|T1|t"hello"#'
CSP = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA done\n```\n"
SSTP = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))


def test_messages_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    wrapped = json.dumps({"log": "sent " + NSLIP.decode()}).encode()
    path.write_bytes(NSLIP + b"\n" + b"12:00 INFO " + NSLIP + b"\n" + wrapped + b"\n" + CSP + SSTP)
    for source, name in ((path, str(path)), (path.read_bytes(), None)):
        found = list(turnwire.scan(source, columns=["subject"]).messages())
        assert [one.wire for one in found] == ["nslip", "nslip", "nslip", "csp", "sstp"]
        assert {one.file for one in found} == {name}
        assert [one.line for one in found] == [1, 2, 3, 4, 14]
        assert [one.wrapped for one in found] == ["line", "text", "json_string", "line", "line"]
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


def test_messages_that_are_wanted() -> None:
    data = b"\n".join(b"@a3|f0|c%d|S0|d1|T1#" % number for number in range(10))
    for options in ({}, {"threads": 2, "batch_bytes": 30}):
        found = turnwire.scan(data, wire="nslip", where={"conv_id": (3, 6)}, **options)
        assert [(one.message.conv_id, one.line) for one in found.messages()] == [(3, 4), (4, 5), (5, 6)]
        assert (found.counts.wires, found.counts.selected) == ({"nslip": 10}, 3)


def test_messages_in_the_middle_of_a_line_that_blocks_cut() -> None:
    data = b"x " + NSLIP * 40
    for batch_bytes in (1, 64, 1 << 20):
        found = list(turnwire.scan(data, wire="nslip", batch_bytes=batch_bytes).messages())
        assert [one.wrapped for one in found] == ["text"] * 40


def test_what_begins_its_line() -> None:
    """However far in front of it the line begins, and wherever blocks are cut."""
    lines = [b"", b" ", b"\t  \r ", b" " * 7, b" " * 8, b" " * 9, b" " * 300, b"x", b"x ", b"x" + b" " * 7]
    lines += [b"x" + b" " * 8, b"x" * 400, b"x" + b" " * 100]
    data = b"\n".join([*(line + NSLIP for line in lines), NSLIP + NSLIP])
    wrapped = ["line" if not line.strip() else "text" for line in lines] + ["line", "text"]
    for part in (data, data[:-1], b"\n" + data, b"noise\n" + data):
        found = turnwire.scan(part, wire="nslip").messages()
        assert [one.wrapped for one in found] == wrapped[: None if part != data[:-1] else -1]
    for batch_bytes in (1, 40, 100):
        assert [one.wrapped for one in turnwire.scan(data, batch_bytes=batch_bytes).messages()] == wrapped


def test_messages_raise_behind_what_is_good() -> None:
    messages = turnwire.scan(NSLIP + b"\n@a3|f0|c-|S0|d1|T1#\n" + NSLIP, errors="raise").messages()
    assert next(messages).line == 1
    with pytest.raises(turnwire.DecodeError, match="bad_digit"):
        next(messages)


def damaged() -> bytes:
    return b"\n".join([NSLIP, b"@a3|f0|c-|S0|d1|T1#", NSLIP, b'{"log":"@a3|f0|c1|S0|d1|Tx-#"}', b"@a3|f0|c1", NSLIP])


@pytest.mark.parametrize("options", [{}, {"batch_bytes": 1}, {"threads": 3, "batch_bytes": 20}, {"errors": "skip"}])
def test_errors_are_the_rejects(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(damaged())
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


def test_errors_in_words(tmp_path: Path) -> None:
    first, inside, last = turnwire.scan(damaged()).errors()
    assert isinstance(first, Reject)
    with pytest.raises(turnwire.DecodeError) as caught:
        turnwire.decode(first.raw)
    assert (first.text, first.reason) == (caught.value.text, str(caught.value.reason))
    assert str(first) == f"2: byte {first.fault}: nslip: {first.reason}: {first.text}"
    assert (inside.inner, last.inner) == (0, None)
    path = tmp_path / "a\x1b\u202e.log.gz"
    path.write_bytes(gzip.compress(NSLIP)[:-4])
    (cut,) = turnwire.scan(path).errors()
    assert (cut.wire, cut.reason, cut.raw) == ("gzip", "cut_off", b"")
    assert "as stored" in cut.text
    assert "\x1b" not in str(cut) and "\u202e" not in str(cut)


def test_a_newline_in_a_string_is_a_fault_of_a_log_only() -> None:
    (one,) = turnwire.scan(b'@a3|f0|c1|S0|d1|T1|t"x\ny"#\n', wire="nslip").errors()
    assert (one.reason, one.text) == ("newline_in_string", "newline in string")


@pytest.mark.parametrize("way", ["messages", "errors"])
def test_memory_stays_bounded(way: str, scan_core: str) -> None:
    """Of a log of any length, what stands in memory is a batch, or the ranges of a block."""
    part = (NSLIP if way == "messages" else b"@a3|f0|c1|S0|d1|Tx-#") + b" " * 400 + b"\n"

    def peak(times: int) -> int:
        log = io.BytesIO(part * times)
        tracemalloc.start()
        met = sum(1 for _ in getattr(turnwire.scan(log, wire="nslip", batch_bytes=1 << 14), way)())
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert met == times
        return found

    peak(50)
    few, many = peak(300), peak(1200)
    assert many < few * 1.3 + 100_000


def test_they_are_lazy() -> None:
    class Log:
        reads = 0

        def read(self, size: int) -> bytes:
            self.reads += 1
            return ((NSLIP + b"\n") * (size // len(NSLIP)))[:size]

    log = Log()
    found = turnwire.scan(log, wire="nslip", batch_bytes=3000)
    messages = found.messages()
    assert log.reads == 0
    assert [next(messages).line for _ in range(3)] == [1, 2, 3]
    assert log.reads < 5
