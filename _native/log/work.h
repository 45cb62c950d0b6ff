/* What records say of a piece of work (turnwire.pairs.Work), as the `work` of each wire reads it: the task and the id as spans,
 * and bits. What is not read here is odd: the wire's own `work` reads it. */
#ifndef TURNWIRE_WORK_H
#define TURNWIRE_WORK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "_native/json/wrapper.h"

enum { TW_FINAL = 1, TW_ASKS = 2, TW_ODD = 4 };

typedef struct {
    const uint8_t *task, *id; /* NULL: none */
    size_t task_size, id_size;
    unsigned bits;
    uint8_t lower[64]; /* a task in small letters, if it is written otherwise */
} tw_work;

static inline int tw_is_word(uint8_t c) { return (c | 32) >= 'a' ? (c | 32) <= 'z' : c >= '0' && c <= '9'; }

static inline int tw_same(const uint8_t *p, size_t size, const char *text)
{
    return size == strlen(text) && size && !memcmp(p, text, size);
}

/* --- nSLIP: the first TASK_ID and act outside of texts, and the STATUS ------------------------------------------------ */

static const char *const tw_going_on[] = { "waiting", "in_progress", "queued", "running", "accepted", "blocked", "partial" };

static inline int tw_goes_on(const uint8_t *p, size_t size)
{
    uint8_t lower[12];
    if (size > 11) return 0;
    for (size_t i = 0; i < size; i++) lower[i] = p[i] == '_' ? '_' : p[i] | 32;
    for (size_t i = 0; i < sizeof tw_going_on / sizeof *tw_going_on; i++)
        if (tw_same(lower, size, tw_going_on[i])) return 1;
    return 0;
}

/* The next byte at which a slot that matters or a text may begin. */
static inline size_t tw_nslip_stop(const uint8_t *p, size_t i, size_t size)
{
#ifdef TW_SSE2
    for (; i < size && size - i > 16; i += 16) {
        const __m128i here = _mm_loadu_si128((const __m128i *)(p + i)), key = _mm_loadu_si128((const __m128i *)(p + i + 1));
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(key, _mm_set1_epi8('k')), _mm_cmpeq_epi8(key, _mm_set1_epi8('a')));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(key, _mm_set1_epi8('u')));
        found = _mm_and_si128(found, _mm_cmpeq_epi8(here, _mm_set1_epi8('|')));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(here, _mm_set1_epi8('"')));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(here, _mm_set1_epi8('@')));
        const unsigned mask = (unsigned)_mm_movemask_epi8(found);
        if (mask) return i + (size_t)tw_low_zeros_32(mask);
    }
#endif
    while (i < size && p[i] != '|' && p[i] != '"' && p[i] != '@') i++;
    return i;
}

static inline void tw_nslip_work(const uint8_t *p, size_t size, tw_work *w)
{
    const uint8_t *act = NULL;
    size_t act_size = 0;
    int status = 0, going_on = 0, marked = 0;
    for (size_t i = 0; i < size; i++) {
        i = tw_nslip_stop(p, i, size);
        if (i >= size) break;
        if (p[i] == '"') { /* to the end of a text */
            for (i++; i < size && p[i] != '"'; i++) i += p[i] == '\\';
            continue;
        }
        if (p[i] == '@' && !marked) marked = 1;
        else if (p[i] != '|') continue;
        if (i + 1 >= size) break;
        const uint8_t key = p[i + 1];
        if (key != 'k' && key != 'a' && key != 'u') continue;
        size_t from = i + 2, to;
        if (key == 'u') {
            if (status || from >= size || p[from] != '"') continue;
            for (to = ++from; to < size && (p[to] == '_' || (tw_is_word(p[to]) && p[to] > '9')); to++) {}
            if (to < size && p[to] == '"') {
                status = 1;
                going_on = tw_goes_on(p + from, to - from);
                i = to;
            }
            continue;
        }
        while (from < size && p[from] == '0') from++;
        for (to = from; to < size && tw_is_word(p[to]); to++) {}
        if (key == 'k' && !w->task) {
            w->task = to > from ? p + from : (const uint8_t *)"0";
            w->task_size = to > from ? to - from : 1;
        } else if (key == 'a' && !act) {
            act = p + from;
            act_size = to - from;
        }
        i = to - 1;
    }
    if (act_size == 1 && (*act == '2' || *act == '3' || *act == '5' || *act == '6')) going_on = 1;
    if (going_on) w->bits &= ~(unsigned)TW_FINAL;
}

