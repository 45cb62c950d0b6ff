# cython: annotation_typing=False
"""base62: scalars and whole columns, compiled. The twin of ``turnwire.nslip._base62_py``, which explains every
error."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.long cimport PyLong_AsUnsignedLongLong, PyLong_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_DATA, PyUnicode_DecodeASCII, PyUnicode_GET_LENGTH
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint64_t

from turnwire._lazy import require_numpy

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object)

cdef extern from "_native/nslip/base62.h":
    enum: BASE62_WIDTH
    void base62_prepare() nogil
    unsigned int base62_write(uint64_t number, char* text) nogil
    int base62_read(const uint8_t* row, size_t width, uint64_t* number) nogil
    void base62_write_rows(const uint64_t* numbers, size_t count, uint8_t* rows) nogil
    size_t base62_read_rows(const uint8_t* rows, size_t width, size_t count, uint64_t* numbers) nogil

cdef enum:
    PATIENCE = 1 << 20  # numbers between two looks for Ctrl-C

base62_prepare()


def encode(number: int) -> str:
    """The base62 digits of 0 .. 2**64-1, without leading zeros. Raises EncodeError(wrong_type|negative|too_large)."""
    cdef char text[16]
    cdef uint64_t value
    if not PyLong_CheckExact(number):
        return _pure().encode(number)
    try:
        value = PyLong_AsUnsignedLongLong(number)
    except OverflowError:
        return _pure().encode(number)
    return PyUnicode_DecodeASCII(text, base62_write(value, text), NULL)


def decode(digits: str) -> int:
    """The integer of base62 digits (leading zeros are read). Raises DecodeError(empty_value|bad_digit|too_large)."""
    cdef uint64_t value = 0
    cdef const uint8_t* text
    cdef Py_ssize_t length
    if PyUnicode_CheckExact(digits) and PyUnicode_IS_COMPACT_ASCII(digits):
        text = <const uint8_t*>PyUnicode_DATA(digits)
        length = PyUnicode_GET_LENGTH(digits)
        if length and text[length - 1] and base62_read(text, length, &value):
            return value
    return _pure().decode(digits)


def encode_array(numbers: object) -> object:
    """Base62 of a one-dimensional array of integers, as an array of dtype S11 of the same length.

    Raises EncodeError(wrong_type|negative|too_large); ``path`` is ``/index`` of the first element that has no digits.
    """
    numpy = require_numpy()
    cdef const uint64_t[::1] values = _pure().integer_column(numbers)
    cdef Py_ssize_t count = values.shape[0]
    rows = numpy.empty(count * BASE62_WIDTH, dtype=numpy.uint8)
    cdef uint8_t[::1] text = rows
    cdef Py_ssize_t start = 0, some
    while start < count:
        some = min(count - start, PATIENCE)
        with nogil:
            base62_write_rows(&values[start], some, &text[start * BASE62_WIDTH])
        PyErr_CheckSignals()
        start += some
    return rows.view("S11")


def decode_array(texts: object) -> object:
    """The integers of a one-dimensional array of base62 digits (dtype S of any width), as uint64.

    NULs at the end of an element are its padding, as they are for NumPy. Raises
    DecodeError(wrong_type|empty_value|bad_digit|too_large); ``path`` is ``/index`` of the first bad element and
    ``offset`` the byte inside it.
    """
    numpy = require_numpy()
    rows, count, width = _pure().text_rows(texts)
    numbers = numpy.empty(count, dtype=numpy.uint64)
    cdef size_t size = count, row_width = width, good
    if size == 0:
        return numbers
    if row_width == 0:
        raise _pure().element_fault(texts, 0)
    cdef const uint8_t[::1] raw = rows
    cdef uint64_t[::1] values = numbers
    cdef size_t start = 0, some
    while start < size:
        some = min(size - start, <size_t>PATIENCE)
        with nogil:
            good = base62_read_rows(&raw[start * row_width], row_width, some, &values[start])
        if good < some:
            raise _pure().element_fault(texts, start + good)
        PyErr_CheckSignals()
        start += some
    return numbers


cdef object _pure():
    from turnwire.nslip import _base62_py as base62

    return base62
