"""``convert``, for one message, and ``Converter``, for whole conversations: through the facts of the common model, with
every field accounted for.

With ``carry=True`` what the target cannot say is embedded in its message, so that converting back is exact. The part is
one JSON object: ``wire`` (of the message it comes from), ``fields`` (every path of that message, in order) and ``rest``
(path -> value of those that the carrying message does not say by itself), with ``filled`` (paths of the carrying
message that a context gave) and ``signature``. The others are read from the carrying message, so that what was changed
there is changed in what comes back. It is read only when the caller asks for it (``restore=True``), and refused where
it says something else than the message around it.
"""

from __future__ import annotations

import hmac
from collections import OrderedDict
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import registry
from turnwire.checklists import ClauseFault, Recent, RecordChecklist
from turnwire.conversion.context import NO_CONTEXT, Context, Names, bad_context
from turnwire.conversion.facts import Mapper, Pair, differing, is_known, mapper, meaning
from turnwire.conversion.shapes import ABSENT, Facts, Fields, Shape, parsed, pointed, shown
from turnwire.errors import ConvertError, DecodeError, Issue, Reason, WireError, expect, expect_number
from turnwire.json import text as json_text
from turnwire.registry import encode, reading, wire_of

if TYPE_CHECKING:
    from turnwire.message import Message


class Converted(NamedTuple):
    """The result of a conversion.

    message: the message of the target. dropped: the path of every field of the source that converting back from the
    message alone would not restore, in the source's order and names. surplus: for a restored message, the fields of
    the carrying message that a context had filled in. nearest: the kind that replaced one without a counterpart, or
    None.
    """

    message: Any
    dropped: tuple[str, ...]
    surplus: tuple[str, ...] = ()
    nearest: str | None = None

    @property
    def exact(self) -> bool:
        """True if the message has all that its source had, and nothing else."""
        return not self.dropped and self.nearest is None


class ConvertOptions(NamedTuple):
    """The ways to convert; see :func:`convert`; terse: one dropped field is enough."""

    carry: bool = False
    nearest: bool = False
    restore: bool = False
    key: bytes | None = None
    terse: bool = False


def convert(
    message: Message,
    to: str,
    *,
    context: Context | None = None,
    carry: bool = False,
    nearest: bool = False,
    restore: bool = False,
    key: bytes | None = None,
) -> Converted:
    """Converts a message to another wire.

    Args:
        message: a message of any wire.
        to: the name of the target wire.
        context: values that the target needs and the source lacks, and mappings of names to numbers; see
            :class:`Context`. It never replaces values of the source.
        carry: embed fields that the target cannot express in its extension field (SSTP: ``header.turnwire``; SAP:
            ``meta.turnwire``; KickLang: a section ``⫻turnwire/carry``), so that converting back gives the same message.
        nearest: if the message's act has no counterpart, use the nearest kind, and name it.
        restore: return the embedded message of the target wire; the surplus lists the other fields of the carrying
            message. By default an embedded message is a field like any other.
        key: signs the embedded message and the message around it (HMAC-SHA-256), and verifies them on restoring.

    Raises ConvertError: no_counterpart, with the target's kinds in ``there`` and the nearest in ``nearest``;
    missing_field, with every missing field of the target in ``missing``; the reason why the target rejects a value;
    no_extension if ``carry`` would have to embed something in nSLIP or CSP; bad_carry if the embedded message is
    damaged, contradicts the message around it, or is not signed with ``key``; unknown_wire; wrong_type for an object
    that is not a message. Raises EncodeError for a message that its own wire cannot write.
    """
    expect(key, (bytes, NoneType), "a key must be bytes")
    options = ConvertOptions(carry, nearest, restore, key)
    return converted(message, registry.wire(to).name, names_of(context), options)


def converted(message: Any, to: str, names: Names, options: ConvertOptions) -> Converted:
    """The message as one of ``to`` by itself, by these names."""
    reader = reader_of(message, to, names)
    if reader is None:
        return Converted(message, ())
    fields, target = reader.shape.split(message), mapper(to, names)
    if options.restore and (found := restored(reader, fields, target, options.nearest, options.key)) is not None:
        return Converted(*found)
    return written(reader, fields, target, reader.facts(fields), options)[0]


