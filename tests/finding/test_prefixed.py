"""Lines that belong together and that the core reads in one go: what is found is what Python finds line by line."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.conftest import needs_both
from tests.log.test_read_together import cut
from tests.nslip.twins import rounds
from turnwire.framing import assembly
from turnwire.framing.assembly import Assembly, find
from turnwire.framing.lines import MOST_PREFIX, Unbroken
from turnwire.framing.parts import LEAST_DOCKER

CRI = "2026-11-22T10:00:09.1Z stdout F "
PREFIXES = (
    *("app: ", "  ", "\t", "> ", ">> ", " > \t", "+ "),
    *("- ", "[12] ", "2026-01-01T00:00:00Z INFO ", "12 ", "a1b22c333: ", "1."),
    *("+ DEF A ", "~ ", '"x": ', "'", "x\r ", "é: ", "é", "\ufeff", "word"),
    *("v1_", "v1", "{a} ", '{"a": ', "{ } ", "a} ", "{"),
    *("me@host: ", "@a|b ", "@a1 ", "@1|", "@é|", "CSP/1 "),
    *("<<< ", ">>>", "TO: ", "STATUS: ", "Compact Symbol Protocol "),
    *(CRI, f"{CRI}app: ", f"{CRI}  ", CRI.replace("F", "P"), CRI.replace("F ", "F:x")),
    *("2026-11-22T10:00:09Z  stdout F ", "2026-11-22T10:00:09Z stdout G ", f"x{CRI}"),
    *(CRI.replace("F ", "F:"), CRI.replace("Z", "+01:00"), CRI.replace(".1Z", "Z"), CRI.replace("Z", "-01:0")),
    *("2026-11-22 10:00:09,5 +0200 ", "[2026-11-22T10:00] ", "\xa0", "x" * 300 + " ", " " * 80),
    *(f"{' ' * size}<2026-11-22T10:00> " for size in (63, 64, 65)),
    *(f"2026-11-22T10:00:09.{'1' * 107}5Z ", "7" * 300 + "> "),
    *("7" * size + "|" for size in (MOST_PREFIX - 2, MOST_PREFIX - 1, MOST_PREFIX)),
)  # fmt: skip
HEADER = ("FROM A", "TO B", "CTX C0", "INTENT TASK")
BLANKS = ("", "", "", " ", "\t", "\r", " \r\t")
LINES = (
    *("TASK T1", "REQ x", "RESULT T1", "DATA done", "PATCH P1", "+ DEF X", "+ DEF _x", "+ DEF x"),
    *("~ DEF Y z", "- DEF ", "+ DEF", "- x", "MEM", "PLAN"),
    *("CSP/1", "CSP / 1", "CSP /x", "CSP\t/1", "CSP", "CSPX /1", "CSP  / 2", "csp/1"),
    *("CSP/1;x", "from a", "A_1", "a", "A-b", "_A"),
    *("<<<", "<<<-", "<<", "<<<<", "<<<x", "<", ">>>", ">>>>"),
    *(">>", "CONTENT", "STATUS x", "SCOPE y", "TASKS", "MEM\tx", "PLAN "),
    *("FROM a b", "FROM  a \t", "FROM", "FROM ", "FROM\ta", "FROMAGE"),
    *("TO \t", "INTENT x\r", "X" * 90, "a Compact Symbol Protocol"),
)  # fmt: skip
TEMPLATES = (
    *("CSP/1;", "CSP/1;x", "CSP/1 MODE;A;B", "CSP/1; NO PROSE;!x y", "CSP/1; no prose"),
    *("CSP/1;a ;b", "CSP/1;a\rb c", "CSP/1 MODE"),
    *("CSP/1; a Compact Symbol Protocol", "CSP/1;" + "f" * 256, "CSP/1;" + "f" * 257),
    *("CSP/1;a CSP/1;b", "CSP/1;a CSP/1"),
    *("a CSP/1;x", "a: CSP/1;x", "aCSP/1;x", "a]CSP/1;x", "(CSP/1;x", "|CSP/1;x", "\tCSP/1;x", "x: y\rCSP/1;z"),
)  # fmt: skip
LOOKS = (
    *("STATUS ok", "SCOPE", "READ_RECS: 1", "POSITIONS", "DEBATE_1"),
    *("RESOLUTION x", "- one", "-- x", "Compact Symbol Protocol"),
    *("see CSP/1 there", "A CSP/1", "@a1|x", "A @b|", "A @1|", "A {", "```", "~~~x"),
    *("A ```", "a b", "  a", "\ta", "FROM a", "TO: b"),
    *("TASK T1", "PLAN x1", "Abc", "A1_", "A1b", "1 A", "csp / 1", "from a", "ctx: b", "MEM"),
)  # fmt: skip
INSIDE = (">>", ">>>", ">>>>", "CSP/1", "FROM A", "a", "", " ", "<<<", ">>> ", " >>>")
OTHERS = (
    "hello",
    "x y",
    "",
    "FROM elsewhere",
    "app: other",
    "  deep",
    "{}",
    "- x",
    "STATUS",
    f"{CRI}x",
    f"{CRI.replace('F', 'P')}x",
)
LIMITS = (1 << 20, 1 << 20, 1 << 20, 2000, 300, 100, 40)


def grown(chance: random.Random, prefix: str) -> str:
    """The prefix with other numbers, or with what is none."""
    digits = "".join(chance.choice("0123456789") * chance.choice((1, 1, 2)) if one.isdigit() else one for one in prefix)
    changed = (prefix[1:], prefix + "x", prefix.rstrip(), prefix.replace("1", "x"), prefix.replace("F", "P"))
    return chance.choice(
        (prefix, digits, digits, *changed, prefix.replace("out", "err"), prefix.replace(" F", " F:x.y"))
    )


def block(chance: random.Random) -> list[str]:
    """Lines of a block, or nearly; with a heredoc, which may be closed."""
    lines = chance.choices(LINES[: chance.choice((6, 12, len(LINES), len(LINES)))], k=chance.randrange(4))
    if chance.random() < 0.2:
        run = chance.choice((3, 3, 4))
        lines += ["<" * run + chance.choice(("", "", "-")), *chance.choices((*INSIDE, *LINES), k=chance.randrange(3))]
        lines += [">" * (run + chance.choice((0, 0, 0, 1, -1)))] * (chance.random() < 0.8)
    return lines + chance.choices(LINES, k=chance.choice((0, 0, 1)))


def look_alike(chance: random.Random) -> list[str]:
    """Lines that may follow a template, or betray the Compact Symbol Protocol."""
    lines = chance.choices((*LOOKS, *LOOKS, *LINES, *BLANKS), k=chance.choice((0, 1, 2, 5)))
    return lines + [chance.choice(("", "X", "X" * 99))] * chance.choice((0, 0, 0, 62, 63, 64, 65)) + lines[:1]


def message(chance: random.Random) -> list[str]:
    """Lines that begin as those of a message do, and go on as those of few."""
    lines = [*HEADER[: chance.choice((4, 4, 4, 1, 2, 0))]]
    for _ in range(chance.choice((0, 0, 0, 1, 3))):
        lines.insert(chance.choice((0, len(lines), len(lines))), chance.choice(BLANKS))
    for _ in range(chance.choice((0, 1, 1, 2))):
        lines += [chance.choice(BLANKS)] * chance.choice((0, 1, 1, 2))
        lines += [chance.choice(LINES[:12])] * chance.choice((0, 1, 1)) + block(chance)
    return lines


def log(chance: random.Random) -> bytes:
    """Some messages behind prefixes, and what is around them."""
    lines: list[str] = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        prefix = chance.choice((*PREFIXES[: chance.choice((16, len(PREFIXES)))], *[CRI, CRI + "x: ", CRI + " "] * 2))
        own = chance.choice((prefix, prefix, prefix, " " * len(prefix), "", "\t" * len(prefix)))
        if prefix.startswith(CRI):
            own = chance.choice(
                (prefix, prefix, CRI, CRI + " " * (len(prefix) - len(CRI)), prefix.replace(".1", ""), own)
            )
        wild = chance.choice((0, 0, 0.1, 0.5))
        lines += chance.choices(OTHERS, k=chance.choice((0, 0, 1)))
        first = chance.choice(TEMPLATES) if chance.random() < 0.2 else "CSP/1" + " " * (chance.random() < wild / 4)
        lines.append(prefix + first)
        like = first != "CSP/1" or chance.random() < 0.2
        for line in look_alike(chance) if like else message(chance):
            front = own if chance.random() >= wild else chance.choice((grown(chance, own), prefix, "", " ", "x: "))
            lines.append(front.rstrip() if not line and chance.random() < 0.3 else front + line)
        lines += chance.choices(OTHERS, k=chance.choice((0, 0, 1)))
    ends = chance.choice((("\n",), ("\n",), ("\r\n",), ("\n", "\r\n", "\r\r\n")))
    text = "".join(line + chance.choice(ends) for line in lines).encode("utf-8", "surrogateescape")
    return text if chance.random() < 0.8 else text.rstrip(b"\r\n")


Found = tuple[list[tuple[Any, ...]], int]


def told(found: tuple[list[Assembly], int]) -> Found:
    """All that an answer says."""
    return [(one.kind, one.spans, one.text, one.time, one.pieces, one.start, one.stop) for one in found[0]], found[1]


class Pair:
    """Searches in both ways. seen: how often the core has said what."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch
        self.seen: Counter[str] = Counter()

    def asked(self, quick: Callable[..., Any]) -> Callable[..., Any]:
        """A quick way, whose answers are counted."""

        def ask(*given: Any) -> Any:
            found = quick(*given)
            self.seen[f"{quick.__name__} asks" if found is None else found[0] or "nothing"] += 1
            return found

        return ask

    def agree(self, data: bytes, start: int, stop: int, final: bool, limit: int, reach: int | None) -> None:
        """Both find the same; of what the core reads, each byte is where it says."""
        asked = (data, start, stop, final, limit, reach)
        core = import_module("turnwire._native.framing.prefixed")
        quick = SimpleNamespace(message=self.asked(core.message), parts=self.asked(core.parts))
        self.patch.setattr(assembly, "_quick", quick)
        found = find(*asked)
        self.patch.setattr(assembly, "_quick", SimpleNamespace(message=lambda *_: None, parts=lambda *_: None))
        expected = find(*asked)
        assert told(found) == told(expected), asked
        for one, other in zip(found[0], expected[0], strict=True):
            if isinstance(one, Unbroken):
                places = range(len(one.text) + 1)
                assert [one.written(at) for at in places] == [other.written(at) for at in places]
                assert [one.written_end(at) for at in places] == [other.written_end(at) for at in places]
                assert [one.piece(at) for at in places] == [other.piece(at) for at in places]

    def hunt(self, seed: int, made: Callable[[random.Random], bytes] = log) -> None:
        """A log, whole and cut somewhere, with the end known or not."""
        chance = random.Random(seed)
        data, limit = made(chance), chance.choice(LIMITS)
        self.agree(data, 0, len(data), True, limit, None)
        stop = chance.randrange(len(data) + 1)
        final = chance.random() < 0.3
        self.agree(data, 0, stop, final, limit, None if final else chance.choice((None, stop, len(data))))
        start = data.rfind(b"\n", 0, stop) + 1
        self.agree(data, start, len(data), False, limit, None)


