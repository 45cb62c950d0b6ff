# Messages: header, blocks, fields, operations. Included by csp/codec.pyx.


cdef inline int blame(Scanner *s, int reason, Line *at, Line *resume) noexcept nogil:
    s.fault.reason = reason
    s.fault.offset = at.start
    s.fault.line = at.number
    s.fault.resume = resume[0]
    s.fault.run = 0
    return BAD


cdef int too_large(Scanner *s, Line *first, Line *line) noexcept nogil:
    blame(s, R_TOO_LARGE, first, line)
    if line.start < first.next:
        s.fault.resume.start = first.next
        s.fault.resume.number = number_behind(s, first)
    s.fault.run = -1
    return BAD


cdef int header_fault(Scanner *s, int reason, Line *first, Line *at, Line *resume) noexcept nogil:
    cdef int what = survey(s, first, CSP_EXACT)
    if what == CSP_UNDECIDED:
        return MORE
    if what == CSP_IS_LOOK_ALIKE:
        return blame(s, R_LOOK_ALIKE, first, resume)
    return blame(s, reason, at, resume)


cdef int read_header(Scanner *s, Line *first, int64_t bound, int32_t *row, int *intent, Line *line) noexcept nogil:
    """Reads to the line behind the header, which is left in ``line`` (its start is the end where there is none).

    END: the input ends there. Otherwise OK, MORE or BAD.
    """
    cdef int found, word, size, seen = 0, count = 0
    cdef bint ordered = True
    cdef uint64_t prefix
    cdef int64_t value, length
    cdef int named = NO_WORD
    while True:
        found = next_line(s, line)
        if found == MORE:
            return MORE
        if found == END:
            line.start = line.stop = line.next = s.place
            line.number = s.number
            break
        length = line.stop - line.start
        prefix = csp_word(s.data, line.start, s.end)
        size = csp_key_length(prefix, length, s.data + line.start)
        word = word_at(csp_prefix(prefix, size)) if 0 < size <= 8 else NO_WORD
        if word > W_INTENT and (is_blank(s.data, line) or is_delimiter(s.data, line)):
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
        return blame(s, R_BAD_INTENT, first, line)
    intent[0] = named - W_PLAN
    return found


cdef int read_message(Scanner *s, Line *first, int32_t *row, int *intent, int64_t *stop) noexcept nogil:
    """Reads one message strictly; OK leaves the cursor behind its block, ``stop`` is the end of the block."""
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
    if found == END:
        line.start = line.next = line.stop = s.place
        line.number = s.number
    if found == END or is_delimiter(s.data, &line):
        return blame(s, R_NO_BODY, first, &line)
    if line.next > bound:
        return too_large(s, first, &line)
    head = line
    found = block_head(s, &head, intent[0], row)
    if found == BAD:
        return BAD
    if block_word[intent[0]] == W_PATCH:
        found = read_patch(s, first, &head, bound, row, &line)
    elif required_slot[intent[0]][0] < 0:
        found = read_generic(s, first, bound, row, &line)
    else:
        found = read_known(s, first, &head, bound, row, intent[0], &line)
    if found == OK:
        stop[0] = line.start
        if line.next == line.start or not is_blank(s.data, &line):
            seek(s, line.start, line.number)
    return found


cdef inline bint is_id(const uint8_t *data, int64_t start, int64_t stop, uint8_t letter) noexcept nogil:
    if stop - start < 2 or data[start] != letter:
        return False
    cdef int64_t at
    for at in range(start + 1, stop):
        if not c"0" <= data[at] <= c"9":
            return False
    return True


cdef int block_head(Scanner *s, Line *line, int intent, int32_t *row) noexcept nogil:
    cdef uint64_t prefix = csp_word(s.data, line.start, s.end)
    cdef int size = csp_key_length(prefix, line.stop - line.start, s.data + line.start)
    cdef int word = word_at(csp_prefix(prefix, size)) if 0 < size <= 8 else NO_WORD
    cdef int64_t start = line.start + size + 1
    cdef int64_t stop = line.stop
    cdef int64_t at
    cdef bint good
    if word != block_word[intent]:
        return blame(s, R_BLOCK_MISMATCH, line, line)
    if start > stop:
        start = stop
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
    if key_length(s.data, stop + 1, line.stop) != line.stop - stop - 1:
        return blame(s, R_BAD_OP, line, line)
    row[18] = <int32_t>(stop + 1)
    row[19] = <int32_t>(line.stop - stop - 1)
    return OK


