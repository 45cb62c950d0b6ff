"""One entry for all wires: calls a wire's own decode, encode or check directly, if the first bytes of a record or the
class of a message identify the wire. Everything else is left to ``turnwire.registry``."""

from libc.stdint cimport uint8_t

from _native.common.text cimport exact_text

cdef extern from "_native/common/first_bytes.h" nogil:
    enum:
        TW_KICK  # which has documents beside its messages
        TW_UNSURE
    int tw_wire_of(const uint8_t *text, size_t size)

cdef list DECODERS = []
cdef tuple NAMES = ()
cdef dict NUMBERS = {}
cdef dict WRITERS = {}
cdef object load, decode_closely, encode_closely, check_closely, known


def doors(names, loader, classes, decoder, encoder, checker):
    """The functions ``decode``, ``encode`` and ``check`` below.

    names: of the built-in wires, in order. loader: (name) -> its decode of one message. classes: (class) -> (encode,
    check, whether encode takes no ``strict``, and what the core of the wire writes of most messages: (message, strict)
    -> text or None, or None without it), or None for what is to be asked about closely each time. decoder, encoder,
    checker: what does the same for everything else.
    """
    global NAMES, NUMBERS, DECODERS, load, known, decode_closely, encode_closely, check_closely
    NAMES = tuple(names)
    NUMBERS = {name: number for number, name in enumerate(names)}
    DECODERS = [None] * len(NAMES)
    load, known, decode_closely, encode_closely, check_closely = loader, classes, decoder, encoder, checker
    for made, closely in ((decode, decoder), (encode, encoder), (check, checker)):
        made.__doc__ = closely.__doc__
        made.__wrapped__ = closely
    return decode, encode, check


cdef object decoder_of(int number):
    cdef object found = DECODERS[number]
    if found is None:
        found = DECODERS[number] = load(NAMES[number])
    return found


def decode(data, wire=None):
    cdef Py_ssize_t size
    cdef const uint8_t *text
    cdef int number
    if type(wire) is str:
        number = NUMBERS.get(wire, TW_UNSURE)
        if number < TW_KICK or (number == TW_KICK and opens_object(data)):
            return decoder_of(number)(data)
    elif wire is None:
        text = exact_text(data, &size)
        if text is not NULL:
            number = tw_wire_of(text, <size_t>size)
            if number != TW_UNSURE:
                return decoder_of(number)(data)
    return decode_closely(data, wire)


cdef inline bint opens_object(object data) except -1:
    """True if a KickLang record is an envelope, not a document."""
    cdef Py_ssize_t size
    cdef const uint8_t *text = exact_text(data, &size)
    return text is not NULL and size > 0 and text[0] == c"{"


def encode(message, strict=True):
    cdef object text
    cdef tuple found = WRITERS.get(type(message))
    if found is None:
        found = learned(type(message))
        if found is None:
            return encode_closely(message, strict)
    if found[3] is not None:  # a function in Python around it would cost as much again as the door
        text = found[3](message, strict)
        if text is not None:
            return text
    if strict is True or found[2]:
        return found[0](message)
    return found[0](message, strict=strict)


def check(message, **context):
    cdef tuple found = WRITERS.get(type(message))
    if found is None:
        found = learned(type(message))
        if found is None:
            return check_closely(message, **context)
    return found[1](message, **context) if context else found[1](message)


cdef tuple learned(object cls):
    cdef tuple found = known(cls)
    if found is not None:
        WRITERS[cls] = found
    return found
