# The stream of records, and what both twins offer. Included by csp/codec.pyx.


cdef void unclosed(Scanner *s, int64_t run) noexcept nogil:
    s.run = run if s.run == 0 or s.run == run else -1


cdef int32_t *new_row(Scanner *s) noexcept nogil:
    cdef int32_t *row = s.rows + 24 * s.row_count
    memset(row, 0xFF, 24 * sizeof(int32_t))
    row[22] = <int32_t>s.extra_count
    row[23] = 0
    return row


cdef inline void finish_row(Scanner *s, int32_t *row, int64_t start, int64_t stop, int64_t number, int code) noexcept nogil:
    row[0] = <int32_t>start
    row[1] = <int32_t>(stop - start)
    row[2] = <int32_t>number
    row[3] = code | INSIDE if s.run else code
    s.row_count += 1


cdef void reject(
    Scanner *s, int reason, int64_t start, int64_t stop, int64_t number, int64_t offset, int64_t line
) noexcept nogil:
    cdef int32_t *row = s.rejects + 6 * s.reject_count
    row[0] = <int32_t>start
    row[1] = <int32_t>(stop - start)
    row[2] = <int32_t>number
    row[3] = reason
    row[4] = <int32_t>offset
    row[5] = <int32_t>line
    s.reject_count += 1


cdef bint reject_bad_utf8(Scanner *s, Line *first, int64_t stop) noexcept nogil:
    """Rejects ``first.start`` to ``stop`` if it is not UTF-8."""
    if not csp_may_be_high(&s.window, first.start, stop):
        return False
    cdef int64_t bad = csp_bad_utf8(s.data, first.start, stop)
    if bad < 0:
        return False
    cdef int64_t line = first.number
    cdef int64_t at
    for at in range(first.start, bad):
        line += s.data[at] == 10
    reject(s, R_BAD_UTF8, first.start, stop, first.number, bad, line)
    return True


cdef int message(Scanner *s, Line *first) noexcept nogil:
    cdef int32_t *row = new_row(s)
    cdef int64_t extras = s.extra_count
    cdef int64_t stop = 0
    cdef int intent = 0
    cdef int found = read_message(s, first, row, &intent, &stop)
    if found == OK:
        s.tail = True
        if reject_bad_utf8(s, first, stop):
            s.extra_count = extras
        else:
            finish_row(s, row, first.start, stop, first.number, intent)
        return OK
    s.extra_count = extras
    if found == BAD and s.log:
        found = survey(s, first, CSP_EXACT)
        if found == CSP_UNDECIDED:
            return MORE
        if found == CSP_IS_TEXT:
            return no_message(s, first)
        found = BAD
    return recover(s, first) if found == BAD else found


cdef int recover(Scanner *s, Line *first) noexcept nogil:
    """Rejects a message from its first line to its end, which is found with respect for heredocs."""
    cdef Fault fault = s.fault
    cdef int found
    s.tail = True
    seek(s, fault.resume.start, fault.resume.number)
    if fault.run > 0:
        unclosed(s, fault.run)
    elif fault.run == 0:
        found = to_end(s, first)
        if found != OK:
            return found
        if s.log:
            reject(s, fault.reason, first.start, reach(s, first, fault.offset), first.number, fault.offset, fault.line)
            return OK
    reject(s, fault.reason, first.start, s.place, first.number, fault.offset, fault.line)
    return OK


cdef int to_end(Scanner *s, Line *first) noexcept nogil:
    """Moves the cursor to the end of a rejected message."""
    cdef int64_t bound = first.start + s.most_bytes
    cdef int64_t run, closing
    cdef Line line
    cdef int found
    cdef bint chomped
    while True:
        found = next_line(s, &line)
        if found == MORE:
            return MORE
        if found == END:
            return OK
        if line.start > first.start and (line.next > bound or is_delimiter(s.data, &line)):
            back(s, &line)
            return OK
        run = opening(s.data, &line, &chomped)
        if run:
            found = heredoc(s, run, bound, &closing)
            if found == BAD:
                unclosed(s, run)
                return OK
            if found != OK:
                return found


cdef int trailing(Scanner *s, Line *line) noexcept nogil:
    cdef int64_t closing
    cdef bint chomped
    cdef int64_t run = opening(s.data, line, &chomped)
    cdef int found
    if run:
        found = heredoc(s, run, line.start + s.most_bytes, &closing)
        if found == BAD:
            unclosed(s, run)
        elif found != OK:
            return found
    if not s.log:
        reject(s, R_TRAILING_TEXT, line.start, s.place, line.number, line.start, line.number)
    return OK


