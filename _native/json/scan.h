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
 *                                        On level 0 it may go on behind its line: see json/over_lines.h.
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

/* Begins the row of the record [at, end) of a region; its number, or SIZE_MAX where there is no room. */
static size_t tw_row_of(tw_lines *k, tw_region *r, size_t at, size_t end, uint64_t *present)
{
    tw_json_rows *c = &k->rows;
    size_t n = c->count, first = at, behind = end;
    if (n == c->room) { k->rows_full = 1; return SIZE_MAX; }
    c->count++;
    *present = 0;
    c->place[n] = (int64_t)(at + (r->level ? k->size : 0));
    c->size[n] = (int64_t)(end - at);
    if (c->depth) c->depth[n] = (uint8_t)r->level;
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
        if (c->inner) c->inner[n] = 0;
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

#include "walk.h"

#endif
