"""The definition of a wire, the limits, and the types that both cores share.

The only module of turnwire that this one imports is ``errors``. Each protocol describes itself in one object
(:class:`Wire`), which ``turnwire.registry`` finds: a new wire changes no code outside its own folder.
"""

from __future__ import annotations

from functools import lru_cache, wraps
from importlib import import_module

from turnwire.errors import DecodeError, Reason, UnknownName, expect_number

TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from re import Pattern
    from typing import Any, NamedTuple, TypeVar

    from turnwire.errors import Issue

    Result = TypeVar("Result")
else:
    from turnwire.errors import NamedTuple


class Limits(NamedTuple):
    """Limits on input; each has its own reason (see the comment next to it). Sizes are in bytes."""

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
"""No limit at all: the cores add offsets to limits, in 64 bits."""


def cached_if_short(room: int, most: int = 128) -> Callable[[Callable[[str], Result]], Callable[[str], Result]]:
    """A cache of ``room`` results of a function of one text. Nothing is kept of texts of more than ``most`` characters,
    of which a hostile input may have any number."""

    def cached(function: Callable[[str], Result]) -> Callable[[str], Result]:
        known = lru_cache(room)(function)
        return wraps(function)(lambda text: known(text) if len(text) <= most else function(text))

    return cached


def checked_limits(limits: object) -> Limits:
    """Validates the argument ``limits=``.

    Raises TypeError if it is not a ``Limits`` or contains something other than whole numbers, ValueError if one is
    negative or too large.
    """
    if not isinstance(limits, Limits):
        kind = type(limits).__name__
        raise TypeError(f"limits must be a turnwire.Limits such as turnwire.LIMITS._replace(message=...), not {kind}")
    global _checked
    if limits is not LIMITS and limits is not _checked:
        for name, value in zip(limits._fields, limits, strict=True):
            if type(value) is not int or not 0 <= value <= MOST_LIMIT:
                expect_number(value, f"limits.{name}", 0, MOST_LIMIT)
        _checked = limits
    return limits


_checked = LIMITS  # those that were found right last: most programs have one set of their own


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


OBJECT, TOKEN, LINES = "object", "token", "lines"
STYLES = (OBJECT, TOKEN, LINES)
"""The shape of a message: a JSON object; a token, which may be anywhere in a line; whole lines."""
FORMATS = "formats"
"""All formats of real traffic: the ``wire`` of a scan that looks for each of them."""
MATCHED = ("nslip", "csp")
"""Wires that the search of logs has a matcher of its own for."""


_NEEDED = ("detect", "decode", "encode", "message", "check", "prompt")
_OPTIONAL = ("scanner", "pairs", "shape", "checklist")


