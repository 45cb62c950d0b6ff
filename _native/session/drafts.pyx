"""What a definition changes of another, and its text. The rules are those of ``session/_drafts_py.py``."""

from cpython.dict cimport PyDict_GetItem
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM
from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR, PyUnicode_Substring

from json.decoder import scanstring

from _native.session.leaves cimport is_number, strings_end

from turnwire.session._drafts_py import Array as _Array
from turnwire.session._drafts_py import Given as _Given
from turnwire.session._drafts_py import Member as _Member

cdef enum:
    MOST_KEYS = 4096
    LONGEST_KEY = 80

cdef object Array = _Array, Given = _Given, Member = _Member, TAKEN = _Given(b"0")


cdef object UNSAYABLE = object()
"""A member cannot be told by its differences. No exception: where one is caught without memory for a traceback, Cython's own
code ends the process."""


cdef inline str name_of(object member):
    return <str>PyTuple_GET_ITEM(member, 0)


cdef inline str mark_of(object member):
    return <str>PyTuple_GET_ITEM(member, 1)


cdef inline object node_of(object member):
    return <object>PyTuple_GET_ITEM(member, 2)


cdef inline object removal(str name):
    return Member(name, "-", TAKEN)


def changes(list base not None, list target not None, list same not None):
    """What makes a target draft of a base, or None where that cannot be said so; see the twin."""
    return changed(base, target, same)


cdef list changed(list base, list target, list same):
    """The changes, or None where none say it."""
    cdef Py_ssize_t at, size = len(base)
    cdef list found
    cdef object change
    if size != len(target):
        return moved(base, target, same)
    for at in range(size):
        if name_of(<object>PyList_GET_ITEM(base, at)) != name_of(<object>PyList_GET_ITEM(target, at)):
            return moved(base, target, same)
    found = []
    for at in range(size):
        change = of_member(<object>PyList_GET_ITEM(base, at), <object>PyList_GET_ITEM(target, at), same)
        if change is UNSAYABLE:
            return None
        if change is not None:
            found.append(change)
    return found


cdef list moved(list base, list target, list same):
    """What makes a target of a base where members came, went or moved."""
    cdef dict places = {}
    cdef set kept = set()
    cdef list found = [], removed = [], gone
    cdef Py_ssize_t at, number
    cdef object member, change
    cdef str name
    cdef bint fresh = False
    cdef PyObject* place
    for at in range(len(base)):
        places[name_of(base[at])] = at
    for member in target:
        kept.add(name_of(member))
    for member in base:
        if name_of(member) not in kept:
            removed.append(name_of(member))
    for number in range(len(target)):
        member = target[number]
        place = PyDict_GetItem(places, name_of(member))
        if place is NULL:
            if not fresh:  # the place of one that goes is where it is
                for name in removed:
                    if between(places[name], number, target, places):
                        removed.remove(name)
                        found.append(removal(name))
                        break
            found.append(member)
            fresh = True
            continue
        at = <object>place
        change = of_member(base[at], member, same)
        if change is UNSAYABLE:
            return None
        fresh = False
        if change is not None:
            found.append(change)
    if removed:
        gone = [removal(name) for name in removed]
        found = gone + found
    return found if makes(base, found, target, places) else None


cdef bint between(Py_ssize_t place, Py_ssize_t number, list target, dict places) except -1:
    """Whether a removed member of the base was between the neighbours of a new one of the target."""
    cdef Py_ssize_t at, other
    cdef PyObject* held
    for at in range(len(target)):
        held = PyDict_GetItem(places, name_of(target[at]))
        if held is NULL:
            continue
        other = <object>held
        if (place <= other) if at < number else (place >= other):
            return False
    return True


