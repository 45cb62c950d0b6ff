/* The log around a message of CSP/1: the prefix of its lines and the code fence in which they stand, and the lines that end it
 * there. The readable twins are `form_of` and the forms in log/search/carriers.py, and `_LogCursor` in log/search/csp.py. */
#ifndef TURNWIRE_CSP_AROUND_H
#define TURNWIRE_CSP_AROUND_H

#include "_native/common/log_time.h"
#include "marks.h"

/* How the lines behind the first one begin: with its prefix, with white space as wide, with neither. TW_NO_FORM: no prefix stands in
 * front of the first one. */
enum { TW_NO_FORM, TW_REPEATED, TW_HANGING, TW_BARE };

/* A line that is just `run` times '>'; and all of them from a place to the end of a text, sorted by run, once they were listed. */
typedef struct { size_t run, place; } csp_closing;
typedef struct { csp_closing *lines; size_t count, room, from; int listed; } csp_closings;
enum { CSP_CLOSE_BY = 1 << 12 };             /* bytes that are looked through before the lines are listed */

typedef struct {
    int form;
    const uint8_t *prefix;
    size_t size;
    tw_fence fence;                          /* that is open */
    csp_closings *closings;                  /* what is known of the text up to `end`, or NULL */
    size_t end;
} csp_around;

enum { TW_ESCAPE = 0x1B, TW_NOT_ALIKE = -1, CSP_HEAD_TIME = 256 };

static inline int csp_is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }
static inline int tw_space(uint8_t byte) { return byte == ' ' || (byte >= 9 && byte <= 13); }

/* The first line in s[place .. stop) that may close a heredoc, and its run; or `stop`. */
static size_t csp_closing_line(const uint8_t *s, size_t place, size_t stop, size_t end, size_t *run)
{
    const uint8_t *sign;
    for (size_t p = place, first; p < stop && (sign = (const uint8_t *)memchr(s + p, '>', stop - p));) {
        for (first = p = (size_t)(sign - s); p < end && s[p] == '>';) p++;
        if (p - first < 3 || (first != place && s[first - 1] != '\n')) continue;
        if (p < end && s[p] != '\n' && !(s[p] == '\r' && p + 1 < end && s[p + 1] == '\n')) continue;
        *run = p - first;
        return first;
    }
    return stop;
}

