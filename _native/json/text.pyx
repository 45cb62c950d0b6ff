"""Strict JSON, one object at a time: validates and builds in one pass. The rules are those of ``json/_text_py.py``."""

import re

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.conversion cimport PyOS_string_to_double
from cpython.dict cimport PyDict_Contains, PyDict_SetItem
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_GET_SIZE
from cpython.long cimport PyLong_FromLongLong
from cpython.object cimport PyObject, PyObject_Hash
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DATA, PyUnicode_KIND, PyUnicode_New
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from turnwire.json._text_py import Reader as _PureReader
from turnwire.contract import LIMITS, checked_limits
from turnwire.errors import Reason
from turnwire.json.faults import REASONS as _REASONS, fault, input_bytes

cdef extern from "Python.h":
    Py_ssize_t PyDict_GET_SIZE(object value)

ctypedef const unsigned char* Bytes

cdef extern from "_native/json/strings.h" nogil:
    Bytes tw_plain(Bytes place, Bytes end) noexcept
    Bytes tw_skip(Bytes place, Bytes end) noexcept
    int tw_utf8_size(Bytes place, Bytes end) noexcept
    int tw_escape_size(Bytes place, Bytes end) noexcept
    bint tw_same_bytes(Bytes one, Bytes other, size_t size) noexcept
    uint64_t tw_name_hash(Bytes place, size_t size) noexcept
    size_t tw_unescape(Bytes place, Bytes end, unsigned char* out) noexcept

cdef extern from "_native/json/bytes.h" nogil:
    unsigned int turnwire_hex(Bytes place) noexcept
    void turnwire_put(int kind, void* out, Bytes place, Bytes end) noexcept

cdef extern from "_native/json/why.h" nogil:
    bint tw_why_object(Bytes place, Bytes end, Bytes hard, size_t key, Bytes fault, int* reason, Bytes* why)
    bint tw_why_text(Bytes place, Bytes end, Bytes hard, size_t key, Bytes fault, bint behind, int* reason, Bytes* why)

cdef enum:
    WORD = 32  # bytes of the longest key that is shared
    SLOTS = 512
    LEVELS = 16  # of nesting whose first keys are guessed apart
    PATIENCE = 1 << 10  # values of one container between two looks for Ctrl-C
    DEEPEST = 512  # nesting that recursion is trusted with; beyond it the iterative twin reads

cdef object USUAL = re.compile(r"[ !#-\[\]-~]*").fullmatch  # a key that stands between its quotes as it is
cdef uint32_t[5] WIDEST = [0, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF]  # of UTF-8 forms of so many bytes

cdef double[23] POWERS = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22,
]


class _Refused(Exception):
    """This is no JSON object; text.fault says where."""


cdef struct Text:
    Bytes start
    Bytes end
    Bytes place
    Py_ssize_t nesting
    Py_ssize_t key
    Py_ssize_t digits
    bint careful  # whether duplicates are looked for before their values are read: on the way to an error only
    Bytes fault  # where reading failed, as json/why.h wants it
    bint behind  # whether that is behind the object
    bint own  # whether writing what was read, unchanged, gives this text again, as far as it was read


cdef inline void skip_white(Text* text) noexcept:
    """Moves to the next byte that is not white space, which writing never adds."""
    cdef Bytes place = text.place
    if place < text.end and place[0] > 32:
        return
    text.place = tw_skip(place, text.end)
    if text.place != place:
        text.own = False


cdef inline bint is_digit(unsigned char byte) noexcept:
    return 48 <= byte <= 57


cdef object refused(Text* text, Bytes place):
    text.fault = place
    return _Refused()


