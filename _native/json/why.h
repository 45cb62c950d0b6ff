/* Says why a text is no JSON object, and where, of which a reader says how far it is good. The reasons are checked in the order of
 * json/_text_py.py. The functions return 1 with *reason and *place, or 0 where they cannot say. */
#ifndef TURNWIRE_JSON_WHY_H
#define TURNWIRE_JSON_WHY_H

#include "strings.h"

enum { TW_DEEPEST_TORN = 1024 };

/* Reasons, in the order of REASONS in turnwire/json/faults.py. */
enum {
    TW_WHY_EMPTY, TW_WHY_LARGE, TW_WHY_BOM, TW_WHY_ENCODING, TW_WHY_NO_OBJECT, TW_WHY_FENCE, TW_WHY_PROSE, TW_WHY_TRAILING,
    TW_WHY_CUT_OFF, TW_WHY_UNTERMINATED, TW_WHY_CONTROL, TW_WHY_ESCAPE, TW_WHY_SURROGATE, TW_WHY_UTF8, TW_WHY_NUMBER, TW_WHY_FINITE,
    TW_WHY_DIGITS, TW_WHY_KEY, TW_WHY_DEEP, TW_WHY_DUP, TW_WHY_JSON, TW_WHYS
};

/* Returns 1 with this reason and place. */
static int tw_why(int why, const uint8_t *fault, int *reason, const uint8_t **place)
{
    *reason = why;
    *place = fault;
    return 1;
}

/* Why the bytes at p are no UTF-8: half of a surrogate pair, or anything else. */
static int tw_why_bytes(const uint8_t *p, const uint8_t *end, int *reason, const uint8_t **place)
{
    int half = end - p >= 3 && *p == 0xED && p[1] >= 0xA0 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80;
    return tw_why(half ? TW_WHY_SURROGATE : TW_WHY_UTF8, p, reason, place);
}

/* Why no value and no sign of JSON can begin at p, or that the text ends there. */
static int tw_why_here(const uint8_t *p, const uint8_t *end, int *reason, const uint8_t **place)
{
    if (p >= end) return tw_why(TW_WHY_CUT_OFF, end, reason, place);
    if (*p >= 0x80 && !tw_utf8_size(p, end)) return tw_why_bytes(p, end, reason, place);
    if ((end - p >= 3 && !memcmp(p, "NaN", 3)) || (end - p >= 8 && !memcmp(p, "Infinity", 8)))
        return tw_why(TW_WHY_FINITE, p, reason, place);
    return tw_why(*p == '+' || *p == '.' ? TW_WHY_NUMBER : TW_WHY_JSON, p, reason, place);
}

/* Why no escape stands at p, in the string that opens at `quote`; 0 where one does. */
static int tw_why_escape(const uint8_t *p, const uint8_t *end, const uint8_t *quote, int *reason, const uint8_t **place)
{
    const uint8_t *first = p;
    if (tw_escape_size(p, end)) return 0;
    for (int half = 0;; half++, p += 6) {    /* of a surrogate pair */
        int digits = 0;
        if (p >= end || (*p == '\\' && p + 1 >= end)) return tw_why(TW_WHY_UNTERMINATED, quote, reason, place);
        if (*p != '\\' || p[1] != 'u') return tw_why(half ? TW_WHY_SURROGATE : TW_WHY_ESCAPE, first, reason, place);
        while (digits < 4 && p + 2 + digits < end && tw_is_hex(p[2 + digits])) digits++;
        if (digits < 4 && p + 2 + digits >= end) return tw_why(TW_WHY_UNTERMINATED, quote, reason, place);
        if (digits < 4) return tw_why(TW_WHY_ESCAPE, p, reason, place);
        if (half || tw_hex4(p + 2, end) >= 0xDC00) return tw_why(TW_WHY_SURROGATE, first, reason, place);
    }
}

/* Why the string that opens at `quote` is bad; 0 where it is not. hard: up to here memory may be read. */
static int tw_why_string(const uint8_t *quote, const uint8_t *end, const uint8_t *hard, int *reason, const uint8_t **place)
{
    for (const uint8_t *p = quote + 1;;) {
        p = tw_plain(p, hard);
        if (p >= end) return tw_why(TW_WHY_UNTERMINATED, quote, reason, place);
        if (*p == '"') return 0;
        if (*p < 0x20) return tw_why(TW_WHY_CONTROL, p, reason, place);
        int size = *p == '\\' ? tw_escape_size(p, end) : tw_utf8_size(p, end);
        if (!size) return *p == '\\' ? tw_why_escape(p, end, quote, reason, place) : tw_why_bytes(p, end, reason, place);
        p += size;
    }
}

/* Why the number that begins at `start` is bad, which the reader refused. */
static int tw_why_number(const uint8_t *start, const uint8_t *end, int *reason, const uint8_t **place)
{
    const uint8_t *p = start + (*start == '-'), *first = p;
    int whole = 1, digits = 1;
    while (p < end && (uint8_t)(*p - '0') < 10) p++;
    if (p > first && *first == '0' && p > first + 1) return tw_why(TW_WHY_NUMBER, start, reason, place);
    digits = p > first;
    if (digits && p < end && *p == '.') {
        const uint8_t *point = ++p;
        while (p < end && (uint8_t)(*p - '0') < 10) p++;
        digits = p > point;
        whole = 0;
    }
    if (digits && p < end && (*p | 32) == 'e') {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        digits = p < end && (uint8_t)(*p - '0') < 10;
        whole = 0;
    }
    if (digits) return tw_why(whole ? TW_WHY_DIGITS : TW_WHY_FINITE, start, reason, place);
    if (p >= end) return tw_why(TW_WHY_CUT_OFF, end, reason, place);
    if (end - start >= 9 && !memcmp(start, "-Infinity", 9)) return tw_why(TW_WHY_FINITE, start, reason, place);
    return tw_why(TW_WHY_NUMBER, start, reason, place);
}

