"""The exceptions of turnwire, and the closed list of their reasons.

Every error includes a stable :class:`Reason`, the position (``offset``: a 0-based byte in the UTF-8 form of the input;
``line``: 1-based) and the wire. Native and pure code raise the same values for the same input.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from operator import index

TYPE_CHECKING: bool = False
"""Type checkers take this name for true. Here and in whatever else ``import turnwire`` loads it is not that of
``typing``, whose import alone costs a quarter of it."""
if TYPE_CHECKING:
    from types import UnionType
    from typing import Any, NamedTuple
else:

    class _Maker(type):
        """Makes a named tuple of a class body: annotated names are the fields, what they are assigned the defaults."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                if key not in ("__module__", "__qualname__"):
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """``typing.NamedTuple``, as far as it is used here and in ``contract``."""


Reason = StrEnum(
    "Reason",
    # Any wire
    "WRONG_TYPE BAD_UTF8 LONE_SURROGATE MESSAGE_TOO_LARGE TOO_DEEP TOO_MANY_FIELDS KEY_TOO_LONG NUMBER_TOO_LONG "
    "BUFFER_FULL RATIO_TOO_HIGH WINDOW_TOO_LARGE UNKNOWN_WIRE UNKNOWN_NAME MISSING_FIELD MISMATCH LOOK_ALIKE "
    "UNKNOWN_KEY "
    # Where bytes come from: compressed streams, and files that a scan goes on with
    "BAD_COMPRESSION FILE_SHRUNK FILE_REPLACED FILE_GONE BAD_POSITION FILE_CHANGED BLOCK_OPEN "
    # Binary forms of nSLIP
    "BAD_ENCODING UNSUPPORTED_VERSION "
    # nSLIP
    "BAD_FRAMING EMPTY_MESSAGE EMPTY_FIELD UNKNOWN_PREFIX EMPTY_VALUE BAD_DIGIT TOO_LARGE UNTERMINATED_STRING "
    "BAD_ESCAPE JUNK_AFTER_STRING DUPLICATE UNKNOWN_ACT UNKNOWN_FRAME UNKNOWN_SLOT NEGATIVE TRAILING_JUNK "
    "NEWLINE_IN_STRING LONG_STRING "
    # JSON text (the JSON wires: SSTP, SAP, KickLang envelopes)
    "NOT_OBJECT DUP_KEY BAD_JSON BAD_NUMBER NOT_FINITE CUT_OFF CONTROL_CHARACTER CODE_FENCE PROSE BOM "
    # KickLang: Space Format
    "NO_SECTIONS EMPTY_HEADER BAD_HEADER LEADING_SPACE TRAILING_SPACE NESTED_SIGIL SPACE_IN_QUALIFIER SIGIL_IN_BODY "
    "UNCLOSED_FENCE LONE_RETURN TRAILING_BLANK INDEX_GAP DUPLICATE_SECTION "
    # KickLang: envelopes
    "MISSING_ID MISSING_TIMESTAMP MISSING_SENDER MISSING_RECEIVER MISSING_TYPE MISSING_CHANNEL MISSING_CONTENT "
    "MISSING_CORRELATION_ID BAD_TYPE_ID BAD_TYPE_TIMESTAMP BAD_TYPE_SENDER BAD_TYPE_RECEIVER BAD_TYPE_TYPE "
    "BAD_TYPE_CHANNEL BAD_TYPE_CONTENT BAD_TYPE_CORRELATION_ID BAD_ENUM_TYPE BAD_CHANNEL ID_NOT_UUID4 "
    "CORRELATION_ID_NOT_UUID4 BAD_TIMESTAMP UNKNOWN_ROLE UNKNOWN_CHANNEL_FAMILY CHANNEL_NOT_ALLOWED "
    "TYPE_CHANNEL_MISMATCH ROLE_NOT_ALLOWED RECEIVER_NOT_ALLOWED CONTENT_NOT_SPACE BAD_POLICY UNKNOWN_STATUS "
    # CSP/1: reading
    "NO_MESSAGE BAD_MAGIC JUNK MISSING_FROM MISSING_TO MISSING_CTX MISSING_INTENT HEADER_ORDER DUP_HEADER "
    "BAD_HEADER_VALUE BAD_HEADER_LINE BAD_INTENT INTENT_ALIAS NO_BODY BLOCK_MISMATCH BAD_ID MISSING_OP BAD_OP "
    "OP_MISMATCH MISSING_REQ MISSING_STATUS MISSING_AT MISSING_CAUSE MISSING_PATH MISSING_BASE MISSING_APPLY BAD_BASE "
    "BAD_APPLY BAD_ENUM DUP_FIELD STRAY_LINE CONTINUED TRAILING_TEXT UNCLOSED_HEREDOC INSIDE_UNCLOSED_HEREDOC "
    "HEREDOC_EXPECTED BAD_RANGE "
    # CSP/1: state
    "CTX_UNKNOWN PATCH_ID_REUSED BASE_NOT_HEAD CHECKPOINT_EXISTS CHECKPOINT_UNKNOWN DEF_EXISTS DEF_MISSING "
    "OP_CONFLICT DIGEST_MISMATCH "
    # CSP/1: token rules, laws and file operations
    "RESTATE EXPANDED UNDEF CTX_STALE NO_TASK DUP_RESULT FILLER FULL_REWRITE SYNONYM UNKNOWN_OP "
    "UNSAFE_PATH FILE_EXISTS FILE_MISSING NOT_A_FILE BASE_MISMATCH BAD_DIFF DIFF_MISMATCH "
    # SSTP
    "UNKNOWN_KIND OUT_OF_RANGE SCHEMA_MISMATCH ADDRESSEE_CONFLICT PLACEHOLDER "
    # SSTP sessions
    "CLOCK_GAP CLOCK_REPEAT CLOCK_BACK OUT_OF_TURN SESSION_MISMATCH UNKNOWN_ACTOR UNKNOWN_ADDRESSEE IDENTITY_MISMATCH "
    "ACKNOWLEDGEMENT DOUBTFUL_ACKNOWLEDGEMENT ECHO "
    # The ledger
    "BAD_LEDGER LEDGER_BROKEN BAD_CHECKPOINT APPEND_CONFLICT "
    # SAP V2.0
    "UNKNOWN_VALUE BAD_UUID TIMESTAMP_FORM BAD_DIGEST MISSING_MESSAGE STATUS_CONFLICT NO_NEXT_ACTIONS UNKNOWN_CODE "
    "WRONG_TASK WRONG_CORRELATION BAD_TRANSITION OUTPUT_MISMATCH BAD_SCHEMA SECRET CREDENTIALS_IN_URI UNUSUAL_URI "
    "UNKNOWN_TASK BAD_SIGNAL BAD_SIGNATURE "
    # Conversion between wires
    "BAD_CONTEXT NO_EXTENSION NO_COUNTERPART NOT_CONFORMING BAD_CARRY",
)
"""Reasons why something is refused. The value is the stable string; names are the same in capitals."""


