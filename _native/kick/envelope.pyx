"""Envelopes of KickLang, compiled: the object, its making from usual text, and the quick all-clear of ``check``.

The rules are in ``turnwire.kick.rules``; this code confirms that nothing is wrong, or leaves the decision to them.
"""

cimport cython
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next, PyDict_Size
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH
from libc.stdint cimport uint64_t

from _native.common.inherit cimport inherit, put
from _native.common.text cimport exact_text
from _native.json.draft cimport (
    JSON_WRITTEN, json_ascii, json_begin, json_counted_text, json_draft, json_end, json_result, json_text as json_put,
    json_text_of, json_value
)
from _native.json.rules cimport tw_choice, tw_compacted, tw_rule, tw_rule_word, tw_walk
from turnwire.json import text as json_text
from turnwire.contract import LIMITS
from turnwire.kick import envelope_methods as methods
from turnwire.kick.rules import DEFAULT_POLICY, is_plain_content, envelope_issues, other_issues, unknown_key
from turnwire.kick.spec import FIELDS, TYPES, WIRE, MessageType

cdef extern from *:
    int PyUnicode_IS_ASCII(object text)
    int PyUnicode_Check(object value)
    int PyObject_GenericSetAttr(object owner, object name, PyObject *value) except -1
cdef extern from "_native/json/forms.h":
    bint tw_is_channel(const unsigned char *p, size_t size)
    int tw_word_of(const tw_choice *words, int count, const unsigned char *p, size_t size, const unsigned char *hard)
cdef extern from "_native/kick/envelope.h":
    enum:
        TW_ASK
    int tw_plain_content(object text)
    bint tw_is_uuid4(const unsigned char *text, size_t size) noexcept
    bint tw_is_short_time(const unsigned char *text, size_t size) noexcept
    ctypedef struct tw_part:
        const unsigned char *from_ "from"
        const unsigned char *to
    enum:
        TW_FIELDS
        TW_CORRELATION
    int tw_envelope_parts(tw_walk *walk, const unsigned char *text, size_t size, const tw_choice *names, tw_part *parts)
    object tw_part_text(const tw_part *part)
    Py_ssize_t tw_envelope_count(const tw_part *parts, int count, Py_ssize_t size, unsigned int *most)
    bint tw_part_is_channel(const tw_part *part)
    bint tw_envelope_is_plain(const tw_part *parts, int count)
    uint64_t tw_mixed(const tw_part *parts, int word)
    bint tw_part_is(const tw_part *part, object text) noexcept
    int tw_part_of(tw_part *part, object text) except -1

cdef object READ = json_text.reader(WIRE, FIELDS).read_source
cdef object DEFAULT_LIMITS = LIMITS
cdef object STANDARD = DEFAULT_POLICY
cdef dict KNOWN_TYPES = TYPES
cdef object ALL_FIELDS = frozenset(FIELDS)
cdef Py_ssize_t NESTING = LIMITS.nesting
cdef str DICT_ITEMS = "items"
cdef Py_ssize_t MOST = LIMITS.message
cdef list QUOTED = [f'"{name}"'.encode() for name in FIELDS], WORDS = [word.encode() for word in TYPES]
cdef list MEMBERS_OF_TYPE = list(TYPES.values())
cdef tw_rule NAMES, KNOWN  # their words
cdef tuple MEMBERS = tuple([f'{"," if name != FIELDS[0] else "{"}"{name}":'.encode() for name in FIELDS])


