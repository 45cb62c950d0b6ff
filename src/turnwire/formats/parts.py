"""The parts of a record's content: texts, reasoning, tool calls and their results, from a table for each format.

A column keeps one value of a record, but a message may hold several calls, and a record several messages. Exports and
``turnwire show`` read them all, and know which members they did not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, NamedTuple

from turnwire.json.plan import MISSING

ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "agent", "ai", "model"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function"), "tool"),
}
"""The words of formats for a role -> the role."""


class Part(NamedTuple):
    """One part of a record. kind: "text", "reasoning", "call", "result", or "data", which is any other.

    id: of the call that it is or answers. name: of the tool, or the type of data. arguments: of a call, any JSON value;
    of data, the value itself; of a result, its blocks if it has some. failed: True for the result of an error. block:
    the numbers that pieces of a longer part share; the arguments of a piece are text.
    """

    kind: str
    text: str = ""
    id: str | None = None
    name: str | None = None
    arguments: Any = None
    failed: bool = False
    block: tuple[Any, ...] | None = None


KINDS_OF_PARTS = ("text", "reasoning", "call", "result", "data")


class PartRule(NamedTuple):
    """A rule for parts of one kind: where they are, and the paths of their values.

    at: the path of the object in the record, of several in an array with "*", or "" for the record itself. types: the
    words one of which is its ``type`` or ``kind``; () for any. A string in place of the object is a part of the kind of
    the first rule there. when: a path of the record, and its value in records with such parts. unless: a path of the
    record that must be absent. block: of pieces, the paths of the numbers of their ``Part.block``, in the record if it
    begins with a slash.
    """

    at: str
    kind: str
    types: tuple[str, ...] = ()
    text: str | tuple[str, ...] = ""
    id: str = ""
    name: str = ""
    arguments: tuple[str, ...] = ()
    failed: str = ""
    when: tuple[str, str] | None = None
    unless: str = ""
    block: tuple[str, ...] = ()


class MessageRule(NamedTuple):
    """Messages in a record, each of which is a turn.

    at: the path of a message in the record, of several with "*". parts: the rules for its parts; a string in place of
    it is its text. columns: column -> its path in the message. role: that of all of them. when: a path of the message,
    and its value in such messages. unless: as in a ``PartRule``. retold: True if records repeat messages of earlier
    records of their conversation.
    """

    at: str
    parts: tuple[PartRule, ...] = ()
    columns: Mapping[str, str] = {"sender": "role", "id": "id"}
    role: str | None = None
    when: tuple[str, str] | None = None
    unless: str = ""
    retold: bool = False


class ParsedMessage(NamedTuple):
    """A message in a record. columns: column -> its value and where that is. retold: see ``MessageRule``."""

    columns: dict[str, tuple[Place, str]]
    role: str | None
    parts: list[Part]
    retold: bool = False


Place = tuple[int, Any]
"""The identity of an object or array, and a key in it."""


class Reader:
    """Reads values of one object by their paths, and knows which members were taken."""

    def __init__(self) -> None:
        self._taken: set[Place] = set()
        self._read: dict[Place, Any] = {}  # where a text or a value of OTLP is -> its plain JSON
        self._numbered: dict[Place, list[dict[str, Any]]] = {}  # an array, a prefix of keys -> its items by number
        self._same: dict[int, int] = {}  # such an item -> the one that it was made of

    def values(self, fields: Any, path: str) -> list[tuple[Place, Any]]:
        """The values at a path of an object, each with its place: of all items, where "*" stands in it. JSON in a text
        of OTLP is read where the path goes on in it."""
        place: Place = (0, None)
        value, steps = fields, steps_of(path)
        for number, step in enumerate(steps):
            if type(value) is not dict or step not in value:
                if type(value) is dict and step != "{}" and not _is_wrapped(value):
                    return []
                found = [(place, value)]
                for further in steps[number:]:
                    found = [one for place, value in found for one in self._within(place, value, further)]
                return [(place, self._plain(place, value)) for place, value in found]
            place, value = (id(value), step), value[step]
        return [(place, value)]

    def take(self, *places: Place) -> None:
        """Notes that what is at some places was taken."""
        self._taken.update(places)

    def value(self, fields: Any, path: str) -> Any:
        """Takes the value at a path, the last one of several; ``MISSING`` where there is none."""
        if type(fields) is dict and path and "/" not in path:  # most paths: no walk
            one = fields.get(path, MISSING)
            if type(one) in (str, int, bool):
                self._taken.add((id(fields), path))
                return one
            if one is MISSING and len(fields) > 1 and path != "{}":  # a value of OTLP would have one member
                return MISSING
        found = self.values(fields, path) if path else []
        if not found:
            return MISSING
        self._taken.add(found[-1][0])
        return found[-1][1]

    def _within(self, place: Place, value: Any, step: str) -> Iterator[tuple[Place, Any]]:
        if type(value) is dict:
            if step in value:
                yield (id(value), step), value[step]
                return
            value = self._plain(place, value)
        if type(value) is str and place[1] in _TEXTS:
            value = self._read.get(place, value)
            if type(value) is str:
                value = self._read[place] = _loaded(value)
        if step.endswith(".*]") and isinstance(value, list):
            yield from (((id(one), None), one) for one in self._by_number(value, step[1:-2]))
        elif step[0] == "[" and isinstance(value, list):
            key, equals, word = step[1:-1].rpartition("=")
            word, _, member = word.rpartition(":") if equals else (word, "", "value")
            for item in value:
                if isinstance(item, dict) and item.get(key or "key") == word and member in item:
                    of = self._same.get(id(item), id(item))
                    self._taken.add((of, key or "key"))
                    yield (of, member), item[member]
        elif step == "*" and isinstance(value, list):
            yield from (((id(value), number), item) for number, item in enumerate(value))
        elif step == "{}" and isinstance(value, dict):
            yield from (((id(value), key), item) for key, item in value.items())
        elif isinstance(value, dict) and step in value:
            yield (id(value), step), value[step]

    def _by_number(self, items: list[Any], prefix: str) -> list[dict[str, Any]]:
        """Items with keys such as ``prefix0.name`` as objects, each with the ``attributes`` of its number."""
        if (known := self._numbered.get((id(items), prefix))) is not None:
            return known
        found: dict[int, dict[str, Any]] = {}
        for item in items:
            key = str(item.get("key")) if isinstance(item, dict) else ""
            number, _, name = key.removeprefix(prefix).partition(".")
            if name and number.isdecimal() and len(number) < 10 and key.startswith(prefix):
                made = {**item, "key": name}
                self._same[id(made)] = self._same.get(id(item), id(item))
                found.setdefault(int(number), {"attributes": []})["attributes"].append(made)
        return self._numbered.setdefault((id(items), prefix), [found[number] for number in sorted(found)])

    def _plain(self, place: Place, value: Any) -> Any:
        """A value of OTLP as plain JSON."""
        return self._read.setdefault(place, unwrapped(value)) if _is_wrapped(value) else value

    def left(self, fields: Any) -> list[str]:
        """The paths of members that were not taken: one path for an object of which nothing was."""
        return list(dict.fromkeys(self._left(fields, "")[0]))

    def _left(self, value: Any, path: str) -> tuple[list[str], bool]:
        names: list[str] = []
        touched = False
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            place = id(value), key
            if place in self._taken or (_is_wrapped(item) and (id(item), next(iter(item))) in self._taken):
                touched = True
                continue
            item = self._read.get(place, item)
            if item is None or (isinstance(item, str | list | dict) and not item):
                continue
            word = key if isinstance(key, str) else "*"
            if word == "*" and isinstance(item, dict) and isinstance(item.get("key"), str) and "value" in item:
                word = f"[{item['key']}]"
            here = f"{path}/{word}" if path else word
            found, below = self._left(item, here) if isinstance(item, dict | list) else ([], False)
            names += found if below else [here]
            touched = touched or below
        return names, touched


@lru_cache(4096)
def steps_of(path: str) -> tuple[str, ...]:
    """The steps of a path; a key in brackets may have slashes."""
    found: list[str] = []
    for step in path.split("/") if path else ():
        if found and found[-1][0] == "[" and found[-1][-1] != "]":
            found[-1] += f"/{step}"
        else:
            found.append(step)
    return tuple(found)


_TEXTS = ("value", "stringValue")
"""The members of OTLP's attributes whose texts may be JSON."""
_WRAPPERS = {"stringValue", "intValue", "doubleValue", "boolValue", "bytesValue", "arrayValue", "kvlistValue"}


