/* Tests of single lines and words for the readers of CSP/1: keys, tokens, lines that nearly say CSP/1, UTF-8. */
#ifndef TURNWIRE_CSP_LINES_H
#define TURNWIRE_CSP_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/utf8_scalar.h"
#include "_native/common/wide.h"

/* Eight bytes, the first in the lowest bits. */
TW_ALWAYS uint64_t csp_load(const uint8_t *data) {
    uint64_t word = 0;
#ifndef TW_BIG_ENDIAN
    memcpy(&word, data, 8);
#else
    for (int i = 7; i >= 0; i--) word = word << 8 | data[i];
#endif
    return word;
}

/* The up to eight bytes from place on, the first in the lowest bits; bytes at or behind end read as zero. */
TW_ALWAYS uint64_t csp_word(const uint8_t *data, int64_t place, int64_t end) {
    uint64_t word = 0;
    if (place + 8 <= end) return csp_load(data + place);
    for (int64_t i = end - place - 1; i >= 0; i--) word = word << 8 | data[place + i];
    return word;
}

/* Length of the bytes before the first space among the first eight of a line of that length; 9 for more than eight, and
   where they end with NUL: the words are compared with zeros behind them. */
static inline int csp_key_length(uint64_t word, int64_t length, const uint8_t *line) {
    uint64_t differs = word ^ 0x2020202020202020ULL;
    uint64_t spaces = (differs - 0x0101010101010101ULL) & ~differs & 0x8080808080808080ULL;
    int64_t at = spaces ? tw_low_zeros(spaces) >> 3 : 8;
    if (at >= length) at = length;
    else if (at == 8 && line[8] != ' ') return 9;
    return at > 0 && line[at - 1] == 0 ? 9 : (int)at;
}

TW_ALWAYS uint64_t csp_prefix(uint64_t word, int length) {
    return length >= 8 ? word : word & ((1ULL << (8 * length)) - 1);
}

/* True if the bytes are one token: at least one byte, none a space, a control or DEL. */
TW_ALWAYS int csp_is_token(const uint8_t *data, int64_t start, int64_t stop, int64_t end) {
    const uint64_t ones = 0x0101010101010101ULL, tops = 0x8080808080808080ULL;
    if (start >= stop) return 0;
    while (start < stop) {
        uint64_t word = csp_word(data, start, end);
        int64_t left = stop - start;
        if (left < 8) word = csp_prefix(word, (int)left) | (ones * 0x21) << (8 * left);
        uint64_t low = (word - ones * 0x21) & ~word & tops;
        uint64_t del = word ^ (ones * 0x7f);
        if (low | ((del - ones) & ~del & tops)) return 0;
        start += 8;
    }
    return 1;
}

/* Length of the KEY at a line's start that a space or its end follows; 0 for none. */
TW_ALWAYS int64_t csp_key_at(const uint8_t *data, int64_t start, int64_t stop) {
    int64_t at = start;
    if (at >= stop || (uint8_t)(data[at] - 'A') > 25) return 0;
    while (at < stop && ((uint8_t)(data[at] - 'A') < 26 || (uint8_t)(data[at] - '0') < 10 || data[at] == '_')) at++;
    return at == stop || data[at] == ' ' ? at - start : 0;
}

/* The run of a heredoc's opening line, or 0; chomped: whether a "-" stands behind it. */
static inline int64_t csp_opening(const uint8_t *data, int64_t start, int64_t stop, int *chomped) {
    int64_t at = start;
    while (at < stop && data[at] == '<') at++;
    *chomped = at + 1 == stop && data[at] == '-';
    return at - start >= 3 && (at == stop || *chomped) ? at - start : 0;
}

/* True if a line says "CSP/1" or nearly so: blanks around its parts, small letters, a BOM, another digit. */
static inline int csp_looks_like_magic(const uint8_t *data, int64_t at, int64_t stop) {
    if (stop - at >= 3 && data[at] == 0xEF && data[at + 1] == 0xBB && data[at + 2] == 0xBF) at += 3;
    while (at < stop && (data[at] == ' ' || data[at] == '\t')) at++;
    if (stop - at < 3 || (data[at] | 32) != 'c' || (data[at + 1] | 32) != 's' || (data[at + 2] | 32) != 'p') return 0;
    at += 3;
    while (at < stop && (data[at] == ' ' || data[at] == '\t')) at++;
    if (at >= stop || data[at] != '/') return 0;
    at++;
    while (at < stop && (data[at] == ' ' || data[at] == '\t')) at++;
    return at < stop && data[at] >= '0' && data[at] <= '9';
}

/* Offset of the first sequence in data[start:stop] that is not UTF-8, or -1. */
static inline int64_t csp_bad_utf8(const uint8_t *data, int64_t start, int64_t stop) {
    int64_t good = (int64_t)tw_utf8_prefix(data + start, (size_t)(stop - start));
    return good == stop - start ? -1 : start + good;
}

#endif
