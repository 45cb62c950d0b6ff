"""The objects of SAP V2.0 (section 4): thin typed classes over dicts, and with them the tables of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, cast, overload

from turnwire import message as contract
from turnwire.errors import nearest
from turnwire.json.fields import Field, FieldKind, Table
from turnwire.json.lazy_object import LazyObject, forget_text, maker, plain as plain, set_fields
from turnwire.sap.spec import (
    MAY,
    MUST,
    SHOULD,
    VERSION,
    WIRE,
    AgentKind,
    Alignment,
    CacheMode,
    ErrorCode,
    Kind,
    PressureLevel,
    Priority,
    Receipt,
    RiskTolerance,
    Status,
    read_time,
)

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

T = TypeVar("T")


class JsonObject(LazyObject, contract.Serialisable):
    """An object of SAP: a view of a dict, which keeps unknown fields, nulls and the order of keys.

    Attributes:
        fields: the dict itself, by the names of the wire; changes to it change the object.

    A field is an attribute (``task.task_id``), None when it is absent; setting one to None removes it, except for the
    fields where null has a meaning (parentTaskId, output), which ``del`` removes. Unknown fields are reached by
    ``record["name"]``. Nothing is checked before it is written, or by ``check``.
    """

    __slots__ = ()
    TABLE: ClassVar[Table]
    __match_args__: ClassVar[tuple[str, ...]] = ()
    MEMBERS: ClassVar[dict[str, JsonField[Any]]] = {}
    NAMES: ClassVar[dict[str, JsonField[Any]]] = {}  # the same by their names on the wire

    def __init__(self, **values: Any) -> None:
        set_fields(self, {})
        forget_text(self)
        for name in values:
            if name not in self.MEMBERS and name not in self.NAMES:
                raise TypeError(f"{_unknown(type(self), name)}; unknown fields go into .fields")
        for attribute, member in self.MEMBERS.items():
            if attribute in values or member.name in values:
                member.__set__(self, values.get(attribute, values.get(member.name)))
            elif member.only is not None:
                self.fields[member.name] = member.only

    def __init_subclass__(cls, section: str = "", name: str = "") -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, JsonField)}
        cls.MEMBERS = {**cls.MEMBERS, **own}
        cls.NAMES = {member.name: member for member in cls.MEMBERS.values()}
        if section:
            fields = tuple(member.field for member in cls.MEMBERS.values())
            cls.TABLE = Table(name or cls.__name__, section, fields)
            cls.__match_args__ = tuple(cls.MEMBERS)  # type: ignore[misc]

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Restores an object from the result of :meth:`to_dict`; values are copied, unknown fields kept. Raises
        DecodeError like ``decode``. (``of`` wraps a dict without checking it.)"""
        from turnwire.sap.codec import from_fields

        contract.expect_mapping(fields, WIRE)
        return from_fields(cls, plain(fields))

    def to_dict(self) -> dict[str, Any]:
        """Returns a deep copy of the fields as JSON values."""
        return cast("dict[str, Any]", plain(fields_of(self)))

    def replace(self, **values: Any) -> Self:
        """Returns a copy with some fields changed; unknown fields are kept."""
        made = self.of(self.to_dict())
        for name, value in values.items():
            if name not in self.MEMBERS:
                raise TypeError(_unknown(type(self), name))
            self.MEMBERS[name].__set__(made, value)
        return made

    @property
    def extra(self) -> dict[str, Any]:
        """A copy of the fields that the specification does not define."""
        return {name: value for name, value in self.fields.items() if name not in self.NAMES}

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a field by its name on the wire."""
        return self[name] if name in fields_of(self) else default

    def __getitem__(self, name: str) -> Any:
        value = fields_of(self)[name]
        if isinstance(value, (dict, list)):
            forget_text(self)
        return value

    def __contains__(self, name: object) -> bool:
        return name in fields_of(self)

    def __iter__(self) -> Iterator[str]:
        return iter(fields_of(self))

    def __getattr__(self, name: str) -> Any:
        """A field by its name on the wire (``task.taskId``); the dict, where it is still to be made."""
        if name == "_fields":
            return fields_of(self)
        if (member := self.NAMES.get(name)) is not None:
            return member.__get__(self, type(self))
        if not name.startswith("__") and name in fields_of(self):
            return self[name]
        raise AttributeError(_unknown(type(self), name))

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            raise AttributeError(_unknown(type(self), name)) from None

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"{type(self).__name__}({shown})"

    def __copy__(self) -> Self:
        return self.of(dict(self.fields))

    @classmethod
    def _schema(cls) -> dict[str, Any]:
        from turnwire.sap.schema import json_schema, schema_of

        return schema_of(cls.TABLE) if hasattr(cls, "TABLE") else contract.without_dialect(json_schema())


class _TypeForHooks(type):
    @property
    def __attrs_attrs__(cls) -> NoReturn:
        raise TypeError("a class of SAP does not name all that its objects keep: use turnwire.enc_hook and dec_hook")


class _ForHooks(metaclass=_TypeForHooks):
    """The type of the fields of a class: whoever looks into it (cattrs) would read and write these alone."""


class _DataclassPart:
    """``__dataclass_fields__`` and ``__dataclass_params__``: section 10 wants envelopes that map 1:1 to dataclasses.

    The fields of a class are its attributes. Of an object they are those that are there, by their names on the wire,
    unknown ones among them: so ``dataclasses.asdict``, and every library that writes dataclasses, gives the JSON object
    itself. Where a field has the name of something else that the object has, there are none, and those refuse it.
    The constructor rejects unknown fields, and so does ``dataclasses.replace``; ``replace`` keeps them.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, record: JsonObject | None, owner: type[JsonObject]) -> Any:
        from dataclasses import make_dataclass

        names: Iterable[str] = owner.MEMBERS if record is None else fields_of(record)
        if self._name == "__dataclass_params__":  # those of one that makes nothing
            names = ()
        strange = record is not None and any(hasattr(owner, name) for name in names if name not in owner.MEMBERS)
        if strange or not all(name.isidentifier() and not iskeyword(name) for name in names):
            raise AttributeError(self._name)
        fields = [(name, _ForHooks if record is None else Any) for name in names]
        return vars(make_dataclass(owner.__name__, fields, init=False, repr=False, eq=False))[self._name]


