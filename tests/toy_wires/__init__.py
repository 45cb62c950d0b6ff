"""Wires that exist only here, each a file: one of each style, and one that has documents beside its messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwire.checklists import Clause, RecordChecklist, Specification
from turnwire.conversion.shapes import Shape
from turnwire.conversion.tables import Place

NAMES = ("note", "beep", "memo")

Fields = dict[tuple[str, ...], Any]


def shape(
    cls: Any,
    facts: dict[str, str],
    kind: Callable[[Fields], str] = lambda fields: "inform",
    begun: Callable[[str], Fields] = lambda act: {},
) -> Shape:
    """The shape of a wire of one kind of messages: ``facts`` by the names of their fields, what a message does, and the
    fields with which one begins that does it."""
    return Shape(
        lambda message: {(name,): value for name, value in message._asdict().items()},
        lambda fields: cls(*(fields[name,] for name in cls._fields)),
        lambda fields: (kind(fields), ""),
        lambda act, facts: ("", begun(act)),
        {"": tuple(Place(name, fact, "text", "must") for name, fact in facts.items())},
    )


class ReadChecklist(RecordChecklist):
    """Asks nothing but that everything can be read."""

    def message(self, message: Any, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        self.applied.add("reads")

    def refused(self, error: Any, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        self.fault("reads", line, error.text, offset)


CHECKLIST = Specification((Clause("reads", "1", "Every message can be read"),), (), ReadChecklist)
