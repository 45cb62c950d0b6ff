/* What nslip/any_rows.h reads, with AVX-512, where it has at most 128 bytes and fifteen fields: as in nslip/lanes.h, the
 * separators are compressed into one register and all fields come out by permutations. */
#ifndef TURNWIRE_NSLIP_ANY_LANES_H
#define TURNWIRE_NSLIP_ANY_LANES_H

#include "any_rows.h"
#include "lanes.h"

#ifdef TW_X86
/* What one window of 64 bytes hands on to the next, and what they add up to. */
typedef struct {
    __m512i before;                          /* the window in front */
    uint64_t carried, open, high, stop;
    uint32_t quotes;
    tw_bits escaped;
} tw_windows;

/* The separators outside strings in a window, and the '#' that ends the record in w->stop, or 0; of those bytes in `outer`.
 * UINT64_MAX: ask another. */
TW_INLINE_LANES uint64_t tw_window_ends(const tw_kept *k, __m512i v, __m512i kinds, uint64_t outer, int second,
                                         tw_windows *w)
{
    uint64_t marks = _mm512_cmpeq_epi8_mask(v, k->quote), backslash = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\'));
    uint64_t high = _mm512_movepi8_mask(v), escaped = 0;
    if (backslash | w->open) escaped = tw_escaped_bytes(backslash, &w->open);
    uint64_t quote = marks & ~escaped, inside = tw_parity(quote) ^ w->carried;
    uint64_t stop = _mm512_cmpeq_epi8_mask(v, k->hash) & ~inside;
    w->stop = stop &= 0 - stop;
    uint64_t record = (stop - 1) & outer, newline = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\n'));
    uint64_t wrong = (newline | (escaped & ~(marks | backslash))) & record;
    wrong |= _mm512_mask_test_epi8_mask(record & ~inside, kinds, k->outside);
    /* Outside of strings all is ASCII, so the record can be judged as one text. */
    if ((high & record) | w->high) {
        __m512i faults = tw_utf8_faults_512(v, w->before);
        wrong |= _mm512_mask_test_epi8_mask(record, faults, faults);
    }
    w->carried = 0 - (inside >> 63);
    w->high = high;
    w->before = v;
    w->escaped |= (tw_bits)(backslash & record) << (second ? 64 : 0);
    w->quotes += (uint32_t)_mm_popcnt_u64(quote & record);
    return wrong ? UINT64_MAX : (_mm512_cmpeq_epi8_mask(v, k->bar) & ~inside & record) | stop;
}

/* By lane of 64 bits the field, from 1 on, which is of this kind; 0: there is none. `kind`: this kind in each byte. */
TW_INLINE_LANES __m512i tw_field_of(__m128i kinds, __m512i kind)
{
    uint64_t low = _mm512_cmpeq_epi8_mask(_mm512_broadcastq_epi64(kinds), kind);
    uint64_t upper = _mm512_cmpeq_epi8_mask(_mm512_broadcastq_epi64(_mm_bsrli_si128(kinds, 8)), kind);
    __m512i first = _mm512_maskz_mov_epi8(low, TW_LANE(first)), second = _mm512_maskz_mov_epi8(upper, TW_LANE(second));
    return _mm512_sad_epu8(_mm512_or_si512(first, second), _mm512_setzero_si512());
}

/* The numbers of all fields by kind, and whether all fields are good. */
TW_INLINE_LANES int tw_any_fields(const tw_kept *k, const uint8_t *s, __m512i places, __m512i v, __m512i w, __m512i kinds,
                                  __m512i others, uint32_t fields, uint32_t quotes, int two, int keep, tw_row *r)
{
    const uint32_t live = (1u << fields) - 1;
    __m512i edges = _mm512_add_epi8(_mm512_permutexvar_epi8(k->corner, places), k->edge);
    edges = tw_pick(edges, kinds, others, two);
    uint64_t quoted = _mm512_test_epi8_mask(edges, k->quoted);
    uint32_t strings = (uint32_t)(quoted >> 16) & (uint32_t)(quoted >> 32) & live;
    __m128i kind = _mm_and_si128(_mm512_castsi512_si128(edges), TW_SHORT_LANE(prefix));
    kind = _mm_mask_mov_epi8(_mm_set1_epi8(-1), (__mmask16)live, kind);
    __m512i slots = tw_field_of(kind, k->from);
    __m512i headers = tw_field_of(kind, _mm512_add_epi8(k->from, _mm512_set1_epi8(8)));
    uint32_t seen = _mm512_test_epi64_mask(slots, slots) | (uint32_t)_mm512_test_epi64_mask(headers, headers) << 8;
    uint32_t status = _mm_cmpeq_epi8_mask(kind, TW_SHORT_LANE(status)), tag = _mm_cmpeq_epi8_mask(kind, TW_SHORT_LANE(tag));
    uint32_t other = _mm_cmpeq_epi8_mask(kind, TW_SHORT_LANE(prefix));
    /* Texts begin and end with a quote, and there are no others. An integer has one digit to eleven. */
    __m128i at = _mm512_castsi512_si128(places), sizes = _mm_sub_epi8(_mm_bsrli_si128(at, 1), at);
    __m128i above = _mm_sub_epi8(sizes, TW_SHORT_LANE(three));
    uint32_t numbers = live & ~strings;
    uint32_t large = _mm_mask_cmpgt_epu8_mask((__mmask16)numbers, above, TW_SHORT_LANE(nine));
    uint32_t wrong = (strings ^ (status | tag)) & ~other;
    wrong |= (quotes ^ 2 * (uint32_t)_mm_popcnt_u32(strings)) | ((uint32_t)_mm_popcnt_u32(seen) ^ fields);
    wrong |= _mm_mask_cmpgt_epu8_mask((__mmask16)numbers, above, TW_SHORT_LANE(ten));
    wrong |= ~seen & ((1u << TW_HEADERS) - 1) << TW_C;
    if (wrong) return 0;
    uint8_t place[32];
    _mm_storeu_si128((__m128i *)place, at);
    if (other && !(keep && tw_kind[s[place[_tzcnt_u32(other)] + 1]] == TW_OTHER)) return 0;
    for (uint64_t value; large; large &= large - 1)
        if (!tw_eleven_digits(s + place[_tzcnt_u32(large) + 1], &value)) return 0;
    int wide = _mm_mask_cmpgt_epu8_mask((__mmask16)numbers, sizes, TW_SHORT_LANE(ten)) != 0;
    __m512i digits = TW_LOOK_UP(k->digits, v), more = two ? TW_LOOK_UP(k->digits, w) : digits;
    __m512i low = tw_numbers_lanes(k, places, 0, digits, more, two, wide), upper = _mm512_setzero_si512();
    if (fields > 8) upper = tw_numbers_lanes(k, places, 8, digits, more, two, wide);
    const __m512i one = _mm512_set1_epi64(1);
    _mm512_storeu_si512(r->value, _mm512_maskz_permutex2var_epi64((__mmask8)seen, low, _mm512_sub_epi64(slots, one), upper));
    headers = _mm512_maskz_permutex2var_epi64((__mmask8)(seen >> 8), low, _mm512_sub_epi64(headers, one), upper);
    _mm512_storeu_si512(r->value + 8, headers);
    r->seen = seen;
    for (int i = 0; i < 2; i++) {
        uint32_t field = _tzcnt_u32(i ? tag : status) & 15;
        r->first[i] = (size_t)place[field] + 3;
        r->size[i] = (size_t)place[field + 1] - place[field] - 4;
    }
    return r->value[TW_A] <= TW_MAX_ACT && (keep || r->value[TW_F] <= TW_MAX_FRAME);
}

