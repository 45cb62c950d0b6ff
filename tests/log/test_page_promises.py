"""What docs/scan.md and docs/scan_engine.md promise, tried in every place that they name, on both cores."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import pytest

import turnwire
from tests.log.mixed_logs import damaged_log
from turnwire import WIRES, DecodeError, Decoder, extract, scan
from turnwire.contract import Wire
from turnwire.nslip.bulk import SCANNER

pytestmark = pytest.mark.usefixtures("scan_core")
GOOD = "@a3|f0|c3|S0|d1|T1#"
LOOK_ALIKES = {
    "nSLIP of the draft": ("nslip", "@a3|f0|c3|s0|d1|t1#"),
    "the Compact Symbol Protocol": ("csp", "CSP/1\nSTATUS x\nSCOPE y\n"),
    "the same with its title": ("csp", "CSP/1\nCompact Symbol Protocol\nREAD_RECS 3\nSTATUS x\n"),
    "SSTP/0": ("sstp", '{"kind": "intent", "origin": {"actor_id": "a"}, "payload": {}}'),
    "L9": ("sstp", '{"header": {"protocol": "L9", "kind": "intent"}, "payload": {}}'),
}
PLACES = {
    "a line": "{}\n",
    "after prose and before it": "one\n\n{}\n\nand more\n",
    "a fence": "```\n{}\n```\n",
    "a JSON string": None,
    "behind a record": GOOD + "\n\n{}\n\n" + GOOD + "\n",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alikes_are_named_and_read_by_nothing(name: str, place: str) -> None:
    wire, text = LOOK_ALIKES[name]
    form = PLACES[place]
    log = json.dumps({"log": text}) + "\n" if form is None else form.format(text)
    records = log.count(GOOD)
    for wanted in (None, wire):
        for size in (1 << 20, 20):
            found = scan(log.encode(), wire=wanted, batch_bytes=size)
            assert sum(map(len, found)) == (records if wanted in (None, "nslip") else 0)
            assert [(row["wire"], row["reason"]) for row in found.rejects.rows()] == [(wire, "look_alike")], size
    assert len(extract(log)) == records
    decoder, told = Decoder(), []
    messages, calls = [], [lambda: decoder.feed(log.encode()), *[lambda: decoder.feed(b"")] * 3, *[decoder.close] * 3]
    for call in calls:
        try:
            messages += call()
        except DecodeError as error:
            told.append(str(error.reason))
    assert (len(messages), told) == (records, ["look_alike"])
    with pytest.raises(DecodeError):
        turnwire.decode(text)


SSTP = {
    "header": {"kind": "knowledge", "actor_id": "a", "schema_id": "ioc.knowledge.v0", "logical_clock": 1},
    "payload": {"content": "x", "confidence": 1, "evidence_refs": []},
}


@pytest.mark.parametrize("record", [GOOD, json.dumps(SSTP)])
def test_a_damaged_message_in_a_string_is_one_reject_whatever_lines_are_in_it(record: str) -> None:
    """As lines of the log themselves such lines are records, and the damage is in pieces."""
    assert sum(map(len, scan(record.encode()))) == 1
    head = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\n"
    for lines in ([record], [record, "STATUS OK"], ["STATUS OK", record, "DATA x"], ["STATUS OK", "DATA", record]):
        damaged = head + "".join(f"{line}\n" for line in lines)
        plain = scan((damaged + "\n").encode())
        assert sum(map(len, plain)) == lines.count(record) and len(plain.rejects) > 0
        for text in (
            json.dumps({"log": damaged}),
            json.dumps([damaged]),
            json.dumps({"a": {"b": [json.dumps(damaged)]}}),
        ):
            for size in (1 << 20, 30):
                found = scan(f"{GOOD}\n{text}\n{GOOD}\n".encode(), batch_bytes=size)
                assert sum(map(len, found)) == 2, text
                assert [(row["wire"], row["reason"]) for row in found.rejects.rows()] == [("csp", "stray_line")], text


FEW = ("offset", "length", "line", "wire", "inner")
Rows = dict[str, list[tuple[Any, ...]]]


def _rows(data: bytes, wire: str | None, columns: tuple[str, ...] | None) -> tuple[Rows, Rows]:
    """The records with their places, and the rejects with theirs, by their wires."""
    records: Rows = {name: [] for name in WIRES}
    rejects: Rows = {name: [] for name in WIRES}
    scanned = scan(data, wire=wire, columns=columns, errors="collect")
    for batch in scanned:
        names = batch.column("wire").names
        inner = [
            at if there else None
            for at, there in zip(batch["inner"].tolist(), batch.valid("inner").tolist(), strict=True)
        ]
        places = (batch["offset"].tolist(), batch["length"].tolist(), batch["line"].tolist(), inner)
        for code, *row in zip(batch["wire"].tolist(), *places, batch.raws(), strict=True):
            records[names[code]].append(tuple(row))
    told = ("offset", "length", "line", "fault", "reason", "raw", "inner")
    for one in scanned.rejects.rows():
        rejects[one["wire"]].append(tuple(one[name] for name in told))
    return records, rejects


def test_a_scan_of_a_wire_finds_what_one_of_all_finds_of_it(scan_core: str) -> None:
    """Records with their places, and rejects with theirs, in logs of all wires with all kinds of damage; all columns
    of the one and few of the other, in turn."""
    seen = refused = 0
    for seed in range(8 if scan_core == "pure" else 30):
        data = damaged_log(random.Random(seed), 20)
        records, rejects = _rows(data, None, None if seed % 2 else FEW)
        for wire in WIRES:
            mine, mine_refused = (found[wire] for found in _rows(data, wire, FEW if seed % 2 else None))
            assert mine == records[wire], (seed, wire)
            assert mine_refused == rejects[wire], (seed, wire)
            seen, refused = seen + len(mine), refused + len(mine_refused)
    assert seen > 100 and refused > 10


def test_a_wire_without_a_plan_is_named_once_and_found_by_its_own_name_alone(registering: None) -> None:
    given = dict.fromkeys(("detect", "decode", "encode", "message", "check", "prompt"), lambda _: False)
    bulk = SCANNER._replace(wire="bare")
    turnwire.register(Wire("bare", title="", package="x", style="token", bulk=bulk, **given))
    for wire, records in ((None, 1), ("nslip", 1), ("csp", 0)):
        with pytest.warns(UserWarning, match="takes bare for text: it has no plan"):
            assert sum(map(len, scan(GOOD.encode(), wire=wire))) == records
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = scan(GOOD.encode(), wire=wire)
            assert [message.wire for message in found.messages()] == ["nslip"] * records
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [one.wire for one in scan(GOOD.encode(), wire="bare").messages()] == ["bare"]
