"""nSLIP in C: the twin of ``nslip/_codec_py.py``. The grammar is in nslip/parse.h; rare cases use shared Python
code."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.bool cimport PyBool_Check
from cpython.dict cimport PyDict_Check, PyDict_CheckExact, PyDict_Next
from cpython.exc cimport PyErr_CheckSignals
from cpython.long cimport PyLong_AsLongAndOverflow, PyLong_AsUnsignedLongLong, PyLong_Check, PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport Py_DECREF, PyObject
from cpython.tuple cimport PyTuple_GET_ITEM
from cpython.unicode cimport (
    PyUnicode_AsUTF8AndSize, PyUnicode_CheckExact, PyUnicode_DATA, PyUnicode_DecodeUTF8, PyUnicode_GET_LENGTH, PyUnicode_New
)
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy

from _native.common.inherit cimport inherit, put
from _native.common.text cimport Text, open_text, close_text

from turnwire.errors import DecodeError, Reason, UnknownName
from turnwire.nslip import message_methods as methods
from turnwire.nslip.faults import decode_fault, encode_fault, input_bytes, strip_span
from turnwire.nslip.spec import REASONS, SHORT_STRING, WIRE, Act, Extra, FrameType, Slot

cdef extern from "Python.h":
    void PyObject_GC_Track(void *)
    void PyObject_GC_UnTrack(void *)
    bint PyObject_GC_IsTracked(PyObject *)
    bint PyUnicode_IS_ASCII(object)
    Py_ssize_t PyDict_GET_SIZE(object)

cdef extern from "_native/common/draft.h" nogil:
    ctypedef struct tw_draft:
        char *at
        char *start
    void tw_draft_begin(tw_draft *draft)
    void tw_draft_free(tw_draft *draft)
    size_t tw_draft_size(const tw_draft *draft)
    bint tw_draft_room(tw_draft *draft, size_t more)

cdef extern from "_native/nslip/parse.h" nogil:
    enum:
        TW_OK, TW_TRAILING_JUNK, TW_MISSING_FIELD
        TW_KEEP, TW_LOG
        TW_ACT, TW_FRAME, TW_CONV, TW_SRC, TW_DST, TW_TURN
        TW_STATUS, TW_TAG
        TW_MAX_FRAME
    ctypedef struct tw_unknown:
        size_t first
        uint32_t length
        uint8_t prefix, before
    ctypedef struct tw_values:
        uint64_t head[6]
        uint64_t ints[9]
        uint16_t present
        uint8_t count
        uint8_t order[9]
    ctypedef struct tw_fields:
        tw_values *v
        size_t text_first[2]
        size_t text_length[2]
        size_t end
        uint8_t headers, escaped, non_ascii, unknown_count
        tw_unknown *unknown
    void tw_nslip_tables()
    bint tw_nslip_fast(const uint8_t *s, size_t size, int log, tw_fields *f)
    int tw_nslip_parse(const uint8_t *s, size_t start, size_t end, size_t size, int flags, tw_fields *f)

cdef extern from "_native/nslip/message.h" nogil:
    enum: TW_INTEGER_ROOM
    const char TW_SLOT_PREFIXES[10]
    void base62_prepare()
    uint8_t *tw_put_integer(uint8_t *p, uint64_t n)
    uint8_t *tw_put_text(uint8_t *p, const uint8_t *s, size_t n)
    uint8_t *tw_put_header(uint8_t *p, const uint64_t *head)
    uint8_t *tw_put_values(uint8_t *p, const tw_values *v, const uint8_t **text, const size_t *length)

cdef extern from "_native/nslip/message.h":
    bint tw_object_setup(object sample, object status, object tag, object touched)
    PyObject *tw_object_take()
    bint tw_object_begin(object o)
    int tw_delete_attribute(object o, object name) except -1
    object tw_ascii(const uint8_t *s, size_t n)
    object tw_good_text(const uint8_t *s, size_t n)

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
cdef object NO_SLOTS = object()
cdef object UNSET = object()
cdef Py_ssize_t SHORTEST_LONG = SHORT_STRING


# --- the message type -----------------------------------------------------------------------------------------------

@cython.final
@cython.freelist(64)
cdef class ChangedParts:
    """The state of a message once more than its numbers has been read or changed."""
    cdef object slots      # the truth about the slots from then on, or None; NO_SLOTS where somebody set it to None
    cdef object extra      # or None: empty
    cdef list fields       # six entries, None where the number in the message holds


cdef inline int slot_index(object slot) except -2:
    """0..8 for a Slot or an int equal to one, -1 for anything else."""
    cdef long code
    cdef int overflow
    if not PyLong_Check(slot) or PyBool_Check(slot):
        return -1
    code = PyLong_AsLongAndOverflow(slot, &overflow)
    if overflow:
        return -1
    if 0 <= code <= 3:
        return <int>code
    if 10 <= code <= 13:
        return <int>code - 6
    return 8 if code == 20 else -1


cdef class SlipMessage:
    """One nSLIP message (section 2). Mutable; ``slots`` is a dict that keeps its order.

    Args:
        conv_id, turn, src, dst: integers 0 .. 2**64-1.
        act, frame: an :class:`Act` and a :class:`FrameType`.
        slots: Slot -> int (or str for STATUS and TAG).
        extra: unknown fields kept by ``unknown="keep"``: prefix -> value as written.

    Values are validated when the message is encoded, not when they are set.
    """

    cdef tw_values v
    cdef object status     # nslip/message.h knows the order of the next four
    cdef object tag
    cdef ChangedParts touched
    cdef object __weakref__

    __wire__ = WIRE
    __annotations__ = methods.ANNOTATIONS
    __match_args__ = methods.FIELDS
    __hash__ = None

    @cython.embedsignature(False)
    def __init__(self, conv_id=UNSET, turn=UNSET, src=UNSET, dst=UNSET, act=UNSET, frame=UNSET,
                 slots=None, *, extra=None):
        # Cython's own refusal would not say what is missing.
        if frame is UNSET or act is UNSET or dst is UNSET or src is UNSET or turn is UNSET or conv_id is UNSET:
            given = zip(methods.FIELDS, (conv_id, turn, src, dst, act, frame))
            methods.SlipMethods.__init__(self, **{name: value for name, value in given if value is not UNSET})
        self.touched = None
        self.set_field(TW_CONV, conv_id)
        self.set_field(TW_TURN, turn)
        self.set_field(TW_SRC, src)
        self.set_field(TW_DST, dst)
        self.set_field(TW_ACT, act)
        self.set_field(TW_FRAME, frame)
        self.slots = {} if slots is None else slots
        if extra is not None:
            self.touch().extra = extra

    def __delattr__(self, str name):
        if name in methods.FIELDS or name == "extra":
            raise methods.undeletable(name)
        tw_delete_attribute(self, name)

    @cython.final
    cdef inline void begin(self):
        """An object made without its constructor has no field before it is set."""
        if tw_object_begin(self):
            self.touched = ChangedParts.__new__(ChangedParts)
            self.touched.fields = [UNSET] * 6
            self.touched.slots = UNSET

    @cython.final
    cdef ChangedParts touch(self):
        self.begin()
        if self.touched is None:
            self.touched = ChangedParts.__new__(ChangedParts)
            # Decoding leaves a message out of the collector's lists; from here on it may be part of a cycle.
            if not PyObject_GC_IsTracked(<PyObject *>self):
                PyObject_GC_Track(<void *>self)
        return self.touched

    @cython.final
    cdef object get_field(self, int which):
        cdef object value
        if self.touched is not None:
            self.begin()
            value = None if self.touched.fields is None else self.touched.fields[which]
            if value is UNSET:
                raise AttributeError("a field that was not set")
            if value is not None:
                return value[0]
        if which == TW_ACT:
            return ACTS[self.v.head[TW_ACT]]
        if which == TW_FRAME:
            return FRAMES[self.v.head[TW_FRAME]] if self.v.head[TW_FRAME] <= TW_MAX_FRAME else self.v.head[TW_FRAME]
        return self.v.head[which]

    @cython.final
    cdef int set_field(self, int which, object value) except -1:
        cdef ChangedParts touched
        self.begin()
        touched = self.touched
        cdef bint plain = which <= TW_FRAME and type(value) is (Act if which == TW_ACT else FrameType)
        if plain:
            self.v.head[which] = value
        elif which > TW_FRAME and PyLong_CheckExact(value):
            try:
                self.v.head[which] = PyLong_AsUnsignedLongLong(value)
                plain = True
            except OverflowError:
                pass
        if not plain:
            touched = self.touch()
            if touched.fields is None:
                touched.fields = [None] * 6
        if touched is not None and touched.fields is not None:
            touched.fields[which] = None if plain else (value,)
        return 0

    @cython.final
    cdef object slot_value(self, int index):
        if index == TW_STATUS:
            return self.status
        if index == TW_TAG:
            return self.tag
        return self.v.ints[index]

    @property
    def slots(self):
        """Slot -> value, in message order: a dict, created on first access and authoritative from then on."""
        cdef ChangedParts touched = self.touch()
        cdef dict slots
        cdef int place
        if touched.slots is NO_SLOTS:
            return None
        if touched.slots is UNSET:
            raise AttributeError("slots were not set")
        if touched.slots is None:
            slots = {}
            for place in range(self.v.count):
                slots[SLOTS[self.v.order[place]]] = self.slot_value(self.v.order[place])
            touched.slots = slots
        return touched.slots

    @slots.setter
    def slots(self, value):
        self.touch().slots = NO_SLOTS if value is None else value

    @property
    def extra(self):
        """Unknown fields that ``unknown="keep"`` kept: prefix -> value as written."""
        cdef ChangedParts touched = self.touch()
        if touched.extra is None:
            touched.extra = Extra()
        return touched.extra

    @extra.setter
    def extra(self, value):
        self.touch().extra = value

    def get(self, slot, default=None):
        """The value of a slot, or ``default``."""
        cdef int index
        if (self.touched is not None and self.touched.slots is not None) or not PyLong_Check(slot):
            return self.slots.get(slot, default)
        index = slot_index(slot)
        if index >= 0 and (self.v.present >> index) & 1:
            return self.slot_value(index)
        return self.slots.get(slot, default) if index < 0 else default

    def __repr__(self):
        return methods.SlipMethods.__repr__(self)

    def __eq__(self, other):
        return methods.SlipMethods.__eq__(self, other)


@cython.final
cdef class HeaderField:
    """A field of the header as an attribute of a message."""
    cdef int which
    cdef readonly str __doc__

    def __cinit__(self, int which, str doc):
        self.which, self.__doc__ = which, doc

    def __get__(self, message, owner):
        return self if message is None else (<SlipMessage?>message).get_field(self.which)

    def __set__(self, message, value):
        (<SlipMessage?>message).set_field(self.which, value)


put(SlipMessage, "conv_id", HeaderField(TW_CONV, "Conversation id."))
put(SlipMessage, "turn", HeaderField(TW_TURN, "Turn number."))
put(SlipMessage, "src", HeaderField(TW_SRC, "Source agent id."))
put(SlipMessage, "dst", HeaderField(TW_DST, "Destination agent id."))
put(SlipMessage, "act", HeaderField(TW_ACT, "The speech act."))
put(SlipMessage, "frame", HeaderField(TW_FRAME, 'The frame type; an int for one that ``unknown="keep"`` kept.'))
inherit(SlipMessage, methods.SlipMethods)
put(SlipMessage, "__init__", methods.SlipMethods.__init__)  # a function of Python, which says its arguments


# --- encode and check ------------------------------------------------------------------------------------------------

cdef struct Writer:
    tw_draft draft
    bint ascii
    Py_ssize_t longest  # characters of a text


cdef inline void begin_writer(Writer *w) noexcept:
    tw_draft_begin(&w.draft)
    w.ascii = True
    w.longest = 0


cdef inline int reserve(Writer *w, size_t more) except -1:
    """Room for ``more`` bytes."""
    if not tw_draft_room(&w.draft, more):
        raise MemoryError
    return 0


cdef inline int utf8_of(Writer *w, object value, const uint8_t **text, size_t *length) except -1:
    """The UTF-8 form of a text. Returns 0 where it has none, else 1."""
    cdef Py_ssize_t size
    if PyUnicode_IS_ASCII(value):
        text[0], length[0] = <const uint8_t *>PyUnicode_DATA(value), PyUnicode_GET_LENGTH(value)
        return 1
    try:
        text[0] = <const uint8_t *>PyUnicode_AsUTF8AndSize(value, &size)
    except UnicodeEncodeError:
        return 0
    length[0], w.ascii = size, False
    return 1


cdef inline int put_text(Writer *w, object value) except -1:
    """A quoted string. Returns 0 where the text has no UTF-8 form, else 1."""
    cdef const uint8_t *text
    cdef size_t length
    w.longest = max(w.longest, PyUnicode_GET_LENGTH(value))
    if not utf8_of(w, value, &text, &length):
        return 0
    reserve(w, 2 * length + 2)
    w.draft.at = <char *>tw_put_text(<uint8_t *>w.draft.at, text, length)
    return 1


cdef enum:
    SLOT_ROOM = 2 + TW_INTEGER_ROOM


cdef int put_dict(Writer *w, object slots) except -1:
    """The slots of a touched message, with a byte of room behind them. Returns 0 at the first unusual one, else 1."""
    cdef PyObject *key
    cdef PyObject *item
    cdef Py_ssize_t place = 0
    cdef int index, slot
    if not PyDict_CheckExact(slots):
        return 0
    try:
        while PyDict_Next(slots, &place, &key, &item):
            index = -1
            for slot in range(9):  # all of them: which one it is has no pattern
                index = slot if PyTuple_GET_ITEM(SLOTS, slot) == key else index
            if index < 0:
                index = slot_index(<object>key)
            if index < 0:
                return 0
            reserve(w, SLOT_ROOM)
            w.draft.at[0] = c'|'
            w.draft.at[1] = TW_SLOT_PREFIXES[index]
            w.draft.at += 2
            if index == TW_STATUS or index == TW_TAG:
                if not PyUnicode_CheckExact(<object>item) or not put_text(w, <object>item):
                    return 0
                continue
            if not PyLong_CheckExact(<object>item):
                return 0
            w.draft.at = <char *>tw_put_integer(<uint8_t *>w.draft.at, <uint64_t><object>item)
    except OverflowError:  # negative, or too large
        return 0
    return reserve(w, 1) == 0


cdef int put_untouched(Writer *w, SlipMessage message) except -1:
    """An untouched message. Returns 0 where a string has no UTF-8 form, else 1."""
    cdef const uint8_t *text[2]
    cdef size_t length[2]
    text[0] = text[1] = NULL
    length[0] = length[1] = 0
    if message.status is not None and not utf8_of(w, message.status, &text[0], &length[0]):
        return 0
    if message.tag is not None and not utf8_of(w, message.tag, &text[1], &length[1]):
        return 0
    reserve(w, 16 * TW_INTEGER_ROOM + 2 * (length[0] + length[1]))
    w.draft.at = <char *>tw_put_values(<uint8_t *>w.draft.at, &message.v, text, length)
    return 1


cdef inline bint is_odd(ChangedParts touched) except -1:
    """True if a message has more than its numbers and its slots say: another value in a field, what was kept."""
    if touched.fields is not None and any(touched.fields):
        return True
    return touched.extra is not None and not (PyDict_Check(touched.extra) and PyDict_GET_SIZE(touched.extra) == 0)


cdef int put_message(Writer *w, SlipMessage message) except -1:
    """The whole message. Returns 0 for anything unusual: written_parts() then writes or refuses it."""
    cdef ChangedParts touched = message.touched
    if message.v.head[TW_FRAME] > TW_MAX_FRAME:
        return 0
    if touched is None:
        return put_untouched(w, message)
    if is_odd(touched):
        return 0
    if touched.slots is None:
        return put_untouched(w, message)
    reserve(w, 8 * TW_INTEGER_ROOM)
    w.draft.at = <char *>tw_put_header(<uint8_t *>w.draft.at, message.v.head)
    if not put_dict(w, touched.slots):
        return 0
    w.draft.at[0] = c'#'
    w.draft.at += 1
    return 1


cdef object written(SlipMessage message):
    from turnwire.nslip._codec_py import written_parts  # here, because few programs ever need it

    return "@" + "|".join(written_parts(message)) + "#"


cdef object need_message(object message):
    return encode_fault(Reason.WRONG_TYPE, f"encode takes a SlipMessage, not {type(message).__name__}")


cdef object finished(Writer *w, SlipMessage message):
    cdef object text
    cdef size_t size
    if not put_message(w, message):
        return written(message)
    size = tw_draft_size(&w.draft)
    if w.ascii:
        text = PyUnicode_New(size, 127)
        memcpy(PyUnicode_DATA(text), w.draft.start, size)
        return text
    return tw_good_text(<uint8_t *>w.draft.start, size)


def encode(message):
    """Writes a message as text: header ``a f c S d T``, then the slots in their own order (section 3).

    Raises EncodeError(wrong_type|negative|too_large|unknown_act|unknown_frame|unknown_slot|lone_surrogate) with the
    field in ``path``.
    """
    return text_of(message)


def text(message, strict=True):
    """As :func:`encode`, whatever ``strict`` is: there is one way to write. Two arguments make it slower."""
    return text_of(message)


cdef inline text_of(message):
    cdef Writer w
    if not isinstance(message, SlipMessage):
        raise need_message(message)
    begin_writer(&w)
    try:
        return finished(&w, <SlipMessage>message)
    finally:
        tw_draft_free(&w.draft)


cdef bint is_short(object text) except -1:
    """True if a string is not too long and has a UTF-8 form."""
    cdef Py_ssize_t size
    if PyUnicode_GET_LENGTH(text) > SHORTEST_LONG:
        return False
    if PyUnicode_IS_ASCII(text):
        return True
    try:
        PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:
        return False
    return True


cdef bint are_clean(object slots) except -1:
    """True if the slots of a touched message have no issues."""
    cdef Writer w
    begin_writer(&w)
    try:
        return put_dict(&w, slots) and w.longest <= SHORTEST_LONG
    finally:
        tw_draft_free(&w.draft)


cdef object long_way = None


def check(message):
    """Lists the issues of a message, field by field; empty for a valid one. ``where`` is a JSON pointer.

    * "warning", with the reason of ``encode``: each field that ``encode`` rejects.
    * "info" ``long_string``: a string over 64 characters; large artifacts belong in stores and are referenced by their
      id (section 2). It is not a "warning", since writing accepts long strings.
    * "info" ``unknown_slot`` and ``unknown_frame``: fields that ``unknown="keep"`` kept (section 6).

    Raises EncodeError(wrong_type) for other objects.
    """
    global long_way
    if clean(message):
        return []
    if long_way is None:
        from turnwire.nslip.rules import check_closely
        long_way = check_closely
    return long_way(message)


cdef bint clean(message) except -1:
    cdef SlipMessage it
    cdef ChangedParts touched
    if not isinstance(message, SlipMessage):
        return False
    it = <SlipMessage>message
    touched = it.touched
    if it.v.head[TW_FRAME] > TW_MAX_FRAME or (touched is not None and is_odd(touched)):
        return False
    if touched is not None and touched.slots is not None:
        return are_clean(touched.slots)
    return (it.status is None or is_short(it.status)) and (it.tag is None or is_short(it.tag))


# --- decode ----------------------------------------------------------------------------------------------------------

cdef object text_value(const uint8_t *s, tw_fields *f, int which):
    """STATUS or TAG as a str; the parser has checked its bytes."""
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
    """An empty message that the garbage collector does not track: it has no references (see touch)."""
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
    """Adds the strings and kept fields to a message whose numbers are parsed."""
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
    """Reads one message from text or contiguous bytes; surrounding white space is ignored (section 3).

    ``unknown="keep"`` keeps unknown slots and frames in ``message.extra``. Raises DecodeError with reason, offset
    (bytes of the UTF-8 form, also for str) and line.
    """
    return decode_text(data, 0 if unknown is REFUSE_UNKNOWN else flags_of(unknown))


def decode_many(data, *, unknown=REFUSE_UNKNOWN):
    """Reads the messages of a list (one per item) or of bytes or text (one per line; blank lines are skipped).

    Raises DecodeError at the first fault. For lines, offset and line refer to the whole input; for a list, ``path`` is
    ``/index`` and the offset refers to that item.
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
            raise
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


cdef SlipMessage sample = SlipMessage.__new__(SlipMessage)
sample.status, sample.tag, sample.touched = "status", "tag", ChangedParts.__new__(ChangedParts)
if not tw_object_setup(sample, sample.status, sample.tag, sample.touched):
    raise ImportError("the members of SlipMessage do not stand where nslip/message.h looks for them")
sample = None
