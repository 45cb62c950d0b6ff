/* The common record of a log, read with AVX2: masks of 64 or 128 bytes, quote parity by carry-less multiplication, every
 * rule checked on whole masks, and base62 by multiply-and-add, so that neither the number of digits nor the number of
 * slots costs a mispredicted branch. Accepts a part of what tw_nslip_parse accepts and nothing else. */
#ifndef TURNWIRE_NSLIP_SIMD_H
#define TURNWIRE_NSLIP_SIMD_H

#include "nslip_parse.h"

typedef struct {
    uint64_t head[TW_HEADERS];
    uint64_t ints[16];                       /* by slot; 9..15 catch what is no slot */
    uint32_t first[16], length[16];          /* value of each slot, from the '@' on, quotes included */
    uint32_t present;
} tw_row;

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define TW_HAVE_AVX2 1
#include <immintrin.h>
#define TW_AVX2 __attribute__((target("avx2,bmi,bmi2,pclmul,popcnt,lzcnt")))

enum { TW_BEFORE = 16, TW_WINDOW = 128 };    /* bytes that must be readable in front of the '@' and from it on */

static int tw_has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("popcnt");
}

typedef struct { uint64_t bar, quote, hash, word, special; } tw_masks;

/* Masks of s[0..64). */
TW_AVX2 static inline __attribute__((always_inline)) void tw_masks_of(const uint8_t *s, tw_masks *m)
{
    uint32_t bar[2], quote[2], hash[2], word[2], special[2];
    for (int i = 0; i < 2; i++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(s + 32 * i));
        bar[i] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('|')));
        quote[i] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')));
        hash[i] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('#')));
        /* A backslash, a newline or a byte over 127: the scalar parser knows what to do with them. */
        __m256i odd = _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\')),
                                      _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\n')));
        special[i] = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(odd, v));
        __m256i letter = _mm256_sub_epi8(_mm256_or_si256(v, _mm256_set1_epi8(0x20)), _mm256_set1_epi8('a'));
        __m256i figure = _mm256_sub_epi8(v, _mm256_set1_epi8('0'));
        __m256i is_word = _mm256_or_si256(
            _mm256_cmpeq_epi8(_mm256_min_epu8(letter, _mm256_set1_epi8(25)), letter),
            _mm256_cmpeq_epi8(_mm256_min_epu8(figure, _mm256_set1_epi8(9)), figure));
        word[i] = (uint32_t)_mm256_movemask_epi8(is_word);
    }
    m->bar = bar[0] | (uint64_t)bar[1] << 32;
    m->quote = quote[0] | (uint64_t)quote[1] << 32;
    m->hash = hash[0] | (uint64_t)hash[1] << 32;
    m->word = word[0] | (uint64_t)word[1] << 32;
    m->special = special[0] | (uint64_t)special[1] << 32;
}

/* Bit i is the parity of the bits 0..i. */
TW_AVX2 static inline __attribute__((always_inline)) uint64_t tw_parity(uint64_t bits)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)bits), _mm_set1_epi8((char)0xFF), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

enum { TW_TEXTS = 1 << TW_STATUS | 1 << TW_TAG, TW_NO_SLOTS = 0xFFFF << TW_SLOTS & 0xFFFF };

static const uint8_t tw_last_bytes[32] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255,
};

/* The number whose last digit stands in front of `end`, of `length` digits (at most 10; rubbish above that). Reads the
 * text itself: digits converted in bulk would come out of memory again before the stores are through. */
TW_AVX2 static inline __attribute__((always_inline)) uint64_t tw_number(const uint8_t *end, uint32_t length)
{
    const uint64_t four = 62 * 62 * 62 * 62;
    const __m128i shift = _mm_setr_epi8(0, 0, 0, -48, -55, -55, -61, -61, 0, 0, 0, 0, 0, 0, 0, 0);
    uint32_t kept = length < 16 ? length : 16;
    __m128i v = _mm_loadu_si128((const __m128i *)(end - 16));
    v = _mm_add_epi8(v, _mm_shuffle_epi8(shift, _mm_and_si128(_mm_srli_epi16(v, 4), _mm_set1_epi8(15))));
    v = _mm_and_si128(v, _mm_loadu_si128((const __m128i *)(tw_last_bytes + kept)));
    v = _mm_maddubs_epi16(v, _mm_set1_epi16(62 | 1 << 8));
    v = _mm_madd_epi16(v, _mm_set1_epi32(3844 | 1 << 16));
    v = _mm_add_epi64(_mm_mul_epu32(v, _mm_set1_epi64x((long long)four)), _mm_srli_epi64(v, 32));
    return (uint64_t)_mm_cvtsi128_si64(v) * (four * four) + (uint64_t)_mm_extract_epi64(v, 1);
}

/* Writes the places of the bits of `bits`, plus `base`, to place[]; returns how many. Writes at least 12 entries: most
 * records have no more, and a loop of a known length costs no mispredicted branch. */
TW_AVX2 static inline __attribute__((always_inline)) uint32_t tw_places(uint64_t bits, uint32_t base, uint32_t *place)
{
    uint32_t count = (uint32_t)_mm_popcnt_u64(bits);
    for (int i = 0; i < 12; i++) {
        place[i] = base + (uint32_t)_tzcnt_u64(bits);
        bits = _blsr_u64(bits);
    }
    for (uint32_t i = 12; i < count; i++) {
        place[i] = base + (uint32_t)_tzcnt_u64(bits);
        bits = _blsr_u64(bits);
    }
    return count;
}

