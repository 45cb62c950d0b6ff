"""The token rules [TOKEN RULES], judged against what a conversation has defined so far.

undef, ctx_stale, no_task and dup_result are facts: "warning". restate, expanded, filler, full_rewrite and synonym are
heuristics: "info", which no clause fails by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from turnwire.csp._texts_py import DEFINED_NAME, GIVEN_ID
from turnwire.csp.given_ids import GivenIds
from turnwire.csp.law_texts import LawTexts
from turnwire.csp.messages import CspMessage, Document, Error, FileOp, Junk, Patch, Preamble, Record, Result, Task
from turnwire.csp.prose import Fillers
from turnwire.csp.states import EMPTY, Asked, Later, State, size_of, state_of
from turnwire.errors import Issue, Reason, expect

if TYPE_CHECKING:
    from turnwire.csp.store import Store

TASK_ID = re.compile("T[0-9]+")  # :mod:`turnwire.csp.settling` goes by it, too
_DEFINES = re.compile(r"(?m)^(?:DEF [A-Z_][A-Z0-9_]* =|LAWS$)")
_SCOPES = ("IN", "OWNER")
LAW_TEXT_LEAST = 12
MOST_REPEATED = 64
"""Laws that are named of those that one value repeats: any number of laws may say the same."""
REWRITE_LEAST, REWRITE_SHARE = 3, 0.9
"""A patch rewrites a state of at least so many names where it writes over this share of its bytes."""


class Context:
    """What is known when a record is judged: names, checkpoints, tasks, files."""

    def __init__(self, store: Store | None) -> None:
        self.store = store
        self.fillers = Fillers()
        self.local: dict[str, State] = {}
        self._state = EMPTY if store is None else state_of(store.defs)
        self._later: Later | None = None  # what preambles have defined since
        self.laws: dict[str, str] = {} if store is None else dict(store.laws)
        self.law_texts = LawTexts(LAW_TEXT_LEAST)
        self.law_texts.update(self.laws)
        self.head = "C0" if store is None else store.head
        self.passed: set[str] | GivenIds = set()  # checkpoints that were the head before
        self.tasks: dict[str, str | None] = {}  # id -> the CTX that it was given at
        self.agents: set[str] = set()
        self.produced: set[str] = set()
        self.final: dict[str, str] = {}
        self.files: set[str] = set()
        self.spoken = False
        self.values: list[tuple[str, str]] = []  # of the record that is judged: (key, value)
        self._tokens: list[tuple[str, list[str]]] | None = None
        self._asked = Asked(EMPTY)
        if store is not None:
            self.passed = {name for name in store.checkpoints if name != self.head}
            for entry in store.log:
                self.learn(entry.message, state=False)
            self.spoken = True

    @property
    def state(self) -> State:
        """What is defined at the head."""
        if self._later is not None:
            self._add()
        return self._state

    def _add(self) -> None:
        """Adds what preambles have defined to the state, all at once."""
        assert self._later is not None
        self._state, self._later = self._later.added_to(self._state), None
        if not self.spoken:
            self.local["C0"] = self._state

    @property
    def known(self) -> Asked | Later:
        """What tells a name or a value of the same."""
        return self._asked_of(self._state) if self._later is None else self._later

    def take(self, record: Record) -> None:
        """What is judged now."""
        self.values = list(_values(record))
        self._tokens = None

    @property
    def tokens(self) -> list[tuple[str, list[str]]]:
        """Of the values of the record that is judged, what is between commas."""
        if self._tokens is None:
            self._tokens = [(key, _tokens(value)) for key, value in self.values]
        return self._tokens

    def at(self, ctx: str | None) -> State:
        """The names at a checkpoint; at the head where it is not known."""
        head = self.state
        found = self.local.get(ctx or "")
        if found is None and ctx and self.store is not None and ctx in self.store:
            found = self._kept(self.store, ctx)
        return head if found is None else found

    def before(self, block: Patch) -> Asked:
        """The names at the base of a patch, of which all rules about it ask the same."""
        return self._asked_of(self.at(block.base))

    def _asked_of(self, state: State) -> Asked:
        if self._asked.state is not state:
            self._asked = Asked(state)
        return self._asked

    def _kept(self, store: Store, ctx: str) -> State:
        """The names at a checkpoint of the store: those of the nearest one in front of it that is known, and what was
        changed since. Each checkpoint is looked at once."""
        line = []
        step: str | None = ctx
        while step is not None and step not in self.local:
            line.append(store.at(step))
            step = line[-1].parent
        if step is None:
            root = line.pop()
            step = root.id
            self.local[step] = state_of(root.defs)
        state = self.local[step]
        for checkpoint in reversed(line):
            for name in store.at(step).defs.changed(checkpoint.defs):
                value = checkpoint.defs.get(name)
                state = state.remove(name) if value is None else state.set(name, value)
            step = checkpoint.id
            self.local[step] = state
        return state

    def filler(self, key: str, value: str) -> str | None:
        """What in a value is filler, in words; None where nothing is, or where it is one that has a name."""
        said = self.fillers.of(value)
        return None if said is None or self.known.name_of(value) is not None else f"{key} {said}"

    def learn(self, record: Record, state: bool = True) -> None:
        """Takes in a record that has been judged."""
        if isinstance(record, Preamble):
            later = self._later or Later(self._asked_of(self._state))
            for name, value in record.defs.items():
                later.set(name, value)
            if record.defs or not self.spoken:
                self._later = later
            self.laws.update(record.laws)
            self.law_texts.update(record.laws)
        if not isinstance(record, CspMessage):
            return
        if self._later is not None:
            self._add()
        self.spoken = True
        self.agents.update(name for name in (record.sender, record.receiver) if name)
        block = record.block
        if isinstance(block, Task):
            self.tasks[block.id] = record.ctx
            self.final.pop(block.id, None)
        elif isinstance(block, Result):
            self.produced.update(token.strip() for token in (block.get("PRODUCED") or "").split(","))
            if block.get("STATUS") in ("OK", "FAIL"):
                self.final.setdefault(block.id, block.get("STATUS") or "")
        elif isinstance(block, FileOp):
            path = block.get("PATH") or ""
            (self.files.discard if block.op == "DELETE" else self.files.add)(path)
        elif isinstance(block, Patch) and state:
            self.patch(block)

    def forget(self, room: int) -> None:
        """Forgets the oldest tasks, and some agents, results and files, beyond ``room`` of each; and the states that no
        message can come from any more."""
        if self._later is not None:
            self._add()
        while len(self.tasks) > room:
            name = next(iter(self.tasks))
            del self.tasks[name]
            self.final.pop(name, None)
        for names in (self.agents, self.produced, self.files):
            while len(names) > room:
                names.pop()
        if isinstance(self.passed, set) and len(self.passed) > room:
            self.passed = GivenIds("C", room, self.passed)
        if len(self.local) > 2 * (room + 1):
            kept = self.named()
            self.local = {name: state for name, state in self.local.items() if name in kept}

    def named(self) -> set[str]:
        """The checkpoints from which a message may come: the head, and those at which a task was given."""
        return {self.head, *(ctx for ctx in self.tasks.values() if ctx is not None)}

    def patch(self, block: Patch) -> None:
        """Takes in what a patch changes."""
        before = self.before(block)
        later = Later(before)
        for sign, name, value in block.ops:
            if sign == "-":
                later.remove(name)
            else:
                later.set(name, value or "")
        state = later.added_to(before.state)
        self._asked = Asked(state)
        if block.apply is not None and not (self.store is not None and block.apply in self.store):
            self.passed.add(self.head)
            self.head, self._state = block.apply, state
            self.local[block.apply] = state


Found = Iterator[tuple[Reason, str, str]]
_WARNING, _INFO = "warning", "info"


class Linter:
    """The token rules over the records of a conversation, one after the other. store: the state before the first."""

    def __init__(self, store: Store | None = None) -> None:
        self.context = Context(store)
        """What is known: :mod:`turnwire.csp.settling` shares it."""

    @property
    def laws(self) -> dict[str, str]:
        """The laws that were stated so far."""
        return self.context.laws

    @property
    def defs(self) -> Mapping[str, str]:
        """What is defined at the head."""
        return self.context.state.defs

    def feed(self, record: Record) -> list[Issue]:
        """What the token rules say of the next record; ``where`` is its line."""
        issues = self.found(record)
        self.context.learn(record)
        return issues

    def found(self, record: Record) -> list[Issue]:
        """The same of a record that is not taken in."""
        context = self.context
        context.take(record)
        kind: type = type(record)
        block: type = type(record.block) if isinstance(record, CspMessage) else type(None)
        issues = []
        for rule in _rules_of(kind, block):
            for reason, severity, text in rule(record, context):
                issues.append(Issue(reason, record.line, severity, text))
        return issues


def lint(document: Document | CspMessage, store: Store | None = None) -> list[Issue]:
    """The token rules: facts as "warning" (undef, ctx_stale, no_task, dup_result), heuristics as "info" (restate,
    expanded, filler, full_rewrite, synonym).

    Judged against what the document itself and ``store`` (the state before it) define. ``where`` is the first line of
    the record. Raises TypeError for what is neither.
    """
    expect(document, Record | Document, "a Document or a CSP/1 record is judged")
    records: list[Record] = document.records if isinstance(document, Document) else [document]
    linter = Linter(store)
    return [issue for record in records for issue in linter.feed(record)]


def _values(record: Record) -> Iterator[tuple[str, str]]:
    """(key, value) of a message's values, without the content of files."""
    block = record.block if isinstance(record, CspMessage) else None
    if block is not None and not isinstance(block, Patch):
        content = "CONTENT" if isinstance(block, FileOp) else None
        yield from ((key, value) for key, value in block.fields if key != content)


