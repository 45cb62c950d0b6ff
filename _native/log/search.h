/* The walk through a text, from left to right: what begins first wins. The readable twin is log/search/search.py, which tells
 * the rules.
 *
 * tw_search_text reads a block from w->at on and writes a row for each record, at once. What it does not read itself (carriers,
 * fences, damage that may hold more) it leaves to the caller: TW_ASK, with what begins and where. That is read by the readable
 * twin, and the walk goes on behind it; TW_GOES_ON: what begins there goes on behind the text. So the walk only ever says yes: what it writes is what the twin would find. */
#ifndef TURNWIRE_SEARCH_SEARCH_H
#define TURNWIRE_SEARCH_SEARCH_H

#include "openings.h"
#include "_native/csp/fast_path.h"

enum { TW_ASK = 3, TW_GOES_ON = 4 };            /* beside TW_FINE, TW_FULL, TW_STOPPED */
enum { TW_CSP_ROWS = 16, TW_CSP_ROW = 24, TW_CSP_KINDS = 9 };

typedef struct { size_t start, stop; } tw_span;

/* What begins with a line that says CSP/1: see csp/match.pxi. */
enum { TW_CSP_UNSURE, TW_CSP_RECORD, TW_CSP_REFUSED, TW_CSP_TEXT, TW_CSP_OPEN };
typedef struct {
    int what, reason;
    int64_t stop, behind, fault;
    int tail;
    int32_t row[TW_CSP_ROW];
} tw_matched;

typedef struct {
    tw_lines k;
    tw_look look;
    size_t at, until;                        /* where the walk stands, and where it ends: a text may be open there */
    int opening;                             /* with TW_ASK: what begins there */
    int mid;                                 /* the text begins in the middle of a line */
    int child, in_string, parts;             /* it is no file: it is what strings say; some line of it is in pieces */
    int tail;                                /* heredocs in trailing text matter */
    int unclosed;                            /* heredocs that never close are open: CSP/1 asks about each record */
    const tw_span *taken;                    /* lines that belong to another text, in order */
    size_t taken_count;
    const size_t *hopeless;                  /* objects that meet a known fault, in order */
    size_t hopeless_count;
    size_t last;                             /* where what was found last ends, SIZE_MAX where nothing was */
    size_t line_from, line_seen;             /* a line begins at line_from, and goes on to line_seen at least */
    uint8_t csp_code;
    uint64_t csp_present;                    /* what each row of it has */
    uint8_t csp_kinds[TW_CSP_KINDS];         /* kind -> its number among those of all wires */
    tw_column *csp_kind, *csp_texts[4];      /* of from, to, ctx, id; NULL where nobody asked */
    void *csp_own;                           /* the columns of CSP/1 itself, or NULL; csp_store writes a row of them, and of */
    int32_t *csp_spans;                      /* these (or NULL) the next ones may be read where they belong */
    void (*csp_store)(void *columns, const uint8_t *data, int32_t *row, int64_t at, int64_t shift);
    csp_window window;
    csp_lister lister;
    csp_reading reading;
    int window_filled;
void (*match_message)(const uint8_t *data, int64_t at, int64_t end, int final, int64_t most_bytes, tw_matched *m);
    int csp_tail;                            /* of what CSP/1 was found last */
    int fence, tail_set;                     /* a code fence is open; the walk knows `tail` */
    uint8_t csp_reasons[256];                /* its own reasons -> those of all wires */
} tw_search;

/* --- places --- */

static inline size_t tw_behind_taken(const tw_search *w, size_t at)
{
    size_t low = 0, high = w->taken_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->taken[middle].start <= at) low = middle + 1;
        else high = middle;
    }
    return low && at < w->taken[low - 1].stop ? w->taken[low - 1].stop : at;
}

/* Up to where a text goes on that begins at a place: to the next lines that were taken, or to `end`. */
static inline size_t tw_up_to_taken(const tw_search *w, size_t at, size_t end)
{
    size_t low = 0, high = w->taken_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->taken[middle].start < at) low = middle + 1;
        else high = middle;
    }
    return low < w->taken_count && w->taken[low].start < end ? w->taken[low].start : end;
}

