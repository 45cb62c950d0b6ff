/* Judges an object that was read: of which wire it is a message, or why that wire refuses it, and where. What is not certain,
 * the wires' own reading decides (Classifier.whole of json/plan.py).
 *
 * The needs of a variant stand in the order in which `decode` checks them: the first that is not met gives reason and place.
 * An object that no wire takes is a reject of the first that claims it, by its table of signs. */
#ifndef TURNWIRE_JSON_REFUSALS_H
#define TURNWIRE_JSON_REFUSALS_H

#include "plan.h"
#include "wrapper.h"

enum { TW_SURELY, TW_REFUSED, TW_MAYBE, TW_NOT };

/* TW_SURELY: a message of this wire (its place in the plan) and variant; TW_REFUSED: of this wire, refused for this reason. */
typedef struct { int wire, variant, reason; const uint8_t *fault; } tw_judged;

/* The start of a noted value, its quote included. */
static inline const uint8_t *tw_value_start(const tw_value *v) { return v->p - (v->b.is & TW_IS_STRING ? 1 : 0); }

/* --- values in arrays and objects --- */

/* Behind the good value at p, which stands in an array or an object. */
static const uint8_t *tw_behind_value(const uint8_t *p, const uint8_t *hard)
{
    for (int depth = 0;; p++) {
        switch (*p) {
        case '"':
            p = tw_closing_quote(p + 1, hard);
            if (!depth) return p + 1;
            continue;
        case '{': case '[':
            depth++;
            continue;
        case '}': case ']':
            if (!depth) return p;            /* behind a number or a word */
            if (!--depth) return p + 1;
            continue;
        case ',': case ' ': case '\t': case '\n': case '\r':
            if (!depth) return p;
        }
    }
}

/* The next value from p on, of a good array or object that ends before `end`; its key, where it has one. NULL: no more. */
static const uint8_t *tw_next_value(const uint8_t *p, const uint8_t *end, const uint8_t *hard, int keyed, tw_name *key)
{
    while (p < end && (*p <= ' ' || *p == ',')) p++;
    if (p == end || *p == ']' || *p == '}') return NULL;
    if (!keyed) return p;
    key->p = p + 1;
    p = tw_closing_quote(p + 1, hard) + 1;
    key->size = (size_t)(p - 1 - key->p);
    while (*p <= ' ' || *p == ':') p++;
    return p;
}

/* The first value, in the order of the nodes, of a known member of the object at p that has to be a string and is none; or NULL. */
static const uint8_t *tw_wrong_member(const tw_json *x, int items, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *found = NULL;
    int first = TW_MOST_NODES;
    tw_name key = { 0 };
    for (p++; (p = tw_next_value(p, end, x->hard, 1, &key)); p = tw_behind_value(p, x->hard)) {
        if (*p == '"') continue;
        key.hash = tw_name_hash(key.p, key.size);
        const tw_key_entry *entry = tw_known_key(&x->shape->tables[items], &key);
        if (!entry || !x->shape->nodes[entry->node].text || entry->node >= first) continue;
        first = entry->node;
        found = p;
    }
    return found;
}

/* The first item of an array that is no string (part: TW_IS_TEXTS) or no good record (TW_IS_RECORDS), or the first value of an
 * object that is no number (TW_IS_NUMBERS); or NULL. */
static const uint8_t *tw_wrong_item(const tw_json *x, const tw_node *node, const tw_value *v, unsigned part)
{
    const uint8_t *end = v->p + v->size, *wrong;
    tw_name key;
    for (const uint8_t *p = v->p + 1; (p = tw_next_value(p, end, x->hard, part == TW_IS_NUMBERS, &key)); p = tw_behind_value(p, x->hard)) {
        int number = *p == '-' || (uint8_t)(*p - '0') < 10;
        if (part == TW_IS_NUMBERS ? !number : *p != (part == TW_IS_TEXTS ? '"' : '{')) return p;
        if (part == TW_IS_RECORDS && node->items >= 0 && (wrong = tw_wrong_member(x, node->items, p, end))) return wrong;
    }
    return NULL;
}

