/* Reads lines that are one JSON value, an array or a string. The readable twin is json/_text_py.py. */
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

/* True if the line s[from .. end) begins with a string or an array, and has nothing in it but the tokens of JSON, each value
 * followed by a sign or the end. It may be one line of many: brackets need no partner; 2 for an array whose brackets all match. */
static int tw_are_values(const uint8_t *s, size_t from, size_t end)
{
    const uint8_t *p = s + from, *stop = s + end, *behind;
    int value = 0, whole;
    int64_t depth = 0;
    if (end - from >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3)) p += 3;
    while (p < stop && (*p == ' ' || *p == '\t')) p++;
    if (p == stop || (*p != '"' && *p != '[')) return 0;
    whole = *p == '[';
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
            depth++;
            continue;
        case ']': case '}':
            whole &= --depth >= 0;
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
    return 1 + (whole && !depth);
}

#endif
