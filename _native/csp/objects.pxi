# Reads, writes and checks one usual CSP/1 message without a call of Python: text -> CspMessage, CspMessage -> text, and whether
# `check` has nothing to say. Included by csp/codec.pyx. Where anything is unusual, these functions answer None or False, and
# turnwire.csp.codec, which has the rules, does the work.
#
# Rows and extras are those of csp/scanner.pxi. AT_... are the places of attributes (slots) in the objects of turnwire.csp.messages.

cdef enum:
    FEW = 64  # extras for which there is room
    ROOM = 2048  # bytes of text for which there is
    CSP_ROOM = 32  # bytes behind a text that csp/fast_path.h may read
    MOST_FIELDS = 8  # fields of a known block that are sorted here

cdef struct Result:  # the tables of a scanner that reads one message
    int32_t row[2 * 24]
    int32_t reject[6]
    int32_t extras[5 * FEW]

cdef object CspMessage = _messages.CspMessage
cdef object Generic = _messages.Generic
cdef object FileOp = _messages.FileOp
cdef object Patch = _messages.Patch
cdef object Op = _messages.Op
cdef object Intent = _spec.Intent
# By the code of an intent: its name, the word of its block, the block's class, its keys, the word as bytes.
cdef tuple INTENTS = tuple(_spec.Intent)
cdef tuple WORDS_OF = tuple([_spec.BLOCK_WORD[intent] for intent in _spec.INTENTS])
cdef tuple CLASSES = tuple([_messages.CLASSES.get(word, Generic) for word in WORDS_OF])
cdef tuple KEYS_OF = tuple([_spec.FIELDS.get(word, ()) for word in WORDS_OF])
cdef tuple HEADS = tuple([word.encode() for word in WORDS_OF])
cdef dict KNOWN = _spec.FIELDS
cdef dict SIGNS = {ord(sign): sign for sign in "+~-"}
cdef object FILE_OPS = frozenset(_spec.FILE_OPS)
cdef str CONTENT = "CONTENT", DELETE = "DELETE", CHANGE = "~"
cdef tuple NOTHING = ()

cdef Py_ssize_t AT_SENDER = slot_offset(CspMessage.sender), AT_RECEIVER = slot_offset(CspMessage.receiver)
cdef Py_ssize_t AT_CTX = slot_offset(CspMessage.ctx), AT_INTENT = slot_offset(CspMessage.intent)
cdef Py_ssize_t AT_BLOCK = slot_offset(CspMessage.block), AT_LINE = slot_offset(CspMessage.line)
cdef Py_ssize_t[5] AT = [AT_SENDER, AT_RECEIVER, AT_CTX, AT_INTENT, AT_BLOCK]
cdef Py_ssize_t AT_ISSUES = slot_offset(CspMessage.issues), AT_SOURCE = slot_offset(CspMessage._source)
cdef Py_ssize_t AT_ID = slot_offset(_messages.Block.id), AT_FIELDS = slot_offset(_messages.Block.fields)
cdef Py_ssize_t AT_OP = slot_offset(FileOp.op), AT_KIND = slot_offset(Generic.kind)
cdef Py_ssize_t AT_PATCH_ID = slot_offset(Patch.id), AT_BASE = slot_offset(Patch.base)
cdef Py_ssize_t AT_OPS = slot_offset(Patch.ops), AT_APPLY = slot_offset(Patch.apply)

cdef int64_t usual_limits[3]
usual_limits[0], usual_limits[1], usual_limits[2] = _LIMITS.message, _LIMITS.fields, _LIMITS.key


# --- reading --------------------------------------------------------------------------------------------------------


