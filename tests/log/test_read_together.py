"""Messages of CSP/1 behind prefixes are read together: what is found is what a search of each one finds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import pairwise

import pytest

import turnwire
from tests.counting import called
from tests.log import over_lines
from tests.log.mixed_logs import damaged_log, good_log
from tests.log.test_mixed import everything
from tests.nslip.twins import rounds
from turnwire import scan
from turnwire.framing import assembly
from turnwire.log.engine import block_pass, nested

pytestmark = pytest.mark.usefixtures("scan_core")

HEAD = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\n"
GOOD = HEAD + "RESULT T1\nSTATUS OK\nDATA x\n"
MESSAGES = (
    *(GOOD, GOOD, GOOD, GOOD + "\n", GOOD + "\n\n", GOOD + " \n", GOOD.replace("\n", "\r\n"), GOOD + "\nMORE\n"),
    HEAD + "RESULT T1\nSTATUS OK\nDATA\n<<<\nCSP/1\nFROM X\n@a3|f0|c1|S0|d1|T1#\n>>>\n",
    HEAD + "RESULT T1\nSTATUS OK\nDATA\n<<<<\na\n>>>\n",
    HEAD + "RESULT T1\nSTATUS OK\nDATA\n<<<\n>>>>\n{}\n",
    HEAD + "RESULT T1\nSTATUS OK\nDATA\n>>>\n",
    *(HEAD, HEAD + "RESULT\n", GOOD.replace("CTX C0\n", ""), GOOD.replace("\n\n", "\n"), "CSP/1\nFROM A\n", "CSP/1\n"),
    HEAD + 'RESULT T1\nSTATUS OK\nDATA {"a": "@a3|f0|c1|S0|d1|T1#"}\n',
    *("CSP/1;A\nSTATUS ok\n", "CSP/1;A>B;C0;T1\n", "CSP/1 MODE;!prose\nREQ x\n", "CSP/1\nFROM A\nTO\n"),
    HEAD + 'RESULT T1\n{"header": {"kind": "query"},\n',
)
PREFIXES = ("", "", "INFO x: ", "INFO x: ", "2026-05-04T10:00:0%d.5Z [a%d] ", "  ", "> ", "- ")
PREFIXES += ("2026-05-04T10:00:00.5Z stdout F ", "2026-05-04T10:00:00Z stderr F ")
BETWEEN = (
    "",
    "",
    "",
    "text\n",
    "\n",
    "@a3|f0|c1|S0|d1|T1#\n",
    "x CSP/1\n",
    "x1 CSP/1\nx22 CSP/1\n",
    "<<<\n",
    "⫻a/b:c\n",
)


def log(chance: random.Random) -> bytes:
    lines = []
    for _ in range(chance.randrange(1, 8)):
        prefix = chance.choice(PREFIXES)
        for line in chance.choice(MESSAGES).splitlines(True):
            number = chance.randrange(120)
            lines.append((prefix % (number % 10, number) if "%" in prefix else prefix) + line)
        lines.append(chance.choice(BETWEEN))
    return "".join(lines).encode()


def cut(chance: random.Random) -> bytes:
    """Lines of a log, cut into parts as container engines do; some are missing, other lines stand between them."""
    whole = chance.choice(
        (good_log(chance)[0], damaged_log(chance), over_lines.log(chance, over_lines.ALL), log(chance))
    )
    lines = []
    for line in whole.split(b"\n"):
        kind, stream = chance.choice("CCCDX"), chance.choice(("stdout", "stdout", "stderr"))
        places = sorted(chance.randrange(len(line) + 1) for _ in range(chance.randrange(3)))
        parts = [line[start:stop] for start, stop in pairwise((0, *places, len(line)))]
        for number, part in enumerate(parts):
            last = number + 1 == len(parts)
            if chance.random() < 0.05:
                continue
            if kind == "C":
                head = b"2026-05-04T10:00:%02dZ %s %s " % (number, stream.encode(), b"F" if last else b"P")
                lines.append(head + part)
            elif kind == "D":
                said = part.decode("latin-1") + "\n" * last
                time = f"2026-05-04T10:00:{number:02}Z"
                lines.append(json.dumps({"log": said, "stream": stream, "time": time}).encode())
            else:
                lines.append(part)
    return b"\n".join(lines) + chance.choice((b"", b"\n"))


@pytest.mark.parametrize("made", [log, cut])
@pytest.mark.parametrize("wire", [None, "csp", "nslip"])
def test_what_is_found_is_what_a_search_of_each_one_finds(
    wire: str | None, made: Callable[[random.Random], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, together = random.Random(17), []
    logs = [(made(chance), chance.choice((1 << 20, 600))) for _ in range(rounds(60 if made is log else 24))]
    for name in ("read_together", "read_apart"):
        read = getattr(nested, name)
        monkeypatch.setattr(
            nested, name, lambda *most, read=read: [together.append(len(one.numbers)) or one for one in read(*most)]
        )
    limits = [turnwire.LIMITS._replace(message=chance.choice((1 << 24, 1 << 24, 100, 60))) for _ in logs]
    found = [
        everything(scan(data, wire=wire, batch_bytes=size, limits=most))
        for (data, size), most in zip(logs, limits, strict=True)
    ]
    assert sum(together) > len(logs) // 4
    monkeypatch.setattr(nested, "read_together", lambda *_: [])
    monkeypatch.setattr(nested, "read_apart", lambda *_: [])
    for (data, size), most, before in zip(logs, limits, found, strict=True):
        assert everything(scan(data, wire=wire, batch_bytes=size, limits=most))[:2] == before[:2], (data, size)


@pytest.mark.parametrize("one", [" CSP/1;A>B;C0;T%d\n", "x CSP/1\nx FROM A%d\n", "{CSP/1\nFROM A\nTO B%d\n"])
def test_one_search_is_made_of_many_texts(one: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of templates and of what is damaged."""
    searches = called(monkeypatch, block_pass.Pass, "nested")
    found = scan("".join(one % number for number in range(60)).encode())
    assert sum(map(len, found)) + len(found.rejects) == 60
    assert len(searches) == 1


