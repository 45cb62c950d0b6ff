"""Judges what templates would cost. The rules are those of ``session/_judging_py.py``.

Leaves, paths, conversations and forms of times are numbers here, given out as they come: what is the same is compared as such.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.list cimport PyList_GET_ITEM
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject

from collections import Counter
from itertools import islice

from turnwire._native.session.state import one_more, time_of
from turnwire.session._judging_py import MEMBER as _MEMBER

cdef enum:
    SAME_FLAG = 1
    MORE_FLAG = 2
    FRESH_FLAG = 4
    OTHER_FLAG = 8
    MOST_SOURCES = 6
    MOST_HOLDERS = 24
    MOST_DIGITS = 18
    NONE = -1
    UNKNOWN = -2

cdef double IMPOSSIBLE = 1e9
cdef double MEMBER = _MEMBER
cdef tuple NONE_SEEN = ()


include "_native/session/weights.pxi"


cdef class Judge:
    """Judges the events of one block; see the twin.

    begins: where the leaves of each event begin in ``leaves`` (their numbers), ``paths`` and ``flags``. known: leaf ->
    its number; texts: the leaves. weights, after (the leaf that is one more), forms and numbers: of each leaf, UNKNOWN where
    nobody asked yet. talks: the conversation of each event; rows: the last leaf of each, while a place is judged.
    """

    cdef object allowed, tellable
    cdef bint same, more, seen, turn, later
    cdef list columns, others, texts, names
    cdef dict known, told_forms
    cdef int* begins
    cdef int* leaves
    cdef int* paths
    cdef int* talks
    cdef int* rows
    cdef int* after
    cdef int* forms
    cdef int* members
    cdef double* weights
    cdef long long* numbers
    cdef unsigned char* flags

    def __cinit__(self, events, orders, allowed, tellable):
        cdef Py_ssize_t many = len(events), total = 0, number, place, at = 0, width
        cdef dict paths = {}, talks = {}
        cdef list own, leaves, others
        cdef object event, shape, key
        self.allowed, self.tellable = allowed, tellable
        self.same, self.more, self.seen, self.turn, self.later = [mark in allowed for mark in "?+=^~"]
        self.known, self.told_forms, self.others, self.columns = {}, {}, [], []
        for event in events:
            total += len(event.leaves)
        self.begins = <int*>PyMem_Malloc((many + 1) * sizeof(int))
        self.talks = <int*>PyMem_Malloc((many + 1) * sizeof(int))
        self.rows = <int*>PyMem_Malloc((many + 1) * sizeof(int))
        self.members = <int*>PyMem_Malloc((many + 1) * sizeof(int))
        self.leaves = <int*>PyMem_Malloc((total + 1) * sizeof(int))
        self.paths = <int*>PyMem_Malloc((total + 1) * sizeof(int))
        self.after = <int*>PyMem_Malloc((total + 1) * sizeof(int))
        self.forms = <int*>PyMem_Malloc((total + 1) * sizeof(int))
        self.weights = <double*>PyMem_Malloc((total + 1) * sizeof(double))
        self.numbers = <long long*>PyMem_Malloc((total + 1) * sizeof(long long))
        self.flags = <unsigned char*>PyMem_Malloc(total + 1)
        if (
            self.begins is NULL or self.talks is NULL or self.rows is NULL or self.members is NULL or self.leaves is NULL
            or self.paths is NULL or self.after is NULL or self.forms is NULL or self.weights is NULL
            or self.numbers is NULL or self.flags is NULL
        ):
            raise MemoryError
        for number in range(many):
            event = events[number]
            leaves, shape, key = event.leaves, event.shape, orders[number][0]
            own, width = shape.paths, len(leaves)
            if len(own) != width:
                raise ValueError("a shape has as many leaves as its event")
            self.columns.append(shape.columns)
            self.begins[number] = <int>at
            self.talks[number] = NONE if key is None else number_in(talks, leaves[key])
            for place in range(width):
                self.leaves[at] = number_in(self.known, leaves[place])
                self.paths[at] = number_in(paths, own[place])
                self.flags[at] = 0
                at += 1
        self.begins[many] = <int>at
        self.texts, self.names = list(self.known), list(paths)
        for at in range(len(self.texts)):
            self.weights[at] = weight_of(self.texts[at])
            self.after[at] = self.forms[at] = UNKNOWN
            self.numbers[at] = UNKNOWN
        self._look([order for _, order in orders], [key for key, _ in orders])

    def __dealloc__(self):
        PyMem_Free(self.begins)
        PyMem_Free(self.talks)
        PyMem_Free(self.rows)
        PyMem_Free(self.members)
        PyMem_Free(self.leaves)
        PyMem_Free(self.paths)
        PyMem_Free(self.after)
        PyMem_Free(self.forms)
        PyMem_Free(self.weights)
        PyMem_Free(self.numbers)
        PyMem_Free(self.flags)

    cdef int _look(self, list orders, list keys) except -1:
        """What each leaf has before it. last: of each path, the leaf that was seen last; scopes: in a conversation."""
        cdef Py_ssize_t number, place, begin, key_place
        cdef int leaf, path, own, old, flag, talk
        cdef int* last = <int*>PyMem_Malloc((len(self.names) + 1) * sizeof(int))
        cdef list holders = [None] * len(self.texts), order, sources
        cdef dict scopes = {}, scope, held
        cdef object place_, key
        if last is NULL:
            raise MemoryError
        try:
            for path in range(len(self.names)):
                last[path] = NONE
            for number in range(len(orders)):
                order, key = orders[number], keys[number]
                begin, key_place, talk = self.begins[number], NONE if key is None else key, self.talks[number]
                scope = None
                if talk != NONE:
                    scope = scopes.get(talk)
                    if scope is None:
                        scope = scopes[talk] = {}
                sources = None
                for place_ in order:
                    place = place_
                    leaf, path = self.leaves[begin + place], self.paths[begin + place]
                    old = last[path]
                    own = old
                    if scope is not None and place != key_place:
                        own = scope.get(path, NONE)
                    flag = 0
                    if own == NONE:
                        flag = FRESH_FLAG
                        if old == leaf:
                            flag |= SAME_FLAG
                    else:
                        if own == leaf:
                            flag |= SAME_FLAG
                        if self.following(own) == leaf:
                            flag |= MORE_FLAG
                    held = holders[leaf]
                    if held is not None and (len(held) > 1 or (held and path not in held)):
                        found = self._sources(held, path, leaf, None if place == key_place else scope, last)
                        if found is not NONE_SEEN:
                            if sources is None:
                                sources = [NONE_SEEN] * len(order)
                            sources[place] = found
                            flag |= OTHER_FLAG
                    self.flags[begin + place] = flag
                    if scope is not None:
                        scope[path] = leaf
                    if old != NONE and old != leaf:
                        held = holders[old]
                        if held is not None:
                            held.pop(path, None)
                    last[path] = leaf
                    held = holders[leaf]
                    if held is None:
                        holders[leaf] = {path: None}
                    elif old != leaf or len(held) > 1:  # the last one to hold it is the last in order
                        held.pop(path, None)
                        held[path] = None
                self.others.append(sources)
        finally:
            PyMem_Free(last)
        return 0

    cdef tuple _sources(self, dict held, int path, int leaf, dict here, const int* last):
        """The other paths at which a leaf was seen last."""
        cdef list found = []
        cdef int other
        cdef object other_
        for other_ in islice(reversed(held), MOST_HOLDERS):
            other = other_
            if other == path:
                continue
            if here is not None:
                value = here.get(other_)
                if value is not None and value != leaf:
                    continue
                if value is None and last[other] != leaf:
                    continue
            found.append(self.names[other])
            if len(found) == MOST_SOURCES:
                break
        return tuple(found) if found else NONE_SEEN

    cdef int following(self, int leaf) except -3:
        """The leaf that is one more; NONE where no event has it."""
        cdef object found
        if self.after[leaf] == UNKNOWN:
            found = one_more(self.texts[leaf])
            self.after[leaf] = NONE if found is None else self.known.get(found, NONE)
        return self.after[leaf]

    cdef int form(self, int leaf) except -3:
        """The form of a time; NONE for anything else."""
        cdef object text, found
        if self.forms[leaf] == UNKNOWN:
            text = self.texts[leaf]
            found = time_of(text) if type(text) is str else None
            self.forms[leaf] = NONE if found is None else number_in(self.told_forms, found[0])
        return self.forms[leaf]

    cdef long long number(self, int leaf) except -4:
        """A number of at most 18 digits; NONE for what are no digits, UNKNOWN for a longer one."""
        cdef object text = self.texts[leaf]
        if type(text) is not bytes or not is_number(text):
            return NONE
        if len(<bytes>text) > MOST_DIGITS:
            return UNKNOWN
        if self.numbers[leaf] == UNKNOWN:
            self.numbers[leaf] = int(text)
        return self.numbers[leaf]

    cdef inline int leaf_at(self, int number, Py_ssize_t place) noexcept:
        return self.leaves[self.begins[number] + place]

    cdef inline int flag_at(self, int number, Py_ssize_t place) noexcept:
        return self.flags[self.begins[number] + place]

    cdef tuple others_at(self, int number, Py_ssize_t place):
        """The other paths where the value of a leaf was seen last."""
        if not self.flag_at(number, place) & OTHER_FLAG:
            return NONE_SEEN
        return (<list>self.others[number])[place]

    cdef Py_ssize_t take(self, list members) except -1:
        """Puts the numbers of events where C sees them; how many there are."""
        cdef Py_ssize_t at, many = len(members), most = len(self.others)
        cdef int number
        if not many or many > most:
            raise ValueError("some of the events are judged, each once")
        for at in range(many):
            number = members[at]
            if not 0 <= number < most or self.begins[number + 1] - self.begins[number] != self.widths(members[0]):
                raise ValueError("the events have one structure")
            self.members[at] = number
        return many

    cdef Py_ssize_t widths(self, Py_ssize_t number) noexcept:
        return self.begins[number + 1] - self.begins[number]

    def judged(self, list members not None):
        """What each leaf costs in the rows of a template for these events, and its best mark."""
        cdef list costs = [], marks = []
        cdef Py_ssize_t place, many = self.take(members)
        cdef double cost
        for place in range(self.widths(self.members[0])):
            cost = 0.0
            marks.append(self._mark(place, many, &cost))
            costs.append(cost)
        return costs, marks

    def derived(
        self, double total, Py_ssize_t one, Py_ssize_t other, list costs not None, list marks not None,
        list base not None
    ):
        """``total`` and what a template costs that is told by another one; see the twin."""
        cdef Py_ssize_t place, many = len(self.others), width
        cdef int leaf
        cdef double cost, rows = 0
        cdef bint open_
        if not 0 <= one < many or not 0 <= other < many:
            raise IndexError("there is no such event")
        width = self.widths(one)
        if self.widths(other) != width or len(costs) != width or len(marks) != width or len(base) != width:
            raise ValueError("the events have one structure")
        for place in range(width):
            cost = costs[place]
            rows += cost if cost > 0 else 0
        total += rows
        for place in range(width):
            leaf, open_, cost = self.leaf_at(<int>one, place), bool(marks[place]), costs[place]
            if marks[place] != base[place] or (cost > 0 if open_ else leaf != self.leaf_at(<int>other, place)):
                total += MEMBER + self.weights[leaf]
        return total

    def parted(self, list members not None, Py_ssize_t place, Py_ssize_t most):
        """Events by the value of a leaf, in the order of the first of each; None for more values than ``most``."""
        cdef Py_ssize_t at, many = self.take(members)
        cdef dict found = {}
        cdef object number, key
        cdef PyObject* held
        if not 0 <= place < self.widths(self.members[0]):
            raise IndexError("there is no such leaf")
        for at in range(many):
            key = self.leaf_at(self.members[at], place)
            number = <object>PyList_GET_ITEM(members, at)
            held = PyDict_GetItem(found, key)
            if held is not NULL:
                (<list>held).append(number)
                continue
            if len(found) == most:
                return None
            found[key] = [number]
        return list(found.values())

    cdef str _mark(self, Py_ssize_t place, Py_ssize_t many, double* cost):
        """The best mark of one leaf; what it costs in rows."""
        cdef int first = self.members[0]
        cdef int leaf = self.leaf_at(first, place)
        cdef bint table = self.columns[first][place] is not None, null
        cdef double[5] told
        cdef double least = 0, value
        cdef Py_ssize_t at
        cdef str best = ""
        cdef dict elsewhere
        for at in range(many):
            if self.leaf_at(self.members[at], place) != leaf:
                break
        else:
            if table or must_open(self.texts[leaf]):
                return "?"
            return self._of_constant(place, first, leaf)
        elsewhere = self._missed(place, many, leaf, told)
        if table:
            cost[0] = told[0] if self.same else told[4]
            return "?"
        null = self.texts[leaf] == b"null"
        if self.same:
            best, least, cost[0] = "?", told[0], told[0]
        if self.more and (not best or told[1] + 0.3 < least):
            best, least, cost[0] = "+", told[1] + 0.3, told[1]
        if not null:
            if self.seen and (not best or told[2] + 0.2 < least):
                best, least, cost[0] = "=", told[2] + 0.2, told[2]
            if self.turn and (not best or told[3] + 0.4 < least):
                best, least, cost[0] = "^", told[3] + 0.4, told[3]
            if self.seen and elsewhere is not None:
                for path, value in elsewhere.items():
                    if not best or value + 1.0 < least:
                        best, least, cost[0] = "=" + path, value + 1.0, value
            if self.later:
                value = self._later(place, many, leaf)
                if not best or value + 1.0 < least:
                    best, cost[0] = "~", value
        if not best:
            cost[0] = told[4]
            return "?"
        return best

    cdef dict _missed(self, Py_ssize_t place, Py_ssize_t many, int leaf, double* told):
        """What rows cost with the marks ? + = ^, and with none; by path, what they cost where the leaf is seen there."""
        cdef double whole = 0, same = 0, more = 0, seen = 0, turn = 0, cost
        cdef int last = leaf, value, row, number, talk, flag
        cdef Py_ssize_t at
        cdef object sources = None, path
        cdef dict found = None
        cdef int* rows = self.rows + 1
        for at in range(many):
            rows[self.talks[self.members[at]]] = NONE
        rows[self.talks[self.members[0]]] = leaf
        for at in range(1, many):
            number = self.members[at]
            value, flag, talk = self.leaf_at(number, place), self.flag_at(number, place), self.talks[number]
            cost = self.weights[value] + 0.5
            whole += cost
            row = rows[talk]
            if row == NONE:
                row = last
            if row != value:
                same += cost
            if self.following(row) != value:
                more += cost
            if not flag & SAME_FLAG:
                seen += cost
            if flag & FRESH_FLAG:
                if value != leaf:
                    turn += cost
            elif not flag & MORE_FLAG:
                turn += cost
            if flag & OTHER_FLAG:
                if sources is None:
                    sources = Counter()
                for path in self.others_at(number, place):
                    sources[path] += 1
            rows[talk] = last = value
        if self.flag_at(self.members[0], place) & SAME_FLAG:
            seen -= self.weights[leaf]
        told[0], told[1], told[2], told[3], told[4] = same, more, seen, turn, whole
        if sources is not None:
            found = {}
            for path, count in sources.most_common(3):
                if count * 4 >= many - 1 and self.tellable(path):
                    found[path] = self._elsewhere(place, many, leaf, path)
        return found

    cdef double _elsewhere(self, Py_ssize_t place, Py_ssize_t many, int leaf, object path) except -1e18:
        """What a leaf costs that is expected as it was seen last at another path."""
        cdef double cost = 0
        cdef Py_ssize_t at
        cdef int number
        for at in range(1, many):
            number = self.members[at]
            if path not in self.others_at(number, place):
                cost += self.weights[self.leaf_at(number, place)] + 0.5
        return cost - (self.weights[leaf] if path in self.others_at(self.members[0], place) else 0.0)

    cdef str _of_constant(self, Py_ssize_t place, int number, int leaf):
        """The mark of a leaf that never changes: fixed, or seen elsewhere where its first value need not be told."""
        cdef object path
        if self.seen and self.weights[leaf] > 6 and self.texts[leaf] != b"null":
            if self.flag_at(number, place) & SAME_FLAG:
                return "="
            for path in self.others_at(number, place):
                if self.tellable(path) and len(path) < len(self.texts[leaf]) * 1.5:
                    return "=" + path
        return ""

    cdef double _later(self, Py_ssize_t place, Py_ssize_t many, int leaf) except -1:
        """What a leaf costs as a time."""
        cdef double cost = 0
        cdef int form, value
        cdef long long last, number
        cdef Py_ssize_t at
        if type(self.texts[leaf]) is str:
            form = self.form(leaf)
            if form == NONE:
                return IMPOSSIBLE
            for at in range(1, many):
                value = self.leaf_at(self.members[at], place)
                cost += 2.5 if self.form(value) == form else self.weights[value]
            return cost
        last = self.number(leaf)
        if last == NONE or len(<bytes>self.texts[leaf]) < 4:
            return IMPOSSIBLE
        for at in range(1, many):
            value = self.leaf_at(self.members[at], place)
            number = self.number(value)
            if number == NONE:
                return IMPOSSIBLE
            if number == UNKNOWN or last == UNKNOWN:
                return self._far(place, many)
            if number < last:
                return IMPOSSIBLE
            cost += 1.5 + <double>digits_of(number - last) / 3
            last = number
        return cost

    cdef double _far(self, Py_ssize_t place, Py_ssize_t many) except -1:
        """What a leaf costs as a number, of more digits than C counts with."""
        cdef double cost = 0
        cdef object last = None, value
        cdef Py_ssize_t at
        for at in range(many):
            value = self.texts[self.leaf_at(self.members[at], place)]
            if type(value) is not bytes or not is_number(value) or (last is not None and int(value) < last):
                return IMPOSSIBLE
            if last is not None:
                cost += 1.5 + <double>len(str(int(value) - last)) / 3
            last = int(value)
        return cost
