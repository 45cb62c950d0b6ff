"""Reads, checks and writes the messages of a JSON wire that break no rule. Twin of ``json/_codec_py.py``.

Each wire has one table of rules: texts are checked while they are read, dicts as they are or while they are written. The
objects of messages are made of their text on first use.
"""

from cpython.object cimport PyObject
from cpython.dict cimport PyDict_GetItemWithError
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t
from libc.string cimport memcmp

from _native.common.slots cimport (
    PyObject_TypeCheck, PyTypeObject, change_slot, fill_slot, in_slot, new_object, slot_offset
)
from _native.common.text cimport exact_text
from _native.json.draft cimport json_characters, json_counted_text, json_text_of, json_written
from _native.json.rules cimport (
    TW_MARK_RULED, TW_MOST_RULED, tw_compacted, tw_follows, tw_rule, tw_rule_word, tw_rules, tw_rules_add, tw_rules_begin, tw_walk
)
from turnwire.contract import LIMITS

cimport cython

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char* where) except *
    void Py_LeaveRecursiveCall()

cdef extern from "_native/json/put.h":
    enum: TW_PUT_FRONT, TW_PUT_STEP
    ctypedef struct tw_put:
        bint only_written, loose, secrets, clean, writable, others
        int choice
        uint64_t seen
        tw_rules** chosen
    bint tw_put_follows(tw_put* put, object value, tw_rules* rules, Py_ssize_t nesting, object items)
    bint tw_put_quiet(object value, Py_ssize_t left)
    object tw_put_text(tw_put* put, object value, tw_rules* rules, Py_ssize_t nesting, object items)

cdef extern from "_native/json/forms.h":
    uint64_t tw_name_hash(const unsigned char* text, size_t size) noexcept

cdef enum:
    MOST_KINDS = 8  # kinds of message
    KEPT = 256, LONGEST_KEPT = 512  # decisions of a policy, and the bytes of one's texts

cdef str ITEMS = "items"
cdef Py_ssize_t NESTING = LIMITS.nesting, MOST = LIMITS.message, KEY = LIMITS.key
cdef object DEFAULT = LIMITS
cdef tuple SLOTS = ("_fields", "_source", "_text")
cdef list RULES = (  # in the order of rules.h
    "any text uuid time version boolean count object objects texts numbers pressure enum record records digest quantity "
    "clock fraction list spoken spoken_or_null said choice agrees chosen lent channel uuid4 moment space doubt"
).split()
cdef dict MARKS = {"": 0, "look": 1, "at": 2, "secrets": 4, "writing": 8, "ruled": TW_MARK_RULED, "lent": 0}  # as in rules.h


cdef class Rules:
    """The rules of one object; see the pure twin."""

    cdef tw_rules rules
    cdef list names, kept  # kept: names and words as C reads them, and the rules of records

    def __init__(self, rows):
        cdef tw_rule* rule
        cdef bytes name, word
        cdef unsigned char ruled = 0
        rows = list(rows)
        if sum([row.mark == "ruled" for row in rows]) > TW_MOST_RULED:
            raise ValueError(f"at most {TW_MOST_RULED} fields are ruled")
        tw_rules_begin(&self.rules)
        self.names, self.kept = [], []
        for row in rows:
            # From TW_PUT_FRONT on it is the name; behind it as many bytes as may be read there.
            name = f',"{row.name}":'.encode() + bytes(TW_PUT_STEP - 1)
            rule = tw_rules_add(&self.rules, <const char*>name + TW_PUT_FRONT, len(row.name), RULES.index(row.kind), row.must)
            if rule is NULL or row.name in self.names:
                raise ValueError("a table has too many rows, or two of one name")
            self.names.append(row.name)
            self.kept += [name, row.inner]
            rule.nullable, rule.mark = row.nullable, MARKS[row.mark]
            if rule.mark & TW_MARK_RULED:
                rule.ruled = ruled
                ruled += 1
            if row.mark == "lent":
                self.rules.lent = self.bits((row.name,))
            if row.inner is not None:
                rule.rules = &(<Rules?>row.inner).rules
            for value in row.words:
                word = value.encode()
                self.kept.append(word)
                if not tw_rule_word(rule, word, len(word), not row.clean or value in row.clean):
                    raise ValueError("a row has too many words")

    cdef uint64_t bits(self, names) except? 0:
        """A bit for each of these fields."""
        cdef uint64_t found = 0
        cdef int place
        for name in names:
            place = self.names.index(name)
            found |= <uint64_t>1 << place
        return found

    def follows(self, fields, /):
        """True if a dict certainly follows the rules."""
        cdef tw_put put
        put.only_written, put.loose, put.secrets, put.chosen = False, True, False, NULL
        return tw_put_follows(&put, fields, &self.rules, NESTING, ITEMS)


