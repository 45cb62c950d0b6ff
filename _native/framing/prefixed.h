/* Lines that belong together, each group read in one go: messages and templates of CSP/1 behind a prefix, and lines that CRI
 * cut into parts. The rules are those of framing/prefixes.py, templates.py and parts.py, where they are told; what is in doubt
 * here is left to those. */
#ifndef TURNWIRE_PREFIXED_H
#define TURNWIRE_PREFIXED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "_native/common/log_time.h"
#include "_native/csp/marks.h"

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

/* --- Templates --- */

/* Whether s[p .. end) has these bytes somewhere. */
static int tw_has(const uint8_t *s, size_t p, size_t end, const char *word)
{
    size_t size = strlen(word);
    while (end - p >= size) {
        const uint8_t *found = (const uint8_t *)memchr(s + p, word[0], end - p - size + 1);
        if (!found) return 0;
        if (!memcmp(found, word, size)) return 1;
        p = (size_t)(found - s) + 1;
    }
    return 0;
}

/* Bytes of the head of a template that s[p .. end) begins with, up to its first semicolon; or 0. */
static size_t tw_template_head(const uint8_t *s, size_t p, size_t end)
{
    static const char head[] = "CSP/1 MODE;";
    if (end - p >= 6 && !memcmp(s + p, head, 5) && s[p + 5] == ';') return 6;
    return end - p >= 11 && !memcmp(s + p, head, 11) ? 11 : 0;
}

/* Where a template begins in s[p .. end), behind a blank or a sign that ends a prefix or at its start; or TW_IS_NOT. */
static size_t tw_template_at(const uint8_t *s, size_t p, size_t end)
{
    for (size_t at = p; at < end; at++) {
        const uint8_t *found = (const uint8_t *)memchr(s + at, 'C', end - at);
        if (!found) break;
        at = (size_t)(found - s);
        if ((at == p || memchr(" \t>|:]", s[at - 1], 6)) && tw_template_head(s, at, end)) return at;
    }
    return TW_IS_NOT;
}

/* Whether s[p .. end) has what begins a record of its own, or a code fence. */
static int tw_look_has_record(const uint8_t *s, size_t p, size_t end)
{
    if (memchr(s + p, '{', end - p) || tw_has(s, p, end, "CSP/1")) return 1;
    if (tw_has(s, p, end, "```") || tw_has(s, p, end, "~~~")) return 1;
    for (; p < end; p++) {
        size_t q = p + 1;
        if (s[p] != '@' || q == end || !tw_behind_upper(s[q] & 0xDF)) continue;
        while (q < end && (tw_behind_upper(s[q] & 0xDF) || tw_behind_digit(s[q]))) q++;
        if (q < end && s[q] == '|') return 1;
    }
    return 0;
}

/* Whether s[p .. end), which is not blank, can be a line of a template or a look-alike. bare: it has no prefix, as the first
 * one has; any: any line can, since only white space and marks of quotes are in front. */
static int tw_look_own(const uint8_t *s, size_t p, size_t end, int bare, int any)
{
    size_t at = p;
    if (bare) return csp_look_key(s, (int64_t)p, (int64_t)end) || csp_has_title(s, (int64_t)p, (int64_t)end);
    if (any && (p == end || (s[p] != ' ' && s[p] != '\t'))) return !tw_has(s, p, end, "CSP/1") && !tw_is_fence(s, p, end);
    if (tw_look_has_record(s, p, end)) return 0;
    if (end - p >= 2 && s[p] == '-' && s[p + 1] == ' ') return 1;
    while (at < end && (tw_behind_upper(s[at]) || (at > p && (tw_behind_digit(s[at]) || s[at] == '_')))) at++;
    if (at > p && (at == end || !tw_behind_upper(s[at] & 0xDF))) return 1;
    return csp_has_title(s, (int64_t)p, (int64_t)end);
}

/* The form of a line that is not blank and can be one of them, among those that it may still have; TW_FORMS for none. */
static int tw_look_form(const tw_behind *one, const tw_line_walk *walk, int any)
{
    int first = one->form < 0 ? 0 : one->form, last = one->form < 0 ? TW_BARE : one->form;
    for (int form = first; form <= last; form++) {
        size_t taken = tw_taken(one, walk, form);
        if (taken != TW_IS_NOT && tw_look_own(walk->s, walk->at + taken, walk->end, form == TW_BARE, any)) return form;
    }
    return TW_FORMS;
}

/* Whether what the lines say betrays a look-alike; kind: how the first one begins, as csp_classify_magic_line wants it.
 * -1 where they are more than fit here. */