static int csp_compare_closings(const void *left, const void *right)
{
    const csp_closing *a = (const csp_closing *)left, *b = (const csp_closing *)right;
    if (a->run != b->run) return a->run < b->run ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static int csp_list_closings(csp_closings *c, const uint8_t *s, size_t place, size_t end)
{
    size_t run = 0, p = place;
    c->listed = c->count = 0;
    for (; (p = csp_closing_line(s, p, end, end, &run)) < end; p += run) {
        if (!tw_more_room((void **)&c->lines, &c->room, c->count, 1, sizeof *c->lines)) return 0;
        c->lines[c->count++] = (csp_closing){ run, p };
    }
    if (c->count) qsort(c->lines, c->count, sizeof *c->lines, csp_compare_closings);
    c->from = place;
    return c->listed = 1;
}

/* The next line from `place`, the start of one, on that closes a heredoc of that run, or `end`. Where it is not close by, the lines that
 * close any are listed once for all heredocs of the text, so that none is looked for again and again. */
static TW_UNUSED size_t csp_next_closing(csp_closings *c, const uint8_t *s, size_t place, size_t run, size_t end)
{
    size_t stop = end - place > CSP_CLOSE_BY ? place + CSP_CLOSE_BY : end, low = 0, high, p, length = 0;
    while (!c->listed || place < c->from) {
        for (p = place; (p = csp_closing_line(s, p, stop, end, &length)) < stop; p += length)
            if (length == run) return p;
        if (stop == end) return end;
        if (!csp_list_closings(c, s, place, end)) stop = end; /* no memory: it is looked for alone */
    }
    for (high = c->count; low < high;) {
        const csp_closing *line = &c->lines[p = (low + high) / 2];
        if (line->run < run || (line->run == run && line->place < place)) low = p + 1;
        else high = p;
    }
    return low < c->count && c->lines[low].run == run ? c->lines[low].place : end;
}

/* Behind the ANSI sequences at p. */
static size_t tw_behind_ansi(const uint8_t *s, size_t p, size_t end)
{
    while (end - p > 2 && s[p] == TW_ESCAPE && s[p + 1] == '[') {
        size_t q = p + 2;
        while (q < end && (csp_is_digit(s[q]) || s[q] == ';')) q++;
        if (q == end || (uint8_t)((s[q] | 32) - 'a') >= 26) return p;
        p = q + 1;
    }
    return p;
}

static inline int tw_blank(uint8_t byte) { return byte == ' ' || byte == '\t'; }

/* The digit behind blanks at q, ANSI sequences among them; or q, where something else is there. */
static size_t csp_number(const uint8_t *s, size_t q, size_t end)
{
    size_t r = q;
    while (r < end && tw_blank(s[r])) r = tw_behind_ansi(s, r + 1, end);
    return r < end && csp_is_digit(s[r]) ? r : q;
}

/* How many bytes of s[p .. end) are the prefix, but for numbers, the blanks in front of these (they may be lined up) and ANSI
 * sequences, or TW_NOT_ALIKE. */
static int64_t tw_alike(const uint8_t *prefix, size_t size, const uint8_t *s, size_t p, size_t end)
{
    size_t from = p, q = 0;
    if (end - p >= size && !memcmp(s + p, prefix, size)) return (int64_t)size;
    for (;;) {
        p = tw_behind_ansi(s, p, end);
        q = tw_behind_ansi(prefix, q, size);
        if (q == size) break;
        q = csp_number(prefix, q, size);
        if (csp_is_digit(prefix[q])) {
            while (p < end && tw_blank(s[p])) p++;
            if (p == end || !csp_is_digit(s[p])) return TW_NOT_ALIKE;
            while (q < size && csp_is_digit(prefix[q])) q = tw_behind_ansi(prefix, q + 1, size);
            while (p < end && csp_is_digit(s[p])) p++;
            if (q < size) continue;
            p = tw_behind_ansi(s, p, end);
            break;
        }
        if (p == end || s[p] != prefix[q] || s[p] == TW_ESCAPE) return TW_NOT_ALIKE;
        p++;
        if (++q == size) {
            if (memchr(prefix, TW_ESCAPE, size)) p = tw_behind_ansi(s, p, end);
            break;
        }
    }
    return (int64_t)(p - from);
}

/* True if a line is an operation of CSP/1 that may begin as the prefix of a log does. */
static inline int csp_is_operation(const uint8_t *s, size_t p, size_t end)
{
    return end - p >= 7 && (s[p] == '+' || s[p] == '~' || s[p] == '-') && !memcmp(s + p + 1, " DEF ", 5) &&
           ((uint8_t)(s[p + 6] - 'A') < 26 || s[p + 6] == '_');
}

/* True if s[p .. end) begins as a line of the log does that has the message behind the prefix of its first line. */
static int csp_begins_as_log(const csp_around *a, const uint8_t *s, size_t p, size_t end)
{
    size_t blank = 0;
    while (blank < a->size && (a->prefix[blank] == ' ' || a->prefix[blank] == '\t')) blank++;
    return blank < a->size && !csp_is_operation(s, p, end) && tw_alike(a->prefix, a->size, s, p, end) != TW_NOT_ALIKE;
}

/* True if a message of another wire may begin with the line s[p .. end). */
static int csp_opens_another(const uint8_t *s, size_t p, size_t end)
{
    size_t first;
    while (p < end && csp_is_space(s[p])) p++;
    if (p < end && s[p] == '{') {
        for (p++; p < end && csp_is_space(s[p]);) p++;
        return p < end && (s[p] == '"' || s[p] == '}' || s[p] == '\r' || s[p] == '\n');
    }
    if (end - p < 4 || s[p] != '@' || !memchr("afcSdT", s[p + 1], 6)) return 0;
    for (first = p += 2; p < end && p - first < 12 && (csp_is_digit(s[p]) || (uint8_t)((s[p] | 32) - 'a') < 26);) p++;
    return first < p && p < end && p - first <= 11 && s[p] == '|';
}

/* True if a fence closes the one in which the message stands. Behind a prefix on each line nobody knows that one: a fence with nothing
 * behind its run closes it. */
static int csp_closes_fence(const csp_around *a, const uint8_t *s, size_t p, size_t end)
{
    size_t rest;
    if (!tw_is_fence(s, p, end)) return 0;
    if (a->form == TW_NO_FORM || a->form == TW_BARE) return a->fence.run && !tw_fence_after(a->fence, s, p, end).run;
    tw_fence_of(s, p, end, &rest);
    while (rest < end && tw_space(s[rest])) rest++;
    return rest == end;
}

/* True if the line s[p .. end), outside a heredoc, ends the message before it. */
static TW_UNUSED int csp_ends_in_log(const csp_around *a, const uint8_t *s, size_t p, size_t end)
{
    int64_t moment;
    int each = a->form == TW_REPEATED || a->form == TW_HANGING;
    if (p >= end || (a->form == TW_NO_FORM && (uint8_t)(s[p] - 'A') < 26 && s[p] != 'C')) return 0;
    if (each ? csp_opens_another(s, p, end) : tw_is_fence(s, p, end)) return each || csp_closes_fence(a, s, p, end);
    if (csp_looks_like_magic(s, (int64_t)p, (int64_t)end)) return 1;
    if (a->form == TW_BARE && csp_begins_as_log(a, s, p, end)) return 1;
    if (tw_head_time(s + p, end - p < CSP_HEAD_TIME ? end - p : CSP_HEAD_TIME, &moment)) return 1;
    return each && csp_closes_fence(a, s, p, end);
}

#endif
