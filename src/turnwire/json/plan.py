"""Plans: data by which the search of logs finds and reads the messages of a JSON wire.

This module does not depend on any protocol. A wire's ``bulk`` module makes a :class:`WirePlan` from the tables of its
``spec``; ``_native/json/plan.pxi`` compiles the plans of one search together, and the twin reads them as they are.

Paths name values:

- ``header/kind``: a member of a member.
- ``artifacts/*/type``: a member of the objects in an array; the last one that is there.
- ``usage/{}/tokens``: a member of the values of an object, whatever their keys; the last one that is there.
- ``attributes/[a.b]/text``: in an array of objects ``{"key": ..., "value": ...}``, the member ``text`` of the ``value``
  whose ``key`` is "a.b". The key has to come before such a member.
- ``actors/[role=sender:id]``: in an array of objects, the ``id`` of the last whose ``role`` is "sender"; of an array,
  one member by one other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from turnwire.contract import LIMITS, Column, Limits
from turnwire.errors import DecodeError, Reason

KINDS = {
    name: 1 << bit
    for bit, name in enumerate(
        [
            "string",
            "object",
            "array",
            "boolean",
            "null",
            "count",
            "negative",
            "fraction",
            "texts",
            "records",
            "numbers",
            "good",
            "",  # which says more of a number
            "empty",
        ]
    )
}
"""The types of a value, as the bits of json/parse.h. count and negative: an integer without and with a minus; texts: an
array of strings only; records: an array of objects only whose known members are strings; numbers: an object of numbers
only; good: a string of the form that its :class:`Value` names; empty: an object without members."""

FORMS = ("", "uuid", "time", "word", "channel")
FILLS = (
    *("", "text", "word", "integer", "number", "time", "count", "sections", "constant", "family", "digits"),
    *("epoch", "truth", "present", "numeral", "times", "sum", "between", "item", "seconds"),
    *("lower", "section", "standing"),
)
FILLS_OF = {
    "text": ("text", "family", "digits", "item", "lower", "section"),
    "enum": ("word", "constant", "present"),
    "u8": ("word", "constant", "present", "standing"),
    "bool": ("word", "constant", "truth", "present"),
    "i64": ("integer", "numeral", "count", "sections", "times", "sum", "between", "seconds"),
    "f64": ("number",),
    "timestamp": ("time", "epoch"),
}
"""Types that fill a column of each kind. The native core writes into memory by it, so nothing else is let through."""
CHOICES = ("only", "word", "marks")
TIME_COLUMN = 64
"""The number of the column ``time`` in a compiled plan: it has the head of the line to fall back on."""
NO_NODE = 0xFFFF
MOST_VALUES = 1024
"""The values that the plans of one search may name, as TW_MOST_NODES of json/parse.h."""
NO_NUMBER = 0xFF
"""Among the ``numbers`` of a fill: the word fills nothing."""


class Value(NamedTuple):
    """A value that the plan reads. form: "" or the required form of a string: "uuid", "time", "word" (one of
    ``words``) or "channel". text: in ``items/*/name``, whether it must be a string for the array to be "records".
    every: whether all values at this path are counted and added up, and the first string is read, not the last one."""

    path: str
    form: str = ""
    words: tuple[str, ...] = ()
    text: bool = False
    every: bool = False


class Need(NamedTuple):
    """A requirement: the value is one of ``kinds``, names of ``KINDS`` (and of ``words``, if given), or missing unless
    ``needed``; it applies only if the surrounding object is present.

    With ``WirePlan.claimed``, the reasons of ``decode`` (None: only ``decode`` knows): ``missing``; ``wrong``: of
    another kind; ``bad``: a string that is not "good" or none of ``words``, or a negative integer instead of a "count".
    instead: if the value is missing and an object is at this path, the reason is ``look_alike`` there.
    """

    path: str
    kinds: tuple[str, ...]
    needed: bool = False
    words: tuple[str, ...] = ()
    missing: Reason | None = Reason.MISSING_FIELD
    wrong: Reason | None = Reason.WRONG_TYPE
    bad: Reason | None = Reason.WRONG_TYPE
    instead: str = ""


class Fill(NamedTuple):
    """The source of a column: ``path``, or ``other`` if that is absent. how: one of ``FILLS``, and of those that
    ``FILLS_OF`` allows for the kind of the column; "constant" is the number ``constant``, which is also added to the
    number of a word; "present" is that number where a value but null is; "truth" is that of a boolean, or of an integer
    whose first digit is above ``constant``; "digits" is an integer as text, "numeral" such a text as an integer;
    "epoch" is a time as a number since 1970, seconds to nanoseconds by its size; "times" is how many values there are
    at the paths of all such fills, "sum" adds up integers (both of a Value with ``every``); "between" are the
    milliseconds from the time at ``other`` to that at ``path``, "seconds" those of a number of seconds; "item" is the
    string with which an array begins. A number that is no integer of 64 bits gives none: the column has no value, and
    its array holds -1. The compiled core alone fills the columns of ``contract.WORK``: "lower" is a text in small
    letters, marked as one with escapes where the wire must say it; "section" the place with which content of KickLang
    at ``other`` begins, "standing" what it and the channel at ``path`` say of the task.
    numbers: the number of each word at ``path``, if it is not its place among them plus ``constant``; ``NO_NUMBER``:
    none."""

    column: str
    how: str
    path: str = ""
    other: str = ""
    constant: int = 0
    numbers: tuple[int, ...] = ()


class Variant(NamedTuple):
    """One kind of message: the requirements that identify it, and the sources of its columns."""

    name: str
    needs: tuple[Need, ...]
    fills: tuple[Fill, ...]


class Sign(NamedTuple):
    """A sign by which damaged bytes, or an object, show of which wire they were: ``least`` of these keys are in them.

    In bytes, keys are in quotes. values: instead, one of the keys has a string that begins with one of these, as
    written; a closing quote at the end asks for the whole string. cased: whether capital letters of ASCII differ from
    small ones there.

    In an object, keys are paths, of which ``most`` are there at most, and ``others`` further members at most (255: any
    number). With ``values``, only strings count that begin so, and for the value "{" objects, for "{}" empty ones, for
    "" any value but null.
    """

    keys: tuple[str, ...]
    least: int = 1
    values: tuple[str, ...] = ()
    cased: bool = True
    most: int = 255
    others: int = 255

    def stands_in(self, raw: bytes) -> bool:
        """True if the bytes contain the sign."""
        if self.values:
            return _value_pattern(self).search(raw) is not None
        return sum(f'"{key}"'.encode() in raw for key in self.keys) >= self.least

    def is_in(self, fields: dict[str, Any]) -> bool:
        """True if an object has the sign."""
        found = [value for path in self.keys if (value := value_at(fields, path)) is not MISSING]
        count = sum(map(self._begins, found)) if self.values else len(found)
        return self.least <= count <= self.most and (self.others == 255 or len(fields) - count <= self.others)

    def _begins(self, value: Any) -> bool:
        if "" in self.values:
            return value is not None
        if not isinstance(value, str) or self.values[0][0] == "{":
            return isinstance(value, dict) and ("{" in self.values or (not value and "{}" in self.values))
        text, values = value.encode("utf-8", "surrogatepass"), [value.encode() for value in self.values]
        if not self.cased:
            text, values = text.lower(), [value.lower() for value in values]
        return text + b'"' in values or text.startswith(tuple(value for value in values if value[-1:] != b'"'))


Signs = tuple[tuple[Sign, ...], ...]
"""Alternatives: signs that are all there."""


@lru_cache(maxsize=64)
def _value_pattern(sign: Sign) -> re.Pattern[bytes]:
    keys, values = (b"|".join(re.escape(text.encode()) for text in texts) for texts in (sign.keys, sign.values))
    space = rb"[ \t\r\n]*"
    return re.compile(rb'"(?:%s)"%s:%s"(?%s:%s)' % (keys, space, space, b"" if sign.cased else b"i", values))


MISSING: Any = object()
"""Stands for a value that is not there."""


def value_at(fields: Any, path: str) -> Any:
    """The value at a path of an object: of the items or members that "*" or "{}" stands for the last that has one;
    ``MISSING`` where none is there."""
    steps = path.split("/")
    for place, step in enumerate(steps):
        if step in ("*", "{}"):
            several, rest = isinstance(fields, list if step == "*" else dict), "/".join(steps[place + 1 :])
            items = reversed(fields if step == "*" else fields.values()) if several else ()
            found = ((value_at(item, rest) if rest else item) for item in items)
            return next((one for one in found if one is not MISSING), MISSING)
        if not isinstance(fields, dict) or step not in fields:
            return MISSING
        fields = fields[step]
    return fields


class WirePlan(NamedTuple):
    """The description of a JSON wire for the search.

    Messages:

    - values: the relevant values. variants: the kinds of messages.
    - choose: how the variant of an object is found. "only": there is one. "word": its number is that of the word at
      ``word``. "marks": it is the one of the first two of whose ``marks`` more are there; but if ``receipt`` is there
      and ``task`` is not, it is the fourth where the word at ``status`` is ``nack``, else the third.
    - doubts: pairs of paths; an object that has both of a pair is left to ``decode``.
    - detect, decode: as in ``turnwire.contract.Wire``; ``decode`` accepts ``limits=``.
    - code: the number of the wire in the column "wire" of a scan of several wires.

    Objects that can be skipped:

    - clues: alternative sets of paths; an object is checked only if it has all paths of one set, and more than null
      at the last one if it is among ``valued``.
    - inside: keys; bytes with none of these in quotes contain no message. torn: keys; damaged bytes with none of these
      in quotes were no message, unless no plan of the search has some.

    Damage:

    - claimed: alternatives; a valid object that is not a message, but has all signs of one of them, is a damaged
      message. None: only ``claims`` knows, (members of such an object) -> whether it is one.
    - signs: alternatives; damaged bytes with all signs of one of them were a message. None: only ``marked`` knows.
    - marked: (damaged bytes) -> whether they were a message although ``signs`` do not say so; None: never. doubt:
      alternatives; without one of these ``marked`` is not asked.
    - schemas: whether ``decode`` recognises a JSON Schema, in which each text of a message is an object.

    With ``claimed``, a wire promises:

    - ``decode`` rejects an object with the reason of the first need of its variant, in their order, that is not met. If
      something is missing, the fault is at the object around it; in arrays of texts and records and objects of numbers,
      at the first invalid item or member, of records at the first in the order of ``values``. If ``choose`` is "marks"
      and there are none, the reason is ``unknown_kind``. Only times that may be of RFC 3339 (section 5.6), and
      channels, may be accepted nevertheless.
    - ``detect`` accepts everything that ``decode`` accepts.
    - For text that is not JSON, ``decode`` raises the error of ``turnwire.json.text.read_object``.
    """

    wire: str
    values: tuple[Value, ...]
    variants: tuple[Variant, ...]
    choose: str
    detect: Callable[[bytes], bool]
    decode: Callable[..., Any]
    clues: tuple[tuple[str, ...], ...]
    inside: tuple[str, ...]
    torn: tuple[str, ...]
    valued: tuple[str, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()
    word: str = ""
    marks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    receipt: str = ""
    task: str = ""
    status: str = ""
    nack: str = ""
    code: int = 0
    claims: Callable[[dict[str, Any]], bool] = lambda fields: False
    claimed: Signs | None = None
    signs: Signs | None = None
    doubt: Signs = ()
    schemas: bool = False
    marked: Callable[[bytes], object] | None = None

    def is_marked(self, raw: bytes) -> bool:
        """True if damaged bytes were a message."""
        signed = any(all(sign.stands_in(raw) for sign in every) for every in self.signs or ())
        return signed or (self.marked is not None and bool(self.marked(raw)))

    def is_claimed(self, fields: dict[str, Any]) -> bool:
        """True if an object that is no message is a damaged one."""
        if self.claimed is None:
            return self.claims(fields)
        return any(all(sign.is_in(fields) for sign in every) for every in self.claimed)

    def may_be(self, values: Mapping[str, Any]) -> bool:
        """True if an object is worth a closer look, by its values at each path."""
        return any(all(map(values.__contains__, clue)) for clue in self.clues)


RECORD, REJECT, OTHER = 0, 1, 2


@lru_cache(maxsize=8)
def _codes(reasons: tuple[Reason | None, ...]) -> Mapping[Reason | None, int]:
    """The code of each reason: mostly those of one list, whatever is judged."""
    return {reason: code for code, reason in enumerate(reasons)}


class Classifier:
    """Decides by the wires' own rules on objects that the fast path leaves; the same object serves both twins.

    Args:
        plans: the wires, in the order in which they are asked.
        reasons: the reason of each code; one that is missing is an AssertionError.
        reader: the JSON reader (``turnwire.json.text.reader``).
        limit: bytes of one message.
    """

    def __init__(self, plans: Sequence[WirePlan], reasons: Sequence[Reason | None], reader: Any, limit: int) -> None:
        self.plans = plans
        self._reasons = reasons
        self.reader = reader
        self.limits: Limits = LIMITS if limit == LIMITS.message else LIMITS._replace(message=limit)

    @cached_property
    def codes(self) -> Mapping[Reason | None, int]:
        """The code of each reason; looked up when it is first needed, since most calls need none."""
        return _codes(tuple(self._reasons))

    def whole(
        self,
        raw: bytes,
        fields: dict[str, Any] | None = None,
        places: Iterable[int] | None = None,
        good: Callable[[int], bool] = lambda place: False,
    ) -> tuple[int, int, int, int]:
        """(verdict, wire, reason code, fault) of a valid JSON object: a record of the first wire that detects and
        decodes it, else a reject of the first that claims it (with the error of its ``decode``), else OTHER. fields:
        the parsed object; places: the numbers of the wires whose it may be; good: whether it surely is one of such a
        wire that detects it."""
        claim = (OTHER, 0, 0, 0)
        for place in range(len(self.plans)) if places is None else places:
            plan, fault = self.plans[place], None
            if plan.detect(raw):
                fault = None if good(place) else self._fault(plan, raw)
                if fault is None:
                    return RECORD, place, 0, 0
            if claim[0] != OTHER:
                continue
            fields = self.reader.read(raw, self.limits) if fields is None else fields
            if not plan.is_claimed(fields):
                continue
            fault = self._fault(plan, raw) if fault is None else fault
            if fault is not None:
                claim = (REJECT, place, self.codes[fault.reason], fault.offset or 0)
        return claim

    def torn(self, raw: bytes, too_large: bool) -> tuple[int, int, int, int]:
        """The same for damaged bytes: a reject of the first wire whose marks they carry, or OTHER. ``too_large``: what
        starts here is longer than the limit."""
        found = (self.torn_of(place, raw, too_large) for place in range(len(self.plans)))
        return next((one for one in found if one[0] != OTHER), (OTHER, 0, 0, 0))

    def torn_of(self, place: int, raw: bytes, too_large: bool) -> tuple[int, int, int, int]:
        """The same of one wire."""
        plan = self.plans[place]
        if not plan.is_marked(raw):
            return OTHER, 0, 0, 0
        if too_large:
            return REJECT, place, self.codes[Reason.MESSAGE_TOO_LARGE], self.limits.message
        fault = self._fault(plan, raw)
        return (OTHER, 0, 0, 0) if fault is None else (REJECT, place, self.codes[fault.reason], fault.offset or 0)

    def _fault(self, plan: WirePlan, raw: bytes) -> DecodeError | None:
        try:
            plan.decode(raw, limits=self.limits)
        except DecodeError as error:
            return error
        return None


class FlatPlan(NamedTuple):
    """Plans as numbers, as ``_native/json/plan.pxi`` copies them into the structs of json/plan.h."""

    nodes: Sequence[tuple[int, ...]]  # table, items, form, text, first word, words, node of the first key, is a key
    tables: list[list[tuple[bytes, int]]]  # (key, node) in the order of their bits
    words: list[bytes]
    needs: list[tuple[Any, ...]]  # node, parent, kinds, needed, mask of words, instead, reasons: missing, wrong, bad
    variants: list[tuple[int, int, int, int]]  # first need, needs, first fill, fills
    fills: list[tuple[int, int, int, int, int, bytes]]  # column, node, other, how, constant, numbers
    wires: list[dict[str, Any]]
    inside: list[bytes]
    torn: list[bytes]
    claims: list[tuple[Any, ...]]  # nodes, values, least, most, others, cased, whether the last of an alternative


def flat_signs(plans: Sequence[WirePlan]) -> tuple[Any, ...]:
    """The signs of damaged bytes of several wires as numbers, for the structs of json/torn.h: the keys, each with its
    values and whether they are cased; the signs, each with the numbers of its keys, or behind those of its values, with
    ``least`` and whether it is the last of an alternative; by wire where its signs end and those by which Python is
    asked; the keys of ``torn``."""
    asked: Signs = ((Sign((), 0),),)  # of a wire whose signs are not all: always
    own = [
        (plan.signs, plan.doubt) if plan.claimed is not None and plan.signs is not None else ((), asked)
        for plan in plans
    ]
    every = [(sign, sign is group[-1]) for both in own for signs in both for group in signs for sign in group]
    keys: dict[str, dict[tuple[str, bool], None]] = {}
    for sign in (*(sign for sign, _ in every), *(Sign(plan.torn) for plan in plans)):
        for key in sign.keys:
            keys.setdefault(key, {}).update(((value, sign.cased), None) for value in sign.values)
    names: list[Any] = [*keys, *((key, *value) for key, values in keys.items() for value in values)]
    numbers = {name: number for number, name in enumerate(names)}
    found = []
    for sign, last in every:
        told: Any = [(key, value, sign.cased) for key in sign.keys for value in sign.values] or sign.keys
        found.append(([numbers[name] for name in told], 1 if sign.values else sign.least, last))
    counts = accumulate(sum(map(len, signs)) for both in own for signs in both)
    texts = [(f'"{key}"'.encode(), [(value.encode(), cased) for value, cased in keys[key]]) for key in keys]
    return texts, found, list(zip(counts, counts, strict=True)), [numbers[key] for plan in plans for key in plan.torn]


def check_plans(plans: Iterable[WirePlan], columns: Iterable[Column]) -> None:
    """Raises ValueError if a fill does not fit its column (another kind of value, or no name for a number), or a plan
    lacks a variant that it may choose, or a value or a type that one of them names."""
    there = {column.name: column for column in columns}
    for plan in plans:
        least = 1 if plan.choose != "marks" else 4 if plan.receipt else 2
        if len(plan.variants) < least:
            raise ValueError(f"{plan.wire}: choose={plan.choose!r} needs {least} variants, not {len(plan.variants)}")
        words = {value.path: len(value.words) for value in plan.values}
        for variant in plan.variants:
            paths = {need.path for need in variant.needs}.union(*((one.path, one.other) for one in variant.fills))
            kinds = {kind for need in variant.needs for kind in need.kinds}
            for what, given, known in (("path of its values", paths - {""}, words), ("type", kinds, KINDS)):
                if unknown := given - known.keys():
                    text = f"{min(unknown)!r} is no {what}; there are {', '.join(filter(None, known))}"
                    raise ValueError(f"{plan.wire}: {text}")
        for fill in (fill for variant in plan.variants for fill in variant.fills if fill.column in there):
            column = there[fill.column]
            fitting = FILLS_OF.get(column.kind, ())
            if fill.how not in fitting:
                can = f"allowed are {', '.join(fitting)}" if fitting else "nothing can"
                what = f"{fill.how!r} of {fill.path!r} cannot fill the column {column.name} of kind {column.kind}"
                raise ValueError(f"{plan.wire}: {what}; {can}")
            count = max(words.get(fill.path, 0), words.get(fill.other, 0)) if fill.how == "word" else 0
            if fill.numbers and (fill.how != "word" or len(fill.numbers) < count):
                raise ValueError(
                    f"{plan.wire}: the column {column.name} has {len(fill.numbers)} numbers of {count} words"
                )
            numbers = [number for number in fill.numbers if number != NO_NUMBER]
            most = max(numbers, default=0) + 1 if fill.numbers else fill.constant + max(count, 1)
            if column.kind == "enum" and most > len(column.names):
                raise ValueError(f"{plan.wire}: the column {column.name} has {len(column.names)} names, not {most}")


def flat(plans: Sequence[WirePlan], columns: Sequence[Column]) -> FlatPlan:
    """Plans for the given columns, by number. Raises ValueError if two plans have different requirements for one value
    or a fill does not fit its column."""
    check_plans(plans, columns)
    values = _values(plans)
    keyed, keys = _keyed(values)
    numbers = {path: number for number, path in enumerate(values)}
    parents = {"": 0}
    for path in values:
        parents.setdefault(path.rpartition("/")[0], len(parents))
    tables: list[list[tuple[bytes, int]]] = [[] for _ in parents]
    words: list[bytes] = []
    nodes = []
    for path, value in values.items():
        if path.endswith("/*"):
            nodes.append((-1, -1, 0, 0, 0, 0, 0, 0, 0))
            continue
        if not path.rpartition("/")[2].startswith("["):
            tables[parents[path.rpartition("/")[0]]].append((path.rpartition("/")[2].encode(), numbers[path]))
        form = FORMS.index(value.form)
        place = (parents.get(path, -1), parents.get(f"{path}/*", -1))
        first = numbers[keyed[path][0]] if path in keyed else 0
        flags = int(path in keys), int(value.every)
        nodes.append((*place, form, int(value.text), len(words), len(value.words), first, *flags))
        words += [word.encode() for word in value.words]
    result = FlatPlan(nodes, tables, words, [], [], [], [], [], [], [])
    for plan in plans:
        first = len(result.claims)
        result.claims.extend(_claims(plan, numbers))
        own = {"first_claim": first, "claims": len(result.claims) - first}
        result.wires.append(_wire(plan, numbers, len(result.variants)) | own)
        for variant in plan.variants:
            _variant(variant, result, values, numbers, [column.name for column in columns])
        result.inside.extend(f'"{key}"'.encode() for key in plan.inside)
    result.torn.extend(dict.fromkeys(f'"{key}"'.encode() for plan in plans for key in plan.torn))
    if len(nodes) > MOST_VALUES:
        raise ValueError("these wires have too many values for one plan")
    return result


def _values(plans: Iterable[WirePlan]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for plan in plans:
        for value in plan.values:
            path = value.path
            while path := path.rpartition("/")[0]:
                values.setdefault(path, Value(path))
            known = values.get(value.path)
            if known is not None and known[1:] != value[1:] and known[1:] != Value("")[1:] != value[1:]:
                raise ValueError(f"two plans have different requirements for {value.path}")
            if known is None or known[1:] == Value("")[1:]:
                values[value.path] = value
    return values


def keyed_step(path: str) -> tuple[str, str, str] | None:
    """Of the first step in brackets of a path: the path of the member that is looked at, the word that it has to be,
    and the path of the value; None without such a step."""
    array, there, rest = path.partition("/[")
    key, equals, word = rest.partition("]")[0].rpartition("=")
    word, _, value = word.rpartition(":") if equals else (word, "", "value")
    return (f"{array}/*/{key or 'key'}", word, f"{array}/*/{value}") if there else None


def _keyed(values: dict[str, Value]) -> tuple[dict[str, list[str]], set[str]]:
    """The values that go by another member of their object, each with its paths in the order of the words of that
    member; and these members. These paths are put after all other values."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for path in values:
        if path.endswith("]") and (step := keyed_step(path)) is not None:
            found.setdefault(step[2], {}).setdefault(step[0], {})[step[1]] = path
    keyed: dict[str, list[str]] = {}
    for value, ways in found.items():
        ((key, paths),) = ways.items()
        array = value.rpartition("/*/")[0]
        keyed[value] = [paths.get(word, f"{array}/[{word}]") for word in values[key].words]
        for path in keyed[value]:
            values[path] = values.pop(path, Value(path))
    return keyed, {key for ways in found.values() for key in ways}


