/* Characters of JSON strings, copied and looked at in the same pass; and UTF-8 as a str. Sixteen or eight at a time; a
   short run by two words that overlap, so that nothing is read or written beyond it. */
#ifndef TURNWIRE_JSON_RUNS_H
#define TURNWIRE_JSON_RUNS_H

#include <Python.h>
#include "bytes.h"

#define JSON_ONES 0x0101010101010101ULL

static inline int json_is_special(Py_UCS4 letter) {
    return letter < 0x20 || letter == '"' || letter == '\\' || (letter & 0xFFFFF800u) == 0xD800;
}

/* Not 0 where one of these eight characters is not written as it stands. */
static inline uint64_t json_special_in(uint64_t word) {
    uint64_t quote = word ^ JSON_ONES * '"', slash = word ^ JSON_ONES * '\\';
    return (((quote - JSON_ONES) & ~quote) | ((slash - JSON_ONES) & ~slash) | ((word - JSON_ONES * 0x20) & ~word)) &
           JSON_ONES * 0x80;
}

#ifdef TW_SSE2
/* A bit for each of these sixteen characters that is not written as it stands. */
static inline unsigned json_special_mask(__m128i word) {
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), low = _mm_set1_epi8(0x1F);
    __m128i special = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(word, quote), _mm_cmpeq_epi8(word, slash)),
                                   _mm_cmpeq_epi8(_mm_min_epu8(word, low), word));
    return (unsigned)_mm_movemask_epi8(special);
}
#endif

#define JSON_RUN(NAME, UNIT)                                                                      \
    static inline Py_ssize_t NAME(UNIT *to, const UNIT *from, Py_ssize_t at, Py_ssize_t size) {   \
        for (; at < size && !json_is_special(from[at]); at++) to[at] = from[at];                  \
        return at;                                                                                \
    }

/* Each copies [0, size) up to the first character that is not written as it stands, or that is not a character, and says
   where that is; else size. What is behind it may have been copied as well. */
JSON_RUN(json_run_1, Py_UCS1)
JSON_RUN(json_run_2, Py_UCS2)
JSON_RUN(json_run_4, Py_UCS4)

static inline Py_ssize_t json_copy_1(Py_UCS1 *to, const Py_UCS1 *from, Py_ssize_t size) {
    uint64_t first, last, hit;
    if (size < 4) return json_run_1(to, from, 0, size);
    if (size < 8) {
        uint32_t low, high;
        memcpy(&low, from, 4);
        memcpy(&high, from + size - 4, 4);
        memcpy(to, &low, 4);
        memcpy(to + size - 4, &high, 4);
        return json_special_in(low | (uint64_t)high << 32) ? json_run_1(to, from, 0, size) : size;
    }
#ifdef TW_SSE2
    if (size >= 16) {
        for (Py_ssize_t at = 0;;) {
            __m128i word = _mm_loadu_si128((const __m128i *)(from + at));
            unsigned mask = json_special_mask(word);
            _mm_storeu_si128((__m128i *)(to + at), word);
            if (mask) return at + tw_low_zeros_32(mask);
            at += 16;
            if (at == size) return size;
            if (at > size - 16) at = size - 16;
        }
    }
#endif
    for (Py_ssize_t at = 0; at < size - 8; at += 8) {
        memcpy(&first, from + at, 8);
        memcpy(to + at, &first, 8);
        if (json_special_in(first)) return json_run_1(to, from, at, size);
    }
    memcpy(&last, from + size - 8, 8);
    memcpy(to + size - 8, &last, 8);
    hit = json_special_in(last);
    return hit ? json_run_1(to, from, size - 8, size) : size;
}

#ifdef TW_SSE2
static inline void json_widen_2(Py_UCS2 *to, __m128i word) {
    const __m128i zero = _mm_setzero_si128();
    _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi8(word, zero));
    _mm_storeu_si128((__m128i *)(to + 8), _mm_unpackhi_epi8(word, zero));
}

static inline void json_widen_4(Py_UCS4 *to, __m128i word) {
    const __m128i zero = _mm_setzero_si128(), low = _mm_unpacklo_epi8(word, zero), high = _mm_unpackhi_epi8(word, zero);
    _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi16(low, zero));
    _mm_storeu_si128((__m128i *)(to + 4), _mm_unpackhi_epi16(low, zero));
    _mm_storeu_si128((__m128i *)(to + 8), _mm_unpacklo_epi16(high, zero));
    _mm_storeu_si128((__m128i *)(to + 12), _mm_unpackhi_epi16(high, zero));
}

static inline void json_same(void *to, __m128i word) { _mm_storeu_si128((__m128i *)to, word); }

/* Two bits for each of these eight characters that is not written as it stands. */
static inline unsigned json_special_mask_2(__m128i word) {
    const __m128i quote = _mm_set1_epi16('"'), slash = _mm_set1_epi16('\\'), top = _mm_set1_epi16((short)0xF800),
                  surrogate = _mm_set1_epi16((short)0xD800), low = _mm_set1_epi16(0x1F), zero = _mm_setzero_si128();
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi16(word, quote), _mm_cmpeq_epi16(word, slash)),
        _mm_or_si128(_mm_cmpeq_epi16(_mm_and_si128(word, top), surrogate),
                     _mm_cmpeq_epi16(_mm_subs_epu16(word, low), zero))));
}

