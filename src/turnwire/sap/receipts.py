"""Acks, Nacks and refusals (section 4.3), for what was read and for what could not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.errors import CallError, DecodeError, EncodeError, WireError
from turnwire.json import text as json_text
from turnwire.sap.codec import decode, encode
from turnwire.sap.messages import Ack, Message, Nack, Result, Task
from turnwire.sap.spec import WIRE, ErrorCode
from turnwire.sap.times import UUID

if TYPE_CHECKING:
    from turnwire.sap.jobs import Job

_reader = json_text.reader(WIRE)
_SHOWN = 500  # characters of an error in a reason


class Refused(CallError):
    """A task was refused before any work; ``nack`` says why."""

    def __init__(self, nack: Nack) -> None:
        super().__init__(nack.reason)
        self.nack = nack

    @property
    def code(self) -> str:
        """The code of section 8 with which the reason begins."""
        return code_of(self.nack)


class Failed(CallError):
    """A task that was called for by its capability ended without success; ``result`` says how."""

    def __init__(self, result: Result) -> None:
        error = result.error
        super().__init__(f"{result.status}: {error.code or ''} {error.message or ''}" if error else str(result.status))
        self.result = result


def code_of(nack: Nack) -> str:
    """The code of section 8 with which the reason of a Nack begins."""
    return (nack.reason or "").partition(":")[0]


def ack(task: Task) -> Ack:
    """The Ack of a task."""
    return Ack(message_id=task.task_id, correlation_id=task.correlation_id)


def nack(task: Task, code: ErrorCode | str, text: str) -> Nack:
    """The Nack of a task; the reason starts with a code of section 8."""
    fields = task.fields
    return Nack(
        message_id=str(fields.get("taskId", "")),
        correlation_id=_uuid(fields.get("correlationId")),
        reason=f"{code}: {text[:_SHOWN]}",
    )


def invalid(task: Task, error: EncodeError) -> Nack:
    """The Nack of a task that strict writing refuses, with the JSON pointer of what is wrong."""
    return nack(task, ErrorCode.INVALID_TASK, said(error))


def unreadable(data: bytes | str, error: WireError, *, message_id: str = "", correlation: str | None = None) -> Nack:
    """The Nack of what is not a Task. Its ids are those that the data still show, else those given (of a header)."""
    shown = _ids(data)
    return Nack(
        message_id=shown.get("taskId") or message_id,
        correlation_id=shown.get("correlationId") or _uuid(correlation),
        reason=f"{ErrorCode.INVALID_TASK}: {said(error)}"[:_SHOWN],
    )


def said(error: WireError) -> str:
    """An error in words, its JSON pointer first."""
    path = getattr(error, "path", None)
    return f"{path}: {error}" if path else str(error)


def _ids(data: bytes | str) -> dict[str, str]:
    try:
        fields: Any = _reader.read(data)
    except DecodeError:
        return {}
    found = {name: _uuid(fields.get(name)) for name in ("taskId", "correlationId")}
    return {name: value for name, value in found.items() if value is not None}


def expects_ack(task: Task) -> bool:
    """replyTo.expectAck; true by default (section 4.1)."""
    return task.reply_to is None or task.reply_to.expect_ack is not False


def denied(job: Job) -> Nack:
    """The receipt instead of the FAILED Result of a job that was refused."""
    result = thaw(job.done.result())
    return nack(job.task, str(result.error.code), result.error.message or "")


def _uuid(value: Any) -> str | None:
    return value if isinstance(value, str) and UUID.fullmatch(value) else None


OURS = LIMITS._replace(message=1 << 30)
"""Limits for what this program has written itself: it may be larger than what strangers may send."""


def freeze(message: Message) -> str:
    """A message as strict writing has it, whatever is done to the message afterwards. Raises EncodeError."""
    return encode(message)


class Frozen(NamedTuple):
    """A Result of this program and the text that strict writing makes of it."""

    result: Result
    text: str


def thaw(text: str | bytes) -> Any:
    """A copy of a frozen message, for whoever asks."""
    return decode(text, limits=OURS)


def copy_of(message: Task | Result) -> Any:
    """A message as its receiver gets it: written strictly and read again. Raises EncodeError."""
    return decode(encode(message), limits=OURS)
