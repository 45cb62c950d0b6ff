/* nSLIP records in a log, straight into columns, in C that runs everywhere. The rules are those of readings 8: a
 * candidate is '@', a header prefix, one to eleven digits and '|'; a record ends at the first '#' outside quotes; what
 * fails is a reject from its '@' to the next candidate or the end of its line; everything else is text. */
#ifndef TURNWIRE_NSLIP_ROWS_H
#define TURNWIRE_NSLIP_ROWS_H

#include "parse.h"

/* Columns of one batch; NULL where nobody asked. Rows are written from index `count` on. */
typedef struct {
    int64_t *offset, *length, *line;
    uint16_t *present;                       /* bit per slot, then TW_STATUS_ESCAPED, TW_TAG_ESCAPED, TW_KEPT */
    uint8_t *act, *frame;
    uint64_t *head[TW_HEADERS];              /* conv_id, src, dst, turn at their TW_ index */
    uint64_t *ints[TW_SLOTS];
    int64_t *text_offset[2], *text_length[2];
    size_t count, room;
} tw_columns;

enum { TW_STATUS_ESCAPED = 1 << 9, TW_TAG_ESCAPED = 1 << 10, TW_KEPT = 1 << 11, TW_FRAME_KNOWN = 1 << 12 };

typedef struct {
    int64_t *offset, *length, *line, *fault; /* fault: where in the input the first fault is */
    uint8_t *reason;
    size_t count, room;
} tw_rejects;

typedef struct {
    const uint8_t *s;
    size_t size;                             /* bytes of s that are there */
    int final;                               /* nothing comes behind them */
    int flags;                               /* TW_KEEP */
    size_t limit;                            /* bytes of one message */
    int64_t base;                            /* offset of s[0] in the input */
    int64_t line;                            /* 1-based line of s[position], kept up to date */
    size_t position;                         /* where to go on; everything before it is accounted for */
    size_t sentinel;                         /* behind the last '#' */
    size_t line_end;                         /* end of the line last looked at: its '\n', or size */
    int line_end_known;
    tw_columns columns;
    tw_rejects rejects;
} tw_scan;

static inline int64_t tw_count_newlines(const uint8_t *s, size_t from, size_t to)
{
    int64_t n = 0;
    while (to - from >= 128) {               /* narrow sums, so that the compiler can use wide registers */
        uint8_t part = 0;
        for (int i = 0; i < 128; i++) part = (uint8_t)(part + (s[from + (size_t)i] == '\n'));
        n += part;
        from += 128;
    }
    for (; from < to; from++) n += s[from] == '\n';
    return n;
}

/* What begins with the '@' at s[p]; TW_CANDIDATE_CUT only where more input decides. */
static int tw_scan_begins(const tw_scan *k, size_t p)
{
    size_t end = k->size - p > k->limit ? p + k->limit : k->size;
    int what = tw_candidate(k->s, p, end);
    return what == TW_CANDIDATE_CUT && (k->final || end < k->size) ? TW_NO_CANDIDATE : what;
}

/* What a message says into row n; `shift` is added to the places of its texts. */
static inline void tw_store_fields(const tw_columns *c, size_t n, const tw_fields *f, size_t shift)
{
    const tw_values *v = f->v;
    uint32_t present = v->present | (uint32_t)(f->escaped & 3) << 9;
    if (f->unknown_count) present |= TW_KEPT;
    if (v->head[TW_FRAME] <= TW_MAX_FRAME) present |= TW_FRAME_KNOWN;
    if (c->present) c->present[n] = (uint16_t)present;
    if (c->act) c->act[n] = (uint8_t)v->head[TW_ACT];
    if (c->frame) c->frame[n] = v->head[TW_FRAME] <= TW_MAX_FRAME ? (uint8_t)v->head[TW_FRAME] : 255;
    for (int i = TW_CONV; i < TW_HEADERS; i++)
        if (c->head[i]) c->head[i][n] = v->head[i];
    for (int i = 0; i < TW_SLOTS; i++)
        if (c->ints[i]) c->ints[i][n] = (v->present >> i) & 1 ? v->ints[i] : 0;
    for (int i = 0; i < 2; i++) {
        if (!c->text_offset[i]) continue;
        int here = (v->present >> (i ? TW_TAG : TW_STATUS)) & 1;
        c->text_offset[i][n] = here ? (int64_t)(f->text_first[i] + shift) : 0;
        c->text_length[i][n] = here ? (int64_t)f->text_length[i] : 0;
    }
}

static inline void tw_store_row(tw_scan *k, size_t at, const tw_fields *f)
{
    tw_columns *c = &k->columns;
    size_t n = c->count++;
    if (c->offset) c->offset[n] = k->base + (int64_t)at;
    if (c->length) c->length[n] = (int64_t)(f->end - at);
    if (c->line) c->line[n] = k->line;
    tw_store_fields(c, n, f, 0);
}

