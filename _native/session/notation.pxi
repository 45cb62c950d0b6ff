# Definitions as drafts, as far as they are simple: keys, texts, numbers, objects in each other, arrays of them.

cdef enum:
    MOST_DEPTH = 32

cdef dict cuts = {}
cdef bint[128] in_word
cdef object AS_EXPECTED = _Given(None), NO_VALUE = _Given(b"null")

for _at in range(128):
    in_word[_at] = chr(_at).isalnum() or chr(_at) in "_.@/?+~^=$#!&*<>;|()%'-"


class _Rare(ValueError):
    """What is not read here."""


def read(str text not None, cut):
    """The draft of a definition; ValueError where it is not simple. See the twin. Who calls it catches that, and not this
    function: without memory for a traceback, Cython's own code ends the process where an error is caught."""
    cdef Py_ssize_t at = 0
    cdef list found = members(text, &at, cut, 0)
    if at != PyUnicode_GET_LENGTH(text):
        raise _Rare
    return found


cdef inline Py_UCS4 letter_at(str text, Py_ssize_t at) noexcept:
    """A letter; NUL behind the last."""
    return PyUnicode_READ_CHAR(text, at) if at < PyUnicode_GET_LENGTH(text) else 0


cdef list members(str text, Py_ssize_t* at, object cut, int depth):
    """The members of an object that begins here, of which there are some."""
    cdef list found = []
    cdef set names = set()
    cdef tuple own
    cdef str key, mark
    cdef object node
    cdef Py_UCS4 letter
    cdef bint bare
    if depth > MOST_DEPTH or letter_at(text, at[0]) != 123:
        raise _Rare
    while True:
        at[0] += 1
        bare = letter_at(text, at[0]) != 34
        key = word(text, at, False) if bare else string(text, at)
        own = parts_of(key, cut)
        if own[0] in names:
            raise _Rare
        names.add(own[0])
        mark = own[1]
        if letter_at(text, at[0]) == 58:
            at[0] += 1
            node = value(text, at, cut, mark, depth)
        elif bare and not mark and letter_at(text, at[0]) == 32 and of_word(letter_at(text, at[0] + 1)):
            at[0] += 1
            node = literal(word(text, at, False), mark)
        elif mark and PyUnicode_READ_CHAR(mark, 0) == 36:  # $
            raise _Rare
        else:
            node = AS_EXPECTED if mark else NO_VALUE
        found.append(Member(own[0], mark, node))
        letter = letter_at(text, at[0])
        if letter == 125:
            at[0] += 1
            return found
        if letter != 32 and letter != 44:
            raise _Rare


cdef tuple parts_of(str key, object cut):
    """The name and the mark of a key; those of short ones are kept."""
    cdef PyObject* known = PyDict_GetItem(cuts, key)
    cdef tuple found
    if known is not NULL:
        return <tuple>known
    found = cut(key)
    if len(key) < LONGEST_KEY:
        if len(cuts) >= MOST_KEYS:
            cuts.clear()
        cuts[key] = found
    return found


cdef object value(str text, Py_ssize_t* at, object cut, str mark, int depth):
    """The value of a member, or of an object in an array."""
    cdef Py_UCS4 letter = letter_at(text, at[0]), first = PyUnicode_READ_CHAR(mark, 0) if mark else 0
    cdef Py_ssize_t begin = at[0]
    cdef list found
    if letter == 123 and (first == 0 or first == 36):
        return members(text, at, cut, depth + 1)
    if first == 36 or letter == 123:
        raise _Rare
    if letter == 91:
        if first == 0 and letter_at(text, begin + 1) == 123:
            found = []
            while letter != 93:
                at[0] += 1
                found.append(members(text, at, cut, depth + 1))
                letter = letter_at(text, at[0])
                if letter != 93 and letter != 32 and letter != 44:
                    raise _Rare
            at[0] += 1
            return Array(found)
        at[0] = strings_end(text, begin)
        if at[0] < 0:
            at[0] = array_end(text, begin, 0)
        return Given(text[begin:at[0]].encode())
    if letter == 34:
        return Given(string(text, at))
    return literal(word(text, at, True), mark)


cdef Py_ssize_t array_end(str text, Py_ssize_t at, int depth) except -1:
    """Where an array ends that begins here: of strings without escapes, numbers, constants and such arrays, as minified
    JSON has it. Raises for any other."""
    cdef Py_ssize_t begin
    cdef Py_UCS4 letter = letter_at(text, at + 1)
    if depth > MOST_DEPTH:
        raise _Rare
    if letter == 93:
        return at + 2
    while True:
        at += 1
        if letter == 34:
            at += 1
            letter = letter_at(text, at)
            while letter != 34:
                if letter < 32 or letter == 92:
                    raise _Rare
                at += 1
                letter = letter_at(text, at)
            at += 1
        elif letter == 91:
            at = array_end(text, at, depth + 1)
        else:
            begin = at
            while letter == 43 or letter == 45 or letter == 46 or 48 <= letter <= 57 or 97 <= (<int>letter | 32) <= 122:
                at += 1
                letter = letter_at(text, at)
            own = PyUnicode_Substring(text, begin, at)
            if not is_number(own, True) and own != "null" and own != "true" and own != "false":
                raise _Rare
        letter = letter_at(text, at)
        if letter == 93:
            return at + 1
        if letter != 44:
            raise _Rare
        letter = letter_at(text, at + 1)


cdef object literal(str own, str mark):
    """What a word is: a number, true, false, null or a text."""
    cdef Py_UCS4 letter
    if is_number(own, True) or own == "true" or own == "false":
        return Given(own.encode())
    if own == "null":
        return AS_EXPECTED if mark else NO_VALUE
    letter = PyUnicode_READ_CHAR(own, 0)
    if letter != 45 and not 48 <= letter <= 57:
        return Given(own)
    for letter in own:
        if not (48 <= letter <= 57 or letter in (43, 45, 46, 69, 101)):
            return Given(own)
    raise _Rare  # perhaps a number with an exponent


cdef inline bint of_word(Py_UCS4 letter) noexcept:
    """Whether a letter may be in a word."""
    return in_word[letter] if letter < 128 else letter > 0xa0 and letter != 0x2028 and letter != 0x2029


cdef str word(str text, Py_ssize_t* at, bint colons):
    """A text without quotes, of one letter or more; colons: whether these may be behind its first."""
    cdef Py_ssize_t begin = at[0]
    cdef Py_UCS4 letter = letter_at(text, begin)
    while of_word(letter) or (colons and letter == 58 and at[0] > begin):
        at[0] += 1
        letter = letter_at(text, at[0])
    if at[0] == begin:
        raise _Rare
    return PyUnicode_Substring(text, begin, at[0])


cdef str string(str text, Py_ssize_t* at):
    """A text in quotes, in which line feeds stand as they are."""
    cdef Py_ssize_t begin = at[0] + 1, end = begin, size = PyUnicode_GET_LENGTH(text)
    cdef Py_UCS4 letter
    cdef bint escapes = False
    while end < size:
        letter = PyUnicode_READ_CHAR(text, end)
        if letter == 34:
            break
        if letter == 92:
            escapes = True
            end += 1
        elif letter < 32 and letter != 10:
            raise _Rare
        end += 1
    if end >= size:
        raise _Rare
    at[0] = end + 1
    if not escapes:
        return PyUnicode_Substring(text, begin, end)
    found, _ = scanstring(PyUnicode_Substring(text, begin, end + 1).replace("\n", "\\n"), 0)
    return found
