"""Text or contiguous bytes as a pointer and a size, without a copy. Header-only: other modules cimport it."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer, Py_buffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t

cdef extern from "Python.h":
    bint PyUnicode_Check(object)
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL


cdef struct Text:
    const uint8_t *data
    size_t size
    Py_buffer view
    bint held


cdef inline bint open_text(object source, Text *text) except -1:
    """Opens a str, bytes or contiguous buffer; the caller keeps ``source`` alive. False where it is none of these or a
    str without a UTF-8 form."""
    cdef Py_ssize_t size
    text.held = False
    if PyBytes_CheckExact(source):
        text.data = <const uint8_t *>PyBytes_AS_STRING(source)
        text.size = <size_t>PyBytes_GET_SIZE(source)
        return True
    if PyUnicode_Check(source):
        try:
            text.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(source, &size)
        except UnicodeEncodeError:
            return False
        text.size = <size_t>size
        return True
    if not PyObject_CheckBuffer(source):
        return False
    try:
        PyObject_GetBuffer(source, &text.view, PyBUF_SIMPLE)
    except BufferError:
        return False
    text.data = <const uint8_t *>text.view.buf
    text.size = <size_t>text.view.len
    text.held = True
    return True


cdef inline void close_text(Text *text) noexcept:
    if text.held:
        PyBuffer_Release(&text.view)
        text.held = False


cdef inline const uint8_t *exact_text(object source, Py_ssize_t *size) except? NULL:
    """The UTF-8 of a str or bytes, and how long it is; it lives as long as the object. NULL for anything else, subclasses of
    these too, and for a str that has no such form."""
    if type(source) is bytes:
        size[0] = PyBytes_GET_SIZE(source)
        return <const uint8_t *>PyBytes_AS_STRING(source)
    if type(source) is not str:
        return NULL
    try:
        return <const uint8_t *>PyUnicode_AsUTF8AndSize(source, size)
    except UnicodeEncodeError:  # a lone surrogate
        return NULL


cdef inline void *column(dict columns, object name, size_t room, size_t width) except? NULL:
    """The memory of a column, or NULL if it is not asked for. The caller's dict keeps it alive."""
    cdef Py_buffer view
    array = columns.get(name)
    if array is None:
        return NULL
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
    cdef void *memory = view.buf
    cdef size_t size = view.len
    PyBuffer_Release(&view)
    if size < room * width:
        raise ValueError(f"column {name} has room for {size // width} rows, not {room}")
    return memory
