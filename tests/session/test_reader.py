"""Sessions in pieces: when an event comes out, where faults are told, what an end is; and the shared vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import raised
from turnwire import session
from turnwire.errors import DecodeError, Reason

pytestmark = pytest.mark.once


def fed(text: str, size: int) -> list[Any]:
    reader = session.Reader()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [*(event for piece in pieces for event in reader.feed(piece)), *reader.close()]


@pytest.mark.parametrize("more", [0, 1, 2])
def test_an_event_is_given_with_the_first_letter_of_the_next(more: int) -> None:
    """Also where the piece before ended with it, or with it and some before it."""
    events = [{"at": number, "text": "the same words again"} for number in range(30)]
    lines = session.encode(events).splitlines(keepends=True)
    reader = session.Reader()
    given: list[Any] = []
    cut = lines[:10], lines[10 : 11 + more], [lines[11 + more][:1]]
    told = [len(given := given + reader.feed("".join(piece))) for piece in cut]
    assert lines[0][:1] == "%" and told == [8, 9 + more, 10 + more]
    assert [event["at"] for event in given] == list(range(10 + more))


@pytest.mark.parametrize("text", [" and the rest", "\nand a line", "\n\nand\nmore"])
def test_a_reader_names_the_place_of_what_was_changed(text: str) -> None:
    """However many lines the records have, and however the text is cut."""
    events = [{"type": "é", "author": "someone", "number": at, "b": f"x{at % 7} of it{text}"} for at in range(60)]
    lines = session.encode(events).split("\n")
    for at in (20, 40, 41, 42, 43, 44):
        changed = [*lines]
        changed[at] = changed[at][:-1] + ("!" if changed[at][-1:] != "!" else "?")
        whole = "\n".join(changed)
        told = []
        for size in (1, 7, len(whole)):
            caught = raised(DecodeError, fed, whole, size)
            told.append((caught.reason, caught.line, caught.offset))
        begin = sum(len(line.encode()) + 1 for line in changed[: (told[0][1] or 0) - 1])
        assert told == [(Reason.DIGEST_MISMATCH, told[0][1], begin)] * 3 and 0 <= at + 1 - (told[0][1] or 0) < 6


@pytest.mark.parametrize("events", [0, 1, 2, 4, 9])
@pytest.mark.parametrize("every", [2, 200])
def test_a_reader_counts_json_lines_too_and_wants_the_end(events: int, every: int) -> None:
    writer = session.Writer(None, every=every, prompt=False)
    given = [{"n": number, "text": "some words that come back"} for number in range(events)]
    text = "".join([*map(writer.add, given), writer.close()])
    for size in (1, 7, len(text) + 1):
        for cut in (text, text[: text.rfind("\n", 0, -1) + 1]):
            if "%" in text and cut is not text:
                assert raised(DecodeError, fed, cut, size).reason is Reason.CUT_OFF
            else:
                assert fed(cut, size) == (given if cut is text else given[:-1])


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_text_that_ends_behind_its_header_is_read(size: int) -> None:
    """Its line feed is the end of the header's line, not a part of what checks it."""
    writer = session.Writer(None, prompt=False)
    text = "".join(writer.add({"n": n, "text": "some words that come back"}) for n in range(3))
    assert text.endswith("%1:;\n")
    reader = session.Reader()
    events = [event for start in range(0, len(text), size) for event in reader.feed(text[start : start + size])]
    assert [event["n"] for event in events + reader.close(strict=False)] == [0, 1, 2]


@pytest.mark.parametrize("every", [1, 3, 200])
@pytest.mark.parametrize("events", [0, 1, 2, 5, 30])
def test_what_is_sealed_is_what_is_written_with_checks(every: int, events: int) -> None:
    """JSON lines in front of the header are counted, too."""
    written = []
    for checks in (True, False):
        writer = session.Writer(None, every=every, checks=checks, prompt=False)
        texts = [writer.add({"n": number, "text": "some words that come back"}) for number in range(events)]
        written.append("".join([*texts, writer.close()]))
    with_checks, without = written
    assert session.seal(without) == with_checks or "%" not in without


def test_the_text_of_a_session_is_text() -> None:
    for call in (session.decode, session.lines_of, session.Reader().feed):
        with pytest.raises(DecodeError) as caught:
            call(b"%1\n")  # type: ignore[arg-type]
        assert caught.value.reason is Reason.WRONG_TYPE


# --- the vectors: what other readers of the form are tested with, too; a damaged one has reason and line for lines ----


PATH = Path(__file__).parent.parent / "vectors" / "session.jsonl"
VECTORS = [json.loads(line) for line in PATH.read_text("utf-8").split("\n") if line]


def test_there_are_enough_of_all_that_the_form_has() -> None:
    """They stay: writing changes with the planning, reading never does."""
    good = [vector for vector in VECTORS if "lines" in vector]
    assert len(good) == 200 and len(VECTORS) == 400
    assert len({vector["text"] for vector in VECTORS}) > 390
    text = "".join(vector["text"] for vector in good)
    parts = ("\n^", " &あ", " &\u0430", " &\u03b1", " &あ-", " &-", "\n ", "~", "!null", "=a{", "#k,v", "$1", "time- ")
    for part in parts:
        assert part in text, part
    assert {vector["reason"] for vector in VECTORS if "reason" in vector} >= {"digest_mismatch", "cut_off", "bad_json"}


def test_good_ones() -> None:
    for vector in VECTORS:
        if "lines" in vector:
            assert session.lines_of(vector["text"], sealed=vector["sealed"]) == vector["lines"], vector["id"]


def test_damaged_ones() -> None:
    for vector in VECTORS:
        if "reason" in vector:
            caught = raised(DecodeError, session.decode, vector["text"])
            assert (caught.reason, caught.line) == (vector["reason"], vector["line"]), vector["id"]
