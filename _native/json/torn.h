/* Judges damaged JSON: of which wire it was a message, why it is no JSON object, and where. The answer is that of Classifier.torn
 * in json/plan.py, whose torn_of is asked only about wires of which this is not certain.
 *
 * A wire is known by its signs: keys in quotes and beginnings of their strings (Sign in json/plan.py), compiled into one table
 * for all wires, so that bytes are searched once, however many wires there are. The reader (json/parse.h) says how far the text
 * is good; json/why.h says what is wrong there. */
#ifndef TURNWIRE_JSON_TORN_H
#define TURNWIRE_JSON_TORN_H

#include "region.h"

enum { TW_SIGN_WORDS = 8, TW_MOST_SIGN_TEXTS = 64 * TW_SIGN_WORDS, TW_NO_REASON = 255 };

/* A key in quotes, and the beginnings of its strings that are told apart. next: one behind the number of another key with the same
 * first letter, or 0. */
typedef struct { tw_token text; uint16_t next, first_value, values; } tw_sign_key;
/* cased: small and capital letters differ. */
typedef struct { tw_token text; uint8_t cased; } tw_sign_value;
/* One sign: `least` of some keys or values are there, which are bits: first the keys, then the values. last: of an alternative, all of
 * whose signs have to be there. */
typedef struct { uint64_t texts[TW_SIGN_WORDS]; uint8_t least, last; } tw_torn_sign;

typedef struct tw_torn_table {
    const tw_sign_key *keys;
    const tw_sign_value *values;
    const tw_torn_sign *signs;               /* wire by wire, as tw_wire says */
    int key_count, words;                    /* words: of the bits that are used */
    uint64_t torn[TW_SIGN_WORDS];            /* the keys without which nothing was a message */
    uint16_t first[256];                     /* by the first letter: one behind the number of a key, or 0 */
    uint8_t reasons[TW_WHYS];                /* by TW_WHY_...: the code of the reason in rejects; TW_NO_REASON: none */
} tw_torn_table;

/* True if the bytes are equal but for the case of letters. */
static int tw_same_letters(const uint8_t *p, const uint8_t *q, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t a = p[i], b = q[i];
        if (a != b && !((a ^ b) == 32 && (uint8_t)((a | 32) - 'a') < 26)) return 0;
    }
    return 1;
}

/* Sets the bits of the keys and values of the table that are in [p, end). */
static void tw_find_signs(const tw_torn_table *t, const uint8_t *p, const uint8_t *end, uint64_t *found)
{
    for (; (p = (const uint8_t *)memchr(p, '"', (size_t)(end - p))) && end - p > 1; p++)
        for (int i = t->first[p[1]]; i; i = t->keys[i - 1].next) {
            const tw_sign_key *key = &t->keys[i - 1];
            if ((size_t)(end - p) < key->text.size || memcmp(p, key->text.text, key->text.size)) continue;
            const uint8_t *q = tw_skip(p + key->text.size, end);
            found[(i - 1) >> 6] |= (uint64_t)1 << ((i - 1) & 63);
            if (q >= end || *q != ':' || (q = tw_skip(q + 1, end)) >= end || *q++ != '"') continue;
            for (int v = key->first_value; v < key->first_value + key->values; v++) {
                const tw_token *text = &t->values[v].text;
                int bit = t->key_count + v;
                if ((size_t)(end - q) < text->size || (text->size && (*q ^ *text->text) & ~32)) continue;
                if (t->values[v].cased ? !memcmp(q, text->text, text->size) : tw_same_letters(q, text->text, text->size))
                    found[bit >> 6] |= (uint64_t)1 << (bit & 63);
            }
        }
}

/* True if all signs of one alternative are there, of those from one number to another. */
static int tw_is_signed(const tw_torn_table *t, const uint64_t *found, int sign, int until)
{
    for (int there = 1; sign < until; sign++) {
        const tw_torn_sign *s = &t->signs[sign];
        int count = 0;
        for (int w = 0; there && w < t->words; w++)
            for (uint64_t bits = found[w] & s->texts[w]; bits; bits &= bits - 1) count++;
        there &= count >= s->least;
        if (s->last && there) return 1;
        there |= s->last;
    }
    return 0;
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

/* Judges damaged bytes: a reject of the first wire whose signs they have, or nobody's (TW_TRIED_OTHER). too_large: what starts here is
 * longer than the limit. Returns 0 if a call of Python raised, else 1. */
static int tw_judge_torn(tw_lines *k, const uint8_t *p, size_t size, int too_large, const uint8_t *hard, tw_verdict *verdict)
{
    const tw_torn_table *t = k->plan->signs;
    uint64_t found[TW_SIGN_WORDS] = { 0 }, torn = 0, asked_for = 0;
    int reason = TW_WHY_LARGE, sign = 0;
    const uint8_t *place = p + k->limit;
    tw_find_signs(t, p, p + size, found);
    verdict->what = TW_TRIED_OTHER;
    for (int w = 0; w < t->words; w++) torn |= found[w] & t->torn[w], asked_for |= t->torn[w];
    for (int wire = 0; (torn || !asked_for) && wire < k->plan->wire_count; wire++) {
        const tw_wire *one = &k->plan->wires[wire];
        int any = tw_is_signed(t, found, sign, one->signs), asked = !any && tw_is_signed(t, found, one->signs, one->asked);
        sign = one->asked;
        if (any && (too_large || tw_why_torn(k, p, p + size, hard, &reason, &place)) && t->reasons[reason] != TW_NO_REASON)
            *verdict = (tw_verdict){ TW_TRIED_REJECT, wire, t->reasons[reason], (size_t)(place - p) };
        else if ((any || asked) && !k->torn(k->context, wire, p, size, too_large, verdict)) return 0;
        if (verdict->what != TW_TRIED_OTHER) return 1;
    }
    return 1;
}

#endif
