# What a reader of JSON text knows while it reads, and the reasons that it may find, for text.pyx.
cdef object DUP_KEY = Reason.DUP_KEY, KEY_TOO_LONG = Reason.KEY_TOO_LONG, TOO_DEEP = Reason.TOO_DEEP
cdef object CUT_OFF = Reason.CUT_OFF, BAD_JSON = Reason.BAD_JSON, BAD_NUMBER = Reason.BAD_NUMBER
cdef object NOT_FINITE = Reason.NOT_FINITE, NUMBER_TOO_LONG = Reason.NUMBER_TOO_LONG
cdef object UNTERMINATED = Reason.UNTERMINATED_STRING, CONTROL = Reason.CONTROL_CHARACTER
cdef object BAD_ESCAPE = Reason.BAD_ESCAPE, LONE_SURROGATE = Reason.LONE_SURROGATE
cdef object TRAILING_JUNK = Reason.TRAILING_JUNK, MESSAGE_TOO_LARGE = Reason.MESSAGE_TOO_LARGE


cdef struct Text:
    Bytes start
    Bytes end
    Bytes place
    Py_ssize_t nesting
    Py_ssize_t key
    Py_ssize_t digits
    bint careful  # whether duplicates are looked for before their values are read: on the way to an error only
    bint bare  # whether the caller wants to know reason and place of a fault, but no words
    bint quiet  # whether the caller wants to know no more than that there is a fault
    bint own  # whether it is the text that writing what was read gives, as far as it was read


cdef inline void skip_white(Text* text) noexcept:
    """To the next byte that is not white space, of which writing puts none."""
    cdef Bytes place = text.place
    if place < text.end and place[0] > 32:
        return
    text.place = skip(place, text.end)
    if text.place != place:
        text.own = False
