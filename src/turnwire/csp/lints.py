"""The token rules [TOKEN RULES] and the laws [PROJECT LAWS], judged against what a conversation has defined so far.

undef (of a name that was defined at some checkpoint), ctx_stale, no_task and dup_result are facts: "warning". restate,
expanded, filler, full_rewrite, synonym and undef of any other name are heuristics: "info", which no clause fails by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import cached_if_short
from turnwire.csp._lines_py import is_near_state
from turnwire.csp.faults import explain, issue
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
    task_of,
)
from turnwire.csp.spec import WIRE
from turnwire.csp.state import State, bytes_of
from turnwire.errors import Issue, Reason, expect

if TYPE_CHECKING:
    from turnwire.csp.store import Store

_DEFINED_NAME = re.compile(r"[A-Z_][A-Z0-9_]+")
_GIVEN_ID = re.compile(r"[A-Z][0-9]+")
_DEFINES = re.compile(r"(?m)^(?:DEF [A-Z_][A-Z0-9_]* =|LAWS$)")
LAW_TEXT_LEAST = 12
MOST_REPEATED = 64
"""Laws that are named of those that one value repeats: any number of laws may say the same."""
_SHORT = 64
"""Characters of a text whose filler is kept: statuses, agents and paths come again."""
REWRITE_LEAST, REWRITE_SHARE = 3, 0.9
"""A patch rewrites a state of at least so many names where it writes over this share of its bytes."""


class KnownTask(NamedTuple):
    """A task. ctx: where it was given; owner: to whom; place: where that stands, as the host says it. answer: the
    STATUS of its final RESULT, or "". ended: whether an ERROR or that ended it."""

    ctx: str | None
    owner: str
    place: Any
    answer: str = ""
    ended: bool = False


class Linter:
    """Follows the records of a conversation, in order, and checks them against the token rules. store: the state before
    the first.

    What is known when a record is judged: the state, tasks, files; and the values of that record.
    """

    def __init__(self, store: Store | None = None) -> None:
        self.state = State() if store is None else State(store.at("C0").defs, store.laws)
        self.tasks: dict[str, KnownTask] = {}
        self.unasked: dict[str, str] = {}  # id of a task that was not given -> the STATUS of its final RESULT
        self.agents: set[str] = set()
        self.produced: set[str] = set()
        self.files: set[str] = set()
        self.values: list[tuple[str, str]] = []  # of the record that is judged: (key, value)
        self.text = ""  # these values
        if store is not None:
            self.state.begun = True
            for entry in store.log:
                self.feed(entry.message, check=False)

    def feed(self, record: Record, check: bool = True) -> list[Issue]:
        """Checks the next record by the token rules; ``where`` is its line."""
        issues = self.found(record) if check else []
        if isinstance(record, (CspMessage, Preamble)):
            self.state.feed(record)
        self.learn(record)
        return issues

    def found(self, record: Record, doubts: bool = True) -> list[Issue]:
        """The same of a record that is not taken in. doubts: with the heuristics, not the facts alone."""
        block = record.block if isinstance(record, CspMessage) else None
        self.values = [("the text", record.text)] if isinstance(record, Junk) else []
        if block is not None and not isinstance(block, Patch):
            self.values = block.fields
            if isinstance(block, FileOp):  # content of files is no value
                self.values = [field for field in block.fields if field[0] != "CONTENT"]
        self.text = "\n".join([value for _, value in self.values]) if doubts else ""  # no fact asks for it
        kinds: tuple[type, type] = type(record), type(block)
        return [
            Issue(rule.reason, record.line, rule.severity, text)
            for rule in _rules_of(*kinds, doubts)
            for text in rule.find(record, self)
        ]

    def learn(self, record: Record, place: Any = ()) -> None:
        """Takes in the tasks, agents, results and files of a record that the state has taken, and its place."""
        if not isinstance(record, CspMessage):
            return
        self.agents.update(name for name in (record.sender, record.receiver) if name)
        block = record.block
        if isinstance(block, Task):
            self.unasked.pop(block.id, None)
            if (known := self.tasks.get(block.id)) is not None and known.ended:  # given once more, and the newest now
                del self.tasks[block.id]
            self.tasks[block.id] = KnownTask(record.ctx, block.get("OWNER") or record.receiver or "", place)
        elif (said := task_of(record)) is not None and said[1] in ("OK", "FAIL", "ERROR"):
            answer = said[1] if isinstance(block, Result) and said[1] != "ERROR" else ""
            if (known := self.tasks.get(said[0])) is not None:
                self.tasks[said[0]] = KnownTask(*known[:3], known.answer or answer, True)
            elif answer:
                self.unasked.setdefault(said[0], answer)
        if isinstance(block, Result):
            self.produced.update(token.strip() for token in (block.get("PRODUCED") or "").split(","))
        elif isinstance(block, FileOp):
            path = block.get("PATH") or ""
            (self.files.discard if block.op == "DELETE" else self.files.add)(path)

    def forget(self, room: int) -> Iterator[KnownTask]:
        """Forgets the oldest tasks, and some agents, results and files, beyond ``room`` of each; and the states that no
        message can come from any more. Yields these tasks; the rest follows when all are taken."""
        while len(self.tasks) > room:
            yield self.tasks.pop(next(iter(self.tasks)))
        while len(self.unasked) > room:
            del self.unasked[next(iter(self.unasked))]
        for names in (self.agents, self.produced, self.files):
            while len(names) > room:
                names.pop()
        self.state.forget((task.ctx for task in self.tasks.values() if task.ctx is not None), room)


def lint(document: Document | CspMessage, store: Store | None = None) -> list[Issue]:
    """Checks the token rules: facts are "warning" (undef of a defined name, ctx_stale, no_task, dup_result), heuristics
    "info" (restate, expanded, filler, full_rewrite, synonym). A misspelt DEF or law is the "warning" junk.

    Uses the definitions of the document and of ``store`` (the state before it). ``where`` is the first line of the
    record. Raises EncodeError(wrong_type) for other objects.
    """
    expect(document, Record | Document, "lint expects a CSP/1 record or a Document", WIRE)
    records: list[Record] = document.records if isinstance(document, Document) else [document]
    linter = Linter(store)
    found: list[Issue] = []
    for record in records:
        if isinstance(record, Junk) and is_near_state(record.text):
            found.append(issue(Reason.JUNK, record.line))
        found += linter.feed(record)
    return found


def _tokens(value: str) -> list[str]:
    """The parts between commas or lines."""
    return [token.strip() for token in value.replace("\n", ",").split(",")]


# --- the rules --------------------------------------------------------------------------------------------------------

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
def _rules_of(record: type, block: type, doubts: bool) -> tuple[Rule, ...]:
    rules = [rule for rule in _RULES if issubclass(record, rule.kinds) or issubclass(block, rule.kinds)]
    return tuple(rule for rule in rules if doubts or rule.severity == "warning")


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
                yield f"{key} writes {token!r} in full: its id is {name}"


def _undefined(record: CspMessage, linter: Linter, scopes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The keys and tokens that look like names, and are neither defined, nor agents, nor results."""
    defs = linter.state.at(record.ctx)
    for key, value in (("TO", record.receiver or ""), *linter.values) if linter.state.defined else ():
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
    """A name in IN may be a file (LICENSE), and in OWNER and TO it is an agent."""
    for key, token in _undefined(record, linter, ("IN",)):
        if token not in linter.state.defined and token not in (record.sender, record.receiver):
            yield f"{key} names {token}, which no checkpoint defines"


