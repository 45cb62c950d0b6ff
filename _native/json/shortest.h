/* Floats as text: the shortest decimal that is read as the same double, laid out as Python's repr or ECMAScript does.
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

enum { TW_REAL_ROOM = 64,                    /* 24 bytes of the longest, and what is copied behind it */
       TW_REAL_ZEROS = 24 };                 /* behind the digits of an integer, and what is copied behind them */

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

/* A double as decimal digits: 0.ddd * 10^point. The text of the first `count` digits starts at digits[first]; zeros follow. */
typedef struct {
    uint8_t digits[17 + TW_REAL_ZEROS];
    int first, count, point;
} tw_real;

static inline void tw_real_of(tw_real *r, uint64_t bits)
{
    enum { MOST = 17 };                      /* digits */
    int exponent;
    const uint64_t value = tw_shortest(bits, &exponent), rest = value % 10000000000000000u;
    r->digits[0] = (uint8_t)('0' + value / 10000000000000000u);
    tw_put_eight(r->digits + 1, tw_eight_decimals((uint32_t)(rest / 100000000)));
    tw_put_eight(r->digits + 9, tw_eight_decimals((uint32_t)(rest % 100000000)));
    memset(r->digits + MOST, '0', TW_REAL_ZEROS);
    r->first = 0;
    r->count = MOST;
    while (r->digits[r->first] == '0') r->first++;
    while (r->digits[r->count - 1] == '0') r->count--;
    r->point = MOST - r->first + exponent;
    r->count -= r->first;
}

/* The digits with a point among them or in front of them: behind them. */
static inline uint8_t *tw_put_plain_real(uint8_t *to, const tw_real *r)
{
    const uint8_t *from = r->digits + r->first;
    if (r->point <= 0) {
        memcpy(to, "0.000000", 8);
        memcpy(to + 2 - r->point, from, 17);
        return to + 2 - r->point + r->count;
    }
    memcpy(to, from, 24);
    if (r->count <= r->point) return to + r->point;
    to[r->point] = '.';
    memcpy(to + r->point + 1, from + r->point, 16);
    return to + r->count + 1;
}

/* The digits with an exponent of at least so many digits: behind them. */
static inline uint8_t *tw_put_exponent_real(uint8_t *to, const tw_real *r, int least)
{
    const int negative = r->point <= 0, exponent = negative ? 1 - r->point : r->point - 1;
    *to++ = r->digits[r->first];
    if (r->count > 1) {
        *to++ = '.';
        memcpy(to, r->digits + r->first + 1, 16);
        to += r->count - 1;
    }
    *to++ = 'e';
    *to++ = negative ? '-' : '+';
    if (exponent < 10 && least > 1) *to++ = '0';
    return to + tw_put_decimal(to, (uint64_t)exponent);
}

/* A finite double as text at `to`, where TW_REAL_ROOM bytes are: how long it is. As repr of Python writes it, or
 * ECMAScript (ECMA-262, Number::toString). */
static TW_UNUSED size_t tw_put_real(uint8_t *to, double number, int ecmascript)
{
    uint8_t *const start = to;
    uint64_t bits;
    tw_real r;
    memcpy(&bits, &number, 8);
    if (!(bits << 1) && ecmascript) {
        *to = '0';
        return 1;
    }
    if (bits >> 63) *to++ = '-';
    if (!(bits << 1)) {
        memcpy(to, "0.0", 3);
        return (size_t)(to + 3 - start);
    }
    tw_real_of(&r, bits);
    if (r.point > (ecmascript ? -6 : -4) && r.point <= (ecmascript ? 21 : 16)) {
        to = tw_put_plain_real(to, &r);
        if (r.count <= r.point && !ecmascript) {
            memcpy(to, ".0", 2);
            to += 2;
        }
    } else {
        to = tw_put_exponent_real(to, &r, ecmascript ? 1 : 2);
    }
    return (size_t)(to - start);
}

#endif