cdef bint read_usual(uint8_t *data, int64_t size, Result *result) noexcept nogil:
    """Reads a text of one message by csp/fast_path.h; False where that does not take it. CSP_ROOM bytes behind the text belong to
    ``data`` and are overwritten: with the blank line that ends the block, and zeros."""
    cdef csp_window window
    cdef csp_reading reading
    cdef int why
    cdef const int32_t *row = result.row
    memset(data + size, 0, CSP_ROOM)
    data[size] = 10
    csp_fill(&window, find_lines, data, 0, size + CSP_ROOM, size + CSP_ROOM, 0)
    reading.keys, reading.data, reading.log = &keys, data, True
    reading.most_bytes, reading.most_fields, reading.most_key = usual_limits[0], FEW, usual_limits[2]
    reading.place = reading.next = reading.number = 0
    if csp_fast(&window, &reading, result.row, 1, &why) != 1 or reading.place < size:
        return False
    result.row[22] = result.row[23] = 0
    if keys.known[row[3]]:
        return True
    if row[3] == keys.patch:
        return split_lines(data, row[12] + row[13] + 1, row[14] - 9, True, result)
    return split_lines(data, row[10] + row[11] + 1, row[1], False, result)


cdef bint split_lines(const uint8_t *data, int64_t start, int64_t stop, bint changes, Result *result) noexcept nogil:
    """Fills in the extras of a block's lines, which are known to be good: operations of a patch (``changes``), or fields. False
    where there are more than FEW."""
    cdef int32_t *extra = result.extras
    cdef int64_t name, at, end
    while start < stop:
        if result.row[23] == FEW:
            return False
        end = <const uint8_t *>memchr(data + start, 10, stop - start) - data
        name = at = start + 6 if changes else start
        while at < end and data[at] != 32:
            at += 1
        extra[0] = data[start] if changes else 0
        extra[1], extra[2] = <int32_t>name, <int32_t>(at - name)
        at += 1
        if changes and at < end:
            at += 3 if data[at] == c":" else 2
        extra[3] = <int32_t>min(at, end)
        extra[4] = <int32_t>(end - extra[3])
        if changes and data[start] == c"-":
            extra[3] = extra[4] = -1
        extra += 5
        result.row[23] += 1
        start = end + 1
    return True


cdef bint read_one(const uint8_t *data, int64_t size, Result *result, int32_t *extras, int64_t most_extras) noexcept:
    """Reads a text by the scanner; False unless it is one message without a fault, and blank lines."""
    cdef Scanner scanner
    start_scanner(&scanner, data, 0, size, True, usual_limits, find_lines)
    scanner.rows, scanner.extras, scanner.rejects = result.row, extras, result.reject
    scanner.most_rows, scanner.most_extras, scanner.most_rejects = 2, most_extras, 1
    run_scanner(&scanner)
    free(scanner.closings.lines)
    return scanner.place >= size and scanner.row_count == 1 and scanner.reject_count == 0 and result.row[3] < TEMPLATE


# Behind this, ``is_ascii`` says that all of the text is ASCII: its parts are then copied, not decoded.
cdef inline object span(const uint8_t *data, int64_t start, int64_t length, bint is_ascii):
    if not is_ascii:
        return PyUnicode_DecodeUTF8(<const char *>data + start, length, NULL)
    text = PyUnicode_New(length, 127)
    memcpy(PyUnicode_DATA(text), data + start, length)
    return text


cdef object known_fields(const uint8_t *data, const int32_t *row, int code, bint is_ascii):
    """The fields of a known block as (key, value), in the order in which the text has them."""
    cdef tuple names = <tuple>KEYS_OF[code]
    cdef int slots[6]
    cdef int count = 0, slot, place
    for slot in range(<int>len(names)):
        if row[13 + 2 * slot] < 0:
            continue
        place = count
        while place and row[12 + 2 * slots[place - 1]] > row[12 + 2 * slot]:
            slots[place] = slots[place - 1]
            place -= 1
        slots[place] = slot
        count += 1
    fields = []
    for place in range(count):
        slot = slots[place]
        fields.append((names[slot], span(data, row[12 + 2 * slot], row[13 + 2 * slot], is_ascii)))
    return fields


