/* JSON text that is being written as characters, as wide as those of its strings: nothing goes through UTF-8. What is
   written is what json/_write_py.py writes; whatever it would refuse, or what is rare, is left to it (JSON_DOUBT). */
#ifndef TURNWIRE_JSON_DRAFT_H
#define TURNWIRE_JSON_DRAFT_H

#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "runs.h"
#include "shortest.h"
#include "strings.h"

#define JSON_ROOM 4096   /* bytes that stand on the stack */
#define JSON_SAFE 9007199254740991LL  /* the greatest integer up to which a double holds each */
#define JSON_SLACK 16    /* characters that may always be written behind the room that was asked for */

enum { JSON_WRITTEN = 0, JSON_DOUBT = 1, JSON_ERROR = -1 };

typedef struct {
    int kind;            /* bytes of a character */
    Py_UCS4 most;        /* no character is greater */
    char *start;
    Py_ssize_t size, room;  /* characters */
    PyObject *items;     /* dict.items: a subclass with one of its own is left to the twin */
    int canonical;       /* by RFC 8785: keys in order, numbers as ECMAScript writes them, integers that a double holds */
    uint64_t small[JSON_ROOM / 8];
} json_draft;

static inline void json_begin(json_draft *d, PyObject *items) {
    d->kind = 1;
    d->most = 127;
    d->start = (char *)d->small;
    d->size = 0;
    d->room = JSON_ROOM - JSON_SLACK;
    d->items = items;
    d->canonical = 0;
}

static inline void json_end(json_draft *d) {
    if (d->start != (char *)d->small) PyMem_Free(d->start);
}

/* From the end on, so that it may be done in place. */
#define JSON_WIDEN(FROM, TO)                                                 \
    do {                                                                     \
        const FROM *from = (const FROM *)d->start;                           \
        TO *to = (TO *)grown;                                                \
        for (Py_ssize_t at = d->size; at-- > 0;) to[at] = from[at];          \
    } while (0)

/* Room for so many characters more, of at least this many bytes each. */
static int json_grow(json_draft *d, Py_ssize_t more, int kind) {
    Py_ssize_t room = 2 * (d->size + more), there = JSON_ROOM / kind - JSON_SLACK;
    const int stays = d->start == (char *)d->small && d->kind == 1 && kind > 1 && d->size + more <= there;
    char *grown = d->start;
    if (kind < d->kind) kind = d->kind;
    if (stays) room = there;
    else grown = (char *)PyMem_Malloc((size_t)(room + JSON_SLACK) * (size_t)kind);
    if (grown == NULL) {
        PyErr_NoMemory();
        return JSON_ERROR;
    }
    if (kind == d->kind) memcpy(grown, d->start, (size_t)d->size * (size_t)kind);
    else if (kind == 2) json_widen_12((Py_UCS2 *)grown, (const Py_UCS1 *)d->start, d->size);
    else if (d->kind == 1) JSON_WIDEN(Py_UCS1, Py_UCS4);
    else JSON_WIDEN(Py_UCS2, Py_UCS4);
    if (!stays) json_end(d);
    d->start = grown;
    d->room = room;
    d->kind = kind;
    return JSON_WRITTEN;
}

static inline int json_room(json_draft *d, Py_ssize_t more, int kind) {
    return kind <= d->kind && more <= d->room - d->size ? JSON_WRITTEN : json_grow(d, more, kind);
}

/* One character, or a few, into the slack behind the room. */
static inline void json_letter(json_draft *d, unsigned char letter) {
    if (d->kind == 1) d->start[d->size++] = (char)letter;
    else if (d->kind == 2) ((Py_UCS2 *)d->start)[d->size++] = letter;
    else ((Py_UCS4 *)d->start)[d->size++] = letter;
}

static inline int json_ascii(json_draft *d, const char *letters, Py_ssize_t count) {
    if (json_room(d, count, 1)) return JSON_ERROR;
    if (d->kind == 1) {
        memcpy(d->start + d->size, letters, (size_t)count);
        d->size += count;
        return JSON_WRITTEN;
    }
    if (d->kind == 2)
        for (Py_ssize_t at = 0; at < count; at++) ((Py_UCS2 *)d->start)[d->size + at] = (unsigned char)letters[at];
    else
        for (Py_ssize_t at = 0; at < count; at++) ((Py_UCS4 *)d->start)[d->size + at] = (unsigned char)letters[at];
    d->size += count;
    return JSON_WRITTEN;
}

static inline void json_escape(json_draft *d, Py_UCS4 letter) {
    const int behind = tw_short_escape(letter);
    json_letter(d, '\\');
    if (behind) {
        json_letter(d, (unsigned char)behind);
    } else {
        json_letter(d, 'u');
        json_letter(d, '0');
        json_letter(d, '0');
        json_letter(d, (unsigned char)('0' + (letter >> 4)));
        json_letter(d, (unsigned char)"0123456789abcdef"[letter & 15]);
    }
}

