"""JSON at edges of the quick ways: many keys, escapes that are cut off, items that look like JSON. All cores agree."""

from __future__ import annotations

import json
import random

import pytest

from tests.log.json_engines import RECORDS, both

pytestmark = pytest.mark.once


def test_many_objects_have_the_same_many_keys() -> None:
    """Only within one object a key may stand once; the order of all is another, so that none is met again."""
    keys, chance = [f"k{number}" for number in range(60)], random.Random(6)
    message = json.loads(next(record for record in RECORDS["sstp"] if record.startswith(b'{"header"')))
    message["payload"]["rows"] = [dict.fromkeys(chance.sample(keys, 60), number) for number in range(200)]
    good = json.dumps(message).encode()
    message["payload"]["rows"][-1] = {}
    bad = json.dumps(message).encode().replace(b"{}", json.dumps(dict.fromkeys(keys)).encode()[:-1] + b', "k7": 1}')
    found = both("sstp", good + b"\n" + bad + b"\n" + good)
    assert (found.columns["length"], found.bad) == ([len(good)] * 2, 1)


@pytest.mark.parametrize("escape", [rb"\ud83d\ude00", rb"\u0AF9\u90fa", rb"\n\\"])
def test_an_escape_that_is_cut_off_anywhere(escape: bytes) -> None:
    """Or that ends with a byte at the edge of what may stand there: whether an object is cut off or damaged."""
    record = next(record for record in RECORDS["sstp"] if record.startswith(b'{"header"'))
    front = record[: record.index(b'"payload"')] + b'"payload": {"a": "'
    for size in range(len(escape)):
        for last in (b"", *(bytes([byte]) for byte in b'/09:@AFG`afgu\\"x')):
            for behind in (b"", b'"\n' + record):
                both("sstp", front + escape[:size] + last + behind)


PRINCIPLES: tuple[list[str], ...] = ([], ["a"], ["a, b"], ["]"], [",", "a", "],"], ['"', "\\", "["], ["\u00e9,"] * 9)


@pytest.mark.parametrize("space", [(",", ":"), (", ", ": "), (" ,\t", ":\r")])
def test_principles_are_counted_whatever_they_say(space: tuple[str, str]) -> None:
    message = next(json.loads(record) for record in RECORDS["sap"] if b'"constitutionalContext"' in record)
    for texts in PRINCIPLES:
        for inner in (texts, [*texts, "x"], ["x", *texts]):
            message["constitutionalContext"]["principles"] = inner
            found = both("sap", json.dumps(message, separators=space, ensure_ascii=False).encode())
            assert (found.columns["principles"], found.bad) == ([len(inner)], 0), inner
