"""Where JSON text is wrong, found without words, and where a pointer leads: the same as by the longer way."""

from __future__ import annotations

import json
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tests.sap.documents import TASK
from turnwire import LIMITS
from turnwire.errors import DecodeError, Reason
from turnwire.json import faults, pointers, text

BROKEN = (
    b'"',
    b"{",
    b"}",
    b",",
    b":",
    b"\\",
    b"\0",
    b"\xff",
    b"\xe2",
    b"NaN",
    b"-",
    b"",
    b"\\ud800",
    b"01",
    b"[",
    b'"a":1,"a":',
)


def test_refusal_is_that_of_reading(backend: Any) -> None:
    rng = Random(3)
    whole = json.dumps(TASK).encode()
    refused = 0
    for _ in range(600):
        raw = bytearray(whole)
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(raw))
            raw[at : at + rng.randint(0, 2)] = rng.choice(BROKEN)
        limits = LIMITS._replace(
            nesting=rng.choice([2, 64]), key=rng.choice([12, 1024]), message=rng.choice([900, 1 << 20])
        )
        try:
            text.reader("x").read(bytes(raw), limits)
            expected = None
        except DecodeError as error:
            expected = error.reason, error.offset
            refused += 1
        assert text.reader("x").refusal(bytes(raw), limits) == expected, raw
    assert refused > 300


def _random_value(rng: Random, depth: int) -> Any:
    kind = rng.randrange(7 if depth else 4)
    if kind < 4:
        return [rng.randint(-9, 9), None, 'a"\\}]{[,:', "é⫻"][kind]
    if kind == 4:
        return [_random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    names = ["a", "b", "ab", "é", 'q"', "s\\", "", "a/b", "~"]
    return {rng.choice(names): _random_value(rng, depth - 1) for _ in range(rng.randrange(5))}


def test_a_pointer_leads_to_the_same_place(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(4)
    for _ in range(300):
        value = {"a": _random_value(rng, 3), **{str(n): _random_value(rng, 2) for n in range(rng.randrange(4))}}
        data = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1])).encode()
        steps = ["a", "b", "ab", "é", 'q"', "s\\", "", "a~1b", "~0", "0", "1", "none"]
        pointer = "".join(f"/{rng.choice(steps)}" for _ in range(rng.randint(1, 3)))
        found = pointers.place_of(data, pointer)
        with monkeypatch.context() as patch:
            patch.setattr(pointers, "_core", SimpleNamespace())
            assert found == pointers.place_of(data, pointer), (data, pointer)


OPENINGS = {
    Reason.EMPTY_MESSAGE: ["", " ", "\t\r\n "],
    Reason.CODE_FENCE: ["```json\n{}\n```", "~~~\n{}"],
    Reason.NOT_FINITE: ["NaN", "Infinity", "-Infinity", "NaNx", "-Infinity,"],
    Reason.NOT_OBJECT: ["[]", '"x"', "-1", "0", "9", "-", "-Inf", "true", "false", "null", "null \n"],
    Reason.PROSE: ["true x", "nul", "Here is {", "Inf", "nan", "é {", "'", "+1", "``{", "``"],
}


@pytest.mark.parametrize("reason", OPENINGS)
@pytest.mark.parametrize("before", ["", " ", "\n\t\r "])
def test_what_text_that_is_no_object_begins_with(backend: Any, reason: Reason, before: str) -> None:
    for begun in OPENINGS[reason]:
        place = 0 if reason is Reason.EMPTY_MESSAGE else len(before)
        assert faults.opening(f"{before}{begun}".encode()) == (reason, place), begun
        with pytest.raises(DecodeError) as caught:
            text.reader("x").read(f"{before}{begun}".encode(), LIMITS)
        assert (caught.value.reason, caught.value.offset) == (reason, place), begun
