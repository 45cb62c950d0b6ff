/* The lines behind the first one of a message with a prefix, and how much of each is prefix. The rules are those of
 * framing/prefixes.py and parts.py, where they are told. */
#ifndef TURNWIRE_LOG_PREFIXED_LINES_H
#define TURNWIRE_LOG_PREFIXED_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How the lines behind the first one begin: with its prefix, with white space as wide, with neither; TW_FORMS is none of these. */
enum { TW_REPEATED, TW_HANGING, TW_BARE, TW_FORMS };
#define TW_IS_NOT SIZE_MAX

/* The lines of s[.. stop), of which the last one may have no end where `final` is true: what the one that is looked at says goes
 * from `at` to `end`, and `behind` is behind its line end. stream: NULL, or that of the heads of CRI that the lines have in front
 * of what they say. */
typedef struct {
    const uint8_t *s, *stream;
    size_t stop, at, end, behind;
    int final;
} tw_line_walk;

enum { TW_LINE_OPEN, TW_LINE, TW_LINE_FOREIGN, TW_LINE_DOUBTED };

/* What begins with the line at `line`: the prefix goes from `own`, behind what is CRI's, up to `magic`, and without the blanks at
 * its end to `bare`. lines, size: how many lines it has, and bytes of what they say; stop: behind the last one. stream: as above. look:
 * they are those of a template or a look-alike, whose blank lines have nothing but a prefix. */
typedef struct {
    const uint8_t *stream;
    size_t line, own, magic, bare, lines, size, stop;
    int form, look;
} tw_behind;

static inline int tw_behind_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }
static inline int tw_behind_upper(uint8_t c) { return (uint8_t)(c - 'A') < 26; }
static inline int tw_behind_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }

static inline int tw_all_blank(const uint8_t *s, size_t p, size_t end)
{
    while (p < end && tw_behind_blank(s[p])) p++;
    return p == end;
}

/* Whether a line ends at p, or s[.. end) does. */
static inline int tw_ends_line(const uint8_t *s, size_t p, size_t end)
{
    if (p < end && s[p] == '\r') p++;
    return p == end || s[p] == '\n';
}

/* Whether s[p .. end) begins as the form says, in which 0 is any digit. */
static int tw_written_as(const uint8_t *s, size_t p, size_t end, const char *form)
{
    for (; *form; form++, p++)
        if (p == end || (*form == '0' ? !tw_behind_digit(s[p]) : s[p] != (uint8_t)*form)) return 0;
    return 1;
}

/* Bytes of the head of a line of CRI that s[p .. end) begins with, and its stream and mark; or 0, where these say nothing. */
static size_t tw_cri_head(const uint8_t *s, size_t p, size_t end, const uint8_t **stream, uint8_t *mark)
{
    size_t start = p;
    if (!tw_written_as(s, p, end, "0000-00-00T00:00:00")) return 0;
    p += 19;
    if (end - p > 1 && s[p] == '.' && tw_behind_digit(s[p + 1]))
        for (p++; p < end && tw_behind_digit(s[p]); p++) {}
    if (p < end && s[p] == 'Z') p++;
    else if (p < end && (s[p] == '+' || s[p] == '-') && tw_written_as(s, p + 1, end, "00:00")) p += 6;
    else return 0;
    if (!tw_written_as(s, p, end, " stdout ") && !tw_written_as(s, p, end, " stderr ")) return 0;
    *stream = s + p + 1;
    p += 8;
    if (p == end || (s[p] != 'P' && s[p] != 'F')) return 0;
    *mark = s[p++];
    if (p < end && s[p] == ':')
        while (p < end && s[p] != ' ' && s[p] != '\r' && s[p] != '\n') p++;
    if (p < end && s[p] == ' ') return p + 1 - start;
    return tw_ends_line(s, p, end) ? p - start : 0;
}

