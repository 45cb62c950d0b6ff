# Objects of Python classes whose attributes are slots, made and read without a call of Python.

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

cdef extern from "structmember.h":  # Python.h has it from 3.12 on
    ctypedef struct PyMemberDef:
        Py_ssize_t offset

cdef extern from "Python.h":
    ctypedef object (*allocfunc)(type, Py_ssize_t)
    ctypedef struct PyTypeObject:
        allocfunc tp_alloc
    ctypedef struct PyMemberDescrObject:
        PyMemberDef* d_member
    PyTypeObject PyMemberDescr_Type
    bint PyObject_TypeCheck(object, PyTypeObject*)


cdef inline Py_ssize_t slot_offset(object descriptor) except -1:
    """The offset of the slot of a ``__slots__`` descriptor in an object."""
    if not PyObject_TypeCheck(descriptor, &PyMemberDescr_Type):
        raise TypeError("a slot is needed")
    return (<PyMemberDescrObject*>descriptor).d_member.offset


cdef inline object new_object(object cls, Py_ssize_t items):
    """An object of a class, its slots empty; ``items``: how many a tuple has, 0 for what is none."""
    return (<PyTypeObject*>cls).tp_alloc(<type>cls, items)


cdef inline void fill_slot(object owner, Py_ssize_t offset, object value) noexcept:
    """Puts a value into an empty slot of a new object."""
    Py_INCREF(value)
    (<PyObject**>(<char*>(<PyObject*>owner) + offset))[0] = <PyObject*>value


cdef inline void change_slot(object owner, Py_ssize_t offset, object value) noexcept:
    """Puts a value into a slot in place of another."""
    cdef PyObject* old = in_slot(owner, offset)
    fill_slot(owner, offset, value)
    Py_XDECREF(old)


cdef inline PyObject* in_slot(object owner, Py_ssize_t offset) noexcept:
    """The object in a slot, or NULL if it is empty."""
    return (<PyObject**>(<char*>(<PyObject*>owner) + offset))[0]
