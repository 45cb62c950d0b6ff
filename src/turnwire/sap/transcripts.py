"""The transcript of an agent in a ledger: rows about its tasks, many to a commit, and how they are found again.

    sap.task      key: a Task, as it was accepted
    sap.started   key: {"holder", "process", "until", …}: an agent begins the work, continues with it, or leaves it
    sap.result    key: a Result; the first terminal one of a task is its Result, whoever wrote a further one

A key is the taskId in lower case, and after it the name of the principal, where there is one: tasks of different
principals are kept apart. Agents that share a transcript execute a task once: the row ``sap.started`` that comes first
has it, until it is let go, its time is over, or its process is gone from the machine that both are on.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import Reason, RuleError
from turnwire.json import text as json_text
from turnwire.sap.builders import thaw
from turnwire.sap.lifecycle import content_of
from turnwire.sap.messages import Result
from turnwire.sap.spec import TERMINAL, WIRE

if TYPE_CHECKING:
    from turnwire.ledger import Ledger

Row = tuple[str, str, str]
"""kind, body, key."""

ATTEMPTS = 100
"""The number of times that others may write between a look and its rows, before that is given up."""

Prepare = Callable[[], tuple[list[Row], Any]]
"""Looks at the ledger: the rows that are to be appended, and the answer that holds then."""


class LedgerRequest(NamedTuple):
    """A request to the ledger. key: the key that it examines ("" for none), done: the future of its result."""

    key: str
    prepare: Prepare
    done: Future[Any]


class Batching:
    """Reads and appends in one thread, in batches: of all that is asked while it is at work, at once.

    Args:
        ledger: where the rows go; it stays open when this is closed.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._thread = ThreadPoolExecutor(1, "sap-ledger")
        self._waiting: deque[LedgerRequest] = deque()

    def close(self) -> None:
        """Ends the thread, when what is waiting has been written."""
        self._thread.shutdown(wait=False)

    async def do(self, prepare: Prepare, key: str = "") -> Any:
        """Appends the rows that ``prepare`` requests, and returns its other result.

        key: the key that ``prepare`` examines. A batch has at most one request per key, so the next one sees its rows.
        """
        asked = LedgerRequest(key, prepare, Future())
        self._waiting.append(asked)
        self._thread.submit(self._answer)  # as often as something waits, though one look may answer all
        return await asyncio.wrap_future(asked.done)

    async def append(self, *rows: Row) -> None:
        """Appends rows, all or none; they are in the ledger when this returns."""
        await self.do(lambda: (list(rows), None))

    def _answer(self) -> None:
        """Takes what waits, up to the second one of a key."""
        batch: list[LedgerRequest] = []
        keys: set[str] = set()
        while self._waiting and self._waiting[0].key not in keys:
            asked = self._waiting.popleft()
            if asked.done.set_running_or_notify_cancel():  # else whoever asked has gone
                batch.append(asked)
                keys.update({asked.key} - {""})
        if batch:
            self._write(batch)

    def _write(self, batch: list[LedgerRequest]) -> None:
        """Prepares all and appends their rows in one commit.

        What was looked at still holds when the rows are written: where another writer has appended meanwhile, all is
        looked at again.
        """
        for left in reversed(range(ATTEMPTS)):
            looks: list[tuple[list[Row], Any]] = []
            failed: Exception | None = None
            try:
                last = len(self.ledger)
                looks = [_look(asked.prepare) for asked in batch]
                if rows := [row for wanted, _ in looks for row in wanted]:
                    self.ledger.append_many(rows, expect=last)
                break
            except Exception as error:
                failed = error
                if not left or not isinstance(error, RuleError) or error.reason is not Reason.APPEND_CONFLICT:
                    break
        for asked, (wanted, answer) in zip(batch, looks or [([], failed)] * len(batch), strict=True):
            failure = failed if wanted else answer if isinstance(answer, Exception) else None
            if failure is None:
                asked.done.set_result(answer)
            else:
                asked.done.set_exception(failure)


def _look(prepare: Prepare) -> tuple[list[Row], Any]:
    """The result of ``prepare``; if it fails no rows, and its error as the answer."""
    try:
        return prepare()
    except Exception as error:
        return [], error


TASK_KIND, STARTED_KIND, RESULT_KIND = "sap.task", "sap.started", "sap.result"


class KnownTask(NamedTuple):
    """The rows of a task in a transcript: the content of the Task or None, the terminal Result's text or None."""

    content: bytes | None = None
    correlation: str | None = None
    result: str | None = None


class Claim(NamedTuple):
    """The claim on a task. mine: granted. attempt: how often it was begun, this time included. until: Unix seconds.
    holder, process: of the task, granted or not. result: the text of its Result, where it has one."""

    mine: bool
    attempt: int
    until: float
    holder: str
    process: str = ""
    result: str | None = None


