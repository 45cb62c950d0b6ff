# What a leaf weighs, and what kind it is. The rules are those of ``session/_judging_py.py``.


cdef bint is_number(bytes leaf) noexcept:
    """Whether all of it are digits."""
    cdef const unsigned char* place = leaf
    cdef Py_ssize_t at
    for at in range(len(leaf)):
        if place[at] < 48 or place[at] > 57:
            return False
    return len(leaf) > 0


cdef inline bint must_open(object leaf) noexcept:
    """Whether a definition can tell a leaf only as an open one."""
    return type(leaf) is bytes and PyBytes_GET_SIZE(leaf) > 1 and PyBytes_AS_STRING(leaf)[0] == 91 and (
        PyBytes_AS_STRING(leaf)[1] == 123
    )


cdef int number_in(dict known, object key) except -1:
    """The number of a key, which gets one if it has none."""
    cdef PyObject* found = PyDict_GetItem(known, key)
    if found is not NULL:
        return <object>found
    known[key] = len(known)
    return len(known) - 1


cdef double weight_of(object leaf) except -1:
    """About how many tokens a leaf is."""
    cdef Py_ssize_t size = len(leaf), at, digits = 0
    cdef Py_UCS4 letter
    cdef str text
    if type(leaf) is bytes:
        return 1 + <double>size / 3
    text = leaf
    for at in range(min(size, 64)):
        letter = text[at]
        digits += 48 <= letter <= 57
    return 1 + size / (1.6 if digits > 0.3 * min(size, 64) else 4.5)


cdef int digits_of(long long number) noexcept:
    """How many digits a number has that is not negative."""
    cdef int found = 1
    while number >= 10:
        number //= 10
        found += 1
    return found
