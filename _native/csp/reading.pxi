# Lines and heredocs. Included by csp/codec.pyx.


cdef enum:
    OK = 0
    END = 1
    MORE = 2
    BAD = 3  # a fault stands in the scanner
    FULL = 4
    NO_MEMORY = 5

cdef struct Line:
    int64_t start
    int64_t stop
    int64_t next
    int64_t number

cdef struct Closing:
    int64_t run
    int64_t start

cdef struct Fault:
    int reason
    int64_t offset
    int64_t line
    Line resume  # where the rest of the message goes on (start and number)
    int64_t run  # of a heredoc that never closes; -1: the message ends here

cdef struct Scanner:
    const uint8_t *data
    csp_lister lister
    int64_t end
    bint final
    int64_t most_bytes, most_fields, most_key
    # the cursor: start and number of the next line, and which line feed of the window ends it
    int64_t place, number
    int next
    csp_window window
    csp_reading reading
    # heredocs that were searched in vain: all lines that are only ">"
    Closing *closings
    int64_t closing_count
    int indexed
    bint log  # other lines are text, and extras are only counted
    # state of the stream
    bint tail
    int64_t run
    bint settled
    Fault fault
    # tables
    int32_t *rows
    int32_t *extras
    int32_t *rejects
    int64_t row_count, extra_count, reject_count, most_rows, most_extras, most_rejects


cdef inline void fill(Scanner *s, int64_t base) noexcept nogil:
    """The window from ``base`` on, where the next line begins or a line goes on."""
    csp_fill(&s.window, s.lister, s.data, base, s.end)
    s.next = 0


cdef void seek(Scanner *s, int64_t place, int64_t number) noexcept nogil:
    """Moves the cursor to the start of a line. It costs as much as the lines between here and there."""
    s.place = place
    s.number = number
    if not s.window.base <= place <= s.window.stop:
        fill(s, place)
        return
    place -= s.window.base
    while s.next > 0 and s.window.feeds[s.next - 1] >= place:
        s.next -= 1
    while s.next < s.window.count and s.window.feeds[s.next] < place:
        s.next += 1


cdef inline int64_t newline(Scanner *s) noexcept nogil:
    """The next newline, or -1."""
    while s.next >= s.window.count:
        if s.window.stop >= s.end:
            return -1
        fill(s, s.window.stop)
    s.next += 1
    return s.window.base + s.window.feeds[s.next - 1]


cdef inline int next_line(Scanner *s, Line *line) noexcept nogil:
    """OK and a line, END, or MORE where the line may go on behind the bytes at hand."""
    cdef int64_t found = newline(s)
    if found < 0:
        return last_line(s, line)
    line.start = s.place
    line.number = s.number
    line.next = found + 1
    line.stop = found
    if found > line.start and s.data[found - 1] == 13:
        line.stop = found - 1
    s.place = found + 1
    s.number += 1
    return OK


cdef int last_line(Scanner *s, Line *line) noexcept nogil:
    if not s.final:
        return MORE
    if s.place >= s.end:
        return END
    line.start = s.place
    line.number = s.number
    line.stop = line.next = s.end
    s.place = s.end
    return OK


cdef inline void back(Scanner *s, Line *line) noexcept nogil:
    """Gives a line back: the next line is this one again."""
    seek(s, line.start, line.number)


cdef inline int64_t number_behind(Scanner *s, Line *line) noexcept nogil:
    """Number of the line behind a line, which may be the last and have no newline."""
    return line.number + (1 if line.next > line.start and s.data[line.next - 1] == 10 else 0)


cdef inline bint is_blank(const uint8_t *data, Line *line) noexcept nogil:
    cdef int64_t at = line.start
    while at < line.stop:
        if data[at] != 32 and data[at] != 9:
            return False
        at += 1
    return True


cdef inline bint is_delimiter(const uint8_t *data, Line *line) noexcept nogil:
    if line.stop <= line.start:
        return False
    cdef uint8_t first = data[line.start]
    if first == c"C" or first == c"c" or first == 9 or first == 0xEF:
        return csp_looks_like_magic(data, line.start, line.stop)
    if first == c"`" or first == c"~":
        return tw_is_fence(data, line.start, line.stop)
    if first == 32:
        return csp_looks_like_magic(data, line.start, line.stop) or tw_is_fence(data, line.start, line.stop)
    return False


cdef inline bint is_magic(const uint8_t *data, Line *line) noexcept nogil:
    return line.stop - line.start == 5 and memcmp(data + line.start, b"CSP/1", 5) == 0


cdef int64_t template_head(const uint8_t *data, Line *line) noexcept nogil:
    """Length of ``CSP/1;`` or ``CSP/1 MODE;`` at the start of a line, or 0."""
    cdef int64_t size = line.stop - line.start
    if size >= 6 and memcmp(data + line.start, b"CSP/1;", 6) == 0:
        return 6
    if size >= 11 and memcmp(data + line.start, b"CSP/1 MODE;", 11) == 0:
        return 11
    return 0


