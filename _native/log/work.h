/* Facts of a piece of work in records (turnwire.pairs.Work), as the `work` of each wire reads it: the task and the id as spans,
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
    int answers; /* it may be an answer, of which TW_FINAL is asked */
    const uint8_t *limit; /* the end of what can be read */
    const uint8_t *subject; /* where the text begins that the scan has read as its subject; NULL: nobody knows */
    uint8_t lower[64]; /* a task in small letters, if it is written otherwise */
} tw_work;

static inline int tw_is_word(uint8_t c) { return (c | 32) >= 'a' ? (c | 32) <= 'z' : c >= '0' && c <= '9'; }

TW_ALWAYS int tw_same(const uint8_t *p, size_t size, const char *text)
{
    return size == strlen(text) && size && !memcmp(p, text, size);
}

/* --- nSLIP: the first TASK_ID outside of texts, and the STATUS --------------------------------------------------------- */

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

/* The 64 bytes at p; those behind the end of what can be read are zero. */
static inline const uint8_t *tw_block(const uint8_t *p, const uint8_t *limit, uint8_t rest[64])
{
    return limit - p >= 64 ? p : memcpy(memset(rest, 0, 64), p, (size_t)(limit - p));
}

/* A bit for each byte of a block that is in a text, or the quote before it; the state of all blocks is zero at first. */
static inline uint64_t tw_quoted(const uint8_t *block, uint64_t state[2])
{
    const uint64_t slash = tw_equal(block, '\\', 0);
    uint64_t text = tw_equal(block, '"', 0);
    if (slash | state[0]) text &= ~tw_escaped_bytes(slash, &state[0]);
    for (int i = 1; i < 64; i <<= 1) text ^= text << i;
    text ^= state[1];
    state[1] = 0 - (text >> 63);
    return text;
}

static inline void tw_nslip_work(const uint8_t *p, size_t size, tw_work *w)
{
    const uint8_t *end = p + size, *to;
    uint64_t state[2] = { 0, 0 };
    uint8_t rest[64];
    int status = 0;
    for (const uint8_t *at = p; at < end; at += 64) {
        const uint8_t *block = tw_block(at, w->limit, rest);
        const uint64_t keys = tw_equal(block, 'k', 0) | tw_equal(block, 'u', 0);
        uint64_t slots = tw_equal(block, '|', 0) | (at == p && *p == '@');
        for (slots &= (keys >> 1 | (uint64_t)1 << 63) & ~tw_quoted(block, state); slots; slots &= slots - 1) {
            const uint8_t *from = at + tw_low_zeros(slots) + 2;
            if (from >= end) break;
            if (from[-1] == 'u' && !status && *from == '"') {
                for (to = ++from; to < end && (*to == '_' || (tw_is_word(*to) && *to > '9')); to++) {}
                status = to < end && *to == '"';
                if (status && tw_goes_on(from, (size_t)(to - from))) w->bits &= ~(unsigned)TW_FINAL;
            } else if (from[-1] == 'k' && !w->task) {
                while (from < end && *from == '0') from++;
                for (to = from; to < end && tw_is_word(*to); to++) {}
                w->task = to > from ? from : (const uint8_t *)"0";
                w->task_size = to > from ? (size_t)(to - from) : 1;
            }
        }
    }
}

/* --- CSP/1: the head of a TASK, a RESULT or an ERROR, a STATUS that is PARTIAL, and the task that an ERROR is AT -- */

static inline int tw_is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static inline void tw_csp_work(const uint8_t *p, size_t size, tw_work *w)
{
    const uint8_t *end = p + size, *at = NULL;
    size_t at_size = 0, word = 0;
    int blank = 0, partial = 0;
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
        if (!word) {                         /* the block begins with the first line behind the blank one */
            while (to < n && tw_is_space(line[to])) to++;
            if (to == n) blank = 1;
            if (to == n || !blank) continue;
            word = n > 5 && !memcmp(line, "TASK ", 5) ? 5 : n > 7 && !memcmp(line, "RESULT ", 7) ? 7
                : n > 6 && !memcmp(line, "ERROR ", 6) ? 6 : 0;
            if (!word) return;
            w->task = word == 6 ? NULL : line + word;
            w->task_size = n - word;
            if (word == 5 && !w->answers) return;
        } else if (*line == 'S') {
            partial |= tw_same(line, n, "STATUS PARTIAL");
        } else if (!at && n > 4 && !memcmp(line, "AT T", 4)) {
            for (to = 4; to < n && line[to] >= '0' && line[to] <= '9'; to++) {}
            if (to < n) continue;
            at = line + 3;
            at_size = n - 3;
        }
    }
    if (word == 6) {
        w->task = at;
        w->task_size = at_size;
    } else if (word && partial) {
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
    uint64_t state[2] = { 0, 0 };
    uint8_t rest[64];
    int depth = 0;
    for (; p < end; p += 64) {
        const uint8_t *block = tw_block(p, end, rest);
        const uint64_t closing = tw_equal(block, '}', 32); /* brackets become braces */
        for (uint64_t brace = (closing | tw_equal(block, '{', 32)) & ~tw_quoted(block, state); brace; brace &= brace - 1) {
            depth += closing & brace & (0 - brace) ? -1 : 1;
            if (!depth) return p + tw_low_zeros(brace) + 1;
        }
    }
    return end;
}

