/* The state of a search: the block, its rows and rejects, the texts that are searched, and the offsets of these in the block. */
#ifndef TURNWIRE_JSON_REGION_H
#define TURNWIRE_JSON_REGION_H

#include "_native/common/fence.h"
#include "_native/csp/around.h"
#include "rows.h"
#include "wrapper.h"

enum { TW_FINE, TW_FULL, TW_STOPPED };
enum { TW_TRIED_RECORD, TW_TRIED_REJECT, TW_TRIED_OTHER, TW_TRIED_BROKEN };
enum { TW_DEEPEST_STRING = 8, TW_STRING_REJECTS = 512, TW_NEAR_END = 32 };

typedef struct {
    int64_t *offset, *length, *line, *fault, *own_bytes;
    int64_t *inner, *row;                    /* as of a row, -1 outside of strings; how many rows stand before it */
    uint8_t *reason, *wire;
    size_t count, room;
} tw_json_rejects;

/* A part of a text that stands in one piece in the text around it: from `start` on (of the text) it says `size` bytes, which are
 * written there in [outer, until); quote: where the string begins that it is, or its array of bytes; time: of its line or object;
 * ended: a newline follows what it says, which stands nowhere. */
enum { TW_AS_IT_IS, TW_WITH_ESCAPES, TW_AS_NUMBERS };
/* The carriers of texts, in the order of their names. */
enum { TW_BY_FILE, TW_BY_PREFIX, TW_BY_CRI, TW_BY_DOCKER, TW_BY_JOURNALD, TW_BY_STRING, TW_BY_LIST, TW_BY_BYTES };
typedef struct { size_t start, size, outer, until, quote; int64_t time; uint8_t written, timed, ended; } tw_stretch;

/* A place in a text and the same place in the text around it, as far as the walk through the map of places has come. */
typedef struct { size_t stretch, seen, written; int met; } tw_cursor;

/* Ranges in order, that do not touch; those in front of `first` are done with. */
typedef struct { size_t start, stop; } tw_span;
typedef struct { tw_span *spans; size_t first, count, room; } tw_spans;

/* Text that is looked through: a line, or what its stretches say. Places are offsets in k->s or, from level 1 on, k->arena. */
typedef struct tw_region {
    struct tw_region *outer;                 /* the text around it */
    int level, depth, carrier;               /* texts around it; strings among them; TW_BY_... */
    size_t start, end;
    const tw_stretch *stretches;             /* the map of its places */
    size_t stretch_count, near;              /* near: the stretch of the place `asked` - 1, which was asked for last: */
    size_t asked, outside;                   /* it is the place `outside` of the text around it */
    tw_cursor first, last;                   /* where its records begin and end: each goes from left to right */
    int in_string, final;                    /* final: nothing follows that could belong to it */
    int bounded;                             /* a string of the text around: the rejects that are kept of it are counted */
    int tail;                                /* heredocs in trailing text matter */
    tw_fence fence;                          /* that is open */
    tw_spans taken;                          /* lines that belong to another text */
    tw_spans hopeless, fresh;                /* objects that meet a known fault; those met since the walk went on last */
    size_t reached;                          /* where the walk went on behind the opening that it met last */
    size_t found_behind;                     /* where the walk went on behind what was found last */
    size_t sound, sound_since;               /* up to here keys in a line are of no damage, while found_behind is this */
    size_t unclosed;                         /* up to here heredocs are open that never close */
    csp_closings closings;                   /* of heredocs */
    size_t runs_from, next_run;              /* the next three '>' in a row behind a place, of any line; 0: nobody looked */
    size_t here, behind;                     /* where what holds the finds of a step through damage begins and ends */
    int around;                              /* 0, or it stands in the good object at `object`: 1 its time is not looked */
    size_t object;                           /* for, 2 it is `moment`, 3 it has none */
    size_t first_part, last_part;            /* of that object */
    int64_t moment;
    size_t head, head_seen;                  /* a line begins at head, and goes on to head_seen at least */
    size_t line_from, line_to;               /* likewise, an end of line: no newline stands between the two */
} tw_region;

typedef struct { int what, wire, variant, reason, cut; size_t end, fault; } tw_tried;
/* The result of the wires' own reading: what (TW_TRIED_*, OTHER for nobody's), the place of the wire, reason and fault. */
typedef struct { int what, wire, reason; size_t fault; } tw_verdict;

