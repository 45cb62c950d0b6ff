"""Canonical JSON (RFC 8785). The rules are those of ``json/_canonical_py.py``, which also writes what is rare, and words
every refusal."""

from _native.json.draft cimport json_written
from turnwire.json._canonical_py import canonical as _pure_canonical
from turnwire.contract import LIMITS

cdef str ITEMS = "items"
cdef Py_ssize_t NESTING = LIMITS.nesting


def canonical(object value, /):
    """The canonical JSON of ``value`` (RFC 8785) as bytes; see the pure twin."""
    text = json_written(value, NESTING, ITEMS, True)
    return _pure_canonical(value) if text is None else (<str>text).encode()
