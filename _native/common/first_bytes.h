/* Tells the wire of one record by its first bytes, and of a JSON object by the keys in it. It says what the wires' own
 * "detect" functions say (turnwire.sstp.codec, .sap.codec, .kick.codec), or TW_UNSURE; then these are asked. */
#ifndef TURNWIRE_FIRST_BYTES_H
#define TURNWIRE_FIRST_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "wide.h"

enum { TW_NSLIP, TW_CSP, TW_SSTP, TW_SAP, TW_KICK, TW_UNSURE };

/* The keys that tell the JSON wires apart, a bit for each ("marks"). A key counts at any depth and even inside a string,
 * as it does for "detect". TW_SIGIL: "channel" is there, and its value begins with the sigil of KickLang. */
enum {
    TW_HEADER = 1, TW_ORIGIN = 2, TW_VERSION = 4, TW_TASK_ID = 8, TW_MESSAGE_ID = 16, TW_CORRELATION_ID = 32,
    TW_ACK = 64, TW_NACK = 128, TW_SENDER = 256, TW_RECEIVER = 512, TW_CHANNEL = 1024, TW_SIGIL = 2048,
    TW_PIECE = 4096                          /* a line may be one of Docker or journald, see json/_wrapper_py.py, may_be_piece */
};
static inline int tw_is_white(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline int tw_is_json_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static inline int tw_is_letter(uint8_t c) { return (uint8_t)((c | 32) - 'a') < 26; }

/* True if a string that begins with the sigil of KickLang, U+2AFB as UTF-8 or as an escape, is the value of the key that ends
 * at p. */
static int tw_sigil_follows(const uint8_t *p, const uint8_t *end)
{
    while (p < end && tw_is_white(*p)) p++;
    if (p == end || *p++ != ':') return 0;
    while (p < end && tw_is_white(*p)) p++;
    if (p == end || *p++ != '"') return 0;
    if (end - p >= 3 && memcmp(p, "\xe2\xab\xbb", 3) == 0) return 1;
    return end - p >= 6 && memcmp(p, "\\u2", 3) == 0 && (p[3] | 32) == 'a' && (p[4] | 32) == 'f' && (p[5] | 32) == 'b';
}

#define TW_MARK(name, bit) \
    if ((size_t)(end - p) >= sizeof name - 1 && memcmp(p, name, sizeof name - 1) == 0) return bit

/* The bit of the key that begins at p, behind its quote; 0 for a key of no wire. */
static inline unsigned tw_key_mark(const uint8_t *p, const uint8_t *end)
{
    switch (*p) {
    case 'h': TW_MARK("header\"", TW_HEADER); return 0;
    case 'o': TW_MARK("origin\"", TW_ORIGIN); return 0;
    case 'p': TW_MARK("protocolVersion\"", TW_VERSION); return 0;
    case 't': TW_MARK("taskId\"", TW_TASK_ID); return 0;
    case 'm': TW_MARK("messageId\"", TW_MESSAGE_ID); return 0;
    case 'A': TW_MARK("ACK\"", TW_ACK); return 0;
    case 'N': TW_MARK("NACK\"", TW_NACK); return 0;
    case 's': TW_MARK("sender\"", TW_SENDER); TW_MARK("stream\"", TW_PIECE); return 0;
    case '_': TW_MARK("__REALTIME_TIMESTAMP\"", TW_PIECE); return 0;
    case '\\': TW_MARK("\\u", TW_PIECE); return 0;
    case 'r': TW_MARK("receiver\"", TW_RECEIVER); return 0;
    case 'c':
        TW_MARK("correlationId\"", TW_CORRELATION_ID);
        TW_MARK("channel\"", TW_CHANNEL | (tw_sigil_follows(p + 8, end) ? TW_SIGIL : 0));
    }
    return 0;
}

#ifdef TW_X86
/* The bits of all keys in [p, end), more than 34 bytes. Three bytes of a key are looked at at once, of each byte its low half:
 * what that can be in the keys of a set is a bit of the set. The sets: messageId, receiver; taskId, NACK; correlationId, stream,
 * __REALTIME_TIMESTAMP; header, channel; origin, protocolVersion; ACK; sender; an escape. */
TW_TARGET("avx2") static TW_APART unsigned tw_marks_avx2(const uint8_t *p, const uint8_t *end)
{
    static const uint8_t low[3][16] = {
        { 16, 32, 1, 4 | 8 | 64, 2, 0, 0, 0, 8, 0, 0, 0, 128, 1, 2, 4 | 16 },
        { 0, 2, 16, 32, 4, 1 | 8 | 64 | 128, 0, 0, 8, 0, 0, 0, 0, 0, 0, 4 },
        { 128, 8 | 128, 4 | 128, 1 | 2 | 128, 128, 128, 128, 128, 128, 16 | 128, 128, 32 | 128, 128, 128, 64 | 128, 16 | 128 },
    };
    const uint8_t *last = end - 35;
    unsigned found = 0;
    for (;; p += 32) {
        if (p > last) p = last;
        __m256i sets = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)p), _mm256_set1_epi8('"'));
        for (int at = 0; at < 3; at++) {
            __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)low[at]));
            sets = _mm256_and_si256(sets, _mm256_shuffle_epi8(table, _mm256_loadu_si256((const __m256i *)(p + 1 + at))));
        }
        uint32_t hits = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(sets, _mm256_setzero_si256()));
        for (; hits; hits &= hits - 1) found |= tw_key_mark(p + tw_low_zeros_32(hits) + 1, end);
        if (p == last) return found;
    }
}
#endif

