"""Base62 integers, single and in columns, on both cores (section 3)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests import vectors
from tests.conftest import needs_both, raised
from tests.nslip.twins import core_of, outcome
from turnwire import DecodeError, EncodeError, Reason

MAX = 2**64 - 1
EDGES = sorted({0, MAX, *(62**power + step for power in range(11) for step in (-1, 0, 1))} - {-1})
KNOWN = {0: "0", 10: "A", 61: "z", 62: "10", 3843: "zz", 3844: "100", MAX: "LygHa16AHYF"}


@pytest.fixture
def twin(core: Any) -> Any:
    return core("nslip.base62")


def test_numbers_there_and_back(twin: Any) -> None:
    assert {number: twin.encode(number) for number in KNOWN} == KNOWN
    for number in EDGES:
        digits = twin.encode(number)
        assert twin.decode(digits) == twin.decode("0" * 40 + digits) == number


@vectors.cases("nslip_forms", kind="digits")
def test_refused_digits(twin: Any, case: dict[str, Any]) -> None:
    error = raised(DecodeError, twin.decode, case["digits"])
    assert (error.reason, error.offset, error.line, error.wire) == (case["error"], case["at"], 1, "nslip")
    assert str(error).isprintable()


@pytest.mark.parametrize("digits", [b"1", 7, None])
def test_what_is_no_text_is_no_number(twin: Any, digits: Any) -> None:
    assert raised(DecodeError, twin.decode, digits).reason is Reason.WRONG_TYPE


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
def test_refused_numbers(twin: Any, number: Any, reason: Reason) -> None:
    caught = raised(EncodeError, twin.encode, number)
    assert (caught.reason, caught.wire) == (reason, "nslip")


# --- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 1000])
def test_columns_there_and_back(twin: Any, count: int) -> None:
    numbers = np.array((EDGES * 40)[:count], dtype=np.uint64)
    texts = twin.encode_array(numbers)
    assert (texts.dtype, texts.shape) == (np.dtype("S11"), (count,))
    assert texts.tolist() == [twin.encode(int(number)).encode() for number in numbers]
    back = twin.decode_array(texts)
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
def test_any_integers_are_taken(twin: Any, numbers: Any) -> None:
    expected = [twin.encode(int(number)).encode() for number in numbers]
    assert twin.encode_array(numbers).tolist() == expected


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
def test_refused_columns_of_numbers(twin: Any, numbers: Any, reason: Reason, path: str | None) -> None:
    caught = raised(EncodeError, twin.encode_array, numbers)
    assert (caught.reason, caught.path, caught.wire) == (reason, path, "nslip")


@pytest.mark.parametrize("width", [1, 2, 8, 11, 12, 15, 16, 17, 64])
def test_texts_of_any_width(twin: Any, width: int) -> None:
    numbers = [number for number in EDGES if len(twin.encode(number)) <= width]
    digits = [twin.encode(number).encode() for number in numbers]
    assert twin.decode_array(np.array(digits, dtype=f"S{width}")).tolist() == numbers
    padded = [text.rjust(width, b"0") for text in digits]
    assert twin.decode_array(np.array(padded, dtype=f"S{width}")).tolist() == numbers


def test_texts_of_any_stride_and_without_width(twin: Any) -> None:
    column = np.zeros(3, dtype=[("empty", "S0"), ("number", "i4")])["empty"]
    assert outcome(twin.decode_array, column)[1:6:4] == (Reason.EMPTY_VALUE, "/0")
    assert twin.decode_array(column[:0]).tolist() == []
    texts = np.array([b"1", b"!", b"zz", b"!", b"10"])
    texts.flags.writeable = False
    assert twin.decode_array(texts[::2]).tolist() == [1, 3843, 62]
    assert twin.decode_array(texts[::-2]).tolist() == [62, 3843, 1]


@vectors.cases("nslip_forms", kind="column")
def test_refused_texts(twin: Any, case: dict[str, Any]) -> None:
    texts = [text.encode("latin-1") for text in case["texts"]]
    error = raised(DecodeError, twin.decode_array, np.array(texts))
    assert (error.reason, error.path, error.offset, error.line) == (case["error"], case["path"], case["at"], 1)
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
def test_only_one_dimension_of_bytes_is_read(twin: Any, texts: Any, text: str) -> None:
    caught = raised(DecodeError, twin.decode_array, texts)
    assert (caught.reason, caught.text) == (Reason.WRONG_TYPE, text)


@needs_both
@pytest.mark.parametrize("place", range(16))
def test_every_byte_is_judged(place: int) -> None:
    """All 256 bytes at every place of a row, in the last row too, where no sixteen bytes may be read at once: behind
    other rows it is what it is alone, in the third place."""
    native, pure = (core_of(backend, "nslip.base62") for backend in ("native", "pure"))
    for byte in range(256):
        text = bytearray(b"0000000000000001")
        text[place] = byte
        alone, last = (np.array([*before, bytes(text)], dtype="S16") for before in ([], [b"1", b"1"]))
        expected = outcome(lambda c: pure.decode_array(c).tolist(), alone)
        assert outcome(lambda c: native.decode_array(c).tolist(), alone) == expected
        if expected[0] == "value":
            expected = ("value", [1, 1, *expected[1]])
        else:
            assert expected[5] == "/0"
            expected = (*expected[:5], "/2", expected[6])
        assert outcome(lambda c: native.decode_array(c).tolist(), last) == expected


@needs_both
@given(st.lists(st.binary(max_size=18) | st.text("019AZaz", max_size=13).map(str.encode), min_size=1))
def test_twins_agree_on_texts(texts: list[bytes]) -> None:
    native, pure = (core_of(backend, "nslip.base62") for backend in ("native", "pure"))
    column = np.array(texts)
    assert outcome(lambda c: native.decode_array(c).tolist(), column) == outcome(
        lambda c: pure.decode_array(c).tolist(), column
    )


def test_numpy_is_imported_only_for_columns() -> None:
    code = (
        "import sys; from turnwire.nslip import base62; base62.encode(7); base62.decode('zz');"
        "assert 'numpy' not in sys.modules; base62.encode_array([7]); assert 'numpy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
