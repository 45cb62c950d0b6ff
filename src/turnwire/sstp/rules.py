"""The faults and doubts of one SSTP object, judged by the tables of ``spec``.

``findings`` holds every rule; severities are "error" (reading refuses), "warning" (an issue on reading, refused when
written strictly) and "info".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnwire.errors import Issue, Reason
from turnwire.json.faults import kind_of
from turnwire.json.fields import findings as table_findings
from turnwire.sstp.spec import HEADER, PAYLOADS, SCHEMA_IDS, SESSION_OPTIONAL, Kind

_KINDS = {kind.value: kind for kind in Kind}
_NEED = {"read": "error", "write": "warning"}
_NEED_WITH_SESSION = {**_NEED, "session": "warning"}


def findings(fields: dict[str, Any], *, writing: bool = False) -> Iterator[Issue]:
    """Every finding about one object, in the order of the tables; ``writing`` also asks for session_id in all kinds."""
    header = fields.get("header")
    if "header" not in fields and isinstance(fields.get("origin"), dict):
        text = 'this is the flat dialect "SSTP/0" (top-level kind and origin); SSTP has a header and a payload'
        yield _error(Reason.LOOK_ALIKE, "/origin", text)
        return
    protocol = header.get("protocol") if isinstance(header, dict) else None
    if isinstance(protocol, str) and (protocol.casefold() in ("sstp", "l9") or "actor_id" not in fields["header"]):
        text = 'this is the dialect "L9" (header.protocol, participants); SSTP has header.actor_id and header.schema_id'
        yield _error(Reason.LOOK_ALIKE, "/header/protocol", text)
        return
    broken = [name for name in ("header", "payload") if not isinstance(fields.get(name), dict)]
    for name in broken:
        if name in fields:
            yield _error(Reason.WRONG_TYPE, f"/{name}", f"{name} is an object, not {kind_of(fields[name])}")
        else:
            yield _error(Reason.MISSING_FIELD, f"/{name}", f"a message must have a {name}")
    if broken:
        return
    header, payload = fields["header"], fields["payload"]
    name = header.get("kind")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None and isinstance(name, str):
        yield _error(Reason.UNKNOWN_KIND, "/header/kind", f"{name!r} is not one of {', '.join(_KINDS)}")
    if writing or (kind is not None and kind not in SESSION_OPTIONAL):
        needs = _NEED_WITH_SESSION
    else:
        needs = _NEED
    yield from table_findings(header, HEADER, "/header", needs)
    if kind is None:
        return
    schema_id = header.get("schema_id")
    if isinstance(schema_id, str) and schema_id != SCHEMA_IDS[kind]:
        text = f"the schema of {kind} is {SCHEMA_IDS[kind]}, not {schema_id[:80]!r}"
        yield Issue(Reason.SCHEMA_MISMATCH, "/header/schema_id", "warning", text)
    for field in PAYLOADS[kind]:
        # directed_to of a query is in the payload or in the header; in both only when they agree.
        lent = field.name == "directed_to" and field.name in header
        if not lent or field.name in payload:
            yield from table_findings(payload, (field,), "/payload", _NEED)
        if lent:
            yield from table_findings(header, (field,), "/header", _NEED)
    first, second = header.get("directed_to"), payload.get("directed_to")
    if isinstance(first, str) and isinstance(second, str) and first != second:
        text = f"directed_to says {first[:40]!r} in the header and {second[:40]!r} in the payload"
        yield _error(Reason.ADDRESSEE_CONFLICT, "/payload/directed_to", text)


def _error(reason: Reason, where: str, text: str) -> Issue:
    return Issue(reason, where, "error", text)
