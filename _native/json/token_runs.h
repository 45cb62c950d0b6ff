/* Runs of nSLIP among other wires: where one line after the other begins with a record and ends with it, these records are
 * read by the code of nslip/avx2.h, some dozens at a time, and become rows column by column. All that a line may be beside
 * that (an object, a mark, a sign, a time at its head) cannot stand in such a line, marks apart, which are looked for. The
 * first line that is anything else ends the run: it is read as any line is.
 */
#ifndef TURNWIRE_JSON_TOKEN_RUNS_H
#define TURNWIRE_JSON_TOKEN_RUNS_H

#include "others.h"

#ifdef TW_X86
#include "_native/nslip/avx2.h"

enum { TW_RUN = 64 };                        /* records that are read before their rows are filled */

/* Facts of the records of a run that do not go into the columns as it is. */
typedef struct {
    uint64_t head[TW_HEADERS][TW_RUN];       /* those of TW_ACT and TW_FRAME stay unused */
    uint16_t present[TW_RUN];
    uint8_t act[TW_RUN];
    uint64_t task[TW_RUN];
    int64_t status[TW_RUN];
} tw_run;

/* Up to `room` records, each in a line of its own from k->position on. How many, and *end: behind the last line. all (a
 * constant): every column of nSLIP is wanted. */
TW_INLINE_AVX2 size_t tw_run_of(const tw_lines *k, const tw_columns *c, size_t room, int keep, size_t *end, int all,
                                uint32_t wanted)
{
    const uint8_t *s = k->s;
    size_t p = k->position, stop = k->stop, size = k->size, n = 0, zeroed = 0;
    for (; n < room && p + TW_READ <= size && s[p] == '@'; n++) {
        int64_t line = k->line + (int64_t)n;
        uint32_t length = 0;
        if (tw_usual(s + p)) length = tw_row_avx2(c, s, p, k->limit, k->base, line, n, &zeroed, all, wanted);
        if (!length) length = tw_any_row_avx2(c, s, p, size, k->limit, k->base, line, n, all, keep);
        size_t behind = p + length;
        if (length && behind < stop && s[behind] == '\r') behind++;
        if (!length || behind >= stop || s[behind] != '\n') break;
        p = behind + 1;
    }
    *end = p;
    return n;
}

/* The same; compiled twice, so that the columns that everybody wants are stored without a question. */
TW_AVX2 static size_t tw_read_run(const tw_lines *k, const tw_columns *c, size_t room, int keep, size_t *end)
{
    uint32_t wanted = tw_wanted(c);
    return wanted == TW_WANTED_ALL ? tw_run_of(k, c, room, keep, end, 1, ~0u) : tw_run_of(k, c, room, keep, end, 0, wanted);
}

/* The target of a row of numbers: into its column, or where nobody asked for it into `spare`. */
static inline uint64_t *tw_run_numbers(const tw_column *c, size_t row, uint64_t *spare)
{
    return c && c->values ? (uint64_t *)c->values + row : spare;
}

/* The numbers of the run as texts, record by record. */
static void tw_put_run(tw_lines *k, const tw_among *o, const tw_run *run, size_t first, size_t n)
{
    uint8_t *kept = k->kept;
    size_t size = k->size, behind = k->kept_size, count = 0;
    const uint64_t *numbers[TW_OTHER_TEXTS];
    int64_t *spans[TW_OTHER_TEXTS];
    for (int text = 0; text < TW_OTHER_TEXTS; text++) {
        if (!o->texts[text] || !o->texts[text]->values) continue;
        numbers[count] = run->head[tw_other_heads[text]];
        spans[count++] = (int64_t *)o->texts[text]->values + first;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t text = 0; text < count; text++) {
            size_t digits = tw_put_decimal(kept + behind, numbers[text][i]);
            spans[text][i] = tw_text_span(size + behind, digits);
            behind += digits;
        }
    }
    k->kept_size = behind;
}

/* Zeros in rows `first` to `first` + `n` of all columns but those with these bits. */
static void tw_empty_rows(const tw_json_rows *c, uint64_t filled, size_t first, size_t n)
{
    for (uint64_t missing = c->wanted & ~filled; missing; missing &= missing - 1) {
        tw_column *empty = c->of_bit[tw_low_zeros(missing)];
        memset((uint8_t *)empty->values + first * empty->width, 0, n * empty->width);
    }
}

/* Fills rows `first` to `first` + `n` of all columns but those that the run itself has filled, `t`: offset, length, line, sequence
 * and subject, or all of nSLIP's own. TW_STOPPED where memory ran out. */
