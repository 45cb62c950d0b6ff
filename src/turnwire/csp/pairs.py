"""Questions and answers in CSP/1.

A TASK is answered by the RESULT of the same id to its sender, or the ERROR whose AT is its id. A PARTIAL RESULT reports
progress.
"""

from __future__ import annotations

from turnwire.csp.codec import decode
from turnwire.csp.messages import Error, task_of
from turnwire.errors import DecodeError
from turnwire.pairs import AnswerPattern, Key, PairRule, Work


def work(record: bytes) -> Work | None:
    """The task that a TASK, a RESULT or an ERROR is about; None for what has no such block."""
    try:
        message = decode(record)
    except DecodeError:
        return None
    said = task_of(message)
    if said is not None:
        return Work(said[0], said[1] != "PARTIAL")
    return Work(None) if isinstance(message.block, Error) else None


PAIRS = (
    PairRule(
        "task",
        frozenset({"TASK"}),
        (
            AnswerPattern(
                frozenset({"RESULT", "ERROR"}),
                (Key(("task", "sender")),),
                Key(("task", "receiver"), needs=("task",)),
                names=True,
            ),
        ),
    ),
)
