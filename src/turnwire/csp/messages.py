"""The records of CSP/1: messages with their blocks, templates, preambles, and text that is neither.

All are mutable, comparable, copyable and picklable. Values are judged when a record is written or checked, not when
they are set. ``line`` (1-based, of the first line) and ``issues`` say where a record was read and what was forgiven;
they take no part in comparisons.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from turnwire import message as contract
from turnwire.csp.spec import BLOCK_WORD, FIELDS, WIRE, Intent
from turnwire.errors import DecodeError, Issue, Reason, expect

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self, TypedDict, Unpack

    from turnwire.csp.fileop import Plan, Resolver

    class Changes(TypedDict, total=False):
        """The arguments of ``replace``."""

        sender: str | None
        receiver: str | None
        ctx: str | None
        intent: Intent | str | None
        block: AnyBlock | None


Fields = list[tuple[str, str]]
FieldsLike = Mapping[str, str] | Iterable[tuple[str, str]]


class _Record:
    """Comparison, repr and match patterns from ``__match_args__``, the attributes that make up the value."""

    __slots__ = ()
    __wire__ = WIRE
    __match_args__: ClassVar[tuple[str, ...]] = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """As for protocol 2 also in 0 and 1, which take no class with slots by themselves."""
        return super().__reduce_ex__(max(protocol, 2))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({shown})"


class _Parts(_Record, contract.Serialisable):
    """A record that is written as a dict by the names in ``__match_args__``: texts, and the parts of ``_PARTS``."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes as a dict of JSON values, with pairs as lists; ``from_dict`` reads it."""
        return {name: _plain(getattr(self, name)) for name in self.__match_args__}

    def plain_values(self) -> dict[str, Any]:
        """The record as plain JSON values for a reader, not for ``from_dict``; by default as :meth:`to_dict`."""
        return self.to_dict()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Restores the record from the result of :meth:`to_dict`. Raises
        DecodeError(missing_field|unknown_key|wrong_type) with the field in ``path``; values are validated when the
        record is written or checked."""
        contract.expect_fields(fields, cls, WIRE, cls.__match_args__)
        return cls(**{name: _part(name, fields[name]) for name in cls.__match_args__})

    def replace(self, **changes: Any) -> Self:
        """Returns a copy with some attributes replaced; the others are shared."""
        contract.refuse_unknown(type(self), changes, self.__match_args__)
        return type(self)(**{**{name: getattr(self, name) for name in self.__match_args__}, **changes})

    @classmethod
    def _schema(cls) -> dict[str, Any]:
        return {
            "type": "object",
            "title": cls.__name__,
            "properties": {name: _PARTS.get(name, _TEXT) for name in cls.__match_args__},
            "required": list(cls.__match_args__),
            "additionalProperties": False,
        }


def _plain(value: Any) -> Any:
    if isinstance(value, _Parts):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _part(name: str, value: Any) -> Any:
    """A value of ``to_dict`` as the constructors take it."""
    if not _fits(value, _PARTS.get(name, _TEXT)):
        text = f"{name} cannot be {type(value).__name__} here"
        raise DecodeError(Reason.WRONG_TYPE, text, wire=WIRE, path=f"/{name}")
    if name == "block" and value is not None:
        kind = value.get("kind")
        cls: Any = CLASSES.get(kind) if isinstance(kind, str) else None
        return (cls or Generic).from_dict({k: v for k, v in value.items() if cls is None or k != "kind"})
    return _INTENTS.get(value, value) if name == "intent" else value


_INTENTS = {intent.value: intent for intent in Intent}


_TEXT = {"type": ["string", "null"]}
_TEXTS = {"type": ["array"], "items": {"type": ["string"]}}
_PARTS: dict[str, dict[str, Any]] = {
    "fields": {"type": ["array"], "items": {**_TEXTS, "minItems": 2, "maxItems": 2}},
    "ops": {"type": ["array"], "items": {"type": ["array"], "items": _TEXT, "minItems": 2, "maxItems": 3}},
    "flags": _TEXTS,
    "lines": _TEXTS,
    "mode": {"type": ["boolean"]},
    "block": {"type": ["object", "null"]},
}
"""JSON Schemas of the parts that are no texts."""
_TYPES: dict[str, Any] = {"string": str, "null": type(None), "boolean": bool, "array": (list, tuple), "object": Mapping}


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """True if a value is as such a schema says."""
    if not any(isinstance(value, _TYPES[kind]) for kind in schema["type"]):
        return False
    if "items" not in schema:
        return True
    within = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
    return within and all(_fits(item, schema["items"]) for item in value)


class Block(_Parts):
    """The body of a message: ``kind`` (its first word), ``id`` and ``fields`` (ordered pairs of key and value).

    Fields may also be keywords in lower case (``Task("T1", req="find it", in_="SRC")``), which follow the others.
    Raises TypeError for a key that the kind of block does not have, or that is given twice.
    """

    __slots__ = ("fields", "id")
    kind: ClassVar[str]
    id: str
    fields: Fields
    __match_args__: ClassVar[tuple[str, ...]] = ("id", "fields")

    def __init__(self, id: str, fields: FieldsLike = (), **named: str) -> None:
        self.id = id
        self.fields = _pairs(fields)
        if named:
            self.fields += _keywords(self.kind, self.fields, named)

    def __eq__(self, other: object) -> bool:
        """Equal values; where a block's keys are known, their order does not matter (it may be any on the wire)."""
        if type(other) is not type(self):
            return NotImplemented
        if any(getattr(self, name) != getattr(other, name) for name in self.__match_args__ if name != "fields"):
            return False
        return self.fields == other.fields or (self.kind in FIELDS and sorted(self.fields) == sorted(other.fields))

    def get(self, key: str, default: str | None = None) -> str | None:
        """The value of the first field with that key, or ``default``."""
        for name, value in self.fields:
            if name == key:
                return value
        return default


