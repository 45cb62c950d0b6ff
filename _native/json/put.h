/* Messages as dicts, judged by a table of rules (rules.h) in one walk, which may write them. What is written is surely
 * good, and what json/_write_py.py writes; there is doubt (JSON_DOUBT) about all else. Runs no code of Python, so that
 * nothing changes meanwhile. */
#ifndef TURNWIRE_JSON_PUT_H
#define TURNWIRE_JSON_PUT_H

#include "draft.h"
#include "rules.h"

/* A name as it is kept for this: a comma, the name in quotes, a colon, then zeros: so many bytes are read at once. */
enum { TW_PUT_STEP = 16, TW_PUT_FRONT = 2 };

typedef struct {
    json_draft draft;
    int only_judged;                         /* nothing is written */
    int only_written;                        /* it is known to be good: its texts are not judged */
    int secrets;                             /* under TW_MARK_SECRETS, what looks like one is worth a closer look */
    int loose;                               /* tuples are arrays and subclasses of str texts; else nothing but list and str */
    int clean;                               /* as in tw_walk */
    int choice, agreed, lent, writable;
    int others;                              /* there was a key without a rule */
    uint64_t seen;
    tw_rules **chosen;
    PyObject *later;                         /* an object of TW_RULE_CHOSEN that stood in front of the words, borrowed */
    Py_ssize_t left;                         /* how deep it may be */
} tw_put;

static int tw_put_record(tw_put *w, PyObject *value, tw_rules *t, Py_ssize_t left);

static inline int tw_put_letter(tw_put *w, char letter)
{
    if (w->only_judged) return JSON_WRITTEN;
    if (json_room(&w->draft, 1)) return JSON_ERROR;
    json_letter(&w->draft, letter);
    return JSON_WRITTEN;
}

static inline int tw_put_ascii(tw_put *w, const char *letters, Py_ssize_t count)
{
    return w->only_judged ? JSON_WRITTEN : json_ascii(&w->draft, letters, count);
}

static inline int tw_put_string(tw_put *w, PyObject *value) { return w->only_judged ? JSON_WRITTEN : json_text(&w->draft, value); }

/* A value without a rule. */
static inline int tw_put_any(tw_put *w, PyObject *value, Py_ssize_t left)
{
    return w->only_judged ? JSON_WRITTEN : json_value(&w->draft, value, left);
}

static inline int tw_put_real_number(tw_put *w, double real)
{
    if (w->only_judged) return fabs(real) <= DBL_MAX ? JSON_WRITTEN : JSON_DOUBT;
    return json_real(&w->draft, real);
}

/* True if a value is a str, equal to what its characters are equal to. */
static inline int tw_put_is_text(const tw_put *w, PyObject *value)
{
    return PyUnicode_CheckExact(value) ||
           (w->loose && PyUnicode_Check(value) && Py_TYPE(value)->tp_richcompare == PyUnicode_Type.tp_richcompare &&
            Py_TYPE(value)->tp_hash == PyUnicode_Type.tp_hash);
}

/* A name with its quotes and its colon, the comma in front of it where it is not the first. */
static inline int tw_put_name(json_draft *d, const tw_rule *rule, int first)
{
    const char *from = (const char *)rule->name - TW_PUT_FRONT + first;
    const Py_ssize_t size = (Py_ssize_t)rule->size + TW_PUT_FRONT + 2 - first;
    if (json_room(d, size)) return JSON_ERROR;
    for (Py_ssize_t at = 0; at < size; at += TW_PUT_STEP) memcpy(d->text.at + at, from + at, TW_PUT_STEP);
    d->text.at += size; /* what is behind it stands in the slack */
    return JSON_WRITTEN;
}

/* The place of the rule for a key, as tw_rule_named says. */
static inline int tw_put_place(tw_rules *t, PyObject *key, int last)
{
    const tw_rule *next = &t->rule[t->after[last]];
    const uint8_t *name;
    size_t size;
    if (!PyUnicode_IS_ASCII(key)) return -1;
    name = (const uint8_t *)PyUnicode_DATA(key);
    size = (size_t)PyUnicode_GET_LENGTH(key);
    if (next->size == size && tw_same_bytes(next->name, name, size)) return t->after[last];
    return tw_rule_named(t, name, size, last);
}

