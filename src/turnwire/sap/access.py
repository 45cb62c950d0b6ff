"""Principals and access rules, judged before any look-up, row or work, and signatures (section 11).

A signature is a member ``meta.signature`` of a Task or Result, ``{"signer", "ed25519"}`` (base64): Ed25519 over the
canonical JSON of the message without that member. Verifying needs the public keys of those one trusts. Extra: ``sign``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from turnwire.errors import Reason, RuleError
from turnwire.json.text import canonical
from turnwire.sap.messages import Result, Task
from turnwire.sap.spec import WIRE, ErrorCode

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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


# --- signatures

MEMBER = "signature"
M = TypeVar("M", Task, Result)


def sign(data: bytes, key: Ed25519PrivateKey | bytes) -> str:
    """The Ed25519 signature of bytes, in base64. key: a private key, or its 32 raw bytes."""
    from turnwire.ledger.checkpoint import private_key

    return base64.b64encode(private_key(key).sign(data)).decode()


def verify(data: bytes, signature: str, public: bytes) -> bool:
    """True if the signature (in base64) of bytes is that of a public key (32 raw bytes)."""
    from turnwire.ledger.checkpoint import is_signature

    try:
        return is_signature(public, base64.b64decode(signature, validate=True), data)
    except ValueError:  # no base64
        return False


def signed_message(message: M, signer: str, key: Ed25519PrivateKey | bytes) -> M:
    """A copy of a Task or Result with a signature in its meta. Raises EncodeError without canonical form."""
    made: M = _unsigned(message)
    made.meta = {**(made.meta or {}), MEMBER: {"signer": signer, "ed25519": sign(canonical(made.to_dict()), key)}}
    return made


def verify_message(message: Task | Result, keys: Mapping[str, bytes]) -> str:
    """The name of a message's signer. Raises RuleError(bad_signature) if none, an unknown one or a wrong one signed.

    keys: name -> public key, 32 raw bytes. Who signed is not yet who issued or produced it: compare the names.
    """
    said = (message.meta or {}).get(MEMBER)
    signer = said.get("signer") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(signer, str) or signer not in keys:
        raise _bad("the message has no signature" if said is None else "the signer of the message is unknown")
    if not verify(canonical(_unsigned(message).to_dict()), str(said.get("ed25519", "")), keys[signer]):
        raise _bad("the signature does not match the message")
    return signer


def _unsigned(message: Any) -> Any:
    left = {name: value for name, value in (message.meta or {}).items() if name != MEMBER}
    return message.replace(meta=left or None)


def _bad(text: str) -> RuleError:
    return RuleError(Reason.BAD_SIGNATURE, text, rule="signature", wire=WIRE)
