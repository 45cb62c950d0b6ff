/* Validates one JSON object in one pass, without building anything: the rules of json/text.pyx (strict RFC 8259, duplicate
 * keys also when they are equal only after unescaping, UTF-8, finite numbers, limits). On the way the values that a
 * tw_shape names are noted. It refuses what json/text.pyx refuses, and nothing else; why and where, that reader says. */
#ifndef TURNWIRE_JSON_PARSE_H
#define TURNWIRE_JSON_PARSE_H

#include "forms.h"
#include "why.h"
#include "_native/common/keyed_hash.h"

/* The kinds of values: the bits of tw_value.is. */
enum {
    TW_IS_STRING = 1, TW_IS_OBJECT = 2, TW_IS_ARRAY = 4, TW_IS_BOOLEAN = 8, TW_IS_NULL = 16,
    TW_IS_COUNT = 32,                        /* an integer without a minus */
    TW_IS_NEGATIVE = 64,                     /* an integer with one */
    TW_IS_FRACTION = 128,                    /* any other number */
    TW_IS_TEXTS = 256,                       /* an array of strings only */
    TW_IS_RECORDS = 512,                     /* an array of objects only, their known members strings */
    TW_IS_NUMBERS = 1024,                    /* an object of numbers only */
    TW_IS_GOOD = 2048,                       /* a string of the form that its node asks for */
    TW_IS_MINUS_ZERO = 4096,                 /* beside TW_IS_NEGATIVE: -0, which JSON's readers take for no integer */
    TW_IS_EMPTY = 8192                       /* an object without members */
};
enum { TW_FORM_ANY, TW_FORM_UUID, TW_FORM_TIME, TW_FORM_WORD, TW_FORM_CHANNEL };
enum { TW_NO_TABLE = -1, TW_NO_WORD = 255, TW_DEEPEST = 512,
       TW_MOST_ESCAPED = 128 };              /* bytes of a text with escapes whose form is looked at */

typedef struct { const uint8_t *name; uint32_t size; uint16_t node, bit; uint64_t hash; } tw_key_entry;
/* The known keys of one object, of which the first 64 have a bit. other: the node of what stands under any other key, and 1;
 * or 0. */
typedef struct { const tw_key_entry *entries; uint64_t mask; uint16_t other; } tw_table;
typedef struct {
    int16_t table;                           /* known keys of the object that is the value, or of ... */
    int16_t items;                           /* ... the objects in the array that is the value */
    uint8_t form;
    uint8_t text;                            /* in an item of an array: must be a string */
    uint16_t first_word, words;              /* TW_FORM_WORD: its words in tw_shape.words */
    uint16_t keyed;                          /* `value` of items {key, value}: the node of the first word at `key`, or 0 */
    uint8_t is_key;                          /* that `key` */
    uint8_t every;                           /* values that are noted again are counted and added up, and the first string stays */
} tw_node;
typedef struct {
    const tw_table *tables;                  /* number 0 is that of a message */
    const tw_node *nodes;
    const tw_choice *words;
    size_t nesting, key, digits;             /* limits */
    int node_words;                          /* words of 64 bits for a bit of each node */
} tw_shape;

/* The kind of a value (TW_IS_...), the number of the word that it is, whether a string has escapes, and whether it says a
 * time: without escapes, of TW_FORM_TIME and good; of a node with `every`, whether one of its values is an integer. */
typedef struct { uint16_t is; uint8_t word, escaped; uint32_t timed; } tw_brief;
typedef struct {
    const uint8_t *p;                        /* the inside of a string, else the value as written */
    uint32_t size;
    uint32_t count;                          /* members of an array; of a node with `every`, how often it was noted (0: once) */
    uint32_t stamp;                          /* that of the parse that noted it */
    tw_brief b;
    int64_t moment;                          /* the time that it says; the sum of the integers of a node with `every` */
} tw_value;

typedef struct { const uint8_t *p; size_t size; uint64_t hash; } tw_name;
typedef struct { uint64_t hash; uint32_t name, object; } tw_known;