def _claims(plan: WirePlan, numbers: dict[str, int]) -> list[tuple[Any, ...]]:
    """The signs of one wire, alternative by alternative."""
    return [
        (
            [numbers[path] for path in sign.keys],
            [value.encode() for value in sign.values],
            *(sign.least, sign.most, sign.others, sign.cased),
            place == len(every) - 1,
        )
        for every in plan.claimed or ()
        for place, sign in enumerate(every)
    ]


def _wire(plan: WirePlan, numbers: dict[str, int], first: int) -> dict[str, Any]:
    status = next((value for value in plan.values if value.path == plan.status), None)
    return {
        "code": plan.code,
        "choose": CHOICES.index(plan.choose),
        "schemas": plan.schemas,
        "word": numbers.get(plan.word, NO_NODE),
        "marks": [[numbers[path] for path in marks] for marks in plan.marks],
        "receipt": numbers.get(plan.receipt, NO_NODE),
        "task": numbers.get(plan.task, NO_NODE),
        "status": numbers.get(plan.status, NO_NODE),
        "nack": status.words.index(plan.nack) if status is not None else 0,
        "first": first,
        "variants": len(plan.variants),
        "doubts": [(numbers[one], numbers[other]) for one, other in plan.doubts],
        "clues": [[numbers[path] for path in clue] for clue in plan.clues],
        "valued": [clue[-1:] != () and clue[-1] in plan.valued for clue in plan.clues],
    }