/* Four bits for each of these four. */
static inline unsigned json_special_mask_4(__m128i word) {
    const __m128i quote = _mm_set1_epi32('"'), slash = _mm_set1_epi32('\\'), top = _mm_set1_epi32((int)0xFFFFF800),
                  surrogate = _mm_set1_epi32(0xD800), space = _mm_set1_epi32(0x20);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi32(word, quote), _mm_cmpeq_epi32(word, slash)),
        _mm_or_si128(_mm_cmpeq_epi32(_mm_and_si128(word, top), surrogate), _mm_cmplt_epi32(word, space))));
}
#endif

/* The same of wider characters; STEP of them at a time, each BITS bits of a mask. */
#ifdef TW_SSE2
#define JSON_COPY_FAST(STEP, BITS, MASK)                                                           \
    if (size >= STEP) {                                                                            \
        for (Py_ssize_t at = 0;;) {                                                                \
            __m128i word = _mm_loadu_si128((const __m128i *)(from + at));                          \
            unsigned mask = MASK(word);                                                            \
            _mm_storeu_si128((__m128i *)(to + at), word);                                          \
            if (mask) return at + tw_low_zeros_32(mask) / BITS;                                    \
            at += STEP;                                                                            \
            if (at == size) return size;                                                           \
            if (at > size - STEP) at = size - STEP;                                                \
        }                                                                                          \
    }
#else
#define JSON_COPY_FAST(STEP, BITS, MASK)
#endif

#define JSON_COPY(NAME, RUN, UNIT, STEP, BITS, MASK)                                               \
    static inline Py_ssize_t NAME(UNIT *to, const UNIT *from, Py_ssize_t size) {                   \
        JSON_COPY_FAST(STEP, BITS, MASK)                                                           \
        return RUN(to, from, 0, size);                                                             \
    }

JSON_COPY(json_copy_2, json_run_2, Py_UCS2, 8, 2, json_special_mask_2)
JSON_COPY(json_copy_4, json_run_4, Py_UCS4, 4, 4, json_special_mask_4)

/* Sixteen at a time, the last ones once more where they are fewer. */
static inline void json_widen_12(Py_UCS2 *to, const Py_UCS1 *from, size_t count) {
#ifdef TW_SSE2
    for (size_t at = 0; count >= 16; at = at + 16 > count - 16 ? count - 16 : at + 16) {
        json_widen_2(to + at, _mm_loadu_si128((const __m128i *)(from + at)));
        if (at + 16 == count) return;
    }
#endif
    for (size_t at = 0; at < count; at++) to[at] = from[at];
}

#define JSON_WIDEN(TO, FROM) \
    for (size_t at = 0; at < count; at++) ((TO *)to)[at] = ((const FROM *)from)[at]

/* Copies characters into ones of `wide` bytes, at least as many as they have. */
static inline void json_widen(int wide, void *to, int kind, const void *from, size_t count) {
    if (wide == kind) memcpy(to, from, count * (size_t)kind);
    else if (wide == 2) json_widen_12((Py_UCS2 *)to, (const Py_UCS1 *)from, count);
    else if (kind == 1) JSON_WIDEN(Py_UCS4, Py_UCS1);
    else JSON_WIDEN(Py_UCS4, Py_UCS2);
}

/* --- UTF-8 that is known to be good --- */

#ifdef TW_SSE2
/* If sixteen bytes are ASCII, the next place does not wait for the mask; the last sixteen are written at once, over what
   stands there already. */
#define JSON_UNPACK_FAST(UNIT, WIDEN)                                                             \
    while (behind - out >= 16) {                                                                  \
        __m128i word = _mm_loadu_si128((const __m128i *)p);                                       \
        unsigned mask = (unsigned)_mm_movemask_epi8(word);                                        \
        WIDEN(out, word);                                                                         \
        if (mask) {                                                                               \
            int run = tw_low_zeros_32(mask);                                                      \
            out += run;                                                                           \
            p += run;                                                                             \
            do *out++ = (UNIT)json_character(&p);                                                 \
            while (p < end && *p >= 0x80);                                                        \
        } else {                                                                                  \
            out += 16;                                                                            \
            p += 16;                                                                              \
        }                                                                                         \
    }                                                                                             \
    if (p < end && behind - first >= 16) {                                                        \
        __m128i word = _mm_loadu_si128((const __m128i *)(end - 16));                              \
        if (!_mm_movemask_epi8(word)) {                                                           \
            WIDEN(behind - 16, word);                                                             \
            return;                                                                               \
        }                                                                                         \
    }
#else
#define JSON_UNPACK_FAST(UNIT, WIDEN)
#endif

