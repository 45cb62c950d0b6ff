"""What a wire is, the limits, and the shapes that the two backends share.

Nothing of turnwire is imported here but the errors: each protocol says what it is in one object (:class:`Wire`), which
``turnwire.registry`` finds, so that a new wire changes no code outside its own room.
"""

from __future__ import annotations

from importlib import import_module

from turnwire.errors import Reason, expect_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from re import Pattern
    from typing import Any, NamedTuple, Protocol

    from typing_extensions import Buffer

    from turnwire.errors import Issue
else:
    from turnwire._light import NamedTuple, Protocol


class Limits(NamedTuple):
    """Bounds on what is read; each has a reason of its own (in the comment beside it). Sizes are bytes."""

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


OBJECT, TOKEN, LINES = "object", "token", "lines"
STYLES = (OBJECT, TOKEN, LINES)
"""What a message looks like: a JSON object; a token that begins with a mark and stands anywhere in a line; whole lines
from a first line on."""


class Wire:
    """What a wire is: all that turnwire needs to know of one. ``<package>/wire.py`` holds it as ``DESCRIPTOR``.

    A wire is described by names and by references. A reference is "module:name", with the module's name in full or,
    where it begins with a dot, from ``package`` on (".codec:decode"); or it is the thing itself. What a reference
    means is imported when the attribute of its name is first asked for, so that a descriptor costs nothing.

    What every wire has:

    detect: (text or bytes) -> whether one record looks like this wire. Cheap; never raises.
    decode: (text or bytes) -> one message, strictly. Raises DecodeError.
    encode: (message) -> its canonical text; takes ``strict=False`` where not ``always_strict``. Raises EncodeError.
    message: the class of its messages.
    check: (message) -> list of Issue: what is doubtful about a message.
    prompt: () -> the text that teaches an LLM the wire.

    What a wire may have. Without one of these, what needs it says so and is not done:

    plan: by which a scan finds it: for style "object" a ``turnwire.json.plan.WirePlan``, for the others a
    :class:`TextPlan`. bulk: a :class:`BulkScanner` (``scan(wire=...)``); a ``TextPlan`` brings its own. cuts: (chunks,
    every, limit=) -> (offset, line) where a log may be cut into blocks; None: at any line. stream: (unknown=, limits=)
    -> a :class:`MessageStream` of its own. search: (text) -> (message, start, end) of each message in plain text, for
    styles other than "object". marks: bytes one of which stands in whatever is damaged of it; damaged: (bytes) ->
    whether these are a damaged message.
    pairs: how its records answer each other, a tuple of ``turnwire.pairs.Rule``. parts: a pattern whose groups are the
    parts of a message's text, for counting tokens. plain: (message) -> the message as plain JSON values.
    advice: part -> what can be done where it costs much. shape: a ``turnwire.conversion.shapes.Shape`` (``convert``).
    conform: (bytes of a file) -> its ``Checklist``. listed: (bytes of a file) -> (line, message or DecodeError) of the
    messages in it, where a file holds more than one a line. documents: what it has of documents beside messages.
    replay: what runs a history of it again.

    name: as users write it. title: as people call it. package: where it lives. style: one of ``STYLES``.
    always_strict: its reading forgives nothing, so ``strict=False`` has nothing to write differently. least_doubtful:
    bytes of the shortest record in which ``check`` can find anything. joined: what stands between two messages of one
    file. Raises ValueError for a name or a style that is none.
    """

    name: str
    title: str
    package: str
    style: str
    always_strict: bool
    joined: str
    marks: tuple[bytes, ...]
    if TYPE_CHECKING:
        detect: Callable[[Any], bool]
        decode: Callable[..., Any]
        encode: Callable[..., str]
        message: type
        check: Callable[[Any], list[Issue]]
        prompt: Callable[[], str]
        bulk: BulkScanner | None
        plan: Any
        cuts: Callable[..., Any] | None
        stream: Callable[..., MessageStream] | None
        search: Callable[[str], Any] | None
        damaged: Callable[[bytes], bool] | None
        pairs: tuple[Any, ...]
        parts: Pattern[str] | None
        plain: Callable[[Any], dict[str, Any]] | None
        least_doubtful: int
        advice: Mapping[str, str]
        shape: Any
        conform: Callable[..., Any] | None
        listed: Callable[[bytes], Any] | None
        documents: Any
        replay: Any
    else:

        def __getattr__(self, name):
            if name == "bulk" and self._bulk_of_plan:
                self.__dict__[name] = found = import_module("turnwire.log.engine.text_columns").scanner(self)
                return found
            try:
                found = _meant(self._references[name], self.package)
            except KeyError:
                raise AttributeError(f"a Wire has no attribute {name!r}") from None
            self.__dict__[name] = found
            return found

    def __init__(
        self,
        name: str,
        *,
        title: str,
        package: str,
        style: str,
        detect: Any,
        decode: Any,
        encode: Any,
        message: Any,
        check: Any,
        prompt: Any,
        always_strict: bool = False,
        least_doubtful: Any = 0,
        joined: str = "",
        marks: tuple[bytes, ...] = (),
        bulk: Any = None,
        plan: Any = None,
        cuts: Any = None,
        stream: Any = None,
        search: Any = None,
        damaged: Any = None,
        pairs: Any = (),
        parts: Any = None,
        plain: Any = None,
        advice: Any = None,
        shape: Any = None,
        conform: Any = None,
        listed: Any = None,
        documents: Any = None,
        replay: Any = None,
    ) -> None:
        if not isinstance(name, str) or not name.isidentifier() or not name.islower():
            raise ValueError(f"the name of a wire is a word in small letters, not {name!r}")
        if style not in STYLES:
            raise ValueError(f"the style of a wire is one of {', '.join(STYLES)}, not {style!r}")
        self.name, self.title, self.package, self.style = name, title, package, style
        self.always_strict, self.joined, self.marks = always_strict, joined, marks
        self._references = {
            **{"detect": detect, "decode": decode, "encode": encode, "message": message, "check": check},
            **{"prompt": prompt, "bulk": bulk, "plan": plan, "cuts": cuts, "stream": stream, "search": search},
            **{"damaged": damaged, "pairs": pairs, "parts": parts, "plain": plain, "advice": advice or {}},
            **{"shape": shape, "conform": conform, "listed": listed, "documents": documents, "replay": replay},
            "least_doubtful": least_doubtful,
        }
        self._bulk_of_plan = bulk is None and plan is not None and style != OBJECT

    def __repr__(self) -> str:
        return f"<Wire {self.name}: {self.title}, style {self.style}>"

    def has(self, name: str) -> bool:
        """Whether the wire has an attribute that it may have, such as "bulk"; imports nothing."""
        return self._references[name] not in (None, (), {}) or (name == "bulk" and self._bulk_of_plan)