typedef struct tw_lines {
    const uint8_t *s;
    size_t size, limit, position;
    size_t stop;                             /* up to here lines are read */
    int final;
    int64_t base, line;
    const tw_plan *plan;
    tw_json json;
    tw_json_rows rows;
    int apart;                               /* a row is of a text that was put together: place, size, own bytes, inner and depth are written (see tw_set_apart) */
    tw_json_rejects rejects;
    uint8_t *arena;                          /* texts that are joined, while they are searched */
    size_t arena_size, arena_room;
    uint8_t *kept;                           /* of these what rows say, and numbers as text; offsets from `size` on point here */
    size_t kept_size, kept_room;
    int64_t shift;                           /* from a place in the text of the last row to that of the row */
    size_t head;                             /* where the line (or the piece of one) starts */
    int head_known;                          /* 0: not looked at, 1: head_time is its time, 2: it has none */
    int64_t head_time;
    int within;                              /* all that is read stands in the line `line`; else lines are counted: */
    size_t counted;                          /* counted_line is the line of the byte at `counted` */
    int64_t counted_line;
    tw_spans reaches;                        /* records and rejects in several pieces: from where to where they reach */
    tw_spans firsts;                         /* rows in strings, and where their first bytes stand */
    int mixed;                               /* not all is stored in the order in which it begins */
    size_t string_rejects;                   /* stored since the outermost string began */
    void *context;
    int (*whole)(void *context, const uint8_t *p, size_t size, tw_verdict *verdict);
    int (*torn)(void *context, int wire, const uint8_t *p, size_t size, int too_large, tw_verdict *verdict);
    int (*number)(void *context, const uint8_t *p, size_t size, double *value);
    int (*go_on)(void *context);             /* 0: somebody wants the search to end; see tw_stopped_by_signal */
    uint32_t steps;
    int (*run)(struct tw_lines *k);
    void *others;                            /* what the hooks need */
} tw_lines;

/* True if a signal ended the search, as Ctrl-C does: asked at each 65,536th step, which are some 20 ms of one line, and more
 * than a block of usual lines has. */
static inline int tw_stopped_by_signal(tw_lines *k)
{
    return !(++k->steps & 0xFFFF) && !k->go_on(k->context);
}

static inline const uint8_t *tw_text(const tw_lines *k, const tw_region *r) { return r->level ? k->arena : k->s; }

/* The memory there is from the start of what tw_text gives on. */
static inline size_t tw_readable(const tw_lines *k, const tw_region *r) { return r->level ? k->arena_room : k->size; }

/* Up to where may be read: in the arena more than there is, so that its last string is read in blocks, too. */
static inline size_t tw_hard(const tw_lines *k, const tw_region *r)
{
    return !r->level ? k->size : k->arena_size + 64 < k->arena_room ? k->arena_size + 64 : k->arena_room;
}

/* --- places --- */

static void tw_region_free(tw_region *r)
{
    if (!(r->taken.room | r->hopeless.room | r->fresh.room | r->closings.room)) return;
    free(r->taken.spans);
    free(r->hopeless.spans);
    free(r->fresh.spans);
    free(r->closings.lines);
}

/* The stretch of a text in which the byte at `at` stands. */
static size_t tw_stretch_at(tw_region *r, size_t at)
{
    size_t low = 0, high = r->stretch_count;
    at -= r->start;
    for (size_t i = r->near; i < r->near + 2 && i < high; i++) /* mostly they are asked for in order */
        if (r->stretches[i].start <= at && (i + 1 == high || at < r->stretches[i + 1].start)) return r->near = i;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->stretches[middle].start <= at) low = middle + 1;
        else high = middle;
    }
    return r->near = low ? low - 1 : 0;
}

/* The place in [first, end), text with escapes, behind which it says `left` bytes; NULL where only a walk from its start tells, since
 * the last of them may be said by \u or stand behind half an escape. */
static const uint8_t *tw_place_before(const uint8_t *first, const uint8_t *end, size_t left)
{
    if (end - first > 8 * TW_NEAR_END) first = end - 8 * TW_NEAR_END;
    for (; left && end > first; left--) {
        const uint8_t *last = end - (end[-1] != '\\'), *run = last;
        while (run > first && run[-1] == '\\') run--;
        int escaped = (last - run) & 1;
        if (run == first) return NULL;
        if (last == end ? escaped : escaped ? !tw_letters[*last] : tw_is_hex(*last) && (end - first < 6 || memchr(end - 6, '\\', 5))) return NULL;
        end -= last == end || escaped ? 2 : 1;
    }
    return left ? NULL : end;
}

