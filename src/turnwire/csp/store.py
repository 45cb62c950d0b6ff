"""The state that patches build [STATE MANAGEMENT]: C0 -> P1 -> C1 -> P2 -> C2 ..., kept whole and provable.

A checkpoint is frozen and shares what its patch left alone with its parent, so it costs what the patch changed. Two
chains of SHA-256 run through a store: one over the log (every message), one over the checkpoints (parent digest and
patch), and every so often a digest of the whole state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from turnwire.csp.checkpoints import Change, Checkpoint, Journal, LogEntry, Verdict
from turnwire.csp.codec import decode, encode
from turnwire.csp.messages import CspMessage, FieldsLike, Op, Patch
from turnwire.csp.persistent_map import PersistentMap
from turnwire.csp.spec import WIRE
from turnwire.errors import DecodeError, Reason, RuleError, WireError, expect

_FORMAT = 1
_INIT = "csp-init"
_WHOLE_EVERY = 1024
"""A whole-state digest is due after this many operations, or as many as the state has names: linear cost."""


class Store:
    """All checkpoints from C0 on, and the log of messages that were accepted.

    Args:
        defs, laws: the content of C0; laws stay frozen (reading 7).
        forks: whether a patch may start from any checkpoint. By default BASE must be the head.
        journal: gets ``("csp-init", C0 as JSON)`` and ``("csp", text)`` for each entry, before it takes effect.
    """

    def __init__(
        self,
        defs: FieldsLike = (),
        laws: FieldsLike = (),
        *,
        forks: bool = False,
        journal: Journal | None = None,
    ) -> None:
        defs = dict(defs)
        frozen = MappingProxyType(dict(laws))
        body = _init_body(defs, frozen, forks)
        digest = sha256(body).hexdigest()
        root = PersistentMap(defs)
        self.forks = forks
        self._journal = journal
        self._checkpoints = {"C0": Checkpoint("C0", root, frozen, None, None, digest, 0, whole_digest(root))}
        self._order = ["C0"]
        self._log: list[LogEntry] = []
        self._patches: dict[str, tuple[str, str]] = {}  # patch id -> (text, checkpoint)
        self._changes: dict[str, list[tuple[str, str, str | None, str | None]]] = {}
        self._since_whole = 0
        self._head = "C0"
        if journal is not None:
            journal.append(_INIT, body)

    # --- reading ---

    @property
    def head(self) -> str:
        """Id of the checkpoint made last."""
        return self._head

    @property
    def defs(self) -> PersistentMap:
        """The names and values at the head."""
        return self._checkpoints[self._head].defs

    @property
    def laws(self) -> Mapping[str, str]:
        """The laws, frozen in C0."""
        return self._checkpoints["C0"].laws

    @property
    def checkpoints(self) -> list[str]:
        """Ids of all checkpoints, in the order in which they were made."""
        return list(self._order)

    @property
    def heads(self) -> list[str]:
        """Ids of the checkpoints nothing was built upon: one, unless there are forks."""
        parents = {checkpoint.parent for checkpoint in self._checkpoints.values()}
        return [name for name in self._order if name not in parents]

    @property
    def log(self) -> list[LogEntry]:
        """All accepted messages, in order (a copy of the list; entries are frozen)."""
        return list(self._log)

    def __len__(self) -> int:
        return len(self._log)

    def __contains__(self, name: object) -> bool:
        return name in self._checkpoints

    def at(self, name: str) -> Checkpoint:
        """The checkpoint with that id, in constant time. Raises RuleError(checkpoint_unknown)."""
        try:
            return self._checkpoints[name]
        except KeyError:
            raise _refusal(Reason.CHECKPOINT_UNKNOWN, f"there is no checkpoint {name}", name) from None

    def diff(self, a: str, b: str) -> list[Op]:
        """The operations that lead from checkpoint ``a`` to checkpoint ``b``, by name."""
        old, new = self.at(a).defs, self.at(b).defs
        ops = []
        for name in old.changed(new):
            if name not in new:
                ops.append(Op("-", name))
            else:
                ops.append(Op("~" if name in old else "+", name, new[name]))
        return ops

    def inverse(
        self,
        patch: Patch | CspMessage | str,
        *,
        id: str | None = None,
        base: str | None = None,
        apply: str | None = None,
    ) -> Patch:
        """The patch that undoes a patch (or the applied patch with that id).

        It starts at the checkpoint the patch leads to, or at ``base``; ``id`` and ``apply`` are the next free numbers
        unless given. Raises RuleError(checkpoint_unknown, def_missing).
        """
        block = self._block(patch)
        before = self.at(block.base or "").defs
        ops = []
        for sign, name, _ in reversed(block.ops):
            if sign == "+":
                ops.append(Op("-", name))
                continue
            if name not in before:
                raise _refusal(Reason.DEF_MISSING, f"{name} is not defined at {block.base}", block.id)
            ops.append(Op("+" if sign == "-" else "~", name, before[name]))
        return Patch(
            id or _next_free("P", self._patches), base or block.apply, ops, apply or _next_free("C", self._checkpoints)
        )

    def _block(self, patch: Patch | CspMessage | str) -> Patch:
        if isinstance(patch, str):
            if patch not in self._patches:
                raise _refusal(Reason.CHECKPOINT_UNKNOWN, f"no patch {patch} was applied", patch)
            patch = decode(self._patches[patch][0])
        block = patch.block if isinstance(patch, CspMessage) else patch
        if not isinstance(block, Patch):
            raise TypeError("a patch, a message that holds one or the id of one is needed")
        return block

    def explain(self, name: str, *, at: str | None = None) -> list[Change]:
        """The history of a name up to a checkpoint (by default the head), oldest first; empty if it never had one."""
        line = self._line(at or self._head) if self.forks or at is not None else None
        changes = []
        root = self._checkpoints["C0"].defs
        if name in root:
            changes.append(Change("C0", None, 0, None, None, "+", None, root[name]))
        for checkpoint, sign, old, new in self._changes.get(name, ()):
            if line is None or checkpoint in line:
                made = self._checkpoints[checkpoint]
                message = self._log[made.seq - 1].message
                changes.append(Change(checkpoint, made.patch, made.seq, message.sender, message.ctx, sign, old, new))
        return changes

    def _line(self, name: str) -> set[str]:
        """The checkpoint and its ancestors."""
        line = set()
        step: str | None = self.at(name).id
        while step is not None:
            line.add(step)
            step = self._checkpoints[step].parent
        return line

    # --- writing ---

    def apply(self, message: CspMessage | str | bytes) -> Checkpoint:
        """Takes a message into the log; a PATCH makes a checkpoint. Everything is checked before anything changes.

        The same patch again (same bytes) is a no-op. Returns the checkpoint the patch leads to, for other messages
        the one their CTX names.

        Raises EncodeError or DecodeError for what is no valid message, and RuleError (``path`` is the CTX or the
        patch id) in this order: ctx_unknown, patch_id_reused, base_not_head, checkpoint_exists, op_conflict,
        def_exists, def_missing.
        """
        if not isinstance(message, CspMessage):
            message = decode(message)
        return self._take(message, encode(message))

    def _take(self, message: CspMessage, text: str) -> Checkpoint:
        context = self._checkpoints.get(message.ctx or "")
        if context is None:
            raise _refusal(Reason.CTX_UNKNOWN, f"there is no checkpoint {message.ctx}", message.ctx, rule="ctx")
        if not isinstance(message.block, Patch):
            self._record(text)
            return context
        patch = message.block
        known = self._patches.get(patch.id)
        if known is not None:
            if known[0] == text:
                return self._checkpoints[known[1]]
            raise _refusal(Reason.PATCH_ID_REUSED, "an id names one patch only", patch.id, rule="patch id")
        return self._advance(patch, text, *self._judge(patch))

    def _judge(self, patch: Patch) -> tuple[Checkpoint, str, list[str | None]]:
        """(base, target, old values) of a patch that may be applied; raises RuleError otherwise."""
        base, target = self._checkpoints.get(patch.base or ""), patch.apply or ""
        if base is None or (not self.forks and base.id != self._head):
            text = f"BASE is {patch.base}, the head is {self._head}"
            raise _refusal(Reason.BASE_NOT_HEAD, text, patch.id, rule="base")
        if target in self._checkpoints:
            raise _refusal(Reason.CHECKPOINT_EXISTS, f"{target} is frozen", patch.id, rule="apply")
        names = [op.name for op in patch.ops]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise _refusal(Reason.OP_CONFLICT, f"two operations on {twice}", patch.id, rule="ops")
        old = []
        for sign, name, _ in patch.ops:
            value = base.defs.get(name)
            old.append(value)
            if sign == "+" and value is not None:
                raise _refusal(Reason.DEF_EXISTS, f"{name} is defined already", patch.id, rule="ops")
            if sign != "+" and value is None:
                raise _refusal(Reason.DEF_MISSING, f"{name} is not defined", patch.id, rule="ops")
        return base, target, old

    def _advance(self, patch: Patch, text: str, base: Checkpoint, target: str, old: list[str | None]) -> Checkpoint:
        defs = applied(base.defs, patch.ops)
        self._since_whole += len(patch.ops)
        due = self._since_whole >= max(_WHOLE_EVERY, len(defs))
        self._record(text)
        checkpoint = Checkpoint(
            target,
            defs,
            base.laws,
            base.id,
            patch.id,
            chained(base.digest, text),
            len(self._log),
            whole_digest(defs) if due else None,
        )
        if due:
            self._since_whole = 0
        self._checkpoints[target] = checkpoint
        self._order.append(target)
        self._patches[patch.id] = (text, target)
        for (sign, name, value), before in zip(patch.ops, old, strict=True):
            self._changes.setdefault(name, []).append((target, sign, before, value))
        self._head = target
        return checkpoint

    def _record(self, text: str) -> None:
        if self._journal is not None:
            self._journal.append(WIRE, text.encode())
        before = self._log[-1].digest if self._log else self._checkpoints["C0"].digest
        self._log.append(LogEntry(len(self._log) + 1, text, chained(before, text)))

    # --- what a journal kept ---

    @classmethod
    def reopen(cls, journal: Any) -> Store:
        """The store whose entries a journal kept, such as a ``turnwire.ledger.Ledger``; it goes on writing there.

        ``journal`` gives its entries (``seq``, ``kind``, ``body``) when it is iterated; those of other kinds are passed
        over. Raises RuleError(bad_ledger) where there is no store or more than one, digest_mismatch for an entry that
        does not follow from those before it; ``path`` names the entry.
        """
        store: Store | None = None
        for entry in journal:
            kind = getattr(entry, "kind", None)
            if kind is None:
                raise TypeError(f"a journal gives entries, not {type(entry).__name__}")
            if kind not in (_INIT, WIRE):
                continue
            place = f"entry {entry.seq}"
            if (store is None) != (entry.kind == _INIT):
                words = "a second store begins" if entry.kind == _INIT else "the entry comes before its store"
                raise _refusal(Reason.BAD_LEDGER, words, place, rule="journal")
            try:
                if store is None:
                    fields = json.loads(entry.body)
                    store = cls(fields["defs"], fields["laws"], forks=fields["forks"])
                    same = entry.body == _init_body(fields["defs"], dict(fields["laws"]), fields["forks"])
                else:
                    before = len(store)
                    store.apply(entry.body)
                    same = len(store) == before + 1 and entry.body == store._log[-1].text.encode()
            except (WireError, ValueError, KeyError, TypeError) as error:
                raise _refusal(Reason.DIGEST_MISMATCH, f"the entry cannot be taken: {error}", place) from error
            if not same:
                raise _refusal(Reason.DIGEST_MISMATCH, "the entry is not what a store writes", place)
        if store is None:
            raise _refusal(Reason.BAD_LEDGER, "no store was kept here", None, rule="journal")
        store._journal = journal
        return store

    # --- proof ---

    def verify(self) -> Verdict:
        """Computes everything from C0 again and names the first thing that differs."""
        root = self._checkpoints["C0"]
        if sha256(_init_body(dict(root.defs), root.laws, self.forks)).hexdigest() != root.digest:
            return Verdict(False, "C0", "the state of C0 does not have its digest")
        states = {"C0": (root.defs, root.digest)}
        digest = root.digest
        for seq, entry in enumerate(self._log, 1):
            place = f"entry {seq}"
            digest = chained(digest, entry.text)
            if entry.seq != seq or entry.digest != digest:
                return Verdict(False, place, "the text does not have its digest")
            try:
                message = decode(entry.text)
            except DecodeError as error:
                return Verdict(False, place, f"the text is no message: {error}")
            if isinstance(message.block, Patch):
                wrong = self._verify_patch(message.block, entry, states)
                if wrong:
                    return Verdict(False, message.block.apply, wrong)
        if len(states) != len(self._checkpoints) or states.keys() != set(self._order):
            strange = min(self._checkpoints.keys() ^ states.keys() or set(self._order) ^ states.keys())
            return Verdict(False, strange, "the checkpoint does not follow from the log")
        if states[self._head][0].changed(self.defs):
            return Verdict(False, self._head, "the state of the head differs")
        return Verdict(True)

    def _verify_patch(self, patch: Patch, entry: LogEntry, states: dict[str, tuple[PersistentMap, str]]) -> str | None:
        kept = self._checkpoints.get(patch.apply or "")
        before = states.get(patch.base or "")
        if kept is None or before is None or kept.parent != patch.base or kept.patch != patch.id:
            return "the checkpoint does not follow from its patch"
        defs, digest = before
        try:
            defs = applied(defs, patch.ops)
        except KeyError as missing:
            return f"{missing} is not defined"
        digest = chained(digest, entry.text)
        states[kept.id] = defs, digest
        if kept.digest != digest or kept.seq != entry.seq:
            return "the checkpoint does not have its digest"
        for _, name, _ in patch.ops:
            if kept.defs.get(name) != defs.get(name):
                return f"{name} differs"
        if len(kept.defs) != len(defs) or (kept.whole is not None and whole_digest(kept.defs) != whole_digest(defs)):
            return "the state differs"
        if kept.whole is not None and kept.whole != whole_digest(defs):
            return "the state does not have its digest"
        return None

    # --- keeping ---

    def dump(self) -> bytes:
        """The store as JSON lines: C0, every log entry with its digest, and the head. :meth:`load` reads it back."""
        root = self._checkpoints["C0"]
        lines = [_first_line(dict(root.defs), root.laws, self.forks)]
        lines += [_entry_line(entry) for entry in self._log]
        lines.append(self._last_line())
        return b"\n".join(lines) + b"\n"

    def _last_line(self) -> bytes:
        head = self._checkpoints[self._head]
        last = self._log[-1].digest if self._log else ""
        return _json({"entries": len(self._log), "head": head.id, "state": head.digest, "digest": last})

    @classmethod
    def load(cls, data: bytes, *, journal: Journal | None = None) -> Store:
        """The store of a dump. Every byte is checked: RuleError(digest_mismatch) names the first line that differs."""
        expect(data, (bytes, bytearray, memoryview), "the bytes of a dump are loaded")
        lines = bytes(data).split(b"\n")
        footer = len(lines) - 1 if lines[-1] == b"" else len(lines)
        store: Store | None = None
        offset = 0
        for number, line in enumerate(lines[:-1], 1):
            try:
                fields = json.loads(line)
                if store is None:
                    laws = dict(fields["laws"])
                    store = cls(fields["defs"], laws, forks=fields["forks"], journal=journal)
                    same = line == _first_line(fields["defs"], laws, fields["forks"])
                elif number < footer:
                    store.apply(fields["text"])
                    same = line == _entry_line(store._log[-1])
                else:
                    same = line == store._last_line()
            except (WireError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                raise _damage(number, offset, f"the line cannot be taken: {error}") from error
            if not same:
                raise _damage(number, offset, "the line does not have its digest")
            offset += len(line) + 1
        if store is None or lines[-1] or len(lines) < 3:
            raise _damage(len(lines), offset, "the end is missing")
        return store


def verify_dump(data: bytes) -> Verdict:
    """Whether a dump is whole; ``place`` is ``line 7`` for the first line that differs."""
    try:
        Store.load(data)
    except RuleError as error:
        return Verdict(False, f"line {error.line}", error.text)
    return Verdict(True)


def applied(defs: PersistentMap, ops: Iterable[Op]) -> PersistentMap:
    """The map after the operations. Raises KeyError for the removal of a name that is not there."""
    for sign, name, value in ops:
        defs = defs.remove(name) if sign == "-" else defs.set(name, value or "")
    return defs


def chained(digest: str, text: str) -> str:
    """The digest (hex) over a digest before (hex) and a text."""
    return sha256(bytes.fromhex(digest) + text.encode()).hexdigest()


def whole_digest(defs: Mapping[str, str]) -> str:
    """The digest (hex) of a whole state: its JSON with sorted names."""
    return sha256(_json(dict(defs))).hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _init_body(defs: Mapping[str, str], laws: Mapping[str, str], forks: bool) -> bytes:
    return _json({"csp": _FORMAT, "defs": dict(defs), "laws": list(laws.items()), "forks": forks})


def _first_line(defs: Mapping[str, str], laws: Mapping[str, str], forks: bool) -> bytes:
    body = _init_body(defs, laws, forks)
    return _json({**json.loads(body), "digest": sha256(body).hexdigest()})


def _entry_line(entry: LogEntry) -> bytes:
    return _json({"seq": entry.seq, "digest": entry.digest, "text": entry.text})


def _next_free(letter: str, taken: Iterable[str]) -> str:
    numbers = [int(name[1:]) for name in taken if name[:1] == letter and name[1:].isdigit() and len(name) < 20]
    return f"{letter}{max(numbers, default=0) + 1}"


def _refusal(reason: Reason, text: str, path: str | None, rule: str | None = None) -> RuleError:
    return RuleError(reason, text, rule=rule, wire=WIRE, path=path)


def _damage(line: int, offset: int, text: str) -> RuleError:
    return RuleError(Reason.DIGEST_MISMATCH, text, rule="digest", wire=WIRE, line=line, offset=offset)
