# Messages written and found clean in one go. Included by csp/codec.pyx; the rules, and what is rare, are in
# ``csp/_objects_py.py`` and ``turnwire/csp``: what is here says None, or False, where it is not sure.


cdef inline int put(tw_draft *draft, const char *text, Py_ssize_t size) except -1:
    if not tw_put(draft, text, size):
        raise MemoryError
    return 0


cdef inline const char *utf8_of(object text, Py_ssize_t *size) except NULL:
    if PyUnicode_IS_COMPACT_ASCII(text):
        size[0] = PyUnicode_GET_LENGTH(text)
        return <const char *>PyUnicode_DATA(text)
    return PyUnicode_AsUTF8AndSize(text, size)


cdef inline bint is_inline(const char *text, Py_ssize_t size) noexcept nogil:
    return not (size and (text[size - 1] == c"\r" or tw_has_feed(text, size)))


cdef inline bint put_inline(tw_draft *draft, object value) except -1:
    """Whether the value is text that stands on one line; then it was written."""
    cdef Py_ssize_t size = 0
    cdef const char *text
    if not PyUnicode_CheckExact(value) and type(value) is not Intent:
        return False
    text = utf8_of(value, &size)
    put(draft, text, size)
    return is_inline(text, size)


cdef inline bint put_header(tw_draft *draft, const char *key, Py_ssize_t size, object message, Py_ssize_t offset) except -1:
    cdef PyObject *value = in_slot(message, offset)
    put(draft, key, size)
    if value == NULL or not put_inline(draft, <object>value):
        return False
    return put(draft, b"\n", 1) == 0


cdef bint put_heredoc(tw_draft *draft, const char *text, Py_ssize_t size) except -1:
    """As ``turnwire.csp.writer.heredoc``: the key's line is written, the heredoc follows."""
    cdef Py_ssize_t run = 3, at = 0, place
    cdef const char *found
    cdef bint chomped = size > 0 and text[size - 1] != c"\n"
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
    put(draft, b"-\n" if chomped else b"\n", 2 if chomped else 1)
    put(draft, text, size)
    if chomped:
        put(draft, b"\n", 1)
    for place in range(run):
        put(draft, b">", 1)
    put(draft, b"\n", 1)
    return True


cdef bint put_field(tw_draft *draft, object key, object value, bint known, bint content) except -1:
    """known: the key is one of the block's; content: a heredoc is to be written whatever the value is."""
    cdef Py_ssize_t size = 0
    cdef const char *text
    if not PyUnicode_CheckExact(value) or not PyUnicode_CheckExact(key):
        return False
    text = utf8_of(key, &size)
    if not known and key_length(<const uint8_t *>text, 0, size) != size:
        return False
    if not size:
        return False
    put(draft, text, size)
    text = utf8_of(value, &size)
    if content or not is_inline(text, size):
        return put_heredoc(draft, text, size)
    if size:
        put(draft, b" ", 1)
        put(draft, text, size)
    return put(draft, b"\n", 1) == 0


cdef inline int slot_named(tuple names, object key) except -2:
    """The place of a key among those of its block, or how many these are."""
    cdef int slot
    for slot in range(len(names)):
        if names[slot] is key:
            return slot
    for slot in range(len(names)):
        if <str>names[slot] == <str>key:
            return slot
    return <int>len(names)


cdef bint put_fields(tw_draft *draft, object block, int code, bint strict) except -1:
    """code: the intent of a known block, or -1. Strict writes the fields in the order of the specification."""
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
            if not put_field(draft, (<tuple>field)[0], (<tuple>field)[1], False, False):
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
            if not put_field(draft, (<tuple>field)[0], (<tuple>field)[1], known, content):
                return False
    return True


cdef bint put_head(tw_draft *draft, const char *word, Py_ssize_t size, object block, Py_ssize_t offset) except -1:
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


cdef inline object source_of(const tw_draft *draft, object message):
    """The text that the message was read from, a str or bytes, where what was written is that text; else None. Strict
    reading took it, so nobody need read it back, whatever became of the message in between."""
    cdef PyObject *source = in_slot(message, AT_SOURCE)
    cdef Py_ssize_t size = 0
    cdef const char *text
    if source == NULL:
        return None
    if type(<object>source) is tuple:
        source = PyTuple_GET_ITEM(<object>source, 0)
    if type(<object>source) is bytes:
        text, size = <const char *><bytes><object>source, len(<bytes><object>source)
    else:
        text = utf8_of(<object>source, &size)
    if size != <Py_ssize_t>tw_draft_size(draft) or memcmp(text, draft.start, size) != 0:
        return None
    return <object>source


