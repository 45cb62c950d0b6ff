/* Space Format on three kinds of text: UTF-8 bytes (1), and Python's strings of 16 and 32 bits a character (2, 4).
 *
 * Everything below works on spans [a, b) in units of the text. space/units.h holds the rules, once for all kinds; this
 * file holds what differs between them: white space, the sigil, and the fast search for a newline and a sigil.
 */
#ifndef TURNWIRE_SPACE_H
#define TURNWIRE_SPACE_H

#include "_native/common/utf8.h"

#define TW_SIGIL 0x2AFB

/* Issues of a header, in the order in which they are reported. */
enum {
    TW_EMPTY_HEADER = 1,
    TW_LEADING_SPACE = 2,
    TW_TRAILING_SPACE = 4,
    TW_NESTED_SIGIL = 8,
    TW_SPACE_IN_QUALIFIER = 16
};

/* The parts of a header as spans; a start of -1 says that the part is absent. */
typedef struct {
    ptrdiff_t name, name_end, type, type_end, qualifier, qualifier_end, place_end, index, text, text_end;
    int issues;
} tw_header;

/* The fence that is open, if any (count 0: none). */
typedef struct {
    size_t count;
    uint32_t mark;
} tw_fence;

/* White space as Python's str.isspace has it. */
static inline int tw_white(uint32_t c) {
    if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    if (c < 0x85) return 0;
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

/* UTF-8: how many bytes the white space at p takes (0: none there), and the white space that ends at p. */
static inline int tw_white_at_1(const uint8_t *p, const uint8_t *end) {
    if (*p < 0x80) return tw_white(*p);
    if (*p == 0xC2) return end - p >= 2 && (p[1] == 0x85 || p[1] == 0xA0) ? 2 : 0;
    if (*p < 0xE1 || *p > 0xE3 || end - p < 3) return 0;
    return tw_white((uint32_t)(*p & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F)) ? 3 : 0;
}
static inline int tw_white_before_1(const uint8_t *start, const uint8_t *p) {
    if (p[-1] < 0x80) return tw_white(p[-1]);
    if (p - start >= 2 && p[-2] == 0xC2) return tw_white_at_1(p - 2, p);
    return p - start >= 3 && p[-3] >= 0xE1 && p[-3] <= 0xE3 ? tw_white_at_1(p - 3, p) : 0;
}
static inline int tw_sigil_at_1(const uint8_t *p, const uint8_t *end) {
    return end - p >= 3 && p[0] == 0xE2 && p[1] == 0xAB && p[2] == 0xBB ? 3 : 0;
}

#define TW_WIDE(KIND, UNIT)                                                                                         \
    static inline int tw_white_at_##KIND(const UNIT *p, const UNIT *end) {                                           \
        (void)end;                                                                                                   \
        return tw_white(*p);                                                                                         \
    }                                                                                                                \
    static inline int tw_white_before_##KIND(const UNIT *start, const UNIT *p) {                                     \
        (void)start;                                                                                                 \
        return tw_white(p[-1]);                                                                                      \
    }                                                                                                                \
    static inline int tw_sigil_at_##KIND(const UNIT *p, const UNIT *end) { return p < end && *p == TW_SIGIL; }

TW_WIDE(2, uint16_t)
TW_WIDE(4, uint32_t)

/* The first i in [from, n) with a sigil at i behind a newline, or n. from >= 1. The AVX paths hand the last few
 * units down to the scalar one; nothing outside [from - 1, n) is read. */
#define TW_SCALAR_NEXT(KIND, UNIT)                                                                                  \
    static size_t tw_next_scalar_##KIND(const UNIT *d, size_t from, size_t n) {                                      \
        for (size_t i = from; i < n; i++)                                                                            \
            if (d[i - 1] == '\n' && tw_sigil_at_##KIND(d + i, d + n)) return i;                                      \
        return n;                                                                                                    \
    }

TW_SCALAR_NEXT(1, uint8_t)
TW_SCALAR_NEXT(2, uint16_t)
TW_SCALAR_NEXT(4, uint32_t)

