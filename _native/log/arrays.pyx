"""Arrow arrays for consumers to hold, in C: the twin of ``log/_arrays_py.py``."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

cdef extern from "Python.h":
    # With PyObject ** as they are: these references are nobody's but ours.
    void PyErr_Fetch(PyObject **kind, PyObject **value, PyObject **traceback)
    void PyErr_Restore(PyObject *kind, PyObject *value, PyObject *traceback)
    void Py_DECREF(PyObject *owner)
    bint Py_IsInitialized() nogil

cdef extern from "_native/log/arrow_layout.h" nogil:
    ctypedef struct tw_array:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void **buffers
        tw_array **children
        tw_array *dictionary
        void (*release)(tw_array *) noexcept nogil
        void *private_data
    int64_t tw_count_exported(int64_t more)


def exported():
    """The number of arrays, of columns, dictionaries and batches, that consumers have not released."""
    return tw_count_exported(0)


cdef void let_go(PyObject *owner) noexcept with gil:
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *traceback
    PyErr_Fetch(&kind, &value, &traceback)  # consumers release whenever it suits them
    Py_DECREF(owner)
    PyErr_Restore(kind, value, traceback)


cdef void release(tw_array *array) noexcept nogil:
    cdef int64_t place
    cdef tw_array *child
    for place in range(array.n_children):
        child = array.children[place]
        if child.release != NULL:
            child.release(child)
    if array.dictionary != NULL and array.dictionary.release != NULL:
        array.dictionary.release(array.dictionary)
    # While the interpreter goes down there is nobody left to give memory back to.
    if Py_IsInitialized():
        let_go((<PyObject **>array.private_data)[0])
    free(array.private_data)
    tw_count_exported(-1)
    array.release = NULL


cdef void *begin(tw_array *array, int64_t length, int64_t nulls, Py_ssize_t buffers, Py_ssize_t structs,
                 object owner) except NULL:
    """An array that holds ``owner``; behind the places of its buffers there are ``structs`` structures with a pointer to
    each in front of all."""
    cdef size_t pointers = <size_t>(1 + buffers + structs)
    cdef char *memory = <char *>malloc(pointers * sizeof(void *) + <size_t>structs * sizeof(tw_array))
    cdef tw_array **children
    cdef Py_ssize_t place
    if memory == NULL:
        raise MemoryError
    (<PyObject **>memory)[0] = <PyObject *>owner
    Py_INCREF(owner)
    array.length, array.null_count, array.offset = length, nulls, 0
    array.n_buffers, array.n_children, array.dictionary = buffers, 0, NULL
    array.buffers = <const void **>memory + 1
    for place in range(buffers):
        array.buffers[place] = NULL
    children = <tw_array **>(<void **>memory + 1 + buffers)
    for place in range(structs):
        children[place] = <tw_array *>(memory + pointers * sizeof(void *)) + place
        children[place].release = NULL
    array.children = children
    array.private_data = memory
    array.release = release
    tw_count_exported(1)
    return memory


cdef int fill(tw_array *array, int64_t length, int64_t nulls, tuple buffers, tuple dictionary) except -1:
    cdef Py_buffer view
    cdef Py_ssize_t place
    begin(array, length, nulls, len(buffers), 0 if dictionary is None else 1, buffers)
    for place in range(len(buffers)):
        buffer = buffers[place]
        if buffer is not None:
            PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
            array.buffers[place] = view.buf
            PyBuffer_Release(&view)  # it stays where it is: the array holds its owner
    if dictionary is not None:
        array.dictionary = array.children[0]
        fill(array.dictionary, dictionary[0], 0, dictionary[1], None)
    return 0


def export(size_t address, int64_t length, list columns):
    """Makes the struct ArrowArray at ``address`` a struct array of ``length`` rows.

    columns: for each its nulls, its buffers (a tuple of arrays and None) and its dictionary (None, or how many values
    it has, and their buffers). All stay until the consumer has released them, each column by itself.
    """
    cdef tw_array made
    cdef Py_ssize_t place
    begin(&made, length, 0, 1, len(columns), None)
    try:
        for place in range(len(columns)):
            nulls, buffers, dictionary = columns[place]
            made.n_children = place + 1
            fill(made.children[place], length, nulls, buffers, dictionary)
    except BaseException:
        release(&made)
        raise
    (<tw_array *>address)[0] = made
