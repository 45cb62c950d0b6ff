"""CSP/1 line scanner: the compiled twin of ``turnwire/_pure/csp.py``, function for function.

Newlines come as bit masks, 256 blocks at a time; keywords are told apart by a perfect hash of their first eight bytes.
Nothing is copied: tables of int32 spans are filled with the GIL released. ``turnwire.csp.spec`` gives the columns.
"""

from cpython.buffer cimport PyBUF_CONTIG, PyBUF_CONTIG_RO, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from turnwire.csp import spec as _spec
from turnwire.errors import Reason as _Reason

cdef extern from "_native/csp_lines.h" nogil:
    ctypedef void (*csp_masks_function)(const uint8_t *, size_t, uint64_t *, uint64_t *)
    csp_masks_function csp_masks_of(int level)
    int csp_ctz(uint64_t mask)
    uint64_t csp_word(const uint8_t *data, int64_t place, int64_t end)
    int csp_key_length(uint64_t word, int64_t length, const uint8_t *line)
    uint64_t csp_prefix(uint64_t word, int length)
    bint csp_is_token(const uint8_t *data, int64_t start, int64_t stop, int64_t end)
    int64_t csp_bad_utf8(const uint8_t *data, int64_t start, int64_t stop)

cdef extern from "_native/csp_usual.h" nogil:
    ctypedef struct csp_keys:
        uint64_t hash_key[64]
        uint8_t hash_word[64]
        uint64_t multiplier
        uint64_t header_mask[4]
        uint64_t header_want[4]
        int header_size[4]
        uint64_t head_mask[8]
        uint64_t head_want[8]
        int head_size[8]
        uint8_t letter[8]
        uint64_t key_mask[8][5]
        uint64_t key_want[8][5]
        int key_size[8][5]
        int key_count[8]
        int first_intent, fileop
        int status[2]
        int priority[2]
    ctypedef struct csp_cursor:
        const uint8_t *data
        int64_t end, base, blocks
        const uint64_t *newlines
        const uint64_t *highs
        int64_t block, place, number
        uint64_t mask, high
    int csp_usual(csp_cursor *c, const csp_keys *k, int64_t bound, int32_t *row, int64_t *stop)

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
cdef int64_t ROW, EXTRA, REJECT
ROW, EXTRA, REJECT = _spec.ROW_WIDTH, _spec.EXTRA_WIDTH, _spec.REJECT_WIDTH
cdef enum:
    TEMPLATE = 8
    PREAMBLE = 9
    FENCE = 10
    INSIDE = 0x100

cdef int R_JUNK, R_BAD_MAGIC, R_LOOK_ALIKE, R_MISSING_FROM, R_HEADER_ORDER, R_DUP_HEADER, R_BAD_HEADER_VALUE
cdef int R_BAD_HEADER_LINE, R_BAD_INTENT, R_INTENT_ALIAS, R_NO_BODY, R_BLOCK_MISMATCH, R_BAD_ID, R_MISSING_OP, R_BAD_OP
cdef int R_OP_MISMATCH, R_MISSING_BASE, R_MISSING_APPLY, R_BAD_BASE, R_BAD_APPLY, R_BAD_ENUM, R_UNKNOWN_KEY, R_DUP_FIELD
cdef int R_STRAY_LINE, R_TRAILING_TEXT, R_UNCLOSED, R_HEREDOC_EXPECTED, R_BAD_UTF8, R_TOO_LARGE, R_TOO_MANY, R_KEY_TOO_LONG
cdef int required_slot[8][2]
cdef int required_reason[8][2]
cdef csp_masks_function find_masks = csp_masks_of(2)


cdef int _code(reason) except -1:
    return _spec.REASONS.index(_Reason(reason))


def _prefix(str word):
    """The first eight bytes of a word and the space behind it, and the mask over them."""
    start = f"{word} ".encode()[:8]
    return int.from_bytes(start, "little"), int.from_bytes(b"\xff" * len(start), "little")


