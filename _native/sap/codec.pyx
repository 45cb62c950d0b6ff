"""Confirms SAP objects that no rule has anything to say about: the compiled half of ``turnwire/sap/_codec_py.py``."""

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from _native.common.slots cimport fill_slot, in_slot, new_object, slot_offset
from _native.common.text cimport exact_text
from _native.json.draft cimport json_text_of, json_written
from _native.json.put cimport TW_PUT_FRONT, padded_name, tw_put, tw_put_text
from _native.json.rules cimport (
    TW_MARK_AT, TW_MARK_LOOK, TW_MARK_SECRETS, TW_RULE_DOUBT, tw_compacted, tw_follows, tw_rule, tw_rule_word, tw_rules, tw_rules_add,
    tw_rules_begin, tw_walk
)
from _native.json.names cimport TW_NO_NAME, tw_names, tw_names_add, tw_names_begin, tw_names_place, tw_same_text
from turnwire.contract import LIMITS
from turnwire.sap.secrets import SHORTEST_URL as _SHORTEST
from turnwire.sap.messages import Result as _Result, Task as _Task
from turnwire.sap.spec import MUST, RESULT_MARKS, VERSION, Kind
from turnwire.sap.times import DIGEST, read_time

cdef extern from "_native/json/forms.h":
    bint tw_is_uuid(const unsigned char* text, size_t size)

cdef extern from "_native/json/rules.h":
    bint tw_is_plain_time(const unsigned char* text)

cdef extern from "_native/json/secrets.h":
    bint tw_telling_name(const unsigned char* text, size_t length)
    bint tw_telling_text(const unsigned char* text, size_t length)

cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object, object) except? NULL
    bint PyDict_Check(object)
    bint PyDict_CheckExact(object)
    bint PyList_CheckExact(object)
    bint PyTuple_CheckExact(object)
    bint PyUnicode_CheckExact(object)
    bint PyList_Check(object)
    bint PyTuple_Check(object)
    bint PyUnicode_Check(object)
    bint PyLong_Check(object)
    bint PyBool_Check(object)
    bint PyFloat_Check(object)
    double PyFloat_AS_DOUBLE(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    bint PyUnicode_IS_ASCII(object)
    const unsigned char* PyUnicode_1BYTE_DATA(object)
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL

cdef enum:
    ANY = 0
    TEXT = 1
    UUID = 2
    TIME = 3
    VERSION_ = 4
    BOOLEAN = 5
    COUNT = 6
    OBJECT = 7
    OBJECTS = 8
    TEXTS = 9
    NUMBERS = 10
    PRESSURE = 11
    ENUM = 12
    RECORD = 13
    RECORDS = 14
    DIGEST_ = 15
    QUANTITY = 16

cdef Py_ssize_t SHORTEST = _SHORTEST

assert [int(kind) for kind in Kind] == list(range(17)), "the numbers of Kind are shared"


cdef class Field:
    cdef object name
    cdef int kind
    cdef uint64_t must  # a bit of its own where the field is a MUST, else 0
    cdef bint nullable
    cdef tuple values
    cdef Plan plan


cdef class Plan:
    """A table made ready for :func:`sound`."""

    cdef dict fields
    cdef uint64_t musts
    cdef tw_names names
    cdef PyObject* made[64]

    def __init__(self, table):
        cdef Field made
        cdef int place
        self.fields = {}
        self.musts = 0
        tw_names_begin(&self.names)
        assert len(table.fields) < 64, "a bit each, and room in the slots"
        for place, field in enumerate(table.fields):
            made = Field()
            made.name = field.name
            made.kind = field.kind
            made.must = (<uint64_t>1 << place) if field.need == "MUST" else 0
            made.nullable = field.nullable
            made.values = None if field.values is None else tuple(["".join(value) for value in field.values])
            made.plan = None if field.table is None else Plan(field.table)
            self.fields[field.name] = made
            self.musts |= made.must
            tw_names_add(&self.names, <PyObject*>made.name, place)
            self.made[place] = <PyObject*>made

    cdef PyObject* field(self, PyObject* name) except? NULL:
        """The field of a name, or NULL for an unknown one."""
        cdef int place = tw_names_place(&self.names, name)
        if place >= 0:
            return self.made[place]
        return NULL if place == TW_NO_NAME else PyDict_GetItemWithError(self.fields, <object>name)


cdef bint is_uuid(object value) noexcept:
    return PyUnicode_IS_ASCII(value) and tw_is_uuid(PyUnicode_1BYTE_DATA(value), <size_t>PyUnicode_GET_LENGTH(value))


cdef inline bint is_one_of(str value, tuple values):
    """values: of ASCII characters."""
    for one in values:
        if tw_same_text(<PyObject*>one, <PyObject*>value):
            return True
    return False


cdef bint is_plain_time(object value) except -1:
    """A time of the form YYYY-MM-DDTHH:MM:SSZ without a leap second; every other one is left to :func:`read_time`."""
    if PyUnicode_GET_LENGTH(value) == 20 and PyUnicode_IS_ASCII(value) and tw_is_plain_time(PyUnicode_1BYTE_DATA(value)):
        return True
    found = read_time(value)
    return found is not None and found[1]


cdef bint is_number(object value) noexcept:
    cdef double real
    if PyFloat_Check(value):
        real = PyFloat_AS_DOUBLE(value)
        return real - real == 0
    return PyLong_Check(value) and not PyBool_Check(value)


cdef bint sound_numbers(object value, bint pressure) except -1:
    cdef PyObject* key
    cdef PyObject* item
    cdef Py_ssize_t position = 0
    cdef object number
    cdef double real
    cdef long long whole
    cdef int overflow
    if not PyDict_Check(value):
        return False
    while PyDict_Next(value, &position, &key, &item):
        number = <object>item
        if not is_number(number):
            return False
        if pressure:
            if PyFloat_Check(number):
                real = PyFloat_AS_DOUBLE(number)
                if not 0 <= real <= 100 or real != <double><int>real:
                    return False
            else:
                whole = PyLong_AsLongLongAndOverflow(number, &overflow)
                if not 0 <= whole <= 100:
                    return False
    return True


cdef bint sound_array(object value, Field field) except -1:
    cdef object item
    if not (PyList_Check(value) or PyTuple_Check(value)):
        return False
    for item in value:
        if field.kind == TEXTS:
            if not PyUnicode_Check(item):
                return False
        elif field.kind == OBJECTS:
            if not PyDict_Check(item):
                return False
        elif not sound_object(item, field.plan):
            return False
    return True


cdef bint sound_text(object value, Field field) except -1:
    if not PyUnicode_Check(value):
        return False
    if field.kind == TEXT:
        return True
    if field.kind == ENUM:
        return is_one_of(value, field.values) if type(value) is str else value in field.values
    if field.kind == UUID:
        return is_uuid(value)
    if field.kind == TIME:
        return is_plain_time(value)
    if field.kind == VERSION_:
        return value == VERSION
    return DIGEST.fullmatch(value) is not None


cdef bint sound_value(object value, Field field) except -1:
    cdef int kind = field.kind
    if kind == ANY or (value is None and field.nullable):
        return True
    if kind == TEXT or kind == UUID or kind == TIME or kind == VERSION_ or kind == ENUM or kind == DIGEST_:
        return sound_text(value, field)
    if kind == RECORD:
        return sound_object(value, field.plan)
    if kind == OBJECT:
        return PyDict_Check(value)
    if kind == TEXTS or kind == OBJECTS or kind == RECORDS:
        return sound_array(value, field)
    if kind == BOOLEAN:
        return PyBool_Check(value)
    if kind == COUNT:
        return PyLong_Check(value) and not PyBool_Check(value) and value >= 0
    if kind == QUANTITY:
        return is_number(value) and value >= 0
    return sound_numbers(value, kind == PRESSURE)


cdef bint sound_object(object fields, Plan plan) except -1:
    cdef PyObject* found
    cdef PyObject* key
    cdef PyObject* value
    cdef Py_ssize_t position = 0
    cdef uint64_t seen = 0
    if not PyDict_Check(fields):
        return False
    while PyDict_Next(fields, &position, &key, &value):
        found = plan.field(key)
        if found is not NULL:
            if not sound_value(<object>value, <Field>found):
                return False
            seen |= (<Field>found).must
    return seen == plan.musts


def sound(object fields, Plan plan not None, /):
    """Whether the judge has nothing to say about ``fields``; see the pure twin."""
    return sound_object(fields, plan)


cdef bint telling_name(object name) except -1:
    """Whether a name may be that of a secret: any word of ``turnwire.sap.secrets`` has one of these pieces."""
    cdef Py_ssize_t length
    cdef const unsigned char* text = <const unsigned char*>PyUnicode_AsUTF8AndSize(name, &length)
    return tw_telling_name(text, <size_t>length)


cdef bint telling_text(object value) except -1:
    """Whether a value may be a secret by its form."""
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
    """Whether surely nothing below ``value`` looks like a secret; False asks for the pure twin's opinion."""
    try:
        return is_quiet(value)
    except UnicodeEncodeError:  # a lone surrogate
        return False


cdef bint no_at_sign(dict fields) except -1:
    """Whether no URI of a sound Task can carry credentials, and none needs its scheme looked at."""
    cdef object reference
    if "attachments" in fields:
        return False
    if "replyTo" in fields and "@" in <str>(<dict>fields["replyTo"]).get("endpoint", ""):
        return False
    for reference in (<dict>fields["constitutionalContext"]).get("references", ()):
        if "@" in <str>reference:
            return False
    return True


cdef bint quiet_task(dict fields) except -1:
    """Whether surely nothing is to be said about a sound Task, lints included."""
    try:
        return no_at_sign(fields) and is_quiet(fields["payload"])
    except UnicodeEncodeError:  # a lone surrogate
        return False


cdef bint no_at_signs(object texts) except -1:
    cdef object text
    for text in texts:
        if "@" in <str>text:
            return False
    return True


cdef bint quiet_result(dict fields) except -1:
    """The same of a sound Result."""
    cdef object artifact, evidence
    if fields["status"] != "SUCCEEDED" or "error" in fields:
        return False
    for artifact in fields.get("artifacts", ()):
        if "@" in <str>(<dict>artifact).get("uri", ""):
            return False
    evidence = fields["constitutionalEvidence"]
    return evidence["alignment"] != "NON_CONSTITUTIONAL" and no_at_signs(evidence.get("citations", ()))


cdef tuple MARKS = RESULT_MARKS


def clean(Plan task not None, Plan result not None, dict fields not None, /):
    """Whether surely nothing is to be said about a Task or a Result that is surely one by its marks
    (``turnwire.sap.codec.kind_of``); False for any other message."""
    if "issuer" in fields:
        if "target" in fields and "status" not in fields and "producer" not in fields:
            return sound_object(fields, task) and quiet_task(fields)
        return False
    if "target" in fields or "taskId" not in fields:
        return False
    for mark in MARKS:
        if mark not in fields:
            return False
    return sound_object(fields, result) and quiet_result(fields)


# --- Tasks and Results judged while their text is read: of those that nothing is to be said about no object is made until
# somebody asks for a field ---

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
cdef object DEFAULT = LIMITS
cdef Py_ssize_t MOST = LIMITS.message, KEY = LIMITS.key


cdef class Rules:
    """A table, or several in one, in the form that text is judged by."""

    cdef tw_rules rules
    cdef list kept  # names and words, and the rules of records
    cdef dict places

    def __init__(self, *tables):
        tw_rules_begin(&self.rules)
        self.kept = []
        self.places = {}
        for table in tables:
            for field in table.fields:
                if field.name not in self.places:
                    self.add(table.name, field, len(tables) == 1)

    cdef int add(self, str table, field, bint alone) except -1:
        cdef Rules inner
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


cdef Rules shared(table):
    if table.name not in SHARED:
        SHARED[table.name] = Rules(table)
    return SHARED[table.name]


cdef class Walks:
    """Tells the texts that are surely a Task or a Result which nothing, or little, is to be said about."""

    cdef Rules rules
    cdef uint64_t task, no_task, result, no_result

    def __init__(self):
        self.rules = Rules(_Task.TABLE, _Result.TABLE)
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


# --- messages made, checked and written quickly, judging and writing in one walk; what anything is to be said about is left
# to ``turnwire.sap.codec`` ---

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
        return error is None or "message" not in error or not error["message"].strip()
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