enum { TW_MOST_NODES = 1024, TW_NODE_WORDS = TW_MOST_NODES / 64, TW_FEW = 16, TW_GLUE = 64, TW_STEP_CHUNKS = 32, TW_TEMPLATES = 16,
       TW_MOST_SLOTS = 48 };
/* All that the reader met in an object, in order: its keys and other strings, and the objects and arrays in it. at: its place in the object
 * (of a string, that of its inside); depth: of the object of a key, 3 for more. */
enum { TW_PART_TEXT, TW_PART_KEY, TW_PART_OBJECT, TW_PART_ARRAY };
typedef struct { uint32_t at, size; uint8_t what, escaped, depth; } tw_part;

typedef struct tw_step tw_step;              /* of json/steps.h */
typedef struct tw_template tw_template;            /* of json/templates.h */

typedef struct {
    const tw_shape *shape;
    const uint8_t *end;                      /* of the text in which the object has to stand */
    const uint8_t *hard;                     /* of what may be read */
    const uint8_t *start;                    /* of the object */
    tw_part *parts;                          /* from part_base on those of the object that was read last, by no template; */
    size_t part_base, part_count, part_room; /* before it, of those around it */
    int parted;                              /* they are noted: the object before was no message */
    uint32_t stamp;
    uint64_t noted[TW_NODE_WORDS];           /* a bit for each node that the parse has noted */
    uint16_t is;                             /* of the value read last */
    uint8_t odd;                             /* a known key was written with escapes, or a word */
    uint8_t cut;                             /* the fault may be that the text ended */
    uint8_t bad_item;
    uint8_t keyword;                         /* the word at `key` of the item that is read, or TW_NO_WORD; and ... */
    int ahead;                               /* ... the node of the value that came before it, or -1 */
    uint8_t keyed;                           /* the object has such items: what stands in them goes by what they say */
    uint8_t no_memory;
    const uint8_t *fault;                    /* where reading failed: the byte, or the first one of a number or a word */
    int opened;                              /* objects that were open at the fault, the innermost first */
    const uint8_t *open[TW_DEEPEST];
    tw_value v[TW_MOST_NODES];
    tw_name *names;                          /* unknown keys of the open objects */
    size_t name_count, name_room;
    tw_known *known;                         /* a hash table over the names of objects with many */
    size_t known_count, known_room;
    uint32_t objects, objects_before;        /* numbers of such objects: the last one, and the last one of other messages */
    void **owned;                            /* unescaped keys */
    size_t owned_count, owned_room;
    tw_step *braces[TW_MOST_NODES + 1];      /* by table: where the steps of its objects begin */
    tw_step *steps[TW_STEP_CHUNKS];
    size_t step_count, missed;
    uint64_t asked[TW_NODE_WORDS];           /* a bit for each node that fills a column; and for each that did ... */
    uint64_t made_for[TW_NODE_WORDS];        /* ... when the templates were made */
    tw_template *templates[TW_TEMPLATES];             /* the one that fitted last first */
    tw_template *before;                        /* the one that fitted last of all, or NULL */
    tw_template *fitted;                        /* the one that the object was read with, or NULL; and ... */
    const uint8_t *unfit;                    /* an object that none fitted, and which was not read yet */
    int surely;                              /* ... its verdict stands */
    int template_count;
    int reached;                             /* of the template tried last: so many slots were filled */
    const uint8_t *behind[TW_MOST_SLOTS + 1]; /* where each of them ended, from number 1 on */
    size_t shift[TW_MOST_SLOTS + 1];         /* bytes in the slots up to there */
    size_t templates_made, fits, misfits, pause;
} tw_json;

/* The value of the digits at p, which may start with a minus; 0 where it does not fit. */
static int tw_integer(const uint8_t *p, size_t size, int64_t *value)
{
    uint64_t number = 0;
    size_t first = *p == '-';
    if (size - first > 19) return 0;
    for (size_t i = first; i < size; i++) number = number * 10 + (uint64_t)(p[i] - '0');
    if (number > (uint64_t)INT64_MAX) return 0;
    *value = first ? -(int64_t)number : (int64_t)number;
    return 1;
}

