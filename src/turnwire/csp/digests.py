"""The two chains of SHA-256 that run through a store, and the lines of its dump."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from turnwire.csp.checkpoints import LogEntry
from turnwire.csp.messages import Op
from turnwire.csp.persistent_map import PersistentMap
from turnwire.csp.spec import WIRE
from turnwire.errors import Reason, RuleError

_FORMAT = 1


def applied(defs: PersistentMap, ops: Iterable[Op]) -> PersistentMap:
    """The map after the operations. Raises KeyError for the removal of a name that is not there."""
    changes: dict[str, str | None] = {}
    for sign, name, value in ops:
        if sign == "-" and (changes[name] is None if name in changes else name not in defs):
            raise KeyError(name)
        changes[name] = None if sign == "-" else value or ""
    return defs.changed_by(changes)


def chained(digest: str, text: str) -> str:
    """The digest (hex) over a digest before (hex) and a text."""
    return sha256(bytes.fromhex(digest) + text.encode()).hexdigest()


def whole_digest(defs: Mapping[str, str]) -> str:
    """The digest (hex) of a whole state: its JSON with sorted names."""
    plain = defs.plain() if isinstance(defs, PersistentMap) else dict(defs)
    return sha256(json_line(plain)).hexdigest()


def json_line(value: Any) -> bytes:
    """JSON with sorted names and no white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def init_body(defs: Mapping[str, str], laws: Mapping[str, str], forks: bool) -> bytes:
    """C0 as a journal keeps it."""
    return json_line({"csp": _FORMAT, "defs": dict(defs), "laws": list(laws.items()), "forks": forks})


def first_line(defs: Mapping[str, str], laws: Mapping[str, str], forks: bool) -> bytes:
    """C0 as a dump begins with it."""
    body = init_body(defs, laws, forks)
    return json_line({**json.loads(body), "digest": sha256(body).hexdigest()})


def entry_line(entry: LogEntry) -> bytes:
    """An entry of the log as a line of a dump."""
    return json_line({"seq": entry.seq, "digest": entry.digest, "text": entry.text})


def refusal(reason: Reason, text: str, path: str | None, rule: str | None = None) -> RuleError:
    """A RuleError about the checkpoint, patch or entry ``path``."""
    return RuleError(reason, text, rule=rule, wire=WIRE, path=path)


def unknown_context(name: str | None) -> RuleError:
    """A RuleError about a CTX that names no checkpoint."""
    return refusal(Reason.CTX_UNKNOWN, f"there is no checkpoint {name}", name, rule="ctx")


def damage(line: int, offset: int, text: str) -> RuleError:
    """A RuleError about a line of a dump."""
    return RuleError(Reason.DIGEST_MISMATCH, text, rule="digest", wire=WIRE, line=line, offset=offset)


def number_of(letter: str, name: str) -> int:
    """The number in an id such as P12; 0 where it is no such id."""
    return int(name[1:]) if name[:1] == letter and name[1:].isdigit() and len(name) < 20 else 0
