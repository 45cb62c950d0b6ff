"""Conformance checklists: the clauses of a specification, and the result of each for some messages.

Each wire defines its clauses and their checks (``<package>/checklist.py``). This module defines the results;
``turnwire.read.located`` reads the messages and runs the checks.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import Reason, UnknownKey

if TYPE_CHECKING:
    from turnwire.errors import DecodeError, Issue

PASS, FAIL, OPEN, NOT_APPLICABLE = "pass", "fail", "open", "not applicable"
"""The ends of a clause. "open": something that it asks for is unfinished where the input ends."""
CONFORMS, FAILS, IS_OPEN, NOTHING = "conforms", "does not conform", "is open", "nothing found"
"""The ends of a checklist: a clause fails; none fails, but one is open; there is nothing to check."""
_MARKS = {PASS: "x", FAIL: " ", OPEN: "?", NOT_APPLICABLE: "-"}
_LOG_LINE = re.compile(
    rb"[ \t]*(?:[\[{]|@[afcSdT][0-9A-Za-z]{1,11}\||<[0-9]{1,3}>|(?:ts|time|level|timestamp)="
    rb"|[0-9]{4}([-/.])[0-9]{2}\1[0-9]{2}[T ,]|[0-9]{2}:[0-9]{2}:[0-9]{2}[ ,.]|[0-9]{10,19}(?:\.[0-9]+)?[ :,]"
    rb"|[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}|[IWEF][0-9]{4} [0-9]{2}:[0-9]{2}:"
    rb"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)(?::|[ \t]+[\[(-]))"
)
_FURTHER_LOG_LINE = re.compile(rb"\n" + _LOG_LINE.pattern)
_STATEMENT = re.compile(rb"DEF [A-Z_][A-Z0-9_]* =|LAWS[ \t\r]*\Z|- L[0-9]+:")
_FIRST_PERSON = (
    r"\bI(?:['\u2019](?:m|ll|ve|d)\b| (?:am|will|have|had|was|would|can|could|cannot|think|believe|need|found|looked"
    r"|did|do|don't|just|now|also|shall|should|understand|see|agree|hope|want)\b)"
)
_OPENINGS = (
    r"(?:sure|certainly|of course|absolutely|thanks|thank you|understood|got it|sorry|apologies)"
    r"(?:[,!]|\.(?: |$)| for | to )|(?:hello|hi|hey|okay|ok|great|perfect)[,!] [a-z]"
    r"|(?:(?:and|now|so|then) )?(?:here|below)(?:['\u2019]s| is| are) |let me |as an ai |i(?: [a-z]+){2}"
    r"|we(?:['\u2019]ll|['\u2019]ve| will| have| need| can| should) [a-z]|(?:this is|the following is) (?:my|the) "
    r"|ich (?:habe|bin|werde) |hier (?:ist|sind) |voici |je (?:vais|suis) |j['\u2019]ai "
    r"|aqu\u00ed (?:est\u00e1|tienes) "
)
_SPOKEN = re.compile(rf"{_FIRST_PERSON}|(?:^|[:>\])|-] )\W{{0,2}}(?i:{_OPENINGS})")
_TOLD = 5
"""Faults of a clause that are told in a line for people; ``places`` has all."""


class Clause(NamedTuple):
    """One requirement of a specification. id: a short, stable name. section: its section. text: the requirement."""

    id: str
    section: str
    text: str


class Untested(NamedTuple):
    """A requirement that cannot be checked in a log: its section, its text, and the reason."""

    section: str
    text: str
    reason: str


class ClauseFault(NamedTuple):
    """A violation of a clause (or an open or doubtful finding): the clause's id, the place, and an explanation.

    line: 1-based; for messages without a file, their number. offset, file: the byte and file, if known. since: for open
    work, the time of the message that started it, as written.
    """

    clause: str
    line: int
    text: str
    offset: int | None = None
    file: str | None = None
    since: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the finding as JSON values, without unknown ones."""
        values = {"file": self.file, "line": self.line, "offset": self.offset, "since": self.since, "text": self.text}
        return {name: value for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        since = "" if self.since is None else f" since {self.since}"
        return f"line {self.line}{since}: {self.text}"


class Line(NamedTuple):
    """One line of a checklist: a clause, its status, and its faults, open findings and doubtful findings (which never
    change the status)."""

    clause: Clause
    status: str
    faults: tuple[ClauseFault, ...] = ()
    open: tuple[ClauseFault, ...] = ()
    doubts: tuple[ClauseFault, ...] = ()

    @property
    def name(self) -> str:
        """The text of the clause."""
        return self.clause.text

    @property
    def reason(self) -> str:
        """A description of the violations, or of the open findings; "" if the clause is met."""
        return "; ".join((*_told(self.faults), *_told(self.open, "open, ")))

    def __str__(self) -> str:
        """The clause with its mark, and its place after it; of several places each is a line of its own."""
        places = [*_told(self.faults), *_told(self.open, "open, "), *_told(self.doubts, "doubtful, ")]
        clause = f"[{_MARKS[self.status]}] {self.name} ({self.clause.section})"
        if len(places) > 1:
            return "\n      ".join((f"{clause}:", *places))
        return ": ".join((clause, *places))


def _told(faults: tuple[ClauseFault, ...], word: str = "") -> list[str]:
    told = [f"{word}{fault}" for fault in faults[:_TOLD]]
    return told + ([f"and {len(faults) - _TOLD} more"] if len(faults) > _TOLD else [])


class Checklist(NamedTuple):
    """The results of all clauses of a wire; true if the messages conform. records: the number of messages checked;
    rejects: the number of unreadable ones, if counted separately."""

    wire: str
    records: int
    lines: tuple[Line, ...]
    rejects: int = 0

    @property
    def verdict(self) -> str:
        """ "nothing found" without messages, "does not conform" if a clause fails, "is open" if none fails and one is
        open, otherwise "conforms"."""
        found = {line.status for line in self.lines}
        if FAIL in found:
            return FAILS
        if not self.records and not self.rejects:
            return NOTHING
        return IS_OPEN if OPEN in found else CONFORMS

    def __bool__(self) -> bool:
        return self.verdict == CONFORMS

    def __iter__(self) -> Iterator[Line]:  # type: ignore[override]
        return iter(self.lines)

    def line(self, name: str) -> Line:
        """Returns the line of a clause, by its id. Raises UnknownKey, a KeyError, for an unknown id."""
        for line in self.lines:
            if line.clause.id == name:
                return line
        known = [line.clause.id for line in self.lines]
        raise UnknownKey("clause", name, known, f"there is no clause {name!r}; the clauses are {', '.join(known)}")

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))

    def to_dict(self) -> dict[str, Any]:
        """The checklist as JSON values."""
        clauses = [
            {
                "id": line.clause.id,
                "name": line.clause.text,
                "status": line.status,
                "clause": line.clause.section,
                "places": [fault.to_dict() for fault in line.faults],
                "open": [fault.to_dict() for fault in line.open],
                "doubtful": [fault.to_dict() for fault in line.doubts],
            }
            for line in self.lines
        ]
        counts = {"records": self.records, "rejects": self.rejects}
        return {"wire": self.wire, "conforms": bool(self), "verdict": self.verdict, **counts, "clauses": clauses}