def _keywords(kind: str, given: Fields, named: Mapping[str, str]) -> Fields:
    """The fields of keywords: ``req`` is REQ, ``in_`` is IN."""
    found = [(name.removesuffix("_").upper(), value) for name, value in named.items()]
    keys = {key for key, _ in given}
    for key, _ in found:
        if kind in FIELDS and key not in FIELDS[kind]:
            raise TypeError(f"{kind} has no key {key}; its keys are {', '.join(FIELDS[kind])}")
        if key in keys:
            raise TypeError(f"{kind} is given the key {key} twice")
        keys.add(key)
    return found


def _pairs(fields: FieldsLike) -> Fields:
    items = fields.items() if isinstance(fields, Mapping) else fields
    return [(key, value) for key, value in items]


class Task(Block):
    """A work order [TASK]: REQ (required), IN, OUT, OWNER, PRIORITY."""

    __slots__ = ()
    kind = "TASK"


class Result(Block):
    """The answer to a task [RESULT]: STATUS (required), PRODUCED, DATA; ``id`` is the task's."""

    __slots__ = ()
    kind = "RESULT"

    def refs(self) -> list[tuple[str, int | None, int | None]]:
        """The references in DATA; see :func:`turnwire.csp.refs`."""
        from turnwire.csp.notation import refs

        return refs(self.get("DATA") or "")


class Error(Block):
    """A failure [ERROR]: AT (the task) and CAUSE (both required), NEXT."""

    __slots__ = ()
    kind = "ERROR"


class FileOp(Block):
    """A file operation [FILEOP]: ``op`` (CREATE, PATCH, DELETE), PATH (required), BASE, CONTENT."""

    __slots__ = ("op",)
    kind = "FILEOP"
    op: str
    __match_args__ = ("id", "op", "fields")

    def __init__(self, id: str, op: str, fields: FieldsLike = (), **named: str) -> None:
        super().__init__(id, fields, **named)
        self.op = op

    def apply(
        self,
        root: str | Path,
        *,
        dry_run: bool = False,
        recount: bool = False,
        resolve: Resolver | None = None,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] = (),
    ) -> Plan:
        """Applies the operation inside the directory ``root``, or only reports what it would do (``dry_run``).

        recount: accept hunks with wrong counts, as models write them. resolve: (file, base) -> whether a BASE that is
        not a SHA-256 matches the file; it must not call ``apply`` on the same root.

        ``allow`` and ``deny`` are ``.gitignore`` patterns (:func:`turnwire.csp.fileop.matches`), matched against the
        path and the target of its links. ``deny`` rejects matching paths; ``allow`` rejects all others. Version control
        folders (``.git``, ``.hg``, ...) are rejected unless a pattern of ``allow`` names them.

        Raises RuleError (unknown_op, unsafe_path, file_exists, file_missing, not_a_file, base_mismatch, bad_diff,
        diff_mismatch, missing_path, lone_surrogate) and OSError from the system; in these cases nothing has changed.
        Only NotFlushed, an OSError, means that the operation was applied but may be lost in a power failure.
        """
        from turnwire.csp.fileop import apply

        return apply(self, root, dry_run=dry_run, recount=recount, resolve=resolve, allow=allow, deny=deny)


class Generic(Block):
    """A block whose form the specification leaves open (PLAN, QUERY, MEM): any id, any keys, repeated or not."""

    __slots__ = ("kind",)
    __match_args__ = ("kind", "id", "fields")

    def __init__(self, kind: str, id: str, fields: FieldsLike = (), **named: str) -> None:
        self.kind = kind  # type: ignore[misc]
        super().__init__(id, fields, **named)


