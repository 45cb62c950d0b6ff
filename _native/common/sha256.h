/* SHA-256 (FIPS 180-4) for the many short texts of a ledger: portable, and with the SHA instructions of x86 where the
   machine has them. One call hashes a text made of two pieces, so that nothing has to be joined first. */

#ifndef TURNWIRE_SHA256_H
#define TURNWIRE_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wide.h"

static const uint32_t tw_sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static const uint32_t tw_sha_start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

typedef void (*tw_sha_blocks)(uint32_t state[8], const uint8_t *data, size_t blocks);

static inline uint32_t tw_rotr(uint32_t value, int count) { return (value >> count) | (value << (32 - count)); }

static void tw_sha_portable(uint32_t state[8], const uint8_t *data, size_t blocks) {
    uint32_t w[64];
    for (; blocks; blocks--, data += 64) {
        for (int t = 0; t < 16; t++)
            w[t] = (uint32_t)data[t * 4] << 24 | (uint32_t)data[t * 4 + 1] << 16 | (uint32_t)data[t * 4 + 2] << 8 |
                   data[t * 4 + 3];
        for (int t = 16; t < 64; t++) {
            uint32_t s0 = tw_rotr(w[t - 15], 7) ^ tw_rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
            uint32_t s1 = tw_rotr(w[t - 2], 17) ^ tw_rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
            w[t] = w[t - 16] + s0 + w[t - 7] + s1;
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int t = 0; t < 64; t++) {
            uint32_t s1 = tw_rotr(e, 6) ^ tw_rotr(e, 11) ^ tw_rotr(e, 25);
            uint32_t one = h + s1 + ((e & f) ^ (~e & g)) + tw_sha_k[t] + w[t];
            uint32_t s0 = tw_rotr(a, 2) ^ tw_rotr(a, 13) ^ tw_rotr(a, 22);
            uint32_t two = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
        state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
}

#ifdef TW_X86
TW_TARGET("sha,sse4.1,ssse3") static void tw_sha_x86(uint32_t state[8], const uint8_t *data, size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    /* the instructions keep the state as ABEF and CDGH */
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xB1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(low, high, 8);
    __m128i cdgh = _mm_blend_epi16(high, low, 0xF0);
    for (; blocks; blocks--, data += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        TW_UNROLL_16
        for (int group = 0; group < 16; group++) {
            __m128i four;
            if (group < 4) {
                four = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(data + group * 16)), swap);
            } else {
                __m128i old = _mm_sha256msg1_epu32(w[group & 3], w[(group + 1) & 3]);
                __m128i back7 = _mm_alignr_epi8(w[(group + 3) & 3], w[(group + 2) & 3], 4);
                four = _mm_sha256msg2_epu32(_mm_add_epi32(old, back7), w[(group + 3) & 3]);
            }
            w[group & 3] = four;
            __m128i round = _mm_add_epi32(four, _mm_loadu_si128((const __m128i *)(tw_sha_k + group * 4)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, round);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(round, 0x0E));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    low = _mm_shuffle_epi32(abef, 0x1B);
    high = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xF0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

static int tw_sha_has_x86(void) {
    return tw_processor_has_sha() && TW_PROCESSOR_HAS("sse4.1") && TW_PROCESSOR_HAS("ssse3");
}
#endif

static tw_sha_blocks tw_sha_choose(int portable) {
#ifdef TW_X86
    if (!portable && tw_sha_has_x86()) return tw_sha_x86;
#endif
    (void)portable;
    return tw_sha_portable;
}

/* The digest of head followed by body; head is at most 64 KiB + 64 KiB + 23 bytes in practice, of any length here. */
static void tw_sha256(tw_sha_blocks blocks, const uint8_t *head, size_t head_size, const uint8_t *body,
                      size_t body_size, uint8_t digest[32]) {
    uint32_t state[8];
    uint8_t tail[128];
    uint64_t bits = ((uint64_t)head_size + body_size) * 8;
    memcpy(state, tw_sha_start, sizeof state);
    size_t whole = head_size / 64;
    blocks(state, head, whole);
    size_t held = head_size - whole * 64;
    memcpy(tail, head + whole * 64, held);
    if (held) {
        size_t fill = 64 - held < body_size ? 64 - held : body_size;
        memcpy(tail + held, body, fill);
        held += fill, body += fill, body_size -= fill;
        if (held == 64) {
            blocks(state, tail, 1);
            held = 0;
        }
    }
    if (body_size) { /* then nothing is held */
        whole = body_size / 64;
        blocks(state, body, whole);
        held = body_size - whole * 64;
        memcpy(tail, body + whole * 64, held);
    }
    size_t end = held < 56 ? 64 : 128;
    tail[held] = 0x80;
    memset(tail + held + 1, 0, end - held - 9);
    for (int at = 0; at < 8; at++) tail[end - 1 - at] = (uint8_t)(bits >> (8 * at));
    blocks(state, tail, end / 64);
    for (int at = 0; at < 8; at++) {
        digest[at * 4] = (uint8_t)(state[at] >> 24);
        digest[at * 4 + 1] = (uint8_t)(state[at] >> 16);
        digest[at * 4 + 2] = (uint8_t)(state[at] >> 8);
        digest[at * 4 + 3] = (uint8_t)state[at];
    }
}

#endif
