# Scans bytes for records of CSP/1 and fills tables of rows, extras and rejects. From the bottom up: lines, heredocs, messages, the
# stream of records. Included by csp/codec.pyx. The grammar is in csp/_scanner_py.py and csp/reader.py; turnwire.csp.spec.ROW_WIDTH
# says what the numbers of a row, an extra and a reject are.

# What functions return that read on.

cdef enum:
    OK = 0
    END = 1  # there is nothing more: no line, no closing, no further line of the block
    MORE = 2  # it depends on bytes that have not come
    BAD = 3  # the message is to be rejected; scanner.fault says why
    FULL = 4  # the table of extras is full

cdef struct Line:
    int64_t start
    int64_t stop  # without its line feed and the carriage return before that
    int64_t next  # where the next line starts
    int64_t number  # from 0 on

cdef struct Fault:
    int reason
    int64_t offset
    int64_t line
    Line resume  # where the search for the end of the message begins (only start and number count)
    int64_t run  # 0, or the run of a heredoc that never closes; -1: no search, the message ends at resume

cdef struct Scanner:
    const uint8_t *data
    csp_lister lister
    int64_t end
    bint final  # nothing follows behind ``end``
    int64_t most_bytes, most_fields, most_key  # limits: of a message, of its fields, of a key
    int64_t look  # bytes of the next window, where one message alone is read; 0: as many as there is room for
    # the cursor: start and number of the next line, and which line feed of the window ends it
    int64_t place, number
    int next
    csp_window window
    csp_reading reading
    csp_closings closings  # where what stands around the message knows none
    bint log  # extras are only counted
    const csp_around *around  # what stands around the message and so says where it ends: ``own``, or in a search of logs its own
    csp_around own  # the fence that is open
    # state of the stream
    bint tail  # text here trails a message
    int64_t run  # of the heredoc that never closed; 0: there is none, -1: several of different runs
    Fault fault
    # tables
    int32_t *rows
    int32_t *extras
    int32_t *rejects
    int64_t row_count, extra_count, reject_count, most_rows, most_extras, most_rejects


cdef inline void fill(Scanner *s, int64_t base) noexcept nogil:
    """Fills the window from ``base`` on, where a line begins or goes on."""
    cdef int64_t stop = s.end
    if s.look and s.look < stop - base:
        stop = base + s.look
        s.look *= 4
    csp_fill(&s.window, s.lister, s.data, base, stop, stop, 0)
    s.next = 0


cdef void seek(Scanner *s, int64_t place, int64_t number) noexcept nogil:
    """Moves the cursor to the start of a line, in time linear in the lines passed over."""
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
    """The offset of the next line feed, which is then behind the cursor; or -1."""
    while s.next >= s.window.count:
        if s.window.stop >= s.end:
            return -1
        fill(s, s.window.stop)
    s.next += 1
    return s.window.base + s.window.feeds[s.next - 1]


cdef inline int next_line(Scanner *s, Line *line) noexcept nogil:
    """Reads the next line: OK, END, or MORE where it may go on behind the bytes at hand."""
    cdef int64_t found = newline(s)
    if found < 0:
        return last_line(s, line)
    line.start = s.place
    line.number = s.number
    line.stop = found - 1 if found > s.place and s.data[found - 1] == 13 else found
    line.next = s.place = found + 1
    s.number += 1
    return OK


cdef int last_line(Scanner *s, Line *line) noexcept nogil:
    """Reads the last line, which has no line feed: OK, END with an empty one where nothing is left, MORE where bytes may follow."""
    if not s.final:
        return MORE
    line.start = s.place
    line.number = s.number
    line.stop = line.next = s.place = s.end
    return END if line.start >= s.end else OK


cdef inline void back(Scanner *s, Line *line) noexcept nogil:
    """Moves the cursor back to the start of a line that was read."""
    seek(s, line.start, line.number)


cdef inline int64_t number_behind(Scanner *s, Line *line) noexcept nogil:
    """The number of the next line; that of this one if it has no line feed."""
    return line.number + (1 if line.next > line.start and s.data[line.next - 1] == 10 else 0)


