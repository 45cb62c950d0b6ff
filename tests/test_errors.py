"""Errors keep all they know in copies and in pickles, and say where they are in one way."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from turnwire.errors import (
    ConvertError,
    DecodeError,
    EncodeError,
    Reason,
    RuleError,
    UnknownKey,
    UnknownName,
    WireError,
    expect_number,
)

pytestmark = pytest.mark.once

PLACE: dict[str, Any] = {"offset": 7, "line": 2, "wire": "csp", "path": "/a"}


def _decode() -> DecodeError:
    error = DecodeError(Reason.BAD_ID, "words", **PLACE)
    error.pending, error.raw = 3, b"raw"
    return error


ERRORS: list[Exception] = [
    WireError(Reason.BAD_ID, "words", **PLACE),
    WireError(Reason.BAD_ID),
    _decode(),
    DecodeError(Reason.BAD_ID, offset=0, line=1),
    EncodeError(Reason.BAD_ID, "words", path="/a"),
    RuleError(Reason.BAD_ID, "words", rule="001", **PLACE),
    ConvertError(
        Reason.NO_COUNTERPART, "w", missing=["a", "b"], known={"a": 1}, there=["x"], nearest="x", wire="sap", path="a"
    ),
    UnknownName("wire", "nslp", ("nslip", "csp")),
    UnknownName("column", "sorce", ("source",), "words", wires=("csp", "kick")),
    UnknownKey("column", "sorce", ("source",), "words", wires=("csp",)),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_in_copies_and_pickles(error: Exception) -> None:
    for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(other) is type(error) and vars(other) == vars(error)
        assert (str(other), repr(other), other.args) == (str(error), repr(error), error.args)


def test_an_error_of_a_file_without_a_byte_has_its_line() -> None:
    for place, words in (
        ({}, ""),
        ({"offset": 0}, " at byte 0"),
        ({"line": 3}, " at line 3"),
        ({"offset": 5, "line": 3}, " at byte 5, line 3"),
        ({"line": 3, "path": "/a"}, " at line 3 in /a"),
        ({"path": "/a"}, " in /a"),
    ):
        assert str(WireError(Reason.BAD_ID, **place)) == f"bad_id{words}"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("least", "most", "right", "wrong"),
    [
        (None, None, (-(10**30), -1, 0, 1), ()),
        (1, None, (1, 2, 10**30), (0, -1)),
        (1, 3, (1, 2, 3), (0, 4)),
        (0, 0, (0,), (-1, 1)),
    ],
)
def test_a_number_lies_within_its_bounds(
    least: int | None, most: int | None, right: tuple[int, ...], wrong: tuple[int, ...]
) -> None:
    for value in right:
        assert expect_number(value, "size", least, most) == value
    for value in wrong:
        with pytest.raises(ValueError, match="size must be "):
            expect_number(value, "size", least, most)
    for other in (True, 1.0, "1", None):
        with pytest.raises(TypeError, match="size must be a whole number, not "):
            expect_number(other, "size", least, most)
