/* JSON messages in logs: finds them in lines, in prefixed lines, inside other JSON and inside the strings of JSON, and
 * puts them straight into columns. The rules are in docs/scan.md and, readably, in json/_lines_py.py.
 *
 * The scan of one line, for whoever adds a wire that is not JSON (all functions here take a tw_lines *k):
 *
 *   tw_json_lines(k)                     reads k->s[k->position .. k->stop) line by line until the input, the rows or the
 *                                        rejects are full; k->position says where to go on.
 *   tw_fitting_line(k, ...)              a line that is a message much like those before (json/templates.h); else, and in any doubt:
 *   tw_walk(k, r, from, to)              one region: a line of the input (level 0), or what a JSON string says (level 1
 *                                        and up, in the arena). Goes from '{' to '{':
 *   tw_opening(s, q, to)                 what a '{' is: 0 nothing, TW_OPENS_OBJECT, TW_OPENS_STRING (an escaped object, so
 *                                        the string literal around it is worth decoding), TW_OPENS_BELOW (nothing stands
 *                                        behind it on its line).
 *   tw_try_object(k, r, at, to, &tried)  an object is tried at `at`: TW_TRIED_RECORD (tried.end is behind it, tried.wire and
 *                                        .variant say which; tw_emit stores it), TW_TRIED_REJECT (good JSON from
 *                                        `at` to tried.end that a wire claims and refuses: .reason, .fault),
 *                                        TW_TRIED_OTHER (good JSON of nobody), TW_TRIED_BROKEN (no JSON; its end is unknown).
 *                                        On level 0 it may go on behind its line: see tw_over_lines.
 *   tw_literal(k, r, open, from, to)     decodes the inside s[from .. to) of a string whose quote stands at `open` into the
 *                                        arena and walks through that.
 *   k->find(k, r, from, to, &other)      hook: the first thing of another wire that starts in [from .. to) of the region (its
 *                                        end may lie behind `to`, not behind r->end): other.what is TW_OTHER_RECORD,
 *                                        TW_OTHER_REJECT, TW_OTHER_STRING (the literal around other.at is to be decoded) or
 *                                        TW_OTHER_CUT (the region is a piece of a line, and what starts at other.at may go
 *                                        on behind it) or TW_OTHER_NONE, which is also returned. It is asked for what stands before a
 *                                        JSON candidate before that is tried: what starts first, wins.
 *   k->take(k, r, &other)                hook: stores what k->find found, with tw_row_of or tw_store_json_reject.
 *   k->run(k)                            hook: takes the lines from k->position on, the first of which begins with '@', as
 *                                        long as they hold one good record each and nothing else; NULL, or what it leaves
 *                                        is read line by line.
 *   k->look(k, p, end)                   hook: whether a string of good JSON (its inside, as written) is worth decoding for
 *                                        that other wire. Strings with an escaped object always are.
 *
 * Functions that can store something return TW_FINE, TW_FULL (no room: rows and rejects of the unit that was being read
 * are taken back, k->position is its start) or TW_STOPPED (a callback raised, or a signal came). */
#ifndef TURNWIRE_JSON_SCAN_H
#define TURNWIRE_JSON_SCAN_H

#include "line_wires.h"
#include "fills.h"
#include "line_signs.h"
#include "verdicts.h"

/* --- rows and rejects --- */

/* The time at the head of the line that ends at `end`: k->head_known. */
static inline int tw_line_time(tw_lines *k, size_t end)
{
    return tw_head_time(k->s + k->head, end - k->head, &k->head_time) ? 1 : 2;
}

static void tw_line_head(tw_lines *k)
{
    const uint8_t *end = (const uint8_t *)memchr(k->s + k->head, '\n', k->size - k->head);
    k->head_known = tw_line_time(k, end ? (size_t)(end - k->s) : k->size);
}

/* The time of the object around what is read in a region, or of one around that. */
static int tw_around(tw_lines *k, tw_region *r, int64_t *micros)
{
    for (; r; r = (tw_region *)r->outer) {
        if (r->around == 1) {
            const uint8_t *s = tw_text(k, r);
            r->around = tw_wrapper_time(s + r->object, s + tw_hard(k, r), &r->moment) ? 2 : 3;
        }
        *micros = r->moment;
        if (r->around == 2) return 1;
    }
    return 0;
}

/* The time of a record that has none of its own: what stands closest around it. */
static int tw_head(tw_lines *k, tw_region *r, size_t at, int64_t *micros)
{
    if (r->level) {
        size_t first = at, known = at >= r->head_seen && r->head_seen > r->start ? r->head_seen : r->start;
        while (first > known && k->arena[first - 1] != '\n') first--;
        if (first == known && known > r->start && k->arena[first - 1] != '\n') first = r->head;
        r->head = first;
        r->head_seen = at;
        if (tw_head_time(k->arena + first, r->end - first, micros)) return 1;
    }
    if (tw_around(k, r, micros)) return 1;
    if (!k->head_known) tw_line_head(k);
    *micros = k->head_time;
    return k->head_known == 1;
}

/* From now on rows say where the record is (place, size) and in what string (inner, depth); those before stand in the file. */
static TW_APART void tw_set_apart(tw_lines *k)
{
    tw_json_rows *c = &k->rows;
    for (size_t n = 0; n < c->count; n++) c->place[n] = c->offset[n] - k->base;
    memcpy(c->size, c->length, c->count * sizeof *c->size);
    if (c->inner) memset(c->inner, 0, c->count * sizeof *c->inner);
    if (c->depth) memset(c->depth, 0, c->count);
    k->apart = 1;
}

