# Included by nslip/codec.pyx: writing messages.

cdef struct Writer:
    uint8_t *data
    size_t size
    size_t room
    bint ascii
    bint owned


cdef int grow(Writer *w, size_t more) except -1:
    """A larger block. The first is the caller's stack; later ones are ours."""
    cdef size_t room = w.room * 2
    cdef uint8_t *grown
    while room < w.size + more:
        room *= 2
    grown = <uint8_t *>PyMem_Realloc(w.data, room) if w.owned else <uint8_t *>PyMem_Malloc(room)
    if grown == NULL:
        raise MemoryError
    if not w.owned:
        memcpy(grown, w.data, w.size)
    w.data, w.room, w.owned = grown, room, True
    return 0


cdef inline int reserve(Writer *w, size_t more) except -1:
    """Room for ``more`` bytes."""
    return 0 if w.size + more <= w.room else grow(w, more)


cdef inline int put_text(Writer *w, object value) except -1:
    """A quoted string. Returns 0 where the text has no UTF-8 form, else 1."""
    cdef Py_ssize_t length
    cdef const char *text
    if PyUnicode_IS_ASCII(value):
        text = <const char *>PyUnicode_DATA(value)
        length = PyUnicode_GET_LENGTH(value)
    else:
        try:
            text = PyUnicode_AsUTF8AndSize(value, &length)
        except UnicodeEncodeError:
            return 0
        w.ascii = False
    reserve(w, 2 * length + 2 + TW_INTEGER_ROOM)
    w.size = tw_put_text(w.data + w.size, <const uint8_t *>text, length) - w.data
    return 1


cdef inline int put_prefix(Writer *w, int index) except -1:
    reserve(w, 8 + TW_INTEGER_ROOM)
    w.data[w.size] = c'|'
    w.data[w.size + 1] = SLOT_PREFIXES[index]
    w.size += 2
    return 0


cdef int put_dict(Writer *w, object slots) except -1:
    """The slots of a touched message. Returns 0 at the first that is out of the ordinary, else 1."""
    cdef PyObject *key
    cdef PyObject *item
    cdef Py_ssize_t place = 0
    cdef int index, fits
    cdef uint64_t number
    if not PyDict_CheckExact(slots):
        return 0
    while PyDict_Next(slots, &place, &key, &item):
        index = slot_index(<object>key)
        if index < 0:
            return 0
        put_prefix(w, index)
        if index == TW_STATUS or index == TW_TAG:
            if not PyUnicode_CheckExact(<object>item) or not put_text(w, <object>item):
                return 0
            continue
        if not PyLong_CheckExact(<object>item):
            return 0
        number = tw_unsigned(item, &fits)
        if not fits:
            return 0
        w.size = tw_put_integer(w.data + w.size, number) - w.data
    return 1


cdef int put_untouched(Writer *w, SlipMessage message) except -1:
    """A message nobody has touched. Returns 0 where a string has no UTF-8 form, else 1."""
    cdef const uint8_t *text[2]
    cdef size_t length[2]
    cdef Py_ssize_t size
    cdef object value
    cdef int which
    length[0] = length[1] = 0
    if message.v.present & ((1 << TW_STATUS) | (1 << TW_TAG)):
        for which in range(2):
            value = message.tag if which else message.status
            if value is None:
                continue
            if PyUnicode_IS_ASCII(value):
                text[which] = <const uint8_t *>PyUnicode_DATA(value)
                length[which] = PyUnicode_GET_LENGTH(value)
                continue
            try:
                text[which] = <const uint8_t *>PyUnicode_AsUTF8AndSize(value, &size)
            except UnicodeEncodeError:
                return 0
            length[which] = size
            w.ascii = False
    reserve(w, 16 * TW_INTEGER_ROOM + 2 * (length[0] + length[1]))
    w.size = tw_put_values(w.data + w.size, &message.v, text, length) - w.data
    return 1


cdef int put_message(Writer *w, SlipMessage message) except -1:
    """The whole message. Returns 0 where something is out of the ordinary: written_parts() then writes or refuses it."""
    cdef Touched touched = message.touched
    if message.v.head[TW_FRAME] > TW_MAX_FRAME:
        return 0
    if touched is None:
        return put_untouched(w, message)
    if touched.fields is not None and any(touched.fields):
        return 0
    if touched.extra is not None and touched.extra != {}:
        return 0
    if touched.slots is None:
        return put_untouched(w, message)
    reserve(w, 8 * TW_INTEGER_ROOM)
    w.size = tw_put_header(w.data + w.size, message.v.head) - w.data
    if not put_dict(w, touched.slots):
        return 0
    w.data[w.size] = c'#'  # put_prefix and put_text leave room for it
    w.size += 1
    return 1


cdef object written(SlipMessage message):
    from turnwire.nslip.encoding import written_parts  # here, because few programs ever need it

    return "@" + "|".join(written_parts(message)) + "#"