/* Of what is rare. */
static TW_APART int json_any_text(json_draft *d, PyObject *value) {
    const int kind = PyUnicode_KIND(value);
    const void *text = PyUnicode_DATA(value);
    const Py_ssize_t size = PyUnicode_GET_LENGTH(value);
    Py_ssize_t at = 0;
    if (!PyUnicode_IS_ASCII(value)) d->most |= kind == 1 ? 0xFF : kind == 2 ? 0xFFFF : 0x10FFFF;
    if (json_room(d, size + 2, kind)) return JSON_ERROR;
    json_letter(d, '"');
    for (;;) {
        Py_UCS4 letter;
        Py_ssize_t run = json_copy(kind, (const char *)text + at * kind, d->kind, d->start + d->size * d->kind, size - at);
        d->size += run;
        at += run;
        if (at == size) break;
        letter = PyUnicode_READ(kind, text, at);
        if (letter >= 0xD800 && letter <= 0xDFFF) return JSON_DOUBT;
        json_escape(d, letter);
        at++;
        if (json_room(d, size - at + 2, kind)) return JSON_ERROR;  /* the slack holds an escape, never two */
    }
    json_letter(d, '"');
    return JSON_WRITTEN;
}

#define JSON_ASCII_TEXT(UNIT, COPY)                                             \
    do {                                                                        \
        UNIT *to = (UNIT *)d->start + d->size;                                  \
        to[0] = '"';                                                            \
        if (COPY(to + 1, (const Py_UCS1 *)PyUnicode_DATA(value), size) != size) \
            break;                                                              \
        to[size + 1] = '"';                                                     \
        d->size += size + 2;                                                    \
        return JSON_WRITTEN;                                                    \
    } while (0)

/* A string; one of ASCII characters that are written as they stand, and for which there is room, at once. */
static inline int json_text(json_draft *d, PyObject *value) {
    const Py_ssize_t size = PyUnicode_GET_LENGTH(value);
    if (PyUnicode_IS_COMPACT_ASCII(value) && size + 2 <= d->room - d->size) {
        if (d->kind == 1) JSON_ASCII_TEXT(Py_UCS1, json_copy_11);
        else if (d->kind == 2) JSON_ASCII_TEXT(Py_UCS2, json_copy_12);
    }
    return json_any_text(d, value);
}

static inline int json_small_integer(json_draft *d, long long number) {
    uint8_t digits[1 + TW_DECIMAL_ROOM];
    const int negative = number < 0;
    if (number >= 0 && number < 10) {  /* in the slack, as a comma or a bracket */
        if (json_room(d, 1, 1)) return JSON_ERROR;
        json_letter(d, (unsigned char)('0' + number));
        return JSON_WRITTEN;
    }
    digits[0] = '-';
    return json_ascii(d, (const char *)digits + !negative,
                      (Py_ssize_t)tw_put_decimal(digits + 1, negative ? 0 - (uint64_t)number : (uint64_t)number) + negative);
}

static int json_integer(json_draft *d, PyObject *value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || (d->canonical && (number > JSON_SAFE || number < -JSON_SAFE))) return JSON_DOUBT;
    return number == -1 && PyErr_Occurred() ? JSON_ERROR : json_small_integer(d, number);
}

/* The shortest decimal that is read as this number. */
static int json_real(json_draft *d, double number) {
    uint8_t digits[TW_REAL_ROOM];
    if (!(fabs(number) <= DBL_MAX)) return JSON_DOUBT;
    return json_ascii(d, (const char *)digits, (Py_ssize_t)tw_put_real(digits, number, d->canonical));
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
    return json_room(d, 2, 1);
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
    if (json_room(d, 2, 1)) return JSON_ERROR;
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
    if (json_room(d, 2, 1)) return JSON_ERROR;
    json_letter(d, '[');
    for (Py_ssize_t at = 0; at < (is_list ? PyList_GET_SIZE(value) : PyTuple_GET_SIZE(value)); at++) {
        if (at) json_letter(d, ',');
        if ((status = json_value(d, is_list ? PyList_GET_ITEM(value, at) : PyTuple_GET_ITEM(value, at), left - 1)))
            return status;
        if (json_room(d, 2, 1)) return JSON_ERROR;
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
    if (PyDict_Check(value) && _PyType_Lookup(Py_TYPE(value), d->items) == _PyType_Lookup(&PyDict_Type, d->items))
        return json_object(d, value, left);
    return JSON_DOUBT;
}

/* The text that was written. */
static PyObject *json_result(const json_draft *d) {
    PyObject *text = PyUnicode_New(d->size, d->most);
    if (text != NULL) memcpy(PyUnicode_DATA(text), d->start, (size_t)d->size * (size_t)d->kind);
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
