# The event that defines a template. The rules are those of ``tell`` and ``likeness`` in ``session/_state_py.py``.


def likeness(template, base, list leaves not None):
    """How many letters of a definition another template spares, about."""
    cdef list paths = template.shape.paths, marks = template.marks, others = base.marks, owns = base.leaves
    cdef dict places = base.places
    cdef Py_ssize_t found = -len(others), place, there
    cdef bint same = template.shape is base.shape
    cdef PyObject* held
    cdef str mark
    cdef object leaf
    for place in range(len(paths)):
        there = place
        if not same:
            held = PyDict_GetItem(places, paths[place])
            if held is NULL:
                continue
            there = <object>held
        mark = marks[place]
        if <str>others[there] != mark:
            continue
        found += len(<str>paths[place]) + (8 if mark else 0)
        leaf = leaves[place]
        if equal((<Expected>owns[there]).first, leaf):
            found += len(leaf)
    return found


cdef bint is_word(str text) noexcept:
    """Whether a text is one that a definition has without quotes, and begins with a letter."""
    cdef Py_ssize_t at, size = PyUnicode_GET_LENGTH(text)
    cdef Py_UCS4 letter
    if not size or not PyUnicode_IS_ASCII(text):
        return False
    for at in range(size):
        letter = PyUnicode_READ_CHAR(text, at)
        if 97 <= letter <= 122 or 65 <= letter <= 90:
            continue
        if not at or not (45 <= letter <= 57 or letter == 95 or letter == 64 or letter == 38 or letter == 61):
            return False
    return True


cdef object as_defined(State state, Expected own, str mark, object leaf, object told):
    """A leaf as a definition tells it."""
    cdef object later, far
    cdef str text
    cdef bint expected = False
    cdef Py_ssize_t at
    cdef const char* letters
    if own.sign == 126:  # ~
        later = state.later(own.path)
        if later is not None:
            far = state.distance(later, leaf)
            if far is not None:
                return f"+{far}" if far >= 0 else f'"{far}"'
    elif mark and leaf != b"null":
        if own.sign == 61:  # =
            expected = equal(state.expect(own, 0, 0), leaf)
        elif own.sign == 94:  # ^
            later = held_at(state.current.seen, own.path)
            expected = later is not None and equal(after(later), leaf)
        if expected:
            return "null"
    if type(leaf) is str:
        text = leaf
        if is_word(text) and text not in ("true", "false", "null"):
            return text
    elif not (mark and leaf == b"null"):
        letters = PyBytes_AS_STRING(leaf)
        for at in range(PyBytes_GET_SIZE(leaf)):
            if letters[at] < 32 or letters[at] >= 127:
                break
        else:
            return PyUnicode_DecodeASCII(letters, PyBytes_GET_SIZE(leaf), NULL)
    return told(leaf, mark)


def tell(State state not None, template, bases, list leaves not None, bint before, told):
    """The event that defines a template: each leaf as the definition tells it, and what each base knows of them."""
    cdef list order = template.order, owns = template.leaves, marks = template.marks
    cdef list others = list(bases), known = [], texts = [""] * len(leaves), places, numbers
    cdef Py_ssize_t place, at, there, width = len(leaves), many = len(others)
    cdef object key = template.key, leaf, base
    cdef Py_ssize_t key_place = -1 if key is None else key
    cdef Expected own, other
    cdef PyObject* held
    places, numbers, leaves_of = [], [], []
    for base in others:
        known.append([-1] * width)
        places.append(base.places)
        numbers.append(base.number)
        leaves_of.append(base.leaves)
    state.enter(None)
    for key in order:
        place = key
        leaf, own = leaves[place], owns[place]
        for at in range(many):
            held = PyDict_GetItem(<dict>places[at], own.path)
            if held is NULL:
                continue
            there = <object>held
            other = (<list>leaves_of[at])[there]
            if other.sign == 63 and not before:
                continue
            if equal(state.expect(other, there, numbers[at]), leaf):
                (<list>known[at])[place] = there
        texts[place] = as_defined(state, own, marks[place], leaf, told)
        if place == key_place:
            state.enter(leaf)
        state.put(own.path, leaf, own.sign == 126)
    state.close(template.number, leaves)
    return texts, known
