"""Sums of records by their values, and requests with their answers, in C: the twin of ``log/_aggregate_py.py``."""

from libc.stdint cimport int8_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.bytes cimport PyBytes_FromStringAndSize

import os

import numpy as np

from turnwire import pairs as _pairs

cdef extern from "_native/common/keyed_hash.h" nogil:
    uint64_t tw_keyed_hash(const uint64_t *key, const uint8_t *p, size_t n)

cdef extern from "_native/log/arrow_layout.h" nogil:
    uint64_t tw_mask_at(const void *masks, int width, size_t row)
    void tw_fetch(const uint8_t *s, int64_t offset)

cdef extern from "_native/log/tables.h" nogil:
    enum: TW_TOGETHER, TW_FIELDS, TW_WAYS, TW_KEYS, TW_KEY_FIELDS, TW_COUNTS, TW_ASKED, TW_ANSWERED, TW_WAITING, TW_GIVEN_UP
    ctypedef struct tw_table:
        void *entries
        size_t count
    uint32_t *tw_table_find(const tw_table *t, uint64_t key)
    int tw_table_put(tw_table *t, uint64_t key, uint32_t value)
    ctypedef struct tw_group:
        uint64_t key
        int64_t records
        int64_t bytes
        int64_t tokens
        int64_t first
        int64_t last
        size_t name
        size_t size
        uint8_t wire
    ctypedef struct tw_tally:
        tw_group *groups
        size_t count
        uint8_t *names
    ctypedef struct tw_spans:
        const uint8_t *data[3]
        int64_t sizes[3]
        const int64_t *offsets
        const int64_t *lengths
        size_t count
    const uint8_t *tw_span(const tw_spans *s, size_t row)
    size_t tw_tally_add(tw_tally *t, size_t row, size_t count, const uint64_t *numbers, size_t known, const uint8_t *places,
                        const uint8_t *wires, const int64_t *sizes, const int64_t *times, const uint8_t *timed,
                        const int64_t *tokens, const tw_spans *texts, uint64_t *keys)
    void tw_tally_keep(tw_tally *t, const int64_t *places, size_t count)
    void tw_tally_free(tw_tally *t)
    uint64_t tw_mixed(uint64_t h, uint64_t more)
    ctypedef struct tw_key:
        int8_t *fields
        int size
        uint8_t needs
        uint8_t without
    ctypedef struct tw_way:
        tw_key *asks
        tw_key reply
        int size
        int others
        int names
        int unasking
    ctypedef struct tw_recent:
        size_t most
    ctypedef struct tw_pairing:
        tw_way *ways
        int size
        int all_at_once
        uint32_t stride
        size_t most
        tw_recent ended
        tw_recent early
        int64_t *counts
        int64_t *settled
        size_t settled_count
    ctypedef struct tw_message:
        uint64_t *fields
        int64_t time
        int64_t tag
        int timed
        int final
        int asks
        unsigned there
        unsigned ways
    void tw_message_keys(const tw_pairing *p, tw_message *m)
    int tw_take_message(tw_pairing *p, const tw_message *m)
    void tw_pairing_free(tw_pairing *p)

cdef unsigned asks_bit = _pairs.ASKS, final_bit = _pairs.FINAL
cdef uint64_t[2] SECRET
SECRET[0], SECRET[1] = (int.from_bytes(os.urandom(8), "little") for _ in range(2))
cdef char *NOTHING = b""


cdef inline uint64_t hashed(const uint8_t *p, size_t size) noexcept nogil:
    cdef uint64_t h = tw_keyed_hash(SECRET, p, size)
    return h if h else 1


def mixed(const uint64_t[::1] numbers, const uint8_t[::1] codes, uint64_t[::1] out):
    """Fills ``out`` with a number for each pair of a number and a code; 0 where the number is 0."""
    cdef Py_ssize_t row
    if not numbers.shape[0] == codes.shape[0] == out.shape[0]:
        raise ValueError("the columns do not match")
    for row in range(numbers.shape[0]):
        out[row] = (tw_mixed(numbers[row], <uint64_t>codes[row] + 1) or 1) if numbers[row] else 0


