/* The look for openings: where in a text something may begin that a matcher knows. All openings of all wires are found in one
 * look: a block of 64 bytes becomes a bitmap of the bytes with which one may begin, and only these are looked at. The readable
 * twin is the pattern of openings in log/search/search.py. */
#ifndef TURNWIRE_SEARCH_OPENINGS_H
#define TURNWIRE_SEARCH_OPENINGS_H

#include "_native/common/fence.h"
#include "_native/json/token_runs.h"
#include "_native/json/values.h"

/* The kinds of openings, in the order of the pattern; the first six only at the start of a line. */
enum {
    TW_NO_OPENING, TW_AT_HEAD, TW_AT_CSP, TW_AT_FENCE, TW_AT_CRI, TW_AT_VALUES, TW_AT_HEREDOC,
    TW_AT_TOKEN, TW_AT_OBJECT, TW_AT_ESCAPED, TW_AT_MAGIC, TW_AT_TORN
};

/* By byte: whether something may begin with it anywhere, or at the start of a line. The tables of AVX2 say the same of the two
 * halves of a byte, of some more bytes at the start of lines. */
enum { TW_ANYWHERE = 0x07, TW_LINE_START = 0xF8, TW_QUOTE = 0x04 };
static uint8_t tw_opens[256];
static uint8_t tw_opens_low[16], tw_opens_high[16];

static void tw_opening_group(uint8_t bit, const uint8_t *high, size_t highs, const uint8_t *low, size_t lows)
{
    for (size_t i = 0; i < highs; i++) tw_opens_high[high[i]] |= bit;
    for (size_t i = 0; i < lows; i++) tw_opens_low[low[i]] |= bit;
}

#define TW_OPENING_GROUP(bit, highs, lows) \
    tw_opening_group(bit, (const uint8_t[])highs, sizeof (const uint8_t[])highs, (const uint8_t[])lows, sizeof (const uint8_t[])lows)
#define TW_SET(...) { __VA_ARGS__ }

static void tw_opening_tables(void)
{
    TW_OPENING_GROUP(0x01, TW_SET(4), TW_SET(0));                             /* @ */
    TW_OPENING_GROUP(0x02, TW_SET(7), TW_SET(0xB));                           /* { */
    TW_OPENING_GROUP(0x04, TW_SET(2), TW_SET(2));                             /* " */
    TW_OPENING_GROUP(0x08, TW_SET(3), TW_SET(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xC)); /* digits, < */
    TW_OPENING_GROUP(0x10, TW_SET(2), TW_SET(0));                             /* a space */
    TW_OPENING_GROUP(0x20, TW_SET(4, 6), TW_SET(3));                          /* C c */
    TW_OPENING_GROUP(0x40, TW_SET(5), TW_SET(0xB));                           /* [ */
    TW_OPENING_GROUP(0x80, TW_SET(0, 6, 7, 0xE), TW_SET(0, 2, 9, 0xE, 0xF));  /* a tab, ` ~, E2, EF; and letters */
    for (int i = 0; i < 256; i++) tw_opens[i] = tw_opens_low[i & 15] & tw_opens_high[i >> 4];
}

#define TW_NO_BLOCK (SIZE_MAX / 2)          /* no place is within 64 bytes of it */

/* A look through s[from .. end), of which s[..readable) may be read. `bits` are those of the block at `base`. */
typedef struct {
    const uint8_t *s;
    size_t from, end, readable, base;
    uint64_t bits;
    const uint8_t (*torn)[16];               /* the halves of letters behind a quote that begins a key (see tw_plan) */
} tw_look;

static inline int tw_is_line_start(const uint8_t *s, size_t at, size_t from) { return at == from || s[at - 1] == '\n'; }

static size_t tw_seek_scalar(tw_look *l, size_t at)
{
    const uint8_t *s = l->s;
    for (; at < l->end; at++) {
        uint8_t opens = tw_opens[s[at]];
        if (opens & TW_ANYWHERE || (opens && tw_is_line_start(s, at, l->from))) break;
        if (s[at] == 'C' && at + 1 < l->end && s[at + 1] == 'S') break;
    }
    l->base = TW_NO_BLOCK;
    return at;
}

#ifdef TW_X86
/* The bytes behind which the first two letters of a key may stand. */
TW_AVX2 static inline uint64_t tw_before_keys(const uint8_t (*torn)[16], const uint8_t *p)
{
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i keys = _mm256_set1_epi8(-1);
    for (int i = 0; i < 2; i++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + 1 + i));
        __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)torn[2 * i]));
        __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)torn[2 * i + 1]));
        keys = _mm256_and_si256(keys, _mm256_shuffle_epi8(low, _mm256_and_si256(v, nibble)));
        keys = _mm256_and_si256(keys, _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble)));
    }
    return (uint32_t)~_mm256_movemask_epi8(_mm256_cmpeq_epi8(keys, _mm256_setzero_si256()));
}

