"""Conversations that are judged by their text get the checklists that judging each message gives: every line, place and
count, on both cores."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.conftest import scan_core as scan_core
from tests.read.honest import csp, kick, sap, sstp
from turnwire import checklists
from turnwire.checklists import Checklist
from turnwire.read.judging import conform, specification

TABLES = {"csp": csp, "sstp": sstp, "sap": sap, "kick": kick}
VALUES = (
    "src/",
    "lib/",
    "src/a.ts:1-2;b.ts:3",
    "find it",
    "find the file that the user asked for",
    "v1",
    "v2",
    "",
    " x ",
)
ODD = (
    *VALUES,
    "please find it",
    "SRC",
    "SRC,NEW",
    "src/,x",
    "LAWS",
    "DEF A = b",
    "naïve",
    "thanks",
    "it's",
    "a\tb",
    "DOCS",
)
NAMES = ("SRC", "LIB", "CODE_EXP", "NEW", "A", "B_2", "OLD")


def _csp_block(numbers: random.Random, odd: bool) -> tuple[str, str]:
    """(intent, block) of a message, one in the form of ``encode`` or nearly."""
    value = lambda: numbers.choice(ODD if odd else VALUES)  # noqa: E731
    task, some = numbers.randrange(6), lambda *fields: "".join(one for one in fields if numbers.random() < 0.6)
    kind = numbers.choice(("TASK", "TASK", "TASK", "RESULT", "RESULT", "ERROR", "PATCH", "FILE", "QUERY", "MEM"))
    if kind == "TASK":
        req = numbers.choice(("find", "search the web for", "web search", value())) + f" {value()}"
        scopes = some(
            f"IN {numbers.choice(NAMES)},{value()}\n", f"OUT {value()}\n", "OWNER CODE_EXP\n", "PRIORITY P1\n"
        )
        return kind, f"TASK T{task}\nREQ {req}\n{scopes}"
    if kind == "RESULT":
        status = numbers.choice(("OK", "OK", "PARTIAL", "FAIL", "FINE" if odd else "OK"))
        return kind, f"RESULT T{task}\nSTATUS {status}\n" + some(f"PRODUCED {value()}\n", f"DATA {value()}\n")
    if kind == "ERROR":
        return kind, f"ERROR E1\nAT {numbers.choice((f'T{task}', 'SRC'))}\nCAUSE {value()}\n" + some(
            f"NEXT {value()}\n"
        )
    if kind == "FILE":
        op = numbers.choice(("CREATE", "PATCH", "DELETE", "MOVE" if odd else "PATCH"))
        text = numbers.choice(("x\n", "", ">>\n", ">>>>\n", "CSP/1\n", "\n\n"))
        content = some(f"CONTENT\n<<<\n{text}>>>\n")
        return kind, f"FILEOP F1 {op}\nPATH {numbers.choice(('a', 'b', value()))}\n" + some("BASE abc1234\n") + content
    return kind, f"{kind} X1\n" + some(f"ASK {value()}\n", f"IN {numbers.choice(NAMES)}\n", f"NODE {value()}\n")


def csp_log(seed: int) -> bytes:
    """A conversation with laws, patches and all blocks; a part of them against some rule."""
    numbers = random.Random(seed)
    odd = numbers.random() < 0.5
    defs = {name: numbers.choice(VALUES[:6]) for name in numbers.sample(NAMES, 4)}
    parts = [f"DEF {name} = {value}\n" for name, value in defs.items()] if numbers.random() < 0.8 else []
    parts += ["\nLAWS\n- L1: Web search -> WEB_RES only\n- L2: find it and all -> B first\n\n"] * (
        numbers.random() < 0.6
    )
    head = patch = 0
    for _ in range(40):
        ctx = head if numbers.random() < 0.9 else numbers.randrange(head + 2)
        if numbers.random() < 0.15:
            patch += 1
            ops = ""
            for name in numbers.sample(NAMES, numbers.randrange(1, 3)):
                there = name in defs if numbers.random() < 0.95 else numbers.random() < 0.5
                sign = numbers.choice("~-") if there else "+"
                new = f"n{numbers.randrange(60)}" if numbers.random() < 0.8 else numbers.choice(VALUES)
                ops += f"- DEF {name}\n" if sign == "-" else f"{sign} DEF {name} {':' * (sign == '~')}= {new}\n"
                defs.pop(name, None)
                defs.update({} if sign == "-" else {name: new})
            number = patch if numbers.random() < 0.95 else 1
            intent, block = "PATCH", f"PATCH P{number}\nBASE C{ctx}\n{ops}APPLY -> C{head + 1}\n"
            head += 1
        else:
            intent, block = _csp_block(numbers, odd)
        way = numbers.choice(
            ("FROM MAIN\nTO CODE_EXP", "FROM MAIN\nTO CODE_EXP", "FROM code\nTO MAIN", "FROM SRC\nTO v1")
        )
        end = "\r\n" if numbers.random() < 0.03 else "\n"
        blank = "\n" if numbers.random() < 0.97 else "\n\n"
        parts.append(f"CSP/1\n{way}\nCTX C{ctx}\nINTENT {intent}\n{blank}{block}{blank}".replace("\n", end))
        if odd and numbers.random() < 0.05:
            parts.append(
                numbers.choice(("some prose\n\n", "DEF SRC = other\n\n", "```\n", "LAWS\n- L3: x -> Y only\n\n"))
            )
    text = "".join(parts)
    if numbers.random() < 0.1:
        text = "".join(json.dumps({"msg": part}) + "\n" for part in parts)
    if odd and numbers.random() < 0.3:
        place = numbers.randrange(len(text))
        text = text[:place] + text[place + numbers.randrange(1, 9) :]
    return text.encode()


def both_ways(wire: str, data: bytes, **options: Any) -> tuple[Checklist, Checklist, int]:
    """The checklist by text, and by messages; and how many records were settled by their text."""
    judge = specification(wire).judge
    settled, count = judge.settled, [0]

    def counting(self: Any, *args: Any) -> bool:
        done: bool = settled(self, *args)
        count[0] += done
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "settled", counting)
        quick = conform(wire, data, **options)
        patch.setattr(judge, "settled", checklists.Judge.settled)
        return quick, conform(wire, data, **options), count[0]


@given(st.integers(0, 1 << 32))
def test_csp_is_judged_by_text_as_by_messages(seed: int) -> None:
    quick, slow, _ = both_ways("csp", csp_log(seed))
    assert quick == slow


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", TABLES)
def test_the_honest_logs_are_judged_by_text_as_by_messages(wire: str) -> None:
    for cases in (TABLES[wire].BROKEN, TABLES[wire].GOOD):  # type: ignore[attr-defined]
        for name, log in cases.items():
            quick, slow, _ = both_ways(wire, log.encode())
            assert quick == slow, name