def hash_of(const uint8_t[::1] text):
    """The number of a text, the same for equal texts in this process; never 0."""
    return hashed(&text[0] if text.shape[0] else <const uint8_t *>NOTHING, <size_t>text.shape[0])


cdef inline const uint8_t *data_of(const uint8_t[::1] buffer, int64_t *size) noexcept:
    size[0] = buffer.shape[0]
    return &buffer[0] if buffer.shape[0] else <const uint8_t *>NOTHING


cdef tw_spans spans_of(const uint8_t[::1] buffer, const uint8_t[::1] arena, const uint8_t[::1] side,
                    const int64_t[::1] offsets, const int64_t[::1] lengths) except *:
    """Spans of three buffers, of which each goes on where the one before ends."""
    cdef tw_spans s
    s.count = <size_t>offsets.shape[0]
    if lengths.shape[0] != offsets.shape[0]:
        raise ValueError("offsets and lengths do not match")
    s.data[0] = data_of(buffer, &s.sizes[0])
    s.data[1] = data_of(arena, &s.sizes[1])
    s.data[2] = data_of(side, &s.sizes[2])
    s.offsets, s.lengths = NULL, NULL
    if s.count:
        s.offsets, s.lengths = &offsets[0], &lengths[0]
    return s


cdef struct Met:
    const uint8_t *text
    size_t size
    uint64_t first
    uint64_t last
    uint64_t number


cdef enum:
    MET = 256


cdef inline uint64_t number_of(Met *met, const uint8_t *p, size_t size) noexcept nogil:
    """The number of a text. Most columns have few different texts, and to compare is quicker than to hash; up to 16
    bytes are those that it begins and ends with."""
    cdef uint64_t first = 0, last = 0
    cdef size_t i
    cdef Met *one
    if size >= 8:
        memcpy(&first, p, 8)
        memcpy(&last, p + size - 8, 8)
    else:
        for i in range(size):
            first = first << 8 | p[i]
    one = &met[((first ^ (last << 1 | last >> 63) ^ size) * <uint64_t>0x9e3779b97f4a7c15) >> 56]
    if one.first != first or one.last != last or one.size != size or one.number == 0 or (
            size > 16 and memcmp(one.text + 8, p + 8, size - 16)):
        one.text, one.size, one.first, one.last, one.number = p, size, first, last, hashed(p, size)
    return one.number


cdef enum:
    COLUMNS = 16
    AHEAD = 8


