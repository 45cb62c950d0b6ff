"""What else can be said of memos: what they are in other wires, their parts, their checklist."""

from __future__ import annotations

from typing import Any

from tests.toy_wires import ReadChecklist
from turnwire.checklists import Clause, Specification
from turnwire.conversion.shapes import Shape
from turnwire.conversion.tables import Place

from .codec import Memo


def split(message: Memo) -> dict[tuple[str, ...], Any]:
    """The fields of a memo."""
    return {(name,): value for name, value in message._asdict().items()}


def join(fields: dict[tuple[str, ...], Any]) -> Memo:
    """The memo of its fields."""
    return Memo(*(fields[name,] for name in Memo._fields))


def kind(fields: dict[tuple[str, ...], Any]) -> tuple[str | None, str]:
    """What a memo does."""
    return "inform", ""


def begin(act: str, facts: dict[str, Any]) -> tuple[str, dict[tuple[str, ...], Any]]:
    """There is one kind only."""
    return "", {}


SHAPE = Shape(
    split,
    join,
    kind,
    begin,
    {
        "": (
            Place("sender", "sender", "text", "must"),
            Place("text", "text", "text", "must"),
        )
    },
)
CHECKLIST = Specification((Clause("reads", "1", "Every message is a memo"),), (), ReadChecklist)
