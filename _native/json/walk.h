/* The way through one text, candidate by candidate, and through the lines of a block: the second half of json/scan.h. */
#ifndef TURNWIRE_JSON_WALK_H
#define TURNWIRE_JSON_WALK_H

#include "line_signs.h"
#include "scan.h"

#define TW_NOWHERE SIZE_MAX

/* Whether the quote at p is none of an escape: an even number of backslashes stands before it. */
static inline int tw_unescaped(const uint8_t *s, size_t p, size_t from)
{
    size_t q = p;
    while (q > from && s[q - 1] == '\\') q--;
    return ((p - q) & 1) == 0;
}

/* The unescaped quote next to `at` in s[from .. at), or TW_NOWHERE. */
static size_t tw_quote_before(const uint8_t *s, size_t at, size_t from, int in_line)
{
    while (at > from) {
        at--;
        if (in_line && s[at] == '\n') return TW_NOWHERE;
        if (s[at] == '"' && tw_unescaped(s, at, from)) return at;
    }
    return TW_NOWHERE;
}

/* The unescaped quote next to `at` in s[at .. end), or end. */
static size_t tw_quote_behind(const uint8_t *s, size_t at, size_t end)
{
    while (at < end && s[at] != '"') at += s[at] == '\\' ? 2 : 1;
    return at < end ? at : end;
}

/* Settles the damaged bytes [at, end): a reject where a wire knows its own marks in them, text otherwise. */
static int tw_settle(tw_lines *k, tw_region *r, size_t at, size_t end, int too_large)
{
    const uint8_t *s = tw_text(k, r);
    tw_verdict verdict = { TW_TRIED_OTHER, 0, 0, 0 };
    if (k->mute || !tw_any_token(k->plan->torn, k->plan->torn_count, s + at, s + end)) return TW_FINE;
    if (!k->torn(k->context, s + at, end - at, too_large, &verdict)) return TW_STOPPED;
    if (verdict.what != TW_TRIED_REJECT) return TW_FINE;
    return tw_store_json_reject(k, r, at, end, at + verdict.fault, verdict.wire, verdict.reason);
}

typedef struct {
    size_t done;                             /* everything before it is settled */
    size_t searched;                         /* up to here k->find has looked */
    size_t bad;                              /* where damaged bytes begin that are not settled yet */
    size_t from;                             /* where all of this began */
    int too_large;
    size_t rows, rejects, arena;             /* how many there were when `bad`, or else the candidate, began */
    int opened;
    size_t open[TW_DEEPEST];                 /* objects that meet the fault that was met last */
} tw_way;

static void tw_mark(const tw_lines *k, tw_way *w)
{
    w->rows = k->rows.count;
    w->rejects = k->rejects.count;
    w->arena = k->arena_size;
}

/* Goes back to where the unit that did not fit began; a long object is given in parts only where all of it never fits: what is
 * behind a part is read as if nothing were around it. */
static void tw_take_back(tw_lines *k, const tw_way *w)
{
    if (k->partial && !k->grows && !(k->rows_full ? w->rows : w->rejects)) return;
    k->partial = 0;
    k->rows.count = w->rows;
    k->rejects.count = w->rejects;
    k->arena_size = w->arena;
}

static int tw_hopeless(const tw_way *w, size_t q)
{
    for (int i = 0; i < w->opened; i++)
        if (w->open[i] == q) return 1;
    return 0;
}

/* Something that may hold records is about to be read at q, behind damaged bytes: settles these first. */
static int tw_settle_before(tw_lines *k, tw_region *r, tw_way *w, size_t q)
{
    return w->bad == TW_NOWHERE ? TW_FINE : tw_settle(k, r, w->bad, q, w->too_large);
}

/* What a literal (`tried` is NULL, its inside is s[from .. to)) or good JSON that is not a message has in it. */
static int tw_look_at(tw_lines *k, tw_region *r, size_t q, size_t from, size_t to, const tw_tried *tried)
{
    if (!tried) return tw_literal(k, r, q, from, to, 0);
    return tried->what == TW_TRIED_REJECT ? tw_refused(k, r, q, tried) : tw_inside(k, r, q, tried->end);
}

