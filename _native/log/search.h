/* The walk through a text, from left to right: what begins first wins. The readable twin is log/search/search.py, which tells
 * the rules.
 *
 * tw_search_top reads the text `top` from w->at on and writes a row for each record, at once. What it does not read itself (damage
 * that may hold more, documents) it leaves to the caller: TW_ASK, with where it begins. That is read by the readable twin, and the
 * walk goes on behind it; TW_GOES_ON: what begins there goes on behind the text. So the walk only ever says yes: what it writes is
 * what the twin would find. Texts in the text (strings, lines behind a prefix) are walked at once; where one of these asks, all of the
 * outermost is left to the twin. */
#ifndef TURNWIRE_SEARCH_SEARCH_H
#define TURNWIRE_SEARCH_SEARCH_H

#include "openings.h"
#include "_native/csp/around.h"
#include "_native/csp/fast_path.h"
#include "_native/json/torn.h"

enum { TW_ASK = 3, TW_GOES_ON = 4 };            /* beside TW_FINE, TW_FULL, TW_STOPPED */
enum { TW_MOST_PREFIX = 1024, TW_LONGEST_LINE = 1 << 12, TW_SHORTEST = 3 }; /* SHORTEST: no text of fewer bytes is searched */
enum { TW_CSP_ROWS = 16, TW_CSP_ROW = 24, TW_CSP_KINDS = 9 };

/* The match of a line that says CSP/1: see csp/match.pxi. */
enum { TW_CSP_UNSURE, TW_CSP_RECORD, TW_CSP_REFUSED, TW_CSP_TEXT, TW_CSP_OPEN };
typedef struct {
    int what, reason;
    int64_t stop, behind, fault;
    int64_t run, inside;                     /* of a heredoc that never closes, and behind its opening; of OPEN, one that may close yet */
    int tail;
    int32_t row[TW_CSP_ROW];
} tw_matched;
typedef void (*csp_match)(const uint8_t *data, int64_t at, int64_t end, int final, int64_t most_bytes, const csp_around *around,
                          tw_matched *m);

typedef struct {
    tw_lines k;
    tw_region *top;                          /* the text for which the twin is asked: the block, or one made of its lines */
    size_t at, until;                        /* where the walk stands, and where it ends: a text may be open there */
    int mid;                                 /* the block begins in the middle of a line */
    int pieces, touched, fence_touched;      /* no document begins, as behind a run of pieces; something was found in front of the block; in its open fence */
    tw_spans unclosed;                       /* heredocs of `top` that never close: run, and where the range ends */
    uint8_t *csp_inside;                     /* whether a record of CSP/1 stands in one, or NULL */
    int tail_set, fence_set;                 /* the walk knows what `tail` and `fence` of `top` are, which the twin does not */
    size_t since, elsewhere;                 /* how much was found in front of the open fence of the file; and by the twin */
    uint8_t csp_code;
    uint64_t csp_present;                    /* what each row of it has */
    uint8_t csp_kinds[TW_CSP_KINDS];         /* kind -> its number among those of all wires */
    tw_column *csp_kind, *csp_texts[4];      /* of from, to, ctx, id; NULL where nobody asked */
    tw_column *csp_task, *csp_work;          /* those of contract.WORK; and where a row has the task, by kind (0: nowhere), and the */
    uint8_t csp_task_at[TW_CSP_KINDS], csp_status_at[TW_CSP_KINDS]; /* STATUS */
    void *csp_own;                           /* the columns of CSP/1 itself, or NULL; csp_store writes a row of them, and of */
    int32_t *csp_spans;                      /* these (or NULL) the next ones may be read where they belong */
    void (*csp_store)(void *columns, const uint8_t *data, int32_t *row, int64_t at, int64_t shift);
    csp_window windows[2];                   /* of lines of `top`, and of the text in it that is read */
    int filled[2];                           /* whether they are of these yet */
    csp_lister lister;
    csp_reading reading;
    csp_match match_message;
    uint8_t csp_reasons[256];                /* its own reasons -> those of all wires */
    tw_stretch *spare_stretches;             /* memory for lines behind a prefix or of a list, where nobody has it */
    tw_span *spare_lines;
    size_t spare_stretch_room, spare_line_room;
    size_t usual;                            /* bytes of the message behind a prefix that was read last */
} tw_search;

static int tw_search_text(tw_search *w, tw_region *r, size_t *at);
static int tw_at_message(tw_search *w, tw_region *r, size_t *at, csp_around *around);
static csp_window *tw_csp_seek(tw_search *w, const tw_region *r, size_t at);
static int tw_csp_row(tw_search *w, tw_region *r, int32_t *row);
static int tw_at_token(tw_search *w, tw_region *r, size_t *at, size_t bound);
static int tw_is_alone(tw_search *w, tw_region *r, size_t line);

/* --- places --- */

/* The number of spans that begin in front of a place, or at it where `with` is 1. */
static inline size_t tw_spans_before(const tw_spans *t, size_t at, size_t with)
{
    size_t low = t->first, high = t->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->spans[middle].start < at + with) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Behind the lines taken around a place, or the place itself. */
static inline size_t tw_behind_taken(const tw_spans *t, size_t at)
{
    if (t->first == t->count || at >= t->spans[t->count - 1].stop) return at;
    size_t i = tw_spans_before(t, at, 1);
    if (i == t->first || at >= t->spans[i - 1].stop) return at;
    for (at = t->spans[i - 1].stop; i < t->count && t->spans[i].start == at; i++) at = t->spans[i].stop;
    return at;
}

/* The end of the last lines taken in front of a place, or 0. */
static size_t tw_last_end(const tw_spans *t, size_t at)
{
    size_t i = tw_spans_before(t, at, 1);
    return i > t->first && t->spans[i - 1].stop <= at ? t->spans[i - 1].stop : 0;
}

/* Up to where a text goes on that begins at a place: to the next lines that were taken, or to `end`. */
static inline size_t tw_up_to_taken(const tw_spans *t, size_t at, size_t end)
{
    size_t i = t->first == t->count ? t->count : tw_spans_before(t, at, 0);
    return i < t->count && t->spans[i].start < end ? t->spans[i].start : end;
}

/* Takes lines, in order; those in front of `done` are never asked for again. 0: no memory. */
static int tw_take(tw_spans *t, const tw_span *lines, size_t count, size_t done)
{
    while (t->first < t->count && t->spans[t->first].stop <= done) t->first++;
    if (t->first > t->count / 2) {
        memmove(t->spans, t->spans + t->first, (t->count - t->first) * sizeof *t->spans);
        t->count -= t->first;
        t->first = 0;
    }
    if (!tw_more_room((void **)&t->spans, &t->room, t->count, count, sizeof *lines)) return 0;
    size_t old = t->count, to = t->count += count;
    while (count) {                          /* from behind, so that those that follow all others are not moved */
        int mine = old == t->first || t->spans[old - 1].start < lines[count - 1].start;
        t->spans[--to] = mine ? lines[--count] : t->spans[--old];
    }
    return 1;
}

/* The amount stored so far, to which a step goes back that cannot end. */
typedef struct { size_t rows, rejects, kept, reaches, firsts; } tw_mark;

