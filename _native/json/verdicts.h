/* What the wires' own reading said of objects that the plan is not sure of. By what WirePlan promises it depends on little
 * of an object: which known keys it has, how many keys there are, what kind of value stands behind each, and of few values
 * also on what they say. All that is its signature, compared byte by byte: an object with the signature of one that was
 * asked about is judged as that was, and the place of its fault is that of the same value. */
#ifndef TURNWIRE_JSON_VERDICTS_H
#define TURNWIRE_JSON_VERDICTS_H

#include "region.h"

enum { TW_VERDICTS = 256, TW_SIGNATURE = 768, TW_MOST_SAID = 128 };
enum { TW_NO_SIGIL = 1, TW_NO_SLASH = 2 };   /* why a text is no channel */

typedef struct {
    size_t size;
    uint64_t said[TW_NODE_WORDS];            /* a bit for each node of which the signature has the text */
    uint8_t bytes[TW_SIGNATURE];
} tw_signature;

typedef struct tw_kept_verdict {
    size_t size;                             /* of the signature; 0: nothing is kept here */
    tw_verdict verdict;                      /* fault: bytes behind the start of the value of ... */
    int node;                                /* ... this node, or of the object (-1) */
    uint8_t bytes[TW_SIGNATURE];
} tw_kept_verdict;

/* Where a noted value starts, its quote included. */
static inline const uint8_t *tw_value_start(const tw_value *v) { return v->p - (v->b.is & TW_IS_STRING ? 1 : 0); }

/* The members of the good object [p, end), 255 for more. */
static uint8_t tw_count_members(const uint8_t *p, const uint8_t *end, const uint8_t *hard)
{
    int depth = 0, count = 0;
    for (; p < end; p++) {
        switch (*p) {
        case '"':
            for (p++; *(p = tw_plain(p, hard)) != '"'; p++) p += *p == '\\';
            break;
        case ':': count += depth == 1; break;
        case '{': case '[': depth++; break;
        case '}': case ']': depth--;
        }
    }
    return (uint8_t)(count < 255 ? count : 255);
}

/* Why a text has not the form that its node asks for, as far as that is all that a wire says of it; -1: what it says may matter. */
static int tw_class_of(const tw_node *node, const tw_value *v)
{
    if (v->b.escaped) return -1;
    switch (node->form) {
    case TW_FORM_UUID: case TW_FORM_WORD: return 0;
    case TW_FORM_TIME: return !v->size || (uint8_t)(*v->p - '0') >= 10 ? 0 : -1;
    case TW_FORM_CHANNEL:
        if (v->size < 3 || memcmp(v->p, "\xE2\xAB\xBB", 3)) return TW_NO_SIGIL;
        return memchr(v->p, '/', v->size) ? -1 : TW_NO_SLASH;
    }
    return -1;
}

/* What a wire's `claims` asks of a value, in a byte; -1: all of what it says. */
static int tw_asked_of(const tw_plan *plan, const tw_ask *ask, const tw_value *v, const uint8_t *hard)
{
    if (ask->how == TW_ASK_NOTHING) return 0;
    if (ask->how == TW_ASK_ALL) return -1;
    if (!(v->b.is & TW_IS_STRING)) return 0;
    if (ask->how == TW_ASK_OPENING) {
        size_t first = v->size < ask->opening.size ? v->size : ask->opening.size;
        if (memchr(v->p, '\\', first)) return -1;
        return first == ask->opening.size && memcmp(v->p, ask->opening.text, first) == 0;
    }
    if (v->b.escaped) return -1;
    return tw_word_of(plan->shape.words + ask->first_word, ask->words, v->p, v->size, hard) + 1;
}

/* Whether `decode` may look at more of a value than its kind: at what is in it, since some variant takes only some. */
static inline int tw_in_part(const tw_ask *ask, const tw_value *v)
{
    unsigned parts = v->b.is & TW_IS_STRING   ? TW_IS_GOOD
                     : v->b.is & TW_IS_OBJECT ? TW_IS_NUMBERS
                     : v->b.is & TW_IS_ARRAY  ? TW_IS_TEXTS | TW_IS_RECORDS
                                              : 0;
    parts &= ask->parts;
    return (v->b.is & parts) != parts;
}

