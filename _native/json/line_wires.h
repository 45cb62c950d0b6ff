/* Wires whose records are lines (CSP/1), in the strings of JSON: finds the strings worth decoding for them, and takes the
 * ranges that they claim of the decoded text. Their own scan is behind a callback. The twin is json/_line_wires_py.py. */
#ifndef TURNWIRE_JSON_LINE_WIRES_H
#define TURNWIRE_JSON_LINE_WIRES_H

#include "region.h"

static int tw_walk(tw_lines *k, tw_region *r, size_t from, size_t *stopped);
static int tw_row_claimed(tw_lines *k, tw_region *r, const tw_claim *claim);
static int tw_store_json_reject(tw_lines *k, tw_region *r, size_t at, size_t end, size_t fault, int wire, int reason);

#ifdef TW_JSON_AVX2
/* Where of the 32 bytes at p the two stand side by side. */
TW_JSON_AVX2 static inline __m256i tw_pairs_avx2(const uint8_t *p, __m256i first, __m256i second)
{
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(const void *)p), first),
                            _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(const void *)(p + 1)), second));
}

/* Where the two bytes stand side by side in s[from .. to) for the first time; or, where they do not, up to where that was
 * seen: the last 128 bytes are not looked at. */
TW_JSON_AVX2 static size_t tw_find_pair_avx2(const uint8_t *s, size_t from, size_t to, const uint8_t *pair)
{
    const __m256i first = _mm256_set1_epi8((char)pair[0]), second = _mm256_set1_epi8((char)pair[1]);
    for (; to - from > 128; from += 128) {
        __m256i a = tw_pairs_avx2(s + from, first, second), b = tw_pairs_avx2(s + from + 32, first, second);
        __m256i c = tw_pairs_avx2(s + from + 64, first, second), d = tw_pairs_avx2(s + from + 96, first, second);
        if (!_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)))) continue;
        uint64_t low = (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
        uint64_t high = (uint32_t)_mm256_movemask_epi8(c) | (uint64_t)(uint32_t)_mm256_movemask_epi8(d) << 32;
        return from + (size_t)(low ? tw_low_zeros(low) : 64 + tw_low_zeros(high));
    }
    return from;
}
#endif

/* The first place of the bytes in s[from .. to), or `to`. */
static size_t tw_find_bytes(const uint8_t *s, size_t from, size_t to, const tw_token *bytes)
{
    size_t sign = 0;                         /* a byte of them that is rarer than letters */
    while (sign < bytes->size && (uint8_t)((bytes->text[sign] | 32) - 'a') < 26) sign++;
    if (sign == bytes->size) sign = 0;
    while (from < to && to - from >= bytes->size) {
        const uint8_t *at = (const uint8_t *)memchr(s + from + sign, bytes->text[sign], to - from - bytes->size + 1);
        if (!at) return to;
        from = (size_t)(at - s) - sign;
        if (tw_same_bytes(s + from, bytes->text, bytes->size)) return from;
        from++;
#ifdef TW_JSON_AVX2
        /* Where it does stand elsewhere, it may do so often: with the one beside it, it is rare. */
        size_t pair = sign ? sign - 1 : 0;
        if (bytes->size > 1 && tw_json_level != TW_SCALAR && to - from > bytes->size + 128)
            from = tw_find_pair_avx2(s, from + pair, to - bytes->size + pair + 1, bytes->text + pair) - pair;
#endif
    }
    return to;
}

/* The same for mark `i` in the block, all of which is gone through once, however often and in how small parts it is asked
 * for: it is known that no mark starts in [since, next). */
static size_t tw_next_mark(tw_lines *k, int i, size_t from, size_t to)
{
    const tw_token *mark = &k->plan->marks[i];
    size_t *since = &k->mark_since[i], *next = &k->mark_next[i];
    if (from < *since || from > *next || *next == 0) {
        size_t known = from < *since ? *since + mark->size - 1 : k->size, at;
        if (known > k->size) known = k->size;
        at = tw_find_bytes(k->s, from, known, mark);
        if (at < known || known == k->size) *next = at < known ? at : k->size + 1;
        *since = from;
    }
    return *next < to && to - *next >= mark->size ? *next : to;
}

/* The first place of a mark in the block's [from, to), or `to`, by one search for what all of them begin with. */
static size_t tw_find_mark(const tw_lines *k, size_t from, size_t to)
{
    const tw_plan *plan = k->plan;
    for (size_t p = from; (p = tw_find_bytes(k->s, p, to, &plan->shared)) < to; p++) {
        for (int i = 0; i < plan->mark_count; i++) {
            const tw_token *mark = &plan->marks[i];
            if (to - p >= mark->size && !memcmp(k->s + p, mark->text, mark->size)) return p;
        }
    }
    return to;
}

/* Whether a mark stands in the block's [from, to): then the first one stands at k->markless_until. How far is looked ahead
 * grows with what is known: where few lines are asked about, most of the block is not gone through. */
