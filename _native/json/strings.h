/* Reads strings of JSON (runs of plain characters, UTF-8, escapes), keys and numbers. */
#ifndef TURNWIRE_JSON_STRINGS_H
#define TURNWIRE_JSON_STRINGS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_native/common/portable.h"
#include "_native/common/utf8_scalar.h"

/* The first byte from p on that is a quote, a backslash, a control character or not ASCII; or end. */
static inline const uint8_t *tw_plain(const uint8_t *p, const uint8_t *end)
{
#ifdef TW_SSE2
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(' ');
    while (end - p >= 16) {
        __m128i part = _mm_loadu_si128((const __m128i *)p);
        __m128i hit = _mm_or_si128(_mm_cmplt_epi8(part, space), /* signed: bytes over 127 are below zero */
                                   _mm_or_si128(_mm_cmpeq_epi8(part, quote), _mm_cmpeq_epi8(part, slash)));
        int mask = _mm_movemask_epi8(hit);
        if (mask) return p + tw_low_zeros_32((unsigned)mask);
        p += 16;
    }
#else
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    while (end - p >= 8) {
        uint64_t word, quote, slash;
        memcpy(&word, p, 8);
        quote = word ^ (ones * '"');
        slash = word ^ (ones * '\\');
        if ((word | ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word)) & high) break;
        p += 8;
    }
#endif
    while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\') p++;
    return p;
}

#ifdef TW_SSE2
/* A bit for each of sixteen bytes that is this one. */
static inline unsigned tw_are(__m128i v, char byte)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(byte)));
}
#endif

/* A bit for each byte of 64 that is this one, once the bits `folded` of it are set. */
TW_ALWAYS uint64_t tw_equal(const uint8_t *block, char byte, char folded)
{
    uint64_t found = 0;
#ifdef TW_SSE2
    for (int i = 0; i < 64; i += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(block + i));
        found |= (uint64_t)tw_are(_mm_or_si128(v, _mm_set1_epi8(folded)), byte) << i;
    }
#else
    for (int i = 0; i < 64; i++) found |= (uint64_t)((block[i] | folded) == byte) << i;
#endif
    return found;
}

/* Numbers of at most three digits that are plain to see in the 64 bytes at p, where one begins, with a comma and perhaps a space
 * behind each: how many bytes these are; *starts: a bit where each begins; *large: those of 200 and more. */
static inline unsigned tw_small_numbers(const uint8_t *p, uint64_t *starts, uint64_t *large)
{
    uint64_t digit = 0, big = 0, zero = 0, comma = 0, space = 0, start, bad;
#ifdef TW_SSE2
    for (int i = 0; i < 64; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i)), d = _mm_sub_epi8(v, _mm_set1_epi8('0'));
        digit |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(d, _mm_set1_epi8(9)), d)) << i;
        big |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(d, _mm_set1_epi8(2)), d)) << i;
        zero |= (uint64_t)tw_are(v, '0') << i;
        comma |= (uint64_t)tw_are(v, ',') << i;
        space |= (uint64_t)tw_are(v, ' ') << i;
    }
#else
    (void)p;
#endif
    start = digit & ~(digit << 1);
    bad = ~(digit | comma | space) | (comma & ~(digit << 1)) | (space & ~(comma << 1)) | (zero & start & digit >> 1);
    bad |= digit & digit >> 1 & digit >> 2 & digit >> 3;
    start &= bad ? (bad & (0 - bad)) - 1 : ~(uint64_t)0;
    if (start < 2) return 0;
    unsigned last = 63 - (unsigned)tw_high_zeros(start); /* it may go on */
    *starts = start ^ (uint64_t)1 << last;
    *large = *starts & big & digit >> 1 & digit >> 2;
    return last;
}

/* The number of at most three digits at p. */
static inline unsigned tw_small_number(const uint8_t *p)
{
    unsigned one = p[0] - '0', two = one * 10 + p[1] - '0', three = two * 10 + p[2] - '0';
    return (uint8_t)(p[1] - '0') > 9 ? one : (uint8_t)(p[2] - '0') > 9 ? two : three;
}

