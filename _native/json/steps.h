/* The keys that the objects of a log have had so far, as a tree. Messages of one log repeat their shape: the keys of an
 * object and what stands between its values are compared with what stood there before in one stroke, instead of being read.
 *
 * A tw_step is one key behind those that led to it, so the steps of the objects in one place are a tree. No key stands
 * twice on the way to a step: that was checked when it was made, and need not be checked again. An object that leaves
 * the tree (too many shapes, long keys, escapes in keys) has its keys compared one by one, as json/parse.h does it. */
#ifndef TURNWIRE_JSON_STEPS_H
#define TURNWIRE_JSON_STEPS_H

#include "parse.h"

enum { TW_MOST_CHILDREN = 8, TW_LONGEST_WAY = 64, TW_STEPS_AT_ONCE = 32, TW_MISSES = 4096 };

struct tw_step {
    uint8_t glue[TW_GLUE];                   /* from behind the last value (or the brace) to the value of this key */
    uint64_t mask;                           /* a bit for each byte of it */
    uint64_t bits;                           /* its bit among the known keys of its table, or 0 */
    tw_step *first, *next;                   /* what was met behind it, the last one first; its next sibling */
    tw_step *before;                         /* NULL: the brace */
    tw_step *object;                         /* the brace of objects in its value whose keys nobody asks for */
    tw_name name;
    int node;                                /* of the value, or TW_NO_TABLE */
    uint8_t size, way, children;
};

static tw_step *tw_new_step(tw_json *x)
{
    size_t chunk = x->step_count / TW_STEPS_AT_ONCE;
    if (chunk == TW_STEP_CHUNKS) return NULL;
    if (!x->steps[chunk]) x->steps[chunk] = (tw_step *)malloc(TW_STEPS_AT_ONCE * sizeof(tw_step));
    if (!x->steps[chunk]) return NULL;
    tw_step *step = &x->steps[chunk][x->step_count++ % TW_STEPS_AT_ONCE];
    memset(step, 0, sizeof *step);
    return step;
}

/* The brace of the objects in one place, made when the first of them is met; NULL where there is no room. */
static inline tw_step *tw_brace(tw_json *x, tw_step **place)
{
    if (!*place) *place = tw_new_step(x);
    return *place;
}

static void tw_to_front(tw_step *step, tw_step *met)
{
    tw_step **place = &step->first;
    while (*place != met) place = &(*place)->next;
    *place = met->next;
    met->next = step->first;
    step->first = met;
}

/* True if a key is a known one that has a bit of its own; any other is told from those before it by its name. */
static inline int tw_has_bit(const tw_key_entry *entry) { return entry && entry->bit < 64; }

/* The step behind `step` with this glue, in which the key stands; NULL where there is no room for it. */
static tw_step *tw_learn(tw_json *x, tw_step *step, const uint8_t *glue, size_t size, const tw_name *name,
                         const tw_key_entry *entry, int node)
{
    if (size > TW_GLUE) return NULL;
    for (tw_step *met = step->first; met; met = met->next)
        if (met->size == size && memcmp(met->glue, glue, size) == 0) return met;
    tw_step *added = step->children < TW_MOST_CHILDREN && step->way < TW_LONGEST_WAY ? tw_new_step(x) : NULL;
    if (!added) {
        x->missed++;
        return NULL;
    }
    memcpy(added->glue, glue, size);
    added->size = (uint8_t)size;
    added->mask = size == 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1;
    added->bits = tw_has_bit(entry) ? (uint64_t)1 << entry->bit : 0;
    added->node = node;
    added->name = *name;
    added->name.p = added->glue + (name->p - glue);
    added->before = step;
    added->way = (uint8_t)(step->way + 1);
    added->next = step->first;
    step->first = added;
    step->children++;
    return added;
}

/* The keys of one object so far. */
typedef struct {
    int table;                               /* its known keys, or TW_NO_TABLE */
    int node;                                /* of the key read last, or TW_NO_TABLE */
    tw_step *step;                           /* where it is in the tree; NULL: it has left it, and ... */
    size_t first;                            /* ... its unknown keys are in x->names from here on */
    uint64_t found;                          /* bits of its known keys */
    uint32_t object;
} tw_keys;

static int tw_on_the_way(const tw_step *step, const tw_name *name)
{
    for (; step->before; step = step->before)
        if (tw_same_name(&step->name, name)) return 1;
    return 0;
}

/* Leaves the tree. 0 where memory ran out. */
static int tw_leave_steps(tw_json *x, tw_keys *k)
{
    for (const tw_step *step = k->step; step->before; step = step->before)
        if (!step->bits && !tw_new_name(x, k->first, &step->name, &k->object)) return 0;
    k->step = NULL;
    return 1;
}

static inline const tw_key_entry *tw_known_key(const tw_table *table, const tw_name *name)
{
    const tw_key_entry *entry;
    for (uint64_t place = name->hash & table->mask; (entry = &table->entries[place])->name; place = (place + 1) & table->mask)
        if (entry->hash == name->hash && entry->size == name->size && tw_same_bytes(entry->name, name->p, name->size))
            return entry;
    return NULL;
}

/* Reads the key whose quote should stand at p, `glue` being the end of what stands before it: its value, or NULL. */
static const uint8_t *tw_read_key(tw_json *x, const uint8_t *glue, const uint8_t *p, tw_keys *k)
{
    tw_name name;
    uint8_t escaped;
    const uint8_t *quote = p;
    p = tw_json_key(x, p, &name, &escaped);
    if (!p) return NULL;
    const tw_key_entry *entry = k->table == TW_NO_TABLE ? NULL : tw_known_key(&x->shape->tables[k->table], &name);
    k->node = entry ? entry->node : k->table == TW_NO_TABLE ? TW_NO_TABLE : x->shape->tables[k->table].other - 1;
    if (entry) x->odd |= escaped;
    if (tw_has_bit(entry)) {
        if (k->found >> entry->bit & 1) return tw_json_fault(x, quote, 0);
        k->found |= (uint64_t)1 << entry->bit;
    } else if (k->step ? tw_on_the_way(k->step, &name) : !tw_new_name(x, k->first, &name, &k->object)) {
        return tw_json_fault(x, quote, 0);
    }
    p = tw_json_colon(x, p);
    if (!p || !k->step) return p;
    tw_step *step = escaped ? NULL : tw_learn(x, k->step, glue, (size_t)(p - glue), &name, entry, k->node);
    if (!step) {
        if (!tw_leave_steps(x, k) || (!tw_has_bit(entry) && !tw_new_name(x, k->first, &name, &k->object)))
            return tw_json_fault(x, quote, 0);
    }
    k->step = step;
    return p;
}

#endif
