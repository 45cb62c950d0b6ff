# Leaves of events: compared, looked up, and told from their text.

from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject, PyObject_RichCompareBool, Py_EQ
from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR

cdef extern from "Python.h":
    const unsigned char* PyUnicode_1BYTE_DATA(object text)
    bint PyUnicode_IS_ASCII(object text)


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


cdef inline bint is_digit(unsigned char letter) noexcept nogil:
    return 48 <= letter <= 57


cdef inline bint is_number(object text, bint fractions) noexcept:
    """Whether a field is a whole number, or perhaps a decimal fraction, as JSON writes it without an exponent."""
    cdef Py_ssize_t at = 0, begin, size
    cdef const char* letters
    if not PyUnicode_IS_ASCII(text):
        return False
    size = PyUnicode_GET_LENGTH(text)
    letters = <const char*>PyUnicode_1BYTE_DATA(text)
    if size and letters[0] == 45:
        at = 1
    begin = at
    while at < size and is_digit(letters[at]):
        at += 1
    if at == begin or (letters[begin] == 48 and at > begin + 1):
        return False
    if at == size:
        return True
    if not fractions or letters[at] != 46 or at + 1 == size:
        return False
    at += 1
    while at < size and is_digit(letters[at]):
        at += 1
    return at == size


cdef inline Py_ssize_t strings_end(object text, Py_ssize_t at) noexcept:
    """Where an array ends that holds strings alone, without spaces between them or escapes in them, as minified JSON
    has it; -1 for any other text."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef Py_UCS4 letter
    if at + 1 < size and PyUnicode_READ_CHAR(text, at) == 91 and PyUnicode_READ_CHAR(text, at + 1) == 93:
        return at + 2
    while at + 2 < size:  # a bracket or a comma, and a string
        if PyUnicode_READ_CHAR(text, at + 1) != 34:
            return -1
        at += 2
        while at < size:
            letter = PyUnicode_READ_CHAR(text, at)
            if letter == 34:
                break
            if letter < 32 or letter == 92:
                return -1
            at += 1
        at += 1
        if at >= size:
            return -1
        letter = PyUnicode_READ_CHAR(text, at)
        if letter == 93:
            return at + 1
        if letter != 44:
            return -1
    return -1


cdef inline bint stands(object text, Py_ssize_t at, const char* word, Py_ssize_t letters) noexcept:
    """Whether a word of ASCII letters stands at a place."""
    cdef Py_ssize_t number
    if PyUnicode_GET_LENGTH(text) - at < letters:
        return False
    for number in range(letters):
        if PyUnicode_READ_CHAR(text, at + number) != <unsigned char>word[number]:
            return False
    return True


cdef inline Py_ssize_t plain_end(object text, Py_ssize_t at) noexcept:
    """Where a string without escapes ends, a number without an exponent, or a constant; -1 for anything else."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text), begin
    cdef Py_UCS4 letter = PyUnicode_READ_CHAR(text, at) if at < size else 0
    if letter == 34:
        at += 1
        while at < size:
            letter = PyUnicode_READ_CHAR(text, at)
            if letter == 34:
                return at + 1
            if letter < 32 or letter == 92:
                return -1
            at += 1
        return -1
    if letter == 116 or letter == 110:
        return at + 4 if stands(text, at, b"true" if letter == 116 else b"null", 4) else -1
    if letter == 102:
        return at + 5 if stands(text, at, b"false", 5) else -1
    begin = at = at + (letter == 45)
    while at < size and 48 <= PyUnicode_READ_CHAR(text, at) <= 57:
        at += 1
    if at == begin or (PyUnicode_READ_CHAR(text, begin) == 48 and at > begin + 1):
        return -1
    if at == size or PyUnicode_READ_CHAR(text, at) != 46:
        return at
    begin = at = at + 1
    while at < size and 48 <= PyUnicode_READ_CHAR(text, at) <= 57:
        at += 1
    return at if at > begin else -1


cdef inline Py_ssize_t rows_end(object text, Py_ssize_t at) noexcept:
    """Where an array ends that holds arrays of such values alone, one or more in each, as minified JSON has it; -1 for
    any other text that begins with a bracket."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef Py_UCS4 letter = 44
    while letter == 44:
        if at + 1 >= size or PyUnicode_READ_CHAR(text, at + 1) != 91:
            return -1
        at += 1
        while letter == 44:
            at = plain_end(text, at + 1)
            if at < 0 or at >= size:
                return -1
            letter = PyUnicode_READ_CHAR(text, at)
        if letter != 93 or at + 1 >= size:
            return -1
        at += 1
        letter = PyUnicode_READ_CHAR(text, at)
    return at + 1 if letter == 93 else -1
