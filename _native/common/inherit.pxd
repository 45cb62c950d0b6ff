# A Python class as the base of a compiled one, whose statement cannot name it.

from cpython.long cimport PyLong_FromVoidPtr
from cpython.ref cimport Py_INCREF
from cpython.weakref cimport PyWeakref_NewRef

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        void *tp_dict
        void *tp_bases
        void *tp_mro
        void *tp_subclasses
    void PyType_Modified(PyTypeObject *)


cdef inline int put(type owner, str name, object value) except -1:
    """Sets an attribute of a compiled class, which Python refuses to do: while its module is being imported only."""
    (<dict>(<PyTypeObject *>owner).tp_dict)[name] = value
    PyType_Modified(<PyTypeObject *>owner)
    return 0


cdef inline int inherit(type owner, type source) except -1:
    """Makes a Python class without slots the base of a compiled class that has none: while its module is being imported
    only. What a compiled class has slots for (comparison, repr, calls) is not found there: it says these itself. The base
    has it among its subclasses: else what is set there later would leave CPython's cache of methods with what is gone."""
    cdef PyTypeObject *base = <PyTypeObject *>source
    cdef dict subclasses = {} if base.tp_subclasses == NULL else <dict>base.tp_subclasses
    cdef tuple bases = (source,), order = (owner, *source.__mro__)
    Py_INCREF(bases)
    Py_INCREF(order)
    (<PyTypeObject *>owner).tp_bases = <void *>bases
    (<PyTypeObject *>owner).tp_mro = <void *>order
    subclasses[PyLong_FromVoidPtr(<void *>owner)] = PyWeakref_NewRef(owner, None)
    if base.tp_subclasses == NULL:
        Py_INCREF(subclasses)
        base.tp_subclasses = <void *>subclasses
    PyType_Modified(<PyTypeObject *>owner)
    return 0