/* Whether [a, b) holds a lone surrogate. Whole blocks are counted without a branch, so that compilers vectorise. */
#define TW_SURROGATES(NAME, UNIT)                                                                                   \
    static int NAME(const UNIT *d, size_t a, size_t b) {                                                             \
        UNIT found = 0;                                                                                              \
        for (; a + 256 <= b && !found; a += 256)                                                                     \
            for (size_t k = 0; k < 256; k++) found |= (UNIT)((UNIT)(d[a + k] & (UNIT)~0x7FF) == 0xD800);             \
        for (; a < b && !found; a++) found = (UNIT)((d[a] & (UNIT)~0x7FF) == 0xD800);                                \
        return found != 0;                                                                                           \
    }

TW_SURROGATES(tw_surrogates_scalar_2, uint16_t)
TW_SURROGATES(tw_surrogates_scalar_4, uint32_t)

#ifdef TW_X86

TW_TARGET("avx2") TW_SURROGATES(tw_surrogates_avx2_2, uint16_t)
TW_TARGET("avx2") TW_SURROGATES(tw_surrogates_avx2_4, uint32_t)

#define TW_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))

TW_TARGET("avx2,bmi") static size_t tw_next_avx2_1(const uint8_t *d, size_t from, size_t n) {
    const __m256i newline = _mm256_set1_epi8('\n'), lead = _mm256_set1_epi8((char)0xE2);
    size_t i = from;
    for (; i + 128 <= n; i += 128) {
        __m256i hit[4];
        for (int k = 0; k < 4; k++)
            hit[k] = _mm256_and_si256(_mm256_cmpeq_epi8(TW_LOAD(d + i + 32 * k - 1), newline),
                                      _mm256_cmpeq_epi8(TW_LOAD(d + i + 32 * k), lead));
        __m256i any = _mm256_or_si256(_mm256_or_si256(hit[0], hit[1]), _mm256_or_si256(hit[2], hit[3]));
        if (_mm256_testz_si256(any, any)) continue;
        for (int k = 0; k < 4; k++) {
            uint32_t mask = (uint32_t)_mm256_movemask_epi8(hit[k]);
            for (; mask; mask &= mask - 1) {
                size_t place = i + 32 * (size_t)k + (size_t)tw_low_zeros_32(mask);
                if (tw_sigil_at_1(d + place, d + n)) return place;
            }
        }
    }
    return tw_next_scalar_1(d, i, n);
}

