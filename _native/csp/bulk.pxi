# The bulk scan: records of a log as columns. Included by csp/codec.pyx; the rules are told in csp/_bulk_py.py.


cdef enum:
    TEXTS = 21
    SLOTS = 5
    AT_ONCE = 32  # rows that are read before their columns are written
    LINES = 9  # the span of a row's lines, in the place of what says of extras in other rows
    NO_SPAN = 255

cdef struct Columns:
    int64_t *offset
    int64_t *length
    int64_t *line
    uint32_t *present
    uint8_t *intent
    uint8_t *inside
    uint8_t *status
    uint8_t *priority
    int32_t *spans
    int64_t *text_offset[TEXTS]  # of the texts that are asked for one by one
    int64_t *text_length[TEXTS]
    int text[TEXTS]  # their numbers
    int texts  # how many these are

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

cdef uint8_t span_of[9][TEXTS]  # kind, text column -> span of the row; NO_SPAN where the kind has no such text
cdef uint32_t present_of[9][1 << SLOTS]  # kind, which slots it has -> which columns
cdef int STATUS_KIND, STATUS_AT, PRIORITY_KIND, PRIORITY_AT, PATCH_KIND
cdef uint8_t lines_behind[9]  # span whose line end the lines of a block follow; NO_SPAN for no lines


def _prepare_bulk():
    global STATUS_KIND, STATUS_AT, PRIORITY_KIND, PRIORITY_AT, PATCH_KIND
    cdef int kind, slot, there, place
    names = (*_spec.BULK_TEXTS, *_spec.BULK_ENUMS)
    if len(_spec.BULK_TEXTS) != TEXTS or list(_spec.BULK_ENUMS) != ["status", "priority"] or ROW != 24:
        raise ImportError("the columns of the bulk scan have changed")
    memset(span_of, NO_SPAN, sizeof(span_of))
    for kind, name in enumerate(_spec.BULK_KINDS):
        spans = _spec.BULK_SPANS[name]
        for slot, text in enumerate(spans):
            if text in _spec.BULK_TEXTS:
                span_of[kind][_spec.BULK_TEXTS.index(text)] = slot
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
    cdef uint64_t prefix = csp_word(s.data, line.start, s.end)
    cdef int size = csp_key_length(prefix, line.stop - line.start, s.data + line.start)
    cdef int word = word_at(csp_prefix(prefix, size)) if 0 < size <= 8 else NO_WORD
    return W_PLAN <= word <= W_MEM and word != W_FILE or word == W_FILEOP


cdef inline bint is_own(const uint8_t *data, Line *line) noexcept nogil:
    """True if a line looks like one of a message: a key, an operation, the opening of a heredoc."""
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
        if line.start > fault and not block and csp_header_like(s.data, line.start, line.stop):
            blank = False
        elif line.start > fault and not (is_block_head(s, &line) if blank and not block else is_own(s.data, &line)):
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


cdef inline void store_own(Columns *c, const uint8_t *data, int32_t *row, int64_t at) noexcept nogil:
    """What a message says into row ``at`` of the columns that are asked for, spans apart: these are completed in ``row``."""
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
    if c.inside != NULL:
        c.inside[at] = row[3] >> 8 & 1
    for span in range(c.texts):
        there = span_of[kind][c.text[span]]
        length = -1 if there == NO_SPAN else row[5 + 2 * there]
        c.text_offset[span][at] = 0 if length < 0 else row[4 + 2 * there]
        c.text_length[span][at] = 0 if length < 0 else length


cdef inline void store(Bulk *b, int32_t *row) noexcept nogil:
    """One row into the columns that are asked for; its spans are where they belong already."""
    cdef Columns *c = &b.columns
    cdef int64_t at = b.rows
    store_own(c, b.scanner.data, row, at)
    if c.offset != NULL:
        c.offset[at] = b.base + row[0]
    if c.length != NULL:
        c.length[at] = row[1]
    if c.line != NULL:
        c.line[at] = b.line + row[2]
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
    cdef int32_t spare[24 * AT_ONCE]
    cdef int32_t *rows = spare
    cdef int32_t found[6]
    cdef int outcome = OK
    cdef int64_t count, row
    s.rejects, s.extras = found, NULL
    s.log = s.reading.log = True
    while s.place < s.end and b.rows < b.room and b.refusals < b.refusal_room:
        if b.columns.spans != NULL:
            rows = b.columns.spans + 24 * b.rows
        count = fast_messages(s, rows, min(b.room - b.rows, <int64_t>AT_ONCE))
        for row in range(count):
            store(b, rows + 24 * row)
        if count:
            continue
        s.row_count = s.reject_count = s.extra_count = 0
        s.rows = rows
        outcome = step(s)
        if outcome != OK:
            break
        if s.row_count:
            store(b, rows)
        elif s.reject_count:
            refuse(b, found)
    free(s.closings)
    s.closings = NULL
    return NO_MEMORY if outcome == NO_MEMORY else OK


cdef void *memory(dict columns, object name, int64_t room, int64_t width) except? NULL:
    """The memory of a column, or NULL where it is not asked for. The caller's dict keeps it alive."""
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


