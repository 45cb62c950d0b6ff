# Messages written as messages usually are, read by csp/fast_path.h. Included by csp/codec.pyx.


cdef inline int64_t fast_messages(Scanner *s, int32_t *rows, int64_t most) noexcept nogil:
    """Reads messages that are written as messages usually are, as long as one follows another: how many, in ``rows``.

    Everything else, every fault included, is left to :func:`step`."""
    cdef csp_reading *reading = &s.reading
    cdef int why
    cdef int64_t count = 0
    if s.run:
        return 0
    while count < most:
        reading.place, reading.next, reading.number = s.place, s.next, s.number
        count += csp_fast(&s.window, reading, rows + 24 * count, <int>min(most - count, <int64_t>1 << 20), &why)
        s.place, s.next, s.number = reading.place, reading.next, reading.number
        if why != CSP_CUT_OFF or s.window.stop >= s.end or s.window.base == s.place:
            break
        fill(s, s.place)
    if count:
        s.tail = s.settled = True
    return count


cdef inline void number_extras(Scanner *s, int64_t count) noexcept nogil:
    """Rows that were read without extras say where their extras would be."""
    cdef int64_t row
    for row in range(s.row_count, s.row_count + count):
        s.rows[24 * row + 22] = <int32_t>s.extra_count
        s.rows[24 * row + 23] = 0
    s.row_count += count
