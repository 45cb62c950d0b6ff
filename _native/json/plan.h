/* The plan of a scan of JSON wires: the values that matter, those that make a message of a wire, and the column of each.
 * Compiled from the tables of the wires' spec by turnwire.json.plan; one wire or several. */
#ifndef TURNWIRE_JSON_PLAN_H
#define TURNWIRE_JSON_PLAN_H

#include "levels.h"

enum { TW_NO_NODE = 0xFFFF };

/* One demand of a variant: where `parent` is an object (TW_NO_NODE: always), `node` is one of the kinds `is` and its
 * word one of `words` (0: no matter), or absent unless `needed`. The reasons (their codes, 0: only decode can tell) where it is
 * missing, of a wrong kind, or bad: a text of another form or word, a count below zero. instead: TW_NO_NODE, or the node of an
 * object that stands in its place in look-alikes. */
enum { TW_WORD_SETS = 4 };                   /* sets of 64 bits for the numbers of words */
typedef struct {
    uint16_t node, parent, is, instead;
    uint8_t needed, worded, missing, wrong, bad;
    uint64_t words[TW_WORD_SETS];
} tw_need;

/* The source of a column: the first of two nodes that is there. numbers: what each word of TW_FILL_NUMBERED stands for. */
enum { TW_FILL_NONE, TW_FILL_TEXT, TW_FILL_WORD, TW_FILL_INTEGER, TW_FILL_NUMBER, TW_FILL_TIME, TW_FILL_COUNT,
       TW_FILL_SECTIONS, TW_FILL_CONSTANT, TW_FILL_FAMILY, TW_FILL_DIGITS, TW_FILL_EPOCH, TW_FILL_TRUTH, TW_FILL_PRESENT, TW_FILL_NUMERAL,
       TW_FILL_TIMES, TW_FILL_SUM, TW_FILL_BETWEEN, TW_FILL_ITEM, TW_FILL_SECONDS, TW_FILL_LOWER, TW_FILL_SECTION, TW_FILL_STANDING,
       TW_FILL_NUMBERED };
enum { TW_NO_NUMBER = 0xFF };                /* the word fills nothing */
typedef struct { uint16_t column, node, other; uint8_t fill, constant; const uint8_t *numbers; } tw_fill;

/* A kind of message: its needs and fills; and, made of the needs by tw_index_needs: the nodes that must be there those of which
 * anything at all is asked and those of which it is one of some words, as bits; what each node may be (tw_value.is); and
 * the place of the need of each node (there is no more than one). */
typedef struct {
    uint16_t first_need, needs, first_fill, fills;
    uint64_t must[TW_NODE_WORDS], asked[TW_NODE_WORDS], worded[TW_NODE_WORDS];
    uint16_t kinds[TW_MOST_NODES], need_of[TW_MOST_NODES];
} tw_variant;

enum { TW_CHOOSE_ONLY, TW_CHOOSE_WORD, TW_CHOOSE_MARKS };
enum { TW_MOST_MARKS = 8, TW_MOST_CLUES = 8 };

/* A set of nodes that makes an object worth the wire's own judgement, when all of them are there; `valued`: the last is not null. */
typedef struct { uint16_t nodes[4]; uint8_t count, valued; } tw_clue;

typedef struct {
    uint8_t code;                            /* of the wire, in contract.WIRES */
    uint8_t choose;                          /* how the variant is found */
    uint8_t schemas;                         /* what has no text of its own may be a schema of a message: ask decode */
    uint16_t word;                           /* TW_CHOOSE_WORD: its word says it */
    uint16_t marks[2][TW_MOST_MARKS];        /* TW_CHOOSE_MARKS: of variants 0 and 1; the one with more of them it is, */
    uint8_t mark_count[2];
    uint16_t receipt, task, status;          /* ... or, with `receipt` and without `task`, 2, or 3 where the word of */
    uint8_t nack;                            /* `status` is `nack` */
    uint16_t first_variant, variants;
    uint16_t doubts[4][2];                   /* both there: only decode can tell */
    uint8_t doubt_count;
    tw_clue clues[TW_MOST_CLUES];
    uint8_t clue_count;
    uint16_t first_claim, claims;
    uint16_t signs, asked;                   /* behind its last sign, and behind the last one by which Python is asked */
} tw_wire;

typedef struct { const uint8_t *text; uint32_t size; } tw_token;

/* A sign by which an object that is no message is claimed as a damaged one (Sign in json/plan.py): of these nodes at least `least`
 * and at most `most` are there (and begin with one of `word`), and at most `others` further members (255: any number).
 * last: of an alternative, all of whose signs have to be there. */
typedef struct { const uint16_t *node; const tw_token *word; uint8_t nodes, words, least, most, others, cased, last; } tw_claim;

