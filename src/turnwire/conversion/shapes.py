"""The shape of a wire: converts a message to a flat table of fields and back.

A path is a tuple of names such as ``("slots", "TAG")``; as text, its names are joined by dots: ``slots.TAG``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import registry
from turnwire.errors import UnknownName

if TYPE_CHECKING:
    from turnwire.conversion.context import Names
    from turnwire.conversion.tables import Place

Path = tuple[str, ...]
Fields = dict[Path, Any]
"""Path -> value, in the order in which the message has them."""
Facts = dict[str, Any]

_UNSAFE = re.compile(r"([\\.])")
_PART = re.compile(r"(?:^|\.)((?:[^\\.]|\\.)*)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class _Absent:
    """A value that is not there (None is a value: JSON's null)."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Any = _Absent()


@lru_cache(4096)
def shown(path: Path) -> str:
    """Returns the path as text, with a backslash before each dot or backslash in a name."""
    return ".".join(_UNSAFE.sub(r"\\\1", part) for part in path)


def parsed(text: str) -> Path:
    """Returns the path of a text; the reverse of :func:`shown`."""
    return tuple(_ESCAPED.sub(r"\1", part) for part in _PART.findall(text))


def pointed(text: str) -> str:
    """Converts the JSON pointer of an issue to a path as text; other text is returned unchanged."""
    if not text.startswith("/"):
        return text
    return shown(tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")))


_USUAL = 64
"""Members at most of which the paths are kept for the next message: those of hostile ones would fill the memory."""


def same(left: Any, right: Any) -> bool:
    """True if two JSON values are the same in value, type and order of keys: 1 is not 1.0, and not true."""
    if left is right:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(map(same, left.values(), right.values()))
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, str) and isinstance(right, str):
        return str(left) == str(right)
    return type(left) is type(right) and (left == right) and repr(left) == repr(right)


def flat(values: dict[str, Any], opened: frozenset[Path], above: Path = ()) -> Fields:
    """Returns the members of an object as fields. opened: the paths of the objects whose members are fields of their
    own; any other value, even an empty object, is one field."""
    paths = (_paths if len(values) <= _USUAL else _paths.__wrapped__)(above, tuple(values))
    if opened.isdisjoint(paths):
        return dict(zip(paths, values.values(), strict=True))
    fields: Fields = {}
    for path, value in zip(paths, values.values(), strict=True):
        if path in opened and value and isinstance(value, dict):
            fields |= flat(value, opened, path)
        else:
            fields[path] = value
    return fields


@lru_cache(256)
def _paths(above: Path, names: tuple[str, ...]) -> list[Path]:
    """The paths of the members of an object."""
    return [(*above, name) for name in names]


def nested(fields: Fields) -> dict[str, Any]:
    """Returns the object with these fields, the reverse of ``flat``."""
    whole: dict[str, Any] = {}
    values = iter(fields.values())
    for above, names in (_members if len(fields) <= _USUAL else _members.__wrapped__)(tuple(fields)):
        inner = whole
        for name in above:
            inner = inner.setdefault(name, {})
        inner.update(zip(names, values))  # noqa: B905 (the values go on)
    return whole


@lru_cache(256)
def _members(paths: tuple[Path, ...]) -> list[tuple[Path, list[str]]]:
    """The paths of objects and the names of their members, of paths in a row."""
    return [(above, [path[-1] for path in row]) for above, row in groupby(paths, lambda path: path[:-1])]


class Shape(NamedTuple):
    """The description of a wire for conversion (``Wire.shape``).

    Of single messages:

    - split, join: message -> fields, in the message's own order, and back; join(split(message)) == message.
    - kind: fields -> (act or None, kind as in ``places``). begin: (act, facts) -> (kind, fields that the kind fixes).
      An act is one of ``tables.ACTS``.
    - places: kind ("" where all kinds have the same fields) -> its fields, in the order in which they are written.
    - facts: what fields say beyond ``places``. finish: completes fields by the facts, and returns the paths that are
      needed beyond ``places``; finishes: the paths that it may add, None if these are not known.
    - carry: the field that keeps what the wire has no field for, or None; carry_text: whether as JSON text.
    - unseen: fields about where a message was read, which are not part of its content.
    - words: "status" and "priority" -> the wire's word for each of ``tables.STATUSES`` and ``PRIORITIES`` (those of the
      built-in wires are in these tables); open_words: whether its status may be any other word, too.
    - fresh: (kind, path) of the fields that ``Context.new_id`` may fill.
    - tells: the fields that determine the kind; error messages use them. near: fields -> the kind of the message if it
      is only the nearest kind of its act; None if it is the act's own.

    Of conversations:

    - counts: how messages are numbered: "conversation" (all of one together), "sender" (those of each speaker in one),
      or "" (not at all).
    - stateful: the first state, where all messages are one history and the field of the conversation, at
      ``state_path``, names its state. moves: fields -> (state before the message, state after it), (None, None) where
      the state does not change.
    - tasks_alone: whether the name of a task is unique in all conversations.
    - opens: whether the first question of a conversation has the conversation's name as its own id, and names no
      conversation.
    - asked_first: the clause that an answer without a request violates. by_others: the clause that is violated if the
      requester answers, not the worker.
    - numbered: "kind:path" of ids that messages number within their history -> the letter before the number.
    """

    split: Callable[[Any], Fields]
    join: Callable[[Fields], Any]
    kind: Callable[[Fields], tuple[str | None, str]]
    begin: Callable[[str, Facts], tuple[str, Fields]]
    places: Mapping[str, tuple[Place, ...]]
    facts: Callable[[Fields, str, Names], Facts] = lambda fields, kind, names: {}
    finish: Callable[[Fields, Facts, Names], tuple[Path, ...]] = lambda fields, facts, names: ()
    carry: Path | None = None
    carry_text: bool = False
    unseen: frozenset[Path] = frozenset()
    words: Mapping[str, Mapping[str, Any]] = {}
    open_words: bool = False
    fresh: frozenset[tuple[str, Path]] = frozenset()
    tells: tuple[Path, ...] = ()
    near: Callable[[Fields], str | None] = lambda fields: None
    counts: str = ""
    stateful: str = ""
    state_path: str = ""
    tasks_alone: bool = False
    opens: bool = False
    asked_first: str = ""
    by_others: str = ""
    moves: Callable[[Fields], tuple[str | None, str | None]] = lambda fields: (None, None)
    numbered: Mapping[str, str] = {}
    finishes: frozenset[Path] | None = None

    @property
    def kind_path(self) -> str:
        """The path of the field that determines the kind of a message, as text."""
        return shown(self.tells[0]) if self.tells else "kind"

    def kind_name(self, fields: Fields) -> str:
        """The kind of message of some fields, for people."""
        told = [str(fields[path]) for path in self.tells if path in fields]
        return "/".join(told) or self.kind(fields)[1] or "message"


def shape_of(wire: str) -> Shape:
    """Returns the shape of a wire. Raises UnknownName for a wire without one."""
    found: Shape | None = registry.wire(wire).shape
    if found is None:
        text = f"{wire} does not define the meaning of its fields (Wire.shape), so it cannot be converted"
        raise UnknownName("wire", wire, text=text)
    return found
