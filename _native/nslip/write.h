/* Writing nSLIP: each function takes where to write and returns where it stopped. */
#ifndef TURNWIRE_NSLIP_WRITE_H
#define TURNWIRE_NSLIP_WRITE_H

#include "base62_digits.h"
#include "parse.h"

enum { TW_INTEGER_ROOM = 16 };              /* most bytes that tw_put_integer touches */

static inline uint8_t *tw_put_integer(uint8_t *p, uint64_t n)
{
    if (n < 62) { *p = (uint8_t)BASE62_DIGITS[n]; return p + 1; }
    if (n < BASE62_POW2) { p[0] = (uint8_t)base62_pair[n]; p[1] = (uint8_t)(base62_pair[n] >> 8); return p + 2; }
    uint64_t low, high;
    base62_words(n, &low, &high);
    unsigned count = high ? 8 + base62_count(high) : base62_count(low);
    low = base62_little(low);
    high = base62_little(high);
    memcpy(p, &low, 8);
    memcpy(p + 8, &high, 8);
    return p + count;
}

/* Whether one of eight bytes is '"' or '\'. */
static inline int tw_must_escape(uint64_t w)
{
    const uint64_t ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;
    uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
    return (((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops ? 1 : 0;
}

/* A quoted string; there must be room for 2 * n + 2 bytes. */
static inline uint8_t *tw_put_text(uint8_t *p, const uint8_t *s, size_t n)
{
    size_t i = 0;
    *p++ = '"';
    while (i + 8 <= n) {
        uint64_t w;
        memcpy(&w, s + i, 8);
        if (tw_must_escape(w)) break;
        memcpy(p, &w, 8);
        p += 8;
        i += 8;
    }
    for (; i < n; i++) {
        if (s[i] == '"' || s[i] == '\\') *p++ = '\\';
        *p++ = s[i];
    }
    *p++ = '"';
    return p;
}

/* "@" and the six header fields. */
static inline uint8_t *tw_put_header(uint8_t *p, const uint64_t *head)
{
    p[0] = '@'; p[1] = 'a'; p[2] = (uint8_t)BASE62_DIGITS[head[0]];       /* the message judged both when they were set */
    p[3] = '|'; p[4] = 'f'; p[5] = (uint8_t)BASE62_DIGITS[head[1]];
    p[6] = '|'; p[7] = 'c';
    p = tw_put_integer(p + 8, head[2]);
    p[0] = '|'; p[1] = 'S';
    p = tw_put_integer(p + 2, head[3]);
    p[0] = '|'; p[1] = 'd';
    p = tw_put_integer(p + 2, head[4]);
    p[0] = '|'; p[1] = 'T';
    return tw_put_integer(p + 2, head[5]);
}

/* A whole message; text and length are those of STATUS and TAG. */
static inline uint8_t *tw_put_values(uint8_t *p, const tw_values *v, const uint8_t *const *text, const size_t *length)
{
    static const char prefixes[] = "gkprqsuet";
    p = tw_put_header(p, v->head);
    for (int i = 0; i < v->count; i++) {
        int slot = v->order[i];
        p[0] = '|';
        p[1] = (uint8_t)prefixes[slot];
        p += 2;
        if (slot == TW_STATUS) p = tw_put_text(p, text[0], length[0]);
        else if (slot == TW_TAG) p = tw_put_text(p, text[1], length[1]);
        else p = tw_put_integer(p, v->ints[slot]);
    }
    *p++ = '#';
    return p;
}

#endif
