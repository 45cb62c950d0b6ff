/* The nSLIP grammar as one bounds-checked left-to-right parser: the only place in native code that knows every rule
 * and every fault. Single messages and bulk scans both use it; faster paths may accept what it accepts, never more. */
#ifndef TURNWIRE_NSLIP_PARSE_H
#define TURNWIRE_NSLIP_PARSE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/portable.h"
#include "_native/common/utf8_scalar.h"

/* Reasons; the order is that of REASONS in nslip/spec.py. */
enum {
    TW_OK = 0, TW_BAD_FRAMING, TW_EMPTY_MESSAGE, TW_EMPTY_FIELD, TW_UNKNOWN_PREFIX, TW_EMPTY_VALUE, TW_BAD_DIGIT,
    TW_TOO_LARGE, TW_WRONG_TYPE, TW_UNTERMINATED_STRING, TW_BAD_ESCAPE, TW_JUNK_AFTER_STRING, TW_DUPLICATE,
    TW_MISSING_FIELD, TW_UNKNOWN_ACT, TW_UNKNOWN_FRAME, TW_TRAILING_JUNK, TW_BAD_UTF8, TW_NEWLINE_IN_STRING,
    TW_MESSAGE_TOO_LARGE, TW_LOOK_ALIKE, TW_NSLIP_REASONS
};

enum { TW_KEEP = 1, TW_LOG = 2 };            /* flags: keep unknown slots and frames; one line is one record */
enum { TW_ACT, TW_FRAME, TW_CONV, TW_SRC, TW_DST, TW_TURN, TW_HEADERS };
enum { TW_GOAL, TW_TASK, TW_PARENT, TW_RESULT, TW_PRIORITY, TW_SCORE, TW_STATUS, TW_ERROR, TW_TAG, TW_SLOTS };
enum { TW_MAX_ACT = 10, TW_MAX_FRAME = 4, TW_MAX_EXTRA = 48 };
enum { TW_MOST_DIGITS = 11 };

typedef struct {
    size_t first;                            /* the value as written, quotes included */
    uint32_t length;
    uint8_t prefix, before;                  /* known slots in front of it */
} tw_unknown;

typedef struct {                             /* what a message keeps */
    uint64_t head[TW_HEADERS];
    uint64_t ints[TW_SLOTS];                 /* TW_STATUS and TW_TAG unused */
    uint16_t present;                        /* bit per slot */
    uint8_t count;                           /* slots */
    uint8_t order[TW_SLOTS];
} tw_values;

typedef struct {
    tw_values *v;
    size_t text_first[2];                    /* STATUS, TAG: first byte inside the quotes */
    size_t text_length[2];
    size_t end;                              /* behind '#', or where the fault is */
    size_t string_end;                       /* with TW_BAD_UTF8: the closing quote of the string that was judged */
    uint8_t headers;                         /* bit per header field */
    uint8_t escaped, non_ascii;              /* bit 0 STATUS, bit 1 TAG */
    uint8_t unknown_count;
    tw_unknown *unknown;                     /* TW_MAX_EXTRA entries when TW_KEEP is set */
} tw_fields;

/* Values of base62 digits; 255 is not a digit. */
static uint8_t tw_digit[256];
/* The meaning of a prefix: a slot, a field of the header, TW_OTHER for another letter, TW_KINDS for nothing. */
enum { TW_A = TW_SLOTS, TW_F, TW_C, TW_S, TW_D, TW_T, TW_OTHER, TW_KINDS };
static uint8_t tw_kind[256];
static const char TW_SLOT_PREFIXES[] = "gkprqsuet";

static void tw_nslip_tables(void)
{
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const char headers[] = "afcSdT";
    memset(tw_digit, 255, sizeof tw_digit);
    memset(tw_kind, TW_KINDS, sizeof tw_kind);
    for (int i = 0; i < 62; i++) {
        tw_digit[(uint8_t)alphabet[i]] = (uint8_t)i;
        if (i >= 10) tw_kind[(uint8_t)alphabet[i]] = TW_OTHER;
    }
    for (int i = 0; i < TW_HEADERS; i++) tw_kind[(uint8_t)headers[i]] = (uint8_t)(TW_A + i);
    for (int i = 0; i < TW_SLOTS; i++) tw_kind[(uint8_t)TW_SLOT_PREFIXES[i]] = (uint8_t)i;
}

