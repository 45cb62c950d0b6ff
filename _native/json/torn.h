/* Judges damaged JSON: of which wire it was a message, why it is no JSON object, and where. The answer is that of Judgement.torn in
 * json/plan.py, which is asked only where this is not certain.
 *
 * A wire is known by its signs: keys in quotes and beginnings of their strings (Sign in json/plan.py), compiled into a table. The
 * reader (json/parse.h) says how far the text is good; the tw_why functions say what is wrong there, checking the reasons in the
 * same order as json/text.pyx. They return 1 with *reason and *place, or 0 where they cannot say. */
#ifndef TURNWIRE_JSON_TORN_H
#define TURNWIRE_JSON_TORN_H

#include "region.h"

enum { TW_MOST_SIGN_KEYS = 64, TW_MOST_SIGN_VALUES = 64, TW_MOST_SIGNS = 24, TW_NO_SIGN = 255, TW_DEEPEST_TORN = 1024 };

/* Reasons, in the order of TORN in plan.pxi. */
enum {
    TW_WHY_CUT_OFF, TW_WHY_UNTERMINATED, TW_WHY_CONTROL, TW_WHY_ESCAPE, TW_WHY_SURROGATE, TW_WHY_UTF8, TW_WHY_NUMBER, TW_WHY_FINITE,
    TW_WHY_DIGITS, TW_WHY_KEY, TW_WHY_DEEP, TW_WHY_DUP, TW_WHY_JSON, TW_WHY_TRAILING, TW_WHY_BOM, TW_WHY_ENCODING, TW_WHY_EMPTY,
    TW_WHY_FENCE, TW_WHY_NO_OBJECT, TW_WHY_PROSE, TW_WHY_LARGE, TW_WHYS
};

/* A key in quotes; next: the number of another key with the same first letter, or TW_NO_SIGN. */
typedef struct { tw_token text; uint8_t next; } tw_sign_key;
/* The beginning of a string that is the value of one of these keys (a bit for each). cased: small and capital letters differ. */
typedef struct { tw_token text; uint64_t keys; uint8_t cased; } tw_sign_value;
/* One sign, a bit for each key and value of the table. It is there with one of its values, or, if it has none, with `least` keys. */
typedef struct { uint64_t keys, values; uint8_t least; } tw_torn_sign;

typedef struct tw_torn_table {
    tw_sign_key keys[TW_MOST_SIGN_KEYS];
    tw_sign_value values[TW_MOST_SIGN_VALUES];
    tw_torn_sign signs[TW_MOST_SIGNS];            /* wire by wire, alternative by alternative */
    uint8_t last[TW_MOST_SIGNS];             /* 1: the sign is the last of an alternative, all of whose signs have to be there */
    uint8_t first[256];                      /* by the first letter: the number of a key, or TW_NO_SIGN */
    uint8_t reasons[TW_WHYS];                /* by TW_WHY_...: the code of the reason in rejects; TW_NO_SIGN: none */
    int value_count, sign_count;
    int until[16];                           /* by wire: the number behind that of its last sign; -1: it has no signs, ask Python */
    uint64_t doubts[16];                     /* by wire: if one of these keys is there and no alternative is, ask Python */
} tw_torn_table;

/* Whether the bytes are equal but for the case of letters. */
static int tw_same_letters(const uint8_t *p, const uint8_t *q, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t a = p[i], b = q[i];
        if (a != b && !((a ^ b) == 32 && (uint8_t)((a | 32) - 'a') < 26)) return 0;
    }
    return 1;
}

