/* Finds the bytes that a backslash escapes, 64 at a time. */
#ifndef TURNWIRE_ESCAPES_H
#define TURNWIRE_ESCAPES_H

#include <stdint.h>

/* The bytes that a backslash escapes, of whose block the backslashes are given. *carried: whether the first one is
 * escaped by the last of the block before; then the same for the next block. In a run of backslashes every other one is
 * an escape: a subtraction carries through the runs, and what it leaves differs by whether they begin at an odd place. */
static inline uint64_t tw_escaped_bytes(uint64_t slash, uint64_t *carried)
{
    const uint64_t odd = 0xAAAAAAAAAAAAAAAAu;
    uint64_t begins = slash & ~*carried;
    uint64_t runs = (((begins << 1) | odd) - begins) ^ odd;
    uint64_t escaped = runs ^ (slash | *carried);
    *carried = (runs & slash) >> 63;
    return escaped;
}

#endif
