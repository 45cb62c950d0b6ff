# Messages made, checked and written quickly, judging and writing in one walk. What anything is to be said about is left
# to ``turnwire.sap.codec``.

cdef str ITEMS = "items"
cdef Py_ssize_t NESTING = LIMITS.nesting


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
    """Whether a warning is due to more than one field of a sound Result, as ``turnwire.sap.codec`` has them."""
    status = fields["status"]
    if status == "FAILED":
        error = fields.get("error")
        return error is None or "message" not in error
    return status == "SUCCEEDED" and fields["constitutionalEvidence"]["alignment"] == "NON_CONSTITUTIONAL"


cdef class Messages:
    """Makes, checks and writes messages that nothing is to be said about; see the pure twin."""

    cdef dict plans, rules
    cdef object task, result
    cdef Plan task_plan, result_plan
    cdef Walks walks
    cdef object read_source
    cdef Py_ssize_t fields_at, source_at, held_at  # where a message of any class holds its slots

    def __init__(self, plans, record, task, result, read_source):
        self.walks = Walks()
        self.read_source = read_source
        self.plans = dict(plans)
        self.rules = {cls: Rules(cls.TABLE) for cls in self.plans}
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
        cdef PyObject* found = PyDict_GetItemWithError(self.rules, type(message))
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
            return self.judged(message, <dict>fields, <Rules>found)
        if strict and self.is_doubtful(message, <dict>fields):
            return None
        if type(<object>source) is str or type(<object>source) is bytes:
            return json_text_of(<object>source)
        return json_written(<object>fields, NESTING, ITEMS)

    cdef bint is_doubtful(self, object message, dict fields) except -1:
        if type(message) is self.task:
            return has_floats(fields)
        return type(message) is self.result and conflicts(fields)

    cdef object judged(self, object message, dict fields, Rules rules):
        """The text of a message that is judged while it is written."""
        cdef tw_put put
        put.loose = True
        put.chosen = NULL
        text = tw_put_text(&put, fields, &rules.rules, NESTING, ITEMS)
        if text is None or put.calm or type(message) is not self.result:
            return text
        return None if conflicts(fields) else text
