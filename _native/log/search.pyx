"""The search of logs in C: the twin of ``log/search``. The rules are in search.h and, in readable form, in
log/search/search.py."""

import os
import sys
from types import SimpleNamespace

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

from _native.common.text cimport column
from turnwire._native.csp import codec as _csp
from turnwire.contract import LIMITS
from turnwire.csp.bulk import SCANNER as CSP
from turnwire.csp import spec as _spec
from turnwire.csp.spec import REASONS as CSP_REASONS
from turnwire.errors import DecodeError, Reason
from turnwire.json.faults import REASONS
from turnwire.json.plan import Classifier, flat, flat_signs
from turnwire.json.text import reader
from turnwire.nslip.spec import Slot
from turnwire.log import _search_py
from turnwire.log.search.rows import DTYPES, REJECT_DTYPES, Rows
from turnwire.json._rows_py import EscapeMap
from turnwire.json._wrapper_py import Numbers
from turnwire.log.search.search import Search
from turnwire.log.search.carriers import Run, Streams, _placed
from turnwire.log.search.texts import MOST_OPENING, Incomplete, Segment, Text, Walk, in_order

include "_native/json/plan.pxi"

cdef extern from "_native/log/streams.h" nogil:
    enum:
        TW_FINE, TW_FULL, TW_ASK, TW_GOES_ON
        TW_AS_IT_IS, TW_AS_NUMBERS, TW_BY_CRI
    ctypedef void (*csp_lister)(const uint8_t *text, int first, int blocks, void *w)
    csp_lister csp_lister_of(int level)
    ctypedef struct csp_keys:
        pass
    ctypedef struct csp_around:
        pass
    enum:
        TW_CSP_RECORD, TW_CSP_OPEN
    ctypedef struct tw_matched:
        int what
        int64_t stop
    ctypedef struct csp_reading:
        const csp_keys *keys
        int64_t most_bytes, most_fields, most_key
    ctypedef void (*csp_match)(const uint8_t *data, int64_t at, int64_t end, int final, int64_t most_bytes,
                               const csp_around *around, tw_matched *m) noexcept
    ctypedef struct tw_search:
        tw_lines k
        tw_region *top
        size_t at, until
        int mid, pieces, touched, fence_touched, tail_set, fence_set
        size_t since, elsewhere
        tw_spans unclosed
        uint8_t *csp_inside
        uint8_t csp_code
        uint64_t csp_present
        uint8_t csp_kinds[9]
        tw_column *csp_kind
        tw_column *csp_texts[4]
        tw_column *csp_task
        tw_column *csp_work
        uint8_t csp_task_at[9]
        uint8_t csp_status_at[9]
        void *csp_own
        int32_t *csp_spans
        void (*csp_store)(void *columns, const uint8_t *data, int32_t *row, int64_t at, int64_t shift) noexcept
        csp_lister lister
        csp_reading reading
        int filled[2]
        tw_stretch *spare_stretches
        tw_span *spare_lines
        csp_match match_message
        uint8_t csp_reasons[256]
    ctypedef struct tw_stream:
        uint8_t key[256]
        size_t key_size
        size_t start, size
        tw_stretch *stretches
        size_t count
    ctypedef struct tw_run_of_lines:
        tw_stream streams[64]
        size_t count
        tw_span *lines
        size_t line_count
        int ended
    const uint8_t *tw_text(const tw_lines *k, const tw_region *r)
    int tw_take_run(tw_search *w, const tw_region *r, size_t at, int carrier, int goes_on, size_t foreign, size_t size,
                    tw_run_of_lines *run)
    void tw_run_free(tw_run_of_lines *run)
    void tw_region_free(tw_region *r)
    int tw_take(tw_spans *t, const tw_span *lines, size_t count, size_t done)
    size_t tw_behind_taken(const tw_spans *t, size_t at)
    size_t tw_up_to_taken(const tw_spans *t, size_t at, size_t end)
    size_t tw_last_end(const tw_spans *t, size_t at)
    int tw_keep_reach(tw_search *w, tw_region *r, size_t at, size_t behind)
    size_t tw_outside(const tw_lines *k, tw_region *r, size_t at)
    size_t tw_behind_feed(const uint8_t *s, size_t start, size_t at)
    void tw_opening_tables()
    int tw_search_top(tw_search *w)
    int64_t tw_line_of(tw_lines *k, size_t at)
    int64_t tw_newlines(const uint8_t *p, size_t size)
    const uint8_t *tw_skip(const uint8_t *p, const uint8_t *end)

cdef extern from "_native/common/first_bytes.h" nogil:
    enum:
        TW_NSLIP, TW_CSP, TW_UNSURE, TW_PIECE
    unsigned tw_marks_in(const uint8_t *p, const uint8_t *end)
    int tw_json_wire(const uint8_t *p, const uint8_t *end, const unsigned *marks)
    const uint8_t *tw_behind_object(const uint8_t *p, const uint8_t *end)

tw_opening_tables()

cdef csp_match match_message = <csp_match>PyCapsule_GetPointer(_csp.match_pointer, "turnwire.csp_match")
cdef tuple CARRIERS = ("cri", "docker", "journald")
cdef tuple CSP_TEXTS = ("from", "to", "ctx", "id")
cdef tuple NSLIP_HEAD = (None, None, "conv_id", "src", "dst", "turn")
cdef tuple NSLIP_SLOTS = tuple([slot.name.lower() for slot in Slot])
cdef tuple NSLIP_TEXTS = ("status", "tag")
cdef size_t LEAST_ROWS = 256
cdef size_t MOST_GUESSED = 1 << 22  # bytes of a block for which rows are made room for at once
cdef size_t MOST_KEPT = 1 << 23  # bytes of each memory that is kept for the next block