@cache
def _machine() -> str:
    """Names this machine since it was started, and its processes' numbers; "" where the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
        return sha256(boot + os.readlink("/proc/self/ns/pid").encode()).hexdigest()[:16]
    except OSError:
        return ""


def _process(number: int) -> str:
    """Names a process by its machine, number and start, so that no later one has its name; "" if there is none."""
    try:
        state, *fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else f"{_machine()} {number} {fields[18]}"


def _is_gone(process: str) -> bool:
    """True if a process was of this machine and runs no more."""
    machine, _, rest = process.partition(" ")
    return bool(machine) and machine == _machine() and _process(int(rest.split()[0])) != process


class Transcript(Batching):
    """The transcript of an agent.

    Args:
        ledger: where the rows go; it stays open when the transcript is closed.
        lease: seconds after which an agent must renew its claim to a started task.
    """

    def __init__(self, ledger: Ledger, *, lease: float = 10.0) -> None:
        super().__init__(ledger)
        self.lease = lease
        self.holder = uuid.uuid4().hex
        self._process = _process(os.getpid())

    async def known(self, key: str, text: str | None = None) -> KnownTask:
        """The rows there were of the task with this key; if there were none, its Task is appended, if given."""

        def look() -> tuple[list[Row], KnownTask]:
            found = self._known(key)
            return ([(TASK_KIND, text, key)] if text is not None and found.content is None else []), found

        return await self.do(look, key)  # type: ignore[no-any-return]

    async def settle(self, key: str, text: str) -> str:
        """Appends a terminal Result and answers the first one of the task: this one, or what another agent wrote."""

        def first() -> tuple[list[Row], str]:
            found = self._result(key)
            return ([(RESULT_KIND, text, key)], text) if found is None else ([], found)

        return await self.do(first, key)  # type: ignore[no-any-return]

    async def claim(self, key: str) -> Claim:
        """Asks for a task, to execute it. Not granted while another agent has it, or where it has its Result."""

        def free() -> tuple[list[Row], Claim]:
            before = self._held(key)
            if before is None:
                row, until = self._started(key, None)
                return [row], Claim(True, 1, until, self.holder)
            if (result := self._result(key)) is not None:
                return [], before._replace(mine=False, result=result)
            if not before.mine and before.until > time.time() and not _is_gone(before.process):
                return [], before
            row, until = self._started(key, before.attempt)
            return [row], Claim(True, before.attempt + (before.holder != self.holder), until, self.holder)

        return await self.do(free, key)  # type: ignore[no-any-return]

    async def go_on(self, key: str) -> None:
        """Record that a task is still being executed."""
        await self.append(self._started(key, None)[0])

    async def let_go(self, key: str) -> None:
        """Release a task, if it is this agent's."""

        def mine() -> tuple[list[Row], None]:
            held = self._held(key)
            return ([self._started(key, None, released=True)[0]] if held is not None and held.mine else []), None

        await self.do(mine, key)

    def _started(self, key: str, over: int | None, *, released: bool = False) -> tuple[Row, float]:
        """The row, and until when the task is this agent's by it."""
        until = 0 if released else round(time.time() + self.lease, 3)
        said: dict[str, Any] = {"holder": self.holder, "process": self._process, "until": until}
        if over is not None:
            said["over"] = over
        return (STARTED_KIND, json_text.write(said, WIRE), key), until

    # ---------------------------------------------------------------- in the thread

    def _known(self, key: str) -> KnownTask:
        logged = next(self.ledger.find(TASK_KIND, key), None)
        if logged is None:
            return KnownTask()
        task = thaw(logged.body)
        return KnownTask(content_of(task), task.correlation_id, self._result(key))

    def _result(self, key: str) -> str | None:
        """The oldest terminal Result."""
        oldest = None
        for entry in self.ledger.find(RESULT_KIND, key):
            result = thaw(entry.body)
            if isinstance(result, Result) and result.status in TERMINAL:
                oldest = entry.body
        return None if oldest is None else oldest.decode()

    def _held(self, key: str) -> Claim | None:
        """The holder of the task by its rows in their order: a row takes it where it was free, let go, or over."""
        holder, until, attempt, process = None, 0.0, 0, ""
        for entry in reversed(list(self.ledger.find(STARTED_KIND, key))):
            said: dict[str, Any] = json_text.read_object(entry.body, WIRE)
            free = holder is None or until <= entry.at / 1e6 or said.get("over") == attempt
            if said["holder"] == holder:
                until = said["until"]
            elif free:
                holder, until, process = said["holder"], said["until"], said.get("process", "")
                attempt += 1
        if holder is None:
            return None
        return Claim(holder == self.holder and until > 0, attempt, until, holder, process)
