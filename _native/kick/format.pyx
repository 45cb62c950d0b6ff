"""Space Format, compiled: finds the sections of a document and judges their headers (see ``kick/_format_py.py``).

A section keeps the document and three offsets, and cuts out its parts on access. Sections found in bytes
keep the bytes, sections found in a string keep the string: nothing is converted or copied.
"""

import os

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_DecodeUTF8, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_Substring
from libc.stdint cimport uint32_t

from _native.common.adopt cimport adopt, called

from turnwire.errors import Reason
from turnwire.kick import section_methods as methods
from turnwire.kick.faults import space_fault, utf8_fault

cdef extern from "_native/kick/format.h" nogil:
    ctypedef struct tw_header:
        Py_ssize_t name, name_end, type, type_end, qualifier, qualifier_end, place_end, index, text, text_end
        int issues
    ctypedef struct tw_fence:
        size_t count
        uint32_t mark
    int tw_level()
    size_t tw_mark(int kind, const void *d, size_t n)
    int tw_damaged(int kind, const void *d, size_t a, size_t b, int level)
    size_t tw_boundary(int kind, const void *d, size_t b, size_t n)
    size_t tw_next(int kind, const void *d, size_t first, size_t n, int level)
    size_t tw_next_outside(int kind, const void *d, size_t first, size_t n, tw_fence *fence)
    size_t tw_line_end(int kind, const void *d, size_t first, size_t n)
    Py_ssize_t tw_judge(int kind, const void *d, size_t a, size_t b, int *empty)
    int tw_split(int kind, const void *d, size_t a, size_t b, tw_header *header)
    size_t tw_content_end(int kind, const void *d, size_t a, size_t b)
    int tw_is_return(int kind, const void *d, size_t i)
    int tw_sigil_at(int kind, const void *d, size_t i, size_t n)

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

cdef size_t WINDOW = 1 << 14  # units that are validated, then searched, while the cache holds them


cdef struct Text:
    int kind
    const void *data
    size_t size
    size_t checked  # everything before is known to have a UTF-8 form


cdef inline Text view(object source) noexcept:
    """The units of a str or bytes; they live as long as the object does."""
    cdef Text text
    text.checked = 0
    if type(source) is bytes:
        text.kind = 1
        text.data = <const void *>PyBytes_AS_STRING(source)
        text.size = <size_t>PyBytes_GET_SIZE(source)
    else:
        text.kind = PyUnicode_KIND(source)
        text.data = <const void *>PyUnicode_DATA(source)
        text.size = <size_t>PyUnicode_GET_LENGTH(source)
    return text


cdef inline str cut(object source, Py_ssize_t a, Py_ssize_t b):
    if type(source) is bytes:
        return PyUnicode_DecodeUTF8(PyBytes_AS_STRING(source) + a, b - a, NULL)
    return PyUnicode_Substring(source, a, b)


