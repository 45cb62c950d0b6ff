/* The common record of a log, read with AVX2: masks of 64 or 128 bytes, quote parity by carry-less multiplication, every
 * rule checked on whole masks, and base62 by multiply-and-add for four fields at once, so that neither the number of
 * digits nor the number of slots costs a mispredicted branch. Accepts a part of what tw_nslip_parse accepts and nothing
 * else. */
#ifndef TURNWIRE_NSLIP_SIMD_H
#define TURNWIRE_NSLIP_SIMD_H

#include "_native/common/escapes.h"
#include "_native/common/wide.h"
#include "parse.h"

#ifdef TW_X86
#define TW_AVX2 TW_TARGET("avx2,bmi,bmi2,pclmul,popcnt,lzcnt")
#define TW_INLINE_AVX2 TW_AVX2 TW_ALWAYS

/* Bytes that must be readable in front of the '@', and from it on: two windows, and what tw_eight reads behind them. */
enum { TW_BEFORE = 16, TW_WINDOW = 128, TW_READ = TW_WINDOW + 16 };

typedef tw_bits_128 tw_bits;

/* Where the fields of a record stand: field i (conv_id, src, dst, turn, then the slots) ends in front of place[i]. */
typedef struct {
    uint32_t place[64 + 64];
    uint32_t slots, present;
    uint32_t act, frame;
    int wide;                                /* an integer has more than eight digits */
} tw_found;

static int tw_has_avx2(void)
{
    return TW_PROCESSOR_HAS("avx2") && TW_PROCESSOR_HAS("bmi") && TW_PROCESSOR_HAS("bmi2") &&
           TW_PROCESSOR_HAS("pclmul") && TW_PROCESSOR_HAS("popcnt");
}

/* A bit for each byte: '|', '"', '#', a base62 digit, what a plain string does not hold (a backslash, a newline, a byte
 * over 127: the scalar parser knows what to do with them), a prefix of text slots. */
typedef struct { uint64_t bar, quote, hash, word, special, text; } tw_masks;

/* The class of a byte is tw_low[its lower four bits] & tw_high[its upper four bits], by bit: 0 '|', 1 '"', 2 '#',
 * 3 backslash, 4 newline, 5 digits, 6 and 7 letters. */
#define TW_LOW 0xA0, 0xE0, 0xE2, 0xE4, 0xE0, 0xE0, 0xE0, 0xE0, 0xE0, 0xE0, 0xD0, 0x40, 0x49, 0x40, 0x40, 0x40
#define TW_HIGH 0x10, 0, 0x06, 0x20, 0x40, 0x88, 0x40, 0x81, 0, 0, 0, 0, 0, 0, 0, 0

/* Filled at import: constants the compiler knows it would make anew for each record instead of reading them. */
static struct { uint8_t low[32], high[32], nibble[32], digits[32], one[32], u[32]; } TW_ALIGNED(32)
    tw_classes;
#define TW_CLASS(name) _mm256_load_si256((const __m256i *)tw_classes.name)

/* Masks of s[0..64). */
TW_INLINE_AVX2 void tw_masks_of(const uint8_t *s, tw_masks *m)
{
    uint32_t bar[2], quote[2], hash[2], word[2], special[2], text[2];
    for (int i = 0; i < 2; i++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(s + 32 * i));
        __m256i upper = _mm256_and_si256(_mm256_srli_epi16(v, 4), TW_CLASS(nibble));
        __m256i kind = _mm256_and_si256(_mm256_shuffle_epi8(TW_CLASS(low), v), _mm256_shuffle_epi8(TW_CLASS(high), upper));
        __m256i slash = _mm256_slli_epi16(kind, 4), newline = _mm256_slli_epi16(kind, 3);
        bar[i] = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(kind, 7));
        quote[i] = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(kind, 6));
        hash[i] = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(kind, 5));
        special[i] = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(slash, newline), v));
        word[i] = (uint32_t)_mm256_movemask_epi8(_mm256_adds_epu8(kind, TW_CLASS(digits)));
        text[i] = (uint32_t)_mm256_movemask_epi8(
            _mm256_cmpeq_epi8(_mm256_or_si256(v, TW_CLASS(one)), TW_CLASS(u)));
    }
    m->bar = bar[0] | (uint64_t)bar[1] << 32;
    m->quote = quote[0] | (uint64_t)quote[1] << 32;
    m->hash = hash[0] | (uint64_t)hash[1] << 32;
    m->word = word[0] | (uint64_t)word[1] << 32;
    m->special = special[0] | (uint64_t)special[1] << 32;
    m->text = text[0] | (uint64_t)text[1] << 32;
}

