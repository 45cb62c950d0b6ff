/* Recognises objects that repeat an earlier one but for a few values. Messages of one log repeat each other: not only their
 * keys, most of their values, too. A template is the text of a message that was good, with a slot for each string, number or
 * boolean that was seen to change. Another object is good, and has the same shape, where its text is that of the template and
 * a good value of the same kind stands in each slot: nothing between the slots is judged anew. What was noted of the first
 * one is noted of the other, but for the places and for the values in slots.
 *
 * Templates are made of messages (of what tw_judge is sure), and only where no template fits. Where none does, the object is
 * read by json/object.h, which also says what is wrong with it. */
#ifndef TURNWIRE_JSON_TEMPLATES_H
#define TURNWIRE_JSON_TEMPLATES_H

#include "steps.h"

enum { TW_TEMPLATE_TEXT = 4096, TW_MOST_LEAVES = 192, TW_MOST_NOTES = 96, TW_KEY_SIZES = 64 };
/* How many templates may be made; how many fits earn another one; misses (a fit makes up for two) until none is tried for a
 * while, and for how many objects. */
enum { TW_TEMPLATE_CREDIT = 24, TW_TEMPLATE_PRICE = 32, TW_MOST_MISFITS = 32, TW_TEMPLATE_PAUSE = 2048 };

/* A string (its inside), a number or a boolean of an object: where, and whether it is a slot. */
typedef struct {
    uint16_t at, size, key, gone;            /* key: where the last key before it starts; gone: bytes in slots before it */
    uint8_t kind, slot, slots;               /* slots before it */
} tw_leaf;

typedef struct {
    tw_minute minute;                        /* the one of the last time in here */
    uint16_t before;                         /* bytes of text between the slot before it and this one */
    int16_t node;                            /* or TW_NO_TABLE */
    uint8_t kind;                            /* TW_IS_STRING, TW_IS_BOOLEAN, or TW_IS_COUNT for any number */
    uint8_t form;                            /* of its node */
    uint8_t guarded;                         /* an item that nobody noted: with escapes it might be odd */
    uint8_t word;                            /* the verdict was reached with this word and ... */
    uint16_t is;                             /* ... this kind of value */
} tw_slot;

/* A noted value that is not a slot: where it starts and ends in the text, and how many slots stand before that. */
typedef struct { uint16_t node, from, to; uint8_t from_slot, to_slot; tw_value v; } tw_note;

struct tw_template {
    int slots, notes, asked, leaves;         /* asked: so many notes are of nodes that fill a column; they come first */
    int wire, variant;                       /* the verdict */
    int id;                                  /* the number that it has for others */
    uint8_t shared[TW_TEMPLATES];               /* by id of another: so many slots, and the text before each, are the same; */
    uint8_t apart[TW_TEMPLATES];                /* an object in which one more slot of the other is filled does not fit this */
    int one_line;                            /* there is no newline in the text */
    struct tw_template *follows;             /* the one that fitted behind it last, or NULL */
    size_t size, last;                       /* of the text; of what stands behind the last slot */
    uint64_t noted[TW_NODE_WORDS];
    tw_slot slot[TW_MOST_SLOTS];
    tw_note note[TW_MOST_NOTES];
    uint8_t text[TW_TEMPLATE_TEXT + 64];        /* without what is in the slots */
    tw_leaf leaf[TW_MOST_LEAVES + 1];        /* the last one is the end */
    uint16_t sample_size;
    uint8_t sample[TW_TEMPLATE_TEXT];           /* the object that it was made of last */
};

/* --- what an object is made of --- */

/* The leaves of the good object [p, p + size); how many, or -1 where there are too many. */
static int tw_leaves_of(const uint8_t *p, size_t size, tw_leaf *leaves)
{
    const uint8_t *end = p + size, *key = p;
    int count = 0;
    for (const uint8_t *q = p; q < end;) {
        const uint8_t *start = q;
        uint8_t kind;
        if (*q == '"') {
            for (start = ++q; *(q = tw_plain(q, end)) != '"';) q += *q == '\\' ? 2 : 1;
            const uint8_t *behind = tw_skip(q + 1, end);
            kind = *behind == ':' ? 0 : TW_IS_STRING;
            if (!kind) {
                key = start;
                q++;
            }
        } else if (*q == '-' || (uint8_t)(*q - '0') < 10) {
            while (*q == '-' || *q == '+' || *q == '.' || (*q | 32) == 'e' || (uint8_t)(*q - '0') < 10) q++;
            kind = TW_IS_COUNT;
        } else if (*q == 't' || *q == 'f') {
            q += *q == 't' ? 4 : 5;
            kind = TW_IS_BOOLEAN;
        } else {
            q += *q == 'n' ? 4 : 1;
            continue;
        }
        if (!kind) continue;
        if (count == TW_MOST_LEAVES) return -1;
        leaves[count++] = (tw_leaf){ .at = (uint16_t)(start - p), .size = (uint16_t)(q - start), .key = (uint16_t)(key - p),
                                     .kind = kind };
        q += kind == TW_IS_STRING;
    }
    return count;
}

