"""What a store holds and gives: checkpoints, entries of the log, changes, verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from turnwire.csp.codec import decode
from turnwire.csp.messages import CspMessage
from turnwire.csp.persistent_map import PersistentMap


class Checkpoint(NamedTuple):
    """A frozen state. ``digest`` (hex) covers the parent's and the patch; ``seq`` is the log entry that made it."""

    id: str
    defs: PersistentMap
    laws: Mapping[str, str]
    parent: str | None
    patch: str | None
    digest: str
    seq: int
    whole: str | None


class LogEntry(NamedTuple):
    """One message of the log; ``digest`` (hex) covers the digest before it and ``text``."""

    seq: int
    text: str
    digest: str

    @property
    def message(self) -> CspMessage:
        """The message, read again: changing it does not change the log."""
        return decode(self.text)


class Change(NamedTuple):
    """One change of a name: who made it (``sender``), when (``seq``, ``checkpoint``), from what (``old``)."""

    checkpoint: str
    patch: str | None
    seq: int
    sender: str | None
    ctx: str | None
    sign: str
    old: str | None
    new: str | None


class Step(NamedTuple):
    """What an accepted message does to a store, computed before anything changes."""

    entry: LogEntry
    made: Checkpoint | None
    changes: tuple[tuple[str, str, str | None, str | None], ...]  # name, sign, old, new
    since_whole: int
    seen: int


class Verdict(NamedTuple):
    """The result of a proof; true where nothing differs. ``place`` names the first difference."""

    ok: bool
    place: str | None = None
    text: str = "every digest and every state is as computed from C0"

    def __bool__(self) -> bool:
        return self.ok
