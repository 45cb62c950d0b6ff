"""Space Format, compiled: finds the sections of a document and judges their headers (see ``kick/_format_py.py``).

A section keeps the document and three offsets, and cuts out its parts on access.
"""

import os

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t

from _native.common.adopt cimport adopt, called, put
from _native.common.text cimport exact_text

from turnwire.errors import Reason
from turnwire.kick import section_methods as methods
from turnwire.kick.faults import space_fault, utf8_fault

cdef extern from "_native/kick/format.h" nogil:
    enum:
        TW_PLACE
        TW_INLINE
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


@cython.no_gc  # it refers to nothing but text
@cython.freelist(256)
cdef class Section:
    """One section of a Space document: its header's parts and its content.

    Attributes: name, type, qualifier, place, index, inline (str or None where the header has none), content (str,
    without trailing blank lines), raw (the text as it was read, or None for a section that was built).

    Sections are immutable. A parsed section keeps the whole document alive and extracts its parts on access. The
    constructor rejects content that ends in a line end or blank lines (EncodeError, trailing_blank) unless ``trim`` is
    true.
    """

    cdef public tuple _parts  # of a section that was built
    cdef bytes source
    cdef Py_ssize_t start, body, end
    cdef bint stuffing
    cdef bint is_split
    cdef tw_header split  # of the header, once a part of it was asked for

    def __init__(self, *args, **named):
        methods.SectionMethods.__init__(self, *args, **named)

    cdef inline const uint8_t *text(self) except NULL:
        if self.source is None:
            raise AttributeError("a section that was made without its constructor has no parts")
        return <const uint8_t *>PyBytes_AS_STRING(self.source)

    cdef object part(self, int which):
        """A part of the header, by its number."""
        if self._parts is not None:
            return self._parts[which]
        cdef const uint8_t *text = self.text()
        if not self.is_split:
            split(text, self.start, self.body, &self.split)
            self.is_split = True
        return None if self.split.start[which] < 0 else cut(text, self.split.start[which], self.split.end[which])

    @property
    def content(self):
        """The body without its trailing blank lines."""
        if self._parts is not None:
            return self._parts[TW_PARTS]
        cdef const uint8_t *text = self.text()
        content = cut(text, self.body, tw_content_end(text, self.body, self.end))
        return methods.unstuffed(content) if self.stuffing else content

    @property
    def raw(self):
        """The section exactly as it was read, including line endings and blank lines; None for a constructed one."""
        return self._parts[TW_PARTS + 1] if self._parts is not None else cut(self.text(), self.start, self.end)

    def __repr__(self):
        return methods.represent(self)

    def __eq__(self, other):
        return methods.equal(self, other)

    def __hash__(self):
        return hash(methods.parts_of(self))

    def __reduce__(self):
        return type(self), methods.parts_of(self)


@cython.final
cdef class HeaderPart:
    """A part of the header as an attribute of a section."""
    cdef int which
    cdef readonly str __doc__

    def __cinit__(self, int which, str doc):
        self.which, self.__doc__ = which, doc

    def __get__(self, section, owner):
        return self if section is None else (<Section?>section).part(self.which)

    def __set__(self, section, value):
        raise AttributeError("sections are immutable")


for _which, (_name, _doc) in enumerate(methods.HEADER_PARTS.items()):
    put(Section, _name, HeaderPart(_which, _doc))
adopt(Section, methods.SectionMethods)
called(Section, methods.PARTS, methods.SectionMethods.__init__)


cdef Section found(bytes source, size_t start, size_t body, size_t end, bint stuffing):
    cdef Section section = Section.__new__(Section)  # without parts, and not split
    section.source, section.stuffing = source, stuffing
    section.start, section.body, section.end = start, body, end
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


def opening(str source not None):
    """Of the first section, read leniently, its place, and the inline text or else the first line of the content,
    without white space around it; None where there is no section, or the text cannot be read."""
    cdef Py_ssize_t length
    cdef const uint8_t *text = exact_text(source, &length)
    cdef size_t size = length, start, body
    cdef tw_header header
    if text == NULL:
        return None
    start = begin(text, tw_mark(text, size), size, NULL)
    if start >= size:
        return None
    body = min(tw_line_end(text, start, size) + 1, size)
    split(text, start, body, &header)
    place = None if header.start[TW_PLACE] < 0 else cut(text, header.start[TW_PLACE], header.end[TW_PLACE])
    if header.start[TW_INLINE] >= 0 and header.start[TW_INLINE] < header.end[TW_INLINE]:
        return place, cut(text, header.start[TW_INLINE], header.end[TW_INLINE]).strip()
    if tw_sigil_at(text, body, size):
        return place, ""
    return place, cut(text, body, tw_line_end(text, body, size)).strip()


cdef size_t begin(const uint8_t *text, size_t line, size_t size, tw_fence *fence) noexcept:
    """The first header in the lines from ``line`` (the start of one) on, or the size of the text."""
    if fence != NULL:
        return tw_next_outside(text, line, size, fence)
    return line if tw_sigil_at(text, line, size) else tw_next(text, line + 1, size)
