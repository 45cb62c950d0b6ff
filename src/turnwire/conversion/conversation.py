"""``Converter``: whole conversations, message by message, so that what comes out is a conversation of the target."""

from __future__ import annotations

from collections import OrderedDict
from types import NoneType
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.checklists import ClauseFault, Recent, RecordChecklist
from turnwire.conversion.context import Context, Names
from turnwire.conversion.converting import Converted, ConvertOptions, converted, names_of, reader_of, restored, written
from turnwire.conversion.facts import Mapper, Pair, is_known, mapper
from turnwire.conversion.shapes import ABSENT, Facts, Fields, Shape
from turnwire.errors import ConvertError, Issue, Reason, expect, expect_number
from turnwire.registry import reading

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
    """A piece of work: its key, its name, whether the source said it, its conversation, who asked, and who was
    asked; waiting: what has no final answer, the work itself (_WORK) and what these have asked about it."""

    key: _Key
    name: str
    said: bool
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
        self._judge: RecordChecklist | None = reading("judging").judge_of(self.to) if judged else None
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
        if self._closing is None:
            if self._judge is None:
                return Closing((), ())
            self._judge.end()
            self._closing = Closing(tuple(self._judge.faults), tuple(self._judge.open))
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
        named = (task is not None and task.said) or (self._counted and (task is not None or act in _ASKS))
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

    def _done(self, key: _Key) -> None:
        """Nobody waits for the task any more."""
        task = self._tasks.get(key)
        if task is not None:
            self._answered(task, _WORK, task.requester)
            self._let_go(task)

    def _let_go(self, task: _Task) -> None:
        """The next answer without a name is about another task."""
        several = self._asked.get((task.conversation, task.assignee))
        if several is not None:
            several.pop(task.key, None)
            if not several:
                del self._asked[task.conversation, task.assignee]

    def _answered(self, task: _Task, *waiting: Any) -> None:
        self._unanswered -= len(task.waiting.intersection(waiting))
        task.waiting.difference_update(waiting)

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
        if self._state:
            return self._state
        default = self._names.default(self.to, "", self._target.state_path)
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
            if task.is_told(facts):
                self._answered(task, task.assignee)
            else:
                self._done(task.key)
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
        self._done(key)
        self._tasks.pop(key, None)
        said = not name.startswith(_UNNAMED)
        self._tasks[key] = task = _Task(key, name, said, conversation, *ends, {_WORK})
        self._asked.setdefault((conversation, task.assignee), OrderedDict())[key] = None
        self._unanswered += 1
        while len(self._tasks) > self._room:  # what nobody answered stays counted
            self._let_go(self._tasks.popitem(last=False)[1])

    # --- what the target's checklist makes of it

    def _admit(self, message: Any, facts: Facts, names: bool, issues: list[Issue] | None) -> None:
        """Writes a message of the target, which says these facts. names: whether its source says which work it is
        about. issues: those of the message, if they are known."""
        if self._judge is not None:
            fault = self._unasked(facts, names) if self._target.asked_first else None
            fault = fault or self._judge.admits(message, self._written + 1, issues)
            if fault is not None:
                raise self._refused(fault)
            self._judge.forget(self._room)
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
    """True if an answer ends the work that it is about, as its wire says it (``Wire.pairs``, ``Wire.work``)."""
    if facts["act"] in _PROMISES or facts.get("status") in ("QUEUED", "RUNNING"):
        return False
    if reader.progress and message.kind in reader.progress:
        return False
    work = reader.described.work
    found = None if work is None else work(reader.described.text(message).encode("utf-8", "surrogatepass"))
    return found is None or found.final
