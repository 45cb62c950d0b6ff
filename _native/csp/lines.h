/* Byte operations of the CSP/1 scanner, and masks of the lines at which a log may be cut. */
#ifndef TURNWIRE_CSP_LINES_H
#define TURNWIRE_CSP_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/wide.h"

/* Bit i of *newlines is set where block[i] is LF, bit i of *matters where a line with that first byte may say where a log
   can be cut: one of < > ` ~ white space or a byte order mark, or C with an S behind it (the last byte of a block goes without). */
static void csp_starts_scalar(const uint8_t *block, size_t blocks, uint64_t *newlines, uint64_t *matters) {
    for (size_t b = 0; b < blocks; b++, block += 64) {
        uint64_t found = 0, some = 0;
        for (int i = 0; i < 64; i++) {
            uint8_t byte = block[i];
            int name = (byte | 32) == 'c' && (i == 63 || (block[i + 1] | 32) == 's' || block[i + 1] == ' ');
            found |= (uint64_t)(byte == '\n') << i;
            some |= (uint64_t)(byte == '<' || byte == '>' || byte == '`' || byte == '~' || byte == ' ' || byte == '\t' ||
                               byte == 0xEF || name) << i;
        }
        newlines[b] = found;
        matters[b] = some;
    }
}

#ifdef TW_X86
#define CSP_IS(v, byte) _mm256_cmpeq_epi8(v, _mm256_set1_epi8((char)(byte)))
#define CSP_OR _mm256_or_si256
#define CSP_BITS(low, top) ((uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(top) << 32)

TW_TARGET("avx2")
static void csp_starts_avx2(const uint8_t *block, size_t blocks, uint64_t *newlines, uint64_t *matters) {
    const __m256i small = _mm256_set1_epi8(32), pair = _mm256_set1_epi8(2), other = _mm256_set1_epi8((char)0xBF);
    for (size_t b = 0; b < blocks; b++, block += 64) {
        __m256i half[2], some[2], names[2], follow[2];
        for (int i = 0; i < 2; i++) {
            __m256i v = half[i] = _mm256_loadu_si256((const __m256i *)(block + 32 * i)), lower = CSP_OR(v, small);
            /* < and > differ in one bit, and so do a space and a backtick: one comparison does for each pair */
            __m256i runs = CSP_IS(CSP_OR(v, pair), '>'), gaps = CSP_IS(_mm256_and_si256(v, other), ' ');
            some[i] = CSP_OR(CSP_OR(CSP_OR(runs, gaps), CSP_IS(v, '~')), CSP_OR(CSP_IS(v, '\t'), CSP_IS(v, 0xEF)));
            names[i] = CSP_IS(lower, 'c');
            follow[i] = CSP_OR(CSP_IS(lower, 's'), CSP_IS(v, ' '));
        }
        newlines[b] = CSP_BITS(CSP_IS(half[0], '\n'), CSP_IS(half[1], '\n'));
        matters[b] = CSP_BITS(some[0], some[1]) |
                     (CSP_BITS(names[0], names[1]) & (CSP_BITS(follow[0], follow[1]) >> 1 | 1ULL << 63));
    }
}
#endif

typedef void (*csp_masks_function)(const uint8_t *, size_t, uint64_t *, uint64_t *);

static inline csp_masks_function csp_starts_of(int level) {
#ifdef TW_X86
    if (level >= 2 && TW_PROCESSOR_HAS("avx2")) return csp_starts_avx2;
#else
    (void)level;
#endif
    return csp_starts_scalar;
}

/* Eight bytes, the first in the lowest bits. */
TW_ALWAYS uint64_t csp_load(const uint8_t *data) {
    uint64_t word = 0;
#ifndef TW_BIG_ENDIAN
    memcpy(&word, data, 8);
#else
    for (int i = 7; i >= 0; i--) word = word << 8 | data[i];
#endif
    return word;
}