def hashes(const uint8_t[::1] buffer, arena, masks, tuple columns, const uint8_t[::1] wanted, int64_t most, uint64_t[:, ::1] out):
    """Fills ``out`` with the numbers of texts: see the twin. The texts of a record lie near each other, and are asked for
    before they are read: they have left the nearest cache."""
    cdef tw_spans[COLUMNS] s
    cdef uint64_t[COLUMNS] needs
    cdef uint64_t[COLUMNS] signs
    cdef Py_buffer view
    cdef Py_ssize_t row, place, number = len(columns), count = out.shape[1]
    cdef uint64_t mask
    cdef const uint8_t *p
    cdef list odd = []
    cdef Met[MET] met
    cdef int valid, escaped
    memset(met, 0, sizeof(met))
    memset(&view, 0, sizeof(view))
    if not number == out.shape[0] <= COLUMNS:
        raise ValueError("columns and out do not match")
    if masks is not None:
        PyObject_GetBuffer(masks, &view, PyBUF_SIMPLE)
    try:
        for place in range(number):
            offsets, lengths, valid, escaped = columns[place]  # keeps the arrays alive
            s[place] = spans_of(buffer, arena, b"", offsets, lengths)
            needs[place] = <uint64_t>1 << valid if valid >= 0 else 0
            signs[place] = <uint64_t>1 << escaped if escaped >= 0 else 0
            if s[place].count != <size_t>count:
                raise ValueError("out and offsets do not match")
        if (view.itemsize and view.len != count * view.itemsize) or (wanted is not None and wanted.shape[0] != count):
            raise ValueError("masks, wanted and offsets do not match")
        if number and count:
            memset(&out[0, 0], 0, <size_t>(number * count) * sizeof(uint64_t))
        for row in range(count):
            if wanted is not None and not wanted[row]:
                continue
            for place in range(number if row + AHEAD < count else 0):
                if s[place].offsets[row + AHEAD] < buffer.shape[0]:
                    tw_fetch(&buffer[0], s[place].offsets[row + AHEAD])
            mask = tw_mask_at(view.buf, <int>view.itemsize, <size_t>row) if view.itemsize else 0
            for place in range(number):
                if mask & needs[place] != needs[place]:
                    continue
                if mask & signs[place] or s[place].lengths[row] > most:
                    odd.append((place, row))
                    continue
                p = tw_span(&s[place], <size_t>row)
                if p == NULL:
                    raise ValueError("a text lies outside of its buffer")
                out[place, row] = number_of(met, p, <size_t>s[place].lengths[row])
        return odd
    finally:
        PyBuffer_Release(&view)


def picked(tuple columns, const int64_t[::1] rows, Py_ssize_t at):
    """Copies rows of columns, each (values, out), to ``out`` from a place on: see the twin."""
    cdef Py_buffer view, to
    cdef Py_ssize_t row
    for values, out in columns:
        PyObject_GetBuffer(values, &view, PyBUF_SIMPLE)
        PyObject_GetBuffer(out, &to, PyBUF_WRITABLE)
        try:
            if view.itemsize not in (1, 8) or to.itemsize != view.itemsize or not 0 <= at <= to.len // to.itemsize - rows.shape[0]:
                raise ValueError("values have 1 or 8 bytes, as their room has")
            for row in range(rows.shape[0]):
                if not 0 <= rows[row] < view.len // view.itemsize:
                    raise ValueError("there is no such row")
                if view.itemsize == 8:
                    (<uint64_t *>to.buf)[at + row] = (<const uint64_t *>view.buf)[rows[row]]
                else:
                    (<uint8_t *>to.buf)[at + row] = (<const uint8_t *>view.buf)[rows[row]]
        finally:
            PyBuffer_Release(&view)
            PyBuffer_Release(&to)


def codes(const uint64_t[::1] numbers, int64_t[::1] out):
    """Fills ``out`` with the place of each number among the different ones, in the order in which they come first, -1 for
    0; returns the rows in which they do."""
    cdef tw_table table
    cdef Py_ssize_t row
    cdef uint32_t *known
    cdef list first = []
    memset(&table, 0, sizeof(table))
    if out.shape[0] != numbers.shape[0]:
        raise ValueError("out and numbers do not match")
    try:
        for row in range(numbers.shape[0]):
            if numbers[row] == 0:
                out[row] = -1
                continue
            known = tw_table_find(&table, numbers[row])
            if known == NULL:
                first.append(row)
                if tw_table_put(&table, numbers[row], <uint32_t>len(first)) < 0:
                    raise MemoryError
                out[row] = len(first) - 1
            else:
                out[row] = <int64_t>known[0] - 1
    finally:
        free(table.entries)
    return first


