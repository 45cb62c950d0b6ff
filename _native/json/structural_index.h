/* Looks at JSON text in blocks of 64 bytes with AVX2: finds quotes, backslashes and control characters, checks UTF-8, compares
 * bytes, and removes escapes. levels.h has the scalar forms. */
#ifndef TURNWIRE_JSON_MARKS_H
#define TURNWIRE_JSON_MARKS_H

#include "templates.h"
#include "_native/common/escapes.h"
#include "_native/common/utf8.h"

enum { TW_SCALAR, TW_USE_AVX2 };

#ifdef TW_X86
#define TW_JSON_AVX2 TW_TARGET("avx2,bmi,bmi2")

/* A bit for each byte: quotes, backslashes, control characters, bytes over 127. */
typedef struct { uint64_t quote, slash, control, high; } tw_structurals;

/* A byte makes an escape together with one backslash if it is a quote or one of / \ b f n r t. Then these two tables, looked up
 * by its low four bits and by its high four bits, have a bit in common; for any other byte they have none. */
static TW_ALIGNED(16) const uint8_t tw_simple_low[16] = { 0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1 };
static TW_ALIGNED(16) const uint8_t tw_simple_high[16] = { 0, 0, 1, 0, 0, 2, 4, 8 };

/* One byte 32 times each, filled at import: if the compiler knew these constants, it would build them anew for each string
 * instead of reading them. */
static struct { uint8_t quote[32], slash[32], space[32]; } TW_ALIGNED(32) tw_signs;
#define TW_SIGN_256(name) _mm256_load_si256((const __m256i *)tw_signs.name)

/* The state of the UTF-8 check between blocks: the last 32 bytes of the block before, and the faults so far (zero: none). */
typedef struct { __m256i before, faults; } tw_utf8_avx2;

/* The bits of the 64 bytes at p. */
TW_JSON_AVX2 TW_ALWAYS void tw_structurals_of_avx2(const uint8_t *p, tw_structurals *m)
{
    uint32_t quote[2], slash[2], control[2], high[2];
    for (int i = 0; i < 2; i++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(p + 32 * i));
        __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1F)), v);
        quote[i] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, TW_SIGN_256(quote)));
        slash[i] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, TW_SIGN_256(slash)));
        control[i] = (uint32_t)_mm256_movemask_epi8(low);
        high[i] = (uint32_t)_mm256_movemask_epi8(v);
    }
    m->quote = quote[0] | (uint64_t)quote[1] << 32;
    m->slash = slash[0] | (uint64_t)slash[1] << 32;
    m->control = control[0] | (uint64_t)control[1] << 32;
    m->high = high[0] | (uint64_t)high[1] << 32;
}

/* Which of the 64 bytes at p make an escape of two bytes with a backslash before them: a bit for each. */
TW_JSON_AVX2 TW_ALWAYS uint64_t tw_simple_avx2(const uint8_t *p)
{
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    const __m256i lows = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)tw_simple_low));
    const __m256i highs = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)tw_simple_high));
    uint32_t other[2];
    for (int i = 0; i < 2; i++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(p + 32 * i));
        __m256i both = _mm256_and_si256(
            _mm256_shuffle_epi8(lows, _mm256_and_si256(v, nibble)),
            _mm256_shuffle_epi8(highs, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble)));
        other[i] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(both, _mm256_setzero_si256()));
    }
    return ~(other[0] | (uint64_t)other[1] << 32);
}

/* The quotes among the 64 bytes at p; in *others the backslashes, control characters and bytes over 127. */
TW_JSON_AVX2 TW_ALWAYS uint64_t tw_quotes_avx2(const uint8_t *p, uint64_t *others)
{
    uint32_t quote[2], other[2];
    for (int i = 0; i < 2; i++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(p + 32 * i));
        __m256i odd = _mm256_cmpgt_epi8(TW_SIGN_256(space), v); /* signed: bytes over 127 are below zero */
        quote[i] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, TW_SIGN_256(quote)));
        other[i] = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(odd, _mm256_cmpeq_epi8(v, TW_SIGN_256(slash))));
    }
    *others = other[0] | (uint64_t)other[1] << 32;
    return quote[0] | (uint64_t)quote[1] << 32;
}