class Wire:
    """The description of a wire: ``DESCRIPTOR`` of its package, or of a module ``wire.py`` in a folder of turnwire.

    Each attribute is an object or a reference: "module:name", or ".module:name" within ``package`` (".codec:decode").
    References are imported on first use.

    Every wire has:

    - name: the name that users type; a word in lower case. title: the full name. package: the package that defines it.
    - style: one of ``STYLES``.
    - detect: (text or bytes) -> whether one record looks like this wire. Cheap; never raises.
    - decode: (text or bytes) -> one message, strictly. Raises DecodeError.
    - encode: (message, strict=True) -> its canonical text; with ``strict=False`` whatever ``decode`` reads. Raises
      EncodeError.
    - message: the class of its messages.
    - check: (message) -> list of Issue.
    - prompt: () -> the text that teaches an LLM the wire; with ``short=True``, if supported, without an example of
      everything.

    A wire may have further attributes; functions that need a missing one raise an error:

    - scanner: how a scan finds its records, and their columns: a :class:`BulkScanner` for style "object" (made by
      ``turnwire.json.scanner.scanner``), else a :class:`TextPlan`.
    - pairs: how its records answer each other, a ``turnwire.pairs.Pairs`` (``stats``, report).
    - shape: a ``turnwire.conversion.shapes.Shape`` (``convert``).
    - checklist: the rules for its messages, a ``turnwire.checklists.Specification``.

    Raises ValueError for a name that is not a word in lower case, and for an unknown style.
    """

    name: str
    title: str
    package: str
    style: str
    _optional: tuple[str, ...] = _OPTIONAL
    if TYPE_CHECKING:
        detect: Callable[[Any], bool]
        decode: Callable[..., Any]
        encode: Callable[..., str]
        message: type
        check: Callable[[Any], list[Issue]]
        prompt: Callable[..., str]
        scanner: Any
        pairs: Any
        shape: Any
        checklist: Any
    else:

        def __getattr__(self, name):
            try:
                found = referred(self._references[name], self.package)
            except KeyError:
                raise AttributeError(f"a Wire has no attribute {name!r}") from None
            self.__dict__[name] = found
            return found

    def __init__(self, name: str, *, title: str, package: str, style: str, **references: Any) -> None:
        if not isinstance(name, str) or not name.isidentifier() or not name.islower():
            raise ValueError(f"the name of a wire must be a lower-case word, not {name!r}")
        if style not in STYLES:
            text = f"the style of a wire must be one of {', '.join(STYLES)}, not {style!r}"
            raise UnknownName("style", style, STYLES, text)
        if missing := [one for one in _NEEDED if one not in references]:
            raise TypeError(f"the wire {name} lacks {', '.join(missing)}")
        if strange := [one for one in references if one not in (*_NEEDED, *self._optional)]:
            raise TypeError(f"a Wire has no {', '.join(strange)}")
        if isinstance(rules := references.get("pairs"), list) or type(rules) is tuple:
            raise TypeError(f"pairs of the wire {name} must be a turnwire.pairs.Pairs, not a {type(rules).__name__}")
        self.name, self.title, self.package, self.style = name, title, package, style
        self._references = {**dict.fromkeys(self._optional), **references}

    def __repr__(self) -> str:
        return f"<Wire {self.name}: {self.title}, style {self.style}>"

    def has(self, name: str) -> bool:
        """True if the wire has an optional attribute such as "scanner"; imports nothing."""
        return self._references[name] is not None

    def text(self, message: Any) -> str:
        """A message as it was read, with its issues. Raises EncodeError for one that cannot be written."""
        return self.encode(message, strict=False)

    def plain_values(self, message: Any) -> dict[str, Any]:
        """A message as plain values by name: the result of its method ``plain_values``; without it, the JSON object of
        a message of style "object" (for a document, its text under "document"), or the fields of any other message.
        Raises UnknownName if the fields of a message are unknown."""
        own = getattr(message, "plain_values", None)
        if own is not None:
            return own()  # type: ignore[no-any-return]
        if self.style == OBJECT:
            text = self.text(message)
            if not text.lstrip(" \t\n\r").startswith("{"):
                return {"document": text}
            import json

            found: dict[str, Any] = json.loads(text)
            return found
        names = getattr(message, "_fields", None) or getattr(message, "__dataclass_fields__", None)
        if names is None:
            text = f"messages of {self.name} have no method plain_values, and no named fields"
            raise UnknownName("wire", self.name, text=text)
        return {name: getattr(message, name) for name in names}


_USUAL = {
    **{name: f".codec:{name}" for name in ("detect", "decode", "encode", "check")},
    "prompt": ".prompt:prompt",
    "scanner": ".bulk:SCANNER",
    "pairs": ".bulk:PAIRS",
    "checklist": ".checklist:CHECKLIST",
}


def built_in(name: str, title: str, style: str, **references: Any) -> Wire:
    """Returns the descriptor of one of turnwire's own wires; ``references``: to what stands elsewhere than in others,
    or only some wires have."""
    usual = {**_USUAL, "shape": f"turnwire.conversion.wires:{name.upper()}"}
    return Wire(name, title=title, package=f"turnwire.{name}", style=style, **{**usual, **references})


class FormatWire(Wire):
    """A format of agent sessions or API messages. A scan searches for it only if it, or ``FORMATS``, is named. Its
    scanner has a plan for each form of its objects. table: its ``turnwire.formats.table.Format``."""

    _optional: tuple[str, ...] = (*_OPTIONAL, "table")
    if TYPE_CHECKING:
        table: Any


