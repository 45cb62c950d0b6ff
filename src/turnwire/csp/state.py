"""The state that preambles and patches build [STATE MANAGEMENT]: frozen names, and what may follow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from turnwire.csp.faults import explain
from turnwire.csp.messages import CspMessage, Patch, Preamble
from turnwire.csp.spec import WIRE
from turnwire.errors import Reason, RuleError

_ROW = 32
"""Dicts of a row, and rows."""
_MOST_NAMES = 64
"""Names of one value that are looked at: any number may have had it."""
Part = dict[str, str]
_NOTHING: Part = {}


class Snapshot(Mapping[str, str]):
    """A frozen mapping of names to values; iterates in the order of the names.

    The names stand in small dicts, by their hash. A change copies the dicts of its names and the rows of dicts that
    these are in; all others are shared, so it costs what it changes, in time and memory. ``size``: bytes of all names
    and values.
    """

    __slots__ = ("_count", "_rows", "size")

    def __init__(self, items: Mapping[str, str] | None = None) -> None:
        self._rows: tuple[tuple[Part, ...], ...] = ((_NOTHING,) * _ROW,) * _ROW
        self._count = self.size = 0
        if items:
            made = self.changed_by(items)
            self._rows, self._count, self.size = made._rows, made._count, made.size

    def changed_by(self, changes: Mapping[str, str | None] | Mapping[str, str]) -> Snapshot:
        """Returns a snapshot with these changes: a value sets its name, None removes it if present."""
        by_place: dict[tuple[int, int], dict[str, str | None]] = {}
        for name, value in changes.items():
            by_place.setdefault(_place(name), {})[name] = value
        rows, count, size = list(self._rows), self._count, self.size
        for (row, column), several in by_place.items():
            before = rows[row]
            whole: dict[str, str | None] = {**before[column], **several}
            made = {name: value for name, value in whole.items() if value is not None}
            count += len(made) - len(before[column])
            for name in several:
                size += bytes_of(name, made.get(name)) - bytes_of(name, before[column].get(name))
            rows[row] = (*before[:column], made, *before[column + 1 :])
        result = Snapshot()
        result._rows, result._count, result.size = tuple(rows), count, size
        return result

    def __getitem__(self, key: str) -> str:
        row, column = _place(key)
        return self._rows[row][column][key]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.plain()))

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"Snapshot({dict(self)!r})"

    def plain(self) -> dict[str, str]:
        """The same as a dict, in no order."""
        found: dict[str, str] = {}
        for row in self._rows:
            for part in row:
                found.update(part)
        return found

    def changed(self, other: Snapshot) -> list[str]:
        """The names that differ in presence or value, in order."""
        return sorted(
            name
            for ours, theirs in zip(self._rows, other._rows, strict=True)
            if ours is not theirs
            for mine, its in zip(ours, theirs, strict=True)
            if mine is not its
            for name in mine.keys() | its.keys()
            if mine.get(name) != its.get(name)
        )


def _place(name: str) -> tuple[int, int]:
    """The row and the place in it of the dict that a name is in."""
    return divmod(hash(name) % (_ROW * _ROW), _ROW)


def bytes_of(name: str, value: str | None) -> int:
    """The bytes of a name and its value; 0 without one."""
    return 0 if value is None else len(f"{name}{value}".encode("utf-8", "surrogatepass"))


def refusal(reason: Reason, text: str, path: str | None, rule: str | None = None) -> RuleError:
    """A RuleError about the checkpoint, patch or entry ``path``."""
    return RuleError(reason, text, rule=rule, wire=WIRE, path=path)


class Step(NamedTuple):
    """The effect of a patch that applies: its id, all that its message says, the checkpoints it leads from and to, the
    names and values there, and (name, sign, old, new) of each operation."""

    patch: str
    said: Any
    base: str
    target: str
    defs: Snapshot
    changes: tuple[tuple[str, str, str | None, str | None], ...]


class State:
    """The names and laws at each checkpoint of a conversation, without a log or a proof of them.

    begun: a message came, so C0 is frozen; defined: the names at any checkpoint; names: value -> the names that have it
    at any checkpoint, in order; patches: id -> all that its message says.
    """

    def __init__(self, defs: Mapping[str, str] = MappingProxyType({}), laws: Mapping[str, str] = MappingProxyType({})):
        self.checkpoints: dict[str, Snapshot] = {}
        self.laws = dict(laws)
        self.head = "C0"
        self.begun = False
        self.defined: set[str] = set()
        self.names: dict[str, dict[str, None]] = {}
        self.patches: dict[str, Any] = {}
        self._ids = {"C0"}  # of patches and checkpoints: none is given out again
        self._set("C0", defs if isinstance(defs, Snapshot) else Snapshot(defs), defs.items())

    @property
    def defs(self) -> Snapshot:
        """The names and values at the head."""
        return self.checkpoints[self.head]

    def at(self, name: str | None) -> Snapshot:
        """The names and values at a checkpoint; at the head if it is not known."""
        return self.checkpoints.get(name or "", self.defs)

    def name_of(self, value: str, defs: Snapshot, but: Collection[str] = ()) -> str | None:
        """The first name that has a value in ``defs``, other than those of ``but``, among the oldest that had it."""
        names = islice(self.names.get(value, ()), _MOST_NAMES)
        return next((name for name in names if name not in but and defs.get(name) == value), None)

    def feed(self, record: CspMessage | Preamble) -> RuleError | None:
        """Takes the next record. Returns why it is refused, where it is: then it changes nothing."""
        if isinstance(record, Preamble):
            if self.begun:
                return RuleError(Reason.RESTATE, explain(Reason.RESTATE), wire=WIRE, line=record.line)
            for name in sorted((self.defs.keys() & record.defs.keys()) | (self.laws.keys() & record.laws.keys())):
                return refusal(Reason.CHECKPOINT_EXISTS, f"{name} is already defined", "C0")
            self.laws.update(record.laws)
            self._set("C0", self.defs.changed_by(record.defs), record.defs.items())
            return None
        self.begun = True
        block = record.block
        said: Any = None
        if isinstance(block, Patch):
            said = record.sender, record.receiver, record.ctx, block.base, tuple(block.ops), block.apply
        try:
            step = self.step(record, said)
        except RuleError as error:
            return error
        if step is not None:
            self.take(step)
        return None

    def step(self, message: CspMessage, said: Any) -> Step | None:
        """The effect of a message: None for one that is no patch, and for a patch that was taken with the same
        ``said``. Changes nothing.

        Raises RuleError in this order: ctx_unknown, patch_id_reused, missing_apply, base_not_head, checkpoint_exists,
        op_conflict, def_exists, def_missing.
        """
        if message.ctx not in self.checkpoints:
            raise refusal(Reason.CTX_UNKNOWN, f"there is no checkpoint {message.ctx}", message.ctx, rule="ctx")
        patch = message.block
        if not isinstance(patch, Patch):
            return None
        if patch.id in self._ids:
            if self.patches.get(patch.id) == said:
                return None
            raise refusal(Reason.PATCH_ID_REUSED, "the id belongs to another patch", patch.id, rule="patch id")
        if patch.apply is None:
            raise refusal(Reason.MISSING_APPLY, explain(Reason.MISSING_APPLY), patch.id, rule="apply")
        if patch.base != self.head:
            raise refusal(Reason.BASE_NOT_HEAD, f"BASE is {patch.base}, the head is {self.head}", patch.id, rule="base")
        if patch.apply in self._ids:
            raise refusal(Reason.CHECKPOINT_EXISTS, f"{patch.apply} is frozen", patch.id, rule="apply")
        defs, changes = self.defs, dict[str, tuple[str, str, str | None, str | None]]()
        for sign, name, value in patch.ops:
            old = defs.get(name)
            if name in changes:
                raise refusal(Reason.OP_CONFLICT, f"two operations on {name}", patch.id, rule="ops")
            changes[name] = name, sign, old, None if sign == "-" else value or ""
        for name, sign, old, _ in changes.values():
            if sign == "+" and old is not None:
                raise refusal(Reason.DEF_EXISTS, f"{name} is already defined", patch.id, rule="ops")
            if sign != "+" and old is None:
                raise refusal(Reason.DEF_MISSING, f"{name} is not defined", patch.id, rule="ops")
        made = defs.changed_by({name: new for name, _, _, new in changes.values()})
        return Step(patch.id, said, self.head, patch.apply, made, tuple(changes.values()))

    def take(self, step: Step) -> None:
        """Applies a step that :meth:`step` returned. Each line can be done twice: an interrupted one is done again."""
        self._ids.update((step.patch, step.target))
        self.patches[step.patch] = step.said
        self._set(step.target, step.defs, [(name, new) for name, _, _, new in step.changes])

    def _set(self, name: str, defs: Snapshot, changes: Iterable[tuple[str, str | None]]) -> None:
        for defined, value in changes:
            self.defined.add(defined)
            if value is not None:
                self.names.setdefault(value, {}).setdefault(defined, None)
        self.checkpoints[name] = defs
        self.head = name

    def forget(self, kept: Iterable[str], room: int) -> None:
        """Forgets some names of the past beyond ``room``; and where there are twice as many checkpoints, all but
        ``kept`` (read only then), C0 and the head, and the patches that led there, except for their ids."""
        while len(self.defined) > room:
            self.defined.pop()
        while len(self.names) > room:
            del self.names[next(iter(self.names))]
        if len(self.checkpoints) > 2 * (room + 1):
            kept = {*kept, "C0", self.head}
            self.checkpoints = {name: defs for name, defs in self.checkpoints.items() if name in kept}
            self.patches = {name: said for name, said in self.patches.items() if said[-1] in kept}
