/* A quick call of a class by the names of its arguments: CPython gives those of a class that a module makes as a dict,
 * before 3.14, and Cython reads that in twice the time of the whole call. */
#ifndef TURNWIRE_COMMON_CONSTRUCT_H
#define TURNWIRE_COMMON_CONSTRUCT_H

#include <Python.h>

enum { TW_ARGUMENTS = 9 };

static PyObject *tw_argument_names;          /* of the one class of a module */

/* True if all arguments have a place and leave none out: values get them in order. Borrowed. */
static int tw_in_places(PyObject *const *args, Py_ssize_t count, PyObject *named, PyObject **values)
{
    Py_ssize_t more = named ? PyTuple_GET_SIZE(named) : 0, most = PyTuple_GET_SIZE(tw_argument_names);
    if (count + more > most || most > TW_ARGUMENTS) return 0;
    for (Py_ssize_t i = 0; i < count + more; i++) values[i] = i < count ? args[i] : NULL;
    for (Py_ssize_t i = 0; i < more; i++) {
        Py_ssize_t at = count;
        while (at < count + more && PyTuple_GET_ITEM(named, i) != PyTuple_GET_ITEM(tw_argument_names, at)) at++;
        if (at == count + more) return 0;    /* given twice, too: then another name has no place */
        values[at] = args[count + i];
    }
    return 1;
}

static PyObject *tw_construct(PyObject *cls, PyObject *const *args, size_t flags, PyObject *named)
{
    PyObject *values[TW_ARGUMENTS], *places, *names = NULL, *made = NULL;
    Py_ssize_t count = PyVectorcall_NARGS(flags), more = named ? PyTuple_GET_SIZE(named) : 0;
    int placed = tw_in_places(args, count, named, values);
    if (!(places = PyTuple_New(placed ? count + more : count))) return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); i++) {
        PyObject *value = placed ? values[i] : args[i];
        Py_INCREF(value);
        PyTuple_SET_ITEM(places, i, value);
    }
    if (placed || !more || (names = PyDict_New())) {
        for (Py_ssize_t i = 0; names && i < more; i++)
            if (PyDict_SetItem(names, PyTuple_GET_ITEM(named, i), args[count + i])) goto done;
        made = PyType_Type.tp_call(cls, places, names);
    }
done:
    Py_DECREF(places);
    Py_XDECREF(names);
    return made;
}

static inline void tw_construct_by(PyTypeObject *type, PyObject *names)
{
    if (type->tp_vectorcall) return;         /* Cython has one of its own, where CPython lets it */
    Py_INCREF(names);
    tw_argument_names = names;
    type->tp_vectorcall = tw_construct;
}

#endif
