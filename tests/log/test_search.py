"""The search in one pass: what a text holds it holds in every carrier, whole, damaged, or cut at any byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from tests.golden.logs import log
from tests.log.test_matrix import BAD, GOOD, TIME
from turnwire.log.engine.all_wires import finder
from turnwire.log.search.search import Search
from turnwire.log.search.state import Match, SearchState
from turnwire.log.search.texts import Text

pytestmark = pytest.mark.once  # the search stands in plain Python until its twin in C is whole
STAMP = f"{TIME}.123456789Z"
AFTER = '@a2|f0|c9|S5|dA|T2|t"after"#'
"""A record that stands behind each message, so that damage is seen to cost no neighbour."""


def lines(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.split("\n"))


def parts(text: str, size: int = 40) -> Iterator[tuple[str, bool]]:
    """The lines of a text in pieces, each with whether the rest of the line is in the next one."""
    for line in text.split("\n"):
        pieces = [line[at : at + size] for at in range(0, len(line), size)] or [""]
        yield from ((piece, number + 1 < len(pieces)) for number, piece in enumerate(pieces))


def cri(text: str) -> str:
    return "".join(f"{STAMP} stdout {'P' if more else 'F'} {piece}\n" for piece, more in parts(text))


def docker(text: str, size: int = 1 << 20) -> str:
    pieces = [piece if more else f"{piece}\n" for piece, more in parts(text, size)]
    return "".join(json.dumps({"log": piece, "stream": "stdout", "time": STAMP}) + "\n" for piece in pieces)


def journald(text: str, size: int = 1 << 20) -> str:
    entries = []
    for piece, more in parts(text, size):
        partial = {"CONTAINER_PARTIAL_MESSAGE": "true"} if more else {}
        entries.append({"__REALTIME_TIMESTAMP": "1767323045123456", "CONTAINER_ID": "a", "MESSAGE": piece, **partial})
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def in_strings(text: str, depth: int) -> str:
    for _ in range(depth):
        text = json.dumps({"text": text})
    return text + "\n"


def notebook(text: str) -> str:
    source = text.splitlines(keepends=True)
    return (
        json.dumps({"cells": [{"cell_type": "raw", "source": [*source[:-1], source[-1] + "\n", "\n"]}]}, indent=1)
        + "\n"
    )


CARRIERS: dict[str, Callable[[str], str]] = {
    "file": lambda text: f"{text}\n",
    "crlf": lambda text: text.replace("\n", "\r\n") + "\r\n",
    "prefix": lambda text: lines(text, f"{TIME}Z INFO app: "),
    "compose": lambda text: lines(text, "\x1b[36magent-1  | \x1b[0m"),
    "quote": lambda text: lines(text, "> "),
    "events": lambda text: lines(text, "data: "),
    "indented": lambda text: lines(text, "    "),
    "cri": lambda text: lines(text, f"{STAMP} stdout F "),
    "cri parts": cri,
    "docker": docker,
    "docker parts": lambda text: docker(text, 40),
    "journald": journald,
    "journald parts": lambda text: journald(text, 40),
    "string": lambda text: in_strings(text, 1),
    "strings in strings": lambda text: in_strings(text, 3),
    "bytes": lambda text: json.dumps({"MESSAGE": list(text.encode())}) + "\n",
    "list of lines": notebook,
}
PRETTY = {wire: json.dumps(json.loads(GOOD[wire]), indent=2, ensure_ascii=False) for wire in ("sstp", "sap", "kick")}


def search() -> Search:
    found = finder(None)
    return Search(found)


def found(data: str, which: Search | None = None) -> list[Match]:
    """What is found in a file; all of its bytes are accounted for, once."""
    raw = data.encode()
    ones, position = (which or search()).block(Text(raw), SearchState())
    assert position == len(raw)
    spans = sorted(span for one in ones for span in one.text.spans(one.start, one.stop))
    assert all(before[1] <= behind[0] for before, behind in pairwise(spans)), data
    assert all(0 <= start < stop <= len(raw) for start, stop in spans), data
    return ones


def kinds(data: str, which: Search | None = None) -> list[tuple[str, bytes]]:
    """Whether each is a record or a reject, and what it says."""
    return [
        (
            "record" if one.reason is None else "reject",
            one.text.data[one.start : one.stop].replace(b"\r\n", b"\n").rstrip(b"\n"),
        )
        for one in found(data, which)
    ]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("wire", GOOD)
def test_a_good_message_is_a_record(wire: str, carrier: str) -> None:
    text = GOOD[wire]
    assert kinds(CARRIERS[carrier](f"{text}\n\n{AFTER}")) == [("record", text.encode()), ("record", AFTER.encode())]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("wire", PRETTY)
def test_an_object_over_lines_is_a_record(wire: str, carrier: str) -> None:
    text = PRETTY[wire]
    (kind, said), after = kinds(CARRIERS[carrier](f"{text}\n{AFTER}"))
    if carrier == "indented":  # white space between its tokens is an object's own
        said = said.replace(b"\n    ", b"\n")
    assert [(kind, said), after] == [("record", text.encode()), ("record", AFTER.encode())]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("wire", BAD)
def test_a_damaged_message_is_a_reject(wire: str, carrier: str) -> None:
    ones = kinds(CARRIERS[carrier](f"{BAD[wire]}\n\n{AFTER}"))
    assert [kind for kind, _ in ones] == ["reject", "record"], ones


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("wire", [*GOOD, *(f"pretty {wire}" for wire in PRETTY)])
@pytest.mark.parametrize("tail", [False, True], ids=["cut off", "head cut off"])
def test_a_cut_message_is_what_it_is_in_a_file(tail: bool, wire: str, carrier: str) -> None:
    """A message that is cut at any byte is a reject wherever one is that stands in a file by itself."""
    text = PRETTY[wire.removeprefix("pretty ")] if wire.startswith("pretty") else GOOD[wire]
    which = search()
    for at in range(1, len(text.encode()), 7):
        cut = (text.encode()[at:] if tail else text.encode()[:at]).decode("utf-8", "ignore")
        bare = [kind for kind, _ in kinds(f"{cut}\n\n{AFTER}\n", which)]
        there = [kind for kind, _ in kinds(CARRIERS[carrier](f"{cut}\n\n{AFTER}"), which)]
        assert there == bare, (at, cut)


def listed(ones: list[Match], base: int = 0) -> list[tuple[object, ...]]:
    """What was found, by where its bytes stand in the input."""
    rows: list[tuple[object, ...]] = []
    for one in ones:
        spans = [(base + start, base + stop) for start, stop in one.text.spans(one.start, one.stop)]
        time = None if one.reason else one.text.time(one.start)
        rows.append((one.wire, one.reason, spans, time, one.unclosed))
    return rows


def in_blocks(data: bytes, size: int, which: Search) -> list[tuple[object, ...]]:
    """What is found where the input comes in blocks of so many bytes; what is open is held for the next one."""
    state, rows, base = SearchState(), list[tuple[object, ...]](), 0
    for stop in range(size, len(data) + size, size):
        final = stop >= len(data)
        end = len(data) if final else data.rfind(b"\n", base, stop) + 1
        if end > base:
            ones, position = which.block(Text(data[base:end], final=final), state)
            rows += listed(ones, base)
            base += position
    assert base == len(data)
    return rows


@pytest.mark.parametrize("first", range(0, 50_000, 10_000))
def test_how_the_input_is_cut_does_not_show(first: int) -> None:
    which = search()
    for number in range(first, first + 10_000, 5_000):
        data = log(number).data
        whole = listed(which.block(Text(data), SearchState())[0])
        for size in (1, 97):
            assert in_blocks(data, size, which) == whole, (number, size)


CSP = GOOD["csp"].split("\n")


def test_two_services_are_two_texts() -> None:
    """Their lines are interleaved, and so may be those of others."""
    other = ["CSP/1", "FROM C", "TO D", "CTX C2", "INTENT QUERY", "", "QUERY Q1", "ASK why"]
    mixed = ["db-1  | ready for connections"]
    for one, two in zip(CSP, [*other, *[""] * len(CSP)], strict=False):
        mixed += [f"a-1   | {one}", f"b-1   | {two}"]
    ones = found("\n".join(mixed) + "\n")
    assert [one.text.data[one.start : one.stop].decode().strip("\n") for one in ones] == [
        GOOD["csp"],
        "\n".join(other),
    ]


@pytest.mark.parametrize("first", ["stdout", "stderr"])
def test_two_streams_are_two_texts(first: str) -> None:
    """Parts of two streams of one container come in any order; what they say has the time of its first part."""
    second = "stderr" if first == "stdout" else "stdout"
    one, two = GOOD["sstp"], GOOD["sap"]
    data = f"{TIME}.1Z {first} P {one[:30]}\n{TIME}.2Z {second} P {two[:20]}\n{TIME}.3Z {first} P {one[30:50]}\n"
    data += f"{TIME}.4Z {second} F {two[20:]}\n{TIME}.5Z {first} F {one[50:]}\n"
    ones = found(data)
    assert [each.text.data[each.start : each.stop].decode() for each in ones] == [one, two]
    assert [each.text.time(each.start) for each in ones] == [1767323045100000, 1767323045200000]


def test_a_mark_at_the_start_of_a_line_hides_no_time() -> None:
    data = f"\ufeff{TIME}Z {AFTER}\n\ufeff{TIME}Z {AFTER}\n"
    assert [one.text.time(one.start) for one in found(data)] == [1767323045000000] * 2


@pytest.mark.parametrize("wire", GOOD)
def test_a_wrapper_that_is_cut_off_costs_no_word(wire: str) -> None:
    """Where the object around a message is cut, so is the message: a reject, wherever one is that is cut in a file."""
    which, text = search(), GOOD[wire]
    wrapped = json.dumps({"log": text + "\n", "stream": "stdout"})
    before = len(wrapped) - len(json.dumps(text + "\n").removeprefix('"')) - len(', "stream": "stdout"}')
    for at in range(before + 12, len(wrapped) - 30, 5):
        data = wrapped[:at]
        said = data[before:]
        while said.endswith("\\") or "\\u" in said[-6:]:
            said = said[:-1]
        plain = json.loads(f'"{said}"')
        bare = [kind for kind, _ in kinds(f"{plain}\n", which)]
        there = [kind for kind, _ in kinds(f"{data}\n", which)]
        assert not bare or there, (at, data)


@pytest.mark.parametrize("behind", ["prose", "```json", "</message>"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_what_stands_directly_behind_a_block_makes_it_a_reject(carrier: str, behind: str) -> None:
    """Never a short good record, in any carrier."""
    text = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA x"
    assert [kind for kind, _ in kinds(CARRIERS[carrier](f"{text}\n{behind}\n\n{AFTER}"))] == ["reject", "record"]


def test_the_next_line_of_the_log_ends_a_message() -> None:
    text = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA x"
    data = f"{TIME} INFO sending\n{text}\n" * 50 + f"{TIME} INFO done\n"
    assert [kind for kind, _ in kinds(data)] == ["record"] * 50
    data = f"INFO:app: {text}\n" * 50
    assert [kind for kind, _ in kinds(data)] == ["record"] * 50


@pytest.mark.parametrize("size", [1, 200, 1000, 5000])
def test_an_object_that_stays_open_on_a_long_line_ends_with_it(size: int) -> None:
    """The next line has the same prefix and is no part of it; all of the log is read."""
    data = f'{TIME} INFO app: {AFTER} {"x" * size} {{"a": [\n{TIME} INFO app: {AFTER}\n'
    assert [kind for kind, _ in kinds(data)] == ["record", "record"]
