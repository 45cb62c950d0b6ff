"""Messages and templates of CSP/1 behind a prefix, each read in one go, in C: the twin of ``_pure/log/prefixed.py``."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t

cdef extern from "_native/log/prefixed.h" nogil:
    enum:
        TW_BEHIND_ASK
        TW_BEHIND_NOTHING
        TW_BEHIND_INDENT
    ctypedef struct tw_behind:
        size_t lines, size, stop
    int tw_read_behind(const uint8_t *s, size_t line, size_t stop, bint final, size_t limit, tw_behind *one)
    void tw_copy_behind(const uint8_t *s, size_t stop, bint final, const tw_behind *one, uint8_t *text, int64_t *said,
                        int64_t *places)
    bint tw_behind_time(const uint8_t *s, size_t line, size_t stop, int64_t *micros)


def message(const uint8_t[::1] data, Py_ssize_t line, Py_ssize_t stop, bint final, Py_ssize_t limit):
    """What begins with the line at ``line`` of ``data[:stop]``, "CSP/1" or a template of it behind a prefix: (kind, where
    to go on, time, text, table). None where that is not sure by a quick look, with no more than ``limit`` bytes.

    kind: "prefix" or "indent", or "" where nothing begins. time: microseconds since 1970 (UTC) at the head of the line,
    or None. table: for each line where it begins in the text, then for each where that is in the data, as 64-bit numbers.
    final: the input ends at ``stop``.
    """
    cdef tw_behind one
    cdef int kind
    cdef int64_t micros = 0
    cdef const uint8_t *s
    cdef int64_t *said
    cdef bytes text, table
    if not 0 <= line < stop <= data.shape[0] or limit < 0:
        raise ValueError("line and stop must lie in the data, and limit is a number of bytes")
    s = &data[0]
    with nogil:
        kind = tw_read_behind(s, line, stop, final, limit, &one)
    if kind == TW_BEHIND_ASK:
        return None
    if kind == TW_BEHIND_NOTHING:
        return "", <Py_ssize_t>one.stop, None, b"", b""
    text = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>one.size)
    table = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(one.lines * 16))
    said = <int64_t *><void *>PyBytes_AS_STRING(table)
    tw_copy_behind(s, stop, final, &one, <uint8_t *>PyBytes_AS_STRING(text), said, said + one.lines)
    time = micros if tw_behind_time(s, line, stop, &micros) else None
    return "indent" if kind == TW_BEHIND_INDENT else "prefix", <Py_ssize_t>one.stop, time, text, table
