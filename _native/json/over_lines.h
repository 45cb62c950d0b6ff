/* Objects that go on behind the end of their line: part of json/walk.h.
 *
 * Such an object is a thing of its own: damage that waits ends where it begins. Where it is good, the walk goes on behind
 * it in its last line. Where it is not, its first line up to the one that holds the fault are read as if they were one
 * line: what is closed in them is judged, the rest is damaged. A line that begins with the fault, or with a time, is none
 * of them. An object that does not fit into the limit is read as a line that does not: in pieces. */
#ifndef TURNWIRE_JSON_OVER_LINES_H
#define TURNWIRE_JSON_OVER_LINES_H

/* What the walk does next: TW_ON, goes on; TW_LEFT, ends behind the object; TW_HELD, ends in front of it, since more has to
 * be there. */
enum { TW_ON, TW_LEFT, TW_HELD };

static inline int tw_is_space(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

/* What the '{' at q opens behind which nothing stands in its region; TW_OPENS_BELOW where only what follows the block can
 * say. */
static int tw_opens_below(const tw_lines *k, const tw_region *r, size_t q)
{
    if (r->level || r->cut) return 0;
    size_t reach = tw_reach(k, q), p = q + 1;
    while (p < reach && tw_is_space(k->s[p])) p++;
    if (p < reach) return k->s[p] == '"' || k->s[p] == '}' ? TW_OPENS_OBJECT : 0;
    return p == k->stop && !k->final ? TW_OPENS_BELOW : 0;
}

/* Where the damage ends that begins at q and could be read up to `fault`: at *end, where a line ends; or, *cut, in the
 * middle of one, for the limit. 0 where more has to be there to say so. */
static int tw_damage_end(const tw_lines *k, size_t q, size_t fault, size_t *end, int *cut)
{
    const uint8_t *s = k->s, *newline;
    size_t first = fault, p;
    int64_t moment;
    while (first > q && s[first - 1] != '\n') first--;
    for (p = first; p < fault && tw_is_space(s[p]); p++) {}
    if (p < fault) {
        newline = (const uint8_t *)memchr(s + fault, '\n', k->stop - fault);
        if (!newline && !k->final && k->stop - q <= k->limit + 1) return 0;
        *end = newline ? (size_t)(newline - s) : k->stop;
        if (newline && s[*end - 1] == '\r') --*end;
        *cut = *end - q > k->limit;
        if (*cut) *end = tw_piece_end(s, q, q + k->limit);
        if (!tw_head_time(s + first, *end - first, &moment)) return 1;
    }
    for (p = first; tw_is_space(s[p - 1]);) p--;
    newline = (const uint8_t *)memchr(s + p, '\n', first - p);
    *end = (size_t)(newline - s);
    if (s[*end - 1] == '\r') --*end;
    *cut = 0;
    return 1;
}

/* The object at q, which was tried up to `reach` and goes on behind the end of its line, or fails there. On TW_ON the
 * region ends with the damage. *result: as that of tw_walk. */
static int tw_over_lines(tw_lines *k, tw_region *r, tw_way *w, size_t q, size_t reach, const tw_tried *tried,
                         size_t *stopped, int *result)
{
    int broken = tried->what == TW_TRIED_BROKEN, cut = 0, open = broken && tried->cut && reach == k->stop;
    size_t end = reach;
    if (open) k->open_at = w->bad == TW_NOWHERE ? q : w->bad;
    if (broken && tried->cut && !open) {
        cut = 1;
    } else if ((open && !k->final) || (broken && !tw_damage_end(k, q, open ? reach : tried->fault, &end, &cut))) {
        k->held = r->cut = 1;
        tw_take_back(k, w);
        *stopped = k->open_at = w->bad == TW_NOWHERE ? q : w->bad;
        return TW_HELD;
    }
    if (broken && end <= r->end) return TW_ON;
    if ((*result = tw_settle_before(k, r, w, q)) != TW_FINE) return TW_LEFT;
    tw_count_lines(k, q);
    w->bad = TW_NOWHERE;
    w->done = w->from = r->start = q;
    tw_mark(k, w);
    *stopped = q;
    k->values = r->values = 0;               /* what is left of the last line was not judged with the first one */
    r->cut = cut || !broken;
    r->end = broken ? end : tried->end;
    if (broken) return TW_ON;
    if (tried->what == TW_TRIED_RECORD) *result = tw_emit(k, r, q, tried);
    else *result = tw_look_at(k, r, q, 0, 0, tried);
    return TW_LEFT;
}

#endif