cdef class Core:
    """The parts of a search of blocks: the plan, and the search that it leaves to the readable twin.

    density, reject_room: rows a byte and rejects that the last block had, a guess for the next one.
    """

    cdef Plan plan
    cdef object kinds, finder
    cdef int[7] csp_columns  # the places of what a message of CSP/1 fills: CSP_TEXTS, the kind, task and work; -1 for none
    cdef uint64_t csp_present
    cdef bytes csp_reasons
    cdef str own  # the wire whose own columns are asked for, where it is nSLIP or CSP/1
    cdef dict searches  # (limit, keep) -> those of the readable twin that nobody uses now
    cdef set filled
    cdef tuple known  # the types that were asked for last, and those of all arrays then
    cdef double density
    cdef size_t reject_room, arena_room, kept_room
    cdef uint8_t *arena  # memory for texts that are joined, and for what rows say of them, where no block uses it
    cdef uint8_t *kept

    def __dealloc__(self):
        free(self.arena)
        free(self.kept)

    def __cinit__(self, finder):
        self.finder, self.searches, self.own = finder, {}, finder.wire if finder.located else None
        self.plan = Plan(*finder._plan_arguments)
        names = [description.name for description in self.plan.columns]
        sources = {source: name for name, (_, source) in CSP.common.items() if name != "kind"}
        for place, name in enumerate([*map(sources.get, CSP_TEXTS), "kind", "_task", "_work"]):
            self.csp_columns[<int>place] = names.index(name) if name in names else -1
        self.csp_present = sum([1 << self.plan.valid[name] for name in ("kind", "wire") if name in self.plan.valid])
        self.csp_reasons = bytes([self.plan.reasons.index(reason) for reason in CSP_REASONS])
        self.kinds = bytes(finder.kinds["csp"])
        self.filled = {"offset", "length", "line", "place", "size", "inner", "wire", "depth", "carrier", "time", "present", "own_bytes"}
        own = finder.scanner.columns if finder.located else ()
        self.filled |= {"own_present", "spans", *(column.name for column in (*self.plan.columns, *own))}
        self.known = None, None
        self.density, self.reject_room = 1.0 / 64, LEAST_ROWS
        self.arena, self.kept, self.arena_room, self.kept_room = NULL, NULL, 0, 0

    cdef object search(self, limit, keep):
        """A search of the readable twin, for one block at a time."""
        kept = self.searches.setdefault((limit, keep), [])
        if kept:
            return kept.pop()
        finder = self.finder
        search = Search(finder, limit=limit, keep=keep)
        search.learnt = SearchMemory()
        search.classifier = Classifier(self.plan.plans, self.plan.reasons, reader("json"), limit)
        search.streams = NativeStreams(search)
        search.handlers["cri"] = search.streams.at_cri
        return search

    cdef int give_back(self, search, tw_search *w) except -1:
        cdef tw_lines *k = &w.k
        if self.arena is NULL and self.kept is NULL and max(k.arena_room, k.kept_room) <= MOST_KEPT:
            self.arena, self.arena_room, self.kept, self.kept_room = k.arena, k.arena_room, k.kept, k.kept_room
            k.arena = k.kept = NULL
        (<SearchMemory>search.learnt).give_back(w)
        search.streams.block = None
        self.searches[search.limit, search.keep].append(search)
        return 0


cdef int attach_csp(tw_search *w, Core core) except -1:
    """Sets what CSP/1 needs: keys, limits, columns."""
    cdef int text
    w.csp_code = core.finder.csp
    memcpy(w.csp_kinds, <const char *>(<bytes>core.kinds), min(len(core.kinds), 9))
    w.csp_present = core.csp_present
    w.csp_kind = NULL if core.csp_columns[4] < 0 else &w.k.rows.own[core.csp_columns[4]]
    for text in range(4):
        w.csp_texts[text] = NULL if core.csp_columns[text] < 0 else &w.k.rows.own[core.csp_columns[text]]
    w.csp_task = NULL if core.csp_columns[5] < 0 else &w.k.rows.own[core.csp_columns[5]]
    w.csp_work = NULL if core.csp_columns[6] < 0 else &w.k.rows.own[core.csp_columns[6]]
    for kind, name in enumerate(_spec.BULK_KINDS):
        task, status = _spec.BULK_WORK.get(name, (None, None))
        w.csp_task_at[<int>kind] = 4 + 2 * _spec.BULK_SPANS[name].index(task) if task else 0
        w.csp_status_at[<int>kind] = 4 + 2 * _spec.BULK_SPANS[name].index(status) if status else 0
    w.reading.keys = <const csp_keys *>PyCapsule_GetPointer(_csp.keys_pointer, "turnwire.csp_keys")
    w.reading.most_bytes, w.reading.most_fields, w.reading.most_key = w.k.limit, LIMITS.fields, LIMITS.key
    w.lister = csp_lister_of(tw_json_level)
    w.csp_store = <void (*)(void *, const uint8_t *, int32_t *, int64_t, int64_t) noexcept nogil>PyCapsule_GetPointer(
        _csp.store_pointer, "turnwire.csp_store"
    )
    w.match_message = match_message
    memcpy(w.csp_reasons, <const char *>core.csp_reasons, len(core.csp_reasons))
    return 0


cdef int attach_own_nslip(tw_among *others, dict columns, size_t room) except -1:
    """The columns of nSLIP itself."""
    cdef tw_columns *c = &others.own
    cdef int place
    others.owned = True
    c.present = <uint16_t *>column(columns, "own_present", room, 2)
    c.act, c.frame = <uint8_t *>column(columns, "act", room, 1), <uint8_t *>column(columns, "frame", room, 1)
    for place in range(2, 6):
        c.head[place] = <uint64_t *>column(columns, NSLIP_HEAD[place], room, 8)
    for place, name in enumerate(NSLIP_SLOTS):
        if name in NSLIP_TEXTS:
            c.texts[<int>NSLIP_TEXTS.index(name)] = <int64_t *>column(columns, name, room, 8)
        else:
            c.ints[place] = <uint64_t *>column(columns, name, room, 8)
    return 0


