"""The checklist of section 12 for objects and whole task histories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Issue, Reason
from turnwire.sap.codec import decode
from turnwire.sap.learning import LearningLoop
from turnwire.sap.lifecycle import Lifecycle
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.rules import check
from turnwire.sap.spec import TERMINAL, CacheMode, ErrorCode, Status

PASS, FAIL, NOT_APPLICABLE = "pass", "fail", "not applicable"

_FORMS = frozenset({Reason.BAD_UUID, Reason.BAD_TIMESTAMP, Reason.TIMESTAMP_FORM})
_SIGNALS = ("policyChecks", "violations")


class Line(NamedTuple):
    """One line of the checklist. status: "pass", "fail" or "not applicable"; clause: section; reason: why, if any."""

    name: str
    status: str
    clause: str
    reason: str = ""

    def __str__(self) -> str:
        mark = {PASS: "x", FAIL: " ", NOT_APPLICABLE: "-"}[self.status]
        return f"[{mark}] {self.name} ({self.clause})" + (f": {self.reason}" if self.reason else "")


class Checklist(NamedTuple):
    """The seven lines of section 12, and what the status machine of section 5 found. True when nothing failed."""

    lines: tuple[Line, ...]
    history: tuple[Issue, ...]

    def __bool__(self) -> bool:
        return not self.history and all(line.status != FAIL for line in self.lines)

    def __iter__(self) -> Iterator[Line]:  # type: ignore[override]
        return iter(self.lines)

    def __str__(self) -> str:
        more = [f"[ ] Status transitions (5): {issue.text}" for issue in self.history]
        return "\n".join([*map(str, self.lines), *more])

    def to_dict(self) -> dict[str, Any]:
        """The checklist as JSON values."""
        lines = [line._asdict() for line in self.lines]
        history = [{**issue._asdict(), "reason": str(issue.reason)} for issue in self.history]
        return {"conforms": bool(self), "checklist": lines, "history": history}


Message = Task | Result | Ack | Nack


def conformance(*messages: Message | str | bytes, learning: LearningLoop | None = None) -> Checklist:
    """Judges objects, or the history of tasks, by the checklist of section 12.

    Args:
        messages: tasks, results and receipts in the order in which they were seen, or their texts.
        learning: where signals should have been recorded; without it a signal is what a Result carries.
    """
    read: list[Message] = []
    unread: list[DecodeError] = []
    for message in messages:
        try:
            read.append(decode(message) if isinstance(message, (str, bytes)) else message)
        except DecodeError as error:
            unread.append(error)
    tasks = [message for message in read if isinstance(message, Task)]
    results = [message for message in read if isinstance(message, Result)]
    by_id = {task.task_id.lower(): task for task in tasks}
    issues = [issue for message in read for issue in check(message) if issue.severity == "warning"]
    lines = (
        _forms(issues, unread, read),
        _required(issues, unread, read),
        _context(issues, tasks),
        _evidence(results, unread),
        _cache(results, by_id),
        _learning(results, learning),
        _correlation(read, by_id),
    )
    return Checklist(lines, tuple(_history(read)))


def conform_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, Checklist]]:
    """(path, checklist) for each file: one JSON object, or one on each line."""
    for path in paths:
        data = Path(path).read_bytes()
        try:
            records: list[str | bytes] = [data] if decode(data) is not None else []
        except DecodeError:
            records = [line for line in data.split(b"\n") if line.strip()]
        yield os.fspath(path), conformance(*records)


def _line(name: str, clause: str, faults: Sequence[str], applies: bool = True) -> Line:
    if faults:
        return Line(name, FAIL, clause, "; ".join(faults[:5]))
    return Line(name, PASS if applies else NOT_APPLICABLE, clause)


def _forms(issues: list[Issue], unread: list[DecodeError], read: list[Message]) -> Line:
    faults = [f"{issue.where}: {issue.text}" for issue in issues if issue.reason in _FORMS]
    faults += [f"{error.path}: {error.text}" for error in unread if error.reason in _FORMS]
    return _line("Valid ids and timestamps", "3", faults, bool(read or unread))


def _required(issues: list[Issue], unread: list[DecodeError], read: list[Message]) -> Line:
    faults = [str(error) for error in unread if error.reason not in _FORMS]
    faults += [f"{issue.where}: {issue.text}" for issue in issues if issue.reason is Reason.MISSING_FIELD]
    faults += [f"{issue.where}: {issue.text}" for issue in issues if issue.reason is Reason.MISSING_MESSAGE]
    return _line("Required fields present", "4", faults, bool(read or unread))


def _context(issues: list[Issue], tasks: list[Task]) -> Line:
    place = "/constitutionalContext"
    faults = [f"{issue.where}: {issue.text}" for issue in issues if str(issue.where).startswith(place + "/")]
    return _line("Constitutional context provided", "4.1", faults, bool(tasks))


def _evidence(results: list[Result], unread: list[DecodeError]) -> Line:
    faults = [str(error) for error in unread if (error.path or "").startswith("/constitutionalEvidence")]
    faults += [
        "a result that is NON_CONSTITUTIONAL is SUCCEEDED"
        for result in results
        if (result.status, result.constitutional_evidence.alignment) == ("SUCCEEDED", "NON_CONSTITUTIONAL")
    ]
    return _line("Result includes constitutional evidence", "4.2", faults, bool(results))


def _cache(results: list[Result], tasks: dict[str, Task]) -> Line:
    pairs = [(tasks.get(result.task_id.lower()), result) for result in results]
    known = [(task, result) for task, result in pairs if task is not None]
    faults = [fault for task, result in known for fault in _cache_faults(task, result)]
    return _line("Cache policy honored", "6", faults, bool(known))


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


def _learning(results: list[Result], learning: LearningLoop | None) -> Line:
    ended = [result for result in results if result.status in TERMINAL]
    if learning is not None:
        recorded = {signal.task_id.lower() for _, signal in learning.signals()}
        faults = [f"no signal of task {result.task_id}" for result in ended if result.task_id.lower() not in recorded]
    else:
        faults = [
            f"the result of task {result.task_id} carries no signal" for result in ended if not _has_signal(result)
        ]
    return _line("Learning signals emitted", "7", faults, bool(ended))


def _has_signal(result: Result) -> bool:
    evidence = result.fields["constitutionalEvidence"]
    return "metrics" in result or "nextActions" in result or any(name in evidence for name in _SIGNALS)


def _correlation(read: list[Message], tasks: dict[str, Task]) -> Line:
    answers = [message for message in read if not isinstance(message, Task)]
    faults = []
    for message in answers:
        name = message.task_id if isinstance(message, Result) else message.message_id
        task = tasks.get(name.lower())
        if task is None:
            if tasks and isinstance(message, Result):
                faults.append(f"a result answers {name}, which no task here is")
        elif message.correlation_id is None or message.correlation_id.lower() != task.correlation_id.lower():
            faults.append(f"{type(message).__name__} of {name} has another correlationId than its task")
    return _line("Transport preserves correlation", "10", faults, bool(answers and tasks))


def _history(read: list[Message]) -> Iterator[Issue]:
    lifecycle = Lifecycle(strict=False)
    for message in read:
        if isinstance(message, (Task, Result)):
            found = lifecycle.feed(message)
            yield from (issue for issue in found if issue.reason in (Reason.BAD_TRANSITION, Reason.DUPLICATE))
