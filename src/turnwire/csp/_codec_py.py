"""CSP/1 in plain Python: the readable twin of ``_native/csp/codec.pyx``, of which each part has a module of its own."""

from turnwire.csp._columns_py import text_spans
from turnwire.csp._objects_py import check, decode, encode, usual_message
from turnwire.csp._scanner_py import NO_LIMIT, tables

__all__ = [
    "NO_LIMIT",
    "check",
    "decode",
    "encode",
    "tables",
    "text_spans",
    "usual_message",
]
