"""decode, parse, encode, check and detect of CSP/1: the compiled core handles the usual messages, this module all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnwire import _backend
from turnwire.contract import LIMITS, Limits, checked_limits, record_bytes
from turnwire.csp._marks_py import has_title
from turnwire.csp._objects_py import Spans
from turnwire.csp.faults import decode_fault, encode_fault, explain, input_bytes, issue
from turnwire.csp.lenient import parse_leniently, without_prefix
from turnwire.csp.messages import CspMessage, Document, FileOp, Junk, Preamble, Record
from turnwire.csp.spec import FILE_OPS, PREAMBLE, REASONS
from turnwire.csp.writer import write
from turnwire.errors import DecodeError, EncodeError, Issue, Reason, expect, expect_one_of
from turnwire.fences import BEGINNING, is_fence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from typing_extensions import Buffer

__all__ = ["_core", "check", "decode", "detect", "encode", "parse"]

_core: ModuleType
_DETECT = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[ \t]*+\r?\n|" + BEGINNING.encode() + rb"[^\n]*+\n)*+CSP/1(?:\r?\n|\Z|;| MODE;)"
)


def detect(data: str | Buffer) -> bool:
    """True if one record starts as CSP/1 does: blank lines and code fences, then ``CSP/1`` (or a template).

    Never raises.
    """
    return _DETECT.match(record_bytes(data) or b"") is not None


def parse(text: str | Buffer, *, mode: str = "strict", limits: Limits = LIMITS) -> Document:
    """All records of a text, in order.

    Strict (the default) raises DecodeError (reason, byte offset, line) at the first fault. Lenient reports what it
    forgave in ``issues`` and keeps what it cannot read as :class:`Junk`; it raises only for what is not UTF-8 text.
    """
    raw = input_bytes(text)
    checked_limits(limits)
    expect_one_of(mode, "mode", ("strict", "lenient"))
    if mode == "lenient":
        return parse_leniently(raw, limits)
    rows, extras, rejects = _core.tables(raw, (limits.message, limits.fields, limits.key), "first")
    source = Spans(raw, extras)
    records = [source.record(row) for row in rows]
    if rejects:
        start, length, _, code, offset, line = rejects[0]
        reason = REASONS[code]
        if reason is Reason.JUNK and has_title(raw[start : start + length]):
            reason = Reason.LOOK_ALIKE
        raise decode_fault(reason, offset, line + 1)
    return Document(records)


def preambles(data: bytes, limits: Limits = LIMITS) -> Iterator[tuple[int, int, Preamble | DecodeError]]:
    """The preambles among lines, each with its offset and length, or what is wrong with it and where. Raises ValueError
    for 2 GiB or more."""
    rows, extras, _ = _core.tables(data, (limits.message, limits.fields, limits.key), "none")
    places = [row for row in rows if row[3] & 0xFF == PREAMBLE]
    source = Spans(data if places else b"", extras)
    for row in places:
        try:
            record = source.record(row)
        except DecodeError as error:
            yield error.offset or 0, 0, error
        else:
            assert isinstance(record, Preamble), "the row says so"
            yield row[0], row[1], record


def decode(text: str | Buffer, *, mode: str = "strict", limits: Limits = LIMITS) -> CspMessage:
    """The one message of a text; code fences around it are dropped.

    DEF and LAWS may stand in front of it; behind it they are the issue restate ("info"), with their line.
    Raises DecodeError: as :func:`parse` does, empty_message for no text, no_message where there are other records
    but no message, trailing_text for another record behind it. Lenient drops text around the message (an issue,
    "info") and takes the first.
    """
    document = parse(text, mode=mode, limits=limits)
    found: CspMessage | None = None
    for record in document.records:
        if isinstance(record, Junk) or (isinstance(record, Preamble) and found is None and document.messages):
            continue
        if isinstance(record, CspMessage) and found is None:
            found = record
        elif isinstance(record, Preamble) and found is not None:
            found.issues = (*found.issues, issue(Reason.RESTATE, record.line, "info"))
        elif mode == "strict":
            if found is None:
                kind = type(record).__name__.lower()
                raise _no_message(
                    text, Reason.NO_MESSAGE, f"this is a {kind}, not a message; parse() reads it", record.line
                )
            raise _no_message(text, Reason.TRAILING_TEXT, "another record follows the message", record.line)
    if found is not None and mode == "lenient":
        boms = [one._replace(severity="info") for one in document.issues if one.reason is Reason.BOM]
        texts = [one for one in document.records if isinstance(one, Junk) and not one.reason and not _is_fence(one)]
        left_out = [issue(Reason.JUNK, one.line, "info", "the text around the message was left out") for one in texts]
        found.issues = (*boms, *found.issues, *left_out[:1])
    if found is None and mode == "lenient":
        raw = input_bytes(text)
        plain = without_prefix(raw)
        if plain != raw:
            message = decode_closely(plain, mode=mode, limits=limits)
            magic = issue(Reason.BAD_MAGIC, message.line)
            message.issues = (magic, *message.issues)
            return message
    if found is None:
        if document.issues:
            reason, line, _, words = document.issues[0]
            raise _no_message(text, reason, words, int(line))
        reason = Reason.NO_MESSAGE if document.records else Reason.EMPTY_MESSAGE
        raise _no_message(text, reason, "the text holds no message", 1)
    return found


def _no_message(text: str | Buffer, reason: Reason, words: str, line: int) -> DecodeError:
    offset = 0
    raw = input_bytes(text)
    for _ in range(line - 1):
        offset = raw.find(b"\n", offset) + 1
    return decode_fault(reason, offset, line, words)


# --- writing --------------------------------------------------------------------------------------------------------


def encode(record: Record | Document, strict: bool = True) -> str:
    """The canonical text of a record or a document (records with a blank line between them).

    Strict refuses with EncodeError (reason, and ``line`` in the text that would have been written, or ``path``)
    whatever strict reading refuses, and a message that lenient reading returned with warnings (``replace()`` it or
    clear its ``issues`` once you trust it). ``strict=False`` writes back what was read. A value no text of the wire
    can hold (a newline in a header, a lone surrogate) is refused in both.
    """
    if isinstance(record, Document):
        return _encode_document(record, strict)
    text = write(record, strict)
    if strict:
        _verify(record, text)
    return text


def _verify(record: Record, text: str) -> None:
    if isinstance(record, CspMessage):
        for found in record.issues:
            if found.severity == "warning":
                raise encode_fault(found.reason, f"the message was read with the warning: {found.text}")
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise encode_fault(Reason.LONE_SURROGATE, "a lone surrogate has no UTF-8 form") from None
    rows, _, rejects = _core.tables(raw, (LIMITS.message, LIMITS.fields, LIMITS.key), "first")
    if rejects:
        reason = REASONS[rejects[0][3]]
        raise encode_fault(reason, explain(reason), line=rejects[0][5] + 1)
    if len(rows) != 1 or rows[0][1] != len(raw):
        raise encode_fault(Reason.MISMATCH, "the text would be read as something else")


def _encode_document(document: Document, strict: bool) -> str:
    parts: list[str] = []
    before: Record | None = None
    for record in document.records:
        text = encode(record, strict)
        if before is not None and not _is_fence(before) and not _is_fence(record):
            after_junk = isinstance(before, Junk) and (isinstance(record, Junk) or before.reason is None)
            if not after_junk:
                parts.append("\n")
        parts.append(text)
        before = record
    return "".join(parts)


def _is_fence(record: Record) -> bool:
    return isinstance(record, Junk) and is_fence(record.text)


# --- checking -------------------------------------------------------------------------------------------------------


def check(message: Record | Document) -> list[Issue]:
    """Lists doubts about a record: all that strict writing would refuse ("warning") and what may be fine ("info").

    ``where`` is a line of the text that ``encode(message, strict=False)`` gives; for the warnings a message was read
    with, the line they were found at. Raises TypeError for what is neither.
    """
    expect(message, Record | Document, "a CSP/1 record or a Document is checked")
    if isinstance(message, Document):
        return [found for record in message.records for found in check(record)]
    try:
        text = write(message, strict=False)
        found = [] if _reads_strictly(message, text) else parse_leniently(input_bytes(text), LIMITS).issues
    except (EncodeError, DecodeError) as error:
        return [Issue(error.reason, error.line or 1, "warning", error.text)]
    if isinstance(message, CspMessage):
        reasons = {one.reason for one in found}
        found += [one for one in message.issues if one.reason not in reasons]
        found += doubts(message)
    return found


def _reads_strictly(message: Record, text: str) -> bool:
    """True if strict reading takes what was written: then lenient reading, which forgives more, has no say."""
    try:
        _verify(message, text)
    except EncodeError:
        return False
    return True


def doubts(message: CspMessage) -> list[Issue]:
    """Lists what may well be fine about a message that reads strictly, and that somebody should know."""
    block = message.block
    found = []
    if isinstance(block, FileOp):
        if block.op not in FILE_OPS:
            found.append(issue(Reason.UNKNOWN_OP, 7, "info", f"{block.op!r} is none of {', '.join(FILE_OPS)}"))
        elif block.op != "DELETE" and block.get("CONTENT") is None:
            found.append(issue(Reason.HEREDOC_EXPECTED, 7, "info", f"a FILEOP {block.op} without CONTENT does nothing"))
    return found


# The compiled core has the usual messages done by itself and leaves all others to these.
decode_closely, encode_closely, check_closely = decode, encode, check
_core = _backend.load("csp.codec")
if not TYPE_CHECKING and _backend.NAME == "native":
    decode, encode, check = _core.decode, _core.encode, _core.check
