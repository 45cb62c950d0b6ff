"""The objects of messages: parsed from their text on first use, and copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from turnwire import _backend
from turnwire.json.text import reader

if TYPE_CHECKING:
    from turnwire.json import _codec_py as _core
else:
    _core = _backend.load("json.codec")

copied = _core.copied
member = _core.member


class HeldText:
    """A message over its JSON object, or over the text that was read until somebody asks for the object."""

    __slots__ = ("_fields", "_text", "_source")
    _fields: dict[str, Any]
    _text: str | bytes | None
    """The text of a message that was read, until something that can be changed is handed out or set; else None."""
    _source: str | bytes | int | None
    """Of a message of which no rule says anything, until then: True, or its text, where writing it gives just that, or
    how many characters that text has, for the codec; else None."""
    _made: ClassVar[Callable[[Any], dict[str, Any]]]
    """Gives the object, and makes it first where it has to: see :func:`maker`."""

    def __getattr__(self, name: str) -> Any:
        if name == "_fields":  # it is still to be made
            return type(self)._made(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


class LazyObject(HeldText):
    """One whose object is handed out."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Self:
        """Returns a message that wraps ``fields`` itself, without validation."""
        made = cls.__new__(cls)
        set_fields(made, fields)
        forget_text(made)
        return made

    @property
    def fields(self) -> dict[str, Any]:
        """The whole JSON object, by the names of the wire and in its own order; changes to it change the message."""
        fields = type(self)._made(self)
        forget_text(self)
        return fields

    @fields.setter
    def fields(self, fields: dict[str, Any]) -> None:
        set_fields(self, fields)
        forget_text(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazyObject) or type(self) is not type(other):
            return NotImplemented
        return self._fields == other._fields

    def __reduce__(self) -> tuple[Any, ...]:
        if self._text is None:
            return type(self).of, (self._fields,)
        return of_text, (type(self), self._text, self._source)


set_fields = HeldText.__dict__["_fields"].__set__
"""Puts an object under a message, without the way over ``__setattr__``."""
set_source = HeldText.__dict__["_source"].__set__
set_text = HeldText.__dict__["_text"].__set__


def forget_text(message: HeldText) -> None:
    """Drops the text of a message that was changed, or of which something that can be changed was handed out."""
    set_source(message, None)
    set_text(message, None)


def of_text(cls: type[HeldText], text: str | bytes, source: str | bytes | int | None) -> HeldText:
    """A copy of a message that was read and has not changed."""
    made = cls.__new__(cls)
    set_text(made, text)
    set_source(made, source)
    cls._made(made)
    return made


def maker(
    wire: str, keys: tuple[str, ...], after: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> Callable[[Any], dict[str, Any]]:
    """Return a function that gives the object of a message, and makes it if the message holds its text only.

    ``wire`` and ``keys``: how the text is read, as for :func:`turnwire.json.text.reader`. after: what is done with the
    object then. All who ask get the same
    object, on whatever thread. Raises AttributeError for a message that has neither.
    """
    read = reader(wire, keys).read
    whole = read if after is None else lambda text: after(read(text))
    return _core.Maker(HeldText.__dict__["_fields"], HeldText.__dict__["_text"], whole)


def plain(value: Any) -> Any:
    """A copy of a value in which messages and records are dicts, tuples lists, and members of enums their values."""
    return copied(value, _plain_of)


def _plain_of(value: Any) -> Any:
    if isinstance(value, LazyObject):
        return plain(value._fields)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value