/* Begins the row of the record [at, end) of a region; its number, or SIZE_MAX where there is no room. */
static size_t tw_row_of(tw_lines *k, tw_region *r, size_t at, size_t end, uint64_t *present)
{
    tw_json_rows *c = &k->rows;
    size_t n = c->count, first = at, behind = end;
    if (n == c->room) { k->rows_full = 1; return SIZE_MAX; }
    *present = 0;
    if (r->level && !k->apart) tw_set_apart(k);
    c->count++;
    if (k->apart) {
        c->place[n] = (int64_t)(at + (r->level ? k->size : 0));
        c->size[n] = (int64_t)(end - at);
        if (c->depth) c->depth[n] = (uint8_t)r->level;
        if (c->inner) c->inner[n] = 0;
    }
    if (c->line) c->line[n] = tw_line_of(k, r->level ? r->quote : at);
    if (r->level) {
        first = tw_as_written(k, r, at);
        if (c->inner) {
            c->inner[n] = (int64_t)tw_inner(k, r, at);
            *present |= (uint64_t)1 << c->inner_bit;
        }
        behind = tw_as_written(k, r, end);   /* last: tw_outside goes on from where it was, but not back */
        c->offset[n] = k->base + (int64_t)r->quote;
    } else {
        c->offset[n] = k->base + (int64_t)at;
    }
    c->length[n] = (int64_t)(behind - first);
    return n;
}

/* Zeroes in the columns for which a row has no value. */
static void tw_fill_missing(tw_lines *k, size_t n, uint64_t present)
{
    for (uint64_t missing = k->rows.wanted & ~present; missing; missing &= missing - 1) {
        tw_column *c = k->rows.of_bit[tw_low_zeros(missing)];
        if (c->offset) c->offset[n] = c->size[n] = 0;
        else if (c->width == 1) ((uint8_t *)c->values)[n] = 0;
        else ((int64_t *)c->values)[n] = 0;
    }
}

/* The row of a record that a line wire claims: where it stands, and its time. */
static int tw_row_claimed(tw_lines *k, tw_region *r, const tw_claim *claim)
{
    uint64_t present;
    int64_t moment;
    size_t at = r->start + claim->start, n = tw_row_of(k, r, at, r->start + claim->stop, &present);
    if (n == SIZE_MAX) return TW_FULL;
    if (k->rows.wire) k->rows.wire[n] = (uint8_t)claim->wire;
    tw_fill_missing(k, n, present);
    if (k->rows.time) {
        int timed = tw_head(k, r, at, &moment);
        k->rows.time[n] = timed ? moment : 0;
        if (timed) present |= (uint64_t)1 << k->rows.time_bit;
    }
    k->rows.present[n] = present;
    return TW_FINE;
}

static int tw_emit(tw_lines *k, tw_region *r, size_t at, const tw_tried *tried)
{
    const tw_wire *wire = &k->plan->wires[tried->wire];
    const tw_chosen *chosen = &k->rows.chosen[wire->first_variant + tried->variant];
    const uint8_t *base = tw_text(k, r);
    int64_t shift = r->level ? (int64_t)k->size : 0, moment;
    uint64_t present;
    int timed = 0;
    size_t n = tw_row_of(k, r, at, tried->end, &present);
    if (n == SIZE_MAX) return TW_FULL;
    if (k->rows.wire) k->rows.wire[n] = wire->code;
    present |= tw_fill_always(chosen, k->json.stamp, n, base, shift);
    for (const tw_fill *fill = chosen->fills; fill < chosen->last; fill++) {
        const tw_value *v = tw_noted(&k->json, fill->node);
        if (!v && fill->other != TW_NO_NODE) v = tw_noted(&k->json, fill->other);
        if (fill->column == TW_MOST_COLUMNS) {
            timed = v && (v->b.is & TW_IS_STRING) && tw_time_of(v, &k->rows.minute, &k->rows.time[n]);
            continue;
        }
        tw_column *c = &k->rows.own[fill->column];
        if (!v && fill->fill != TW_FILL_CONSTANT) continue;
        if (!tw_fill_one(c, fill, v, n, base, shift, &present) &&
            !k->number(k->context, v->p, v->size, &((double *)c->values)[n])) return TW_STOPPED;
    }
    tw_fill_missing(k, n, present | chosen->always);
    if (k->rows.time) {
        if (!timed) {
            timed = tw_head(k, r, at, &moment);
            k->rows.time[n] = timed ? moment : 0;
        }
        if (timed) present |= (uint64_t)1 << k->rows.time_bit;
    }
    k->rows.present[n] = present;
    return TW_FINE;
}

/* Where reject `n` stands among rows, and in a string. */
static inline void tw_place_reject(tw_lines *k, size_t n, int64_t inner)
{
    if (k->rejects.inner) k->rejects.inner[n] = inner;
    if (k->rejects.row) k->rejects.row[n] = (int64_t)k->rows.count;
}

/* Stores the reject [at, end) of a region; `fault` is a place in it, too. */
static int tw_store_json_reject(tw_lines *k, tw_region *r, size_t at, size_t end, size_t fault, int wire, int reason)
{
    tw_json_rejects *c = &k->rejects;
    size_t n = c->count, first;
    if (k->mute) return TW_FINE;
    if (r->level && k->string_rejects++ >= TW_STRING_REJECTS) return TW_FINE;
    if (n == c->room) return TW_FULL;
    c->count++;
    first = tw_as_written(k, r, at);
    tw_place_reject(k, n, r->level ? (int64_t)tw_inner(k, r, at) : -1);
    c->offset[n] = k->base + (int64_t)first;
    c->fault[n] = k->base + (int64_t)tw_as_written(k, r, fault);
    c->length[n] = (int64_t)(tw_as_written(k, r, end) - first);
    c->line[n] = tw_line_of(k, first);
    c->reason[n] = (uint8_t)reason;
    if (c->wire) c->wire[n] = k->plan->wires[wire].code;
    return TW_FINE;
}

