"""The contract of messages: the values and the abilities that a message of any wire has.

The built-in wires give the values themselves. A message of a registered wire has them by inheriting from
:class:`Message`, where they are what a scan says of its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module

from turnwire import registry
from turnwire.contract import OBJECT
from turnwire.errors import DecodeError, Reason

TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from typing import Any, ClassVar, Generic, Never, Self, TypeVar, overload

    from turnwire.contract import Wire

    T = TypeVar("T")
    T_co = TypeVar("T_co", covariant=True)

    class common(Generic[T_co]):
        """Makes a method of a class of messages a common column: an attribute that cannot be set."""

        def __init__(self, value_of: Callable[[Any], T_co]) -> None: ...
        @overload
        def __get__(self, message: None, owner: type) -> Self: ...
        @overload
        def __get__(self, message: object, owner: type) -> T_co: ...
        def __get__(self, message: object, owner: type) -> Any: ...
        def __set__(self, message: object, value: Never) -> None: ...
else:
    common = property


def column(name: str, convert: Callable[[Any], T], words: str) -> common[T]:
    """A common column that is another attribute of a message in the form of a column of a scan."""
    return property(lambda message: convert(getattr(message, name)), doc=words)  # type: ignore[return-value]


def constant(value: T) -> common[T]:
    """A common column that is the same for all messages of a class."""
    return value  # type: ignore[return-value]


class Serialisable:
    """A value that can be written as a dict of plain JSON values and read from one, by hand or by a library.

    pydantic takes such a class as the type of a field: it validates by ``from_dict``, dumps by ``to_dict``, and knows
    its JSON Schema.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the message as plain JSON values, which :meth:`from_dict` reads."""
        return _wire_of(type(self)).plain_values(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The message of :meth:`to_dict`. Raises DecodeError, with the field in ``path`` where it is one."""
        return made(cls, fields)  # type: ignore[no-any-return]

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields replaced. Raises TypeError for a name that is no field."""
        fields = self.to_dict()
        refuse_unknown(type(self), changes, fields)
        return self.from_dict({**fields, **changes})

    def __replace__(self, **changes: Any) -> Self:
        return self.replace(**changes)

    def _repr_html_(self) -> str:
        from turnwire.showing import fields

        return fields(type(self).__name__, self.to_dict().items())

    @classmethod
    def _validated(cls, value: Any) -> Any:
        """Reads what a field of this type takes: a message, or the dict of one. Raises ValueError."""
        return value if isinstance(value, cls) else cls.from_dict(value)

    @classmethod
    def _schema(cls) -> dict[str, Any]:
        """JSON Schema of :meth:`to_dict`."""
        name = registry.wire_of_class(cls)
        values = {} if name is None or registry.wire(name).style == OBJECT else _arguments(cls)
        required = [name for name, needed in values.items() if needed]
        return {
            "type": "object",
            "title": cls.__name__,
            "properties": {name: {} for name in values},
            "required": required,
        }

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(_dumped, info_arg=True)
        ref = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"  # the component of a schema is called by the class
        return core_schema.no_info_before_validator_function(
            cls._validated, core_schema.any_schema(), ref=ref, serialization=written
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        found: dict[str, Any] = handler(schema)
        handler.resolve_ref_schema(found).update(cls._schema())
        return found


def _dumped(value: Serialisable, info: Any) -> Any:
    """The dict of a value that is dumped, of which ``include`` and ``exclude`` may ask for parts."""
    if info.include is None and info.exclude is None:
        return value.to_dict()
    from pydantic_core import SchemaSerializer, core_schema

    parts = SchemaSerializer(core_schema.dict_schema())
    return parts.to_python(value.to_dict(), include=info.include, exclude=info.exclude)


MOST_NUMBER = (1 << 63) - 1


def text_or_none(value: Any) -> str | None:
    """A text; None for anything else: what a text column has of a value."""
    return value if isinstance(value, str) else None


def number_or_none(value: Any) -> int | None:
    """A whole number that a column of 64 bits holds; None for anything else."""
    fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST_NUMBER
    return int(value) if fits else None


def name_of(value: Any) -> str | None:
    """The name of a member of an enum of numbers, the value of one of texts; None for anything else."""
    if isinstance(value, str):
        return str(getattr(value, "value", value))
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else None


def moment(**after: float) -> datetime | None:
    """The moment so many ``seconds``, or other parts of a timedelta, after 1970, in UTC, to the microsecond; None
    before the year 1 and after 9999."""
    from datetime import UTC, datetime, timedelta

    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(**after)
    except OverflowError:
        return None


class _Scanned:
    """A common column as a scan of a message's text has it. In a class with a field of that name it is the field."""

    def __init__(self, column: str, convert: Callable[[Any], Any], words: str) -> None:
        self.column, self.convert, self.__doc__ = column, convert, words

    def __get__(self, message: Any, owner: type) -> Any:
        if _is_field(owner, self.column):
            if message is None or self.column not in vars(message):  # so that a dataclass finds no default
                raise AttributeError(f"{owner.__name__} has no value of {self.column} here", name=self.column)
            return vars(message)[self.column]
        return self if message is None else self._found(message)

    def __set__(self, message: Any, value: Any) -> None:
        owner: type = type(message)
        if not _is_field(owner, self.column):
            raise AttributeError(f"{self.column} of {owner.__name__} is computed and cannot be set")
        vars(message)[self.column] = value

    def _found(self, message: Any) -> Any:
        wire = _wire_of(type(message))
        if self.column == "wire":
            return wire.name
        batch = next(iter(registry.scanning()(wire.text(message).encode(), wire=wire.name)))
        if not batch.valid(self.column)[0]:
            return None
        value = batch[self.column][0]
        return self.convert(value if isinstance(value, str) else int(value))


