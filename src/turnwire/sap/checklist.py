"""The checklist of section 12, and the status machine of section 5, for objects and whole task histories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnwire.checklists import FAIL, Clause, Fault, judged
from turnwire.checklists import Checklist as Checklist
from turnwire.contract import finding
from turnwire.errors import DecodeError, Issue, Reason
from turnwire.sap.codec import decode
from turnwire.sap.learning import LearningLoop
from turnwire.sap.lifecycle import Lifecycle
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.rules import check
from turnwire.sap.spec import TERMINAL, CacheMode, ErrorCode, Status

WIRE = "sap"
CLAUSES = (
    Clause("forms", "3", "Valid ids and timestamps"),
    Clause("required", "4", "Required fields present"),
    Clause("context", "4.1", "Constitutional context provided"),
    Clause("evidence", "4.2", "Result includes constitutional evidence"),
    Clause("cache", "6", "Cache policy honored"),
    Clause("learning", "7", "Learning signals emitted"),
    Clause("correlation", "10", "Transport preserves correlation"),
    Clause("status", "5", "Statuses follow one another as they may"),
)
"""Section 12 line by line, and section 5, which it does not list: a line only where it is broken."""

_FORMS = frozenset({Reason.BAD_UUID, Reason.BAD_TIMESTAMP, Reason.TIMESTAMP_FORM})
_ABSENT = frozenset({Reason.MISSING_FIELD, Reason.MISSING_MESSAGE})
_ORDER = frozenset({Reason.BAD_TRANSITION, Reason.DUPLICATE})
_SIGNALS = ("policyChecks", "violations")

Message = Task | Result | Ack | Nack
Placed = tuple[int, Message]
"""A message and its place: the line of a file, or its number."""


class _Read(NamedTuple):
    """What was read: messages, and the errors of what was none, with their places."""

    messages: list[Placed]
    errors: list[tuple[int, DecodeError]]

    @property
    def tasks(self) -> dict[str, Task]:
        """The tasks by id."""
        return {one.task_id.lower(): one for _, one in self.messages if isinstance(one, Task)}

    @property
    def results(self) -> list[tuple[int, Result]]:
        """The results with their places."""
        return [(place, one) for place, one in self.messages if isinstance(one, Result)]


def conformance(*messages: Message | str | bytes, learning: LearningLoop | None = None) -> Checklist:
    """Judges objects, or the history of tasks, by the checklist of section 12. Faults are placed by number, from 1.

    Args:
        messages: tasks, results and receipts in the order in which they were seen, or their texts.
        learning: where signals should have been recorded; without it a signal is what a Result carries.
    """
    return _judged(enumerate(messages, 1), learning)


def conform(data: bytes) -> Checklist:
    """Judges every object and every damaged one in a log; other text is none of the checklist's business."""
    found = list(finding("located").located(data, WIRE))
    rejects = sum(one.error is not None for one in found)
    checklist = _judged(((one.line, one.error or one.message) for one in found), None)
    return checklist.counted(len(found) - rejects, rejects)


def conform_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, Checklist]]:
    """(path, checklist) for each file."""
    for path in paths:
        yield os.fspath(path), conform(Path(path).read_bytes())


def _judged(
    messages: Iterable[tuple[int, Message | str | bytes | DecodeError]], learning: LearningLoop | None
) -> Checklist:
    read = _Read([], [])
    for place, message in messages:
        try:
            if isinstance(message, DecodeError):
                raise message
            read.messages.append((place, decode(message) if isinstance(message, (str, bytes)) else message))
        except DecodeError as error:
            read.errors.append((place, error))
    faults = [
        *_of_errors(read.errors),
        *(fault for place, message in read.messages for fault in _of_message(place, message)),
        *_evidence(read.results),
        *_cache(read.results, read.tasks),
        *_learning(read.results, learning),
        *_correlation(read),
        *_statuses(read.messages),
    ]
    checklist = judged(WIRE, len(read.messages) + len(read.errors), CLAUSES, faults, set(_applied(read)))
    *listed, status = checklist.lines
    return checklist if status.status == FAIL else Checklist(WIRE, checklist.records, tuple(listed))


def _applied(read: _Read) -> Iterator[str]:
    """The clauses that say something about what was read."""
    if read.messages or read.errors:
        yield from ("forms", "required")
    if read.tasks:
        yield "context"
    if read.results:
        yield "evidence"
    if any(result.task_id.lower() in read.tasks for _, result in read.results):
        yield "cache"
    if any(result.status in TERMINAL for _, result in read.results):
        yield "learning"
    if read.tasks and any(not isinstance(one, Task) for _, one in read.messages):
        yield "correlation"