/* Whether there is a record in it (or no room for one): TW_FULL says yes, TW_FINE no. Leaves everything as it was. */
static int tw_look_for_record(tw_lines *k, tw_region *r, size_t q, size_t from, size_t to, const tw_tried *tried)
{
    size_t rows = k->rows.count, arena = k->arena_size;
    k->mute = 1;
    int result = tw_look_at(k, r, q, from, to, tried);
    k->mute = 0;
    if (result == TW_FINE && k->rows.count != rows) result = TW_FULL;
    k->rows.count = rows;
    k->arena_size = arena;
    k->partial = 0;
    return result;
}

/* Looks into what stands from q to `end`. Where damaged bytes wait, only a record in it ends them: they are settled when
 * one was seen, since what is settled for each candidate anew is read as often. Without one, all of it belongs to them. */
static int tw_look_into(tw_lines *k, tw_region *r, tw_way *w, size_t q, size_t end, size_t from, size_t to,
                        const tw_tried *tried)
{
    size_t rows = k->rows.count, before = k->rejects.count, arena = k->arena_size;
    int waiting = w->bad != TW_NOWHERE, result = TW_FINE;
    if (waiting && !k->mute) {
        result = tw_look_for_record(k, r, q, from, to, tried);
        if (result != TW_FULL) return result;
    }
    result = tw_settle_before(k, r, w, q);
    if (result == TW_FINE) result = tw_look_at(k, r, q, from, to, tried);
    if (result == TW_FULL && waiting) {
        k->partial = 0;
        if (k->rows.count == rows && !w->rejects && !k->rows_full && !k->grows) result = TW_FINE; /* it never fits */
    }
    if (result != TW_FINE) return result;
    if (waiting && k->rows.count == rows) {
        k->rejects.count = before;
        k->arena_size = arena;
        return TW_FINE;
    }
    w->bad = TW_NOWHERE;
    w->done = end;
    return TW_FINE;
}

/* The literal around the byte at q, in one line of a block: how far it goes. */
static int tw_look_into_string(tw_lines *k, tw_region *r, tw_way *w, size_t q, size_t *behind, size_t *stopped)
{
    const uint8_t *s = tw_text(k, r);
    size_t floor = w->bad == TW_NOWHERE ? w->done : w->bad;
    size_t end = r->level ? r->end : tw_line_stop(k, r, q);
    size_t open = tw_quote_before(s, q, floor, !r->level), close = tw_quote_behind(s, q, end);
    size_t from = open == TW_NOWHERE ? q : open + 1;
    if (open == TW_NOWHERE) open = q;
    if (w->bad == TW_NOWHERE) *stopped = open;
    *behind = close < end ? close + 1 : close;
    return tw_look_into(k, r, w, open, *behind, from, close, NULL);
}

/* What k->find meets before the JSON candidate at *q (or the end): takes it, or the literal around it. *q moves behind
 * it. Returns TW_FINE with *met where there was something. doubtful: whether only what follows the block can say that *q is
 * a candidate; damage that would end there is held, too. */
static int tw_others(tw_lines *k, tw_region *r, tw_way *w, size_t *q, int *met, size_t *stopped, int doubtful)
{
    tw_other other = { TW_OTHER_NONE, 0, 0 };
    size_t from = w->searched > w->done ? w->searched : w->done;
    int result = TW_FINE;
    *met = 0;
    size_t mark = from < *q && k->plan->mark_count ? tw_escaped_mark(k, r, from, *q) : *q;
    if (from >= *q || !k->find || k->find(k, r, from, mark, &other) == TW_OTHER_NONE) {
        if (mark == *q) {
            w->searched = *q;
            return TW_FINE;
        }
        other = (tw_other){ TW_OTHER_STRING, mark, mark };
    }
    *met = 1;
    if (w->bad == TW_NOWHERE) {
        tw_mark(k, w);
        *stopped = other.at;
    }
    if (other.what == TW_OTHER_CUT) {        /* the next piece begins with it */
        other.end = r->end = other.at;
        w->too_large |= w->bad != TW_NOWHERE;
    } else if (other.what == TW_OTHER_STRING && r->level < TW_DEEPEST_STRING) {
        result = tw_look_into_string(k, r, w, other.at, &other.end, stopped);
    } else if (doubtful && other.what == TW_OTHER_REJECT && other.end == *q && w->bad == TW_NOWHERE) {
        k->held = r->cut = 1;
        k->open_at = other.at;
    } else if (other.what == TW_OTHER_RECORD || w->bad == TW_NOWHERE) {
        if ((result = tw_settle_before(k, r, w, other.at)) == TW_FINE) result = k->take(k, r, &other);
        w->bad = TW_NOWHERE;
        w->done = other.end;
    }
    *q = w->searched = other.end;
    return result;
}

