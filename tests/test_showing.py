"""Notebooks show a scan: every text is escaped, whatever stands in a log, and nothing is read for it."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import turnwire
from turnwire import csp, kick, nslip, sap, sstp
from turnwire._backend import core_module
from turnwire.nslip.spec import Slot
from turnwire.showing import MOST_ROWS, MOST_TEXT, UNSAFE, cell, escaped_json, fields, table

pytestmark = pytest.mark.once

HOSTILE = "<script>alert(1)</script><img src=x onerror=a>&amp;\"'\x1b[31m\x00\x9b\u202e\u2028\ud800\t\n⫻"
_UNSAFE = re.compile(f"[\x00-\x1f{UNSAFE}]")
TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


class _Reader(HTMLParser):
    """The cells of tables; anything but a plain tag of a table is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        assert tag in TAGS and not attrs, (tag, attrs)
        self.open.append(tag)
        if tag in ("tr", "caption"):
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] == "caption":
            self.rows[-1].append(data)
        else:
            assert self.open[-1] in ("td", "th")
            self.rows[-1][-1] += data


def shown(thing: Any) -> list[list[str]]:
    """The rows of what a notebook shows of a thing; the caption is the first one."""
    text = thing if isinstance(thing, str) else thing._repr_html_()
    assert not _UNSAFE.search(text)
    text.encode()
    return _Reader(text).rows


def hostile(rows: list[list[str]]) -> None:
    """The text that was written is there, as text."""
    assert any("<script>alert(1)</script><img" in one for row in rows for one in row)
    assert any("\\x1b[31m\\x00\\x9b\\u202e\\u2028" in one for row in rows for one in row)


