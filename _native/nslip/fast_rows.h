/* One usual record into one row of columns, with AVX2 or AVX-512: for the loop of nslip/scan.h, and for that of the search of
 * all wires (json/token_runs.h). */
#ifndef TURNWIRE_NSLIP_FAST_ROWS_H
#define TURNWIRE_NSLIP_FAST_ROWS_H

#include "rows.h"
#include "simd.h"
#include "lanes.h"

#ifdef TW_X86
enum { TW_ZEROED = 64 };

/* Zeros in the columns of slots for the next rows: what a record has not then needs no store of its own. */
static void tw_zero(const tw_columns *c, size_t from, size_t rows)
{
    rows = c->room - from < rows ? c->room - from : rows;
    for (int i = 0; i < TW_SLOTS; i++)
        if (c->ints[i]) memset(c->ints[i] + from, 0, rows * sizeof *c->ints[i]);
    for (int i = 0; i < 2; i++) {
        if (!c->text_offset[i]) continue;
        memset(c->text_offset[i] + from, 0, rows * sizeof *c->text_offset[i]);
        memset(c->text_length[i] + from, 0, rows * sizeof *c->text_length[i]);
    }
}

/* Row n from a record at s[at]; the columns of its slots hold zeros there. With `all` (a constant) every column is wanted. */
TW_INLINE_AVX2 void tw_store_avx2(const tw_columns *restrict c, const uint8_t *s, size_t at, int64_t base, int64_t line,
                                  const tw_found *restrict f, size_t n, int all, uint32_t wanted)
{
    const uint32_t *place = f->place;
    uint64_t number[4];
    if (all || c->offset) c->offset[n] = base + (int64_t)at;
    if (all || c->length) c->length[n] = (int64_t)place[3 + f->slots] + 1;
    if (all || c->line) c->line[n] = line;
    if (all || c->present) c->present[n] = (uint16_t)(f->present | TW_FRAME_KNOWN);
    if (all || c->act) c->act[n] = (uint8_t)f->act;
    if (all || c->frame) c->frame[n] = (uint8_t)f->frame;
    s += at;
    if (all || wanted & TW_WANTED_HEAD) {
        uint32_t from[4] = { 8, place[0] + 2, place[1] + 2, place[2] + 2 };
        tw_four_fields(s, from, place, f->wide, number);
        for (int i = 0; i < 4; i++)
            if (all || c->head[TW_CONV + i]) c->head[TW_CONV + i][n] = number[i];
    }
    if (!all && !(wanted & TW_WANTED_SLOTS)) return;
    if (all || wanted & TW_WANTED_INTS) {
        uint32_t from[4] = { place[3] + 2, place[4] + 2, place[5] + 2, place[6] + 2 };
        tw_four_fields(s, from, place + 4, f->wide, number);
    }
    for (uint32_t i = 0; i < f->slots; i++) {
        uint32_t bar = place[3 + i], end = place[4 + i], slot = tw_prefix[s[bar + 1]] - 16u;
        if (TW_TEXTS >> slot & 1) {
            int which = slot == TW_TAG;
            if (!all && !c->text_offset[which]) continue;
            c->text_offset[which][n] = (int64_t)(at + bar + 3);
            c->text_length[which][n] = (int64_t)(end - bar) - 4;
        } else if (all || c->ints[slot]) {
            c->ints[slot][n] = i < 4 ? number[i] : tw_number(s + end, end - bar - 2);
        }
    }
}

/* Row n from the record that starts with the '@' at s[at], which is tw_usual; s[at-TW_BEFORE..at+TW_READ) must be
 * readable. Its length, or 0: ask another. *zeroed: the row up to which the columns of slots hold zeros. */
TW_INLINE_AVX2 uint32_t tw_row_avx2(const tw_columns *c, const uint8_t *s, size_t at, size_t limit, int64_t base,
                                    int64_t line, size_t n, size_t *zeroed, int all, uint32_t wanted)
{
    tw_found found;
    uint32_t length = tw_record_avx2(s + at, &found);
    if (!length || length > limit) return 0;
    if (n >= *zeroed && (all || wanted & TW_WANTED_SLOTS)) {
        tw_zero(c, n, TW_ZEROED);
        *zeroed = n + TW_ZEROED;
    }
    tw_store_avx2(c, s, at, base, line, &found, n, all, wanted);
    return length;
}

/* The same with AVX-512, where it can. */
TW_INLINE_LANES uint32_t tw_row_lanes(const tw_columns *c, const uint8_t *s, size_t at, size_t limit, int64_t base,
                                      int64_t line, size_t n, tw_kept *kept, int all, uint32_t wanted)
{
    return tw_lane_row(kept, c, s, at, limit, base, line, n, all, wanted, 0);
}
#endif

#endif
