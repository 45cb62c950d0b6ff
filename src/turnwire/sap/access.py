"""Principals and access rules (section 11): judged before any look-up, row or work."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol

from turnwire.sap.messages import Result, Task
from turnwire.sap.spec import ErrorCode

LONGEST_NAME = 200  # characters


class Principal(NamedTuple):
    """A caller, by the name that the transport authenticated. Tasks and results belong to (principal, taskId)."""

    name: str


ANONYMOUS = Principal("")
"""Whoever calls a transport that authenticates nobody. The rules of an :class:`Access` then go by the issuer's word."""

Named = Principal | str | None
"""A principal, its name, or None: somebody whose credentials nobody knows, who may do nothing."""


def principal_of(caller: Named) -> Principal | None:
    """The principal of that name; None stays None. Raises ValueError for a name that is empty or too long."""
    if caller is None or caller is ANONYMOUS or caller == ANONYMOUS:
        return None if caller is None else ANONYMOUS
    name = caller.name if isinstance(caller, Principal) else caller
    if not isinstance(name, str):
        raise TypeError(f"the name of a principal must be a str, not {type(name).__name__}")
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError(f"the name of a principal must be 1 to {LONGEST_NAME} printable characters")
    return Principal(name)


class Action(StrEnum):
    """An action that a principal requests."""

    SUBMIT = "submit"  # a Task: have it executed
    READ = "read"  # no message: fetch the Result of a task of its own
    CANCEL = "cancel"  # no message: end a task of its own
    DELIVER = "deliver"  # a Result: hand it in, where results are taken


Denial = tuple[ErrorCode, str]
"""A code of section 8 and words."""


class Authoriser(Protocol):
    """The authoriser that an agent asks about submitted tasks: an :class:`Access`, or your own class with this
    method."""

    def refusal(self, task: Task, principal: Named = ANONYMOUS, /) -> Denial | None:
        """The reason why the principal may not have the task executed, or None."""


def authorise(
    principal: Named, action: Action | str, message: Task | Result | None = None, access: Authoriser | None = None
) -> Denial | None:
    """Returns why ``principal`` may not perform an action, or None. Runs before any look-up, transcript row or job.

    The principal None (unknown credentials) is denied everything. ``access``, if given, decides on a Task; a Result may
    come from its producer, or from anyone if the transport does not authenticate. Reading and cancelling need no rule,
    since principals can access only their own tasks.
    """
    caller = principal_of(principal)
    if caller is None:
        return ErrorCode.UNAUTHORIZED, "the credentials are unknown"
    action = Action(action)
    if action is Action.SUBMIT and isinstance(message, Task):
        return access.refusal(message, caller) if access is not None else None
    if action is Action.DELIVER and isinstance(message, Result):
        producer = message.producer.agent_id
        if caller is not ANONYMOUS and caller.name != producer:
            return ErrorCode.UNAUTHORIZED, f"{caller.name} cannot deliver results of {producer[:_SHOWN]}"
    elif action not in (Action.READ, Action.CANCEL):
        raise TypeError(f"{action.value} needs the message, not {type(message).__name__}")
    return None


_SHOWN = 100  # characters of a foreign name in a refusal


class Rule(NamedTuple):
    """Issuers matching ``issuer`` (and of the given kinds, if any) may use capabilities matching one of the patterns.

    Patterns are shell-like and case-sensitive: ``A-*``, ``consult.*``.
    """

    issuer: str
    capabilities: tuple[str, ...]
    kinds: tuple[str, ...] = ()


class Access:
    """Rules that are tried in order; a task that no rule allows is rejected.

    Args:
        rules: what is allowed.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)

    def refusal(self, task: Task, principal: Named = ANONYMOUS, /) -> Denial | None:
        """Returns why a task is rejected, or None.

        principal: the sender that the transport authenticated; for ANONYMOUS, the issuer that the task claims is used.
        UNAUTHORIZED: no rule names the issuer, or it is not the principal; FORBIDDEN: its rules allow other
        capabilities.
        """
        caller = principal_of(principal)
        if caller is None:
            return ErrorCode.UNAUTHORIZED, "the credentials are unknown"
        issuer, capability = task.issuer, task.target.capability
        shown = issuer.agent_id[:_SHOWN]
        if caller is not ANONYMOUS and caller.name != issuer.agent_id:
            return ErrorCode.UNAUTHORIZED, f"{caller.name} cannot issue tasks for {shown}"
        known = [
            rule
            for rule in self.rules
            if fnmatchcase(issuer.agent_id, rule.issuer) and (not rule.kinds or issuer.agent_kind in rule.kinds)
        ]
        if not known:
            return ErrorCode.UNAUTHORIZED, f"no rule names the issuer {shown}"
        if not any(fnmatchcase(capability, pattern) for rule in known for pattern in rule.capabilities):
            return ErrorCode.FORBIDDEN, f"{shown} may not use {capability[:_SHOWN]}"
        return None
