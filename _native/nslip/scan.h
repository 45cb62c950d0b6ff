/* The bulk scan of nSLIP with the fastest code that the processor has: loops over the rules of nslip/rows.h. */
#ifndef TURNWIRE_NSLIP_SCAN_H
#define TURNWIRE_NSLIP_SCAN_H

#include "avx512.h"

#ifdef TW_X86
/* So many records in turn were not usual behind their first bytes: from then on only one of TW_APART_ROWS is asked for. */
enum { TW_REFUSED = 8, TW_APART_ROWS = 64 };

/* Up to `most` records of any shape from *position on, each but the first at the beginning of a line, into rows from n on. How
 * many; *position is behind the last one, and *line its line. */
#define TW_ANY_RUN(name, INLINE, any_row, state_type, first_state)                                                   \
    INLINE size_t name(const tw_scan *k, const tw_columns *c, size_t n, size_t most, size_t *position,               \
                       int64_t *line, int all, uint32_t wanted)                                                      \
    {                                                                                                                \
        const uint8_t *s = k->s;                                                                                     \
        size_t size = k->size, p = *position, done = 0;                                                              \
        state_type state = first_state(n);                                                                           \
        for (;;) {                                                                                                   \
            uint32_t length = any_row(c, s, p, size, k->limit, k->base, *line, n, &state, all, wanted,               \
                                      k->flags & TW_KEEP);                                                           \
            if (!length) break;                                                                                      \
            done++;                                                                                                  \
            n++;                                                                                                     \
            *position = p += length;                                                                                 \
            if (done == most || n == c->room || p + TW_READ + 1 > size || s[p] != '\n' || s[p + 1] != '@') break;    \
            p++;                                                                                                     \
            ++*line;                                                                                                 \
        }                                                                                                            \
        if (done && p != *position) --*line;                                                                         \
        return done;                                                                                                 \
    }

