/* The usual message in one go: header in order, LF lines, known keys in table order, plain heredocs, a blank line behind
   the block. Everything else, every fault included, is left to the scanner: this only ever says yes. */
#ifndef TURNWIRE_CSP_USUAL_H
#define TURNWIRE_CSP_USUAL_H

#include "csp_lines.h"

typedef struct {
    uint64_t hash_key[64];      /* perfect hash of the words: their bytes and their numbers */
    uint8_t hash_word[64];
    uint64_t multiplier;
    uint64_t header_mask[4], header_want[4];  /* "FROM " ... and the mask over its bytes */
    int header_size[4];
    uint64_t head_mask[8], head_want[8];      /* by intent: "TASK " ... */
    int head_size[8];
    uint8_t letter[8];                        /* of the id; 0 for any token */
    uint64_t key_mask[8][5], key_want[8][5];  /* by intent and slot: the key and its space, at most eight bytes */
    int key_size[8][5], key_count[8];
    int first_intent, fileop, patch;          /* word of intent 0; codes of the intents of these blocks */
    int status[2], priority[2];               /* (intent, slot) of the two enums */
} csp_keys;

typedef struct {
    const uint8_t *data;
    int64_t end, base, blocks;
    const uint64_t *newlines, *highs;
    int64_t block, place, number;
    uint64_t mask, high;
    int64_t most_fields, most_key;
    int log;  /* operations of a PATCH and fields of a generic block are wanted as lines only */
} csp_cursor;

/* The next newline into found; no when the masks at hand are used up or the line ends with CR. */
CSP_INLINE int csp_advance(csp_cursor *c, int64_t *found) {
    while (c->mask == 0) {
        if (++c->block >= c->blocks) return 0;
        c->mask = c->newlines[c->block];
        c->high |= c->highs[c->block];
    }
    *found = c->base + (c->block << 6) + csp_ctz(c->mask);
    c->mask &= c->mask - 1;
    c->number++;
    return *found == 0 || c->data[*found - 1] != '\r';
}

CSP_INLINE int csp_is_status(uint64_t word, int64_t length) {
    return (length == 2 && (word & 0xffff) == 0x4b4f) || (length == 4 && (uint32_t)word == 0x4c494146) ||
           (length == 7 && (word & 0xffffffffffffffULL) == 0x4c414954524150ULL);
}

CSP_INLINE int csp_digits(const uint8_t *data, int64_t start, int64_t stop) {
    if (start >= stop) return 0;
    for (; start < stop; start++)
        if ((uint8_t)(data[start] - '0') > 9) return 0;
    return 1;
}

/* The heredoc behind a line that is a key alone: its lines from c->place on. */
CSP_INLINE int csp_usual_heredoc(csp_cursor *c, int32_t *span) {
    const uint8_t *data = c->data;
    int64_t found, run = 0;
    if (!csp_advance(c, &found)) return 0;
    while (c->place + run < found && data[c->place + run] == '<') run++;
    if (run < 3 || c->place + run != found) return 0;
    int64_t start = c->place = found + 1;
    do {
        int64_t line = c->place, at = 0;
        csp_advance(c, &found);  /* a CR belongs to the content */
        if (c->block >= c->blocks) return 0;
        c->place = found + 1;
        if (data[line] != '>') continue;
        while (line + at < found && data[line + at] == '>') at++;
        if (at == run && (line + at == found || (line + at + 1 == found && data[found - 1] == '\r'))) {
            span[0] = (int32_t)start;
            span[1] = (int32_t)(line - start);
            return 1;
        }
    } while (1);
}

/* Length of the KEY at a line's start that a space or its end follows; 0 for none. */
CSP_INLINE int64_t csp_usual_key(const uint8_t *data, int64_t start, int64_t stop) {
    int64_t at = start;
    if (at >= stop || (uint8_t)(data[at] - 'A') > 25) return 0;
    while (at < stop && ((uint8_t)(data[at] - 'A') < 26 || (uint8_t)(data[at] - '0') < 10 || data[at] == '_')) at++;
    return at == stop || data[at] == ' ' ? at - start : 0;
}

/* Whether a line is an operation: "+ DEF N = v", "~ DEF N := v" or "- DEF N". */
CSP_INLINE int csp_usual_change(const uint8_t *data, int64_t start, int64_t stop) {
    uint8_t sign = data[start];
    int64_t at = start + 6;
    if (at >= stop || memcmp(data + start + 1, " DEF ", 5) != 0) return 0;
    if ((uint8_t)(data[at] - 'A') > 25 && data[at] != '_') return 0;
    while (at < stop && ((uint8_t)(data[at] - 'A') < 26 || (uint8_t)(data[at] - '0') < 10 || data[at] == '_')) at++;
    if (sign == '-') return at == stop;
    if (at + 1 >= stop || data[at] != ' ') return 0;
    at++;
    if (sign == '~' && data[at++] != ':') return 0;
    return (sign == '+' || sign == '~') && at < stop && data[at] == '=' && (at + 1 == stop || data[at + 1] == ' ');
}

CSP_INLINE int csp_usual_checkpoint(const uint8_t *data, int64_t start, int64_t stop, int32_t *span) {
    span[0] = (int32_t)start;
    span[1] = (int32_t)(stop - start);
    return start < stop && data[start] == 'C' && csp_digits(data, start + 1, stop);
}