def _prepare():
    """Fills the constant tables from ``turnwire.csp.spec``."""
    global R_JUNK, R_BAD_MAGIC, R_LOOK_ALIKE, R_MISSING_FROM, R_HEADER_ORDER, R_DUP_HEADER, R_BAD_HEADER_VALUE
    global R_BAD_HEADER_LINE, R_BAD_INTENT, R_INTENT_ALIAS, R_NO_BODY, R_BLOCK_MISMATCH, R_BAD_ID, R_MISSING_OP, R_BAD_OP
    global R_OP_MISMATCH, R_MISSING_BASE, R_MISSING_APPLY, R_BAD_BASE, R_BAD_APPLY, R_BAD_ENUM, R_UNKNOWN_KEY, R_DUP_FIELD
    global R_STRAY_LINE, R_TRAILING_TEXT, R_UNCLOSED, R_HEREDOC_EXPECTED, R_BAD_UTF8, R_TOO_LARGE, R_TOO_MANY, R_KEY_TOO_LONG
    R_JUNK, R_BAD_MAGIC, R_LOOK_ALIKE = _code("junk"), _code("bad_magic"), _code("look_alike")
    R_MISSING_FROM, R_HEADER_ORDER, R_DUP_HEADER = _code("missing_from"), _code("header_order"), _code("dup_header")
    R_BAD_HEADER_VALUE, R_BAD_HEADER_LINE = _code("bad_header_value"), _code("bad_header_line")
    R_BAD_INTENT, R_INTENT_ALIAS, R_NO_BODY = _code("bad_intent"), _code("intent_alias"), _code("no_body")
    R_BLOCK_MISMATCH, R_BAD_ID, R_MISSING_OP = _code("block_mismatch"), _code("bad_id"), _code("missing_op")
    R_BAD_OP, R_OP_MISMATCH = _code("bad_op"), _code("op_mismatch")
    R_MISSING_BASE, R_MISSING_APPLY = _code("missing_base"), _code("missing_apply")
    R_BAD_BASE, R_BAD_APPLY, R_BAD_ENUM = _code("bad_base"), _code("bad_apply"), _code("bad_enum")
    R_UNKNOWN_KEY, R_DUP_FIELD, R_STRAY_LINE = _code("unknown_key"), _code("dup_field"), _code("stray_line")
    R_TRAILING_TEXT, R_UNCLOSED = _code("trailing_text"), _code("unclosed_heredoc")
    R_HEREDOC_EXPECTED, R_BAD_UTF8 = _code("heredoc_expected"), _code("bad_utf8")
    R_TOO_LARGE, R_TOO_MANY, R_KEY_TOO_LONG = _code("message_too_large"), _code("too_many_fields"), _code("key_too_long")
    if [_spec.REASONS[R_MISSING_FROM + i] for i in range(4)] != list(_spec.MISSING_HEADER):
        raise ImportError("the reasons of missing headers must stand together")
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
    for place, word in enumerate(_spec.HEADERS):
        keys.header_size[place] = len(word)
        keys.header_want[place], keys.header_mask[place] = _prefix(word)
    for intent, name in enumerate(_spec.INTENTS):
        block = _spec.BLOCK_WORD[name]
        fields = _spec.FIELDS.get(block, ())
        block_word[intent] = _WORDS.index(block)
        keys.head_size[intent] = len(block)
        keys.head_want[intent], keys.head_mask[intent] = _prefix(block)
        keys.letter[intent] = ord(_spec.ID_LETTER.get(block, "\0"))
        keys.key_count[intent] = len(fields)
        if block == "FILEOP":
            keys.fileop = intent
        for slot, field in enumerate(fields):
            slot_of[intent][_WORDS.index(field)] = slot
            keys.key_size[intent][slot] = len(field)
            keys.key_want[intent][slot], keys.key_mask[intent][slot] = _prefix(field)
            if field == "STATUS":
                keys.status[0], keys.status[1] = intent, slot
            if field == "PRIORITY":
                keys.priority[0], keys.priority[1] = intent, slot
        required_slot[intent][0] = required_slot[intent][1] = -1
        for place, (field, reason) in enumerate(_spec.REQUIRED.get(block, {}).items()):
            required_slot[intent][place] = _spec.FIELDS[block].index(field)
            required_reason[intent][place] = _code(reason)


_prepare()


cdef inline int word_at(uint64_t prefix) noexcept nogil:
    cdef int slot = <int>((prefix * MULTIPLIER) >> 58)
    return keys.hash_word[slot] if keys.hash_key[slot] == prefix else NO_WORD


# --- lines ----------------------------------------------------------------------------------------------------------

cdef enum:
    BLOCKS = 256
    OK = 0
    END = 1
    MORE = 2
    BAD = 3  # a fault stands in the scanner
    FULL = 4
    NO_MEMORY = 5

cdef struct Line:
    int64_t start
    int64_t stop
    int64_t next
    int64_t number

cdef struct Closing:
    int64_t run
    int64_t start

cdef struct Fault:
    int reason
    int64_t offset
    int64_t line
    Line resume  # where the rest of the message goes on (start and number)
    int64_t run  # of a heredoc that never closes; -1: the message ends here

cdef struct Scanner:
    const uint8_t *data
    csp_masks_function masks
    int64_t end
    bint final
    int64_t most_bytes, most_fields, most_key
    # the cursor: start and number of the next line, the masks from ``base`` on
    int64_t place, number
    int64_t base, block, blocks
    uint64_t mask
    uint64_t high
    uint64_t newlines[BLOCKS]
    uint64_t highs[BLOCKS]
    # heredocs that were searched in vain: all lines that are only ">"
    Closing *closings
    int64_t closing_count
    int indexed
    # state of the stream
    bint tail
    int64_t run
    Fault fault
    # tables
    int32_t *rows
    int32_t *extras
    int32_t *rejects
    int64_t row_count, extra_count, reject_count, most_rows, most_extras, most_rejects


