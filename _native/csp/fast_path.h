/* Reads the usual message in one go: header in order, LF lines, known keys in table order, plain heredocs, a blank line
 * behind the block. Everything else, every fault included, is left to the scanner: this only ever says yes. */
#ifndef TURNWIRE_CSP_FAST_PATH_H
#define TURNWIRE_CSP_FAST_PATH_H

#include "window.h"

/* The kinds of values: any text, one of an enum, or a heredoc. */
enum { CSP_ANY, CSP_STATUS, CSP_PRIORITY, CSP_HEREDOC, CSP_NO_KEY };

typedef struct {
    uint64_t mask, want;  /* the key and its space, at most eight bytes; of CSP_NO_KEY what nothing equals */
    int size, way;
    int bit, place;       /* of the slot: in what was seen, and of its span in a row */
} csp_key;

typedef struct {
    uint64_t hash_key[64];      /* perfect hash of the words: their bytes and their numbers */
    uint8_t hash_word[64];
    uint64_t multiplier;
    uint64_t head_mask[8], head_want[8];      /* by intent: "TASK " ... */
    int head_size[8];
    int intent_size[8];                       /* of the intents' own names */
    uint8_t letter[8];                        /* of the id; 0 for any token */
    csp_key key[8][6];                        /* by intent and slot, CSP_NO_KEY behind the last */
    int known[8];                             /* by intent: whether it has these keys and no other */
    int required[8];                          /* a bit for each slot that must be there */
    int first_intent, fileop, patch;          /* word of intent 0; codes of the intents of these blocks */
} csp_keys;

enum { CSP_SLOW = -1, CSP_CUT_OFF = -2 };  /* no usual message; or the window ends in the middle of it */

/* The state of reading; places are counted from the base of the window. */
typedef struct {
    const csp_window *w;
    const uint8_t *text;            /* the first byte of the window */
    const uint16_t *next, *behind;  /* the line feed that ends the line at hand; behind the last that may do so */
    int place;                      /* the line at hand */
    int returns;                    /* whether a line may end with CR; known to the compiler */
    int base, most_key;
    int64_t most_fields;
    int *open_run;                  /* of a heredoc that is not closed in the window: looked for once */
} csp_cursor;

/* Ends a line: its line feed, which is in the window, into found. */
#define CSP_LINE_END_AT_HAND(c, found)                                                           \
    do {                                                                                         \
        found = *(c)->next++;                                                                    \
        if ((c)->returns && found > 0 && (c)->text[found - 1] == '\r') return CSP_SLOW;       \
    } while (0)
#define CSP_LINE_END(c, found)                            \
    do {                                                  \
        if ((c)->next >= (c)->behind) return CSP_CUT_OFF; \
        CSP_LINE_END_AT_HAND(c, found);                   \
    } while (0)

/* True if a word begins with the letters of a literal. */
#define CSP_BEGINS(word, literal) \
    (csp_prefix((word) ^ csp_load((const uint8_t *)literal "\0\0\0\0\0\0\0"), (int)sizeof(literal) - 1) == 0)

TW_ALWAYS void csp_span(const csp_cursor *c, int32_t *span, int start, int stop) {
    span[0] = c->base + start;
    span[1] = stop - start;
}

TW_ALWAYS int csp_is_status(uint64_t word, int length) {
    return (length == 2 && (word & 0xffff) == 0x4b4f) || (length == 4 && (uint32_t)word == 0x4c494146) ||
           (length == 7 && (word & 0xffffffffffffffULL) == 0x4c414954524150ULL);
}

/* True if the bytes are digits, at least one. CSP_SLACK bytes can be read from the start of the line on. */
TW_ALWAYS int csp_digits(const uint8_t *text, int start, int stop) {
    const uint64_t tops = 0xF0F0F0F0F0F0F0F0ULL, zeros = 0x3030303030303030ULL;
    if (start >= stop) return 0;
    while (start < stop) {
        uint64_t word = csp_load(text + start);
        if (stop - start < 8) word = csp_prefix(word, stop - start) | zeros << 8 * (stop - start);
        if (((word & tops) | ((word + 0x0606060606060606ULL) & tops) >> 4) != 0x3333333333333333ULL) return 0;
        start += 8;
    }
    return 1;
}