/* True if a str is what its rule wants. */
static inline int tw_put_is_good(tw_put *w, PyObject *value, const tw_rule *rule)
{
    const size_t size = (size_t)PyUnicode_GET_LENGTH(value);
    const uint8_t *p;
    int word;
    switch (rule->kind) {
    case TW_RULE_TEXT: case TW_RULE_ANY: case TW_RULE_CHANNEL: return 1; /* channels are ruled, too */
    case TW_RULE_SPACE: w->clean &= tw_is_plain_content(value); return 1;
    case TW_RULE_UUID4:
        w->clean &= PyUnicode_IS_ASCII(value) && tw_is_uuid4((const uint8_t *)PyUnicode_DATA(value), size);
        return 1;
    case TW_RULE_MOMENT:
        w->clean &= PyUnicode_IS_ASCII(value) && tw_is_short_time((const uint8_t *)PyUnicode_DATA(value), size);
        return 1;
    case TW_RULE_SPOKEN: case TW_RULE_SPOKEN_OR_NULL: case TW_RULE_SAID: case TW_RULE_LENT:
        w->lent |= rule->kind == TW_RULE_LENT;
        return size && PyUnicode_READ_CHAR(value, 0) > ' ' && PyUnicode_READ_CHAR(value, 0) != '<';
    }
    if (!PyUnicode_IS_ASCII(value)) return 0;
    p = (const uint8_t *)PyUnicode_DATA(value);
    switch (rule->kind) {
    case TW_RULE_UUID: return tw_is_uuid(p, size);
    case TW_RULE_TIME: return size == 20 && tw_is_plain_time(p);
    case TW_RULE_DIGEST: return tw_is_digest(p, size);
    case TW_RULE_WORD: case TW_RULE_VERSION: case TW_RULE_CHOICE: case TW_RULE_AGREES:
        word = tw_word_of(rule->word, rule->words, p, size, p + size);
        if (word < 0) return 0;
        if (!(rule->clean >> word & 1)) w->clean = 0;
        if (rule->kind == TW_RULE_CHOICE) w->choice = word;
        if (rule->kind == TW_RULE_AGREES) w->agreed = word;
        return 1;
    default: return 0;
    }
}

/* A text with an "@" in it is worth a closer look. */
static inline void tw_put_look(tw_put *w, PyObject *text)
{
    if (w->clean && PyUnicode_FindChar(text, '@', 0, PyUnicode_GET_LENGTH(text), 1) >= 0) w->clean = 0;
}

/* An integer that is from `least` to `most`. */
static int tw_put_integer(tw_put *w, PyObject *value, long long least, long long most)
{
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || number < least || number > most) return JSON_DOUBT;
    return w->only_judged ? JSON_WRITTEN : json_small_integer(&w->draft, number);
}

static int tw_put_number(tw_put *w, PyObject *value, int kind)
{
    const int has_sign = kind == TW_RULE_NUMBERS;
    double real;
    if (PyLong_CheckExact(value))
        return tw_put_integer(w, value, has_sign ? LLONG_MIN : kind == TW_RULE_CLOCK,
                              kind == TW_RULE_FRACTION ? 1 : kind == TW_RULE_PRESSURE ? 100 : LLONG_MAX);
    if (!PyFloat_CheckExact(value)) return JSON_DOUBT;
    real = PyFloat_AS_DOUBLE(value);
    if (kind == TW_RULE_FRACTION) return real >= 0 && real <= 1 ? tw_put_real_number(w, real) : JSON_DOUBT;
    if (kind == TW_RULE_QUANTITY) return real >= 0 ? tw_put_real_number(w, real) : JSON_DOUBT;
    return has_sign ? tw_put_real_number(w, real) : JSON_DOUBT; /* a pressure that is a float is written as another */
}

/* An object of any keys and numbers. */
static int tw_put_numbers(tw_put *w, PyObject *value, int kind, Py_ssize_t left)
{
    PyObject *key, *inner;
    Py_ssize_t place = 0;
    int status, first = 1;
    if (left <= 0 || !json_is_dict(&w->draft, value)) return JSON_DOUBT;
    if ((status = tw_put_letter(w, '{'))) return status;
    while (PyDict_Next(value, &place, &key, &inner)) {
        if (!tw_put_is_text(w, key)) return JSON_DOUBT;
        if (!first && (status = tw_put_letter(w, ','))) return status;
        first = 0;
        if ((status = tw_put_string(w, key)) || (status = tw_put_letter(w, ':'))) return status;
        if ((status = tw_put_number(w, inner, kind))) return status;
    }
    return tw_put_letter(w, '}');
}

