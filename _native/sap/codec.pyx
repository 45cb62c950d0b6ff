"""Whether there is nothing to say about a SAP object: the compiled half of ``turnwire/sap/_codec_py.py``."""

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from _native.common.slots cimport fill_slot, in_slot, new_object, slot_offset
from _native.json.draft cimport json_text_of, json_written
from _native.json.put cimport TW_PUT_FRONT, padded_name, tw_put, tw_put_text
from _native.json.rules cimport (
    TW_MARK_AT, TW_MARK_LOOK, TW_MARK_SECRETS, TW_RULE_DOUBT, tw_compacted, tw_follows, tw_rule, tw_rule_word, tw_rules, tw_rules_add,
    tw_rules_begin, tw_walk
)
from _native.json.names cimport TW_NO_NAME, tw_names, tw_names_add, tw_names_begin, tw_names_place, tw_same_text
from turnwire.contract import LIMITS
from turnwire.sap.secrets import SHORTEST as _SHORTEST
from turnwire.sap.messages import Result as _Result, Task as _Task
from turnwire.sap.spec import MUST, RESULT_MARKS, VERSION, Kind
from turnwire.sap.times import DIGEST, read_time

cdef extern from "_native/json/forms.h":
    bint tw_is_uuid(const unsigned char* text, size_t size)

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


cdef inline bint is_digit(unsigned char byte) noexcept nogil:
    return <unsigned char>(byte - 48) < 10


cdef bint is_uuid(object value) noexcept:
    return PyUnicode_IS_ASCII(value) and tw_is_uuid(PyUnicode_1BYTE_DATA(value), <size_t>PyUnicode_GET_LENGTH(value))


cdef inline bint is_one_of(str value, tuple values):
    """values: of ASCII characters."""
    for one in values:
        if tw_same_text(<PyObject*>one, <PyObject*>value):
            return True
    return False


cdef bint is_plain_time(object value) except -1:
    """YYYY-MM-DDTHH:MM:SSZ with a day up to 28 and no leap second; every other time is left to :func:`read_time`."""
    cdef const unsigned char* text
    cdef int at, month, day
    if PyUnicode_GET_LENGTH(value) == 20 and PyUnicode_IS_ASCII(value):
        text = PyUnicode_1BYTE_DATA(value)
        if (text[4] == 45 and text[7] == 45 and text[10] == 84 and text[13] == 58 and text[16] == 58
                and text[19] == 90):
            for at in (0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18):
                if not is_digit(text[at]):
                    return False
            month = (text[5] - 48) * 10 + text[6] - 48
            day = (text[8] - 48) * 10 + text[9] - 48
            if (1 <= month <= 12 and 1 <= day <= 28 and text[14] < 54 and text[17] < 54
                    and (text[11] - 48) * 10 + text[12] - 48 < 24
                    and not (text[0] == 48 and text[1] == 48 and text[2] == 48 and text[3] == 48)):
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


include "reading.pxi"
include "messages.pxi"
