/* Messages behind the prefixes of lines: CSP/1, and objects over several lines. The lines that begin alike are joined to a text
 * with a map of its places, and the message is read there. The readable twin is log/search/carriers.py. Included by search.h. */
#ifndef TURNWIRE_SEARCH_PREFIXED_H
#define TURNWIRE_SEARCH_PREFIXED_H

enum { TW_MOST_USUAL = 2048, TW_MOST_FOREIGN_LINES = 64, TW_MOST_FOREIGN = 1 << 14, TW_FIRST_GATHERED = 256 };
enum { TW_FORM_OPEN = -1 };                  /* more must be there to say which form the lines have */

/* The lines of a form. exact: a blank line has all of the prefix, too; bare: its size without the white space at its end. */
typedef struct { csp_around around; size_t bare, foreign; int exact; } tw_form;

/* Lines that were joined, so far. next: the line to look at; size: bytes of their text; whole: no more can follow; more: it
 * may; apart: 1 if others stand between them, 3 if joining stopped because of that. */
typedef struct {
    tw_stretch *stretches;
    tw_span *lines;
    size_t count, stretch_room, line_room, next, size, foreign, foreign_size;
    int whole, more, apart;
} tw_gathered;

static int tw_all_space(const uint8_t *s, size_t p, size_t end)
{
    while (p < end && tw_space(s[p])) p++;
    return p == end;
}

/* True if something of a prefix may be a record of its own, or end one that began in a line before. */
static int tw_has_record(const uint8_t *s, size_t p, size_t end)
{
    int braces = 0;
    for (; p < end; p++) {
        size_t q = p + 1;
        if (s[p] == '}' && !braces) return 1;
        braces |= s[p] == '{' || s[p] == '}';
        if (s[p] == '{') {
            while (q < end && tw_is_blank(s[q])) q++;
            if (q < end && (s[q] == '"' || s[q] == '}')) return 1;
        } else if (s[p] == '@' && q < end && (uint8_t)((s[q] | 32) - 'a') < 26) {
            while (q < end && (csp_is_digit(s[q]) || (uint8_t)((s[q] | 32) - 'a') < 26)) q++;
            if (q < end && s[q] == '|') return 1;
        }
    }
    return 0;
}

/* True if s[line .. at) can be a prefix of what stands behind it: 1 or 0; -1 where the readable twin must say. */
static int tw_is_prefix(const uint8_t *s, size_t line, size_t at)
{
    uint8_t last = 0;
    if (at == line || at - line > TW_MOST_PREFIX || tw_has_record(s, line, at)) return 0;
    if (at - line == 3 && s[line] == 0xEF && s[line + 1] == 0xBB && s[line + 2] == 0xBF) return 0;
    for (size_t p = line; p < at;) {
        size_t behind = tw_behind_ansi(s, p, at);
        if (behind == p) last = s[behind++];
        p = behind;
    }
    if (last >= 0x80) return -1;
    return !(csp_is_digit(last) || (uint8_t)((last | 32) - 'a') < 26 || last == '_');
}

/* Bytes of the line s[p .. behind) that stand in front of what it says, or TW_NOT_ALIKE. */
static int64_t tw_taken_of(const tw_form *f, const uint8_t *s, size_t p, size_t behind)
{
    size_t end = behind, mark = 0;
    int64_t taken;
    if (f->around.form == TW_HANGING) {
        while (end > p && (s[end - 1] == '\n' || s[end - 1] == '\r')) end--;
        size_t q = p;
        while (q < end && q - p < f->around.size && s[q] == ' ') q++;
        if (q - p == f->around.size) return (int64_t)(q - p);
        while (q < end && (tw_is_blank(s[q]) || s[q] == '\r')) q++;
        return q == end ? (int64_t)(end - p) : TW_NOT_ALIKE;
    }
    if (behind - p >= 3 && s[p] == 0xEF && s[p + 1] == 0xBB && s[p + 2] == 0xBF) mark = 3;
    else if (f->bare && s[p] != *f->around.prefix && s[p] != TW_ESCAPE && *f->around.prefix != TW_ESCAPE &&
             !csp_is_digit(*f->around.prefix) && !tw_blank(*f->around.prefix))
        return TW_NOT_ALIKE;                 /* lines of others are, mostly */
    taken = tw_alike(f->around.prefix, f->around.size, s, p + mark, behind);
    if (taken != TW_NOT_ALIKE) return taken + (int64_t)mark;
    if (f->exact) return TW_NOT_ALIKE;
    taken = tw_alike(f->around.prefix, f->bare, s, p + mark, behind);
    if (taken == TW_NOT_ALIKE || !tw_all_space(s, p + mark + (size_t)taken, behind)) return TW_NOT_ALIKE;
    while (end > p + mark && (s[end - 1] == ' ' || s[end - 1] == '\t' || s[end - 1] == '\r' || s[end - 1] == '\n')) end--;
    return (int64_t)(end - p);
}

