/* Records of a log read with AVX-512, as nslip/avx2.h does with AVX2: the separators' places are compressed into one
 * register, and the prefixes, the digits and the numbers of all fields come out of the window by permutations, so that
 * neither the number of digits nor the number and order of slots costs a branch. Takes the usual records that AVX2 takes, also
 * with escapes and text beyond ASCII; the others are read by AVX2. */
#ifndef TURNWIRE_NSLIP_AVX512_H
#define TURNWIRE_NSLIP_AVX512_H

#include "avx2.h"

#ifdef TW_X86
#define TW_LANES                                                                                                    \
    TW_TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2," \
              "avx2,bmi,bmi2,pclmul,popcnt,lzcnt")
#define TW_INLINE_LANES TW_LANES TW_ALWAYS

static TW_UNUSED int tw_has_lanes(void)
{
    return tw_has_avx2() && TW_PROCESSOR_HAS("avx512f") && TW_PROCESSOR_HAS("avx512bw") &&
           TW_PROCESSOR_HAS("avx512dq") && TW_PROCESSOR_HAS("avx512vl") &&
           TW_PROCESSOR_HAS("avx512vbmi") && TW_PROCESSOR_HAS("avx512vbmi2");
}

/* The kind of a byte: as the prefix of a field, tw_kind, or TW_OTHER for what is none; a quote; bad in a string (what a
 * plain one does not hold); bad outside of one; bad anywhere here. */
enum { TW_IS_PREFIX = TW_KINDS - 1 };
enum { TW_BAD_INSIDE = 16, TW_BAD_OUTSIDE = 32, TW_IS_QUOTE = 64, TW_HIGH_BYTE = 128 };

/* By ASCII byte its kind and its base62 value; patterns of lanes (see where they are used); constants, which the
 * compiler would make anew for each record where it knew them. */
static struct {
    uint8_t kind[128], digit[128], iota[64], from[64], to[64], two[64], before[64], corner[64], edge[64];
    uint8_t eight[64];
    uint8_t bar[64], quote[64], hash[64], inside[64], outside[64], high[64], quoted[64], backslash[64];
    uint8_t bit[16], prefix[16], status[16], tag[16], three[16], nine[16], ten[16];
} TW_ALIGNED(64) tw_lanes;
#define TW_LANE(name) _mm512_load_si512((const void *)(tw_lanes.name))
#define TW_SHORT_LANE(name) _mm_load_si128((const __m128i *)tw_lanes.name)

static TW_UNUSED void tw_lane_tables(void)
{
    for (int i = 0; i < 128; i++) {
        int prefix = tw_kind[i] < TW_KINDS ? tw_kind[i] : TW_OTHER, word = tw_digit[i] != 255;
        tw_lanes.digit[i] = tw_digit[i];
        int kind = prefix | (i == '"' ? TW_IS_QUOTE : 0) | (i == '\\' || i == '\n' ? TW_BAD_INSIDE : 0);
        tw_lanes.kind[i] = (uint8_t)(kind | (word || i == '|' || i == '"' || i == '#' ? 0 : TW_BAD_OUTSIDE));
    }
    for (int i = 0; i < 64; i++) {
        tw_lanes.iota[i] = (uint8_t)i;
        tw_lanes.from[i] = (uint8_t)(i >> 3);
        tw_lanes.to[i] = (uint8_t)((i >> 3) + 1);
        tw_lanes.before[i] = (uint8_t)((i & 7) - 8);
        tw_lanes.corner[i] = (uint8_t)((i & 15) + (i >= 32));
        tw_lanes.edge[i] = (uint8_t)(i < 16 ? 1 : i < 32 ? 2 : 255);
        tw_lanes.eight[i] = (uint8_t)(4 + (i & 7));
    }
    for (int i = 0; i < 16; i++) tw_lanes.bit[i] = (uint8_t)(i < 8 ? 1 << i : 0);
    memset(tw_lanes.two, 2, 64);
    memset(tw_lanes.bar, '|', 64);
    memset(tw_lanes.quote, '"', 64);
    memset(tw_lanes.hash, '#', 64);
    memset(tw_lanes.inside, TW_BAD_INSIDE | TW_HIGH_BYTE, 64);
    memset(tw_lanes.outside, TW_BAD_OUTSIDE | TW_HIGH_BYTE, 64);
    memset(tw_lanes.high, TW_HIGH_BYTE, 64);
    memset(tw_lanes.backslash, '\\', 64);
    memset(tw_lanes.quoted, TW_IS_QUOTE, 64);
    memset(tw_lanes.prefix, TW_IS_PREFIX, 16);
    memset(tw_lanes.status, TW_STATUS, 16);
    memset(tw_lanes.tag, TW_TAG, 16);
    memset(tw_lanes.three, 3, 16);
    memset(tw_lanes.nine, 9, 16);
    memset(tw_lanes.ten, 10, 16);
}

