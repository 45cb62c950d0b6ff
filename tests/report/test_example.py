"""The example that writes a mixed log writes what it says: the tests of the page take its word for the truth."""

from __future__ import annotations

from collections import Counter

import pytest

import turnwire
from examples import mixed_log
from turnwire import WIRES, registry
from turnwire.errors import DecodeError

pytestmark = pytest.mark.once


def test_every_entry_is_a_good_record_of_its_wire() -> None:
    found = mixed_log.entries(60, seed=11)
    assert set(Counter(entry.wire for entry in found)) == set(WIRES)
    for entry in found:
        assert turnwire.detect(entry.text) == entry.wire
        issues = registry.wire(entry.wire).check(turnwire.decode(entry.text))
        assert [issue for issue in issues if issue.severity != "info"] == []


def test_the_log_is_the_same_for_the_same_seed_and_holds_what_it_says() -> None:
    made = mixed_log.log(60, seed=11, every=10)
    assert made == mixed_log.log(60, seed=11, every=10) != mixed_log.log(60, seed=12, every=10)
    assert made.damaged > 0
    assert len(made.sound) + made.damaged == len(mixed_log.entries(60, seed=11))
    assert all(entry.text.rstrip("\n") in made.text for entry in made.sound)


def test_damaged_lines_are_no_records() -> None:
    (first, *_) = (entry for entry in mixed_log.entries(5) if entry.wire == "nslip")
    with pytest.raises(DecodeError):
        turnwire.decode(mixed_log.damaged(first.text))
