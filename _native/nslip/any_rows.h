/* The good records of a log that are not of the usual shape, into one row of columns, with AVX2: the fields in any order, the
 * header's too, escapes, text beyond ASCII, texts of any length, leading zeros, integers of eleven digits, and, where they are
 * kept, one unknown slot and unknown frames. Masks of 64 bytes at a time, then one loop over the fields without a branch for
 * their kinds. Accepts a part of what tw_nslip_parse accepts and nothing else. */
#ifndef TURNWIRE_NSLIP_ANY_ROWS_H
#define TURNWIRE_NSLIP_ANY_ROWS_H

#include "_native/common/utf8.h"
#include "rows.h"
#include "simd.h"

#ifdef TW_X86
/* What is known of such a record. Field i begins with the separator at place[i] and has the number number[i]; field: by kind
 * which one it is, or TW_NO_FIELD; seen: a bit for each kind; escaped: not 0 where there is a backslash. */
enum { TW_NO_FIELD = TW_KINDS, TW_AT_ONCE = 12 };
typedef struct {
    uint64_t number[TW_KINDS + 1];
    uint32_t place[1 + TW_KINDS + 64 + TW_AT_ONCE];
    uint8_t field[TW_KINDS + 1];
    uint32_t fields, seen, length;
    uint64_t escaped;
} tw_any;

/* Of 64 bytes: where a backslash is, and a byte over 127. */
TW_INLINE_AVX2 void tw_specials_of(const uint8_t *s, uint64_t *backslash, uint64_t *high)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)s), w = _mm256_loadu_si256((const __m256i *)(s + 32));
    const __m256i sign = _mm256_set1_epi8('\\');
    *high = (uint32_t)_mm256_movemask_epi8(v) | (uint64_t)(uint32_t)_mm256_movemask_epi8(w) << 32;
    *backslash = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, sign)) |
                 (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(w, sign)) << 32;
}

/* Of 64 bytes: a bit for each of which UTF-8 says that it is wrong; `first`: nothing stands in front of them. */
TW_INLINE_AVX2 uint64_t tw_utf8_wrong(const uint8_t *s, int first)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)s), w = _mm256_loadu_si256((const __m256i *)(s + 32));
    __m256i before = first ? _mm256_setzero_si256() : _mm256_loadu_si256((const __m256i *)(s - 32));
    const __m256i zero = _mm256_setzero_si256();
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(tw_utf8_faults(v, before), zero));
    uint32_t upper = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(tw_utf8_faults(w, v), zero));
    return ~(low | (uint64_t)upper << 32);
}

/* The places of the bits of `bits`, plus `base`, as tw_places: at least TW_AT_ONCE entries are written. */
TW_INLINE_AVX2 uint32_t tw_any_bits(uint64_t bits, uint32_t base, uint32_t *place)
{
    uint32_t count = (uint32_t)_mm_popcnt_u64(bits);
    for (uint32_t i = 0; i < TW_AT_ONCE; i++, bits = _blsr_u64(bits)) place[i] = base + (uint32_t)_tzcnt_u64(bits);
    for (uint32_t i = TW_AT_ONCE; i < count; i++, bits = _blsr_u64(bits)) place[i] = base + (uint32_t)_tzcnt_u64(bits);
    return count;
}

/* The separators of the record at s[0], up to its '#', and f->length; s[0..room) may be read. How many quotes delimit
 * strings, or UINT32_MAX: ask another. */
TW_INLINE_AVX2 uint32_t tw_any_places(const uint8_t *s, size_t room, tw_any *f)
{
    uint64_t carried = 0, open = 0, stop = 0, top = 0, outer = ~(uint64_t)1;
    uint32_t count = 1, quotes = 0;
    f->place[0] = 0;
    f->escaped = 0;
    for (size_t at = 0; !stop; at += 64, outer = ~(uint64_t)0) {
        uint64_t backslash = 0, escaped = 0, before = top;
        tw_masks m;
        if (room - at < 64) return UINT32_MAX;
        tw_masks_of(s + at, &m);
        uint64_t quote = m.quote;
        top = 0;
        if (m.special | open) {
            tw_specials_of(s + at, &backslash, &top);
            escaped = tw_escaped_bytes(backslash, &open);
            quote &= ~escaped;
        }
        uint64_t inside = tw_parity(quote) ^ carried;
        stop = m.hash & ~inside;
        stop &= 0 - stop;
        uint64_t record = (stop - 1) & outer, newline = m.special & ~(backslash | top);
        if (((~(m.word | m.bar | quote) & ~inside) | (newline & inside) | (escaped & ~(m.quote | backslash))) & record)
            return UINT32_MAX;
        /* Outside of strings all is ASCII, so the record can be judged as one text. */
        if ((top | before) && tw_utf8_wrong(s + at, !at) & record) return UINT32_MAX;
        carried = 0 - (inside >> 63);
        f->escaped |= backslash & record;
        quotes += (uint32_t)_mm_popcnt_u64(quote & record);
        count += tw_any_bits((m.bar & ~inside & record) | stop, (uint32_t)at, f->place + count);
        if (count > TW_KINDS + 1) return UINT32_MAX;
    }
    f->fields = count - 1;
    f->length = f->place[f->fields] + 1;
    return quotes;
}

