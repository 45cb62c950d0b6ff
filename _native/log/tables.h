/* A table of numbers by keys of 64 bits, the groups of a tally, and the requests that wait for an answer.
 *
 * Keys are keyed hashes (keyed_hash.h) or mixed from such, so that nobody can write texts that share one; 0 is no key. Lists
 * are linked by numbers into arrays that grow, counted from 1; 0 ends a list. Functions that may need memory return a number
 * below 0 where there is none. */
#ifndef TURNWIRE_TABLES_H
#define TURNWIRE_TABLES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_native/common/portable.h"

typedef struct {
    uint64_t key;
    uint32_t value;
} tw_entry;

typedef struct {
    tw_entry *entries;
    size_t mask, count;
} tw_table;

static inline uint32_t *tw_table_find(const tw_table *t, uint64_t key)
{
    if (!t->entries) return NULL;
    for (size_t i = key & t->mask;; i = (i + 1) & t->mask) {
        if (!t->entries[i].value) return NULL;
        if (t->entries[i].key == key) return &t->entries[i].value;
    }
}

static inline void tw_table_place(tw_table *t, uint64_t key, uint32_t value)
{
    size_t i = key & t->mask;
    while (t->entries[i].value) i = (i + 1) & t->mask;
    t->entries[i] = (tw_entry){ key, value };
}

/* Puts in a key that is not there; the value is not 0. */
static inline int tw_table_put(tw_table *t, uint64_t key, uint32_t value)
{
    if (!t->entries || 2 * (t->count + 1) > t->mask + 1) {
        tw_table larger = { NULL, t->entries ? 2 * t->mask + 1 : 63, t->count };
        if (!(larger.entries = calloc(larger.mask + 1, sizeof(tw_entry)))) return -1;
        for (size_t i = 0; t->entries && i <= t->mask; i++)
            if (t->entries[i].value) tw_table_place(&larger, t->entries[i].key, t->entries[i].value);
        free(t->entries);
        *t = larger;
    }
    tw_table_place(t, key, value);
    t->count++;
    return 0;
}

/* Takes out a key that is there; what would not be found behind the gap moves into it. */
static inline void tw_table_drop(tw_table *t, uint64_t key)
{
    size_t gap = key & t->mask, i;
    while (t->entries[gap].key != key) gap = (gap + 1) & t->mask;
    for (i = (gap + 1) & t->mask; t->entries[i].value; i = (i + 1) & t->mask) {
        if (((i - t->entries[i].key) & t->mask) < ((i - gap) & t->mask)) continue;
        t->entries[gap] = t->entries[i];
        gap = i;
    }
    t->entries[gap].value = 0;
    t->entries[gap].key = 0;
    t->count--;
}

/* Room for one more item in an array that has `used` of `room`. */
static inline int tw_grown(void *array, size_t used, size_t *room, size_t size)
{
    void **items = array, *more;
    size_t wanted = *room ? 2 * *room : 64;
    if (used < *room) return 0;
    if (!(more = realloc(*items, wanted * size))) return -1;
    *items = more;
    *room = wanted;
    return 0;
}

static inline uint64_t tw_mixed(uint64_t h, uint64_t more)
{
    h = (h ^ more) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

/* --- sums of records by a value ------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t key;
    int64_t records, bytes, tokens, first, last; /* first > last: no record has a time */
    size_t name, size;
    uint8_t wire;
} tw_group;

typedef struct {
    tw_table table;
    tw_group *groups;
    size_t count, room;
    uint8_t *names;
    size_t used, names_room;
} tw_tally;