@_rule(Reason.CTX_STALE, CspMessage, severity="warning")
def _stale(record: CspMessage, linter: Linter) -> Iterable[str]:
    state = linter.state
    if record.ctx == state.head or record.ctx not in state.checkpoints:
        return []
    task = "" if isinstance(record.block, Task) else (task_of(record) or ("", ""))[0]
    if task in linter.tasks and linter.tasks[task].ctx == record.ctx:  # an answer may be given where its task was
        return []
    return [f"CTX is {record.ctx}, the head is {state.head}"]


@_rule(Reason.NO_TASK, Result, Error, severity="warning")
def _no_task(record: Any, linter: Linter) -> Iterable[str]:
    said = task_of(record)
    return [] if said is None or said[0] in linter.tasks else [f"no TASK {said[0]} was given"]


@_rule(Reason.DUP_RESULT, Result, severity="warning")
def _answered(record: Any, linter: Linter) -> Iterable[str]:
    task = record.block.id
    answer = linter.tasks[task].answer if task in linter.tasks else linter.unasked.get(task)
    return [f"{task} was already answered: {answer}"] if answer else []


@_rule(Reason.FILLER, CspMessage, Junk)
def _filler(record: CspMessage | Junk, linter: Linter) -> Iterator[str]:
    for key, value in linter.values:
        said = filler(value)
        if said is not None and linter.state.name_of(value, linter.state.defs) is None:
            yield f"{key} {said}"