/* The part of these that a loop keeps in registers. */
typedef struct {
    __m512i kinds[2], digits[2], iota, from, to, two, before, corner, edge, eight;
    __m512i bar, quote, hash, inside, outside, high, quoted;
} tw_kept;

TW_INLINE_LANES tw_kept tw_keep_lanes(size_t n)
{
    (void)n;
    return (tw_kept){
        { TW_LANE(kind), TW_LANE(kind + 64) }, { TW_LANE(digit), TW_LANE(digit + 64) }, TW_LANE(iota), TW_LANE(from),
        TW_LANE(to), TW_LANE(two), TW_LANE(before), TW_LANE(corner), TW_LANE(edge), TW_LANE(eight), TW_LANE(bar),
        TW_LANE(quote), TW_LANE(hash), TW_LANE(inside), TW_LANE(outside), TW_LANE(high), TW_LANE(quoted),
    };
}

/* table[the lower seven bits of each byte of v], of 128 bytes. */
#define TW_LOOK_UP(table, v) _mm512_permutex2var_epi8((table)[0], v, (table)[1])

/* The kinds of 64 bytes. */
TW_INLINE_LANES __m512i tw_kinds(const tw_kept *k, __m512i v)
{
    return _mm512_ternarylogic_epi32(TW_LOOK_UP(k->kinds, v), v, k->high, 0xF8);       /* kind | (v & high) */
}

/* Not 0: a byte is wrong where it stands. `inside`: the bits of strings and their opening quotes. */
TW_INLINE_LANES uint64_t tw_wrong_bytes(const tw_kept *k, __m512i kinds, uint64_t inside, uint64_t record)
{
    return _mm512_mask_test_epi8_mask(record, kinds, _mm512_mask_mov_epi8(k->outside, inside, k->inside));
}

/* The same where strings have escapes or text beyond ASCII; `before`: the window in front; bad: what must not be
 * escaped.
 * Outside of strings all is ASCII, so the record can be judged as one text. */
TW_INLINE_LANES uint64_t tw_still_wrong(const tw_kept *k, __m512i v, __m512i before, __m512i kinds, uint64_t inside,
                                        uint64_t record, uint64_t bad)
{
    uint64_t newline = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\n'));
    __m512i faults = tw_utf8_faults_512(v, before);
    return ((newline | bad) & record) | _mm512_mask_test_epi8_mask(record & ~inside, kinds, k->outside) |
           _mm512_mask_test_epi8_mask(record, faults, faults);
}

/* The bytes at these places of a window of 64 bytes, or of `two` (a constant). */
TW_INLINE_LANES __m512i tw_pick(__m512i places, __m512i v, __m512i w, int two)
{
    return two ? _mm512_permutex2var_epi8(v, places, w) : _mm512_permutexvar_epi8(places, v);
}

/* Eight numbers of at most eight digits, which stand at the upper end of eight bytes each, as values. */
TW_INLINE_LANES __m512i tw_eight_numbers(__m512i v)
{
    v = _mm512_maddubs_epi16(v, _mm512_set1_epi16(62 | 1 << 8));
    v = _mm512_madd_epi16(v, _mm512_set1_epi32(3844 | 1 << 16));
    return _mm512_add_epi64(_mm512_mul_epu32(v, _mm512_set1_epi64(3844 * 3844)), _mm512_srli_epi64(v, 32));
}