/* The group of a key, made where there is none. */
static inline tw_group *tw_group_of(tw_tally *t, uint64_t key, uint8_t wire, const uint8_t *name, size_t size)
{
    const uint32_t *known = tw_table_find(&t->table, key);
    if (known) return &t->groups[*known - 1];
    if (tw_grown(&t->groups, t->count, &t->room, sizeof(tw_group)) < 0) return NULL;
    if (t->used + size > t->names_room) {
        const size_t wanted = 2 * (t->used + size) + 4096;
        uint8_t *more = realloc(t->names, wanted);
        if (!more) return NULL;
        t->names = more;
        t->names_room = wanted;
    }
    if (tw_table_put(&t->table, key, (uint32_t)t->count + 1) < 0) return NULL;
    if (size) memcpy(t->names + t->used, name, size);
    t->groups[t->count] = (tw_group){ key, 0, 0, 0, INT64_MAX, INT64_MIN, t->used, size, wire };
    t->used += size;
    return &t->groups[t->count++];
}

/* Texts as spans of three buffers, of which each goes on where the one before ends. */
typedef struct {
    const uint8_t *data[3];
    int64_t sizes[3];
    const int64_t *offsets, *lengths;
    size_t count;
} tw_spans;

/* The beginning of a text; NULL outside of its buffer. */
static inline const uint8_t *tw_span(const tw_spans *s, size_t row)
{
    int64_t at, length;
    if (row >= s->count) return NULL;
    at = s->offsets[row];
    length = s->lengths[row];
    for (int part = 0; part < 3; part++) {
        if (at >= 0 && (at < s->sizes[part] || (at == s->sizes[part] && part == 2)))
            return length >= 0 && length <= s->sizes[part] - at ? s->data[part] + at : NULL;
        at -= s->sizes[part];
    }
    return length ? NULL : s->data[2];
}

enum { TW_TOGETHER = 16 };                   /* records whose groups are looked up at once: most have left the caches */

/* Adds records from one on, see the twin; NULL: no places, no tokens, texts that are not known yet. Gives the first whose group
 * could not be made, or how many there are. */
static inline size_t tw_tally_add(tw_tally *t, size_t row, size_t count, const uint64_t *numbers, size_t known, const uint8_t *places,
                                  const uint8_t *wires, const int64_t *sizes, const int64_t *times, const uint8_t *timed,
                                  const int64_t *tokens, const tw_spans *texts, uint64_t *keys)
{
    size_t groups[TW_TOGETHER];              /* counted from 1 */
    while (row < count) {
        const size_t first = row, stop = count - row < TW_TOGETHER ? count : row + TW_TOGETHER;
        uint64_t before = 0, key = 0;
        unsigned wire = 0;
        for (; row < stop; row++) {
            const size_t place = places ? places[row] : row;
            const uint64_t number = place < known ? numbers[place] : 0;
            if (number != before || wires[row] != wire) { /* else it is of the group of the row before */
                before = number;
                wire = wires[row];
                key = number ? tw_mixed(number, (uint64_t)wire + 1) : 0;
                key += number && !key;
                if (t->table.entries) TW_SOON(&t->table.entries[key & t->table.mask]);
            }
            keys[row] = key;
        }
        for (row = first; row < stop; row++) {
            const uint32_t *found;
            size_t group = 0;
            if (row > first && keys[row] == keys[row - 1]) {
                group = groups[row - first - 1];
            } else if (keys[row] && (found = tw_table_find(&t->table, keys[row]))) {
                group = *found;
                TW_SOON(&t->groups[group - 1]);
            } else if (keys[row]) {
                const size_t place = places ? places[row] : row;
                const uint8_t *name = texts ? tw_span(texts, place) : NULL;
                if (!name || !tw_group_of(t, keys[row], wires[row], name, (size_t)texts->lengths[place])) break;
                group = t->count;
            }
            groups[row - first] = group;
        }
        for (size_t at = first; at < row; at++) {
            tw_group *group;
            if (!groups[at - first]) continue;
            group = &t->groups[groups[at - first] - 1];
            group->records++;
            group->bytes += sizes[at];
            if (tokens) group->tokens += tokens[at];
            if (!timed[at]) continue;
            if (times[at] < group->first) group->first = times[at];
            if (times[at] > group->last) group->last = times[at];
        }
        if (row < stop) return row;
    }
    return row;
}