/* --- CSP/1: the first line of a TASK, a RESULT or an ERROR, a STATUS that is PARTIAL, and the task that an ERROR is AT -- */

static inline int tw_is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static inline void tw_csp_work(const uint8_t *p, size_t size, tw_work *w)
{
    const uint8_t *end = p + size, *at = NULL;
    size_t at_size = 0;
    int block = 0, error = 0, partial = 0;
    while (p < end) {
        const uint8_t *stop = memchr(p, '\n', (size_t)(end - p));
        const uint8_t *line = p;
        size_t n = (size_t)((stop ? stop : end) - p), to = 0;
        p = stop ? stop + 1 : end;
        if (n >= 3 && *line == '<' && line[1] == '<' && line[2] == '<') { /* the lines of a value may look like others */
            w->bits |= TW_ODD;
            return;
        }
        n -= n && line[n - 1] == '\r';
        switch (n ? *line : 0) {
        case 'T':
        case 'R':
        case 'E': {
            const size_t word = block ? 0 : n > 5 && !memcmp(line, "TASK ", 5) ? 5 : n > 7 && !memcmp(line, "RESULT ", 7) ? 7
                : n > 6 && !memcmp(line, "ERROR ", 6) ? 6 : 0;
            for (to = word; word && to < n && !tw_is_space(line[to]); to++) {}
            if (!word || to < n) break;
            block = 1;
            error = word == 6;
            w->task = error ? NULL : line + word;
            w->task_size = n - word;
            break;
        }
        case 'S':
            partial |= tw_same(line, n, "STATUS PARTIAL");
            break;
        case 'A':
            if (at || n <= 4 || memcmp(line, "AT T", 4)) break;
            for (to = 4; to < n && line[to] >= '0' && line[to] <= '9'; to++) {}
            if (to < n) break;
            at = line + 3;
            at_size = n - 3;
            break;
        default:
            break;
        }
    }
    if (error) {
        w->task = at;
        w->task_size = at_size;
    } else if (block && partial) {
        w->bits &= ~(unsigned)TW_FINAL;
    }
}

/* --- Objects of JSON: the members that tell of work --------------------------------------------------------------------- */

typedef struct {
    const uint8_t *p;
    size_t size;
    int escaped;
} tw_string;
#define TW_STRING(text) { (const uint8_t *)(text), sizeof(text) - 1, 0 }

/* Behind the good object or array at p. */
static inline const uint8_t *tw_behind_nested(const uint8_t *p, const uint8_t *end)
{
    int depth = 0;
#ifdef TW_SSE2
    uint8_t rest[64] = { 0 };
    for (uint64_t carried = 0, inside = 0; p < end; p += 64) {
        const uint8_t *block = end - p < 64 ? memcpy(rest, p, (size_t)(end - p)) : p;
        uint64_t quote = 0, slash = 0, brace = 0, text, closing = 0;
        for (int i = 0; i < 64; i += 16) {
            const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(block + i));
            const __m128i folded = _mm_or_si128(v, _mm_set1_epi8(32)); /* brackets become braces */
            const unsigned close = tw_are(folded, '}');
            quote |= (uint64_t)tw_are(v, '"') << i;
            slash |= (uint64_t)tw_are(v, '\\') << i;
            brace |= (uint64_t)(tw_are(folded, '{') | close) << i;
            closing |= (uint64_t)close << i;
        }
        if (slash | carried) quote &= ~tw_escaped_bytes(slash, &carried);
        for (int i = (text = quote, 1); i < 64; i <<= 1) text ^= text << i; /* a bit for each byte that is in a text */
        text ^= inside;
        inside = 0 - (text >> 63);
        for (brace &= ~text; brace; brace &= brace - 1) {
            depth += closing & brace & (0 - brace) ? -1 : 1;
            if (!depth) return p + tw_low_zeros(brace) + 1;
        }
    }
