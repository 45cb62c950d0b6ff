/* The names of a table, found by the hash that every key of a dict has: keys that were read are mostly the very strings
   of the table, keys of a program are others that are equal. */
#ifndef TURNWIRE_JSON_NAMES_H
#define TURNWIRE_JSON_NAMES_H

#include <Python.h>
#include "strings.h"

enum { TW_NAME_SLOTS = 128, TW_NO_NAME = -1, TW_ODD_NAME = -2 };

typedef struct {
    PyObject *names[TW_NAME_SLOTS];  /* ASCII strings, which are kept elsewhere */
    short places[TW_NAME_SLOTS];
} tw_names;

static inline Py_hash_t tw_hash_of(PyObject *name) {
    Py_hash_t hash = ((PyASCIIObject *)name)->hash;
    return hash == -1 ? PyObject_Hash(name) : hash;
}

static inline void tw_names_begin(tw_names *table) { memset(table, 0, sizeof *table); }

/* Adds a name; at most half of the slots may be taken. */
static inline void tw_names_add(tw_names *table, PyObject *name, int place) {
    size_t slot = (size_t)tw_hash_of(name) % TW_NAME_SLOTS;
    while (table->names[slot] != NULL) slot = (slot + 1) % TW_NAME_SLOTS;
    table->names[slot] = name;
    table->places[slot] = (short)place;
}

/* Whether two texts are equal; 0 as well where the second is not ASCII, which the first is. */
static inline int tw_same_text(PyObject *one, PyObject *other) {
    Py_ssize_t size = PyUnicode_GET_LENGTH(one);
    return PyUnicode_IS_ASCII(other) && PyUnicode_GET_LENGTH(other) == size &&
           tw_same_bytes((const uint8_t *)PyUnicode_DATA(one), (const uint8_t *)PyUnicode_DATA(other), (size_t)size);
}

/* The place of the name that a key is, TW_NO_NAME, or TW_ODD_NAME for a key that is not just a str. */
static inline int tw_names_place(const tw_names *table, PyObject *key) {
    Py_hash_t hash;
    if (!PyUnicode_CheckExact(key)) return TW_ODD_NAME;
    hash = tw_hash_of(key);
    for (size_t slot = (size_t)hash % TW_NAME_SLOTS; table->names[slot] != NULL; slot = (slot + 1) % TW_NAME_SLOTS) {
        PyObject *name = table->names[slot];
        if (name == key || (tw_hash_of(name) == hash && tw_same_text(name, key))) return table->places[slot];
    }
    return TW_NO_NAME;
}

#endif
