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
        const char *ml_doc
        void *ml_meth
        int ml_flags
    object PyCFunction_NewEx(PyMethodDef *method, PyObject *myself, object module)
    object PyObject_Vectorcall(object function, PyObject *const *arguments, size_t count, PyObject *names)

cdef PyMethodDef[3] METHODS
cdef list DOCS = []
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
    global closely, NAMES, NUMBERS, DECODERS, load, known, decode_closely, encode_closely, check_closely
    NAMES = tuple(names)
    NUMBERS = {name: number for number, name in enumerate(names)}
    DECODERS = [None] * len(NAMES)
    load, known, decode_closely, encode_closely, check_closely = loader, classes, decoder, encoder, checker
    closely = decoder, encoder, checker
    return (
        door(&METHODS[0], b"decode", <void *>decode, "(data, wire=None)", decoder),
        door(&METHODS[1], b"encode", <void *>encode, "(message, strict=True)", encoder),
        door(&METHODS[2], b"check", <void *>check, "(message, **context)", checker),
    )


cdef object door(PyMethodDef *method, const char *name, void *function, str signature, object closely):
    """Not a function of Cython, which Python would call by a longer way."""
    doc = name + f"{signature}\n--\n\n{closely.__doc__}".encode()
    DOCS.append(doc)
    method.ml_name, method.ml_meth, method.ml_flags, method.ml_doc = name, function, METH_FASTCALL | METH_KEYWORDS, doc
    return PyCFunction_NewEx(method, NULL, "turnwire.registry")


cdef inline PyObject *second(PyObject *const *arguments, Py_ssize_t count, PyObject *names, str name, object default):
    """The second argument, with its name or without; NULL where there are others than it and the first."""
    if names is NULL:
        return <PyObject *>default if count == 1 else arguments[1] if count == 2 else NULL
    return arguments[1] if count == 1 and <object>names == (name,) else NULL


cdef object decode(PyObject *myself, PyObject *const *arguments, Py_ssize_t count, PyObject *names):
    cdef PyObject *wire = second(arguments, count, names, "wire", None)
    cdef Py_ssize_t size
    cdef const uint8_t *text
    cdef int number = TW_UNSURE
    if wire is not NULL:
        data = <object>arguments[0]
        text = exact_text(data, &size)
        if type(<object>wire) is str:
            number = NUMBERS.get(<object>wire, TW_UNSURE)
            if number == TW_KICK and (text is NULL or size == 0 or text[0] != c"{"):  # a document, not an envelope
                number = TW_UNSURE
        elif <object>wire is None and text is not NULL:
            number = tw_wire_of(text, <size_t>size)
        if number != TW_UNSURE:
            if DECODERS[number] is None:
                DECODERS[number] = load(NAMES[number])
            return PyObject_Vectorcall(DECODERS[number], arguments, 1, NULL)
    return PyObject_Vectorcall(decode_closely, arguments, <size_t>count, names)


cdef object encode(PyObject *myself, PyObject *const *arguments, Py_ssize_t count, PyObject *names):
    cdef PyObject *strict
    cdef tuple found = learned(<object>arguments[0]) if count > 0 else None
    if found is None:
        return PyObject_Vectorcall(encode_closely, arguments, <size_t>count, names)
    if found[3] is None and found[2] is False:
        return PyObject_Vectorcall(found[0], arguments, <size_t>count, names)
    strict = second(arguments, count, names, "strict", True)
    if strict is NULL:
        return PyObject_Vectorcall(encode_closely, arguments, <size_t>count, names)
    if found[3] is not None:  # a function in Python around it would cost as much again as the door
        text = found[3](<object>arguments[0], <object>strict)
        if text is not None:
            return text
    return PyObject_Vectorcall(found[0], arguments, 1 if found[2] else <size_t>count, NULL if found[2] else names)


cdef object check(PyObject *myself, PyObject *const *arguments, Py_ssize_t count, PyObject *names):
    cdef tuple found = learned(<object>arguments[0]) if count == 1 and names is NULL else None
    if found is None:
        return PyObject_Vectorcall(check_closely, arguments, <size_t>count, names)
    if found[4] is not None and found[4](<object>arguments[0]) is True:
        return []
    return PyObject_Vectorcall(found[1], arguments, 1, NULL)


cdef inline tuple learned(object message):
    cdef tuple found = WRITERS.get(type(message))
    if found is None:
        found = known(type(message))
        if found is not None:
            WRITERS[type(message)] = found
    return found