# On the class above all others, as orjson reads the members of a dataclass without a regard to who owns the values.
for _name in ("__dataclass_fields__", "__dataclass_params__"):
    setattr(JsonObject, _name, _DataclassPart(_name))


def _unknown(cls: type[JsonObject], name: str) -> str:
    """Words for an unknown attribute, with the one that may have been meant (``task_id`` for ``taskId`` or
    ``taskid``)."""
    alike = {spelt: known for known, member in cls.MEMBERS.items() for spelt in (known, member.name)}
    near = None if name.startswith("__") else nearest(name, alike)
    hint = "" if near is None else f"; did you mean {alike[near]!r}?"
    return f"{cls.__name__} has no field {name!r}{hint}"


class JsonField(Generic[T]):
    """One field of an object, as an attribute and as a row of the object's table. Its name on the wire is that of the
    attribute in camel case.

    Args:
        kind, need, late, text: as of :class:`~turnwire.json.fields.Field`.
        shape: a JsonObject class to show an object in (an array of them as a tuple), or an Enum class to show a known
            value in.
        values: of the closed set; default: those of the Enum.
        nullable: None is written as null instead of taking the field away.
    """

    __slots__ = ("field", "many", "name", "nullable", "only", "shape")

    def __init__(
        self,
        kind: FieldKind,
        need: str = MAY,
        *,
        shape: type[Any] | None = None,
        values: tuple[str, ...] = (),
        nullable: bool = False,
        late: bool = False,
        text: str = "",
    ) -> None:
        self.shape = shape
        self.many = kind is Kind.RECORDS
        self.nullable = nullable
        table = None
        if shape is not None and issubclass(shape, JsonObject):
            table = shape.TABLE
        elif shape is not None and kind is Kind.ENUM and not values:
            values = tuple(member.value for member in shape)
        elif kind is Kind.VERSION:
            values = (VERSION,)
        self.only = values[0] if len(values) == 1 else None  # what it can only be
        self.field = Field("", kind, need, None, values, table, nullable, late, text)

    def __set_name__(self, owner: type[Any], attribute: str) -> None:
        first, *others = attribute.split("_")
        self.name = first + "".join(map(str.capitalize, others))
        self.field = self.field._replace(name=self.name)

    @overload
    def __get__(self, record: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, record: JsonObject, owner: type[Any]) -> T: ...
    def __get__(self, record: JsonObject | None, owner: type[Any]) -> Self | T:
        if record is None:
            return self
        value: Any = fields_of(record).get(self.name)
        if type(value) is str and self.shape is None:
            return value  # type: ignore[return-value]
        if isinstance(value, (dict, list)):
            forget_text(record)
        if value is not None and self.shape is not None:
            many = self.many and isinstance(value, Sequence)
            value = tuple(_shown(item, self.shape) for item in value) if many else _shown(value, self.shape)
        return value  # type: ignore[no-any-return]

    def __set__(self, record: JsonObject, value: T) -> None:
        if value is None and not self.nullable:
            record.fields.pop(self.name, None)
        elif isinstance(value, JsonObject):  # which stays a view of the same dict
            record.fields[self.name] = value.fields
        else:
            record.fields[self.name] = plain(value) if isinstance(value, (tuple, list, Enum)) else value

    def __delete__(self, record: JsonObject) -> None:
        record.fields.pop(self.name, None)

    def __repr__(self) -> str:
        return f"<field {self.name}>"


