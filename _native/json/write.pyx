"""Writing JSON text, plain and canonical. The rules are those of ``json/_write_py.py``, which also writes rare values
and explains every refusal."""

from _native.json.draft cimport json_written
from _native.json.rules cimport tw_compacted
from turnwire.json._write_py import canonical as _pure_canonical, write as _pure_write
from turnwire.contract import LIMITS

cdef enum:
    DEEPEST = 512  # nesting that recursion is trusted with; beyond it the iterative twin writes

cdef str ITEMS = "items"
cdef object DEFAULT = LIMITS
cdef Py_ssize_t default_nesting = LIMITS.nesting


def write(value, wire=None, limits=LIMITS):
    """``value`` as JSON text; see ``turnwire.json.text.write``."""
    cdef Py_ssize_t nesting = default_nesting if limits is DEFAULT else limits.nesting
    if nesting > DEEPEST:
        return _pure_write(value, wire, limits)
    text = json_written(value, nesting, ITEMS, False)
    return _pure_write(value, wire, limits) if text is None else text


def compacted(source):
    """Text that was read and is valid, for writing it unchanged; see the twin."""
    if type(source) is not bytes and type(source) is not str:
        raise TypeError(f"expected text or its bytes, not {type(source).__name__}")
    return tw_compacted(source)


def canonical(object value, /):
    """The canonical JSON of ``value`` (RFC 8785) as bytes; see the pure twin."""
    text = json_written(value, default_nesting, ITEMS, True)
    return _pure_canonical(value) if text is None else (<str>text).encode()