class DocumentPlan(NamedTuple):
    """The ``documents`` of a scanner: whole texts, from the first header line of a file or code fence with no record or
    reject before it, to its end.

    kind: that of their records. message: the class of a document. opening: the bytes with which each header line
    begins; header: a pattern that matches a header line from there. columns: (bytes, fences=) -> the values of the
    wire's own columns: a number, or the (offset, length) of a text; raises DecodeError if the bytes are not a document.
    A wire with a :class:`TextPlan` needs no columns: its ``decode`` also accepts documents. faults: (bytes, fences=) ->
    a DecodeError for each fault that strict reading rejects (``validate``). fences: headers inside fences are content.
    """

    kind: str
    message: type
    opening: bytes
    header: Pattern[bytes]
    columns: Callable[..., Mapping[str, Any]] | None = None
    faults: Callable[..., list[Any]] = lambda data, /, *, fences=False: []


class TextPlan(NamedTuple):
    """The scanner of a wire of style "token" or "lines": how its records are found, and their columns.

    opening: each record begins with one of these bytes; for style "lines", at the start of a line.
    whole: a pattern of bytes for a whole record from its opening on. A token ends within its line. A record of lines
    ends within ``limits.message``, before the next line that begins with an opening of the wire. The match must not
    depend on more than one byte after it. Lines end with LF or CRLF, and the pattern and ``decode`` see the CR.

    A match is a record if the wire's ``decode`` accepts it, otherwise a reject with the reason and position from
    ``decode``. If nothing matches, ``damaged`` is called with the bytes up to the next opening or the end of the line:
    if it returns true, they are a reject, otherwise text (as without ``damaged``). For style "lines", ``damaged`` is
    called with the first line of every candidate; if it returns false, the whole candidate is text.

    columns: the wire's own columns. values: (message) -> their values by name: text, a number, True or False, the name
    of an enum's value, a datetime or microseconds for a timestamp, None or nothing if absent; by default
    ``Wire.plain_values``. common: column of ``COMMON`` -> the wire's column that fills it; columns with the same name
    need no entry. "kind" needs an enum; without one, the name of the wire is the kind of all its records.

    documents: a :class:`DocumentPlan`, if the wire also has documents.
    """

    opening: tuple[bytes, ...]
    whole: Pattern[bytes]
    columns: tuple[Column, ...] = ()
    common: Mapping[str, str] = {}
    values: Callable[[Any], Mapping[str, Any]] | None = None
    damaged: Callable[[bytes], bool] | None = None
    documents: DocumentPlan | None = None


def referred(reference: Any, package: str = "") -> Any:
    """Returns the object that "module:name" refers to; other values are returned unchanged."""
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    found = import_module(package + module if module.startswith(".") else module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def record_bytes(data: object) -> bytes | None:
    """Returns text (as UTF-8) or a bytes-like object as bytes, or None for other objects. Never raises."""
    if type(data) is bytes:
        return data
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    try:
        return memoryview(data).tobytes()  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):  # no buffer; one that was released, or cannot be had
        return None


def type_fault(value: object, wire: str | None) -> DecodeError:
    """Returns the error for decoding something that is not text."""
    text = f"expected text or contiguous bytes, not {type(value).__name__}"
    return DecodeError(Reason.WRONG_TYPE, text, offset=0, line=1, wire=wire)


def input_bytes(data: object, wire: str | None) -> bytes:
    """Returns ``data`` as UTF-8 (a lone surrogate becomes three bytes that are not valid UTF-8). Raises
    DecodeError(wrong_type)."""
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    if isinstance(data, bytes):
        return data
    try:
        view = memoryview(data)  # type: ignore[arg-type]
    except TypeError:
        raise type_fault(data, wire) from None
    if not view.c_contiguous:
        raise type_fault(data, wire)
    return view.tobytes()


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
"""Columns of any record, whatever its wire, beside its place (``turnwire.log.output.batch.POSITIONS``)."""
WORK = (Column("_task", "text"), Column("_asker", "text"), Column("_work", "u8"))
"""Columns for the pairing of requests and answers, on request: the task that a record names, its own id, if answers
refer to it (both empty where there is none), and the bits FINAL, ASKS and TOLD of ``turnwire.pairs``. They are what
``Pairs.work`` returns; where TOLD is not set, or the task is marked as a text with escapes, that must say it."""


