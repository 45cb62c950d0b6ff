"""Fields as facts of the common model, and facts as fields, each in the form that the tables name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.contract import Wire
from turnwire.conversion.context import LARGEST, Names, as_key
from turnwire.conversion.shapes import ABSENT, Facts, Fields, Path, parsed, same, shape_of, shown
from turnwire.conversion.tables import ACTS, ASKING, GRAVE, OPEN_STATUS, PRIORITIES, READ_STATUS, REPORTING, STATUSES
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
    return value not in PLACEHOLDERS and not (value[:1] == "<" and value[-1:] == ">" and len(value) > 2)


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
    wires = {wire for words in table.values() for wire in words}
    built_in = {wire: {name: words[wire] for name, words in table.items() if wire in words} for wire in wires}
    meant = {wire: {(type(word), word): name for name, word in words.items()} for wire, words in built_in.items()}

    def words_of(wire: str) -> Any:
        return built_in.get(wire) or registry.wire(wire).shape.words.get(fact, {})

    def is_open(wire: str, opened: frozenset[str]) -> bool:
        return wire in opened or (wire not in built_in and bool(opened) and registry.wire(wire).shape.open_words)

    def write(value: Any, names: Names, wire: str) -> Any:
        if value in table:
            return words_of(wire).get(value, ABSENT)
        fits = is_open(wire, written) and isinstance(value, str) and _SAYS.get(wire, _any)(value)
        return value if fits and read(value, names, wire) == value else ABSENT

    def read(value: Any, names: Names, wire: str) -> Any:
        if isinstance(value, (str, int)):
            known_words = meant.get(wire) or {(type(word), word): name for name, word in words_of(wire).items()}
            found = known_words.get((str if isinstance(value, str) else type(value), value))
            if found is not None:
                return found
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
    "text": Pair(_text, _text),
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
_NONE: dict[str, Any] = {}
_NOTHING: tuple[Any, ...] = (None, [], {})
"""Values that say nothing: a field with one says no more than a field that is missing."""

UNREAD = "unread"
"""Among facts: fact -> the value that stands for it in the source, where that has no meaning in the common model. It is
known all the same, so that nothing else may stand for it."""


_Step = tuple[Path, str, Function, Any, bool, Callable[[], Any] | None]
"""How a field is written: its path and fact, how, the caller's values for what a source says, whether no message can do
without it, and what gives it where the source says nothing of it."""


class _Plan(NamedTuple):
    """The places of one kind of message, made ready: of those that say something, (path, fact, how it is read); the
    steps that write a message, those of them that have a fact, and path -> fact of both; the form of the task that it
    must name."""

    read: list[tuple[Path, str, Function]]
    written: list[_Step]
    said: list[_Step]
    facts: dict[Path, str]
    task: Pair | None


class Mapper:
    """One wire, with the names of a context: the facts of its fields, and the fields of facts."""

    def __init__(self, wire: Wire, names: Names) -> None:
        self.described = wire
        self.wire = wire.name
        self.names = names
        self.shape = shape_of(wire.name)
        self.kinds = {act: row[self.wire] for act, row in ACTS.items() if self.wire in row}
        """Act -> the wire's own kind for it, or the nearest one. Wires that stand in no table choose themselves."""
        self.named_kinds = sorted({form.kind for form in self.kinds.values() if form.own})
        self.progress = frozenset[str]().union(*(rule.progress for rule in wire.pairs))
        """The kinds of answers that only report progress."""
        self._plans: dict[str, _Plan] = {}
        self._chosen: dict[tuple[Any, ...], list[_Step]] = {}  # by kind and the facts that are there
        self._numbers: defaultdict[str, count[int]] = defaultdict(lambda: count(1))  # of ids, by their letters

    def _plan(self, kind: str) -> _Plan:
        found = self._plans.get(kind)
        if found is not None:
            return found
        read, written, task = [], [], None
        for place in self.shape.places[kind]:
            path, form, whole = parsed(place.path), FORMS[place.form], place.form == "content"
            if place.fact and not whole:
                read.append((path, place.fact, form.read))
            if place.need == "read":
                continue
            must, fact = place.need == "must" and not whole, "" if whole else place.fact
            values = self.names.context.values.get(self.wire, {}).get(place.path)
            supply = self._supply(kind, place.path, place.form in _TIMES, (kind, path) in self.shape.fresh)
            if fact or must or supply is not None:  # no message has it otherwise
                written.append((path, fact, form.write, values, must, supply))
            if fact == "task" and must and task is None and f"{kind}:{place.path}" not in self.shape.numbered:
                task = form
        said = [step for step in written if step[1]]
        found = self._plans[kind] = _Plan(read, written, said, {step[0]: step[1] for step in written}, task)
        return found

    def _steps(self, kind: str, facts: Facts, supply: bool) -> list[_Step]:
        """The steps that can write something, or find it missing, where these facts are there."""
        key = (kind, supply, *facts)
        found = self._chosen.get(key)
        if found is None:
            if len(self._chosen) >= _SHAPES:
                self._chosen.clear()
            plan = self._plan(kind)
            steps = plan.written if supply else plan.said
            can = [step for step in steps if step[1] in facts or (supply and (step[4] or step[5] is not None))]
            found = self._chosen[key] = can if UNREAD not in facts else steps
        return found

    def _supply(self, kind: str, path: str, timed: bool, fresh: bool) -> Callable[[], Any] | None:
        """The function that gives a field of which the source says nothing, by the context; None if it has none."""
        context, given = self.names.context, self.names.unasked(self.wire, kind, path)
        if given is ABSENT:
            if self.names.room and (letter := self.shape.numbered.get(f"{kind}:{path}")) is not None:
                numbers = self._numbers[letter]
                return lambda: f"{letter}{next(numbers)}"
            given = context.now if timed else context.new_id if fresh else None
            if given is None:
                return None
        return given if callable(given) else lambda: given

    def knows(self, facts: Facts) -> bool:
        """True if the wire has a kind for what a message does, its own or a near one."""
        act = facts.get("act")
        return act is not None and (act in self.kinds or not self.kinds)

    def facts(self, fields: Fields) -> Facts:
        """The facts that the fields of a message say."""
        act, kind = self.shape.kind(fields)
        facts: Facts = {} if act is None else {"act": act}
        unread: dict[str, Any] = {}
        names, wire = self.names, self.wire
        for path, fact, read in self._plan(kind).read:
            if (value := fields.get(path)) is not None and fact not in facts:
                found = value if read is _text and type(value) is str else read(value, names, wire)
                if found is not ABSENT:
                    facts[fact] = found
                elif value not in _NOTHING:
                    unread.setdefault(fact, value)
        facts |= self.shape.facts(fields, kind, names)
        if unread:
            unread = {fact: value for fact, value in unread.items() if fact not in facts}
        return {**facts, UNREAD: unread} if unread else facts

    def draft(self, facts: Facts, supply: bool = True) -> tuple[Fields, list[Path]]:
        """The fields of a message, and in order the paths that it lacks. The context gives what the facts do not say,
        and nothing else; without ``supply`` it is not asked."""
        act, wire = facts["act"], self.wire
        form = self.kinds.get(act)
        if form is not None and form.status is not None:
            facts = {**facts, "status": form.status}
        kind, fixed = self.shape.begin(act, facts)
        names = self.names if supply else self.names.plain
        fields, needed = dict(fixed), []
        unread = facts.get(UNREAD, _NONE)
        for path, fact, write, values, must, supplied in self._steps(kind, facts, supply):
            if path in fields:
                continue
            if fact in facts:
                value = facts[fact]
                if values is not None and (found := values.get(as_key(value), ABSENT)) is not ABSENT:
                    value = found
                elif write is not _text or type(value) is not str:
                    value = write(value, names, wire)
            elif fact in unread:
                value = ABSENT if values is None else values.get(as_key(unread[fact]), ABSENT)
            elif supply and supplied is not None and (fact != "status" or act not in GRAVE):
                # What a grave act does says how far the work is: no default may say something else.
                value = supplied()
            else:
                value = ABSENT
            if value is not ABSENT:
                fields[path] = value
            elif must:
                needed.append(path)
        needed += self.shape.finish(fields, facts, names)
        return fields, [path for path in needed if path not in fields]

    def survivors(self, facts: Facts) -> Fields:
        """The fields that the facts alone give, as far as they reach; nothing is asked of the caller."""
        return self.draft(facts, supply=False)[0] if self.knows(facts) else {}

    def lost(self, fields: Fields, said: Facts, all: bool = True) -> tuple[str, ...]:
        """The fields that are lost or changed in converting back from the facts that a message says; of several, where
        not all are wanted, one is enough."""
        shape = self.shape
        unseen = shape.unseen
        if not all and shape.finishes is not None and self.knows(said):
            kind, fixed = shape.begin(said["act"], said)
            facts, unread = self._plan(kind).facts, said.get(UNREAD, _NONE)
            for path in fields:
                fact = facts.get(path)
                if fact and (fact in said or fact in unread or fact == "status"):
                    continue  # it may come back
                if not (path in fixed or path in unseen or path in shape.finishes):
                    return (shown(path),)
        lost = differing(fields, self.survivors(said))
        return tuple([shown(path) for path in lost if path not in unseen])

    def whole(self, facts: Facts) -> Fields:
        """The fields of a whole message. Raises ConvertError(missing_field) with all that is missing."""
        fields, needed = self.draft(facts)
        if not needed:
            return fields
        kind = self.shape.begin(facts["act"], facts)[0]
        said = self._plan(kind).facts
        facts = facts.get(UNREAD, {}) | facts
        known = {shown(path): facts[said[path]] for path in needed if said.get(path) in facts}
        paths = [shown(path) for path in needed]
        absent = [path for path in paths if path not in known]
        told = [f"neither the message nor the context has {', '.join(absent)}"] if absent else []
        told += [f"{path} cannot express {_excerpt(value)} unless the context maps it" for path, value in known.items()]
        text = "; ".join(told)
        raise ConvertError(Reason.MISSING_FIELD, text, wire=self.wire, path=paths[0], missing=paths, known=known)

    def task_form(self, facts: Facts) -> Pair | None:
        """The form in which a message with these facts writes the task that it must name; None if it need not, or is
        numbered by itself."""
        if not self.knows(facts):
            return None
        return self._plan(self.shape.begin(facts["act"], facts)[0]).task