NSLIP_TEXT = HOSTILE.replace("\ud800", "").replace('"', '\\"')
MESSAGES: list[Any] = [
    nslip.decode(f'@a3|f0|c1|S2|d3|T1|u"{NSLIP_TEXT}"#', unknown="keep"),
    csp.CspMessage("A", "B", "C0", "TASK", csp.Task("T1", {"REQ": HOSTILE, HOSTILE: "x"})),
    sstp.Intent({"actor_id": HOSTILE}, {"goal": [HOSTILE], HOSTILE: 1}, {HOSTILE: HOSTILE}),
    sap.Task(taskId=HOSTILE, payload={HOSTILE: {"x": HOSTILE}}),
    kick.Envelope("1", "2026-01-15T10:00:00Z", "A", "B", "Command", "⫻a/b", HOSTILE, extra={HOSTILE: 1}),
    kick.parse_space(f"⫻content/a:x\n{HOSTILE.replace(chr(0xD800), '')}", mode="lenient"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_messages(message: Any) -> None:
    rows = shown(message)
    assert rows[0][0].split()[0] == type(message).__name__
    hostile(rows)


def test_both_twins_of_a_message(backend: str) -> None:
    core = core_module(backend, "nslip.codec")
    rows = shown(
        core.SlipMessage(1, 2, 3, 4, nslip.Act.ASK, nslip.FrameType.TASK, {Slot.TAG: HOSTILE}, extra={"q": "9"})
    )
    assert rows[:3] == [["SlipMessage"], ["conv_id", "1"], ["turn", "2"]]
    assert ["act", "ASK"] in rows and ["frame", "TASK"] in rows and ["extra.q", "9"] in rows
    hostile(rows)
    rows = shown(kick.Envelope("1", "2026-01-15T10:00:00Z", "A", HOSTILE, "Query", "⫻a/b", "c", None))
    assert ["type", "Query"] in rows
    hostile(rows)


def test_the_fields_of_messages() -> None:
    message = sstp.Intent({"actor_id": "A", "logical_clock": 1}, {"goal": "g"}, {"x": None})
    assert shown(message) == [
        ["Intent"],
        ["header.actor_id", "A"],
        ["header.logical_clock", "1"],
        ["payload.goal", "g"],
        ["x", ""],
    ]
    record = csp.message("A", "B", "C0", csp.Task("T1", {"REQ": "do", "IN": "it"}))
    assert shown(record)[4:] == [["intent", "TASK"], ["block", "TASK"], ["id", "T1"], ["req", "do"], ["in", "it"]]


def test_a_scan_reads_nothing_to_be_shown(tmp_path: Path) -> None:
    source = io.BytesIO(b'@a3|f0|c1|S0|d1|T1|t"x"#\n@a3|f0|c-|S0|d1|T1#\n')
    scan = turnwire.scan(source, wire="nslip", columns=["src", "tag"])
    assert shown(scan) == [["Scan, not read yet"], ["source", "BytesIO"], ["wire", "nslip"], ["columns", "src, tag"]]
    assert source.tell() == 0
    list(scan)
    rows = dict(row for row in shown(scan) if len(row) == 2)
    assert (rows["records"], rows["rejects"], rows["selected"]) == ("nslip 1", "bad_digit 1", "1")
    assert rows["bytes"] == str(len(source.getvalue()))
    for sources, text in ([], "nothing"), ([b"ab"] * 5, ", ".join(["2 bytes"] * 5)), ([b"ab"] * 6, "1 more"):
        assert dict(row for row in shown(turnwire.scan(sources)) if len(row) == 2)["source"].endswith(text)
        assert ("more" in text) == (len(sources) > 5)
    for missing in (str(tmp_path / HOSTILE.replace("/", "").replace("\0", "")), [HOSTILE.replace("\0", "")] * 9):
        rows = dict(row for row in shown(turnwire.scan(missing)) if len(row) == 2)
        assert "<script>" in rows["source"] and rows["wire"] == "all"


@pytest.mark.parametrize(
    ("data", "records", "rejects"),
    [
        (b"", "0", "0"),
        (b"@a3|f0|c1|S0|d1|T1#\n", "nslip 1", "0"),
        (b"@a3|f0|c-|S0|d1|T1#\n", "0", "bad_digit 1"),
        (b"@a3|f0|c1|S0|d1|T1#\n" * 1000 + b"@a3|f0|c-|S0|d1|T1#\n@a3|f0|c1 x\n" * 2, "nslip 1,000", "bad_digit 4"),
    ],
)
def test_of_all_wires_those_that_were_met_are_shown(data: bytes, records: str, rejects: str) -> None:
    scan = turnwire.scan(data)
    list(scan)
    rows = dict(row for row in shown(scan) if len(row) == 2)
    assert (rows["records"], rows["rejects"]) == (records, rejects)


def test_batches_and_rejects() -> None:
    text = NSLIP_TEXT.replace("\n", "").replace("\0", "\x01")
    data = f'@a3|f0|c1|S0|d1|T1|t"{text}"#\n'.encode() * 25 + b"@a3|f0|c<b>\x1b\xff|S0|d1|T1#\n" * 12
    scan = turnwire.scan(data, wire="nslip", columns=["line", "act", "goal_id", "tag"])
    (batch,) = scan
    rows = shown(batch)
    assert rows[0] == ["Batch of 25 records, the first 10"]
    assert rows[1] == ["line", "act", "goal_id", "tag"]
    assert [row[:3] for row in rows[2:]] == [[str(line), "REQUEST", ""] for line in range(1, 11)]
    assert "<script>alert(1)</script>" in rows[2][3] and "\\u202e" in rows[2][3]
    rows = shown(scan.rejects)
    assert rows[0] == ["Rejects: 12, 10 of them here (bad_digit 12)"]
    assert len(rows) == 12
    assert rows[2][rows[1].index("raw")] == "@a3|f0|c<b>\\x1b\\xff|S0|d1|T1#"
    list(scan.errors())
    assert shown(scan.rejects) == [["Rejects: 12, 0 of them here (bad_digit 12)"], rows[1]]
    assert shown(turnwire.scan(b"").read().rejects)[0] == ["Rejects: 0"]


def test_tables_of_tokens() -> None:
    pytest.importorskip("splintr")
    from turnwire import tokens

    message = nslip.SlipMessage(1, 2, 3, 4, nslip.Act.ASK, nslip.FrameType.TASK, {Slot.TAG: HOSTILE[:20]})
    compared = tokens.compare([message], tokenizers=["o200k_base"])
    rows = shown(compared)
    assert rows[0][0].startswith("o200k_base (")
    assert rows[1][:3] == ["rank", "format", "tokens"]
    assert {row.format for row in compared.rows} == {row[1] for row in rows[2:]}
    advice = tokens.advise(nslip.encode(message).encode())
    assert shown(advice)[0][0].startswith("o200k_base (")


def test_long_values_are_cut() -> None:
    assert cell("x" * 1000) == "x" * MOST_TEXT + "…"
    assert len(cell([1] * 100_000)) < 200
    assert cell({"a": "<" * 1000}).count("&lt;") <= MOST_TEXT
    rows = shown(fields("many", ((str(number), number) for number in range(100))))
    assert (len(rows), rows[-1]) == (MOST_ROWS + 2, ["…", f"{100 - MOST_ROWS} more fields"])
    assert shown(table("none", (), [])) == [["none"]]
    deep: Any = 1
    for _ in range(500):
        deep = {"a": deep}
    assert len(shown(fields("deep", [("a", deep)]))) == 2
    json.dumps(deep)


@pytest.mark.parametrize("unsafe", ["\x7f", "\x80", "\u202e", "\U000e0001"])
def test_lines_of_json_have_no_unsafe_character_as_such(unsafe: str) -> None:
    """Also where all of the others are ASCII."""
    escaped = escaped_json(f'{{"a":"x{unsafe}"}}\n'.encode())
    assert escaped.isascii() and b"\x7f" not in escaped and json.loads(escaped) == {"a": f"x{unsafe}"}
