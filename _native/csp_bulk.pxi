# The bulk scan: records of a log as columns. Included by csp.pyx; the rules are told in _pure/csp_bulk.py.


cdef enum:
    TEXTS = 21
    SPANS = 10  # of a row: header, id, five slots, and the lines of a block
    LINES = 9
    NO_SPAN = 10
    AHEAD = 128  # rows of text columns that are zeroed at once: most of them are absent in any one record

cdef struct Columns:
    int64_t *offset
    int64_t *length
    int64_t *line
    uint32_t *present
    uint8_t *intent
    uint8_t *inside
    uint8_t *status
    uint8_t *priority
    int64_t *text_offset[TEXTS]
    int64_t *text_length[TEXTS]

cdef struct Target:
    int32_t span
    uint32_t bit
    int64_t *offset
    int64_t *length

cdef struct Refused:
    int64_t *offset
    int64_t *length
    int64_t *line
    int64_t *fault
    uint8_t *reason

cdef struct Bulk:
    Scanner scanner
    Columns columns
    Refused refused
    int64_t rows, room, refusals, refusal_room, base, line
    int64_t cleared  # text columns are zero up to this row
    int asked
    int64_t *texts[2 * TEXTS]  # the columns of texts that are asked for
    int targets[9]
    Target target[9][SPANS]  # kind -> where the texts go that it can have

cdef uint8_t span_of[9][TEXTS]  # kind, text column -> span of the row; NO_SPAN where the kind has no such text
cdef int status_span[9]
cdef int priority_span[9]
cdef int PATCH_KIND, HAS_STATUS, HAS_PRIORITY
cdef uint8_t lines_behind[9]  # span whose line end the lines of a block follow; NO_SPAN for no lines


def _prepare_bulk():
    global PATCH_KIND, HAS_STATUS, HAS_PRIORITY
    cdef int kind, slot
    if len(_spec.BULK_TEXTS) != TEXTS or list(_spec.BULK_ENUMS) != ["status", "priority"]:
        raise ImportError("the columns of the bulk scan have changed")
    HAS_STATUS, HAS_PRIORITY = 1 << TEXTS, 2 << TEXTS
    memset(span_of, NO_SPAN, sizeof(span_of))
    for kind, name in enumerate(_spec.BULK_KINDS):
        spans = ["from", "to", "ctx", "id", *_spec.BULK_SLOTS[name]]
        spans += [None] * (LINES - len(spans)) + [_spec.BULK_LINES.get(name)]
        status_span[kind] = spans.index("status") if "status" in spans else NO_SPAN
        priority_span[kind] = spans.index("priority") if "priority" in spans else NO_SPAN
        for slot, text in enumerate(spans):
            if text in _spec.BULK_TEXTS:
                span_of[kind][_spec.BULK_TEXTS.index(text)] = slot
        lines_behind[kind] = NO_SPAN
        if name in _spec.BULK_LINES:
            lines_behind[kind] = 4 if name in ("PATCH", "TEMPLATE") else 3
    PATCH_KIND = _spec.BULK_KINDS.index("PATCH")


_prepare_bulk()


cdef inline bint is_block_head(Scanner *s, Line *line) noexcept nogil:
    cdef uint64_t prefix = csp_word(s.data, line.start, s.end)
    cdef int size = csp_key_length(prefix, line.stop - line.start, s.data + line.start)
    cdef int word = word_at(csp_prefix(prefix, size)) if 0 < size <= 8 else NO_WORD
    return W_PLAN <= word <= W_MEM and word != W_FILE or word == W_FILEOP


cdef inline bint is_own(const uint8_t *data, Line *line) noexcept nogil:
    """Whether a line looks like one of a message: a key, an operation, the opening of a heredoc."""
    cdef bint chomped
    cdef uint8_t sign = data[line.start]
    if key_length(data, line.start, line.stop) or opening(data, line, &chomped):
        return True
    if sign != c"+" and sign != c"~" and sign != c"-":
        return False
    return line.stop - line.start >= 6 and memcmp(data + line.start + 1, b" DEF ", 5) == 0


cdef bint to_closing(Scanner *s, int64_t run, int64_t stop) noexcept nogil:
    """Moves behind the closing line of a heredoc in front of ``stop``; false where there is none."""
    cdef Line line
    while s.place < stop and next_line(s, &line) == OK:
        if starts_run(s.data, line.start, run, stop) and closing_end(s, line.start, run, stop):
            return True
    return False


cdef int64_t reach(Scanner *s, Line *first, int64_t fault) noexcept nogil:
    """Behind the last line of a damaged message that can be its own; the cursor stands behind the whole message."""
    cdef int64_t stop = s.place
    cdef int64_t number = s.number
    cdef int64_t end = first.start
    cdef int64_t run
    cdef bint blank = False
    cdef bint block = False
    cdef bint chomped
    cdef Line line
    seek(s, first.start, first.number)
    while s.place < stop and next_line(s, &line) == OK:
        if is_blank(s.data, &line):
            if block:
                break
            blank = True
            continue
        if line.start > fault and not (is_block_head(s, &line) if blank and not block else is_own(s.data, &line)):
            break
        block = block or blank
        end = line.next
        run = opening(s.data, &line, &chomped)
        if run:
            if not to_closing(s, run, stop):
                break
            end = s.place
    seek(s, stop, number)
    return end


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


