"""The state of a log: its preambles are C0, its messages are applied in order [STATE MANAGEMENT]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turnwire.csp.codec import parse, read_log
from turnwire.csp.messages import CspMessage, Document, Preamble
from turnwire.csp.spec import WIRE
from turnwire.csp.store import Store
from turnwire.errors import Reason, RuleError, WireError

__all__ = ["Replay", "read_log", "replay"]


class Replay(NamedTuple):
    """What a document did to a store: the store, and what it refused (record and error)."""

    store: Store
    refused: list[tuple[CspMessage | Preamble, WireError]]


def replay(document: Document | str | bytes, *, mode: str = "strict", forks: bool = False) -> Replay:
    """The state at the end of a document. Preambles before the first message are C0; a later one is refused.

    Messages are applied in order; one that is refused changes nothing and is listed.
    """
    if not isinstance(document, Document):
        document = parse(document, mode=mode)
    defs: dict[str, str] = {}
    laws: dict[str, str] = {}
    refused: list[tuple[CspMessage | Preamble, WireError]] = []
    store: Store | None = None
    for record in _stateful(document):
        if isinstance(record, Preamble):
            twice = sorted((defs.keys() & record.defs.keys()) | (laws.keys() & record.laws.keys()))
            if store is not None or twice:
                text = f"{twice[0]} is defined already" if twice else "C0 is frozen"
                refused.append((record, RuleError(Reason.CHECKPOINT_EXISTS, text, wire=WIRE, path="C0")))
                continue
            defs.update(record.defs)
            laws.update(record.laws)
            continue
        if store is None:
            store = Store(defs, laws, forks=forks)
        try:
            store.apply(record)
        except WireError as error:
            refused.append((record, error))
    return Replay(store if store is not None else Store(defs, laws, forks=forks), refused)


def _stateful(document: Document) -> Iterator[CspMessage | Preamble]:
    return (record for record in document.records if isinstance(record, (CspMessage, Preamble)))
