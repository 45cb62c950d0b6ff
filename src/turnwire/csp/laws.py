"""Laws [PROJECT LAWS] that route tasks to agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from turnwire.csp.messages import CspMessage, Task

_ARROW = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)\s+(only|first)")
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_ENDINGS = re.compile(r"(?:ation|ations|ing|ings|ed|es|e|s)$")
_STEM_LEAST = 4
_ARTICLES = frozenset({"a", "an", "the"})
_MOST = 300
"""Characters of a REQ that are looked at."""


class Law(NamedTuple):
    """A routing law, ``subject -> AGENT only|first``."""

    id: str
    subject: str
    agent: str
    mode: str


def routing_laws(laws: Mapping[str, str]) -> list[Law]:
    """The laws that route; a text of another form is not a routing law and is left out."""
    found = []
    for name, text in laws.items():
        subject, arrow, rest = text.rpartition("->")
        match = _ARROW.fullmatch(rest.strip())
        if arrow and subject.strip() and "\n" not in subject.strip() and match is not None:
            found.append(Law(name, subject.strip(), match[1], match[2]))
    return found


class Routing:
    """Laws over the tasks of a conversation, one after the other.

    A task falls under the laws whose subject it names: its REQ begins with the words of the subject, in any order and
    form ("explore codebase ..." is "Codebase exploration"). A last word with slashes gives alternatives.
    ``only``: the task must go to that agent (OWNER, or TO without one). ``first``: a task under the same law must have
    gone to that agent before any other may.
    """

    def __init__(self, laws: Mapping[str, str]) -> None:
        self.laws = routing_laws(laws)
        self._done: set[str] = set()
        self._numbers: dict[tuple[str, ...], list[int]] = {}
        for number, law in enumerate(self.laws):
            for subject in _subjects(law.subject):
                self._numbers.setdefault(subject, []).append(number)
        self._sizes = sorted({len(subject) for subject in self._numbers})

    def of(self, req: str) -> list[Law]:
        """The laws that a task falls under, by its REQ."""
        said = _stems(req[:_MOST])
        found: set[int] = set()
        for size in self._sizes:
            if size > len(said):
                break
            found.update(self._numbers.get(tuple(sorted(said[:size])), ()))
        return [self.laws[number] for number in sorted(found)]

    def feed(self, message: CspMessage, defs: Mapping[str, str]) -> list[str]:
        """The faults of the next message, in words. ``defs`` let an agent be named by the value of its DEF, too."""
        block = message.block
        if not isinstance(block, Task):
            return []
        agent = block.get("OWNER") or message.receiver or ""
        broken = []
        for law in self.of(block.get("REQ") or ""):
            if agent in (law.agent, defs.get(law.agent)):
                self._done.add(law.id)
            elif law.mode == "only" or law.id not in self._done:
                broken.append(f"{law.id}: {law.subject} goes to {law.agent} {law.mode}, {block.id} went to {agent}")
        return broken


def _subjects(text: str) -> list[tuple[str, ...]]:
    """The stems of each alternative of a subject, sorted; none where they are more than a REQ can have."""
    *words, last = text.split() or [""]
    first = _stems(" ".join(words))
    if len(first) > _MOST:
        return []
    several = ((*first, *_stems(word)) for word in last.split("/"))
    return [tuple(sorted(stems)) for stems in several if stems]


def _stems(text: str) -> list[str]:
    """The words of a text without their endings, as far as enough is left."""
    stems = []
    for word in _WORD.findall(text.lower()):
        if word in _ARTICLES:
            continue
        stem = _ENDINGS.sub("", word)
        stems.append(stem if len(stem) >= _STEM_LEAST else word)
    return stems