cdef bint reads_back(tw_draft *draft, object message) except -1:
    """Whether strict reading takes what was written, as one message and to its end."""
    cdef Result result
    cdef Py_ssize_t size = tw_draft_size(draft)
    if source_of(draft, message) is not None:
        return True
    result.extras = result.few
    if size > usual_limits[0]:
        return False
    if read_usual(<uint8_t *>draft.start, size, &result):  # there is slack behind every draft
        return result.row[1] == size
    try:
        return read_one(<const uint8_t *>draft.start, size, &result) and result.row[1] == size
    finally:
        if result.extras != result.few:
            free(result.extras)


cdef inline bint is_unwarned(object message) noexcept:
    cdef PyObject *issues = in_slot(message, AT_ISSUES)
    return issues != NULL and type(<object>issues) is tuple and PyTuple_GET_SIZE(<object>issues) == 0


def usual_text(message, bint strict):
    """The text of a usual message, judged where ``strict``; None for others and for what is wrong."""
    return text_of(message, strict)


cdef object text_of(object message, bint strict):
    cdef tw_draft draft
    cdef PyObject *source
    if type(message) is not CspMessage:
        return None
    if not is_unwarned(message) and (strict or type(message.block) is FileOp):  # of which CONTENT may be written bare
        return None
    source = in_slot(message, AT_SOURCE)
    if source != NULL and type(<object>source) is tuple and is_untouched(message, <tuple><object>source):
        read = <object>PyTuple_GET_ITEM(<object>source, 0)
        return read if type(read) is str else str_of(<const char *><bytes>read, len(<bytes>read))
    tw_draft_begin(&draft)
    try:
        if not put_message(&draft, message, strict):
            return None
        if strict and not reads_back(&draft, message):
            return None
        return str_of(draft.start, tw_draft_size(&draft))
    except UnicodeEncodeError:  # a lone surrogate
        return None
    finally:
        tw_draft_free(&draft)


cdef inline object str_of(const char *text, size_t size):
    """What was written, as a str."""
    if not tw_is_ascii(text, size):
        return PyUnicode_DecodeUTF8(text, size, NULL)
    made = PyUnicode_New(size, 127)
    memcpy(PyUnicode_DATA(made), text, size)
    return made


cdef bint is_doubtful(object block) except -1:
    """Whether ``turnwire.csp.codec.doubts`` may have something to say of a block that reads strictly."""
    cdef PyObject *op
    if type(block) is not FileOp:
        return False
    op = in_slot(block, AT_OP)
    if op == NULL or <object>op not in FILE_OPS:
        return True
    return <object>op != DELETE and block.get(CONTENT) is None


def is_clean(message):
    """Whether ``check`` surely says nothing about a message."""
    return clean(message)


cdef bint clean(object message) except -1:
    cdef tw_draft draft
    cdef PyObject *source
    if type(message) is not CspMessage or not is_unwarned(message):
        return False
    source = in_slot(message, AT_SOURCE)
    if source != NULL and type(<object>source) is tuple and is_untouched(message, <tuple><object>source):
        return not is_doubtful(<object>in_slot(message, AT_BLOCK))
    tw_draft_begin(&draft)
    try:
        if not put_message(&draft, message, False) or not reads_back(&draft, message):
            return False
        return not is_doubtful(<object>in_slot(message, AT_BLOCK))
    except UnicodeEncodeError:  # a lone surrogate
        return False
    finally:
        tw_draft_free(&draft)


# --- the functions of the package: what is not usual goes the long way ----------------------------------------------------


def decode(text, *, mode="strict", limits=_LIMITS):
    """The one message of a text; code fences around it are dropped.

    Raises DecodeError: as :func:`parse` does, empty_message for no text, no_message where there are other records
    but no message, trailing_text for a second record. Lenient drops text around the message and takes the first.
    """
    if limits is _LIMITS and mode == "strict":
        made = usual_message(text)
        if made is not None:
            return made
    return long_way().decode_closely(text, mode, limits)


def encode(record, bint strict=True):
    """The canonical text of a record or a document (records with a blank line between them).

    Strict refuses with EncodeError (reason, and ``line`` in the text that would have been written, or ``path``)
    whatever strict reading refuses, and a message that lenient reading returned with warnings (``replace()`` it or
    clear its ``issues`` once you trust it). ``strict=False`` writes back what was read. A value no text of the wire
    can hold (a newline in a header, a lone surrogate) is refused in both.
    """
    text = text_of(record, strict)
    return long_way().encode_closely(record, strict) if text is None else text


def check(message):
    """What is doubtful about a record: all that strict writing would refuse ("warning") and what may be fine ("info").

    ``where`` is a line of the text that ``encode(message, strict=False)`` gives; for the warnings a message was read
    with, the line they were found at. Raises TypeError for what is neither.
    """
    return [] if clean(message) else long_way().check_closely(message)


cdef object long_way():
    from turnwire.csp import codec
    return codec
