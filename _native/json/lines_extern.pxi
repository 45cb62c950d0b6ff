# What json/lines.pyx uses of the headers.
cdef extern from "_native/json/scan.h" nogil:
    enum:
        TW_STOPPED
        TW_SIGNS_ALL
        TW_SIGNS_BETWEEN
        TW_MOST_MARKS
        TW_MOST_LINE_MARKS
        TW_MOST_CLUES
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
    ctypedef struct tw_shape:
        const tw_table *tables
        const tw_node *nodes
        const tw_choice *words
        size_t nesting
        size_t key
        size_t digits
    ctypedef struct tw_json:
        const tw_shape *shape
        int no_memory
    ctypedef struct tw_need:
        uint16_t node
        uint16_t parent
        uint16_t kinds "is"
        uint8_t needed
        uint64_t words
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
    ctypedef struct tw_wire:
        uint8_t code
        uint8_t choose
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
    ctypedef struct tw_token:
        const uint8_t *text
        uint32_t size
    ctypedef struct tw_ask:
        uint8_t how
        uint16_t parts
        uint16_t first_word
        uint16_t words
        tw_token opening
    ctypedef struct tw_plan:
        tw_shape shape
        int node_count
        const tw_need *needs
        const tw_variant *variants
        const tw_fill *fills
        const tw_wire *wires
        const tw_ask *asks
        int wire_count
        int variant_count
        const tw_token *inside
        int inside_count
        const tw_token *torn
        int torn_count
        const tw_token *marks
        int mark_count
        tw_token shared
        size_t longest_mark
        int template_marked
    ctypedef struct tw_column:
        int64_t *offset
        int64_t *size
        void *values
        uint8_t width
        uint8_t valid
        uint8_t escaped
    ctypedef struct tw_json_rows:
        int64_t *offset
        int64_t *length
        int64_t *line
        int64_t *inner
        int64_t *place
        int64_t *size
        uint64_t *present
        uint8_t *wire
        uint8_t *depth
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
    ctypedef struct tw_region:
        pass
    ctypedef struct tw_other:
        pass
    ctypedef struct tw_claim:
        size_t start
        size_t stop
        size_t fault
        int what
        int wire
        int reason
    ctypedef struct tw_short_texts:
        pass
    const char *TW_SHORT_TEXTS
    ctypedef struct tw_lines:
        const uint8_t *s
        size_t size
        size_t limit
        size_t position
        size_t stop
        int final
        int64_t base
        int64_t line
        const tw_plan *plan
        tw_json json
        tw_json_rows rows
        tw_json_rejects rejects
        uint8_t *arena
        size_t arena_size
        size_t arena_room
        size_t head
        int carried, signs, signed_line
        size_t signs_from
        int values "values"
        int head_known
        int grows
        int64_t head_time
        size_t open_at
        void *context
        int (*whole)(void *, const uint8_t *, size_t, tw_verdict *) except 0 nogil
        int (*torn)(void *, const uint8_t *, size_t, int, tw_verdict *) except 0 nogil
        int (*go_on)(void *) except 0 nogil
        int (*number)(void *, const uint8_t *, size_t, double *) except 0 nogil
        int (*find)(tw_lines *, tw_region *, size_t, size_t, tw_other *) noexcept nogil
        int (*good)(tw_lines *, size_t, size_t, tw_other *) noexcept nogil
        int (*take)(tw_lines *, tw_region *, const tw_other *) noexcept nogil
        int (*look)(tw_lines *, const uint8_t *, const uint8_t *) noexcept nogil
        void *others
        void *verdicts
        int (*claims)(void *, const uint8_t *, size_t, tw_claim **, size_t *) except 0 nogil
        tw_short_texts *short_texts
    uint64_t tw_names_key[2]
    int tw_json_level
    int tw_best_level(int allowed)
    int tw_index_needs(const tw_need *needs, tw_variant *variant)
    int tw_choose_fills(tw_json_rows *r, const tw_plan *plan, tw_json *x)
    int tw_json_lines(tw_lines *k)
    void tw_json_free(tw_json *x)
    uint64_t tw_name_hash(const uint8_t *p, size_t n)
    size_t tw_unescape(const uint8_t *p, const uint8_t *end, uint8_t *out)
    int tw_head_time(const uint8_t *p, size_t size, int64_t *micros)

cdef extern from "_native/json/parts.h" nogil:
    ctypedef struct tw_parts:
        int64_t *start
        int64_t *stop
        int64_t *line
        int64_t *fault
        int64_t *row
        uint8_t *what
        uint8_t *reason
        size_t count
        uint8_t wire
    int tw_json_parts(tw_lines *k, const tw_parts *parts, size_t *part)

cdef extern from "_native/json/token_runs.h" nogil:
    enum:
        TW_KEEP
    ctypedef struct tw_among:
        uint8_t wire
        uint8_t kinds[11]
        uint8_t reasons[20]
        tw_column *kind
        tw_column *texts[3]
        tw_column *sequence
        tw_column *subject
        int flags
    int tw_other_find(tw_lines *k, tw_region *r, size_t start, size_t to, tw_other *other) noexcept
    int tw_other_take(tw_lines *k, tw_region *r, const tw_other *other) noexcept
    int tw_other_good(tw_lines *k, size_t at, size_t end, tw_other *other) noexcept
    int tw_other_look(tw_lines *k, const uint8_t *p, const uint8_t *end) noexcept
    void tw_nslip_tables()
    void tw_other_tables()
    void tw_run_tables()
    void tw_choose_run(tw_lines *k)