static int tw_look_betrayed(const tw_behind *one, const tw_line_walk *walk, int kind)
{
    uint8_t text[CSP_LOOK_BYTES + 2 * CSP_LOOK_LINES];
    int64_t table[3 * (CSP_LOOK_LINES + 1)];
    if (one->size > sizeof text || one->lines > CSP_LOOK_LINES + 1) return -1;
    tw_copy_behind(walk->s, walk->stop, walk->final, one, text, table);
    return csp_classify_magic_line(text, 0, (int64_t)one->size, 1, kind) == CSP_IS_LOOK_ALIKE;
}

/* The lines of a template, or of what only looks like CSP/1: 1, or 0 where it is neither; -1 where that is not sure. exact:
 * whether the first line, which was looked at last, is the magic and no more. */
static int tw_behind_template(tw_behind *one, tw_line_walk walk, size_t limit, int exact)
{
    const uint8_t *s = walk.s;
    const uint8_t *cr = (const uint8_t *)memchr(s + one->magic, '\r', walk.end - one->magic);
    size_t flags = one->magic + tw_template_head(s, one->magic, walk.end), last = one->magic, look, lines = 1, size;
    int any = !exact, blank = 0, good, prose, next;
    good = !exact && csp_are_flags(s, (int64_t)flags, cr ? (int64_t)(cr - s) : (int64_t)walk.end);
    if (!exact && !good && !csp_has_title(s, (int64_t)one->magic, (int64_t)walk.end)) return 0;
    for (size_t p = one->own; p < one->magic; p++) any &= s[p] == ' ' || s[p] == '\t' || s[p] == '>';
    while (last > one->own && (s[last - 1] == ' ' || s[last - 1] == '\t')) last--;
    prose = last > one->own && (s[last - 1] >= 0x80 || tw_behind_digit(s[last - 1]) || tw_behind_upper(s[last - 1] & 0xDF));
    for (one->bare = last; one->bare > one->own && tw_behind_blank(s[one->bare - 1]); one->bare--) {}
    one->form = -1;
    one->look = 1;
    one->lines = 1;
    one->size = size = look = walk.behind - one->magic;
    one->stop = walk.behind;
    walk.stream = one->stream;
    while ((next = tw_next_line(&walk)) == TW_LINE) {
        size_t p = walk.end;
        if (walk.behind - one->line > limit) return -1;
        if (!tw_all_blank(s, walk.at, walk.end)) {
            int form = tw_look_form(one, &walk, any && !blank);
            if (form == TW_FORMS) break;
            one->form = form;
            p = walk.at + tw_taken(one, &walk, form);
        }
        look += walk.end - p + 1;
        size += walk.behind - p;
        if (lines++ > CSP_LOOK_LINES || look > CSP_LOOK_BYTES) break;
        if (tw_all_blank(s, p, walk.end)) {
            blank = 1;
            continue;
        }
        one->lines = lines;
        one->size = size;
        one->stop = walk.behind;
    }
    if (next == TW_LINE_DOUBTED || (next == TW_LINE_OPEN && !walk.final)) return -1;
    if (exact && one->lines == 1) return 0;
    if (good && !prose) return 1;
    return tw_look_betrayed(one, &walk, prose ? CSP_NEAR : exact ? CSP_EXACT : CSP_TEMPLATE);
}

/* --- Messages --- */

enum { TW_BEHIND_ASK, TW_BEHIND_NOTHING, TW_BEHIND_PREFIX, TW_BEHIND_INDENT };
enum { TW_MOST_PREFIX = 1024, TW_MOST_TIME = 128 };
enum { TW_MOST_TEMPLATE = TW_MOST_PREFIX + 11 + CSP_MOST_FLAGS + 2 }; /* bytes of the longest line with one, its end included */
enum { TW_BODY_HEADER, TW_BODY_GAP, TW_BODY_BLOCK, TW_BODY_TAIL };

/* Length of the word if s[p .. end) begins with it and it ends there, or a space is behind it; else 0. */
static inline size_t tw_behind_word(const uint8_t *s, size_t p, size_t end, const char *word)
{
    size_t size = strlen(word);
    if (end - p < size || memcmp(s + p, word, size)) return 0;
    return end - p == size || s[p + size] == ' ' ? size : 0;
}

/* Whether s[p .. end) is a line of the header with its one word. */
static int tw_first_header(const uint8_t *s, size_t p, size_t end)
{
    static const char *const keys[] = { "FROM", "TO", "CTX", "INTENT" };
    size_t size = 0, word;
    for (int i = 0; i < 4 && !size; i++) size = tw_behind_word(s, p, end, keys[i]);
    if (!size) return 0;
    for (p += size; p < end && s[p] == ' '; p++) {}
    for (word = p; p < end && !tw_behind_blank(s[p]); p++) {}
    return p > word && tw_all_blank(s, p, end);
}

