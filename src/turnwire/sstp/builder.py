"""Writing right messages the easy way: an agent that keeps its own clock and knows its session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any, TypeVar

from turnwire.sstp.codec import encode
from turnwire.sstp.messages import Commit, Delegation, EvidenceBundle, Intent, Knowledge, MemoryDelta, Message, Query
from turnwire.sstp.spec import HEADER, PAYLOADS, SCHEMA_IDS

Sent = TypeVar("Sent", bound=Message)


class Agent:
    """One speaker in one session. Every method gives a message that strict writing takes, with the next clock.

    A message that would be refused raises EncodeError and uses up no clock. Safe to share between threads.

    Args:
        actor_id: the agent's name.
        session_id: the session.
        clock: the logical clock of the next message (1 for a new session; ``Session.next_clock`` for a running one).
    """

    def __init__(self, actor_id: str, session_id: str, *, clock: int = 1) -> None:
        self.actor_id = actor_id
        self.session_id = session_id
        self.clock = clock
        self._lock = Lock()

    def _message(self, cls: type[Sent], optional: Mapping[str, Any], *payload: Any) -> Sent:
        """The next message. payload: its values, in the order of the specification."""
        known = [field.name for field in HEADER if field.need == "never"]
        unknown = [name for name in optional if name not in known]
        if unknown:
            raise TypeError(f"{unknown[0]!r} is not a header field; there are {', '.join(known)}")
        with self._lock:
            values = {
                "kind": cls.KIND.value,
                "actor_id": self.actor_id,
                "schema_id": SCHEMA_IDS[cls.KIND],
                "session_id": self.session_id,
                "logical_clock": self.clock,
                **optional,
            }
            header = {field.name: values[field.name] for field in HEADER if field.name in values}
            names = (field.name for field in PAYLOADS[cls.KIND])
            message = cls(header, dict(zip(names, payload, strict=True)))
            encode(message)
            self.clock += 1
        return message

    def intent(
        self,
        goal: str,
        *,
        success_criteria: str,
        assumptions: Iterable[str] = (),
        constraints: Iterable[str] = (),
        **header: Any,
    ) -> Intent:
        """Declares a goal or frames the session. ``header``: policy_labels, provenance, risk_score."""
        return self._message(Intent, header, goal, list(assumptions), success_criteria, list(constraints))

    def query(
        self, question: str, *, directed_to: str, uncertainty: float, required_fields: Iterable[str] = (), **header: Any
    ) -> Query:
        """Asks ``directed_to`` for information; ``uncertainty`` lies between 0 and 1."""
        return self._message(Query, header, question, list(required_fields), uncertainty, directed_to)

    def knowledge(
        self, content: str, *, confidence: float, evidence_refs: Iterable[str] = (), **header: Any
    ) -> Knowledge:
        """Shares a finding or answers a query; ``confidence`` lies between 0 and 1."""
        return self._message(Knowledge, header, content, confidence, list(evidence_refs))

    def delegation(
        self,
        task: str,
        *,
        assigned_to: str,
        output_schema_id: str,
        evaluation_criteria: str,
        required_capabilities: Iterable[str] = (),
        **header: Any,
    ) -> Delegation:
        """Assigns a task to ``assigned_to``."""
        capabilities = list(required_capabilities)
        return self._message(Delegation, header, task, assigned_to, capabilities, output_schema_id, evaluation_criteria)

    def commit(
        self, decision: str, *, scope: str, commit_mode: str, supersedes: str | None = None, **header: Any
    ) -> Commit:
        """Records a decision."""
        return self._message(Commit, header, decision, scope, commit_mode, supersedes)

    def evidence_bundle(
        self,
        claim: str,
        *,
        artifacts: Iterable[Mapping[str, Any]],
        verdict: str,
        checks_run: Iterable[Any] = (),
        **header: Any,
    ) -> EvidenceBundle:
        """Gives proof for a claim; each artifact has a type, a name and a value."""
        proofs = [dict(artifact) for artifact in artifacts]
        return self._message(EvidenceBundle, header, claim, proofs, verdict, list(checks_run))

    def memory_delta(
        self, summary: str, *, memory_type: str, derived_rule: str, propagation: str, **header: Any
    ) -> MemoryDelta:
        """Emits a learning for long-term retention; ``policy_labels=["retention:90d"]`` says for how long."""
        return self._message(MemoryDelta, header, memory_type, summary, derived_rule, propagation)
