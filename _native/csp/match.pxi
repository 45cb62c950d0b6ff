# The matcher of good messages for the search of logs (search/search.h), which asks it without a call of Python. Included by
# csp/codec.pyx.


cdef int good_message(
    const uint8_t *data, int64_t at, int64_t end, int final, int64_t most_bytes, int32_t *row, int64_t *behind
) noexcept nogil:
    """1 where a good message begins at the line at ``at``, and a blank line, another message or the end of the text ends it:
    its row, and where to go on. 0: anything else, or nobody can say."""
    cdef Scanner s
    cdef Line first, line
    cdef int64_t limits[3]
    cdef int64_t state[4]
    cdef int64_t stop = 0
    cdef int intent = 0, good = 0, found
    limits[0], limits[1], limits[2] = most_bytes, _most_fields, _most_key
    memset(state, 0, sizeof(state))
    memset(row, 0xFF, 24 * sizeof(int32_t))
    start_scanner(&s, data, at, end, final, limits, state, find_lines)
    s.log = True
    s.rows = s.extras = s.rejects = NULL
    s.most_rows = s.most_extras = s.most_rejects = 0
    if next_line(&s, &first) == OK and is_magic(data, &first) and read_message(&s, &first, row, &intent, &stop) == OK:
        behind[0] = s.place
        seek(&s, stop, 0)
        found = next_line(&s, &line)
        if found == END or (found == OK and (is_blank(data, &line) or csp_looks_like_magic(data, line.start, line.stop))):
            good = csp_bad_utf8(data, at, stop) < 0
        row[0], row[1], row[2], row[3] = <int32_t>at, <int32_t>(stop - at), 0, intent
    free(s.closings)
    return good


cdef int64_t _most_fields = _LIMITS.fields, _most_key = _LIMITS.key
message_pointer = PyCapsule_New(<void *>good_message, "turnwire.csp_message", NULL)
