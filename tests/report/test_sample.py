"""Which messages the page holds: whole conversations, evenly, within the budget."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.chunks import Row, chunks
from turnwire.report import records
from turnwire.report import sample as samples
from turnwire.report.sample import Kept, Quarantine, Sample

pytestmark = pytest.mark.once


def kept(rows: list[Row], most: int, size: int = 64) -> Kept:
    sample = Sample(most)
    for chunk in chunks(rows, size):
        sample.add(chunk, None)
    return sample.kept()


rows = st.lists(
    st.tuples(st.sampled_from(["nslip", "kick"]), st.sampled_from([*map(str, range(30)), None])).map(
        lambda pair: Row(wire=pair[0], conversation=pair[1])
    ),
    max_size=300,
)


@given(rows, st.integers(1, 300), st.integers(1, 70))
def test_what_is_kept_is_bounded_and_its_counts_are_those_of_the_log(made: list[Row], most: int, size: int) -> None:
    result = kept(made, most, size)
    counts = Counter((row.wire, row.conversation) for row in made)
    assert sum(len(one.messages) for one in result.conversations) <= most
    assert {one.key: one.count for one in result.conversations}.items() <= counts.items()
    assert result.total == len({key for key in counts if key[1] is not None})
    for one in result.conversations:  # from its first message on, without a hole
        places = [number for number, row in enumerate(made) if (row.wire, row.conversation) == one.key]
        assert [message.number for message in one.messages] == places[: len(one.messages)]
    if len(made) <= most:
        assert sum(len(one.messages) for one in result.conversations) == len(made)


@given(rows, st.integers(1, 60))
def test_the_choice_does_not_depend_on_the_batches(made: list[Row], size: int) -> None:
    few, all_at_once = kept(made, 40, size), kept(made, 40, 1000)
    assert [(one.key, len(one.messages)) for one in few.conversations] == [
        (one.key, len(one.messages)) for one in all_at_once.conversations
    ]


def test_conversations_are_chosen_evenly_over_the_log() -> None:
    made = [Row(conversation=str(number // 4)) for number in range(40_000)]
    result = kept(made, 2000, 5000)
    assert 1900 <= sum(len(one.messages) for one in result.conversations) <= 2000
    assert all(one.count == len(one.messages) == 4 for one in result.conversations)
    quarters = Counter(int(one.key[1] or 0) // 2500 for one in result.conversations)
    assert min(quarters.values()) > 80  # of about 500 in all


def test_one_endless_conversation_leaves_room_for_the_others() -> None:
    made = [Row(conversation="endless" if number % 4 else f"short {number % 40}") for number in range(8000)]
    result = kept(made, 400)
    lengths = {one.key[1]: (len(one.messages), one.count) for one in result.conversations}
    assert len(lengths) > 1
    assert lengths.get("endless", (100, 6000)) == (100, 6000)


def test_records_without_a_conversation_are_kept_as_one() -> None:
    made = [Row(conversation=None) for _ in range(1000)]
    result = kept(made, 100)
    (only,) = result.conversations
    assert (only.key, only.count, result.total) == (("nslip", None), 1000, 0)
    assert 0 < len(only.messages) <= 100


def test_bytes_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_BYTES", 20_000)
    made = [Row(conversation=str(number // 3), raw=b"x" * 5000) for number in range(100)]
    result = kept(made, 1000)
    texts = [message.raw for one in result.conversations for message in one.messages]
    assert 0 < sum(map(len, texts)) <= 20_000
    assert all(text.endswith(f"… ({5000 - records.MOST_RAW:,} more characters)") for text in texts)


@pytest.mark.parametrize("seed", range(3))
def test_different_conversations_are_counted_exactly(seed: int) -> None:
    numbers = random.Random(seed)
    made = [Row(conversation=str(numbers.randrange(3000))) for _ in range(5000)]
    assert kept(made, 10, 1000).total == len({row.conversation for row in made})


def test_every_kind_of_reject_is_shown_and_all_are_counted() -> None:
    quarantine = Quarantine()
    place = {"file": None, "offset": 0, "length": 4, "line": 1, "fault": 1, "wire": "nslip", "raw": b"@a\xff#" * 100}
    quarantine.add({**place, "reason": "bad_digit"} for _ in range(5000))
    quarantine.add([{**place, "reason": "bad_framing"}])
    assert quarantine.counts == {("nslip", "bad_digit"): 5000, ("nslip", "bad_framing"): 1}
    reasons = Counter(reject[-2] for reject in quarantine.kept)
    assert reasons == {"bad_digit": samples.MOST_OF_A_KIND, "bad_framing": 1}
    assert quarantine.kept[0][-1] == (b"@a\xff#" * 64).hex()
