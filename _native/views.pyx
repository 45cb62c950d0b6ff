"""Arrow string views and what stands behind them, in C: the twin of ``_pure/views.py``."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "json_strings.h" nogil:
    size_t tw_unescape(const uint8_t *p, const uint8_t *end, uint8_t *out)

DECIMAL = 20  # digits of the largest u64


def string_views(const uint8_t[::1] buffer, const int64_t[::1] offsets, const int64_t[::1] lengths, uint8_t[:, ::1] out,
                 const uint8_t[::1] arena=b""):
    """Fills ``out`` (uint8, one row of 16 bytes each) with the views of spans of ``buffer`` as buffer number 0 and, from
    its end on, of ``arena`` as number 1.

    A view is the length (i32), then either up to 12 bytes of text with zeros behind, or the first four bytes, the
    number of the buffer (i32) and the offset in it (i32).
    """
    cdef Py_ssize_t row, count = offsets.shape[0]
    cdef int64_t offset, length, size
    cdef int32_t word, number
    cdef uint8_t *view
    cdef const uint8_t *s
    if lengths.shape[0] != count or out.shape[0] < count or out.shape[1] != 16:
        raise ValueError("offsets, lengths and out do not match")
    with nogil:
        for row in range(count):
            offset, length = offsets[row], lengths[row]
            size, number = buffer.shape[0], 0
            if offset >= size and arena.shape[0] > 0:
                offset, size, number = offset - size, arena.shape[0], 1
            view = &out[row, 0]
            if offset < 0 or length < 0 or offset + length > size:
                offset = length = number = 0
                size = 0
            word = <int32_t>length
            memcpy(view, &word, 4)
            memset(view + 4, 0, 12)
            if length == 0:
                continue
            s = &arena[offset] if number else &buffer[offset]
            if length > 12:
                memcpy(view + 4, s, 4)
                memcpy(view + 8, &number, 4)
                word = <int32_t>offset
                memcpy(view + 12, &word, 4)
            elif offset + 12 <= size:
                memcpy(view + 4, s, 12)
                memset(view + 4 + length, 0, <size_t>(12 - length))
            else:
                memcpy(view + 4, s, <size_t>length)


def json_texts(const uint8_t[::1] buffer, const uint8_t[::1] arena, const int64_t[::1] offsets,
               int64_t[::1] lengths, uint8_t[::1] out):
    """Spans of JSON strings, one behind the other and without their escapes, into ``out``, which has room for the sum of
    their lengths; ``lengths`` then says how long each of them is. Returns the bytes that were written."""
    cdef Py_ssize_t row, written = 0
    cdef int64_t offset, size
    cdef const uint8_t *s
    if lengths.shape[0] != offsets.shape[0]:
        raise ValueError("offsets and lengths do not match")
    with nogil:
        for row in range(offsets.shape[0]):
            offset, size = offsets[row], buffer.shape[0]
            if lengths[row] <= 0:
                continue
            if offset < size:
                s = &buffer[offset]
            else:
                s = &arena[offset - size]
            if written + lengths[row] > out.shape[0]:
                with gil:
                    raise ValueError("out is too short")
            lengths[row] = <int64_t>tw_unescape(s, s + lengths[row], &out[written])
            written += lengths[row]
    return written


def decimals(const uint64_t[::1] numbers, uint8_t[:, ::1] out, int64_t[::1] lengths):
    """Each number as decimal digits at the start of its row of ``out`` (uint8, DECIMAL bytes a row)."""
    cdef Py_ssize_t row, count = numbers.shape[0]
    cdef int length, place
    cdef uint64_t number
    cdef uint8_t digits[20]
    if out.shape[0] < count or out.shape[1] != 20 or lengths.shape[0] < count:
        raise ValueError("numbers, out and lengths do not match")
    with nogil:
        for row in range(count):
            number = numbers[row]
            length = 0
            while True:
                digits[length] = <uint8_t>(48 + number % 10)
                length += 1
                number //= 10
                if number == 0:
                    break
            for place in range(length):
                out[row, place] = digits[length - 1 - place]
            lengths[row] = length
