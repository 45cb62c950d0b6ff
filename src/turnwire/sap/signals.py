"""Signals of the ConstitutionalLearningLoop (section 7): from results, and from operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from turnwire.errors import EncodeError, Reason, RuleError, expect
from turnwire.json.canonical import canonical
from turnwire.json.text import write
from turnwire.sap.cache_keys import WHOLE_PAYLOAD, Essence, fingerprint
from turnwire.sap.messages import Result, Task
from turnwire.sap.spec import WIRE

PRODUCER, OPERATOR = "producer", "operator"
RATINGS = range(1, 6)


@dataclass(frozen=True)
class Signal:
    """One observation, keyed by capability, territory and fingerprint.

    source: "producer" or "operator". An operator gives a rating (1 to 5), a note, an approval, each or any of them; a
    producer what a Result carries. pressure: principle to the number at decision time. inputs: payload field to the
    digest of its value, and answer: the digest of the output; they show which fields no output depends on.
    """

    source: str
    capability: str
    territory: str | None
    fingerprint: str
    task_id: str
    status: str | None = None
    alignment: str | None = None
    pressure: Mapping[str, float] = field(default_factory=dict)
    policy_checks: tuple[Mapping[str, Any], ...] = ()
    violations: tuple[Mapping[str, Any], ...] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    next_actions: tuple[Mapping[str, Any], ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    answer: str | None = None
    rating: int | None = None
    note: str | None = None
    approval: bool | None = None

    def __post_init__(self) -> None:
        if self.source not in (PRODUCER, OPERATOR):
            raise _bad("source is producer or operator")
        if self.source == OPERATOR and (self.rating, self.note, self.approval) == (None, None, None):
            raise _bad("an operator gives a rating, a note or an approval (section 7)")
        if self.rating is not None and (type(self.rating) is not int or self.rating not in RATINGS):
            raise _bad("a rating is an integer from 1 to 5")
        if self.approval is not None and not isinstance(self.approval, bool):
            raise _bad("an approval is true or false")

    @property
    def key(self) -> str:
        """What it is found by in the ledger."""
        return signal_key(self.capability, self.territory, self.fingerprint)

    def to_dict(self) -> dict[str, Any]:
        """The fields that say something."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {}, ())}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Signal:
        """The signal that :meth:`to_dict` gave."""
        expect(fields, Mapping, "the fields of a signal are a mapping")
        arrays = {name: tuple(fields.get(name, ())) for name in ("policy_checks", "violations", "next_actions")}
        return cls(**{"territory": None, **fields, **arrays})


def _bad(text: str) -> RuleError:
    return RuleError(Reason.BAD_SIGNAL, text, rule="signal", wire=WIRE)


def signal_key(capability: str, territory: str | None, fingerprint_: str) -> str:
    """One text for capability, territory and fingerprint."""
    return canonical([capability, territory, fingerprint_]).decode()


def from_result(task: Task, result: Result, *, essence: Essence = WHOLE_PAYLOAD) -> Signal:
    """The producer's signal in a Result."""
    expect(task, Task, "a Result answers a Task")
    expect(result, Result, "a signal comes from a Result")
    fields, evidence = result.fields, result.fields["constitutionalEvidence"]
    context = task.fields["constitutionalContext"]
    return Signal(
        source=PRODUCER,
        **_place(task, essence),
        status=fields["status"],
        alignment=evidence["alignment"],
        pressure=evidence.get("pressureReadings") or context.get("pressure", {}),
        policy_checks=tuple(evidence.get("policyChecks", ())),
        violations=tuple(evidence.get("violations", ())),
        metrics=fields.get("metrics", {}),
        next_actions=tuple(fields.get("nextActions", ())),
        inputs={name: _digest(value) for name, value in task.fields["payload"].items()},
        answer=_digest(fields["output"]) if "output" in fields else None,
    )


def from_operator(
    task: Task,
    *,
    rating: int | None = None,
    note: str | None = None,
    approval: bool | None = None,
    essence: Essence = WHOLE_PAYLOAD,
) -> Signal:
    """An operator's opinion of what came of a task."""
    expect(task, Task, "an opinion is about a Task")
    pressure = task.fields["constitutionalContext"].get("pressure", {})
    return Signal(
        source=OPERATOR, **_place(task, essence), pressure=pressure, rating=rating, note=note, approval=approval
    )


def _place(task: Task, essence: Essence) -> dict[str, Any]:
    try:
        print_ = fingerprint(task, essence=essence)
    except EncodeError:
        print_ = _digest(task.fields["payload"])
    return {
        "capability": task.fields["target"]["capability"],
        "territory": task.fields["constitutionalContext"].get("territory"),
        "fingerprint": print_,
        "task_id": task.fields["taskId"],
    }


def _digest(value: Any) -> str:
    try:
        text = canonical(value)
    except EncodeError:  # an integer beyond 2**53; its plain text does as well here
        text = write(value).encode()
    return "sha256:" + sha256(text).hexdigest()
