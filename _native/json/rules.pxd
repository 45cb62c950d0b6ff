"""JSON text judged by rules while it is read. Header-only, for the JSON modules."""

from libc.stdint cimport uint64_t

cdef extern from "_native/json/rules.h":
    ctypedef struct tw_rules:
        uint64_t musts
        uint64_t lent
    ctypedef struct tw_choice:
        pass
    ctypedef struct tw_rule:
        unsigned char nullable
        unsigned char mark
        unsigned char words
        unsigned char ruled
        tw_choice word[8]
        tw_rules* rules
    enum: TW_MARK_RULED, TW_MOST_RULED
    ctypedef struct tw_span:
        const unsigned char* from_ "from"
        const unsigned char* to
    ctypedef struct tw_walk:
        size_t key
        int left
        bint own
        bint clean
        bint writable
        int choice
        tw_rules** chosen
        bint others
        bint shuffled
        tw_span ruled[4]
        uint64_t seen
    void tw_rules_begin(tw_rules* rules)
    tw_rule* tw_rules_add(tw_rules* rules, const char* name, size_t size, int kind, bint must)
    bint tw_rule_word(tw_rule* rule, const char* text, size_t size, bint clean)
    bint tw_follows(tw_walk* walk, const unsigned char* text, size_t size, tw_rules* rules)

cdef extern from "_native/json/compact.h":
    object tw_compacted(object source)