/* How many members the good object [p, end) has. */
static int tw_count_members(const uint8_t *p, const uint8_t *end, const uint8_t *hard)
{
    tw_name key;
    int count = 0;
    for (p++; (p = tw_next_value(p, end, hard, 1, &key)); p = tw_behind_value(p, hard)) count++;
    return count;
}

/* --- why a wire refuses --- */

/* True if a text has surely not the form that its node asks for, for `decode` either. */
static int tw_is_misformed(const tw_node *node, const tw_value *v)
{
    uint8_t scratch[TW_MOST_ESCAPED];
    size_t size;
    const uint8_t *p = tw_unescaped(v, scratch, sizeof scratch, &size);
    if (!p) return 0;
    switch (node->form) {
    case TW_FORM_TIME: return !tw_may_be_rfc3339(p, size);
    case TW_FORM_CHANNEL: return tw_is_no_channel(p, size);
    default: return node->form != TW_FORM_ANY;
    }
}

/* True if one of the texts in the message itself is no object, as it would be in a schema of the message. */
static int tw_has_text(const tw_json *x, const tw_plan *plan, const tw_variant *variant)
{
    const tw_need *need = plan->needs + variant->first_need, *last = need + variant->needs;
    for (; need < last; need++) {
        const tw_value *v = tw_noted(x, need->node);
        if (v && need->parent == TW_NO_NODE && need->is & (TW_IS_STRING | TW_IS_GOOD) && !(v->b.is & TW_IS_OBJECT)) return 1;
    }
    return 0;
}

/* The first need of a variant that the object at p does not meet: sets reason and place. 0 where `decode` may say otherwise. */
static int tw_find_fault(const tw_json *x, const tw_plan *plan, const tw_variant *variant, const uint8_t *p, tw_judged *found)
{
    const tw_need *need = plan->needs + variant->first_need, *last = need + variant->needs;
    for (; need < last; need++) {
        const tw_value *v = tw_noted(x, need->node), *other;
        const tw_node *node = &x->shape->nodes[need->node];
        if (!v) {
            if (!need->needed || !tw_asked(x, need)) continue;
            other = need->instead == TW_NO_NODE ? NULL : tw_noted(x, need->instead);
            int look_alike = other && other->b.is & TW_IS_OBJECT;
            found->fault = look_alike ? other->p : need->parent == TW_NO_NODE ? p : x->v[need->parent].p;
            found->reason = look_alike ? plan->look_alike : need->missing;
            return found->reason != 0;
        }
        unsigned is = v->b.is, part = need->is & (is & TW_IS_OBJECT ? TW_IS_NUMBERS : is & TW_IS_ARRAY ? TW_IS_TEXTS | TW_IS_RECORDS : 0);
        int fits = (is & need->is) != 0;
        if (fits && (!need->worded || tw_has_word(need, v))) continue;
        int formed = is & TW_IS_STRING && need->is & TW_IS_GOOD;
        int below = is & TW_IS_NEGATIVE && !(is & TW_IS_MINUS_ZERO) && need->is & TW_IS_COUNT;
        if (formed && !fits && !tw_is_misformed(node, v)) return 0;
        found->reason = formed || below ? need->bad : need->wrong;
        found->fault = part ? tw_wrong_item(x, node, v, part) : tw_value_start(v);
        return found->reason && found->fault;
    }
    return 0;
}

/* The same of a wire and the variant that tw_variant_of gave. */
static int tw_why_refused(const tw_json *x, const tw_plan *plan, const tw_wire *wire, int variant, const uint8_t *p, tw_judged *found)
{
    const tw_variant *variants = &plan->variants[wire->first_variant];
    if (wire->schemas && !tw_has_text(x, plan, &variants[variant < 0 ? 0 : variant])) return 0;
    if (wire->choose == TW_CHOOSE_MARKS && variant < 0) {
        found->reason = plan->unknown_kind;
        found->fault = p;
        return found->reason != 0;
    }
    if (wire->choose == TW_CHOOSE_MARKS && variant > 1) /* a receipt with marks of another message may be that */
        for (int i = 0; i < wire->mark_count[0]; i++)
            if (tw_noted(x, wire->marks[0][i])) return 0;
    return tw_find_fault(x, plan, &variants[variant < 0 ? 0 : variant], p, found); /* without a word, all ask for one */
}

