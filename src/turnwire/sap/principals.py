"""Who calls: every task, look-up and delivery has a principal before anything else is done with it (section 11)."""

from __future__ import annotations

from typing import NamedTuple

LONGEST_NAME = 200  # characters


class Principal(NamedTuple):
    """A caller by the name that its transport authenticated. Tasks and results belong to (principal, taskId)."""

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
        raise TypeError(f"a principal has a name, which is a str, not {type(name).__name__}")
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError(f"the name of a principal is 1 to {LONGEST_NAME} printable characters")
    return Principal(name)


def authenticated(caller: Named) -> Principal | None:
    """What a transport makes of the answer of its ``identify``: None is denied, and so is whoever has no name.

    ANONYMOUS becomes the principal "anonymous", which has to be allowed by a rule like any other: where callers are
    identified, nobody is taken at the word of a task's issuer.
    """
    principal = principal_of(caller or None)
    return Principal("anonymous") if principal is ANONYMOUS else principal
