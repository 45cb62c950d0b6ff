"""What the token rules, the laws and the tasks of a conversation say [TOKEN RULES, PROJECT LAWS, INTENT TYPES]."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from turnwire.csp.messages import CspMessage, Document, Error, FileOp, Junk, Patch, Preamble, Record, Result, Task
from turnwire.csp.persistent_map import PersistentMap
from turnwire.errors import Issue, Reason, expect

if TYPE_CHECKING:
    from turnwire.csp.store import Store

_NAME = re.compile(r"[A-Z_][A-Z0-9_]+")
_ID = re.compile(r"[A-Z][0-9]+")
_DEFINES = re.compile(r"(?m)^(?:DEF [A-Z_][A-Z0-9_]* =|LAWS$)")
_SCOPES = ("IN", "OWNER")
FILLER = re.compile(
    r"\b(?:please|thanks|thank you|kindly|sorry|apologi[sz]e\w*|apologies|hello|hi there|dear|greetings|of course|"
    r"certainly|happy to|glad to|let me know|hope this helps|feel free|i think|i believe|i would like|as an ai|"
    r"in order to|basically|just wanted|no worries|you're welcome|best regards|cheers)\b|\bsure[,!]",
    re.IGNORECASE,
)
"""Politeness and padding (token rule 4)."""
_LAW_TEXT_LEAST = 12


class _Context:
    """What is known when a record is judged: names, checkpoints, tasks, files."""

    def __init__(self, store: Store | None) -> None:
        self.store = store
        self.local: dict[str, PersistentMap] = {}
        self.defs = PersistentMap() if store is None else store.defs
        self.laws: dict[str, str] = {} if store is None else dict(store.laws)
        self.head = "C0" if store is None else store.head
        self.passed: set[str] = set()  # checkpoints that were the head before
        self.tasks: set[str] = set()
        self.agents: set[str] = set()
        self.produced: set[str] = set()
        self.final: dict[str, str] = {}
        self.files: set[str] = set()
        self.spoken = False
        if store is not None:
            self.passed.update(name for name in store.checkpoints if name != self.head)
            for entry in store.log:
                self.learn(entry.message, state=False)
            self.spoken = True

    def at(self, ctx: str | None) -> PersistentMap:
        """The names at a checkpoint; at the head where it is not known."""
        if ctx in self.local:
            return self.local[ctx]
        if self.store is not None and ctx in self.store:
            return self.store.at(ctx or "").defs
        return self.defs

    def learn(self, record: Record, state: bool = True) -> None:
        """Takes in a record that has been judged."""
        if isinstance(record, Preamble):
            for name, value in record.defs.items():
                self.defs = self.defs.set(name, value)
            self.laws.update(record.laws)
            if not self.spoken:
                self.local["C0"] = self.defs
        if not isinstance(record, CspMessage):
            return
        self.spoken = True
        self.agents.update(name for name in (record.sender, record.receiver) if name)
        block = record.block
        if isinstance(block, Task):
            self.tasks.add(block.id)
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

    def patch(self, block: Patch) -> None:
        defs = self.at(block.base)
        for sign, name, value in block.ops:
            if sign != "-":
                defs = defs.set(name, value or "")
            elif name in defs:
                defs = defs.remove(name)
        if block.apply is not None and not (self.store is not None and block.apply in self.store):
            self.passed.add(self.head)
            self.head, self.defs = block.apply, defs
            self.local[block.apply] = defs


Found = Iterator[tuple[Reason, str, str]]
_WARNING, _INFO = "warning", "info"


def lint(document: Document | CspMessage, store: Store | None = None) -> list[Issue]:
    """The token rules, as advice.

    restate, expanded, undef, ctx_stale, no_task, dup_result, filler, full_rewrite, synonym.

    Judged against what the document itself and ``store`` (the state before it) define. ``where`` is the first line of
    the record. Raises TypeError for what is neither.
    """
    expect(document, Record | Document, "a Document or a CSP/1 record is judged")
    records: list[Record] = document.records if isinstance(document, Document) else [document]
    context = _Context(store)
    issues = []
    for record in records:
        for rule in _RULES:
            issues += [Issue(reason, record.line, severity, text) for reason, severity, text in rule(record, context)]
        context.learn(record)
    return issues


def _values(record: Record) -> Iterator[tuple[str, str]]:
    """(key, value) of a message's values that stand on one line."""
    if isinstance(record, CspMessage) and record.block is not None and not isinstance(record.block, Patch):
        yield from ((key, value) for key, value in record.block.fields if "\n" not in value)


def _tokens(value: str) -> list[str]:
    return [token.strip() for token in value.split(",")]


