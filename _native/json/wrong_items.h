/* Finds the first value for which a wire's own reading refuses an array or an object: one that is no text, no record or no
 * number where all have to be. */
#ifndef TURNWIRE_JSON_WRONG_ITEMS_H
#define TURNWIRE_JSON_WRONG_ITEMS_H

#include "steps.h"
#include "wrapper.h"

enum { TW_MOST_PLACES = 16 };                /* of values where a fault may be */

/* What matters of such values: two bytes each, whose value it is and its kind; and where each starts. */
typedef struct {
    int count, full;                         /* full: there were more */
    uint8_t kinds[2 * TW_MOST_PLACES];
    const uint8_t *places[TW_MOST_PLACES];
} tw_wrong;

/* The kind of the good value at p, by its first byte. */
static inline uint8_t tw_first_byte(const uint8_t *p) { return *p == '-' || (uint8_t)(*p - '0') < 10 ? '0' : *p; }

static void tw_add_wrong(tw_wrong *wrong, uint8_t whose, const uint8_t *p)
{
    if (wrong->count == TW_MOST_PLACES) { wrong->full = 1; return; }
    wrong->kinds[2 * wrong->count] = whose;
    wrong->kinds[2 * wrong->count + 1] = tw_first_byte(p);
    wrong->places[wrong->count++] = p;
}

/* Behind the good value at p, which stands in an array or an object. */
static const uint8_t *tw_behind_value(const uint8_t *p, const uint8_t *hard)
{
    for (int depth = 0;;) {
        switch (*p) {
        case '"':
            p = tw_closing_quote(p + 1, hard) + 1;
            break;
        case '{': case '[':
            depth++;
            p++;
            continue;
        case '}': case ']':
            if (!depth) return p;            /* behind a number or a word */
            depth--;
            p++;
            break;
        case ',': case ' ': case '\t': case '\n': case '\r':
            if (!depth) return p;
            p++;
            continue;
        default:
            p++;
            continue;
        }
        if (!depth) return p;
    }
}

/* The next value behind p, of a good array or object that ends before `end`; its key, where it has one. NULL: no more. */
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

/* Whether a known member of the item at p, which has to be a string, is none: then all its known members are added. */
static int tw_wrong_members(const tw_json *x, int items, const uint8_t *p, const uint8_t *end, tw_wrong *wrong)
{
    int before = wrong->count, bad = 0;
    tw_name key = { 0 };
    for (p++; (p = tw_next_value(p, end, x->hard, 1, &key)); p = tw_behind_value(p, x->hard)) {
        key.hash = tw_name_hash(key.p, key.size);
        const tw_key_entry *entry = tw_known_key(&x->shape->tables[items], &key);
        if (!entry) continue;
        bad |= x->shape->nodes[entry->node].text && *p != '"';
        tw_add_wrong(wrong, (uint8_t)entry->node, p);
    }
    if (!bad) wrong->count = before;
    return bad;
}

/* The first item of the array v that is no string, and the first that is no good record (see TW_IS_RECORDS); or, of an
 * object, the first value that is no number. */
static void tw_find_wrong(const tw_json *x, const tw_node *node, const tw_value *v, unsigned parts, tw_wrong *wrong)
{
    const uint8_t *end = v->p + v->size;
    int object = (v->b.is & TW_IS_OBJECT) != 0;
    unsigned open = parts & (object ? TW_IS_NUMBERS : TW_IS_TEXTS | TW_IS_RECORDS);
    tw_name key = { 0 };
    for (const uint8_t *p = v->p + 1; open && (p = tw_next_value(p, end, x->hard, object, &key)); p = tw_behind_value(p, x->hard)) {
        uint8_t first = tw_first_byte(p);
        unsigned bad = first == '0' ? 0 : TW_IS_NUMBERS;
        if (!object) bad = (first == '"' ? 0 : TW_IS_TEXTS) | (first == '{' ? 0 : TW_IS_RECORDS);
        if (bad & open) tw_add_wrong(wrong, (uint8_t)((bad & open) >> 8), p);
        if (first == '{' && open & TW_IS_RECORDS && node->items >= 0 && tw_wrong_members(x, node->items, p, end, wrong))
            bad |= TW_IS_RECORDS;
        open &= ~bad;
    }
}

#endif