cdef void fill(Scanner *s, int64_t base) noexcept nogil:
    """Masks of the blocks from ``base`` on; bits behind the end are zero."""
    cdef int64_t left = s.end - base
    cdef int64_t whole = left >> 6
    cdef uint8_t last[64]
    s.base = base
    s.block = 0
    if whole >= BLOCKS:
        s.blocks = BLOCKS
        s.masks(s.data + base, BLOCKS, s.newlines, s.highs)
        return
    s.blocks = whole
    if whole > 0:
        s.masks(s.data + base, whole, s.newlines, s.highs)
    left -= whole << 6
    if left > 0:
        memset(last, 0, 64)
        memcpy(last, s.data + base + (whole << 6), left)
        s.masks(last, 1, &s.newlines[whole], &s.highs[whole])
        s.blocks += 1


cdef void seek(Scanner *s, int64_t place, int64_t number) noexcept nogil:
    """Moves the cursor to the start of a line."""
    s.place = place
    s.number = number
    if place >= s.base and place < s.base + (s.blocks << 6):
        s.block = (place - s.base) >> 6
    elif place < s.end:
        fill(s, place)
    else:
        s.base = place
        s.block = s.blocks = 0
        s.mask = 0
        return
    s.mask = s.newlines[s.block] & (~<uint64_t>0 << ((place - s.base) & 63))
    s.high |= s.highs[s.block]


cdef inline int64_t newline(Scanner *s) noexcept nogil:
    """The next newline, or -1."""
    cdef int64_t found
    while s.mask == 0:
        s.block += 1
        if s.block >= s.blocks:
            if s.base + (s.blocks << 6) >= s.end:
                s.block = s.blocks
                return -1
            fill(s, s.base + (s.blocks << 6))
        s.mask = s.newlines[s.block]
        s.high |= s.highs[s.block]
    found = s.base + (s.block << 6) + csp_ctz(s.mask)
    s.mask &= s.mask - 1
    return found


cdef inline int next_line(Scanner *s, Line *line) noexcept nogil:
    """OK and a line, END, or MORE where the line may go on behind the bytes at hand."""
    cdef int64_t found = newline(s)
    if found < 0:
        return last_line(s, line)
    line.start = s.place
    line.number = s.number
    line.next = found + 1
    line.stop = found
    if found > line.start and s.data[found - 1] == 13:
        line.stop = found - 1
    s.place = found + 1
    s.number += 1
    return OK


cdef int last_line(Scanner *s, Line *line) noexcept nogil:
    if not s.final:
        return MORE
    if s.place >= s.end:
        return END
    line.start = s.place
    line.number = s.number
    line.stop = line.next = s.end
    s.place = s.end
    return OK


cdef inline void back(Scanner *s, Line *line) noexcept nogil:
    """Gives a line back: the next line is this one again."""
    seek(s, line.start, line.number)


cdef inline int64_t number_behind(Scanner *s, Line *line) noexcept nogil:
    """Number of the line behind a line, which may be the last and have no newline."""
    return line.number + (1 if line.next > line.start and s.data[line.next - 1] == 10 else 0)


cdef inline bint is_blank(const uint8_t *data, Line *line) noexcept nogil:
    cdef int64_t at = line.start
    while at < line.stop:
        if data[at] != 32 and data[at] != 9:
            return False
        at += 1
    return True


cdef bint looks_like_magic(const uint8_t *data, Line *line) noexcept nogil:
    cdef int64_t at = line.start
    cdef int64_t stop = line.stop
    if stop - at >= 3 and data[at] == 0xEF and data[at + 1] == 0xBB and data[at + 2] == 0xBF:
        at += 3
    while at < stop and (data[at] == 32 or data[at] == 9):
        at += 1
    if stop - at < 3 or (data[at] | 32) != c"c" or (data[at + 1] | 32) != c"s" or (data[at + 2] | 32) != c"p":
        return False
    at += 3
    while at < stop and (data[at] == 32 or data[at] == 9):
        at += 1
    if at >= stop or data[at] != c"/":
        return False
    at += 1
    while at < stop and (data[at] == 32 or data[at] == 9):
        at += 1
    return at < stop and c"0" <= data[at] <= c"9"


cdef inline bint is_delimiter(const uint8_t *data, Line *line) noexcept nogil:
    if line.stop <= line.start:
        return False
    cdef uint8_t first = data[line.start]
    if first == c"`":
        return line.stop - line.start >= 3 and data[line.start + 1] == c"`" and data[line.start + 2] == c"`"
    if first == c"C" or first == c"c" or first == 32 or first == 9 or first == 0xEF:
        return looks_like_magic(data, line)
    return False


