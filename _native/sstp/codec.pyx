"""Reads, judges and writes SSTP messages of which no rule has a finding. Twin of ``sstp/_codec_py.py``.

One table of rules a kind: texts are judged by it while they are read, dicts as they stand or while they are written.
"""

from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from _native.common.slots cimport fill_slot, in_slot, new_object, slot_offset
from _native.common.text cimport exact_text
from _native.json.draft cimport json_text_of, json_written
from _native.json.put cimport TW_PUT_FRONT, padded_name, tw_put, tw_put_follows, tw_put_text
from _native.json.rules cimport (
    TW_MARK_WRITING, TW_RULE_AGREES, TW_RULE_ANY, TW_RULE_CHOICE, TW_RULE_CHOSEN, TW_RULE_CLOCK, TW_RULE_DOUBT,
    TW_RULE_FRACTION, TW_RULE_LENT, TW_RULE_LIST, TW_RULE_RECORD, TW_RULE_RECORDS, TW_RULE_SAID, TW_RULE_SPOKEN,
    TW_RULE_SPOKEN_OR_NULL, TW_RULE_TEXTS, tw_compacted, tw_follows, tw_rule, tw_rule_word, tw_rules, tw_rules_add,
    tw_rules_begin, tw_walk
)
from turnwire.contract import LIMITS
from turnwire.json.faults import input_bytes
from turnwire.sstp.spec import WIRE

cdef enum:
    MOST_KINDS = 8  # kinds of message

cdef str HEADER = "header", PAYLOAD = "payload", KIND = "kind", SCHEMA_ID = "schema_id", PROTOCOL = "protocol"
cdef str SESSION_ID = "session_id", ITEMS = "items", DIRECTED_TO = "directed_to"
cdef Py_ssize_t NESTING = LIMITS.nesting, MOST = LIMITS.message, KEY = LIMITS.key
cdef dict RULES = {
    "text": TW_RULE_SPOKEN, "clock": TW_RULE_CLOCK, "fraction": TW_RULE_FRACTION, "list": TW_RULE_LIST,
    "texts": TW_RULE_TEXTS, "text_or_null": TW_RULE_SPOKEN_OR_NULL, "artifacts": TW_RULE_RECORDS, "said": TW_RULE_SAID,
    "record": TW_RULE_RECORD, "choice": TW_RULE_CHOICE, "agrees": TW_RULE_AGREES, "chosen": TW_RULE_CHOSEN,
    "lent": TW_RULE_LENT, "any": TW_RULE_ANY, "doubt": TW_RULE_DOUBT,
}
cdef tuple ARTIFACT = (("type", "text", True), ("name", "text", True), ("value", "said", True))


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


cdef class KindRules:
    """Tells the texts and the dicts that are surely plain messages, and those of them that strict writing takes."""

    cdef Rules outer
    cdef list payloads
    cdef tw_rules* chosen[MOST_KINDS]
    cdef bint sessionless[MOST_KINDS]  # whether a kind is plain without session_id, which strict writing wants of each

    def __init__(self, kinds):
        cdef Rules header = Rules(()), rules
        cdef int place
        if len(kinds) > MOST_KINDS:
            raise ValueError(f"at most {MOST_KINDS} kinds of message")
        rows = {}
        for place, (_, _, _, part, _) in enumerate(kinds):
            for name, kind, needed in part:
                if name == SESSION_ID:
                    self.sessionless[place] = not needed
                    needed = False
                rows[name] = (kind, needed or rows.get(name, (kind, False))[1])
        header.add(KIND, "choice", True, [word for word, _, _, _, _ in kinds])
        header.add(SCHEMA_ID, "agrees", True, [schema for _, _, schema, _, _ in kinds])
        for name, (kind, needed) in rows.items():
            header.add(name, kind, needed).mark = TW_MARK_WRITING if name == SESSION_ID else 0
        header.add(DIRECTED_TO, "lent", False)
        header.add(PROTOCOL, "doubt", False)  # what it means, the rules know
        self.outer = Rules(())
        self.outer.add(HEADER, "record", True, (), header)
        self.outer.add(PAYLOAD, "chosen", True)
        self.payloads = [Rules(payload) for _, _, _, _, payload in kinds]
        for place, rules in enumerate(self.payloads):
            rules.lend(DIRECTED_TO)
            self.chosen[place] = &rules.rules

    cdef int of_text(self, object data, bint* writable, bint* own) except -2:
        """The place of the kind of a plain message, else -1. *writable: whether strict writing takes it, *own: and writes
        it so."""
        cdef tw_walk walk
        cdef Py_ssize_t size
        cdef const unsigned char* text = exact_text(data, &size)
        if text == NULL:
            return -1
        walk.key, walk.left, walk.chosen = <size_t>KEY, <int>NESTING, self.chosen
        if size > MOST or not tw_follows(&walk, text, <size_t>size, &self.outer.rules):
            return -1
        writable[0], own[0] = walk.writable, walk.own
        return walk.choice if walk.writable or self.sessionless[walk.choice] else -1

    cdef int of_dict(self, object fields, bint* writable) except -2:
        """The same of a dict."""
        cdef tw_put put
        put.loose = False
        put.chosen = self.chosen
        if not tw_put_follows(&put, fields, &self.outer.rules, NESTING, ITEMS):
            return -1
        writable[0] = put.writable
        return put.choice if put.writable or self.sessionless[put.choice] else -1

    cdef object text(self, object fields, int* kind):
        """The text of a plain message that strict writing takes, and the place of its kind; None where it is not surely
        one."""
        cdef tw_put put
        put.loose = False
        put.chosen = self.chosen
        text = tw_put_text(&put, fields, &self.outer.rules, NESTING, ITEMS)
        kind[0] = put.choice
        return text if put.writable else None


