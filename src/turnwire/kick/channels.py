"""Builds valid envelopes for the standard channels (section 002).

Every function returns an :class:`Envelope` that strict ``encode`` accepts, or raises EncodeError. All functions have
these ``options``: ``id`` (default: a new UUID v4), ``timestamp`` (default: the current time in UTC), ``index`` of the
section ("001"), ``policy``, ``trim`` (removes line ends at the end of a text, which are otherwise rejected), and, if
the request does not determine them, ``sender`` and ``correlation_id``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict
from uuid import uuid4

from turnwire.errors import Reason
from turnwire.kick import codec  # for its core, which tests exchange
from turnwire.kick.codec import Envelope
from turnwire.kick.faults import encode_fault
from turnwire.kick.rules import DEFAULT_POLICY, Policy
from turnwire.kick.space import Section, section_text, task_name
from turnwire.kick.spec import BROADCAST, DEFAULT_ROWS, ORCHESTRATOR, SIGIL, STATUS_WORDS

if TYPE_CHECKING:
    from typing_extensions import Unpack

_UNSET: Any = object()
_TYPES = {channel.partition("/")[0]: kind for channel, kind, *_ in DEFAULT_ROWS}


class EnvelopeOptions(TypedDict, total=False):
    """The keyword options of all functions."""

    id: str
    timestamp: str
    index: str
    policy: Policy
    correlation_id: str | None
    trim: bool


def dispatch(
    task: str, receiver: str, text: str, *, sender: str = ORCHESTRATOR, **options: Unpack[EnvelopeOptions]
) -> Envelope:
    """``⫻command/dispatch``: assigns ``task`` (its id) with its context to an agent.

    Give related tasks the same ``correlation_id``: a violation then pauses them together.
    """
    return _built("command/dispatch", sender, receiver, task, text, header="task/dispatch", **options)


def stop(request: Envelope, text: str = "", **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻command/stop``: aborts the task that ``request`` (a dispatch) assigned."""
    return _built("command/stop", request.sender, request.receiver, request, text, **options)


def resume(request: Envelope, text: str = "", **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻command/resume``: resumes a task that a violation paused (an extension: the specification does not define
    it)."""
    return _built("command/resume", request.sender, request.receiver, request, text, **options)


def escalate(
    alert: Envelope,
    text: str,
    *,
    receiver: str = "Human",
    sender: str = ORCHESTRATOR,
    **options: Unpack[EnvelopeOptions],
) -> Envelope:
    """``⫻command/escalate``: escalates a violation to a human or supervisor. Raises EncodeError(channel_not_allowed) if
    ``alert`` is none."""
    return _built("command/escalate", sender, receiver, _on(alert, "alert/"), text, **options)


def decision(
    escalation: Envelope, text: str, *, sender: str | None = None, **options: Unpack[EnvelopeOptions]
) -> Envelope:
    """``⫻report/decision``: answers an escalation, from the human or supervisor who received it (an extension: the
    specification does not define it). The Orchestrator then decides what happens to the tasks. Raises
    EncodeError(channel_not_allowed) for another request than an escalation."""
    about = _on(escalation, "command/escalate")
    return _built("report/decision", sender or about.receiver, about.sender, about, text, **options)


def status(request: Envelope, word: str, detail: str = "", **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻report/status``: sends "Accepted", "In Progress", "Completed" or "Failed" from the receiver of the request to
    its sender."""
    if word not in STATUS_WORDS:
        known = ", ".join(STATUS_WORDS)
        raise encode_fault(Reason.UNKNOWN_STATUS, f"{word!r} is not a status; the statuses are {known}", "/content")
    text = f"{word}\n{detail}" if detail else word
    return _built("report/status", request.receiver, request.sender, request, text, **options)


def artifact(request: Envelope, path: str, detail: str = "", **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻report/artifact``: sends the path of an artifact (one line) from the receiver of the request to its sender."""
    if not path or "\n" in path.rstrip("\r\n"):
        raise encode_fault(Reason.MISMATCH, f"a path is one line, not {path!r}", "/content")
    text = f"{path}\n{detail}" if detail else path
    return _built("report/artifact", request.receiver, request.sender, request, text, **options)


def error(sender: str, task: str, text: str, **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻alert/error``: announces a failure or an exception in ``task``."""
    return _built("alert/error", sender, BROADCAST, task, text, **options)


def violation(sender: str, task: str, text: str, **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻alert/violation``: announces a violation in ``task``; a ``correlation_id`` identifies related tasks."""
    return _built("alert/violation", sender, BROADCAST, task, text, **options)


def context(sender: str, receiver: str, subject: str, text: str, **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻query/context``: asks for state or memory about ``subject`` (one word)."""
    return _built("query/context", sender, receiver, subject, text, **options)


def answer(request: Envelope, text: str, *, sender: str | None = None, **options: Unpack[EnvelopeOptions]) -> Envelope:
    """Answers a query on its channel, with its correlation; ``sender`` is required if the query was a broadcast."""
    channel = request.channel.removeprefix(SIGIL)
    return _built(channel, sender or request.receiver, request.sender, request, text, header="query/answer", **options)


def _on(request: Envelope, channel: str) -> Envelope:
    """The same envelope, whose channel must begin so."""
    if not request.channel.startswith(SIGIL + channel):
        text = f"the request must be on {SIGIL}{channel}, not on {request.channel}"
        raise encode_fault(Reason.CHANNEL_NOT_ALLOWED, text, "/channel")
    return request


def _built(
    channel: str,
    sender: str,
    receiver: str,
    about: str | Envelope,
    text: str,
    *,
    header: str | None = None,
    id: str = "",
    timestamp: str = "",
    index: str = "001",
    policy: Policy = DEFAULT_POLICY,
    correlation_id: str | None = _UNSET,
    trim: bool = False,
) -> Envelope:
    """about: a task, or the envelope that names it, whose correlation the new one has (its id, if it has none: rule
    3 of section 004). header: name and type of the section, if they are not those of the channel."""
    task = about if isinstance(about, str) else task_name(about)
    if task is None:
        raise encode_fault(Reason.BAD_HEADER, "the first section of the request does not name a task", "/content")
    if correlation_id is _UNSET:
        correlation_id = None if isinstance(about, str) else about.correlation_id or about.id
    name, type_ = (header or channel).split("/", 1)
    content = section_text(Section(name, type_, place=task, index=index, content=text, trim=trim), path="/content")
    now = timestamp or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kind = _TYPES.get(channel.partition("/")[0], "Query")
    envelope = Envelope(id or str(uuid4()), now, sender, receiver, kind, SIGIL + channel, content, correlation_id)
    codec.encode(envelope, policy=policy)
    return envelope
