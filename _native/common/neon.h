/* The instructions of SSE2 that the core uses, by their names, for ARM's vectors (NEON, which any aarch64 has): the code for
 * vectors of 16 bytes is written once. Included by portable.h, which says when. */
#ifndef TURNWIRE_NEON_H
#define TURNWIRE_NEON_H

typedef uint8x16_t __m128i;

#define TW_LANES(kind, bits, x) vreinterpretq_##kind##bits##_u8(x)
#define TW_BYTES(kind, bits, x) vreinterpretq_u8_##kind##bits(x)
/* Defines an instruction that takes two vectors of lanes of one kind and gives lanes of another. */
#define TW_OF_TWO(name, gives, takes, bits, function) \
    TW_ALWAYS __m128i name(__m128i a, __m128i b) \
    { \
        return TW_BYTES(gives, bits, function(TW_LANES(takes, bits, a), TW_LANES(takes, bits, b))); \
    }

TW_ALWAYS __m128i _mm_loadu_si128(const __m128i *p) { return vld1q_u8((const uint8_t *)p); }
TW_ALWAYS __m128i _mm_loadl_epi64(const __m128i *p) { return vcombine_u8(vld1_u8((const uint8_t *)p), vdup_n_u8(0)); }
TW_ALWAYS void _mm_storeu_si128(__m128i *p, __m128i x) { vst1q_u8((uint8_t *)p, x); }
TW_ALWAYS __m128i _mm_setzero_si128(void) { return vdupq_n_u8(0); }
TW_ALWAYS __m128i _mm_set1_epi8(char x) { return vdupq_n_u8((uint8_t)x); }
TW_ALWAYS __m128i _mm_set1_epi16(short x) { return TW_BYTES(s, 16, vdupq_n_s16(x)); }
TW_ALWAYS __m128i _mm_set1_epi32(int x) { return TW_BYTES(s, 32, vdupq_n_s32(x)); }
TW_ALWAYS __m128i _mm_cvtsi64_si128(int64_t x) { return TW_BYTES(s, 64, vsetq_lane_s64(x, vdupq_n_s64(0), 0)); }
TW_ALWAYS int _mm_cvtsi128_si32(__m128i x) { return vgetq_lane_s32(TW_LANES(s, 32, x), 0); }

TW_ALWAYS __m128i _mm_or_si128(__m128i a, __m128i b) { return vorrq_u8(a, b); }
TW_ALWAYS __m128i _mm_and_si128(__m128i a, __m128i b) { return vandq_u8(a, b); }
TW_ALWAYS __m128i _mm_add_epi8(__m128i a, __m128i b) { return vaddq_u8(a, b); }
TW_ALWAYS __m128i _mm_sub_epi8(__m128i a, __m128i b) { return vsubq_u8(a, b); }
TW_ALWAYS __m128i _mm_min_epu8(__m128i a, __m128i b) { return vminq_u8(a, b); }
TW_ALWAYS __m128i _mm_max_epu8(__m128i a, __m128i b) { return vmaxq_u8(a, b); }
TW_ALWAYS __m128i _mm_cmpeq_epi8(__m128i a, __m128i b) { return vceqq_u8(a, b); }
TW_ALWAYS __m128i _mm_cmplt_epi8(__m128i a, __m128i b) { return vcltq_s8(TW_LANES(s, 8, a), TW_LANES(s, 8, b)); }
TW_ALWAYS __m128i _mm_cmpgt_epi8(__m128i a, __m128i b) { return vcgtq_s8(TW_LANES(s, 8, a), TW_LANES(s, 8, b)); }
TW_OF_TWO(_mm_cmpeq_epi16, u, u, 16, vceqq_u16)
TW_OF_TWO(_mm_cmpeq_epi32, u, u, 32, vceqq_u32)
TW_OF_TWO(_mm_cmplt_epi32, u, s, 32, vcltq_s32)
TW_OF_TWO(_mm_subs_epu16, u, u, 16, vqsubq_u16)

TW_ALWAYS __m128i _mm_unpacklo_epi8(__m128i a, __m128i b) { return vzip1q_u8(a, b); }
TW_ALWAYS __m128i _mm_unpackhi_epi8(__m128i a, __m128i b) { return vzip2q_u8(a, b); }
TW_OF_TWO(_mm_unpacklo_epi16, u, u, 16, vzip1q_u16)
TW_OF_TWO(_mm_unpackhi_epi16, u, u, 16, vzip2q_u16)
TW_OF_TWO(_mm_unpacklo_epi64, u, u, 64, vzip1q_u64)
#define _mm_slli_si128(x, bytes) vextq_u8(vdupq_n_u8(0), x, 16 - (bytes))
#define _mm_srli_si128(x, bytes) vextq_u8(x, vdupq_n_u8(0), bytes)
#define _mm_srli_epi16(x, bits) TW_BYTES(u, 16, vshrq_n_u16(TW_LANES(u, 16, x), bits))

/* The sums of the lower and of the upper eight differences of bytes. */
TW_ALWAYS __m128i _mm_sad_epu8(__m128i a, __m128i b)
{
    return TW_BYTES(u, 64, vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vabdq_u8(a, b)))));
}

/* The highest bit of each byte, that of the first one lowest. */
TW_ALWAYS int _mm_movemask_epi8(__m128i x)
{
    static const uint8_t bits[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    uint8x16_t high = vandq_u8(TW_BYTES(s, 8, vshrq_n_s8(TW_LANES(s, 8, x), 7)), vld1q_u8(bits));
    return vaddv_u8(vget_low_u8(high)) | vaddv_u8(vget_high_u8(high)) << 8;
}

#define _MM_HINT_T0 0
#define _mm_prefetch(place, hint) TW_SOON(place)

#endif
