"""Arrow, in C: string views, arrays for consumers, and functions that other libraries may call at any time; the twin of
``log/_arrow_py.py``."""

from functools import partial

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.exc cimport PyErr_Fetch, PyErr_Restore, PyErr_SetObject, PyErr_WriteUnraisable
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    void Py_DECREF(PyObject *owner)  # a reference that is nobody's but ours
    bint Py_IsInitialized() nogil

cdef extern from "_native/json/strings.h" nogil:
    size_t tw_unescape_in(const uint8_t *p, const uint8_t *end, const uint8_t *hard, uint8_t *out)

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
    int tw_low_zeros(uint64_t word)
    void tw_planes(const uint8_t *masks, size_t width, size_t count, uint8_t *planes)
    uint64_t tw_rows_at(const uint8_t *plane, size_t row, size_t count)
    size_t tw_rows_in(const uint8_t *plane, size_t count)
    int64_t tw_offset_of(int64_t span)
    int64_t tw_length_of(int64_t span)
    void tw_view(uint8_t *view, const uint8_t *s, int64_t size, int64_t offset, int64_t length, int32_t number)
    ctypedef struct tw_texts:
        const uint8_t *s
        const uint8_t *arena
        int64_t size
        int64_t arena_size
        const int64_t *spans
        const uint8_t *valid
        const uint8_t *escaped
        uint8_t *out
        int64_t texts
        int64_t longest
        int64_t escaped_bytes
    ctypedef struct tw_packed_text:
        tw_texts *column
        size_t place
    ctypedef struct tw_packed_rows:
        const int32_t *rows
        const tw_texts *one
        size_t width
        size_t room
        int shape
        uint32_t[16] count
        tw_packed_text *texts
    void tw_text_columns(tw_texts *columns, size_t number, const tw_packed_rows *packed, size_t count)
    size_t tw_number_column(const uint64_t *numbers, size_t count, const uint8_t *valid, uint8_t *out, uint8_t *side)

tw_decimal_tables()
DECIMAL = 20  # digits of the largest u64
INLINE = 12  # bytes of text that fit into a view itself
cdef list FUNCTIONS = []
cdef Py_ssize_t[6] RELEASES


# --- texts as views ---------------------------------------------------------------------------------------------------


cdef const void *memory(object owner, Py_ssize_t size) except NULL:
    """The place of the bytes of an array, which stays as long as somebody holds the array, with at least so many of them."""
    cdef Py_buffer view
    PyObject_GetBuffer(owner, &view, PyBUF_SIMPLE)
    PyBuffer_Release(&view)
    if view.len < size:
        raise ValueError(f"an array of {view.len} bytes has to have {size}")
    return <const void *>b"" if view.buf == NULL else view.buf


cdef const uint8_t *plane_of(dict planes, object bits, Py_ssize_t count) except? NULL:
    """The plane of those of ``count`` rows whose mask has a bit (masks, bit), as in :class:`Bits`; NULL for all: None or bit -1.
    planes: those that are made, with their masks."""
    cdef Py_buffer view
    cdef Py_ssize_t size = (count + 63) // 64 * 8
    if bits is None or bits[1] < 0:
        return NULL
    PyObject_GetBuffer(bits[0], &view, PyBUF_SIMPLE)
    PyBuffer_Release(&view)
    if view.itemsize not in (2, 4, 8) or view.len < count * view.itemsize or bits[1] >= 8 * view.itemsize:
        raise ValueError("masks are 2, 4 or 8 bytes wide, one for each row")
    key = <size_t>view.buf << 4 | <size_t>view.itemsize
    made, _ = planes.get(key, (None, None))
    if made is None:
        made = PyByteArray_FromStringAndSize(NULL, 8 * view.itemsize * size)
        tw_planes(<const uint8_t *>view.buf, <size_t>view.itemsize, <size_t>count, <uint8_t *>PyByteArray_AS_STRING(made))
        planes[key] = made, bits[0]  # which no other masks take the place of
    return <const uint8_t *>PyByteArray_AS_STRING(made) + <Py_ssize_t>bits[1] * size


