"""Bytes of JSON text: white space, UTF-8, escapes, runs of plain characters. Header-only, for the JSON modules."""

from libc.stdint cimport uint64_t

ctypedef const unsigned char* Bytes

cdef extern from "_native/json/strings.h" nogil:
    Bytes tw_plain(Bytes place, Bytes end) noexcept
    Bytes tw_skip(Bytes place, Bytes end) noexcept
    int tw_utf8_size(Bytes place, Bytes end) noexcept
    int tw_escape_size(Bytes place, Bytes end) noexcept
    bint tw_same_bytes(Bytes one, Bytes other, size_t size) noexcept
    uint64_t tw_name_hash(Bytes place, size_t size) noexcept
    size_t tw_unescape(Bytes place, Bytes end, unsigned char* out) noexcept

cdef extern from "_native/json/bytes.h" nogil:
    unsigned int turnwire_hex(Bytes place) noexcept
    void turnwire_put(int kind, void* out, Bytes place, Bytes end) noexcept

cdef extern from "_native/json/why.h" nogil:
    bint tw_why_object(Bytes place, Bytes end, Bytes hard, size_t key, Bytes fault, int* reason, Bytes* why)
    bint tw_why_text(Bytes place, Bytes end, Bytes hard, size_t key, Bytes fault, bint behind, int* reason, Bytes* why)
