"""A session, as it is watched and as an agent takes part in it: clocks, turns, names ("Turn discipline" and "Rules").

The monitor is sans-IO: it is fed the messages in the order in which they were sent, and the host tells it when it
grants the floor or stops waiting for somebody.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from turnwire.errors import Issue, Reason, RuleError
from turnwire.message import refuse_unknown
from turnwire.sstp.acknowledgements import ACKNOWLEDGEMENTS, is_acknowledgement, is_doubtful, words
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


@lru_cache(4096)
def folded(name: str) -> str:
    """The form in which names are compared: two that are equal but for case and Unicode composition mean one actor."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


@lru_cache(4096)
def outline(name: str) -> str:
    """The rest of a name when look-alike letters, marks, case, spaces and punctuation are taken away."""
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_TWINS)
    return "".join(letter for letter in letters if letter.isalnum()).replace("rn", "m").replace("vv", "w")


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
        acknowledgements: the acknowledgements, as ``acknowledgements.words`` makes them.
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
