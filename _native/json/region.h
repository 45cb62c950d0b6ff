/* The state of the scan of JSON in logs: the block, its rows and rejects, the texts that are searched, and the offsets of
 * these in the block. The scan itself is in json/scan.h. */
#ifndef TURNWIRE_JSON_REGION_H
#define TURNWIRE_JSON_REGION_H

#include "_native/common/claims.h"
#include "rows.h"
#include "wrapper.h"

enum { TW_FINE, TW_FULL, TW_STOPPED };
enum { TW_OPENS_OBJECT = 1, TW_OPENS_STRING = 2, TW_OPENS_BELOW = 3 };
enum { TW_TRIED_RECORD, TW_TRIED_REJECT, TW_TRIED_OTHER, TW_TRIED_BROKEN };
enum { TW_DEEPEST_STRING = 8, TW_STRING_REJECTS = 512 };
enum { TW_SIGNS_ALL = 1, TW_SIGNS_BETWEEN = 2 }; /* between claims of CSP/1, its magic is no sign */

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
    int values;                              /* level 0: it is a line of strings and arrays */
    int cut;                                 /* level 0: the line goes on behind the end */
    int numbers;                             /* the string is written as an array of bytes */
    int around;                              /* 0, or it stands in the good object at `object`: 1 its time is not looked */
    size_t object;                           /* for, 2 it is `moment`, 3 it has none */
    int64_t moment;
    size_t head, head_seen;                  /* level 1 on: where the line begins that the byte at head_seen stands in */
    size_t line_from, line_to;               /* likewise, an end of line: no newline stands between the two */
    size_t mark_end;                         /* likewise, the `end` for which it is known where from mark_since on each mark */
    size_t mark_since[TW_MOST_LINE_MARKS], mark_at[TW_MOST_LINE_MARKS]; /* stands first with a backslash behind it */
} tw_region;

typedef struct { int what, wire, variant, reason, cut; size_t end, fault; } tw_tried;
/* What the wires' own reading says: what (TW_TRIED_*, OTHER for nobody's), the place of the wire, reason and fault. */
typedef struct { int what, wire, reason; size_t fault; } tw_verdict;

enum { TW_OTHER_NONE, TW_OTHER_RECORD, TW_OTHER_REJECT, TW_OTHER_STRING, TW_OTHER_CUT };
typedef struct { int what; size_t at, end; } tw_other;

/* The bytes that begin an object, and a message of nSLIP. */
enum { TW_SIGN_OBJECT, TW_SIGN_TOKEN, TW_SIGNS, TW_SEEK_SIGN = 4096 };

struct tw_kept_verdict;

typedef struct tw_lines {
    const uint8_t *s;
    size_t size, limit, position;
    size_t stop;                             /* up to here lines are read; places behind `size` are those of the arena */
    int final, mute;                         /* mute: rejects are not stored */
    int64_t base, line;
    const tw_plan *plan;
    tw_json json;
    tw_json_rows rows;
    int apart;                               /* a row is of a string: place, size, inner and depth are written (see tw_set_apart) */
    tw_json_rejects rejects;
    uint8_t *arena;
    size_t arena_size, arena_room;
    size_t head;                             /* where the line (or the piece of one) starts */
    int values;                              /* the line at k->position is one of strings and arrays */
    int carried;                             /* the line began before k->position, its head is known */
    int head_known;                          /* 0: not looked at, 1: head_time is its time, 2: it has none */
    int64_t head_time;
    int several;                             /* what is read now may have several lines: `line` is that of its start, and */
    size_t counted;                          /* counted_line that of the byte at `counted` */
    int64_t counted_line;
    int signs;                               /* whether reading stops at the first sign (framing/line_signs.h) that a line shows: */
    size_t signs_from;                       /* TW_SIGNS_ALL, TW_SIGNS_BETWEEN; of lines from here on */
    int signed_line;                         /* it did; what was stored then counts for nothing */
    size_t looked;                           /* lines that begin before it were looked at for signs, or need not be */
    int held;                                /* reading stopped where an object goes on behind what is there */
    size_t open_at;                          /* where one begins that the end of the input cuts off, or SIZE_MAX */
    int rows_full;                           /* it was the rows that were full */
    int grows;                               /* the caller makes room for what does not fit: nothing is given in parts */
    size_t partial;                          /* on TW_FULL inside a long object: up to here all is stored; else 0 */
    size_t string_rejects;                   /* stored since the outermost string began */
    struct tw_kept_verdict *verdicts;        /* of json/verdicts.h */
    size_t verdicts_made;
    void *context;
    int (*whole)(void *context, const uint8_t *p, size_t size, tw_verdict *verdict);
    int (*torn)(void *context, const uint8_t *p, size_t size, int too_large, tw_verdict *verdict);
    int (*number)(void *context, const uint8_t *p, size_t size, double *value);
    int (*go_on)(void *context);             /* 0: somebody wants the search to end; see tw_stopped_by_signal */
    uint32_t steps;
    int (*find)(struct tw_lines *k, tw_region *r, size_t from, size_t to, tw_other *other);
    int (*good)(struct tw_lines *k, size_t at, size_t end, tw_other *other);
    int (*take)(struct tw_lines *k, tw_region *r, const tw_other *other);
    int (*run)(struct tw_lines *k);
    int (*look)(struct tw_lines *k, const uint8_t *p, const uint8_t *end);
    void *others;                            /* what the hooks need */
    int (*claims)(void *context, const uint8_t *p, size_t size, tw_claim **claims, size_t *count); /* freed by the caller */
    tw_short_texts *short_texts;             /* the same of short texts, without Python; or NULL */
    size_t mark_since[TW_MOST_LINE_MARKS], mark_next[TW_MOST_LINE_MARKS];
    size_t markless_since, markless_until;   /* no mark at all starts in [since, until) */
    size_t sign_since[TW_SIGNS], sign_next[TW_SIGNS]; /* the same of the bytes of tw_next_sign */
} tw_lines;