/* Whether s[p .. end) begins a block of a message. */
static int tw_begins_block(const uint8_t *s, size_t p, size_t end)
{
    static const char *const words[] = { "PLAN", "TASK", "RESULT", "ERROR", "QUERY", "PATCH", "FILEOP", "MEM" };
    for (int i = 0; i < 8; i++)
        if (tw_behind_word(s, p, end, words[i])) return 1;
    return 0;
}

/* The run of "<" that s[p .. end), which is not empty, opens a heredoc with; 0 where it opens none. */
static size_t tw_opens_heredoc(const uint8_t *s, size_t p, size_t end)
{
    size_t run = p;
    while (run < end && s[run] == '<') run++;
    return run - p >= 3 && (run == end || (run + 1 == end && s[run] == '-')) ? run - p : 0;
}

/* Whether s[p .. end), which is not blank, can be a line of a message that is in this state, outside of heredocs. "CSP/1",
 * written with blanks, is none. */
static int tw_own_line(const uint8_t *s, size_t p, size_t end, int state)
{
    size_t at = p;
    if (state == TW_BODY_TAIL) return 0;
    if (state == TW_BODY_GAP) return tw_begins_block(s, p, end);
    if (s[p] == '<') return tw_opens_heredoc(s, p, end) > 0;
    if (s[p] == '+' || s[p] == '~' || s[p] == '-') return end - p >= 6 && !memcmp(s + p + 1, " DEF ", 5);
    if (!tw_behind_upper(s[p])) return 0;
    while (at < end && (tw_behind_upper(s[at]) || tw_behind_digit(s[at]) || s[at] == '_')) at++;
    if (at < end && s[at] != ' ') return 0;
    if (at - p != 3 || memcmp(s + p, "CSP", 3)) return 1;
    while (at < end && (s[at] == ' ' || s[at] == '\t')) at++;
    if (at == end || s[at] != '/') return 1;
    for (at++; at < end && (s[at] == ' ' || s[at] == '\t'); at++) {}
    return at == end || !tw_behind_digit(s[at]);
}

/* Whether s[p .. end), a prefix, has something that may be a record of its own, or end one that began in a line before. */
static int tw_prefix_has_record(const uint8_t *s, size_t p, size_t end)
{
    int braces = 0;
    for (; p < end; p++) {
        size_t q = p + 1;
        if (s[p] == '}' && !braces) return 1;
        if (s[p] == '{') {
            braces = 1;
            while (q < end && (s[q] == ' ' || s[q] == '\t')) q++;
            if (q < end && (s[q] == '"' || s[q] == '}')) return 1;
        } else if (s[p] == '@' && q < end && tw_behind_upper(s[q] & 0xDF)) {
            while (q < end && (tw_behind_upper(s[q] & 0xDF) || tw_behind_digit(s[q]))) q++;
            if (q < end && s[q] == '|') return 1;
        }
    }
    return 0;
}

/* Finds the magic, or a template, in the line that is looked at, and judges its prefix: the kind, or that nothing begins there.
 * *exact: whether the line ends with the magic. */
static int tw_behind_begin(tw_behind *one, const tw_line_walk *walk, int *exact)
{
    const uint8_t *s = walk->s, *stream;
    size_t p = walk->at, magic = walk->end - 5, plain = p, head;
    uint8_t mark;
    if (tw_cri_head(s, p, walk->behind, &stream, &mark) && mark == 'P') return TW_BEHIND_ASK;
    *exact = walk->end - p >= 5 && !memcmp(s + magic, "CSP/1", 5);
    if (!*exact) magic = tw_template_at(s, p, walk->end);
    if (magic == p || magic == TW_IS_NOT || magic - p > TW_MOST_PREFIX) return TW_BEHIND_NOTHING;
    if (s[magic - 1] >= 0x80) return TW_BEHIND_ASK;
    head = tw_cri_head(s, p, magic, &stream, &mark);
    if (tw_behind_digit(s[magic - 1]) || tw_behind_upper(s[magic - 1] & 0xDF) || s[magic - 1] == '_') return TW_BEHIND_NOTHING;
    if (tw_prefix_has_record(s, p, magic)) return TW_BEHIND_NOTHING;
    one->line = p;
    one->own = p + head;
    one->stream = head ? stream : NULL;
    one->magic = magic;
    one->look = 0;
    while (plain < magic && (s[plain] == ' ' || s[plain] == '\t' || s[plain] == '>')) plain++;
    return plain == magic ? TW_BEHIND_INDENT : TW_BEHIND_PREFIX;
}

/* The form of the lines behind the first one, told by the first with anything in it; TW_FORMS where that is none of a message;
 * -1 where that is not sure. */
