# Wires and columns compiled for a search, and what a search in C asks of Python. Included by log/search.pyx.

cdef extern from "_native/json/scan.h" nogil:
    enum:
        TW_STOPPED
        TW_MOST_NODES
        TW_NSLIP_REASONS
    ctypedef struct tw_key_entry:
        const uint8_t *name
        uint32_t size
        uint16_t node
        uint16_t bit
        uint64_t hash
    ctypedef struct tw_table:
        const tw_key_entry *entries
        uint64_t mask
        uint16_t other
    ctypedef struct tw_choice:
        const uint8_t *text
        uint32_t size
        uint8_t padded[16]
    ctypedef struct tw_node:
        int16_t table
        int16_t items
        uint8_t form
        uint8_t text
        uint16_t first_word
        uint16_t words
        uint16_t keyed
        uint8_t is_key
        uint8_t every
    ctypedef struct tw_shape:
        const tw_table *tables
        const tw_node *nodes
        const tw_choice *words
        size_t nesting
        int node_words
        size_t key
        size_t digits
    ctypedef struct tw_json:
        const tw_shape *shape
        uint64_t asked[1]
        uint32_t stamp
        uint8_t no_memory
        size_t part_room
    ctypedef struct tw_need:
        uint16_t node
        uint16_t parent
        uint16_t kinds "is"
        uint16_t instead
        uint8_t needed
        uint8_t worded
        uint8_t missing
        uint8_t wrong
        uint8_t bad
        uint64_t words[4]
    enum:
        TW_FILL_NUMBERED
    ctypedef struct tw_fill:
        uint16_t column
        uint16_t node
        uint16_t other
        uint8_t fill
        uint8_t constant
        const uint8_t *numbers
    ctypedef struct tw_variant:
        uint16_t first_need
        uint16_t needs
        uint16_t first_fill
        uint16_t fills
    ctypedef struct tw_clue:
        uint16_t nodes[4]
        uint8_t count
        uint8_t valued
    ctypedef struct tw_wire:
        uint8_t code
        uint8_t choose
        uint8_t schemas
        uint16_t word
        uint16_t marks[2][8]
        uint8_t mark_count[2]
        uint16_t receipt
        uint16_t task
        uint16_t status
        uint8_t nack
        uint16_t first_variant
        uint16_t variants
        uint16_t doubts[4][2]
        uint8_t doubt_count
        tw_clue clues[8]
        uint8_t clue_count
        uint16_t first_claim, claims, signs, asked
    ctypedef struct tw_token:
        const uint8_t *text
        uint32_t size
    ctypedef struct tw_claim:
        const uint16_t *node
        const tw_token *word
        uint8_t nodes, words, least, most, others, cased, last
    ctypedef struct tw_torn_table:
        pass
    ctypedef struct tw_plan:
        tw_shape shape
        int node_count
        const tw_need *needs
        const tw_variant *variants
        const tw_fill *fills
        const tw_wire *wires
        const tw_claim *claims
        uint8_t unknown_kind, look_alike
        int wire_count
        int variant_count
        const tw_token *inside
        int inside_count
        const tw_token *torn
        uint8_t torn_first[256]
        uint8_t torn_next[256]
        uint8_t torn_halves[4][16]
        const tw_torn_table *signs
    ctypedef struct tw_column:
        void *values
        uint8_t width
        uint8_t valid
        uint8_t escaped
    ctypedef struct tw_json_rows:
        int64_t *offset
        int64_t *length
        int64_t *own_bytes
        int64_t *line
        int64_t *inner
        int64_t *place
        int64_t *size
        uint64_t *present
        uint8_t *wire
        uint8_t *depth
        uint8_t *carrier
        int64_t *time
        uint8_t inner_bit
        uint8_t time_bit
        tw_column own[64]
        uint64_t wanted
        tw_column *of_bit[64]
        size_t count
        size_t room
        void *chosen
    ctypedef struct tw_json_rejects:
        int64_t *offset
        int64_t *length
        int64_t *line
        int64_t *fault
        int64_t *own_bytes
        int64_t *inner
        int64_t *row
        uint8_t *reason
        uint8_t *wire
        size_t count
        size_t room
    ctypedef struct tw_verdict:
        int what
        int wire
        int reason
        size_t fault
    ctypedef struct tw_span:
        size_t start, stop
    ctypedef struct tw_spans:
        tw_span *spans
        size_t first, count, room
    ctypedef struct tw_stretch:
        size_t start, size, outer, until
        int64_t time
        uint8_t written, timed
    ctypedef struct csp_closings:
        int listed
    ctypedef struct tw_fence:
        uint8_t sign
        size_t run
    ctypedef struct tw_region:
        tw_region *outer
        int level, depth, carrier
        size_t start, end
        const tw_stretch *stretches
        size_t stretch_count
        int in_string, final, tail
        tw_fence fence
        tw_spans taken, hopeless
        size_t reached, found_behind, sound, unclosed
        csp_closings closings
        size_t next_run
    ctypedef struct tw_lines:
        const uint8_t *s
        size_t size
        size_t limit
        size_t stop
        int final
        int64_t base
        int64_t line
        const tw_plan *plan
        tw_json json
        tw_json_rows rows
        int apart
        tw_json_rejects rejects
        uint8_t *arena
        size_t arena_size, arena_room
        uint8_t *kept
        size_t kept_size, kept_room
        size_t head
        int64_t counted_line
        tw_spans reaches, firsts
        int mixed
        void *context
        int (*whole)(void *, const uint8_t *, size_t, tw_verdict *) except 0 nogil
        int (*torn)(void *, int, const uint8_t *, size_t, int, tw_verdict *) except 0 nogil
        int (*go_on)(void *) except 0 nogil
        int (*number)(void *, const uint8_t *, size_t, double *) except 0 nogil
        void *others
    uint64_t tw_names_key[2]
    int tw_json_level
    int tw_best_level(int allowed)
    int tw_index_needs(const tw_need *needs, tw_variant *variant)
    int tw_choose_fills(tw_json_rows *r, const tw_plan *plan, tw_json *x)
    void tw_fill_blank(tw_json_rows *r)
    void tw_rows_back(tw_json_rows *r, size_t count)
    void tw_check_templates(tw_json *x)
    void tw_json_free(tw_json *x)
    uint64_t tw_name_hash(const uint8_t *p, size_t n)

