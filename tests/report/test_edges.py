"""Numbers that the page counts by, each just below, at and above."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.report.chunks import Row, chunks
from turnwire.report.cube import _core
from turnwire.report.figures import Meter, tokens_of
from turnwire.report.records import MOST_NAME, named, shortened
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


@pytest.mark.parametrize("more", [-1, 0, 1, 1500])
def test_what_is_long_is_cut_behind_so_many_characters(more: int) -> None:
    text = "é" * (MOST_NAME + more)
    end = "" if more <= 0 else f"… ({more:,} more characters"
    assert shortened(text, MOST_NAME) == text[:MOST_NAME] + (f"{end})" if end else "")
    assert named(text).startswith(text[:MOST_NAME] + end) and (len(named(text)) == len(text)) is (more <= 0)


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