/* From `at` on, where blocks can be read; else the rest, byte by byte. Of quotes inside lines those alone count that may begin a key. */
TW_AVX2 static size_t tw_seek_avx2(tw_look *l, size_t at)
{
    const uint8_t *s = l->s;
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)tw_opens_low));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)tw_opens_high));
    const __m256i nibble = _mm256_set1_epi8(15), zero = _mm256_setzero_si256(), anywhere = _mm256_set1_epi8(TW_ANYWHERE & ~TW_QUOTE);
    uint64_t start = tw_is_line_start(s, at, l->from);
    for (; at + 66 <= l->readable && at < l->end; at += 64) {
        uint64_t feeds = 0, any = 0, line = 0, big = 0, then = 0;
        for (int i = 0; i < 2; i++) {
            __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(s + at + 32 * i));
            __m256i opens = _mm256_and_si256(
                _mm256_shuffle_epi8(low, _mm256_and_si256(v, nibble)),
                _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble)));
            uint64_t none = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(opens, zero));
            uint64_t not_any = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(opens, anywhere), zero));
            line |= (none ^ 0xFFFFFFFFu) << 32 * i;
            any |= (not_any ^ 0xFFFFFFFFu) << 32 * i;
            uint64_t quotes = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')));
            if (quotes) any |= (quotes & tw_before_keys(l->torn, s + at + 32 * i)) << 32 * i;
            feeds |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\n'))) << 32 * i;
            big |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('C'))) << 32 * i;
            then |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('S'))) << 32 * i;
        }
        uint64_t bits = any | (line & (feeds << 1 | start)) | (big & (then >> 1 | (uint64_t)1 << 63));
        start = feeds >> 63;
        if (!bits) continue;
        l->base = at;
        l->bits = bits;
        at += (size_t)tw_low_zeros(bits);
        return at < l->end ? at : l->end;
    }
    return at < l->end ? tw_seek_scalar(l, at) : l->end;
}
#endif

/* The next place from `at` on with a byte that may open something, or the end. */
static inline size_t tw_seek(tw_look *l, size_t at)
{
    if (at < l->end && at > l->from && l->s[at] == '\n') at++; /* most records end their line, and the next one begins its */
    if (at >= l->end) return l->end;
    if (tw_opens[l->s[at]] && tw_is_line_start(l->s, at, l->from)) return at;
    if (at - l->base < 64) {
        uint64_t bits = l->bits & ~(uint64_t)0 << (at - l->base);
        if (bits) {
            at = l->base + (size_t)tw_low_zeros(bits);
            return at < l->end ? at : l->end;
        }
        at = l->base + 64;
        if (at >= l->end) return l->end;
    }
#ifdef TW_X86
    if (tw_json_level != TW_SCALAR) return tw_seek_avx2(l, at);
#endif
    return tw_seek_scalar(l, at);
}

static inline int tw_is_blank(uint8_t byte) { return byte == ' ' || byte == '\t'; }

/* True if a line could end at `at`: "\r?$". */
static inline int tw_line_may_end(const uint8_t *s, size_t at, size_t end)
{
    if (at < end && s[at] == '\r') at++;
    return at == end || s[at] == '\n';
}

/* True if s[at .. end) says "CSP/1" or nearly so, blanks around its parts, in letters of either case. */
static int tw_says_csp(const uint8_t *s, size_t at, size_t end)
{
    while (at < end && tw_is_blank(s[at])) at++;
    if (end - at < 5 || (s[at] | 32) != 'c' || (s[at + 1] | 32) != 's' || (s[at + 2] | 32) != 'p') return 0;
    for (at += 3; at < end && tw_is_blank(s[at]);) at++;
    if (at == end || s[at] != '/') return 0;
    for (at++; at < end && tw_is_blank(s[at]);) at++;
    return at < end && (uint8_t)(s[at] - '0') < 10;
}

static int tw_is_digits(const uint8_t *s, const char *form)
{
    for (; *form; form++, s++)
        if (*form == '0' ? (uint8_t)(*s - '0') > 9 : *s != (uint8_t)*form) return 0;
    return 1;
}

/* Behind the time with which a line of a container runtime begins, where it is followed by stream and tag; or 0. */
static size_t tw_is_cri(const uint8_t *s, size_t at, size_t end)
{
    if (end - at < 29 || !tw_is_digits(s + at, "0000-00-00T00:00:00")) return 0;
    size_t p = at + 19;
    if (s[p] == '.' && (uint8_t)(s[p + 1] - '0') < 10)
        for (p++; p < end && (uint8_t)(s[p] - '0') < 10;) p++;
    if (p < end && s[p] == 'Z') p++;
    else if (end - p > 6 && (s[p] == '+' || s[p] == '-') && tw_is_digits(s + p + 1, "00:00")) p += 6;
    else return 0;
    if (end - p < 9 || (memcmp(s + p, " stdout ", 8) && memcmp(s + p, " stderr ", 8)) || (s[p + 8] != 'P' && s[p + 8] != 'F')) return 0;
    return p + 9 == end || s[p + 9] == ':' || s[p + 9] == ' ' || s[p + 9] == '\r' || s[p + 9] == '\n' ? p : 0;
}

