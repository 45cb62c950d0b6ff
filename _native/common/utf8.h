/* Checks that a run of bytes is valid UTF-8. Yes or no only: a decoder finds the place of the fault.
 *
 * The AVX2 path classifies every byte by three nibble tables (Keiser and Lemire, "Validating UTF-8 in less than one
 * instruction per byte", 2021). The scalar path runs anywhere.
 */
#ifndef TURNWIRE_UTF8_H
#define TURNWIRE_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "utf8_scalar.h"
#include "wide.h"

#ifdef TW_X86

/* One bit for each way in which a pair of bytes can be wrong; a pair is wrong where all three tables share a bit. */
enum {
    TW_TOO_SHORT = 1 << 0,
    TW_TOO_LONG = 1 << 1,
    TW_OVERLONG_3 = 1 << 2,
    TW_PAST_LAST = 1 << 3,
    TW_SURROGATE = 1 << 4,
    TW_OVERLONG_2 = 1 << 5,
    TW_PAST_LAST_1000 = 1 << 6,
    TW_OVERLONG_4 = 1 << 6,
    TW_TWO_CONTINUATIONS = 1 << 7,
    TW_CARRY = TW_TOO_SHORT | TW_TOO_LONG | TW_TWO_CONTINUATIONS
};

/* The three tables, one byte for each value of a nibble. */
#define TW_LARGE (TW_CARRY | TW_PAST_LAST | TW_PAST_LAST_1000)
#define TW_BOTH (TW_TOO_LONG | TW_OVERLONG_2 | TW_TWO_CONTINUATIONS)
static const uint8_t TW_FIRST_HIGH[16] = {
    TW_TOO_LONG, TW_TOO_LONG, TW_TOO_LONG, TW_TOO_LONG, TW_TOO_LONG, TW_TOO_LONG, TW_TOO_LONG, TW_TOO_LONG,
    TW_TWO_CONTINUATIONS, TW_TWO_CONTINUATIONS, TW_TWO_CONTINUATIONS, TW_TWO_CONTINUATIONS,
    TW_TOO_SHORT | TW_OVERLONG_2, TW_TOO_SHORT, TW_TOO_SHORT | TW_OVERLONG_3 | TW_SURROGATE,
    TW_TOO_SHORT | TW_PAST_LAST | TW_PAST_LAST_1000 | TW_OVERLONG_4};
static const uint8_t TW_FIRST_LOW[16] = {
    TW_CARRY | TW_OVERLONG_3 | TW_OVERLONG_2 | TW_OVERLONG_4, TW_CARRY | TW_OVERLONG_2, TW_CARRY, TW_CARRY,
    TW_CARRY | TW_PAST_LAST, TW_LARGE, TW_LARGE, TW_LARGE, TW_LARGE, TW_LARGE, TW_LARGE, TW_LARGE, TW_LARGE,
    TW_LARGE | TW_SURROGATE, TW_LARGE, TW_LARGE};
static const uint8_t TW_SECOND_HIGH[16] = {
    TW_TOO_SHORT, TW_TOO_SHORT, TW_TOO_SHORT, TW_TOO_SHORT, TW_TOO_SHORT, TW_TOO_SHORT, TW_TOO_SHORT, TW_TOO_SHORT,
    TW_BOTH | TW_OVERLONG_3 | TW_PAST_LAST_1000 | TW_OVERLONG_4, TW_BOTH | TW_OVERLONG_3 | TW_PAST_LAST,
    TW_BOTH | TW_SURROGATE | TW_PAST_LAST, TW_BOTH | TW_SURROGATE | TW_PAST_LAST, TW_TOO_SHORT, TW_TOO_SHORT,
    TW_TOO_SHORT, TW_TOO_SHORT};
/* The greatest last bytes that a block of 32 may have, or it ends inside a character. */
static const uint8_t TW_MOST[32] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 0xF0 - 1, 0xE0 - 1, 0xC0 - 1};

#define TW_TABLE(table) _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table)))

