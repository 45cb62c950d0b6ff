"""The only exceptions of turnwire, and the closed list of reasons they carry.

Every refusal says *why* (a stable :class:`Reason`), *where* (``offset``: a 0-based byte in the UTF-8 form of the
input; ``line``: 1-based) and in *which wire*. Native and pure code raise the same values for the same input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from operator import index

TYPE_CHECKING = False
"""Type checkers take this name for true. Here and in whatever else ``import turnwire`` loads it is not that of
``typing``, whose import costs too much (see _light.py)."""
if TYPE_CHECKING:
    from types import UnionType
    from typing import Any, NamedTuple
else:
    from turnwire._light import NamedTuple


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
    UNKNOWN_NAME = "unknown_name"
    MISSING_FIELD = "missing_field"
    MISMATCH = "mismatch"
    LOOK_ALIKE = "look_alike"
    UNKNOWN_ID = "unknown_id"
    UNKNOWN_KEY = "unknown_key"
    # Where bytes come from: compressed streams, and files that a scan goes on with
    BAD_COMPRESSION = "bad_compression"
    FILE_SHRUNK = "file_shrunk"
    FILE_REPLACED = "file_replaced"
    FILE_GONE = "file_gone"
    BAD_POSITION = "bad_position"
    FILE_CHANGED = "file_changed"
    BLOCK_OPEN = "block_open"
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
    # KickLang: Space Format
    NO_SECTIONS = "no_sections"
    EMPTY_HEADER = "empty_header"
    BAD_HEADER = "bad_header"
    LEADING_SPACE = "leading_space"
    TRAILING_SPACE = "trailing_space"
    NESTED_SIGIL = "nested_sigil"
    SPACE_IN_QUALIFIER = "space_in_qualifier"
    SIGIL_IN_BODY = "sigil_in_body"
    UNCLOSED_FENCE = "unclosed_fence"
    LONE_RETURN = "lone_return"
    TRAILING_BLANK = "trailing_blank"
    INDEX_GAP = "index_gap"
    DUPLICATE_SECTION = "duplicate_section"
    # KickLang: envelopes
    MISSING_ID = "missing_id"
    MISSING_TIMESTAMP = "missing_timestamp"
    MISSING_SENDER = "missing_sender"
    MISSING_RECEIVER = "missing_receiver"
    MISSING_TYPE = "missing_type"
    MISSING_CHANNEL = "missing_channel"
    MISSING_CONTENT = "missing_content"
    MISSING_CORRELATION_ID = "missing_correlation_id"
    BAD_TYPE_ID = "bad_type_id"
    BAD_TYPE_TIMESTAMP = "bad_type_timestamp"
    BAD_TYPE_SENDER = "bad_type_sender"
    BAD_TYPE_RECEIVER = "bad_type_receiver"
    BAD_TYPE_TYPE = "bad_type_type"
    BAD_TYPE_CHANNEL = "bad_type_channel"
    BAD_TYPE_CONTENT = "bad_type_content"
    BAD_TYPE_CORRELATION_ID = "bad_type_correlation_id"
    BAD_ENUM_TYPE = "bad_enum_type"
    BAD_CHANNEL = "bad_channel"
    ID_NOT_UUID4 = "id_not_uuid4"
    CORRELATION_ID_NOT_UUID4 = "correlation_id_not_uuid4"
    BAD_TIMESTAMP = "bad_timestamp"
    UNKNOWN_ROLE = "unknown_role"
    UNKNOWN_CHANNEL_FAMILY = "unknown_channel_family"
    CHANNEL_NOT_ALLOWED = "channel_not_allowed"
    TYPE_CHANNEL_MISMATCH = "type_channel_mismatch"
    ROLE_NOT_ALLOWED = "role_not_allowed"
    RECEIVER_NOT_ALLOWED = "receiver_not_allowed"
    CONTENT_NOT_SPACE = "content_not_space"
    BAD_POLICY = "bad_policy"
    UNKNOWN_STATUS = "unknown_status"
    # CSP/1: reading
    NO_MESSAGE = "no_message"
    BAD_MAGIC = "bad_magic"
    JUNK = "junk"
    MISSING_FROM = "missing_from"
    MISSING_TO = "missing_to"
    MISSING_CTX = "missing_ctx"
    MISSING_INTENT = "missing_intent"
    HEADER_ORDER = "header_order"
    DUP_HEADER = "dup_header"
    BAD_HEADER_VALUE = "bad_header_value"
    BAD_HEADER_LINE = "bad_header_line"
    BAD_INTENT = "bad_intent"
    INTENT_ALIAS = "intent_alias"
    NO_BODY = "no_body"
    BLOCK_MISMATCH = "block_mismatch"
    BAD_ID = "bad_id"
    MISSING_OP = "missing_op"
    BAD_OP = "bad_op"
    OP_MISMATCH = "op_mismatch"
    MISSING_REQ = "missing_req"
    MISSING_STATUS = "missing_status"
    MISSING_AT = "missing_at"
    MISSING_CAUSE = "missing_cause"
    MISSING_PATH = "missing_path"
    MISSING_BASE = "missing_base"
    MISSING_APPLY = "missing_apply"
    BAD_BASE = "bad_base"
    BAD_APPLY = "bad_apply"
    BAD_ENUM = "bad_enum"
    DUP_FIELD = "dup_field"
    STRAY_LINE = "stray_line"
    CONTINUED = "continued"
    TRAILING_TEXT = "trailing_text"
    UNCLOSED_HEREDOC = "unclosed_heredoc"
    INSIDE_UNCLOSED_HEREDOC = "inside_unclosed_heredoc"
    HEREDOC_EXPECTED = "heredoc_expected"
    BAD_RANGE = "bad_range"
    # CSP/1: state
    CTX_UNKNOWN = "ctx_unknown"
    PATCH_ID_REUSED = "patch_id_reused"
    BASE_NOT_HEAD = "base_not_head"
    CHECKPOINT_EXISTS = "checkpoint_exists"
    CHECKPOINT_UNKNOWN = "checkpoint_unknown"
    DEF_EXISTS = "def_exists"
    DEF_MISSING = "def_missing"
    OP_CONFLICT = "op_conflict"
    DIGEST_MISMATCH = "digest_mismatch"
    # CSP/1: token rules, laws and file operations
    RESTATE = "restate"
    EXPANDED = "expanded"
    UNDEF = "undef"
    CTX_STALE = "ctx_stale"
    NO_TASK = "no_task"
    DUP_RESULT = "dup_result"
    FILLER = "filler"
    FULL_REWRITE = "full_rewrite"
    SYNONYM = "synonym"
    LAW_BROKEN = "law_broken"
    UNKNOWN_OP = "unknown_op"
    UNSAFE_PATH = "unsafe_path"
    FILE_EXISTS = "file_exists"
    FILE_MISSING = "file_missing"
    NOT_A_FILE = "not_a_file"
    BASE_MISMATCH = "base_mismatch"
    BAD_DIFF = "bad_diff"
    DIFF_MISMATCH = "diff_mismatch"
    # SSTP
    UNKNOWN_KIND = "unknown_kind"
    OUT_OF_RANGE = "out_of_range"
    SCHEMA_MISMATCH = "schema_mismatch"
    ADDRESSEE_CONFLICT = "addressee_conflict"
    PLACEHOLDER = "placeholder"
    # SSTP sessions
    CLOCK_GAP = "clock_gap"
    CLOCK_REPEAT = "clock_repeat"
    CLOCK_BACK = "clock_back"
    OUT_OF_TURN = "out_of_turn"
    SESSION_MISMATCH = "session_mismatch"
    UNKNOWN_ACTOR = "unknown_actor"
    UNKNOWN_ADDRESSEE = "unknown_addressee"
    IDENTITY_MISMATCH = "identity_mismatch"
    ACKNOWLEDGEMENT = "acknowledgement"
    DOUBTFUL_ACKNOWLEDGEMENT = "doubtful_acknowledgement"
    ECHO = "echo"
    # The ledger
    BAD_LEDGER = "bad_ledger"
    LEDGER_BROKEN = "ledger_broken"
    BAD_CHECKPOINT = "bad_checkpoint"
    APPEND_CONFLICT = "append_conflict"
    # SAP V2.0
    UNKNOWN_VALUE = "unknown_value"
    BAD_UUID = "bad_uuid"
    TIMESTAMP_FORM = "timestamp_form"
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
    BAD_SIGNATURE = "bad_signature"
    # Conversion between wires
    BAD_CONTEXT = "bad_context"
    NO_EXTENSION = "no_extension"
    NO_COUNTERPART = "no_counterpart"
    NOT_CONFORMING = "not_conforming"
    BAD_CARRY = "bad_carry"

    __str__ = str.__str__  # as of ``StrEnum``: what is told of a refusal comes by here several times
    __format__ = str.__format__  # type: ignore[assignment]


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
        super().__init__(text)

    def __str__(self) -> str:
        """The whole text, made on request: a log of refusals needs the parts alone."""
        head = f"{self.wire}: " if self.wire else ""
        tail = f": {self.text}" if self.text else ""
        return f"{head}{self.reason}{self._place()}{tail}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def _place(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        if self.line is not None:
            place += f", line {self.line}" if place else f" at line {self.line}"
        if self.path:
            place += f" in {self.path}"
        return place

    def relocated(self) -> WireError:
        """This error, after a reader higher up has corrected a position: its text follows."""
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
    """The bytes are not messages of the wire.

    pending: of an error that a :class:`turnwire.Decoder` raised, how many messages were in front of the fault; they
    come with the next call. raw: the damaged range itself, where it was found in a stream or a log.
    """

    pending: int = 0
    raw: bytes | None = None


class EncodeError(WireError):
    """The message cannot be written."""


class RuleError(WireError):
    """A rule of the protocol is broken; ``rule`` names it."""

    def __init__(self, reason: Reason, text: str = "", *, rule: str | None = None, **place: Any) -> None:
        self.rule = rule
        super().__init__(reason, text, **place)


class ConvertError(WireError):
    """A message has no form in the wire it should go to; ``missing`` names every field that prevents it.

    ``wire`` is the target, and the fields are its own; with the reasons no_extension and no_counterpart they are the
    source's. ``known``: those of them that cannot say what the source says, with that fact. With no_counterpart,
    ``there`` has the kinds of message that the target has, and ``nearest`` the one that ``nearest=True`` would take, or
    None.
    """

    def __init__(
        self,
        reason: Reason,
        text: str = "",
        *,
        missing: Sequence[str] = (),
        known: Mapping[str, Any] | None = None,
        there: Sequence[str] = (),
        nearest: str | None = None,
        **place: Any,
    ) -> None:
        self.missing = tuple(missing)
        self.known = dict(known or {})
        self.there = tuple(there)
        self.nearest = nearest
        super().__init__(reason, text, **place)

    def _place(self) -> str:
        """Nothing where the text names the field already, as one that lists all of them does."""
        named = self.text.replace(":", " ").replace(",", " ").split()
        return "" if self.path in named else super()._place()


class CallError(Exception):
    """A call to another agent gave no usable Result. The base of all that clients raise for answers."""


class Unreachable(CallError, ConnectionError):
    """Nobody was reached, or the connection was lost: the task may have been accepted."""


class Unanswered(CallError, TimeoutError):
    """There was no answer in time: the task may have been accepted."""


class BadAnswer(CallError):
    """The answer cannot be used: unreadable, too large, or of another task, correlation or producer than was asked."""


class NotFlushed(OSError):
    """A file or a directory is written and has its name, but the system could not flush that name to the disk: all see
    it now, and a loss of power may undo it. ``errno`` is the system's, ``filename`` what was written. Where a file
    operation of CSP/1 raises it, the operation is done."""


class FileRefused(UserWarning):
    """A file of a folder, of what a glob matches or of an archive was not read, as it is no log: the rest was.

    Attributes:
        error: the OSError with which the same file is refused where it is named itself.
    """

    def __init__(self, error: OSError) -> None:
        self.error = error
        super().__init__(str(error.filename), error.strerror)

    def __str__(self) -> str:
        return f"{self.error.filename}: {self.error.strerror}"


class UnknownName(ValueError):
    """An argument names what is not there: a wire, a column, a format, a mode. That is a mistake of the caller, not a
    fault of a message, and ``except WireError`` does not take it.

    Attributes:
        reason: unknown_wire for the name of a wire, unknown_name for any other.
        what: what was to be named ("wire", "column", "mode", ...).
        name: the name that was given.
        known: the names there are.
        nearest: the one of them that was probably meant, or None.
        wires: for a column that a scan has only where one of these wires is named: those wires.
        text: the explanation without the guess.
    """

    def __init__(
        self, what: str, name: object, known: Iterable[str] = (), text: str = "", *, wires: Sequence[str] = ()
    ) -> None:
        self.what, self.name, self.known, self.wires = what, name, tuple(known), tuple(wires)
        self.reason = Reason.UNKNOWN_WIRE if what == "wire" else Reason.UNKNOWN_NAME
        self.text = text or f"{what} is {either(self.known)}, not {name!r}"
        super().__init__(self.text)

    @property
    def nearest(self) -> str | None:
        """The known name that was probably meant, or None."""
        return nearest(self.name, self.known)

    def __str__(self) -> str:
        if self.wires:
            named = " or ".join(f"wire={wire!r}" for wire in self.wires)
            return f"{self.text}; with {named} there is one"
        return self.text if self.nearest is None else f"{self.text}; did you mean {self.nearest!r}?"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unknown_name, (type(self), self.what, self.name, self.known, self.text, self.wires)


class UnknownKey(UnknownName, KeyError):
    """An :class:`UnknownName` in square brackets: ``batch["sorce"]``."""


def _unknown_name(cls: type[UnknownName], *values: Any) -> UnknownName:
    *first, wires = values
    return cls(*first, wires=wires)


def either(names: Sequence[str]) -> str:
    """The names as words: a, b or c."""
    *first, last = names or ("nothing",)
    return f"{', '.join(first)} or {last}" if first else last


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The one of the known names that was probably meant by another one, or None."""
    if not isinstance(name, str) or len(name) > 100:  # comparing takes the square of the length
        return None
    from difflib import get_close_matches

    small = {one.lower(): one for one in known}
    found = get_close_matches(name.lower(), small, 1, 0.65)
    return small[found[0]] if found else None


