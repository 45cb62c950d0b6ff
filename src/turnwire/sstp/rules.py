"""The faults and doubts of one SSTP object, judged by the tables of ``spec``.

``findings`` holds every rule; severities are "error" (reading refuses), "warning" (an issue on reading, refused when
written strictly) and "info".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any

from turnwire.errors import Issue, Reason
from turnwire.json.faults import kind_of
from turnwire.sstp.spec import (
    ARTIFACT,
    HEADER,
    NAME_FIELDS,
    PAYLOADS,
    PLACEHOLDERS,
    SCHEMA_IDS,
    SESSION_OPTIONAL,
    TYPES,
    Field,
    Kind,
)

_KINDS = {kind.value: kind for kind in Kind}
_SPACE = " \t\n\r\v\f"
_EMPTY = {"actor_id": ("info", "a name must not be empty"), "session_id": ("warning", "session_id must not be empty")}
"""Header fields that say nothing where they are blank: severity, words."""
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
    for field in HEADER:
        yield from _field(field, header, "/header", needs.get(field.need))
    if kind is None:
        return
    schema_id = header.get("schema_id")
    if isinstance(schema_id, str) and schema_id != SCHEMA_IDS[kind]:
        text = f"the schema of {kind} is {SCHEMA_IDS[kind]}, not {schema_id[:80]!r}"
        yield Issue(Reason.SCHEMA_MISMATCH, "/header/schema_id", "warning", text)
    for field in PAYLOADS[kind]:
        if field.name == "directed_to":
            yield from _addressee(field, header, payload)
        else:
            yield from _field(field, payload, "/payload", _NEED.get(field.need))
    first, second = header.get("directed_to"), payload.get("directed_to")
    if isinstance(first, str) and isinstance(second, str) and first != second:
        text = f"directed_to says {first[:40]!r} in the header and {second[:40]!r} in the payload"
        yield _error(Reason.ADDRESSEE_CONFLICT, "/payload/directed_to", text)


def _error(reason: Reason, where: str, text: str) -> Issue:
    return Issue(reason, where, "error", text)


def _field(field: Field, part: dict[str, Any], path: str, absent: str | None) -> Iterable[Issue]:
    if field.name in part:
        return _judged(part[field.name], f"{path}/{field.name}", field)
    if absent:
        return (Issue(Reason.MISSING_FIELD, f"{path}/{field.name}", absent, f"{field.name} is required"),)
    return ()


def _judged(value: Any, where: str, field: Field) -> Iterator[Issue]:
    """The findings about the value of a field."""
    name, kind = field.name, field.type
    form = TYPES[kind]
    if kind != "any" and (not isinstance(value, form.types) or isinstance(value, bool)):
        if value is not None or kind != "text_or_null":
            shown = repr(value) if kind == "clock" and isinstance(value, float) else kind_of(value)
            yield _error(Reason.WRONG_TYPE, where, f"{name} is {form.words}, not {shown}")
    elif isinstance(value, str):
        bracketed = name in NAME_FIELDS and value[:1] == "<" and value[-1:] == ">" and len(value) > 2
        if name in _EMPTY and not value.strip(_SPACE):
            yield Issue(Reason.EMPTY_VALUE, where, *_EMPTY[name])
        elif bracketed or value in PLACEHOLDERS:
            yield Issue(Reason.PLACEHOLDER, where, "warning", f"{value} is a placeholder that was never filled in")
    elif kind == "clock":
        if value < 0:
            yield _error(Reason.NEGATIVE, where, f"{name} counts from 1 and is never negative")
        elif value == 0:
            yield Issue(Reason.OUT_OF_RANGE, where, "warning", f"{name} counts from 1")
    elif kind == "fraction":
        if isinstance(value, float) and not isfinite(value):
            yield _error(Reason.NOT_FINITE, where, f"{name} is a finite number")
        elif not 0 <= value <= 1:
            yield Issue(Reason.OUT_OF_RANGE, where, "warning", f"{name} must be between 0 and 1")
    elif kind in _ITEMS:
        item_type, words = _ITEMS[kind]
        for index, item in enumerate(value):
            if not isinstance(item, item_type):
                yield _error(Reason.WRONG_TYPE, f"{where}/{index}", f"{words}; this item is {kind_of(item)}")
            elif kind == "artifacts":
                for part in ARTIFACT:
                    yield from _field(part, item, f"{where}/{index}", _NEED[part.need])


_ITEMS: dict[str, tuple[type[Any], str]] = {
    "texts": (str, "an array of strings is expected here"),
    "artifacts": (dict, "an artifact must be an object"),
}
"""Type of an array -> that of its items, and words for it."""


def _addressee(field: Field, header: dict[str, Any], payload: dict[str, Any]) -> Iterator[Issue]:
    """directed_to of a query is in the payload or in the header; in both only when they agree."""
    places = [(part, path) for part, path in ((payload, "/payload"), (header, "/header")) if field.name in part]
    for part, path in places:
        yield from _judged(part[field.name], f"{path}/{field.name}", field)
    if not places:
        yield Issue(Reason.MISSING_FIELD, f"/payload/{field.name}", "warning", "a query must name the agent it asks")