/* Forgets all groups but those at these places, which ascend, in the memory that there is. */
static inline void tw_tally_keep(tw_tally *t, const int64_t *places, size_t count)
{
    t->used = 0;
    if (t->table.entries) memset(t->table.entries, 0, (t->table.mask + 1) * sizeof(tw_entry));
    for (size_t i = 0; i < count; i++) {
        tw_group one = t->groups[places[i]];
        if (one.size) memmove(t->names + t->used, t->names + one.name, one.size);
        one.name = t->used;
        t->used += one.size;
        t->groups[i] = one;
        tw_table_place(&t->table, one.key, (uint32_t)i + 1);
    }
    t->count = t->table.count = count;
}

static inline void tw_tally_free(tw_tally *t)
{
    free(t->table.entries);
    free(t->groups);
    free(t->names);
    memset(t, 0, sizeof *t);
}

/* --- requests and their answers ------------------------------------------------------------------------------------- */

enum { TW_FIELDS = 7, TW_SENDER = 1, TW_WAYS = 4, TW_KEYS = 2, TW_KEY_FIELDS = 4 };

typedef struct {
    int8_t fields[TW_KEY_FIELDS]; /* TW_FIELDS: nothing stands there */
    int size;
    uint8_t needs, without; /* bits of the fields that must and must not be there */
} tw_key;

typedef struct {
    tw_key asks[TW_KEYS], reply;
    int size, others, names, unasking;
} tw_way;

typedef struct {
    uint64_t sender;
    int64_t time, tag;
    uint32_t older, newer;
    uint8_t places, timed;
} tw_request;

/* A request under one of its keys. */
typedef struct {
    uint64_t key;
    uint32_t bucket, before, behind, named;
} tw_place;

typedef struct {
    uint64_t key;
    uint32_t first, last, other; /* other: the first place whose request is of another sender than that of the first */
} tw_bucket;

typedef struct {
    uint64_t key;
    int64_t count, time;
    uint32_t older, newer;
    uint8_t final, timed;
} tw_memo;

/* Keys in the order in which they were put in last; beyond `most` the oldest are forgotten. */
typedef struct {
    tw_table table;
    tw_memo *memos;
    size_t used, room, most;
    uint32_t oldest, newest, unused;
} tw_recent;

enum { TW_ASKED, TW_ANSWERED, TW_WAITING, TW_GIVEN_UP, TW_BACKWARDS, TW_PROGRESS, TW_ORPHANS, TW_AHEAD, TW_FURTHER, TW_COUNTS };

typedef struct {
    tw_way ways[TW_WAYS];
    int size, all_at_once;
    size_t most;
    tw_table waiting;
    tw_request *requests;
    tw_place *places; /* `stride` for each request: as many as one has keys at most */
    size_t used, room, places_room;
    uint32_t stride;
    tw_bucket *buckets;
    size_t buckets_used, buckets_room;
    uint32_t oldest, newest, unused, unused_bucket;
    size_t open;
    tw_recent ended, early;
    int64_t counts[TW_COUNTS];
    int64_t *settled; /* pairs: the tag of the request, microseconds */
    size_t settled_count, settled_room;
} tw_pairing;

typedef struct {
    uint64_t fields[TW_FIELDS + 1]; /* keyed hashes, so that no input can force collisions; the last is 0 */
    int64_t time, tag;
    int timed, final, asks;
    unsigned there, ways; /* bits of the fields that are, and of the ways in which it may answer */
    uint64_t replies[TW_WAYS], requests[TW_WAYS][TW_KEYS]; /* its keys as an answer and as a request, 0 for none */
} tw_message;

static inline uint64_t tw_key_of(const tw_key *k, int way, const tw_message *m)
{
    uint64_t h = 0x632be59bd9b4e019u + (uint64_t)way;
    if (k->needs & ~m->there || k->without & m->there) return 0;
    for (int i = 0; i < k->size; i++) h = h * 0x9e3779b97f4a7c15u + m->fields[k->fields[i]];
    h ^= h >> 32;
    return h ? h : 1;
}