/* Adds a digit, after as many zeros; 0 where it does not fit. */
static int tw_more_digits(uint64_t *number, int64_t zeros, unsigned digit)
{
    for (; *number && zeros; zeros--, *number *= 10)
        if (*number > INT64_MAX / 10) return 0;
    if (*number > ((uint64_t)INT64_MAX - digit) / 10) return 0;
    *number = *number * 10 + digit;
    return 1;
}

/* The integer that a number says, also as 3.0 or 3e2: 0 where it is no number, -1 where it is no such integer. */
static int tw_whole(uint16_t is, const uint8_t *p, size_t size, int64_t *value)
{
    const uint8_t *const end = p + size;
    uint64_t number = 0;
    int64_t zeros = 0, behind = 0, power = 0;
    if (is & (TW_IS_COUNT | TW_IS_NEGATIVE)) return tw_integer(p, size, value) ? 1 : -1;
    if (!(is & TW_IS_FRACTION)) return 0;
    const int minus = *p == '-';
    int point = 0;
    for (p += minus; p < end && (*p | 32) != 'e'; p++) {
        if (*p == '.') { point = 1; continue; }
        behind += point;
        if (*p == '0') zeros++;
        else if (!tw_more_digits(&number, zeros, (unsigned)(*p - '0'))) return -1;
        else zeros = 0;
    }
    if (p < end) {
        const int less = p[1] == '-';
        for (p += 1 + (less || p[1] == '+'); p < end; p++)
            if (power < (int64_t)1 << 40) power = power * 10 + (*p - '0');
        if (less) power = -power;
    }
    zeros += power - behind;
    if (number && (zeros < 0 || (zeros && !tw_more_digits(&number, zeros - 1, 0)))) return -1;
    *value = minus ? -(int64_t)number : (int64_t)number;
    return 1;
}

static inline const tw_value *tw_noted(const tw_json *x, int node)
{
    return x->v[node].stamp == x->stamp ? &x->v[node] : NULL;
}

/* The word at `key` of an item: what stood in front of it in the item goes by it, too. */
static inline void tw_note_keyword(tw_json *x, uint8_t word)
{
    x->keyword = word;
    if (word == TW_NO_WORD || x->ahead < 0) return;
    const int node = x->shape->nodes[x->ahead].keyed + word;
    x->v[node] = x->v[x->ahead];
    x->noted[node >> 6] |= (uint64_t)1 << (node & 63);
}

/* A node with `every` is noted, perhaps again: v->count says how often by now, v->moment the sum of its integers; INT64_MIN where
 * it does not fit, or one of its numbers is none. p: the value as written; integers: whether there is a number among them. 1
 * where the value before it stays, the first string of all. */
static TW_APART int tw_note_again(tw_json *x, tw_value *v, const uint8_t *p, size_t size, uint32_t *integers)
{
    int64_t sum, more = 0;
    const int again = v->stamp == x->stamp, integer = tw_whole(x->is, p, size, &more);
    sum = again ? v->moment : 0;
    x->keyed |= (uint8_t)again;              /* a template notes a value once */
    *integers = (uint32_t)(integer != 0) | (again ? v->b.timed : 0);
    if (integer < 0) sum = INT64_MIN;
    if (sum != INT64_MIN) sum = (more < 0 ? sum < -INT64_MAX - more : sum > INT64_MAX - more) ? INT64_MIN : sum + more;
    v->moment = sum;
    v->count = again ? v->count + 1 : 1;
    if (!again || !(v->b.is & TW_IS_STRING)) return 0;
    v->b.timed = *integers;
    return 1;
}

/* A fault at p: `cut` says that the text ended too early there. */
static inline const uint8_t *tw_json_fault(tw_json *x, const uint8_t *p, int cut)
{
    if (cut) x->cut = 1;
    x->fault = p;
    return NULL;
}

/* The string whose inside starts at p: behind its closing quote, or NULL. */
static inline const uint8_t *tw_json_string(tw_json *x, const uint8_t *p, uint8_t *escaped)
{
    const uint8_t *place;
    int why;
    for (;;) {
        p = tw_plain(p, x->hard);
        if (p >= x->end) return tw_json_fault(x, p, 1);
        if (*p == '"') return p + 1;
        int size;
        if (*p == '\\') {
            *escaped = 1;
            size = tw_escape_size(p, x->end);
            if (!size) return tw_json_fault(x, p, tw_why_escape(p, x->end, p, &why, &place) && why == TW_WHY_UNTERMINATED);
        } else {
            size = *p < 0x20 ? 0 : tw_utf8_size(p, x->end);
            if (!size) return tw_json_fault(x, p, 0);
        }
        p += size;
    }
}

