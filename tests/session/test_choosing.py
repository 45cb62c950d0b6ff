"""Which texts get aliases, in which order, and what is around them: on each core."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Core = Callable[[str], ModuleType]


def chosen(core: Core, text: str, savings: dict[str, float], worth: float = 1.0, **named: Any) -> Any:
    index = core("session.repeats").Index(text)
    seen = named.get("seen", set(savings))
    found, total = index.choose(savings, named.get("used", "あいう"), {}, seen, named.get("saving", len), worth)
    return list(found.items()), total, index.named({})


def test_what_another_alias_left_less_of_waits_for_its_turn(core: Core) -> None:
    """``bc`` saves more than ``qw`` until ``abc`` is replaced, and less behind it."""
    text = "abc" * 4 + " bc" * 3 + " qw" * 5
    found, total, named = chosen(core, text, {"abc": 6.0, "bc": 2.9, "qw": 1.5})
    assert found == [("abc", 6.0), ("qw", 1.5), ("bc", 2.9)]
    assert total == pytest.approx(3 * 6.0 - 2 + 4 * 1.5 - 2 + 2 * 2.9 - 2)
    assert named == "あabcあ" + "あ" * 3 + " うbcう う う いqwい" + " い" * 4


def test_a_saving_that_is_counted_anew_changes_the_order(core: Core) -> None:
    """About 5 each, but 2 as it is counted: behind what saves 3; asked once."""
    asked: list[str] = []

    def saving(part: str) -> float:
        asked.append(part)
        return 2.0

    found, _, _ = chosen(core, "ab" * 4 + "cd" * 4, {"ab": 5.0, "cd": 3.0}, seen={"cd"}, saving=saving)
    assert found == [("cd", 3.0), ("ab", 2.0)] and asked == ["ab"]


@pytest.mark.parametrize(
    ("times", "saving", "worth", "taken"),
    [
        (1, 9.0, 0.0, True),  # it gains nothing, which is enough here
        (1, 9.0, 0.5, False),
        (2, 3.0, 1.0, True),
        (2, 2.9, 1.0, False),
        (3, 1.5, 1.0, True),
        (4, 0.5, -0.5, True),
        (4, 0.4, -0.5, False),
        (0, 9.0, 0.5, False),
    ],
)
def test_what_an_alias_gains(core: Core, times: int, saving: float, worth: float, taken: bool) -> None:
    """What it saves each time but the first, less two for its name."""
    found, total, _ = chosen(core, "-" + "ab-" * times, {"ab": saving}, worth)
    assert found == ([("ab", saving)] if taken else [])
    assert total == pytest.approx((times - 1) * saving - 2 if times > 1 and taken else 0.0)


def test_no_more_are_replaced_than_there_are_aliases(core: Core) -> None:
    found, total, _ = chosen(core, "abab cdcd", {"ab": 9.0, "cd": 8.0}, used="あ")
    assert found == [("ab", 9.0)] and total == 7.0
    assert chosen(core, "abab cdcd", {"ab": 9.0}, used="")[:2] == ([], 0.0)


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("ab", [("", "")]),
        ("\0ab\0", [("", "")]),
        ("\0xab", [("x", "")]),
        ("x\0ab", [("", "")]),
        ("wxyzab1234", [("xyz", "123")]),
        ("\0\0yzab12\0 4", [("yz", "12")]),
        ("ab-ab+ab", [("", "-ab"), ("ab-", "+ab")]),
        ("abab", [("", "ab"), ("ab", "")]),
        ("none", []),
    ],
)
def test_what_is_around_a_text_is_of_its_body(core: Core, text: str, around: list[tuple[str, str]]) -> None:
    index = core("session.repeats").Index(text)
    assert index.around("ab", 2, 3) == around
    assert index.around("ab", 0, 3) == []
    assert index.around("ab", 1, 0) == [("", "")] * bool(around)
    for call in (index.count, lambda part: index.replace(part, "あ"), lambda part: index.around(part, 1, 1)):
        with pytest.raises(ValueError, match=r"^a text of two letters or more is looked for$"):
            call("a")