static tw_mark tw_mark_here(const tw_lines *k)
{
    return (tw_mark){ k->rows.count, k->rejects.count, k->kept_size, k->reaches.count, k->firsts.count };
}

static void tw_go_back(tw_lines *k, const tw_mark *m)
{
    tw_rows_back(&k->rows, m->rows);
    k->rejects.count = m->rejects;
    k->kept_size = m->kept;
    k->reaches.count = m->reaches;
    k->firsts.count = m->firsts;
}

static int tw_is_more(const tw_lines *k, const tw_mark *m) { return k->rows.count > m->rows || k->rejects.count > m->rejects; }

/* The start of the line of a place, or the end of what was found or taken in it before. */
static size_t tw_floor(tw_search *w, tw_region *r, size_t at)
{
    size_t floor = tw_line_start(&w->k, r, at), taken = tw_last_end(&r->taken, at);
    if (taken > floor) floor = taken;
    return r->found_behind > floor && r->found_behind <= at ? r->found_behind : floor;
}

/* True if the line of a place goes on behind the bytes at hand, and is waited for. */
static int tw_needs_line(const tw_lines *k, const tw_region *r, size_t at)
{
    size_t most = k->limit > TW_LONGEST_LINE ? k->limit : TW_LONGEST_LINE;
    return !r->final && r->end - at <= most && !memchr(tw_text(k, r) + at, '\n', r->end - at);
}

/* Stores the reject [at, end) of a region. wire: its number. */
static int tw_refuse(tw_search *w, tw_region *r, size_t at, size_t end, size_t fault, uint8_t wire, int reason)
{
    tw_lines *k = &w->k;
    size_t n = k->rejects.count;
    int result = tw_store_json_reject(k, r, at, end, fault, 0, reason);
    if (k->rejects.count != n) k->rejects.wire[n] = wire;
    return result;
}

/* --- what a good object holds --- */

/* The next sign of an opening in s[p .. end), or of an escape that may stand for one; or end. Up to `hard` may be read. */
static const uint8_t *tw_next_sign(const uint8_t *p, const uint8_t *end, const uint8_t *hard)
{
#ifdef TW_SSE2
    const __m128i brace = _mm_set1_epi8('{'), at = _mm_set1_epi8('@'), slash = _mm_set1_epi8('\\'), small = _mm_set1_epi8(32);
    const __m128i first = _mm_set1_epi8('c'), second = _mm_set1_epi8('s');
    for (; p < end && hard - p > 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p), next = _mm_loadu_si128((const __m128i *)(const void *)(p + 1));
        __m128i csp = _mm_and_si128(_mm_cmpeq_epi8(_mm_or_si128(v, small), first), _mm_cmpeq_epi8(_mm_or_si128(next, small), second));
        __m128i any = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, brace), _mm_cmpeq_epi8(v, at)), _mm_or_si128(_mm_cmpeq_epi8(v, slash), csp));
        unsigned signs = (unsigned)_mm_movemask_epi8(any);
        if (signs) return tw_low_zeros_32(signs) < end - p ? p + tw_low_zeros_32(signs) : end;
    }
#endif
    while (p < end && *p != '{' && *p != '@' && *p != '\\' && !((*p | 32) == 'c' && (p[1] | 32) == 's')) p++;
    return p < end ? p : end;
}

/* True if a string, as written, is worth to be searched. */
static int tw_is_worth(const uint8_t *p, const uint8_t *end, const uint8_t *hard)
{
    for (; (p = tw_next_sign(p, end, hard)) < end; p++) {
        if (*p == '{' || *p == '@') return 1;
        if (*p != '\\') {
            if (end - p >= 3 && (p[2] | 32) == 'p') return 1;
            continue;
        }
        const uint8_t *behind = p;
        while (behind < end && *behind == '\\') behind++;
        if (behind < end && *behind == '/') return 1;
        if (end - behind >= 5 && *behind == 'u' && behind[1] == '0' && behind[2] == '0') {
            uint8_t high = behind[3], low = behind[4];
            if ((high == '4' && (low == '0' || low == '3')) || (high == '7' && (low | 32) == 'b') || (high == '6' && low == '3'))
                return 1;
        }
        p = behind - 1;
    }
    return 0;
}

/* Searches a text that was joined, which ends the arena. */
static int tw_search_inner(tw_search *w, tw_region *inner)
{
    tw_lines *k = &w->k;
    size_t at = inner->start;
    w->filled[1] = 0;
    int result = tw_search_text(w, inner, &at);
    w->filled[1] = 0;
    tw_region_free(inner);
    k->arena_size = inner->start;
    return result;
}

/* Searches what these stretches of a text say, which are strings of one value. */
static int tw_search_said(tw_search *w, tw_region *r, tw_stretch *stretches, size_t count)
{
    tw_lines *k = &w->k;
    tw_region inner = { .outer = r, .level = r->level + 1, .depth = r->depth + 1, .stretches = stretches, .stretch_count = count,
                        .carrier = stretches->written == TW_AS_NUMBERS ? TW_BY_BYTES : count > 1 ? TW_BY_LIST : TW_BY_STRING,
                        .in_string = 1, .final = 1, .bounded = 1 };
    size_t size = 0;
    if (!r->bounded) k->string_rejects = 0;
    for (size_t i = 0; i < count; i++) size += stretches[i].until - stretches[i].outer;
    if (!tw_arena_room(k, size + 128)) return TW_STOPPED;
    inner.start = inner.end = inner.found_behind = k->arena_size;
    for (tw_stretch *one = stretches; one < stretches + count; one++) {
        one->start = inner.end - inner.start;
        inner.end += one->size = tw_say(k, r, one, k->arena + inner.end);
    }
    k->arena[inner.end] = '\n';
    k->arena_size = inner.end + 1;
    return tw_search_inner(w, &inner);
}

/* Searches the text of a list of strings that are lines, as notebooks keep them, where one stands at the bracket `open` in front of
 * `end`: *behind is then its end. It may have none; its strings are closed in front of `end`. part: the number of
 * the first string among the parts of the object around, if that is good. */
static int tw_look_into_list(tw_search *w, tw_region *r, size_t open, size_t end, size_t part, size_t *behind)
{
    const tw_part *known = part < r->last_part ? w->k.json.parts + part : NULL, *unknown = w->k.json.parts + r->last_part;
    const uint8_t *s = tw_text(&w->k, r), *hard = s + tw_hard(&w->k, r), *stop = s + end;
    const uint8_t *p = tw_skip(s + open + 1, stop), *close = p;
    tw_stretch *lines = w->spare_stretches;
    size_t count = 0, room = w->spare_stretch_room;
    int result = TW_FINE;
    w->spare_stretches = NULL;
    w->spare_stretch_room = 0;
    while (p < stop && *p == '"') {
        if (known && known < unknown && known->what == TW_PART_TEXT && s + r->object + known->at == p + 1) close = p + 1 + known++->size;
        else close = tw_closing_quote(p + 1, hard);
        if (!tw_more_room((void **)&lines, &room, count, 1, sizeof *lines)) { result = TW_STOPPED; break; }
        lines[count++] = (tw_stretch){ .outer = (size_t)(p + 1 - s), .until = (size_t)(close - s), .quote = (size_t)(p - s),
                                       .written = TW_WITH_ESCAPES };
        p = tw_skip(close + 1, stop);
        if (p == stop || *p != ',') break;
        if (close - s < (ptrdiff_t)lines[count - 1].outer + 2 || close[-1] != 'n' || close[-2] != '\\') break;
        p = tw_skip(p + 1, stop);
    }
    if (result == TW_STOPPED) w->k.json.no_memory = 1;
    else if (count > 1 && p < stop && *p == ']' && tw_is_worth(s + open, p, hard)) {
        *behind = (size_t)(p - s) + 1;
        result = tw_search_said(w, r, lines, count);
    }
    free(w->spare_stretches);
    w->spare_stretches = lines;
    w->spare_stretch_room = room;
    return result;
}

