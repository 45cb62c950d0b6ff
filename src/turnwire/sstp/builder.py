"""Writing right messages the easy way: an agent that keeps its own clock and knows its session."""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar

from turnwire.message import refuse_unknown
from turnwire.sstp.codec import encode
from turnwire.sstp.messages import Message
from turnwire.sstp.spec import HEADER, MAIN_TEXT, PAYLOADS, SCHEMA_IDS

Sent = TypeVar("Sent", bound=Message)
_OPTIONAL = [field.name for field in HEADER if field.need == "never"]
_DEFAULTS: dict[str, Any] = {"texts": [], "list": [], "text_or_null": None}
"""Type of a field -> its value where none is given."""


class Agent:
    """A speaker in a session. It makes only messages that strict writing accepts, with the next clock.

    A message that would be refused raises EncodeError and uses no clock. Safe to share between threads.

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

    def say(self, kind: type[Sent], text: str, **fields: Any) -> Sent:
        """Makes the next message, of a class such as ``sstp.Query``.

        text: the main field of the kind (goal, question, content, task, decision, claim, summary). fields: the
        other fields of the payload (lists default to empty, ``supersedes`` to None), and policy_labels, provenance,
        risk_score of the header.
        """
        rows = PAYLOADS[kind.KIND]
        refuse_unknown(kind, fields, [*(row.name for row in rows), *_OPTIONAL])
        given = {row.name: _DEFAULTS[row.type] for row in rows if row.type in _DEFAULTS} | fields
        given[MAIN_TEXT[kind.KIND]] = text
        payload = {row.name: given[row.name] for row in rows if row.name in given}
        with self._lock:
            given |= {
                "kind": kind.KIND.value,
                "actor_id": self.actor_id,
                "schema_id": SCHEMA_IDS[kind.KIND],
                "session_id": self.session_id,
                "logical_clock": self.clock,
            }
            message = kind({row.name: given[row.name] for row in HEADER if row.name in given}, payload)
            encode(message)
            self.clock += 1
        return message
