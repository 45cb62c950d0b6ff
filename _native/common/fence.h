/* Recognises the lines of code fences (CommonMark 0.31, section 4.5), and says which fence is open behind one. The readable
 * twin is turnwire/fences.py. */
#ifndef TURNWIRE_FENCE_H
#define TURNWIRE_FENCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The run of a fence: its sign, and how many there are; none for no fence. */
typedef struct { uint8_t sign; size_t run; } tw_fence;

/* True if s[p .. end) begins as such a line does: up to three spaces, then three backticks or tildes. */
static inline int tw_is_fence(const uint8_t *s, size_t p, size_t end)
{
    size_t first = p;
    while (p < end && s[p] == ' ' && p - first < 3) p++;
    return end - p >= 3 && (s[p] == '`' || s[p] == '~') && s[p + 1] == s[p] && s[p + 2] == s[p];
}

/* The run of a line that begins so, and where that ends. */
static inline tw_fence tw_fence_of(const uint8_t *s, size_t p, size_t end, size_t *behind)
{
    while (s[p] == ' ') p++;
    tw_fence fence = { s[p], 0 };
    while (p + fence.run < end && s[p + fence.run] == fence.sign) fence.run++;
    *behind = p + fence.run;
    return fence;
}

/* The fence that is open behind such a line, without its line feed, where `open` was in front of it. */
static inline tw_fence tw_fence_after(tw_fence open, const uint8_t *s, size_t p, size_t end)
{
    size_t rest;
    tw_fence own = tw_fence_of(s, p, end, &rest), none = { 0, 0 };
    if (!open.run) return own.sign == '`' && memchr(s + rest, '`', end - rest) ? open : own;
    if (end > rest && s[end - 1] == '\r') end--;
    while (rest < end && (s[rest] == ' ' || s[rest] == '\t')) rest++;
    return rest == end && own.sign == open.sign && own.run >= open.run ? none : open;
}

#endif
