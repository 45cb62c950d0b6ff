"""A text holds the same in every carrier, whole, damaged, or cut at any byte."""

from __future__ import annotations

import json

import pytest

from tests.log.carriers import BAD, CARRIERS, GOOD, PRETTY, TIME
from tests.log.found import everything
from turnwire import scan

pytestmark = pytest.mark.usefixtures("scan_core")
AFTER = '@a2|f0|c9|S5|dA|T2|t"after"#'
"""A record that stands behind each message, so that damage is seen to cost no neighbour."""


def kinds(data: str) -> list[tuple[str, bytes]]:
    """The records of a log, and then its rejects, and what each says; all of its bytes are counted."""
    raw = data.encode()
    columns, rejects, counts = everything(scan(raw))
    assert counts.bytes == len(raw) == counts.record_bytes + counts.reject_bytes + counts.text_bytes, data
    ones = [("record", text) for text in columns["raw"]] + [("reject", one["raw"]) for one in rejects]
    return [(kind, text.replace(b"\r\n", b"\n").rstrip(b"\n")) for kind, text in ones]


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
    assert [kind for kind, _ in ones] == ["record", "reject"], ones


def counted(data: str) -> tuple[int, int]:
    """How many records and rejects a log holds."""
    found = scan(data.encode(), columns=["offset"])
    found.read()
    return found.counts.records, found.counts.rejects


@pytest.mark.parametrize("wire", [*GOOD, *(f"pretty {wire}" for wire in PRETTY)])
@pytest.mark.parametrize("tail", [False, True], ids=["cut off", "head cut off"])
def test_a_cut_message_is_what_it_is_in_a_file(tail: bool, wire: str) -> None:
    """A message that is cut at any byte is a reject wherever one is that stands in a file by itself. Each carrier has
    cuts of its own; of all of them there is one in four bytes."""
    text = (PRETTY[wire.removeprefix("pretty ")] if wire.startswith("pretty") else GOOD[wire]).encode()
    for at in range(1, len(text), 4):
        cut = (text[at:] if tail else text[:at]).decode("utf-8", "ignore")
        bare = counted(f"{cut}\n\n{AFTER}\n")
        for name in [*CARRIERS][at % 9 :: 9]:
            assert counted(CARRIERS[name](f"{cut}\n\n{AFTER}")) == bare, (name, at, cut)


@pytest.mark.parametrize("wire", PRETTY)
def test_a_mark_makes_white_space_no_prefix(wire: str) -> None:
    cut = CARRIERS["indented"](PRETTY[wire])[:-20]
    for data in (cut, cut.replace("\n", "\r\n"), cut[: cut.rindex("\n")] + "\r"):
        assert kinds(f"\ufeff{data}") == kinds(data)


CSP = GOOD["csp"].split("\n")


def test_two_services_are_two_texts() -> None:
    """Their lines are interleaved, and so may be those of others."""
    other = ["CSP/1", "FROM C", "TO D", "CTX C2", "INTENT QUERY", "", "QUERY Q1", "ASK why"]
    mixed = ["db-1  | ready for connections"]
    for one, two in zip(CSP, [*other, *[""] * len(CSP)], strict=False):
        mixed += [f"a-1   | {one}", f"b-1   | {two}"]
    said = [text.decode() for _, text in kinds("\n".join(mixed) + "\n")]
    assert said == [GOOD["csp"], "\n".join(other)]


@pytest.mark.parametrize("first", ["stdout", "stderr"])
def test_two_streams_are_two_texts(first: str) -> None:
    """Parts of two streams of one container come in any order; what they say has the time of its first part."""
    second = "stderr" if first == "stdout" else "stdout"
    one, two = GOOD["sstp"], GOOD["sap"]
    data = f"{TIME}.1Z {first} P {one[:30]}\n{TIME}.2Z {second} P {two[:20]}\n{TIME}.3Z {first} P {one[30:50]}\n"
    data += f"{TIME}.4Z {second} F {two[20:]}\n{TIME}.5Z {first} F {one[50:]}\n"
    columns = everything(scan(data.encode()))[0]
    assert [text.decode() for text in columns["raw"]] == [one, two]
    assert columns["time"] == [1767323045100000, 1767323045200000]


def test_a_mark_at_the_start_of_a_line_hides_no_time() -> None:
    data = f"\ufeff{TIME}Z {AFTER}\n\ufeff{TIME}Z {AFTER}\n"
    assert everything(scan(data.encode()))[0]["time"] == [1767323045000000] * 2


@pytest.mark.parametrize("wire", GOOD)
def test_a_wrapper_that_is_cut_off_costs_no_word(wire: str) -> None:
    """A cut through the object around a message cuts the message: a reject, wherever one is that is cut in a file."""
    text = GOOD[wire]
    wrapped = json.dumps({"log": text + "\n", "stream": "stdout"})
    before = len(wrapped) - len(json.dumps(text + "\n").removeprefix('"')) - len(', "stream": "stdout"}')
    for at in range(before + 12, len(wrapped) - 30, 5):
        data = wrapped[:at]
        said = data[before:]
        while said.endswith("\\") or "\\u" in said[-6:]:
            said = said[:-1]
        plain = json.loads(f'"{said}"')
        bare = [kind for kind, _ in kinds(f"{plain}\n")]
        there = [kind for kind, _ in kinds(f"{data}\n")]
        assert not bare or there, (at, data)


@pytest.mark.parametrize("behind", ["prose", "```json", "</message>"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_what_stands_directly_behind_a_block_makes_it_a_reject(carrier: str, behind: str) -> None:
    """Never a short good record, in any carrier."""
    text = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA x"
    assert [kind for kind, _ in kinds(CARRIERS[carrier](f"{text}\n{behind}\n\n{AFTER}"))] == ["record", "reject"]


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
