/* Carriers whose lines are pieces of several texts: the lines of a container runtime (CRI), and the objects of Docker and of a
 * journal. A run of lines is taken apart, and the pieces of each key are joined to one text with a map of its places. The
 * readable twin is log/search/carriers.py. */
#ifndef TURNWIRE_SEARCH_STREAMS_H
#define TURNWIRE_SEARCH_STREAMS_H

#include "search.h"

enum { TW_CRI, TW_DOCKER, TW_JOURNALD };
enum { TW_MOST_STREAMS = 64, TW_MOST_KEY = 256, TW_KEYS = 5 };

/* The member of an object that says its text, and those that say whose it is. */
static const struct { const char *text, *keys[TW_KEYS]; } tw_members[] = {
    { NULL, { NULL } },
    { "log", { "stream", "container_id", "container_name", "container" } },
    { "MESSAGE", { "CONTAINER_ID", "CONTAINER_ID_FULL", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER", "_PID" } },
};

typedef struct {
    uint8_t key[TW_MOST_KEY];
    size_t key_size, start, size;            /* start: of its text in the arena */
    tw_stretch *stretches;
    size_t count, stretch_room;
    int open, timed;                         /* the next piece goes on with the line of the last one, which began at: */
    int64_t time;
} tw_stream;

typedef struct {
    tw_stream streams[TW_MOST_STREAMS];
    size_t count;
    tw_span *lines;                          /* that belong to the run */
    size_t line_count, line_room;
    int ended;                               /* no more can follow */
} tw_run_of_lines;

/* The piece that one line says; key: whose it is, its parts behind one another with a zero between; several: a line
 * ends in it, before its end. */
typedef struct { size_t key_size; tw_stretch said; int goes_on, several; uint8_t key[TW_MOST_KEY]; } tw_piece;

enum { TW_PIECE_NONE, TW_PIECE_THERE, TW_PIECE_UNSURE };

static void tw_run_free(tw_run_of_lines *run)
{
    for (size_t i = 0; i < run->count; i++) free(run->streams[i].stretches);
    free(run->lines);
}

/* Puts what a piece says behind the end of the arena. 0: no memory. */
static int tw_say_piece(tw_lines *k, const tw_region *r, tw_piece *piece)
{
    if (!tw_arena_room(k, piece->said.until - piece->said.outer + 128)) return 0;
    piece->said.size = tw_say(k, r, &piece->said, k->arena + k->arena_size);
    return 1;
}

static int tw_cri_piece(tw_lines *k, const tw_region *r, size_t start, size_t behind, tw_piece *piece)
{
    const uint8_t *s = tw_text(k, r);
    size_t p = start, end = behind;
    if (end - p >= 3 && s[p] == 0xEF && s[p + 1] == 0xBB && s[p + 2] == 0xBF) p += 3;
    size_t first = p;
    if (!(p = tw_is_cri(s, first, end))) return TW_PIECE_NONE;
    piece->said.timed = tw_time_prefix(s + first, p - first, &piece->said.time) > 0;
    memcpy(piece->key, s + p + 1, 6);
    piece->key_size = 6;
    piece->goes_on = s[p + 8] == 'P';
    p += 9;
    if (p < end && s[p] == ':')
        while (++p < end && s[p] != ' ' && s[p] != '\r' && s[p] != '\n') { }
    if (p < end && s[p] == ' ') p++;
    else if (!(p == end || s[p] == '\n' || (s[p] == '\r' && (p + 1 == end || s[p + 1] == '\n')))) return TW_PIECE_NONE;
    piece->said.outer = p;
    piece->said.until = behind;
    if (piece->goes_on && behind > p && s[behind - 1] == '\n') piece->said.until -= 1 + (behind - 1 > p && s[behind - 2] == '\r');
    return tw_say_piece(k, r, piece) ? TW_PIECE_THERE : TW_PIECE_UNSURE;
}

/* The text of the value at p: a string, or for a journal an array of bytes; 0 where it is none. */
static int tw_said_by(const uint8_t *s, const uint8_t *p, const uint8_t *hard, const uint8_t *closing_of_key, int journald, tw_piece *piece)
{
    const uint8_t *bracket, *first, *last;
    if (*p == '"') {
        last = tw_closing_quote(p + 1, hard);
        piece->said.outer = (size_t)(p + 1 - s);
        piece->said.written = memchr(p + 1, '\\', (size_t)(last - p - 1)) ? TW_WITH_ESCAPES : TW_AS_IT_IS;
    } else if (journald && *p == '[' && (last = tw_behind_space(p + 1), *last == ']')) {
        piece->said.outer = (size_t)(last - s);
        piece->said.written = TW_AS_IT_IS;
    } else if (journald && (last = tw_message_bytes(closing_of_key, hard, hard, &bracket, &first))) {
        piece->said.outer = (size_t)(first - s);
        piece->said.written = TW_AS_NUMBERS;
    } else {
        return 0;
    }
    piece->said.quote = (size_t)(p - s);
    piece->said.until = (size_t)(last - s);
    return 1;
}

static int tw_object_piece(tw_search *w, const tw_region *r, size_t start, size_t behind, int carrier, tw_piece *piece)
{
    tw_json *x = &w->k.json;
    const uint8_t *s = tw_text(&w->k, r), *hard = s + tw_hard(&w->k, r);
    const uint8_t *keys[TW_KEYS] = { NULL }, *key_ends[TW_KEYS], *end = s + behind, *p = s + start;
    int said = 0, partial = 0, dated = 0, best = TW_TIME_NAMES, rank;
    int64_t moment;
    if (end - p >= 3 && p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF) p += 3;
    while (p < end && tw_space(*p)) p++;
    while (end > p && tw_space(end[-1])) end--;
    if (p == end || *p != '{' || end[-1] != '}') return TW_PIECE_NONE;
    x->unfit = p;                            /* templates note no parts */
    x->parted = 1;
    const uint8_t *object = p, *last = tw_json_parse(x, p, end, hard);
    if (x->odd || (!last && !x->cut)) return TW_PIECE_UNSURE;
    if (last != end) return TW_PIECE_NONE;
    for (const tw_part *part = x->parts + x->part_base; part < x->parts + x->part_count; part++) {
        if (part->what != TW_PART_KEY || part->depth > 1) continue;
        size_t size = part->size;
        const uint8_t *key = object + part->at, *close = key + size, *value = tw_behind_space(tw_behind_space(close + 1) + 1), *done = value + 1;
        if (part->escaped) return TW_PIECE_UNSURE;
        if (*value == '"') done = object + part[1].at + part[1].size + 1;
        else if (*value != '{' && *value != '[') done = tw_behind_value(value, hard);
        if ((rank = tw_time_rank(key, size)) < best && tw_member_time(value, hard, &moment)) {
            best = rank;
            piece->said.time = moment;
        }
        if (tw_is_key(key, size, tw_members[carrier].text)) {
            if (said) return TW_PIECE_UNSURE;
            said = tw_said_by(s, value, hard, close, carrier == TW_JOURNALD, piece) ? 1 : -1;
        }
        for (int i = 0; i < TW_KEYS && tw_members[carrier].keys[i]; i++) {
            if (!size || *key != (uint8_t)*tw_members[carrier].keys[i] || !tw_is_key(key, size, tw_members[carrier].keys[i])) continue;
            if (keys[i] || memchr(value, '\\', (size_t)(done - value))) return TW_PIECE_UNSURE;
            keys[i] = value + (*value == '"');
            key_ends[i] = done - (*value == '"');
            if (*value == '"') continue;
            for (const uint8_t *q = value; q < done && !tw_space(*q); q++, key_ends[i] = q) /* as a number is written, so is its text */
                if (!csp_is_digit(*q)) return TW_PIECE_UNSURE;
        }
        dated |= tw_is_key(key, size, "__REALTIME_TIMESTAMP");
        if (tw_is_key(key, size, "CONTAINER_PARTIAL_MESSAGE")) {
            if (partial || memchr(value, '\\', (size_t)(done - value))) return TW_PIECE_UNSURE;
            partial = 1 + (done - value >= 6 && !memcmp(value, "\"true\"", 6));
        }
        /* The other carrier's: an object of both is Docker's. */
        if (carrier == TW_JOURNALD && (tw_is_key(key, size, "log") || tw_is_key(key, size, "stream"))) return TW_PIECE_UNSURE;
    }
    if (said <= 0 || (carrier == TW_JOURNALD && !dated)) return TW_PIECE_NONE;
    if (carrier == TW_DOCKER && (!keys[0] || keys[0][-1] != '"' || key_ends[0] - keys[0] != 6 ||
                                 (memcmp(keys[0], "stdout", 6) && memcmp(keys[0], "stderr", 6)))) return TW_PIECE_NONE;
    for (int i = 0; i < TW_KEYS && tw_members[carrier].keys[i]; i++) {
        size_t size = keys[i] ? (size_t)(key_ends[i] - keys[i]) : 0;
        if (piece->key_size + size + 1 > TW_MOST_KEY) return TW_PIECE_UNSURE;
        if (i) piece->key[piece->key_size++] = 0;
        if (size) memcpy(piece->key + piece->key_size, keys[i], size);
        piece->key_size += size;
    }
    piece->said.timed = best < TW_TIME_NAMES || tw_wrapper_time(x, x->part_base, x->part_count, object, hard, &piece->said.time); /* of an object in it, perhaps */
    piece->said.ended = carrier == TW_JOURNALD && partial < 2;
    if (!tw_say_piece(&w->k, r, piece)) return TW_PIECE_UNSURE;
    s = w->k.arena + w->k.arena_size;
    size_t size = piece->said.size;
    piece->several = size && memchr(s, '\n', size - 1);
    piece->goes_on = !piece->said.ended && !(size && s[size - 1] == '\n');
    return TW_PIECE_THERE;
}

/* True if the object with which a line begins is no piece of a run: it says several lines by itself, or is of no carrier. */
static int tw_is_alone(tw_search *w, tw_region *r, size_t line)
{
    size_t behind = tw_behind_line(tw_text(&w->k, r), line, r->end);
    for (int carrier = TW_DOCKER; carrier <= TW_JOURNALD; carrier++) {
        tw_piece piece;
        memset(&piece, 0, offsetof(tw_piece, key));
        int found = tw_object_piece(w, r, line, behind, carrier, &piece);
        if (found != TW_PIECE_NONE) return found == TW_PIECE_THERE && piece.several && !piece.goes_on;
    }
    return 1;
}

/* The stream of a piece, or NULL. */
static tw_stream *tw_stream_there(tw_run_of_lines *run, const tw_piece *piece)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->streams[i].key_size == piece->key_size && !memcmp(run->streams[i].key, piece->key, piece->key_size))
            return &run->streams[i];
    return NULL;
}

