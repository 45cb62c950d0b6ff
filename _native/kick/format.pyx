"""Space Format, compiled: finds the sections of a document and judges their headers (see ``kick/_format_py.py``).

Of a section the document and three offsets are kept, and its parts are cut out on access.
"""

import os

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t

from _native.common.slots cimport fill_slot, new_object, slot_offset

from turnwire.errors import Reason
from turnwire.kick.faults import space_fault, utf8_fault
from turnwire.kick.sections import Section, unstuffed

cdef extern from "_native/kick/format.h" nogil:
    enum:
        TW_PARTS
    ctypedef struct tw_header:
        Py_ssize_t start[6]
        Py_ssize_t end[6]
        int issues
    ctypedef struct tw_fence:
        size_t run
    int tw_level()
    size_t tw_mark(const uint8_t *d, size_t n)
    bint tw_utf8_valid(const uint8_t *d, size_t n, int level)
    size_t tw_next(const uint8_t *d, size_t first, size_t n)
    size_t tw_next_outside(const uint8_t *d, size_t first, size_t n, tw_fence *fence)
    size_t tw_line_end(const uint8_t *d, size_t first, size_t n)
    Py_ssize_t tw_judge(const uint8_t *d, size_t a, size_t b, bint *empty)
    int tw_split(const uint8_t *d, size_t a, size_t b, tw_header *header)
    size_t tw_content_end(const uint8_t *d, size_t a, size_t b)
    bint tw_sigil_at(const uint8_t *d, size_t i, size_t n)

cdef int LEVEL


def choose_simd(str most="avx2"):
    """Chooses the fastest code for this processor, "avx2" or "scalar", but none beyond ``most``, and says which; for
    tests."""
    global LEVEL
    LEVEL = min(LEVELS.index(most), tw_level())
    return LEVELS[LEVEL]


LEVELS = ("scalar", "avx2")
# TURNWIRE_SIMD=0 keeps to the scalar code, which runs everywhere and is what the others are tested against.
SIMD = choose_simd("avx2" if os.environ.get("TURNWIRE_SIMD", "1") != "0" else "scalar")


cdef enum:
    PATIENCE = 1 << 10  # sections between two looks for Ctrl-C
    SIGIL = 3  # its bytes


cdef inline str cut(const uint8_t *text, Py_ssize_t a, Py_ssize_t b):
    return PyUnicode_DecodeUTF8(<const char *>text + a, b - a, NULL)


cdef inline int split(const uint8_t *text, size_t start, size_t body, tw_header *header) noexcept:
    """Splits the header whose sigil is at ``start`` and whose line ending (if any) ends at ``body``; its issues."""
    return tw_split(text, start + SIGIL, header_end(text, start, body), header)


cdef inline size_t header_end(const uint8_t *text, size_t start, size_t body) noexcept:
    cdef size_t end = tw_line_end(text, start, body)
    return end - 1 if end < body and text[end - 1] == c"\r" else end


@cython.final
@cython.no_gc  # it refers to nothing but text
@cython.freelist(256)
cdef class Parts:
    """The parts of a section that was read, by their places in ``spec.PARTS``; it keeps the whole document alive."""

    cdef bytes source
    cdef Py_ssize_t start, body, end
    cdef bint stuffing
    cdef bint is_split
    cdef tw_header split  # of the header, once a part of it was asked for

    def __getitem__(self, int which):
        if self.source is None or not 0 <= which <= TW_PARTS + 1:
            raise IndexError
        cdef const uint8_t *text = <const uint8_t *>PyBytes_AS_STRING(self.source)
        if which < TW_PARTS:
            if not self.is_split:
                split(text, self.start, self.body, &self.split)
                self.is_split = True
            return None if self.split.start[which] < 0 else cut(text, self.split.start[which], self.split.end[which])
        if which == TW_PARTS:
            content = cut(text, self.body, tw_content_end(text, self.body, self.end))
            return unstuffed(content) if self.stuffing else content
        return cut(text, self.start, self.end)


cdef Py_ssize_t PARTS_AT = slot_offset(Section._parts)


cdef object found(bytes source, size_t start, size_t body, size_t end, bint stuffing):
    cdef Parts parts = Parts.__new__(Parts)  # not split
    parts.source, parts.stuffing = source, stuffing
    parts.start, parts.body, parts.end = start, body, end
    section = new_object(Section, 0)
    fill_slot(section, PARTS_AT, parts)
    return section


def parse(bytes source not None, bint lenient=False, bint fences=False, bint stuffing=False):
    """Finds the sections of a document.

    Returns (length of the byte order mark, end of the preamble, sections, marks), all in bytes; marks are
    (place of the sigil, bits) of the headers with issues, bits as in ``spec.HEADER_ISSUES``. Raises
    DecodeError(bad_utf8), and in strict mode bom, empty_header and bad_header, at the first fault; bad_utf8 is judged
    before everything else.
    """
    cdef const uint8_t *text = <const uint8_t *>PyBytes_AS_STRING(source)
    cdef size_t size = PyBytes_GET_SIZE(source), start, following, body
    cdef size_t first = tw_mark(text, size), preamble_end
    cdef list sections = [], marks = []
    cdef tw_fence fence
    cdef tw_header header
    cdef Py_ssize_t fault
    cdef bint empty
    if not tw_utf8_valid(text, size, LEVEL):
        raise utf8_fault(source)
    if first and not lenient:
        raise space_fault(source, Reason.BOM, 0)
    fence.run = 0
    preamble_end = start = begin(text, first, size, &fence if fences else NULL)
    while start < size:
        body = min(tw_line_end(text, start, size) + 1, size)
        following = begin(text, body, size, &fence if fences else NULL)
        if lenient:
            if split(text, start, body, &header):
                marks.append((start, header.issues))
        else:
            fault = tw_judge(text, start + SIGIL, header_end(text, start, body), &empty)
            if fault >= 0:
                raise space_fault(source, Reason.EMPTY_HEADER if empty else Reason.BAD_HEADER, start if empty else fault)
        sections.append(found(source, start, body, following, stuffing))
        if len(sections) % PATIENCE == 0:
            PyErr_CheckSignals()
        start = following
    return first, preamble_end, sections, marks


cdef size_t begin(const uint8_t *text, size_t line, size_t size, tw_fence *fence) noexcept:
    """The first header in the lines from ``line`` (the start of one) on, or the size of the text."""
    if fence != NULL:
        return tw_next_outside(text, line, size, fence)
    return line if tw_sigil_at(text, line, size) else tw_next(text, line + 1, size)
