"""Builds the right envelope for each standard channel (section 002), so that the easy way is the valid way.

Every function returns an :class:`Envelope` that strict ``encode`` takes, or raises EncodeError. ``options`` of all of
them: ``id`` (a new UUID v4 without it), ``timestamp`` (the present time in UTC without it), ``index`` of the section
("001"), ``policy``, ``trim`` (cuts off the line ends at the end of a text, which are refused otherwise), and where it
is not given by the request: ``sender``, ``correlation_id``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict
from uuid import uuid4

from turnwire.errors import Reason
from turnwire.kick import codec  # for its core, which tests exchange
from turnwire.kick.codec import Envelope
from turnwire.kick.faults import encode_fault
from turnwire.kick.policy import DEFAULT_POLICY, Policy
from turnwire.kick.space import Section
from turnwire.kick.spec import BROADCAST, ORCHESTRATOR, SIGIL, STATUS_WORDS
from turnwire.kick.tracking import task_name
from turnwire.kick.writing import section_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "answer",
    "artifact",
    "context",
    "correlation_of",
    "decision",
    "dispatch",
    "error",
    "escalate",
    "resume",
    "status",
    "stop",
    "violation",
]


class EnvelopeOptions(TypedDict, total=False):
    """The options that every function takes by keyword."""

    id: str
    timestamp: str
    index: str
    policy: Policy
    correlation_id: str | None
    trim: bool


def correlation_of(request: Envelope) -> str:
    """The correlation_id of a response to ``request`` (rule 3 of section 004): that of the request, or its id
    where the request has none."""
    return request.correlation_id or request.id


def dispatch(
    task: str, receiver: str, text: str, *, sender: str = ORCHESTRATOR, **options: Unpack[EnvelopeOptions]
) -> Envelope:
    """``⫻command/dispatch``: assigns ``task`` (its id) with its context to an agent.

    Give related tasks the same ``correlation_id``: a violation then pauses them together.
    """
    return _build("Command", "command/dispatch", sender, receiver, ("task", "dispatch", task), text, options)


def stop(request: Envelope, text: str = "", **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻command/stop``: aborts what ``request`` (a dispatch) assigned."""
    return _command("stop", request, text, options)


def resume(request: Envelope, text: str = "", **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻command/resume``: lets a task go on that a violation had paused (a reading: the specification has no word)."""
    return _command("resume", request, text, options)


def escalate(
    alert: Envelope,
    text: str,
    *,
    receiver: str = "Human",
    sender: str = ORCHESTRATOR,
    **options: Unpack[EnvelopeOptions],
) -> Envelope:
    """``⫻command/escalate``: hands a violation to a human or supervisor."""
    options.setdefault("correlation_id", correlation_of(alert))
    header = ("command", "escalate", _task(alert))
    return _build("Command", "command/escalate", sender, receiver, header, text, options)


def decision(
    escalation: Envelope, text: str, *, sender: str | None = None, **options: Unpack[EnvelopeOptions]
) -> Envelope:
    """``⫻report/decision``: answers an escalation, from the human or supervisor that it went to (a reading: the
    specification has no word). It decides; what is done about the tasks the Orchestrator says."""
    return _report("decision", escalation, text, options, sender)


def status(request: Envelope, word: str, detail: str = "", **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻report/status``: "Accepted", "In Progress", "Completed" or "Failed", from who was asked to who asked."""
    if word not in STATUS_WORDS:
        known = ", ".join(STATUS_WORDS)
        raise encode_fault(Reason.UNKNOWN_STATUS, f"{word!r} is not a status; there are {known}", "/content")
    return _report("status", request, f"{word}\n{detail}" if detail else word, options)


def artifact(request: Envelope, path: str, detail: str = "", **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻report/artifact``: the path of what was made, from who was asked to who asked."""
    return _report("artifact", request, f"{path}\n{detail}" if detail else path, options)


def error(sender: str, task: str, text: str, **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻alert/error``: tells everybody of a failure or an exception in ``task``."""
    return _build("Alert", "alert/error", sender, BROADCAST, ("alert", "error", task), text, options)


def violation(sender: str, task: str, text: str, **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻alert/violation``: tells everybody of a violation in ``task``; a ``correlation_id`` names related ones."""
    return _build("Alert", "alert/violation", sender, BROADCAST, ("alert", "violation", task), text, options)


def context(sender: str, receiver: str, subject: str, text: str, **options: Unpack[EnvelopeOptions]) -> Envelope:
    """``⫻query/context``: asks for state or memory about ``subject`` (one word)."""
    return _build("Query", "query/context", sender, receiver, ("query", "context", subject), text, options)


def answer(request: Envelope, text: str, *, sender: str | None = None, **options: Unpack[EnvelopeOptions]) -> Envelope:
    """The answer to a query, on its channel and correlation; ``sender`` is needed where the query was a broadcast."""
    options.setdefault("correlation_id", correlation_of(request))
    channel = request.channel.removeprefix(SIGIL)
    header = ("query", "answer", _task(request))
    return _build("Query", channel, sender or request.receiver, request.sender, header, text, options)


def _command(name: str, request: Envelope, text: str, options: EnvelopeOptions) -> Envelope:
    options.setdefault("correlation_id", correlation_of(request))
    header = ("command", name, _task(request))
    return _build("Command", f"command/{name}", request.sender, request.receiver, header, text, options)


def _report(name: str, request: Envelope, text: str, options: EnvelopeOptions, sender: str | None = None) -> Envelope:
    options.setdefault("correlation_id", correlation_of(request))
    header = ("report", name, _task(request))
    return _build("Info", f"report/{name}", sender or request.receiver, request.sender, header, text, options)


def _task(request: Envelope) -> str:
    name = task_name(request)
    if name is None:
        raise encode_fault(Reason.BAD_HEADER, "the request names no task in the place of its first section", "/content")
    return name


def _build(
    kind: str,
    channel: str,
    sender: str,
    receiver: str,
    header: tuple[str, str, str],
    text: str,
    options: EnvelopeOptions,
) -> Envelope:
    name, type_, place = header
    if not options.keys() <= EnvelopeOptions.__annotations__.keys():
        wrong = ", ".join(sorted(options.keys() - EnvelopeOptions.__annotations__.keys()))
        raise TypeError(f"{wrong}: no option of a channel; those are {', '.join(EnvelopeOptions.__annotations__)}")
    index, trim = options.get("index", "001"), options.get("trim", False)
    section = Section(name, type_, place=place, index=index, content=text, trim=trim)
    now = options.get("timestamp") or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    content = section_text(section, path="/content")
    envelope = Envelope(
        options.get("id") or str(uuid4()),
        now,
        sender,
        receiver,
        kind,
        SIGIL + channel,
        content,
        options.get("correlation_id"),
    )
    for reason, where, severity, words in codec._core.check(envelope, options.get("policy", DEFAULT_POLICY)):
        if severity == "warning":
            raise encode_fault(reason, words, str(where))
    return envelope
