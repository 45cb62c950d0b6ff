"""The journal of a store: one that it has for itself, or a ledger that other stores write too."""

from __future__ import annotations

import json
from typing import Any, Protocol

from turnwire.csp.checkpoints import init_body, refusal
from turnwire.csp.codec import decode, encode
from turnwire.csp.messages import CspMessage
from turnwire.errors import Reason, RuleError, WireError

INIT = "csp-init"
"""Kind of the entry that holds C0. Messages are of kind ``csp``."""


class Journal(Protocol):
    """A place in which a store writes what it accepted, e.g. a ``turnwire.ledger.Ledger``.

    One with a method ``entries(start)`` is shared: its ``append`` takes ``expect=``, the number of the last entry,
    answers the number of the new one, and raises RuleError(append_conflict) where others were first.
    """

    def append(self, kind: str, body: bytes, /) -> Any:
        """Keeps one entry; an error it raises stops the store before it changes."""


def is_shared(journal: Any) -> bool:
    """True if other stores may write to a journal, and it can tell."""
    return callable(getattr(journal, "entries", None))


def first_entry(journal: Any, body: bytes) -> int:
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
            seq = journal.append(INIT, body, expect=last)
            return seq
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