cdef object block_of(const uint8_t *data, const int32_t *row, const int32_t *extras, int code, bint is_ascii):
    """The block of a row, whose intent has this code."""
    cdef const int32_t *extra = extras + 5 * row[22]
    cdef int number
    name = span(data, row[10], row[11], is_ascii)
    if keys.known[code]:
        if code == keys.fileop:
            block = new_object(FileOp, 0)
            fill_slot(block, AT_OP, span(data, row[18], row[19], is_ascii))
        else:
            block = new_object(CLASSES[code], 0)
        fill_slot(block, AT_ID, name)
        fill_slot(block, AT_FIELDS, known_fields(data, row, code, is_ascii))
        return block
    if code == keys.patch:
        block = new_object(Patch, 0)
        ops = []
        for number in range(row[23]):
            op = new_object(Op, 3)
            set_item(op, 0, SIGNS[extra[0]])
            set_item(op, 1, span(data, extra[1], extra[2], is_ascii))
            set_item(op, 2, span(data, extra[3], extra[4], is_ascii) if extra[4] >= 0 else None)
            ops.append(op)
            extra += 5
        fill_slot(block, AT_PATCH_ID, name)
        fill_slot(block, AT_BASE, span(data, row[12], row[13], is_ascii))
        fill_slot(block, AT_OPS, ops)
        fill_slot(block, AT_APPLY, span(data, row[14], row[15], is_ascii))
        return block
    block = new_object(Generic, 0)
    fields = []
    for number in range(row[23]):
        fields.append((span(data, extra[1], extra[2], is_ascii), span(data, extra[3], extra[4], is_ascii)))
        extra += 5
    fill_slot(block, AT_KIND, WORDS_OF[code])
    fill_slot(block, AT_ID, name)
    fill_slot(block, AT_FIELDS, fields)
    return block


cdef inline void set_item(object op, Py_ssize_t place, object value):
    """Puts a value into an empty place of a new tuple."""
    Py_INCREF(value)
    PyTuple_SET_ITEM(op, place, value)


cdef object message_of(const uint8_t *data, const int32_t *row, const int32_t *extras, int64_t line, bint is_ascii):
    """The message of a row. line: the number of the first line of ``data``."""
    cdef int code = row[3] & 0xFF
    made = new_object(CspMessage, 0)
    fill_slot(made, AT_SENDER, span(data, row[4], row[5], is_ascii))
    fill_slot(made, AT_RECEIVER, span(data, row[6], row[7], is_ascii))
    fill_slot(made, AT_CTX, span(data, row[8], row[9], is_ascii))
    fill_slot(made, AT_INTENT, INTENTS[code])
    fill_slot(made, AT_BLOCK, block_of(data, row, extras, code, is_ascii))
    fill_slot(made, AT_LINE, line + row[2])
    fill_slot(made, AT_ISSUES, NOTHING)
    return made


cdef int64_t least_size(const int32_t *row, const int32_t *extras) noexcept nogil:
    """The size of the text that writing gives, if no value is a heredoc.

    A text that was read by csp/fast_path.h, has this size and no carriage return is that text: fields are in the order of
    writing, and no byte is left for anything else."""
    cdef int code = row[3], slot
    cdef const int32_t *extra = extras
    cdef int64_t size = 32 + keys.intent_size[code] + keys.head_size[code] + row[5] + row[7] + row[9] + row[11]
    if keys.known[code]:
        if code == keys.fileop:
            size += 1 + row[19]
        for slot in range(6):
            if keys.key[code][slot].way != CSP_NO_KEY and row[13 + 2 * slot] >= 0:
                size += keys.key[code][slot].size + 1 + row[13 + 2 * slot] + (row[13 + 2 * slot] > 0)
        return size
    if code == keys.patch:
        size += 16 + row[13] + row[15]
    for slot in range(row[23]):
        size += 1 + extra[2] + extra[4] + (extra[4] > 0)
        if code == keys.patch:
            size += 6 if extra[4] < 0 else 9 if extra[0] == c"~" else 8
            size += extra[4] < 0
        extra += 5
    return size


cdef tuple parts_of(object message, object source, bint exact):
    """All that ``is_untouched`` compares: (source, exact, five attributes of the message, the block's class, three of its values, and
    each item of its list). exact: the source is the text that writing gives."""
    cdef object block = <object>in_slot(message, AT_BLOCK)
    cdef PyObject *held[4]
    cdef Py_ssize_t number, size
    held_of(block, type(block), held)
    size = PyList_GET_SIZE(<object>held[0])
    parts = PyTuple_New(11 + size)
    set_item(parts, 0, source)
    set_item(parts, 1, exact)
    for number in range(5):
        set_item(parts, 2 + number, <object>in_slot(message, AT[number]))
    set_item(parts, 7, type(block))
    for number in range(3):
        set_item(parts, 8 + number, <object>held[number + 1])
    for number in range(size):
        set_item(parts, 11 + number, <object>PyList_GET_ITEM(<object>held[0], number))
    return parts


