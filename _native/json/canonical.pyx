"""Canonical JSON (RFC 8785), compiled: the twin of ``turnwire/json/_canonical_py.py``, which also words every refusal."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from turnwire.json._canonical_py import number, refuse, sorted_keys
from turnwire.contract import LIMITS

cdef extern from "Python.h":
    bint PyUnicode_Check(object)
    bint PyLong_Check(object)
    bint PyFloat_Check(object)
    bint PyDict_Check(object)
    bint PyList_Check(object)
    bint PyTuple_Check(object)
    double PyFloat_AS_DOUBLE(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL

cdef enum:
    SORTED_IN_PLACE = 24  # an insertion sort of C strings beats list.sort up to about here

cdef long long SAFE = 9007199254740991
cdef int NESTING = LIMITS.nesting
cdef bytes HEX = b"0123456789abcdef"

cdef uint8_t PLAIN[256]
cdef int _byte
for _byte in range(256):
    PLAIN[_byte] = _byte >= 0x20 and _byte != 0x22 and _byte != 0x5C

cdef struct Out:
    char* data
    Py_ssize_t used
    Py_ssize_t size

cdef struct Key:
    const char* text
    Py_ssize_t length
    PyObject* value

cdef class Refused(Exception):
    """Something in the value has no canonical form."""


cdef int reserve(Out* out, Py_ssize_t extra) except -1:
    cdef Py_ssize_t wanted = out.used + extra
    cdef char* grown
    if wanted <= out.size:
        return 0
    wanted += wanted >> 1
    grown = <char*>PyMem_Realloc(out.data, wanted)
    if grown == NULL:
        raise MemoryError
    out.data = grown
    out.size = wanted
    return 0


cdef inline int put(Out* out, const char* text, Py_ssize_t length) except -1:
    reserve(out, length)
    memcpy(out.data + out.used, text, length)
    out.used += length
    return 0


cdef inline int put_byte(Out* out, char byte) except -1:
    reserve(out, 1)
    out.data[out.used] = byte
    out.used += 1
    return 0


cdef inline bint plain_word(const uint8_t* text) noexcept nogil:
    """True if none of eight bytes needs an escape."""
    cdef uint64_t word, quote, slash
    cdef uint64_t ones = 0x0101010101010101
    cdef uint64_t high = 0x8080808080808080
    memcpy(&word, text, 8)
    quote = word ^ (ones * 0x22)
    slash = word ^ (ones * 0x5C)
    return not (((word - ones * 0x20) & ~word | (quote - ones) & ~quote | (slash - ones) & ~slash) & high)


cdef int put_escape(Out* out, uint8_t byte) except -1:
    cdef const char* digits = HEX
    reserve(out, 6)
    cdef char* end = out.data + out.used
    end[0] = b"\\"
    if byte == 0x22 or byte == 0x5C:
        end[1] = byte
    elif byte == 0x08:
        end[1] = b"b"
    elif byte == 0x09:
        end[1] = b"t"
    elif byte == 0x0A:
        end[1] = b"n"
    elif byte == 0x0C:
        end[1] = b"f"
    elif byte == 0x0D:
        end[1] = b"r"
    else:
        memcpy(end + 1, b"u00", 3)
        end[4] = digits[byte >> 4]
        end[5] = digits[byte & 15]
        out.used += 6
        return 0
    out.used += 2
    return 0


cdef int put_string(Out* out, const uint8_t* text, Py_ssize_t length) except -1:
    cdef Py_ssize_t at = 0, start = 0
    reserve(out, length + 2)
    out.data[out.used] = b'"'
    out.used += 1
    while at < length:
        if at + 8 <= length and plain_word(text + at):
            at += 8
            continue
        if PLAIN[text[at]]:
            at += 1
            continue
        put(out, <const char*>text + start, at - start)
        put_escape(out, text[at])
        at += 1
        start = at
    put(out, <const char*>text + start, length - start)
    return put_byte(out, b'"')


cdef int put_text(Out* out, object value) except -1:
    cdef Py_ssize_t length
    cdef const char* text = PyUnicode_AsUTF8AndSize(value, &length)
    return put_string(out, <const uint8_t*>text, length)


cdef int put_integer(Out* out, object value) except -1:
    cdef int overflow = 0
    cdef long long number_ = PyLong_AsLongLongAndOverflow(value, &overflow)
    cdef unsigned long long rest
    cdef char digits[24]
    cdef int at = 24
    if overflow or number_ > SAFE or number_ < -SAFE:
        raise Refused
    rest = <unsigned long long>(-number_ if number_ < 0 else number_)
    while True:
        at -= 1
        digits[at] = <char>(48 + rest % 10)
        rest //= 10
        if rest == 0:
            break
    if number_ < 0:
        at -= 1
        digits[at] = b"-"
    return put(out, digits + at, 24 - at)


cdef int put_float(Out* out, object value) except -1:
    cdef double real = PyFloat_AS_DOUBLE(value)
    cdef bytes text
    if real - real != 0:
        raise Refused
    text = (<str>number(real)).encode("ascii")
    return put(out, text, len(text))


cdef int put_small_object(Out* out, dict value, Py_ssize_t count, int depth) except -1:
    """An object whose keys sort as bytes; answers 1, with nothing written, when a key asks for UTF-16 order."""
    cdef Key keys[SORTED_IN_PLACE]
    cdef Key held
    cdef PyObject* key
    cdef PyObject* item
    cdef Py_ssize_t position = 0, at, slot, filled = 0, shorter
    cdef int order
    while PyDict_Next(value, &position, &key, &item):
        if not PyUnicode_Check(<object>key):
            raise Refused
        held.text = PyUnicode_AsUTF8AndSize(<object>key, &held.length)
        held.value = item
        for at in range(held.length):
            if <uint8_t>held.text[at] >= 0xEE:
                return 1
        slot = filled
        while slot:
            shorter = min(held.length, keys[slot - 1].length)
            order = memcmp(held.text, keys[slot - 1].text, shorter)
            if order > 0 or (order == 0 and held.length > keys[slot - 1].length):
                break
            keys[slot] = keys[slot - 1]
            slot -= 1
        keys[slot] = held
        filled += 1
    put_byte(out, b"{")
    for at in range(filled):
        if at:
            put_byte(out, b",")
        put_string(out, <const uint8_t*>keys[at].text, keys[at].length)
        put_byte(out, b":")
        put_value(out, <object>keys[at].value, depth)
    put_byte(out, b"}")
    return 0


cdef int put_object(Out* out, dict value, int depth) except -1:
    cdef Py_ssize_t count = len(value)
    cdef bint first = True
    if count <= SORTED_IN_PLACE and put_small_object(out, value, count, depth) == 0:
        return 0
    put_byte(out, b"{")
    for key in sorted_keys(value):
        if not first:
            put_byte(out, b",")
        first = False
        put_text(out, key)
        put_byte(out, b":")
        put_value(out, value[key], depth)
    return put_byte(out, b"}")


cdef int put_array(Out* out, object value, int depth) except -1:
    cdef bint first = True
    put_byte(out, b"[")
    for item in value:
        if not first:
            put_byte(out, b",")
        first = False
        put_value(out, item, depth)
    return put_byte(out, b"]")


cdef int put_value(Out* out, object value, int depth) except -1:
    if PyUnicode_Check(value):
        return put_text(out, value)
    if value is None:
        return put(out, b"null", 4)
    if value is True:
        return put(out, b"true", 4)
    if value is False:
        return put(out, b"false", 5)
    if PyLong_Check(value):
        return put_integer(out, value)
    if PyFloat_Check(value):
        return put_float(out, value)
    if depth >= NESTING:
        raise Refused
    if PyDict_Check(value):
        return put_object(out, <dict>value, depth + 1)
    if PyList_Check(value) or PyTuple_Check(value):
        return put_array(out, value, depth + 1)
    raise Refused


def canonical(object value, /):
    """The canonical JSON of ``value`` (RFC 8785) as bytes; see the pure twin."""
    cdef Out out
    out.used = 0
    out.size = 512
    out.data = <char*>PyMem_Malloc(out.size)
    if out.data == NULL:
        raise MemoryError
    try:
        put_value(&out, value, 0)
        return PyBytes_FromStringAndSize(out.data, out.used)
    except (ValueError, TypeError, Refused):
        refuse(value)
    finally:
        PyMem_Free(out.data)
