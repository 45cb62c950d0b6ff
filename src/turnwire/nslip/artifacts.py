"""Artifact stores: they hold the things that a message names by id (sections 1, 2 and 5).

Messages carry ids; code, documents and logs live elsewhere. turnwire imports no framework for that: whatever answers
``store[id]`` is a store, a ``dict`` first of all.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from turnwire.errors import Reason, RuleError, expect
from turnwire.nslip.codec import SlipMessage
from turnwire.nslip.spec import WIRE, Slot

__all__ = ["ArtifactStore", "resolve"]


@runtime_checkable
class ArtifactStore(Protocol):
    """Gives the object of an id; a ``KeyError`` says that it has none."""

    def __getitem__(self, number: int, /) -> object:
        """The object with this id. Raises KeyError."""


def resolve(
    message: SlipMessage,
    store: ArtifactStore | None = None,
    *,
    goals: ArtifactStore | None = None,
    tasks: ArtifactStore | None = None,
    results: ArtifactStore | None = None,
) -> dict[Slot, object]:
    """The objects after the id slots of a message, in the order of its slots.

    GOAL_ID is looked up in ``goals``, TASK_ID and PARENT_TASK_ID in ``tasks``, RESULT_ID in ``results``; ``store``
    stands in for those that are not given, and a slot without any store is left out. Raises RuleError(unknown_id),
    ``path`` naming the slot, for an id that its store does not have.
    """
    expect(message, SlipMessage, "the ids of a SlipMessage are resolved")
    stores = {Slot.GOAL_ID: goals, Slot.TASK_ID: tasks, Slot.PARENT_TASK_ID: tasks, Slot.RESULT_ID: results}
    found: dict[Slot, object] = {}
    for key, number in message.slots.items():
        if key not in stores:
            continue
        slot = Slot(key)
        source = store if stores[slot] is None else stores[slot]
        if source is None:
            continue
        try:
            found[slot] = source[number]
        except KeyError:
            raise RuleError(
                Reason.UNKNOWN_ID,
                f"the store has no {slot.name} {number!r}",
                rule="artifacts live in stores, by id",
                wire=WIRE,
                path=f"/slots/{slot.name}",
            ) from None
    return found
