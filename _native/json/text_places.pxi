# Where the members of an object and the items of an array are in JSON text, for turnwire.json.pointers.
cdef extern from "_native/json/strings.h" nogil:
    int tw_unescape_one(const unsigned char **p, const unsigned char *end, unsigned char *out) noexcept


def child(bytes data, Py_ssize_t at, bytes key):
    """Where the value of a key is in the object that begins at a byte of good JSON; -1 where there is no such key, -2
    where that is no good JSON."""
    cdef Bytes start = <Bytes><char*>data
    cdef Bytes end = start + len(data)
    cdef Bytes place = skip(start + at + 1, end), first
    cdef bint same
    while place < end and place[0] == 34:
        first = place + 1
        place = _string_end(first, end)
        same = _says(first, place - 1, <Bytes><char*>key, len(key))
        place = skip(place, end)
        if place >= end or place[0] != 58:
            return -2
        place = skip(place + 1, end)
        if same:
            return place - start
        place = _behind(place, end)
    return -1


def item(bytes data, Py_ssize_t at, Py_ssize_t index):
    """Where an item is in the array that begins at a byte of good JSON; -1 where it has fewer."""
    cdef Bytes start = <Bytes><char*>data
    cdef Bytes end = start + len(data)
    cdef Bytes place = skip(start + at + 1, end)
    while place < end and place[0] != 93 and place[0] != 125:
        if not index:
            return place - start
        index -= 1
        place = _behind(place, end)
    return -1


cdef bint _says(Bytes place, Bytes end, Bytes key, Py_ssize_t size) noexcept:
    """Whether the inside of a string says a key."""
    cdef unsigned char said[4]
    cdef Py_ssize_t known = 0
    cdef int count
    while place < end:
        if place[0] == 92:
            count = tw_unescape_one(&place, end, said)
        else:
            count = 1
            said[0] = place[0]
            place += 1
        if known + count > size or memcmp(key + known, said, count) != 0:
            return False
        known += count
    return known == size


cdef Bytes _behind(Bytes place, Bytes end) noexcept:
    """Where the next member or item begins behind the value at a byte, or the bracket that closes."""
    cdef Py_ssize_t depth = 0
    while place < end:
        if place[0] == 34:
            place = _string_end(place + 1, end)
            continue
        if place[0] == 123 or place[0] == 91:
            depth += 1
        elif place[0] == 125 or place[0] == 93:
            if not depth:
                return place
            depth -= 1
        elif place[0] == 44 and not depth:
            return skip(place + 1, end)
        place += 1
    return end


cdef Bytes _string_end(Bytes place, Bytes end) noexcept:
    """Behind the quote that closes a string; place: a byte of its inside."""
    while place < end:
        place = turnwire_plain(place, end)
        if place >= end:
            return end
        if place[0] == 34:
            return place + 1
        place += 2 if place[0] == 92 else 1
    return end