cdef inline bint is_magic(const uint8_t *data, Line *line) noexcept nogil:
    return line.stop - line.start == 5 and memcmp(data + line.start, b"CSP/1", 5) == 0


cdef int64_t template_head(const uint8_t *data, Line *line) noexcept nogil:
    """Length of ``CSP/1;`` or ``CSP/1 MODE;`` at the start of a line, or 0."""
    cdef int64_t size = line.stop - line.start
    if size >= 6 and memcmp(data + line.start, b"CSP/1;", 6) == 0:
        return 6
    if size >= 11 and memcmp(data + line.start, b"CSP/1 MODE;", 11) == 0:
        return 11
    return 0


cdef inline int64_t opening(const uint8_t *data, Line *line, bint *chomped) noexcept nogil:
    """The run of a heredoc's opening line, or 0."""
    cdef int64_t at = line.start
    if at >= line.stop or data[at] != c"<":
        return 0
    while at < line.stop and data[at] == c"<":
        at += 1
    cdef int64_t run = at - line.start
    chomped[0] = at + 1 == line.stop and data[at] == c"-"
    return run if run >= 3 and (at == line.stop or chomped[0]) else 0


# --- heredocs -------------------------------------------------------------------------------------------------------


cdef int64_t closing_end(Scanner *s, int64_t start, int64_t run, int64_t bound) noexcept nogil:
    """Offset behind the closing line at ``start``, which begins with ``run`` times ``>``; 0 if it does not close."""
    cdef int64_t stop = start + run
    cdef int64_t behind
    if stop < s.end and s.data[stop] == 10:
        behind = stop + 1
    elif stop + 1 < s.end and s.data[stop] == 13 and s.data[stop + 1] == 10:
        behind = stop + 2
    elif stop == s.end and s.final:
        behind = stop
    else:
        return 0
    return behind if behind <= bound else 0


cdef inline bint starts_run(const uint8_t *data, int64_t start, int64_t run, int64_t end) noexcept nogil:
    if start + run > end:
        return False
    cdef int64_t at
    for at in range(start, start + run):
        if data[at] != c">":
            return False
    return True


cdef int compare_closings(const void *left, const void *right) noexcept nogil:
    cdef const Closing *a = <const Closing *>left
    cdef const Closing *b = <const Closing *>right
    if a.run != b.run:
        return -1 if a.run < b.run else 1
    return -1 if a.start < b.start else (1 if a.start > b.start else 0)


cdef int index_closings(Scanner *s, int64_t place) noexcept nogil:
    """Lists every line from ``place`` on that is only ``>``: a failed search costs the whole rest, never pay it twice."""
    cdef int64_t at = place
    cdef int64_t stop, capacity = 0
    cdef Closing *grown
    cdef const uint8_t *found
    s.indexed = 1
    while at < s.end:
        stop = at
        while stop < s.end and s.data[stop] == c">":
            stop += 1
        if stop - at >= 3 and closing_end(s, at, stop - at, s.end):
            if s.closing_count == capacity:
                capacity = 2 * capacity + 256
                grown = <Closing *>realloc(s.closings, capacity * sizeof(Closing))
                if grown == NULL:
                    return NO_MEMORY
                s.closings = grown
            s.closings[s.closing_count].run = stop - at
            s.closings[s.closing_count].start = at
            s.closing_count += 1
        found = <const uint8_t *>memchr(s.data + stop, 10, s.end - stop)
        if found == NULL:
            break
        at = found - s.data + 1
    qsort(s.closings, s.closing_count, sizeof(Closing), compare_closings)
    return OK


cdef int find_closing(Scanner *s, int64_t run, int64_t bound, int64_t *start) noexcept nogil:
    """Moves the cursor behind the closing line of the heredoc whose content begins at the cursor. END: there is none.

    ``start`` becomes the offset of the closing line.
    """
    cdef int64_t place = s.place
    cdef int64_t number = s.number
    cdef int64_t behind, found, low, high, middle
    if bound > s.end:
        bound = s.end
    if not s.indexed:
        while s.place < bound:
            if s.data[s.place] == c">" and starts_run(s.data, s.place, run, bound):
                behind = closing_end(s, s.place, run, bound)
                if behind:
                    start[0] = s.place
                    found = newline(s)
                    s.place = behind
                    s.number += 1 if found >= 0 else 0
                    return OK
            found = newline(s)
            if found < 0 or found >= bound:
                break
            s.place = found + 1
            s.number += 1
        seek(s, place, number)
        return NO_MEMORY if index_closings(s, place) == NO_MEMORY else END
    low, high = 0, s.closing_count
    while low < high:
        middle = (low + high) >> 1
        if s.closings[middle].run < run or (s.closings[middle].run == run and s.closings[middle].start < place):
            low = middle + 1
        else:
            high = middle
    if low == s.closing_count or s.closings[low].run != run:
        return END
    behind = closing_end(s, s.closings[low].start, run, bound)
    if not behind:
        return END
    start[0] = s.closings[low].start
    while s.place < behind:
        found = newline(s)
        if found < 0:
            s.place = s.end
            break
        s.place = found + 1
        s.number += 1
    return OK