def _shown(value: Any, shape: type[Any]) -> Any:
    """A value as its shape shows it; as it is where it has the wrong type."""
    if issubclass(shape, JsonObject):
        return shape.of(value) if isinstance(value, dict) else value
    return shape._value2member_map_.get(value, value) if isinstance(value, str) else value


class Issuer(JsonObject, section="4.1"):
    """The issuer of a task (section 4.1)."""

    __slots__ = ()
    agent_id: JsonField[str] = JsonField(Kind.TEXT, MUST, text="Logical id of the issuing agent or user.")
    agent_kind: JsonField[AgentKind | str] = JsonField(Kind.ENUM, MUST, shape=AgentKind)
    name: JsonField[str | None] = JsonField(Kind.TEXT, text="Friendly name.")


class Producer(JsonObject, section="4.2"):
    """The producer of a result (section 4.2)."""

    __slots__ = ()
    agent_id: JsonField[str] = JsonField(Kind.TEXT, MUST)
    agent_kind: JsonField[AgentKind | str] = JsonField(Kind.ENUM, MUST, shape=AgentKind, values=("system", "agent"))


class Target(JsonObject, section="4.1"):
    """The agent and the capability that execute a task (section 4.1)."""

    __slots__ = ()
    agent_id: JsonField[str | None] = JsonField(Kind.TEXT, SHOULD, text="Specific agent id (direct addressing).")
    capability: JsonField[str] = JsonField(Kind.TEXT, MUST, text="Namespaced capability, e.g. consult.align.")
    routing_hints: JsonField[dict[str, Any] | None] = JsonField(Kind.OBJECT, text="e.g. priority, shard, affinity.")


class CachePolicy(JsonObject, section="6"):
    """The requested use of the cache (section 6). By default, mode is "bypass" and mustAlign is true."""

    __slots__ = ()
    mode: JsonField[CacheMode | str | None] = JsonField(Kind.ENUM, shape=CacheMode)
    max_age_sec: JsonField[int | None] = JsonField(Kind.COUNT, text="Acceptable staleness in seconds.")
    must_align: JsonField[bool | None] = JsonField(Kind.BOOLEAN, text="Alignment is checked again on a cache hit.")


