"""Numbers, names and depths at the edge of what the quick ways take: they are read, judged and written as the long ones
do."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import pytest

import turnwire
from tests.conftest import raised
from tests.fuzz.messages import MESSAGES
from tests.sap.documents import TASK
from tests.test_utf8 import WORDS
from turnwire import LIMITS, DecodeError, WireError
from turnwire._backend import core_module
from turnwire.contract import Limits

JSON_WIRES = ("sstp", "sap")


def with_member(wire: str, member: str) -> bytes:
    """A message whose payload has one more member."""
    document = TASK if wire == "sap" else json.loads(next(text for text in MESSAGES[wire] if WORDS[wire] in text))
    text = json.dumps({**document, "payload": {**document["payload"], "@": 0}})
    return text.replace('"@": 0', member).encode()


def reason_of(call: Callable[..., Any], *arguments: Any) -> str | None:
    """Why a call is refused; None where it is not."""
    try:
        call(*arguments)
    except WireError as error:
        return str(error.reason)
    return None


def numbers() -> list[str]:
    """Decimal numbers with so many digits in front of the point, behind it, and in the exponent."""
    chance, found = random.Random(3), []
    for whole in ("0", "7", "12", "123456", "123456789012345", "9007199254740993", "12345678901234567"):
        found += [whole + end for end in ("", "e0", "E+2", "e-3", "e22", "e23", "e99", "e100", "e307", "e-999")]
        found += [f"{whole}e{more}" for more in ("308", "309", "310", "400", "999", "1000", "0000", "-0400")]
        for size in range(1, 26):
            digits = "".join(chance.choices("0123456789", k=size))
            found += [f"{whole}.{digits}", f"-{whole}.{digits}", f"{whole}.{digits}e3", f"{whole}.{'0' * size}"]
    for size in range(13, 20):  # as many as a double holds exactly, and a few more
        for _ in range(60):
            digits = str(chance.randrange(10 ** (size - 1), 10**size))
            place = chance.randrange(1, size)
            found.append(f"{digits[:place]}.{digits[place:]}")
    return found


def test_numbers_are_those_of_python(backend: str) -> None:
    """Or refused, where they are too large for a double."""
    read = core_module(backend, "json.text").Reader("x", ()).read
    for number in numbers():
        value = json.loads(number)
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            assert raised(DecodeError, read, f'{{"a":{number}}}'.encode()).reason == "not_finite", number
        else:
            found = read(f'{{"a":{number}}}'.encode())["a"]
            assert (type(found), repr(found)) == (type(value), repr(value)), number


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_numbers_in_messages(wire: str) -> None:
    forms = ("{}", "[{}]", '{{"x":[1,{}]}}')
    for place, number in enumerate(numbers()):
        form = forms[place % 3]
        data = with_member(wire, f'"n":{form.format(number)}')
        value = json.loads(number)
        if value in (float("inf"), float("-inf")):
            assert reason_of(turnwire.decode, data, wire) == "not_finite", number
        else:
            found: Any = turnwire.decode(data, wire)
            assert repr(found.payload["n"]) == repr(json.loads(form.format(number))), number


def test_a_key_as_long_as_may_be_though_it_was_met_before(backend: str) -> None:
    """Keys that stand where they stood in the message before are not read again; the limit may be another one."""
    names = ("averylongkeyname", "k", "é" * 9)
    for known in (names, ()):
        read = core_module(backend, "json.text").Reader("x", known).read
        for name in names:
            for text in (
                f'{{"{name}":1}}',
                f'{{"a":{{"{name}":1}},"{name}":2}}',
                f'{{"z":0,"{name}":[{{"{name}":1}}]}}',
            ):
                size = len(name.encode())
                for most in (100, size, size - 1, 100, size - 1, size, max(size - 9, 1)):
                    refused = reason_of(read, text.encode(), Limits(key=most))
                    assert refused == ("key_too_long" if most < size else None), (text, most)


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_numbers_as_long_as_may_be_now(wire: str) -> None:
    """The interpreter's own limit holds, too, whatever it was when a message like this one was judged before."""
    before = sys.get_int_max_str_digits()
    data = with_member(wire, f'"n":{"7" * 1000}')
    other = with_member(wire, f'"n":{"7" * 600}')
    log = b"\n".join([other, data, data, other])
    try:
        for most in (640, 4300, 640, 999, 1000, 1001, 0, 640):
            sys.set_int_max_str_digits(most)
            good = most == 0 or most >= 1000
            scan = turnwire.scan(log, wire=wire)
            assert (sum(map(len, scan)), len(scan.rejects)) == ((4, 0) if good else (2, 2)), most
            assert reason_of(turnwire.decode, data, wire) == (None if good else "number_too_long"), most
    finally:
        sys.set_int_max_str_digits(before)


def nested(depth: int, brackets: str) -> str:
    """So many arrays or objects in each other."""
    kinds = [brackets[level % len(brackets)] for level in range(depth)]
    front = "".join("[" if kind == "[" else '{"a":' for kind in kinds)
    return front + "1" + "".join("]" if kind == "[" else "}" for kind in reversed(kinds))


@pytest.mark.parametrize("wire", JSON_WIRES)
@pytest.mark.parametrize("brackets", ["[", "{", "[{", "{[["])
@pytest.mark.parametrize("most", [5, 20, LIMITS.nesting])
def test_values_as_deep_as_may_be(wire: str, brackets: str, most: int) -> None:
    """A payload is two levels deep; alone, as what stands in front of others, and in a log."""
    limits = LIMITS if most == LIMITS.nesting else Limits(nesting=most)
    for depth in range(most - 5, most + 3):
        good = depth + 2 <= most
        for member in (f'"n":{nested(depth, brackets)}', f'"n":[0],"m":{nested(depth, brackets)}'):
            data = with_member(wire, member)
            decode = partial(import_module(f"turnwire.{wire}").decode, limits=limits)
            assert reason_of(decode, data) == (None if good else "too_deep"), depth
            if limits == LIMITS:  # those of a scan
                scan = turnwire.scan(b"\n".join([with_member(wire, '"n":[0]'), data, data]), wire=wire)
                assert (sum(map(len, scan)), len(scan.rejects)) == ((3, 0) if good else (1, 2)), depth


@pytest.mark.parametrize("many", [2, 5, 40])
def test_names_in_the_order_of_utf_16(many: int, backend: str) -> None:
    """RFC 8785, 3.2.3: a name beyond U+FFFF stands in front of one from U+E000 on."""
    canonical = core_module(backend, "json.write").canonical
    letters = "az\x7f\u00e9\u07ff\u0800\ud7ff\ue000\uf900\ufffd\uffff\U00010000\U0001f600\U0003ffff\U00040000\U0010ffff"
    names = [*letters, *(one + other for one in letters for other in letters)]
    chance = random.Random(many)
    for _ in range(400):
        chosen = chance.sample(names, many)
        written = canonical(dict.fromkeys(chosen, 1)).decode()
        assert list(json.loads(written)) == sorted(chosen, key=lambda name: name.encode("utf-16-be"))
