"""base62 in plain Python and NumPy: the twin of ``_native/base62.pyx`` (section 3, "Base62 integers")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.errors import DecodeError, EncodeError, Reason

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DIGIT = {digit: value for value, digit in enumerate(ALPHABET)}
MAX_INTEGER = (1 << 64) - 1
WIDTH = 11
"""Digits of 2**64-1."""
_TWO = [high + low for high in ALPHABET for low in ALPHABET]


def encode(number: int) -> str:
    """The base62 digits of 0 .. 2**64-1, without leading zeros. Raises EncodeError(wrong_type|negative|too_large)."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise EncodeError(Reason.WRONG_TYPE, f"an integer is needed, not {type(number).__name__}")
    if number < 0:
        raise EncodeError(Reason.NEGATIVE, "base62 writes non-negative integers only")
    if number > MAX_INTEGER:
        raise EncodeError(Reason.TOO_LARGE, "the integer is over 2**64-1")
    if number < 62:
        return ALPHABET[number]
    pairs = []
    while number >= 3844:
        number, rest = divmod(number, 3844)
        pairs.append(_TWO[rest])
    pairs.append(_TWO[number] if number >= 62 else ALPHABET[number])
    pairs.reverse()
    return "".join(pairs)


def decode(digits: str) -> int:
    """The integer of base62 digits (leading zeros are read). Raises DecodeError(empty_value|bad_digit|too_large)."""
    if not isinstance(digits, str):
        raise DecodeError(Reason.WRONG_TYPE, f"text is needed, not {type(digits).__name__}", offset=0, line=1)
    if not digits:
        raise DecodeError(Reason.EMPTY_VALUE, "no digits", offset=0, line=1)
    number = 0
    for place, digit in enumerate(digits):
        value = DIGIT.get(digit)
        if value is None:
            line = 1 + digits.count("\n", 0, place)
            offset = len(digits[:place].encode("utf-8", "surrogatepass"))
            raise DecodeError(Reason.BAD_DIGIT, f"{digit!r} is no base62 digit", offset=offset, line=line)
        number = number * 62 + value
        if number > MAX_INTEGER:
            raise DecodeError(Reason.TOO_LARGE, "the integer is over 2**64-1", offset=0, line=1)
    return number


def encode_array(numbers: NDArray[np.uint64]) -> NDArray[np.bytes_]:
    """Base62 of a one-dimensional uint64 array, as an array of dtype S11."""
    import numpy as np

    values = np.ascontiguousarray(numbers, dtype=np.uint64)
    count = len(values)
    alphabet = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)
    digits = np.zeros((count, WIDTH), dtype=np.uint8)
    rest = values.copy()
    for place in range(WIDTH - 1, -1, -1):
        rest, digit = np.divmod(rest, np.uint64(62))
        digits[:, place] = digit
    leading = np.argmax(digits != 0, axis=1)
    leading[values == 0] = WIDTH - 1
    source = np.arange(WIDTH)[None, :] + leading[:, None]
    inside = source < WIDTH
    text = np.where(inside, alphabet[np.take_along_axis(digits, np.where(inside, source, 0), axis=1)], 0)
    return np.ascontiguousarray(text.astype(np.uint8)).view(f"S{WIDTH}").reshape(count)


def decode_array(texts: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """Integers of a one-dimensional array of base62 texts (dtype S1 .. S64).

    Raises DecodeError(empty_value|bad_digit|too_large); ``path`` is the index of the first bad element and
    ``offset`` the byte inside it.
    """
    import numpy as np

    array = np.ascontiguousarray(texts)
    width = array.dtype.itemsize
    if array.dtype.kind != "S":
        raise DecodeError(Reason.WRONG_TYPE, f"an array of dtype S is needed, not {array.dtype}")
    table = np.full(256, 255, dtype=np.uint8)
    table[np.frombuffer(ALPHABET.encode(), dtype=np.uint8)] = np.arange(62)
    raw = array.view(np.uint8).reshape(len(array), width)
    lengths = np.char.str_len(array)
    digits = table[raw]
    used = np.arange(width)[None, :] < lengths[:, None]
    suspect = (lengths == 0) | ((digits == 255) & used).any(axis=1)
    numbers = np.zeros(len(array), dtype=np.uint64)
    for place in range(width):
        step = used[:, place]
        digit = digits[:, place].astype(np.uint64)
        limit = (np.uint64(MAX_INTEGER) - digit) // np.uint64(62)
        suspect |= step & (numbers > limit)
        numbers = np.where(step, numbers * np.uint64(62) + digit, numbers)
    for index in np.flatnonzero(suspect):
        _decode_element(array[index], int(index))
    return numbers


def _decode_element(text: bytes, index: int) -> None:
    try:
        decode(text.decode("latin-1"))
    except DecodeError as error:
        offset = error.offset
        if error.reason is Reason.BAD_DIGIT:
            offset = next(place for place, byte in enumerate(text) if chr(byte) not in DIGIT)
        raise DecodeError(error.reason, error.text, offset=offset, line=error.line, path=f"/{index}") from None
