/* Carriers whose lines are pieces of several texts: the lines of a container runtime (CRI) and the objects of Docker. A run of
 * lines is taken apart, and the pieces of each key are put together to one text with a map of its places. The readable twin is
 * log/search/carriers.py. */
#ifndef TURNWIRE_SEARCH_STREAMS_H
#define TURNWIRE_SEARCH_STREAMS_H

#include "search.h"

/* A part of a text that stands in one piece in the file: from `start` on it says `size` bytes, which are written in
 * s[outer .. until), with escapes or as they are; time: of its line or object. */
typedef struct { size_t start, size, outer, until; int64_t time; int escaped, timed; } tw_stretch;

enum { TW_MOST_STREAMS = 16, TW_MOST_KEY = 256, TW_MOST_FOREIGN_LINES = 64, TW_MOST_FOREIGN = 1 << 14 };

typedef struct {
    uint8_t key[TW_MOST_KEY];
    size_t key_size;
    uint8_t *text;
    size_t size, room;
    tw_stretch *stretches;
    size_t count, stretch_room;
    int open, timed;                         /* the next piece goes on with the line of the last one, which began at: */
    int64_t time;
    int parts;                               /* some line is in several pieces */
} tw_stream;

typedef struct {
    tw_stream streams[TW_MOST_STREAMS];
    size_t count;
    tw_span *lines;                          /* that belong to the run */
    size_t line_count, line_room;
    int ended;                               /* no more can follow */
} tw_run_of_lines;

/* What one line says. */
typedef struct { uint8_t key[TW_MOST_KEY]; size_t key_size, from, until; int64_t time; int timed, escaped, goes_on, several; } tw_piece;

enum { TW_PIECE_NONE, TW_PIECE_THERE, TW_PIECE_UNSURE };

static void tw_run_free(tw_run_of_lines *run)
{
    for (size_t i = 0; i < run->count; i++) {
        free(run->streams[i].text);
        free(run->streams[i].stretches);
    }
    free(run->lines);
}

static int tw_cri_piece(const uint8_t *s, size_t start, size_t behind, tw_piece *piece)
{
    size_t p = start, end = behind;
    if (end - p >= 3 && s[p] == 0xEF && s[p + 1] == 0xBB && s[p + 2] == 0xBF) p += 3;
    size_t first = p;
    if (end - p < 20 || !tw_is_digits(s + p, "0000-00-00T00:00:00")) return TW_PIECE_NONE;
    p += 19;
    if (p + 1 < end && s[p] == '.' && (uint8_t)(s[p + 1] - '0') < 10)
        for (p++; p < end && (uint8_t)(s[p] - '0') < 10;) p++;
    if (p < end && s[p] == 'Z') p++;
    else if (end - p >= 6 && (s[p] == '+' || s[p] == '-') && tw_is_digits(s + p + 1, "00:00")) p += 6;
    else return TW_PIECE_NONE;
    piece->timed = tw_time_prefix(s + first, p - first, &piece->time) > 0;
    if (end - p < 10 || s[p] != ' ' || (memcmp(s + p + 1, "stdout", 6) && memcmp(s + p + 1, "stderr", 6)) || s[p + 7] != ' ')
        return TW_PIECE_NONE;
    memcpy(piece->key, s + p + 1, 6);
    piece->key_size = 6;
    p += 8;
    piece->goes_on = s[p] == 'P';
    if (s[p] != 'P' && s[p] != 'F') return TW_PIECE_NONE;
    p++;
    if (p < end && s[p] == ':')
        while (++p < end && s[p] != ' ' && s[p] != '\r' && s[p] != '\n') { }
    if (p < end && s[p] == ' ') p++;
    else if (!(p == end || s[p] == '\n' || (s[p] == '\r' && (p + 1 == end || s[p + 1] == '\n')))) return TW_PIECE_NONE;
    piece->from = p;
    piece->until = behind;
    if (piece->goes_on && behind > p && s[behind - 1] == '\n') piece->until -= 1 + (behind - 1 > p && s[behind - 2] == '\r');
    piece->escaped = 0;
    return TW_PIECE_THERE;
}

