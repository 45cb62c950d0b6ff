/* Space Format on UTF-8: its header lines, their parts, and where content ends. Everything works on spans [a, b) of bytes. */
#ifndef TURNWIRE_KICK_FORMAT_H
#define TURNWIRE_KICK_FORMAT_H

#include "_native/common/fence.h"
#include "_native/common/utf8.h"

/* Issues of a header, in the order in which they are reported. */
enum {
    TW_EMPTY_HEADER = 1,
    TW_LEADING_SPACE = 2,
    TW_TRAILING_SPACE = 4,
    TW_NESTED_SIGIL = 8,
    TW_SPACE_IN_QUALIFIER = 16
};

/* The parts of a header as spans; a start of -1 says that the part is absent. */
enum { TW_NAME, TW_TYPE, TW_QUALIFIER, TW_PLACE, TW_INDEX, TW_INLINE, TW_PARTS };
typedef struct { ptrdiff_t start[TW_PARTS], end[TW_PARTS]; int issues; } tw_header;

/* White space as Python's str.isspace has it. */
static inline int tw_white(uint32_t c) {
    if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    if (c < 0x85) return 0;
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

/* How many bytes the white space at p takes (0: there is none), and the white space that ends at p. */
static inline int tw_white_at(const uint8_t *p, const uint8_t *end) {
    if (*p < 0x80) return tw_white(*p);
    if (*p == 0xC2) return end - p >= 2 && (p[1] == 0x85 || p[1] == 0xA0) ? 2 : 0;
    if (*p < 0xE1 || *p > 0xE3 || end - p < 3) return 0;
    return tw_white((uint32_t)(*p & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F)) ? 3 : 0;
}
static inline int tw_white_before(const uint8_t *start, const uint8_t *p) {
    if (p[-1] < 0x80) return tw_white(p[-1]);
    if (p - start >= 2 && p[-2] == 0xC2) return tw_white_at(p - 2, p);
    return p - start >= 3 && p[-3] >= 0xE1 && p[-3] <= 0xE3 ? tw_white_at(p - 3, p) : 0;
}
static inline int tw_sigil_at(const uint8_t *d, size_t i, size_t n) {
    return i + 3 <= n && d[i] == 0xE2 && d[i + 1] == 0xAB && d[i + 2] == 0xBB;
}

/* How many bytes a byte order mark at the start takes. */
static inline size_t tw_mark(const uint8_t *d, size_t n) {
    return n >= 3 && memcmp(d, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* The end of the line that holds `from`: its newline, or n. */
static size_t tw_line_end(const uint8_t *d, size_t from, size_t n) {
    const uint8_t *found = (const uint8_t *)memchr(d + from, '\n', n - from);
    return found ? (size_t)(found - d) : n;
}

/* The first i in [from, n) with a sigil at i behind a newline, or n. */
static size_t tw_next(const uint8_t *d, size_t from, size_t n) {
    for (from--; (from = tw_line_end(d, from, n)) < n; from++)
        if (tw_sigil_at(d, from + 1, n)) return from + 1;
    return n;
}

/* Strict: the place of the first fault of the header [a, b), left to right, or -1. A part that is missing is a fault
 * where the part should have begun. *empty says that there is nothing but white space (or nothing) in the header. */
static ptrdiff_t tw_judge(const uint8_t *d, size_t a, size_t b, int *empty) {
    size_t part = a;
    int in_qualifier = 0, slashes = 0;
    size_t i = a;
    *empty = 0;
    while (i < b && tw_white_at(d + i, d + b)) i += (size_t)tw_white_at(d + i, d + b);
    if (i == b) {
        *empty = 1;
        return (ptrdiff_t)a;
    }
    for (i = a; i < b; i++) {
        uint8_t c = d[i];
        if (c == '/' || (c == ':' && !in_qualifier)) {
            if (part == i) return (ptrdiff_t)i;
            if (c == '/' && slashes++) return (ptrdiff_t)i;
            if (c == ':') {
                in_qualifier = 1;
                slashes = 0;
            }
            part = i + 1;
        } else if (c <= 0x20 || c >= 0x80) {
            if (tw_white_at(d + i, d + b) || tw_sigil_at(d, i, b)) return (ptrdiff_t)i;
        }
    }
    return part == b ? (ptrdiff_t)b : -1;
}

static inline void tw_set_part(tw_header *h, int part, size_t a, size_t b) {
    h->start[part] = (ptrdiff_t)a;
    h->end[part] = (ptrdiff_t)b;
}

/* Lenient: the parts of the header [a, b), and its issues. */
static int tw_split(const uint8_t *d, size_t a, size_t b, tw_header *h) {
    size_t i, slash = b;
    int width;
    memset(h->start, 0xFF, sizeof h->start);
    h->issues = 0;
    for (i = a; i < b && (width = tw_white_at(d + i, d + b)); i += (size_t)width) {}
    if (i == b) {
        tw_set_part(h, TW_NAME, b, b);
        return h->issues = TW_EMPTY_HEADER;
    }
    if (i > a) h->issues |= TW_LEADING_SPACE;
    a = i;
    for (i = b; (width = tw_white_before(d + a, d + i)); i -= (size_t)width) {}
    if (i < b) h->issues |= TW_TRAILING_SPACE;
    b = i;
    for (i = a; i < b; i++)
        if (tw_sigil_at(d, i, b)) h->issues |= TW_NESTED_SIGIL;
    for (i = a; i < b && d[i] != ':'; i++)
        if (d[i] == '/' && slash > i) slash = i;
    tw_set_part(h, TW_NAME, a, slash < i ? slash : i);
    if (slash < i) tw_set_part(h, TW_TYPE, slash + 1, i);
    if (h->end[TW_NAME] == (ptrdiff_t)a) h->issues |= TW_EMPTY_HEADER;
    if (i == b) return h->issues;
    a = ++i;
    if (a < b && tw_white_at(d + a, d + b)) { /* inline text; b is behind a character that is not white space */
        tw_set_part(h, TW_QUALIFIER, a, a);
        while ((width = tw_white_at(d + i, d + b))) i += (size_t)width;
        tw_set_part(h, TW_INLINE, i, b);
        return h->issues;
    }
    tw_set_part(h, TW_QUALIFIER, a, b);
    if (a == b) return h->issues;
    tw_set_part(h, TW_PLACE, a, b);
    for (; i < b; i++) {
        if (d[i] == '/') {
            h->end[TW_PLACE] = (ptrdiff_t)i;
            tw_set_part(h, TW_INDEX, i + 1, b);
        } else if (tw_white_at(d + i, d + b)) {
            h->issues |= TW_SPACE_IN_QUALIFIER;
        }
    }
    return h->issues;
}

/* The end of the content of the body [a, b): behind its last line that is not blank, without that line's ending. */
static size_t tw_content_end(const uint8_t *d, size_t a, size_t b) {
    size_t i = b;
    int width;
    while (i > a && (width = tw_white_before(d + a, d + i))) i -= (size_t)width;
    if (i == a) return a;
    i = tw_line_end(d, i, b);
    return i < b && d[i - 1] == '\r' ? i - 1 : i;
}

/* Like tw_next, but deaf inside fences: the first header in [from, n), from being the start of a line, or n. */
static size_t tw_next_outside(const uint8_t *d, size_t from, size_t n, tw_fence *fence) {
    while (from < n) {
        if (!fence->run && tw_sigil_at(d, from, n)) return from;
        size_t end = tw_line_end(d, from, n);
        if (tw_is_fence(d, from, end)) *fence = tw_fence_after(*fence, d, from, end);
        from = end + 1;
    }
    return n;
}

#endif