cdef extern from "_native/json/token_runs.h" nogil:
    enum:
        TW_KEEP
    ctypedef struct tw_columns:
        uint16_t *present
        uint8_t *act
        uint8_t *frame
        uint64_t *head[6]
        uint64_t *ints[9]
        int64_t *texts[2]
    ctypedef struct tw_among:
        uint8_t wire
        uint8_t kinds[11]
        uint8_t reasons[20]
        tw_column *kind
        tw_column *texts[3]
        tw_column *sequence
        tw_column *subject
        tw_column *task
        tw_column *work
        int flags, owned
        tw_columns own
    void tw_nslip_tables()
    void tw_other_tables()
    void tw_choose_run(tw_lines *k)

cdef extern from "_native/json/torn.h" nogil:
    enum:
        TW_MOST_SIGN_TEXTS, TW_NO_REASON
    ctypedef struct tw_sign_key:
        tw_token text
        uint16_t next, first_value, values
    ctypedef struct tw_sign_value:
        tw_token text
        uint8_t cased
    ctypedef struct tw_torn_sign:
        uint64_t texts[8]
        uint8_t least, last
    ctypedef struct tw_sign_table "tw_torn_table":
        const tw_sign_key *keys
        const tw_sign_value *values
        const tw_torn_sign *signs
        int key_count, words
        uint64_t torn[8]
        uint16_t first[256]
        uint8_t reasons[21]

tw_nslip_tables()
tw_other_tables()
# As secret as what Python hashes its strings with.
tw_names_key[0], tw_names_key[1] = <uint64_t>hash(b"the names of an object"), <uint64_t>hash(b"and of others")


def choose_simd(str most="avx2"):
    """Chooses the fastest code for this processor, "avx2" or "scalar", but none beyond ``most``, and says which; for tests
    and ``info``."""
    global tw_json_level
    tw_json_level = tw_best_level(LEVELS.index(most))
    return LEVELS[tw_json_level]


LEVELS = ("scalar", "avx2")
# TURNWIRE_SIMD=0 keeps to the scalar code, which runs everywhere and is what the others are tested against.
SIMD = choose_simd("avx2" if os.environ.get("TURNWIRE_SIMD", "1") != "0" else "scalar")


