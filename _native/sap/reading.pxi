# Tasks and Results judged while their text is read: of those that nothing is to be said about no object is made until
# somebody asks for a field.

cdef dict LOOKED_AT = {  # what ``turnwire.sap.rules`` and ``conditions`` may have to say something about
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
        cdef const unsigned char* text
        cdef Py_ssize_t size
        if type(data) is bytes:
            text, size = <const unsigned char*><const char*><bytes>data, len(<bytes>data)
        elif type(data) is str:
            try:
                text = <const unsigned char*>PyUnicode_AsUTF8AndSize(data, &size)
            except UnicodeEncodeError:  # a lone surrogate
                return 0
        else:
            return 0
        walk.key, walk.left, walk.shortest = <size_t>KEY, <int>NESTING, <size_t>SHORTEST
        if size > MOST or not tw_follows(walk, text, <size_t>size, &self.rules.rules):
            return 0
        if walk.seen & self.task == self.task and not walk.seen & self.no_task:
            return 1
        return 2 if walk.seen & self.result == self.result and not walk.seen & self.no_result else 0