/* An integer of eleven digits in front of `end`: 1 and *number, or 0 where it is too large. */
static TW_APART int tw_eleven_digits(const uint8_t *end, uint64_t *number)
{
    uint64_t value = 0;
    for (int i = -11; i < 0; i++) {
        uint64_t digit = tw_digit[end[i]];
        if (value > (UINT64_MAX - digit) / 62) return 0;
        value = value * 62 + digit;
    }
    *number = value;
    return 1;
}

/* The numbers in front of `first` and of `second`, as tw_number, into number[0] and number[1]. */
TW_INLINE_AVX2 void tw_two_numbers(const uint8_t *first, uint32_t digits, const uint8_t *second, uint32_t more,
                                   uint64_t *number)
{
    const uint64_t four = 62 * 62 * 62 * 62;
    const __m256i shifts = _mm256_setr_epi8(TW_SHIFTS, TW_SHIFTS);
    const uint8_t *masks = tw_last_bytes, *other = tw_last_bytes;
    masks += digits < 16 ? digits : 16;
    other += more < 16 ? more : 16;
    __m256i v = _mm256_loadu2_m128i((const __m128i *)(second - 16), (const __m128i *)(first - 16));
    __m256i kept = _mm256_loadu2_m128i((const __m128i *)other, (const __m128i *)masks);
    v = _mm256_add_epi8(v, _mm256_shuffle_epi8(shifts, _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15))));
    v = _mm256_maddubs_epi16(_mm256_and_si256(v, kept), _mm256_set1_epi16(62 | 1 << 8));
    v = _mm256_madd_epi16(v, _mm256_set1_epi32(3844 | 1 << 16));
    v = _mm256_add_epi64(_mm256_mul_epu32(v, _mm256_set1_epi64x((long long)four)), _mm256_srli_epi64(v, 32));
    uint64_t upper = (uint64_t)_mm256_extract_epi64(v, 0), lower = (uint64_t)_mm256_extract_epi64(v, 1);
    number[0] = upper * (four * four) + lower;
    upper = (uint64_t)_mm256_extract_epi64(v, 2);
    lower = (uint64_t)_mm256_extract_epi64(v, 3);
    number[1] = upper * (four * four) + lower;
}

/* A bit for each field with fewer than `least` bytes, its separator among them; of what is behind the last, any. */
TW_INLINE_AVX2 uint32_t tw_shorter(const tw_any *f, int least)
{
    const __m256i limit = _mm256_set1_epi32(least);
    uint32_t bits = 0;
    for (int i = 0; i < TW_KINDS; i += 8) {
        __m256i begin = _mm256_loadu_si256((const __m256i *)(f->place + i));
        __m256i end = _mm256_loadu_si256((const __m256i *)(f->place + i + 1));
        __m256i shorter = _mm256_cmpgt_epi32(limit, _mm256_sub_epi32(end, begin));
        bits |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(shorter)) << i;
    }
    return bits;
}

/* Whether a field has a string, as its first and last byte say. */
static inline uint32_t tw_any_quoted(const uint8_t *s, const tw_any *f, uint32_t field)
{
    return (s[f->place[field] + 2] == '"') & (s[f->place[field + 1] - 1] == '"');
}

/* The good record that starts with the '@' at s[0], or perhaps 0: ask another. s[-TW_BEFORE..room) may be read, TW_READ bytes
 * at least. Its length. */
TW_INLINE_AVX2 uint32_t tw_any_record(const uint8_t *s, size_t room, int keep, tw_any *f)
{
    const uint32_t headers = ((1u << TW_HEADERS) - 1) << TW_C;
    if (tw_kind[s[1]] - (unsigned)TW_C >= TW_HEADERS || tw_digit[s[2]] == 255) return 0;
    uint32_t quotes = tw_any_places(s, room, f), fields = f->fields, seen = 0, texts = 0;
    if (quotes == UINT32_MAX || fields < TW_HEADERS || fields > TW_KINDS) return 0;
    memset(f->field, TW_NO_FIELD, sizeof f->field);
    for (uint32_t i = 0; i < fields; i++) {
        uint32_t kind = tw_kind[s[f->place[i] + 1]];
        seen |= 1u << kind;
        f->field[kind] = (uint8_t)i;
    }
    /* A kind that appears twice sets one bit for two fields. */
    f->seen = seen;
    if (((uint32_t)_mm_popcnt_u32(seen) ^ fields) | (~seen & headers) | (seen >> TW_KINDS) |
        (keep ? 0 : seen >> TW_OTHER)) return 0;
    f->place[fields + 1] = f->place[fields];
    for (uint32_t i = 0; i < fields; i += 2) {
        const uint32_t *place = f->place + i;
        tw_two_numbers(s + place[1], place[1] - place[0] - 2, s + place[2], place[2] - place[1] - 2, f->number + i);
    }
    /* Texts begin and end with a quote, and there are no others. An integer has one digit to eleven. */
    for (int i = 0; i < 3; i++) {
        static const uint8_t kinds[3] = { TW_STATUS, TW_TAG, TW_OTHER };
        uint32_t field = f->field[kinds[i]];
        if (field == TW_NO_FIELD) continue;
        uint32_t quoted = tw_any_quoted(s, f, field);
        if (!quoted && i < 2) return 0;
        texts |= quoted << field;
    }
    uint32_t all = (1u << fields) - 1, large = all & ~texts & ~tw_shorter(f, 13);
    if ((quotes ^ 2 * (uint32_t)_mm_popcnt_u32(texts)) | (tw_shorter(f, 3) & all)) return 0;
    for (; large; large &= large - 1) {
        uint32_t i = _tzcnt_u32(large);
        if (f->place[i + 1] - f->place[i] > 13 || !tw_eleven_digits(s + f->place[i + 1], f->number + i)) return 0;
    }
    f->number[TW_NO_FIELD] = 0;
    if (f->number[f->field[TW_A]] > TW_MAX_ACT) return 0;
    if (!keep && f->number[f->field[TW_F]] > TW_MAX_FRAME) return 0;
    return f->length;
}

