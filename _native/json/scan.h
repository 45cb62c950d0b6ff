/* Tries one object of JSON that a search met: which wire's message it is, the time around it, and the row or the reject that
 * it becomes. */
#ifndef TURNWIRE_JSON_SCAN_H
#define TURNWIRE_JSON_SCAN_H

#include "region.h"
#include "fills.h"
#include "refusals.h"

/* --- rows and rejects --- */

/* The time that a good object gives in one of its members, or in those of an object in it; of which these are the parts. */
static int tw_wrapper_time(const tw_json *x, size_t part, size_t last, const uint8_t *object, const uint8_t *hard, int64_t *micros)
{
    int best = TW_NO_TIME;
    int64_t said;
    for (; part < last && best; part++) {
        const tw_part *key = &x->parts[part];
        if (key->what != TW_PART_KEY || key->depth > 2) continue;
        int rank = tw_time_rank(object + key->at, key->size);
        if (rank == TW_TIME_NAMES || (rank += (key->depth - 1) * TW_TIME_NAMES) >= best) continue;
        if (!tw_member_time(tw_behind_space(tw_behind_space(object + key->at + key->size + 1) + 1), hard, &said)) continue;
        best = rank;
        *micros = said;
    }
    return best < TW_NO_TIME;
}

/* True if the object around what is read in a region gives a time. */
static int tw_around(tw_lines *k, tw_region *r, int64_t *micros)
{
    if (r->around == 1) {
        const uint8_t *s = tw_text(k, r);
        r->around = tw_wrapper_time(&k->json, r->first_part, r->last_part, s + r->object, s + tw_hard(k, r), &r->moment) ? 2 : 3;
    }
    *micros = r->moment;
    return r->around == 2;
}

/* The time of a record that has none of its own: what stands closest around it. */
static int tw_head(tw_lines *k, tw_region *r, size_t at, int64_t *micros)
{
    for (; r->level; r = r->outer) {
        size_t first = tw_line_start(k, r, at);
        if (tw_head_time(k->arena + first, r->end - first, micros) || tw_around(k, r, micros) || tw_around(k, r->outer, micros)) return 1;
        at = tw_outside(k, r, at);
        *micros = r->stretches[r->near].time;
        if (r->stretches[r->near].timed) return 1;
    }
    if (tw_around(k, r, micros)) return 1;
    size_t line = tw_line_start(k, r, at);
    if (k->stop - line >= 3 && k->s[line] == 0xEF && k->s[line + 1] == 0xBB && k->s[line + 2] == 0xBF) line += 3;
    if (line != k->head || !k->head_known) {
        k->head = line;
        const uint8_t *head = k->s + k->head, *end = head; /* no time begins with a brace, as most lines of JSON do */
        if (*head != '{' && !(end = (const uint8_t *)memchr(head, '\n', k->size - k->head))) end = k->s + k->size;
        k->head_known = tw_head_time(head, (size_t)(end - head), &k->head_time) ? 1 : 2;
    }
    *micros = k->head_time;
    return k->head_known == 1;
}

/* Says of `n` rows from `first` on, which stand in the file, where the record is (place, size), how many bytes are its own, and in what
 * string it is (inner, depth). */
static TW_APART void tw_set_apart(tw_lines *k, size_t first, size_t n)
{
    tw_json_rows *c = &k->rows;
    for (size_t i = first; i < first + n; i++) c->place[i] = c->offset[i] - k->base;
    memcpy(c->size + first, c->length + first, n * sizeof *c->size);
    memcpy(c->own_bytes + first, c->length + first, n * sizeof *c->size);
    if (c->inner) memset(c->inner + first, 0, n * sizeof *c->inner);
    if (c->depth) memset(c->depth + first, 0, n);
    k->apart = 1;
}

/* Begins the row of the record [at, end) of a region; its number, or SIZE_MAX where there is no room. */
static size_t tw_row_of(tw_lines *k, tw_region *r, size_t at, size_t end, uint64_t *present)
{
    tw_json_rows *c = &k->rows;
    size_t n = c->count, from = at, place = at, size = end - at, first = at, last = end, own = end - at, quote = 0, inner = 0;
    if (n == c->room) return SIZE_MAX;
    if (r->level && !tw_kept_room(k, size + 1)) return SIZE_MAX;
    *present = 0;
    if (r->level && !k->apart) tw_set_apart(k, 0, n);
    c->count++;
    if (r->level) {
        int in_string = tw_string_place(k, r, at, &quote, &inner);
        place = k->size + k->kept_size;
        memcpy(k->kept + k->kept_size, k->arena + at, size);
        k->kept[k->kept_size + size] = '\n';
        k->kept_size += size + 1;
        own = tw_place_found(k, r, at, end, &first, &last);
        if (in_string) tw_keep_span(k, &k->firsts, n, first);
        at = in_string ? quote : first;
        if (c->inner && in_string) *present |= (uint64_t)1 << c->inner_bit;
    }
    k->shift = r->level ? (int64_t)place - (int64_t)from : 0;
    if (k->apart) {
        c->place[n] = (int64_t)place;
        c->size[n] = (int64_t)size;
        c->own_bytes[n] = (int64_t)own;
        if (c->depth) c->depth[n] = (uint8_t)r->depth;
        if (c->inner) c->inner[n] = (int64_t)inner;
    }
    if (c->carrier) {                        /* that of the outermost text */
        const tw_region *outermost = r;
        while (outermost->level > 1) outermost = outermost->outer;
        c->carrier[n] = (uint8_t)outermost->carrier;
    }
    if (c->line) c->line[n] = tw_line_of(k, at);
    c->offset[n] = k->base + (int64_t)at;
    c->length[n] = (int64_t)(last - first);
    return n;
}