/* Damaged JSON at q: remembers which objects meet the same fault. Returns where the region's piece has to end. */
static size_t tw_broken(tw_lines *k, tw_region *r, tw_way *w, size_t q)
{
    const uint8_t *s = tw_text(k, r);
    size_t end = r->end;
    w->opened = k->json.opened;
    for (int i = 0; i < w->opened; i++) {
        w->open[i] = (size_t)(k->json.open[i] - s);
        if (r->cut && k->json.cut && w->open[i] > q && w->open[i] < end) end = w->open[i];
    }
    if (r->cut && k->json.cut) w->too_large = 1;
    if (w->bad == TW_NOWHERE) w->bad = q;
    return end;
}

#include "over_lines.h"
#include "values.h"

/* The next '{' of a region from q on, or its end. */
static inline size_t tw_next_brace(tw_lines *k, const tw_region *r, size_t q)
{
    const uint8_t *s = tw_text(k, r), *at;
    if (q >= r->end) return r->end;
    if (s[q] == '{') return q;
    if (!r->level) {
        q = tw_next_sign(k, TW_SIGN_OBJECT, q, r->end);
        return q < r->end ? q : r->end;
    }
    at = (const uint8_t *)memchr(s + q, '{', r->end - q);
    return at ? (size_t)(at - s) : r->end;
}

/* One region from `from` on. *stopped: where reading stopped; its end, unless the line goes on and an object did not
 * fit into this piece of it. On TW_FULL it is the start of what did not fit. */
static int tw_walk(tw_lines *k, tw_region *r, size_t from, size_t *stopped)
{
    tw_way w;                                /* not all of it is set: `open` is long */
    size_t q = from, brace = TW_NOWHERE, within = 0;
    int result = TW_FINE, opening = 0;
    w.done = w.searched = w.from = from;
    w.bad = TW_NOWHERE;
    w.too_large = w.opened = 0;
    tw_mark(k, &w);
    while (result == TW_FINE) {
        const uint8_t *s = tw_text(k, r);
        int met;
        if (tw_stopped_by_signal(k)) return TW_STOPPED;
        if (brace < q || within != r->end || brace == TW_NOWHERE) { /* looked for once, however much else stands before it */
            within = r->end;
            brace = tw_next_brace(k, r, q);
            opening = brace < within ? tw_opening(s, brace, within) : 0;
            if (opening == TW_OPENS_BELOW) opening = tw_opens_below(k, r, brace);
        }
        q = brace;
        if (brace < r->end && (!opening || (opening == TW_OPENS_STRING && r->level >= TW_DEEPEST_STRING) || tw_hopeless(&w, q))) {
            q++;
            continue;
        }
        if (r->values) {
            if ((result = tw_strings(k, r, &w, &q, &met, stopped)) != TW_FINE || met) continue;
        } else if (k->find || k->plan->mark_count) {
            result = tw_others(k, r, &w, &q, &met, stopped, opening == TW_OPENS_BELOW);
            if (k->held) return result;
            if (result != TW_FINE || met) continue;
        }
        if (brace >= within) break;
        if (w.bad == TW_NOWHERE) tw_mark(k, &w);
        *stopped = w.bad == TW_NOWHERE ? q : w.bad;
        if (opening == TW_OPENS_STRING) {
            result = tw_look_into_string(k, r, &w, q, &q, stopped);
            continue;
        }
        tw_tried tried = { 0 };
        size_t reach = r->level || r->cut ? r->end : tw_reach(k, q);
        if ((result = tw_try_object(k, r, q, reach, &tried)) != TW_FINE) break;
        if (reach > r->end && (tried.what == TW_TRIED_BROKEN ? tried.cut || tried.fault > r->end : tried.end > r->end)) {
            int how = tw_over_lines(k, r, &w, q, reach, &tried, stopped, &result);
            if (how == TW_HELD) return TW_FINE;
            if (how == TW_LEFT) break;
        }
        if (tried.what == TW_TRIED_BROKEN) {
            if (r->cut && tried.cut && q > w.from) {
                result = tw_settle_before(k, r, &w, q);
                if (result == TW_FINE) *stopped = q;
                else if (result == TW_FULL) tw_take_back(k, &w);
                return result;
            }
            r->end = tw_broken(k, r, &w, q);
            r->values = 0;
            q++;
        } else if (tried.what == TW_TRIED_RECORD) {
            if ((result = tw_settle_before(k, r, &w, q)) == TW_FINE) result = tw_emit(k, r, q, &tried);
            w.bad = TW_NOWHERE;
            q = w.done = tried.end;
        } else {
            result = tw_look_into(k, r, &w, q, tried.end, 0, 0, &tried);
            q = tried.end;
        }
    }
    if (result == TW_FINE && (result = tw_settle_before(k, r, &w, r->end)) == TW_FINE) *stopped = r->end;
    else if (w.bad != TW_NOWHERE) *stopped = w.bad;
    if (result == TW_FULL) tw_take_back(k, &w);
    if (k->partial && !r->level) {
        *stopped = k->partial;
        k->partial = 0;
    }
    return result;
}

