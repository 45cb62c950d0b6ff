# Where the members of an object are in JSON text, for turnwire.json.pointers.
def child(bytes data, Py_ssize_t at, bytes key):
    """Where the value of a key is in the object that begins at a byte of good JSON; -1 where there is no such key, -2
    where one in front of it is written with escapes."""
    cdef Bytes start = <Bytes><char*>data
    cdef Bytes end = start + len(data)
    cdef Bytes place = skip(start + at + 1, end), first
    cdef Py_ssize_t size = len(key), depth
    while place < end and place[0] == 34:
        first = place + 1
        place = turnwire_plain(first, end)
        if place >= end or place[0] == 92:
            return -2
        while place < end and place[0] != 34:  # beyond ASCII
            if place[0] == 92:
                return -2
            place = turnwire_plain(place + 1, end)
        depth = place - first
        place = skip(place + 1, end)
        if place >= end or place[0] != 58:
            return -2
        place = skip(place + 1, end)
        if depth == size and memcmp(first, <const char*>key, size) == 0:
            return place - start
        depth = 0
        while place < end:
            if place[0] == 34:
                place = _string_end(place + 1, end)
                continue
            if place[0] == 123 or place[0] == 91:
                depth += 1
            elif place[0] == 125 or place[0] == 93:
                if not depth:
                    return -1
                depth -= 1
            elif place[0] == 44 and not depth:
                place = skip(place + 1, end)
                break
            place += 1
    return -1


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
