"""The structure and the leaves of an event. The rules are those of ``session/_values_py.py``."""

from json.encoder import encode_basestring_ascii

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DecodeUTF8, PyUnicode_GET_LENGTH, PyUnicode_Substring
from libc.string cimport memcmp, memcpy

from _native.session.leaves cimport PyUnicode_1BYTE_DATA, PyUnicode_IS_ASCII, is_digit

from turnwire.session._values_py import STYLES as _STYLES
from turnwire.session._values_py import _COLUMN
from turnwire.session._values_py import Doubtful, of_table, opened, quoted, scalar
from turnwire.session._values_py import _styled as styled_pieces
from turnwire.session._values_py import string_of as pure_string_of

cdef enum:
    OPEN = 0
    CLOSE = 1
    BEGIN = 2
    END = 3
    LEAF = 4
    STRING = 5
    MOST_OBJECTS = 8
    MOST_BRACKETS = 32
    MOST_LETTERS = 1 << 20
    MOST_DIGITS = 18

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_UCS4 PyUnicode_READ(int kind, void* data, Py_ssize_t at) noexcept
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1
    double PyOS_string_to_double(const char* text, char** end, void* overflow) except? -1.0


def flatten(event):
    """The structure of an event and its leaves in order."""
    cdef list structure = [], leaves = []
    an_object(event, structure, leaves)
    return tuple(structure), leaves


cdef inline Py_ssize_t string_end(const unsigned char* letters, Py_ssize_t at, Py_ssize_t size) noexcept:
    """Where the quote is that ends a string of printable letters without escapes, whose first is at a place; or
    ``size``."""
    while at < size and letters[at] != 34:
        if letters[at] < 32 or letters[at] > 126 or letters[at] == 92:
            return size
        at += 1
    return at


cdef Py_ssize_t scalar_end(const unsigned char* letters, Py_ssize_t at, Py_ssize_t size) noexcept:
    """Where a whole number of at most 18 digits ends, or a constant; ``at`` where there is neither."""
    cdef Py_ssize_t begin = at, end = at
    if size - at > 4 and memcmp(letters + at, b"true", 4) == 0 or size - at > 4 and memcmp(letters + at, b"null", 4) == 0:
        return at + 4
    if size - at > 5 and memcmp(letters + at, b"false", 5) == 0:
        return at + 5
    if letters[at] == 45:
        begin = end = at + 1
    while end < size and end - begin <= MOST_DIGITS and is_digit(letters[end]):
        end += 1
    if end == begin or end - begin > MOST_DIGITS or (letters[begin] == 48 and end != at + 1):
        return at
    return end