@needs_both
@pytest.mark.once
def test_it_finds_what_python_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(monkeypatch)
    for seed in range(rounds(1000)):
        pair.hunt(seed)
    assert set(pair.seen) == {"message asks", "parts asks", "nothing", "prefix", "indent", "cri"}
    assert pair.seen["message asks"] < 2 * (pair.seen["prefix"] + pair.seen["indent"]), (
        "most messages are read in one go"
    )


@needs_both
@pytest.mark.once
def test_it_joins_the_parts_that_python_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(monkeypatch)
    for seed in range(rounds(300)):
        pair.hunt(seed, cut)
    assert pair.seen["cri"] > 200


PART = "2026-11-22T10:00:09.1Z stdout P "


@needs_both
@pytest.mark.once
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{PART}a\n{PART.replace('P', 'F')}b\nc\n", "ab\n"),
        (f"{PART}a\r\n{PART}\r\n{PART.replace('P', 'F')}b\r\nc\n", "ab\r\n"),
        (f"{PART}a\n{PART[:-1]}\n{PART.replace('P', 'F')[:-1]}\n", "a\n"),
        (f"{PART[:-1]}:x a\n{PART[:-1]}:y\nc\n", "a"),
        (f"{PART[:-1]}\nc\n", ""),
        (f"{PART}a\n{PART}b", "ab"),
        (f"{PART}a", "a"),
        (f"{PART}a\n{PART.replace('out', 'err')}b\n", None),
        (f"{PART}CSP\n{PART.replace('P', 'F')}/1\n", None),
        (f"{PART.replace('P', 'F')}b\n", None),
        (f"x{PART}b\n", None),
    ],
)
def test_which_parts_are_sure_by_a_quick_look(text: str, said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, data = import_module("turnwire._native.framing.prefixed").parts, text.encode()
    found = parts(data, 0, len(data), True, len(data))
    assert (found and (found[0], found[3].decode())) == (said if said is None else ("cri", said))
    if found is not None:
        assert parts(data, 0, len(data), True, found[1] - 1) is None
        assert parts(data, 0, found[1], False, found[1]) == (found if said.endswith("\n") else None)
    Pair(monkeypatch).agree(data, 0, len(data), True, len(data), None)


LONGEST = "x" * (MOST_PREFIX - 1) + " "


@needs_both
@pytest.mark.once
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("+ CSP/1\nFROM A\n+ DEF _x\n+ DEF X\n+ DEFY\n", ("prefix", "CSP/1\nFROM A\n+ DEF _x\n+ DEF X\n")),
        ("+ CSP/1\nFROM A\n+ DEF x\n", ("prefix", "CSP/1\nFROM A\n")),
        ("> CSP/1\n> TO A\n> <<<\n> >>>>\n> b\n> >>>\nc\n", ("indent", "CSP/1\nTO A\n<<<\n>>>>\nb\n>>>\n")),
        ("> CSP/1\nFROM A\n<<<\na\n>>>\n", None),
        ("a: CSP/1\na: - b\na: STATUS x\na: SCOPE\n", ("prefix", "CSP/1\n- b\nSTATUS x\nSCOPE\n")),
        ("a: CSP/1\na: - b\na: STATUS x\na: b\n", ("", "")),
        ("a: CSP/1\na: the Compact Symbol Protocol\n", ("prefix", "CSP/1\nthe Compact Symbol Protocol\n")),
        ("a: CSP/1\na: STATUS x\na: SCOPE\n" + "a: X\n" * 70, ("prefix", "CSP/1\nSTATUS x\nSCOPE\n" + "X\n" * 62)),
        ("a: CSP/1\n\na: b\n", ("", "")),
        ("1. CSP/1\n\n   FROM A\n   + DEF\n", ("indent", "CSP/1\n\nFROM A\n")),
        (f"{LONGEST}CSP/1\r\n{LONGEST}TO B\r\n", ("prefix", "CSP/1\r\nTO B\r\n")),
        (f"x{LONGEST}CSP/1\r\nx{LONGEST}TO B\r\n", ("", "")),
        ("a: CSP/1\n", None),
        ("a: CSP/1;x\na: b\n", ("prefix", "CSP/1;x\n")),
        ("a: CSP/1 MODE;x\na: B\na: \n", ("prefix", "CSP/1 MODE;x\nB\n")),
        ("> CSP/1;x\n> any line\n> \n> another\n", ("indent", "CSP/1;x\nany line\n")),
        ("words CSP/1;x\n", ("", "")),
        ("a: CSP/1;x\n" + "a: X\n" * 65, ("prefix", "CSP/1;x\n" + "X\n" * 64)),
        *(
            (f"a: CSP/1;x\na: {'X' * size}\na: Y\na: Z\n", ("prefix", f"CSP/1;x\n{'X' * size}\n{more}"))
            for size, more in ((4084, "Y\n"), (4085, "Y\n"), (4086, ""), (4087, ""))
        ),
        (f"a: CSP/1;x\na: {'X' * 4085}\r\na: Y\n", ("prefix", f"CSP/1;x\n{'X' * 4085}\r\nY\n")),
        (f"a: CSP/1;x\na: {'X' * 4088}\na: Z\n", ("prefix", "CSP/1;x\n")),
        (f"{'.' * (MOST_PREFIX - 1)} CSP/1 MODE;{'f' * 256}\r\n", ("prefix", f"CSP/1 MODE;{'f' * 256}\r\n")),
        (f"{CRI}CSP/1;x\n{CRI}A\n", ("prefix", "CSP/1;x\nA\n")),
        (f"{CRI}CSP/1\n{CRI}TO B\nTO C\n", ("prefix", "CSP/1\nTO B\n")),
        (f"{CRI}x CSP/1\n{CRI}\r\n{CRI}TO B\n{CRI}x TO C\n", ("prefix", "CSP/1\n\r\nTO B\n")),
        (f"{CRI}x CSP/1\n{CRI[:-1]}:a\n{CRI[:-1]}:b TO B\n", ("prefix", "CSP/1\n\nTO B\n")),
        (f"{CRI}CSP/1\nTO B\n", ("prefix", "CSP/1\nTO B\n")),
        (f"{CRI}CSP/1\n{CRI.replace('out', 'err')}TO B\n", None),
        (f"{CRI}CSP/1\n{CRI.replace('F', 'P')}TO B\n", None),
        (f"{CRI.replace('F', 'P')}CSP/1\n{CRI}TO B\n", None),
        (f"{CRI}CSP/1\n" * 2, ("", "")),
        (f"{CRI}x: CSP/1\n{CRI}TO B\n{CRI}<<<\n{CRI}a\n", ("prefix", "CSP/1\nTO B\n<<<\na\n")),
        (f"{CRI}CSP/1;x\n{CRI.replace('out', 'err')}A\n", None),
        ("a: CSP/1\na: TO B\na: A_1 x\n", ("prefix", "CSP/1\nTO B\nA_1 x\n")),
        ("a: CSP/1;x\na: B\nSTATUS x\n", ("prefix", "CSP/1;x\nB\n")),
        ("a: CSP/1;x\na: A ```\n", ("prefix", "CSP/1;x\n")),
        ("a: CSP/1; a Compact Symbol Protocol\na: FROM x\n", ("prefix", "CSP/1; a Compact Symbol Protocol\nFROM x\n")),
        ("a: CSP/1; no flags\na: B\n", ("", "")),
        ("CSP/1;a: CSP/1;b\n", ("", "")),
        ("é CSP/1;x\n", ("", "")),
    ],
)
def test_what_is_sure_by_a_quick_look(text: str, said: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    message = import_module("turnwire._native.framing.prefixed").message
    data = text.encode()
    found = message(data, 0, len(data), True, len(data))
    assert (found and (found[0], found[3].decode())) == said
    Pair(monkeypatch).agree(data, 0, len(data), True, len(data), None)


@needs_both
@pytest.mark.once
@pytest.mark.parametrize("head", [CRI, CRI.replace(".1Z", "-01:00"), CRI.replace("F ", "F:x ")])
def test_heads_of_cri_with_a_slip(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is behind such a head is another line of the stream only where the head is one."""
    pair = Pair(monkeypatch)
    for at in range(len(head)):
        for other in ("", "x", "0", ":", ".", " ", "\r", "Z"):
            slip = head[:at] + other + head[at + 1 :]
            for first, second in ((head, slip), (slip, head)):
                data = f"{first}CSP/1\n{second}TO B\n".encode()
                pair.agree(data, 0, len(data), True, len(data), None)
    assert min(pair.seen["nothing"], pair.seen["prefix"]) > 9


def test_where_few_bytes_may_belong_together_it_is_not_sure(core: Callable[[str], ModuleType]) -> None:
    message = core("framing.prefixed").message
    data = b"x CSP/1\nx FROM A\nx a\n"
    assert [message(data, 0, len(data), True, limit) for limit in range(len(data))] == [None] * len(data)
    assert message(b"x CSP/1\nx a\n", 0, 12, True, 11) is message(b": CSP/1;x\n: A\n", 0, 14, True, 13) is None


def test_a_line_of_docker_is_read_closely(core: Callable[[str], ModuleType]) -> None:
    line = b'{"log":"' + b"x" * LEAST_DOCKER + b' CSP/1"}\n'
    quick = core("framing.prefixed")
    assert (
        quick.message(line, 0, len(line), True, len(line)) is quick.parts(line, 0, len(line), True, len(line)) is None
    )


@needs_both
@pytest.mark.once
def test_behind_what_is_none_the_search_goes_on_at_the_next_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(monkeypatch)
    data = b"12 CSP/1; a Compact Symbol Protocol\n~ CSP/1; a Compact Symbol Protocol\n"
    pair.agree(data, 0, len(data), True, len(data), None)
    assert (pair.seen["nothing"], pair.seen["prefix"]) == (1, 1)


def test_what_it_is_asked_lies_in_the_data(core: Callable[[str], ModuleType]) -> None:
    message, parts = core("framing.prefixed").message, core("framing.prefixed").parts
    data = b"x CSP/1\nx FROM A\n"
    for line, stop, limit in ((-1, 5, 9), (5, 5, 9), (5, 4, 9), (0, len(data) + 1, 9), (0, 5, -1)):
        for read in (message, parts):
            with pytest.raises(
                ValueError, match=r"^line and stop must lie in the data, and limit is a number of bytes$"
            ):
                read(data, line, stop, True, limit)
    assert message(data, 0, len(data), False, 99) is None, "it may go on"
