"""How a thin message class shows the fields of its object as attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, overload

from turnwire.json.held import maker
from turnwire.sap.spec import KEYS, WIRE, Table

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")


class JsonObject:
    """An object of SAP: a view of a dict, which keeps unknown fields, nulls and the order of keys.

    Attributes:
        fields: the dict itself, by the names of the wire; what is changed there is changed here.

    A field is an attribute (``task.task_id``), None when it is absent; setting one to None takes it away, but for the
    fields where null means something (parentTaskId, output), which ``del`` takes away. Unknown fields are reached by
    ``record["name"]``. Nothing is checked before it is written, or by ``check``.
    """

    __slots__ = ("_fields", "_held", "_source")
    __hash__ = None  # type: ignore[assignment]
    TABLE: ClassVar[Table]
    MEMBERS: ClassVar[dict[str, JsonField[Any]]] = {}
    DEFAULTS: ClassVar[dict[str, Any]] = {}

    _fields: dict[str, Any]
    _held: str | bytes
    """Of a message that was read and that nothing is to be said about, while its dict is still to be made: its text."""
    _source: str | bytes | bool | None
    """Of a message that was read and found sound, until something that can be changed is handed out or set: its text,
    where it is known to be what writing the fields gives, or True; else None."""

    def __init__(self, **values: Any) -> None:
        set_fields(self, {})
        set_source(self, None)
        for name in values:
            if name not in self.MEMBERS and name not in _wire_names(type(self)):
                raise TypeError(f"{_unknown(type(self), name)}; unknown fields go into .fields")
        for attribute, member in self.MEMBERS.items():
            if attribute in values or member.name in values:
                member.__set__(self, values.get(attribute, values.get(member.name)))
            elif member.name in self.DEFAULTS:
                self.fields[member.name] = self.DEFAULTS[member.name]

    def __init_subclass__(cls, table: Table | None = None) -> None:
        cls.MEMBERS = {name: value for name, value in vars(cls).items() if isinstance(value, JsonField)}
        if table is not None:
            cls.TABLE = table
            # Section 10 wants envelopes that map 1:1 to dataclasses: this only lists the fields, the descriptors stay.
            dataclass(init=False, repr=False, eq=False)(cls)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """A record over the given dict (kept, not copied), unknown fields and all; not checked."""
        made = cls.__new__(cls)
        set_fields(made, fields if isinstance(fields, dict) else dict(fields))
        set_source(made, None)
        return made

    @property
    def fields(self) -> dict[str, Any]:
        """The dict itself, by the names of the wire."""
        fields = fields_of(self)
        set_source(self, None)
        return fields

    @fields.setter
    def fields(self, fields: dict[str, Any]) -> None:
        set_fields(self, fields)
        set_source(self, None)

    def to_dict(self) -> dict[str, Any]:
        """A copy, through and through, of the fields as JSON values."""
        return cast("dict[str, Any]", plain(fields_of(self)))

    def replace(self, **values: Any) -> Self:
        """A copy with some fields changed; unknown fields stay."""
        made = self.from_dict(self.to_dict())
        for name, value in values.items():
            if name not in self.MEMBERS:
                raise TypeError(_unknown(type(self), name))
            self.MEMBERS[name].__set__(made, value)
        return made

    __replace__ = replace

    @property
    def extra(self) -> dict[str, Any]:
        """The fields that the specification does not know (a copy)."""
        known = _wire_names(type(self))
        return {name: value for name, value in self.fields.items() if name not in known}

    def get(self, name: str, default: Any = None) -> Any:
        """A field by its name on the wire."""
        return self[name] if name in fields_of(self) else default

    def __getitem__(self, name: str) -> Any:
        value = fields_of(self)[name]
        if isinstance(value, (dict, list)):
            set_source(self, None)
        return value

    def __contains__(self, name: object) -> bool:
        return name in fields_of(self)

    def __iter__(self) -> Iterator[str]:
        return iter(fields_of(self))

    def __getattr__(self, name: str) -> Any:
        """A known field by its name on the wire (``task.taskId``); the dict, where it is still to be made."""
        if name == "_fields":
            return fields_of(self)
        for member in type(self).MEMBERS.values():
            if member.name == name:
                return member.__get__(self, type(self))
        raise AttributeError(_unknown(type(self), name))

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            raise AttributeError(_unknown(type(self), name)) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JsonObject) or type(other) is not type(self):
            return NotImplemented
        return self._fields == other._fields

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        from turnwire.showing import fields

        return fields(type(self).__name__, self.fields.items())

    def __copy__(self) -> Self:
        return self.from_dict(dict(self.fields))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.fields,)


set_fields = JsonObject.__dict__["_fields"].__set__
"""Puts a dict under a record, as ``record.fields = ...`` does, without the way over ``__setattr__``."""
set_source = JsonObject.__dict__["_source"].__set__
"""Sets the text of a record, or None."""
fields_of = maker(JsonObject, WIRE, KEYS)
"""The dict of a record; quicker than ``record._fields`` where it is still to be made."""


def _unknown(cls: type[JsonObject], name: str) -> str:
    """That there is no such attribute, and which one may have been meant (``task_id`` for ``taskId`` or ``taskid``)."""
    from difflib import get_close_matches

    alike = {_folded(spelt): known for known, member in cls.MEMBERS.items() for spelt in (known, member.name)}
    near = [] if name.startswith("__") else get_close_matches(_folded(name), alike, 1, 0.75)
    hint = f"; did you mean {alike[near[0]]!r}?" if near else ""
    return f"{cls.__name__} has no field {name!r}{hint}"


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _wire_names(cls: type[JsonObject]) -> set[str]:
    return {member.name for member in cls.MEMBERS.values()}


def plain(value: Any) -> Any:
    """A copy of a value in which every record is a dict, every tuple a list and every enum member its value."""
    kind = type(value)
    if kind in _PLAIN:  # most values, and quicker than what follows
        return value
    if kind is dict:
        return {name if type(name) is str else str(name): plain(item) for name, item in value.items()}
    if kind is list:
        return [plain(item) for item in value]
    if isinstance(value, JsonObject):
        return plain(value._fields)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value


_PLAIN = frozenset({str, int, float, bool, type(None)})


class JsonField(Generic[T]):
    """One field of a record as an attribute.

    Args:
        name: the field's name on the wire.
        shape: a JsonObject class to show an object in, or an Enum class to show a known value in.
        many: an array of that shape, shown as a tuple.
        nullable: None is written as null instead of taking the field away.
    """

    __slots__ = ("many", "name", "nullable", "shape")

    def __init__(
        self, name: str, shape: type[Any] | None = None, *, many: bool = False, nullable: bool = False
    ) -> None:
        self.name = name
        self.shape = shape
        self.many = many
        self.nullable = nullable

    @overload
    def __get__(self, record: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, record: JsonObject, owner: type[Any]) -> T: ...
    def __get__(self, record: JsonObject | None, owner: type[Any]) -> Self | T:
        if record is None:
            return self
        value: Any = fields_of(record).get(self.name)
        if isinstance(value, (dict, list)):
            set_source(record, None)
        if value is None or self.shape is None:
            found = value
        elif self.many and isinstance(value, Sequence):
            found = tuple(_shown(item, self.shape) for item in value)
        else:
            found = _shown(value, self.shape)
        return found  # type: ignore[no-any-return]

    def __set__(self, record: JsonObject, value: T) -> None:
        if value is None and not self.nullable:
            record.fields.pop(self.name, None)
        elif isinstance(value, JsonObject):
            record.fields[self.name] = value.fields
        elif isinstance(value, Enum):
            record.fields[self.name] = value.value
        else:
            record.fields[self.name] = plain(value) if isinstance(value, (tuple, list)) else value

    def __delete__(self, record: JsonObject) -> None:
        record.fields.pop(self.name, None)

    def __repr__(self) -> str:
        return f"<field {self.name}>"


def _shown(value: Any, shape: type[Any]) -> Any:
    """A value as its shape shows it; as it is where it has the wrong type."""
    if issubclass(shape, JsonObject):
        return shape.from_dict(value) if isinstance(value, dict) else value
    return shape._value2member_map_.get(value, value) if isinstance(value, str) else value