/* The numbers of eight fields, from the separator at places[first] on. */
TW_INLINE_LANES __m512i tw_numbers_lanes(const tw_kept *k, __m512i places, int first, __m512i digits, __m512i more,
                                         int two, int wide)
{
    __m512i from = k->from, to = k->to;
    if (first) {
        from = _mm512_add_epi8(from, _mm512_set1_epi8((char)first));
        to = _mm512_add_epi8(to, _mm512_set1_epi8((char)first));
    }
    /* Eight bytes for each field, in front of the next separator; those behind its prefix are its digits. */
    __m512i begin = _mm512_add_epi8(_mm512_permutexvar_epi8(from, places), k->two);
    __m512i place = _mm512_add_epi8(_mm512_permutexvar_epi8(to, places), k->before);
    __mmask64 here = _mm512_cmpge_epi8_mask(place, begin);
    __m512i numbers = tw_eight_numbers(_mm512_maskz_mov_epi8(here, tw_pick(place, digits, more, two)));
    if (wide) {                              /* what stands in front of eight digits */
        const long long eight = 62ll * 62 * 62 * 62 * 62 * 62 * 62 * 62;
        place = _mm512_sub_epi8(place, _mm512_set1_epi8(8));
        here = _mm512_cmpge_epi8_mask(place, begin);
        __m512i upper = tw_eight_numbers(_mm512_maskz_mov_epi8(here, tw_pick(place, digits, more, two)));
        numbers = _mm512_add_epi64(numbers, _mm512_mullo_epi64(upper, _mm512_set1_epi64(eight)));
    }
    return numbers;
}

/* The facts of a record before it is stored: places: of the separators, from that behind the frame on, and of the
 * '#', a byte each; slots: by field its slot, TW_OTHER behind the last; status, tag: the bit of that field; count: fields
 * behind the frame; length: bytes; wide: an integer has more than eight digits. */
typedef struct {
    __m512i v, w, places;
    __m128i slots;
    uint32_t status, tag, count, present, length;
    int wide;
    tw_bits escapes;                         /* where a backslash is */
} tw_laid;

/* Which texts have an escape: TW_STATUS_ESCAPED, TW_TAG_ESCAPED. */
TW_INLINE_LANES uint32_t tw_escaped_texts(const tw_laid *f)
{
    uint8_t places[32];
    _mm_storeu_si128((__m128i *)places, _mm512_castsi512_si128(f->places));
    uint32_t field[2] = { _tzcnt_u32(f->status) & 15, _tzcnt_u32(f->tag) & 15 }, escaped = 0;
    for (int i = 0; i < 2; i++) {
        tw_bits text = ((tw_bits)1 << places[field[i] + 1]) - ((tw_bits)1 << places[field[i]]);
        if ((f->present >> (i ? TW_TAG : TW_STATUS)) & 1 && f->escapes & text)
            escaped |= i ? TW_TAG_ESCAPED : TW_STATUS_ESCAPED;
    }
    return escaped;
}