/* The members of a good object that have these names, until none is wanted (a bit for each; the first may stand for
 * others, too): 0 where one of them is neither a text nor null, or a name has escapes. */
static inline int tw_members(const uint8_t *p, const uint8_t *end, const tw_string names[3], unsigned wanted, unsigned first,
                             tw_string members[3])
{
    for (p = tw_behind_space(tw_behind_space(p) + 1); *p == '"' && wanted; p = *p == ',' ? tw_behind_space(p + 1) : p) {
        const uint8_t *key = p + 1, *plain = tw_plain(key, end), *slash;
        const uint8_t *close = *plain == '"' ? plain : tw_closing_quote(plain, end);
        int member = 0;
        if (plain < close && tw_slash(plain, close) < close) return 0;
        const size_t n = (size_t)(close - key);
        while (member < 3 && (n != names[member].size || *key != *names[member].p || memcmp(key, names[member].p, n))) member++;
        const uint8_t *value = tw_behind_space(tw_behind_space(close + 1) + 1);
        if (member < 3 && *value != '"' && *value != 'n') return 0;
        if (*value == '"') {
            slash = tw_plain(value + 1, end); /* there are no escapes before it */
            p = *slash == '"' ? slash : tw_closing_quote(slash, end);
            if (member < 3) {
                members[member] = (tw_string){ value + 1, (size_t)(p - (value + 1)), 0 };
                wanted &= ~(member ? 1u << member : first);
            }
            for (; member < 3 && (slash = tw_slash(slash, p)) < p; slash += 2) members[member].escaped |= slash[1] == 'u' ? 2 : 1;
            p++;
        } else if ((*value | 32) == '{') {
            p = tw_behind_nested(value, end);
        } else {
            for (p = value; p < end && *p > ' ' && *p != ',' && *p != '}'; p++) {}
        }
        p = tw_behind_space(p);
    }
    return *p == '}' || !wanted;
}

/* The members of turnwire.pairs.MemberWork: the first that is a text is the task, the third its status, which is read of
 * answers; ends: words with a zero behind each, and another at the end. */
static inline void tw_member_work(const uint8_t *p, size_t size, const tw_string names[3], const char *ends, tw_work *w)
{
    tw_string members[3] = { { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 } };
    const tw_string *task = &members[0], *status = &members[2];
    unsigned big = 0;
    w->bits |= TW_ODD;
    if (!tw_members(p, p + size, names, w->answers ? 7 : 3, 3, members)) return;
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

static inline int tw_in_name(uint8_t c) /* letters, digits, - . _ */
{
    static const uint32_t those[8] = { 0, 0x03ff6000, 0x87fffffe, 0x07fffffe };
    return those[c >> 5] >> (c & 31) & 1;
}

static inline size_t tw_plain_word(const uint8_t *p, size_t size)
{
    size_t n = 0;
    while (n < size && tw_in_name(p[n])) n++;
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
        else if (!tw_in_name(*p)) return -1;
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

/* The text of the member at p, if that has this name; else NULL. */
static inline const uint8_t *tw_text_of(const uint8_t *p, const uint8_t *end, const tw_string *name)
{
    const size_t size = name->size;
    if ((size_t)(end - p) < size + 4 || *p != '"' || memcmp(p + 1, name->p, size) || p[size + 1] != '"') return NULL;
    p = tw_behind_space(tw_behind_space(p + size + 2) + 1); /* behind the colon */
    return *p == '"' ? p + 1 : NULL;
}

/* The same members where most writers put them, the id first and the content behind the channel, which the scan has found: of
 * the content no more than its first section's header and line. 0 where they are not there, or written with escapes. */
static inline int tw_usual_members(const uint8_t *p, const uint8_t *end, const uint8_t *channel, const tw_string names[3],
                                   tw_string members[3])
{
    const uint8_t *id = tw_text_of(tw_behind_space(tw_behind_space(p) + 1), end, &names[0]), *stop, *close, *content;
    if (!id || *(stop = tw_plain(id, end)) != '"' || !channel || end - channel < 16 || memcmp(channel, tw_sigil, 3)) return 0;
    if (*(close = tw_plain(channel + 3, end)) != '"' || *(content = tw_behind_space(close + 1)) != ',') return 0;
    content = tw_text_of(tw_behind_space(content + 1), end, &names[2]);
    if (!content || end - content < 3 || memcmp(content, tw_sigil, 3)) return 0;
    members[0] = (tw_string){ id, (size_t)(stop - id), 0 };
    members[1] = (tw_string){ channel, (size_t)(close - channel), 0 };
    close = tw_closing_quote(stop = content, end);
    for (int lines = 0; lines < 2 && (stop = tw_slash(stop, close)) < close; lines += stop[1] == 'n', stop += 2)
        if (stop[1] == 'u') return 0;
    members[2] = (tw_string){ content, (size_t)(stop - content), 0 };
    return 1;
}

static inline void tw_kick_work(const uint8_t *p, size_t size, tw_work *w)
{
    static const tw_string names[] = { TW_STRING("id"), TW_STRING("channel"), TW_STRING("content") };
    tw_string members[3] = { { NULL, 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 } };
    tw_string type = { NULL, 0, 0 }, place = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    w->bits |= TW_ODD;
    if (!tw_usual_members(p, p + size, w->subject, names, members) && !tw_members(p, p + size, names, 7, 1, members)) return;
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