cdef void clear(Bulk *b) noexcept nogil:
    """Zeroes the texts of the rows to come."""
    cdef int64_t rows = min(<int64_t>AHEAD, b.room - b.cleared)
    cdef int text
    for text in range(b.asked):
        memset(b.texts[text] + b.cleared, 0, rows * sizeof(int64_t))
    b.cleared += rows


cdef inline void store(Bulk *b, int32_t *row) noexcept nogil:
    """One row into the columns that are asked for."""
    cdef Columns *c = &b.columns
    cdef int64_t at = b.rows
    cdef int kind = row[3] & 0xFF
    cdef int32_t *spans = row + 4
    cdef const uint8_t *data = b.scanner.data
    cdef Target *target
    cdef int32_t there
    cdef int64_t length
    cdef uint32_t present = 0
    cdef int text, span
    span = lines_behind[kind]
    if span != NO_SPAN:
        block_lines(
            data, spans[2 * span] + spans[2 * span + 1],
            spans[10] - 9 if kind == PATCH_KIND else row[0] + row[1], spans + 2 * LINES
        )
    spans[2 * NO_SPAN + 1] = -1
    if at >= b.cleared:
        clear(b)
    for text in range(b.targets[kind]):
        target = &b.target[kind][text]
        length = spans[2 * target.span + 1]
        there = ~(<int32_t>length >> 31)
        present |= target.bit & <uint32_t>there
        if target.length != NULL:
            target.length[at] = length & there
            target.offset[at] = spans[2 * target.span] & there
    length = spans[2 * status_span[kind] + 1]
    if length >= 0:
        present |= HAS_STATUS
    if c.status != NULL:
        c.status[at] = 255 if length < 0 else 0 if length == 2 else 1 if length == 7 else 2
    span = priority_span[kind]
    length = spans[2 * span + 1]
    if length >= 0:
        present |= HAS_PRIORITY
    if c.priority != NULL:
        c.priority[at] = 255 if length < 0 else data[spans[2 * span] + 1] - c"1"
    if c.offset != NULL:
        c.offset[at] = b.base + row[0]
    if c.length != NULL:
        c.length[at] = row[1]
    if c.line != NULL:
        c.line[at] = b.line + row[2]
    if c.present != NULL:
        c.present[at] = present
    if c.intent != NULL:
        c.intent[at] = kind
    if c.inside != NULL:
        c.inside[at] = row[3] >> 8 & 1
    b.rows += 1


cdef inline void refuse(Bulk *b, int32_t *found) noexcept nogil:
    cdef Refused *c = &b.refused
    c.offset[b.refusals] = b.base + found[0]
    c.length[b.refusals] = found[1]
    c.line[b.refusals] = b.line + found[2]
    c.fault[b.refusals] = b.base + found[4]
    c.reason[b.refusals] = found[3]
    b.refusals += 1


cdef int run_bulk(Bulk *b) noexcept nogil:
    cdef Scanner *s = &b.scanner
    cdef int32_t row[24 + 2]
    cdef int32_t found[6]
    cdef int outcome = OK
    s.rows, s.rejects, s.extras = row, found, NULL
    s.log = True
    while s.place < s.end and b.rows < b.room and b.refusals < b.refusal_room:
        s.row_count = s.reject_count = s.extra_count = 0
        outcome = step(s)
        if outcome != OK:
            break
        if s.row_count:
            store(b, row)
        elif s.reject_count:
            refuse(b, found)
    free(s.closings)
    s.closings = NULL
    return NO_MEMORY if outcome == NO_MEMORY else OK


cdef void *memory(dict columns, object name, int64_t room, int64_t width) except? NULL:
    """Where a column's memory is, or NULL where it is not asked for. The caller's dict keeps it alive."""
    cdef Py_buffer view
    array = columns.get(name)
    if array is None:
        return NULL
    PyObject_GetBuffer(array, &view, PyBUF_CONTIG)
    cdef void *start = view.buf
    cdef int64_t size = view.len
    PyBuffer_Release(&view)
    if size < room * width:
        raise ValueError(f"column {name} has room for {size // width} rows, not {room}")
    return start