static int tw_docker_piece(tw_search *w, size_t start, size_t behind, tw_piece *piece)
{
    static const char *const names[] = { "container_id", "container_name", "container" };
    tw_lines *k = &w->k;
    const uint8_t *s = k->s, *hard = s + k->size;
    size_t end = behind, p = start, log = 0, stream = 0;
    if (end - p >= 3 && s[p] == 0xEF && s[p + 1] == 0xBB && s[p + 2] == 0xBF) p += 3;
    while (p < end && (tw_is_blank(s[p]) || s[p] == '\r' || s[p] == '\n' || s[p] == '\v' || s[p] == '\f')) p++;
    if (p == end || s[p] != '{') return TW_PIECE_NONE;
    if (end > p && s[end - 1] == '\n') end--;
    if (end > p && s[end - 1] == '\r') end--;
    if (p != start || s[end - 1] != '}') return TW_PIECE_UNSURE;
    if (tw_json_parse(&k->json, s + p, s + end, hard) != s + end || k->json.odd) return TW_PIECE_UNSURE;
    piece->key_size = 0;
    for (const uint8_t *q = s + p + 1; q < s + end - 1; q++) { /* flat objects only */
        if (*q == '{' || *q == '[') return TW_PIECE_UNSURE;
        if (*q != '"') continue;
        const uint8_t *key = q + 1, *close = tw_closing_quote(key, hard), *value = tw_behind_space(close + 1);
        size_t size = (size_t)(close - key);
        if (*value != ':' || memchr(key, '\\', size)) return TW_PIECE_UNSURE;
        value = tw_behind_space(value + 1);
        const uint8_t *last = *value == '"' ? tw_closing_quote(value + 1, hard) : value;
        int is_log = tw_is_key(key, size, "log"), is_stream = tw_is_key(key, size, "stream");
        if ((is_log && log) || (is_stream && stream)) return TW_PIECE_UNSURE;
        if ((is_log || is_stream) && *value != '"') return TW_PIECE_UNSURE;
        if (is_log) {
            piece->from = log = (size_t)(value + 1 - s);
            piece->until = (size_t)(last - s);
        }
        if (is_stream) {
            stream = (size_t)(value + 1 - s);
            if (last - value != 7 || (memcmp(value + 1, "stdout", 6) && memcmp(value + 1, "stderr", 6))) return TW_PIECE_UNSURE;
            memcpy(piece->key, value + 1, 6);
            piece->key_size = 6;
        }
        for (int i = 0; i < 3; i++)
            if (tw_is_key(key, size, names[i])) return TW_PIECE_UNSURE;
        q = last;
    }
    if (!log || !stream) return TW_PIECE_UNSURE;
    size_t size = piece->until - piece->from;
    piece->escaped = memchr(s + piece->from, '\\', size) != NULL;
    piece->timed = tw_wrapper_time(s + p, hard, &piece->time);
    /* An "n" behind an odd number of backslashes is the end of a line. */
    size_t slashes = 0;
    if (size >= 2 && s[piece->until - 1] == 'n')
        while (slashes < size - 1 && s[piece->until - 2 - slashes] == '\\') slashes++;
    piece->goes_on = !(slashes & 1);
    for (size_t q = piece->from; piece->escaped && q + 1 < piece->until; q++) {
        if (s[q] != '\\') continue;
        q++;
        if (s[q] == 'u' && piece->until - q > 4 && !memcmp(s + q + 1, "000", 3)) return TW_PIECE_UNSURE;
        piece->several |= s[q] == 'n' && q + 1 < piece->until;
    }
    return TW_PIECE_THERE;
}

static tw_stream *tw_stream_of(tw_run_of_lines *run, const tw_piece *piece)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->streams[i].key_size == piece->key_size && !memcmp(run->streams[i].key, piece->key, piece->key_size))
            return &run->streams[i];
    if (run->count == TW_MOST_STREAMS) return NULL;
    tw_stream *stream = &run->streams[run->count++];
    memcpy(stream->key, piece->key, piece->key_size);
    stream->key_size = piece->key_size;
    return stream;
}

static int tw_stream_is_open(const tw_run_of_lines *run, const tw_piece *piece)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->streams[i].key_size == piece->key_size && !memcmp(run->streams[i].key, piece->key, piece->key_size))
            return run->streams[i].open;
    return 0;
}

/* Makes room at *memory for `more` items of `unit` bytes behind `count`. */
static int tw_more_room(void **memory, size_t *room, size_t count, size_t more, size_t unit)
{
    if (count + more <= *room) return 1;
    size_t wanted = *room ? *room : 256;
    while (wanted < count + more) wanted *= 2;
    void *grown = realloc(*memory, wanted * unit);
    if (!grown) return 0;
    *memory = grown;
    *room = wanted;
    return 1;
}

