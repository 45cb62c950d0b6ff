"""Stand-ins for ``typing`` at run time, without its import: that alone costs a quarter of ``import turnwire``.

Type checkers do not look in here: where these names are used, ``if TYPE_CHECKING:`` shows them those of ``typing``.
"""

from __future__ import annotations

from collections import namedtuple


class _Maker(type):
    """Makes a named tuple of a class body: annotated names are the fields, what is assigned to them the defaults."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = body["__annotations__"]
        assert isinstance(fields, dict)
        defaults = [body.pop(field) for field in fields if field in body]
        made: type = namedtuple(name, fields, defaults=defaults, module=str(body["__module__"]))  # type: ignore[misc]
        for key, value in body.items():
            if key not in ("__module__", "__qualname__"):
                setattr(made, key, value)
        return made


class NamedTuple(metaclass=_Maker):
    """``typing.NamedTuple``, as far as it is used here."""