/* Something was found in [here, behind) of a text. */
static void tw_set_here(tw_region *r, size_t here, size_t behind)
{
    if (here < r->here) r->here = here;
    r->behind = behind;
}

/* Searches the parts from number `part` on, which stand in the good object [at, end). */
static int tw_look_inside(tw_search *w, tw_region *r, size_t at, size_t end, size_t part)
{
    tw_lines *k = &w->k;
    int objects = -1, result = TW_FINE;      /* whether any in it may be a message: asked where the first one stands */
    for (size_t behind = at; part < r->last_part && result == TW_FINE; part++) {
        const tw_part one = k->json.parts[part];
        const uint8_t *s = tw_text(k, r), *first = s + r->object + one.at, *close = first + one.size, *bracket, *last;
        size_t q = r->object + one.at;
        if (q < behind) continue;
        if (q >= end) break;
        const size_t found = k->rows.count + k->rejects.count;
        tw_stretch said = { .outer = q, .until = q + one.size, .quote = q - 1, .written = one.escaped ? TW_WITH_ESCAPES : TW_AS_IT_IS };
        if (one.what == TW_PART_OBJECT) {
            tw_tried t = { 0 };
            if (objects < 0) objects = tw_any_token(k->plan->inside, k->plan->inside_count, s + at, s + end);
            if (!objects) continue;
            if ((result = tw_try_object(k, r, q, end, &t)) != TW_FINE) return result;
            if (t.what == TW_TRIED_RECORD) {
                result = tw_emit(k, r, q, &t);
            } else if (t.what == TW_TRIED_REJECT) {
                if ((result = tw_look_inside(w, r, q, t.end, part + 1)) == TW_FINE && k->rows.count + k->rejects.count == found)
                    result = tw_refuse(w, r, q, t.end, t.fault, k->plan->wires[t.wire].code, t.reason);
            } else {
                continue;
            }
            behind = t.end;
        } else if (r->depth >= TW_DEEPEST_STRING) {
            continue;
        } else if (one.what == TW_PART_ARRAY) {
            result = tw_look_into_list(w, r, q, end, part + 1, &behind);
        } else if (one.what == TW_PART_KEY && tw_is_key(first, one.size, "MESSAGE") && (last = tw_message_bytes(close, s + end, s + tw_hard(k, r), &bracket, &first))) {
            behind = (size_t)(last - s) + 1;
            said = (tw_stretch){ .outer = (size_t)(first - s), .until = behind - 1, .quote = (size_t)(bracket - s), .written = TW_AS_NUMBERS };
            result = tw_search_said(w, r, &said, 1);
        } else if (one.size >= TW_SHORTEST && tw_is_worth(first, close, s + tw_hard(k, r))) {
            behind = said.until + 1;
            result = tw_search_said(w, r, &said, 1);
        }
        if (k->rows.count + k->rejects.count > found) tw_set_here(r, one.what > TW_PART_KEY ? q : q - 1, behind);
    }
    return result;
}

/* Looks into the good object [at, end), which is no message; *met: whether anything is in it. */
static int tw_inside_good(tw_search *w, tw_region *r, size_t at, size_t end, int *met)
{
    tw_lines *k = &w->k;
    const size_t found = k->rows.count + k->rejects.count;
    r->around = 1;
    r->object = at;
    r->first_part = k->json.part_base;
    r->last_part = k->json.part_base = k->json.part_count;
    int result = tw_look_inside(w, r, at, end, r->first_part);
    k->json.part_base = r->first_part;
    k->json.parted = 1;
    r->around = 0;
    *met = k->rows.count + k->rejects.count != found;
    return result;
}

/* The place in s[at .. stop) where the next token, object or escaped text begins, or stop. */
static size_t tw_next_in_line(const uint8_t *s, size_t at, size_t stop)
{
    for (; at < stop; at++) {
        if (s[at] != '@' && s[at] != '{' && s[at] != 'C') continue;
        int opens = s[at] == '@' ? tw_candidate(s, at, stop)
                    : s[at] == '{' ? tw_opens_object(s, at, stop) != TW_NO_OPENING
                                   : tw_opens_magic(s, at, stop) != TW_NO_OPENING;
        if (opens) return at;
    }
    return stop;
}

/* --- JSON --- */

/* True if the object at p, which was read last, may be a line of a container runtime or of a journal: a key may also be written with
 * escapes. */
static int tw_is_carrier(const tw_json *x, const uint8_t *p)
{
    for (size_t i = x->part_base; i < x->part_count; i++) {
        const tw_part *part = &x->parts[i];
        if (part->what != TW_PART_KEY || part->depth > 1) continue;
        const uint8_t *key = p + part->at;
        if (part->escaped || tw_is_key(key, part->size, "__REALTIME_TIMESTAMP")) return 1;
        if (!tw_is_key(key, part->size, "stream")) continue;
        const uint8_t *value = tw_behind_space(tw_behind_space(key + part->size + 1) + 1);
        if (*value == '"' && (value[1] == '\\' || value[1] == 's')) return 1;
    }
    return 0;
}

static int tw_is_among(const tw_spans *t, size_t at)
{
    size_t i = t->first == t->count ? t->first : tw_spans_before(t, at, 1);
    return i > t->first && t->spans[i - 1].start == at;
}

static int tw_is_hopeless(const tw_region *r, size_t at) { return tw_is_among(&r->hopeless, at) || tw_is_among(&r->fresh, at); }

/* Adds the objects that are open at the fault that was met last in a text, to those of the text around it if `outer`. */
static int tw_add_hopeless(tw_search *w, tw_region *r, int outer)
{
    tw_json *x = &w->k.json;
    tw_span spans[TW_DEEPEST];
    for (int i = 0; i < x->opened; i++) {    /* the innermost comes first */
        size_t at = (size_t)(x->open[x->opened - 1 - i] - tw_text(&w->k, r));
        if (outer) at = tw_outside(&w->k, r, at);
        spans[i] = (tw_span){ at, at + 1 };
    }
    if (tw_take(outer ? &r->outer->fresh : &r->fresh, spans, (size_t)x->opened, 0)) return TW_FINE;
    x->no_memory = 1;
    return TW_STOPPED;
}

/* Keeps or forgets what a step learnt of objects, which is done or not. */
static int tw_end_step(tw_search *w, tw_region *r, int done, size_t at)
{
    int kept = !done || !r->fresh.count || tw_take(&r->hopeless, r->fresh.spans, r->fresh.count, at);
    r->fresh.count = r->fresh.first = 0;
    if (!kept) w->k.json.no_memory = 1;
    return kept ? TW_FINE : TW_STOPPED;
}

