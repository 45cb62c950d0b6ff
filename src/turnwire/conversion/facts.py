"""Fields as facts of the common model, and facts as fields, each in the form that the tables name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.conversion.context import LARGEST, Names, as_key
from turnwire.conversion.shapes import ABSENT, Facts, Fields, Path, parsed, same, shape_of, shown
from turnwire.conversion.tables import (
    ACTS,
    ASKING,
    GRAVE,
    OPEN_STATUS,
    PRIORITIES,
    READ_STATUS,
    REPORTING,
    STATUSES,
)
from turnwire.errors import ConvertError, Reason, WireError
from turnwire.json import text as json_text
from turnwire.kick.rules import is_uuid4
from turnwire.kick.times import is_timestamp
from turnwire.nslip.spec import SHORT_STRING
from turnwire.sap.times import UUID, read_time, write_time
from turnwire.sstp.spec import PLACEHOLDERS

Function = Callable[[Any, Names, str], Any]
"""(value, names, wire) -> value, or ABSENT: a fact that has no exact form there, a value without a meaning."""


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
    """Texts that fit."""
    return Pair(lambda value, names, wire: value if isinstance(value, str) and fits(value) else ABSENT, _text)


def _or_as_it_is(form: Pair) -> Pair:
    """A form for texts that have it, and the text itself for others."""

    def write(value: Any, names: Names, wire: str) -> Any:
        found = form.write(value, names, wire)
        return _text(value, names, wire) if found is ABSENT else found

    return Pair(write, form.read)


def _number(mapping: str) -> Pair:
    def write(value: Any, names: Names, wire: str) -> Any:
        if not isinstance(value, str):
            return ABSENT
        found = names.number(mapping, value)
        counted = _COUNTED.fullmatch(value) if mapping == "ids" else None
        if found is ABSENT and counted is not None:
            found = names.number(mapping, counted[1])
        return names.learn(mapping, value) if found is ABSENT else found

    return Pair(write, lambda value, names, wire: names.name(mapping, value))


def _counter(first: int, last: float) -> Pair:
    def within(value: Any, names: Names, wire: str) -> Any:
        good = isinstance(value, int) and not isinstance(value, bool) and first <= value <= last
        return value if good else ABSENT

    return Pair(within, within)


def _token_of(letter: str) -> Pair:
    """CSP ids of a letter and digits; a bare number gets the letter, another name its number."""
    pattern = re.compile(f"{letter}[0-9]+")

    def write(value: Any, names: Names, wire: str) -> Any:
        if not isinstance(value, str) or pattern.fullmatch(value):
            return _text(value, names, wire)
        number = names.number("ids", value)
        number = names.learn("ids", value) if number is ABSENT else number
        return ABSENT if number is ABSENT else f"{letter}{number}"

    return Pair(write, _text)


def _mapped(value: str, names: Names, mapping: str) -> Any:
    """The text that a name is mapped to, or the name itself where none is mapped to it."""
    found = names.forth(mapping, value)
    return value if found is ABSENT and names.back(mapping, value) is ABSENT else found


def _uuid(fits: Callable[[str], Any]) -> Pair:
    def write(value: Any, names: Names, wire: str) -> Any:
        if not isinstance(value, str):
            return ABSENT
        found = _mapped(value, names, "uuids")
        return found if found is not ABSENT and fits(found) else names.learn("uuids", value)

    return Pair(write, lambda value, names, wire: names.name("uuids", value) if isinstance(value, str) else ABSENT)


def _words(fact: str, table: dict[str, Any], written: frozenset[str], known: frozenset[str]) -> Pair:
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
    "not_blank": _when(str.strip),
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
    "task_text": _or_as_it_is(_token_of("T")),
    "uuid": _uuid(UUID.fullmatch),
    "uuid4": _uuid(is_uuid4),
    "receipt": _or_as_it_is(_uuid(UUID.fullmatch)),
    "role": Pair(
        lambda value, names, wire: _mapped(value, names, "roles"), lambda value, names, wire: names.name("roles", value)
    ),
    "status": _words("status", STATUSES, OPEN_STATUS, READ_STATUS),
    "priority": _words("priority", PRIORITIES, frozenset(), frozenset()),
    "texts": Pair(_list, _list),
    "only_one": Pair(lambda value, names, wire: [value] if _filled(value) else ABSENT, _only),
    "payload": Pair(_to_payload, _from_payload),
    "json": Pair(_to_json, _from_json),
    "content": _when(_any),  # made and read as a whole in kick.py
}
"""Name in the tables -> how a fact is written and read."""

_TIMES = frozenset({"sap_time", "iso_time"})
_FAILED, _SUCCEEDED, _CANCELLED = "FAILED", "SUCCEEDED", "CANCELLED"
_BEGUN = ("QUEUED", "RUNNING")
_NOTHING: tuple[Any, ...] = (None, [], {})
"""Values that say nothing: a field with one says no more than a field that is missing."""

UNREAD = "unread"
"""Among facts: fact -> the value that stands for it in the source, where that has no meaning in the common model. It is
known all the same, so that nothing else may stand for it."""


class Draft(NamedTuple):
    """The fields that facts gave, and in order the paths that a message of the wire lacks."""

    fields: Fields
    needed: list[Path]


@cache
def _places(wire: str, kind: str) -> tuple[tuple[Path, Any, str, str, str], ...]:
    return tuple(
        (parsed(one.path), FORMS[one.form], one.fact, one.form, one.need) for one in shape_of(wire).places[kind]
    )


def facts_of(wire: str, fields: Fields, names: Names) -> Facts:
    """The facts that the fields of a message say."""
    shape = shape_of(wire)
    act, kind = shape.kind(fields)
    facts: Facts = {} if act is None else {"act": act}
    unread: dict[str, Any] = {}
    for path, form, fact, written, _ in _places(wire, kind):
        if fact and fact not in facts and path in fields and written != "content":
            value = fields[path]
            found = ABSENT if value is None else form.read(value, names, wire)
            if found is not ABSENT:
                facts[fact] = found
            elif value not in _NOTHING:
                unread.setdefault(fact, value)
    facts |= shape.facts(fields, kind, names)
    unread = {fact: value for fact, value in unread.items() if fact not in facts}
    return {**facts, UNREAD: unread} if unread else facts


def is_known(facts: Facts, fact: str) -> bool:
    """True if the source says something of a fact, in words of the common model or others."""
    return fact in facts or fact in facts.get(UNREAD, {})


def meaning(facts: Facts) -> tuple[str | None, str | None]:
    """The act of a message, and of a report also how the work stands. A report of failure is an error; work
    that has ended is not asked for as any other, nor is one of which a word says what nobody knows."""
    act, status = facts.get("act"), facts.get("status")
    if status is None and is_known(facts, "status"):
        status = as_key(facts[UNREAD]["status"])
    if act == "inform" and status == _FAILED:
        return "error", None
    if act in REPORTING:
        told = status != _SUCCEEDED
    else:
        told = act not in GRAVE and status is not None
        told = told and (status not in (_BEGUN if act in ASKING else STATUSES) or status in (_FAILED, _CANCELLED))
    return (act, status) if told else (act, None)


def _in_tables(wire: str) -> bool:
    return any(wire in row for row in ACTS.values())


def known_act(wire: str, facts: Facts) -> bool:
    """True if the wire has a kind for what a message does, its own or a near one. Wires that stand in no table choose
    one themselves."""
    act = facts.get("act")
    return act is not None and (wire in ACTS.get(act, {}) or not _in_tables(wire))


def tells_kinds(wire: str, facts: Facts) -> bool:
    """True if a message of the wire tells what it does. One that does not says nothing wrong; it is only lost."""
    return _in_tables(wire) or shape_of(wire).begin(facts["act"], facts) != ("", {})


def fields_of(wire: str, facts: Facts, names: Names) -> Draft:
    """The fields of a message of the wire. The context gives what the facts do not say, and nothing else."""
    form = ACTS.get(facts["act"], {}).get(wire)
    if form is not None and form.status is not None:
        facts = {**facts, "status": form.status}
    shape = shape_of(wire)
    kind, fixed = shape.begin(facts["act"], facts)
    fields = dict(fixed)
    needed = []
    for path, how, fact, written, need in _places(wire, kind):
        if need == "read" or path in fields:
            continue
        value = ABSENT
        if fact == "status" and facts["act"] in GRAVE and not is_known(facts, fact):
            pass  # what it does says how far the work is: no default may say something else
        elif written == "content" or not is_known(facts, fact):
            value = _supplied(wire, kind, path, written, names)
        elif fact in facts:
            value = names.explicit(wire, path, facts[fact])
            value = how.write(facts[fact], names, wire) if value is ABSENT else value
        else:
            value = names.explicit(wire, path, facts[UNREAD][fact])
        if value is not ABSENT:
            fields[path] = value
        elif need == "must" and written != "content":
            needed.append(path)
    needed += shape.finish(fields, facts, names)
    return Draft(fields, [path for path in needed if path not in fields])


def _supplied(wire: str, kind: str, path: Path, form: str, names: Names) -> Any:
    """The value that the context has for a field of which the source says nothing."""
    value = names.default(wire, kind, shown(path)) if names.supply else ABSENT
    if value is ABSENT and form in _TIMES:
        value = names.now()
    if value is ABSENT and (kind, path) in shape_of(wire).fresh:
        value = names.new_id()
    return value


def drafted(wire: str, facts: Facts, names: Names) -> Fields:
    """The fields of a whole message. Raises ConvertError(missing_field) with all that is missing."""
    fields, needed = fields_of(wire, facts, names)
    if not needed:
        return fields
    kind = shape_of(wire).begin(facts["act"], facts)[0]
    said = {path: fact for path, _, fact, _, _ in _places(wire, kind)}
    facts = facts.get(UNREAD, {}) | facts
    known = {shown(path): facts[said[path]] for path in needed if said.get(path) in facts}
    paths = [shown(path) for path in needed]
    absent = [path for path in paths if path not in known]
    told = [f"neither the message nor the context has {', '.join(absent)}"] if absent else []
    told += [f"{path} cannot say {_excerpt(value)} unless the context maps it" for path, value in known.items()]
    raise ConvertError(Reason.MISSING_FIELD, "; ".join(told), wire=wire, path=paths[0], missing=paths, known=known)


_SHOWN = 60
"""Characters of a value that an error shows."""


def _excerpt(value: Any) -> str:
    text = repr(value if isinstance(value, (str, int)) else json_text.write(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def survivors(wire: str, facts: Facts, names: Names) -> Fields:
    """The fields that the facts alone give, as far as they reach; nothing is asked of the caller."""
    return fields_of(wire, facts, names.surviving()).fields if known_act(wire, facts) else {}