cdef inline bint is_blank(const uint8_t *data, Line *line) noexcept nogil:
    """True if a line has nothing but spaces and tabs."""
    cdef int64_t at = line.start
    while at < line.stop:
        if data[at] != 32 and data[at] != 9:
            return False
        at += 1
    return True


cdef inline bint is_delimiter(const uint8_t *data, Line *line) noexcept nogil:
    """True if a line says CSP/1 or nearly that, or is a code fence."""
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


cdef inline int word_of(Scanner *s, Line *line, int *size) noexcept nogil:
    """The word that a line begins with, and its size: NO_WORD for all but those of the specification."""
    cdef uint64_t start = csp_word(s.data, line.start, s.end)
    size[0] = csp_key_length(start, line.stop - line.start, s.data + line.start)
    return word_at(csp_prefix(start, size[0])) if 0 < size[0] <= 8 else NO_WORD


cdef inline bint ends(Scanner *s, Line *line) noexcept nogil:
    """True if a line (outside a heredoc) ends the message before it."""
    return csp_ends_in_log(s.around, s.data, line.start, line.stop)


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


# --- heredocs -------------------------------------------------------------------------------------------------------


cdef int64_t closing_end(Scanner *s, int64_t start, int64_t run, int64_t bound) noexcept nogil:
    """The offset behind the line at ``start``, which begins with ``run`` times ``>``; 0 if it has more or goes over ``bound``,
    and so closes nothing."""
    cdef int64_t behind = start + run
    if behind + 1 < s.end and s.data[behind] == 13 and s.data[behind + 1] == 10:
        behind += 1
    if behind < s.end and s.data[behind] == 10:
        behind += 1
    elif behind != s.end or not s.final:
        return 0
    return behind if behind <= bound else 0


cdef int find_closing(Scanner *s, int64_t run, int64_t bound, int64_t *start) noexcept nogil:
    """Moves the cursor behind the closing line of the heredoc whose content begins at the cursor. END: there is none.

    ``start`` becomes the offset of the closing line.
    """
    cdef bint own = s.around.closings == NULL
    cdef int64_t end = s.end if own else <int64_t>s.around.end
    cdef int64_t feed, behind = 0
    start[0] = csp_next_closing(&s.closings if own else s.around.closings, s.data, s.place, run, end)
    if start[0] < end:
        behind = closing_end(s, start[0], run, min(bound, s.end))
    if not behind:
        return END
    while s.place < behind:
        feed = newline(s)
        if feed < 0:
            s.place = s.end
            break
        s.place = feed + 1
        s.number += 1
    return OK


cdef int heredoc(Scanner *s, int64_t run, int64_t bound, int64_t *start) noexcept nogil:
    """Moves the cursor behind the heredoc whose content begins at it. MORE or BAD: the cursor stays, and BAD puts the reason into
    the fault."""
    cdef int found = find_closing(s, run, bound, start)
    if found != END:
        return found
    if bound < s.end:
        s.fault.reason = R_TOO_LARGE
    elif not s.final:
        s.fault.run = run
        return MORE
    else:
        s.fault.reason = R_UNCLOSED
    return BAD


# --- lines that say CSP/1, or nearly: the rules are in csp/_lines_py.py -----------------------------------------------


cdef inline int classify_magic_line(Scanner *s, Line *first, int kind) noexcept nogil:
    return csp_classify_magic_line(s.data, first.start, s.end, s.final, kind)


cdef int nearly(Scanner *s, Line *first) noexcept nogil:
    """Rejects a message whose first line only nearly says CSP/1."""
    cdef int what = classify_magic_line(s, first, CSP_NEAR)
    if what == CSP_UNDECIDED:
        return MORE
    if csp_has_title(s.data, first.start, first.stop):
        what = CSP_IS_LOOK_ALIKE
    blame(s, R_LOOK_ALIKE if what == CSP_IS_LOOK_ALIKE else R_BAD_MAGIC, first, first)
    s.fault.resume.start = first.next
    s.fault.resume.number = number_behind(s, first)
    return recover(s, first)


# --- messages ---------------------------------------------------------------------------------------------------------


cdef inline int blame(Scanner *s, int reason, Line *at, Line *resume) noexcept nogil:
    """BAD, with the fault at this line; the search for the end of the message begins at ``resume``."""
    s.fault.reason = reason
    s.fault.offset = at.start
    s.fault.line = at.number
    s.fault.resume = resume[0]
    s.fault.run = 0
    return BAD


