# Reads, writes and checks one usual CSP/1 message without a call of Python: text -> CspMessage, CspMessage -> text, and whether
# `check` has nothing to say. Included by csp/codec.pyx. Where anything is unusual, these functions answer None or False, and
# turnwire.csp.codec, which has the rules, does the work.
#
# Rows and extras are those of csp/scanner.pxi. AT_... are the places of attributes (slots) in the objects of turnwire.csp.messages.

cdef enum:
    FEW = 64  # extras for which there is room
    ROOM = 2048  # bytes of text for which there is
    CSP_ROOM = 32  # bytes behind a text that csp/fast_path.h may read
    MOST_FIELDS = 6  # of a known block

cdef struct Result:  # what is read of one message
    int32_t row[24]
    int32_t extras[5 * FEW]
    int64_t count  # of these

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
cdef dict SIGNS = {ord(sign): sign for sign in "+~-"}
cdef object FILE_OPS = frozenset(_spec.FILE_OPS)
cdef str CONTENT = KEYS_OF[keys.fileop][KEYS_OF[keys.fileop].index("CONTENT")], DELETE = "DELETE"
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
    reading.keys, reading.data = &keys, data
    reading.most_bytes, reading.most_fields, reading.most_key = usual_limits[0], FEW, usual_limits[2]
    reading.place = reading.next = reading.number = 0
    if csp_fast(&window, &reading, result.row, 1, &why) != 1 or reading.place < size:
        return False
    result.count = 0
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
        if result.count == FEW:
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
        result.count += 1
        start = end + 1
    return True


# Behind this, ``is_ascii`` says that all of the text is ASCII: its parts are then copied, not decoded.
cdef inline object span(const uint8_t *data, int64_t start, int64_t length, bint is_ascii):
    return tw_ascii(data + start, length) if is_ascii else PyUnicode_DecodeUTF8(<const char *>data + start, length, NULL)


cdef PyObject *met_fields[8][6]  # by intent and slot


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
    fields = PyList_New(count)
    for place in range(count):
        slot = slots[place]
        value = span(data, row[12 + 2 * slot], row[13 + 2 * slot], is_ascii)
        field = tw_pair(PyTuple_GET_ITEM(names, slot), value, &met_fields[code][slot])
        Py_INCREF(field)
        PyList_SET_ITEM(fields, place, field)
    return fields


cdef object block_of(const uint8_t *data, const int32_t *row, const int32_t *extra, int64_t count, bint is_ascii):
    """The block of a row and of so many extras."""
    cdef int code = row[3], number
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
        for number in range(count):
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
    for number in range(count):
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


cdef object message_of(const uint8_t *data, const int32_t *row, const int32_t *extras, int64_t count, bint is_ascii):
    """The message of a row and of so many extras; its line is the first one."""
    made = new_object(CspMessage, 0)
    fill_slot(made, AT_SENDER, span(data, row[4], row[5], is_ascii))
    fill_slot(made, AT_RECEIVER, span(data, row[6], row[7], is_ascii))
    fill_slot(made, AT_CTX, span(data, row[8], row[9], is_ascii))
    fill_slot(made, AT_INTENT, INTENTS[row[3]])
    fill_slot(made, AT_BLOCK, block_of(data, row, extras, count, is_ascii))
    fill_slot(made, AT_LINE, 1)
    fill_slot(made, AT_ISSUES, NOTHING)
    return made


cdef int64_t least_size(const int32_t *row, const int32_t *extras, int64_t count) noexcept nogil:
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
    for slot in range(count):
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
    made = message_of(copy, result.row, result.extras, result.count, tw_is_ascii(copy, size))
    exact = least_size(result.row, result.extras, result.count) == size and memchr(copy, 13, size) == NULL
    fill_slot(made, AT_SOURCE, parts_of(made, data, exact))
    return made