/* True if a candidate of a log begins with the '@' at s[p]: '@', a header prefix, one to eleven digits and '|' (readings 8). */
static inline int tw_candidate(const uint8_t *s, size_t p, size_t end)
{
    size_t first = p + 2;
    if (p + 1 >= end || (uint8_t)(tw_kind[s[p + 1]] - TW_A) >= TW_HEADERS) return 0;
    for (p = first; p < end; p++) {
        if (tw_digit[s[p]] == 255) return p > first && s[p] == '|';
        if (p - first == TW_MOST_DIGITS) return 0;
    }
    return 0;
}

/* True if s[p..end) begins with the header of the legacy form: a f c s d t in that order, all with bare digits.
 * TW_LEGACY_ENDS: it does if nothing follows; TW_LEGACY_CUT: it may, depending on what follows. */
enum { TW_NOT_LEGACY, TW_LEGACY, TW_LEGACY_ENDS, TW_LEGACY_CUT };

static int tw_legacy(const uint8_t *s, size_t p, size_t end)
{
    static const char order[] = "afcsdt";
    for (int i = 0; i < 6; i++) {
        if (p < end && s[p] != (i ? '|' : '@')) return TW_NOT_LEGACY;
        if (p + 1 < end && s[p + 1] != order[i]) return TW_NOT_LEGACY;
        size_t first = p + 2;
        for (p = first; p < end && tw_digit[s[p]] != 255; p++)
            if (p - first == TW_MOST_DIGITS) return TW_NOT_LEGACY;
        if (p >= end && (i < 5 || p <= first)) return TW_LEGACY_CUT;
        if (p == first) return TW_NOT_LEGACY;
    }
    if (p == end) return TW_LEGACY_ENDS;
    return s[p] == '|' || s[p] == '#' || s[p] == '\r' || s[p] == '\n' ? TW_LEGACY : TW_NOT_LEGACY;
}

/* The top bit of each byte of w that is a or b; bytes above the lowest such one may be marked falsely. */
static inline uint64_t tw_find_two(uint64_t w, uint8_t a, uint8_t b)
{
    const uint64_t ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;
    uint64_t x = w ^ (ones * a), y = w ^ (ones * b);
    return (((x - ones) & ~x) | ((y - ones) & ~y)) & tops;
}

/* Index in memory of the lowest marked byte. */
static inline int tw_lowest_byte(uint64_t found)
{
#ifdef TW_BIG_ENDIAN
    return tw_high_zeros(found) >> 3;
#else
    return tw_low_zeros(found) >> 3;
#endif
}

/* The place of the next '"' or '\\' (in a log also newline) in s[p..end), or end. Sets *high where a byte in front of it
 * is not ASCII. */
TW_ALWAYS size_t tw_string_stop(const uint8_t *s, size_t p, size_t end, int log, int *high)
{
    const uint64_t tops = 0x8080808080808080ull;
    uint64_t w, found;
    while (p + 8 <= end) {
        memcpy(&w, s + p, 8);
        found = tw_find_two(w, '"', '\\');
        if (log) found |= tw_find_two(w, '\n', '\n');
        if (found) {
            int clear = tw_lowest_byte(found);
            uint8_t all = 0;
            if (w & tops) for (int i = 0; i < clear; i++) all |= s[p + (size_t)i];
            *high |= all >> 7;
            return p + (size_t)clear;
        }
        *high |= (w & tops) != 0;
        p += 8;
    }
    for (; p < end; p++) {
        if (s[p] == '"' || s[p] == '\\' || (log && s[p] == '\n')) return p;
        *high |= s[p] >> 7;
    }
    return end;
}

#define TW_FAULT(code, place) do { f->end = (place); return (code); } while (0)

