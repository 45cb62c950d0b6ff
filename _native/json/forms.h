/* The forms of text that the JSON wires ask for: UUIDs, channels, words of a list. Times are in common/log_time.h. */
#ifndef TURNWIRE_JSON_FORMS_H
#define TURNWIRE_JSON_FORMS_H

#include "strings.h"
#include "_native/common/log_time.h"

/* One word of a list; `padded` is its text with zeros behind it, where it has at most 16 bytes. */
typedef struct { const uint8_t *text; uint32_t size; uint8_t padded[16]; } tw_choice;

#ifdef TW_SSE2
/* A bit for each of the 16 bytes at p that is a hex digit; *dashes: a bit for each '-'. */
static inline uint32_t tw_hex_16(const uint8_t *p, uint32_t *dashes)
{
    __m128i v = _mm_loadu_si128((const __m128i *)p);
    __m128i digit = _mm_sub_epi8(v, _mm_set1_epi8('0'));
    __m128i letter = _mm_sub_epi8(_mm_or_si128(v, _mm_set1_epi8(32)), _mm_set1_epi8('a'));
    __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
    __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(5)), letter);
    *dashes = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('-')));
    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(is_digit, is_letter));
}

/* The 36-character form of a UUID. */
static inline int tw_is_uuid(const uint8_t *p, size_t size)
{
    const uint32_t first = 1 << 8 | 1 << 13, second = 1 << 2 | 1 << 7, third = 1 << 3; /* dashes at 8, 13, 18 and 23 */
    uint32_t dashes[3], hex[3];
    if (size != 36) return 0;
    hex[0] = tw_hex_16(p, &dashes[0]);
    hex[1] = tw_hex_16(p + 16, &dashes[1]);
    hex[2] = tw_hex_16(p + 20, &dashes[2]);
    return hex[0] == (0xFFFF ^ first) && hex[1] == (0xFFFF ^ second) && hex[2] == (0xFFFF ^ third) &&
           dashes[0] == first && dashes[1] == second && dashes[2] == third;
}
#else
/* The 36-character form of a UUID. */
static inline int tw_is_uuid(const uint8_t *p, size_t size)
{
    if (size != 36) return 0;
    for (size_t i = 0; i < 36; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (p[i] != '-') return 0;
        } else if ((uint8_t)(p[i] - '0') >= 10 && (uint8_t)((p[i] | 32) - 'a') >= 6) {
            return 0;
        }
    }
    return 1;
}
#endif

/* The place of a string among the `count` words of a list, or -1. What stands before `hard` may be read. */
static inline int tw_word_of(const tw_choice *words, int count, const uint8_t *p, size_t size, const uint8_t *hard)
{
    int found = -1;
#ifdef TW_SSE2
    static const uint8_t ones[32] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };
    if (size <= 16 && hard - p >= 16) {      /* no branch depends on which of them it is */
        __m128i v = _mm_loadu_si128((const __m128i *)p);
        v = _mm_and_si128(v, _mm_loadu_si128((const __m128i *)(ones + 16 - size)));
        for (int i = 0; i < count; i++) {
            __m128i same = _mm_cmpeq_epi8(v, _mm_loadu_si128((const __m128i *)words[i].padded));
            found = ((_mm_movemask_epi8(same) == 0xFFFF) & (words[i].size == size)) ? i : found;
        }
        return found;
    }
#endif
    (void)hard;
    for (int i = 0; i < count; i++)
        if (words[i].size == size && tw_same_bytes(words[i].text, p, size)) found = i;
    return found;
}

/* Surely a channel of KickLang: the sigil, a family, "/", a name. Whether characters beyond ASCII may stand there, its
 * own rules know. */
static inline int tw_is_channel(const uint8_t *p, size_t size)
{
    size_t slash = 0;
    if (size < 6 || p[0] != 0xE2 || p[1] != 0xAB || p[2] != 0xBB) return 0;
    for (size_t i = 3; i < size; i++) {
        if (p[i] <= ' ' || p[i] >= 0x7F) return 0;
        if (p[i] == '/' && !slash) slash = i;
    }
    return slash > 3 && slash + 1 < size;
}

/* True if a text is surely no channel. */
static inline int tw_is_no_channel(const uint8_t *p, size_t size)
{
    if (size < 3 || memcmp(p, "\xE2\xAB\xBB", 3)) return 1;
    const uint8_t *slash = (const uint8_t *)memchr(p, '/', size);
    return !slash || slash == p + 3 || slash == p + size - 1 || memchr(p, ' ', size);
}

#endif
