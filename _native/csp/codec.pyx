"""Reading, writing and scanning CSP/1: the compiled twin of ``turnwire/csp/_codec_py.py``, function for function.

Newlines come as lists, a window of 8 KiB at a time; keywords are told apart by a perfect hash of their first eight bytes.
Nothing is copied: a message is read into int32 spans. ``turnwire.csp.spec`` gives their columns.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport (
    PyUnicode_AsUTF8AndSize, PyUnicode_CheckExact, PyUnicode_DATA, PyUnicode_DecodeUTF8, PyUnicode_GET_LENGTH, PyUnicode_New
)
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

from _native.common.slots cimport fill_slot, in_slot, new_object, slot_offset
from _native.common.text cimport column, exact_text
from turnwire.contract import LIMITS as _LIMITS
from turnwire.csp import messages as _messages
from turnwire.csp import spec as _spec

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)

cdef extern from "_native/common/short_text.h":
    object tw_ascii(const uint8_t *s, size_t n)
    object tw_pair(PyObject *key, object value, PyObject **met)

cdef extern from "_native/common/utf8_scalar.h" nogil:
    bint tw_is_ascii(const uint8_t *text, size_t size)

cdef extern from "_native/common/draft.h" nogil:
    ctypedef struct tw_draft:
        char *start
    void tw_draft_begin(tw_draft *draft)
    void tw_draft_free(tw_draft *draft)
    size_t tw_draft_size(const tw_draft *draft)
    int tw_draft_put(tw_draft *draft, const char *text, size_t size)
    bint tw_has_feed(const char *text, size_t size)

cdef extern from "_native/csp/lines.h" nogil:
    uint64_t csp_word(const uint8_t *data, int64_t place, int64_t end)
    int csp_key_length(uint64_t word, int64_t length, const uint8_t *line)
    uint64_t csp_prefix(uint64_t word, int length)
    bint csp_is_token(const uint8_t *data, int64_t start, int64_t stop, int64_t end)
    int64_t csp_key_at(const uint8_t *data, int64_t start, int64_t stop)
    int64_t csp_opening(const uint8_t *data, int64_t start, int64_t stop, int *chomped)
    int64_t csp_bad_utf8(const uint8_t *data, int64_t start, int64_t stop)

cdef extern from "_native/common/fence.h" nogil:
    ctypedef struct tw_fence:
        pass
    tw_fence tw_fence_after(tw_fence open, const uint8_t *s, size_t p, size_t end)
    bint tw_is_fence(const uint8_t *s, size_t p, size_t end)

cdef extern from "_native/csp/marks.h" nogil:
    enum:
        CSP_IS_TEXT, CSP_IS_LOOK_ALIKE, CSP_UNDECIDED
    int csp_classify_magic_line(const uint8_t *data, int64_t first, int64_t end, int final)
    bint csp_header_like(const uint8_t *data, int64_t start, int64_t stop, int marked)

cdef extern from "_native/csp/around.h" nogil:
    ctypedef struct csp_closings:
        void *lines
    enum:
        TW_BARE
    ctypedef struct csp_around:
        int form
        tw_fence fence
        csp_closings *closings
        size_t end
    size_t csp_next_closing(csp_closings *closings, const uint8_t *s, size_t place, size_t run, size_t end)
    bint csp_ends_in_log(const csp_around *a, const uint8_t *s, size_t p, size_t end)
    bint csp_opens_another(const uint8_t *s, size_t p, size_t end)

cdef extern from "_native/csp/window.h" nogil:
    ctypedef struct csp_window:
        int64_t base, stop
        int count
        const uint16_t *feeds
    ctypedef void (*csp_lister)(const uint8_t *text, int first, int blocks, csp_window *w)
    csp_lister csp_lister_of(int level)
    void csp_fill(csp_window *w, csp_lister list, const uint8_t *data, int64_t base, int64_t end, int64_t readable, int final)

cdef extern from "_native/csp/fast_path.h" nogil:
    ctypedef struct csp_key:
        uint64_t mask, want
        int size, way, bit, place
    ctypedef struct csp_keys:
        uint64_t hash_key[64]
        uint8_t hash_word[64]
        uint64_t multiplier
        uint64_t head_mask[8]
        uint64_t head_want[8]
        int head_size[8]
        int intent_size[8]
        uint8_t letter[8]
        csp_key key[8][6]
        int known[8]
        int required[8]
        int first_intent, fileop, patch
    enum:
        CSP_STATUS, CSP_PRIORITY, CSP_HEREDOC, CSP_NO_KEY
    ctypedef struct csp_reading:
        const csp_keys *keys
        const uint8_t *data
        int64_t most_bytes, most_fields, most_key
        int64_t place
        int next
        int64_t number
    int csp_fast(const csp_window *w, csp_reading *r, int32_t *rows, int most, int *why)

# --- words and reasons ----------------------------------------------------------------------------------------------

cdef enum:
    W_FROM, W_TO, W_CTX, W_INTENT
    W_PLAN, W_TASK, W_RESULT, W_ERROR, W_QUERY, W_PATCH, W_FILE, W_MEM, W_FILEOP
    W_REQ, W_IN, W_OUT, W_OWNER, W_PRIORITY, W_STATUS, W_PRODUCED, W_DATA, W_AT, W_CAUSE, W_NEXT
    W_PATH, W_BASE, W_CONTENT, W_APPLY
    WORDS
    NO_WORD = 255

_WORDS = (
    "FROM TO CTX INTENT PLAN TASK RESULT ERROR QUERY PATCH FILE MEM FILEOP REQ IN OUT OWNER PRIORITY STATUS PRODUCED DATA "
    "AT CAUSE NEXT PATH BASE CONTENT APPLY"
).split()

cdef uint64_t MULTIPLIER = 0x25b7501ac9c1ffef  # found by search: sends the words to different slots of 64
cdef csp_keys keys
cdef uint8_t slot_of[8][WORDS]  # intent, word -> slot of the row, 255 where the block has no such key
cdef uint8_t block_word[8]
cdef enum:  # the codes of ``spec.REASONS``
    R_JUNK, R_BAD_MAGIC, R_LOOK_ALIKE, R_MISSING_FROM, R_MISSING_TO, R_MISSING_CTX, R_MISSING_INTENT, R_HEADER_ORDER,
    R_DUP_HEADER, R_BAD_HEADER_VALUE, R_BAD_HEADER_LINE, R_BAD_INTENT, R_INTENT_ALIAS, R_NO_BODY, R_BLOCK_MISMATCH,
    R_BAD_ID, R_MISSING_OP, R_BAD_OP, R_OP_MISMATCH, R_MISSING_REQ, R_MISSING_STATUS, R_MISSING_AT, R_MISSING_CAUSE,
    R_MISSING_PATH, R_MISSING_BASE, R_MISSING_APPLY, R_BAD_BASE, R_BAD_APPLY, R_BAD_ENUM, R_UNKNOWN_KEY, R_DUP_FIELD,
    R_STRAY_LINE, R_TRAILING_TEXT, R_UNCLOSED, R_HEREDOC_EXPECTED, R_BAD_UTF8, R_TOO_LARGE, R_TOO_MANY,
    R_KEY_TOO_LONG
cdef int required_reason[8][6]
cdef csp_lister find_lines = csp_lister_of(2)


def _prefix(str word):
    """The first eight bytes of a word and the space behind it, and the mask over them."""
    start = f"{word} ".encode()[:8]
    return int.from_bytes(start, "little"), int.from_bytes(b"\xff" * len(start), "little")


def _prepare():
    """Fills the constant tables from ``turnwire.csp.spec``."""
    ends = {R_JUNK: "junk", R_MISSING_FROM: "missing_from", R_BAD_ENUM: "bad_enum", R_KEY_TOO_LONG: "key_too_long"}
    if {code: _spec.REASONS[code] for code in ends} != ends or len(_spec.REASONS) != R_KEY_TOO_LONG + 1:
        raise ImportError("the reasons have changed, which csp/codec.pyx has written out")
    memset(&keys, 0, sizeof(keys))
    memset(keys.hash_word, NO_WORD, sizeof(keys.hash_word))
    memset(slot_of, NO_WORD, sizeof(slot_of))
    cdef uint64_t key
    cdef int place, intent, slot
    keys.multiplier = MULTIPLIER
    keys.first_intent = W_PLAN
    for place, word in enumerate(_WORDS):
        key = int.from_bytes(word.encode(), "little")
        slot = (key * MULTIPLIER) >> 58
        if keys.hash_word[slot] != NO_WORD:
            raise ImportError("the hash of the words is not perfect")
        keys.hash_key[slot] = key
        keys.hash_word[slot] = place
    if list(_spec.HEADERS) != ["FROM", "TO", "CTX", "INTENT"]:
        raise ImportError("the headers have changed, which csp/fast_path.h has written out")
    ways = {("RESULT", "STATUS"): CSP_STATUS, ("TASK", "PRIORITY"): CSP_PRIORITY, ("FILEOP", "CONTENT"): CSP_HEREDOC}
    for intent, name in enumerate(_spec.INTENTS):
        block = _spec.BLOCK_WORD[name]
        fields = _spec.FIELDS.get(block, ())
        block_word[intent] = _WORDS.index(block)
        keys.head_size[intent] = len(block)
        keys.intent_size[intent] = len(name)
        keys.head_want[intent], keys.head_mask[intent] = _prefix(block)
        keys.letter[intent] = ord(_spec.ID_LETTER.get(block, "\0"))
        keys.known[intent] = bool(fields)
        for slot in range(6):
            keys.key[intent][slot].mask, keys.key[intent][slot].want, keys.key[intent][slot].way = 0, 1, CSP_NO_KEY
            keys.key[intent][slot].bit, keys.key[intent][slot].place = 1 << slot, 12 + 2 * slot
        if block == "FILEOP":
            keys.fileop = intent
        if block == "PATCH":
            keys.patch = intent
        for slot, field in enumerate(fields):
            slot_of[intent][_WORDS.index(field)] = slot
            keys.key[intent][slot].size = len(field)
            keys.key[intent][slot].want, keys.key[intent][slot].mask = _prefix(field)
            keys.key[intent][slot].way = ways.get((block, field), 0)
        for field, reason in _spec.REQUIRED.get(block, {}).items():
            slot = _spec.FIELDS[block].index(field)
            keys.required[intent] |= 1 << slot
            required_reason[intent][slot] = _spec.REASONS.index(reason)


_prepare()
keys_pointer = PyCapsule_New(&keys, "turnwire.csp_keys", NULL)  # for search.search


cdef inline int word_at(uint64_t prefix) noexcept nogil:
    cdef int slot = <int>((prefix * MULTIPLIER) >> 58)
    return keys.hash_word[slot] if keys.hash_key[slot] == prefix else NO_WORD


include "_native/csp/scanner.pxi"


include "_native/csp/columns.pxi"
include "_native/csp/match.pxi"
include "_native/csp/objects.pxi"


# --- the functions of the package: what is not usual goes the long way ----------------------------------------------------


def read(data, /):
    """The message of a text (str or bytes) in the plainest form, or None. It ends where the text does, in a log too."""
    cdef Py_ssize_t size
    cdef const uint8_t *text = exact_text(data, &size)
    return None if text == NULL else plain_message(data, text, size)


def decode(text, *, mode="strict", limits=_LIMITS):
    if limits is _LIMITS and mode == "strict":
        made = usual_message(text)
        if made is not None:
            return made
    return long_way().decode_closely(text, mode=mode, limits=limits)


def encode(record, bint strict=True):
    text = text_of(record, strict)
    return long_way().encode_closely(record, strict) if text is None else text


def check(message):
    return [] if clean(message) else long_way().check_closely(message)


cdef object long_way():
    from turnwire.csp import codec
    return codec
