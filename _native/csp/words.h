/* The words of a text in ASCII: runs of letters, without case, and what is known of them. */
#ifndef TW_CSP_WORDS_H
#define TW_CSP_WORDS_H

#include <stdint.h>
#include <string.h>

#define CSP_WORD_MOST 15
#define CSP_WORD_ROOM 4096

/* A word of at most 15 letters, and in the last byte what is known of it, 0 for nothing. */
typedef union {
    uint8_t letters[16];
    uint64_t halves[2];
} csp_word;

static inline int csp_is_letter(uint8_t sign) {
    return (uint8_t)((sign | 32) - 'a') < 26;
}

/* The word at a place of a text, its length in *size; what is longer than 15 letters is cut off behind them. */
static inline csp_word csp_word_at(const uint8_t *text, int64_t size, int64_t *length) {
    csp_word word;
    int64_t at = 0;
    word.halves[0] = word.halves[1] = 0;
    while (at < size && csp_is_letter(text[at])) {
        if (at < CSP_WORD_MOST) word.letters[at] = text[at] | 32;
        at++;
    }
    *length = at;
    return word;
}

/* Where a word stands in a table of CSP_WORD_ROOM: another one of the same place takes it over. */
static inline csp_word *csp_word_place(csp_word *table, const csp_word *word) {
    uint64_t mixed = (word->halves[0] ^ (word->halves[1] * 0x9E3779B97F4A7C15u)) * 0xD6E8FEB86659FD93u;
    return table + (mixed >> 52);
}

static inline int csp_word_known(const csp_word *there, const csp_word *word) {
    return memcmp(there->letters, word->letters, CSP_WORD_MOST) == 0 ? there->letters[CSP_WORD_MOST] : 0;
}

/* Where a text stands in another, or -1. */
static inline int64_t csp_find(const uint8_t *text, int64_t size, const uint8_t *what, int64_t length) {
    const uint8_t *at = text, *last;
    if (length == 0) return 0;
    if (size < length) return -1;
    last = text + (size - length);
    while (at <= last) {
        at = (const uint8_t *)memchr(at, what[0], (size_t)(last - at) + 1);
        if (at == NULL) return -1;
        if (memcmp(at, what, (size_t)length) == 0) return at - text;
        at++;
    }
    return -1;
}

#endif