TW_JSON_AVX2 TW_ALWAYS void tw_utf8_begin_avx2(tw_utf8_avx2 *u)
{
    u->before = u->faults = _mm256_setzero_si256();
}

/* Looks at the first `size` bytes of the block at p, as if zeros stood behind them. */
TW_JSON_AVX2 TW_ALWAYS void tw_utf8_more_avx2(tw_utf8_avx2 *u, const uint8_t *p, size_t size)
{
    static const uint8_t ones[128] = {
#define TW_EIGHT 255, 255, 255, 255, 255, 255, 255, 255
        TW_EIGHT, TW_EIGHT, TW_EIGHT, TW_EIGHT, TW_EIGHT, TW_EIGHT, TW_EIGHT, TW_EIGHT
#undef TW_EIGHT
    };
    const __m256i *keep = (const __m256i *)(ones + 64 - size);
    __m256i a = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256(keep));
    __m256i b = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(p + 32)), _mm256_loadu_si256(keep + 1));
    u->faults = _mm256_or_si256(u->faults, _mm256_or_si256(tw_utf8_faults(a, u->before), tw_utf8_faults(b, a)));
    u->before = b;
}

TW_JSON_AVX2 TW_ALWAYS int tw_utf8_good_avx2(const tw_utf8_avx2 *u)
{
    return _mm256_testz_si256(u->faults, u->faults);
}

/* True if the glue of a step (all bytes from behind one value to the next, with the key between them) stands at p. */
TW_JSON_AVX2 TW_ALWAYS int tw_is_glue_avx2(const uint8_t *p, const tw_step *step)
{
    __m256i a = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)step->glue));
    uint32_t low = (uint32_t)_mm256_movemask_epi8(a), high;
    if ((uint32_t)step->mask & ~low) return 0;
    if (step->size <= 32) return 1;
    a = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(p + 32)),
                          _mm256_loadu_si256((const __m256i *)(step->glue + 32)));
    high = (uint32_t)_mm256_movemask_epi8(a);
    return !((uint32_t)(step->mask >> 32) & ~high);
}

/* True if n bytes at p and at `text` are equal. 64 more bytes may be read behind `text`. */
TW_JSON_AVX2 TW_ALWAYS int tw_is_text_avx2(const uint8_t *p, const uint8_t *text, size_t n)
{
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i same = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(p + i)),
                                         _mm256_loadu_si256((const __m256i *)(text + i)));
        if (_mm256_movemask_epi8(same) != -1) return 0;
    }
    if (i == n) return 1;
    if (n < 32) return tw_same_bytes(p, text, n);
    __m256i same = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(p + n - 32)),
                                     _mm256_loadu_si256((const __m256i *)(text + n - 32)));
    return _mm256_movemask_epi8(same) == -1;
}

/* By a mask of eight bits: the places of the bits that are set, by which a shuffle moves the bytes that are kept to the front.
 * Filled at import. */
static uint8_t tw_kept_of_eight[256][8];

/* Which of the 64 bytes at p stay when escapes are removed: all but the backslashes that begin one. *m: the bits of the block;
 * *escaped: the bytes behind such backslashes; *size: where the next block begins, 63 if the last byte begins an escape. */
TW_JSON_AVX2 TW_ALWAYS uint64_t tw_kept_avx2(const uint8_t *p, tw_structurals *m, uint64_t *escaped, size_t *size)
{
    uint64_t carried = 0;
    tw_structurals_of_avx2(p, m);
    *escaped = m->slash ? tw_escaped_bytes(m->slash, &carried) : 0;
    *size = 64 - (size_t)carried;
    return ~(m->slash & ~*escaped);
}

/* Of a block of which only the first `left` bytes count: a backslash that ends them is left to the caller. */
TW_JSON_AVX2 TW_ALWAYS void tw_part_of_block(size_t left, const tw_structurals *m, uint64_t *kept, uint64_t *escaped, size_t *size)
{
    if (left >= 64) return;
    *size = left - ((m->slash & ~*escaped) >> (left - 1) & 1);
    *kept &= ((uint64_t)1 << *size) - 1;
    *escaped &= ((uint64_t)1 << *size) - 1;
}

