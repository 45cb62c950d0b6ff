"""What the token rules say of conversations out of few names, values, tasks and checkpoints, with and without a store:
kept as sentences and a digest, as ``tests/test_words.py`` has it.

After a change that is meant, ``python -m tests.csp.test_words_of_lints`` writes tests/data/words/csp-lints.txt anew.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.above import backend  # noqa: F401  (a fixture)
from tests.test_words import FOLDER, summed
from turnwire import csp
from turnwire.csp.lints import REWRITE_SHARE, Linter, size_of

Chance = random.Random
NAMES = ("AB", "CD", "EF", "GH", "IJ")
MEANT = ("the parser", "src/", "coder", "please", "a,b", "", "v")
LAWS = ("tests -> B only", "Web search -> WEB first", "short")
ASKED = (*NAMES, *MEANT, "find it, please", "find it", "see tests -> B only.", "NOWHERE", "T1", "P1,AB", "X1,src/", "B")
ASKED += ("\n<<<\nDEF AB = the parser\n>>>", "\n<<<\nLAWS\n>>>", "\n<<<\nAB\nsrc/\n>>>", "Thanks", "DEF AB = x")
ASKED += ("the parser that we have and that is not what it was when you would do what they had to",)
WHO = ("A", "B", "coder", "the parser", "AB", "src/")


def _ctx(chance: Chance, head: int) -> str:
    return f"C{max(0, head - chance.choice((0, 0, 0, 1, 2)))}"


def _defs(chance: Chance) -> str:
    return "".join(f"DEF {name} = {chance.choice(MEANT)}\n" for name in chance.sample(NAMES, chance.randrange(5)))


def _laws(chance: Chance) -> str:
    stated = [f"- L{at}: {law}\n" for at, law in enumerate(LAWS) if chance.random() < 0.6]
    return "LAWS\n" + "".join(stated) if stated else ""


def _block(chance: Chance, head: int) -> tuple[str, str, int]:
    """(intent, block, the head behind it)."""
    number, asked = chance.randrange(1, 4), chance.choice(ASKED)
    kind = chance.choice(("TASK", "TASK", "RESULT", "RESULT", "ERROR", "PATCH", "PATCH", "FILEOP", "MEM"))
    if kind == "TASK":
        rest = f"\nIN {chance.choice(ASKED)}" + chance.choice(("", "\nOWNER AB", "\nOWNER NOBODY", "\nOWNER B"))
        return kind, f"TASK T{number}\nREQ {asked}{rest}", head
    if kind == "RESULT":
        status, made = chance.choice(("OK", "FAIL", "PARTIAL")), chance.choice(("", "\nPRODUCED X1, NOWHERE"))
        return kind, f"RESULT T{number}\nSTATUS {status}{made}\nDATA {asked}", head
    if kind == "ERROR":
        return kind, f"ERROR E1\nAT {chance.choice(('T1', 'T2', 'T3', 'P1', 'XT1'))}\nCAUSE {asked}", head
    if kind == "FILEOP":
        op, content = chance.choice(("CREATE", "CREATE", "DELETE", "PATCH")), chance.choice(ASKED[:12])
        body = "" if op == "DELETE" else f"\nCONTENT\n<<<\n{content}\nDEF AB = v\n>>>"
        return kind, f"FILEOP F{number} {op}\nPATH {chance.choice('pq')}.py{body}", head
    if kind == "MEM":
        return kind, f"MEM M1\nKEY {asked}", head
    ops = []
    for name in chance.sample(NAMES, chance.randrange(1, 5)):
        sign, value = chance.choice("+~~-"), chance.choice(MEANT[:5])
        ops.append({"+": f"+ DEF {name} = {value}", "~": f"~ DEF {name} := {value}", "-": f"- DEF {name}"}[sign])
    apply = f"\nAPPLY -> C{head + 1}" if chance.random() < 0.8 else ""
    made = f"PATCH P{head + 1}\nBASE {_ctx(chance, head)}\n" + "\n".join(ops) + apply
    return kind, made, head + bool(apply)


def _spoken(chance: Chance) -> str:
    parts, head = [_defs(chance) + _laws(chance) + "\n"], 0
    for _ in range(chance.randrange(1, 9)):
        ctx = _ctx(chance, head)
        intent, block, head = _block(chance, head)
        sender, receiver = chance.choice(WHO), chance.choice(WHO)
        parts.append(f"CSP/1\nFROM {sender}\nTO {receiver}\nCTX {ctx}\nINTENT {intent}\n\n{block}\n\n")
        if chance.random() < 0.15:
            parts.append("```\n" + _defs(chance) + _laws(chance) + chance.choice(("", "Thanks!\n")))
    return "".join(parts)


def _store(chance: Chance) -> csp.Store:
    store = csp.Store({"AB": "the parser", "CD": "src/", "EF": "coder"}, {"L0": LAWS[0], "L9": "law of the store"})
    for number in range(chance.randrange(3)):
        op = chance.choice((csp.Op("~", "AB", "v"), csp.Op("+", f"K{number}", "please"), csp.Op("~", "EF", "src/")))
        store.apply(csp.message("A", "B", store.head, csp.Patch(f"P{number + 1}", store.head, [op], f"C{number + 1}")))
    return store


def judged() -> Iterator[str]:
    chance = random.Random("lints")
    for number in range(500):
        store = _store(chance) if number % 3 == 0 else None
        document = csp.parse(_spoken(chance), mode="lenient")
        for one in csp.lint(document, store):
            yield f"{one.severity}\t{one.reason}\t{one.where}\t{one.text}"


def test_the_words_are_those_that_are_kept() -> None:
    assert summed(list(judged())) == (FOLDER / "csp-lints.txt").read_text("utf-8")


@pytest.mark.parametrize(("bytes_written_over", "said"), [(89, False), (90, True), (91, True)])
def test_a_patch_rewrites_a_state_from_nine_tenths_of_its_bytes_on(bytes_written_over: int, said: bool) -> None:
    """Names count, too: 100 bytes in three definitions, of which two are written over."""
    defs = {"A": "a" * 40, "B": "b" * (bytes_written_over - 42), "C": "c" * (99 - bytes_written_over)}
    assert sum(size_of(name, value) for name, value in defs.items()) == 100 and REWRITE_SHARE == 0.9
    ops = [csp.Op("~", "A", "x"), csp.Op("~", "B", "y")]
    found = Linter(csp.Store(defs)).feed(csp.message("D", "E", "C0", csp.Patch("P1", "C0", ops, "C1")))
    words = f"the patch writes over {bytes_written_over} of 100 bytes of C0"
    assert [one.text for one in found if one.reason == "full_rewrite"] == [words] * said


if __name__ == "__main__":
    (FOLDER / "csp-lints.txt").write_text(summed(list(judged())), "utf-8")