cdef int template(Scanner *s, Line *first) noexcept nogil:
    cdef int32_t *row = new_row(s)
    cdef int64_t head = template_head(s.data, first)
    cdef Line line
    cdef int found
    if s.log and not csp_are_flags(s.data, first.start + head, first.stop):
        return nearly(s, first)
    s.tail = False
    while True:
        found = next_line(s, &line)
        if found == MORE:
            return MORE
        if found == END:
            break
        if is_blank(s.data, &line) or is_delimiter(s.data, &line):
            back(s, &line)
            break
    found = survey(s, first, CSP_TEMPLATE)
    if found == CSP_UNDECIDED:
        return MORE
    if found == CSP_IS_LOOK_ALIKE:
        reject(s, R_LOOK_ALIKE, first.start, s.place, first.number, first.start, first.number)
        return OK
    if reject_bad_utf8(s, first, s.place):
        return OK
    row[12] = <int32_t>(first.start + head)
    row[13] = <int32_t>(first.stop - first.start - head)
    finish_row(s, row, first.start, s.place, first.number, TEMPLATE)
    return OK


cdef inline bint is_laws(const uint8_t *data, Line *line) noexcept nogil:
    return line.stop - line.start == 4 and memcmp(data + line.start, b"LAWS", 4) == 0


cdef bint is_preamble_line(const uint8_t *data, Line *line, bint laws) noexcept nogil:
    cdef int64_t at = line.start
    cdef int64_t stop = line.stop
    if is_laws(data, line):
        return True
    if stop - at >= 7 and memcmp(data + at, b"DEF ", 4) == 0:
        at += 4
        if not (c"A" <= data[at] <= c"Z" or data[at] == c"_"):
            return False
        while at < stop and (c"A" <= data[at] <= c"Z" or c"0" <= data[at] <= c"9" or data[at] == c"_"):
            at += 1
        return stop - at >= 2 and data[at] == 32 and data[at + 1] == c"=" and (stop - at == 2 or data[at + 2] == 32)
    if not laws or stop - at < 5 or memcmp(data + at, b"- L", 3) != 0:
        return False
    at += 3
    if not c"0" <= data[at] <= c"9":
        return False
    while at < stop and c"0" <= data[at] <= c"9":
        at += 1
    return at < stop and data[at] == c":" and (stop - at == 1 or data[at + 1] == 32)


cdef int preamble(Scanner *s, Line *first) noexcept nogil:
    cdef int32_t *row = new_row(s)
    cdef bint laws = is_laws(s.data, first)
    cdef int64_t stop = first.next
    cdef int64_t number = number_behind(s, first)
    cdef Line line
    cdef int found
    while True:
        found = next_line(s, &line)
        if found == MORE:
            return MORE
        if found == END:
            break
        if is_blank(s.data, &line):
            continue
        if is_delimiter(s.data, &line) or not is_preamble_line(s.data, &line, laws):
            break
        laws = is_laws(s.data, &line) or (laws and s.data[line.start] == c"-")
        stop = line.next
        number = number_behind(s, &line)
    seek(s, stop, number)
    if not reject_bad_utf8(s, first, stop):
        finish_row(s, row, first.start, stop, first.number, PREAMBLE)
    return OK


cdef int item(Scanner *s) noexcept nogil:
    """One item at the start of a line; moves the cursor behind it."""
    cdef Line line
    cdef int found = next_line(s, &line)
    if found != OK:
        return found
    if is_magic(s.data, &line):
        s.settled = True
        return message(s, &line)
    if is_blank(s.data, &line):
        return OK
    if is_delimiter(s.data, &line):
        s.settled = True
        if tw_is_fence(s.data, line.start, line.stop):
            s.tail = False
            if not s.log:
                finish_row(s, new_row(s), line.start, line.next, line.number, FENCE)
            return OK
        if template_head(s.data, &line):
            return template(s, &line)
        return nearly(s, &line)
    if s.tail:
        return trailing(s, &line)
    if s.log:
        return OK
    if is_preamble_line(s.data, &line, False):
        return preamble(s, &line)
    reject(s, R_JUNK, line.start, line.next, line.number, line.start, line.number)
    return OK


cdef bint swallowed_end(Scanner *s, int64_t start, int64_t stop, int64_t run) noexcept nogil:
    """Whether a line of ``data[start:stop]`` closes the heredoc that was found unclosed."""
    cdef const uint8_t *found
    cdef int64_t behind
    while start < stop:
        if s.data[start] == c">" and starts_run(s.data, start, run, stop):
            behind = start + run
            if (
                (behind < stop and s.data[behind] == 10)
                or (behind + 1 < stop and s.data[behind] == 13 and s.data[behind + 1] == 10)
                or (behind == s.end and s.final)
            ):
                return True
        found = <const uint8_t *>memchr(s.data + start, 10, stop - start)
        if found == NULL:
            return False
        start = found - s.data + 1
    return False


