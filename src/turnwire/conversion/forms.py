"""How a fact is written in a field, and read from it: one pair of functions for each form that the tables name.

``write`` gives ABSENT for a fact that has no exact form there; so does ``read`` for a value without a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.conversion.context import LARGEST, Names
from turnwire.conversion.paths import ABSENT, same
from turnwire.conversion.tables import OPEN_STATUS, PRIORITIES, READ_STATUS, STATUSES
from turnwire.errors import WireError
from turnwire.json import text as json_text
from turnwire.kick.rules import is_uuid4
from turnwire.kick.times import is_timestamp
from turnwire.nslip.spec import SHORT_STRING
from turnwire.sap.times import UUID, read_time, write_time
from turnwire.sstp.spec import PLACEHOLDERS

Function = Callable[[Any, Names, str], Any]
"""(value, names, wire) -> value."""


class Pair(NamedTuple):
    """write: fact -> value of the field; read: value of the field -> fact."""

    write: Function
    read: Function


_TOKEN = re.compile(r"[^\x00-\x20\x7f]+")
_COUNTED = re.compile(r"[TE](0|[1-9][0-9]*)")


def _filled(value: str) -> bool:
    return value not in PLACEHOLDERS


def _name(value: str) -> bool:
    return _filled(value) and not (value[:1] == "<" and value[-1:] == ">" and len(value) > 2)


def _short(value: str) -> bool:
    """A short string of nSLIP (section 2) that is on one line, as a record of a log must."""
    return len(value) <= SHORT_STRING and "\n" not in value


def _any(value: str) -> bool:
    return True


_SAYS: dict[str, Callable[[str], bool]] = {"nslip": _short, "sstp": _filled}
"""Wire -> whether a word can be its status: SSTP says nothing by a placeholder."""


def _text(value: Any, names: Names, wire: str) -> Any:
    return value if isinstance(value, str) else ABSENT


def _when(fits: Callable[[str], Any]) -> Pair:
    def judged(value: Any, names: Names, wire: str) -> Any:
        return value if isinstance(value, str) and fits(value) else ABSENT

    return Pair(judged, _text)


def _number(mapping: str) -> Pair:
    def write(value: Any, names: Names, wire: str) -> Any:
        if not isinstance(value, str):
            return ABSENT
        found = names.number(mapping, value)
        counted = _COUNTED.fullmatch(value) if mapping == "ids" else None
        if found is ABSENT and counted is not None:
            found = names.number(mapping, counted[1])
        return names.learn(mapping, value) if found is ABSENT else found

    def read(value: Any, names: Names, wire: str) -> Any:
        return names.name(mapping, value)

    return Pair(write, read)


def _counter(first: int, last: float) -> Pair:
    def judged(value: Any, names: Names, wire: str) -> Any:
        good = isinstance(value, int) and not isinstance(value, bool) and first <= value <= last
        return value if good else ABSENT

    return Pair(judged, judged)


def _token_of(letter: str) -> Pair:
    """CSP ids of a letter and digits; a bare number gets the letter, another name its number."""
    pattern = re.compile(f"{letter}[0-9]+")

    def write(value: Any, names: Names, wire: str) -> Any:
        if not isinstance(value, str):
            return ABSENT
        if pattern.fullmatch(value):
            return value
        number = names.number("ids", value)
        number = names.learn("ids", value) if number is ABSENT else number
        return ABSENT if number is ABSENT else f"{letter}{number}"

    return Pair(write, _text)


def _task_text(value: Any, names: Names, wire: str) -> Any:
    found = FORMS["task_token"].write(value, names, wire)
    return value if found is ABSENT and isinstance(value, str) else found


def _uuid(fits: Callable[[str], Any]) -> Pair:
    def write(value: Any, names: Names, wire: str) -> Any:
        if not isinstance(value, str):
            return ABSENT
        found = names.forth("uuids", value)
        if found is ABSENT and names.back("uuids", value) is ABSENT:
            found = value
        return found if found is not ABSENT and fits(found) else names.learn("uuids", value)

    def read(value: Any, names: Names, wire: str) -> Any:
        if not isinstance(value, str):
            return ABSENT
        found = names.back("uuids", value)
        return value if found is ABSENT and names.forth("uuids", value) is ABSENT else found

    return Pair(write, read)


def _to_receipt(value: Any, names: Names, wire: str) -> Any:
    """What a receipt names: the UUID of a task that has one, else its id as it is."""
    found = FORMS["uuid"].write(value, names, wire)
    return value if found is ABSENT and isinstance(value, str) else found


def _to_role(value: Any, names: Names, wire: str) -> Any:
    found = names.forth("roles", value)
    return value if found is ABSENT and names.back("roles", value) is ABSENT else found


def _from_role(value: Any, names: Names, wire: str) -> Any:
    found = names.back("roles", value)
    return value if found is ABSENT and names.forth("roles", value) is ABSENT else found


_NONE: frozenset[str] = frozenset()


def _words(fact: str, table: dict[str, Any], written: frozenset[str] = _NONE, known: frozenset[str] = _NONE) -> Pair:
    """written, known: the wires in which it may be any other word, when it is written and when it is read."""

    def word(value: str, wire: str) -> Any:
        own = table[value].get(wire, ABSENT)
        return registry.wire(wire).shape.words.get(fact, {}).get(value, ABSENT) if own is ABSENT else own

    def is_open(wire: str, opened: frozenset[str]) -> bool:
        return wire in opened or (bool(opened) and registry.wire(wire).shape.open_words)

    def write(value: Any, names: Names, wire: str) -> Any:
        if value in table:
            return word(value, wire)
        fits = is_open(wire, written) and isinstance(value, str) and _SAYS.get(wire, _any)(value)
        return value if fits and read(value, names, wire) == value else ABSENT

    def read(value: Any, names: Names, wire: str) -> Any:
        for name in table:
            if same(word(name, wire), value):
                return name
        said = is_open(wire, known) and isinstance(value, str) and (wire != "sstp" or _filled(value))
        return value if said else ABSENT

    return Pair(write, read)


def _sap_time(value: Any, names: Names, wire: str) -> Any:
    """The moment as section 3 of SAP writes it; the fraction of a second is dropped, a time without a zone is none."""
    found = read_time(value) if isinstance(value, str) else None
    return ABSENT if found is None else write_time(found[0])


def _list(value: Any, names: Names, wire: str) -> Any:
    return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else ABSENT


def _only(value: Any, names: Names, wire: str) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else ABSENT


def _one(value: Any, names: Names, wire: str) -> Any:
    return [value] if _filled(value) else ABSENT


def _object(text: str) -> Any:
    """The JSON object that ``text`` is the one way to write, or None."""
    if not text.startswith("{"):
        return None
    try:
        value = json_text.read_object(text, "")
        return value if json_text.write(value) == text else None
    except WireError:
        return None


def _to_payload(value: Any, names: Names, wire: str) -> Any:
    found = _object(value)
    return {"text": value} if found is None else found


def _from_payload(value: Any, names: Names, wire: str) -> Any:
    if not isinstance(value, dict):
        return ABSENT
    only = value.get("text") if len(value) == 1 else None
    return only if isinstance(only, str) else json_text.write(value)


def _to_json(value: Any, names: Names, wire: str) -> Any:
    found = _object(value)
    return value if found is None else found


def _from_json(value: Any, names: Names, wire: str) -> Any:
    return value if isinstance(value, str) else json_text.write(value) if isinstance(value, dict) else ABSENT


FORMS: dict[str, Pair] = {
    "text": _when(_any),
    "filled": _when(_filled),
    "name": _when(_name),
    "token": _when(_TOKEN.fullmatch),
    "tag": _when(_short),
    "iso_time": _when(is_timestamp),
    "sap_time": Pair(_sap_time, _text),
    "agent_number": _number("agents"),
    "conversation_number": _number("conversations"),
    "id_number": _number("ids"),
    "number": _counter(0, LARGEST),
    "clock": _counter(1, float("inf")),
    "task_token": _token_of("T"),
    "error_token": _token_of("E"),
    "task_text": Pair(_task_text, _text),
    "uuid": _uuid(UUID.fullmatch),
    "uuid4": _uuid(is_uuid4),
    "receipt": Pair(_to_receipt, lambda value, names, wire: FORMS["uuid"].read(value, names, wire)),
    "role": Pair(_to_role, _from_role),
    "status": _words("status", STATUSES, OPEN_STATUS, READ_STATUS),
    "priority": _words("priority", PRIORITIES),
    "texts": Pair(_list, _list),
    "only_one": Pair(_one, _only),
    "payload": Pair(_to_payload, _from_payload),
    "json": Pair(_to_json, _from_json),
    "content": _when(_any),  # made and read as a whole in kick.py
}
"""Name in the tables -> how a fact is written and read."""