def names_of(context: Context | None) -> Names:
    """The names of a context. Raises ConvertError(bad_context) for what is none."""
    if context is not None and not isinstance(context, Context):
        raise bad_context(f"expected a Context, not {type(context).__name__}")
    return (NO_CONTEXT if context is None else context).names


def reader_of(message: Any, to: str, names: Names) -> Mapper | None:
    """The mapper of the wire of a message, None for a message of ``to``. Raises ConvertError: wrong_type for what is no
    message, no_counterpart where its wire does not say what its fields mean."""
    found: Mapper | None = names.mappers.get(type(message))
    if found is None or registry.wire(found.wire) is not found.described:
        source = wire_of(message)
        wire = None if source is None else registry.wire(source)
        if wire is None or not isinstance(message, wire.message):
            raise ConvertError(Reason.WRONG_TYPE, f"convert expects a message, not {type(message).__name__}", wire=to)
        if not wire.has("shape"):
            wire.text(message)
            if wire.name == to:
                return None
            text = f"{source} does not define the meaning of its fields (Wire.shape), so it cannot be converted"
            raise ConvertError(Reason.NO_COUNTERPART, text, wire=to)
        found = names.mappers[type(message)] = mapper(wire.name, names)
    found.described.text(message)  # raises for a message that cannot be written
    return None if found.wire == to else found


def written(
    source: Mapper, fields: Fields, target: Mapper, facts: Facts, options: ConvertOptions
) -> tuple[Converted, Facts, list[Issue]]:
    """The message of the target that says the facts of a message, the facts that it says, and its issues."""
    act: Any = facts.get("act")
    form = target.kinds.get(act)
    if act not in target.acts or not (form is None or form.own or options.nearest):  # before its fields are asked for
        raise _no_counterpart(source, fields, target, facts, form and form.kind)
    made = target.whole(facts)
    said = target.facts(made)
    near = target.near(made, facts, said)
    if near is not None and not options.nearest:
        closed = form.kind if form is not None and target.shape.near(made) is not None else None
        raise _no_counterpart(source, fields, target, facts, near, closed)
    dropped: tuple[str, ...] = ()
    if options.carry:
        made = with_carry(source, fields, target, made, options.key)
    else:
        dropped = source.lost(fields, said, not options.terse)
    message, issues = checked(target, made)
    return Converted(message, dropped, (), near), said, issues


def _no_counterpart(
    source: Mapper, fields: Fields, target: Mapper, facts: Facts, nearest: str | None, closed: str | None = None
) -> ConvertError:
    """The error for an act of which the target has no kind, with the nearest; closed: or the kind of the target that
    is not for this sender and receiver."""
    shape, to = source.shape, target.wire
    act, status = meaning(facts)
    named = shape.kind_name(fields) + (f" ({act}{f', {status}' if status else ''})" if act else "")
    there = target.named_kinds
    near = f"the nearest is {nearest}, which nearest=True uses" if nearest else "there is no nearest kind"
    if closed is not None:
        near = f"{closed} is not allowed between this sender and receiver (set their roles in the context); {near}"
    kinds = f"{to} has {', '.join(there)}; " if there else ""
    text = f"{named} has no counterpart in {to}: {kinds}{near}"
    path = shape.kind_path
    return ConvertError(Reason.NO_COUNTERPART, text, wire=to, path=path, missing=[path], there=there, nearest=nearest)


def checked(target: Mapper, fields: Fields) -> tuple[Any, list[Issue]]:
    """Returns the message with these fields, if strict writing accepts it, and its issues."""
    wire = target.wire
    try:
        message = target.shape.join(fields)
    except DecodeError as error:  # what a context gave has another type
        path = pointed(error.path or "")
        raise ConvertError(error.reason, f"{path}: {error.text}", wire=wire, path=path, missing=[path]) from None
    issues = target.described.check(message)
    found = [issue for issue in issues if issue.severity != "info"] if issues else None
    if found:
        where = [pointed(str(issue.where)) for issue in found]
        text = "; ".join(f"{place}: {issue.text}" for place, issue in zip(where, found, strict=True))
        raise ConvertError(found[0].reason, text, wire=wire, path=where[0], missing=where)
    return message, issues


# --- what a message carries of another ---

_SIGNED = "hmac-sha256:"