static int tw_grow(void **memory, size_t *room, size_t unit)
{
    size_t wanted = *room ? *room * 2 : 64;
    void *grown = realloc(*memory, wanted * unit);
    if (!grown) return 0;
    *memory = grown;
    *room = wanted;
    return 1;
}

static inline void tw_add_part(tw_json *x, const uint8_t *p, size_t size, int what, int escaped, size_t depth)
{
    if (!x->parted) return;
    if (x->part_count == x->part_room && !tw_grow((void **)&x->parts, &x->part_room, sizeof(tw_part))) {
        x->no_memory = 1;
        return;
    }
    x->parts[x->part_count++] = (tw_part){ (uint32_t)(p - x->start), (uint32_t)size, (uint8_t)what, (uint8_t)escaped,
                                           (uint8_t)(depth < 3 ? depth : 3) };
}

/* --- keys --- */

/* A key without its escapes, in memory of its own. */
static int tw_plain_name(tw_json *x, tw_name *name)
{
    if (x->owned_count == x->owned_room && !tw_grow((void **)&x->owned, &x->owned_room, sizeof(void *))) return 0;
    uint8_t *copy = (uint8_t *)malloc(name->size + 1);
    if (!copy) return 0;
    x->owned[x->owned_count++] = copy;
    name->size = tw_unescape(name->p, name->p + name->size, copy);
    name->p = copy;
    return 1;
}

static inline int tw_same_name(const tw_name *a, const tw_name *b)
{
    return a->hash == b->hash && a->size == b->size && tw_same_bytes(a->p, b->p, a->size);
}

static uint64_t tw_names_key[2];             /* of the table of names, secret */

/* The place in the table where a name of an object is looked for first. */
static inline uint64_t tw_known_cell(const tw_json *x, uint64_t hash, uint32_t object)
{
    return (hash ^ object * 0x9E3779B97F4A7C15u) & (x->known_room - 1);
}

/* True if a cell is taken: not by an object of a message before, or a large table would be cleared for each. */
static inline int tw_is_taken(const tw_json *x, uint64_t cell) { return x->known[cell].object > x->objects_before; }

static void tw_put_known(tw_json *x, tw_known entry)
{
    uint64_t cell = tw_known_cell(x, entry.hash, entry.object);
    while (tw_is_taken(x, cell)) cell = (cell + 1) & (x->known_room - 1);
    x->known[cell] = entry;
    x->known_count++;
}

/* The table of names is empty from here on. */
static void tw_forget_known(tw_json *x)
{
    x->known_count = 0;
    x->objects_before = x->objects;
    if (x->objects < 0x80000000u) return;
    memset(x->known, 0, x->known_room * sizeof(tw_known));
    x->objects = x->objects_before = 0;
}

static int tw_more_known(tw_json *x)
{
    tw_known *old = x->known;
    size_t room = x->known_room;
    x->known_room = room ? room * 2 : 256;
    x->known = (tw_known *)calloc(x->known_room, sizeof(tw_known));
    if (!x->known) { x->known = old; x->known_room = room; return 0; }
    x->known_count = 0;
    for (size_t i = 0; i < room; i++)
        if (old[i].object > x->objects_before) tw_put_known(x, old[i]);
    free(old);
    return 1;
}