cdef bint makes(list base, list changes, list target, dict places) except -1:
    """Whether changes make the names and marks of a target of a base, as ``merged`` does."""
    cdef Py_ssize_t spot = -1, at, size = len(base), done = 0
    cdef list found = list(base)
    cdef dict after = {}
    cdef object change, held, member
    cdef PyObject* place
    for change in changes:
        place = PyDict_GetItem(places, name_of(change))
        if place is NULL:
            if spot < 0:
                spot = size
            if spot in after:
                (<list>after[spot]).append(change)
            else:
                after[spot] = [change]
            continue
        spot = -1
        at = <object>place
        held = base[at]
        if mark_of(change) == "-":
            found[at] = None
            spot = at
        elif type(node_of(held)) is list and type(node_of(change)) is list:
            found[at] = held if mark_of(change) == "" else change
        else:
            found[at] = change
    for at in range(size + 1):
        member = found[at] if at < size else None
        if member is not None:
            if not alike(member, target, done):
                return False
            done += 1
        if at in after:
            for member in <list>after[at]:
                if not alike(member, target, done):
                    return False
                done += 1
    return done == len(target)


cdef bint alike(object member, list target, Py_ssize_t at) except -1:
    """Whether a member has the name and the mark of that one of a target."""
    if at >= len(target):
        return False
    return name_of(member) == name_of(target[at]) and mark_of(member) == mark_of(target[at])


cdef object of_member(object held, object member, list same):
    """What is to be told of a member that the base has, too; None: nothing; or UNSAYABLE."""
    cdef object before = node_of(held), after = node_of(member)
    cdef bint marked = mark_of(held) == mark_of(member)
    cdef list inner, ones, others
    cdef Py_ssize_t at
    if marked and type(before) is int and type(after) is int:
        return None if same[after] == before else member
    if type(before) is list and type(after) is list:
        if not marked:
            return UNSAYABLE
        inner = changed(before, after, same)
        if inner is None:
            return UNSAYABLE
        return Member(name_of(member), "", inner) if inner else None
    if marked and type(before) is Array and type(after) is Array:
        ones, others = before[0], after[0]
        if len(ones) == len(others):
            for at in range(len(ones)):
                inner = changed(ones[at], others[at], same)
                if inner is None or inner:
                    return member
            return None
    return member


def written(list draft not None, list texts not None, key_of):
    """The text of a draft; see the twin."""
    cdef list parts = []
    write(draft, texts, key_of, parts)
    return "".join(parts)


cdef dict keys = {}


cdef str key_text(object member, object key_of):
    """The name of a member and its mark as they are written; short ones are kept."""
    cdef tuple own = (name_of(member), mark_of(member))
    cdef PyObject* known = PyDict_GetItem(keys, own)
    cdef str found
    if known is not NULL:
        return <str>known
    found = key_of(own[0], own[1])
    if len(found) < LONGEST_KEY:
        if len(keys) >= MOST_KEYS:
            keys.clear()
        keys[own] = found
    return found


cdef bint both_words(str key, str text) except -1:
    """Whether a key and its value are words between which a space is enough."""
    cdef Py_UCS4 first = PyUnicode_READ_CHAR(text, 0)
    if not (97 <= first <= 122 or 65 <= first <= 90 or first > 0xa0) or PyUnicode_READ_CHAR(key, 0) == 34:
        return False
    return ":" not in text and text != "true" and text != "false" and text != "null"


cdef int write(list draft, list texts, object key_of, list parts) except -1:
    cdef object member, node, each
    cdef str key, mark, text
    cdef bint first = True
    parts.append("{")
    for member in draft:
        if not first:
            parts.append(" ")
        first = False
        mark, node = mark_of(member), node_of(member)
        key = key_text(member, key_of)
        parts.append(key)
        if type(node) is int:
            text = texts[node]
            if text != "null" or mark == "":
                parts.append(":" if mark or not both_words(key, text) else " ")
                parts.append(text)
        elif type(node) is list:
            parts.append(":")
            write(node, texts, key_of, parts)
        elif type(node) is Array:
            parts.append(":[")
            for at, each in enumerate(<list>node[0]):
                if at:
                    parts.append(",")
                write(each, texts, key_of, parts)
            parts.append("]")
        elif mark == "":
            parts.append(":null")
    parts.append("}")
    return 0


include "_native/session/notation.pxi"
