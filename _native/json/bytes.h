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

/* The character at *p of good UTF-8, which is not ASCII. Moves *p behind it. */
static inline uint32_t json_character(const unsigned char **p) {
    const unsigned char *at = *p;
    if (*at < 0xE0) {
        *p = at + 2;
        return (uint32_t)(at[0] & 0x1F) << 6 | (at[1] & 0x3F);
    }
    if (*at < 0xF0) {
        *p = at + 3;
        return (uint32_t)(at[0] & 0x0F) << 12 | (uint32_t)(at[1] & 0x3F) << 6 | (at[2] & 0x3F);
    }
    *p = at + 4;
    return (uint32_t)(at[0] & 0x07) << 18 | (uint32_t)(at[1] & 0x3F) << 12 | (uint32_t)(at[2] & 0x3F) << 6 | (at[3] & 0x3F);
}

/* The character of the good escape at *p. Moves *p behind it. */
static inline uint32_t json_escaped(const unsigned char **p) {
    const unsigned char *at = *p;
    uint32_t code;
    *p = at + 2;
    if (at[1] != 'u') return tw_letters[at[1]];
    code = turnwire_hex(at + 2);
    *p = at + 6;
    if (code < 0xD800 || code > 0xDBFF) return code;
    *p = at + 12;
    return 0x10000 + ((code - 0xD800) << 10) + turnwire_hex(at + 8) - 0xDC00;
}

/* Writes what the inside [p, end) of a judged JSON string says into units that are known to hold it. */
#define TURNWIRE_PUT(NAME, UNIT)                                                                                    \
    static void NAME(UNIT *out, const unsigned char *p, const unsigned char *end) {                                  \
        while (p < end) {                                                                                            \
            if (*p == '\\') *out++ = (UNIT)json_escaped(&p);                                                         \
            else if (*p >= 0x80) *out++ = (UNIT)json_character(&p);                                                  \
            else {                                                                                                   \
                const unsigned char *behind = tw_plain(p, end);                                                      \
                for (ptrdiff_t k = 0; k < behind - p; k++) out[k] = p[k];                                            \
                out += behind - p;                                                                                   \
                p = behind;                                                                                          \
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