/* The next backslash from p on, or end. */
static inline const uint8_t *tw_slash(const uint8_t *p, const uint8_t *end)
{
#ifdef TW_SSE2
    if (end - p >= 16) {
        const uint8_t *last = end - 16;      /* the last sixteen may have been looked at in part */
        for (unsigned slash;; p = last - p > 16 ? p + 16 : last) {
            slash = tw_are(_mm_loadu_si128((const __m128i *)(const void *)p), '\\');
            if (slash) return p + tw_low_zeros_32(slash);
            if (p == last) return end;
        }
    }
#endif
    while (p < end && *p != '\\') p++;
    return p;
}

/* Behind the white space at p. */
static inline const uint8_t *tw_skip(const uint8_t *p, const uint8_t *end)
{
    if (p < end && *p > ' ') return p;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) p++;
    return p;
}

static inline int tw_is_hex(uint8_t byte) { return (uint8_t)(byte - '0') < 10 || (uint8_t)((byte | 32) - 'a') < 6; }

/* The value of the four hex digits at p, or -1. */
static inline int tw_hex4(const uint8_t *p, const uint8_t *end)
{
    int code = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        uint8_t byte = p[i], letter = byte | 32;
        if ((uint8_t)(byte - '0') < 10) code = code * 16 + byte - '0';
        else if (letter >= 'a' && letter <= 'f') code = code * 16 + letter - 'a' + 10;
        else return -1;
    }
    return code;
}

/* Bytes of the escape at p (2, 6 or 12), or 0 where it is none or names half of a surrogate pair. */
static inline int tw_escape_size(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 2) return 0;
    switch (p[1]) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return 2;
    case 'u': break;
    default: return 0;
    }
    int code = tw_hex4(p + 2, end);
    if (code < 0 || (code >= 0xDC00 && code <= 0xDFFF)) return 0;
    if (code < 0xD800 || code > 0xDFFF) return 6;
    if (end - p < 12 || p[6] != '\\' || p[7] != 'u') return 0;
    code = tw_hex4(p + 8, end);
    return code >= 0xDC00 && code <= 0xDFFF ? 12 : 0;
}

static inline int tw_put_character(uint8_t *out, int code)
{
    if (code < 0x80) { out[0] = (uint8_t)code; return 1; }
    if (code < 0x800) { out[0] = (uint8_t)(0xC0 | code >> 6); out[1] = (uint8_t)(0x80 | (code & 63)); return 2; }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 63));
        out[2] = (uint8_t)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 63));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 63));
    out[3] = (uint8_t)(0x80 | (code & 63));
    return 4;
}

/* The character of a letter behind a backslash. */
static const uint8_t tw_letters[256] = { ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = 8, ['f'] = 12, ['n'] = 10, ['r'] = 13, ['t'] = 9 };

/* The character of the escape at *p, in at most four bytes: how many. Moves *p behind it. What is no escape stays what it is:
 * a backslash with the byte behind it; half of a surrogate pair becomes the three bytes that no UTF-8 reader takes. */
static inline int tw_unescape_one(const uint8_t **p, const uint8_t *end, uint8_t *out)
{
    const uint8_t *at = *p;
    if (end - at >= 2 && tw_letters[at[1]]) { *p = at + 2; out[0] = tw_letters[at[1]]; return 1; }
    int code = end - at >= 2 && at[1] == 'u' ? tw_hex4(at + 2, end) : -1;
    if (code < 0) { *p = at + 1; out[0] = '\\'; return 1; }
    *p = at + 6;
    if (code >= 0xD800 && code < 0xDC00 && tw_escape_size(at, end) == 12) {
        code = 0x10000 + ((code - 0xD800) << 10) + tw_hex4(at + 8, end) - 0xDC00;
        *p = at + 12;
    }
    return tw_put_character(out, code);
}

/* The text of [p, end) without its escapes into `out`, memory of its own: how many bytes they are. Up to `hard` may be read, and as
 * many bytes written. */