/* Steps over the head of CRI of the line that is looked at. */
static int tw_step_over_head(tw_line_walk *walk)
{
    const uint8_t *stream;
    uint8_t mark;
    size_t head = tw_cri_head(walk->s, walk->at, walk->behind, &stream, &mark);
    if (!head) return TW_LINE_FOREIGN;
    if (mark == 'P' || memcmp(stream, walk->stream, 6)) return TW_LINE_DOUBTED; /* it may go on elsewhere */
    walk->at += head;
    return TW_LINE;
}

/* Goes on to the line behind the one that was looked at. TW_LINE_OPEN: there is none, or none with an end; TW_LINE_FOREIGN: it has
 * no head of CRI; TW_LINE_DOUBTED: it has one of another stream, or is a part. */
static int tw_next_line(tw_line_walk *walk)
{
    const uint8_t *s = walk->s, *newline;
    size_t p = walk->at = walk->behind;
    if (p == walk->stop) return TW_LINE_OPEN;
    newline = (const uint8_t *)memchr(s + p, '\n', walk->stop - p);
    walk->end = walk->behind = walk->stop;
    if (!newline && !walk->final) return TW_LINE_OPEN;
    if (newline) {
        walk->end = (size_t)(newline - s);
        walk->behind = walk->end + 1;
        if (walk->end > p && s[walk->end - 1] == '\r') walk->end--;
    }
    return walk->stream ? tw_step_over_head(walk) : TW_LINE;
}

/* How many bytes of s[p .. end) are s[q .. last) but for the digits, or TW_IS_NOT. */
static size_t tw_alike(const uint8_t *s, size_t q, size_t last, size_t p, size_t end)
{
    size_t start = p;
    while (q < last) {
        if (p == end) return TW_IS_NOT;
        if (!tw_behind_digit(s[q])) {
            if (s[q++] != s[p++]) return TW_IS_NOT;
            continue;
        }
        if (!tw_behind_digit(s[p])) return TW_IS_NOT;
        while (q < last && tw_behind_digit(s[q])) q++;
        while (p < end && tw_behind_digit(s[p])) p++;
    }
    return p - start;
}

/* How many bytes of the line are the prefix on each line, or what is left of it on a blank one. */
static size_t tw_taken_repeated(const tw_behind *one, const tw_line_walk *walk)
{
    const uint8_t *s = walk->s;
    size_t end = walk->end, size = one->magic - one->own;
    if (end - walk->at >= size && !memcmp(s + walk->at, s + one->own, size)) return size;
    size = tw_alike(s, one->own, one->magic, walk->at, end);
    if (size != TW_IS_NOT) return size;
    while (end > walk->at && tw_behind_blank(s[end - 1])) end--;
    size = tw_alike(s, one->own, one->bare, walk->at, end);
    return size == end - walk->at ? size : TW_IS_NOT;
}

/* The same of white space as wide as the prefix. */
static size_t tw_taken_hanging(const tw_behind *one, const tw_line_walk *walk)
{
    size_t p = walk->at, width = one->magic - one->own;
    while (p < walk->end && p - walk->at < width && walk->s[p] == ' ') p++;
    if (p - walk->at == width) return width;
    return tw_all_blank(walk->s, p, walk->end) ? walk->end - walk->at : TW_IS_NOT;
}

/* The same of nothing; a line that begins like the first one has too much. An operation of CSP/1 may do that. */
static size_t tw_taken_bare(const tw_behind *one, const tw_line_walk *walk)
{
    const uint8_t *p = walk->s + walk->at;
    if (walk->end - walk->at >= 7 && (*p == '+' || *p == '~' || *p == '-') && !memcmp(p + 1, " DEF ", 5) &&
        (tw_behind_upper(p[6]) || p[6] == '_'))
        return 0;
    return tw_alike(walk->s, one->own, one->magic, walk->at, walk->end) == TW_IS_NOT ? 0 : TW_IS_NOT;
}

