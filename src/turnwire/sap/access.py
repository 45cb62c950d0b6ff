"""Which issuer may ask for which capability (section 11): rules as data, judged before any work."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from turnwire.errors import expect
from turnwire.sap.messages import Task
from turnwire.sap.spec import ErrorCode


class Rule(NamedTuple):
    """Issuers matching ``issuer`` (and of the given kinds, if any) may use capabilities matching one of the patterns.

    Patterns are shell-like and case-sensitive: ``A-*``, ``consult.*``.
    """

    issuer: str
    capabilities: tuple[str, ...]
    kinds: tuple[str, ...] = ()


class Access:
    """Rules that are tried in order; whoever no rule allows is refused.

    Args:
        rules: what is allowed.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)

    @classmethod
    def from_toml(cls, text: str) -> Access:
        """Rules from TOML: ``[[allow]]`` tables with issuer, capabilities and, optionally, kinds. Raises ValueError."""
        expect(text, str, "rules are TOML text")
        tables = tomllib.loads(text).get("allow", [])
        if not isinstance(tables, list):
            raise ValueError("rules are [[allow]] tables")
        return cls(map(_rule, tables))

    def refusal(self, task: Task, identity: str | None = None) -> tuple[ErrorCode, str] | None:
        """Why a task is refused, or None.

        identity: who the transport knows the sender to be; without one the issuer's own word is taken. UNAUTHORIZED:
        the issuer is not who was authenticated, or nobody knows it; FORBIDDEN: it may do other things, not this one.
        """
        issuer, capability = task.issuer, task.target.capability
        if identity is not None and identity != issuer.agent_id:
            return ErrorCode.UNAUTHORIZED, f"{identity} cannot issue tasks for {issuer.agent_id}"
        known = [
            rule
            for rule in self.rules
            if fnmatchcase(issuer.agent_id, rule.issuer) and (not rule.kinds or str(issuer.agent_kind) in rule.kinds)
        ]
        if not known:
            return ErrorCode.UNAUTHORIZED, f"no rule knows the issuer {issuer.agent_id}"
        if not any(fnmatchcase(capability, pattern) for rule in known for pattern in rule.capabilities):
            return ErrorCode.FORBIDDEN, f"{issuer.agent_id} may not use {capability}"
        return None


def _rule(table: object) -> Rule:
    if not isinstance(table, Mapping) or not {"issuer", "capabilities"} <= table.keys():
        raise ValueError("a table [[allow]] has issuer and capabilities")
    return Rule(str(table["issuer"]), _names(table["capabilities"]), _names(table.get("kinds", [])))


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError("capabilities and kinds are lists of strings")
    return tuple(value)
