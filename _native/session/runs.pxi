# Runs of pieces that come more than once. The rules are those of ``runs`` in ``session/_repeats_py.py``.


cdef class _Level:
    """Groups of places at which the same pieces are. ends: where each ends in ``places``. weights: their tokens."""

    cdef int* places
    cdef int* ends
    cdef double* weights
    cdef Py_ssize_t groups

    def __cinit__(self, Py_ssize_t size):
        self.places = <int*>PyMem_Malloc(size * sizeof(int))
        self.ends = <int*>PyMem_Malloc(size * sizeof(int))
        self.weights = <double*>PyMem_Malloc(size * sizeof(double))
        if self.places is NULL or self.ends is NULL or self.weights is NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.places)
        PyMem_Free(self.ends)
        PyMem_Free(self.weights)

    cdef inline int first(self, Py_ssize_t group) noexcept:
        return self.ends[group - 1] if group else 0


cdef void part(
    _Level given, _Level made, const int* flat, int size, const double* weights, int* times, int* spots
) noexcept:
    """The groups of runs that are one piece longer. times, spots: a zero for each piece, and room."""
    cdef Py_ssize_t group
    cdef int at, place, number, end = 0
    made.groups = 0
    for group in range(given.groups):
        for at in range(given.first(group), given.ends[group]):
            number = flat[given.places[at] + size]
            if number >= 0:
                times[number] += 1
        for at in range(given.first(group), given.ends[group]):
            place = given.places[at]
            number = flat[place + size]
            if number < 0:
                continue
            if times[number] == 1:
                times[number] = 0
                continue
            if times[number] > 0:  # the first one makes room for all
                spots[number] = end
                end += times[number]
                made.ends[made.groups] = end
                made.weights[made.groups] = given.weights[group] + weights[number]
                made.groups += 1
                times[number] = -times[number]
            made.places[spots[number]] = place
            spots[number] += 1
            times[number] += 1


cdef bint alike(_Level level, Py_ssize_t group, const int* flat, int far) noexcept:
    """Whether the pieces that far from all places of a group are the same."""
    cdef int at, begin = level.first(group)
    if flat[level.places[begin] + far] < 0:
        return False
    for at in range(begin + 1, level.ends[group]):
        if flat[level.places[at] + far] != flat[level.places[begin] + far]:
            return False
    return True


cdef struct Run:
    double gain
    int first
    int pieces


cdef int descending(const void* one, const void* other) noexcept nogil:
    cdef const Run* left = <const Run*>one
    cdef const Run* right = <const Run*>other
    if left.gain != right.gain:
        return -1 if left.gain > right.gain else 1
    if left.first != right.first:
        return -1 if left.first > right.first else 1
    return right.pieces - left.pieces


cdef class _Runs:
    """Runs that were found."""

    cdef Run* held
    cdef Py_ssize_t size, room

    def __dealloc__(self):
        PyMem_Free(self.held)

    cdef int make_room(self, Py_ssize_t more) except -1:
        """Room for so many more runs."""
        cdef Run* held
        if self.size + more > self.room:
            held = <Run*>PyMem_Realloc(self.held, 2 * (self.size + more) * sizeof(Run))
            if held is NULL:
                raise MemoryError
            self.held, self.room = held, 2 * (self.size + more)
        return 0

    cdef void add(self, double gain, int first, int pieces) noexcept:
        self.held[self.size].gain = gain
        self.held[self.size].first = first
        self.held[self.size].pieces = pieces
        self.size += 1

    cdef Py_ssize_t sort(self, Py_ssize_t most) noexcept:
        """The greatest come first. How many of them are asked for."""
        if self.size:
            qsort(self.held, self.size, sizeof(Run), descending)
        return max(0, min(most, self.size))


def runs(list flat not None, list weights not None, Py_ssize_t most):
    """Runs of pieces that come more than once; see the twin."""
    cdef Py_ssize_t at
    cdef _Runs found = runs_of(flat, weights)
    return [
        (found.held[at].gain, found.held[at].first, found.held[at].pieces) for at in range(found.sort(most))
    ]