/* Why the object at p is bad, which a reader refused at `fault`: the byte, the first one of a number or a word, any one inside of a
 * string, or the quote of a key; all before that is good. key: bytes that one may have. Walks there to find out what was expected. 0:
 * too deep to say. */
static int tw_why_object(const uint8_t *p, const uint8_t *end, const uint8_t *hard, size_t key, const uint8_t *fault, int *reason,
                         const uint8_t **place)
{
    uint64_t arrays[TW_DEEPEST_TORN / 64] = { 0 };
    int depth = 0;
    uint8_t before = 0;
    for (;;) {
        p = tw_skip(p, end);
        if (p >= end || p >= fault) break;
        if (*p == '"') {
            const uint8_t *quote = p++;
            while (p < end && *p != '"') p += *p == '\\' ? 2 : 1;
            if (p >= end || fault <= p) return tw_why_string(quote, end, hard, reason, place);
        } else if (*p == '{' || *p == '[') {
            if (++depth >= TW_DEEPEST_TORN) return 0;
            uint64_t bit = (uint64_t)1 << (depth & 63);
            arrays[depth >> 6] = *p == '[' ? arrays[depth >> 6] | bit : arrays[depth >> 6] & ~bit;
        } else if (*p == '}' || *p == ']') depth--;
        before = *p++;
    }
    if (p >= end) return tw_why(TW_WHY_CUT_OFF, end, reason, place);
    int value = !before || before == ':' || before == '[' || (before == ',' && arrays[depth >> 6] >> (depth & 63) & 1);
    if (*p == '"') {
        const uint8_t *close = p + 1;
        if (before != '{' && before != ',') return tw_why_here(p, end, reason, place);
        while (close < end && *close != '"') close += *close == '\\' ? 2 : 1;
        return tw_why((size_t)(close - p - 1) > key ? TW_WHY_KEY : TW_WHY_DUP, p, reason, place);
    }
    if (!value) return tw_why_here(p, end, reason, place);
    if (*p == '{' || *p == '[') return tw_why(TW_WHY_DEEP, p, reason, place);
    if (*p == '-' || (uint8_t)(*p - '0') < 10) return tw_why_number(p, end, reason, place);
    const char *word = *p == 't' ? "true" : *p == 'f' ? "false" : *p == 'n' ? "null" : "";
    if ((size_t)(end - p) < strlen(word) && !memcmp(p, word, (size_t)(end - p))) return tw_why(TW_WHY_CUT_OFF, end, reason, place);
    return tw_why_here(p, end, reason, place);
}

/* Why text that does not begin with "{" is no object. start: where it begins; p: behind its white space. */
static int tw_why_opening(const uint8_t *start, const uint8_t *p, const uint8_t *end, int *reason, const uint8_t **place)
{
    size_t size = (size_t)(end - start), left = (size_t)(end - p), most = left < 12 ? left : 12;
    if (size >= 3 && !memcmp(start, "\xef\xbb\xbf", 3)) return tw_why(TW_WHY_BOM, start, reason, place);
    if (size >= 2 && ((start[0] == 0xFF && start[1] == 0xFE) || (start[0] == 0xFE && start[1] == 0xFF) || !start[0] != !start[1]))
        return tw_why(TW_WHY_ENCODING, start, reason, place);
    if (size >= 4 && !start[0] && !start[1] && !start[2] && start[3]) return tw_why(TW_WHY_ENCODING, start, reason, place);
    if (!left) return tw_why(TW_WHY_EMPTY, start, reason, place);
    if (left >= 3 && (!memcmp(p, "```", 3) || !memcmp(p, "~~~", 3))) return tw_why(TW_WHY_FENCE, p, reason, place);
    if ((left >= 3 && !memcmp(p, "NaN", 3)) || (left >= 8 && !memcmp(p, "Infinity", 8)) || (left >= 9 && !memcmp(p, "-Infinity", 9)))
        return tw_why(TW_WHY_FINITE, p, reason, place);
    while (most && (p[most - 1] == ' ' || p[most - 1] == '\t' || p[most - 1] == '\n' || p[most - 1] == '\r')) most--;
    int word = (most == 4 && (!memcmp(p, "true", 4) || !memcmp(p, "null", 4))) || (most == 5 && !memcmp(p, "false", 5));
    if (word || *p == '"' || *p == '[' || *p == '-' || (uint8_t)(*p - '0') < 10) return tw_why(TW_WHY_NO_OBJECT, p, reason, place);
    if (*p >= 0x80 && !tw_utf8_size(p, end)) return tw_why_bytes(p, end, reason, place);
    return tw_why(TW_WHY_PROSE, p, reason, place);
}

/* True if an object opens where the text [p, end) begins. */
static inline int tw_is_opened(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *at = tw_skip(p, end);
    return at < end && *at == '{' && (at > p || end - p < 2 || p[1]);
}

/* Why the text [p, end) is no object, which a reader refused at `fault`; behind: which stands behind the object. */
static int tw_why_text(const uint8_t *p, const uint8_t *end, const uint8_t *hard, size_t key, const uint8_t *fault, int behind,
                       int *reason, const uint8_t **place)
{
    const uint8_t *at = tw_skip(p, end);
    if (!tw_is_opened(p, end)) return tw_why_opening(p, at, end, reason, place);
    if (!behind) return tw_why_object(at, end, hard, key, fault, reason, place);
    if (*fault >= 0x80 && !tw_utf8_size(fault, end)) return tw_why_bytes(fault, end, reason, place);
    return tw_why(TW_WHY_TRAILING, fault, reason, place);
}

#endif
