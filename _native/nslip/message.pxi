# Included by nslip/codec.pyx: the message type.

cdef class Touched:
    """What a message holds once somebody has looked at or changed more than its numbers."""
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

    Values are judged when the message is encoded, not when they are set.
    """

    cdef tw_values v
    cdef object status     # nslip/object.h knows the order of the next four
    cdef object tag
    cdef Touched touched
    cdef object __weakref__

    __wire__ = WIRE
    __match_args__ = methods.FIELDS
    __dataclass_fields__ = methods.DataclassFields()
    __hash__ = None

    def __init__(self, conv_id=REQUIRED, turn=REQUIRED, src=REQUIRED, dst=REQUIRED, act=REQUIRED, frame=REQUIRED,
                 slots=None, *, extra=None):
        # Cython's own refusal would not say what is missing.
        if frame is REQUIRED or act is REQUIRED or dst is REQUIRED or src is REQUIRED or turn is REQUIRED or (
            conv_id is REQUIRED
        ):
            raise methods.missing_arguments(
                tuple([value is not REQUIRED for value in (conv_id, turn, src, dst, act, frame)])
            )
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

    cdef Touched touch(self):
        if self.touched is None:
            self.touched = Touched.__new__(Touched)
            # Decoding leaves a message out of the collector's lists; from here on it may be part of a cycle.
            if not PyObject_GC_IsTracked(<PyObject *>self):
                PyObject_GC_Track(<void *>self)
        return self.touched

    cdef object get_field(self, int which):
        cdef object value
        if self.touched is not None and self.touched.fields is not None:
            value = self.touched.fields[which]
            if value is not None:
                return value[0]
        if which == TW_ACT:
            return ACTS[self.v.head[TW_ACT]]
        if which == TW_FRAME:
            return FRAMES[self.v.head[TW_FRAME]] if self.v.head[TW_FRAME] <= TW_MAX_FRAME else self.v.head[TW_FRAME]
        return self.v.head[which]

    cdef int set_field(self, int which, object value) except -1:
        cdef Touched touched = self.touched
        if which > TW_FRAME:
            if PyLong_CheckExact(value):
                try:
                    self.v.head[which] = PyLong_AsUnsignedLongLong(value)
                    if touched is not None and touched.fields is not None:
                        touched.fields[which] = None
                    return 0
                except OverflowError:
                    pass
        elif type(value) is (Act if which == TW_ACT else FrameType):
            self.v.head[which] = value
            if touched is not None and touched.fields is not None:
                touched.fields[which] = None
            return 0
        touched = self.touch()
        if touched.fields is None:
            touched.fields = [None] * 6
        touched.fields[which] = (value,)
        return 0

    @property
    def conv_id(self):
        """Conversation id."""
        return self.get_field(TW_CONV)

    @conv_id.setter
    def conv_id(self, value):
        self.set_field(TW_CONV, value)

    @property
    def turn(self):
        """Turn number."""
        return self.get_field(TW_TURN)

    @turn.setter
    def turn(self, value):
        self.set_field(TW_TURN, value)

    @property
    def src(self):
        """Source agent id."""
        return self.get_field(TW_SRC)

    @src.setter
    def src(self, value):
        self.set_field(TW_SRC, value)

    @property
    def dst(self):
        """Destination agent id."""
        return self.get_field(TW_DST)

    @dst.setter
    def dst(self, value):
        self.set_field(TW_DST, value)

    @property
    def act(self):
        """The speech act."""
        return self.get_field(TW_ACT)

    @act.setter
    def act(self, value):
        self.set_field(TW_ACT, value)

    @property
    def frame(self):
        """The frame type; a plain int for one that ``unknown="keep"`` kept."""
        return self.get_field(TW_FRAME)

    @frame.setter
    def frame(self, value):
        self.set_field(TW_FRAME, value)

    cdef object slot_value(self, int index):
        if index == TW_STATUS:
            return self.status
        if index == TW_TAG:
            return self.tag
        return self.v.ints[index]

    @property
    def slots(self):
        """Slot -> value, in the order of the wire: a real dict, made when first asked for and the truth from then on."""
        cdef Touched touched = self.touch()
        cdef dict slots
        cdef int place
        if touched.slots is NO_SLOTS:
            return None
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
        cdef Touched touched = self.touch()
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

    def replace(self, **changes):
        """A copy with some fields replaced; it shares neither slots nor extra with this message."""
        return methods.replace(self, changes)

    def to_dict(self):
        """A JSON-able dict: names for act, frame and slots."""
        return methods.to_dict(self)

    @classmethod
    def from_dict(cls, fields):
        """The message of :meth:`to_dict`. Raises DecodeError with the field in ``path``."""
        return methods.from_dict(cls, fields)

    def __repr__(self):
        return methods.represent(self)

    def __eq__(self, other):
        return methods.equal(self, other)

    def __copy__(self):
        return methods.shallow_copy(self)

    def __deepcopy__(self, memo):
        return methods.deep_copy(self, memo)

    def __reduce__(self):
        return methods.reduce(self, SlipMessage)