class ConstitutionalContext(JsonObject, section="4.1"):
    """Alignment inputs of a task (section 4.1)."""

    __slots__ = ()
    pressure_level: JsonField[PressureLevel | str] = JsonField(
        Kind.ENUM, MUST, shape=PressureLevel, late=True, text="Hydraulic decision level."
    )
    principles: JsonField[Sequence[str] | None] = JsonField(Kind.TEXTS, SHOULD)
    pressure: JsonField[dict[str, float] | None] = JsonField(Kind.PRESSURE, SHOULD, text="Principle to PSI, 0 to 100.")
    objectives: JsonField[Sequence[str] | None] = JsonField(Kind.TEXTS, SHOULD)
    constraints: JsonField[Sequence[str] | None] = JsonField(Kind.TEXTS, SHOULD, text="Hard rules.")
    risk_tolerance: JsonField[RiskTolerance | str | None] = JsonField(Kind.ENUM, SHOULD, shape=RiskTolerance)
    territory: JsonField[str | None] = JsonField(Kind.TEXT, SHOULD, text="Domain or space.")
    references: JsonField[Sequence[str] | None] = JsonField(Kind.TEXTS, text="URIs or ids for grounding.")
    cache_policy: JsonField[CachePolicy | None] = JsonField(Kind.RECORD, SHOULD, shape=CachePolicy)


class OutputContract(JsonObject, section="4.1"):
    """The required form of a task's output (section 4.1)."""

    __slots__ = ()
    schema: JsonField[dict[str, Any] | None] = JsonField(Kind.OBJECT, text="JSON Schema or contract descriptor.")
    format: JsonField[str | None] = JsonField(Kind.TEXT, text="e.g. json, markdown, text.")


class Budget(JsonObject, section="4.1"):
    """Limits of one execution (section 4.1); numbers."""

    __slots__ = ()
    tokens: JsonField[float | None] = JsonField(Kind.QUANTITY)
    seconds: JsonField[float | None] = JsonField(Kind.QUANTITY)


class Telemetry(JsonObject, section="4.1"):
    """Execution controls (section 4.1)."""

    __slots__ = ()
    priority: JsonField[Priority | str | None] = JsonField(Kind.ENUM, shape=Priority)
    deadline: JsonField[str | None] = JsonField(Kind.TIME)
    budget: JsonField[Budget | None] = JsonField(Kind.RECORD, shape=Budget)
    trace: JsonField[bool | None] = JsonField(Kind.BOOLEAN, text="Request deep tracing.")


class ReplyTo(JsonObject, section="4.1"):
    """The receiver of results (section 4.1)."""

    __slots__ = ()
    endpoint: JsonField[str | None] = JsonField(Kind.TEXT, text="URI or channel key.")
    expect_ack: JsonField[bool | None] = JsonField(Kind.BOOLEAN)


class Attachment(JsonObject, section="4.1"):
    """A reference to a payload kept elsewhere (section 4.1); digest is ``sha256:<hex>``."""

    __slots__ = ()
    uri: JsonField[str | None] = JsonField(Kind.TEXT)
    kind: JsonField[str | None] = JsonField(Kind.TEXT)
    digest: JsonField[str | None] = JsonField(Kind.DIGEST)


class Artifact(Attachment, section="4.2"):
    """An output kept elsewhere (section 4.2)."""

    __slots__ = ()


class PolicyCheck(JsonObject, section="4.2"):
    """A finding about one principle (section 4.2)."""

    __slots__ = ()
    principle: JsonField[str | None] = JsonField(Kind.TEXT)
    status: JsonField[str | None] = JsonField(Kind.TEXT)
    notes: JsonField[str | None] = JsonField(Kind.TEXT)


class Violation(JsonObject, section="4.2"):
    """A detected violation (section 4.2)."""

    __slots__ = ()
    principle: JsonField[str | None] = JsonField(Kind.TEXT)
    severity: JsonField[str | None] = JsonField(Kind.TEXT)
    evidence: JsonField[str | None] = JsonField(Kind.TEXT)


