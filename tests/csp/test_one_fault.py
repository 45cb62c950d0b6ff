"""Texts with one fault: strict reading refuses them for what lenient reading tells, wherever the fault is, and with
limits just below, at and above what a text needs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from turnwire import LIMITS, csp
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
FORGIVEN = {
    Reason.UNKNOWN_KEY: {Reason.STRAY_LINE, Reason.CONTINUED},
    Reason.STRAY_LINE: {Reason.CONTINUED},
}
"""What strict reading says -> what a line may be for lenient reading, which lets a value go on in it."""


def message(intent: str) -> str:
    return f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {intent}\n\n{BLOCKS[intent]}"


def told(text: str, **options: object) -> tuple[Reason | None, list[Reason]]:
    """Why strict reading refuses a text, and what lenient reading forgives."""
    try:
        csp.decode(text, **options)
        reason = None
    except DecodeError as error:
        reason = error.reason
    return reason, [issue.reason for issue in csp.parse(text, mode="lenient", **options).issues]


def refused(raw: bytes) -> DecodeError | None:
    """What strict reading raises."""
    try:
        csp.parse(raw)
    except DecodeError as error:
        return error
    return None


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


@pytest.mark.parametrize("fields", [0, 1, 2, 3])
def test_a_generic_block_has_as_many_fields_as_the_limit(fields):
    limits = LIMITS._replace(fields=2)
    reason, issues = told("CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM m1\n" + "A b\n" * fields, limits=limits)
    assert (reason, issues) == ((None, []) if fields <= 2 else (Reason.TOO_MANY_FIELDS, [Reason.TOO_MANY_FIELDS]))


@pytest.mark.parametrize("letters", [1, 2, 3, 4])
def test_a_key_has_as_many_letters_as_the_limit(letters):
    limits = LIMITS._replace(key=3)
    reason, issues = told(f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM m1\n{'K' * letters} b\n", limits=limits)
    assert (reason, issues) == ((None, []) if letters <= 3 else (Reason.KEY_TOO_LONG, [Reason.KEY_TOO_LONG]))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_byte_of_a_fault_is_in_its_line(end):
    """Of a message, and of what stands in front of one; with letters of several bytes in front of it."""
    front = "DEF A = é\n\nLAWS\n- L1: é\n"
    texts = [text for intent in BLOCKS for text in spoilt(intent)]
    texts += [front + more for more in ("DEF A = 1\n", "DEF B = é\nDEF B = 1\n", "- L1: x\n", "- L2: é\n- L2: x\n")]
    faults = 0
    for text in texts:
        raw = text.replace("\n", end).encode()
        error = refused(raw)
        if error is not None:
            assert raw.count(b"\n", 0, error.offset) + 1 == error.line, (text, error)
            assert error.offset == 0 or raw[error.offset - 1 : error.offset] == b"\n"
            faults += 1
    assert faults > 300


def test_checking_tells_once_what_a_message_was_read_with():
    for intent in BLOCKS:
        for text in spoilt(intent):
            for read in csp.parse(text, mode="lenient").messages:
                again = [issue.reason for issue in csp.parse(csp.encode(read, strict=False), mode="lenient").issues]
                found = [issue.reason for issue in csp.check(read) if issue.severity == "warning"]
                assert found == again + [issue.reason for issue in read.issues if issue.reason not in again], text