/* Each twice, so that the columns that everybody wants are stored without a question. */
#define TW_ANY_RUNS(name, TARGET, INLINE, any_row, state_type, first_state)                                          \
    TW_ANY_RUN(name##_in, INLINE, any_row, state_type, first_state)                                                  \
    TARGET static size_t name(const tw_scan *k, const tw_columns *c, size_t n, size_t most, size_t *position,        \
                              int64_t *line, int all, uint32_t wanted)                                               \
    {                                                                                                                \
        return all ? name##_in(k, c, n, most, position, line, 1, ~0u) : name##_in(k, c, n, most, position, line, 0, wanted); \
    }

TW_ANY_RUNS(tw_any_run_avx2, TW_AVX2, TW_INLINE_AVX2, tw_any_row_avx2, size_t, (size_t))
TW_ANY_RUNS(tw_any_run_lanes, TW_LANES, TW_INLINE_LANES, tw_any_row_lanes, tw_kept, tw_keep_lanes)

/* From k->position on, as tw_nslip_scan_scalar: the usual records by `row`, others by `any_run`, the rest by the scalar code. */
#define TW_SCAN_LOOP(name, INLINE, next_at, row, any_run, state_type, first_state)                                   \
    INLINE void name(tw_scan *k, int all, uint32_t wanted)                                                           \
    {                                                                                                                \
        const uint8_t *s = k->s;                                                                                     \
        size_t size = k->size, p = k->position, n = k->columns.count, done;                                          \
        int64_t line = k->line;                                                                                      \
        const tw_columns columns = k->columns;                                                                       \
        state_type state = first_state(n);                                                                           \
        uint32_t refused = 0;                                                                                        \
        for (;;) {                                                                                                   \
            if (p + 1 < size && s[p] == '\n' && s[p + 1] == '@') {                                                   \
                p++;                                                                                                 \
                line++;                                                                                              \
            } else {                                                                                                 \
                p = next_at(s, p, size, &line);                                                                      \
                if (p == size) break;                                                                                \
            }                                                                                                        \
            if (p >= TW_BEFORE && p + TW_READ <= size && n < columns.room) {                                         \
                uint32_t length = 0;                                                                                 \
                if (tw_usual(s + p))                                                                                 \
                    length = row(&columns, s, p, k->limit, k->base, line, n, &state, all, wanted);                   \
                if (length) {                                                                                        \
                    refused = 0;                                                                                     \
                    n++;                                                                                             \
                    p += length;                                                                                     \
                    continue;                                                                                        \
                }                                                                                                    \
                size_t behind = p;                                                                                   \
                int64_t there = line;                                                                                \
                size_t most = refused < TW_REFUSED ? 1 : TW_APART_ROWS;                                              \
                done = any_run(k, &columns, n, most, &behind, &there, all, wanted);                                  \
                if (done) {                                                                                          \
                    refused++;                                                                                       \
                    n += done;                                                                                       \
                    p = behind;                                                                                      \
                    line = there;                                                                                    \
                    continue;                                                                                        \
                }                                                                                                    \
            }                                                                                                        \
            int begins = tw_scan_begins(k, p);                                                                       \
            if (begins == TW_CANDIDATE_CUT) break;                                                                   \
            if (begins == TW_NO_CANDIDATE) { p++; continue; }                                                        \
            if (n == columns.room) break;                                                                            \
            k->line = line;                                                                                          \
            k->columns.count = n;                                                                                    \
            if (tw_scan_candidate(k, p) == TW_WAIT) break;                                                           \
            p = k->position;                                                                                         \
            n = k->columns.count;                                                                                    \
        }                                                                                                            \
        k->line = line;                                                                                              \
        k->position = p;                                                                                             \
        k->columns.count = n;                                                                                        \
    }

TW_SCAN_LOOP(tw_scan_with_avx2, TW_INLINE_AVX2, tw_next_at, tw_row_avx2, tw_any_run_avx2, size_t, (size_t))
TW_SCAN_LOOP(tw_scan_with_lanes, TW_INLINE_LANES, tw_next_at_lanes, tw_row_lanes, tw_any_run_lanes, tw_kept, tw_keep_lanes)

/* Each twice, for the same reason. */
TW_AVX2 static void tw_scan_avx2(tw_scan *k, uint32_t wanted)
{
    if (wanted == TW_WANTED_ALL) tw_scan_with_avx2(k, 1, ~0u);
    else tw_scan_with_avx2(k, 0, wanted);
}

TW_LANES static void tw_scan_lanes(tw_scan *k, uint32_t wanted)
{
    if (wanted == TW_WANTED_ALL) tw_scan_with_lanes(k, 1, ~0u);
    else tw_scan_with_lanes(k, 0, wanted);
}
#endif

enum { TW_SCALAR, TW_LEVEL_AVX2, TW_LEVEL_LANES };
static int tw_nslip_level;                         /* set once, at import, and by tests */

static void tw_nslip_scan(tw_scan *k)
{
    k->sentinel = k->size;
    while (k->sentinel > k->position && k->s[k->sentinel - 1] != '#') k->sentinel--;
#ifdef TW_X86
    if (tw_nslip_level == TW_LEVEL_LANES) tw_scan_lanes(k, tw_wanted(&k->columns));
    else if (tw_nslip_level == TW_LEVEL_AVX2) tw_scan_avx2(k, tw_wanted(&k->columns));
    else tw_nslip_scan_scalar(k);
#else
    tw_nslip_scan_scalar(k);
#endif
}

/* Takes the highest level up to `most` that the processor has. */
static int tw_choose_level(int most)
{
    tw_nslip_level = TW_SCALAR;
#ifdef TW_X86
    tw_simd_tables();
    tw_lane_tables();
    if (most >= TW_LEVEL_AVX2 && tw_has_avx2()) tw_nslip_level = TW_LEVEL_AVX2;
    if (most >= TW_LEVEL_LANES && tw_has_lanes()) tw_nslip_level = TW_LEVEL_LANES;
#endif
    (void)most;
    return tw_nslip_level;
}

#endif