#define JSON_UNPACK(NAME, UNIT, WIDEN)                                                                             \
    static void NAME(UNIT *out, UNIT *behind, const unsigned char *p, const unsigned char *end) {                  \
        UNIT *const first = out;                                                                                   \
        (void)first, (void)behind;                                                                                 \
        JSON_UNPACK_FAST(UNIT, WIDEN)                                                                              \
        while (p < end) {                                                                                          \
            uint64_t word;                                                                                         \
            if (end - p >= 8 && (memcpy(&word, p, 8), !(word & JSON_ONES * 0x80))) {                                \
                for (int at = 0; at < 8; at++) out[at] = p[at];                                                    \
                out += 8;                                                                                          \
                p += 8;                                                                                            \
            } else if (*p < 0x80) *out++ = *p++;                                                                   \
            else *out++ = (UNIT)json_character(&p);                                                                \
        }                                                                                                          \
    }

JSON_UNPACK(json_unpack_1, Py_UCS1, json_same)
JSON_UNPACK(json_unpack_2, Py_UCS2, json_widen_2)
JSON_UNPACK(json_unpack_4, Py_UCS4, json_widen_4)

/* How many characters these bytes are; *greatest: the greatest of the bytes. */
static inline Py_ssize_t json_count(const unsigned char *p, const unsigned char *end, unsigned char *greatest) {
    Py_ssize_t count = 0;
    unsigned char most = 0;
#ifdef TW_SSE2
    const __m128i inner = _mm_set1_epi8(-65), zero = _mm_setzero_si128();
    __m128i top = zero;
    unsigned char tops[16];
    while (end - p >= 16) {
        __m128i lanes = zero;
        for (int turn = 0; turn < 255 && end - p >= 16; turn++, p += 16) {
            __m128i word = _mm_loadu_si128((const __m128i *)p);
            top = _mm_max_epu8(top, word);
            lanes = _mm_sub_epi8(lanes, _mm_cmpgt_epi8(word, inner));
        }
        lanes = _mm_sad_epu8(lanes, zero);
        count += _mm_cvtsi128_si32(lanes) + _mm_cvtsi128_si32(_mm_srli_si128(lanes, 8));
    }
    for (int half = 8; half; half >>= 1) {
        _mm_storeu_si128((__m128i *)tops, top);
        top = _mm_max_epu8(top, _mm_loadl_epi64((const __m128i *)(tops + half)));
    }
    most = (unsigned char)_mm_cvtsi128_si32(top);
#endif
    for (; p < end; p++) {
        most = *p > most ? *p : most;
        count += (signed char)*p > -65;
    }
    *greatest = most;
    return count;
}

/* The text of `count` characters, none above `most`, that these bytes of good UTF-8 are. */
static PyObject *json_unpacked(const unsigned char *p, const unsigned char *end, Py_ssize_t count, Py_UCS4 most) {
    PyObject *text = PyUnicode_New(count, most);
    void *out;
    if (text == NULL) return NULL;
    out = PyUnicode_DATA(text);
    if (most <= 127) memcpy(out, p, (size_t)count);
    else if (most <= 0xFF) json_unpack_1((Py_UCS1 *)out, (Py_UCS1 *)out + count, p, end);
    else if (most <= 0xFFFF) json_unpack_2((Py_UCS2 *)out, (Py_UCS2 *)out + count, p, end);
    else json_unpack_4((Py_UCS4 *)out, (Py_UCS4 *)out + count, p, end);
    return text;
}

/* How many characters the text of bytes of good UTF-8 has, and the greatest of the bytes. */
static inline size_t json_characters(PyObject *bytes) {
    const unsigned char *p = (const unsigned char *)PyBytes_AS_STRING(bytes);
    unsigned char greatest;
    const size_t count = (size_t)json_count(p, p + PyBytes_GET_SIZE(bytes), &greatest);
    return count << 8 | greatest;
}

/* The text of bytes of which these were counted. */
static inline PyObject *json_counted_text(PyObject *bytes, size_t counted) {
    const unsigned char *p = (const unsigned char *)PyBytes_AS_STRING(bytes);
    const unsigned greatest = counted & 0xFF;
    return json_unpacked(p, p + PyBytes_GET_SIZE(bytes), (Py_ssize_t)(counted >> 8),
                         greatest < 0x80 ? 127 : greatest < 0xC4 ? 0xFF : greatest < 0xF0 ? 0xFFFF : 0x10FFFF);
}

/* The text of what was read, bytes that are known to be good UTF-8, or a str. */
static inline PyObject *json_text_of(PyObject *source) {
    const unsigned char *p;
    if (!PyBytes_CheckExact(source)) {
        Py_INCREF(source);
        return source;
    }
    p = (const unsigned char *)PyBytes_AS_STRING(source);
    if (!tw_is_ascii(p, (size_t)PyBytes_GET_SIZE(source))) return json_counted_text(source, json_characters(source));
    return json_unpacked(p, p + PyBytes_GET_SIZE(source), PyBytes_GET_SIZE(source), 127);
}

#endif