/* The lines of a PATCH up to the blank line behind it. */
CSP_INLINE int csp_usual_patch(csp_cursor *c, int32_t *row) {
    const uint8_t *data = c->data;
    int64_t found, line = c->place;
    if (line + 16 > c->end || !csp_advance(c, &found) || memcmp(data + line, "BASE ", 5) != 0) return 0;
    if (!csp_usual_checkpoint(data, line + 5, found, row + 12)) return 0;
    for (;;) {
        line = c->place = found + 1;
        if (line + 16 > c->end || !csp_advance(c, &found)) return 0;
        if (data[line] == 'A') break;
        if (!csp_usual_change(data, line, found)) return 0;
    }
    if (memcmp(data + line, "APPLY -> ", 9) != 0) return 0;
    if (!csp_usual_checkpoint(data, line + 9, found, row + 14)) return 0;
    c->place = found + 1;
    return c->place < c->end && csp_advance(c, &found) && found == c->place;
}

/* The lines of a PLAN, QUERY or MEM up to the blank line behind it; keys with values only. */
CSP_INLINE int csp_usual_generic(csp_cursor *c) {
    int64_t found, fields = 0;
    for (;;) {
        int64_t line = c->place;
        if (line >= c->end || !csp_advance(c, &found)) return 0;
        if (found == line) return 1;
        int64_t size = csp_usual_key(c->data, line, found);
        if (size == 0 || size > c->most_key || line + size == found || ++fields > c->most_fields) return 0;
        if (size == 3 && memcmp(c->data + line, "CSP", 3) == 0) return 0;  /* "CSP /1" ends a message */
        c->place = found + 1;
    }
}

/* Reads the message whose CSP/1 line the cursor has just passed. The intent, or -1 with nothing but the row touched;
   stop is the end of the block, the cursor behind the blank line. */
CSP_INLINE int csp_usual(csp_cursor *c, const csp_keys *k, int64_t bound, int32_t *row, int64_t *stop) {
    const uint8_t *data = c->data;
    int64_t found = 0, value = 0;
    uint64_t word;
    for (int i = 0; i < 4; i++) {
        if (c->place + 16 > c->end || !csp_advance(c, &found)) return -1;
        word = csp_word(data, c->place, c->end);
        if ((word & k->header_mask[i]) != k->header_want[i]) return -1;
        value = c->place + k->header_size[i] + 1;
        if (!csp_is_token(data, value, found, c->end)) return -1;
        row[4 + 2 * i] = (int32_t)value;  /* INTENT is overwritten by the id */
        row[5 + 2 * i] = (int32_t)(found - value);
        c->place = found + 1;
    }
    if (found - value > 8) return -1;
    word = csp_prefix(csp_word(data, value, c->end), (int)(found - value));
    int slot = (int)((word * k->multiplier) >> 58);
    int intent = k->hash_word[slot] - k->first_intent;
    if (k->hash_key[slot] != word || intent < 0 || intent > 7 || (k->key_count[intent] == 0 && !c->log)) return -1;
    if (!csp_advance(c, &found) || found != c->place) return -1;
    c->place++;

    if (c->place + 16 > c->end || !csp_advance(c, &found)) return -1;
    word = csp_word(data, c->place, c->end);
    if ((word & k->head_mask[intent]) != k->head_want[intent]) return -1;
    value = c->place + k->head_size[intent] + 1;
    int64_t id_stop = found;
    if (intent == k->fileop) {
        id_stop = value;
        while (id_stop < found && data[id_stop] != ' ') id_stop++;
        if (id_stop + 1 >= found) return -1;
        for (int64_t at = id_stop + 1; at < found; at++)
            if (data[at] < 'A' || data[at] > 'Z') return -1;
        row[18] = (int32_t)(id_stop + 1);
        row[19] = (int32_t)(found - id_stop - 1);
    }
    if (value >= found || data[value - 1] != ' ') return -1;
    if (k->letter[intent] == 0 ? !csp_is_token(data, value, id_stop, c->end)
                               : data[value] != k->letter[intent] || !csp_digits(data, value + 1, id_stop)) return -1;
    row[10] = (int32_t)value;
    row[11] = (int32_t)(id_stop - value);
    c->place = found + 1;

    if (k->key_count[intent] == 0) {
        if (!(intent == k->patch ? csp_usual_patch(c, row) : csp_usual_generic(c))) return -1;
        *stop = c->place++;
        return *stop <= bound ? intent : -1;
    }

    int expected = 0, count = k->key_count[intent];
    for (;;) {
        int64_t line = c->place;
        int before = expected;
        if (line + 16 > c->end || !csp_advance(c, &found)) return -1;
        if (found == line) break;
        word = csp_word(data, line, c->end);
        while (expected < count && (word & k->key_mask[intent][expected]) != k->key_want[intent][expected]) expected++;
        if (expected == count) {  /* perhaps a key alone, and its heredoc */
            for (expected = before; expected < count; expected++) {
                int size = k->key_size[intent][expected];
                if (found - line == size && csp_prefix(word ^ k->key_want[intent][expected], size) == 0) break;
            }
            if (expected == count || (intent == k->status[0] && expected == k->status[1]) ||
                (intent == k->priority[0] && expected == k->priority[1])) return -1;
            c->place = found + 1;
            if (!csp_usual_heredoc(c, row + 12 + 2 * expected)) return -1;
            expected++;
            continue;
        }
        value = line + k->key_size[intent][expected] + 1;
        if (value > found || data[value - 1] != ' ') return -1;
        if (intent == k->fileop && expected == 2) return -1;
        if (intent == k->status[0] && expected == k->status[1] &&
            !csp_is_status(csp_word(data, value, c->end), found - value)) return -1;
        if (intent == k->priority[0] && expected == k->priority[1] &&
            (found - value != 2 || data[value] != 'P' || data[value + 1] < '1' || data[value + 1] > '3')) return -1;
        row[12 + 2 * expected] = (int32_t)value;
        row[13 + 2 * expected] = (int32_t)(found - value);
        expected++;
        c->place = found + 1;
    }
    *stop = c->place;
    c->place = found + 1;
    return *stop <= bound ? intent : -1;
}

#endif
