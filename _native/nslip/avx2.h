/* Records of a log read with AVX2, each into one row of columns: first the usual ones, then good records of any other shape.
 *
 * Masks of 64 bytes at a time, quote parity by carry-less multiplication, every rule checked on whole masks, and base62 by
 * multiply-and-add for several fields at once, so that neither the number of digits nor the number of slots costs a
 * mispredicted branch. All this accepts a part of what tw_nslip_parse accepts and nothing else. Called by json/others.h and
 * json/token_runs.h. */
#ifndef TURNWIRE_NSLIP_AVX2_H
#define TURNWIRE_NSLIP_AVX2_H

#include "_native/common/escapes.h"
#include "_native/common/utf8.h"
#include "_native/common/wide.h"
#include "rows.h"

#ifdef TW_X86
#define TW_AVX2 TW_TARGET("avx2,bmi,bmi2,pclmul,popcnt,lzcnt")
#define TW_INLINE_AVX2 TW_AVX2 TW_ALWAYS

/* Bytes that must be readable in front of the '@', and from it on: two windows, and what tw_eight reads behind them. */
enum { TW_BEFORE = 16, TW_WINDOW = 128, TW_READ = TW_WINDOW + 16 };

/* Places that are written at once: of the fields of a usual record, of any record. */
enum { TW_USUAL = 9, TW_AT_ONCE = 12 };

typedef tw_bits_128 tw_bits;

/* The places of the fields of a record: field i (conv_id, src, dst, turn, then the slots) ends in front of place[i]. */
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

/* Writes the places of the bits of `bits`, plus `base`, to place[]; returns how many. Writes at least `usual` entries (a
 * constant): most records have no more, and a loop of a known length costs no mispredicted branch. */
TW_INLINE_AVX2 uint32_t tw_places(uint64_t bits, uint32_t base, uint32_t *place, uint32_t usual)
{
    uint32_t count = (uint32_t)_mm_popcnt_u64(bits);
    for (uint32_t i = 0; i < usual; i++, bits = _blsr_u64(bits)) place[i] = base + (uint32_t)_tzcnt_u64(bits);
    for (uint32_t i = usual; i < count; i++, bits = _blsr_u64(bits)) place[i] = base + (uint32_t)_tzcnt_u64(bits);
    return count;
}

/* By prefix: the bit of the slot, or TW_NO_SLOT. */
enum { TW_TEXTS = 1 << TW_STATUS | 1 << TW_TAG, TW_NO_SLOT = 1 << 15 };
static uint16_t tw_slot_bit[256];

