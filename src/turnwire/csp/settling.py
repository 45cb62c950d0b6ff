"""Good messages that are judged by their text alone: those in the form in which ``encode`` writes them, at the head, of
which every rule surely says nothing.

What the rules know (:class:`turnwire.csp.lints.Context`) is kept as judging each message would, but for patches:
what these do is kept here in plain dictionaries, and done there when a message has to be judged by itself
(:meth:`Settling.flush`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.csp._texts_py import REST
from turnwire.csp.given_ids import GivenIds
from turnwire.csp.laws import first_stems
from turnwire.csp.lints import REWRITE_LEAST, REWRITE_SHARE, TASK_ID
from turnwire.csp.states import size_of

if TYPE_CHECKING:
    from turnwire.csp import _texts_py as _core
    from turnwire.csp.checklist import Judge
else:
    _core = _backend.load("csp.texts")

_BLOCKS: dict[str, re.Pattern[str]] = {
    "ERROR": re.compile(rf"ERROR (E[0-9]+)\nAT ({REST})\nCAUSE ({REST})(?:\nNEXT ({REST}))?+"),
    "FILE": re.compile(
        rf"FILEOP F[0-9]+ (CREATE|PATCH|DELETE)\nPATH ({REST})(?:\nBASE ({REST}))?+(?:\nCONTENT\n(<{{3,}})\n(.*))?+",
        re.DOTALL,
    ),
    "PATCH": re.compile(rf"PATCH (P[0-9]+)\nBASE ({REST})\n((?:[+~-] DEF {REST}\n)*)APPLY -> ({REST})"),
}
_GENERIC = re.compile(rf"[A-Z]+ \S+(?:\n(?!(?:IN|OWNER) )[A-Z][A-Z0-9_]* {REST})*")
_FIELD = re.compile(rf"\n[A-Z][A-Z0-9_]* ({REST})")
_OPERATION = re.compile(r"([+~-]) DEF ([A-Z_][A-Z0-9_]*)(?: :?=(?: (.*))?)?")
_FEW = 64
"""A mirror of so many names is made anew at any time; of more, after as many messages."""


class Settling:
    """Judges messages by their text, for a judge whose state it shares."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._context = judge.linter.context
        self._texts = _core.Texts(self._context, judge.waiting_tasks, self._spoken, self._unrouted)
        self._patches: list[bytes] = []  # that were settled, and are not yet done to what the rules know
        self._valid = False
        self._since = 1 << 60  # messages since the mirror was made
        self._head = ""
        self._names: dict[str, str] = {}
        self._values: dict[str, int] = {}  # how many names have each value
        self._size = 0
        self._targets: set[str] | GivenIds = set()
        self._ids: set[str] | GivenIds = set()
        self._subjects: frozenset[str] = frozenset()
        self._routing: Any = None  # of whose laws these are
        self._known: tuple[Any, str] = (None, "")  # the state and the head that the mirror is of
        self._refused: tuple[Any, str] = (None, "")  # those of which there can be none
        self._ways: dict[str, Callable[..., bool]] = {
            "ERROR": self._error,
            "FILE": self._file,
            "PATCH": self._patch,
        }

    def settled(self, raw: bytes, line: int, offset: int | None) -> bool:
        """Whether the message was judged; otherwise nothing was."""
        if not self._valid and not self._mirror():
            return False
        self._since += 1
        done = self._texts.settled(raw, line, offset)
        return self._by_intent(raw) if done is None else done

    def _by_intent(self, raw: bytes) -> bool:
        """The same of a message that is no task and no result."""
        found = self._texts.read(raw)
        if found is None:
            return False
        sender, receiver, _, intent, body = found
        if not self._ways.get(intent, self._generic)(body, sender, receiver):
            return False
        if intent == "PATCH":
            self._patches.append(raw)
        self._context.agents.update((sender, receiver))
        return True

    def flush(self) -> None:
        """Does what settled patches do to what the rules know, in order."""
        self._valid = False
        if self._patches:
            several, self._patches = self._patches, []
            for raw in several:
                self._judge.learn(raw)
            self._known = self._context.state, self._context.head

    # --- what the rules know, in plain dictionaries

    def _mirror(self) -> bool:
        """Takes over what the rules know; False where that cannot be, or not yet."""
        judge, context = self._judge, self._context
        self._since += 1
        if judge.routing is None:
            return False
        now = context.state, context.head
        if self._known[0] is not now[0] or self._known[1] != now[1]:
            if (self._refused[0] is now[0] and self._refused[1] == now[1]) or len(context.state.defs) > max(
                _FEW, self._since
            ):
                return False
            self._since = 0
            if not judge.agrees():
                self._refused = now
                return False
            self._known = now
            self._names = context.state.defs.plain()
            self._values = dict(Counter(self._names.values()))
            self._size = context.state.size
        self._head = context.head
        if context.at(context.head) is not context.state:
            return False
        self._targets = judge.targets
        self._ids = judge.patch_ids
        if self._routing is not judge.routing:  # laws that come later route nothing
            self._routing = judge.routing
            self._subjects = first_stems(judge.routing.laws)
        self._texts.know(judge.stateful, bool(self._subjects), self._names, self._values)
        self._texts.go_on(self._head)
        self._valid = True
        return True

    # --- the rules

    def _spoken(self, intent: str) -> None:
        """Notes the clauses that have something to say of a message."""
        self._judge.applies(intent, intent == "TASK" and bool(self._judge.routing))

    def _unrouted(self, word: str) -> bool:
        """Whether surely no law is about a task that begins with this word: it is in no subject."""
        if not (word.isascii() and word.isalpha()):
            return False
        stems = first_stems([word])
        return bool(stems) and stems.isdisjoint(self._subjects)

    def _error(self, body: str, sender: str, receiver: str) -> bool:
        match = _BLOCKS["ERROR"].fullmatch(body)
        if match is None:
            return False
        at = match[2]
        task = TASK_ID.fullmatch(at) is not None
        if task and at not in self._context.tasks:
            return False
        if not self._texts.quiet(sender, receiver, match.groups()[1:]):
            return False
        self._spoken("ERROR")
        if task:
            self._judge.waiting_tasks.pop(at, None)
        return True

    def _file(self, body: str, sender: str, receiver: str) -> bool:
        match = _BLOCKS["FILE"].fullmatch(body)
        if match is None:
            return False
        op, path, base, opening, content = match.groups()
        files = self._context.files
        if opening is None:
            if op != "DELETE":
                return False
        else:
            closing = ">" * len(opening)
            if f"\n{content}\n".find(f"\n{closing}\n") != len(content) - len(closing):
                return False
        if op == "CREATE" and path in files:
            return False
        if not self._texts.quiet(sender, receiver, (path, base)):
            return False
        self._spoken("FILE")
        (files.discard if op == "DELETE" else files.add)(path)
        return True

    def _generic(self, body: str, sender: str, receiver: str) -> bool:
        if _GENERIC.fullmatch(body) is None or not self._texts.quiet(sender, receiver, tuple(_FIELD.findall(body))):
            return False
        self._spoken("MEM")
        return True

    def _patch(self, body: str, sender: str, receiver: str) -> bool:
        match = _BLOCKS["PATCH"].fullmatch(body)
        if match is None or not self._judge.stateful:
            return False
        name, base, text, target = match.groups()
        if base != self._head or name in self._ids or target in self._targets or target == base:
            return False
        if not self._texts.quiet(sender, receiver, ()):
            return False
        operations = []
        for row in text.split("\n")[:-1]:
            operation = _OPERATION.fullmatch(row)
            if operation is None:
                return False
            operations.append(operation.groups())
        if not self._fits(operations):
            return False
        self._spoken("PATCH")
        self._change(operations)
        self._ids.add(name)
        self._targets.add(target)
        self._head = target
        self._texts.go_on(target)
        return True

    def _fits(self, operations: list[tuple[str | Any, ...]]) -> bool:
        """Whether a patch may be applied, and the rules about patches surely say nothing."""
        names, met, new = self._names, set(), set()
        touched = 0
        for sign, name, value in operations:
            old = names.get(name)
            if name in met or (sign == "+") != (old is None) or (sign == "~" and old == (value or "")):
                return False
            met.add(name)
            if sign != "-" and value:
                if value in self._values or value in new:
                    return False
                new.add(value)
            touched += 0 if old is None else size_of(name, old)
        return len(names) < REWRITE_LEAST or touched < REWRITE_SHARE * self._size

    def _change(self, operations: list[tuple[str | Any, ...]]) -> None:
        names, values = self._names, self._values
        for sign, name, value in operations:
            old = names.pop(name, None)
            if old is not None:
                self._size -= size_of(name, old)
                if values[old] == 1:
                    del values[old]
                else:
                    values[old] -= 1
            if sign != "-":
                new = value or ""
                names[name] = new
                values[new] = values.get(new, 0) + 1
                self._size += size_of(name, new)
