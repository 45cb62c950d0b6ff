"""What a wire is, the limits, and the shapes that the two backends share.

Nothing of turnwire is imported here but the errors: protocols plug in by name (``WIRE_PACKAGES``) and by the shape
of their package (:class:`Wire`), so that a new wire changes no code outside its own rooms.
"""

from __future__ import annotations

from importlib import import_module

from turnwire.errors import DecodeError, Issue, Reason, expect_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any, NamedTuple, Protocol

    from typing_extensions import Buffer
else:
    from turnwire._light import NamedTuple, Protocol

WIRES = ("nslip", "csp", "sstp", "sap", "kick")
"""Names of the five wires, in the order in which they are tried."""

WIRE_PACKAGES: Mapping[str, str] = {
    "nslip": "turnwire.nslip",
    "csp": "turnwire.csp",
    "sstp": "turnwire.sstp",
    "sap": "turnwire.sap",
    "kick": "turnwire.kick",
}

ALWAYS_STRICT = frozenset({"nslip"})
"""Wires whose reading forgives nothing: ``strict=False`` has nothing to write differently."""


class Limits(NamedTuple):
    """Bounds on what is read; each has a reason of its own (named behind it). Sizes are bytes."""

    message: int = 16 << 20  # message_too_large
    nesting: int = 128  # too_deep
    fields: int = 256  # too_many_fields
    key: int = 64 << 10  # key_too_long
    integer_digits: int = 4300  # number_too_long
    feed_buffer: int = 32 << 20  # buffer_full
    ratio: int = 200  # ratio_too_high, once past ratio_from
    ratio_from: int = 64 << 20
    zstd_window: int = 8 << 20  # window_too_large


LIMITS = Limits()
"""The default limits. Pass ``LIMITS._replace(message=...)`` where an API takes ``limits=``."""

MOST_LIMIT = 1 << 62
"""No limit at all; the cores add places to limits, in 64 bits."""


def checked_limits(limits: object) -> Limits:
    """What was given as ``limits=``. Raises TypeError where that is something else, or one of them no whole number, and
    ValueError where one is out of all bounds."""
    if not isinstance(limits, Limits):
        kind = type(limits).__name__
        raise TypeError(f"limits is a turnwire.Limits such as turnwire.LIMITS._replace(message=...), not {kind}")
    if limits is not LIMITS:
        for name, value in zip(limits._fields, limits, strict=True):
            if type(value) is not int or not 0 <= value <= MOST_LIMIT:
                expect_number(value, f"limits.{name}", 0, MOST_LIMIT)
    return limits


class Column(NamedTuple):
    """One column of a bulk scan.

    kind: "u64", "i64", "u8", "f64", "bool", "enum" (u8 codes into ``names``), "timestamp" (int64 microseconds, UTC) or
    "text".
    nullable: whether a record may lack it. names: for an enum, the names in the order of their codes.
    """

    name: str
    kind: str
    nullable: bool = False
    names: tuple[str, ...] = ()


class MessageStream(Protocol):
    """What a wire gives to :class:`turnwire.Decoder` (``<package>.stream(unknown=, limits=)``)."""

    def write(self, data: Buffer, /) -> None:
        """Takes bytes. Raises DecodeError(buffer_full) and takes nothing when too much would be held."""

    def end(self) -> None:
        """Nothing follows."""

    def read(self) -> Any | None:
        """The next message, or None when there is no complete one. Raises DecodeError at a damaged one, once."""


class Wire(Protocol):
    """The shape of a protocol package (``turnwire.nslip`` and its siblings)."""

    def detect(self, data: str | Buffer, /) -> bool:
        """Whether one record looks like this wire; False for what is neither text nor bytes. Cheap; never raises."""

    def decode(self, data: str | Buffer, /) -> Any:
        """One message from text, strictly. Raises DecodeError."""

    def encode(self, message: Any, /) -> str:
        """The canonical text of one message. Raises EncodeError."""

    def check(self, message: Any, /) -> list[Issue]:
        """What is doubtful about a message."""


def record_bytes(data: object) -> bytes | None:
    """Text (as UTF-8) or a bytes-like object as bytes, or None for what is neither. Never raises."""
    if type(data) is bytes:
        return data
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    try:
        return memoryview(data).tobytes()  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):  # no buffer; one that was released, or cannot be had
        return None


