"""Requests and their answers in nSLIP.

An ASK or REQUEST is answered by the message of the same TASK_ID to its sender in the conversation; one that names no
task settles every request that waits between the two. ACCEPT and COMMIT promise an answer, ASK and REQUEST want
something for it first, and a STATUS may say that the work goes on.
"""

from __future__ import annotations

import re

from turnwire.nslip.spec import START_MARKER
from turnwire.pairs import BACK, THERE, AnswerPattern, Key, PairRule, Work

_MARKER = START_MARKER.encode()
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ACT = re.compile(rb"\|a0*([0-9A-Za-z]*)")
_TASK = re.compile(rb"\|k0*([0-9A-Za-z]*)")
_STATUS = re.compile(rb'\|u"([A-Za-z_]*)"')
_GOES_ON = frozenset({b"waiting", b"in_progress", b"queued", b"running", b"accepted", b"blocked", b"partial"})
"""Status words of work that has not ended."""
_PROMISES = frozenset({b"2", b"3", b"5", b"6"})  # ASK, REQUEST, COMMIT, ACCEPT


def work(record: bytes) -> Work:
    """The TASK_ID of a record in base62, and whether its act and its STATUS end the task."""
    head = record.partition(b'"')[0]  # both are in front of all texts as a rule
    task, act = _slots(head)
    if (task is None or act is None) and len(head) < len(record):
        task, act = _slots(_TEXT.sub(b'""', record))
    status = _STATUS.search(record)
    promised = act is not None and act[1] in _PROMISES
    goes_on = promised or (status is not None and status[1].lower() in _GOES_ON)
    return Work(None if task is None else (task[1] or b"0").decode(), not goes_on)


def _slots(plain: bytes) -> tuple[re.Match[bytes] | None, re.Match[bytes] | None]:
    """The first TASK_ID and the first act."""
    plain = plain.replace(_MARKER, b"|", 1)
    return _TASK.search(plain), _ACT.search(plain)


_NAMING = frozenset({"INFORM", "ACCEPT", "REJECT", "EVAL", "ERROR"})
_TASK_THERE = Key(("conversation", "task", "sender"), needs=("task",))
_TASK_BACK = Key(("conversation", "task", "receiver"), needs=("task",))
_UNNAMED_THERE, _UNNAMED_BACK = THERE._replace(without=("task",)), BACK._replace(without=("task",))
PAIRS = (
    PairRule(
        "ask",
        frozenset({"ASK", "REQUEST"}),
        (
            AnswerPattern(_NAMING, (_TASK_THERE,), _TASK_BACK, names=True),
            AnswerPattern(None, (_TASK_THERE,), _TASK_BACK),
            AnswerPattern(None, (THERE,), _UNNAMED_BACK),
            AnswerPattern(None, (_UNNAMED_THERE,), BACK),
        ),
        all_at_once=True,
    ),
)