def _tokens(value: str) -> list[str]:
    """What is separated by commas or lines."""
    return [token.strip() for token in value.replace("\n", ",").split(",")]


def _restate(record: Record, context: Context) -> Found:
    if isinstance(record, Preamble) and context.spoken:
        for name in record.defs:
            if context.known.value_of(name) == record.defs[name]:
                yield Reason.RESTATE, _INFO, f"{name} is defined already: name the checkpoint in CTX"
        for law in record.laws:
            if context.laws.get(law) == record.laws[law]:
                yield Reason.RESTATE, _INFO, f"{law} is known already"
    if not isinstance(record, CspMessage) or record.block is None:
        return
    if isinstance(record.block, Patch):
        before = context.before(record.block)
        for sign, name, value in record.block.ops:
            if sign == "~" and before.value_of(name) == value:
                yield Reason.RESTATE, _INFO, f"{name} already has this value"
        return
    for key, value in record.block.fields:
        if isinstance(record.block, FileOp) and key == "CONTENT":
            continue
        if _DEFINES.search(value):
            yield Reason.RESTATE, _INFO, f"{key} repeats DEF or LAWS: name the checkpoint in CTX"
        for law in context.law_texts.within(value, MOST_REPEATED):
            yield Reason.RESTATE, _INFO, f"{key} repeats {law}"


