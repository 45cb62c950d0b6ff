"""The search of logs in C: the twin of ``log/search``. The rules stand in search.h and, readably, in log/search/search.py."""

import os
import sys
from types import SimpleNamespace

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from turnwire._native.csp import codec as _csp
from turnwire.contract import LIMITS
from turnwire.csp.spec import REASONS as CSP_REASONS
from turnwire.json.plan import TIME_COLUMN, Judgement, flat
from turnwire.json.text import reader
from turnwire.nslip.spec import Slot
from turnwire.log import _search_py
from turnwire.log.search.rows import DTYPES, REJECT_DTYPES, Rows
from turnwire.json._rows_py import EscapeMap
from turnwire.log.search.search import Search
from turnwire.log.search.state import LONGEST_LINE, Found, More, SearchState, Walk, in_order
from turnwire.log.search.streams import Streams, _placed
from turnwire.log.search.texts import Stretch, Text

include "_native/json/plan.pxi"

cdef extern from "_native/log/streams.h" nogil:
    enum:
        TW_FINE, TW_FULL, TW_ASK, TW_GOES_ON
        TW_AT_FENCE
    ctypedef void (*csp_lister)(const uint8_t *text, int first, int blocks, void *w)
    csp_lister csp_lister_of(int level)
    ctypedef struct csp_keys:
        pass
    ctypedef struct csp_reading:
        const csp_keys *keys
        const uint8_t *data
        int64_t most_bytes, most_fields, most_key
        int log
    ctypedef struct tw_span:
        size_t start, stop
    ctypedef struct tw_search:
        tw_lines k
        size_t at, until
        int opening, mid, tail, unclosed, child, in_string, parts
        const tw_span *taken
        size_t taken_count
        const size_t *hopeless
        size_t hopeless_count
        size_t last
        uint8_t csp_code
        uint64_t csp_present
        uint8_t csp_kinds[9]
        tw_column *csp_kind
        tw_column *csp_texts[4]
        void *csp_own
        int32_t *csp_spans
        void (*csp_store)(void *columns, const uint8_t *data, int32_t *row, int64_t at, int64_t shift) noexcept
        csp_lister lister
        csp_reading reading
        void (*match_message)(const uint8_t *data, int64_t at, int64_t end, int final, int64_t most_bytes, void *m) noexcept
        int fence, tail_set
        uint8_t csp_reasons[256]
    ctypedef struct tw_stretch:
        size_t start, size, outer, until
        int64_t time
        int escaped, timed
    ctypedef struct tw_stream:
        uint8_t key[256]
        size_t key_size
        uint8_t *text
        size_t size
        tw_stretch *stretches
        size_t count
        int parts
    ctypedef struct tw_run_of_lines:
        tw_stream streams[16]
        size_t count
        tw_span *lines
        size_t line_count
        int ended
    ctypedef struct tw_map:
        const uint8_t *s
        const tw_stretch *stretches
        size_t count, stretch, seen, written
    int tw_take_run(tw_search *w, size_t at, int docker, tw_run_of_lines *run)
    void tw_run_free(tw_run_of_lines *run)
    size_t tw_stretch_at(const tw_map *m, size_t at)
    size_t tw_place_in(tw_map *m, size_t stretch, size_t at)
    void tw_map_record(tw_map *m, size_t start, size_t stop, size_t *first, size_t *last, size_t *own)
    void tw_opening_tables()
    int tw_search_block(tw_search *w)
    int64_t tw_newlines(const uint8_t *p, size_t size)
    int64_t tw_line_of(tw_lines *k, size_t at)
    void tw_set_head(tw_search *w, size_t at)
    void tw_line_head(tw_lines *k)

tw_opening_tables()

cdef tuple CSP_TEXTS = ("from", "to", "ctx", "id")
cdef tuple NSLIP_HEAD = (None, None, "conv_id", "src", "dst", "turn")
cdef tuple NSLIP_SLOTS = tuple([slot.name.lower() for slot in Slot])
cdef size_t LEAST_ROWS = 256
cdef dict PLACES = dict.fromkeys(("line", "inner", "time"), np.dtype("i8"))  # what texts that were put together need always


