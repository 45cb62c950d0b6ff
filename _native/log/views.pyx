"""Arrow string views and the texts behind them, in C: the twin of ``log/_views_py.py``."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

cdef extern from "_native/json/strings.h" nogil:
    size_t tw_unescape(const uint8_t *p, const uint8_t *end, uint8_t *out)

cdef extern from "_native/json/decimals.h" nogil:
    void tw_decimal_tables()
    size_t tw_put_decimal(uint8_t *to, uint64_t number)

cdef extern from "_native/log/arrow_layout.h" nogil:
    unsigned tw_ones(unsigned word)
    uint64_t tw_mask_at(const void *masks, int width, size_t row)
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
    size_t tw_number_column(const uint64_t *numbers, size_t count, const void *masks, int width, int valid, uint8_t *out,
                            uint8_t *bitmap, uint8_t *side)

tw_decimal_tables()
DECIMAL = 20  # digits of the largest u64
INLINE = 12  # bytes of text that fit into a view itself


cdef int into(tw_texts *text, Py_ssize_t count, int bits, int valid, uint8_t[::1] out, uint8_t[::1] bitmap) except -1:
    """The place of the views of a column, and its bit in the masks."""
    if not -1 <= valid < bits:
        raise ValueError("masks are 2, 4 or 8 bytes wide, and have that many bits")
    if out.shape[0] < 16 * count:
        raise ValueError("out has 16 bytes for each of the masks")
    if bitmap.shape[0] != (count + 7) // 8:
        raise ValueError("bitmap has a bit for each row")
    text.valid, text.escaped = valid, -1
    if count:
        text.out, text.bitmap = &out[0], &bitmap[0]
    return 0


cdef int spans_of(tw_texts *text, Py_ssize_t count, int bits, int escaped, const int64_t[::1] offsets,
                  const int64_t[::1] lengths) except -1:
    """The places of its texts."""
    if not -1 <= escaped < bits:
        raise ValueError("masks are 2, 4 or 8 bytes wide, and have that many bits")
    if offsets.shape[0] != count or lengths.shape[0] != count:
        raise ValueError("offsets, lengths and masks do not match")
    text.escaped = escaped
    if count:
        text.offsets, text.lengths = &offsets[0], &lengths[0]
    return 0


cdef int places_of(tw_texts *text, int64_t width, const int32_t[::1] places) except -1:
    """The places of its texts in rows of so many numbers."""
    cdef Py_ssize_t place
    if places.shape[0] != 16:
        raise ValueError("there are 16 places")
    for place in range(16):
        if not -1 <= places[place] < width - 1:
            raise ValueError("a place lies outside of its row")
    text.places = &places[0]
    return 0


cdef tw_texts *begin(Py_ssize_t number, Py_buffer *masks) except NULL:
    """Several columns, and what they have in common."""
    cdef Py_ssize_t place
    cdef tw_texts *texts
    if masks.itemsize not in (2, 4, 8):
        raise ValueError("masks are 2, 4 or 8 bytes wide, and have that many bits")
    texts = <tw_texts *>calloc(<size_t>number + 1, sizeof(tw_texts))
    if texts == NULL:
        raise MemoryError
    for place in range(number):
        texts[place].masks, texts[place].width = masks.buf, <int>masks.itemsize
    return texts


def text_views(const uint8_t[::1] buffer, const uint8_t[::1] arena, masks, tuple columns not None):
    """Text columns at once, each (offsets, lengths, valid, escaped, out, bitmap): views of spans of ``buffer`` as buffer
    number 0 and, from its end on, of ``arena`` as number 1 go into ``out`` (uint8, 16 bytes a row), zeros where a row has
    no text, and into ``bitmap`` one bit a row, first row lowest, that says whether it has one. A view is the length (i32),
    then either up to 12 bytes of text with zeros behind, or the first four bytes, the number of the buffer (i32) and the
    offset in it (i32).

    masks: unsigned integers, one a row; ``valid`` and ``escaped`` are bits there, or -1 where all rows have a text, and
    none has escapes. Returns for each (rows without a text, whether any view points to its text, rows with a text that
    has escapes, the sum of the lengths of these). ``out`` is not written where no row has a text.
    """
    cdef Py_buffer view
    cdef tw_texts *texts = NULL
    cdef Py_ssize_t place, count, number = len(columns)
    cdef tuple column
    PyObject_GetBuffer(masks, &view, PyBUF_SIMPLE)
    try:
        texts = begin(number, &view)
        count = view.len // view.itemsize
        for place in range(number):
            column = columns[place]  # which holds what is pointed to
            offsets, lengths, valid, escaped, out, bitmap = column
            into(&texts[place], count, 8 * <int>view.itemsize, valid, out, bitmap)
            spans_of(&texts[place], count, 8 * <int>view.itemsize, escaped, offsets, lengths)
            texts[place].s, texts[place].size = &buffer[0], buffer.shape[0]
            texts[place].arena, texts[place].arena_size = &arena[0], arena.shape[0]
        with nogil:
            tw_text_columns(texts, <size_t>number, <size_t>count)
        return [(count - texts[place].tally.texts, bool(texts[place].tally.points), texts[place].tally.escaped,
                 texts[place].tally.escaped_bytes) for place in range(number)]
    finally:
        free(texts)
        PyBuffer_Release(&view)


def packed_views(const uint8_t[::1] buffer, const int32_t[:, ::1] rows, int shape, masks, tuple columns not None):
    """As :func:`text_views` (no arena, no escapes) where the spans stand in ``rows``, i32 numbers: each column is
    (places, valid, out, bitmap), and the low four bits of number ``shape`` of a row say which of the 16 ``places`` in
    it has the offset, with the length behind; -1 for none. Returns for each (rows without a text, whether any view
    points to its text)."""
    cdef Py_buffer view
    cdef tw_texts *texts = NULL
    cdef Py_ssize_t place, count = rows.shape[0], number = len(columns)
    cdef tuple column
    if not 0 <= shape < rows.shape[1]:
        raise ValueError("a place lies outside of its row")
    PyObject_GetBuffer(masks, &view, PyBUF_SIMPLE)
    try:
        texts = begin(number, &view)
        if view.len != count * view.itemsize:
            raise ValueError("rows and masks do not match")
        for place in range(number):
            column = columns[place]  # which holds what is pointed to
            places, valid, out, bitmap = column
            into(&texts[place], count, 8 * <int>view.itemsize, valid, out, bitmap)
            places_of(&texts[place], rows.shape[1], places)
            texts[place].s, texts[place].size = &buffer[0], buffer.shape[0]
            texts[place].rows, texts[place].row_width, texts[place].shape = &rows[0, 0], rows.shape[1], shape
        with nogil:
            tw_text_columns(texts, <size_t>number, <size_t>count)
        return [(count - texts[place].tally.texts, bool(texts[place].tally.points)) for place in range(number)]
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


def number_views(const uint64_t[::1] numbers, masks, int valid, uint8_t[:, ::1] out, uint8_t[::1] bitmap,
                 uint8_t[::1] side):
    """Numbers as decimal texts: views and a bit a row as :func:`text_views` fills them. ``masks`` is None, or as there.

    Digits of numbers that do not fit into a view go one behind the other into ``side``, buffer number 0. It has DECIMAL
    bytes for each row, or none where no number has more than INLINE digits. Returns (rows without a text, how many
    bytes of ``side`` are in use)."""
    cdef Py_buffer view
    cdef Py_ssize_t row, place, count = numbers.shape[0]
    cdef int width = 0
    cdef const void *bits = NULL
    cdef uint64_t highest = 0
    cdef size_t used
    if out.shape[0] < count or out.shape[1] != 16 or bitmap.shape[0] != (count + 7) // 8:
        raise ValueError("numbers, out and bitmap do not match")
    for row in range(count):
        highest = max(highest, numbers[row])
    if highest >= 1_000_000_000_000 and side.shape[0] < DECIMAL * count:
        raise ValueError("side is too short for these numbers")
    if count == 0:
        return 0, 0
    memset(&view, 0, sizeof(view))
    if masks is not None:
        PyObject_GetBuffer(masks, &view, PyBUF_SIMPLE)
    try:
        if masks is not None:
            width, bits = <int>view.itemsize, view.buf
            if width not in (2, 4, 8) or not 0 <= valid < 8 * width or view.len != count * width:
                raise ValueError("masks are 2, 4 or 8 bytes wide, one per row, and have that many bits")
        with nogil:
            used = tw_number_column(&numbers[0], <size_t>count, bits, width, valid, &out[0, 0], &bitmap[0],
                                    &side[0] if side.shape[0] else NULL)
            row = 0
            for place in range((count + 7) // 8):
                row += tw_ones(bitmap[place])
        return count - row, used
    finally:
        if masks is not None:
            PyBuffer_Release(&view)