/* The keys and values of the table that are in [p, end), a bit for each. */
static void tw_find_signs(const tw_torn_table *t, const uint8_t *p, const uint8_t *end, uint64_t *keys, uint64_t *values)
{
    *keys = *values = 0;
    for (; (p = (const uint8_t *)memchr(p, '"', (size_t)(end - p))) && end - p > 1; p++) {
        for (uint8_t i = t->first[p[1]]; i != TW_NO_SIGN; i = t->keys[i].next) {
            const tw_token *key = &t->keys[i].text;
            if ((size_t)(end - p) < key->size || memcmp(p, key->text, key->size)) continue;
            const uint8_t *q = tw_skip(p + key->size, end);
            *keys |= (uint64_t)1 << i;
            if (q >= end || *q != ':' || (q = tw_skip(q + 1, end)) >= end || *q != '"') continue;
            q++;
            for (int v = 0; v < t->value_count; v++) {
                const tw_sign_value *value = &t->values[v];
                if (!(value->keys >> i & 1) || (size_t)(end - q) < value->text.size) continue;
                if (value->cased ? !memcmp(q, value->text.text, value->text.size) : tw_same_letters(q, value->text.text, value->text.size))
                    *values |= (uint64_t)1 << v;
            }
        }
        if (p + 1 >= end) return;
    }
}

/* --- why bytes are no JSON --- */

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

/* The value of four hex digits at p; -1 where they are none, -2 where the text ends among them. */
static int tw_hex_of(const uint8_t *p, const uint8_t *end)
{
    for (int i = 0; i < 4; i++) {
        if (p + i >= end) return -2;
        uint8_t letter = p[i] | 32;
        if ((uint8_t)(p[i] - '0') > 9 && (uint8_t)(letter - 'a') > 5) return -1;
    }
    return tw_hex4(p, end);
}

/* Why the string that opens at `quote` is bad; 0 where it is not. hard: up to here memory may be read. */
static int tw_why_string(const uint8_t *quote, const uint8_t *end, const uint8_t *hard, int *reason, const uint8_t **place)
{
    for (const uint8_t *p = quote + 1;;) {
        p = tw_plain(p, hard);
        if (p >= end) return tw_why(TW_WHY_UNTERMINATED, quote, reason, place);
        if (*p == '"') return 0;
        if (*p < 0x20) return tw_why(TW_WHY_CONTROL, p, reason, place);
        if (*p != '\\') {
            int size = tw_utf8_size(p, end);
            if (!size) return tw_why_bytes(p, end, reason, place);
            p += size;
            continue;
        }
        if (p + 1 >= end) return tw_why(TW_WHY_UNTERMINATED, quote, reason, place);
        if (p[1] != 'u') {
            if (!memchr("\"\\/bfnrt", p[1], 8)) return tw_why(TW_WHY_ESCAPE, p, reason, place);
            p += 2;
            continue;
        }
        int code = tw_hex_of(p + 2, end);
        if (code == -2) return tw_why(TW_WHY_UNTERMINATED, quote, reason, place);
        if (code < 0) return tw_why(TW_WHY_ESCAPE, p, reason, place);
        if (code < 0xD800 || code > 0xDFFF) { p += 6; continue; }
        if (code >= 0xDC00) return tw_why(TW_WHY_SURROGATE, p, reason, place);
        if (p + 6 >= end || (p + 7 == end && p[6] == '\\')) return tw_why(TW_WHY_UNTERMINATED, quote, reason, place);
        if (p[6] != '\\' || p[7] != 'u') return tw_why(TW_WHY_SURROGATE, p, reason, place);
        code = tw_hex_of(p + 8, end);
        if (code == -2) return tw_why(TW_WHY_UNTERMINATED, quote, reason, place);
        if (code < 0) return tw_why(TW_WHY_ESCAPE, p + 6, reason, place);
        if (code < 0xDC00 || code > 0xDFFF) return tw_why(TW_WHY_SURROGATE, p, reason, place);
        p += 12;
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

/* Why the object at p is bad, which the reader refused at `fault`: all before that is good. Walks there to find out what was
 * expected. 0: too deep to say. */
static int tw_why_object(const tw_json *x, const uint8_t *p, const uint8_t *end, const uint8_t *fault, int *reason, const uint8_t **place)
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
            if (p >= end || fault <= p) return tw_why_string(quote, end, x->hard, reason, place);
        } else if (*p == '{' || *p == '[') {
            if (++depth >= TW_DEEPEST_TORN) return 0;
            uint64_t bit = (uint64_t)1 << (depth & 63);
            arrays[depth >> 6] = *p == '[' ? arrays[depth >> 6] | bit : arrays[depth >> 6] & ~bit;
        } else if (*p == '}' || *p == ']') depth--;
        before = *p++;
    }
    if (p >= end) return tw_why(TW_WHY_CUT_OFF, end, reason, place);
    int value = before == ':' || before == '[' || (before == ',' && arrays[depth >> 6] >> (depth & 63) & 1);
    if (*p == '"') {
        const uint8_t *close = p + 1;
        if (before != '{' && before != ',') return tw_why_here(p, end, reason, place);
        while (close < end && *close != '"') close += *close == '\\' ? 2 : 1;
        return tw_why((size_t)(close - p - 1) > x->shape->key ? TW_WHY_KEY : TW_WHY_DUP, p, reason, place);
    }
    if (!value) return tw_why_here(p, end, reason, place);
    if (*p == '{' || *p == '[') return tw_why(TW_WHY_DEEP, p, reason, place);
    if (*p == '-' || (uint8_t)(*p - '0') < 10) return tw_why_number(p, end, reason, place);
    if (*p == 't' || *p == 'f' || *p == 'n')
        return x->cut ? tw_why(TW_WHY_CUT_OFF, end, reason, place) : tw_why(TW_WHY_JSON, p, reason, place);
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

