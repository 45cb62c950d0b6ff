"""Numbers that conversions count by, each just below, at and above."""

from __future__ import annotations

import itertools

import pytest

from turnwire.conversion.context import Context
from turnwire.conversion.conversation import _numbered
from turnwire.conversion.watching import Histories

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("0", 0),
        ("7", 7),
        (str(10**18), 10**18),
        (str(10**19), 10**19),
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), None),
        ("9" * 20, None),
        ("1" * 21, None),
        ("07", None),
        ("-1", None),
        ("\u0667", None),
        ("T7", None),
    ],
)
def test_a_name_that_is_a_number_of_64_bits_is_that_number(name, number):
    found = Context().names.number("ids", name)
    assert (found == number and type(found) is int) if number is not None else not isinstance(found, int)


@pytest.mark.parametrize("name", ["T", "T1", "T10", "1", "\u0661", "t-"])
def test_numbered_names_differ_from_those_of_any_other_name(name):
    names = [name, f"{name}1", f"{name}0", f"{name}10"]
    made = list(itertools.chain.from_iterable([_numbered(one, number) for number in range(1, 30)] for one in names))
    assert _numbered(name, 0) == name
    assert len(set(made[:29])) == 29 and not set(made[:29]) & {name}


@pytest.mark.parametrize("room", [1, 10, 999, 1000, 1100, 2000, 5000])
def test_histories_that_are_over_are_kept_in_a_hundredth_of_the_room(room):
    histories = Histories("sap", room)
    most = max(10, room // 100)
    for number in range(3 * most):
        key = None, f"T{number}"
        histories.written(key, histories.at(key), True, None)
        histories.over(key)
        assert len(histories) <= max(most, 1) + 1
    assert len(histories) in (most, most + 1)


@pytest.mark.parametrize("moments", list(itertools.permutations([None, 50.0, 100.0])))
def test_the_moment_of_histories_never_goes_back(moments):
    histories = Histories("kick", 100)
    latest = 0.0
    for number, moment in enumerate(moments):
        key = None, str(number)
        histories.written(key, histories.at(key), True, moment)
        latest = max(latest, moment or 0.0)
        assert histories._moment == latest