/* As tw_place_in, where it must be looked for. */
static TW_APART size_t tw_place_within(const tw_lines *k, const tw_region *r, tw_cursor *c, size_t i, size_t at)
{
    const tw_stretch *one = &r->stretches[i];
    const uint8_t *s = tw_text(k, r->outer), *end = s + one->until, *hard = s + tw_hard(k, r->outer), *p;
    if (!c->met || c->stretch != i || c->seen > at) *c = (tw_cursor){ i, one->start, one->outer, 1 };
    if (c->seen == at) return c->written;
    p = s + c->written;
    if (one->written == TW_AS_NUMBERS) {
        uint8_t said;
        for (; c->seen < at && p < end; c->seen++) p = tw_next_byte(p, end, &said);
        return c->written = (size_t)(p - s);
    }
    size_t left = one->start + one->size - at;
    const uint8_t *near = left < TW_NEAR_END && 16 * left < at - c->seen ? tw_place_before(p, end, left) : NULL;
    if (near) return (size_t)(near - s);     /* most records end near the end of their string */
    left = at - c->seen;
    p = tw_walk(p, end, hard, &left);
    c->seen = at - left;
    c->written = (size_t)(p - s);
    return c->written + (p == end ? left : 0);
}

/* The place in the text around a region of the byte at `at`, which is of stretch `i` or stands right behind it. */
static inline size_t tw_place_in(const tw_lines *k, const tw_region *r, tw_cursor *c, size_t i, size_t at)
{
    const tw_stretch *one = &r->stretches[i];
    at -= r->start;
    if (one->written == TW_AS_IT_IS || at == one->start) return one->outer + (at - one->start);
    return at == one->start + one->size ? one->until : tw_place_within(k, r, c, i, at);
}

/* The place in the text around a region of the byte at `at`, which r->near is the stretch of. */
static size_t tw_outside(const tw_lines *k, tw_region *r, size_t at)
{
    if (r->asked == at + 1) return r->outside;
    r->asked = at + 1;
    return r->outside = tw_place_in(k, r, &r->first, tw_stretch_at(r, at), at);
}

/* The place in k->s of the byte at `at` of any region, as written there. */
static size_t tw_as_written(const tw_lines *k, tw_region *r, size_t at)
{
    for (; r->level; r = r->outer) at = tw_outside(k, r, at);
    return at;
}

/* How many bytes of k->s [start, stop) of a region is; *first: the first of them, where `begun` is 0; *last: behind the last. */
static size_t tw_own_bytes(const tw_lines *k, tw_region *r, size_t start, size_t stop, size_t *first, size_t *last, int begun)
{
    size_t own = 0;
    if (!r->level) {
        if (!begun) *first = start;
        *last = stop;
        return stop - start;
    }
    for (size_t from = tw_outside(k, r, start), i = r->near, at = start; i < r->stretch_count && at < stop; i++) {
        const tw_stretch *one = &r->stretches[i];
        size_t to = r->start + one->start + one->size;
        if (i > r->near) {
            at = r->start + one->start;
            from = one->outer;
        }
        if (to > stop) to = stop;
        if (at >= to) continue;
        at = to;
        to = tw_place_in(k, r, &r->last, i, to);
        if (r->outer->level) {
            own += tw_own_bytes(k, r->outer, from, to, first, last, begun || own);
        } else {
            if (!begun && !own) *first = from;
            *last = to;
            own += to - from;
        }
    }
    return own;
}

/* Makes room for texts that are joined, and for what rows say. 0: no memory. */
static inline int tw_arena_room(tw_lines *k, size_t more)
{
    return tw_more_room((void **)&k->arena, &k->arena_room, k->arena_size, more, 1) || !(k->json.no_memory = 1);
}
static inline int tw_kept_room(tw_lines *k, size_t more)
{
    return tw_more_room((void **)&k->kept, &k->kept_room, k->kept_size, more, 1) || !(k->json.no_memory = 1);
}

/* Notes two numbers, such as from where to where something reaches. 0: no memory. */
static int tw_keep_span(tw_lines *k, tw_spans *t, size_t first, size_t last)
{
    if (tw_more_room((void **)&t->spans, &t->room, t->count, 1, sizeof *t->spans)) t->spans[t->count++] = (tw_span){ first, last };
    else k->json.no_memory = 1;
    return !k->json.no_memory;
}

/* The same of a record or a reject that is stored: keeps where it reaches, if it is in several pieces. */
static size_t tw_place_found(tw_lines *k, tw_region *r, size_t start, size_t stop, size_t *first, size_t *last)
{
    size_t own = tw_own_bytes(k, r, start, stop, first, last, 0);
    if (own != *last - *first) tw_keep_span(k, &k->reaches, *first, *last);
    return own;
}

