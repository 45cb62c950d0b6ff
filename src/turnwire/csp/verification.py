"""Proof of a store: everything computed from C0 again."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from turnwire.csp.checkpoints import Checkpoint, LogEntry, Verdict
from turnwire.csp.codec import decode
from turnwire.csp.digests import applied, chained, init_body, whole_digest
from turnwire.csp.messages import Patch
from turnwire.csp.persistent_map import PersistentMap
from turnwire.errors import DecodeError

States = dict[str, tuple[PersistentMap, str]]
"""Checkpoint -> its names and values, and its digest, as computed."""


def verified(
    log: Sequence[LogEntry], checkpoints: dict[str, Checkpoint], order: Sequence[str], head: str, forks: bool
) -> Verdict:
    """What differs first from what the log gives, if anything."""
    root = checkpoints["C0"]
    if sha256(init_body(dict(root.defs), root.laws, forks)).hexdigest() != root.digest:
        return Verdict(False, "C0", "the state of C0 does not have its digest")
    states: States = {"C0": (root.defs, root.digest)}
    digest = root.digest
    for seq, entry in enumerate(log, 1):
        place = f"entry {seq}"
        digest = chained(digest, entry.text)
        if entry.seq != seq or entry.digest != digest:
            return Verdict(False, place, "the text does not have its digest")
        try:
            message = decode(entry.text)
        except DecodeError as error:
            return Verdict(False, place, f"the text is not a message: {error}")
        if isinstance(message.block, Patch):
            wrong = _wrong(message.block, entry, checkpoints, states)
            if wrong:
                return Verdict(False, message.block.apply, wrong)
    if len(states) != len(checkpoints) or states.keys() != set(order):
        strange = min(checkpoints.keys() ^ states.keys() or set(order) ^ states.keys())
        return Verdict(False, strange, "the checkpoint does not follow from the log")
    if states[head][0].changed(checkpoints[head].defs):
        return Verdict(False, head, "the state of the head differs")
    return Verdict(True)


def _wrong(patch: Patch, entry: LogEntry, checkpoints: dict[str, Checkpoint], states: States) -> str | None:
    kept = checkpoints.get(patch.apply or "")
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
