"""What a conversion took out of a context: a reader needs it as well."""

from __future__ import annotations

from typing import Any

from turnwire.conversion.context import Context, Names, as_key
from turnwire.conversion.converting import Options, converted, names_of
from turnwire.conversion.paths import ABSENT, Path, shown


class NotedNames(Names):
    """The names of a context; ``used`` holds each entry that was found in it, in the form of ``Context.from_dict``."""

    def __init__(self, context: Context, used: dict[str, Any]) -> None:
        super().__init__(context)
        self.used = used

    def _note(self, value: Any, *path: str) -> Any:
        if value is not ABSENT:
            held: dict[str, Any] = self.used
            for step in path[:-1]:
                held = held.setdefault(step, {})
            held[path[-1]] = value
        return value

    def forth(self, mapping: str, name: str) -> Any:
        return self._note(super().forth(mapping, name), mapping, name)

    def back(self, mapping: str, value: Any) -> Any:
        found = super().back(mapping, value)
        if found is not ABSENT:
            self._note(value, mapping, found)
        return found

    def default(self, wire: str, kind: str, path: str) -> Any:
        return self._note(super().default(wire, kind, path), "defaults", wire, path)

    def explicit(self, wire: str, path: Path, fact: Any) -> Any:
        return self._note(super().explicit(wire, path, fact), "values", wire, shown(path), as_key(fact))


def noted(message: Any, to: str, context: Context | None, options: Options, used: dict[str, Any]) -> Any:
    """The message in another wire. ``used`` takes the entries of the context that were found on the way, also where
    the conversion fails. Raises as ``convert`` does."""
    return converted(message, to, NotedNames(names_of(context).context, used), options).message