/* True if an object differs from that of a template in its leaves only, and there in no kind. */
static int tw_same_shape(const tw_template *template, const uint8_t *p, size_t size, const tw_leaf *leaves, int count)
{
    size_t here = 0, there = 0;
    if (template->leaves != count) return 0;
    for (int i = 0; i <= count; i++) {
        const tw_leaf *a = &template->leaf[i], *b = &leaves[i];
        size_t n = (i == count ? size : b->at) - here;
        if ((i == count ? template->sample_size : a->at) - there != n || memcmp(template->sample + there, p + here, n)) return 0;
        if (i == count) return 1;
        if (a->kind != b->kind) return 0;
        there = (size_t)a->at + a->size;
        here = (size_t)b->at + b->size;
    }
    return 0;
}

/* Each difference between two objects of one shape becomes a slot of `leaves`. */
static void tw_join_leaves(const tw_template *template, const uint8_t *p, tw_leaf *leaves)
{
    for (int i = 0; i < template->leaves; i++) {
        const tw_leaf *a = &template->leaf[i];
        tw_leaf *b = &leaves[i];
        b->slot |= a->slot || a->size != b->size || memcmp(template->sample + a->at, p + b->at, a->size);
    }
}

/* The leaves by the size of their key and what stands behind that: the first of each size and the one behind each, or
 * TW_MOST_LEAVES. */
typedef struct { uint8_t first[TW_KEY_SIZES], next[TW_MOST_LEAVES]; } tw_by_key;

static void tw_sort_by_key(tw_by_key *by, const tw_leaf *leaves, int count)
{
    memset(by->first, TW_MOST_LEAVES, sizeof by->first);
    while (count--) {
        size_t size = ((size_t)leaves[count].at - leaves[count].key) % TW_KEY_SIZES;
        by->next[count] = by->first[size];
        by->first[size] = (uint8_t)count;
    }
}

/* The value under the same key as a slot of another template becomes a slot of `leaves`. */
static void tw_mark_variable_slots(const tw_template *template, const uint8_t *p, tw_leaf *leaves, const tw_by_key *by)
{
    for (int i = 0; i < template->leaves; i++) {
        const tw_leaf *slot = &template->leaf[i];
        size_t n = (size_t)slot->at - slot->key;
        if (!slot->slot) continue;
        for (int k = by->first[n % TW_KEY_SIZES]; k < TW_MOST_LEAVES; k = by->next[k]) {
            if (leaves[k].slot || (size_t)leaves[k].at - leaves[k].key != n) continue;
            if (memcmp(template->sample + slot->key, p + leaves[k].key, n)) continue;
            leaves[k].slot = 1;
        }
    }
}