static int tw_add_piece(tw_stream *stream, const uint8_t *s, const tw_piece *piece)
{
    size_t size = piece->until - piece->from;
    if (!tw_more_room((void **)&stream->text, &stream->room, stream->size, size + 128, 1) ||
        !tw_more_room((void **)&stream->stretches, &stream->stretch_room, stream->count, 1, sizeof(tw_stretch))) return 0;
    tw_stretch *one = &stream->stretches[stream->count++];
    uint8_t *to = stream->text + stream->size;
    if (!stream->open) {
        stream->time = piece->time;
        stream->timed = piece->timed;
    }
    stream->parts |= stream->open | piece->goes_on;
    *one = (tw_stretch){ stream->size, size, piece->from, piece->until, stream->time, piece->escaped, stream->timed };
    if (piece->escaped) one->size = tw_unescape(s + piece->from, s + piece->until, to);
    else memcpy(to, s + piece->from, size);
    stream->size += one->size;
    stream->open = piece->goes_on;
    return 1;
}

/* Takes the lines from `at` on apart. TW_FINE; TW_ASK: the readable twin must; TW_STOPPED: no memory. */
static int tw_take_run(tw_search *w, size_t at, int docker, tw_run_of_lines *run)
{
    const tw_lines *k = &w->k;
    size_t foreign = 0, size = 0;
    for (size_t start = at, behind; start < k->stop; start = behind) {
        const uint8_t *newline = (const uint8_t *)memchr(k->s + start, '\n', k->stop - start);
        behind = newline ? (size_t)(newline - k->s) + 1 : k->stop;
        if (w->taken_count && tw_behind_taken(w, start) > start) continue;
        tw_piece piece = { 0 };
        int found = docker ? tw_docker_piece(w, start, behind, &piece) : tw_cri_piece(k->s, start, behind, &piece);
        if (found == TW_PIECE_UNSURE) return TW_ASK;
        if (found == TW_PIECE_NONE) {
            foreign++;
            size += behind - start;
            if (foreign > TW_MOST_FOREIGN_LINES || size > TW_MOST_FOREIGN) {
                run->ended = 1;
                return TW_FINE;
            }
            continue;
        }
        foreign = size = 0;
        if (piece.several && !piece.goes_on && !tw_stream_is_open(run, &piece)) { /* a text by itself */
            if (run->line_count) continue;
            return TW_FINE;
        }
        tw_stream *stream = tw_stream_of(run, &piece);
        if (!stream) return TW_ASK;
        if (!tw_add_piece(stream, k->s, &piece) ||
            !tw_more_room((void **)&run->lines, &run->line_room, run->line_count, 1, sizeof(tw_span))) return TW_STOPPED;
        run->lines[run->line_count++] = (tw_span){ start, behind };
    }
    run->ended = k->final;
    return TW_FINE;
}

/* --- the map of places --- */

/* Goes through the places of a text from left to right. */
typedef struct { const uint8_t *s; const tw_stretch *stretches; size_t count, stretch, seen, written; int met; } tw_map;

static size_t tw_stretch_at(const tw_map *m, size_t at)
{
    size_t low = 0, high = m->count;
    if (m->stretch + 1 < m->count && m->stretches[m->stretch].start <= at && at < m->stretches[m->stretch + 1].start)
        return m->stretch;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (m->stretches[middle].start <= at) low = middle + 1;
        else high = middle;
    }
    return low ? low - 1 : 0;
}

/* The place in the file of the byte at `at`, which is of this stretch or stands right behind it. */
static size_t tw_place_in(tw_map *m, size_t stretch, size_t at)
{
    const tw_stretch *one = &m->stretches[stretch];
    if (!one->escaped) return one->outer + (at - one->start);
    if (!m->met || m->stretch != stretch || m->seen > at) {
        m->seen = one->start;
        m->written = one->outer;
        m->met = 1;
    }
    m->stretch = stretch;
    const uint8_t *p = m->s + m->written, *end = m->s + one->until;
    while (m->seen < at && p < end) {
        uint8_t said[4];
        const uint8_t *behind = p;
        size_t size = 1;
        if (*p == '\\') size = (size_t)tw_unescape_one(&behind, end, said);
        else behind++;
        if (m->seen + size > at) break;
        m->seen += size;
        p = behind;
    }
    m->written = (size_t)(p - m->s);
    return m->written + (at > m->seen && p == end ? at - m->seen : 0);
}

/* Where the record [start, stop) of a text stands in the file, and how many of its bytes there are its own. */
static void tw_map_record(tw_map *m, size_t start, size_t stop, size_t *first, size_t *last, size_t *own)
{
    size_t i = tw_stretch_at(m, start);
    *first = tw_place_in(m, i, start);
    *own = 0;
    for (;; i++) {
        const tw_stretch *one = &m->stretches[i];
        size_t from = start > one->start ? start : one->start, to = stop < one->start + one->size ? stop : one->start + one->size;
        if (from < to) {
            size_t begin = tw_place_in(m, i, from);
            *last = tw_place_in(m, i, to);
            *own += *last - begin;
        }
        if (i + 1 == m->count || m->stretches[i + 1].start >= stop) break;
    }
}

#endif