@lru_cache(1024)  # classes that a program makes again and again are let go
def _is_field(cls: Any, name: str) -> bool:
    """True if a class, or one that it inherits from, has a field of that name: it is annotated."""
    return any(name in _annotations(base) for base in cls.__mro__)


def _annotations(cls: type) -> Mapping[str, Any]:
    if not hasattr(type, "__annotate__"):
        return vars(cls).get("__annotations__", {})  # type: ignore[no-any-return]
    lazy = import_module("annotationlib")  # since Python 3.14, where a name in them may be still to come
    return lazy.get_annotations(cls, format=lazy.Format.FORWARDREF)  # type: ignore[no-any-return]


def _scanned(column: str, convert: Callable[[Any], T], words: str) -> common[T]:
    return _Scanned(column, convert, words)  # type: ignore[return-value]


class Message(Serialisable):
    """A message of any wire. Those of the built-in wires are of this class, and so is one of a registered wire that
    inherits from it.

    ``wire kind sender receiver conversation sequence time subject`` have the values of these columns of a scan, or
    None. They are computed on each access and cannot be set, except what a class has fields (annotations) of that name
    for, as a dataclass has.
    """

    __slots__ = ()
    if TYPE_CHECKING:
        __wire__: ClassVar[str]

    wire = _scanned("wire", str, "The name of its wire.")
    kind = _scanned("kind", text_or_none, "Its kind (an act, an intent, a type), by the wire's own name.")
    sender = _scanned("sender", text_or_none, "The sender; numbers are decimal text.")
    receiver = _scanned("receiver", text_or_none, "The receiver; numbers are decimal text.")
    conversation = _scanned("conversation", text_or_none, "Its conversation, session, context or correlation.")
    sequence = _scanned("sequence", number_or_none, "Its number in the conversation.")
    time = _scanned("time", lambda value: moment(microseconds=value), "Its time, in UTC.")
    subject = _scanned("subject", text_or_none, "Its topic or main text.")


def refuse_unknown(cls: type, changes: Mapping[str, Any], known: Any) -> None:
    """Raises TypeError for a change of what is no field of a class."""
    for name in changes:
        if name not in known:
            raise TypeError(f"{cls.__name__} has no field {name!r}")


def expect_mapping(fields: object, wire: str, path: str | None = None) -> None:
    """Raises DecodeError(wrong_type) for what is no mapping."""
    if not isinstance(fields, Mapping):
        raise DecodeError(Reason.WRONG_TYPE, f"expected a mapping, not {type(fields).__name__}", wire=wire, path=path)


