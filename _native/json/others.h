/* Records of nSLIP that a search finds: their candidates, and the columns that any wire has. */
#ifndef TURNWIRE_JSON_OTHERS_H
#define TURNWIRE_JSON_OTHERS_H

#include "scan.h"
#include "decimals.h"
#define tw_integer tw_nslip_integer
#include "_native/nslip/parse.h"
#undef tw_integer
#include "_native/nslip/avx2.h"

enum { TW_OTHER_TEXTS = 3 };                 /* sender, receiver, conversation: numbers, as decimal text in the arena */
static const int tw_other_heads[TW_OTHER_TEXTS] = { TW_SRC, TW_DST, TW_CONV };
enum { TW_NEAR = 4096 };                     /* no '#' is looked for further on: damage is not searched to its end */

typedef struct tw_among {
    uint8_t wire;                            /* number of nSLIP among the wires */
    uint8_t kinds[TW_MAX_ACT + 1];           /* act -> code of the column kind */
    uint8_t reasons[TW_NSLIP_REASONS];
    tw_column *kind, *texts[TW_OTHER_TEXTS], *sequence, *subject, *task, *work; /* NULL where nobody asked */
    int flags;
    int owned;                               /* the columns are those of nSLIP itself: */
    tw_columns own;
    tw_values values;                        /* the candidate found last */
    tw_unknown unknown[TW_MAX_EXTRA];
    tw_fields fields;
    size_t fault;
    int code;
} tw_among;

static int tw_other_avx2;                    /* this processor runs the code of nslip/avx2.h */

/* After tw_nslip_tables. */
static void tw_other_tables(void)
{
    tw_decimal_tables();
#ifdef TW_X86
    tw_simd_tables();
    tw_other_avx2 = tw_has_avx2();
#endif
}

/* The next candidate in s[p .. to) that stands before `end`, or `to`. */
static size_t tw_other_next(const uint8_t *s, size_t p, size_t to, size_t end, size_t limit)
{
    while (p < to) {
        const uint8_t *at = (const uint8_t *)memchr(s + p, '@', to - p);
        if (!at) return to;
        p = (size_t)(at - s);
        if (tw_candidate(s, p, end - p <= limit ? end : p + limit)) return p;
        p++;
    }
    return to;
}

#ifdef TW_X86
/* True if the record at `at`, which is tw_usual, is read by AVX2: what columns are made of goes into o->values and
 * o->fields. s[at - TW_BEFORE .. at + TW_READ) must be readable. */
TW_AVX2 static int tw_other_usual(tw_among *o, const uint8_t *s, size_t at, size_t end)
{
    tw_fields *f = &o->fields;
    tw_values *v = &o->values;
    tw_found found;
    uint32_t length = tw_record_avx2(s + at, &found);
    if (!length || length > end - at) return 0;
    const uint32_t *place = found.place;
    const uint32_t from[4] = { 8, place[0] + 2, place[1] + 2, place[2] + 2 };
    tw_four_fields(s + at, from, place, found.wide, &v->head[TW_CONV]);
    v->head[TW_ACT] = found.act;
    v->head[TW_FRAME] = found.frame;
    v->present = (uint16_t)found.present;
    f->v = v;
    f->escaped = f->unknown_count = 0;
    f->end = at + length;
    for (uint32_t i = 3; i < 3 + found.slots; i++) {
        uint32_t slot = tw_kind[s[at + place[i] + 1]];
        if (slot == TW_STATUS || slot == TW_TAG) {
            f->text_first[slot == TW_TAG] = at + place[i] + 3;
            f->text_length[slot == TW_TAG] = place[i + 1] - place[i] - 4;
        } else if (o->owned || slot == TW_TASK) v->ints[slot] = tw_number(s + at + place[i + 1], place[i + 1] - place[i] - 2);
    }
    return 1;
}
#endif

/* The kind of what stands at `at` of a text that ends at `hard`, up to `end`: a code; its end goes into o->fields. Of s, `readable`
 * bytes may be read. */
