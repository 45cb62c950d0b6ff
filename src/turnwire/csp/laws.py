"""Laws [PROJECT LAWS]: those that route tasks to agents, and which of them a text repeats word for word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from turnwire.csp.messages import CspMessage, Document, Task
from turnwire.errors import Issue, Reason, expect

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
    expect(laws, Mapping, "laws are a mapping of ids to texts")
    found = []
    for name, text in laws.items():
        subject, arrow, rest = text.rpartition("->")
        match = _ARROW.fullmatch(rest.strip())
        if arrow and subject.strip() and "\n" not in subject.strip() and match is not None:
            found.append(Law(name, subject.strip(), match[1], match[2]))
    return found


Classifier = Callable[[CspMessage, "list[Law]"], Iterable[str]]


class Routing:
    """Laws over the tasks of a conversation, one after the other.

    ``classify(message, laws)`` says which laws a task falls under: their ids. ``only``: the task must go to that agent
    (OWNER, or TO without one). ``first``: a task under the same law must have gone to that agent before any other may.
    """

    def __init__(self, laws: Mapping[str, str], classify: Classifier) -> None:
        self._laws = routing_laws(laws)
        self._known = {law.id: law for law in self._laws}
        self._classify = _Subjects(self._laws) if classify is by_subject else classify
        self._done: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._laws)

    @property
    def laws(self) -> list[Law]:
        """The laws that route."""
        return self._laws

    def feed(self, message: CspMessage, defs: Mapping[str, str]) -> list[Issue]:
        """Judges the next message. ``defs`` let an agent be named by the value of its DEF, too."""
        if not isinstance(message.block, Task):
            return []
        agent = message.block.get("OWNER") or message.receiver or ""
        issues = []
        for name in self._classify(message, self._laws):
            law = self._known.get(name)
            if law is None:
                continue
            if agent in (law.agent, defs.get(law.agent)):
                self._done.add(name)
            elif law.mode == "only" or name not in self._done:
                text = f"{law.id}: {law.subject} goes to {law.agent} {law.mode}, {message.block.id} went to {agent}"
                issues.append(Issue(Reason.LAW_BROKEN, message.line, "warning", text))
        return issues


def judge_laws(
    document: Document, laws: Mapping[str, str], classify: Classifier, defs: Mapping[str, str] | None = None
) -> list[Issue]:
    """Tasks that went to the wrong agent, by :class:`Routing`."""
    expect(document, Document, "a Document is judged by its laws")
    routing = Routing(laws, classify)
    return [issue for message in document.messages for issue in routing.feed(message, defs or {})]


def by_subject(message: CspMessage, laws: list[Law]) -> list[str]:
    """The laws whose subject a task names: its REQ begins with the words of the subject, in any order and form
    ("explore codebase …" is "Codebase exploration"). A last word with slashes gives alternatives."""
    return _Subjects(laws)(message, laws)


class _Subjects:
    """:func:`by_subject` for many messages under the same laws."""

    def __init__(self, laws: list[Law]) -> None:
        self._numbers: dict[tuple[str, ...], list[int]] = {}
        for number, law in enumerate(laws):
            for subject in _subjects(law.subject):
                self._numbers.setdefault(subject, []).append(number)
        self._sizes = sorted({len(subject) for subject in self._numbers})

    def __call__(self, message: CspMessage, laws: list[Law]) -> list[str]:
        block = message.block
        req = (block.get("REQ") or "")[:_MOST] if isinstance(block, Task) else ""
        said = _stems(req)
        found: set[int] = set()
        for size in self._sizes:
            if size > len(said):
                break
            found.update(self._numbers.get(tuple(sorted(said[:size])), ()))
        return [laws[number].id for number in sorted(found)]


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


class LawTexts:
    """The texts of laws, for the question which of them are in another text. least: characters of the shortest that
    is asked about."""

    def __init__(self, least: int) -> None:
        self._least = least
        self._texts: dict[str, str] = {}  # id -> text, in the order in which they were stated
        self._ids: dict[str, dict[str, None]] = {}  # text -> ids: any number of laws may say the same

    def update(self, laws: Mapping[str, str]) -> None:
        """Takes laws; one whose id is known has a new text."""
        for name, text in laws.items():
            before = self._texts.get(name)
            if before is not None and before != text:
                self._ids.get(before, {}).pop(name, None)
            self._texts[name] = text
            if len(text) >= self._least:
                self._ids.setdefault(text, {})[name] = None

    def within(self, value: str, most: int | None = None) -> list[str]:
        """The ids of the laws whose text is in a value, in the order in which they were stated. most: of each text, no
        more than so many ids are looked at, and no more are given."""
        found = {name for text, ids in self._ids.items() if text in value for name in islice(ids, most)}
        return [name for name in self._texts if name in found][:most] if found else []
