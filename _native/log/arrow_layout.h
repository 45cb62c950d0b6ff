/* Lays columns out for Arrow, a vector at a time: validity bitmaps out of masks, string views out of spans. The plain C below
 * each is the oracle, and all there is on other machines. */
#ifndef TURNWIRE_ARROW_LAYOUT_H
#define TURNWIRE_ARROW_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/text_span.h"
#include "_native/json/decimals.h"

enum { TW_VIEW = 16, TW_INLINE_TEXT = 12, TW_FETCHED = 32 };

/* struct ArrowArray of the Arrow C data interface. */
typedef struct tw_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct tw_array **children;
    struct tw_array *dictionary;
    void (*release)(struct tw_array *);
    void *private_data;
} tw_array;

/* The number of arrays that consumers have not released; counted from any thread. */
static int64_t tw_exported;

static inline int64_t tw_count_exported(int64_t more) { return tw_add_counted(&tw_exported, more); }

static inline uint64_t tw_mask_at(const void *masks, int width, size_t row)
{
    if (width == 2) return ((const uint16_t *)masks)[row];
    return width == 4 ? ((const uint32_t *)masks)[row] : ((const uint64_t *)masks)[row];
}

/* The bits of masks of `width` bytes, for each bit a plane: a bit a row, the first row lowest, in whole words of 64 rows. */
TW_ALWAYS void tw_planes_of(const uint8_t *masks, size_t width, size_t count, uint8_t *planes)
{
    const size_t plane = (count + 63) / 64 * 8;
    memset(planes, 0, 8 * width * plane);
#ifdef TW_SSE2
    const __m128i none = _mm_setzero_si128();
    for (size_t row = 0; row < count; row += 16) {
        const size_t left = count - row;
        uint8_t last[128] = { 0 };
        __m128i rows[8], mixed[8];
        if (left < 16) memcpy(last, masks + row * width, left * width);
        for (size_t i = 0; i < width; i++)
            rows[i] = _mm_loadu_si128((const __m128i *)(left < 16 ? last : masks + row * width) + i);
        for (int turn = 0; turn < 4; turn++) { /* each moves one bit of the row behind those of the byte: then a vector has a byte of each */
            for (size_t i = 0; i < width / 2; i++) {
                mixed[2 * i] = _mm_unpacklo_epi8(rows[i], rows[i + width / 2]);
                mixed[2 * i + 1] = _mm_unpackhi_epi8(rows[i], rows[i + width / 2]);
            }
            for (size_t i = 0; i < width; i++) rows[i] = mixed[i];
        }
        for (size_t i = 0; i < width; i++) {
            if (_mm_movemask_epi8(_mm_cmpeq_epi8(rows[i], none)) == 0xFFFF) continue;
            for (size_t bit = 8 * i + 8; bit-- > 8 * i; rows[i] = _mm_add_epi8(rows[i], rows[i])) {
                const uint16_t sixteen = (uint16_t)_mm_movemask_epi8(rows[i]);
                memcpy(planes + bit * plane + row / 8, &sixteen, 2);
            }
        }
    }
#else
    for (size_t row = 0; row < count; row++) {
        uint64_t mask = tw_mask_at(masks, (int)width, row);
        for (; mask; mask &= mask - 1) planes[(size_t)tw_low_zeros(mask) * plane + row / 8] |= (uint8_t)(1 << row % 8);
    }
#endif
}

static void tw_planes(const uint8_t *masks, size_t width, size_t count, uint8_t *planes)
{
    if (width == 2) tw_planes_of(masks, 2, count, planes);
    else if (width == 4) tw_planes_of(masks, 4, count, planes);
    else tw_planes_of(masks, 8, count, planes);
}

