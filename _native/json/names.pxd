"""The names of a table by the hashes of keys. Header-only, for the JSON modules."""

from cpython.object cimport PyObject

cdef extern from "_native/json/names.h":
    enum:
        TW_NO_NAME
        TW_ODD_NAME
    ctypedef struct tw_names:
        pass
    void tw_names_begin(tw_names* table)
    void tw_names_add(tw_names* table, PyObject* name, int place)
    int tw_names_place(const tw_names* table, PyObject* key)
    bint tw_same_text(PyObject* one, PyObject* other)
