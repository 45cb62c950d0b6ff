"""Judging by columns or by bytes gives the verdicts of judging each message, on both cores."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import turnwire
from tests.clauses import CLAUSES
from tests.log.conftest import scan_core as scan_core
from turnwire import checklists, nslip, registry
from turnwire.cli.commands import validate
from turnwire.read.located import conform

LETTERS = ("x", " ", "|", "#", "@", "ü", "レ", "\U0001f642", '\\"', "\\\\")
HEADER = ("a3", "f0", "c7", "S0", "d1", "T1")
SLOTS = ("g1", "kzz", "p0", "r10", "q2", "sA", "e5")


def records(seed: int, count: int = 300) -> bytes:
    """Records of nSLIP in the form of ``encode`` and in others, with short and long strings, with faults among them."""
    numbers = random.Random(seed)
    lines = []
    for _ in range(count):
        head, slots = list(HEADER), numbers.sample(SLOTS, numbers.randrange(4))
        for prefix in numbers.sample("ut", numbers.randrange(3)):
            size = numbers.choice((0, 1, 12, 63, 64, 65, 66, 200))
            letters = numbers.sample(LETTERS, numbers.randrange(1, 4))
            slots.append(f'{prefix}"{"".join(numbers.choice(letters) for _ in range(size))}"')
        numbers.shuffle(slots)
        form = numbers.randrange(8)
        if form == 0:
            numbers.shuffle(head)
        if form == 1:
            place = numbers.randrange(6)
            head[place] = f"{head[place][0]}0{head[place][1:]}"
        if form == 2:
            head[numbers.randrange(6)] = numbers.choice(("aB", "f9", "c", "c!", "zz", "T18446744073709551616"))
        line = f"@{'|'.join(head + slots)}#"
        if form == 3:
            line = json.dumps({"log": [line, line]})
        lines.append(f"{numbers.choice(('', '', '2026-01-01 say: '))}{line}\n")
    return "".join(lines).encode()


TEXTS = ["", "x" * 64, "x" * 65, "レ" * 64, "レ" * 65, '\\"' * 64, "\\\\" * 65, "ü" * 32 + "x" * 33]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.usefixtures("scan_core")
def test_long_strings_are_counted_in_characters(text: str) -> None:
    data = f'@a3|f0|c7|S0|d1|T1|t"{text}"#'.encode()
    long = len(nslip.decode(data).slots[nslip.Slot.TAG]) > 64
    assert (conform("nslip", data).line("short").status == checklists.FAIL) == long


def found(path: Path, wire: str | None) -> list[validate.Finding]:
    """The findings of ``validate`` in a log."""
    judge = validate.RecordValidator(wire, "error")
    return list(validate.findings(judge.scan([str(path)]), judge))


@pytest.mark.parametrize("wire", registry.names())
@pytest.mark.usefixtures("scan_core")
def test_validate_finds_the_same_when_every_message_is_made(
    wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    logs = [one.read_bytes() + b"\n" for one in sorted((CLAUSES / wire).iterdir()) if b">>>" not in one.read_bytes()]
    path.write_bytes(b"".join(logs) + (records(99) if wire == "nslip" else b""))
    quick = [found(path, one) for one in (wire, None)]
    assert quick[0], "there is something to find"
    known = registry.wire(wire)
    monkeypatch.setattr(known, "bulk", known.bulk._replace(doubtful=(0, ())))
    assert [found(path, one) for one in (wire, None)] == quick


@pytest.mark.parametrize("wire", [*registry.names(), None])
@pytest.mark.usefixtures("scan_core")
def test_records_read_together_are_those_read_one_by_one(wire: str | None) -> None:
    names = registry.names() if wire is None else (wire,)
    texts = [one.read_text("utf-8") for name in names for one in sorted((CLAUSES / name).glob("*.pass"))]
    data = "\n\n".join([*texts, *(json.dumps({"log": text}) for text in texts)]).encode()
    count = 0
    for batch in turnwire.scan(data, wire=wire, columns=["wire"]):
        wires = batch["wire"].tolist()
        raws = list(batch.raws())
        assert raws == [bytes(batch.raw(row)) for row in range(len(batch))]
        odd = list(range(1, len(batch), 2))
        assert list(batch.raws(odd)) == raws[1::2]
        for row, raw in enumerate(raws):
            assert batch.decoder(wires[row])(raw) == batch.message(row)
        count += len(batch)
    assert count


def test_a_query_that_names_nobody_waits_for_nobody() -> None:
    header = {"kind": "query", "actor_id": "alex", "schema_id": "ioc.query.v0", "session_id": "s", "logical_clock": 1}
    payload = {"question": "who changed it?", "required_fields": [], "uncertainty": 0.5}
    checklist = conform("sstp", json.dumps({"header": header, "payload": payload}).encode())
    assert [line.clause.id for line in checklist if line.status == checklists.FAIL] == ["payload"]
