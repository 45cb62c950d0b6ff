"""The objects of messages: made of their text when somebody first asks, and copied. Twin of ``json/_lazy_object_py.py``."""

from cpython.object cimport PyObject

from _native.common.slots cimport PyObject_TypeCheck, PyTypeObject, fill_slot, in_slot, slot_offset

cimport cython

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char* where) except *
    void Py_LeaveRecursiveCall()


cdef class Maker:
    """Gives the object of a message, built from the text that the message keeps; see the pure twin."""

    cdef object read
    cdef type owner
    cdef Py_ssize_t fields_at, source_at

    def __init__(self, fields, source, read):
        self.fields_at, self.source_at = slot_offset(fields), slot_offset(source)
        self.owner = fields.__objclass__
        self.read = read

    def __call__(self, message, /):
        cdef PyObject* found
        if not PyObject_TypeCheck(message, <PyTypeObject*>self.owner):
            raise TypeError(f"a {self.owner.__name__} is needed, not {type(message).__name__}")
        found = in_slot(message, self.fields_at)
        if found is not NULL:
            return <object>found
        found = in_slot(message, self.source_at)
        if found is NULL:
            raise AttributeError("a message without fields")
        text = <object>found  # kept while it is read: collecting garbage may run what touches the message too
        fields = self.read(text)
        with cython.critical_section(message):
            found = in_slot(message, self.fields_at)
            if found is not NULL:  # somebody else has made it meanwhile
                return <object>found
            fill_slot(message, self.fields_at, fields)
        return fields


cpdef object copied(value, other):
    """A copy of a JSON value; see the pure twin."""
    cdef type kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool or value is None:
        return value
    if kind is list:
        Py_EnterRecursiveCall(" while a value is copied")
        try:
            return [copied(item, other) for item in <list>value]
        finally:
            Py_LeaveRecursiveCall()
    if kind is not dict:
        return other(value)
    copy = {}
    Py_EnterRecursiveCall(" while a value is copied")
    try:
        for name, item in (<dict>value).items():
            if type(name) is not str:
                return other(value)
            copy[name] = copied(item, other)
    finally:
        Py_LeaveRecursiveCall()
    return copy