cdef tuple bitmap_of(const uint8_t *plane, Py_ssize_t count):
    """The rows of a plane for a consumer, and how many are missing; no bitmap where none is."""
    cdef Py_ssize_t missing = 0 if plane == NULL else count - <Py_ssize_t>tw_rows_in(plane, <size_t>count)
    return (PyBytes_FromStringAndSize(<const char *>plane, (count + 7) // 8) if missing else None), missing


cdef tuple values_of(object values, const uint8_t *valid, object names, int highest, Py_ssize_t count):
    """The array of a column of numbers or codes; the code of a row without a value may be any, and becomes one that is
    there."""
    cdef const uint8_t *codes
    cdef bytearray known
    cdef uint8_t top
    cdef Py_ssize_t row
    bitmap, nulls = bitmap_of(valid, count)
    if nulls and highest >= 0:
        codes, known, top = <const uint8_t *>memory(values, count), bytearray(count), <uint8_t>highest
        for row in range(count):
            known[row] = min(codes[row], top)
        values = known
    return nulls, (bitmap, values), names


cdef tuple numbers_of(object column, const uint8_t *valid, Py_ssize_t count, object rooms, object zeros):
    """The views of whole numbers: most have digits so few that the view alone has room for them."""
    cdef const uint64_t *numbers = <const uint64_t *>memory(column.numbers, 8 * count)
    cdef uint64_t highest = 0
    cdef int64_t used, room
    cdef Py_ssize_t row
    bitmap, nulls = bitmap_of(valid, count)
    if nulls == count:
        return nulls, (bitmap, zeros(16 * count), b""), None
    for row in range(count):
        highest |= numbers[row]  # or a little more than the highest: a vector of them at a time
    room = DECIMAL * count if highest >= 1_000_000_000_000 else 0
    out, side = rooms(2, max(16 * count, room))
    used = <int64_t>tw_number_column(numbers, <size_t>count, valid, <uint8_t *>memory(out, 16 * count),
                                     <uint8_t *>memory(side, room))
    data = (side[:used], (<char *>&used)[:8]) if used else (b"",)
    return nulls, (bitmap, out, *data), None


cdef void text_of(tw_texts *texts, object buffer, object arena, const uint8_t *valid, const uint8_t *escaped) except *:
    """A text column, but for the places of its texts."""
    texts.valid, texts.escaped = valid, escaped
    texts.size, texts.arena_size = len(buffer), len(arena)
    texts.s, texts.arena = <const uint8_t *>memory(buffer, 0), <const uint8_t *>memory(arena, 0)


cdef void pack(tw_packed_rows *packed, tw_texts *column, object rows, object places, int shape, Py_ssize_t count) except *:
    """Adds a text column to those in rows that they share; places: for each shape of a row that of the text, -1 for none."""
    cdef Py_ssize_t kind, numbers = rows.itemsize // 4
    cdef const int32_t *of = <const int32_t *>memory(places, 64)
    cdef const int32_t *all_rows = <const int32_t *>memory(rows, 4 * numbers * count)
    if not 0 <= shape < numbers or (packed.rows != NULL and (packed.rows != all_rows or packed.shape != shape)):
        raise ValueError("packed texts share their rows")
    packed.rows, packed.one, packed.width, packed.shape = all_rows, column, <size_t>numbers, shape
    for kind in range(16):
        if not -1 <= of[kind] < numbers - 1:
            raise ValueError("places lie in a row")
        if of[kind] >= 0:
            packed.texts[<size_t>kind * packed.room + packed.count[kind]] = tw_packed_text(column, <size_t>of[kind])
            packed.count[kind] += 1


cdef tuple ended(tw_texts *texts, list data, object out, Py_ssize_t count, bint json, object rooms, object zeros, object plain):
    """The array of a text column whose views are made. Where all texts are short, nobody has to keep what was scanned."""
    cdef Py_ssize_t number
    cdef int64_t sizes[3]
    bitmap, nulls = bitmap_of(texts.valid, count)
    if nulls == count:
        return nulls, (bitmap, zeros(16 * count), b""), None
    data = data[: (2 if texts.arena_size else 1) if texts.longest > INLINE else 0]
    if texts.escaped_bytes and json:
        (side,) = rooms(1, texts.escaped_bytes + 16)  # which are written by sixteen
        data.append(side[: without_escapes(texts, count, side, <int32_t>len(data))])
    elif texts.escaped_bytes:
        data += plain(len(data), out)
    for number in range(len(data)):
        sizes[number] = len(data[number])
    return nulls, (bitmap, out, *data, (<char *>sizes)[: 8 * len(data)]), None


cdef int64_t without_escapes(tw_texts *texts, Py_ssize_t count, object side, int32_t number) except -1:
    """Texts with escapes, insides of JSON strings, into buffer ``number`` without them, and their views; the bytes written."""
    cdef int64_t offset, length, told, size = texts.escaped_bytes, written = 0
    cdef const uint8_t *s
    cdef uint8_t *to = <uint8_t *>memory(side, size + 16)
    cdef Py_ssize_t first, row
    cdef uint64_t left
    for first in range(0, count, 64):
        left = tw_rows_at(texts.valid, <size_t>first, <size_t>count) & tw_rows_at(texts.escaped, <size_t>first, <size_t>count)
        while left:
            row = first + tw_low_zeros(left)
            left &= left - 1
            offset, length, s, told = tw_offset_of(texts.spans[row]), tw_length_of(texts.spans[row]), texts.s, texts.size
            if offset >= told:
                s, offset, told = texts.arena, offset - told, texts.arena_size
            if not (0 <= offset <= told and 0 <= length <= min(told - offset, size - written)):
                raise ValueError("a text lies outside")
            length = <int64_t>tw_unescape_in(s + offset, s + offset + length, s + told, to + written)
            tw_view(texts.out + 16 * row, to, size, written, length, number)
            written += length
    return written


def filled(tuple plan not None, dict arrays not None, buffer, arena, Py_ssize_t count, column_at, rooms, zeros, plain):
    """The arrays of columns of ``count`` rows, as :func:`export` takes them. Texts become views: the length (i32),
    then either up to 12 bytes of text with zeros behind, or the first four bytes, the number of the buffer (i32) and the
    offset in it (i32).

    plan: for each column how it is made: ("values", array, dtype, bit, dictionary, highest code), ("spans", array, bit,
    bit of those with escapes, whether texts are insides of JSON strings), ("rows", array, places, shape,
    bit), all in ``arrays`` with their bits in "present", -1 for all or none; ("like", number of a column); or () for what
    ``column_at`` gives, as does what is not in ``arrays``: a :class:`TextColumn`, a :class:`Values`, or an array as it is.
    rooms: (number, bytes) -> so many blocks of memory; zeros: (bytes) -> one that nobody writes to; plain: (column, number,
    views) -> the buffer of this number with texts whose escapes the core does not read, and their views. Raises ValueError
    for arrays that do not have that many rows.
    """
    cdef list found = [None] * len(plan), begun = []
    cdef dict planes = {}
    cdef object masks = arrays.get("present")
    cdef Py_ssize_t place, number = 0
    cdef bint json
    cdef tw_texts *texts = <tw_texts *>calloc(<size_t>len(plan) + 1, sizeof(tw_texts))
    cdef tw_texts *text
    cdef tuple step
    cdef tw_packed_rows packed
    memset(&packed, 0, sizeof(packed))
    packed.room = <size_t>len(plan)
    packed.texts = <tw_packed_text *>calloc(16 * packed.room + 1, sizeof(tw_packed_text))
    try:
        if texts == NULL or packed.texts == NULL:
            raise MemoryError
        for place in range(len(plan)):
            step, text, column = plan[place], &texts[number], None
            how = step[0] if step else None
            if how == "like":
                continue
            values = arrays.get(step[1]) if step else None
            if how == "values" and values is not None and values.dtype is step[2]:
                memory(values, count * <Py_ssize_t>values.itemsize)
                found[place] = values_of(values, plane_of(planes, (masks, step[3]), count), step[4], step[5], count)
                continue
            json = how == "spans" and step[4]
            if how == "spans" and values is not None:
                text_of(text, buffer, arena, plane_of(planes, (masks, step[2]), count), plane_of(planes, (masks, step[3]), count))
                text.spans = <const int64_t *>memory(values, 8 * count)
            elif how == "rows" and values is not None and not arena:
                text_of(text, buffer, arena, plane_of(planes, (masks, step[4]), count), NULL)
                pack(&packed, text, values, step[2], step[3], count)
            else:
                column = column_at(place)
                if type(column) is tuple:
                    found[place] = column
                    continue
                if isinstance(column, tuple):
                    found[place] = values_of(column[0], plane_of(planes, column[1], count), column[2], column[3], count)
                    continue
                if column.numbers is not None:
                    found[place] = numbers_of(column, plane_of(planes, column.validity, count), count, rooms, zeros)
                    continue
                json = column.json
                text_of(text, column.buffer, column.arena, plane_of(planes, column.validity, count),
                        plane_of(planes, column.escapes, count))
                values = column.offsets | column.lengths << 32  # which has to stay
                text.spans = <const int64_t *>memory(values, 8 * count)
            begun.append((place, column, values, json))
            number += 1
        blocks = rooms(number, 16 * count) if number else []
        for place in range(number):
            texts[place].out = <uint8_t *>memory(blocks[place], 16 * count)
        with nogil:
            tw_text_columns(texts, <size_t>number, &packed, <size_t>count)
        for number in range(number):
            place, column, _, json = begun[number]
            data = [buffer, arena] if column is None else [column.buffer, column.arena]
            found[place] = ended(&texts[number], data, blocks[number], count, json, rooms, zeros, partial(plain, place))
    finally:
        free(texts)
        free(packed.texts)
    for place in range(len(plan)):
        if found[place] is None:
            found[place] = found[plan[place][1]]
    return found


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