/* Bit i is the parity of the bits 0..i. */
TW_INLINE_AVX2 uint64_t tw_parity(uint64_t bits)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)bits), _mm_set1_epi8((char)0xFF), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Rules that hold of whole masks, for one window (uint64_t) and for two (tw_bits). `inside` has the bits of strings and
 * their opening quotes, `stop` the '#' that ends the record, `record` what stands between it and the '@', `ends` the
 * separators outside strings and `stop`. Sets *wide where an integer has more than eight digits. Not 0: something is
 * wrong, or an integer has more than ten digits. */
#define TW_JUDGE(name, type)                                                                                        \
    TW_INLINE_AVX2 int name(type quote, type word, type special, type text, type inside, type stop, type record,    \
                            type ends, int *wide)                                                                   \
    {                                                                                                               \
        type begins = (ends ^ stop) | 1, prefix = begins << 1, value = begins << 2;                                 \
        type plain = word & ~inside & record, run = plain & plain >> 1;                                             \
        type wrong = (((special & inside) | (~(word | ends | quote) & ~inside)                                      \
                       | (quote & ~inside & ~(ends >> 1))         /* something behind a string */                   \
                       | ((quote & inside) ^ ((text & prefix) << 1))) & record)  /* strings: values of text slots */\
                   | ((prefix | value) & ends);                   /* an empty field or value */                     \
        run &= run >> 2;                                                                                            \
        run &= run >> 4;                                          /* a prefix and seven digits */                   \
        *wide = (run & run >> 2) != 0;                                                                              \
        return (wrong | (run & run >> 4)) != 0;                                                                     \
    }

TW_JUDGE(tw_judge_one, uint64_t)
TW_JUDGE(tw_judge_two, tw_bits)

/* Writes the places of the bits of `bits`, plus `base`, to place[]; returns how many. Writes at least nine entries: most
 * records have no more, and a loop of a known length costs no mispredicted branch. */
TW_INLINE_AVX2 uint32_t tw_places(uint64_t bits, uint32_t base, uint32_t *place)
{
    uint32_t count = (uint32_t)_mm_popcnt_u64(bits);
    for (int i = 0; i < 9; i++) {
        place[i] = base + (uint32_t)_tzcnt_u64(bits);
        bits = _blsr_u64(bits);
    }
    for (uint32_t i = 9; i < count; i++) {
        place[i] = base + (uint32_t)_tzcnt_u64(bits);
        bits = _blsr_u64(bits);
    }
    return count;
}

/* By prefix: the bit of the slot, or TW_NO_SLOT. */
enum { TW_TEXTS = 1 << TW_STATUS | 1 << TW_TAG, TW_NO_SLOT = 1 << 15 };
static uint16_t tw_slot_bit[256];