static int tw_other_parse(tw_among *o, const uint8_t *s, size_t at, size_t end, size_t hard, size_t readable)
{
    tw_fields *f = &o->fields;
#ifdef TW_X86
    if (tw_other_avx2 && tw_json_level != TW_SCALAR && at >= TW_BEFORE && readable - at >= TW_READ && tw_usual(s + at) &&
        tw_other_usual(o, s, at, end))
        return o->code = TW_OK;
#endif
    size_t near = end - at < TW_NEAR ? end - at : TW_NEAR;
    const uint8_t *last = s + at + near - 1; /* mostly the '#' of the record; the first one may stand in a string */
    const uint8_t *hash = *last == '#' ? last : (const uint8_t *)memchr(s + at, '#', near);
    f->v = &o->values;
    f->unknown = o->unknown;
    f->text_first[0] = f->text_first[1] = 0;
    if (hash && tw_nslip_fast(s + at, (size_t)(hash - s) + 1 - at, 1, f)) {
        f->end += at;
        f->text_first[0] += at;
        f->text_first[1] += at;
        return o->code = TW_OK;
    }
    return o->code = tw_nslip_parse(s, at, end, hard, o->flags | TW_LOG, &o->fields);
}

static inline void tw_other_number(tw_lines *k, tw_column *c, size_t row, uint64_t number)
{
    size_t size = tw_put_decimal(k->kept + k->kept_size, number);
    ((int64_t *)c->values)[row] = tw_text_span(k->size + k->kept_size, size);
    k->kept_size += size;
}

static inline int tw_other_tells_work(const tw_among *o) { return o->task && o->task->values && o->work && o->work->values; }

/* The columns of its task and of how the work stands, by the slots of a record; status: the span of its STATUS in s. */
static inline void tw_other_work(tw_lines *k, const tw_among *o, size_t row, unsigned slots, uint64_t task, int64_t status,
                                 const uint8_t *s)
{
    const int goes_on = (slots >> TW_STATUS & 1) && tw_goes_on(s + tw_offset_of(status), (size_t)tw_length_of(status));
    if (slots >> TW_TASK & 1) tw_other_number(k, o->task, row, task);
    else ((int64_t *)o->task->values)[row] = 0;
    ((uint8_t *)o->work->values)[row] = TW_TOLD | TW_ASKS | (goes_on ? 0 : TW_FINAL);
}

static int tw_other_record(tw_lines *k, tw_region *r, size_t at, size_t end)
{
    tw_among *o = (tw_among *)k->others;
    const tw_values *v = &o->values;
    uint64_t present;
    int64_t moment;
    size_t n = tw_row_of(k, r, at, end, &present);
    if (n == SIZE_MAX) return TW_FULL;
    if (!tw_kept_room(k, (TW_OTHER_TEXTS + 1) * TW_DECIMAL_ROOM)) return TW_STOPPED;
    if (k->rows.wire) k->rows.wire[n] = o->wire;
    if (o->owned) tw_store_fields(&o->own, n, &o->fields, (size_t)k->shift);
    for (int i = 0; i < TW_OTHER_TEXTS; i++) {
        if (!o->texts[i] || !o->texts[i]->values) continue;
        tw_other_number(k, o->texts[i], n, v->head[tw_other_heads[i]]);
        present |= (uint64_t)1 << o->texts[i]->valid;
    }
    if (o->kind && o->kind->values) {
        ((uint8_t *)o->kind->values)[n] = o->kinds[v->head[TW_ACT]];
        present |= (uint64_t)1 << o->kind->valid;
    }
    if (o->sequence && o->sequence->values && v->head[TW_TURN] <= (uint64_t)INT64_MAX) {
        ((int64_t *)o->sequence->values)[n] = (int64_t)v->head[TW_TURN];
        present |= (uint64_t)1 << o->sequence->valid;
    }
    if (o->subject && o->subject->values && (v->present >> TW_TAG) & 1) {
        ((int64_t *)o->subject->values)[n] = tw_text_span(o->fields.text_first[1] + (size_t)k->shift, o->fields.text_length[1]);
        present |= (uint64_t)1 << o->subject->valid;
        if (o->fields.escaped & 2 && o->subject->escaped < 64) present |= (uint64_t)1 << o->subject->escaped;
    }
    if (tw_other_tells_work(o)) {
        const int64_t status = tw_text_span(o->fields.text_first[0], o->fields.text_length[0]);
        tw_other_work(k, o, n, v->present, v->ints[TW_TASK], status, tw_text(k, r));
        present |= (uint64_t)1 << o->task->valid | (uint64_t)1 << o->work->valid;
    }
    tw_fill_missing(k, n, present);
    if (k->rows.time) {
        int timed = tw_head(k, r, at, &moment);
        k->rows.time[n] = timed ? moment : 0;
        if (timed) present |= (uint64_t)1 << k->rows.time_bit;
    }
    k->rows.present[n] = present;
    return TW_FINE;
}

#endif