cdef bint plain_object(str text, list structure, list leaves) except -1:
    """Adds the object that a string holds, where ``opened`` would give it and it is plain: in ASCII, without escapes,
    of texts, whole numbers and constants alone, in a style of one line. Adds nothing to any other."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text), at = 1, end
    cdef const unsigned char* letters
    cdef bint spaced
    cdef dict members = {}
    cdef str key
    if size < 6 or not PyUnicode_IS_ASCII(text):
        return False
    letters = PyUnicode_1BYTE_DATA(text)
    end = string_end(letters, 2, size)
    spaced = end + 2 < size and letters[end + 2] == 32
    while at < size and letters[at] == 34:
        end = string_end(letters, at + 1, size)
        if end + 3 >= size or letters[end + 1] != 58 or (spaced and letters[end + 2] != 32):
            return False
        key = PyUnicode_Substring(text, at + 1, end)
        if key in members:
            return False
        at = end + 2 + spaced
        if letters[at] == 34:
            end = string_end(letters, at + 1, size)
            if end == size:
                return False
            members[key] = PyUnicode_Substring(text, at + 1, end)
            end += 1
        else:
            end = scalar_end(letters, at, size)
            if end == at:
                return False
            members[key] = PyBytes_FromStringAndSize(<const char*>letters + at, end - at)
        if end == size:
            return False
        if letters[end] == 125:
            if end + 1 != size:
                return False
            structure += (STRING + spaced, OPEN)
            for key, leaf in members.items():
                structure += (key, LEAF)
                leaves.append(leaf)
            structure.append(CLOSE)
            return True
        if letters[end] != 44 or (spaced and letters[end + 1] != 32):  # NUL is behind the last letter
            return False
        at = end + 1 + spaced
    return False


cdef int an_object(object value, list structure, list leaves) except -1:
    cdef object key, each
    structure.append(OPEN)
    for key, each in value.items():
        structure.append(key)
        if type(each) is str:
            if each and (<str>each)[0] == u"{":
                if plain_object(each, structure, leaves):
                    continue
                found = opened(each)
                if found is not None:
                    structure.append(STRING + <object>found[0])
                    an_object(found[1], structure, leaves)
                    continue
            structure.append(LEAF)
            leaves.append(each)
        elif type(each) is bytes:
            structure.append(LEAF)
            leaves.append(each)
        elif type(each) is int:
            structure.append(LEAF)
            leaves.append(whole_number(each))
        elif isinstance(each, dict):
            if each:
                an_object(each, structure, leaves)
            else:
                structure.append(LEAF)
                leaves.append(b"{}")
        elif isinstance(each, (list, tuple)):
            an_array(each, structure, leaves)
        else:
            structure.append(LEAF)
            leaves.append(str.__str__(each) if isinstance(each, str) else scalar_of(each))
    structure.append(CLOSE)
    return 0


cdef bytes whole_number(object value):
    """A whole number as JSON text."""
    cdef char[24] letters
    cdef int overflow = 0, at = 24
    cdef long long number = PyLong_AsLongLongAndOverflow(value, &overflow)
    cdef unsigned long long left = <unsigned long long>number
    if overflow:
        return b"%d" % value
    if number < 0:
        left = 0 - left
    while True:
        at -= 1
        letters[at] = 48 + <char>(left % 10)
        left //= 10
        if not left:
            break
    if number < 0:
        at -= 1
        letters[at] = 45
    return PyBytes_FromStringAndSize(letters + at, 24 - at)


cdef bytes scalar_of(object value):
    """A number, true, false or null as JSON text."""
    if value is None:
        return b"null"
    if value is True:
        return b"true"
    if value is False:
        return b"false"
    if type(value) is int:
        return whole_number(value)
    return (<str>repr(value)).encode() if type(value) is float else scalar(value)


include "_native/session/minified.pxi"


cdef int an_array(object value, list structure, list leaves) except -1:
    cdef object each
    alike = columns_of(value) if len(value) > 1 else None
    if alike is not None:
        structure.append(alike)
        leaves.append(json_of([list(each.values()) for each in value]))
        return 0
    if value and len(value) <= MOST_OBJECTS:
        for each in value:
            if not isinstance(each, dict) or not each:
                break
        else:
            structure.append(BEGIN)
            for each in value:
                an_object(each, structure, leaves)
            structure.append(END)
            return 0
    structure.append(LEAF)
    leaves.append(json_of(value))
    return 0


cdef str as_json(object value):
    """A value of ``parsed`` as JSON text without spaces."""
    cdef list parts
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bytes):
        return (<bytes>value).decode()
    if isinstance(value, dict):
        parts = [f"{quoted(key)}:{as_json(each)}" for key, each in value.items()]
        return "{" + ",".join(parts) + "}"
    if isinstance(value, (list, tuple)):
        parts = [as_json(each) for each in value]
        return "[" + ",".join(parts) + "]"
    return scalar_of(value).decode()


def minified(value):
    """A value of ``parsed`` as JSON text without spaces."""
    return as_json(value)


cdef object columns_of(object value):
    """The keys of two or more objects that are a table; see ``columns`` of the twin."""
    cdef object first = value[0], each, inner, name
    cdef tuple keys
    if not isinstance(first, dict) or not first:
        return None
    keys = tuple(first)
    for name in keys:
        if _COLUMN(name) is None:
            return None
    for each in value:
        if not isinstance(each, dict) or len(each) != len(keys) or tuple(each) != keys:
            return None
        for inner in each.values():
            if isinstance(inner, (dict, list, tuple)):
                return None
    return keys


cdef list in_ascii = [style.get("ensure_ascii", True) for style in _STYLES]


cdef list strings_of(const unsigned char* letters, Py_ssize_t size):
    """An array that holds strings alone, without escapes or spaces; None for any other."""
    cdef Py_ssize_t at = 0, begin
    cdef list found = []
    if size < 4 or letters[0] != 91:
        return None
    while at + 2 < size:  # a bracket or a comma, and a string
        if letters[at + 1] != 34:
            return None
        at += 2
        begin = at
        while at < size and letters[at] != 34 and letters[at] != 92 and letters[at] >= 32:
            at += 1
        if at + 1 >= size or letters[at] != 34:
            return None
        found.append(PyUnicode_DecodeUTF8(<const char*>letters + begin, at - begin, NULL))
        at += 1
        if letters[at] == 93:
            return found if at + 1 == size else None
        if letters[at] != 44:
            return None
    return None


cdef inline object number_value(bytes leaf, object strict):
    """The value of a leaf that is not text."""
    cdef const unsigned char* letters = leaf
    cdef Py_ssize_t size = len(leaf), brackets = 0, at, begin
    cdef long long number = 0
    cdef list found
    begin = at = size > 1 and letters[0] == 45
    if size - begin <= MOST_DIGITS:
        while at < size and is_digit(letters[at]):
            number = number * 10 + letters[at] - 48
            at += 1
        if at == size and (letters[begin] != 48 or size == 1):
            return -number if begin else number
        if begin < at < size - 1 and letters[at] == 46 and (letters[begin] != 48 or at == begin + 1):
            at += 1
            while at < size and is_digit(letters[at]):
                at += 1
            if at == size:
                return PyOS_string_to_double(<const char*>letters, NULL, NULL)
    if leaf == b"null":
        return None
    if leaf == b"true":
        return True
    if leaf == b"false":
        return False
    if leaf == b"{}":
        return {}
    if leaf == b"[]":
        return []
    found = strings_of(letters, size)
    if found is not None:
        return found
    for at in range(size):
        brackets += letters[at] == 91 or letters[at] == 123
    if brackets > MOST_BRACKETS:
        raise Doubtful
    return strict(leaf.decode())


def built(node, list leaves not None, strict):
    """The value of an event's tree; see the twin."""
    cdef Py_ssize_t at, letters = 0
    for at in range(len(leaves)):
        letters += len(leaves[at])
    if letters > MOST_LETTERS:
        raise Doubtful
    return built_value(node, leaves, strict)