/* Zeroes in the columns for which a row has no value. */
static void tw_fill_missing(tw_lines *k, size_t n, uint64_t present)
{
    for (uint64_t missing = k->rows.wanted & ~present; missing; missing &= missing - 1) {
        tw_column *c = k->rows.of_bit[tw_low_zeros(missing)];
        if (c->width == 1) ((uint8_t *)c->values)[n] = 0;
        else ((int64_t *)c->values)[n] = 0;
    }
}

/* A text in small letters into its column, in the arena where it is written otherwise; marked as one with escapes where the wire
 * must say it. 0 where memory ran out. */
static int tw_fill_lower(tw_lines *k, tw_column *c, const tw_value *v, size_t n, size_t place, uint64_t *present)
{
    unsigned capital = 0, odd = v->b.escaped;
    for (size_t i = 0; i < v->size; i++) {
        capital |= (uint8_t)(v->p[i] - 'A') < 26;
        odd |= v->p[i] & 0x80;
    }
    if (capital) {
        if (!tw_kept_room(k, v->size)) return 0;
        place = k->size + k->kept_size;
        for (size_t i = 0; i < v->size; i++)
            k->kept[k->kept_size++] = v->p[i] | ((uint8_t)(v->p[i] - 'A') < 26 ? 32 : 0);
    }
    ((int64_t *)c->values)[n] = tw_text_span(place, v->size);
    *present |= (uint64_t)1 << c->valid;
    if (odd && c->escaped < 64) *present |= (uint64_t)1 << c->escaped;
    return 1;
}

