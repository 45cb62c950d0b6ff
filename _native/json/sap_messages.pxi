# Messages made, checked and written quickly, judging and writing in one walk. What anything is to be said about is left
# to ``turnwire.sap.codec``.

cdef str ITEMS = "items"
cdef Py_ssize_t NESTING = LIMITS.nesting


cdef int put_record(json_draft* draft, object fields, Plan plan, Py_ssize_t left) except -1:
    """Writes a sound object; JSON_DOUBT for any other, and for what the twin must write."""
    cdef PyObject* found
    cdef PyObject* key
    cdef PyObject* value
    cdef Py_ssize_t position = 0
    cdef uint64_t seen = 0
    cdef Field field
    cdef bint first = True
    if left <= 0 or not PyDict_CheckExact(fields):
        return JSON_DOUBT
    json_room(draft, 2, 1)
    json_letter(draft, b"{")
    while PyDict_Next(fields, &position, &key, &value):
        found = plan.field(key)
        if found is NULL:
            if not PyUnicode_Check(<object>key):
                return JSON_DOUBT
            if not first:
                json_letter(draft, b",")
            if json_text(draft, <object>key) != JSON_WRITTEN:
                return JSON_DOUBT
            json_letter(draft, b":")
            if json_value(draft, <object>value, left - 1) != JSON_WRITTEN:
                return JSON_DOUBT
        else:
            field = <Field>found
            json_ascii(draft, <const char*>field.member + first, len(field.member) - first)
            if put_value(draft, <object>value, field, left - 1) != JSON_WRITTEN:
                return JSON_DOUBT
            seen |= field.must
        first = False
        json_room(draft, 2, 1)
    json_letter(draft, b"}")
    return JSON_WRITTEN if seen == plan.musts else JSON_DOUBT


cdef int put_value(json_draft* draft, object value, Field field, Py_ssize_t left) except -1:
    """Writes a value of which there is nothing to say."""
    if field.kind == RECORD:
        return put_record(draft, value, field.plan, left)
    if field.kind == RECORDS:
        return put_records(draft, value, field.plan, left)
    if PyUnicode_CheckExact(value):
        if field.kind == TEXT or field.kind == ANY or sound_value(value, field):
            return json_text(draft, value)
        return JSON_DOUBT
    return json_value(draft, value, left) if sound_value(value, field) else JSON_DOUBT


cdef int put_records(json_draft* draft, object values, Plan plan, Py_ssize_t left) except -1:
    """Writes an array of objects."""
    cdef bint first = True
    if left <= 0 or not (PyList_CheckExact(values) or PyTuple_CheckExact(values)):
        return JSON_DOUBT
    json_room(draft, 2, 1)
    json_letter(draft, b"[")
    for value in values:
        if not first:
            json_letter(draft, b",")
        first = False
        if put_record(draft, value, plan, left - 1) != JSON_WRITTEN:
            return JSON_DOUBT
        json_room(draft, 2, 1)
    json_letter(draft, b"]")
    return JSON_WRITTEN


cdef bint has_floats(dict fields) except -1:
    """Whether a sound Task has a pressure that is written as an integer, but is none."""
    cdef PyObject* key
    cdef PyObject* value
    cdef Py_ssize_t position = 0
    cdef PyObject* pressure = PyDict_GetItemWithError(fields["constitutionalContext"], "pressure")
    if pressure is NULL:
        return False
    while PyDict_Next(<object>pressure, &position, &key, &value):
        if PyFloat_Check(<object>value):
            return True
    return False


cdef bint conflicts(dict fields) except -1:
    """Whether a warning is due to more than one field of a sound Result, as ``turnwire.sap.conditions`` has them."""
    status = fields["status"]
    if status == "FAILED":
        error = fields.get("error")
        return error is None or "message" not in error
    return status == "SUCCEEDED" and fields["constitutionalEvidence"]["alignment"] == "NON_CONSTITUTIONAL"