/* A key of a message that is to be taken soon, whose entries are asked for: most have left the caches. */
static inline uint64_t tw_soon(const tw_pairing *p, const tw_key *k, int way, const tw_message *m)
{
    const uint64_t key = tw_key_of(k, way, m);
    if (key && p->waiting.entries) TW_SOON(&p->waiting.entries[key & p->waiting.mask]);
    if (key && p->ended.table.entries) TW_SOON(&p->ended.table.entries[key & p->ended.table.mask]);
    if (key && p->early.table.entries) TW_SOON(&p->early.table.entries[key & p->early.table.mask]);
    return key;
}

/* Fills in the keys of a message; those of a request are read of requests only. */
static inline void tw_message_keys(const tw_pairing *p, tw_message *m)
{
    for (int i = 0; i < p->size; i++) {
        const tw_way *way = &p->ways[i];
        m->replies[i] = m->ways >> i & 1 ? tw_soon(p, &way->reply, i, m) : 0;
        for (int k = 0; m->asks && k < way->size; k++) m->requests[i][k] = tw_soon(p, &way->asks[k], i, m);
    }
}

static inline void tw_recent_unlink(tw_recent *r, uint32_t i)
{
    tw_memo *one = &r->memos[i - 1];
    if (one->older) r->memos[one->older - 1].newer = one->newer;
    else r->oldest = one->newer;
    if (one->newer) r->memos[one->newer - 1].older = one->older;
    else r->newest = one->older;
}

static inline void tw_recent_drop(tw_recent *r, uint64_t key)
{
    const uint32_t *known = tw_table_find(&r->table, key);
    if (!known) return;
    const uint32_t i = *known;
    tw_recent_unlink(r, i);
    tw_table_drop(&r->table, key);
    r->memos[i - 1].newer = r->unused;
    r->unused = i;
}

/* The memo of a key, which is the newest now. */
static inline tw_memo *tw_recent_put(tw_recent *r, uint64_t key)
{
    const uint32_t *known = tw_table_find(&r->table, key);
    uint32_t i = known ? *known : r->unused;
    if (known) {
        tw_recent_unlink(r, i);
    } else {
        if (!i && tw_grown(&r->memos, r->used, &r->room, sizeof(tw_memo)) < 0) return NULL;
        if (tw_table_put(&r->table, key, i ? i : (uint32_t)r->used + 1) < 0) return NULL;
        if (i) r->unused = r->memos[i - 1].newer;
        else i = (uint32_t)++r->used;
        r->memos[i - 1] = (tw_memo){ key, 0, 0, 0, 0, 0, 0 };
    }
    r->memos[i - 1].older = r->newest;
    r->memos[i - 1].newer = 0;
    if (r->newest) r->memos[r->newest - 1].newer = i;
    else r->oldest = i;
    r->newest = i;
    while (r->table.count > r->most) tw_recent_drop(r, r->memos[r->oldest - 1].key);
    return r->most ? &r->memos[i - 1] : NULL;
}

static inline uint64_t tw_sender(const tw_pairing *p, uint32_t place) { return p->requests[(place - 1) / p->stride].sender; }

/* The next place behind `at` whose request is of another sender than that of the bucket's first. */
static inline void tw_seek_other(const tw_pairing *p, tw_bucket *b, uint32_t at)
{
    const uint64_t sender = b->first ? tw_sender(p, b->first) : 0;
    while (at && tw_sender(p, at) == sender) at = p->places[at - 1].behind;
    b->other = at;
}

