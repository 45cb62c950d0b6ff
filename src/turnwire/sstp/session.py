"""A session, as it is watched and as an agent takes part in it: clocks, turns, names, and acknowledgements, which
contribute nothing ("Turn discipline" and "Rules").

The monitor is sans-IO: it is fed the messages in the order in which they were sent, and the host tells it when it
grants the floor or stops waiting for somebody.

Acknowledgements are tables of forms. A form is a whole text, without case, surplus white space and closing marks; a
text that is put together of forms and emoji is an acknowledgement, too. Users extend the table:
``Session(acknowledgements=[*sstp.ACKNOWLEDGEMENTS, "chi capisce"])``. A paraphrase, which says the same with an object
("I acknowledge receipt of your message"), is doubtful: it is told, and changes no verdict.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from turnwire import pairs
from turnwire.contract import cached_if_short
from turnwire.errors import Issue, Reason, RuleError
from turnwire.message import refuse_unknown
from turnwire.sstp.codec import check, encode
from turnwire.sstp.messages import Message
from turnwire.sstp.spec import ADDRESSEE, ANYONE, HEADER, MAIN_TEXT, OTHERS, PAYLOADS, PROOFS, SCHEMA_IDS, WIRE, Kind

RULES: dict[Reason, tuple[str, str]] = {
    # reason: (severity, rule of the specification)
    Reason.CLOCK_GAP: ("warning", "clock"),
    Reason.CLOCK_REPEAT: ("error", "clock"),
    Reason.CLOCK_BACK: ("error", "clock"),
    Reason.SESSION_MISMATCH: ("error", "session"),
    Reason.UNKNOWN_ACTOR: ("error", "roster"),
    Reason.UNKNOWN_ADDRESSEE: ("warning", "roster"),
    Reason.LOOK_ALIKE: ("warning", "roster"),
    Reason.IDENTITY_MISMATCH: ("error", "identity"),
    Reason.OUT_OF_TURN: ("error", "turn"),
    Reason.ACKNOWLEDGEMENT: ("info", "contribution"),
    Reason.DOUBTFUL_ACKNOWLEDGEMENT: ("info", "contribution"),
    Reason.ECHO: ("info", "contribution"),
}
"""Reason that the monitor finds -> its severity and the rule it belongs to. A strict monitor raises the errors."""


# --- when two names of actors are one, and when they only look like one

_TWINS = str.maketrans(
    # Cyrillic, Greek and full-width digits that most fonts draw like these Latin letters; then digits like letters.
    "аеорсухіјѕԁһӏвкмнтգαειοκνρτυχ01|",
    "aeopcyxijsdhlbkmhtgaeiokvptuxoll",
)


folded = cached_if_short(4096)(pairs.folded)


@cached_if_short(4096)
def outline(name: str) -> str:
    """The rest of a name when look-alike letters, marks, case, spaces and punctuation are taken away."""
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_TWINS)
    return "".join(letter for letter in letters if letter.isalnum()).replace("rn", "m").replace("vv", "w")


# --- what contributes nothing ("Do not acknowledge, echo, or confirm receipt")


def _listed(forms: str) -> frozenset[str]:
    return frozenset(" ".join(form.split()) for form in forms.split(","))


FORMS: dict[str, str] = {
    "en": """
        +1?, 10-4, ack, acknowledged, agreed?, all clear?, aye?, cheers, confirmed?, confirming receipt, copy, copy
        that, done?, fine?, good?, got it, gotcha, great?, i acknowledge, i agree?, i see?, i understand?, i will?,
        i will wait?, i'll wait?, k?, kk?, looks good?, makes sense?, many thanks, message received, no problem?,
        noted, noted with thanks, np?, ok?, okay?, okey?, ok thanks?, on it?, perfect?, read, receipt acknowledged,
        receipt confirmed, received, right?, roger, roger that, sounds good?, sure?, sure thing?, ten-four, thank
        you, thanks, thanks a lot, thanks for the update, thx, ty, understood, will do?, will wait?, wilco, works
        for me?, yep?, yes?, you are welcome, yup?
    """,
    "de": """
        alles klar?, bestätigt?, danke, einverstanden?, erhalten, geht klar?, in ordnung?, notiert, verstanden
    """,
    "es": "confirmado?, de acuerdo?, entendido, gracias, muchas gracias, recibido, vale?",
    "fr": "bien reçu, c'est noté, compris, d'accord?, entendu, merci, noté",
    "it": "capito, d'accordo?, grazie, ricevuto, va bene?",
    "pt": "combinado?, entendido, obrigada, obrigado, recebido",
    "ja": "了解, 了解しました, 了解です, 承知しました, かしこまりました, ありがとうございます",
    "zh": "好的?, 收到, 明白, 谢谢, 了解",
    "ru": "понял, понятно, принято, спасибо, хорошо?",
}
"""Language -> its forms. English first. Those with a "?" can answer a question, as emoji can. The others say only that
it arrived, and answer one only where it asks for just that ("Have you received it?")."""

_MARKED = frozenset[str]().union(*map(_listed, FORMS.values()))
ANSWERS = frozenset(form[:-1] for form in _MARKED if form[-1] == "?")
"""The forms that can answer a question."""
ACKNOWLEDGEMENTS = ANSWERS | {form for form in _MARKED if form[-1] != "?"}
"""All forms of the table."""

MOST = 200
"""Characters of the longest text that can be doubtful."""

_WORDS = {
    "thing": (
        r"(?:(?:the|your|this|that|all|my|our) )?(?:last |latest |previous |new |full )?"
        r"(?:message|messages|request|query|question|task|assignment|delegation|intent|goal|instructions?|information"
        r"|info|details?|update|note|answer|reply|response|findings?|report|data|input|commit|decision|above|it)"
    ),
    "from": r"(?: from [\w.@-]+)?(?: (?:as |with )?(?:well|thanks|requested|below|above))?",
    "we": r"(?:i|we)",
    "will": r"(?:i|we)(?: will|'ll)",
    "have": r"(?:i|we)(?: have|'ve)?",
    "thanks": r"(?:many )?(?:thanks|thank you)(?: very much| so much| a lot)?",
    "it": r"(?:that |this |it )?",
}
"""Parts that several paraphrases share, by their names in the table of them."""

PARAPHRASES = (
    "{we}(?: hereby| have|'ve| fully| can| do)? ?(?:acknowledge|confirm)(?:d)?(?: the| having)?(?: safe)?"
    " ?(?:receipt|reception|received)(?: of {thing})?{from}",
    "{we}(?: hereby| have|'ve)? ?(?:acknowledge|acknowledged) {thing}{from}",
    "{have} ?(?:received|got|noted|seen|read)(?: and (?:understood|noted|read))? {thing}{from}",
    "{thing} (?:was |has been |is |are |were )?(?:well |duly )?(?:received|acknowledged|noted|understood){from}",
    "(?:confirming|acknowledging)(?: the)? (?:receipt(?: of {thing})?|{thing}){from}",
    "{thanks}(?: for {thing}){from}",
    "{we} (?:fully |completely )?(?:understand|agree)(?: (?:with )?{thing})?",
    "{will} (?:do (?:so|that|it)|get (?:right )?(?:on|to) it|look into it|take care of it)",
    "{it}(?:sounds|looks) (?:good|great|fine)(?: to me)?",
    "{it}(?:all )?makes (?:perfect )?sense(?: to me)?",
    "(?:that|this|it|all) is (?:clear|fine|understood)|fine (?:by|with) me",
    "(?:duly|well|safely|fully|all) (?:noted|received|understood)|(?:well )?received with thanks",
    "(?:{thing} )?(?:was |has been )?received and (?:logged|noted|understood|acknowledged)(?: {thing})?",
    "(?:i am|i'm|we are|we're|working|already working) on it",
    "{will} get back to you(?: shortly| soon)?",
    "(?:let me|i will|i'll) (?:look into|check|handle|take care of) (?:it|that|this)",
    "(?:(?:{will}|will) (?:do so|proceed|start|get started|begin|keep (?:it|that|this) in mind)|proceeding)"
    "(?: as (?:instructed|requested|asked|planned)| accordingly| now| right away| shortly)?",
    "{thanks} for (?:(?:clarifying|confirming|sharing|explaining)(?: (?:it|that|this))?|letting (?:me|us) know"
    "|(?:the|your) (?:clarification|confirmation|explanation|heads up|help"
    "|(?:detailed |quick )?(?:update|answer|reply|response)))",
    "(?:{we} )?(?:really |very much )?appreciate (?:it|that|this|the update|your help)",
    "(?:much|greatly) appreciated",
    "(?:nice|great|good) (?:work|job)(?: (?:everyone|all|team))?|(?:thanks|thank you) (?:all|everyone|team)",
)
"""Texts that say the same with an object, as regular expressions over a text as :func:`words` makes it."""

_PARAPHRASE = re.compile("|".join(f"(?:{one.format_map(_WORDS)})" for one in PARAPHRASES))
_MILD = _listed("""
    affirmative, alright, all right, awesome, clear, cool, crystal clear, excellent, good to know, happy to help,
    i confirm, my pleasure, nice, no worries, ready when you are, standing by, very well, well done, wonderful
