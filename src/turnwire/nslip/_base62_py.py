"""base62 in plain Python and NumPy: the twin of ``_native/nslip/base62.pyx`` (section 3, "Base62 integers")."""

from __future__ import annotations

from turnwire._lazy import require_numpy
from turnwire.errors import DecodeError, Reason
from turnwire.nslip.faults import encode_fault
from turnwire.nslip.spec import BASE62_ALPHABET, MAX_INTEGER, WIRE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

DIGIT = {digit: value for value, digit in enumerate(BASE62_ALPHABET)}
WIDTH = 11
"""Digits of 2**64-1."""
_TWO = [high + low for high in BASE62_ALPHABET for low in BASE62_ALPHABET]


def checked_integer(number: object, path: str | None = None) -> int:
    """A plain integer 0 .. 2**64-1. Raises EncodeError(wrong_type|negative|too_large)."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise encode_fault(Reason.WRONG_TYPE, f"expected an integer, not {type(number).__name__}", path)
    if number < 0:
        raise encode_fault(Reason.NEGATIVE, "integers must be non-negative", path)
    if number > MAX_INTEGER:
        raise encode_fault(Reason.TOO_LARGE, "the integer is over 2**64-1", path)
    return int(number)


def encode(number: int) -> str:
    """The base62 digits of 0 .. 2**64-1, without leading zeros. Raises EncodeError(wrong_type|negative|too_large)."""
    return written(checked_integer(number))


def written(number: int) -> str:
    """The base62 digits of an integer that was checked."""
    if number < 62:
        return BASE62_ALPHABET[number]
    pairs = []
    while number >= 3844:
        number, rest = divmod(number, 3844)
        pairs.append(_TWO[rest])
    pairs.append(_TWO[number] if number >= 62 else BASE62_ALPHABET[number])
    pairs.reverse()
    return "".join(pairs)


def decode(digits: str) -> int:
    """The integer of base62 digits (leading zeros are read). Raises DecodeError(empty_value|bad_digit|too_large)."""
    if not isinstance(digits, str):
        raise _decode_fault(Reason.WRONG_TYPE, f"expected text, not {type(digits).__name__}")
    if not digits:
        raise _decode_fault(Reason.EMPTY_VALUE, "expected digits")
    number = 0
    for place, digit in enumerate(digits):  # every digit before `place` is ASCII: a place is a byte offset
        value = DIGIT.get(digit)
        if value is None:
            raise _decode_fault(Reason.BAD_DIGIT, f"{digit!a} is not a base62 digit", place)
        number = number * 62 + value
        if number > MAX_INTEGER:
            raise _decode_fault(Reason.TOO_LARGE, "the integer is over 2**64-1")
    return number


def _decode_fault(reason: Reason, text: str, offset: int = 0, path: str | None = None) -> DecodeError:
    return DecodeError(reason, text, offset=offset, line=1, wire=WIRE, path=path)


# --- columns --------------------------------------------------------------------------------------------------------


def encode_array(numbers: ArrayLike) -> NDArray[np.bytes_]:
    """Base62 of a one-dimensional array of integers, as an array of dtype S11 of the same length.

    Raises EncodeError(wrong_type|negative|too_large); ``path`` is ``/index`` of the first invalid element.
    """
    numpy = require_numpy()
    made: NDArray[np.bytes_] = numpy.array([written(one) for one in integer_column(numbers).tolist()], f"S{WIDTH}")
    return made


def decode_array(texts: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """The integers of a one-dimensional array of base62 digits (dtype S of any width), as uint64.

    NULs at the end of an element are its padding, as they are for NumPy. Raises
    DecodeError(wrong_type|empty_value|bad_digit|too_large); ``path`` is ``/index`` of the first bad element and
    ``offset`` the byte inside it.
    """
    numpy = require_numpy()
    text_rows(texts)  # refuses what is no column of texts
    numbers: NDArray[np.uint64] = numpy.zeros(len(texts), numpy.uint64)
    for index, digits in enumerate(texts.tolist()):
        try:
            numbers[index] = decode(digits.decode("latin-1"))
        except DecodeError:
            raise element_fault(texts, index) from None
    return numbers


def integer_column(numbers: ArrayLike) -> NDArray[np.uint64]:
    """A contiguous uint64 column of the same integers: nothing is wrapped, rounded or taken for an integer.

    Any integer dtype, byte order and stride, and Python integers. Raises EncodeError(wrong_type|negative|too_large).
    """
    import numpy as np

    # NumPy makes floats of [0, 2**63], and of an empty list.
    array = np.asarray(numbers, dtype=object if isinstance(numbers, (list, tuple)) else None)
    if array.ndim != 1:
        raise encode_fault(Reason.WRONG_TYPE, f"expected one dimension, not {array.ndim}")
    if array.dtype.kind == "O":
        checked = (checked_integer(number, f"/{index}") for index, number in enumerate(array))
        return np.fromiter(checked, dtype=np.uint64, count=len(array))
    if array.dtype.kind not in "ui":
        raise encode_fault(Reason.WRONG_TYPE, f"expected integers, not {array.dtype}")
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        index = int(np.argmax(array < 0))
        raise encode_fault(Reason.NEGATIVE, "base62 supports only non-negative integers", f"/{index}")
    return np.require(array, dtype=np.uint64, requirements=["C", "A"])


def text_rows(texts: NDArray[np.bytes_]) -> tuple[NDArray[np.uint8], int, int]:
    """(bytes, number of elements, bytes of each) of a one-dimensional S array. Raises DecodeError(wrong_type)."""
    import numpy as np

    if not isinstance(texts, np.ndarray) or texts.dtype.kind != "S":
        kind = texts.dtype if isinstance(texts, np.ndarray) else type(texts).__name__
        raise _decode_fault(Reason.WRONG_TYPE, f"expected an array of dtype S, not {kind}")
    if texts.ndim != 1:
        raise _decode_fault(Reason.WRONG_TYPE, f"expected one dimension, not {texts.ndim}")
    width = texts.dtype.itemsize
    if width == 0:
        return np.empty(0, dtype=np.uint8), len(texts), 0
    return np.ascontiguousarray(np.asarray(texts)).view(np.uint8), len(texts), width


def element_fault(texts: NDArray[np.bytes_], index: int) -> DecodeError:
    """The fault of one element that :func:`decode_array` could not read."""
    try:
        decode(bytes(texts[index]).rstrip(b"\0").decode("latin-1"))
    except DecodeError as error:
        return _decode_fault(error.reason, error.text, error.offset or 0, f"/{index}")
    raise RuntimeError(f"element {index} changed while it was read")
