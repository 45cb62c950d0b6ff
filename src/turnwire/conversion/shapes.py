"""What the conversion knows of each wire: how a message becomes a flat table of fields and is made from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import registry
from turnwire.conversion.paths import Fields, Path, shown
from turnwire.errors import UnknownName

if TYPE_CHECKING:
    from turnwire.conversion.context import Names
    from turnwire.conversion.tables import Place

Facts = dict[str, Any]


def _no_facts(fields: Fields, kind: str, names: Names) -> Facts:
    return {}


def _nothing_more(fields: Fields, facts: Facts, names: Names) -> tuple[Path, ...]:
    return ()


def _not_moving(fields: Fields) -> tuple[str | None, str | None]:
    return None, None


def _not_near(fields: Fields) -> str | None:
    return None


class Shape(NamedTuple):
    """One wire (``Wire.shape``).

    split, join: message -> fields, in the message's own order, and back; join(split(message)) == message.
    kind: fields -> (act or None, kind as in ``places``). begin: (act, facts) -> (kind, fields that the kind fixes); act
    is one of ``tables.ACTS``. places: kind ("" where all kinds have the same fields) -> its fields, in the order in
    which they are written. facts: what fields say beyond ``places``. finish: completes fields by the facts, and gives
    the paths that are needed beyond ``places``. carry: the field that holds what was carried, or None; carry_text:
    whether as JSON text. unseen: fields that tell where a message was read rather than what it says. words: "status"
    and "priority" -> the word of the wire for each of ``tables.STATUSES`` and ``PRIORITIES`` (those of the built-in
    wires are there); open_words: whether its status may be any other word, too. fresh: (kind, path) of the fields
    that ``Context.new_id`` may fill. tells: the fields that tell the kind, by which errors name it. near: fields of a
    message -> its kind, where that is the nearest only although it is read as the same act, else None.

    Of conversations: counts: how messages are numbered: all of one ("conversation"), those of each speaker in one
    ("sender"), or not at all (""). stateful: the first state, where the field of the conversation (at ``state_path``)
    names a state and all messages are one history. tasks_alone: whether the name of a task tells it from all others,
    those of other conversations, too. opens: whether a question that begins a conversation has its name as its own id,
    and no conversation yet. asked_first: the clause that an answer to what nobody asked for breaks. by_others: where
    whoever answers is the one who does the work, the clause that an answer of who asked for it breaks. moves: fields ->
    the state from which, and that to which a message leads, None and None where it leads nowhere. numbered:
    "kind:path" of ids that messages number within their history -> the letter in front. by_task: whether what the
    checklist asks of several messages concerns those of one task, rather than of a whole conversation.
    """

    split: Callable[[Any], Fields]
    join: Callable[[Fields], Any]
    kind: Callable[[Fields], tuple[str | None, str]]
    begin: Callable[[str, Facts], tuple[str, Fields]]
    places: Mapping[str, tuple[Place, ...]]
    facts: Callable[[Fields, str, Names], Facts] = _no_facts
    finish: Callable[[Fields, Facts, Names], tuple[Path, ...]] = _nothing_more
    carry: Path | None = None
    carry_text: bool = False
    unseen: frozenset[Path] = frozenset()
    words: Mapping[str, Mapping[str, Any]] = {}
    open_words: bool = False
    fresh: frozenset[tuple[str, Path]] = frozenset()
    tells: tuple[Path, ...] = ()
    near: Callable[[Fields], str | None] = _not_near
    counts: str = ""
    stateful: str = ""
    state_path: str = ""
    tasks_alone: bool = False
    opens: bool = False
    asked_first: str = ""
    by_others: str = ""
    moves: Callable[[Fields], tuple[str | None, str | None]] = _not_moving
    numbered: Mapping[str, str] = {}
    by_task: bool = False

    @property
    def kind_path(self) -> str:
        """The path of the field that tells the kind of a message, as text."""
        return shown(self.tells[0]) if self.tells else "kind"

    def kind_name(self, fields: Fields) -> str:
        """What kind of message fields are, for people."""
        told = [str(fields[path]) for path in self.tells if path in fields]
        return "/".join(told) or self.kind(fields)[1] or "message"


def shape_of(wire: str) -> Shape:
    """The shape of a wire. Raises UnknownName for one that does not say what its fields mean."""
    found: Shape | None = registry.wire(wire).shape
    if found is None:
        text = f"{wire} does not say what its fields mean (Wire.shape), so nothing is converted to or from it"
        raise UnknownName("wire", wire, text=text)
    return found