def wire_package(name: str) -> ModuleType:
    """The package of a wire by its name. Raises DecodeError(unknown_wire) for a name that is none."""
    if name not in WIRES:  # a tuple, in which anything at all may be looked for
        known = ", ".join(WIRES)
        raise DecodeError(Reason.UNKNOWN_WIRE, f"{name!r} is no wire; the wires are {known}")
    try:
        return import_module(WIRE_PACKAGES[name])
    except ModuleNotFoundError as missing:
        if missing.name != WIRE_PACKAGES[name]:
            raise
        raise DecodeError(
            Reason.UNKNOWN_WIRE, f"this version of turnwire does not read {name} yet", wire=name
        ) from None


COMMON = (
    Column("wire", "enum", names=WIRES),
    Column("kind", "enum", nullable=True),  # the names are the wire's own
    Column("sender", "text", nullable=True),
    Column("receiver", "text", nullable=True),
    Column("conversation", "text", nullable=True),
    Column("sequence", "i64", nullable=True),
    Column("time", "timestamp", nullable=True),
    Column("subject", "text", nullable=True),
)
"""What any record can have, whatever its wire, beside its place (``turnwire.log.output.batch.POSITIONS``)."""


class Packed(NamedTuple):
    """Texts that the core writes as one compact row a record, since each record has few of the wire's texts.

    array: the name of that array among those that ``scan`` fills; dtype: of its rows. spans: (rows, text column) ->
    (offsets, lengths) of the spans as i64 arrays, (0, 0) where a record has no such text. move: (rows, distances) adds
    one distance (i64) to all places of each row.
    """

    array: str
    dtype: str
    spans: Callable[[Any, str], tuple[Any, Any]]
    move: Callable[[Any, Any], None]


class BulkScanner(NamedTuple):
    """How a wire is scanned in bulk: what ``turnwire.nslip.bulk.SCANNER`` and its siblings are.

    columns: the wire's own columns. Each is one array of its dtype but for text, which is two i64 arrays
    ``name.offset`` and ``name.length`` (a span of the scanned buffer, as written) unless ``packed`` says otherwise.
    present: dtype of the array ``present``, a bit mask a row; bits: column -> its bit there (nullable columns);
    escaped: text column -> the bit that says that its span holds escapes; plain: one such span without its escapes.
    smallest: bytes of the shortest record. reasons: the reason of each reject code.
    scan: the core's ``scan_block`` (see _native/nslip/scan.pyi). decode: one record's bytes -> its message.
    state: makes what ``scan`` carries from block to block of one input (its argument ``state=``); None where a block
    needs nothing of the one before. common: column that any wire has (``COMMON``) -> how it comes from this wire's own:
    ("column", name) the same under another name, ("number", name) a number as decimal text; one that is not listed is
    null. ``time`` comes from the head of the log line where the record has none. json: whether texts are insides of
    JSON strings, so that ``plain`` has a form for many of them at once. spans_lines: whether a record may go over
    several lines, so that a block that ends with a line may still cut one; where it may not, such a block needs nothing
    of the one before, and any thread can scan it. opens: a line that ends what is open, and with which a record begins:
    blocks end in front of one where they can. follows: (state, left, block) -> whether what was found in a block with a
    fresh state, which left ``left``, is what is found with ``state``; ``left`` becomes what that leaves. Without it a
    wire that spans lines is scanned in order. packed: where texts have no arrays of their own.
    """

    wire: str
    columns: tuple[Column, ...]
    present: str
    bits: Mapping[str, int]
    escaped: Mapping[str, int]
    plain: Callable[[bytes], bytes]
    smallest: int
    reasons: tuple[Reason | None, ...]
    scan: Callable[..., tuple[int, int, int, int]]
    decode: Callable[..., Any]
    state: Callable[[], Any] | None = None
    common: Mapping[str, tuple[str, str]] = {}
    json: bool = False
    spans_lines: bool = False
    opens: bytes = b""
    follows: Callable[[Any, Any, memoryview], bool] | None = None
    packed: Packed | None = None


def bulk_scanner(name: str) -> BulkScanner:
    """What the bulk scan needs to know of a wire. Raises DecodeError(unknown_wire) where it cannot be scanned."""
    package = wire_package(name)
    try:
        scanner: BulkScanner = import_module(f"{package.__name__}.bulk").SCANNER
    except ModuleNotFoundError as missing:
        if missing.name != f"{package.__name__}.bulk":
            raise
        text = f"this version of turnwire does not scan {name} yet"
        raise DecodeError(Reason.UNKNOWN_WIRE, text, wire=name) from None
    return scanner