static void tw_simd_tables(void)
{
    for (int i = 0; i < 256; i++) {
        tw_slot_bit[i] = (uint16_t)(tw_kind[i] < TW_SLOTS ? 1 << tw_kind[i] : TW_NO_SLOT);
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

/* True if a record of the usual shape may start at s[0]: "@a", one digit, "|f", one digit, "|c". */
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
        count = tw_places(ends ^ known, 0, f->place, TW_USUAL);
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
        count = tw_places((uint64_t)ends ^ known, 0, f->place, TW_USUAL);
        count += tw_places((uint64_t)(ends >> 64), 64, f->place + count, TW_USUAL);
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

/* The number added to an ASCII digit for its value, by its upper four bits; a zero byte stays zero. */
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

/* --- rows of usual records --- */

enum { TW_ZEROED = 64 };

/* Zeros in the columns of slots for the next rows: what a record has not then needs no store of its own. */
static TW_UNUSED void tw_zero(const tw_columns *c, size_t from, size_t rows)
{
    rows = c->room - from < rows ? c->room - from : rows;
    for (int i = 0; i < TW_SLOTS; i++)
        if (c->ints[i]) memset(c->ints[i] + from, 0, rows * sizeof *c->ints[i]);
    for (int i = 0; i < 2; i++)
        if (c->texts[i]) memset(c->texts[i] + from, 0, rows * sizeof *c->texts[i]);
}

/* Row n from a record at s[at]; the columns of its slots hold zeros there. With `all` (a constant) every column is wanted. */
TW_INLINE_AVX2 void tw_store_avx2(const tw_columns *restrict c, const uint8_t *s, size_t at, int64_t base, int64_t line,
                                  const tw_found *restrict f, size_t n, int all, uint32_t wanted)
{
    const uint32_t *place = f->place;
    uint64_t number[4];
    if (all || c->offset) c->offset[n] = base + (int64_t)at;
    if (all || c->length) c->length[n] = (int64_t)place[3 + f->slots] + 1;
    if (all || c->line) c->line[n] = line;
    if (all || c->present) c->present[n] = (uint16_t)(f->present | TW_FRAME_KNOWN);
    if (all || c->act) c->act[n] = (uint8_t)f->act;
    if (all || c->frame) c->frame[n] = (uint8_t)f->frame;
    s += at;
    if (all || wanted & TW_WANTED_HEAD) {
        uint32_t from[4] = { 8, place[0] + 2, place[1] + 2, place[2] + 2 };
        tw_four_fields(s, from, place, f->wide, number);
        for (int i = 0; i < 4; i++)
            if (all || c->head[TW_CONV + i]) c->head[TW_CONV + i][n] = number[i];
    }
    if (!all && !(wanted & TW_WANTED_SLOTS)) return;
    if (all || wanted & TW_WANTED_INTS) {
        uint32_t from[4] = { place[3] + 2, place[4] + 2, place[5] + 2, place[6] + 2 };
        tw_four_fields(s, from, place + 4, f->wide, number);
    }
    for (uint32_t i = 0; i < f->slots; i++) {
        uint32_t bar = place[3 + i], end = place[4 + i], slot = tw_kind[s[bar + 1]];
        if (TW_TEXTS >> slot & 1) {
            int which = slot == TW_TAG;
            if (all || c->texts[which]) c->texts[which][n] = tw_text_span(at + bar + 3, end - bar - 4);
        } else if (all || c->ints[slot]) {
            c->ints[slot][n] = i < 4 ? number[i] : tw_number(s + end, end - bar - 2);
        }
    }
}

/* Row n from the record that starts with the '@' at s[at], which is tw_usual; s[at-TW_BEFORE..at+TW_READ) must be
 * readable. Its length, or 0: ask another. *zeroed: the row up to which the columns of slots hold zeros. */
TW_INLINE_AVX2 uint32_t tw_row_avx2(const tw_columns *c, const uint8_t *s, size_t at, size_t limit, int64_t base,
                                    int64_t line, size_t n, size_t *zeroed, int all, uint32_t wanted)
{
    tw_found found;
    uint32_t length = tw_record_avx2(s + at, &found);
    if (!length || length > limit) return 0;
    if (n >= *zeroed && (all || wanted & TW_WANTED_SLOTS)) {
        tw_zero(c, n, TW_ZEROED);
        *zeroed = n + TW_ZEROED;
    }
    tw_store_avx2(c, s, at, base, line, &found, n, all, wanted);
    return length;
}

/* --- records of any shape: the fields in any order, the header's too, escapes, text beyond ASCII, texts of any length, leading
 * zeros, integers of eleven digits, and, where they are kept, one unknown slot and unknown frames. One loop over the fields
 * without a branch for their kinds --- */

/* The facts of such a record. Field i begins with the separator at place[i] and has the number number[i]; field: by kind
 * which one it is, or TW_NO_FIELD; seen: a bit for each kind; escaped: not 0 where there is a backslash. */
enum { TW_NO_FIELD = TW_KINDS };
typedef struct {
    uint64_t number[TW_KINDS + 1];
    uint32_t place[1 + TW_KINDS + 64 + TW_AT_ONCE];
    uint8_t field[TW_KINDS + 1];
    uint32_t fields, seen, length;
    uint64_t escaped;
} tw_any;

/* Of 64 bytes: where a backslash is, and a byte over 127. */
TW_INLINE_AVX2 void tw_specials_of(const uint8_t *s, uint64_t *backslash, uint64_t *high)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)s), w = _mm256_loadu_si256((const __m256i *)(s + 32));
    const __m256i sign = _mm256_set1_epi8('\\');
    *high = (uint32_t)_mm256_movemask_epi8(v) | (uint64_t)(uint32_t)_mm256_movemask_epi8(w) << 32;
    *backslash = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, sign)) |
                 (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(w, sign)) << 32;
}

