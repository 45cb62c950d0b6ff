"""Near misses: text beside the messages of a transcript that was meant to be a message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from turnwire.checklists import spoken
from turnwire.errors import DecodeError
from turnwire.registry import reading
from turnwire.sstp.bulk import claims
from turnwire.sstp.codec import decode
from turnwire.sstp.spec import HEADER, PAYLOADS, WIRE, Kind

_PARTS = frozenset(("header", "payload"))
_HEADER = frozenset(field.name for field in HEADER) | {"directed_to"}
_FIELDS = {kind.value: frozenset(field.name for field in PAYLOADS[kind]) for kind in Kind}
_PAYLOAD = frozenset[str]().union(*_FIELDS.values())
_WORDS = ("header", "payload", "kind", "type")
_MARKS = tuple(map(str.encode, _WORDS))


def near_misses(found: Any) -> Iterator[tuple[int, int, str]]:
    """(byte, line, what is wrong) of each: objects with nothing but names of SSTP, of which the finder does not say
    whose they are; and what is not an object in a list of messages."""
    surroundings = reading("surroundings")
    for one in surroundings.objects(found, _MARKS):
        yield from _objects_in(one, one.value)
    for one in surroundings.elements(found):
        if isinstance(one.value, str) and any(f'"{mark}"' in one.value for mark in _PARTS):
            yield from _objects_in(one, {"": one.value})
        else:
            yield one.offset, one.line, _VALUE
    for offset, line, values in surroundings.elements_in_strings(found):
        if not all(isinstance(value, dict) for value in values):
            yield offset, line, _VALUE


def _objects_in(one: Any, value: dict[str, Any]) -> Iterator[tuple[int, int, str]]:
    for fields in reading("surroundings").within(value, _WORDS):
        if near(fields) and not claims(fields):
            wrong = _wrong(fields)
            if wrong is not None:
                yield one.offset, one.line, wrong


_VALUE = "a value in a list of messages is not a message"


def texts_around(found: Any) -> Iterator[tuple[str, int, int, str]]:
    """(clause, byte, line, what is wrong) of the lines beside messages in the same strings and behind the same
    prefixes: values of JSON, and prose; in a log, prose that speaks as a person does."""
    surroundings = reading("surroundings")
    for one in surroundings.lines_in_strings(found):
        yield from _text(one, one.in_log)
    for one in surroundings.lines_behind_prefixes(found, WIRE):
        if one.in_log:
            yield from _text(one, True)
    for offset, line, prefix in surroundings.prefixes(found, WIRE):
        if spoken(prefix):
            yield "raw", offset, line, f"the message comes after {_shown(prefix)}"


def _text(one: Any, in_log: bool) -> Iterator[tuple[str, int, int, str]]:
    if _BARE_VALUE.fullmatch(one.text):
        yield "object", one.offset, one.line, f"{_shown(one.text)} among messages is not a message"
    elif spoken(one.text) if in_log else _WORD.match(one.text):
        yield "raw", one.offset, one.line, f"a message is inside prose: {_shown(one.text)}"


def _shown(text: bytes) -> str:
    return repr(text[:_MOST_SHOWN].decode(errors="replace").strip())


_MOST_SHOWN = 60
_BARE_VALUE = re.compile(rb'-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|"(?:[^"\\]|\\.)*"|\[[^{}]*\]')
_WORD = re.compile(rb"[*#>_-]*[ \t]*[^\W\d_]|[\x80-\xff]")


def near(fields: dict[str, Any]) -> bool:
    """True if an object has nothing but names of SSTP: a header, a payload, or both; or all in one, with a kind."""
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