@cython.freelist(64)
cdef class Envelope:
    """One message between agents (section 001).

    Args:
        id: UUID v4. timestamp: ISO 8601 date and time. sender, receiver: roles, the receiver also "Broadcast".
        type: a :class:`MessageType` or its string. channel: ``⫻family/name``. content: a Space document.
        correlation_id: the id of the request that this answers, or None.
        extra: unknown keys and their JSON values, kept and written back.

    Mutable. Values are validated by ``check`` and ``encode``, not when they are set.
    """

    cdef public object id, timestamp, sender, receiver, type, channel, content, correlation_id, _parsed
    cdef readonly dict _extra
    cdef object _source  # the text that was read, where its keys are in the order of writing; until something is set
    cdef bint _own  # whether writing gives it as it is
    cdef Py_ssize_t _count  # characters of the source, none above _most; 0 where nobody counted
    cdef unsigned int _most
    cdef tuple _learned  # what the standard policy says of it, where that is known; until something is set
    cdef bint _plain  # whether what the policy says nothing of was found good; until something is set
    cdef object __weakref__

    __wire__ = WIRE
    __annotations__ = methods.ANNOTATIONS
    __match_args__ = FIELDS
    __hash__ = None

    def __init__(
        self, id, timestamp, sender, receiver, type, channel, content, correlation_id=None, dict extra=None
    ):
        self._source = self._learned = None
        self._plain = False
        self.id = id
        self.timestamp = timestamp
        self.sender = sender
        self.receiver = receiver
        self.type = methods.message_type(type)
        self.channel = channel
        self.content = content
        self.correlation_id = correlation_id
        self._extra = extra

    def __setattr__(self, name, value):
        if name != "_parsed":
            self._source = None
            self._plain = False
            self._learned = None
        PyObject_GenericSetAttr(self, name, <PyObject *>value)

    def __delattr__(self, name):
        self._source = self._learned = None
        self._plain = False
        PyObject_GenericSetAttr(self, name, NULL)

    @property
    def extra(self):
        """Unknown keys and their JSON values."""
        if self._extra is None:
            self._extra = {}
        self._source = None  # they may be changed
        return self._extra

    @extra.setter
    def extra(self, dict value not None):
        self._source = None
        self._extra = value

    def _unchanged(self):
        """The text of an unchanged envelope that was read in writing order; else None."""
        return unchanged(self)

    def _keep(self, text not None, bint own=True):
        """Keeps the text that says just this, in the order of writing; own: which writing gives as it is."""
        self._source, self._own, self._count = text, own, 0

    def __repr__(self):
        return methods.EnvelopeMethods.__repr__(self)

    def __eq__(self, other):
        return methods.EnvelopeMethods.__eq__(self, other)


cdef inline object unchanged(Envelope it):
    if it._source is None:
        return None
    if not it._own:
        return tw_compacted(it._source)
    return json_counted_text(it._source, it._count, it._most) if it._count else json_text_of(it._source)


inherit(Envelope, methods.EnvelopeMethods)  # what both twins share
put(Envelope, "__init__", methods.EnvelopeMethods.__init__)  # a function of Python, which says its arguments


cdef bint is_channel(str channel):
    """Handles plain channels (the sigil, then printable ASCII with a slash inside); Python handles all others."""
    cdef Py_ssize_t size
    cdef const unsigned char *text = exact_text(channel, &size)
    return (text != NULL and tw_is_channel(text, <size_t>size)) or methods.channel_parts(channel)[0] is not None


cdef inline bint has_form(str text, bint (*form)(const unsigned char *, size_t) noexcept) noexcept:
    """True for a text of ASCII that has a form: a UUID of version 4 and the RFC 9562 variant in 36 characters, or a
    timestamp that is certainly valid, of which :mod:`turnwire.json.times` decides otherwise."""
    return PyUnicode_IS_ASCII(text) and form(<const unsigned char *>PyUnicode_DATA(text), <size_t>PyUnicode_GET_LENGTH(text))


cdef inline bint has_extra(Envelope envelope) noexcept:
    return envelope._extra is not None and PyDict_Size(envelope._extra) != 0


cdef bint fields_are_texts(Envelope envelope) noexcept:
    return envelope._plain or (
        type(envelope.id) is str and type(envelope.timestamp) is str and type(envelope.sender) is str
        and type(envelope.receiver) is str and type(envelope.channel) is str and type(envelope.content) is str
        and (type(envelope.type) is str or type(envelope.type) is MessageType)
    )


cdef bint are_plain(Envelope envelope) except -1:
    """True if the fields outside the policy are certainly valid."""
    cdef object correlation = envelope.correlation_id
    cdef int found
    if envelope._plain:
        return True
    if correlation is not None and (type(correlation) is not str or not has_form(<str>correlation, tw_is_uuid4)):
        return False
    if not has_form(<str>envelope.id, tw_is_uuid4) or not has_form(<str>envelope.timestamp, tw_is_short_time):
        return False
    found = tw_plain_content(envelope.content)  # which knows content of one ASCII-only header line
    return is_plain_content(envelope.content) if found == TW_ASK else found


cdef enum:
    SLOTS = 256

cdef uint64_t[SLOTS] MIXED  # what the standard policy was asked about last, by the bytes of these texts
cdef list RECENT = [None] * SLOTS


