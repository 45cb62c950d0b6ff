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

from turnwire.csp.laws import first_stems, routing_laws
from turnwire.csp.lints import DEFINED_NAME, GIVEN_ID, REWRITE_LEAST, REWRITE_SHARE, TASK_ID, size_of
from turnwire.csp.prose import Words

if TYPE_CHECKING:
    from turnwire.csp.checklist import Judge

_HEAD = re.compile(r"CSP/1\nFROM (\S+)\nTO (\S+)\nCTX (\S+)\nINTENT ([A-Z]+)")
_REST = r"[^\r\n]*+"
_BLOCKS: dict[str, re.Pattern[str]] = {
    "TASK": re.compile(
        rf"TASK (T[0-9]+)\nREQ ({_REST})(?:\nIN ({_REST}))?+(?:\nOUT ({_REST}))?+(?:\nOWNER ({_REST}))?+"
        rf"(?:\nPRIORITY ({_REST}))?+"
    ),
    "RESULT": re.compile(rf"RESULT (T[0-9]+)\nSTATUS ({_REST})(?:\nPRODUCED ({_REST}))?+(?:\nDATA ({_REST}))?+"),
    "ERROR": re.compile(rf"ERROR (E[0-9]+)\nAT ({_REST})\nCAUSE ({_REST})(?:\nNEXT ({_REST}))?+"),
    "FILE": re.compile(
        rf"FILEOP F[0-9]+ (CREATE|PATCH|DELETE)\nPATH ({_REST})(?:\nBASE ({_REST}))?+(?:\nCONTENT\n(<{{3,}})\n(.*))?+",
        re.DOTALL,
    ),
    "PATCH": re.compile(rf"PATCH (P[0-9]+)\nBASE ({_REST})\n((?:[+~-] DEF {_REST}\n)*)APPLY -> ({_REST})"),
}
_GENERIC = re.compile(rf"[A-Z]+ \S+(?:\n(?!(?:IN|OWNER) )[A-Z][A-Z0-9_]* {_REST})*")
_FIELD = re.compile(rf"\n[A-Z][A-Z0-9_]* ({_REST})")
_OPERATION = re.compile(r"([+~-]) DEF ([A-Z_][A-Z0-9_]*)(?: :?=(?: (.*))?)?")
_strip = str.strip
_MOST_HEADS = 4096
_FEW = 64
"""A mirror of so many names is made anew at any time; of more, after as many messages."""