static void tw_store_reject(tw_scan *k, size_t at, size_t end, size_t fault, int reason)
{
    tw_rejects *r = &k->rejects;
    size_t n = r->count++;
    r->offset[n] = k->base + (int64_t)at;
    r->length[n] = (int64_t)(end - at);
    r->line[n] = k->line;
    r->fault[n] = k->base + (int64_t)fault;
    r->reason[n] = (uint8_t)reason;
}

/* End of the line that p stands in: its '\n', or the size. */
static size_t tw_end_of_line(tw_scan *k, size_t p)
{
    if (!k->line_end_known || k->line_end < p) {
        const uint8_t *newline = (const uint8_t *)memchr(k->s + p, '\n', k->size - p);
        k->line_end = newline ? (size_t)(newline - k->s) : k->size;
        k->line_end_known = 1;
    }
    return k->line_end;
}

/* The next candidate that starts in s[p..end) and stands in the line that ends at `line`, or end. */
static size_t tw_next_candidate(const uint8_t *s, size_t p, size_t end, size_t line, size_t limit)
{
    while (p < end) {
        const uint8_t *at = (const uint8_t *)memchr(s + p, '@', end - p);
        if (!at) return end;
        p = (size_t)(at - s);
        if (tw_candidate_within(s, p, line, limit)) return p;
        p++;
    }
    return end;
}

enum { TW_GO_ON, TW_WAIT };

/* A candidate that the fast path did not take. TW_WAIT: more input is needed, or there is no room; nothing was stored. */
static int tw_scan_slow(tw_scan *k, size_t at)
{
    const uint8_t *s = k->s;
    tw_values values;
    tw_unknown unknown[TW_MAX_EXTRA];
    tw_fields f;
    size_t newline = tw_end_of_line(k, at);
    size_t line = newline < k->size && newline > at && s[newline - 1] == '\r' ? newline - 1 : newline;
    size_t end = line - at > k->limit ? at + k->limit : line;
    f.v = &values;
    f.unknown = unknown;
    int code = tw_nslip_parse(s, at, end, k->size, k->flags | TW_LOG, &f);
    if (code == TW_OK) {
        tw_store_row(k, at, &f);
        k->position = f.end;
        return TW_GO_ON;
    }
    if (end < line && (f.end >= end || code == TW_UNTERMINATED_STRING)) {
        code = TW_MESSAGE_TOO_LARGE;
        f.end = end;
    }
    /* The byte behind the limit may be the '\r' of a line that ends there, so one more is waited for; and a candidate
     * that begins in front of the limit may end behind it. */
    if (newline == k->size && !k->final && k->size - at < k->limit + TW_MOST_CANDIDATE - 1) return TW_WAIT;
    if (k->rejects.count == k->rejects.room) return TW_WAIT;
    size_t stop = tw_next_candidate(s, at + 1, end, line, k->limit);
    tw_store_reject(k, at, stop, f.end, code);
    k->position = stop;
    return TW_GO_ON;
}

/* As tw_nslip_fast, for a record with its fields in any order and, where they are kept, an unknown frame and one unknown
 * slot: f->unknown_count says how many, and no more is told of them. f->v has no order. */
static TW_APART int tw_nslip_any(const uint8_t *restrict s, size_t size, int keep, tw_fields *restrict f)
{
    const uint32_t headers = ((1u << TW_HEADERS) - 1) << TW_C;
    tw_values *v = f->v;
    uint64_t value[TW_KINDS];
    const uint8_t *p = s + 1;
    uint32_t seen = 0;
    uint8_t d;
    if (size < 19 || tw_kind[*p] - (unsigned)TW_C >= TW_HEADERS) return 0;
    f->escaped = f->non_ascii = f->unknown_count = 0;
    for (;; p++) {
        uint32_t kind = tw_kind[*p];
        if (kind >= (keep ? TW_KINDS : TW_OTHER) || (seen >> kind) & 1) return 0;
        seen |= 1u << kind;
        if (p[1] == '"') {
            int which = kind == TW_TAG ? 1 : kind == TW_STATUS ? 0 : 2, high = 0;
            if (which == 2 && kind != TW_OTHER) return 0;
            size_t first = (size_t)(p + 2 - s), end = tw_string_stop(s, first, size, 1, &high);
            if (end >= size || s[end] != '"' || high) {
                end = tw_rare_string(s, first, end, size, 1, high, which, f);
                if (!end) return 0;
            }
            if (which < 2) {
                f->text_first[which] = first;
                f->text_length[which] = end - first;
            }
            if (end + 1 >= size) return 0;
            p = s + end + 1;
        } else {
            const uint8_t *first = ++p;
            uint64_t number = tw_digit[*p];
            if (number == 255 || kind == TW_TAG || kind == TW_STATUS) return 0;
            while ((d = tw_digit[*++p]) != 255) number = number * 62 + d;
            if (p - first > 10) return 0;
            value[kind] = number;
        }
        if (*p != '|') break;
    }
    if (*p != '#' || (seen & headers) != headers || value[TW_A] > TW_MAX_ACT) return 0;
    if (value[TW_F] > TW_MAX_FRAME && !keep) return 0;
    f->unknown_count = (uint8_t)((value[TW_F] > TW_MAX_FRAME) + (seen >> TW_OTHER));
    v->head[TW_ACT] = value[TW_A];
    v->head[TW_FRAME] = value[TW_F];
    for (int i = TW_CONV; i < TW_HEADERS; i++) v->head[i] = value[TW_C + i - TW_CONV];
    v->present = (uint16_t)(seen & ((1u << TW_SLOTS) - 1));
    for (uint32_t left = v->present & ~(1u << TW_STATUS | 1u << TW_TAG); left; left &= left - 1) {
        int slot = tw_low_zeros_32(left);
        v->ints[slot] = value[slot];
    }
    f->end = (size_t)(p + 1 - s);
    return 1;
}

