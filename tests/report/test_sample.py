"""The messages that the page holds, of the largest conversations and of those with a fault, and their fields."""

from __future__ import annotations

import io
import json
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

import turnwire
from examples.mixed_log import WIRES, entries
from tests.report.chunks import Made, Row
from turnwire import csp
from turnwire.errors import DecodeError, Reason
from turnwire.read.coding import MOST_NAME, named
from turnwire.report import records as samples, report
from turnwire.report.records import MOST_FIELDS, MOST_RAW, MOST_VALUE, Quarantine, details, fields

pytestmark = pytest.mark.once


def line(conversation: int, act: str = "0", second: int = 0) -> str:
    ends = "2|d1" if act == "1" else "1|d2"
    return f"2026-11-01T00:00:{second:02} @a{act}|f0|c{conversation}|S{ends}|T1#\n"


def query(session: str | None, question: str) -> str:
    header = {"kind": "knowledge", "actor_id": "a", "schema_id": "ioc.knowledge.v0", "logical_clock": 1}
    payload = {"content": question, "confidence": 1.0, "evidence_refs": []}
    return json.dumps({"header": header | ({"session_id": session} if session else {}), "payload": payload}) + "\n"


def kept(text: str, most: int, stream: bool = False) -> SimpleNamespace:
    """The conversations that a page holds of a log: id -> (messages in the log, lines of those that are held)."""
    data = report(io.BytesIO(text.encode()) if stream else text.encode(), tokenizer=None, max_messages=most).data
    lines: dict[str, list[int]] = {}
    for row in data["messages"]:
        message = dict(zip(data["message_columns"], row, strict=True))
        lines.setdefault(data["conversations"][message["conversation"]][1], []).append(message["line"])
    held = {name: (count, lines[name]) for _, name, count in data["conversations"]}
    return SimpleNamespace(held=held, total=data["total_conversations"], texts=[row[-2] for row in data["messages"]])


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 60))
def test_what_is_held_is_bounded_and_each_begins_with_its_first_message(made: list[int], most: int) -> None:
    found = kept("".join(map(line, made)), most)
    places: dict[str, list[int]] = {}
    for number, one in enumerate(made, 1):
        places.setdefault(str(one), []).append(number)
    assert found.total == len(places) and sum(len(held) for _, held in found.held.values()) <= most
    for name, (count, held) in found.held.items():
        assert count == len(places[name]) and held == places[name][: len(held)] != []
    if len(made) <= most:
        assert {name: held for name, (_, held) in found.held.items()} == places
    elif made:
        assert all(len(held) <= max(most // 4, 1) for _, held in found.held.values())


@pytest.mark.parametrize("stream", [False, True])
def test_the_largest_conversations_and_those_with_a_fault_are_held(stream: bool) -> None:
    """Wherever they are in the log: one without an answer, one with damage behind it, and the two largest."""
    lines = [line(number % 50) for number in range(150)]
    for at, name in ((149, 41), (100, 42)):
        lines[at:at] = [line(name) for _ in range(9)]
    lines[120:120] = [line(43, "2"), line(44, "2"), line(44, "1", 1), line(45), "@a3|f0|c46|S$|d1|T1#\n"]
    found = kept("".join(lines), 20, stream)
    held = {int(name) - 4 * 62 + 40 for name in found.held}  # 4 is the first digit of two, of base 62
    assert {41, 42, 43, 45} <= held and 46 not in held and found.total == 50


def test_bytes_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_BYTES", 20_000)
    found = kept("".join(query(str(number // 3), "x" * 5000) for number in range(60)), 1000)
    assert 0 < sum(map(len, found.texts)) <= 20_000
    assert all("more characters" in text for text in found.texts)


def test_records_without_a_conversation_are_held_as_one() -> None:
    found = kept(query(None, "q") * 40, 20)
    assert found.held == {None: (40, [1, 2, 3, 4, 5])} and found.total == 0


def test_every_kind_of_reject_is_shown_and_all_are_counted() -> None:
    quarantine = Quarantine()
    place = {"file": None, "offset": 0, "length": 4, "line": 1, "fault": 1, "wire": "nslip", "raw": b"@a\xff#" * 100}
    quarantine.add({**place, "reason": "bad_digit"} for _ in range(5000))
    quarantine.add([{**place, "reason": "bad_framing"}])
    assert quarantine.counts == {("nslip", "bad_digit"): 5000, ("nslip", "bad_framing"): 1}
    reasons = Counter(reject[6] for reject in quarantine.kept)
    assert reasons == {"bad_digit": samples.MOST_OF_A_KIND, "bad_framing": 1}
    assert quarantine.kept[0][7] == (b"@a\xff#" * 64).hex()


HEADER = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT "


@pytest.mark.parametrize("wire", WIRES)
def test_every_value_of_a_message_is_among_its_fields(wire: str) -> None:
    for entry in entries(10, seed=2, wires=(wire,)):
        found = dict(fields(turnwire.decode(entry.text)))
        assert entry.sender in found.values()
        if wire in ("sstp", "sap", "kick"):
            assert leaves(json.loads(entry.text)) == list(found.values())


def leaves(value: object) -> list[str]:
    """The values in a JSON value, as the page writes them, in order."""
    if isinstance(value, dict) and value:
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, list) and value:
        return [leaf for part in value for leaf in leaves(part)]
    return [value if isinstance(value, str) else json.dumps(value)]


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        ("TASK\n\nTASK T1\nREQ find\n", {"block.id": "T1", "block.fields[0]": "REQ find"}),
        (
            "FILE\n\nFILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\nx\n>>>\n",
            {"block.id": "F1", "block.op": "CREATE", "block.fields[1]": "CONTENT x\n"},
        ),
        ("PATCH\n\nPATCH P1\nBASE C1\n+ DEF A = b\nAPPLY -> C2\n", {"block.base": "C1", "block.ops[0]": "+ A b"}),
        ("MEM\n\nMEM M1\nKEY a\n", {"block.kind": "MEM", "block.fields[0]": "KEY a"}),
    ],
)
def test_blocks_of_csp(block: str, wanted: dict[str, str]) -> None:
    found = dict(fields(csp.decode(HEADER + block)))
    assert {"sender": "A", "receiver": "B", "ctx": "C1", **wanted}.items() <= found.items()


def test_a_template_of_csp_has_fields_too() -> None:
    (template,) = csp.parse("CSP/1;R;NO_CHAT\nTASK REQ:x\n").records
    said = {"flags[0]": "R", "flags[1]": "NO_CHAT", "lines[0]": "TASK REQ:x", "mode": "false"}
    assert dict(fields(template)) == said


class Long(Made):
    """A record with more than a page should hold."""

    def to_dict(self) -> dict[str, object]:
        return {"long": "x" * 5000, "n" * 500: None, **{str(number): number for number in range(100)}}


def test_what_is_long_is_cut_and_says_so() -> None:
    found = details(Long([Row(raw=b"\xff" + b"r" * 5000)]), 0)  # type: ignore[arg-type]
    assert found.raw == "\\xff" + "r" * (MOST_RAW - 4) + f"… ({5004 - MOST_RAW:,} more characters)"
    assert found.fields[0][1] == "x" * MOST_VALUE + f"… ({5000 - MOST_VALUE:,} more characters)"
    assert found.fields[1] == ("n" * MOST_NAME + f"… ({500 - MOST_NAME} more characters)", "null")
    assert len(found.fields) == MOST_FIELDS + 1
    assert found.fields[-1] == ("…", f"{102 - MOST_FIELDS} more fields")


def test_long_names_that_differ_stay_different() -> None:
    one, other = "a" * 1000 + "1", "a" * 1000 + "2"
    assert named(one) != named(other) and named(one) == named(one)
    assert len(named(one)) < MOST_NAME + 60
    assert named("a" * MOST_NAME) == "a" * MOST_NAME


class Refused(Made):
    """A record that scanning took and decoding does not."""

    def message(self, row: int) -> object:
        raise DecodeError(Reason.BAD_DIGIT, "'$' is not a digit", offset=3, line=1, wire="nslip")


def test_a_record_that_is_not_decoded_says_why() -> None:
    found = details(Refused([Row()]), 0)  # type: ignore[arg-type]
    assert found.fields == [("not decoded", "nslip: bad_digit at byte 3, line 1: '$' is not a digit")]