cdef struct Known:  # a kind of message, its class and its rules borrowed
    PyObject* cls
    tw_rules* rules
    uint64_t musts, foreign
    bint lax


cdef class Codec:
    """Reads, checks and writes messages; see the pure twin."""

    cdef Rules rules
    cdef object policy  # what rules; None without it
    cdef dict known
    cdef tuple ruled  # its fields
    cdef uint64_t needed
    cdef Py_ssize_t said_at
    cdef uint64_t mixed[KEPT]  # what was ruled last, by the hash of the texts
    cdef list kept
    cdef list kinds
    cdef object read_source, doubtful
    cdef tuple wanted
    cdef bint loose
    cdef int count
    cdef Known classes[MOST_KINDS]
    cdef tw_rules* chosen[MOST_KINDS]
    cdef Py_ssize_t fields_at, source_at, text_at  # where a message of any kind holds its slots

    def __init__(self, kinds, Rules rules not None, read_source, *, tuple wanted=None, doubtful=None, policy=None):
        cdef Rules own
        cdef Known* known
        cdef int place
        self.kinds, self.rules, self.read_source, self.wanted, self.doubtful = list(kinds), rules, read_source, wanted, doubtful
        self.loose, self.count = wanted is None, <int>len(self.kinds)
        if self.count > MOST_KINDS:
            raise ValueError(f"at most {MOST_KINDS} kinds of message")
        self.policy, self.kept = policy, [None] * KEPT
        if policy is not None:
            self.known, self.ruled, self.needed = policy.known, policy.fields, rules.bits((policy.needed,))
            self.said_at = slot_offset(policy.slot)
        places = {tuple([slot_offset(getattr(kind.cls, name)) for name in SLOTS]) for kind in self.kinds}
        [(self.fields_at, self.source_at, self.text_at)] = places
        for place, kind in enumerate(self.kinds):
            known = &self.classes[place]
            known.cls, known.lax = <PyObject*>kind.cls, kind.lax
            own = rules if kind.rules is None else kind.rules
            known.rules = &own.rules
            self.chosen[place] = &(<Rules?>kind.chosen).rules if kind.chosen is not None else NULL
            known.musts = rules.bits([name for at, name in enumerate(own.names) if own.rules.musts >> at & 1])
            known.foreign = rules.bits(kind.foreign)

    cdef int kind_of(self, message) noexcept:
        """The index of a message's kind, or -1. They are few: a set would find a class by its address, in a
        time that differs from one process to the next."""
        cdef int place
        for place in range(self.count):
            if self.classes[place].cls == <PyObject*>(<PyObject*>message).ob_type:
                return place
        return -1

    cdef int kind_by(self, int choice, uint64_t seen) noexcept:
        """The index of the kind of an object that follows the rules, or -1."""
        cdef int place
        if choice >= 0:
            return choice
        for place in range(self.count):
            if seen & self.classes[place].musts == self.classes[place].musts and not seen & self.classes[place].foreign:
                return place
        return -1

    cdef bint follows(self, fields, tw_rules* rules, tw_put* put, bint secrets):
        put.only_written, put.loose, put.secrets, put.chosen = False, self.loose, secrets, self.chosen
        return tw_put_follows(put, fields, rules, NESTING, ITEMS)

    cdef object message(self, int kind, fields, source, text, bint clean):
        message = new_object(<object>self.classes[kind].cls, 0)
        fill_slot(message, self.fields_at, fields)
        fill_slot(message, self.text_at, text)
        if not clean and self.doubtful is not None and self.doubtful(message):
            source = None
        elif source is None:
            source = True
        fill_slot(message, self.source_at, source)
        return message

    def read(self, data, /):
        """The message of a text (str or bytes) that is certainly valid, read within the usual limits; else None. One
        of which there is nothing to say makes its object when that is asked for."""
        cdef tw_walk walk
        cdef Py_ssize_t size
        cdef int kind
        cdef const unsigned char* text = exact_text(data, &size)
        if text == NULL or size > MOST:
            return None
        walk.key, walk.left, walk.chosen = <size_t>KEY, <int>NESTING, self.chosen
        if not tw_follows(&walk, text, <size_t>size, &self.rules.rules):
            return None
        kind = self.kind_by(walk.choice, walk.seen)
        if kind < 0 or (self.wanted is not None and not walk.writable):
            return None
        if self.policy is not None:
            return None if walk.shuffled else self.held(&walk, kind, data)
        if not walk.clean and self.doubtful is not None:
            fields, source = self.read_source(data, DEFAULT)
            return self.message(kind, fields, source, data, False)
        message = new_object(<object>self.classes[kind].cls, 0)
        fill_slot(message, self.text_at, data)
        fill_slot(message, self.source_at, data if walk.own else True)
        return message

    cdef object held(self, tw_walk* walk, int kind, data):
        """The message of a text, with what its policy says of it."""
        cdef tuple found
        message = new_object(<object>self.classes[kind].cls, 0)
        source = None
        fill_slot(message, self.text_at, data)
        if walk.clean and not walk.others:
            found = self.recent(walk)
            if found is None:
                found = self.policy.learn(message)
                self.remember(walk, found)
            if self.allows(found, walk.seen):
                fill_slot(message, self.said_at, found[1])
                source = True if not walk.own else json_characters(data) if type(data) is bytes else data
        fill_slot(message, self.source_at, source)
        return message

    cdef uint64_t mix(self, tw_walk* walk) noexcept:
        """A hash of the texts that are ruled, without a secret."""
        cdef uint64_t mixed = 1
        cdef Py_ssize_t place
        for place in range(len(self.ruled)):
            mixed = mixed * 31 + tw_name_hash(walk.ruled[place].from_, <size_t>(walk.ruled[place].to - walk.ruled[place].from_))
        return mixed ^ mixed >> 20

    cdef tuple recent(self, tw_walk* walk):
        """The decision on these texts, as they are written; None if that is not known any more."""
        cdef uint64_t mixed = self.mix(walk)
        cdef Py_ssize_t place, size, at = 0
        cdef tuple pair
        if self.mixed[mixed % KEPT] != mixed:
            return None
        pair = <tuple>self.kept[mixed % KEPT]
        if pair is None:
            return None
        texts = <bytes>pair[0]
        for place in range(len(self.ruled)):
            size = walk.ruled[place].to - walk.ruled[place].from_
            if at + size > PyBytes_GET_SIZE(texts) or memcmp(PyBytes_AS_STRING(texts) + at, walk.ruled[place].from_, <size_t>size):
                return None
            at += size
        return <tuple>pair[1]

    cdef int remember(self, tw_walk* walk, tuple found) except -1:
        cdef uint64_t mixed = self.mix(walk)
        cdef Py_ssize_t place
        texts = b"".join([
            PyBytes_FromStringAndSize(<const char*>walk.ruled[place].from_, walk.ruled[place].to - walk.ruled[place].from_)
            for place in range(len(self.ruled))
        ])
        if found is not None and len(texts) <= LONGEST_KEPT:
            self.kept[mixed % KEPT], self.mixed[mixed % KEPT] = (texts, found), mixed
        return 0

    cdef bint allows(self, tuple found, uint64_t seen) noexcept:
        return found is not None and (not found[0] or seen & self.needed != 0)

    cdef tuple ruling(self, message, fields, bint* learned):
        """The decision on an object that follows the rules; learned: by code that may have run others."""
        found = self.known.get(tuple([(<dict>fields)[name] for name in self.ruled]))
        learned[0] = found is None
        return self.policy.learn(message) if found is None else found

    cdef object said(self, message, PyObject* fields, PyObject* source, PyObject* text):
        """The issues of a message that a policy allows; False where that is not known."""
        cdef tw_put put
        cdef PyObject* said = in_slot(message, self.said_at)
        cdef tuple found
        cdef bint learned
        if source is NULL or text is NULL:
            return False
        if <object>source is not None:
            return list(<tuple>said) if said is not NULL else False
        if <object>text is not None or fields is NULL or not self.follows(<object>fields, &self.rules.rules, &put, False):
            return False
        if not put.clean or put.others:
            return False
        found = self.ruling(message, <object>fields, &learned)
        return list(<tuple>found[1]) if self.allows(found, put.seen) else False

    cdef int keep(self, message, tuple found) except -1:
        """Notes that a message that was made has no more than these issues; whoever changes it drops that."""
        change_slot(message, self.said_at, found[1])
        change_slot(message, self.source_at, True)
        return 0

    def made(self, fields, source, /):
        """The message over a sound object; source: its text, where writing it gives that again. None for any other."""
        cdef tw_put put
        cdef int kind
        if not self.follows(fields, &self.rules.rules, &put, False):
            return None
        kind = self.kind_by(put.choice, put.seen)
        if kind < 0 or not (self.wanted is None or put.writable or self.classes[kind].lax):
            return None
        return self.message(kind, fields, source, None, put.clean)

    def is_clean(self, message, /):
        """True if a message by itself certainly has no issues, or the list of those that it certainly has."""
        cdef tw_put put
        cdef PyObject* fields
        cdef PyObject* source
        cdef int kind = self.kind_of(message)
        if kind < 0:
            return False
        fields, source = in_slot(message, self.fields_at), in_slot(message, self.source_at)
        if self.policy is not None:
            return self.said(message, fields, source, in_slot(message, self.text_at))
        if fields is NULL:
            return in_slot(message, self.text_at) is not NULL  # not even read yet
        if self.doubtful is None and source is not NULL and <object>source is not None:
            return True
        if not self.follows(<object>fields, self.classes[kind].rules, &put, True) or not put.clean:
            return False
        return put.choice < 0 or (put.choice == kind and (put.writable or self.classes[kind].lax))

    def text(self, message, bint strict, /):
        """The text of a message that may certainly be written; None if a closer check is needed."""
        cdef PyObject* fields
        cdef PyObject* source
        cdef PyObject* text
        cdef int kind = self.kind_of(message)
        if kind < 0:
            return None
        fields, source = in_slot(message, self.fields_at), in_slot(message, self.source_at)
        text = in_slot(message, self.text_at)
        if source is NULL or text is NULL or (fields is NULL and <object>text is None):
            return None
        if <object>source is None:
            return self.written(message, <object>fields, kind, strict) if <object>text is None else None
        if strict and fields is not NULL and self.wanted is not None:
            if self.wanted[1] not in (<object>fields)[self.wanted[0]]:
                return None
        if type(<object>source) is str or type(<object>source) is bytes:
            return json_text_of(<object>source)
        if type(<object>source) is int:
            return json_counted_text(<object>text, <object>source)
        if self.policy is not None and <object>text is None:
            return self.written(message, <object>fields, kind, strict)
        return json_written(<object>fields, NESTING, ITEMS, False) if <object>text is None else tw_compacted(<object>text)

    cdef object written(self, message, fields, int kind, bint strict):
        """The text of a message that is checked while it is written."""
        cdef tw_put put
        cdef tuple found
        cdef bint learned
        put.only_written = <object>in_slot(message, self.source_at) is True
        put.loose, put.secrets, put.chosen = self.loose, False, self.chosen
        text = tw_put_text(&put, fields, self.classes[kind].rules, NESTING, ITEMS)
        if text is None or (put.choice >= 0 and put.choice != kind):
            return None
        if self.policy is not None:
            if put.only_written:
                return text
            found = self.ruling(message, fields, &learned)
            if found is None or not (put.clean and self.allows(found, put.seen)):
                return text if found is not None and not strict else None
            if not (put.others or learned):  # nothing but texts, which nobody changes
                self.keep(message, found)
            return text
        if strict and (
            (self.wanted is not None and not put.writable)
            or (not put.clean and self.doubtful is not None and self.doubtful(message))
        ):
            return None
        return text


