/* Compacts JSON text: removes the white space between tokens, and writes each escape in a string as the writer would. Numbers and
 * the order of keys stay. An unchanged message is written this way, from the text that it was read from. */
#ifndef TURNWIRE_JSON_COMPACT_H
#define TURNWIRE_JSON_COMPACT_H

#include <Python.h>
#include "runs.h"
#include "strings.h"

/* Writes the escape at p to *out in the writer's form: the character itself, a backslash with one letter, or \u with small hex
 * digits. Returns the place behind it. */
static inline const uint8_t *tw_compact_escape(const uint8_t *p, const uint8_t *end, uint8_t **out)
{
    uint8_t said[4];
    const int size = tw_unescape_one(&p, end, said), letter = tw_short_escape(*said);
    if (size > 1 || (*said >= ' ' && !letter)) {
        memcpy(*out, said, (size_t)size);
        *out += size;
    } else if (letter) {
        *(*out)++ = '\\';
        *(*out)++ = (uint8_t)letter;
    } else {                                 /* as \u001F: only its last digit may be a capital letter */
        memcpy(*out, p - 6, 6);
        (*out)[5] |= (*out)[5] >= 'A' ? 32 : 0;
        *out += 6;
    }
    return p;
}

/* Compacts the valid JSON text [p, end) into `out`, which has room for as many bytes; returns how many were written. */
static size_t tw_compact(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    const uint8_t *start = out;
    while (p < end) {
        if (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') {
            p++;
            continue;
        }
        *out++ = *p;
        if (*p++ != '"') continue;
        while (*p != '"') {
            const uint8_t *behind = tw_plain(p, end);
            if (*p == '\\') {
                p = tw_compact_escape(p, end, &out);
                continue;
            }
            if (behind == p) behind++;       /* a byte of a character beyond ASCII */
            memcpy(out, p, (size_t)(behind - p));
            out += behind - p;
            p = behind;
        }
        *out++ = *p++;
    }
    return (size_t)(out - start);
}

/* The compact form, as a str, of bytes or a str that was read and found valid. NULL with an error set where memory is short. */
static inline PyObject *tw_compacted(PyObject *source)
{
    const char *text = PyBytes_CheckExact(source) ? PyBytes_AS_STRING(source) : NULL;
    Py_ssize_t size = text ? PyBytes_GET_SIZE(source) : 0;
    PyObject *bytes, *made;
    if (!text && !(text = PyUnicode_AsUTF8AndSize(source, &size))) return NULL;
    if (!(bytes = PyBytes_FromStringAndSize(NULL, size))) return NULL;
    size = (Py_ssize_t)tw_compact((const uint8_t *)text, (const uint8_t *)text + size, (uint8_t *)PyBytes_AS_STRING(bytes));
    if (_PyBytes_Resize(&bytes, size) < 0) return NULL;
    made = json_text_of(bytes);
    Py_DECREF(bytes);
    return made;
}

#endif