class TextPlan(NamedTuple):
    """How records of a wire of style "token" or "lines" are found, and their columns: what ``Wire(plan=...)`` is there.

    opening: bytes with one of which each record begins, those of style "lines" at the start of a line. whole: a pattern
    of bytes that matches a candidate from its opening to its end: a token within its line, lines within
    ``limits.message`` and in front of the next line that begins with an opening of the wire. What it matches must not
    depend on more than one byte after it. What it matches is a record where the wire's ``decode`` takes it, else
    a reject with the reason and the place that ``decode`` gives.

    An opening from which nothing whole matches is a reject where the wire's ``damaged`` says so of what stands up to
    the next opening or the end of the line, else text (also where the wire has none). Of style "lines", ``damaged`` is
    asked about the first line of every candidate: where it says no, all of it is text.

    columns: the wire's own ones. values: (message) -> their values by name (text, numbers, True or False, the name of
    an enum's value, a datetime or microseconds for a timestamp), None or nothing where there is none; by default the
    wire's ``plain``. common: column of ``COMMON`` -> the own column that it comes from; one of the same name needs no
    entry. "kind" comes from an enum; without one, the name of the wire is the kind of all its records.
    """

    opening: tuple[bytes, ...]
    whole: Pattern[bytes]
    columns: tuple[Column, ...] = ()
    common: Mapping[str, str] = {}
    values: Callable[[Any], Mapping[str, Any]] | None = None


def _meant(reference: Any, package: str) -> Any:
    """What "module:name" means; anything else means itself."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    found = import_module(package + module if module.startswith(".") else module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


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


def finding(name: str) -> Any:
    """A module of ``turnwire.finding``, which stands above the protocols: they reach it by its name only."""
    return import_module(f"turnwire.finding.{name}")


COMMON = (
    Column("wire", "enum"),  # the names are those of turnwire.registry.wires(), in their order
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
    wire that spans lines is scanned in order. packed: where texts have no arrays of their own. read: for a wire that
    has no scan of its own but a :class:`TextPlan`: (records, each as bytes; dtypes; place) -> (arrays of the columns
    with these dtypes, bytes that stand at that place, of which texts are spans).
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
    read: Callable[..., tuple[dict[str, Any], bytes]] | None = None