#endif
    for (; p < end; p++) {
        if (*p == '"') p = tw_closing_quote(p + 1, end);
        else if ((*p | 32) == '{') depth++;
        else if ((*p | 32) == '}' && !--depth) return p + 1;
    }
    return end;
}

/* The members of a good object that have these names; 0 where one of them stands twice or is neither a text nor null, or a
 * name has escapes. */
static inline int tw_members(const uint8_t *p, const uint8_t *end, const tw_string names[3], tw_string members[3])
{
    for (p = tw_behind_space(tw_behind_space(p) + 1); *p == '"'; p = *p == ',' ? tw_behind_space(p + 1) : p) {
        const uint8_t *key = p + 1, *plain = tw_plain(key, end), *slash;
        const uint8_t *close = *plain == '"' ? plain : tw_closing_quote(plain, end);
        int member = 0;
        if (plain < close && tw_slash(plain, close) < close) return 0;
        const size_t n = (size_t)(close - key);
        while (member < 3 && (n != names[member].size || memcmp(key, names[member].p, n))) member++;
        const uint8_t *value = tw_behind_space(tw_behind_space(close + 1) + 1);
        if (member < 3 && (members[member].p || (*value != '"' && *value != 'n'))) return 0;
        if (*value == '"') {
            slash = tw_plain(value + 1, end); /* there are no escapes before it */
            p = *slash == '"' ? slash : tw_closing_quote(slash, end);
            if (member < 3) members[member] = (tw_string){ value + 1, (size_t)(p - (value + 1)), 0 };
            for (; member < 3 && (slash = tw_slash(slash, p)) < p; slash += 2) members[member].escaped |= slash[1] == 'u' ? 2 : 1;
            p++;
        } else if ((*value | 32) == '{') {
            p = tw_behind_nested(value, end);
        } else {
            for (p = value; p < end && *p > ' ' && *p != ',' && *p != '}'; p++) {}
        }
        p = tw_behind_space(p);
    }
    return *p == '}';
}

/* The members of turnwire.pairs.MemberWork: the first that is a text is the task, the third its status; ends: words with a
 * zero behind each, and another at the end. */
static inline void tw_member_work(const uint8_t *p, size_t size, const tw_string names[3], const char *ends, tw_work *w)
{
    tw_string members[3] = { { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 } };
    const tw_string *task = &members[0], *status = &members[2];
    unsigned big = 0;
    w->bits |= TW_ODD;
    if (!tw_members(p, p + size, names, members)) return;
    if (!task->p) task++;
    for (size_t i = 0; i < task->size; i++) big |= (uint8_t)(task->p[i] - 'A') < 26;
    if (status->escaped || (big && task->size > sizeof w->lower)) return;
    if (tw_plain(task->p, task->p + task->size) < task->p + task->size) return;
    w->bits &= ~(unsigned)(TW_ODD | TW_FINAL);
    w->task = big ? w->lower : task->p;
    w->task_size = task->size;
    for (size_t i = 0; big && i < task->size; i++) w->lower[i] = task->p[i] | ((uint8_t)(task->p[i] - 'A') < 26 ? 32 : 0);
    for (; status->p && *ends; ends += strlen(ends) + 1)
        if (tw_same(status->p, status->size, ends)) w->bits |= TW_FINAL;
}

/* --- KickLang: an object whose values are texts; the first section of its content ------------------------------------- */

static const uint8_t tw_sigil[] = { 0xe2, 0xab, 0xbb };

static inline size_t tw_plain_word(const uint8_t *p, size_t size)
{
    size_t n = 0;
    while (n < size && (tw_is_word(p[n]) || p[n] == '_' || p[n] == '-' || p[n] == '.')) n++;
    return n;
}

