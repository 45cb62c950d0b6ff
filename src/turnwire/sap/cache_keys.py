"""The payload fields that form the cache key of a task, and the key that they give (section 6)."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from turnwire.errors import expect
from turnwire.json.canonical import canonical
from turnwire.sap.messages import Task

KEY_PREFIX = "sapck1:sha256:"
SALTED_PREFIX = "sapck1:hmac-sha256:"


class Essence(NamedTuple):
    """A way to draw the essence from a payload.

    name: with its version, e.g. "topic-only/2"; it is part of every key, so that another version never meets the rows
    of an older one. extract: payload -> JSON value.
    """

    name: str
    extract: Callable[[Mapping[str, Any]], Any]

    def of(self, task: Task) -> Any:
        """The essence of a task's payload, with the name of this extractor."""
        return {"essence": self.extract(task.fields["payload"]), "extractor": self.name}


class _Whole(Essence):
    """The default: the payload itself, and nothing of ours around it."""

    __slots__ = ()

    def of(self, task: Task) -> Any:
        return task.fields["payload"]


WHOLE_PAYLOAD: Essence = _Whole("payload/1", lambda payload: payload)


def without(names: Iterable[str], version: int) -> Essence:
    """The payload without some of its fields, such as a request number that no output depends on."""
    dropped = frozenset(names)
    label = ",".join(sorted(dropped))

    def extract(payload: Mapping[str, Any]) -> Any:
        return {name: value for name, value in payload.items() if name not in dropped}

    return Essence(f"payload-without:{label}/{version}", extract)


def cache_key(task: Task, *, essence: Essence = WHOLE_PAYLOAD, salt: bytes = b"") -> str:
    """The deterministic key of a task's work (section 6): ``sapck1:sha256:`` and 64 hex digits.

    The SHA-256 of the canonical JSON of capability, essence, outputContract, principles (sorted, each once), sapVersion
    and territory. With a tenant's ``salt`` it is an HMAC under that salt, ``sapck1:hmac-sha256:``, so that tenants
    neither share rows nor can guess each other's payloads. Raises EncodeError for a payload without canonical form.
    """
    expect(task, Task, "a Task has a key")
    text = key_text(task, essence.of(task))
    if salt:
        return SALTED_PREFIX + hmac.new(salt, text, sha256).hexdigest()
    return KEY_PREFIX + sha256(text).hexdigest()


def key_text(task: Task, essence: Any) -> bytes:
    """What is hashed for the key."""
    fields = task.fields
    context = fields["constitutionalContext"]
    return canonical(
        {
            "capability": fields["target"]["capability"],
            "essence": essence,
            "outputContract": fields.get("outputContract"),
            "principles": sorted(set(context.get("principles", ()))),
            "sapVersion": fields["protocolVersion"],
            "territory": context.get("territory"),
        }
    )


def fingerprint(task: Task, *, essence: Essence = WHOLE_PAYLOAD) -> str:
    """``sha256:`` and the SHA-256 of the canonical JSON of the essence."""
    expect(task, Task, "a Task has a fingerprint")
    return "sha256:" + sha256(canonical(essence.of(task))).hexdigest()
