# Values as JSON text without spaces, in UTF-8: what ``minified(value).encode()`` of the twin gives.

cdef enum:
    MOST_DEPTH = 64


cdef struct Written:
    char* letters
    Py_ssize_t size, room


cdef char* room_for(Written* written, Py_ssize_t more) except NULL:
    """Where the next letters come, with room for so many of them."""
    cdef void* held
    if written.size + more > written.room:
        held = PyMem_Realloc(written.letters, 2 * (written.size + more))
        if held is NULL:
            raise MemoryError
        written.letters, written.room = <char*>held, 2 * (written.size + more)
    return written.letters + written.size


cdef int put(Written* written, const char* letters, Py_ssize_t size) except -1:
    memcpy(room_for(written, size), letters, size)
    written.size += size
    return True


cdef inline Py_ssize_t put_letter(char* place, unsigned int letter) noexcept:
    """Writes a letter of a JSON string, and tells its bytes; 0 for a lone surrogate."""
    cdef const char* short_ = b"btn-fr"  # those of 8 to 13 but 11
    cdef const char* digits = b"0123456789abcdef"
    if letter == 34 or letter == 92:
        place[0], place[1] = 92, <char>letter
        return 2
    if 32 <= letter < 128:
        place[0] = <char>letter
        return 1
    if letter < 32:
        place[0] = 92
        if 8 <= letter <= 13 and letter != 11:
            place[1] = short_[letter - 8]
            return 2
        place[1], place[2], place[3] = 117, 48, 48
        place[4], place[5] = digits[letter >> 4], digits[letter & 15]
        return 6
    if letter < 0x800:
        place[0], place[1] = <char>(0xC0 | letter >> 6), <char>(0x80 | letter & 63)
        return 2
    if letter < 0x10000:
        if 0xD800 <= letter < 0xE000:
            return 0
        place[0], place[1] = <char>(0xE0 | letter >> 12), <char>(0x80 | letter >> 6 & 63)
        place[2] = <char>(0x80 | letter & 63)
        return 3
    place[0], place[1] = <char>(0xF0 | letter >> 18), <char>(0x80 | letter >> 12 & 63)
    place[2], place[3] = <char>(0x80 | letter >> 6 & 63), <char>(0x80 | letter & 63)
    return 4


cdef int put_text(Written* written, str text) except -1:
    """Writes a text as a JSON string; False where it holds a lone surrogate."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text), at, more
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef char* place = room_for(written, 6 * size + 2)
    cdef char* begin = place
    place[0] = 34
    place += 1
    for at in range(size):
        more = put_letter(place, <unsigned int>PyUnicode_READ(kind, data, at))
        if not more:
            return False
        place += more
    place[0] = 34
    written.size += place + 1 - begin
    return True


cdef int put_list(Written* written, list values, int depth) except -1:
    cdef object each
    cdef bint first = True
    put(written, b"[", 1)
    for each in values:
        if not first:
            put(written, b",", 1)
        first = False
        if not put_value(written, each, depth):
            return False
    return put(written, b"]", 1)


cdef int put_dict(Written* written, dict values, int depth) except -1:
    cdef object key, each
    cdef bint first = True
    put(written, b"{", 1)
    for key, each in values.items():
        if type(key) is not str:
            return False
        if not first:
            put(written, b",", 1)
        first = False
        if not put_text(written, key):
            return False
        put(written, b":", 1)
        if not put_value(written, each, depth):
            return False
    return put(written, b"}", 1)


cdef int put_value(Written* written, object value, int depth) except -1:
    """Writes a value; False for one that the twin has to write."""
    cdef bytes found
    if type(value) is str:
        return put_text(written, value)
    if depth == MOST_DEPTH:
        return False
    if type(value) is list:
        return put_list(written, value, depth + 1)
    if type(value) is dict:
        return put_dict(written, value, depth + 1)
    if type(value) is bytes:
        found = value
    elif value is None or type(value) is bool or type(value) is int or type(value) is float:
        found = scalar_of(value)
    else:
        return False
    return put(written, found, len(found))


cdef bytes json_of(object value):
    """A value of ``parsed`` as JSON text in UTF-8."""
    cdef Written written
    written.letters, written.size, written.room = NULL, 0, 0
    try:
        if put_value(&written, value, 0):
            return PyBytes_FromStringAndSize(written.letters, written.size)
    finally:
        PyMem_Free(written.letters)
    return as_json(value).encode()