cdef int heredoc(Scanner *s, int64_t run, int64_t bound, int64_t *start) noexcept nogil:
    """OK and behind the heredoc; MORE; or BAD with the reason in the fault, the cursor where the content begins."""
    cdef int found = find_closing(s, run, bound, start)
    if found != END:
        return found
    if bound < s.end:
        s.fault.reason = R_TOO_LARGE
    elif not s.final:
        return MORE
    else:
        s.fault.reason = R_UNCLOSED
    return BAD


# --- messages -------------------------------------------------------------------------------------------------------

cdef inline int blame(Scanner *s, int reason, Line *at, Line *resume) noexcept nogil:
    s.fault.reason = reason
    s.fault.offset = at.start
    s.fault.line = at.number
    s.fault.resume = resume[0]
    s.fault.run = 0
    return BAD


cdef int too_large(Scanner *s, Line *first, Line *line) noexcept nogil:
    blame(s, R_TOO_LARGE, first, line)
    if line.start < first.next:
        s.fault.resume.start = first.next
        s.fault.resume.number = number_behind(s, first)
    s.fault.run = -1
    return BAD


cdef int is_look_alike(Scanner *s, Line *first, bint *yes) noexcept nogil:
    """Whether the record is the Compact Symbol Protocol (reading 9); moves the cursor."""
    cdef Line line
    cdef int found, size, word
    cdef bint chomped
    cdef uint64_t prefix
    cdef const uint8_t *text
    cdef int64_t length
    yes[0] = False
    seek(s, first.next, number_behind(s, first))
    for _ in range(64):
        found = next_line(s, &line)
        if found == MORE:
            return MORE
        if found == END or is_delimiter(s.data, &line) or opening(s.data, &line, &chomped):
            break
        length = line.stop - line.start
        text = s.data + line.start
        prefix = csp_word(s.data, line.start, s.end)
        size = csp_key_length(prefix, length, text)
        word = word_at(csp_prefix(prefix, size)) if 0 < size <= 8 else NO_WORD
        if word <= W_MEM and word != W_FILE or word == W_FILEOP:
            yes[0] = False
            return OK
        if word == W_STATUS or betrays(text, length):
            yes[0] = True
    return OK


cdef inline bint goes_on(uint8_t byte) noexcept nogil:
    return c"A" <= (byte & 0xDF) <= c"Z" or c"0" <= byte <= c"9" or byte == c"_"


cdef bint betrays(const uint8_t *text, int64_t length) noexcept nogil:
    cdef int64_t size = 0
    if length >= 6 and memcmp(text, b"STATUS", 6) == 0:
        size = 6
    elif length >= 5 and memcmp(text, b"SCOPE", 5) == 0:
        size = 5
    elif length >= 9 and memcmp(text, b"READ_RECS", 9) == 0:
        size = 9
    return size > 0 and (length == size or not goes_on(text[size]))


cdef int header_fault(Scanner *s, int reason, Line *first, Line *at, Line *resume) noexcept nogil:
    cdef bint yes
    if is_look_alike(s, first, &yes) == MORE:
        return MORE
    return blame(s, R_LOOK_ALIKE if yes else reason, first if yes else at, resume)


cdef int read_header(Scanner *s, Line *first, int64_t bound, int32_t *row, int *intent, Line *line) noexcept nogil:
    """Reads to the line behind the header, which is left in ``line`` (its start is the end where there is none).

    END: the input ends there. Otherwise OK, MORE or BAD.
    """
    cdef int found, word, size, seen = 0, count = 0
    cdef bint ordered = True
    cdef uint64_t prefix
    cdef int64_t value, length
    cdef int named = NO_WORD
    while True:
        found = next_line(s, line)
        if found == MORE:
            return MORE
        if found == END:
            line.start = line.stop = line.next = s.place
            line.number = s.number
            break
        length = line.stop - line.start
        prefix = csp_word(s.data, line.start, s.end)
        size = csp_key_length(prefix, length, s.data + line.start)
        word = word_at(csp_prefix(prefix, size)) if 0 < size <= 8 else NO_WORD
        if word > W_INTENT and (is_blank(s.data, line) or is_delimiter(s.data, line)):
            break
        if line.next > bound:
            return too_large(s, first, line)
        if word > W_INTENT:
            return header_fault(s, R_BAD_HEADER_LINE, first, line, line)
        if seen & (1 << word):
            return blame(s, R_DUP_HEADER, line, line)
        value = line.start + size + 1
        if not csp_is_token(s.data, value, line.stop, s.end):
            return blame(s, R_BAD_HEADER_VALUE, line, line)
        ordered = ordered and word == count
        count += 1
        seen |= 1 << word
        if word < W_INTENT:
            row[4 + 2 * word] = <int32_t>value
            row[5 + 2 * word] = <int32_t>(line.stop - value)
        elif line.stop - value <= 8:
            named = word_at(csp_prefix(csp_word(s.data, value, s.end), <int>(line.stop - value)))
    if seen != 15:
        for word in range(4):
            if not seen & (1 << word):
                return header_fault(s, R_MISSING_FROM + word, first, first, line)
    if not ordered:
        return blame(s, R_HEADER_ORDER, first, line)
    if named == W_FILEOP:
        return blame(s, R_INTENT_ALIAS, first, line)
    if named < W_PLAN or named > W_MEM:
        return blame(s, R_BAD_INTENT, first, line)
    intent[0] = named - W_PLAN
    return found


