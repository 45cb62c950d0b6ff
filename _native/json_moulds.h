/* Whole objects that come again but for a few values. Messages of one log repeat each other: not only their keys, most of
 * their values, too. A mould is the text of a message that was good, with a hole for each string, number or boolean that
 * was seen to change. Another object is good, and has the same shape, where its text is that of the mould and a good
 * value of the same kind stands in each hole: nothing between the holes is judged anew. What was noted of the first one
 * is noted of the other, but for the places and for the values in holes.
 *
 * Moulds are made of messages only (of what tw_judge is sure), and only where no mould fits. Where none does, the object is
 * read by json_object.h, which also says what is wrong with it. */
#ifndef TURNWIRE_JSON_MOULDS_H
#define TURNWIRE_JSON_MOULDS_H

#include "json_steps.h"

enum { TW_MOULD_TEXT = 4096, TW_MOST_LEAVES = 192, TW_MOST_NOTES = 96 };
/* How many moulds may be made; how many fits earn another one; misses (a fit makes up for two) until none is tried for a
 * while, and for how many objects. */
enum { TW_MOULD_CREDIT = 24, TW_MOULD_PRICE = 32, TW_MOST_MISFITS = 32, TW_MOULD_PAUSE = 2048 };

/* A string (its inside), a number or a boolean of an object: where, whether it is a hole, and whether it has always been
 * as long as it is. */
typedef struct {
    uint16_t at, size, key, gone;            /* key: where the last key before it starts; gone: bytes in holes before it */
    uint8_t kind, hole, fixed, holes;        /* holes before it */
} tw_leaf;

typedef struct {
    uint64_t stop, upto;                     /* the bit of the closing quote, where all strings so far had one size of less */
    uint8_t size;                            /* than 64 bytes (else 0), and all bits up to it; that size */
    tw_minute minute;                        /* the one of the last time in here */
    uint16_t before;                         /* bytes of text between the hole before it and this one */
    int16_t node;                            /* or TW_NO_TABLE */
    uint8_t kind;                            /* TW_IS_STRING, TW_IS_BOOLEAN, or TW_IS_COUNT for any number */
    uint8_t form;                            /* of its node */
    uint8_t guarded;                         /* an item that nobody noted: with escapes it might be odd */
    uint8_t word;                            /* the verdict was reached with this word and ... */
    uint16_t is;                             /* ... this kind of value */
} tw_hole;

/* A noted value that is no hole: where it starts and ends in the text, and how many holes stand before that. */
typedef struct { uint16_t node, from, to; uint8_t from_hole, to_hole; tw_value v; } tw_note;

struct tw_mould {
    int holes, notes, asked, leaves;         /* asked: so many notes are of nodes that fill a column; they come first */
    int wire, variant;                       /* the verdict */
    int id;                                  /* the number that it has for others */
    uint8_t shared[TW_MOULDS];               /* by id of another: so many holes, and the text before each, are the same */
    int one_line;                            /* there is no newline in the text */
    size_t size, last;                       /* of the text; of what stands behind the last hole */
    uint64_t noted[TW_NODE_WORDS];
    tw_hole hole[TW_MOST_HOLES];
    tw_note note[TW_MOST_NOTES];
    uint8_t text[TW_MOULD_TEXT + 64];        /* without what is in the holes */
    tw_leaf leaf[TW_MOST_LEAVES + 1];        /* the last one is the end */
    uint16_t sample_size;
    uint8_t sample[TW_MOULD_TEXT];           /* the object that it was made of last */
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
                                     .kind = kind, .fixed = 1 };
        q += kind == TW_IS_STRING;
    }
    return count;
}

/* Whether an object differs from that of a mould in its leaves only, and there in no kind. */
static int tw_same_shape(const tw_mould *mould, const uint8_t *p, size_t size, const tw_leaf *leaves, int count)
{
    size_t here = 0, there = 0;
    if (mould->leaves != count) return 0;
    for (int i = 0; i <= count; i++) {
        const tw_leaf *a = &mould->leaf[i], *b = &leaves[i];
        size_t n = (i == count ? size : b->at) - here;
        if ((i == count ? mould->sample_size : a->at) - there != n || memcmp(mould->sample + there, p + here, n)) return 0;
        if (i == count) return 1;
        if (a->kind != b->kind) return 0;
        there = (size_t)a->at + a->size;
        here = (size_t)b->at + b->size;
    }
    return 0;
}