cdef int too_large(Scanner *s, Line *first, Line *line) noexcept nogil:
    """BAD: the message is over the limit with ``line``, before which it ends (but not before its first line)."""
    blame(s, R_TOO_LARGE, first, line)
    if line.start < first.next:
        s.fault.resume.start = first.next
        s.fault.resume.number = number_behind(s, first)
    s.fault.run = -1
    return BAD


cdef int header_fault(Scanner *s, int reason, Line *first, Line *at, Line *resume) noexcept nogil:
    """As ``blame``, for a fault that another protocol would also show: then it is a look-alike. MORE where that is open yet."""
    cdef int what = classify_magic_line(s, first, CSP_EXACT)
    if what == CSP_UNDECIDED:
        return MORE
    if what == CSP_IS_LOOK_ALIKE:
        return blame(s, R_LOOK_ALIKE, first, resume)
    return blame(s, reason, at, resume)


cdef int read_header(Scanner *s, Line *first, int64_t bound, int32_t *row, int *intent, Line *line) noexcept nogil:
    """Reads the header; ``line`` becomes the one behind it. OK, MORE or BAD; END where the input ends there, with an empty
    ``line`` at the end."""
    cdef int found, word, size, seen = 0, count = 0
    cdef bint ordered = True, form = False  # form: the value of INTENT is a placeholder, <...>
    cdef int64_t value
    cdef int named = NO_WORD
    while True:
        found = next_line(s, line)
        if found == MORE:
            return MORE
        if found == END:
            break
        word = word_of(s, line, &size)
        if (word > W_INTENT or (s.around != NULL and s.around.form == TW_BARE)) and (is_blank(s.data, line) or ends(s, line)):
            break
        if line.next > bound:
            return too_large(s, first, line)
        if word > W_INTENT:
            return header_fault(s, R_BAD_HEADER_LINE, first, line, line)
        if seen & (1 << word):
            return blame(s, R_DUP_HEADER, line, line)
        value = line.start + size + 1
        if not csp_is_token(s.data, value, line.stop, s.end):
            return blame(s, R_BAD_HEADER_VALUE, line, line)
        ordered = ordered and word == count
        count += 1
        seen |= 1 << word
        if word < W_INTENT:
            row[4 + 2 * word] = <int32_t>value
            row[5 + 2 * word] = <int32_t>(line.stop - value)
        elif s.data[value] == c"<" and s.data[line.stop - 1] == c">":
            form = True
        elif line.stop - value <= 8:
            named = word_at(csp_prefix(csp_word(s.data, value, s.end), <int>(line.stop - value)))
    if seen != 15:
        for word in range(4):
            if not seen & (1 << word):
                return header_fault(s, R_MISSING_FROM + word, first, first, line)
    if not ordered:
        return blame(s, R_HEADER_ORDER, first, line)
    if named == W_FILEOP:
        return blame(s, R_INTENT_ALIAS, first, line)
    if named < W_PLAN or named > W_MEM:
        return blame(s, R_LOOK_ALIKE if form else R_BAD_INTENT, first, line)
    intent[0] = named - W_PLAN
    return found


cdef int read_message(Scanner *s, Line *first, int32_t *row, int *intent, int64_t *stop) noexcept nogil:
    """Reads one message strictly, whose first line is ``first``. OK: ``stop`` is the end of its block, and the cursor is there or
    behind the blank line that follows."""
    cdef int64_t bound = first.start + s.most_bytes
    cdef Line line
    cdef Line head
    cdef int found = read_header(s, first, bound, row, intent, &line)
    if found == MORE or found == BAD:
        return found
    while found == OK and is_blank(s.data, &line):
        if line.next > bound:
            return too_large(s, first, &line)
        found = next_line(s, &line)
        if found == MORE:
            return MORE
    if found == END or ends(s, &line):
        return blame(s, R_NO_BODY, first, &line)
    if line.next > bound:
        return too_large(s, first, &line)
    head = line
    found = block_head(s, &head, intent[0], row)
    if found == BAD:
        return BAD
    if block_word[intent[0]] == W_PATCH:
        found = read_patch(s, first, &head, bound, row, &line)
    elif not keys.known[intent[0]]:
        found = read_generic(s, first, bound, row, &line)
    else:
        found = read_known(s, first, &head, bound, row, intent[0], &line)
    if found == OK:
        stop[0] = line.start
        if line.next == line.start or not is_blank(s.data, &line):
            seek(s, line.start, line.number)
    return found