/* Does what tw_unescape does while blocks can be read in front of `hard`; moves *p and *out, and leaves the rest to the caller. */
TW_JSON_AVX2 static void tw_unescape_avx2(const uint8_t **p, const uint8_t *end, const uint8_t *hard, uint8_t **out)
{
    while (*p < end && hard - *p >= 64) {
        tw_structurals m;
        uint64_t escaped, kept, letters;
        size_t size;
        const uint8_t *from = *p;
        uint8_t *to = *out;
        int odd = 0;
        kept = tw_kept_avx2(from, &m, &escaped, &size);
        tw_part_of_block((size_t)(end - from), &m, &kept, &escaped, &size);
        if (!(~kept & (kept + 1))) {
            _mm256_storeu_si256((__m256i *)(void *)to, _mm256_loadu_si256((const __m256i *)(const void *)from));
            _mm256_storeu_si256((__m256i *)(void *)(to + 32), _mm256_loadu_si256((const __m256i *)(const void *)(from + 32)));
            to += size;
        } else {
#pragma GCC unroll 4
            for (int i = 0; i < 64; i += 16) {
                const uint64_t first = kept >> i & 255, second = kept >> i >> 8 & 255;
                __m128i places = _mm_loadl_epi64((const __m128i *)(const void *)tw_kept_of_eight[first]);
                places = _mm_unpacklo_epi64(places, _mm_loadl_epi64((const __m128i *)(const void *)tw_kept_of_eight[second]));
                places = _mm_add_epi8(places, _mm_set_epi64x(0x0808080808080808, 0)); /* of the second eight bytes */
                places = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(from + i)), places);
                _mm_storel_epi64((__m128i *)(void *)to, places);
                to += tw_ones_64(first);
                _mm_storel_epi64((__m128i *)(void *)to, _mm_unpackhi_epi64(places, places));
                to += tw_ones_64(second);
            }
        }
        for (letters = escaped & ~(m.quote | m.slash); letters && !odd; letters &= letters - 1) {
            const int place = tw_low_zeros(letters);
            uint8_t *said = *out + tw_ones_64(kept & (((uint64_t)1 << place) - 1));
            if ((odd = !tw_letters[from[place]])) { /* tw_unescape_one reads \u, or what is no escape */
                size = (size_t)place - 1;
                to = said;
            } else *said = tw_letters[from[place]];
        }
        *p = from + size;
        *out = to;
        if (odd) *out += tw_unescape_one(p, end, *out);
        else if (!size) return;
    }
}

/* Steps over *left bytes of a string's unescaped text, in blocks: returns the place behind them and sets *left to 0. Where a
 * block has a longer escape or cannot be read, it returns the place reached, and *left says how many are missing. */
TW_JSON_AVX2 static const uint8_t *tw_walk_avx2(const uint8_t *p, const uint8_t *end, const uint8_t *hard, size_t *left)
{
    while (p < end && hard - p >= 64) {
        tw_structurals m;
        uint64_t escaped, kept;
        size_t size, said;
        kept = tw_kept_avx2(p, &m, &escaped, &size);
        tw_part_of_block((size_t)(end - p), &m, &kept, &escaped, &size);
        if (!size || (escaped && escaped & ~tw_simple_avx2(p))) break;
        said = (size_t)tw_ones_64(kept);
        if (said > *left) {
            int place = tw_low_zeros(_pdep_u64((uint64_t)1 << *left, kept));
            *left = 0;
            return p + place - (escaped >> place & 1);
        }
        *left -= said;
        p += size;
    }
    return p;
}

#endif

/* Fills the tables above and returns the best level that this processor has, at most `allowed`. Call it before anything else
 * here. */
static int tw_best_level(int allowed)
{
    int best = TW_SCALAR;
#ifdef TW_X86
    memset(tw_signs.quote, '"', 32);
    memset(tw_signs.slash, '\\', 32);
    memset(tw_signs.space, ' ', 32);
    for (int i = 0; i < 256; i++)
        for (int bit = 0, kept = 0; bit < 8; bit++)
            if (i >> bit & 1) tw_kept_of_eight[i][kept++] = (uint8_t)bit;
    if (TW_PROCESSOR_HAS("avx2") && TW_PROCESSOR_HAS("bmi") && TW_PROCESSOR_HAS("bmi2")) best = TW_USE_AVX2;
#endif
    return best < allowed ? best : allowed;
}

#endif
