"""A CSP/1 conversation that is right but for one value, of which a rule has something to say: it is said whichever
value of whichever block that is, by text as by messages."""

from __future__ import annotations

import pytest

from tests.finding.test_settled_by_text import both_ways

START = "DEF SRC = src/\nDEF LIB = lib/\nDEF DOC = doc/\n\nLAWS\n- L1: refs only, in all answers\n\n"
FIELDS = {
    "TASK": ("TASK T{n}\n", {"REQ": "find it", "IN": "SRC", "OUT": "a list", "OWNER": "B"}),
    "RESULT": ("RESULT T1\n", {"STATUS": "OK", "PRODUCED": "LIST", "DATA": "a.ts:1"}),
    "ERROR": ("ERROR E1\n", {"AT": "T1", "CAUSE": "no such file", "NEXT": "look again"}),
    "FILE": ("FILEOP F1 DELETE\n", {"PATH": "a.ts", "BASE": "abc1234"}),
    "QUERY": ("QUERY Q1\n", {"ASK": "which branch", "WHY": "to look"}),
    "PLAN": ("PLAN P1\n", {"STEP": "look", "THEN": "tell"}),
    "MEM": ("MEM M1\n", {"NODE": "a fact"}),
}
"""Intent -> how its block begins, and its fields with good values."""
SAID = {
    "filler": ("x, please",),
    "ids": ("x,lib/",),
    "restate": ("as said: refs only, in all answers!", "DEF A = b", "LAWS"),
}
"""Clause -> values that break it, wherever they are."""
PATCHES = {
    "~ DEF SRC := src/\nAPPLY -> C1": "restate",
    "~ DEF SRC := new/\nAPPLY -> C0": "state",
    "~ DEF NONE := new/\nAPPLY -> C1": "state",
    "+ DEF SRC = new/\nAPPLY -> C1": "state",
    "- DEF NONE\nAPPLY -> C1": "state",
    "~ DEF SRC := new/\n- DEF SRC\nAPPLY -> C1": "state",
    "+ DEF NEW = lib/\nAPPLY -> C1": "terms",
    "~ DEF SRC := a/\n~ DEF LIB := b/\n~ DEF DOC := c/\nAPPLY -> C1": "rewrite",
}
"""What a patch of C0 does -> the clause that it breaks."""
GOOD = ("~ DEF SRC := new/\nAPPLY -> C1", "+ DEF NEW =\nAPPLY -> C1", "- DEF DOC\nAPPLY -> C7")


def said(intent: str, block: str) -> str:
    return f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {intent}\n\n{block}\n"


def block(intent: str, number: int, **changed: str) -> str:
    head, fields = FIELDS[intent]
    rows = "".join(f"{key} {value}".rstrip() + "\n" for key, value in (fields | changed).items())
    return head.format(n=number) + rows


def broken(log: str, more: str = "") -> tuple[set[str], int]:
    """The clauses that a log breaks or may break, and how much of it was judged by text. more: further names."""
    quick, slow, count = both_ways("csp", (more + START + log).encode())
    assert quick == slow
    return {line.clause.id for line in quick if line.faults or line.doubts}, count


@pytest.mark.parametrize("intent", FIELDS)
def test_a_value_that_breaks_a_rule_does_so_in_every_field(intent):
    first = said("TASK", block("TASK", 1))
    assert broken(first * 2 + said(intent, block(intent, 2)))[0] == set()
    for key in FIELDS[intent][1]:
        for clause, values in SAID.items():
            for value in values:
                if (intent, key) == ("RESULT", "STATUS"):
                    continue
                found, _ = broken(first * 2 + said(intent, block(intent, 2, **{key: value})))
                assert clause in found, (intent, key, value)


@pytest.mark.parametrize("empty", ["", "DEF EMPTY =\n"])
@pytest.mark.parametrize("patch", [*PATCHES, *GOOD])
def test_what_a_patch_does_is_judged_by_text_as_by_messages(patch, empty):
    """Also where a name stands for nothing, which no value says."""
    first = said("TASK", block("TASK", 1))
    found, settled = broken(first * 2 + said("PATCH", f"PATCH P1\nBASE C0\n{patch}\n"), empty)
    wanted = {PATCHES[patch]} if patch in PATCHES else set()
    assert found == (wanted if wanted != {"rewrite"} or not empty else set())
    assert settled == 1 + (not wanted and not empty)


@pytest.mark.parametrize(
    ("name", "base", "target", "wanted"),
    [
        ("P2", "C1", "C2", set()),
        ("P1", "C1", "C2", {"state"}),
        ("P2", "C1", "C0", {"state"}),
        ("P2", "C1", "C1", {"state"}),
        ("P2", "C0", "C2", {"state"}),
        ("P2", "C2", "C3", {"state"}),
    ],
)
def test_ids_and_checkpoints_are_used_once(name, base, target, wanted):
    """After a patch from C0 to C1 that was judged by its text."""
    first = said("TASK", block("TASK", 1))
    log = first * 2 + said("PATCH", f"PATCH P1\nBASE C0\n{GOOD[0]}\n")
    second = said("PATCH", f"PATCH {name}\nBASE {base}\n~ DEF LIB := newer/\nAPPLY -> {target}\n")
    found, settled = broken(log + second.replace("CTX C0", "CTX C1"))
    assert (found, settled) == (wanted, 2 + (not wanted))


@pytest.mark.parametrize("messages", [0, 1, 2])
@pytest.mark.parametrize(
    ("beside", "clause"),
    [
        ("DEF SRC = src/\n", "state"),
        ("DEF OTHER = x\nDEF OTHER = y\n", "state"),
        ("LAWS\n- L2: x\n- L2: y\n", "state"),
        ("some text\n", "magic"),
        ("CSP/2\n", "magic"),
    ],
)
def test_what_stands_beside_messages_is_told_at_its_line(messages, beside, clause):
    first = said("TASK", block("TASK", 1))
    front = START + first * (1 + messages)
    for gap in ("", "\n\n\n"):
        log = front + gap + beside + "\n" + first
        line = front.count("\n") + len(gap) + 1
        told = {one.clause.id: [fault.line for fault in one.faults] for one in both_ways("csp", log.encode())[0]}
        assert set(told[clause]) and set(told[clause]) <= {line, line + beside.count("\n") - 1}, (told, line)