def _expanded(record: Record, context: Context) -> Found:
    if not isinstance(record, CspMessage):
        return
    names = context.at(record.ctx).names
    if not names:
        return
    headers = [("FROM", _tokens(record.sender or "")), ("TO", _tokens(record.receiver or ""))]
    for key, tokens in (*headers, *context.tokens):
        for token in tokens:
            name = names.get(token) if token else None
            if name is not None and name != token:
                yield Reason.EXPANDED, _INFO, f"{key} writes {token!r} out: its id is {name}"


def _undef(record: Record, context: Context) -> Found:
    if not isinstance(record, CspMessage):
        return
    defs = context.at(record.ctx).defs
    for key, tokens in context.tokens if defs else ():
        if key not in _SCOPES:
            continue
        for token in tokens:
            if (
                not DEFINED_NAME.fullmatch(token)
                or GIVEN_ID.fullmatch(token)
                or token in (record.sender, record.receiver)
            ):
                continue
            if token not in context.agents and token not in context.produced and token not in defs:
                yield Reason.UNDEF, _WARNING, f"{key} names {token}, which is not defined at {record.ctx}"


def _ctx_stale(record: Record, context: Context) -> Found:
    if not isinstance(record, CspMessage) or record.ctx not in context.passed or record.ctx == context.head:
        return
    block = record.block
    task = block.id if isinstance(block, Result) else block.get("AT") if isinstance(block, Error) else None
    if task is None or context.tasks.get(task) != record.ctx:  # an answer may be given where its task was
        yield Reason.CTX_STALE, _WARNING, f"CTX is {record.ctx}, the head is {context.head}"


