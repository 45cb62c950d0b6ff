from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "_native/nslip/parse.h" nogil:
    enum:
        TW_OK, TW_TRAILING_JUNK, TW_MISSING_FIELD, TW_NEWLINE_IN_STRING
        TW_KEEP, TW_LOG
        TW_ACT, TW_FRAME, TW_CONV, TW_SRC, TW_DST, TW_TURN
        TW_STATUS, TW_TAG
        TW_MAX_FRAME
    ctypedef struct tw_unknown:
        size_t first
        uint32_t length
        uint8_t prefix, before
    ctypedef struct tw_values:
        uint64_t head[6]
        uint64_t ints[9]
        uint16_t present
        uint8_t count
        uint8_t order[9]
    ctypedef struct tw_fields:
        tw_values *v
        size_t text_first[2]
        size_t text_length[2]
        size_t end
        uint8_t headers, escaped, non_ascii, unknown_count
        tw_unknown *unknown
    void tw_nslip_tables()
    bint tw_nslip_fast(const uint8_t *s, size_t size, int log, tw_fields *f)
    int tw_nslip_parse(const uint8_t *s, size_t start, size_t end, size_t size, int flags, tw_fields *f)
