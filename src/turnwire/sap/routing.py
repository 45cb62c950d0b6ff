"""Which of several agents gets a task (section 4.1, target.agentId and target.routingHints)."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.json.text import write
from turnwire.sap.principals import ANONYMOUS, Principal

if TYPE_CHECKING:
    from turnwire.sap.agent import Agent
    from turnwire.sap.messages import Task

STICKY = ("shard", "affinity")
"""Hints whose value always leads to the same provider, while the providers are the same."""


class Provider(NamedTuple):
    """An agent, and the labels that hints are compared with."""

    agent: Agent
    labels: Mapping[str, Any]


def provider_for(task: Task, providers: Mapping[str, Provider], principal: Principal = ANONYMOUS) -> Agent | None:
    """The agent that is addressed; else one that has the capability, chosen by the hints; None where nobody has it.

    A hint prefers providers with that label and value to those without the label; whoever has another value is left
    out, unless nobody is left then. ``affinity`` may name an agentId. Of those that remain, shard and affinity choose
    one by rendezvous hashing; without them it is the one with the fewest unfinished tasks, the first registered of
    these. A task that the principal sent before goes where it is.
    """
    target = task.target
    if target.agent_id is not None:
        found = providers.get(target.agent_id)
        return None if found is None else found.agent
    able = [one for one in providers.values() if target.capability in one.agent.capabilities]
    if len(able) == 1:  # whatever the hints are, and whoever has the task
        return able[0].agent
    if (holder := next((one for one in able if one.agent.holds(task.task_id, principal)), None)) is not None:
        return holder.agent
    hints = {name: value for name, value in (target.routing_hints or {}).items() if name != "priority"}
    if not able or not hints:
        return min(able, key=_load).agent if able else None
    if (named := providers.get(str(hints.get("affinity")))) is not None and named in able:
        return named.agent
    fitting = [one for one in able if all(one.labels.get(name, hints[name]) == hints[name] for name in hints)] or able
    best = max(sum(one.labels.get(name) == value for name, value in hints.items()) for one in fitting)
    fitting = [one for one in fitting if sum(one.labels.get(n) == v for n, v in hints.items()) == best]
    sticky = {name: hints[name] for name in STICKY if name in hints}
    if sticky and len(fitting) > 1:
        return max(fitting, key=lambda one: _score(one, sticky)).agent
    return min(fitting, key=_load).agent


def _load(provider: Provider) -> int:
    return provider.agent.unfinished


def _score(provider: Provider, sticky: Mapping[str, Any]) -> bytes:
    return sha256(f"{provider.agent.agent_id}\0{write(dict(sorted(sticky.items())))}".encode()).digest()