typedef struct {
    tw_shape shape;
    int node_count;
    const tw_need *needs;
    const tw_variant *variants;
    const tw_fill *fills;
    const tw_wire *wires;
    const tw_claim *claims;                  /* of all wires, or NULL: one has none, ask Python */
    uint8_t unknown_kind, look_alike;        /* codes of these reasons */
    int wire_count, variant_count;
    const tw_token *inside;                  /* without one of these bytes nothing is a message inside an object */
    int inside_count;
    const tw_token *torn;                    /* nor damaged bytes one that was */
    uint8_t torn_first[256];                 /* by its first letter: one behind the first of these keys, or 0; and by key the */
    uint8_t torn_next[256];                  /* next one likewise */
    uint8_t torn_halves[4][16];              /* by the halves of the first and second letter: a bit for some of these keys */
    const struct tw_torn_table *signs;       /* of json/torn.h: how damaged bytes show whose they are */
} tw_plan;

/* 0 where a node has two needs. */
static inline int tw_index_needs(const tw_need *needs, tw_variant *variant)
{
    for (int i = 0; i < variant->needs; i++) {
        int place = variant->first_need + i, node = needs[place].node;
        uint64_t bit = (uint64_t)1 << (node & 63);
        if (variant->asked[node >> 6] & bit) return 0;
        if (needs[place].needed) variant->must[node >> 6] |= bit;
        if (needs[place].worded) variant->worded[node >> 6] |= bit;
        variant->asked[node >> 6] |= bit;
        variant->kinds[node] = needs[place].is;
        variant->need_of[node] = (uint16_t)place;
    }
    return 1;
}

/* True if the object around a node that is not there is; without it nothing is asked of the node. */
static inline int tw_asked(const tw_json *x, const tw_need *need)
{
    const tw_value *v = need->parent == TW_NO_NODE ? NULL : tw_noted(x, need->parent);
    return need->parent == TW_NO_NODE || (v && v->b.is & TW_IS_OBJECT);
}

/* True if a value that is a string is one of the words that are wanted. */
static inline int tw_has_word(const tw_need *need, const tw_value *v)
{
    return !(v->b.is & TW_IS_STRING) || (v->b.word != TW_NO_WORD && need->words[v->b.word >> 6] >> (v->b.word & 63) & 1);
}

static int tw_meets(const tw_json *x, const tw_plan *plan, const tw_variant *variant)
{
    for (int w = 0; w < x->shape->node_words; w++) {
        for (uint64_t there = variant->asked[w] & x->noted[w]; there; there &= there - 1) {
            int node = w * 64 + tw_low_zeros(there);
            if (!(x->v[node].b.is & variant->kinds[node])) return 0;
        }
        for (uint64_t there = variant->worded[w] & x->noted[w]; there; there &= there - 1) {
            int node = w * 64 + tw_low_zeros(there);
            if (!tw_has_word(&plan->needs[variant->need_of[node]], &x->v[node])) return 0;
        }
        for (uint64_t missing = variant->must[w] & ~x->noted[w]; missing; missing &= missing - 1)
            if (tw_asked(x, &plan->needs[variant->need_of[w * 64 + tw_low_zeros(missing)]])) return 0;
    }
    return 1;
}

/* The variant of a wire that an object is, or -1. */
static int tw_variant_of(const tw_json *x, const tw_wire *wire)
{
    const tw_value *v;
    int found[2] = { 0, 0 };
    switch (wire->choose) {
    case TW_CHOOSE_WORD:
        v = tw_noted(x, wire->word);
        return v && v->b.word < wire->variants ? v->b.word : -1;
    case TW_CHOOSE_MARKS:
        if (wire->receipt != TW_NO_NODE && tw_noted(x, wire->receipt) && !tw_noted(x, wire->task)) {
            v = tw_noted(x, wire->status);
            return v && v->b.word == wire->nack ? 3 : 2;
        }
        for (int which = 0; which < 2; which++)
            for (int i = 0; i < wire->mark_count[which]; i++) found[which] += tw_noted(x, wire->marks[which][i]) != NULL;
        return found[0] + found[1] == 0 ? -1 : found[0] < found[1];
    default:
        return 0;
    }
}

/* True if an object may be a message of a wire, good or not, and so is worth asking. */
static int tw_may_be(const tw_json *x, const tw_wire *wire)
{
    for (int i = 0; i < wire->clue_count; i++) {
        const tw_clue *clue = &wire->clues[i];
        int there = 0;
        for (int n = 0; n < clue->count; n++) there += tw_noted(x, clue->nodes[n]) != NULL;
        if (there == clue->count && !(clue->valued && x->v[clue->nodes[there - 1]].b.is & TW_IS_NULL)) return 1;
    }
    return 0;
}

/* True if only decode can tell whether an object is a message of a wire, by more than what the plan knows. */
static int tw_doubtful(const tw_json *x, const tw_wire *wire)
{
    for (int i = 0; i < wire->doubt_count; i++)
        if (tw_noted(x, wire->doubts[i][0]) && tw_noted(x, wire->doubts[i][1])) return 1;
    return 0;
}

/* True if one of the tokens stands in [p, end). */
static int tw_any_token(const tw_token *tokens, int count, const uint8_t *p, const uint8_t *end)
{
    for (const uint8_t *at = p; at < end; at++) {
        at = (const uint8_t *)memchr(at, '"', (size_t)(end - at));
        if (!at) return 0;
        for (int i = 0; i < count; i++)
            if ((size_t)(end - at) >= tokens[i].size && at[1] == tokens[i].text[1] && tw_same_bytes(at, tokens[i].text, tokens[i].size)) return 1;
    }
    return 0;
}

#endif