cdef class PlainCodec:
    """Reads, judges and writes plain messages, of which no rule has a finding.

    Args:
        kinds: for each kind its word, its class (with slots ``_fields``, ``_plain`` and ``_text``), its schema_id,
            the rows of its header (without kind and schema_id) and those of its payload.
        read: reads text into an object, which it returns with the text where writing it gives that again; takes the
            text and the limits.
        closer: makes a message from an object that is not plain, and the text it was read from.
    """

    cdef object read, closer
    cdef KindRules rules
    cdef list classes  # as the kinds came
    cdef PyObject* each[MOST_KINDS]  # the same, borrowed
    cdef int count
    cdef object limits
    cdef Py_ssize_t fields_at, plain_at, text_at  # where a message of any kind holds its slots

    def __init__(self, kinds, read, closer):
        kinds = list(kinds)
        places = {tuple([slot_offset(one) for one in (cls._fields, cls._plain, cls._text)]) for _, cls, _, _, _ in kinds}
        [(self.fields_at, self.plain_at, self.text_at)] = places
        self.rules = KindRules(kinds)
        self.classes = [cls for _, cls, _, _, _ in kinds]
        self.count = len(self.classes)
        for number, cls in enumerate(self.classes):
            self.each[number] = <PyObject*>cls
        self.limits = LIMITS
        self.read = read
        self.closer = closer

    cdef bint is_ours(self, message) noexcept:
        """True if a message is of one of the classes, and of none that is made of one. They are few: a set would find them
        by their addresses, in a time that differs from one process to the next."""
        cdef int number
        for number in range(self.count):
            if self.each[number] == <PyObject*>(<PyObject*>message).ob_type:
                return True
        return False

    def is_known(self, message):
        """True if a message was found plain, and nothing that could be changed has been handed out since."""
        cdef PyObject* plain
        if not self.is_ours(message):
            return False
        plain = in_slot(message, self.plain_at)
        return plain != NULL and <object>plain is not False

    def is_plain(self, fields):
        """True if no rule can have a finding about this object."""
        cdef bint writable
        return self.rules.of_dict(fields, &writable) >= 0

    def decode(self, data, limits):
        """The message in ``data``. Raises DecodeError. One that is plain, and that strict writing takes, makes its object
        when that is asked for."""
        cdef bint own = False, writable = False
        cdef int kind = self.rules.of_text(data, &writable, &own) if limits is self.limits else -1
        if kind >= 0 and writable:
            message = new_object(self.classes[kind], 0)
            fill_slot(message, self.text_at, data)
            fill_slot(message, self.plain_at, data if own else True)
            return message
        fields, source = self.read(data, limits)
        message = self.made(fields, data, True if source is None else source)
        if limits is self.limits:
            message._text = data if type(data) is bytes or type(data) is str else input_bytes(data, WIRE)
        return message

    def message(self, fields, data):
        """A message over the object that was read from ``data``. Raises DecodeError."""
        return self.made(fields, data, True)

    cdef object made(self, fields, data, plain):
        cdef bint writable
        cdef int kind = self.rules.of_dict(fields, &writable)
        if kind < 0:
            return self.closer(fields, data)
        message = new_object(self.classes[kind], 0)
        fill_slot(message, self.fields_at, fields)
        fill_slot(message, self.plain_at, plain)
        fill_slot(message, self.text_at, None)
        return message

    def text(self, message, bint strict):
        """The text of a message that is plain, and that strict writing takes; None where that is not sure."""
        cdef PyObject* fields
        cdef PyObject* plain
        cdef PyObject* text
        cdef int kind
        cdef bint writable = True
        if not self.is_ours(message):
            return None
        fields = in_slot(message, self.fields_at)
        plain = in_slot(message, self.plain_at)
        text = in_slot(message, self.text_at)
        if plain == NULL or text == NULL:
            return None
        if <object>plain is False:
            if <object>text is not None:
                return None
            if strict:
                written = self.rules.text(<object>fields, &kind)
                if written is not None:
                    return written if self.classes[kind] is type(message) else None
            kind = self.rules.of_dict(<object>fields, &writable)
            if kind < 0 or self.classes[kind] is not type(message):
                return None
        elif fields != NULL:
            writable = SESSION_ID in <object>PyDict_GetItem(<object>fields, HEADER)
        if strict and not writable:
            return None
        if type(<object>plain) is not bool:
            return json_text_of(<object>plain)
        return json_written(<object>fields, NESTING, ITEMS, False) if <object>text is None else tw_compacted(<object>text)