cdef class Messages:
    """Makes, checks and writes messages that nothing is to be said about; see the pure twin."""

    cdef dict plans
    cdef object task, result
    cdef Plan task_plan, result_plan
    cdef Walks walks
    cdef object read_source
    cdef Py_ssize_t fields_at, source_at, held_at  # where a message of any class holds its slots

    def __init__(self, plans, record, task, result, read_source):
        self.walks = Walks()
        self.read_source = read_source
        self.plans = dict(plans)
        self.task, self.result = task, result
        self.task_plan, self.result_plan = self.plans[task], self.plans[result]
        self.fields_at, self.source_at = slot_offset(record._fields), slot_offset(record._source)
        self.held_at = slot_offset(record._held)

    def read(self, data, /):
        """The message of a text (str or bytes) that is surely good and sound, read within the usual limits; else None. One
        that nothing is to be said about keeps its text, and makes its object when that is asked for."""
        cdef tw_walk walk
        cdef int kind = self.walks.kind(data, &walk)
        if not kind:
            return None
        message = new_object(self.task if kind == 1 else self.result, 0)
        if walk.calm:
            fill_slot(message, self.held_at, data)
            fill_slot(message, self.source_at, data if walk.own else True)
            return message
        fields, source = self.read_source(data, DEFAULT)
        fill_slot(message, self.fields_at, fields)
        fill_slot(message, self.source_at, True if source is None else source)
        return message

    def is_calm(self, data, /):
        """Whether surely nothing is to be said about the message of a text, which is surely one."""
        cdef tw_walk walk
        return bool(self.walks.kind(data, &walk)) and bool(walk.calm)

    def made(self, dict fields not None, source, /):
        """The Task or Result over a sound object that was read; None for any other."""
        if "issuer" in fields:
            if "target" not in fields or "status" in fields or "producer" in fields:
                return None
            cls, plan = self.task, self.task_plan
        else:
            if "target" in fields or "taskId" not in fields:
                return None
            for mark in MARKS:
                if mark not in fields:
                    return None
            cls, plan = self.result, self.result_plan
        if not sound_object(fields, plan):
            return None
        message = new_object(cls, 0)
        fill_slot(message, self.fields_at, fields)
        fill_slot(message, self.source_at, True if source is None else source)
        return message

    def is_clean(self, message, /):
        """Whether surely nothing is to be said about a message by itself."""
        cdef PyObject* fields
        cdef PyObject* source
        cdef bint is_task = type(message) is self.task
        if not is_task and type(message) is not self.result:
            return False
        fields, source = in_slot(message, self.fields_at), in_slot(message, self.source_at)
        if fields is NULL:
            return in_slot(message, self.held_at) is not NULL  # not even read yet
        if source is NULL or not PyDict_CheckExact(<object>fields):
            return False
        if <object>source is None and not sound_object(<object>fields, self.task_plan if is_task else self.result_plan):
            return False
        return quiet_task(<dict>fields) if is_task else quiet_result(<dict>fields)

    def text(self, message, bint strict, /):
        """The text of a message; None for what must be looked at more closely."""
        cdef PyObject* found = PyDict_GetItemWithError(self.plans, type(message))
        cdef PyObject* fields
        cdef PyObject* source
        if found is NULL:
            return None
        fields, source = in_slot(message, self.fields_at), in_slot(message, self.source_at)
        if fields is NULL and source is not NULL and in_slot(message, self.held_at) is not NULL:
            if type(<object>source) is str or type(<object>source) is bytes:
                return json_text_of(<object>source)
            text = tw_compacted(<object>in_slot(message, self.held_at))
            return json_written(message._fields, NESTING, ITEMS) if text is None else text
        if fields is NULL or source is NULL or not PyDict_CheckExact(<object>fields):
            return None
        if strict and <object>source is None:
            return self.judged(message, <dict>fields, <Plan>found)
        if strict and self.is_doubtful(message, <dict>fields):
            return None
        if type(<object>source) is str or type(<object>source) is bytes:
            return json_text_of(<object>source)
        return json_written(<object>fields, NESTING, ITEMS)

    cdef bint is_doubtful(self, object message, dict fields) except -1:
        if type(message) is self.task:
            return has_floats(fields)
        return type(message) is self.result and conflicts(fields)

    cdef object judged(self, object message, dict fields, Plan plan):
        cdef json_draft draft
        json_begin(&draft, ITEMS)
        try:
            if put_record(&draft, fields, plan, NESTING) != JSON_WRITTEN or self.is_doubtful(message, fields):
                return None
            return json_result(&draft)
        finally:
            json_end(&draft)
