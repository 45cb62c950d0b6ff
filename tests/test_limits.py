"""Each limit of reading holds to the unit, for text of each width and for bytes, however the message is read; and every
function that takes ``limits=`` says so when it is given something else."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import pytest

import turnwire
from tests.json_text.test_edges import reason_of, with_member
from tests.log.test_limits import message_of
from tests.test_utf8 import WORDS
from turnwire import LIMITS, Limits, csp, kick, log, sap, sstp
from turnwire._backend import core_module
from turnwire.contract import cached_if_short
from turnwire.csp.lints import filler
from turnwire.json import text as json_text
from turnwire.kick.messages import channel_parts
from turnwire.session.templates import time_of
from turnwire.sstp.session import folded, outline

FORMS: tuple[Callable[[str], Any], ...] = (str, str.encode, lambda text: memoryview(text.encode()))
FROM = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PLAN\n\nPLAN P1\n"


def decoded(wire: str, data: Any, limits: Limits) -> str | None:
    """Why a message is refused under these limits; None where it is not."""
    return reason_of(partial(import_module(f"turnwire.{wire}").decode, limits=limits), data)


@pytest.mark.parametrize("wire", ["csp", "sstp", "sap", "kick"])
@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u20ac", "\U0001f600"])
def test_bytes_of_a_message(wire: str, letter: str) -> None:
    for more in (0, 1, 15, 64, 700):
        text = message_of(wire, 0).decode().replace(WORDS[wire], WORDS[wire] + letter * more, 1)
        size = len(text.encode())
        for form in FORMS:
            for most in (size + 1, size, size - 1, size - 2, size // 2, 1):
                refused = decoded(wire, form(text), LIMITS._replace(message=most))
                assert refused == ("message_too_large" if most < size else None), (most, size)


@pytest.mark.parametrize("number", [1, 2, 3, 8, 40, 255, 256, 257, 300])
def test_fields_of_a_block(number: int) -> None:
    text = FROM + "".join(f"K{n} v\n" for n in range(number))
    for form in FORMS:
        for most in (number - 1, number, number + 1):
            refused = decoded("csp", form(text), LIMITS._replace(fields=most))
            assert refused == ("too_many_fields" if most < number else None), most


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 16, 31, 32, 33, 64, 65, 300])
def test_bytes_of_a_key_of_a_block(size: int) -> None:
    for before, least in (("", 1), ("A v\n", 1), ("LONGER_KEY v\nB w\n", 10)):
        text = f"{FROM}{before}{'K' * size} v\n"
        for form in FORMS:
            for most in {max(one, least) for one in (size - 1, size, size + 1)}:
                refused = decoded("csp", form(text), LIMITS._replace(key=most))
                assert refused == ("key_too_long" if most < size else None), most


@pytest.mark.parametrize("wire", ["sstp", "sap"])
@pytest.mark.parametrize("letter", ["k", "\u00e9", "\U0001f600", "\\n", "\\u00e9", "\\ud83d\\ude00"])
def test_bytes_of_a_key_of_json(wire: str, letter: str) -> None:
    """As it is written, escapes and all; alone and below."""
    one = len(letter.encode())
    for times in (30, 64, 65, 200):
        size = one * times
        for member in (
            f'"{letter * times}":1',
            f'"n":[{{"{letter * times}":1}}]',
            f'"n":{{"a":1,"{letter * times}":{{}}}}',
        ):
            data = with_member(wire, member).decode()
            for form in FORMS:
                for most in (size - 1, size, size + 1, LIMITS.key):
                    assert decoded(wire, form(data), LIMITS._replace(key=most)) == (
                        "key_too_long" if most < size else None
                    ), (member, most)


@pytest.mark.parametrize("wire", ["sstp", "sap"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_digits_of_a_whole_number(wire: str, sign: str) -> None:
    """Those of a number with a point or an exponent are not counted."""
    for digits in (25, 64, 300, 1000):
        number = sign + "7" * digits
        for member in (f'"n":{number}', f'"n":[1,{number}]', f'"n":{{"a":{number}}}'):
            data = with_member(wire, member).decode()
            for most in (digits - 1, digits, digits + 1):
                refused = decoded(wire, data, LIMITS._replace(integer_digits=most))
                assert refused == ("number_too_long" if most < digits else None), (member, most)
        real = with_member(wire, f'"n":{number}.5e-{digits}').decode()
        assert decoded(wire, real, LIMITS._replace(integer_digits=digits - 1)) is None


OBJECT = b'{"a": 1}'
TAKERS: dict[str, Callable[[Any], Any]] = {
    "scan": lambda limits: turnwire.scan(b"", limits=limits),
    "Decoder": lambda limits: turnwire.Decoder(limits=limits),
    "Decoder of nslip": lambda limits: turnwire.Decoder("nslip", limits=limits),
    "Decoder of sap": lambda limits: turnwire.Decoder("sap", limits=limits),
    "sstp.decode": lambda limits: sstp.decode(OBJECT, limits=limits),
    "sap.decode": lambda limits: sap.decode(OBJECT, limits=limits),
    "kick.decode": lambda limits: kick.decode(OBJECT, limits=limits),
    "csp.decode": lambda limits: csp.decode("CSP/1", limits=limits),
    "csp.parse": lambda limits: csp.parse("CSP/1", limits=limits),
    "csp.parse, lenient": lambda limits: csp.parse("CSP/1", mode="lenient", limits=limits),
    "csp.read_log": lambda limits: csp.read_log("CSP/1", limits=limits),
    "json_text.read_object": lambda limits: json_text.read_object(OBJECT, "sap", limits=limits),
    "json_text.write": lambda limits: json_text.write({}, limits=limits),
    "log.stats": lambda limits: log.stats(b"", limits=limits),
}


@pytest.mark.once
@pytest.mark.parametrize("wrong", [None, 5, {"message": 3}, (1, 2)], ids=["None", "int", "dict", "tuple"])
@pytest.mark.parametrize("name", TAKERS)
def test_what_is_no_limits_is_refused_in_words(name: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"limits must be a turnwire.Limits .* not {type(wrong).__name__}"):
        TAKERS[name](wrong)


def test_both_readers_of_json_refuse_it(backend: str) -> None:
    reader = core_module(backend, "json.text")
    with pytest.raises(TypeError, match="limits must be a turnwire"):
        reader.Reader("sap").read(OBJECT, None)
    assert reader.Reader("sap").read(OBJECT, turnwire.LIMITS._replace(key=9)) == {"a": 1}


def test_no_cache_keeps_long_texts() -> None:
    """Of which a hostile input may have any number; short ones, which come again, are kept."""
    asked = []
    size = cached_if_short(8, 3)(lambda text: asked.append(text) or len(text))
    assert [size(text) for text in ("one", "four", "one", "four")] == [3, 4, 3, 4]
    assert asked == ["one", "four", "four"]
    kept = [folded, outline, channel_parts, time_of, filler]
    tracemalloc.start()
    try:
        for number in range(50):
            for function in kept:
                function(f"{number:03}" + "x" * 20_000)
        assert tracemalloc.get_traced_memory()[0] < 500_000
    finally:
        tracemalloc.stop()
