"""Places where the native code has a way of its own: sizes of its blocks and words, limits, what is kept and given
back. Both cores say the same there."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.conftest import needs_both, raised
from tests.csp.generate import walked
from tests.log import engines, json_engines
from tests.log.test_times import times_of
from turnwire import LIMITS, kick, nslip, sap, sstp
from turnwire._backend import core_module
from turnwire.errors import DecodeError, EncodeError
from turnwire.nslip import base62

pytestmark = [pytest.mark.once, needs_both]
RECORDS = {wire: [bytes(record).decode() for record in records] for wire, records in json_engines.RECORDS.items()}


def both(name: str) -> list[ModuleType]:
    return [core_module(core, name) for core in ("native", "pure")]


def said(call: Any, *given: Any, **options: Any) -> Any:
    """The result of a call, or why it is refused."""
    try:
        return call(*given, **options)
    except (DecodeError, EncodeError, ValueError) as error:
        return type(error).__name__, getattr(error, "offset", None), str(error)


def alike(name: str, call: Any) -> Any:
    """The result of both cores, which is the same."""
    native, pure = (said(call, core) for core in both(name))
    assert native == pure
    return native


# --- CSP/1 ------------------------------------------------------------------------------------------------------------

HEAD = "CSP/1\nFROM a\nTO b\nCTX c\nINTENT {}\n\n"


@pytest.mark.parametrize("lines", range(60, 69))
@pytest.mark.parametrize("feeds", [0, 1, 2, 30, 31, 32, 33, 34, 35, 62, 63, 64, 65])
def test_line_feeds_of_a_window_are_counted(feeds: int, lines: int) -> None:
    """However many there are in 64 bytes, in front of where the window ends and behind it."""
    for before in ("", "x", "x\n"):
        data = (
            f"{before}{chr(10) * feeds}{'x' * (lines - feeds)}\nyy\nzz\n{HEAD.format('QUERY')}QUERY q\nX y\n".encode()
        )
        wanted = engines.read("pure", data, wire="csp")
        assert all(engines.read(name, data, wire="csp") == wanted for name in engines.ENGINES)


@pytest.mark.parametrize("sign", ["CSP/1", "csp/1", "CSP/2"])
def test_blanks_anywhere_in_what_looks_like_a_first_line(sign: str) -> None:
    for blank in (" ", "\t", " \t", "\t\t", "\x0b"):
        for at in range(len(sign) + 1):
            line = sign[:at] + blank + sign[at:]
            data = f"{HEAD.format('QUERY')}QUERY q\nX y\n{line}\nZ z\n".encode()
            alike("csp.codec", lambda core, data=data: walked(core, data))


# --- nSLIP ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 3])
def test_a_number_that_is_none_is_named_by_its_place(at: int) -> None:
    numbers = np.full((1 << 20) + 5, b"1", "S1")
    numbers[at] = b"-"
    caught = raised(DecodeError, base62.decode_array, numbers)
    assert caught.path == f"/{at}"


FIELDS = ("goal_id", "task_id", "parent_task_id", "result_id", "priority", "score", "error_code")


@pytest.mark.parametrize("more", ["", "|", "#|#|", "e and more"])
@pytest.mark.parametrize("size", [0, 30, 50, 63, 64])
def test_records_with_all_fields_at_every_level(size: int, more: str) -> None:
    record = b'@a1|f0|c1|S1|d2|T1|g1|k2|p3|r4|q5|s6|t"' + b"x" * size + b'"#' + more.encode() + b"\n"
    for before in (b"", b" " * 64 + b"\n", b"x" * 37 + b"\n"):
        data = before + record * 3 + b" " * 200
        for columns in (None, (*FIELDS, "tag"), ("tag",), FIELDS[:2], ()):
            found = [engines.read(name, data, columns=columns) for name in engines.ENGINES]
            assert all(one == found[0] for one in found), columns


@pytest.mark.parametrize("extras", ["x1|x2", "x1|g1|x2", "x1|y1|x2", "g1|x1|g1", "x1|y2|z3|k1|y4", "y1|g2|k3|y1"])
def test_unknown_fields_that_come_twice_are_seen_wherever_they_stand(extras: str) -> None:
    text = f"@a1|f0|c1|S1|d2|T1|{extras}#"
    caught = raised(DecodeError, nslip.decode, text, unknown="keep")
    assert caught.reason == "duplicate" and text[caught.offset or 0] == extras[-2]


class Own(int):
    """A number of a kind of its own."""


@pytest.mark.parametrize("number", [2, Own(2), Own(0), True, 2.0, "2", None, Own(2**64)])
@pytest.mark.parametrize("slot", [1, 9, 10, 13, 14, 15, 16, 20, 25])
def test_what_is_put_into_a_slot_is_written_or_refused_by_each_way(slot: int, number: Any) -> None:
    message = nslip.decode("@a1|f0|c1|S1|d2|T1|g1#")
    message.slots[slot] = number
    one = said(nslip.encode, message)
    several = said(nslip.encode_many, [message, message])
    if isinstance(one, str):
        assert several == f"{one}\n{one}\n".encode()
        assert nslip.decode(one, unknown="keep").get(slot) == number
    else:
        assert several[0] == one[0]
    assert message.get(slot) == number and not isinstance(said(nslip.check, message), tuple)


# --- JSON, Space and texts --------------------------------------------------------------------------------------------


WORDS = ("SUCCEEDED", "VALID", "FAILED", "QUEUED", "query", "intent", "Command", "Event", "urgent", "normal")


@pytest.mark.parametrize("wire", RECORDS)
def test_words_that_begin_as_known_ones_are_others(wire: str) -> None:
    package = import_module(f"turnwire.{wire}")
    told = 0
    for text in RECORDS[wire]:
        for word in WORDS:
            for other in (f'"{word}X"', f'"{word[:-1]}"', f'"{word}\\u0000"', f'"{word.swapcase()}"'):
                changed = text.replace(f'"{word}"', other)
                if changed == text:
                    continue
                message = said(package.decode, changed)
                told += 1
                if not isinstance(message, tuple):
                    assert json.loads(package.encode(message, strict=False)) == json.loads(changed)
                    assert package.check(message), other  # what is no word of the table is told
    assert told


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70, 10**40, 10**400, -(2**63), -(2**63) - 1])
def test_whole_numbers_of_any_size_are_written_as_they_are(number: int) -> None:
    made = [json.loads(text) for text in RECORDS["sap"]]
    fields = next(one for one in made if isinstance(one, dict) and "constitutionalEvidence" in one and "status" in one)
    fields["constitutionalEvidence"]["pressureReadings"] = {"a": number}
    for strict in (True, False):
        written = said(sap.encode, sap.Result.of(fields), strict=strict)
        assert isinstance(written, tuple) or json.loads(written) == fields
    assert isinstance(written, str)


def test_messages_of_just_the_usual_limit() -> None:
    made = {
        "csp": f"{HEAD.format('QUERY')}QUERY q\nX {{}}\n",
        "kick": json.dumps(json.loads(kick.encode(envelope())) | {"content": "\u2afbcommand/x\nSIZE"}).replace(
            "SIZE", "{}"
        ),
        "sstp": json.dumps(json.loads(RECORDS["sstp"][0]) | {"more": "SIZE"}).replace("SIZE", "{}"),
    }
    for wire, text in made.items():
        decode = import_module(f"turnwire.{wire}").decode
        head, tail = text.split("{}") if wire == "csp" else text.rsplit("{}", 1)
        for more in (0, 1, 2):
            whole = head + "x" * (LIMITS.message - len((head + tail).encode()) + more) + tail
            for form in (whole, whole.encode()):
                found = said(decode, form)
                refused = found[2] if isinstance(found, tuple) else ""
                assert ("large" in refused) is (more > 0), (wire, more, refused[:99])


@pytest.mark.parametrize("text", ['t"x"', 'u"x"', "g1|k2", "p3|r4|q5|s6|e7", 'g1|t"x"|u"y"'])
def test_what_stands_in_no_slot_is_not_there(text: str) -> None:
    wire = f"@a1|f0|c1|S1|d2|T1|{text}#"
    held = {int(slot): value for slot, value in nslip.decode(wire).slots.items()}
    assert len(held) == text.count("|") + 1
    for slot in range(-3, 80):  # of a message that nobody has asked for its slots
        assert nslip.decode(wire).get(slot) == held.get(slot)


def envelope() -> Any:
    return kick.channels.dispatch("T-1", "Coder", "x", timestamp="2026-01-01T00:00:00Z")


@pytest.mark.parametrize("name", ["correlation_id", "content", "timestamp", "receiver", "sender", "id"])
def test_a_field_that_is_taken_away_is_written_no_longer(name: str) -> None:
    fields = json.loads(kick.encode(envelope())) | {"correlation_id": "11111111-1111-4111-8111-111111111112"}
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    for touched in (False, True):
        message = kick.decode(text)
        if touched:
            assert message.sender and kick.encode(message)
        if name == "correlation_id":
            del message.correlation_id
            assert message.correlation_id is None
        else:
            setattr(message, name, "other")
        written = json.loads(kick.encode(message, strict=False))
        assert written.get(name) == (None if name == "correlation_id" else "other")


SSTP = '{"header":{"kind":"intent","actor_id":"a","schema_id":"x","session_id":"s","logical_clock":1},"payload":{%s}}\n'


@pytest.mark.parametrize("second", ['"zz":3', '"goal":3', '"b":3', '"\\u0062":3', '"new":3'])
def test_a_key_that_comes_twice_behind_messages_with_the_same_steps(second: str) -> None:
    members = '"zz":1,"goal":"g","\\u0062":2', '"goal":"g","zz":1,"b":2', '"b":2,"\\u007a\\u007a":1,"goal":"g"'
    for own in members:
        data = (SSTP % own + SSTP % f"{own},{second}" + SSTP % own + SSTP % f"{second},{own}").encode()
        found = json_engines.both("sstp", data)
        refused = [isinstance(said(sstp.decode, line), tuple) for line in data.splitlines()]
        assert len(found[0]["offset"]) == 4 - sum(refused)


def test_days_of_february() -> None:
    years = (1, 4, 100, 400, 1900, 2000, 2023, 2024, 2100, 2400, 3000, 4000, 9999)
    heads = [f"{year:04}-02-{day}T00:00:00Z".encode() for year in years for day in (28, 29, 30)]
    assert times_of("native", heads) == times_of("pure", heads)


# --- what is kept, and given back -------------------------------------------------------------------------------------


RELEASE = """
import ctypes, sys
from turnwire._native.log import arrow
def release(address):
    print(address == ctypes.addressof(memory))
    ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))[1] = None
    raise KeyboardInterrupt
sys.unraisablehook = lambda told: None
memory = (ctypes.c_void_p * 2)(1, 1)
ctypes.CFUNCTYPE(None, ctypes.c_void_p)(arrow.foreign(release, 8))(ctypes.addressof(memory))
"""


def test_what_was_released_before_ctrl_c_is_not_released_again() -> None:
    """In a process of its own: a module has room for few such functions."""
    done = subprocess.run([sys.executable, "-c", RELEASE], capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