/* Where the line of a place in the file begins. */
static size_t tw_line_of_place(tw_search *w, size_t at)
{
    const uint8_t *s = w->k.s;
    size_t p = at, known = at >= w->line_from && at >= w->line_seen && w->line_seen > w->line_from ? w->line_seen : 0;
    if (at >= w->line_from && at < w->line_seen) return w->line_from;
    while (p > known && s[p - 1] != '\n') p--;
    if (p == known && known && s[p - 1] != '\n') p = w->line_from;
    w->line_from = p;
    w->line_seen = at;
    return p;
}

/* Sets the line whose time a record has that gives none itself. */
static void tw_set_head(tw_search *w, size_t at)
{
    tw_lines *k = &w->k;
    size_t line = tw_line_of_place(w, at);
    if (k->stop - line >= 3 && k->s[line] == 0xEF && k->s[line + 1] == 0xBB && k->s[line + 2] == 0xBF) line += 3;
    if (line == k->head && k->head_known) return;
    k->head = line;
    k->head_known = 0;
}

/* Stores the reject [at, end) of a region. wire: its number. */
static int tw_refuse(tw_search *w, tw_region *r, size_t at, size_t end, size_t fault, uint8_t wire, int reason)
{
    tw_lines *k = &w->k;
    size_t n = k->rejects.count, over = fault > end ? fault - end : 0;
    int result = tw_store_json_reject(k, r, at, end, fault - over, 0, reason);
    if (k->rejects.count == n) return result;
    k->rejects.fault[n] += (int64_t)over;
    k->rejects.wire[n] = wire;
    return result;
}

/* --- what a good object holds --- */

/* Whether text may hold something: a sign of an opening, or an escape that may stand for one. */
static int tw_may_hold(const uint8_t *p, size_t size)
{
    uint8_t any = 0;
    for (size_t i = 0; i < size; i++) any |= (uint8_t)((p[i] == '{') | (p[i] == '@') | (p[i] == '\\'));
    if (any) return 1;
    for (size_t i = 0; i + 1 < size; i++) any |= (uint8_t)(((p[i] | 32) == 'c') & ((p[i + 1] | 32) == 's'));
    return any;
}