/* --- one candidate --- */

/* What the '{' at q opens, as far as the text up to `end` says. */
static int tw_opening(const uint8_t *s, size_t q, size_t end)
{
    size_t p = q + 1;
    while (p < end && (s[p] == ' ' || s[p] == '\t' || s[p] == '\n' || s[p] == '\r')) p++;
    if (p >= end) return TW_OPENS_BELOW;
    if (s[p] == '"' || s[p] == '}') return TW_OPENS_OBJECT;
    while (p < end) {
        if (s[p] == ' ' || s[p] == '\t' || s[p] == '\n' || s[p] == '\r') { p++; continue; }
        size_t slashes = p;
        while (p < end && s[p] == '\\') p++;
        if (p == slashes || p >= end) return 0;
        if (s[p] == '"') return TW_OPENS_STRING;
        if (s[p] != 'n' && s[p] != 'r' && s[p] != 't') return 0;
        p++;
    }
    return 0;
}

/* What the wires' own reading says of the object [p, p + size), which was read last: asked once for all that have its signature. */
static int tw_ask_wires(tw_lines *k, const uint8_t *p, size_t size, tw_verdict *verdict)
{
    tw_signature sign;
    int doubtful = tw_doubtful(&k->json, k->plan), signed_so = !doubtful && tw_sign(&k->json, k->plan, p, p + size, &sign);
    if (signed_so && tw_said_before(k, &sign, p, verdict)) return TW_FINE;
    if (!k->whole(k->context, p, size, verdict)) return TW_STOPPED;
    if (verdict->what == TW_TRIED_RECORD || doubtful) return TW_FINE;
    if (signed_so) tw_keep_said(k, &sign, p, verdict);
    if (!(k->json.fitted && k->json.fitted->what))
        tw_learn_refusal(&k->json, p, size, verdict->what, verdict->wire, verdict->reason, verdict->fault);
    return TW_FINE;
}

static int tw_try_object(tw_lines *k, tw_region *r, size_t at, size_t end, tw_tried *t)
{
    const uint8_t *s = tw_text(k, r);
    const uint8_t *behind = tw_json_parse(&k->json, s + at, s + end, s + tw_hard(k, r));
    tw_verdict verdict = { TW_TRIED_OTHER, 0, 0, 0 };
    t->cut = k->json.cut;
    if (!behind) {
        if (k->json.no_memory) return TW_STOPPED;
        t->what = TW_TRIED_BROKEN;
        t->fault = (size_t)(k->json.fault - s);
        return TW_FINE;
    }
    t->end = (size_t)(behind - s);
    if (k->json.surely) {
        const tw_template *m = k->json.fitted;
        t->what = m->what;
        t->wire = m->wire;
        t->variant = m->variant;
        t->reason = m->reason;
        if (m->what) t->fault = at + m->fault + k->json.shift[m->fault_slot];
        return TW_FINE;
    }
    switch (tw_judge(&k->json, k->plan, &t->wire, &t->variant)) {
    case TW_SURELY:
        t->what = TW_TRIED_RECORD;
        if (k->json.fitted) tw_keep_verdict(&k->json, t->wire, t->variant);
        else tw_learn_template(&k->json, s + at, t->end - at, t->wire, t->variant);
        return TW_FINE;
    case TW_NOT:
        t->what = TW_TRIED_OTHER;
        return TW_FINE;
    }
    if (tw_ask_wires(k, s + at, t->end - at, &verdict) != TW_FINE) return TW_STOPPED;
    t->what = verdict.what;
    t->wire = verdict.wire;
    t->reason = verdict.reason;
    t->fault = at + verdict.fault;
    if (t->what == TW_TRIED_RECORD) {
        t->variant = tw_variant_of(&k->json, &k->plan->wires[t->wire]);
        if (t->variant < 0) t->what = TW_TRIED_OTHER;
    }
    return TW_FINE;
}

/* --- strings --- */

static int tw_arena_room(tw_lines *k, size_t more)
{
    size_t wanted = k->arena_room ? k->arena_room : 1 << 12;
    while (wanted < k->arena_size + more) wanted *= 2;
    if (wanted == k->arena_room) return 1;
    uint8_t *grown = (uint8_t *)realloc(k->arena, wanted);
    if (!grown) return 0;
    k->arena = grown;
    k->arena_room = wanted;
    return 1;
}

static int tw_literal(tw_lines *k, tw_region *r, size_t open, size_t from, size_t to, int numbers)
{
    tw_region inside = { .outer = r, .level = r->level + 1, .quote = r->level ? r->quote : open, .inside = from,
                         .until = to, .written = from, .numbers = numbers };
    if (!r->level) k->string_rejects = 0;
    if (!tw_arena_room(k, to - from + 1)) { k->json.no_memory = 1; return TW_STOPPED; }
    const uint8_t *s = tw_text(k, r);
    inside.start = inside.seen = k->arena_size;
    inside.end = inside.start + (numbers ? tw_bytes_said(s + from, s + to, k->arena + inside.start)
                                         : tw_unescape(s + from, s + to, k->arena + inside.start));
    k->arena[inside.end] = '\n';
    k->arena_size = inside.end + 1;
    size_t rows = k->rows.count, rejects = k->rejects.count;
    int result = tw_walk_string(k, &inside);
    if (rows == k->rows.count && rejects == k->rejects.count) k->arena_size = inside.start; /* nobody points there */
    return result;
}

/* --- inside good JSON --- */

static int tw_inside(tw_lines *k, tw_region *r, size_t at, size_t end);