/* The heredoc behind a line that is a key alone: its lines from c->place on. 1 for yes. */
TW_ALWAYS int csp_fast_heredoc(csp_cursor *c, int32_t *span) {
    const uint8_t *text = c->text;
    const uint16_t *next;
    int found, run = 0, start, line;
    CSP_LINE_END(c, found);
    while (c->place + run < found && text[c->place + run] == '<') run++;
    if (run < 3 || c->place + run != found) return CSP_SLOW;
    if (run == *c->open_run) return CSP_CUT_OFF;
    start = line = found + 1;
    for (next = c->next; next < c->behind; next++, line = found + 1) {
        int at = 0;
        found = *next;  /* a CR belongs to the content */
        if (text[line] != '>') continue;
        while (line + at < found && text[line + at] == '>') at++;
        if (at != run || !(line + at == found || (line + at + 1 == found && text[found - 1] == '\r'))) continue;
        csp_span(c, span, start, line);
        c->next = next + 1;
        c->place = found + 1;
        return 1;
    }
    *c->open_run = run;
    return CSP_CUT_OFF;
}

/* True if a line is an operation: "+ DEF N = v", "~ DEF N := v" or "- DEF N". */
TW_ALWAYS int csp_fast_change(const uint8_t *text, int start, int stop) {
    uint8_t sign = text[start];
    int at = start + 6;
    if (at >= stop || memcmp(text + start + 1, " DEF ", 5) != 0) return 0;
    if ((uint8_t)(text[at] - 'A') > 25 && text[at] != '_') return 0;
    while (at < stop && ((uint8_t)(text[at] - 'A') < 26 || (uint8_t)(text[at] - '0') < 10 || text[at] == '_')) at++;
    if (sign == '-') return at == stop;
    if (at + 1 >= stop || text[at] != ' ') return 0;
    at++;
    if (sign == '~' && text[at++] != ':') return 0;
    return (sign == '+' || sign == '~') && at < stop && text[at] == '=' && (at + 1 == stop || text[at + 1] == ' ');
}

TW_ALWAYS int csp_fast_checkpoint(const csp_cursor *c, int start, int stop, int32_t *span) {
    csp_span(c, span, start, stop);
    return start < stop && c->text[start] == 'C' && csp_digits(c->text, start + 1, stop);
}

/* The lines of a PATCH up to the blank line behind it, which is left: 1 for yes. */
TW_ALWAYS int csp_fast_patch(csp_cursor *c, int32_t *row) {
    const uint8_t *text = c->text;
    int found, line = c->place;
    CSP_LINE_END(c, found);
    if (!CSP_BEGINS(csp_load(text + line), "BASE ") || !csp_fast_checkpoint(c, line + 5, found, row + 12)) return CSP_SLOW;
    for (;;) {
        line = found + 1;
        CSP_LINE_END(c, found);
        if (text[line] == 'A') break;
        if (!csp_fast_change(text, line, found)) return CSP_SLOW;
    }
    if (memcmp(text + line, "APPLY -> ", 9) != 0 || !csp_fast_checkpoint(c, line + 9, found, row + 14))
        return CSP_SLOW;
    line = c->place = found + 1;
    CSP_LINE_END(c, found);
    return found == line ? 1 : CSP_SLOW;
}

/* The lines of a PLAN, QUERY or MEM up to the blank line behind it, which is left; keys with values only. 1 for yes. */
TW_ALWAYS int csp_fast_generic(csp_cursor *c) {
    int64_t fields = 0;
    for (;;) {
        int found, size, line = c->place;
        CSP_LINE_END(c, found);
        if (found == line) return 1;
        size = (int)csp_key_at(c->text, line, found);
        if (size == 0 || size > c->most_key || line + size == found || ++fields > c->most_fields) return CSP_SLOW;
        if (size == 3 && memcmp(c->text + line, "CSP", 3) == 0) return CSP_SLOW;  /* "CSP /1" ends a message */
        c->place = found + 1;
    }
}

/* True if a value in one line is of its kind. */
TW_ALWAYS int csp_fast_value(const uint8_t *text, int value, int stop, int way) {
    if (way == CSP_STATUS) return csp_is_status(csp_load(text + value), stop - value);
    return way == CSP_PRIORITY && stop - value == 2 && text[value] == 'P' && text[value + 1] >= '1' && text[value + 1] <= '3';
}

