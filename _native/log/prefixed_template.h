/* Templates and look-alikes of CSP/1 behind a prefix. The rules are those of framing/templates.py, where they are told. */
#ifndef TURNWIRE_LOG_PREFIXED_TEMPLATE_H
#define TURNWIRE_LOG_PREFIXED_TEMPLATE_H

#include "_native/csp/marks.h"
#include "prefixed_lines.h"

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

#endif