class WireError(ValueError):
    """Base of all errors about messages.

    Attributes:
        reason: the stable :class:`Reason`.
        offset: byte offset of the fault in the UTF-8 form of the input, or None if there is no input (encoding).
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

    def __reduce__(self) -> tuple[Any, ...]:
        place: dict[str, Any] = {"offset": self.offset, "line": self.line, "wire": self.wire, "path": self.path}
        return partial(type(self), **place), (self.reason, self.text), dict(self.__dict__)


class DecodeError(WireError):
    """The bytes are not messages of the wire.

    pending: in an error of a :class:`turnwire.Decoder`, the number of messages before the fault, which the next call
    returns. raw: the damaged bytes, if found in a stream or a log.
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
    """A message cannot be converted to the target wire; ``missing`` names every field that prevents it.

    ``wire`` is the target, and the fields are the target's; with the reasons no_extension and no_counterpart they
    are the source's. ``known``: fields that cannot express the source's value, with that value. With
    no_counterpart, ``there`` lists the target's kinds of message, and ``nearest`` is the one that ``nearest=True``
    would use, or None.
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
    """A call to another agent returned no usable Result. This is the base class of the errors that clients raise for
    answers."""


class Unreachable(CallError, ConnectionError):
    """No agent was reachable, or the connection was lost; the task may have been accepted."""


class Unanswered(CallError, TimeoutError):
    """No answer arrived in time; the task may have been accepted."""


class BadAnswer(CallError):
    """The answer cannot be used: it is unreadable, too large, or from another task, correlation or producer."""


class NotFlushed(OSError):
    """A file or directory was written under its name, but the system could not flush the name to disk, so it may be
    lost in a power failure. ``errno`` is that of the system, ``filename`` that of the written file. If a CSP/1 file
    operation raises it, the operation was applied."""


class FileRefused(UserWarning):
    """A file in a folder, glob or archive was skipped because it is not a log or cannot be read.

    Attributes:
        error: the OSError that the same file raises if it is named directly.
    """

    def __init__(self, error: OSError) -> None:
        self.error = error
        super().__init__(str(error.filename), error.strerror)

    def __str__(self) -> str:
        return f"{self.error.filename}: {self.error.strerror}"


class UnknownName(ValueError):
    """An argument names an unknown wire, column, format or mode. This is a mistake of the caller, not a fault of a
    message, so it is not a WireError.

    Attributes:
        reason: unknown_wire for the name of a wire, unknown_name for any other.
        what: the kind of name ("wire", "column", "mode", ...).
        name: the given name.
        known: the known names.
        nearest: the one that was probably meant, or None.
        wires: for a column that only scans of some wires have, those wires.
        text: the explanation without the guess.
    """

    def __init__(
        self, what: str, name: object, known: Iterable[str] = (), text: str = "", *, wires: Sequence[str] = ()
    ) -> None:
        self.what, self.name, self.known, self.wires = what, name, tuple(known), tuple(wires)
        self.reason = Reason.UNKNOWN_WIRE if what == "wire" else Reason.UNKNOWN_NAME
        self.text = text or f"{what} must be {either(self.known)}, not {name!r}"
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
        return partial(type(self), wires=self.wires), (self.what, self.name, self.known, self.text)


class UnknownKey(UnknownName, KeyError):
    """An :class:`UnknownName` that is also a KeyError, for look-ups such as ``batch["sorce"]``."""


def either(names: Sequence[str]) -> str:
    """Joins names as text: a, b or c."""
    *first, last = names or ("nothing",)
    return f"{', '.join(first)} or {last}" if first else last


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Returns the known name that was probably meant, or None."""
    if not isinstance(name, str) or len(name) > 100:  # comparing takes the square of the length
        return None
    from difflib import get_close_matches

    small = {one.lower(): one for one in known}
    found = get_close_matches(name.lower(), small, 1, 0.65)
    return small[found[0]] if found else None


