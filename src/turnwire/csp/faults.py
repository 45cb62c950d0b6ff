"""Errors of CSP/1 in words: one explanation for both twins, made only when something fails."""

from __future__ import annotations

from typing import Any

from turnwire import contract
from turnwire.csp.spec import FIELDS, INTENTS, WIRE
from turnwire.errors import DecodeError, EncodeError, Issue, Reason

_TEXT = {
    Reason.JUNK: "this line belongs to no message",
    Reason.BAD_MAGIC: "a message starts with a line that is exactly CSP/1",
    Reason.LOOK_ALIKE: "this is a template whose INTENT is not filled in, or the Compact Symbol Protocol, which "
    "begins with the same line; it has no FROM, TO, CTX and INTENT and is not the Compact State Protocol",
    Reason.MISSING_FROM: "the header has no FROM",
    Reason.MISSING_TO: "the header has no TO",
    Reason.MISSING_CTX: "the header has no CTX",
    Reason.MISSING_INTENT: "the header has no INTENT",
    Reason.HEADER_ORDER: "the header must be FROM, TO, CTX, INTENT in that order",
    Reason.DUP_HEADER: "the header line appears twice",
    Reason.BAD_HEADER_VALUE: "a header value must be one token, one space after its key",
    Reason.BAD_HEADER_LINE: "this is not a header line; a blank line ends the header",
    Reason.BAD_INTENT: f"the intents are {', '.join(INTENTS)}",
    Reason.INTENT_ALIAS: "FILEOP is the name of the block; the intent is FILE",
    Reason.NO_BODY: "the message has no block",
    Reason.BLOCK_MISMATCH: "the block does not match the INTENT",
    Reason.BAD_ID: "ids are T, E, P or F and digits (any token for PLAN, QUERY and MEM)",
    Reason.MISSING_OP: "a FILEOP needs an operation",
    Reason.BAD_OP: "the operations are + DEF NAME = value, ~ DEF NAME := value, - DEF NAME; or CREATE, PATCH, DELETE",
    Reason.OP_MISMATCH: "+ requires =, ~ requires :=, - has no value",
    Reason.MISSING_REQ: "a TASK needs REQ",
    Reason.MISSING_STATUS: "a RESULT needs STATUS",
    Reason.MISSING_AT: "an ERROR needs AT",
    Reason.MISSING_CAUSE: "an ERROR needs CAUSE",
    Reason.MISSING_PATH: "a FILEOP needs PATH",
    Reason.MISSING_BASE: "a PATCH needs BASE",
    Reason.MISSING_APPLY: "a PATCH needs APPLY -> C<n>",
    Reason.BAD_BASE: "BASE names a checkpoint: C and digits",
    Reason.BAD_APPLY: "the last line of a PATCH is APPLY -> C<n>",
    Reason.BAD_ENUM: "STATUS is OK, PARTIAL or FAIL; PRIORITY is P1, P2 or P3",
    Reason.UNKNOWN_KEY: "the block has no such key; " + "; ".join(f"{w}: {' '.join(k)}" for w, k in FIELDS.items()),
    Reason.DUP_FIELD: "the key appears twice",
    Reason.STRAY_LINE: "this line does not belong to a block of that kind",
    Reason.CONTINUED: "a line that is not a key was read as the continuation of the previous value",
    Reason.TRAILING_TEXT: "text follows the block",
    Reason.UNCLOSED_HEREDOC: "the heredoc that begins here is never closed",
    Reason.INSIDE_UNCLOSED_HEREDOC: "the message follows a heredoc that is never closed",
    Reason.HEREDOC_EXPECTED: "CONTENT must be a heredoc: <<< and >>> on separate lines",
    Reason.BAD_UTF8: "the text is not valid UTF-8",
    Reason.LONE_SURROGATE: "a lone surrogate has no UTF-8 form",
    Reason.MESSAGE_TOO_LARGE: "the message is longer than the limit",
    Reason.TOO_MANY_FIELDS: "the block has more fields than the limit",
    Reason.KEY_TOO_LONG: "the key is longer than the limit",
    Reason.DEF_EXISTS: "the name is defined twice",
    Reason.DUPLICATE: "the law appears twice",
    Reason.RESTATE: "DEF and LAWS belong before the first message (C0): name the checkpoint in CTX",
    Reason.BOM: "the text begins with a byte order mark",
}


def explain(reason: Reason) -> str:
    """The words for a reason."""
    return _TEXT[reason]


def decode_fault(reason: Reason, offset: int, line: int, text: str | None = None) -> DecodeError:
    """A DecodeError at a byte offset and a 1-based line."""
    return DecodeError(reason, _TEXT[reason] if text is None else text, offset=offset, line=line, wire=WIRE)


def encode_fault(reason: Reason, text: str, path: str | None = None, line: int | None = None) -> EncodeError:
    """An EncodeError about one attribute (``path``) or one line of the text that would have been written."""
    return EncodeError(reason, text, wire=WIRE, path=path, line=line)


def issue(reason: Reason, line: int, severity: str = "warning", text: str | None = None) -> Issue:
    """An issue: what was forgiven at a line."""
    return Issue(reason, line, severity, _TEXT[reason] if text is None else text)


def input_bytes(data: Any) -> bytes:
    """The UTF-8 form of text or contiguous bytes. Raises DecodeError(wrong_type|bad_utf8|lone_surrogate)."""
    if isinstance(data, str):  # without a call: every message passes here
        raw = data.encode("utf-8", "surrogatepass")
    else:
        raw = data if isinstance(data, bytes) else contract.input_bytes(data, WIRE)
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            reason = Reason.LONE_SURROGATE if isinstance(data, str) else Reason.BAD_UTF8
            raise decode_fault(reason, error.start, raw.count(b"\n", 0, error.start) + 1) from None
    return raw
