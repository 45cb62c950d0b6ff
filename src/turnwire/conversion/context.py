"""Contexts: what the caller of a conversion adds, and the names and ids that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from turnwire import registry
from turnwire.conversion.shapes import ABSENT, shape_of
from turnwire.errors import ConvertError, Reason
from turnwire.json import text as json_text
from turnwire.json.times import is_timestamp
from turnwire.sap.spec import UUID

LARGEST = (1 << 64) - 1
"""The largest number of nSLIP."""
_MAPPINGS: dict[str, type] = {"agents": int, "conversations": int, "ids": int, "uuids": str, "roles": str}


@dataclass(frozen=True, slots=True)
class Context:
    """Values that a target needs and a source lacks. Fields are filled from no other source.

    Args:
        agents: name of an agent -> its number in nSLIP (src, dst).
        conversations: name of a conversation (CTX, session_id, correlationId ...) -> its number in nSLIP (conv_id).
        ids: name of a task, parent task, goal, result or error code -> its number in nSLIP.
        uuids: name of a task or conversation -> its UUID in SAP and KickLang (KickLang needs version 4).
        roles: name of an agent in any other wire -> its role in KickLang.
        now: the time of a message whose source has none, as ``YYYY-MM-DDTHH:MM:SSZ``, or a function that returns it.
        new_id: returns a fresh UUID (version 4) for the id of an envelope, and the ids of a SAP Task that has none.
        defaults: wire -> path of a field there -> its value, where the source has none; for instance ``{"sap":
            {"constitutionalContext.pressureLevel": "instant"}, "csp": {"ERROR:block.id": "E1"}}`` (a path may begin
            with the kind of message). Values are those of the wire, or functions that return one.
        values: wire -> path of a field there -> the source's value (a word of ``tables``, a name, a text; a list or an
            object as JSON text) -> its replacement, such as ``{"csp": {"block.STATUS": {"blocked": "PARTIAL"}}}``.

    Values of the source are never replaced: defaults, now and new_id fill absent fields only. Every mapping must be one
    to one, since converting back applies it in reverse. A number without a name is written as decimal text ("3"), a
    decimal text without a number is that number, and a name without a role is the role, unless the mapping uses either
    for something else. Raises ConvertError(bad_context).
    """

    agents: Mapping[str, int] = field(default_factory=dict)
    conversations: Mapping[str, int] = field(default_factory=dict)
    ids: Mapping[str, int] = field(default_factory=dict)
    uuids: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    now: str | Callable[[], str] | None = None
    new_id: Callable[[], str] | None = None
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    names: Names = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, kind in _MAPPINGS.items():
            _check_mapping(name, getattr(self, name), kind)
        if not (self.now is None or callable(self.now) or (isinstance(self.now, str) and is_timestamp(self.now))):
            text = f"now must be a time such as 2026-01-15T08:00:00Z, or a function that returns one, not {self.now!r}"
            raise bad_context(text, "now")
        if not (self.new_id is None or callable(self.new_id)):
            raise bad_context(f"new_id must be a function that returns a fresh UUID, not {self.new_id!r}", "new_id")
        for name in ("defaults", "values"):
            _check_fields(name, getattr(self, name))
        for wire, paths in self.values.items():
            for path, mapping in paths.items():
                if not isinstance(mapping, Mapping) or not all(isinstance(key, str) for key in mapping):
                    raise bad_context("the values of a field must map texts to values", f"values.{wire}.{path}")
        for name in (*_MAPPINGS, "defaults", "values"):  # copies: one to one now is one to one for good
            object.__setattr__(self, name, _copied(getattr(self, name), 3 if name == "values" else 2))
        object.__setattr__(self, "names", Names(self))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Context:
        """Makes a context from the plain values of a TOML or JSON file. Raises ConvertError(bad_context)."""
        if not isinstance(values, Mapping):
            raise bad_context("a context must be a table")
        known = {one.name for one in fields(cls) if one.init} - {"new_id"}
        if unknown := sorted(map(str, values.keys() - known)):
            raise bad_context(f"{unknown[0]!r} is not one of {', '.join(sorted(known))}", unknown[0])
        if not isinstance(values.get("now"), (str, type(None))):
            raise bad_context("now must be a time as text", "now")
        return cls(**values)

    def replace(self, **changes: Any) -> Context:
        """A copy with some parts replaced."""
        return Context(**{**{one.name: getattr(self, one.name) for one in fields(self) if one.init}, **changes})


def bad_context(text: str, path: str | None = None) -> ConvertError:
    """The error for a context that is none: a mapping that is not one to one, a value of the wrong type."""
    return ConvertError(Reason.BAD_CONTEXT, text, path=path)


def _copied(table: Any, levels: int) -> Any:
    """A copy of a mapping, and of the mappings in it down to so many levels."""
    if not levels or not isinstance(table, Mapping):
        return table
    return {key: _copied(value, levels - 1) for key, value in table.items()}


def _check_mapping(name: str, mapping: Any, kind: type) -> None:
    if not isinstance(mapping, Mapping):
        raise bad_context(f"{name} must map names to values", name)
    seen: dict[Any, str] = {}
    for key, value in mapping.items():
        if not isinstance(key, str) or not isinstance(value, kind) or isinstance(value, bool):
            raise bad_context(f"{key!r} is mapped to {value!r}; a {kind.__name__} is required", name)
        if name == "uuids" and not UUID.fullmatch(str(value)):
            raise bad_context(f"{key!r} is mapped to {value!r}, which is not a UUID", name)
        if isinstance(value, int) and not 0 <= value <= LARGEST:
            raise bad_context(f"{key!r} is mapped to {value}, which is not an nSLIP number", name)
        mark = str(value).lower() if name == "uuids" else value
        if mark in seen:
            raise bad_context(f"{seen[mark]!r} and {key!r} are both mapped to {value!r}", name)
        seen[mark] = key


def _check_fields(name: str, given: Any) -> None:
    """``defaults`` and ``values``: wire -> path of a field that a conversion writes -> something."""
    if not isinstance(given, Mapping):
        raise bad_context(f"{name} must map a wire to its fields", name)
    for wire, paths in given.items():
        if wire not in registry.names():
            raise bad_context(f"{wire!r} is not a wire", name)
        if not isinstance(paths, Mapping) or not all(isinstance(path, str) for path in paths):
            raise bad_context(f"the {name} of a wire must map paths to values", f"{name}.{wire}")
        kinds = shape_of(wire).places.items()
        written = {(kind, place.path) for kind, places in kinds for place in places if place.need != "read"}
        known = {path for _, path in written} | {f"{kind}:{path}" for kind, path in written}
        for path in paths:
            if path not in known:
                raise bad_context(f"{path!r} is not a field of {wire} that a conversion writes", f"{name}.{wire}")


class Names:
    """A context made ready: each mapping in both directions, with the ids that names were given since.

    A name is given an id, the same one each time, where the context has ``new_id`` (a UUID from that, or the next free
    number) and fewer than ``room`` names of its mapping were given one.

    Args:
        context: what the caller said.
        room: how many names of each mapping are given ids. A single message has no next one, so it assigns none.
    """

    def __init__(self, context: Context, room: int = 0) -> None:
        self.context = context
        self.room = room
        self.gives = True
        self._forth: dict[str, dict[str, Any]] = {name: dict(getattr(context, name)) for name in _MAPPINGS}
        self._back = {
            name: {_folded(value): key for key, value in table.items()} for name, table in self._forth.items()
        }
        self._next = dict.fromkeys(_MAPPINGS, 1)
        self._given = dict.fromkeys(_MAPPINGS, 0)
        self._learned: list[tuple[str, str]] = []  # names that were given ids since ``keep``
        self.mappers: dict[Any, Any] = {}
        """Wire, or class of messages -> its fields and their facts by these names (``facts.mapper``)."""

    @cached_property
    def plain(self) -> Names:
        """The same names, without what the context gives: none is given an id. To see what survives."""
        made = copy(self)
        made.room, made.gives, made.mappers = 0, False, {}
        return made

    def mapped(self, mapping: str, name: str) -> Any:
        """The value that a name is mapped to, or the name itself where none is mapped to it."""
        found = self._forth[mapping].get(name, ABSENT)
        return name if found is ABSENT and self.back(mapping, name) is ABSENT else found

    def back(self, mapping: str, value: Any) -> Any:
        """The name that is mapped to a value, or ABSENT."""
        table = self._back[mapping]
        found = table.get(value, ABSENT) if table else ABSENT
        return table.get(_folded(value), ABSENT) if found is ABSENT and table else found

    def number(self, mapping: str, name: str) -> Any:
        """The number of a name: as mapped, or what a decimal text says; ABSENT if neither holds."""
        found = self._forth[mapping].get(name, ABSENT)
        if found is not ABSENT:
            return found
        if not (name.isascii() and name.isdigit() and len(name) <= 20) or (name[0] == "0" and name != "0"):
            return ABSENT
        value = int(name)
        return value if value <= LARGEST and self.back(mapping, value) is ABSENT else ABSENT

    def learn(self, mapping: str, name: str) -> Any:
        """A new id for a name, or ABSENT if none may be given."""
        make = self.context.new_id
        if make is None or self._given[mapping] >= self.room:
            return ABSENT
        value: Any = make() if mapping == "uuids" else self._next[mapping]
        if mapping != "uuids":
            while self.back(mapping, value) is not ABSENT:
                value += 1
            self._next[mapping] = value + 1
        self._given[mapping] += 1
        self._forth[mapping][name] = value
        self._back[mapping][_folded(value)] = name
        self._learned.append((mapping, name))
        return value

    def keep(self) -> None:
        """Keeps the ids that names were given so far."""
        self._learned.clear()

    def take_back(self) -> None:
        """Takes the ids back that names were given since ``keep``."""
        while self._learned:
            mapping, name = self._learned.pop()
            value = self._forth[mapping].pop(name)
            del self._back[mapping][_folded(value)]
            self._given[mapping] -= 1
            if mapping != "uuids":
                self._next[mapping] = value

    def name(self, mapping: str, value: Any) -> Any:
        """The name of a value: as mapped, or its own text where that is not mapped to another one."""
        if self._back[mapping] and (found := self.back(mapping, value)) is not ABSENT:
            return found
        text = str(value)
        return ABSENT if text in self._forth[mapping] else text

    def default(self, wire: str, kind: str, path: str) -> Any:
        """The caller's value for a field of a kind of message, or ABSENT."""
        found = self.unasked(wire, kind, path)
        return found() if callable(found) else found

    def unasked(self, wire: str, kind: str, path: str) -> Any:
        """Like :meth:`default`, but a function is returned, not called."""
        values = self.context.defaults.get(wire, {})
        return values.get(f"{kind}:{path}", values.get(path, ABSENT))

    def as_context(self) -> Context:
        """The context with what was learned: what a conversion of single messages needs to say the same."""
        return self.context.replace(**self._forth)


def as_key(fact: Any) -> str:
    """A key of ``values`` for what a source says: a text as it is, anything else as JSON text."""
    return fact if isinstance(fact, str) else json_text.write(fact)


def _folded(value: Any) -> Any:
    """A UUID in lower case; anything else as it is."""
    if not isinstance(value, str) or len(value) != 36:
        return value
    return value.lower() if value[8] == value[13] == value[18] == value[23] == "-" else value


NO_CONTEXT = Context()
