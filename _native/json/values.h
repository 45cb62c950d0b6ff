/* Reads lines that are one JSON value, an array or a string. The readable twin is json/_values_py.py. */
#ifndef TURNWIRE_JSON_VALUES_H
#define TURNWIRE_JSON_VALUES_H

#include "scan.h"

/* Behind the number or the word at p, or p where there is none. */
static const uint8_t *tw_word_behind(const uint8_t *p, const uint8_t *end)
{
    static const char *const words[] = { "true", "false", "null" };
    const uint8_t *first = p;
    for (int i = 0; i < 3; i++) {
        size_t size = strlen(words[i]);
        if ((size_t)(end - p) >= size && !memcmp(p, words[i], size)) {
            p += size;
            break;
        }
    }
    if (p == first) {
        if (*p == '-') p++;
        if (p == end || (uint8_t)(*p - '0') > 9) return first;
        while (p < end && ((uint8_t)(*p - '0') < 10 || *p == '.' || *p == 'e' || *p == 'E' || *p == '+' || *p == '-')) p++;
    }
    if (p < end && ((uint8_t)((*p | 32) - 'a') < 26 || (uint8_t)(*p - '0') < 10 || *p == '_' || *p == '.')) return first;
    return p;
}

/* Whether a line that begins so may be one of strings and arrays. */
static inline int tw_may_be_values(uint8_t first)
{
    return first == '"' || first == '[' || first == ' ' || first == '\t' || first == 0xEF;
}

/* Whether the line s[from .. end) begins with a string or an array, and has nothing in it but the tokens of JSON, each value
 * followed by a sign or the end. It may be one line of many: brackets need no partner. */
static int tw_are_values(const uint8_t *s, size_t from, size_t end)
{
    const uint8_t *p = s + from, *stop = s + end, *behind;
    int value = 0;
    if (end - from >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3)) p += 3;
    while (p < stop && (*p == ' ' || *p == '\t')) p++;
    if (p == stop || (*p != '"' && *p != '[')) return 0;
    for (; p < stop; p++) {
        switch (*p) {
        case ' ': case '\t': case '\r':
            continue;
        case '"':
            if (value) return 0;
            for (p++; p < stop && *p != '"'; p++)
                if (*p == '\\') p++;
            if (p >= stop) return 0;
            value = 1;
            continue;
        case '[': case '{':
            if (value) return 0;
            continue;
        case ']': case '}':
            value = 1;
            continue;
        case ',': case ':':
            if (!value) return 0;
            value = 0;
            continue;
        }
        behind = tw_word_behind(p, stop);
        if (value || behind == p) return 0;
        value = 1;
        p = behind - 1;
    }
    return 1;
}

/* Looks into the next string in front of the JSON candidate at *q that is worth it, or that holds the candidate: *q moves
 * behind it, and *met says that there was one. */
static int tw_strings(tw_lines *k, tw_region *r, tw_way *w, size_t *q, int *met, size_t *stopped)
{
    const uint8_t *s = tw_text(k, r);
    size_t from = w->searched > w->done ? w->searched : w->done;
    *met = 0;
    while (from < *q) {
        const uint8_t *quote = (const uint8_t *)memchr(s + from, '"', *q - from);
        if (!quote) break;
        size_t open = (size_t)(quote - s), close = tw_quote_behind(s, open + 1, r->end);
        from = w->searched = close < r->end ? close + 1 : close;
        size_t size = close - open - 1;
        const uint8_t *text = quote + 1;
        if ((memchr(text, '\\', size) && memchr(text, '{', size)) || (k->look && k->look(k, text, text + size)) ||
            tw_has_mark(k, r->level, open + 1, close)) {
            *met = 1;
            *q = from;
            if (w->bad == TW_NOWHERE) {
                tw_mark(k, w);
                *stopped = open;
            }
            return tw_look_into(k, r, w, open, from, open + 1, close, NULL);
        }
        if (from > *q) {
            *met = 1;
            *q = from;
            return TW_FINE;
        }
    }
    if (w->searched < *q) w->searched = *q;
    return TW_FINE;
}

#endif
