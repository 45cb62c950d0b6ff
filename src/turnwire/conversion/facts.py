"""Fields as facts of the common model, and facts as fields, each in the form that the tables name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection
from functools import cached_property, lru_cache
from itertools import count
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import registry
from turnwire.contract import Wire
from turnwire.conversion.context import LARGEST, Names, as_key
from turnwire.conversion.shapes import ABSENT, Facts, Fields, Path, parsed, same, shape_of, shown
from turnwire.conversion.tables import ACTS, ASKING, GRAVE, OPEN_STATUS, PRIORITIES, READ_STATUS, REPORTING, STATUSES
from turnwire.errors import ConvertError, Reason, WireError
from turnwire.json import text as json_text
from turnwire.json.times import is_timestamp
from turnwire.kick.rules import is_uuid4
from turnwire.nslip.spec import SHORT_STRING
from turnwire.sap.spec import UUID, read_time, write_time
from turnwire.sstp.spec import PLACEHOLDERS

if TYPE_CHECKING:
    from turnwire.conversion.tables import Place

Function = Callable[[Any, Names, str], Any]
"""(value, names, wire) -> value, or ABSENT: a fact that has no exact form there, a value without a meaning."""


class Pair(NamedTuple):
    """write: fact -> value of the field; read: value of the field -> fact. fits: true for the texts that are written as
    they are, where nothing else is written; None for other forms."""

    write: Function
    read: Function
    fits: Callable[[str], Any] | None = None


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
    return Pair(lambda value, names, wire: value if isinstance(value, str) and fits(value) else ABSENT, _text, fits)


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
        if found is ABSENT and mapping == "ids" and (counted := _COUNTED.fullmatch(value)) is not None:
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


def _uuid(fits: Callable[[str], Any]) -> Pair:
    def write(value: Any, names: Names, wire: str) -> Any:
        if not isinstance(value, str):
            return ABSENT
        found = names.mapped("uuids", value)
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
    return value[0] if _list(value, names, wire) is value and len(value) == 1 else ABSENT


def _object(text: str, other: Any) -> Any:
    """The JSON object that ``text`` is the one way to write, or something else."""
    if not text.startswith("{"):
        return other
    try:
        value = json_text.read_object(text, "")
        return value if json_text.write(value) == text else other
    except WireError:
        return other


def _json(value: Any, names: Names, wire: str) -> Any:
    return value if isinstance(value, str) else json_text.write(value) if isinstance(value, dict) else ABSENT


def _payload(value: Any, names: Names, wire: str) -> Any:
    only = isinstance(value, dict) and len(value) == 1 and isinstance(value.get("text"), str)
    return value["text"] if only else ABSENT if isinstance(value, str) else _json(value, names, wire)


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
        lambda value, names, wire: names.mapped("roles", value), lambda value, names, wire: names.name("roles", value)
    ),
    "status": _words("status", STATUSES, OPEN_STATUS, READ_STATUS),
    "priority": _words("priority", PRIORITIES, frozenset(), frozenset()),
    "texts": Pair(_list, _list),
    "only_one": Pair(lambda value, names, wire: [value] if _filled(value) else ABSENT, _only),
    "payload": Pair(lambda value, names, wire: _object(value, {"text": value}), _payload),
    "json": Pair(lambda value, names, wire: _object(value, value), _json),
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


def _missed(facts: Facts, fact: str, value: Any) -> None:
    """A field has a value without a meaning."""
    if value not in _NOTHING:
        facts.setdefault(UNREAD, {})[fact] = value


_FUNCTIONS = """
def read(fields):
 get, facts = fields.get, {{}}{read}
 return facts
def make(facts, fields, needed):
 get, unread = facts.get, facts.get(UNREAD, NONE){make}
