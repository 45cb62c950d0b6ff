"""Envelopes of KickLang, compiled: the object, its making from a JSON object, and the quick all-clear of ``check``.

The rules stand in ``turnwire.kick.rules``; what is here says "surely nothing wrong" or hands over.
"""

cimport cython
from cpython.dict cimport PyDict_GetItem, PyDict_Size
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ

from turnwire._native.space import has_section
from turnwire.kick import envelope_methods as methods
from turnwire.kick.spec import FIELDS, TYPES

cdef extern from *:
    int PyUnicode_IS_ASCII(object text)

cdef dict KNOWN_TYPES = TYPES
cdef object ALL_FIELDS = frozenset(FIELDS)
cdef object in_space = has_section


@cython.freelist(64)
cdef class Envelope:
    """One message between agents (section 001).

    Args:
        id: UUID v4. timestamp: ISO 8601 date and time. sender, receiver: roles, the receiver also "Broadcast".
        type: a :class:`MessageType` or its string. channel: ``⫻family/name``. content: a Space document.
        correlation_id: the id of the request that this answers, or None.
        extra: unknown keys and their JSON values, kept and written back.

    Mutable. Values are judged by ``check`` and ``encode``, not when they are set.
    """

    cdef public object id, timestamp, sender, receiver, type, channel, content, correlation_id, _parsed
    cdef dict _extra
    cdef object __weakref__

    __match_args__ = FIELDS
    __hash__ = None

    def __init__(
        self, id, timestamp, sender, receiver, type, channel, content, correlation_id=None, dict extra=None
    ):
        self.id = id
        self.timestamp = timestamp
        self.sender = sender
        self.receiver = receiver
        self.type = methods.message_type(type)
        self.channel = channel
        self.content = content
        self.correlation_id = correlation_id
        self._extra = extra

    @property
    def extra(self):
        """Unknown keys and their JSON values."""
        if self._extra is None:
            self._extra = {}
        return self._extra

    @extra.setter
    def extra(self, dict value not None):
        self._extra = value

    @property
    def space(self):
        """The content as a Space document, read leniently when first asked for."""
        return methods.space(self)

    @property
    def family(self):
        """The family of the channel ("command" of ``⫻command/dispatch``), or None where the channel has none."""
        return methods.channel_parts(self.channel)[0]

    def replace(self, **changes):
        """A copy with some fields replaced; ``extra`` is copied."""
        return methods.replace(self, changes)

    def to_dict(self):
        """The JSON object of this envelope, extra keys behind the fields."""
        return methods.to_dict(self)

    @classmethod
    def from_dict(cls, fields):
        """The envelope of a JSON object. Raises DecodeError with the field in ``path``."""
        return methods.from_dict(cls, fields)

    def __repr__(self):
        return methods.represent(self)

    def __eq__(self, other):
        return methods.equal(self, other)

    def __copy__(self):
        return type(self)(*methods.state(self))

    def __reduce__(self):
        return type(self), methods.state(self)


cdef inline object text_field(dict fields, object name):
    """The str under a key, or None."""
    cdef PyObject *value = PyDict_GetItem(fields, name)
    return <object>value if value != NULL and type(<object>value) is str else None


def build(dict fields not None):
    """The envelope of a JSON object, or None where a field is missing, of the wrong type, or no known type."""
    cdef Envelope envelope = Envelope.__new__(Envelope)
    cdef PyObject *item
    cdef Py_ssize_t known = 7
    envelope.id = text_field(fields, "id")
    envelope.timestamp = text_field(fields, "timestamp")
    envelope.sender = text_field(fields, "sender")
    envelope.receiver = text_field(fields, "receiver")
    envelope.channel = text_field(fields, "channel")
    envelope.content = text_field(fields, "content")
    kind = text_field(fields, "type")
    if (
        envelope.id is None or envelope.timestamp is None or envelope.sender is None or envelope.receiver is None
        or envelope.channel is None or envelope.content is None or kind is None
    ):
        return None
    item = PyDict_GetItem(KNOWN_TYPES, kind)
    if item == NULL or not is_channel(envelope.channel):
        return None
    envelope.type = <object>item
    item = PyDict_GetItem(fields, "correlation_id")
    if item != NULL:
        if type(<object>item) is not str:
            return None
        envelope.correlation_id = <object>item
        known = 8
    if PyDict_Size(fields) != known:
        envelope._extra = {key: value for key, value in fields.items() if key not in ALL_FIELDS}
    return envelope


