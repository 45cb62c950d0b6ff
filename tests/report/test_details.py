"""What the page says of one record: its decoded fields, by name, cut where they are long."""

from __future__ import annotations

import json

import pytest

import turnwire
from examples.mixed_log import WIRES, entries
from tests.report.chunks import Made, Row
from turnwire import csp
from turnwire.errors import DecodeError, Reason
from turnwire.report.records import MOST_FIELDS, MOST_NAME, MOST_RAW, MOST_VALUE, details, fields, named

pytestmark = pytest.mark.once

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
