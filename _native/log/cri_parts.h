/* One line of a program that CRI cut into parts: those of its stream, one directly behind the other. The rules are those of
 * framing/parts.py, where they are told. */
#ifndef TURNWIRE_LOG_CRI_PARTS_H
#define TURNWIRE_LOG_CRI_PARTS_H

#include "prefixed_lines.h"

/* The part that the line of a walk is: what it says goes from *from to *to. Its mark; '?' where it is of the other stream, and 0
 * where it is no line of CRI. Where *stream is NULL, that becomes the stream of the line. */
static uint8_t tw_cri_part(const tw_line_walk *walk, const uint8_t **stream, size_t *from, size_t *to)
{
    const uint8_t *own;
    uint8_t mark;
    size_t head = tw_cri_head(walk->s, walk->at, walk->behind, &own, &mark);
    if (!head) return 0;
    if (!*stream) *stream = own;
    if (memcmp(own, *stream, 6)) return '?';
    *from = walk->at + head;
    *to = mark == 'P' ? walk->end : walk->behind; /* the line end behind a part is CRI's */
    return mark;
}

/* How many parts the line has that begins with the one at `line`. 0 where that is none that goes on, or where the number is not sure:
 * with the other stream between them, with more than `limit` bytes, or where more may follow. */
static size_t tw_read_parts(const uint8_t *s, size_t line, size_t stop, int final, size_t limit, tw_behind *one)
{
    tw_line_walk walk = { s, NULL, stop, line, line, line, final };
    const uint8_t *stream = NULL;
    size_t from, to;
    uint8_t mark = 'P';
    one->lines = one->size = 0;
    while (mark == 'P') {
        if (tw_next_line(&walk) == TW_LINE_OPEN) return final ? one->lines : 0;
        mark = tw_cri_part(&walk, &stream, &from, &to);
        if (!mark) break;                    /* any other line ends what is cut off */
        if (mark == '?' || walk.behind - line > limit || (!one->lines && mark != 'P')) return 0;
        one->lines++;
        one->size += to - from;
        one->stop = walk.behind;
    }
    return one->lines;
}

/* Copies what the parts say, as tw_copy_behind does. */
static void tw_copy_parts(const uint8_t *s, size_t line, size_t stop, const tw_behind *one, uint8_t *text, int64_t *table)
{
    tw_line_walk walk = { s, NULL, stop, line, line, line, 1 };
    const uint8_t *stream = NULL;
    size_t size = 0, from = 0, to = 0;
    for (size_t i = 0; i < one->lines && tw_next_line(&walk) == TW_LINE; i++) {
        tw_cri_part(&walk, &stream, &from, &to);
        memcpy(text + size, s + from, to - from);
        table[i] = (int64_t)size;
        table[one->lines + i] = (int64_t)from;
        table[2 * one->lines + i] = (int64_t)walk.behind;
        size += to - from;
    }
}

#endif