cdef int take_own(Columns *c, dict columns, int64_t room) except -1:
    c.intent = <uint8_t *>memory(columns, "intent", room, 1)
    c.status = <uint8_t *>memory(columns, "status", room, 1)
    c.priority = <uint8_t *>memory(columns, "priority", room, 1)
    c.spans = <int32_t *>memory(columns, "spans", room, 24 * sizeof(int32_t))
    c.texts = 0
    for number, name in enumerate(_spec.BULK_TEXTS):
        if f"{name}.offset" in columns:
            c.text[c.texts] = number
            c.text_offset[c.texts] = <int64_t *>memory(columns, f"{name}.offset", room, 8)
            c.text_length[c.texts] = <int64_t *>memory(columns, f"{name}.length", room, 8)
            if c.text_length[c.texts] == NULL:
                raise ValueError(f"the text {name} needs its lengths, too")
            c.texts += 1
    return 0


cdef int take_columns(Bulk *b, dict columns, dict rejects) except -1:
    cdef Columns *c = &b.columns
    c.offset = <int64_t *>memory(columns, "offset", b.room, 8)
    c.length = <int64_t *>memory(columns, "length", b.room, 8)
    c.line = <int64_t *>memory(columns, "line", b.room, 8)
    c.present = <uint32_t *>memory(columns, "present", b.room, 4)
    c.inside = <uint8_t *>memory(columns, "inside_unclosed_heredoc", b.room, 1)
    take_own(c, columns, b.room)
    b.refused.offset = <int64_t *>memory(rejects, "offset", b.refusal_room, 8)
    b.refused.length = <int64_t *>memory(rejects, "length", b.refusal_room, 8)
    b.refused.line = <int64_t *>memory(rejects, "line", b.refusal_room, 8)
    b.refused.fault = <int64_t *>memory(rejects, "fault", b.refusal_room, 8)
    b.refused.reason = <uint8_t *>memory(rejects, "reason", b.refusal_room, 1)
    if not (b.refused.offset and b.refused.length and b.refused.line and b.refused.fault and b.refused.reason):
        raise ValueError("rejects need offset, length, line, fault and reason")
    return 0


def scan_block(data, int64_t start, int64_t size, bint final, dict columns, int64_t rows, int64_t room, dict rejects,
               int64_t reject_rows, int64_t reject_room, *, int64_t base=0, int64_t line=1, keep=False,
               int64_t limit=_LIMITS.message, state=None):
    """Reads CSP/1 records from ``data[start:size]`` into columns, from row ``rows`` on.

    Args:
        data: bytes-like, under 2 GiB; ``final`` says that the input ends with ``data[:size]``.
        columns: name -> writable array with ``room`` rows: offset, length, line (i64), present (u32), intent, status,
            priority, inside_unclosed_heredoc (u8), and spans (96 bytes), in which the texts are: ``text_spans`` tells
            them. Of single texts ``<name>.offset`` and ``<name>.length`` (i64; 0 and 0 where there is none). Columns
            that are not there are not written.
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
        fresh[1], fresh[2], fresh[3] = carried[1], carried[2], carried[3]
    b.rows, b.room, b.refusals, b.refusal_room, b.base, b.line = rows, room, reject_rows, reject_room, base, line
    if not (0 <= rows <= room and 0 <= reject_rows <= reject_room):
        raise ValueError("rows and rejects must lie in their tables")
    take_columns(&b, columns, rejects)
    PyObject_GetBuffer(data, &text, PyBUF_CONTIG_RO)
    try:
        check_size(size)
        if not 0 <= start <= size <= text.len:
            raise ValueError("start and size must lie in the data")
        with nogil:
            start_scanner(&b.scanner, <const uint8_t *>text.buf, start, size, final, most, fresh, find_lines)
            outcome = run_bulk(&b)
        if outcome == NO_MEMORY:
            raise MemoryError
        if state is not None:
            carried[1], carried[2], carried[3] = b.scanner.tail, b.scanner.run, b.scanner.settled
        return b.rows, b.refusals, b.scanner.place, line + b.scanner.number
    finally:
        PyBuffer_Release(&text)


def text_spans(rows, int64_t count, int text, int64_t[::1] offsets, int64_t[::1] lengths):
    """The place of a text of each record: the spans of ``spec.BULK_TEXTS[text]`` in ``data``, (0, 0) where it is absent.

    rows: ``count`` rows of the column spans that ``scan_block`` filled. offsets, lengths: int64[count], written.
    """
    cdef Py_buffer view
    cdef const int32_t *row
    cdef int64_t at
    cdef int place[16]  # kind -> the number of a row where the span is
    cdef int has[16]  # kind -> all bits where it has one: no branches, as kinds come in any order
    cdef int kind, there
    if not 0 <= text < TEXTS:
        raise ValueError(f"there are {TEXTS} texts")
    for kind in range(16):
        has[kind] = -(kind < 9 and span_of[kind][text] != NO_SPAN)
        place[kind] = 4 + 2 * span_of[kind][text] if has[kind] else 4
    PyObject_GetBuffer(rows, &view, PyBUF_CONTIG_RO)
    try:
        if view.len < 24 * <int64_t>sizeof(int32_t) * count or offsets.shape[0] < count or lengths.shape[0] < count:
            raise ValueError("there are fewer rows than that")
        row = <const int32_t *>view.buf
        with nogil:
            for at in range(count):
                kind = row[3] & 0xF
                there = ~(row[place[kind] + 1] >> 31) & has[kind]
                offsets[at] = row[place[kind]] & there
                lengths[at] = row[place[kind] + 1] & there
                row += 24
    finally:
        PyBuffer_Release(&view)