class CacheEvidence(JsonObject, section="6"):
    """How the cache was used for a result (section 6)."""

    __slots__ = ()
    hit: JsonField[bool | None] = JsonField(Kind.BOOLEAN)
    cache_key: JsonField[str | None] = JsonField(Kind.TEXT)
    age_sec: JsonField[int | None] = JsonField(Kind.COUNT)


class ConstitutionalEvidence(JsonObject, section="4.2"):
    """Alignment proof of a result (section 4.2)."""

    __slots__ = ()
    alignment: JsonField[Alignment | str] = JsonField(Kind.ENUM, MUST, shape=Alignment)
    pressure_readings: JsonField[dict[str, float] | None] = JsonField(
        Kind.NUMBERS, SHOULD, text="Principle to the number used at decision time."
    )
    policy_checks: JsonField[Sequence[PolicyCheck] | None] = JsonField(Kind.RECORDS, SHOULD, shape=PolicyCheck)
    violations: JsonField[Sequence[Violation] | None] = JsonField(Kind.RECORDS, shape=Violation)
    citations: JsonField[Sequence[str] | None] = JsonField(Kind.TEXTS)
    cache: JsonField[CacheEvidence | None] = JsonField(Kind.RECORD, shape=CacheEvidence)


class AgentError(JsonObject, section="8", name="Error"):
    """The error of a failed task (sections 4.2 and 8). The set of codes is open."""

    __slots__ = ()
    code: JsonField[ErrorCode | str | None] = JsonField(Kind.TEXT, shape=ErrorCode)
    message: JsonField[str | None] = JsonField(Kind.TEXT)
    details: JsonField[dict[str, Any] | None] = JsonField(Kind.OBJECT)


def _text_at(*paths: str, words: str) -> contract.common[str | None]:
    """A common column: the text at the first of these paths that has one."""

    def found(message: JsonObject) -> str | None:
        for path in paths:
            value: Any = fields_of(message)
            for name in path.split("/"):
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, str):
                return value
        return None

    return property(found, doc=words)  # type: ignore[return-value]


class Message(JsonObject, contract.Message):
    """A message, which is sent alone on a transport: Task, Result, Ack, Nack."""

    __slots__ = ()
    __wire__ = WIRE

    wire = contract.constant(WIRE)

    @contract.common
    def kind(self) -> str:
        """Task, Result, Ack or Nack."""
        return self.TABLE.name

    sender = _text_at("issuer/agentId", "producer/agentId", words="The agentId of the issuer or the producer.")
    receiver = contract.constant(None)  # a task goes to whoever has its capability; its ``target`` may name an agent
    conversation = _text_at("correlationId", words="``correlationId``.")
    subject = _text_at("target/capability", words="The capability of the target.")
    sequence = contract.constant(None)  # SAP has no numbers

    @contract.common
    def time(self) -> datetime | None:
        """The moment of ``issuedAt`` or ``reportedAt``."""
        fields = fields_of(self)
        text = fields.get("issuedAt", fields.get("reportedAt"))
        found = read_time(text) if isinstance(text, str) else None
        return None if found is None else found[0]


