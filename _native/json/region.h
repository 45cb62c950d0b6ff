/* The state of a search: the block, its rows and rejects, the texts that are searched, and the offsets of these in the block. */
#ifndef TURNWIRE_JSON_REGION_H
#define TURNWIRE_JSON_REGION_H

#include "rows.h"
#include "wrapper.h"

enum { TW_FINE, TW_FULL, TW_STOPPED };
enum { TW_TRIED_RECORD, TW_TRIED_REJECT, TW_TRIED_OTHER, TW_TRIED_BROKEN };
enum { TW_DEEPEST_STRING = 8, TW_STRING_REJECTS = 512 };

typedef struct {
    int64_t *offset, *length, *line, *fault;
    int64_t *inner, *row;                    /* as of a row, -1 outside of strings; how many rows stand before it */
    uint8_t *reason, *wire;
    size_t count, room;
} tw_json_rejects;

/* Text that is looked through: a line, or what a string says. Places are offsets in k->s or, from level 1 on, k->arena. */
typedef struct tw_region {
    const struct tw_region *outer;           /* the text that the string stands in */
    int level;
    size_t start, end;
    size_t quote;                            /* of the outermost string, in k->s */
    size_t inside, until;                    /* where the string's inside starts and ends in the outer text */
    size_t seen, written;                    /* a place in here and the same place in the outer text, for tw_outside */
    int numbers;                             /* the string is written as an array of bytes */
    int around;                              /* 0, or it stands in the good object at `object`: 1 its time is not looked */
    size_t object;                           /* for, 2 it is `moment`, 3 it has none */
    int64_t moment;
    size_t head, head_seen;                  /* level 1 on: where the line begins that the byte at head_seen stands in */
    size_t line_from, line_to;               /* likewise, an end of line: no newline stands between the two */
} tw_region;

typedef struct { int what, wire, variant, reason, cut; size_t end, fault; } tw_tried;
/* What the wires' own reading says: what (TW_TRIED_*, OTHER for nobody's), the place of the wire, reason and fault. */
typedef struct { int what, wire, reason; size_t fault; } tw_verdict;

enum { TW_OTHER_NONE, TW_OTHER_RECORD, TW_OTHER_REJECT, TW_OTHER_STRING, TW_OTHER_CUT };
typedef struct { int what; size_t at, end; } tw_other;

struct tw_kept_verdict;

typedef struct tw_lines {
    const uint8_t *s;
    size_t size, limit, position;
    size_t stop;                             /* up to here lines are read; places behind `size` are those of the arena */
    int final;
    int64_t base, line;
    const tw_plan *plan;
    tw_json json;
    tw_json_rows rows;
    int apart;                               /* a row is of a string: place, size, inner and depth are written (see tw_set_apart) */
    tw_json_rejects rejects;
    uint8_t *arena;
    size_t arena_size, arena_room;
    size_t head;                             /* where the line (or the piece of one) starts */
    int head_known;                          /* 0: not looked at, 1: head_time is its time, 2: it has none */
    int64_t head_time;
    int within;                              /* all that is read stands in the line `line`; else lines are counted: */
    size_t counted;                          /* counted_line is the line of the byte at `counted` */
    int64_t counted_line;
    size_t string_rejects;                   /* stored since the outermost string began */
    struct tw_kept_verdict *verdicts;        /* of json/verdicts.h */
    size_t verdicts_made;
    void *context;
    int (*whole)(void *context, const uint8_t *p, size_t size, tw_verdict *verdict);
    int (*torn)(void *context, const uint8_t *p, size_t size, int too_large, tw_verdict *verdict);
    int (*number)(void *context, const uint8_t *p, size_t size, double *value);
    int (*go_on)(void *context);             /* 0: somebody wants the search to end; see tw_stopped_by_signal */
    uint32_t steps;
    int (*run)(struct tw_lines *k);
    void *others;                            /* what the hooks need */
} tw_lines;

/* Whether a signal ended the search, as Ctrl-C does: asked at each 65,536th step, which are some 20 ms of one line, and more
 * than a block of usual lines has. */
static inline int tw_stopped_by_signal(tw_lines *k)
{
    return !(++k->steps & 0xFFFF) && !k->go_on(k->context);
}

static inline const uint8_t *tw_text(const tw_lines *k, const tw_region *r) { return r->level ? k->arena : k->s; }
static inline size_t tw_hard(const tw_lines *k, const tw_region *r) { return r->level ? k->arena_size : k->size; }

/* --- places --- */

/* Where the byte at `at` of a string's text stands in the text around it, as written. */
static size_t tw_outside(tw_lines *k, tw_region *r, size_t at)
{
    const uint8_t *outer = tw_text(k, r->outer);
    if (at < r->seen) {
        r->seen = r->start;
        r->written = r->inside;
    }
    const uint8_t *p = outer + r->written, *end = outer + r->until;
    while (r->seen < at) {
        if (r->numbers) {
            uint8_t byte;
            p = tw_next_byte(p, end, &byte);
            r->seen++;
            continue;
        }
        if (*p != '\\') { p++; r->seen++; continue; }
        uint8_t said[4];
        const uint8_t *behind = p;
        size_t size = (size_t)tw_unescape_one(&behind, end, said);
        if (r->seen + size > at) break;      /* inside a character: where it starts */
        r->seen += size;
        p = behind;
    }
    r->written = (size_t)(p - outer);
    return r->written;
}

/* The place in k->s of the byte at `at` of any region, as written there. */
static size_t tw_as_written(tw_lines *k, tw_region *r, size_t at)
{
    while (r->level) {
        at = tw_outside(k, r, at);
        r = (tw_region *)r->outer;
    }
    return at;
}

/* How far into the text of the outermost string the byte at `at` stands. */
static size_t tw_inner(tw_lines *k, tw_region *r, size_t at)
{
    while (r->level > 1) {
        at = tw_outside(k, r, at);
        r = (tw_region *)r->outer;
    }
    return at - r->start;
}

/* --- lines --- */

static int64_t tw_newlines(const uint8_t *p, size_t size)
{
    int64_t count = 0;
    while (size) {
        uint8_t few = 0;                     /* a byte a lane: the compiler makes vectors of it */
        size_t step = size < 255 ? size : 255;
        for (size_t i = 0; i < step; i++) few += p[i] == '\n';
        count += few;
        p += step;
        size -= step;
    }
    return count;
}

/* The line of a place in the block. */
static inline int64_t tw_line_of(tw_lines *k, size_t at)
{
    if (k->within) return k->line;
    if (at >= k->counted) k->counted_line += tw_newlines(k->s + k->counted, at - k->counted);
    else k->counted_line -= tw_newlines(k->s + at, k->counted - at);
    k->counted = at;
    return k->counted_line;
}

static size_t tw_line_stop_below(tw_lines *k, tw_region *r, size_t at)
{
    const uint8_t *s = tw_text(k, r);
    if (at < r->line_from || at >= r->line_to) {
        const uint8_t *newline = (const uint8_t *)memchr(s + at, '\n', r->end - at);
        r->line_from = at;
        r->line_to = newline ? (size_t)(newline - s) : r->end;
    }
    if (r->line_to >= r->end) return r->end;
    return r->line_to - (r->line_to > at && s[r->line_to - 1] == '\r');
}

#endif