/* Takes a key of the object whose names start at `first`; 0 where it was there before (or memory ran out). */
static int tw_new_name(tw_json *x, size_t first, const tw_name *name, uint32_t *object)
{
    size_t count = x->name_count - first;
    if (count < TW_FEW) {
        for (size_t i = first; i < x->name_count; i++)
            if (tw_same_name(&x->names[i], name)) return 0;
    } else {
        if (!*object) *object = ++x->objects;
        while (x->known_room < 2 * (x->known_count + count + TW_FEW))
            if (!tw_more_known(x)) { x->no_memory = 1; return 0; }
        for (size_t i = first; count == TW_FEW && i < x->name_count; i++)
            tw_put_known(x, (tw_known){ tw_keyed_hash(tw_names_key, x->names[i].p, x->names[i].size), (uint32_t)i, *object });
        const uint64_t hash = tw_keyed_hash(tw_names_key, name->p, name->size);
        for (uint64_t cell = tw_known_cell(x, hash, *object); tw_is_taken(x, cell); cell = (cell + 1) & (x->known_room - 1)) {
            const tw_known *found = &x->known[cell];
            if (found->hash == hash && found->object == *object && tw_same_name(&x->names[found->name], name)) return 0;
        }
        tw_put_known(x, (tw_known){ hash, (uint32_t)x->name_count, *object });
    }
    if (x->name_count == x->name_room && !tw_grow((void **)&x->names, &x->name_room, sizeof(tw_name))) {
        x->no_memory = 1;
        return 0;
    }
    x->names[x->name_count++] = *name;
    return 1;
}

/* The key whose quote stands at p: behind it, or NULL. Whether it stood there before is asked before its colon is. */
static inline const uint8_t *tw_json_key(tw_json *x, const uint8_t *p, tw_name *name, uint8_t *escaped)
{
    if (p >= x->end || *p != '"') return tw_json_fault(x, p, p >= x->end);
    name->p = p + 1;
    *escaped = 0;
    p = tw_json_string(x, p + 1, escaped);
    if (!p) return NULL;
    name->size = (size_t)(p - 1 - name->p);
    if (name->size > x->shape->key) return tw_json_fault(x, name->p - 1, 0);
    if (*escaped && !tw_plain_name(x, name)) { x->no_memory = 1; return NULL; }
    name->hash = tw_name_hash(name->p, name->size);
    return p;
}

/* Behind a key: the first byte of the value, or NULL. */
static inline const uint8_t *tw_json_colon(tw_json *x, const uint8_t *p)
{
    p = tw_skip(p, x->end);
    if (p >= x->end || *p != ':') return tw_json_fault(x, p, p >= x->end);
    return tw_skip(p + 1, x->end);
}

/* --- values --- */

/* The value of an integer with a minus whose digits are at p. */
static inline uint16_t tw_negative(const uint8_t *p)
{
    return *p == '0' ? TW_IS_NEGATIVE | TW_IS_MINUS_ZERO : TW_IS_NEGATIVE;
}

#ifdef TW_SSE2
/* The number at p where all of it is plain to see in 16 bytes (no exponent, no fault), or NULL: ask tw_json_number. */
static inline const uint8_t *tw_short_number(tw_json *x, const uint8_t *p)
{
    int minus = *p == '-';
    if (x->hard - p < 17) return NULL;
    p += minus;
    __m128i v = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)p), _mm_set1_epi8('0'));
    uint32_t other = ~(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(9)), v));
    int whole = tw_low_zeros_32(other), size = whole, fraction = p[whole] == '.'; /* 16 at most: bit 16 is set */
    if (!whole || whole == 16 || (*p == '0' && whole > 1)) return NULL;
    if (fraction) {
        size = whole + 1 + tw_low_zeros_32(other >> (whole + 1));
        if (size == whole + 1 || size >= 16) return NULL;
    }
    if ((p[size] | 32) == 'e' || size > x->end - p || (size_t)whole > x->shape->digits) return NULL;
    x->is = fraction ? TW_IS_FRACTION : minus ? tw_negative(p) : TW_IS_COUNT;
    return p + size;
}
#else
static inline const uint8_t *tw_short_number(tw_json *x, const uint8_t *p) { (void)x; (void)p; return NULL; }
#endif