def _variant(
    variant: Variant, result: FlatPlan, values: dict[str, Value], numbers: dict[str, int], columns: list[str]
) -> None:
    fills = [fill for fill in variant.fills if fill.column in columns or fill.column == "time"]
    result.variants.append((len(result.needs), len(variant.needs), len(result.fills), len(fills)))
    for need in variant.needs:
        if "/*" in need.path and need.kinds:
            raise ValueError(f"{need.path}: a plan may only ask that the items of an array have no such member")
        known = values[need.path].words
        parent = need.path.rpartition("/")[0]
        kinds = sum(KINDS[kind] for kind in set(need.kinds))
        mask = sum(1 << known.index(word) for word in need.words)
        nodes = (numbers[need.path], numbers.get(parent, NO_NODE))
        instead = numbers.get(need.instead, NO_NODE)
        result.needs.append((*nodes, kinds, int(need.needed), mask, instead, need.missing, need.wrong, need.bad))
    for fill in fills:
        column = TIME_COLUMN if fill.column == "time" else columns.index(fill.column)
        node = numbers.get(fill.path, NO_NODE if fill.how != "constant" else 0)
        other = numbers.get(fill.other, NO_NODE)
        result.fills.append((column, node, other, FILLS.index(fill.how), fill.constant, bytes(fill.numbers)))


