"""Confirms plain SSTP objects, about which no rule can have a finding. Twin of ``sstp/_codec_py.py``."""

from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from _native.common.slots cimport fill_slot, in_slot, new_object, slot_offset
from _native.common.text cimport exact_text
from _native.json.draft cimport json_text_of, json_written
from _native.json.put cimport TW_PUT_FRONT, padded_name, tw_put, tw_put_text
from _native.json.rules cimport (
    TW_RULE_AGREES, TW_RULE_ANY, TW_RULE_CHOICE, TW_RULE_CHOSEN, TW_RULE_CLOCK, TW_RULE_DOUBT, TW_RULE_FRACTION,
    TW_RULE_LENT, TW_RULE_LIST,
    TW_RULE_RECORD, TW_RULE_RECORDS, TW_RULE_SAID, TW_RULE_SPOKEN, TW_RULE_SPOKEN_OR_NULL, TW_RULE_TEXTS, tw_compacted, tw_follows,
    tw_rule, tw_rule_word, tw_rules, tw_rules_add, tw_rules_begin, tw_walk
)
from _native.json.names cimport TW_ODD_NAME, tw_names, tw_names_add, tw_names_begin, tw_names_place
from turnwire.contract import LIMITS

cdef extern from "Python.h":
    bint PyDict_Check(object value)
    bint PyObject_IsTrue(object value) except -1
    Py_ssize_t PyDict_GET_SIZE(object value)
    int PyDict_Next(object part, Py_ssize_t* place, PyObject** key, PyObject** value) noexcept
    PyObject* PyDict_GetItem "PyDict_GetItemWithError"(object part, object key) except? NULL
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t place)
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef enum:
    MOST_KINDS = 16  # kinds of message
    TEXT = 1
    CLOCK = 2
    FRACTION = 3
    LIST = 4
    TEXTS = 5
    TEXT_OR_NULL = 6
    ARTIFACTS = 7
    ANY = 8
    ROWS = 12
    KINDS = 8

cdef dict CODES = {
    "text": TEXT, "clock": CLOCK, "fraction": FRACTION, "list": LIST, "texts": TEXTS, "text_or_null": TEXT_OR_NULL,
    "artifacts": ARTIFACTS, "any": ANY,
}

cdef str HEADER = "header", PAYLOAD = "payload", KIND = "kind", SCHEMA_ID = "schema_id", PROTOCOL = "protocol"
cdef str SESSION_ID = "session_id", ITEMS = "items"
cdef Py_ssize_t NESTING = LIMITS.nesting
cdef str DIRECTED_TO = "directed_to", TYPE = "type", NAME = "name", VALUE = "value"


cdef class Table:
    """The rows of one header or payload."""

    cdef tuple names
    cdef int count
    cdef unsigned char codes[ROWS]
    cdef unsigned int needs
    cdef PyObject* keys[ROWS]
    cdef tw_names places

    def __init__(self, rows):
        cdef int row
        rows = tuple(rows)
        if len(rows) > ROWS:
            raise ValueError("a table has too many rows")
        self.names = tuple([name for name, _, _ in rows])
        self.count = len(rows)
        self.needs = 0
        tw_names_begin(&self.places)
        for row in range(self.count):
            self.keys[row] = <PyObject*>self.names[row]
            tw_names_add(&self.places, self.keys[row], row)
            self.codes[row] = CODES[rows[row][1]]
            self.needs |= <unsigned int>bool(rows[row][2]) << row

    cdef int follows(self, object part) except -1:
        """1 where no field is missing and each is plain, 0 where not, 2 where a key is not just a str."""
        cdef Py_ssize_t position = 0
        cdef PyObject* key
        cdef PyObject* value
        cdef int row = 0, place
        cdef unsigned int found = 0
        while PyDict_Next(part, &position, &key, &value):
            if row < self.count and self.keys[row] == key:  # mostly they stand in the order of the table
                place = row
            else:
                place = tw_names_place(&self.places, key)
                if place == TW_ODD_NAME:
                    return 2
                if place < 0:
                    continue
            if not is_plain(<object>value, self.codes[place]):
                return 0
            found |= <unsigned int>1 << place
            row = place + 1
        return found & self.needs == self.needs

    cdef bint conforms(self, object part, object fallback) except -1:
        """Whether every field of ``part`` is plain; directed_to may stand in ``fallback`` instead."""
        cdef int row, verdict
        cdef PyObject* value
        if fallback is None:
            verdict = self.follows(part)
            if verdict != 2:
                return verdict
        for row in range(self.count):
            value = PyDict_GetItem(part, <object>self.keys[row])
            if value is NULL:
                if fallback is not None and <object>self.keys[row] is DIRECTED_TO:
                    value = PyDict_GetItem(fallback, DIRECTED_TO)
                if value is NULL:
                    if self.needs >> row & 1:
                        return False
                    continue
            if not is_plain(<object>value, self.codes[row]):
                return False
        return True