cdef inline size_t header_end(Text text, size_t start, size_t body) noexcept:
    """The end of a header line whose line ending (if any) ends at ``body``."""
    cdef size_t end = tw_line_end(text.kind, text.data, start, body)
    if end < body and tw_is_return(text.kind, text.data, end - 1):
        end -= 1
    return end


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

    cdef object source
    cdef tuple parts
    cdef Py_ssize_t start, body, end
    cdef bint stuffing
    cdef bint is_split
    cdef tw_header split  # of the header, once a part of it was asked for

    def __init__(
        self, name, type=None, qualifier=None, place=None, index=None, inline=None, content="", raw=None, *, trim=False
    ):
        self.source = None
        self.parts = methods.built_parts(name, type, qualifier, place, index, inline, content, raw, trim=trim)

    cdef inline tw_header *header(self) except NULL:
        cdef Text text
        cdef size_t end
        if not self.is_split:
            self.expect_source()
            text = view(self.source)
            end = header_end(text, self.start, self.body)
            tw_split(text.kind, text.data, self.start + (3 if text.kind == 1 else 1), end, &self.split)
            self.is_split = True
        return &self.split

    cdef inline int expect_source(self) except -1:
        if self.source is None:
            raise AttributeError("a section that was made without its constructor has no parts")
        return 0

    @property
    def name(self):
        """The part before the first "/"."""
        if self.parts is not None:
            return self.parts[0]
        cdef tw_header *header = self.header()
        return cut(self.source, header.name, header.name_end)

    @property
    def type(self):
        """The part after the first "/" of the head, or None."""
        if self.parts is not None:
            return self.parts[1]
        cdef tw_header *header = self.header()
        return None if header.type < 0 else cut(self.source, header.type, header.type_end)

    @property
    def qualifier(self):
        """The text after the first ":" ("" before inline text), or None without a colon."""
        if self.parts is not None:
            return self.parts[2]
        cdef tw_header *header = self.header()
        return None if header.qualifier < 0 else cut(self.source, header.qualifier, header.qualifier_end)

    @property
    def place(self):
        """The qualifier before its last "/", or None if the qualifier is empty or missing."""
        if self.parts is not None:
            return self.parts[3]
        cdef tw_header *header = self.header()
        if header.qualifier < 0 or header.qualifier == header.qualifier_end:
            return None
        return cut(self.source, header.qualifier, header.place_end)

    @property
    def index(self):
        """The qualifier after its last "/", or None."""
        if self.parts is not None:
            return self.parts[4]
        cdef tw_header *header = self.header()
        return None if header.index < 0 else cut(self.source, header.index, header.qualifier_end)

    @property
    def inline(self):
        """Text that follows ":" and white space in the header, or None."""
        if self.parts is not None:
            return self.parts[5]
        cdef tw_header *header = self.header()
        return None if header.text < 0 else cut(self.source, header.text, header.text_end)

    @property
    def content(self):
        """The body without its trailing blank lines."""
        if self.parts is not None:
            return self.parts[6]
        self.expect_source()
        cdef Text text = view(self.source)
        content = cut(self.source, self.body, tw_content_end(text.kind, text.data, self.body, self.end))
        return methods.unstuffed(content) if self.stuffing else content

    @property
    def raw(self):
        """The section exactly as it was read, including line endings and blank lines; None for a constructed one."""
        if self.parts is not None:
            return self.parts[7]
        self.expect_source()
        return cut(self.source, self.start, self.end)

    def __repr__(self):
        return methods.represent(self)

    def __eq__(self, other):
        return methods.equal(self, other)

    def __hash__(self):
        return hash(methods.parts_of(self))

    def __reduce__(self):
        return type(self), methods.parts_of(self)


adopt(Section, methods.SectionMethods)
called(Section, methods.PARTS, methods.initialiser(Section.__init__))


def parse(source, bint lenient=False, bint fences=False, bint stuffing=False):
    """Finds the sections of a document given as bytes or str.

    Returns (length of the byte order mark, end of the preamble, sections, marks), all in units of the source; marks are
    (place of the sigil, bits) of the headers with issues, bits as in ``spec.HEADER_ISSUES``. Raises
    DecodeError(bad_utf8), and in strict mode bom, empty_header and bad_header, at the first fault; bad_utf8 is judged
    before everything else (for a str it is lone_surrogate).
    """
    cdef Text text = view(source)
    cdef list sections = [], marks = []
    cdef tw_fence fence
    cdef tw_header header
    cdef size_t first, start, following, body, preamble_end
    cdef size_t sigil = 3 if text.kind == 1 else 1
    cdef Py_ssize_t fault
    cdef int empty
    cdef Section section
    if type(source) is str and text.kind == 1:
        return 0, text.size, sections, marks  # Latin-1 text holds no sigil
    first = tw_mark(text.kind, text.data, text.size)
    if first and not lenient:
        raise refusal(source, text, Reason.BOM, 0)
    fence.count = fence.mark = 0
    if fences and not checked_up_to(&text, text.size):
        raise utf8_fault(source)
    preamble_end = start = begin(&text, first, &fence if fences else NULL)
    while start < text.size:
        body = tw_line_end(text.kind, text.data, start, text.size)
        if body < text.size:
            body += 1
        following = begin(&text, body, &fence if fences else NULL)
        if following == DAMAGED:
            break
        if lenient:
            if tw_split(text.kind, text.data, start + sigil, header_end(text, start, body), &header):
                marks.append((start, header.issues))
        else:
            fault = tw_judge(text.kind, text.data, start + sigil, header_end(text, start, body), &empty)
            if fault >= 0:
                raise refusal(source, text, Reason.EMPTY_HEADER if empty else Reason.BAD_HEADER, start if empty else fault)
        section = Section.__new__(Section)  # without parts, and not split
        section.source = source
        section.start = start
        section.body = body
        section.end = following
        section.stuffing = stuffing
        sections.append(section)
        if len(sections) % PATIENCE == 0:
            PyErr_CheckSignals()
        start = following
    if not checked_up_to(&text, text.size):
        raise utf8_fault(source)
    return first, preamble_end, sections, marks


