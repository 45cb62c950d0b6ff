/* Base62 (section 3, "Base62 integers"): single integers, and whole columns of them as rows of digits.
 *
 * Writing has no loop over digits: up to two digits are one table look-up, up to four are two, the rest is cut into groups
 * of four by multiplication with a reciprocal. Reading takes sixteen bytes of a row at once where the processor has SSSE3,
 * and digit by digit elsewhere; both judge every byte. */
#ifndef TURNWIRE_NSLIP_BASE62_H
#define TURNWIRE_NSLIP_BASE62_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/portable.h"

#define BASE62_WIDTH 11
#define BASE62_POW2 3844ull
#define BASE62_POW4 14776336ull
#define BASE62_POW8 218340105584896ull

static const char BASE62_DIGITS[63] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static uint8_t base62_value[256];   /* 255: no digit */
static uint16_t base62_pair[3844];  /* both digits, the higher one in the lower byte */
static uint16_t base62_short[3844]; /* the same without a leading zero */

/* Fills the tables; called once, when the module is imported. */
static TW_UNUSED void base62_prepare(void) {
    memset(base62_value, 255, sizeof base62_value);
    for (unsigned value = 0; value < 62; value++) base62_value[(uint8_t)BASE62_DIGITS[value]] = (uint8_t)value;
    for (unsigned number = 0; number < 3844; number++) {
        unsigned high = (uint8_t)BASE62_DIGITS[number / 62], low = (uint8_t)BASE62_DIGITS[number % 62];
        base62_pair[number] = (uint16_t)(high | low << 8);
        base62_short[number] = number < 62 ? (uint16_t)low : base62_pair[number];
    }
}

/* Four digits of a number below 62**4, the highest in the lowest byte. */
static inline uint32_t base62_four(uint32_t number) {
    uint32_t high = number / 3844;
    return base62_pair[high] | (uint32_t)base62_pair[number - high * 3844] << 16;
}

static inline uint64_t base62_eight(uint64_t number) {
    uint32_t high = (uint32_t)(number / BASE62_POW4);
    return base62_four(high) | (uint64_t)base62_four((uint32_t)(number - high * BASE62_POW4)) << 32;
}

/* The digits of a number as two words, first digit in the lowest byte of `low`, zero bytes behind the last one. */
static inline void base62_words(uint64_t number, uint64_t *low, uint64_t *high) {
    *high = 0;
    if (number < BASE62_POW2) {
        *low = base62_short[number];
    } else if (number < BASE62_POW4) {
        unsigned leading = number < 238328;
        *low = base62_four((uint32_t)number) >> 8 * leading;
    } else if (number < BASE62_POW8) {
        unsigned leading = (number < 916132832ull) + (number < 56800235584ull) + (number < 3521614606208ull);
        *low = base62_eight(number) >> 8 * leading;
    } else {
        uint32_t top = (uint32_t)(number / BASE62_POW8);
        unsigned leading = 1 + (top < 3844) + (top < 62), kept = 8 * (4 - leading);
        uint64_t rest = base62_eight(number - top * BASE62_POW8);
        *low = base62_four(top) >> 8 * leading | rest << kept;
        *high = rest >> (64 - kept);
    }
}

static inline uint64_t base62_little(uint64_t word) {
#ifdef TW_BIG_ENDIAN
    return tw_swapped(word);
#else
    return word;
#endif
}

/* How many digits a word of base62_words holds; there must be one. */
static inline unsigned base62_count(uint64_t word) {
    return 8 - (unsigned)tw_high_zeros(word) / 8;
}

/* --- columns --- */

/* Digits of one number into `text` (room for 16 bytes); returns how many there are. */
static inline unsigned base62_write(uint64_t number, char *text) {
    uint64_t words[2];
    unsigned count = 1;
    base62_words(number, &words[0], &words[1]);
    words[0] = base62_little(words[0]);
    words[1] = base62_little(words[1]);
    memcpy(text, words, 16);
    while (count < BASE62_WIDTH && text[count]) count++;
    return count;
}

/* Rows of eleven bytes, zero-filled. */
static TW_UNUSED void base62_write_rows(const uint64_t *numbers, size_t count, uint8_t *rows) {
    size_t index = 0;
    for (; index + 1 < count; index++, rows += BASE62_WIDTH) { /* the five bytes too many belong to the next row */
        uint64_t low, high;
        base62_words(numbers[index], &low, &high);
        low = base62_little(low);
        high = base62_little(high);
        memcpy(rows, &low, 8);
        memcpy(rows + 8, &high, 8);
    }
    for (; index < count; index++, rows += BASE62_WIDTH) {
        char text[16];
        base62_write(numbers[index], text);
        memcpy(rows, text, BASE62_WIDTH);
    }
}

