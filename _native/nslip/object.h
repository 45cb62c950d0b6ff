/* Messages come and go by the million, so those that nobody touched are kept for the next decode with their memory,
 * their type and their None fields as they are: no zeroing, no collector bookkeeping. Cython's own slots do the rest. */
#ifndef TURNWIRE_NSLIP_OBJECT_H
#define TURNWIRE_NSLIP_OBJECT_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "_native/json/runs.h"

#ifdef Py_GIL_DISABLED
enum { TW_KEPT_MAX = 0 };                    /* no list without the lock that guards it */
#else
enum { TW_KEPT_MAX = 512 };
#endif

static PyObject *tw_kept[TW_KEPT_MAX + 1];
static int tw_kept_count;
static PyTypeObject *tw_kept_type;
static destructor tw_full_dealloc;
static size_t tw_at_touched, tw_at_status, tw_at_tag;

static inline PyObject **tw_member(PyObject *o, size_t at)
{
    return (PyObject **)((char *)o + at);
}

static void tw_object_dealloc(PyObject *o)
{
    if (Py_TYPE(o) == tw_kept_type && tw_kept_count < TW_KEPT_MAX && *tw_member(o, tw_at_touched) == Py_None &&
        !PyObject_GC_IsTracked(o) && *PyObject_GET_WEAKREFS_LISTPTR(o) == NULL) {
        size_t at[2] = { tw_at_status, tw_at_tag };
        for (int i = 0; i < 2; i++) {
            PyObject **member = tw_member(o, at[i]), *old = *member;
            if (old != Py_None) {
                Py_INCREF(Py_None);
                *member = Py_None;
                Py_DECREF(old);              /* a str: frees memory, runs no code of ours */
            }
        }
        tw_kept[tw_kept_count++] = o;
        return;
    }
    tw_full_dealloc(o);
}

/* A kept message with one reference, or NULL. */
static inline PyObject *tw_object_take(void)
{
    if (tw_kept_count == 0) return NULL;
    PyObject *o = tw_kept[--tw_kept_count];
    return PyObject_Init(o, tw_kept_type);
}

/* Takes over the deallocation of the sample's type. 0 where its members are not status, tag, touched, __weakref__. */
static int tw_object_setup(PyObject *sample, PyObject *status, PyObject *tag, PyObject *touched)
{
    PyTypeObject *type = Py_TYPE(sample);
    size_t end = (size_t)type->tp_weaklistoffset;
    tw_at_touched = end - sizeof(PyObject *);
    tw_at_tag = end - 2 * sizeof(PyObject *);
    tw_at_status = end - 3 * sizeof(PyObject *);
    if (*tw_member(sample, tw_at_status) != status || *tw_member(sample, tw_at_tag) != tag ||
        *tw_member(sample, tw_at_touched) != touched || *tw_member(sample, end) != NULL)
        return 0;
    tw_kept_type = type;
    tw_full_dealloc = type->tp_dealloc;
    type->tp_dealloc = tw_object_dealloc;
    return 1;
}

/* Tags and statuses come from small vocabularies: a short one that was met a moment ago is given again instead of made
 * again. Direct-mapped; first and last hold all of at most sixteen bytes, as overlapping words. */
enum { TW_SHORT = 16, TW_MET = 256 };

static struct { uint64_t first, last; size_t length; PyObject *text; } tw_met[TW_MET];

static PyObject *tw_new_ascii(const uint8_t *s, size_t n)
{
    PyObject *text = PyUnicode_New((Py_ssize_t)n, 127);
    if (text) memcpy(PyUnicode_DATA(text), s, n);
    return text;
}

/* The str of n bytes of good UTF-8 that are not all ASCII. */
static PyObject *tw_good_text(const uint8_t *s, size_t n)
{
    unsigned char greatest;
    Py_ssize_t count = json_count(s, s + n, &greatest);
    return json_unpacked(s, s + n, count, greatest < 0xC4 ? 0xFF : greatest < 0xF0 ? 0xFFFF : 0x10FFFF);
}

/* The str of n ASCII bytes, n at least 1. */
static inline PyObject *tw_ascii(const uint8_t *s, size_t n)
{
#ifndef Py_GIL_DISABLED
    if (n <= TW_SHORT) {
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

/* The value of an int; *fits is 0 where it is negative or above 2**64 - 1, and no exception is left behind. */
static inline uint64_t tw_unsigned(PyObject *number, int *fits)
{
#if SIZEOF_LONG == 8
    uint64_t value = PyLong_AsUnsignedLong(number);                  /* CPython's faster one */
#else
    uint64_t value = PyLong_AsUnsignedLongLong(number);
#endif
    *fits = 1;
    if (value == UINT64_MAX && PyErr_Occurred()) {
        PyErr_Clear();
        *fits = 0;
    }
    return value;
}

/* del o.name, past __delattr__ */
static inline int tw_delete_attribute(PyObject *o, PyObject *name)
{
    return PyObject_GenericSetAttr(o, name, NULL);
}

#endif
