"""``turnwire.scan(wire="csp")``: what is found, that nothing is lost, batches as columns, any number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.log.found import add_up as check_sums, everything
from turnwire import LIMITS, Scan, csp, scan

pytestmark = pytest.mark.usefixtures("scan_core")


def message(number: int, data: str = "x") -> bytes:
    """A RESULT; content that is more than one line makes a heredoc."""
    return csp.encode(csp.message("A", "B", "C0", csp.Result(f"T{number}", {"STATUS": "OK", "DATA": data}))).encode()


def add_up(data: bytes, found: Scan) -> tuple[dict[str, list[Any]], list[dict[str, Any]], Any]:
    """The results of a scan for CSP/1, of which every byte belongs to one record, reject or text."""
    met = everything(found)
    check_sums(data, met, "csp")
    return met


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
        assert batch["intent"].tolist() == ["RESULT", "RESULT", "TEMPLATE", "RESULT"]
        assert batch["line"].tolist() == [1 + data.count(b"\n", 0, data.index(wire)) for wire in wires]


def test_a_message_with_an_unclosed_heredoc_in_front_is_marked_in_every_block() -> None:
    opened = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M\nK\n<<<\n"
    data = message(1) + b"\n" + opened + b"".join(message(number) + b"\n" for number in range(2, 40))
    for batch_bytes in (1 << 20, 100, 1):
        columns, rejects, _ = add_up(data, scan(data, wire="csp", batch_bytes=batch_bytes))
        assert columns["inside_unclosed_heredoc"] == [False] + [True] * 38
        assert [one["reason"] for one in rejects] == ["unclosed_heredoc"]


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
    "a byte order mark within": (message(1) + b"\n\xef\xbb\xbf" + message(2), 2, []),
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


@pytest.mark.parametrize("text", ["{}", "Some text\n\n{}", "```\n{}```\n"], ids=["alone", "prose", "fence"])
@pytest.mark.parametrize("header", ["From MAIN", "from MAIN", "From: MAIN", "FROM: MAIN", "To MAIN", "Intent = TASK"])
def test_a_scan_gives_at_least_a_reject(text: str, header: str) -> None:
    good = "CSP/1\nFROM MAIN\nTO CODE\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ find it\n"
    found = scan(text.format(good.replace("FROM MAIN", header)).encode())
    assert (sum(map(len, found)), len(found.rejects)) == (0, 1)