/* Row n. With `all` (a constant) every column is wanted. */
TW_INLINE_LANES void tw_store_lanes(const tw_kept *k, const tw_columns *restrict c, const uint8_t *s, size_t at,
                                    int64_t base, int64_t line, const tw_laid *f, int two, size_t n, int all,
                                    uint32_t wanted, int rare)
{
    if (all || c->offset) c->offset[n] = base + (int64_t)at;
    if (all || c->length) c->length[n] = (int64_t)f->length;
    if (all || c->line) c->line[n] = line;
    uint32_t escaped = rare && f->escapes ? tw_escaped_texts(f) : 0;
    if (all || c->present) c->present[n] = (uint16_t)(f->present | TW_FRAME_KNOWN | escaped);
    if (all || c->act) c->act[n] = tw_digit[s[at + 2]];
    if (all || c->frame) c->frame[n] = tw_digit[s[at + 5]];
    if (all || wanted & (TW_WANTED_HEAD | TW_WANTED_INTS)) {
        __m512i digits = TW_LOOK_UP(k->digits, f->v), more = two ? TW_LOOK_UP(k->digits, f->w) : digits;
        __m512i numbers = tw_numbers_lanes(k, f->places, 0, digits, more, two, f->wide);
        __m256i heads = _mm512_castsi512_si256(numbers);
        uint64_t number[8];
        if (all || wanted & TW_WANTED_HEAD) {
            _mm256_storeu_si256((__m256i *)number, heads);
            for (int i = 0; i < 4; i++)
                if (all || c->head[TW_CONV + i]) c->head[TW_CONV + i][n] = number[i];
        }
        if (all || wanted & TW_WANTED_INTS) {
            /* By slot, in 64 bits each, its field: that of the eight from the fourth on which is it, or the twelfth. */
            __m512i others = _mm512_setzero_si512();
            __m512i field = _mm512_broadcastq_epi64(_mm_bsrli_si128(f->slots, 4));
            field = _mm512_sad_epu8(_mm512_maskz_mov_epi8(_mm512_cmpeq_epi8_mask(field, k->from), k->eight), others);
            if (f->count > 8) {
                __m512i last = _mm512_broadcastb_epi8(_mm_bsrli_si128(f->slots, 12));
                field = _mm512_mask_mov_epi64(field, _mm512_cmpeq_epi64_mask(last, k->from), _mm512_set1_epi64(12));
                others = tw_numbers_lanes(k, f->places, 8, digits, more, two, f->wide);
            }
            numbers = _mm512_maskz_permutex2var_epi64((__mmask8)f->present, numbers, field, others);
            _mm512_storeu_si512(number, numbers);
            for (int i = 0; i < 8; i++)
                if (i != TW_STATUS && (all || c->ints[i])) c->ints[i][n] = number[i];
        }
    }
    if (all || wanted & TW_WANTED_TEXTS) {
        uint8_t places[32];
        _mm_storeu_si128((__m128i *)places, _mm512_castsi512_si128(f->places));
        uint32_t field[2] = { _tzcnt_u32(f->status) & 15, _tzcnt_u32(f->tag) & 15 };
        for (int i = 0; i < 2; i++) {
            if (!all && !c->text_offset[i]) continue;
            int64_t here = -(int64_t)(f->present >> (i ? TW_TAG : TW_STATUS) & 1), bar = places[field[i]];
            c->text_offset[i][n] = ((int64_t)at + bar + 3) & here;
            c->text_length[i][n] = (places[field[i] + 1] - bar - 4) & here;
        }
    }
}

/* The fields of a record of which the places are known, with bytes of these kinds and so many quotes. Not 0: something is
 * wrong. */
TW_INLINE_LANES uint32_t tw_lay_out(const tw_kept *k, const uint8_t *s, tw_laid *f, __m512i kinds, __m512i others,
                                    uint32_t quotes, int two)
{
    const uint32_t header = TW_C | TW_S << 8 | TW_D << 16 | (uint32_t)TW_T << 24;
    /* Of each field the prefix, the first byte behind it and the last one, in 16 bytes each. */
    __m512i edges = _mm512_add_epi8(_mm512_permutexvar_epi8(k->corner, f->places), k->edge);
    edges = tw_pick(edges, kinds, others, two);
    __m128i slots = _mm_and_si128(_mm512_castsi512_si128(edges), TW_SHORT_LANE(prefix));
    uint64_t quoted = _mm512_test_epi8_mask(edges, k->quoted);
    uint32_t live = (1u << f->count) - 16, numbers = live | 15;
    uint32_t tag = _mm_mask_cmpeq_epi8_mask((__mmask16)live, slots, TW_SHORT_LANE(tag));
    uint32_t texts = tag | _mm_mask_cmpeq_epi8_mask((__mmask16)live, slots, TW_SHORT_LANE(status));
    __m128i bits = _mm_sad_epu8(_mm_maskz_shuffle_epi8((__mmask16)live, TW_SHORT_LANE(bit), slots),
                                _mm_setzero_si128());
    /* A sum: of fewer bits than there are fields where a slot appears twice. */
    f->present = (uint32_t)(_mm_cvtsi128_si32(bits) + _mm_extract_epi16(bits, 4)) | (uint32_t)(tag != 0) << TW_TAG;
    f->slots = _mm_mask_mov_epi8(TW_SHORT_LANE(prefix), (__mmask16)live, slots);
    f->status = texts ^ tag;
    f->tag = tag;
    uint32_t wrong = (uint32_t)_mm_cvtsi128_si32(slots) ^ header;
    wrong |= (uint32_t)_mm_popcnt_u32(f->present) ^ (f->count - 4);
    wrong |= _mm_mask_cmpgt_epi8_mask((__mmask16)live, slots, TW_SHORT_LANE(tag));
    wrong |= (tw_digit[s[2]] > TW_MAX_ACT) | (tw_digit[s[5]] > TW_MAX_FRAME);
    /* Texts begin and end with a quote, and there are no others. An integer has one digit to ten. */
    wrong |= (((uint32_t)(quoted >> 16) & (uint32_t)(quoted >> 32) & 0xFFFF) ^ texts) & numbers;
    wrong |= quotes ^ 2 * (uint32_t)_mm_popcnt_u32(texts);
    __m128i places = _mm512_castsi512_si128(f->places), lengths = _mm_sub_epi8(_mm_bsrli_si128(places, 1), places);
    numbers ^= texts;
    __m128i above = _mm_sub_epi8(lengths, TW_SHORT_LANE(three));
    wrong |= _mm_mask_cmpgt_epu8_mask((__mmask16)numbers, above, TW_SHORT_LANE(nine));
    f->wide = _mm_mask_cmpgt_epu8_mask((__mmask16)numbers, lengths, TW_SHORT_LANE(ten)) != 0;
    return wrong;
}

