"""Writing JSON text. The rules are those of ``_pure/json/write.py``, which also writes what is rare."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isfinite
from libc.string cimport memcpy

from _native.json.bytes cimport Bytes, turnwire_plain
from turnwire._pure.json.write import write as _pure_write
from turnwire.contract import LIMITS

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    char* PyOS_double_to_string(double number, char code, int precision, int flags, int* kind) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1
    int Py_DTSF_ADD_DOT_0

cdef enum:
    DEEPEST = 512  # nesting that recursion is trusted with; beyond it the iterative twin writes

cdef struct Output:
    char* start
    Py_ssize_t size
    Py_ssize_t room


class _Doubt(Exception):
    """Something the quick way does not write; the twin writes it or says why not."""


cdef inline int reserve(Output* out, Py_ssize_t more) except -1:
    cdef char* grown
    if out.size + more > out.room:
        out.room = (out.size + more) * 2
        grown = <char*>PyMem_Realloc(out.start, out.room)
        if grown is NULL:
            raise MemoryError
        out.start = grown
    return 0


cdef int put_text(Output* out, str text) except -1:
    cdef Py_ssize_t size
    cdef Bytes place, end, behind
    cdef char* to
    cdef unsigned char byte
    place = <Bytes>PyUnicode_AsUTF8AndSize(text, &size)
    end = place + size
    reserve(out, size + 2)
    out.start[out.size] = 34
    out.size += 1
    while True:
        behind = turnwire_plain(place, end)
        while behind < end and behind[0] >= 0x80:
            behind = turnwire_plain(behind + 1, end)
        reserve(out, (behind - place) + 8)
        memcpy(out.start + out.size, place, behind - place)
        out.size += behind - place
        if behind >= end:
            break
        byte = behind[0]
        place = behind + 1
        to = out.start + out.size
        to[0] = 92
        out.size += 2
        if byte == 34 or byte == 92:
            to[1] = byte
        elif byte == 8:
            to[1] = 98
        elif byte == 9:
            to[1] = 116
        elif byte == 10:
            to[1] = 110
        elif byte == 12:
            to[1] = 102
        elif byte == 13:
            to[1] = 114
        else:
            memcpy(to + 1, b"u00", 3)
            to[4] = 48 + (byte >> 4)
            to[5] = (48 if (byte & 15) < 10 else 87) + (byte & 15)
            out.size += 4
    out.start[out.size] = 34
    out.size += 1
    return 0


cdef int put_ascii(Output* out, const char* letters, Py_ssize_t size) except -1:
    reserve(out, size)
    memcpy(out.start + out.size, letters, size)
    out.size += size
    return 0


cdef int put_integer(Output* out, object number) except -1:
    cdef int overflow = 0
    cdef long long value = PyLong_AsLongLongAndOverflow(number, &overflow)
    cdef char[24] digits
    cdef int place = 24
    cdef unsigned long long rest
    if overflow:
        raise _Doubt
    rest = <unsigned long long>value if value >= 0 else 0 - <unsigned long long>value
    while True:
        place -= 1
        digits[place] = 48 + rest % 10
        rest //= 10
        if not rest:
            break
    if value < 0:
        place -= 1
        digits[place] = 45
    return put_ascii(out, digits + place, 24 - place)


cdef int put_float(Output* out, double number) except -1:
    cdef char* digits
    cdef Py_ssize_t size = 0
    if not isfinite(number):
        raise _Doubt
    digits = PyOS_double_to_string(number, b"r", 0, Py_DTSF_ADD_DOT_0, NULL)
    try:
        while digits[size]:
            size += 1
        return put_ascii(out, digits, size)
    finally:
        PyMem_Free(digits)


cdef int put(Output* out, object value, Py_ssize_t left) except -1:
    """Writes a value; ``left`` more containers may be opened."""
    cdef object kind = type(value)
    cdef bint first = True
    if kind is str:
        return put_text(out, <str>value)
    if kind is dict:
        if left <= 0:
            raise _Doubt
        put_ascii(out, b"{", 1)
        for key, inner in (<dict>value).items():
            if type(key) is not str:
                raise _Doubt
            if not first:
                put_ascii(out, b",", 1)
            first = False
            put_text(out, <str>key)
            put_ascii(out, b":", 1)
            put(out, inner, left - 1)
        return put_ascii(out, b"}", 1)
    if kind is list:
        if left <= 0:
            raise _Doubt
        put_ascii(out, b"[", 1)
        for inner in <list>value:
            if not first:
                put_ascii(out, b",", 1)
            first = False
            put(out, inner, left - 1)
        return put_ascii(out, b"]", 1)
    if kind is int:
        return put_integer(out, value)
    if value is None:
        return put_ascii(out, b"null", 4)
    if value is True:
        return put_ascii(out, b"true", 4)
    if value is False:
        return put_ascii(out, b"false", 5)
    if kind is float:
        return put_float(out, <double>value)
    raise _Doubt


def write(value, wire=None, limits=LIMITS):
    """``value`` as JSON text; see ``turnwire.json.text.write``."""
    cdef Output out
    cdef Py_ssize_t nesting = limits.nesting
    if nesting > DEEPEST:
        return _pure_write(value, wire, limits)
    out.room = 512
    out.size = 0
    out.start = <char*>PyMem_Malloc(out.room)
    if out.start is NULL:
        raise MemoryError
    try:
        put(&out, value, nesting)
        return PyUnicode_DecodeUTF8(out.start, out.size, NULL)
    except (_Doubt, UnicodeEncodeError):
        return _pure_write(value, wire, limits)
    finally:
        PyMem_Free(out.start)