/* A message that a template fits and that fills the line at k->position: *met where there is one, and its row is stored. The
 * line's end need not be looked for: no newline stands in a good string, nor in such a template. */
static int tw_fitting_line(tw_lines *k, tw_region *line, int *met)
{
    size_t p = k->position, most = k->stop - p < k->limit ? k->stop : p + k->limit;
    tw_json *x = &k->json;
    tw_tried tried;
    *met = 0;
    if (k->s[p] != '{' || !x->template_count || k->rows.count == k->rows.room) return TW_FINE;
    const uint8_t *behind = tw_fitting(x, k->s + p, k->s + most, k->s + k->size);
    if (!behind || !x->fitted->one_line || (x->surely && x->fitted->what)) return TW_FINE;
    size_t end = (size_t)(behind - k->s);
    size_t newline = end + (end < k->stop && k->s[end] == '\r');
    if (newline >= k->stop || k->s[newline] != '\n') return TW_FINE;
    tried.wire = x->fitted->wire;
    tried.variant = x->fitted->variant;
    tried.end = end;
    if (!x->surely) {
        if (tw_judge(x, k->plan, &tried.wire, &tried.variant) != TW_SURELY) return TW_FINE;
        tw_keep_verdict(x, tried.wire, tried.variant);
    }
    k->head = p;
    k->head_known = 0;
    *met = 1;
    int result = tw_emit(k, line, p, &tried);
    if (result == TW_FINE) {
        k->position = newline + 1;
        k->line++;
    }
    return result;
}

/* Goes to the next line in which anything may begin: one that is there to its end, with a '{', an '@' or a mark. All others
 * are text. Returns whether that is one line. */
static int tw_skip_text(tw_lines *k)
{
    const uint8_t *s = k->s;
    size_t p = k->position, next;
    if (s[p] == '{' || (s[p] == '@' && k->find)) return 0;
    next = tw_next_sign(k, TW_SIGN_OBJECT, p, k->stop);
    if (next > k->stop) next = k->stop;
    if (k->find) {
        size_t token = tw_next_sign(k, TW_SIGN_TOKEN, p, next);
        if (token < next) next = token;
    }
    next = tw_first_mark(k, p, next);
    const uint8_t *newline = next == p ? NULL : (const uint8_t *)memchr(s + p, '\n', next - p);
    if (!newline) return 0;
    while (s[next - 1] != '\n') next--;
    int one = newline + 1 == s + next;       /* mostly it is */
    k->line += one ? 1 : tw_newlines(s + p, next - p);
    k->position = next;
    return one;
}

/* A line, up to `line_end`, in which a good record of the other wire stands and nothing else that the walk would look at: *met where
 * it is one, and its row is stored. Most lines of a log of nSLIP are such. */