static inline int tw_wait(tw_pairing *p, uint32_t at)
{
    tw_place *one = &p->places[at - 1];
    const uint32_t *known = tw_table_find(&p->waiting, one->key);
    uint32_t i = known ? *known : p->unused_bucket;
    if (!known) {
        if (!i && tw_grown(&p->buckets, p->buckets_used, &p->buckets_room, sizeof(tw_bucket)) < 0) return -1;
        if (tw_table_put(&p->waiting, one->key, i ? i : (uint32_t)p->buckets_used + 1) < 0) return -1;
        if (i) p->unused_bucket = p->buckets[i - 1].other;
        else i = (uint32_t)++p->buckets_used;
        p->buckets[i - 1] = (tw_bucket){ one->key, 0, 0, 0 };
    }
    tw_bucket *b = &p->buckets[i - 1];
    one->bucket = i;
    one->before = b->last;
    one->behind = 0;
    if (b->last) p->places[b->last - 1].behind = at;
    else b->first = at;
    b->last = at;
    if (!b->other && tw_sender(p, b->first) != tw_sender(p, at)) b->other = at;
    return 0;
}

static inline void tw_leave(tw_pairing *p, uint32_t at)
{
    const tw_place one = p->places[at - 1];
    tw_bucket *b = &p->buckets[one.bucket - 1];
    if (one.before) p->places[one.before - 1].behind = one.behind;
    else b->first = one.behind;
    if (one.behind) p->places[one.behind - 1].before = one.before;
    else b->last = one.before;
    if (!b->first) {
        tw_table_drop(&p->waiting, b->key);
        b->other = p->unused_bucket;
        p->unused_bucket = one.bucket;
    } else if (at == b->other) {
        tw_seek_other(p, b, one.behind);
    } else if (!one.before && b->other == b->first) { /* none of the sender of the first is left before the other */
        tw_seek_other(p, b, b->first);
    }
}

/* Further answers that name these keys are to what has ended. */
static inline int tw_end(tw_pairing *p, const tw_place *places, int count)
{
    for (int i = 0; i < count; i++)
        if (places[i].named && p->ended.most && !tw_recent_put(&p->ended, places[i].key)) return -1;
    return 0;
}

static inline int tw_forget(tw_pairing *p, uint32_t request)
{
    tw_request *one = &p->requests[request - 1];
    const uint32_t first = (request - 1) * p->stride;
    for (uint32_t i = 0; i < one->places; i++) tw_leave(p, first + i + 1);
    if (one->older) p->requests[one->older - 1].newer = one->newer;
    else p->oldest = one->newer;
    if (one->newer) p->requests[one->newer - 1].older = one->older;
    else p->newest = one->older;
    p->open--;
    if (tw_end(p, p->places + first, one->places) < 0) return -1;
    one->newer = p->unused;
    p->unused = request;
    return 0;
}

static inline int tw_settle(tw_pairing *p, const tw_request *asked, int timed, int64_t time, int ahead)
{
    p->counts[TW_ANSWERED]++;
    if (!asked->timed || !timed) return 0;
    if (time < asked->time) {
        p->counts[TW_BACKWARDS] += !ahead;
        return 0;
    }
    if (tw_grown(&p->settled, 2 * p->settled_count, &p->settled_room, sizeof(int64_t)) < 0) return -1;
    p->settled[2 * p->settled_count] = asked->tag;
    p->settled[2 * p->settled_count + 1] = time - asked->time;
    p->settled_count++;
    return 0;
}

/* 1 where a request waits for this answer, else 0. */
static inline int tw_answer(tw_pairing *p, const tw_way *way, uint64_t key, const tw_message *m)
{
    int found = 0;
    const uint32_t *known;
    while ((known = tw_table_find(&p->waiting, key)) != NULL) {
        const tw_bucket *b = &p->buckets[*known - 1];
        const int own = way->others && tw_sender(p, b->first) == m->fields[TW_SENDER];
        const uint32_t place = own ? b->other : b->first;
        if (!place) break;
        found = 1;
        if (!m->final) {
            p->counts[TW_PROGRESS]++;
            break;
        }
        const uint32_t request = (place - 1) / p->stride + 1;
        const tw_request asked = p->requests[request - 1];
        if (tw_forget(p, request) < 0 || tw_settle(p, &asked, m->timed, m->time, 0) < 0) return -1;
        if (!p->all_at_once) break;
    }
    return found;
}