def expect_fields(fields: object, cls: type, wire: str, required: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Raises DecodeError(wrong_type|unknown_key|missing_field), with the field in ``path``, unless this is a mapping
    that has all the required fields of a class and no other ones than these and the optional ones."""
    expect_mapping(fields, wire)
    assert isinstance(fields, Mapping)
    for name in fields:
        if name not in required and name not in optional:
            raise DecodeError(Reason.UNKNOWN_KEY, f"{cls.__name__} has no field {name!r}", wire=wire, path=f"/{name}")
    for name in required:
        if name not in fields:
            raise DecodeError(Reason.MISSING_FIELD, f"{name} is required", wire=wire, path=f"/{name}")


def enc_hook(value: Any) -> Any:
    """Returns a message as plain JSON values: ``enc_hook=`` of msgspec, ``default=`` of orjson and json.

    It also accepts objects inside messages, if they have a ``to_dict``. Raises TypeError for anything else.
    """
    name = registry.wire_of(value)
    if name is None:
        raise TypeError(f"{type(value).__name__} is not a message of {', '.join(registry.names())}")
    return value.to_dict() if hasattr(value, "to_dict") else registry.wire(name).plain_values(value)


def dec_hook(cls: type, value: Any) -> Any:
    """Makes a message from the values of :func:`enc_hook`: ``dec_hook=`` of msgspec.

    Raises NotImplementedError for a class that is not a message class, DecodeError for values that are not a message.
    """
    if not isinstance(cls, type):
        raise TypeError(f"dec_hook expects a class, not {type(cls).__name__}")
    if registry.wire_of_class(cls) is None:
        raise NotImplementedError(f"{cls.__name__} is not a message of {', '.join(registry.names())}")
    if isinstance(value, cls):
        return value
    if hasattr(cls, "_validated"):
        return cls._validated(value)
    return cls.from_dict(value) if hasattr(cls, "from_dict") else made(cls, value)


def _arguments(cls: type) -> dict[str, bool]:
    """The arguments of a class that have names -> whether each must be given."""
    from inspect import Parameter, signature

    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return {one.name: one.default is one.empty for one in signature(cls).parameters.values() if one.kind in named}


def made(cls: type, fields: Mapping[str, Any]) -> Any:
    """A message of a registered wire from its plain values: of style "object" they are its JSON object, else the
    arguments of its class."""
    wire = _wire_of(cls)
    if wire.style == OBJECT:
        import json

        expect_mapping(fields, wire.name)
        found = wire.decode(json.dumps(fields, ensure_ascii=False))
    else:
        arguments = _arguments(cls)
        expect_fields(fields, cls, wire.name, [name for name, needed in arguments.items() if needed], arguments)
        try:
            found = cls(**fields)
        except TypeError as error:
            text = f"these are not the values of a {cls.__name__}: {error}"
            raise DecodeError(Reason.WRONG_TYPE, text, wire=wire.name) from error
        _expect_same_types(found, wire)
    if not isinstance(found, cls):
        raise DecodeError(Reason.UNKNOWN_KIND, f"this is {type(found).__name__}, not {cls.__name__}", wire=wire.name)
    return found


def _expect_same_types(message: Any, wire: Wire) -> None:
    """Raises DecodeError(wrong_type) unless the wire reads from a message's text values of the same types."""
    try:
        read = wire.plain_values(wire.decode(wire.text(message)))
    except Exception as error:
        text = f"these are not the values of a {type(message).__name__}: {error}"
        raise DecodeError(Reason.WRONG_TYPE, text, wire=wire.name) from error
    for name, value in wire.plain_values(message).items():
        if type(value) is not type(read.get(name)):
            text = f"{name} cannot be {type(value).__name__} here"
            raise DecodeError(Reason.WRONG_TYPE, text, wire=wire.name, path=f"/{name}")


def _wire_of(cls: type) -> Wire:
    name = registry.wire_of_class(cls)
    if name is None:
        raise TypeError(f"{cls.__name__} is not a message class of any wire: register its wire")
    return registry.wire(name)


DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of all JSON Schemas here."""


def without_dialect(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema as a part of a larger one: what ``$defs`` has stands where it is referred to."""
    definitions = schema.get("$defs", {})

    def part(value: Any) -> Any:
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/$defs/"):
                return part(definitions[reference.removeprefix("#/$defs/")])
            return {name: part(item) for name, item in value.items() if name not in ("$schema", "$id", "$defs")}
        return [part(item) for item in value] if isinstance(value, list) else value

    found: dict[str, Any] = part(schema)
    return found