class _Every:
    """The heads of lines, of which each one that ends with ``CSP/1`` is a hint."""

    def __getattr__(self, name: str) -> object:
        return getattr(assembly_heads, name)

    def first_hint(self, data: memoryview, start: int, stop: int) -> int:
        while start < stop:
            behind = bytes(data[start:stop]).find(b"\n") + 1
            end = start + behind if behind else stop
            line = bytes(data[start:end]).rstrip(b"\r\n")
            if b" P " in line or b" P:" in line or (b"CSP/1" in line and not line.startswith(b"CSP/1")):
                return start
            start = end
        return -1


assembly_heads = assembly._heads


def test_lines_that_are_no_hint_begin_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(23)
    behind = (
        b"{\n",
        b"x y\n",
        b"FROM A\n",
        b"CTX\n",
        b"TO B C\n",
        b"  REQ x\n",
        b"STATUS\n",
        b"SCOPE x\n",
        b"STATUSES\n",
    )
    behind += (
        b"a Compact Symbol Protocol\n",
        b"\n",
        b"7\n",
        b"TASK T1\n",
        b"+ DEF A = b\n",
        b"> FROM A\n",
        b"<<<\n",
        b"TO",
    )
    logs = [
        log(chance)
        + b"".join(
            chance.choice((b"x CSP/1\n", b"x1 CSP/1\n", b"x22 CSP/1\r\n", b"7: CSP/1\n", b">CSP/1\n"))
            + chance.choice(behind)
            for _ in range(4)
        )
        for _ in range(rounds(100))
    ]

    def found() -> list[object]:
        assemblies = [assembly.find(data, 0, len(data), True, 1 << 20)[0] for data in logs]
        return [[(one.kind, one.text, one.spans, one.time) for one in some] for some in assemblies]

    before = found()
    monkeypatch.setattr(assembly, "_heads", _Every())
    assert found() == before
    assert any(before)