static TW_APART TW_UNUSED size_t tw_unescape_in(const uint8_t *p, const uint8_t *end, const uint8_t *hard, uint8_t *out)
{
    uint8_t *first = out;
    while (p < end) {
#ifdef TW_SSE2
        if (hard - p >= 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
            unsigned slash = tw_are(v, '\\');
            _mm_storeu_si128((__m128i *)(void *)out, v);
            if (!slash && end - p > 16) {      /* where it goes on does not wait for what was found */
                p += 16;
                out += 16;
                continue;
            }
            ptrdiff_t run = tw_low_zeros_32(slash | 1u << 16);
            if (run > end - p) run = end - p;
            p += run;
            out += run;
            if (run == 16 || p == end) continue;
        }
#endif
        if (*p == '\\') out += tw_unescape_one(&p, end, out);
        else *out++ = *p++;
    }
    return (size_t)(out - first);
}

static inline size_t tw_unescape(const uint8_t *p, const uint8_t *end, uint8_t *out) { return tw_unescape_in(p, end, end, out); }

/* The letter behind the backslash where writing escapes a character of a string by one letter; else 0. */
static inline int tw_short_escape(uint32_t letter)
{
    static const char controls[] = "btn\0fr";
    if (letter == '"' || letter == '\\') return (int)letter;
    return letter >= 8 && letter <= 13 ? controls[letter - 8] : 0;
}

/* True if n bytes are the same; for short ones, where a call would cost more. */
static inline int tw_same_bytes(const uint8_t *p, const uint8_t *q, size_t n)
{
    uint64_t a, b;
    uint32_t c, d;
    if (n >= 8) {
        size_t last = n - 8;
        for (size_t i = 0; i < last; i += 8) {
            memcpy(&a, p + i, 8);
            memcpy(&b, q + i, 8);
            if (a != b) return 0;
        }
        memcpy(&a, p + last, 8);
        memcpy(&b, q + last, 8);
        return a == b;
    }
    if (n >= 4) {
        memcpy(&c, p, 4);
        memcpy(&d, q, 4);
        if (c != d) return 0;
        memcpy(&c, p + n - 4, 4);
        memcpy(&d, q + n - 4, 4);
        return c == d;
    }
    for (size_t i = 0; i < n; i++)
        if (p[i] != q[i]) return 0;
    return 1;
}

static inline uint64_t tw_name_hash(const uint8_t *p, size_t n)
{
    uint64_t hash = n * 0x9E3779B97F4A7C15u, word = 0;
    while (n > 8) {
        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
        hash ^= hash >> 32;
        p += 8;
        n -= 8;
    }
    word = 0;
    if (n >= 4) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + n - 4, 4);
        word = low | (uint64_t)high << 32;
    } else if (n) {
        word = p[0] | (uint64_t)p[n >> 1] << 8 | (uint64_t)p[n - 1] << 16;
    }
    hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
    return hash ^ hash >> 29;
}

/* 2^1024 - 2^970: from here on the nearest double is infinite. */
#define TW_INFINITE \
    "1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070" \
    "9633028641669288791094655554785194040263065748867150582068190890200070838367627385484581771153176447" \
    "5730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880177904" \
    "174497792"

/* True if the number in [p, end), which starts with a digit and has a point or an exponent, is within a double. */
static inline int tw_is_finite(const uint8_t *p, const uint8_t *end)
{
    int64_t exponent = -1, shift = 0;        /* the first digit that is not zero stands for 10^exponent */
    const uint8_t *first = NULL, *q = p;
    int point = 0, sign = 1;
    for (; q < end && (*q | 32) != 'e'; q++) {
        if (*q == '.') { point = 1; continue; }
        if (!first && *q != '0') { first = q; exponent = 0; }
        else if (first && !point) exponent++;
        if (!first && point) shift--;
        else if (first == q && point) exponent = shift - 1;
    }
    const uint8_t *digits_end = q;
    if (!first) return 1;
    if (q < end) {
        int64_t given = 0;
        q++;
        if (*q == '-') { sign = -1; q++; } else if (*q == '+') q++;
        for (; q < end; q++) if (given < 100000000000000000) given = given * 10 + *q - '0';
        exponent += sign * given;
    }
    if (exponent != 308) return exponent < 308;
    const char *limit = TW_INFINITE;
    for (q = first; q < digits_end; q++) {
        if (*q == '.') continue;
        uint8_t there = *limit ? (uint8_t)*limit++ : '0';
        if (*q != there) return *q < there;
    }
    while (*limit) if (*limit++ != '0') return 1;
    return 0;
}

#endif
