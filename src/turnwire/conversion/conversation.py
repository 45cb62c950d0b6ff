"""``Converter``: whole conversations, message by message, so that what comes out is a conversation of the target."""

from __future__ import annotations

import copy
from collections import OrderedDict
from types import NoneType
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.checklists import Fault, Judge
from turnwire.contract import finding
from turnwire.conversion import carrying
from turnwire.conversion.context import Context
from turnwire.conversion.converting import Converted, Options, checked_wire, converted, names_of, split, written
from turnwire.conversion.filling import Facts, facts_of, known_act
from turnwire.conversion.learning import LearnedNames
from turnwire.conversion.paths import Fields
from turnwire.conversion.shapes import Shape, shape_of
from turnwire.errors import ConvertError, Reason, expect, expect_number

REMEMBERED = 100_000
"""Tasks, names and conversations that a converter remembers of each; the oldest are forgotten."""

_TASKS = frozenset({"request", "inform", "error"})
_ASKS = frozenset({"request", "ask"})
_PROMISES = frozenset({"accept", "propose", "observe"})
_ANSWERS = _PROMISES | {"inform", "error", "reject", "evaluate"}


class _Task(NamedTuple):
    """A piece of work: its name, whether the source said it, its conversation, who asked, and who was asked."""

    name: str
    said: bool
    conversation: str | None
    requester: str | None
    assignee: str | None


class Closing(NamedTuple):
    """What the target's checklist finds at the end of what was written: what is wrong only now, and what is open."""

    faults: tuple[Fault, ...]
    open: tuple[Fault, ...]

    def __add__(self, other: Closing) -> Closing:  # type: ignore[override]
        return Closing(self.faults + other.faults, self.open + other.open)


class _Watch:
    """What the target's checklist makes of one history. ``judge`` has seen what was written, ``trial`` also what is
    being tried."""

    def __init__(self, wire: str) -> None:
        self.judge: Judge = finding("judging").judge_of(wire)
        self.trial: Judge = finding("judging").judge_of(wire)
        self.count = 0

    def refuses(self, message: Any, own: bool) -> Fault | None:
        """The first fault of a message, which then was not written; else it was. own: it is one of the target already,
        whose faults are its own."""
        self.trial.message(message, self.count + 1)
        fault = self.trial.faults[0] if self.trial.faults and not own else None
        if fault is not None:
            self.trial = copy.deepcopy(self.judge)
            return fault
        self.judge.message(message, self.count + 1)
        self.count += 1
        for judge in (self.judge, self.trial):
            judge.doubts.clear()
            judge.faults.clear()
        return None

    def end(self) -> Closing:
        """What is wrong at the end, and what is unfinished."""
        self.judge.end()
        return Closing(tuple(self.judge.faults), tuple(self.judge.open))


