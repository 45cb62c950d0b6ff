"""The only exceptions of turnwire, and the closed list of reasons they carry.

Every refusal says *why* (a stable :class:`Reason`), *where* (``offset``: a 0-based byte in the UTF-8 form of the
input; ``line``: 1-based) and in *which wire*. Native and pure code raise the same values for the same input.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Reason(str, Enum):
    """Why something was refused. The value is the stable string; names are the same in capitals."""

    # Any wire
    WRONG_TYPE = "wrong_type"
    BAD_UTF8 = "bad_utf8"
    LONE_SURROGATE = "lone_surrogate"
    MESSAGE_TOO_LARGE = "message_too_large"
    TOO_DEEP = "too_deep"
    TOO_MANY_FIELDS = "too_many_fields"
    KEY_TOO_LONG = "key_too_long"
    NUMBER_TOO_LONG = "number_too_long"
    BUFFER_FULL = "buffer_full"
    RATIO_TOO_HIGH = "ratio_too_high"
    WINDOW_TOO_LARGE = "window_too_large"
    UNKNOWN_WIRE = "unknown_wire"
    MISSING_FIELD = "missing_field"
    MISMATCH = "mismatch"
    # Binary forms of nSLIP
    BAD_ENCODING = "bad_encoding"
    UNSUPPORTED_VERSION = "unsupported_version"
    # nSLIP
    BAD_FRAMING = "bad_framing"
    EMPTY_MESSAGE = "empty_message"
    EMPTY_FIELD = "empty_field"
    UNKNOWN_PREFIX = "unknown_prefix"
    EMPTY_VALUE = "empty_value"
    BAD_DIGIT = "bad_digit"
    TOO_LARGE = "too_large"
    UNTERMINATED_STRING = "unterminated_string"
    BAD_ESCAPE = "bad_escape"
    JUNK_AFTER_STRING = "junk_after_string"
    DUPLICATE = "duplicate"
    UNKNOWN_ACT = "unknown_act"
    UNKNOWN_FRAME = "unknown_frame"
    UNKNOWN_SLOT = "unknown_slot"
    NEGATIVE = "negative"
    TRAILING_JUNK = "trailing_junk"
    NEWLINE_IN_STRING = "newline_in_string"
    LONG_STRING = "long_string"
    # JSON text (the JSON wires: SSTP, SAP, KickLang envelopes)
    NOT_OBJECT = "not_object"
    DUP_KEY = "dup_key"
    BAD_JSON = "bad_json"
    BAD_NUMBER = "bad_number"
    NOT_FINITE = "not_finite"
    CUT_OFF = "cut_off"
    CONTROL_CHARACTER = "control_character"
    CODE_FENCE = "code_fence"
    PROSE = "prose"
    BOM = "bom"
    # The ledger
    BAD_LEDGER = "bad_ledger"
    LEDGER_BROKEN = "ledger_broken"
    BAD_CHECKPOINT = "bad_checkpoint"
    # SAP V2.0
    UNKNOWN_KIND = "unknown_kind"
    UNKNOWN_VALUE = "unknown_value"
    BAD_UUID = "bad_uuid"
    BAD_TIMESTAMP = "bad_timestamp"
    TIMESTAMP_FORM = "timestamp_form"
    OUT_OF_RANGE = "out_of_range"
    BAD_DIGEST = "bad_digest"
    MISSING_MESSAGE = "missing_message"
    STATUS_CONFLICT = "status_conflict"
    NO_NEXT_ACTIONS = "no_next_actions"
    UNKNOWN_CODE = "unknown_code"
    WRONG_TASK = "wrong_task"
    WRONG_CORRELATION = "wrong_correlation"
    BAD_TRANSITION = "bad_transition"
    OUTPUT_MISMATCH = "output_mismatch"
    BAD_SCHEMA = "bad_schema"
    SECRET = "secret"
    CREDENTIALS_IN_URI = "credentials_in_uri"
    UNUSUAL_URI = "unusual_uri"
    UNKNOWN_TASK = "unknown_task"
    BAD_SIGNAL = "bad_signal"
    UNKNOWN_ID = "unknown_id"

    def __str__(self) -> str:
        return self.value


class WireError(ValueError):
    """Base of all errors about messages.

    Attributes:
        reason: the stable :class:`Reason`.
        offset: byte offset of the fault in the UTF-8 form of the input, or None where there is no input (encoding).
        line: 1-based line of that byte, or None.
        wire: name of the wire ("nslip", "csp", ...), or None.
        path: JSON pointer or field path of the fault, or None.
        text: the explanation alone, without reason and position.
    """

    def __init__(
        self,
        reason: Reason,
        text: str = "",
        *,
        offset: int | None = None,
        line: int | None = None,
        wire: str | None = None,
        path: str | None = None,
    ) -> None:
        self.reason = reason
        self.text = text
        self.offset = offset
        self.line = line
        self.wire = wire
        self.path = path
        super().__init__(self._render())

    def _render(self) -> str:
        place = ""
        if self.offset is not None:
            place = f" at byte {self.offset}"
            if self.line is not None:
                place += f", line {self.line}"
        elif self.line is not None:
            place = f" at line {self.line}"
        if self.path:
            place += f" in {self.path}"
        head = f"{self.wire}: " if self.wire else ""
        tail = f": {self.text}" if self.text else ""
        return f"{head}{self.reason}{place}{tail}"

    def relocated(self) -> WireError:
        """This error with its text made anew, after a reader higher up has corrected a position."""
        self.args = (self._render(),)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        place = {"offset": self.offset, "line": self.line, "wire": self.wire, "path": self.path}
        return _rebuild, (type(self), self.reason, self.text, place, dict(self.__dict__))


def _rebuild(
    cls: type[WireError], reason: Reason, text: str, place: dict[str, Any], state: dict[str, Any]
) -> WireError:
    error = cls(reason, text, **place)
    error.__dict__.update(state)
    return error


class DecodeError(WireError):
    """The bytes are no message of the wire."""


class EncodeError(WireError):
    """The message cannot be written."""


class RuleError(WireError):
    """A rule of the protocol is broken; ``rule`` names it."""

    def __init__(self, reason: Reason, text: str = "", *, rule: str | None = None, **place: Any) -> None:
        self.rule = rule
        super().__init__(reason, text, **place)


class MissingDependency(ImportError):
    """An optional package is not installed; the text names the extra that brings it."""


class Issue(NamedTuple):
    """What lenient reading forgave, or what ``check`` found.

    ``where`` is a line (int) for text wires and a JSON pointer (str) for JSON wires; ``severity`` is "warning"
    (strict writing refuses it) or "info" (may well be fine).
    """

    reason: Reason
    where: int | str
    severity: str
    text: str
