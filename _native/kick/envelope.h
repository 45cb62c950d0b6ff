/* Recognises envelopes of KickLang that are surely good, by their str fields or their JSON text, and finds the fields in a
 * text that has these and nothing else. All others are in doubt (0): the reader of JSON text and the rules judge them. */
#ifndef TURNWIRE_KICK_ENVELOPE_H
#define TURNWIRE_KICK_ENVELOPE_H

#include <Python.h>
#include "_native/json/rules.h"
#include "_native/json/runs.h"
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
    }

TW_PLAIN(2, Py_UCS2)
TW_PLAIN(4, Py_UCS4)

/* The form of a content: plain, surely not (TW_NOT_PLAIN), or one to ask about. */
static inline int tw_plain_content(PyObject *text) {
    size_t size = (size_t)PyUnicode_GET_LENGTH(text);
    switch (PyUnicode_KIND(text)) {
    case 2: return tw_plain_content_2(PyUnicode_2BYTE_DATA(text), size);
    case 4: return tw_plain_content_4(PyUnicode_4BYTE_DATA(text), size);
    default: return TW_NOT_PLAIN; /* without the sigil */
    }
}

static inline int tw_is_uuid4(const uint8_t *p, size_t size)
{
    return tw_is_uuid(p, size) && p[14] == '4' && (p[19] == '8' || p[19] == '9' || (p[19] | 32) == 'a' || (p[19] | 32) == 'b');
}

enum { TW_FIELDS = 8, TW_ID = 0, TW_TIMESTAMP, TW_SENDER, TW_RECEIVER, TW_TYPE, TW_CHANNEL, TW_CONTENT, TW_CORRELATION };

/* A string of JSON: its inside, how many characters it has, which are at most `most`, how many bytes its UTF-8 has besides
 * one for each character, and how many characters are sigils or byte order marks. */
typedef struct { const uint8_t *from, *to; Py_ssize_t count, more; uint32_t most; int marks; } tw_part;

/* The string whose inside starts at p: behind its quote. */
static const uint8_t *tw_part_at(tw_walk *w, const uint8_t *p, tw_part *part)
{
    const uint8_t *behind;
    uint32_t code;
    int size;
    part->from = p;
    part->count = part->more = 0;
    part->most = 127;
    part->marks = 0;
    for (;; p += size) {
        behind = p < w->end && *p >= 0x80 ? p : tw_plain(p, w->end);
        part->count += behind - p;
        p = behind;
        if (p >= w->end) return NULL;
        if (*p == '"') break;
        part->count++;
        if (*p == '\\') {
            if (!(size = tw_escape_size(p, w->end))) return NULL;
            if (p[1] == '/' || p[1] == 'u') w->own = 0;
            if (p[1] != 'u') continue;
            code = size == 12 ? 0x10FFFF : turnwire_hex(p + 2);
            part->marks += code == 0x2AFB || code == 0xFEFF;
        } else {
            if (*p < 0x80 || !(size = tw_utf8_size(p, w->end))) return NULL;
            part->more += size - 1;
            code = size == 2 ? (uint32_t)(*p & 0x1F) << 6 | 0x3F : size == 3 ? 0xFFFF : 0x10FFFF;
            part->marks += size == 3 && (!memcmp(p, "\xE2\xAB\xBB", 3) || !memcmp(p, "\xEF\xBB\xBF", 3));
        }
        if (code > part->most) part->most = code;
    }
    part->to = p;
    return p + 1;
}

/* Which field the name at p is, with its quotes: mostly the one that comes next in their usual order; -1 for none of them. */
static inline int tw_field_at(const uint8_t *p, const uint8_t *end, const tw_choice *names, int next)
{
    for (int turn = 0; turn < TW_FIELDS; turn++) {
        int at = next + turn < TW_FIELDS ? next + turn : next + turn - TW_FIELDS;
        if (end - p >= (ptrdiff_t)names[at].size && tw_same_bytes(p, names[at].text, names[at].size)) return at;
    }
    return -1;
}

/* The fields of the object that the text [p, p + size) is, and nothing else, in any order: how many. names: each with its
 * quotes. w->clean: they are in the order of writing; w->own: and nothing else of the text would be written otherwise. */