/* True if s[p .. end) is a line of the header of CSP/1 and nothing else. */
static int tw_is_first_header(const uint8_t *s, size_t p, size_t end)
{
    for (int i = 0; i < CSP_HEADERS; i++) {
        size_t q = p + (size_t)csp_word_at(s, (int64_t)p, (int64_t)end, csp_headers[i]), first = q;
        if (q == p || q == end || s[q] != ' ') continue;
        while (q < end && s[q] == ' ') q++;
        for (first = q; q < end && !tw_is_blank(s[q]) && s[q] != '\r' && s[q] != '\n';) q++;
        if (q == first) return 0;
        while (q < end && (tw_is_blank(s[q]) || s[q] == '\r' || s[q] == '\n')) q++;
        return q == end;
    }
    return 0;
}

/* True if a prefix reads as the beginning of a sentence: what stands behind it is only spoken of. */
static int tw_is_sentence(const uint8_t *prefix, size_t size)
{
    size_t last = size;
    while (last && tw_is_blank(prefix[last - 1])) last--;
    return (last && (csp_is_digit(prefix[last - 1]) || (uint8_t)((prefix[last - 1] | 32) - 'a') < 26 || prefix[last - 1] >= 0x80)) ||
           !size || !memchr(" \t>|:]", prefix[size - 1], 6);
}

/* Sets the form that the lines from `p` on have, told by the first of them that is not blank and
 * belongs to no other text: TW_NO_FORM where no message goes on
 * there, or TW_FORM_OPEN. */
static int tw_form_of(tw_form *f, const tw_region *r, const uint8_t *s, size_t p)
{
    size_t foreign = 0, size = 0;
    int64_t moment;
    int marked = 1, damaged = 0;             /* the first line may be a damaged one of the header; ordinary text has no second one */
    for (size_t i = 0; i < f->around.size; i++) marked &= !csp_is_letter(f->around.prefix[i]);
    while (p < r->end) {
        const uint8_t *newline = (const uint8_t *)memchr(s + p, '\n', r->end - p);
        size_t behind = newline ? (size_t)(newline - s) + 1 : r->end, end = behind;
        if (tw_behind_taken(&r->taken, p) > p) { p = behind; continue; }
        if (!newline && !r->final) return TW_FORM_OPEN;
        size += behind - p;
        f->around.form = TW_REPEATED;
        int64_t taken = tw_taken_of(f, s, p, behind);
        if (taken != TW_NOT_ALIKE) {
            size_t q = p + (size_t)taken;
            if (!tw_all_space(s, q, behind))
                return f->around.form = (s[q] | 32) == 'c' && tw_says_csp(s, q, behind) ? TW_NO_FORM : TW_REPEATED;
        } else if (!tw_all_space(s, p, behind)) {
            while (end > p && (s[end - 1] == '\n' || s[end - 1] == '\r')) end--;
            int64_t from = (int64_t)p, to = (int64_t)end;
            int like = csp_header_like(s, from, to, marked);
            f->around.form = TW_HANGING;
            if (!foreign) {
                if (tw_taken_of(f, s, p, behind) != TW_NOT_ALIKE && behind - p >= f->around.size &&
                    tw_is_first_header(s, p + f->around.size, behind)) return TW_HANGING;
                if (tw_is_first_header(s, p, behind) || ((csp_look_key(s, from, to) || csp_has_title(s, from, to)) &&
                    !tw_is_sentence(f->around.prefix, f->around.size))) return f->around.form = TW_BARE;
                damaged = like && !tw_head_time(s + p, end - p < CSP_HEAD_TIME ? end - p : CSP_HEAD_TIME, &moment);
            } else if (foreign == 1 && damaged && like) {
                return f->around.form = TW_BARE;
            }
            if (++foreign > f->foreign + (size_t)damaged || size > TW_MOST_FOREIGN) return f->around.form = TW_NO_FORM;
        }
        p = behind;
    }
    return f->around.form = !r->final ? TW_FORM_OPEN : damaged && foreign == 1 ? TW_BARE : TW_NO_FORM;
}

