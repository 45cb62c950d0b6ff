/* Signs in lines, and in gaps between records, of things that the scan of lines does not look for itself. The readable
 * twin is framing/_line_heads_py.py. */
#ifndef TURNWIRE_LINE_SIGNS_H
#define TURNWIRE_LINE_SIGNS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/fence.h"
#include "_native/common/wide.h"

enum { TW_SIGN_CRI = 1, TW_SIGN_DOCKER = 2, TW_SIGN_MAGIC_BEHIND = 4, TW_SIGN_SIGIL = 8, TW_SIGN_FENCE = 16 };
enum { TW_GAP_TOKENS = 0, TW_GAP_LINES = 1 };
enum { TW_DOCKER_PART = 16384 };

static inline int tw_sign_space(uint8_t c) { return c == ' ' || c == '\t'; }

static inline int tw_sign_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }

/* Whether s[p .. end) begins with what looks like the magic of CSP/1. */
static int tw_sign_magic(const uint8_t *s, size_t p, size_t end)
{
    while (p < end && tw_sign_space(s[p])) p++;
    if (end - p < 5 || (s[p] | 32) != 'c' || (s[p + 1] | 32) != 's' || (s[p + 2] | 32) != 'p') return 0;
    p += 3;
    while (p < end && tw_sign_space(s[p])) p++;
    if (p == end || s[p] != '/') return 0;
    p++;
    while (p < end && tw_sign_space(s[p])) p++;
    return p < end && tw_sign_digit(s[p]);
}

/* Where the first space of the 24 bytes at p stands, or 24; there are 34. */
static inline size_t tw_sign_gap(const uint8_t *p)
{
    size_t at = 0;
#ifdef TW_X86                         /* SSE2, which any of these processors has */
    unsigned gaps = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p),
                                                               _mm_set1_epi8(' ')));
    if (gaps) return (size_t)tw_low_zeros_32(gaps);
    at = 16;
#endif
    while (at < 24 && p[at] != ' ') at++;
    return at;
}

/* Whether the line is a part of one that CRI cut: a time, the name of a stream, P. */
static inline int tw_sign_cri(const uint8_t *s, size_t p, size_t end)
{
    if (end - p < 29 || s[p + 4] != '-' || s[p + 10] != 'T') return 0;
    const uint8_t *space = s + p + 19, *behind = end - p < 43 ? s + end : s + p + 43;
    if (end - p >= 19 + 34) space += tw_sign_gap(space);
    else while (space < behind && *space != ' ') space++;
    if ((size_t)(s + end - space) < 10 || memcmp(space, " std", 4) || space == behind) return 0;
    return (!memcmp(space, " stdout P", 9) || !memcmp(space, " stderr P", 9)) && (space[9] == ' ' || space[9] == ':');
}

static int tw_sign_log_key(const uint8_t *s, size_t p, size_t end)
{
    while (p + 5 <= end) {
        const uint8_t *quote = (const uint8_t *)memchr(s + p, '"', end - p - 4);
        if (!quote) return 0;
        if (!memcmp(quote, "\"log\"", 5)) return 1;
        p = (size_t)(quote - s) + 1;
    }
    return 0;
}

/* What the line s[p .. end) shows at its start: its sign, or 0. *magic: whether it looks like the first of a CSP/1 message. */
static int tw_sign_start(const uint8_t *s, size_t p, size_t end, int *magic)
{
    size_t from = p;
    uint8_t c = s[p];
    if (c == 0xEF && end - p >= 3 && s[p + 1] == 0xBB && s[p + 2] == 0xBF) {
        from = p + 3;
        c = from < end ? s[from] : 0;
    }
    if (tw_sign_digit(c)) return tw_sign_cri(s, from, end) ? TW_SIGN_CRI : 0; /* behind a byte order mark */
    if (c == 0xE2) return end - from >= 3 && s[from + 1] == 0xAB && s[from + 2] == 0xBB ? TW_SIGN_SIGIL : 0;
    if (tw_sign_space(c) || (c | 32) == 'c') *magic = tw_sign_magic(s, from, end);
    return from == p && tw_is_fence(s, p, end) ? TW_SIGN_FENCE : 0;
}

/* The same for its end: the magic of CSP/1 behind something else. */
static int tw_sign_end(const uint8_t *s, size_t p, size_t end)
{
    if (end > p && s[end - 1] == '\r') end--;
    return end - p > 5 && s[end - 1] == '1' && !memcmp(s + end - 5, "CSP/", 4) ? TW_SIGN_MAGIC_BEHIND : 0;
}