static int tw_fill_run(tw_lines *k, const tw_among *o, const tw_run *run, const tw_columns *t, size_t first, size_t n)
{
    tw_json_rows *c = &k->rows;
    const tw_column *subject = o->subject && o->subject->values ? o->subject : NULL;
    const uint64_t tagged = subject ? (uint64_t)1 << subject->valid : 0;
    const uint64_t escaped = subject && subject->escaped < 64 ? (uint64_t)1 << subject->escaped : 0;
    uint64_t always = 0;
    size_t i;
    if (!tw_kept_room(k, n * (TW_OTHER_TEXTS + 1) * TW_DECIMAL_ROOM)) return TW_STOPPED;
    if (tw_other_tells_work(o)) {
        for (i = 0; i < n; i++)
            tw_other_work(k, o, first + i, t->present[i], t->ints[TW_TASK][i], t->texts[0][i], k->s);
        always |= (uint64_t)1 << o->task->valid | (uint64_t)1 << o->work->valid;
    }
    if (k->apart) tw_set_apart(k, first, n);
    if (c->carrier) memset(c->carrier + first, TW_BY_FILE, n);
    if (o->owned) memset(c->present + first, 0, n * sizeof *c->present);
    if (c->wire) memset(c->wire + first, o->wire, n);
    if (c->time) memset(c->time + first, 0, n * sizeof *c->time);
    if (o->owned) {
        tw_empty_rows(c, always, first, n);
        return TW_FINE;
    }
    if (o->kind && o->kind->values) {
        always |= (uint64_t)1 << o->kind->valid;
        for (i = 0; i < n; i++) ((uint8_t *)o->kind->values)[first + i] = o->kinds[run->act[i]];
    }
    if (o->sequence && o->sequence->values) always |= (uint64_t)1 << o->sequence->valid;
    for (int text = 0; text < TW_OTHER_TEXTS; text++)
        if (o->texts[text] && o->texts[text]->values) always |= (uint64_t)1 << o->texts[text]->valid;
    tw_put_run(k, o, run, first, n);
    for (i = 0; i < n; i++)
        c->present[first + i] = always | ((run->present[i] >> TW_TAG) & 1 ? tagged : 0) |
                                (run->present[i] & TW_TAG_ESCAPED ? escaped : 0);
    if (o->sequence && o->sequence->values) { /* of eleven digits not each fits */
        int64_t *sequence = (int64_t *)o->sequence->values + first, any = 0;
        for (i = 0; i < n; i++) any |= sequence[i];
        for (i = 0; any < 0 && i < n; i++) {
            if (sequence[i] >= 0) continue;
            sequence[i] = 0;
            c->present[first + i] &= ~((uint64_t)1 << o->sequence->valid);
        }
    }
    tw_empty_rows(c, always | tagged, first, n);
    return TW_FINE;
}

/* The columns of nSLIP itself, from row `first` on. */
static tw_columns tw_own_run(const tw_among *o, size_t first)
{
    tw_columns t = o->own;
    if (t.present) t.present += first;
    if (t.act) t.act += first;
    if (t.frame) t.frame += first;
    for (int i = 0; i < TW_HEADERS; i++)
        if (t.head[i]) t.head[i] += first;
    for (int i = 0; i < TW_SLOTS; i++)
        if (t.ints[i]) t.ints[i] += first;
    for (int i = 0; i < 2; i++)
        if (t.texts[i]) t.texts[i] += first;
    return t;
}

/* The lines from k->position on, as far as they are a run of records; stores their rows. TW_FINE or TW_STOPPED. */
static int tw_other_run(tw_lines *k)
{
    tw_among *o = (tw_among *)k->others;
    tw_json_rows *c = &k->rows;
    if (k->position < TW_BEFORE) return TW_FINE;
    for (size_t n = TW_RUN; n == TW_RUN;) {
        size_t first = c->count, room = c->room - first < TW_RUN ? c->room - first : TW_RUN, end;
        tw_run run;
        tw_columns t = { 0 };
        if (o->owned) t = tw_own_run(o, first);
        else {
            t.present = run.present;
            t.act = run.act;
            for (int head = TW_CONV; head < TW_HEADERS; head++) t.head[head] = run.head[head];
            t.head[TW_TURN] = tw_run_numbers(o->sequence, first, run.head[TW_TURN]);
            if (o->subject && o->subject->values) t.texts[1] = (int64_t *)o->subject->values + first;
        }
        if (tw_other_tells_work(o)) {
            if (!t.ints[TW_TASK]) t.ints[TW_TASK] = run.task;
            if (!t.texts[0]) t.texts[0] = run.status;
        }
        t.offset = c->offset + first;
        t.length = c->length + first;
        t.line = c->line ? c->line + first : NULL;
        t.room = room;
        n = tw_read_run(k, &t, room, o->flags & TW_KEEP, &end);
        if (!n) break;
        int result = tw_fill_run(k, o, &run, &t, first, n);
        if (result != TW_FINE) return result;
        k->head = (size_t)(t.offset[n - 1] - k->base);
        k->head_known = c->time ? 2 : 0;
        c->count += n;
        k->line += (int64_t)n;
        k->position = end;
    }
    return TW_FINE;
}
#endif

/* The hook of the search for the code that is in use. */
static void tw_choose_run(tw_lines *k)
{
#ifdef TW_X86
    if (tw_other_avx2 && tw_json_level != TW_SCALAR) k->run = tw_other_run;
#endif
    (void)k;
}

#endif