/* Puts the next lines of the form behind those that there are, from what stands at `at` in the line `line` on, until they say `most`
 * bytes or, where others stand between them, to the next message. `inner` is their text, which ends the arena. 0: no memory. */
static int tw_gather(tw_search *w, tw_region *r, tw_region *inner, const tw_form *f, tw_gathered *g, size_t line, size_t at, size_t most)
{
    tw_lines *k = &w->k;
    const int repeated = f->around.form == TW_REPEATED;
    const size_t foreign = repeated ? f->foreign : 0, prefix = f->around.size;
    const tw_span *taken_lines = r->taken.spans + tw_spans_before(&r->taken, g->next, 0), *no_more = r->taken.spans + r->taken.count;
    g->whole = r->final;
    g->more = 0;
    while (g->next < r->end) {
        const uint8_t *s = tw_text(k, r), *newline = (const uint8_t *)memchr(s + g->next, '\n', r->end - g->next);
        size_t start = g->next, behind = newline ? (size_t)(newline - s) + 1 : r->end;
        while (taken_lines < no_more && taken_lines->stop <= start) taken_lines++;
        if (taken_lines < no_more && taken_lines->start <= start && start != line) { g->next = behind; g->apart |= 1; continue; }
        if (!newline && !r->final) { g->whole = 0; break; }
        int same = repeated && behind - start >= prefix && s[start] != 0xEF && tw_same_bytes(s + start, f->around.prefix, prefix);
        int64_t taken = start == line ? (int64_t)(at - line) : same ? (int64_t)prefix : tw_taken_of(f, s, start, behind);
        if (taken == TW_NOT_ALIKE) {
            g->foreign_size += behind - start;
            if (++g->foreign > foreign || g->foreign_size > TW_MOST_FOREIGN) { g->whole = 1; break; }
            g->next = behind;
            g->apart |= 1;
            continue;
        }
        size_t from = start + (size_t)taken, size = behind - from;
        g->next = behind;
        g->foreign = g->foreign_size = 0;
        if (!tw_arena_room(k, size + 128) ||
            !tw_more_room((void **)&g->stretches, &g->stretch_room, g->count, 1, sizeof *g->stretches) ||
            !tw_more_room((void **)&g->lines, &g->line_room, g->count, 1, sizeof *g->lines)) {
            k->json.no_memory = 1;
            return 0;
        }
        g->lines[g->count] = (tw_span){ start, behind };
        g->stretches[g->count++] = (tw_stretch){ .start = g->size, .size = size, .outer = from, .until = behind };
        memcpy(k->arena + k->arena_size, tw_text(k, r) + from, size);
        k->arena_size += size;
        g->size += size;
        g->more = g->size >= most || (g->apart == 1 && size == 6 && !memcmp(k->arena + k->arena_size - 6, "CSP/1\n", 6));
        if (g->more) {
            g->apart |= g->apart << 1;       /* it may stand in a heredoc, as others behind it: so look once */
            g->whole = behind == r->end && r->final;
            break;
        }
    }
    inner->stretches = g->stretches;
    inner->stretch_count = g->count;
    inner->end = inner->start + g->size;
    inner->final = g->whole;
    if (g->count) k->arena[k->arena_size] = '\n';
    return 1;
}

/* The text up to `stop` is read: *behind is its end in the text around it, where the walk goes on (*next). Where others stand between
 * its lines, it goes on behind the first one, and the rest of them are taken. */
static int tw_take_gathered(tw_search *w, tw_region *r, const tw_region *inner, const tw_gathered *g, size_t at, size_t stop,
                            size_t *next, size_t *behind)
{
    size_t mine = 1, apart = 0, size = stop - inner->start;
    for (; mine < g->count && g->stretches[mine].start < size; mine++) apart |= g->lines[mine].start ^ g->lines[mine - 1].stop;
    const tw_stretch *last = &g->stretches[mine - 1];
    *behind = last->outer + (size - last->start);
    if (*behind < at) *behind = at;
    if (!apart) {
        *next = *behind;
        return TW_FINE;
    }
    g->lines[mine - 1].stop = *behind;       /* something else may stand behind it on its line */
    if (tw_take(&r->taken, g->lines + 1, mine - 1, g->lines->start)) return TW_FINE;
    w->k.json.no_memory = 1;
    return TW_STOPPED;
}