cdef bint is_channel(str channel):
    """Plain channels (the sigil, then printable ASCII with a slash inside) here, all others in Python."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(channel), i, slash = 0
    cdef int kind = PyUnicode_KIND(channel)
    cdef const void *data = PyUnicode_DATA(channel)
    cdef Py_UCS4 letter
    if size == 0 or PyUnicode_READ(kind, data, 0) != 0x2AFB:
        return False
    for i in range(1, size):
        letter = PyUnicode_READ(kind, data, i)
        if letter <= 0x20 or letter >= 0x7F:
            return methods.channel_parts(channel)[0] is not None
        if letter == c"/" and slash == 0:
            slash = i
    return 1 < slash < size - 1


cdef inline bint is_hex(unsigned char c) noexcept nogil:
    return c"0" <= c <= c"9" or c"a" <= c <= c"f" or c"A" <= c <= c"F"


def is_uuid4(str text not None):
    """Whether a text is a UUID of version 4 and the RFC 9562 variant, in its form of 36 characters."""
    return uuid4(text)


cdef bint uuid4(str text) noexcept:
    cdef const unsigned char *data
    cdef int i
    if PyUnicode_GET_LENGTH(text) != 36 or not PyUnicode_IS_ASCII(text):
        return False
    data = <const unsigned char *>PyUnicode_DATA(text)
    for i in range(36):
        if i == 8 or i == 13 or i == 18 or i == 23:
            if data[i] != c"-":
                return False
        elif not is_hex(data[i]):
            return False
    return data[14] == c"4" and (data[19] in (c"8", c"9", c"a", c"b", c"A", c"B"))


def is_plain_time(str text not None):
    """Whether a text is surely a good timestamp; False says only that :mod:`turnwire.kick.times` must look."""
    return plain_time(text)


cdef inline int two(const unsigned char *data) noexcept nogil:
    """Two digits as a number, or 99."""
    if not (c"0" <= data[0] <= c"9" and c"0" <= data[1] <= c"9"):
        return 99
    return (data[0] - c"0") * 10 + data[1] - c"0"


cdef bint plain_time(str text) noexcept:
    """``YYYY-MM-DDTHH:MM:SS`` with or without Z, up to the 28th, no leap second."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef const unsigned char *data
    if (size != 20 and size != 19) or not PyUnicode_IS_ASCII(text):
        return False
    data = <const unsigned char *>PyUnicode_DATA(text)
    if data[4] != c"-" or data[7] != c"-" or data[10] != c"T" or data[13] != c":" or data[16] != c":":
        return False
    if two(data) == 99 and (data[0] != c"9" or data[1] != c"9"):
        return False
    if two(data + 2) == 99 and (data[2] != c"9" or data[3] != c"9"):
        return False
    return (
        1 <= two(data + 5) <= 12 and 1 <= two(data + 8) <= 28 and two(data + 11) < 24 and two(data + 14) < 60
        and two(data + 17) < 60 and (size == 19 or data[19] == c"Z")
    )


def is_clean(Envelope envelope not None, dict verdicts not None):
    """Whether ``check`` surely finds nothing; False says only that it must look closer.

    verdicts: what the policy is known to say, by (sender, receiver, type, channel): None (no issue), or "correlation"
    (no issue as long as there is a correlation_id).
    """
    cdef object correlation = envelope.correlation_id
    cdef PyObject *verdict
    if envelope._extra is not None and PyDict_Size(envelope._extra):
        return False
    if not (
        type(envelope.id) is str and type(envelope.timestamp) is str and type(envelope.sender) is str
        and type(envelope.receiver) is str and type(envelope.channel) is str and type(envelope.content) is str
        and isinstance(envelope.type, str)
    ):
        return False
    verdict = PyDict_GetItem(verdicts, (envelope.sender, envelope.receiver, envelope.type, envelope.channel))
    if verdict == NULL or (<object>verdict is not None and correlation is None):
        return False
    if correlation is not None and (type(correlation) is not str or not uuid4(<str>correlation)):
        return False
    return uuid4(<str>envelope.id) and plain_time(<str>envelope.timestamp) and in_space(envelope.content)