/* One row, digit by digit. 1: good, and in *number; 0: empty, no digit somewhere, or too large. */
static inline int base62_read(const uint8_t *row, size_t width, uint64_t *number) {
    uint64_t sum = 0;
    size_t length = width, place;
    while (length && !row[length - 1]) length--;
    if (!length) return 0;
    for (place = 0; place < length; place++) {
        uint64_t digit = base62_value[row[place]];
        if (digit > 61 || sum > (UINT64_MAX - digit) / 62) return 0;
        sum = sum * 62 + digit;
    }
    *number = sum;
    return 1;
}

static TW_UNUSED size_t base62_read_rows_plain(const uint8_t *rows, size_t width, size_t count, uint64_t *numbers) {
    for (size_t index = 0; index < count; index++, rows += width)
        if (!base62_read(rows, width, numbers + index)) return index;
    return count;
}

#ifdef TW_X86
/* Sixteen bytes from base62_align + length put the first `length` bytes of a row at the end of a register. */
static const uint8_t base62_align[32] = {
    128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
    0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15};

/* By the high half of a byte: the first character that half can hold, how many follow it, the digit of the first.
 * A half that holds none gets a first character that is out of reach. */
TW_TARGET("ssse3") static inline int base62_read_register(__m128i row, uint64_t *number) {
    const __m128i first = _mm_setr_epi8(-1, -1, -1, 48, 65, 80, 97, 112, -1, -1, -1, -1, -1, -1, -1, 0);
    const __m128i count = _mm_setr_epi8(0, 0, 0, 9, 14, 10, 14, 10, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i start = _mm_setr_epi8(0, 0, 0, 0, 10, 25, 36, 51, 0, 0, 0, 0, 0, 0, 0, 0);
    __m128i half = _mm_and_si128(_mm_srli_epi16(row, 4), _mm_set1_epi8(15));
    __m128i step = _mm_sub_epi8(row, _mm_shuffle_epi8(first, half));
    __m128i good = _mm_cmpeq_epi8(_mm_min_epu8(step, _mm_shuffle_epi8(count, half)), step);
    unsigned empty = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(row, _mm_setzero_si128()));
    unsigned digits = (unsigned)_mm_movemask_epi8(good);
    /* Each byte is a digit or NUL, and the digits are the first bytes. */
    if (!digits || (digits ^ empty) != 0xffffu || (digits & (digits + 1))) return 0;
    unsigned length = (unsigned)tw_low_zeros_32(~digits);
    __m128i align = _mm_loadu_si128((const __m128i *)(base62_align + length));
    __m128i value = _mm_shuffle_epi8(_mm_add_epi8(step, _mm_shuffle_epi8(start, half)), align);
    __m128i pairs = _mm_maddubs_epi16(value, _mm_set1_epi16(62 | 1 << 8));
    __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(3844 | 1 << 16));
    uint64_t halves[2];
    _mm_storeu_si128((__m128i *)halves, fours);
    uint64_t rest = (halves[1] & 0xffffffffu) * BASE62_POW4 + (halves[1] >> 32);
    /* Columns mix lengths, so there is no branch on it: the four digits that must be 0 become the high word. */
    uint64_t top = halves[0] << 32 | halves[0] >> 32;
    *number = top * BASE62_POW8 + rest;
    return top <= UINT64_MAX / BASE62_POW8 && *number >= rest;
}

TW_TARGET("ssse3") static TW_UNUSED size_t base62_read_rows_sse(const uint8_t *rows, size_t width, size_t count,
                                                                uint64_t *numbers) {
    uint8_t inside[16];
    size_t index = 0, whole = count * width < 16 ? 0 : (count * width - 16) / width + 1; /* rows with 16 bytes there */
    for (size_t place = 0; place < 16; place++) inside[place] = place < width ? 255 : 0;
    const __m128i mask = _mm_loadu_si128((const __m128i *)inside);
    for (; index < whole; index++, rows += width)
        if (!base62_read_register(_mm_and_si128(_mm_loadu_si128((const __m128i *)rows), mask), numbers + index))
            return index;
    for (; index < count; index++, rows += width)
        if (!base62_read(rows, width, numbers + index)) return index;
    return count;
}
#endif

static TW_UNUSED int base62_uses_ssse3(void) {
#ifdef TW_X86
    return TW_PROCESSOR_HAS("ssse3");
#else
    return 0;
#endif
}

/* Integers of `count` rows of `width` bytes; returns the index of the first row that is none, or `count`. */
static TW_UNUSED size_t base62_read_rows(const uint8_t *rows, size_t width, size_t count, uint64_t *numbers) {
#ifdef TW_X86
    if (width <= 16 && base62_uses_ssse3()) return base62_read_rows_sse(rows, width, count, numbers);
#endif
    return base62_read_rows_plain(rows, width, count, numbers);
}

#endif
