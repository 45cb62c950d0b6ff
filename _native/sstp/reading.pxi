# Messages judged while their text is read: of those that are plain no object is made until somebody asks for it.

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
        cdef const unsigned char* text
        cdef Py_ssize_t size
        if type(data) is bytes:
            text, size = <const unsigned char*><const char*><bytes>data, len(<bytes>data)
        elif type(data) is str:
            try:
                text = <const unsigned char*>PyUnicode_AsUTF8AndSize(data, &size)
            except UnicodeEncodeError:  # a lone surrogate
                return -1
        else:
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