# --- plans of several wires that are read together -------------------------------------------------------------------
#
# A value is read once, by one form. Words of several wires become one list; of other forms one is taken, and a wire
# that asked for another leaves objects with such a value to its ``decode``, which is right and slower.

MOST_WORDS = 255
"""The words that one value may be, of all wires: the cores number them in a byte, of which one value is none."""


def merge_plans(plans: Sequence[WirePlan]) -> tuple[WirePlan, ...]:
    """The plans with one and the same :class:`Value` for each path. Raises ValueError if the wires have more than
    ``MOST_WORDS`` words for one."""
    asked: dict[str, list[Value]] = {}
    for plan in plans:
        for value in plan.values:
            asked.setdefault(value.path, []).append(value)
    merged = {path: _merged(values) for path, values in asked.items() if len(set(values)) > 1}
    return tuple(_adapted(plan, merged) if merged else plan for plan in plans)


def _merged(values: list[Value]) -> Value:
    """One value for what several plans ask of it."""
    forms = [value.form for value in values]
    words = tuple(dict.fromkeys(word for value in values for word in value.words))
    if len(words) > MOST_WORDS:
        raise ValueError(f"the wires have {len(words)} words for {values[0].path}; a plan allows at most {MOST_WORDS}")
    form = "word" if words else next(filter(None, forms), "")
    text, every = any(value.text for value in values), any(value.every for value in values)
    return Value(values[0].path, form, words, text, every)