/* Of 64 bytes: a bit for each of which UTF-8 says that it is wrong; `first`: nothing stands in front of them. */
TW_INLINE_AVX2 uint64_t tw_utf8_wrong(const uint8_t *s, int first)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)s), w = _mm256_loadu_si256((const __m256i *)(s + 32));
    __m256i before = first ? _mm256_setzero_si256() : _mm256_loadu_si256((const __m256i *)(s - 32));
    const __m256i zero = _mm256_setzero_si256();
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(tw_utf8_faults(v, before), zero));
    uint32_t upper = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(tw_utf8_faults(w, v), zero));
    return ~(low | (uint64_t)upper << 32);
}

/* The separators of the record at s[0], up to its '#', and f->length; s[0..room) may be read. How many quotes delimit
 * strings, or UINT32_MAX: ask another. */
TW_INLINE_AVX2 uint32_t tw_any_places(const uint8_t *s, size_t room, tw_any *f)
{
    uint64_t carried = 0, open = 0, stop = 0, top = 0, outer = ~(uint64_t)1;
    uint32_t count = 1, quotes = 0;
    f->place[0] = 0;
    f->escaped = 0;
    for (size_t at = 0; !stop; at += 64, outer = ~(uint64_t)0) {
        uint64_t backslash = 0, escaped = 0, before = top;
        tw_masks m;
        if (room - at < 64) return UINT32_MAX;
        tw_masks_of(s + at, &m);
        uint64_t quote = m.quote;
        top = 0;
        if (m.special | open) {
            tw_specials_of(s + at, &backslash, &top);
            escaped = tw_escaped_bytes(backslash, &open);
            quote &= ~escaped;
        }
        uint64_t inside = tw_parity(quote) ^ carried;
        stop = m.hash & ~inside;
        stop &= 0 - stop;
        uint64_t record = (stop - 1) & outer, newline = m.special & ~(backslash | top);
        if (((~(m.word | m.bar | quote) & ~inside) | (newline & inside) | (escaped & ~(m.quote | backslash))) & record)
            return UINT32_MAX;
        /* Outside of strings all is ASCII, so the record can be judged as one text. */
        if ((top | before) && tw_utf8_wrong(s + at, !at) & record) return UINT32_MAX;
        carried = 0 - (inside >> 63);
        f->escaped |= backslash & record;
        quotes += (uint32_t)_mm_popcnt_u64(quote & record);
        count += tw_places((m.bar & ~inside & record) | stop, (uint32_t)at, f->place + count, TW_AT_ONCE);
        if (count > TW_KINDS + 1) return UINT32_MAX;
    }
    f->fields = count - 1;
    f->length = f->place[f->fields] + 1;
    return quotes;
}

/* An integer of eleven digits in front of `end`: 1 and *number, or 0 where it is too large. */
static TW_UNUSED TW_APART int tw_eleven_digits(const uint8_t *end, uint64_t *number)
{
    uint64_t value = 0;
    for (int i = -11; i < 0; i++) {
        uint64_t digit = tw_digit[end[i]];
        if (value > (UINT64_MAX - digit) / 62) return 0;
        value = value * 62 + digit;
    }
    *number = value;
    return 1;
}