/* An object that a wire claims and refuses: looks into it; a reject, unless there is something in it. */
static int tw_refused(tw_lines *k, tw_region *r, size_t at, const tw_tried *t)
{
    size_t rows = k->rows.count, rejects = k->rejects.count;
    int result = tw_inside(k, r, at, t->end);
    if (result != TW_FINE || k->rows.count != rows || k->rejects.count != rejects) return result;
    return tw_store_json_reject(k, r, at, t->end, t->fault, t->wire, t->reason);
}

/* Looks into the string of a good object whose quote stands at `open`, where that is worth it. *behind: its end, or that
 * of the array of bytes whose key it is. */
static int tw_inside_string(tw_lines *k, tw_region *r, size_t open, size_t *behind)
{
    const uint8_t *s = tw_text(k, r), *p = s + open + 1, *hard = s + tw_hard(k, r), *bracket, *first, *last;
    int slash = 0, worth, numbers = 0;
    for (;;) {                               /* the string is good: only its end is looked for */
        p = tw_plain(p, hard);
        if (*p == '"') break;
        if (*p == '\\') { slash = 1; p++; }
        p++;
    }
    size_t close = (size_t)(p - s), from = open + 1, to = close, quote = open;
    *behind = close + 1;
    worth = (slash && memchr(s + from, '{', to - from)) || (k->look && k->look(k, s + from, p)) ||
            tw_has_mark(k, r->level, from, to);
    if (!worth && tw_is_key(s + from, to - from, "MESSAGE") && (last = tw_message_bytes(p, &bracket, &first))) {
        worth = numbers = 1;
        quote = (size_t)(bracket - s);
        from = (size_t)(first - s);
        to = (size_t)(last - s);
        *behind = to + 1;
    }
    if (!worth || r->level >= TW_DEEPEST_STRING) return TW_FINE;
    size_t rows = k->rows.count, rejects = k->rejects.count, arena = k->arena_size;
    int result = tw_literal(k, r, quote, from, to, numbers);
    if (result == TW_FULL && !r->level && !k->partial) {
        k->partial = open;
        k->rows.count = rows;
        k->rejects.count = rejects;
        k->arena_size = arena;
    }
    return result;
}

/* Looks into the object [at, end) of a region, which is not a message: its objects and its strings. */
static int tw_inside_object(tw_lines *k, tw_region *r, size_t at, size_t end)
{
    const uint8_t *s = tw_text(k, r);
    int objects = memchr(s + at + 1, '{', end - at - 1) &&
                  tw_any_token(k->plan->inside, k->plan->inside_count, s + at + 1, s + end), result;
    size_t q = at + 1;
    while (q < end) {
        s = tw_text(k, r);
        if (s[q] == '{' && objects) {
            tw_tried tried = { 0 };
            if ((result = tw_try_object(k, r, q, end, &tried)) != TW_FINE) return result;
            result = tried.what == TW_TRIED_RECORD   ? tw_emit(k, r, q, &tried)
                     : tried.what == TW_TRIED_REJECT ? tw_refused(k, r, q, &tried)
                                                     : TW_FINE;
            if (result == TW_FULL && !r->level && !k->partial) k->partial = q;
            if (result != TW_FINE) return result;
            q = tried.what == TW_TRIED_RECORD || tried.what == TW_TRIED_REJECT ? tried.end : q + 1;
        } else if (s[q] == '"') {
            if ((result = tw_inside_string(k, r, q, &q)) != TW_FINE) return result;
        } else {
            q++;
        }
    }
    return TW_FINE;
}

/* The same, with the time of the object for the records in it. Of objects in objects the outermost counts. */
static int tw_inside(tw_lines *k, tw_region *r, size_t at, size_t end)
{
    if (r->around) return tw_inside_object(k, r, at, end);
    r->around = 1;
    r->object = at;
    int result = tw_inside_object(k, r, at, end);
    r->around = 0;
    return result;
}

/* The way through one text, candidate by candidate, and through the lines of a block. */

#define TW_NOWHERE SIZE_MAX

/* Whether the quote at p is none of an escape: an even number of backslashes stands before it. */
static inline int tw_unescaped(const uint8_t *s, size_t p, size_t from)
{
    size_t q = p;
    while (q > from && s[q - 1] == '\\') q--;
    return ((p - q) & 1) == 0;
}

/* The unescaped quote next to `at` in s[from .. at), or TW_NOWHERE. */
static size_t tw_quote_before(const uint8_t *s, size_t at, size_t from, int in_line)
{
    while (at > from) {
        at--;
        if (in_line && s[at] == '\n') return TW_NOWHERE;
        if (s[at] == '"' && tw_unescaped(s, at, from)) return at;
    }
    return TW_NOWHERE;
}

/* The unescaped quote next to `at` in s[at .. end), or end. */
static size_t tw_quote_behind(const uint8_t *s, size_t at, size_t end)
{
    while (at < end && s[at] != '"') at += s[at] == '\\' ? 2 : 1;
    return at < end ? at : end;
}

/* Settles the damaged bytes [at, end): a reject where a wire knows its own marks in them, text otherwise. */
static int tw_settle(tw_lines *k, tw_region *r, size_t at, size_t end, int too_large)
{
    const uint8_t *s = tw_text(k, r);
    tw_verdict verdict = { TW_TRIED_OTHER, 0, 0, 0 };
    if (k->mute || !tw_any_token(k->plan->torn, k->plan->torn_count, s + at, s + end)) return TW_FINE;
    if (!k->torn(k->context, s + at, end - at, too_large, &verdict)) return TW_STOPPED;
    if (verdict.what != TW_TRIED_REJECT) return TW_FINE;
    return tw_store_json_reject(k, r, at, end, at + verdict.fault, verdict.wire, verdict.reason);
}