static void tw_simd_tables(void)
{
    for (int i = 0; i < 256; i++) {
        int slot = tw_prefix[i] - 16;
        tw_slot_bit[i] = (uint16_t)(slot >= 0 && slot < TW_SLOTS ? 1 << slot : TW_NO_SLOT);
    }
    for (int i = 0; i < 32; i++) {
        static const uint8_t low[16] = { TW_LOW }, high[16] = { TW_HIGH };
        tw_classes.low[i] = low[i & 15];
        tw_classes.high[i] = high[i & 15];
        tw_classes.nibble[i] = 15;
        tw_classes.digits[i] = 0x60;         /* sets the top bit of what is 0x20 or more */
        tw_classes.one[i] = 't' ^ 'u';
        tw_classes.u[i] = 'u';
    }
}

/* Whether a record of the usual shape may start at s[0]: "@a", one digit, "|f", one digit, "|c". */
static inline int tw_usual(const uint8_t *s)
{
    uint64_t begin;
    memcpy(&begin, s, 8);
    return (begin & 0xFFFF00FFFF00FFFFull) == 0x637C00667C006140ull;
}

/* The record that starts with the '@' at s[0], which is tw_usual; s[-TW_BEFORE..TW_READ) must be readable. Its length, or
 * 0: ask another. */
TW_INLINE_AVX2 uint32_t tw_record_avx2(const uint8_t *s, tw_found *f)
{
    const uint64_t known = (uint64_t)1 << 3 | (uint64_t)1 << 6;      /* the first two separators */
    tw_masks m;
    tw_masks_of(s, &m);
    uint64_t inside = tw_parity(m.quote), stop = m.hash & ~inside;
    uint32_t count;
    int wrong;
    stop &= 0 - stop;
    if (stop) {
        uint64_t record = (stop - 1) & ~(uint64_t)1, ends = (m.bar & ~inside & record) | stop;
        wrong = tw_judge_one(m.quote, m.word, m.special, m.text, inside, stop, record, ends, &f->wide);
        count = tw_places(ends ^ known, 0, f->place);
    } else {
        tw_masks n;
        tw_masks_of(s + 64, &n);
        uint64_t further = tw_parity(n.quote) ^ (0 - (inside >> 63));
        stop = n.hash & ~further;
        stop &= 0 - stop;
        if (!stop) return 0;
        tw_bits within = inside | (tw_bits)further << 64, last = (tw_bits)stop << 64, record = (last - 1) & ~(tw_bits)1;
        tw_bits ends = ((m.bar | (tw_bits)n.bar << 64) & ~within & record) | last;
        wrong = tw_judge_two(m.quote | (tw_bits)n.quote << 64, m.word | (tw_bits)n.word << 64,
                             m.special | (tw_bits)n.special << 64, m.text | (tw_bits)n.text << 64, within, last, record,
                             ends, &f->wide);
        count = tw_places((uint64_t)ends ^ known, 0, f->place);
        count += tw_places((uint64_t)(ends >> 64), 64, f->place + count);
    }
    if (count - 4 > TW_SLOTS) return 0;
    const uint32_t *place = f->place;
    uint32_t present = 0;
    f->slots = count - 4;
    f->act = tw_digit[s[2]];
    f->frame = tw_digit[s[5]];
    wrong |= (f->act > TW_MAX_ACT) | (f->frame > TW_MAX_FRAME);
    wrong |= (s[place[0] + 1] ^ 'S') | (s[place[1] + 1] ^ 'd') | (s[place[2] + 1] ^ 'T');
    for (uint32_t i = 3; i < count - 1; i++) present |= tw_slot_bit[s[place[i] + 1]];
    f->present = present;
    /* A slot that appears twice sets one bit for two fields. */
    wrong |= (int)((present & TW_NO_SLOT) | ((uint32_t)_mm_popcnt_u32(present) ^ f->slots));
    return wrong ? 0 : place[count - 1] + 1;
}

/* What is added to an ASCII digit for its value, by its upper four bits; a zero byte stays zero. */
#define TW_SHIFTS 0, 0, 0, -48, -55, -55, -61, -61, 0, 0, 0, 0, 0, 0, 0, 0