cdef class Core:
    """What a search of blocks is made of: the plan, and the search that it leaves to the readable twin.

    density, reject_room: rows a byte and rejects that the last block had, a guess for the next one.
    """

    cdef Plan plan
    cdef object sources, finder_sources, kinds, finder
    cdef str own  # the wire whose own columns are asked for, where it is nSLIP or CSP/1
    cdef dict searches  # (limit, keep) -> those of the readable twin that nobody uses now
    cdef set filled
    cdef double density
    cdef size_t reject_room

    def __cinit__(self, finder):
        self.finder, self.searches, self.own = finder, {}, finder.wire if finder.located else None
        self.plan = Plan(*finder._plan_arguments)
        self.sources = {name: column for column in ("sender", "receiver", "conversation", "subject")
                        for name in [source.name for source in finder.csp.sources(column)]}
        self.finder_sources = list(self.sources.items())
        self.kinds = bytes(finder.csp.kinds.tolist())
        self.filled = {"offset", "length", "line", "place", "size", "inner", "wire", "depth", "time", "present", "own_bytes"}
        own = finder.scanner.columns if finder.located else ()
        for column in (*self.plan.columns, *own):
            self.filled |= {column.name, f"{column.name}.offset", f"{column.name}.length"}
        self.filled |= {"own_present", "spans"}
        self.filled.discard("inside_unclosed_heredoc")
        self.density, self.reject_room = 1.0 / 64, LEAST_ROWS

    cdef object search(self, limit, keep):
        """A search of the readable twin, for one block at a time."""
        kept = self.searches.setdefault((limit, keep), [])
        if kept:
            return kept.pop()
        finder = self.finder
        search = Search(finder.plan, csp_code=finder.csp.code, limit=limit, keep=keep, further=finder)
        search.streams = NativeStreams(search)
        search.handlers["cri"] = search.streams.at_cri
        return search

    cdef int give_back(self, search) except -1:
        search.streams.block = None
        self.searches[search.limit, search.keep].append(search)
        return 0


cdef int attach_csp(tw_search *w, Core core) except -1:
    """Sets what CSP/1 needs: keys, limits, columns."""
    cdef Py_ssize_t place, text
    cdef Plan plan = core.plan
    w.csp_code = core.finder.csp.code
    memcpy(w.csp_kinds, <const char *>(<bytes>core.kinds), min(len(core.kinds), 9))
    w.csp_kind = NULL
    w.csp_present = 0
    names = [description.name for description in plan.columns]
    for name in ("kind", "wire"):
        if name in plan.valid:
            w.csp_present |= <uint64_t>1 << <int>plan.valid[name]
    for place in range(len(names)):
        if names[place] == "kind":
            w.csp_kind = &w.k.rows.own[place]
    for text in range(4):
        name = core.sources.get(CSP_TEXTS[text])
        w.csp_texts[text] = &w.k.rows.own[<Py_ssize_t>names.index(name)] if name in names else NULL
    w.reading.keys = <const csp_keys *>PyCapsule_GetPointer(_csp.keys_pointer, "turnwire.csp_keys")
    w.reading.data = w.k.s
    w.reading.most_bytes, w.reading.most_fields, w.reading.most_key = w.k.limit, LIMITS.fields, LIMITS.key
    w.reading.log = 1
    w.lister = csp_lister_of(2)
    w.csp_store = <void (*)(void *, const uint8_t *, int32_t *, int64_t, int64_t) noexcept nogil>PyCapsule_GetPointer(
        _csp.store_pointer, "turnwire.csp_store"
    )
    w.match_message = <void (*)(const uint8_t *, int64_t, int64_t, int, int64_t, void *) noexcept nogil>PyCapsule_GetPointer(
        _csp.match_pointer, "turnwire.csp_match"
    )
    for place in range(len(CSP_REASONS)):
        w.csp_reasons[place] = core.plan.reasons.index(CSP_REASONS[place])
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
    for place in range(9):
        c.ints[place] = <uint64_t *>column(columns, NSLIP_SLOTS[place], room, 8)
    for place, name in enumerate(("status", "tag")):
        c.text_offset[place] = <int64_t *>column(columns, f"{name}.offset", room, 8)
        c.text_length[place] = <int64_t *>column(columns, f"{name}.length", room, 8)
    return 0


cdef size_t *numbers(object found, size_t count) except NULL:
    """Memory with these numbers, which the caller frees."""
    cdef size_t *memory = <size_t *>malloc((count + 1) * sizeof(size_t))
    cdef size_t place = 0
    if memory is NULL:
        raise MemoryError
    for number in found:
        memory[place] = number
        place += 1
    return memory