def opening(str source not None):
    """Of the first section, read leniently, its place, and the inline text or else the first line of the content,
    without white space around it; None where there is no section, or the text cannot be read."""
    cdef Text text = view(source)
    cdef Section section
    cdef size_t start, body
    if text.kind == 1:
        return None  # Latin-1 text holds no sigil
    start = begin(&text, tw_mark(text.kind, text.data, text.size), NULL)
    if start >= text.size or not checked_up_to(&text, text.size):
        return None
    body = min(tw_line_end(text.kind, text.data, start, text.size) + 1, text.size)
    section = Section.__new__(Section)
    section.source, section.parts = source, None
    section.start, section.body, section.end = start, body, text.size
    section.stuffing = section.is_split = False
    said = section.inline
    if not said:
        if tw_sigil_at(text.kind, text.data, body, text.size):
            return section.place, ""
        said = cut(source, body, tw_line_end(text.kind, text.data, body, text.size))
    return section.place, said.strip()


cdef size_t DAMAGED = <size_t>-1


cdef object refusal(object source, Text text, object reason, size_t place):
    """The error to raise for a fault, which is another one where the text is not UTF-8."""
    return space_fault(source, reason, place) if checked_up_to(&text, text.size) else utf8_fault(source)


cdef inline bint checked_up_to(Text *text, size_t stop) noexcept:
    """Validates what is not yet validated before ``stop`` (or before the character that goes across it)."""
    if stop <= text.checked:
        return True
    stop = tw_boundary(text.kind, text.data, stop, text.size)
    if tw_damaged(text.kind, text.data, text.checked, stop, LEVEL):
        return False
    text.checked = stop
    return True


cdef size_t begin(Text *text, size_t line, tw_fence *fence) noexcept:
    """The first header in the lines from ``line`` (the start of one) on, the size of the text, or DAMAGED."""
    cdef size_t stop, found
    if fence != NULL:
        return tw_next_outside(text.kind, text.data, line, text.size, fence)
    if tw_sigil_at(text.kind, text.data, line, text.size):
        return line
    while line < text.size:
        stop = min(line + WINDOW, text.size)
        if not checked_up_to(text, stop):
            return DAMAGED
        # Two units more, for a sigil that begins in this window and ends in the next.
        found = tw_next(text.kind, text.data, line + 1, min(stop + 3, text.size), LEVEL)
        if found < min(stop + 3, text.size):
            return found
        line = stop
    return text.size


def has_section(str source not None):
    """True if lenient reading finds a section: the text has a UTF-8 form and a line that starts with the sigil."""
    cdef Text text = view(source)
    if text.kind == 1 or not checked_up_to(&text, text.size):
        return False
    return begin(&text, tw_mark(text.kind, text.data, text.size), NULL) < text.size
