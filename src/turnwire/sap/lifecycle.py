"""The status machine of section 5 over a stream of tasks and results."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from turnwire.errors import EncodeError, Issue, Reason, RuleError
from turnwire.json.canonical import canonical
from turnwire.json.text import write
from turnwire.sap.messages import JsonObject, Result, Task
from turnwire.sap.spec import TERMINAL, TRANSITIONS, WIRE, Status
from turnwire.sap.times import same_id, uuid_key


def content_of(message: JsonObject) -> bytes:
    """Bytes that are equal for equal messages, whatever the order of their keys and the case of their ids.

    Canonical JSON; where that has no form (integers beyond 2**53), the plain text of the message.
    """
    fields = message.fields
    ids = {name: fields[name].lower() for name in _IDS if isinstance(fields.get(name), str)}
    fields = {**fields, **ids}
    try:
        return canonical(fields)
    except EncodeError:
        return write(fields).encode()


_IDS = ("taskId", "correlationId", "parentTaskId")


def digest_of(message: JsonObject) -> bytes:
    """SHA-256 of :func:`content_of`."""
    return sha256(content_of(message)).digest()


class TaskProgress(NamedTuple):
    """The progress of one task. task: None when only results were seen; status: None before the first result."""

    task_id: str
    correlation_id: str
    status: Status | None
    task: Task | None
    results: int

    @property
    def done(self) -> bool:
        """True if the state is terminal."""
        return self.status in TERMINAL


class _Track:
    __slots__ = ("correlation", "seen", "status", "task")

    def __init__(self, correlation: str) -> None:
        self.correlation = correlation
        self.task: Task | None = None
        self.status: Status | None = None
        self.seen: set[bytes] = set()  # digests of all its results: queues deliver old ones again, too


class Lifecycle:
    """Follows tasks from nothing to a terminal state; ids and correlation must be kept on the way.

    Args:
        strict: raise RuleError for a broken rule; False gives it back as a warning and keeps the state as it was.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self.strict = strict
        self._tracks: dict[str, _Track] = {}

    def feed(self, message: Task | Result) -> list[Issue]:
        """Takes the next task or result. The same one again is a no-op.

        Raises RuleError (when strict): bad_transition, wrong_correlation, duplicate (a task id with other content).
        Returns issues; an "info" of unknown_task for a result whose task was not seen.
        """
        if isinstance(message, Task):
            return self._feed_task(message)
        if isinstance(message, Result):
            return self._feed_result(message)
        raise TypeError(f"a Task or a Result is followed, not {type(message).__name__}")

    def _feed_task(self, task: Task) -> list[Issue]:
        key = uuid_key(task.fields["taskId"])
        track = self._tracks.get(key)
        if track is None:
            track = self._tracks[key] = _Track(task.fields["correlationId"])
            track.task = task
            return []
        if track.task is not None:
            if content_of(track.task) == content_of(task):
                return []
            return self._broken(Reason.DUPLICATE, "/taskId", "another task has this id already", "task-id")
        if not same_id(track.correlation, task.correlation_id):
            return self._broken(
                Reason.WRONG_CORRELATION, "/correlationId", "its results had another one", "correlation"
            )
        track.task = task
        return []

    def _feed_result(self, result: Result) -> list[Issue]:
        fields = result.fields
        key, correlation = uuid_key(fields["taskId"]), fields["correlationId"]
        track = self._tracks.get(key)
        issues = []
        if track is None:
            track = self._tracks[key] = _Track(correlation)
            issues.append(Issue(Reason.UNKNOWN_TASK, "/taskId", "info", "the task of this result was not seen"))
        if not same_id(track.correlation, correlation):
            text = "the correlationId of the task must be preserved (section 5)"
            return self._broken(Reason.WRONG_CORRELATION, "/correlationId", text, "correlation")
        digest = digest_of(result)
        if digest in track.seen:
            return issues
        status = Status(fields["status"])
        if status not in TRANSITIONS[track.status]:
            text = f"{track.status} is not followed by {status} (section 5)"
            return self._broken(Reason.BAD_TRANSITION, "/status", text, "status")
        track.status = status
        track.seen.add(digest)
        return issues

    def _broken(self, reason: Reason, where: str, text: str, rule: str) -> list[Issue]:
        if self.strict:
            raise RuleError(reason, text, rule=rule, wire=WIRE, path=where)
        return [Issue(reason, where, "warning", text)]

    def __getitem__(self, task_id: str) -> TaskProgress:
        """The progress of a task. Raises KeyError for one that was never seen."""
        track = self._tracks[uuid_key(task_id)]
        return TaskProgress(task_id, track.correlation, track.status, track.task, len(track.seen))

    def __contains__(self, task_id: str) -> bool:
        return uuid_key(task_id) in self._tracks

    def ended(self, task_id: str) -> bool:
        """True if a task has come to its end."""
        track = self._tracks.get(uuid_key(task_id))
        return track is not None and track.status in TERMINAL

    def forget(self, task_id: str) -> None:
        """Drops what is known of a task, so that a long-lived lifecycle stays small."""
        self._tracks.pop(uuid_key(task_id), None)