class Settling:
    """Judges messages by their text, for a judge whose state it shares."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._context = judge.linter.context
        self._words = Words()
        self._heads: dict[str, tuple[str, str, str, str] | None] = {}
        self._kinds: set[tuple[str, bool]] = set()
        self._patches: list[bytes] = []  # that were settled, and are not yet done to what the rules know
        self._valid = False
        self._since = 1 << 60  # messages since the mirror was made
        self._head = ""
        self._names: dict[str, str] = {}
        self._values: Counter[str] = Counter()
        self._size = 0
        self._targets: set[str] = set()
        self._ids: set[str] = set()
        self._subjects: frozenset[str] = frozenset()
        self._first: dict[str, bool] = {}
        self._known: tuple[Any, str] = (None, "")  # the state and the head that the mirror is of
        self._refused: tuple[Any, str] = (None, "")  # those of which there can be none
        self._ways: dict[str, Callable[..., bool]] = {
            "TASK": self._task,
            "RESULT": self._result,
            "ERROR": self._error,
            "FILE": self._file,
            "PATCH": self._patch,
        }

    def settled(self, raw: bytes, line: int, offset: int | None) -> bool:
        """Whether the message was judged; otherwise nothing was."""
        if not self._valid and not self._mirror():
            return False
        self._since += 1
        head, _, body = raw.decode().rstrip("\n").partition("\n\n")
        try:
            found = self._heads[head]
        except KeyError:
            found = self._header(head)
        if found is None:
            return False
        sender, receiver, ctx, intent = found
        if ctx != self._head and self._judge.stateful:
            return False
        way = self._ways.get(intent, self._generic)
        if not way(body, sender, receiver, ctx, line, offset):
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
            self._names = dict(context.state.defs)
            self._values = Counter(self._names.values())
            self._size = context.state.size
        self._head = context.head
        if context.at(context.head) is not context.state:
            return False
        self._targets = judge.targets
        self._ids = judge.patch_ids
        self._subjects = first_stems(routing_laws(context.laws))
        self._valid = True
        return True

    def _header(self, head: str) -> tuple[str, str, str, str] | None:
        """What a header says; None where its own form is another, or it may be expanded."""
        match = _HEAD.fullmatch(head)
        found = match.groups() if match is not None else None
        if len(self._heads) >= _MOST_HEADS:
            self._heads.clear()
        self._heads[head] = found  # type: ignore[assignment]
        return found  # type: ignore[return-value]

    # --- the rules

    def _quiet(self, sender: str, receiver: str, values: tuple[str | None, ...]) -> bool:
        """Whether the rules about values surely say nothing."""
        text = "\n".join(filter(None, values))
        if "DEF " in text or "LAWS" in text or not self._words.quiet(text):
            return False
        if self._context.law_texts.within(text):
            return False
        if not self._values:
            return True
        tokens = f"{sender},{receiver},{text}".replace("\n", ",").split(",")
        return self._values.keys().isdisjoint(map(_strip, tokens))

    def _defined(self, sender: str, receiver: str, values: tuple[str | None, ...]) -> bool:
        """Whether all that a scope names is known."""
        if not self._names:
            return True
        names, context = self._names, self._context
        for token in map(_strip, ",".join(filter(None, values)).split(",")):
            if token in names or token in context.agents or token in context.produced:
                continue
            if DEFINED_NAME.fullmatch(token) and not GIVEN_ID.fullmatch(token) and token not in (sender, receiver):
                return False
        return True

    def _spoken(self, intent: str, laws: bool = False) -> None:
        """Notes the clauses that have something to say of a message."""
        if (intent, laws) not in self._kinds:
            self._kinds.add((intent, laws))
            self._judge.applies(intent, laws)

    def _task(self, body: str, sender: str, receiver: str, ctx: str, line: int, offset: int | None) -> bool:
        match = _BLOCKS["TASK"].fullmatch(body)
        if match is None:
            return False
        name, req, scope, out, owner, priority = match.groups()
        if not self._quiet(sender, receiver, (req, scope, out, owner, priority)):
            return False
        if not self._defined(sender, receiver, (scope, owner)):
            return False
        if self._subjects and not self._unrouted(req):
            return False
        self._spoken("TASK", bool(self._judge.routing))
        context = self._context
        context.tasks[name] = ctx
        context.final.pop(name, None)
        self._judge.waiting_tasks[name] = line, offset, owner or receiver
        return True

    def _unrouted(self, req: str) -> bool:
        """Whether surely no law is about a task: its first word is in no subject."""
        word = req.partition(" ")[0]
        known = self._first.get(word)
        if known is None:
            if len(self._first) >= _MOST_HEADS:
                self._first.clear()
            known = self._first[word] = (
                word.isascii()
                and word.isalpha()
                and first_stems([word]).isdisjoint(self._subjects)
                and bool(first_stems([word]))
            )
        return known

    def _result(self, body: str, sender: str, receiver: str, ctx: str, line: int, offset: int | None) -> bool:
        match = _BLOCKS["RESULT"].fullmatch(body)
        if match is None:
            return False
        name, status, produced, data = match.groups()
        context = self._context
        if name not in context.tasks or name in context.final:
            return False
        if not self._quiet(sender, receiver, (status, produced, data)):
            return False
        self._spoken("RESULT")
        context.produced.update([token.strip() for token in produced.split(",")] if produced else [""])
        if status != "PARTIAL":
            context.final[name] = status
            self._judge.waiting_tasks.pop(name, None)
        return True

    def _error(self, body: str, sender: str, receiver: str, ctx: str, line: int, offset: int | None) -> bool:
        match = _BLOCKS["ERROR"].fullmatch(body)
        if match is None:
            return False
        at = match[2]
        task = TASK_ID.fullmatch(at) is not None
        if task and at not in self._context.tasks:
            return False
        if not self._quiet(sender, receiver, match.groups()[1:]):
            return False
        self._spoken("ERROR")
        if task:
            self._judge.waiting_tasks.pop(at, None)
        return True

    def _file(self, body: str, sender: str, receiver: str, ctx: str, line: int, offset: int | None) -> bool:
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
        if not self._quiet(sender, receiver, (path, base)):
            return False
        self._spoken("FILE")
        (files.discard if op == "DELETE" else files.add)(path)
        return True

    def _generic(self, body: str, sender: str, receiver: str, ctx: str, line: int, offset: int | None) -> bool:
        if _GENERIC.fullmatch(body) is None or not self._quiet(sender, receiver, tuple(_FIELD.findall(body))):
            return False
        self._spoken("MEM")
        return True

    def _patch(self, body: str, sender: str, receiver: str, ctx: str, line: int, offset: int | None) -> bool:
        match = _BLOCKS["PATCH"].fullmatch(body)
        if match is None or not self._judge.stateful:
            return False
        name, base, text, target = match.groups()
        if base != self._head or name in self._ids or target in self._targets or target == base:
            return False
        if not self._quiet(sender, receiver, ()):
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
                values[new] += 1
                self._size += size_of(name, new)
