"""Messages as dicts, judged by rules and written. Header-only, for the JSON modules."""

from libc.stdint cimport uint64_t

from _native.json.rules cimport tw_rules

cdef extern from "_native/json/put.h":
    enum:
        TW_PUT_FRONT
        TW_PUT_STEP
    ctypedef struct tw_put:
        bint loose
        bint secrets
        bint calm
        bint writable
        int choice
        uint64_t seen
        tw_rules** chosen
    bint tw_put_follows(tw_put* put, object value, tw_rules* rules, Py_ssize_t nesting, object items)
    bint tw_put_quiet(object value, Py_ssize_t left)
    object tw_put_text(tw_put* put, object value, tw_rules* rules, Py_ssize_t nesting, object items)


cdef inline bytes padded_name(str name):
    """A name as rules keep it: from TW_PUT_FRONT on."""
    cdef bytes member = f',"{name}":'.encode()
    return member + bytes(TW_PUT_STEP - 1)  # as many as may be read behind it
