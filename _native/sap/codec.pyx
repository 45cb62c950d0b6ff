"""Reads, judges and writes SAP messages that no rule has anything to say about. Twin of ``turnwire/sap/_codec_py.py``.

One table of rules an object: texts are judged by it while they are read, dicts as they stand or while they are written.
"""

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from _native.common.slots cimport fill_slot, in_slot, new_object, slot_offset
from _native.common.text cimport exact_text
from _native.json.draft cimport json_text_of, json_written
from _native.json.put cimport TW_PUT_FRONT, padded_name, tw_put, tw_put_follows, tw_put_text
from _native.json.rules cimport (
    TW_MARK_AT, TW_MARK_LOOK, TW_MARK_SECRETS, TW_RULE_DOUBT, tw_compacted, tw_follows, tw_rule, tw_rule_word, tw_rules, tw_rules_add,
    tw_rules_begin, tw_walk
)
from turnwire.contract import LIMITS
from turnwire.sap.secrets import SHORTEST_URL as _SHORTEST
from turnwire.sap.messages import Result as _Result, Task as _Task
from turnwire.sap.spec import MUST, RESULT_MARKS, VERSION, Kind
from turnwire.sap._codec_py import sound as _judged_sound

cdef extern from "_native/json/secrets.h":
    bint tw_telling_name(const unsigned char* text, size_t length)
    bint tw_telling_text(const unsigned char* text, size_t length)

cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object, object) except? NULL
    bint PyDict_Check(object)
    bint PyDict_CheckExact(object)
    bint PyList_Check(object)
    bint PyTuple_Check(object)
    bint PyUnicode_Check(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL

cdef Py_ssize_t SHORTEST = _SHORTEST
cdef str ITEMS = "items"
cdef Py_ssize_t NESTING = LIMITS.nesting, MOST = LIMITS.message, KEY = LIMITS.key
cdef object DEFAULT = LIMITS
cdef tuple MARKS = RESULT_MARKS
cdef dict LOOKED_AT = {  # what the rules of ``turnwire.sap`` may have to say something about
    ("Task", "payload"): TW_MARK_SECRETS,
    ("Task", "attachments"): TW_MARK_LOOK,
    ("ReplyTo", "endpoint"): TW_MARK_AT,
    ("ConstitutionalContext", "references"): TW_MARK_AT,
    ("Result", "error"): TW_MARK_LOOK,
    ("Artifact", "uri"): TW_MARK_AT,
    ("ConstitutionalEvidence", "citations"): TW_MARK_AT,
}
cdef dict CALM_WORDS = {("Result", "status"): ("SUCCEEDED",), ("ConstitutionalEvidence", "alignment"): ("VALID", "ESCALATE")}

assert [int(kind) for kind in Kind] == list(range(17)), "the numbers of Kind are shared with _native/json/rules.h"


cdef bint telling_name(object name) except -1:
    """True if a name may be that of a secret: any word of ``turnwire.sap.secrets`` has one of these pieces."""
    cdef Py_ssize_t length
    cdef const unsigned char* text = <const unsigned char*>PyUnicode_AsUTF8AndSize(name, &length)
    return tw_telling_name(text, <size_t>length)


cdef bint telling_text(object value) except -1:
    """True if a value may be a secret by its form."""
    cdef Py_ssize_t length
    cdef const unsigned char* text = <const unsigned char*>PyUnicode_AsUTF8AndSize(value, &length)
    return tw_telling_text(text, <size_t>length)


cdef bint is_quiet(object value) except -1:
    cdef PyObject* key
    cdef PyObject* found
    cdef Py_ssize_t position = 0
    cdef object item
    if PyUnicode_Check(value):
        return PyUnicode_GET_LENGTH(value) < SHORTEST or not telling_text(value)
    if PyDict_Check(value):
        while PyDict_Next(value, &position, &key, &found):
            item = <object>found
            if PyUnicode_Check(item) and (not PyUnicode_Check(<object>key) or telling_name(<object>key)):
                return False
            if not PyUnicode_Check(<object>key) or not is_quiet(<object>key):
                return False
            if not is_quiet(item):
                return False
    elif PyList_Check(value) or PyTuple_Check(value):
        for item in value:
            if not is_quiet(item):
                return False
    return True


def quiet(object value, /):
    """True if surely nothing below ``value`` looks like a secret; False asks for the pure twin's opinion."""
    try:
        return is_quiet(value)
    except UnicodeEncodeError:  # a lone surrogate
        return False


cdef class Plan:
    """A table, or several in one, in the form that texts and dicts are judged by."""

    cdef readonly object table

    cdef tw_rules rules
    cdef list kept  # names and words, and the rules of records
    cdef dict places

    def __init__(self, *tables):
        tw_rules_begin(&self.rules)
        self.table = tables[0]
        self.kept = []
        self.places = {}
        for table in tables:
            for field in table.fields:
                if field.name not in self.places:
                    self.add(table.name, field, len(tables) == 1)

    cdef int add(self, str table, field, bint alone) except -1:
        cdef Plan inner
        cdef bytes name = padded_name(field.name)
        cdef int place = self.rules.count
        cdef tw_rule* rule = tw_rules_add(
            &self.rules, <const char*>name + TW_PUT_FRONT, len(field.name), field.kind, alone and field.need == MUST
        )
        if rule is NULL:
            raise ValueError("a table has too many fields")
        self.kept.append(name)
        self.places[field.name] = place
        rule.nullable = field.nullable
        rule.mark = LOOKED_AT.get((table, field.name), 0)
        if field.table is not None:
            inner = shared(field.table)
            self.kept.append(inner)
            rule.rules = &inner.rules
        words = (VERSION,) if field.kind is Kind.VERSION else field.values
        for value in words:
            word = str(value).encode()
            self.kept.append(word)
            if not tw_rule_word(rule, word, len(word), str(value) in CALM_WORDS.get((table, field.name), words)):
                raise ValueError("a field has too many values")
        return 0

    cdef uint64_t bits(self, names) except? 0:
        """A bit for each of these fields."""
        cdef uint64_t found = 0
        cdef int place
        for name in names:
            place = self.places[name]
            found |= <uint64_t>1 << place
        return found


cdef dict SHARED = {}  # the rules of the objects in messages, by the names of their tables


cdef Plan shared(table):
    if table.name not in SHARED:
        SHARED[table.name] = Plan(table)
    return SHARED[table.name]


cdef bint follows(object fields, Plan plan, bint* calm):
    """True if a dict surely is what a table says. *calm: and surely nothing else is to be said about it, secrets apart."""
    cdef tw_put put
    put.loose = True
    put.chosen = NULL
    if not tw_put_follows(&put, fields, &plan.rules, NESTING, ITEMS):
        return False
    calm[0] = put.calm
    return True


def sound(object fields, Plan plan not None, /):
    """True if the judge has nothing to say about ``fields``; see the pure twin."""
    cdef bint calm
    return follows(fields, plan, &calm) or _judged_sound(fields, plan)


cdef class Walks:
    """Tells the texts that are surely a Task or a Result which nothing, or little, is to be said about."""

    cdef Plan rules
    cdef uint64_t task, no_task, result, no_result

    def __init__(self):
        self.rules = Plan(_Task.TABLE, _Result.TABLE)
        if tw_rules_add(&self.rules.rules, b"messageId", 9, TW_RULE_DOUBT, False) is NULL:  # an Ack or a Nack
            raise ValueError("a table has too many fields")
        self.task = self.rules.bits([field.name for field in _Task.TABLE.fields if field.need == MUST])
        self.result = self.rules.bits([field.name for field in _Result.TABLE.fields if field.need == MUST])
        self.no_task = self.rules.bits(("status", "producer"))
        self.no_result = self.rules.bits(("issuer", "target"))

    cdef int kind(self, object data, tw_walk* walk) except -1:
        """1 for a Task, 2 for a Result, 0 where that is not sure; ``walk`` then says whether it is calm and its own text."""
        cdef Py_ssize_t size
        cdef const unsigned char* text = exact_text(data, &size)
        if text == NULL:
            return 0
        walk.key, walk.left, walk.shortest = <size_t>KEY, <int>NESTING, <size_t>SHORTEST
        if size > MOST or not tw_follows(walk, text, <size_t>size, &self.rules.rules):
            return 0
        if walk.seen & self.task == self.task and not walk.seen & self.no_task:
            return 1
        return 2 if walk.seen & self.result == self.result and not walk.seen & self.no_result else 0


# --- messages made, checked and written quickly; what anything is to be said about is left to ``turnwire.sap.codec`` ---

cdef bint has_floats(dict fields) except -1:
    """True if a sound Task has a pressure that is written as an integer, but is none."""
    for value in (fields["constitutionalContext"].get("pressure") or {}).values():
        if type(value) is not int:
            return True
    return False


cdef bint conflicts(dict fields) except -1:
    """True if a warning is due to more than one field of a sound Result, as ``turnwire.sap.codec`` has them."""
    status = fields["status"]
    if status == "FAILED":
        error = fields.get("error")
        return error is None or "message" not in error or not error["message"].strip()
    return status == "SUCCEEDED" and fields["constitutionalEvidence"]["alignment"] == "NON_CONSTITUTIONAL"


cdef class Messages:
    """Makes, checks and writes messages that nothing is to be said about; see the pure twin."""

    cdef dict plans
    cdef object task, result
    cdef Plan task_plan, result_plan
    cdef Walks walks
    cdef object read_source
    cdef Py_ssize_t fields_at, source_at, text_at  # where a message of any class holds its slots

    def __init__(self, plans, record, task, result, read_source):
        self.walks = Walks()
        self.read_source = read_source
        self.plans = dict(plans)
        self.task, self.result = task, result
        self.task_plan, self.result_plan = self.plans[task], self.plans[result]
        self.fields_at, self.source_at = slot_offset(record._fields), slot_offset(record._source)
        self.text_at = slot_offset(record._text)

    def read(self, data, /):
        """The message of a text (str or bytes) that is surely good and sound, read within the usual limits; else None. One
        that nothing is to be said about makes its object when that is asked for."""
        cdef tw_walk walk
        cdef int kind = self.walks.kind(data, &walk)
        if not kind:
            return None
        message = new_object(self.task if kind == 1 else self.result, 0)
        fill_slot(message, self.text_at, data)
        if walk.calm:
            fill_slot(message, self.source_at, data if walk.own else True)
            return message
        fields, source = self.read_source(data, DEFAULT)
        fill_slot(message, self.fields_at, fields)
        fill_slot(message, self.source_at, True if source is None else source)
        return message

    def made(self, dict fields not None, source, /):
        """The Task or Result over a sound object that was read; None for any other."""
        cdef bint calm
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
        if not follows(fields, plan, &calm):
            return None
        message = new_object(cls, 0)
        fill_slot(message, self.fields_at, fields)
        fill_slot(message, self.source_at, True if source is None else source)
        fill_slot(message, self.text_at, None)
        return message

    def is_clean(self, message, /):
        """True if surely nothing is to be said about a message by itself."""
        cdef bint calm, is_task = type(message) is self.task
        cdef PyObject* fields
        if not is_task and type(message) is not self.result:
            return False
        fields = in_slot(message, self.fields_at)
        if fields is NULL:
            return in_slot(message, self.text_at) is not NULL  # not even read yet
        if not PyDict_CheckExact(<object>fields):
            return False
        if not follows(<object>fields, self.task_plan if is_task else self.result_plan, &calm) or not calm:
            return False
        return quiet((<dict>fields)["payload"]) if is_task else True

    def text(self, message, bint strict, /):
        """The text of a message; None for what must be looked at more closely."""
        cdef PyObject* found = PyDict_GetItemWithError(self.plans, type(message))
        cdef PyObject* fields
        cdef PyObject* source
        cdef PyObject* text
        if found is NULL:
            return None
        fields, source = in_slot(message, self.fields_at), in_slot(message, self.source_at)
        text = in_slot(message, self.text_at)
        if source is NULL or text is NULL:
            return None
        if fields is not NULL:
            if not PyDict_CheckExact(<object>fields):
                return None
            if strict and <object>source is None:
                return self.judged(message, <dict>fields, <Plan>found) if <object>text is None else None
            if strict and self.is_doubtful(message, <dict>fields):
                return None
        if type(<object>source) is str or type(<object>source) is bytes:
            return json_text_of(<object>source)
        return json_written(<object>fields, NESTING, ITEMS, False) if <object>text is None else tw_compacted(<object>text)

    cdef bint is_doubtful(self, object message, dict fields) except -1:
        if type(message) is self.task:
            return has_floats(fields)
        return type(message) is self.result and conflicts(fields)

    cdef object judged(self, object message, dict fields, Plan plan):
        """The text of a message that is judged while it is written."""
        cdef tw_put put
        put.loose = True
        put.chosen = NULL
        text = tw_put_text(&put, fields, &plan.rules, NESTING, ITEMS)
        if text is None or put.calm or type(message) is not self.result:
            return text
        return None if conflicts(fields) else text