/* The bits of all keys in [p, end). */
static unsigned tw_marks_in(const uint8_t *p, const uint8_t *end)
{
    unsigned found = 0;
#ifdef TW_X86
    if (end - p > 34 && TW_PROCESSOR_HAS("avx2")) return tw_marks_avx2(p, end);
#endif
    for (; end - p > 1; p++)
        if (*p == '"') found |= tw_key_mark(p + 1, end);
    return found;
}

/* The wire of the text at p, which begins with a brace. marks: of the keys in it; NULL: they are looked for where they are needed. */
static int tw_json_wire(const uint8_t *p, const uint8_t *end, const unsigned *marks)
{
    for (p++; p < end && tw_is_json_blank(*p); p++) {}
    if (end - p >= 8 && memcmp(p, "\"header\"", 8) == 0) return TW_SSTP;
    if (p == end || *p != '"') return TW_UNSURE;
    unsigned found = marks ? *marks : tw_marks_in(p, end);
    if (found & (TW_HEADER | TW_ORIGIN)) return TW_UNSURE;
    if ((found & TW_VERSION) && (found & TW_TASK_ID)) return TW_SAP;
    if ((found & TW_MESSAGE_ID) && (found & TW_CORRELATION_ID) && (found & (TW_ACK | TW_NACK))) return TW_SAP;
    if (found & TW_SIGIL) return TW_KICK;
    return (found & TW_SENDER) && (found & TW_RECEIVER) && (found & TW_CHANNEL) ? TW_KICK : TW_UNSURE;
}

/* Behind the object that opens at p; NULL where it does not close. */
static TW_UNUSED const uint8_t *tw_behind_object(const uint8_t *p, const uint8_t *end)
{
    for (size_t depth = 0; p < end; p++) {
        if (*p == '{') depth++;
        else if (*p == '}' && --depth == 0) return p + 1;
        else if (*p == '"')
            while (++p < end && *p != '"') p += *p == '\\';
    }
    return NULL;
}

/* The wire of the record [p, p + size). */
static TW_UNUSED int tw_wire_of(const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size;
    if (size >= 5 && memcmp(p, "CSP/1", 5) == 0) {
        p += 5;
        if (p == end || *p == '\n' || *p == ';' || (end - p >= 2 && p[0] == '\r' && p[1] == '\n')) return TW_CSP;
        return end - p >= 6 && memcmp(p, " MODE;", 6) == 0 ? TW_CSP : TW_UNSURE;
    }
    while (p < end && tw_is_json_blank(*p)) p++;
    if (p < end && *p == '{') return tw_json_wire(p, end, NULL);
    while (p < end && tw_is_white(*p)) p++;
    if (end - p >= 3 && *p == '@' && tw_is_letter(p[1]) && (tw_is_letter(p[2]) || (uint8_t)(p[2] - '0') < 10 || p[2] == '"'))
        return TW_NSLIP;
    return TW_UNSURE;
}

#endif