class Op(NamedTuple):
    """One operation of a patch [PATCH]: sign ``+`` (add), ``~`` (change) or ``-`` (remove); no value for ``-``."""

    sign: str
    name: str
    value: str | None = None


class Patch(_Parts):
    """A delta [PATCH]: ``ops`` lead from the checkpoint ``base`` to the checkpoint ``apply``."""

    __slots__ = ("apply", "base", "id", "ops")
    kind: ClassVar[str] = "PATCH"
    id: str
    base: str | None
    ops: list[Op]
    apply: str | None
    __match_args__ = ("id", "base", "ops", "apply")

    def __init__(
        self,
        id: str,
        base: str | None,
        ops: Iterable[tuple[str, str, str | None] | tuple[str, str]] = (),
        apply: str | None = None,
    ) -> None:
        self.id = id
        self.base = base
        self.ops = [Op(*op) for op in ops]
        self.apply = apply

    @property
    def fields(self) -> Fields:
        """BASE, the operations as key ``+ DEF N`` and value, and APPLY, as pairs (a copy)."""
        pairs = [] if self.base is None else [("BASE", self.base)]
        pairs += [(f"{op.sign} DEF {op.name}", op.value or "") for op in self.ops]
        return pairs if self.apply is None else [*pairs, ("APPLY", self.apply)]

    def get(self, key: str, default: str | None = None) -> str | None:
        """BASE or APPLY, or the new value of ``DEF`` name ``key``."""
        return next((value for name, value in self.fields if name == key), default)


AnyBlock = Task | Result | Error | Patch | FileOp | Generic
CLASSES: dict[str, type[Block | Patch]] = {cls.kind: cls for cls in (Task, Result, Error, Patch, FileOp)}
"""Word of a block that has a form -> its class."""


def made_block(kind: str, id: str, fields: Fields, op: str) -> AnyBlock:
    """The block of a kind other than PATCH; op: of a FILEOP."""
    cls: Any = CLASSES.get(kind)
    parts = (kind, id, fields) if cls is None else (id, op, fields) if cls is FileOp else (id, fields)
    found: AnyBlock = (cls or Generic)(*parts)
    return found


class CspMessage(_Parts, contract.Message):
    """One message [MESSAGE FORMAT].

    Args:
        sender, receiver, ctx: opaque tokens (FROM, TO, CTX); None only if lenient reading found none.
        intent: an :class:`Intent`, or the word found by lenient reading.
        block: the body, or None if lenient reading found none.
    """

    __slots__ = ("_source", "block", "ctx", "intent", "issues", "line", "receiver", "sender")
    sender: str | None
    receiver: str | None
    ctx: str | None
    intent: Intent | str | None
    block: AnyBlock | None
    line: int
    issues: tuple[Issue, ...]
    __match_args__ = ("sender", "receiver", "ctx", "intent", "block")

    def __init__(
        self,
        sender: str | None,
        receiver: str | None,
        ctx: str | None,
        intent: Intent | str | None,
        block: AnyBlock | None,
        *,
        line: int = 1,
        issues: Iterable[Issue] = (),
    ) -> None:
        self.sender = sender
        self.receiver = receiver
        self.ctx = ctx
        self.intent = intent
        self.block = block
        self.line = line
        self.issues = tuple(issues)

    def __getstate__(self) -> Any:
        """The state that is copied and pickled: not the text that it was read from, which the compiled core keeps."""
        state: Any = super().__getstate__()
        if isinstance(state, tuple):
            state[1].pop("_source", None)
        return state

    if TYPE_CHECKING:

        def replace(self, **changes: Unpack[Changes]) -> Self: ...  # type: ignore[override]

    wire = contract.constant(WIRE)
    kind = contract.column("intent", contract.name_of, "The intent.")
    conversation = contract.column("ctx", contract.text_or_none, "``ctx``.")

    sequence = time = contract.constant(None)
    """CSP/1 has neither numbers nor times."""

    @contract.common
    def subject(self) -> str | None:
        """The id of the block."""
        return None if self.block is None else self.block.id

    def _repr_html_(self) -> str:
        from turnwire.showing import fields

        return fields(type(self).__name__, self.plain_values().items())

    def to_dict(self) -> dict[str, Any]:
        """The headers by name, and the block with its kind."""
        block = None if self.block is None else {"kind": self.block.kind, **self.block.to_dict()}
        return {**super().to_dict(), "block": block}

    def plain_values(self) -> dict[str, Any]:
        """The message as plain JSON values: its header, and its block with id and fields."""
        block: Any = self.block
        head = {"from": self.sender, "to": self.receiver, "ctx": self.ctx, "intent": str(self.intent)}
        body: dict[str, Any] = {"block": block.kind, "id": block.id}
        if block.kind == "PATCH":
            ops = [{name: value for name, value in op._asdict().items() if value is not None} for op in block.ops]
            return {**head, **body, "base": block.base, "ops": ops, "apply": block.apply}
        if hasattr(block, "op"):
            body["op"] = block.op
        names = [name for name, _ in block.fields]
        if len(set(names)) == len(names) and not {*head, "block", "id", "op"} & {name.lower() for name in names}:
            return {**head, **body, **{name.lower(): value for name, value in block.fields}}
        return {**head, **body, "fields": [list(pair) for pair in block.fields]}


