"""Fields as facts of the common model, and facts as fields."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from turnwire.conversion import faults
from turnwire.conversion.context import Names, as_key
from turnwire.conversion.forms import FORMS
from turnwire.conversion.paths import ABSENT, Fields, Path, parsed, shown
from turnwire.conversion.shapes import shape_of
from turnwire.conversion.tables import ACTS, ASKING, GRAVE, REPORTING, STATUSES

_TIMES = frozenset({"sap_time", "iso_time"})
_FAILED, _SUCCEEDED, _CANCELLED = "FAILED", "SUCCEEDED", "CANCELLED"
_BEGUN = ("QUEUED", "RUNNING")
_NOTHING: tuple[Any, ...] = (None, [], {})
"""Values that say nothing: a field with one says no more than a field that is missing."""

UNREAD = "unread"
"""Among facts: fact -> the value that stands for it in the source, where that has no meaning in the common model. It is
known all the same, so that nothing else may stand for it."""

Facts = dict[str, Any]


class Filled(NamedTuple):
    """What facts gave: the fields, and in order the paths that a message of the wire lacks."""

    fields: Fields
    needed: list[Path]


@cache
def _places(wire: str, kind: str) -> tuple[tuple[Path, Any, str, str, str], ...]:
    return tuple(
        (parsed(one.path), FORMS[one.form], one.fact, one.form, one.need) for one in shape_of(wire).places[kind]
    )


def facts_of(wire: str, fields: Fields, names: Names) -> Facts:
    """What the fields of a message say, in the common model."""
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
    """Whether the source says something of a fact, in words of the common model or others."""
    return fact in facts or fact in facts.get(UNREAD, {})


def meaning(facts: Facts) -> tuple[str | None, str | None]:
    """What a message does: its act, and of a report also how the work stands. A report of failure is an error; work
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


def known_act(wire: str, facts: Facts) -> bool:
    """Whether the wire has a kind for what a message does, its own or a near one. Wires that stand in no table choose
    one themselves."""
    act = facts.get("act")
    row = ACTS.get(act or "", {})
    return act is not None and (wire in row or not any(wire in other for other in ACTS.values()))


def tells_kinds(wire: str, facts: Facts) -> bool:
    """Whether a message of the wire tells what it does. One that does not says nothing wrong; it is only lost."""
    in_table = any(wire in row for row in ACTS.values())
    return in_table or shape_of(wire).begin(facts["act"], facts) != ("", {})


def filled(wire: str, facts: Facts, names: Names) -> Filled:
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
    return Filled(fields, [path for path in needed if path not in fields])


def _supplied(wire: str, kind: str, path: Path, form: str, names: Names) -> Any:
    """What the context has for a field of which the source says nothing."""
    value = names.default(wire, kind, shown(path)) if names.supply else ABSENT
    if value is ABSENT and form in _TIMES:
        value = names.now()
    if value is ABSENT and (kind, path) in shape_of(wire).fresh:
        value = names.new_id()
    return value


def drafted(wire: str, facts: Facts, names: Names) -> Fields:
    """The fields of a whole message. Raises ConvertError(missing_field) with all that is missing."""
    fields, needed = filled(wire, facts, names)
    if needed:
        kind = shape_of(wire).begin(facts["act"], facts)[0]
        said = {path: fact for path, _, fact, _, _ in _places(wire, kind)}
        told = facts.get(UNREAD, {}) | facts
        known = {shown(path): told[said[path]] for path in needed if said.get(path) in told}
        raise faults.missing(wire, [shown(path) for path in needed], known)
    return fields


def survivors(wire: str, facts: Facts, names: Names) -> Fields:
    """The fields that the facts alone give, as far as they reach; nothing is asked of the caller."""
    return filled(wire, facts, names.surviving()).fields if known_act(wire, facts) else {}