/* The digits s[from..to), at most eight, at the upper end of eight bytes. */
TW_INLINE_AVX2 uint64_t tw_eight(const uint8_t *s, uint32_t from, uint32_t to)
{
    uint64_t w;
    memcpy(&w, s + from, 8);
    return w << (((from - to) * 8) & 63);
}

/* Four numbers of at most eight digits, from tw_eight. */
TW_INLINE_AVX2 __m256i tw_four_numbers(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const __m256i shifts = _mm256_setr_epi8(TW_SHIFTS, TW_SHIFTS);
    __m256i v = _mm256_setr_epi64x((long long)a, (long long)b, (long long)c, (long long)d);
    v = _mm256_add_epi8(v, _mm256_shuffle_epi8(shifts, _mm256_and_si256(_mm256_srli_epi16(v, 4),
                                                                        _mm256_set1_epi8(15))));
    v = _mm256_maddubs_epi16(v, _mm256_set1_epi16(62 | 1 << 8));
    v = _mm256_madd_epi16(v, _mm256_set1_epi32(3844 | 1 << 16));
    return _mm256_add_epi64(_mm256_mul_epu32(v, _mm256_set1_epi64x(3844 * 3844)), _mm256_srli_epi64(v, 32));
}

static const uint8_t tw_last_bytes[32] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255,
};

/* The number whose last digit stands in front of `end`, of `length` digits (at most 10; rubbish above that). Reads the
 * text itself: digits converted in bulk would come out of memory again before the stores are through. */
TW_INLINE_AVX2 uint64_t tw_number(const uint8_t *end, uint32_t length)
{
    const uint64_t four = 62 * 62 * 62 * 62;
    uint32_t kept = length < 16 ? length : 16;
    __m128i v = _mm_loadu_si128((const __m128i *)(end - 16));
    v = _mm_add_epi8(v, _mm_shuffle_epi8(_mm_setr_epi8(TW_SHIFTS),
                                         _mm_and_si128(_mm_srli_epi16(v, 4), _mm_set1_epi8(15))));
    v = _mm_and_si128(v, _mm_loadu_si128((const __m128i *)(tw_last_bytes + kept)));
    v = _mm_maddubs_epi16(v, _mm_set1_epi16(62 | 1 << 8));
    v = _mm_madd_epi16(v, _mm_set1_epi32(3844 | 1 << 16));
    v = _mm_add_epi64(_mm_mul_epu32(v, _mm_set1_epi64x((long long)four)), _mm_srli_epi64(v, 32));
    return (uint64_t)_mm_cvtsi128_si64(v) * (four * four) + (uint64_t)_mm_extract_epi64(v, 1);
}

/* Four numbers, of the fields that start at from[] and end at to[]. */
TW_INLINE_AVX2 void tw_four_fields(const uint8_t *s, const uint32_t *from, const uint32_t *to, int wide,
                                   uint64_t *number)
{
    if (wide) {
        for (int i = 0; i < 4; i++) number[i] = tw_number(s + to[i], to[i] - from[i]);
        return;
    }
    _mm256_storeu_si256((__m256i *)number, tw_four_numbers(tw_eight(s, from[0], to[0]), tw_eight(s, from[1], to[1]),
                                                           tw_eight(s, from[2], to[2]), tw_eight(s, from[3], to[3])));
}

/* From p on: the next '@', or size. Adds the newlines in front of it to *line. */
TW_INLINE_AVX2 size_t tw_next_at(const uint8_t *s, size_t p, size_t size, int64_t *line)
{
    for (; p + 32 <= size; p += 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(s + p));
        uint32_t at = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('@')));
        uint32_t newline = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\n')));
        *line += _mm_popcnt_u32(newline & (at ? _blsmsk_u32(at) : ~0u));
        if (at) return p + _tzcnt_u32(at);
    }
    for (; p < size && s[p] != '@'; p++) *line += s[p] == '\n';
    return p;
}
#endif

#endif
