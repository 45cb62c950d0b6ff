/* Rows of the JSON wires: how one value that was noted in a message goes into its column, by the kind of fill. */
#ifndef TURNWIRE_JSON_ROWS_H
#define TURNWIRE_JSON_ROWS_H

#include "_native/common/text_span.h"
#include "plan.h"
#include "work.h"

enum { TW_MOST_COLUMNS = 64 };

/* One column of a batch: its array (NULL where nobody asked) and bits in `present` (64: it has none). */
typedef struct {
    void *values;                            /* i64, f64 or u8, as its fills give them; spans of a text */
    uint8_t width, valid, escaped;           /* width of `values` in bytes */
    tw_minute minute;                        /* of the last time in it */
} tw_column;

typedef struct {
    int64_t *offset, *length, *own_bytes, *line, *inner, *place, *size; /* own_bytes: of the record where it stands; place, size: the record in the buffer or the arena */
    uint64_t *present;
    uint8_t *wire, *depth, *carrier;         /* depth: strings around the record; carrier: or NULL */
    int64_t *time;                           /* with the head of the line where the message has none */
    tw_minute minute;
    uint8_t inner_bit, time_bit;
    tw_column own[TW_MOST_COLUMNS];
    uint64_t wanted;                         /* the bits `valid` of the columns that are there */
    tw_column *of_bit[64];
    size_t count, room;
    struct tw_chosen *chosen;                /* of each variant (json/fills.h) */
    const struct tw_chosen *met;             /* that of the last rows, of which these have no zeros yet: */
    size_t blank, behind;
} tw_json_rows;

/* A number as a double; 0 where only a slow way gives the nearest one. */
static int tw_double(const uint8_t *p, size_t size, double *value)
{
    static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    uint64_t number = 0;
    size_t first = *p == '-', behind = 0, digits = 0;
    int point = 0;
    for (size_t i = first; i < size; i++) {
        if (p[i] == '.') { point = 1; continue; }
        if ((uint8_t)(p[i] - '0') >= 10) return 0;
        number = number * 10 + (uint64_t)(p[i] - '0');
        behind += (size_t)point;
        if (++digits > 15) return 0;
    }
    *value = (double)number / powers[behind];
    if (first) *value = -*value;
    return 1;
}

static inline int tw_is_sigil(const uint8_t *p, const uint8_t *end)
{
    if (end - p >= 3 && p[0] == 0xE2 && p[1] == 0xAB && p[2] == 0xBB) return 3;
    return end - p >= 6 && p[0] == '\\' && p[1] == 'u' && tw_hex4(p + 2, end) == 0x2AFB ? 6 : 0;
}

/* How many lines of a string as written start with the sigil, a byte order mark at its start apart. */
static int64_t tw_sections(const uint8_t *p, const uint8_t *end)
{
    int64_t count = 0;
    if (end - p >= 3 && p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF) p += 3;
    else if (end - p >= 6 && p[0] == '\\' && p[1] == 'u' && tw_hex4(p + 2, end) == 0xFEFF) p += 6;
    for (;;) {
        count += tw_is_sigil(p, end) != 0;
        for (int newline = 0; !newline;) {
            uint8_t said[4];
            if ((p = tw_slash(p, end)) == end) return count;
            newline = p[1] == 'u' ? tw_unescape_one(&p, end, said) == 1 && said[0] == '\n' : (p += 2)[-1] == 'n';
        }
    }
}

/* The time that a string as written says, if it says one and nothing else. */
static int tw_time_of(const tw_value *v, tw_minute *minute, int64_t *micros)
{
    if (v->b.timed) {
        *micros = v->moment;
        return 1;
    }
    uint8_t scratch[64];
    size_t size;
    const uint8_t *p = tw_unescaped(v, scratch, sizeof scratch, &size);
    if (!p) return 0;
    if (tw_of_minute(minute, p, size, micros)) return 1;
    if (!size || tw_time_prefix(p, size, micros) != size) return 0;
    tw_keep_minute(minute, p, size, *micros);
    return 1;
}

/* The time that a value says: a text, or, where the fill asks for it, a number since 1970 (in digits or as text). */
static int tw_moment_of(const tw_fill *fill, const tw_value *v, tw_minute *minute, int64_t *micros)
{
    if (fill->fill == TW_FILL_EPOCH) return tw_epoch(v->p, v->size, micros);
    return v->b.is & TW_IS_STRING && tw_time_of(v, minute, micros);
}

/* The whole milliseconds between two times, each a text or a number since 1970; 0 where there are none. */
static int tw_between(const tw_value *start, const tw_value *end, int64_t *milliseconds)
{
    int64_t moments[2];
    const tw_value *const both[2] = { start, end };
    for (int i = 0; i < 2; i++) {
        tw_minute minute = { 0 };
        if (!both[i] || !((both[i]->b.is & TW_IS_STRING && tw_time_of(both[i], &minute, &moments[i])) ||
                          tw_epoch(both[i]->p, both[i]->size, &moments[i]))) return 0;
    }
    *milliseconds = (moments[1] - moments[0]) / 1000;
    return moments[1] >= moments[0];
}

