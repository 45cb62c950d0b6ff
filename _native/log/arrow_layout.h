/* What the Arrow columnar format wants of columns, a vector at a time: validity bitmaps out of masks, string views out of
 * spans. The plain C below each is the oracle, and all there is on other machines. */
#ifndef TURNWIRE_ARROW_LAYOUT_H
#define TURNWIRE_ARROW_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/portable.h"

enum { TW_VIEW = 16, TW_INLINE_TEXT = 12, TW_AHEAD = 32 };

/* struct ArrowArray of the Arrow C data interface. */
typedef struct tw_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct tw_array **children;
    struct tw_array *dictionary;
    void (*release)(struct tw_array *);
    void *private_data;
} tw_array;

/* How many arrays consumers hold; counted from any thread. */
static int64_t tw_exported;

static inline int64_t tw_count_exported(int64_t more) { return tw_add_counted(&tw_exported, more); }

static inline unsigned tw_ones(unsigned word)
{
    word -= word >> 1 & 0x5555;
    word = (word & 0x3333) + (word >> 2 & 0x3333);
    word = (word + (word >> 4)) & 0x0F0F;
    return (word + (word >> 8)) & 0x1F;
}

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

/* One bit of each mask (of `width` bytes) as a bitmap with zeros behind; how many of them are set. */
static inline size_t tw_bitmap_of(const void *masks, int width, size_t count, int bit, uint8_t *out)
{
    size_t row = 0, set = 0;
#ifdef TW_SSE2
    __m128i up = _mm_cvtsi32_si128(8 * width - 1 - bit);
    for (; row + 16 <= count; row += 16) {
        unsigned word = tw_sixteen(masks, width, row, up);
        out[row / 8] = (uint8_t)word;
        out[row / 8 + 1] = (uint8_t)(word >> 8);
        set += tw_ones(word);
    }
#endif
    while (row < count) {
        unsigned byte = 0, place = 0;
        for (; place < 8 && row < count; place++, row++) byte |= (unsigned)(tw_mask_at(masks, width, row) >> bit & 1) << place;
        out[(row - 1) / 8] = (uint8_t)byte;
        set += tw_ones(byte);
    }
    return set;
}

/* With the width as a constant each. */
static inline size_t tw_bitmap(const void *masks, int width, size_t count, int bit, uint8_t *out)
{
    if (width == 2) return tw_bitmap_of(masks, 2, count, bit, out);
    if (width == 4) return tw_bitmap_of(masks, 4, count, bit, out);
    return tw_bitmap_of(masks, 8, count, bit, out);
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

/* The scan is a whole block ahead by now: the text that is wanted next has left the nearest cache. */
static inline void tw_soon(const uint8_t *s, const int64_t *offsets, size_t row, size_t count)
{
#ifdef TW_SSE2
    if (row + TW_AHEAD < count) _mm_prefetch((const char *)((uintptr_t)s + (uintptr_t)offsets[row + TW_AHEAD]), _MM_HINT_T0);
#else
    (void)s, (void)offsets, (void)row, (void)count;
#endif
}

/* Spans of a buffer, and from its end on of the arena behind it, as views of the buffers 0 and 1; whether any of them
 * points there. */
static inline int tw_views(const uint8_t *s, int64_t size, const uint8_t *arena, int64_t arena_size, const int64_t *offsets,
                           const int64_t *lengths, size_t count, uint8_t *out)
{
    int points = 0;
    if (!arena_size) {
        for (size_t row = 0; row < count; row++) {
            tw_soon(s, offsets, row, count);
            tw_view(out + TW_VIEW * row, s, size, offsets[row], lengths[row], 0);
            points |= lengths[row] > TW_INLINE_TEXT;
        }
        return points;
    }
    for (size_t row = 0; row < count; row++) {
        points |= lengths[row] > TW_INLINE_TEXT;
        if (offsets[row] < size) tw_view(out + TW_VIEW * row, s, size, offsets[row], lengths[row], 0);
        else tw_view(out + TW_VIEW * row, arena, arena_size, offsets[row] - size, lengths[row], 1);
    }
    return points;
}

static inline int tw_any_of(const void *masks, int width, size_t count, uint64_t both)
{
    int any = 0;
    for (size_t row = 0; row < count; row++) any |= (tw_mask_at(masks, width, row) & both) == both;
    return any;
}

/* How many rows have both bits, and how long their texts are together; mostly none has. */
static inline size_t tw_escaped_size(const void *masks, int width, size_t count, uint64_t both, const int64_t *lengths,
                                     int64_t *bytes)
{
    size_t rows = 0;
    int any = width == 2 ? tw_any_of(masks, 2, count, both) : tw_any_of(masks, width == 4 ? 4 : 8, count, both);
    *bytes = 0;
    for (size_t row = 0; any && row < count; row++) {
        int is = (tw_mask_at(masks, width, row) & both) == both;
        rows += (size_t)is;
        *bytes += is ? lengths[row] : 0;
    }
    return rows;
}

#endif
