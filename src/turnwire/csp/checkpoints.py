"""The parts of a store, checkpoints, log entries and changes, and the two chains of SHA-256 that prove them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from turnwire.csp.codec import decode
from turnwire.csp.history import Snapshot
from turnwire.csp.messages import CspMessage
from turnwire.csp.spec import WIRE
from turnwire.errors import Reason, RuleError

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


def refusal(reason: Reason, text: str, path: str | None, rule: str | None = None) -> RuleError:
    """A RuleError about the checkpoint, patch or entry ``path``."""
    return RuleError(reason, text, rule=rule, wire=WIRE, path=path)


def unknown_context(name: str | None) -> RuleError:
    """A RuleError about a CTX that names no checkpoint."""
    return refusal(Reason.CTX_UNKNOWN, f"there is no checkpoint {name}", name, rule="ctx")


def number_of(letter: str, name: str) -> int:
    """The number in an id such as P12; 0 where it is no such id."""
    return int(name[1:]) if name[:1] == letter and name[1:].isdigit() and len(name) < 20 else 0