/* One value into its column. Returns 0 where a number needs the slow way: the caller asks for it; -1 where it is no integer. */
static int tw_fill_one(tw_column *c, const tw_fill *fill, const tw_value *v, size_t row, const uint8_t *base,
                       int64_t shift, uint64_t *present)
{
    const uint8_t *first = NULL, *behind = NULL, *next; /* of a text */
    int64_t whole = 0;
    int there;                               /* whether there is one: 1, 0, or -1 if it is none that fits */
    switch (fill->fill) {
    case TW_FILL_TEXT:
        if (!(v->b.is & TW_IS_STRING)) return 1;
        behind = (first = v->p) + v->size;
        break;
    case TW_FILL_FAMILY:                     /* what stands between the sigil of a channel and its first slash */
        if (!(v->b.is & TW_IS_STRING)) return 1;
        next = v->p + v->size;
        behind = first = v->p + tw_is_sigil(v->p, next);
        if (first == v->p) return 1;
        if (!v->b.escaped) {
            if (!(behind = (const uint8_t *)memchr(first, '/', (size_t)(next - first)))) return 1;
            break;
        }
        for (const uint8_t *end = next; behind < end && *behind != '/'; behind = next) {
            uint8_t said[4];
            next = behind + 1;
            if (*behind == '\\' && (next = behind, tw_unescape_one(&next, end, said) == 1 && said[0] == '/')) break;
        }
        if (behind >= v->p + v->size) return 1;
        break;
    case TW_FILL_ITEM:                       /* the first string in an array */
        if (!(v->b.is & TW_IS_ARRAY)) return 1;
        first = tw_behind_space(v->p + 1);
        if (*first++ != '"') return 1;
        for (behind = first; *behind != '"'; behind++) behind += *behind == '\\';
        break;
    case TW_FILL_DIGITS:                     /* an integer as text; -0 is 0 */
        if (!(v->b.is & (TW_IS_COUNT | TW_IS_NEGATIVE)) || !tw_integer(v->p, v->size, &whole)) return 1;
        first = v->p + (!whole && *v->p == '-');
        behind = v->p + v->size;
        break;
    case TW_FILL_WORD:
        if (v->b.word == TW_NO_WORD) return 1;
        whole = v->b.word + fill->constant;
        break;
    case TW_FILL_NUMBERED:
        if (v->b.word == TW_NO_WORD || fill->numbers[v->b.word] == TW_NO_NUMBER) return 1;
        whole = fill->numbers[v->b.word];
        break;
    case TW_FILL_TRUTH:
        if (!(v->b.is & (TW_IS_BOOLEAN | TW_IS_COUNT | TW_IS_NEGATIVE))) return 1;
        whole = v->b.is & TW_IS_BOOLEAN ? *v->p == 't' : v->p[*v->p == '-'] > '0' + fill->constant;
        break;
    case TW_FILL_CONSTANT: case TW_FILL_PRESENT:
        if (fill->fill == TW_FILL_PRESENT && v->b.is & TW_IS_NULL) return 1;
        whole = fill->constant;
        break;
    case TW_FILL_NUMBER: case TW_FILL_SECONDS: {
        double number = 0;
        if (!(v->b.is & (TW_IS_COUNT | TW_IS_NEGATIVE | TW_IS_FRACTION))) return 1;
        const int good = tw_double(v->p, v->size, &number);
        ((double *)c->values)[row] = number;
        *present |= (uint64_t)1 << c->valid;
        return good;
    }
    case TW_FILL_INTEGER:
        if ((there = tw_whole(v->b.is, v->p, v->size, &whole)) < 0) goto invalid;
        if (!there) return 1;
        break;
    case TW_FILL_NUMERAL:                    /* an integer as text */
        if (!(v->b.is & TW_IS_STRING) || !v->size) return 1;
        for (size_t i = 0; i < v->size; i++)
            if ((uint8_t)(v->p[i] - '0') >= 10) return 1;
        if (!tw_integer(v->p, v->size, &whole)) goto invalid;
        break;
    case TW_FILL_TIMES:                      /* of all fills of this kind together */
        if (v->b.is & TW_IS_NULL && v->count < 2) return 1;
        whole = (v->count ? v->count : 1) + (*present >> c->valid & 1 ? ((int64_t *)c->values)[row] : 0);
        break;
    case TW_FILL_SUM:                        /* one that does not fit is none, whatever another source says */
        if (v->count > 1) there = !v->b.timed ? 0 : (whole = v->moment) == INT64_MIN ? -1 : 1;
        else there = tw_whole(v->b.is, v->p, v->size, &whole);
        if (there < 0) goto invalid;
        if (!there) return 1;
        break;
    case TW_FILL_TIME: case TW_FILL_EPOCH:
        if (!tw_moment_of(fill, v, &c->minute, &whole)) return 1;
        break;
    case TW_FILL_COUNT:
        if (!(v->b.is & TW_IS_ARRAY)) return 1;
        whole = v->count;
        break;
    case TW_FILL_SECTIONS:
        if (!(v->b.is & TW_IS_STRING)) return 1;
        whole = tw_sections(v->p, v->p + v->size);
        break;
    default:
        return 1;
    }
    *present |= (uint64_t)1 << c->valid;
    if (first) {
        ((int64_t *)c->values)[row] = tw_text_span((size_t)(first - base + shift), (size_t)(behind - first));
        int escaped = v->b.escaped || fill->fill == TW_FILL_ITEM;
        if (escaped && fill->fill != TW_FILL_TEXT) escaped = memchr(first, '\\', (size_t)(behind - first)) != NULL;
        if (escaped && c->escaped < 64) *present |= (uint64_t)1 << c->escaped;
    } else if (c->width == 1) ((uint8_t *)c->values)[row] = (uint8_t)whole;
    else ((int64_t *)c->values)[row] = whole;
    return 1;
invalid:                                     /* a number, but not such a one: no value, whatever another source says; -1 is stored */
    ((int64_t *)c->values)[row] = -1;
    *present &= ~((uint64_t)1 << c->valid);
    return -1;
}

#endif