/* A string that never closes: in a log the range ends with its line, so its newline stands behind it. */
static int tw_unclosed(const uint8_t *s, size_t first, size_t end, size_t size, int flags, tw_fields *f)
{
    if (flags & TW_LOG) {
        size_t newline = end;
        if (newline < size && s[newline] == '\r') newline++;
        if (newline < size && s[newline] == '\n') TW_FAULT(TW_NEWLINE_IN_STRING, newline);
    }
    TW_FAULT(TW_UNTERMINATED_STRING, first);
}

/* The string whose quote stands at s[first]; its inside goes to *from and *length; f->end is behind the closing quote. */
static int tw_string(const uint8_t *s, size_t first, size_t end, size_t size, int flags, tw_fields *f,
                     size_t *from, size_t *length, int *escaped, int *non_ascii)
{
    size_t p = first + 1;
    int high = 0;
    *escaped = 0;
    for (;;) {
        p = tw_string_stop(s, p, end, 0, &high);
        if (p >= end) return tw_unclosed(s, first, end, size, flags, f);
        if (s[p] == '"') break;
        if (p + 1 >= end) return tw_unclosed(s, first, end, size, flags, f);
        if (s[p + 1] != '\\' && s[p + 1] != '"') TW_FAULT(TW_BAD_ESCAPE, p);
        *escaped = 1;
        p += 2;
    }
    *from = first + 1;
    *length = p - first - 1;
    *non_ascii = high;
    if (*non_ascii) {
        size_t valid = tw_utf8_prefix(s + *from, *length);
        f->string_end = p;
        if (valid < *length) TW_FAULT(TW_BAD_UTF8, *from + valid);
    }
    p++;
    if (p >= end) TW_FAULT(TW_BAD_FRAMING, end);
    if (s[p] != '|' && s[p] != '#') TW_FAULT(TW_JUNK_AFTER_STRING, p);
    f->end = p;
    return TW_OK;
}

/* The integer that starts at s[first]; f->end is the '|' or '#' behind it. */
static inline int tw_integer(const uint8_t *s, size_t first, size_t end, tw_fields *f, uint64_t *number)
{
    size_t p = first, safe = first + 10 < end ? first + 10 : end;   /* ten digits always fit */
    uint64_t value = 0;
    uint8_t d;
    while (p < safe && (d = tw_digit[s[p]]) != 255) {
        value = value * 62 + d;
        p++;
    }
    if (p == safe) {
        while (p < end && (d = tw_digit[s[p]]) != 255) {
            if (value > (UINT64_MAX - d) / 62) TW_FAULT(TW_TOO_LARGE, first);
            value = value * 62 + d;
            p++;
        }
        if (p >= end) TW_FAULT(TW_BAD_FRAMING, end);
    }
    if (s[p] != '|' && s[p] != '#') TW_FAULT(TW_BAD_DIGIT, p);
    *number = value;
    f->end = p;
    return TW_OK;
}

static int tw_unknown_field(const uint8_t *s, size_t p, size_t end, size_t size, int flags, tw_fields *f)
{
    uint8_t prefix = s[p];
    for (int i = 0; i < f->unknown_count; i++)
        if (f->unknown[i].prefix == prefix) TW_FAULT(TW_DUPLICATE, p);
    p++;
    if (p >= end) TW_FAULT(TW_BAD_FRAMING, end);
    if (s[p] == '|' || s[p] == '#') TW_FAULT(TW_EMPTY_VALUE, p);
    uint64_t number;
    size_t from, length;
    int escaped, non_ascii;
    int code = s[p] == '"' ? tw_string(s, p, end, size, flags, f, &from, &length, &escaped, &non_ascii)
                           : tw_integer(s, p, end, f, &number);
    if (code != TW_OK) return code;
    tw_unknown *u = &f->unknown[f->unknown_count++];
    u->first = p;
    u->length = (uint32_t)(f->end - p);
    u->prefix = prefix;
    u->before = f->v->count;
    return TW_OK;
}

