/* Recognises the lines of code fences (CommonMark 0.31, section 4.5): the readable twin is turnwire/fences.py. */
#ifndef TURNWIRE_FENCE_H
#define TURNWIRE_FENCE_H

#include <stddef.h>
#include <stdint.h>

/* Whether s[p .. end) begins as such a line does: up to three spaces, then three backticks or tildes. */
static inline int tw_is_fence(const uint8_t *s, size_t p, size_t end)
{
    size_t first = p;
    while (p < end && s[p] == ' ' && p - first < 3) p++;
    return end - p >= 3 && (s[p] == '`' || s[p] == '~') && s[p + 1] == s[p] && s[p + 2] == s[p];
}

#endif