/* `now` moved up by `count` bytes, the last bytes of `before` in front. */
#define TW_BEHIND(now, before, count)                                                                               \
    _mm256_alignr_epi8(now, _mm256_permute2x128_si256(before, now, 0x21), 16 - (count))

TW_TARGET("avx2") static inline __m256i tw_utf8_faults(__m256i now, __m256i before) {
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    const __m256i first_high = TW_TABLE(TW_FIRST_HIGH), first_low = TW_TABLE(TW_FIRST_LOW);
    const __m256i second_high = TW_TABLE(TW_SECOND_HIGH);
    __m256i one = TW_BEHIND(now, before, 1), two = TW_BEHIND(now, before, 2), three = TW_BEHIND(now, before, 3);
    __m256i pair = _mm256_and_si256(
        _mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(one, 4), nibble)),
        _mm256_and_si256(_mm256_shuffle_epi8(first_low, _mm256_and_si256(one, nibble)),
                         _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(now, 4), nibble))));
    __m256i third = _mm256_subs_epu8(two, _mm256_set1_epi8((char)(0xE0 - 0x80)));
    __m256i fourth = _mm256_subs_epu8(three, _mm256_set1_epi8((char)(0xF0 - 0x80)));
    __m256i must = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(must, pair);
}

/* Nonzero where a block ends inside a character. */
TW_TARGET("avx2") static inline __m256i tw_utf8_open(__m256i block) {
    const __m256i most = _mm256_loadu_si256((const __m256i *)TW_MOST);
    return _mm256_subs_epu8(block, most);
}

TW_TARGET("avx2") static int tw_utf8_valid_avx2(const uint8_t *p, size_t n) {
    __m256i faults = _mm256_setzero_si256(), before = faults, open = faults;
    size_t i = 0;
    /* One branch for four blocks: in text of mixed languages a branch for each would be guessed wrong half the time. */
    for (; i + 128 <= n; i += 128) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(p + i)), b = _mm256_loadu_si256((const __m256i *)(p + i + 32));
        __m256i c = _mm256_loadu_si256((const __m256i *)(p + i + 64)), d = _mm256_loadu_si256((const __m256i *)(p + i + 96));
        if (!_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)))) {
            faults = _mm256_or_si256(faults, open);
            before = open = _mm256_setzero_si256();
            continue;
        }
        __m256i first = _mm256_or_si256(tw_utf8_faults(a, before), tw_utf8_faults(b, a));
        __m256i second = _mm256_or_si256(tw_utf8_faults(c, b), tw_utf8_faults(d, c));
        faults = _mm256_or_si256(faults, _mm256_or_si256(first, second));
        before = d;
        open = tw_utf8_open(d);
    }
    for (; i + 64 <= n; i += 64) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(p + i)), b = _mm256_loadu_si256((const __m256i *)(p + i + 32));
        faults = _mm256_or_si256(faults, _mm256_or_si256(tw_utf8_faults(a, before), tw_utf8_faults(b, a)));
        before = b;
    }
    uint8_t last[64] = {0};
    memcpy(last, p + i, n - i);
    __m256i a = _mm256_loadu_si256((const __m256i *)last);
    __m256i b = _mm256_loadu_si256((const __m256i *)(last + 32));
    faults = _mm256_or_si256(faults, tw_utf8_faults(a, before));
    faults = _mm256_or_si256(faults, tw_utf8_faults(b, a));
    faults = _mm256_or_si256(faults, tw_utf8_open(b));
    return _mm256_testz_si256(faults, faults);
}

#endif /* TW_X86 */

/* Which instructions this machine has: 0 none of interest, 1 AVX2. */
static inline int tw_level(void) {
#ifdef TW_X86
    if (TW_PROCESSOR_HAS("avx2") && TW_PROCESSOR_HAS("bmi")) return 1;
#endif
    return 0;
}

/* 1 when the whole run is valid UTF-8. Reads no byte outside of it. */
static inline int tw_utf8_valid(const uint8_t *p, size_t n, int level) {
#ifdef TW_X86
    if (level && n >= 32) return tw_utf8_valid_avx2(p, n);
#else
    (void)level;
#endif
    return tw_utf8_valid_scalar(p, n);
}

#endif
