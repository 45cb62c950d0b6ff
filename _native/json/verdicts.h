/* Remembers the wires' own judgement of objects that the plan is not sure of. By what WirePlan promises it depends on little
 * of an object: which known keys it has, how many keys there are, what kind of value stands behind each, and of few values
 * also on what they say; of an array of texts, say, on the first item that is none. All that is its signature, compared byte
 * by byte: an object with the signature of one that was asked about is judged as that was, and the place of its fault is that
 * of the same value. */
#ifndef TURNWIRE_JSON_VERDICTS_H
#define TURNWIRE_JSON_VERDICTS_H

#include "region.h"
#include "wrong_items.h"

enum { TW_VERDICT_BITS = 8, TW_VERDICT_WAYS = 4, TW_SIGNATURE = 768, TW_MOST_SAID = 128 };

typedef struct {
    size_t size;
    uint64_t said[TW_NODE_WORDS];            /* a bit for each node of which the signature has the text */
    tw_wrong wrong;                          /* what stands in arrays and objects in place of what they should have */
    uint8_t bytes[TW_SIGNATURE];
} tw_signature;

typedef struct tw_kept_verdict {
    size_t size;                             /* of the signature; 0: nothing is kept here */
    tw_verdict verdict;                      /* fault: bytes behind the start of the value of ... */
    int node, place;                         /* ... this node, or this one in tw_wrong.places, or of the object (both -1) */
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
            p = tw_closing_quote(p + 1, hard);
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
    uint8_t scratch[TW_MOST_SAID];
    const uint8_t *p = v->p;
    size_t size = v->size;
    int fault = 0;
    if (node->form == TW_FORM_UUID) return 0;
    if (v->b.escaped) {
        if (size > sizeof scratch) return -1;
        size = tw_unescape(p, p + size, scratch);
        p = scratch;
    }
    switch (node->form) {
    case TW_FORM_WORD: return v->b.escaped ? -1 : 0;
    case TW_FORM_TIME: return tw_may_be_rfc3339(p, size) ? -1 : 0;
    case TW_FORM_CHANNEL: fault = tw_why_no_channel(p, size);
    }
    return fault ? fault : -1;
}

/* Whether a text begins with what is looked for. */
static int tw_begins_with(const tw_value *v, const tw_token *opening)
{
    uint8_t said[4];
    const uint8_t *end = v->p + v->size;
    size_t at = 0;
    for (const uint8_t *p = v->p; at < opening->size; ) {
        int n = 1;
        if (p >= end) return 0;
        if (*p == '\\') n = tw_unescape_one(&p, end, said);
        else said[0] = *p++;
        for (int i = 0; i < n && at < opening->size; i++)
            if (opening->text[at++] != said[i]) return 0;
    }
    return 1;
}

/* What a wire's `claims` asks of a value, in a byte; -1: all of what it says. */
static int tw_asked_of(const tw_plan *plan, const tw_ask *ask, const tw_value *v, const uint8_t *hard)
{
    if (ask->how == TW_ASK_NOTHING) return 0;
    if (ask->how == TW_ASK_ALL) return -1;
    if (!(v->b.is & TW_IS_STRING)) return 0;
    if (ask->how == TW_ASK_OPENING) return tw_begins_with(v, &ask->opening);
    if (v->b.escaped) return -1;
    return tw_word_of(plan->shape.words + ask->first_word, ask->words, v->p, v->size, hard) + 1;
}

/* What `decode` may look at of a value beyond its kind: at what is in it, since some variant takes only some. */
static inline unsigned tw_in_part(const tw_ask *ask, const tw_value *v)
{
    unsigned parts = v->b.is & TW_IS_STRING   ? TW_IS_GOOD
                     : v->b.is & TW_IS_OBJECT ? TW_IS_NUMBERS
                     : v->b.is & TW_IS_ARRAY  ? TW_IS_TEXTS | TW_IS_RECORDS
                                              : 0;
    parts &= ask->parts;
    return parts & ~(unsigned)v->b.is;
}