cdef object usual_message(object data):
    """The message in ``data`` (str or bytes), if strict reading takes it and only blank lines are behind it; else None."""
    cdef Py_ssize_t size
    cdef int64_t stop = 0
    cdef csp_closings closings
    cdef tw_fence none
    cdef const uint8_t *text = exact_text(data, &size)
    if text == NULL:
        return None
    made = plain_message(data, text, size)
    if made is not None or size > usual_limits[0]:
        return made
    memset(&closings, 0, sizeof(closings))
    memset(&none, 0, sizeof(none))
    try:
        made = message_at(text, 0, size, usual_limits, none, &closings, &stop)
    finally:
        free(closings.lines)
    if made is None or not is_blank_behind(text, stop, size):
        return None
    fill_slot(made, AT_SOURCE, parts_of(made, data, False))
    return made


cdef bint is_blank_behind(const uint8_t *text, int64_t place, int64_t size) noexcept nogil:
    """True if only blank lines are at a place, the start of a line, and behind it."""
    while place < size:
        if text[place] == 13 and place + 1 < size and text[place + 1] == 10:
            place += 2
        elif text[place] == 32 or text[place] == 9 or text[place] == 10:
            place += 1
        else:
            return False
    return True


cdef object message_at(
    const uint8_t *data, int64_t place, int64_t size, const int64_t *limits, tw_fence fence, csp_closings *closings,
    int64_t *stop
):
    """The message that begins at a place, and in ``stop`` the end of its block; None where strict reading takes none there. fence:
    the one that is open; closings: what is known of the text, and will be."""
    cdef Scanner s
    cdef Line first
    cdef int32_t row[24]
    cdef int32_t few[5 * FEW]
    cdef int32_t *extras = few
    cdef int32_t *memory = NULL
    cdef int64_t room = FEW
    cdef int intent = 0, found = FULL
    try:
        while found == FULL:
            start_scanner(&s, data, place, size, True, limits)
            s.own.fence, s.closings, s.extras, s.most_extras = fence, closings[0], extras, room
            memset(row, 0xFF, sizeof(row))
            if next_line(&s, &first) != OK or not is_magic(data, &first):
                return None
            found = read_message(&s, &first, row, &intent, stop)
            closings[0] = s.closings
            if found == FULL:  # with more room it is read once more
                room *= 16
                free(memory)
                extras = memory = <int32_t *>malloc(room * 5 * sizeof(int32_t))
                if memory == NULL:
                    raise MemoryError
        if found != OK or csp_bad_utf8(data, place, stop[0]) >= 0:
            return None
        row[3] = intent
        return message_of(data, row, extras, s.extra_count, tw_is_ascii(data + place, stop[0] - place))
    finally:
        free(memory)


NO_LIMIT = (1 << 62, 1 << 62, 1 << 62)


cdef class Messages:
    """Reads the messages of a text, each by its place. limits: bytes of a message, fields of a generic block, bytes of a key.
    Raises ValueError for 2 GiB or more."""

    cdef bytes data
    cdef int64_t limits[3]
    cdef csp_closings closings

    def __cinit__(self, bytes data not None, tuple limits=NO_LIMIT):
        if len(data) >= <int64_t>1 << 31:
            raise ValueError("a text of 2 GiB or more cannot be read at once: spans are 32 bits wide")
        self.data = data
        self.limits[0], self.limits[1], self.limits[2] = limits
        memset(&self.closings, 0, sizeof(self.closings))

    def __dealloc__(self):
        free(self.closings.lines)

    def at(self, Py_ssize_t place, bytes fence=b""):
        """(end of its block, message) of the message that begins with the line at ``place``; None where strict reading takes
        none there. fence: the run of the one that is open; the message's own line is the first."""
        cdef const uint8_t *text = self.data
        cdef int64_t stop = 0
        cdef tw_fence open
        memset(&open, 0, sizeof(open))
        if fence:
            open = tw_fence_after(open, <const uint8_t *>PyBytes_AS_STRING(fence), 0, len(fence))
        if not 0 <= place <= len(self.data):
            raise ValueError("the place is not in the text")
        made = message_at(text, place, len(self.data), self.limits, open, &self.closings, &stop)
        return None if made is None else (stop, made)