cdef class Tally:
    """Sums of records by (wire, value): see the twin."""

    cdef tw_tally tally

    def __dealloc__(self):
        tw_tally_free(&self.tally)

    def __len__(self):
        return self.tally.count

    def add(self, const uint64_t[::1] numbers, const uint8_t[::1] places, texts, const uint8_t[::1] wires,
            const int64_t[::1] sizes, const int64_t[::1] times, const uint8_t[::1] timed, const int64_t[::1] tokens,
            uint64_t[::1] keys):
        cdef tw_spans s
        cdef tw_spans *known = NULL
        cdef size_t row = 0, count = <size_t>keys.shape[0]
        cdef const uint8_t *at = NULL if places is None else &places[0]
        cdef const int64_t *spent = &tokens[0] if tokens.shape[0] else NULL
        if not keys.shape[0] == wires.shape[0] == sizes.shape[0] == times.shape[0] == timed.shape[0] == \
                (tokens.shape[0] or keys.shape[0]) == (numbers.shape[0] if places is None else places.shape[0]):
            raise ValueError("the columns do not match")
        while True:
            row = tw_tally_add(&self.tally, row, count, &numbers[0], <size_t>numbers.shape[0], at, &wires[0], &sizes[0],
                               &times[0], &timed[0], spent, known, &keys[0])
            if row == count:
                return
            if known is not NULL:
                if tw_span(known, row if at == NULL else at[row]) == NULL:
                    raise ValueError("a text lies outside of its buffer")
                raise MemoryError
            spans = buffer, arena, side, offsets, lengths = texts()  # keeps the arrays alive
            s = spans_of(buffer, arena, side, offsets, lengths)
            known = &s

    def rows(self, const int64_t[::1] order):
        cdef list found = []
        cdef Py_ssize_t i
        cdef tw_group *one
        for i in range(order.shape[0]):
            if not 0 <= order[i] < <int64_t>self.tally.count:
                raise ValueError("there is no such group")
            one = &self.tally.groups[order[i]]
            name = PyBytes_FromStringAndSize(<char *>self.tally.names + one.name, <Py_ssize_t>one.size) if one.size else b""
            times = (one.first, one.last) if one.first <= one.last else (None, None)
            found.append((one.key, one.wire, name, one.records, one.bytes, one.tokens, *times))
        return found

    def sums(self):
        cdef Py_ssize_t i
        cdef int64_t[:, ::1] view
        found = np.empty((3, self.tally.count), np.int64)
        view = found
        for i in range(found.shape[1]):
            view[0, i], view[1, i] = self.tally.groups[i].records, self.tally.groups[i].bytes
            view[2, i] = self.tally.groups[i].tokens
        return found

    def keep(self, const int64_t[::1] places):
        cdef Py_ssize_t i
        for i in range(places.shape[0]):
            if not (places[i - 1] if i else -1) < places[i] < <int64_t>self.tally.count:
                raise ValueError("there is no such group, or it is not behind the one before")
        tw_tally_keep(&self.tally, &places[0] if places.shape[0] else NULL, <size_t>places.shape[0])


cdef int fill_key(tw_key *key, tuple spec) except -1:
    fields, needs, without = spec
    if len(fields) > TW_KEY_FIELDS or any(not -1 <= field < TW_FIELDS for field in (*fields, *needs, *without)):
        raise ValueError(f"a key has at most {TW_KEY_FIELDS} of {TW_FIELDS} fields")
    key.size = len(fields)
    for number, field in enumerate(fields):
        key.fields[number] = TW_FIELDS if field < 0 else field
    key.needs, key.without = sum(1 << field for field in needs), sum(1 << field for field in without)
    return 0