cdef inline bint is_id(const uint8_t *data, int64_t start, int64_t stop, uint8_t letter) noexcept nogil:
    """True for this letter and digits behind it, as in T12."""
    if stop - start < 2 or data[start] != letter:
        return False
    cdef int64_t at
    for at in range(start + 1, stop):
        if not c"0" <= data[at] <= c"9":
            return False
    return True


cdef int block_head(Scanner *s, Line *line, int intent, int32_t *row) noexcept nogil:
    """Reads the first line of a block: its word, its id, and the operation of a FILEOP. OK or BAD."""
    cdef int size, word = word_of(s, line, &size)
    cdef int64_t at, start = min(line.start + size + 1, line.stop), stop = line.stop
    cdef bint good
    if word != block_word[intent]:
        return blame(s, R_BLOCK_MISMATCH, line, line)
    if word == W_FILEOP:
        at = start
        while at < stop and s.data[at] != 32:
            at += 1
        stop = at
    if word == W_TASK or word == W_RESULT:
        good = is_id(s.data, start, stop, c"T")
    elif word == W_ERROR or word == W_PATCH or word == W_FILEOP:
        good = is_id(s.data, start, stop, s.data[line.start])
    else:
        good = csp_is_token(s.data, start, stop, s.end)
    if not good:
        return blame(s, R_BAD_ID, line, line)
    row[10] = <int32_t>start
    row[11] = <int32_t>(stop - start)
    if word != W_FILEOP:
        return OK
    if stop + 1 >= line.stop:
        return blame(s, R_MISSING_OP, line, line)
    if csp_key_at(s.data, stop + 1, line.stop) != line.stop - stop - 1:
        return blame(s, R_BAD_OP, line, line)
    row[18] = <int32_t>(stop + 1)
    row[19] = <int32_t>(line.stop - stop - 1)
    return OK


cdef int read_value(
    Scanner *s, Line *first, Line *line, int64_t size, int64_t bound, int64_t *start, int64_t *length, bint *is_heredoc
) noexcept nogil:
    """Reads the value of the field at ``line``, whose key has ``size`` bytes: the rest of the line, or the heredoc that begins on
    the next one. OK, MORE or BAD."""
    cdef Line following
    cdef int found
    cdef int64_t run, closing
    cdef int chomped
    is_heredoc[0] = False
    if line.stop - line.start > size:
        start[0] = line.start + size + 1
        length[0] = line.stop - start[0]
        return OK
    found = next_line(s, &following)
    if found == MORE:
        return MORE
    run = 0 if found == END else csp_opening(s.data, following.start, following.stop, &chomped)
    if run and following.next > bound:
        return too_large(s, first, &following)
    if run == 0:
        if found == OK:
            back(s, &following)
        start[0] = line.stop
        length[0] = 0
        return OK
    found = heredoc(s, run, bound, &closing)
    if found == BAD:
        s.fault.offset = following.start if s.fault.reason == R_UNCLOSED else first.start
        s.fault.line = following.number if s.fault.reason == R_UNCLOSED else first.number
        s.fault.resume.start = following.next
        s.fault.resume.number = number_behind(s, &following)
        s.fault.run = run
        return BAD
    if found != OK:
        return found
    is_heredoc[0] = True
    start[0] = following.next
    length[0] = closing - following.next
    if chomped and length[0]:
        length[0] -= 1
    return OK


cdef inline int block_line(Scanner *s, Line *first, int64_t bound, Line *line) noexcept nogil:
    """Reads the next line of a block. END: the block ended before ``line``."""
    cdef int found = next_line(s, line)
    if found != OK:
        return found
    if is_blank(s.data, line) or ends(s, line):
        return END
    return OK if line.next <= bound else too_large(s, first, line)