cdef inline void held_of(object block, object kind, PyObject **held) noexcept:
    """The contents of a block of a class: its list, then three values, None where it has fewer; NULL for an empty slot."""
    held[2] = held[3] = <PyObject *>None
    if kind is Patch:
        held[0], held[1] = in_slot(block, AT_OPS), in_slot(block, AT_PATCH_ID)
        held[2], held[3] = in_slot(block, AT_BASE), in_slot(block, AT_APPLY)
        return
    held[0], held[1] = in_slot(block, AT_FIELDS), in_slot(block, AT_ID)
    if kind is FileOp:
        held[2] = in_slot(block, AT_OP)
    elif kind is Generic:
        held[2] = in_slot(block, AT_KIND)


cdef bint is_untouched(object message, PyObject *parts) noexcept:
    """True if nothing in a message was replaced, added or removed since it was read. Only the message, its block and the block's
    list can be changed in place, so their parts are compared by identity. parts: of ``parts_of``; None or NULL where the message
    was made otherwise."""
    cdef PyObject *held[4]
    cdef Py_ssize_t number
    if parts == NULL or type(<object>parts) is not tuple:
        return False
    for number in range(5):
        if in_slot(message, AT[number]) != PyTuple_GET_ITEM(<object>parts, 2 + number):
            return False
    block = <object>PyTuple_GET_ITEM(<object>parts, 6)
    if type(block) is not <object>PyTuple_GET_ITEM(<object>parts, 7):
        return False
    held_of(block, type(block), held)
    for number in range(3):
        if held[number + 1] != PyTuple_GET_ITEM(<object>parts, 8 + number):
            return False
    if held[0] == NULL or type(<object>held[0]) is not list:
        return False
    if PyList_GET_SIZE(<object>held[0]) != PyTuple_GET_SIZE(<object>parts) - 11:
        return False
    for number in range(PyList_GET_SIZE(<object>held[0])):
        if PyList_GET_ITEM(<object>held[0], number) != PyTuple_GET_ITEM(<object>parts, 11 + number):
            return False
    return True


cdef object plain_message(object data, const uint8_t *text, Py_ssize_t size):
    """The message of a text (``data``, as bytes in ``text``) that csp/fast_path.h reads, or None."""
    cdef Result result
    cdef uint8_t copy[ROOM]
    cdef bint exact
    if size == 0 or size > ROOM - CSP_ROOM or text[size - 1] != 10:
        return None
    memcpy(copy, text, size)
    if not read_usual(copy, size, &result):
        return None
    made = message_of(copy, result.row, result.extras, 1, tw_is_ascii(<const char *>copy, size))
    exact = least_size(result.row, result.extras) == size and memchr(copy, 13, size) == NULL
    fill_slot(made, AT_SOURCE, parts_of(made, data, exact))
    return made


cdef object usual_message(object data):
    """The message in ``data`` (str or bytes), if strict reading takes it and only blank lines are beside it; else None."""
    cdef Result result
    cdef Py_ssize_t size
    cdef const uint8_t *text = exact_text(data, &size)
    if text == NULL:
        return None
    made = plain_message(data, text, size)
    if made is not None or size > usual_limits[0]:
        return made
    cdef int64_t most_extras = size // 2 + 1  # the shortest line is a letter and a newline
    cdef int32_t *extras = <int32_t *>malloc(most_extras * 5 * sizeof(int32_t))
    if extras == NULL:
        raise MemoryError
    try:
        if read_one(text, size, &result, extras, most_extras):
            made = message_of(text, result.row, extras, 1, tw_is_ascii(<const char *>text, size))
            fill_slot(made, AT_SOURCE, parts_of(made, data, False))
        return made
    finally:
        free(extras)


# --- writing ----------------------------------------------------------------------------------------------------------


# The put functions write at the end of a draft. Those that return bint say False where ``turnwire.csp.codec`` has to write the
# message instead; the draft is then thrown away.
cdef inline int put(tw_draft *draft, const char *text, Py_ssize_t size) except -1:
    if not tw_draft_put(draft, text, size):
        raise MemoryError
    return 0


