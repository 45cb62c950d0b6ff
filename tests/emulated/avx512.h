/* The intrinsics of AVX-512 that _native uses, in plain C, so that its code for AVX-512 runs on any x86-64 with AVX2.
 * Written from their descriptions, lane by lane. Included in front of everything else (tests/emulated/build.py). */
#ifndef TURNWIRE_EMULATED_AVX512_H
#define TURNWIRE_EMULATED_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef union {
    __m512i v;
    __m128i q[4];
    uint8_t u8[64];
    int8_t i8[64];
    uint16_t u16[32];
    int16_t i16[32];
    uint32_t u32[16];
    int32_t i32[16];
    uint64_t u64[8];
} tw_512;

typedef union {
    __m128i v;
    uint8_t u8[16];
    int8_t i8[16];
} tw_128;

#define EMULATED static inline __attribute__((always_inline, unused))
#define LANES(count) for (int i = 0; i < (count); i++)

/* name(a, b): r.field[i] = does */
#define EACH(name, field, count, does)                                                                              \
    EMULATED __m512i emulated_##name(__m512i x, __m512i y)                                                          \
    {                                                                                                               \
        tw_512 a = { x }, b = { y }, r;                                                                             \
        LANES(count) r.field[i] = (does);                                                                           \
        return r.v;                                                                                                 \
    }
EACH(add_epi8, u8, 64, (uint8_t)(a.u8[i] + b.u8[i]))
EACH(sub_epi8, u8, 64, (uint8_t)(a.u8[i] - b.u8[i]))
EACH(subs_epu8, u8, 64, a.u8[i] > b.u8[i] ? (uint8_t)(a.u8[i] - b.u8[i]) : 0)
EACH(add_epi16, u16, 32, (uint16_t)(a.u16[i] + b.u16[i]))
EACH(add_epi64, u64, 8, a.u64[i] + b.u64[i])
EACH(sub_epi64, u64, 8, a.u64[i] - b.u64[i])
EACH(and_si512, u64, 8, a.u64[i] & b.u64[i])
EACH(or_si512, u64, 8, a.u64[i] | b.u64[i])
EACH(xor_si512, u64, 8, a.u64[i] ^ b.u64[i])
EACH(mul_epu32, u64, 8, (a.u64[i] & 0xFFFFFFFFu) * (b.u64[i] & 0xFFFFFFFFu))
EACH(mullo_epi64, u64, 8, a.u64[i] * b.u64[i])
EACH(shuffle_epi8, u8, 64, b.u8[i] & 0x80 ? 0 : a.u8[(i & 48) + (b.u8[i] & 15)])
EACH(permutexvar_epi8, u8, 64, b.u8[a.u8[i] & 63]) /* (places, bytes) */
EACH(madd_epi16, i32, 16,
     (int32_t)((uint32_t)(a.i16[2 * i] * b.i16[2 * i]) + (uint32_t)(a.i16[2 * i + 1] * b.i16[2 * i + 1])))

EMULATED int16_t emulated_narrow(int32_t x) { return (int16_t)(x > 32767 ? 32767 : x < -32768 ? -32768 : x); }
EACH(maddubs_epi16, i16, 32,
     emulated_narrow(a.u8[2 * i] * b.i8[2 * i] + a.u8[2 * i + 1] * b.i8[2 * i + 1]))

/* name(a, b): a bit for each lane for which `does` holds */
#define EACH_BIT(name, count, does)                                                                                 \
    EMULATED uint64_t emulated_##name(__m512i x, __m512i y)                                                         \
    {                                                                                                               \
        tw_512 a = { x }, b = { y };                                                                                \
        uint64_t bits = 0;                                                                                          \
        LANES(count) bits |= (uint64_t)((does) != 0) << i;                                                          \
        return bits;                                                                                                \
    }