/* An array of texts, objects or records. */
static int tw_put_array(tw_put *w, PyObject *value, const tw_rule *rule, Py_ssize_t left)
{
    int status;
    if (left <= 0 || !(PyList_CheckExact(value) || (w->loose && PyTuple_CheckExact(value)))) return JSON_DOUBT;
    if ((status = tw_put_letter(w, '['))) return status;
    for (Py_ssize_t at = 0; at < PySequence_Fast_GET_SIZE(value); at++) {
        PyObject *item = PySequence_Fast_GET_ITEM(value, at);
        if (at && (status = tw_put_letter(w, ','))) return status;
        if (rule->kind == TW_RULE_TEXTS) {
            status = tw_put_is_text(w, item) ? tw_put_string(w, item) : JSON_DOUBT;
            if (rule->mark & TW_MARK_AT && !status) tw_put_look(w, item);
        } else if (rule->rules) {
            status = tw_put_record(w, item, rule->rules, left - 1);
        } else {
            status = PyDict_Check(item) ? tw_put_any(w, item, left - 1) : JSON_DOUBT;
        }
        if (status) return status;
    }
    return tw_put_letter(w, ']');
}

/* True if surely nothing below a value, so many containers deep at most, looks like a secret. */
static int tw_put_quiet(PyObject *value, Py_ssize_t left)
{
    PyObject *key, *inner;
    Py_ssize_t size, at = 0;
    const char *text;
    if (PyUnicode_Check(value)) {
        if (PyUnicode_GET_LENGTH(value) < TW_SHORTEST_SECRET) return 1;
        if (!(text = PyUnicode_AsUTF8AndSize(value, &size))) PyErr_Clear(); /* a lone surrogate */
        return text && !tw_telling_text((const uint8_t *)text, (size_t)size);
    }
    if (PyDict_Check(value)) {
        while (PyDict_Next(value, &at, &key, &inner)) {
            if (!PyUnicode_Check(key) || left <= 0 || !tw_put_quiet(key, 0) || !tw_put_quiet(inner, left - 1)) return 0;
            if (!PyUnicode_Check(inner)) continue;
            if (!(text = PyUnicode_AsUTF8AndSize(key, &size))) PyErr_Clear();
            if (!text || tw_telling_name((const uint8_t *)text, (size_t)size)) return 0;
        }
    } else if (PyList_Check(value) || PyTuple_Check(value)) {
        const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
        for (; at < count; at++)
            if (left <= 0 || !tw_put_quiet(PySequence_Fast_GET_ITEM(value, at), left - 1)) return 0;
    }
    return 1;
}

/* Notes what a value's being there says of its object. */
static TW_APART void tw_put_mark(tw_put *w, PyObject *value, int mark, Py_ssize_t left)
{
    if (mark & TW_MARK_LOOK) w->clean = 0;
    w->writable |= mark & TW_MARK_WRITING;
    if (w->secrets && mark & TW_MARK_SECRETS && !tw_put_quiet(value, left)) w->clean = 0;
    if (mark & TW_MARK_AT && tw_put_is_text(w, value)) tw_put_look(w, value);
}