static int tw_behind_form(tw_behind *one, tw_line_walk walk, size_t limit)
{
    int next;
    one->bare = one->magic;
    while (one->bare > one->own && tw_behind_blank(walk.s[one->bare - 1])) one->bare--;
    walk.stream = one->stream;
    while ((next = tw_next_line(&walk)) == TW_LINE && walk.behind - one->line <= limit) {
        size_t taken;
        for (int form = 0; form < TW_FORMS; form++) {
            taken = tw_taken(one, &walk, form);
            if (taken != TW_IS_NOT && tw_first_header(walk.s, walk.at + taken, walk.end)) return form;
        }
        taken = tw_taken(one, &walk, TW_REPEATED);
        if (!tw_all_blank(walk.s, walk.at + (taken == TW_IS_NOT ? 0 : taken), walk.end)) return TW_FORMS;
    }
    return next == TW_LINE_FOREIGN ? TW_FORMS : -1;
}

/* The lines of the message whose form is known: 1, or 0 where it is not sure which they are. */
static int tw_behind_lines(tw_behind *one, tw_line_walk walk, size_t limit)
{
    int state = TW_BODY_HEADER, any = 0, next;
    size_t lines = 1, size = walk.behind - one->magic, run = 0;
    one->lines = lines;
    one->size = size;
    one->stop = walk.behind;
    walk.stream = one->stream;
    while ((next = tw_next_line(&walk)) == TW_LINE) {
        size_t taken = tw_taken(one, &walk, one->form), p = walk.at + taken;
        if (walk.behind - one->line > limit) return 0;
        if (taken == TW_IS_NOT) return 1;
        lines++;
        size += walk.behind - p;
        if (run) {
            size_t at = p;
            while (at < walk.end && walk.s[at] == '>') at++;
            if (at == walk.end && at - p == run) run = 0;
        } else if (tw_all_blank(walk.s, p, walk.end)) {
            if (any && (state == TW_BODY_HEADER || state == TW_BODY_BLOCK)) state++;
            continue;
        } else {
            if (!tw_own_line(walk.s, p, walk.end, state)) return 1;
            any = 1;
            if (state == TW_BODY_GAP) state = TW_BODY_BLOCK;
            run = tw_opens_heredoc(walk.s, p, walk.end);
            /* where that ends is looked up, since it may never do so */
            if (run && one->form == TW_BARE && !one->stream) return 0;
        }
        one->lines = lines;
        one->size = size;
        one->stop = walk.behind;
    }
    if (next == TW_LINE_OPEN) return walk.final || state == TW_BODY_TAIL; /* behind its tail a message has no line */
    return next == TW_LINE_FOREIGN;
}

/* Reads what begins with the line at `line`, where that has the magic or a template behind a prefix: its kind; TW_BEHIND_NOTHING where it
 * has none, TW_BEHIND_ASK where that is not sure. */
static int tw_read_behind(const uint8_t *s, size_t line, size_t stop, int final, size_t limit, tw_behind *one)
{
    tw_line_walk walk = { s, NULL, stop, line, line, line, 0 };
    int kind, exact, found;
    /* a longer line can have no prefix that is short enough: it is not looked through */
    walk.stop = stop - line > TW_MOST_TEMPLATE ? line + TW_MOST_TEMPLATE : stop;
    if (tw_next_line(&walk) != TW_LINE) return TW_BEHIND_ASK;
    kind = tw_behind_begin(one, &walk, &exact);
    one->stop = walk.behind;
    if (kind < TW_BEHIND_PREFIX) return kind;
    walk.stop = stop;
    walk.final = final;
    one->form = exact ? tw_behind_form(one, walk, limit) : TW_FORMS;
    if (exact && one->form == TW_FORMS && one->stream) { /* it only looks like CRI */
        one->stream = NULL;
        one->own = line;
        one->form = tw_behind_form(one, walk, limit);
    }
    if (one->form < 0) return TW_BEHIND_ASK;
    if (one->form == TW_FORMS) {
        found = tw_behind_template(one, walk, limit, exact);
        if (!found) one->stop = walk.behind;
        return found < 0 ? TW_BEHIND_ASK : found ? kind : TW_BEHIND_NOTHING;
    }
    if (!tw_behind_lines(one, walk, limit)) return TW_BEHIND_ASK;
    return one->form == TW_HANGING ? TW_BEHIND_INDENT : kind;
}

/* The time at the head of the line, of which no more than TW_MOST_TIME bytes are read behind what may be in front of it. */
static int tw_behind_time(const uint8_t *s, size_t line, size_t stop, int64_t *micros)
{
    size_t p = line;
    while (p < stop && p - line < 64 && (s[p] == ' ' || s[p] == '\t')) p++;
    if (p < stop && (s[p] == '[' || s[p] == '(' || s[p] == '<' || s[p] == '"' || s[p] == '\'')) p++;
    return tw_time_prefix(s + p, stop - p < TW_MOST_TIME ? stop - p : TW_MOST_TIME, micros) > 0;
}

#endif