def _is_wrapped(value: Any) -> bool:
    return type(value) is dict and len(value) == 1 and next(iter(value)) in _WRAPPERS


def unwrapped(value: Any) -> Any:
    """A value of OTLP (``AnyValue``) as plain JSON."""
    if not _is_wrapped(value):
        return value
    ((how, held),) = value.items()
    if how == "intValue" and isinstance(held, str) and held.lstrip("-").isdecimal():
        return int(held)
    if how not in ("arrayValue", "kvlistValue"):
        return held
    several = held.get("values") if isinstance(held, dict) else None
    items = [one for one in several if isinstance(one, dict)] if isinstance(several, list) else []
    if how == "arrayValue":
        return [unwrapped(one) for one in items]
    return {one["key"]: unwrapped(one.get("value")) for one in items if isinstance(one.get("key"), str)}


def parts_of(fields: Any, rules: tuple[PartRule, ...], reader: Reader | None = None) -> list[Part]:
    """The parts of a record, those of one place in the order in which they stand. The text of a result is no part of
    its own."""
    reader = reader or Reader()
    found: list[Part] = []
    places: dict[str, list[PartRule]] = {}
    for rule in rules:
        if not _is_barred(fields, rule, reader) and _is_one(fields, rule, reader):
            places.setdefault(rule.at, []).append(rule)
    results = [rule for rule in rules if rule.kind == "result" and rule.at in places]
    told = {f"{rule.at}/{text}".lstrip("/") for rule in results for text in _several(rule.text)}
    for path, here in places.items():
        if path.removesuffix("/*") in told and any(part.kind == "result" for part in found):
            continue
        for place, value in reader.values(fields, path):
            found += filter(None, (_part(place, value, here, reader, fields),))
    return found


