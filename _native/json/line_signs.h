/* Looks for the signs of lines (framing/line_signs.h) while lines are read, so that a block is read once: lines of text and
 * lines that the walk reads are looked at, lines that a template fits need not be. */
#ifndef TURNWIRE_JSON_LINE_SIGNS_H
#define TURNWIRE_JSON_LINE_SIGNS_H

#include "_native/framing/line_signs.h"
#include "region.h"

/* Begins to look for signs, where that is asked for. A line that was begun was looked at. */
static void tw_begin_signs(tw_lines *k)
{
    const uint8_t *newline;
    k->looked = SIZE_MAX;
    if (!k->signs) return;
    k->looked = k->position;
    if (k->carried) {
        newline = (const uint8_t *)memchr(k->s + k->position, '\n', k->stop - k->position);
        k->looked = newline ? (size_t)(newline - k->s) + 1 : k->stop;
    }
    if (k->looked < k->signs_from) k->looked = k->signs_from;
}

/* Whether the lines in [from, until) show a sign. The first one that looks like that of a CSP/1 message is one, but not
 * between claims: no message begins there. */
static int tw_lines_are_signed(tw_lines *k, size_t from, size_t until, int templates)
{
    size_t magic = until;
    int signs = tw_lines_signs(k->s, from, until, k->signs == TW_SIGNS_ALL ? &magic : NULL);
    if (templates && !signs) signs = tw_sign_template(k->s, from, magic);
    return k->signed_line = signs != 0 || magic != until;
}

/* Whether the lines that begin in [from, until) show a sign: lines of text, or more than one that was read. */
static int tw_lines_show_sign(tw_lines *k, size_t from, size_t until)
{
    if (!k->signs) return 0;
    if (from < k->looked) from = k->looked;
    if (until <= from) return 0;
    if (until < k->stop && k->s[until - 1] != '\n') {
        const uint8_t *newline = (const uint8_t *)memchr(k->s + until, '\n', k->stop - until);
        until = newline ? (size_t)(newline - k->s) + 1 : k->stop;
    }
    k->looked = until;
    return tw_lines_are_signed(k, from, until, 1);
}

/* The same of the lines of text from `from` to k->position, where a line begins; `one`: that is one line. Templates bear a
 * mark, and no mark stands in them where these are looked for. */
static inline int tw_text_shows_sign(tw_lines *k, size_t from, int one)
{
    int magic = 0, templates = !k->plan->template_marked;
    size_t until = k->position;
    if (!k->signs || until <= k->looked) return 0;
    if (!one || templates || from < k->looked) {
        size_t first = from < k->looked ? k->looked : from;
        k->looked = until;
        return tw_lines_are_signed(k, first, until, templates);
    }
    k->looked = until;
    int signs = tw_sign_line(k->s, from, until - 1, &magic);
    return k->signed_line = signs != 0 || (magic && k->signs == TW_SIGNS_ALL);
}

/* Whether the line from k->position to `end` shows a sign, which the walk is about to read. */
static inline int tw_line_shows_sign(tw_lines *k, size_t end)
{
    int magic = 0;
    if (k->position < k->looked) return 0;
    k->looked = end + 1;
    int signs = tw_sign_line(k->s, k->position, end, &magic);
    if (!k->plan->template_marked || tw_first_mark(k, k->position, end) < end) signs |= tw_sign_template(k->s, k->position, end);
    return k->signed_line = signs != 0 || (magic && k->signs == TW_SIGNS_ALL);
}

/* The same of a line that a template fitted. It is an object from its start to its end: only its length may be a sign. */
static inline int tw_fitting_shows_sign(tw_lines *k, size_t from)
{
    if ((k->position - from <= TW_DOCKER_PART && k->s[from + 1] == '"') || !k->signs) return 0;
    if (tw_sign_template(k->s, from, k->position)) return k->signed_line = 1;
    if (k->position - from <= TW_DOCKER_PART) return 0;
    return k->signed_line = tw_sign_log_key(k->s, from, k->position);
}

#endif
