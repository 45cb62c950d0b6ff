/* SipHash-1-3 of bytes: whoever does not know the key cannot make texts that collide in a hash table. Slower than a hash
 * without a key, so only for tables that grow with foreign input. */
#ifndef TURNWIRE_KEYED_HASH_H
#define TURNWIRE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t tw_rotated(uint64_t x, int by) { return x << by | x >> (64 - by); }

static inline void tw_sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = tw_rotated(v[1], 13) ^ v[0];
    v[3] = tw_rotated(v[3], 16) ^ v[2];
    v[0] = tw_rotated(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = tw_rotated(v[1], 17) ^ v[2];
    v[3] = tw_rotated(v[3], 21) ^ v[0];
    v[2] = tw_rotated(v[2], 32);
}

static inline void tw_sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    tw_sip_round(v);
    v[0] ^= word;
}

static inline uint64_t tw_keyed_hash(const uint64_t key[2], const uint8_t *p, size_t n)
{
    uint64_t v[4] = { key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                      key[1] ^ 0x7465646279746573u };
    uint64_t word, last = (uint64_t)n << 56;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        tw_sip_word(v, word);
    }
    word = 0;
    memcpy(&word, p, n);
    tw_sip_word(v, last | word);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++) tw_sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
