/* Judges JSON text by a table of rules while it is read, and builds nothing. Either the text is surely good, without any
 * issue, or there is doubt (NULL or 0), and the code that builds objects and words errors decides. The rules, and the text that
 * writing gives, are those of json/text.pyx, for the limits of turnwire.contract. */
#ifndef TURNWIRE_JSON_RULES_H
#define TURNWIRE_JSON_RULES_H

#include "bytes.h"
#include "forms.h"
#include "secrets.h"
#include "_native/kick/content.h"

/* The forms of values. json/codec.pyx names these in the same order. */
enum { TW_RULE_ANY, TW_RULE_TEXT, TW_RULE_UUID, TW_RULE_TIME, TW_RULE_VERSION, TW_RULE_BOOLEAN, TW_RULE_COUNT,
       TW_RULE_OBJECT, TW_RULE_OBJECTS, TW_RULE_TEXTS, TW_RULE_NUMBERS, TW_RULE_PRESSURE, TW_RULE_WORD, TW_RULE_RECORD,
       TW_RULE_RECORDS, TW_RULE_DIGEST, TW_RULE_QUANTITY,
       TW_RULE_CLOCK,                        /* an integer from 1 on */
       TW_RULE_FRACTION,                     /* a number from 0 to 1 */
       TW_RULE_LIST,
       TW_RULE_SPOKEN,                       /* a text that is not empty and no placeholder, which begins with "<" */
       TW_RULE_SPOKEN_OR_NULL, TW_RULE_SAID, /* that, or what is no text at all */
       TW_RULE_CHOICE,                       /* a word, which chooses what TW_RULE_CHOSEN is */
       TW_RULE_AGREES,                       /* a word that has the same place as that one */
       TW_RULE_CHOSEN,
       TW_RULE_LENT,                         /* TW_RULE_SPOKEN, which the chosen object (`lent` of its rules) has not then */
       TW_RULE_CHANNEL,                      /* "family/name" behind the sigil of KickLang */
       TW_RULE_UUID4, TW_RULE_MOMENT, TW_RULE_SPACE, /* any text, worth a closer look if it is not a UUID of version 4, a
                                                time without an offset, a Space document of one section */
       TW_RULE_DOUBT };

/* Reasons for a closer look, though it be good: its being there, an "@" in it, what may be a secret. */
enum { TW_MARK_LOOK = 1, TW_MARK_AT = 2, TW_MARK_SECRETS = 4,
       TW_MARK_WRITING = 8,                  /* a value without which strict writing refuses a message, though it be good */
       TW_MARK_RULED = 16 };                 /* a text by which, with others of this mark, a policy decides */

enum { TW_MOST_RULES = 32, TW_RULE_SLOTS = 128, TW_MOST_WORDS = 8, TW_MOST_FREE_KEYS = 256,
       TW_MOST_RULED = 4,
       TW_MOST_DIGITS = 600 };               /* of an integer, which every interpreter reads */

typedef struct tw_rules tw_rules;

typedef struct {
    const uint8_t *name;
    uint32_t size;
    uint8_t kind, nullable, mark, words;
    uint8_t ruled;                           /* of TW_MARK_RULED: its place among them */
    uint8_t clean;                           /* a bit for each word that is not worth a closer look */
    tw_choice word[TW_MOST_WORDS];
    tw_rules *rules;                         /* of a record */
} tw_rule;

/* The rules of one object. The names are kept elsewhere. */
struct tw_rules {
    tw_rule rule[TW_MOST_RULES];
    int count;
    uint64_t musts, lent;                    /* a bit for each rule */
    int8_t slots[TW_RULE_SLOTS];
    int8_t after[TW_MOST_RULES + 1];         /* the place that stood behind each one last, and first: what is looked for first */
};