class Task(Message, section="4.1"):
    """A unit of work issued to an agent or capability (section 4.1)."""

    __slots__ = ()
    protocol_version: JsonField[str] = JsonField(Kind.VERSION, MUST)
    task_id: JsonField[str] = JsonField(Kind.UUID, MUST)
    parent_task_id: JsonField[str | None] = JsonField(Kind.UUID, nullable=True)
    correlation_id: JsonField[str] = JsonField(Kind.UUID, MUST, text="For tracing across messages.")
    issued_at: JsonField[str] = JsonField(Kind.TIME, MUST)
    issuer: JsonField[Issuer] = JsonField(Kind.RECORD, MUST, shape=Issuer)
    target: JsonField[Target] = JsonField(Kind.RECORD, MUST, shape=Target)
    constitutional_context: JsonField[ConstitutionalContext] = JsonField(Kind.RECORD, MUST, shape=ConstitutionalContext)
    payload: JsonField[dict[str, Any]] = JsonField(Kind.OBJECT, MUST, text="Inputs of the capability.")
    output_contract: JsonField[OutputContract | None] = JsonField(Kind.RECORD, SHOULD, shape=OutputContract)
    telemetry: JsonField[Telemetry | None] = JsonField(Kind.RECORD, shape=Telemetry)
    reply_to: JsonField[ReplyTo | None] = JsonField(Kind.RECORD, shape=ReplyTo)
    attachments: JsonField[Sequence[Attachment] | None] = JsonField(Kind.RECORDS, shape=Attachment)
    tags: JsonField[Sequence[str] | None] = JsonField(Kind.TEXTS)
    meta: JsonField[dict[str, Any] | None] = JsonField(Kind.OBJECT)


class Result(Message, section="4.2"):
    """The outcome of a task, or its progress (section 4.2)."""

    __slots__ = ()
    protocol_version: JsonField[str] = JsonField(Kind.VERSION, MUST)
    task_id: JsonField[str] = JsonField(Kind.UUID, MUST)
    correlation_id: JsonField[str] = JsonField(Kind.UUID, MUST)
    reported_at: JsonField[str] = JsonField(Kind.TIME, MUST)
    producer: JsonField[Producer] = JsonField(Kind.RECORD, MUST, shape=Producer)
    status: JsonField[Status | str] = JsonField(Kind.ENUM, MUST, shape=Status)
    output: JsonField[Any] = JsonField(Kind.ANY, SHOULD, nullable=True, text="Data as the output contract says.")
    artifacts: JsonField[Sequence[Artifact] | None] = JsonField(Kind.RECORDS, shape=Artifact)
    metrics: JsonField[dict[str, Any] | None] = JsonField(Kind.OBJECT, text="Tokens, latency, cost.")
    constitutional_evidence: JsonField[ConstitutionalEvidence] = JsonField(
        Kind.RECORD, MUST, shape=ConstitutionalEvidence
    )
    error: JsonField[AgentError | None] = JsonField(Kind.RECORD, shape=AgentError)
    next_actions: JsonField[Sequence[dict[str, Any]] | None] = JsonField(Kind.OBJECTS, text="Proposed follow-ups.")
    meta: JsonField[dict[str, Any] | None] = JsonField(Kind.OBJECT)


class _Receipt(Message, section="4.3", name="Receipt"):
    __slots__ = ()
    message_id: JsonField[str] = JsonField(Kind.TEXT, MUST, text="The taskId by default.")
    correlation_id: JsonField[str | None] = JsonField(
        Kind.UUID, MUST, nullable=True, text="null where none could be read."
    )
    status: JsonField[Receipt | str] = JsonField(Kind.ENUM, MUST, shape=Receipt)
    reason: JsonField[str | None] = JsonField(Kind.TEXT)


class Ack(_Receipt, section="4.3"):
    """A task was accepted for processing (section 4.3)."""

    __slots__ = ()
    status: JsonField[Receipt | str] = JsonField(Kind.ENUM, MUST, shape=Receipt, values=("ACK",))


class Nack(_Receipt, section="4.3"):
    """A task was rejected before any work, with the reason (section 4.3)."""

    __slots__ = ()
    status: JsonField[Receipt | str] = JsonField(Kind.ENUM, MUST, shape=Receipt, values=("NACK",))


MESSAGES = (Task.TABLE, Result.TABLE, Ack.TABLE, Nack.TABLE)


def _keys(table: Table) -> set[str]:
    names = {field.name for field in table.fields}
    return names.union(*(_keys(field.table) for field in table.fields if field.table is not None))


KEYS = tuple(sorted(set().union(*map(_keys, MESSAGES))))
"""Every name of a field, for the JSON reader to share."""

fields_of = JsonObject._made = maker(WIRE, KEYS)
"""The dict of an object; quicker than ``record._fields`` where it is still to be made."""
