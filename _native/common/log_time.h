/* Reads the times of log lines: dates and times as RFC 3339 writes them, and some other spellings of ISO 8601. The rules are
 * in turnwire/json/times.py. */
#ifndef TURNWIRE_LOG_TIME_H
#define TURNWIRE_LOG_TIME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number that two digits make, or -1 where they are none. */
static inline int tw_two(const uint8_t *p)
{
    uint8_t high = (uint8_t)(p[0] - '0'), low = (uint8_t)(p[1] - '0');
    return high < 10 && low < 10 ? high * 10 + low : -1;
}

/* Days from 1970-01-01 to a day of the proleptic Gregorian calendar (Howard Hinnant's algorithm), or INT64_MIN. */
static inline int64_t tw_days(int year, int month, int day)
{
    static const uint8_t lengths[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (year < 1 || month < 1 || month > 12 || day < 1) return INT64_MIN;
    int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day > lengths[month - 1] + (leap && month == 2)) return INT64_MIN;
    if (month <= 2) year--;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Reads the time at the start of [p, p + size) into *micros (microseconds since 1970, UTC). Returns its length in bytes, 0 where
 * there is no time.
 *
 * A time is YYYY-MM-DD, then "T", "t", "_" or one space, then HH:MM. These may follow: ":SS", behind which "." or "," and a
 * fraction may stand; and a zone ("Z", "z", +HH:MM, +HHMM, +HH, or these with "-"), with or without one space before it.
 * Without a zone the time is UTC. Second 60 reads as 59. */
static inline size_t tw_time_prefix(const uint8_t *p, size_t size, int64_t *micros)
{
    if (size < 16 || p[4] != '-' || p[7] != '-' || p[13] != ':') return 0;
    int century = tw_two(p), year = tw_two(p + 2), month = tw_two(p + 5), day = tw_two(p + 8);
    int hour = tw_two(p + 11), minute = tw_two(p + 14), second = 0;
    if (century < 0 || year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0) return 0;
    if ((p[10] | 32) != 't' && p[10] != ' ' && p[10] != '_') return 0;
    int64_t days = tw_days(century * 100 + year, month, day), part = 0, shift = 0;
    size_t at = 16;
    if (days == INT64_MIN || hour > 23 || minute > 59) return 0;
    if (at + 2 < size && p[at] == ':' && (second = tw_two(p + at + 1)) >= 0) {
        if (second > 60) return 0;
        if (second == 60) second = 59;
        at += 3;
        if (at + 1 < size && (p[at] == '.' || p[at] == ',') && (uint8_t)(p[at + 1] - '0') < 10) {
            int64_t unit = 100000;
            for (at++; at < size && (uint8_t)(p[at] - '0') < 10; at++, unit /= 10) part += unit * (p[at] - '0');
        }
    } else {
        second = 0;
    }
    size_t zone = at + (at + 1 < size && p[at] == ' ');
    if (zone < size && (p[zone] | 32) == 'z' && (zone + 1 == size || (uint8_t)((p[zone + 1] | 32) - 'a') >= 26)) {
        at = zone + 1;
    } else if (zone + 2 < size && (p[zone] == '+' || p[zone] == '-')) {
        int hours = tw_two(p + zone + 1), minutes = 0;
        size_t behind = zone + 3;
        if (hours >= 0 && hours < 24) {
            size_t colon = behind < size && p[behind] == ':';
            if (behind + colon + 1 < size && tw_two(p + behind + colon) >= 0) {
                minutes = tw_two(p + behind + colon);
                behind += colon + 2;
            }
            if (minutes < 60 && (behind == size || (uint8_t)(p[behind] - '0') >= 10)) {
                shift = (hours * 60 + minutes) * (p[zone] == '-' ? -1 : 1);
                at = behind;
            }
        }
    }
    *micros = ((days * 24 + hour) * 60 + minute - shift) * 60000000 + (int64_t)second * 1000000 + part;
    return at;
}

/* The minute of the last time that was read in some place: its text up to the seconds ("2026-01-31T12:30:"), and the moment at
 * which it begins. The next time of a log is mostly in the same minute; then only its seconds are read. */
typedef struct { uint8_t text[17]; int64_t moment; } tw_minute;

/* True if [p, p + size) is a time of that minute that ends with "Z" behind its seconds and their fraction; it is put into
 * *micros. */
static inline int tw_of_minute(const tw_minute *minute, const uint8_t *p, size_t size, int64_t *micros)
{
    uint64_t words[4];
    size_t at = 19;
    int64_t unit = 100000, part = 0;
    if (size < 20 || p[size - 1] != 'Z' || p[16] != ':' || (uint8_t)(p[17] - '0') > 5 || (uint8_t)(p[18] - '0') > 9) return 0;
    memcpy(words, p, 16);
    memcpy(words + 2, minute->text, 16);
    if (words[0] != words[2] || words[1] != words[3] || minute->text[16] != ':') return 0;
    if (p[at] == '.' && size > 21)
        for (at++; (uint8_t)(p[at] - '0') < 10; at++, unit /= 10) part += unit * (p[at] - '0');
    if (at != size - 1) return 0;
    *micros = minute->moment + ((p[17] - '0') * 10 + p[18] - '0') * (int64_t)1000000 + part;
    return 1;
}

/* Keeps the minute of the time [p, p + size), `micros`, for tw_of_minute. Only times with seconds, no fraction and "Z"
 * are kept. */
static inline void tw_keep_minute(tw_minute *minute, const uint8_t *p, size_t size, int64_t micros)
{
    if (size != 20 || p[19] != 'Z' || p[16] != ':' || (uint8_t)(p[17] - '0') > 5) return;
    memcpy(minute->text, p, sizeof minute->text);
    minute->moment = micros - ((p[17] - '0') * 10 + p[18] - '0') * (int64_t)1000000;
}

/* True if [p, p + size) is surely a time of RFC 3339 (section 5.6), and which. No for rare ones: leap seconds, and the years
 * 0, 1 and 9999. */
static inline int tw_is_rfc3339(const uint8_t *p, size_t size, int64_t *micros)
{
    if (size < 20 || p[16] != ':' || (p[10] | 32) != 't' || p[17] > '5') return 0;
    if (tw_two(p) * 100 + tw_two(p + 2) < 2 || (p[0] == '9' && p[1] == '9' && p[2] == '9' && p[3] == '9')) return 0;
    uint8_t last = p[size - 1] | 32;
    if (last != 'z' && (p[size - 3] != ':' || (p[size - 6] != '+' && p[size - 6] != '-'))) return 0;
    for (size_t i = 19; i < size; i++)
        if (p[i] == ',' || p[i] == ' ') return 0;
    return tw_time_prefix(p, size, micros) == size;
}

/* True if a text to which tw_is_rfc3339 says no may be one of those rare times. */
static inline int tw_may_be_rfc3339(const uint8_t *p, size_t size)
{
    if (size < 20 || tw_two(p) < 0 || tw_two(p + 2) < 0) return 0;
    int year = tw_two(p) * 100 + tw_two(p + 2);
    return p[17] == '6' || year < 2 || year > 9998;
}

/* True if the line [p, p + size) begins with a time, which is put into *micros. White space and one of ( [ < " ' may stand before
 * it. */
static inline int tw_head_time(const uint8_t *p, size_t size, int64_t *micros)
{
    size_t at = 0;
    while (at < size && at < 64 && (p[at] == ' ' || p[at] == '\t')) at++;
    if (at < size && (p[at] == '[' || p[at] == '(' || p[at] == '<' || p[at] == '"' || p[at] == '\'')) at++;
    return tw_time_prefix(p + at, size - at, micros) > 0;
}

#endif