cdef inline int step(Scanner *s) noexcept nogil:
    """One item; what is not OK has changed nothing."""
    cdef int64_t place = s.place
    cdef int64_t number = s.number
    cdef int64_t run = s.run
    cdef bint tail = s.tail
    cdef bint settled = s.settled
    cdef int64_t extras = s.extra_count
    cdef int64_t rows = s.row_count
    cdef int64_t rejects = s.reject_count
    cdef int found = item(s)
    if found != OK:
        s.row_count, s.extra_count, s.reject_count = rows, extras, rejects
        s.place, s.number, s.run, s.tail, s.settled = place, number, run, tail, settled
    elif run > 0 and s.run == run and swallowed_end(s, place, s.place, run):
        s.run = 0
    return found


cdef int run_scanner(Scanner *s) noexcept nogil:
    """Scans until the bytes or the tables are used up, ``s.place`` behind what was consumed. OK or NO_MEMORY."""
    cdef int found = OK
    cdef int64_t count
    while s.place < s.end and s.row_count < s.most_rows and s.reject_count < s.most_rejects:
        count = fast_messages(s, s.rows + 24 * s.row_count, s.most_rows - s.row_count)
        if count:
            number_extras(s, count)
            continue
        found = step(s)
        if found != OK:
            break
    free(s.closings)
    s.closings = NULL
    return NO_MEMORY if found == NO_MEMORY else OK


cdef void start_scanner(
    Scanner *s, const uint8_t *data, int64_t start, int64_t stop, bint final, int64_t *limits, int64_t *state,
    csp_lister lister
) noexcept nogil:
    s.data = data
    s.lister = lister
    s.end = stop
    s.final = final
    s.most_bytes, s.most_fields, s.most_key = limits[0], limits[1], limits[2]
    s.log = s.reading.log = False
    s.reading.keys, s.reading.data = &keys, data
    s.reading.most_bytes, s.reading.most_fields, s.reading.most_key = limits[0], limits[1], limits[2]
    s.closings = NULL
    s.closing_count = 0
    s.indexed = 0
    s.tail = state[1] != 0
    s.run = state[2]
    s.settled = state[3] != 0
    s.row_count = s.extra_count = s.reject_count = 0
    s.place = start
    s.number = 0
    fill(s, start)


# --- what both twins offer ------------------------------------------------------------------------------------------

NO_LIMIT = (1 << 62, 1 << 62, 1 << 62)
cdef int64_t MOST = 1 << 31


cdef int take_limits(tuple limits, int64_t *into) except -1:
    cdef int i
    for i in range(3):
        into[i] = min(<int64_t>limits[i], <int64_t>1 << 62)
    return 0


cdef list rows_of(int32_t *table, int64_t count, int width, int64_t line, int64_t extra, int first_line, int second_line):
    """Tuples of a table; ``line`` is added to the line columns, ``extra`` to the column of the first extra."""
    cdef list result = []
    cdef int64_t i
    cdef int j
    cdef int64_t value
    for i in range(count):
        row = []
        for j in range(width):
            value = table[i * width + j]
            if j == first_line or j == second_line:
                value += line
            elif j == 22:
                value += extra
            row.append(value)
        result.append(tuple(row))
    return result


def tables(bytes data not None, tuple limits=NO_LIMIT, str wanted="all"):
    """(rows, extras, rejects) of a whole buffer, as lists of tuples; see ``turnwire.csp.spec`` for the columns.

    ``limits``: bytes of a message, fields of a generic block, bytes of a key. wanted: "all" rejects, "first": up to the
    first one, what stands behind it is not read, "none" of them. Raises ValueError for 2 GiB or more.
    """
    return all_tables(data, limits, find_lines, wanted)


def tables_at(int level, bytes data not None, tuple limits=NO_LIMIT):
    """``tables`` with the lines listed at a level: 0 plain C, 1 AVX2 where the machine has it."""
    return all_tables(data, limits, csp_lister_of(level), "all")