/* What differs between two objects of one shape becomes a hole of `leaves`. */
static void tw_join_leaves(const tw_mould *mould, const uint8_t *p, tw_leaf *leaves)
{
    for (int i = 0; i < mould->leaves; i++) {
        const tw_leaf *a = &mould->leaf[i];
        tw_leaf *b = &leaves[i];
        b->fixed &= a->fixed && a->size == b->size;
        b->hole |= a->hole || a->size != b->size || memcmp(mould->sample + a->at, p + b->at, a->size);
    }
}

/* What stands under the same key as a hole of another mould becomes a hole of `leaves`. */
static void tw_foresee_holes(const tw_mould *mould, const uint8_t *p, tw_leaf *leaves, int count)
{
    for (int i = 0; i < mould->leaves; i++) {
        const tw_leaf *hole = &mould->leaf[i];
        size_t n = (size_t)hole->at - hole->key;
        for (int k = 0; hole->hole && k < count; k++) {
            if ((size_t)leaves[k].at - leaves[k].key != n || memcmp(mould->sample + hole->key, p + leaves[k].key, n)) continue;
            leaves[k].hole = 1;
            leaves[k].fixed &= hole->fixed;
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

/* A place in the object as one in the text of the mould, and how many holes stand before it. */
static size_t tw_place_in_text(const tw_mould *m, size_t at, uint8_t *holes)
{
    const tw_leaf *leaf = &m->leaf[tw_leaf_from(m->leaf, m->leaves, at)];
    *holes = leaf->holes;
    return at - leaf->gone;
}

static void tw_fix_hole(tw_hole *hole, size_t size)
{
    hole->size = (uint8_t)size;
    hole->stop = (uint64_t)1 << size;
    hole->upto = hole->stop | (hole->stop - 1);
}

/* The holes and the text between them. 0 where there are too many. */
static int tw_make_holes(tw_mould *m, const uint8_t *p, size_t size)
{
    size_t from = 0, gone = 0;
    m->size = 0;
    m->holes = 0;
    for (int i = 0; i <= m->leaves; i++) {
        tw_leaf *leaf = &m->leaf[i];
        size_t to = i < m->leaves ? leaf->at : size;
        leaf->holes = (uint8_t)m->holes;
        leaf->gone = (uint16_t)gone;
        if (i < m->leaves && !leaf->hole) continue;
        memcpy(m->text + m->size, p + from, to - from);
        m->size += to - from;
        m->last = to - from;
        if (i == m->leaves) break;
        if (m->holes == TW_MOST_HOLES) return 0;
        tw_hole *hole = &m->hole[m->holes++];
        *hole = (tw_hole){ .before = (uint16_t)(to - from), .node = TW_NO_TABLE, .kind = leaf->kind };
        if (leaf->kind == TW_IS_STRING && leaf->fixed && leaf->size < 64) tw_fix_hole(hole, leaf->size);
        from = to + leaf->size + (leaf->kind == TW_IS_STRING);
        gone += from - to;
    }
    memset(m->text + m->size, 0, 64);
    m->one_line = !memchr(m->text, '\n', m->size);
    return 1;
}

/* The holes in the arrays of objects whose keys are known: only the last object is noted. */
static void tw_guard_items(tw_mould *m, const tw_json *x, const uint8_t *p, int node)
{
    const tw_value *v = &x->v[node];
    size_t first = (size_t)(v->p - p);
    if (!(v->b.is & TW_IS_ARRAY) || x->shape->nodes[node].items < 0) return;
    for (int i = 0, hole = 0; i < m->leaves; i++) {
        if (!m->leaf[i].hole) continue;
        m->hole[hole++].guarded |= m->leaf[i].at > first && m->leaf[i].at < first + v->size;
    }
}

static int tw_make_note(tw_mould *m, const tw_json *x, const uint8_t *p, int node)
{
    const tw_value *v = &x->v[node];
    size_t at = (size_t)(v->p - p);
    int leaf = v->b.is & (TW_IS_OBJECT | TW_IS_ARRAY) ? -1 : tw_leaf_at(m->leaf, m->leaves, at);
    uint8_t holes;
    if (leaf >= 0 && m->leaf[leaf].hole) {
        tw_place_in_text(m, at, &holes);
        tw_hole *hole = &m->hole[holes];
        hole->node = (int16_t)node;
        hole->form = x->shape->nodes[node].form;
        hole->is = v->b.is;
        hole->word = v->b.word;
        return 1;
    }
    if (m->notes == TW_MOST_NOTES) return 0;
    tw_note *note = &m->note[m->notes++];
    note->node = (uint16_t)node;
    note->from = (uint16_t)tw_place_in_text(m, at, &note->from_hole);
    note->to = (uint16_t)tw_place_in_text(m, at + v->size, &note->to_hole);
    note->v = *v;
    return 1;
}

/* Makes the mould of the message [p, p + size) that was read last, whose leaves are in it. 0 where it has too much. */
static int tw_cast(tw_mould *m, const tw_json *x, const uint8_t *p, size_t size)
{
    if (!tw_make_holes(m, p, size)) return 0;
    m->notes = 0;
    memcpy(m->noted, x->noted, sizeof m->noted);
    for (int asked = 1; asked >= 0; asked--) {
        for (int w = 0; w < TW_NODE_WORDS; w++) {
            uint64_t nodes = x->noted[w] & (asked ? x->asked[w] : ~x->asked[w]);
            for (; nodes; nodes &= nodes - 1) {
                int node = w * 64 + __builtin_ctzll(nodes);
                if (!tw_make_note(m, x, p, node)) return 0;
                tw_guard_items(m, x, p, node);
            }
        }
        if (asked) m->asked = m->notes;
    }
    for (int i = 0; i < m->holes; i++) m->hole[i].guarded &= m->hole[i].node < 0;
    memcpy(m->sample, p, size);
    m->sample_size = (uint16_t)size;
    return 1;
}

/* How many holes, and the text before each, two moulds share. */
static int tw_shared_holes(const tw_mould *a, const tw_mould *b)
{
    size_t at = 0;
    int i = 0;
    for (; i < a->holes && i < b->holes; i++) {
        const tw_hole *one = &a->hole[i], *other = &b->hole[i];
        if (one->before != other->before || memcmp(a->text + at, b->text + at, one->before)) break;
        if (one->kind != other->kind || one->node != other->node || one->guarded != other->guarded) break;
        at += one->before;
    }
    return i;
}

static void tw_share_holes(tw_json *x, tw_mould *mould)
{
    for (int i = 0; i < x->mould_count; i++) {
        tw_mould *other = x->moulds[i];
        mould->shared[other->id] = other->shared[mould->id] = (uint8_t)tw_shared_holes(mould, other);
    }
}

/* The place of the mould for an object of this shape: a known one, a new one or the one that was of use longest ago. -1
 * where there is no memory. */
static int tw_place_for(tw_json *x, const uint8_t *p, size_t size, tw_leaf *leaves, int count)
{
    int place = x->mould_count;
    for (int i = x->mould_count - 1; i >= 0; i--) {
        if (tw_same_shape(x->moulds[i], p, size, leaves, count)) tw_join_leaves(x->moulds[place = i], p, leaves);
        else if (i < 3) tw_foresee_holes(x->moulds[i], p, leaves, count); /* these have it of the others */
    }
    if (place < x->mould_count) return place;
    if (place == TW_MOULDS) return place - 1;
    x->moulds[place] = (tw_mould *)malloc(sizeof(tw_mould));
    if (!x->moulds[place]) return -1;
    x->moulds[place]->id = place;
    x->mould_count++;
    return place;
}

/* Puts a mould where it is tried first. */
static void tw_mould_first(tw_json *x, int place)
{
    tw_mould *mould = x->moulds[place];
    for (; place; place--) x->moulds[place] = x->moulds[place - 1];
    x->moulds[0] = mould;
}

/* Values that will hardly come again. */
static void tw_open_holes(const tw_json *x, const uint8_t *p, tw_leaf *leaves, int count)
{
    for (int i = 0; i < count; i++) leaves[i].hole = leaves[i].size >= (leaves[i].kind == TW_IS_STRING ? 64 : 8);
    for (int w = 0; w < TW_NODE_WORDS; w++) {
        for (uint64_t nodes = x->noted[w]; nodes; nodes &= nodes - 1) {
            int node = w * 64 + __builtin_ctzll(nodes), form = x->shape->nodes[node].form, leaf;
            if (!(x->v[node].b.is & TW_IS_STRING) || (form != TW_FORM_UUID && form != TW_FORM_TIME)) continue;
            if ((leaf = tw_leaf_at(leaves, count, (size_t)(x->v[node].p - p))) >= 0) leaves[leaf].hole = 1;
        }
    }
}

/* The time in a hole, judged as that of its node. */
static void tw_time_in_hole(tw_json *x, tw_hole *hole, tw_value *v)
{
    if (!v->b.escaped && tw_of_minute(&hole->minute, v->p, v->size, &v->moment)) {
        v->b.is |= TW_IS_GOOD;
        v->b.timed = 1;
        return;
    }
    tw_judge_form(x, &x->shape->nodes[hole->node], v);
    if (v->b.timed) tw_keep_minute(&hole->minute, v->p, v->size, v->moment);
}

/* Notes what the object at p says, which the mould fits. Where its verdict stands (x->surely), of the values in no hole
 * only those that fill a column. */
static inline void tw_note_fitting(tw_json *x, const tw_mould *m, const uint8_t *p)
{
    unsigned other = 0;
    x->stamp++;
    for (int i = 0; i < m->holes; i++) {
        const tw_hole *hole = &m->hole[i];
        if (hole->node < 0) continue;
        tw_value *v = &x->v[hole->node];
        v->stamp = x->stamp;
        other |= (unsigned)(v->b.is ^ hole->is) | (unsigned)(v->b.word ^ hole->word);
    }
    x->surely = !other && !x->odd;
    memcpy(x->noted, m->noted, sizeof x->noted);
    for (int i = 0; i < (x->surely ? m->asked : m->notes); i++) {
        const tw_note *note = &m->note[i];
        size_t from = note->from + x->shift[note->from_hole];
        tw_value *v = &x->v[note->node];
        *v = note->v;
        v->p = p + from;
        v->size = (uint32_t)(note->to + x->shift[note->to_hole] - from);
        v->stamp = x->stamp;
    }
}

/* A mould fitted, and now tw_judge has said this. */
static void tw_keep_verdict(tw_json *x, int wire, int variant)
{
    tw_mould *m = x->fitted;
    m->wire = wire;
    m->variant = variant;
    for (int i = 0; i < m->holes; i++) {
        if (m->hole[i].node < 0) continue;
        m->hole[i].is = x->v[m->hole[i].node].b.is;
        m->hole[i].word = x->v[m->hole[i].node].b.word;
    }
}

/* Learns from the message [p, p + size), which was read last and which no mould fitted. */
static void tw_learn_mould(tw_json *x, const uint8_t *p, size_t size, int wire, int variant)
{
    tw_leaf leaves[TW_MOST_LEAVES];
    int count, place;
    if (x->pause) return;
    if (++x->misfits > TW_MOST_MISFITS) {
        x->misfits = TW_MOST_MISFITS / 2;
        x->pause = TW_MOULD_PAUSE;
        return;
    }
    if (x->moulds_made >= TW_MOULD_CREDIT + x->fits / TW_MOULD_PRICE || size > TW_MOULD_TEXT) return;
    x->moulds_made++;
    if ((count = tw_leaves_of(p, size, leaves)) < 0) return;
    tw_open_holes(x, p, leaves, count);
    if ((place = tw_place_for(x, p, size, leaves, count)) < 0) return;
    tw_mould *m = x->moulds[place];
    m->leaves = count;
    m->wire = wire;
    m->variant = variant;
    memcpy(m->leaf, leaves, (size_t)count * sizeof *leaves);
    if (!tw_cast(m, x, p, size)) {           /* one that nothing fits, and that has the shape of nothing */
        m->last = SIZE_MAX;
        m->holes = m->leaves = m->sample_size = 0;
    }
    tw_share_holes(x, m);
    tw_mould_first(x, place);
}

#endif
