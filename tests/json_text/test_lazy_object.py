"""Messages judged while their text is read: what is surely good is so, and its object is made when it is asked for."""

from __future__ import annotations

import copy
import json
import pickle
import random
from functools import cache
from typing import Any

import pytest

from tests.conftest import PURE_ONLY, SOAK, raised, rounds
from tests.sap.documents import RESULT, TASK
from tests.sstp.examples import example, real
from turnwire import sap, sstp
from turnwire.contract import LIMITS
from turnwire.json import _codec_py as pure_codec, _text_py as pure_text, _write_py as pure_write, lazy_object
from turnwire.sap import rules as sap_rules
from turnwire.sap.codec import kind_of
from turnwire.sstp.codec import findings
from turnwire.sstp.spec import Kind

needs_native = pytest.mark.skipif(PURE_ONLY, reason="the pure twin makes the object at once")
ATOMS = ["0", "-0", "1", "-7", "100", "101", "0.5", "1.0", "1.00", "0.00001", "2.5e3", "1e400", "01", "1.", ".5", "-"]
ATOMS += [
    *("12345678901234567890", "true", "nul", "null", "{}", "[]", '[""]', '[{"a":1}]'),
    *('{"a":{"a":1}}', '{"a":1,"a":2}'),
]
ATOMS += [
    *('""', '"<x>"', '"\\u003cx"', '"a@b"', '"a\\u0040b"', '"ö レ 😀"', '"\\ud83d\\ude00"', '"\\ud83d"'),
    *('"\\q"', '"\x01"'),
]
ATOMS += ['"sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"', '"s\\u006b-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"', '{"api_key":"x"}']
ATOMS += ['"Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaa"', '"their plan is after the other one"', '["a","b"]', "[1,[2]]"]
ATOMS += [
    '"0000-01-01T00:00:00Z"',
    '"2024-02-29T10:00:00Z"',
    '"2023-02-29T10:00:00Z"',
    '"2025-12-31T23:59:60Z"',
    '"2025-12-31T23:59:59.5Z"',
]
ATOMS += ['"FAILED"', '"SUCCEEDED"', '"2.0"', '"sha256:' + "0" * 64 + '"', '{"' + "k" * 70 + '":1}', '"\\n\\/"']
ATOMS += ["1" * 600, "-" + "1" * 601, "1" * 5000, "1" * 400 + ".5", "1" * 19 + "e2", "-" + "1" * 19]
ATOMS += ["{" + ",".join(f'"k{n}":{n}' for n in range(40)) + "}", "[" * 130 + "]" * 130]
KEYS = [
    *("issuer", "status", "target", "producer", "error", "attachments", "messageId", "protocol"),
    *("directed_to", "x", ""),
]


@pytest.fixture
def package(wire: str, package_of: Any) -> Any:
    """The package of the wire on the backend under test."""
    return package_of(wire)


@cache
def good(wire: str) -> list[str]:
    """Texts of good messages, as they are written; of SSTP with the payload in front, too."""
    documents = [TASK, RESULT] if wire == "sap" else [*map(example, Kind), *real()[::4]]
    if wire == "sstp":
        documents += [dict(reversed(document.items())) for document in documents]
    return [json.dumps(document, separators=(",", ":"), ensure_ascii=False) for document in documents]


def bent(text: str, numbers: random.Random) -> str:
    """A text with one or two things changed, mostly so that it is JSON yet."""
    for _ in range(numbers.randint(1, 2)):
        marks = [at for at, letter in enumerate(text) if letter in ',:{}[]"']
        at = numbers.choice(marks)
        match numbers.randrange(6):
            case 0:
                text = text[:at] + numbers.choice(" \n\t\r\v") + text[at:]
            case 1:
                text = text[:at] + numbers.choice('x",:{}[]\\') + text[at + 1 :]
            case 2:
                text = text.replace("{", f'{{"{numbers.choice(KEYS)}":{numbers.choice(ATOMS)},', 1)
            case 3:
                at = numbers.choice([at for at in marks if text[at] == ":"])
                text = text[: at + 1] + numbers.choice(ATOMS) + text[value_end(text, at + 1) :]
            case 4:
                at = numbers.choice([at for at in marks if text[at] == ":"])
                member = text[text.rfind('"', 0, text.rfind('"', 0, at)) : value_end(text, at + 1)]
                text = text.replace(member, numbers.choice([f"{member},{member}", '"y":1']), 1)
            case _:
                at = numbers.randrange(len(text))
                text = text[:at] + numbers.choice(["é", "\\u0041", "\\n", "", "\x00", "@"]) + text[at + 1 :]
    return text


def value_end(text: str, start: int) -> int:
    """Behind the value at a place, as well as it can be told."""
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except ValueError:
        return start


def read_by_pure(wire: str, data: str | bytes) -> dict[str, Any]:
    return pure_text.Reader(wire).read(data, LIMITS)