/* The 64 rows of a plane from `row` on, which is a multiple of 64; without a plane all of `count`. */
static inline uint64_t tw_rows_at(const uint8_t *plane, size_t row, size_t count)
{
    uint64_t rows = ~(uint64_t)0 >> (count - row < 64 ? 64 - (count - row) : 0);
    if (plane) memcpy(&rows, plane + row / 8, 8);
#ifdef TW_BIG_ENDIAN
    if (plane) rows = tw_swapped(rows);
#endif
    return rows;
}

static inline size_t tw_rows_in(const uint8_t *plane, size_t count)
{
    size_t rows = 0;
    for (size_t row = 0; row < count; row += 64) rows += (size_t)tw_ones_64(tw_rows_at(plane, row, count));
    return rows;
}

/* The view of `length` bytes at `offset` of a buffer of `size`; of none where they do not lie in it. */
static inline void tw_view_slowly(uint8_t *view, const uint8_t *s, int64_t size, int64_t offset, int64_t length, int32_t number)
{
    memset(view, 0, TW_VIEW);
    if (offset < 0 || length <= 0 || offset > size || length > size - offset) return;
    int32_t words[2] = { number, (int32_t)offset }, told = (int32_t)length;
    memcpy(view, &told, 4);
    memcpy(view + 4, s + offset, length > TW_INLINE_TEXT ? 4 : (size_t)length);
    if (length > TW_INLINE_TEXT) memcpy(view + 8, words, 8);
}

/* The same in no time where 16 bytes can be read at the offset. */
static inline void tw_view(uint8_t *view, const uint8_t *s, int64_t size, int64_t offset, int64_t length, int32_t number)
{
#ifdef TW_SSE2
    /* By length: the bytes of text that a view holds, behind its first four; and its other bytes. */
    static const uint8_t kept[14][2][16] = {
#define TW_KEPT(n, place) { { 0, 0, 0, 0, (n > 0) * 255, (n > 1) * 255, (n > 2) * 255, (n > 3) * 255, (n > 4) * 255, (n > 5) * 255, \
        (n > 6) * 255, (n > 7) * 255, (n > 8) * 255, (n > 9) * 255, (n > 10) * 255, (n > 11) * 255 }, \
        { 255, 255, 255, 255, 0, 0, 0, 0, place, place, place, place, place, place, place, place } }
        TW_KEPT(0, 0), TW_KEPT(1, 0), TW_KEPT(2, 0), TW_KEPT(3, 0), TW_KEPT(4, 0), TW_KEPT(5, 0), TW_KEPT(6, 0), TW_KEPT(7, 0),
        TW_KEPT(8, 0), TW_KEPT(9, 0), TW_KEPT(10, 0), TW_KEPT(11, 0), TW_KEPT(12, 0), TW_KEPT(4, 255)
#undef TW_KEPT
    };
    if (size >= TW_VIEW && (uint64_t)offset <= (uint64_t)(size - TW_VIEW) && (uint64_t)length <= (uint64_t)(size - offset)) {
        const __m128i *of = (const __m128i *)kept[length > TW_INLINE_TEXT ? TW_INLINE_TEXT + 1 : length];
        __m128i text = _mm_slli_si128(_mm_loadu_si128((const __m128i *)(s + offset)), 4);
        __m128i place = _mm_cvtsi64_si128((int64_t)((uint64_t)offset << 32 | (uint32_t)number));
        __m128i rest = _mm_unpacklo_epi64(_mm_cvtsi64_si128(length), place);
        text = _mm_and_si128(text, _mm_loadu_si128(of));
        _mm_storeu_si128((__m128i *)view, _mm_or_si128(text, _mm_and_si128(rest, _mm_loadu_si128(of + 1))));
        return;
    }
#endif
    tw_view_slowly(view, s, size, offset, length, number);
}

/* Asks for the text at this offset before it is read: the scan is a whole block ahead by now, and it has left the nearest
 * cache. */