def joined(parts: list[Part]) -> list[Part]:
    """The parts with the pieces of each block put together, where its first piece stands."""
    blocks: dict[Any, list[Part]] = {}
    for number, part in enumerate(parts):
        blocks.setdefault(number if part.block is None else (part.kind, part.block), []).append(part)
    return [pieces[0] if pieces[0].block is None else _joined(pieces) for pieces in blocks.values()]


def _joined(pieces: list[Part]) -> Part:
    kind, _, of, name, arguments, failed, _ = pieces[0]
    written = "".join(piece.arguments for piece in pieces if isinstance(piece.arguments, str))
    arguments = _loaded(written) if written else None if arguments == "" else arguments
    return Part(kind, "".join(piece.text for piece in pieces), of, name, arguments, failed)


def tools_of(record: bytes, table: Any) -> set[bytes]:
    """The tools of the calls and results in a record, and in its messages."""
    import msgspec

    fields, reader = msgspec.json.decode(record), Reader()
    said = (part for one in messages_of(fields, table.messages, reader) for part in one.parts)
    parts = chain(parts_of(fields, table.parts, reader), said)
    return {str(part.name).encode("utf-8", "surrogatepass") for part in parts if part.kind in ("call", "result")}


def _is_barred(fields: Any, rule: PartRule | MessageRule, reader: Reader) -> bool:
    """True if a record has what those of a rule lack."""
    path = rule.unless
    return bool(path) and any(value not in (None, [], "") for _, value in reader.values(fields, path))


def _is_one(fields: Any, rule: PartRule | MessageRule, reader: Reader) -> bool:
    """True if a record or a message is one of those that a rule is for."""
    if rule.when is None:
        return True
    found = [place for place, value in reader.values(fields, rule.when[0]) if value == rule.when[1]]
    reader.take(*found)
    return bool(found)