/* The first leaf that does not start before `at`. */
static int tw_leaf_from(const tw_leaf *leaves, int count, size_t at)
{
    int low = 0;
    while (count) {
        int half = count / 2;
        if (leaves[low + half].at < at) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

/* The leaf that starts at `at`, or -1. */
static int tw_leaf_at(const tw_leaf *leaves, int count, size_t at)
{
    int leaf = tw_leaf_from(leaves, count, at);
    return leaf < count && leaves[leaf].at == at ? leaf : -1;
}

/* --- making one --- */

/* A place in the object as one in the text of the template, and how many slots stand before it. */
static size_t tw_place_in_text(const tw_template *m, size_t at, uint8_t *slots)
{
    const tw_leaf *leaf = &m->leaf[tw_leaf_from(m->leaf, m->leaves, at)];
    *slots = leaf->slots;
    return at - leaf->gone;
}

/* The slots and the text between them. 0 where there are too many. */
static int tw_make_slots(tw_template *m, const uint8_t *p, size_t size)
{
    size_t from = 0, gone = 0;
    m->size = 0;
    m->slots = 0;
    for (int i = 0; i <= m->leaves; i++) {
        tw_leaf *leaf = &m->leaf[i];
        size_t to = i < m->leaves ? leaf->at : size;
        leaf->slots = (uint8_t)m->slots;
        leaf->gone = (uint16_t)gone;
        if (i < m->leaves && !leaf->slot) continue;
        memcpy(m->text + m->size, p + from, to - from);
        m->size += to - from;
        m->last = to - from;
        if (i == m->leaves) break;
        if (m->slots == TW_MOST_SLOTS) return 0;
        tw_slot *slot = &m->slot[m->slots++];
        *slot = (tw_slot){ .before = (uint16_t)(to - from), .node = TW_NO_TABLE, .kind = leaf->kind };
        from = to + leaf->size + (leaf->kind == TW_IS_STRING);
        gone += from - to;
    }
    memset(m->text + m->size, 0, 64);
    m->one_line = !memchr(m->text, '\n', m->size);
    return 1;
}

/* True if a key is known somewhere in the objects of a table. */
static int tw_known_within(const tw_json *x, int table, const tw_name *name)
{
    const tw_table *keys = &x->shape->tables[table];
    if (tw_known_key(keys, name)) return 1;
    for (uint64_t i = 0; i <= keys->mask; i++) {
        if (!keys->entries[i].name) continue;
        const tw_node *node = &x->shape->nodes[keys->entries[i].node];
        if (node->table >= 0 && tw_known_within(x, node->table, name)) return 1;
        if (node->items >= 0 && tw_known_within(x, node->items, name)) return 1;
    }
    return 0;
}

/* The slots in the arrays of objects, or the members, whose keys are known, under such a key: only the last is noted. */
static void tw_guard_items(tw_template *m, const tw_json *x, const uint8_t *p, int node)
{
    const tw_value *v = &x->v[node];
    size_t first = (size_t)(v->p - p);
    const tw_node *nodes = x->shape->nodes;
    int table = v->b.is & TW_IS_OBJECT ? nodes[node].table : -1, other = table < 0 ? 0 : x->shape->tables[table].other;
    table = v->b.is & TW_IS_ARRAY ? nodes[node].items : other ? nodes[other - 1].table : -1;
    if (table < 0) return;
    for (int i = 0, slot = 0; i < m->leaves; i++) {
        if (!m->leaf[i].slot) continue;
        tw_slot *one = &m->slot[slot++];
        if (one->guarded || m->leaf[i].at <= first || m->leaf[i].at >= first + v->size) continue;
        const uint8_t *key = p + m->leaf[i].key;
        const uint8_t *quote = (const uint8_t *)memchr(key, '"', (size_t)m->leaf[i].at - m->leaf[i].key);
        tw_name name = { key, (size_t)(quote - key), tw_name_hash(key, (size_t)(quote - key)) };
        one->guarded = memchr(key, '\\', name.size) || tw_known_within(x, table, &name);
    }
}

static int tw_make_note(tw_template *m, const tw_json *x, const uint8_t *p, int node)
{
    const tw_value *v = &x->v[node];
    size_t at = (size_t)(v->p - p);
    int leaf = v->b.is & (TW_IS_OBJECT | TW_IS_ARRAY) ? -1 : tw_leaf_at(m->leaf, m->leaves, at);
    uint8_t slots;
    if (leaf >= 0 && m->leaf[leaf].slot) {
        tw_place_in_text(m, at, &slots);
        tw_slot *slot = &m->slot[slots];
        slot->node = (int16_t)node;
        slot->form = x->shape->nodes[node].form;
        slot->is = v->b.is;
        slot->word = v->b.word;
        return 1;
    }
    if (m->notes == TW_MOST_NOTES) return 0;
    tw_note *note = &m->note[m->notes++];
    note->node = (uint16_t)node;
    note->from = (uint16_t)tw_place_in_text(m, at, &note->from_slot);
    note->to = (uint16_t)tw_place_in_text(m, at + v->size, &note->to_slot);
    note->v = *v;
    return 1;
}

/* Makes the template of the message [p, p + size) that was read last, whose leaves are in it. 0 where it has too much. */
static int tw_cast(tw_template *m, const tw_json *x, const uint8_t *p, size_t size)
{
    if (!tw_make_slots(m, p, size)) return 0;
    m->notes = 0;
    memcpy(m->noted, x->noted, sizeof m->noted);
    for (int asked = 1; asked >= 0; asked--) {
        for (int w = 0; w < x->shape->node_words; w++) {
            uint64_t nodes = x->noted[w] & (asked ? x->asked[w] : ~x->asked[w]);
            for (; nodes; nodes &= nodes - 1) {
                int node = w * 64 + tw_low_zeros(nodes);
                if (!tw_make_note(m, x, p, node)) return 0;
                tw_guard_items(m, x, p, node);
            }
        }
        if (asked) m->asked = m->notes;
    }
    for (int i = 0; i < m->slots; i++) m->slot[i].guarded &= m->slot[i].node < 0;
    memcpy(m->sample, p, size);
    m->sample_size = (uint16_t)size;
    return 1;
}

enum { TW_NEVER = 255 };

/* The slots, and the text before each, that two templates share; *apart: the same number where no object fits both, or TW_NEVER: one
 * of them may only have a slot where the other has text. */
static uint8_t tw_shared_slots(const tw_template *a, const tw_template *b, uint8_t *apart)
{
    size_t at = 0, size, other_size;
    int i = 0, kinds = 0;
    *apart = 0;
    if (a->last == SIZE_MAX || b->last == SIZE_MAX) return 0; /* nothing fits one of them */
    for (;; i++) {
        size = i < a->slots ? a->slot[i].before : a->last;
        other_size = i < b->slots ? b->slot[i].before : b->last;
        if (size != other_size || i >= a->slots || i >= b->slots || memcmp(a->text + at, b->text + at, size)) break;
        const tw_slot *one = &a->slot[i], *other = &b->slot[i];
        kinds = one->kind != other->kind;
        if (kinds || one->node != other->node || one->guarded != other->guarded) break;
        at += size;
    }
    *apart = kinds || memcmp(a->text + at, b->text + at, size < other_size ? size : other_size) ? (uint8_t)i : TW_NEVER;
    return (uint8_t)i;
}

static void tw_share_slots(tw_json *x, tw_template *template)
{
    for (int i = 0; i < x->template_count; i++) {
        tw_template *other = x->templates[i];
        template->shared[other->id] = other->shared[template->id] = tw_shared_slots(template, other, &template->apart[other->id]);
        other->apart[template->id] = template->apart[other->id];
    }
}

/* The place of a new template, or of the one that was of use longest ago. -1 where there is no memory. */
static int tw_new_place(tw_json *x)
{
    int place = x->template_count;
    if (place == TW_TEMPLATES) return place - 1;
    x->templates[place] = (tw_template *)malloc(sizeof(tw_template));
    if (!x->templates[place]) return -1;
    x->templates[place]->id = place;
    x->templates[place]->follows = NULL;
    x->template_count++;
    return place;
}

/* The place of the template for an object of this shape: a known one, a new one or the one that was of use longest ago. -1
 * where there is no memory. */
static int tw_place_for(tw_json *x, const uint8_t *p, size_t size, tw_leaf *leaves, int count)
{
    int place = x->template_count;
    tw_by_key by;
    tw_sort_by_key(&by, leaves, count);
    for (int i = x->template_count - 1; i >= 0; i--) {
        if (tw_same_shape(x->templates[i], p, size, leaves, count)) tw_join_leaves(x->templates[place = i], p, leaves);
        else if (i < 3) tw_mark_variable_slots(x->templates[i], p, leaves, &by); /* these have it of the others */
    }
    return place < x->template_count ? place : tw_new_place(x);
}

/* Puts a template where it is tried first. */
static void tw_template_first(tw_json *x, tw_template *template)
{
    int place = 0;
    while (x->templates[place] != template) place++;
    for (; place; place--) x->templates[place] = x->templates[place - 1];
    x->templates[0] = template;
}

/* Values unlikely to repeat. */
static void tw_open_slots(const tw_json *x, const uint8_t *p, tw_leaf *leaves, int count)
{
    for (int i = 0; i < count; i++) leaves[i].slot = leaves[i].size >= (leaves[i].kind == TW_IS_STRING ? 64 : 8);
    for (int w = 0; w < x->shape->node_words; w++) {
        for (uint64_t nodes = x->noted[w]; nodes; nodes &= nodes - 1) {
            int node = w * 64 + tw_low_zeros(nodes), form = x->shape->nodes[node].form, leaf;
            if (!(x->v[node].b.is & TW_IS_STRING) || (form != TW_FORM_UUID && form != TW_FORM_TIME)) continue;
            if ((leaf = tw_leaf_at(leaves, count, (size_t)(x->v[node].p - p))) >= 0) leaves[leaf].slot = 1;
        }
    }
}

/* The time in a slot, judged as that of its node. */
static void tw_time_in_slot(tw_json *x, tw_slot *slot, tw_value *v)
{
    if (!v->b.escaped && tw_of_minute(&slot->minute, v->p, v->size, &v->moment)) {
        v->b.is |= TW_IS_GOOD;
        v->b.timed = 1;
        return;
    }
    tw_judge_form(x, &x->shape->nodes[slot->node], v);
    if (v->b.timed) tw_keep_minute(&slot->minute, v->p, v->size, v->moment);
}

/* Notes what the object at p says, which the template fits. Where its verdict stands (x->surely), of the values in no slot
 * only those that fill a column. */
static inline void tw_note_fitting(tw_json *x, const tw_template *m, const uint8_t *p)
{
    unsigned other = 0;
    x->stamp++;
    for (int i = 0; i < m->slots; i++) {
        const tw_slot *slot = &m->slot[i];
        if (slot->node < 0) continue;
        tw_value *v = &x->v[slot->node];
        v->stamp = x->stamp;
        other |= (unsigned)(v->b.is ^ slot->is) | (unsigned)(v->b.word ^ slot->word);
    }
    x->surely = !other && !x->odd;
    memcpy(x->noted, m->noted, sizeof x->noted);
    for (int i = 0; i < (x->surely ? m->asked : m->notes); i++) {
        const tw_note *note = &m->note[i];
        size_t from = note->from + x->shift[note->from_slot];
        tw_value *v = &x->v[note->node];
        *v = note->v;
        v->p = p + from;
        v->size = (uint32_t)(note->to + x->shift[note->to_slot] - from);
        v->stamp = x->stamp;
    }
}

/* A template fitted, and now tw_judge has said this. */
static void tw_keep_verdict(tw_json *x, int wire, int variant)
{
    tw_template *m = x->fitted;
    m->wire = wire;
    m->variant = variant;
    for (int i = 0; i < m->slots; i++) {
        if (m->slot[i].node < 0) continue;
        m->slot[i].is = x->v[m->slot[i].node].b.is;
        m->slot[i].word = x->v[m->slot[i].node].b.word;
    }
}

/* Makes the template at a place of the object [p, p + size) with these leaves, and puts it where it is tried first. 0 where it
 * has too much: then nothing fits it. */
static int tw_put_template(tw_json *x, int place, const uint8_t *p, size_t size, const tw_leaf *leaves, int count)
{
    tw_template *m = x->templates[place];
    m->leaves = count;
    memcpy(m->leaf, leaves, (size_t)count * sizeof *leaves);
    int made = tw_cast(m, x, p, size);
    if (!made) {                             /* it has the shape of nothing, too */
        m->last = SIZE_MAX;
        m->slots = m->leaves = m->sample_size = 0;
    }
    tw_share_slots(x, m);
    tw_template_first(x, m);
    return made;
}

/* Learns from the message [p, p + size), which was read last and which no template fitted. */
static void tw_learn_template(tw_json *x, const uint8_t *p, size_t size, int wire, int variant)
{
    tw_leaf leaves[TW_MOST_LEAVES];
    int count, place;
    if (x->pause || x->keyed) return;
    if (++x->misfits > TW_MOST_MISFITS) {
        x->misfits = TW_MOST_MISFITS / 2;
        x->pause = TW_TEMPLATE_PAUSE;
        return;
    }
    if (x->templates_made >= TW_TEMPLATE_CREDIT + x->fits / TW_TEMPLATE_PRICE || size > TW_TEMPLATE_TEXT) return;
    x->templates_made++;
    if ((count = tw_leaves_of(p, size, leaves)) < 0) return;
    tw_open_slots(x, p, leaves, count);
    if ((place = tw_place_for(x, p, size, leaves, count)) < 0) return;
    tw_template *m = x->templates[place];
    m->wire = wire;
    m->variant = variant;
    tw_put_template(x, place, p, size, leaves, count);
}

#endif