static inline void tw_fetch(const uint8_t *s, int64_t offset)
{
#ifdef TW_SSE2
    _mm_prefetch((const char *)((uintptr_t)s + (uintptr_t)offset), _MM_HINT_T0);
#else
    (void)s, (void)offset;
#endif
}

/* The texts of a column (spans of a buffer, and from its end on of the arena behind it), and the views that are made of them.
 * valid, escaped: planes of the rows that have a text, and of those with escapes; NULL: all have one, none has escapes. */
typedef struct tw_texts {
    const uint8_t *s, *arena;
    int64_t size, arena_size;
    const int64_t *spans;      /* of each the offset in the lower half, the length in the upper one; NULL: they are in packed rows */
    const uint8_t *valid, *escaped;
    uint8_t *out;
    int64_t texts, longest, escaped_bytes; /* so many, the bytes of the longest one, and of those with escapes */
} tw_texts;

/* A text of packed rows: its column, and the number of a row that is its offset, with the length behind it. */
typedef struct tw_packed_text { tw_texts *column; size_t place; } tw_packed_text;

/* Rows of numbers in which the spans of several texts of one buffer are: the low four bits of number `shape` say which texts one
 * may have, the first `count` of that line of `texts`, which has room for `room`. A length below 0: it has not. one: any of the columns. */
typedef struct tw_packed_rows {
    const int32_t *rows;
    const tw_texts *one;
    size_t width, room;
    int shape;
    uint32_t count[16];
    tw_packed_text *texts;
} tw_packed_rows;

/* The views of packed rows, row by row: as their texts lie. A row is not written to columns that it cannot be in. */
static inline void tw_packed_views(const tw_packed_rows *packed, size_t row, size_t behind)
{
    const uint8_t *s = packed->one->s;
    const int64_t size = packed->one->size;
    for (; row < behind; row++) {
        const int32_t *numbers = packed->rows + row * packed->width;
        const size_t shape = (size_t)numbers[packed->shape] & 15;
        const tw_packed_text *text = packed->texts + shape * packed->room, *last = text + packed->count[shape];
        for (; text < last; text++) {
            tw_texts *t = text->column;
            const int32_t length = numbers[text->place + 1], there = ~(length >> 31);
            t->longest = length > t->longest ? length : t->longest;
            tw_view(t->out + TW_VIEW * row, s, size, numbers[text->place] & there, length & there, 0);
        }
    }
}

/* Views of up to 64 rows from `row` on, of those in `there`; those of packed rows come row by row. */
static inline void tw_some_views(tw_texts *t, size_t row, size_t count, uint64_t there, size_t last)
{
    const uint8_t *s = t->s;                   /* what is written could be any of these, for all that a compiler knows */
    const int64_t size = t->size, *spans = t->spans;
    uint8_t *out = t->out;
    int64_t longest = t->longest;
    if (there == ~(uint64_t)0 >> (64 - count) && !t->arena_size && spans) {
        const int64_t *soon = spans + (last - row >= count + TW_FETCHED ? TW_FETCHED : 0);
        for (size_t at = row; at < row + count; at++) {
            const int64_t length = tw_length_of(spans[at]);
            tw_fetch(s, tw_offset_of(soon[at]));
            tw_view(out + TW_VIEW * at, s, size, tw_offset_of(spans[at]), length, 0);
            longest = length > longest ? length : longest;
        }
        t->longest = longest;
        return;
    }
    if (there != ~(uint64_t)0 >> (64 - count)) memset(out + TW_VIEW * row, 0, TW_VIEW * count);
    if (!spans) return;
    if (!t->arena_size)
        for (uint64_t left = there; left; left &= left - 1) tw_fetch(s, tw_offset_of(spans[row + (size_t)tw_low_zeros(left)]));
    for (; there; there &= there - 1) {
        const size_t at = row + (size_t)tw_low_zeros(there);
        const int64_t offset = tw_offset_of(spans[at]), length = tw_length_of(spans[at]);
        const int in_arena = offset >= size && t->arena_size;
        tw_view(out + TW_VIEW * at, in_arena ? t->arena : s, in_arena ? t->arena_size : size, offset - (in_arena ? size : 0),
                length, in_arena);
        longest = length > longest ? length : longest;
    }
    t->longest = longest;
}

