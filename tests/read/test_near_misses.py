"""Near misses: what nearly was a message, with reason, pointer and place, and what to tell a model about it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests import vectors
from tests.clauses import CLAUSES
from tests.conftest import raised
from tests.log.conftest import scan_core as scan_core
from turnwire import checklists, nslip, registry, sstp
from turnwire.checklists import CONFORMS
from turnwire.cli.commands import validate
from turnwire.errors import DecodeError, Reason
from turnwire.read.located import conform

QUERY: dict[str, Any] = {
    "header": {"kind": "query", "actor_id": "a", "schema_id": "ioc.query.v0", "session_id": "s", "logical_clock": "2"},
    "payload": {"question": "q", "required_fields": [], "uncertainty": 0.5, "directed_to": "b"},
}
BAD = json.dumps(QUERY)
GOOD = BAD.replace('"2"', "2")
ANSWER = f"Sure, here it is:\n```json\n{BAD}\n```\nand\n{GOOD}\n"


@pytest.mark.usefixtures("scan_core")
def test_a_fenced_answer_with_a_wrong_clock() -> None:
    assert [found.message.logical_clock for found in sstp.salvage(ANSWER)] == [2]
    miss, good = found = turnwire.extract(ANSWER, rejects=True)
    assert (good.error, good.message.logical_clock) == (None, 2)
    assert miss.message is None and miss.wrapped == "fence" and ANSWER[miss.start : miss.end] == BAD
    assert (miss.error.reason, miss.error.path, miss.error.line) == (Reason.WRONG_TYPE, "/header/logical_clock", 3)
    assert ANSWER.encode()[miss.error.offset :].startswith(b'"2"')
    assert [(one.wire, one.message is None, one.wrapped) for one in found] == [
        ("sstp", True, "fence"),
        ("sstp", False, "prose"),
    ]
    assert [one.message is None for one in turnwire.extract(ANSWER)] == [False]
    assert turnwire.extract(ANSWER, ("nslip",), rejects=True) == []


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", ["sstp", None])
def test_a_decoder_says_where(wire: str | None) -> None:
    decoder = turnwire.Decoder(wire)
    caught = raised(DecodeError, decoder.feed, f"{BAD}\n".encode())
    assert (caught.reason, caught.path) == (Reason.WRONG_TYPE, "/header/logical_clock")
    assert caught.raw == BAD.encode()
    told = turnwire.explain(caught)
    assert all(words in told for words in ("at /header/logical_clock: ", "an integer", "not a string"))


@pytest.mark.parametrize(
    ("text", "wire", "words"),
    [
        (BAD, "SSTP", ["/header/logical_clock", "an integer", '"logical_clock": "2"']),
        ("@a3|f9|c3|S0|d1|T1#\n", "nSLIP", ["frames are 0 to 4", "@a3|f9|c3|S0|d1|T1#"]),
        ("CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T001\nIN x\n", "CSP/1", ["missing_req", "TASK T001"]),
    ],
)
def test_what_a_model_is_told(text: str, wire: str, words: list[str]) -> None:
    (miss,) = turnwire.extract(text, rejects=True)
    (of_scan,) = turnwire.scan(text.encode()).errors()
    for said in (turnwire.explain(miss), turnwire.explain(of_scan)):
        assert said.startswith(f"This is not a valid {wire} message.\nWrong")
        assert all(word in said for word in words), said
        assert len(said) < 500 and said.isprintable() is False and "\x1b" not in said


def test_excerpts_are_escaped() -> None:
    (miss,) = turnwire.extract(BAD.replace('"2"', '"\x7f\u202e2"'), rejects=True)
    said = turnwire.explain(miss)
    assert "\x7f" not in said and "\u202e" not in said and "logical_clock" in said


def test_only_near_misses_are_explained() -> None:
    (good,) = turnwire.extract(GOOD)
    for wrong in (good, good.message, "text", None, ValueError("x")):
        raised(TypeError, turnwire.explain, wrong)


@vectors.cases("extract")
@pytest.mark.usefixtures("scan_core")
def test_what_is_extracted(case: dict[str, Any]) -> None:
    """Messages and near misses with their places in the text, in characters, and what they stand in."""
    found = turnwire.extract(case["text"], case.get("wires"), rejects=True)
    errors = [(one.error.reason, one.error.path) if one.error else (None, None) for one in found]
    places = [(one.start, one.end, one.wire, one.wrapped) for one in found]
    assert [[*place, *error] for place, error in zip(places, errors, strict=True)] == case["found"]
    good = turnwire.extract(case["text"], case.get("wires"))
    assert [one.start for one in good] == [place[0] for place in case["found"] if place[4] is None]


# --- judging by columns or by bytes gives the verdicts of judging each message, on both cores -------------------------


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
    scan = turnwire.scan(str(path), wire=wire, columns=[*validate.COLUMNS, "kind"])
    return list(validate.RecordValidator(wire, "error").findings(scan))


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
    monkeypatch.setattr(known, "scanner", known.scanner._replace(doubtful=(0, ())))
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


# ----------------------------------------------------------------------------------------------------------------------
# No log that breaks a clause conforms, and none that keeps all fails, on both cores: the logs of ``verdicts.jsonl``,
# whose names say what is wrong, or what could look wrong and is not.


CASES = [json.loads(line) for line in (Path(__file__).parent / "verdicts.jsonl").read_text("utf-8").splitlines()]
UPSTREAM = Path(__file__).parents[2] / "examples" / "data" / "nslip_upstream.txt"


@pytest.mark.parametrize("verdict", sorted({case["verdict"] for case in CASES}))
@pytest.mark.parametrize("wire", ["nslip", "csp", "sstp", "sap", "kick"])
@pytest.mark.usefixtures("scan_core")
def test_each_log_has_its_verdict(wire: str, verdict: str) -> None:
    cases = [case for case in CASES if (case["wire"], case["verdict"]) == (wire, verdict)]
    assert len(cases) > 20
    judged = {case["id"]: conform(wire, case["log"].encode()) for case in cases}
    assert [f"{name}: {checklist}" for name, checklist in judged.items() if checklist.verdict != verdict] == []


@pytest.mark.usefixtures("scan_core")
def test_the_upstream_lines_conform() -> None:
    assert conform("nslip", UPSTREAM.read_bytes()).verdict == CONFORMS
