/* Judges damaged JSON: of which wire it was a message, why it is no JSON object, and where. The answer is that of Judgement.torn in
 * json/plan.py, which is asked only where this is not certain.
 *
 * A wire is known by its signs: keys in quotes and beginnings of their strings (Sign in json/plan.py), compiled into a table. The
 * reader (json/parse.h) says how far the text is good; json/why.h says what is wrong there. */
#ifndef TURNWIRE_JSON_TORN_H
#define TURNWIRE_JSON_TORN_H

#include "region.h"

enum { TW_MOST_SIGN_KEYS = 64, TW_MOST_SIGN_VALUES = 64, TW_MOST_SIGNS = 24, TW_NO_SIGN = 255 };

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

/* Why [p, end) is no object; 0 where it may be one. */
static int tw_why_torn(tw_lines *k, const uint8_t *p, const uint8_t *end, const uint8_t *hard, int *reason, const uint8_t **place)
{
    tw_json *x = &k->json;
    const uint8_t *behind = NULL;
    if ((size_t)(end - p) > k->limit) return tw_why(TW_WHY_LARGE, p + k->limit, reason, place);
    if (tw_is_opened(p, end)) {
        if ((behind = tw_json_parse(x, tw_skip(p, end), end, hard))) behind = tw_skip(behind, end);
        if (behind ? behind >= end : x->no_memory) return 0;
    }
    return tw_why_text(p, end, hard, x->shape->key, behind ? behind : x->fault, behind != NULL, reason, place);
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
