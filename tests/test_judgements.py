"""The findings of judges: verdicts, the order of places, what a refusal leaves behind; and what looks like a
line of a log, of a preamble or of somebody who speaks."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from turnwire import checklists
from turnwire.checklists import (
    Checklist,
    Clause,
    ClauseFault,
    Line,
    RecordChecklist,
    checklist_of,
    log_line,
    log_lines,
    spoken,
    statement,
)

pytestmark = pytest.mark.once

ONE, OTHER = Clause("one", "1", "One thing"), Clause("other", "2", "Another thing")
PASS, FAIL, OPEN, MOOT = checklists.PASS, checklists.FAIL, checklists.OPEN, checklists.NOT_APPLICABLE


@pytest.mark.parametrize("statuses", list(itertools.product((PASS, FAIL, OPEN, MOOT), repeat=2)))
@pytest.mark.parametrize("records", [0, 1, 5])
@pytest.mark.parametrize("rejects", [0, 1, 5])
def test_the_verdict(statuses: tuple[str, str], records: int, rejects: int) -> None:
    found = Checklist("x", records, tuple(map(Line, (ONE, OTHER), statuses)), rejects)
    if FAIL in statuses:
        wanted = "does not conform"
    elif records + rejects == 0:
        wanted = "nothing found"
    else:
        wanted = "is open" if OPEN in statuses else "conforms"
    values = found.to_dict()
    assert (found.verdict, bool(found)) == (wanted, wanted == "conforms")
    assert (values["verdict"], values["conforms"]) == (wanted, wanted == "conforms")
    assert (values["records"], values["rejects"]) == (records, rejects)


@pytest.mark.parametrize("what", ["faults", "open", "doubts"])
def test_places_stand_in_the_order_of_lines(what: str) -> None:
    """Those of one line as they were found, each beside its own clause."""
    numbers = [5, 1, 3, 1, 2**40, 0, 3]
    found = [ClauseFault("one" if place % 2 else "other", line, str(place)) for place, line in enumerate(numbers)]
    judge = RecordChecklist()
    judge.records, judge.rejects, judge.applied = 9, 4, {"other"}
    setattr(judge, what, found)
    made = checklist_of("x", (ONE, OTHER), judge)
    assert (made.wire, made.records, made.rejects) == ("x", 9, 4)
    for line in made:
        own = [fault for fault in found if fault.clause == line.clause.id]
        assert getattr(line, what) == tuple(sorted(own, key=lambda fault: fault.line))
        kept = PASS if line.clause is OTHER else MOOT
        assert line.status == {"faults": FAIL, "open": OPEN, "doubts": kept}[what]


def test_a_place_says_all_that_is_known_of_it() -> None:
    """Also where that is 0 or empty."""
    assert ClauseFault("one", 0, "", 0, "", "").to_dict() == {
        "file": "",
        "line": 0,
        "offset": 0,
        "since": "",
        "text": "",
    }
    assert ClauseFault("one", 0, "x").to_dict() == {"line": 0, "text": "x"}
    assert ClauseFault("one", 3, "x", 7, "a.log", "12:00").to_dict() == {
        "file": "a.log", "line": 3, "offset": 7, "since": "12:00", "text": "x",
    }  # fmt: skip


class Picky(RecordChecklist):
    """Doubts and applies on its way to a fault."""

    foresees = True

    def message(self, message: Any, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        self.applied.add(f"one {message}")
        self.doubt("one", line, "doubtful")
        if message == "bad":
            self.fault("other", line, "first", offset)
            self.fault("other", line, "second", offset)
        self.records += 1


def test_a_message_that_is_not_admitted_leaves_nothing_behind() -> None:
    judge = Picky()
    for line, message in enumerate(("good", "bad", "fine", "bad", "bad", "good"), 1):
        before = set(judge.applied), list(judge.doubts), list(judge.faults), list(judge.open), judge.records
        fault = judge.admits(message, line)
        after = judge.applied, judge.doubts, judge.faults, judge.open, judge.records
        if message == "bad":
            assert fault == ClauseFault("other", line, "first") and after == before
        else:
            assert fault is None and not judge.doubts  # whoever asks wants to know of faults alone
    assert judge.applied == {"one good", "one fine"} and judge.records == 3
    judge.message("bad", 9)  # who is not asked keeps what is wrong
    assert [fault.text for fault in judge.faults] == ["first", "second"]


LEVELS = ("TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL")
LOGGED = [
    *(f"{level}{behind}" for level in LEVELS for behind in (":", ": x", " [main] x", "\t(x)", "  - x")),
    *(f"2026{sign}01{sign}31{behind}" for sign in "-/." for behind in ("T10", " 10:00", ",x")),
    *(f"10:00:59{behind}x" for behind in " ,."),
    *(f"{'1' * digits}{behind}" for digits in (10, 13, 16, 19) for behind in (" x", ":x", ",x", ".5 x", ".123456:")),
    *("Jan  1 10:00:00 host", "Dec 31 23:59:59", "I0102 10:00:00.1", "W1231 23:59:", "E0101 00:00:", "F0101 00:00:"),
    *("<0>x", "<34>x", "<191>Oct", "ts=1", "time=x", "level=info", "timestamp=1"),
    *('{"a":1}', "[1]", "[main] x", "{", "["),
    *(f"@{letter}0|" for letter in "afcSdT"),
    *("@aZZZZZZZZZZZ|", "@T0|"),
]
UNLOGGED = [
    *(f"{level}{behind}" for level in LEVELS for behind in ("", " x", "S: x", "[x]")),
    *(
        "info: x",
        "Info - x",
        "VERBOSE: x",
        "2026-01/31T10",
        "2026_01_31 10",
        "2026-01-31x",
        "26-01-31T10",
        "2026-1-31 ",
    ),
    *("10:00 x", "10:00:59x", "1" * 9 + " x", "1" * 20 + " x", "1" * 10 + "x", "1" * 10 + ". x"),
    *("jan  1 10:00:00", "Jan 1 10:00:00", "Jan  1 10:00", "D0102 10:00:00", "I012 10:00:00", "I0102 10:00"),
    *("<>x", "<1234>x", "<a>x", "tss=1", "ts =1", "msg=x", "@b0|", "@a|", "@a000000000000|", "@a-|", "@a0#", "x {", ""),
]


@pytest.mark.parametrize("before", ["", " ", "\t \t"])
def test_lines_of_logs(before: str) -> None:
    assert [text for text in LOGGED if not log_line(f"{before}{text}".encode())] == []
    assert [text for text in UNLOGGED if log_line(f"{before}{text}".encode())] == []
    for first, second in (("x", "INFO: y"), ("INFO: y", "x"), ("x", "y"), ("", "\t{"), ("x INFO: y", "")):
        text = f"{before}{first}\n{before}{second}".encode()
        assert log_lines(text) == any(map(log_line, text.split(b"\n")))


def test_statements_of_a_preamble() -> None:
    """Sections 3 and 7 of CSP/1: definitions, the heading of the laws, and laws."""
    good = ["DEF A = x", "DEF _A9_Z = ", "DEF AB =x", "LAWS", "LAWS ", "LAWS\t", "LAWS\r", "- L1: x", "- L0123456789:"]
    bad = ["DEF a = x", "DEF 9A = x", "DEF A: x", "DEF A x", "def A = x", " DEF A = x", "LAWS:", "LAWSUIT", "LAWS x"]
    bad += ["LAW", "- L: x", "- L1 x", "L1: x", "-L1: x", "- l1: x", ""]
    assert [text for text in good if not statement(text.encode())] == []
    assert [text for text in bad if statement(text.encode())] == []


SAID = [
    *(f"I{mark}{end} on it" for mark in "'\u2019" for end in ("m", "ll", "ve", "d")),
    *(f"then I {verb} it" for verb in (
        "am", "will", "have", "had", "was", "would", "can", "could", "cannot", "think", "believe", "need", "found",
        "looked", "did", "do", "don't", "just", "now", "also", "shall", "should", "understand", "see", "agree", "hope",
        "want",
    )),
    *(f"{word}{end}" for word in (
        "sure", "certainly", "of course", "absolutely", "thanks", "thank you", "understood", "got it", "sorry",
        "apologies",
    ) for end in (", x", "! x", ".", ". x", " for x", " to x")),
    *(f"{word}{end} there" for word in ("hello", "hi", "hey", "okay", "ok", "great", "perfect") for end in ",!"),
    *(f"{front}{word}{end} it" for front in ("", "and ", "now ", "so ", "then ") for word in ("here", "below")
      for end in ("'s", "\u2019s", " is", " are")),
    *(f"we{end} go" for end in (
        "'ll", "\u2019ll", "'ve", "\u2019ve", " will", " have", " need", " can", " should",
    )),
    *("let me see", "as an ai model", "i looked at it", "this is my x", "this is the x", "the following is the x"),
    *("ich habe x", "ich bin x", "ich werde x", "hier ist x", "hier sind x", "voici x", "je vais x", "je suis x"),
    *("j'ai x", "j\u2019ai x", "aqu\u00ed est\u00e1 x", "aqu\u00ed tienes x"),
]  # fmt: skip
UNSAID = ["", "x", "done", "TASK T1", "surely x", "oki, x", "hi x", "hi,x", "here", "we go", "I", "II am x"]
UNSAID += ["a sure, x", "sure", "this is a x", "hier x", "i looked"]


def test_who_speaks() -> None:
    """In any case, at the beginning of a line or behind the mark of a list, a quotation or a name."""
    for text in SAID:
        upper = text[:1].upper() + text[1:]
        for line in {text, upper, f"> {upper}", f"user: {upper}", f"* {upper}", f"- {upper}\r\n"}:
            assert spoken(line.encode()), line
    assert [text for text in UNSAID if spoken(text.encode())] == []
