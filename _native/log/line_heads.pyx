"""Lines that look like the first of a CSP/1 message, in C: the twin of ``_pure/log/line_heads.py``."""

from libc.stdint cimport uint8_t
from libc.string cimport memchr


cdef inline bint is_space(uint8_t byte) noexcept nogil:
    return byte == c" " or byte == c"\t"


cdef Py_ssize_t head_of(const uint8_t *s, Py_ssize_t slash, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Where the line begins whose magic has its slash there, or -1."""
    cdef Py_ssize_t place = slash + 1
    while place < stop and is_space(s[place]):
        place += 1
    if place == stop or not c"0" <= s[place] <= c"9":
        return -1
    place = slash
    while place > start and is_space(s[place - 1]):
        place -= 1
    if place - start < 3 or s[place - 1] | 32 != c"p" or s[place - 2] | 32 != c"s" or s[place - 3] | 32 != c"c":
        return -1
    place -= 3
    while place > start and is_space(s[place - 1]):
        place -= 1
    if place - start >= 3 and s[place - 3] == 0xEF and s[place - 2] == 0xBB and s[place - 1] == 0xBF:
        place -= 3
    return place if place == start or s[place - 1] == c"\n" else -1


def first_magic(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t stop):
    """Where the first line of ``data[start:stop]`` begins that looks like the first of a CSP/1 message, or -1; a line
    begins at ``start``."""
    cdef const uint8_t *s
    cdef const uint8_t *slash
    cdef Py_ssize_t found = -1
    cdef Py_ssize_t place
    if not 0 <= start <= stop <= data.shape[0]:
        raise ValueError("start and stop must lie in the data")
    if start == stop:
        return -1
    s = &data[0]
    place = start
    with nogil:
        while place < stop and found < 0:
            slash = <const uint8_t *>memchr(s + place, c"/", stop - place)
            if slash == NULL:
                break
            place = slash - s + 1
            found = head_of(s, place - 1, start, stop)
    return found
