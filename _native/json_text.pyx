"""Strict JSON, one object at a time: validates and builds in one pass. The rules are those of ``_pure/json_text.py``."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Contains, PyDict_SetItem
from cpython.float cimport PyFloat_FromDouble
from cpython.long cimport PyLong_FromLongLong
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memcpy

from turnwire._pure.json_text import Reader as _PureReader, write as _pure_write
from turnwire.contract import LIMITS
from turnwire.errors import Reason
from turnwire.json_faults import broken_utf8, fault, input_bytes, opening, unexpected

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maximum)
    void* PyUnicode_DATA(object text)
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    double PyOS_string_to_double(const char* text, char** behind, PyObject* overflow) except? -1.0
    char* PyOS_double_to_string(double number, char code, int precision, int flags, int* kind) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1
    int Py_DTSF_ADD_DOT_0
    Py_hash_t PyObject_Hash(object value) except? -1

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    /* The length of the run of plain ASCII (no quote, backslash, control, non-ASCII byte) at p, eight bytes a step. */
    static inline const unsigned char *turnwire_plain(const unsigned char *p, const unsigned char *end) {
        const uint64_t ones = 0x0101010101010101ULL, high = 0x8080808080808080ULL;
        while (end - p >= 8) {
            uint64_t word, quote, slash, hit;
            memcpy(&word, p, 8);
            quote = word ^ (ones * '"');
            slash = word ^ (ones * '\\\\');
            hit = (word | ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word)) & high;
            if (hit) break;
            p += 8;
        }
        while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\\\') p++;
        return p;
    }
    """
    const unsigned char* turnwire_plain(const unsigned char* place, const unsigned char* end) noexcept nogil

ctypedef const unsigned char* Bytes

cdef enum:
    WORD = 32  # bytes of the longest key that is shared
    SLOTS = 512
    DEEPEST = 512  # nesting that recursion is trusted with; beyond it the iterative twin reads

cdef double[23] POWERS = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22,
]

cdef object DUP_KEY = Reason.DUP_KEY, KEY_TOO_LONG = Reason.KEY_TOO_LONG, TOO_DEEP = Reason.TOO_DEEP
cdef object CUT_OFF = Reason.CUT_OFF, BAD_JSON = Reason.BAD_JSON, BAD_NUMBER = Reason.BAD_NUMBER
cdef object NOT_FINITE = Reason.NOT_FINITE, NUMBER_TOO_LONG = Reason.NUMBER_TOO_LONG
cdef object UNTERMINATED = Reason.UNTERMINATED_STRING, CONTROL = Reason.CONTROL_CHARACTER
cdef object BAD_ESCAPE = Reason.BAD_ESCAPE, LONE_SURROGATE = Reason.LONE_SURROGATE
cdef object TRAILING_JUNK = Reason.TRAILING_JUNK, MESSAGE_TOO_LARGE = Reason.MESSAGE_TOO_LARGE


cdef struct Text:
    Bytes start
    Bytes end
    Bytes place
    Py_ssize_t nesting
    Py_ssize_t key
    Py_ssize_t digits


cdef inline bint is_digit(unsigned char byte) noexcept nogil:
    return 48 <= byte <= 57


cdef inline Bytes skip(Bytes place, Bytes end) noexcept nogil:
    while place < end and (place[0] == 32 or place[0] == 10 or place[0] == 13 or place[0] == 9):
        place += 1
    return place


cdef inline uint64_t word_hash(Bytes place, Py_ssize_t size) noexcept nogil:
    """A hash of a short key from its ends and its length."""
    cdef uint64_t first = 0, last = 0
    if size >= 8:
        memcpy(&first, place, 8)
        memcpy(&last, place + size - 8, 8)
    elif size >= 4:
        memcpy(&first, place, 4)
        memcpy(&last, place + size - 4, 4)
    elif size > 0:
        first = place[0]
        last = place[size - 1]
    first = (first ^ (last * <uint64_t>0x9E3779B97F4A7C15) ^ <uint64_t>size) * <uint64_t>0xBF58476D1CE4E5B9
    return first ^ (first >> 29)


