# Reads one message of CSP/1 strictly, and fills a row and extras. From the bottom up: lines, heredocs, messages. Included by
# csp/codec.pyx. The grammar is in csp/reader.py; turnwire.csp.spec.ROW_WIDTH says what the numbers of a row and an extra are.

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

cdef struct Fault:
    int reason
    int64_t offset
    int64_t resume  # where the search for the end of the message begins
    int64_t run  # 0, or the run of a heredoc that never closes; -1: no search, the message ends at resume

cdef struct Scanner:
    const uint8_t *data
    int64_t end
    bint final  # nothing follows behind ``end``
    int64_t most_bytes, most_fields, most_key  # limits: of a message, of its fields, of a key
    int64_t place  # the cursor: the start of the next line
    csp_closings closings  # where what stands around the message knows none
    bint log  # extras are only counted
    const csp_around *around  # what stands around the message and so says where it ends: ``own``, or in a search of logs its own
    csp_around own  # the fence that is open
    Fault fault
    int32_t *extras  # a table
    int64_t extra_count, most_extras


cdef inline int next_line(Scanner *s, Line *line) noexcept nogil:
    """Reads the next line: OK, END with an empty one where nothing is left, or MORE where it may go on behind the bytes at hand."""
    cdef const uint8_t *feed = <const uint8_t *>memchr(s.data + s.place, 10, s.end - s.place)
    cdef int64_t found
    line.start = s.place
    if feed == NULL:
        if not s.final:
            return MORE
        line.stop = line.next = s.place = s.end
        return END if line.start >= s.end else OK
    found = feed - s.data
    line.stop = found - 1 if found > s.place and s.data[found - 1] == 13 else found
    line.next = s.place = found + 1
    return OK


cdef inline bint is_blank(const uint8_t *data, Line *line) noexcept nogil:
    """True if a line has nothing but spaces and tabs."""
    cdef int64_t at = line.start
    while at < line.stop:
        if data[at] != 32 and data[at] != 9:
            return False
        at += 1
    return True


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
    """Moves the cursor behind the closing line, at ``start``, of the heredoc whose content begins at it. END: there is none."""
    cdef bint own = s.around.closings == NULL
    cdef int64_t end = s.end if own else <int64_t>s.around.end
    cdef int64_t behind = 0
    start[0] = csp_next_closing(&s.closings if own else s.around.closings, s.data, s.place, run, end)
    if start[0] < end:
        behind = closing_end(s, start[0], run, min(bound, s.end))
    if not behind:
        return END
    s.place = behind
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


# --- lines that say CSP/1: the rules are in csp/_lines_py.py -----------------------------------------------


cdef inline int classify_magic_line(Scanner *s, Line *first) noexcept nogil:
    return csp_classify_magic_line(s.data, first.start, s.end, s.final)


# --- messages ---------------------------------------------------------------------------------------------------------


cdef inline int blame(Scanner *s, int reason, Line *at, Line *resume) noexcept nogil:
    """BAD, with the fault at this line; the search for the end of the message begins at ``resume``."""
    s.fault.reason = reason
    s.fault.offset = at.start
    s.fault.resume = resume.start
    s.fault.run = 0
    return BAD


cdef int too_large(Scanner *s, Line *first, Line *line) noexcept nogil:
    """BAD: the message is over the limit with ``line``, before which it ends (but not before its first line)."""
    blame(s, R_TOO_LARGE, first, line)
    s.fault.resume = max(line.start, first.next)
    s.fault.run = -1
    return BAD


cdef int header_fault(Scanner *s, int reason, Line *first, Line *at, Line *resume) noexcept nogil:
    """As ``blame``, for a fault that another protocol would also show: then it is a look-alike. MORE where that is open yet."""
    cdef int what = classify_magic_line(s, first)
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
            s.place = line.start
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
            s.place = following.start
        start[0] = line.stop
        length[0] = 0
        return OK
    found = heredoc(s, run, bound, &closing)
    if found == BAD:
        s.fault.offset = following.start if s.fault.reason == R_UNCLOSED else first.start
        s.fault.resume = following.next
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
        if s.extra_count >= s.most_fields:
            return blame(s, R_TOO_MANY, line, line)
        found = read_value(s, first, line, size, bound, &start, &length, &is_heredoc)
        if found == OK:
            found = add_extra(s, 0, line.start, size, start, length)
        if found != OK:
            return found
    return OK if found == END else found


cdef int read_patch(Scanner *s, Line *first, Line *head, int64_t bound, int32_t *row, Line *line) noexcept nogil:
    """Reads the lines of a PATCH: BASE, its operations into extras, APPLY. OK, MORE, BAD or FULL."""
    cdef int found, reason
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
            if is_base and (s.extra_count or row[15] >= 0):
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


cdef void start_scanner(
    Scanner *s, const uint8_t *data, int64_t start, int64_t stop, bint final, const int64_t *limits
) noexcept nogil:
    """Puts a scanner at ``start`` of ``data[:stop]``. The caller sets its table."""
    memset(s, 0, sizeof(Scanner))
    s.data, s.end, s.final, s.place, s.around = data, stop, final, start, &s.own
    s.most_bytes, s.most_fields, s.most_key = limits[0], limits[1], limits[2]