typedef struct {
    size_t done;                             /* everything before it is settled */
    size_t searched;                         /* up to here k->find has looked */
    size_t bad;                              /* where damaged bytes begin that are not settled yet */
    size_t from;                             /* where all of this began */
    int too_large;
    size_t rows, rejects, arena;             /* how many there were when `bad`, or else the candidate, began */
    int opened;
    size_t open[TW_DEEPEST];                 /* objects that meet the fault that was met last */
} tw_way;

static void tw_mark(const tw_lines *k, tw_way *w)
{
    w->rows = k->rows.count;
    w->rejects = k->rejects.count;
    w->arena = k->arena_size;
}

/* Goes back to where the unit that did not fit began; a long object is given in parts only where all of it never fits: what is
 * behind a part is read as if nothing were around it. */
static void tw_take_back(tw_lines *k, const tw_way *w)
{
    if (k->partial && !k->grows && !(k->rows_full ? w->rows : w->rejects)) return;
    k->partial = 0;
    k->rows.count = w->rows;
    k->rejects.count = w->rejects;
    k->arena_size = w->arena;
}

static int tw_hopeless(const tw_way *w, size_t q)
{
    for (int i = 0; i < w->opened; i++)
        if (w->open[i] == q) return 1;
    return 0;
}

/* Something that may hold records is about to be read at q, behind damaged bytes: settles these first. */
static int tw_settle_before(tw_lines *k, tw_region *r, tw_way *w, size_t q)
{
    return w->bad == TW_NOWHERE ? TW_FINE : tw_settle(k, r, w->bad, q, w->too_large);
}

/* What a literal (`tried` is NULL, its inside is s[from .. to)) or good JSON that is not a message has in it. */
static int tw_look_at(tw_lines *k, tw_region *r, size_t q, size_t from, size_t to, const tw_tried *tried)
{
    if (!tried) return tw_literal(k, r, q, from, to, 0);
    return tried->what == TW_TRIED_REJECT ? tw_refused(k, r, q, tried) : tw_inside(k, r, q, tried->end);
}

/* Whether there is a record in it (or no room for one): TW_FULL says yes, TW_FINE no. Leaves everything as it was. */
static int tw_look_for_record(tw_lines *k, tw_region *r, size_t q, size_t from, size_t to, const tw_tried *tried)
{
    size_t rows = k->rows.count, arena = k->arena_size;
    k->mute = 1;
    int result = tw_look_at(k, r, q, from, to, tried);
    k->mute = 0;
    if (result == TW_FINE && k->rows.count != rows) result = TW_FULL;
    k->rows.count = rows;
    k->arena_size = arena;
    k->partial = 0;
    return result;
}

/* Looks into what stands from q to `end`. Where damaged bytes wait, only a record in it ends them: they are settled when
 * one was seen, since what is settled for each candidate anew is read as often. Without one, all of it belongs to them. */
static int tw_look_into(tw_lines *k, tw_region *r, tw_way *w, size_t q, size_t end, size_t from, size_t to,
                        const tw_tried *tried)
{
    size_t rows = k->rows.count, before = k->rejects.count, arena = k->arena_size;
    int waiting = w->bad != TW_NOWHERE, result = TW_FINE;
    if (waiting && !k->mute) {
        result = tw_look_for_record(k, r, q, from, to, tried);
        if (result != TW_FULL) return result;
    }
    result = tw_settle_before(k, r, w, q);
    if (result == TW_FINE) result = tw_look_at(k, r, q, from, to, tried);
    if (result == TW_FULL && waiting) {
        k->partial = 0;
        if (k->rows.count == rows && !w->rejects && !k->rows_full && !k->grows) result = TW_FINE; /* it never fits */
    }
    if (result != TW_FINE) return result;
    if (waiting && k->rows.count == rows) {
        k->rejects.count = before;
        k->arena_size = arena;
        return TW_FINE;
    }
    w->bad = TW_NOWHERE;
    w->done = end;
    return TW_FINE;
}

/* The literal around the byte at q, in one line of a block: how far it goes. */
static int tw_look_into_string(tw_lines *k, tw_region *r, tw_way *w, size_t q, size_t *behind, size_t *stopped)
{
    const uint8_t *s = tw_text(k, r);
    size_t floor = w->bad == TW_NOWHERE ? w->done : w->bad;
    size_t end = r->level ? r->end : tw_line_stop(k, r, q);
    size_t open = tw_quote_before(s, q, floor, !r->level), close = tw_quote_behind(s, q, end);
    size_t from = open == TW_NOWHERE ? q : open + 1;
    if (open == TW_NOWHERE) open = q;
    if (w->bad == TW_NOWHERE) *stopped = open;
    *behind = close < end ? close + 1 : close;
    return tw_look_into(k, r, w, open, *behind, from, close, NULL);
}

/* What k->find meets before the JSON candidate at *q (or the end): takes it, or the literal around it. *q moves behind
 * it. Returns TW_FINE with *met where there was something. doubtful: whether only what follows the block can say that *q is
 * a candidate; damage that would end there is held, too. */
static int tw_others(tw_lines *k, tw_region *r, tw_way *w, size_t *q, int *met, size_t *stopped, int doubtful)
{
    tw_other other = { TW_OTHER_NONE, 0, 0 };
    size_t from = w->searched > w->done ? w->searched : w->done;
    int result = TW_FINE;
    *met = 0;
    size_t mark = from < *q && k->plan->mark_count ? tw_escaped_mark(k, r, from, *q) : *q;
    if (from >= *q || !k->find || k->find(k, r, from, mark, &other) == TW_OTHER_NONE) {
        if (mark == *q) {
            w->searched = *q;
            return TW_FINE;
        }
        other = (tw_other){ TW_OTHER_STRING, mark, mark };
    }
    *met = 1;
    if (w->bad == TW_NOWHERE) {
        tw_mark(k, w);
        *stopped = other.at;
    }
    if (other.what == TW_OTHER_CUT) {        /* the next piece begins with it */
        other.end = r->end = other.at;
        w->too_large |= w->bad != TW_NOWHERE;
    } else if (other.what == TW_OTHER_STRING && r->level < TW_DEEPEST_STRING) {
        result = tw_look_into_string(k, r, w, other.at, &other.end, stopped);
    } else if (doubtful && other.what == TW_OTHER_REJECT && other.end == *q && w->bad == TW_NOWHERE) {
        k->held = r->cut = 1;
        k->open_at = other.at;
    } else if (other.what == TW_OTHER_RECORD || w->bad == TW_NOWHERE) {
        if ((result = tw_settle_before(k, r, w, other.at)) == TW_FINE) result = k->take(k, r, &other);
        w->bad = TW_NOWHERE;
        w->done = other.end;
    }
    *q = w->searched = other.end;
    return result;
}