class MissingDependency(ImportError):
    """An optional package is not installed; the text names the extra that brings it."""


class needs:
    """Raises MissingDependency if an import in its block fails: ``with needs("sign", "signatures need cryptography"):``
    tells of the extra ``sign``."""

    def __init__(self, extra: str, text: str) -> None:
        self.text = f"{text}: pip install 'turnwire[{extra}]'"

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ImportError):
            raise MissingDependency(self.text, name=error.name) from error


def expect(value: object, kind: type | UnionType | tuple[type, ...], needed: str, wire: str = "") -> None:
    """Rejects an argument of the wrong type: TypeError("expected a SAP task, not int"). ``needed`` is the expected type
    in that text. Where it is a message of ``wire``, raises EncodeError(wrong_type)."""
    if not isinstance(value, kind):
        text = f"{needed}, not {type(value).__name__}"
        raise EncodeError(Reason.WRONG_TYPE, text, wire=wire) if wire else TypeError(text)


def expect_one_of(value: Any, what: str, known: Iterable[str]) -> None:
    """Raises UnknownName("mode is strict or lenient, not 'lax'") for an unknown name."""
    names = tuple(known)
    if value not in names:
        raise UnknownName(what, value, names)


def expect_number(value: Any, name: str, least: int | None = None, most: int | None = None) -> int:
    """Requires a whole number, at least ``least`` and at most ``most`` if these are given. Raises TypeError or
    ValueError("threads is 1 to 64, not 0"); a bool is not a number."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}")
    number = index(value)
    if least is not None and (number < least or (most is not None and number > most)):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name} must be {bounds}, not {number}")
    return number


class Issue(NamedTuple):
    """A fault that lenient reading accepted, or an issue found by ``check``.

    ``where`` is a line (int) for text wires and a JSON pointer (str) for JSON wires; ``severity`` is "warning" (strict
    writing rejects it) or "info" (may be fine); session monitors also use "error" (a rule is violated; a strict monitor
    raises it).
    """

    reason: Reason
    where: int | str
    severity: str
    text: str
