/* Floats as text: the shortest decimal that is read as the same double, laid out as repr of Python does.
 *
 * The digits are found as in R. Giulietti, "The Schubfach way to render doubles" (2020). A double v = c * 2^q is read from
 * whatever decimal lies between its two neighbours' midpoints. For the right k, multiples of 10^k are so near to each other
 * that at least one lies there, and of 10^(k+1) at most one does: that one is the shortest; else the nearest of 10^k is.
 * The three bounds, divided by 10^k, are kept as integers of four times their value, the lowest bit being set where
 * something was cut off: comparisons need no more. */
#ifndef TURNWIRE_JSON_SHORTEST_H
#define TURNWIRE_JSON_SHORTEST_H

#include "decimals.h"
#include "powers_of_ten.h"

enum { TW_REAL_ROOM = 48 };                  /* 24 bytes of the longest, and what is copied behind it */

/* The high half of a product; *low: the other one. */
static inline uint64_t tw_multiplied(uint64_t one, uint64_t other, uint64_t *low)
{
#if defined(TW_GNU) && defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 tw_wide;
    const tw_wide product = (tw_wide)one * other;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    const uint64_t a = one & 0xFFFFFFFFu, b = one >> 32, c = other & 0xFFFFFFFFu, d = other >> 32;
    const uint64_t middle = b * c + (a * c >> 32), crossed = a * d + (middle & 0xFFFFFFFFu);
    *low = one * other;
    return b * d + (middle >> 32) + (crossed >> 32);
#endif
}

/* bound * 10^-k / 2^..., its lowest bit set where something was cut off; at: the place of the power in the table. */
static inline uint64_t tw_scaled(int at, uint64_t bound)
{
    uint64_t low, lowest;
    const uint64_t above = tw_multiplied(tw_powers_of_ten[at].low, bound, &lowest);
    uint64_t high = tw_multiplied(tw_powers_of_ten[at].high, bound, &low);
    low += above;
    high += low < above;
    return high | (low > 1);
}

/* The digits of a finite double that is not 0, by its bits: digits * 10^*exponent. */
static inline uint64_t tw_shortest(uint64_t bits, int *exponent)
{
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int biased = (int)(bits >> 52 & 0x7FF), nearer = !fraction && biased > 1; /* the lower neighbour, by half */
    const uint64_t c = biased ? fraction | (uint64_t)1 << 52 : fraction;
    const int q = (biased ? biased : 1) - 1075, odd = (int)(c & 1);
    const int k = (q * 1262611 - (nearer ? 524031 : 0)) >> 22; /* floor(log10(2^q)), or of 3/4 of it */
    const int h = q + ((-k * 1741647) >> 19) + 1, at = -k - TW_LEAST_POWER;
    const uint64_t lower = tw_scaled(at, (4 * c - 2 + (uint64_t)nearer) << h) + (uint64_t)odd;
    const uint64_t value = tw_scaled(at, 4 * c << h);
    const uint64_t upper = tw_scaled(at, (4 * c + 2) << h) - (uint64_t)odd;
    const uint64_t digits = value / 4;
    *exponent = k;
    if (digits >= 10) {
        const uint64_t tens = digits / 10;
        const int below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
        if (below != above) {
            ++*exponent;
            return tens + (uint64_t)above;
        }
    }
    const int below = lower <= 4 * digits, above = 4 * digits + 4 <= upper;
    if (below != above) return digits + (uint64_t)above;
    const uint64_t middle = 4 * digits + 2;
    return digits + (value > middle || (value == middle && digits & 1));
}

/* A finite double as text at `to`, where TW_REAL_ROOM bytes are: how long it is. */
static TW_UNUSED size_t tw_put_real(uint8_t *to, double number)
{
    enum { MOST = 17 };                      /* digits */
    uint8_t digits[MOST + 16], *const start = to;
    uint64_t bits, value;
    int exponent, first = 0, count = MOST, point;
    memcpy(&bits, &number, 8);
    if (bits >> 63) *to++ = '-';
    if (!(bits << 1)) {
        memcpy(to, "0.0", 3);
        return (size_t)(to + 3 - start);
    }
    value = tw_shortest(bits, &exponent);
    digits[0] = (uint8_t)('0' + value / 10000000000000000u);
    value %= 10000000000000000u;
    tw_put_eight(digits + 1, tw_eight_decimals((uint32_t)(value / 100000000)));
    tw_put_eight(digits + 9, tw_eight_decimals((uint32_t)(value % 100000000)));
    while (digits[first] == '0') first++;
    while (digits[count - 1] == '0') count--;
    point = MOST - first + exponent;         /* digits in front of the point */
    count -= first;
    memset(digits + MOST, '0', 16);          /* behind an integer */
    const uint8_t *from = digits + first;
    if (point > 0 && point <= 16) {
        memcpy(to, from, 16);
        if (count <= point) {
            memcpy(to + point, ".0", 2);
            return (size_t)(to + point + 2 - start);
        }
        to[point] = '.';
        memcpy(to + point + 1, from + point, 16);
        return (size_t)(to + count + 1 - start);
    }
    if (point <= 0 && point > -4) {
        memcpy(to, "0.000", 5);
        to += 2 - point;
        memcpy(to, from, MOST);
        return (size_t)(to + count - start);
    }
    *to++ = *from;
    if (count > 1) {
        *to++ = '.';
        memcpy(to, from + 1, 16);
        to += count - 1;
    }
    *to++ = 'e';
    *to++ = point > 0 ? '+' : '-';
    point = point > 0 ? point - 1 : 1 - point;
    if (point < 10) *to++ = '0';
    return (size_t)(to + tw_put_decimal(to, (uint64_t)point) - start);
}

#endif