cdef int read_message(Scanner *s, Line *first, int32_t *row, int *intent, int64_t *stop) noexcept nogil:
    """Reads one message strictly; OK leaves the cursor behind its block, ``stop`` is the end of the block."""
    cdef int64_t bound = first.start + s.most_bytes
    cdef Line line
    cdef Line head
    cdef int found = read_header(s, first, bound, row, intent, &line)
    if found == MORE or found == BAD:
        return found
    while found == OK and is_blank(s.data, &line):
        if line.next > bound:
            return too_large(s, first, &line)
        found = next_line(s, &line)
        if found == MORE:
            return MORE
    if found == END:
        line.start = line.next = line.stop = s.place
        line.number = s.number
    if found == END or is_delimiter(s.data, &line):
        return blame(s, R_NO_BODY, first, &line)
    if line.next > bound:
        return too_large(s, first, &line)
    head = line
    found = block_head(s, &head, intent[0], row)
    if found == BAD:
        return BAD
    if block_word[intent[0]] == W_PATCH:
        found = read_patch(s, first, &head, bound, row, &line)
    elif required_slot[intent[0]][0] < 0:
        found = read_generic(s, first, bound, row, &line)
    else:
        found = read_known(s, first, &head, bound, row, intent[0], &line)
    if found == OK:
        stop[0] = line.start
        if line.next == line.start or not is_blank(s.data, &line):
            seek(s, line.start, line.number)
    return found


cdef inline bint is_id(const uint8_t *data, int64_t start, int64_t stop, uint8_t letter) noexcept nogil:
    if stop - start < 2 or data[start] != letter:
        return False
    cdef int64_t at
    for at in range(start + 1, stop):
        if not c"0" <= data[at] <= c"9":
            return False
    return True


cdef int block_head(Scanner *s, Line *line, int intent, int32_t *row) noexcept nogil:
    cdef uint64_t prefix = csp_word(s.data, line.start, s.end)
    cdef int size = csp_key_length(prefix, line.stop - line.start, s.data + line.start)
    cdef int word = word_at(csp_prefix(prefix, size)) if 0 < size <= 8 else NO_WORD
    cdef int64_t start = line.start + size + 1
    cdef int64_t stop = line.stop
    cdef int64_t at
    cdef bint good
    if word != block_word[intent]:
        return blame(s, R_BLOCK_MISMATCH, line, line)
    if start > stop:
        start = stop
    if word == W_FILEOP:
        at = start
        while at < stop and s.data[at] != 32:
            at += 1
        stop = at
    if word == W_TASK or word == W_RESULT:
        good = is_id(s.data, start, stop, c"T")
    elif word == W_ERROR or word == W_PATCH or word == W_FILEOP:
        good = is_id(s.data, start, stop, s.data[line.start])
    else:
        good = csp_is_token(s.data, start, stop, s.end)
    if not good:
        return blame(s, R_BAD_ID, line, line)
    row[10] = <int32_t>start
    row[11] = <int32_t>(stop - start)
    if word != W_FILEOP:
        return OK
    if stop + 1 >= line.stop:
        return blame(s, R_MISSING_OP, line, line)
    if key_length(s.data, stop + 1, line.stop) != line.stop - stop - 1:
        return blame(s, R_BAD_OP, line, line)
    row[18] = <int32_t>(stop + 1)
    row[19] = <int32_t>(line.stop - stop - 1)
    return OK


cdef int64_t key_length(const uint8_t *data, int64_t start, int64_t stop) noexcept nogil:
    """Length of the KEY at the start of a line, which a space or the end of the line must follow; else 0."""
    cdef int64_t at = start
    if at >= stop or not c"A" <= data[at] <= c"Z":
        return 0
    while at < stop and (c"A" <= data[at] <= c"Z" or c"0" <= data[at] <= c"9" or data[at] == c"_"):
        at += 1
    return at - start if at == stop or data[at] == 32 else 0