cdef tuple all_tables(bytes data, tuple limits, csp_lister lister, str wanted):
    cdef bint first = wanted == "first"
    cdef bint none = wanted == "none"
    cdef int64_t size = len(data)
    cdef const uint8_t *text = data
    cdef int64_t most[3]
    cdef int64_t state[4]
    cdef Scanner scanner
    cdef int64_t capacity = 8
    cdef int64_t place = 0
    cdef int64_t line = 0
    cdef int32_t *memory = NULL
    cdef int32_t small[8 * (24 + 4 * 5 + 6)]
    cdef int32_t *table
    cdef int outcome
    check_size(size)
    take_limits(limits, most)
    memset(state, 0, sizeof(state))
    rows, extras, rejects = [], [], []
    try:
        while place < size:
            table = small
            if capacity > 8:
                free(memory)
                memory = <int32_t *>malloc(capacity * (24 + 4 * 5 + 6) * sizeof(int32_t))
                if memory == NULL:
                    raise MemoryError
                table = memory
            with nogil:
                start_scanner(&scanner, text, place, size, True, most, state, lister)
                scanner.rows = table
                scanner.extras = table + 24 * capacity
                scanner.rejects = table + (24 + 20) * capacity
                scanner.most_rows, scanner.most_extras, scanner.most_rejects = capacity, 4 * capacity, capacity
                outcome = run_scanner(&scanner)
            if outcome == NO_MEMORY:
                raise MemoryError
            rows += rows_of(scanner.rows, scanner.row_count, 24, line, len(extras), 2, -1)
            extras += rows_of(scanner.extras, scanner.extra_count, 5, 0, 0, -1, -1)
            if not none:
                rejects += rows_of(scanner.rejects, scanner.reject_count, 6, line, 0, 2, 5)
            place = scanner.place
            line += scanner.number
            state[1] = scanner.tail
            state[2] = scanner.run
            if first and rejects:
                break
            PyErr_CheckSignals()
            capacity = min(capacity * 2, 1 << 14)  # between two calls Ctrl-C is heard
    finally:
        free(memory)
    if first and rejects:
        del rejects[1:]
        rows = [row for row in rows if row[0] < rejects[0][0]]
    return rows, extras, rejects


cdef int check_size(int64_t size) except -1:
    if size >= MOST:
        raise ValueError("a buffer of 2 GiB or more cannot be scanned at once: spans are 32 bits wide")
    return 0


cdef int take_table(object table, Py_buffer *view, int64_t width) except -1:
    PyObject_GetBuffer(table, view, PyBUF_CONTIG | PyBUF_FORMAT)
    if view.ndim != 2 or view.itemsize != 4 or view.shape[1] != width or view.format[0] not in (c"i", c"l"):
        PyBuffer_Release(view)
        raise ValueError(f"a table of int32 with {width} columns is needed")
    return 0


def scan_into(data, int64_t start, int64_t stop, bint final, tuple limits, int64_t[::1] state, rows, extras, rejects):
    """Fills C-contiguous int32 tables from ``data[start:stop]``; returns (consumed, rows, extras, rejects used).

    ``data``: contiguous bytes-like, under 2 GiB. ``consumed`` is the offset of the first byte that was not: what
    stands there may go on behind ``stop`` (never when ``final``) or found a table full. ``state``: int64[4], zero at
    the start of a stream and carried from call to call. Lines are counted from ``start``; state[0] is the number of
    lines before it and moves on. Offsets are offsets into ``data``. Releases the GIL while it scans.
    """
    cdef Py_buffer text
    cdef Py_buffer views[3]
    cdef int64_t most[3]
    cdef Scanner scanner
    cdef int taken = 0
    cdef int outcome
    cdef int i
    take_limits(limits, most)
    if state.shape[0] < 4:
        raise ValueError("the state is four integers")
    PyObject_GetBuffer(data, &text, PyBUF_CONTIG_RO)
    try:
        check_size(text.len)
        if not 0 <= start <= stop <= text.len:
            raise ValueError("start and stop lie outside the data")
        for table, width in ((rows, ROW), (extras, EXTRA), (rejects, REJECT)):
            take_table(table, &views[taken], width)
            taken += 1
        with nogil:
            start_scanner(&scanner, <const uint8_t *>text.buf, start, stop, final, most, &state[0], find_lines)
            scanner.rows = <int32_t *>views[0].buf
            scanner.extras = <int32_t *>views[1].buf
            scanner.rejects = <int32_t *>views[2].buf
            scanner.most_rows, scanner.most_extras = views[0].shape[0], views[1].shape[0]
            scanner.most_rejects = views[2].shape[0]
            outcome = run_scanner(&scanner)
        if outcome == NO_MEMORY:
            raise MemoryError
        state[0] += scanner.number
        state[1] = scanner.tail
        state[2] = scanner.run
        return scanner.place, scanner.row_count, scanner.extra_count, scanner.reject_count
    finally:
        for i in range(taken):
            PyBuffer_Release(&views[i])
        PyBuffer_Release(&text)
