"""What lines, and the gaps between records, show at a glance, in C: the twin of ``_pure/line_heads.py``."""

from libc.stdint cimport int64_t, uint8_t

cdef extern from "_native/log/line_signs.h" nogil:
    int tw_line_signs(const uint8_t *s, size_t start, size_t stop, size_t *magic)
    bint tw_plain_gaps(const uint8_t *s, const int64_t *offset, const int64_t *length, size_t rows, int64_t base,
                       size_t start, size_t stop, int kind, int escapes)


def signs(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t stop):
    """(where the first line of ``data[start:stop]`` begins that looks like the first of a CSP/1 message, or -1; the bits of
    what other lines show: CRI, DOCKER, MAGIC_BEHIND, SIGIL). A line begins at ``start``."""
    cdef size_t magic = 0
    cdef int found
    if not 0 <= start <= stop <= data.shape[0]:
        raise ValueError("start and stop must lie in the data")
    if start == stop:
        return -1, 0
    with nogil:
        found = tw_line_signs(&data[0], start, stop, &magic)
    return (-1 if magic == <size_t>stop else <Py_ssize_t>magic), found


def plain_gaps(const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] lengths, Py_ssize_t rows,
               int64_t base, Py_ssize_t start, Py_ssize_t stop, bint lines, bint escapes):
    """Whether nothing in ``data[start:stop]`` outside of the records can be more than the scan of their wire alone finds.

    offsets, lengths: of ``rows`` records in order, from ``base`` on. lines: whether the wire's records are lines
    (CSP/1), else they are tokens (nSLIP). escapes: whether a backslash counts, since something was damaged.
    """
    cdef bint plain
    if not 0 <= start <= stop <= data.shape[0] or min(offsets.shape[0], lengths.shape[0]) < rows:
        raise ValueError("start, stop and rows must lie in the data")
    if start == stop:
        return True
    with nogil:
        plain = tw_plain_gaps(&data[0], &offsets[0] if rows else NULL, &lengths[0] if rows else NULL, rows, base, start,
                              stop, lines, escapes)
    return plain
