"""What judges CSP/1 by its text says the same on both cores: of each text, and of whole conversations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import BACKENDS, PURE_ONLY
from tests.finding.test_settled_by_text import both_ways, csp_log
from turnwire.csp import _texts_py as pure
from turnwire.csp import settling
from turnwire.csp.lints import Linter

if PURE_ONLY:
    pytest.skip("there is no twin to compare with", allow_module_level=True)

from turnwire._native.csp import texts as native

pytestmark = [pytest.mark.once, pytest.mark.skipif(len(BACKENDS) < 2, reason="compares the cores")]

WORDS = (
    "find the AUTH please LAWS SLAWSY DEF it's ai hi thanks and of in to src/ a.ts:1-2 naïve 谢谢 T1 NEW _A A1 42 v1"
)
SIGNS = (" ", " ", " ", ",", ", ", "\t", "\x1c", "\x0b", "-", "/", "\\", "\r", "\u2028")
LONG = ("DEF ", "x" * 15, "y" * 16, "Thankfulness" * 2, "Web search -> x first", "")
PARTS = st.sampled_from([*WORDS.split(), *SIGNS, *LONG])
VALUES = st.one_of(st.none(), st.lists(PARTS, max_size=8).map("".join), st.text(max_size=6))
NAMES = st.one_of(st.sampled_from(["MAIN", "SRC", "a,b", "v1", "ü", "x,", ","]), st.text(min_size=1, max_size=4))
BODY = st.text(st.sampled_from("T10\r\n =,aA\u00fc"), max_size=3)


def pair(laws: dict[str, str], defs: dict[str, str]) -> list[tuple[pure.Texts, list[object]]]:
    """The texts of both cores, each with what it told, and with everything that it changes."""
    found = []
    for core in (native, pure):
        context = Linter().context
        context.laws.update(laws)
        context.law_texts.update(laws)
        told: list[object] = []
        waiting: dict[str, tuple[int, int | None, str]] = {}
        made = core.Texts(context, waiting, told.append, lambda word: word.isalpha() and word != "web")
        made.know(bool(defs), bool(laws), dict(defs), dict.fromkeys(defs.values(), 1))
        made.go_on("C1")
        told += [context.agents, context.tasks, context.produced, context.final, waiting]
        found.append((made, told))
    return found


LAWS = st.sampled_from(
    [{}, {"L1": "Web search -> x first"}, {f"L{n}": f"law number {n} -> A first" for n in range(20)}]
)
DEFS = st.sampled_from([{}, {"SRC": "src/", "A": "v1"}, {"NEW": "", "B": "AUTH", "C": "naïve", "D": "x"}])


@given(LAWS, DEFS, NAMES, NAMES, st.lists(st.lists(VALUES, max_size=9).map(tuple), max_size=6))
def test_both_cores_find_the_same_texts_quiet(
    laws: dict[str, str],
    defs: dict[str, str],
    sender: str,
    receiver: str,
    several: list[tuple[str | None, ...]],
) -> None:
    (left, _), (right, _) = pair(laws, defs)
    for values in several:
        assert left.quiet(sender, receiver, values) == right.quiet(sender, receiver, values)


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """A task or a result, or nearly one."""
    value = VALUES.map(lambda said: said or "")
    one = lambda form, rate=3: form + draw(value) if draw(st.integers(0, rate)) else ""  # noqa: E731
    ctx = draw(st.sampled_from(["C1", "C1", "C1", "C2", "C\u00fc", "C 1", ""]))
    intent = draw(st.sampled_from(["TASK", "TASK", "RESULT", "RESULT", "ERROR", "Task"]))
    number = draw(st.sampled_from(["T1", "T2", "T", "Tx", "T01", "X1"]))
    if draw(st.booleans()):
        block = (
            f"TASK {number}" + one("\nREQ ", 9) + one("\nIN ") + one("\nOUT ") + one("\nOWNER ") + one("\nPRIORITY ")
        )
    else:
        status = draw(st.sampled_from(["OK", "PARTIAL", "FAIL", "x"]))
        block = f"RESULT {number}\nSTATUS {status}" + one("\nPRODUCED ") + one("\nDATA ")
    head = f"CSP/1\nFROM {draw(NAMES)}\nTO {draw(NAMES)}\nCTX {ctx}\nINTENT {intent}"
    blank, end = (
        draw(st.sampled_from(["\n\n", "\n\n", "\n\n", "\n", "\n\n\n"])),
        draw(st.sampled_from(["", "\n", "\n\n"])),
    )
    return (head + blank + block + draw(st.one_of(st.just(""), BODY)) + end).encode("utf-8", "replace")


@given(LAWS, DEFS, st.lists(messages(), max_size=8))
def test_both_cores_settle_the_same_and_learn_the_same(
    laws: dict[str, str], defs: dict[str, str], several: list[bytes]
) -> None:
    (left, learnt), (right, also) = pair(laws, defs)
    for number, raw in enumerate(several):
        assert left.settled(raw, number, 10 * number) == right.settled(raw, number, 10 * number)
        assert left.read(raw) == right.read(raw)
        assert learnt == also


@given(st.integers(0, 1 << 32))
def test_whole_conversations_are_settled_alike(seed: int) -> None:
    data = csp_log(seed)
    found = []
    for core in (native, pure):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(settling, "_core", core)
            found.append(both_ways("csp", data))
    assert found[0] == found[1]
    assert found[1][0] == found[1][1]


def test_most_of_a_good_log_is_settled_by_its_text() -> None:
    (left, told), (right, _) = pair({"L1": "Web search -> x first"}, {"SRC": "src/"})
    head = "CSP/1\nFROM MAIN\nTO A\nCTX C1\nINTENT "
    assert left.settled(f"{head}TASK\n\nTASK T1\nREQ find it\nIN SRC\n".encode(), 1, 0) is True
    assert left.settled(f"{head}RESULT\n\nRESULT T1\nSTATUS OK\nDATA a;b\n\n".encode(), 8, 90) is True
    assert left.settled(f"{head}ERROR\n\nERROR E1\nAT T1\nCAUSE x\n".encode(), 15, 170) is None
    assert told[-2:] == ["TASK", "RESULT"]
    assert not right.settled(f"{head}TASK\n\nTASK T1\nREQ web find\nIN SRC\n".encode(), 1, 0)


@pytest.mark.parametrize("code", [*range(1, 33), 127, 0x85, 0xA0, 0x1680, 0x2003, 0x2028, 0x3000, 0xFEFF])
def test_signs_beside_what_is_produced(code: int) -> None:
    """What is white space for Python is none of a name, wherever it stands."""
    head, sign = "CSP/1\nFROM MAIN\nTO A\nCTX C1\nINTENT ", chr(code)
    for value in (f"A{sign},B", f"A,{sign}B", f"{sign}A,B", f"A,B{sign}", f"A{sign}B", f"{sign}"):
        found = []
        for texts, told in pair({}, {"SRC": "src/"}):
            task = texts.settled(f"{head}TASK\n\nTASK T1\nREQ find it\nIN SRC\n".encode(), 1, 0)
            result = f"{head}RESULT\n\nRESULT T1\nSTATUS OK\nPRODUCED {value}\n\n"
            found.append((task, texts.settled(result.encode(), 8, 90), repr(told)))
        assert found[0] == found[1], value


def test_what_is_settled_is_learnt() -> None:
    """Who speaks, which task waits for whom, in which state it began, and what a result produced."""
    head = "CSP/1\nFROM MAIN\nTO A\nCTX C1\nINTENT "
    for texts, told in pair({}, {"SRC": "src/"}):
        assert texts.settled(f"{head}TASK\n\nTASK T1\nREQ find it\nIN SRC\n".encode(), 1, 0) is True
        assert texts.settled(f"{head}TASK\n\nTASK T2\nREQ x\nOWNER MAIN\n".encode(), 9, 80) is True
        assert told == [
            {"MAIN", "A"},
            {"T1": "C1", "T2": "C1"},
            set(),
            {},
            {"T1": (1, 0, "A"), "T2": (9, 80, "MAIN")},
            "TASK",
        ]
        assert texts.settled(f"{head}RESULT\n\nRESULT T1\nSTATUS OK\nPRODUCED x , y\n".encode(), 17, 160) is True
        assert told[2:] == [{"x", "y"}, {"T1": "OK"}, {"T2": (9, 80, "MAIN")}, "TASK", "RESULT"]


@pytest.mark.parametrize(("value", "quiet"), [("MAIN", False), ("A", False), ("B", False), ("it", True), ("C1", True)])
def test_a_value_that_has_a_name_is_not_quiet(value: str, quiet: bool) -> None:
    """Wherever it is written out: as the sender, the receiver, or a whole part of a value."""
    raw = b"CSP/1\nFROM MAIN\nTO A\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ find it\nOUT B, c\n"
    for texts, _ in pair({}, {"NAME": value}):
        assert texts.settled(raw, 1, 0) is quiet
