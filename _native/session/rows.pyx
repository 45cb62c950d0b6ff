"""All the events that follow each other, read in one go. The rules are those of ``session/_rows_py.py``."""

from cpython.dict cimport PyDict_GetItem
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR, PyUnicode_Substring

from turnwire._native.session.state import read
from turnwire.session._rows_py import fields_of, unfolded

cdef extern from "Python.h":
    Py_ssize_t PyUnicode_FindChar(object text, Py_UCS4 letter, Py_ssize_t start, Py_ssize_t end, int direction)
    bint PyUnicode_IS_ASCII(object text)
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_UCS4 PyUnicode_READ(int kind, void* data, Py_ssize_t at) noexcept


cdef inline bint is_letter(Py_UCS4 letter) noexcept:
    return 97 <= letter <= 122 or 65 <= letter <= 90


cdef bint may_be_lone(str body, bint slashes) noexcept:
    """Whether a lone surrogate may be among the texts of a body; ``surrogate`` of the twin. slashes: whether there are
    backslashes in it."""
    cdef int kind = PyUnicode_KIND(body)
    cdef void* data = PyUnicode_DATA(body)
    cdef Py_ssize_t at, size = PyUnicode_GET_LENGTH(body)
    cdef Py_UCS4 letter
    if kind > 1:
        for at in range(size):
            if 0xD800 <= PyUnicode_READ(kind, data, at) <= 0xDFFF:
                return True
    for at in range(size - 3 if slashes else 0):
        if PyUnicode_READ(kind, data, at) == c"\\" and PyUnicode_READ(kind, data, at + 1) == c"u":
            letter = PyUnicode_READ(kind, data, at + 2)
            if letter == c"d" or letter == c"D":
                letter = PyUnicode_READ(kind, data, at + 3)
                if 56 <= letter <= 57 or 65 <= letter <= 70 or 97 <= letter <= 102:  # 8 9 A-F a-f
                    return True
    return False


cdef Py_ssize_t folded_end(str text, Py_ssize_t at, Py_ssize_t size):
    """Where a record ends whose first feed is at ``at``; -1 where no other begins behind it."""
    cdef Py_ssize_t after
    while at >= 0:
        after = at + 1
        while after < size and PyUnicode_READ_CHAR(text, after) == 10:
            after += 1
        if after == size:
            return -1
        if PyUnicode_READ_CHAR(text, after) != 32:
            return at
        at = PyUnicode_FindChar(text, 10, after, size, 1)
    return -1


def rows(
    str text not None, list at not None, chain, dict templates not None, state, expand, rare, given_back, other,
    list found not None
):
    """Reads the records of events for as long as each is whole and its check fits; see the twin."""
    cdef Py_ssize_t start = at[0], line = at[1], size = PyUnicode_GET_LENGTH(text), end, stop, cut, width
    cdef Py_ssize_t check = 0 if chain is None else 2
    cdef Py_UCS4 letter
    cdef str raw, body, name, rest
    cdef list fields
    cdef bint many, slashes
    cdef PyObject* template
    follows = None if chain is None else chain.follows
    try:
        while True:
            end = PyUnicode_FindChar(text, 10, start, size, 1)
            if end < 0 or end + 1 >= size:
                return
            letter = PyUnicode_READ_CHAR(text, end + 1)
            many = letter == 10 or letter == 32
            if many:
                end = folded_end(text, end, size)
            stop = end - check
            if stop <= start:
                return
            letter = PyUnicode_READ_CHAR(text, start)
            if letter == 94 or letter == 46 or letter == 37:  # ^ . %
                return
            body = raw = PyUnicode_Substring(text, start, stop)
            if follows is not None and not follows(raw, PyUnicode_Substring(text, stop, end)):
                return
            if many:
                body = unfolded(raw)
            if expand is not None and (PyUnicode_GET_LENGTH(body) >= 32 or not PyUnicode_IS_ASCII(body)):
                body = expand(body)
            width = PyUnicode_GET_LENGTH(body)
            cut = 0
            while cut < width and is_letter(PyUnicode_READ_CHAR(body, cut)):
                cut += 1
            template = NULL
            if cut == width or (cut and PyUnicode_READ_CHAR(body, cut) == 32):
                name = PyUnicode_Substring(body, 0, cut)
                template = PyDict_GetItem(templates, name)
            slashes = template is not NULL and PyUnicode_FindChar(body, 92, 0, width, 1) >= 0
            if template is NULL or ((slashes or not PyUnicode_IS_ASCII(body)) and may_be_lone(body, slashes)):
                found.append(other(body))
            else:
                owner = <object>template
                if cut == width:
                    fields = []
                else:
                    rest = PyUnicode_Substring(body, cut + 1, width)
                    if slashes or cut + 1 == width:
                        fields = fields_of(rest, name, len(owner.open))
                    else:
                        fields = rest.split("|")
                        if PyList_GET_SIZE(fields) > len(owner.open):
                            fields = fields_of(rest, name, len(owner.open))
                found.append(given_back(owner.shape, read(state, owner, fields, rare)))
            start = end + 1
            line += raw.count("\n") + 1 if many else 1
    finally:
        at[0], at[1] = start, line
