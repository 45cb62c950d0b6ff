"""What a store holds and gives: checkpoints, entries of the log, changes, verdicts; and where it writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

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
        """The message, read anew: changing it does not change the log."""
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


class Verdict(NamedTuple):
    """The result of a proof; true where nothing differs. ``place`` names the first difference."""

    ok: bool
    place: str | None = None
    text: str = "every digest and every state is as computed from C0"

    def __bool__(self) -> bool:
        return self.ok


class Journal(Protocol):
    """Where a store writes what it accepted, e.g. a ``turnwire.ledger.Ledger``."""

    def append(self, kind: str, body: bytes, /) -> Any:
        """Keeps one entry; an error it raises stops the store before it changes."""
