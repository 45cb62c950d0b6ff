/* JSON text that is being written as characters: nothing goes through UTF-8. Most are written as bytes; strings with
   characters above U+00FF stand among them as wide as they are, and are joined with the rest in the result. What is
   written is what json/_write_py.py writes; whatever it would refuse, or what is rare, is left to it (JSON_DOUBT). */
#ifndef TURNWIRE_JSON_DRAFT_H
#define TURNWIRE_JSON_DRAFT_H

#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "_native/common/draft.h"
#include "runs.h"
#include "shortest.h"
#include "strings.h"

#define JSON_SAFE 9007199254740991LL  /* the greatest integer up to which a double holds each */

enum { JSON_WRITTEN = 0, JSON_DOUBT = 1, JSON_ERROR = -1, JSON_FEW = 8 };

/* The inside of a wide string: bytes of the draft up to `before` are of characters that have one, then from `start` on
   `count` characters of `kind` bytes. */
typedef struct { size_t before, start, count; int kind; } json_wide;

typedef struct {
    tw_draft text;
    Py_UCS4 most;        /* no character is greater */
    int canonical;       /* by RFC 8785: keys in order, numbers as ECMAScript writes them, integers that a double holds */
    PyObject *items;     /* dict.items: a subclass with one of its own is left to the twin */
    PyTypeObject *alike; /* a subclass that has none, met before */
    size_t wides, room, surplus;  /* surplus: bytes of the text that are no character of their own */
    json_wide *wide, few[JSON_FEW];
} json_draft;

static inline void json_begin(json_draft *d, PyObject *items) {
    tw_draft_begin(&d->text);
    d->most = 127;
    d->canonical = 0;
    d->items = items;
    d->alike = NULL;
    d->wides = d->surplus = 0;
    d->room = JSON_FEW;
    d->wide = d->few;
}

static inline void json_end(json_draft *d) {
    tw_draft_free(&d->text);
    if (d->wide != d->few) free(d->wide);
}

static TW_APART int json_no_memory(void) {
    PyErr_NoMemory();
    return JSON_ERROR;
}

static inline int json_room(json_draft *d, Py_ssize_t more) {
    return tw_draft_room(&d->text, (size_t)more) ? JSON_WRITTEN : json_no_memory();
}

/* One character, or a few, into the slack behind the room. */
static inline void json_letter(json_draft *d, char letter) { *d->text.at++ = letter; }

static inline int json_ascii(json_draft *d, const char *letters, Py_ssize_t count) {
    return tw_draft_put(&d->text, letters, (size_t)count) ? JSON_WRITTEN : json_no_memory();
}

/* The rest of a string, for which there is room but for its escapes. */
#define JSON_INSIDE(NAME, UNIT, COPY)                                                              \
    static TW_APART int NAME(json_draft *d, const UNIT *from, const UNIT *end) {                   \
        UNIT *to = (UNIT *)d->text.at;                                                             \
        for (;;) {                                                                                 \
            const Py_ssize_t run = COPY(to, from, end - from);                                     \
            Py_UCS4 letter;                                                                        \
            int behind;                                                                            \
            to += run;                                                                             \
            d->text.at = (char *)to;                                                               \
            if ((from += run) == end) return JSON_WRITTEN;                                         \
            letter = *from++;                                                                      \
            if (letter >= 0xD800) return JSON_DOUBT; /* a surrogate */                             \
            behind = tw_short_escape(letter);                                                      \
            *to++ = '\\';                                                                          \
            *to++ = (UNIT)(behind ? behind : 'u');                                                 \
            if (!behind) {                                                                         \
                to[0] = to[1] = '0';                                                               \
                to[2] = (UNIT)('0' + (letter >> 4));                                               \
                to[3] = (UNIT)"0123456789abcdef"[letter & 15];                                     \
                to += 4;                                                                           \
            }                                                                                      \
            d->text.at = (char *)to; /* the slack holds an escape, never two */                    \
            if (json_room(d, (char *)end - (char *)from)) return JSON_ERROR;                       \
            to = (UNIT *)d->text.at;                                                               \
        }                                                                                          \
    }

JSON_INSIDE(json_inside_1, Py_UCS1, json_copy_1)
JSON_INSIDE(json_inside_2, Py_UCS2, json_copy_2)
JSON_INSIDE(json_inside_4, Py_UCS4, json_copy_4)

