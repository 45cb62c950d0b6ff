"""The parts of a store: checkpoints, log entries, changes, the chains of SHA-256 that prove them, and their journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, runtime_checkable

from turnwire.csp.codec import decode, encode
from turnwire.csp.messages import CspMessage
from turnwire.csp.state import Snapshot, refusal
from turnwire.errors import Reason, RuleError, WireError

_FORMAT = 1


class Checkpoint(NamedTuple):
    """A frozen state. ``digest`` (hex) covers the parent's and the patch; ``seq`` is the log entry that made it."""

    id: str
    defs: Snapshot
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
    """The effect of an accepted message on a store; of a patch also where it begins and leads to, and its changes."""

    entry: LogEntry
    seen: int
    since_whole: int = 0
    base: Checkpoint | None = None
    patch: str = ""
    target: str = ""
    changes: tuple[tuple[str, str, str | None, str | None], ...] = ()  # name, sign, old, new


class StoreVerdict(NamedTuple):
    """The result of a proof; true where nothing differs. ``place`` names the first difference."""

    ok: bool
    place: str | None = None
    text: str = "every digest and every state is as computed from C0"

    def __bool__(self) -> bool:
        return self.ok


# --- digests ----------------------------------------------------------------------------------------------------------


def chained(digest: str, text: str) -> str:
    """The digest (hex) over a digest before (hex) and a text."""
    return sha256(bytes.fromhex(digest) + text.encode()).hexdigest()


def whole_digest(defs: Mapping[str, str]) -> str:
    """The digest (hex) of a whole state: its JSON with sorted names."""
    plain = defs.plain() if isinstance(defs, Snapshot) else dict(defs)
    return sha256(json_line(plain)).hexdigest()


def json_line(value: Any) -> bytes:
    """JSON with sorted names and no white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def init_body(defs: Mapping[str, str], laws: Mapping[str, str]) -> bytes:
    """C0 as a journal keeps it."""
    return json_line({"csp": _FORMAT, "defs": dict(defs), "laws": list(laws.items())})


def number_of(letter: str, name: str) -> int:
    """The number in an id such as P12; 0 where it is no such id."""
    return int(name[1:]) if name[:1] == letter and name[1:].isdigit() and len(name) < 20 else 0


# --- the journal, which other stores may write, too -------------------------------------------------------------------

INIT = "csp-init"
"""Kind of the entry that holds C0. Messages are of kind ``csp``."""


@runtime_checkable
class Journal(Protocol):
    """A place in which stores write what they accepted: a ``turnwire.ledger.Ledger``, or one with its methods."""

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
        raise _bad_entry(entry, f"the entry cannot be taken: {error}") from error
    if not same:
        raise _bad_entry(entry, "the entry is not what a store writes")
    return defs, laws


def read_message(entry: Any) -> tuple[CspMessage, str]:
    """The message of an entry and its text. Raises RuleError(digest_mismatch) for what no store writes."""
    try:
        message = decode(entry.body)
        text = encode(message)
    except WireError as error:
        raise _bad_entry(entry, f"the entry cannot be taken: {error}") from error
    if text.encode() != entry.body:
        raise _bad_entry(entry, "the entry is not what a store writes")
    return message, text


def _bad_entry(entry: Any, text: str) -> RuleError:
    return refusal(Reason.DIGEST_MISMATCH, text, f"entry {entry.seq}")
