"""What is beside messages and in front of them, at the edge of what says something of them; what waits in a decoder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import turnwire
from tests.finding.test_edges import CSP, SAID
from turnwire import LIMITS
from turnwire.csp._marks_py import LOOK_BYTES, LOOK_LINES
from turnwire.errors import DecodeError
from turnwire.framing.assembly import find
from turnwire.framing.parts import LEAST_DOCKER
from turnwire.read.around import lines_around
from turnwire.read.judging import conform
from turnwire.read.located import Found, located, pieces

pytestmark = pytest.mark.once
FRAME = "@a0|f0|c1|S1|d2|T0#"
BROKEN = "@a3|f0 broken"


def everything(data: bytes) -> Found:
    return Found(data, list(pieces(data, columns=True)))


def together(text: str) -> list[str]:
    data = text.encode()
    return [one.text.decode() for one in find(data, 0, len(data), True, 1 << 20)[0]]


@pytest.mark.parametrize(
    ("prefix", "is_one"),
    [("abc", False), ("5", False), ("Z", False), ("", False)]
    + [(prefix, True) for prefix in ("abc ", "[x]", "abc: ", "5: ", "> ", "a_", "a|")],
)
def test_a_letter_in_front_of_a_message_is_no_prefix_of_other_lines(prefix: str, is_one: bool) -> None:
    front = f"{prefix}{SAID}\n"
    found = list(lines_around(everything(f"{front}{prefix}other words\n".encode()), "sstp"))
    wanted = [(len(front) + len(prefix), 2, b"other words", prefix != "> ")]
    assert [tuple(one) for one in found] == wanted * is_one


@pytest.mark.parametrize("front", ["", "front\n\n"])
@pytest.mark.parametrize("between", [" ", "\n\n", "\n\nwords\n\n", "\n\nwords and words\n\n\n"])
@pytest.mark.parametrize("behind", ["", "\n", "\n\nend", "\n\nend\n"])
@pytest.mark.parametrize("unit", [SAID, FRAME, CSP], ids=["sstp", "nslip", "csp"])
def test_what_a_string_says_beside_its_messages(unit: str, front: str, between: str, behind: str) -> None:
    """White space behind a message is beside it."""
    if unit is CSP and between == " ":
        between = "\n"
    said = f"{front}{unit}{between}{unit}{behind}"
    data = json.dumps({"a": said}).encode()
    told = [(at, text.decode()) for at, text in everything(data).strings(b"{}")]
    rest = f"{front}{{}}{between}{{}}{behind}"
    assert told == [(6, rest)] * (rest.replace("{}", "").strip() != "")


@pytest.mark.parametrize(
    ("prefix", "is_log"),
    [(prefix, True) for prefix in ("log:", "[x]", ">", "a|", "2026-01-01T00:00:00Z x:")]
    + [(prefix, False) for prefix in ("say", "né", "日本", "5", "say 5", "»", "ночь")],
)
def test_a_template_behind_a_sentence_is_none(prefix: str, is_log: bool) -> None:
    """It ends in a letter or digit, of any script."""
    assert together(f"{prefix} CSP/1;!prose;\n") == ["CSP/1;!prose;\n"] * is_log


@pytest.mark.parametrize("size", [1, 2, LOOK_LINES - 1, LOOK_LINES, LOOK_LINES + 1])
def test_a_template_has_so_many_lines(size: int) -> None:
    head = "CSP/1;!prose;\n"
    lines = "GOAL x\n" * size
    behind = "".join(f"log: {line}\n" for line in (head + lines).splitlines())
    assert together(behind) == [head + "GOAL x\n" * min(size, LOOK_LINES)]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_template_has_so_many_bytes(more: int) -> None:
    head = "CSP/1;!prose;\n"
    last = "GOAL " + "x" * (LOOK_BYTES - len(head) - len("GOAL \n") + more)
    assert together(f"log: {head}log: {last}\n") == [head + f"{last}\n" * (more <= 0)]


@pytest.mark.parametrize("wire", ["nslip", None])
@pytest.mark.parametrize("waiting", range(3))
@pytest.mark.parametrize("more", [0, 1])
def test_a_buffer_that_is_full_says_what_waits(wire: str | None, waiting: int, more: int) -> None:
    """What waits there comes with the next call."""
    most = 300
    decoder = turnwire.Decoder(wire, limits=LIMITS._replace(message=100, feed_buffer=most))
    with pytest.raises(DecodeError) as caught:
        decoder.feed(f"{FRAME}\n".encode() * waiting + f"{BROKEN}\n".encode())
    assert (str(caught.value.reason), caught.value.pending) == ("bad_digit", waiting)
    if not more:
        assert len(decoder.feed(b"x" * (most + more))) == waiting
        return
    with pytest.raises(DecodeError) as caught:
        decoder.feed(b"x" * (most + more))
    assert (str(caught.value.reason), caught.value.pending) == ("buffer_full", waiting)
    assert len(decoder.feed(b"")) == waiting


@pytest.mark.parametrize("wire", turnwire.WIRES)
def test_every_wire_is_judged_as_of_a_moment(wire: str) -> None:
    """Whether it has times or not; what none has is refused, and None is not given."""
    assert conform(wire, b"", now=1.0, nonsense=None) == conform(wire, b"")
    with pytest.raises(TypeError, match="nonsense is not an option of"):
        conform(wire, b"", nonsense=1)


@pytest.mark.parametrize(
    ("text", "hows"),
    [
        ("{}", ["bare"]),
        (" {}\n", ["bare"]),
        ("say {}.", ["prose"]),
        ("```\n{}\n```", ["fence"]),
        ("```\n[{}, {}]\n```", ["fence"] * 2),
        ("[{}]", ["json"]),
        ("[{}, {}]", ["json"] * 2),
        ("[ {} ,\n{},{} ]", ["json"] * 3),
        ('{"a":{}}', ["json"]),
        ('{"a":[{},{}],"b":{}}', ["json"] * 3),
    ],
)
def test_how_messages_are_wrapped(text: str, hows: list[str]) -> None:
    whole = text.replace("{}", SAID)
    found = turnwire.extract(whole)
    assert [whole[one.start : one.end] for one in found] == [SAID] * len(hows)
    assert [one.wrapped for one in found] == hows


@pytest.mark.parametrize("order", ["mgm", "gm", "mg", "ggmm", "mmgg", "gmgmg"])
def test_near_misses_and_messages_of_one_string_come_in_their_order(order: str) -> None:
    units = {"g": FRAME, "m": "@a3|f0|c!|S0|d1|T1#"}
    text = json.dumps({"a": " ".join(units[each] for each in order)}) + "\n" + FRAME
    found = turnwire.extract(text, ["nslip"], rejects=True)
    assert [text[one.start : one.end] for one in found] == [units[each] for each in order + "g"]
    assert [one.message is None for one in found] == [each == "m" for each in order + "g"]


def test_a_line_of_docker_has_one_member_of_each_name() -> None:
    text = "x" * LEAST_DOCKER
    last = json.dumps({"log": "y\n", "stream": "stdout"}) + "\n"
    for more in ('"stream":"stdout"', '"log":"z"', '"time":"x","time":"x"', '"attrs":{},"attrs":{}'):
        line = f'{{"log":"{text}","stream":"stdout",{more}}}\n'
        assert together(line + last) == []
    assert together(f'{{"log":"{text}","stream":"stdout"}}\n{last}') == [f"{text}y\n"]


def test_what_is_found_in_several_files_is_told_once(tmp_path: Path) -> None:
    """In the order of the files, each in its own."""
    for name in "abc":
        (tmp_path / f"{name}.log").write_text(f"{BROKEN}\n{FRAME}\n{BROKEN}\n" if name != "b" else f"{BROKEN}\n")
    told = [(Path(one.file or "").stem, one.line, one.error is None) for one in located(str(tmp_path), "nslip")]
    every = [("a", 1, False), ("a", 2, True), ("a", 3, False), ("b", 1, False)]
    assert told == every + [("c", line, good) for _, line, good in every[:3]]


@pytest.mark.parametrize("blank", ["", " ", "  ", "   ", "    ", "\t", "      "])
def test_blank_lines_below_the_mark_of_a_list_need_not_be_as_wide(blank: str) -> None:
    lines = CSP.replace("\n\n", f"\n{blank}\n").split("\n")
    text = "1. " + "\n".join(
        line if not line.strip() else "   " * (number > 0) + line for number, line in enumerate(lines)
    )
    [found] = together(f"{text}\nparagraph\n")
    assert [line.strip() for line in found.splitlines()] == CSP.split("\n")