_TASK_ID = re.compile("T[0-9]+")


def task_of(message: CspMessage) -> tuple[str, str] | None:
    """The task that a message is about, and what it says of it: "" for the TASK itself, the STATUS of a RESULT, "ERROR"
    for an ERROR that is AT it. None for any other message."""
    block = message.block
    if isinstance(block, (Task, Result)):
        return block.id, block.get("STATUS") or ""
    task = block.get("AT") or "" if isinstance(block, Error) else ""
    return (task, "ERROR") if _TASK_ID.fullmatch(task) else None


def message(sender: str, receiver: str, ctx: str, block: AnyBlock) -> CspMessage:
    """Makes a message from a block; the block determines the intent."""
    expect(block, AnyBlock, "a message needs a block")
    intent = next(intent for intent in Intent if BLOCK_WORD[intent] == block.kind)
    return CspMessage(sender, receiver, ctx, intent, block)


class Template(_Parts, contract.Message):
    """A header for spawned agents [TASK_TPL]: ``flags`` and ``lines``; ``mode`` is the ``CSP/1 MODE;`` spelling."""

    __slots__ = ("flags", "line", "lines", "mode")
    flags: list[str]
    lines: list[str]
    mode: bool
    line: int
    __match_args__ = ("flags", "lines", "mode")

    def __init__(
        self, flags: Iterable[str] = (), lines: Iterable[str] = (), *, mode: bool = False, line: int = 1
    ) -> None:
        self.flags = list(flags)
        self.lines = list(lines)
        self.mode = mode
        self.line = line

    wire = contract.constant(WIRE)
    kind = contract.constant("TEMPLATE")  # a template has no other common value

    sender = receiver = conversation = sequence = time = subject = contract.constant(None)

    def compact(self) -> Template:
        """The same template with one order per line: ``TASK REQ:x IN:y``, ``RESULT{STATUS,DATA[file:line]}``."""
        from turnwire.csp.notation import compact_orders

        return Template(self.flags, compact_orders(self.lines), mode=self.mode, line=self.line)

    def expand(self) -> Template:
        """The same template with one key per line, as in a block: ``TASK`` / ``REQ x`` / ``IN y``."""
        from turnwire.csp.notation import expand_orders

        return Template(self.flags, expand_orders(self.lines), mode=self.mode, line=self.line)


class Preamble(_Record):
    """DEF and LAWS outside messages [PROJECT DEFs, PROJECT LAWS], which define C0. ``defs``: name -> value; ``laws``:
    id -> text, in text order."""

    __slots__ = ("defs", "laws", "line")
    defs: dict[str, str]
    laws: dict[str, str]
    line: int
    __match_args__ = ("defs", "laws")

    def __init__(self, defs: FieldsLike = (), laws: FieldsLike = (), *, line: int = 1) -> None:
        self.defs = dict(_pairs(defs))
        self.laws = dict(_pairs(laws))
        self.line = line


class Junk(_Record):
    """Text that is not a record: one line without its newline, or a rejected message (with its ``reason``)."""

    __slots__ = ("line", "reason", "text")
    line: int
    text: str
    reason: str | None
    __match_args__ = ("line", "text")

    def __init__(self, line: int, text: str, reason: str | None = None) -> None:
        self.line = line
        self.text = text
        self.reason = reason


Record = CspMessage | Template | Preamble | Junk


class Document(_Record):
    """The records of a text: ``records`` in order, and ``issues`` by line (faults that lenient reading accepted)."""

    __slots__ = ("issues", "records")
    records: list[Record]
    issues: list[Issue]
    __match_args__ = ("records", "issues")

    def __init__(self, records: Iterable[Record] = (), issues: Iterable[Issue] = ()) -> None:
        self.records = list(records)
        self.issues = list(issues)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def messages(self) -> list[CspMessage]:
        """Only the messages."""
        return [record for record in self.records if isinstance(record, CspMessage)]
