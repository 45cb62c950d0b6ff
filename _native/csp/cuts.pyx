"""Places at which a CSP/1 log may be cut: the compiled twin of ``csp/_cuts_py.py``, which tells the rule."""

import os

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from turnwire.csp.spec import CUTS_OPEN as _CUTS_OPEN, CUTS_STATE as _CUTS_STATE

cdef extern from "_native/common/fence.h" nogil:
    bint tw_is_fence(const uint8_t *s, size_t p, size_t end)

cdef extern from "_native/csp/lines.h" nogil:
    ctypedef void (*csp_masks_function)(const uint8_t *, size_t, uint64_t *, uint64_t *)
    csp_masks_function csp_starts_of(int level)
    int tw_low_zeros(uint64_t mask)
    int tw_ones_64(uint64_t mask)
    int tw_high_zeros(uint64_t mask)
    bint csp_looks_like_magic(const uint8_t *data, int64_t at, int64_t stop)

cdef enum:
    LINE, LAST, TAIL, SUSPECT, DOUBT, GAVE_UP, OPENED, FIRST
    BLOCKS = 64

cdef int64_t MOST_OPEN = _CUTS_OPEN
if _CUTS_STATE != FIRST + 2 * _CUTS_OPEN:
    raise ImportError("the state of the cuts has another shape")

cdef csp_masks_function find_starts


def choose_simd(str most="avx2"):
    """Chooses the fastest code for this processor, "avx2" or "scalar", but none beyond ``most``, and says which; for tests."""
    global find_starts
    find_starts = csp_starts_of(2 * LEVELS.index(most))
    return LEVELS[find_starts != csp_starts_of(0)]


LEVELS = ("scalar", "avx2")
# TURNWIRE_SIMD=0 keeps to the scalar code, which runs everywhere and is what the other is tested against.
SIMD = choose_simd("avx2" if os.environ.get("TURNWIRE_SIMD", "1") != "0" else "scalar")

cdef struct Pass:
    int64_t base, every, limit
    int64_t *state
    int64_t *found
    int64_t count


cdef void open_run(int64_t *state, int64_t run, int64_t at) noexcept nogil:
    cdef int64_t place
    for place in range(state[OPENED]):
        if state[FIRST + 2 * place] == run:
            return
    if state[OPENED] == MOST_OPEN:
        state[GAVE_UP] = 1
        return
    state[FIRST + 2 * state[OPENED]] = run
    state[FIRST + 2 * state[OPENED] + 1] = at
    state[OPENED] += 1


cdef void close_run(int64_t *state, int64_t run, int64_t behind, int64_t limit) noexcept nogil:
    cdef int64_t place, opening, suspect
    for place in range(state[OPENED]):
        if state[FIRST + 2 * place] == run:
            break
    else:
        return
    opening, suspect = state[FIRST + 2 * place + 1], state[SUSPECT]
    if behind - opening > limit:
        state[GAVE_UP] = 1
    if suspect >= 0 and behind - suspect > limit and (opening - suspect <= limit or state[DOUBT]):
        state[GAVE_UP] = 1
    state[OPENED] -= 1
    state[FIRST + 2 * place] = state[FIRST + 2 * state[OPENED]]
    state[FIRST + 2 * place + 1] = state[FIRST + 2 * state[OPENED] + 1]


cdef void take_magic(int64_t *state, int64_t at) noexcept nogil:
    state[TAIL] = 1
    if state[OPENED] == 0:
        state[SUSPECT] = at
        state[DOUBT] = 0
    else:
        state[DOUBT] = 1
        if state[SUSPECT] < 0:
            state[SUSPECT] = at


cdef inline bint take_cut(Pass *p, int64_t at) noexcept nogil:
    if p.state[GAVE_UP] or at - p.state[LAST] < p.every:
        return False
    p.state[LAST] = at
    p.found[0] = at
    p.found[1] = p.state[LINE]
    p.found += 2
    p.count += 1
    return True


