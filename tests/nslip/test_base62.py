"""Base62 integers, single and in columns (section 3)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests import vectors
from tests.conftest import raised
from tests.nslip.twins import outcome
from turnwire import DecodeError, EncodeError, Reason
from turnwire.nslip import base62

MAX = 2**64 - 1
EDGES = sorted({0, MAX, *(62**power + step for power in range(11) for step in (-1, 0, 1))} - {-1})
KNOWN = {0: "0", 10: "A", 61: "z", 62: "10", 3843: "zz", 3844: "100", MAX: "LygHa16AHYF"}


def test_numbers_there_and_back() -> None:
    assert {number: base62.encode(number) for number in KNOWN} == KNOWN
    for number in EDGES:
        digits = base62.encode(number)
        assert base62.decode(digits) == base62.decode("0" * 40 + digits) == number


@vectors.cases("nslip_forms", kind="digits")
def test_refused_digits(case: dict[str, Any]) -> None:
    error = raised(DecodeError, base62.decode, case["digits"])
    assert (error.reason, error.offset, error.line, error.wire) == (case["error"], case["at"], 1, "nslip")
    assert str(error).isprintable()


@pytest.mark.parametrize("digits", [b"1", 7, None])
def test_what_is_no_text_is_no_number(digits: Any) -> None:
    assert raised(DecodeError, base62.decode, digits).reason is Reason.WRONG_TYPE


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (-1, Reason.NEGATIVE),
        (MAX + 1, Reason.TOO_LARGE),
        (10**30, Reason.TOO_LARGE),
        (True, Reason.WRONG_TYPE),
        (1.0, Reason.WRONG_TYPE),
        ("1", Reason.WRONG_TYPE),
        (None, Reason.WRONG_TYPE),
    ],
)
def test_refused_numbers(number: Any, reason: Reason) -> None:
    caught = raised(EncodeError, base62.encode, number)
    assert (caught.reason, caught.wire) == (reason, "nslip")


# --- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 1000])
def test_columns_there_and_back(count: int) -> None:
    numbers = np.array((EDGES * 40)[:count], dtype=np.uint64)
    texts = base62.encode_array(numbers)
    assert (texts.dtype, texts.shape) == (np.dtype("S11"), (count,))
    assert texts.tolist() == [base62.encode(int(number)).encode() for number in numbers]
    back = base62.decode_array(texts)
    assert back.dtype == np.uint64
    assert back.tolist() == numbers.tolist()


@pytest.mark.parametrize(
    "numbers",
    [
        np.array([0, 5, 127], dtype=np.int8),
        np.array([0, 5, 61], dtype=">u2"),
        np.array([0, 5, 2**62], dtype=np.int64),
        np.array([0, 5, MAX], dtype=object),
        [0, 5, MAX],
        (0, 5, 3),
        np.arange(20, dtype=np.uint64)[::3],
        np.arange(20, dtype=np.uint64)[::-1],
        np.arange(4, dtype=np.uint64).view(np.uint8)[1:25].view(np.uint64),  # not aligned
        [],
        np.array([], dtype=np.uint64),
    ],
    ids=str,
)
def test_any_integers_are_taken(numbers: Any) -> None:
    expected = [base62.encode(int(number)).encode() for number in numbers]
    assert base62.encode_array(numbers).tolist() == expected


@pytest.mark.parametrize(
    ("numbers", "reason", "path"),
    [
        (np.array([4, -1, -2]), Reason.NEGATIVE, "/1"),
        (np.array([4, -1], dtype=object), Reason.NEGATIVE, "/1"),
        (np.array([4, MAX + 1], dtype=object), Reason.TOO_LARGE, "/1"),
        (np.array([4, True], dtype=object), Reason.WRONG_TYPE, "/1"),
        (np.array([4, None], dtype=object), Reason.WRONG_TYPE, "/1"),
        (np.array([1.0, 2.0]), Reason.WRONG_TYPE, None),
        (np.array([]), Reason.WRONG_TYPE, None),
        (np.array([True, False]), Reason.WRONG_TYPE, None),
        (np.array(["1"]), Reason.WRONG_TYPE, None),
        (np.array(["2020"], dtype="datetime64[Y]"), Reason.WRONG_TYPE, None),
        (np.zeros((2, 2), dtype=np.uint64), Reason.WRONG_TYPE, None),
        (np.uint64(4), Reason.WRONG_TYPE, None),
        ([[1], [2, 3]], Reason.WRONG_TYPE, "/0"),
        ([[1], [2]], Reason.WRONG_TYPE, None),
        (None, Reason.WRONG_TYPE, None),
    ],
    ids=str,
)
def test_refused_columns_of_numbers(numbers: Any, reason: Reason, path: str | None) -> None:
    caught = raised(EncodeError, base62.encode_array, numbers)
    assert (caught.reason, caught.path, caught.wire) == (reason, path, "nslip")


@pytest.mark.parametrize("width", [1, 2, 8, 11, 12, 15, 16, 17, 64])
def test_texts_of_any_width(width: int) -> None:
    numbers = [number for number in EDGES if len(base62.encode(number)) <= width]
    digits = [base62.encode(number).encode() for number in numbers]
    assert base62.decode_array(np.array(digits, dtype=f"S{width}")).tolist() == numbers
    padded = [text.rjust(width, b"0") for text in digits]
    assert base62.decode_array(np.array(padded, dtype=f"S{width}")).tolist() == numbers


def test_texts_of_any_stride_and_without_width() -> None:
    column = np.zeros(3, dtype=[("empty", "S0"), ("number", "i4")])["empty"]
    assert outcome(base62.decode_array, column)[1:6:4] == (Reason.EMPTY_VALUE, "/0")
    assert base62.decode_array(column[:0]).tolist() == []
    texts = np.array([b"1", b"!", b"zz", b"!", b"10"])
    texts.flags.writeable = False
    assert base62.decode_array(texts[::2]).tolist() == [1, 3843, 62]
    assert base62.decode_array(texts[::-2]).tolist() == [62, 3843, 1]


@pytest.mark.parametrize(
    ("texts", "reason", "path", "offset"),
    [
        ([b"1", b"", b"!"], Reason.EMPTY_VALUE, "/1", 0),
        ([b"1", b"1\x002"], Reason.BAD_DIGIT, "/1", 1),
        ([b"1", b"\x001"], Reason.BAD_DIGIT, "/1", 0),
        ([b"0123456789a/"], Reason.BAD_DIGIT, "/0", 11),
        ([b"12", b"1\xff", b"1 "], Reason.BAD_DIGIT, "/1", 1),
        ([b"LygHa16AHYF", b"LygHa16AHYG"], Reason.TOO_LARGE, "/1", 0),
        ([b"z" * 11], Reason.TOO_LARGE, "/0", 0),
        ([b"1" + b"0" * 15], Reason.TOO_LARGE, "/0", 0),
        ([b"0", b"1" + b"0" * 39], Reason.TOO_LARGE, "/1", 0),
    ],
)
def test_refused_texts(texts: list[bytes], reason: Reason, path: str, offset: int) -> None:
    error = raised(DecodeError, base62.decode_array, np.array(texts))
    assert (error.reason, error.path, error.offset, error.line) == (reason, path, offset, 1)
    assert error.wire == "nslip"


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (np.array(["1"]), "expected an array of dtype S, not <U1"),
        (np.array([1], dtype=np.int64), "expected an array of dtype S, not int64"),
        (np.array([b"1"], dtype=object), "expected an array of dtype S, not object"),
        (np.array([[b"1"]]), "expected one dimension, not 2"),
        (np.array(b"1"), "expected one dimension, not 0"),
        ([b"1"], "expected an array of dtype S, not list"),
        (b"1", "expected an array of dtype S, not bytes"),
        (None, "expected an array of dtype S, not NoneType"),
    ],
    ids=repr,
)
def test_only_one_dimension_of_bytes_is_read(texts: Any, text: str) -> None:
    caught = raised(DecodeError, base62.decode_array, texts)
    assert (caught.reason, caught.text) == (Reason.WRONG_TYPE, text)


@pytest.mark.parametrize("place", range(16))
def test_every_byte_is_judged(place: int) -> None:
    """All 256 bytes at every place of a text, as it is alone and behind others."""
    for byte in range(256):
        text = bytearray(b"0000000000000001")
        text[place] = byte
        alone = outcome(base62.decode, bytes(text).rstrip(b"\0").decode("latin-1"))
        found = outcome(lambda c: base62.decode_array(c).tolist(), np.array([b"1", b"1", bytes(text)], dtype="S16"))
        if alone[0] == "value":
            assert found == ("value", [1, 1, alone[1]])
        else:
            assert (found[1], found[2], found[5]) == (alone[1], alone[2], "/2")


@given(st.lists(st.binary(max_size=18) | st.text("019AZaz", max_size=13).map(str.encode), min_size=1))
def test_a_column_is_read_as_its_texts_are(texts: list[bytes]) -> None:
    column = np.array(texts)
    found = outcome(lambda c: base62.decode_array(c).tolist(), column)
    alone = [outcome(base62.decode, text.decode("latin-1")) for text in column.tolist()]
    if found[0] == "value":
        assert found[1] == [value for _, value in alone]
    else:
        first = next(place for place, one in enumerate(alone) if one[0] != "value")
        assert (found[1], found[2], found[5]) == (alone[first][1], alone[first][2], f"/{first}")


def test_numpy_is_imported_only_for_columns() -> None:
    code = (
        "import sys; from turnwire.nslip import base62; base62.encode(7); base62.decode('zz');"
        "assert 'numpy' not in sys.modules; base62.encode_array([7]); assert 'numpy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