cdef tuple recent(const tw_part *parts, int word):
    """The last decision of the standard policy about this sender, receiver, type and channel: these, whether a
    correlation_id is required, and the remarks; None if unknown."""
    cdef uint64_t mixed = tw_mixed(parts, word)
    cdef tuple entry
    if MIXED[mixed & (SLOTS - 1)] != mixed:
        return None
    entry = <tuple>RECENT[mixed & (SLOTS - 1)]
    if (
        entry is None or <object>entry[2] is not <object>MEMBERS_OF_TYPE[word] or not tw_part_is(&parts[2], entry[0])
        or not tw_part_is(&parts[3], entry[1]) or not tw_part_is(&parts[5], entry[3])
    ):
        return None
    return entry


cdef int remember(tuple entry) except -1:
    """Keeps the decisions of the standard policy, for envelopes that are read."""
    cdef tw_part parts[TW_FIELDS]
    cdef uint64_t mixed
    cdef int word
    if type(<object>entry[2]) is not MessageType:
        return 0
    try:
        tw_part_of(&parts[2], entry[0])
        tw_part_of(&parts[3], entry[1])
        tw_part_of(&parts[5], entry[3])
    except UnicodeEncodeError:  # half of a surrogate pair, which no text has
        return 0
    word = MEMBERS_OF_TYPE.index(entry[2])
    mixed = tw_mixed(parts, word)
    RECENT[mixed & (SLOTS - 1)], MIXED[mixed & (SLOTS - 1)] = entry, mixed
    return 0


cdef tuple verdict(Envelope envelope, policy):
    """The remarks of ``check`` apart from unknown keys, mostly none; None where ``check`` itself must decide."""
    cdef tuple entry
    cdef PyObject *found
    if not fields_are_texts(envelope):
        return None
    entry = envelope._learned if policy is STANDARD else None
    if entry is None:
        names = (envelope.sender, envelope.receiver, envelope.type, envelope.channel)
        found = PyDict_GetItemWithError(policy.known, names)
        if found == NULL:
            return None
        entry = (*names, *(<tuple><object>found))
        if policy is STANDARD:
            envelope._learned = entry
            remember(entry)
    if (entry[4] and envelope.correlation_id is None) or not are_plain(envelope):
        return None
    envelope._plain = True
    return <tuple>entry[5]


def encode(envelope, bint strict=True, *, policy=DEFAULT_POLICY):
    """Writes an envelope as JSON text without white space: the fields in the order of section 001, then unknown keys.

    Strict writing raises EncodeError for the first warning of ``check``, with the field in ``path``; ``strict=False``
    writes any envelope that ``decode`` reads. For a Space document, returns its text. Both raise EncodeError for values
    without a JSON form, and for other objects (wrong_type).
    """
    written = text(envelope, strict, policy)
    return methods.envelope_text(envelope, Envelope, check, strict, policy) if written is None else written


# --- written without a dict ---

cdef text(envelope, bint strict, policy):
    """The text of a usual envelope; with ``strict``, only if ``check`` has no more than remarks; else None."""
    cdef json_draft draft
    cdef Envelope it
    if type(envelope) is not Envelope:
        return None
    it = <Envelope>envelope
    if strict:
        if verdict(it, policy) is None:
            return None
    elif not fields_are_texts(it) or it.type not in KNOWN_TYPES or not is_channel(<str>it.channel):
        return None
    if it._source is not None:
        return unchanged(it)
    json_begin(&draft, DICT_ITEMS)
    try:
        if not put_fields(&draft, it) or (has_extra(it) and not put_extra(&draft, it._extra)):
            return None
        json_ascii(&draft, b"}", 1)
        return json_result(&draft)
    finally:
        json_end(&draft)


cdef bint put_fields(json_draft *draft, Envelope it) except -1:
    cdef PyObject *values[8]
    cdef int i
    values[0], values[1], values[2] = <PyObject *>it.id, <PyObject *>it.timestamp, <PyObject *>it.sender
    values[3], values[4], values[5] = <PyObject *>it.receiver, <PyObject *>it.type, <PyObject *>it.channel
    values[6], values[7] = <PyObject *>it.content, <PyObject *>it.correlation_id
    for i in range(8 if it.correlation_id is not None else 7):
        if not PyUnicode_Check(<object>values[i]):
            return False
        json_ascii(draft, <const char *><bytes>MEMBERS[i], len(<bytes>MEMBERS[i]))
        if json_put(draft, <object>values[i]) != JSON_WRITTEN:
            return False
    return True


cdef bint put_extra(json_draft *draft, dict extra) except -1:
    """Unknown keys behind the fields. Runs no Python code, so nothing changes meanwhile."""
    cdef Py_ssize_t place = 0
    cdef PyObject *key
    cdef PyObject *value
    while PyDict_Next(extra, &place, &key, &value):
        if type(<object>key) is not str or <object>key in ALL_FIELDS:
            return False
        json_ascii(draft, b",", 1)
        if json_put(draft, <object>key) != JSON_WRITTEN:
            return False
        json_ascii(draft, b":", 1)
        if json_value(draft, <object>value, NESTING - 1) != JSON_WRITTEN:
            return False
    return True