cdef class Plan:
    """Wires and columns, compiled: what a search is told. Never changes.

    Args:
        plans: one ``turnwire.json.plan.WirePlan`` or several, asked in this order.
        columns: the columns that there can be (``inner`` and ``time`` among them).
        valid, escaped: column -> its bits in ``present``.
        reasons: the reason of each code.
        nslip: None, or (its number among the wires, the code of ``kind`` of each act, the code in ``reasons`` of each of
            its own): nSLIP is then found among the JSON, in the columns of any wire (``contract.COMMON``).
    """

    cdef tw_plan c
    cdef list kept  # what the pointers lead into
    cdef list memory
    cdef readonly tuple plans, columns, reasons, nslip
    cdef readonly dict valid, escaped

    def __cinit__(self, plans, columns, valid, escaped, reasons, nslip=None):
        cdef Py_ssize_t place
        self.plans, self.columns, self.reasons = tuple(plans), tuple(columns), tuple(reasons)
        self.valid, self.escaped, self.nslip = dict(valid), dict(escaped), nslip
        found = flat(self.plans, self.columns)
        self.kept = [found]
        self.memory = []
        if len(self.columns) > 64 or len(found.nodes) > TW_MOST_NODES:
            raise ValueError("these wires have too many values for one plan")
        self.c.node_count = len(found.nodes)
        self.c.shape.nesting, self.c.shape.key = LIMITS.nesting, LIMITS.key
        self.tables(found)
        self.demands(found)
        self.wires(found)
        self.claims(found)
        self.c.inside_count = len(found.inside)
        self.c.inside = self.tokens(found.inside)
        self.c.torn = self.tokens(found.torn)
        if len(found.torn) > 255:
            raise ValueError("these wires have too many keys that damaged bytes carry")
        for place, text in enumerate(found.torn):
            self.c.torn_next[place], self.c.torn_first[<uint8_t>text[1]] = self.c.torn_first[<uint8_t>text[1]], place + 1
            for half in range(4):
                self.c.torn_halves[half][<uint8_t>text[1 + half // 2] >> 4 if half % 2 else <uint8_t>text[1 + half // 2] & 15] |= 1 << place % 8

    def __dealloc__(self):
        if self.memory is not None:
            for address in self.memory:
                free(<void *><size_t>address)

    cdef void *take(self, size_t count, size_t unit) except NULL:
        cdef void *memory = calloc(count + 1, unit)
        if memory is NULL:
            raise MemoryError
        self.memory.append(<size_t>memory)
        return memory

    cdef const tw_token *tokens(self, list texts) except NULL:
        cdef tw_token *tokens = <tw_token *>self.take(len(texts), sizeof(tw_token))
        cdef Py_ssize_t place
        for place in range(len(texts)):
            tokens[place].text = <const uint8_t *><char *>(<bytes>texts[place])
            tokens[place].size = len(texts[place])
        return tokens

    cdef int tables(self, found) except -1:
        cdef tw_table *tables = <tw_table *>self.take(len(found.tables), sizeof(tw_table))
        cdef tw_node *nodes = <tw_node *>self.take(len(found.nodes), sizeof(tw_node))
        cdef tw_choice *words = <tw_choice *>self.take(len(found.words), sizeof(tw_choice))
        cdef tw_key_entry *entries
        cdef uint64_t room, entry
        cdef Py_ssize_t place, bit
        for place in range(len(found.tables)):
            room = 8
            while room < 4 * <uint64_t>len(found.tables[place]):
                room *= 2
            entries = <tw_key_entry *>self.take(room, sizeof(tw_key_entry))
            tables[place].entries, tables[place].mask = entries, room - 1
            for bit, (key, node) in enumerate(found.tables[place]):
                entry = tw_name_hash(<const uint8_t *><char *>(<bytes>key), len(key)) & (room - 1)
                while entries[entry].name is not NULL:
                    entry = (entry + 1) & (room - 1)
                entries[entry].name, entries[entry].size = <const uint8_t *><char *>(<bytes>key), len(key)
                entries[entry].hash = tw_name_hash(entries[entry].name, entries[entry].size)
                entries[entry].node, entries[entry].bit = node, bit
                if key == b"{}":
                    tables[place].other = node + 1
        for place, (table, items, form, text, first, count, keyed, is_key, every) in enumerate(found.nodes):
            nodes[place].keyed, nodes[place].is_key, nodes[place].every = keyed, is_key, every
            nodes[place].table, nodes[place].items, nodes[place].form = table, items, form
            nodes[place].text, nodes[place].first_word, nodes[place].words = text, first, count
        for place in range(len(found.words)):
            words[place].text = <const uint8_t *><char *>(<bytes>found.words[place])
            words[place].size = len(found.words[place])
            if words[place].size <= 16:
                memcpy(words[place].padded, words[place].text, words[place].size)
        self.c.shape.tables, self.c.shape.nodes, self.c.shape.words = tables, nodes, words
        self.c.shape.node_words = (len(found.nodes) + 63) // 64
        return 0

    cdef int demands(self, found) except -1:
        cdef tw_need *needs = <tw_need *>self.take(len(found.needs), sizeof(tw_need))
        cdef tw_fill *fills = <tw_fill *>self.take(len(found.fills), sizeof(tw_fill))
        cdef tw_variant *variants = <tw_variant *>self.take(len(found.variants), sizeof(tw_variant))
        cdef Py_ssize_t place, part
        for place, (node, parent, kinds, needed, words, instead, *reasons) in enumerate(found.needs):
            needs[place].node, needs[place].parent, needs[place].kinds, needs[place].instead = node, parent, kinds, instead
            needs[place].missing, needs[place].wrong, needs[place].bad = [self.code_of(reason) for reason in reasons]
            needs[place].needed, needs[place].worded = needed, words != 0
            for part in range(4):
                needs[place].words[part] = words >> 64 * part & 0xFFFFFFFFFFFFFFFF
        for place, (column, node, other, how, constant, numbers) in enumerate(found.fills):
            fills[place].column, fills[place].node, fills[place].other = column, node, other
            fills[place].fill, fills[place].constant = how, constant
            if numbers:
                fills[place].fill, fills[place].numbers = TW_FILL_NUMBERED, <const uint8_t *><char *>(<bytes>numbers)
        for place, (first, count, first_fill, fill_count) in enumerate(found.variants):
            variants[place].first_need, variants[place].needs = first, count
            variants[place].first_fill, variants[place].fills = first_fill, fill_count
            if not tw_index_needs(needs, &variants[place]):
                raise ValueError("a variant asks two things of one value")
        self.c.needs, self.c.fills, self.c.variants = needs, fills, variants
        self.c.variant_count = len(found.variants)
        return 0

    cdef int wires(self, found) except -1:
        cdef tw_wire *wires = <tw_wire *>self.take(len(found.wires), sizeof(tw_wire))
        cdef Py_ssize_t place, which, item, node
        for place, wire in enumerate(found.wires):
            wires[place].code, wires[place].choose, wires[place].word = wire["code"], wire["choose"], wire["word"]
            wires[place].schemas = wire["schemas"]
            wires[place].first_claim, wires[place].claims = wire["first_claim"], wire["claims"]
            wires[place].receipt, wires[place].task = wire["receipt"], wire["task"]
            wires[place].status, wires[place].nack = wire["status"], wire["nack"]
            wires[place].first_variant, wires[place].variants = wire["first"], wire["variants"]
            if max(map(len, wire["marks"])) > 8 or len(wire["doubts"]) > 4 or len(wire["clues"]) > 8:
                raise ValueError("a wire has too many marks, doubts or clues")
            for which in range(2):
                wires[place].mark_count[which] = len(wire["marks"][which])
                for item in range(len(wire["marks"][which])):
                    wires[place].marks[which][item] = wire["marks"][which][item]
            wires[place].doubt_count = len(wire["doubts"])
            for item in range(len(wire["doubts"])):
                for which in range(2):
                    wires[place].doubts[item][which] = wire["doubts"][item][which]
            wires[place].clue_count = len(wire["clues"])
            for item in range(len(wire["clues"])):
                if len(wire["clues"][item]) > 4:
                    raise ValueError("a clue has too many paths")
                wires[place].clues[item].count = len(wire["clues"][item])
                wires[place].clues[item].valued = wire["valued"][item]
                for node in range(len(wire["clues"][item])):
                    wires[place].clues[item].nodes[node] = wire["clues"][item][node]
        self.c.wires, self.c.wire_count = wires, len(found.wires)
        return self.sign_table(wires)

    cdef int sign_table(self, tw_wire *wires) except -1:
        """How damaged bytes show whose they are."""
        cdef tw_sign_table *t = <tw_sign_table *>self.take(1, sizeof(tw_sign_table))
        cdef tw_sign_key *keys
        cdef tw_sign_value *values
        cdef tw_torn_sign *signs
        cdef Py_ssize_t place, bit
        found = flat_signs(self.plans)
        texts, every, wires_of, torn = found
        told = [value for _, known in texts for value in known]
        self.kept.append(found)
        self.c.signs = <const tw_torn_table *>t
        for place, reason in enumerate(REASONS):
            t.reasons[place] = self.code_of(reason) or TW_NO_REASON
        t.key_count, t.words = len(texts), (len(texts) + len(told) + 63) // 64
        if len(texts) + len(told) > TW_MOST_SIGN_TEXTS:
            raise ValueError("these wires have too many signs of damaged bytes for one plan")
        t.keys = keys = <tw_sign_key *>self.take(len(texts), sizeof(tw_sign_key))
        t.values = values = <tw_sign_value *>self.take(len(told), sizeof(tw_sign_value))
        t.signs = signs = <tw_torn_sign *>self.take(len(every), sizeof(tw_torn_sign))
        for place, (text, known) in enumerate(texts):
            keys[place].text.text, keys[place].text.size = <const uint8_t *><char *>(<bytes>text), len(text)
            keys[place].next, t.first[<uint8_t>text[1]] = t.first[<uint8_t>text[1]], place + 1
            keys[place].values = len(known)
            keys[place + 1].first_value = keys[place].first_value + len(known)
        for place, (text, cased) in enumerate(told):
            values[place].text.text, values[place].text.size = <const uint8_t *><char *>(<bytes>text), len(text)
            values[place].cased = cased
        for place, (bits, least, last) in enumerate(every):
            signs[place].least, signs[place].last = least, last
            for bit in bits:
                signs[place].texts[bit >> 6] |= <uint64_t>1 << (bit & 63)
        for bit in torn:
            t.torn[bit >> 6] |= <uint64_t>1 << (bit & 63)
        for place, (until, asked) in enumerate(wires_of):
            wires[place].signs, wires[place].asked = until, asked
        return 0

    cdef int claims(self, found) except -1:
        cdef tw_claim *claims
        cdef tw_claim *claim
        cdef uint16_t *numbers
        cdef Py_ssize_t place, item
        self.c.unknown_kind, self.c.look_alike = self.code_of(Reason.UNKNOWN_KIND), self.code_of(Reason.LOOK_ALIKE)
        if any([plan.claimed is None for plan in self.plans]):
            return 0
        claims = <tw_claim *>self.take(len(found.claims), sizeof(tw_claim))
        for place, (nodes, words, least, most, others, cased, last) in enumerate(found.claims):
            claim = &claims[place]
            numbers = <uint16_t *>self.take(len(nodes), sizeof(uint16_t))
            for item in range(len(nodes)):
                numbers[item] = nodes[item]
            claim.node, claim.nodes, claim.word, claim.words = numbers, len(nodes), self.tokens(words), len(words)
            claim.least, claim.most, claim.others, claim.cased, claim.last = least, most, others, cased, last
        self.c.claims = claims
        return 0

    cdef int code_of(self, reason) except -1:
        """The code of a reason; 0: it has none."""
        return self.reasons.index(reason) if reason in self.reasons else 0


# A callback that raises returns 0 and leaves its error set, which the search raises: without memory there may be none, and
# `except` must not look for it.
cdef int give(tuple found, tw_verdict *verdict) except 0:
    verdict.what, verdict.wire, verdict.reason, verdict.fault = found
    return 1


cdef int raised() except -1:
    """Raises what a callback left."""
    if PyErr_Occurred():
        return -1
    raise MemoryError


cdef int whole(void *context, const uint8_t *p, size_t size, tw_verdict *verdict) except 0 with gil:
    return give((<object>context).whole(PyBytes_FromStringAndSize(<const char *>p, size)), verdict)


cdef int torn(void *context, int wire, const uint8_t *p, size_t size, int too_large, tw_verdict *verdict) except 0 with gil:
    return give((<object>context).torn_of(wire, PyBytes_FromStringAndSize(<const char *>p, size), bool(too_large)), verdict)


cdef int number(void *context, const uint8_t *p, size_t size, double *value) except 0 with gil:
    value[0] = float(PyBytes_FromStringAndSize(<const char *>p, size))
    return 1


cdef int go_on(void *context) except 0 with gil:
    PyErr_CheckSignals()
    return 1


cdef int attach_nslip(tw_lines *k, tw_among *others, Plan plan, bint keep) except -1:
    """Sets the hooks that find nSLIP among the JSON."""
    cdef Py_ssize_t place
    cdef tw_column *c
    others.wire, kinds, reasons = plan.nslip
    if len(reasons) > TW_NSLIP_REASONS:
        raise ValueError(f"nSLIP has {TW_NSLIP_REASONS} reasons, not {len(reasons)}")
    for place in range(11):
        others.kinds[place] = kinds[place]
    for place in range(len(reasons)):
        others.reasons[place] = reasons[place]
    for place, description in enumerate(plan.columns):
        c = &k.rows.own[place]
        if description.name == "kind":
            others.kind = c
        elif description.name == "sequence":
            others.sequence = c
        elif description.name == "subject":
            others.subject = c
        elif description.name == "_task":
            others.task = c
        elif description.name == "_work":
            others.work = c
        elif description.name in TEXTS:
            others.texts[TEXTS.index(description.name)] = c
    others.flags = TW_KEEP if keep else 0
    k.others = others
    tw_choose_run(k)
    return 0


cdef tuple TEXTS = ("sender", "receiver", "conversation")
cdef dict WIDTHS = {"u8": 1, "enum": 1, "bool": 1}


cdef set WRITTEN = {"offset", "length", "place", "size", "present", "own_bytes"}
cdef set REJECTED = {"offset", "length", "line", "fault", "own_bytes", "reason"}


cdef int attach(tw_lines *k, Plan plan, dict columns, dict rejects, size_t rows, size_t room, size_t bad,
                size_t reject_room) except -1:
    cdef tw_json_rows *r = &k.rows
    cdef tw_column *c
    cdef Py_ssize_t place
    if not (WRITTEN <= columns.keys() and REJECTED <= rejects.keys()):
        raise ValueError("columns are missing that the search writes unasked")
    r.count, r.room = rows, room
    r.offset = <int64_t *>column(columns, "offset", room, 8)
    r.length = <int64_t *>column(columns, "length", room, 8)
    r.place = <int64_t *>column(columns, "place", room, 8)
    r.size = <int64_t *>column(columns, "size", room, 8)
    r.present = <uint64_t *>column(columns, "present", room, 8)
    r.own_bytes = <int64_t *>column(columns, "own_bytes", room, 8)
    r.line = <int64_t *>column(columns, "line", room, 8)
    r.inner = <int64_t *>column(columns, "inner", room, 8)
    r.wire = <uint8_t *>column(columns, "wire", room, 1)
    r.depth = <uint8_t *>column(columns, "depth", room, 1)
    r.carrier = <uint8_t *>column(columns, "carrier", room, 1)
    r.time = <int64_t *>column(columns, "time", room, 8)
    r.inner_bit, r.time_bit = plan.valid.get("inner", 63), plan.valid.get("time", 63)
    for place, description in enumerate(plan.columns):
        c = &r.own[place]
        name = description.name
        c.valid = plan.valid[name]
        c.escaped = plan.escaped.get(name, 64)
        if name in ("inner", "time", "wire", "depth"):
            continue
        c.width = WIDTHS.get(description.kind, 8)
        c.values = column(columns, name, room, c.width)
        if c.values is not NULL:
            r.wanted |= <uint64_t>1 << c.valid
            r.of_bit[c.valid] = c
    k.rejects.count, k.rejects.room = bad, reject_room
    k.rejects.offset = <int64_t *>column(rejects, "offset", reject_room, 8)
    k.rejects.length = <int64_t *>column(rejects, "length", reject_room, 8)
    k.rejects.line = <int64_t *>column(rejects, "line", reject_room, 8)
    k.rejects.fault = <int64_t *>column(rejects, "fault", reject_room, 8)
    k.rejects.own_bytes = <int64_t *>column(rejects, "own_bytes", reject_room, 8)
    k.rejects.reason = <uint8_t *>column(rejects, "reason", reject_room, 1)
    k.rejects.wire = <uint8_t *>column(rejects, "wire", reject_room, 1)
    k.rejects.inner = <int64_t *>column(rejects, "inner", reject_room, 8)
    k.rejects.row = <int64_t *>column(rejects, "row", reject_room, 8)
    return 0
