"""What stands beside the messages of a transcript, is none, and is so near to one that it was meant to be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from turnwire.contract import finding
from turnwire.errors import DecodeError
from turnwire.sstp.bulk import claims
from turnwire.sstp.codec import decode
from turnwire.sstp.spec import HEADER, PAYLOADS, Kind

_PARTS = frozenset(("header", "payload"))
_HEADER = frozenset(field.name for field in HEADER) | {"directed_to"}
_FIELDS = {kind.value: frozenset(field.name for field in PAYLOADS[kind]) for kind in Kind}
_PAYLOAD = frozenset[str]().union(*_FIELDS.values())
_WORDS = ("header", "payload", "kind", "type")
_MARKS = tuple(map(str.encode, _WORDS))


def strays(found: Any) -> Iterator[tuple[int, int, str]]:
    """(byte, line, what is wrong) of each: objects with nothing but names of SSTP, of which the finder does not say
    whose they are; and what is no object in a list of messages."""
    beside = finding("beside")
    for one in beside.objects(found, _MARKS):
        for fields in beside.within(one.value, _WORDS):
            if near(fields) and not claims(fields):
                wrong = _wrong(fields)
                if wrong is not None:
                    yield one.offset, one.line, wrong
    for one in beside.elements(found):
        yield one.offset, one.line, "a value in a list of messages is no message"


def near(fields: dict[str, Any]) -> bool:
    """Whether an object has nothing but names of SSTP: a header, a payload, or both; or all in one, with a kind."""
    if fields and fields.keys() <= _PARTS:
        return all(
            not isinstance(part, dict) or part.keys() <= known
            for part, known in ((fields.get("header"), _HEADER), (fields.get("payload"), _PAYLOAD))
        )
    for name in ("kind", "type"):
        kind = fields.get(name)
        if isinstance(kind, str) and kind in _FIELDS:
            rest = fields.keys() - {name}
            said = rest & (_HEADER | _FIELDS[kind] | _PARTS)
            return said == rest and (name == "kind" or bool(said))
    return False


def _wrong(fields: dict[str, Any]) -> str | None:
    try:
        decode(json.dumps(fields))
    except DecodeError as error:
        return f"{error.reason}: {error.text}"
    return None