cdef int utf8_size(Bytes place, Bytes end) noexcept nogil:
    """Bytes of the character at ``place`` (2 to 4), or 0 where they are no character."""
    cdef unsigned char lead = place[0], second
    if lead < 0xC2 or lead > 0xF4 or end - place < 2:
        return 0
    second = place[1]
    if second & 0xC0 != 0x80:
        return 0
    if lead < 0xE0:
        return 2
    if end - place < 3 or place[2] & 0xC0 != 0x80:
        return 0
    if lead < 0xF0:
        if (lead == 0xE0 and second < 0xA0) or (lead == 0xED and second >= 0xA0):
            return 0
        return 3
    if end - place < 4 or place[3] & 0xC0 != 0x80 or (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second > 0x8F):
        return 0
    return 4


cdef int hex_code(Bytes place, Bytes end) noexcept nogil:
    """The value of the four hex digits at ``place``; -1 where there are none, -2 where the text ends among them."""
    cdef int code = 0, step
    cdef unsigned char byte
    for step in range(4):
        if place + step >= end:
            return -2
        byte = place[step]
        if 48 <= byte <= 57:
            code = code * 16 + byte - 48
        elif 97 <= (byte | 32) <= 102:
            code = code * 16 + (byte | 32) - 87
        else:
            return -1
    return code


