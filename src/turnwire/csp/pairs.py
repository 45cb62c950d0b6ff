"""Questions and answers in CSP/1.

A TASK is answered by the RESULT of the same id to its sender, or the ERROR whose AT is its id. A PARTIAL RESULT reports
progress.
"""

from __future__ import annotations

import re

from turnwire.csp.codec import decode
from turnwire.csp.messages import Error, task_of
from turnwire.pairs import AnswerPattern, Key, PairRule, Work

_BLOCK = re.compile(rb"^(TASK|RESULT|ERROR) (\S+)\r?$", re.MULTILINE)
_AT = re.compile(rb"^AT (T[0-9]+)\r?$", re.MULTILINE)
_PARTIAL = re.compile(rb"^STATUS PARTIAL\r?$", re.MULTILINE)


def work(record: bytes) -> Work | None:
    """The task that a TASK, a RESULT or an ERROR is about; None for what has no such block."""
    if b"\n<<<" in record:  # the lines of a value may look like others
        return _of_message(record)
    block = _BLOCK.search(record)
    if block is None:
        return None
    if block[1] != b"ERROR":
        return Work(block[2].decode("utf-8", "replace"), _PARTIAL.search(record) is None)
    at = _AT.search(record)
    return Work(None if at is None else at[1].decode())


def _of_message(record: bytes) -> Work | None:
    message = decode(record)
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