/* Adds a piece, what it says at the end of the arena, where others stand between those of a stream. */
static int tw_add_piece(tw_lines *k, tw_stream *stream, const tw_piece *piece)
{
    if (!tw_more_room((void **)&stream->stretches, &stream->stretch_room, stream->count, 1, sizeof(tw_stretch))) return 0;
    if (!stream->open) {
        stream->time = piece->said.time;
        stream->timed = piece->said.timed;
    }
    tw_stretch *one = &stream->stretches[stream->count++];
    *one = piece->said;
    one->start = k->arena_size;
    one->time = stream->time;
    one->timed = (uint8_t)stream->timed;
    k->arena_size += one->size;
    if (one->ended) k->arena[k->arena_size++] = '\n';
    stream->open = piece->goes_on;
    return 1;
}

/* Makes one text of the pieces of each stream, which it ends. first: where they begin in the arena. 0: no memory. */
static int tw_join_pieces(tw_lines *k, tw_run_of_lines *run, size_t first)
{
    for (size_t n = 0; n < run->count; n++) {
        tw_stream *stream = &run->streams[n];
        tw_stretch *one = stream->stretches, *end = one + stream->count;
        size_t at = stream->start = run->count > 1 ? k->arena_size : first;
        for (; one < end; one++) {
            size_t size = one->size + one->ended;
            if (run->count > 1) {
                if (!tw_arena_room(k, size + 128)) return 0;
                memcpy(k->arena + at, k->arena + one->start, size);
            }
            one->start = at - stream->start;
            k->arena_size = at += size;
        }
        stream->size = at - stream->start;
        k->arena[k->arena_size++] = '\n';
    }
    return 1;
}

