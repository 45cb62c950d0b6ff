"""Times at the heads of log lines in C: the twin of ``framing/_times_py.py``. What is read stands in common/log_time.h."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr

cdef extern from "_native/common/log_time.h" nogil:
    int tw_head_time(const uint8_t *p, size_t size, int64_t *micros)
    size_t tw_time_prefix(const uint8_t *p, size_t size, int64_t *micros)


def head_times(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t[::1] times, uint8_t[::1] there):
    """For each of the ascending offsets, the time at the head of its line (microseconds, UTC), and 1 where there is one."""
    cdef Py_ssize_t row, count = offsets.shape[0]
    cdef int64_t start = 0, looked = 0, size = data.shape[0], place, at, time = 0, known = -1
    cdef int found = 0
    cdef const uint8_t *s
    if times.shape[0] < count or there.shape[0] < count:
        raise ValueError("times and there are too short")
    if count == 0 or size == 0:
        return
    s = &data[0]
    with nogil:
        for row in range(count):
            place = offsets[row]
            if place < looked or place > size:
                start = looked = 0
                known = -1
                if place > size or place < 0:
                    place = 0
            at = place  # mostly a line begins right there
            while at > looked and s[at - 1] != 10:
                at -= 1
            if at > looked:
                start = at
            looked = place
            if start != known:
                found = tw_head_time(s + start, <size_t>(size - start), &time)
                known = start
            times[row] = time if found else 0
            there[row] = found


def read_time(bytes text):
    """(microseconds since 1970 UTC, bytes that the time takes) of the time that ``text`` starts with, or None."""
    cdef int64_t micros = 0
    cdef size_t size = tw_time_prefix(<const uint8_t *><char *>text, len(text), &micros)
    return (micros, size) if size else None
