"""Tasks from a few typed arguments (section 4.1)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from turnwire.sap.members import plain
from turnwire.sap.messages import (
    Budget,
    CachePolicy,
    ConstitutionalContext,
    Issuer,
    OutputContract,
    ReplyTo,
    Target,
    Task,
    Telemetry,
)
from turnwire.sap.spec import AgentKind, CacheMode, PressureLevel, Priority
from turnwire.sap.times import now, write_time

ContextLike = ConstitutionalContext | Mapping[str, Any]


class TaskFields(TypedDict, total=False):
    """What :func:`make_task` takes by name, for editors and type checkers."""

    issuer: str | Issuer
    context: ContextLike | None
    agent_id: str | None
    routing_hints: Mapping[str, Any] | None
    cache: CacheMode | str | CachePolicy | None
    output_schema: Mapping[str, Any] | None
    output_format: str | None
    priority: Priority | str | None
    deadline: datetime | str | None
    seconds: float | None
    tokens: float | None
    trace: bool | None
    reply_to: str | None
    expect_ack: bool | None
    parent: str | Task | None
    tags: Sequence[str] | None
    meta: Mapping[str, Any] | None
    task_id: str | None
    correlation_id: str | None


NOBODY = Issuer(agent_id="anonymous", agent_kind=AgentKind.USER)
"""The issuer of tasks for which no other is named."""


def make_task(
    capability: str,
    payload: Mapping[str, Any],
    *,
    issuer: str | Issuer = NOBODY,
    context: ContextLike | None = None,
    agent_id: str | None = None,
    routing_hints: Mapping[str, Any] | None = None,
    cache: CacheMode | str | CachePolicy | None = None,
    output_schema: Mapping[str, Any] | None = None,
    output_format: str | None = None,
    priority: Priority | str | None = None,
    deadline: datetime | str | None = None,
    seconds: float | None = None,
    tokens: float | None = None,
    trace: bool | None = None,
    reply_to: str | None = None,
    expect_ack: bool | None = None,
    parent: str | Task | None = None,
    tags: Sequence[str] | None = None,
    meta: Mapping[str, Any] | None = None,
    task_id: str | None = None,
    correlation_id: str | None = None,
) -> Task:
    """A Task with fresh ids, issued now. What is None is left out; without a ``context`` its pressureLevel is instant.

    Args:
        issuer: the agentId of an agent, or an Issuer.
        context: a ConstitutionalContext, or its fields by their names on the wire.
        agent_id: the agent that is to do it. cache: a mode, or a whole CachePolicy.
        deadline: an aware datetime or its text. seconds, tokens: the budget.
        parent: the parent Task, or its id; its correlationId is taken over.
    """
    made = Task(
        task_id=task_id or str(uuid.uuid4()),
        parent_task_id=parent.task_id if isinstance(parent, Task) else parent,
        correlation_id=correlation_id or (parent.correlation_id if isinstance(parent, Task) else str(uuid.uuid4())),
        issued_at=now(),
        issuer=issuer if isinstance(issuer, Issuer) else Issuer(agent_id=issuer, agent_kind=AgentKind.AGENT),
        target=Target(agent_id=agent_id, capability=capability, routing_hints=_plain(routing_hints)),
        constitutional_context=_context(context, cache),
        payload=plain(payload),
    )
    if parent is None:
        del made.parent_task_id
    if output_schema is not None or output_format is not None:
        made.output_contract = OutputContract(schema=_plain(output_schema), format=output_format)
    budget = Budget(tokens=tokens, seconds=seconds)
    telemetry = Telemetry(
        priority=priority,
        deadline=write_time(deadline) if isinstance(deadline, datetime) else deadline,
        budget=budget if budget.fields else None,
        trace=trace,
    )
    made.telemetry = telemetry if telemetry.fields else None
    reply = ReplyTo(endpoint=reply_to, expect_ack=expect_ack)
    made.reply_to = reply if reply.fields else None
    made.tags = None if tags is None else list(tags)
    made.meta = _plain(meta)
    made.fields = plain(made.fields)
    return made


def _plain(value: Mapping[str, Any] | None) -> Any:
    return None if value is None else plain(value)


def _context(given: ContextLike | None, cache: CacheMode | str | CachePolicy | None) -> ConstitutionalContext:
    fields = {} if given is None else plain(given)
    made = ConstitutionalContext.from_dict(fields if given is not None else {"pressureLevel": _INSTANT})
    if cache is not None:
        made.cache_policy = cache if isinstance(cache, CachePolicy) else CachePolicy(mode=cache)
    return made


_INSTANT = PressureLevel.INSTANT.value
