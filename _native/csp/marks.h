/* Decides whether a line that says CSP/1 begins a message, by the few lines that follow. The twin of csp/_lines_py.py, which
 * explains the rules, also for lines that only nearly say so. */
#ifndef TURNWIRE_CSP_MARKS_H
#define TURNWIRE_CSP_MARKS_H

#include "_native/common/fence.h"
#include "lines.h"

enum { CSP_IS_TEXT, CSP_IS_DAMAGED, CSP_IS_LOOK_ALIKE, CSP_UNDECIDED };
enum { CSP_LOOK_LINES = 64, CSP_LOOK_BYTES = 4096, CSP_CLOSE = 4, CSP_CLOSE_LINES = 8 };

static const char *const csp_look_keys[] = { "STATUS", "SCOPE", "READ_RECS", "POSITION", "RESOLUTION", "DEBATE" };
static const char *const csp_headers[] = { "FROM", "TO", "CTX", "INTENT" };
static const char *const csp_loose_headers[] = { "from", "to", "ctx", "intent" };
static const char csp_title[] = "Compact Symbol Protocol";
enum { CSP_LOOK_KEYS = 6, CSP_TITLE_BIT = 1 << CSP_LOOK_KEYS, CSP_HEADERS = 4, CSP_BLOCKS = 8 };
/* The words of blocks, and the letter of their ids; 0 for any token. */
static const struct { const char *word; char letter; } csp_blocks[CSP_BLOCKS] = {
    { "TASK", 'T' }, { "RESULT", 'T' }, { "ERROR", 'E' }, { "PATCH", 'P' }, { "FILEOP", 'F' },
    { "PLAN", 0 }, { "QUERY", 0 }, { "MEM", 0 },
};

/* True if a line has the title of the Compact Symbol Protocol. */
static int csp_has_title(const uint8_t *data, int64_t start, int64_t stop) {
    const int64_t size = (int64_t)sizeof csp_title - 1;
    while (stop - start >= size) {
        const uint8_t *at = (const uint8_t *)memchr(data + start, 'C', (size_t)(stop - start - size + 1));
        if (!at) return 0;
        if (memcmp(at, csp_title, (size_t)size) == 0) return 1;
        start = at - data + 1;
    }
    return 0;
}

static int csp_is_space(uint8_t byte) { return byte == ' ' || byte == '\t'; }
static int csp_is_letter(uint8_t byte) { return byte >= 0x80 || (uint8_t)(byte - '0') < 10 || (uint8_t)((byte | 32) - 'a') < 26; }

/* Length of the word if it begins at `at`, else 0. */
static int64_t csp_word_at(const uint8_t *data, int64_t at, int64_t stop, const char *word) {
    int64_t size = (int64_t)strlen(word);
    return stop - at >= size && memcmp(data + at, word, (size_t)size) == 0 ? size : 0;
}

/* True if a key of the header stands at `at`, and then the end, a space or a lone CR. */
static int csp_header_word(const uint8_t *data, int64_t at, int64_t stop) {
    for (int i = 0; i < CSP_HEADERS; i++) {
        int64_t size = csp_word_at(data, at, stop, csp_headers[i]);
        if (size && (at + size == stop || data[at + size] == ' ' || data[at + size] == '\r')) return 1;
    }
    return 0;
}

/* Length of the word, which is in lower case, if it begins at `at`, perhaps with a capital; else 0. */
static int64_t csp_loose_word_at(const uint8_t *data, int64_t at, int64_t stop, const char *word) {
    return at < stop && (data[at] | 0x20) == (uint8_t)*word && csp_word_at(data, at + 1, stop, word + 1)
        ? (int64_t)strlen(word) : 0;
}

/* Behind the signs that Markdown puts in front of the words of a list, and of emphasis. */
static int64_t csp_behind_signs(const uint8_t *data, int64_t start, int64_t stop) {
    int64_t at = start + csp_word_at(data, start, stop, "\xE2\x80\xA2");
    while (at < stop && at - start < 2 && (uint8_t)(data[at] - '0') < 10) at++;
    if (at == start) at += at < stop && (data[at] == '-' || data[at] == '*');
    else if (at - start < 3) at = at < stop && (data[at] == '.' || data[at] == ')') ? at + 1 : start;
    if (at == stop || !csp_is_space(data[at])) at = start;
    while (at < stop && csp_is_space(data[at])) at++;
    for (int i = 0; i < 3 && at < stop && memchr("*_`", data[at], 3); i++) at++;
    return at;
}

/* True if a line looks like one of the header: a key with anything behind it; or, in lower case or with a capital at
   its beginning, with one word; `marked`: also with one word where signs of Markdown stand around the key. */
static int csp_header_like(const uint8_t *data, int64_t start, int64_t stop, int marked) {
    while (start < stop && csp_is_space(data[start])) start++;
    while (stop > start && csp_is_space(data[stop - 1])) stop--;
    int64_t word = marked ? csp_behind_signs(data, start, stop) : start;
    int plain = word == start;
    for (int i = 0; i < CSP_HEADERS; i++) {
        int64_t size = csp_word_at(data, word, stop, csp_headers[i]), at = word + size;
        int sign = plain || size;
        if (size && plain && (at == stop || csp_is_space(data[at]) || data[at] == ':' || data[at] == '=')) return 1;
        if (!size) size = csp_loose_word_at(data, word, stop, csp_loose_headers[i]);
        if (!size) continue;
        at = word + size;
        if (at < stop) at += data[at] == ':' || data[at] == '=';
        int most = !plain || (marked && at < stop && memchr("*_`", data[at], 3)) ? 7 : 4;
        for (at = word + size; at < stop && memchr(" \t:=*_`", data[at], most); at++) sign |= !csp_is_space(data[at]);
        if (!sign || at == word + size || at == stop) continue;
        for (; at < stop && !csp_is_space(data[at]); at++) { }
        if (at == stop && !memchr(".,:;!?=", data[stop - 1], 7)) return 1;
    }
    return 0;
}

