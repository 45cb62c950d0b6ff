"""A conformance checklist: the clauses of a specification, and for each whether some messages keep it.

The clauses are data of each wire (``<package>/checklist.py``); here is what becomes of what was found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

PASS, FAIL, NOT_APPLICABLE = "pass", "fail", "not applicable"
_MARKS = {PASS: "x", FAIL: " ", NOT_APPLICABLE: "-"}
_LOG_LINE = re.compile(
    rb"[ \t]*(?:[\[{]|@[afcSdT][0-9A-Za-z]{1,11}\||[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]?[0-9]{2}:[0-9]{2}"
    rb"|[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2})"
)
_TOLD = 5
"""How many faults of a clause are told in a line for people; ``places`` has all."""


class Clause(NamedTuple):
    """One demand of a specification. id: stable, short. section: where it stands. text: what it demands."""

    id: str
    section: str
    text: str


class Fault(NamedTuple):
    """Where a clause is broken: its id, a line (1-based; of messages without a file, their number), and how."""

    clause: str
    line: int
    text: str


class Line(NamedTuple):
    """One line of a checklist: a clause, "pass", "fail" or "not applicable", and its faults in order."""

    clause: Clause
    status: str
    faults: tuple[Fault, ...] = ()

    @property
    def name(self) -> str:
        """What the clause demands."""
        return self.clause.text

    @property
    def reason(self) -> str:
        """Where the clause is broken and how, in words; "" where it is not."""
        told = "; ".join(f"line {fault.line}: {fault.text}" for fault in self.faults[:_TOLD])
        return told + (f"; and {len(self.faults) - _TOLD} more" if len(self.faults) > _TOLD else "")

    def __str__(self) -> str:
        return f"[{_MARKS[self.status]}] {self.name} ({self.clause.section})" + (
            f": {self.reason}" if self.faults else ""
        )


class Checklist(NamedTuple):
    """All clauses of a wire, judged; true when none fails. records: how many messages were judged; rejects: how many
    more there are that cannot be read, where that is known apart."""

    wire: str
    records: int
    lines: tuple[Line, ...]
    rejects: int = 0

    def __bool__(self) -> bool:
        return all(line.status != FAIL for line in self.lines)

    def __iter__(self) -> Iterator[Line]:  # type: ignore[override]
        return iter(self.lines)

    def counted(self, records: int, rejects: int) -> Checklist:
        """The same checklist with these counts."""
        return Checklist(self.wire, records, self.lines, rejects)

    def line(self, name: str) -> Line:
        """The line of a clause by its id. Raises KeyError where there is none."""
        for line in self.lines:
            if line.clause.id == name:
                return line
        raise KeyError(f"there is no clause {name!r}; those are {', '.join(line.clause.id for line in self.lines)}")

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
                "places": [{"line": fault.line, "text": fault.text} for fault in line.faults],
            }
            for line in self.lines
        ]
        counts = {"records": self.records, "rejects": self.rejects}
        return {"wire": self.wire, "conforms": bool(self), **counts, "clauses": clauses}


def around(data: bytes, spans: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """The lines that are not blank around some messages, whose (offset, length) come in order."""
    behind = 0
    for start, length in (*spans, (len(data), 0)):
        yield from (line for line in data[behind:start].split(b"\n") if line.strip())
        behind = max(behind, start + length)


def log_line(line: bytes) -> bool:
    """Whether a line begins as those of logs do: with a time, an object or list of JSON, or an nSLIP message."""
    return _LOG_LINE.match(line) is not None


def judged(
    wire: str,
    records: int,
    clauses: Iterable[Clause],
    faults: Iterable[Fault],
    applied: Collection[str],
    rejects: int = 0,
) -> Checklist:
    """The checklist: a clause with faults fails, one that is ``applied`` passes, any other does not apply."""
    found: dict[str, list[Fault]] = {clause.id: [] for clause in clauses}
    for fault in faults:
        found[fault.clause].append(fault)
    lines = []
    for clause in clauses:
        status = FAIL if found[clause.id] else PASS if clause.id in applied else NOT_APPLICABLE
        lines.append(Line(clause, status, tuple(sorted(found[clause.id], key=lambda fault: fault.line))))
    return Checklist(wire, records, tuple(lines), rejects)