/* The place in k->s of the outermost string around the byte at `at`, and how far into what it says the byte stands; 0 without one. */
static int tw_string_place(const tw_lines *k, tw_region *r, size_t at, size_t *quote, size_t *inner)
{
    int found = 0;
    for (; r->level; r = r->outer) {
        size_t place = tw_outside(k, r, at);
        if (r->in_string) {
            *quote = r->stretches[r->near].quote;
            *inner = at - r->start - r->stretches[r->near].start;
            found = 1;
        } else if (found) {
            *quote = tw_outside(k, r, *quote);
        }
        at = place;
    }
    return found;
}

/* The text of a stretch that stands in the text `outer`, into memory with 128 bytes to spare: how many bytes. */
static size_t tw_say(const tw_lines *k, const tw_region *outer, const tw_stretch *one, uint8_t *out)
{
    const uint8_t *s = tw_text(k, outer), *p = s + one->outer, *end = s + one->until;
    if (one->written == TW_AS_NUMBERS) return tw_bytes_said(p, end, s + tw_hard(k, outer), out);
    if (one->written == TW_WITH_ESCAPES) return tw_said(p, end, s + tw_hard(k, outer), out);
    memcpy(out, p, (size_t)(end - p));
    return (size_t)(end - p);
}

/* --- lines --- */

static int64_t tw_newlines(const uint8_t *p, size_t size)
{
    int64_t count = 0;
#ifdef TW_SSE2
    const __m128i feed = _mm_set1_epi8('\n'), zero = _mm_setzero_si128();
    while (size >= 16) {
        __m128i few = zero;                  /* a byte a lane */
        size_t step = size < 255 * 16 ? size & ~(size_t)15 : 255 * 16;
#pragma GCC unroll 4
        for (size_t i = 0; i < step; i += 16)
            few = _mm_sub_epi8(few, _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + i)), feed));
        few = _mm_sad_epu8(few, zero);
        count += _mm_cvtsi128_si32(few) + _mm_cvtsi128_si32(_mm_srli_si128(few, 8));
        p += step;
        size -= step;
    }
#endif
    for (; size; size--) count += *p++ == '\n';
    return count;
}

/* The line of a place in the block. Apart: GCC unrolls the loop in it only where it is a function of its own. */
static TW_APART int64_t tw_line_of(tw_lines *k, size_t at)
{
    if (k->within) return k->line;
    if (at >= k->counted) k->counted_line += tw_newlines(k->s + k->counted, at - k->counted);
    else k->counted_line -= tw_newlines(k->s + at, k->counted - at);
    k->counted = at;
    return k->counted_line;
}

/* The end of the line of a place, without its line end. */
static size_t tw_line_end(const uint8_t *s, size_t at, size_t end)
{
    const uint8_t *newline = (const uint8_t *)memchr(s + at, '\n', end - at);
    size_t stop = newline ? (size_t)(newline - s) : end;
    return stop - (newline && stop > at && s[stop - 1] == '\r');
}

/* The start of the next line. */
static size_t tw_behind_line(const uint8_t *s, size_t at, size_t end)
{
    const uint8_t *newline = (const uint8_t *)memchr(s + at, '\n', end - at);
    return newline ? (size_t)(newline - s) + 1 : end;
}

/* Behind the last newline in s[from .. at), or `from`. */
static size_t tw_behind_feed(const uint8_t *s, size_t from, size_t at)
{
#ifdef TW_SSE2
    while (at > from && at >= 16) {
        const size_t size = at - from < 16 ? at - from : 16;
        unsigned feeds = tw_are(_mm_loadu_si128((const __m128i *)(const void *)(s + at - 16)), '\n') >> (16 - size);
        if (feeds) return at - size + (size_t)(64 - tw_high_zeros(feeds));
        at -= size;
    }
#endif
    while (at > from && s[at - 1] != '\n') at--;
    return at;
}

/* The start of the line of a place. */
static size_t tw_line_start(const tw_lines *k, tw_region *r, size_t at)
{
    const uint8_t *s = tw_text(k, r);
    size_t known = at >= r->head_seen && r->head_seen > r->head ? r->head_seen : r->start;
    if (at >= r->head && at < r->head_seen) return r->head;
    size_t first = tw_behind_feed(s, known, at);
    if (first == known && known > r->start && s[first - 1] != '\n') first = r->head;
    r->head_seen = at;
    return r->head = first;
}

static size_t tw_line_stop_below(tw_lines *k, tw_region *r, size_t at)
{
    const uint8_t *s = tw_text(k, r);
    if (at < r->line_from || at >= r->line_to) {
        const uint8_t *newline = (const uint8_t *)memchr(s + at, '\n', r->end - at);
        r->line_from = at;
        r->line_to = newline ? (size_t)(newline - s) : r->end;
    }
    if (r->line_to >= r->end) return r->end;
    return r->line_to - (r->line_to > at && s[r->line_to - 1] == '\r');
}

#endif
