/* A text that is being written: bytes of a buffer that is first on the stack. Short pieces are copied without a call. */
#ifndef TURNWIRE_DRAFT_H
#define TURNWIRE_DRAFT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DRAFT_ROOM 4096  /* bytes that stand on the stack */
#define DRAFT_SLACK 64   /* bytes that may always be written behind what was asked for */

typedef struct {
    char *at, *end;      /* where the next byte goes; behind it there is DRAFT_SLACK */
    char *start;
    char small[DRAFT_ROOM + DRAFT_SLACK];
} tw_draft;

static inline void tw_draft_begin(tw_draft *d) {
    d->at = d->start = d->small;
    d->end = d->small + DRAFT_ROOM;
}

static inline void tw_draft_free(tw_draft *d) {
    if (d->start != d->small) free(d->start);
}

static inline size_t tw_draft_size(const tw_draft *d) { return (size_t)(d->at - d->start); }

/* Makes room for so many bytes more; 0 where there is no memory. */
static int tw_draft_grow(tw_draft *d, size_t more) {
    size_t size = tw_draft_size(d), room = 2 * (size + more);
    char *grown = (char *)(d->start == d->small ? malloc(room + DRAFT_SLACK) : realloc(d->start, room + DRAFT_SLACK));
    if (grown == NULL) return 0;
    if (d->start == d->small) memcpy(grown, d->small, size);
    d->start = grown;
    d->at = grown + size;
    d->end = grown + room;
    return 1;
}

static inline int tw_draft_room(tw_draft *d, size_t more) {  /* what stands in the slack is behind the end */
    return (ptrdiff_t)more <= d->end - d->at || tw_draft_grow(d, more);
}

static inline void tw_copy(char *to, const char *from, size_t size) {
    if (size >= 8) {
        uint64_t first, last;
        if (size > 32) {
            memcpy(to, from, size);
            return;
        }
        if (size > 16) {
            memcpy(to, from, 16);
            memcpy(to + size - 16, from + size - 16, 16);
            return;
        }
        memcpy(&first, from, 8);
        memcpy(&last, from + size - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + size - 8, &last, 8);
    } else if (size >= 4) {
        uint32_t first, last;
        memcpy(&first, from, 4);
        memcpy(&last, from + size - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + size - 4, &last, 4);
    } else {
        while (size--) *to++ = *from++;
    }
}

/* Writes bytes; 0 where there is no memory. */
static inline int tw_draft_put(tw_draft *d, const char *from, size_t size) {
    if (!tw_draft_room(d, size)) return 0;
    tw_copy(d->at, from, size);
    d->at += size;
    return 1;
}

/* True if a line feed is among the bytes. */
static inline int tw_has_feed(const char *text, size_t size) {
    const uint64_t ones = 0x0101010101010101ULL, tops = 0x8080808080808080ULL;
    if (size > 64) return memchr(text, '\n', size) != NULL;
    if (size >= 8) {
        uint64_t word, found = 0;
        for (size_t at = 0; at + 8 < size; at += 8) {
            memcpy(&word, text + at, 8);
            word ^= ones * '\n';
            found |= (word - ones) & ~word;
        }
        memcpy(&word, text + size - 8, 8);
        word ^= ones * '\n';
        return ((found | ((word - ones) & ~word)) & tops) != 0;
    }
    while (size--)
        if (*text++ == '\n') return 1;
    return 0;
}

#endif