/* Reads the object at a place, as tw_try_object. whole: the text ends at `end`, not the limit. */
static int tw_try_here(tw_search *w, tw_region *r, size_t at, size_t end, int whole, tw_tried *t)
{
    int result = tw_try_object(&w->k, r, at, end, t), why;
    const uint8_t *s = tw_text(&w->k, r), *place;
    const tw_json *x = &w->k.json;
    if (result != TW_FINE || t->what != TW_TRIED_BROKEN) return result;
    /* A string that does not end is at fault from its quote on. */
    if (t->cut && tw_why_object(s + at, s + end, x->hard, x->shape->key, x->fault, &why, &place)) t->fault = (size_t)(place - s);
    return t->cut && !whole ? TW_FINE : tw_add_hopeless(w, r, 0);
}

/* Drops the rejects that were stored between two moments. */
static void tw_drop_rejects(tw_lines *k, const tw_mark *from, const tw_mark *to)
{
    tw_json_rejects *c = &k->rejects;
    int64_t *wide[] = { c->offset, c->length, c->line, c->fault, c->own_bytes, c->inner, c->row };
    uint8_t *narrow[] = { c->reason, c->wire };
    size_t left = c->count - to->rejects, reaches = k->reaches.count - to->reaches;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (wide[i]) memmove(wide[i] + from->rejects, wide[i] + to->rejects, left * sizeof(int64_t));
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (narrow[i]) memmove(narrow[i] + from->rejects, narrow[i] + to->rejects, left);
    if (reaches) memmove(k->reaches.spans + from->reaches, k->reaches.spans + to->reaches, reaches * sizeof(tw_span));
    c->count -= to->rejects - from->rejects;
    k->reaches.count -= to->reaches - from->reaches;
}

/* A reject where the bytes of a text carry the marks of a wire: it stands for those that were stored between two moments. */
static int tw_settle(tw_search *w, tw_region *r, size_t from, size_t to, int too_large, const tw_mark *since, const tw_mark *until)
{
    tw_lines *k = &w->k;
    const uint8_t *s = tw_text(k, r);
    tw_verdict verdict = { TW_TRIED_OTHER, 0, 0, 0 };
    if (from >= to) return TW_FINE;
    if (!tw_judge_torn(k, s + from, to - from, too_large, s + tw_hard(k, r), &verdict)) return TW_STOPPED;
    if (verdict.what != TW_TRIED_REJECT) return TW_FINE;
    if (r->bounded) k->string_rejects -= until->rejects - since->rejects;
    tw_drop_rejects(k, since, until);
    size_t n = k->rejects.count;
    int result = tw_refuse(w, r, from, to, from + (verdict.fault < to - from ? verdict.fault : to - from),
                           k->plan->wires[verdict.wire].code, verdict.reason);
    if (n > since->rejects) k->mixed = 1;    /* those of what stands behind it are stored already */
    else if (k->rejects.count > n && k->rejects.row) k->rejects.row[n] = (int64_t)since->rows;
    return result;
}

/* The same of bytes in which nothing was found. */
static int tw_settle_torn(tw_search *w, tw_region *r, size_t from, size_t to)
{
    tw_mark now = tw_mark_here(&w->k);
    return tw_settle(w, r, from, to, 0, &now, &now);
}

/* The unescaped quote next to a place from `floor` on, or -1. */
static int64_t tw_quote_before(const uint8_t *s, size_t floor, size_t at)
{
    while (at > floor) {
        size_t slashes = --at;
        if (s[at] != '"') continue;
        while (slashes > floor && s[slashes - 1] == '\\') slashes--;
        if (!((at - slashes) & 1)) return (int64_t)at;
    }
    return -1;
}

/* Searches the string around *at, in bytes that are not good JSON: what lies between the nearest quotes of its line, before `bound`.
 * *at: where to go on. */
static int tw_around_place(tw_search *w, tw_region *r, size_t *at, size_t bound)
{
    tw_lines *k = &w->k;
    const uint8_t *s = tw_text(k, r);
    size_t q = *at, end = tw_line_stop_below(k, r, q), close = q;
    if (tw_needs_line(k, r, q)) return TW_GOES_ON;
    if (end > bound) end = bound;
    int64_t quote = tw_quote_before(s, tw_floor(w, r, q), q);
    size_t first = quote < 0 ? q : (size_t)quote + 1;
    while (close < end && s[close] != '"') close += s[close] == '\\' ? 2 : 1;
    if (close > end) close = end;
    int glued = close < end && close > q + 1 && s[close - 1] == '{'; /* a string was cut off, and a record stands behind it */
    close -= (size_t)glued;
    *at = glued ? close : close + 1 < end ? close + 1 : end;
    if (*at == q) ++*at;
    tw_stretch said = { .outer = first, .until = close, .quote = quote < 0 ? q : (size_t)quote, .written = TW_WITH_ESCAPES };
    tw_set_here(r, first, close);
    return r->depth < TW_DEEPEST_STRING ? tw_search_said(w, r, &said, 1) : TW_FINE;
}

static int tw_add_object(tw_search *w, tw_region *r, size_t at, const tw_tried *t);

/* Adds the object at *place of damage from `at` to *end: where to go on, and where the damage ends. within: no broken one goes on behind
 * it. */
static int tw_object_in_damage(tw_search *w, tw_region *r, size_t *place, size_t *end, int within)
{
    tw_lines *k = &w->k;
    size_t q = (*place)++, edge = tw_up_to_taken(&r->taken, q, r->end);
    size_t reach = edge - q > k->limit ? q + k->limit : edge;
    tw_tried t = { 0 };
    int result;
    if (tw_is_hopeless(r, q)) return TW_FINE;
    if ((result = tw_try_here(w, r, q, reach, reach == edge, &t)) != TW_FINE) return result;
    if (t.what != TW_TRIED_BROKEN) {
        tw_mark before = tw_mark_here(k);
        result = tw_add_object(w, r, q, &t);
        *place = t.end;
        if (t.end > *end && !tw_is_more(k, &before)) *end = q;
        return result;
    }
    if (t.cut && reach == r->end && !r->final) return TW_GOES_ON;
    if (t.fault <= *end || within) return TW_FINE;
    for (size_t i = r->fresh.first; i < r->fresh.count; i++) /* damage over several lines of its own */
        if (r->fresh.spans[i].start == q) {
            memmove(r->fresh.spans + i, r->fresh.spans + i + 1, (--r->fresh.count - i) * sizeof *r->fresh.spans);
            i--;
        }
    *place = *end = q;
    return TW_FINE;
}

/* Damaged bytes from *at to `end`: the records in them, and between what holds these rejects where they carry the marks of a wire;
 * else what is damaged in their strings. *at: where they end. */
