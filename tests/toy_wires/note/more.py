"""The pairs of notes, their shape for conversions, and their checklist."""

from tests.toy_wires.shared import checklist, shape
from turnwire.pairs import BACK, THERE, AnswerPattern, PairRule

from .codec import Note

PAIRS = (PairRule("ask", frozenset({"ask"}), (AnswerPattern(frozenset({"tell"}), (THERE,), BACK),)),)


def prompt() -> str:
    """How to write a note."""
    return 'Send {"note":"ask" or "tell","id":"...","from":"...","to":"...","text":"..."} on a line of its own.\n'


SHAPE = shape(
    Note,
    {"id": "conversation", "sender": "sender", "receiver": "receiver", "text": "text"},
    lambda fields: "ask" if fields["kind",] == "ask" else "inform",
    lambda act: {("kind",): "ask" if act in ("ask", "request") else "tell"},
)
CHECKLIST = checklist("Every line is a note")
