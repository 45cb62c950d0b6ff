# Messages as objects, read in one go. Included by csp/codec.pyx; the rules, and what is rare, are in
# ``csp/_objects_py.py`` and ``turnwire/csp``: what is here says None where it is not sure.

cdef enum:
    FEW = 64  # extras that stand on the stack
    ROOM = 2048  # bytes of a text that do
    CSP_ROOM = 32  # bytes behind a text that csp/fast_path.h reads on into
    MOST_FIELDS = 8  # of a known block, that are put in order here

cdef struct Result:
    int32_t row[2 * 24]
    int32_t reject[6]
    int32_t few[5 * FEW]
    int32_t *extras

cdef object CspMessage = _messages.CspMessage
cdef object Generic = _messages.Generic
cdef object FileOp = _messages.FileOp
cdef object Patch = _messages.Patch
cdef object Op = _messages.Op
cdef object Intent = _spec.Intent
cdef tuple INTENTS = tuple(_spec.Intent)
cdef tuple WORDS_OF = tuple([_spec.BLOCK_WORD[intent] for intent in _spec.INTENTS])
cdef dict BY_WORD = {"TASK": _messages.Task, "RESULT": _messages.Result, "ERROR": _messages.Error}
cdef tuple CLASSES = tuple([BY_WORD.get(word) for word in WORDS_OF])
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
cdef Py_ssize_t AT_ISSUES = slot_offset(CspMessage.issues), AT_SOURCE = slot_offset(CspMessage._source)
cdef Py_ssize_t AT_ID = slot_offset(_messages.Block.id), AT_FIELDS = slot_offset(_messages.Block.fields)
cdef Py_ssize_t AT_OP = slot_offset(FileOp.op), AT_KIND = slot_offset(Generic.kind)
cdef Py_ssize_t AT_PATCH_ID = slot_offset(Patch.id), AT_BASE = slot_offset(Patch.base)
cdef Py_ssize_t AT_OPS = slot_offset(Patch.ops), AT_APPLY = slot_offset(Patch.apply)

cdef int64_t usual_limits[3]
take_limits((_LIMITS.message, _LIMITS.fields, _LIMITS.key), usual_limits)


# --- reading --------------------------------------------------------------------------------------------------------


cdef bint read_usual(uint8_t *data, int64_t size, Result *result) noexcept nogil:
    """Whether csp/fast_path.h takes the text, with a line feed behind it, as one message. ``data`` has room for CSP_ROOM
    bytes behind the text, which are written over."""
    cdef csp_window window
    cdef csp_reading reading
    cdef int why
    cdef const int32_t *row = result.row
    memset(data + size, 0, CSP_ROOM)
    data[size] = 10
    csp_fill(&window, find_lines, data, 0, size + CSP_ROOM)
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
    """The extras of lines that are good; False where there are too many."""
    cdef int32_t *extra = result.few
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


cdef bint read_one(const uint8_t *data, int64_t size, Result *result) except -1:
    """Whether the text is one message that strict reading takes, and nothing else but blank lines.

    ``result.extras`` is to be freed where it is not ``result.few``."""
    cdef Scanner scanner
    cdef int64_t state[4]
    cdef int64_t most_extras = FEW
    cdef int outcome
    if size > usual_limits[0]:
        return False
    memset(state, 0, sizeof(state))
    while True:
        start_scanner(&scanner, data, 0, size, True, usual_limits, state, find_lines)
        scanner.rows, scanner.extras, scanner.rejects = result.row, result.extras, result.reject
        scanner.most_rows, scanner.most_extras, scanner.most_rejects = 2, most_extras, 1
        outcome = run_scanner(&scanner)
        if outcome == NO_MEMORY:
            raise MemoryError
        if scanner.place >= size:
            return scanner.row_count == 1 and scanner.reject_count == 0 and result.row[3] < TEMPLATE
        if most_extras > FEW or scanner.row_count or scanner.reject_count:
            return False
        most_extras = size // 2 + FEW  # the shortest is a letter and a newline
        result.extras = <int32_t *>malloc(most_extras * 5 * sizeof(int32_t))
        if result.extras == NULL:
            result.extras = result.few
            raise MemoryError


cdef inline object span(const uint8_t *data, int64_t start, int64_t length, bint is_ascii):
    if not is_ascii:
        return PyUnicode_DecodeUTF8(<const char *>data + start, length, NULL)
    text = PyUnicode_New(length, 127)
    memcpy(PyUnicode_DATA(text), data + start, length)
    return text


cdef inline bint all_ascii(const uint8_t *data, int64_t size) noexcept nogil:
    cdef uint64_t high = 0
    cdef int64_t at = 0
    while at + 8 <= size:
        high |= csp_load(data + at)
        at += 8
    while at < size:
        high |= data[at]
        at += 1
    return (high & 0x8080808080808080ULL) == 0


cdef inline tuple pair(object key, object value):
    return (key, value)


cdef object known_fields(const uint8_t *data, const int32_t *row, int code, bint is_ascii):
    """The fields of a known block in the order of the text."""
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
        fields.append(pair(names[slot], span(data, row[12 + 2 * slot], row[13 + 2 * slot], is_ascii)))
    return fields


