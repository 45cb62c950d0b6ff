/* Base62 (section 3, "Base62 integers"): single integers, and whole columns of them as rows of digits.
 *
 * Writing has no loop over digits: up to two digits are one table look-up, up to four are two, the rest is cut into groups
 * of four by multiplication with a reciprocal. Reading judges every byte. */
#ifndef TURNWIRE_NSLIP_BASE62_H
#define TURNWIRE_NSLIP_BASE62_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/portable.h"

#define BASE62_WIDTH 11
#define BASE62_POW2 3844ull
#define BASE62_POW4 14776336ull
#define BASE62_POW8 218340105584896ull

static const char BASE62_DIGITS[63] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static uint8_t base62_value[256];   /* 255: no digit */
static uint16_t base62_pair[3844];  /* both digits, the higher one in the lower byte */
static uint16_t base62_short[3844]; /* the same without a leading zero */

/* Fills the tables; called once, when the module is imported. */
static TW_UNUSED void base62_prepare(void) {
    memset(base62_value, 255, sizeof base62_value);
    for (unsigned value = 0; value < 62; value++) base62_value[(uint8_t)BASE62_DIGITS[value]] = (uint8_t)value;
    for (unsigned number = 0; number < 3844; number++) {
        unsigned high = (uint8_t)BASE62_DIGITS[number / 62], low = (uint8_t)BASE62_DIGITS[number % 62];
        base62_pair[number] = (uint16_t)(high | low << 8);
        base62_short[number] = number < 62 ? (uint16_t)low : base62_pair[number];
    }
}

/* Four digits of a number below 62**4, the highest in the lowest byte. */
static inline uint32_t base62_four(uint32_t number) {
    uint32_t high = number / 3844;
    return base62_pair[high] | (uint32_t)base62_pair[number - high * 3844] << 16;
}

static inline uint64_t base62_eight(uint64_t number) {
    uint32_t high = (uint32_t)(number / BASE62_POW4);
    return base62_four(high) | (uint64_t)base62_four((uint32_t)(number - high * BASE62_POW4)) << 32;
}

/* The digits of a number as two words, first digit in the lowest byte of `low`, zero bytes behind the last one. */
static inline void base62_words(uint64_t number, uint64_t *low, uint64_t *high) {
    *high = 0;
    if (number < BASE62_POW2) {
        *low = base62_short[number];
    } else if (number < BASE62_POW4) {
        unsigned leading = number < 238328;
        *low = base62_four((uint32_t)number) >> 8 * leading;
    } else if (number < BASE62_POW8) {
        unsigned leading = (number < 916132832ull) + (number < 56800235584ull) + (number < 3521614606208ull);
        *low = base62_eight(number) >> 8 * leading;
    } else {
        uint32_t top = (uint32_t)(number / BASE62_POW8);
        unsigned leading = 1 + (top < 3844) + (top < 62), kept = 8 * (4 - leading);
        uint64_t rest = base62_eight(number - top * BASE62_POW8);
        *low = base62_four(top) >> 8 * leading | rest << kept;
        *high = rest >> (64 - kept);
    }
}

static inline uint64_t base62_little(uint64_t word) {
#ifdef TW_BIG_ENDIAN
    return tw_swapped(word);
#else
    return word;
#endif
}

/* How many digits a word of base62_words holds; there must be one. */
static inline unsigned base62_count(uint64_t word) {
    return 8 - (unsigned)tw_high_zeros(word) / 8;
}

/* --- columns --- */

/* Digits of one number into `text` (room for 16 bytes); returns how many there are. */
static inline unsigned base62_write(uint64_t number, char *text) {
    uint64_t words[2];
    unsigned count = 1;
    base62_words(number, &words[0], &words[1]);
    words[0] = base62_little(words[0]);
    words[1] = base62_little(words[1]);
    memcpy(text, words, 16);
    while (count < BASE62_WIDTH && text[count]) count++;
    return count;
}

/* Rows of eleven bytes, zero-filled. */
static TW_UNUSED void base62_write_rows(const uint64_t *numbers, size_t count, uint8_t *rows) {
    size_t index = 0;
    for (; index + 1 < count; index++, rows += BASE62_WIDTH) { /* the five bytes too many belong to the next row */
        uint64_t low, high;
        base62_words(numbers[index], &low, &high);
        low = base62_little(low);
        high = base62_little(high);
        memcpy(rows, &low, 8);
        memcpy(rows + 8, &high, 8);
    }
    for (; index < count; index++, rows += BASE62_WIDTH) {
        char text[16];
        base62_write(numbers[index], text);
        memcpy(rows, text, BASE62_WIDTH);
    }
}

/* One row. 1: good, and in *number; 0: empty, no digit somewhere, or too large, which ten digits never are. */
static inline int base62_read(const uint8_t *row, size_t width, uint64_t *number) {
    uint64_t sum = 0, seen = 0;
    size_t length = width, place = 0;
    while (length && !row[length - 1]) length--;
    for (; place < length && place < 10; place++) {
        uint64_t digit = base62_value[row[place]];
        seen |= digit;
        sum = sum * 62 + digit;
    }
    if (!length || seen > 63) return 0;
    for (; place < length; place++) {
        uint64_t digit = base62_value[row[place]];
        if (digit > 61 || sum > (UINT64_MAX - digit) / 62) return 0;
        sum = sum * 62 + digit;
    }
    *number = sum;
    return 1;
}

/* Integers of `count` rows of `width` bytes; returns the index of the first row that is none, or `count`. */
static TW_UNUSED size_t base62_read_rows(const uint8_t *rows, size_t width, size_t count, uint64_t *numbers) {
    for (size_t index = 0; index < count; index++, rows += width)
        if (!base62_read(rows, width, numbers + index)) return index;
    return count;
}

#endif
