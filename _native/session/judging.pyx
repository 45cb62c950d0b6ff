"""Judges what templates would cost. The rules are those of ``_pure/session/judging.py``."""

from cpython.dict cimport PyDict_GetItem
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE

from _native.session.leaves cimport equal, held_at

from collections import Counter
from itertools import islice

from turnwire._native.session.state import one_more, time_of
from turnwire._pure.session.judging import must_open

cdef enum:
    SAME_FLAG = 1
    MORE_FLAG = 2
    FRESH_FLAG = 4
    MOST_SOURCES = 6
    MOST_HOLDERS = 24

cdef double IMPOSSIBLE = 1e9
cdef dict PENALTY = {"?": 0.0, "+": 0.3, "=": 0.2, "^": 0.4}
cdef tuple NONE_SEEN = ()


cdef bint is_number(bytes leaf) noexcept:
    """Whether all of it are digits."""
    cdef const unsigned char* place = leaf
    cdef Py_ssize_t at
    for at in range(len(leaf)):
        if place[at] < 48 or place[at] > 57:
            return False
    return len(leaf) > 0


cdef class Judge:
    """Judges the events of one block; see the twin."""

    cdef object allowed, tellable
    cdef list leaves, columns, paths, conversations, flags, others
    cdef dict weights, more, times

    def __init__(self, events, orders, allowed, tellable):
        self.allowed, self.tellable = allowed, tellable
        self.leaves = [event.leaves for event in events]
        self.columns = [event.shape.columns for event in events]
        self.paths = [event.shape.paths for event in events]
        self.conversations, self.flags, self.others = [], [], []
        self.weights, self.more, self.times = {}, {}, {}
        self._look(orders)

    cdef int _look(self, object orders) except -1:
        cdef dict everywhere = {}, holders = {}, here, scope, held
        cdef dict scopes = {None: everywhere}
        cdef list paths, leaves, order, sources
        cdef Py_ssize_t number, place
        cdef object key, own, last, old, path, leaf, conversation
        cdef bytearray flags
        cdef int flag
        for number, (key, order) in enumerate(orders):
            paths, leaves = self.paths[number], self.leaves[number]
            conversation = None if key is None else leaves[key]
            scope = scopes.get(conversation)
            if scope is None:
                scope = scopes[conversation] = {}
            self.conversations.append(conversation)
            flags = bytearray(len(paths))
            sources = [NONE_SEEN] * len(paths)
            for place in order:
                path, leaf = paths[place], leaves[place]
                here = everywhere if key is not None and place == key else scope
                own = held_at(here, path)
                last = held_at(everywhere, path)
                old = last
                flag = 0
                if own is None:
                    flag = FRESH_FLAG
                else:
                    last = own
                    if equal(self.following(own), leaf):
                        flag = MORE_FLAG
                if equal(last, leaf):
                    flag |= SAME_FLAG
                flags[place] = flag
                held = held_at(holders, leaf)
                if held is not None and len(held):
                    sources[place] = self._sources(held, path, leaf, here, everywhere)
                if here is not everywhere:
                    here[path] = leaf
                elif key is not None and place == key:
                    scope[path] = leaf
                    old = held_at(everywhere, path)
                if old is not None:
                    held = held_at(holders, old)
                    if held is not None:
                        held.pop(path, None)
                everywhere[path] = leaf
                held = held_at(holders, leaf)
                if held is None:
                    holders[leaf] = {path: None}
                else:
                    held[path] = None
            self.flags.append(flags)
            self.others.append(sources)
        return 0

    cdef tuple _sources(self, dict held, object path, object leaf, dict here, dict everywhere):
        cdef list found = []
        cdef object other, value
        for other in islice(reversed(held), MOST_HOLDERS):
            if other == path:
                continue
            value = held_at(here, other)
            if value is None:
                value = held_at(everywhere, other)
            if equal(value, leaf):
                found.append(other)
                if len(found) == MOST_SOURCES:
                    break
        return tuple(found) if found else NONE_SEEN

    cdef object following(self, object leaf):
        cdef PyObject* known = PyDict_GetItem(self.more, leaf)
        if known is not NULL:
            return <object>known
        found = one_more(leaf)
        self.more[leaf] = found
        return found

    cpdef double weigh(self, object leaf) except -1:
        """About how many tokens a leaf is."""
        cdef PyObject* known = PyDict_GetItem(self.weights, leaf)
        cdef Py_ssize_t size, at, digits = 0
        cdef double found
        cdef Py_UCS4 letter
        cdef str text
        if known is not NULL:
            return <object>known
        size = len(leaf)
        if type(leaf) is bytes:
            found = 1 + <double>size / 3
        else:
            text = leaf
            for at in range(min(size, 64)):
                letter = text[at]
                digits += 48 <= letter <= 57
            found = 1 + size / (1.6 if digits > 0.3 * min(size, 64) else 4.5)
        self.weights[leaf] = found
        return found

    def judged(self, list members not None):
        """What each leaf costs in the rows of a template for these events, and its best mark."""
        cdef list costs = [], marks = []
        cdef Py_ssize_t place
        cdef double cost
        for place in range(len(<list>self.leaves[members[0]])):
            cost = 0.0
            marks.append(self._mark(place, members, &cost))
            costs.append(cost)
        return costs, marks

    cdef inline object leaf_at(self, Py_ssize_t number, Py_ssize_t place):
        return <object>PyList_GET_ITEM(<list>PyList_GET_ITEM(self.leaves, number), place)

    cdef inline int flag_at(self, Py_ssize_t number, Py_ssize_t place) except -1:
        return (<bytearray>PyList_GET_ITEM(self.flags, number))[place]

    cdef inline tuple others_at(self, Py_ssize_t number, Py_ssize_t place):
        return <tuple>PyList_GET_ITEM(<list>PyList_GET_ITEM(self.others, number), place)

    cdef str _mark(self, Py_ssize_t place, list members, double* cost):
        """The best mark of one leaf; what it costs in rows."""
        cdef Py_ssize_t first = members[0], number
        cdef object leaf = self.leaf_at(first, place), number_
        cdef bint table = self.columns[first][place] is not None
        cdef double whole = 0, least = 0, value
        cdef dict missed = {}
        cdef str best = "", mark
        for number_ in members:
            number = number_
            if not equal(self.leaf_at(number, place), leaf):
                break
        else:
            if table or must_open(leaf):
                return "?"
            return self._of_constant(place, first, leaf)
        whole = self._missed(place, members, leaf, missed)
        if table:
            cost[0] = missed.get("?", whole)
            return "?"
        for mark, value in missed.items():
            if mark[:1] not in self.allowed or (leaf == b"null" and mark not in ("?", "+")):
                continue
            value += PENALTY.get(mark, 1.0)
            if not best or value < least:
                best, least = mark, value
        if not best:
            cost[0] = whole
            return "?"
        cost[0] = missed[best]
        return best

    cdef double _missed(self, Py_ssize_t place, list members, object leaf, dict missed) except -1e18:
        """What rows cost that always tell a leaf; ``missed`` gets what they cost with each mark."""
        cdef dict rows = {self.conversations[members[0]]: leaf}
        cdef double whole = 0, same = 0, more = 0, seen = 0, turn = 0, cost
        cdef object last = leaf, value, row, number_, path, conversation, sources = None
        cdef Py_ssize_t number, at, count
        cdef bint begun = False
        cdef int flag
        cdef tuple others
        for number_ in members:
            if not begun:
                begun = True
                continue
            number = number_
            value = self.leaf_at(number, place)
            cost = self.weigh(value) + 0.5
            whole += cost
            flag = self.flag_at(number, place)
            conversation = <object>PyList_GET_ITEM(self.conversations, number)
            row = held_at(rows, conversation)
            if row is None:
                row = last
            if not equal(row, value):
                same += cost
            if not equal(self.following(row), value):
                more += cost
            if not flag & SAME_FLAG:
                seen += cost
            if flag & FRESH_FLAG:
                if not equal(value, leaf):
                    turn += cost
            elif not flag & MORE_FLAG:
                turn += cost
            others = self.others_at(number, place)
            if PyTuple_GET_SIZE(others):
                if sources is None:
                    sources = Counter()
                for at in range(PyTuple_GET_SIZE(others)):
                    path = <object>PyTuple_GET_ITEM(others, at)
                    sources[path] += 1
            last = value
            rows[conversation] = value
        if self.flag_at(members[0], place) & SAME_FLAG:
            seen -= self.weigh(leaf)
        missed["?"], missed["+"], missed["="], missed["^"] = same, more, seen, turn
        if sources is not None:
            for path, count in sources.most_common(3):
                if count * 4 >= len(members) - 1 and self.tellable(path):
                    missed["=" + path] = self._elsewhere(place, members, leaf, path)
        missed["~"] = self._later(place, members, leaf)
        return whole

    cdef double _elsewhere(self, Py_ssize_t place, list members, object leaf, object path) except -1e18:
        cdef double cost = 0
        cdef Py_ssize_t at, number
        for at in range(1, len(members)):
            number = members[at]
            if path not in self.others_at(number, place):
                cost += self.weigh(self.leaf_at(number, place)) + 0.5
        number = members[0]
        return cost - (self.weigh(leaf) if path in self.others_at(number, place) else 0.0)

    cdef str _of_constant(self, Py_ssize_t place, Py_ssize_t number, object leaf):
        cdef object path
        if "=" in self.allowed and leaf != b"null" and self.weigh(leaf) > 6:
            if self.flag_at(number, place) & SAME_FLAG:
                return "="
            for path in self.others_at(number, place):
                if self.tellable(path) and len(path) < len(leaf) * 1.5:
                    return "=" + path
        return ""

    cdef object _time(self, object leaf):
        cdef PyObject* known = PyDict_GetItem(self.times, leaf)
        if known is not NULL:
            return <object>known
        found = time_of(leaf) if type(leaf) is str else None
        self.times[leaf] = found
        return found

    cdef double _later(self, Py_ssize_t place, list members, object leaf) except -1:
        """What a leaf costs as a time."""
        cdef double cost = 0
        cdef object form, read, value, last
        cdef Py_ssize_t at, number
        if type(leaf) is str:
            form = self._time(leaf)
            if form is None:
                return IMPOSSIBLE
            for at in range(1, len(members)):
                number = members[at]
                value = self.leaf_at(number, place)
                read = self._time(value)
                cost += 2.5 if read is not None and read[0] == form[0] else self.weigh(value)
            return cost
        if not is_number(leaf) or len(leaf) < 4:
            return IMPOSSIBLE
        last = int(leaf)
        for at in range(1, len(members)):
            number = members[at]
            value = self.leaf_at(number, place)
            if type(value) is not bytes or not is_number(value) or int(value) < last:
                return IMPOSSIBLE
            cost += 1.5 + <double>len(str(int(value) - last)) / 3
            last = int(value)
        return cost