/* Whether a string, as written, is worth to be searched. */
static int tw_is_worth(const uint8_t *p, const uint8_t *end)
{
    if (!tw_may_hold(p, (size_t)(end - p))) return 0;
    for (; p < end; p++) {
        if (*p == '{' || *p == '@') return 1;
        if ((*p | 32) == 'c' && end - p >= 3 && (p[1] | 32) == 's' && (p[2] | 32) == 'p') return 1;
        if (*p != '\\') continue;
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

static int tw_search_text(tw_search *w, tw_region *r, tw_look *look, size_t *at);

/* Searches what the string at `open` says, its inside s[from .. to). */
static int tw_search_string(tw_search *w, tw_region *r, size_t open, size_t from, size_t to)
{
    tw_lines *k = &w->k;
    tw_region inside = { .outer = r, .level = r->level + 1, .quote = open, .inside = from, .until = to, .written = from };
    if (r->level || w->in_string || w->parts) return TW_ASK; /* a string in a string is seldom */
    k->string_rejects = 0;
    if (!tw_arena_room(k, to - from + 128)) { k->json.no_memory = 1; return TW_STOPPED; }
    inside.start = inside.seen = k->arena_size;
    inside.end = inside.start + tw_unescape(k->s + from, k->s + to, k->arena + inside.start);
    k->arena[inside.end] = '\n';
    k->arena_size = inside.end + 1;
    size_t rows = k->rows.count, rejects = k->rejects.count, at = inside.start;
    tw_look look = { .from = inside.start, .end = inside.end, .base = TW_NO_BLOCK };
    tw_set_head(w, open);
    int result = tw_search_text(w, &inside, &look, &at);
    if (rows == k->rows.count && rejects == k->rejects.count) k->arena_size = inside.start;
    return result;
}

static int tw_look_inside(tw_search *w, tw_region *r, size_t at, size_t end)
{
    tw_lines *k = &w->k;
    const uint8_t *s = tw_text(k, r);
    int objects = memchr(s + at + 1, '{', end - at - 1) &&
                  tw_any_token(k->plan->inside, k->plan->inside_count, s + at, s + end), result;
    for (size_t q = at + 1; q < end;) {
        s = tw_text(k, r);
        if (s[q] == '{' && objects) {
            tw_tried t = { 0 };
            if ((result = tw_try_object(k, r, q, end, &t)) != TW_FINE) return result;
            if (t.what == TW_TRIED_RECORD) {
                int around = r->around;
                if (!r->level) tw_set_head(w, q);
                if (w->child && !r->level && !k->head_known) tw_line_head(k);
                if (w->child && !r->level && k->head_known == 1) r->around = 0; /* the line's time comes first */
                result = tw_emit(k, r, q, &t);
                r->around = r->around ? r->around : around;
                if (result != TW_FINE) return result;
            } else if (t.what == TW_TRIED_REJECT) {
                size_t rows = k->rows.count, rejects = k->rejects.count;
                if ((result = tw_look_inside(w, r, q, t.end)) != TW_FINE) return result;
                if (rows == k->rows.count && rejects == k->rejects.count &&
                    (result = tw_refuse(w, r, q, t.end, t.fault, k->plan->wires[t.wire].code, t.reason)) != TW_FINE) return result;
            }
            q = t.what == TW_TRIED_RECORD || t.what == TW_TRIED_REJECT ? t.end : q + 1;
        } else if (s[q] == '"') {
            const uint8_t *close = tw_closing_quote(s + q + 1, s + tw_hard(k, r)), *bracket, *first;
            size_t open = q;
            q = (size_t)(close - s) + 1;
            if (tw_is_key(s + open + 1, q - open - 2, "MESSAGE") && tw_message_bytes(close, &bracket, &first)) return TW_ASK;
            if (r->level >= TW_DEEPEST_STRING || !tw_is_worth(s + open + 1, close)) continue;
            if ((result = tw_search_string(w, r, open, open + 1, q - 1)) != TW_FINE) return result;
        } else if (s[q] == '[') {
            const uint8_t *p = tw_behind_space(s + q + 1);
            q++;
            if (*p != '"') continue;
            const uint8_t *close = tw_closing_quote(p + 1, s + tw_hard(k, r));
            /* A list of strings that are lines is one text. */
            if (close - p > 2 && close[-1] == 'n' && close[-2] == '\\' && *tw_behind_space(close + 1) == ',' &&
                tw_is_worth(s + at, s + end)) return TW_ASK;
        } else {
            q++;
        }
    }
    return TW_FINE;
}

/* Looks into the good object [at, end), which is no message; *met: whether anything is in it. */
static int tw_inside_good(tw_search *w, tw_region *r, size_t at, size_t end, int *met)
{
    tw_lines *k = &w->k;
    const uint8_t *s = tw_text(k, r);
    size_t rows = k->rows.count, rejects = k->rejects.count;
    *met = 0;
    if (!tw_may_hold(s + at + 1, end - at - 1) && !memchr(s + at, '[', end - at)) return TW_FINE;
    r->around = 1;
    r->object = at;
    int result = tw_look_inside(w, r, at, end);
    r->around = 0;
    *met = rows != k->rows.count || rejects != k->rejects.count;
    return result;
}

/* Where in s[at .. stop) the next token, object or escaped text begins, or stop. */
static size_t tw_next_in_line(const uint8_t *s, size_t at, size_t stop)
{
    for (; at < stop; at++) {
        if (s[at] != '@' && s[at] != '{' && s[at] != 'C') continue;
        int opens = s[at] == '@' ? tw_candidate(s, at, stop) == TW_CANDIDATE
                    : s[at] == '{' ? tw_opens_object(s, at, stop) != TW_NO_OPENING
                                   : tw_opens_magic(s, at, stop) != TW_NO_OPENING;
        if (opens) return at;
    }
    return stop;
}

/* --- JSON --- */

/* Whether an object that stands at the start of its line may be a line of a container runtime or of a journal. */
static int tw_may_be_carrier(const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size;
    for (; (p = (const uint8_t *)memchr(p, '"', (size_t)(end - p))); p++) {
        size_t left = (size_t)(end - p);
        if (left > 22 && !memcmp(p, "\"__REALTIME_TIMESTAMP\"", 22)) return 1;
        if (left > 8 && !memcmp(p, "\"stream\"", 8)) return 1;
        if (left > 3 && p[1] == '\\' && p[2] == 'u') return 1;
    }
    return 0;
}

static int tw_is_hopeless(const tw_search *w, size_t at)
{
    for (size_t i = 0; i < w->hopeless_count; i++)
        if (w->hopeless[i] == at) return 1;
    return 0;
}

/* Whether one of the objects that are open at the fault that was met last begins there. */
static int tw_is_open(int opened, const uint8_t *const *open, const uint8_t *p)
{
    for (int i = 0; i < opened; i++)
        if (open[i] == p) return 1;
    return 0;
}

static const uint8_t *tw_behind_space_to(const uint8_t *p, const uint8_t *end)
{
    while (p < end && (tw_is_blank(*p) || *p == '\r' || *p == '\n')) p++;
    return p;
}

/* Damage of the file that holds nothing but good objects of nobody: up to the end of its line, or of the line that cannot go
 * on, it is a reject where it carries the marks of a wire. */
static int tw_at_damage(tw_search *w, tw_region *r, size_t *at, size_t end, const tw_tried *t)
{
    tw_lines *k = &w->k;
    const uint8_t *s = k->s, *open[TW_DEEPEST];
    size_t q = *at, line_end, stop, p = q + 1;
    int opened = k->json.opened, result, met;
    if (r->level || w->taken_count || end - q > k->limit) return TW_ASK;
    if (t->cut && !k->final && tw_line_of_place(w, q) == q && tw_opens_object(s, q, end) == TW_AT_OBJECT &&
        (p = (size_t)(tw_behind_space_to(s + q + 1, s + end) - s)) < end && (s[p] == '"' || s[p] == '}')) return TW_GOES_ON;
    if (w->child || t->cut) return TW_ASK;
    p = (size_t)(tw_behind_space_to(s + q + 1, s + end) - s);
    line_end = stop = tw_line_stop_below(k, r, q);
    if (p < end && s[p] != '"' && s[p] != '}' && t->fault > line_end) return TW_ASK;
    if (line_end == end && !k->final) return TW_ASK;
    if (t->fault > line_end) {
        size_t first = t->fault, none;
        int64_t moment;
        if (tw_line_of_place(w, q) != q) return TW_ASK; /* it may go on behind a prefix */
        while (s[first - 1] != '\n') first--;
        for (none = first; none < t->fault && (tw_is_blank(s[none]) || s[none] == '\r');) none++;
        if (none < t->fault && !tw_head_time(s + first, end - first, &moment)) {
            const uint8_t *newline = (const uint8_t *)memchr(s + t->fault, '\n', end - t->fault);
            stop = newline ? (size_t)(newline - s) : end;
            stop -= stop > t->fault && newline && s[stop - 1] == '\r';
        } else {
            for (stop = first; tw_is_blank(s[stop - 1]) || s[stop - 1] == '\r' || s[stop - 1] == '\n';) stop--;
            if (stop < end && s[stop] != '\n' && s[stop] != '\r') return TW_ASK;
        }
    }
    for (int i = 0; i < opened; i++) {
        open[i] = k->json.open[i];
        if (open[i] >= s + stop) return TW_ASK;
    }
    if (opened >= TW_DEEPEST) return TW_ASK;
    for (p = q + 1; p < stop;) {
        p = tw_next_in_line(s, p, stop);
        if (p >= stop) break;
        if (s[p] == 'C' && tw_opens_magic(s, p, stop) == TW_AT_MAGIC) { p += 5; continue; }
        if (s[p] != '{' || tw_opens_object(s, p, stop) != TW_AT_OBJECT) return TW_ASK;
        if (tw_is_open(opened, open, s + p) || tw_is_hopeless(w, p)) { p++; continue; }
        tw_tried inner = { 0 };
        if ((result = tw_try_object(k, r, p, end, &inner)) != TW_FINE) return result;
        if (inner.what != TW_TRIED_OTHER || inner.end > stop) return TW_ASK;
        if ((result = tw_inside_good(w, r, p, inner.end, &met)) != TW_FINE) return result;
        if (met) return TW_ASK;
        p = inner.end;
    }
    *at = stop;
    if (!tw_any_token(k->plan->torn, k->plan->torn_count, s + q, s + stop)) return TW_FINE;
    tw_verdict verdict = { TW_TRIED_OTHER, 0, 0, 0 };
    if (!k->torn(k->context, s + q, stop - q, 0, &verdict)) return TW_STOPPED;
    if (verdict.what != TW_TRIED_REJECT) return TW_FINE;
    size_t fault = q + (verdict.fault < stop - q ? verdict.fault : stop - q);
    return tw_refuse(w, r, q, stop, fault, k->plan->wires[verdict.wire].code, verdict.reason);
}

/* Messages that a template fits, each in a line of its own from *at on: most lines of a log of JSON are such. No newline stands
 * in one, so its line's end need not be looked for. */
static int tw_object_run(tw_search *w, tw_region *r, size_t *at)
{
    tw_lines *k = &w->k;
    tw_json *x = &k->json;
    const uint8_t *s = k->s;
    size_t p = *at;
    int result = TW_FINE;
    if (!x->template_count || w->taken_count || (p ? s[p - 1] != '\n' : w->mid)) return TW_FINE;
    k->line = tw_line_of(k, p);
    k->within = 1;
    while (p < k->stop && s[p] == '{' && k->rows.count < k->rows.room && result == TW_FINE) {
        size_t most = k->stop - p < k->limit ? k->stop : p + k->limit;
        tw_tried t = { 0 };
        if (tw_stopped_by_signal(k)) { result = TW_STOPPED; break; }
        const uint8_t *behind = tw_fitting(x, s + p, s + most, s + k->size);
        if (!behind || !x->fitted->one_line || (x->surely && x->fitted->what)) break;
        size_t end = (size_t)(behind - s), newline = end + (end < k->stop && s[end] == '\r');
        if (newline >= k->stop || s[newline] != '\n') break;
        t.wire = x->fitted->wire;
        t.variant = x->fitted->variant;
        t.end = end;
        if (!x->surely) {
            if (tw_judge(x, k->plan, &t.wire, &t.variant) != TW_SURELY) break;
            tw_keep_verdict(x, t.wire, t.variant);
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
    size_t q = *at, edge = r->level ? end : tw_up_to_taken(w, q, end), reach = edge - q > k->limit ? q + k->limit : edge;
    tw_tried t = { 0 };
    int result, met;
    if (!r->level && tw_is_hopeless(w, q)) {
        *at = q + 1;
        return TW_FINE;
    }
    if (!r->level && ((result = tw_object_run(w, r, at)) != TW_FINE || *at != q)) return result;
    if ((result = tw_try_object(k, r, q, reach, &t)) != TW_FINE) return result;
    if (t.what == TW_TRIED_BROKEN) return tw_at_damage(w, r, at, end, &t);
    *at = t.end;
    if (t.what == TW_TRIED_RECORD) {
        if (!r->level) tw_set_head(w, q);
        return tw_emit(k, r, q, &t);
    }
    if (!r->level && !w->in_string) {
        size_t line = tw_line_of_place(w, q);
        if ((line == q || q - line == 3) && tw_may_be_carrier(k->s + q, t.end - q)) return TW_ASK;
    }
    if ((result = tw_inside_good(w, r, q, t.end, &met)) != TW_FINE || met || t.what != TW_TRIED_REJECT) return result;
    return tw_refuse(w, r, q, t.end, t.fault, k->plan->wires[t.wire].code, t.reason);
}

/* --- nSLIP --- */

static int tw_at_token(tw_search *w, tw_region *r, size_t *at, size_t end)
{
    tw_lines *k = &w->k;
    tw_among *o = (tw_among *)k->others;
    const uint8_t *s = tw_text(k, r);
    size_t q = *at, line;
    if (!r->level && k->run && !w->taken_count && (q == 0 || s[q - 1] == '\n')) {
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
    size_t stop = line - q > k->limit ? q + k->limit : line;
    int code = tw_other_parse(o, s, q, stop, end);
    if (code == TW_OK) {
        tw_other other = { TW_OTHER_RECORD, q, o->fields.end };
        if (!r->level) tw_set_head(w, q);
        *at = o->fields.end;
        return tw_other_record(k, r, &other);
    }
    size_t fault = o->fields.end;
    if (stop == end && !r->level && !k->final) return TW_ASK;
    if (stop < line && (fault >= stop || code == TW_UNTERMINATED_STRING)) {
        code = TW_MESSAGE_TOO_LARGE;
        fault = stop;
    }
    if (fault < line && s[fault] == '\\' && code != TW_BAD_ESCAPE) return TW_ASK;
    size_t last = tw_next_in_line(s, q + 1, stop), next = tw_other_next(s, q + 1, stop, line, k->limit, 0);
    if (next < last) last = next;
    *at = last > q ? last : q + 1;
    return tw_refuse(w, r, q, last, fault, o->wire, o->reasons[code]);
}

/* --- CSP/1 --- */

/* Makes the line at a place the next one of the window. */
static void tw_csp_seek(tw_search *w, size_t at)
{
    csp_window *v = &w->window;
    int64_t place = (int64_t)at;
    if (!w->window_filled || place < v->base || place >= v->stop) {
        csp_fill(v, w->lister, w->k.s, place, (int64_t)w->k.stop);
        w->window_filled = 1;
    }
    int low = 0, high = v->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (v->base + v->feeds[middle] < place) low = middle + 1;
        else high = middle;
    }
    w->reading.place = place;
    w->reading.next = low;
    w->reading.number = 0;
}

static int tw_csp_row(tw_search *w, tw_region *r, int32_t *row)
{
    tw_lines *k = &w->k;
    uint64_t present;
    int64_t moment;
    size_t at = (size_t)row[0], n = tw_row_of(k, r, at, at + (size_t)row[1], &present);
    if (n == SIZE_MAX) return TW_FULL;
    present |= w->csp_present;
    if (k->rows.wire) k->rows.wire[n] = w->csp_code;
    if (w->csp_own) w->csp_store(w->csp_own, tw_text(k, r), row, (int64_t)n, r->level ? (int64_t)k->size : 0);
    if (w->csp_kind && w->csp_kind->values) ((uint8_t *)w->csp_kind->values)[n] = w->csp_kinds[row[3] & 0xFF];
    for (int i = 0; i < 4; i++) {
        tw_column *c = w->csp_texts[i];
        if (!c || !c->offset || row[5 + 2 * i] < 0) continue;
        c->offset[n] = row[4 + 2 * i] + (r->level ? (int64_t)k->size : 0);
        c->size[n] = row[5 + 2 * i];
        present |= (uint64_t)1 << c->valid;
    }
    tw_fill_missing(k, n, present);
    if (k->rows.time) {                      /* no time stands in front of CSP/1 on its line */
        int timed = r->level && tw_head(k, r, at, &moment);
        k->rows.time[n] = timed ? moment : 0;
        if (timed) present |= (uint64_t)1 << k->rows.time_bit;
    }
    k->rows.present[n] = present;
    return TW_FINE;
}

/* A message of any form, or what is none. */
static int tw_at_message(tw_search *w, tw_region *r, size_t *at)
{
    tw_lines *k = &w->k;
    tw_matched m;
    int result = TW_FINE;
    if (!r->level && w->fence) return TW_ASK;
    w->match_message(tw_text(k, r), (int64_t)*at, (int64_t)r->end, r->level || k->final, (int64_t)k->limit, &m);
    if (m.what == TW_CSP_UNSURE) return TW_ASK;
    if (m.what == TW_CSP_OPEN) return TW_GOES_ON;
    if (m.what == TW_CSP_RECORD) result = tw_csp_row(w, r, m.row);
    else if (m.what == TW_CSP_REFUSED && m.stop > (int64_t)*at)
        result = tw_refuse(w, r, *at, (size_t)m.stop, (size_t)m.fault, w->csp_code, w->csp_reasons[m.reason]);
    if (result != TW_FINE) return result;
    *at = (size_t)m.behind > *at ? (size_t)m.behind : *at + 1;
    w->csp_tail = m.tail;
    if (!r->level) {
        w->tail = m.tail;
        w->tail_set = 1;
    }
    return TW_FINE;
}

/* Messages written as they usually are, one behind the other. */
static int tw_at_csp(tw_search *w, tw_region *r, size_t *at)
{
    tw_lines *k = &w->k;
    int32_t spare[TW_CSP_ROW * TW_CSP_ROWS], *rows;
    int why, count, result;
    size_t q = *at;
    if (k->size + k->arena_size > INT32_MAX) return TW_ASK;
    if (r->level) return tw_at_message(w, r, at);
    if (w->unclosed || w->taken_count) return TW_ASK;
    tw_csp_seek(w, q);
    const int64_t line = k->rows.line ? tw_line_of(k, q) : 0;
    for (;;) {
        if (k->rows.room - k->rows.count < TW_CSP_ROWS) return TW_FULL;
        rows = w->csp_spans ? w->csp_spans + TW_CSP_ROW * k->rows.count : spare;
        count = csp_fast(&w->window, &w->reading, rows, TW_CSP_ROWS, &why);
        for (int i = 0; i < count; i++, rows += TW_CSP_ROW) {
            if (k->rows.line) {              /* lines were counted already */
                k->counted = (size_t)rows[0];
                k->counted_line = line + rows[2];
            }
            if ((result = tw_csp_row(w, r, rows)) != TW_FINE) return result;
        }
        if (count) {
            *at = w->last = (size_t)w->reading.place;
            w->tail = w->tail_set = w->csp_tail = 1;
        }
        if (count == TW_CSP_ROWS) continue;
        if (why != CSP_CUT_OFF || w->window.base == w->reading.place || w->window.stop >= (int64_t)k->stop) break;
        csp_fill(&w->window, w->lister, k->s, w->reading.place, (int64_t)k->stop);
        w->reading.next = 0;
    }
    return *at == q ? tw_at_message(w, r, at) : TW_FINE;
}

/* --- the walk --- */

static int tw_search_text(tw_search *w, tw_region *r, tw_look *look, size_t *place)
{
    tw_lines *k = &w->k;
    size_t at = *place, end = r->end;
    int result = TW_FINE, tail = 0;          /* tail: as w->tail, of a string */
    for (;;) {
        look->s = tw_text(k, r);             /* the arena may have moved */
        look->readable = r->level ? k->arena_room : k->size;
        at = tw_seek(look, at);
        if (at >= end || (!r->level && at >= w->until)) break;
        if (tw_stopped_by_signal(k)) { result = TW_STOPPED; break; }
        int opening = tw_opening_of(k->plan, look->s, at, r->start, end);
        if (opening == TW_NO_OPENING) { at++; continue; }
        size_t begun = at, rows = k->rows.count, rejects = k->rejects.count, arena = k->arena_size;
        if (!r->level) {
            if (w->taken_count && (at = tw_behind_taken(w, at)) != begun) continue;
            if (w->mid && !at && opening <= TW_AT_HEREDOC) { at = 1; continue; }
        }
        switch (opening) {
        case TW_AT_OBJECT:
            result = tw_at_object(w, r, &at, end);
            break;
        case TW_AT_TOKEN:
            result = tw_at_token(w, r, &at, end);
            break;
        case TW_AT_CSP:
            result = look->s[at] == 'C' ? tw_at_csp(w, r, &at) : TW_ASK;
            tail = w->csp_tail;
            break;
        case TW_AT_HEREDOC:
            if (!(r->level ? tail : w->tail)) {
                while (at < end && look->s[at] != '\n') at++;
                continue;
            }
            result = TW_ASK;
            break;
        case TW_AT_VALUES: {
            size_t stop = tw_line_stop_below(k, r, at);
            if (r->level || k->final || stop < end) {
                if (!tw_are_values(look->s, at, stop)) {
                    while (look->s[at] != '"' && look->s[at] != '[') at++;
                    if (!tw_is_torn(k->plan, look->s, at, end)) { at++; continue; }
                    at = begun;
                } else if (!tw_is_worth(look->s + at, look->s + stop) &&
                           !tw_any_token(k->plan->torn, k->plan->torn_count, look->s + at, look->s + stop)) {
                    at = stop;
                    continue;
                }
            }
            result = TW_ASK;
            break;
        }
        default:
            result = TW_ASK;
        }
        if (result != TW_FINE) {
            int kept = opening == TW_AT_CSP && result == TW_FULL && !r->level; /* what is read of a run of messages stands */
            if (!kept) {
                k->rows.count = rows;
                k->rejects.count = rejects;
                k->arena_size = arena;
                at = begun;
            }
            w->opening = opening;
            break;
        }
        if (!r->level && (rows != k->rows.count || rejects != k->rejects.count)) w->last = at;
    }
    *place = at;
    return result;
}

static int tw_search_block(tw_search *w)
{
    tw_lines *k = &w->k;
    tw_region whole = { .end = k->stop };
    w->look.base = TW_NO_BLOCK;
    w->look.end = k->stop;
    int result = tw_search_text(w, &whole, &w->look, &w->at);
    return result == TW_FULL && k->json.no_memory ? TW_STOPPED : result;
}

#endif