/* A sigil is rare in wide text, so it alone is searched; the newline is looked at where one is found. */
#define TW_AVX2_NEXT(KIND, UNIT, LANE, STEP)                                                                        \
    TW_TARGET("avx2,bmi") static size_t tw_next_avx2_##KIND(const UNIT *d, size_t from, size_t n) {    \
        const __m256i sigil = _mm256_set1_epi##LANE(TW_SIGIL);                                                       \
        size_t i = from;                                                                                             \
        for (; i + 4 * STEP <= n; i += 4 * STEP) {                                                                   \
            __m256i hit[4];                                                                                          \
            for (int k = 0; k < 4; k++) hit[k] = _mm256_cmpeq_epi##LANE(TW_LOAD(d + i + STEP * k), sigil);            \
            __m256i any = _mm256_or_si256(_mm256_or_si256(hit[0], hit[1]), _mm256_or_si256(hit[2], hit[3]));         \
            if (_mm256_testz_si256(any, any)) continue;                                                              \
            for (int k = 0; k < 4; k++) {                                                                            \
                uint32_t mask = (uint32_t)_mm256_movemask_epi8(hit[k]);                                              \
                while (mask) {                                                                                       \
                    unsigned bit = (unsigned)tw_low_zeros_32(mask);                                                    \
                    size_t place = i + STEP * (size_t)k + bit / sizeof(UNIT);                                        \
                    if (d[place - 1] == '\n') return place;                                                          \
                    mask &= ~((uint32_t)((1u << (sizeof(UNIT) - 1) << 1) - 1) << bit);                               \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
        return tw_next_scalar_##KIND(d, i, n);                                                                       \
    }

TW_AVX2_NEXT(2, uint16_t, 16, 16)
TW_AVX2_NEXT(4, uint32_t, 32, 8)

TW_TARGET("avx512f,avx512bw,bmi") static size_t tw_next_avx512_1(const uint8_t *d, size_t from, size_t n) {
    const __m512i newline = _mm512_set1_epi8('\n'), lead = _mm512_set1_epi8((char)0xE2);
    size_t i = from;
    for (; i + 256 <= n; i += 256) {
        uint64_t hit[4];
        for (int k = 0; k < 4; k++) {
            __mmask64 lines = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(d + i + 64 * k - 1), newline);
            hit[k] = _mm512_mask_cmpeq_epi8_mask(lines, _mm512_loadu_si512(d + i + 64 * k), lead);
        }
        if (!(hit[0] | hit[1] | hit[2] | hit[3])) continue;
        for (int k = 0; k < 4; k++) {
            for (uint64_t mask = hit[k]; mask; mask &= mask - 1) {
                size_t place = i + 64 * (size_t)k + (size_t)tw_low_zeros(mask);
                if (tw_sigil_at_1(d + place, d + n)) return place;
            }
        }
    }
    return tw_next_avx2_1(d, i, n);
}

#define TW_AVX512_NEXT(KIND, UNIT, LANE, STEP)                                                                      \
    TW_TARGET("avx512f,avx512bw,bmi") static size_t tw_next_avx512_##KIND(const UNIT *d, size_t from,  \
                                                                                        size_t n) {                  \
        const __m512i sigil = _mm512_set1_epi##LANE(TW_SIGIL);                                                       \
        size_t i = from;                                                                                             \
        for (; i + 4 * STEP <= n; i += 4 * STEP) {                                                                   \
            uint32_t hit[4];                                                                                         \
            for (int k = 0; k < 4; k++)                                                                              \
                hit[k] = _mm512_cmpeq_epi##LANE##_mask(_mm512_loadu_si512(d + i + STEP * k), sigil);                  \
            if (!(hit[0] | hit[1] | hit[2] | hit[3])) continue;                                                      \
            for (int k = 0; k < 4; k++) {                                                                            \
                for (uint32_t mask = hit[k]; mask; mask &= mask - 1) {                                               \
                    size_t place = i + STEP * (size_t)k + (size_t)tw_low_zeros_32(mask);                               \
                    if (d[place - 1] == '\n') return place;                                                          \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
        return tw_next_avx2_##KIND(d, i, n);                                                                         \
    }

TW_AVX512_NEXT(2, uint16_t, 16, 32)
TW_AVX512_NEXT(4, uint32_t, 32, 16)

TW_TARGET("avx512f,avx512bw") static int tw_surrogates_avx512_2(const uint16_t *d, size_t a, size_t b) {
    const __m512i high = _mm512_set1_epi16((short)0xF800), lead = _mm512_set1_epi16((short)0xD800);
    for (; a + 128 <= b; a += 128) {
        uint32_t found = 0;
        for (int k = 0; k < 4; k++)
            found |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(_mm512_loadu_si512(d + a + 32 * k), high), lead);
        if (found) return 1;
    }
    return tw_surrogates_avx2_2(d, a, b);
}

#define TW_NEXT(KIND, UNIT)                                                                                         \
    static inline size_t tw_next_##KIND(const UNIT *d, size_t from, size_t n, int level) {                           \
        if (level == 2) return tw_next_avx512_##KIND(d, from, n);                                                    \
        return level ? tw_next_avx2_##KIND(d, from, n) : tw_next_scalar_##KIND(d, from, n);                          \
    }

#else

#define TW_NEXT(KIND, UNIT)                                                                                         \
    static inline size_t tw_next_##KIND(const UNIT *d, size_t from, size_t n, int level) {                           \
        (void)level;                                                                                                 \
        return tw_next_scalar_##KIND(d, from, n);                                                                    \
    }

#endif

TW_NEXT(1, uint8_t)
TW_NEXT(2, uint16_t)
TW_NEXT(4, uint32_t)

#define TW_JOIN_(name, kind) name##_##kind
#define TW_JOIN(name, kind) TW_JOIN_(name, kind)
#define F(name) TW_JOIN(name, KIND)

