/* The columns of nSLIP itself, and how a record that was parsed becomes a row of them. */
#ifndef TURNWIRE_NSLIP_ROWS_H
#define TURNWIRE_NSLIP_ROWS_H

#include "_native/common/text_span.h"
#include "parse.h"

/* Columns of one batch; NULL where nobody asked. Rows are written from index `count` on. */
typedef struct {
    int64_t *offset, *length, *line;
    uint16_t *present;                       /* bit per slot, then TW_STATUS_ESCAPED, TW_TAG_ESCAPED, TW_KEPT */
    uint8_t *act, *frame;
    uint64_t *head[TW_HEADERS];              /* conv_id, src, dst, turn at their TW_ index */
    uint64_t *ints[TW_SLOTS];
    int64_t *texts[2];                       /* spans: see tw_text_span */
    size_t count, room;
} tw_columns;

enum { TW_STATUS_ESCAPED = 1 << 9, TW_TAG_ESCAPED = 1 << 10, TW_KEPT = 1 << 11, TW_FRAME_KNOWN = 1 << 12 };

/* Writes the values of a message into row n; `shift` is added to the places of its texts. */
static inline void tw_store_fields(const tw_columns *c, size_t n, const tw_fields *f, size_t shift)
{
    const tw_values *v = f->v;
    uint32_t present = v->present | (uint32_t)(f->escaped & 3) << 9;
    if (f->unknown_count) present |= TW_KEPT;
    if (v->head[TW_FRAME] <= TW_MAX_FRAME) present |= TW_FRAME_KNOWN;
    if (c->present) c->present[n] = (uint16_t)present;
    if (c->act) c->act[n] = (uint8_t)v->head[TW_ACT];
    if (c->frame) c->frame[n] = v->head[TW_FRAME] <= TW_MAX_FRAME ? (uint8_t)v->head[TW_FRAME] : 255;
    for (int i = TW_CONV; i < TW_HEADERS; i++)
        if (c->head[i]) c->head[i][n] = v->head[i];
    for (int i = 0; i < TW_SLOTS; i++)
        if (c->ints[i]) c->ints[i][n] = (v->present >> i) & 1 ? v->ints[i] : 0;
    for (int i = 0; i < 2; i++) {
        if (!c->texts[i]) continue;
        int here = (v->present >> (i ? TW_TAG : TW_STATUS)) & 1;
        c->texts[i][n] = here ? tw_text_span(f->text_first[i] + shift, f->text_length[i]) : 0;
    }
}

/* The columns asked for, in bits: header numbers, integer slots, text slots. */
enum {
    TW_WANTED_HEAD = 1, TW_WANTED_INTS = 2, TW_WANTED_TEXTS = 4, TW_WANTED_ALL = 8,
    TW_WANTED_SLOTS = TW_WANTED_INTS | TW_WANTED_TEXTS
};

static inline uint32_t tw_wanted(const tw_columns *c)
{
    uint32_t wanted = 0, heads = 0, ints = 0, texts = 0;
    int places = c->offset && c->length && c->line && c->present && c->act && c->frame;
    for (int i = TW_CONV; i < TW_HEADERS; i++) heads += c->head[i] != NULL;
    for (int i = 0; i < TW_SLOTS; i++) ints += c->ints[i] != NULL;
    for (int i = 0; i < 2; i++) texts += c->texts[i] != NULL;
    if (places && heads == TW_HEADERS - TW_CONV && ints == TW_SLOTS - 2 && texts == 2) return TW_WANTED_ALL;
    if (heads) wanted |= TW_WANTED_HEAD;
    if (ints) wanted |= TW_WANTED_INTS;
    if (texts) wanted |= TW_WANTED_TEXTS;
    return wanted;
}

#endif
