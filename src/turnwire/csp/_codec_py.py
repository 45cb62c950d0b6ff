"""CSP/1 in plain Python: the readable twin of ``_native/csp/codec.pyx``, of which each part has a module of its own."""

from turnwire.csp._columns_py import text_spans
from turnwire.csp._scanner_py import NO_LIMIT, tables
from turnwire.csp.codec import check_closely as check, decode_closely as decode, encode_closely as encode

__all__ = ["NO_LIMIT", "check", "decode", "encode", "tables", "text_spans"]
