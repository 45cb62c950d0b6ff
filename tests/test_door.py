"""The compiled door of all wires says what the registry's own functions say, whatever comes: they are its twins."""

from __future__ import annotations

import copy
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

import turnwire
from tests import vectors
from tests.fuzz.messages import MESSAGES
from turnwire import nslip
from turnwire._backend import load
from turnwire.errors import WireError

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(turnwire.backend != "native", reason="the door of the pure core is the registry's"),
]
NAMES = ("header", "origin", "protocolVersion", "taskId", "messageId", "correlationId", "channel", "sender", "receiver")
NAMES += ("payload", "kind", "ACK", "NACK", "x", "hea\\u0064er")
VALUES = (
    '"\u2afbcommand/dispatch"',
    '"\\u2AfB/x"',
    '"\\u2afbx"',
    '"ACK"',
    '"NACK"',
    "{}",
    "1",
    '"header"',
    '"a"',
    '{"header":1}',
)


def outcome(function: Any, *arguments: Any) -> Any:
    """The value, or what of the error is stable."""
    try:
        found = function(*arguments)
    except WireError as error:
        return type(error), error.reason, error.offset, error.line, error.wire, error.path
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    return found


def agree(data: Any) -> None:
    """The door and the registry do the same with data, whichever wire is named."""
    door, (closely, *_) = turnwire.decode, load("common.door").closely
    for arguments in ((data,), *((data, wire) for wire in (*turnwire.WIRES, "mors", 5))):
        assert outcome(door, *arguments) == outcome(closely, *arguments), arguments


def every_text() -> list[str]:
    found = [text for texts in MESSAGES.values() for text in texts]
    for wire in turnwire.WIRES[:5]:
        found += [
            case[key] for case in vectors.load(wire) for key in ("text", "wire") if isinstance(case.get(key), str)
        ]
    return found


@pytest.mark.parametrize("text", every_text())
def test_messages(text: str) -> None:
    for shown in (text, f" \n{text}", f"\v{text}", f"\ufeff{text}", text[:-1], text[:9], f"```\n{text}\n```"):
        agree(shown)
        agree(shown.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "data", [None, 5, bytearray(b"@a3|f0|c0|S0|d0|T0#"), memoryview(b"CSP/1\n"), "\ud800", "", b"\0"]
)
def test_what_is_no_text(data: Any) -> None:
    agree(data)


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES), st.sampled_from(("", " ", "\n\v")))))
def test_objects_with_the_names_of_several_wires(members: list[tuple[str, str, str]]) -> None:
    agree("{" + ",".join(f'{gap}"{name}"{gap}:{gap}{value}' for name, value, gap in members) + "}")


@given(st.text(alphabet='@aS0|#CSP/1;MODE \n\r\v{"header', max_size=40))
def test_beginnings(text: str) -> None:
    agree(text)


@pytest.mark.parametrize("wire", MESSAGES)
def test_writing_and_checking(wire: str) -> None:
    class Own(nslip.SlipMessage):
        """A class of somebody else's."""

    _, encode, check = load("common.door").closely
    found: list[Any] = [turnwire.decode(text, wire) for text in MESSAGES[wire]]
    found += [Own(1, 2, 3, 4, nslip.Act.ASK, nslip.FrameType.TASK), object(), None, int]
    for message in found:
        for strict in ((), (True,), (False,)):
            assert outcome(turnwire.encode, copy.deepcopy(message), *strict) == outcome(encode, message, *strict)
        assert outcome(turnwire.check, message) == outcome(check, message)
        context = {"no_such_context": 1}
        assert outcome(partial(turnwire.check, **context), message) == outcome(partial(check, **context), message)


TWICE = """
from turnwire._backend import load

class Message: pass

def learned(known):
    if not asked:
        asked.append(known)
        encode(Message())
    return (lambda message: "good"), None, None, None

asked = []
_, encode, _ = load("common.door").doors((), None, learned, len, len, len)
assert encode(Message()) == "good"
others = [(Message, None, None, None, None) for _ in range(1000)]  # in memory that was freed
assert encode(Message()) == "good"
"""


def test_a_class_that_is_learned_twice_at_once_stays() -> None:
    """As by two threads, each of which is asked about it by the other's time."""
    subprocess.run([sys.executable, "-c", TWICE], check=True)
