"""The two cores read the same messages, and lines that say CSP/1 begin a message or are text."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests import vectors
from tests.conftest import needs_both, raised, rounds
from tests.csp.generate import GOOD_BLOCKS, ODD_LINES, document, walked
from tests.csp.test_bulk import CORES, GOOD, TASK, agreed as scanned, begins_message
from tests.log.engines import ENGINES, Read, read
from turnwire import DecodeError, csp
from turnwire._backend import core_module
from turnwire.csp import _codec_py as pure
from turnwire.csp._lines_py import are_flags

LIMITS = [pure.NO_LIMIT, (200, 3, 12), (100, 2, 5), (60, 256, 65536), (20, 2, 2)]


def agreed(core, data: bytes, limits=None):
    """The records and rejects of ``data``: those of the native core are those of the pure one."""
    found = walked(core, data, limits)
    if core is not pure:
        assert found == walked(pure, data, limits), data
    return found


def long_log(seed: int) -> bytes:
    """Usual messages, and nearly usual ones, over several of the native scanner's windows (8 KiB), anywhere in them."""
    rng = random.Random(seed)
    parts = ["x" * rng.randrange(9000) + "\n"]
    while sum(map(len, parts)) < 40_000:
        name = rng.choice(["A", "\u00e9", *("B" * size for size in (7, 8, 9, 55, 56, 57, 58, 63, 64, 65, 200))])
        if rng.random() < 0.1:
            name = rng.choice(["C\x7f", "D\t", "E F", ""])
        token = name if rng.random() < 0.5 else "MAIN"
        lines = list(rng.choice(list(GOOD_BLOCKS.items()))[1])
        intent = "FILE" if lines[0].startswith("FILEOP") else lines[0].split()[0]
        if rng.random() < 0.1:
            lines[1:1] = [rng.choice(["", "REQ \u20ac", "REQ", "DATA", "K_1 v", "\xff"])]
        if lines[-1] == ">>>":
            lines[-1:-1] = ["+" + rng.choice(["a", "\u00fc", "\r", ">>>>", "<<<"]) * rng.randrange(60)] * rng.choice(
                (1, 1, 1, 9, 9, 9, 300)
            )
        end = rng.choice(["\n", "\n", "\n", "\n", "\n", "\r\n"])
        head = ["CSP/1", f"FROM {token}", "TO B", f"CTX {name}", f"INTENT {intent}", ""]
        parts.append(end.join([*head, *lines, rng.choice(["", "\n", "\n\n"])]))
    data = "".join(parts).encode()
    return data[: len(data) - rng.randrange(40)] if rng.random() < 0.5 else data


@needs_both
def test_twins_agree_on_logs_of_many_windows():
    """Whichever way the native one lists lines."""
    native, rows = core_module("native", "csp.codec"), 0
    for seed in range(rounds(25)):
        data = long_log(seed)
        limits = (LIMITS[0], LIMITS[0], (9000, 256, 65536), LIMITS[1])[seed % 4]
        rows += len(agreed(native, data, limits)[0])
        wanted = read("pure", data, wire="csp")
        assert all(read(name, data, wire="csp") == wanted for name in ENGINES[:-1])
    assert rows > 1000


def test_every_byte_belongs_to_one_thing(csp_core):
    """And the twins agree, whatever the limits are; strict reading says what comes first."""
    for seed in range(rounds(400)):
        data = document(seed, damage=0.4)
        agreed(csp_core, data, LIMITS[seed % len(LIMITS)])
        records, rejects = walked(csp_core, data)
        place = 0
        for start, stop in sorted(one[:2] for one in (*records, *rejects) if one[0] < one[1]):
            assert start >= place
            assert not data[place:start].strip(b" \t\r\n")
            place = stop
        assert not data[place:].strip(b" \t\r\n")
        if rejects and (text := valid(data)) is not None:
            error = raised(DecodeError, csp.parse, text)
            assert (error.reason, error.offset) == rejects[0][2:]