cdef bint in_enum(const uint8_t *data, int word, int64_t start, int64_t length) noexcept nogil:
    """True if the bytes are a value of PRIORITY or, for any other word, of STATUS."""
    if word == W_PRIORITY:
        return length == 2 and data[start] == c"P" and c"1" <= data[start + 1] <= c"3"
    return (
        (length == 2 and memcmp(data + start, b"OK", 2) == 0)
        or (length == 4 and memcmp(data + start, b"FAIL", 4) == 0)
        or (length == 7 and memcmp(data + start, b"PARTIAL", 7) == 0)
    )


cdef int read_known(
    Scanner *s, Line *first, Line *head, int64_t bound, int32_t *row, int intent, Line *line
) noexcept nogil:
    """Reads the fields of a block whose keys the specification lists, to the line behind it. OK, MORE or BAD."""
    cdef int found, size, word, slot
    cdef int64_t start, length
    cdef bint is_heredoc
    while True:
        found = block_line(s, first, bound, line)
        if found != OK:
            break
        word = word_of(s, line, &size)
        slot = NO_WORD if word == NO_WORD else slot_of[intent][word]
        if slot == NO_WORD:
            found = R_UNKNOWN_KEY if csp_key_at(s.data, line.start, line.stop) else R_STRAY_LINE
            return blame(s, found, line, line)
        if row[13 + 2 * slot] >= 0:
            return blame(s, R_DUP_FIELD, line, line)
        found = read_value(s, first, line, size, bound, &start, &length, &is_heredoc)
        if found != OK:
            return found
        if word == W_CONTENT and not is_heredoc:
            return blame(s, R_HEREDOC_EXPECTED, line, line)
        if (word == W_STATUS or word == W_PRIORITY) and not in_enum(s.data, word, start, length):
            return blame(s, R_BAD_ENUM, line, line)
        row[12 + 2 * slot] = <int32_t>start
        row[13 + 2 * slot] = <int32_t>length
    if found != END:
        return found
    for slot in range(6):
        if keys.required[intent] >> slot & 1 and row[13 + 2 * slot] < 0:
            return blame(s, required_reason[intent][slot], head, line)
    return OK


cdef int add_extra(
    Scanner *s, int sign, int64_t key, int64_t size, int64_t start, int64_t length
) noexcept nogil:
    """Adds a field of a generic block (sign 0) or an operation of a patch (its sign). OK or FULL."""
    if s.log:
        s.extra_count += 1
        return OK
    if s.extra_count >= s.most_extras:
        return FULL
    cdef int32_t *extra = s.extras + 5 * s.extra_count
    extra[0] = sign
    extra[1] = <int32_t>key
    extra[2] = <int32_t>size
    extra[3] = <int32_t>start
    extra[4] = <int32_t>length
    s.extra_count += 1
    return OK


cdef int read_generic(Scanner *s, Line *first, int64_t bound, int32_t *row, Line *line) noexcept nogil:
    """Reads the fields of a block with any keys (PLAN, QUERY, MEM) into extras. OK, MORE, BAD or FULL."""
    cdef int found
    cdef int64_t size, start, length
    cdef int64_t before = s.extra_count
    cdef bint is_heredoc
    while True:
        found = block_line(s, first, bound, line)
        if found != OK:
            break
        size = csp_key_at(s.data, line.start, line.stop)
        if size == 0:
            return blame(s, R_STRAY_LINE, line, line)
        if size > s.most_key:
            return blame(s, R_KEY_TOO_LONG, line, line)
        if s.extra_count - before >= s.most_fields:
            return blame(s, R_TOO_MANY, line, line)
        found = read_value(s, first, line, size, bound, &start, &length, &is_heredoc)
        if found == OK:
            found = add_extra(s, 0, line.start, size, start, length)
        if found != OK:
            return found
    row[23] = <int32_t>(s.extra_count - before)
    return OK if found == END else found


