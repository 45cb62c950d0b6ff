"""Damage never costs its neighbour: every wire beside every wire, torn, flipped, cut and grown at random."""

from __future__ import annotations

import json
import random
import re

import pytest

from tests.conftest import rounds
from tests.sap.documents import TASK
from turnwire import WIRES, scan

pytestmark = pytest.mark.usefixtures("scan_core")
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
CSP = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n{}"
RECORDS = {
    "nslip": ['@a3|f0|c3|S0|d1|T1|gH|t"a|b#c"#'],
    "csp": [
        CSP.format("RESULT", "RESULT T1\nSTATUS OK\nDATA done\n\n"),
        CSP.format("FILE", "FILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\nx\ny\n>>>\n\n"),
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
    """Three times as often under the profile "soak"."""
    chance = random.Random(f"{wire} 1")
    broken = 0
    for one in (one for ones in RECORDS.values() for one in ones):
        assert len(list(scan(f"{one}\n".encode()).messages())) == 1, one
    for _ in range(rounds(15 if scan_core == "pure" else 40)):
        before, behind = (chance.choice(RECORDS[name]).encode() for name in chance.choices(WIRES, k=2))
        hurt = damaged(chance.choice(RECORDS[wire]).encode(), chance)
        if wire == "csp":  # which takes for its own what its heredoc holds, and one line behind it
            if leaves_a_heredoc_open(hurt):
                continue
            hurt += b"" if behind in WHOLE else b"\nplain text"
        data = before + b"\n" + hurt + b"\n" + behind + b"\n"
        for size in (1 << 20, 64):
            found = scan(data, batch_bytes=size)
            offsets = [
                at for batch in found for at in zip(batch["offset"].tolist(), batch["length"].tolist(), strict=True)
            ]
            ends = len(data) - len(behind) - 1
            assert sum(start < len(before) for start, _ in offsets) == 1, data
            assert sum(start >= ends for start, _ in offsets) == 1, data
            counts = found.counts
            assert counts.bytes == len(data) == counts.record_bytes + counts.reject_bytes + counts.text_bytes
            broken += len(found.rejects) > 0
    assert broken > 4