/* The lines of a block with keys of its own, up to the blank line behind it, which is left. 1 for yes. */
TW_ALWAYS int csp_fast_fields(csp_cursor *c, const csp_keys *k, int intent, int32_t *row) {
    const uint8_t *text = c->text;
    const csp_key *key = k->key[intent];
    int seen = 0;
    for (;; key++) {
        const csp_key *before = key;
        int found, value, line = c->place;
        uint64_t word;
        CSP_LINE_END(c, found);
        if (found == line) return (seen & k->required[intent]) == k->required[intent] ? 1 : CSP_SLOW;
        word = csp_load(text + line);
        while ((word & key->mask) != key->want && key->way != CSP_NO_KEY) key++;
        c->place = found + 1;
        if (key->way == CSP_NO_KEY) {  /* perhaps a key alone, and its heredoc */
            for (key = before; key->way != CSP_NO_KEY; key++)
                if (found - line == key->size && csp_prefix(word ^ key->want, key->size) == 0) break;
            if (key->way != CSP_ANY && key->way != CSP_HEREDOC) return CSP_SLOW;
            int yes = csp_fast_heredoc(c, row + key->place);
            if (yes != 1) return yes;
        } else {
            value = line + key->size + 1;
            if (value > found || text[value - 1] != ' ') return CSP_SLOW;
            if (key->way && !csp_fast_value(text, value, found, key->way)) return CSP_SLOW;
            csp_span(c, row + key->place, value, found);
        }
        seen |= key->bit;
    }
}

/* The first line of the block, with the id. 1 for yes. */
TW_ALWAYS int csp_fast_head(csp_cursor *c, const csp_keys *k, int intent, int32_t *row) {
    const uint8_t *text = c->text;
    int found, value = c->place + k->head_size[intent] + 1, stop;
    CSP_LINE_END_AT_HAND(c, found);
    if ((csp_load(text + c->place) & k->head_mask[intent]) != k->head_want[intent]) return CSP_SLOW;
    if (value >= found || text[value - 1] != ' ') return CSP_SLOW;
    stop = found;
    if (intent == k->fileop) {
        for (stop = value; stop < found && text[stop] != ' ';) stop++;
        if (stop + 1 >= found) return CSP_SLOW;
        for (int at = stop + 1; at < found; at++)
            if (text[at] < 'A' || text[at] > 'Z') return CSP_SLOW;
        csp_span(c, row + 18, stop + 1, found);
    }
    if (k->letter[intent] == 0 ? stop == found ? !csp_is_token_at(c->w, text, value, stop)
                                               : !csp_is_token(text, value, stop, stop)
                               : text[value] != k->letter[intent] || !csp_digits(text, value + 1, stop))
        return CSP_SLOW;
    csp_span(c, row + 10, value, stop);
    c->place = found + 1;
    return 1;
}

/* One line of the header: its value. */
#define CSP_HEADER(c, literal, value, found)                                            \
    do {                                                                                \
        CSP_LINE_END_AT_HAND(c, found);                                                 \
        value = (c)->place + (int)sizeof(literal) - 1;                                  \
        if (!CSP_BEGINS(csp_load((c)->text + (c)->place), literal)) return CSP_SLOW; \
        if (!csp_is_token_at((c)->w, (c)->text, value, found)) return CSP_SLOW;      \
        (c)->place = found + 1;                                                         \
    } while (0)

/* True if the three headers from FROM on are those of the message before, as in most of a conversation: their spans. */
TW_ALWAYS int csp_fast_repeated(csp_cursor *c, const int32_t *before, int32_t *row) {
    const int start = before[0] - c->base + 6, size = before[8] + before[9] + 1 - c->base - start, further = c->place - start;
    if (c->next[2] != c->place + size - 1 || memcmp(c->text + c->place, c->text + start, (size_t)size) != 0) return 0;
    for (int span = 4; span < 10; span += 2) {
        row[span] = before[span] + further;
        row[span + 1] = before[span + 1];
    }
    c->next += 3;
    c->place += size;
    return 1;
}

/* The four headers and the blank line behind them: the intent. before: the row of the message before, or NULL. */
TW_ALWAYS int csp_fast_header(csp_cursor *c, const csp_keys *k, const int32_t *before, int32_t *row) {
    int found, value, intent, slot;
    uint64_t word;
    if (c->behind - c->next < 6) return CSP_CUT_OFF;  /* these lines and the one behind them */
    if (!before || !csp_fast_repeated(c, before, row)) {
        CSP_HEADER(c, "FROM ", value, found);
        csp_span(c, row + 4, value, found);
        CSP_HEADER(c, "TO ", value, found);
        csp_span(c, row + 6, value, found);
        CSP_HEADER(c, "CTX ", value, found);
        csp_span(c, row + 8, value, found);
    }
    CSP_HEADER(c, "INTENT ", value, found);
    if (found - value > 8) return CSP_SLOW;
    word = csp_prefix(csp_load(c->text + value), found - value);
    slot = (int)((word * k->multiplier) >> 58);
    intent = k->hash_word[slot] - k->first_intent;
    if (k->hash_key[slot] != word || intent < 0 || intent > 7) return CSP_SLOW;
    CSP_LINE_END_AT_HAND(c, found);
    if (found != c->place) return CSP_SLOW;
    c->place++;
    return intent;
}