# --- writing ----------------------------------------------------------------------------------------------------------


cdef struct Writer:
    tw_draft draft
    bint ascii  # all that was written


# The put functions write at the end of a draft. Those that return bint say False where ``turnwire.csp.codec`` has to write or to
# refuse the message instead; the draft is then thrown away. What they write is surely what strict reading takes.
cdef inline int put(Writer *w, const char *text, Py_ssize_t size) except -1:
    if not tw_draft_put(&w.draft, text, size):
        raise MemoryError
    return 0


cdef inline const char *utf8_of(Writer *w, PyObject *text, Py_ssize_t *size) except NULL:
    """The UTF-8 of a str, which lives as long as it, and its size. Raises UnicodeEncodeError for a lone surrogate."""
    if PyUnicode_IS_ASCII(<object>text):
        size[0] = PyUnicode_GET_LENGTH(<object>text)
        return <const char *>PyUnicode_DATA(<object>text)
    w.ascii = False
    return PyUnicode_AsUTF8AndSize(<object>text, size)


cdef enum:  # forms of a value in one line; else the letter of an id
    A_TOKEN = 0
    ANY_LINE = 1
    A_KEY = 2
    A_NAME = 3


cdef inline bint put_value(Writer *w, PyObject *value, uint8_t form) except -1:
    """Writes a value; False where it is no text of a form."""
    cdef Py_ssize_t size = 0
    cdef const char *text
    if value == NULL or not (PyUnicode_CheckExact(<object>value) or type(<object>value) is Intent):
        return False
    text = utf8_of(w, value, &size)
    put(w, text, size)
    if form == A_TOKEN:
        return csp_is_token(<uint8_t *>text, 0, size, size)
    if form == A_KEY:
        return size > 0 and csp_key_at(<uint8_t *>text, 0, size) == size
    if form == A_NAME:
        return size > 0 and behind_name(<uint8_t *>text, 0, size) == size
    if form != ANY_LINE:
        return is_id(<uint8_t *>text, 0, size, form)
    return not size or (text[size - 1] != c"\r" and not tw_has_feed(text, size))


cdef inline bint put_line(Writer *w, const char *key, Py_ssize_t size, PyObject *value, uint8_t form) except -1:
    """Writes a line: a key, with the space behind it, and its value."""
    put(w, key, size)
    return put_value(w, value, form) and put(w, b"\n", 1) == 0


cdef int put_heredoc(Writer *w, const char *text, Py_ssize_t size) except -1:
    """Writes a heredoc behind a key, as ``turnwire.csp.codec.heredoc`` does. Its run is longer than any line of ``>`` in the text."""
    cdef Py_ssize_t run = 3, at = 0, place
    cdef const char *found
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
    put(w, b"\n", 1)
    for place in range(run):
        put(w, b"<", 1)
    put(w, b"\n", 1)
    put(w, text, size)
    if size and text[size - 1] != c"\n":
        put(w, b"\n", 1)
    for place in range(run):
        put(w, b">", 1)
    return put(w, b"\n", 1)


cdef bint put_field(Writer *w, PyObject *field, const csp_key *known) except -1:
    """Writes a field, a tuple of its key and value. known: its key in the specification, or NULL for a block of any keys."""
    cdef PyObject *key = PyTuple_GET_ITEM(<object>field, 0)
    cdef PyObject *value = PyTuple_GET_ITEM(<object>field, 1)
    cdef Py_ssize_t size = 0
    cdef const char *text
    if not PyUnicode_CheckExact(<object>value) or not put_value(w, key, ANY_LINE if known != NULL else A_KEY):
        return False
    if known == NULL and (PyUnicode_GET_LENGTH(<object>key) > usual_limits[2] or <str>key == "CSP"):
        return False
    text = utf8_of(w, value, &size)
    if size and text[size - 1] == c"\r":
        return False
    if known != NULL and (known.way == CSP_STATUS or known.way == CSP_PRIORITY):
        if not in_enum(<const uint8_t *>text, W_PRIORITY if known.way == CSP_PRIORITY else W_STATUS, 0, size):
            return False
    if (known != NULL and known.way == CSP_HEREDOC) or tw_has_feed(text, size):
        return put_heredoc(w, text, size) == 0
    if size:
        put(w, b" ", 1)
        put(w, text, size)
    return put(w, b"\n", 1) == 0