def _no_task(record: Record, context: Context) -> Found:
    block = record.block if isinstance(record, CspMessage) else None
    if isinstance(block, Result) and block.id not in context.tasks:
        yield Reason.NO_TASK, _WARNING, f"no TASK {block.id} was given"
    if isinstance(block, Error):
        at = block.get("AT") or ""
        if TASK_ID.fullmatch(at) and at not in context.tasks:
            yield Reason.NO_TASK, _WARNING, f"no TASK {at} was given"


def _dup_result(record: Record, context: Context) -> Found:
    block = record.block if isinstance(record, CspMessage) else None
    if isinstance(block, Result) and block.id in context.final:
        yield Reason.DUP_RESULT, _WARNING, f"{block.id} was answered already: {context.final[block.id]}"


def _filler(record: Record, context: Context) -> Found:
    if isinstance(record, Junk):
        told = context.filler("the text", record.text)
        if told is not None:
            yield Reason.FILLER, _INFO, told
        return
    for key, value in context.values:
        told = context.filler(key, value)
        if told is not None:
            yield Reason.FILLER, _INFO, told


def _full_rewrite(record: Record, context: Context) -> Found:
    block = record.block if isinstance(record, CspMessage) else None
    if isinstance(block, Patch):
        before = context.before(block)
        size = before.state.size
        if len(before.state.defs) >= REWRITE_LEAST:
            names = {op.name for op in block.ops}
            old = ((name, before.value_of(name)) for name in names)
            touched = sum(size_of(name, value) for name, value in old if value is not None)
            if touched >= REWRITE_SHARE * size:
                text = f"the patch writes over {touched} of {size} bytes of {block.base}"
                yield Reason.FULL_REWRITE, _INFO, text
    if isinstance(block, FileOp) and block.op == "CREATE" and block.get("PATH") in context.files:
        yield Reason.FULL_REWRITE, _INFO, f"{block.get('PATH')} is there already: send a PATCH"


def _synonym(record: Record, context: Context) -> Found:
    if isinstance(record, Preamble):
        later = Later(context.known)
        new = list(record.defs.items())
    elif isinstance(record, CspMessage) and isinstance(record.block, Patch):
        later = Later(context.before(record.block))
        for op in record.block.ops:
            later.remove(op.name)
        new = [(op.name, op.value or "") for op in record.block.ops if op.sign != "-"]
    else:
        return
    for number, (name, value) in enumerate(new, 1):
        other = later.name_of(value)
        if other is not None and other != name and value:
            yield Reason.SYNONYM, _INFO, f"{name} and {other} both stand for {value!r}"
        if number < len(new):
            later.set(name, value)


Rule = Callable[[Record, Context], Found]
_RULES: tuple[tuple[Rule, tuple[type, ...]], ...] = (
    (_restate, (CspMessage, Preamble)),
    (_expanded, (CspMessage,)),
    (_undef, (CspMessage,)),
    (_ctx_stale, (CspMessage,)),
    (_no_task, (Result, Error)),
    (_dup_result, (Result,)),
    (_filler, (CspMessage, Junk)),
    (_full_rewrite, (Patch, FileOp)),
    (_synonym, (Preamble, Patch)),
)
"""Each rule, and the records or blocks of messages that it can say something of."""


@cache
def _rules_of(record: type, block: type) -> tuple[Rule, ...]:
    return tuple(rule for rule, kinds in _RULES if issubclass(record, kinds) or issubclass(block, kinds))
