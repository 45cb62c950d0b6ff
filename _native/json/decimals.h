/* Integers as decimal text, eight digits at a time. */
#ifndef TURNWIRE_JSON_DECIMALS_H
#define TURNWIRE_JSON_DECIMALS_H

#include "_native/common/portable.h"

enum { TW_DECIMAL_ROOM = 28 };               /* twenty digits, the last of them as eight bytes */

/* The eight decimal digits of a number below 10^8, a byte each, the first one lowest. */
static inline uint64_t tw_eight_decimals(uint32_t number)
{
    uint64_t fours = number / 10000 | (uint64_t)(number % 10000) << 32;
    uint64_t upper = ((fours * 10486) >> 20) & 0x0000007F0000007Full, twos = upper | (fours - 100 * upper) << 16;
    upper = ((twos * 103) >> 10) & 0x000F000F000F000Full;
    return upper | (twos - 10 * upper) << 8;
}

/* Eight digits as text, the first one at `to`. */
static inline void tw_put_eight(uint8_t *to, uint64_t digits)
{
    digits |= 0x3030303030303030ull;
#ifdef TW_BIG_ENDIAN
    digits = tw_swapped(digits);
#endif
    memcpy(to, &digits, 8);
}

static size_t tw_put_decimal(uint8_t *to, uint64_t number);

/* The text of each number of at most three digits, and how long it is: most numbers of agents and turns are such. Filled at import. */
static uint8_t tw_few_digits[1000][4];

static TW_UNUSED void tw_decimal_tables(void)
{
    uint8_t text[TW_DECIMAL_ROOM];
    for (unsigned number = 0; number < 1000; number++) {
        uint8_t size = (uint8_t)tw_put_decimal(text, number);
        memcpy(tw_few_digits[number], text, size);
        tw_few_digits[number][3] = size;
    }
}

/* The same for a number of more than eight digits. */
static TW_APART size_t tw_put_long_decimal(uint8_t *to, uint64_t number)
{
    size_t before = tw_put_decimal(to, number / 100000000);
    tw_put_eight(to + before, tw_eight_decimals((uint32_t)(number % 100000000)));
    return before + 8;
}

/* A number as decimal text at `to`, where TW_DECIMAL_ROOM bytes are: how long it is. */
static inline size_t tw_put_decimal(uint8_t *to, uint64_t number)
{
    if (number < 1000 && tw_few_digits[number][3]) {
        memcpy(to, tw_few_digits[number], 4);
        return to[3];
    }
    if (number >= 100000000) return tw_put_long_decimal(to, number);
    uint64_t digits = tw_eight_decimals((uint32_t)number);
    unsigned leading = (unsigned)tw_low_zeros(digits | (uint64_t)1 << 56) & ~7u; /* the last zero is a digit */
    tw_put_eight(to, (digits | 0x3030303030303030ull) >> leading);
    return 8 - leading / 8;
}

#endif
