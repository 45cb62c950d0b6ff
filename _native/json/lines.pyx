"""The bulk scan of JSON wires in C: the twin of ``json/_lines_py.py``. The top of json/scan.h explains it."""

import os
import sys

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from turnwire.contract import LIMITS
from turnwire.json.plan import TIME_COLUMN, Judgement, flat
from turnwire.json.text import reader

include "_native/json/plan.pxi"

cdef extern from "_native/json/parts.h" nogil:
    ctypedef struct tw_parts:
        int64_t *start
        int64_t *stop
        int64_t *line
        int64_t *fault
        int64_t *row
        uint8_t *what
        uint8_t *reason
        size_t count
        uint8_t wire
    int tw_json_parts(tw_lines *k, const tw_parts *parts, size_t *part)


cdef tw_short_texts *short_texts(object claims) except? NULL:
    """What a wire offers for short texts, or NULL. The caller's object keeps it alive."""
    cdef object found = getattr(claims, "short_texts", None)
    if found is None:
        return NULL
    return <tw_short_texts *>PyCapsule_GetPointer(found.pointer, TW_SHORT_TEXTS)


cdef int claims_of(void *context, const uint8_t *p, size_t size, tw_claim **claims, size_t *count) except 0 with gil:
    cdef Call call = <Call>context
    cdef size_t place
    found = call.claimed(PyBytes_FromStringAndSize(<const char *>p, size)) or ()
    claims[0] = <tw_claim *>calloc(len(found) + 1, sizeof(tw_claim))
    if claims[0] is NULL:
        raise MemoryError
    before = 0
    for place, (start, stop, what, wire, reason, fault) in enumerate(found):
        if not before <= start < stop <= size:
            raise ValueError("claims must be in order and lie in the text")
        before = stop
        claims[0][place].start, claims[0][place].stop, claims[0][place].what = start, stop, what
        claims[0][place].wire, claims[0][place].reason = wire, reason
        claims[0][place].fault = min(max(fault, start), stop)
    count[0] = len(found)
    return 1


cdef int attach_parts(tw_parts *parts, dict table, size_t size) except -1:
    parts.count, parts.wire = len(table["what"]), table["wire"]
    parts.start = <int64_t *>always(table, "start", parts.count, 8)
    parts.stop = <int64_t *>always(table, "stop", parts.count, 8)
    parts.line = <int64_t *>always(table, "line", parts.count + 1, 8)
    parts.fault = <int64_t *>always(table, "fault", parts.count, 8)
    parts.row = <int64_t *>always(table, "row", parts.count, 8)
    parts.what = <uint8_t *>always(table, "what", parts.count, 1)
    parts.reason = <uint8_t *>always(table, "reason", parts.count, 1)
    cdef size_t part
    for part in range(parts.count):
        if not 0 <= parts.start[part] <= parts.stop[part] <= <int64_t>size:
            raise ValueError("parts must lie in the data")
    return 0