static int tw_seek_mark(tw_lines *k, size_t from, size_t to)
{
    size_t begin = from, most = k->plan->longest_mark, until, at;
    if (from < k->markless_since) {
        until = k->markless_since + most - 1;
        if (until > k->size) until = k->size;
        at = tw_find_mark(k, from, until);
        if (at < until) k->markless_until = at;
        k->markless_since = from;
        if (at < until || to <= k->markless_until) return to > k->markless_until;
        begin = k->markless_until;
    } else if (from <= k->markless_until) {
        begin = k->markless_until;
    } else {
        k->markless_since = from;
    }
    until = begin - k->markless_since + TW_SEEK_SIGN;
    if (until < to - begin) until = to - begin;
    until = k->size - begin < until + most ? k->size : begin + until + most;
    at = tw_find_mark(k, begin, until);
    k->markless_until = at < until || until == k->size ? at : until - most + 1;
    return to > k->markless_until;
}

/* The first mark in the block's [from, to), or `to`: few ask for more than this where no mark is near. */
static inline size_t tw_first_mark(tw_lines *k, size_t from, size_t to)
{
    if (from >= k->markless_since && to <= k->markless_until) return to;
    if (k->plan->shared.size > 1) return tw_seek_mark(k, from, to) ? tw_find_mark(k, k->markless_until, to) : to;
    size_t since = 0, until = k->size, first = to;
    for (int i = 0; i < k->plan->mark_count; i++) {
        size_t at = tw_next_mark(k, i, from, to);
        if (at < first) first = at;
        if (k->mark_since[i] > since) since = k->mark_since[i];
        if (k->mark_next[i] < until) until = k->mark_next[i];
    }
    k->markless_since = since;
    k->markless_until = until;
    return first;
}

/* Whether a mark of a line wire stands in s[from .. to) of a text. */
static int tw_has_mark(tw_lines *k, int level, size_t from, size_t to)
{
    if (!level) return tw_first_mark(k, from, to) < to;
    for (int i = 0; i < k->plan->mark_count; i++)
        if (tw_find_bytes(k->arena, from, to, &k->plan->marks[i]) < to) return 1;
    return 0;
}

/* The first place in the text of a region, from `from` on, of mark `i` with a backslash behind it, or r->end. All of the text
 * is gone through once, however often and from how many places it is asked for. */
static size_t tw_escaped_from(tw_lines *k, tw_region *r, int i, size_t from)
{
    const uint8_t *s = tw_text(k, r);
    const tw_token *mark = &k->plan->marks[i];
    size_t p = r->mark_at[i];
    if (r->mark_end == r->end && from >= r->mark_since[i] && from <= p) return p;
    for (p = from; (p = tw_find_bytes(s, p, r->end, mark)) < r->end; p++)
        if (p + mark->size < r->end && s[p + mark->size] == '\\') break;
    r->mark_since[i] = from;
    return r->mark_at[i] = p;
}

/* The first mark in [from, to) of a region that a backslash follows: what it begins is written in a string. Or `to`. */
static size_t tw_escaped_mark(tw_lines *k, tw_region *r, size_t from, size_t to)
{
    size_t first = to;
    if (r->level >= TW_DEEPEST_STRING || (!r->level && tw_first_mark(k, from, to) == to)) return to;
    for (int i = 0; i < k->plan->mark_count; i++) {
        size_t p = tw_escaped_from(k, r, i, from);
        if (p < first && first - p >= k->plan->marks[i].size) first = p;
    }
    r->mark_end = r->end;
    return first;
}

/* What line wires claim of a text: `claims` is freed by the caller. Returns 0 where that raised, or there is no memory. */
static int tw_claims_of(tw_lines *k, const uint8_t *text, size_t size, tw_claim **claims, size_t *count)
{
    tw_short_texts *asked = k->short_texts;
    int found = asked && size <= asked->longest ? asked->ask(asked, text, size) : -1;
    if (found < 0) return k->claims(k->context, text, size, claims, count);
    *count = (size_t)found;
    if (!found) return 1;
    *claims = (tw_claim *)malloc(*count * sizeof(tw_claim)); /* strings in this one ask, too */
    if (!*claims) return 0;
    memcpy(*claims, asked->claims, *count * sizeof(tw_claim));
    return 1;
}

/* Goes through what a string says: what line wires claim of it, and what lies between. */
static int tw_walk_string(tw_lines *k, tw_region *r)
{
    size_t stopped, from = r->start, end = r->end, count = 0;
    tw_claim *claims = NULL;
    if (!k->claims || !tw_has_mark(k, 1, r->start, r->end)) return tw_walk(k, r, from, &stopped);
    if (!tw_claims_of(k, k->arena + r->start, r->end - r->start, &claims, &count)) {
        free(claims);
        return TW_STOPPED;
    }
    int result = TW_FINE;
    for (size_t i = 0; i <= count && result == TW_FINE; i++) {
        r->end = i < count ? r->start + claims[i].start : end;
        r->line_from = r->line_to = 0;
        if (from < r->end) result = tw_walk(k, r, from, &stopped);
        r->end = end;
        if (i == count || result != TW_FINE) break;
        size_t at = r->start + claims[i].start, n = k->rejects.count;
        from = r->start + claims[i].stop;
        if (claims[i].what == TW_CLAIM_RECORD) {
            result = tw_row_claimed(k, r, &claims[i]);
        } else {
            result = tw_store_json_reject(k, r, at, from, r->start + claims[i].fault, 0, claims[i].reason);
            if (k->rejects.count > n && k->rejects.wire) k->rejects.wire[n] = (uint8_t)claims[i].wire;
        }
    }
    free(claims);
    return result;
}

#endif