/* Damaged JSON at q: remembers which objects meet the same fault. Returns where the region's piece has to end. */
static size_t tw_broken(tw_lines *k, tw_region *r, tw_way *w, size_t q)
{
    const uint8_t *s = tw_text(k, r);
    size_t end = r->end;
    w->opened = k->json.opened;
    for (int i = 0; i < w->opened; i++) {
        w->open[i] = (size_t)(k->json.open[i] - s);
        if (r->cut && k->json.cut && w->open[i] > q && w->open[i] < end) end = w->open[i];
    }
    if (r->cut && k->json.cut) w->too_large = 1;
    if (w->bad == TW_NOWHERE) w->bad = q;
    return end;
}

/* Objects that go on behind the end of their line: .
 *
 * Such an object is a thing of its own: damage that waits ends where it begins. Where it is good, the walk goes on behind
 * it in its last line. Where it is not, its first line up to the one that holds the fault are read as if they were one
 * line: what is closed in them is judged, the rest is damaged. A line that begins with the fault, or with a time, is none
 * of them. An object that does not fit into the limit is read as a line that does not: in pieces. */
/* What the walk does next: TW_ON, goes on; TW_LEFT, ends behind the object; TW_HELD, ends in front of it, since more has to
 * be there. */
enum { TW_ON, TW_LEFT, TW_HELD };

