/* Lays columns out for Arrow, a vector at a time: validity bitmaps out of masks, string views out of spans. The plain C below
 * each is the oracle, and all there is on other machines. */
#ifndef TURNWIRE_ARROW_LAYOUT_H
#define TURNWIRE_ARROW_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#ifdef TW_SSE2
/* The bit of sixteen masks; `up` moves it to the highest one of a mask, where packing and movemask see it. */
static inline unsigned tw_sixteen(const void *masks, int width, size_t row, __m128i up)
{
    const __m128i *at = (const __m128i *)((const char *)masks + row * (size_t)width);
    __m128i part[4];
    if (width == 2) {
        part[0] = _mm_sll_epi16(_mm_loadu_si128(at), up);
        part[1] = _mm_sll_epi16(_mm_loadu_si128(at + 1), up);
        return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(part[0], part[1]));
    }
    for (int i = 0; i < 4; i++) {
        if (width == 4) {
            part[i] = _mm_sll_epi32(_mm_loadu_si128(at + i), up);
        } else {
            __m128 low = _mm_castsi128_ps(_mm_sll_epi64(_mm_loadu_si128(at + 2 * i), up));
            __m128 high = _mm_castsi128_ps(_mm_sll_epi64(_mm_loadu_si128(at + 2 * i + 1), up));
            part[i] = _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
        }
    }
    return (unsigned)_mm_movemask_epi8(
        _mm_packs_epi16(_mm_packs_epi32(part[0], part[1]), _mm_packs_epi32(part[2], part[3])));
}
#endif

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
    /* By length: the bytes of text that a view holds, behind its first four. */
    static const uint8_t kept[14][16] = {
#define TW_KEPT(n) { 0, 0, 0, 0, (n > 0) * 255, (n > 1) * 255, (n > 2) * 255, (n > 3) * 255, (n > 4) * 255, (n > 5) * 255, \
        (n > 6) * 255, (n > 7) * 255, (n > 8) * 255, (n > 9) * 255, (n > 10) * 255, (n > 11) * 255 }
        TW_KEPT(0), TW_KEPT(1), TW_KEPT(2), TW_KEPT(3), TW_KEPT(4), TW_KEPT(5), TW_KEPT(6), TW_KEPT(7), TW_KEPT(8),
        TW_KEPT(9), TW_KEPT(10), TW_KEPT(11), TW_KEPT(12), TW_KEPT(4)
