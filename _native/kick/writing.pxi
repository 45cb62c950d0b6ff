# Envelopes written without a dict. Included by space/envelope.pyx.

cdef text(envelope, bint strict, policy):
    """The text of a usual envelope of which ``check`` says no more than remarks, where ``strict``; else None."""
    cdef json_draft draft
    cdef Envelope it
    if type(envelope) is not Envelope:
        return None
    it = <Envelope>envelope
    if strict:
        if verdict(it, policy) is None:
            return None
    elif not are_texts(it) or it.type not in KNOWN_TYPES or not is_channel(<str>it.channel):
        return None
    if it._source is not None and not has_extra(it):
        return json_counted_text(it._source, it._count, it._most) if it._count else json_text_of(it._source)
    json_begin(&draft, DICT_ITEMS)
    try:
        if not put_fields(&draft, it) or (has_extra(it) and not put_extra(&draft, it._extra)):
            return None
        json_ascii(&draft, b"}", 1)
        return json_result(&draft)
    finally:
        json_end(&draft)


cdef bint put_fields(json_draft *draft, Envelope it) except -1:
    cdef PyObject *values[8]
    cdef int i
    values[0], values[1], values[2] = <PyObject *>it.id, <PyObject *>it.timestamp, <PyObject *>it.sender
    values[3], values[4], values[5] = <PyObject *>it.receiver, <PyObject *>it.type, <PyObject *>it.channel
    values[6], values[7] = <PyObject *>it.content, <PyObject *>it.correlation_id
    for i in range(8 if it.correlation_id is not None else 7):
        if not PyUnicode_Check(<object>values[i]):
            return False
        json_ascii(draft, <const char *><bytes>MEMBERS[i], len(<bytes>MEMBERS[i]))
        if json_put(draft, <object>values[i]) != JSON_WRITTEN:
            return False
    return True


cdef bint put_extra(json_draft *draft, dict extra) except -1:
    """Unknown keys behind the fields. Runs no code of Python, so that nothing changes meanwhile."""
    cdef Py_ssize_t place = 0
    cdef PyObject *key
    cdef PyObject *value
    while PyDict_Next(extra, &place, &key, &value):
        if type(<object>key) is not str or <object>key in ALL_FIELDS:
            return False
        json_ascii(draft, b",", 1)
        if json_put(draft, <object>key) != JSON_WRITTEN:
            return False
        json_ascii(draft, b":", 1)
        if json_value(draft, <object>value, NESTING - 1) != JSON_WRITTEN:
            return False
    return True