static const uint8_t *tw_json_number(tw_json *x, const uint8_t *p)
{
    const uint8_t *start = p, *end = x->end, *first;
    int whole = 1, wide = 0;
    if (*p == '-') p++;
    first = p;
    while (p < end && (uint8_t)(*p - '0') < 10) p++;
    if (p == first) return tw_json_fault(x, start, p >= end);
    if (*first == '0' && p > first + 1) return tw_json_fault(x, start, 0);
    size_t digits = (size_t)(p - first);
    if (p < end && *p == '.') {
        const uint8_t *point = ++p;
        while (p < end && (uint8_t)(*p - '0') < 10) p++;
        if (p == point) return tw_json_fault(x, start, p >= end);
        whole = 0;
    }
    if (p < end && (*p | 32) == 'e') {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        if (p >= end || (uint8_t)(*p - '0') >= 10) return tw_json_fault(x, start, p >= end);
        while (p < end && (uint8_t)(*p - '0') < 10) p++;
        whole = 0;
        wide = 1;
    }
    if (whole) {
        if (digits > x->shape->digits) return tw_json_fault(x, start, 0);
        x->is = first > start ? tw_negative(first) : TW_IS_COUNT;
        return p;
    }
    if ((wide || p - first > 300) && !tw_is_finite(first, p)) return tw_json_fault(x, start, 0);
    x->is = TW_IS_FRACTION;
    return p;
}

static inline const uint8_t *tw_json_word(tw_json *x, const uint8_t *p)
{
    size_t there = (size_t)(x->end - p);
    const char *word = *p == 't' ? "true" : *p == 'f' ? "false" : "null";
    if (there >= 4 && memcmp(p, "true", 4) == 0) { x->is = TW_IS_BOOLEAN; return p + 4; }
    if (there >= 5 && memcmp(p, "false", 5) == 0) { x->is = TW_IS_BOOLEAN; return p + 5; }
    if (there >= 4 && memcmp(p, "null", 4) == 0) { x->is = TW_IS_NULL; return p + 4; }
    return tw_json_fault(x, p, there < strlen(word) && memcmp(p, word, there) == 0);
}

static const uint8_t *tw_json_left(tw_json *x, const uint8_t *start)
{
    if (x->opened < TW_DEEPEST) x->open[x->opened++] = start;
    return NULL;
}

/* Behind a member: the next key, or behind the closing brace (*closed), or NULL. */
static inline const uint8_t *tw_json_behind(tw_json *x, const uint8_t *p, uint8_t close, int *closed)
{
    p = tw_skip(p, x->end);
    if (p >= x->end) return tw_json_fault(x, p, 1);
    if (*p == ',') return tw_skip(p + 1, x->end);
    if (*p != close) return tw_json_fault(x, p, 0);
    *closed = 1;
    return p + 1;
}

/* The text of a string: its place, and *size; in `scratch` where it has escapes, NULL if it has more than `most` bytes then. */
static inline const uint8_t *tw_unescaped(const tw_value *v, uint8_t *scratch, size_t most, size_t *size)
{
    *size = v->size;
    if (!v->b.escaped) return v->p;
    if (v->size > most) return NULL;
    *size = tw_unescape(v->p, v->p + v->size, scratch);
    return scratch;
}

/* True if a string has the form that its node asks for. */
static void tw_judge_form(tw_json *x, const tw_node *node, tw_value *v)
{
    uint8_t scratch[TW_MOST_ESCAPED];
    size_t size;
    const uint8_t *p = tw_unescaped(v, scratch, sizeof scratch, &size), *hard = p == scratch ? p + size : x->hard;
    int word;
    if (!p) return;
    x->odd |= p == scratch && node->form == TW_FORM_WORD; /* `detect` may look for it as it is written */
    switch (node->form) {
    case TW_FORM_UUID: if (tw_is_uuid(p, size)) v->b.is |= TW_IS_GOOD; break;
    case TW_FORM_TIME:
        if (!tw_is_rfc3339(p, size, &v->moment)) break;
        v->b.is |= TW_IS_GOOD;
        v->b.timed = !v->b.escaped;
        break;
    case TW_FORM_CHANNEL: if (tw_is_channel(p, size)) v->b.is |= TW_IS_GOOD; break;
    case TW_FORM_WORD:
        word = tw_word_of(x->shape->words + node->first_word, node->words, p, size, hard);
        if (word < 0) break;
        v->b.word = (uint8_t)word;
        v->b.is |= TW_IS_GOOD;
    }
}

#endif