@needs_native
@pytest.mark.parametrize("wire", ["sap", "sstp"])
def test_what_is_taken_while_it_is_read_is_good(wire: str) -> None:
    numbers, taken, held = random.Random(11), 0, 0
    package: Any = sap if wire == "sap" else sstp
    for _ in range(rounds(700)):
        text = bent(numbers.choice(good(wire)), numbers)
        data: Any = numbers.choice([text, text.encode()])
        found = taken_well(package, wire, data)
        taken += found is not None
        held += bool(found)
    assert taken > held > 40


@needs_native
@pytest.mark.parametrize("wire", ["sap", "sstp"])
def test_each_value_and_what_may_stand_there_instead(wire: str) -> None:
    package: Any = sap if wire == "sap" else sstp
    found = [
        taken_well(package, wire, f"{text[:start]}{atom}{text[stop:]}")
        for number, (text, start, stop) in enumerate(values(wire))
        for atom in (
            ATOMS if text[start] != '"' else [*ATOMS, *(f'"{front}{text[start + 1 : stop]}' for front in FRONTS)]
        )[number % EACH :: EACH]
    ]
    assert found.count(True) > 40 and found.count(False) > 40 and found.count(None) > 100


EACH = 1 if SOAK else 3
"""Of so many atoms one is put in the place of a value, at each value another."""
FRONTS = ["\\u003c", "\\u0041", "\\n", "<", "u", "@", "\\\\u0041"]
"""Put in front of each text."""


def values(wire: str) -> list[tuple[str, int, int]]:
    """Each place of a value in good messages, once: the text, start and end."""
    found = {}
    for text in good(wire):
        places = [at + 1 for at, letter in enumerate(text) if letter == ":" and text[at - 1] == '"']
        for start in places:
            name = text[text.rfind('"', 0, start - 2) : start], text[:start].count("{")
            found.setdefault(name, (text, start, value_end(text, start)))
    return list(found.values())


def taken_well(package: Any, wire: str, data: str | bytes) -> bool | None:
    """True if a message was held when decoded, and is then what those say who look at objects only; None if
    it is refused."""
    try:
        message = package.decode(data)
    except ValueError:
        return None
    fields = read_by_pure(wire, data)
    held = is_lazy(message)
    if held:
        assert issues_of(fields) == package.check(message) == []
        assert package.encode(message) == package.encode(message, strict=False) == pure_write.compacted(data)
    assert message.to_dict() == fields and not is_lazy(message)
    assert list(message.fields) == list(fields)
    return held


def is_lazy(message: Any) -> bool:
    """True if the object of a message is still to be made."""
    try:
        lazy_object.HeldText.__dict__["_fields"].__get__(message)
    except AttributeError:
        return True
    return False


def issues_of(fields: dict[str, Any]) -> list[Any]:
    """The issues of a message by those who look at objects only."""
    if "header" in fields:
        return list(findings(fields))
    cls = kind_of(fields)
    message = cls.from_dict(fields)
    return [*sap_rules.table_issues(fields, cls.TABLE), *sap_rules.conditions(message), *sap_rules.lint(message)]


@needs_native
@pytest.mark.parametrize("wire", ["sap", "sstp"])
def test_good_messages_are_lazy(wire: str) -> None:
    package: Any = sap if wire == "sap" else sstp
    for text in good(wire):
        assert is_lazy(package.decode(text)) == is_lazy(package.decode(text.encode()))
        assert is_lazy(package.decode(f" {text}\n")) == is_lazy(package.decode(text))
        assert not is_lazy(package.decode(text, limits=LIMITS._replace(key=1 << 20)))
    assert sum(is_lazy(package.decode(text)) for text in good(wire)) > len(good(wire)) // 2


@pytest.mark.parametrize("wire", ["sap", "sstp"])
def test_a_message_is_the_same_however_it_is_touched_first(wire: str, package: Any) -> None:
    for text in good(wire):
        document = json.loads(text)
        for touch in (repr, copy.copy, copy.deepcopy, pickle.dumps, lambda one: one.fields, lambda one: one == 3):
            for form in (text, text.encode(), bytearray(text.encode()), f"{text}\n"):
                message = package.decode(form)
                touch(message)
                assert message.fields == message.to_dict() == document
                assert message == package.decode(text)
        for again in (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
            assert again(package.decode(text)) == package.decode(text)


def test_copies_are_json_values_through_and_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both cores copy dicts, lists, records, tuples, enum members and keys that are no str alike, and refuse what is
    too deep."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    value = {"a": [1, 2.5, {"b": None}], "kinds": (Kind.COMMIT,), "record": TASK, "numbers": {1: {"x": [True]}}}
    plain = {"a": [1, 2.5, {"b": None}], "kinds": ["commit"], "record": TASK, "numbers": {"1": {"x": [True]}}}
    for core in {lazy_object._core, pure_codec}:
        monkeypatch.setattr(lazy_object, "_core", core)
        made = lazy_object.plain(value)
        assert made == plain
        assert made["a"] is not value["a"] and made["a"][2] is not value["a"][2]  # type: ignore[index]
        raised(RecursionError, lazy_object.plain, deep)