static int tw_damaged(tw_search *w, tw_region *r, size_t *at, size_t end, int too_large, int one_line)
{
    tw_lines *k = &w->k;
    tw_mark kept = tw_mark_here(k);
    size_t piece = *at, place = piece + 1, start;
    int result = TW_FINE;
    while (place < end && (start = tw_next_in_line(tw_text(k, r), place, end)) < end) {
        const uint8_t *s = tw_text(k, r);
        tw_mark before = tw_mark_here(k);
        place = start;
        r->here = SIZE_MAX;
        if (s[start] == '@') result = tw_at_token(w, r, &place, end);
        else if (s[start] == '{' && tw_opens_object(s, start, end) == TW_AT_OBJECT)
            result = tw_object_in_damage(w, r, &place, &end, too_large && one_line);
        else if (s[start] == 'C' && tw_opens_magic(s, start, end) == TW_AT_MAGIC) place += 5;
        else result = tw_around_place(w, r, &place, end);
        if (result != TW_FINE) return result;
        if (tw_is_more(k, &before)) r->found_behind = place;
        if (k->rows.count == before.rows) continue;
        if (r->here == SIZE_MAX) tw_set_here(r, start, place);
        if ((result = tw_settle(w, r, piece, r->here, too_large, &kept, &before)) != TW_FINE) return result;
        piece = r->behind;
        kept = tw_mark_here(k);
    }
    *at = end > place ? end : place;
    tw_mark last = tw_mark_here(k);
    return tw_settle(w, r, piece, end, too_large, &kept, &last);
}

/* The end of the damage of an object over several lines: with the line of the fault, unless that begins with the fault or has a time
 * at its head. */
static size_t tw_damage_end(const uint8_t *s, size_t at, size_t fault, size_t reach, size_t end)
{
    size_t first = tw_behind_feed(s, at, fault), none, head;
    int64_t moment;
    for (none = first; none < fault && (tw_is_blank(s[none]) || s[none] == '\r');) none++;
    head = first + (end - first >= 3 && s[first] == 0xEF && s[first + 1] == 0xBB && s[first + 2] == 0xBF ? 3 : 0);
    if (none < fault && !tw_head_time(s + head, end - head, &moment)) {
        size_t stop = tw_line_end(s, fault, end);
        return stop < reach ? stop : reach;
    }
    while (first > at && (tw_is_blank(s[first - 1]) || s[first - 1] == '\r' || s[first - 1] == '\n')) first--;
    return tw_line_end(s, first, end);
}

/* An object that is no good JSON: it is damaged up to the end of its line, or of the line that cannot go on. edge: where the text ends,
 * or lines were taken. */
static int tw_broken(tw_search *w, tw_region *r, size_t *at, size_t reach, size_t edge, const tw_tried *t)
{
    size_t line_end = tw_line_stop_below(&w->k, r, *at), stop = line_end;
    int over_limit = t->cut && reach < edge;
    if (t->cut && reach == edge && edge == r->end && !r->final) return TW_GOES_ON;
    if (over_limit) stop = reach;
    else if (t->fault > line_end) {
        stop = tw_damage_end(tw_text(&w->k, r), *at, t->fault, reach, r->end);
        if (stop == r->end && !r->final) return TW_GOES_ON; /* the line that cannot go on has no end yet */
    }
    return tw_damaged(w, r, at, stop, over_limit, line_end >= reach);
}

/* The key of a wire where no object is open: the tail of a message whose head was cut off, in its line. */
static int tw_at_torn(tw_search *w, tw_region *r, size_t *at, size_t end)
{
    tw_lines *k = &w->k;
    const uint8_t *s = tw_text(k, r);
    size_t q = *at, line, stop, last, rejects = k->rejects.count;
    int result;
    if (q < r->sound && r->found_behind == r->sound_since) {
        *at = q + tw_torn_key(k->plan, s, q, end);
        return TW_FINE;
    }
    line = tw_floor(w, r, q);
    stop = tw_line_stop_below(k, r, q);
    if (tw_needs_line(k, r, q)) return TW_GOES_ON;
    for (last = tw_next_in_line(s, q, stop); last < stop && s[last] == '{' && tw_opens_object(s, last, stop) == TW_AT_OBJECT;) {
        tw_tried t = { 0 };
        size_t most = stop - last > k->limit ? last + k->limit : stop;
        if ((result = tw_try_object(k, r, last, most, &t)) != TW_FINE) return result;
        if (t.what == TW_TRIED_RECORD || t.what == TW_TRIED_REJECT) break;
        last = tw_next_in_line(s, t.what == TW_TRIED_BROKEN ? last + 1 : t.end, stop);
    }
    result = tw_settle_torn(w, r, line, last);
    r->sound = last;
    r->sound_since = r->found_behind;
    *at = k->rejects.count > rejects ? last : q + tw_torn_key(k->plan, s, q, end);
    return result;
}

/* Writes what a good object is, or what it holds. */
static int tw_add_object(tw_search *w, tw_region *r, size_t at, const tw_tried *t)
{
    int met, result;
    size_t from, to;                         /* no block ends between these */
    const tw_region *whole = r;
    if (t->what == TW_TRIED_RECORD) return tw_emit(&w->k, r, at, t);
    while (whole->level && whole->stretch_count == 1) whole = whole->outer;
    if ((result = tw_inside_good(w, r, at, t->end, &met)) == TW_FINE && met && whole->level) tw_place_found(&w->k, r, at, t->end, &from, &to);
    if (result != TW_FINE || met || t->what != TW_TRIED_REJECT) return result;
    return tw_refuse(w, r, at, t->end, t->fault, w->k.plan->wires[t->wire].code, t->reason);
}

#include "prefixed.h"

/* Messages that a template fits, each in a line of its own from *at on: most lines of a log of JSON are such. No newline stands
 * in one, so its line's end need not be looked for. */
static int tw_object_run(tw_search *w, tw_region *r, size_t *at)
{
    tw_lines *k = &w->k;
    tw_json *x = &k->json;
    const uint8_t *s = k->s;
    size_t p = *at;
    int result = TW_FINE;
    if (!x->template_count || r->taken.count || (p ? s[p - 1] != '\n' : w->mid)) return TW_FINE;
    k->line = tw_line_of(k, p);
    k->within = 1;
    while (p < k->stop && s[p] == '{' && k->rows.count < k->rows.room && result == TW_FINE) {
        size_t most = k->stop - p < k->limit ? k->stop : p + k->limit;
        tw_tried t = { 0 };
        if (tw_stopped_by_signal(k)) { result = TW_STOPPED; break; }
        const uint8_t *behind = tw_fitting(x, s + p, s + most, s + k->size);
        if (!behind || !x->fitted->one_line) break;
        size_t end = (size_t)(behind - s), newline = end + (end < k->stop && s[end] == '\r');
        if (newline >= k->stop || s[newline] != '\n') break;
        t.wire = x->fitted->wire;
        t.variant = x->fitted->variant;
        t.end = end;
        if (!x->surely) {
            tw_judged found;
            if (tw_judge(x, k->plan, s + p, behind, &found) != TW_SURELY) break;
            tw_keep_verdict(x, t.wire = found.wire, t.variant = found.variant);
        }
        k->head = p;
        k->head_known = 0;
        result = tw_emit(k, r, p, &t);
        p = newline + 1;
        k->line++;
    }
    k->within = 0;
    k->counted = *at = p;
    k->counted_line = k->line;
    return result;
}