def _bad_carry(wire: str, text: str) -> ConvertError:
    """The error for a carry that is damaged, or says something else than the message around it."""
    return ConvertError(Reason.BAD_CARRY, text, wire=wire)


def _plain(wire: str) -> Mapper:
    """A wire whose names mean themselves."""
    return mapper(wire, NO_CONTEXT.names)


def with_carry(source: Mapper, fields: Fields, target: Mapper, made: Fields, key: bytes | None) -> Fields:
    """The fields of the target with all that they do not say by themselves in its extension place."""
    back = _plain(source.wire).survivors(_plain(target.wire).facts(made))
    rest = differing(fields, back)
    if not rest and list(back) == list(fields):
        return made
    place = target.shape.carry
    if place is None:
        paths = list(map(shown, rest or [path for path in back if path not in fields])) or ["the order"]
        text = f"{target.wire} has no field in which to embed {', '.join(paths)}"
        raise ConvertError(Reason.NO_EXTENSION, text, wire=target.wire, missing=paths)
    told = {shown(path): fields[path] for path in rest}
    whole: dict[str, Any] = {"wire": source.wire, "fields": [shown(path) for path in fields], "rest": told}
    given = target.survivors(source.facts(fields))
    if filled := [shown(path) for path in made if path not in given]:
        whole["filled"] = filled
    if key is not None:
        whole["signature"] = _signature(whole, made, target.shape, key)
    return {**made, place: json_text.write(whole) if target.shape.carry_text else whole}