EACH_BIT(cmpeq_epi8_mask, 64, a.u8[i] == b.u8[i])
EACH_BIT(cmpeq_epi16_mask, 32, a.u16[i] == b.u16[i])
EACH_BIT(cmpeq_epi32_mask, 16, a.u32[i] == b.u32[i])
EACH_BIT(cmpneq_epu8_mask, 64, a.u8[i] != b.u8[i])
EACH_BIT(cmpge_epi8_mask, 64, a.i8[i] >= b.i8[i])
EACH_BIT(cmplt_epi8_mask, 64, a.i8[i] < b.i8[i])
EACH_BIT(cmplt_epu8_mask, 64, a.u8[i] < b.u8[i])
EACH_BIT(cmple_epu8_mask, 64, a.u8[i] <= b.u8[i])
EACH_BIT(test_epi8_mask, 64, a.u8[i] & b.u8[i])
EACH_BIT(cmpeq_epi64_mask, 8, a.u64[i] == b.u64[i])
EACH_BIT(test_epi64_mask, 8, a.u64[i] & b.u64[i])

#define EACH_SHORT(name, does)                                                                                      \
    EMULATED uint16_t emulated_short_##name(uint16_t live, __m128i x, __m128i y)                                    \
    {                                                                                                               \
        tw_128 a = { x }, b = { y };                                                                                \
        uint32_t bits = 0;                                                                                          \
        LANES(16) bits |= (uint32_t)((does) != 0) << i;                                                             \
        return (uint16_t)(bits & live);                                                                             \
    }
EACH_SHORT(cmpeq_epi8_mask, a.u8[i] == b.u8[i])
EACH_SHORT(cmpgt_epi8_mask, a.i8[i] > b.i8[i])
EACH_SHORT(cmpgt_epu8_mask, a.u8[i] > b.u8[i])
EACH_SHORT(cmple_epu8_mask, a.u8[i] <= b.u8[i])

EMULATED __m128i emulated_short_maskz_shuffle_epi8(uint16_t live, __m128i x, __m128i y)
{
    tw_128 a = { x }, b = { y }, r;
    LANES(16) r.u8[i] = !(live >> i & 1) || b.u8[i] & 0x80 ? 0 : a.u8[b.u8[i] & 15];
    return r.v;
}

EMULATED __m128i emulated_short_mask_mov_epi8(__m128i other, uint16_t live, __m128i x)
{
    tw_128 a = { x }, r = { other };
    LANES(16) if (live >> i & 1) r.u8[i] = a.u8[i];
    return r.v;
}

EMULATED __m512i emulated_load(const void *from) { tw_512 r; memcpy(&r, from, 64); return r.v; }
EMULATED void emulated_store(void *to, __m512i x) { memcpy(to, &x, 64); }
EMULATED __m512i emulated_maskz_loadu_epi8(uint64_t live, const void *from)
{
    tw_512 r;
    LANES(64) r.u8[i] = live >> i & 1 ? ((const uint8_t *)from)[i] : 0; /* what is masked is not read */
    return r.v;
}
EMULATED __m512i emulated_set1_epi8(int x) { tw_512 r; LANES(64) r.u8[i] = (uint8_t)x; return r.v; }
EMULATED __m512i emulated_set1_epi16(int x) { tw_512 r; LANES(32) r.u16[i] = (uint16_t)x; return r.v; }
EMULATED __m512i emulated_set1_epi32(int x) { tw_512 r; LANES(16) r.i32[i] = x; return r.v; }
EMULATED __m512i emulated_set1_epi64(long long x) { tw_512 r; LANES(8) r.u64[i] = (uint64_t)x; return r.v; }
EMULATED __m512i emulated_setzero(void) { return emulated_set1_epi8(0); }
EMULATED __m512i emulated_broadcast_i32x4(__m128i x) { tw_512 r; LANES(4) r.q[i] = x; return r.v; }
EMULATED __m512i emulated_broadcastb(__m128i x) { tw_128 a = { x }; tw_512 r; LANES(64) r.u8[i] = a.u8[0]; return r.v; }
EMULATED __m512i emulated_broadcastq(__m128i x) { tw_512 a, r; a.q[0] = x; LANES(8) r.u64[i] = a.u64[0]; return r.v; }
EMULATED __m128i emulated_first_128(__m512i x) { tw_512 a = { x }; return a.q[0]; }
EMULATED __m256i emulated_part_256(__m512i x, int which) { __m256i r; memcpy(&r, (char *)&x + 32 * (which & 1), 32); return r; }
EMULATED __m512i emulated_zext_128(__m128i x) { tw_512 r = { emulated_setzero() }; r.q[0] = x; return r.v; }
EMULATED __m512i emulated_cvtepu8_epi16(__m256i x)
{
    uint8_t from[32];
    tw_512 r;
    memcpy(from, &x, 32);
    LANES(32) r.u16[i] = from[i];
    return r.v;
}
EMULATED __m512i emulated_srli_epi16(__m512i x, unsigned n) { tw_512 r = { x }; LANES(32) r.u16[i] = (uint16_t)(n > 15 ? 0 : r.u16[i] >> n); return r.v; }
EMULATED __m512i emulated_srli_epi64(__m512i x, unsigned n) { tw_512 r = { x }; LANES(8) r.u64[i] = n > 63 ? 0 : r.u64[i] >> n; return r.v; }

