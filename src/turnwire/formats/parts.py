"""The parts of a record's content: texts, reasoning, tool calls and their results, from a table for each format.

Columns keep one value a record; a message of a model may hold several calls. Exports and ``turnwire show`` read all.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from turnwire.json.plan import MISSING, value_at


class Part(NamedTuple):
    """One part of a record. kind: "text", "reasoning", "call", "result", or "other", of which only the name is known.

    id: of the call that it is or answers. name: of the tool, or the type of another part. arguments: of a call, any
    JSON value. failed: whether a result is that of an error.
    """

    kind: str
    text: str = ""
    id: str | None = None
    name: str | None = None
    arguments: Any = None
    failed: bool = False


class PartRule(NamedTuple):
    """A rule for parts of one kind: where they are, and the paths of their values.

    at: the path of the object in the record, of several in an array with "*", or "" for the record itself. types: the
    words one of which is its ``type``; () for any. A string in place of the object is a part of the kind of the first
    rule there. when: a path of the record, and its value in records with such parts.
    """

    at: str
    kind: str
    types: tuple[str, ...] = ()
    text: str = ""
    id: str = ""
    name: str = ""
    arguments: tuple[str, ...] = ()
    failed: str = ""
    when: tuple[str, str] | None = None


def parts_of(fields: dict[str, Any], rules: tuple[PartRule, ...]) -> list[Part]:
    """The parts of a record, those of one place in the order in which they stand. The text of a result is no part of
    its own."""
    found: list[Part] = []
    places: dict[str, list[PartRule]] = {}
    for rule in rules:
        if rule.when is None or value_at(fields, rule.when[0]) == rule.when[1]:
            places.setdefault(rule.at, []).append(rule)
    told = {f"{at}/{rule.text}" for at, here in places.items() for rule in here if rule.kind == "result" and rule.text}
    for place, here in places.items():
        if place.removesuffix("/*") in told and any(part.kind == "result" for part in found):
            continue
        found += filter(None, (_part(value, here) for value in values_at(fields, place)))
    return found


def values_at(fields: Any, path: str) -> list[Any]:
    """The values at a path of an object: of all items, where "*" stands in it."""
    found = [fields]
    for step in path.split("/") if path else ():
        if step == "*":
            found = [item for one in found if isinstance(one, list) for item in one]
        else:
            found = [one[step] for one in found if isinstance(one, dict) and step in one]
    return found


def _part(value: Any, rules: list[PartRule]) -> Part | None:
    if isinstance(value, str):
        return Part(rules[0].kind, value) if value else None
    if not isinstance(value, dict):
        return None
    word = value_at(value, "type")
    for rule in rules:
        if not rule.types or word in rule.types:
            return _read(value, rule)
    return Part("other", name=word if isinstance(word, str) else None)


def _read(value: dict[str, Any], rule: PartRule) -> Part | None:
    text = as_text(value_at(value, rule.text)) if rule.text else ""
    arguments = next((found for path in rule.arguments if (found := value_at(value, path)) is not MISSING), None)
    words = (value_at(value, path) if path else MISSING for path in (rule.id, rule.name))
    of, name = (str(one) if (isinstance(one, str) and one) or type(one) is int else None for one in words)
    failed = value_at(value, rule.failed) if rule.failed else False
    if rule.kind in ("text", "reasoning") and not text:
        return None
    return Part(rule.kind, text, of, name, _loaded(arguments), failed not in (MISSING, None, False, "ok", "success"))


def as_text(value: Any) -> str:
    """What a value says: a string as it is, the texts of a list of blocks, else its JSON."""
    if value is MISSING or value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in value):
        return "".join(one["text"] for one in value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _loaded(arguments: Any) -> Any:
    """Arguments that some formats write as the text of JSON."""
    if isinstance(arguments, str):
        try:
            return json.loads(arguments, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return arguments
    return arguments


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
