"""What judges CSP/1 by its text says the same on both cores: of each text, and of whole conversations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import PURE_ONLY, needs_both
from tests.read.test_settled_by_text import both_ways, csp_log
from turnwire.csp import _texts_py as pure
from turnwire.csp import settling
from turnwire.csp.lints import Linter

if PURE_ONLY:
    pytest.skip("there is no twin to compare with", allow_module_level=True)

from turnwire._native.csp import texts as native

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


@pytest.mark.once
@needs_both
@given(LAWS, DEFS, st.lists(messages(), max_size=8))
def test_both_cores_settle_the_same_and_learn_the_same(
    laws: dict[str, str], defs: dict[str, str], several: list[bytes]
) -> None:
    (left, learnt), (right, also) = pair(laws, defs)
    for number, raw in enumerate(several):
        assert left.settled(raw, number, 10 * number) == right.settled(raw, number, 10 * number)
        assert left.read(raw) == right.read(raw)
        assert learnt == also


@pytest.mark.once
@needs_both
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