/* A string with characters that have more than one byte. */
static int json_wide_text(json_draft *d, PyObject *value) {
    const int kind = PyUnicode_KIND(value);
    const void *from = PyUnicode_DATA(value);
    const Py_ssize_t size = PyUnicode_GET_LENGTH(value);
    json_wide wide;
    int status;
    if (d->wides == d->room) {
        json_wide *grown = (json_wide *)(d->wide == d->few ? malloc(2 * d->room * sizeof *grown)
                                                          : realloc(d->wide, 2 * d->room * sizeof *grown));
        if (!grown) return json_no_memory();
        if (d->wide == d->few) memcpy(grown, d->few, sizeof d->few);
        d->wide = grown;
        d->room *= 2;
    }
    if (json_room(d, size * kind + kind)) return JSON_ERROR;
    json_letter(d, '"');
    wide.kind = kind;
    wide.before = tw_draft_size(&d->text);
    wide.start = (wide.before + (size_t)kind - 1) & ~((size_t)kind - 1);
    d->text.at = d->text.start + wide.start;
    status = kind == 2 ? json_inside_2(d, (const Py_UCS2 *)from, (const Py_UCS2 *)from + size)
                       : json_inside_4(d, (const Py_UCS4 *)from, (const Py_UCS4 *)from + size);
    if (status != JSON_WRITTEN) return status;
    wide.count = (tw_draft_size(&d->text) - wide.start) / (size_t)kind;
    d->surplus += tw_draft_size(&d->text) - wide.before - wide.count;
    d->most |= kind == 2 ? 0xFFFF : 0x10FFFF;
    d->wide[d->wides++] = wide;
    json_letter(d, '"');
    return JSON_WRITTEN;
}

/* A string; one without characters that are escaped at once. */
static inline int json_text(json_draft *d, PyObject *value) {
    const Py_ssize_t size = PyUnicode_GET_LENGTH(value);
    const Py_UCS1 *from;
    Py_ssize_t run;
    int status;
    if (PyUnicode_IS_COMPACT_ASCII(value)) {
        from = (const Py_UCS1 *)((PyASCIIObject *)value + 1);
    } else {
        if (PyUnicode_KIND(value) != 1) return json_wide_text(d, value);
        if (!PyUnicode_IS_ASCII(value)) d->most |= 0xFF;
        from = PyUnicode_1BYTE_DATA(value);
    }
    if (json_room(d, size + 2)) return JSON_ERROR;
    json_letter(d, '"');
    run = json_copy_1((Py_UCS1 *)d->text.at, from, size);
    d->text.at += run;
    if (run < size && (status = json_inside_1(d, from + run, from + size))) return status;
    json_letter(d, '"');
    return JSON_WRITTEN;
}

enum { JSON_NUMBER = 32 }; /* no number is longer; what is copied behind one stands in the slack */

static inline int json_small_integer(json_draft *d, long long number) {
    const int negative = number < 0;
    if (json_room(d, JSON_NUMBER)) return JSON_ERROR;
    if (negative) json_letter(d, '-');
    d->text.at += tw_put_decimal((uint8_t *)d->text.at, negative ? 0 - (uint64_t)number : (uint64_t)number);
    return JSON_WRITTEN;
}

static int json_integer(json_draft *d, PyObject *value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || (d->canonical && (number > JSON_SAFE || number < -JSON_SAFE))) return JSON_DOUBT;
    return number == -1 && PyErr_Occurred() ? JSON_ERROR : json_small_integer(d, number);
}

/* The shortest decimal that is read as this number. */
static int json_real(json_draft *d, double number) {
    if (!(fabs(number) <= DBL_MAX)) return JSON_DOUBT;
    if (json_room(d, JSON_NUMBER)) return JSON_ERROR;
    d->text.at += tw_put_real((uint8_t *)d->text.at, number, d->canonical);
    return JSON_WRITTEN;
}

/* True if a value is a dict whose members are those that PyDict_Next gives. */
static inline int json_is_dict(json_draft *d, PyObject *value) {
    if (PyDict_CheckExact(value) || Py_TYPE(value) == d->alike) return 1;
    if (!PyDict_Check(value) || _PyType_Lookup(Py_TYPE(value), d->items) != _PyType_Lookup(&PyDict_Type, d->items)) return 0;
    d->alike = Py_TYPE(value);
    return 1;
}

static int json_value(json_draft *d, PyObject *value, Py_ssize_t left);

/* A member, and a comma in front of it where it is not the first. */
static inline int json_member(json_draft *d, PyObject *key, PyObject *value, int first, Py_ssize_t left) {
    int status;
    if (!PyUnicode_Check(key)) return JSON_DOUBT;
    if (!first) json_letter(d, ',');
    if ((status = json_text(d, key))) return status;
    json_letter(d, ':');
    if ((status = json_value(d, value, left - 1))) return status;
    return json_room(d, 2);
}

typedef struct { PyObject *key, *value; } json_pair;

/* By code points, which is the order of UTF-16 where none is beyond U+FFFF. */
static int json_compare(const void *one, const void *other) {
    return PyUnicode_Compare(((const json_pair *)one)->key, ((const json_pair *)other)->key);
}