/* Whether a good record begins at p, and is a common one: *f has its fields then. */
TW_ALWAYS int tw_scan_common(const tw_scan *k, size_t p, tw_fields *f)
{
    const uint8_t *s = k->s + p;
    size_t size = k->sentinel - p;
    if (p + 19 > k->sentinel) return 0;
    if (!(tw_nslip_fast(s, size, 1, f) || tw_nslip_any(s, size, k->flags & TW_KEEP, f)) || f->end > k->limit) return 0;
    f->end += p;
    f->text_first[0] += p;
    f->text_first[1] += p;
    return 1;
}

/* The candidate at p, for which there is room; k->line is its line. */
TW_ALWAYS int tw_scan_candidate(tw_scan *k, size_t p)
{
    tw_values values;
    tw_fields f;
    f.v = &values;
    f.unknown = NULL;
    f.text_first[0] = f.text_first[1] = 0;
    if (!tw_scan_common(k, p, &f)) return tw_scan_slow(k, p);
    tw_store_row(k, p, &f);
    k->position = f.end;
    return TW_GO_ON;
}

/* Reads from k->position on, until the input, the rows or the rejects are full. */
static inline void tw_nslip_scan_scalar(tw_scan *k)
{
    const uint8_t *s = k->s;
    size_t size = k->size, p = k->position, counted = p;             /* newlines in front of `counted` are in k->line */
    tw_values values;
    tw_fields f;
    f.v = &values;
    f.unknown = NULL;
    f.end = p;
    f.text_first[0] = f.text_first[1] = 0;
    for (;;) {
        if (p + 1 < size && s[p] == '\n' && s[p + 1] == '@') {
            p++;
        } else {
            const uint8_t *at = p < size ? (const uint8_t *)memchr(s + p, '@', size - p) : NULL;
            if (!at) { p = size; break; }
            p = (size_t)(at - s);
        }
        int common = tw_scan_common(k, p, &f);
        if (!common) {
            int begins = tw_scan_begins(k, p);
            if (begins == TW_CANDIDATE_CUT) break;
            if (begins == TW_NO_CANDIDATE) { p++; continue; }
        }
        k->line += tw_count_newlines(s, counted, p);
        counted = p;
        if (k->columns.count == k->columns.room) break;
        if (common) {
            tw_store_row(k, p, &f);
            p = f.end;
            continue;
        }
        if (tw_scan_slow(k, p) == TW_WAIT) break;
        p = k->position;
    }
    k->line += tw_count_newlines(s, counted, p);
    k->position = p;
}

/* What is asked for, in bits: header numbers, integer slots, text slots. */
enum {
    TW_WANTED_HEAD = 1, TW_WANTED_INTS = 2, TW_WANTED_TEXTS = 4, TW_WANTED_ALL = 8,
    TW_WANTED_SLOTS = TW_WANTED_INTS | TW_WANTED_TEXTS
};

static inline uint32_t tw_wanted(const tw_columns *c)
{
    uint32_t wanted = 0, heads = 0, ints = 0, texts = 0;
    int places = c->offset && c->length && c->line && c->present && c->act && c->frame;
    for (int i = TW_CONV; i < TW_HEADERS; i++) heads += c->head[i] != NULL;
    for (int i = 0; i < TW_SLOTS; i++) ints += c->ints[i] != NULL;
    for (int i = 0; i < 2; i++) texts += c->text_offset[i] != NULL;
    if (places && heads == TW_HEADERS - TW_CONV && ints == TW_SLOTS - 2 && texts == 2) return TW_WANTED_ALL;
    if (heads) wanted |= TW_WANTED_HEAD;
    if (ints) wanted |= TW_WANTED_INTS;
    if (texts) wanted |= TW_WANTED_TEXTS;
    return wanted;
}

#endif