/* What the line s[p .. end) shows. *magic: as above. */
static inline int tw_sign_line(const uint8_t *s, size_t p, size_t end, int *magic)
{
    static const uint8_t shown[256] = { ['c'] = 1, ['C'] = 1, [' '] = 1, ['\t'] = 1, ['`'] = 1, ['~'] = 1, [0xE2] = 1,
                                        [0xEF] = 1 };
    int signs = 0;
    if (tw_sign_digit(s[p])) signs = tw_sign_cri(s, p, end) ? TW_SIGN_CRI : 0;
    else if (shown[s[p]]) signs = tw_sign_start(s, p, end, magic);
    if (end > p && (s[end - 1] == '1' || s[end - 1] == '\r')) signs |= tw_sign_end(s, p, end);
    if (end - p >= TW_DOCKER_PART && tw_sign_log_key(s, p, end)) signs |= TW_SIGN_DOCKER;
    return signs;
}

/* The signs of the lines in s[start .. stop), where a line begins, but only of those in front of the first one that looks
 * like the first of a CSP/1 message, where `magic` is there to say where that begins; `stop` where there is none. */
static int tw_line_signs_plain(const uint8_t *s, size_t start, size_t stop, size_t *magic)
{
    int signs = 0;
    if (magic) *magic = stop;
    for (size_t p = start; p < stop;) {
        const uint8_t *newline = (const uint8_t *)memchr(s + p, '\n', stop - p);
        size_t end = newline ? (size_t)(newline - s) : stop;
        int first = 0, more = tw_sign_line(s, p, end, &first);
        if (first && magic) {
            *magic = p;
            return signs;
        }
        signs |= more;
        p = end + 1;
    }
    return signs;
}

#ifdef TW_X86
/* The same, with the newlines of 128 bytes at a time: most lines are short, and a search for each end would cost more. */
TW_TARGET("avx2,bmi") static int tw_line_signs_avx2(const uint8_t *s, size_t start, size_t stop, size_t *magic)
{
    const __m256i newline = _mm256_set1_epi8('\n');
    size_t p = start;
    int signs = 0;
    for (size_t at = start; stop - at >= 128; at += 128) {
        const __m256i *v = (const __m256i *)(const void *)(s + at);
        __m256i a = _mm256_cmpeq_epi8(_mm256_loadu_si256(v), newline);
        __m256i b = _mm256_cmpeq_epi8(_mm256_loadu_si256(v + 1), newline);
        __m256i c = _mm256_cmpeq_epi8(_mm256_loadu_si256(v + 2), newline);
        __m256i d = _mm256_cmpeq_epi8(_mm256_loadu_si256(v + 3), newline);
        if (!_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)))) continue;
        uint64_t ends[2] = {
            (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32,
            (uint32_t)_mm256_movemask_epi8(c) | (uint64_t)(uint32_t)_mm256_movemask_epi8(d) << 32,
        };
        for (int half = 0; half < 2; half++) {
            for (uint64_t left = ends[half]; left; left &= left - 1) {
                size_t end = at + 64 * (size_t)half + (size_t)tw_low_zeros(left);
                int first = 0, more = tw_sign_line(s, p, end, &first);
                if (first && magic) {
                    *magic = p;
                    return signs;
                }
                signs |= more;
                p = end + 1;
            }
        }
    }
    return signs | tw_line_signs_plain(s, p, stop, magic);
}
#endif

/* Whether s[p .. end) begins like a record of JSON or nSLIP: what stands behind it in its line has no prefix. */
static int tw_sign_record(const uint8_t *s, size_t p, size_t end)
{
    uint8_t first = s[p];
    if (++p >= end) return 0;
    if (first == '{') {
        while (p < end && tw_sign_space(s[p])) p++;
        return p < end && (s[p] == '"' || s[p] == '}');
    }
    if (first != '@' || (uint8_t)((s[p] | 32) - 'a') >= 26) return 0;
    while (p < end && ((uint8_t)((s[p] | 32) - 'a') < 26 || tw_sign_digit(s[p]))) p++;
    return p < end && s[p] == '|';
}

/* Whether a template of CSP/1 stands in s[start .. stop), where a line begins, that begins no line, and in no line that a
 * record begins. */
