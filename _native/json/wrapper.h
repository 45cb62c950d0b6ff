/* Wrappers that loggers put around messages: reads the time that a wrapper gives, and texts written as arrays of bytes.
 * Docker writes {"log": ..., "time": "2026-..."}, journald {"MESSAGE": ..., "__REALTIME_TIMESTAMP": "microseconds"}, and
 * MESSAGE as an array of numbers where it is not UTF-8. Everything here reads good JSON only. The twin is
 * json/_wrapper_py.py. */
#ifndef TURNWIRE_JSON_WRAPPER_H
#define TURNWIRE_JSON_WRAPPER_H

#include "strings.h"
#include "_native/common/escapes.h"
#include "_native/common/log_time.h"

static inline const uint8_t *tw_behind_space(const uint8_t *p)
{
    while (*p <= ' ' && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) p++;
    return p;
}

/* The closing quote of the good string whose inside starts at p. */
static inline const uint8_t *tw_closing_quote(const uint8_t *p, const uint8_t *hard)
{
#ifdef TW_SSE2
    uint64_t carried = 0;
    if (hard - p >= 16) {                    /* most are short and plain */
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        unsigned quote = tw_are(v, '"'), slash = tw_are(v, '\\');
        uint64_t escaped = slash ? tw_escaped_bytes(slash, &carried) : 0;
        if (quote &= ~(unsigned)escaped) return p + tw_low_zeros_32(quote);
        carried = escaped >> 16;
        p += 16;
    }
    for (; hard - p >= 64; p += 64) {
        uint64_t close = tw_equal(p, '"', 0), slash = tw_equal(p, '\\', 0);
        if (slash | carried) close &= ~tw_escaped_bytes(slash, &carried);
        if (close) return p + tw_low_zeros(close);
    }
    p += carried;
#endif
    while (*p != '"') p += *p == '\\' ? 2 : 1;
    return p;
}

static inline int tw_is_key(const uint8_t *key, size_t size, const char *name)
{
    return size == strlen(name) && !memcmp(key, name, size);
}

/* Members that are a time, the first of them before the others: those of common loggers and collectors. */
static const char *const tw_time_names[] = {
    "time", "timestamp", "ts", "@timestamp", "t", "date", "datetime", "eventTime", "requestReceivedTimestamp",
    "__REALTIME_TIMESTAMP", "timeUnixNano", "startTimeUnixNano", "_time",
};
enum { TW_TIME_NAMES = sizeof tw_time_names / sizeof *tw_time_names, TW_NO_TIME = 2 * TW_TIME_NAMES };

static TW_UNUSED int tw_time_rank(const uint8_t *key, size_t size)
{
    for (int i = 0; i < TW_TIME_NAMES && size && 0x801C0031u >> (*key & 31) & 1; i++) /* a bit for each first letter */
        if (*key == (uint8_t)*tw_time_names[i] && tw_is_key(key, size, tw_time_names[i])) return i;
    return TW_TIME_NAMES;
}

/* Seconds, milliseconds, microseconds or nanoseconds since 1970, by the number of digits in front of the point; fewer
 * than nine are no time, since they would be in the first years. What is behind microseconds is cut. */
static int tw_epoch(const uint8_t *p, size_t size, int64_t *micros)
{
    size_t digits = 0, at;
    while (digits < size && (uint8_t)(p[digits] - '0') < 10) digits++;
    if (digits < 9 || digits > 19 || p[0] == '0') return 0;
    size_t kept = (digits < 12 ? 6 : digits < 15 ? 3 : 0) + digits - (digits < 18 ? 0 : 3);
    int64_t number = 0;
    size_t taken = 0;
    for (at = 0; at < size; at++) {
        if (p[at] == '.' && at == digits && at + 1 < size) continue;
        if ((uint8_t)(p[at] - '0') >= 10) return 0;
        if (taken < kept) { number = number * 10 + (p[at] - '0'); taken++; }
    }
    for (; taken < kept; taken++) number *= 10;
    *micros = number;
    return 1;
}

/* The member that starts at p, behind the colon of its key, is a time: where it ends, or NULL. */
static TW_UNUSED const uint8_t *tw_member_time(const uint8_t *p, const uint8_t *hard, int64_t *micros)
{
    int text = *p == '"';
    const uint8_t *first = p + text, *last = first;
    if (text) last = tw_closing_quote(first, hard);
    else while (*last == '.' || (uint8_t)(*last - '0') < 10) last++;
    size_t size = (size_t)(last - first);
    if (!text && (*last | 32) == 'e') return NULL;
    if (text && size && tw_time_prefix(first, size, micros) == size) return last + 1;
    return tw_epoch(first, size, micros) ? last + text : NULL;
}

/* The place of the array of bytes that the key `MESSAGE` with its closing quote at p has: its bracket in *open, its first
 * number in *first, its closing bracket is returned. NULL where its value is anything else in front of `end`. Up to `hard` may be
 * read. */
static TW_UNUSED const uint8_t *tw_message_bytes(const uint8_t *p, const uint8_t *end, const uint8_t *hard, const uint8_t **open,
                                                 const uint8_t **first)
{
    int value = -1;
    p = tw_skip(p + 1, end);
    if (p == end || *p != ':' || (p = tw_skip(p + 1, end)) == end || *p != '[') return NULL;
    *open = p;
    *first = p = tw_skip(p + 1, end);
    uint64_t starts, large;
    for (unsigned passed; hard - p >= 64 && (passed = tw_small_numbers(p, &starts, &large)); p += passed)
        for (; large; large &= large - 1)
            if (tw_small_number(p + tw_low_zeros(large)) > 255) return NULL;
    for (; p < end; p++) {
        if ((uint8_t)(*p - '0') < 10) value = (value < 0 ? 0 : value) * 10 + (*p - '0');
        if (value > 255) return NULL;
        if ((uint8_t)(*p - '0') < 10 || *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') continue;
        if (value < 0 || (*p != ',' && *p != ']')) return NULL;
        if (*p == ']') return p;
        value = -1;
    }
    return NULL;
}

/* The next number of the array of bytes at p, which ends at `end`: into *said; returns where the one behind it starts. */
static inline const uint8_t *tw_next_byte(const uint8_t *p, const uint8_t *end, uint8_t *said)
{
    unsigned value = 0;
    while (p < end && (uint8_t)(*p - '0') < 10) value = value * 10 + (unsigned)(*p++ - '0');
    while (p < end && (uint8_t)(*p - '0') >= 10) p++;
    *said = (uint8_t)value;
    return p;
}

/* All bytes of the array whose numbers are [p, end), into out: how many. Its bracket stands at `end`; up to `hard` may be read. */
static inline size_t tw_bytes_said(const uint8_t *p, const uint8_t *end, const uint8_t *hard, uint8_t *out)
{
    uint8_t *first = out;
    uint64_t starts, large;
    for (unsigned passed; hard - p >= 64 && (passed = tw_small_numbers(p, &starts, &large)); p += passed)
        for (; starts; starts &= starts - 1) *out++ = (uint8_t)tw_small_number(p + tw_low_zeros(starts));
    while (p < end) p = tw_next_byte(p, end, out++);
    return (size_t)(out - first);
}

#endif