/* What a row is made of: by kind its number, 0 where there is none; the texts, from the '@' on, and TW_STATUS_ESCAPED and
 * TW_TAG_ESCAPED; a bit for each kind. */
typedef struct {
    uint64_t value[TW_KINDS];
    size_t first[2], size[2];
    uint32_t seen, length, escaped;
} tw_row;

/* Row n from the record at s[at]. With `all` (a constant) every column is wanted. */
TW_ALWAYS void tw_store_any(const tw_columns *restrict c, size_t at, int64_t base, int64_t line, size_t n,
                            const tw_row *restrict r, int all)
{
    uint32_t present = r->seen & ((1u << TW_SLOTS) - 1);
    int known = r->value[TW_F] <= TW_MAX_FRAME;
    present |= known ? TW_FRAME_KNOWN : TW_KEPT;
    present |= r->escaped | ((r->seen >> TW_OTHER) & 1 ? TW_KEPT : 0);
    for (int i = 0; i < 2; i++) {
        int64_t here = -(int64_t)((present >> (i ? TW_TAG : TW_STATUS)) & 1);
        if (!all && !c->text_offset[i]) continue;
        c->text_offset[i][n] = (int64_t)(at + r->first[i]) & here;
        c->text_length[i][n] = (int64_t)r->size[i] & here;
    }
    if (all || c->offset) c->offset[n] = base + (int64_t)at;
    if (all || c->length) c->length[n] = (int64_t)r->length;
    if (all || c->line) c->line[n] = line;
    if (all || c->present) c->present[n] = (uint16_t)present;
    if (all || c->act) c->act[n] = (uint8_t)r->value[TW_A];
    if (all || c->frame) c->frame[n] = known ? (uint8_t)r->value[TW_F] : 255;
    for (int i = TW_CONV; i < TW_HEADERS; i++)
        if (all || c->head[i]) c->head[i][n] = r->value[TW_C + i - TW_CONV];
    for (int i = 0; i < TW_SLOTS; i++)
        if (all ? i != TW_STATUS && i != TW_TAG : c->ints[i] != NULL) c->ints[i][n] = r->value[i];
}

/* Row n from the record at s[at], as tw_row_avx2, for records of any shape. */
TW_INLINE_AVX2 uint32_t tw_any_row_avx2(const tw_columns *c, const uint8_t *s, size_t at, size_t size, size_t limit,
                                        int64_t base, int64_t line, size_t n, size_t *state, int all, uint32_t wanted,
                                        int keep)
{
    tw_any f;
    tw_row r;
    (void)state;
    (void)wanted;
    r.length = tw_any_record(s + at, size - at, keep, &f);
    if (!r.length || r.length > limit) return 0;
    r.seen = f.seen;
    r.escaped = 0;
    for (int i = 0; i < TW_KINDS; i++) r.value[i] = f.number[f.field[i]];
    for (int i = 0; i < 2; i++) {
        uint32_t field = f.field[i ? TW_TAG : TW_STATUS];
        r.first[i] = f.place[field] + 3;
        r.size[i] = f.place[field + 1] - f.place[field] - 4;
        if (f.escaped && field != TW_NO_FIELD && memchr(s + at + r.first[i], '\\', r.size[i]))
            r.escaped |= i ? TW_TAG_ESCAPED : TW_STATUS_ESCAPED;
    }
    tw_store_any(c, at, base, line, n, &r, all);
    return r.length;
}

/* The same, called. */
TW_AVX2 static uint32_t tw_any_row_apart(const tw_columns *c, const uint8_t *s, size_t at, size_t size, size_t limit,
                                         int64_t base, int64_t line, size_t n, int keep)
{
    return tw_any_row_avx2(c, s, at, size, limit, base, line, n, NULL, 0, 0, keep);
}
#endif

#endif