static int tw_token_line(tw_lines *k, tw_region *line, size_t line_end, int *met)
{
    size_t p = k->position, end = line_end - (line_end > p && k->s[line_end - 1] == '\r');
    size_t at = k->s[p] == '@' ? p : tw_next_sign(k, TW_SIGN_TOKEN, p, end);
    tw_other other = { TW_OTHER_NONE, at, 0 };
    *met = 0;
    if (at >= end || end - p > k->limit || k->rows.count == k->rows.room) return TW_FINE;
    if (tw_next_sign(k, TW_SIGN_OBJECT, p, at) < at || tw_first_mark(k, p, end) < end) return TW_FINE;
    if ((at > p && tw_may_be_values(k->s[p]) && tw_are_values(k->s, p, end)) || !k->good(k, at, end, &other)) return TW_FINE;
    if (other.end < end && (tw_next_sign(k, TW_SIGN_TOKEN, other.end, end) < end ||
                            tw_next_sign(k, TW_SIGN_OBJECT, other.end, end) < end)) return TW_FINE;
    k->head = p;
    k->head_known = k->rows.time ? tw_line_time(k, line_end) : 0;
    *met = 1;
    return k->take(k, line, &other);
}

/* Reads from k->position on, line by line. Returns TW_FINE or TW_STOPPED. */
static int tw_json_lines(tw_lines *k)
{
    tw_region whole = { 0 };
    int result = TW_FINE;
    k->json.unfit = NULL;
    k->held = 0;
    k->open_at = SIZE_MAX;
    tw_begin_signs(k);
    while (k->position < k->stop) {
        int met = 0;
        size_t from = k->position;
        if (tw_stopped_by_signal(k)) return TW_STOPPED;
        if (!k->carried) {
            int one = tw_skip_text(k);
            if (k->position != from && (tw_text_shows_sign(k, from, one) || k->position == k->stop)) break;
            from = k->position;
            if (k->run && k->s[from] == '@') {
                if ((result = k->run(k)) != TW_FINE) break;
                if (k->position != from) continue;
            }
        }
        if (!k->carried && ((result = tw_fitting_line(k, &whole, &met)) != TW_FINE || met)) {
            if (result == TW_FINE && !tw_fitting_shows_sign(k, from)) continue;
            break;
        }
        size_t p = k->position, left = k->stop - p, stopped = p;
        const uint8_t *newline = (const uint8_t *)memchr(k->s + p, '\n', left);
        size_t line_end = newline ? (size_t)(newline - k->s) : k->stop;
        if (tw_line_shows_sign(k, line_end)) break;
        if (!newline && !k->final && left <= k->limit + 1) break;
        if (k->good && !k->carried && newline && k->s[p] != '{') {
            if ((result = tw_token_line(k, &whole, line_end, &met)) != TW_FINE) break;
            if (met) {
                k->position = line_end + 1;
                k->line++;
                continue;
            }
        }
        tw_region line = { .start = p, .end = line_end };
        if (newline && line_end > p && k->s[line_end - 1] == '\r') line.end--;
        line.cut = line.end - p > k->limit;
        if (line.cut) line.end = tw_piece_end(k->s, p, p + k->limit);
        if (!k->carried) {
            k->head = p;
            k->head_known = 0;
            k->values = !line.cut && tw_are_values(k->s, p, line.end);
        }
        line.values = k->values && !line.cut;
        k->carried = 1;
        result = tw_walk(k, &line, p, &stopped);
        k->position = stopped;
        if (result == TW_FINE && !line.cut) {
            if (k->several) {                /* they end with a line, and the next one is begun */
                line_end = line.end + (line.end + 1 < k->stop && k->s[line.end] == '\r');
                newline = line_end < k->stop ? k->s + line_end : NULL;
            }
            k->position = newline ? line_end + 1 : line_end;
            if (k->several) k->line = tw_line_of(k, k->position);
            else k->line += newline != NULL;
            k->carried = 0;
        } else {
            if (k->rows.time && !k->head_known) tw_line_head(k);
            k->line = tw_line_of(k, k->position);
        }
        if (k->several) k->several = 0;
        if (k->position > k->looked && tw_lines_show_sign(k, 0, k->position)) break;
        if (result == TW_FULL || result == TW_STOPPED || k->held) break;
    }
    return result == TW_STOPPED ? TW_STOPPED : TW_FINE;
}

#endif