/* Row n from the record at s[at], as tw_any_row; what does not fit is left to that. */
TW_INLINE_LANES uint32_t tw_any_row_lanes(const tw_columns *c, const uint8_t *text, size_t at, size_t size, size_t limit,
                                          int64_t base, int64_t line, size_t n, const tw_kept *k, int all, uint32_t wanted,
                                          int keep)
{
    const uint8_t *s = text + at;
    tw_row r;
    if (tw_kind[s[1]] - (unsigned)TW_C >= TW_HEADERS || tw_digit[s[2]] == 255) return 0;
    tw_windows w = { _mm512_setzero_si512(), 0, 0, 0, 0, 0, 0 };
    __m512i v = _mm512_loadu_si512(s), kinds = tw_kinds(k, v);
    if (tw_usual(s) && (_mm512_movepi8_mask(v) | _mm512_cmpeq_epi8_mask(v, TW_LANE(backslash)))) {
        r.length = tw_lane_row(k, c, text, at, limit, base, line, n, all, wanted, 1);
        if (r.length == (uint32_t)TW_LONG_RECORD) return tw_any_row_apart(c, text, at, size, limit, base, line, n, keep);
        if (r.length) return r.length;
    }
    uint64_t ends = tw_window_ends(k, v, kinds, ~(uint64_t)1, 0, &w);
    if (ends == UINT64_MAX) return 0;
    uint32_t first = (uint32_t)_mm_popcnt_u64(ends) + 1;             /* with the '@' */
    if (w.stop) {
        r.length = (uint32_t)_tzcnt_u64(w.stop) + 1;
        if (first > TW_KINDS || r.length > limit) return 0;
        __m512i places = _mm512_maskz_compress_epi8(ends | 1, k->iota);
        if (!tw_any_fields(k, s, places, v, v, kinds, kinds, first - 1, w.quotes, 0, keep, &r)) return 0;
    } else {
        __m512i next = _mm512_loadu_si512(s + 64), others = tw_kinds(k, next);
        uint64_t further = tw_window_ends(k, next, others, ~(uint64_t)0, 1, &w);
        if (further == UINT64_MAX) return 0;
        if (!w.stop) return tw_any_row_apart(c, text, at, size, limit, base, line, n, keep);
        uint32_t fields = first + (uint32_t)_mm_popcnt_u64(further) - 1;
        r.length = (uint32_t)_tzcnt_u64(w.stop) + 65;
        if (fields >= TW_KINDS || r.length > limit) return 0;
        __m128i behind = _mm_add_epi8(_mm512_castsi512_si128(_mm512_maskz_compress_epi8(further, k->iota)),
                                      _mm_set1_epi8(64));
        behind = _mm_shuffle_epi8(behind, _mm_sub_epi8(_mm512_castsi512_si128(k->iota), _mm_set1_epi8((char)first)));
        __m128i before = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(ends | 1, k->iota));
        __m512i places = _mm512_zextsi128_si512(_mm_or_si128(behind, before));
        if (!tw_any_fields(k, s, places, v, next, kinds, others, fields, w.quotes, 1, keep, &r)) return 0;
    }
    r.escaped = 0;
    if (w.escaped)
        for (int i = 0; i < 2; i++) {        /* a text has fewer than 128 bytes; where there is none, its bit is not asked for */
            tw_bits within = w.escaped >> (r.first[i] & 127) & (((tw_bits)1 << (r.size[i] & 127)) - 1);
            if (within && (r.seen >> (i ? TW_TAG : TW_STATUS)) & 1)
                r.escaped |= i ? TW_TAG_ESCAPED : TW_STATUS_ESCAPED;
        }
    tw_store_any(c, at, base, line, n, &r, all);
    return r.length;
}
#endif

#endif