/* The up to eight bytes from place on, the first in the lowest bits; bytes at or behind end read as zero. */
TW_ALWAYS uint64_t csp_word(const uint8_t *data, int64_t place, int64_t end) {
    uint64_t word = 0;
    if (place + 8 <= end) return csp_load(data + place);
    for (int64_t i = end - place - 1; i >= 0; i--) word = word << 8 | data[place + i];
    return word;
}

/* Length of the bytes before the first space among the first eight of a line of that length; 9 for more than eight, and
   where they end with NUL: the words are compared with zeros behind them. */
static inline int csp_key_length(uint64_t word, int64_t length, const uint8_t *line) {
    uint64_t differs = word ^ 0x2020202020202020ULL;
    uint64_t spaces = (differs - 0x0101010101010101ULL) & ~differs & 0x8080808080808080ULL;
    int64_t at = spaces ? tw_low_zeros(spaces) >> 3 : 8;
    if (at >= length) at = length;
    else if (at == 8 && line[8] != ' ') return 9;
    return at > 0 && line[at - 1] == 0 ? 9 : (int)at;
}

TW_ALWAYS uint64_t csp_prefix(uint64_t word, int length) {
    return length >= 8 ? word : word & ((1ULL << (8 * length)) - 1);
}

/* Whether the bytes are one token: at least one byte, none a space, a control or DEL. */
TW_ALWAYS int csp_is_token(const uint8_t *data, int64_t start, int64_t stop, int64_t end) {
    const uint64_t ones = 0x0101010101010101ULL, tops = 0x8080808080808080ULL;
    if (start >= stop) return 0;
    while (start < stop) {
        uint64_t word = csp_word(data, start, end);
        int64_t left = stop - start;
        if (left < 8) word = csp_prefix(word, (int)left) | (ones * 0x21) << (8 * left);
        uint64_t low = (word - ones * 0x21) & ~word & tops;
        uint64_t del = word ^ (ones * 0x7f);
        if (low | ((del - ones) & ~del & tops)) return 0;
        start += 8;
    }
    return 1;
}

/* Whether a line says "CSP/1" or nearly so: blanks around its parts, small letters, a BOM, another digit. */
static inline int csp_looks_like_magic(const uint8_t *data, int64_t at, int64_t stop) {
    if (stop - at >= 3 && data[at] == 0xEF && data[at + 1] == 0xBB && data[at + 2] == 0xBF) at += 3;
    while (at < stop && (data[at] == ' ' || data[at] == '\t')) at++;
    if (stop - at < 3 || (data[at] | 32) != 'c' || (data[at + 1] | 32) != 's' || (data[at + 2] | 32) != 'p') return 0;
    at += 3;
    while (at < stop && (data[at] == ' ' || data[at] == '\t')) at++;
    if (at >= stop || data[at] != '/') return 0;
    at++;
    while (at < stop && (data[at] == ' ' || data[at] == '\t')) at++;
    return at < stop && data[at] >= '0' && data[at] <= '9';
}

/* Offset of the first sequence in data[start:stop] that is not UTF-8, or -1. */
static inline int64_t csp_bad_utf8(const uint8_t *data, int64_t start, int64_t stop) {
    while (start < stop) {
        uint8_t lead = data[start];
        if (lead < 0x80) {
            if (start + 32 <= stop) {
                uint64_t words[4];
                memcpy(words, data + start, 32);
                if (!((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080ULL)) { start += 32; continue; }
            }
            if (start + 8 <= stop) {
                uint64_t word;
                memcpy(&word, data + start, 8);
                if (!(word & 0x8080808080808080ULL)) { start += 8; continue; }
            }
            start++;
            continue;
        }
        int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        if (lead < 0xc2 || lead > 0xf4 || start + more >= stop) return start;
        uint8_t second = data[start + 1];
        uint8_t least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        uint8_t most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (second < least || second > most) return start;
        for (int i = 2; i <= more; i++)
            if ((data[start + i] & 0xc0) != 0x80) return start;
        start += more + 1;
    }
    return -1;
}

#endif
