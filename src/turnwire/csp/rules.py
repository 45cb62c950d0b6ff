"""What became of the tasks of a conversation [INTENT TYPES]. The token rules are in ``lints``, the laws in ``laws``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike
from typing import Any, NamedTuple

from turnwire.contract import record_bytes
from turnwire.csp.laws import Law, by_subject, judge_laws, routing_laws
from turnwire.csp.lints import lint
from turnwire.csp.log_reading import Log, names_files, read_log
from turnwire.csp.messages import CspMessage, Document, Error, Result, Task
from turnwire.errors import expect

__all__ = ["Board", "Law", "board", "by_subject", "judge_laws", "lint", "routing_laws"]


class Board(NamedTuple):
    """Tasks by what became of them: owner -> ids, in the order of the log.

    open: no final answer yet (PARTIAL is not one); answered: RESULT OK; failed: RESULT FAIL or an ERROR; orphaned:
    answers to tasks nobody gave, under the one who answered.
    """

    open: dict[str, list[str]]
    answered: dict[str, list[str]]
    failed: dict[str, list[str]]
    orphaned: dict[str, list[str]]


def board(messages: Any) -> Board:
    """The task board of a log: of messages, a Document, what ``read_log`` gave, the text or the bytes of a log, or what
    else :func:`turnwire.scan` takes. A task given again is open again; a later answer replaces an earlier one."""
    owners: dict[str, str] = {}
    states: dict[str, str] = {}
    orphans: dict[str, dict[str, None]] = {}
    for message in _messages(messages):
        expect(message, CspMessage, "a board is made of CSP/1 messages")
        block = message.block
        if isinstance(block, Task):
            owners[block.id] = block.get("OWNER") or message.receiver or ""
            states[block.id] = "open"
            continue
        if isinstance(block, Result):
            task, state = block.id, {"OK": "answered", "FAIL": "failed"}.get(block.get("STATUS") or "", "open")
        elif isinstance(block, Error):
            task, state = block.get("AT") or "", "failed"
            if not re.fullmatch("T[0-9]+", task):
                continue
        else:
            continue
        if task in states:
            states[task] = state
        else:
            orphans.setdefault(message.sender or "", {})[task] = None
    result = Board({}, {}, {}, {name: list(tasks) for name, tasks in orphans.items()})
    for task, state in states.items():
        group: dict[str, list[str]] = getattr(result, state)
        group.setdefault(owners[task], []).append(task)
    return result


def _messages(source: Any) -> Iterable[CspMessage]:
    if isinstance(source, Document):
        return source.messages
    if isinstance(source, Log):
        return source.document.messages
    named = names_files(source) and not (isinstance(source, (list, tuple)) and _has_messages(source))
    if named or record_bytes(source) is not None:
        return read_log(source).document.messages
    found: Iterable[CspMessage] = source
    return found


def _has_messages(source: list[Any] | tuple[Any, ...]) -> bool:
    return not source or not all(isinstance(one, (str, PathLike, bytes)) or hasattr(one, "read") for one in source)