cdef inline bint is_text(object value) noexcept:
    if type(value) is not str or PyUnicode_GET_LENGTH(value) == 0:
        return False
    return PyUnicode_READ_CHAR(value, 0) > 32 and PyUnicode_READ_CHAR(value, 0) != 60  # no space, no <


cdef bint is_plain(object value, int code) except -1:
    cdef int overflow = 0
    cdef long long number
    cdef double fraction
    if code == TEXT:
        return is_text(value)
    if code == TEXTS:
        if type(value) is not list:
            return False
        for item in <list>value:
            if type(item) is not str:
                return False
        return True
    if code == FRACTION:
        if type(value) is float:
            fraction = PyFloat_AS_DOUBLE(value)
            return 0 <= fraction <= 1
        if type(value) is not int:
            return False
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        return not overflow and 0 <= number <= 1
    if code == CLOCK:
        if type(value) is not int:
            return False
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        return overflow > 0 or (overflow == 0 and number > 0)
    if code == LIST:
        return type(value) is list
    if code == TEXT_OR_NULL:
        return value is None or is_text(value)
    if code == ANY:
        return True
    return are_artifacts(value)


cdef bint are_artifacts(object value) except -1:
    cdef PyObject* part
    if type(value) is not list:
        return False
    for item in <list>value:
        if not PyDict_Check(item):
            return False
        part = PyDict_GetItem(item, TYPE)
        if part is NULL or not is_text(<object>part):
            return False
        part = PyDict_GetItem(item, NAME)
        if part is NULL or not is_text(<object>part):
            return False
        part = PyDict_GetItem(item, VALUE)
        if part is NULL or (isinstance(<object>part, str) and not is_text(<object>part)):
            return False
    return True


# --- messages judged while their text is read: of those that are plain no object is made until somebody asks for it ---

cdef dict RULES = {
    "text": TW_RULE_SPOKEN, "clock": TW_RULE_CLOCK, "fraction": TW_RULE_FRACTION, "list": TW_RULE_LIST,
    "texts": TW_RULE_TEXTS, "text_or_null": TW_RULE_SPOKEN_OR_NULL, "artifacts": TW_RULE_RECORDS, "said": TW_RULE_SAID,
    "record": TW_RULE_RECORD, "choice": TW_RULE_CHOICE, "agrees": TW_RULE_AGREES, "chosen": TW_RULE_CHOSEN,
    "lent": TW_RULE_LENT, "any": TW_RULE_ANY, "doubt": TW_RULE_DOUBT,
}
cdef tuple ARTIFACT = ((TYPE, "text", True), (NAME, "text", True), (VALUE, "said", True))
cdef Py_ssize_t MOST = LIMITS.message, KEY = LIMITS.key


cdef class Rules:
    """Rows in the form that text is judged by."""

    cdef tw_rules rules
    cdef list kept  # names and words, and the rules of records
    cdef list names

    def __init__(self, rows):
        tw_rules_begin(&self.rules)
        self.kept = []
        self.names = [name for name, _, _ in rows]
        for name, kind, needed in rows:
            self.add(name, kind, needed)

    cdef int lend(self, str name) except -1:
        """A field that may stand in the header instead."""
        cdef int place = self.rules.count
        if name in self.names:
            place = self.names.index(name)
        else:
            self.add(name, "any", False)
        self.rules.lent = <uint64_t>1 << place
        return 0

    cdef tw_rule* add(self, str name, str kind, bint needed, words=(), Rules inner=None) except NULL:
        cdef bytes written = padded_name(name), word
        cdef tw_rule* rule = tw_rules_add(
            &self.rules, <const char*>written + TW_PUT_FRONT, len(name), RULES[kind], needed
        )
        if rule is NULL:
            raise ValueError("a table has too many rows")
        if kind == "artifacts":
            inner = Rules(ARTIFACT)
        self.kept += [written, inner]
        if inner is not None:
            rule.rules = &inner.rules
        for one in words:
            word = one.encode()
            self.kept.append(word)
            if not tw_rule_word(rule, word, len(word), True):
                raise ValueError("there are too many kinds")
        return rule


