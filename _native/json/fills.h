/* The columns that a message of each variant fills, prepared once a block. The most common ones (texts, words, times) are
 * written whether there is a value or not: presence differs from message to message, so a branch on it is mispredicted. What
 * holds nothing in a variant gets its zeros once the next row is of another one. */
#ifndef TURNWIRE_JSON_FILLS_H
#define TURNWIRE_JSON_FILLS_H

#include "rows.h"

/* A column and the two nodes that it comes from, the same where there is but one. valid, escaped: what `present` then says. */
typedef struct {
    void *to;
    const tw_value *v, *other;
    uint64_t valid, escaped;
    tw_column *column;
    uint8_t constant;
} tw_source;

/* Of a variant: texts, words and times, one behind the other; all other fills; and what holds nothing in it. always: all these
 * columns but those of the other fills, as bits. */
typedef struct tw_chosen {
    const tw_source *texts, *words, *times, *behind;
    const tw_fill *fills, *last;
    int64_t *const *empty, *const *empty_end;
    uint8_t *const *blank, *const *blank_end;
    uint64_t always;
} tw_chosen;

enum { TW_FIRST_TEXTS, TW_THEN_WORDS, TW_THEN_TIMES, TW_LAST_OTHERS, TW_TURNS };

/* The bit of a fill's column; 0 for that of the time, for one that nobody asked for, and of what no plan names. */
static inline uint64_t tw_bit_of(const tw_json_rows *r, const tw_fill *fill)
{
    if (fill->column == TW_MOST_COLUMNS || fill->node == TW_NO_NODE) return 0;
    const tw_column *c = &r->own[fill->column];
    return c->values ? (uint64_t)1 << c->valid : 0;
}

/* When a fill of a variant is written; columns that two of them fill come last. TW_TURNS: never. */
static inline int tw_turn_of(const tw_json_rows *r, const tw_fill *fill, uint64_t twice)
{
    uint64_t bit = tw_bit_of(r, fill);
    if (fill->column == TW_MOST_COLUMNS) return r->time && fill->node != TW_NO_NODE ? TW_LAST_OTHERS : TW_TURNS;
    if (!bit || bit & twice) return bit ? TW_LAST_OTHERS : TW_TURNS;
    if (fill->fill == TW_FILL_TEXT && r->own[fill->column].escaped < 64) return TW_FIRST_TEXTS;
    if (fill->fill == TW_FILL_WORD) return TW_THEN_WORDS;
    return fill->fill == TW_FILL_TIME ? TW_THEN_TIMES : TW_LAST_OTHERS;
}

static inline void tw_source_of(tw_json_rows *r, const tw_json *x, const tw_fill *fill, tw_source *source)
{
    tw_column *c = &r->own[fill->column];
    source->to = c->values;
    source->v = &x->v[fill->node];
    source->other = fill->other == TW_NO_NODE ? source->v : &x->v[fill->other];
    source->valid = (uint64_t)1 << c->valid;
    source->escaped = c->escaped < 64 ? (uint64_t)1 << c->escaped : 0;
    source->column = c;
    source->constant = fill->constant;
}

/* Takes the fills whose column somebody asked for: one piece of memory, at r->chosen. 0 where there was none. */
static int tw_choose_fills(tw_json_rows *r, const tw_plan *plan, tw_json *x)
{
    const size_t variants = (size_t)plan->variant_count;
    size_t count = 0;
    for (size_t v = 0; v < variants; v++) count += plan->variants[v].fills;
    char *memory = (char *)malloc((variants + 1) * sizeof(tw_chosen) + variants * 2 * TW_MOST_COLUMNS * sizeof(void *) +
                                  count * (sizeof(tw_source) + sizeof(tw_fill)));
    if (!memory) return 0;
    r->chosen = (tw_chosen *)(void *)memory;
    tw_source *source = (tw_source *)(void *)(r->chosen + variants + 1);
    void **nothing = (void **)(void *)(source + count);
    tw_fill *rest = (tw_fill *)(void *)(nothing + variants * 2 * TW_MOST_COLUMNS);
    for (size_t v = 0; v < variants; v++) {
        const tw_fill *first = &plan->fills[plan->variants[v].first_fill], *behind = first + plan->variants[v].fills;
        const tw_source **starts[] = { &r->chosen[v].texts, &r->chosen[v].words, &r->chosen[v].times, &r->chosen[v].behind };
        tw_chosen *chosen = &r->chosen[v];
        uint64_t seen = 0, twice = 0, others = 0;
        chosen->fills = rest;
        for (const tw_fill *fill = first; fill < behind; fill++) {
            twice |= seen & tw_bit_of(r, fill);
            seen |= tw_bit_of(r, fill);
        }
        for (int turn = 0; turn < TW_TURNS; turn++) {
            *starts[turn] = source;
            for (const tw_fill *fill = first; fill < behind; fill++) {
                if (tw_turn_of(r, fill, twice) != turn) continue;
                if (turn < TW_LAST_OTHERS) tw_source_of(r, x, fill, source++);
                else {
                    others |= tw_bit_of(r, fill);
                    *rest++ = *fill;
                }
                if (fill->fill == TW_FILL_CONSTANT) continue;
                x->asked[fill->node >> 6] |= (uint64_t)1 << (fill->node & 63);
                if (fill->other != TW_NO_NODE) x->asked[fill->other >> 6] |= (uint64_t)1 << (fill->other & 63);
            }
        }
        chosen->last = rest;
        chosen->always = r->wanted & ~others;
        chosen->empty = (int64_t *const *)(void *)nothing;
        for (uint64_t missing = r->wanted & ~seen; missing; missing &= missing - 1) {
            tw_column *c = r->of_bit[tw_low_zeros(missing)];
            if (c->width != 1) *nothing++ = c->values;
        }
        chosen->empty_end = (int64_t *const *)(void *)nothing;
        chosen->blank = (uint8_t *const *)(void *)nothing;
        for (uint64_t missing = r->wanted & ~seen; missing; missing &= missing - 1) {
            tw_column *c = r->of_bit[tw_low_zeros(missing)];
            if (c->width == 1) *nothing++ = c->values;
        }
        chosen->blank_end = (uint8_t *const *)(void *)nothing;
    }
    return 1;
}