def _of_errors(errors: list[tuple[int, DecodeError]]) -> Iterator[Fault]:
    for place, error in errors:
        text = f"{error.path}: {error.text}" if error.path else f"{error.reason}: {error.text}"
        yield Fault("forms" if error.reason in _FORMS else "required", place, text)
        if (error.path or "").startswith("/constitutionalEvidence"):
            yield Fault("evidence", place, text)


def _of_message(place: int, message: Message) -> Iterator[Fault]:
    for issue in check(message):
        if issue.severity == "warning":
            for clause in _clauses(issue):
                yield Fault(clause, place, f"{issue.where}: {issue.text}")


def _clauses(issue: Issue) -> Iterator[str]:
    if issue.reason in _FORMS:
        yield "forms"
    if issue.reason in _ABSENT:
        yield "required"
    if str(issue.where).startswith("/constitutionalContext/"):
        yield "context"


def _evidence(results: list[tuple[int, Result]]) -> Iterator[Fault]:
    for place, result in results:
        if (result.status, result.constitutional_evidence.alignment) == ("SUCCEEDED", "NON_CONSTITUTIONAL"):
            yield Fault("evidence", place, "a result that is NON_CONSTITUTIONAL is SUCCEEDED")


def _cache(results: list[tuple[int, Result]], tasks: dict[str, Task]) -> Iterator[Fault]:
    for place, result in results:
        task = tasks.get(result.task_id.lower())
        if task is not None:
            yield from (Fault("cache", place, text) for text in _cache_faults(task, result))


def _cache_faults(task: Task, result: Result) -> Iterator[str]:
    if result.status not in TERMINAL:
        return
    policy = task.constitutional_context.cache_policy
    mode = policy.mode if policy is not None and policy.mode is not None else CacheMode.BYPASS
    cache = result.constitutional_evidence.cache
    hit = cache is not None and cache.hit is True
    missed = result.error is not None and result.error.code == ErrorCode.CACHE_MISS
    if mode is CacheMode.BYPASS and hit:
        yield "the cache was used although the task bypasses it"
    if mode is CacheMode.ONLY and result.status is Status.SUCCEEDED and not hit:
        yield 'the output was computed although the mode is "only"'
    if missed and mode is not CacheMode.ONLY:
        yield f'CACHE_MISS is for the mode "only", this is "{mode}"'
    if not hit or cache is None or policy is None:
        return
    if cache.cache_key is None or cache.age_sec is None:
        yield "a hit is shown with cacheKey and ageSec"
    if policy.max_age_sec is not None and cache.age_sec is not None and cache.age_sec >= policy.max_age_sec:
        yield f"the record is {cache.age_sec} s old, younger than {policy.max_age_sec} s was asked for"


def _learning(results: list[tuple[int, Result]], learning: LearningLoop | None) -> Iterator[Fault]:
    recorded = None if learning is None else {signal.task_id.lower() for _, signal in learning.signals()}
    for place, result in results:
        if result.status not in TERMINAL:
            continue
        if recorded is None and not _has_signal(result):
            yield Fault("learning", place, f"the result of task {result.task_id} carries no signal")
        elif recorded is not None and result.task_id.lower() not in recorded:
            yield Fault("learning", place, f"no signal of task {result.task_id}")


def _has_signal(result: Result) -> bool:
    evidence = result.fields["constitutionalEvidence"]
    return "metrics" in result or "nextActions" in result or any(name in evidence for name in _SIGNALS)


def _correlation(read: _Read) -> Iterator[Fault]:
    tasks = read.tasks
    for place, message in read.messages:
        if isinstance(message, Task):
            continue
        name = message.task_id if isinstance(message, Result) else message.message_id
        task = tasks.get(name.lower())
        if task is None:
            if tasks and isinstance(message, Result):
                yield Fault("correlation", place, f"a result answers {name}, which no task here is")
        elif message.correlation_id is None or message.correlation_id.lower() != task.correlation_id.lower():
            text = f"{type(message).__name__} of {name} has another correlationId than its task"
            yield Fault("correlation", place, text)


def _statuses(messages: list[Placed]) -> Iterator[Fault]:
    lifecycle = Lifecycle(strict=False)
    for place, message in messages:
        if isinstance(message, (Task, Result)):
            found = lifecycle.feed(message)
            yield from (Fault("status", place, issue.text) for issue in found if issue.reason in _ORDER)