cdef inline const char *utf8_of(object text, Py_ssize_t *size) except NULL:
    """The UTF-8 of a str, which lives as long as it, and its size. Raises UnicodeEncodeError for a lone surrogate."""
    if PyUnicode_IS_COMPACT_ASCII(text):
        size[0] = PyUnicode_GET_LENGTH(text)
        return <const char *>PyUnicode_DATA(text)
    return PyUnicode_AsUTF8AndSize(text, size)


cdef inline bint is_inline(const char *text, Py_ssize_t size) noexcept nogil:
    """True if a text has no line feed and does not end with a carriage return, so that it can stand on a key's line."""
    return not (size and (text[size - 1] == c"\r" or tw_has_feed(text, size)))


cdef inline bint put_inline(tw_draft *draft, object value) except -1:
    """Writes a value; False where it is no text that can stand on one line."""
    cdef Py_ssize_t size = 0
    cdef const char *text
    if not PyUnicode_CheckExact(value) and type(value) is not Intent:
        return False
    text = utf8_of(value, &size)
    put(draft, text, size)
    return is_inline(text, size)


cdef inline bint put_header(tw_draft *draft, const char *key, Py_ssize_t size, object message, Py_ssize_t offset) except -1:
    """Writes a line of the header: its key, with the space behind it, and the attribute of the message at ``offset``."""
    cdef PyObject *value = in_slot(message, offset)
    put(draft, key, size)
    if value == NULL or not put_inline(draft, <object>value):
        return False
    return put(draft, b"\n", 1) == 0


cdef int put_heredoc(tw_draft *draft, const char *text, Py_ssize_t size, bint exact) except -1:
    """Writes a heredoc behind a key, as ``turnwire.csp.codec.heredoc`` does. Its run is longer than any line of ``>`` in the text.
    exact: a text without a last newline is marked by ``-``, so that reading gives none."""
    cdef Py_ssize_t run = 3, at = 0, place
    cdef const char *found
    cdef bint ended = size == 0 or text[size - 1] == c"\n"
    while at < size:
        place = at
        while place < size and text[place] == c">":
            place += 1
        if place - at >= run and (
            place == size or text[place] == c"\n"
            or (text[place] == c"\r" and (place + 1 == size or text[place + 1] == c"\n"))
        ):
            run = place - at + 1
        found = <const char *>memchr(text + place, c"\n", size - place)
        if found == NULL:
            break
        at = found - text + 1
    put(draft, b"\n", 1)
    for place in range(run):
        put(draft, b"<", 1)
    if exact and not ended:
        put(draft, b"-", 1)
    put(draft, b"\n", 1)
    put(draft, text, size)
    if not ended:
        put(draft, b"\n", 1)
    for place in range(run):
        put(draft, b">", 1)
    return put(draft, b"\n", 1)


cdef bint put_field(tw_draft *draft, object key, object value, bint known, bint content, bint strict) except -1:
    """Writes a field. known: the specification lists its key; content: its value is always a heredoc; strict: a heredoc ends with
    a newline, even if the value does not."""
    cdef Py_ssize_t size = 0
    cdef const char *text
    if not PyUnicode_CheckExact(value) or not PyUnicode_CheckExact(key):
        return False
    text = utf8_of(key, &size)
    if not size or (not known and csp_key_at(<const uint8_t *>text, 0, size) != size):
        return False
    put(draft, text, size)
    text = utf8_of(value, &size)
    if content or tw_has_feed(text, size):
        return put_heredoc(draft, text, size, not strict) == 0
    if size:
        put(draft, b" ", 1)
        put(draft, text, size)
        if text[size - 1] == c"\r":  # the line ends with CRLF then
            put(draft, b"\r", 1)
    return put(draft, b"\n", 1) == 0


cdef inline int slot_named(tuple names, object key) except -2:
    """The place of a key among those of its block; ``len(names)`` for another key."""
    cdef int slot
    for slot in range(len(names)):
        if names[slot] is key:
            return slot
    for slot in range(len(names)):
        if <str>names[slot] == <str>key:
            return slot
    return <int>len(names)


