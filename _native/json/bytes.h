/* Reads the inside of JSON strings: runs of plain characters, escapes and UTF-8, one unit a character. */
#ifndef TURNWIRE_JSON_BYTES_H
#define TURNWIRE_JSON_BYTES_H

#include "strings.h"

/* The value of four hex digits that are known to be some. */
static inline uint32_t turnwire_hex(const unsigned char *p) {
    uint32_t code = 0;
    for (int k = 0; k < 4; k++) code = code << 4 | (uint32_t)(p[k] <= '9' ? p[k] - '0' : (p[k] | 32) - 'a' + 10);
    return code;
}

/* Writes what the inside [p, end) of a judged JSON string says into units that are known to hold it. */
#define TURNWIRE_PUT(NAME, UNIT)                                                                                    \
    static void NAME(UNIT *out, const unsigned char *p, const unsigned char *end) {                                  \
        while (p < end) {                                                                                            \
            unsigned char c = *p;                                                                                    \
            if (c < 0x80 && c != '\\') {                                                                             \
                const unsigned char *behind = tw_plain(p, end);                                                \
                for (ptrdiff_t k = 0; k < behind - p; k++) out[k] = p[k];                                            \
                out += behind - p;                                                                                   \
                p = behind;                                                                                          \
            } else if (c == '\\') {                                                                                  \
                c = p[1];                                                                                            \
                p += 2;                                                                                              \
                if (c == 'u') {                                                                                      \
                    uint32_t code = turnwire_hex(p);                                                                 \
                    p += 4;                                                                                          \
                    if (code >= 0xD800 && code <= 0xDBFF) {                                                          \
                        code = 0x10000 + ((code - 0xD800) << 10) + turnwire_hex(p + 2) - 0xDC00;                     \
                        p += 6;                                                                                      \
                    }                                                                                                \
                    *out++ = (UNIT)code;                                                                             \
                } else {                                                                                             \
                    *out++ = c == 'n' ? 10 : c == 't' ? 9 : c == 'r' ? 13 : c == 'b' ? 8 : c == 'f' ? 12 : c;        \
                }                                                                                                    \
            } else if (c < 0xE0) {                                                                                   \
                *out++ = (UNIT)((c & 0x1F) << 6 | (p[1] & 0x3F));                                                    \
                p += 2;                                                                                              \
            } else if (c < 0xF0) {                                                                                   \
                *out++ = (UNIT)((c & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F));                              \
                p += 3;                                                                                              \
            } else {                                                                                                 \
                *out++ = (UNIT)((c & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F));        \
                p += 4;                                                                                              \
            }                                                                                                        \
        }                                                                                                            \
    }

TURNWIRE_PUT(turnwire_put_1, uint8_t)
TURNWIRE_PUT(turnwire_put_2, uint16_t)
TURNWIRE_PUT(turnwire_put_4, uint32_t)

static inline void turnwire_put(int kind, void *out, const unsigned char *p, const unsigned char *end) {
    if (kind == 1) turnwire_put_1((uint8_t *)out, p, end);
    else if (kind == 2) turnwire_put_2((uint16_t *)out, p, end);
    else turnwire_put_4((uint32_t *)out, p, end);
}

#endif
