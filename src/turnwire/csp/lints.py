"""The token rules [TOKEN RULES], judged against what a conversation has defined so far.

undef (of a name that was defined at some checkpoint), ctx_stale, no_task and dup_result are facts: "warning". restate,
expanded, filler, full_rewrite, synonym and undef of any other name are heuristics: "info", which no clause fails by.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from turnwire.csp.faults import explain
from turnwire.csp.history import Definitions, Snapshot, size_of, state_of
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
from turnwire.errors import Issue, Reason, expect

if TYPE_CHECKING:
    from turnwire.csp.store import Store

_TASK_ID = re.compile("T[0-9]+")
_DEFINED_NAME = re.compile(r"[A-Z_][A-Z0-9_]+")
_GIVEN_ID = re.compile(r"[A-Z][0-9]+")
_DEFINES = re.compile(r"(?m)^(?:DEF [A-Z_][A-Z0-9_]* =|LAWS$)")
_SCOPES = ("IN", "OWNER", "TO")
LAW_TEXT_LEAST = 12
MOST_REPEATED = 64
"""Laws that are named of those that one value repeats: any number of laws may say the same."""
_REMEMBERED, _SHORT = 4096, 64
"""Texts whose filler is remembered, and characters of the longest that is."""
REWRITE_LEAST, REWRITE_SHARE = 3, 0.9
"""A patch rewrites a state of at least so many names where it writes over this share of its bytes."""


class Linter:
    """The token rules over the records of a conversation, one after the other. store: the state before the first.

    What is known when a record is judged: names, checkpoints, tasks, files; and the values of that record.
    """

    def __init__(self, store: Store | None = None) -> None:
        self.store = store
        self._fillers: dict[str, str | None] = {}  # of short texts: statuses, agents and paths come again
        self.local: dict[str, Definitions] = {}
        self.state = state_of({} if store is None else store.defs)
        """The definitions at the head."""
        self.laws: dict[str, str] = {} if store is None else dict(store.laws)
        self.head = "C0" if store is None else store.head
        self.passed: set[str] = set()  # checkpoints that were the head before
        self.tasks: dict[str, str | None] = {}  # id -> the CTX that it was given at
        self.agents: set[str] = set()
        self.defined: set[str] = set(self.state.defs)  # at some checkpoint, this one or another
        self.produced: set[str] = set()
        self.final: dict[str, str] = {}
        self.files: set[str] = set()
        self.spoken = False
        self.values: list[tuple[str, str]] = []  # of the record that is judged: (key, value)
        self.text = ""  # these values
        self.line = 1
        self.issues: list[Issue] = []  # what the rules said of it
        if store is not None:
            self.passed = {name for name in store.checkpoints if name != self.head}
            for entry in store.log:
                self.learn(entry.message, state=False)
            self.spoken = True

    def feed(self, record: Record) -> list[Issue]:
        """Judges the next record by the token rules; ``where`` is its line."""
        issues = self.found(record)
        self.learn(record)
        return issues

    def found(self, record: Record) -> list[Issue]:
        """The same of a record that is not taken in."""
        self._take(record)
        kinds: tuple[type, type] = type(record), type(record.block if isinstance(record, CspMessage) else None)
        for rule in _rules_of(*kinds):
            rule(record, self)
        return self.issues

    def _take(self, record: Record) -> None:
        """Takes the record that is judged now. Content of files is no value."""
        self.issues = []
        self.line = record.line
        self.values = []
        block = record.block if isinstance(record, CspMessage) else None
        if block is not None and not isinstance(block, Patch):
            self.values = block.fields
            if isinstance(block, FileOp):
                self.values = [field for field in block.fields if field[0] != "CONTENT"]
        self.text = "\n".join([value for _, value in self.values])

    def at(self, ctx: str | None) -> Definitions:
        """The names at a checkpoint; at the head where it is not known."""
        found = self.local.get(ctx or "")
        if found is None and ctx and self.store is not None and ctx in self.store:
            found = self.local[ctx] = self._beside(self.store.at(ctx).defs)
        return self.state if found is None else found

    def _beside(self, defs: Snapshot) -> Definitions:
        """The names at a checkpoint of the store, by what differs from the state known last: most are alike."""
        found = next(reversed(self.local.values()), self.state)
        for name in found.defs.changed(defs):
            found = found.having(name, defs.get(name))
        return found

    def tell(self, reason: Reason, text: str, severity: str = "info") -> None:
        """Notes what a rule says of the record: "warning" for a fact, "info" for a heuristic."""
        self.issues.append(Issue(reason, self.line, severity, text))

    def filler(self, key: str, value: str) -> str | None:
        """The filler in a value, in words; None where nothing is, or where it is one that has a name."""
        if value in self._fillers:
            said = self._fillers[value]
        else:
            said = filler(value)
            if len(value) <= _SHORT and len(self._fillers) < _REMEMBERED:
                self._fillers[value] = said
        return None if said is None or value in self.state.names else f"{key} {said}"

    def learn(self, record: Record, state: bool = True) -> None:
        """Takes in a record that has been judged."""
        if isinstance(record, Preamble) and not self.spoken:  # behind the first message it changes nothing
            for name, value in record.defs.items():
                self.state = self.state.having(name, value)
            self.defined.update(record.defs)
            self.local["C0"] = self.state
            self.laws.update(record.laws)
        if not isinstance(record, CspMessage):
            return
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
        elif isinstance(block, Patch):
            self.defined.update(name for _, name, _ in block.ops)
            if state:
                self.patch(block)

    def contradicted(self, record: Preamble) -> list[str]:
        """The names and laws of C0 that a later preamble states with another value."""
        first = self.local.get("C0", self.state)
        names = [name for name, value in record.defs.items() if first.defs.get(name) not in (None, value)]
        return names + [law for law, text in record.laws.items() if self.laws.get(law, text) != text]

    def forget(self, room: int) -> None:
        """Forgets the oldest tasks, and some agents, results and files, beyond ``room`` of each; and the states that no
        message can come from any more."""
        while len(self.tasks) > room:
            name = next(iter(self.tasks))
            del self.tasks[name]
            self.final.pop(name, None)
        for names in (self.agents, self.produced, self.files, self.defined):
            while len(names) > room:
                names.pop()
        if len(self.local) > 2 * (room + 1):
            kept = self.named()
            self.local = {name: state for name, state in self.local.items() if name in kept}

    def named(self) -> set[str]:
        """The checkpoints from which a message may come: the head, and those at which a task was given."""
        return {self.head, *(ctx for ctx in self.tasks.values() if ctx is not None)}

    def patch(self, block: Patch) -> None:
        """Takes in what a patch changes."""
        state = self.at(block.base)
        for sign, name, value in block.ops:
            state = state.having(name, None if sign == "-" else value or "")
        if block.apply is not None and not (self.store is not None and block.apply in self.store):
            self.passed.add(self.head)
            self.head, self.state = block.apply, state
            self.local[block.apply] = self.state


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


# --- the rules: each is given only the records that _RULES names for it -----------------------------------------------


def _restate_preamble(record: Any, linter: Linter) -> None:
    if linter.spoken:
        linter.tell(Reason.RESTATE, explain(Reason.RESTATE))


def _restate_patch(record: Any, linter: Linter) -> None:
    before = linter.at(record.block.base)
    for sign, name, value in record.block.ops:
        if sign == "~" and before.defs.get(name) == value:
            linter.tell(Reason.RESTATE, f"{name} already has this value")


def _restate(record: Any, linter: Linter) -> None:
    text = linter.text
    if "DEF " not in text and "LAWS" not in text and not _repeated(linter, text):
        return
    for key, value in linter.values:
        if _DEFINES.search(value):
            linter.tell(Reason.RESTATE, f"{key} repeats DEF or LAWS: name the checkpoint in CTX")
        for law in _repeated(linter, value):
            linter.tell(Reason.RESTATE, f"{key} repeats {law}")


def _repeated(linter: Linter, value: str) -> list[str]:
    """The first laws whose text is in a value."""
    found = (law for law, text in linter.laws.items() if len(text) >= LAW_TEXT_LEAST and text in value)
    return list(islice(found, MOST_REPEATED))


def _expanded(record: Any, linter: Linter) -> None:
    names = linter.at(record.ctx).names
    sender, receiver = record.sender or "", record.receiver or ""
    if not names or names.keys().isdisjoint(_tokens(f"{sender},{receiver},{linter.text}")):
        return
    for key, value in (("FROM", sender), ("TO", receiver), *linter.values):
        for token in _tokens(value):
            name = names.get(token) if token else None
            if name is not None and name != token:
                linter.tell(Reason.EXPANDED, f"{key} writes {token!r} out: its id is {name}")


def _undef(record: Any, linter: Linter) -> None:
    """A name that was defined at another checkpoint is a fact; what looks like a name in IN may be a file (LICENSE),
    and in OWNER and TO it is an agent."""
    defs = linter.at(record.ctx).defs
    if not defs:
        return
    for key, value in (("TO", record.receiver or ""), *linter.values):
        if key not in _SCOPES:
            continue
        for token in _tokens(value):
            if token in linter.agents or token in linter.produced or token in defs:
                continue
            if not _DEFINED_NAME.fullmatch(token) or _GIVEN_ID.fullmatch(token):
                continue
            if token in linter.defined:
                linter.tell(Reason.UNDEF, f"{key} names {token}, which is not defined at {record.ctx}", "warning")
            elif key == "IN" and token not in (record.sender, record.receiver):
                linter.tell(Reason.UNDEF, f"IN names {token}, which no checkpoint defines")


def _ctx_stale(record: Any, linter: Linter) -> None:
    if record.ctx not in linter.passed or record.ctx == linter.head:
        return
    block = record.block
    task = block.id if isinstance(block, Result) else block.get("AT") if isinstance(block, Error) else None
    if task is None or linter.tasks.get(task) != record.ctx:  # an answer may be given where its task was
        linter.tell(Reason.CTX_STALE, f"CTX is {record.ctx}, the head is {linter.head}", "warning")


def _no_task(record: Any, linter: Linter) -> None:
    block = record.block
    task = block.id if isinstance(block, Result) else block.get("AT") or ""
    if task not in linter.tasks and (isinstance(block, Result) or _TASK_ID.fullmatch(task)):
        linter.tell(Reason.NO_TASK, f"no TASK {task} was given", "warning")


def _dup_result(record: Any, linter: Linter) -> None:
    task = record.block.id
    if task in linter.final:
        linter.tell(Reason.DUP_RESULT, f"{task} was answered already: {linter.final[task]}", "warning")


def _filler_text(record: Any, linter: Linter) -> None:
    told = linter.filler("the text", record.text)
    if told is not None:
        linter.tell(Reason.FILLER, told)


def _filler(record: Any, linter: Linter) -> None:
    for key, value in linter.values:
        told = linter.filler(key, value)
        if told is not None:
            linter.tell(Reason.FILLER, told)


def _full_rewrite(record: Any, linter: Linter) -> None:
    block = record.block
    before = linter.at(block.base)
    if len(before.defs) >= REWRITE_LEAST:
        old = ((name, before.defs.get(name)) for name in {op.name for op in block.ops})
        touched = sum(size_of(name, value) for name, value in old if value is not None)
        if touched >= REWRITE_SHARE * before.size:
            text = f"the patch writes over {touched} of {before.size} bytes of {block.base}"
            linter.tell(Reason.FULL_REWRITE, text)


def _created_again(record: Any, linter: Linter) -> None:
    block = record.block
    if block.op == "CREATE" and block.get("PATH") in linter.files:
        linter.tell(Reason.FULL_REWRITE, f"{block.get('PATH')} is there already: send a PATCH")


def _synonym(record: Any, linter: Linter) -> None:
    if not linter.spoken:
        _tell_synonyms(list(record.defs.items()), linter.state, linter)


def _synonym_patch(record: Any, linter: Linter) -> None:
    state = linter.at(record.block.base)
    for op in record.block.ops:
        state = state.having(op.name, None)
    _tell_synonyms([(op.name, op.value or "") for op in record.block.ops if op.sign != "-"], state, linter)


def _tell_synonyms(new: list[tuple[str, str]], state: Definitions, linter: Linter) -> None:
    for name, value in new:
        other = state.names.get(value)
        if other is not None and other != name and value:
            linter.tell(Reason.SYNONYM, f"{name} and {other} both stand for {value!r}")
        state = state.having(name, value)


Rule = Callable[[Any, Linter], None]
_RULES: tuple[tuple[Rule, tuple[type, ...]], ...] = (
    (_restate_preamble, (Preamble,)),
    (_restate_patch, (Patch,)),
    (_restate, (Task, Result, Error, FileOp, Generic)),
    (_expanded, (CspMessage,)),
    (_undef, (CspMessage,)),
    (_ctx_stale, (CspMessage,)),
    (_no_task, (Result, Error)),
    (_dup_result, (Result,)),
    (_filler_text, (Junk,)),
    (_filler, (CspMessage,)),
    (_full_rewrite, (Patch,)),
    (_created_again, (FileOp,)),
    (_synonym, (Preamble,)),
    (_synonym_patch, (Patch,)),
)
"""Each rule, and the records or blocks of messages that it can say something of."""


@cache
def _rules_of(record: type, block: type) -> tuple[Rule, ...]:
    return tuple(rule for rule, kinds in _RULES if issubclass(record, kinds) or issubclass(block, kinds))
