"""What else can be said of notes: how they answer, what they are in other wires, their checklist."""

from __future__ import annotations

from typing import Any

from tests.toy_wires import ReadChecklist
from turnwire.checklists import Clause, Specification
from turnwire.conversion.shapes import Shape
from turnwire.conversion.tables import Place
from turnwire.pairs import BACK, THERE, AnswerPattern, PairRule

from .codec import Note

PAIRS = (PairRule("ask", frozenset({"ask"}), (AnswerPattern(frozenset({"tell"}), (THERE,), BACK),)),)


def prompt() -> str:
    """How to write a note."""
    return 'Send {"note":"ask" or "tell","id":"...","from":"...","to":"...","text":"..."} on a line of its own.\n'


def split(message: Note) -> dict[tuple[str, ...], Any]:
    """The fields of a note."""
    return {(name,): value for name, value in message._asdict().items()}


def join(fields: dict[tuple[str, ...], Any]) -> Note:
    """The note of its fields."""
    return Note(*(fields[name,] for name in Note._fields))


def kind(fields: dict[tuple[str, ...], Any]) -> tuple[str | None, str]:
    """What a note does."""
    return ("ask" if fields["kind",] == "ask" else "inform"), ""


def begin(act: str, facts: dict[str, Any]) -> tuple[str, dict[tuple[str, ...], Any]]:
    """The kind that does this."""
    return "", {("kind",): "ask" if act in ("ask", "request") else "tell"}


SHAPE = Shape(
    split,
    join,
    kind,
    begin,
    {
        "": (
            Place("id", "conversation", "text", "must"),
            Place("sender", "sender", "text", "must"),
            Place("receiver", "receiver", "text", "must"),
            Place("text", "text", "text", "must"),
        )
    },
)
CHECKLIST = Specification((Clause("reads", "1", "Every line is a note"),), (), ReadChecklist)