cdef inline int slot_named(tuple names, PyObject *key) except -2:
    """The place of a key among those of its block; ``len(names)`` for another key."""
    cdef int slot
    for slot in range(<int>PyTuple_GET_SIZE(names)):
        if PyTuple_GET_ITEM(names, slot) == key:
            return slot
    for slot in range(<int>PyTuple_GET_SIZE(names)):
        if <str>names[slot] == <str>key:
            return slot
    return <int>PyTuple_GET_SIZE(names)


cdef bint put_fields(Writer *w, object block, int code) except -1:
    """Writes the fields of a block, those of a known one in the order of the specification."""
    cdef PyObject *held = in_slot(block, AT_FIELDS)
    cdef tuple names = <tuple>KEYS_OF[code]
    cdef PyObject *fields[MOST_FIELDS]
    cdef PyObject *field
    cdef Py_ssize_t count, number
    cdef int slot, known = <int>PyTuple_GET_SIZE(names)
    if held == NULL or type(<object>held) is not list:
        return False
    count = PyList_GET_SIZE(<object>held)
    if count > usual_limits[1]:
        return False
    memset(fields, 0, sizeof(fields))
    for number in range(count):
        field = PyList_GET_ITEM(<object>held, number)
        if type(<object>field) is not tuple or PyTuple_GET_SIZE(<object>field) != 2:
            return False
        if not PyUnicode_CheckExact(<object>PyTuple_GET_ITEM(<object>field, 0)):
            return False
        if not known:
            if not put_field(w, field, NULL):
                return False
            continue
        slot = slot_named(names, PyTuple_GET_ITEM(<object>field, 0))
        if slot == known or fields[slot] != NULL:
            return False
        fields[slot] = field
    for slot in range(known):
        if fields[slot] == NULL:
            if keys.required[code] >> slot & 1:
                return False
        elif not put_field(w, fields[slot], &keys.key[code][slot]):
            return False
    return True


cdef bint put_changes(Writer *w, object block) except -1:
    """Writes the lines of a PATCH behind the first one."""
    cdef PyObject *ops = in_slot(block, AT_OPS)
    cdef PyObject *value
    cdef Py_ssize_t size = 0
    cdef const char *text
    if ops == NULL or type(<object>ops) is not list or not put_line(w, b"BASE ", 5, in_slot(block, AT_BASE), c"C"):
        return False
    for op in <list><object>ops:
        if (type(op) is not Op and type(op) is not tuple) or PyTuple_GET_SIZE(op) != 3:
            return False
        value = PyTuple_GET_ITEM(op, 2)
        if not put_value(w, PyTuple_GET_ITEM(op, 0), ANY_LINE):
            return False
        text = utf8_of(w, PyTuple_GET_ITEM(op, 0), &size)
        if size != 1 or not (text[0] == c"-" if <object>value is None else text[0] == c"+" or text[0] == c"~"):
            return False
        put(w, b" DEF ", 5)
        if not put_value(w, PyTuple_GET_ITEM(op, 1), A_NAME):
            return False
        if <object>value is not None:
            put(w, b" :=" if text[0] == c"~" else b" =", 3 if text[0] == c"~" else 2)
            if type(<object>value) is not str:
                return False
            if PyUnicode_GET_LENGTH(<object>value):
                put(w, b" ", 1)
                if not put_value(w, value, ANY_LINE):
                    return False
        put(w, b"\n", 1)
    return put_line(w, b"APPLY -> ", 9, in_slot(block, AT_APPLY), c"C")