cdef bint put_fields(tw_draft *draft, object block, int code, bint strict) except -1:
    """Writes the fields of a block, strictly in the order of the specification. code: the intent of a known block, or -1."""
    cdef PyObject *held = in_slot(block, AT_FIELDS)
    cdef tuple names = <tuple>KEYS_OF[code] if code >= 0 else NOTHING
    cdef int slots[MOST_FIELDS]
    cdef int places[MOST_FIELDS]
    cdef Py_ssize_t count, number, place
    cdef int slot
    if held == NULL or type(<object>held) is not list:
        return False
    fields = <list><object>held
    count = len(fields)
    if code >= 0 and count > MOST_FIELDS:
        return False
    for number in range(count):
        field = fields[number]
        if type(field) is not tuple or len(<tuple>field) != 2 or type((<tuple>field)[0]) is not str:
            return False
        if code < 0:
            if not put_field(draft, (<tuple>field)[0], (<tuple>field)[1], False, False, strict):
                return False
            continue
        slot = slot_named(names, (<tuple>field)[0])
        place = number
        while strict and place and slots[place - 1] > slot:
            slots[place], places[place] = slots[place - 1], places[place - 1]
            place -= 1
        slots[place], places[place] = slot, <int>number
    if code >= 0:
        for number in range(count):
            field = fields[places[number]]
            content = code == keys.fileop and (<tuple>field)[0] == CONTENT
            known = slots[number] < len(names)
            if not put_field(draft, (<tuple>field)[0], (<tuple>field)[1], known, content, strict):
                return False
    return True


cdef bint put_head(tw_draft *draft, const char *word, Py_ssize_t size, object block, Py_ssize_t offset) except -1:
    """Writes the word of a block and its id, the attribute at ``offset``."""
    cdef PyObject *name = in_slot(block, offset)
    if name == NULL:
        return False
    put(draft, word, size)
    put(draft, b" ", 1)
    return put_inline(draft, <object>name)


cdef bint put_patch(tw_draft *draft, object block) except -1:
    cdef PyObject *base = in_slot(block, AT_BASE)
    cdef PyObject *apply = in_slot(block, AT_APPLY)
    cdef PyObject *ops = in_slot(block, AT_OPS)
    if base == NULL or apply == NULL or ops == NULL or type(<object>ops) is not list:
        return False
    if not put_head(draft, b"PATCH", 5, block, AT_PATCH_ID):
        return False
    put(draft, b"\nBASE ", 6)
    if not put_inline(draft, <object>base):
        return False
    for op in <list><object>ops:
        if (type(op) is not Op and type(op) is not tuple) or len(<tuple>op) != 3:
            return False
        sign, name, value = (<tuple>op)[0], (<tuple>op)[1], (<tuple>op)[2]
        put(draft, b"\n", 1)
        if not put_inline(draft, sign):
            return False
        put(draft, b" DEF ", 5)
        if not put_inline(draft, name):
            return False
        if value is None:
            continue
        put(draft, b" :=" if sign == CHANGE else b" =", 3 if sign == CHANGE else 2)
        if type(value) is not str:
            return False
        if PyUnicode_GET_LENGTH(value):
            put(draft, b" ", 1)
            if not put_inline(draft, value):
                return False
    put(draft, b"\nAPPLY -> ", 10)
    if not put_inline(draft, <object>apply):
        return False
    return put(draft, b"\n", 1) == 0


cdef bint put_block(tw_draft *draft, object block, bint strict) except -1:
    cdef object kind = type(block)
    cdef PyObject *value
    cdef int code = -1, place
    if kind is Patch:
        return put_patch(draft, block)
    if kind is Generic:
        value = in_slot(block, AT_KIND)
        if value == NULL or not put_inline(draft, <object>value) or <object>value in KNOWN:
            return False
        if not put_head(draft, b"", 0, block, AT_ID):
            return False
    elif kind is FileOp:
        code = keys.fileop
        value = in_slot(block, AT_OP)
        if value == NULL or type(<object>value) is not str or not put_head(draft, b"FILEOP", 6, block, AT_ID):
            return False
        if PyUnicode_GET_LENGTH(<object>value):
            put(draft, b" ", 1)
            if not put_inline(draft, <object>value):
                return False
    else:
        for place in range(8):
            if CLASSES[place] is kind:
                code = place
        if code < 0 or not put_head(draft, <const char *><bytes>HEADS[code], keys.head_size[code], block, AT_ID):
            return False
    put(draft, b"\n", 1)
    return put_fields(draft, block, code, strict)


