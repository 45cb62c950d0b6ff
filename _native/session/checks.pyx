"""The sums that a session's checks are made from; see ``session/_checks_py.py``."""

from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR

from turnwire.session._checks_py import PAIRS as _PAIRS

cdef extern from "Python.h":
    const unsigned char* PyUnicode_1BYTE_DATA(object text)
    bint PyUnicode_IS_ASCII(object text)

cdef extern from "_native/session/crc.h":
    void turnwire_crc_begin()
    unsigned int turnwire_crc_add(unsigned int sum, const unsigned char* at, size_t size)

turnwire_crc_begin()

cdef list pairs = _PAIRS


cdef unsigned int added(unsigned int sum, str text) except? 0:
    """A sum and the UTF-8 of a text."""
    cdef const unsigned char* at
    cdef Py_ssize_t size
    cdef bytes data
    if PyUnicode_IS_ASCII(text):
        return turnwire_crc_add(sum, PyUnicode_1BYTE_DATA(text), PyUnicode_GET_LENGTH(text))
    data = text.encode("utf-8", "surrogatepass")
    return turnwire_crc_add(sum, data, len(data))


cdef class Chain:
    """The checks of a session's records in order; see the twin."""

    cdef public unsigned int since, all

    def __init__(self, str before not None=""):
        self.since = self.all = added(0, before)

    cpdef str pair(self, str body):
        """The two marks that end the next record."""
        cdef unsigned int since, all
        self.sums(body, &since, &all)
        self.since, self.all = since, all
        return pairs[since & 127]

    cdef int sums(self, str body, unsigned int* since, unsigned int* all) except -1:
        """Both sums with one more record."""
        cdef bytes data = None
        cdef const unsigned char* begin
        cdef Py_ssize_t size
        if PyUnicode_IS_ASCII(body):
            begin, size = PyUnicode_1BYTE_DATA(body), PyUnicode_GET_LENGTH(body)
        else:
            data = body.encode("utf-8", "surrogatepass")
            begin, size = data, len(data)
        since[0] = turnwire_crc_add(turnwire_crc_add(self.since, begin, size), b"\n", 1)
        all[0] = since[0]
        if self.since != self.all:
            all[0] = turnwire_crc_add(turnwire_crc_add(self.all, begin, size), b"\n", 1)
        return 0

    def follows(self, str body not None, str pair not None):
        """Whether a record ends in the marks that it must end in; only then does it count as the next one."""
        cdef unsigned int since, all
        self.sums(body, &since, &all)
        if <str>pairs[since & 127] != pair:
            return False
        self.since, self.all = since, all
        return True

    cpdef str sum(self):
        """Three digits over all records so far."""
        return str((self.all >> 7) % 1000).zfill(3)

    cpdef object anchor(self, str body):
        """The records after this one are chained to it alone."""
        self.since = added(0, body)
        return None

    def sealed(self, str body not None):
        """A record with its check, folded or not."""
        cdef str whole
        cdef Py_UCS4 first = PyUnicode_READ_CHAR(body, 0) if PyUnicode_GET_LENGTH(body) else 0
        if first == 94 or first == 46:  # ^ .
            body = body + " " + self.sum()
        whole = body + self.pair(body) + "\n"
        if first == 94:
            self.anchor(body)
        return whole
