# UUIDs with and without their hyphens.

cdef inline bint is_hex(Py_UCS4 letter) noexcept nogil:
    return 48 <= letter <= 57 or 97 <= (<unsigned int>letter | 32) <= 102


cdef inline bint is_alone(int kind, void* data, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t size) noexcept:
    """Whether neither a letter of ASCII nor a digit nor ``_`` is beside a part of a text."""
    cdef Py_UCS4 letter = 32
    if begin:
        letter = PyUnicode_READ(kind, data, begin - 1)
        if letter == 95 or 48 <= letter <= 57 or 97 <= (<unsigned int>letter | 32) <= 122:
            return False
    if end < size:
        letter = PyUnicode_READ(kind, data, end)
        if letter == 95 or 48 <= letter <= 57 or 97 <= (<unsigned int>letter | 32) <= 122:
            return False
    return True


cdef Py_ssize_t digits(int kind, void* data, Py_ssize_t at, Py_ssize_t size) noexcept:
    """Where the next 32 hexadecimal digits are that stand alone; ``size`` where there are none."""
    cdef Py_ssize_t begin, last = at + 31
    while last < size:
        if not is_hex(PyUnicode_READ(kind, data, last)):
            last += 32
            continue
        begin = last
        while begin > at and is_hex(PyUnicode_READ(kind, data, begin - 1)):
            begin -= 1
        last += 1
        while last < size and is_hex(PyUnicode_READ(kind, data, last)):
            last += 1
        if last - begin == 32 and is_alone(kind, data, begin, last, size):
            return begin
        last += 32
    return size


cdef Py_ssize_t uuid(int kind, void* data, Py_ssize_t at, Py_ssize_t size) noexcept:
    """Where the next UUID is; ``size`` where there is none."""
    cdef Py_ssize_t hyphen = at + 8, begin, place
    while hyphen + 28 <= size:
        if PyUnicode_READ(kind, data, hyphen) != 45:
            hyphen += 1
            continue
        begin = hyphen - 8
        for place in range(36):
            if place == 8 or place == 13 or place == 18 or place == 23:
                if PyUnicode_READ(kind, data, begin + place) != 45:
                    break
            elif not is_hex(PyUnicode_READ(kind, data, begin + place)):
                break
        else:
            if is_alone(kind, data, begin, begin + 36, size):
                return begin
        hyphen += 1
    return size


def unhyphened(str text not None):
    """A text with its UUIDs as 32 hexadecimal digits, and how many they are; see the twin."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text), done = 0, at, begin
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef list found = []
    if digits(kind, data, 0, size) < size:
        return text, 0
    at = uuid(kind, data, 0, size)
    while at < size:
        for begin in (8, 13, 18, 23):
            found.append(PyUnicode_Substring(text, done, at + begin))
            done = at + begin + 1
        at = uuid(kind, data, at + 36, size)
    if not found:
        return text, 0
    found.append(PyUnicode_Substring(text, done, size))
    return "".join(found), len(found) // 4


def hyphened(str text not None):
    """A text with the hyphens of its UUIDs; see the twin."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text), done = 0, at, part
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef list found
    at = digits(kind, data, 0, size)
    if at == size:
        return text
    found = []
    while at < size:
        for part in (8, 12, 16, 20):
            found.append(PyUnicode_Substring(text, done, at + part))
            done = at + part
        at = digits(kind, data, at + 32, size)
    found.append(PyUnicode_Substring(text, done, size))
    return "-".join(found)
