"""Writing JSON text. The rules are those of ``_pure/json/write.py``, which also writes what is rare."""

from turnwire._pure.json.write import write as _pure_write
from turnwire.contract import LIMITS

cdef extern from "_native/json/draft.h":
    ctypedef struct json_draft:
        pass
    enum:
        JSON_WRITTEN, JSON_DOUBT
    void json_begin(json_draft* draft, object items)
    void json_end(json_draft* draft)
    int json_value(json_draft* draft, object value, Py_ssize_t left) except -1
    object json_result(const json_draft* draft)

cdef enum:
    DEEPEST = 512  # nesting that recursion is trusted with; beyond it the iterative twin writes

cdef str ITEMS = "items"
cdef object DEFAULT = LIMITS
cdef Py_ssize_t default_nesting = LIMITS.nesting


def write(value, wire=None, limits=LIMITS):
    """``value`` as JSON text; see ``turnwire.json.text.write``."""
    cdef json_draft draft
    cdef Py_ssize_t nesting = default_nesting if limits is DEFAULT else limits.nesting
    if nesting > DEEPEST:
        return _pure_write(value, wire, limits)
    json_begin(&draft, ITEMS)
    try:
        if json_value(&draft, value, nesting) == JSON_WRITTEN:
            return json_result(&draft)
    finally:
        json_end(&draft)
    return _pure_write(value, wire, limits)