/* An answer that names a request which does not wait for it. */
static inline int tw_unasked(tw_pairing *p, uint64_t key, const tw_message *m)
{
    if (tw_table_find(&p->ended.table, key)) {
        p->counts[TW_FURTHER]++;
        return 0;
    }
    p->counts[TW_ORPHANS]++;
    if (!p->early.most) return 0;
    tw_memo *early = tw_recent_put(&p->early, key);
    if (!early) return -1;
    early->count++;
    if (!early->final && m->final) {
        early->final = 1;
        early->time = m->time;
        early->timed = (uint8_t)m->timed;
    }
    return 0;
}

static inline int tw_ask(tw_pairing *p, const tw_message *m)
{
    tw_request asked = { m->fields[TW_SENDER], m->time, m->tag, 0, 0, 0, (uint8_t)m->timed };
    tw_place places[TW_WAYS * TW_KEYS];
    uint32_t request = p->unused;
    p->counts[TW_ASKED]++;
    for (int i = 0; i < p->size; i++)
        for (int k = 0; k < p->ways[i].size; k++) {
            const uint64_t key = m->requests[i][k];
            int known = !key;
            for (int other = 0; other < asked.places && !known; other++) known = places[other].key == key;
            if (!known) places[asked.places++] = (tw_place){ key, 0, 0, 0, (uint32_t)p->ways[i].names };
        }
    for (int i = 0; i < asked.places; i++) {
        const uint32_t *known = tw_table_find(&p->early.table, places[i].key);
        if (!known) continue;
        const tw_memo early = p->early.memos[*known - 1];
        tw_recent_drop(&p->early, early.key);
        p->counts[TW_ORPHANS] -= early.count;
        p->counts[TW_AHEAD] += early.count;
        if (!early.final) break;
        return tw_settle(p, &asked, early.timed, early.time, 1) < 0 ? -1 : tw_end(p, places, asked.places);
    }
    if (!asked.places) return 0;
    if (!request) {
        const size_t items = p->used * p->stride;
        if (tw_grown(&p->requests, p->used, &p->room, sizeof(tw_request)) < 0) return -1;
        while (items + p->stride > p->places_room)
            if (tw_grown(&p->places, p->places_room, &p->places_room, sizeof(tw_place)) < 0) return -1;
        request = (uint32_t)++p->used;
    } else {
        p->unused = p->requests[request - 1].newer;
    }
    const uint32_t first = (request - 1) * p->stride;
    asked.older = p->newest;
    p->requests[request - 1] = asked;
    memcpy(p->places + first, places, asked.places * sizeof(tw_place));
    if (p->newest) p->requests[p->newest - 1].newer = request;
    else p->oldest = request;
    p->newest = request;
    p->open++;
    for (uint32_t i = 0; i < asked.places; i++) {
        tw_recent_drop(&p->ended, places[i].key);
        if (tw_wait(p, first + i + 1) < 0) return -1;
    }
    while (p->open > p->most) {
        if (tw_forget(p, p->oldest) < 0) return -1;
        p->counts[TW_GIVEN_UP]++;
    }
    return 0;
}

/* The next message, whose keys are filled in, first as an answer, then as a request of its own. */
static inline int tw_take_message(tw_pairing *p, const tw_message *m)
{
    uint64_t named = 0;
    for (int i = 0; i < p->size; i++) {
        const tw_way *way = &p->ways[i];
        const uint64_t key = m->replies[i];
        if (!key || (way->unasking && m->asks)) continue;
        const int found = tw_answer(p, way, key, m);
        if (found < 0) return -1;
        if (found) {
            named = 0;
            break;
        }
        if (way->names && !named) named = key;
    }
    if (named && tw_unasked(p, named, m) < 0) return -1;
    return m->asks ? tw_ask(p, m) : 0;
}

static inline void tw_pairing_free(tw_pairing *p)
{
    free(p->waiting.entries);
    free(p->requests);
    free(p->places);
    free(p->buckets);
    free(p->ended.table.entries);
    free(p->ended.memos);
    free(p->early.table.entries);
    free(p->early.memos);
    free(p->settled);
}

#endif
