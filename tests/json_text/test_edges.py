"""Numbers, names and depths at the edge of what the quick ways take: they are read, judged and written as the long ones
do."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import pytest

import turnwire
from tests.fuzz.edits import MESSAGES
from tests.sap.documents import RESULT, TASK, changed
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


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_numbers_are_those_of_python(wire: str, backend: str) -> None:
    """Or refused, where they are too large for a double."""
    read = core_module(backend, "json.text").Reader(wire, ()).read
    for number in numbers():
        value = json.loads(number)
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            with pytest.raises(DecodeError) as caught:
                read(f'{{"a":{number}}}'.encode())
            assert caught.value.reason == "not_finite", number
        else:
            found = read(f'{{"a":{number}}}'.encode())["a"]
            assert (type(found), repr(found)) == (type(value), repr(value)), number


@pytest.mark.parametrize("wire", JSON_WIRES)
@pytest.mark.parametrize("form", ["{}", "[{}]", '{{"x":[1,{}]}}'])
def test_numbers_in_messages(wire: str, form: str) -> None:
    for number in numbers():
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


@pytest.mark.parametrize("most", [1000, 1024, 1025, 3000, 6143, 6144])
def test_a_key_that_is_most_of_its_text_is_as_long_as_may_be(backend: str, most: int) -> None:
    """A text that is hardly longer than the limit may be such a key. Its bytes count, an escape's as it is written."""
    read = core_module(backend, "json.text").Reader("x").read
    for unit in ("k", "\u00e9", "\\n", "\\u00e9"):
        size = len(unit.encode())
        for count in range(max(most // size - 1, 1), most // size + 2):
            for value in ("1", f'"{"x" * (2 * most)}"'):
                refused = reason_of(read, f'{{"{unit * count}":{value}}}'.encode(), Limits(key=most))
                assert refused == ("key_too_long" if most < count * size else None), (unit, count, value[:9])


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


def is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_no_letter_makes_bad_json_good(wire: str) -> None:
    """Each that means something, or stands beside one that does, in place of another or between two."""
    values = ["-1.5", "10", "2e5", "-0.5E+12", "123456789012345678901.5", "[true,[],0]", '{"a":null,"b":"\\u00e9"}']
    front, behind = with_member(wire, '"n":@').split(b"@")
    for text in values:
        for place in range(len(text) + 1):
            for rest in (text[place:], text[place + 1 :]):
                for letter in ' !"#+,-./0129:;@DEFdefntuZ[\\]^z{|}':
                    value = f"{text[:place]}{letter}{rest}".encode()
                    if not is_json(b'{"n":%s}' % value):
                        assert reason_of(turnwire.decode, front + value + behind, wire), value


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


@pytest.mark.parametrize("wire", JSON_WIRES)
@pytest.mark.parametrize("brackets", ["[", "{", "[{"])
def test_values_as_deep_as_may_be_are_written(wire: str, brackets: str) -> None:
    """The default limit is that of writing, too."""
    message: Any = turnwire.decode(with_member(wire, '"n":1'), wire=wire)
    for depth in range(LIMITS.nesting - 5, LIMITS.nesting + 3):
        message.payload["n"] = json.loads(nested(depth, brackets))
        good = depth + 2 <= LIMITS.nesting
        assert reason_of(turnwire.encode, message) == (None if good else "too_deep"), depth
        if good:
            assert turnwire.decode(turnwire.encode(message), wire) == message, depth


def containers(value: Any, front: str = "") -> Iterator[tuple[str, int]]:
    """A pointer to something new in each object, and to the last element of each array of objects, with the number of
    containers that it is in."""
    if isinstance(value, dict):
        yield f"{front}/@", front.count("/") + 1
        for key, inner in value.items():
            yield from containers(inner, f"{front}/{key}")
    elif isinstance(value, list) and value and isinstance(value[-1], dict):
        yield f"{front}/{len(value) - 1}", front.count("/") + 1
        yield from containers(value[-1], f"{front}/{len(value) - 1}")


@pytest.mark.parametrize("document", [TASK, {**RESULT, "nextActions": [{}], "error": {"details": {}}}])
def test_values_as_deep_as_may_be_are_written_wherever_they_stand(document: dict[str, Any]) -> None:
    places = 0
    for pointer, level in containers(document):
        for more in (0, 1):
            deep = json.loads(nested(LIMITS.nesting - level + more, "{"))
            data = json.dumps(changed(document, pointer, deep)).encode()
            if reason_of(turnwire.sap.decode, json.dumps(changed(document, pointer, {})).encode()):
                continue  # nothing else may stand there
            message = turnwire.sap.decode(data, limits=Limits(nesting=LIMITS.nesting + 1))
            for each in (message, message.replace()):  # one that was read, and one that is judged while it is written
                assert reason_of(turnwire.encode, each) == (None, "too_deep")[more], (pointer, more)
            places += 1
    assert places > 20


@pytest.mark.parametrize("many", [2, 5, 40])
def test_names_in_the_order_of_utf_16(many: int, backend: str) -> None:
    """RFC 8785, 3.2.3: a name beyond U+FFFF stands in front of one from U+E000 on."""
    canonical = core_module(backend, "json.canonical").canonical
    letters = "az\x7f\u00e9\u07ff\u0800\ud7ff\ue000\uf900\ufffd\uffff\U00010000\U0001f600\U0003ffff\U00040000\U0010ffff"
    names = [*letters, *(one + other for one in letters for other in letters)]
    chance = random.Random(many)
    for _ in range(400):
        chosen = chance.sample(names, many)
        written = canonical(dict.fromkeys(chosen, 1)).decode()
        assert list(json.loads(written)) == sorted(chosen, key=lambda name: name.encode("utf-16-be"))


@pytest.mark.parametrize("size", [0, 1, 44, 45, 46, 47, 48, 49, 100])
def test_what_is_not_allowed_is_shown_up_to_48_letters(size: int) -> None:
    text = f'"{"x" * size}"'
    with pytest.raises(DecodeError) as caught:
        turnwire.sap.decode('{"a":1 ' + text + "}")
    assert f"{text[:48]!r} is not allowed here" in str(caught.value)


@pytest.mark.parametrize("nesting", [1, 2, 127, 128, 129, 511, 512, 513, 600])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_an_object_is_found_as_deep_as_the_limit_and_512_levels(nesting, more, core):
    depth = nesting + more
    raw = b'x{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}" if depth > 1 else b'x{"a":1}'
    found, place = core("json.text").Reader("w").find(raw + b" y", 1, LIMITS._replace(nesting=nesting))
    assert (found is not None) is (depth <= min(nesting, 512))
    assert place == (len(raw) if found is not None else 6 + min(nesting, 512) - 1)