/* The numbers in front of `first` and of `second`, as tw_number, into number[0] and number[1]. */
TW_INLINE_AVX2 void tw_two_numbers(const uint8_t *first, uint32_t digits, const uint8_t *second, uint32_t more,
                                   uint64_t *number)
{
    const uint64_t four = 62 * 62 * 62 * 62;
    const __m256i shifts = _mm256_setr_epi8(TW_SHIFTS, TW_SHIFTS);
    const uint8_t *masks = tw_last_bytes, *other = tw_last_bytes;
    masks += digits < 16 ? digits : 16;
    other += more < 16 ? more : 16;
    __m256i v = _mm256_loadu2_m128i((const __m128i *)(second - 16), (const __m128i *)(first - 16));
    __m256i kept = _mm256_loadu2_m128i((const __m128i *)other, (const __m128i *)masks);
    v = _mm256_add_epi8(v, _mm256_shuffle_epi8(shifts, _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15))));
    v = _mm256_maddubs_epi16(_mm256_and_si256(v, kept), _mm256_set1_epi16(62 | 1 << 8));
    v = _mm256_madd_epi16(v, _mm256_set1_epi32(3844 | 1 << 16));
    v = _mm256_add_epi64(_mm256_mul_epu32(v, _mm256_set1_epi64x((long long)four)), _mm256_srli_epi64(v, 32));
    uint64_t upper = (uint64_t)_mm256_extract_epi64(v, 0), lower = (uint64_t)_mm256_extract_epi64(v, 1);
    number[0] = upper * (four * four) + lower;
    upper = (uint64_t)_mm256_extract_epi64(v, 2);
    lower = (uint64_t)_mm256_extract_epi64(v, 3);
    number[1] = upper * (four * four) + lower;
}

/* A bit for each field with fewer than `least` bytes, its separator among them; of what is behind the last, any. */
TW_INLINE_AVX2 uint32_t tw_shorter(const tw_any *f, int least)
{
    const __m256i limit = _mm256_set1_epi32(least);
    uint32_t bits = 0;
    for (int i = 0; i < TW_KINDS; i += 8) {
        __m256i begin = _mm256_loadu_si256((const __m256i *)(f->place + i));
        __m256i end = _mm256_loadu_si256((const __m256i *)(f->place + i + 1));
        __m256i shorter = _mm256_cmpgt_epi32(limit, _mm256_sub_epi32(end, begin));
        bits |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(shorter)) << i;
    }
    return bits;
}

/* True if a field has a string, as its first and last byte say. */
static inline uint32_t tw_any_quoted(const uint8_t *s, const tw_any *f, uint32_t field)
{
    return (s[f->place[field] + 2] == '"') & (s[f->place[field + 1] - 1] == '"');
}

/* The good record that starts with the '@' at s[0], or perhaps 0: ask another. s[-TW_BEFORE..room) may be read, TW_READ bytes
 * at least. Its length. */
