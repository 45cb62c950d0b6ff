/* The memory of messages, their strings and integers, and their text: C helpers of nslip/codec.pyx beside the parser. */
#ifndef TURNWIRE_NSLIP_MESSAGE_H
#define TURNWIRE_NSLIP_MESSAGE_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "_native/common/short_text.h"
#include "_native/json/runs.h"
#include "base62.h"
#include "parse.h"

/* Messages come and go by the million, so those that nobody touched are kept for the next decode with their memory,
 * their type and their None fields as they are: no zeroing, no collector bookkeeping. Cython's own slots do the rest. */

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

/* Some libraries make an object without the constructors of its class (msgspec does): its members are still to be set.
 * Returns 1 for such a one, whose members are None then. */
static inline int tw_object_begin(PyObject *o)
{
    size_t at[3] = { tw_at_status, tw_at_tag, tw_at_touched };
    if (*tw_member(o, tw_at_touched)) return 0;
    for (int i = 0; i < 3; i++) {
        Py_INCREF(Py_None);
        *tw_member(o, at[i]) = Py_None;
    }
    return 1;
}

/* A kept message with one reference, or NULL. It has kept its reference to its type, too. */
static inline PyObject *tw_object_take(void)
{
    if (tw_kept_count == 0) return NULL;
    PyObject *o = tw_kept[--tw_kept_count];
    _Py_NewReference(o);
    return o;
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

/* The str of n bytes of good UTF-8 that are not all ASCII. */
static PyObject *tw_good_text(const uint8_t *s, size_t n)
{
    unsigned char greatest;
    Py_ssize_t count = json_count(s, s + n, &greatest);
    return json_unpacked(s, s + n, count, greatest < 0xC4 ? 0xFF : greatest < 0xF0 ? 0xFFFF : 0x10FFFF);
}

/* del o.name, past __delattr__ */
static inline int tw_delete_attribute(PyObject *o, PyObject *name)
{
    return PyObject_GenericSetAttr(o, name, NULL);
}

/* --- writing: each function takes where to write and returns where it stopped --- */

enum { TW_INTEGER_ROOM = 16 };              /* most bytes that tw_put_integer touches */

/* How long a number is has no pattern from three digits on: no branch tells three from four, nor five to eight apart. */
static inline uint8_t *tw_put_integer(uint8_t *p, uint64_t n)
{
    uint64_t low, high;
    unsigned count;
    if (n < 62) { *p = (uint8_t)BASE62_DIGITS[n]; return p + 1; }
    if (n < BASE62_POW2) { p[0] = (uint8_t)base62_pair[n]; p[1] = (uint8_t)(base62_pair[n] >> 8); return p + 2; }
    if (n < BASE62_POW8) {
        const uint64_t digits = n < BASE62_POW4 ? (uint64_t)base62_four((uint32_t)n) << 32 | 0x30303030 : base62_eight(n);
        const unsigned zeros = (unsigned)tw_low_zeros(digits ^ 0x3030303030303030u) / 8; /* n is not 0 */
        low = base62_little(digits >> 8 * zeros);
        memcpy(p, &low, 8);
        return p + 8 - zeros;
    }
    base62_words(n, &low, &high);
    count = 8 + base62_count(high);
    low = base62_little(low);
    high = base62_little(high);
    memcpy(p, &low, 8);
    memcpy(p + 8, &high, 8);
    return p + count;
}

/* A quoted string; there must be room for 2 * n + 2 bytes. */
static inline uint8_t *tw_put_text(uint8_t *p, const uint8_t *s, size_t n)
{
    uint64_t w, found;
    size_t i = 0;
    *p++ = '"';
    while (i < n) {
        if (i + 8 <= n) {
            memcpy(&w, s + i, 8);
            memcpy(p, &w, 8);
            found = tw_find_two(w, '"', '\\');
            size_t clear = found ? (size_t)tw_lowest_byte(found) : 8;
            p += clear;
            i += clear;
            if (!found) continue;
        } else if (n >= 8 && (memcpy(&w, s + n - 8, 8), !tw_find_two(w, '"', '\\'))) { /* the last eight once more */
            p += n - i;
            memcpy(p - 8, &w, 8);
            break;
        }
        if (s[i] == '"' || s[i] == '\\') *p++ = '\\';
        *p++ = s[i++];
    }
    *p++ = '"';
    return p;
}

/* "@" and the six header fields. */
static inline uint8_t *tw_put_header(uint8_t *p, const uint64_t *head)
{
    p[0] = '@'; p[1] = 'a'; p[2] = (uint8_t)BASE62_DIGITS[head[0]];       /* the message judged both when they were set */
    p[3] = '|'; p[4] = 'f'; p[5] = (uint8_t)BASE62_DIGITS[head[1]];
    p[6] = '|'; p[7] = 'c';
    p = tw_put_integer(p + 8, head[2]);
    p[0] = '|'; p[1] = 'S';
    p = tw_put_integer(p + 2, head[3]);
    p[0] = '|'; p[1] = 'd';
    p = tw_put_integer(p + 2, head[4]);
    p[0] = '|'; p[1] = 'T';
    return tw_put_integer(p + 2, head[5]);
}

/* A whole message; text and length are those of STATUS and TAG. */
static inline uint8_t *tw_put_values(uint8_t *p, const tw_values *v, const uint8_t *const *text, const size_t *length)
{
    p = tw_put_header(p, v->head);
    for (int i = 0; i < v->count; i++) {
        int slot = v->order[i];
        p[0] = '|';
        p[1] = (uint8_t)TW_SLOT_PREFIXES[slot];
        p += 2;
        if (slot == TW_STATUS) p = tw_put_text(p, text[0], length[0]);
        else if (slot == TW_TAG) p = tw_put_text(p, text[1], length[1]);
        else p = tw_put_integer(p, v->ints[slot]);
    }
    *p++ = '#';
    return p;
}

#endif