def text_span(offset: Any, length: Any) -> Any:
    """A text in a column of a scan: its offset in the lower 32 bits, its length above. Of numbers or i64 arrays."""
    return offset | length << 32


class PackedTexts(NamedTuple):
    """Texts in one compact row per record, for a wire whose records each have few texts.

    array: the name of the array that ``scan`` fills; dtype: of its rows. spans: (rows, text column) -> (offsets,
    lengths) of the spans as i64 arrays, (0, 0) if a record has no such text. move: (rows, distances) adds one distance
    (i64) to all offsets of each row. places: (text column) -> i32[16]. A row consists of i32 numbers. The low four bits
    of its number ``shape`` select one of the 16 places: the index of the offset in the row, followed by the length; -1
    for no text.
    """

    array: str
    dtype: str
    spans: Callable[[Any, str], tuple[Any, Any]]
    move: Callable[[Any, Any], None]
    places: Callable[[str], Any]
    shape: int


Refusal = tuple[Reason, str, "str | None"]
"""Why something is refused: the reason, in words, and the JSON pointer to what is wrong, or None."""


class BulkScanner(NamedTuple):
    """The columns of a scan of a wire, such as ``turnwire.nslip.bulk.SCANNER``.

    - columns: the wire's own columns. Each is one array of its dtype; that of a text has the spans of the scanned
      buffer that it is, as written (i64, see :func:`text_span`), unless ``packed`` says otherwise.
    - present: dtype of the array ``present``, a bit mask a row. bits: nullable column -> its bit there. escaped: text
      column -> the bit that marks spans with escapes. plain: one such span without its escapes.
    - reasons: the reason of each reject code. decode: one record's bytes -> its message.
    - common: column of ``COMMON`` -> how this wire's own columns fill it: ("column", name) takes one as it is,
      ("number", name) takes a whole number as decimal text. A column that is not listed is null. ``time`` comes from
      the start of the log line if the record has none.
    - json: whether texts are contents of JSON strings, which ``plain`` can then convert in bulk.
    - packed: set if texts have no separate arrays.
    - values: of nSLIP and CSP/1, (data, start, stop, what the matcher found, shift) -> the columns of the record that
      the search found in ``data[start:stop]``: numbers, a packed row as bytes, spans moved by ``shift``; its bits are
      ``own_present``.
    - refusal: a damaged record's bytes -> the reason, text and path of the error that ``decode`` raises for them,
      without its position; or None if only ``decode`` can determine it.
    - doubtful: the size of the shortest record in which ``check`` can find an issue, and the kinds of such records, by
      their names in the column ``kind``; () for all.
    - read: for a wire with a :class:`TextPlan`: (message, names of columns) -> their values, with texts as bytes.
    - plans: the ``turnwire.json.plan.WirePlan`` of each form of its JSON objects. documents: a :class:`DocumentPlan`,
      if the wire also has documents.
    """

    wire: str
    columns: tuple[Column, ...]
    present: str
    bits: Mapping[str, int]
    escaped: Mapping[str, int]
    plain: Callable[[bytes], bytes]
    reasons: tuple[Reason | None, ...]
    decode: Callable[..., Any]
    common: Mapping[str, tuple[str, str]] = {}
    json: bool = False
    packed: PackedTexts | None = None
    read: Callable[..., dict[str, Any]] | None = None
    values: Callable[..., dict[str, Any]] | None = None
    refusal: Callable[[bytes], Refusal | None] | None = None
    doubtful: tuple[int, tuple[str, ...]] = (0, ())
    plans: tuple[Any, ...] = ()
    documents: DocumentPlan | None = None


BulkScanner.__hash__ = object.__hash__  # type: ignore[method-assign] # what is known of one is cached
BulkScanner.__eq__ = object.__eq__  # type: ignore[method-assign]
