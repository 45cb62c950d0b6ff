/* A quick test whether a text may be a secret, or a name that of one; turnwire/sap/rules.py decides. Whatever its patterns
 * match contains one of the pieces here. Behind each text must stand a byte that is in none of them: a quote or a zero. */
#ifndef TURNWIRE_JSON_SECRETS_H
#define TURNWIRE_JSON_SECRETS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/portable.h"

enum { TW_SHORTEST_SECRET = 7 };             /* characters of a text that may be one by its form: of "a://:b@" */

/* Equal but for case, and never past the byte behind the text. */
static inline int tw_same_letters(const uint8_t *text, const char *wanted, int length)
{
    for (int at = 0; at < length; at++)
        if ((text[at] | 32) != (uint8_t)wanted[at]) return 0;
    return 1;
}

/* True if a name may be that of a secret. */
static inline int tw_telling_name(const uint8_t *text, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        switch (text[at] | 32) {
        case 'k':
            if (tw_same_letters(text + at, "key", 3) || (at > 1 && tw_same_letters(text + at - 2, "token", 5))) return 1;
            break;
        case 'w':
            if (at && tw_same_letters(text + at - 1, "pwd", 3)) return 1;
            break;
        case 'p':
            if (tw_same_letters(text + at, "pass", 4)) return 1;
            break;
        case 'c':
            if (tw_same_letters(text + at, "cret", 4) || tw_same_letters(text + at, "cred", 4)) return 1;
            break;
        case 'u':
            if (tw_same_letters(text + at, "uth", 3)) return 1;
            break;
        }
    }
    return 0;
}

/* True if what stands before the at sign at `at` may be the user and the password of a URL: back to a slash, and another
 * (in JSON, perhaps escaped). Each byte is looked at for one sign only. */
static inline int tw_telling_user(const uint8_t *text, size_t at)
{
    while (at-- > 0) {
        switch (text[at]) {
        case '/': return at && (text[at - 1] == '/' || text[at - 1] == '\\');
        case '@': case ' ': case '"': return 0;
        }
    }
    return 0;
}

/* True if a secret's opening ends with the byte at `at`, which is the third or a later one. */
static inline int tw_telling_at(const uint8_t *text, size_t at)
{
    const uint8_t *p = text + at;
    switch (*p) {
    case '-': return (p[-1] == 'k' && p[-2] == 's') || (p[-1] == '-' && p[1] == 'B');          /* sk-, -----BEGIN */
    case '_': return (p[-2] == 'h' && at > 2 && p[-3] == 'g') || (p[-1] == 't' && p[-2] == 'a'); /* ghp_, _pat_ */
    case '@': return tw_telling_user(text, at);
    case 'x': return p[-1] == 'o' && p[-2] == 'x';                                             /* xox */
    case 'J': return p[-1] == 'y' && p[-2] == 'e';                                             /* eyJ */
    case 'z': return p[-1] == 'I' && p[-2] == 'A';                                             /* AIza */
    case 'I': return p[-1] == 'K' && p[-2] == 'A';                                             /* AKIA */
    case ' ': return at > 4 && (!memcmp(p - 5, "Basic", 5) || !memcmp(p - 5, "earer", 5));     /* Basic, Bearer */
    }
    return 0;
}

/* True if a text may be a secret by its form. */
static inline int tw_telling_text(const uint8_t *text, size_t length)
{
    size_t at = 2;
#ifdef TW_SSE2
#define TW_IS(word, letter) _mm_cmpeq_epi8(word, _mm_set1_epi8(letter))
    for (; at + 17 <= length; at += 16) {
        __m128i here = _mm_loadu_si128((const __m128i *)(text + at)), before = _mm_loadu_si128((const __m128i *)(text + at - 1));
        __m128i hit = _mm_and_si128(TW_IS(here, '-'), _mm_or_si128(TW_IS(before, 'k'), TW_IS(before, '-')));
        hit = _mm_or_si128(hit, _mm_or_si128(TW_IS(here, '_'), TW_IS(here, '@')));
        hit = _mm_or_si128(hit, _mm_and_si128(TW_IS(here, 'x'), TW_IS(before, 'o')));
        hit = _mm_or_si128(hit, _mm_and_si128(TW_IS(here, 'J'), TW_IS(before, 'y')));
        hit = _mm_or_si128(hit, _mm_and_si128(TW_IS(here, 'z'), TW_IS(before, 'I')));
        hit = _mm_or_si128(hit, _mm_and_si128(TW_IS(here, 'I'), TW_IS(before, 'K')));
        hit = _mm_or_si128(hit, _mm_and_si128(TW_IS(here, ' '), _mm_or_si128(TW_IS(before, 'r'), TW_IS(before, 'c'))));
        for (unsigned mask = (unsigned)_mm_movemask_epi8(hit); mask; mask &= mask - 1)
            if (tw_telling_at(text, at + (size_t)tw_low_zeros_32(mask))) return 1;
    }
#undef TW_IS
#endif
    for (; at < length; at++)
        if (tw_telling_at(text, at)) return 1;
    return 0;
}

#endif