#define KIND 1
#define UNIT uint8_t
#include "units.h"
#undef KIND
#undef UNIT
#define KIND 2
#define UNIT uint16_t
#include "units.h"
#undef KIND
#undef UNIT
#define KIND 4
#define UNIT uint32_t
#include "units.h"
#undef KIND
#undef UNIT
#undef F

/* The same functions for a text whose kind is known at run time. */
#define TW_ANY(RESULT, NAME, PARAMETERS, ...)                                                                       \
    static inline RESULT NAME(int kind, const void *d, TW_STRIP PARAMETERS) {                                        \
        if (kind == 1) return NAME##_1((const uint8_t *)d, __VA_ARGS__);                                             \
        if (kind == 2) return NAME##_2((const uint16_t *)d, __VA_ARGS__);                                            \
        return NAME##_4((const uint32_t *)d, __VA_ARGS__);                                                           \
    }
#define TW_STRIP(...) __VA_ARGS__

TW_ANY(size_t, tw_next, (size_t from, size_t n, int level), from, n, level)
TW_ANY(size_t, tw_next_outside, (size_t from, size_t n, tw_fence *fence), from, n, fence)
TW_ANY(size_t, tw_line_end, (size_t from, size_t n), from, n)
TW_ANY(ptrdiff_t, tw_judge, (size_t a, size_t b, int *empty), a, b, empty)
TW_ANY(size_t, tw_content_end, (size_t a, size_t b), a, b)

static inline void tw_split(int kind, const void *d, size_t a, size_t b, tw_header *header) {
    if (kind == 1) tw_split_1((const uint8_t *)d, a, b, header);
    else if (kind == 2) tw_split_2((const uint16_t *)d, a, b, header);
    else tw_split_4((const uint32_t *)d, a, b, header);
}

static inline int tw_is_return(int kind, const void *d, size_t i) {
    if (kind == 1) return ((const uint8_t *)d)[i] == '\r';
    if (kind == 2) return ((const uint16_t *)d)[i] == '\r';
    return ((const uint32_t *)d)[i] == '\r';
}

static inline int tw_sigil_at(int kind, const void *d, size_t i, size_t n) {
    if (kind == 1) return tw_sigil_at_1((const uint8_t *)d + i, (const uint8_t *)d + n);
    if (kind == 2) return tw_sigil_at_2((const uint16_t *)d + i, (const uint16_t *)d + n);
    return tw_sigil_at_4((const uint32_t *)d + i, (const uint32_t *)d + n);
}

/* How many units a byte order mark at the start takes. */
static inline size_t tw_mark(int kind, const void *d, size_t n) {
    if (kind == 1) return n >= 3 && memcmp(d, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    if (kind == 2) return n && *(const uint16_t *)d == 0xFEFF;
    return n && *(const uint32_t *)d == 0xFEFF;
}

/* Whether the units [a, b) have no UTF-8 form (kinds 2, 4) or are none (kind 1, where both ends must be boundaries of
 * characters). */
static inline int tw_damaged(int kind, const void *d, size_t a, size_t b, int level) {
    if (kind == 1) return !tw_utf8_valid((const uint8_t *)d + a, b - a, level);
#ifdef TW_X86
    if (level == 2 && kind == 2) return tw_surrogates_avx512_2((const uint16_t *)d, a, b);
    if (level && kind == 2) return tw_surrogates_avx2_2((const uint16_t *)d, a, b);
    if (level) return tw_surrogates_avx2_4((const uint32_t *)d, a, b);
#endif
    return kind == 2 ? tw_surrogates_scalar_2((const uint16_t *)d, a, b)
                     : tw_surrogates_scalar_4((const uint32_t *)d, a, b);
}

/* The last boundary of a character at or before b, no more than three units back. */
static inline size_t tw_boundary(int kind, const void *d, size_t b, size_t n) {
    if (kind != 1 || b >= n) return b < n ? b : n;
    for (int k = 0; k < 3 && b && (((const uint8_t *)d)[b] & 0xC0) == 0x80; k++) b--;
    return b;
}

#endif