cdef class Block:
    """The search of one block: what the walk wrote, and what the readable twin found at the places that it was asked about."""

    cdef tw_search *w
    cdef tw_among others
    cdef Core core
    cdef Call call
    cdef dict columns, rejects, dtypes
    cdef object memory, own_csp
    cdef size_t *taken
    cdef size_t *hopeless
    cdef object state, search, text, data
    cdef list parts  # of texts that were put together
    cdef size_t digits, in_parts, stream_last
    cdef Stream stream  # the text is one of these
    cdef Block outer
    cdef list asked  # what the twin found
    cdef list unfilled  # columns of which the search says nothing
    cdef Py_ssize_t since

    def __cinit__(self):
        self.w = <tw_search *>calloc(1, sizeof(tw_search))
        if self.w is NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef tw_lines *k
        if self.w is not NULL:
            k = &self.w.k
            tw_json_free(&k.json)
            free(k.rows.chosen)
            free(k.arena)
            free(self.taken)
            free(self.hopeless)
            free(self.w)

    cdef int begin(self, Core core, search, const uint8_t *text, size_t size, size_t stop, bint final, int64_t base,
                   int64_t line, dict names, state, memory=None) except -1:
        """Begins the search of text[:stop], of which text[:size] may be read. memory: see ``searched``."""
        cdef tw_search *w = self.w
        cdef tw_lines *k = &w.k
        self.core, self.search, self.state, self.asked, self.dtypes = core, search, state, [], names
        self.columns, self.rejects, self.parts, self.memory = {}, {}, [], memory
        self.unfilled = [name for name in names if name not in core.filled]
        self.call = Call.__new__(Call)
        self.call.judgement = Judgement(core.plan.plans, core.plan.reasons, reader("json"), search.limit)
        self.digits = core.plan.c.shape.digits = min(LIMITS.integer_digits, sys.get_int_max_str_digits() or LIMITS.integer_digits)
        k.s, k.size, k.limit, k.stop = text, size, search.limit, stop
        k.final, k.base, k.line, k.plan = final, base, line, &core.plan.c
        k.json.shape = &core.plan.c.shape
        k.context, k.whole, k.torn, k.number, k.go_on = <void *>self.call, whole, torn, number, go_on
        core.plan.lend(k, self.digits)
        k.counted_line = line
        k.apart = self.stream is not None
        w.last, w.mid, w.until = <size_t>-1, state.mid, stop
        memset(&self.others, 0, sizeof(self.others))
        attach_nslip(k, &self.others, core.plan, search.keep)
        attach_csp(w, core)
        self.grow(max(<size_t>(size * core.density * 1.0625) + 64, LEAST_ROWS), core.reject_room)
        if state.runs:
            search.csp_lines.begin(self.whole_text(), state)
        self.give()
        return 0

    cdef int end(self) except -1:
        """Gives back what is kept for the next block."""
        if self.core is not None:
            self.core.plan.give_back(&self.w.k, self.digits)
            if self.stream is None:
                self.core.give_back(self.search)
        return 0

    cdef int grow(self, size_t room, size_t reject_room) except -1:
        """Makes room for so many rows and rejects."""
        cdef tw_lines *k = &self.w.k
        cdef size_t rows = k.rows.count, bad = k.rejects.count
        columns, rejects = self.columns, self.rejects
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
            self.w.csp_spans = <int32_t *>column(self.columns, "spans", room, 96)
        free(k.rows.chosen)
        k.rows.chosen = NULL
        if not tw_choose_fills(&k.rows, &self.core.plan.c, &k.json):
            raise MemoryError
        return 0

    cdef object whole_text(self):
        """The block as the twin wants it."""
        if self.text is None:
            if self.stream is not None:
                self.text = self.stream.whole(self.outer, bool(self.w.k.final))
                if self.w.k.stop < <size_t>len(self.stream.data):
                    self.text = Text(self.stream.data[: self.w.k.stop], self.outer.whole_text(), self.text.stretches,
                                     final=bool(self.w.k.final), in_string=self.text.in_string)
            else:
                self.text = Text(bytes(self.data), final=bool(self.w.k.final))
        return self.text

    cdef size_t found_count(self) except? 0:
        return self.w.k.rows.count + self.w.k.rejects.count + <size_t>len(self.asked) + self.in_parts

    cdef int give(self) except -1:
        """Gives the walk the state that the twin left."""
        cdef size_t *memory
        state = self.state
        self.w.tail, self.w.unclosed, self.w.fence = bool(state.tail), bool(state.unclosed), bool(state.fence)
        self.w.tail_set = False
        if state.open_from is not None:
            self.w.until = state.open_from
        if <size_t>len(state.taken) != self.w.taken_count:
            memory = numbers([place for span in state.taken for place in span], 2 * len(state.taken))
            free(self.taken)
            self.taken = memory
            self.w.taken, self.w.taken_count = <const tw_span *>memory, len(state.taken)
        if <size_t>len(state.hopeless) != self.w.hopeless_count:
            memory = numbers(sorted(state.hopeless), len(state.hopeless))
            free(self.hopeless)
            self.hopeless = memory
            self.w.hopeless, self.w.hopeless_count = memory, len(state.hopeless)
        return 0

    cdef int ask(self) except -1:
        """Lets the twin read what begins where the walk stands."""
        cdef size_t at = self.w.at, count = self.found_count()
        cdef list found = []
        state, text = self.state, self.whole_text()
        match = self.search._openings.match(text.data, at)
        if match is None:
            self.w.at = at + 1
            return 0
        if self.w.last != <size_t>-1:
            behind = self.w.last
            one = self.asked[len(self.asked) - 1] if self.asked and self.asked[len(self.asked) - 1].behind == behind else None
            found.append(one if one is not None else Found(behind, behind, text, behind, behind, 0))
        before = len(found)
        if self.w.tail_set:
            state.tail = bool(self.w.tail)
        fence = state.fence
        self.stream_last = <size_t>-1
        state.since = 0 if count > <size_t>self.since else 1
        kind = str(match.lastgroup)
        try:
            self.w.at = self.search.handlers[kind](Walk(text, len(text.data), found, state), at, match)
        finally:
            self.asked += found[before:]
        if kind == "fence" and bool(fence) != bool(state.fence):
            self.since = count
        state.since = self.since
        if len(found) > before:
            self.w.last = found[len(found) - 1].behind
        elif self.stream_last != <size_t>-1:
            self.w.last = self.stream_last
        return self.give()

    cdef size_t walk(self) except? 0:
        """Walks through the block; where to go on when more is there."""
        cdef int result
        cdef tw_lines *k = &self.w.k
        while True:
            with nogil:
                result = tw_search_block(self.w)
            if result == TW_FINE:
                return self.w.until
            if result == TW_GOES_ON:
                return self.w.at
            if result == TW_STOPPED:
                raised()
            elif result == TW_FULL:
                self.grow(max(2 * k.rows.room, LEAST_ROWS), max(2 * k.rejects.room, LEAST_ROWS))
            else:
                try:
                    self.ask()
                except More as more:
                    return min(self.w.until, <size_t>more.place)


    # --- texts that are put together from lines ---

    def streams(self, walk, size_t at, str carrier):
        """The twin of ``Streams.at``."""
        cdef tw_lines *k = &self.w.k
        cdef tw_run_of_lines run
        cdef size_t place
        cdef Stream stream
        cdef int result, docker
        state = self.state
        memset(&run, 0, sizeof(run))
        try:
            docker = carrier == "docker"
            with nogil:
                result = tw_take_run(self.w, at, docker, &run)
            if result == TW_STOPPED:
                raise MemoryError
            if result == TW_ASK:
                return Streams.at(self.search.streams, walk, at, carrier)
            if not run.line_count:
                return 0
            self.search.streams.go_on(state, carrier, count_newlines(k.s, at), at)
            children, places = {}, []
            for place in range(run.count):
                stream = Stream()
                stream.carrier, stream.parts = carrier, bool(run.streams[place].parts)
                stream.data = PyBytes_FromStringAndSize(<const char *>run.streams[place].text, run.streams[place].size)
                stream.stretches, stream.count = run.streams[place].stretches, run.streams[place].count
                run.streams[place].stretches = NULL
                key = (bytes(run.streams[place].key[: run.streams[place].key_size]).decode(),)
                stream.key = key if carrier == "cri" else (*key, "", "", "")
                children[stream.key] = stream
            ended = bool(run.ended)
            for key, stream in children.items():
                before = state.streams.get((carrier, *key), SearchState())
                after = before.copy()
                outside = self.run_stream(stream, len(stream.data), after, ended, True)
                if outside >= 0:
                    places.append(outside)
                state.streams[carrier, *key] = after
                state.begun_streams[carrier, *key] = before, stream
            state.taken = sorted([*state.taken, *[(run.lines[line].start, run.lines[line].stop) for line in range(run.line_count)]])
            if ended:
                state.end_streams(carrier)
            if places:
                state.stop_at(walk.text.line_start(min(places)))
            return run.lines[0].stop
        finally:
            tw_run_free(&run)

    cdef int64_t run_stream(self, Stream stream, size_t size, after, bint final, bint kept) except? -2:
        """Searches the first bytes of a text; where, in the block, to go on when more is there, or -1. kept: what is found counts."""
        cdef Block b = Block()
        cdef tw_map places
        cdef size_t place, last
        cdef const uint8_t *text = <const uint8_t *><char *>stream.data
        b.stream, b.outer, b.data = stream, self, stream.data
        b.w.child, b.w.in_string, b.w.parts = True, stream.carrier == "docker", stream.parts
        try:
            b.begin(self.core, self.search, text, size, size, final, 0, 1, {**PLACES, **self.dtypes}, after)
            place = b.walk()
            if place == size and not final:
                last = rfind_newline(text, size) + 1
                if size - last <= self.w.k.limit:
                    place = last
            if place < size:
                place = rfind_newline(text, place) + 1
            if b.w.tail_set:
                after.tail = bool(b.w.tail)
            after.runs = {run for run, stop in after.open_runs if stop == size and not final}
            if kept:
                self.place_part(b, stream, place)
        finally:
            b.end()
        if place >= size:
            return -1
        memset(&places, 0, sizeof(places))
        places.s, places.stretches, places.count = self.w.k.s, stream.stretches, stream.count
        return tw_place_in(&places, tw_stretch_at(&places, place), place)

    cdef int place_part(self, Block b, Stream stream, size_t position) except -1:
        """Takes what was found in a text, in front of a place, and puts it where it stands in the block."""
        cdef tw_map places
        cdef tw_stretch *one
        cdef size_t row, first = 0, last = 0, own = 0, start, stop, fault, size = len(stream.data)
        cdef bint in_string = b.w.in_string
        cdef Part part = Part()
        cdef size_t rows = np.searchsorted(b.columns["offset"][: b.w.k.rows.count], position)
        cdef size_t bad = np.searchsorted(b.rejects["offset"][: b.w.k.rejects.count], position)
        part.columns = {name: array[:rows] for name, array in b.columns.items()}
        part.rejects = {name: array[:bad] for name, array in b.rejects.items()}
        for name in self.unfilled:
            part.columns[name][:] = 0
        part.arena = stream.data + (PyBytes_FromStringAndSize(<const char *>b.w.k.arena, b.w.k.arena_size) if b.w.k.arena_size else b"")
        part.here, part.behind, part.refused = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(bad, np.int64)
        memset(&places, 0, sizeof(places))
        places.s, places.stretches, places.count = self.w.k.s, stream.stretches, stream.count
        cdef int64_t[::1] offset = part.columns["offset"], length = part.columns["length"], owns = part.columns["own_bytes"]
        cdef int64_t[::1] times = part.columns["time"], lines = part.columns["line"], inner = part.columns["inner"]
        cdef int64_t[::1] here = part.here, behind = part.behind, refused = part.refused
        cdef uint64_t[::1] present = part.columns["present"]
        cdef uint8_t[::1] depth = part.columns["depth"]
        cdef int inner_bit = self.core.plan.valid["inner"], time_bit = self.core.plan.valid["time"]
        cdef int64_t base = self.w.k.base, moment
        for row in range(rows):
            start, stop = offset[row], offset[row] + length[row]
            one = &stream.stretches[tw_stretch_at(&places, start)]
            if depth[row]:  # in a string, of which the quote is known
                first = tw_place_in(&places, tw_stretch_at(&places, start), start)
                last, own = first + 1, length[row]
            else:
                tw_map_record(&places, start, stop, &first, &last, &own)
                length[row] = last - first
            here[row], behind[row], owns[row] = first, last, own
            offset[row] = base + first
            if in_string:
                inner[row] = start - one.start
                offset[row] = base + one.outer - 1
                present[row] |= <uint64_t>1 << inner_bit
                depth[row] += 1
            lines[row] = tw_line_of(&self.w.k, offset[row] - base)
            if not present[row] >> time_bit & 1:
                if one.timed:
                    times[row] = one.time
                    present[row] |= <uint64_t>1 << time_bit
                elif self.line_time(first, &moment):
                    times[row] = moment
                    present[row] |= <uint64_t>1 << time_bit
        part.refused_behind = np.empty(bad, np.int64)
        cdef int64_t[::1] refused_behind = part.refused_behind
        cdef int64_t[::1] bad_offset = part.rejects["offset"], bad_length = part.rejects["length"], bad_own = part.rejects["own_bytes"]
        cdef int64_t[::1] faults = part.rejects["fault"], bad_lines = part.rejects["line"], bad_inner = part.rejects["inner"]
        for row in range(bad):
            start, stop, fault = bad_offset[row], bad_offset[row] + bad_length[row], faults[row]
            one = &stream.stretches[tw_stretch_at(&places, start)]
            if in_string:
                bad_inner[row] = start - one.start
            tw_map_record(&places, start, stop, &first, &last, &own)
            bad_offset[row], bad_length[row], bad_own[row] = base + first, last - first, own
            faults[row] = base + (last + fault - stop if fault == stop or fault >= size else tw_place_in(&places, tw_stretch_at(&places, fault), fault))
            bad_lines[row] = tw_line_of(&self.w.k, first)
            refused[row], refused_behind[row] = first, last
        self.parts.append(part)
        self.in_parts += rows + bad
        if rows:
            self.stream_last = behind[rows - 1]
        child = None
        for found in sorted(b.asked, key=in_order):
            if found.here < <int64_t>position:
                child = stream.whole(self, bool(b.w.k.final))
                self.asked.append(_placed(found, child))
                self.stream_last = self.asked[len(self.asked) - 1].behind
        return 0

    cdef bint line_time(self, size_t at, int64_t *moment):
        """The time at the head of the line of a place."""
        tw_set_head(self.w, at)
        if not self.w.k.head_known:
            tw_line_head(&self.w.k)
        moment[0] = self.w.k.head_time
        return self.w.k.head_known == 1

    cdef int64_t open_line(self, Stream stream, size_t count):
        """The twin of ``Streams.open_line``; count: pieces in front of the position."""
        cdef const uint8_t *text = <const uint8_t *><char *>stream.data
        cdef size_t behind, first, number = 0
        cdef tw_map places
        if not 0 < count < stream.count:
            return -1
        behind = stream.stretches[count].start
        if not behind or text[behind - 1] == 10:
            return -1
        first = rfind_newline(text, behind) + 1
        if behind - first > self.w.k.limit:
            return -1
        while stream.stretches[number].start < first:  # a piece may say nothing
            number += 1
        if stream.stretches[number].start == first:
            return stream.stretches[number].outer
        memset(&places, 0, sizeof(places))
        places.s, places.stretches, places.count = self.w.k.s, stream.stretches, stream.count
        return tw_place_in(&places, tw_stretch_at(&places, first), first)

    cdef object state_behind(self, Stream stream, size_t count, before):
        """The twin of ``Streams.state_behind``."""
        after = before.copy()
        self.run_stream(stream, stream.stretches[count - 1].start + stream.stretches[count - 1].size if count else 0, after, False, False)
        return after

    # --- what a block gives ---

    cdef object results(self, size_t place, size_t size, int64_t base, int64_t line):
        """(columns, rows, tables of rejects, position, line), and the state where the next block begins."""
        cdef tw_lines *k = &self.w.k
        cdef size_t rows = k.rows.count, bad = k.rejects.count, position = place, stop = k.stop
        cdef Part part
        state, core = self.state, self.core
        if place < stop:
            position = rfind_newline(k.s, place) + 1
            if not position and place > k.limit:
                position = place
        own = Part()
        parts = [own, *self.parts]
        own.columns = {name: array[:rows] for name, array in self.columns.items()}
        own.rejects = {name: array[:bad] for name, array in self.rejects.items()}
        own.arena = PyBytes_FromStringAndSize(<const char *>k.arena, k.arena_size) if k.arena_size else b""
        for name in self.unfilled:
            own.columns[name][:] = 0
        own.columns["own_bytes"], own.rejects["own_bytes"] = own.columns["length"], own.rejects["length"]
        asked = sorted(self.asked, key=in_order)
        alone = position == stop and not self.parts and not asked
        if not alone:
            own.here, own.refused = own.columns["offset"] - base, own.rejects["offset"] - base
            own.behind, own.refused_behind = own.here + own.columns["length"], own.refused + own.rejects["length"]
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
            for part in parts:
                for here, behind in ((part.here, part.behind), (part.refused, part.refused_behind)):
                    over = here[(here < position) & (behind > position)]
                    if len(over):
                        late.append(over.min())
            if not late and state.begun_streams:
                late = self.search.streams.open_over(state, position)
            if not late:
                break
            position = rfind_newline(k.s, min(late)) + 1
        if position < stop:
            asked = [one for one in asked if one.here < position]
            for part in parts:
                taken, left = part.here < position, part.refused < position
                part.columns = {name: array[taken] for name, array in part.columns.items()}
                part.rejects = {name: array[left] for name, array in part.rejects.items()}
                part.here, part.refused = part.here[taken], part.refused[left]
        kept = rows + bad if alone else sum([len(part.here) + len(part.refused) for part in parts]) + len(asked)
        if self.w.tail_set:
            state.tail = bool(self.w.tail)
        state.since = self.since
        state.settle(SimpleNamespace(data=self.data), position, kept)
        state.runs = {run for run, end in state.open_runs if end == stop and not k.final}
        if state.begun_streams or state.streams:
            self.search.streams.settle(self.whole_text(), state, position)
        core.density, core.reject_room = max(<double>rows / <double>max(size, 1), core.density * 0.75), max(bad + bad // 8, LEAST_ROWS)
        if asked:
            parts.append(self.asked_part(asked, size, base, line))
        columns, rejects, arena = own.columns, own.rejects, own.arena
        if not alone:
            columns, rejects, arena = together(parts, self.dtypes, size, core.finder.scanner.packed)
        if arena:
            columns["arena"] = arena
        tables = [(rejects, len(rejects["offset"]))] if len(rejects["offset"]) else []
        return columns, len(columns["offset"]), tables, position, tw_line_of(k, position)

    cdef Part asked_part(self, list asked, size, base, line):
        """What the twin found."""
        cdef Part part = Part()
        rows = Rows(self.search, self.search.plan, (self.core.kinds, self.core.finder_sources), self.whole_text(), size, base,
                    line, self.core.finder)
        records, faults = [], []
        for one in asked:
            count, bad = len(rows.rows), len(rows.rejects)
            rows.add(one)
            records += [one.here] * (len(rows.rows) - count)
            faults += [one.here] * (len(rows.rejects) - bad)
        part.columns, _, tables = rows.tables(self.dtypes)
        part.columns.pop("arena", None)
        part.rejects = tables[0][0] if tables else {name: np.empty(0, dtype) for name, dtype in REJECT_DTYPES.items()}
        part.arena = b"".join(rows.arena)
        part.here, part.refused = np.array(records, np.int64), np.array(faults, np.int64)
        return part


cdef dict empty(dict dtypes, size_t room):
    """Arrays of these types."""
    return {name: np.empty(room, dtype) for name, dtype in dtypes.items()}


def together(parts, dtypes, size, packed):
    """The rows of all texts of a block, its own first, in the order in which they begin: columns, rejects, arena. packed: see
    ``BulkScanner``.

    A place behind the block is one in the arena; what a text put together says stands in front of its own arena.
    """
    cdef Part part, other
    arena, behind = [], 0
    for number, part in enumerate(parts):
        shift = behind if number == 0 or part.behind is None else size + behind
        if part.arena and shift:
            if packed is not None and packed.array in part.columns:
                moved = shift if part.behind is not None else np.where(part.columns["place"] >= size, shift, 0)
                packed.move(part.columns[packed.array], np.broadcast_to(moved, len(part.columns["place"])))
            for name in part.columns:
                if name == "place" or name.endswith(".offset"):
                    places = part.columns[name]
                    if part.behind is None:  # the twin's: some stand in the block
                        places[places >= size] += shift
                    elif name == "place":
                        places += shift
                    else:
                        places[part.columns[name.removesuffix("offset") + "length"] > 0] += shift
        if part.arena:
            arena.append(part.arena)
            behind += len(part.arena)
    parts = [part for part in parts if len(part.here) or len(part.refused)] or parts[:1]
    if len(parts) == 1:
        part = parts[0]
        return part.columns, part.rejects, b"".join(arena)
    for part in parts:
        part.rejects["row"] = part.rejects["row"] + sum([np.searchsorted(other.here, part.refused) for other in parts if other is not part])
    order = np.argsort(np.concatenate([part.here for part in parts]), kind="stable")
    faults = np.argsort(np.concatenate([part.refused for part in parts]), kind="stable")
    columns = {name: np.concatenate([part.columns[name] for part in parts])[order] for name in dtypes}
    rejects = {name: np.concatenate([part.rejects[name] for part in parts])[faults] for name in REJECT_DTYPES}
    return columns, rejects, b"".join(arena)


cdef size_t rfind_newline(const uint8_t *s, size_t end) noexcept nogil:
    """The last newline in front of a place, or -1, to which 1 is added."""
    while end > 0 and s[end - 1] != 10:
        end -= 1
    return end - 1


cdef int64_t count_newlines(const uint8_t *s, size_t size) noexcept nogil:
    return tw_newlines(s, size)


class NativeStreams(Streams):
    """The readable twin's streams, which are taken apart and searched by the native core where they stand in a block.

    block: the one that is searched.
    """

    block = None

    def at(self, walk, at, carrier):
        """The run of a carrier's lines from ``at`` on."""
        if carrier == "journald" or walk.text is not (<Block>self.block).text:
            return Streams.at(self, walk, at, carrier)
        return (<Block>self.block).streams(walk, at, carrier)

    def open_line(self, one, position):
        """Where the line of a text begins that is in parts in front of and behind a position, or -1."""
        if isinstance(one, Stream):
            return (<Block>self.block).open_line(one, (<Stream>one).before(position)[0])
        return Streams.open_line(self, one, position)

    def pieces_before(self, one, position):
        """How many pieces of a text stand in front of a position, how many behind it, and where the last of the former
        does."""
        return (<Stream>one).before(position) if isinstance(one, Stream) else Streams.pieces_before(one, position)

    def state_behind(self, one, count, before):
        """The state behind the first pieces of a text."""
        if isinstance(one, Stream):
            return (<Block>self.block).state_behind(one, count, before)
        return Streams.state_behind(self, one, count, before)


cdef class Stream:
    """A text that is put together from lines of the block, with the map of its places."""

    cdef tuple key
    cdef bytes data
    cdef tw_stretch *stretches
    cdef size_t count
    cdef bint parts
    cdef str carrier
    cdef object text

    def __dealloc__(self):
        free(self.stretches)

    cdef tuple before(self, size_t position):
        """The twin of ``Streams.pieces_before``."""
        cdef size_t count = 0
        while count < self.count and self.stretches[count].outer < position:
            count += 1
        return count, self.count - count, self.stretches[count - 1].outer if count else 0

    cdef object whole(self, Block block, final):
        """The text as the twin wants it; block: the one whose lines it is made of."""
        cdef size_t place
        cdef tw_stretch one
        if self.text is None:
            outer = block.whole_text()
            stretches = []
            for place in range(self.count):
                one = self.stretches[place]
                written = EscapeMap(outer.data[one.outer : one.until]) if one.escaped else None
                stretches.append(Stretch(one.start, one.outer, one.size, written, one.time if one.timed else None))
            self.text = Text(self.data, outer, stretches, final=final, carrier=self.carrier, in_string=self.carrier == "docker")
        return self.text


cdef class Part:
    """What the walk through one text of a block found, placed in the block: columns, rejects, and where each begins."""

    cdef dict columns, rejects
    cdef object here, behind, refused, refused_behind
    cdef bytes arena


def searched(finder, block, final, int64_t line, state, keep, limit, dtypes, memory=None):
    """(columns, rows, tables of rejects with how many there are in each, position, line) of a block: see
    ``log/_search_py.py``."""
    if finder.text_codes or len(finder.documents) > 1:  # further wires are read by the readable twin
        return _search_py.searched(finder, block, final, line, state, keep, limit, dtypes)
    cdef Core core = finder._core if getattr(finder, "_core", None) is not None else Core(finder)
    finder._core = core
    cdef Block b = Block()
    cdef Py_buffer view
    cdef size_t size = block.size, stop = block.size
    data = memoryview(block.data)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    names = {name: np.dtype(dtype) for name, dtype in {**DTYPES, **dtypes}.items()}
    try:
        if not final:
            stop = rfind_newline(<const uint8_t *>view.buf, size) + 1
            if not stop:
                if size <= <size_t>max(limit + 1, LONGEST_LINE):
                    return empty(names, 0), 0, [], 0, line
                stop = size
        search = core.search(limit, keep)
        search.streams.block = b
        b.data = data[:stop]
        state.begin()
        b.begin(core, search, <const uint8_t *>view.buf, size, stop, final, block.base, line, names, state, memory)
        return b.results(b.walk(), block.size, block.base, line)
    finally:
        b.end()
        PyBuffer_Release(&view)