cdef int read_value(
    Scanner *s, Line *first, Line *line, int64_t size, int64_t bound, int64_t *start, int64_t *length, bint *is_heredoc
) noexcept nogil:
    """The value of the field at ``line``, whose key has ``size`` bytes."""
    cdef Line following
    cdef int found
    cdef int64_t run, closing
    cdef bint chomped
    is_heredoc[0] = False
    if line.stop - line.start > size:
        start[0] = line.start + size + 1
        length[0] = line.stop - start[0]
        return OK
    found = next_line(s, &following)
    if found == MORE:
        return MORE
    run = 0 if found == END else opening(s.data, &following, &chomped)
    if run and following.next > bound:
        return too_large(s, first, &following)
    if run == 0:
        if found == OK:
            back(s, &following)
        start[0] = line.stop
        length[0] = 0
        return OK
    found = heredoc(s, run, bound, &closing)
    if found == BAD:
        s.fault.offset = following.start if s.fault.reason == R_UNCLOSED else first.start
        s.fault.line = following.number if s.fault.reason == R_UNCLOSED else first.number
        s.fault.resume.start = following.next
        s.fault.resume.number = number_behind(s, &following)
        s.fault.run = run
        return BAD
    if found != OK:
        return found
    is_heredoc[0] = True
    start[0] = following.next
    length[0] = closing - following.next
    if chomped and length[0]:
        length[0] -= 1
    return OK


cdef inline int block_line(Scanner *s, Line *first, int64_t bound, Line *line) noexcept nogil:
    """The next line of a block; END where the block ends, with ``line`` at the place behind it."""
    cdef int found = next_line(s, line)
    if found == END:
        line.start = line.next = line.stop = s.place
        line.number = s.number
        return END
    if found == MORE:
        return MORE
    if is_blank(s.data, line) or is_delimiter(s.data, line):
        return END
    return OK if line.next <= bound else too_large(s, first, line)


cdef bint in_enum(const uint8_t *data, int word, int64_t start, int64_t length) noexcept nogil:
    if word == W_PRIORITY:
        return length == 2 and data[start] == c"P" and c"1" <= data[start + 1] <= c"3"
    return (
        (length == 2 and memcmp(data + start, b"OK", 2) == 0)
        or (length == 4 and memcmp(data + start, b"FAIL", 4) == 0)
        or (length == 7 and memcmp(data + start, b"PARTIAL", 7) == 0)
    )


cdef int read_known(
    Scanner *s, Line *first, Line *head, int64_t bound, int32_t *row, int intent, Line *line
) noexcept nogil:
    cdef int found, size, word, slot, place
    cdef uint64_t prefix
    cdef int64_t start, length
    cdef bint is_heredoc
    while True:
        found = block_line(s, first, bound, line)
        if found != OK:
            break
        prefix = csp_word(s.data, line.start, s.end)
        size = csp_key_length(prefix, line.stop - line.start, s.data + line.start)
        word = word_at(csp_prefix(prefix, size)) if 0 < size <= 8 else NO_WORD
        slot = NO_WORD if word == NO_WORD else slot_of[intent][word]
        if slot == NO_WORD:
            found = R_UNKNOWN_KEY if key_length(s.data, line.start, line.stop) else R_STRAY_LINE
            return blame(s, found, line, line)
        if row[13 + 2 * slot] >= 0:
            return blame(s, R_DUP_FIELD, line, line)
        found = read_value(s, first, line, size, bound, &start, &length, &is_heredoc)
        if found != OK:
            return found
        if word == W_CONTENT and not is_heredoc:
            return blame(s, R_HEREDOC_EXPECTED, line, line)
        if (word == W_STATUS or word == W_PRIORITY) and not in_enum(s.data, word, start, length):
            return blame(s, R_BAD_ENUM, line, line)
        row[12 + 2 * slot] = <int32_t>start
        row[13 + 2 * slot] = <int32_t>length
    if found != END:
        return found
    for place in range(2):
        slot = required_slot[intent][place]
        if slot >= 0 and row[13 + 2 * slot] < 0:
            return blame(s, required_reason[intent][place], head, line)
    return OK


cdef int add_extra(
    Scanner *s, int sign, int64_t key, int64_t size, int64_t start, int64_t length
) noexcept nogil:
    if s.extra_count >= s.most_extras:
        return FULL
    cdef int32_t *extra = s.extras + 5 * s.extra_count
    extra[0] = sign
    extra[1] = <int32_t>key
    extra[2] = <int32_t>size
    extra[3] = <int32_t>start
    extra[4] = <int32_t>length
    s.extra_count += 1
    return OK