cdef bint put_message(tw_draft *draft, object message, bint strict) except -1:
    cdef PyObject *block = in_slot(message, AT_BLOCK)
    put(draft, b"CSP/1\n", 6)
    if block == NULL:
        return False
    if not put_header(draft, b"FROM ", 5, message, AT_SENDER) or not put_header(draft, b"TO ", 3, message, AT_RECEIVER):
        return False
    if not put_header(draft, b"CTX ", 4, message, AT_CTX) or not put_header(draft, b"INTENT ", 7, message, AT_INTENT):
        return False
    put(draft, b"\n", 1)
    return put_block(draft, <object>block, strict)


cdef inline Py_ssize_t text_in(PyObject *part, const char **text) except -2:
    """The size of a str as UTF-8, to which ``text`` points then; -1 where ``part`` is no str."""
    cdef Py_ssize_t size = 0
    if part == NULL or not PyUnicode_CheckExact(<object>part):
        return -1
    text[0] = utf8_of(<object>part, &size)
    return size


cdef bint reads_surely(object message) except -1:
    """True if strict reading surely takes the text that a message is written as. Raises UnicodeEncodeError."""
    cdef PyObject *block = in_slot(message, AT_BLOCK)
    cdef PyObject *part = in_slot(message, AT_INTENT)
    cdef const char *text = NULL
    cdef Py_ssize_t size, total = 0
    cdef int code = 0, number
    cdef uint8_t letter = 0
    while code < 8 and PyTuple_GET_ITEM(INTENTS, code) != part:
        code += 1
    if code == 8 or block == NULL or <object>PyTuple_GET_ITEM(CLASSES, code) is not type(<object>block):
        return False
    for number in range(4):
        part = in_slot(message, AT[number])
        if number == 3:
            part = in_slot(<object>block, AT_PATCH_ID if code == keys.patch else AT_ID)
            letter = keys.letter[code]
        size = text_in(part, &text)
        if size < 0 or not (is_id(<uint8_t *>text, 0, size, letter) if letter else csp_is_token(<uint8_t *>text, 0, size, size)):
            return False
        total += size
    size = size_of_changes(<object>block) if code == keys.patch else size_of_fields(<object>block, code)
    return size >= 0 and 4 * (total + size) < usual_limits[0]


cdef Py_ssize_t size_of_fields(object block, int code) except -2:
    """The size of a block's fields as text, or a little more; -1 where strict reading might refuse them."""
    cdef PyObject *fields = in_slot(block, AT_FIELDS)
    cdef const char *text = NULL
    cdef Py_ssize_t size, total = 0
    cdef int slot = 0, way = 0, seen = 0
    cdef bint known = keys.known[code]
    cdef tuple names = <tuple>KEYS_OF[code]
    if fields == NULL or type(<object>fields) is not list or len(<list><object>fields) > usual_limits[1]:
        return -1
    if code == keys.fileop:
        total = text_in(in_slot(block, AT_OP), &text)
        if total < 1 or csp_key_at(<const uint8_t *>text, 0, total) != total:
            return -1
    elif not known and (in_slot(block, AT_KIND) == NULL or <object>in_slot(block, AT_KIND) != WORDS_OF[code]):
        return -1
    for field in <list><object>fields:
        if type(field) is not tuple or len(<tuple>field) != 2 or not PyUnicode_CheckExact((<tuple>field)[0]):
            return -1
        if known:
            slot = slot_named(names, (<tuple>field)[0])
            if slot == len(names) or seen >> slot & 1:
                return -1
            seen |= 1 << slot
            way, size = keys.key[code][slot].way, keys.key[code][slot].size
        else:
            size = text_in(PyTuple_GET_ITEM(field, 0), &text)
            if not 0 < size <= usual_limits[2] or csp_key_at(<uint8_t *>text, 0, size) != size:
                return -1
            if size == 3 and memcmp(text, b"CSP", 3) == 0:
                return -1
        total += size + 16
        size = text_in(PyTuple_GET_ITEM(field, 1), &text)
        if size < 0 or (size and text[size - 1] == c"\r"):
            return -1
        if way == CSP_STATUS or way == CSP_PRIORITY:
            if not in_enum(<const uint8_t *>text, W_PRIORITY if way == CSP_PRIORITY else W_STATUS, 0, size):
                return -1
        total += size
    return total if not known or seen & keys.required[code] == keys.required[code] else -1