def _adapted(plan: WirePlan, merged: Mapping[str, Value]) -> WirePlan:
    own = {value.path: value for value in plan.values}
    changed = {path: value for path, value in own.items() if path in merged and merged[path] != value}
    if not changed:
        return plan
    variants = tuple(
        variant._replace(
            needs=tuple(_need(need, changed, merged) for need in variant.needs),
            fills=tuple(_fill(fill, changed, merged) for fill in variant.fills),
        )
        for variant in plan.variants
    )
    plan = plan._replace(values=tuple(merged.get(value.path, value) for value in plan.values), variants=variants)
    if plan.choose == "word" and plan.word in changed:
        return _chosen(plan, changed[plan.word].words, merged[plan.word].words)
    return plan


def _need(need: Need, changed: Mapping[str, Value], merged: Mapping[str, Value]) -> Need:
    """A demand on a value of which others ask more: the plan's own words, or what only ``decode`` can tell."""
    value = changed.get(need.path)
    if value is None or "good" not in need.kinds:
        return need
    if value.form == "word":
        return need._replace(words=need.words or value.words)
    if value.form == merged[need.path].form:
        return need
    return need._replace(kinds=tuple(kind for kind in need.kinds if kind != "good"), wrong=None)


def _fill(fill: Fill, changed: Mapping[str, Value], merged: Mapping[str, Value]) -> Fill:
    """The fill of a column from words: numbers for the plan's own words, none for those of others."""
    if fill.how != "word" or not (fill.path in changed or fill.other in changed):
        return fill
    lists = {merged[path].words if path in changed else () for path in (fill.path, fill.other) if path}
    if len(lists) > 1:
        raise ValueError(f"{fill.path} and {fill.other} fill one column, and another wire has words for one of them")
    words = changed[fill.path].words
    own = fill.numbers or tuple(range(fill.constant, fill.constant + len(words)))
    numbers = (own[words.index(word)] if word in words else NO_NUMBER for word in merged[fill.path].words)
    return fill._replace(constant=0, numbers=tuple(numbers))


def _chosen(plan: WirePlan, words: tuple[str, ...], every: tuple[str, ...]) -> WirePlan:
    """The plan with a variant for each word of ``every``; that of a foreign word never holds."""
    never = Variant(plan.wire, (Need(plan.word, ("object",), True),), ())
    variants = tuple(plan.variants[words.index(word)] if word in words else never for word in every)
    return plan._replace(variants=variants)
