"""The state of a log: its preambles are C0, its messages are applied in order [STATE MANAGEMENT]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from turnwire.csp.codec import parse
from turnwire.csp.digests import unknown_context
from turnwire.csp.log_reading import Log, names_files, read_log
from turnwire.csp.messages import CspMessage, Document, Patch, Preamble
from turnwire.csp.recent import RecentStore
from turnwire.csp.spec import WIRE
from turnwire.csp.store import Store
from turnwire.errors import Reason, RuleError, WireError

__all__ = ["Replay", "read_log", "replay"]


class Replay(NamedTuple):
    """What a document did to a store: the store, and what it refused (record and error)."""

    store: Store
    refused: list[tuple[CspMessage | Preamble, WireError]]


class Replaying:
    """Replays records one after the other. Preambles before the first message are C0; a later one is refused."""

    def __init__(self, *, forks: bool = False) -> None:
        self._defs: dict[str, str] = {}
        self._laws: dict[str, str] = {}
        self._forks = forks
        self._store: RecentStore | None = None

    @property
    def store(self) -> RecentStore:
        """The store as it is; from now on a preamble is refused."""
        if self._store is None:
            self._store = RecentStore(self._defs, self._laws, forks=self._forks)
        return self._store

    def feed(self, record: CspMessage | Preamble, *, kept: bool = True) -> WireError | None:
        """Takes the next record; why it is refused, where it is. Then it changes nothing.

        kept: whether a message goes into the store's log. Of one that was read strictly, and is not a PATCH, the store
        asks for nothing but its CTX, and it changes no state.
        """
        if isinstance(record, Preamble):
            twice = sorted((self._defs.keys() & record.defs.keys()) | (self._laws.keys() & record.laws.keys()))
            if self._store is not None or twice:
                text = f"{twice[0]} is defined already" if twice else "C0 is frozen"
                return RuleError(Reason.CHECKPOINT_EXISTS, text, wire=WIRE, path="C0")
            self._defs.update(record.defs)
            self._laws.update(record.laws)
            return None
        if not kept and not isinstance(record.block, Patch):
            return None if record.ctx in self.store else unknown_context(record.ctx)
        try:
            self.store.apply(record)
        except WireError as error:
            return error
        return None


def replay(source: Any, *, mode: str = "strict", forks: bool = False) -> Replay:
    """The state at the end of a document, or of a log: whatever :func:`turnwire.scan` takes.

    source: a Document, or what ``read_log`` gave; text or bytes of one (read by ``parse`` with ``mode``); else a path,
    a glob, a file, or a list of these, whose messages are those that a scan finds, as one history. Preambles before the
    first message are C0; a later one is refused. Messages are applied in order; one that is refused changes nothing and
    is listed.
    """
    replaying = Replaying(forks=forks)
    refused = []
    for record in _records(source, mode):
        error = replaying.feed(record)
        if error is not None:
            refused.append((record, error))
    return Replay(replaying.store, refused)


def _records(source: Any, mode: str) -> Iterator[CspMessage | Preamble]:
    if isinstance(source, (Document, Log)):
        document = source.document if isinstance(source, Log) else source
    else:
        document = read_log(source).document if names_files(source) else parse(source, mode=mode)
    return (record for record in document.records if isinstance(record, (CspMessage, Preamble)))