/* The signature of the object [p, end) that was read last; 0 where it has none. */
static int tw_sign(const tw_json *x, const tw_plan *plan, const uint8_t *p, const uint8_t *end, tw_signature *sign)
{
    uint8_t *to = sign->bytes, *most = to + TW_SIGNATURE - 8;
    if (!plan->asks || x->odd) return 0;
    memset(sign->said, 0, sizeof sign->said);
    *to++ = tw_count_members(p, end, x->hard);
    for (int w = 0; w < TW_NODE_WORDS; w++) {
        for (uint64_t nodes = x->noted[w]; nodes; nodes &= nodes - 1) {
            int node = w * 64 + tw_low_zeros(nodes);
            const tw_value *v = &x->v[node];
            const tw_ask *ask = &plan->asks[node];
            int class = 0, asked = tw_asked_of(plan, ask, v, x->hard);
            if (to > most) return 0;
            if (tw_in_part(ask, v)) class = v->b.is & TW_IS_STRING ? tw_class_of(&x->shape->nodes[node], v) : -1;
            *to++ = (uint8_t)node;
            *to++ = (uint8_t)v->b.is;
            *to++ = (uint8_t)(v->b.is >> 8);
            *to++ = v->b.word;
            *to++ = (uint8_t)class;
            *to++ = (uint8_t)asked;
            if (class >= 0 && asked >= 0) continue;
            if (v->size > TW_MOST_SAID || v->size + 1 > (size_t)(most - to)) return 0;
            *to++ = (uint8_t)v->size;
            memcpy(to, v->p, v->size);
            to += v->size;
            sign->said[w] |= nodes & -nodes;
        }
    }
    sign->size = (size_t)(to - sign->bytes);
    return 1;
}

/* Where what was said of a signature is kept; NULL where there is no memory. */
static tw_kept_verdict *tw_verdict_place(tw_lines *k, const tw_signature *sign)
{
    if (!k->verdicts) k->verdicts = (tw_kept_verdict *)calloc(TW_VERDICTS, sizeof(tw_kept_verdict));
    return k->verdicts ? &k->verdicts[tw_name_hash(sign->bytes, sign->size) % TW_VERDICTS] : NULL;
}

/* What was said of an object like the one at p that was read last: 0 where none was. */
static int tw_said_before(tw_lines *k, const tw_signature *sign, const uint8_t *p, tw_verdict *verdict)
{
    const tw_kept_verdict *kept = tw_verdict_place(k, sign);
    if (!kept || kept->size != sign->size || memcmp(kept->bytes, sign->bytes, sign->size)) return 0;
    *verdict = kept->verdict;
    if (kept->node >= 0) verdict->fault += (size_t)(tw_value_start(&k->json.v[kept->node]) - p);
    return 1;
}

/* Keeps what was said of the object at p, where the fault's place is one that can be found again. */
static void tw_keep_said(tw_lines *k, const tw_signature *sign, const uint8_t *p, const tw_verdict *verdict)
{
    const tw_json *x = &k->json;
    int found = -1;
    size_t start = 0;
    for (int node = 0; node < TW_MOST_NODES && verdict->fault; node++) {
        const tw_value *v = &x->v[node];
        if (!(x->noted[node >> 6] >> (node & 63) & 1)) continue;
        size_t from = (size_t)(tw_value_start(v) - p);
        int said = sign->said[node >> 6] >> (node & 63) & 1;
        if (from != verdict->fault && !(said && from < verdict->fault && verdict->fault < from + v->size)) continue;
        found = node;
        start = from;
        if (from == verdict->fault) break;
    }
    tw_kept_verdict *kept = found >= 0 || !verdict->fault ? tw_verdict_place(k, sign) : NULL;
    if (!kept) return;
    kept->size = sign->size;
    memcpy(kept->bytes, sign->bytes, sign->size);
    kept->verdict = *verdict;
    kept->verdict.fault -= start;
    kept->node = found;
}

#endif