cdef class Reader:
    """Reads one JSON object at a time; see ``turnwire.json.text.read_object`` for what is refused and where.

    Args:
        wire: the name that errors carry.
        keys: keys that are expected often; objects share these strings. The input only changes which key is tried
            first.
    """

    cdef readonly str wire
    cdef tuple kept
    cdef PyObject* words[SLOTS]
    cdef Py_ssize_t sizes[SLOTS]
    cdef unsigned short guesses[SLOTS + LEVELS]  # behind each key, and first at each level, the slot of what stood there last

    def __init__(self, str wire, tuple keys=()):
        cdef Py_ssize_t size, slot
        cdef Bytes place
        self.wire = wire
        self.kept = tuple([key for key in keys if len(key) <= WORD and USUAL(key)][: SLOTS // 4])
        for slot in range(SLOTS):
            self.words[slot] = NULL
        for slot in range(SLOTS + LEVELS):
            self.guesses[slot] = 0
        for key in self.kept:
            PyObject_Hash(key)
            place = <Bytes>PyUnicode_AsUTF8AndSize(key, &size)
            slot = tw_name_hash(place, size) % SLOTS
            while self.words[slot] is not NULL:
                slot = (slot + 1) % SLOTS
            self.words[slot] = <PyObject*>key
            self.sizes[slot] = size

    def read(self, data, limits=LIMITS):
        """The object in ``data``. Raises DecodeError."""
        cdef Text text
        return self.read_text(data, limits, &text)

    def read_source(self, data, limits=LIMITS):
        """The object in ``data``, and ``data`` itself where it is text (str or bytes) that writing the object gives again,
        else None. Raises DecodeError."""
        cdef Text text
        text.own = False
        fields = self.read_text(data, limits, &text)
        return fields, data if text.own and limits is DEFAULT and (type(data) is bytes or type(data) is str) else None

    cdef object read_text(self, data, limits, Text* text):
        cdef Py_ssize_t size = 0, most = default_message
        cdef Bytes place
        cdef int why
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
        text.nesting, text.key, text.digits = default_nesting, default_key, default_digits
        if limits is not DEFAULT:
            checked_limits(limits)
            most, text.nesting, text.key, text.digits = limits.message, limits.nesting, limits.key, limits.integer_digits
        if text.nesting > DEEPEST:
            return _PureReader(self.wire, self.kept).read(data, limits)
        text.end = text.start + size
        if size > most:
            raise fault(PyBytes_FromStringAndSize(<const char*>text.start, size), Reason.MESSAGE_TOO_LARGE, most, self.wire)
        try:
            return self.attempt(text, text.start, True)
        except _Refused:
            tw_why_text(text.start, text.end, text.end, <size_t>text.key, text.fault, text.behind, &why, &place)
        raise fault(PyBytes_FromStringAndSize(<const char*>text.start, size), _REASONS[why], place - text.start, self.wire)

    def find(self, bytes raw, Py_ssize_t place, limits=LIMITS):
        """The JSON object that starts at byte ``place`` and the offset behind it; where there is none, None and the
        offset of the fault."""
        cdef Text text
        cdef Bytes start = <Bytes><char*>raw, at
        cdef int why
        text.nesting, text.key, text.digits = min(limits.nesting, <Py_ssize_t>DEEPEST), limits.key, limits.integer_digits
        text.end = start + min(<Py_ssize_t>len(raw), place + <Py_ssize_t>limits.message)
        if not 0 <= place < len(raw) or start[place] != 123:
            return None, place
        try:
            return self.attempt(&text, start + place, False), text.place - start
        except _Refused:
            tw_why_object(start + place, text.end, text.end, <size_t>text.key, text.fault, &why, &at)
            return None, at - start

    cdef object attempt(self, Text* text, Bytes start, bint whole, bint careful=False):
        """The object at ``start``; whole: and nothing behind it. Raises _Refused."""
        text.place, text.own, text.behind, text.careful = start, True, False, careful
        try:
            return self.message(text) if whole else self.members(text, 1)
        except _Refused:
            if careful:
                raise
        return self.attempt(text, start, whole, True)

    cdef object message(self, Text* text):
        skip_white(text)
        if text.place >= text.end or text.place[0] != 123:
            raise refused(text, text.place)
        result = self.members(text, 1)
        skip_white(text)
        if text.place < text.end:
            text.behind = True
            raise refused(text, text.place)
        return result

    cdef object value(self, Text* text, Py_ssize_t depth):
        """The value at the next byte that is not white space; ``depth`` containers are open around it."""
        cdef unsigned char byte
        skip_white(text)
        if text.place >= text.end:
            raise refused(text, text.place)
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
        raise refused(text, text.place)

    cdef object word(self, Text* text, const char* letters, Py_ssize_t size, object value):
        if text.end - text.place < size or memcmp(text.place, letters, size) != 0:
            raise refused(text, text.place)
        text.place += size
        return value

    cdef object members(self, Text* text, Py_ssize_t depth):
        """The object whose brace stands at ``text.place``; it is the ``depth``-th open container."""
        cdef dict result = {}
        cdef Bytes quote
        cdef Py_ssize_t count = 0, slot = SLOTS + depth % LEVELS
        if depth > text.nesting:
            raise refused(text, text.place)
        text.place += 1
        skip_white(text)
        if text.place < text.end and text.place[0] == 125:
            text.place += 1
            return result
        while True:
            quote = text.place
            if quote >= text.end or quote[0] != 34:
                raise refused(text, quote)
            key = self.key(text, &slot)
            skip_white(text)
            if text.place >= text.end or text.place[0] != 58:
                raise refused(text, quote if PyDict_Contains(result, key) else text.place)
            text.place += 1
            if text.careful and PyDict_Contains(result, key):  # met before whatever is wrong with the value
                raise refused(text, quote)
            value = self.value(text, depth)
            PyDict_SetItem(result, key, value)
            count += 1
            if count % PATIENCE == 0:
                PyErr_CheckSignals()
            if PyDict_GET_SIZE(result) != count:
                raise refused(text, quote)
            skip_white(text)
            if text.place >= text.end:
                raise refused(text, text.place)
            if text.place[0] == 44:
                text.place += 1
                skip_white(text)
            elif text.place[0] == 125:
                text.place += 1
                return result
            else:
                raise refused(text, text.place)

    cdef object items(self, Text* text, Py_ssize_t depth):
        """The array whose bracket stands at ``text.place``."""
        cdef list result = []
        if depth > text.nesting:
            raise refused(text, text.place)
        text.place += 1
        skip_white(text)
        if text.place < text.end and text.place[0] == 93:
            text.place += 1
            return result
        while True:
            result.append(self.value(text, depth))
            if PyList_GET_SIZE(result) % PATIENCE == 0:
                PyErr_CheckSignals()
            skip_white(text)
            if text.place >= text.end:
                raise refused(text, text.place)
            if text.place[0] == 44:
                text.place += 1
            elif text.place[0] == 93:
                text.place += 1
                return result
            else:
                raise refused(text, text.place)

    cdef object key(self, Text* text, Py_ssize_t* before):
        """The key whose quote stands at ``text.place``. before: the slot of the key in front of it, or the level where it is
        the first; then its own slot. The key that was last at this place is tried first."""
        cdef Bytes first = text.place + 1
        cdef Bytes behind
        cdef Py_ssize_t slot = self.guesses[before[0]], size = self.sizes[slot]
        if self.words[slot] is not NULL and text.end - first > size and first[size] == 34 and size <= text.key:
            if tw_same_bytes(<Bytes>PyUnicode_DATA(<object>self.words[slot]), first, size):
                text.place = first + size + 1
                before[0] = slot
                return <object>self.words[slot]
        behind = tw_plain(first, text.end)
        size = behind - first
        if behind < text.end and behind[0] == 34 and size <= WORD:
            slot = tw_name_hash(first, size) % SLOTS
            while self.words[slot] is not NULL:
                if self.sizes[slot] == size:
                    key = <object>self.words[slot]
                    if memcmp(PyUnicode_DATA(key), first, size) == 0 and size <= text.key:
                        text.place = behind + 1
                        self.guesses[before[0]] = <unsigned short>slot
                        before[0] = slot
                        return key
                slot = (slot + 1) % SLOTS
        key = self.string(text)
        if text.place - first - 1 > text.key:
            raise refused(text, first - 1)
        return key

    cdef object string(self, Text* text):
        """The string whose quote stands at ``text.place``."""
        cdef Bytes quote = text.place, end = text.end
        cdef Bytes first = quote + 1
        cdef Bytes place = tw_plain(first, end)
        cdef Bytes behind
        cdef Py_ssize_t count
        cdef uint32_t most = 127  # bounds the characters, tightly enough to say how wide they are stored
        cdef int size
        if place < end and place[0] == 34:
            text.place = place + 1
            result = PyUnicode_New(place - first, 127)
            memcpy(PyUnicode_DATA(result), first, place - first)
            return result
        count = place - first
        while place < end and place[0] != 34:
            size = tw_escape_size(place, end) if place[0] == 92 else tw_utf8_size(place, end)
            if not size:  # a control character has none
                raise refused(text, place)
            if place[0] != 92:
                most = max(most, <uint32_t>(place[0] & 0x1F) << 6 | 0x3F if size == 2 else WIDEST[size])
            elif place[1] == 117 or place[1] == 47:
                text.own = False
                if place[1] == 117:
                    most = max(most, turnwire_hex(place + 2) if size == 6 else <uint32_t>0x10FFFF)
            behind = place + size
            place = tw_plain(behind, end)
            count += 1 + (place - behind)
        if place >= end:
            raise refused(text, end)
        text.place = place + 1
        result = PyUnicode_New(count, most)
        turnwire_put(PyUnicode_KIND(result), PyUnicode_DATA(result), first, place)
        return result

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
        if place == first or (first[0] == 48 and place > first + 1):
            raise refused(text, start)
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
                raise refused(text, start)
        point = place
        if place < end and (place[0] | 32) == 101:
            place += 1
            if place < end and (place[0] == 43 or place[0] == 45):
                place += 1
            if place >= end or not is_digit(place[0]):
                raise refused(text, start)
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
        if behind != <const char*>place:  # the text ends inside of a longer number
            number = float(PyBytes_FromStringAndSize(<const char*>start, place - start))
        if not isfinite(number):
            raise refused(text, start)
        return PyFloat_FromDouble(number)

    cdef object wide(self, Text* text, Bytes start, Bytes first):
        """An integer of more digits than certainly fit into a machine word."""
        if text.place - first > text.digits:
            raise refused(text, start)
        try:
            return int(PyBytes_FromStringAndSize(<const char*>start, text.place - start))
        except ValueError:  # the interpreter's own limit on digits is lower
            raise refused(text, start) from None


cdef object DEFAULT = LIMITS
cdef Py_ssize_t default_message = LIMITS.message, default_nesting = LIMITS.nesting
cdef Py_ssize_t default_key = LIMITS.key, default_digits = LIMITS.integer_digits


def plain(bytes span):
    """Returns the content of a JSON string without its escapes."""
    cdef Py_ssize_t size = len(span)
    result = PyBytes_FromStringAndSize(NULL, size)
    return result[:tw_unescape(<const unsigned char *><char *>span, <const unsigned char *><char *>span + size,
                               <unsigned char *><char *>result)]
