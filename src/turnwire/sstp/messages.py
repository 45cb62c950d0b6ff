"""The seven kinds as thin classes over the JSON object that was read: nothing is copied, nothing unknown is lost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from turnwire import message as contract
from turnwire.errors import DecodeError, Reason
from turnwire.json.lazy_object import LazyObject, copied, forget_text, maker
from turnwire.sstp.spec import ARTIFACT_FIELDS, HEADER, MAIN_TEXT, PAYLOADS, WIRE, Kind

_KNOWN = frozenset(field.name for fields in (HEADER, *PAYLOADS.values()) for field in fields)
KEYS = tuple(dict.fromkeys(("header", "payload", *sorted(_KNOWN), *ARTIFACT_FIELDS)))
"""The keys of the specification; messages share these strings."""
_OF_HEADER = frozenset(field.name for field in HEADER if field.name != "kind")
_OF_PAYLOAD = {kind.value: frozenset(field.name for field in fields) for kind, fields in PAYLOADS.items()}


class Fields(dict[str, Any]):
    """A header or a payload: a dict whose fields can also be read and set as attributes.

    A missing field of the specification reads as None; ``"name" in message.payload`` distinguishes missing from null.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            if name in _KNOWN:
                return None
            raise AttributeError(f"there is no field {name!r}", name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def _header(name: str, words: str) -> contract.common[Any]:
    """An attribute of messages that is a field of their header."""
    return property(lambda message: fields_of(message)["header"].get(name), doc=words)  # type: ignore[return-value]


class Message(LazyObject, contract.Message):
    """One SSTP message: ``header`` and ``payload`` (dicts), ``extras`` (other keys of the object).

    Args:
        header: the fields of the header, ``kind`` among them.
        payload: the fields of the payload.
        extras: further keys of the top-level object.

    Values are validated when the message is checked or encoded, not when they are set. Messages are mutable,
    compare by value, copy and pickle.
    """

    __slots__ = ("__weakref__",)
    __match_args__ = ("header", "payload")

    __wire__ = WIRE
    KIND: ClassVar[Kind]
    if not TYPE_CHECKING:
        __annotations__ = {"header": Fields, "payload": Fields, "extras": dict[str, Any]}

    def __init__(
        self, header: Mapping[str, Any], payload: Mapping[str, Any], extras: Mapping[str, Any] | None = None
    ) -> None:
        self._fields = {"header": Fields(header), "payload": Fields(payload), **(extras or {})}
        forget_text(self)

    @property
    def header(self) -> Fields:
        """The header; changes to it change the message."""
        return _live(self.fields, "header")

    @property
    def payload(self) -> Fields:
        """The payload; changes to it change the message."""
        return _live(self.fields, "payload")

    @property
    def extras(self) -> dict[str, Any]:
        """A copy of the other keys of the top-level object; change them through ``fields``."""
        if len(fields_of(self)) == 2:
            return {}
        return {key: value for key, value in self.fields.items() if key not in ("header", "payload")}

    @contract.common
    def kind(self) -> Any:
        """``header.kind`` as given."""
        return fields_of(self)["header"].get("kind")

    wire = contract.constant(WIRE)
    sender = contract.column("actor_id", contract.text_or_none, "``header.actor_id``.")
    conversation = contract.column("session_id", contract.text_or_none, "``header.session_id``.")
    sequence = contract.column("logical_clock", contract.number_or_none, "``header.logical_clock``.")
    time = contract.constant(None)  # SSTP has no times

    @contract.common
    def receiver(self) -> str | None:
        """The one agent that a query is directed to, or that a delegation is assigned to."""
        return self.addressee if self.kind in (Kind.QUERY, Kind.DELEGATION) else None

    @contract.common
    def subject(self) -> str | None:
        """The main text of the payload: the goal, the question, the content, the task, and so on."""
        kind: Any = getattr(self, "KIND", None)
        name = MAIN_TEXT.get(kind)
        return None if name is None else contract.text_or_none(fields_of(self)["payload"].get(name))

    actor_id = _header("actor_id", "The name of the speaker.")
    schema_id = _header("schema_id", "``header.schema_id``.")
    session_id = _header("session_id", "``header.session_id``, or None.")
    logical_clock = _header(
        "logical_clock",
        "``header.logical_clock``: 1 for the first message of an actor in a session, incremented with each message.",
    )

    @property
    def directed_to(self) -> str | None:
        """``directed_to`` from the payload or the header, or None."""
        name = fields_of(self)["payload"].get("directed_to")
        if not isinstance(name, str):
            name = fields_of(self)["header"].get("directed_to")
        return name if isinstance(name, str) else None

    @property
    def addressee(self) -> str | None:
        """The name of the one agent that should respond: ``directed_to``, or ``assigned_to`` of a delegation; None for
        everybody."""
        name = self.directed_to
        return contract.text_or_none(fields_of(self)["payload"].get("assigned_to")) if name is None else name

    @property
    def retention_days(self) -> int | None:
        """The days of the policy label ``retention:Nd`` (the smallest of several), or None."""
        labels = fields_of(self)["header"].get("policy_labels")
        texts = (label for label in labels if isinstance(label, str)) if isinstance(labels, list) else ()
        return min((int(found[1]) for found in map(_RETENTION.fullmatch, texts) if found is not None), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Returns a deep copy of the message as plain dicts and lists."""
        result: dict[str, Any] = _plain(fields_of(self))
        return result

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Restores a message from the result of :meth:`to_dict`; values are copied. Raises DecodeError like ``decode``,
        and unknown_kind for the kind of another class."""
        from turnwire.sstp.codec import from_fields

        contract.expect_mapping(fields, WIRE)
        found = from_fields(_plain(dict(fields)))
        if not isinstance(found, cls):
            text = f"this is {type(found).__name__}, not {cls.__name__}"
            raise DecodeError(Reason.UNKNOWN_KIND, text, wire=WIRE, path="/header/kind")
        return found

    def replace(self, **changes: Any) -> Self:
        """Returns a copy with some parts replaced: header, payload, extras, or single fields of the header or payload
        by name. The kind is kept. Raises TypeError for any other name."""
        fields = self.to_dict()
        header = dict(changes.pop("header", fields["header"]))
        payload = dict(changes.pop("payload", fields["payload"]))
        extras = changes.pop("extras", {name: fields[name] for name in fields if name not in ("header", "payload")})
        own = _OF_PAYLOAD.get(self.KIND, frozenset())
        contract.refuse_unknown(type(self), changes, own | _OF_HEADER)
        for name, value in changes.items():
            (payload if name in own else header)[name] = value
        return type(self)(header, payload, extras)

    @classmethod
    def _schema(cls) -> dict[str, Any]:
        from turnwire.sstp.codec import json_schema

        return contract.without_dialect(json_schema(getattr(cls, "KIND", None), strict=False))

    def __repr__(self) -> str:
        fields = fields_of(self)
        extras = {name: value for name, value in fields.items() if name not in ("header", "payload")}
        tail = f", {extras!r}" if extras else ""
        return f"{type(self).__name__}({dict(fields['header'])!r}, {dict(fields['payload'])!r}{tail})"

    def __copy__(self) -> Self:
        return self.of({**self.fields, "header": Fields(self.header), "payload": Fields(self.payload)})


fields_of = Message._made = maker(WIRE, KEYS)
"""The object of a message; quicker than ``message._fields`` where it is still to be made."""


def _live(fields: dict[str, Any], name: str) -> Fields:
    part = fields[name]
    if type(part) is not Fields:
        part = fields[name] = Fields(part)
    return part


def _plain(value: Any) -> Any:
    """A deep copy of dicts and lists. Anything else stays as it is, so that the rules see a value of a wrong type."""
    return copied(value, _plain_of)


def _plain_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


_RETENTION = re.compile("retention:([0-9]{1,9})d")


class Intent(Message):
    """Declares a goal or frames the session: goal, assumptions, success_criteria, constraints."""

    __slots__ = ()
    KIND = Kind.INTENT


class Query(Message):
    """Asks one agent for information: question, required_fields, uncertainty, directed_to."""

    __slots__ = ()
    KIND = Kind.QUERY


class Knowledge(Message):
    """Shares a finding or answers a query: content, confidence, evidence_refs."""

    __slots__ = ()
    KIND = Kind.KNOWLEDGE


class Delegation(Message):
    """Assigns a task: task, assigned_to, required_capabilities, output_schema_id, evaluation_criteria."""

    __slots__ = ()
    KIND = Kind.DELEGATION


class Commit(Message):
    """Records a decision: decision, scope, commit_mode, supersedes."""

    __slots__ = ()
    KIND = Kind.COMMIT


class EvidenceBundle(Message):
    """Proves a claim: claim, artifacts, verdict, checks_run."""

    __slots__ = ()
    KIND = Kind.EVIDENCE_BUNDLE


class MemoryDelta(Message):
    """Records something learned: memory_type, summary, derived_rule, propagation."""

    __slots__ = ()
    KIND = Kind.MEMORY_DELTA


CLASSES: dict[str, type[Message]] = {
    cls.KIND.value: cls for cls in (Intent, Query, Knowledge, Delegation, Commit, EvidenceBundle, MemoryDelta)
}
"""The class of each kind, by the word in ``header.kind``."""
