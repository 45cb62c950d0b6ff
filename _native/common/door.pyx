"""One entry for all wires: calls a wire's own decode, encode or check directly, if the first bytes of a record or the
class of a message identify the wire. Everything else is left to ``turnwire.registry``."""

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t

from _native.common.text cimport exact_text

cdef extern from "_native/common/first_bytes.h" nogil:
    enum:
        TW_KICK  # which has documents beside its messages
        TW_UNSURE
    int tw_wire_of(const uint8_t *text, size_t size)

cdef extern from "Python.h":
    enum:
        METH_FASTCALL, METH_KEYWORDS
    ctypedef struct PyMethodDef:
        const char *ml_name
        void *ml_meth
        int ml_flags
        const char *ml_doc
    object PyCFunction_NewEx(PyMethodDef *method, PyObject *myself, object module)
    object PyObject_Vectorcall(object function, PyObject *const *arguments, size_t count, PyObject *names)

cdef PyMethodDef CHECK
cdef bytes check_doc
cdef list DECODERS = []
cdef tuple NAMES = ()
cdef dict NUMBERS = {}
cdef dict WRITERS = {}
cdef object load, decode_closely, encode_closely, check_closely, known


def doors(names, loader, classes, decoder, encoder, checker):
    """The functions ``decode``, ``encode`` and ``check`` below.

    names: of the built-in wires, in order. loader: (name) -> its decode of one message. classes: (class) -> what
    ``registry._own_class`` says, None for what is to be asked about closely each time. decoder, encoder, checker: what
    does the same for everything else.
    """
    global closely, check_doc, NAMES, NUMBERS, DECODERS, load, known, decode_closely, encode_closely, check_closely
    NAMES = tuple(names)
    NUMBERS = {name: number for number, name in enumerate(names)}
    DECODERS = [None] * len(NAMES)
    load, known, decode_closely, encode_closely, check_closely = loader, classes, decoder, encoder, checker
    closely = decoder, encoder, checker
    decode.__doc__, encode.__doc__ = decoder.__doc__, encoder.__doc__
    check_doc = f"check(message, **context)\n--\n\n{checker.__doc__}".encode()
    CHECK.ml_name, CHECK.ml_meth, CHECK.ml_flags, CHECK.ml_doc = b"check", <void *>check, METH_FASTCALL | METH_KEYWORDS, check_doc
    return decode, encode, PyCFunction_NewEx(&CHECK, NULL, "turnwire.registry")


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


cdef object check(PyObject *myself, PyObject *const *arguments, Py_ssize_t count, PyObject *names):
    """Not a function of Cython, which would make a dict of the context for each call."""
    cdef tuple found
    if count != 1 or names is not NULL:
        return PyObject_Vectorcall(check_closely, arguments, <size_t>count, names)
    message = <object>arguments[0]
    found = WRITERS.get(type(message))
    if found is None:
        found = learned(type(message))
        if found is None:
            return check_closely(message)
    return [] if found[4] is not None and found[4](message) is True else found[1](message)


cdef tuple learned(object cls):
    cdef tuple found = known(cls)
    if found is not None:
        WRITERS[cls] = found
    return found
