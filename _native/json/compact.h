/* JSON text that was found good, without its white space: what writing its object gives, where nothing else is written
 * in another way than writing has it. */
#ifndef TURNWIRE_JSON_COMPACT_H
#define TURNWIRE_JSON_COMPACT_H

#include <Python.h>
#include "rules.h"
#include "runs.h"

/* Behind the string at p, its quote included; NULL where it has an escape that writing does without. */
static inline const uint8_t *tw_own_string(const uint8_t *p, const uint8_t *end)
{
    for (p++;; p++) {
        p = turnwire_plain(p, end);
        if (p >= end) return NULL;
        if (*p == '"') return p + 1;
        if (*p == '\\' && (++p >= end || *p == 'u' || *p == '/')) return NULL;
    }
}

/* How many bytes are left of [p, end), which are written to `out`; -1 where writing gives another text. */
static Py_ssize_t tw_compact(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    uint8_t *start = out;
    tw_walk walk;
    int64_t whole;
    int sign;
    walk.end = end;
    walk.own = 1;
    while (p < end) {
        const uint8_t *behind = p + 1;
        if (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') {
            p++;
            continue;
        }
        if (*p == '"') behind = tw_own_string(p, end);
        else if (*p == '-' || (uint8_t)(*p - '0') < 10) behind = tw_walk_number(&walk, p, &whole, &sign);
        if (!behind || !walk.own) return -1;
        if (behind == p + 1) *out++ = *p;
        else memcpy(out, p, (size_t)(behind - p)), out += behind - p;
        p = behind;
    }
    return out - start;
}

/* The text that writing the object of a good text gives, bytes or a str; None where an object has to be written for it. */
static inline PyObject *tw_compacted(PyObject *source)
{
    const char *text = PyBytes_CheckExact(source) ? PyBytes_AS_STRING(source) : NULL;
    Py_ssize_t size = text ? PyBytes_GET_SIZE(source) : 0;
    PyObject *bytes, *made;
    if (!text && !(text = PyUnicode_AsUTF8AndSize(source, &size))) return NULL;
    if (!(bytes = PyBytes_FromStringAndSize(NULL, size))) return NULL;
    size = tw_compact((const uint8_t *)text, (const uint8_t *)text + size, (uint8_t *)PyBytes_AS_STRING(bytes));
    if (size < 0) {
        Py_DECREF(bytes);
        Py_INCREF(Py_None);
        return Py_None;
    }
    if (_PyBytes_Resize(&bytes, size) < 0) return NULL;
    made = json_text_of(bytes);
    Py_DECREF(bytes);
    return made;
}

#endif