cdef class SearchedText:
    """A text for which the readable twin can be asked: the block, or one that is joined from its lines.

    Its places are offsets in the block or, of the others, in the arena; those of the twin count from its start. state: that
    of the twin, of whose lines that belong to another text this class is the one that knows them (``state.ClaimedLines``).
    """

    cdef tw_region region
    cdef tw_stretch *stretches
    cdef SearchedText outer
    cdef tw_search *w  # of the block, which lives as long as it is walked
    cdef tuple key
    cdef str carrier
    cdef object state, text
    cdef size_t unclosed_seen  # of the ranges that the state knows

    def __dealloc__(self):
        free(self.stretches)
        tw_region_free(&self.region)

    def add(self, list spans):
        """Notes lines, in order."""
        self.take(&self.region.taken, spans, self.w.at)

    cdef int take(self, tw_spans *kept, list spans, size_t done) except -1:
        cdef size_t place, count = len(spans), start = self.region.start
        cdef tw_span *lines = <tw_span *>malloc((count + 1) * sizeof(tw_span))
        cdef int taken
        if lines is NULL:
            raise MemoryError
        for place in range(count):
            lines[place].start, lines[place].stop = start + <size_t>spans[place][0], start + <size_t>spans[place][1]
        taken = tw_take(kept, lines, count, done)
        free(lines)
        if not taken:
            raise MemoryError
        return 0

    def behind(self, size_t at):
        """Behind the lines taken around a place, or the place itself."""
        return tw_behind_taken(&self.region.taken, at + self.region.start) - self.region.start

    def last_end(self, size_t at):
        """The end of the last lines taken in front of a place, or 0."""
        cdef size_t end = tw_last_end(&self.region.taken, at + self.region.start)
        return end - self.region.start if end else 0

    def up_to(self, size_t at, size_t end):
        """Up to where a text goes on that begins at a place: to the next lines that were taken, or to ``end``."""
        cdef size_t start = self.region.start
        return tw_up_to_taken(&self.region.taken, at + start, end + start) - start

    cdef tuple before(self, size_t position):
        """The twin of ``Streams.pieces_before``."""
        cdef size_t count = 0, start = self.region.outer.start
        while count < self.region.stretch_count and self.stretches[count].outer - start < position:
            count += 1
        return count, self.region.stretch_count - count, self.stretches[count - 1].outer - start if count else 0

    cdef object whole(self):
        """The text as the twin wants it."""
        cdef tw_region *r = &self.region
        cdef tw_stretch *one
        cdef const uint8_t *s
        cdef size_t place, shift
        if self.text is not None:
            return self.text
        s = tw_text(&self.w.k, r)
        data = PyBytes_FromStringAndSize(<const char *>s + r.start, r.end - r.start)
        if self.outer is None:
            self.text = Text(data, final=bool(r.final))
            return self.text
        outer = self.outer.whole()
        shift = self.outer.region.start
        stretches = []
        for place in range(r.stretch_count):
            one = &self.stretches[place]
            said = outer.data[one.outer - shift : one.until - shift]
            written = None if one.written == TW_AS_IT_IS else Numbers(said) if one.written == TW_AS_NUMBERS else EscapeMap(said)
            stretches.append(Segment(one.start, one.outer - shift, one.size, written, one.time if one.timed else None))
        self.text = Text(data, outer, stretches, final=bool(r.final), carrier=self.carrier, in_string=bool(r.in_string))
        return self.text


cdef class SearchMemory:
    """Memory for the search of one block at a time, with what searches learnt of the objects of a log: their keys and
    templates. digits: the limit under which that holds."""

    cdef tw_search *w  # NULL while a block has it
    cdef size_t digits

    def __dealloc__(self):
        if self.w is not NULL:
            tw_json_free(&self.w.k.json)
            free(self.w)

    cdef tw_search *lend(self, size_t digits) except NULL:
        cdef tw_search *w = self.w
        if w is NULL:
            w = <tw_search *>calloc(1, sizeof(tw_search))
            if w is NULL:
                raise MemoryError
        elif self.digits != digits:
            tw_json_free(&w.k.json)
            memset(w, 0, sizeof(tw_search))
        self.w, self.digits = NULL, digits
        return w

    cdef void give_back(self, tw_search *w) noexcept:
        """Clears all but what was learnt: that is most of the memory, and little of it is in use."""
        cdef char *json = <char *>&w.k.json
        cdef char *behind = json + sizeof(tw_json)
        free(w.k.rows.chosen)
        free(w.k.arena)
        free(w.k.kept)
        free(w.k.reaches.spans)
        free(w.k.firsts.spans)
        free(w.spare_stretches)
        free(w.spare_lines)
        free(w.unclosed.spans)
        memset(w, 0, json - <char *>w)
        memset(behind, 0, <char *>w + sizeof(tw_search) - behind)
        if w.k.json.no_memory or w.k.json.stamp >> 31 or w.k.json.part_room > MOST_KEPT >> 4:  # stamps would come again
            tw_json_free(&w.k.json)
            memset(&w.k.json, 0, sizeof(tw_json))
        self.w = w