cdef Py_ssize_t size_of_changes(object block) except -2:
    """The size of a patch's lines as text, or a little more; -1 where strict reading might refuse them."""
    cdef PyObject *ops = in_slot(block, AT_OPS)
    cdef const char *text = NULL
    cdef Py_ssize_t size, total = 64, at
    cdef char sign
    cdef bint good
    if ops == NULL or type(<object>ops) is not list:
        return -1
    for at in range(2):
        size = text_in(in_slot(block, AT_APPLY if at else AT_BASE), &text)
        if size < 0 or not is_id(<const uint8_t *>text, 0, size, c"C"):
            return -1
    for op in <list><object>ops:
        if (type(op) is not Op and type(op) is not tuple) or len(<tuple>op) != 3:
            return -1
        size = text_in(PyTuple_GET_ITEM(op, 1), &text)
        if size < 1 or behind_name(<const uint8_t *>text, 0, size) != size:
            return -1
        total += size + 16
        if text_in(PyTuple_GET_ITEM(op, 0), &text) != 1:
            return -1
        sign = text[0]
        size = text_in(PyTuple_GET_ITEM(op, 2), &text)
        good = (sign == c"+" or sign == c"~") and size >= 0 and is_inline(text, size)
        if not (good or (sign == c"-" and (<tuple>op)[2] is None)):
            return -1
        total += max(size, 0)
    return total


cdef inline bint is_unwarned(object message) noexcept:
    """True if reading noted no issue on a message."""
    cdef PyObject *issues = in_slot(message, AT_ISSUES)
    return issues != NULL and type(<object>issues) is tuple and PyTuple_GET_SIZE(<object>issues) == 0


cdef object text_of(object message, bint strict):
    """The text of a usual message; None where ``turnwire.csp.codec`` has to write or refuse it. strict: the text is one that strict
    reading takes."""
    cdef tw_draft draft
    cdef PyObject *source
    if type(message) is not CspMessage:
        return None
    if not is_unwarned(message) and (strict or type(message.block) is FileOp):  # its CONTENT may be no heredoc
        return None
    source = in_slot(message, AT_SOURCE)
    if is_untouched(message, source) and <object>PyTuple_GET_ITEM(<object>source, 1) is True:
        read = <object>PyTuple_GET_ITEM(<object>source, 0)
        return read if type(read) is str else (<bytes>read).decode()
    tw_draft_begin(&draft)
    try:
        if not put_message(&draft, message, strict) or (strict and not reads_surely(message)):
            return None
        return span(<uint8_t *>draft.start, 0, tw_draft_size(&draft), tw_is_ascii(draft.start, tw_draft_size(&draft)))
    except UnicodeEncodeError:  # a lone surrogate
        return None
    finally:
        tw_draft_free(&draft)


cdef bint is_doubtful(object block) except -1:
    """True if ``turnwire.csp.codec.doubts`` may have something to say of a block that reads strictly."""
    cdef PyObject *op
    if type(block) is not FileOp:
        return False
    op = in_slot(block, AT_OP)
    if op == NULL or <object>op not in FILE_OPS:
        return True
    if <object>op == DELETE:
        return False
    for field in <list><object>in_slot(block, AT_FIELDS):  # a list, or it would not have been read or written here
        if <str>(<tuple>field)[0] == CONTENT:
            return False
    return True


cdef bint clean(object message) except -1:
    """True if ``check`` surely says nothing about a message."""
    if type(message) is not CspMessage or not is_unwarned(message):
        return False
    try:
        sure = is_untouched(message, in_slot(message, AT_SOURCE)) or reads_surely(message)
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return sure and not is_doubtful(<object>in_slot(message, AT_BLOCK))
