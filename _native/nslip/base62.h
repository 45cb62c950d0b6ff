/* Base62 digits of integers (section 3, "Base62 integers"): no loop over digits; up to two are one table look-up, up to four
 * are two, the rest is cut into groups of four by multiplication with a reciprocal. */
#ifndef TURNWIRE_NSLIP_BASE62_H
#define TURNWIRE_NSLIP_BASE62_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/portable.h"

#define BASE62_POW2 3844ull
#define BASE62_POW4 14776336ull
#define BASE62_POW8 218340105584896ull

static const char BASE62_DIGITS[63] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static uint16_t base62_pair[3844];  /* both digits, the higher one in the lower byte */

/* Fills the table; called once, when the module is imported. */
static TW_UNUSED void base62_prepare(void) {
    for (unsigned number = 0; number < 3844; number++)
        base62_pair[number] = (uint16_t)((unsigned)BASE62_DIGITS[number / 62] | (unsigned)BASE62_DIGITS[number % 62] << 8);
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

static inline uint64_t base62_little(uint64_t word) {
#ifdef TW_BIG_ENDIAN
    return tw_swapped(word);
#else
    return word;
#endif
}

/* Writes a number of nine digits or more; returns where it stopped, and may write 16 bytes. */
static inline uint8_t *base62_put_large(uint8_t *p, uint64_t number) {
    const uint32_t top = (uint32_t)(number / BASE62_POW8);
    const unsigned leading = 1 + (top < 3844) + (top < 62); /* zeros in front of the one to three digits of `top` */
    const uint64_t first = base62_little(base62_four(top) >> 8 * leading), rest = base62_little(base62_eight(number % BASE62_POW8));
    memcpy(p, &first, 8);
    memcpy(p + 4 - leading, &rest, 8);
    return p + 12 - leading;
}

#endif
