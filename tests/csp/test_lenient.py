"""Lenient reading tells what strict reading refuses, wherever the fault is, and keeps what it can."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from tests import vectors
from tests.conftest import raised, refusal
from tests.csp.generate import GOOD_BLOCKS
from turnwire import LIMITS, csp
from turnwire.csp.spec import BLOCK_WORD, FIELDS
from turnwire.errors import DecodeError, Reason

BLOCKS = {
    "TASK": "TASK T1\nREQ x\nPRIORITY P1\n",
    "RESULT": "RESULT T1\nSTATUS OK\n",
    "ERROR": "ERROR E1\nAT T1\nCAUSE x\n",
    "FILE": "FILEOP F1 CREATE\nPATH a\nCONTENT\n<<<\nx\n>>>\n",
    "PATCH": "PATCH P1\nBASE C0\n+ DEF A = 1\nAPPLY -> C1\n",
    "MEM": "MEM m1\nA b\n",
}
STRANGE = (
    *("* DEF B = 1", "* DEF B", "=", "+ B", "+DEF B = 1", "~ DEF B = 1", "+ DEF B := 1", "- DEF B = 1", "+ DEF B ="),
    *("KEY value", "key value", "FROM A", "FROM A B", "STATUS MAYBE", "PRIORITY P9", "AT", "CONTENT x", "<<<"),
    *("BASE C2", "BASE x", "APPLY C1", "APPLY -> x", "APPLY -> C2"),
)
FORGIVEN = {Reason.UNKNOWN_KEY: {Reason.STRAY_LINE, Reason.CONTINUED}, Reason.STRAY_LINE: {Reason.CONTINUED}}
"""Reason in strict reading -> reasons of a line in lenient reading, which lets a value go on in it."""


def message(intent: str) -> str:
    return f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {intent}\n\n{BLOCKS[intent]}"


def told(text: str, **options: object) -> tuple[Reason | None, list[Reason]]:
    """Why strict reading refuses a text, and what lenient reading forgives; of what is good both read the same."""
    lenient = csp.parse(text, mode="lenient", **options)
    error = refusal(DecodeError, csp.decode, text, **options)
    assert error or lenient == csp.parse(text.encode(), **options)
    return error and error.reason, [issue.reason for issue in lenient.issues]


def spoilt(intent: str) -> Iterator[str]:
    """A message without one of its lines, with one of them twice, with a strange line between two."""
    lines = message(intent).splitlines(keepends=True)
    for place in range(1, len(lines)):
        yield "".join(lines[:place] + lines[place + 1 :])
        yield "".join(lines[: place + 1] + lines[place:])
        for strange in STRANGE:
            yield "".join([*lines[:place], f"{strange}\n", *lines[place:]])


@pytest.mark.parametrize("intent", BLOCKS)
def test_lenient_reading_tells_what_strict_reading_refuses(intent):
    for text in spoilt(intent):
        reason, issues = told(text)
        wanted = set() if reason is None else {reason, *FORGIVEN.get(reason, ())}
        assert bool(wanted & set(issues)) is (reason is not None), (text, reason, issues)


@pytest.mark.parametrize("more", [-2, -1, 0, 1])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        *((message(intent), None) for intent in BLOCKS),
        (message("FILE").replace(">>>\n", ""), Reason.UNCLOSED_HEREDOC),
        (message("MEM") + "C\n<<<<\nx\n>>>\n", Reason.UNCLOSED_HEREDOC),
    ],
)
def test_a_message_has_as_many_bytes_as_the_limit(text, fault, more):
    reason, issues = told(text, limits=LIMITS._replace(message=len(text) + more))
    assert reason == (fault if more >= 0 else Reason.MESSAGE_TOO_LARGE)
    assert issues[:1] == ([] if reason is None else [reason])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_byte_of_a_fault_is_in_its_line(end):
    """Of a message, and of what stands in front of one; with letters of several bytes in front of it."""
    front = "DEF A = é\n\nLAWS\n- L1: é\n"
    texts = [text for intent in BLOCKS for text in spoilt(intent)]
    texts += [front + more for more in ("DEF A = 1\n", "DEF B = é\nDEF B = 1\n", "- L1: x\n", "- L2: é\n- L2: x\n")]
    faults = 0
    for text in texts:
        raw = text.replace("\n", end).encode()
        error = refusal(DecodeError, csp.parse, raw)
        if error is not None:
            assert raw.count(b"\n", 0, error.offset) + 1 == error.line, (text, error)
            assert error.offset == 0 or raw[error.offset - 1 : error.offset] == b"\n"
            faults += 1
    assert faults > 300


def test_checking_tells_once_what_a_message_was_read_with():
    for intent in BLOCKS:
        for text in islice(spoilt(intent), 0, None, 2):
            for read in csp.parse(text, mode="lenient").messages:
                again = [issue.reason for issue in csp.parse(csp.encode(read, strict=False), mode="lenient").issues]
                found = [issue.reason for issue in csp.check(read) if issue.severity == "warning"]
                assert found == again + [issue.reason for issue in read.issues if issue.reason not in again], text


HEAD = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n"


@pytest.mark.parametrize("intent", [intent for intent, word in BLOCK_WORD.items() if word in FIELDS])
def test_known_blocks_take_their_keys_once_and_no_others(intent):
    """Every key of every other block, and every key of its own a second time, wherever it stands."""
    good = GOOD_BLOCKS[intent]
    assert csp.decode(HEAD.format(intent) + "\n".join(good) + "\n")
    own = FIELDS[BLOCK_WORD[intent]]
    foreign = {key for keys in FIELDS.values() for key in keys} | {"X", "DEADLINE"}
    behind = [place for place in range(1, len(good) + 1) if "<<<" not in good[:place] or ">>>" in good[:place]]
    behind = [place for place in behind if good[place - 1] != "CONTENT"]  # its heredoc belongs to it
    for key in sorted(foreign | set(own)):
        twice = key in own
        for place in behind:
            extra = [key, "<<<", ">>>"] if key == "CONTENT" else [f"{key} x"]
            lines = [*good[:place], *extra, *good[place:]]
            caught = raised(DecodeError, csp.decode, HEAD.format(intent) + "\n".join(lines) + "\n")
            if not twice:
                assert (caught.reason, caught.line) == (Reason.UNKNOWN_KEY, 7 + place), (key, place)
            elif key not in ("STATUS", "PRIORITY", "AT") or caught.line > 7 + place:
                first = [number for number, line in enumerate(lines) if line.split(" ")[0] == key]
                assert (caught.reason, caught.line) == (Reason.DUP_FIELD, 7 + first[1]), (key, place)


TASK = HEAD.format("TASK") + "TASK T1\nREQ x\n"


@vectors.cases("csp_forms", kind="lenient")
def test_lenient_issues(case):
    document = csp.parse(case["text"], mode="lenient")
    assert [[str(found.reason), found.where] for found in document.issues] == case["issues"]
    assert len(document.messages) == 1
    assert {found.severity for found in document.issues} == {"warning"}


def test_many_openings_behind_keys_that_no_line_closes_take_linear_time():
    (message,) = csp.parse(HEAD.format("TASK") + "TASK T1\n" + "REQ <<<\n" * 9_000, mode="lenient").messages
    assert message.block.fields == [("REQ", "<<<")] * 9_000


def test_a_name_or_law_of_another_spelling_is_an_issue() -> None:
    found = csp.parse("hello\nDEF SRC=src/\nLAWS\nL1: a -> B only\n", mode="lenient").issues
    assert [(one.reason, one.where) for one in found] == [("junk", 2), ("junk", 4)]
