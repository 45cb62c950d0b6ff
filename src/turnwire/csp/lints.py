"""The token rules [TOKEN RULES], judged against what a conversation has defined so far.

undef (of a name that was defined at some checkpoint), ctx_stale, no_task and dup_result are facts: "warning". restate,
expanded, filler, full_rewrite, synonym and undef of any other name are heuristics: "info", which no clause fails by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.csp.faults import explain
from turnwire.csp.messages import (
    CspMessage,
    Document,
    Error,
    FileOp,
    Generic,
    Junk,
    Patch,
    Preamble,
    Record,
    Result,
    Task,
)
from turnwire.csp.prose import filler
from turnwire.csp.state import State, bytes_of
from turnwire.errors import Issue, Reason, expect

if TYPE_CHECKING:
    from turnwire.csp.store import Store

TASK_ID = re.compile("T[0-9]+")
_DEFINED_NAME = re.compile(r"[A-Z_][A-Z0-9_]+")
_GIVEN_ID = re.compile(r"[A-Z][0-9]+")
_DEFINES = re.compile(r"(?m)^(?:DEF [A-Z_][A-Z0-9_]* =|LAWS$)")
LAW_TEXT_LEAST = 12
MOST_REPEATED = 64
"""Laws that are named of those that one value repeats: any number of laws may say the same."""
_REMEMBERED, _SHORT = 4096, 64
"""Texts whose filler is remembered, and characters of the longest that is."""
REWRITE_LEAST, REWRITE_SHARE = 3, 0.9
"""A patch rewrites a state of at least so many names where it writes over this share of its bytes."""


class Linter:
    """The token rules over the records of a conversation, one after the other. store: the state before the first.

    What is known when a record is judged: the state, tasks, files; and the values of that record.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._fillers: dict[str, str | None] = {}  # of short texts: statuses, agents and paths come again
        self.state = State() if store is None else State(store.at("C0").defs, store.laws)
        self.tasks: dict[str, str | None] = {}  # id -> the CTX that it was given at
        self.agents: set[str] = set()
        self.produced: set[str] = set()
        self.final: dict[str, str] = {}
        self.files: set[str] = set()
        self.values: list[tuple[str, str]] = []  # of the record that is judged: (key, value)
        self.text = ""  # these values
        if store is not None:
            self.state.begun = True
            for entry in store.log:
                self.feed(entry.message, judge=False)

    def feed(self, record: Record, judge: bool = True) -> list[Issue]:
        """Judges the next record by the token rules; ``where`` is its line."""
        issues = self.found(record) if judge else []
        if isinstance(record, (CspMessage, Preamble)):
            self.state.feed(record)
        self.learn(record)
        return issues

    def found(self, record: Record) -> list[Issue]:
        """The same of a record that is not taken in."""
        block = record.block if isinstance(record, CspMessage) else None
        self.values = []
        if block is not None and not isinstance(block, Patch):
            self.values = block.fields
            if isinstance(block, FileOp):  # content of files is no value
                self.values = [field for field in block.fields if field[0] != "CONTENT"]
        self.text = "\n".join([value for _, value in self.values])
        kinds: tuple[type, type] = type(record), type(block)
        return [
            Issue(rule.reason, record.line, rule.severity, text)
            for rule in _rules_of(*kinds)
            for text in rule.find(record, self)
        ]

    def filler(self, key: str, value: str) -> str | None:
        """The filler in a value, in words; None where nothing is, or where it is one that has a name."""
        if value in self._fillers:
            said = self._fillers[value]
        else:
            said = filler(value)
            if len(value) <= _SHORT and len(self._fillers) < _REMEMBERED:
                self._fillers[value] = said
        return None if said is None or self.state.name_of(value, self.state.defs) else f"{key} {said}"

    def learn(self, record: Record) -> None:
        """Takes in the tasks, agents, results and files of a record that the state has taken."""
        if not isinstance(record, CspMessage):
            return
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

    def forget(self, room: int) -> None:
        """Forgets the oldest tasks, and some agents, results and files, beyond ``room`` of each; and the states that no
        message can come from any more."""
        while len(self.tasks) > room:
            name = next(iter(self.tasks))
            del self.tasks[name]
            self.final.pop(name, None)
        for names in (self.agents, self.produced, self.files):
            while len(names) > room:
                names.pop()
        self.state.forget({ctx for ctx in self.tasks.values() if ctx is not None}, room)