typedef struct {
    const uint8_t *end;
    size_t key;                              /* bytes of a key at most */
    int left;                                /* containers that may be opened yet */
    int own;                                 /* writing it, unchanged, gives the same text */
    int clean;                               /* nothing needs a closer look */
    int low_escapes;                         /* characters of ASCII are written as \u */
    int choice, agreed;                      /* the words of TW_RULE_CHOICE and TW_RULE_AGREES */
    int lent;                                /* there was a TW_RULE_LENT */
    tw_rules **chosen;                       /* what TW_RULE_CHOSEN is for each word */
    const uint8_t *later;                    /* inside of an object of TW_RULE_CHOSEN that stood in front of the words */
    int writable;                            /* there was a value of TW_MARK_WRITING */
    int others;                              /* there was a key without a rule, */
    int shuffled;                            /* or one that stands in the table in front of the key before it */
    struct { const uint8_t *from, *to; } ruled[TW_MOST_RULED]; /* the values of TW_MARK_RULED, with their quotes */
    uint64_t seen;                           /* a bit for each rule of the outermost object that had a value */
    int keys;                                /* how many keys without a rule the open objects have, */
    uint64_t hashes[TW_MOST_FREE_KEYS];      /* and their hashes */
} tw_walk;

static TW_UNUSED void tw_rules_begin(tw_rules *t)
{
    memset(t, 0, sizeof *t);
    memset(t->slots, -1, sizeof t->slots);
}

/* Adds a rule; NULL where there are too many. */
static TW_UNUSED tw_rule *tw_rules_add(tw_rules *t, const char *name, size_t size, int kind, int must)
{
    tw_rule *rule = &t->rule[t->count];
    size_t slot = tw_name_hash((const uint8_t *)name, size) % TW_RULE_SLOTS;
    if (t->count == TW_MOST_RULES) return NULL;
    while (t->slots[slot] >= 0) slot = (slot + 1) % TW_RULE_SLOTS;
    t->slots[slot] = (int8_t)t->count;
    rule->name = (const uint8_t *)name;
    rule->size = (uint32_t)size;
    rule->kind = (uint8_t)kind;
    rule->clean = 0xFF;
    t->after[t->count] = (int8_t)t->count; /* as yet, the order of the table */
    t->after[t->count + 1] = 0;
    if (must) t->musts |= (uint64_t)1 << t->count;
    t->count++;
    return rule;
}

/* Adds a word that a value may be; 0 where there are too many. */
static TW_UNUSED int tw_rule_word(tw_rule *rule, const char *text, size_t size, int clean)
{
    tw_choice *word = &rule->word[rule->words];
    if (rule->words == TW_MOST_WORDS) return 0;
    word->text = (const uint8_t *)text;
    word->size = (uint32_t)size;
    if (size <= sizeof word->padded) memcpy(word->padded, text, size);
    if (!clean) rule->clean &= (uint8_t)~(1u << rule->words);
    rule->words++;
    return 1;
}