/* The mask of a source: all ones where its value is of these kinds, else 0; *v: the value. */
static inline uint64_t tw_is_there(const tw_source *from, uint32_t stamp, unsigned kinds, const tw_value **v)
{
    *v = from->v->stamp == stamp ? from->v : from->other;
    return 0 - (uint64_t)(((*v)->stamp == stamp) & (((*v)->b.is & kinds) != 0));
}

/* All columns of a row but those of the other fills; the bits of those that are there. */
static inline uint64_t tw_fill_always(const tw_chosen *chosen, uint32_t stamp, size_t row, const uint8_t *base, int64_t shift)
{
    const uint64_t less = (uint64_t)(uintptr_t)base - (uint64_t)shift;
    const tw_value *v;
    uint64_t present = 0;
    for (const tw_source *from = chosen->texts; from < chosen->words; from++) {
        uint64_t there = tw_is_there(from, stamp, TW_IS_STRING, &v);
        ((int64_t *)from->to)[row] = tw_text_span((size_t)((uintptr_t)v->p - less), v->size) & (int64_t)there;
        present |= there & (from->valid | (from->escaped & (0 - (uint64_t)(v->b.escaped != 0))));
    }
    for (const tw_source *from = chosen->words; from < chosen->times; from++) {
        uint64_t there = tw_is_there(from, stamp, ~0u, &v) & (0 - (uint64_t)(v->b.word != TW_NO_WORD));
        ((uint8_t *)from->to)[row] = (uint8_t)((unsigned)(v->b.word + from->constant) & there);
        present |= there & from->valid;
    }
    for (const tw_source *from = chosen->times; from < chosen->behind; from++) {
        uint64_t there = tw_is_there(from, stamp, TW_IS_STRING, &v);
        int64_t moment = v->moment;
        if (there && !v->b.timed && !tw_time_of(v, &from->column->minute, &moment)) there = 0;
        ((int64_t *)from->to)[row] = (int64_t)((uint64_t)moment & there);
        present |= there & from->valid;
    }
    return present;
}

enum { TW_FEW_ROWS = 4 };                    /* for which no memory is set at once */

/* The zeros of the last rows of one variant. */
static void tw_fill_blank(tw_json_rows *r)
{
    const tw_chosen *of = r->met;
    const size_t first = r->blank, rows = r->behind - first;
    if (rows > TW_FEW_ROWS) {
        for (int64_t *const *empty = of->empty; empty < of->empty_end; empty++) memset(*empty + first, 0, rows * sizeof **empty);
        for (uint8_t *const *blank = of->blank; blank < of->blank_end; blank++) memset(*blank + first, 0, rows);
        r->blank = r->behind;
    }
    for (; r->blank < r->behind; r->blank++) {
        for (int64_t *const *empty = of->empty; empty < of->empty_end; empty++) (*empty)[r->blank] = 0;
        for (uint8_t *const *blank = of->blank; blank < of->blank_end; blank++) (*blank)[r->blank] = 0;
    }
}

/* Row n is of a variant. */
static inline void tw_set_variant(tw_json_rows *r, const tw_chosen *chosen, size_t n)
{
    if (chosen != r->met || n != r->behind) {
        tw_fill_blank(r);
        r->met = chosen;
        r->blank = n;
    }
    r->behind = n + 1;
}

/* Forgets all rows but so many. */
static inline void tw_rows_back(tw_json_rows *r, size_t count)
{
    r->count = count;
    if (r->behind > count) r->behind = count;
    if (r->blank > r->behind) r->blank = r->behind;
}

#endif