def valid(data: bytes) -> str | None:
    """The text of bytes that are UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def test_2_gib_at_once_are_refused(csp_core):
    """Of memory that is never touched."""
    words = r"^a text of 2 GiB or more cannot be read at once: spans are 32 bits wide$"
    with pytest.raises(ValueError, match=words):
        csp_core.Messages(bytes(1 << 31))


def test_a_law_stands_below_its_head_and_behind_nothing_else(csp_core):
    data = b"LAWS\n- L1: a\n\n- L2: b\nDEF X = 1\n- L3: c\n"
    records, rejects = walked(csp_core, data)
    assert [one[:2] for one in records] == [(0, data.index(b"- L3"))]
    assert [one[:2] for one in rejects] == [(data.index(b"- L3"), len(data))]


@pytest.mark.parametrize("word", [b"FROM", b"INTENT", b"RESULT", b"STATUS", b"DATA"])
@pytest.mark.parametrize("behind", [b" ", b"", b"\0"])
def test_nul_behind_a_word_is_no_part_of_it(csp_core, word, behind):
    good = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nPRODUCED F1\nDATA x\n\n"
    data = good.replace(b"\n" + word + b" ", b"\n" + word + b"\0" + behind)
    assert not agreed(csp_core, data)[0]


def written(kind: str) -> pytest.MarkDecorator:
    """Parametrises ``text`` with the texts that are of a kind to a scan: text, damage, look_alike or template."""
    cases = [case for case in vectors.load("csp_forms") if case["kind"] == kind]
    return pytest.mark.parametrize("text", [case["text"] for case in cases], ids=[case["id"] for case in cases])


def fill(core: Any, data: bytes) -> Read:
    """The results of a scan by this core."""
    return read(CORES[-1 if core is pure else 0], data, wire="csp")


def starts(found: Read) -> tuple[list[int], list[int]]:
    """The places where records and rejects begin."""
    return found[0]["offset"], [one["offset"] for one in found[1]]


def reasons(core: Any, data: bytes) -> list[str]:
    return [one["reason"] for one in fill(core, data)[1]]


@written("text")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_text(csp_core: Any, text: str, end: str) -> None:
    data = text.replace("\n", end).encode()
    found = fill(csp_core, data)
    assert starts(found) == ([], [])
    around = GOOD + b"\n" + data.rstrip(b"\n") + b"\n\n" + GOOD
    found = fill(csp_core, around)
    assert (len(found[0]["offset"]), found[1]) == (2, [])
    if text.startswith("CSP/1"):
        assert not begins_message(data, 0)


@written("damage")
def test_damage(csp_core: Any, text: str) -> None:
    found = fill(csp_core, text.encode())
    assert starts(found) == ([], [0])
    assert begins_message(text.encode(), 0)


def test_a_message_that_is_cut_off_anywhere(csp_core: Any) -> None:
    """From its first whole word of the header on it is damage, and before that text."""
    data = TASK + b"REQ x\n"
    for size in range(len(b"CSP/1"), len(TASK) + len(b"REQ")):
        expected = [0] if size >= len(b"CSP/1\nFROM") else []
        for behind in (b"", b"\n", b"\n2026 INFO start\n", b"\n\nText.\n"):
            assert starts(fill(csp_core, data[:size] + behind))[1] == expected, (size, behind)


@written("look_alike")
def test_the_other_protocol(csp_core: Any, text: str) -> None:
    for data in (text.encode(), text.replace("\n", "\r\n").encode(), GOOD + text.encode() + GOOD):
        assert reasons(csp_core, data) == ["look_alike"]
    with pytest.raises(DecodeError, match="Compact Symbol Protocol") as caught:
        csp.decode(text)
    assert (caught.value.reason, caught.value.offset, caught.value.line) == ("look_alike", 0, 1)
    document = csp.parse(text, mode="lenient")
    assert document.issues[0][:2] == ("look_alike", 1)
    assert {type(record) for record in document.records} <= {csp.Junk, csp.Preamble}
    assert walked(csp_core, text.encode())[1][0][2] == caught.value.reason


def test_its_title_in_a_line_of_its_own(csp_core: Any) -> None:
    text = "Notes\n# The Compact Symbol Protocol\n"
    assert reasons(csp_core, text.encode()) == []
    caught = raised(DecodeError, csp.parse, text.split("\n", 1)[1])
    assert (caught.reason, caught.line) == ("look_alike", 1)
    found = csp.parse(text, mode="lenient")
    assert [one[:2] for one in found.issues] == [("look_alike", 2)]


@written("template")
def test_templates(csp_core: Any, text: str) -> None:
    found = fill(csp_core, text.encode())
    assert (found[0]["intent"], found[1]) == ([8], [])
    assert isinstance(csp.parse(text.split("\n\n")[0] + "\n").records[0], csp.Template)


@written("no template")
def test_what_are_no_flags(csp_core: Any, text: str) -> None:
    assert not are_flags(text[len("CSP/1;") : -1].encode())
    assert fill(csp_core, text.encode())[0]["intent"] != [8]


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
    met: dict[str, int] = {}
    for _ in range(rounds(150)):
        lines = [chance.choice(FIRST), *chance.choices(LINES, k=chance.choice((0, 1, 2, 3, 5, 9, 70)))]
        data = "".join(line + chance.choice(("\n", "\n", "\r\n")) for line in lines).encode()
        data = data[: chance.choice((len(data), chance.randrange(len(data) + 1)))]
        agreed(native, data)
        once = scanned(data)
        size = chance.randrange(1, len(data) + 2)
        for name in CORES:
            assert read(name, data, wire="csp", batch_bytes=size) == once, (data, size)
        for one in once[1]:
            met[one["reason"]] = met.get(one["reason"], 0) + 1
    assert met["look_alike"] > 5
    assert sum(met.values()) > 50


@pytest.mark.parametrize("front", ["", " ", "\t", "\ufeff"])
@pytest.mark.parametrize("word", ["XSP/1", "CXP/1", "CSX/1", "CSP#1", "CSP/x"])
def test_a_line_that_differs_in_one_letter_is_none_that_nearly_says_it(front: str, word: str, backend: str) -> None:
    rest = "FROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nKEY x\n"
    first = raised(DecodeError, csp.decode, f"{front}{word}\n{rest}")
    behind = raised(DecodeError, csp.decode, f"CSP/1\n{rest}{front}{word}\n")
    assert (first.reason, first.offset, first.line) == ("junk", 0, 1)
    assert (behind.reason, behind.line) == ("stray_line", 9)
    assert raised(DecodeError, csp.decode, f"CSP/1\n{rest}{front}csp/1\n").reason == "bad_magic"


@needs_both
@pytest.mark.parametrize("tail", ["", "FROM A\n", "STATUS x\nSCOPE y\n", "TASK T1\nDEBATE\nPOSITION\n"])
@pytest.mark.parametrize("first", ["CSP/1", "csp/1", "CSP/1;A B", "CSP/1\rTO"])
def test_twins_agree_where_the_look_at_lines_ends(first: str, tail: str) -> None:
    """Behind 64 lines or 4096 bytes."""
    texts = [f"{first}\n" + line * count + tail for count in range(62, 66) for line in ("x\n", "\n")]
    for size in range(4091, 4098):
        texts.append(f"{first}\n{'y' * (size - len(first) - 2)}\n{tail}")
        texts.append(f"{first}{chr(13) * (first[-1] == 'O')}{'y' * (size - len(first))}\n{tail}")
    for number, text in enumerate(texts):
        scanned(text[: len(text) - number % 2].encode())