/* The next three '>' in a row from a place on, or the end. */
static size_t tw_next_run(tw_search *w, tw_region *r, size_t at)
{
    const uint8_t *s = tw_text(&w->k, r);
    if (r->next_run && r->runs_from <= at && at <= r->next_run) return r->next_run;
    r->runs_from = at;
    r->next_run = r->end;
    for (size_t p = at; p + 2 < r->end; p++) {
        const uint8_t *sign = (const uint8_t *)memchr(s + p, '>', r->end - p);
        if (!sign) break;
        p = (size_t)(sign - s);
        if (p + 2 < r->end && s[p + 1] == '>' && s[p + 2] == '>') { r->next_run = p; break; }
    }
    return r->next_run;
}

/* True if what the walk meets next behind `at` is "CSP/1" at `q`, with which the line `line` ends. */
static int tw_is_met_next(const tw_search *w, const tw_region *r, size_t at, size_t line, size_t q)
{
    const uint8_t *s = tw_text(&w->k, r);
    tw_look look = { .s = s, .from = r->start, .end = r->end, .readable = tw_readable(&w->k, r), .base = TW_NO_BLOCK,
                     .torn = w->k.plan->torn_halves };
    for (; (at = tw_seek(&look, at)) < q; at++) {
        int opening = tw_opening_of(w->k.plan, s, at, r->start, r->end, 0);
        if (opening != TW_NO_OPENING) return opening == TW_AT_CSP && at == line;
    }
    return at == q && q - line <= TW_MOST_PREFIX;
}

/* Reads the usual messages with which joined lines begin, as long as the walk would meet one behind the other: no other line stands
 * between their lines. *stop: the end of the last one; *more: what follows may be another. */
static int tw_gathered_run(tw_search *w, tw_region *r, tw_region *inner, const tw_gathered *g, size_t *stop, int *more)
{
    tw_lines *k = &w->k;
    int32_t rows[TW_CSP_ROW * TW_CSP_ROWS], *row;
    int result = TW_FINE, why, count;
    size_t line = 0;                         /* the number of that in which the last byte read stands */
    w->filled[1] = 0;
    csp_window *v = tw_csp_seek(w, inner, inner->start);
    *stop = inner->start;
    do {
        size_t room = k->rows.room - k->rows.count, most = room < TW_CSP_ROWS ? room : TW_CSP_ROWS;
        if (!most) return *stop == inner->start ? TW_FULL : TW_FINE;
        count = csp_fast(v, &w->reading, rows, (int)most, &why);
        *more = count == (int)most || why == CSP_CUT_OFF;
        for (row = rows; count && result == TW_FINE; count--, row += TW_CSP_ROW) {
            size_t first = (size_t)row[0] - inner->start, end = first + (size_t)row[1];
            if (first) {
                const tw_stretch *last = &g->stretches[line];
                size_t at = last->outer + (*stop - inner->start - last->start);
                while (line + 1 < g->count && g->stretches[line].start < first && g->lines[line + 1].start == g->lines[line].stop) line++;
                *more = g->stretches[line].start == first &&
                        tw_is_met_next(w, r, at, g->lines[line].start, g->stretches[line].outer);
                if (!*more) return TW_FINE;
            }
            result = tw_csp_row(w, inner, row);
            *stop = inner->start + end;
            while (line + 1 < g->count && g->stretches[line + 1].start < end) {
                if (g->lines[line + 1].start != g->lines[line].stop) { *more = 0; return result; }
                line++;
            }
        }
    } while (*more && why != CSP_CUT_OFF && result == TW_FINE);
    return result;
}