cdef class Walks:
    """Tells the texts that are surely plain messages, and those of them that strict writing takes."""

    cdef Rules outer
    cdef list payloads
    cdef tw_rules* chosen[KINDS]

    def __init__(self, kinds):
        cdef Rules header = Rules(()), rules
        cdef int place = 0
        rows = {}
        for _, _, _, part, _ in kinds:
            for name, kind, needed in part:
                rows[name] = (kind, needed or rows.get(name, (kind, False))[1] or name == SESSION_ID)
        if len(kinds) > KINDS:
            raise ValueError("there are too many kinds")
        header.add(KIND, "choice", True, [word for word, _, _, _, _ in kinds])
        header.add(SCHEMA_ID, "agrees", True, [schema for _, _, schema, _, _ in kinds])
        for name, (kind, needed) in rows.items():
            header.add(name, kind, needed)
        header.add(DIRECTED_TO, "lent", False)
        header.add(PROTOCOL, "doubt", False)  # what it means, the judge of objects knows
        self.outer = Rules(())
        self.outer.add(HEADER, "record", True, (), header)
        self.outer.add(PAYLOAD, "chosen", True)
        self.payloads = [Rules(payload) for _, _, _, _, payload in kinds]
        for rules in self.payloads:
            rules.lend(DIRECTED_TO)
            self.chosen[place] = &rules.rules
            place += 1

    cdef int kind(self, object data, bint* own) except -2:
        """The place of the kind of a plain message that strict writing takes, else -1; *own: whether it is written so."""
        cdef tw_walk walk
        cdef Py_ssize_t size
        cdef const unsigned char* text = exact_text(data, &size)
        if text == NULL:
            return -1
        walk.key, walk.left, walk.chosen = <size_t>KEY, <int>NESTING, self.chosen
        if size > MOST or not tw_follows(&walk, text, <size_t>size, &self.outer.rules):
            return -1
        own[0] = walk.own
        return walk.choice

    cdef object text(self, object fields, int* kind):
        """The text of a plain message that strict writing takes, and the place of its kind; None where it is not surely
        one, and no kind (-1) where that is not known."""
        cdef tw_put put
        put.loose = False
        put.chosen = self.chosen
        text = tw_put_text(&put, fields, &self.outer.rules, NESTING, ITEMS)
        kind[0] = put.choice
        return text