cdef int read_patch(Scanner *s, Line *first, Line *head, int64_t bound, int32_t *row, Line *line) noexcept nogil:
    """Reads the lines of a PATCH: BASE, its operations into extras, APPLY. OK, MORE, BAD or FULL."""
    cdef int found, reason
    cdef int64_t before = s.extra_count
    cdef int64_t size, skip, place
    cdef bint is_base
    while True:
        found = block_line(s, first, bound, line)
        if found != OK:
            break
        size = csp_key_at(s.data, line.start, line.stop)
        is_base = size == 4 and memcmp(s.data + line.start, b"BASE", 4) == 0
        if is_base or (size == 5 and memcmp(s.data + line.start, b"APPLY", 5) == 0):
            place = 12 if is_base else 14
            if row[place + 1] >= 0:
                return blame(s, R_DUP_FIELD, line, line)
            if is_base and (s.extra_count > before or row[15] >= 0):
                return blame(s, R_STRAY_LINE, line, line)
            skip = 5 if is_base else 9
            if (
                line.stop - line.start <= skip
                or memcmp(s.data + line.start, b"BASE " if is_base else b"APPLY -> ", skip) != 0
                or not is_id(s.data, line.start + skip, line.stop, c"C")
            ):
                return blame(s, R_BAD_BASE if is_base else R_BAD_APPLY, line, line)
            row[place] = <int32_t>(line.start + skip)
            row[place + 1] = <int32_t>(line.stop - line.start - skip)
        elif row[15] >= 0 or not is_change_like(s.data, line):
            return blame(s, R_STRAY_LINE, line, line)
        else:
            reason = read_change(s, line)
            if reason == -FULL:
                return FULL
            if reason >= 0:
                return blame(s, reason, line, line)
    if found != END:
        return found
    if row[13] < 0 or row[15] < 0:
        return blame(s, R_MISSING_BASE if row[13] < 0 else R_MISSING_APPLY, head, line)
    row[23] = <int32_t>(s.extra_count - before)
    return OK


cdef inline bint is_change_like(const uint8_t *data, Line *line) noexcept nogil:
    """True if a line is an operation of a patch, or a bad one rather than a stray line."""
    cdef uint8_t sign = data[line.start]
    if sign == c"+" or sign == c"~" or sign == c"-":
        return not tw_is_fence(data, line.start, line.stop)
    return line.stop - line.start >= 6 and memcmp(data + line.start + 1, b" DEF ", 5) == 0


cdef int64_t behind_name(const uint8_t *data, int64_t at, int64_t stop) noexcept nogil:
    """Behind the name of a definition (capitals, digits and ``_``, no digit first); ``at`` where none stands there."""
    if at < stop and c"0" <= data[at] <= c"9":
        return at
    while at < stop and (c"A" <= data[at] <= c"Z" or c"0" <= data[at] <= c"9" or data[at] == c"_"):
        at += 1
    return at


cdef int read_change(Scanner *s, Line *line) noexcept nogil:
    """Adds one operation of a patch. Returns -1, -FULL, or the reason why the line is none."""
    cdef const uint8_t *data = s.data
    cdef int64_t at, size, word, value, name = line.start + 6, stop = line.stop
    cdef uint8_t sign = data[line.start]
    cdef bint assigns, changes, wanted
    if sign != c"+" and sign != c"~" and sign != c"-":
        return R_BAD_OP
    if name > stop or memcmp(data + line.start + 1, b" DEF ", 5) != 0:
        return R_BAD_OP
    at = behind_name(data, name, stop)
    size = at - name
    if at == stop and size:
        if sign != c"-":
            return R_OP_MISMATCH
        return -FULL if add_extra(s, sign, name, size, -1, -1) == FULL else -1
    if not size or data[at] != 32:
        return R_BAD_OP
    at += 1
    word = at
    while word < stop and data[word] != 32:
        word += 1
    assigns = word - at == 1 and data[at] == c"="
    changes = word - at == 2 and data[at] == c":" and data[at + 1] == c"="
    wanted = assigns if sign == c"+" else (changes if sign == c"~" else False)
    if not wanted:
        return R_OP_MISMATCH if assigns or changes else R_BAD_OP
    value = word + 1 if word < stop else stop
    return -FULL if add_extra(s, sign, name, size, value, stop - value) == FULL else -1


# --- messages written as messages usually are: csp/fast_path.h --------------------------------------------------------


