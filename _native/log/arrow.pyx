"""What Arrow holds, in C: string views, arrays for consumers, and functions that other libraries may call at any time: the
twin of ``log/_arrow_py.py``."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.exc cimport PyErr_SetObject, PyErr_WriteUnraisable
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    # With PyObject ** as they are: these references are nobody's but ours.
    void PyErr_Fetch(PyObject **kind, PyObject **value, PyObject **traceback)
    void PyErr_Restore(PyObject *kind, PyObject *value, PyObject *traceback)
    void Py_DECREF(PyObject *owner)
    bint Py_IsInitialized() nogil

cdef extern from "_native/json/strings.h" nogil:
    size_t tw_unescape(const uint8_t *p, const uint8_t *end, uint8_t *out)

cdef extern from "_native/json/decimals.h" nogil:
    void tw_decimal_tables()
    size_t tw_put_decimal(uint8_t *to, uint64_t number)

cdef extern from "_native/log/arrow_layout.h" nogil:
    ctypedef struct tw_array:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void **buffers
        tw_array **children
        tw_array *dictionary
        void (*release)(tw_array *) noexcept nogil
        void *private_data
    int64_t tw_count_exported(int64_t more)
    int tw_ones_64(uint64_t word)
    uint64_t tw_mask_at(const void *masks, int width, size_t row)
    uint64_t tw_bits(const void *masks, int width, size_t row, size_t count, int bit)
    void tw_view(uint8_t *view, const uint8_t *s, int64_t size, int64_t offset, int64_t length, int32_t number)
    ctypedef struct tw_text_tally:
        int64_t texts
        int64_t points
        int64_t escaped
        int64_t escaped_bytes
    ctypedef struct tw_texts:
        const uint8_t *s
        const uint8_t *arena
        int64_t size
        int64_t arena_size
        const int64_t *offsets
        const int64_t *lengths
        const void *masks
        int width
        int valid
        int escaped
        const int32_t *rows
        int64_t row_width
        int shape
        const int32_t *places
        uint8_t *out
        uint8_t *bitmap
        tw_text_tally tally
    void tw_text_columns(tw_texts *columns, size_t number, size_t count)
    size_t tw_number_column(const uint64_t *numbers, size_t count, const uint8_t *bitmap, uint8_t *out, uint8_t *side)

tw_decimal_tables()
DECIMAL = 20  # digits of the largest u64
INLINE = 12  # bytes of text that fit into a view itself
cdef list FUNCTIONS = []
cdef Py_ssize_t[6] RELEASES


# --- texts as views ---------------------------------------------------------------------------------------------------


def text_views(const uint8_t[::1] buffer, const uint8_t[::1] arena, masks, tuple columns not None,
               const int32_t[:, ::1] rows=None, int shape=0):
    """Text columns at once, each (offsets, lengths, valid, escaped, out, bitmap): views of spans of ``buffer`` as buffer
    number 0 and, from its end on, of ``arena`` as number 1 go into ``out`` (uint8, 16 bytes a row), zeros where a row has
    no text, and into ``bitmap`` one bit a row, first row lowest, that says whether it has one. A view is the length (i32),
    then either up to 12 bytes of text with zeros behind, or the first four bytes, the number of the buffer (i32) and the
    offset in it (i32).

    masks: unsigned integers, one a row; ``valid`` and ``escaped`` are bits there, or -1 where all rows have a text, and
    none has escapes. rows: i32 numbers, where the spans stand: instead of ``offsets`` and ``lengths`` (None), a column has
    16 places, and the low four bits of number ``shape`` of a row say which of them has the offset, with the length behind;
    -1 for none. Returns for each (rows without a text, whether any view points to its text, rows with a text that has
    escapes, the sum of the lengths of these). ``out`` is not written where no row has a text.
    """
    cdef Py_buffer view
    cdef tw_texts *texts = NULL
    cdef tw_texts *text
    cdef Py_ssize_t column, place, count, number = len(columns)
    cdef const int64_t[::1] offsets, lengths
    cdef const int32_t[::1] places
    cdef uint8_t[::1] out, bitmap
    PyObject_GetBuffer(masks, &view, PyBUF_SIMPLE)
    try:
        count = view.len // view.itemsize
        if view.itemsize not in (2, 4, 8) or (rows is not None and not (rows.shape[0] == count and 0 <= shape < rows.shape[1])):
            raise ValueError("masks are 2, 4 or 8 bytes wide, one for each row")
        texts = <tw_texts *>calloc(<size_t>number + 1, sizeof(tw_texts))
        if texts == NULL:
            raise MemoryError
        for column in range(number):
            text = &texts[column]
            first, lengths, text.valid, text.escaped, out, bitmap = columns[column]  # which holds what is pointed to
            if not -1 <= min(text.valid, text.escaped) <= max(text.valid, text.escaped) < 8 * view.itemsize:
                raise ValueError("valid and escaped are bits of the masks")
            if out.shape[0] < 16 * count or bitmap.shape[0] != (count + 7) // 8:
                raise ValueError("out has 16 bytes, and bitmap a bit, for each of the masks")
            if rows is None:
                offsets = first
                if offsets.shape[0] != count or lengths.shape[0] != count:
                    raise ValueError("offsets, lengths and masks do not match")
                text.offsets, text.lengths = &offsets[0], &lengths[0]
            else:
                places = first
                for place in range(16):
                    if places.shape[0] != 16 or not -1 <= places[place] < rows.shape[1] - 1:
                        raise ValueError("there are 16 places in a row")
                text.places, text.rows, text.row_width, text.shape = &places[0], &rows[0, 0], rows.shape[1], shape
            text.masks, text.width, text.out, text.bitmap = view.buf, <int>view.itemsize, &out[0], &bitmap[0]
            text.s, text.size, text.arena, text.arena_size = &buffer[0], buffer.shape[0], &arena[0], arena.shape[0]
        with nogil:
            tw_text_columns(texts, <size_t>number, <size_t>count)
        return [(count - texts[place].tally.texts, bool(texts[place].tally.points), texts[place].tally.escaped,
                 texts[place].tally.escaped_bytes) for place in range(number)]
    finally:
        free(texts)
        PyBuffer_Release(&view)


def escaped_views(const uint8_t[::1] buffer, const uint8_t[::1] arena, const int64_t[::1] offsets,
                  const int64_t[::1] lengths, masks, uint64_t both, uint8_t[::1] side, int32_t number,
                  uint8_t[:, ::1] out):
    """Texts of the rows that :func:`text_views` counts, insides of JSON strings, without their escapes one behind the
    other into ``side``, which has room for the sum of their lengths; and their views, as of buffer ``number``, into
    ``out``. Returns the bytes that were written."""
    cdef Py_buffer view
    cdef Py_ssize_t row, count = offsets.shape[0]
    cdef int64_t offset, length, told, written = 0
    cdef const uint8_t *s
    cdef bint fits = True
    PyObject_GetBuffer(masks, &view, PyBUF_SIMPLE)
    try:
        if lengths.shape[0] != count or view.len != count * view.itemsize or out.shape[0] < count or out.shape[1] != 16:
            raise ValueError("offsets, lengths, masks and out do not match")
        with nogil:
            for row in range(count):
                if tw_mask_at(view.buf, <int>view.itemsize, <size_t>row) & both != both:
                    continue
                offset, length = offsets[row], lengths[row]
                if offset < buffer.shape[0]:
                    s, told = &buffer[0], buffer.shape[0]
                else:
                    s, offset, told = &arena[0], offset - buffer.shape[0], arena.shape[0]
                fits = 0 <= offset <= told and 0 <= length <= told - offset and length <= side.shape[0] - written
                if not fits:
                    break
                length = <int64_t>tw_unescape(s + offset, s + offset + length, &side[0] + written)
                tw_view(&out[row, 0], &side[0], side.shape[0], written, length, number)
                written += length
        if not fits:
            raise ValueError("a text lies outside, or side is too short")
        return written
    finally:
        PyBuffer_Release(&view)


def bits(masks, int bit, uint8_t[::1] out):
    """One bit a row, first row lowest: whether its mask has this bit. Returns how many have."""
    cdef Py_buffer view
    cdef Py_ssize_t row, place, count, found = 0
    cdef uint64_t word
    PyObject_GetBuffer(masks, &view, PyBUF_SIMPLE)
    try:
        count = view.len // view.itemsize
        if view.itemsize not in (2, 4, 8) or not 0 <= bit < 8 * view.itemsize or out.shape[0] != (count + 7) // 8:
            raise ValueError("masks are 2, 4 or 8 bytes wide, and out has a bit for each")
        for row in range(0, count, 64):
            word = tw_bits(view.buf, <int>view.itemsize, <size_t>row, <size_t>min(count - row, 64), bit)
            found += tw_ones_64(word)
            for place in range(row // 8, min(out.shape[0], row // 8 + 8)):
                out[place] = <uint8_t>word
                word >>= 8
        return found
    finally:
        PyBuffer_Release(&view)


def decimals(const uint64_t[::1] numbers, uint8_t[:, ::1] out, int64_t[::1] lengths):
    """Each number as decimal digits at the start of its row of ``out`` (uint8, DECIMAL bytes a row)."""
    cdef Py_ssize_t row, count = numbers.shape[0]
    cdef uint8_t digits[28]
    if out.shape[0] < count or out.shape[1] != 20 or lengths.shape[0] < count:
        raise ValueError("numbers, out and lengths do not match")
    with nogil:
        for row in range(count):
            lengths[row] = <int64_t>tw_put_decimal(digits, numbers[row])
            memcpy(&out[row, 0], digits, 20)


def number_views(const uint64_t[::1] numbers, const uint8_t[::1] bitmap, uint8_t[:, ::1] out, uint8_t[::1] side):
    """Numbers as decimal texts: views as :func:`text_views` fills them, of rows with a bit in ``bitmap``.

    Digits of numbers that do not fit into a view go one behind the other into ``side``, buffer number 0. It has DECIMAL
    bytes for each row, or none where no number has more than INLINE digits. Returns how many bytes of ``side`` are in
    use."""
    cdef Py_ssize_t row, count = numbers.shape[0]
    cdef uint64_t highest = 0
    if out.shape[0] < count or out.shape[1] != 16 or bitmap.shape[0] != (count + 7) // 8:
        raise ValueError("numbers, out and bitmap do not match")
    for row in range(count):
        highest = max(highest, numbers[row])
    if highest >= 1_000_000_000_000 and side.shape[0] < DECIMAL * count:
        raise ValueError("side is too short for these numbers")
    return tw_number_column(&numbers[0], <size_t>count, &bitmap[0], &out[0, 0], &side[0])


# --- arrays -----------------------------------------------------------------------------------------------------------


def exported():
    """The number of arrays, of columns, dictionaries and batches, that consumers have not released."""
    return tw_count_exported(0)


cdef void let_go(PyObject *owner) noexcept with gil:
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *traceback
    PyErr_Fetch(&kind, &value, &traceback)  # consumers release whenever it suits them
    Py_DECREF(owner)
    PyErr_Restore(kind, value, traceback)


cdef void release(tw_array *array) noexcept nogil:
    cdef int64_t place
    cdef tw_array *child
    for place in range(array.n_children):
        child = array.children[place]
        if child.release != NULL:
            child.release(child)
    if array.dictionary != NULL and array.dictionary.release != NULL:
        array.dictionary.release(array.dictionary)
    # While the interpreter goes down there is nobody left to give memory back to.
    if Py_IsInitialized():
        let_go((<PyObject **>array.private_data)[0])
    free(array.private_data)
    tw_count_exported(-1)
    array.release = NULL


cdef void *begin(tw_array *array, int64_t length, int64_t nulls, Py_ssize_t buffers, Py_ssize_t structs,
                 object owner) except NULL:
    """An array that holds ``owner``; behind the places of its buffers there are ``structs`` structures with a pointer to
    each in front of all."""
    cdef size_t pointers = <size_t>(1 + buffers + structs)
    cdef char *memory = <char *>malloc(pointers * sizeof(void *) + <size_t>structs * sizeof(tw_array))
    cdef tw_array **children
    cdef Py_ssize_t place
    if memory == NULL:
        raise MemoryError
    (<PyObject **>memory)[0] = <PyObject *>owner
    Py_INCREF(owner)
    array.length, array.null_count, array.offset = length, nulls, 0
    array.n_buffers, array.n_children, array.dictionary = buffers, 0, NULL
    array.buffers = <const void **>memory + 1
    for place in range(buffers):
        array.buffers[place] = NULL
    children = <tw_array **>(<void **>memory + 1 + buffers)
    for place in range(structs):
        children[place] = <tw_array *>(memory + pointers * sizeof(void *)) + place
        children[place].release = NULL
    array.children = children
    array.private_data = memory
    array.release = release
    tw_count_exported(1)
    return memory


cdef int fill(tw_array *array, int64_t length, int64_t nulls, tuple buffers, tuple dictionary) except -1:
    cdef Py_buffer view
    cdef Py_ssize_t place
    begin(array, length, nulls, len(buffers), 0 if dictionary is None else 1, buffers)
    for place in range(len(buffers)):
        buffer = buffers[place]
        if buffer is not None:
            PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
            array.buffers[place] = view.buf
            PyBuffer_Release(&view)  # it stays where it is: the array holds its owner
    if dictionary is not None:
        array.dictionary = array.children[0]
        fill(array.dictionary, dictionary[0], 0, dictionary[1], None)
    return 0


def export(size_t address, int64_t length, list columns):
    """Makes the struct ArrowArray at ``address`` a struct array of ``length`` rows.

    columns: for each its nulls, its buffers (a tuple of arrays and None) and its dictionary (None, or how many values
    it has, and their buffers). All stay until the consumer has released them, each column by itself.
    """
    cdef tw_array made
    cdef Py_ssize_t place
    begin(&made, length, 0, 1, len(columns), None)
    try:
        for place in range(len(columns)):
            nulls, buffers, dictionary = columns[place]
            made.n_children = place + 1
            fill(made.children[place], length, nulls, buffers, dictionary)
    except BaseException:
        release(&made)
        raise
    (<tw_array *>address)[0] = made


# --- functions that others call ---------------------------------------------------------------------------------------


cdef void drop(int slot, error) noexcept:
    PyErr_SetObject(type(error), error)
    PyErr_WriteUnraisable(FUNCTIONS[slot])


cdef void again(int slot, void *argument) noexcept:
    # A signal may have ended the function, at its first step even; who calls ends the process where it did nothing.
    cdef void **pointer = <void **>(<char *>argument + RELEASES[slot])
    if pointer[0] == NULL:
        return
    try:
        FUNCTIONS[slot](<size_t>argument)
    except BaseException as error:
        drop(slot, error)
        pointer[0] = NULL


cdef void call(int slot, void *argument) noexcept with gil:
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *traceback
    PyErr_Fetch(&kind, &value, &traceback)
    try:
        FUNCTIONS[slot](<size_t>argument)
    except BaseException as error:
        if RELEASES[slot] >= 0:
            again(slot, argument)
        drop(slot, error)
    PyErr_Restore(kind, value, traceback)


cdef void enter(int slot, void *argument) noexcept nogil:
    # While the interpreter goes down there is nobody left to give memory back to; but who calls wants to see it done.
    if Py_IsInitialized():
        call(slot, argument)
    elif RELEASES[slot] >= 0:
        (<void **>(<char *>argument + RELEASES[slot]))[0] = NULL


cdef extern from *:
    """
    static void (*tw_enter)(int, void *);
    #define TW_SLOT(number) static void tw_slot_##number(void *argument) { tw_enter(number, argument); }
    TW_SLOT(0) TW_SLOT(1) TW_SLOT(2) TW_SLOT(3) TW_SLOT(4) TW_SLOT(5)
    static void (*const tw_slots[6])(void *) = { tw_slot_0, tw_slot_1, tw_slot_2, tw_slot_3, tw_slot_4, tw_slot_5 };
    """
    void (*tw_enter)(int slot, void *argument) noexcept nogil
    void **tw_slots

tw_enter = enter


def foreign(function, release=None):
    """The address of a C function ``void (*)(void *)`` that calls ``function`` with its argument as an integer.

    It may be called from any thread, with or without the GIL, while the interpreter ends (then it only sets the pointer
    ``release`` bytes into its argument, if any, to NULL), and while an exception is on its way (which goes on
    afterwards). A function that sets such a pointer to NULL is called again if it raised before doing so. There is room
    for six, which are never freed.
    """
    if len(FUNCTIONS) == 6:
        raise ValueError("there is room for six functions")
    RELEASES[len(FUNCTIONS)] = -1 if release is None else release
    FUNCTIONS.append(function)
    return <size_t>tw_slots[len(FUNCTIONS) - 1]
