"""How a Result becomes final: signed, of a size that its transport takes, written down, learned from."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from turnwire.contract import LIMITS
from turnwire.sap.execution import Execution, too_large
from turnwire.sap.objects import Objects, by_reference
from turnwire.sap.receipts import Frozen, freeze, thaw
from turnwire.sap.signals import from_result
from turnwire.sap.spec import ErrorCode

if TYPE_CHECKING:
    from turnwire.sap.batching import Batching
    from turnwire.sap.jobs import Job
    from turnwire.sap.learning import LearningLoop
    from turnwire.sap.messages import Result, Task
    from turnwire.sap.transcripts import Transcript

MAX_RESULT = LIMITS.message
"""Bytes of a Result that every reader takes by default."""

_log = logging.getLogger("turnwire.sap")


class Settlement:
    """Settles the Results of one agent.

    Args:
        execution: makes the Results of failures. transcript: where Results are written down, or None. learning, rows:
            the loop, and through what its ledger is reached. signer: signs Results, or None. largest: bytes that a
            Result may have whatever the transport. objects: where outputs go that are too large, or None.
    """

    def __init__(
        self,
        execution: Execution,
        *,
        transcript: Transcript | None,
        learning: LearningLoop | None,
        rows: Batching | None,
        signer: Any,
        largest: int,
        objects: Objects | None,
    ) -> None:
        self._execution = execution
        self._transcript = transcript
        self._learning = learning
        self._rows = rows
        self._signer = signer
        self._largest = largest
        self._objects = objects

    async def settled(self, job: Job, result: Result | Frozen | str) -> tuple[str, Result]:
        """The one terminal Result of a job, frozen and to read. Never raises but for a cancellation."""
        try:
            text, made = (result, thaw(result)) if isinstance(result, str) else await self._frozen(job, result)
            if self._transcript is not None and text is not result:
                first = await self._transcript.settle(job.key, text)
                text, made = (text, made) if first == text else (first, thaw(first))
        except Exception:  # whoever waits for the task hears of a full disk, too
            _log.exception("the result of task %s could not be recorded", job.task_id)
            made = self._execution.failed(job.task, ErrorCode.INTERNAL, "the result could not be recorded")
            text = freeze(made)
        if self._learning is not None and self._rows is not None:
            await self._learn(self._learning, self._rows, job.task, made)
        return text, made

    async def _frozen(self, job: Job, given: Result | Frozen) -> tuple[str, Result]:
        """The Result as it leaves; where it is too large its output goes by reference, or it fails."""
        result = given.result if isinstance(given, Frozen) else given
        made = self._signed(result)
        text = given.text if isinstance(given, Frozen) and made is result else freeze(made)
        limit = self._largest if job.limit is None else min(job.limit, self._largest)
        if (size := size_of(text, limit)) <= limit:
            return text, made
        if self._objects is not None:
            made = self._signed(await by_reference(result, self._objects))
            text = freeze(made)
            if size_of(text, limit) <= limit:
                return text, made
        made = self._signed(too_large(result, size, limit))
        return freeze(made), made

    def _signed(self, result: Result) -> Result:
        if self._signer is None:
            return result
        from turnwire.sap.signing import signed_message

        return signed_message(result, result.producer.agent_id, self._signer)

    async def _learn(self, learning: LearningLoop, rows: Batching, task: Task, result: Result) -> None:
        try:
            row = learning.row(from_result(task, result, essence=learning.essence))
            await rows.do(lambda: ([row], None))
        except Exception:  # what is not learned does not change what was done
            _log.exception("nothing was learned from task %s", task.task_id)


def size_of(text: str, limit: int) -> int:
    """Bytes of a text in UTF-8; some number up to the limit where it surely has no more."""
    return len(text) if len(text) * 4 <= limit else len(text.encode())