/* The signature of the object [p, end) that was read last; 0 where it has none. */
static int tw_sign(const tw_json *x, const tw_plan *plan, const uint8_t *p, const uint8_t *end, tw_signature *sign)
{
    uint8_t *to = sign->bytes, *most = to + TW_SIGNATURE - 8;
    if (!plan->asks || x->odd) return 0;
    memset(sign->said, 0, sizeof sign->said);
    sign->wrong.count = sign->wrong.full = 0;
    *to++ = tw_count_members(p, end, x->hard);
    for (int w = 0; w < x->shape->node_words; w++) {
        for (uint64_t nodes = x->noted[w]; nodes; nodes &= nodes - 1) {
            int node = w * 64 + tw_low_zeros(nodes);
            const tw_value *v = &x->v[node];
            const tw_ask *ask = &plan->asks[node];
            int class = 0, asked = tw_asked_of(plan, ask, v, x->hard);
            if (to > most) return 0;
            unsigned part = tw_in_part(ask, v);
            if (part && v->b.is & TW_IS_STRING) class = tw_class_of(&x->shape->nodes[node], v);
            else if (part) tw_find_wrong(x, &x->shape->nodes[node], v, part, &sign->wrong);
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
    size_t wrong = 2 * (size_t)sign->wrong.count;
    if (sign->wrong.full || wrong + 1 > (size_t)(sign->bytes + TW_SIGNATURE - to)) return 0;
    memcpy(to, sign->wrong.kinds, wrong);
    to += wrong;
    *to++ = (uint8_t)sign->wrong.count;
    sign->size = (size_t)(to - sign->bytes);
    return 1;
}

/* The few places where what was said of a signature may be kept; NULL where there is no memory. Signatures that differ in
 * their last bytes only, as those of wrong items do, differ in the high bits of the hash. */
static tw_kept_verdict *tw_verdict_places(tw_lines *k, const tw_signature *sign)
{
    if (!k->verdicts) k->verdicts = (tw_kept_verdict *)calloc((size_t)TW_VERDICT_WAYS << TW_VERDICT_BITS, sizeof(tw_kept_verdict));
    if (!k->verdicts) return NULL;
    return &k->verdicts[TW_VERDICT_WAYS * (tw_name_hash(sign->bytes, sign->size) >> (64 - TW_VERDICT_BITS))];
}

/* What was said of an object like the one at p that was read last: 0 where none was. */
static int tw_said_before(tw_lines *k, const tw_signature *sign, const uint8_t *p, tw_verdict *verdict)
{
    const tw_kept_verdict *kept = tw_verdict_places(k, sign);
    if (!kept) return 0;
    const tw_kept_verdict *end = kept + TW_VERDICT_WAYS;
    while (kept < end && (kept->size != sign->size || memcmp(kept->bytes, sign->bytes, sign->size))) kept++;
    if (kept == end) return 0;
    *verdict = kept->verdict;
    if (kept->place >= 0) verdict->fault += (size_t)(sign->wrong.places[kept->place] - p);
    else if (kept->node >= 0) verdict->fault += (size_t)(tw_value_start(&k->json.v[kept->node]) - p);
    return 1;
}

/* Whether p is inside a noted array: of its items only the last one is noted. */
static int tw_is_of_item(const tw_json *x, const uint8_t *p)
{
    for (int node = 0; node < 64 * x->shape->node_words; node++) {
        const tw_value *v = tw_noted(x, node);
        if (v && v->b.is & TW_IS_ARRAY && v->p < p && p < v->p + v->size) return 1;
    }
    return 0;
}

/* The place in tw_wrong.places of the fault, or -1. */
static int tw_wrong_place(const tw_wrong *wrong, const uint8_t *fault)
{
    for (int i = 0; i < wrong->count; i++)
        if (wrong->places[i] == fault) return i;
    return -1;
}

/* Keeps what was said of the object at p, where the fault's place is one that can be found again. */
static void tw_keep_said(tw_lines *k, const tw_signature *sign, const uint8_t *p, const tw_verdict *verdict)
{
    const tw_json *x = &k->json;
    int found = -1, place = tw_wrong_place(&sign->wrong, p + verdict->fault);
    size_t start = place >= 0 ? verdict->fault : 0;
    for (int node = 0; node < 64 * x->shape->node_words && verdict->fault && place < 0; node++) {
        const tw_value *v = tw_noted(x, node);
        if (!v || tw_is_of_item(x, tw_value_start(v))) continue;
        size_t from = (size_t)(tw_value_start(v) - p);
        int said = sign->said[node >> 6] >> (node & 63) & 1;
        if (from != verdict->fault && !(said && from < verdict->fault && verdict->fault < from + v->size)) continue;
        found = node;
        start = from;
        if (from == verdict->fault) break;
    }
    tw_kept_verdict *kept = found >= 0 || place >= 0 || !verdict->fault ? tw_verdict_places(k, sign) : NULL;
    if (!kept) return;
    int way = 0;
    while (way < TW_VERDICT_WAYS && kept[way].size) way++;
    kept += way < TW_VERDICT_WAYS ? (size_t)way : k->verdicts_made++ % TW_VERDICT_WAYS;
    kept->size = sign->size;
    memcpy(kept->bytes, sign->bytes, sign->size);
    kept->verdict = *verdict;
    kept->verdict.fault -= start;
    kept->node = found;
    kept->place = place;
}

#endif