/* What is wrong with the bytes of a window in front of its end: 0 for nothing. Adds its strings to *strings. bar holds the separators outside strings
 * and the '@'; stop the '#' that ends the record; bits that were shifted out of the window before come in `carry`. */
TW_AVX2 static inline __attribute__((always_inline)) uint64_t tw_wrong(const tw_masks *m, uint64_t inside, uint64_t bar,
                                                                       uint64_t stop, uint64_t record, uint64_t carry,
                                                                       uint32_t *strings)
{
    uint64_t after_one = (bar << 1) | (carry >> 63), after_two = (bar << 2) | (carry >> 62);
    uint64_t opens = m->quote & inside, closes = m->quote & ~inside;
    uint64_t ends = bar | stop;
    *strings += (uint32_t)_mm_popcnt_u64(opens & record);
    return (((m->special & inside) | (~(m->word | bar | m->quote) & ~inside) | (opens & ~after_two)) & record)
         | ((after_one | after_two) & ends)
         | (closes & record & ~(ends >> 1) & ~((uint64_t)1 << 63));
}

/* The record that starts with the '@' at s[0]; s[-TW_BEFORE..TW_WINDOW) must be readable. Its length, or 0: ask another.
 * wanted: bits 0..3 conv_id, src, dst, turn, from bit 4 on the slots; numbers that nobody wants are judged, not computed. */
TW_AVX2 static inline __attribute__((always_inline)) uint32_t tw_record_avx2(const uint8_t *s, uint32_t wanted,
                                                                             tw_row *row)
{
    uint32_t place[64 + 64 + 12];
    tw_masks m;
    uint64_t begin;
    /* "@a", one digit, "|f", one digit, "|c" */
    memcpy(&begin, s, 8);
    if ((begin & 0xFFFF00FFFF00FFFFull) != 0x637C00667C006140ull) return 0;
    tw_masks_of(s, &m);
    uint64_t inside = tw_parity(m.quote);
    uint64_t stop = m.hash & ~inside, wrong;
    uint32_t count, length, opens = 0;
    stop &= 0 - stop;
    if (stop) {
        uint64_t record = (stop - 1) & ~(uint64_t)1, bar = m.bar & ~inside & record;
        wrong = tw_wrong(&m, inside, bar | 1, stop, record, 0, &opens);
        length = (uint32_t)_tzcnt_u64(stop);
        count = tw_places(bar, 0, place);
    } else {
        uint64_t carried = 0 - (inside >> 63), all = ~(uint64_t)1, bar = m.bar & ~inside;
        uint64_t last_quote = m.quote & ~inside & (uint64_t)1 << 63;
        wrong = tw_wrong(&m, inside, bar | 1, 0, all, 0, &opens);
        count = tw_places(bar, 0, place);
        uint64_t carry = bar;
        tw_masks_of(s + 64, &m);
        inside = tw_parity(m.quote) ^ carried;
        stop = m.hash & ~inside;
        stop &= 0 - stop;
        if (!stop) return 0;
        uint64_t record = stop - 1;
        bar = m.bar & ~inside & record;
        wrong |= tw_wrong(&m, inside, bar, stop, record, carry, &opens);
        if (last_quote) wrong |= ~(bar | stop) & 1;  /* a string that closed with the first window */
        length = 64 + (uint32_t)_tzcnt_u64(stop);
        count += tw_places(bar, 64, place + count);
    }
    if (count < 5 || count > 5 + TW_SLOTS) return 0;
    place[count] = length;
    const uint32_t *p = place + 2;
    row->head[TW_ACT] = tw_digit[s[2]];
    row->head[TW_FRAME] = tw_digit[s[5]];
    wrong |= (uint64_t)(tw_digit[s[2]] > TW_MAX_ACT) | (uint64_t)(tw_digit[s[5]] > TW_MAX_FRAME);
    wrong |= (uint64_t)((s[p[0] + 1] ^ 'S') | (s[p[1] + 1] ^ 'd') | (s[p[2] + 1] ^ 'T'));
    uint32_t start = 8, most = 0, odd = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t size = p[i] - start;
        if ((wanted >> i) & 1) row->head[TW_CONV + i] = tw_number(s + p[i], size);
        most = size > most ? size : most;
        start = p[i] + 2;
    }
    for (int i = 0; i < 16; i += 4) _mm256_storeu_si256((__m256i *)(row->ints + i), _mm256_setzero_si256());
    uint32_t present = 0;
    for (uint32_t i = 5; i < count; i++) {
        uint32_t from = place[i] + 2, to = place[i + 1], size = to - from;
        uint32_t kind = (uint32_t)tw_prefix[s[from - 1]] - 16, slot = kind & 15;
        uint32_t text = (TW_TEXTS >> slot) & 1;
        if ((wanted >> 4 >> slot) & 1) row->ints[slot] = tw_number(s + to, size);
        row->first[slot] = from;
        row->length[slot] = size;
        present |= 1u << slot;
        size &= text - 1;
        most = size > most ? size : most;
        odd |= (text & (s[from] != '"')) | (kind & ~15u) | (TW_NO_SLOTS >> slot & 1);
    }
    row->present = present;
    /* A slot that stands twice sets one bit for two fields. */
    odd |= (uint32_t)_mm_popcnt_u32(present) ^ (count - 5);
    /* Every text slot starts with a quote, and there are no more strings than text slots. */
    odd |= opens ^ (uint32_t)_mm_popcnt_u32(present & TW_TEXTS);
    if (wrong | odd | (most > 10)) return 0;
    return length + 1;
}
#endif

#endif
