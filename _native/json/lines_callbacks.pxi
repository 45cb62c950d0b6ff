# What lines.pyx lets the core ask of Python: the wires' own reading, and what line wires claim. A callback that raises returns 0
# and leaves its error set, which scan_block raises: without memory there may be none, and `except` must not look for it.
from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.pycapsule cimport PyCapsule_GetPointer


cdef class Call:
    """What the callbacks of one call need."""

    cdef object judgement, claimed

    cdef int give(self, tuple found, tw_verdict *verdict) except 0:
        verdict.what, verdict.wire, verdict.reason, verdict.fault = found
        return 1


cdef int raised() except -1:
    """Raises what a callback left."""
    if PyErr_Occurred():
        return -1
    raise MemoryError


cdef int whole(void *context, const uint8_t *p, size_t size, tw_verdict *verdict) except 0 with gil:
    cdef Call call = <Call>context
    return call.give(call.judgement.whole(PyBytes_FromStringAndSize(<const char *>p, size)), verdict)


cdef int torn(void *context, const uint8_t *p, size_t size, int too_large, tw_verdict *verdict) except 0 with gil:
    cdef Call call = <Call>context
    return call.give(call.judgement.torn(PyBytes_FromStringAndSize(<const char *>p, size), bool(too_large)), verdict)


cdef tw_short_texts *short_texts(object claims) except? NULL:
    """What a wire offers for short texts, or NULL. The caller's object keeps it alive."""
    cdef object found = getattr(claims, "short_texts", None)
    if found is None:
        return NULL
    return <tw_short_texts *>PyCapsule_GetPointer(found.pointer, TW_SHORT_TEXTS)


cdef int claims_of(void *context, const uint8_t *p, size_t size, tw_claim **claims, size_t *count) except 0 with gil:
    cdef Call call = <Call>context
    cdef size_t place
    found = call.claimed(PyBytes_FromStringAndSize(<const char *>p, size)) or ()
    claims[0] = <tw_claim *>calloc(len(found) + 1, sizeof(tw_claim))
    if claims[0] is NULL:
        raise MemoryError
    before = 0
    for place, (start, stop, what, wire, reason, fault) in enumerate(found):
        if not before <= start < stop <= size:
            raise ValueError("claims must be in order and lie in the text")
        before = stop
        claims[0][place].start, claims[0][place].stop, claims[0][place].what = start, stop, what
        claims[0][place].wire, claims[0][place].reason = wire, reason
        claims[0][place].fault = min(max(fault, start), stop)
    count[0] = len(found)
    return 1


cdef int number(void *context, const uint8_t *p, size_t size, double *value) except 0 with gil:
    value[0] = float(PyBytes_FromStringAndSize(<const char *>p, size))
    return 1


cdef int go_on(void *context) except 0 with gil:
    PyErr_CheckSignals()
    return 1