/* Up to 64 rows of a column; one without a text has a view of zeros. `out` is not written before a row has a text. */
static inline void tw_text_rows(tw_texts *t, size_t row, size_t rows, size_t count)
{
    const uint64_t there = tw_rows_at(t->valid, row, count);
    if (there && !t->texts) memset(t->out, 0, TW_VIEW * row);
    t->texts += tw_ones_64(there);
    if (t->texts) tw_some_views(t, row, rows, there, count);
    for (uint64_t left = t->escaped ? there & tw_rows_at(t->escaped, row, count) : 0; left; left &= left - 1)
        t->escaped_bytes += tw_length_of(t->spans[row + (size_t)tw_low_zeros(left)]);
}

/* Columns of the same rows, 64 rows of all at a time: the texts of a record lie near each other, and come to the nearest
 * cache once. */
static inline void tw_text_columns(tw_texts *columns, size_t number, const tw_packed_rows *packed, size_t count)
{
    for (size_t row = 0; row < count; row += 64) {
        const size_t rows = count - row < 64 ? count - row : 64;
        for (size_t place = 0; place < number; place++) tw_text_rows(columns + place, row, rows, count);
        if (packed->rows) tw_packed_views(packed, row, row + rows);
    }
}

/* The view of a number below 10^12, made in registers: what is stored in bytes and then loaded as a vector has to wait. */
static inline void tw_number_view(uint64_t number, uint8_t *view)
{
    uint64_t words[2] = { 0, 0 }, upper = number / 100000000;
    uint32_t few;
    if (number < 1000) {
        memcpy(&few, tw_few_digits[number], 4);
        words[0] = few >> 24 | (uint64_t)(few & 0xFFFFFF) << 32;
    } else {
        const uint64_t signs = 0x3030303030303030;
        uint64_t first = tw_eight_decimals((uint32_t)(upper ? upper : number)), zeros = (uint64_t)tw_low_zeros(first) / 8;
        uint64_t length = 8 - zeros, text = (first | signs) >> 8 * zeros, more = 0;
        if (upper) {
            uint64_t rest = tw_eight_decimals((uint32_t)(number % 100000000)) | signs;
            text |= rest << 8 * length;
            more = rest >> (64 - 8 * length);
            length += 8;
        }
        words[0] = length | text << 32;
        words[1] = text >> 32 | more << 32;
    }
    memcpy(view, words, TW_VIEW);
}

/* Numbers as texts: views of the rows of a plane. Digits that do not fit into a view go one behind the other into `side`, which
 * has room for twenty bytes a row where there are any. How many are there. */
static inline size_t tw_number_column(const uint64_t *numbers, size_t count, const uint8_t *valid, uint8_t *out, uint8_t *side)
{
    uint8_t digits[TW_DECIMAL_ROOM];
    size_t used = 0, size;
    for (size_t row = 0; row < count; row += 64) {
        uint64_t there = tw_rows_at(valid, row, count);
        if (there != tw_rows_at(NULL, row, count)) memset(out + TW_VIEW * row, 0, TW_VIEW * (count - row < 64 ? count - row : 64));
        for (; there; there &= there - 1) {
            size_t at = row + (size_t)tw_low_zeros(there);
            if (numbers[at] < 1000000000000) {
                tw_number_view(numbers[at], out + TW_VIEW * at);
                continue;
            }
            memcpy(side + used, digits, size = tw_put_decimal(digits, numbers[at]));
            tw_view_slowly(out + TW_VIEW * at, side, (int64_t)(used + size), (int64_t)used, (int64_t)size, 0);
            used += size;
        }
    }
    return used;
}

#endif
