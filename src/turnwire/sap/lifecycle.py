"""The status machine of section 5 over a stream of tasks and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from turnwire.errors import EncodeError, Issue, Reason, RuleError
from turnwire.json.text import canonical, write
from turnwire.sap.messages import JsonObject, Result, Task
from turnwire.sap.spec import TERMINAL, TRANSITIONS, WIRE, Status
from turnwire.sap.times import same_id, uuid_key


def content_of(message: JsonObject) -> bytes:
    """Bytes that are equal for equal messages, whatever the order of their keys and the case of their ids."""
    fields = message._fields
    ids = {name: fields[name].lower() for name in _IDS if isinstance(fields.get(name), str)}
    return form_of({**fields, **ids})


def form_of(value: Any) -> bytes:
    """Canonical JSON; where a value has no such form (integers beyond 2**53), its plain text."""
    try:
        return canonical(value)
    except EncodeError:
        return write(value).encode()


_IDS = ("taskId", "correlationId", "parentTaskId")


@dataclass(slots=True)
class TaskProgress:
    """The progress of one task. task: None if only results were seen; status: None before the first result.

    digests: SHA-256 of all its results, since queues may redeliver them. place: where the task is, as the host says it.
    acknowledged: by a receipt; refused: by a Nack, and not sent again.
    """

    task_id: str
    correlation_id: str
    task: Task | None = None
    status: Status | None = None
    digests: set[bytes] = field(default_factory=set)
    place: Any = None
    acknowledged: bool = False
    refused: bool = False

    @property
    def done(self) -> bool:
        """True if the state is terminal."""
        return self.status in TERMINAL

    @property
    def results(self) -> int:
        """The number of distinct results."""
        return len(self.digests)


class Lifecycle(Mapping[str, TaskProgress]):
    """Tracks tasks until a terminal state; ids and correlation must stay the same. As a mapping it has the progress of
    each task by its id, in any case, in the order in which they were first seen.

    Args:
        strict: raise RuleError if a rule is violated; False returns a warning and keeps the state.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self.strict = strict
        self._tasks: dict[str, TaskProgress] = {}

    def feed(self, message: Task | Result) -> list[Issue]:
        """Adds the next task or result. A repeated one changes nothing.

        Raises RuleError (when strict): bad_transition, wrong_correlation, duplicate (a task id with other content).
        Returns issues, with an "info" of unknown_task for a result of an unknown task.
        """
        if isinstance(message, Task):
            return self._feed_task(message)
        if isinstance(message, Result):
            return self._feed_result(message)
        raise TypeError(f"expected a Task or a Result, not {type(message).__name__}")

    def _feed_task(self, task: Task) -> list[Issue]:
        known = self._tasks.setdefault(uuid_key(task.task_id), TaskProgress(task.task_id, task.correlation_id))
        if known.task is not None and content_of(known.task) != content_of(task):
            return self._broken(Reason.DUPLICATE, "/taskId", "another task already has this id", "task-id")
        if known.task is None and not same_id(known.correlation_id, task.correlation_id):
            text = "its results had another one"
            return self._broken(Reason.WRONG_CORRELATION, "/correlationId", text, "correlation")
        known.task = known.task or task
        return []

    def _feed_result(self, result: Result) -> list[Issue]:
        issues, known = [], self._tasks.get(uuid_key(result.task_id))
        if known is None:
            known = self._tasks[uuid_key(result.task_id)] = TaskProgress(result.task_id, result.correlation_id)
            issues.append(Issue(Reason.UNKNOWN_TASK, "/taskId", "info", "the task of this result was not seen"))
        if not same_id(known.correlation_id, result.correlation_id):
            text = "the correlationId of the task must be preserved (section 5)"
            return self._broken(Reason.WRONG_CORRELATION, "/correlationId", text, "correlation")
        digest = sha256(content_of(result)).digest()
        if digest in known.digests:
            return issues
        status = Status(result.status)
        if status not in TRANSITIONS[known.status]:
            text = f"{known.status} is not followed by {status} (section 5)"
            return self._broken(Reason.BAD_TRANSITION, "/status", text, "status")
        known.status = status
        known.digests.add(digest)
        return issues

    def _broken(self, reason: Reason, where: str, text: str, rule: str) -> list[Issue]:
        if self.strict:
            raise RuleError(reason, text, rule=rule, wire=WIRE, path=where)
        return [Issue(reason, where, "warning", text)]

    def __getitem__(self, task_id: str) -> TaskProgress:
        return self._tasks[uuid_key(task_id)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def ended(self, task_id: str) -> bool:
        """True if a task has ended."""
        return task_id in self and self[task_id].done

    def forget(self, task_id: str) -> None:
        """Forgets a task, so that a long-lived lifecycle stays small."""
        self._tasks.pop(uuid_key(task_id), None)
