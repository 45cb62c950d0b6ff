"""The contract of messages: the values and the abilities that a message of any wire has.

The built-in wires give the values themselves. A message of a registered wire has them by inheriting from
:class:`Message`, where they are what a scan says of its text.
"""

from __future__ import annotations

from collections.abc import Mapping

from turnwire import registry
from turnwire.contract import OBJECT
from turnwire.errors import DecodeError, Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any, ClassVar, Self

    from turnwire.contract import Wire


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
        return {"type": "object", "title": cls.__name__}

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


def _scanned(column: str, words: str) -> Any:
    """A property of messages: the value that a scan of their text has in a common column."""

    def value_of(message: Message) -> Any:
        wire = _wire_of(type(message))
        batch = next(iter(registry.scanning()(wire.text(message).encode(), wire=wire.name)))
        if not batch.valid(column)[0]:
            return None
        value = batch[column][0]
        if column == "time":
            return moment(microseconds=int(value))
        return value if isinstance(value, str) else int(value)

    return property(value_of, doc=words)


class Message(Serialisable):
    """A message of any wire.

    ``wire kind sender receiver conversation sequence time subject`` have the values of these columns of a scan, or
    None. They are computed on each access.
    """

    __slots__ = ()
    if TYPE_CHECKING:
        __wire__: ClassVar[str]

    @property
    def wire(self) -> str:
        """The name of its wire."""
        return _wire_of(type(self)).name

    kind = _scanned("kind", "Its kind (an act, an intent, a type), by the wire's own name.")
    sender = _scanned("sender", "The sender; numbers are decimal text.")
    receiver = _scanned("receiver", "The receiver; numbers are decimal text.")
    conversation = _scanned("conversation", "Its conversation, session, context or correlation.")
    sequence = _scanned("sequence", "Its number in the conversation.")
    time = _scanned("time", "Its time, in UTC.")
    subject = _scanned("subject", "Its topic or main text.")


def refuse_unknown(cls: type, changes: Mapping[str, Any], known: Any) -> None:
    """Raises TypeError for a change of what is no field of a class."""
    for name in changes:
        if name not in known:
            raise TypeError(f"{cls.__name__} has no field {name!r}")


def expect_mapping(fields: object, wire: str, path: str | None = None) -> None:
    """Raises DecodeError(wrong_type) for what is no mapping."""
    if not isinstance(fields, Mapping):
        raise DecodeError(Reason.WRONG_TYPE, f"expected a mapping, not {type(fields).__name__}", wire=wire, path=path)


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


def made(cls: type, fields: Mapping[str, Any]) -> Any:
    """A message of a registered wire from its plain values: of style "object" they are its JSON object, else the
    arguments of its class."""
    wire = _wire_of(cls)
    expect_mapping(fields, wire.name)
    if wire.style == OBJECT:
        import json

        found = wire.decode(json.dumps(fields, ensure_ascii=False))
    else:
        try:
            found = cls(**fields)
        except TypeError as error:
            raise DecodeError(
                Reason.WRONG_TYPE, f"not the fields of {cls.__name__}: {error}", wire=wire.name
            ) from error
    if not isinstance(found, cls):
        raise DecodeError(Reason.UNKNOWN_KIND, f"this is {type(found).__name__}, not {cls.__name__}", wire=wire.name)
    return found


def _wire_of(cls: type) -> Wire:
    name = registry.wire_of_class(cls)
    if name is None:
        raise TypeError(f"{cls.__name__} is not a message class of any wire: register its wire")
    return registry.wire(name)


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


def column(name: str, convert: Callable[[Any], Any], words: str) -> Any:
    """A property of messages that gives another attribute of theirs, in the form of a column of a scan."""
    return property(lambda message: convert(getattr(message, name)), doc=words)


def moment(**after: float) -> datetime | None:
    """The moment so many ``seconds``, or other parts of a timedelta, after 1970, in UTC, to the microsecond; None
    before the year 1 and after 9999."""
    from datetime import UTC, datetime, timedelta

    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(**after)
    except OverflowError:
        return None


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