#undef TW_KEPT
    };
    if (size >= TW_VIEW && (uint64_t)offset <= (uint64_t)(size - TW_VIEW) && (uint64_t)length <= (uint64_t)(size - offset)) {
        int large = length > TW_INLINE_TEXT;
        __m128i text = _mm_slli_si128(_mm_loadu_si128((const __m128i *)(s + offset)), 4);
        text = _mm_and_si128(text, _mm_loadu_si128((const __m128i *)kept[large ? TW_INLINE_TEXT + 1 : length]));
        uint64_t place = ((uint64_t)offset << 32 | (uint32_t)number) & (0 - (uint64_t)large);
        __m128i rest = _mm_unpacklo_epi64(_mm_cvtsi64_si128(length), _mm_cvtsi64_si128((int64_t)place));
        _mm_storeu_si128((__m128i *)view, _mm_or_si128(text, rest));
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

/* Asks for the text of a row that comes soon. */
static inline void tw_prefetch(const uint8_t *s, const int64_t *offsets, size_t row, size_t count)
{
    if (row + TW_FETCHED < count) tw_fetch(s, offsets[row + TW_FETCHED]);
}

/* One bit of up to 64 masks, the first row lowest. */
static inline uint64_t tw_bits_of(const void *masks, int width, size_t row, size_t count, int bit)
{
    uint64_t word = 0;
    size_t at = 0;
#ifdef TW_SSE2
    __m128i up = _mm_cvtsi32_si128(8 * width - 1 - bit);
    for (; at + 16 <= count; at += 16) word |= (uint64_t)tw_sixteen(masks, width, row + at, up) << at;
#endif
    for (; at < count; at++) word |= (tw_mask_at(masks, width, row + at) >> bit & 1) << at;
    return word;
}

/* With the width as a constant each. */
static inline uint64_t tw_bits(const void *masks, int width, size_t row, size_t count, int bit)
{
    if (width == 2) return tw_bits_of(masks, 2, row, count, bit);
    return width == 4 ? tw_bits_of(masks, 4, row, count, bit) : tw_bits_of(masks, 8, row, count, bit);
}

/* Properties of a column's values. */
typedef struct tw_text_tally {
    int64_t texts, points, escaped, escaped_bytes;
} tw_text_tally;

/* The texts of a column (spans of a buffer, and from its end on of the arena behind it), and what is made of
 * them: views, and a bit for each row that has a text. */
typedef struct tw_texts {
    const uint8_t *s, *arena;
    int64_t size, arena_size;
    const int64_t *offsets, *lengths;
    const void *masks;
    int width, valid, escaped; /* bits of the masks; -1: all rows have a text, none has escapes */
    /* Or, instead of offsets and lengths, one row of numbers for all texts of a record: the low four bits of number `shape`
     * say which of 16 places has the offset, with the length behind it; -1 for none. */
    const int32_t *rows;
    int64_t row_width;
    int shape;
    const int32_t *places;
    uint8_t *out, *bitmap;
    tw_text_tally tally;
} tw_texts;

/* The view of one row; whether it points to its text. */
static inline int tw_text_view(const tw_texts *t, size_t row, uint8_t *out)
{
    int64_t offset = t->offsets[row], length = t->lengths[row];
    if (offset < t->size || !t->arena_size) tw_view(out + TW_VIEW * row, t->s, t->size, offset, length, 0);
    else tw_view(out + TW_VIEW * row, t->arena, t->arena_size, offset - t->size, length, 1);
    return length > TW_INLINE_TEXT;
}

/* Views of up to 64 packed rows from `row` on, of those in `there`: all places first, so that their texts come at one time;
 * whether one of them points to its text. */
static inline int tw_packed_views(const tw_texts *t, size_t row, uint64_t there, uint8_t *out)
{
    int32_t offsets[64], lengths[64];
    int points = 0;
    for (uint64_t left = there; left; left &= left - 1) {
        size_t at = (size_t)tw_low_zeros(left);
        const int32_t *numbers = t->rows + (row + at) * (size_t)t->row_width;
        int32_t place = t->places[numbers[t->shape] & 15];
        lengths[at] = place < 0 || numbers[place + 1] < 0 ? 0 : numbers[place + 1];
        offsets[at] = lengths[at] ? numbers[place] : 0;
        tw_fetch(t->s, offsets[at]);
    }
    for (; there; there &= there - 1) {
        size_t at = (size_t)tw_low_zeros(there);
        tw_view(out + TW_VIEW * (row + at), t->s, t->size, offsets[at], lengths[at], 0);
        points |= lengths[at] > TW_INLINE_TEXT;
    }
    return points;
}

/* Views of up to 64 rows from `row` on, of those in `there`; whether one of them points to its text. */
static inline int tw_some_views(const tw_texts *t, size_t row, size_t count, uint64_t there, size_t last, uint8_t *out)
{
    int points = 0;
    if (there == ~(uint64_t)0 >> (64 - count) && !t->arena_size && !t->rows) {
        for (size_t at = row; at < row + count; at++) {
            tw_prefetch(t->s, t->offsets, at, last);
            tw_view(out + TW_VIEW * at, t->s, t->size, t->offsets[at], t->lengths[at], 0);
            points |= t->lengths[at] > TW_INLINE_TEXT;
        }
        return points;
    }
    if (there != ~(uint64_t)0 >> (64 - count)) memset(out + TW_VIEW * row, 0, TW_VIEW * count);
    if (t->rows) return there ? tw_packed_views(t, row, there, out) : 0;
    if (!t->arena_size)
        for (uint64_t left = there; left; left &= left - 1) tw_fetch(t->s, t->offsets[row + (size_t)tw_low_zeros(left)]);
    for (; there; there &= there - 1) points |= tw_text_view(t, row + (size_t)tw_low_zeros(there), out);
    return points;
}

/* Up to 64 rows of a column; one without a text has a view of zeros. `out` is not written before a row has a text. */
static inline void tw_text_rows(tw_texts *t, size_t row, size_t rows, size_t count)
{
    uint64_t there = ~(uint64_t)0 >> (64 - rows);
    if (t->valid >= 0) there = tw_bits(t->masks, t->width, row, rows, t->valid);
    for (size_t at = 0; at < rows; at += 8) t->bitmap[(row + at) / 8] = (uint8_t)(there >> at);
    if (there && !t->tally.texts) memset(t->out, 0, TW_VIEW * row);
    t->tally.texts += tw_ones_64(there);
    if (t->tally.texts) t->tally.points |= tw_some_views(t, row, rows, there, count, t->out);
    if (t->escaped >= 0 && there) {
        uint64_t escaped = there & tw_bits(t->masks, t->width, row, rows, t->escaped);
        t->tally.escaped += tw_ones_64(escaped);
        for (; escaped; escaped &= escaped - 1) t->tally.escaped_bytes += t->lengths[row + (size_t)tw_low_zeros(escaped)];
    }
}

/* Columns of the same rows, 64 rows of all at a time: the texts of a record lie near each other, and come to the nearest
 * cache once. */
static inline void tw_text_columns(tw_texts *columns, size_t number, size_t count)
{
    for (size_t row = 0; row < count; row += 64)
        for (size_t place = 0; place < number; place++)
            tw_text_rows(columns + place, row, count - row < 64 ? count - row : 64, count);
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

/* Numbers as texts: views of the rows that have a bit. Digits that do not fit into a view go one behind the other into `side`,
 * which has room for twenty bytes a row where there are any. How many are there. */
static inline size_t tw_number_column(const uint64_t *numbers, size_t count, const uint8_t *bitmap, uint8_t *out, uint8_t *side)
{
    uint8_t digits[TW_DECIMAL_ROOM];
    size_t used = 0, size;
    for (size_t row = 0; row < count; row += 64) {
        size_t rows = count - row < 64 ? count - row : 64;
        uint64_t there = 0;
        for (size_t at = 0; at < rows; at += 8) there |= (uint64_t)bitmap[(row + at) / 8] << at;
        there &= ~(uint64_t)0 >> (64 - rows);
        if (there != ~(uint64_t)0 >> (64 - rows)) memset(out + TW_VIEW * row, 0, TW_VIEW * rows);
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