/* tw_nslip_parse, but for the legacy form. */
static int tw_nslip_read(const uint8_t *s, size_t start, size_t end, size_t size, int flags, tw_fields *f)
{
    size_t p = start + 1;
    int code;
    tw_values *v = f->v;
    v->present = 0;
    v->count = 0;
    f->headers = f->escaped = f->non_ascii = f->unknown_count = 0;
    if (start >= end) TW_FAULT(TW_BAD_FRAMING, 0);
    if (s[start] != '@') TW_FAULT(TW_BAD_FRAMING, start);
    if (p < end && s[p] == '#') TW_FAULT(TW_EMPTY_MESSAGE, p);
    for (;; p++) {
        if (p >= end) TW_FAULT(TW_BAD_FRAMING, end);
        int kind = tw_kind[s[p]], header = kind - TW_A, slot = header < 0 ? kind : -1;
        if (kind >= TW_OTHER) {
            if (s[p] == '|' || s[p] == '#') TW_FAULT(TW_EMPTY_FIELD, p);
            if (kind == TW_KINDS || !(flags & TW_KEEP)) TW_FAULT(TW_UNKNOWN_PREFIX, p);
            code = tw_unknown_field(s, p, end, size, flags, f);
            if (code != TW_OK) return code;
            p = f->end;
        } else {
            if (slot >= 0 ? (v->present >> slot) & 1 : (f->headers >> header) & 1) TW_FAULT(TW_DUPLICATE, p);
            size_t first = ++p;
            if (p >= end) TW_FAULT(TW_BAD_FRAMING, end);
            if (s[p] == '|' || s[p] == '#') TW_FAULT(TW_EMPTY_VALUE, p);
            int text = slot == TW_STATUS || slot == TW_TAG;
            if ((s[p] == '"') != text) TW_FAULT(TW_WRONG_TYPE, p);
            if (text) {
                int which = slot == TW_TAG, escaped, non_ascii;
                code = tw_string(s, p, end, size, flags, f, &f->text_first[which], &f->text_length[which],
                                 &escaped, &non_ascii);
                if (code != TW_OK) return code;
                f->escaped |= (uint8_t)(escaped << which);
                f->non_ascii |= (uint8_t)(non_ascii << which);
            } else {
                uint64_t number;
                code = tw_integer(s, p, end, f, &number);
                if (code != TW_OK) return code;
                if (slot >= 0) {
                    v->ints[slot] = number;
                } else {
                    if (header == TW_ACT && number > TW_MAX_ACT) TW_FAULT(TW_UNKNOWN_ACT, first);
                    if (header == TW_FRAME && number > TW_MAX_FRAME) {
                        if (!(flags & TW_KEEP)) TW_FAULT(TW_UNKNOWN_FRAME, first);
                        tw_unknown *u = &f->unknown[f->unknown_count++];
                        u->first = first;
                        u->length = (uint32_t)(f->end - first);
                        u->prefix = 'f';
                        u->before = 0;
                    }
                    v->head[header] = number;
                    f->headers |= (uint8_t)(1 << header);
                }
            }
            if (slot >= 0) {
                v->present |= (uint16_t)(1 << slot);
                v->order[v->count++] = (uint8_t)slot;
            }
            p = f->end;
        }
        if (s[p] == '#') break;
    }
    if (f->headers != (1 << TW_HEADERS) - 1) TW_FAULT(TW_MISSING_FIELD, p);
    p++;
    if (!(flags & TW_LOG) && p < end) TW_FAULT(TW_TRAILING_JUNK, p);
    f->end = p;
    return TW_OK;
}

/* One message from s[start..end); size is how far s may be read (end <= size). f->unknown must be set for TW_KEEP.
 * Returns TW_OK with f->end behind the '#', or a reason with f->end at the fault. */
static int tw_nslip_parse(const uint8_t *s, size_t start, size_t end, size_t size, int flags, tw_fields *f)
{
    int code = tw_nslip_read(s, start, end, size, flags, f);
    if (code == TW_OK || start >= end) return code;
    int legacy = tw_legacy(s, start, end);
    if (legacy != TW_LEGACY && legacy != TW_LEGACY_ENDS) return code;
    TW_FAULT(TW_LOOK_ALIKE, start);
}