""")
"""Texts that alone contribute nothing either, but may well mean more: doubtful, where it is the whole text."""
_STARTS = _listed("""
    i, we, i've, we've, i'll, we'll, the, your, this, that, all, my, our, last, latest, previous, new, full,
    message, messages, request, query, question, task, assignment, delegation, intent, goal, instruction,
    instructions, information, info, detail, details, update, note, answer, reply, response, finding, findings,
    report, data, input, commit, decision, above, it, confirming, acknowledging, many, thanks, thank, sounds,
    looks, makes, duly, well, safely, fully, received, fine, i'm, we're, working, already, let, will, do, proceed,
    proceeding, start, get, begin, keep, really, very, appreciate, much, greatly, nice, great, good
""") | {form.partition(" ")[0] for form in _MILD}
"""The words with which a paraphrase can begin."""
_RECEIPT = re.compile(r"\b(?:acknowledg|confirming|receipt|receiv|noted|got\b|read\b|thank)")
_PARTS = re.compile(r"[.!,;:\n\u3002\uff01\uff0c\u2014]+|\s+-+\s+|\s+and\s+(?=(?:will|thank|i|we|on)\b)")
_EMOJI = re.compile(
    "[\u203c\u2049\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff"
    "\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]+"  # with what joins and varies them
)


def words(text: str) -> str:
    """A text without case, surplus white space and closing marks: how texts are compared."""
    return " ".join(text.casefold().split()).strip(" .,!\u3002\uff01")


def is_acknowledgement(said: str, forms: frozenset[str] = ACKNOWLEDGEMENTS, question: str | None = None) -> bool:
    """True if a text, as :func:`words` returns it, consists only of acknowledgements and emoji; for the answer to a
    question, only if no part of it can be that answer."""
    starts, _, longest = _shape(forms)
    if not said or not _may_begin(said, starts):
        return False
    bare = said if said.isascii() else _EMOJI.sub(". ", said)
    if question is not None and bare != said:
        return False
    is_form = forms.__contains__ if question is None else partial(is_receipt, question=question, forms=forms)
    any_part = False
    for part in _parts(bare):  # the first one mostly decides
        any_part = True
        if not _is_combined(part, longest, is_form):
            return False
    return any_part or bare != said


def is_doubtful(
    text: str, forms: frozenset[str] = ACKNOWLEDGEMENTS, question: str | None = None, plain: str | None = None
) -> bool:
    """True if a text is put together of forms and paraphrases; where it answers a question, also whether it begins by
    saying that it arrived. plain: the text as :func:`words` makes it."""
    plain = words(text) if plain is None else plain
    if len(text) > MOST or not _may_begin(plain, _shape(forms)[1]):
        return False
    parts = _parts(plain)
    first = next(parts, None)
    if question is not None and not (first is not None and _is_receipt(first, question, forms)):
        return False
    return _PARAPHRASE.fullmatch(plain) is not None or (
        first is not None
        and all(part in forms or part in _MILD or _PARAPHRASE.fullmatch(part) for part in chain((first,), parts))
    )


def is_receipt(said: str, question: str, forms: frozenset[str] = ACKNOWLEDGEMENTS) -> bool:
    """True if a form, as :func:`words` makes it, answers no question: it says only that this one arrived, and the
    question does not ask for it by one of its words."""
    return said in forms and _is_receipt(said, question, forms)


def _is_receipt(said: str, question: str, forms: frozenset[str]) -> bool:
    if said in ANSWERS or (said not in forms and _RECEIPT.search(said) is None):
        return False
    asked = words(question)
    return not any(word in asked for word in said.split() if len(word) > 3 or not word.isascii())


def _parts(text: str) -> Iterator[str]:
    """The parts of a text that say something, each as :func:`words` makes it."""
    start = 0
    for gap in _PARTS.finditer(text):
        if part := words(text[start : gap.start()]):
            yield part
        start = gap.end()
    if part := words(text[start:]):
        yield part


def _is_combined(part: str, longest: int, is_form: Callable[[str], bool]) -> bool:
    """True if a text is one form, or several after one another; longest: the most words of one."""
    said = part.split(" ")
    ends = {0}
    for start in range(len(said)):
        if start in ends:
            stops = range(start + 1, min(start + longest, len(said)) + 1)
            ends.update(stop for stop in stops if is_form(" ".join(said[start:stop])))
    return len(said) in ends


@lru_cache(maxsize=8)
def _shape(forms: frozenset[str]) -> tuple[frozenset[str], frozenset[str], int]:
    """The words with which forms begin; these and those with which paraphrases do; how many words the longest form
    has."""
    starts = frozenset(re.split("[^0-9A-Za-z]", form, maxsplit=1)[0] for form in forms)
    return starts, starts | _STARTS, max((form.count(" ") + 1 for form in forms), default=0)


def _may_begin(plain: str, starts: frozenset[str]) -> bool:
    """False if a text surely begins with none of these words: most do, and looking closer takes longer."""
    start = plain.partition(" ")[0]
    return not (start.isalnum() and start.isascii()) or start in starts


# --- what is watched


class Turn(NamedTuple):
    """The turn: who may speak next. who is "anyone", "others" (than ``actor``) or "addressee" (``actor`` alone)."""

    who: str
    actor: str = ""

    def admits(self, speaker: str) -> bool:
        """True if ``speaker`` may speak now."""
        return self.who == ANYONE or (folded(speaker) == folded(self.actor)) == (self.who == ADDRESSEE)


class Clocks:
    """The clocks that one actor has used in one session, as sorted ranges."""

    __slots__ = ("firsts", "lasts")

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.lasts: list[int] = []

    @property
    def last(self) -> int:
        """The highest clock used, 0 before the first."""
        return self.lasts[-1] if self.lasts else 0

    def __contains__(self, clock: int) -> bool:
        place = bisect_right(self.firsts, clock) - 1
        return place >= 0 and clock <= self.lasts[place]

    def add(self, clock: int) -> None:
        """Remembers a clock that was not used before."""
        place = bisect_right(self.firsts, clock)
        if place and self.lasts[place - 1] == clock - 1:
            self.lasts[place - 1] = clock
        else:
            self.firsts.insert(place, clock)
            self.lasts.insert(place, clock)


class OpenRequest(NamedTuple):
    """A query or a delegation without an answer so far. place: its origin, as given by the caller."""

    message: Message
    place: Any


_USUAL = frozenset(map(words, ACKNOWLEDGEMENTS))
_UNUSED = Clocks()
"""Those of an actor who has not spoken."""


class _SessionFindings(NamedTuple):
    """The findings of the rules in a message, whether it is taken in at all, and what they saw of it. speaker: the
    actor's name folded. said: the main text as :func:`words` makes it."""

    issues: list[Issue]
    taken: bool
    speaker: str = ""
    addressee: str | None = None
    said: str = ""
    forged: bool = False
    allowed: bool = True