/* The second operand stands below the first one, and the result begins so many lanes further up. */
EMULATED __m512i emulated_alignr_epi8(__m512i x, __m512i y, int n)
{
    tw_512 a = { x }, b = { y }, r;
    LANES(64) {
        int from = (i & 15) + n, part = i & 48;
        r.u8[i] = from < 16 ? b.u8[part + from] : from < 32 ? a.u8[part + from - 16] : 0;
    }
    return r.v;
}
EMULATED __m512i emulated_alignr_epi32(__m512i x, __m512i y, int n)
{
    tw_512 a = { x }, b = { y }, r;
    LANES(16) { int from = i + (n & 15); r.u32[i] = from < 16 ? b.u32[from] : a.u32[from - 16]; }
    return r.v;
}
EMULATED __m512i emulated_permutex2var_epi8(__m512i x, __m512i places, __m512i y)
{
    tw_512 a = { x }, b = { y }, p = { places }, r;
    LANES(64) r.u8[i] = p.u8[i] & 64 ? b.u8[p.u8[i] & 63] : a.u8[p.u8[i] & 63];
    return r.v;
}
EMULATED __m512i emulated_maskz_permutex2var_epi64(uint8_t live, __m512i x, __m512i places, __m512i y)
{
    tw_512 a = { x }, b = { y }, p = { places }, r;
    LANES(8) r.u64[i] = !(live >> i & 1) ? 0 : p.u64[i] & 8 ? b.u64[p.u64[i] & 7] : a.u64[p.u64[i] & 7];
    return r.v;
}
EMULATED __m512i emulated_sad_epu8(__m512i x, __m512i y)
{
    tw_512 a = { x }, b = { y }, r = { emulated_setzero() };
    LANES(64) r.u64[i / 8] += (uint64_t)(a.u8[i] > b.u8[i] ? a.u8[i] - b.u8[i] : b.u8[i] - a.u8[i]);
    return r.v;
}
EMULATED __m512i emulated_mask_mov_epi64(__m512i other, uint8_t live, __m512i x)
{
    tw_512 a = { x }, r = { other };
    LANES(8) if (live >> i & 1) r.u64[i] = a.u64[i];
    return r.v;
}
EMULATED __m512i emulated_mask_mov_epi8(__m512i other, uint64_t live, __m512i x)
{
    tw_512 a = { x }, r = { other };
    LANES(64) if (live >> i & 1) r.u8[i] = a.u8[i];
    return r.v;
}
EMULATED __m512i emulated_maskz_compress_epi8(uint64_t live, __m512i x)
{
    tw_512 a = { x }, r = { emulated_setzero() };
    int to = 0;
    LANES(64) if (live >> i & 1) r.u8[to++] = a.u8[i];
    return r.v;
}
EMULATED __m512i emulated_ternarylogic(__m512i x, __m512i y, __m512i z, int table)
{
    tw_512 a = { x }, b = { y }, c = { z }, r = { emulated_setzero() };
    LANES(8)
        for (int bit = 0; bit < 64; bit++) {
            int row = (int)(a.u64[i] >> bit & 1) << 2 | (int)(b.u64[i] >> bit & 1) << 1 | (int)(c.u64[i] >> bit & 1);
            r.u64[i] |= (uint64_t)(table >> row & 1) << bit;
        }
    return r.v;
}

