/* Messages and templates of CSP/1 behind a prefix, each read in one go. The rules are those of framing/prefixes.py, where they are
 * told; what is in doubt here is left to that. */
#ifndef TURNWIRE_LOG_PREFIXED_H
#define TURNWIRE_LOG_PREFIXED_H

#include "_native/common/log_time.h"
#include "prefixed_template.h"

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