static int tw_at_object(tw_search *w, tw_region *r, size_t *at, size_t end)
{
    tw_lines *k = &w->k;
    size_t q = *at, edge = tw_up_to_taken(&r->taken, q, end), reach = edge - q > k->limit ? q + k->limit : edge;
    tw_tried t = { 0 };
    int result, done = 0;
    if (tw_is_hopeless(r, q)) {
        *at = q + 1;
        return TW_FINE;
    }
    if (!r->level && ((result = tw_object_run(w, r, at)) != TW_FINE || *at != q)) return result;
    if ((result = tw_try_here(w, r, q, reach, reach == edge, &t)) != TW_FINE) return result;
    if (t.what == TW_TRIED_BROKEN) {
        const uint8_t *s = tw_text(k, r), *inside = tw_skip(s + q + 1, s + end);
        size_t line_end = tw_line_stop_below(k, r, q);
        int opens = inside == s + end || *inside == '"' || *inside == '}';
        if (opens && reach == r->end && tw_needs_line(k, r, q)) return TW_GOES_ON;
        if (t.fault > line_end || (opens && t.cut && reach == edge && line_end < reach)) {
            if ((result = tw_behind_prefix(w, r, *at, at, 1, &done)) != TW_FINE || done) return result;
            if (!opens) {                    /* another line, or its prefix */
                *at = q + 1;
                return TW_FINE;
            }
        }
        return tw_broken(w, r, at, reach, edge, &t);
    }
    *at = t.end;
    if (t.what != TW_TRIED_RECORD && !r->in_string && tw_is_carrier(&k->json, tw_text(k, r) + q)) {
        size_t line = tw_line_start(&w->k, r, q);
        if ((line == q || (q - line == 3 && tw_text(k, r)[line] == 0xEF)) && !tw_is_alone(w, r, line)) return TW_ASK;
    }
    return tw_add_object(w, r, q, &t);
}

/* --- nSLIP --- */

/* Matches what begins with a candidate, before `bound`. */
static int tw_at_token(tw_search *w, tw_region *r, size_t *at, size_t bound)
{
    tw_lines *k = &w->k;
    tw_among *o = (tw_among *)k->others;
    const uint8_t *s = tw_text(k, r);
    size_t q = *at, line;
    if (!r->level && k->run && bound == r->end && (q == 0 || s[q - 1] == '\n')) {
        k->position = q;
        k->line = tw_line_of(k, q);
        int result = k->run(k);
        if (result != TW_FINE) return result;
        if (k->position != q) {
            k->counted = *at = k->position;
            k->counted_line = k->line;
            return TW_FINE;
        }
    }
    line = tw_line_stop_below(k, r, q);
    if (line > bound) line = bound;
    size_t stop = line - q > k->limit ? q + k->limit : line;
    int code = tw_other_parse(o, s, q, stop, r->end, tw_readable(k, r));
    if (code == TW_OK) {
        *at = o->fields.end;
        return tw_other_record(k, r, q, o->fields.end);
    }
    size_t fault = o->fields.end;
    if (stop == r->end && tw_needs_line(k, r, q)) return TW_GOES_ON;
    if (stop < line && (fault >= stop || code == TW_UNTERMINATED_STRING)) {
        code = TW_MESSAGE_TOO_LARGE;
        fault = stop;
    }
    if (fault < line && s[fault] == '\\' && code != TW_BAD_ESCAPE && r->depth < TW_DEEPEST_STRING)
        return tw_around_place(w, r, at, bound); /* it was written in a string */
    size_t last = tw_next_in_line(s, q + 1, stop), next = tw_other_next(s, q + 1, stop, line, k->limit);
    if (next < last) last = next;
    *at = last > q ? last : q + 1;
    return tw_refuse(w, r, q, last, fault, o->wire, o->reasons[code]);
}

/* --- CSP/1 --- */

/* Makes the line at a place of a text the next one of its window. */
static csp_window *tw_csp_seek(tw_search *w, const tw_region *r, size_t at)
{
    csp_window *v = &w->windows[r != w->top];
    int64_t place = (int64_t)at;
    w->reading.data = tw_text(&w->k, r);     /* the arena may have moved */
    if (!w->filled[r != w->top] || place < v->base || place >= v->stop) {
        csp_fill(v, w->lister, w->reading.data, place, (int64_t)r->end, (int64_t)tw_readable(&w->k, r), r->final);
        w->filled[r != w->top] = 1;
        w->reading.open_run = 0;
    }
    int low = 0, high = v->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (v->base + v->feeds[middle] < place) low = middle + 1;
        else high = middle;
    }
    w->reading.place = place;
    w->reading.next = low;
    return v;
}

/* The columns of row n that tell of its task: that of a TASK or a RESULT, or the one that an ERROR is AT. */
static void tw_csp_tell(tw_search *w, const uint8_t *s, const int32_t *row, size_t n)
{
    const int kind = row[3] & 0xFF, at = w->csp_task_at[kind], status = w->csp_status_at[kind];
    const uint8_t *task = s + row[at];
    int32_t size = at && row[at + 1] > 0 ? row[at + 1] : 0;
    const int partial = status && row[status + 1] == 7; /* no other has so many bytes */
    for (int32_t i = 0; i < size && at != 10; i++) /* an ERROR may be AT what is no task */
        if (i ? task[i] < '0' || task[i] > '9' : *task != 'T' || size < 2) size = 0;
    ((int64_t *)w->csp_task->values)[n] = size ? tw_text_span((size_t)(row[at] + w->k.shift), (size_t)size) : 0;
    ((uint8_t *)w->csp_work->values)[n] = TW_TOLD | TW_ASKS | (partial ? 0 : TW_FINAL);
}

/* Writes the values of a message into row n, which has begun. */
static void tw_csp_fill(tw_search *w, tw_region *r, int32_t *row, size_t n, uint64_t present)
{
    tw_lines *k = &w->k;
    int64_t moment;
    size_t at = (size_t)row[0];
    present |= w->csp_present;
    if (k->rows.wire) k->rows.wire[n] = w->csp_code;
    if (w->csp_inside) w->csp_inside[n] = at < r->unclosed;
    if (w->csp_own) w->csp_store(w->csp_own, tw_text(k, r), row, (int64_t)n, k->shift);
    if (w->csp_kind && w->csp_kind->values) ((uint8_t *)w->csp_kind->values)[n] = w->csp_kinds[row[3] & 0xFF];
    for (int i = 0; i < 4 && k->rows.wanted; i++) {
        tw_column *c = w->csp_texts[i];
        if (!c || !c->values || row[5 + 2 * i] < 0) continue;
        ((int64_t *)c->values)[n] = tw_text_span((size_t)(row[4 + 2 * i] + k->shift), (size_t)row[5 + 2 * i]);
        present |= (uint64_t)1 << c->valid;
    }
    if (w->csp_task && w->csp_task->values && w->csp_work->values) {
        tw_csp_tell(w, tw_text(k, r), row, n);
        present |= (uint64_t)1 << w->csp_task->valid | (uint64_t)1 << w->csp_work->valid;
    }
    tw_fill_missing(k, n, present);
    if (k->rows.time) {                      /* no time stands in front of a line that begins with CSP/1 */
        int timed = (r->level || (at && k->s[at - 1] != '\n')) && tw_head(k, r, at, &moment);
        k->rows.time[n] = timed ? moment : 0;
        if (timed) present |= (uint64_t)1 << k->rows.time_bit;
    }
    k->rows.present[n] = present;
}