cdef inline int64_t opening(const uint8_t *data, Line *line, bint *chomped) noexcept nogil:
    """The run of a heredoc's opening line, or 0."""
    cdef int64_t at = line.start
    if at >= line.stop or data[at] != c"<":
        return 0
    while at < line.stop and data[at] == c"<":
        at += 1
    cdef int64_t run = at - line.start
    chomped[0] = at + 1 == line.stop and data[at] == c"-"
    return run if run >= 3 and (at == line.stop or chomped[0]) else 0


# --- heredocs -------------------------------------------------------------------------------------------------------


cdef int64_t closing_end(Scanner *s, int64_t start, int64_t run, int64_t bound) noexcept nogil:
    """Offset behind the closing line at ``start``, which begins with ``run`` times ``>``; 0 if it does not close."""
    cdef int64_t stop = start + run
    cdef int64_t behind
    if stop < s.end and s.data[stop] == 10:
        behind = stop + 1
    elif stop + 1 < s.end and s.data[stop] == 13 and s.data[stop + 1] == 10:
        behind = stop + 2
    elif stop == s.end and s.final:
        behind = stop
    else:
        return 0
    return behind if behind <= bound else 0


cdef inline bint starts_run(const uint8_t *data, int64_t start, int64_t run, int64_t end) noexcept nogil:
    if start + run > end:
        return False
    cdef int64_t at
    for at in range(start, start + run):
        if data[at] != c">":
            return False
    return True


cdef int compare_closings(const void *left, const void *right) noexcept nogil:
    cdef const Closing *a = <const Closing *>left
    cdef const Closing *b = <const Closing *>right
    if a.run != b.run:
        return -1 if a.run < b.run else 1
    return -1 if a.start < b.start else (1 if a.start > b.start else 0)


cdef int index_closings(Scanner *s, int64_t place) noexcept nogil:
    """Lists every line from ``place`` on that is only ``>``: a failed search costs the whole rest, never pay it twice."""
    cdef int64_t at = place
    cdef int64_t stop, capacity = 0
    cdef Closing *grown
    cdef const uint8_t *found
    s.indexed = 1
    while at < s.end:
        stop = at
        while stop < s.end and s.data[stop] == c">":
            stop += 1
        if stop - at >= 3 and closing_end(s, at, stop - at, s.end):
            if s.closing_count == capacity:
                capacity = 2 * capacity + 256
                grown = <Closing *>realloc(s.closings, capacity * sizeof(Closing))
                if grown == NULL:
                    return NO_MEMORY
                s.closings = grown
            s.closings[s.closing_count].run = stop - at
            s.closings[s.closing_count].start = at
            s.closing_count += 1
        found = <const uint8_t *>memchr(s.data + stop, 10, s.end - stop)
        if found == NULL:
            break
        at = found - s.data + 1
    if s.closing_count > 1:  # with none there is no table either, and C wants a pointer
        qsort(s.closings, s.closing_count, sizeof(Closing), compare_closings)
    return OK


cdef int find_closing(Scanner *s, int64_t run, int64_t bound, int64_t *start) noexcept nogil:
    """Moves the cursor behind the closing line of the heredoc whose content begins at the cursor. END: there is none.

    ``start`` becomes the offset of the closing line.
    """
    cdef int64_t place = s.place
    cdef int64_t number = s.number
    cdef int64_t behind, found, low, high, middle
    if bound > s.end:
        bound = s.end
    if not s.indexed:
        while s.place < bound:
            if s.data[s.place] == c">" and starts_run(s.data, s.place, run, bound):
                behind = closing_end(s, s.place, run, bound)
                if behind:
                    start[0] = s.place
                    found = newline(s)
                    s.place = behind
                    s.number += 1 if found >= 0 else 0
                    return OK
            found = newline(s)
            if found < 0 or found >= bound:
                break
            s.place = found + 1
            s.number += 1
        seek(s, place, number)
        return NO_MEMORY if index_closings(s, place) == NO_MEMORY else END
    low, high = 0, s.closing_count
    while low < high:
        middle = (low + high) >> 1
        if s.closings[middle].run < run or (s.closings[middle].run == run and s.closings[middle].start < place):
            low = middle + 1
        else:
            high = middle
    if low == s.closing_count or s.closings[low].run != run:
        return END
    behind = closing_end(s, s.closings[low].start, run, bound)
    if not behind:
        return END
    start[0] = s.closings[low].start
    while s.place < behind:
        found = newline(s)
        if found < 0:
            s.place = s.end
            break
        s.place = found + 1
        s.number += 1
    return OK


cdef int heredoc(Scanner *s, int64_t run, int64_t bound, int64_t *start) noexcept nogil:
    """OK and behind the heredoc; MORE; or BAD with the reason in the fault, the cursor where the content begins."""
    cdef int found = find_closing(s, run, bound, start)
    if found != END:
        return found
    if bound < s.end:
        s.fault.reason = R_TOO_LARGE
    elif not s.final:
        return MORE
    else:
        s.fault.reason = R_UNCLOSED
    return BAD
