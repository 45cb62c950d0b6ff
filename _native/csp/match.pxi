# The matcher for the search of logs (log/search.h), which asks it without a call of Python. Included by csp/codec.pyx;
# the readable twin is log/search/csp.py.

cdef enum:
    UNSURE = 0  # the twin must say
    RECORD = 1
    REFUSED = 2
    TEXT = 3  # nothing begins here
    OPEN = 4  # more must be there to say so

cdef struct Matched:
    int what
    int reason
    int64_t stop, behind, fault
    int64_t run, inside  # of a heredoc that never closes, and behind its opening; of OPEN, one that may close yet; or 0
    bint tail
    int32_t row[24]


cdef int64_t own_lines(Scanner *s, Line *first, int64_t fault, int64_t *unclosed) noexcept nogil:
    """Behind the last line that can be the damaged message's own; -1: more must be there. ``unclosed``: the run of a heredoc in
    it that never closes, whose opening is that line."""
    cdef int64_t bound = first.start + s.most_bytes
    cdef int64_t end = first.start
    cdef int64_t run, closing
    cdef bint blank = False, block = False
    cdef int chomped
    cdef Line line
    cdef int found
    s.place = first.start
    while True:
        found = next_line(s, &line)
        if found == MORE:
            return -1
        if found == END or (line.next > bound and line.start > first.start):
            return end
        if line.start > first.start and ends(s, &line):
            return end
        if is_blank(s.data, &line):
            if block:
                return end
            blank = True
            continue
        if line.start > fault and not block and csp_header_like(s.data, line.start, line.stop, True):
            blank = False
        elif line.start > fault and not (is_block_head(s, &line) if blank and not block else is_own(s.data, &line)):
            return end
        block = block or blank
        run = csp_opening(s.data, line.start, line.stop, &chomped)
        if run:
            found = heredoc(s, run, bound, &closing)
            if found == MORE:
                return -1
            if found != OK:
                unclosed[0] = run
                return line.next
        end = s.place


cdef void match_fault(Scanner *s, Line *first, Matched *m) noexcept nogil:
    """Tells what a message with a fault is."""
    cdef int what = classify_magic_line(s, first)
    if what == CSP_UNDECIDED:
        m.what = OPEN
        return
    if what == CSP_IS_TEXT:
        m.what, m.behind, m.tail = TEXT, first.next, False
        return
    cdef int reason = s.fault.reason
    cdef int64_t fault = s.fault.offset
    if s.fault.run:
        m.run, m.stop = max(s.fault.run, 0), s.fault.resume
    else:
        m.stop = own_lines(s, first, fault, &m.run)
    if m.stop < 0:
        m.what, m.run = OPEN, s.fault.run
        return
    m.inside = m.stop
    m.what, m.reason, m.fault, m.tail = REFUSED, reason, fault, True
    if first.start < m.fault < m.stop and csp_opens_another(s.data, m.fault, s.end):
        m.stop, m.tail = m.fault, False  # what begins with that line is read by itself
    m.behind = m.stop


cdef void match_message(const uint8_t *data, int64_t at, int64_t end, int final, int64_t most_bytes, const csp_around *around,
                        Matched *m) noexcept nogil:
    """Tells what begins at the line at ``at``."""
    cdef Scanner s
    cdef Line first
    cdef int64_t limits[3]
    cdef int intent = 0, found
    m.what, m.run = UNSURE, 0
    limits[0], limits[1], limits[2] = most_bytes, _most_fields, _most_key
    memset(m.row, 0xFF, sizeof(m.row))
    start_scanner(&s, data, at, end, final, limits)
    s.log, s.around = True, around
    if next_line(&s, &first) == OK and is_magic(data, &first):
        found = read_message(&s, &first, m.row, &intent, &m.stop)
        if found == MORE:
            m.what, m.run = OPEN, s.fault.run
        elif found == BAD:
            match_fault(&s, &first, m)
        elif found == OK:
            m.behind, m.tail, m.reason = m.stop, True, R_BAD_UTF8
            m.fault = csp_bad_utf8(data, at, m.stop)
            m.what = RECORD if m.fault < 0 else REFUSED
            m.row[0], m.row[1], m.row[2], m.row[3] = <int32_t>at, <int32_t>(m.stop - at), 0, intent
    free(s.closings.lines)


# --- its own columns, which the search writes as it finds messages ---


cdef class OwnColumns:
    """The columns of CSP/1 itself for the rows of a search. pointer: a capsule with them, for ``store_pointer``."""

    cdef Columns c
    cdef readonly object pointer

    def __cinit__(self):
        memset(&self.c, 0, sizeof(self.c))
        self.pointer = PyCapsule_New(&self.c, "turnwire.csp_columns", NULL)

    def attach(self, dict columns, int64_t room):
        """Takes these arrays, which the caller keeps alive. ``own_present`` is ``present`` of CSP/1 itself."""
        cdef Columns *c = &self.c
        c.present = <uint32_t *>column(columns, "own_present", room, 4)
        c.intent = <uint8_t *>column(columns, "intent", room, 1)
        c.status = <uint8_t *>column(columns, "status", room, 1)
        c.priority = <uint8_t *>column(columns, "priority", room, 1)
        c.spans = <int32_t *>column(columns, "spans", room, 24 * sizeof(int32_t))


cdef void store_row(void *columns, const uint8_t *data, int32_t *row, int64_t at, int64_t shift) noexcept nogil:
    """Row ``at`` of these columns from a row that ``match_message`` or the fast path found; what it says of places in ``data``
    is moved by ``shift``. The row may be that of the column of spans."""
    cdef Columns *c = <Columns *>columns
    cdef int place
    store_own(c, data, row, at)
    if c.spans == NULL:
        return
    if row != c.spans + 24 * at:
        memcpy(c.spans + 24 * at, row, 24 * sizeof(int32_t))
    if shift:
        row = c.spans + 24 * at
        row[0] += <int32_t>shift
        for place in range(4, 24, 2):
            row[place] += <int32_t>shift if row[place + 1] >= 0 else 0


cdef int64_t _most_fields = _LIMITS.fields, _most_key = _LIMITS.key
match_pointer = PyCapsule_New(<void *>match_message, "turnwire.csp_match", NULL)
store_pointer = PyCapsule_New(<void *>store_row, "turnwire.csp_store", NULL)