/* Reads the message in the lines of a form, and those behind it that are like it. */
static int tw_gathered_message(tw_search *w, tw_region *r, tw_region *inner, const tw_form *f, tw_gathered *g, size_t line, size_t at,
                               int *done, size_t *next)
{
    tw_lines *k = &w->k;
    tw_matched m = { 0 };
    int result = TW_FINE, more = 0;
    size_t stop, behind, used, size = w->usual + 64; /* mostly they are as long as the last ones */
    for (;; size *= 4) {
        if (!tw_gather(w, r, inner, f, g, line, at, size)) return TW_STOPPED;
        if (inner->end + k->kept_size > INT32_MAX) return TW_ASK;
        if (!g->count) return r->final ? TW_ASK : TW_GOES_ON;
        if ((result = tw_gathered_run(w, r, inner, g, &stop, &more)) != TW_FINE) return result;
        if (stop > inner->start) break;
        w->match_message(k->arena, (int64_t)inner->start, (int64_t)inner->end, g->whole, (int64_t)k->limit, &f->around, &m);
        if (m.what == TW_CSP_UNSURE) return TW_ASK;
        if (m.what == TW_CSP_OPEN && m.run && r->final && tw_next_run(w, r, g->next) == r->end) /* nothing can close it */
            w->match_message(k->arena, (int64_t)inner->start, (int64_t)inner->end, 1, (int64_t)k->limit, &f->around, &m);
        if (m.what == TW_CSP_UNSURE) return TW_ASK;
        if (m.what == TW_CSP_TEXT) return TW_FINE;
        stop = (size_t)m.stop;
        if (m.what != TW_CSP_OPEN) break;
        if (g->whole || !g->more) return r->final ? TW_ASK : TW_GOES_ON;
    }
    *done = 1;
    used = stop - inner->start;
    w->usual = more && used < TW_MOST_USUAL ? 2 * used : used < 1 << 16 ? used : 0;
    if (!used) return TW_FINE;
    if (m.what == TW_CSP_RECORD) result = tw_csp_row(w, inner, m.row);
    else if (m.what == TW_CSP_REFUSED)
        result = tw_refuse(w, inner, inner->start, stop, (size_t)m.fault, w->csp_code, w->csp_reasons[m.reason]);
    if (result == TW_FINE) result = tw_take_gathered(w, r, inner, g, at, stop, next, &behind);
    return result;
}

/* True if the second line of a text may go on with the object that the first one begins. */
static int tw_may_go_on(const uint8_t *s, size_t end, size_t second)
{
    size_t last = second, p = second;
    while (last > 0 && tw_space(s[last - 1])) last--;
    while (p < end && (tw_is_blank(s[p]) || s[p] == '\r' || s[p] == '\n')) p++;
    return p == end || memchr(last && s[last - 1] == '{' ? "\"}" : "\"{}[],:-0123456789tfn", s[p], last && s[last - 1] == '{' ? 2 : 21);
}

/* Reads the object with which joined lines begin: *behind it, 0 where it is none. TW_GOES_ON: more lines must be there. */
static int tw_joined_object(tw_search *w, tw_region *inner, size_t *behind)
{
    tw_lines *k = &w->k;
    size_t at = inner->start, end = inner->end, line_end;
    tw_tried t = { 0 };
    tw_mark before = tw_mark_here(k);
    int whole = end - at <= k->limit, result = tw_try_here(w, inner, at, whole ? end : at + k->limit, whole, &t);
    *behind = 0;
    if (result != TW_FINE) return result;
    if (t.what != TW_TRIED_BROKEN) {
        *behind = t.end;
        return tw_add_object(w, inner, at, &t);
    }
    if (t.cut && !inner->final) return TW_GOES_ON;
    if ((whole || !t.cut) && tw_add_hopeless(w, inner, 1) != TW_FINE) return TW_STOPPED;
    line_end = tw_line_end(k->arena, at, end);
    if (t.fault <= line_end) return TW_FINE;
    if (t.cut) while (end > at && tw_space(k->arena[end - 1])) end--;
    else end = tw_line_end(k->arena, t.fault, end);
    result = tw_damaged(w, inner, &at, end, 0, 0);
    if (result == TW_FINE && tw_is_more(k, &before)) *behind = at;
    return result;
}

/* Keeps from where to where in the file something reaches. 0: no memory. */
static int tw_keep_reach(tw_search *w, tw_region *r, size_t at, size_t behind)
{
    return tw_keep_span(&w->k, &w->k.reaches, tw_as_written(&w->k, r, at), tw_as_written(&w->k, r, behind - 1) + 1);
}