"""
_READ = """
 value = get(path{n})
 if value is not None:
  if {reads}: facts[{fact!r}] = value
  else: missed(facts, {fact!r}, {said})"""
"""The function that reads a place. The last place comes first: of several that say one fact, the first is heard."""
_WRITE = """
 value = get({fact!r})
 if value is not None:
  if {writes}: fields[path{n}] = value
  else: {lacks}
 elif {fact!r} in unread:
  if (value := values{n}.get(as_key(unread[{fact!r}]), ABSENT)) is not ABSENT: fields[path{n}] = value
  else: {lacks}
 elif {given}: {gives}
 else: {lacks}"""
"""The function that writes a fact: by the caller's values for it or its form, or by these values for what stands for it
in the source; else what the context gives."""


class _Code:
    """The functions of one kind of message, made from its places as source text, so that each place costs only what
    its form and its context ask for.

    read(fields) -> facts. make(facts, fields, needed) writes the fields of a message, with what the context gives, and
    lists the paths that it lacks. facts: path -> fact of what is written. task: the form of the task that the message
    must name, if it has one.
    """

    read: Callable[[Fields], Facts]
    make: Callable[[Facts, Fields, list[Path]], None]

    def __init__(self, mapper: Mapper, kind: str) -> None:
        names, shape, values = mapper.names, mapper.shape, mapper.names.context.values.get(mapper.wire, _NONE)
        places, known = tuple(shape.places[kind]), {"names": names, "wire": mapper.wire}
        (forms, self.facts), gives = _forms(places), []
        self.task: Pair | None = None
        for n, place in enumerate(places):
            known[f"values{n}"] = mapped = values.get(place.path, _NONE)
            fresh = (kind, forms[f"path{n}"]) in shape.fresh
            known[f"given{n}"], asked = given = mapper.supply(kind, place.path, place.form in _TIMES, fresh)
            gives.append((bool(mapped), given[0] is not ABSENT, asked))
            must = place.fact == "task" and place.need == "must" and self.task is None
            if must and f"{kind}:{place.path}" not in shape.numbered:
                self.task = FORMS[place.form]
        exec(_compiled(places, tuple(gives)), forms | known, vars(self))


@lru_cache(256)
def _forms(places: tuple[Place, ...]) -> tuple[dict[str, Any], dict[Path, str]]:
    """The values that the functions of these places use, by name; and path -> fact of those that are written."""
    used: dict[str, Any] = {"ABSENT": ABSENT, "GRAVE": GRAVE, "UNREAD": UNREAD, "as_key": as_key, "missed": _missed}
    used["NONE"], facts = _NONE, {}
    for n, place in enumerate(places):
        used[f"path{n}"] = path = parsed(place.path)
        used |= {f"{name}{n}": function for name, function in FORMS[place.form]._asdict().items()}
        if place.need != "read":
            facts[path] = "" if place.form == "content" else place.fact
    return used, facts


@lru_cache(256)
def _compiled(places: tuple[Place, ...], given: tuple[tuple[bool, bool, bool], ...]) -> CodeType:
    """The code of these places. given: of each, whether the caller has values for it, whether the context gives it,
    and whether by a function."""
    read = make = ""
    for n, (place, (mapped, gives, asked)) in enumerate(zip(places, given, strict=True)):
        form, fact, must = FORMS[place.form], place.fact, place.need == "must"
        if place.form == "content":
            fact, must = "", False
        if fact and form.read is _text:
            read = _READ.format(n=n, fact=fact, reads="isinstance(value, str)", said="value") + read
        elif fact:
            reads = f"(value := read{n}(said := value, names, wire)) is not ABSENT"
            read = _READ.format(n=n, fact=fact, reads=reads, said="said") + read
        if place.need == "read":
            continue
        lacks = f"needed.append(path{n})" if must else "pass"
        give = f"fields[path{n}] = given{n}{'()' * asked}" if gives else lacks
        if not fact:
            make += f"\n {give}"
            continue
        writes = f"(value := write{n}({'said' if mapped else 'value'}, names, wire)) is not ABSENT"
        if mapped:
            writes = f"(value := values{n}.get(as_key(said := value), ABSENT)) is not ABSENT or {writes}"
        elif form.fits is not None:
            writes = "isinstance(value, str)" if form.fits is _any else f"isinstance(value, str) and fits{n}(value)"
        # What a grave act does says how far the work is: no default may say something else.
        told = "get('act') not in GRAVE" if fact == "status" else "True"
        make += _WRITE.format(n=n, fact=fact, writes=writes, lacks=lacks, given=told, gives=give)
    return compile(_FUNCTIONS.format(read=read, make=make), "<conversion>", "exec")


class Mapper(dict[str, _Code]):
    """One wire, with the names of a context: the facts of its fields, and the fields of facts; kind -> its code."""

    def __init__(self, wire: Wire, names: Names) -> None:
        self.described = wire
        self.wire = wire.name
        self.names = names
        self.shape = shape_of(wire.name)
        self.kinds = {act: row[self.wire] for act, row in ACTS.items() if self.wire in row}
        """Act -> the wire's own kind for it, or the nearest one. Wires that stand in no table choose themselves."""
        self.acts: Collection[str] = self.kinds or ACTS
        """The acts for which the wire has a kind, its own or a near one."""
        self.named_kinds = sorted({form.kind for form in self.kinds.values() if form.own})
        self.progress = frozenset[str]().union(*(rule.progress for rule in (wire.pairs.rules if wire.pairs else ())))
        """The kinds of answers that only report progress."""
        self._numbers: defaultdict[str, count[int]] = defaultdict(lambda: count(1))  # of ids, by their letters

    def __missing__(self, kind: str) -> _Code:
        code = self[kind] = _Code(self, kind)
        return code

    def supply(self, kind: str, path: str, timed: bool, fresh: bool) -> tuple[Any, bool]:
        """The code that gives a field of which the source says nothing, by the context, and whether it is a function
        that is asked; ABSENT if nothing does."""
        if not self.names.gives:
            return ABSENT, False
        context, given = self.names.context, self.names.unasked(self.wire, kind, path)
        if given is ABSENT and self.names.room and (letter := self.shape.numbered.get(f"{kind}:{path}")) is not None:
            numbers = self._numbers[letter]
            return (lambda: f"{letter}{next(numbers)}"), True
        if given is ABSENT:
            made = context.now if timed else context.new_id if fresh else None
            given = ABSENT if made is None else made
        return given, callable(given)

    def facts(self, fields: Fields) -> Facts:
        """The facts that the fields of a message say."""
        act, kind = self.shape.kind(fields)
        facts = self[kind].read(fields)
        if act is not None:
            facts["act"] = act
        if more := self.shape.facts(fields, kind, self.names):
            facts |= more
        if UNREAD in facts:
            unread = {fact: value for fact, value in facts.pop(UNREAD).items() if fact not in facts}
            if unread:
                facts[UNREAD] = unread
        return facts

    @cached_property
    def alone(self) -> Mapper:
        """The same wire by the facts alone: nothing is asked of the caller, and no name is given an id."""
        return mapper(self.wire, self.names.plain)

    def _written(self, facts: Facts) -> tuple[Fields, list[Path], str]:
        """The fields of a message, in order the paths that it lacks, and its kind."""
        form = self.kinds.get(facts["act"])
        if form is not None and form.status is not None:
            facts = {**facts, "status": form.status}
        kind, fixed = self.shape.begin(facts["act"], facts)
        code, fields, needed = self[kind], dict(fixed), list[Path]()
        code.make(facts, fields, needed)
        fields |= fixed
        needed += self.shape.finish(fields, facts, self.names)
        return fields, needed and [path for path in needed if path not in fields], kind

    def survivors(self, facts: Facts) -> Fields:
        """The fields that the facts alone give, as far as they reach; nothing is asked of the caller."""
        return self.alone._written(facts)[0] if facts.get("act") in self.acts else {}

    def lost(self, fields: Fields, said: Facts, all: bool = True) -> tuple[str, ...]:
        """The fields that are lost or changed in converting back from the facts that a message says; of several, where
        not all are wanted, one is enough."""
        shape = self.shape
        unseen = shape.unseen
        if not all and shape.finishes is not None and said.get("act") in self.acts:
            kind, fixed = shape.begin(said["act"], said)
            facts, unread = self[kind].facts, said.get(UNREAD, _NONE)
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
        fields, needed, kind = self._written(facts)
        if not needed:
            return fields
        said = self[kind].facts
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
        act: Any = facts.get("act")
        return self[self.shape.begin(act, facts)[0]].task if act in self.acts else None

    def near(self, made: Fields, facts: Facts, said: Facts) -> str | None:
        """The kind of a message that means something else than the facts say, or None if it means the same. said: the
        facts that the message says."""
        shape = self.shape
        if not self.kinds and shape.begin(facts["act"], facts) == ("", {}):  # it does not state its act, only loses it
            return None if facts["act"] not in GRAVE else shape.kind_name(made)
        near = shape.near(made)
        if near is not None:
            return near
        if said.get("act") == facts["act"] and said.get("status") == facts.get("status") and UNREAD not in facts | said:
            return None
        meant = meaning(facts)
        alike = meaning(said) == meant
        if not alike and "status" not in facts:  # where there is one, the context gave it
            alike = meaning({fact: value for fact, value in said.items() if fact != "status"}) == meant
        return None if alike else shape.kind_name(made)


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


def _excerpt(value: Any) -> str:
    text = repr(value if isinstance(value, (str, int)) else json_text.write(value))
    return text if len(text) <= 60 else f"{text[:60]}…"