def lint(document: Document | CspMessage, store: Store | None = None) -> list[Issue]:
    """The token rules: facts as "warning" (undef of what was defined, ctx_stale, no_task, dup_result), heuristics as
    "info" (restate, expanded, filler, full_rewrite, synonym).

    Judged against what the document itself and ``store`` (the state before it) define. ``where`` is the first line of
    the record. Raises TypeError for what is neither.
    """
    expect(document, Record | Document, "a Document or a CSP/1 record is judged")
    records: list[Record] = document.records if isinstance(document, Document) else [document]
    linter = Linter(store)
    return [issue for record in records for issue in linter.feed(record)]


def _tokens(value: str) -> list[str]:
    """The parts between commas or lines."""
    return [token.strip() for token in value.replace("\n", ",").split(",")]


# --- the rules ------------------------------------------------------------------------------------------------------

Find = Callable[[Any, Linter], Iterable[str]]


class Rule(NamedTuple):
    """A rule: the records, or blocks of messages, that it can say something of; what it says of one, in words."""

    reason: Reason
    kinds: tuple[type, ...]
    severity: str
    find: Find


_RULES: list[Rule] = []


def _rule(reason: Reason, *kinds: type, severity: str = "info") -> Callable[[Find], Find]:
    def add(find: Find) -> Find:
        _RULES.append(Rule(reason, kinds, severity, find))
        return find

    return add


@cache
def _rules_of(record: type, block: type) -> tuple[Rule, ...]:
    return tuple(rule for rule in _RULES if issubclass(record, rule.kinds) or issubclass(block, rule.kinds))


@_rule(Reason.RESTATE, Preamble)
def _stated_late(record: Preamble, linter: Linter) -> Iterable[str]:
    return [explain(Reason.RESTATE)] if linter.state.begun else []


@_rule(Reason.RESTATE, Patch)
def _patched_alike(record: Any, linter: Linter) -> Iterator[str]:
    before = linter.state.at(record.block.base)
    for sign, name, value in record.block.ops:
        if sign == "~" and before.get(name) == value:
            yield f"{name} already has this value"


@_rule(Reason.RESTATE, Task, Result, Error, FileOp, Generic)
def _restated(record: Any, linter: Linter) -> Iterator[str]:
    if "DEF " not in linter.text and "LAWS" not in linter.text and not _repeated(linter, linter.text):
        return
    for key, value in linter.values:
        if _DEFINES.search(value):
            yield f"{key} repeats DEF or LAWS: name the checkpoint in CTX"
        for law in _repeated(linter, value):
            yield f"{key} repeats {law}"


def _repeated(linter: Linter, value: str) -> list[str]:
    """The first laws whose text is in a value."""
    found = (law for law, text in linter.state.laws.items() if len(text) >= LAW_TEXT_LEAST and text in value)
    return list(islice(found, MOST_REPEATED))


@_rule(Reason.EXPANDED, CspMessage)
def _expanded(record: CspMessage, linter: Linter) -> Iterator[str]:
    names = linter.state.names
    sender, receiver = record.sender or "", record.receiver or ""
    if not names or names.keys().isdisjoint(_tokens(f"{sender},{receiver},{linter.text}")):
        return
    defs = linter.state.at(record.ctx)
    for key, value in (("FROM", sender), ("TO", receiver), *linter.values):
        for token in _tokens(value):
            name = linter.state.name_of(token, defs) if token in names else None
            if token and name is not None and name != token:
                yield f"{key} writes {token!r} out: its id is {name}"


