/* A block of which another scan has claimed ranges: what lies between them is scanned, rows for the claims are left
 * open where they belong, and damaged claims are rejected but for the whole lines in them that are a record. The twin is
 * json/_parts_py.py. */
#ifndef TURNWIRE_JSON_PARTS_H
#define TURNWIRE_JSON_PARTS_H

#include "line_signs.h"
#include "scan.h"

enum { TW_PART_BETWEEN, TW_PART_CLAIMED, TW_PART_DAMAGED };

/* Parts of the block in order, one row each; what is between two claims stands in the table, too.
 * start, stop: places in the block; line: that of the start, of a part between claims that behind its end (so that
 * `line` has one entry more than there are parts). fault (in the input), reason: of a damaged claim. row: for a claim,
 * the row that was left open for it. */
typedef struct {
    int64_t *start, *stop, *line, *fault, *row;
    uint8_t *what, *reason;
    size_t count;
    uint8_t wire;                            /* of the claims, for the rejects */
} tw_parts;

/* Stores [at, end) of damaged claim `n` as a reject. Returns TW_FINE or TW_FULL. */
static int tw_store_piece(tw_lines *k, const tw_parts *parts, size_t n, size_t at, size_t end, int64_t line)
{
    tw_json_rejects *c = &k->rejects;
    int64_t first = k->base + (int64_t)at, fault = parts->fault[n];
    size_t row = c->count;
    if (at == end) return TW_FINE;
    if (row == c->room) return TW_FULL;
    c->count++;
    c->offset[row] = first;
    c->length[row] = (int64_t)(end - at);
    c->line[row] = line;
    c->fault[row] = first <= fault && fault <= k->base + (int64_t)end ? fault : first;
    c->reason[row] = parts->reason[n];
    if (c->wire) c->wire[row] = parts->wire;
    tw_place_reject(k, row, -1);
    return TW_FINE;
}

/* Whether a record fills the line s[at .. end), line end excluded; its row stays then. `behind`: where the next line
 * starts. Returns TW_FINE with *whole, TW_FULL (no row left) or TW_STOPPED. */
static int tw_whole_line(tw_lines *k, size_t at, size_t end, size_t behind, int *whole)
{
    size_t row = k->rows.count, arena = k->arena_size;
    int signs = k->signs, final = k->final;  /* signs were looked for in all of the claim */
    k->position = at;
    k->stop = behind;
    k->carried = k->signs = 0;
    k->mute = k->final = 1;                  /* an object that goes on behind the line does not fill it */
    int result = tw_json_lines(k);
    k->mute = k->carried = 0;
    k->signs = signs;
    k->final = final;
    k->open_at = SIZE_MAX;
    *whole = 0;
    if (result != TW_FINE) return result;
    if (k->position >= behind && k->rows.count == row + 1) {
        int64_t place = k->rows.place[row];
        *whole = place == (int64_t)at && place + k->rows.size[row] == (int64_t)end;
    }
    if (*whole) return TW_FINE;
    k->rows.count = row;
    k->arena_size = arena;
    return k->position < behind ? TW_FULL : TW_FINE;
}

/* A damaged claim: records that fill a line in it, and a reject of each piece around them. On TW_FULL the part starts
 * with the piece that did not fit. */
static int tw_carve(tw_lines *k, const tw_parts *parts, size_t n)
{
    const uint8_t *s = k->s;
    size_t p = (size_t)parts->start[n], stop = (size_t)parts->stop[n];
    int64_t line = parts->line[n];
    int result;
    while (p < stop) {
        const uint8_t *newline = (const uint8_t *)memchr(s + p, '\n', stop - p);
        size_t behind = newline ? (size_t)(newline - s) + 1 : stop, end = newline ? behind - 1 : stop, row = k->rows.count;
        size_t arena = k->arena_size, piece = (size_t)parts->start[n];
        int whole = 0;
        if (end > p && s[end - 1] == '\r') end--;
        k->line = line;
        if ((s[p] == '{' || s[p] == '@') && (result = tw_whole_line(k, p, end, behind, &whole)) != TW_FINE) return result;
        line += newline != NULL;
        if (whole) {
            k->rows.count = row;             /* what stands before it comes first */
            if ((result = tw_store_piece(k, parts, n, piece, p, parts->line[n])) != TW_FINE) {
                k->arena_size = arena;
                return result;
            }
            k->rows.count = row + 1;
            parts->start[n] = (int64_t)behind;
            parts->line[n] = line;
        }
        p = behind;
    }
    if ((result = tw_store_piece(k, parts, n, (size_t)parts->start[n], stop, parts->line[n])) == TW_FINE)
        parts->start[n] = (int64_t)stop;
    return result;
}

/* Reads the parts from number *part on; *part is then the one to go on with, from its `start`. Returns TW_FINE (all are
 * read, rows or rejects are full, or a line showed a sign) or TW_STOPPED. */
static int tw_json_parts(tw_lines *k, const tw_parts *parts, size_t *part)
{
    int final = k->final;
    for (; *part < parts->count; (*part)++) {
        k->open_at = SIZE_MAX;
        k->final = final || *part + 1 < parts->count; /* behind the last part the input goes on, behind others a claim */
        size_t n = *part, start = (size_t)parts->start[n], stop = (size_t)parts->stop[n];
        int result = TW_FINE;
        if (parts->what[n] == TW_PART_CLAIMED) {
            if (k->rows.count == k->rows.room) return TW_FINE;
            parts->row[n] = (int64_t)k->rows.count++;
        } else if (parts->what[n] == TW_PART_DAMAGED) {
            size_t from = start < k->signs_from ? k->signs_from : start;
            if (k->signs && from < stop && tw_lines_are_signed(k, from, stop, 1)) return TW_FINE;
            if ((result = tw_carve(k, parts, n)) == TW_FULL) return TW_FINE;
        } else if (!k->carried && start + 1 == stop && k->s[start] == '\n') { /* as between messages line by line */
            k->held = 0;
            k->position = stop;
            k->line = parts->line[n + 1];
            parts->start[n] = (int64_t)stop;
        } else if (start < stop) {
            k->position = start;
            k->stop = stop;
            k->line = parts->line[n + 1] - tw_newlines(k->s + start, stop - start);
            result = tw_json_lines(k);
            parts->start[n] = (int64_t)k->position;
            if (result == TW_FINE && (k->signed_line || k->position < stop)) return TW_FINE;
        }
        if (result != TW_FINE) return result;
    }
    return TW_FINE;
}

#endif