TW_INLINE_AVX2 uint32_t tw_any_record(const uint8_t *s, size_t room, int keep, tw_any *f)
{
    const uint32_t headers = ((1u << TW_HEADERS) - 1) << TW_A;
    if (tw_kind[s[1]] - (unsigned)TW_A >= TW_HEADERS || tw_digit[s[2]] == 255) return 0;
    uint32_t quotes = tw_any_places(s, room, f), fields = f->fields, seen = 0, texts = 0;
    if (quotes == UINT32_MAX || fields < TW_HEADERS || fields > TW_KINDS) return 0;
    memset(f->field, TW_NO_FIELD, sizeof f->field);
    for (uint32_t i = 0; i < fields; i++) {
        uint32_t kind = tw_kind[s[f->place[i] + 1]];
        seen |= 1u << kind;
        f->field[kind] = (uint8_t)i;
    }
    /* A kind that appears twice sets one bit for two fields. */
    f->seen = seen;
    if (((uint32_t)_mm_popcnt_u32(seen) ^ fields) | (~seen & headers) | (seen >> TW_KINDS) |
        (keep ? 0 : seen >> TW_OTHER)) return 0;
    f->place[fields + 1] = f->place[fields];
    for (uint32_t i = 0; i < fields; i += 2) {
        const uint32_t *place = f->place + i;
        tw_two_numbers(s + place[1], place[1] - place[0] - 2, s + place[2], place[2] - place[1] - 2, f->number + i);
    }
    /* Texts begin and end with a quote, and there are no others. An integer has one digit to eleven. */
    for (int i = 0; i < 3; i++) {
        static const uint8_t kinds[3] = { TW_STATUS, TW_TAG, TW_OTHER };
        uint32_t field = f->field[kinds[i]];
        if (field == TW_NO_FIELD) continue;
        uint32_t quoted = tw_any_quoted(s, f, field);
        if (!quoted && i < 2) return 0;
        texts |= quoted << field;
    }
    uint32_t all = (1u << fields) - 1, large = all & ~texts & ~tw_shorter(f, 13);
    if ((quotes ^ 2 * (uint32_t)_mm_popcnt_u32(texts)) | (tw_shorter(f, 3) & all)) return 0;
    for (; large; large &= large - 1) {
        uint32_t i = _tzcnt_u32(large);
        if (f->place[i + 1] - f->place[i] > 13 || !tw_eleven_digits(s + f->place[i + 1], f->number + i)) return 0;
    }
    f->number[TW_NO_FIELD] = 0;
    if (f->number[f->field[TW_A]] > TW_MAX_ACT) return 0;
    if (!keep && f->number[f->field[TW_F]] > TW_MAX_FRAME) return 0;
    return f->length;
}

/* Row n from the record at s[at], as tw_row_avx2, for records of any shape. With `all` (a constant) every column is wanted. */
TW_INLINE_AVX2 uint32_t tw_any_row_avx2(const tw_columns *restrict c, const uint8_t *s, size_t at, size_t size, size_t limit,
                                        int64_t base, int64_t line, size_t n, int all, int keep)
{
    tw_any f;
    uint32_t length = tw_any_record(s + at, size - at, keep, &f);
    if (!length || length > limit) return 0;
    int known = f.number[f.field[TW_F]] <= TW_MAX_FRAME;
    uint32_t present = f.seen & ((1u << TW_SLOTS) - 1);
    present |= known ? TW_FRAME_KNOWN : TW_KEPT;
    present |= (f.seen >> TW_OTHER) & 1 ? TW_KEPT : 0;
    for (int i = 0; i < 2; i++) {
        uint32_t field = f.field[i ? TW_TAG : TW_STATUS];
        size_t first = at + f.place[field] + 3, text = f.place[field + 1] - f.place[field] - 4;
        int64_t here = -(int64_t)(field != TW_NO_FIELD);
        if (f.escaped && here && memchr(s + first, '\\', text)) present |= i ? TW_TAG_ESCAPED : TW_STATUS_ESCAPED;
        if (all || c->texts[i]) c->texts[i][n] = tw_text_span(first, text) & here;
    }
    if (all || c->offset) c->offset[n] = base + (int64_t)at;
    if (all || c->length) c->length[n] = (int64_t)length;
    if (all || c->line) c->line[n] = line;
    if (all || c->present) c->present[n] = (uint16_t)present;
    if (all || c->act) c->act[n] = (uint8_t)f.number[f.field[TW_A]];
    if (all || c->frame) c->frame[n] = known ? (uint8_t)f.number[f.field[TW_F]] : 255;
    for (int i = TW_CONV; i < TW_HEADERS; i++)
        if (all || c->head[i]) c->head[i][n] = f.number[f.field[TW_C + i - TW_CONV]];
    for (int i = 0; i < TW_SLOTS; i++)
        if (all ? i != TW_STATUS && i != TW_TAG : c->ints[i] != NULL) c->ints[i][n] = f.number[f.field[i]];
    return length;
}
#endif

#endif