def _undefined(record: CspMessage, linter: Linter, scopes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The keys and tokens that look like names, and are neither defined, nor agents, nor results."""
    defs = linter.state.at(record.ctx)
    for key, value in (("TO", record.receiver or ""), *linter.values) if defs else ():
        for token in _tokens(value) if key in scopes else ():
            if token in linter.agents or token in linter.produced or token in defs:
                continue
            if _DEFINED_NAME.fullmatch(token) and not _GIVEN_ID.fullmatch(token):
                yield key, token


@_rule(Reason.UNDEF, CspMessage, severity="warning")
def _undefined_here(record: CspMessage, linter: Linter) -> Iterator[str]:
    """A name that was defined at another checkpoint is a fact."""
    if len(linter.state.defined) <= len(linter.state.at(record.ctx)):
        return
    for key, token in _undefined(record, linter, ("IN", "OWNER", "TO")):
        if token in linter.state.defined:
            yield f"{key} names {token}, which is not defined at {record.ctx}"


@_rule(Reason.UNDEF, CspMessage)
def _undefined_anywhere(record: CspMessage, linter: Linter) -> Iterator[str]:
    """What looks like a name in IN may be a file (LICENSE), and in OWNER and TO it is an agent."""
    for key, token in _undefined(record, linter, ("IN",)):
        if token not in linter.state.defined and token not in (record.sender, record.receiver):
            yield f"{key} names {token}, which no checkpoint defines"


@_rule(Reason.CTX_STALE, CspMessage, severity="warning")
def _stale(record: CspMessage, linter: Linter) -> Iterable[str]:
    state, block = linter.state, record.block
    if record.ctx == state.head or record.ctx not in state.checkpoints:
        return []
    task = block.id if isinstance(block, Result) else block.get("AT") if isinstance(block, Error) else None
    if task is not None and linter.tasks.get(task) == record.ctx:  # an answer may be given where its task was
        return []
    return [f"CTX is {record.ctx}, the head is {state.head}"]


@_rule(Reason.NO_TASK, Result, Error, severity="warning")
def _no_task(record: Any, linter: Linter) -> Iterable[str]:
    block = record.block
    task = block.id if isinstance(block, Result) else block.get("AT") or ""
    missing = task not in linter.tasks and (isinstance(block, Result) or TASK_ID.fullmatch(task))
    return [f"no TASK {task} was given"] if missing else []


@_rule(Reason.DUP_RESULT, Result, severity="warning")
def _answered(record: Any, linter: Linter) -> Iterable[str]:
    task = record.block.id
    return [f"{task} was answered already: {linter.final[task]}"] if task in linter.final else []


@_rule(Reason.FILLER, Junk)
def _filler_text(record: Junk, linter: Linter) -> Iterable[str]:
    return filter(None, [linter.filler("the text", record.text)])


@_rule(Reason.FILLER, CspMessage)
def _filler(record: CspMessage, linter: Linter) -> Iterable[str]:
    return filter(None, [linter.filler(key, value) for key, value in linter.values])


@_rule(Reason.FULL_REWRITE, Patch)
def _rewritten(record: Any, linter: Linter) -> Iterator[str]:
    block = record.block
    before = linter.state.at(block.base)
    if len(before) >= REWRITE_LEAST:
        touched = sum(bytes_of(name, before.get(name)) for name in {op.name for op in block.ops})
        if touched >= REWRITE_SHARE * before.size:
            yield f"the patch writes over {touched} of {before.size} bytes of {block.base}"


@_rule(Reason.FULL_REWRITE, FileOp)
def _created_again(record: Any, linter: Linter) -> Iterable[str]:
    block = record.block
    again = block.op == "CREATE" and block.get("PATH") in linter.files
    return [f"{block.get('PATH')} is there already: send a PATCH"] if again else []


@_rule(Reason.SYNONYM, Preamble)
def _synonym(record: Preamble, linter: Linter) -> Iterable[str]:
    return [] if linter.state.begun else _synonyms(list(record.defs.items()), "C0", linter)


@_rule(Reason.SYNONYM, Patch)
def _patched_synonym(record: Any, linter: Linter) -> Iterable[str]:
    block = record.block
    return _synonyms([(op.name, op.value or "") for op in block.ops if op.sign != "-"], block.base, linter, block.ops)


def _synonyms(new: list[tuple[str, str]], base: str, linter: Linter, changed: Iterable[Any] = ()) -> Iterator[str]:
    state = linter.state
    names, here = {op.name for op in changed}, dict[str, str]()
    for name, value in new:
        other = here.setdefault(value, state.name_of(value, state.at(base), names) or name)
        if value and other != name:
            yield f"{name} and {other} both stand for {value!r}"
