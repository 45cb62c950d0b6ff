/* CRC-32 (that of zlib and gzip), eight bytes at a time. Sums are as zlib.crc32 gives and takes them. */
#ifndef TURNWIRE_SESSION_CRC_H
#define TURNWIRE_SESSION_CRC_H

#include <stddef.h>
#include <stdint.h>

static uint32_t turnwire_crc_table[8][256];

/* Fills the tables: once for a module, before any sum. */
static void turnwire_crc_begin(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++) {
            sum = sum & 1 ? sum >> 1 ^ 0xEDB88320u : sum >> 1;
        }
        turnwire_crc_table[0][byte] = sum;
    }
    for (int row = 1; row < 8; row++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t sum = turnwire_crc_table[row - 1][byte];
            turnwire_crc_table[row][byte] = sum >> 8 ^ turnwire_crc_table[0][sum & 255];
        }
    }
}

static uint32_t turnwire_crc_add(uint32_t sum, const unsigned char* at, size_t size) {
    sum = ~sum;
    for (; size >= 8; at += 8, size -= 8) {
        uint32_t low = sum ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        sum = turnwire_crc_table[7][low & 255] ^ turnwire_crc_table[6][low >> 8 & 255]
            ^ turnwire_crc_table[5][low >> 16 & 255] ^ turnwire_crc_table[4][low >> 24]
            ^ turnwire_crc_table[3][at[4]] ^ turnwire_crc_table[2][at[5]] ^ turnwire_crc_table[1][at[6]]
            ^ turnwire_crc_table[0][at[7]];
    }
    for (; size; at++, size--) {
        sum = sum >> 8 ^ turnwire_crc_table[0][(sum ^ *at) & 255];
    }
    return ~sum;
}

#endif
