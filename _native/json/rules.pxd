"""JSON text judged by rules while it is read. Header-only, for the JSON modules."""

from libc.stdint cimport uint64_t

cdef extern from "_native/json/rules.h":
    enum:
        TW_RULE_TEXTS
        TW_RULE_RECORD
        TW_RULE_RECORDS
        TW_RULE_CLOCK
        TW_RULE_FRACTION
        TW_RULE_LIST
        TW_RULE_SPOKEN
        TW_RULE_SPOKEN_OR_NULL
        TW_RULE_SAID
        TW_RULE_CHOICE
        TW_RULE_AGREES
        TW_RULE_ANY
        TW_RULE_CHOSEN
        TW_RULE_LENT
        TW_RULE_DOUBT
        TW_MARK_LOOK
        TW_MARK_AT
        TW_MARK_SECRETS
        TW_MARK_WRITING
    ctypedef struct tw_rules:
        int count
        uint64_t musts
        uint64_t lent
    ctypedef struct tw_rule:
        unsigned char nullable
        unsigned char mark
        tw_rules* rules
    ctypedef struct tw_walk:
        size_t key
        int left
        bint own
        bint calm
        bint writable
        size_t shortest
        int choice
        tw_rules** chosen
        uint64_t seen
    void tw_rules_begin(tw_rules* rules)
    tw_rule* tw_rules_add(tw_rules* rules, const char* name, size_t size, int kind, bint must)
    bint tw_rule_word(tw_rule* rule, const char* text, size_t size, bint calm)
    bint tw_follows(tw_walk* walk, const unsigned char* text, size_t size, tw_rules* rules)

cdef extern from "_native/json/compact.h":
    object tw_compacted(object source)