cdef int64_t key_length(const uint8_t *data, int64_t start, int64_t stop) noexcept nogil:
    """Length of the KEY at the start of a line, which a space or the end of the line must follow; else 0."""
    cdef int64_t at = start
    if at >= stop or not c"A" <= data[at] <= c"Z":
        return 0
    while at < stop and (c"A" <= data[at] <= c"Z" or c"0" <= data[at] <= c"9" or data[at] == c"_"):
        at += 1
    return at - start if at == stop or data[at] == 32 else 0


cdef int read_value(
    Scanner *s, Line *first, Line *line, int64_t size, int64_t bound, int64_t *start, int64_t *length, bint *is_heredoc
) noexcept nogil:
    """The value of the field at ``line``, whose key has ``size`` bytes."""
    cdef Line following
    cdef int found
    cdef int64_t run, closing
    cdef bint chomped
    is_heredoc[0] = False
    if line.stop - line.start > size:
        start[0] = line.start + size + 1
        length[0] = line.stop - start[0]
        return OK
    found = next_line(s, &following)
    if found == MORE:
        return MORE
    run = 0 if found == END else opening(s.data, &following, &chomped)
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
    """The next line of a block; END where the block ends, with ``line`` at the place behind it."""
    cdef int found = next_line(s, line)
    if found == END:
        line.start = line.next = line.stop = s.place
        line.number = s.number
        return END
    if found == MORE:
        return MORE
    if is_blank(s.data, line) or is_delimiter(s.data, line):
        return END
    return OK if line.next <= bound else too_large(s, first, line)


cdef bint in_enum(const uint8_t *data, int word, int64_t start, int64_t length) noexcept nogil:
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
    cdef int found, size, word, slot, place
    cdef uint64_t prefix
    cdef int64_t start, length
    cdef bint is_heredoc
    while True:
        found = block_line(s, first, bound, line)
        if found != OK:
            break
        prefix = csp_word(s.data, line.start, s.end)
        size = csp_key_length(prefix, line.stop - line.start, s.data + line.start)
        word = word_at(csp_prefix(prefix, size)) if 0 < size <= 8 else NO_WORD
        slot = NO_WORD if word == NO_WORD else slot_of[intent][word]
        if slot == NO_WORD:
            found = R_UNKNOWN_KEY if key_length(s.data, line.start, line.stop) else R_STRAY_LINE
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
    for place in range(2):
        slot = required_slot[intent][place]
        if slot >= 0 and row[13 + 2 * slot] < 0:
            return blame(s, required_reason[intent][place], head, line)
    return OK


cdef int add_extra(
    Scanner *s, int sign, int64_t key, int64_t size, int64_t start, int64_t length
) noexcept nogil:
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
    cdef int found
    cdef int64_t size, start, length
    cdef int64_t before = s.extra_count
    cdef bint is_heredoc
    while True:
        found = block_line(s, first, bound, line)
        if found != OK:
            break
        size = key_length(s.data, line.start, line.stop)
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
    cdef int found, reason
    cdef int64_t before = s.extra_count
    cdef int64_t size, skip, place
    cdef bint is_base
    while True:
        found = block_line(s, first, bound, line)
        if found != OK:
            break
        size = key_length(s.data, line.start, line.stop)
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
    cdef uint8_t sign = data[line.start]
    if sign == c"+" or sign == c"~" or sign == c"-":
        return True
    return line.stop - line.start >= 6 and memcmp(data + line.start + 1, b" DEF ", 5) == 0


cdef int read_change(Scanner *s, Line *line) noexcept nogil:
    """One operation of a patch; returns the reason it is none, -FULL, or -1 when it was added."""
    cdef const uint8_t *data = s.data
    cdef int64_t at = line.start + 6
    cdef int64_t stop = line.stop
    cdef int64_t name, size, word, value
    cdef uint8_t sign = data[line.start]
    cdef bint assigns, changes, wanted
    if sign != c"+" and sign != c"~" and sign != c"-":
        return R_BAD_OP
    if at > stop or memcmp(data + line.start + 1, b" DEF ", 5) != 0:
        return R_BAD_OP
    name = at
    if at >= stop or not (c"A" <= data[at] <= c"Z" or data[at] == c"_"):
        return R_BAD_OP
    while at < stop and (c"A" <= data[at] <= c"Z" or c"0" <= data[at] <= c"9" or data[at] == c"_"):
        at += 1
    size = at - name
    if at == stop:
        if sign != c"-":
            return R_OP_MISMATCH
        return -FULL if add_extra(s, sign, name, size, -1, -1) == FULL else -1
    if data[at] != 32:
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