def _restate(record: Record, context: _Context) -> Found:
    if isinstance(record, Preamble) and context.spoken:
        for name in record.defs:
            if context.defs.get(name) == record.defs[name]:
                yield Reason.RESTATE, _WARNING, f"{name} is defined already: name the checkpoint in CTX"
        for law in record.laws:
            if context.laws.get(law) == record.laws[law]:
                yield Reason.RESTATE, _WARNING, f"{law} is known already"
    if not isinstance(record, CspMessage) or record.block is None:
        return
    if isinstance(record.block, Patch):
        before = context.at(record.block.base)
        for sign, name, value in record.block.ops:
            if sign == "~" and before.get(name) == value:
                yield Reason.RESTATE, _WARNING, f"{name} already has this value"
        return
    for key, value in record.block.fields:
        if isinstance(record.block, FileOp) and key == "CONTENT":
            continue
        if _DEFINES.search(value):
            yield Reason.RESTATE, _WARNING, f"{key} repeats DEF or LAWS: name the checkpoint in CTX"
        for law, text in context.laws.items():
            if len(text) >= _LAW_TEXT_LEAST and text in value:
                yield Reason.RESTATE, _WARNING, f"{key} repeats {law}"


def _expanded(record: Record, context: _Context) -> Found:
    if not isinstance(record, CspMessage):
        return
    names = {value: name for name, value in reversed(list(context.at(record.ctx).items())) if value and value != name}
    headers = [("FROM", record.sender or ""), ("TO", record.receiver or "")]
    for key, value in [*headers, *_values(record)] if names else ():
        for token in _tokens(value):
            if token in names:
                yield Reason.EXPANDED, _WARNING, f"{key} writes {token!r} out: its id is {names[token]}"


def _undef(record: Record, context: _Context) -> Found:
    if not isinstance(record, CspMessage):
        return
    defs = context.at(record.ctx)
    for key, value in _values(record) if defs else ():
        if key not in _SCOPES:
            continue
        for token in _tokens(value):
            known = (
                token in defs or token in context.produced or token in context.agents | {record.sender, record.receiver}
            )
            if _NAME.fullmatch(token) and not _ID.fullmatch(token) and not known:
                yield Reason.UNDEF, _WARNING, f"{key} names {token}, which is not defined at {record.ctx}"


def _ctx_stale(record: Record, context: _Context) -> Found:
    if isinstance(record, CspMessage) and record.ctx in context.passed and record.ctx != context.head:
        yield Reason.CTX_STALE, _INFO, f"CTX is {record.ctx}, the head is {context.head}"


def _no_task(record: Record, context: _Context) -> Found:
    block = record.block if isinstance(record, CspMessage) else None
    if isinstance(block, Result) and block.id not in context.tasks:
        yield Reason.NO_TASK, _WARNING, f"no TASK {block.id} was given"
    if isinstance(block, Error):
        at = block.get("AT") or ""
        if re.fullmatch("T[0-9]+", at) and at not in context.tasks:
            yield Reason.NO_TASK, _WARNING, f"no TASK {at} was given"


def _dup_result(record: Record, context: _Context) -> Found:
    block = record.block if isinstance(record, CspMessage) else None
    if isinstance(block, Result) and block.id in context.final:
        yield Reason.DUP_RESULT, _WARNING, f"{block.id} was answered already: {context.final[block.id]}"


def _filler(record: Record, context: _Context) -> Found:
    values = [("the text", record.text)] if isinstance(record, Junk) else list(_values(record))
    defined = set(context.defs.values())
    for key, value in values:
        match = FILLER.search(value)
        if match is not None and value not in defined:
            yield Reason.FILLER, _WARNING, f"{key} says {match[0]!r}"


def _full_rewrite(record: Record, context: _Context) -> Found:
    block = record.block if isinstance(record, CspMessage) else None
    if isinstance(block, Patch):
        before = context.at(block.base)
        if len(before) > 1 and before.keys() <= {op.name for op in block.ops}:
            yield Reason.FULL_REWRITE, _WARNING, f"the patch touches each of the {len(before)} names of {block.base}"
    if isinstance(block, FileOp) and block.op == "CREATE" and block.get("PATH") in context.files:
        yield Reason.FULL_REWRITE, _WARNING, f"{block.get('PATH')} is there already: send a PATCH"


def _synonym(record: Record, context: _Context) -> Found:
    new: list[tuple[str, str]] = []
    before: Mapping[str, str] = context.defs
    if isinstance(record, Preamble):
        new = list(record.defs.items())
    elif isinstance(record, CspMessage) and isinstance(record.block, Patch):
        before = context.at(record.block.base)
        gone = {op.name for op in record.block.ops}
        before = {name: value for name, value in before.items() if name not in gone}
        new = [(op.name, op.value or "") for op in record.block.ops if op.sign != "-"]
    if not new:
        return
    names = {value: name for name, value in before.items()}
    for name, value in new:
        other = names.setdefault(value, name)
        if other != name and value:
            yield Reason.SYNONYM, _WARNING, f"{name} and {other} both stand for {value!r}"