class Converter:
    """Messages of any wires as one history of the target wire.

    What :func:`convert` cannot know of a single message, a converter does: who asked for the work that an answer names,
    and so to whom the answer goes; which conversation a task belongs to; turns and clocks, counted as the target counts
    them; the state that CTX of CSP/1 names; ids of work, names and conversations, the same each time (where the context
    has ``new_id``). What the target's checklist would find wrong with a message, after those before it, is refused
    (``not_conforming``) and changes nothing. So what is written conforms; :meth:`close` tells what is unfinished.
    Messages of the target itself, also those that are restored, go through as they are.

    Args:
        to: the target wire.
        context, carry, nearest, restore, key: see :func:`convert`.
        remember: how many tasks, names and conversations are remembered of each; of older tasks and conversations the
            oldest are forgotten, further names are given no ids.

    Raises UnknownName for what is no wire, ConvertError(bad_context).
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
        expect(key, (bytes, NoneType), "a key is bytes")
        expect_number(remember, "remember", 1)
        self.to = checked_wire(to)
        self._options = Options(carry, nearest, restore, key)
        self._names = LearnedNames(names_of(context).context, remember)
        self._room = remember
        self._tasks: OrderedDict[tuple[str | None, str], _Task] = OrderedDict()
        self._aliases: OrderedDict[str, str] = OrderedDict()  # id of a message -> the conversation that it began
        self._counts: OrderedDict[tuple[Any, ...], int] = OrderedDict()  # turns and clocks
        self._watches: OrderedDict[Any, _Watch] = OrderedDict()
        self._own: OrderedDict[tuple[str | None, str], str] = OrderedDict()
        self._taken: set[str] = set()
        self._asked: dict[tuple[str | None, str | None], dict[tuple[str | None, str], None]] = {}
        self._unanswered: dict[tuple[str | None, str], None] = {}
        self._work = 0
        self._closing = Closing((), ())
        # Work without a name is counted where the target counts it, or where names may be given ids.
        self._counted = bool(shape_of(to).stateful) or self._names.context.new_id is not None
        self._judged = registry.wire(to).has("checklist")

    @property
    def context(self) -> Context:
        """The context with the ids that names were given, for the way back."""
        return self._names.as_context()

    def feed(self, message: Any) -> Converted:
        """The next message. Raises what :func:`convert` raises, and ConvertError(not_conforming) for a message that has
        no place in the history, with the clause of the target's checklist in ``path``; it changes nothing then."""
        source, fields = split(message, self.to)
        facts: Facts = {}
        changes: dict[tuple[Any, ...], int] = {}
        ended: tuple[str | None, str] | None = None
        own = True
        if source == self.to:
            made = Converted(message, ())
            facts = facts_of(source, shape_of(source).split(message), self._names)
            ended = self._ended(shape_of(source), facts)
        elif self._options.restore and carrying.opened(fields, source, self.to) is not None:
            made = converted(message, self.to, self._names, self._options)
        else:
            own = False
            facts = facts_of(source, fields, self._names)
            facts, changes, ended = self._adapted(source, facts)
            made = self._written(source, fields, facts)
        self._judge(made.message, own)
        if ended is not None:
            self._done(ended)
        self._note(source, facts)
        for key, value in changes.items():
            self._counts[key] = value
            self._counts.move_to_end(key)
        _forget(self._counts, self._room)
        return made

    @property
    def unanswered(self) -> int:
        """How many requests that were written have no final answer so far: what their source left open is open here."""
        return len(self._unanswered)

    def close(self) -> Closing:
        """Nothing follows: what the target's checklist finds open in what was written, or faulty only now."""
        ended = [watch.end() for watch in self._watches.values()]
        self._watches.clear()
        faults = tuple(fault for one in ended for fault in one.faults)
        self._closing += Closing(faults, tuple(fault for one in ended for fault in one.open))
        return self._closing

    def _history(self, message: Any) -> tuple[Any, ...]:
        """What the target's checklist judges a message together with: those of its task, or of its conversation."""
        shape = shape_of(self.to)
        facts = facts_of(self.to, shape.split(message), self._names)
        return facts.get("conversation"), facts.get("task") if shape.by_task else None

    # --- what a message lacks because others have said it

    def _adapted(
        self, source: str, facts: Facts
    ) -> tuple[Facts, dict[tuple[Any, ...], int], tuple[str | None, str] | None]:
        """The facts as the target says them in a conversation, the counters that they use up, and the task they end."""
        shape, target = shape_of(source), shape_of(self.to)
        act = facts.get("act")
        facts = dict(facts)
        said = facts.get("conversation", facts.get("message"))
        if said is not None:
            facts["conversation"] = self._aliases.get(said, said)
        task = self._task(shape, facts) if act in _ANSWERS else None
        ended = self._ended(shape, facts)
        if task is not None:
            facts |= {"conversation": task.conversation} if task.conversation is not None else {}
            for name, end in (("receiver", task.requester), ("sender", task.assignee)):
                if end is not None:
                    facts.setdefault(name, end)
            if (task.said or self._counted) and self._needs_task(target, facts):
                facts.setdefault("task", task.name)
        elif act in _ASKS and "task" not in facts and self._counted and self._needs_task(target, facts):
            self._work += 1
            facts["task"] = f"{self._work}"
        changes: dict[tuple[Any, ...], int] = {}
        if target.counts:
            key = (facts.get("conversation"), facts.get("sender") if target.counts == "sender" else None)
            facts["sequence"] = changes[key] = self._counts.get(key, 0) + 1
        return facts, changes, ended

    def _task(self, shape: Shape, facts: Facts) -> _Task | None:
        """The task that an answer is about: the one that it names, else the oldest that its sender was asked for."""
        conversation, name, sender = (facts.get(fact) for fact in ("conversation", "task", "sender"))
        if name is not None:
            return self._tasks.get((None if shape.stateful else conversation, name))
        waiting = self._asked.get((conversation, sender))
        return self._tasks[next(iter(waiting))] if waiting else None

    def _ended(self, shape: Shape, facts: Facts) -> tuple[str | None, str] | None:
        """The key of the task that an answer ends, if it ends one."""
        task = self._task(shape, facts) if facts.get("act") in _ANSWERS and _ends(facts) else None
        return None if task is None else (None if shape.stateful else task.conversation, task.name)

    def _done(self, key: tuple[str | None, str]) -> None:
        """Nobody waits for the task any more."""
        task = self._tasks.get(key)
        self._unanswered.pop(key, None)
        if task is not None:
            waiting = self._asked.get((task.conversation, task.assignee), {})
            waiting.pop(key, None)
            if not waiting:
                self._asked.pop((task.conversation, task.assignee), None)

    def _needs_task(self, target: Shape, facts: Facts) -> bool:
        if not known_act(self.to, facts):
            return False
        places = target.places[target.begin(facts["act"], facts)[0]]
        return any(place.fact == "task" and place.need == "must" for place in places)

    def _written(self, source: str, fields: Fields, facts: Facts) -> Converted:
        target = shape_of(self.to)
        if target.stateful:  # what it names is a state, and nothing here has changed that of the history
            state = self._names.default(self.to, "", target.state_path)
            facts = {**self._own_task(facts, facts.get("conversation"))}
            facts["conversation"] = state or target.stateful
        return written(source, fields, self.to, facts, self._names, self._options)

    def _own_task(self, facts: Facts, conversation: str | None) -> Facts:
        """Where all tasks stand in one history, those of two conversations must not bear the same name."""
        name = facts.get("task")
        if name is None or facts.get("act") not in _TASKS:
            return facts
        known = self._own.get((conversation, name))
        if known is None:
            known = name
            number = 0
            while known in self._taken:
                number += 1
                known = f"{name}{number}" if not name[-1:].isdigit() else f"{name}0{number}"
            self._own[conversation, name] = known
            self._taken.add(known)
            while len(self._own) > self._room:
                self._taken.discard(self._own.popitem(last=False)[1])
        return {**facts, "task": known}

    def _note(self, source: str, facts: Facts) -> None:
        """Remembers what was asked of whom."""
        if facts.get("act") not in _ASKS:
            return
        conversation = facts.get("conversation")
        if "message" in facts and conversation is not None:
            self._aliases[facts["message"]] = conversation
            _forget(self._aliases, self._room)
        self._work += "task" not in facts
        name = facts.get("task", f"{self._work}")
        key = (None if shape_of(source).stateful else conversation, name)
        self._done(key)
        self._tasks.pop(key, None)
        self._tasks[key] = task = _Task(name, "task" in facts, conversation, facts.get("sender"), facts.get("receiver"))
        self._asked.setdefault((conversation, task.assignee), {})[key] = None
        while len(self._tasks) > self._room:
            oldest = next(iter(self._tasks))
            self._done(oldest)
            del self._tasks[oldest]
        self._unanswered[key] = None
        while len(self._unanswered) > self._room:
            del self._unanswered[next(iter(self._unanswered))]

    # --- what the target's checklist makes of it

    def _judge(self, message: Any, own: bool) -> None:
        if not self._judged:
            return
        history = self._history(message)
        watch = self._watches.get(history)
        if watch is None:
            watch = self._watches[history] = _Watch(self.to)
            if len(self._watches) > self._room:
                self._closing += self._watches.popitem(last=False)[1].end()
        self._watches.move_to_end(history)
        fault = watch.refuses(message, own)
        if fault is not None:
            text = f"what {self.to} asks of a history is broken: {fault.text}"
            raise ConvertError(Reason.NOT_CONFORMING, text, wire=self.to, path=fault.clause, missing=[fault.clause])


def _ends(facts: Facts) -> bool:
    """Whether an answer ends the work that it is about."""
    return facts["act"] not in _PROMISES and facts.get("status") not in ("QUEUED", "RUNNING")


def _forget(table: OrderedDict[Any, Any], room: int) -> None:
    while len(table) > room:
        table.popitem(last=False)