cdef int read_generic(Scanner *s, Line *first, int64_t bound, int32_t *row, Line *line) noexcept nogil:
    cdef int found
    cdef int64_t size, start, length
    cdef int64_t before = s.extra_count
    cdef bint is_heredoc
    while True:
        found = block_line(s, first, bound, line)
        if found != OK:
            break
        size = key_length(s.data, line.start, line.stop)
        if size == 0:
            return blame(s, R_STRAY_LINE, line, line)
        if size > s.most_key:
            return blame(s, R_KEY_TOO_LONG, line, line)
        if s.extra_count - before >= s.most_fields:
            return blame(s, R_TOO_MANY, line, line)
        found = read_value(s, first, line, size, bound, &start, &length, &is_heredoc)
        if found == OK:
            found = add_extra(s, 0, line.start, size, start, length)
        if found != OK:
            return found
    row[23] = <int32_t>(s.extra_count - before)
    return OK if found == END else found


cdef int read_patch(Scanner *s, Line *first, Line *head, int64_t bound, int32_t *row, Line *line) noexcept nogil:
    cdef int found, reason
    cdef int64_t before = s.extra_count
    cdef int64_t size, skip, place
    cdef bint is_base
    while True:
        found = block_line(s, first, bound, line)
        if found != OK:
            break
        size = key_length(s.data, line.start, line.stop)
        is_base = size == 4 and memcmp(s.data + line.start, b"BASE", 4) == 0
        if is_base or (size == 5 and memcmp(s.data + line.start, b"APPLY", 5) == 0):
            place = 12 if is_base else 14
            if row[place + 1] >= 0:
                return blame(s, R_DUP_FIELD, line, line)
            if is_base and (s.extra_count > before or row[15] >= 0):
                return blame(s, R_STRAY_LINE, line, line)
            skip = 5 if is_base else 9
            if (
                line.stop - line.start <= skip
                or memcmp(s.data + line.start, b"BASE " if is_base else b"APPLY -> ", skip) != 0
                or not is_id(s.data, line.start + skip, line.stop, c"C")
            ):
                return blame(s, R_BAD_BASE if is_base else R_BAD_APPLY, line, line)
            row[place] = <int32_t>(line.start + skip)
            row[place + 1] = <int32_t>(line.stop - line.start - skip)
        elif row[15] >= 0 or not is_change_like(s.data, line):
            return blame(s, R_STRAY_LINE, line, line)
        else:
            reason = read_change(s, line)
            if reason == -FULL:
                return FULL
            if reason >= 0:
                return blame(s, reason, line, line)
    if found != END:
        return found
    if row[13] < 0 or row[15] < 0:
        return blame(s, R_MISSING_BASE if row[13] < 0 else R_MISSING_APPLY, head, line)
    row[23] = <int32_t>(s.extra_count - before)
    return OK


cdef inline bint is_change_like(const uint8_t *data, Line *line) noexcept nogil:
    cdef uint8_t sign = data[line.start]
    if sign == c"+" or sign == c"~" or sign == c"-":
        return True
    return line.stop - line.start >= 6 and memcmp(data + line.start + 1, b" DEF ", 5) == 0


cdef int read_change(Scanner *s, Line *line) noexcept nogil:
    """One operation of a patch; returns the reason it is none, -FULL, or -1 when it was added."""
    cdef const uint8_t *data = s.data
    cdef int64_t at = line.start + 6
    cdef int64_t stop = line.stop
    cdef int64_t name, size, word, value
    cdef uint8_t sign = data[line.start]
    cdef bint assigns, changes, wanted
    if sign != c"+" and sign != c"~" and sign != c"-":
        return R_BAD_OP
    if at > stop or memcmp(data + line.start + 1, b" DEF ", 5) != 0:
        return R_BAD_OP
    name = at
    if at >= stop or not (c"A" <= data[at] <= c"Z" or data[at] == c"_"):
        return R_BAD_OP
    while at < stop and (c"A" <= data[at] <= c"Z" or c"0" <= data[at] <= c"9" or data[at] == c"_"):
        at += 1
    size = at - name
    if at == stop:
        if sign != c"-":
            return R_OP_MISMATCH
        return -FULL if add_extra(s, sign, name, size, -1, -1) == FULL else -1
    if data[at] != 32:
        return R_BAD_OP
    at += 1
    word = at
    while word < stop and data[word] != 32:
        word += 1
    assigns = word - at == 1 and data[at] == c"="
    changes = word - at == 2 and data[at] == c":" and data[at + 1] == c"="
    wanted = assigns if sign == c"+" else (changes if sign == c"~" else False)
    if not wanted:
        return R_OP_MISMATCH if assigns or changes else R_BAD_OP
    value = word + 1 if word < stop else stop
    return -FULL if add_extra(s, sign, name, size, value, stop - value) == FULL else -1


include "csp_stream.pxi"