enum { TW_LONG_RECORD = -1 };

/* Row n from the record that starts with the '@' at s[at], which is tw_usual; s[at..at + TW_READ) must be readable. Its
 * length, or 0: ask another. Nothing is stored then. rare (a constant): escapes and text beyond ASCII are read, too,
 * and TW_LONG_RECORD says that it does not end here. */
TW_INLINE_LANES uint32_t tw_lane_row(const tw_kept *k, const tw_columns *c, const uint8_t *text, size_t at,
                                     size_t limit, int64_t base, int64_t line, size_t n, int all, uint32_t wanted,
                                     int rare)
{
    const uint64_t known = (uint64_t)1 << 3;                         /* the first separator */
    const uint8_t *s = text + at;
    tw_laid f;
    f.v = _mm512_loadu_si512(s);
    uint64_t hash = _mm512_cmpeq_epi8_mask(f.v, k->hash), quote = _mm512_cmpeq_epi8_mask(f.v, k->quote);
    uint64_t backslash = rare ? _mm512_cmpeq_epi8_mask(f.v, TW_LANE(backslash)) : 0, open = 0, bad = 0;
    if (backslash) {
        uint64_t escaped = tw_escaped_bytes(backslash, &open);
        bad = escaped & ~(quote | backslash);
        quote &= ~escaped;
    }
    uint64_t stop = hash & (0 - hash), inside = tw_parity(quote);
    /* Mostly the first '#' ends the record: a guess for the branch predictor, so that the next record need not wait for
     * the strings of this one. */
    if (stop && _mm_popcnt_u64(quote & (stop - 1)) & 1) {
        stop = hash & ~inside;
        stop &= 0 - stop;
    }
    uint64_t bar = _mm512_cmpeq_epi8_mask(f.v, k->bar);
    __m512i kinds = tw_kinds(k, f.v);
    if (stop) {
        uint64_t record = (stop - 1) & ~(uint64_t)1, ends = (bar & ~inside & record) | stop;
        f.w = f.v;
        f.length = (uint32_t)_tzcnt_u64(stop) + 1;
        f.escapes = backslash & record;
        if (tw_wrong_bytes(k, kinds, inside, record) &&
            (!rare || tw_still_wrong(k, f.v, _mm512_setzero_si512(), kinds, inside, record, bad))) return 0;
        ends ^= known;
        f.count = (uint32_t)_mm_popcnt_u64(ends) - 1;
        if (f.count - 4 > TW_SLOTS || f.length > limit) return 0;
        f.places = _mm512_maskz_compress_epi8(ends, k->iota);
        if (tw_lay_out(k, s, &f, kinds, kinds, (uint32_t)_mm_popcnt_u64(quote & record), 0)) return 0;
        tw_store_lanes(k, c, text, at, base, line, &f, 0, n, all, wanted, rare);
        return f.length;
    }
    f.w = _mm512_loadu_si512(s + 64);
    uint64_t quotes = _mm512_cmpeq_epi8_mask(f.w, k->quote), worse = 0;
    uint64_t slashes = rare ? _mm512_cmpeq_epi8_mask(f.w, TW_LANE(backslash)) : 0;
    if (slashes | open) {
        uint64_t escaped = tw_escaped_bytes(slashes, &open);
        worse = escaped & ~(quotes | slashes);
        quotes &= ~escaped;
    }
    uint64_t further = tw_parity(quotes) ^ (0 - (inside >> 63));
    hash = _mm512_cmpeq_epi8_mask(f.w, k->hash);
    stop = hash & (0 - hash);
    if ((_mm_popcnt_u64(quote) + _mm_popcnt_u64(quotes & (stop - 1))) & 1) {
        stop = hash & ~further;
        stop &= 0 - stop;
    }
    if (!stop) return rare ? (uint32_t)TW_LONG_RECORD : 0;
    __m512i others = tw_kinds(k, f.w);
    uint64_t record = stop - 1, count = (uint64_t)_mm_popcnt_u64(quote) + (uint64_t)_mm_popcnt_u64(quotes & record);
    if ((tw_wrong_bytes(k, kinds, inside, ~(uint64_t)1) | tw_wrong_bytes(k, others, further, record)) &&
        (!rare || tw_still_wrong(k, f.v, _mm512_setzero_si512(), kinds, inside, ~(uint64_t)1, bad) ||
         tw_still_wrong(k, f.w, f.v, others, further, record, worse))) return 0;
    f.escapes = backslash | (tw_bits)(slashes & record) << 64;
    uint64_t low = (bar & ~inside) ^ known;
    uint64_t high = (_mm512_cmpeq_epi8_mask(f.w, k->bar) & ~further & record) | stop;
    uint32_t first = (uint32_t)_mm_popcnt_u64(low);
    f.length = (uint32_t)_tzcnt_u64(stop) + 65;
    f.count = first + (uint32_t)_mm_popcnt_u64(high) - 1;
    if (f.count - 4 > TW_SLOTS || f.length > limit) return 0;
    __m128i behind = _mm_add_epi8(_mm512_castsi512_si128(_mm512_maskz_compress_epi8(high, k->iota)),
                                  _mm_set1_epi8(64));
    behind = _mm_shuffle_epi8(behind, _mm_sub_epi8(_mm512_castsi512_si128(k->iota), _mm_set1_epi8((char)first)));
    __m128i before = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(low, k->iota));
    f.places = _mm512_zextsi128_si512(_mm_or_si128(behind, before));
    if (tw_lay_out(k, s, &f, kinds, others, (uint32_t)count, 1)) return 0;
    tw_store_lanes(k, c, text, at, base, line, &f, 1, n, all, wanted, rare);
    return f.length;
}

