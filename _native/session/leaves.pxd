# Leaves of events: compared, and looked up.

from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject, PyObject_RichCompareBool, Py_EQ


cdef inline bint equal(object one, object other) except -1:
    """Whether two leaves (or None) are the same: texts and numbers are of different types."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    return PyObject_RichCompareBool(one, other, Py_EQ)


cdef inline object held_at(dict known, object key):
    """What a dict holds, or None."""
    cdef PyObject* found = PyDict_GetItem(known, key)
    return None if found is NULL else <object>found
