"""Numbers that the page counts by, each just below, at and above."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.report.chunks import Row, chunks
from turnwire.report import answers
from turnwire.report.columns import OTHERS, Names
from turnwire.report.cube import STRAY, _core
from turnwire.report.details import MOST_FIELDS, MOST_NAME, _few, named, shortened
from turnwire.report.measuring import Meter, tokens_of
from turnwire.report.sample import Sample

pytestmark = pytest.mark.once


@pytest.mark.parametrize("width", [1, 2, 25])
@pytest.mark.parametrize("before", [False, True])
def test_strays_are_left_out_where_the_chart_would_be_four_times_as_wide(width: int, before: bool) -> None:
    low, high = 300, 299 + width
    for more in (-1, 0, 1):
        stray = high - 4 * width + 1 - more if before else low + 4 * width - 1 + more
        records = Counter(dict.fromkeys(range(low, high + 1), 1000)) + Counter({stray: 1})
        buckets = sorted(records)
        assert _core(buckets, records) == ((low, high) if more >= 0 else (buckets[0], buckets[-1]))


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_strays_are_one_record_in_two_hundred(more: int) -> None:
    strays = 5
    records = Counter({300: int(strays / STRAY) - strays - more, 900: strays})
    assert _core([300, 900], records) == ((300, 300) if more <= 0 else (300, 900))


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 7, 8, 40])
def test_a_long_conversation_has_a_quarter_of_the_room_and_one_message_at_least(most: int) -> None:
    """Beside another one; alone it has all of it."""
    for names in (("a",), ("a", "b")):
        sample = Sample(most)
        for chunk in chunks([Row(conversation=names[number % len(names)]) for number in range(100)], 7):
            sample.add(chunk, None)
        found = sample.kept().conversations
        assert 1 <= sum(len(one.messages) for one in found) <= most
        assert all(len(one.messages) <= max(most // 4, 1) for one in found)


@pytest.mark.parametrize("number", [1, 2, MOST_FIELDS - 1, MOST_FIELDS, MOST_FIELDS + 1, MOST_FIELDS + 1001])
def test_many_fields_are_told_by_their_number(number: int) -> None:
    class Message:
        def to_dict(self) -> dict[str, int]:
            return {f"field{place}": place for place in range(number)}

    found = list(_few(Message()))
    few = [(f"field{place}", json.dumps(place)) for place in range(min(number, MOST_FIELDS))]
    assert found == few + [("…", f"{number - MOST_FIELDS:,} more fields")] * (number > MOST_FIELDS)


@pytest.mark.parametrize("most", [0, 1, 2, 64, 65])
def test_names_beyond_the_first_are_others(most: int) -> None:
    names = Names(most)
    for _ in range(2):
        assert [names.code(str(number)) for number in range(most + 3)] == [*range(most), *[OTHERS] * 3]
    assert list(names) == list(map(str, range(most))) and len(names) == most


@pytest.mark.parametrize("more", [-1, 0, 1, 1500])
def test_what_is_long_is_cut_behind_so_many_characters(more: int) -> None:
    text = "é" * (MOST_NAME + more)
    end = "" if more <= 0 else f"… ({more:,} more characters"
    assert shortened(text, MOST_NAME) == text[:MOST_NAME] + (f"{end})" if end else "")
    assert named(text).startswith(text[:MOST_NAME] + end) and (len(named(text)) == len(text)) is (more <= 0)


class Times:
    """Latencies of which each quantile says which it is."""

    count, least, most = 1, 0, 1

    def quantile(self, share: float) -> float:
        return share

    def steps(self) -> list[int]:
        return []


def pairing(**counts: int) -> SimpleNamespace:
    names = (
        "requests",
        "answered",
        "waiting",
        "given_up",
        "backwards",
        "progress",
        "orphans",
        "ahead",
        "further",
        "seen",
    )
    rule = SimpleNamespace(name="r", requests={"a"})
    return SimpleNamespace(**(dict.fromkeys(names, 0) | counts), latencies=Times(), rule=rule)


def test_the_quantiles_that_are_told() -> None:
    told = answers._told("w", pairing())
    assert (told.p50, told.p90, told.p99) == (0.5, 0.9, 0.99)


@pytest.mark.parametrize(
    ("counts", "shown"), [({"orphans": 2, "seen": 2}, 1), ({"requests": 1, "seen": 1}, 1), ({}, 0)]
)
def test_what_only_answered_is_shown_too(counts: dict[str, int], shown: int) -> None:
    waiting = answers.Waiting()
    waiting._pairs.found = {("nslip", "r"): pairing(**counts)}
    assert len(waiting.found()) == shown


def test_the_tokens_of_each_record_are_counted() -> None:
    """In slices, the last of which may be one record."""
    meter = Meter("m", lambda texts: list(map(len, texts)))
    for count in (1, 2):
        (chunk,) = chunks([Row(raw=b"x" * (at + 1)) for at in range(count)], 2)
        assert tokens_of(chunk, meter).tolist() == list(range(1, count + 1))


def test_a_conversation_is_cut_only_where_there_are_too_many_messages() -> None:
    """Alone it may have all the room, whatever a quarter of that is."""
    for count, kept in ((8, 8), (9, 2)):
        sample = Sample(8)
        for chunk in chunks([Row()] * count, 3):
            sample.add(chunk, None)
        (one,) = sample.kept().conversations
        assert (one.count, len(one.messages)) == (count, kept)