@_rule(Reason.FULL_REWRITE, Patch)
def _rewritten(record: Any, linter: Linter) -> Iterator[str]:
    block = record.block
    before = linter.state.at(block.base)
    if len(before) >= REWRITE_LEAST:
        touched = sum(bytes_of(name, before.get(name)) for name in {op.name for op in block.ops})
        if touched >= REWRITE_SHARE * before.size:
            yield f"the patch overwrites {touched} of {before.size} bytes of {block.base}"


@_rule(Reason.FULL_REWRITE, FileOp)
def _created_again(record: Any, linter: Linter) -> Iterable[str]:
    block = record.block
    again = block.op == "CREATE" and block.get("PATH") in linter.files
    return [f"{block.get('PATH')} already exists: send a PATCH"] if again else []


@_rule(Reason.SYNONYM, Preamble, Patch)
def _synonym(record: Any, linter: Linter) -> Iterator[str]:
    state = linter.state
    changed, base = set[str](), "C0"
    new: Iterable[tuple[str, str]] = record.defs.items() if isinstance(record, Preamble) else ()
    if isinstance(record, CspMessage) and isinstance(record.block, Patch):
        changed, base = {op.name for op in record.block.ops}, record.block.base or ""
        new = [(op.name, op.value or "") for op in record.block.ops if op.sign != "-"]
    elif state.begun:
        return
    here = dict[str, str]()
    for name, value in new:
        other = here.setdefault(value, state.name_of(value, state.at(base), changed) or name)
        if value and other != name:
            yield f"{name} and {other} have the same value {value!r}"


# --- politeness and padding in texts that should be ids and terms [TOKEN RULES 4]: a heuristic, by tables -------------

POLITE: dict[str, str] = {
    "en": r"please|thanks(?= (?:for|in advance|again|a lot)\b)|thanks(?=\W*$)|thank you|kindly"
    r"|(?:i am|i'm|we are|so) sorry|sorry(?= (?:for|to|about|but)\b)|sorry(?=\W*$)|apologi[sz]e\w*|apologies"
    r"|hello(?=[,!]| (?:there|team|everyone)\b)"
    r"|hi there|dear(?= (?:agents?|team|all|colleagues?)\b)|greetings(?=[,!])|of course|certainly|happy to"
    r"|glad to|let me know|hope this helps|feel free|i think|i believe|i would like|as an ai"
    r"|in order to|basically|just wanted|no worries"
    r"|you're welcome|best regards|cheers(?=[,!]|\W*$)|sure(?=[,!])|could you|would you|if you don't mind",
    "de": r"bitte|danke(?:schön)?|vielen dank|gern geschehen|entschuldigung|mit freundlichen grüßen|könntest du",
    "es": r"por favor|gracias|de nada|lo siento|disculpa\w*|un saludo|podrías|podría usted",
    "fr": r"s'il (?:vous|te) pla[iî]t|merci|de rien|désolée?|cordialement|pourriez-vous|pourrais-tu",
    "it": r"per favore|per piacere|grazie|prego|mi dispiace|cordiali saluti|potresti",
    "pt": r"por favor|obrigad[oa]|desculpe|atenciosamente|poderia",
    "ru": r"пожалуйста|спасибо|извините|с уважением",
    "tr": r"lütfen|teşekkür\w*",
    "pl": r"proszę|dziękuję",
    "nl": r"alsjeblieft|alstublieft|dank je|dank u|bedankt",
}
"""Language -> what is said out of politeness, or to fill."""
# Of texts in lower case: without regard to case it would take three times as long.
_POLITE = re.compile(rf"(?<![\w./-])(?:{'|'.join(POLITE.values())})(?![\w/-]|\.\w)")
_POLITE_SIGNS = re.compile("请|謝謝|谢谢|麻烦|お願い|ください|ありがとう|부탁|감사")
_SIGN = r"/\\_(){}\[\]=<>"
_CODE = re.compile(
    rf"`[^`]*`|\"[^\"]*\"|(?<!\S)[^\s{_SIGN}]*+[{_SIGN}]\S*+|(?<=[\"`])[^\s{_SIGN}]{{0,300}}+[{_SIGN}]\S*+"
    r"|\b\w+(?:\.\w+)+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][A-Z0-9_]+\b"
)
"""Paths, code, quotes and defined names: no words. What has a sign of code is looked at from its start, or from behind
a quote, never from each of its letters."""
_MAYBE_CODE = re.compile(rf"[`\".A-Z{_SIGN}]")
_SMALL_WORDS = """
a an and are as at be because been but by can could did do does for from had has have he her him his how i if in into is
it its me might my not of on or our she should so some than that the their them then there these they this those to us
was we were what when which who why will with would you your
"""
_SMALL = frozenset(_SMALL_WORDS.split())
_PROSE_WORD = re.compile(r"[a-z']+")
_PROSE_LEAST, _PROSE_SHARE = 14, 0.4
"""From so many words on, a text of which this share are small words is prose."""