def differing(fields: Fields, others: Fields) -> list[Path]:
    """The paths whose value the others do not have."""
    return [
        path
        for path, value in fields.items()
        if (other := others.get(path, ABSENT)) is not value
        and not (type(other) is type(value) is str and other == value)
        and (other is ABSENT or not same(other, value))
    ]


def mapper(wire: str, names: Names) -> Mapper:
    """The mapper of a wire. Raises UnknownName for one that does not say what its fields mean."""
    described = registry.wire(wire)
    found: Mapper | None = names.mappers.get(wire)
    if found is None or found.described is not described:
        found = names.mappers[wire] = Mapper(described, names)
    return found


def is_known(facts: Facts, fact: str) -> bool:
    """True if the source says something of a fact, in words of the common model or others."""
    return fact in facts or fact in facts.get(UNREAD, ())


def meaning(facts: Facts) -> tuple[str | None, str | None]:
    """The act of a message, and of a report also how the work stands. A report of failure is an error; a request is
    neither for finished work nor for work of unknown status."""
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


_SHAPES = 1000
"""Sets of facts whose steps are remembered."""
_SHOWN = 60
"""Characters of a value that an error shows."""


def _excerpt(value: Any) -> str:
    text = repr(value if isinstance(value, (str, int)) else json_text.write(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