/* The members of an object in the order of their keys; one with a key beyond U+FFFF is left to the twin. */
static int json_sorted_members(json_draft *d, PyObject *value, Py_ssize_t left) {
    enum { FEW = 24 };
    json_pair few[FEW], *pairs = few;
    const Py_ssize_t size = PyDict_GET_SIZE(value);
    Py_ssize_t place = 0, count = 0;
    int status = JSON_WRITTEN;
    if (size > FEW && !(pairs = (json_pair *)PyMem_Malloc((size_t)size * sizeof *pairs))) {
        PyErr_NoMemory();
        return JSON_ERROR;
    }
    while (count < size && PyDict_Next(value, &place, &pairs[count].key, &pairs[count].value)) {
        PyObject *key = pairs[count++].key;
        if (!PyUnicode_Check(key) || PyUnicode_KIND(key) == 4) status = JSON_DOUBT;
    }
    if (status == JSON_WRITTEN) qsort(pairs, (size_t)count, sizeof *pairs, json_compare);
    for (Py_ssize_t at = 0; at < count && status == JSON_WRITTEN; at++)
        status = json_member(d, pairs[at].key, pairs[at].value, at == 0, left);
    if (pairs != few) PyMem_Free(pairs);
    return status;
}

static int json_object(json_draft *d, PyObject *value, Py_ssize_t left) {
    PyObject *key, *inner;
    Py_ssize_t place = 0;
    int status = JSON_WRITTEN, first = 1;
    if (left <= 0) return JSON_DOUBT;
    if (json_room(d, 2)) return JSON_ERROR;
    json_letter(d, '{');
    if (d->canonical) {
        status = json_sorted_members(d, value, left);
    } else {
        while (status == JSON_WRITTEN && PyDict_Next(value, &place, &key, &inner)) {
            status = json_member(d, key, inner, first, left);
            first = 0;
        }
    }
    if (status != JSON_WRITTEN) return status;
    json_letter(d, '}');
    return JSON_WRITTEN;
}

static int json_array(json_draft *d, PyObject *value, Py_ssize_t left) {
    const int is_list = PyList_CheckExact(value);
    int status;
    if (left <= 0) return JSON_DOUBT;
    if (json_room(d, 2)) return JSON_ERROR;
    json_letter(d, '[');
    for (Py_ssize_t at = 0; at < (is_list ? PyList_GET_SIZE(value) : PyTuple_GET_SIZE(value)); at++) {
        if (at) json_letter(d, ',');
        if ((status = json_value(d, is_list ? PyList_GET_ITEM(value, at) : PyTuple_GET_ITEM(value, at), left - 1)))
            return status;
        if (json_room(d, 2)) return JSON_ERROR;
    }
    json_letter(d, ']');
    return JSON_WRITTEN;
}

/* Writes a value; so many more containers may be opened. Runs no code of Python, so that nothing changes meanwhile. */
static int json_value(json_draft *d, PyObject *value, Py_ssize_t left) {
    if (PyUnicode_Check(value)) return json_text(d, value);
    if (PyDict_CheckExact(value)) return json_object(d, value, left);
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) return json_array(d, value, left);
    if (PyLong_CheckExact(value)) return json_integer(d, value);
    if (value == Py_None) return json_ascii(d, "null", 4);
    if (value == Py_True) return json_ascii(d, "true", 4);
    if (value == Py_False) return json_ascii(d, "false", 5);
    if (PyFloat_CheckExact(value)) return json_real(d, PyFloat_AS_DOUBLE(value));
    return json_is_dict(d, value) ? json_object(d, value, left) : JSON_DOUBT;
}

/* The text that was written. */
static PyObject *json_result(const json_draft *d) {
    const size_t size = tw_draft_size(&d->text);
    PyObject *text = PyUnicode_New((Py_ssize_t)(size - d->surplus), d->most);
    const char *from = d->text.start;
    char *to;
    int kind;
    if (text == NULL) return NULL;
    kind = PyUnicode_KIND(text);
    to = (char *)PyUnicode_DATA(text);
    for (size_t at = 0; at < d->wides; at++) {
        const json_wide *wide = &d->wide[at];
        const size_t narrow = (size_t)(d->text.start + wide->before - from);
        json_widen(kind, to, 1, from, narrow);
        to += narrow * (size_t)kind;
        from = d->text.start + wide->start;
        json_widen(kind, to, wide->kind, from, wide->count);
        to += wide->count * (size_t)kind;
        from += wide->count * (size_t)wide->kind;
    }
    json_widen(kind, to, 1, from, (size_t)(d->text.at - from));
    return text;
}

/* The text that was written, None in doubt, or NULL with an error set. Ends the draft. */
static TW_UNUSED PyObject *json_ended(json_draft *d, int status) {
    PyObject *text = status == JSON_WRITTEN ? json_result(d) : NULL;
    json_end(d);
    if (status != JSON_DOUBT) return text;
    Py_INCREF(Py_None);
    return Py_None;
}

/* The text of a value; None where it is left to the twin. */
static TW_UNUSED PyObject *json_written(PyObject *value, Py_ssize_t nesting, PyObject *items, int canonical) {
    json_draft draft;
    json_begin(&draft, items);
    draft.canonical = canonical;
    return json_ended(&draft, json_value(&draft, value, nesting));
}

#endif
