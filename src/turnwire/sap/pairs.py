"""Questions and answers in SAP.

A Task is answered by the Result or the Nack of its taskId. An Ack tells progress, and so does a Result whose status
is QUEUED or RUNNING.
"""

from __future__ import annotations

import msgspec

from turnwire.errors import DecodeError
from turnwire.pairs import AnswerPattern, Key, PairRule, Work
from turnwire.sap.codec import decode
from turnwire.sap.spec import TERMINAL

_ENDS = frozenset({*(str(status.value) for status in TERMINAL), "NACK"})


class _Record(msgspec.Struct):
    taskId: str | None = None
    messageId: str | None = None
    status: str | None = None


_read = msgspec.json.Decoder(_Record).decode


def work(record: bytes) -> Work | None:
    """The taskId of an object (of a receipt, its messageId), and whether it ends the task; None for what is none."""
    try:
        found = _read(record)
    except msgspec.DecodeError:  # our own reader takes more than the JSON of RFC 8259
        try:
            values = decode(record).to_dict()
        except DecodeError:
            return None
        found = _Record(values.get("taskId"), values.get("messageId"), values.get("status"))
    task = found.taskId if found.taskId is not None else found.messageId
    return Work(None if task is None else task.lower(), found.status in _ENDS)


_TASK = Key(("task",), needs=("task",))
PAIRS = (
    PairRule(
        "task",
        frozenset({"Task"}),
        (AnswerPattern(frozenset({"Result", "Ack", "Nack"}), (_TASK,), _TASK, names=True),),
    ),
)
