"""One entry for all wires: calls a wire's own decode, encode or check directly, if the first bytes of a record or the
class of a message identify the wire. Everything else is left to ``turnwire.registry``."""

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t

from _native.common.slots cimport in_slot, slot_offset
from _native.common.text cimport exact_text

cdef extern from "_native/common/first_bytes.h" nogil:
    enum:
        TW_KICK  # which has documents beside its messages
        TW_UNSURE
        TW_PIECE
    int tw_wire_of(const uint8_t *text, size_t size)
    unsigned tw_marks_in(const uint8_t *text, const uint8_t *end)

cdef extern from "Python.h":
    enum:
        METH_FASTCALL, METH_KEYWORDS, METH_O
    ctypedef struct PyMethodDef:
        const char *ml_name
        const char *ml_doc
        void *ml_meth
        int ml_flags
    object PyCFunction_NewEx(PyMethodDef *method, PyObject *myself, object module)
    object PyDescr_NewMethod(type owner, PyMethodDef *method)
    PyObject *PyTuple_GET_ITEM(PyObject *held, Py_ssize_t place)
    object PyObject_Vectorcall(object function, PyObject *const *arguments, size_t count, PyObject *names)

cdef PyMethodDef[4] METHODS
cdef list DOCS = [], DECODERS = [], READERS = []
cdef tuple NAMES = ()
cdef dict NUMBERS = {}, KNOWN = {}
cdef object load, decode_closely, encode_closely, check_closely, feed_closely, known
cdef Py_ssize_t FRONT


cdef enum:
    MANY = 24
cdef PyObject *LEARNED[MANY]  # the first of KNOWN: each a class, and what ``registry._own_class`` says of it
cdef int LEARNED_COUNT = 0


def doors(names, loader, classes, decoder, encoder, checker):
    """The functions ``decode``, ``encode`` and ``check`` below.

    names: of the built-in wires, in order. loader: (name) -> what ``registry.own_decode`` says. classes: (class) -> what
    ``registry._own_class`` says, None for what is to be asked about closely each time. decoder, encoder, checker: what
    does the same for everything else.
    """
    global closely, NAMES, NUMBERS, DECODERS, READERS, load, known, decode_closely, encode_closely, check_closely
    NAMES = tuple(names)
    NUMBERS = {name: number for number, name in enumerate(names)}
    DECODERS, READERS = [None] * len(NAMES), [None] * len(NAMES)
    load, known, decode_closely, encode_closely, check_closely = loader, classes, decoder, encoder, checker
    closely = decoder, encoder, checker
    cdef int keywords = METH_FASTCALL | METH_KEYWORDS  # not functions of Cython, which Python would call by a longer way
    return (
        PyCFunction_NewEx(method(0, b"decode", <void *>decode, keywords, "(data, wire=None)", decoder), NULL, "turnwire.registry"),
        PyCFunction_NewEx(method(1, b"encode", <void *>encode, keywords, "(message, strict=True)", encoder), NULL, "turnwire.registry"),
        PyCFunction_NewEx(method(2, b"check", <void *>check, keywords, "(message, **context)", checker), NULL, "turnwire.registry"),
    )


def feeder(type owner not None, front):
    """The method ``feed`` of ``turnwire.Decoder``; front: its slot with the ``feed`` of ``Beginning``."""
    global FRONT, feed_closely
    FRONT, feed_closely = slot_offset(front), owner.feed
    return PyDescr_NewMethod(owner, method(3, b"feed", <void *>feed, METH_O, "($self, data, /)", owner.feed))


cdef PyMethodDef *method(int number, const char *name, void *function, int flags, str signature, object closely) except NULL:
    cdef bytes doc = name + f"{signature}\n--\n\n{closely.__doc__}".encode()
    DOCS.append(doc)
    METHODS[number] = PyMethodDef(name, doc, function, flags)
    return &METHODS[number]


cdef object feed(PyObject *decoder, PyObject *data):
    cdef PyObject *front = in_slot(<object>decoder, FRONT)
    found = None if front is NULL else (<object>front)(<object>data)
    return found if type(found) is list else feed_closely(<object>decoder, b"" if found is True else <object>data)


def may_be_piece(text, /):
    """As in ``json/_wrapper_py.py``; True for what has no UTF-8, too."""
    cdef Py_ssize_t size
    cdef const uint8_t *first = exact_text(text, &size)
    return first is NULL or (tw_marks_in(first, first + size) & TW_PIECE) != 0


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
        text = exact_text(<object>arguments[0], &size)
        if type(<object>wire) is str:
            number = NUMBERS.get(<object>wire, TW_UNSURE)
            if number == TW_KICK and (text is NULL or size == 0 or text[0] != c"{"):  # a document, not an envelope
                number = TW_UNSURE
        elif <object>wire is None and text is not NULL:
            number = tw_wire_of(text, <size_t>size)
        if number != TW_UNSURE:
            if DECODERS[number] is None:
                READERS[number], DECODERS[number] = load(NAMES[number])
            if READERS[number] is not None:
                message = READERS[number](<object>arguments[0])
                if message is not None:
                    return message
            return PyObject_Vectorcall(DECODERS[number], arguments, 1, NULL)
    return PyObject_Vectorcall(decode_closely, arguments, <size_t>count, names)


cdef object encode(PyObject *myself, PyObject *const *arguments, Py_ssize_t count, PyObject *names):
    cdef PyObject *strict
    cdef tuple found = learned(<object>arguments[0]) if count > 0 else None
    if found is not None and found[3] is None:
        return PyObject_Vectorcall(found[1], arguments, <size_t>count, names)
    strict = second(arguments, count, names, "strict", True)
    if found is None or strict is NULL:
        return PyObject_Vectorcall(encode_closely, arguments, <size_t>count, names)
    if found[3] is not None:  # a function in Python around it would cost as much again as the door
        text = found[3](<object>arguments[0], <object>strict)
        if text is not None:
            return text
    return PyObject_Vectorcall(found[1], arguments, <size_t>count, names)


cdef object check(PyObject *myself, PyObject *const *arguments, Py_ssize_t count, PyObject *names):
    cdef tuple found = learned(<object>arguments[0]) if count == 1 and names is NULL else None
    if found is None:
        return PyObject_Vectorcall(check_closely, arguments, <size_t>count, names)
    if found[4] is not None:
        issues = found[4](<object>arguments[0])
        if issues is True:
            return []
        if type(issues) is list:
            return issues
    return PyObject_Vectorcall(found[2], arguments, 1, NULL)


cdef inline tuple learned(object message):
    cdef object kind = type(message)
    cdef int place
    for place in range(LEARNED_COUNT):  # in a table they would be found by their addresses, sooner in one process than in another
        if PyTuple_GET_ITEM(LEARNED[place], 0) == <PyObject *>kind:
            return <tuple>LEARNED[place]
    return learned_now(kind)


cdef tuple learned_now(object kind):
    global LEARNED_COUNT
    cdef tuple found = KNOWN.get(kind)
    if found is None:
        found = known(kind)
        if found is None:
            return None
        found = (kind, *found)
        first = KNOWN.setdefault(kind, found)
        if first is not found:  # another thread has learned it meanwhile; what LEARNED has must stay
            return first
        if LEARNED_COUNT < MANY:
            LEARNED[LEARNED_COUNT] = <PyObject *>found
            LEARNED_COUNT += 1
    return found