/* The closing quote of a string that has escapes or is not ASCII, or 0 where it is not good; `stop` and `high` are what
 * tw_string_stop said of its beginning. Sets the string's bits in *f. */
static TW_APART size_t tw_rare_string(const uint8_t *s, size_t first, size_t stop, size_t end, int log,
                                      int high, int which, tw_fields *f)
{
    while (stop + 1 < end && s[stop] == '\\' && (s[stop + 1] == '\\' || s[stop + 1] == '"')) {
        f->escaped |= (uint8_t)(1 << which);
        stop = tw_string_stop(s, stop + 2, end, log, &high);
    }
    if (stop >= end || s[stop] != '"') return 0;
    if (high && !tw_utf8_valid_scalar(s + first, stop - first)) return 0;
    f->non_ascii |= (uint8_t)(high << which);
    return stop;
}

/* The common message at s[0]: canonical header, good strings, integers of at most ten digits, nothing unknown.
 * The loops over digits have no bound of their own: a '#' must stand at s[size - 1] or before it, behind s[0]. A record
 * of a log (log != 0) may be followed by anything; otherwise the message must fill s[0..size). 1 with *f filled
 * (f->end behind its '#'), or 0: then ask tw_nslip_parse. */
TW_ALWAYS int tw_nslip_fast(const uint8_t *restrict s, size_t size, int log, tw_fields *restrict f)
{
    static const uint8_t header[] = "SdT";
    tw_values *v = f->v;
    const uint8_t *p = s + 8;
    uint64_t value;
    uint32_t present = 0, count = 0;
    uint8_t d;
    if (size < 19 || s[1] != 'a' || s[3] != '|' || s[4] != 'f' || s[6] != '|' || s[7] != 'c') return 0;
    f->escaped = f->non_ascii = f->unknown_count = 0;
    v->head[TW_ACT] = tw_digit[s[2]];
    v->head[TW_FRAME] = tw_digit[s[5]];
    if (tw_digit[s[2]] > TW_MAX_ACT || tw_digit[s[5]] > TW_MAX_FRAME) return 0;
#define TW_DIGITS                                                                                                   \
    do {                                                                                                            \
        const uint8_t *first = p;                                                                                   \
        value = tw_digit[*p];                                                                                       \
        if (value == 255) return 0;                                                                                 \
        while ((d = tw_digit[*++p]) != 255) value = value * 62 + d;                                                 \
        if (p - first > 10) return 0;                                                                               \
    } while (0)
    for (int i = 0; i < 3; i++) {
        TW_DIGITS;
        v->head[TW_CONV + i] = value;
        if (p[0] != '|' || p[1] != header[i]) return 0;
        p += 2;
    }
    TW_DIGITS;
    v->head[TW_TURN] = value;
    while (*p == '|') {
        uint32_t slot = tw_kind[p[1]];
        if (slot >= TW_SLOTS || (present >> slot) & 1) return 0;
        p += 2;
        if (slot == TW_TAG || slot == TW_STATUS) {
            int which = slot == TW_TAG, high = 0;
            if (*p != '"') return 0;
            size_t first = (size_t)(p + 1 - s), end = tw_string_stop(s, first, size, log, &high);
            if (end >= size || s[end] != '"' || high) {
                end = tw_rare_string(s, first, end, size, log, high, which, f);
                if (!end) return 0;
            }
            f->text_first[which] = first;
            f->text_length[which] = end - first;
            p = s + end + 1;
            if (log && end + 1 >= size) return 0;
        } else {
            TW_DIGITS;
            v->ints[slot] = value;
        }
        present |= 1u << slot;
        v->order[count++] = (uint8_t)slot;
    }
#undef TW_DIGITS
    if (*p != '#' || (!log && p != s + size - 1)) return 0;
    v->present = (uint16_t)present;
    v->count = (uint8_t)count;
    f->end = (size_t)(p + 1 - s);
    return 1;
}

#endif