/* The input of csp_fast, and the place where it leaves off. */
typedef struct {
    const csp_keys *keys;
    const uint8_t *data;
    int64_t most_bytes, most_fields, most_key;
    int64_t place;   /* the start of a line, */
    int next;        /* its line feed in the window, */
    int64_t number;  /* and its number */
    int open_run;    /* of the window that ends there: */
    int64_t open_stop;
} csp_reading;

/* The line behind a CSP/1 line and all up to the blank line behind the block: the intent, or what is below 0. */
TW_ALWAYS int csp_fast_body(csp_cursor *c, const csp_keys *k, const int32_t *before, int32_t *row) {
    int yes, intent = csp_fast_header(c, k, before, row);
    if (intent < 0) return intent;
    yes = csp_fast_head(c, k, intent, row);
    if (yes != 1) return yes;
    if (k->known[intent]) yes = csp_fast_fields(c, k, intent, row);
    else yes = intent == k->patch ? csp_fast_patch(c, row) : csp_fast_generic(c);
    return yes == 1 ? intent : yes;
}

TW_ALWAYS int csp_fast_of(const csp_window *w, csp_reading *r, int32_t *rows, int most, int returns, int *why) {
    csp_cursor c = {w, r->data + w->base, w->feeds + r->next, w->feeds + w->usable, (int)(r->place - w->base), returns,
                    (int)w->base, r->most_key < CSP_WINDOW ? (int)r->most_key : CSP_WINDOW, r->most_fields, &r->open_run};
    const uint16_t *next = c.next;
    int start = c.place, end = (int)(w->stop - w->base), count;
    *why = CSP_SLOW;
    if (r->open_stop != w->stop) r->open_run = 0;
    r->open_stop = w->stop;
    for (count = 0; count < most; count++) {
        int32_t *row = rows + 24 * count;
        int found, intent, stop;
        if (c.next >= c.behind) {
            *why = CSP_CUT_OFF;
            break;
        }
        found = *c.next++;
        if (found != start + 5 || !CSP_BEGINS(csp_load(c.text + start), "CSP/1")) break;
        c.place = found + 1;
        memset(row + 12, 0xFF, 12 * sizeof(int32_t));
        intent = csp_fast_body(&c, r->keys, count ? row - 24 : NULL, row);
        if (intent < 0) {
            *why = intent;
            break;
        }
        stop = c.place < end ? c.place : end;
        if (stop - start > r->most_bytes) break;
        if (csp_may_be_high(w, w->base + start, w->base + stop) && csp_bad_utf8(c.text, start, stop) >= 0) break;
        row[0] = c.base + start;
        row[1] = stop - start;
        row[2] = (int32_t)(r->number + (next - (w->feeds + r->next)));
        row[3] = intent;
        start = ++c.place;  /* behind the blank line */
        next = c.next;
    }
    r->number += next - (w->feeds + r->next);
    r->place = w->base + (start < end ? start : end);
    r->next = (int)(next - w->feeds);
    return count;
}

static int csp_fast_lf(const csp_window *w, csp_reading *r, int32_t *rows, int most, int *why) {
    return csp_fast_of(w, r, rows, most, 0, why);
}

static int csp_fast_crlf(const csp_window *w, csp_reading *r, int32_t *rows, int most, int *why) {
    return csp_fast_of(w, r, rows, most, 1, why);
}

/* Reads usual messages that follow one another from r->place on, most of them at most, into rows (spec.ROW_WIDTH). How
   many; r stands behind the last one. why: CSP_CUT_OFF where the window ends in the next one. */
static inline int csp_fast(const csp_window *w, csp_reading *r, int32_t *rows, int most, int *why) {
    return w->returns ? csp_fast_crlf(w, r, rows, most, why) : csp_fast_lf(w, r, rows, most, why);
}

#endif
