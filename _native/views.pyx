"""Arrow string views in C: the twin of ``_pure/views.py``."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset


def string_views(const uint8_t[::1] buffer, const int64_t[::1] offsets, const int64_t[::1] lengths, uint8_t[:, ::1] out):
    """Fills ``out`` (uint8, one row of 16 bytes each) with the views of spans of ``buffer``, as buffer number 0.

    A view is the length (i32), then either up to 12 bytes of text with zeros behind, or the first four bytes, the
    number of the buffer (i32) and the offset in it (i32).
    """
    cdef Py_ssize_t row, count = offsets.shape[0], size = buffer.shape[0]
    cdef int64_t offset, length
    cdef int32_t word
    cdef uint8_t *view
    if lengths.shape[0] != count or out.shape[0] < count or out.shape[1] != 16:
        raise ValueError("offsets, lengths and out do not match")
    with nogil:
        for row in range(count):
            offset, length = offsets[row], lengths[row]
            view = &out[row, 0]
            if offset < 0 or length < 0 or offset + length > size:
                offset = length = 0
            word = <int32_t>length
            memcpy(view, &word, 4)
            if length > 12:
                memcpy(view + 4, &buffer[offset], 4)
                memset(view + 8, 0, 4)
                word = <int32_t>offset
                memcpy(view + 12, &word, 4)
            elif offset + 12 <= size:
                memcpy(view + 4, &buffer[offset], 12)
                memset(view + 4 + length, 0, <size_t>(12 - length))
            else:
                memset(view + 4, 0, 12)
                if length:
                    memcpy(view + 4, &buffer[offset], <size_t>length)
