"""nSLIP in C: the twin of ``nslip/_codec_py.py``. The grammar is in nslip/parse.h; rare things are shared Python code."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport Py_DECREF, PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport UINT64_MAX, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy

from _native.nslip.parse cimport *
from _native.common.text cimport Text, open_text, close_text

from turnwire.errors import DecodeError, EncodeError, Reason, UnknownName
from turnwire.nslip import message_methods as methods
from turnwire.nslip.faults import decode_fault, encode_fault, input_bytes, strip_span
from turnwire.nslip.spec import REASONS, SHORT_STRING, WIRE, Act, Extra, FrameType, Slot

cdef extern from "Python.h":
    void PyObject_GC_Track(void *)
    void PyObject_GC_UnTrack(void *)
    bint PyObject_GC_IsTracked(PyObject *)
    bint PyUnicode_IS_ASCII(object)
    void *PyUnicode_DATA(object)
    str PyUnicode_New(Py_ssize_t, Py_UCS4)
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    unsigned long long PyLong_AsUnsignedLongLong(object) except? 0xFFFFFFFFFFFFFFFF
    long PyLong_AsLongAndOverflow(object, int *) except? -1
    bint PyLong_CheckExact(object)
    bint PyLong_Check(object)
    bint PyUnicode_Check(object)
    bint PyUnicode_CheckExact(object)
    bint PyBool_Check(object)
    bint PyDict_CheckExact(object)

cdef extern from "_native/nslip/object.h":
    bint tw_object_setup(object sample, object status, object tag, object touched)
    PyObject *tw_object_take()
    int tw_delete_attribute(object o, object name) except -1
    object tw_ascii(const uint8_t *s, size_t n)
    object tw_good_text(const uint8_t *s, size_t n)
    uint64_t tw_unsigned(PyObject *number, int *fits)

cdef enum:
    PATIENCE = 1 << 12  # messages between two looks for Ctrl-C

tw_nslip_tables()
base62_prepare()

cdef tuple ACTS = tuple(Act)
cdef tuple FRAMES = tuple(FrameType)
cdef tuple SLOTS = tuple(Slot)
cdef tuple FIELD_NAMES = ("act", "frame", "conv_id", "src", "dst", "turn")
cdef object KEEP_UNKNOWN = "keep"
cdef object REFUSE_UNKNOWN = "error"
cdef object REQUIRED = object()
cdef object NO_SLOTS = object()
cdef Py_ssize_t SHORTEST_LONG = SHORT_STRING
cdef const char *SLOT_PREFIXES = b"gkprqsuet"


include "_native/nslip/message.pxi"
include "_native/nslip/encode.pxi"

# --- decode ----------------------------------------------------------------------------------------------------------

cdef object text_value(const uint8_t *s, tw_fields *f, int which):
    """STATUS or TAG as a str; the parser has judged its bytes."""
    cdef const char *first = <const char *>s + f.text_first[which]
    cdef Py_ssize_t length = <Py_ssize_t>f.text_length[which]
    cdef Py_ssize_t done = 0, place = 0
    cdef char *plain
    if (f.escaped >> which) & 1:
        plain = <char *>PyMem_Malloc(length)
        if plain == NULL:
            raise MemoryError
        while place < length:
            if first[place] == c'\\':
                place += 1
            plain[done] = first[place]
            done += 1
            place += 1
        try:
            return PyUnicode_DecodeUTF8(plain, done, NULL)
        finally:
            PyMem_Free(plain)
    if (f.non_ascii >> which) & 1:
        return tw_good_text(<const uint8_t *>first, length)
    if length == 0:
        return ""
    return tw_ascii(<const uint8_t *>first, length)


cdef object kept_fields(const uint8_t *s, tw_fields *f):
    """The fields that unknown="keep" kept, as an Extra."""
    extra = Extra()
    cdef int place
    cdef tw_unknown *u
    for place in range(f.unknown_count):
        u = &f.unknown[place]
        prefix = chr(u.prefix)
        extra[prefix] = PyUnicode_DecodeUTF8(<const char *>s + u.first, u.length, NULL)
        if u.prefix != c'f':
            extra.before[prefix] = u.before
    return extra


cdef inline SlipMessage new_message():
    """An empty message that the collector does not look at: it holds nothing that could point back (see touch)."""
    cdef PyObject *kept = tw_object_take()
    cdef SlipMessage message
    if kept != NULL:
        message = <SlipMessage>kept
        Py_DECREF(message)  # the reference that the list held
        return message
    message = SlipMessage.__new__(SlipMessage)
    PyObject_GC_UnTrack(<void *>message)
    return message


cdef inline int add_objects(SlipMessage message, const uint8_t *s, tw_fields *f) except -1:
    """Gives a message whose numbers are parsed its strings and kept fields."""
    if message.v.present & ((1 << TW_STATUS) | (1 << TW_TAG)):
        if (message.v.present >> TW_STATUS) & 1:
            message.status = text_value(s, f, 0)
        if (message.v.present >> TW_TAG) & 1:
            message.tag = text_value(s, f, 1)
    if f.unknown_count:
        message.touch().extra = kept_fields(s, f)
    return 0


cdef str missing_names(tw_fields *f):
    cdef int place
    return ", ".join([FIELD_NAMES[place] for place in range(6) if not (f.headers >> place) & 1])


cdef object fault(bytes raw, int code, tw_fields *f):
    return decode_fault(raw, REASONS[code], f.end, missing=missing_names(f) if code == TW_MISSING_FIELD else "")


cdef SlipMessage decode_slow(object data, int flags):
    """The same with white space removed first, and the errors."""
    cdef tw_fields f
    cdef tw_unknown unknown[48]
    cdef SlipMessage message = new_message()
    cdef bytes raw = input_bytes(data)
    cdef const uint8_t *s = <const uint8_t *>PyBytes_AS_STRING(raw)
    start, end = strip_span(raw)
    f.unknown = unknown
    f.v = &message.v
    cdef int code = tw_nslip_parse(s, start, end, PyBytes_GET_SIZE(raw), flags, &f)
    if code != TW_OK:
        raise fault(raw, code, &f)
    add_objects(message, s, &f)
    return message


cdef inline SlipMessage decode_text(object data, int flags):
    cdef tw_fields f
    cdef tw_unknown unknown[48]
    cdef Text text
    cdef SlipMessage message
    cdef const uint8_t *s
    if not open_text(data, &text):
        return decode_slow(data, flags)
    s = text.data
    message = new_message()
    f.unknown = unknown
    f.v = &message.v
    if (
        text.size > 1
        and s[0] == c'@'
        and s[text.size - 1] == c'#'
        and (
            tw_nslip_fast(s, text.size, 0, &f)
            or tw_nslip_parse(s, 0, text.size, text.size, flags, &f) == TW_OK
        )
    ):
        if not text.held:
            add_objects(message, s, &f)
            return message
        try:
            add_objects(message, s, &f)
        finally:
            close_text(&text)
        return message
    close_text(&text)
    return decode_slow(data, flags)


cdef int flags_of(object unknown) except -1:
    if unknown is REFUSE_UNKNOWN or unknown == REFUSE_UNKNOWN:
        return 0
    if unknown == KEEP_UNKNOWN:
        return TW_KEEP
    raise UnknownName("unknown", unknown, (REFUSE_UNKNOWN, KEEP_UNKNOWN))


def decode(data, *, unknown=REFUSE_UNKNOWN):
    """One message from text or contiguous bytes; white space around it is dropped (section 3).

    ``unknown="keep"`` keeps unknown slots and frames in ``message.extra``. Raises DecodeError with reason, offset
    (bytes of the UTF-8 form, also for str) and line.
    """
    return decode_text(data, 0 if unknown is REFUSE_UNKNOWN else flags_of(unknown))


def decode_many(data, *, unknown=REFUSE_UNKNOWN):
    """The messages of a list (one item each) or of bytes or text (one line each; blank lines are skipped).

    Raises DecodeError at the first fault; for lines, offset and line count in the whole input; for a list, ``path``
    is ``/index`` and the offset counts in that item.
    """
    cdef int flags = flags_of(unknown)
    cdef Py_ssize_t index = 0
    cdef list messages = []
    if isinstance(data, (list, tuple)):
        try:
            for item in data:
                messages.append(decode_text(item, flags))
                index += 1
                if index % PATIENCE == 0:
                    PyErr_CheckSignals()
        except DecodeError as error:
            error.path = f"/{index}"
            raise error.relocated() from None
        return messages
    return decode_lines(data if type(data) is bytes else input_bytes(data), flags | TW_LOG)


cdef list decode_lines(bytes raw, int flags):
    cdef const uint8_t *s = <const uint8_t *>PyBytes_AS_STRING(raw)
    cdef size_t size = PyBytes_GET_SIZE(raw), start = 0, stop, first, last
    cdef const uint8_t *newline
    cdef tw_fields f
    cdef tw_unknown unknown[48]
    cdef int code
    cdef SlipMessage message
    cdef list messages = []
    cdef size_t lines = 0
    f.unknown = unknown
    f.text_first[0] = f.text_first[1] = 0
    while start < size:
        lines += 1
        if lines % PATIENCE == 0:
            PyErr_CheckSignals()
        newline = <const uint8_t *>memchr(s + start, c'\n', size - start)
        stop = size if newline == NULL else <size_t>(newline - s)
        first, last = start, stop
        if stop > start and not (s[start] == c'@' and s[stop - 1] == c'#'):
            left, right = strip_span(raw[start:stop])
            first, last = start + <size_t>left, start + <size_t>right
        if last > first:
            message = new_message()
            f.v = &message.v
            if s[first] == c'@' and s[last - 1] == c'#' and tw_nslip_fast(s + first, last - first, 0, &f):
                code = TW_OK
                f.end += first
                f.text_first[0] += first
                f.text_first[1] += first
            else:
                code = tw_nslip_parse(s, first, last, size, flags, &f)
            if code == TW_OK and f.end < last:
                code = TW_TRAILING_JUNK
            if code != TW_OK:
                raise fault(raw, code, &f)
            add_objects(message, s, &f)
            messages.append(message)
        start = stop + 1
    return messages


def decode_record(bytes data, size_t start, final, *, unknown=REFUSE_UNKNOWN, size_t limit=16 << 20):
    """The record of a stream that starts at ``data[start]`` (an ``@``): (message, offset behind it), or None when more
    data is needed to tell. Raises DecodeError, whose offset and line count from ``start``."""
    cdef tw_fields f
    cdef tw_unknown unknown_fields[48]
    cdef SlipMessage message = new_message()
    cdef const uint8_t *s = <const uint8_t *>PyBytes_AS_STRING(data)
    cdef size_t size = PyBytes_GET_SIZE(data)
    f.unknown = unknown_fields
    f.v = &message.v
    f.text_first[0] = f.text_first[1] = 0
    if start >= size:
        raise ValueError("start is past the end of the data")
    if not limit:
        raise ValueError("limit is at least one byte")
    cdef int code = tw_nslip_record(s, start, size, final, flags_of(unknown), limit, &f)
    if code == TW_MORE:
        return None
    if code != TW_OK:
        record = data[start:f.end + 1]  # no more: the rest may be long, and hold many faults
        f.end -= start
        raise fault(record, code, &f)
    add_objects(message, s, &f)
    return message, f.end


cdef SlipMessage sample = SlipMessage.__new__(SlipMessage)
sample.status, sample.tag, sample.touched = "status", "tag", Touched.__new__(Touched)
if not tw_object_setup(sample, sample.status, sample.tag, sample.touched):
    raise ImportError("the members of SlipMessage do not stand where nslip/object.h looks for them")
sample = None