static int tw_csp_row(tw_search *w, tw_region *r, int32_t *row)
{
    tw_lines *k = &w->k;
    uint64_t present;
    size_t at = (size_t)row[0], n = tw_row_of(k, r, at, at + (size_t)row[1], &present);
    if (n == SIZE_MAX) return TW_FULL;
    if (k->rows.carrier && !r->level) {      /* a prefix may stand on its first line only */
        size_t line = tw_line_start(k, r, at), mark = at - line == 3 && k->s[line] == 0xEF ? 3 : 0;
        k->rows.carrier[n] = at > line + mark ? TW_BY_PREFIX : TW_BY_FILE;
    }
    tw_csp_fill(w, r, row, n, present);
    return TW_FINE;
}

/* The row of a message at the start of a line of the file, of that number: there is room. */
static void tw_csp_file_row(tw_search *w, int32_t *row, int64_t line)
{
    tw_lines *k = &w->k;
    size_t n = k->rows.count++;
    k->rows.offset[n] = k->base + row[0];
    k->rows.length[n] = row[1];
    if (k->rows.line) k->rows.line[n] = line;
    if (k->rows.carrier) k->rows.carrier[n] = TW_BY_FILE;
    if (k->apart) tw_set_apart(k, n, 1);
    k->shift = 0;
    k->counted = (size_t)row[0];
    k->counted_line = line;
    tw_csp_fill(w, w->top, row, n, 0);
}

static void tw_set_tail(tw_search *w, tw_region *r, int tail)
{
    r->tail = tail;
    if (r == w->top) w->tail_set = 1;
}

/* A heredoc of that run whose content begins at `from` never closes: the range is up to the next line that would close it. */
static int tw_note_unclosed(tw_search *w, tw_region *r, size_t from, size_t run)
{
    const uint8_t *s = tw_text(&w->k, r);
    size_t stop = csp_next_closing(&r->closings, s, from, run, r->end);
    if (stop < r->end) stop = tw_behind_line(s, stop, r->end);
    if (stop > r->unclosed) r->unclosed = stop;
    return r != w->top || tw_keep_span(&w->k, &w->unclosed, run, stop) ? TW_FINE : TW_STOPPED;
}

/* The opening of a heredoc in trailing text, whose content is passed where it closes. */
static int tw_at_heredoc(tw_search *w, tw_region *r, size_t *at)
{
    const uint8_t *s = tw_text(&w->k, r);
    size_t q = *at, end = r->end, bound = end - q > w->k.limit ? q + w->k.limit : end, run = 0, content, close;
    while (q + run < end && s[q + run] == '<') run++;
    if (tw_needs_line(&w->k, r, q)) return TW_GOES_ON;
    for (*at = q; *at < end && s[*at] != '\n';) ++*at;
    if (!r->tail) return TW_FINE;
    content = tw_behind_line(s, q, end);
    close = csp_next_closing(&r->closings, s, content, run, end);
    if (close < end && (close = tw_behind_line(s, close, end)) <= bound && (r->final || s[close - 1] == '\n')) {
        *at = close;
        return TW_FINE;
    }
    return bound == end && !r->final ? TW_GOES_ON : tw_note_unclosed(w, r, content, run);
}

/* A message of any form, or what is none. */
static int tw_at_message(tw_search *w, tw_region *r, size_t *at, csp_around *around)
{
    tw_lines *k = &w->k;
    tw_matched m;
    around->closings = &r->closings;
    around->end = r->end;
    size_t edge = tw_up_to_taken(&r->taken, *at, r->end);
    int result = TW_FINE;
    w->match_message(tw_text(k, r), (int64_t)*at, (int64_t)edge, r->final || edge < r->end, (int64_t)k->limit, around, &m);
    if (m.what == TW_CSP_UNSURE) return TW_ASK;
    if (m.what == TW_CSP_OPEN) return TW_GOES_ON;
    if (m.what == TW_CSP_RECORD) result = tw_csp_row(w, r, m.row);
    else if (m.what == TW_CSP_REFUSED && m.stop > (int64_t)*at)
        result = tw_refuse(w, r, *at, (size_t)m.stop, (size_t)m.fault, w->csp_code, w->csp_reasons[m.reason]);
    if (result != TW_FINE) return result;
    *at = (size_t)m.behind > *at ? (size_t)m.behind : *at + 1;
    tw_set_tail(w, r, m.tail);
    return m.run > 0 ? tw_note_unclosed(w, r, (size_t)m.inside, (size_t)m.run) : TW_FINE;
}

/* Messages written as they usually are, one behind the other. */
static int tw_at_csp(tw_search *w, tw_region *r, size_t *at)
{
    tw_lines *k = &w->k;
    int32_t spare[TW_CSP_ROW * TW_CSP_ROWS], *rows;
    int why, count, result, done = 0;
    size_t q = *at, stop = r->end;
    const uint8_t *s = tw_text(k, r);
    if (k->size + k->arena_size + k->kept_size > INT32_MAX) return TW_ASK;
    if (s[q] != 'C') {                       /* behind white space, which may be a prefix, or after a byte order mark */
        while (q < stop && tw_is_blank(s[q])) q++;
        if (stop - q < 5 || memcmp(s + q, "CSP/1", 5) || !tw_line_may_end(s, q + 5, stop)) return TW_ASK;
        if ((result = tw_behind_prefix(w, r, q, at, 0, &done)) != TW_FINE) return result;
        return done ? TW_FINE : TW_ASK;
    }
    csp_around around = { .fence = r->fence };
    if (tw_up_to_taken(&r->taken, q, stop) < stop) return tw_at_message(w, r, at, &around);
    csp_window *v = tw_csp_seek(w, r, q);
    w->reading.number = 0;
    const int64_t line = r->level ? 0 : tw_line_of(k, q);
    for (;;) {
        if (k->rows.room - k->rows.count < TW_CSP_ROWS) return TW_FULL;
        rows = w->csp_spans && !r->level ? w->csp_spans + TW_CSP_ROW * k->rows.count : spare;
        count = csp_fast(v, &w->reading, rows, TW_CSP_ROWS, &why);
        for (int i = 0; i < count; i++, rows += TW_CSP_ROW) {
            if (!r->level) tw_csp_file_row(w, rows, line + rows[2]);
            else if ((result = tw_csp_row(w, r, rows)) != TW_FINE) return result;
        }
        if (count) {
            *at = r->found_behind = (size_t)w->reading.place;
            tw_set_tail(w, r, 1);
        }
        if (count == TW_CSP_ROWS) continue;
        /* A message that the first half of a window holds the head of is long, or its heredoc does not close. */
        if (why != CSP_CUT_OFF || v->stop >= (int64_t)stop) break;
        if (w->reading.place - v->base < (v->stop - v->base) / 2) break;
        w->filled[r != w->top] = 0;
        tw_csp_seek(w, r, *at);
    }
    return *at == q ? tw_at_message(w, r, at, &around) : TW_FINE;
}

