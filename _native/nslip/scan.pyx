"""The bulk scan of nSLIP in C: the twin of ``nslip/_scan_py.py``. The rules are in nslip/rows.h."""

import os

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t

from _native.nslip.parse cimport TW_KEEP, tw_nslip_tables

cdef extern from "_native/nslip/scan.h" nogil:
    ctypedef struct tw_columns:
        int64_t *offset
        int64_t *length
        int64_t *line
        uint16_t *present
        uint8_t *act
        uint8_t *frame
        uint64_t *head[6]
        uint64_t *ints[9]
        int64_t *text_offset[2]
        int64_t *text_length[2]
        size_t count
        size_t room
    ctypedef struct tw_rejects:
        int64_t *offset
        int64_t *length
        int64_t *line
        int64_t *fault
        uint8_t *reason
        size_t count
        size_t room
    ctypedef struct tw_scan:
        const uint8_t *s
        size_t size
        int final
        int flags
        size_t limit
        int64_t base
        int64_t line
        size_t position
        int line_end_known
        tw_columns columns
        tw_rejects rejects
    void tw_nslip_scan(tw_scan *k)
    int tw_choose_level(int most)

tw_nslip_tables()


def choose_simd(str most="avx512"):
    """Chooses the fastest code for this processor, "avx512", "avx2" or "scalar", but none beyond ``most``, and says which;
    for tests and ``info``."""
    return LEVELS[tw_choose_level(LEVELS.index(most))]


LEVELS = ("scalar", "avx2", "avx512")
# TURNWIRE_SIMD=0 keeps to the scalar code, which runs everywhere and is what the others are tested against.
SIMD = choose_simd("avx512" if os.environ.get("TURNWIRE_SIMD", "1") != "0" else "scalar")

cdef tuple HEAD = (None, None, "conv_id", "src", "dst", "turn")
cdef tuple INTS = (
    "goal_id", "task_id", "parent_task_id", "result_id", "priority", "score", None, "error_code", None
)
cdef tuple TEXTS = ("status", "tag")


cdef void *column(dict columns, object name, size_t room, size_t width) except? NULL:
    """Where a column's memory is, or NULL where it is not asked for. The caller's dict keeps it alive."""
    cdef Py_buffer view
    array = columns.get(name)
    if name is None or array is None:
        return NULL
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
    cdef void *memory = view.buf
    cdef size_t size = view.len
    PyBuffer_Release(&view)
    if size < room * width:
        raise ValueError(f"column {name} has room for {size // width} rows, not {room}")
    return memory


def scan_block(data, start, size, final, dict columns, rows, room, dict rejects, reject_rows, reject_room, *,
               base=0, line=1, keep=False, limit=16 << 20):
    """Reads nSLIP records from ``data[start:size]`` into columns, from row ``rows`` on.

    Args:
        data: bytes-like; ``final`` says that nothing follows ``data[:size]``.
        columns: name -> writable array with ``room`` rows: offset, length, line (i64), present (u16), act, frame (u8),
            the integers (u64), and for the texts ``status.offset``, ``status.length``, ``tag.offset``, ``tag.length``
            (i64, spans in ``data`` inside the quotes). Columns that are not there are not written.
        rejects: offset, length, line, fault (i64) and reason (u8) with ``reject_room`` rows.
        base: offset of ``data[0]`` in the input; line: line of ``data[start]``, from 1.

    Returns (rows, reject rows, position, line): where to go on, and the line there. A position below ``size`` means
    that rows or rejects are full, or that more input is needed.
    """
    cdef tw_scan k
    cdef Py_buffer view
    cdef int place
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if not 0 <= start <= size <= view.len:
            raise ValueError("start and size must lie in the data")
        k.s = <const uint8_t *>view.buf
        k.size, k.position = size, start
        k.final, k.flags, k.limit = final, TW_KEEP if keep else 0, limit
        k.base, k.line, k.line_end_known = base, line, 0
        k.columns.count, k.columns.room = rows, room
        k.columns.offset = <int64_t *>column(columns, "offset", room, 8)
        k.columns.length = <int64_t *>column(columns, "length", room, 8)
        k.columns.line = <int64_t *>column(columns, "line", room, 8)
        k.columns.present = <uint16_t *>column(columns, "present", room, 2)
        k.columns.act = <uint8_t *>column(columns, "act", room, 1)
        k.columns.frame = <uint8_t *>column(columns, "frame", room, 1)
        for place in range(6):
            k.columns.head[place] = <uint64_t *>column(columns, HEAD[place], room, 8)
        for place in range(9):
            k.columns.ints[place] = <uint64_t *>column(columns, INTS[place], room, 8)
        for place in range(2):
            k.columns.text_offset[place] = <int64_t *>column(columns, f"{TEXTS[place]}.offset", room, 8)
            k.columns.text_length[place] = <int64_t *>column(columns, f"{TEXTS[place]}.length", room, 8)
            if k.columns.text_length[place] == NULL:
                k.columns.text_offset[place] = NULL
        k.rejects.count, k.rejects.room = reject_rows, reject_room
        k.rejects.offset = <int64_t *>column(rejects, "offset", reject_room, 8)
        k.rejects.length = <int64_t *>column(rejects, "length", reject_room, 8)
        k.rejects.line = <int64_t *>column(rejects, "line", reject_room, 8)
        k.rejects.fault = <int64_t *>column(rejects, "fault", reject_room, 8)
        k.rejects.reason = <uint8_t *>column(rejects, "reason", reject_room, 1)
        with nogil:
            tw_nslip_scan(&k)
        return k.columns.count, k.rejects.count, k.position, k.line
    finally:
        PyBuffer_Release(&view)