/* Whether a signal ended the search, as Ctrl-C does: asked at each 65,536th step, which are some 20 ms of one line, and more
 * than a block of usual lines has. */
static inline int tw_stopped_by_signal(tw_lines *k)
{
    return !(++k->steps & 0xFFFF) && !k->go_on(k->context);
}

static inline const uint8_t *tw_text(const tw_lines *k, const tw_region *r) { return r->level ? k->arena : k->s; }
static inline size_t tw_hard(const tw_lines *k, const tw_region *r) { return r->level ? k->arena_size : k->size; }

/* Where the next '{' (or '@') of the block stands from `from` on, if that is in front of `to`; else `to` or a place behind it.
 * All of the block is gone through once, however often it is asked for, and little of it where that is seldom: it is known that
 * none stands in [since, next). */
static size_t tw_seek_sign(tw_lines *k, int which, size_t from, size_t to)
{
    size_t *since = &k->sign_since[which], *next = &k->sign_next[which], begin = from;
    uint8_t sign = which == TW_SIGN_OBJECT ? '{' : '@';
    const uint8_t *at;
    if (from < *since) {
        at = (const uint8_t *)memchr(k->s + from, sign, *since - from);
        if (at) *next = (size_t)(at - k->s);
        *since = from;
        if (*next >= to || k->s[*next] == sign) return *next;
        begin = *next;
    } else if (from >= *since && from <= *next) {
        begin = *next;
    } else {
        *since = from;
    }
    size_t window = begin - *since + TW_SEEK_SIGN, until = k->size - begin < window ? k->size : begin + window;
    if (until < to) until = to;
    at = (const uint8_t *)memchr(k->s + begin, sign, until - begin);
    return *next = at ? (size_t)(at - k->s) : until;
}

static inline size_t tw_next_sign(tw_lines *k, int which, size_t from, size_t to)
{
    size_t next = k->sign_next[which];
    if (from >= k->sign_since[which] && from <= next &&
        (next >= to || k->s[next] == (which == TW_SIGN_OBJECT ? '{' : '@'))) return next;
    return from < to ? tw_seek_sign(k, which, from, to) : to;
}

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

/* What is read from `at` on may go over several lines. */
static void tw_count_lines(tw_lines *k, size_t at)
{
    if (k->several) return;
    k->several = 1;
    k->counted = at;
    k->counted_line = k->line;
}

/* The line of a place in the block. */
static inline int64_t tw_line_of(tw_lines *k, size_t at)
{
    if (!k->several) return k->line;
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

/* The end of the line in which the byte at `at` of a region stands, its line end excluded. */
static inline size_t tw_line_stop(tw_lines *k, tw_region *r, size_t at)
{
    return r->level || k->several ? tw_line_stop_below(k, r, at) : r->end;
}

/* The end of a piece of text that starts at `from`, so that no character is cut. */
static size_t tw_piece_end(const uint8_t *s, size_t from, size_t end)
{
    for (int i = 0; i < 3 && end > from + 1 && (s[end] & 0xC0) == 0x80; i++) end--;
    return end;
}

/* Up to where an object of the block may go that starts at `at`. */
static inline size_t tw_reach(const tw_lines *k, size_t at)
{
    return k->stop - at <= k->limit ? k->stop : tw_piece_end(k->s, at, at + k->limit);
}

#endif
