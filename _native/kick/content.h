/* The forms of an envelope's values, surely good: ids, and contents of one plain section, as str or as JSON text. Of all
 * others turnwire.kick.rules judge. */
#ifndef TURNWIRE_KICK_CONTENT_H
#define TURNWIRE_KICK_CONTENT_H

#include <Python.h>
#include "_native/json/bytes.h"
#include "_native/json/forms.h"

#define TW_SIGIL 0x2AFB
#define TW_PLAIN_LETTER(c) ((c) > 0x20 && (c) < 0x7F)

#define TW_PLAIN_CONTENT(KIND, UNIT)                                                                          \
    /* One header line of ASCII without white space, then a body in which nothing is a header or forgiven. */  \
    static int tw_plain_content_##KIND(const UNIT *d, size_t n) {                                              \
        size_t i = 1;                                                                                          \
        UNIT bad = 0; /* as wide as a character, so that compilers vectorise */                                \
        if (n < 2 || d[0] != TW_SIGIL || d[1] == '/' || d[1] == ':') return 0;                                 \
        while (i < n && TW_PLAIN_LETTER(d[i])) i++;                                                            \
        if (i == 1 || (i < n && d[i] != '\n')) return 0;                                                       \
        for (; i < n; i++) {                                                                                   \
            UNIT c = d[i];                                                                                     \
            bad |= (UNIT)((UNIT)(c == TW_SIGIL) | (UNIT)(c == 0xFEFF) |                                        \
                          (UNIT)((UNIT)(c & (UNIT)~0x7FF) == 0xD800));                                         \
        }                                                                                                      \
        return !bad;                                                                                           \
    }

TW_PLAIN_CONTENT(2, Py_UCS2)
TW_PLAIN_CONTENT(4, Py_UCS4)

static inline int tw_is_plain_content(PyObject *text)
{
    const size_t size = (size_t)PyUnicode_GET_LENGTH(text);
    switch (PyUnicode_KIND(text)) {
    case 2: return tw_plain_content_2(PyUnicode_2BYTE_DATA(text), size);
    case 4: return tw_plain_content_4(PyUnicode_4BYTE_DATA(text), size);
    default: return 0; /* without the sigil */
    }
}

static inline int tw_is_uuid4(const uint8_t *p, size_t size)
{
    return tw_is_uuid(p, size) && p[14] == '4' && (p[19] == '8' || p[19] == '9' || (p[19] | 32) == 'a' || (p[19] | 32) == 'b');
}

/* Behind the sigil at p, NULL where none is. */
static inline const uint8_t *tw_behind_sigil(const uint8_t *p, const uint8_t *end)
{
    if (end - p >= 3 && !memcmp(p, "\xE2\xAB\xBB", 3)) return p + 3;
    return end - p >= 6 && p[0] == '\\' && p[1] == 'u' && turnwire_hex(p + 2) == TW_SIGIL ? p + 6 : NULL;
}

/* Surely a channel, in JSON text: of it only the sigil may be an escape. */
static inline int tw_is_written_channel(const uint8_t *p, size_t size)
{
    const uint8_t *rest = tw_behind_sigil(p, p + size), *slash;
    const size_t left = rest ? (size_t)(p + size - rest) : 0;
    for (size_t at = 0; at < left; at++)
        if (!TW_PLAIN_LETTER(rest[at]) || rest[at] == '\\') return 0;
    slash = left ? (const uint8_t *)memchr(rest, '/', left) : NULL;
    return slash && slash > rest && slash + 1 < rest + left;
}

/* As tw_is_plain_content, of the good JSON string whose inside is [p, end). */
static inline int tw_is_plain_written(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *header = tw_behind_sigil(p, end), *line, *at;
    if (!header || header == end || *header == '/' || *header == ':') return 0;
    for (line = header; line < end && *line != '\\'; line++)
        if (!TW_PLAIN_LETTER(*line)) return 0;
    if (line == header || (line < end && line[1] != 'n')) return 0;
    for (at = line; (at = (const uint8_t *)memchr(at, 0xBB, (size_t)(end - at))) != NULL; at++)
        if ((at[-2] == 0xE2 && at[-1] == 0xAB) || (at[-1] == 0xEF && at + 1 < end && at[1] == 0xBF)) return 0;
    for (at = line; (at = (const uint8_t *)memchr(at, '\\', (size_t)(end - at))) != NULL; at += 2)
        if (at[1] == 'u' && (turnwire_hex(at + 2) == TW_SIGIL || turnwire_hex(at + 2) == 0xFEFF)) return 0;
    return 1;
}

#endif