/* "CSP/1" at the end of a line, behind something. */
static int tw_at_magic(tw_search *w, tw_region *r, size_t *at)
{
    size_t q = *at;
    int done = 0, result;
    if (!tw_line_may_end(tw_text(&w->k, r), q + 5, r->end)) return TW_ASK; /* the head of a template */
    if ((result = tw_behind_prefix(w, r, q, at, 0, &done)) == TW_FINE && !done) *at = q + 5;
    return result;
}

/* --- documents and values --- */

/* A line that may open or close a code fence. */
static void tw_at_fence(tw_search *w, tw_region *r, size_t *at)
{
    const uint8_t *s = tw_text(&w->k, r), *newline = (const uint8_t *)memchr(s + *at, '\n', r->end - *at);
    size_t end = newline ? (size_t)(newline - s) : r->end;
    tw_fence before = r->fence;
    r->fence = tw_fence_after(before, s, *at, end);
    tw_set_tail(w, r, 0);
    if (r == w->top) w->fence_set = 1;
    if (!r->level && !before.run != !r->fence.run) {
        w->fence_touched = 0;
        w->since = w->k.rows.count + w->k.rejects.count + w->elsewhere;
    }
    *at = end + (newline != NULL);
}

/* True if a header line may begin a document: only in files, and where nothing was found in front, in its fence or in the file. */
static int tw_may_begin_document(const tw_search *w, const tw_region *r)
{
    size_t found = w->k.rows.count + w->k.rejects.count + w->elsewhere;
    if (r->level || w->pieces) return 0;
    return r->fence.run ? found <= w->since && !w->fence_touched : !found && !w->touched;
}

/* A line of strings and arrays: each of its strings is a text, and each list of lines; its objects are what they are
 * anywhere. Where nothing is in it, and it is no whole array, it may be the tail of a message. */
static int tw_at_values(tw_search *w, tw_region *r, size_t *at, size_t end)
{
    tw_lines *k = &w->k;
    const uint8_t *s = tw_text(k, r);
    size_t q = *at, stop = tw_line_stop_below(k, r, q), p = q, rows = k->rows.count, rejects = k->rejects.count;
    int result = TW_FINE, values;
    if (!r->final && stop == end) return TW_ASK;
    if (!(values = tw_are_values(s, q, stop))) {
        while (s[p] != '"' && s[p] != '[') p++;
        *at = p + 1;
        if (!tw_torn_key(k->plan, s, p, end)) return TW_FINE;
        *at = p;
        return tw_at_torn(w, r, at, end);
    }
    if (stop - q > k->limit) return TW_ASK;
    *at = stop;
    while (p < stop && result == TW_FINE) {
        if (s[p] == '"') {
            const uint8_t *close = tw_closing_quote(s + p + 1, s + tw_hard(k, r)), *bracket, *first;
            tw_stretch said = { .outer = p + 1, .until = (size_t)(close - s), .quote = p, .written = TW_WITH_ESCAPES };
            p = said.until + 1;
            if (tw_is_key(s + said.outer, said.until - said.outer, "MESSAGE") && tw_message_bytes(close, s + stop, s + tw_hard(k, r), &bracket, &first)) return TW_ASK;
            if (r->depth < TW_DEEPEST_STRING && tw_is_worth(s + said.outer, close, s + tw_hard(k, r))) result = tw_search_said(w, r, &said, 1);
        } else if (s[p] == '{') {
            size_t behind = p;
            result = tw_at_object(w, r, &behind, end);
            p = behind;
        } else if (s[p] == '[' && r->depth < TW_DEEPEST_STRING) {
            size_t behind = p + 1;
            result = tw_look_into_list(w, r, p, stop, SIZE_MAX, &behind);
            p = behind;
        } else p++;
        s = tw_text(k, r);                   /* the arena may have moved */
    }
    if (p > stop) *at = p;
    if (result != TW_FINE || p > stop || rows != k->rows.count || rejects != k->rejects.count) return result;
    return values == 2 ? TW_FINE : tw_settle_torn(w, r, q, stop);
}

/* --- the walk --- */

static int tw_search_text(tw_search *w, tw_region *r, size_t *place)
{
    tw_lines *k = &w->k;
    size_t at = *place, end = r->end;
    tw_look look = { .from = r->start, .end = end, .base = TW_NO_BLOCK, .torn = k->plan->torn_halves };
    int result = TW_FINE;
    for (;;) {
        look.s = tw_text(k, r);              /* the arena may have moved */
        look.readable = tw_readable(k, r);
        at = tw_seek(&look, at);
        if (at >= end || (r == w->top && at >= w->until)) break;
        if (look.s[at] == '"' && at + 1 < end && !k->plan->torn_first[look.s[at + 1]] && !tw_is_line_start(look.s, at, r->start)) {
            at++;                            /* most quotes of a log begin no key */
            continue;
        }
        if (tw_stopped_by_signal(k)) { result = TW_STOPPED; break; }
        if (r->taken.count) {
            size_t behind = tw_behind_taken(&r->taken, at);
            if (behind > at) { at = r->reached = behind; continue; }
        }
        int opening = tw_opening_of(k->plan, look.s, at, r->start, end, w->mid && !r->level);
        if (opening == TW_NO_OPENING) { at++; continue; }
        size_t begun = at;
        tw_mark before = tw_mark_here(k);
        switch (opening) {
        case TW_AT_OBJECT:
            result = tw_at_object(w, r, &at, end);
            break;
        case TW_AT_TOKEN:
            result = tw_at_token(w, r, &at, end);
            break;
        case TW_AT_CSP:
            result = tw_at_csp(w, r, &at);
            break;
        case TW_AT_MAGIC:
            result = tw_at_magic(w, r, &at);
            break;
        case TW_AT_FENCE:
            tw_at_fence(w, r, &at);
            continue;
        case TW_AT_HEAD:
            if (tw_may_begin_document(w, r)) { result = TW_ASK; break; }
            at++;
            continue;
        case TW_AT_HEREDOC:
            result = tw_at_heredoc(w, r, &at);
            break;
        case TW_AT_VALUES:
            result = tw_at_values(w, r, &at, end);
            break;
        case TW_AT_TORN:
            result = tw_at_torn(w, r, &at, end);
            break;
        case TW_AT_ESCAPED:
            result = tw_around_place(w, r, &at, end);
            break;
        default:
            result = TW_ASK;
        }
        if (result != TW_FINE) {
            int kept = opening == TW_AT_CSP && result == TW_FULL && r == w->top; /* what is read of a run of messages stands */
            if (kept) break;
            tw_go_back(k, &before);
            tw_end_step(w, r, 0, at);
            at = begun;
            break;
        }
        r->reached = at;
        if (tw_is_more(k, &before)) r->found_behind = at;
        if (r->fresh.count && (result = tw_end_step(w, r, 1, at)) != TW_FINE) break;
        /* It reaches behind what is open. */
        if (r == w->top && at > w->until && begun < w->until && !tw_keep_reach(w, r, begun, at)) { result = TW_STOPPED; break; }
    }
    *place = at;
    return result;
}

static int tw_search_top(tw_search *w)
{
    int result = tw_search_text(w, w->top, &w->at);
    return result == TW_FULL && w->k.json.no_memory ? TW_STOPPED : result;
}

#endif
