"""What begins a message in a log, what only says CSP/1, and the Compact Symbol Protocol by its name: on both cores."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.conftest import needs_both
from tests.csp.generate import ODD_LINES
from tests.csp.test_bulk import GOOD, TASK, begins_message, fill
from tests.nslip.twins import rounds
from turnwire import DecodeError, csp
from turnwire.csp import _codec_py as pure
from turnwire.csp._marks_py import EXACT, NEAR, TEMPLATE, NeedMore, are_flags, classify_magic_line
from turnwire.csp.spec import REASONS

TEXT = [
    "CSP/1",
    "CSP/1\n",
    "CSP/1\n=====\n\nA protocol for agents.\n",
    "CSP/1 only. Example:\n\n    find auth\n",
    "csp/1 is a protocol, and so is\nCSP / 2\n",
    "CSP/1, CSP/2 and so on.\nFrom now on we use the first.\n",
    "CSP/1; it is a protocol of agents\nwith little prose.\n",
    "CSP/1\nto exchange messages between agents\n",
    "CSP/1\nto begin: read the specification.\n",
    "CSP/1\n```\n",
    "```\nCSP/1\n```\n",
    "CSP/1\nFRO",
    "CSP/1\nFROMAGE\n",
    "CSP/1\nERROR: no such protocol\n",
    "CSP/1\nTASKS\n- one\n- two\n",
    "CSP/1\n\n\n\n\n\n\n\n\nFROM far away\n",
    "CSP/1\na\nb\nc\nd\nFROM far away\n",
    "CSP/1 - the Compact Symbol Protocol - is another one.\nIt is not read here.\n",
    "CSP/2\nSTATUS codes are as usual\n",
    "CSP/1 MODE; a word that is explained below, in prose\n",
]
DAMAGED = [
    "CSP/1\nFROM",
    "CSP/1\nFROM\n",
    "CSP/1\nTO B\n",
    "CSP/1\nFROM A",
    "CSP/1\n  INTENT TASK\n",
    "CSP/1\nFROM: A\n",
    "CSP/1\n\nFROM A\n",
    "CSP/1\nhello\nCTX C0\n",
    "csp/1\nfrom a\n",
    "CSP / 1\nFROM A\n",
    "CSP/2\nFROM A\n",
    "CSP/1 only. Example:\nFROM A\nTO B\n",
    "CSP/1; a message\nFROM A\n",
    "CSP/1\n\nTASK T1\nREQ x\n",
    "CSP/1\nFILEOP F1 PATCH\n",
    "CSP/1\nMEM M1\n",
    "CSP/1\rFROM A\rTO B\r",
]
LOOK_ALIKE = [
    "CSP/1\nSTATUS OK\nSCOPE [auth]\nDATA a.ts:1-x\nREAD_RECS a.ts:1-9\n",
    "CSP/1\nSTATUS: ok\n",
    "CSP/1\n\nPOSITION ADVOCATE\nPLAN first a, then b\n",
    "CSP/1\nDEBATE PLANNING TASK:x STAKES:low\n",
    "CSP/1\nRESOLUTION merged\n",
    "CSP/1 MODE;!prose;DATA ONLY\nSTATUS OK|PARTIAL|FAIL\nSCOPE [a]\n",
    "CSP/1 MODE;!prose\nTASK REQ:x IN:y OUT:z\nSCOPE [a]\n",
    "CSP/1;!prose\n\n## Laws\n- L1: refs only\n\n## Result\nSTATUS OK|FAIL\nSCOPE [a]\nTASK REQ:x\nREAD_RECS none\n",
    "CSP/1 - Compact Symbol Protocol v1\n\nSTATUS OK|PARTIAL\n",
    "CSP/1\nCompact Symbol Protocol v1\n",
    "CSP/2\nSTATUS OK\nREAD_RECS none\n",
]
TEMPLATES = [
    "CSP/1;\n",
    "CSP/1 MODE;\n",
    "CSP/1 MODE;!prose;DATA ONLY\n",
    "CSP/1;!prose;DATA ONLY\nRESULT{STATUS,DATA[file:line]}\nTASK REQ:<req> IN:<scope> OUT:<type>\n",
    "CSP/1;!prose\nRESULT\nSTATUS\nDATA [file:line]\nTASK\nREQ <req>\n",
    "CSP/1; !prose; DATA ONLY\nTASK REQ:x\n",
    "CSP/1;a=b;;\n",
    "CSP/1 MODE;!prose\n\nlater in the log\nSTATUS 200\n",
]


def reasons(core: Any, data: bytes) -> list[str]:
    return [str(REASONS[code]) for code in fill(core, data).rejects["reason"]]


@pytest.mark.parametrize("text", TEXT)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_text(csp_core: Any, text: str, end: str) -> None:
    data = text.replace("\n", end).encode()
    found = fill(csp_core, data)
    assert (found.columns["offset"], found.rejects["offset"]) == ([], [])
    around = GOOD + data.rstrip(b"\n") + b"\n\n" + GOOD
    found = fill(csp_core, around)
    assert (len(found.columns["offset"]), found.rejects["offset"]) == (2, [])
    if text.startswith("CSP/1"):
        assert not begins_message(data, 0)


@pytest.mark.parametrize("text", DAMAGED)
def test_damage(csp_core: Any, text: str) -> None:
    found = fill(csp_core, text.encode())
    assert (found.columns["offset"], found.rejects["offset"]) == ([], [0])
    assert begins_message(text.encode(), 0)


def test_a_message_that_is_cut_off_anywhere(csp_core: Any) -> None:
    """From its first whole word of the header on it is damage, and before that text."""
    data = TASK + b"REQ x\n"
    for size in range(len(b"CSP/1"), len(TASK) + len(b"REQ")):
        expected = [0] if size >= len(b"CSP/1\nFROM") else []
        for behind in (b"", b"\n", b"\n2026 INFO start\n", b"\n\nText.\n"):
            assert fill(csp_core, data[:size] + behind).rejects["offset"] == expected, (size, behind)


@pytest.mark.parametrize("text", LOOK_ALIKE)
def test_the_other_protocol(csp_core: Any, text: str) -> None:
    for data in (text.encode(), text.replace("\n", "\r\n").encode(), GOOD + text.encode() + GOOD):
        assert reasons(csp_core, data) == ["look_alike"]
    with pytest.raises(DecodeError, match="Compact Symbol Protocol") as caught:
        csp.decode(text)
    assert (caught.value.reason, caught.value.offset, caught.value.line) == ("look_alike", 0, 1)
    document = csp.parse(text, mode="lenient")
    assert document.issues[0][:2] == ("look_alike", 1)
    assert {type(record) for record in document.records} <= {csp.Junk, csp.Preamble}
    assert [row[3] for row in csp_core.tables(text.encode())[2]][:1] == [REASONS.index(caught.value.reason)]


def test_its_title_in_a_line_of_its_own(csp_core: Any) -> None:
    text = "Notes\n# The Compact Symbol Protocol\n"
    assert reasons(csp_core, text.encode()) == []
    with pytest.raises(DecodeError) as caught:
        csp.parse(text.split("\n", 1)[1])
    assert (caught.value.reason, caught.value.line) == ("look_alike", 1)
    found = csp.parse(text, mode="lenient")
    assert [one[:2] for one in found.issues] == [("look_alike", 2)]


@pytest.mark.parametrize("text", TEMPLATES)
def test_templates(csp_core: Any, text: str) -> None:
    found = fill(csp_core, text.encode())
    assert (found.columns["intent"], found.rejects["offset"]) == ([8], [])
    assert isinstance(csp.parse(text.split("\n\n")[0] + "\n").records[0], csp.Template)


@pytest.mark.parametrize("size", [1, 255, 256, 257, 300])
def test_a_template_has_256_bytes_of_flags_at_most(csp_core: Any, size: int) -> None:
    text = f"CSP/1;{'x' * size}\n".encode()
    found = fill(csp_core, text)
    assert (found.columns["intent"], len(found.rejects["offset"])) == (([8], 0) if size <= 256 else ([], 0))


@pytest.mark.parametrize(
    ("flags", "good"),
    [
        ("", True),
        ("!prose", True),
        (" DATA ONLY", True),
        (" data only", False),
        ("a ", False),
        ("a; b", False),
        ("a;b c", True),
        (" Az", False),
        (" zA", False),
        (" aA", False),
        (" A{[`@", True),
        ("\ta", False),
        ("  A", False),
        ("x" * 257, False),
    ],
)
def test_flags(csp_core: Any, flags: str, good: bool) -> None:
    assert are_flags(flags.encode()) is good
    assert (fill(csp_core, f"CSP/1;{flags}\n".encode()).columns["intent"] == [8]) is good


LINES = [
    *(line for line in ODD_LINES if line not in ("```", "```csp")),
    "RESULT T1",
    "from a",
    " to b ",
    "ctx = c.",
    "to :",
    "intent:task",
    "From: A",
    "POSITION x",
    "RESOLUTION",
    "DEBATE:",
    "SCOPES",
    "Compact Symbol Protocol",
    "FILEOP F1 ",
    "FILEOP F2 PATCH x",
    "QUERY 1",
    "PLAN\t1",
    " MEM m",
    "y" * 1500,
    "",
    "text",
]
FIRST = ["CSP/1", "csp/1", "CSP/1;", "CSP/1; see", "CSP/1; A b", "CSP/1;A B", "CSP/1 MODE;x ", "CSP/1\rTO"]
FIRST += ["CSP/1;Compact Symbol Protocol"]


@needs_both
def test_twins_agree_on_any_lines() -> None:
    native = pytest.importorskip("turnwire._native.csp.codec")
    chance = random.Random(5)
    met: dict[int, int] = {}
    for _ in range(rounds(500)):
        lines = [chance.choice(FIRST), *chance.choices(LINES, k=chance.choice((0, 1, 2, 3, 5, 9, 70)))]
        data = "".join(line + chance.choice(("\n", "\n", "\r\n")) for line in lines).encode()
        data = data[: chance.choice((len(data), chance.randrange(len(data) + 1)))]
        assert native.tables(data) == pure.tables(data), data
        once = fill(pure, data)
        assert fill(native, data) == once, data
        for core in (native, pure):
            cuts = sorted(chance.sample(range(len(data) + 1), min(len(data), 3)))
            assert fill(core, data, cuts=cuts) == once, (data, cuts)
        for code in once.rejects["reason"]:
            met[code] = met.get(code, 0) + 1
    assert met[REASONS.index("look_alike")] > 20  # type: ignore[arg-type]
    assert sum(met.values()) > 200


WORDS = ["FROM", "TO", "CTX", "INTENT", "STATUS", "SCOPE", "DEBATE", "POSITION", "RESOLUTION", "QUERY", "PLAN", "MEM"]
WORDS += ["MODE", "TASK T1", "RESULT T09", "PATCH P1", "FILEOP F1", "FILEOP F1 A", "FILEOP F1 AZ", "FROM A", "to b"]
WORDS += ["from", "to", "ctx", "abcdefghijklmno", "abcdefghijklmnop", "abcdefghijklmnopqr", "Compact Symbol Protocol"]


@needs_both
@pytest.mark.parametrize("first", ["CSP/1", "csp/1", "CSP/1;"])
def test_twins_agree_on_what_stands_behind_a_word(first: str) -> None:
    """Also on the characters beside letters and digits in the table of them."""
    native = pytest.importorskip("turnwire._native.csp.codec")
    for word in WORDS:
        for behind in "Z@[z`{_/09: \t":
            for more in ("", "x"):
                data = f"{first}\n{word}{behind}{more}\nSTATUS x\n".encode()
                assert native.tables(data) == pure.tables(data), data
                assert fill(native, data) == fill(pure, data), data


@pytest.mark.parametrize("backend", ["pure"])
def test_the_verdict_does_not_depend_on_how_much_has_come(backend: str) -> None:
    """Of the pure look at lines, which no choice of a core changes."""
    chance = random.Random(6)
    for _ in range(300):
        data = "\n".join([chance.choice(FIRST), *chance.choices(LINES, k=chance.randrange(9))]).encode() + b"\n"
        for kind in (EXACT, NEAR, TEMPLATE):
            whole = classify_magic_line(data, 0, len(data), True, kind)
            for size in range(data.index(b"\n") + 1, len(data)):
                try:
                    assert classify_magic_line(data, 0, size, False, kind) == whole
                except NeedMore:
                    assert size < len(data)


@pytest.mark.parametrize("front", ["", " ", "\t", "\ufeff"])
@pytest.mark.parametrize("word", ["XSP/1", "CXP/1", "CSX/1", "CSP#1", "CSP/x"])
def test_a_line_that_differs_in_one_letter_is_none_that_nearly_says_it(front: str, word: str, backend: str) -> None:
    rest = "FROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nKEY x\n"
    with pytest.raises(DecodeError) as first:
        csp.decode(f"{front}{word}\n{rest}")
    with pytest.raises(DecodeError) as behind:
        csp.decode(f"CSP/1\n{rest}{front}{word}\n")
    assert (first.value.reason, first.value.offset, first.value.line) == ("junk", 0, 1)
    assert (behind.value.reason, behind.value.line) == ("stray_line", 9)
    with pytest.raises(DecodeError) as near:
        csp.decode(f"CSP/1\n{rest}{front}csp/1\n")
    assert near.value.reason == "bad_magic"


@needs_both
@pytest.mark.parametrize("tail", ["", "FROM A\n", "STATUS x\nSCOPE y\n", "TASK T1\nDEBATE\nPOSITION\n"])
@pytest.mark.parametrize("first", ["CSP/1", "csp/1", "CSP/1;A B", "CSP/1\rTO"])
def test_twins_agree_where_the_look_at_lines_ends(first: str, tail: str) -> None:
    """Behind 64 lines or 4096 bytes."""
    native = pytest.importorskip("turnwire._native.csp.codec")
    texts = [f"{first}\n" + line * count + tail for count in range(62, 66) for line in ("x\n", "\n")]
    for size in range(4091, 4098):
        texts.append(f"{first}\n{'y' * (size - len(first) - 2)}\n{tail}")
        texts.append(f"{first}{chr(13) * (first[-1] == 'O')}{'y' * (size - len(first))}\n{tail}")
    for text in (*texts, *(text[:-1] for text in texts)):
        data = text.encode()
        once = fill(pure, data)
        assert fill(native, data) == once, (first, len(data))
        for cut in (len(data) - 1, len(data) - len(tail), len(data) - len(tail) - 1):
            assert fill(native, data, cuts=[cut]) == fill(pure, data, cuts=[cut]) == once, (len(data), cut)