cdef _Runs runs_of(list flat, list weights):
    """Runs of pieces that come more than once, in no order."""
    cdef Py_ssize_t size = len(flat), many = len(weights), at, group
    cdef _Runs found = _Runs()
    cdef _Level level = _Level(size + 1), longer = _Level(size + 1)
    cdef int* numbers = <int*>PyMem_Malloc((size + 1) * sizeof(int))
    cdef double* costs = <double*>PyMem_Malloc((many + 1) * sizeof(double))
    cdef int* times = <int*>PyMem_Malloc((many + 1) * sizeof(int))
    cdef int* spots = <int*>PyMem_Malloc((many + 1) * sizeof(int))
    cdef int pieces, first
    try:
        if numbers is NULL or costs is NULL or times is NULL or spots is NULL:
            raise MemoryError
        memset(times, 0, (many + 1) * sizeof(int))
        for at in range(many):
            costs[at] = weights[at]
        level.groups = 0
        for at in range(size):
            numbers[at] = flat[at]
            if numbers[at] >= many:
                raise ValueError("a piece has no weight")
            level.places[at] = <int>at
        if size and numbers[size - 1] >= 0:
            raise ValueError("the last number is negative")
        if size:
            level.groups, level.ends[0], level.weights[0] = 1, <int>size, 0
        for pieces in range(most_pieces):
            if pieces:
                found.make_room(level.groups)
                for group in range(level.groups):
                    first = level.first(group)
                    found.add(
                        (level.ends[group] - first - 1) * (level.weights[group] - 1) - naming,
                        level.places[first],
                        pieces,
                    )
            part(level, longer, numbers, pieces, costs, times, spots)
            level, longer = longer, level
        found.make_room(level.groups)
        for group in range(level.groups):
            first = level.first(group)
            if level.places[first] and alike(level, group, numbers, -1):
                continue
            pieces = most_pieces
            while alike(level, group, numbers, pieces):
                pieces += 1
            found.add(
                (level.ends[group] - first - 1) * (level.weights[group] * pieces / most_pieces - 1) - naming,
                level.places[first],
                pieces,
            )
        return found
    finally:
        PyMem_Free(numbers)
        PyMem_Free(costs)
        PyMem_Free(times)
        PyMem_Free(spots)


cdef bint fit(int kind, void* data, Py_ssize_t begin, Py_ssize_t end) noexcept:
    """Whether a text of two letters or more probably cuts no word or number."""
    if PyUnicode_READ(kind, data, end - 1) == c" ":
        while begin < end:
            if PyUnicode_READ(kind, data, begin) == c"\n":
                return True
            begin += 1
        return False
    return end - begin >= 8 or not (
        Py_UNICODE_ISDIGIT(PyUnicode_READ(kind, data, begin)) or Py_UNICODE_ISDIGIT(PyUnicode_READ(kind, data, end - 1))
    )


def spelled(list flat not None, list texts not None, list weights not None, Py_ssize_t most):
    """Runs of pieces that come more than once as texts, and what an alias of each saves; see the twin."""
    cdef Py_ssize_t size = len(flat), at, begin, end, first, pieces, many
    cdef _Runs best = runs_of(flat, weights)
    cdef int number, kind
    cdef void* data
    cdef Py_ssize_t* places = <Py_ssize_t*>PyMem_Malloc((size + 1) * sizeof(Py_ssize_t))
    cdef double* tokens = <double*>PyMem_Malloc((size + 1) * sizeof(double))
    cdef dict found = {}
    cdef list parts = []
    cdef str whole, text
    try:
        if places is NULL or tokens is NULL:
            raise MemoryError
        places[0], tokens[0] = 0, 0
        for at in range(size):
            number = flat[at]
            places[at + 1], tokens[at + 1] = places[at], tokens[at]
            if number >= 0:
                text = texts[number]
                parts.append(text)
                places[at + 1] += len(text)
                tokens[at + 1] += weights[number]
        whole = "".join(parts)
        kind, data = PyUnicode_KIND(whole), PyUnicode_DATA(whole)
        many = best.sort(most)
        for at in range(many):
            first, pieces = best.held[at].first, best.held[at].pieces
            begin, end = places[first], places[first + pieces]
            if end - begin < 2 or not fit(kind, data, begin, end):
                continue
            text = PyUnicode_Substring(whole, begin, end)
            if text not in found:
                found[text] = tokens[first + pieces] - tokens[first] - 1.0
        return found
    finally:
        PyMem_Free(places)
        PyMem_Free(tokens)