cdef bint put_block(Writer *w, object block, int code) except -1:
    """Writes the block of a message whose intent has this code."""
    cdef object kind = type(block)
    if kind is Generic and (in_slot(block, AT_KIND) == NULL or <object>in_slot(block, AT_KIND) != WORDS_OF[code]):
        return False
    put(w, PyBytes_AS_STRING(HEADS[code]), keys.head_size[code])
    put(w, b" ", 1)
    if kind is Patch:
        return put_line(w, b"", 0, in_slot(block, AT_PATCH_ID), keys.letter[code]) and put_changes(w, block)
    if not put_value(w, in_slot(block, AT_ID), keys.letter[code]):
        return False
    if kind is FileOp:
        put(w, b" ", 1)
        if not put_value(w, in_slot(block, AT_OP), A_KEY):
            return False
    put(w, b"\n", 1)
    return put_fields(w, block, code)


cdef bint put_message(Writer *w, object message) except -1:
    """Begins a draft and writes a message."""
    cdef PyObject *block = in_slot(message, AT_BLOCK)
    cdef PyObject *intent = in_slot(message, AT_INTENT)
    cdef int code = 0
    tw_draft_begin(&w.draft)
    w.ascii = True
    while code < 8 and PyTuple_GET_ITEM(INTENTS, code) != intent:
        code += 1
    if block == NULL or code == 8 or <object>PyTuple_GET_ITEM(CLASSES, code) is not type(<object>block):
        return False
    if not put_line(w, b"CSP/1\nFROM ", 11, in_slot(message, AT_SENDER), A_TOKEN):
        return False
    if not put_line(w, b"TO ", 3, in_slot(message, AT_RECEIVER), A_TOKEN):
        return False
    if not put_line(w, b"CTX ", 4, in_slot(message, AT_CTX), A_TOKEN) or not put_line(w, b"INTENT ", 7, intent, A_TOKEN):
        return False
    put(w, b"\n", 1)
    return put_block(w, <object>block, code) and 4 * <int64_t>tw_draft_size(&w.draft) < usual_limits[0]


cdef inline bint is_unwarned(object message) noexcept:
    """True if reading noted no issue on a message."""
    cdef PyObject *issues = in_slot(message, AT_ISSUES)
    return issues != NULL and type(<object>issues) is tuple and PyTuple_GET_SIZE(<object>issues) == 0


cdef object text_of(object message, bint strict):
    """The text of a usual message; None where ``turnwire.csp.codec`` has to write or refuse it. strict: the text is one that strict
    reading takes."""
    cdef Writer w
    cdef PyObject *source
    if type(message) is not CspMessage or not is_unwarned(message):
        return None
    source = in_slot(message, AT_SOURCE)
    if is_untouched(message, source) and <object>PyTuple_GET_ITEM(<object>source, 1) is True:
        read = <object>PyTuple_GET_ITEM(<object>source, 0)
        return read if type(read) is str else (<bytes>read).decode()
    if not strict:
        return None
    try:
        if not put_message(&w, message):
            return None
        return span(<uint8_t *>w.draft.start, 0, tw_draft_size(&w.draft), w.ascii)
    except UnicodeEncodeError:  # a lone surrogate
        return None
    finally:
        tw_draft_free(&w.draft)


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
    cdef Writer w
    if type(message) is not CspMessage or not is_unwarned(message):
        return False
    if not is_untouched(message, in_slot(message, AT_SOURCE)):
        try:
            if not put_message(&w, message):
                return False
        except UnicodeEncodeError:  # a lone surrogate
            return False
        finally:
            tw_draft_free(&w.draft)
    return not is_doubtful(<object>in_slot(message, AT_BLOCK))
