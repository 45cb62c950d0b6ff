"""The state that patches build [STATE MANAGEMENT]: C0 -> P1 -> C1 -> P2 -> C2 ..., kept whole and provable.

A checkpoint is frozen and shares what its patch left alone with its parent, so it costs what the patch changed. Two
chains of SHA-256 run through a store: one over the log (every message), one over the checkpoints (parent digest and
patch), and every so often a digest of the whole state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from turnwire.csp.codec import decode, encode
from turnwire.csp.messages import CspMessage, FieldsLike, Op, Patch
from turnwire.csp.spec import WIRE
from turnwire.csp.state import Snapshot, State, Step, refusal
from turnwire.errors import Reason, RuleError, WireError, expect, expect_one_of

_FORMAT = 1
_WHOLE_EVERY = 1024
"""A whole-state digest is due after this many operations, or as many as the state has names: linear cost."""
_LETTERS = "TEPFC"
_NUMBERED = re.compile(rf"[{_LETTERS}][0-9]{{1,18}}")


class Checkpoint(NamedTuple):
    """A frozen state. ``digest`` (hex) covers the parent's digest and the patch; ``seq`` is the log entry that created
    it."""

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
        """The message, parsed again; changing it does not change the log."""
        return decode(self.text)


class Change(NamedTuple):
    """One change of a name: its author (``sender``), its time (``seq``, ``checkpoint``) and the former value
    (``old``)."""

    checkpoint: str
    patch: str | None
    seq: int
    sender: str | None
    ctx: str | None
    sign: str
    old: str | None
    new: str | None


class LogRow(NamedTuple):
    """An accepted message's place: its entry, the number of the last entry of the journal then, the id of its
    block; and of a patch its step, the checkpoint that it made, and the operations since the last whole digest."""

    entry: LogEntry
    seen: int
    id: str
    step: Step | None = None
    made: Checkpoint | None = None
    since_whole: int = 0


class StoreVerdict(NamedTuple):
    """The result of :meth:`Store.verify`; true if nothing differs. ``place`` names the first difference."""

    ok: bool
    place: str | None = None
    text: str = "every digest and every state equals the one computed from C0"

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
        """Keeps one entry after the one with the number ``expect``; answers its number. Raises
        RuleError(append_conflict) if others were first; any error stops the store before it changes."""


def first_entry(journal: Journal, body: bytes) -> int:
    """The number of the entry that holds C0, written unless it is there. Raises RuleError(bad_ledger)."""
    while True:
        last = len(journal)
        found = next(iter(journal.entries(kind=INIT)), None)
        if found is not None:
            if found.body != body:
                raise refusal(
                    Reason.BAD_LEDGER, "this ledger belongs to another store", f"entry {found.seq}", rule="journal"
                )
            return int(found.seq)
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
        raise _bad_entry(entry, f"the entry cannot be applied: {error}") from error
    if not same:
        raise _bad_entry(entry, "no store writes such an entry")
    return defs, laws


def read_message(entry: Any) -> tuple[CspMessage, str]:
    """The message of an entry and its text. Raises RuleError(digest_mismatch) for what no store writes."""
    try:
        message = decode(entry.body)
        text = encode(message)
    except WireError as error:
        raise _bad_entry(entry, f"the entry cannot be applied: {error}") from error
    if text.encode() != entry.body:
        raise _bad_entry(entry, "no store writes such an entry")
    return message, text


def _bad_entry(entry: Any, text: str) -> RuleError:
    return refusal(Reason.DIGEST_MISMATCH, text, f"entry {entry.seq}")


# --- the store ------------------------------------------------------------------------------------------------------


class Store:
    """All checkpoints from C0 on, and the log of accepted messages.

    Args:
        defs, laws: the content of C0; laws stay frozen (reading 7).
        journal: a ``turnwire.ledger.Ledger``, to which ``("csp-init", C0 as JSON)`` and, before each entry takes
            effect, ``("csp", text)`` are appended.

    Several stores may share a journal: an entry is appended only if no other store was faster; otherwise the store
    reads the new entries and checks again. A store on a journal with the same C0 continues it; another C0 raises
    RuleError(bad_ledger).

    After an interruption, apply the same message again: the log will contain it once.
    """

    def __init__(self, defs: FieldsLike = (), laws: FieldsLike = (), *, journal: Journal | None = None) -> None:
        defs, laws = dict(defs), MappingProxyType(dict(laws))
        body = init_body(defs, laws)
        digest = sha256(body).hexdigest()
        root = Snapshot(defs)
        self._journal = journal
        self._checkpoints = {"C0": Checkpoint("C0", root, laws, None, None, digest, 0, whole_digest(root))}
        self._log: list[LogRow] = []  # the truth: all below follows from it, and is counted up to _counted
        self._counted = 0
        self._state = State(root)
        self._changes: dict[str, list[LogRow]] = {}  # name -> the patches that change it
        self._highest = dict.fromkeys(_LETTERS, "0")  # letter -> the number of the highest id, as it is written
        self._since_whole = 0
        self._journal_seen = 0  # number of the last entry of the journal that was looked at
        self._skipped: dict[int, str] = {}
        self._doubt: tuple[str, int] | None = None  # a text that may be written, and how long the log was before it
        if journal is not None:
            self._journal_seen = first_entry(journal, body)
            self.catch_up()

    # --- reading ---

    def _now(self) -> State:
        """The state at the end of the log. Each line can be done twice: an interrupted one is done again."""
        while self._counted < len(self._log):
            kept = self._log[self._counted]
            self._note_id(kept.id)
            if kept.step is not None and kept.made is not None:
                for name, *_ in kept.step.changes:
                    history = self._changes.setdefault(name, [])
                    if not history or history[-1] is not kept:
                        history.append(kept)
                self._note_id(kept.made.id)
                self._since_whole = kept.since_whole
                self._checkpoints[kept.made.id] = kept.made
                self._state.take(kept.step)
            self._counted = kept.entry.seq
        return self._state

    def _note_id(self, name: str) -> None:
        if _NUMBERED.fullmatch(name) and int(name[1:]) > int(self._highest[name[0]]):
            self._highest[name[0]] = name[1:]

    @property
    def _seen(self) -> int:
        """Number of the last entry of the journal that is taken."""
        return max(self._journal_seen, self._log[-1].seen if self._log else 0)

    @property
    def head(self) -> str:
        """The id of the latest checkpoint."""
        return self._now().head

    @property
    def defs(self) -> Snapshot:
        """The names and values at the head."""
        return self._now().defs

    @property
    def laws(self) -> Mapping[str, str]:
        """The laws, frozen in C0."""
        return self._checkpoints["C0"].laws

    @property
    def checkpoints(self) -> list[str]:
        """Ids of all checkpoints, in the order in which they were made."""
        return list(self._now().checkpoints)

    @property
    def log(self) -> list[LogEntry]:
        """All accepted messages, in order (a copy of the list; entries are frozen)."""
        return [kept.entry for kept in self._log]

    @property
    def skipped(self) -> dict[int, str]:
        """Entries of the journal that the store ignores: number -> reason. They come from a stale writer of an older
        version, or from a retry after an interruption."""
        return dict(self._skipped)

    def __len__(self) -> int:
        return len(self._log)

    def __contains__(self, name: object) -> bool:
        return name in self._now().checkpoints

    def next_id(self, letter: str) -> str:
        """The next free id for a letter: tasks (T), errors (E), patches (P) and file operations (F) in the log, or
        checkpoints (C). It keeps the width: T010 after T009.

        Raises UnknownName for another letter.
        """
        expect_one_of(letter, "letter", _LETTERS)
        self._now()
        highest = self._highest[letter]
        return f"{letter}{int(highest) + 1:0{len(highest)}}"

    def at(self, name: str) -> Checkpoint:
        """The checkpoint with that id, in constant time. Raises RuleError(checkpoint_unknown)."""
        self._now()
        try:
            return self._checkpoints[name]
        except KeyError:
            raise refusal(Reason.CHECKPOINT_UNKNOWN, f"there is no checkpoint {name}", name) from None

    def diff(self, a: str, b: str) -> list[Op]:
        """The operations that lead from checkpoint ``a`` to checkpoint ``b``, by name."""
        old, new = self.at(a).defs, self.at(b).defs
        return [
            Op("~" if name in old else "+", name, new[name]) if name in new else Op("-", name)
            for name in old.changed(new)
        ]

    def inverse(self, patch: Patch | CspMessage | str) -> Patch:
        """The patch that undoes a patch (or the applied patch with that id), at the checkpoint that this one created.

        Its id and its checkpoint are the next free numbers. Raises RuleError(checkpoint_unknown, def_missing).
        """
        block = self._block(patch)
        before = self.at(block.base or "").defs
        ops = []
        for sign, name, _ in reversed(block.ops):
            if sign == "+":
                ops.append(Op("-", name))
                continue
            if name not in before:
                raise refusal(Reason.DEF_MISSING, f"{name} is not defined at {block.base}", block.id)
            ops.append(Op("+" if sign == "-" else "~", name, before[name]))
        return Patch(self.next_id("P"), block.apply, ops, self.next_id("C"))

    def _block(self, patch: Patch | CspMessage | str) -> Patch:
        if isinstance(patch, str):
            patches = self._now().patches
            if patch not in patches:
                raise refusal(Reason.CHECKPOINT_UNKNOWN, f"no patch {patch} was applied", patch)
            patch = decode(patches[patch])
        block = patch.block if isinstance(patch, CspMessage) else patch
        if not isinstance(block, Patch):
            raise TypeError("expected a patch, a message with a patch, or the id of a patch")
        return block

    def explain(self, name: str, *, at: str | None = None) -> list[Change]:
        """The history of a name or law up to a checkpoint (by default the head), oldest first; empty if it has none."""
        last = self.at(at or self.head).seq
        root = self._checkpoints["C0"]
        value = root.defs.get(name, root.laws.get(name))
        changes = [] if value is None else [Change("C0", None, 0, None, None, "+", None, value)]
        for entry, _, _, step, made, _ in self._changes.get(name, ()):
            if entry.seq <= last and step is not None and made is not None:
                message = entry.message
                change = next(change for change in step.changes if change[0] == name)
                changes.append(Change(made.id, made.patch, made.seq, message.sender, message.ctx, *change[1:]))
        return changes

    # --- writing ---

    def apply(self, message: CspMessage | str | bytes) -> Checkpoint:
        """Adds a message to the log; a PATCH creates a checkpoint. All checks precede all changes.

        Applying the same patch (same bytes) again changes nothing. Returns the checkpoint of the patch or, for other
        messages, of their CTX.

        Raises EncodeError or DecodeError for an invalid message, and RuleError (``path`` is the CTX or the
        patch id) in this order: ctx_unknown, patch_id_reused, base_not_head, checkpoint_exists, op_conflict,
        def_exists, def_missing.
        """
        if not isinstance(message, CspMessage):
            message = decode(message)
        text, block = encode(message), message.block
        leads_to = (block.apply if isinstance(block, Patch) else message.ctx) or ""
        done = False
        if self._doubt is not None:
            written, before = self._doubt
            self.catch_up()
            done = written == text and any(kept.entry.text == text for kept in self._log[before:])
        while not done:
            try:
                self._take(message, text)
                done = True
            except RuleError:
                seen = self._seen
                self.catch_up()
                if self._seen == seen:
                    raise
        outcome = self.at(leads_to)
        self._doubt = None  # CPython lets no interruption in between here and the return
        return outcome

    def _take(self, message: CspMessage, text: str) -> None:
        kept = self._checked(message, text)
        if kept is None:
            return
        self._doubt = text, len(self._log)
        if self._journal is not None:
            kept = kept._replace(seen=self._journal.append(WIRE, text.encode(), expect=self._seen))
        self._log.append(kept)

    def catch_up(self) -> int:
        """Reads what others have written to a shared journal; returns the number of new entries.

        :meth:`apply` calls this if necessary. Raises RuleError(digest_mismatch) like :meth:`reopen`.
        """
        before = self._seen
        if self._journal is not None:
            for entry in self._journal.entries(self._seen + 1):
                self._replay(entry)
        return self._seen - before

    def _checked(self, message: CspMessage, text: str, seen: int = 0) -> LogRow | None:
        """The row that a message would become, None if it was done already. Changes nothing; raises RuleError."""
        state, block = self._now(), message.block
        step = state.step(message, text)
        if step is None and isinstance(block, Patch):
            return None
        before = self._log[-1].entry.digest if self._log else self._checkpoints["C0"].digest
        entry = LogEntry(len(self._log) + 1, text, chained(before, text))
        if step is None:
            return LogRow(entry, seen, "" if block is None else block.id)
        base = self._checkpoints[step.base]
        since = self._since_whole + len(step.changes)
        whole = whole_digest(step.defs) if since >= max(_WHOLE_EVERY, len(step.defs)) else None
        digest = chained(base.digest, text)
        made = Checkpoint(step.target, step.defs, base.laws, base.id, step.patch, digest, entry.seq, whole)
        return LogRow(entry, seen, step.patch, step, made, since if whole is None else 0)

    # --- what a journal kept ---

    @classmethod
    def reopen(cls, journal: Journal) -> Store:
        """Reopens the store of a journal, such as a ``turnwire.ledger.Ledger``, and continues writing there.

        Entries of other kinds are ignored, as are duplicates and entries that a store rejects (:attr:`skipped`), so a
        journal can be read after any crash. Raises RuleError(bad_ledger) if the journal has no store or a different
        one, and digest_mismatch for an entry that no store writes; ``path`` names the entry.
        """
        expect(journal, Journal, "the journal of a store must be a Ledger")
        first = next((entry for entry in journal.entries() if entry.kind in (INIT, WIRE)), None)
        if first is None:
            raise refusal(Reason.BAD_LEDGER, "this ledger has no store", None, rule="journal")
        if first.kind == WIRE:
            raise refusal(Reason.BAD_LEDGER, "the entry precedes its store", f"entry {first.seq}", rule="journal")
        return cls(*read_init(first), journal=journal)

    def _replay(self, entry: Any) -> None:
        """Takes one entry of the journal; one that is there again, or is refused, is nothing."""
        if entry.kind == INIT:
            defs, laws = read_init(entry)
            if sha256(init_body(defs, laws)).hexdigest() != self._checkpoints["C0"].digest:
                raise refusal(Reason.BAD_LEDGER, "another store begins here", f"entry {entry.seq}", rule="journal")
            self._skipped[entry.seq] = "the store has already begun"
        elif entry.kind == WIRE:
            message, text = read_message(entry)
            try:
                kept = self._checked(message, text, entry.seq)
            except RuleError as error:
                self._skipped[entry.seq] = str(error)
            else:
                if kept is None:
                    self._skipped[entry.seq] = "the patch was already applied"
                else:
                    self._log.append(kept)
        self._journal_seen = entry.seq

    # --- proof ---

    def verify(self) -> StoreVerdict:
        """Rebuilds the store from C0 and its log, and names the first difference."""
        self._now()
        root = self._checkpoints["C0"]
        again = Store(root.defs, root.laws)
        if root != again._checkpoints["C0"]:
            return StoreVerdict(False, "C0", "the state of C0 does not have its digest")
        for seq, entry in enumerate(self.log, 1):
            try:
                message = decode(entry.text)
                made = again.apply(message)
            except WireError as error:
                return StoreVerdict(False, f"entry {seq}", f"the store rejects the text: {error}")
            if again._log[-1].entry != entry:
                return StoreVerdict(False, f"entry {seq}", "the text does not have its digest")
            if isinstance(message.block, Patch) and not self._has(made, message.block.ops):
                return StoreVerdict(False, made.id, "the checkpoint does not follow from its patch")
        if list(self._checkpoints) != list(again._checkpoints):
            strange = min(self._checkpoints.keys() ^ again._checkpoints.keys() or {self.head})
            return StoreVerdict(False, strange, "the checkpoint does not follow from the log")
        if self.head != again.head or self.defs.changed(again.defs):
            return StoreVerdict(False, self.head, "the state of the head differs")
        return StoreVerdict(True)

    def _has(self, made: Checkpoint, ops: list[Op]) -> bool:
        """True if the kept checkpoint equals the rebuilt one: in the names of ``ops``, or in all definitions where its
        digest covers them."""
        kept = self._checkpoints.get(made.id)
        if kept is None or kept._replace(defs=made.defs) != made or len(kept.defs) != len(made.defs):
            return False
        if made.whole is not None:
            return not kept.defs.changed(made.defs)
        return all(kept.defs.get(op.name) == made.defs.get(op.name) for op in ops)