cdef void take_line(Pass *p, const uint8_t *data, int64_t start, int64_t newline) noexcept nogil:
    """One line that begins with a byte that may matter."""
    cdef int64_t *state = p.state
    cdef int64_t at = start
    cdef int64_t stop = newline
    cdef uint8_t first = data[start]
    if stop > start and data[stop - 1] == 13:
        stop -= 1
    if first == c"<" or first == c">":
        if not state[TAIL]:
            return
        while at < stop and data[at] == first:
            at += 1
        if at - start < 3:
            return
        if first == c">":
            if at == stop and state[OPENED]:
                close_run(state, at - start, p.base + newline + 1, p.limit)
        elif at == stop or (at + 1 == stop and data[at] == c"-"):
            open_run(state, at - start, p.base + start)
    elif first != c"C" and first != c"c" and tw_is_fence(data, start, stop):
        if state[OPENED] == 0:
            state[TAIL] = 0
            state[SUSPECT] = -1
            state[DOUBT] = 0
    elif csp_looks_like_magic(data, start, stop):
        if state[TAIL] and state[OPENED] == 0 and stop - start == 5 and memcmp(data + start, b"CSP/1", 5) == 0:
            take_cut(p, p.base + start)
        take_magic(state, p.base + start)


cdef inline bint is_start(uint8_t first) noexcept nogil:
    return first in (60, 62, 67, 96, 99, 126, 32, 9, 0xEF)  # < > C ` c ~, white space, a byte order mark


cdef int64_t run_pass(Pass *p, const uint8_t *data, int64_t size, int64_t room) noexcept nogil:
    """Takes whole lines; returns the offset behind the last one taken."""
    cdef uint64_t newlines[BLOCKS]
    cdef uint64_t matters[BLOCKS]
    cdef uint8_t last[64]
    cdef int64_t base = 0, line = 0, blocks, block, newline, end
    cdef uint64_t mask, starts
    cdef bint open_line = size > 0 and is_start(data[0])  # whether the line that has begun matters
    while base < size:
        blocks = min(<int64_t>BLOCKS, (size - base) >> 6)
        if blocks:
            find_starts(data + base, blocks, newlines, matters)
        else:
            memset(last, 0, 64)
            memcpy(last, data + base, size - base)
            find_starts(last, 1, newlines, matters)
            blocks = 1
        for block in range(blocks):
            mask = newlines[block]
            if mask == 0:
                continue
            end = base + (block << 6)
            starts = mask << 1 & matters[block]
            if not (open_line or starts or (p.state[TAIL] == 0 and p.base + end + 64 - p.state[LAST] >= p.every)):
                p.state[LINE] += tw_ones_64(mask)
                line = end + 64 - tw_high_zeros(mask)
                open_line = line < size and is_start(data[line]) if line == end + 64 else False
                continue
            while mask:
                newline = end + tw_low_zeros(mask)
                mask &= mask - 1
                if p.count + 1 >= room:  # a line makes two cuts at most
                    return line
                if p.state[TAIL] == 0:
                    take_cut(p, p.base + line)
                if is_start(data[line]):
                    take_line(p, data, line, newline)
                p.state[LINE] += 1
                line = newline + 1
            open_line = line < size and is_start(data[line])
        base += blocks << 6
    return line


def find_cuts(data, int64_t base, int64_t every, int64_t limit, int64_t[::1] state, int64_t[:, ::1] found):
    """Takes the whole lines of ``data`` and writes (offset, line) of each cut; returns (bytes taken, cuts).

    data: bytes-like, the lines that begin at offset ``base`` of the input. state: int64[CUTS_STATE], made by
    ``turnwire.csp.cuts`` and carried from call to call. found: int64[n, 2] with at least two rows; when it is full
    fewer bytes are taken.
    """
    cdef Py_buffer view
    cdef Pass p
    cdef int64_t taken
    if state.shape[0] != _CUTS_STATE or found.shape[1] != 2 or found.shape[0] < 2:
        raise ValueError("the state or the table has another shape")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    p.base, p.every, p.limit = base, every, limit
    p.state, p.found, p.count = &state[0], &found[0, 0], 0
    try:
        with nogil:
            taken = run_pass(&p, <const uint8_t *>view.buf, view.len, found.shape[0])
    finally:
        PyBuffer_Release(&view)
    return taken, p.count