/* Why [p, end) is no object; 0 where it may be one. */
static int tw_why_torn(tw_lines *k, const uint8_t *p, const uint8_t *end, const uint8_t *hard, int *reason, const uint8_t **place)
{
    tw_json *x = &k->json;
    const uint8_t *at = tw_skip(p, end), *behind;
    if ((size_t)(end - p) > k->limit) return tw_why(TW_WHY_LARGE, p + k->limit, reason, place);
    if (at >= end || *at != '{' || (at == p && end - p >= 2 && !p[1])) return tw_why_opening(p, at, end, reason, place);
    behind = tw_json_parse(x, at, end, hard);
    if (!behind) return x->no_memory ? 0 : tw_why_object(x, at, end, x->fault, reason, place);
    behind = tw_skip(behind, end);
    if (behind >= end) return 0;
    if (*behind >= 0x80 && !tw_utf8_size(behind, end)) return tw_why_bytes(behind, end, reason, place);
    return tw_why(TW_WHY_TRAILING, behind, reason, place);
}

/* Judges damaged bytes: a reject of the first wire whose signs they have, or nobody's (TW_TRIED_OTHER). Returns 0 if a call of
 * Python raised, else 1. */
static int tw_judge_torn(tw_lines *k, const uint8_t *p, size_t size, const uint8_t *hard, tw_verdict *verdict)
{
    const tw_torn_table *t = k->plan->signs;
    uint64_t keys, values;
    int reason, sign = 0;
    const uint8_t *place;
    tw_find_signs(t, p, p + size, &keys, &values);
    for (int wire = 0; wire < k->plan->wire_count; wire++) {
        int there = 1, any = 0;
        if (t->until[wire] < 0) return k->torn(k->context, p, size, 0, verdict);
        for (; sign < t->until[wire]; sign++) {
            const tw_torn_sign *s = &t->signs[sign];
            there &= s->values ? (values & s->values) != 0 : tw_ones_64(keys & s->keys) >= s->least;
            if (!t->last[sign]) continue;
            any |= there;
            there = 1;
        }
        if (!any && !(keys & t->doubts[wire])) continue;
        if (!any || !tw_why_torn(k, p, p + size, hard, &reason, &place) || t->reasons[reason] == TW_NO_SIGN)
            return k->torn(k->context, p, size, 0, verdict);
        verdict->what = TW_TRIED_REJECT;
        verdict->wire = wire;
        verdict->reason = t->reasons[reason];
        verdict->fault = (size_t)(place - p);
        return 1;
    }
    verdict->what = TW_TRIED_OTHER;
    return 1;
}

#endif