# --- made of their text without a dict, and judged as it is read ---

cdef int fill(tw_rule *rule, list words) except -1:
    for word in words:
        if not tw_rule_word(rule, <bytes>word, len(<bytes>word), True):
            raise ValueError("there are too many words")
    return 0


fill(&NAMES, QUOTED)
fill(&KNOWN, WORDS)


cdef Envelope quick(object data):
    """The envelope of a text (str or bytes) with exactly its fields; None unless it is certainly valid."""
    cdef tw_walk walk
    cdef tw_part parts[TW_FIELDS]
    cdef Py_ssize_t size
    cdef const unsigned char *text = exact_text(data, &size)
    cdef Envelope envelope
    cdef tuple entry
    cdef int count, word
    if text == NULL or size > MOST:
        return None
    count = tw_envelope_parts(&walk, text, <size_t>size, NAMES.word, parts)
    if not count:
        return None
    word = tw_word_of(KNOWN.word, KNOWN.words, parts[4].from_, <size_t>(parts[4].to - parts[4].from_), text + size)
    if word < 0:
        return None
    entry = recent(parts, word)
    if entry is None and not (tw_part_is_channel(&parts[5]) or is_channel(tw_part_text(&parts[5]))):
        return None
    envelope = Envelope.__new__(Envelope)
    envelope.id = tw_part_text(&parts[0])
    envelope.timestamp = tw_part_text(&parts[1])
    envelope.sender = tw_part_text(&parts[2]) if entry is None else entry[0]
    envelope.receiver = tw_part_text(&parts[3]) if entry is None else entry[1]
    envelope.type = MEMBERS_OF_TYPE[word]
    envelope.channel = tw_part_text(&parts[5]) if entry is None else entry[3]
    envelope.content = tw_part_text(&parts[6])
    if count > TW_CORRELATION:
        envelope.correlation_id = tw_part_text(&parts[7])
    if walk.clean:
        envelope._source, envelope._own = data, walk.own
        if walk.own:
            envelope._count = tw_envelope_count(parts, count, size, &envelope._most)
    envelope._plain = tw_envelope_is_plain(parts, count)
    envelope._learned = entry
    return envelope


def decode(data, *, bint strict=False, policy=DEFAULT_POLICY, limits=LIMITS):
    """Reads one envelope from a JSON object in text or contiguous bytes; surrounding white space is ignored (section
    001).

    Unknown keys are kept in ``extra``. Raises DecodeError with reason, byte offset and line: for invalid JSON,
    missing_*, bad_type_* and bad_enum_type for the field named in ``path``, bad_channel. ``check`` applies the rules of
    section 004; with ``strict``, its first warning is raised as RuleError.
    """
    envelope = quick(data) if limits is DEFAULT_LIMITS else None
    if envelope is None:
        if limits is DEFAULT_LIMITS:
            fields, source = READ(data)
            text = data if type(data) is str or type(data) is bytes else json_text.input_bytes(data, WIRE)
            envelope = methods.built(Envelope, fields, data, text, source is not None)
        else:
            envelope = methods.built(Envelope, READ(data, limits)[0], data)
    if strict:
        check(envelope, policy, strict=True)
    return envelope


def check(envelope, policy=DEFAULT_POLICY, *, bint strict=False):
    """Lists the issues of an envelope, by the rules of section 004 and the table of ``policy``. For a Space document,
    lists the faults that lenient reading accepted, and those of ``lint``; ``where`` is then a line.

    Strict ``encode`` rejects a "warning"; an "info" may be fine (an unknown key, an unknown role). ``where`` is a JSON
    pointer; the text names the row of the policy. With ``strict``, the first warning is raised as RuleError, with the
    section of the specification as its ``rule``.
    """
    cdef tuple found
    if not isinstance(envelope, Envelope):
        return other_issues(envelope, Envelope, strict)
    found = verdict(<Envelope>envelope, policy)
    if found is not None:
        if not has_extra(<Envelope>envelope):
            return list(found)
        if all([isinstance(key, str) for key in (<Envelope>envelope)._extra]):  # others are faults
            return [*found, *[unknown_key(key) for key in (<Envelope>envelope)._extra]]
    return envelope_issues(envelope, policy, strict)
