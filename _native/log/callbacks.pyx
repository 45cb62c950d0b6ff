"""C functions that other libraries may call at any time: the twin of ``log/_callbacks_py.py``."""

from cpython.exc cimport PyErr_SetObject, PyErr_WriteUnraisable
from cpython.ref cimport PyObject

cdef extern from "Python.h":
    # With PyObject ** as they are: these references are nobody's but ours.
    void PyErr_Fetch(PyObject **kind, PyObject **value, PyObject **traceback)
    void PyErr_Restore(PyObject *kind, PyObject *value, PyObject *traceback)
    bint Py_IsInitialized() nogil

cdef list FUNCTIONS = []
cdef Py_ssize_t[6] RELEASES


cdef void drop(int slot, error) noexcept:
    PyErr_SetObject(type(error), error)
    PyErr_WriteUnraisable(FUNCTIONS[slot])


cdef void again(int slot, void *argument) noexcept:
    # A signal may have ended the function, at its first step even; who calls ends the process where it did nothing.
    cdef void **pointer = <void **>(<char *>argument + RELEASES[slot])
    if pointer[0] == NULL:
        return
    try:
        FUNCTIONS[slot](<size_t>argument)
    except BaseException as error:
        drop(slot, error)
        pointer[0] = NULL


cdef void call(int slot, void *argument) noexcept with gil:
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *traceback
    PyErr_Fetch(&kind, &value, &traceback)
    try:
        FUNCTIONS[slot](<size_t>argument)
    except BaseException as error:
        if RELEASES[slot] >= 0:
            again(slot, argument)
        drop(slot, error)
    PyErr_Restore(kind, value, traceback)


cdef void enter(int slot, void *argument) noexcept nogil:
    # While the interpreter goes down there is nobody left to give memory back to; but who calls wants to see it done.
    if Py_IsInitialized():
        call(slot, argument)
    elif RELEASES[slot] >= 0:
        (<void **>(<char *>argument + RELEASES[slot]))[0] = NULL


cdef extern from *:
    """
    static void (*tw_enter)(int, void *);
    #define TW_SLOT(number) static void tw_slot_##number(void *argument) { tw_enter(number, argument); }
    TW_SLOT(0) TW_SLOT(1) TW_SLOT(2) TW_SLOT(3) TW_SLOT(4) TW_SLOT(5)
    static void (*const tw_slots[6])(void *) = { tw_slot_0, tw_slot_1, tw_slot_2, tw_slot_3, tw_slot_4, tw_slot_5 };
    """
    void (*tw_enter)(int slot, void *argument) noexcept nogil
    void **tw_slots

tw_enter = enter


def foreign(function, release=None):
    """The address of a C function ``void (*)(void *)`` that calls ``function`` with its argument as an integer.

    It may be called from any thread, with or without the GIL, while the interpreter ends (then it only sets the pointer
    ``release`` bytes into its argument, if any, to NULL), and while an exception is on its way (which goes on
    afterwards). A function that sets such a pointer to NULL is called again if it raised before doing so. There is room
    for six, which are never freed.
    """
    if len(FUNCTIONS) == 6:
        raise ValueError("there is room for six functions")
    RELEASES[len(FUNCTIONS)] = -1 if release is None else release
    FUNCTIONS.append(function)
    return <size_t>tw_slots[len(FUNCTIONS) - 1]
