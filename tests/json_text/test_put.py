"""Messages made by a program: both cores write the same text or refuse them with the same words, and find the same."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from enum import Enum, IntEnum, StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest

from tests.conftest import PURE_ONLY, rounds
from tests.json_text.test_lazy_object import good
from turnwire import sap, sstp
from turnwire.errors import EncodeError
from turnwire.json import _codec_py as pure
from turnwire.json.text import reader
from turnwire.sap import codec as sap_codec
from turnwire.sstp import codec as sstp_codec
from turnwire.sstp.messages import CLASSES

pytestmark = pytest.mark.skipif(PURE_ONLY, reason="there is no twin to compare with")


class Word(StrEnum):
    FAILED = "FAILED"
    SAID = "said"


class Old(str, Enum):
    DONE = "SUCCEEDED"


class Number(IntEnum):
    ONE = 1


class Sly(str):
    """A text that is equal to no other."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return False


class Plain(dict[str, Any]):
    """A dict that is as every dict."""


class Other(dict[str, Any]):
    """A dict that shows other members than it has."""

    def items(self) -> Any:
        return {"other": 1}.items()


class Items(list[Any]):
    """A list of a class of its own."""


class Bytes(bytes):
    """Bytes of a class of their own."""


def odd() -> list[Any]:
    """Values of all kinds, made anew: a document that holds one may be bent in it."""
    found: list[Any] = [None, True, False, 0, 1, 7, 100, 101, -1, 1 << 62, 1 << 63, -(1 << 63), 1 << 70, Number.ONE]
    found += [0.0, -0.0, 0.5, 1.0, 41.0, 1.5, -0.25, 1e300, float("nan"), float("inf"), 3j, b"x", Bytes(b"x"), object]
    found += ["", "x", "<x>", "é", "<é", "日", "😀", "\ud800", '"\\\n\x01', "a" * 5000]
    found += ["SUCCEEDED", "FAILED", "2.0", "a@b", "https://u:p@h/", f"Bearer {'a1' * 12}", {"apiKey": "x"}]
    found += ["2024-02-29T10:00:00Z", "2023-02-29T10:00:00Z", "2025-12-31T23:59:60Z", "2025-12-31T23:59:59.5Z"]
    found += ["sha256:" + "0" * 64, Word.FAILED, Word.SAID, Old.DONE, Sly("FAILED"), Sly("2.0"), Sly("x")]
    found += [(), ("a",), ["a"], [Word.SAID], ["a", 1], [{}], ({},), Items(), Items(["a"]), {"é": [1, (2, None)]}]
    found += [{}, Plain(), Plain(a=1), Other(a=1), {"a": 1}, {"a": 0.5}, {1: 2}, {"a": {}}, {Word.SAID: 1}]
    found += [MappingProxyType({}), {"\ud800": 1}, {"x" * 300: 1}, {"type": "a", "name": "b", "value": "c"}]
    return found


ODD_KEYS: list[Any] = ["x", "é", "", "header", "kind", "directed_to", "protocol", "status", "error", 1, None]
ODD_KEYS += [Word.SAID, Sly("taskId")]


def holders(value: Any) -> list[Any]:
    """All containers of a document, itself included."""
    found = [value] if isinstance(value, (dict, list)) else []
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += holders(inner)
    return found


def bend(document: Any, numbers: random.Random) -> None:
    """Changes one thing of a document."""
    holder = numbers.choice([one for one in holders(document) if one])
    if isinstance(holder, list):
        holder[numbers.randrange(len(holder))] = numbers.choice(odd())
        return
    name = numbers.choice(list(holder))
    match numbers.randrange(5):
        case 0:
            del holder[name]
        case 1:
            members = list(holder.items())
            numbers.shuffle(members)
            holder.clear()
            holder.update(members)
        case 2:
            holder[numbers.choice(ODD_KEYS)] = numbers.choice(odd())
        case 3:
            again = Sly(name) if numbers.random() < 0.5 else "".join(list(name))
            holder[again] = holder.pop(name)
        case _:
            holder[name] = numbers.choice(odd())


def made(wire: str, document: Any) -> Any:
    """The message over a document, of the class that its marks are of, or the class it had before it was bent."""
    if wire == "sap":
        return sap.Task.of(document) if "issuer" in document else sap.Result.of(document)
    kind = document.get("header", {}).get("kind") if isinstance(document.get("header"), dict) else None
    return CLASSES.get(kind if type(kind) is str else "", sstp.Intent).of(document)


def outcome(call: Callable[..., Any], wire: str, document: Any, **options: Any) -> Any:
    try:
        return call(made(wire, document), **options)
    except EncodeError as error:
        return error.reason, error.path, str(error)
    except (TypeError, AttributeError, ValueError) as error:
        return type(error)


@pytest.fixture
def cores(wire: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The native maker, and the pure core as the one that a wire's encode and check ask."""
    from turnwire._native.json import codec as native

    package: Any = sap_codec if wire == "sap" else sstp_codec
    made = [(core, package.codec_of(core, reader(wire, ()).read_source)) for core in (native, pure)]

    def use(core: Any, codec: Any) -> None:
        monkeypatch.setattr(package, "_codec", codec)
        monkeypatch.setattr(package, "_core", core, raising=wire == "sap")

    return [partial(use, *both) for both in made]


@pytest.mark.parametrize("wire", ["sap", "sstp"])
def test_both_cores_write_and_find_the_same(wire: str, cores: list[Any]) -> None:
    numbers, package = random.Random(23), sap if wire == "sap" else sstp
    documents = [json.loads(text) for text in good(wire)]
    written = refused = 0
    for _ in range(rounds(1200)):
        document = copy.deepcopy(numbers.choice(documents))
        for _ in range(numbers.randrange(3)):
            bend(document, numbers)
        strict = numbers.random() < 0.8
        found = []
        for core in cores:
            core()
            text = outcome(package.encode, wire, document, strict=strict)
            found.append((text, outcome(package.check, wire, document)))
        assert found[0] == found[1], document
        written += isinstance(text, str)
        refused += isinstance(text, tuple)
    assert written > 150 and refused > 150