static int tw_emit(tw_lines *k, tw_region *r, size_t at, const tw_tried *tried)
{
    const tw_wire *wire = &k->plan->wires[tried->wire];
    const tw_chosen *chosen = &k->rows.chosen[wire->first_variant + tried->variant];
    const uint8_t *base = tw_text(k, r);
    int64_t moment;
    uint64_t present, invalid = 0;
    int timed = 0;
    tw_header header = { .read = 0 };
    size_t n = tw_row_of(k, r, at, tried->end, &present);
    if (n == SIZE_MAX) return TW_FULL;
    const int64_t shift = k->shift;
    if (k->rows.wire) k->rows.wire[n] = wire->code;
    tw_set_variant(&k->rows, chosen, n);
    present |= tw_fill_always(chosen, k->json.stamp, n, base, shift);
    for (const tw_fill *fill = chosen->fills; fill < chosen->last; fill++) {
        const tw_value *v = tw_noted(&k->json, fill->node);
        if (!v && fill->other != TW_NO_NODE) v = tw_noted(&k->json, fill->other);
        if (fill->column == TW_MOST_COLUMNS) {
            timed |= v && tw_moment_of(fill, v, &k->rows.minute, &k->rows.time[n]);
            continue;
        }
        tw_column *c = &k->rows.own[fill->column];
        if (fill->fill == TW_FILL_BETWEEN) {
            if (tw_between(tw_noted(&k->json, fill->other), tw_noted(&k->json, fill->node), &((int64_t *)c->values)[n]))
                present |= (uint64_t)1 << c->valid;
            continue;
        }
        if (fill->fill == TW_FILL_SECTION || fill->fill == TW_FILL_STANDING) {
            if (!header.read) tw_read_header(tw_noted(&k->json, fill->other), &header);
            present |= (uint64_t)1 << c->valid;
            if (fill->fill == TW_FILL_STANDING) {
                ((uint8_t *)c->values)[n] = (uint8_t)tw_standing(v, &header);
                continue;
            }
            ((int64_t *)c->values)[n] = header.place.p ? tw_text_span((size_t)(header.place.p - base + shift), header.place.size) : 0;
            if (!header.plain && c->escaped < 64) present |= (uint64_t)1 << c->escaped;
            continue;
        }
        if (!v && fill->fill != TW_FILL_CONSTANT) continue;
        if (fill->fill == TW_FILL_LOWER) {
            const size_t place = (size_t)(v->p - base + shift);
            if (v->b.is & TW_IS_STRING && !tw_fill_lower(k, c, v, n, place, &present)) return TW_STOPPED;
            continue;
        }
        const int good = tw_fill_one(c, fill, v, n, base, shift, &present);
        if (!good && !k->number(k->context, v->p, v->size, &((double *)c->values)[n])) return TW_STOPPED;
        if (good < 0) invalid |= (uint64_t)1 << c->valid;
        if (fill->fill == TW_FILL_SECONDS && v->b.is & (TW_IS_COUNT | TW_IS_NEGATIVE | TW_IS_FRACTION)) {
            double milliseconds = ((double *)c->values)[n] * 1000 + 0.5;
            if (milliseconds > -9e18 && milliseconds < 9e18) ((int64_t *)c->values)[n] = (int64_t)milliseconds;
            else present &= ~((uint64_t)1 << c->valid);
        }
    }
    tw_fill_missing(k, n, present | chosen->always | invalid);
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

/* Stores the reject [at, end) of a region; `fault` is a place in it, or behind it. */
static int tw_store_json_reject(tw_lines *k, tw_region *r, size_t at, size_t end, size_t fault, int wire, int reason)
{
    tw_json_rejects *c = &k->rejects;
    size_t n = c->count, first = at, last = end, quote = 0, inner = 0;
    int stands = fault != end && fault < r->end; /* else it is right behind what is refused, or behind the text */
    if (r->bounded && k->string_rejects++ >= TW_STRING_REJECTS) return TW_FINE;
    if (n == c->room) return TW_FULL;
    c->count++;
    if (!tw_string_place(k, r, at, &quote, &inner)) inner = SIZE_MAX; /* -1 */
    if (c->inner) c->inner[n] = (int64_t)inner;
    if (c->row) c->row[n] = (int64_t)k->rows.count;
    size_t own = tw_place_found(k, r, at, end, &first, &last);
    c->own_bytes[n] = (int64_t)own;
    c->offset[n] = k->base + (int64_t)first;
    c->fault[n] = k->base + (int64_t)(stands ? tw_as_written(k, r, fault) : last + (fault - end));
    c->length[n] = (int64_t)(last - first);
    c->line[n] = tw_line_of(k, first);
    c->reason[n] = (uint8_t)reason;
    if (c->wire) c->wire[n] = k->plan->wires[wire].code;
    return TW_FINE;
}

/* --- one candidate --- */

static int tw_try_object(tw_lines *k, tw_region *r, size_t at, size_t end, tw_tried *t)
{
    const uint8_t *s = tw_text(k, r);
    const uint8_t *behind = tw_json_parse(&k->json, s + at, s + end, s + tw_hard(k, r));
    tw_verdict verdict = { TW_TRIED_OTHER, 0, 0, 0 };
    tw_judged found = { 0 };
    t->cut = k->json.cut;
    if (!behind) {
        if (k->json.no_memory) return TW_STOPPED;
        t->what = TW_TRIED_BROKEN;
        t->fault = (size_t)(k->json.fault - s);
        return TW_FINE;
    }
    t->end = (size_t)(behind - s);
    if (k->json.surely) {
        t->what = TW_TRIED_RECORD;
        t->wire = k->json.fitted->wire;
        t->variant = k->json.fitted->variant;
        return TW_FINE;
    }
    uint64_t known = k->json.fitted != NULL;
    for (int w = 0; w < k->json.shape->node_words; w++) known |= k->json.noted[w];
    int what = known ? tw_judge(&k->json, k->plan, s + at, behind, &found) : TW_NOT;
    t->wire = found.wire;
    t->what = TW_TRIED_OTHER;
    switch (what) {
    case TW_SURELY:
        t->what = TW_TRIED_RECORD;
        t->variant = found.variant;
        if (k->json.fitted) tw_keep_verdict(&k->json, t->wire, t->variant);
        else tw_learn_template(&k->json, s + at, t->end - at, t->wire, t->variant);
        break;
    case TW_REFUSED:
        t->what = TW_TRIED_REJECT;
        t->reason = found.reason;
        t->fault = (size_t)(found.fault - s);
        break;
    case TW_MAYBE:
        if (!k->whole(k->context, s + at, t->end - at, &verdict)) return TW_STOPPED;
        t->what = verdict.what;
        t->wire = verdict.wire;
        t->reason = verdict.reason;
        t->fault = at + verdict.fault;
        if (t->what != TW_TRIED_RECORD) break;
        t->variant = tw_variant_of(&k->json, &k->plan->wires[t->wire]);
        if (t->variant < 0) t->what = TW_TRIED_OTHER;
    }
    int noted = k->json.parted && !k->json.fitted;
    k->json.parted = t->what != TW_TRIED_RECORD;
    if (noted || !k->json.parted) return TW_FINE;
    k->json.unfit = s + at;                  /* templates note no parts */
    return tw_json_parse(&k->json, s + at, s + end, s + tw_hard(k, r)) ? TW_FINE : TW_STOPPED;
}

#endif