def quiet(value, /):
    """True if certainly nothing inside a value looks like a secret."""
    return tw_put_quiet(value, NESTING)


cdef class Maker:
    """Gives the object of a message, built from the text that the message keeps; see the pure twin."""

    cdef object read
    cdef type owner
    cdef Py_ssize_t fields_at, source_at

    def __init__(self, fields, source, read):
        self.fields_at, self.source_at = slot_offset(fields), slot_offset(source)
        self.owner = fields.__objclass__
        self.read = read

    def __call__(self, message, /):
        cdef PyObject* found
        if not PyObject_TypeCheck(message, <PyTypeObject*>self.owner):
            raise TypeError(f"a {self.owner.__name__} is needed, not {type(message).__name__}")
        found = in_slot(message, self.fields_at)
        if found is not NULL:
            return <object>found
        found = in_slot(message, self.source_at)
        if found is NULL:
            raise AttributeError("a message without fields")
        text = <object>found  # kept while it is read: collecting garbage may run what touches the message too
        fields = self.read(text)
        with cython.critical_section(message):
            found = in_slot(message, self.fields_at)
            if found is not NULL:  # somebody else has made it meanwhile
                return <object>found
            fill_slot(message, self.fields_at, fields)
        return fields


cdef class _Member:
    """The attribute that ``member`` gives."""

    cdef Maker made
    cdef object name, put

    def __get__(self, message, owner):
        cdef PyObject* fields
        cdef PyObject* found
        if message is None:
            return self
        fields = in_slot(message, self.made.fields_at) if PyObject_TypeCheck(message, <PyTypeObject*>self.made.owner) else NULL
        held = self.made(message) if fields is NULL else <object>fields
        found = PyDict_GetItemWithError(held, self.name)
        return None if found is NULL else <object>found

    def __set__(self, message, value):
        self.put(message, value)

    def __delete__(self, message):
        self.put(message, None)


def member(made, name, put):
    """An attribute that is a member of a message's object; see the pure twin."""
    cdef _Member found = _Member.__new__(_Member)
    found.made, found.name, found.put = made, name, put
    return found


cpdef object copied(value, other):
    """A copy of a JSON value; see the pure twin."""
    cdef type kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool or value is None:
        return value
    if kind is list:
        Py_EnterRecursiveCall(" while a value is copied")
        try:
            return [copied(item, other) for item in <list>value]
        finally:
            Py_LeaveRecursiveCall()
    if kind is not dict:
        return other(value)
    copy = {}
    Py_EnterRecursiveCall(" while a value is copied")
    try:
        for name, item in (<dict>value).items():
            if type(name) is not str:
                return other(value)
            copy[name] = copied(item, other)
    finally:
        Py_LeaveRecursiveCall()
    return copy
