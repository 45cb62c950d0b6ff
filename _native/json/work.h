/* Columns for the pairing of requests and answers, beside the texts of a record's task and of its own id: whether an answer ends the
 * task, and whether a request asks for anything (turnwire.contract.WORK). A record of which this is not told here is read by
 * the `work` of its wire. */
#ifndef TURNWIRE_WORK_H
#define TURNWIRE_WORK_H

#include "plan.h"
#include "wrapper.h"

enum { TW_FINAL = 1, TW_ASKS = 2, TW_TOLD = 4 };

TW_ALWAYS int tw_same(const uint8_t *p, size_t size, const char *text)
{
    return size == strlen(text) && size && !memcmp(p, text, size);
}

/* --- nSLIP: the STATUS of work that goes on --- */

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

/* --- KickLang: the first section of an envelope's content, as written --- */

typedef struct {
    const uint8_t *p;
    size_t size;
} tw_cut;

/* The header with which content begins: its parts, empty where there is none, and what follows, up to the end of the content.
 * plain: that is simple to tell; read: it was asked. */
typedef struct {
    tw_cut type, place;
    const uint8_t *behind, *end;
    int plain, read;
} tw_header;

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

static int tw_is_header(const tw_value *v, tw_header *h)
{
    const uint8_t *p = v->p, *end = v->p + v->size, *slash = NULL, *from;
    if (v->size < 3 || memcmp(p, tw_sigil, 3)) {
        if (memchr(p, 0xe2, v->size)) return 0; /* a header may stand further on, and be written with escapes */
        for (; v->b.escaped && (p = tw_slash(p, end)) < end; p += 2)
            if (p[1] == 'u') return 0;
        return 1;
    }
    p += 3;
    p += tw_plain_word(p, (size_t)(end - p));
    if (p == v->p + 3) return 0;
    if (p < end && *p == '/') {
        h->type.p = ++p;
        h->type.size = tw_plain_word(p, (size_t)(end - p));
        p += h->type.size;
    }
    if (p >= end || *p++ != ':') return 0;
    for (from = p; p < end && *p != '\\'; p++) {
        if (*p == '/') slash = p;
        else if (!tw_in_name(*p)) return 0;
    }
    if (p == from || (p < end && p[1] != 'n')) return 0;
    h->place = (tw_cut){ from, (size_t)((slash ? slash : p) - from) };
    h->behind = p < end ? p + 2 : end;
    h->end = end;
    return 1;
}

static void tw_read_header(const tw_value *content, tw_header *h)
{
    memset(h, 0, sizeof *h);
    h->plain = content && content->b.is & TW_IS_STRING && tw_is_header(content, h);
    h->read = 1;
}

/* True if the first line behind a header says that the work has ended; -1 where the wire must say. */
static int tw_says_end(const uint8_t *from, const uint8_t *end)
{
    const uint8_t *p = from;
    if (!from) return 0;
    while ((p = tw_slash(p, end)) < end && p[1] != 'n') {
        if (p[1] == 'u') return -1;
        p += 2;
    }
    const size_t size = (size_t)(p - from);
    if (tw_same(from, size, "Completed") || tw_same(from, size, "Failed")) return 1;
    if (size && tw_in_name(*from) && *from != 'C' && *from != 'F') return 0;
    for (size_t i = 0; i + 6 <= size; i++)   /* with white space around it, perhaps */
        if (!memcmp(from + i, "Failed", 6) || (i + 9 <= size && !memcmp(from + i, "Completed", 9))) return -1;
    return 0;
}

/* The bits that an envelope tells of its task by its good channel and its content: TW_TOLD and the other bits; 0 where the wire must
 * say. */
static unsigned tw_standing(const tw_value *channel, const tw_header *h)
{
    const unsigned all = TW_TOLD | TW_FINAL | TW_ASKS;
    if (!h->plain || !channel || channel->b.escaped) return 0;
    const uint8_t *name = channel->p + 3;    /* behind the sigil */
    const size_t size = channel->size - 3;
    if (size > 7 && !memcmp(name, "report/", 7)) {
        if (tw_same(name, size, "report/error") || tw_same(name, size, "report/reject")) return all;
        if (!tw_same(name, size, "report/status")) return all & ~(unsigned)TW_FINAL;
        const int ended = tw_says_end(h->behind, h->end);
        return ended < 0 ? 0 : ended ? all : all & ~(unsigned)TW_FINAL;
    }
    if (size > 6 && !memcmp(name, "query/", 6)) {
        const int answers = tw_same(name, size, "query/answer") || tw_same(h->type.p, h->type.size, "answer");
        return answers ? all & ~(unsigned)TW_ASKS : all;
    }
    const int asks = !tw_same(name, size, "command/stop") && !tw_same(name, size, "command/resume") &&
                     !tw_same(name, size, "command/pause") && !tw_same(name, size, "command/escalate");
    return asks ? all : all & ~(unsigned)TW_ASKS;
}

#endif
