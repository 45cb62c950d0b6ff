# The columns of CSP/1 for the search of logs. Included by csp/codec.pyx; the readable twin is in csp/bulk.py.


cdef enum:
    SLOTS = 5
    LINES = 9  # the span of a row's lines, in the place of what says of extras in other rows
    NO_SPAN = 255

cdef struct Columns:
    uint32_t *present
    uint8_t *intent
    uint8_t *status
    uint8_t *priority
    int32_t *spans

cdef uint32_t present_of[9][1 << SLOTS]  # kind, which slots it has -> which columns
cdef int STATUS_KIND, STATUS_AT, PRIORITY_KIND, PRIORITY_AT, PATCH_KIND
cdef uint8_t lines_behind[9]  # span whose line end the lines of a block follow; NO_SPAN for no lines


def _prepare_bulk():
    global STATUS_KIND, STATUS_AT, PRIORITY_KIND, PRIORITY_AT, PATCH_KIND
    cdef int kind, slot, there, place
    names = (*_spec.BULK_TEXTS, *_spec.BULK_ENUMS)
    if list(_spec.BULK_ENUMS) != ["status", "priority"] or _spec.ROW_WIDTH != 24:
        raise ImportError("the columns of CSP/1 have changed")
    for kind, name in enumerate(_spec.BULK_KINDS):
        spans = _spec.BULK_SPANS[name]
        always = [spans[place] for place in (0, 1, 2, 3, LINES) if spans[place]]
        for there in range(1 << SLOTS):
            slots = [spans[4 + slot] for slot in range(SLOTS) if there >> slot & 1 and spans[4 + slot]]
            present_of[kind][there] = sum(1 << names.index(text) for text in always + slots)
        lines_behind[kind] = NO_SPAN
        if name in _spec.BULK_LINES:
            lines_behind[kind] = 4 if name in ("PATCH", "TEMPLATE") else 3
        if "status" in spans:
            STATUS_KIND, STATUS_AT = kind, 4 + 2 * spans.index("status")
        if "priority" in spans:
            PRIORITY_KIND, PRIORITY_AT = kind, 4 + 2 * spans.index("priority")
    PATCH_KIND = _spec.BULK_KINDS.index("PATCH")


_prepare_bulk()


cdef inline bint is_block_head(Scanner *s, Line *line) noexcept nogil:
    cdef int size, word = word_of(s, line, &size)
    return W_PLAN <= word <= W_MEM and word != W_FILE or word == W_FILEOP


cdef inline bint is_own(const uint8_t *data, Line *line) noexcept nogil:
    """True if a line looks like one of a message: a key, an operation, the opening of a heredoc."""
    cdef int chomped
    cdef uint8_t sign = data[line.start]
    if csp_key_at(data, line.start, line.stop) or csp_opening(data, line.start, line.stop, &chomped):
        return True
    if sign != c"+" and sign != c"~" and sign != c"-":
        return False
    return line.stop - line.start >= 6 and memcmp(data + line.start + 1, b" DEF ", 5) == 0


cdef inline void block_lines(const uint8_t *data, int64_t start, int64_t stop, int32_t *span) noexcept nogil:
    """The lines behind the rest of the line at ``start``, without their last line end."""
    if start < stop and data[start] == 13:
        start += 1
    if start < stop and data[start] == 10:
        start += 1
    if stop > start and data[stop - 1] == 10:
        stop -= 1
        if stop > start and data[stop - 1] == 13:
            stop -= 1
    span[0] = <int32_t>start
    span[1] = <int32_t>(stop - start) if stop > start else 0


cdef inline void store_own(Columns *c, const uint8_t *data, int32_t *row, int64_t at) noexcept nogil:
    """Writes what a message says into row ``at`` of the columns that are asked for, spans apart: these are completed in ``row``."""
    cdef int kind = row[3] & 0xFF
    cdef int32_t length
    cdef int there = 0
    cdef int span = lines_behind[kind]
    row[22] = row[23] = -1
    if span != NO_SPAN:
        span = 4 + 2 * span
        block_lines(
            data, row[span] + row[span + 1], row[14] - 9 if kind == PATCH_KIND else row[0] + row[1], row + 4 + 2 * LINES
        )
    for span in range(SLOTS):
        there |= (row[13 + 2 * span] >= 0) << span
    if c.present != NULL:
        c.present[at] = present_of[kind][there]
    # Without branches: kinds come in any order.
    if c.status != NULL:
        length = row[STATUS_AT + 1] | -<int32_t>(kind != STATUS_KIND)
        c.status[at] = <uint8_t>((length != 2) + (length == 4) | length >> 31)  # OK, PARTIAL, FAIL; 255 for none
    if c.priority != NULL:
        length = row[PRIORITY_AT + 1] | -<int32_t>(kind != PRIORITY_KIND)
        c.priority[at] = <uint8_t>(data[(row[PRIORITY_AT] & ~(length >> 31)) + 1] - c"1" | length >> 31)
    if c.intent != NULL:
        c.intent[at] = kind