def scan_block(Plan plan, data, start, size, final, dict columns, rows, room, dict rejects, reject_rows, reject_room, *,
               base=0, line=1, keep=False, limit=16 << 20, state=None, parts=None, claims=None, signs=None):
    """Reads JSON messages from ``data[start:size]`` into columns, from row ``rows`` on, as ``nslip_scan.scan_block`` does.

    Args:
        plan: the wires.
        columns: offset, length, place, size (i64) and present (u64) are needed; the others are those of the plan: a text
            is ``name.offset`` and ``name.length`` (i64), an enum u8, f64 a double, the rest i64. ``line``, ``wire`` and
            ``depth`` (u8: strings around the record) are filled where they are there. A place or an offset from ``size`` on lies in ``columns["arena"]`` (bytes), what
            strings said, which is set here, and continued by the next call for the same block.
        rejects: as there, and where they are there ``wire`` (u8, the code of its plan), ``inner`` (i64: as of a row; -1
            outside of strings) and ``row`` (i64: how many rows stand before the reject).
        state: an object with at, known, time, values and held (see ``json.scanner.LineState``), which goes from block to block of
            one input.
        keep: for nSLIP, as there.
        parts: which parts of the block are read, where another wire has claimed ranges of it. ``start`` is then the
            number of a part, and so is the position that is returned. Arrays start, stop, line, fault, row (i64), what,
            reason (u8), and ``wire``, the claims' number. What: 0, between claims (``line`` is that of its stop); 1, a
            claim, for which a row is left open, its number in ``row``; 2, a damaged claim, rejected with ``reason``
            and ``fault`` but for the lines in it that are a record. ``line`` has an entry for the end, too. ``start``
            and ``line`` move as parts are read.
        claims: of the wires of ``lines``: what a string says -> None, or (start, stop, what, wire, reason, fault) of each
            range of it that one claims, in order. What: 1, a record, of which a row says where it stands; 2, damaged, a
            reject. What lies between is searched. Where it has an attribute ``short_texts`` that is not None (one of
            ``csp.codec``), that is asked about short strings in its place.
        signs: None, or from where on reading stops where a line shows a sign of ``log.line_heads.signs``, with ``parts``
            one of ``signs_between`` outside of good claims. The position is then -1, and nothing else that was found
            counts.

    Returns (rows, reject rows, position, line).
    """
    cdef tw_lines *k
    cdef tw_among others
    cdef tw_parts table
    cdef size_t part = 0
    cdef bint among = parts is not None
    cdef Py_buffer view
    cdef Call call = Call.__new__(Call)
    cdef bytes before = columns.get("arena", b"")
    cdef int result
    most = sys.get_int_max_str_digits() or LIMITS.integer_digits
    cdef size_t digits = min(LIMITS.integer_digits, most)
    plan.c.shape.digits = digits
    call.judgement = Judgement(plan.plans, plan.reasons, reader("json"), limit)
    call.claimed = claims
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    k = <tw_lines *>calloc(1, sizeof(tw_lines))
    try:
        if k is NULL:
            raise MemoryError
        memset(&table, 0, sizeof(table))
        if among:
            attach_parts(&table, parts, size)
            part = start
            start = table.start[part] if part < table.count else size
        if not 0 <= start <= size <= view.len:
            raise ValueError("start and size must lie in the data")
        k.s, k.size, k.position, k.limit = <const uint8_t *>view.buf, size, start, limit
        k.stop = size
        plan.lend(k, digits)
        k.final, k.base, k.line = final, base, line
        if signs is not None:
            k.signs = TW_SIGNS_BETWEEN if among else TW_SIGNS_ALL
            k.signs_from = signs
        k.plan = &plan.c
        k.json.shape = &plan.c.shape
        k.context, k.whole, k.torn, k.number, k.go_on = <void *>call, whole, torn, number, go_on
        if claims is not None and plan.c.mark_count:
            k.claims = claims_of
            k.short_texts = short_texts(claims)
        k.apart = True
        attach(k, plan, columns, rejects, rows, room, reject_rows, reject_room)
        if plan.nslip is not None:
            memset(&others, 0, sizeof(others))
            attach_nslip(k, &others, plan, keep)
        k.head = start
        if state is not None and state.at == base + start:
            k.carried, k.head_known, k.head_time = 1, state.known, state.time
            k.values = state.values
        k.grows = state is not None and state.grows
        if before:
            k.arena = <uint8_t *>malloc(len(before))
            if k.arena is NULL:
                raise MemoryError
            memcpy(k.arena, <const char *>before, len(before))
            k.arena_size = k.arena_room = len(before)
        with nogil:
            result = TW_STOPPED
            if tw_choose_fills(&k.rows, &plan.c, &k.json):
                result = tw_json_parts(k, &table, &part) if among else tw_json_lines(k)
        if result == TW_STOPPED:
            raised()
        if k.arena_size > <size_t>len(before):
            columns["arena"] = PyBytes_FromStringAndSize(<const char *>k.arena, k.arena_size)
        if state is not None:
            state.at = base + k.position if k.carried else -1
            state.known, state.time, state.values = k.head_known, k.head_time, bool(k.values)
            state.held = -1 if k.open_at == <size_t>-1 else base + <int64_t>k.open_at
        position = part if among else k.position
        return k.rows.count, k.rejects.count, -1 if k.signed_line else position, k.line
    finally:
        PyBuffer_Release(&view)
        if k is not NULL:
            tw_json_free(&k.json)
            free(k.rows.chosen)
            plan.give_back(k, digits)
            free(k.arena)
            free(k)


def plain(bytes span):
    """The inside of a JSON string without its escapes."""
    cdef Py_ssize_t size = len(span)
    result = PyBytes_FromStringAndSize(NULL, size)
    return result[:tw_unescape(<const uint8_t *><char *>span, <const uint8_t *><char *>span + size,
                               <uint8_t *><char *>result)]