/* As tw_row_avx2, where it can. */
TW_INLINE_LANES uint32_t tw_row_lanes(const tw_columns *c, const uint8_t *s, size_t at, size_t limit, int64_t base,
                                      int64_t line, size_t n, tw_kept *kept, int all, uint32_t wanted)
{
    return tw_lane_row(kept, c, s, at, limit, base, line, n, all, wanted, 0);
}

/* Row n from the record at s[at], of any shape: one in the usual order with escapes or text beyond ASCII here, any other by
 * AVX2. */
TW_INLINE_LANES uint32_t tw_any_row_lanes(const tw_columns *c, const uint8_t *text, size_t at, size_t size, size_t limit,
                                          int64_t base, int64_t line, size_t n, const tw_kept *k, int all, uint32_t wanted,
                                          int keep)
{
    __m512i v = _mm512_loadu_si512(text + at);
    if (tw_usual(text + at) && (_mm512_movepi8_mask(v) | _mm512_cmpeq_epi8_mask(v, TW_LANE(backslash)))) {
        uint32_t length = tw_lane_row(k, c, text, at, limit, base, line, n, all, wanted, 1);
        if (length && length != (uint32_t)TW_LONG_RECORD) return length;
    }
    return tw_any_row_apart(c, text, at, size, limit, base, line, n, keep);
}
#endif

#endif