/* --- whose it is --- */

/* True if a value begins with a text: that of a string, of which a closing quote is the end; or "{", of an object; "{}": of an empty
 * one; "": of any but null. */
static int tw_begins_with(const tw_value *v, const tw_token *opening, int cased)
{
    uint8_t said[4];
    const uint8_t *end = v->p + v->size;
    size_t at = 0;
    if (!opening->size) return !(v->b.is & TW_IS_NULL);
    if (*opening->text == '{' || !(v->b.is & TW_IS_STRING))
        return *opening->text == '{' && v->b.is & (opening->size == 1 ? TW_IS_OBJECT : TW_IS_EMPTY);
    for (const uint8_t *p = v->p; at < opening->size;) {
        int n = 1;
        int closing = opening->text[at] == '"' && at + 1 == opening->size;
        if (closing || p >= end) return closing && p >= end;
        if (*p == '\\') n = tw_unescape_one(&p, end, said);
        else said[0] = *p++;
        for (int i = 0; i < n && at < opening->size; i++, at++) {
            uint8_t a = opening->text[at], b = said[i];
            if (a != b && (cased || (a ^ b) != 32 || (uint8_t)((a | 32) - 'a') > 25)) return 0;
        }
    }
    return 1;
}

/* True if the good object [p, end) has all signs of one alternative of a wire. */
static int tw_is_claimed(const tw_json *x, const tw_plan *plan, const tw_wire *wire, const uint8_t *p, const uint8_t *end)
{
    const tw_claim *sign = plan->claims + wire->first_claim, *last = sign + wire->claims;
    for (int there = 1; sign < last; sign++) {
        int count = 0;
        for (int i = 0; there && i < sign->nodes; i++) {
            const tw_value *v = tw_noted(x, sign->node[i]);
            int begins = !sign->words;
            for (int w = 0; v && w < sign->words && !begins; w++) begins = tw_begins_with(v, &sign->word[w], sign->cased);
            count += v && begins;
        }
        there = there && count >= sign->least && count <= sign->most;
        if (there && sign->others < 255) there = tw_count_members(p, end, x->hard) - count <= sign->others;
        if (!sign->last) continue;
        if (there) return 1;
        there = 1;
    }
    return 0;
}

/* The verdict on the good object [p, end), which was read last. TW_MAYBE: ask the wires themselves; TW_NOT: nobody's. */
static int tw_judge(const tw_json *x, const tw_plan *plan, const uint8_t *p, const uint8_t *end, tw_judged *found)
{
    int near = 0;
    for (int w = 0; w < plan->wire_count; w++) {
        const tw_wire *wire = &plan->wires[w];
        if (!tw_may_be(x, wire)) continue;
        if (x->odd || tw_doubtful(x, wire)) return TW_MAYBE;
        const int variant = tw_variant_of(x, wire);
        *found = (tw_judged){ .wire = w, .variant = variant };
        if (variant >= 0 && tw_meets(x, plan, &plan->variants[wire->first_variant + variant])) return TW_SURELY;
        if (!plan->claims || !tw_why_refused(x, plan, wire, variant, p, found)) return TW_MAYBE;
        near = 1;
    }
    for (int w = 0; near && w < plan->wire_count; w++) {
        const tw_wire *wire = &plan->wires[w];
        if (!tw_is_claimed(x, plan, wire, p, end)) continue;
        *found = (tw_judged){ .wire = w };
        return tw_why_refused(x, plan, wire, tw_variant_of(x, wire), p, found) ? TW_REFUSED : TW_MAYBE;
    }
    return TW_NOT;
}

#endif