/* Reads the object in the lines of a form. */
static int tw_gathered_object(tw_search *w, tw_region *r, tw_region *inner, const tw_form *f, tw_gathered *g, size_t line, size_t at,
                              int *done, size_t *next)
{
    tw_lines *k = &w->k;
    size_t size = 0, stop, behind;
    tw_mark before = tw_mark_here(k);
    int result;
    for (int first = 1;; first = 0) {        /* the next line alone: mostly it is no part of an object */
        if (!tw_gather(w, r, inner, f, g, line, at, first ? 1 : size)) return TW_STOPPED;
        if (first) {
            size = g->size + 1;
            if (!tw_gather(w, r, inner, f, g, line, at, size)) return TW_STOPPED;
        }
        if (g->count < 2) return g->whole ? TW_FINE : r->final ? TW_ASK : TW_GOES_ON;
        if (first && !tw_may_go_on(k->arena + inner->start, g->size, g->stretches[1].start)) return TW_FINE;
        if (first && !g->whole) {
            size = 4 * size > TW_FIRST_GATHERED ? 4 * size : TW_FIRST_GATHERED;
            continue;
        }
        k->arena_size++;                     /* what ends the text is read, too */
        inner->found_behind = inner->start;
        tw_end_step(w, inner, 0, 0);
        if ((result = tw_joined_object(w, inner, &stop)) != TW_GOES_ON) break;
        tw_go_back(k, &before);
        k->arena_size = inner->end;
        if (!g->more) return r->final ? TW_ASK : TW_GOES_ON;
        size *= 4;
    }
    if (result != TW_FINE || !stop) return result;
    *done = 1;
    result = tw_take_gathered(w, r, inner, g, at, stop, next, &behind);
    /* All that it holds is read in one step: no block ends in it. */
    k->mixed = k->mixed || tw_is_more(k, &before);
    return tw_keep_reach(w, r, at, behind) ? result : TW_STOPPED;
}

/* Reads what begins at `q` behind the prefix of its line: *done, and *at behind the line, where something does. */
static int tw_behind_prefix(tw_search *w, tw_region *r, size_t q, size_t *at, int object, int *done)
{
    tw_lines *k = &w->k;
    const uint8_t *s = tw_text(k, r), *newline;
    size_t line = tw_line_start(k, r, q);
    int is = tw_is_prefix(s, line, q), result;
    tw_form f = { { TW_REPEATED, s + line, q - line, r->fence, NULL, 0 }, 0, 0, object };
    if (w->mid && !r->level && !line) return TW_FINE;
    if (is <= 0) return is < 0 ? TW_ASK : TW_FINE;
    if (q - line >= 3 && s[line] == 0xEF && s[line + 1] == 0xBB && s[line + 2] == 0xBF) {
        f.around.prefix += 3;
        f.around.size -= 3;
    }
    f.foreign = tw_all_space(f.around.prefix, 0, f.around.size) ? 0 : TW_MOST_FOREIGN_LINES;
    if (object && !f.foreign) return TW_FINE;
    for (f.bare = f.around.size; f.bare && (tw_is_blank(f.around.prefix[f.bare - 1]) || f.around.prefix[f.bare - 1] == '\r');) f.bare--;
    newline = (const uint8_t *)memchr(s + q, '\n', r->end - q);
    size_t behind = newline ? (size_t)(newline - s) + 1 : r->end;
    if (!object) {
        int form = tw_form_of(&f, r, s, behind);
        if (form == TW_FORM_OPEN) return TW_GOES_ON;
        if (form == TW_NO_FORM) return TW_FINE;
        if (form == TW_BARE) {
            *at = q;
            *done = 1;
            return tw_at_message(w, r, at, &f.around);
        }
    }
    tw_region inner = { .outer = r, .level = r->level + 1, .depth = r->depth, .bounded = r->bounded, .carrier = TW_BY_PREFIX,
                        .start = k->arena_size, .found_behind = k->arena_size };
    tw_gathered g = { .next = line, .stretches = w->spare_stretches, .stretch_room = w->spare_stretch_room, .lines = w->spare_lines,
                      .line_room = w->spare_line_room };
    w->spare_stretches = NULL;
    w->spare_lines = NULL;
    w->spare_stretch_room = w->spare_line_room = 0;
    uint8_t prefix[TW_MOST_PREFIX];
    if (r->level) {                          /* the arena may move */
        memcpy(prefix, f.around.prefix, f.around.size);
        f.around.prefix = prefix;
    }
    result = object ? tw_gathered_object(w, r, &inner, &f, &g, line, q, done, &behind)
                    : tw_gathered_message(w, r, &inner, &f, &g, line, q, done, &behind);
    free(w->spare_stretches);
    free(w->spare_lines);
    w->spare_stretches = g.stretches;
    w->spare_stretch_room = g.stretch_room;
    w->spare_lines = g.lines;
    w->spare_line_room = g.line_room;
    tw_region_free(&inner);
    k->arena_size = inner.start;
    if (*done) *at = behind;
    return result;
}

#endif
