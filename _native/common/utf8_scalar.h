/* Checks in plain C that a run of bytes is valid UTF-8, by table 3-7 of the Unicode standard, ASCII eight bytes at a time. */
#ifndef TURNWIRE_UTF8_SCALAR_H
#define TURNWIRE_UTF8_SCALAR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static int tw_utf8_valid_scalar(const uint8_t *p, size_t n) {
    const uint8_t *end = p + n;
    while (p < end) {
        if (end - p >= 8) {
            uint64_t word;
            memcpy(&word, p, 8);
            if (!(word & 0x8080808080808080u)) {
                p += 8;
                continue;
            }
        }
        uint8_t lead = *p;
        if (lead < 0x80) {
            p += 1;
            continue;
        }
        uint8_t low = 0x80, high = 0xBF;
        int more;
        if (lead >= 0xC2 && lead <= 0xDF) {
            more = 1;
        } else if (lead >= 0xE0 && lead <= 0xEF) {
            more = 2;
            if (lead == 0xE0) low = 0xA0;
            if (lead == 0xED) high = 0x9F;
        } else if (lead >= 0xF0 && lead <= 0xF4) {
            more = 3;
            if (lead == 0xF0) low = 0x90;
            if (lead == 0xF4) high = 0x8F;
        } else {
            return 0;
        }
        if (end - p <= more || p[1] < low || p[1] > high) return 0;
        for (int k = 2; k <= more; k++)
            if ((p[k] & 0xC0) != 0x80) return 0;
        p += more + 1;
    }
    return 1;
}

#endif