/* To the next byte that is not white space, of which writing puts none. */
static inline const uint8_t *tw_walk_skip(tw_walk *w, const uint8_t *p)
{
    const uint8_t *start = p;
    if (p < w->end && *p > ' ') return p;
    while (p < w->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    w->own &= p == start;
    return p;
}

/* The string whose inside goes on at p, where there is more than plain ASCII: behind its quote. */
static TW_APART const uint8_t *tw_walk_rest(tw_walk *w, const uint8_t *p)
{
    while (p < w->end && *p != '"') {
        int size;
        if (*p == '\\') {
            size = tw_escape_size(p, w->end);
            if (size && p[1] == '/') w->own = 0;
            if (size && p[1] == 'u') {
                w->own = 0;
                w->low_escapes |= p[2] == '0' && p[3] == '0' && p[4] < '8';
            }
        } else {
            size = *p < 0x80 ? 0 : tw_utf8_size(p, w->end);
        }
        if (!size) return NULL;
        p += size;
        if (p < w->end && *p < 0x80) p = tw_plain(p, w->end);
    }
    return p < w->end ? p + 1 : NULL;
}

/* The string whose inside starts at p: behind its quote. */
static inline const uint8_t *tw_walk_string(tw_walk *w, const uint8_t *p)
{
    p = tw_plain(p, w->end);
    if (p < w->end && *p == '"') return p + 1;
    return tw_walk_rest(w, p);
}

/* The number at p: behind it. *whole: its value where it is an integer from 0 on, else -1; *sign: whether there is one. */
static inline const uint8_t *tw_walk_number(tw_walk *w, const uint8_t *p, int64_t *whole, int *sign)
{
    const uint8_t *end = w->end, *first, *point;
    uint64_t value = 0;
    *sign = *p == '-';
    first = p += *sign;
    while (p < end && (uint8_t)(*p - '0') < 10) value = value * 10 + (uint64_t)(*p++ - '0');
    if (p == first || (*first == '0' && p - first > 1)) return NULL;
    *whole = *sign ? -1 : (int64_t)value;
    if (p - first > 18) { /* a value that is not known, and as a double maybe too much for one */
        *whole = -1;
        return p - first > TW_MOST_DIGITS || (p < end && (*p == '.' || (*p | 32) == 'e')) ? NULL : p;
    }
    if (p < end && *p == '.') {
        point = ++p;
        while (p < end && (uint8_t)(*p - '0') < 10) p++;
        if (p == point) return NULL;
        *whole = -1;
    }
    if (p < end && (*p | 32) == 'e') {
        *whole = -1;
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        point = p;
        while (p < end && (uint8_t)(*p - '0') < 10) p++;
        if (p == point || p - point > 2) return NULL; /* more may be too much for a double */
    }
    return p;
}

/* true, false or null at p: behind it. */
static inline const uint8_t *tw_walk_literal(const tw_walk *w, const uint8_t *p)
{
    if (w->end - p >= 4 && (!memcmp(p, "true", 4) || !memcmp(p, "null", 4))) return p + 4;
    return w->end - p >= 5 && !memcmp(p, "false", 5) ? p + 5 : NULL;
}

static const uint8_t *tw_walk_free(tw_walk *w, const uint8_t *p, int numbers, int secrets);
static const uint8_t *tw_walk_record(tw_walk *w, const uint8_t *p, tw_rules *t);

/* Behind a member or an item: *closed where the container ends there. */
static inline const uint8_t *tw_walk_next(tw_walk *w, const uint8_t *p, uint8_t close, int *closed)
{
    p = tw_walk_skip(w, p);
    if (p >= w->end || (*p != ',' && *p != close)) return NULL;
    *closed = *p == close;
    return *closed ? p + 1 : tw_walk_skip(w, p + 1);
}

/* Any value at p. secrets: whether it is clean only where nothing looks like a secret; named: whether it stands under a
 * name that may be that of one. */
static const uint8_t *tw_walk_any(tw_walk *w, const uint8_t *p, int secrets, int named)
{
    const uint8_t *start = p;
    int64_t whole;
    int sign, closed = 0;
    if (p >= w->end) return NULL;
    switch (*p) {
    case '"':
        p = tw_walk_string(w, p + 1);
        if (p && secrets && (named || ((size_t)(p - start) - 2 >= TW_SHORTEST_SECRET &&
                                       tw_telling_text(start + 1, (size_t)(p - start) - 2)))) w->clean = 0;
        return p;
    case '{': return tw_walk_free(w, p + 1, TW_RULE_ANY, secrets);
    case '[':
        if (--w->left < 0) return NULL;
        p = tw_walk_skip(w, p + 1);
        if (p < w->end && *p == ']') closed = 1, p++;
        while (p && !closed)
            if ((p = tw_walk_any(w, p, secrets, 0))) p = tw_walk_next(w, p, ']', &closed);
        w->left++;
        return p;
    case 't': case 'f': case 'n': return tw_walk_literal(w, p);
    default: return tw_walk_number(w, p, &whole, &sign);
    }
}

/* The keys of an object that have no rule: how many there were in w->hashes when it began, and, once there is one, a bit for
 * ten of each one's hash. */
typedef struct { int start; uint64_t bits[16]; } tw_met;

/* Bytes of the key at p, behind its quote; -1 for doubt: where it has escapes, whose characters would count, or where it
 * may be one that was there. *behind: behind the colon and white space. */
static inline ptrdiff_t tw_walk_key(tw_walk *w, const uint8_t *p, const uint8_t **behind, tw_met *met)
{
    const uint8_t *q = tw_walk_string(w, p);
    size_t size = q ? (size_t)(q - p) - 1 : 0;
    uint64_t hash, bit, *bits;
    if (!q || size > w->key || w->keys == TW_MOST_FREE_KEYS || memchr(p, '\\', size)) return -1;
    hash = tw_name_hash(p, size);
    bit = (uint64_t)1 << (hash & 63);
    bits = &met->bits[hash >> 6 & 15];
    if (w->keys == met->start) memset(met->bits, 0, sizeof met->bits);
    for (int i = *bits & bit ? met->start : w->keys; i < w->keys; i++)
        if (w->hashes[i] == hash) return -1;
    *bits |= bit;
    w->hashes[w->keys++] = hash;
    q = tw_walk_skip(w, q);
    if (q >= w->end || *q != ':') return -1;
    *behind = tw_walk_skip(w, q + 1);
    return (ptrdiff_t)size;
}

/* The object of any keys whose inside starts at p. numbers: whether its values are numbers, or pressures. */
static const uint8_t *tw_walk_free(tw_walk *w, const uint8_t *p, int numbers, int secrets)
{
    tw_met met;
    int closed = 0, sign;
    int64_t whole = 0;
    met.start = w->keys;
    if (--w->left < 0) return NULL;
    p = tw_walk_skip(w, p);
    if (p < w->end && *p == '}') closed = 1, p++;
    while (!closed) {
        const uint8_t *key = p + 1;
        ptrdiff_t size = p < w->end && *p == '"' ? tw_walk_key(w, key, &p, &met) : -1;
        if (size < 0) return NULL;
        if (numbers == TW_RULE_ANY) {
            const int named = secrets && p < w->end && *p == '"' && tw_telling_name(key, (size_t)size);
            if (secrets && (size_t)size >= TW_SHORTEST_SECRET && tw_telling_text(key, (size_t)size)) w->clean = 0;
            p = tw_walk_any(w, p, secrets, named);
        } else {
            p = p < w->end ? tw_walk_number(w, p, &whole, &sign) : NULL;
            if (numbers == TW_RULE_PRESSURE && (whole < 0 || whole > 100)) return NULL;
        }
        if (!p || !(p = tw_walk_next(w, p, '}', &closed))) return NULL;
    }
    w->left++;
    w->keys = met.start;
    return p;
}

/* The array whose inside starts at p: of texts, objects or records. */
static const uint8_t *tw_walk_array(tw_walk *w, const uint8_t *p, const tw_rule *rule)
{
    int closed = 0;
    if (--w->left < 0) return NULL;
    p = tw_walk_skip(w, p);
    if (p < w->end && *p == ']') closed = 1, p++;
    while (!closed) {
        const uint8_t *start = p;
        if (p >= w->end || *p != (rule->kind == TW_RULE_TEXTS ? '"' : '{')) return NULL;
        if (rule->kind == TW_RULE_TEXTS) p = tw_walk_string(w, p + 1);
        else p = rule->rules ? tw_walk_record(w, p + 1, rule->rules) : tw_walk_free(w, p + 1, TW_RULE_ANY, 0);
        if (!p) return NULL;
        if (rule->mark & TW_MARK_AT && rule->kind == TW_RULE_TEXTS && memchr(start, '@', (size_t)(p - start))) w->clean = 0;
        if (!(p = tw_walk_next(w, p, ']', &closed))) return NULL;
    }
    w->left++;
    return p;
}

/* YYYY-MM-DDTHH:MM:SS with or without Z, no leap second. */
static inline int tw_is_short_time(const uint8_t *p, size_t size)
{
    if (size != 19 && (size != 20 || p[19] != 'Z')) return 0;
    if (p[4] != '-' || p[7] != '-' || p[10] != 'T' || p[13] != ':' || p[16] != ':') return 0;
    int century = tw_two(p), year = tw_two(p + 2), month = tw_two(p + 5), day = tw_two(p + 8);
    int hour = tw_two(p + 11), minute = tw_two(p + 14), second = tw_two(p + 17);
    return (century | year | hour | minute | second) >= 0 && hour < 24 && minute < 60 && second < 60 &&
           tw_days(century * 100 + year + 400, month, day) != INT64_MIN; /* the year 0000 has the days of 0400 */
}

/* The same as SAP writes it. */
static inline int tw_is_plain_time(const uint8_t *p) { return tw_is_short_time(p, 20) && memcmp(p, "0000", 4); }

static inline int tw_is_digest(const uint8_t *p, size_t size)
{
    if (size != 71 || memcmp(p, "sha256:", 7)) return 0;
    for (size_t at = 7; at < size; at++)
        if ((uint8_t)(p[at] - '0') >= 10 && (uint8_t)((p[at] | 32) - 'a') >= 6) return 0;
    return 1;
}

/* The string at p, behind its quote, by its rule. */
static const uint8_t *tw_walk_text(tw_walk *w, const uint8_t *p, const tw_rule *rule)
{
    const uint8_t *q;
    size_t size;
    int word;
    if (rule->kind == TW_RULE_UUID) return w->end - p > 36 && p[36] == '"' && tw_is_uuid(p, 36) ? p + 37 : NULL;
    if (rule->kind == TW_RULE_TIME) return w->end - p > 20 && p[20] == '"' && tw_is_plain_time(p) ? p + 21 : NULL;
    if (!(q = tw_walk_string(w, p))) return NULL;
    size = (size_t)(q - p) - 1;
    switch (rule->kind) {
    case TW_RULE_TEXT:
        if (rule->mark & TW_MARK_AT && memchr(p, '@', size)) w->clean = 0;
        return q;
    case TW_RULE_SPOKEN: case TW_RULE_SPOKEN_OR_NULL: case TW_RULE_SAID: case TW_RULE_LENT:
        w->lent |= rule->kind == TW_RULE_LENT;
        return size && *p > ' ' && *p != '<' && *p != '\\' ? q : NULL;
    case TW_RULE_WORD: case TW_RULE_VERSION: case TW_RULE_CHOICE: case TW_RULE_AGREES:
        word = tw_word_of(rule->word, rule->words, p, size, w->end);
        if (word < 0) return NULL;
        if (!(rule->clean >> word & 1)) w->clean = 0;
        if (rule->kind == TW_RULE_CHOICE) w->choice = word;
        if (rule->kind == TW_RULE_AGREES) w->agreed = word;
        return q;
    case TW_RULE_DIGEST: return tw_is_digest(p, size) ? q : NULL;
    case TW_RULE_CHANNEL: return tw_is_written_channel(p, size) ? q : NULL;
    case TW_RULE_UUID4: w->clean &= tw_is_uuid4(p, size); return q;
    case TW_RULE_MOMENT: w->clean &= tw_is_short_time(p, size); return q;
    case TW_RULE_SPACE: w->clean &= tw_is_plain_written(p, q - 1); return q;
    default: return NULL;
    }
}

static inline const uint8_t *tw_walk_quantity(tw_walk *w, const uint8_t *p, int kind)
{
    const uint8_t *start = p;
    int64_t whole;
    int sign;
    if (!(p = tw_walk_number(w, p, &whole, &sign)) || sign) return NULL;
    switch (kind) {
    case TW_RULE_COUNT: return whole >= 0 ? p : NULL;
    case TW_RULE_CLOCK: return whole > 0 ? p : NULL;
    case TW_RULE_FRACTION: /* of others the reader knows the value */
        if (whole >= 0) return whole <= 1 ? p : NULL;
        return (*start == '0' && !memchr(start, 'e', (size_t)(p - start)) &&
                !memchr(start, 'E', (size_t)(p - start))) || (p - start == 3 && !memcmp(start, "1.0", 3)) ? p : NULL;
    default: return p;
    }
}

/* The value at p by its rule. */
static inline const uint8_t *tw_walk_value(tw_walk *w, const uint8_t *p, const tw_rule *rule)
{
    const int secrets = rule->mark & TW_MARK_SECRETS;
    if (rule->mark & TW_MARK_LOOK) w->clean = 0;
    w->writable |= rule->mark & TW_MARK_WRITING;
    if (p >= w->end) return NULL;
    if (rule->nullable && *p == 'n') return tw_walk_literal(w, p);
    if (rule->kind == TW_RULE_ANY || (rule->kind == TW_RULE_SAID && *p != '"')) return tw_walk_any(w, p, secrets, 0);
    if (*p == '"') return tw_walk_text(w, p + 1, rule);
    if (*p == '{') {
        if (rule->kind == TW_RULE_RECORD) return tw_walk_record(w, p + 1, rule->rules);
        if (rule->kind == TW_RULE_CHOSEN) {
            if (w->choice >= 0 && w->agreed == w->choice) return tw_walk_record(w, p + 1, w->chosen[w->choice]);
            if (w->choice >= 0 || w->agreed >= 0) return NULL;
            w->later = p + 1; /* walked once more when the words are known */
            return tw_walk_free(w, p + 1, TW_RULE_ANY, 0);
        }
        if (rule->kind == TW_RULE_OBJECT) return tw_walk_free(w, p + 1, TW_RULE_ANY, secrets);
        return rule->kind == TW_RULE_NUMBERS || rule->kind == TW_RULE_PRESSURE ? tw_walk_free(w, p + 1, rule->kind, 0) : NULL;
    }
    if (*p == '[') {
        if (rule->kind == TW_RULE_LIST) return tw_walk_any(w, p, 0, 0);
        if (rule->kind == TW_RULE_TEXTS || rule->kind == TW_RULE_OBJECTS || rule->kind == TW_RULE_RECORDS)
            return tw_walk_array(w, p + 1, rule);
        return NULL;
    }
    if (*p == '-' || (uint8_t)(*p - '0') < 10)
        return rule->kind == TW_RULE_COUNT || rule->kind == TW_RULE_QUANTITY || rule->kind == TW_RULE_CLOCK ||
               rule->kind == TW_RULE_FRACTION ? tw_walk_quantity(w, p, rule->kind) : NULL;
    if (rule->kind == TW_RULE_BOOLEAN && (*p == 't' || *p == 'f')) return tw_walk_literal(w, p);
    return rule->kind == TW_RULE_SPOKEN_OR_NULL && *p == 'n' ? tw_walk_literal(w, p) : NULL;
}

static inline int tw_is_name(const tw_walk *w, const tw_rule *rule, const uint8_t *p)
{
    return w->end - p > (ptrdiff_t)rule->size && p[rule->size] == '"' && tw_same_bytes(p, rule->name, rule->size);
}

/* The place of the rule for a key; -1 for a key that has none. last: one more than that of the key in front of it, 0 where it
 * is the first. */
static inline int tw_rule_named(tw_rules *t, const uint8_t *name, size_t size, int last)
{
    for (size_t slot = tw_name_hash(name, size) % TW_RULE_SLOTS; t->slots[slot] >= 0; slot = (slot + 1) % TW_RULE_SLOTS) {
        const tw_rule *rule = &t->rule[t->slots[slot]];
        if (rule->size == size && tw_same_bytes(rule->name, name, size)) return t->after[last] = t->slots[slot];
    }
    return -1;
}

/* The same for the key at p, behind its quote. */
static inline int tw_rule_of(const tw_walk *w, tw_rules *t, const uint8_t *p, int last)
{
    const uint8_t *quote;
    size_t room = (size_t)(w->end - p);
    if (tw_is_name(w, &t->rule[t->after[last]], p)) return t->after[last];
    quote = (const uint8_t *)memchr(p, '"', room < 64 ? room : 64);
    return quote ? tw_rule_named(t, p, (size_t)(quote - p), last) : -1;
}

/* The object whose inside starts at p, by its rules. */
static const uint8_t *tw_walk_record(tw_walk *w, const uint8_t *p, tw_rules *t)
{
    tw_met met;
    uint64_t seen = 0;
    int closed = 0, last = 0, behind = 0;
    met.start = w->keys;
    if (--w->left < 0) return NULL;
    p = tw_walk_skip(w, p);
    if (p < w->end && *p == '}') closed = 1, p++;
    while (!closed) {
        int place;
        if (p >= w->end || *p != '"') return NULL;
        place = tw_rule_of(w, t, p + 1, last);
        if (place < 0) {
            if (tw_walk_key(w, p + 1, &p, &met) < 0) return NULL;
            p = tw_walk_any(w, p, 0, 0);
            w->others = 1;
            behind = TW_MOST_RULES;
        } else {
            const tw_rule *rule = &t->rule[place];
            const uint8_t *start;
            if (seen >> place & 1) return NULL;
            seen |= (uint64_t)1 << place;
            w->shuffled |= place < behind;
            last = behind = place + 1;
            p = tw_walk_skip(w, p + rule->size + 2);
            if (p >= w->end || *p != ':') return NULL;
            start = tw_walk_skip(w, p + 1);
            p = tw_walk_value(w, start, rule);
            if (rule->mark & TW_MARK_RULED) w->ruled[rule->ruled].from = start, w->ruled[rule->ruled].to = p;
        }
        if (!p || !(p = tw_walk_next(w, p, '}', &closed))) return NULL;
    }
    w->left++;
    w->keys = met.start;
    if (w->lent && t->lent) {
        if (seen & t->lent) return NULL;
        seen |= t->lent;
    }
    w->seen = seen; /* of the object that ends last: the outermost */
    return (seen & t->musts) == t->musts ? p : NULL;
}

/* The object that stood in front of the words that choose its rules. */
static int tw_walk_later(tw_walk *w)
{
    const uint64_t seen = w->seen;
    int good;
    if (w->choice < 0 || w->agreed != w->choice) return 0;
    w->left--; /* it stands in the outermost */
    good = tw_walk_record(w, w->later, w->chosen[w->choice]) != NULL;
    w->left++;
    w->seen = seen;
    return good;
}

/* True if a text is one object that follows the rules, with nothing but white space around it. */
static TW_UNUSED int tw_follows(tw_walk *w, const uint8_t *p, size_t size, tw_rules *t)
{
    w->end = p + size;
    w->own = w->clean = 1;
    w->low_escapes = w->lent = w->keys = w->writable = w->others = w->shuffled = 0;
    w->choice = w->agreed = -1;
    w->later = NULL;
    p = tw_walk_skip(w, p);
    if (p >= w->end || *p != '{' || !(p = tw_walk_record(w, p + 1, t))) return 0;
    if (w->later && !tw_walk_later(w)) return 0;
    p = tw_walk_skip(w, p);
    if (w->low_escapes) w->clean = 0;
    return p == w->end;
}

#endif
