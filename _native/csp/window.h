/* A window of the input: where its line feeds are, as a list, and masks of its white space and controls. Lists cost a few
   instructions a line and make the next line's place known long before it is asked for. The scalar path runs anywhere. */
#ifndef TURNWIRE_CSP_WINDOW_H
#define TURNWIRE_CSP_WINDOW_H

#include "lines.h"

#define CSP_BLOCKS 128
#define CSP_WINDOW (64 * CSP_BLOCKS)
#define CSP_SLACK 16 /* bytes that may be read from the start of a line on */

typedef struct {
    int64_t base, stop;               /* offsets of the bytes it is about */
    int32_t count;                    /* line feeds among them */
    int32_t usable;                   /* the first ones, behind which CSP_SLACK bytes follow in the data */
    int returns;                      /* whether a CR is among them */
    uint16_t feeds[CSP_WINDOW + 64];  /* their places from base on; they are written some at a time, so there is room */
    uint64_t breaks[CSP_BLOCKS + 1];  /* bit i: byte i of the block is white space, a control or DEL */
    uint8_t highs[CSP_BLOCKS + 8];    /* whether a byte of the block is not ASCII; and room to read on */
} csp_window;

/* Adds blocks of 64 bytes, from block ``first`` of the window on. */
typedef void (*csp_lister)(const uint8_t *text, int first, int blocks, csp_window *w);

TW_ALWAYS void csp_list(csp_window *w, uint64_t feeds, int base) {
    uint16_t *into = w->feeds + w->count;
    w->count += tw_ones_64(feeds);
    do {
        for (int i = 0; i < 6; i++) {  /* usually more than there are: no branch is as cheap as a few of these */
            into[i] = (uint16_t)(base + tw_low_zeros(feeds | 1ULL << 63));
            feeds &= feeds - 1;
        }
        into += 6;
    } while (feeds);
}

static void csp_list_scalar(const uint8_t *text, int first, int blocks, csp_window *w) {
    const uint64_t ones = 0x0101010101010101ULL, tops = 0x8080808080808080ULL, sevens = ~tops;
    for (int b = first; b < first + blocks; b++, text += 64) {
        uint64_t feeds = 0, breaks = 0, big = 0;
        for (int part = 0; part < 8; part++) {
            uint64_t word = csp_load(text + 8 * part), high = word & tops, seven = word & sevens;
            uint64_t feed = ~((seven ^ ones * '\n') + sevens) & ~high & tops;     /* the top bit of each byte that is LF */
            uint64_t low = ~(seven + ones * (0x80 - 0x21)) & ~high & tops;       /* at most a space */
            uint64_t del = ~((seven ^ ones * 0x7f) + sevens) & ~high & tops;
            uint64_t back = ~((seven ^ ones * '\r') + sevens) & ~high & tops;
            feeds |= (((feed >> 7) * 0x0102040810204080ULL) >> 56) << (8 * part);
            breaks |= ((((low | del) >> 7) * 0x0102040810204080ULL) >> 56) << (8 * part);
            big |= high;
            w->returns |= back != 0;
        }
        csp_list(w, feeds, 64 * b);
        w->breaks[b] = breaks;
        w->highs[b] = big != 0;
    }
}

#ifdef TW_X86
#define CSP_MASK32(low, top) \
    ((uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(top) << 32)

TW_TARGET("avx2,bmi,popcnt")
static void csp_list_avx2(const uint8_t *text, int first, int blocks, csp_window *w) {
    const __m256i feed = _mm256_set1_epi8('\n'), back = _mm256_set1_epi8('\r'), space = _mm256_set1_epi8(' '),
                  del = _mm256_set1_epi8(0x7f);
    __m256i returns = _mm256_setzero_si256();
    for (int b = first; b < first + blocks; b++, text += 64) {
        TW_SOON(text + CSP_WINDOW);  /* of the next window, while messages of this one are read */
        __m256i low = _mm256_loadu_si256((const __m256i *)text), top = _mm256_loadu_si256((const __m256i *)(text + 32));
        csp_list(w, CSP_MASK32(_mm256_cmpeq_epi8(low, feed), _mm256_cmpeq_epi8(top, feed)), 64 * b);
        w->breaks[b] = CSP_MASK32(
            _mm256_or_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(low, space), low), _mm256_cmpeq_epi8(low, del)),
            _mm256_or_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(top, space), top), _mm256_cmpeq_epi8(top, del)));
        w->highs[b] = _mm256_movemask_epi8(_mm256_or_si256(low, top)) != 0;
        returns = _mm256_or_si256(returns, _mm256_or_si256(_mm256_cmpeq_epi8(low, back), _mm256_cmpeq_epi8(top, back)));
    }
    w->returns |= _mm256_movemask_epi8(returns) != 0;
}

#endif

/* The lister of a level, or the best one below it that the machine has: 0 plain C, 1 AVX2. */
static inline csp_lister csp_lister_of(int level) {
#ifdef TW_X86
    if (level >= 1 && TW_PROCESSOR_HAS("avx2") && TW_PROCESSOR_HAS("bmi")) return csp_list_avx2;
#else
    (void)level;
#endif
    return csp_list_scalar;
}

/* The window from base on, up to end at most. readable: up to where there is memory; final: two line feeds are added where the
   text ends, so that its last message ends as the others do. */
static inline void csp_fill(csp_window *w, csp_lister list, const uint8_t *data, int64_t base, int64_t end, int64_t readable,
                            int final) {
    int64_t whole = (end - base) >> 6;
    int blocks = whole < CSP_BLOCKS ? (int)whole : CSP_BLOCKS;
    w->base = base;
    w->stop = base + 64 * (int64_t)blocks;
    w->count = w->returns = 0;
    if (blocks) list(data + base, 0, blocks, w);
    if (blocks < CSP_BLOCKS && w->stop < end) {
        uint8_t last[64] = {0};
        memcpy(last, data + w->stop, (size_t)(end - w->stop));
        list(last, blocks++, 1, w);
        w->stop = end;
    }
    w->breaks[blocks] = ~0ULL;
    for (int64_t at = end; final && w->stop == end && at < end + 2; at++) w->feeds[w->count++] = (uint16_t)(at - base);
    w->usable = w->count;
    while (w->usable && base + w->feeds[w->usable - 1] + 1 + CSP_SLACK > readable) w->usable--;
}

/* True if the bytes from start to the line feed at stop, both counted from base, are one token: at least one byte, none
   a space, a control or DEL. */
TW_ALWAYS int csp_is_token_at(const csp_window *w, const uint8_t *text, int start, int stop) {
#ifndef TW_BIG_ENDIAN
    uint64_t bits = csp_load((const uint8_t *)w->breaks + (start >> 3)) >> (start & 7);  /* 57 of them, or more */
#else
    int shift = start & 63;
    uint64_t bits = w->breaks[start >> 6] >> shift | w->breaks[(start >> 6) + 1] << 1 << (63 - shift);
#endif
    if (bits) return stop > start && tw_low_zeros(bits) == stop - start;
    return csp_is_token(text, start, stop, stop);
}

/* True if a byte of data[start:stop] may be no ASCII: the window knows, or it says yes. */
TW_ALWAYS int csp_may_be_high(const csp_window *w, int64_t start, int64_t stop) {
    int64_t first = (start - w->base) >> 6, blocks = ((stop - 1 - w->base) >> 6) - first + 1;
    if (start < w->base || stop > w->stop || blocks > 8) return 1;
    return csp_prefix(csp_load(w->highs + first), (int)blocks) != 0;
}

#endif