class Session:
    """Monitors one session.

    Args:
        roster: the names of the actors, or a mapping from each name to the identity (or identities) by which the
            transport identifies it. With a roster, other speakers and addressees are issues.
        strict: raise RuleError for issues of severity "error" instead of returning them; a rejected message changes
            nothing.
        session_id: the session's id; by default that of the first message that has one. A message without session_id
            belongs to the session.
        acknowledgements: the acknowledgements, as :func:`words` makes them.
    """

    def __init__(
        self,
        roster: Iterable[str] | Mapping[str, str | Iterable[str]] | None = None,
        strict: bool = False,
        *,
        session_id: str | None = None,
        acknowledgements: Iterable[str] = ACKNOWLEDGEMENTS,
    ) -> None:
        self.strict = strict
        self.session_id = session_id
        self.turn = Turn(ANYONE)
        usual = acknowledgements is ACKNOWLEDGEMENTS
        self._acknowledgements = _USUAL if usual else frozenset(map(words, acknowledgements))
        self._open: dict[Kind, dict[str, list[OpenRequest]]] = {Kind.QUERY: {}, Kind.DELEGATION: {}}  # by folded name
        self._proving: set[str] = set()  # folded names of those who prove what was delegated to them
        self._identities: dict[str, frozenset[str]] = {}  # folded name -> those of the first actor who has it
        self._closed = roster is not None
        self._actors: dict[str, None] = {}
        self._names_of: dict[str, str] = {}  # folded name -> the name as it was first written
        self._outlines: dict[str, str] = {}  # outline -> the same
        for name in roster or ():
            self._meet(name)
        self._clocks: dict[tuple[str | None, str], Clocks] = {}
        self._forged: set[tuple[str | None, str, int]] = set()
        self._last: tuple[str, str] | None = None  # speaker of the last message, and what it said
        if isinstance(roster, Mapping):
            for actor, known in roster.items():
                self._identities.setdefault(folded(actor), frozenset((known,) if isinstance(known, str) else known))

    @property
    def actors(self) -> tuple[str, ...]:
        """The names of the roster, or of those who have spoken."""
        return tuple(self._actors)

    @property
    def open_queries(self) -> list[Message]:
        """The unanswered queries in order, by the agent that was asked."""
        return [asked.message for asked in self.waiting(Kind.QUERY)]

    def waiting(self, *kinds: Kind) -> Iterator[OpenRequest]:
        """The open messages of these kinds."""
        return (asked for kind in kinds for several in self._open[kind].values() for asked in several)

    def _of(self, session_id: str | None) -> str | None:
        """Under what the clocks of a message are kept: its session_id where that is of another session. The first one
        becomes that of the session."""
        return None if self.session_id in (None, session_id) else session_id

    def _meet(self, name: str) -> None:
        if name not in self._actors:
            self._actors[name] = None
            self._names_of.setdefault(folded(name), name)
            self._outlines.setdefault(outline(name), name)

    def next_clock(self, actor: str, session_id: str | None = None) -> int:
        """The logical_clock of the next message of ``actor`` (by default, in this session)."""
        clocks = self._clocks.get((self._of(session_id), actor))
        return 1 if clocks is None else clocks.last + 1

    def grant(self, actor: str) -> None:
        """Grants the floor to ``actor``."""
        self.turn = Turn(ADDRESSEE, actor)

    def time_out(self) -> None:
        """Takes the floor from its holder: anyone may speak."""
        self.turn = Turn(ANYONE)

    def feed(self, message: Message, identity: str | None = None) -> list[Issue]:
        """Returns the issues that the session's rules find in the next message; ``identity`` is its sender as
        identified by the transport.

        A message that reading would reject is an issue with that reason and changes nothing. A message in another
        actor's name is an issue; it uses that clock and releases the floor, but changes nothing else. A strict session
        raises RuleError for errors.
        """
        found = self._found(message, identity)
        for issue in found.issues if self.strict else ():
            if issue.severity == "error":
                rule = RULES[issue.reason][1] if issue.reason in RULES else "message"
                raise RuleError(issue.reason, issue.text, rule=rule, wire=WIRE, path=str(issue.where))
        if found.taken:
            self._take(message, found)
        return found.issues

    # --- the rules: what each finds, without changing anything

    def _found(self, message: Message, identity: str | None, doubts: bool = True) -> _SessionFindings:
        """doubts: whether what may be no more than an acknowledgement is wanted."""
        if not isinstance(message, Message):
            raise TypeError(f"a session expects SSTP messages, not {type(message).__name__}")
        if message._source is None:
            broken = next((issue for issue in check(message) if issue.severity == "error"), None)
            if broken is not None:
                return _SessionFindings([broken], False)
        header, addressee = message._fields["header"], message.addressee
        actor, clock, session_id = header["actor_id"], header["logical_clock"], header.get("session_id")
        forger = None if identity is None or self._is(identity, actor) else identity
        issues = []
        if session_id is not None and self.session_id not in (None, session_id):
            text = f"the session is {self.session_id!r}, and this message says {session_id!r}"
            issues.append(_finding(Reason.SESSION_MISMATCH, "/header/session_id", text))
        if forger is not None:
            text = f"{forger!r} speaks in the name of {actor!r}"
            issues.append(_finding(Reason.IDENTITY_MISMATCH, "/header/actor_id", text))
        if actor not in self._actors:
            text = f"{actor!r} is not in the roster"
            issues += self._name_issues(actor, "/header/actor_id", Reason.UNKNOWN_ACTOR, text)
        if addressee is not None and folded(addressee) not in self._names_of:
            text = f"the roster has no actor {addressee!r}"
            issues += self._name_issues(addressee, _addressee_place(message), Reason.UNKNOWN_ADDRESSEE, text)
        if forger is not None:
            return _SessionFindings(issues, True, addressee=addressee, forged=True)
        speaker, text = folded(actor), _main_text(message)
        said = words(text)
        issues += self._clock(clock, (self._of(session_id), actor))
        # One more proof of a task that was delegated to them may come when others are to speak.
        proves = message.KIND in PROOFS and speaker in self._proving and self.turn.who == OTHERS
        allowed = proves or self.turn.admits(actor)
        if not allowed:
            waits = f"{actor!r} spoke last and waits for a response"
            told = f"only {self.turn.actor!r} may speak now, not {actor!r}" if self.turn.who == ADDRESSEE else waits
            issues.append(_finding(Reason.OUT_OF_TURN, "/header/actor_id", told))
        issues += self._contribution(message.KIND, speaker, text, said, doubts)
        return _SessionFindings(issues, True, speaker, addressee, said, False, allowed)

    def _is(self, identity: str, actor: str) -> bool:
        known = self._identities.get(folded(actor))
        return identity in known if known is not None else folded(identity) == folded(actor)

    def _name_issues(self, name: str, where: str, reason: Reason, text: str) -> Iterator[Issue]:
        """Of a name that no actor has: another one that it could be taken for, or that it is not in the roster."""
        shape = outline(name)
        twin = self._names_of.get(folded(name)) or (self._outlines.get(shape) if shape else None)
        if twin is not None:
            yield _finding(Reason.LOOK_ALIKE, where, f"{name!r} looks like {twin!r}")
        elif self._closed:
            yield _finding(reason, where, text)

    def _clock(self, clock: int, key: tuple[str | None, str]) -> Iterable[Issue]:
        actor, used = key[1], self._clocks.get(key, _UNUSED)
        last = used.last
        if (*key, clock) in self._forged and clock not in used:
            reason = Reason.CLOCK_REPEAT
            text = f"clock {clock} of {actor!r} was used before, by another agent in that name"
        elif clock == last + 1:
            return ()
        elif clock in used:
            reason, text = Reason.CLOCK_REPEAT, f"{actor!r} has used clock {clock} before"
        elif clock <= last:
            reason, text = Reason.CLOCK_BACK, f"{actor!r} goes back to clock {clock} after {last}"
        else:
            reason, text = Reason.CLOCK_GAP, f"{actor!r} jumps from clock {last} to {clock}; {last + 1} is next"
        return (_finding(reason, "/header/logical_clock", text),)

    def _contribution(self, kind: Kind, speaker: str, text: str, said: str, doubts: bool) -> Iterable[Issue]:
        forms = self._acknowledgements
        asked = self._open[Kind.QUERY].get(speaker) if kind is Kind.KNOWLEDGE else None
        question = None if asked is None else _main_text(asked[-1].message)
        last = self._last
        echo = last is not None and last[1] == said and said.count(" ") >= 2 and folded(last[0]) != speaker
        if is_acknowledgement(said, forms, question):
            reason, told = Reason.ACKNOWLEDGEMENT, "an acknowledgement adds nothing"
        elif (doubts or echo) and is_doubtful(text, forms, question, said):
            reason, told = Reason.DOUBTFUL_ACKNOWLEDGEMENT, "this may be no more than an acknowledgement"
        elif last is not None and echo:
            reason, told = Reason.ECHO, f"this repeats what {last[0]!r} has just said"
        else:
            return ()
        return (_finding(reason, f"/payload/{MAIN_TEXT[kind]}", told),)

    # --- what a message changes

    def _take(self, message: Message, found: _SessionFindings, place: Any = None) -> None:
        _, _, speaker, addressee, said, forged, allowed = found
        actor, clock, session_id = message.actor_id, message.logical_clock, message.session_id
        if forged:
            self._forged.add((self._of(session_id), actor, clock))
            self.turn = Turn(ANYONE)
            return
        if self.session_id is None:
            self.session_id = session_id
        if not self._closed and actor not in self._actors:
            self._meet(actor)
        key = (self._of(session_id), actor)
        used = self._clocks.get(key)
        if used is None:
            used = self._clocks[key] = Clocks()
        if clock > 0 and (clock > used.last or clock not in used):
            used.add(clock)
        self._last = actor, said
        kind = message.KIND
        if kind is Kind.KNOWLEDGE:
            self._open[Kind.QUERY].pop(speaker, None)
        delegated = self._open[Kind.DELEGATION].pop(speaker, None)
        if kind is not Kind.EVIDENCE_BUNDLE:
            self._proving.discard(speaker)
        elif delegated is not None:
            self._proving.add(speaker)
        if kind in self._open:
            self._open[kind].setdefault(folded(addressee or ""), []).append(OpenRequest(message, place))
        if allowed and addressee is None:
            self.turn = Turn(OTHERS, actor)
        elif allowed and addressee is not None:
            unreachable = self._closed and folded(addressee) not in self._names_of
            self.turn = Turn(ANYONE) if unreachable else Turn(ADDRESSEE, addressee)