/* True where one of two words is in the text, with white space around it, perhaps. */
static inline int tw_ends_in(const uint8_t *p, size_t size)
{
    if (size && tw_is_word(*p) && *p != 'C' && *p != 'F') return 0;
    for (size_t i = 0; i + 6 <= size; i++)
        if ((p[i] == 'F' && !memcmp(p + i, "Failed", 6)) || (p[i] == 'C' && i + 9 <= size && !memcmp(p + i, "Completed", 9))) return 1;
    return 0;
}

/* Of content that begins with a plain header its place, its type and its first line; -1 where it is not as simple as
 * that. */
static inline int tw_opening(const tw_string *s, tw_string *type, tw_string *place, tw_string *line)
{
    const uint8_t *p = s->p, *end = s->p + s->size, *slash = NULL, *from;
    if (s->escaped > 1) return -1; /* a header or a half of a character may be written so */
    if (s->size < 3 || memcmp(p, tw_sigil, 3)) {
        for (; p < end; p++)
            if (*p == 0xe2) return -1;
        return 0;
    }
    p += 3;
    p += tw_plain_word(p, (size_t)(end - p));
    if (p == s->p + 3) return -1;
    if (p < end && *p == '/') {
        type->p = ++p;
        type->size = tw_plain_word(p, (size_t)(end - p));
        p += type->size;
    }
    if (p >= end || *p++ != ':') return -1;
    for (from = p; p < end && *p != '\\'; p++) {
        if (*p == '/') slash = p;
        else if (!tw_plain_word(p, 1)) return -1;
    }
    if (p == from || (p < end && p[1] != 'n')) return -1;
    *place = (tw_string){ from, (size_t)((slash ? slash : p) - from), 0 };
    if (p == end) return 0; /* no content */
    p += 2;
    for (from = p; (p = memchr(p, '\\', (size_t)(end - p))) != NULL && p[1] != 'n';) p += 2;
    if (!p) p = end;
    *line = (tw_string){ from, (size_t)(p - from), 0 };
    return 0;
}

static inline void tw_kick_work(const uint8_t *p, size_t size, tw_work *w)
{
    static const tw_string names[] = { TW_STRING("id"), TW_STRING("channel"), TW_STRING("content") };
    tw_string members[3] = { { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 } };
    tw_string type = { NULL, 0, 0 }, place = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    w->bits |= TW_ODD;
    if (!tw_members(p, p + size, names, members)) return;
    const tw_string *id = &members[0], *channel = &members[1], *content = &members[2];
    if (!channel->p || !content->p || id->escaped || channel->escaped || channel->size < 5) return;
    if (memcmp(channel->p, tw_sigil, 3)) return;
    const uint8_t *family = channel->p + 3;
    const size_t rest = channel->size - 3, family_size = tw_plain_word(family, rest);
    if (!family_size || family_size + 1 >= rest || family[family_size] != '/') return;
    const uint8_t *name = family + family_size + 1;
    const size_t name_size = rest - family_size - 1;
    if (tw_plain_word(name, name_size) != name_size || tw_opening(content, &type, &place, &line) < 0) return;
    w->bits &= ~(unsigned)TW_ODD;
    if (place.p) {
        w->task = place.p;
        w->task_size = place.size;
    }
    if (id->size) {
        w->id = id->p;
        w->id_size = id->size;
    }
    if (tw_same(family, family_size, "report")) {
        const int status = tw_same(name, name_size, "status");
        const int ended = status && (tw_same(line.p, line.size, "Completed") || tw_same(line.p, line.size, "Failed"));
        if (status && !ended && tw_ends_in(line.p, line.size)) w->bits |= TW_ODD;
        if (!ended && !tw_same(name, name_size, "error") && !tw_same(name, name_size, "reject")) w->bits &= ~(unsigned)TW_FINAL;
    }
    if (tw_same(family, family_size, "query") && (tw_same(name, name_size, "answer") || tw_same(type.p, type.size, "answer")))
        w->bits &= ~(unsigned)TW_ASKS;
    if (tw_same(family, family_size, "command")
        && (tw_same(name, name_size, "stop") || tw_same(name, name_size, "resume") || tw_same(name, name_size, "pause")
            || tw_same(name, name_size, "escalate")))
        w->bits &= ~(unsigned)TW_ASKS;
}

#endif