cdef object need_message(object message):
    return encode_fault(Reason.WRONG_TYPE, f"a SlipMessage is encoded, not {type(message).__name__}")


cdef object finished(Writer *w, SlipMessage message):
    cdef object text
    if not put_message(w, message):
        return written(message)
    if w.ascii:
        text = PyUnicode_New(w.size, 127)
        memcpy(PyUnicode_DATA(text), w.data, w.size)
        return text
    return tw_good_text(w.data, w.size)


def encode(message):
    """The wire text of a message: header ``a f c S d T``, then the slots in their own order (section 3).

    Raises EncodeError(wrong_type|negative|too_large|unknown_act|unknown_frame|unknown_slot|lone_surrogate) with the
    field in ``path``.
    """
    cdef uint8_t room[512]
    cdef Writer w
    if not isinstance(message, SlipMessage):
        raise need_message(message)
    w.data, w.size, w.room, w.ascii, w.owned = room, 0, 512, True, False
    try:
        return finished(&w, <SlipMessage>message)
    finally:
        if w.owned:
            PyMem_Free(w.data)


def encode_many(messages):
    """One message a line, UTF-8, each line ended by a newline. Raises EncodeError as encode does, and
    newline_in_string for a text that would break its line; ``path`` starts with the index of the message."""
    cdef Writer w
    cdef uint8_t room[512]
    cdef Py_ssize_t index = 0
    cdef size_t start
    cdef bytes text
    w.data, w.size, w.room, w.ascii, w.owned = room, 0, 512, True, False
    try:
        for message in messages:
            start = w.size
            if not isinstance(message, SlipMessage):
                raise need_message(message)
            if not put_message(&w, <SlipMessage>message):
                w.size = start
                text = written(<SlipMessage>message).encode()
                reserve(&w, PyBytes_GET_SIZE(text))
                memcpy(w.data + w.size, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
                w.size += PyBytes_GET_SIZE(text)
            if memchr(w.data + start, c'\n', w.size - start) != NULL:
                raise encode_fault(Reason.NEWLINE_IN_STRING, "a line cannot hold a newline")
            reserve(&w, 1)
            w.data[w.size] = c'\n'
            w.size += 1
            index += 1
            if index % PATIENCE == 0:
                PyErr_CheckSignals()
        return PyBytes_FromStringAndSize(<const char *>w.data, w.size)
    except EncodeError as error:
        error.path = f"/{index}{error.path or ''}"
        raise error.relocated() from None
    finally:
        if w.owned:
            PyMem_Free(w.data)


cdef bint is_short(object text) except -1:
    """Whether a string is as short as strings should be, and has a UTF-8 form."""
    cdef Py_ssize_t size
    if PyUnicode_GET_LENGTH(text) > SHORTEST_LONG:
        return False
    if PyUnicode_IS_ASCII(text):
        return True
    try:
        PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:
        return False
    return True


cdef bint are_clean(object slots) except -1:
    """Whether nothing is to be said of the slots of a touched message."""
    cdef PyObject *key
    cdef PyObject *item
    cdef Py_ssize_t place = 0
    cdef int index, fits
    if not PyDict_CheckExact(slots):
        return False
    while PyDict_Next(slots, &place, &key, &item):
        index = slot_index(<object>key)
        if index == TW_STATUS or index == TW_TAG:
            if not PyUnicode_CheckExact(<object>item) or not is_short(<object>item):
                return False
            continue
        if index < 0 or not PyLong_CheckExact(<object>item):
            return False
        tw_unsigned(item, &fits)
        if not fits:
            return False
    return True


def is_clean(message):
    """Whether ``check`` surely says nothing about a message."""
    return clean(message)


cdef object long_way = None


def check(message):
    """What is doubtful about a message, field by field; an empty list for a good one. ``where`` is a JSON pointer.

    * "warning", with the reason of ``encode``: each field that ``encode`` refuses.
    * "info" ``long_string``: a string over 64 characters; large artifacts live in stores and are named here by their id
      (section 2). It is no "warning", because a warning is what writing refuses, and writing takes long strings.
    * "info" ``unknown_slot`` and ``unknown_frame``: what ``unknown="keep"`` kept (section 6).

    Raises TypeError for what is not a message.
    """
    global long_way
    if clean(message):
        return []
    if long_way is None:
        from turnwire.nslip.rules import check_closely
        long_way = check_closely
    return long_way(message)


cdef bint clean(message) except -1:
    cdef SlipMessage it
    cdef Touched touched
    if not isinstance(message, SlipMessage):
        return False
    it = <SlipMessage>message
    touched = it.touched
    if it.v.head[TW_FRAME] > TW_MAX_FRAME:
        return False
    if touched is not None:
        if touched.fields is not None and any(touched.fields):
            return False
        if touched.extra is not None and touched.extra != {}:
            return False
        if touched.slots is not None:
            return are_clean(touched.slots)
    return (it.status is None or is_short(it.status)) and (it.tag is None or is_short(it.tag))