static int tw_sign_template(const uint8_t *s, size_t start, size_t stop)
{
    for (size_t p = start; p < stop; p++) {
        const uint8_t *semicolon = (const uint8_t *)memchr(s + p, ';', stop - p);
        if (!semicolon) return 0;
        p = (size_t)(semicolon - s);
        size_t end = p - start >= 5 && !memcmp(s + p - 5, " MODE", 5) ? p - 5 : p;
        if (end - start <= 5 || memcmp(s + end - 5, "CSP/1", 5) || s[end - 6] == '\n') continue;
        size_t line = end - 5;
        while (line > start && s[line - 1] != '\n') line--;
        if (!tw_sign_record(s, line, end)) return TW_SIGN_MAGIC_BEHIND;
        const uint8_t *newline = (const uint8_t *)memchr(s + p, '\n', stop - p);
        if (!newline) return 0;
        p = (size_t)(newline - s);
    }
    return 0;
}

static int tw_lines_signs(const uint8_t *s, size_t start, size_t stop, size_t *magic)
{
#ifdef TW_X86
    if (stop - start >= 128 && TW_PROCESSOR_HAS("avx2") && TW_PROCESSOR_HAS("bmi"))
        return tw_line_signs_avx2(s, start, stop, magic);
#endif
    return tw_line_signs_plain(s, start, stop, magic);
}

static int tw_line_signs(const uint8_t *s, size_t start, size_t stop, size_t *magic)
{
    int signs = tw_lines_signs(s, start, stop, magic);
    return signs | tw_sign_template(s, start, magic ? *magic : stop);
}

/* The signs of the lines in s[start .. stop) outside of `count` claims [starts[i], stops[i]), which are in order. */
static inline int tw_signs_between(const uint8_t *s, const int64_t *starts, const int64_t *stops, size_t count, size_t start,
                            size_t stop)
{
    int signs = 0;
    for (size_t i = 0; i < count && start < stop; i++) {
        size_t first = (size_t)starts[i], behind = (size_t)stops[i];
        if (first > stop) break;
        if (first > start && (first - start > 1 || s[start] != '\n')) signs |= tw_line_signs(s, start, first, NULL);
        if (behind > start) start = behind;
    }
    return start < stop ? signs | tw_line_signs(s, start, stop, NULL) : signs;
}

/* Whether s[p .. stop) has a brace, a quote, an at sign or a backslash. */
static inline int tw_sign_of_opening(const uint8_t *s, size_t p, size_t stop)
{
    if (stop - p > 64)
        return memchr(s + p, '{', stop - p) || memchr(s + p, '"', stop - p) || memchr(s + p, '@', stop - p) ||
               memchr(s + p, '\\', stop - p);
    for (; p < stop; p++)
        if (s[p] == '{' || s[p] == '"' || s[p] == '@' || s[p] == '\\') return 1;
    return 0;
}

/* Whether s[0 .. size) shows no sign outside of `rows` records, which are in order, and s[0 .. stop) has nothing there that can
 * belong to a record of JSON or nSLIP, nor a string of which only the inside is there. */
static inline int tw_only_records(const uint8_t *s, const int64_t *offset, const int64_t *length, size_t rows, int64_t base,
                                  size_t stop, size_t size)
{
    size_t start = 0;
    for (size_t i = 0; i <= rows; i++) {
        size_t first = i < rows ? (size_t)(offset[i] - base) : size, end = first < stop ? first : stop;
        while (start < first && s[start] == '\n') start++; /* what is empty shows nothing */
        if (start < end && tw_sign_of_opening(s, start, end)) return 0;
        if (start < first && tw_line_signs(s, start, first, NULL)) return 0;
        if (i < rows && first + (size_t)length[i] > start) start = first + (size_t)length[i];
    }
    return 1;
}

static inline int tw_sign_blank(uint8_t c) { return tw_sign_space(c) || c == '\n' || c == '\r'; }

/* Whether the key MESSAGE of an array stands at p: it may be one of bytes. */
static int tw_sign_message(const uint8_t *s, size_t p, size_t stop)
{
    if (stop - p < 10 || memcmp(s + p, "MESSAGE", 7)) return 0;
    for (p += 7; p < stop && s[p] == '\\'; p++) {}
    if (p == stop || s[p] != '"') return 0;
    for (p++; p < stop && tw_sign_blank(s[p]); p++) {}
    if (p == stop || s[p] != ':') return 0;
    for (p++; p < stop && tw_sign_blank(s[p]); p++) {}
    return p < stop && s[p] == '[';
}

