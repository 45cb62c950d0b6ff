"""The one state machine of a task within an agent, as a table beside section 5."""

from __future__ import annotations

from enum import Enum

from turnwire.sap.spec import TERMINAL, Status


class Stage(str, Enum):
    """Where a task is within an agent."""

    RECEIVED = "received"  # it is being judged; nobody else has heard of it
    REFUSED = "refused"  # a Nack, or a Result that says why; it holds nothing
    ACCEPTED = "accepted"  # an Ack; it waits for its turn
    RUNNING = "running"  # its handler may be at work
    FINISHED = "finished"  # its terminal Result is fixed, and in the transcript where there is one
    DELIVERED = "delivered"  # whoever was to get the Result has got it, or could not be reached

    def __str__(self) -> str:
        return str(self.value)


STAGES: dict[Stage, frozenset[Stage]] = {
    Stage.RECEIVED: frozenset({Stage.REFUSED, Stage.ACCEPTED}),
    Stage.REFUSED: frozenset(),
    Stage.ACCEPTED: frozenset({Stage.RUNNING, Stage.FINISHED}),
    Stage.RUNNING: frozenset({Stage.FINISHED}),
    Stage.FINISHED: frozenset({Stage.DELIVERED}),
    Stage.DELIVERED: frozenset(),
}
"""From which stage to which. What is finished without a handler (a hit, a miss, an old Result) goes past RUNNING."""

SHOWN: dict[Stage, frozenset[Status]] = {
    Stage.RECEIVED: frozenset(),
    Stage.REFUSED: frozenset({Status.FAILED}),
    Stage.ACCEPTED: frozenset({Status.QUEUED}),
    Stage.RUNNING: frozenset({Status.RUNNING}),
    Stage.FINISHED: TERMINAL,
    Stage.DELIVERED: TERMINAL,
}
"""Which statuses of section 5 a Result may have that leaves in a stage."""


def follows(before: Stage, after: Stage) -> bool:
    """Whether a task may go from one stage to the other."""
    return after in STAGES[before]