cdef class Pairing:
    """The requests of one rule: see the twin."""

    cdef tw_pairing pairing
    cdef bint any_ends

    def __cinit__(self, tuple ways, bint all_at_once, bint any_ends, size_t most):
        cdef tw_way *one
        if len(ways) > TW_WAYS:
            raise ValueError(f"a rule has at most {TW_WAYS} ways to answer")
        self.pairing.size, self.pairing.all_at_once, self.any_ends = len(ways), all_at_once, any_ends
        self.pairing.most = self.pairing.ended.most = self.pairing.early.most = most
        for number, (asks, reply, others, names, unasking) in enumerate(ways):
            one = &self.pairing.ways[<int>number]
            if len(asks) > TW_KEYS:
                raise ValueError(f"a request has at most {TW_KEYS} keys for a way to answer")
            one.size, one.others, one.names, one.unasking = len(asks), others, names, unasking
            self.pairing.stride += <uint32_t>one.size
            for place, ask in enumerate(asks):
                fill_key(&one.asks[<int>place], ask)
            fill_key(&one.reply, reply)

    def __dealloc__(self):
        tw_pairing_free(&self.pairing)

    def take(self, const int64_t[::1] rows, tuple columns, const uint64_t[::1] tasks, const uint64_t[::1] ids,
             const uint8_t[::1] bits, const uint8_t[::1] kinds, const uint8_t[:, ::1] table, const uint8_t[::1] only,
             const int64_t[::1] times, const uint8_t[::1] timed, const int64_t[::1] tags):
        cdef Py_ssize_t i, row, told = 0, count = rows.shape[0], every = kinds.shape[0]
        cdef int field, place, several, failed = 0
        cdef tw_message[TW_TOGETHER] messages
        cdef tw_message *m
        cdef int64_t[::1] asking
        cdef int64_t[:, ::1] view
        cdef const uint64_t[::1] column
        cdef const uint64_t *fields[TW_FIELDS - 2]
        cdef const uint8_t *ways
        cdef const uint8_t *asks
        cdef const uint8_t *final
        if not (count == tasks.shape[0] == ids.shape[0] == bits.shape[0]) or len(columns) != TW_FIELDS - 2 or not (
            every == only.shape[0] == times.shape[0] == timed.shape[0] == tags.shape[0]
        ):
            raise ValueError("the columns do not match")
        for field in range(TW_FIELDS - 2):
            column = columns[field]
            if column.shape[0] != every:
                raise ValueError("the columns do not match")
            fields[field] = &column[0]
        ways, asks, final = &table[0, 0], &table[1, 0], &table[2, 0]
        for i in range(count):
            if not 0 <= rows[i] < every or kinds[rows[i]] >= table.shape[1]:
                raise ValueError("there is no such record")
        asked = np.empty(count, np.int64)
        asking = asked
        self.pairing.settled_count = i = 0
        with nogil:
            while i < count and failed >= 0:
                several = 0
                while i < count and several < TW_TOGETHER:
                    m, row = &messages[several], rows[i]
                    m.ways, m.asks = ways[kinds[row]] & only[row], asks[kinds[row]] and bits[i] & asks_bit
                    if m.ways or m.asks:
                        m.fields[0], m.fields[1], m.fields[2] = fields[0][row], fields[1][row], fields[2][row]
                        m.fields[3], m.fields[4], m.fields[5], m.fields[6] = tasks[i], ids[i], fields[3][row], fields[4][row]
                        m.fields[TW_FIELDS], m.there = 0, 0
                        for field in range(TW_FIELDS):
                            m.there |= <unsigned>(m.fields[field] != 0) << field
                        m.time, m.tag, m.timed = times[row], tags[row], timed[row]
                        m.final = final[kinds[row]] and (self.any_ends or bits[i] & final_bit)
                        if m.asks and m.timed:
                            asking[told] = m.tag
                            told += 1
                        tw_message_keys(&self.pairing, m)
                        several += 1
                    i += 1
                for place in range(several):
                    failed = tw_take_message(&self.pairing, &messages[place])
                    if failed < 0:
                        break
        if failed < 0:
            raise MemoryError
        settled = np.empty((self.pairing.settled_count, 2), np.int64)
        view = settled
        for row in range(settled.shape[0]):
            view[row, 0], view[row, 1] = self.pairing.settled[2 * row], self.pairing.settled[2 * row + 1]
        return asked[:told], settled

    def counts(self):
        c = self.pairing.counts
        c[TW_WAITING] = c[TW_ASKED] - c[TW_ANSWERED] - c[TW_GIVEN_UP]
        return [c[i] for i in range(TW_COUNTS)]