static int tw_opens_object(const uint8_t *s, size_t at, size_t end)
{
    size_t p = at + 1;
    while (p < end && tw_is_blank(s[p])) p++;
    if (tw_line_may_end(s, p, end)) return TW_AT_OBJECT;
    while (p < end && (tw_is_blank(s[p]) || s[p] == '\r' || s[p] == '\n')) p++;
    if (p == end || s[p] == '"' || s[p] == '}') return TW_AT_OBJECT;
    while (p < end) {
        if (tw_is_blank(s[p]) || s[p] == '\r' || s[p] == '\n') { p++; continue; }
        size_t slashes = p;
        while (p < end && s[p] == '\\') p++;
        if (p == slashes || p == end) return TW_NO_OPENING;
        if (s[p] == '"') return TW_AT_ESCAPED;
        if (s[p] != 'n' && s[p] != 'r' && s[p] != 't') return TW_NO_OPENING;
        p++;
    }
    return TW_NO_OPENING;
}

/* The opening that a "CSP" inside a line is. */
static int tw_opens_magic(const uint8_t *s, size_t at, size_t end)
{
    if (end - at < 5 || s[at + 1] != 'S' || s[at + 2] != 'P') return TW_NO_OPENING;
    size_t p = at + 3;
    while (p < end && s[p] == '\\') p++;
    if (end - p < 2 || s[p] != '/' || s[p + 1] != '1') return TW_NO_OPENING;
    if (p > at + 3 || (p + 2 < end && s[p + 2] == '\\')) return TW_AT_ESCAPED;
    size_t behind = p += 2;
    while (behind < end && behind - p < 4 && memchr("*_`:", s[behind], 4)) behind++; /* the end of an emphasis */
    if (behind == p + 1 && s[p] == ':') behind = p;
    if (tw_line_may_end(s, behind, end) || s[p] == ';') return TW_AT_MAGIC;
    return end - p >= 6 && !memcmp(s + p, " MODE;", 6) ? TW_AT_MAGIC : TW_NO_OPENING;
}

static int tw_opens_line(const uint8_t *s, size_t at, size_t end)
{
    size_t p = at;
    if ((uint8_t)(s[at] - '0') < 10) return tw_is_cri(s, at, end) ? TW_AT_CRI : TW_NO_OPENING; /* most lines of a log */
    int bom = end - at >= 3 && s[at] == 0xEF && s[at + 1] == 0xBB && s[at + 2] == 0xBF;
    if (bom) p += 3;
    if (end - p >= 3 && s[p] == 0xE2 && s[p + 1] == 0xAB && s[p + 2] == 0xBB) return TW_AT_HEAD;
    if (s[at] == 0xE2 || (s[at] == 0xEF && !bom)) return TW_NO_OPENING;
    if (tw_says_csp(s, p, end)) return TW_AT_CSP;
    if (!bom && tw_is_fence(s, at, end)) return TW_AT_FENCE;
    if (p < end && (uint8_t)(s[p] - '0') < 10) return tw_is_cri(s, p, end) ? TW_AT_CRI : TW_NO_OPENING;
    while (p < end && tw_is_blank(s[p])) p++;
    if (p < end && (s[p] == '"' || s[p] == '[')) return TW_AT_VALUES;
    if (bom || s[at] != '<') return TW_NO_OPENING;
    for (p = at; p < end && s[p] == '<';) p++;
    if (p - at < 3) return TW_NO_OPENING;
    if (p < end && s[p] == '-') p++;
    return tw_line_may_end(s, p, end) ? TW_AT_HEREDOC : TW_NO_OPENING;
}

/* Bytes of the key of a wire that stands there, its quotes among them, or 0. */
static size_t tw_torn_key(const tw_plan *plan, const uint8_t *s, size_t at, size_t end)
{
    if (end - at < 2) return 0;
    for (int i = plan->torn_first[s[at + 1]]; i; i = plan->torn_next[i - 1]) {
        const tw_token *key = &plan->torn[i - 1];
        if (end - at >= key->size && tw_same_bytes(s + at, key->text, key->size)) return key->size;
    }
    return 0;
}

/* The opening at a place, of a text that begins at `from`. mid: that is in the middle of a line. */
static int tw_opening_of(const tw_plan *plan, const uint8_t *s, size_t at, size_t from, size_t end, int mid)
{
    if (tw_opens[s[at]] & TW_LINE_START || s[at] == '"') {
        int opens = !(mid && at == from) && tw_is_line_start(s, at, from) ? tw_opens_line(s, at, end) : TW_NO_OPENING;
        if (opens) return opens;
    }
    switch (s[at]) {
    case '@': return tw_candidate(s, at, end) ? TW_AT_TOKEN : TW_NO_OPENING;
    case '{': return tw_opens_object(s, at, end);
    case 'C': return tw_opens_magic(s, at, end);
    case '"': return tw_torn_key(plan, s, at, end) ? TW_AT_TORN : TW_NO_OPENING;
    }
    return TW_NO_OPENING;
}

#endif