cdef object built_value(object node, list leaves, object strict):
    cdef Py_ssize_t at
    cdef object leaf, kind
    cdef tuple keys, nodes
    cdef dict made
    if type(node) is int:
        leaf = leaves[node]
        return leaf if type(leaf) is str else number_value(leaf, strict)
    kind = (<tuple>node)[0]
    if type(kind) is tuple:
        keys, nodes = kind, (<tuple>node)[1]
        made = {}
        for at in range(len(keys)):
            made[keys[at]] = built_value(nodes[at], leaves, strict)
        return made
    if kind == "[":
        nodes = (<tuple>node)[1]
        return [built_value(nodes[at], leaves, strict) for at in range(len(nodes))]
    if kind == "$":
        return string_of(node[1], node[3], leaves, node[2])
    leaf = leaves[node[1]]
    if type(leaf) is str:
        return leaf
    found = table_of(leaf, node[2])
    return strict(of_table(leaf.decode(), node[2])) if found is None else found


cdef list table_of(bytes leaf, tuple columns):
    """The objects of a table that holds nothing but strings without escapes, whole numbers of at most 18 digits and
    constants, without spaces; None for any other, also for one that is none."""
    cdef const unsigned char* letters = leaf
    cdef Py_ssize_t size = len(leaf), at = 1, begin, width = len(columns), number
    cdef list found = []
    cdef dict row
    if size < 5 or letters[0] != 91:
        return None
    while letters[at] == 91:
        row = {}
        for number in range(width):
            at += 1  # behind a bracket or a comma
            begin = at
            if at + 2 >= size:
                return None
            if letters[at] == 34:
                at += 1
                while at < size and letters[at] != 34 and letters[at] != 92 and letters[at] >= 32:
                    at += 1
                if at + 2 >= size or letters[at] != 34:
                    return None
                row[columns[number]] = PyUnicode_DecodeUTF8(<const char*>letters + begin + 1, at - begin - 1, NULL)
                at += 1
            else:
                at = scalar_end(letters, at, size)
                if at == begin or at + 1 >= size:
                    return None
                row[columns[number]] = number_value(PyBytes_FromStringAndSize(<const char*>letters + begin, at - begin), None)
            if letters[at] != (44 if number + 1 < width else 93):
                return None
        found.append(row)
        at += 1
        if at + 1 == size:
            return found if letters[at] == 93 else None
        if at >= size or letters[at] != 44:
            return None
        at += 1
    return None


cdef bint is_plain(bytes leaf) noexcept:
    """Whether a leaf is a whole number of at most 18 digits, a constant, or nothing at all in brackets."""
    cdef const unsigned char* letters = leaf
    cdef Py_ssize_t size = len(leaf), begin, at
    begin = size > 1 and letters[0] == 45
    if 0 < size <= begin + MOST_DIGITS and is_digit(letters[begin]):
        if letters[begin] == 48:
            return size == 1
        for at in range(begin, size):
            if not is_digit(letters[at]):
                return False
        return True
    return leaf == b"null" or leaf == b"true" or leaf == b"false" or leaf == b"{}" or leaf == b"[]"


def string_of(tuple pieces not None, Py_ssize_t style, list leaves not None, list columns not None):
    """The text of an object in a string, in its style; see the twin."""
    cdef list parts, styled
    cdef object each, leaf, text
    if not style:
        return text_of(pieces, leaves, columns)
    styled = styled_pieces(pieces, style)
    if styled is None:
        return pure_string_of(pieces, style, leaves, columns)
    text = encode_basestring_ascii if in_ascii[style] else quoted
    parts = []
    for each in styled:
        if type(each) is str:
            parts.append(each)
            continue
        leaf = leaves[each]
        if type(leaf) is str:
            parts.append(text(leaf))
        elif columns[each] is None and is_plain(leaf):
            parts.append(leaf.decode())
        else:
            return pure_string_of(pieces, style, leaves, columns)
    return "".join(parts)


def text_of(tuple pieces not None, list leaves not None, list columns not None):
    """JSON text of pieces; see the twin."""
    cdef list parts = []
    cdef object each, leaf, own
    for each in pieces:
        if type(each) is str:
            parts.append(each)
        elif type(each) is int:
            leaf = leaves[each]
            if type(leaf) is str:
                parts.append(quoted(leaf))
            else:
                own = columns[each]
                parts.append(leaf.decode() if own is None else of_table(leaf.decode(), own))
        else:
            parts.append(quoted(string_of(each[0], each[1], leaves, columns)))
    return "".join(parts)