static int tw_envelope_parts(tw_walk *w, const uint8_t *p, size_t size, const tw_choice *names, tw_part *parts)
{
    int at = -1, closed = 0, last;
    unsigned seen = 0;
    w->end = p + size;
    w->own = w->clean = 1;
    p = tw_walk_skip(w, p);
    if (p >= w->end || *p != '{') return 0;
    p = tw_walk_skip(w, p + 1);
    while (!closed) {
        last = at;
        at = tw_field_at(p, w->end, names, last + 1 < TW_FIELDS ? last + 1 : 0);
        if (at < 0 || seen >> at & 1) return 0;
        if (at < last) w->own = w->clean = 0;
        seen |= 1u << at;
        p = tw_walk_skip(w, p + names[at].size);
        if (p >= w->end || *p != ':') return 0;
        p = tw_walk_skip(w, p + 1);
        if (p >= w->end || *p != '"' || !(p = tw_part_at(w, p + 1, &parts[at]))) return 0;
        if (!(p = tw_walk_next(w, p, '}', &closed))) return 0;
    }
    if (tw_walk_skip(w, p) != w->end) return 0;
    return seen == (1u << TW_FIELDS) - 1 ? TW_FIELDS : seen == (1u << TW_CORRELATION) - 1 ? TW_CORRELATION : 0;
}

static inline size_t tw_part_size(const tw_part *part) { return (size_t)(part->to - part->from); }

/* How many characters the whole text of so many bytes has, and how great they may be: where it has no \u. */
static inline Py_ssize_t tw_envelope_count(const tw_part *parts, int count, Py_ssize_t size, uint32_t *most)
{
    *most = 127;
    for (int at = 0; at < count; at++) {
        size -= parts[at].more;
        if (parts[at].most > *most) *most = parts[at].most;
    }
    return size;
}

static PyObject *tw_part_text(const tw_part *part)
{
    PyObject *text;
    if ((Py_ssize_t)tw_part_size(part) == part->count + part->more) /* no escapes */
        return json_unpacked(part->from, part->to, part->count, part->most);
    if ((text = PyUnicode_New(part->count, part->most)) != NULL)
        turnwire_put(PyUnicode_KIND(text), PyUnicode_DATA(text), part->from, part->to);
    return text;
}

/* The bytes of a text; -1 where it has none. */
static inline int tw_part_of(tw_part *part, PyObject *text)
{
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (bytes == NULL) return -1;
    part->from = (const uint8_t *)bytes;
    part->to = part->from + size;
    return 0;
}

/* True if a part without escapes is a text whose bytes tw_part_of has asked for. */
static inline int tw_part_is(const tw_part *part, PyObject *text)
{
    tw_part other;
    return (Py_ssize_t)tw_part_size(part) == part->count + part->more && tw_part_of(&other, text) == 0 &&
           tw_part_size(&other) == tw_part_size(part) && tw_same_bytes(part->from, other.from, tw_part_size(part));
}

/* A hash of sender, receiver, channel and type, without a secret. */
static inline uint64_t tw_mixed(const tw_part *parts, int word)
{
    static const int used[] = { TW_SENDER, TW_RECEIVER, TW_CHANNEL };
    uint64_t mixed = (uint64_t)word + 1;
    for (int at = 0; at < 3; at++) mixed = mixed * 31 + tw_name_hash(parts[used[at]].from, tw_part_size(&parts[used[at]]));
    return mixed ^ mixed >> 20;
}

/* Surely a channel: no character of it is written as an escape. */
static inline int tw_part_is_channel(const tw_part *part)
{
    return tw_part_size(part) == (size_t)part->count + 2 && tw_is_channel(part->from, tw_part_size(part));
}

static inline int tw_part_is_uuid4(const tw_part *part) { return tw_is_uuid4(part->from, tw_part_size(part)); }

/* Behind the sigil at p, NULL where none is. */
static inline const uint8_t *tw_behind_sigil(const uint8_t *p, const uint8_t *end)
{
    if (end - p >= 3 && !memcmp(p, "\xE2\xAB\xBB", 3)) return p + 3;
    return end - p >= 6 && p[0] == '\\' && p[1] == 'u' && turnwire_hex(p + 2) == 0x2AFB ? p + 6 : NULL;
}

/* As tw_plain_content: one header line of ASCII, and no further sigil. */
static inline int tw_part_is_plain(const tw_part *part)
{
    const uint8_t *start = tw_behind_sigil(part->from, part->to), *p = start, *end = part->to;
    if (part->marks != 1 || !p || p == end || *p == '/' || *p == ':') return 0;
    for (; p < end && *p != '\\'; p++)
        if (*p <= ' ' || *p >= 0x7F) return 0;
    return p > start && (p == end || p[1] == 'n');
}

/* True if the fields of which no policy says anything are surely good. */
static int tw_envelope_is_plain(const tw_part *parts, int count)
{
    return tw_part_is_uuid4(&parts[TW_ID]) && tw_is_short_time(parts[TW_TIMESTAMP].from, tw_part_size(&parts[TW_TIMESTAMP])) &&
           (count == TW_CORRELATION || tw_part_is_uuid4(&parts[TW_CORRELATION])) && tw_part_is_plain(&parts[TW_CONTENT]);
}

#endif