/* 1: the line is the head of a block, with an id of the right form; 2: its word alone; 0: neither. */
static int csp_block_like(const uint8_t *data, int64_t start, int64_t stop) {
    while (start < stop && csp_is_space(data[start])) start++;
    while (stop > start && csp_is_space(data[stop - 1])) stop--;
    for (int i = 0; i < CSP_BLOCKS; i++) {
        int64_t size = csp_word_at(data, start, stop, csp_blocks[i].word), at = start + size, first;
        int digits = 0;
        if (!size) continue;
        if (at == stop) return 2;
        if (data[at] != ' ') return 0;
        first = ++at;
        if (csp_blocks[i].letter && (at == stop || data[at++] != (uint8_t)csp_blocks[i].letter)) return 0;
        for (; at < stop && data[at] != ' '; at++) {
            int digit = data[at] >= '0' && data[at] <= '9';
            if (csp_blocks[i].letter && !digit) return 0;
            digits |= digit;
        }
        if (at == first || !digits) return 0;
        if (at == stop) return 1;
        if (csp_blocks[i].letter != 'F') return 0;
        for (at++; at < stop && data[at] >= 'A' && data[at] <= 'Z'; at++) { }
        return at == stop;
    }
    return 0;
}

/* The bit of the key with which a line betrays the Compact Symbol Protocol, or 0. */
static int csp_look_key(const uint8_t *data, int64_t start, int64_t stop) {
    for (int i = 0; i < CSP_LOOK_KEYS; i++) {
        int64_t size = csp_word_at(data, start, stop, csp_look_keys[i]), at = start + size;
        if (!size) continue;
        uint8_t next = at < stop ? data[at] : ' ', upper = next & 0xDF;
        if (!(upper >= 'A' && upper <= 'Z') && !(next >= '0' && next <= '9') && next != '_') return 1 << i;
    }
    return 0;
}

/* The kind of record that begins with the line at `first`. */
static TW_UNUSED int csp_classify_magic_line(const uint8_t *data, int64_t first, int64_t end, int final) {
    const int64_t bound = first + CSP_LOOK_BYTES;
    int64_t place = first;
    int keys = 0, near = 0, damaged = 0, other = 0, count = 0, bits = 0, letters = 0, chomped;
    for (int line = 0; line <= CSP_LOOK_LINES; line++) {
        int64_t most = end < bound ? end : bound, start = place, stop;
        if (place >= most) {
            if (end < bound && !final) return CSP_UNDECIDED;
            break;
        }
        const uint8_t *newline = (const uint8_t *)memchr(data + place, '\n', (size_t)(most - place));
        if (!newline && end >= bound && line) break;
        if (!newline && !final && line) return CSP_UNDECIDED;
        if (!newline && line == 0) {         /* it is whole, or the caller would not ask */
            newline = (const uint8_t *)memchr(data + place, '\n', (size_t)(end - place));
        }
        stop = newline ? newline - data : end;
        place = newline ? stop + 1 : end;
        if (newline && stop > start && data[stop - 1] == '\r') stop--;
        if (line == 0) {
            if (csp_has_title(data, start, stop)) keys = CSP_TITLE_BIT;
            near = keys != 0;
            for (int64_t at = start; at < stop; at++) {
                damaged |= data[at] == '\r' && csp_header_word(data, at + 1, stop); /* with lone CRs it is one line */
                letters += csp_is_letter(data[at]);
            }
            continue;
        }
        int64_t at = start;
        while (at < stop && csp_is_space(data[at])) at++;
        if (at == stop) continue;
        if (tw_is_fence(data, (size_t)start, (size_t)stop)) break;
        if (csp_looks_like_magic(data, start, stop) || csp_opening(data, start, stop, &chomped)) break;
        int close = ++count <= CSP_CLOSE && line <= CSP_CLOSE_LINES, key, block;
        if (csp_header_word(data, start, stop)) return close || damaged ? CSP_IS_DAMAGED : CSP_IS_TEXT;
        block = csp_block_like(data, start, stop);
        if (block && !(keys & ~CSP_TITLE_BIT)) other = 1;
        damaged |= close && (block == 1 || csp_header_like(data, start, stop, letters == 4));
        key = csp_look_key(data, start, stop);
        if (csp_has_title(data, start, stop)) key |= CSP_TITLE_BIT;
        near |= key && count <= (key == 1 ? 1 : CSP_CLOSE); /* 1: STATUS */
        keys |= key;
    }
    for (int i = 0; i <= CSP_LOOK_KEYS; i++) bits += keys >> i & 1;
    if (!other && (bits >= 2 || near)) return CSP_IS_LOOK_ALIKE;
    return damaged ? CSP_IS_DAMAGED : CSP_IS_TEXT;
}

#endif