/* Whether an escape \u00.. of a letter, a slash or a digit 1 stands at p: it may be of CSP/1. */
static int tw_sign_letter(const uint8_t *s, size_t p, size_t stop)
{
    if (stop - p < 6 || memcmp(s + p, "\\u00", 4)) return 0;
    uint8_t first = s[p + 4], second = s[p + 5];
    return (uint8_t)(first - '4') < 4 || (first == '2' && (second | 32) == 'f') || (first == '3' && second == '1');
}

/* Whether the quote at p may be the first of a line of JSON: blanks and brackets are in front of it, or numbers and other
 * words of JSON behind a bracket. What stands in a string ends with it. */
static int tw_sign_quote(const uint8_t *s, size_t p, size_t gap)
{
    size_t q = p, first = p;                 /* first: what is not blank, as far as the walk came */
    for (; q > gap && s[q - 1] != '\n'; q--) {
        if (tw_sign_space(s[q - 1])) continue;
        if (!memchr("[],+-.0123456789Eaeflnrstu", s[q - 1], 26)) return 0;
        first = q - 1;
    }
    return first == p || s[first] == '[';
}

/* Whether the byte at p of a gap that begins at `gap` may be the sign of something that the scan of tokens (or of lines) alone
 * would not see; all of the input ends at `stop`. */
static int tw_gap_sign(const uint8_t *s, size_t p, size_t gap, size_t stop, int kind, int escapes)
{
    size_t q = p;
    switch (s[p]) {
    case '{':
        if (kind == TW_GAP_LINES) return 0;
        for (q = p + 1; q < stop; q++)
            if (s[q] != ' ' && s[q] != '\t' && s[q] != '\n' && s[q] != '\r') break;
        return q == stop || s[q] == '"' || s[q] == '}' || s[q] == '\\';
    case '\\':
        return escapes || (kind == TW_GAP_LINES && tw_sign_letter(s, p, stop));
    case 'M':
        return kind == TW_GAP_LINES && tw_sign_message(s, p, stop);
    case '"':
        return kind != TW_GAP_LINES && tw_sign_quote(s, p, gap);
    case 0xE2:
        return stop - p >= 3 && s[p + 1] == 0xAB && s[p + 2] == 0xBB;
    case '`':
    case '~':
        return stop - p >= 3 && s[p + 1] == s[p] && s[p + 2] == s[p];
    case ' ':
        return stop - p >= 3 && s[p + 1] == 'P' && (s[p + 2] == ' ' || s[p + 2] == ':');
    case '/':
        while (q > gap && (tw_sign_space(s[q - 1]) || s[q - 1] == '\\')) q--; /* JSON may write \/ */
        return q - gap >= 3 && (s[q - 1] | 32) == 'p' && (s[q - 2] | 32) == 's' && (s[q - 3] | 32) == 'c';
    }
    return 0;
}

/* Whether nothing in s[start .. stop) outside of the records (offsets count from `base`) may be something else than what the
 * scan of one wire alone makes of it. */
static inline int tw_plain_gaps(const uint8_t *s, const int64_t *offset, const int64_t *length, size_t rows, int64_t base,
                         size_t start, size_t stop, int kind, int escapes)
{
    static const uint8_t shown[256] = { ['{'] = 1, ['\\'] = 1, ['"'] = 1, [0xE2] = 1, [' '] = 1, ['/'] = 1,
                                        ['`'] = 1, ['~'] = 1, ['M'] = 1 };
    size_t p = start;
    for (size_t row = 0; row <= rows; row++) {
        size_t end = row < rows ? (size_t)(offset[row] - base) : stop;
        if (row < rows && end == p + 1 && s[p] == '\n') { /* records line by line */
            p = end + (size_t)length[row];
            while (row + 1 < rows && offset[row + 1] - base == (int64_t)p + 1 && s[p] == '\n') p += 1 + (size_t)length[++row];
            continue;
        }
        if (end - p >= TW_DOCKER_PART && kind == TW_GAP_LINES) return 0;
        for (size_t gap = p; p < end; p++)
            if (shown[s[p]] && tw_gap_sign(s, p, gap, stop, kind, escapes)) return 0;
        if (row < rows) p = end + (size_t)length[row];
    }
    return 1;
}

#endif