cdef inline int64_t fast_messages(Scanner *s, int32_t *rows, int64_t most) noexcept nogil:
    """Reads messages into ``rows`` as long as csp/fast_path.h takes them, and returns how many.

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
        s.tail = True
    return count


cdef inline void number_extras(Scanner *s, int64_t count) noexcept nogil:
    """Counts the rows that ``fast_messages`` read, and gives them no extras."""
    cdef int64_t row
    for row in range(s.row_count, s.row_count + count):
        s.rows[24 * row + 22] = <int32_t>s.extra_count
        s.rows[24 * row + 23] = 0
    s.row_count += count


# --- the stream of records --------------------------------------------------------------------------------------------


cdef void unclosed(Scanner *s, int64_t run) noexcept nogil:
    """Notes that a heredoc with this run never closes."""
    s.run = run if s.run == 0 or s.run == run else -1


cdef int32_t *new_row(Scanner *s) noexcept nogil:
    """The next row, with all spans absent; it counts once ``finish_row`` has filled it."""
    cdef int32_t *row = s.rows + 24 * s.row_count
    memset(row, 0xFF, 24 * sizeof(int32_t))
    row[22] = <int32_t>s.extra_count
    row[23] = 0
    return row


cdef inline void finish_row(Scanner *s, int32_t *row, int64_t start, int64_t stop, int64_t number, int code) noexcept nogil:
    """Fills in where a record is and what it is, and counts its row."""
    row[0] = <int32_t>start
    row[1] = <int32_t>(stop - start)
    row[2] = <int32_t>number
    row[3] = code | INSIDE if s.run else code
    s.row_count += 1


cdef void reject(
    Scanner *s, int reason, int64_t start, int64_t stop, int64_t number, int64_t offset, int64_t line
) noexcept nogil:
    """Adds a reject. number: of its first line; offset, line: of the fault."""
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
    """Adds the message that begins with a line, or rejects it. OK, MORE or FULL."""
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
    return recover(s, first) if found == BAD else found


cdef int recover(Scanner *s, Line *first) noexcept nogil:
    """Rejects a message from its first line to its end. What is in its heredocs does not end it."""
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
    reject(s, fault.reason, first.start, s.place, first.number, fault.offset, fault.line)
    return OK


cdef int to_end(Scanner *s, Line *first) noexcept nogil:
    """Moves the cursor to the end of a rejected message."""
    cdef int64_t bound = first.start + s.most_bytes
    cdef int64_t run, closing
    cdef Line line
    cdef int found
    cdef int chomped
    while True:
        found = next_line(s, &line)
        if found == MORE:
            return MORE
        if found == END:
            return OK
        if line.start > first.start and (line.next > bound or is_delimiter(s.data, &line)):
            back(s, &line)
            return OK
        run = csp_opening(s.data, line.start, line.stop, &chomped)
        if run:
            found = heredoc(s, run, bound, &closing)
            if found == BAD:
                unclosed(s, run)
                return OK
            if found != OK:
                return found


cdef int trailing(Scanner *s, Line *line) noexcept nogil:
    """Rejects a line of text that trails a message, with its heredoc if it opens one."""
    cdef int64_t closing
    cdef int chomped
    cdef int64_t run = csp_opening(s.data, line.start, line.stop, &chomped)
    cdef int found
    if run:
        found = heredoc(s, run, line.start + s.most_bytes, &closing)
        if found == BAD:
            unclosed(s, run)
        elif found != OK:
            return found
    reject(s, R_TRAILING_TEXT, line.start, s.place, line.number, line.start, line.number)
    return OK


cdef int template(Scanner *s, Line *first) noexcept nogil:
    """Adds the template that begins with a line (``CSP/1;`` ...) and goes on to a blank line or a delimiter."""
    cdef int32_t *row = new_row(s)
    cdef int64_t head = template_head(s.data, first)
    cdef Line line
    cdef int found
    s.tail = False
    while True:
        found = next_line(s, &line)
        if found == MORE:
            return MORE
        if found == END:
            break
        if is_blank(s.data, &line) or is_delimiter(s.data, &line) or ends(s, &line):
            back(s, &line)
            break
    found = classify_magic_line(s, first, CSP_TEMPLATE)
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
    """True for ``DEF NAME = value`` and LAWS; with ``laws``, where LAWS came before, also for ``- L1: text``."""
    cdef int64_t at = line.start, stop = line.stop
    if is_laws(data, line):
        return True
    if stop - at >= 7 and memcmp(data + at, b"DEF ", 4) == 0:
        at = behind_name(data, at + 4, stop)
        return at > line.start + 4 and stop - at >= 2 and data[at] == 32 and data[at + 1] == c"=" and (stop - at == 2 or data[at + 2] == 32)
    if not laws or stop - at < 5 or memcmp(data + at, b"- L", 3) != 0:
        return False
    at += 3
    if not c"0" <= data[at] <= c"9":
        return False
    while at < stop and c"0" <= data[at] <= c"9":
        at += 1
    return at < stop and data[at] == c":" and (stop - at == 1 or data[at + 1] == 32)


cdef int preamble(Scanner *s, Line *first) noexcept nogil:
    """Adds the preamble that begins with a line: definitions and laws, blank lines among them."""
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
    """Reads one item at the start of a line, be it a record, a reject or a blank line, and moves the cursor behind it."""
    cdef Line line
    cdef int found = next_line(s, &line)
    if found != OK:
        return found
    if is_magic(s.data, &line):
        return message(s, &line)
    if is_blank(s.data, &line):
        return OK
    if is_delimiter(s.data, &line):
        if tw_is_fence(s.data, line.start, line.stop):
            s.tail = False
            s.own.fence = tw_fence_after(s.own.fence, s.data, line.start, line.stop)
            finish_row(s, new_row(s), line.start, line.next, line.number, FENCE)
            return OK
        if template_head(s.data, &line):
            return template(s, &line)
        return nearly(s, &line)
    if is_preamble_line(s.data, &line, False):
        return preamble(s, &line)
    if s.tail:
        return trailing(s, &line)
    reject(s, R_JUNK, line.start, line.next, line.number, line.start, line.number)
    return OK


cdef bint swallowed_end(Scanner *s, int64_t start, int64_t stop, int64_t run) noexcept nogil:
    """True if a line of ``data[start:stop]`` is a closing of that run: records behind it are no longer in the unclosed heredoc."""
    cdef int64_t found = csp_next_closing(&s.closings, s.data, start, run, s.end)
    return found < stop and closing_end(s, found, run, stop) > 0


cdef inline int step(Scanner *s) noexcept nogil:
    """Reads one item. Where that is not OK, the scanner is as it was before."""
    cdef int64_t place = s.place
    cdef int64_t number = s.number
    cdef int64_t run = s.run
    cdef bint tail = s.tail
    cdef int64_t extras = s.extra_count
    cdef int64_t rows = s.row_count
    cdef int64_t rejects = s.reject_count
    cdef int found = item(s)
    if found != OK:
        s.row_count, s.extra_count, s.reject_count = rows, extras, rejects
        s.run, s.tail = run, tail
        seek(s, place, number)
    elif run > 0 and s.run == run and swallowed_end(s, place, s.place, run):
        s.run = 0
    return found


cdef void run_scanner(Scanner *s) noexcept nogil:
    """Scans until all bytes are read or a table is full; ``s.place`` is behind what was read."""
    cdef int64_t count
    while s.place < s.end and s.row_count < s.most_rows and s.reject_count < s.most_rejects:
        count = fast_messages(s, s.rows + 24 * s.row_count, s.most_rows - s.row_count)
        if count:
            number_extras(s, count)
            continue
        if step(s) != OK:
            break


cdef void start_scanner(
    Scanner *s, const uint8_t *data, int64_t start, int64_t stop, bint final, int64_t *limits, csp_lister lister,
    int64_t look=0
) noexcept nogil:
    """Puts a scanner at ``start`` of ``data[:stop]``. The caller sets its tables."""
    s.data = data
    s.look = look
    s.lister = lister
    s.end = stop
    s.final = final
    s.most_bytes, s.most_fields, s.most_key = limits[0], limits[1], limits[2]
    s.log = s.reading.log = False
    memset(&s.own, 0, sizeof(s.own))
    s.around = &s.own
    s.reading.keys, s.reading.data = &keys, data
    s.reading.most_bytes, s.reading.most_fields, s.reading.most_key = limits[0], limits[1], limits[2]
    memset(&s.closings, 0, sizeof(s.closings))
    s.tail = False
    s.run = 0
    s.row_count = s.extra_count = s.reject_count = 0
    s.place = start
    s.number = 0
    fill(s, start)
