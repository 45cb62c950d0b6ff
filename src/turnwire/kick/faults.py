"""Errors of KickLang in words and with their places: one explanation for both twins."""

from __future__ import annotations

from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.json.faults import input_bytes
from turnwire.kick.spec import WIRE

SPACE_WORDS = {
    Reason.BOM: "the document starts with a byte order mark",
    Reason.EMPTY_HEADER: "no name follows the sigil",
    Reason.BAD_HEADER: "a header is ⫻name/type:place/index without white space, empty parts or further slashes",
    Reason.NO_SECTIONS: "there is text but no line that starts with ⫻",
    Reason.BAD_UTF8: "the text is not valid UTF-8",
    Reason.LONE_SURROGATE: "half of a surrogate pair is not a character",
}
"""The words for a reason in a document."""


def space_fault(source: str | bytes, reason: Reason, place: int) -> DecodeError:
    """A DecodeError at ``place`` of a document (a character of a str, a byte of bytes)."""
    before = source[:place]
    line = 1 + (before.count("\n") if isinstance(before, str) else before.count(b"\n"))
    offset = len(before.encode("utf-8", "surrogatepass")) if isinstance(before, str) else place
    return DecodeError(reason, SPACE_WORDS[reason], offset=offset, line=line, wire=WIRE)


def utf8_fault(source: bytes) -> DecodeError:
    """The DecodeError bad_utf8 of bytes that are not UTF-8, at the first bad one."""
    try:
        source.decode()
    except UnicodeDecodeError as error:
        return space_fault(source, Reason.BAD_UTF8, error.start)
    raise AssertionError("utf8_fault is called for bytes that are not UTF-8")


def input_source(data: object) -> bytes:
    """The UTF-8 of a str, or the bytes of a contiguous buffer. Raises DecodeError(wrong_type|lone_surrogate)."""
    if not isinstance(data, str):
        return input_bytes(data, WIRE)
    try:
        return data.encode()
    except UnicodeEncodeError as error:
        raise space_fault(data, Reason.LONE_SURROGATE, error.start) from None


def encode_fault(reason: Reason, text: str, path: str | None = None) -> EncodeError:
    """An EncodeError about one field."""
    return EncodeError(reason, text, wire=WIRE, path=path)
