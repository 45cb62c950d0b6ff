# Bodies as pieces; see ``pieces`` in ``session/_repeats_py.py``.

cdef extern from "Python.h":
    bint Py_UNICODE_ISALNUM(Py_UCS4 letter) noexcept
    bint Py_UNICODE_ISDECIMAL(Py_UCS4 letter) noexcept
    bint Py_UNICODE_ISDIGIT(Py_UCS4 letter) noexcept
    bint Py_UNICODE_ISSPACE(Py_UCS4 letter) noexcept

cdef enum:
    LETTER
    DIGIT
    BAR
    LOW_LINE
    SPACE
    MARK

cdef unsigned char ascii_kinds[128]


cdef inline unsigned char known_kind(Py_UCS4 letter) noexcept:
    if letter == c"_":
        return LOW_LINE
    if Py_UNICODE_ISDECIMAL(letter):
        return DIGIT
    if Py_UNICODE_ISALNUM(letter):
        return LETTER
    if Py_UNICODE_ISSPACE(letter):
        return SPACE
    return BAR if letter == c"|" else MARK


for _letter in range(128):
    ascii_kinds[<int>_letter] = known_kind(<Py_UCS4><int>_letter)


cdef inline unsigned char kind_of(Py_UCS4 letter) noexcept:
    return ascii_kinds[letter] if letter < 128 else known_kind(letter)


cdef Py_ssize_t end_of_piece(const Py_UCS4* text, Py_ssize_t at, Py_ssize_t size) noexcept:
    """Where the piece ends that begins at a letter."""
    cdef unsigned char kind = kind_of(text[at]), next_kind
    cdef Py_ssize_t end = at + 1
    if kind == LOW_LINE:
        return end
    if kind == SPACE:
        if text[at] == c"\n":
            while end < size and text[end] == c" ":
                end += 1
            return end
        if text[at] != c" " or end == size:
            return end
        next_kind = kind_of(text[end])
        if next_kind != LETTER and next_kind != MARK:
            return end
        kind = next_kind
        end += 1
    if kind == DIGIT:
        size = min(size, at + 3)
    while end < size and kind_of(text[end]) == kind:
        end += 1
    return end


cdef class _Pieces:
    """Different pieces, each with its number. text: letters of bodies. begins, ends: where in it each comes first."""

    cdef Py_UCS4* text
    cdef Py_ssize_t* begins
    cdef Py_ssize_t* ends
    cdef int* table
    cdef size_t slots
    cdef Py_ssize_t size
    cdef int many

    def __dealloc__(self):
        PyMem_Free(self.text)
        PyMem_Free(self.begins)
        PyMem_Free(self.ends)
        PyMem_Free(self.table)

    cdef int add(self, str body) except -1:
        """Takes the letters of a body, and makes room for its pieces."""
        cdef Py_ssize_t more = PyUnicode_GET_LENGTH(body), at
        cdef int kind = PyUnicode_KIND(body), number
        cdef void* data = PyUnicode_DATA(body)
        cdef void* held = PyMem_Realloc(self.text, (self.size + more + 1) * sizeof(Py_UCS4))
        if held is NULL:
            raise MemoryError
        self.text = <Py_UCS4*>held
        for at in range(more):
            self.text[self.size + at] = PyUnicode_READ(kind, data, at)
        self.size += more
        if <size_t>(self.many + more) * 2 <= self.slots:
            return 0
        if self.slots < 1024:
            self.slots = 1024
        while <size_t>(self.many + more) * 2 > self.slots:
            self.slots *= 2
        held = PyMem_Realloc(self.begins, self.slots // 2 * sizeof(Py_ssize_t))
        if held is NULL:
            raise MemoryError
        self.begins = <Py_ssize_t*>held
        held = PyMem_Realloc(self.ends, self.slots // 2 * sizeof(Py_ssize_t))
        if held is NULL:
            raise MemoryError
        self.ends = <Py_ssize_t*>held
        held = PyMem_Realloc(self.table, self.slots * sizeof(int))
        if held is NULL:
            raise MemoryError
        self.table = <int*>held
        memset(self.table, 0xFF, self.slots * sizeof(int))
        for number in range(self.many):
            self.table[self.slot(self.begins[number], self.ends[number])] = number
        return 0

    cdef size_t slot(self, Py_ssize_t begin, Py_ssize_t end) noexcept:
        """Where in the table the piece is, or would be."""
        cdef unsigned int mixed = 2166136261
        cdef size_t spot
        cdef Py_ssize_t at
        cdef int number
        for at in range(begin, end):
            mixed = (mixed ^ <unsigned int>self.text[at]) * 16777619
        spot = (mixed ^ (mixed >> 15)) & (self.slots - 1)
        while True:
            number = self.table[spot]
            if number < 0:
                return spot
            if self.ends[number] - self.begins[number] == end - begin and not memcmp(
                self.text + self.begins[number], self.text + begin, (end - begin) * sizeof(Py_UCS4)
            ):
                return spot
            spot = (spot + 1) & (self.slots - 1)

    cdef int number_of(self, Py_ssize_t begin, Py_ssize_t end) noexcept:
        """The number of a piece, which may be a new one."""
        cdef size_t spot = self.slot(begin, end)
        if self.table[spot] < 0:
            self.begins[self.many], self.ends[self.many] = begin, end
            self.table[spot] = self.many
            self.many += 1
        return self.table[spot]


def pieces(list bodies not None, Py_ssize_t most):
    """The pieces of bodies; see the twin."""
    cdef Py_ssize_t begin, end, number
    cdef _Pieces found = _Pieces()
    cdef list flat = [], texts = []
    for number in range(len(bodies)):
        begin = found.size
        found.add(bodies[number])
        while begin < found.size:
            end = end_of_piece(found.text, begin, found.size)
            flat.append(found.number_of(begin, end))
            begin = end
        flat.append(-1 - number)
        if len(flat) > most:
            break
    for number in range(found.many):
        begin = found.begins[number]
        texts.append(PyUnicode_FromKindAndData(4, found.text + begin, found.ends[number] - begin))
    return texts, flat
