/* The str of bytes that are ASCII. */
#ifndef TURNWIRE_SHORT_TEXT_H
#define TURNWIRE_SHORT_TEXT_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* Names, tags and statuses come from small vocabularies: a short one that was met a moment ago is given again instead of
 * made again. Direct-mapped; first and last hold all of at most sixteen bytes, as overlapping words. */
enum { TW_SHORT = 16, TW_MET = 256 };

static struct { uint64_t first, last; size_t length; PyObject *text; } tw_met[TW_MET];

static PyObject *tw_new_ascii(const uint8_t *s, size_t n)
{
    PyObject *text = PyUnicode_New((Py_ssize_t)n, 127);
    if (text) memcpy(PyUnicode_DATA(text), s, n);
    return text;
}

/* The str of n ASCII bytes. */
static inline PyObject *tw_ascii(const uint8_t *s, size_t n)
{
#ifndef Py_GIL_DISABLED
    if (n && n <= TW_SHORT) {
        uint64_t first = 0, last = 0;
        if (n >= 8) {
            memcpy(&first, s, 8);
            memcpy(&last, s + n - 8, 8);
        } else if (n >= 4) {
            memcpy(&first, s, 4);
            memcpy(&last, s + n - 4, 4);
        } else {
            first = s[0];
            last = (uint64_t)s[n / 2] << 8 | s[n - 1];
        }
        size_t place = (size_t)((first * 0x9E3779B97F4A7C15u ^ (last + n) * 0xC2B2AE3D27D4EB4Fu) >> 56);
        PyObject *text = tw_met[place].text;
        if (text && tw_met[place].first == first && tw_met[place].last == last && tw_met[place].length == n) {
            Py_INCREF(text);
            return text;
        }
        if (!(text = tw_new_ascii(s, n))) return NULL;
        Py_INCREF(text);
        tw_met[place].first = first;
        tw_met[place].last = last;
        tw_met[place].length = n;
        Py_XSETREF(tw_met[place].text, text);                        /* a str: runs no code of ours */
        return text;
    }
#endif
    return tw_new_ascii(s, n);
}

/* A tuple of a key and a value. *met: the one that was made here last, which is given again for the
 * same two; NULL: none is kept. */
static inline PyObject *tw_pair(PyObject *key, PyObject *value, PyObject **met)
{
    PyObject *pair;
#ifndef Py_GIL_DISABLED
    if (met && (pair = *met) && PyTuple_GET_ITEM(pair, 0) == key && PyTuple_GET_ITEM(pair, 1) == value) {
        Py_INCREF(pair);
        return pair;
    }
#endif
    if (!(pair = PyTuple_New(2))) return NULL;
    Py_INCREF(key);
    Py_INCREF(value);
    PyTuple_SET_ITEM(pair, 0, key);
    PyTuple_SET_ITEM(pair, 1, value);
#ifndef Py_GIL_DISABLED
    if (met && PyUnicode_GET_LENGTH(value) <= TW_SHORT) {
        Py_INCREF(pair);
        Py_XSETREF(*met, pair);              /* a tuple of texts: runs no code of ours */
    }
#endif
    return pair;
}

#endif
