"""Lines that belong together, read in one go, in C: messages and templates of CSP/1 behind a prefix, and lines that CRI cut
into parts. The twin of ``framing/_prefixed_py.py``."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t

cdef extern from "_native/framing/prefixed.h" nogil:
    enum:
        TW_BEHIND_ASK
        TW_BEHIND_NOTHING
        TW_BEHIND_INDENT
    ctypedef struct tw_behind:
        size_t lines, size, stop
    int tw_read_behind(const uint8_t *s, size_t line, size_t stop, bint final, size_t limit, tw_behind *one)
    void tw_copy_behind(const uint8_t *s, size_t stop, bint final, const tw_behind *one, uint8_t *text, int64_t *table)
    bint tw_behind_time(const uint8_t *s, size_t line, size_t stop, int64_t *micros)
    size_t tw_read_parts(const uint8_t *s, size_t line, size_t stop, bint final, size_t limit, tw_behind *one)
    void tw_copy_parts(const uint8_t *s, size_t line, size_t stop, const tw_behind *one, uint8_t *text, int64_t *table)


cdef const uint8_t *checked(const uint8_t[::1] data, Py_ssize_t line, Py_ssize_t stop, Py_ssize_t limit) except NULL:
    """The data, where a line of it is asked about."""
    if not 0 <= line < stop <= data.shape[0] or limit < 0:
        raise ValueError("line and stop must lie in the data, and limit is a number of bytes")
    return &data[0]


cdef tuple told(str kind, const uint8_t *s, Py_ssize_t line, Py_ssize_t stop, bint final, const tw_behind *one, bint cut):
    """What ``message`` and ``parts`` return of lines that were read. cut: whether they are parts of one."""
    cdef int64_t micros = 0
    cdef bytes text = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>one.size)
    cdef bytes table = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(one.lines * 24))
    cdef uint8_t *said = <uint8_t *>PyBytes_AS_STRING(text)
    cdef int64_t *numbers = <int64_t *><void *>PyBytes_AS_STRING(table)
    if cut:
        tw_copy_parts(s, line, stop, one, said, numbers)
    else:
        tw_copy_behind(s, stop, final, one, said, numbers)
    time = micros if tw_behind_time(s, line, stop, &micros) else None
    return kind, <Py_ssize_t>one.stop, time, text, table


def message(const uint8_t[::1] data, Py_ssize_t line, Py_ssize_t stop, bint final, Py_ssize_t limit):
    """What begins with the line at ``line`` of ``data[:stop]``, "CSP/1" or a template of it behind a prefix: (kind, where
    to go on, time, text, table). None where that is not sure by a quick look, with no more than ``limit`` bytes.

    kind: "prefix" or "indent", or "" where nothing begins. time: microseconds since 1970 (UTC) at the head of the line,
    or None. table: for each line where it begins in the text, then for each where that is in the data, then where the
    line ends there, as 64-bit numbers. final: the input ends at ``stop``; limit: bytes. ValueError where ``line`` and
    ``stop`` are outside the data, or ``limit`` is negative.
    """
    cdef tw_behind one
    cdef int kind
    cdef const uint8_t *s = checked(data, line, stop, limit)
    with nogil:
        kind = tw_read_behind(s, line, stop, final, limit, &one)
    if kind == TW_BEHIND_ASK:
        return None
    if kind == TW_BEHIND_NOTHING:
        return "", <Py_ssize_t>one.stop, None, b"", b""
    return told("indent" if kind == TW_BEHIND_INDENT else "prefix", s, line, stop, final, &one, False)


def parts(const uint8_t[::1] data, Py_ssize_t line, Py_ssize_t stop, bint final, Py_ssize_t limit):
    """The line of a program that CRI cut, of which the one at ``line`` of ``data[:stop]`` is the first part. Arguments, what
    is returned and raised: as of ``message``, with the kind "cri". None where that is not sure by a quick look, or where
    the line says CSP/1.
    """
    cdef tw_behind one
    cdef size_t count
    cdef const uint8_t *s = checked(data, line, stop, limit)
    with nogil:
        count = tw_read_parts(s, line, stop, final, limit, &one)
    if count == 0:
        return None
    found = told("cri", s, line, stop, final, &one, True)
    return None if b"CSP/1" in found[3] else found