@cached_if_short(4096, _SHORT)
def filler(text: str) -> str | None:
    """The politeness or prose in a text, in words; None if nothing is."""
    if text.isascii() and " " not in text and text[-1:] not in ",.!":
        lone = text.lower()
        if "." in lone or "/" in lone or "_" in lone:
            return None
    plain = _CODE.sub(" ", text) if _MAYBE_CODE.search(text) else text
    match = _POLITE.search(plain.lower()) or _POLITE_SIGNS.search(plain)
    if match is not None:
        return f"says {plain[slice(*match.span())]!r}"
    if len(plain) < 2 * _PROSE_LEAST - 1:  # a letter each, and what divides them
        return None
    found = _PROSE_WORD.findall(plain.lower())
    small = sum(word in _SMALL for word in found)
    if len(found) >= _PROSE_LEAST and small >= _PROSE_SHARE * len(found):
        return f"is prose of {len(found)} words"
    return None


# --- laws that route tasks to agents [PROJECT LAWS] -------------------------------------------------------------------

_ARROW = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)\s+(only|first)")
_LAW_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_ENDINGS = re.compile(r"(?:ation|ations|ing|ings|ed|es|e|s)$")
_STEM_LEAST = 4
_ARTICLES = frozenset({"a", "an", "the"})
_REQ_MOST = 300
"""Characters of a REQ that are looked at."""


class Law(NamedTuple):
    """A routing law, ``subject -> AGENT only|first``."""

    id: str
    subject: str
    agent: str
    mode: str


Classifier = Callable[[CspMessage, "list[Law]"], Iterable[str]]
"""The ids of the laws that a task falls under, of those that route."""


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
    gone to that agent before any other may. classify: a function that determines the laws of a task instead.
    """

    def __init__(self, laws: Mapping[str, str], classify: Classifier | None = None) -> None:
        self.laws = routing_laws(laws)
        self._classify = classify
        self._done: set[str] = set()
        self._numbers: dict[tuple[str, ...], list[int]] = {}
        for number, law in enumerate(self.laws):
            for subject in _subjects(law.subject):
                self._numbers.setdefault(subject, []).append(number)
        self._sizes = sorted({len(subject) for subject in self._numbers})

    def of(self, req: str) -> list[Law]:
        """The laws that a task falls under, by its REQ."""
        said = _stems(req[:_REQ_MOST]) if self._sizes else []
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
        if self._classify is None:
            laws = self.of(block.get("REQ") or "")
        else:
            named = frozenset(self._classify(message, self.laws))
            laws = [law for law in self.laws if law.id in named]
        for law in laws:
            if agent in (law.agent, defs.get(law.agent)):
                self._done.add(law.id)
            elif law.mode == "only" or law.id not in self._done:
                broken.append(f"{law.id}: {law.subject} goes to {law.agent} {law.mode}, {block.id} went to {agent}")
        return broken


def _subjects(text: str) -> list[tuple[str, ...]]:
    """The stems of each alternative of a subject, sorted; none if they are more than a REQ can have."""
    *words, last = text.split() or [""]
    first = _stems(" ".join(words))
    if len(first) > _REQ_MOST:
        return []
    several = ((*first, *_stems(word)) for word in last.split("/"))
    return [tuple(sorted(stems)) for stems in several if stems]


def _stems(text: str) -> list[str]:
    """The words of a text without their endings, as far as enough is left."""
    stems = []
    for word in _LAW_WORD.findall(text.lower()):
        if word in _ARTICLES:
            continue
        stem = _ENDINGS.sub("", word)
        stems.append(stem if len(stem) >= _STEM_LEAST else word)
    return stems