class MissingDependency(ImportError):
    """An optional package is not installed; the text names the extra that brings it."""


def expect(value: object, kind: type | UnionType | tuple[type, ...], needed: str) -> None:
    """Refuses an argument of the wrong type: TypeError("a SAP message is checked, not int").

    ``needed`` is the first half of that sentence. What reads text or writes messages raises DecodeError or EncodeError
    with the reason wrong_type instead, as for any other input.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{needed}, not {type(value).__name__}")


def expect_one_of(value: Any, what: str, known: Iterable[str]) -> None:
    """Raises UnknownName("mode is strict or lenient, not 'lax'") for what is none of the known names."""
    names = tuple(known)
    if value not in names:
        raise UnknownName(what, value, names)


def expect_number(value: Any, name: str, least: int | None = None, most: int | None = None) -> int:
    """A whole number, from ``least`` on where that is given, and up to ``most`` where that is, too. Raises TypeError or
    ValueError("threads is 1 to 64, not 0"); a bool is not a number."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not {type(value).__name__}")
    number = index(value)
    if least is not None and (number < least or (most is not None and number > most)):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name} is {bounds}, not {number}")
    return number


class Issue(NamedTuple):
    """A fault that lenient reading forgave, or a doubt that ``check`` found.

    ``where`` is a line (int) for text wires and a JSON pointer (str) for JSON wires; ``severity`` is "warning"
    (strict writing refuses it) or "info" (may well be fine); session monitors also say "error" (a rule is broken;
    a strict monitor raises it).
    """

    reason: Reason
    where: int | str
    severity: str
    text: str
