"""Hashing of ledger entries, compiled: the twin of ``turnwire/ledger/_hashing_py.py``."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from turnwire.ledger._hashing_py import CHAIN, MISSING, TYPE

cdef extern from "_native/common/sha256.h":
    ctypedef void (*tw_sha_blocks)(void*, const uint8_t*, size_t)
    tw_sha_blocks tw_sha_choose(int)
    void tw_sha256(tw_sha_blocks, const uint8_t*, size_t, const uint8_t*, size_t, uint8_t*) nogil

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL

cdef enum:
    HEAD = 23
    ROOM = 512

cdef tw_sha_blocks BLOCKS = tw_sha_choose(0)


def use_portable(bint portable):
    """For tests: hash without (or again with) the machine's SHA instructions."""
    global BLOCKS
    BLOCKS = tw_sha_choose(portable)


def digest(const uint8_t[::1] head, const uint8_t[::1] body):
    """For tests: the SHA-256 of head and body together."""
    cdef uint8_t out[32]
    cdef const uint8_t* first = &head[0] if head.shape[0] else NULL
    cdef const uint8_t* second = &body[0] if body.shape[0] else NULL
    cdef uint8_t nothing = 0
    tw_sha256(BLOCKS, first if first != NULL else &nothing, head.shape[0],
              second if second != NULL else &nothing, body.shape[0], out)
    return PyBytes_FromStringAndSize(<char*>out, 32)


cdef inline void put_number(uint8_t* place, uint64_t number, int size) noexcept nogil:
    cdef int at
    for at in range(size):
        place[at] = <uint8_t>(number >> (8 * (size - 1 - at)))


cdef int hash_leaf(uint64_t seq, int64_t at, str kind, str key, bytes body, uint8_t* out) except -1:
    cdef uint8_t room[ROOM]
    cdef uint8_t* head = room
    cdef Py_ssize_t kind_size, key_size, size
    cdef const char* kind_text = PyUnicode_AsUTF8AndSize(kind, &kind_size)
    cdef const char* key_text = PyUnicode_AsUTF8AndSize(key, &key_size)
    if kind_size > 0xFFFF or key_size > 0xFFFFFFFF:
        raise OverflowError
    size = HEAD + kind_size + key_size
    if size > ROOM:
        head = <uint8_t*>PyMem_Malloc(size)
        if head == NULL:
            raise MemoryError
    head[0] = 0
    put_number(head + 1, seq, 8)
    put_number(head + 9, <uint64_t>at, 8)
    put_number(head + 17, <uint64_t>kind_size, 2)
    put_number(head + 19, <uint64_t>key_size, 4)
    memcpy(head + HEAD, kind_text, kind_size)
    memcpy(head + HEAD + kind_size, key_text, key_size)
    tw_sha256(BLOCKS, head, size, <const uint8_t*>PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body), out)
    if head != room:
        PyMem_Free(head)
    return 0


cdef inline void hash_pair(uint8_t mark, const uint8_t* left, const uint8_t* right, uint8_t* out) noexcept nogil:
    cdef uint8_t text[65]
    text[0] = mark
    memcpy(text + 1, left, 32)
    memcpy(text + 33, right, 32)
    tw_sha256(BLOCKS, text, 65, text, 0, out)


cdef const uint8_t* hash_of(bytes value) except NULL:
    if value is None or PyBytes_GET_SIZE(value) != 32:
        raise ValueError("a hash has 32 bytes")
    return <const uint8_t*>PyBytes_AS_STRING(value)


def leaf_of(seq, at, str kind not None, str key not None, bytes body not None):
    """The leaf hash of an entry; see the pure twin."""
    cdef uint8_t out[32]
    hash_leaf(seq, at, kind, key, body, out)
    return PyBytes_FromStringAndSize(<char*>out, 32)


def link(bytes previous not None, bytes leaf not None):
    """The next link of the hash chain; see the pure twin."""
    cdef uint8_t out[32]
    hash_pair(2, hash_of(previous), hash_of(leaf), out)
    return PyBytes_FromStringAndSize(<char*>out, 32)


def seal(last, at, items, bytes chain not None):
    """Rows, leaf hashes and the chain after them; see the pure twin."""
    cdef uint8_t current[32]
    cdef uint8_t leaf[32]
    cdef uint64_t seq = last
    cdef int64_t moment = at
    cdef list rows = []
    cdef list leaves = []
    cdef object kind, body, key
    cdef bytes sealed = chain
    memcpy(current, hash_of(chain), 32)
    for kind, body, key in items:
        seq += 1
        if body is None:
            raise TypeError("a body is bytes")
        hash_leaf(seq, moment, <str?>kind, <str?>key, <bytes?>body, leaf)
        hash_pair(2, current, leaf, current)
        sealed = PyBytes_FromStringAndSize(<char*>current, 32)
        rows.append((seq, at, kind, key, body, sealed))
        leaves.append(PyBytes_FromStringAndSize(<char*>leaf, 32))
    return rows, leaves, sealed


def follow(rows, last, bytes chain not None):
    """Checks stored rows; see the pure twin."""
    cdef uint8_t current[32]
    cdef uint8_t following[32]
    cdef uint8_t leaf[32]
    cdef uint64_t seq = last
    cdef list leaves = []
    cdef object number, at, kind, key, body, stored
    cdef object wrong = None
    memcpy(current, hash_of(chain), 32)
    for number, at, kind, key, body, stored in rows:
        seq += 1
        if number != seq:
            wrong = MISSING
            break
        if type(at) is not int or type(kind) is not str or type(key) is not str or type(body) is not bytes:
            wrong = TYPE
            break
        try:
            hash_leaf(seq, at, <str>kind, <str>key, <bytes>body, leaf)
        except (OverflowError, UnicodeEncodeError):
            wrong = TYPE
            break
        hash_pair(2, current, leaf, following)
        if (type(stored) is not bytes or PyBytes_GET_SIZE(stored) != 32
                or memcmp(PyBytes_AS_STRING(stored), following, 32) != 0):
            wrong = CHAIN
            break
        memcpy(current, following, 32)
        leaves.append(PyBytes_FromStringAndSize(<char*>leaf, 32))
    return leaves, PyBytes_FromStringAndSize(<char*>current, 32), wrong


def fold(leaves):
    """The root over 1, 2, 4 ... hashes; see the pure twin."""
    cdef Py_ssize_t count = len(leaves), at
    if count < 1 or count & (count - 1):
        raise IndexError("there are 1, 2, 4 ... hashes")
    cdef uint8_t* hashes = <uint8_t*>PyMem_Malloc(count * 32)
    if hashes == NULL:
        raise MemoryError
    try:
        for at in range(count):
            memcpy(hashes + at * 32, hash_of(<bytes?>leaves[at]), 32)
        while count > 1:
            count //= 2
            for at in range(count):
                hash_pair(1, hashes + at * 64, hashes + at * 64 + 32, hashes + at * 32)
        return PyBytes_FromStringAndSize(<char*>hashes, 32)
    finally:
        PyMem_Free(hashes)
