"""Tasks and results that are judged by their text, for :mod:`turnwire.csp.settling`: of those that are settled here the
rules surely say nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from turnwire.csp.prose import Words

if TYPE_CHECKING:
    from turnwire.csp.lints import Context

_HEAD = re.compile(r"CSP/1\nFROM (\S+)\nTO (\S+)\nCTX (\S+)\nINTENT ([A-Z]+)")
REST = r"[^\r\n]*+"
_TASK = re.compile(
    rf"TASK (T[0-9]+)\nREQ ({REST})(?:\nIN ({REST}))?+(?:\nOUT ({REST}))?+(?:\nOWNER ({REST}))?+"
    rf"(?:\nPRIORITY ({REST}))?+"
)
_RESULT = re.compile(rf"RESULT (T[0-9]+)\nSTATUS ({REST})(?:\nPRODUCED ({REST}))?+(?:\nDATA ({REST}))?+")
DEFINED_NAME = re.compile(r"[A-Z_][A-Z0-9_]+")
GIVEN_ID = re.compile(r"[A-Z][0-9]+")
MOST_KEPT = 4096
"""So many headers and words are remembered."""
_strip = str.strip


class Texts:
    """Judges tasks and results by their text.

    Args:
        context: what the rules know, into which what is settled is taken.
        waiting: task -> (line, offset, who answers), of those without an answer.
        spoken: takes an intent that was met.
        unrouted: whether surely no law is about a task whose REQ begins with a word.
    """

    def __init__(
        self,
        context: Context,
        waiting: dict[str, tuple[int, int | None, str]],
        spoken: Callable[[str], None],
        unrouted: Callable[[str], bool],
    ) -> None:
        self._context = context
        self._waiting = waiting
        self._tell = spoken
        self._ask = unrouted
        self._words = Words()
        self._heads: dict[str, tuple[str, str, str, str] | None] = {}
        self._spoken: set[str] = set()
        self._unrouted: dict[str, bool] = {}
        self._head = ""
        self._stateful = self._routed = False
        self._names: Mapping[str, str] = {}
        self._values: Mapping[str, int] = {}

    def know(self, stateful: bool, routed: bool, names: dict[str, str], values: dict[str, int]) -> None:
        """Takes what is known: whether there is a state, whether laws name subjects, and of the head what is defined
        and how often it has each value. The dictionaries may change afterwards."""
        self._stateful, self._routed = stateful, routed
        self._names, self._values = names, values
        self._spoken.clear()
        self._unrouted.clear()

    def go_on(self, head: str) -> None:
        """Takes the head."""
        self._head = head

    def read(self, raw: bytes) -> tuple[str, str, str, str, str] | None:
        """Sender, receiver, CTX, intent and body of a message at the head; None where its header has another form."""
        head, _, body = raw.decode().rstrip("\n").partition("\n\n")
        try:
            found = self._heads[head]
        except KeyError:
            match = _HEAD.fullmatch(head)
            if len(self._heads) >= MOST_KEPT:
                self._heads.clear()
            found = self._heads[head] = None if match is None else (match[1], match[2], match[3], match[4])
        if found is None or (found[2] != self._head and self._stateful):
            return None
        return *found, body

    def settled(self, raw: bytes, line: int, offset: int | None) -> bool | None:
        """Whether the message was judged; otherwise nothing was. None: it has another intent."""
        found = self.read(raw)
        if found is None:
            return False
        sender, receiver, ctx, intent, body = found
        if intent == "TASK":
            done = self._task(body, sender, receiver, ctx, (line, offset))
        elif intent == "RESULT":
            done = self._result(body, sender, receiver)
        else:
            return None
        if done:
            self._context.agents.update((sender, receiver))
            if intent not in self._spoken:
                self._spoken.add(intent)
                self._tell(intent)
        return done

    def quiet(self, sender: str, receiver: str, values: tuple[str | None, ...]) -> bool:
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

    def _task(self, body: str, sender: str, receiver: str, ctx: str, place: tuple[int, int | None]) -> bool:
        match = _TASK.fullmatch(body)
        if match is None:
            return False
        name, req, scope, out, owner, priority = match.groups()
        if not self.quiet(sender, receiver, (req, scope, out, owner, priority)):
            return False
        if not self._defined(sender, receiver, (scope, owner)):
            return False
        if self._routed and not self._is_unrouted(req):
            return False
        context = self._context
        context.tasks[name] = ctx
        context.final.pop(name, None)
        self._waiting[name] = *place, owner or receiver
        return True

    def _is_unrouted(self, req: str) -> bool:
        """Whether surely no law is about a task."""
        word = req.partition(" ")[0]
        known = self._unrouted.get(word)
        if known is None:
            if len(self._unrouted) >= MOST_KEPT:
                self._unrouted.clear()
            known = self._unrouted[word] = self._ask(word)
        return known

    def _result(self, body: str, sender: str, receiver: str) -> bool:
        match = _RESULT.fullmatch(body)
        if match is None:
            return False
        name, status, produced, data = match.groups()
        context = self._context
        if name not in context.tasks or name in context.final:
            return False
        if not self.quiet(sender, receiver, (status, produced, data)):
            return False
        context.produced.update([token.strip() for token in produced.split(",")] if produced else [""])
        if status != "PARTIAL":
            context.final[name] = status
            self._waiting.pop(name, None)
        return True
