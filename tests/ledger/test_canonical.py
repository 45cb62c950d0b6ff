"""Canonical JSON: equal to rfc8785 wherever both accept, refused with the same reason and path by both twins."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import given, strategies as st

from tests.conftest import BACKENDS, raised
from turnwire._backend import core_module
from turnwire.errors import EncodeError, Reason

TWINS = [core_module(backend, "json.write") for backend in BACKENDS]
SAFE = 2**53 - 1
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-SAFE, SAFE)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.sampled_from(['"\\\b\f\n\r\t\x00\x1f\x7f', "\u2028\u20ac\ue000\U0001f600", "12345678\\abcdefgh"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=30), max_leaves=40
)


@pytest.mark.once
@given(value=VALUES)
def test_equal_to_rfc8785(value: Any) -> None:
    """Both twins in one process, since to make a value takes longer than to write it."""
    expected = rfc8785.dumps(value)
    for twin in TWINS:
        assert twin.canonical(value) == expected


@pytest.mark.parametrize("twin", TWINS)
@given(bits=st.integers(0, 2**64 - 1))
def test_any_double_reads_back(twin: Any, bits: int) -> None:
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    if math.isfinite(value):
        assert twin.canonical(value) == rfc8785.dumps(value)
        assert float(twin.canonical(value)) == value


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize(
    ("value", "written"),
    [
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (5e-324, "5e-324"),
        (1.5e300, "1.5e+300"),
        (41.0, "41"),
        ([SAFE, -SAFE, SAFE - 1, 0, -1], "[9007199254740991,-9007199254740991,9007199254740990,0,-1]"),
        ({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7}, None),
        ((1, [2]), "[1,[2]]"),
        ({}, "{}"),
        ([], "[]"),
        (deep(128), "[" * 128 + "1" + "]" * 128),
        (
            {f"k{n * 7919 % 1000}": n for n in range(1000)} | {"\U0001f600": 1, "\uffee": 2},
            None,
        ),  # beyond the small sort
    ],
)
def test_the_cases_of_the_standard(twin: Any, value: Any, written: str | None) -> None:
    expected = rfc8785.dumps(value) if written is None else written.encode()
    assert twin.canonical(value) == expected


def loop() -> Any:
    value: list[Any] = []
    value.append({"again": value})
    return value


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        ({"a": [1, math.nan]}, Reason.NOT_FINITE, "/a/1"),
        (math.inf, Reason.NOT_FINITE, ""),
        ({"b": 2**53, "a": 1}, Reason.TOO_LARGE, "/b"),
        (-(2**64), Reason.TOO_LARGE, ""),
        ({"a/b~": "\ud800"}, Reason.LONE_SURROGATE, "/a~1b~0"),
        ({"\udfff": 1}, Reason.LONE_SURROGATE, ""),
        ({1: 2}, Reason.WRONG_TYPE, ""),
        ({"a": b"x"}, Reason.WRONG_TYPE, "/a"),
        ([{1, 2}], Reason.WRONG_TYPE, "/0"),
        (deep(129), Reason.TOO_DEEP, "/0" * 128),
        (loop(), Reason.TOO_DEEP, "/0/again" * 64),
        ({"z": math.nan, "a": "\ud800"}, Reason.LONE_SURROGATE, "/a"),
    ],
)
def test_refusals(twin: Any, value: Any, reason: Reason, path: str) -> None:
    caught = raised(EncodeError, twin.canonical, value)
    assert (caught.reason, caught.path) == (reason, path)


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("digits", ["1", "12", "123456789", "1234567890123456", "9999999999999999", "5", "25"])
def test_numbers_are_written_as_ecmascript_has_it(twin: Any, digits: str) -> None:
    for point in range(-9, 25):
        for sign in ("", "-"):
            value = float(f"{sign}0.{digits}e{point}")
            assert twin.canonical(value) == rfc8785.dumps(value), value
