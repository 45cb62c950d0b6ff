"""Bytes of JSON text: white space, UTF-8, escapes, runs of plain characters. Header-only, for the JSON modules."""

from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy

cdef extern from "_native/json/bytes.h" nogil:
    const unsigned char* turnwire_plain(const unsigned char* place, const unsigned char* end) noexcept
    unsigned int turnwire_hex(const unsigned char* place) noexcept
    void turnwire_put(int kind, void* out, const unsigned char* place, const unsigned char* end) noexcept

ctypedef const unsigned char* Bytes


cdef inline bint is_digit(unsigned char byte) noexcept nogil:
    return 48 <= byte <= 57


cdef inline Bytes skip(Bytes place, Bytes end) noexcept nogil:
    if place < end and place[0] > 32:
        return place
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


cdef inline bint same_bytes(Bytes one, Bytes other, Py_ssize_t size) noexcept nogil:
    """Whether the bytes of two short keys are equal."""
    cdef uint64_t first = 0, last = 0, left = 0, right = 0
    if size > 16:
        return memcmp(one, other, size) == 0
    if size >= 8:
        memcpy(&first, one, 8)
        memcpy(&left, other, 8)
        memcpy(&last, one + size - 8, 8)
        memcpy(&right, other + size - 8, 8)
        return first == left and last == right
    while size:
        size -= 1
        if one[size] != other[size]:
            return False
    return True


cdef inline int utf8_size(Bytes place, Bytes end) noexcept nogil:
    """Bytes of the character at ``place`` (2 to 4), or 0 where there is none."""
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


cdef inline int hex_code(Bytes place, Bytes end) noexcept nogil:
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
