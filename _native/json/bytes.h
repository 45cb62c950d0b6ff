/* Reads the inside of JSON strings: runs of plain characters, escapes and UTF-8, one unit a character. */
#ifndef TURNWIRE_JSON_BYTES_H
#define TURNWIRE_JSON_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/portable.h"

/* The end of the run of plain ASCII (no quote, backslash, control, non-ASCII byte) at p. */
static inline const unsigned char *turnwire_plain(const unsigned char *p, const unsigned char *end) {
    const uint64_t ones = 0x0101010101010101ULL, high = 0x8080808080808080ULL;
#ifdef TW_SSE2
    const __m128i quote16 = _mm_set1_epi8('"'), slash16 = _mm_set1_epi8('\\'), space16 = _mm_set1_epi8(0x20);
    while (end - p >= 16) {
        __m128i word = _mm_loadu_si128((const __m128i *)p);
        /* As signed numbers, control characters and all bytes from 0x80 on are below 0x20. */
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(word, quote16), _mm_cmpeq_epi8(word, slash16)),
                                   _mm_cmplt_epi8(word, space16));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask) return p + tw_low_zeros_32(mask);
        p += 16;
    }
#endif
    while (end - p >= 8) {
        uint64_t word, quote, slash, hit;
        memcpy(&word, p, 8);
        quote = word ^ (ones * '"');
        slash = word ^ (ones * '\\');
        hit = (word | ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word)) & high;
        if (hit) break;
        p += 8;
    }
    while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\') p++;
    return p;
}

/* The value of four hex digits that are known to be some. */
static inline uint32_t turnwire_hex(const unsigned char *p) {
    uint32_t code = 0;
    for (int k = 0; k < 4; k++) code = code << 4 | (uint32_t)(p[k] <= '9' ? p[k] - '0' : (p[k] | 32) - 'a' + 10);
    return code;
}

/* Writes what the inside [p, end) of a judged JSON string says into units that are known to hold it. */
#define TURNWIRE_PUT(NAME, UNIT)                                                                                    \
    static void NAME(UNIT *out, const unsigned char *p, const unsigned char *end) {                                  \
        while (p < end) {                                                                                            \
            unsigned char c = *p;                                                                                    \
            if (c < 0x80 && c != '\\') {                                                                             \
                const unsigned char *behind = turnwire_plain(p, end);                                                \
                for (ptrdiff_t k = 0; k < behind - p; k++) out[k] = p[k];                                            \
                out += behind - p;                                                                                   \
                p = behind;                                                                                          \
            } else if (c == '\\') {                                                                                  \
                c = p[1];                                                                                            \
                p += 2;                                                                                              \
                if (c == 'u') {                                                                                      \
                    uint32_t code = turnwire_hex(p);                                                                 \
                    p += 4;                                                                                          \
                    if (code >= 0xD800 && code <= 0xDBFF) {                                                          \
                        code = 0x10000 + ((code - 0xD800) << 10) + turnwire_hex(p + 2) - 0xDC00;                     \
                        p += 6;                                                                                      \
                    }                                                                                                \
                    *out++ = (UNIT)code;                                                                             \
                } else {                                                                                             \
                    *out++ = c == 'n' ? 10 : c == 't' ? 9 : c == 'r' ? 13 : c == 'b' ? 8 : c == 'f' ? 12 : c;        \
                }                                                                                                    \
            } else if (c < 0xE0) {                                                                                   \
                *out++ = (UNIT)((c & 0x1F) << 6 | (p[1] & 0x3F));                                                    \
                p += 2;                                                                                              \
            } else if (c < 0xF0) {                                                                                   \
                *out++ = (UNIT)((c & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F));                              \
                p += 3;                                                                                              \
            } else {                                                                                                 \
                *out++ = (UNIT)((c & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F));        \
                p += 4;                                                                                              \
            }                                                                                                        \
        }                                                                                                            \
    }

TURNWIRE_PUT(turnwire_put_1, uint8_t)
TURNWIRE_PUT(turnwire_put_2, uint16_t)
TURNWIRE_PUT(turnwire_put_4, uint32_t)

static inline void turnwire_put(int kind, void *out, const unsigned char *p, const unsigned char *end) {
    if (kind == 1) turnwire_put_1((uint8_t *)out, p, end);
    else if (kind == 2) turnwire_put_2((uint16_t *)out, p, end);
    else turnwire_put_4((uint32_t *)out, p, end);
}

#endif
