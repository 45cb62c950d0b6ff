# What the strings of JSON say, asked without a call of Python: see common/claims.h. Included by csp/codec.pyx.

from cpython.pycapsule cimport PyCapsule_New

cdef struct Asked:
    Bulk bulk
    int64_t limits[3]
    int64_t offsets[TW_MOST_CLAIMS]
    int64_t lengths[TW_MOST_CLAIMS]
    int64_t refused_offsets[TW_MOST_CLAIMS]
    int64_t refused_lengths[TW_MOST_CLAIMS]
    int64_t lines[TW_MOST_CLAIMS]
    int64_t faults[TW_MOST_CLAIMS]
    uint8_t reasons[TW_MOST_CLAIMS]
    uint8_t code
    uint8_t codes[256]  # of the wire's own reasons


cdef void give_claim(tw_short_texts *c, int place, size_t start, size_t size, int what, Asked *asked) noexcept nogil:
    c.claims[place].start, c.claims[place].stop, c.claims[place].what = start, start + size, what
    c.claims[place].wire, c.claims[place].reason, c.claims[place].fault = asked.code, 0, start


cdef int claims_of_text(tw_short_texts *c, const uint8_t *text, size_t size) noexcept nogil:
    """As ``ask`` of ``tw_short_texts`` says: scans the text as an input of its own, and merges rows and rejects, which are
    in order each."""
    cdef Asked *asked = <Asked *>c.owner
    cdef Bulk *b = &asked.bulk
    cdef int64_t fresh[4]
    cdef int64_t row = 0, refusal = 0
    cdef int count = 0
    memset(fresh, 0, sizeof(fresh))
    asked.limits[0] = <int64_t>max(size, <size_t>1)
    b.rows = b.refusals = 0
    start_scanner(&b.scanner, text, 0, <int64_t>size, True, asked.limits, fresh, find_lines)
    if run_bulk(b) != OK or b.scanner.place < <int64_t>size or b.rows + b.refusals > TW_MOST_CLAIMS:
        return -1
    while row < b.rows or refusal < b.refusals:
        if refusal == b.refusals or (row < b.rows and asked.offsets[row] <= asked.refused_offsets[refusal]):
            give_claim(c, count, asked.offsets[row], asked.lengths[row], TW_CLAIM_RECORD, asked)
            row += 1
        else:
            give_claim(c, count, asked.refused_offsets[refusal], asked.refused_lengths[refusal], TW_CLAIM_DAMAGED, asked)
            c.claims[count].reason = asked.codes[asked.reasons[refusal]]
            c.claims[count].fault = min(max(<size_t>asked.faults[refusal], c.claims[count].start), c.claims[count].stop)
            refusal += 1
        count += 1
    c.found += count
    return count


cdef class ShortTexts:
    """What a scan finds in short texts, one after the other. Of one thread at a time.

    code: the wire's number among all wires; reasons: for each of its own reasons, its code among those of all wires;
    longest: bytes of the longest text.
    """

    cdef tw_short_texts c
    cdef Asked asked
    cdef readonly object pointer  # a capsule, for json.lines

    def __cinit__(self, uint8_t code, bytes reasons, size_t longest):
        cdef Asked *asked = &self.asked
        cdef Bulk *b = &asked.bulk
        asked.code = code
        memcpy(asked.codes, <const char *>reasons, min(<size_t>len(reasons), sizeof(asked.codes)))
        take_limits((0, _LIMITS.fields, _LIMITS.key), asked.limits)
        b.room = b.refusal_room = TW_MOST_CLAIMS
        b.columns.offset, b.columns.length = asked.offsets, asked.lengths
        b.refused.offset, b.refused.length = asked.refused_offsets, asked.refused_lengths
        b.refused.line, b.refused.fault, b.refused.reason = asked.lines, asked.faults, asked.reasons
        self.c.longest, self.c.owner, self.c.ask = longest, asked, claims_of_text
        self.pointer = PyCapsule_New(&self.c, TW_SHORT_TEXTS, NULL)

    @property
    def found(self) -> int:
        """How many claims there were until now."""
        return self.c.found


def short_texts(int code, bytes reasons not None, Py_ssize_t longest):
    """What tells ``json.lines`` what CSP/1 claims of strings of up to ``longest`` bytes, with no call of Python for each.
    Arguments: see :class:`ShortTexts`."""
    return ShortTexts(code, reasons, longest)
