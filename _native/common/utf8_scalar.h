/* Checks without AVX that a run of bytes is valid UTF-8, by table 3-7 of the Unicode standard, ASCII eight bytes at a time. */
#ifndef TURNWIRE_UTF8_SCALAR_H
#define TURNWIRE_UTF8_SCALAR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "portable.h"

/* True if all bytes are ASCII. */
static inline int tw_is_ascii(const uint8_t *text, size_t size) {
    uint64_t word, found = 0;
#ifdef TW_SSE2
    for (; size >= 64; size -= 64, text += 64) {
        const __m128i *p = (const __m128i *)(const void *)text;
        __m128i one = _mm_or_si128(_mm_loadu_si128(p), _mm_loadu_si128(p + 1));
        __m128i two = _mm_or_si128(_mm_loadu_si128(p + 2), _mm_loadu_si128(p + 3));
        if (_mm_movemask_epi8(_mm_or_si128(one, two))) return 0;
    }
#endif
    for (; size >= 8; size -= 8, text += 8) {
        memcpy(&word, text, 8);
        found |= word;
    }
    while (size--) found |= *text++;
    return (found & 0x8080808080808080ULL) == 0;
}

/* Bytes of the character that is not ASCII at p (2 to 4), or 0 where these are none. */
static inline int tw_utf8_size(const uint8_t *p, const uint8_t *end)
{
    uint8_t lead = p[0];
    if (lead < 0xC2 || lead > 0xF4 || end - p < 2) return 0;
    uint8_t second = p[1];
    if ((second & 0xC0) != 0x80) return 0;
    if (lead < 0xE0) return 2;
    if (end - p < 3 || (p[2] & 0xC0) != 0x80) return 0;
    if (lead < 0xF0) return (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) ? 0 : 3;
    if (end - p < 4 || (p[3] & 0xC0) != 0x80) return 0;
    return (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F) ? 0 : 4;
}

/* Length of the valid UTF-8 prefix of [p, p + n). */
static TW_UNUSED size_t tw_utf8_prefix(const uint8_t *p, size_t n) {
    const uint8_t *start = p, *end = p + n;
    while (p < end) {
        uint64_t word = ~(uint64_t)0;
        int size = 8;
        if (end - p >= 8) memcpy(&word, p, 8);
        if (word & 0x8080808080808080u) size = *p < 0x80 ? 1 : tw_utf8_size(p, end);
        if (!size) break;
        p += size;
    }
    return (size_t)(p - start);
}

static inline int tw_utf8_valid_scalar(const uint8_t *p, size_t n) { return tw_utf8_prefix(p, n) == n; }

#endif