def messages_of(fields: Any, rules: tuple[MessageRule, ...], reader: Reader) -> Iterator[ParsedMessage]:
    """The messages in a record, those of one place in the order in which they stand."""
    for at, here in groupby(rules, attrgetter("at")):
        values = reader.values(fields, at)
        several = [rule for rule in here if not _is_barred(fields, rule, reader)] if values else []
        for place, value in values if several else ():
            rule = next((one for one in several if _is_one(value, one, reader)), None)
            if isinstance(value, str) and rule:
                reader.take(place)
                yield ParsedMessage({}, rule.role or "user", [Part("text", value)] if value else [])
            elif isinstance(value, dict) and rule:
                found = {name: reader.values(value, path) for name, path in rule.columns.items()}
                columns = {name: some[-1] for name, some in found.items() if some and isinstance(some[-1][1], str)}
                sender = columns.get("sender", (place, ""))[1]
                role = rule.role or ROLES.get(sender.lower().removeprefix("role_"))
                yield ParsedMessage(columns, role, parts_of(value, rule.parts, reader), rule.retold)


def _part(place: Place, value: Any, rules: list[PartRule], reader: Reader, record: Any) -> Part | None:
    if isinstance(value, str) and rules[0].kind != "data":
        reader.take(place)
        return Part(rules[0].kind, value) if value else None
    fields = value if isinstance(value, dict) else {}
    key = "type" if isinstance(fields.get("type"), str) else "kind"
    word = fields[key] if isinstance(fields.get(key), str) else None
    for rule in rules:
        if rule.kind == "data":
            break
        if isinstance(value, dict) and (not rule.types or word in rule.types):
            part = _by_rule(value, rule, reader, record)
            if part is not None or rule.types or "" in map(value.get, _several(rule.text)):
                reader.take((id(value), key))
                return part
    else:
        if not (isinstance(value, dict) and all(rule.types for rule in rules)):
            return None
    reader.take(place)
    name = word or rules[-1].name or None
    return Part("data", name=name, arguments=value) if value not in (None, "", [], {}) else None


def _several(paths: str | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(None, (paths,))) if isinstance(paths, str) else paths


def _first(reader: Reader, value: Any, paths: tuple[str, ...]) -> Any:
    return next((found for path in paths if (found := reader.value(value, path)) is not MISSING), MISSING)


def _by_rule(value: dict[str, Any], rule: PartRule, reader: Reader, record: Any) -> Part | None:
    numbers = [reader.value(value if path[0] != "/" else record, path.removeprefix("/")) for path in rule.block]
    said = value if rule.kind == "result" and not rule.text else _first(reader, value, _several(rule.text))
    text, arguments = as_text(said), _first(reader, value, rule.arguments)
    of, name = (id_of(reader.value(value, path)) for path in (rule.id, rule.name))
    failed = reader.value(value, rule.failed)
    if rule.kind in ("text", "reasoning") and not text:
        return None
    if rule.kind == "result" and isinstance(said, list):
        arguments = said
    arguments = None if arguments is MISSING else arguments if rule.block else _loaded(arguments)
    failed = failed not in (MISSING, None, False, "ok", "success")
    return Part(rule.kind, text, of, name, arguments, failed, tuple(numbers) if rule.block else None)


def id_of(value: Any) -> str | None:
    """An id or a name as text, if it is a string that is not empty, or an integer."""
    return str(value) if (isinstance(value, str) and value) or type(value) is int else None


def as_text(value: Any) -> str:
    """A value as text: a string as it is, the texts of a list of blocks, else its JSON."""
    if value is MISSING or value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in value):
        return "".join(one["text"] for one in value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _loaded(arguments: Any) -> Any:
    """Arguments that some formats write as the text of JSON."""
    import msgspec  # which only reading of parts needs

    if isinstance(arguments, str):
        try:
            return msgspec.json.decode(arguments)
        except (msgspec.DecodeError, RecursionError):
            return arguments
    return arguments
