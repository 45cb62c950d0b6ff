"""The journal of a store, which other stores may write, too."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

from turnwire.csp.checkpoints import init_body, refusal
from turnwire.csp.codec import decode, encode
from turnwire.csp.messages import CspMessage
from turnwire.errors import Reason, RuleError, WireError

INIT = "csp-init"
"""Kind of the entry that holds C0. Messages are of kind ``csp``."""


@runtime_checkable
class Journal(Protocol):
    """A place in which stores write what they accepted: a ``turnwire.ledger.Ledger``, or what does as it does."""

    def __len__(self) -> int:
        """The number of the last entry."""

    def entries(self, start: int = 1, *, kind: str | None = None) -> Iterable[Any]:
        """Entries (``seq``, ``kind``, ``body``) from ``start`` on, of one kind where it is given."""

    def append(self, kind: str, body: bytes, *, expect: int | None = None) -> int:
        """Keeps one entry behind the one with the number ``expect``; answers its number. Raises
        RuleError(append_conflict) where others were first; any error stops the store before it changes."""


def first_entry(journal: Journal, body: bytes) -> int:
    """The number of the entry that holds C0, written unless it is there. Raises RuleError(bad_ledger)."""
    while True:
        last = len(journal)
        found = next(iter(journal.entries(kind=INIT)), None)
        if found is not None:
            if found.body != body:
                raise refusal(Reason.BAD_LEDGER, "another store is kept here", f"entry {found.seq}", rule="journal")
            seq: int = found.seq
            return seq
        try:
            return journal.append(INIT, body, expect=last)
        except RuleError as error:
            if error.reason is not Reason.APPEND_CONFLICT or len(journal) == last:
                raise


def read_init(entry: Any) -> tuple[dict[str, str], dict[str, str]]:
    """(defs, laws) of the entry that holds C0. Raises RuleError(digest_mismatch)."""
    try:
        fields = json.loads(entry.body)
        defs, laws = fields["defs"], dict(fields["laws"])
        same = entry.body == init_body(defs, laws)
    except (ValueError, KeyError, TypeError) as error:
        raise _strange(entry, f"the entry cannot be taken: {error}") from error
    if not same:
        raise _strange(entry, "the entry is not what a store writes")
    return defs, laws


def read_message(entry: Any) -> tuple[CspMessage, str]:
    """The message of an entry and its text. Raises RuleError(digest_mismatch) for what no store writes."""
    try:
        message = decode(entry.body)
        text = encode(message)
    except WireError as error:
        raise _strange(entry, f"the entry cannot be taken: {error}") from error
    if text.encode() != entry.body:
        raise _strange(entry, "the entry is not what a store writes")
    return message, text


def _strange(entry: Any, text: str) -> RuleError:
    return refusal(Reason.DIGEST_MISMATCH, text, f"entry {entry.seq}")