/* Takes the lines of a text from `at` on apart, of whose pieces texts are made in the arena. foreign, size: of a run that goes on, the
 * lines and bytes of others since its last line. TW_FINE; TW_ASK: the readable twin must; TW_STOPPED: no memory. */
static int tw_take_run(tw_search *w, const tw_region *r, size_t at, int carrier, int goes_on, size_t foreign, size_t size, tw_run_of_lines *run)
{
    const size_t first = w->k.arena_size;
    for (size_t start = at, behind; start < r->end && !run->ended; start = behind) {
        behind = tw_behind_line(tw_text(&w->k, r), start, r->end);
        tw_piece piece;
        memset(&piece, 0, offsetof(tw_piece, key));
        int found = tw_behind_taken(&r->taken, start) > start ? TW_PIECE_NONE
                    : carrier == TW_CRI ? tw_cri_piece(&w->k, r, start, behind, &piece)
                                        : tw_object_piece(w, r, start, behind, carrier, &piece);
        if (found == TW_PIECE_UNSURE) goto unsure;
        tw_stream *stream = found ? tw_stream_there(run, &piece) : NULL;
        if (!found || (piece.several && !piece.goes_on && !(stream && stream->open))) { /* of others, or a text by itself */
            foreign++;
            size += behind - start;
            run->ended = (!run->line_count && !goes_on) || foreign > TW_MOST_FOREIGN_LINES || size > TW_MOST_FOREIGN;
            continue;
        }
        foreign = size = 0;
        if (!stream) {
            if (run->count == TW_MOST_STREAMS) goto unsure;
            stream = &run->streams[run->count++];
            memcpy(stream->key, piece.key, piece.key_size);
            stream->key_size = piece.key_size;
        }
        if (!tw_add_piece(&w->k, stream, &piece) ||
            !tw_more_room((void **)&run->lines, &run->line_room, run->line_count, 1, sizeof(tw_span))) return TW_STOPPED;
        run->lines[run->line_count++] = (tw_span){ start, behind };
    }
    return tw_join_pieces(&w->k, run, first) ? TW_FINE : TW_STOPPED;
unsure:
    w->k.arena_size = first;
    return TW_ASK;
}

#endif
