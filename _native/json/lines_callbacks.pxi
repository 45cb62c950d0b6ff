# What lines.pyx lets the core ask of Python: the wires' own reading, and what line wires claim.
cdef class Call:
    """What the callbacks of one call need."""

    cdef object judgement, error, claimed

    cdef int give(self, tuple found, tw_verdict *verdict) except -1:
        verdict.what, verdict.wire, verdict.reason, verdict.fault = found
        return TW_FINE


cdef int whole(void *context, const uint8_t *p, size_t size, tw_verdict *verdict) noexcept with gil:
    cdef Call call = <Call>context
    try:
        return call.give(call.judgement.whole(PyBytes_FromStringAndSize(<const char *>p, size)), verdict)
    except BaseException as error:
        call.error = error
        return TW_STOPPED


cdef int torn(void *context, const uint8_t *p, size_t size, int too_large, tw_verdict *verdict) noexcept with gil:
    cdef Call call = <Call>context
    try:
        raw = PyBytes_FromStringAndSize(<const char *>p, size)
        return call.give(call.judgement.torn(raw, bool(too_large)), verdict)
    except BaseException as error:
        call.error = error
        return TW_STOPPED


cdef int claims_of(void *context, const uint8_t *p, size_t size, tw_claim **claims, size_t *count) noexcept with gil:
    cdef Call call = <Call>context
    cdef size_t place
    try:
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
        return TW_FINE
    except BaseException as error:
        free(claims[0])
        claims[0] = NULL
        call.error = error
        return TW_STOPPED


cdef int number(void *context, const uint8_t *p, size_t size, double *value) noexcept with gil:
    cdef Call call = <Call>context
    try:
        value[0] = float(PyBytes_FromStringAndSize(<const char *>p, size))
        return TW_FINE
    except BaseException as error:
        call.error = error
        return TW_STOPPED