cdef class Reader:
    """Reads one JSON object at a time; see ``turnwire.json_text.read_object`` for what is refused and where.

    Args:
        wire: the name that errors carry.
        keys: keys that are expected often; objects share these strings. Nothing changes after construction.
    """

    cdef readonly str wire
    cdef tuple kept
    cdef PyObject* words[SLOTS]
    cdef Py_ssize_t sizes[SLOTS]

    def __init__(self, str wire, tuple keys=()):
        cdef Py_ssize_t size, slot
        cdef Bytes place
        self.wire = wire
        self.kept = tuple([key for key in keys if len(key) <= WORD and key.isascii()][: SLOTS // 4])
        for slot in range(SLOTS):
            self.words[slot] = NULL
        for key in self.kept:
            PyObject_Hash(key)
            place = <Bytes>PyUnicode_AsUTF8AndSize(key, &size)
            slot = word_hash(place, size) % SLOTS
            while self.words[slot] is not NULL:
                slot = (slot + 1) % SLOTS
            self.words[slot] = <PyObject*>key
            self.sizes[slot] = size

    def read(self, data, limits=LIMITS):
        """The object in ``data``. Raises DecodeError."""
        cdef Text text
        cdef Py_ssize_t size
        raw = data
        if type(data) is str:
            try:
                text.start = <Bytes>PyUnicode_AsUTF8AndSize(data, &size)
            except UnicodeEncodeError:
                raw = input_bytes(data, self.wire)
        elif type(data) is not bytes:
            raw = input_bytes(data, self.wire)
        if type(raw) is bytes:
            text.start = <Bytes><char*>raw
            size = len(<bytes>raw)
        if limits is LIMITS:
            text.nesting, text.key, text.digits = default_nesting, default_key, default_digits
            message = default_message
        else:
            message, text.nesting, text.key, text.digits = limits.message, limits.nesting, limits.key, limits.integer_digits
        if text.nesting > DEEPEST:
            return _PureReader(self.wire, self.kept).read(data, limits)
        text.place = text.start
        text.end = text.start + size
        if size > <Py_ssize_t>message:
            raise self.fault(&text, MESSAGE_TOO_LARGE, text.start + <Py_ssize_t>message)
        return self.message(&text)

    cdef object fault(self, Text* text, object reason, Bytes place):
        whole = PyBytes_FromStringAndSize(<const char*>text.start, text.end - text.start)
        return fault(whole, reason, place - text.start, self.wire)

    cdef object misfit(self, Text* text, Bytes place):
        """The error for a byte that cannot stand at ``place``, or for the end of the text there."""
        whole = PyBytes_FromStringAndSize(<const char*>text.start, text.end - text.start)
        reason, offset = unexpected(whole, place - text.start)
        return fault(whole, reason, offset, self.wire)

    cdef object broken(self, Text* text, Bytes place):
        whole = PyBytes_FromStringAndSize(<const char*>text.start, text.end - text.start)
        return fault(whole, broken_utf8(whole, place - text.start), place - text.start, self.wire)

    cdef object message(self, Text* text):
        text.place = skip(text.place, text.end)
        if text.place >= text.end or text.place[0] != 123 or (
            text.place == text.start and text.end - text.start >= 2 and text.start[1] == 0
        ):
            whole = PyBytes_FromStringAndSize(<const char*>text.start, text.end - text.start)
            reason, offset = opening(whole)
            raise fault(whole, reason, offset, self.wire)
        result = self.members(text, 1)
        text.place = skip(text.place, text.end)
        if text.place < text.end:
            if text.place[0] >= 0x80 and not utf8_size(text.place, text.end):
                raise self.broken(text, text.place)
            raise self.fault(text, TRAILING_JUNK, text.place)
        return result

    cdef object value(self, Text* text, Py_ssize_t depth):
        """The value at the next byte that is no white space; ``depth`` containers are open around it."""
        cdef unsigned char byte
        text.place = skip(text.place, text.end)
        if text.place >= text.end:
            raise self.misfit(text, text.place)
        byte = text.place[0]
        if byte == 34:
            return self.string(text)
        if byte == 123:
            return self.members(text, depth + 1)
        if byte == 91:
            return self.items(text, depth + 1)
        if byte == 45 or is_digit(byte):
            return self.number(text)
        if byte == 116:
            return self.word(text, b"true", 4, True)
        if byte == 102:
            return self.word(text, b"false", 5, False)
        if byte == 110:
            return self.word(text, b"null", 4, None)
        raise self.misfit(text, text.place)

    cdef object word(self, Text* text, const char* letters, Py_ssize_t size, object value):
        cdef Py_ssize_t there = text.end - text.place
        if there >= size and memcmp(text.place, letters, size) == 0:
            text.place += size
            return value
        if there < size and memcmp(text.place, letters, there) == 0:
            raise self.fault(text, CUT_OFF, text.end)
        raise self.fault(text, BAD_JSON, text.place)

    cdef object members(self, Text* text, Py_ssize_t depth):
        """The object whose brace stands at ``text.place``; it is the ``depth``-th open container."""
        cdef dict result = {}
        cdef Bytes quote
        if depth > text.nesting:
            raise self.fault(text, TOO_DEEP, text.place)
        text.place = skip(text.place + 1, text.end)
        if text.place < text.end and text.place[0] == 125:
            text.place += 1
            return result
        while True:
            quote = text.place
            if quote >= text.end or quote[0] != 34:
                raise self.misfit(text, quote)
            key = self.key(text)
            if PyDict_Contains(result, key):
                raise self.fault(text, DUP_KEY, quote)
            text.place = skip(text.place, text.end)
            if text.place >= text.end or text.place[0] != 58:
                raise self.misfit(text, text.place)
            text.place += 1
            value = self.value(text, depth)
            PyDict_SetItem(result, key, value)
            text.place = skip(text.place, text.end)
            if text.place >= text.end:
                raise self.misfit(text, text.place)
            if text.place[0] == 44:
                text.place = skip(text.place + 1, text.end)
            elif text.place[0] == 125:
                text.place += 1
                return result
            else:
                raise self.misfit(text, text.place)

    cdef object items(self, Text* text, Py_ssize_t depth):
        """The array whose bracket stands at ``text.place``."""
        cdef list result = []
        if depth > text.nesting:
            raise self.fault(text, TOO_DEEP, text.place)
        text.place = skip(text.place + 1, text.end)
        if text.place < text.end and text.place[0] == 93:
            text.place += 1
            return result
        while True:
            result.append(self.value(text, depth))
            text.place = skip(text.place, text.end)
            if text.place >= text.end:
                raise self.misfit(text, text.place)
            if text.place[0] == 44:
                text.place += 1
            elif text.place[0] == 93:
                text.place += 1
                return result
            else:
                raise self.misfit(text, text.place)

    cdef object key(self, Text* text):
        cdef Bytes first = text.place + 1
        cdef Bytes behind = turnwire_plain(first, text.end)
        cdef Py_ssize_t size = behind - first, slot
        cdef const char* there
        if behind < text.end and behind[0] == 34 and size <= WORD:
            slot = word_hash(first, size) % SLOTS
            while self.words[slot] is not NULL:
                if self.sizes[slot] == size:
                    key = <object>self.words[slot]
                    if memcmp(PyUnicode_DATA(key), first, size) == 0 and size <= text.key:
                        text.place = behind + 1
                        return key
                slot = (slot + 1) % SLOTS
        key = self.string(text)
        if text.place - first - 1 > text.key:
            raise self.fault(text, KEY_TOO_LONG, first - 1)
        return key

    cdef object string(self, Text* text):
        """The string whose quote stands at ``text.place``."""
        cdef Bytes quote = text.place, end = text.end
        cdef Bytes first = quote + 1
        cdef Bytes place = turnwire_plain(first, end)
        cdef bint escaped = False
        cdef int size
        if place < end and place[0] == 34:
            text.place = place + 1
            result = PyUnicode_New(place - first, 127)
            memcpy(PyUnicode_DATA(result), first, place - first)
            return result
        while True:
            if place >= end:
                raise self.fault(text, UNTERMINATED, quote)
            if place[0] == 34:
                break
            if place[0] == 92:
                escaped = True
                place = self.escape(text, quote, place)
            elif place[0] < 32:
                raise self.fault(text, CONTROL, place)
            else:
                size = utf8_size(place, end)
                if size == 0:
                    raise self.broken(text, place)
                place += size
            place = turnwire_plain(place, end)
        text.place = place + 1
        if escaped:
            return unescaped(first, place)
        return PyUnicode_DecodeUTF8(<const char*>first, place - first, NULL)

    cdef Bytes escape(self, Text* text, Bytes quote, Bytes place) except NULL:
        """Judges the escape at ``place``; returns the byte behind it."""
        cdef Bytes end = text.end
        cdef unsigned char letter
        cdef int code, low
        if place + 1 >= end:
            raise self.fault(text, UNTERMINATED, quote)
        letter = place[1]
        if letter != 117:
            if letter in (34, 92, 47, 98, 102, 110, 114, 116):
                return place + 2
            raise self.fault(text, BAD_ESCAPE, place)
        code = hex_code(place + 2, end)
        if code < 0:
            raise self.fault(text, UNTERMINATED if code == -2 else BAD_ESCAPE, quote if code == -2 else place)
        if code < 0xD800 or code > 0xDFFF:
            return place + 6
        if code >= 0xDC00:
            raise self.fault(text, LONE_SURROGATE, place)
        if place + 6 >= end:
            raise self.fault(text, UNTERMINATED, quote)
        if place[6] != 92 or place + 7 >= end or place[7] != 117:
            raise self.fault(text, LONE_SURROGATE, place)
        low = hex_code(place + 8, end)
        if low < 0:
            raise self.fault(text, UNTERMINATED if low == -2 else BAD_ESCAPE, quote if low == -2 else place + 6)
        if low < 0xDC00 or low > 0xDFFF:
            raise self.fault(text, LONE_SURROGATE, place)
        return place + 12

    cdef object number(self, Text* text):
        cdef Bytes start = text.place, end = text.end, place = text.place
        cdef Bytes first, whole, point
        cdef int64_t mantissa = 0
        cdef Py_ssize_t fraction = 0
        cdef double number
        cdef char* behind
        if place[0] == 45:
            place += 1
        first = place
        while place < end and is_digit(place[0]):
            if place - first < 18:
                mantissa = mantissa * 10 + (place[0] - 48)
            place += 1
        if place == first:
            raise self.digitless(text, place)
        if first[0] == 48 and place > first + 1:
            raise self.fault(text, BAD_NUMBER, start)
        whole = place
        if place < end and place[0] == 46:
            place += 1
            point = place
            while place < end and is_digit(place[0]):
                if place - first <= 18:
                    mantissa = mantissa * 10 + (place[0] - 48)
                place += 1
            fraction = place - point
            if not fraction:
                raise self.digitless(text, place)
        point = place
        if place < end and (place[0] | 32) == 101:
            place += 1
            if place < end and (place[0] == 43 or place[0] == 45):
                place += 1
            if place >= end or not is_digit(place[0]):
                raise self.digitless(text, place)
            while place < end and is_digit(place[0]):
                place += 1
        text.place = place
        if place == whole:
            if place - first <= text.digits and place - first <= 18:
                if mantissa == 0 and first > start:
                    return -0.0
                return PyLong_FromLongLong(mantissa if first == start else -mantissa)
            return self.wide(text, start, first)
        if place == point and fraction <= 22 and place - first <= 16:  # exact: 15 digits at most, one division
            number = <double>mantissa / POWERS[fraction]
            return PyFloat_FromDouble(number if first == start else -number)
        number = PyOS_string_to_double(<const char*>start, &behind, NULL)
        if not isfinite(number):
            raise self.fault(text, NOT_FINITE, start)
        return PyFloat_FromDouble(number)

    cdef object digitless(self, Text* text, Bytes place):
        """The error for a number that has no digit at ``place``."""
        cdef Bytes start = text.place
        if place >= text.end:
            return self.fault(text, CUT_OFF, text.end)
        if text.end - start >= 9 and memcmp(start, b"-Infinity", 9) == 0:
            return self.fault(text, NOT_FINITE, start)
        return self.fault(text, BAD_NUMBER, start)

    cdef object wide(self, Text* text, Bytes start, Bytes first):
        """An integer of more digits than a machine word is sure to hold."""
        if text.place - first > text.digits:
            raise self.fault(text, NUMBER_TOO_LONG, start)
        try:
            return int(PyBytes_FromStringAndSize(<const char*>start, text.place - start))
        except ValueError:  # the interpreter's own limit on digits is lower
            raise self.fault(text, NUMBER_TOO_LONG, start) from None


cdef Py_ssize_t default_message = LIMITS.message, default_nesting = LIMITS.nesting
cdef Py_ssize_t default_key = LIMITS.key, default_digits = LIMITS.integer_digits


cdef object unescaped(Bytes place, Bytes end):
    """The text of judged string content with its escapes resolved."""
    cdef unsigned char* buffer = <unsigned char*>PyMem_Malloc(end - place)
    cdef unsigned char* out = buffer
    cdef unsigned char letter
    cdef int code
    if buffer is NULL:
        raise MemoryError
    try:
        while place < end:
            if place[0] != 92:
                out[0] = place[0]
                out += 1
                place += 1
                continue
            letter = place[1]
            place += 2
            if letter == 117:
                code = hex_code(place, end)
                place += 4
                if 0xD800 <= code <= 0xDBFF:
                    code = 0x10000 + ((code - 0xD800) << 10) + hex_code(place + 2, end) - 0xDC00
                    place += 6
                out = put_character(out, code)
                continue
            if letter == 98:
                letter = 8
            elif letter == 102:
                letter = 12
            elif letter == 110:
                letter = 10
            elif letter == 114:
                letter = 13
            elif letter == 116:
                letter = 9
            out[0] = letter
            out += 1
        return PyUnicode_DecodeUTF8(<const char*>buffer, out - buffer, NULL)
    finally:
        PyMem_Free(buffer)


cdef unsigned char* put_character(unsigned char* out, int code) noexcept nogil:
    if code < 0x80:
        out[0] = code
        return out + 1
    if code < 0x800:
        out[0] = 0xC0 | (code >> 6)
        out[1] = 0x80 | (code & 0x3F)
        return out + 2
    if code < 0x10000:
        out[0] = 0xE0 | (code >> 12)
        out[1] = 0x80 | ((code >> 6) & 0x3F)
        out[2] = 0x80 | (code & 0x3F)
        return out + 3
    out[0] = 0xF0 | (code >> 18)
    out[1] = 0x80 | ((code >> 12) & 0x3F)
    out[2] = 0x80 | ((code >> 6) & 0x3F)
    out[3] = 0x80 | (code & 0x3F)
    return out + 4


# --- write ----------------------------------------------------------------------------------------------------------


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
    """``value`` as JSON text; see ``turnwire.json_text.write``."""
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
