"""No loss goes unseen, and nothing that was salvaged is wrong."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from tests.session.soak import damages, unseen
from turnwire import session
from turnwire.errors import DecodeError, Reason
from turnwire.session.checks import PAIRS
from turnwire.session.records import record_at, records

pytestmark = pytest.mark.once

EVENTS: list[Any] = [
    {"id": number, "who": ["ann", "bob"][number % 2], "text": f"line {number * 7}\nand\n\nmore", "conv": number // 9}
    for number in range(150)
]
TEXT = session.encode(EVENTS, None, "conv", every=40)


def test_the_session_is_one() -> None:
    assert TEXT.startswith("%1 @conv") and TEXT.count("\n^") == 3
    assert session.decode(TEXT) == EVENTS
    found = session.salvage(TEXT)
    assert found.complete and found.events == EVENTS and not found.missing


def test_damage_is_seen() -> None:
    assert unseen(EVENTS, TEXT, 120, random.Random(1)) == []


def test_what_is_whole_is_salvaged() -> None:
    """All but two events before the damage, and all after the next anchor."""
    lines = TEXT.split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("^40"))
    spot = at - 10
    assert not lines[spot].startswith(" ") and lines[spot]
    found = session.salvage("\n".join([*lines[:spot], *lines[spot + 1 :]]))
    assert [part.first for part in found.parts] == [0, 40]
    assert found.parts[1].events == EVENTS[40:]
    first = len(found.parts[0].events)
    assert found.missing == [(first, 40)] and 20 < first < 40
    assert [(part.first, len(part.events)) for part in found.doubtful] == [(first, 2)]
    assert found.faults[0].reason == Reason.DIGEST_MISMATCH


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text[: text.rindex("\n.") + 1], Reason.CUT_OFF),
        (lambda text: text + "a\n", Reason.TRAILING_JUNK),
        (lambda text: text.replace("\n^80", "\n^81", 1), Reason.DIGEST_MISMATCH),
        (lambda text: "{" + text, Reason.BAD_JSON),
    ],
)
def test_reasons(change: Any, reason: Reason) -> None:
    with pytest.raises(DecodeError) as caught:
        session.decode(change(TEXT))
    assert caught.value.reason == reason and caught.value.wire == "session"


def test_an_unfinished_session_can_be_read() -> None:
    """``strict=False`` takes what has no end, and nothing that is damaged."""
    cut = TEXT[: TEXT.index("\n^80") + 1]
    assert session.decode(cut, strict=False) == EVENTS[:80]
    with pytest.raises(DecodeError):
        session.decode(cut[:-1] + "x\n", strict=False)
    unended = '%1\n{"a":1}\n{}'  # nor has its last event a line feed, and that is an object without members
    assert session.decode(unended, strict=False, sealed=False) == [{"a": 1}, {}]


def test_counts_are_compared_without_checks() -> None:
    text = session.encode(EVENTS, None, "conv", checks=False)
    lines = text.split("\n")
    del lines[next(number for number, line in enumerate(lines) if number > 9 and line[:2] == "a ")]
    with pytest.raises(DecodeError):
        session.decode("\n".join(lines), sealed=False)
    for count in (1, 3):
        for mark in "^.":
            with pytest.raises(DecodeError, match=f"{count} events should come before this, not 2"):
                session.decode(f"%1\n{{}}\n{{}}\n{mark}{count}\n", False, False)


def test_a_change_is_found_at_its_record() -> None:
    """But for one in 128, which the next record finds."""
    lines = session.encode([{"n": number, "text": f"word {number}"} for number in range(60)], None).split("\n")
    places = []
    for number in range(4, 50):
        changed = [*lines[:number], "x" + lines[number][1:], *lines[number + 1 :]]
        with pytest.raises(DecodeError) as caught:
            session.decode("\n".join(changed))
        places.append((caught.value.line or 0) - number - 1)
    assert set(places) <= {0, 1} and places.count(0) > 40


def test_the_marks_are_one_token_with_the_line_feed() -> None:
    pytest.importorskip("splintr")
    from turnwire import tokens

    assert len(set(PAIRS)) == 128
    for name in ("o200k_base", "cl100k_base", "llama3", "qwen3"):
        assert tokens.count_many([pair + "\n" for pair in PAIRS], name) == [1] * 128


def test_json_lines_before_a_damaged_header_are_doubtful() -> None:
    """Its check is theirs, too: one of them may be missing."""
    writer = session.Writer(None, every=40)
    lines = "".join([*(writer.add(event) for event in EVENTS), writer.close()]).split("\n")
    assert lines[0][0] == "{" and any(line[:2] == "%1" for line in lines[:40])
    found = session.salvage("\n".join(lines[1:]))
    assert all(part.first > 30 and part.events == EVENTS[part.first :][: len(part.events)] for part in found.parts)
    assert found.parts and found.doubtful[0].first == 0 and found.missing[0][0] == 0


def test_what_is_left_of_a_session_is_no_json_line() -> None:
    """Not even where a text in it had a line that is one."""
    found = session.salvage('{"a":1}\n more),\n.50 423]]\n')
    assert not found.events and found.doubtful[0].events == [{"a": 1}] and found.missing == [(0, None)]
    cut = session.salvage('{"a":1}\n{"a":2}\n{"a"')
    assert cut.events == [{"a": 1}, {"a": 2}] and cut.missing == [(2, None)] and not cut.doubtful


@pytest.mark.parametrize("checks", [False, True])
def test_records_among_blank_lines_are_those_that_are_read_one_by_one(checks: bool) -> None:
    for length in range(7):
        for parts in itertools.product("\n a", repeat=length):
            text = "".join(parts)
            for begin in range(min(length, 2) + 1):
                at = [begin, 1 + text.count("\n", 0, begin)]
                one_by_one = []
                while at[0] < len(text):
                    one_by_one.append(record_at(text, checks, at))
                assert list(records(text, checks, begin)) == one_by_one, text


def test_the_last_two_are_doubtful_where_there_is_no_end() -> None:
    """An old record behind the last anchor of a text without its end passes one check of 128."""
    lines = TEXT.split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("^120"))
    found = session.salvage("\n".join([*lines[:at], ""]))
    assert found.events == EVENTS[:118] and found.missing == [(118, None)] and not found.complete
    assert [(part.first, part.events) for part in found.doubtful] == [(118, EVENTS[118:120])]
    assert [fault.reason for fault in found.faults] == [Reason.CUT_OFF]


def test_a_lost_header_costs_what_is_before_the_next_anchor() -> None:
    lines = TEXT.split("\n")
    for text in ("\n".join(lines[1:]), "x" + TEXT, TEXT[len(lines[0]) + 40 :]):
        found = session.salvage(text)
        assert [(part.first, part.events) for part in found.parts] == [(40, EVENTS[40:])]
        assert found.missing == [(0, 40)] and not found.complete


def test_records_of_another_session_are_not_taken() -> None:
    """Neither behind the end nor behind what is left of a session."""
    other = session.encode([{**event, "who": "eve"} for event in EVENTS], None, "conv", every=40)
    behind = session.salvage(TEXT + other)
    assert behind.events == EVENTS and not behind.complete and not behind.missing
    assert [fault.reason for fault in behind.faults] == [Reason.TRAILING_JUNK]
    cut = session.salvage(TEXT[: TEXT.index("\n^40") + 1] + other)
    assert cut.events == EVENTS[:38] and cut.missing == [(38, None)]


def test_json_lines_are_vouched_for_by_three_checks() -> None:
    writer = session.Writer(None, every=40)
    text = "".join([*map(writer.add, EVENTS), writer.close()])
    lines = text.split("\n")
    header = next(number for number, line in enumerate(lines) if line[:2] == "%1")
    for more, good in ((1, 0), (2, 0), (3, header)):
        place = lines.index(lines[header])
        rest: list[str] = []
        for line in lines[place:]:
            if line[:1] not in ("", " "):
                more -= 1
            if more < 0:
                break
            rest.append(line)
        found = session.salvage("\n".join([*lines[:header], *rest, ""]))
        assert len(found.events) == good, more


@pytest.mark.parametrize("seed", range(4))
def test_no_wrong_event_is_salvaged(seed: int) -> None:
    """Records dropped, moved, doubled, put behind the last one; characters changed; ends and beginnings cut."""
    assert damages(250, seed) == []


@pytest.mark.parametrize(
    "record",
    [
        '={a#k,v:[["x",1],"yz"]}',  # a text is no row of a table
        "={a#k,k:[[1,2],[3,4]]}",
        "={a-:1 b:2}",
        "b=a{c:{d-:1 e:2}}",
        "={t~:+007}",
    ],
)
def test_definitions_that_no_writer_makes_are_refused(record: str) -> None:
    with pytest.raises(DecodeError) as caught:
        session.decode(f"%1\na={{b:1 t~:2026-01-01T00:00:00Z}}\n{record}\n.2\n", sealed=False)
    assert caught.value.reason == Reason.BAD_ENCODING and caught.value.line == 3


def test_a_name_that_is_empty_has_a_path_like_any_other() -> None:
    text = '%1\n{"":{"k":"one"},"k":"two"}\na={"":{k=.k} b=k}\n.2\n'
    assert session.decode(text, sealed=False)[1] == {"": {"k": "one"}, "b": "two"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"é":,}', "the line is not JSON: expecting value at its character 6"),
        ('{"a":1} x', "the line is not JSON: extra data at its character 9"),
        ("[1]", "an event is an object or a string"),
        ('{"a":' * 100_000, "the line is nested too deeply"),
    ],
    ids=["no value", "more", "a list", "deep"],
)
def test_a_line_that_is_not_json_is_told_with_its_place_in_the_line(line: str, said: str) -> None:
    with pytest.raises(DecodeError) as caught:
        session.decode('{"a":1}\n' + line)
    assert (caught.value.text, caught.value.offset, caught.value.line) == (said, 8, 2)