/* How many bytes the line that is looked at has in front of what it says, in this form; TW_IS_NOT where it has another one. */
static size_t tw_taken(const tw_behind *one, const tw_line_walk *walk, int form)
{
    if (one->look && tw_all_blank(walk->s, walk->at, walk->end)) return walk->end - walk->at;
    if (form == TW_REPEATED) return tw_taken_repeated(one, walk);
    return form == TW_HANGING ? tw_taken_hanging(one, walk) : tw_taken_bare(one, walk);
}

/* Copies what line `i` says, s[from .. to), behind the `size` bytes of those before it: the size with it. The table gets three
 * numbers for each line: first, for all, where it begins in the text, then where it is written, then where the line ends. */
static size_t tw_copy_line(const tw_line_walk *walk, const tw_behind *one, size_t i, size_t from, size_t to, size_t size, uint8_t *text,
                           int64_t *table)
{
    memcpy(text + size, walk->s + from, to - from);
    table[i] = (int64_t)size;
    table[one->lines + i] = (int64_t)from;
    table[2 * one->lines + i] = (int64_t)walk->behind;
    return size + to - from;
}

/* Copies what the lines say. */
static void tw_copy_behind(const uint8_t *s, size_t stop, int final, const tw_behind *one, uint8_t *text, int64_t *table)
{
    tw_line_walk walk = { s, NULL, stop, one->line, one->line, one->line, final };
    size_t size = 0;
    for (size_t i = 0; i < one->lines && tw_next_line(&walk) == TW_LINE; i++) {
        size_t from = i ? walk.at + tw_taken(one, &walk, one->form) : one->magic;
        size = tw_copy_line(&walk, one, i, from, walk.behind, size, text, table);
        walk.stream = one->stream;
    }
}

/* --- One line of a program that CRI cut into parts: those of its stream, one directly behind the other --- */

/* The part that the line of a walk is: what it says goes from *from to *to. Its mark; '?' where it is of the other stream, and 0
 * where it is no line of CRI. Where *stream is NULL, that becomes the stream of the line. */
static uint8_t tw_cri_part(const tw_line_walk *walk, const uint8_t **stream, size_t *from, size_t *to)
{
    const uint8_t *own;
    uint8_t mark;
    size_t head = tw_cri_head(walk->s, walk->at, walk->behind, &own, &mark);
    if (!head) return 0;
    if (!*stream) *stream = own;
    if (memcmp(own, *stream, 6)) return '?';
    *from = walk->at + head;
    *to = mark == 'P' ? walk->end : walk->behind; /* the line end behind a part is CRI's */
    return mark;
}

/* How many parts the line has that begins with the one at `line`. 0 where that is none that goes on, or where the number is not sure:
 * with the other stream between them, with more than `limit` bytes, or where more may follow. */
static size_t tw_read_parts(const uint8_t *s, size_t line, size_t stop, int final, size_t limit, tw_behind *one)
{
    tw_line_walk walk = { s, NULL, stop, line, line, line, final };
    const uint8_t *stream = NULL;
    size_t from, to;
    uint8_t mark = 'P';
    one->lines = one->size = 0;
    while (mark == 'P') {
        if (tw_next_line(&walk) == TW_LINE_OPEN) return final ? one->lines : 0;
        mark = tw_cri_part(&walk, &stream, &from, &to);
        if (!mark) break;                    /* any other line ends what is cut off */
        if (mark == '?' || walk.behind - line > limit || (!one->lines && mark != 'P')) return 0;
        one->lines++;
        one->size += to - from;
        one->stop = walk.behind;
    }
    return one->lines;
}

/* Copies what the parts say. */
static void tw_copy_parts(const uint8_t *s, size_t line, size_t stop, const tw_behind *one, uint8_t *text, int64_t *table)
{
    tw_line_walk walk = { s, NULL, stop, line, line, line, 1 };
    const uint8_t *stream = NULL;
    size_t size = 0, from = 0, to = 0;
    for (size_t i = 0; i < one->lines && tw_next_line(&walk) == TW_LINE; i++) {
        tw_cri_part(&walk, &stream, &from, &to);
        size = tw_copy_line(&walk, one, i, from, to, size, text, table);
    }
}

#endif