_RULES: tuple[Callable[[Record, _Context], Found], ...] = (
    _restate,
    _expanded,
    _undef,
    _ctx_stale,
    _no_task,
    _dup_result,
    _filler,
    _full_rewrite,
    _synonym,
)

# --- laws -----------------------------------------------------------------------------------------------------------

_LAW = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s+(only|first)")
"""What stands behind the arrow of a routing law."""


class Law(NamedTuple):
    """A routing law, ``subject -> AGENT only|first``."""

    id: str
    subject: str
    agent: str
    mode: str


def routing_laws(laws: Mapping[str, str]) -> list[Law]:
    """The laws that route; a text of another form is no routing law and is left out."""
    expect(laws, Mapping, "laws are a mapping of ids to texts")
    found = ((name, _routed(text.strip())) for name, text in laws.items())
    return [Law(name, *parts) for name, parts in found if parts is not None]


def _routed(text: str) -> tuple[str, str, str] | None:
    """Subject, agent and mode of a routing law, or None. No agent's name has an arrow in it, so that the last one is
    it; a pattern of the whole would try each."""
    subject, _, target = text.rpartition("->")
    match = _LAW.fullmatch(target) if subject and "\n" not in subject.rstrip() else None
    return None if match is None else (subject.rstrip(), match[1], match[2])


Classifier = Callable[[CspMessage, "list[Law]"], Iterable[str]]


def judge_laws(
    document: Document, laws: Mapping[str, str], classify: Classifier, defs: Mapping[str, str] | None = None
) -> list[Issue]:
    """Tasks that went to the wrong agent.

    ``classify(message, laws)`` says which laws a task falls under: their ids. ``only``: the task must go to that agent
    (OWNER, or TO without one). ``first``: a task under the same law must have gone to that agent before any other may.
    ``defs`` let an agent be named by the value of its DEF, too.
    """
    expect(document, Document, "a Document is judged by its laws")
    known = {law.id: law for law in routing_laws(laws)}
    done: set[str] = set()
    issues = []
    for message in document.messages:
        if not isinstance(message.block, Task):
            continue
        agent = message.block.get("OWNER") or message.receiver or ""
        for name in classify(message, list(known.values())):
            law = known.get(name)
            if law is None:
                continue
            if agent in (law.agent, (defs or {}).get(law.agent)):
                done.add(name)
            elif law.mode == "only" or name not in done:
                text = f"{law.id}: {law.subject} goes to {law.agent} {law.mode}, {message.block.id} went to {agent}"
                issues.append(Issue(Reason.LAW_BROKEN, message.line, _WARNING, text))
    return issues


# --- tasks ----------------------------------------------------------------------------------------------------------


class Board(NamedTuple):
    """Tasks by what became of them: owner -> ids, in the order of the log.

    open: no final answer yet (PARTIAL is none); answered: RESULT OK; failed: RESULT FAIL or an ERROR; orphaned:
    answers to tasks nobody gave, under the one who answered.
    """

    open: dict[str, list[str]]
    answered: dict[str, list[str]]
    failed: dict[str, list[str]]
    orphaned: dict[str, list[str]]


def board(messages: Document | Iterable[CspMessage]) -> Board:
    """The task board of a log. A task given again is open again; a later answer replaces an earlier one."""
    owners: dict[str, str] = {}
    states: dict[str, str] = {}
    orphans: dict[str, dict[str, None]] = {}
    for message in messages.messages if isinstance(messages, Document) else messages:
        expect(message, CspMessage, "a board is made of CSP/1 messages")
        block = message.block
        if isinstance(block, Task):
            owners[block.id] = block.get("OWNER") or message.receiver or ""
            states[block.id] = "open"
            continue
        if isinstance(block, Result):
            task, state = block.id, {"OK": "answered", "FAIL": "failed"}.get(block.get("STATUS") or "", "open")
        elif isinstance(block, Error):
            task, state = block.get("AT") or "", "failed"
            if not re.fullmatch("T[0-9]+", task):
                continue
        else:
            continue
        if task in states:
            states[task] = state
        else:
            orphans.setdefault(message.sender or "", {})[task] = None
    result = Board({}, {}, {}, {name: list(tasks) for name, tasks in orphans.items()})
    for task, state in states.items():
        group: dict[str, list[str]] = getattr(result, state)
        group.setdefault(owners[task], []).append(task)
    return result