def _signature(whole: dict[str, Any], around: Fields, shape: Shape, key: bytes) -> str:
    """Over what is carried and the message around it: neither can be changed, nor put beside another."""
    unsigned = {name: value for name, value in whole.items() if name != "signature"}
    signed = json_text.write([unsigned, encode(shape.join(around), strict=False)])
    return _SIGNED + hmac.new(key, signed.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def restored(
    source: Mapper, fields: Fields, target: Mapper, nearest: bool, key: bytes | None
) -> tuple[Any, tuple[str, ...], tuple[str, ...]] | None:
    """The message that was carried, if it is what the message around it says, too, with the paths of that one that it
    drops, and those that a context had filled; None if none of the target's was carried: a field of that name is like
    any other."""
    to, place = target.wire, source.shape.carry
    whole: Any = None if place is None else fields.get(place)
    if isinstance(whole, str):
        try:
            whole = json_text.read_object(whole, to)
        except WireError:
            return None
    if not isinstance(whole, dict) or whole.get("wire") != to:
        return None
    around = {path: value for path, value in fields.items() if path != place}
    if key is not None:
        given = whole.get("signature")
        if not isinstance(given, str) or not given.startswith(_SIGNED):
            raise _bad_carry(to, "the embedded message is not signed")
        right = _signature(whole, around, source.shape, key)
        if not hmac.compare_digest(given.encode("utf-8", "replace"), right.encode()):
            raise _bad_carry(to, "the embedded message or the message around it does not match the signature")
    # As it was carried: no name means another one here.
    message = _joined(whole, _plain(to).survivors(_plain(source.wire).facts(around)), target)
    made = target.shape.split(message)
    if key is None:
        _check_carried(source, around, target, made, nearest)
    lost, listed = source.lost(around, target.facts(made)), whole.get("filled")
    filled = {path for path in listed if isinstance(path, str)} if isinstance(listed, list) else set()
    if key is not None:  # nothing was added since it was signed
        filled = set(lost)
    dropped = tuple(path for path in lost if path not in filled)
    return message, dropped, tuple(path for path in lost if path in filled)


def _joined(whole: dict[str, Any], made: Fields, target: Mapper) -> Any:
    """The message that was carried; what it did not have to carry is in ``made``."""
    to, listed, rest = target.wire, whole.get("fields"), whole.get("rest", {})
    if not isinstance(listed, list) or not listed or not isinstance(rest, dict):
        raise _bad_carry(to, "the embedded part has neither a list of fields nor values")
    fields: Fields = {}
    for text in listed:
        if not isinstance(text, str):
            raise _bad_carry(to, "the name of a field must be text")
        path = parsed(text)
        if text not in rest and path not in made:
            raise _bad_carry(to, f"{text} is neither embedded nor in the message")
        fields[path] = rest[text] if text in rest else made[path]
    try:
        message = target.shape.join(fields)
        encode(message, strict=False)
    except WireError as error:
        raise _bad_carry(to, f"the embedded message cannot be read: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _bad_carry(to, f"the embedded message cannot be read: {error!r}") from None
    return message


def _check_carried(source: Mapper, around: Fields, target: Mapper, made: Fields, nearest: bool) -> None:
    """Refuses a carried message that would not have been written as the message around it: whoever reads that one
    must not be told something else. Its place in the sequence says nothing of what it does."""
    to, facts, seen = target.wire, target.facts(made), source.facts(around)
    if facts.get("act") not in source.acts:
        raise _bad_carry(to, f"the embedded part is not a {source.shape.kind_name(around)}")
    if "sequence" in facts and "sequence" in seen:
        facts["sequence"] = seen["sequence"]
    forth = source.survivors(facts)
    for path in differing(forth, around):
        text = f"{shown(path)} is {around.get(path, 'not there')!r}, and for what was carried it would be"
        raise _bad_carry(to, f"{text} {forth[path]!r}: only the original context or a signature can prove it")
    near = source.near(forth, facts, source.facts(forth))
    if near is not None and not nearest:
        raise _bad_carry(to, f"the embedded part is not a {near}; nearest=True uses it")


# --- whole conversations ---

REMEMBERED = 100_000
"""Tasks, names and conversations that a converter remembers of each; the oldest are forgotten."""

_UNNAMED = "work "
"""In front of the number of a piece of work that its source gives no name: no wire has a name with a space."""

_ASKS = frozenset({"request", "ask"})
_PROMISES = frozenset({"accept", "propose", "observe"})
_ANSWERS = _PROMISES | {"inform", "error", "reject", "evaluate"}


class Closing(NamedTuple):
    """The findings of the target's checklist at the end: what is wrong only now, and what is open."""

    faults: tuple[ClauseFault, ...]
    open: tuple[ClauseFault, ...]


_WORK = object()
_Key = tuple[str | None, str]
"""(conversation, name) of a task; no conversation where all tasks of a wire are in one history."""


_Naming = tuple[_Key, str, Any, str, int]
"""A task, its name in the target's history, how that is written, and the name and number that gave it."""


class _Task(NamedTuple):
    """A piece of work: its key, its name, its conversation, who asked, and who was asked; waiting: what has no final
    answer, the work itself (_WORK) and what these have asked about it."""

    key: _Key
    name: str
    conversation: str | None
    requester: str | None
    assignee: str | None
    waiting: set[Any]

    def is_told(self, facts: Facts) -> bool:
        """True if facts about the task come from who asked for it, and so for who does it."""
        sender = facts.get("sender")
        return sender is not None and sender == self.requester and self.assignee not in (None, sender)


class Converter:
    """Converts messages of any wires as one history of the target wire.

    Unlike :func:`convert`, a converter keeps track of the conversation: who asked for the work that an answer names,
    and so receives the answer; which conversation a task belongs to; turns and clocks, counted as the target counts
    them; the state that CTX of CSP/1 names; and the ids of work, names and conversations, which stay the same (if the
    context has ``new_id``). A message that would violate the target's checklist is rejected (``not_conforming``) and
    changes nothing, so the output conforms; :meth:`close` reports unfinished work. Messages of the target wire pass
    unchanged, or are rejected in the same way.

    Args:
        to: the target wire.
        context, carry, nearest, restore, key: see :func:`convert`.
        remember: how many tasks, names and conversations are remembered, also by the target's checklist; the oldest
            tasks and conversations are forgotten, and further names get no ids.

    Raises UnknownName for an unknown wire, ConvertError(bad_context).
    """

    def __init__(
        self,
        to: str,
        *,
        context: Context | None = None,
        carry: bool = False,
        nearest: bool = False,
        restore: bool = False,
        key: bytes | None = None,
        remember: int = REMEMBERED,
    ) -> None:
        expect(key, (bytes, NoneType), "a key must be bytes")
        expect_number(remember, "remember", 1)
        self.to = registry.wire(to).name
        self._options = ConvertOptions(carry, nearest, restore, key)
        self._names = Names(names_of(context).context, remember)
        self._mapper = mapper(self.to, self._names)
        self._target = self._mapper.shape
        self._room = remember
        self._tasks: OrderedDict[_Key, _Task] = OrderedDict()
        self._aliases = Recent(remember)  # id of a message -> the conversation that it began
        self._spoke = Recent(remember)  # name -> where it last spoke or was spoken to
        self._counts = Recent(remember)  # turns and clocks
        self._own: OrderedDict[_Key, tuple[str, Any]] = OrderedDict()  # -> the name there, and how that is written
        self._taken: set[Any] = set()  # names as they are written
        self._numbers = Recent(remember)  # name -> the number that its last namesake got
        self._state: str | None = None  # that the target's own messages have led to
        self._asked: dict[tuple[str | None, str | None], OrderedDict[_Key, None]] = {}
        self._unanswered = 0
        self._work = 0
        self._begun = Recent(remember)  # conversations that have a message
        self._requested = Recent(remember)  # tasks that were asked for in what was written
        # Work without a name is counted where the target counts it, or where names may be given ids.
        self._counted = bool(self._target.stateful) or self._names.context.new_id is not None
        judged = registry.wire(to).has("checklist")
        self._checker: RecordChecklist | None = reading("located").record_checklist(self.to) if judged else None
        self._written = 0
        self._closing: Closing | None = None

    def be_terse(self) -> None:
        """Names only one dropped field of each message from now on: naming all takes longer."""
        if not self._options.terse:
            self._options = self._options._replace(terse=True)

    @property
    def context(self) -> Context:
        """The context with the ids that names were given, for converting back."""
        return self._names.as_context()

    def feed(self, message: Any) -> Converted:
        """Converts the next message. Raises what :func:`convert` raises, and ConvertError(not_conforming) for a
        message that does not fit the history, with the clause of the target's checklist in ``path``; it then
        changes nothing."""
        self._names.keep()
        try:
            return self._fed(message)
        except Exception:
            self._names.take_back()
            raise

    def alone(self, message: Any) -> Converted:
        """Converts a message as :func:`convert` does, beside the history; names are given ids, too."""
        return converted(message, self.to, self._names, self._options)

    def _fed(self, message: Any) -> Converted:
        target, options = self._mapper, self._options
        reader = reader_of(message, self.to, self._names)
        if reader is None:
            return self._kept(Converted(message, ()))
        fields = reader.shape.split(message)
        if options.restore and (found := restored(reader, fields, target, options.nearest, options.key)) is not None:
            return self._kept(Converted(*found))
        facts = reader.facts(fields)
        task, count = self._adapt(reader.shape, facts)
        told, naming = self._as_written(facts)
        made, said, issues = written(reader, fields, target, told, options)
        if self._target.by_others and task is not None and task.is_told(facts):
            # Said to a question of who does the work, say, and the target would take it for the answer.
            text = f"{task.requester} requested {task.name} and cannot answer it"
            raise self._refused(ClauseFault(self._target.by_others, 0, text))
        self._admit(made.message, said, "task" in facts, issues)
        if naming is not None:
            self._name(*naming[:3])
            if naming[4]:
                self._numbers[naming[3]] = naming[4]
        self._note(reader, message, facts, task)
        if count is not None:
            self._counts[count] = facts["sequence"]
        return made

    def _kept(self, made: Converted) -> Converted:
        """A message of the target, or one that was carried, which stays as it is."""
        fields = self._target.split(made.message)
        facts = self._mapper.facts(fields)
        task = self._task(self._target, facts)
        self._admit(made.message, facts, True, None)
        self._take_in(fields, facts)
        self._note(self._mapper, made.message, facts, task)
        return made

    @property
    def unanswered(self) -> int:
        """The number of written requests without a final answer so far, as their source left them."""
        return self._unanswered

    def close(self) -> Closing:
        """Ends the history; returns open items, and faults that appear only at the end, by the target's checklist."""
        if self._checker is None:
            return Closing((), ())
        if self._closing is None:
            self._checker.end()
            self._closing = Closing(tuple(self._checker.faults), tuple(self._checker.open))
        return self._closing

    # --- what a message lacks because others have said it

    def _adapt(self, shape: Shape, facts: Facts) -> tuple[_Task | None, tuple[Any, Any] | None]:
        """Makes the facts what the target says in a conversation; the task that they answer, and what counts them."""
        target, act, sender = self._target, facts.get("act"), facts.get("sender")
        said = facts.get("conversation")
        if said is None:
            said = facts.get("message", self._spoke.get(sender))
        if said is not None:
            facts["conversation"] = self._aliases.get(said, said)
        task = self._task(shape, facts)
        if task is not None:
            if task.conversation is not None:
                facts["conversation"] = task.conversation
            to = task.assignee if task.is_told(facts) else task.requester
            for name, end in (("receiver", to), ("sender", task.assignee)):
                if end is not None and not is_known(facts, name):
                    facts[name] = end
        said_by_name = task is not None and not task.name.startswith(_UNNAMED)
        named = said_by_name or (self._counted and (task is not None or act in _ASKS))
        if named and "task" not in facts and self._mapper.task_form(facts) is not None:
            facts["task"] = f"{_UNNAMED}{self._work + 1}" if task is None else task.name
        if not target.counts:
            return task, None
        key = facts.get("conversation"), facts.get("sender") if target.counts == "sender" else None
        facts["sequence"] = self._counts.get(key, 0) + 1
        return task, key

    def _task(self, shape: Shape, facts: Facts) -> _Task | None:
        """The task that an answer is about: the one that it names, else the oldest that its sender was asked for."""
        if facts.get("act") not in _ANSWERS:
            return None
        conversation, name = facts.get("conversation"), facts.get("task")
        if name is not None:
            return self._tasks.get((None if shape.stateful else conversation, name))
        waiting = self._asked.get((conversation, facts.get("sender")))
        return self._tasks[next(iter(waiting))] if waiting else None

    def _answered(self, task: _Task, *waiting: Any) -> None:
        """Nobody waits for these any more. After the work itself the next answer without a name is about other work."""
        self._unanswered -= len(task.waiting.intersection(waiting))
        task.waiting.difference_update(waiting)
        if _WORK in waiting:
            self._let_go(task)

    def _let_go(self, task: _Task) -> None:
        several = self._asked.get((task.conversation, task.assignee))
        if several is not None:
            several.pop(task.key, None)
            if not several:
                del self._asked[task.conversation, task.assignee]

    def _as_written(self, facts: Facts) -> tuple[Facts, _Naming | None]:
        """The facts with the names that the target's history has for them, and what names the task there from now."""
        target, told, naming = self._target, facts, None
        name = facts.get("task") if target.tasks_alone else None
        if name is not None and (form := self._mapper.task_form(facts)) is not None:
            key = facts.get("conversation"), name
            naming = None if key in self._own else self._naming(key, form)
            told = {**facts, "task": self._own[key][0] if naming is None else naming[1]}
        if target.stateful:  # what it names is a state, which only messages of the target change
            told = {**told, "conversation": self._head()}
        if target.opens and facts.get("act") == "ask" and facts.get("conversation") not in self._begun:
            told = {"message" if fact == "conversation" else fact: value for fact, value in told.items()}
        return told, naming

    def _head(self) -> str:
        """The state that the target's history is in."""
        default = self._state or self._names.default(self.to, "", self._target.state_path)
        return (default if isinstance(default, str) else "") or self._target.stateful

    def _take_in(self, fields: Fields, facts: Facts) -> None:
        """A message of the target leads from one state to another, and its tasks have the names that they have."""
        if not self._target.tasks_alone:
            return
        before, after = self._target.moves(fields)
        if after is not None and before == self._head():
            self._state = after
        form = self._mapper.task_form(facts)
        if form is not None and "task" in facts:
            self._name((None, facts["task"]), facts["task"], form.write(facts["task"], self._names, self.to))

    def _naming(self, key: _Key, form: Pair) -> _Naming:
        """A name of the task's own: where all tasks are in one history, those of two conversations must not bear the
        same."""
        name = key[1].removeprefix(_UNNAMED)
        number = self._numbers.get(name, 0)  # those before it were taken
        while (written := form.write(known := _numbered(name, number), self._names, self.to)) in self._taken:
            number += 1
        return key, known, written, name, number

    def _name(self, key: _Key, known: str, written: Any) -> None:
        """Remembers what a task is called in the target's history."""
        if key not in self._own and written is not ABSENT:
            self._own[key] = known, written
            self._taken.add(written)
            while len(self._own) > self._room:
                self._taken.discard(self._own.popitem(last=False)[1][1])

    def _note(self, reader: Mapper, message: Any, facts: Facts, task: _Task | None) -> None:
        """Remembers which task a message ends, who speaks in which conversation, and what was asked of whom."""
        if task is not None and _ends(facts, reader, message):
            self._answered(task, *([task.assignee] if task.is_told(facts) else [_WORK, task.requester]))
        conversation, ends = facts.get("conversation"), (facts.get("sender"), facts.get("receiver"))
        if conversation is not None:
            for end in ends:
                if end is not None:
                    self._spoke[end] = conversation
        if facts.get("act") not in _ASKS:
            return
        if "message" in facts and conversation is not None:
            self._aliases[facts["message"]] = conversation
        unnamed = f"{_UNNAMED}{self._work + 1}"
        name = facts.get("task", unnamed)
        self._work += name == unnamed
        key = (None if reader.shape.stateful else conversation, name)
        known = self._tasks.get(key)
        if known is not None and facts["act"] == "ask" and _WORK in known.waiting:  # a question about work that goes on
            if ends[0] not in known.waiting:
                self._unanswered += 1
                if len(known.waiting) <= self._room:
                    known.waiting.add(ends[0])
            return
        if known is not None:
            self._answered(self._tasks.pop(key), _WORK, known.requester)
        self._tasks[key] = task = _Task(key, name, conversation, *ends, {_WORK})
        self._asked.setdefault((conversation, task.assignee), OrderedDict())[key] = None
        self._unanswered += 1
        while len(self._tasks) > self._room:  # what nobody answered stays counted
            self._let_go(self._tasks.popitem(last=False)[1])

    # --- what the target's checklist makes of it

    def _admit(self, message: Any, facts: Facts, names: bool, issues: list[Issue] | None) -> None:
        """Writes a message of the target, which says these facts. names: whether its source says which work it is
        about. issues: those of the message, if they are known."""
        if self._checker is not None:
            fault = self._unasked(facts, names) if self._target.asked_first else None
            fault = fault or self._checker.admits(message, self._written + 1, issues)
            if fault is not None:
                raise self._refused(fault)
            self._checker.forget(self._room)
        self._written += 1
        if self._target.opens and (said := facts.get("conversation", facts.get("message"))) is not None:
            self._begun[said] = None
        if self._target.asked_first and facts.get("act") in _ASKS:
            self._requested[facts.get("task")] = None

    def _refused(self, fault: ClauseFault) -> ConvertError:
        """The error for a message of the target that has no place after those before it."""
        text = f"this violates the requirements of {self.to} for a history: {fault.text}"
        return ConvertError(Reason.NOT_CONFORMING, text, wire=self.to, path=fault.clause, missing=[fault.clause])

    def _unasked(self, facts: Facts, names: bool) -> ClauseFault | None:
        """The fault of an answer that has no place here: it names work that was not asked for, among other work that
        was, or its source names none, so that nothing that follows can ask for it. Where nothing was asked for so far,
        the beginning may be missing, and the request may follow: at the end the checklist tells."""
        task = facts.get("task")
        if facts.get("act") not in _ANSWERS or task in self._requested:
            return None
        if not names:
            text = "it answers no task that its source names, and no request was seen"
        elif self._requested:
            text = f"it answers {task}, which was not requested, or longer ago than remember allows"
        else:
            return None
        return ClauseFault(self._target.asked_first, self._written + 1, text)


def _numbered(name: str, number: int) -> str:
    """The name of a namesake: the first as it is, others with a number."""
    return f"{name}{'0' * name[-1:].isdigit()}{number}" if number else name


def _ends(facts: Facts, reader: Mapper, message: Any) -> bool:
    """True if an answer ends the work that it is about, as its wire says it (``Wire.pairs``)."""
    if facts["act"] in _PROMISES or facts.get("status") in ("QUEUED", "RUNNING"):
        return False
    if reader.progress and message.kind in reader.progress:
        return False
    pairs = reader.described.pairs
    work = None if pairs is None else pairs.work
    found = None if work is None else work(reader.described.text(message).encode("utf-8", "surrogatepass"))
    return found is None or found.final
