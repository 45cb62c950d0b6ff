/* Space Format on three kinds of text: UTF-8 bytes (1), and Python's strings of 16 and 32 bits a character (2, 4).
 *
 * Everything works on spans [a, b) in units of the text. kick/units.h has the rules, once for all kinds; this file has what
 * the kinds share, and the choice among them.
 */
#ifndef TURNWIRE_KICK_FORMAT_H
#define TURNWIRE_KICK_FORMAT_H

#include "_native/common/utf8.h"

#define TW_SIGIL 0x2AFB

/* Issues of a header, in the order in which they are reported. */
enum {
    TW_EMPTY_HEADER = 1,
    TW_LEADING_SPACE = 2,
    TW_TRAILING_SPACE = 4,
    TW_NESTED_SIGIL = 8,
    TW_SPACE_IN_QUALIFIER = 16
};

/* The parts of a header as spans; a start of -1 says that the part is absent. */
typedef struct {
    ptrdiff_t name, name_end, type, type_end, qualifier, qualifier_end, place_end, index, text, text_end;
    int issues;
} tw_header;

/* The fence that is open, if any (count 0: none). */
typedef struct {
    size_t count;
    uint32_t mark;
} tw_fence;

/* White space as Python's str.isspace has it. */
static inline int tw_white(uint32_t c) {
    if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    if (c < 0x85) return 0;
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

#define TW_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define TW_JOIN_(name, kind) name##_##kind
#define TW_JOIN(name, kind) TW_JOIN_(name, kind)
#define F(name) TW_JOIN(name, KIND)

#define KIND 1
#define UNIT uint8_t
#include "units.h"
#undef KIND
#undef UNIT
#define KIND 2
#define UNIT uint16_t
#include "units.h"
#undef KIND
#undef UNIT
#define KIND 4
#define UNIT uint32_t
#include "units.h"
#undef KIND
#undef UNIT
#undef F

/* The same functions for a text whose kind is known at run time. */
#define TW_ANY(RESULT, NAME, PARAMETERS, ...)                                                                       \
    static inline RESULT NAME(int kind, const void *d, TW_STRIP PARAMETERS) {                                        \
        if (kind == 1) return NAME##_1((const uint8_t *)d, __VA_ARGS__);                                             \
        if (kind == 2) return NAME##_2((const uint16_t *)d, __VA_ARGS__);                                            \
        return NAME##_4((const uint32_t *)d, __VA_ARGS__);                                                           \
    }
#define TW_STRIP(...) __VA_ARGS__

TW_ANY(size_t, tw_mark, (size_t n), n)
TW_ANY(int, tw_damaged, (size_t a, size_t b, int level), a, b, level)
TW_ANY(size_t, tw_next, (size_t from, size_t n, int level), from, n, level)
TW_ANY(size_t, tw_next_outside, (size_t from, size_t n, tw_fence *fence), from, n, fence)
TW_ANY(size_t, tw_line_end, (size_t from, size_t n), from, n)
TW_ANY(ptrdiff_t, tw_judge, (size_t a, size_t b, int *empty), a, b, empty)
TW_ANY(int, tw_split, (size_t a, size_t b, tw_header *header), a, b, header)
TW_ANY(size_t, tw_content_end, (size_t a, size_t b), a, b)
TW_ANY(int, tw_is_return, (size_t i), i)
TW_ANY(int, tw_sigil_at, (size_t i, size_t n), i, n)

/* The last boundary of a character at or before b, no more than three units back. */
static inline size_t tw_boundary(int kind, const void *d, size_t b, size_t n) {
    if (kind != 1 || b >= n) return b < n ? b : n;
    for (int k = 0; k < 3 && b && (((const uint8_t *)d)[b] & 0xC0) == 0x80; k++) b--;
    return b;
}

#endif