cdef class PlainCodec:
    """Tells plain messages from those that need a closer look.

    Args:
        kinds: for each kind its word, its class (with slots ``_fields``, ``_plain`` and ``_held``), its schema_id,
            the rows of its header (without kind and schema_id) and those of its payload.
        read: reads text into an object, which it returns with the text where writing it gives that again; takes the
            text and the limits.
        closer: makes a message from an object that is not plain, and the text it was read from.
    """

    cdef dict kinds
    cdef object read, closer
    cdef Walks walks
    cdef list in_order  # the classes, as the kinds came
    cdef PyObject* each[MOST_KINDS]  # the same, borrowed
    cdef int count
    cdef object limits
    cdef Py_ssize_t fields_at, plain_at, held_at  # where a message of any kind holds its slots

    def __init__(self, kinds, read, closer):
        kinds = list(kinds)
        places = {tuple([slot_offset(one) for one in (cls._fields, cls._plain, cls._held)]) for _, cls, _, _, _ in kinds}
        [(self.fields_at, self.plain_at, self.held_at)] = places
        self.walks = Walks(kinds)
        self.in_order = [cls for _, cls, _, _, _ in kinds]
        if len(self.in_order) > MOST_KINDS:
            raise ValueError(f"at most {MOST_KINDS} kinds of message")
        self.count = len(self.in_order)
        for number, cls in enumerate(self.in_order):
            self.each[number] = <PyObject*>cls
        self.limits = LIMITS
        self.read = read
        self.closer = closer
        self.kinds = {
            word: (cls, schema, Table((*header, (KIND, "any", True), (SCHEMA_ID, "any", True))), Table(payload))
            for word, cls, schema, header, payload in kinds
        }

    cdef bint is_ours(self, message) noexcept:
        """Whether a message is of one of the classes, and of none that is made of one. They are few: a set would find them
        by their addresses, in a time that differs from one process to the next."""
        cdef int number
        for number in range(self.count):
            if self.each[number] == <PyObject*>(<PyObject*>message).ob_type:
                return True
        return False

    def is_known(self, message):
        """Whether a message was found plain, and nothing that could be changed has been handed out since."""
        cdef PyObject* plain
        if not self.is_ours(message):
            return False
        plain = in_slot(message, self.plain_at)
        return plain != NULL and <object>plain is not False

    def is_plain_text(self, data):
        """Whether a text is surely a plain message."""
        cdef bint own
        return self.walks.kind(data, &own) >= 0

    def is_plain(self, fields):
        """Whether no rule can have a finding about this object."""
        return self.class_of(fields) is not None

    def decode(self, data, limits):
        """The message in ``data``. Raises DecodeError. One that is plain, and that strict writing takes, keeps its text, and
        makes its object when that is asked for."""
        cdef bint own = False
        cdef int kind = self.walks.kind(data, &own) if limits is self.limits else -1
        if kind >= 0:
            message = new_object(self.in_order[kind], 0)
            fill_slot(message, self.held_at, data)
            fill_slot(message, self.plain_at, data if own else True)
            return message
        fields, source = self.read(data, limits)
        return self.made(fields, data, True if source is None else source)

    def message(self, fields, data):
        """A message over the object that was read from ``data``. Raises DecodeError."""
        return self.made(fields, data, True)

    cdef object made(self, fields, data, plain):
        cls = self.class_of(fields)
        if cls is None:
            return self.closer(fields, data)
        message = new_object(cls, 0)
        fill_slot(message, self.fields_at, fields)
        fill_slot(message, self.plain_at, plain)
        return message

    def text(self, message, bint strict):
        """The text of a message that is plain, and that strict writing takes; None where that is not sure."""
        cdef PyObject* fields
        cdef PyObject* plain
        cdef PyObject* header
        cdef int kind
        if not self.is_ours(message):
            return None
        fields = in_slot(message, self.fields_at)
        plain = in_slot(message, self.plain_at)
        if fields == NULL and plain != NULL and in_slot(message, self.held_at) != NULL:
            if type(<object>plain) is not bool:
                return json_text_of(<object>plain)
            text = tw_compacted(<object>in_slot(message, self.held_at))
            return json_written(message._fields, NESTING, ITEMS) if text is None else text
        if fields == NULL or plain == NULL:
            return None
        if not PyObject_IsTrue(<object>plain):
            if strict:
                text = self.walks.text(<object>fields, &kind)
                if kind >= 0:
                    return text if self.in_order[kind] is type(message) else None
            if self.class_of(<object>fields) is not type(message):
                return None
        if strict:
            header = PyDict_GetItem(<object>fields, HEADER)
            if PyDict_GetItem(<object>header, SESSION_ID) == NULL:
                return None
        if type(<object>plain) is not bool:
            return json_text_of(<object>plain)
        return json_written(<object>fields, NESTING, ITEMS)

    cdef object class_of(self, object fields):
        cdef PyObject* header
        cdef PyObject* payload
        cdef PyObject* found
        cdef PyObject* directed
        if not PyDict_Check(fields):
            return None
        header = PyDict_GetItem(fields, HEADER)
        payload = PyDict_GetItem(fields, PAYLOAD)
        if header is NULL or payload is NULL or not PyDict_Check(<object>header) or not PyDict_Check(<object>payload):
            return None
        found = PyDict_GetItem(<object>header, KIND)
        if found is NULL or type(<object>found) is not str:
            return None
        found = PyDict_GetItem(self.kinds, <object>found)
        if found is NULL:
            return None
        known = <tuple>found
        found = PyDict_GetItem(<object>header, SCHEMA_ID)
        if found is NULL or type(<object>found) is not str or <str>(<object>found) != <str>(<tuple>known)[1]:
            return None
        if not (<Table>(<tuple>known)[2]).conforms(<object>header, None):
            return None
        directed = NULL
        if PyDict_GET_SIZE(<object>header) > 5:
            if PyDict_GetItem(<object>header, PROTOCOL) is not NULL:
                return None
            directed = PyDict_GetItem(<object>header, DIRECTED_TO)
            if directed is not NULL and PyDict_GetItem(<object>payload, DIRECTED_TO) is not NULL:
                return None
        if not (<Table>(<tuple>known)[3]).conforms(<object>payload, <object>header if directed is not NULL else None):
            return None
        return (<tuple>known)[0]