static inline int tw_is_space(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

/* What the '{' at q opens behind which nothing stands in its region; TW_OPENS_BELOW where only what follows the block can
 * say. */
static int tw_opens_below(const tw_lines *k, const tw_region *r, size_t q)
{
    if (r->level || r->cut) return 0;
    size_t reach = tw_reach(k, q), p = q + 1;
    while (p < reach && tw_is_space(k->s[p])) p++;
    if (p < reach) return k->s[p] == '"' || k->s[p] == '}' ? TW_OPENS_OBJECT : 0;
    return p == k->stop && !k->final ? TW_OPENS_BELOW : 0;
}

/* Where the damage ends that begins at q and could be read up to `fault`: at *end, where a line ends; or, *cut, in the
 * middle of one, for the limit. 0 where more has to be there to say so. */
static int tw_damage_end(const tw_lines *k, size_t q, size_t fault, size_t *end, int *cut)
{
    const uint8_t *s = k->s, *newline;
    size_t first = fault, p;
    int64_t moment;
    while (first > q && s[first - 1] != '\n') first--;
    for (p = first; p < fault && tw_is_space(s[p]); p++) {}
    if (p < fault) {
        newline = (const uint8_t *)memchr(s + fault, '\n', k->stop - fault);
        if (!newline && !k->final && k->stop - q <= k->limit + 1) return 0;
        *end = newline ? (size_t)(newline - s) : k->stop;
        if (newline && s[*end - 1] == '\r') --*end;
        *cut = *end - q > k->limit;
        if (*cut) *end = tw_piece_end(s, q, q + k->limit);
        if (!tw_head_time(s + first, *end - first, &moment)) return 1;
    }
    for (p = first; tw_is_space(s[p - 1]);) p--;
    newline = (const uint8_t *)memchr(s + p, '\n', first - p);
    *end = (size_t)(newline - s);
    if (s[*end - 1] == '\r') --*end;
    *cut = 0;
    return 1;
}

/* The object at q, which was tried up to `reach` and goes on behind the end of its line, or fails there. On TW_ON the
 * region ends with the damage. *result: as that of tw_walk. */
static int tw_over_lines(tw_lines *k, tw_region *r, tw_way *w, size_t q, size_t reach, const tw_tried *tried,
                         size_t *stopped, int *result)
{
    int broken = tried->what == TW_TRIED_BROKEN, cut = 0, open = broken && tried->cut && reach == k->stop;
    size_t end = reach;
    if (open) k->open_at = w->bad == TW_NOWHERE ? q : w->bad;
    if (broken && tried->cut && !open) {
        cut = 1;
    } else if ((open && !k->final) || (broken && !tw_damage_end(k, q, open ? reach : tried->fault, &end, &cut))) {
        k->held = r->cut = 1;
        tw_take_back(k, w);
        *stopped = k->open_at = w->bad == TW_NOWHERE ? q : w->bad;
        return TW_HELD;
    }
    if (broken && end <= r->end) return TW_ON;
    if ((*result = tw_settle_before(k, r, w, q)) != TW_FINE) return TW_LEFT;
    tw_count_lines(k, q);
    w->bad = TW_NOWHERE;
    w->done = w->from = r->start = q;
    tw_mark(k, w);
    *stopped = q;
    k->values = r->values = 0;               /* what is left of the last line was not judged with the first one */
    r->cut = cut || !broken;
    r->end = broken ? end : tried->end;
    if (broken) return TW_ON;
    if (tried->what == TW_TRIED_RECORD) *result = tw_emit(k, r, q, tried);
    else *result = tw_look_at(k, r, q, 0, 0, tried);
    return TW_LEFT;
}

#include "values.h"

/* The next '{' of a region from q on, or its end. */
static inline size_t tw_next_brace(tw_lines *k, const tw_region *r, size_t q)
{
    const uint8_t *s = tw_text(k, r), *at;
    if (q >= r->end) return r->end;
    if (s[q] == '{') return q;
    if (!r->level) {
        q = tw_next_sign(k, TW_SIGN_OBJECT, q, r->end);
        return q < r->end ? q : r->end;
    }
    at = (const uint8_t *)memchr(s + q, '{', r->end - q);
    return at ? (size_t)(at - s) : r->end;
}

/* One region from `from` on. *stopped: where reading stopped; its end, unless the line goes on and an object did not
 * fit into this piece of it. On TW_FULL it is the start of what did not fit. */
static int tw_walk(tw_lines *k, tw_region *r, size_t from, size_t *stopped)
{
    tw_way w;                                /* not all of it is set: `open` is long */
    size_t q = from, brace = TW_NOWHERE, within = 0;
    int result = TW_FINE, opening = 0;
    w.done = w.searched = w.from = from;
    w.bad = TW_NOWHERE;
    w.too_large = w.opened = 0;
    tw_mark(k, &w);
    while (result == TW_FINE) {
        const uint8_t *s = tw_text(k, r);
        int met;
        if (tw_stopped_by_signal(k)) return TW_STOPPED;
        if (brace < q || within != r->end || brace == TW_NOWHERE) { /* looked for once, however much else stands before it */
            within = r->end;
            brace = tw_next_brace(k, r, q);
            opening = brace < within ? tw_opening(s, brace, within) : 0;
            if (opening == TW_OPENS_BELOW) opening = tw_opens_below(k, r, brace);
        }
        q = brace;
        if (brace < r->end && (!opening || (opening == TW_OPENS_STRING && r->level >= TW_DEEPEST_STRING) || tw_hopeless(&w, q))) {
            q++;
            continue;
        }
        if (r->values) {
            if ((result = tw_strings(k, r, &w, &q, &met, stopped)) != TW_FINE || met) continue;
        } else if (k->find || k->plan->mark_count) {
            result = tw_others(k, r, &w, &q, &met, stopped, opening == TW_OPENS_BELOW);
            if (k->held) return result;
            if (result != TW_FINE || met) continue;
        }
        if (brace >= within) break;
        if (w.bad == TW_NOWHERE) tw_mark(k, &w);
        *stopped = w.bad == TW_NOWHERE ? q : w.bad;
        if (opening == TW_OPENS_STRING) {
            result = tw_look_into_string(k, r, &w, q, &q, stopped);
            continue;
        }
        tw_tried tried = { 0 };
        size_t reach = r->level || r->cut ? r->end : tw_reach(k, q);
        if ((result = tw_try_object(k, r, q, reach, &tried)) != TW_FINE) break;
        if (reach > r->end && (tried.what == TW_TRIED_BROKEN ? tried.cut || tried.fault > r->end : tried.end > r->end)) {
            int how = tw_over_lines(k, r, &w, q, reach, &tried, stopped, &result);
            if (how == TW_HELD) return TW_FINE;
            if (how == TW_LEFT) break;
        }
        if (tried.what == TW_TRIED_BROKEN) {
            if (r->cut && tried.cut && q > w.from) {
                result = tw_settle_before(k, r, &w, q);
                if (result == TW_FINE) *stopped = q;
                else if (result == TW_FULL) tw_take_back(k, &w);
                return result;
            }
            r->end = tw_broken(k, r, &w, q);
            r->values = 0;
            q++;
        } else if (tried.what == TW_TRIED_RECORD) {
            if ((result = tw_settle_before(k, r, &w, q)) == TW_FINE) result = tw_emit(k, r, q, &tried);
            w.bad = TW_NOWHERE;
            q = w.done = tried.end;
        } else {
            result = tw_look_into(k, r, &w, q, tried.end, 0, 0, &tried);
            q = tried.end;
        }
    }
    if (result == TW_FINE && (result = tw_settle_before(k, r, &w, r->end)) == TW_FINE) *stopped = r->end;
    else if (w.bad != TW_NOWHERE) *stopped = w.bad;
    if (result == TW_FULL) tw_take_back(k, &w);
    if (k->partial && !r->level) {
        *stopped = k->partial;
        k->partial = 0;
    }
    return result;
}

/* A message that a template fits and that fills the line at k->position: *met where there is one, and its row is stored. The
 * line's end need not be looked for: no newline stands in a good string, nor in such a template. */
static int tw_fitting_line(tw_lines *k, tw_region *line, int *met)
{
    size_t p = k->position, most = k->stop - p < k->limit ? k->stop : p + k->limit;
    tw_json *x = &k->json;
    tw_tried tried;
    *met = 0;
    if (k->s[p] != '{' || !x->template_count || k->rows.count == k->rows.room) return TW_FINE;
    const uint8_t *behind = tw_fitting(x, k->s + p, k->s + most, k->s + k->size);
    if (!behind || !x->fitted->one_line || (x->surely && x->fitted->what)) return TW_FINE;
    size_t end = (size_t)(behind - k->s);
    size_t newline = end + (end < k->stop && k->s[end] == '\r');
    if (newline >= k->stop || k->s[newline] != '\n') return TW_FINE;
    tried.wire = x->fitted->wire;
    tried.variant = x->fitted->variant;
    tried.end = end;
    if (!x->surely) {
        if (tw_judge(x, k->plan, &tried.wire, &tried.variant) != TW_SURELY) return TW_FINE;
        tw_keep_verdict(x, tried.wire, tried.variant);
    }
    k->head = p;
    k->head_known = 0;
    *met = 1;
    int result = tw_emit(k, line, p, &tried);
    if (result == TW_FINE) {
        k->position = newline + 1;
        k->line++;
    }
    return result;
}

/* Goes to the next line in which anything may begin: one that is there to its end, with a '{', an '@' or a mark. All others
 * are text. Returns whether that is one line. */
static int tw_skip_text(tw_lines *k)
{
    const uint8_t *s = k->s;
    size_t p = k->position, next;
    if (s[p] == '{' || (s[p] == '@' && k->find)) return 0;
    next = tw_next_sign(k, TW_SIGN_OBJECT, p, k->stop);
    if (next > k->stop) next = k->stop;
    if (k->find) {
        size_t token = tw_next_sign(k, TW_SIGN_TOKEN, p, next);
        if (token < next) next = token;
    }
    next = tw_first_mark(k, p, next);
    const uint8_t *newline = next == p ? NULL : (const uint8_t *)memchr(s + p, '\n', next - p);
    if (!newline) return 0;
    while (s[next - 1] != '\n') next--;
    int one = newline + 1 == s + next;       /* mostly it is */
    k->line += one ? 1 : tw_newlines(s + p, next - p);
    k->position = next;
    return one;
}

/* A line, up to `line_end`, in which a good record of the other wire stands and nothing else that the walk would look at: *met where
 * it is one, and its row is stored. Most lines of a log of nSLIP are such. */
static int tw_token_line(tw_lines *k, tw_region *line, size_t line_end, int *met)
{
    size_t p = k->position, end = line_end - (line_end > p && k->s[line_end - 1] == '\r');
    size_t at = k->s[p] == '@' ? p : tw_next_sign(k, TW_SIGN_TOKEN, p, end);
    tw_other other = { TW_OTHER_NONE, at, 0 };
    *met = 0;
    if (at >= end || end - p > k->limit || k->rows.count == k->rows.room) return TW_FINE;
    if (tw_next_sign(k, TW_SIGN_OBJECT, p, at) < at || tw_first_mark(k, p, end) < end) return TW_FINE;
    if ((at > p && tw_may_be_values(k->s[p]) && tw_are_values(k->s, p, end)) || !k->good(k, at, end, &other)) return TW_FINE;
    if (other.end < end && (tw_next_sign(k, TW_SIGN_TOKEN, other.end, end) < end ||
                            tw_next_sign(k, TW_SIGN_OBJECT, other.end, end) < end)) return TW_FINE;
    k->head = p;
    k->head_known = k->rows.time ? tw_line_time(k, line_end) : 0;
    *met = 1;
    return k->take(k, line, &other);
}

/* Reads from k->position on, line by line. Returns TW_FINE or TW_STOPPED. */
static TW_UNUSED int tw_json_lines(tw_lines *k)
{
    tw_region whole = { 0 };
    int result = TW_FINE;
    k->json.unfit = NULL;
    k->held = 0;
    k->open_at = SIZE_MAX;
    tw_begin_signs(k);
    while (k->position < k->stop) {
        int met = 0;
        size_t from = k->position;
        if (tw_stopped_by_signal(k)) return TW_STOPPED;
        if (!k->carried) {
            int one = tw_skip_text(k);
            if (k->position != from && (tw_text_shows_sign(k, from, one) || k->position == k->stop)) break;
            from = k->position;
            if (k->run && k->s[from] == '@') {
                if ((result = k->run(k)) != TW_FINE) break;
                if (k->position != from) continue;
            }
        }
        if (!k->carried && ((result = tw_fitting_line(k, &whole, &met)) != TW_FINE || met)) {
            if (result == TW_FINE && !tw_fitting_shows_sign(k, from)) continue;
            break;
        }
        size_t p = k->position, left = k->stop - p, stopped = p;
        const uint8_t *newline = (const uint8_t *)memchr(k->s + p, '\n', left);
        size_t line_end = newline ? (size_t)(newline - k->s) : k->stop;
        if (tw_line_shows_sign(k, line_end)) break;
        if (!newline && !k->final && left <= k->limit + 1) break;
        if (k->good && !k->carried && newline && k->s[p] != '{') {
            if ((result = tw_token_line(k, &whole, line_end, &met)) != TW_FINE) break;
            if (met) {
                k->position = line_end + 1;
                k->line++;
                continue;
            }
        }
        tw_region line = { .start = p, .end = line_end };
        if (newline && line_end > p && k->s[line_end - 1] == '\r') line.end--;
        line.cut = line.end - p > k->limit;
        if (line.cut) line.end = tw_piece_end(k->s, p, p + k->limit);
        if (!k->carried) {
            k->head = p;
            k->head_known = 0;
            k->values = !line.cut && tw_are_values(k->s, p, line.end);
        }
        line.values = k->values && !line.cut;
        k->carried = 1;
        result = tw_walk(k, &line, p, &stopped);
        k->position = stopped;
        if (result == TW_FINE && !line.cut) {
            if (k->several) {                /* they end with a line, and the next one is begun */
                line_end = line.end + (line.end + 1 < k->stop && k->s[line.end] == '\r');
                newline = line_end < k->stop ? k->s + line_end : NULL;
            }
            k->position = newline ? line_end + 1 : line_end;
            if (k->several) k->line = tw_line_of(k, k->position);
            else k->line += newline != NULL;
            k->carried = 0;
        } else {
            if (k->rows.time && !k->head_known) tw_line_head(k);
            k->line = tw_line_of(k, k->position);
        }
        if (k->several) k->several = 0;
        if (k->position > k->looked && tw_lines_show_sign(k, 0, k->position)) break;
        if (result == TW_FULL || result == TW_STOPPED || k->held) break;
    }
    return result == TW_STOPPED ? TW_STOPPED : TW_FINE;
}

#endif
