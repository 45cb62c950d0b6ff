# Methods of a Python class for a compiled one, which cannot inherit from it.

cdef extern from "Python.h":
    unsigned long Py_TPFLAGS_IMMUTABLETYPE
    ctypedef struct PyTypeObject:
        void *tp_dict
        unsigned long tp_flags
    void PyType_Modified(PyTypeObject *)


cdef inline int put(type owner, str name, object value) except -1:
    """Sets an attribute of a compiled class, which Python refuses to do: while its module is being imported only."""
    (<dict>(<PyTypeObject *>owner).tp_dict)[name] = value
    PyType_Modified(<PyTypeObject *>owner)
    return 0


cdef inline int adopt(type owner, type source) except -1:
    """Gives a compiled class what a Python class and its bases have and it has not. What a compiled class has slots for
    (comparison, repr, calls) is not found by them: it says these itself."""
    cdef set taken = {"__dict__", "__weakref__", "__slots__", "__module__", "__doc__", *vars(owner)}
    for base in source.__mro__:
        if base is not object:
            for name, value in vars(base).items():
                if name not in taken:
                    taken.add(name)
                    put(owner, name, value)
    (<PyTypeObject *>owner).tp_flags |= Py_TPFLAGS_IMMUTABLETYPE  # for everybody else
    return 0
