/* Texts of envelopes that are surely good, so that no rule need look: contents and channels, and equal texts. */
#ifndef TURNWIRE_SPACE_PLAIN_H
#define TURNWIRE_SPACE_PLAIN_H

#include <Python.h>
#include "_native/json/strings.h"

enum { TW_ASK = -1, TW_NOT_PLAIN = 0, TW_IS_PLAIN = 1 };

#define TW_PLAIN_SIGIL 0x2AFB
#define TW_PLAIN_LETTER(c) ((c) > 0x20 && (c) < 0x7F)

#define TW_PLAIN(KIND, UNIT)                                                                                   \
    /* One header line of ASCII without white space, then a body in which nothing is a header or forgiven. */   \
    static int tw_plain_content_##KIND(const UNIT *d, size_t n) {                                               \
        size_t i = 1;                                                                                           \
        UNIT bad = 0; /* as wide as a character, so that compilers vectorise */                                 \
        if (n < 2 || d[0] != TW_PLAIN_SIGIL) return TW_NOT_PLAIN;                                               \
        if (d[1] == '/' || d[1] == ':') return TW_ASK;                                                          \
        for (; i < n && d[i] != '\n'; i++)                                                                      \
            if (!TW_PLAIN_LETTER(d[i])) return TW_ASK;                                                          \
        if (i == 1) return TW_ASK;                                                                              \
        for (; i < n; i++) {                                                                                    \
            UNIT c = d[i];                                                                                      \
            bad |= (UNIT)((UNIT)(c == TW_PLAIN_SIGIL) | (UNIT)(c == 0xFEFF) |                                   \
                          (UNIT)((UNIT)(c & (UNIT)~0x7FF) == 0xD800));                                          \
        }                                                                                                       \
        return bad ? TW_NOT_PLAIN : TW_IS_PLAIN;                                                                \
    }                                                                                                           \
    /* The sigil, then printable ASCII with a slash inside. */                                                  \
    static int tw_plain_channel_##KIND(const UNIT *d, size_t n) {                                               \
        size_t slash = 0;                                                                                       \
        if (n == 0 || d[0] != TW_PLAIN_SIGIL) return TW_NOT_PLAIN;                                              \
        for (size_t i = 1; i < n; i++) {                                                                        \
            if (!TW_PLAIN_LETTER(d[i])) return TW_ASK;                                                          \
            if (d[i] == '/' && !slash) slash = i;                                                               \
        }                                                                                                       \
        return slash > 1 && slash + 1 < n ? TW_IS_PLAIN : TW_NOT_PLAIN;                                         \
    }

TW_PLAIN(2, Py_UCS2)
TW_PLAIN(4, Py_UCS4)

/* Whether a content is plain, is surely not (TW_NOT_PLAIN), or must be asked about. */
static inline int tw_plain_content(PyObject *text) {
    size_t size = (size_t)PyUnicode_GET_LENGTH(text);
    switch (PyUnicode_KIND(text)) {
    case 2: return tw_plain_content_2(PyUnicode_2BYTE_DATA(text), size);
    case 4: return tw_plain_content_4(PyUnicode_4BYTE_DATA(text), size);
    default: return TW_NOT_PLAIN; /* without the sigil */
    }
}

static inline int tw_plain_channel(PyObject *text) {
    size_t size = (size_t)PyUnicode_GET_LENGTH(text);
    switch (PyUnicode_KIND(text)) {
    case 2: return tw_plain_channel_2(PyUnicode_2BYTE_DATA(text), size);
    case 4: return tw_plain_channel_4(PyUnicode_4BYTE_DATA(text), size);
    default: return TW_NOT_PLAIN;
    }
}

/* A hash of the characters of a text: quick, for short ones, without a secret. */
static inline uint64_t tw_text_hash(PyObject *text) {
    return tw_name_hash((const uint8_t *)PyUnicode_DATA(text), (size_t)PyUnicode_GET_LENGTH(text) * PyUnicode_KIND(text));
}

static inline int tw_equal_texts(PyObject *one, PyObject *other) {
    size_t size = (size_t)PyUnicode_GET_LENGTH(one) * PyUnicode_KIND(one);
    return one == other ||
           (PyUnicode_KIND(one) == PyUnicode_KIND(other) && PyUnicode_GET_LENGTH(one) == PyUnicode_GET_LENGTH(other) &&
            tw_same_bytes((const uint8_t *)PyUnicode_DATA(one), (const uint8_t *)PyUnicode_DATA(other), size));
}

#endif
