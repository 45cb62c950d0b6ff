"""Wires that turnwire does not bring, among all others: a scan of one is a filter, however the input is cut."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import turnwire
from tests.log.mixed_logs import csp_message, damaged_log, good_log
from tests.log.test_filter import assembled, facts
from tests.nslip.twins import rounds
from turnwire import LIMITS
from turnwire.log.engine.all_wires import finder

NOTE = '{"note":"ask","id":"7","from":"ada","to":"bob","text":"how far?"}'
BEEPS = ("~ada>bob:hello~", "~a>b:@a3|f0|c3|S0|d1|T1#~", "~a>b:{}~", "~eve>bob:MEMO x~", '~a>b:"q\\u00e9"~', "~a>b:~")
BAD_BEEPS = ("~ada>bob:cut", "~ada>bob:cut @a3|f0|c3|S0|d1|T1#", "~a>b:x " + NOTE, "~ ~~ ~x>y ~/home")
MEMOS = (
    "MEMO ada\nhello\nEND\n",
    "MEMO bob\nEND",
    f"MEMO eve\n{NOTE}\n~a>b:in~\nEND\n",
    "MEMO bob\nLOUD\n\nWORDS\nEND\n",
)
BAD_MEMOS = (
    "MEMO ada\nno end\n",
    f"MEMO ada\n{NOTE}\n",
    "MEMO To all\nEND\n",
    "MEMO",
    "MEMO ad",
    " MEMO ada\nx\nEND\n",
)


def piece(chance: random.Random) -> str:
    """Something of a log: a text with a record or with damage, in some container."""
    text = chance.choice(
        (*BEEPS, *BEEPS, *BAD_BEEPS, *MEMOS, *MEMOS, *BAD_MEMOS, NOTE, csp_message(chance).decode("utf-8", "replace"))
    )
    if chance.random() < 0.3:
        text += chance.choice(("", " ", "\n")) + chance.choice((*BEEPS, *MEMOS, NOTE))
    kind = chance.randrange(7)
    for _ in range(chance.randrange(1, 3)):
        if kind == 0:
            text = json.dumps({"log": text}, ensure_ascii=chance.random() < 0.5)
        if kind == 1:
            text = json.dumps({"a": [text, {"b": chance.choice(BEEPS)}]}, indent=2)
    if kind == 2:
        text = f"2026-01-02T03:04:05Z INFO {text}"
    if kind == 3:
        text = '{"cut": "' + json.dumps(text)[1:-1]
    return text


def mixed(chance: random.Random) -> bytes:
    """A log with records of all wires, the toys among them."""
    parts: list[bytes] = []
    for _ in range(chance.randrange(1, 12)):
        if chance.random() < 0.15:
            parts.append(chance.choice((damaged_log(chance), good_log(chance)[0], assembled(chance)))[:3000])
        else:
            parts.append(piece(chance).encode())
        parts.append(chance.choice((b"\n", b"\n", b"\r\n", b" ", b"")))
    return b"".join(parts)


@pytest.mark.usefixtures("scan_core", "toys")
def test_a_further_wire_is_a_filter_too() -> None:
    chance = random.Random(77)
    names = turnwire.WIRES
    met, bad = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for _ in range(rounds(8)):
        data = mixed(chance)
        options: dict[str, Any] = {}
        if chance.random() < 0.2:
            options["limits"] = LIMITS._replace(message=chance.choice((30, 60, 200)))
        records, rejects = facts(turnwire.scan(data, **options))
        for wire in names:
            cut = {"batch_bytes": chance.choice((1, 7, 50, 300, 2000, 1 << 21)), "threads": chance.choice((1, 1, 2))}
            found, refused = facts(turnwire.scan(data, wire=wire, **options, **cut))
            assert found == [one for one in records if one[0] == wire], (wire, data, options, cut)
            assert refused == [one for one in rejects if one["wire"] == wire], (wire, data, options, cut)
            met[wire] += len(found)
            bad[wire] += len(refused)
    assert min(met[name] for name in ("note", "beep", "memo")) > 3
    assert min(bad[name] for name in ("beep", "memo")) > 1


@pytest.mark.usefixtures("scan_core", "toys")
def test_the_fault_of_their_damage_is_the_byte_that_their_reading_names() -> None:
    """Their decode refuses a text at its first byte: on a line, in a line, in a string."""
    data = b'prose\nMEMO ada\nno end\n~ada>bob:cut\n{"log":"~eve>bob:cut","x":"MEMO eve\\nno"}\n'
    for size in (8, 1 << 20):
        rejects = facts(turnwire.scan(data, batch_bytes=size))[1]
        assert [one["wire"] for one in rejects] == ["memo", "beep", "beep", "memo"]
        assert [one["fault"] for one in rejects] == [one["offset"] for one in rejects] == [6, 22, 43, 62], size


@pytest.mark.usefixtures("scan_core", "toys")
def test_lines_that_may_go_on_behind_a_block_are_read_with_the_next_one() -> None:
    """What is in front of them is found once; what CSP/1 carries is what it was in front of the block."""
    damaged = f"MEMO da\n{NOTE}\nMEMO eve\n{NOTE}\nMEMO b".encode()
    lost = b"FROM X\n@a3|f0|c1|S0|d1|T1#\n>>>\n MEMO ada\nx\nEND\nMEMO ada\nx\nCSP/1\nFROM A\nTO B\n"
    lost = b"CTX C0\nINTENT RESULT\nRESULT T1\nSTATUS OK\n<<<\nCSP/1\n" + lost + b"CTX C0\nINTENT RESULT\n\nRESULT T1\n"
    for data, met, bad in (damaged, ["note", "note"], ["memo"] * 3), (lost, ["nslip"], ["csp", "memo", "csp"]):
        for size in len(data), len(data) - 1:
            records, rejects = facts(turnwire.scan(data, batch_bytes=size))
            assert ([one[0] for one in records], [one["wire"] for one in rejects]) == (met, bad), size


@pytest.mark.usefixtures("scan_core", "toys")
def test_a_token_in_front_of_messages_of_lines_is_found() -> None:
    message = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA x\n"
    data = b"text ~ada>bob:hello~\n%b%b```\n" % (message, message)
    for size in len(data), 95:
        assert [one.wire for one in turnwire.scan(data, batch_bytes=size).messages()] == ["beep", "csp", "csp"]


@pytest.mark.usefixtures("scan_core", "toys")
def test_a_limit_counts_from_where_a_record_begins() -> None:
    """The records are whole, and each is behind more than the limit holds, in its line or in its block."""
    limits = LIMITS._replace(message=40)
    data = b"a longer line of prose than that in front of it: ~ada>bob:hello~\nMEMO ada\nhello\nEND\n"
    records, rejects = facts(turnwire.scan(data, limits=limits, batch_bytes=1 << 20))
    assert ([one[0] for one in records], rejects) == (["beep", "memo"], [])
    lines, memo = finder().lines, data.index(b"MEMO")
    assert lines.reaches_over(data, 0, data.index(b"hello\nEND"), limits.message)
    assert not lines.reaches_over(data, 0, memo, limits.message)