/* A value by its rule. */
static int tw_put_value(tw_put *w, PyObject *value, const tw_rule *rule, Py_ssize_t left)
{
    if (rule->mark) tw_put_mark(w, value, rule->mark, left);
    if (w->only_written && PyUnicode_Check(value)) return tw_put_string(w, value);
    if (tw_put_is_text(w, value)) {
        return tw_put_is_good(w, value, rule) ? tw_put_string(w, value) : JSON_DOUBT;
    }
    if (value == Py_None && rule->nullable) return tw_put_ascii(w, "null", 4);
    switch (rule->kind) {
    case TW_RULE_ANY: return tw_put_any(w, value, left);
    case TW_RULE_SAID: return PyUnicode_Check(value) ? JSON_DOUBT : tw_put_any(w, value, left);
    case TW_RULE_RECORD: return tw_put_record(w, value, rule->rules, left);
    case TW_RULE_CHOSEN:
        if (w->choice >= 0 && w->agreed == w->choice) return tw_put_record(w, value, w->chosen[w->choice], left);
        if (w->choice >= 0 || w->agreed >= 0) return JSON_DOUBT;
        w->later = value; /* judged when the words are known */
        w->left = left;
        return tw_put_any(w, value, left);
    case TW_RULE_TEXTS: case TW_RULE_OBJECTS: case TW_RULE_RECORDS: return tw_put_array(w, value, rule, left);
    case TW_RULE_OBJECT: return PyDict_Check(value) ? tw_put_any(w, value, left) : JSON_DOUBT;
    case TW_RULE_LIST: return PyList_CheckExact(value) ? tw_put_any(w, value, left) : JSON_DOUBT;
    case TW_RULE_NUMBERS: case TW_RULE_PRESSURE: return tw_put_numbers(w, value, rule->kind, left);
    case TW_RULE_COUNT: case TW_RULE_CLOCK:
        return PyLong_CheckExact(value) ? tw_put_number(w, value, rule->kind) : JSON_DOUBT;
    case TW_RULE_QUANTITY: case TW_RULE_FRACTION: return tw_put_number(w, value, rule->kind);
    case TW_RULE_BOOLEAN: return PyBool_Check(value) ? tw_put_any(w, value, left) : JSON_DOUBT;
    case TW_RULE_SPOKEN_OR_NULL: return value == Py_None ? tw_put_ascii(w, "null", 4) : JSON_DOUBT;
    default: return JSON_DOUBT;
    }
}

/* An object by its rules; so many more containers may be opened. */
static int tw_put_record(tw_put *w, PyObject *value, tw_rules *t, Py_ssize_t left)
{
    PyObject *key, *inner;
    Py_ssize_t at = 0;
    uint64_t seen = 0;
    int status, first = 1, last = 0;
    if (left <= 0 || !json_is_dict(&w->draft, value)) return JSON_DOUBT;
    if ((status = tw_put_letter(w, '{'))) return status;
    while (PyDict_Next(value, &at, &key, &inner)) {
        int place;
        if (!tw_put_is_text(w, key)) return JSON_DOUBT;
        place = tw_put_place(t, key, last);
        if (place < 0) {
            w->others = 1;
            if (!first && (status = tw_put_letter(w, ','))) return status;
            if ((status = tw_put_string(w, key)) || (status = tw_put_letter(w, ':'))) return status;
            status = tw_put_any(w, inner, left - 1);
        } else {
            if (!w->only_judged && tw_put_name(&w->draft, &t->rule[place], first)) return JSON_ERROR;
            status = tw_put_value(w, inner, &t->rule[place], left - 1);
            seen |= (uint64_t)1 << place;
            last = place + 1;
        }
        if (status) return status;
        first = 0;
    }
    if ((status = tw_put_letter(w, '}'))) return status;
    if (w->lent && t->lent) {
        if (seen & t->lent) return JSON_DOUBT;
        seen |= t->lent;
    }
    w->seen = seen; /* of the object that ends last: the outermost */
    return (seen & t->musts) == t->musts ? JSON_WRITTEN : JSON_DOUBT;
}

/* An object by its rules, and then the one that stood in front of the words that choose its rules. */
static int tw_put_whole(tw_put *w, PyObject *value, tw_rules *t, Py_ssize_t nesting)
{
    int status;
    w->clean = 1;
    w->choice = w->agreed = -1;
    w->lent = w->writable = w->others = 0;
    w->later = NULL;
    status = tw_put_record(w, value, t, nesting);
    if (status != JSON_WRITTEN || !w->later) return status;
    w->only_judged = 1;
    return w->choice >= 0 && w->agreed == w->choice ? tw_put_record(w, w->later, w->chosen[w->choice], w->left) : JSON_DOUBT;
}

/* True if an object surely follows the rules. Behind it w->clean, w->choice and w->writable are known. */
static TW_UNUSED int tw_put_follows(tw_put *w, PyObject *value, tw_rules *t, Py_ssize_t nesting, PyObject *items)
{
    w->draft.items = items;
    w->draft.alike = NULL;
    w->only_judged = 1;
    return tw_put_whole(w, value, t, nesting) == JSON_WRITTEN;
}

/* The text of an object that follows the rules; None where that is not sure. Behind it the same is known. */
static TW_UNUSED PyObject *tw_put_text(tw_put *w, PyObject *value, tw_rules *t, Py_ssize_t nesting, PyObject *items)
{
    json_begin(&w->draft, items);
    w->only_judged = 0;
    return json_ended(&w->draft, tw_put_whole(w, value, t, nesting));
}

#endif