def by_reason(broken_by: Mapping[str, str]) -> dict[Reason, str]:
    """Reason -> the clause that it breaks, of a table of clauses with the names of their reasons."""
    return {Reason(name): clause for clause, names in broken_by.items() for name in names.split()}


class _Refused(Exception):
    """A checker that was asked whether it admits a message has found a fault."""

    def __init__(self, fault: ClauseFault) -> None:
        super().__init__(fault)
        self.fault = fault


class RecordChecklist:
    """Checks the messages of one file against the clauses of a wire; the base class for each wire.

    It receives every message and every reject in order (:meth:`message`, :meth:`refused`), then :meth:`end`. Its
    findings are in ``faults``, ``open`` and ``doubts``; ``applied`` has the ids of the clauses that applied. records,
    rejects: how many of each it received. It reports each fault of a message before the message changes its state (or
    overrides ``admits``). alone: whether messages are checked independently.
    """

    alone = False
    _tries = False  # whether a message that breaks a clause is to change nothing
    _issues: Sequence[Issue] | None = None  # of the message that is checked, if these are known

    def __init__(self) -> None:
        self.faults: list[ClauseFault] = []
        self.open: list[ClauseFault] = []
        self.doubts: list[ClauseFault] = []
        self.applied: set[str] = set()
        self.records = self.rejects = 0
        self._given_up: dict[str, tuple[int, int]] = {}  # clause -> how many are no longer tracked, the last line

    def message(self, message: Any, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Checks one message. line: its line, or its number; raw: its bytes, if known."""
        raise NotImplementedError

    def refused(self, error: DecodeError, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Handles a record that cannot be read."""
        raise NotImplementedError

    def admits(self, message: Any, line: int, issues: Sequence[Issue] | None = None) -> ClauseFault | None:
        """Checks one message and applies it if it violates no clause; otherwise returns the first fault and changes
        nothing. Costs no more than :meth:`message`, regardless of the history; keeps no doubts. issues: what the
        ``check`` of its wire finds, if that is known."""
        applied = set(self.applied)
        self._tries, self._issues = True, issues
        try:
            self.message(message, line)
        except _Refused as refused:
            self.applied = applied
            return refused.fault
        finally:
            self._tries, self._issues = False, None
        return None

    def forget(self, room: int) -> None:
        """Forgets the oldest items beyond ``room`` of each kind; later references to them are faults. By default does
        nothing."""

    def give_up(self, clause: str, line: int) -> None:
        """Counts unfinished work that began in a line and is no longer tracked: it stays open."""
        self._given_up[clause] = self._given_up.get(clause, (0, 0))[0] + 1, line

    def end(self) -> None:
        """Ends the input."""
        for clause, (count, line) in self._given_up.items():
            self.left(clause, line, f"{count:,} more, no longer tracked, have not ended")

    def fault(self, clause: str, line: int, text: str, offset: int | None = None) -> None:
        """Records a fault."""
        fault = ClauseFault(clause, line, text, offset)
        if self._tries:
            raise _Refused(fault)
        self.faults.append(fault)

    def left(self, clause: str, line: int, text: str, offset: int | None = None, since: str | None = None) -> None:
        """Records an open finding."""
        self.open.append(ClauseFault(clause, line, text, offset, None, since))

    def doubt(self, clause: str, line: int, text: str, offset: int | None = None) -> None:
        """Records a doubtful finding."""
        if not self._tries:
            self.doubts.append(ClauseFault(clause, line, text, offset))


class Specification(NamedTuple):
    """The specification of a wire: the value of ``Wire(checklist=...)``.

    clauses: those that can be checked in a log; untested: those that cannot. checker: creates a
    :class:`RecordChecklist` from keyword options, among them ``now`` (the time for unfinished work, seconds since
    1970-01-01 UTC, or None). around: the checker has ``look(found)``, which receives the bytes of the whole file and
    everything found in it, of all wires, before the first message
    (:class:`turnwire.read.surroundings.LocatedRecords`). options: the options of ``checker``. loads: option -> (path)
    -> its value, for options that users keep in a file; the wire's ``check`` accepts them, too.
    """

    clauses: tuple[Clause, ...]
    untested: tuple[Untested, ...]
    checker: Callable[..., Any]
    around: bool = False
    options: tuple[str, ...] = ()
    loads: Mapping[str, Callable[[str], Any]] = {}


def log_line(line: bytes) -> bool:
    """True if a line begins like a log line: with a date, a time, a log level (``INFO:`` or ``INFO [``), a JSON object
    or array, or an nSLIP message."""
    return _LOG_LINE.match(line) is not None


def log_lines(text: bytes) -> bool:
    """True if any line of a text begins like a log line."""
    return _LOG_LINE.match(text) is not None or _FURTHER_LOG_LINE.search(text) is not None


def statement(line: bytes) -> bool:
    """True if a line belongs to a CSP/1 preamble, which is not prose in files of several wires."""
    return _STATEMENT.match(line) is not None


def spoken(line: bytes) -> bool:
    """True if a line was certainly written by a person or model, not a program: it uses "I", or begins with words such
    as "Here is" and "Sure,". Other prose is not distinguished from log output."""
    return _SPOKEN.search(line.decode("utf-8", "replace").rstrip()) is not None


def _by_clause(clauses: Iterable[Clause], faults: Iterable[ClauseFault]) -> dict[str, tuple[ClauseFault, ...]]:
    found: dict[str, list[ClauseFault]] = {clause.id: [] for clause in clauses}
    for fault in faults:
        found[fault[0]].append(fault)
    return {name: tuple(sorted(several, key=_LINE)) for name, several in found.items()}


_LINE = itemgetter(ClauseFault._fields.index("line"))


def checklist_of(wire: str, clauses: Iterable[Clause], checker: RecordChecklist, file: str | None = None) -> Checklist:
    """Creates the checklist for findings in ``file``: a clause with faults fails, one with open findings is open, one
    that is ``applied`` passes, and any other does not apply."""
    clauses = tuple(clauses)
    several = (checker.faults, checker.open, checker.doubts)
    if file is not None:
        several = tuple([fault._replace(file=file) for fault in one] for one in several)  # type: ignore[assignment]
    found, waiting, doubtful = (_by_clause(clauses, one) for one in several)
    lines = []
    for clause in clauses:
        name = clause.id
        kept = PASS if name in checker.applied else NOT_APPLICABLE
        status = FAIL if found[name] else OPEN if waiting[name] else kept
        lines.append(Line(clause, status, found[name], waiting[name], doubtful[name]))
    return Checklist(wire, checker.records, tuple(lines), checker.rejects)


class Recent(OrderedDict[Any, Any]):
    """A table of the entries that were set last; of more than ``room`` the oldest are forgotten."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._room:
            self.popitem(last=False)
