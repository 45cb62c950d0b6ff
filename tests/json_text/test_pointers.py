"""Pointers find values in JSON text: what stands at the place is the value, however the text is written."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from turnwire.json import faults as pointers

NAMES = ("a", "b", "", "a/b", "~", "~1", "é", "日", "😀", 'say "so"', "back\\slash", "\n", "0", "x" * 40)
SPACES = ("", "", " ", "\t", "\n  ", "\r\n")


def value(numbers: random.Random, depth: int) -> Any:
    if depth and numbers.random() < 0.7:
        if numbers.random() < 0.5:
            return [value(numbers, depth - 1) for _ in range(numbers.randrange(13))]
        names = numbers.sample(NAMES, numbers.randrange(6))
        return {name: value(numbers, depth - 1) for name in names}
    return numbers.choice([None, True, False, 0, -1.5, 12345, "", "x", '},"a":', "\\", "é]"])


def string(numbers: random.Random, text: str) -> str:
    """A string with escapes that it need not have."""
    pairs = (json.dumps(letter)[1:-1] if ord(letter) > 0xFFFF else f"\\u{ord(letter):04x}" for letter in text)
    kept = (json.dumps(letter, ensure_ascii=False)[1:-1] for letter in text)
    odd = numbers.random() < 0.5
    return '"' + "".join(a if odd and numbers.random() < 0.3 else b for a, b in zip(pairs, kept, strict=True)) + '"'


def written(numbers: random.Random, found: Any) -> str:
    def space() -> str:
        return numbers.choice(SPACES)

    if isinstance(found, dict):
        members = (
            f"{space()}{string(numbers, name)}{space()}:{space()}{written(numbers, inner)}{space()}"
            for name, inner in found.items()
        )
        return "{" + (",".join(members) or space()) + "}"
    if isinstance(found, list):
        return "[" + (",".join(f"{space()}{written(numbers, one)}{space()}" for one in found) or space()) + "]"
    return string(numbers, found) if isinstance(found, str) else json.dumps(found)


def paths(found: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with its pointer, and pointers to what is not there, with what is around that."""
    yield path, found
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for name, one in inner:
        yield from paths(one, below(path, name))
    absent = [*NAMES, "00"]
    if isinstance(found, list):
        absent = ["-1", "00", "01", "+1", "", "a", str(len(found))]
    for name in absent:
        if not isinstance(found, dict) or name not in found:
            yield below(path, name), found


def below(path: str, name: str | int) -> str:
    return f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}"


def test_what_stands_there_is_the_value() -> None:
    numbers = random.Random(7)
    count = 0
    for _ in range(80):
        document = {"first": value(numbers, 3), "": value(numbers, 2)}
        text = numbers.choice(SPACES) + written(numbers, document)
        data = text.encode()
        found = list(paths(document))
        for pointer, expected in numbers.sample(found, min(len(found), 60)):
            place = pointers.place_of(data, pointer)
            assert json.JSONDecoder().raw_decode(data[place:].decode())[0] == expected, (text, pointer)
            count += 1
    assert count > 3000


RAW = ' { "a" : [1, {"x/~" : "q"}] , "b":2}'
SHOWN = {"": '{ "a', "/a": "[1,", "/a/1": '{"x', "/a/1/x~1~0": '"q"', "/a/7": "[1,", "/a/1/none": '{"x', "/b": "2}"}
SHOWN |= {"/none/deeper": '{ "a', "/b/0": "2}"}


@pytest.mark.parametrize(
    ("text", "pointer", "place"),
    [
        ('{"\\u0061":1,"a":2}', "/a", 10),
        ('{"aa":1,"a":2}', "/a", 12),
        ('{"a":[1,[2,{"b":3}],4]}', "/a/1/1/b", 16),
        ('{"a":["]","}",3]}', "/a/2", 14),
        ('{"a":[]}', "/a/0", 5),
        ('{"a":[ 1 ]}', "/a/0", 7),
        ('{"a":[1,2]}', "/a/9999999999999999999999", 5),
        ('{"\\ud83d\\ude00":1}', "/😀", 16),
        ('{"\\"":1, "b" : 2}', "/b", 15),
        *((RAW, pointer, RAW.index(shown)) for pointer, shown in SHOWN.items()),
    ],
)
def test_places(text: str, pointer: str, place: int) -> None:
    assert pointers.place_of(text.encode(), pointer) == place