cdef object block_of(const uint8_t *data, const int32_t *row, const int32_t *extras, int code, bint is_ascii):
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
        fields.append(pair(span(data, extra[1], extra[2], is_ascii), span(data, extra[3], extra[4], is_ascii)))
        extra += 5
    fill_slot(block, AT_KIND, WORDS_OF[code])
    fill_slot(block, AT_ID, name)
    fill_slot(block, AT_FIELDS, fields)
    return block


cdef inline void set_item(object op, Py_ssize_t place, object value):
    Py_INCREF(value)
    PyTuple_SET_ITEM(op, place, value)


cdef object message_of(const uint8_t *data, const int32_t *row, const int32_t *extras, int64_t line, bint is_ascii):
    """The message of a row; ``line`` is that of the first byte of the data."""
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
    """The bytes of a message whose values stand on their keys' lines, without what writing leaves out. csp/fast_path.h takes
    fields in the order of writing only, so a text without carriage returns that is no longer is what writing gives."""
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


cdef tuple parts_of(object message, object source):
    """A text and all that the message has of it, as ``is_untouched`` compares it."""
    cdef object block = <object>in_slot(message, AT_BLOCK)
    cdef object kind = type(block)
    cdef PyObject *held[4]
    cdef list inner
    cdef tuple parts
    cdef Py_ssize_t number
    held_of(block, kind, held)
    inner = <list><object>held[0]
    parts = PyTuple_New(10 + PyList_GET_SIZE(inner))
    set_item(parts, 0, source)
    set_item(parts, 1, <object>in_slot(message, AT_SENDER))
    set_item(parts, 2, <object>in_slot(message, AT_RECEIVER))
    set_item(parts, 3, <object>in_slot(message, AT_CTX))
    set_item(parts, 4, <object>in_slot(message, AT_INTENT))
    set_item(parts, 5, block)
    set_item(parts, 6, kind)
    for number in range(3):
        set_item(parts, 7 + number, <object>held[number + 1])
    for number in range(PyList_GET_SIZE(inner)):
        set_item(parts, 10 + number, <object>PyList_GET_ITEM(inner, number))
    return parts


cdef inline void held_of(object block, object kind, PyObject **held) noexcept:
    """What a block of that class holds: its list, and three values, None where it has fewer. NULL where one is missing."""
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


cdef bint is_untouched(object message, tuple parts) noexcept:
    """Whether the message has what was read, and nothing else: none of that can be changed in place but the block and
    its list, of which each part is compared."""
    cdef PyObject *held[4]
    cdef PyObject *block = PyTuple_GET_ITEM(parts, 5)
    cdef Py_ssize_t number
    if (
        in_slot(message, AT_SENDER) != PyTuple_GET_ITEM(parts, 1) or in_slot(message, AT_RECEIVER) != PyTuple_GET_ITEM(parts, 2)
        or in_slot(message, AT_CTX) != PyTuple_GET_ITEM(parts, 3) or in_slot(message, AT_INTENT) != PyTuple_GET_ITEM(parts, 4)
        or in_slot(message, AT_BLOCK) != block or type(<object>block) is not <object>PyTuple_GET_ITEM(parts, 6)
    ):
        return False
    held_of(<object>block, <object>PyTuple_GET_ITEM(parts, 6), held)
    for number in range(3):
        if held[number + 1] != PyTuple_GET_ITEM(parts, 7 + number):
            return False
    if held[0] == NULL or type(<object>held[0]) is not list:
        return False
    if PyList_GET_SIZE(<object>held[0]) != PyTuple_GET_SIZE(parts) - 10:
        return False
    for number in range(PyList_GET_SIZE(<object>held[0])):
        if PyList_GET_ITEM(<object>held[0], number) != PyTuple_GET_ITEM(parts, 10 + number):
            return False
    return True


def usual_message(data):
    """The message, where ``data`` (str or bytes) is one that strict reading takes and blank lines; else None."""
    cdef Result result
    cdef uint8_t copy[ROOM]
    cdef Py_ssize_t size = 0
    cdef const uint8_t *text
    if type(data) is bytes:
        text = <const uint8_t *><const char *>data
        size = len(<bytes>data)
    elif type(data) is str:
        try:
            text = <const uint8_t *>PyUnicode_AsUTF8AndSize(data, &size)
        except UnicodeEncodeError:
            return None
    else:
        return None
    result.extras = result.few
    if size <= ROOM - CSP_ROOM:
        memcpy(copy, text, size)
        if size and copy[size - 1] == 10 and read_usual(copy, size, &result):
            made = message_of(copy, result.row, result.few, 1, all_ascii(copy, size))
            if least_size(result.row, result.few) == size and memchr(copy, 13, size) == NULL:
                fill_slot(made, AT_SOURCE, parts_of(made, data))
            elif result.row[1] == size:
                fill_slot(made, AT_SOURCE, data)
            return made
    try:
        if not read_one(text, size, &result):
            return None
        made = message_of(text, result.row, result.extras, 1, all_ascii(text, size))
        if result.row[1] == size:
            fill_slot(made, AT_SOURCE, data)
        return made
    finally:
        if result.extras != result.few:
            free(result.extras)
