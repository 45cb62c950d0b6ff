/* What logs wrap messages in: the time that a wrapper gives, and texts that it writes as arrays of bytes. Docker writes
 * {"log": ..., "time": "2026-..."}, journald {"MESSAGE": ..., "__REALTIME_TIMESTAMP": "microseconds"}, and MESSAGE as an
 * array of numbers where it is not UTF-8. Everything here reads good JSON only. The twin is json/_wrapper_py.py. */
#ifndef TURNWIRE_JSON_WRAPPER_H
#define TURNWIRE_JSON_WRAPPER_H

#include "strings.h"

static inline const uint8_t *tw_behind_space(const uint8_t *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') p++;
    return p;
}

/* The closing quote of the good string whose inside starts at p. */
static inline const uint8_t *tw_closing_quote(const uint8_t *p, const uint8_t *hard)
{
    for (;;) {
        p = tw_plain(p, hard);
        if (*p == '"') return p;
        p += *p == '\\' ? 2 : 1;
    }
}

static inline int tw_is_key(const uint8_t *key, size_t size, const char *name)
{
    return size == strlen(name) && !memcmp(key, name, size);
}

/* Whether a member of a wrapper says when its record was written. */
static int tw_member_time(const uint8_t *key, size_t size, const uint8_t *value, size_t length, int64_t *micros)
{
    if (tw_is_key(key, size, "time")) return length && tw_time_prefix(value, length, micros) == length;
    if (!tw_is_key(key, size, "__REALTIME_TIMESTAMP") || !length || length > 18) return 0;
    *micros = 0;
    for (size_t i = 0; i < length; i++) {
        if ((uint8_t)(value[i] - '0') >= 10) return 0;
        *micros = *micros * 10 + (value[i] - '0');
    }
    return 1;
}

/* The time that the good object at p gives in one of its own members. */
static int tw_wrapper_time(const uint8_t *p, const uint8_t *hard, int64_t *micros)
{
    int depth = 0;
    for (;; p++) {
        if (*p == '{' || *p == '[') depth++;
        else if ((*p == '}' || *p == ']') && !--depth) return 0;
        if (*p != '"') continue;
        const uint8_t *key = p + 1;
        p = tw_closing_quote(key, hard);
        if (depth != 1) continue;
        const uint8_t *value = tw_behind_space(p + 1);
        if (*value != ':' || *(value = tw_behind_space(value + 1)) != '"') continue;
        size_t size = (size_t)(p - key);
        p = tw_closing_quote(value + 1, hard);
        if (tw_member_time(key, size, value + 1, (size_t)(p - value - 1), micros)) return 1;
    }
}

/* Where the array of bytes stands that the key `MESSAGE` with its closing quote at p has: its bracket in *open, its first
 * number in *first, its closing bracket is returned. NULL where its value is anything else. */
static const uint8_t *tw_message_bytes(const uint8_t *p, const uint8_t **open, const uint8_t **first)
{
    int value = -1;
    p = tw_behind_space(p + 1);
    if (*p != ':' || *(p = tw_behind_space(p + 1)) != '[') return NULL;
    *open = p;
    *first = p = tw_behind_space(p + 1);
    for (;; p++) {
        if ((uint8_t)(*p - '0') < 10) value = (value < 0 ? 0 : value) * 10 + (*p - '0');
        if (value > 255) return NULL;
        if ((uint8_t)(*p - '0') < 10 || *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') continue;
        if (value < 0 || (*p != ',' && *p != ']')) return NULL;
        if (*p == ']') return p;
        value = -1;
    }
}

/* The next number of the array of bytes at p, which ends at `end`: into *said; returns where the one behind it starts. */
static inline const uint8_t *tw_next_byte(const uint8_t *p, const uint8_t *end, uint8_t *said)
{
    int value = 0;
    while (p < end && (uint8_t)(*p - '0') < 10) value = value * 10 + (*p++ - '0');
    while (p < end && (uint8_t)(*p - '0') >= 10) p++;
    *said = (uint8_t)value;
    return p;
}

/* All bytes of the array whose numbers are [p, end), into out: how many. */
static size_t tw_bytes_said(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    uint8_t *first = out;
    while (p < end) p = tw_next_byte(p, end, out++);
    return (size_t)(out - first);
}

#endif
