"""What was said so far, and rows by it. The rules are those of ``session/_state_py.py``, which says what each does."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeASCII, PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR

from _native.session.leaves cimport equal, held_at, is_digit, is_number, rows_end, strings_end

from json.decoder import scanstring

from turnwire.session._fields_py import field as pure_field
from turnwire.session._fields_py import json_field
from turnwire.session._times_py import Form
from turnwire.session._times_py import read as pure_time
from turnwire.session._times_py import written as pure_time_text
from turnwire.session._values_py import quoted

cdef extern from "Python.h":
    const unsigned char* PyUnicode_1BYTE_DATA(object text)
    bint PyUnicode_IS_ASCII(object text)

cdef enum:
    DAY = 86400
    MOST_DIGITS = 18

cdef object FARTHEST = 999_999_999_999_999_999  # MOST_DIGITS of them; ** would make it a float

include "_native/session/times.pxi"


cdef bint counts(object leaf) noexcept:
    """Whether a leaf is a whole number of at most 18 digits, without a sign."""
    cdef Py_ssize_t size, at
    cdef const char* letters
    if type(leaf) is not bytes:
        return False
    size = PyBytes_GET_SIZE(leaf)
    letters = PyBytes_AS_STRING(leaf)
    if size == 0 or size > MOST_DIGITS or (size > 1 and letters[0] == 48):
        return False
    for at in range(size):
        if not is_digit(letters[at]):
            return False
    return True


cdef long long number_of(object leaf) noexcept:
    """The number of a leaf that counts."""
    cdef long long found = 0
    cdef Py_ssize_t at
    cdef const char* letters = PyBytes_AS_STRING(leaf)
    for at in range(PyBytes_GET_SIZE(leaf)):
        found = found * 10 + letters[at] - 48
    return found


cdef object lexeme(object number):
    return b"%d" % number


def one_more(value):
    """A number, or the number at the end of a text, and one; None where there is none."""
    return after(value)


cdef object after(object value):
    cdef Py_ssize_t size, at
    cdef Py_UCS4 letter
    if type(value) is bytes:
        return lexeme(number_of(value) + 1) if counts(value) else None
    if type(value) is not str:
        return None
    size = PyUnicode_GET_LENGTH(value)
    at = size
    while at > 0:
        letter = PyUnicode_READ_CHAR(value, at - 1)
        if letter < 48 or letter > 57:
            break
        at -= 1
    if at == size or size - at > MOST_DIGITS:
        return None
    return value[:at] + str(int(value[at:]) + 1).zfill(size - at)


cdef class Expected:
    """What a template says of one leaf."""

    cdef readonly object mark, source, path, first, form
    cdef readonly bint text
    cdef Py_UCS4 sign
    cdef object seen

    def __init__(self, str mark not None, source, path, first, text, form):
        self.mark, self.source, self.path, self.first, self.text, self.form = mark, source, path, first, text, form
        self.sign = mark[0] if mark else 0
        self.seen = source or path


def expected(str mark not None, str path not None, leaf):
    """What a mark says of a leaf whose first value is known (None: it is not)."""
    read = read_time(leaf) if mark == "~" and type(leaf) is str else None
    char = "?" if mark[:1] == "#" else mark[:1]
    text = type(leaf) is str or leaf == b"null"
    return Expected(char, mark[1:] if char == "=" else "", path, leaf, text, read[0] if read else None)


cdef class Scope:
    cdef dict seen, rows

    def __init__(self):
        self.seen, self.rows = {}, {}


cdef class State:
    """Everything that was seen since the last anchor."""

    cdef Scope all, current
    cdef dict conversations, times
    cdef object form

    def __init__(self):
        self.all = self.current = Scope()
        self.conversations, self.times, self.form = {}, {}, None

    cpdef object enter(self, object key):
        """Begins an event of a conversation."""
        if key is None:
            self.current = self.all
            return None
        found = held_at(self.conversations, key)
        if found is None:
            found = self.conversations[key] = Scope()
        self.current = found
        return None

    cpdef object expect(self, Expected expected, Py_ssize_t number, object template):
        """The value that an empty field stands for; None where nothing was seen that says it."""
        cdef Py_UCS4 sign = expected.sign
        cdef object found
        if sign == 0:
            return expected.first
        if sign == 63 or sign == 43:  # ? +
            found = held_at(self.current.rows, template)
            if found is None:
                found = held_at(self.all.rows, template)
                if found is None:
                    return None
            found = (<list>found)[number]
            return found if sign == 63 else after(found)
        if sign == 61:  # =
            found = held_at(self.current.seen, expected.seen)
            return held_at(self.all.seen, expected.seen) if found is None else found
        if sign == 94:  # ^
            found = held_at(self.current.seen, expected.path)
            return expected.first if found is None else after(found)
        return self.moved(expected, 0)

    cpdef object moved(self, Expected expected, object distance):
        """A time or number that far after the last one; None where there is none."""
        if expected.form is None:
            last = held_at(self.all.seen, expected.path)
            return lexeme(number_of(last) + distance) if counts(last) else None
        since = held_at(self.times, expected.form)
        if since is None:
            return None
        try:
            return time_text(expected.form, since + distance)
        except ValueError:
            return None

    cpdef object later(self, object path):
        """What a distance in a definition counts from: the last number at its path, else the last time, or None."""
        if counts(held_at(self.all.seen, path)):
            return Expected("~", "", path, None, False, None)
        return None if self.form is None else Expected("~", "", path, None, True, self.form)

    cpdef object distance(self, Expected expected, object value):
        """How far a value is from the last one, or None where that does not say it."""
        cdef long long far
        if expected.form is None:
            last = held_at(self.all.seen, expected.path)
            if not counts(value) or not counts(last):
                return None
            far = number_of(value) - number_of(last)
            return far if far >= 0 else None
        read = read_time(value) if type(value) is str else None
        since = held_at(self.times, expected.form)
        if read is None or read[0] != expected.form or since is None:
            return None
        moved = read[1] - since
        return moved if -FARTHEST <= moved <= FARTHEST else None

    cpdef object put(self, object path, object value, bint later):
        """A leaf of the present event; later: whether it is a time that the next ones are told by."""
        self.all.seen[path] = value
        if self.current is not self.all:
            self.current.seen[path] = value
        if later and type(value) is str:
            read = read_time(value)
            if read is not None:
                self.form = read[0]
                self.times[read[0]] = read[1]
        return None

    cpdef object close(self, object template, list leaves):
        """The present event is complete."""
        self.all.rows[template] = leaves
        if self.current is not self.all:
            self.current.rows[template] = leaves
        return None


cdef bint is_plain(object text) noexcept:
    """Whether a text stands as it is in a field: see ``session/_fields_py.py``."""
    cdef Py_ssize_t at, size = PyUnicode_GET_LENGTH(text)
    cdef Py_UCS4 letter
    if not size:
        return False
    letter = PyUnicode_READ_CHAR(text, 0)
    if letter == 61 or letter == 38:
        return False
    for at in range(size):
        letter = PyUnicode_READ_CHAR(text, at)
        if letter < 32 or letter == 124 or letter == 92:
            return False
        if letter >= 127 and (letter < 160 or letter == 0x2028 or letter == 0x2029):
            return False
    return True


cdef bint is_json_field(object text) noexcept:
    """Whether JSON text, not a number, stands as it is in a field."""
    cdef Py_ssize_t at
    cdef Py_UCS4 letter
    for at in range(PyUnicode_GET_LENGTH(text)):
        letter = PyUnicode_READ_CHAR(text, at)
        if letter < 32 or letter == 124 or (letter >= 127 and (letter < 160 or letter == 0x2028 or letter == 0x2029)):
            return False
    return True


cdef object told(object leaf, bint text, bint later):
    cdef Py_ssize_t at
    cdef const char* letters
    if type(leaf) is str:
        if text:
            if later and is_number(leaf, False):
                return "=" + json_field(quoted(leaf))
            if is_plain(leaf):
                return leaf
        return pure_field(leaf, text)
    if not text:
        letters = PyBytes_AS_STRING(leaf)
        for at in range(PyBytes_GET_SIZE(leaf)):
            if letters[at] < 32 or letters[at] >= 127 or letters[at] == 124:
                found = (<bytes>leaf).decode()
                return found if is_json_field(found) else pure_field(leaf, text)
        found = PyUnicode_DecodeASCII(letters, PyBytes_GET_SIZE(leaf), NULL)
        return "=" + found if later and is_number(found, False) else found
    return pure_field(leaf, text)


def written(State state not None, template, list leaves not None, bint before):
    """An event as the fields of a row; see the twin."""
    cdef list places = template.open, order = template.order, owns = template.leaves
    cdef list fields = [""] * len(places)
    cdef Py_ssize_t at, last = -1, place, number = len(places)
    cdef Expected own
    cdef object leaf, far, key = template.key, identity = template.number, place_
    cdef Py_ssize_t key_place = -1 if key is None else key
    cdef dict spots = template.spots
    cdef PyObject* spot
    state.enter(None)
    for place_ in order:
        place = place_
        own = <Expected>owns[place]
        leaf = leaves[place]
        spot = PyDict_GetItem(spots, place_)
        if spot is not NULL:
            if not ((before or own.sign != 63) and equal(state.expect(own, place, identity), leaf)):
                at = <object>spot
                if at > last:
                    last = at
                far = state.distance(own, leaf) if own.sign == 126 else None
                if far is not None:
                    fields[at] = f"{far}"
                else:
                    fields[at] = told(leaf, own.text, own.sign == 126)
        if place == key_place:
            state.enter(leaf)
        state.put(own.path, leaf, own.sign == 126)
    state.close(identity, leaves)
    return "|".join(fields[: last + 1])


cdef object gone(State state, Expected own, object text):
    """The value that a distance of at most 18 digits gives; None where the field is another one, or there is none."""
    cdef Py_ssize_t at, begin, size = PyUnicode_GET_LENGTH(text)
    cdef const char* letters
    cdef long long far = 0
    if not PyUnicode_IS_ASCII(text):
        return None
    letters = <const char*>PyUnicode_1BYTE_DATA(text)
    begin = letters[0] == 45
    if size == begin or size > begin + MOST_DIGITS or (begin and own.form is None):
        return None
    if letters[begin] == 48 and size > begin + 1:
        return None
    for at in range(begin, size):
        if not is_digit(letters[at]):
            return None
        far = far * 10 + letters[at] - 48
    return state.moved(own, -far if begin else far)


cdef object json_leaf(object field, bint text, object own, object rare):
    """The leaf of JSON in a field: strings, arrays of plain strings and arrays of rows without Python."""
    cdef Py_ssize_t begin = text, size = PyUnicode_GET_LENGTH(field), end
    cdef Py_UCS4 letter = PyUnicode_READ_CHAR(field, begin) if size > begin else 0
    cdef str found
    if text and PyUnicode_READ_CHAR(field, 0) != 61:
        return rare(field, own)
    if letter == 91 and (strings_end(field, begin) == size or rows_end(field, begin) == size):
        return (field[begin:] if begin else field).encode()
    if letter == 34:
        try:
            found, end = scanstring(field, begin + 1)
        except ValueError:
            return rare(field, own)
        if end == size:
            return found
    return rare(field, own)


def read(State state not None, template, list fields not None, rare):
    """The leaves of the event in a row; ``rare`` reads a field that is not simply a text, a number or nothing."""
    cdef list order = template.order, owns = template.leaves
    cdef list leaves = [""] * len(owns)
    cdef Py_ssize_t place, at, number = len(fields)
    cdef Expected own
    cdef object leaf, field, key = template.key, identity = template.number, place_
    cdef Py_ssize_t key_place = -1 if key is None else key
    cdef dict spots = template.spots
    cdef PyObject* spot
    cdef Py_UCS4 first
    state.enter(None)
    for place_ in order:
        place = place_
        own = <Expected>owns[place]
        spot = PyDict_GetItem(spots, place_)
        field = None
        if spot is not NULL:
            at = <object>spot
            if at < number:
                field = <object>PyList_GET_ITEM(fields, at)
        if field is None or PyUnicode_GET_LENGTH(field) == 0:
            leaf = state.expect(own, place, identity)
            if leaf is None:
                raise ValueError("a field is empty, and no earlier value can fill it")
        elif own.sign == 126:
            leaf = gone(state, own, field)
            if leaf is None:
                leaf = rare(field, own)
        elif own.text:
            first = PyUnicode_READ_CHAR(field, 0)
            if first == 61 or first == 38:
                leaf = json_leaf(field, True, own, rare)
            else:
                leaf = field
        elif is_number(field, True):
            leaf = PyBytes_FromStringAndSize(<const char*>PyUnicode_1BYTE_DATA(field), PyUnicode_GET_LENGTH(field))
        else:
            leaf = json_leaf(field, False, own, rare)
        leaves[place] = leaf
        if place == key_place:
            state.enter(leaf)
        state.put(own.path, leaf, own.sign == 126)
    state.close(identity, leaves)
    return leaves


include "_native/session/tell.pxi"