def _finding(reason: Reason, where: str, text: str) -> Issue:
    return Issue(reason, where, RULES[reason][0], text)


def _main_text(message: Message) -> str:
    text = message._fields["payload"].get(MAIN_TEXT[message.KIND])
    return text if isinstance(text, str) else ""


def _addressee_place(message: Message) -> str:
    payload, header = message._fields["payload"], message._fields["header"]
    if isinstance(payload.get("directed_to"), str):
        return "/payload/directed_to"
    return "/header/directed_to" if isinstance(header.get("directed_to"), str) else "/payload/assigned_to"


# --- what an agent says itself

Sent = TypeVar("Sent", bound=Message)
_OPTIONAL_OF_HEADER = [field.name for field in HEADER if field.need == "never"]
_DEFAULTS: dict[str, Any] = {"texts": [], "list": [], "text_or_null": None}
"""Type of a field -> its value where none is given."""


class Agent:
    """A speaker in a session. It creates only messages that strict writing accepts, each with the next clock.

    A message that would be rejected raises EncodeError and does not advance the clock. Agents are thread-safe.

    Args:
        actor_id: the agent's name.
        session_id: the session.
        clock: the logical clock of the next message (1 for a new session; ``Session.next_clock`` for an existing one).
    """

    def __init__(self, actor_id: str, session_id: str, *, clock: int = 1) -> None:
        self.actor_id = actor_id
        self.session_id = session_id
        self.clock = clock
        self._lock = Lock()

    def say(self, kind: type[Sent], text: str, **fields: Any) -> Sent:
        """Creates the next message, of a class such as ``sstp.Query``.

        text: the main field of the kind (goal, question, content, task, decision, claim, summary). fields: the
        other fields of the payload (lists default to empty, ``supersedes`` to None), and policy_labels, provenance,
        risk_score of the header.
        """
        rows = PAYLOADS[kind.KIND]
        refuse_unknown(kind, fields, [*(row.name for row in rows), *_OPTIONAL_OF_HEADER])
        given = {row.name: _DEFAULTS[row.kind.name] for row in rows if row.kind.name in _DEFAULTS} | fields
        given[MAIN_TEXT[kind.KIND]] = text
        payload = {row.name: given[row.name] for row in rows if row.name in given}
        with self._lock:
            given |= {
                "kind": kind.KIND.value,
                "actor_id": self.actor_id,
                "schema_id": SCHEMA_IDS[kind.KIND],
                "session_id": self.session_id,
                "logical_clock": self.clock,
            }
            message = kind({row.name: given[row.name] for row in HEADER if row.name in given}, payload)
            encode(message)
            self.clock += 1
        return message
