/* A text that was read, as it is written while nothing of it has changed: without white space, its strings with the escapes
 * that writing gives them, its numbers as they were read. */
#ifndef TURNWIRE_JSON_COMPACT_H
#define TURNWIRE_JSON_COMPACT_H

#include <Python.h>
#include "runs.h"
#include "strings.h"

/* Behind the escape at p, which is written to *out as writing has it. */
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
    } else {                                 /* \u001f: of its digits, the last may be a capital letter */
        memcpy(*out, p - 6, 6);
        (*out)[5] |= (*out)[5] >= 'A' ? 32 : 0;
        *out += 6;
    }
    return p;
}

/* How many bytes of the good text [p, end) are left in `out`, which has room for as many. */
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
            const uint8_t *behind = turnwire_plain(p, end);
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

/* The text of a source (bytes or a str) that was read and found good. */
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