cdef class Block:
    """The search of one block: what the walk wrote, and what the readable twin found at the places that it was asked about.

    top: the text that is walked.
    """

    cdef tw_search *w
    cdef tw_among others
    cdef Core core
    cdef SearchedText top
    cdef dict columns, rejects, dtypes
    cdef object memory, own_csp
    cdef object search, data
    cdef list asked  # what the twin found
    cdef list unfilled  # columns of which the search says nothing

    cdef int begin(self, Core core, search, const uint8_t *text, size_t size, size_t stop, bint final, int64_t base,
                   int64_t line, dict names, state, memory=None) except -1:
        """Begins the search of text[:stop], of which text[:size] may be read. memory: see ``searched``."""
        cdef tw_search *w
        cdef tw_lines *k
        cdef SearchedText top = SearchedText()
        cdef size_t digits
        digits = min(LIMITS.integer_digits, sys.get_int_max_str_digits() or LIMITS.integer_digits)
        core.plan.c.shape.digits = digits
        self.core, self.search, self.asked, self.dtypes = core, search, [], names
        self.w = w = (<SearchMemory>search.learnt).lend(digits)
        k = &w.k
        self.columns, self.rejects, self.memory = {}, {}, memory
        self.unfilled = [name for name in names if name not in core.filled]
        k.s, k.size, k.limit, k.stop = text, size, search.limit, stop
        k.final, k.base, k.line, k.plan = final, base, line, &core.plan.c
        k.arena, k.arena_room, k.kept, k.kept_room = core.arena, core.arena_room, core.kept, core.kept_room
        core.arena, core.arena_room, core.kept, core.kept_room = NULL, 0, NULL, 0
        k.json.shape = &core.plan.c.shape
        k.context, k.whole, k.torn, k.number, k.go_on = <void *>search.classifier, whole, torn, number, go_on
        k.counted_line = line
        w.mid = state.mid
        memset(&self.others, 0, sizeof(self.others))
        attach_nslip(k, &self.others, core.plan, search.keep)
        attach_csp(w, core)
        memset(k.json.asked, 0, sizeof(k.json.asked))
        self.grow(max(<size_t>(min(size, MOST_GUESSED) * core.density * 1.0625) + 64, LEAST_ROWS), core.reject_room)
        tw_check_templates(&k.json)
        top.region.end, top.region.final = stop, final
        self.enter(top, state)
        return 0

    cdef int enter(self, SearchedText text, state) except -1:
        """Starts the walk through a text at its beginning."""
        text.w, text.state, text.text, state.taken = self.w, state, None, text
        text.region.reached = text.region.found_behind = text.region.start
        text.region.taken.count = text.region.taken.first = 0
        text.region.unclosed = text.region.sound = text.unclosed_seen = 0
        text.region.closings.listed = text.region.next_run = 0
        self.top, self.w.top, self.w.at, self.w.filled[0] = text, &text.region, text.region.start, False
        if state.runs:
            self.search.csp_lines.begin(text.whole(), state)
        self.give()
        return self.twin(self.search.streams.go_on, ()) if state.foreign else 0

    cdef int end(self) except -1:
        """Returns what is kept for the next block."""
        if self.w is not NULL:
            self.core.give_back(self.search, self.w)
            self.w = NULL
        if self.top is not None:  # it knows the state, which knows the texts in it
            self.top.state = None
        return 0

    cdef int grow(self, size_t room, size_t reject_room) except -1:
        """Makes room for this many rows and rejects."""
        cdef tw_lines *k = &self.w.k
        cdef size_t rows = k.rows.count, bad = k.rejects.count
        columns, rejects = self.columns, self.rejects
        tw_fill_blank(&k.rows)
        self.columns = self.memory(self.dtypes, room) if self.memory is not None else empty(self.dtypes, room)
        self.rejects = {name: np.empty(reject_room, dtype) for name, dtype in REJECT_DTYPES.items()}
        for name in columns if rows else ():
            self.columns[name][:rows] = columns[name][:rows]
        for name in rejects if bad else ():
            self.rejects[name][:bad] = rejects[name][:bad]
        attach(k, self.core.plan, self.columns, self.rejects, rows, room, bad, reject_room)
        if self.core.own == "nslip":
            attach_own_nslip(&self.others, self.columns, room)
        elif self.core.own == "csp":
            if self.own_csp is None:
                self.own_csp = _csp.OwnColumns()
            self.own_csp.attach(self.columns, room)
            self.w.csp_own = PyCapsule_GetPointer(self.own_csp.pointer, "turnwire.csp_columns")
            self.w.csp_inside = <uint8_t *>column(self.columns, "inside_unclosed_heredoc", room, 1)
            self.w.csp_spans = <int32_t *>column(self.columns, "spans", room, 96)
        free(k.rows.chosen)
        k.rows.chosen = NULL
        if not tw_choose_fills(&k.rows, &self.core.plan.c, &k.json):
            raise MemoryError
        return 0

    cdef int give(self) except -1:
        """Gives the walk the state that the twin left."""
        cdef tw_search *w = self.w
        cdef tw_region *r = w.top
        state = self.top.state
        r.tail, w.tail_set, w.fence_set = bool(state.tail), False, False
        while self.top.unclosed_seen < <size_t>len(state.unclosed):
            r.unclosed = max(r.unclosed, r.start + <size_t>state.unclosed[self.top.unclosed_seen][2])
            self.top.unclosed_seen += 1
        r.fence.run = len(state.fence)
        r.fence.sign = state.fence[0] if r.fence.run else 0
        w.elsewhere = len(self.asked)
        w.until = r.end if state.open_from is None else r.start + <size_t>state.open_from
        r.hopeless.count = r.hopeless.first = 0
        if state.hopeless:  # nobody goes back to those that were passed
            ahead = sorted([place for place in state.hopeless if <size_t>place + r.start >= w.at])
            self.top.take(&r.hopeless, [(place, place + 1) for place in ahead], 0)
        if r.level:
            return 0
        w.touched, w.fence_touched = state.touched, state.fence_touched
        w.pieces = state.pieces or bool(state.runs_of_lines) or not self.search.finder.documents
        return 0

    cdef int tell(self) except -1:
        """Tells the twin what the walk knows."""
        cdef tw_search *w = self.w
        cdef size_t place
        cdef const tw_spans *hopeless = &w.top.hopeless
        state = self.top.state
        for place in range(w.unclosed.count):
            run, stop = w.unclosed.spans[place].start, w.unclosed.spans[place].stop - w.top.start
            state.unclosed.append((run, 0, stop))
        w.unclosed.count = 0
        state.hopeless = {hopeless.spans[place].start - w.top.start for place in range(hopeless.first, hopeless.count)}
        if w.tail_set:
            state.tail = bool(w.top.tail)
        if w.fence_set:
            state.fence = bytes([w.top.fence.sign]) * w.top.fence.run
            if not w.top.level:
                state.fence_touched = bool(w.fence_touched)
        return 0

    cdef int ask(self) except -1:
        """Lets the twin read what begins at the position of the walk."""
        cdef tw_search *w = self.w
        cdef size_t start = w.top.start, at = w.at - start, stored = w.k.rows.count + w.k.rejects.count, met = <size_t>len(self.asked)
        match = self.search.opening_at(self.top.whole(), at, w.mid and not w.top.level)
        if match is None:
            w.at += 1
            return 0
        self.tell()
        self.top.state.since = 0 if stored + met > w.since else 1
        self.top.state.found_behind = w.top.found_behind - start
        w.at = w.top.reached = self.twin(self.search.handlers[str(match.lastgroup)], (at, match)) + start
        if w.at > w.until and not tw_keep_reach(w, w.top, at + start, w.at):
            raise MemoryError
        if <size_t>len(self.asked) > met or w.k.rows.count + w.k.rejects.count > stored:
            w.top.found_behind = w.at
        return 0

    cdef size_t twin(self, read, tuple more) except? 0:
        """The answer of a function of the twin to the walk, whose state it may change."""
        cdef SearchedText text = self.top
        found = []
        whole = text.whole()
        try:
            return read(Walk(whole, len(whole.data), found, text.state), *more) or 0
        finally:
            for one in found:
                self.asked.append(self.placed(one, text))
            self.give()

    cdef object placed(self, one, SearchedText text):
        """Records and rejects of the twin in a text, by their places in the block."""
        while text.outer is not None:
            one = _placed(one, text.whole())
            text = text.outer
        return one

    cdef size_t walk(self) except? 0:
        """Walks through a text; where to go on when more is there."""
        cdef int result
        cdef tw_lines *k = &self.w.k
        while True:
            with nogil:
                result = tw_search_top(self.w)
            if result == TW_FINE:
                return self.w.until
            if result == TW_GOES_ON:
                return self.w.at
            if result == TW_STOPPED:
                raised()
            elif result == TW_FULL:
                self.grow_fuller()
            else:
                try:
                    self.ask()
                except Incomplete as more:
                    return min(self.w.until, self.w.at, <size_t>more.place + self.w.top.start)

    cdef int grow_fuller(self) except -1:
        """Doubles the room for rows or rejects, whichever is fuller."""
        cdef tw_lines *k = &self.w.k
        cdef size_t room = max(k.rows.room, LEAST_ROWS), reject_room = max(k.rejects.room, LEAST_ROWS)
        cdef double rows = <double>k.rows.count / room, bad = <double>k.rejects.count / reject_room
        return self.grow(2 * room if rows >= bad else room, 2 * reject_room if bad >= rows else reject_room)

    # --- texts that are joined from lines ---

    def streams(self, walk, size_t at, str carrier, foreign):
        """The twin of ``Streams.at``."""
        cdef tw_lines *k = &self.w.k
        cdef tw_run_of_lines *run = <tw_run_of_lines *>calloc(1, sizeof(tw_run_of_lines))
        cdef tw_stream *stream
        cdef size_t place, start = self.w.top.start
        cdef SearchedText outer = self.top, child
        cdef int result, which = CARRIERS.index(carrier), goes_on = foreign is not None
        cdef size_t others = foreign[0] if goes_on else 0, others_size = foreign[1] if goes_on else 0
        state = outer.state
        if run is NULL:
            raise MemoryError
        try:
            with nogil:
                result = tw_take_run(self.w, self.w.top, at + start, which, goes_on, others, others_size, run)
            if result == TW_STOPPED:
                raise MemoryError
            if result == TW_ASK:
                return Streams.at(self.search.streams, walk, at, carrier, foreign)
            if not run.line_count and not goes_on:
                return 0
            children, places = {}, []
            for place in range(run.count):
                stream = &run.streams[place]
                child = SearchedText()
                child.outer, child.carrier, child.w = outer, carrier, self.w
                child.stretches, stream.stretches = stream.stretches, NULL
                child.region.stretches, child.region.stretch_count = child.stretches, stream.count
                child.region.outer, child.region.level = &outer.region, outer.region.level + 1
                child.region.in_string = which > 0
                child.region.depth = outer.region.depth + child.region.in_string
                child.region.carrier = TW_BY_CRI + which
                child.region.start = stream.start
                child.key = tuple(bytes(stream.key[: stream.key_size]).decode().split("\0"))
                children[child.key] = child
            met = Run(carrier, -1 if goes_on else at, {})
            for place, (key, child) in enumerate(children.items()):
                before = met.state_before(state, key)
                after = before.copy()
                outside = self.run_stream(child, run.streams[place].size, after, run.ended or outer.region.final, True)
                if outside >= 0:
                    places.append(outside)
                met.texts[carrier, *key] = before, after, child
            state.runs_of_lines.append(met)
            if not tw_take(&outer.region.taken, run.lines, run.line_count, at + start):
                raise MemoryError
            if places:
                state.stop_at(walk.text.line_start(min(places)))
            return run.lines[0].stop - start if run.line_count else 0
        finally:
            tw_run_free(run)
            free(run)

    cdef int64_t run_stream(self, SearchedText child, size_t size, after, bint final, bint kept) except? -2:
        """Searches the first bytes of a text; where, in the one around it, to go on when more is there, or -1. kept: what is found
        counts."""
        cdef tw_search *w = self.w
        cdef tw_lines *k = &w.k
        cdef tw_region *r = &child.region
        cdef SearchedText outer = self.top
        cdef size_t at = w.at, rows = k.rows.count, bad = k.rejects.count, arena = k.arena_size, kept_size = k.kept_size
        cdef size_t reaches = k.reaches.count, firsts = k.firsts.count
        cdef size_t place, last, asked = len(self.asked)
        cdef int64_t outside = -1
        r.end, r.final = r.start + size, final
        self.enter(child, after)
        place = self.walk() - r.start
        text = tw_text(k, r) + r.start
        if place == size and not final:
            last = tw_behind_feed(text, 0, size)
            if size - last <= <size_t>self.search.longest_line:
                place = last
        if place < size:
            place = tw_behind_feed(text, 0, place)
        self.tell()
        if after.runs_of_lines:
            self.search.streams.commit_state(child.whole(), after, size)
        after.end(size, final)
        child.state = None
        if place < size:
            place += r.start
            outside = tw_outside(k, r, place) - r.outer.start
        if not kept:
            tw_rows_back(&k.rows, rows)
            k.rejects.count, k.arena_size, k.kept_size = bad, arena, kept_size
            k.reaches.count, k.firsts.count = reaches, firsts
            del self.asked[asked:]
        elif k.rows.count > rows or k.rejects.count > bad:
            k.mixed = True
        self.top, w.top, w.at, w.filled[0] = outer, &outer.region, at, False
        self.give()
        return outside

    cdef int64_t open_line(self, SearchedText child, size_t count):
        """The twin of ``Streams.open_line``; count: pieces in front of the position."""
        cdef tw_region *r = &child.region
        cdef const uint8_t *text = tw_text(&self.w.k, r) + r.start
        cdef size_t behind, first, number = 0
        if not 0 < count < r.stretch_count:
            return -1
        behind = child.stretches[count].start
        if not behind or text[behind - 1] == 10:
            return -1
        first = tw_behind_feed(text, 0, behind)
        if behind - first > <size_t>self.search.longest_line:
            return -1
        while child.stretches[number].start < first:  # a piece may say nothing
            number += 1
        if child.stretches[number].start == first:
            return child.stretches[number].outer - r.outer.start
        return tw_outside(&self.w.k, r, r.start + first) - r.outer.start

    cdef object state_behind(self, SearchedText child, size_t count, before):
        """The twin of ``Streams.state_behind``."""
        after = before.copy()
        self.run_stream(child, child.stretches[count].start, after, False, False)
        after.forget()
        return after

    # --- what a block gives ---

    cdef int sort(self, Part part) except -1:
        """Sets where the first bytes of rows and rejects are and, where texts of several lines were read, puts them in order."""
        cdef tw_lines *k = &self.w.k
        cdef size_t place
        here, refused = part.columns["offset"] - k.base, part.rejects["offset"] - k.base
        cdef int64_t[::1] first = here
        for place in range(k.firsts.count):
            first[k.firsts.spans[place].start] = k.firsts.spans[place].stop
        if k.mixed and (np.diff(here) < 0).any():
            order = np.argsort(here, kind="stable")
            here = here[order]
            part.columns = {name: array[order] for name, array in part.columns.items()}
        if k.mixed and (np.diff(refused) < 0).any():
            order = np.argsort(refused, kind="stable")
            refused = refused[order]
            part.rejects = {name: array[order] for name, array in part.rejects.items()}
        if k.mixed:
            part.rejects["row"] = np.searchsorted(here, refused)
        part.here, part.refused = here, refused
        return 0

    cdef object results(self, size_t place, size_t size, int64_t base, int64_t line):
        """(columns, rows, tables of rejects, position, line), and the state where the next block begins."""
        cdef tw_lines *k = &self.w.k
        cdef size_t rows = k.rows.count, bad = k.rejects.count, position = place, stop = k.stop
        cdef Part own = Part()
        state, core = self.top.state, self.core
        tw_fill_blank(&k.rows)
        for name in self.unfilled:
            self.columns[name][:rows] = 0
        own.columns = {name: array[:rows] for name, array in self.columns.items()}
        own.rejects = {name: array[:bad] for name, array in self.rejects.items()}
        own.arena = PyBytes_FromStringAndSize(<const char *>k.kept, k.kept_size) if rows else b""
        if place < stop:
            position = tw_behind_feed(k.s, 0, place)
            if not position and place >= <size_t>self.search.longest_line:
                position = place
        elif stop and not k.final and k.s[stop - 1] != 10:  # an opening may be cut in two
            position = max(self.w.top.reached, stop - min(stop, <size_t>MOST_OPENING))
        asked = sorted(self.asked, key=in_order)
        alone = position == stop and not asked
        if k.mixed or not alone:
            self.sort(own)
            own.behind, own.refused_behind = own.here + own.columns["length"], own.refused + own.rejects["length"]
        if not k.apart:
            own.columns["own_bytes"] = own.columns["length"]
        if not k.apart and alone:
            for name in ("place", "size", "inner", "depth"):
                own.columns.pop(name, None)
        elif not k.apart:
            own.columns["place"], own.columns["size"] = own.here, own.columns["length"]
            for name in ("inner", "depth"):
                if name in own.columns:
                    own.columns[name][:] = 0
        while position < stop:
            late = [one.here for one in asked if one.here < position < one.behind]
            for here, behind in ((own.here, own.behind), (own.refused, own.refused_behind)):
                over = here[(here < position) & (behind > position)]
                if len(over):
                    late.append(over.min())
            late += [k.reaches.spans[number].start for number in range(k.reaches.count)
                     if k.reaches.spans[number].start < position < k.reaches.spans[number].stop]
            if not late and state.runs_of_lines:
                late = self.search.streams.open_over(state, position)
            if not late:
                break
            position = tw_behind_feed(k.s, 0, min(late))
        if position < stop:
            asked = [one for one in asked if one.here < position]
            taken, left = np.searchsorted(own.here, position), np.searchsorted(own.refused, position)
            own.columns = {name: array[:taken] for name, array in own.columns.items()}
            own.rejects = {name: array[:left] for name, array in own.rejects.items()}
            own.here, own.refused = own.here[:taken], own.refused[:left]
        self.tell()
        state.since = self.w.since
        state.commit_state(SimpleNamespace(data=self.data), position, rows + bad if alone else len(own.here) + len(own.refused) + len(asked))
        state.end(stop, bool(k.final))
        if state.runs_of_lines:
            self.search.streams.commit_state(self.top.whole(), state, position)
        else:
            state.begun_with = None
        state.forget()
        core.density, core.reject_room = max(<double>rows / <double>max(size, 1), core.density * 0.75), max(bad + bad // 8, LEAST_ROWS)
        columns, rejects, arena = own.columns, own.rejects, own.arena
        if asked:
            columns, rejects, arena = merged(own, self.asked_part(asked, size, base, line), self.dtypes, size,
                                             core.finder.scanner)
        if arena:
            columns["arena"] = arena
        tables = [(rejects, len(rejects["offset"]))] if len(rejects["offset"]) else []
        return columns, len(columns["offset"]), tables, position, tw_line_of(k, position)

    cdef Part asked_part(self, list asked, size, base, line):
        """The results of the twin."""
        cdef Part part = Part()
        rows = Rows(self.search, self.top.whole(), size, base, line, self.dtypes)
        here, refused = [], []
        for one in asked:
            count, bad = rows.count, len(rows.rejects)
            rows.add(one)
            here += [in_order(one)] * (rows.count - count)
            refused += [in_order(one)] * (len(rows.rejects) - bad)
        part.columns, _, tables = rows.tables(None)
        part.columns.pop("arena", None)
        part.rejects = tables[0][0] if tables else {name: np.empty(0, dtype) for name, dtype in REJECT_DTYPES.items()}
        part.arena = b"".join(rows.arena)
        part.here, part.refused = np.array(here, np.int64), np.array(refused, np.int64)
        return part


cdef dict empty(dict dtypes, size_t room):
    """Arrays of these types."""
    return {name: np.empty(room, dtype) for name, dtype in dtypes.items()}


cdef tuple merged(Part own, Part part, dict dtypes, size, scanner):
    """The results of the walk in a block and, where it asked, of the twin, in the order in which they begin: columns,
    rejects, arena. A place behind the block is one in the arena; the twin's stands behind the walk's."""
    packed = scanner.packed
    if packed is not None and packed.array in part.columns and own.arena:
        packed.move(part.columns[packed.array], np.where(part.columns["place"] >= size, len(own.arena), 0))
    for name in ("place", *(column.name for column in scanner.columns if column.kind == "text")) if own.arena else ():
        if name in part.columns:
            places = part.columns[name]
            places[(places & 0xFFFFFFFF) >= size] += len(own.arena)
    own.rejects["row"] = own.rejects["row"] + np.searchsorted(part.here, own.refused)
    part.rejects["row"] = part.rejects["row"] + np.searchsorted(own.here, part.refused)
    order = np.argsort(np.concatenate([own.here, part.here]), kind="stable")
    faults = np.argsort(np.concatenate([own.refused, part.refused]), kind="stable")
    columns = {name: np.concatenate([own.columns[name], part.columns[name]])[order] for name in dtypes}
    rejects = {name: np.concatenate([own.rejects[name], part.rejects[name]])[faults] for name in REJECT_DTYPES}
    return columns, rejects, own.arena + part.arena


class NativeStreams(Streams):
    """The readable twin's streams, which are taken apart and searched by the native core where they stand in a block.

    block: the one that is searched.
    """

    block = None

    def at(self, walk, at, carrier, foreign=None):
        """The run of a carrier's lines from ``at`` on."""
        if walk.text is not (<Block>self.block).top.text:
            return Streams.at(self, walk, at, carrier, foreign)
        return (<Block>self.block).streams(walk, at, carrier, foreign)

    def open_line(self, one, position):
        """The place where the line of a text begins that is in parts in front of and behind a position, or -1."""
        if isinstance(one, SearchedText):
            return (<Block>self.block).open_line(one, (<SearchedText>one).before(position)[0])
        return Streams.open_line(self, one, position)

    @staticmethod
    def pieces_before(one, position):
        """The numbers of pieces of a text before and behind a position, and the place of the last one before it."""
        return (<SearchedText>one).before(position) if isinstance(one, SearchedText) else Streams.pieces_before(one, position)

    @staticmethod
    def text_of(one):
        """A text of a run, as the twin has it."""
        return (<SearchedText>one).whole() if isinstance(one, SearchedText) else one

    def state_behind(self, one, count, before):
        """The state behind the first pieces of a text."""
        if isinstance(one, SearchedText):
            return (<Block>self.block).state_behind(one, count, before)
        return Streams.state_behind(self, one, count, before)


cdef class Part:
    """The results of the walk through one text of a block, placed in the block: columns, rejects, and where each begins."""

    cdef dict columns, rejects
    cdef object here, behind, refused, refused_behind
    cdef bytes arena


def searched(finder, block, final, int64_t line, state, keep, limit, dtypes, memory=None):
    """(columns, rows, tables of rejects with how many there are in each, position, line) of a block: see
    ``log/_search_py.py``."""
    if finder.tokens.openings or finder.lines.openings or len(finder.documents) > 1:  # of which the readable twin alone knows
        return _search_py.searched(finder, block, final, line, state, keep, limit, dtypes)
    cdef Core core = finder._core if getattr(finder, "_core", None) is not None else Core(finder)
    finder._core = core
    cdef Block b = Block()
    cdef Py_buffer view
    cdef size_t size = block.size, stop = block.size
    data = memoryview(block.data)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    known = core.known
    if dtypes is not known[0]:
        known = core.known = dtypes, {name: np.dtype(dtype) for name, dtype in {**DTYPES, **dtypes}.items()}
    names = known[1]
    try:
        if not (final or block.cut):
            stop = tw_behind_feed(<const uint8_t *>view.buf, 0, size)
            if not stop:
                return empty(names, 0), 0, [], 0, line
        search = core.search(limit, keep)
        search.streams.block = b
        b.data = data
        b.begin(core, search, <const uint8_t *>view.buf, size, stop, final, block.base, line, names, state, memory)
        return b.results(b.walk(), block.size, block.base, line)
    finally:
        b.end()
        PyBuffer_Release(&view)


cdef Py_ssize_t most_held = _search_py.MOST_HELD


cdef class Beginning:
    """Reads whole messages at the beginning of what is fed: see ``log/_search_py.py``. A lock would cost more than a message:
    what was read counts only if no other thread has fed in the meantime."""

    cdef list decoders
    cdef object load, decode, decode_lines
    cdef object ahead  # the message that ``held`` is, if a line of CSP/1 is next
    cdef int code
    cdef Py_ssize_t limit, room
    cdef size_t version
    cdef public bytes held
    cdef public list messages
    cdef public bint plain, mid, passed, touched, tail
    cdef public Py_ssize_t offset, line

    def __init__(self, finder, load, decode, code, Py_ssize_t limit, Py_ssize_t room, lock):
        self.load, self.decode, self.limit, self.room = load, decode, limit, room
        self.code = TW_UNSURE if code is None else code
        self.decoders = [None] * TW_UNSURE
        self.held, self.messages = b"", []
        self.plain, self.mid = True, False
        self.passed = self.touched = self.tail = False
        self.offset, self.line = 0, 1

    def leave(self):
        self.plain, self.ahead = False, None
        self.version += 1
        held, self.held = self.held, b""
        return held

    def feed(self, data):
        cdef const uint8_t *s, *p, *end, *stop, *newline, *tried
        cdef unsigned marks
        cdef int code, waits = 0
        cdef bint mid = self.mid, touched = False, tail = False, fresh = not self.held
        cdef Py_ssize_t line = self.line, skipped = 0
        cdef size_t version = self.version
        cdef list found = None
        cdef list some
        cdef bytes text
        ahead = None
        if type(data) is not bytes or not self.plain or len(<bytes>data) + len(self.held) > self.room:
            return False
        if self.ahead is not None and (<bytes>data).startswith(b"CSP/1\n"):
            text, found, skipped, touched, tail, fresh = data, [self.ahead], len(self.held), True, True, True
            line += tw_newlines(self.held, <size_t>skipped)
        else:
            text = data if fresh else self.held + <bytes>data
        s = p = tried = text
        end = s + len(text)
        while p < end:
            newline = <const uint8_t *>memchr(p, c"\n", <size_t>(end - p))
            stop = end if newline is NULL else newline
            code = TW_UNSURE
            message = None
            if p[0] == c"{":
                marks = tw_marks_in(p, stop)
                code = -1 if marks & TW_PIECE else tw_json_wire(p, stop, &marks)  # a line of Docker or journald, maybe
                if newline is NULL and (end - 1)[0] == c"}":
                    message = self.read(text, p - s, stop - s, code, True)
                if newline is NULL and message is None:
                    stop = tw_behind_object(p, end)
                    waits = stop is NULL
                    if stop is not end:
                        break
            elif p[0] == c"@":
                if newline is NULL and (end - 1)[0] != c"#":
                    waits = memchr(p, c"#", <size_t>(end - p)) is NULL
                    break
                code = TW_NSLIP if stop - p > 1 and p[1] == c"a" else -1
            elif p[0] == c"C" and not mid:
                stop = next_csp(p, end)
                while stop - p > 1 and (stop - 1)[0] == (stop - 2)[0] == c"\n":  # blank lines
                    stop -= 1
                if fresh or p > s or stop < end:
                    message = self.read(text, p - s, stop - s, TW_CSP, True)
                if message is not None and stop is end:
                    ahead, waits = message, 1
                    break
                if message is None:
                    stop = csp_message(s, p, end, self.limit, &waits)
                code = -1 if stop is NULL else TW_CSP
            elif newline is not NULL and tw_skip(p, stop) is stop:
                p, mid = stop + 1, False
                line += 1
                continue
            else:
                break
            if code == TW_NSLIP and p >= tried and self.code >= 0:  # many lines at once take half the time
                tried = behind_lines(p, end, self.limit)
                some = self.read_lines(text[p - s : tried - s]) if tried > stop + 1 else None
                if some is not None:
                    if self.code == TW_NSLIP or self.code == TW_UNSURE:
                        found = some if found is None else found + some
                    p, mid, touched = tried, False, True
                    line += len(some)
                    continue
            if message is None:
                message = self.read(text, p - s, stop - s, code, False)
                if message is None:
                    break
            if code == self.code or code == TW_UNSURE or self.code == TW_UNSURE or self.code < 0:
                if found is None:
                    found = [message]
                else:
                    found.append(message)
            touched = True
            if code == TW_CSP:
                tail = True
                line += tw_newlines(p, <size_t>(stop - p))
                p = stop
            else:
                mid = newline is NULL
                line += not mid
                p = stop + (not mid)
        if version != self.version or not self.plain:  # another thread has fed
            return False
        self.version += 1
        self.held = b"" if p is end else text[p - s :] if p > s else text
        self.mid, self.line, self.ahead = mid, line, ahead
        skipped += p - s
        self.offset += skipped
        self.passed, self.touched, self.tail = self.passed or skipped > 0, self.touched or touched, self.tail or tail
        if found is None:
            found = []
        if p is end or (waits and end - p <= most_held):
            return found
        self.plain, self.messages = False, found
        return True

    cdef object read(self, bytes text, Py_ssize_t start, Py_ssize_t stop, int code, bint plainly):
        """One message, or True for one of CSP/1 that is not wanted; None if it is damaged or none, or not as plain as the core
        of its wire reads it, where that is all that is tried (plainly)."""
        if code < 0 or stop - start > self.limit or (self.code < 0 and code == TW_CSP):
            return None
        if code == TW_CSP and code != self.code and self.code != TW_UNSURE:
            return None if plainly else True
        read, decode = None, self.decode
        if code != TW_UNSURE and self.code >= 0:
            if self.decoders[code] is None:
                self.decoders[code] = self.load(code)
            read, decode = <tuple>self.decoders[code]
        if start or stop < len(text):
            text = PyBytes_FromStringAndSize(<const char *>text + start, stop - start)
        message = None if read is None else read(text)
        if message is not None or plainly:
            return message
        try:
            return decode(text)
        except DecodeError:
            return None

    cdef list read_lines(self, bytes lines):
        """The messages of lines of nSLIP; None if one is damaged."""
        if self.decode_lines is None:
            self.decode_lines = self.load(TW_NSLIP, True)[1]
        try:
            return self.decode_lines(lines)
        except DecodeError:
            return None


cdef const uint8_t *behind_lines(const uint8_t *p, const uint8_t *end, Py_ssize_t limit) noexcept:
    """Behind the last of the whole lines from p on that begin as messages of nSLIP, and are not too long."""
    cdef const uint8_t *newline
    while end - p > 1 and p[0] == c"@" and p[1] == c"a":
        newline = <const uint8_t *>memchr(p, c"\n", <size_t>(end - p))
        if newline is NULL or newline - p > limit:
            break
        p = newline + 1
    return p


cdef const uint8_t *next_csp(const uint8_t *p, const uint8_t *end) noexcept:
    """The next line behind the one at p that is just CSP/1, or end."""
    cdef const uint8_t *slash = p + 4
    while end - slash > 3:
        slash = <const uint8_t *>memchr(slash + 1, c"/", <size_t>(end - slash - 3))
        if slash is NULL:
            break
        if slash - p > 3 and memcmp(slash - 4, b"\nCSP/1\n", 7) == 0:
            return slash - 3
    return end


cdef const uint8_t *csp_message(const uint8_t *s, const uint8_t *p, const uint8_t *end, int64_t limit, int *waits) noexcept:
    """Behind the message that begins at p, or NULL. waits: more must be there to say so."""
    cdef csp_around around
    cdef tw_matched m
    if end - p < 6:
        waits[0] = memcmp(p, b"CSP/1\n", <size_t>(end - p)) == 0
        return NULL
    memset(&around, 0, sizeof(around))
    match_message(s, p - s, end - s, False, limit, &around, &m)
    waits[0] = m.what == TW_CSP_OPEN
    return s + m.stop if m.what == TW_CSP_RECORD else NULL
