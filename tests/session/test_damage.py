"""No loss goes unseen, and nothing that was salvaged is wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import raised, refusal
from tests.session.material import composed, long_session, plain
from turnwire import session
from turnwire.errors import DecodeError, Reason
from turnwire.session import Options
from turnwire.session.framing import Chain

pytestmark = pytest.mark.once

EVENTS: list[Any] = [
    {"id": number, "who": ["ann", "bob"][number % 2], "text": f"line {number * 7}\nand\n\nmore", "conv": number // 9}
    for number in range(150)
]
TEXT = session.encode(EVENTS, None, "conv", every=40)


def damaged(text: str, count: int, rnd: random.Random) -> Iterator[tuple[str, str]]:
    """Lines dropped, swapped, doubled and moved; an old one as the last, the beginning before all; characters changed;
    ends and beginnings cut. Each with its kind."""
    lines = text.split("\n")[:-1]
    while count:
        low, high = sorted(rnd.choices(range(len(lines)), k=2))
        at, sign = rnd.randrange(1, len(text)), rnd.choice('ab019|&=+ \n{}"%^.あい')
        orders = {
            "drop": [*lines[:low], *lines[low + 1 :]],
            "lose": [*lines[:low], *lines[high:]],
            "swap": [*lines[:low], lines[high], *lines[low + 1 : high], lines[low], *lines[high + 1 :]],
            "double": [*lines[:low], *lines[low:high], *lines[low:]],
            "old": [*lines[:high], lines[low]],
            "moved": [*lines[:low], *lines[high:], *lines[low:high]],
            "twice": [*lines[:high], *lines],
        }
        found = {kind: "\n".join(changed) + "\n" for kind, changed in orders.items()}
        found |= {"edit": text[:at] + sign + text[at + 1 :], "insert": text[:at] + sign + text[at:]}
        found |= {"cut": text[:at], "behead": text[at:]}
        kind, changed = rnd.choice(list(found.items()))
        checked = text[0] == "%" or "\n%1" in f"\n{changed}"  # JSON lines alone have no checks
        if checked and changed.rstrip("\n") != text.rstrip("\n") and changed.strip("\n"):  # nothing is a log, too
            count -= 1
            yield kind, changed


def unseen(events: list[Any], text: str, count: int, rnd: random.Random) -> list[str]:
    """Damages that were not seen, or of which ``salvage`` gave a wrong event as whole."""
    failed = []
    for kind, found in damaged(text, count, rnd):
        if not refusal(DecodeError, session.decode, found):
            failed.append(f"{kind}: not seen")
        saved = session.salvage(found)
        if saved.complete or not saved.faults or not (saved.missing or saved.events == events):
            failed.append(f"{kind}: salvaged as complete")
        for part in saved.parts:
            if part.events != events[part.first : part.first + len(part.events)]:
                failed.append(f"{kind}: wrong events from {part.first}")
    return failed


def damages(count: int, seed: int) -> list[str]:
    """Damages that went unseen in many sessions, 50 to each."""
    rnd, failed = random.Random(seed), []
    for _ in range(0, count, 50):
        given = long_session(rnd)
        keys, every = rnd.choice(((), ("conv",))), rnd.choice((3, 15, 40, 200))
        text = composed(given, keys, Options(every=every))
        if rnd.random() < 0.3:
            writer = session.Writer(None, keys, every=every)
            written = "".join([*map(writer.add, given), writer.close()])
            text = written if "\n%1" in f"\n{written}" else text
        failed += unseen(session.decode(plain(given)), text, min(50, count), rnd)
    return failed


def test_the_session_is_one() -> None:
    assert TEXT.startswith("%1 @conv") and TEXT.count("\n^") == 3
    assert session.decode(TEXT) == EVENTS
    found = session.salvage(TEXT)
    assert found.complete and found.events == EVENTS and not found.missing


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
    caught = raised(DecodeError, session.decode, change(TEXT))
    assert caught.reason == reason and caught.wire == "session"


def test_an_unfinished_session_can_be_read() -> None:
    """``strict=False`` takes what has no end, and nothing that is damaged."""
    cut = TEXT[: TEXT.index("\n^80") + 1]
    assert session.decode(cut, strict=False) == EVENTS[:80]
    raised(DecodeError, session.decode, cut[:-1] + "x\n", strict=False)
    unended = '%1\n{"a":1}\n{}'  # nor has its last event a line feed, and that is an object without members
    assert session.decode(unended, strict=False, sealed=False) == [{"a": 1}, {}]


def test_counts_are_compared_without_checks() -> None:
    text = session.encode(EVENTS, None, "conv", checks=False)
    lines = text.split("\n")
    del lines[next(number for number, line in enumerate(lines) if number > 9 and line[:2] == "a ")]
    raised(DecodeError, session.decode, "\n".join(lines), sealed=False)
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
        places.append((raised(DecodeError, session.decode, "\n".join(changed)).line or 0) - number - 1)
    assert set(places) <= {0, 1} and places.count(0) > 40


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


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.soak] * (seed > 0)) for seed in range(40)])
def test_no_wrong_event_is_salvaged(seed: int) -> None:
    """Records dropped, moved, doubled, put behind the last one; characters changed; ends and beginnings cut. ``-m
    soak``: ten thousand times."""
    assert damages(250, seed) == []


@pytest.mark.parametrize("junk", ["%junk\n", "%1 damaged\n", '%1:;\n!"x"\n', "\n\n"])
def test_a_session_behind_a_header_that_is_none_is_whole(junk: str) -> None:
    """Nothing is lost where nothing stands in front of it; but something is wrong."""
    events = [{"n": number, "text": "some words that come back"} for number in range(30)]
    text = session.encode(events, None)
    found = session.salvage(junk + text)
    assert text[0] == "%" and found.parts == [session.Part(0, events)]
    assert (found.missing, found.doubtful, found.complete, len(found.faults)) == ([], [], False, 1)


def test_a_header_with_settings_that_there_are_not_is_read_once() -> None:
    """Behind a header that is none: each of its checks fits, wherever one begins."""
    checks = Chain()
    found = session.salvage("%junk\n" + "".join(map(checks.sealed, ("%1 &x", '{"a":1}', ".1"))))
    assert [fault.reason for fault in found.faults] == [Reason.DIGEST_MISMATCH, Reason.BAD_ENCODING]
    assert found.missing == [(0, None)] and not found.events


@pytest.mark.parametrize("lost", ["", "\n"])
def test_an_end_without_its_line_feed_is_an_end(lost: str) -> None:
    events = [{"conversation": "a long name of a conversation", "turn": at, "said": "x"} for at in range(60)]
    text = session.encode(events, None).removesuffix(lost)
    assert text[:2] == "%1"
    found = session.salvage(text)
    assert found.complete and found.events == events and found.faults == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"a":"\\ud800"}', Reason.LONE_SURROGATE),
        ('{"a":1e999}', Reason.NOT_FINITE),
        *((line, Reason.BAD_JSON) for line in ('{"é":,}', '{"a":1} x', "[1]", '{"a":' * 100_000)),
    ],
    ids=["surrogate", "infinite", "no value", "more", "a list", "deep"],
)
def test_a_line_that_is_no_strict_json_is_told_with_its_place(line: str, reason: Reason) -> None:
    for text in (f'{{"é":1}}\n{line}\n{{"b":1}}\n', f'{{"é":1}}\n{line}'):
        caught = raised(DecodeError, session.decode, text)
        assert (caught.reason, caught.offset, caught.line) == (reason, 9, 2)