cdef int take_columns(Bulk *b, dict columns, dict rejects) except -1:
    cdef Columns *c = &b.columns
    cdef int text
    c.offset = <int64_t *>memory(columns, "offset", b.room, 8)
    c.length = <int64_t *>memory(columns, "length", b.room, 8)
    c.line = <int64_t *>memory(columns, "line", b.room, 8)
    c.present = <uint32_t *>memory(columns, "present", b.room, 4)
    c.intent = <uint8_t *>memory(columns, "intent", b.room, 1)
    c.inside = <uint8_t *>memory(columns, "inside_unclosed_heredoc", b.room, 1)
    c.status = <uint8_t *>memory(columns, "status", b.room, 1)
    c.priority = <uint8_t *>memory(columns, "priority", b.room, 1)
    for text, name in enumerate(_spec.BULK_TEXTS):
        c.text_offset[text] = <int64_t *>memory(columns, f"{name}.offset", b.room, 8)
        c.text_length[text] = <int64_t *>memory(columns, f"{name}.length", b.room, 8)
        if c.text_offset[text] == NULL or c.text_length[text] == NULL:
            c.text_offset[text] = c.text_length[text] = NULL
    b.refused.offset = <int64_t *>memory(rejects, "offset", b.refusal_room, 8)
    b.refused.length = <int64_t *>memory(rejects, "length", b.refusal_room, 8)
    b.refused.line = <int64_t *>memory(rejects, "line", b.refusal_room, 8)
    b.refused.fault = <int64_t *>memory(rejects, "fault", b.refusal_room, 8)
    b.refused.reason = <uint8_t *>memory(rejects, "reason", b.refusal_room, 1)
    if not (b.refused.offset and b.refused.length and b.refused.line and b.refused.fault and b.refused.reason):
        raise ValueError("rejects need offset, length, line, fault and reason")
    return 0


cdef void choose_targets(Bulk *b) noexcept nogil:
    cdef Columns *c = &b.columns
    cdef int kind, text, count
    b.asked = 0
    for text in range(TEXTS):
        if c.text_offset[text] != NULL:
            b.texts[b.asked] = c.text_offset[text]
            b.texts[b.asked + 1] = c.text_length[text]
            b.asked += 2
    b.cleared = b.rows
    for kind in range(9):
        count = 0
        for text in range(TEXTS):
            if span_of[kind][text] != NO_SPAN:
                b.target[kind][count].span = span_of[kind][text]
                b.target[kind][count].bit = <uint32_t>1 << text
                b.target[kind][count].offset = c.text_offset[text]
                b.target[kind][count].length = c.text_length[text]
                count += 1
        b.targets[kind] = count


def scan_block(data, int64_t start, int64_t size, bint final, dict columns, int64_t rows, int64_t room, dict rejects,
               int64_t reject_rows, int64_t reject_room, *, int64_t base=0, int64_t line=1, keep=False,
               int64_t limit=_LIMITS.message, state=None):
    """Reads CSP/1 records from ``data[start:size]`` into columns, from row ``rows`` on.

    Args:
        data: bytes-like, under 2 GiB; ``final`` says that the input ends with ``data[:size]``.
        columns: name -> writable array with ``room`` rows: offset, length, line (i64), present (u32), intent, status,
            priority, inside_unclosed_heredoc (u8), and for each of ``spec.BULK_TEXTS`` ``name.offset`` and
            ``name.length`` (i64, a span of ``data``). Columns that are not there are not written.
        rejects: offset, length, line, fault (i64) and reason (u8) with ``reject_room`` rows.
        base: offset of ``data[0]`` in the input; line: line of ``data[start]``, from 1.
        keep: nothing; every wire has it. limit: bytes of a message.
        state: int64[4], zero at the start of an input and carried from call to call; None for a whole input.

    Returns (rows, reject rows, position, line): where to go on, and the line there. A position below ``size`` means
    that rows or rejects are full, or that more input is needed. Releases the GIL while it scans.
    """
    cdef Py_buffer text
    cdef Bulk b
    cdef int64_t most[3]
    cdef int64_t fresh[4]
    cdef int64_t[::1] carried
    cdef int outcome
    memset(fresh, 0, sizeof(fresh))
    take_limits((limit, _LIMITS.fields, _LIMITS.key), most)
    if state is not None:
        carried = state
        if carried.shape[0] < 4:
            raise ValueError("the state is four integers")
        fresh[1], fresh[2] = carried[1], carried[2]
    b.rows, b.room, b.refusals, b.refusal_room, b.base, b.line = rows, room, reject_rows, reject_room, base, line
    if not (0 <= rows <= room and 0 <= reject_rows <= reject_room):
        raise ValueError("rows and rejects must lie in their tables")
    take_columns(&b, columns, rejects)
    choose_targets(&b)
    PyObject_GetBuffer(data, &text, PyBUF_CONTIG_RO)
    try:
        check_size(size)
        if not 0 <= start <= size <= text.len:
            raise ValueError("start and size must lie in the data")
        with nogil:
            start_scanner(&b.scanner, <const uint8_t *>text.buf, start, size, final, most, fresh, find_masks)
            outcome = run_bulk(&b)
        if outcome == NO_MEMORY:
            raise MemoryError
        if state is not None:
            carried[1], carried[2] = b.scanner.tail, b.scanner.run
        return b.rows, b.refusals, b.scanner.place, line + b.scanner.number
    finally:
        PyBuffer_Release(&text)
