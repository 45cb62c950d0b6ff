"""The transcript of an agent in a ledger: rows about its tasks, many to a commit, and how they are found again.

    sap.task      key: a Task, as it was accepted
    sap.started   key: {"holder", "until", …}: an agent begins the work, continues with it, or leaves it (until 0)
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
from turnwire.sap.judgement import content_of
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
        try:
            answers = self._written(batch) if batch else []
        except Exception as error:
            answers = [error] * len(batch)
        for asked, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Exception):
                asked.done.set_exception(answer)
            else:
                asked.done.set_result(answer)

    def _written(self, batch: list[LedgerRequest]) -> list[Any]:
        """Prepares all, appends their rows in one commit, and returns the answer to each, or its error.

        What was looked at still holds when the rows are written: where another writer has appended meanwhile, all is
        looked at again.
        """
        for left in reversed(range(ATTEMPTS)):
            last = len(self.ledger)
            looks = [_look(asked.prepare) for asked in batch]
            try:
                if rows := [row for wanted, _ in looks for row in wanted]:
                    self.ledger.append_many(rows, expect=last)
            except Exception as error:
                if left and isinstance(error, RuleError) and error.reason is Reason.APPEND_CONFLICT:
                    continue
                return [error if wanted else answer for wanted, answer in looks]
            break
        return [answer for _, answer in looks]


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
    """The claim on a task. mine: this agent has it. attempt: how often it was begun, this time included. until, holder:
    whose it is, and up to which Unix second, where it is not granted. result: the text of its Result, if it has one."""

    mine: bool = False
    attempt: int = 0
    until: float = 0.0
    holder: str = ""
    result: str | None = None


@cache
def _machine() -> str:
    """Names this machine since it was started, and its processes' numbers; "" where the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
        return sha256(boot + os.readlink("/proc/self/ns/pid").encode()).hexdigest()[:16]
    except OSError:
        return ""


def _process(number: int | str) -> str:
    """Names a process by machine, number and start, so that no later one has its name; "" if there is none."""
    try:
        state, *fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" or not _machine() else f"{_machine()} {number} {fields[18]}"


def _is_gone(holder: str) -> bool:
    """True if the process of a holder was of this machine and runs no more: nobody need wait for its lease."""
    process, _, _ = holder.rpartition(" ")
    return bool(process) and process.split()[0] == _machine() and _process(process.split()[1]) != process


class Transcript(Batching):
    """The transcript of an agent.

    Args:
        ledger: where the rows go; it stays open when the transcript is closed.
        lease: seconds after which an agent must renew its claim to a started task.
    """

    def __init__(self, ledger: Ledger, *, lease: float = 10.0) -> None:
        super().__init__(ledger)
        self.lease = lease
        self.holder = f"{_process(os.getpid())} {uuid.uuid4().hex}"

    async def known(self, key: str, text: str | None = None) -> KnownTask:
        """The rows there were of the task with this key; if there were none, its Task is appended, if given."""

        def look() -> tuple[list[Row], KnownTask]:
            logged = next(self.ledger.find(TASK_KIND, key), None)
            if logged is None:
                return [] if text is None else [(TASK_KIND, text, key)], KnownTask()
            task = thaw(logged.body)
            return [], KnownTask(content_of(task), task.correlation_id, self._result(key))

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
            if before.attempt and (result := self._result(key)) is not None:
                return [], Claim(result=result)
            if not before.mine and before.until > time.time() and not _is_gone(before.holder):
                return [], before
            row = self._started(key, over=before.holder)
            return [row], Claim(True, before.attempt + (not before.mine))

        return await self.do(free, key)  # type: ignore[no-any-return]

    async def go_on(self, key: str) -> None:
        """Record that a task is still being executed."""
        await self.append(self._started(key))

    async def let_go(self, key: str) -> None:
        """Release a task, if it is this agent's."""
        await self.do(lambda: ([self._started(key, released=True)] if self._held(key).mine else [], None), key)

    def _started(self, key: str, *, released: bool = False, over: str = "") -> Row:
        """``over``: whose task it was, which is taken whether its time is over or not."""
        until = 0 if released else round(time.time() + self.lease, 3)
        return STARTED_KIND, json_text.write({"holder": self.holder, "until": until, "over": over}, WIRE), key

    # ---------------------------------------------------------------- in the thread

    def _result(self, key: str) -> str | None:
        """The oldest terminal Result."""
        found = [entry.body for entry in self.ledger.find(RESULT_KIND, key) if thaw(entry.body).status in TERMINAL]
        return found[-1].decode() if found else None

    def _held(self, key: str) -> Claim:
        """Who has the task by its rows in their order: a row takes it where it was free, let go, or over."""
        holder, until, attempt = "", 0.0, 0
        for entry in reversed(list(self.ledger.find(STARTED_KIND, key))):
            said: dict[str, Any] = json_text.read_object(entry.body, WIRE)
            if said["holder"] == holder:
                until = said["until"]
            elif until <= entry.at / 1e6 or said.get("over") == holder:
                holder, until = said["holder"], said["until"]
                attempt += 1
        return Claim(holder == self.holder and until > 0, attempt, until, holder)