#undef _mm512_add_epi8
#define _mm512_add_epi8 emulated_add_epi8
#undef _mm512_sub_epi8
#define _mm512_sub_epi8 emulated_sub_epi8
#undef _mm512_subs_epu8
#define _mm512_subs_epu8 emulated_subs_epu8
#undef _mm512_add_epi16
#define _mm512_add_epi16 emulated_add_epi16
#undef _mm512_add_epi64
#define _mm512_add_epi64 emulated_add_epi64
#undef _mm512_and_si512
#define _mm512_and_si512 emulated_and_si512
#undef _mm512_or_si512
#define _mm512_or_si512 emulated_or_si512
#undef _mm512_xor_si512
#define _mm512_xor_si512 emulated_xor_si512
#undef _mm512_mul_epu32
#define _mm512_mul_epu32 emulated_mul_epu32
#undef _mm512_mullo_epi64
#define _mm512_mullo_epi64 emulated_mullo_epi64
#undef _mm512_shuffle_epi8
#define _mm512_shuffle_epi8 emulated_shuffle_epi8
#undef _mm512_permutexvar_epi8
#define _mm512_permutexvar_epi8 emulated_permutexvar_epi8
#undef _mm512_madd_epi16
#define _mm512_madd_epi16 emulated_madd_epi16
#undef _mm512_maddubs_epi16
#define _mm512_maddubs_epi16 emulated_maddubs_epi16
#undef _mm512_cmpeq_epi8_mask
#define _mm512_cmpeq_epi8_mask emulated_cmpeq_epi8_mask
#undef _mm512_cmpeq_epi16_mask
#define _mm512_cmpeq_epi16_mask emulated_cmpeq_epi16_mask
#undef _mm512_cmpeq_epi32_mask
#define _mm512_cmpeq_epi32_mask emulated_cmpeq_epi32_mask
#undef _mm512_cmpneq_epu8_mask
#define _mm512_cmpneq_epu8_mask emulated_cmpneq_epu8_mask
#undef _mm512_cmpge_epi8_mask
#define _mm512_cmpge_epi8_mask emulated_cmpge_epi8_mask
#undef _mm512_cmplt_epi8_mask
#define _mm512_cmplt_epi8_mask emulated_cmplt_epi8_mask
#undef _mm512_cmplt_epu8_mask
#define _mm512_cmplt_epu8_mask emulated_cmplt_epu8_mask
#undef _mm512_cmple_epu8_mask
#define _mm512_cmple_epu8_mask emulated_cmple_epu8_mask
#undef _mm512_test_epi8_mask
#define _mm512_test_epi8_mask emulated_test_epi8_mask
#undef _mm512_sub_epi64
#define _mm512_sub_epi64 emulated_sub_epi64
#undef _mm512_cmpeq_epi64_mask
#define _mm512_cmpeq_epi64_mask emulated_cmpeq_epi64_mask
#undef _mm512_test_epi64_mask
#define _mm512_test_epi64_mask emulated_test_epi64_mask
#undef _mm512_broadcastb_epi8
#define _mm512_broadcastb_epi8 emulated_broadcastb
#undef _mm512_broadcastq_epi64
#define _mm512_broadcastq_epi64 emulated_broadcastq
#undef _mm512_maskz_permutex2var_epi64
#define _mm512_maskz_permutex2var_epi64 emulated_maskz_permutex2var_epi64
#undef _mm512_sad_epu8
#define _mm512_sad_epu8 emulated_sad_epu8
#undef _mm512_mask_mov_epi64
#define _mm512_mask_mov_epi64 emulated_mask_mov_epi64
#undef _mm_mask_mov_epi8
#define _mm_mask_mov_epi8 emulated_short_mask_mov_epi8
#undef _mm_cmpeq_epi8_mask
#define _mm_cmpeq_epi8_mask(x, y) emulated_short_cmpeq_epi8_mask(0xFFFF, x, y)
#undef _mm512_maskz_loadu_epi8
#define _mm512_maskz_loadu_epi8 emulated_maskz_loadu_epi8
#undef _mm512_set1_epi8
#define _mm512_set1_epi8 emulated_set1_epi8
#undef _mm512_set1_epi16
#define _mm512_set1_epi16 emulated_set1_epi16
#undef _mm512_set1_epi32
#define _mm512_set1_epi32 emulated_set1_epi32
#undef _mm512_set1_epi64
#define _mm512_set1_epi64 emulated_set1_epi64
#undef _mm512_broadcast_i32x4
#define _mm512_broadcast_i32x4 emulated_broadcast_i32x4
#undef _mm512_cvtepu8_epi16
#define _mm512_cvtepu8_epi16 emulated_cvtepu8_epi16
#undef _mm512_srli_epi16
#define _mm512_srli_epi16 emulated_srli_epi16
#undef _mm512_srli_epi64
#define _mm512_srli_epi64 emulated_srli_epi64
#undef _mm512_alignr_epi8
#define _mm512_alignr_epi8 emulated_alignr_epi8
#undef _mm512_alignr_epi32
#define _mm512_alignr_epi32 emulated_alignr_epi32
#undef _mm512_permutex2var_epi8
#define _mm512_permutex2var_epi8 emulated_permutex2var_epi8
#undef _mm512_mask_mov_epi8
#define _mm512_mask_mov_epi8 emulated_mask_mov_epi8
#undef _mm512_maskz_compress_epi8
#define _mm512_maskz_compress_epi8 emulated_maskz_compress_epi8
#undef _mm512_loadu_si512
#define _mm512_loadu_si512 emulated_load
#undef _mm512_load_si512
#define _mm512_load_si512 emulated_load
#undef _mm512_storeu_si512
#define _mm512_storeu_si512 emulated_store
#undef _mm512_setzero_si512
#define _mm512_setzero_si512 emulated_setzero
#undef _mm512_castsi512_si128
#define _mm512_castsi512_si128 emulated_first_128
#undef _mm512_zextsi128_si512
#define _mm512_zextsi128_si512 emulated_zext_128
#undef _mm512_ternarylogic_epi32
#define _mm512_ternarylogic_epi32 emulated_ternarylogic
#undef _mm_mask_cmpeq_epi8_mask
#define _mm_mask_cmpeq_epi8_mask emulated_short_cmpeq_epi8_mask
#undef _mm_mask_cmpgt_epi8_mask
#define _mm_mask_cmpgt_epi8_mask emulated_short_cmpgt_epi8_mask
#undef _mm_mask_cmpgt_epu8_mask
#define _mm_mask_cmpgt_epu8_mask emulated_short_cmpgt_epu8_mask
#undef _mm_mask_cmple_epu8_mask
#define _mm_mask_cmple_epu8_mask emulated_short_cmple_epu8_mask
#undef _mm_maskz_shuffle_epi8
#define _mm_maskz_shuffle_epi8 emulated_short_maskz_shuffle_epi8
#undef _mm512_castsi512_si256
#define _mm512_castsi512_si256(x) emulated_part_256(x, 0)
#undef _mm512_extracti64x4_epi64
#define _mm512_extracti64x4_epi64(x, which) emulated_part_256(x, which)
#undef _mm512_movepi8_mask
#define _mm512_movepi8_mask(x) emulated_cmplt_epi8_mask(x, emulated_setzero())
#undef _mm512_mask_cmpeq_epi8_mask
#define _mm512_mask_cmpeq_epi8_mask(live, x, y) ((live) & emulated_cmpeq_epi8_mask(x, y))
#undef _mm512_mask_cmpneq_epu8_mask
#define _mm512_mask_cmpneq_epu8_mask(live, x, y) ((live) & emulated_cmpneq_epu8_mask(x, y))
#undef _mm512_mask_test_epi8_mask
#define _mm512_mask_test_epi8_mask(live, x, y) ((live) & emulated_test_epi8_mask(x, y))
#undef _mm512_maskz_mov_epi8
#define _mm512_maskz_mov_epi8(live, x) emulated_mask_mov_epi8(emulated_setzero(), live, x)

#endif
