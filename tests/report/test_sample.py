"""The messages that the page holds: whole conversations, evenly, within the budget; each with its decoded fields."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

import turnwire
from examples.mixed_log import WIRES, entries
from tests.report.chunks import Made, Row, chunks
from turnwire import csp
from turnwire.errors import DecodeError, Reason
from turnwire.read.coding import MOST_NAME, named
from turnwire.report import records, sample as samples
from turnwire.report.records import MOST_FIELDS, MOST_RAW, MOST_VALUE, details, fields
from turnwire.report.sample import MessageSample, Quarantine

pytestmark = pytest.mark.once


def kept(rows: list[Row], most: int, size: int = 64) -> SimpleNamespace:
    sample = MessageSample(most)
    for chunk in chunks(rows, size):
        sample.add(chunk, None)
    return SimpleNamespace(**dict(zip(("conversations", "total", "more"), sample.kept(), strict=True)))


rows = st.lists(
    st.tuples(st.sampled_from(["nslip", "kick"]), st.sampled_from([*map(str, range(30)), None])).map(
        lambda pair: Row(wire=pair[0], conversation=pair[1])
    ),
    max_size=300,
)


@given(rows, st.integers(1, 300), st.integers(1, 70))
def test_what_is_kept_is_bounded_and_its_counts_are_those_of_the_log(made: list[Row], most: int, size: int) -> None:
    result = kept(made, most, size)
    counts = Counter((row.wire, row.conversation) for row in made)
    assert sum(len(one.messages) for one in result.conversations) <= most
    assert {one.key: one.count for one in result.conversations}.items() <= counts.items()
    assert result.total == len({key for key in counts if key[1] is not None})
    for one in result.conversations:  # from its first message on, without a hole
        places = [number for number, row in enumerate(made) if (row.wire, row.conversation) == one.key]
        assert [message.number for message in one.messages] == places[: len(one.messages)]
    if len(made) <= most:
        assert sum(len(one.messages) for one in result.conversations) == len(made)


@given(rows, st.integers(1, 60))
def test_the_choice_does_not_depend_on_the_batches(made: list[Row], size: int) -> None:
    few, all_at_once = kept(made, 40, size), kept(made, 40, 1000)
    assert [(one.key, len(one.messages)) for one in few.conversations] == [
        (one.key, len(one.messages)) for one in all_at_once.conversations
    ]


def test_conversations_are_chosen_evenly_over_the_log() -> None:
    made = [Row(conversation=str(number // 4)) for number in range(40_000)]
    result = kept(made, 2000, 5000)
    assert 1900 <= sum(len(one.messages) for one in result.conversations) <= 2000
    assert all(one.count == len(one.messages) == 4 for one in result.conversations)
    quarters = Counter(int(one.key[1] or 0) // 2500 for one in result.conversations)
    assert min(quarters.values()) > 80  # of about 500 in all


def test_records_without_a_conversation_are_kept_as_one() -> None:
    made = [Row(conversation=None) for _ in range(1000)]
    result = kept(made, 100)
    (only,) = result.conversations
    assert (only.key, only.count, result.total) == (("nslip", None), 1000, 0)
    assert 0 < len(only.messages) <= 100


def test_bytes_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_BYTES", 20_000)
    made = [Row(conversation=str(number // 3), raw=b"x" * 5000) for number in range(100)]
    result = kept(made, 1000)
    texts = [message.raw for one in result.conversations for message in one.messages]
    assert 0 < sum(map(len, texts)) <= 20_000
    assert all(text.endswith(f"… ({5000 - records.MOST_RAW:,} more characters)") for text in texts)


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
        ("TASK\n\nTASK T1\nREQ find\n", {"TASK": "T1", "REQ": "find"}),
        (
            "FILE\n\nFILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\nx\n>>>\n",
            {"FILEOP": "F1", "operation": "CREATE", "CONTENT": "x\n"},
        ),
        ("PATCH\n\nPATCH P1\nBASE C1\n+ DEF A = b\nAPPLY -> C2\n", {"PATCH": "P1", "BASE": "C1"}),
        ("MEM\n\nMEM M1\nKEY a\n", {"MEM": "M1", "KEY": "a"}),
    ],
)
def test_blocks_of_csp(block: str, wanted: dict[str, str]) -> None:
    found = dict(fields(csp.decode(HEADER + block)))
    assert {"FROM": "A", "TO": "B", "CTX": "C1", **wanted}.items() <= found.items()


def test_a_template_of_csp_has_fields_too() -> None:
    (template,) = csp.parse("CSP/1;R;NO_CHAT\nTASK REQ:x\n").records
    assert dict(fields(template)) == {"flags[0]": "R", "flags[1]": "NO_CHAT", "lines[0]": "TASK REQ:x"}


class Long(Made):
    """A record with more than a page should hold."""

    def to_dict(self) -> dict[str, object]:
        return {"long": "x" * 5000, "n" * 500: None, **{str(number): number for number in range(100)}}


def test_what_is_long_is_cut_and_says_so() -> None:
    found = details(Long([Row(raw=b"\xff" + b"r" * 5000)]), 0, None)  # type: ignore[arg-type]
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
    found = details(Refused([Row()]), 0, None)  # type: ignore[arg-type]
    assert found.fields == [("not decoded", "nslip: bad_digit at byte 3, line 1: '$' is not a digit")]
