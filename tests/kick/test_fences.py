"""Space Format outside code fences: which line opens a fence and which closes one (CommonMark 0.31, section 4.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from turnwire.fences import fence_behind
from turnwire.kick import parse_space

FORMS = pytest.mark.parametrize("form", [str, str.encode], ids=["str", "bytes"])


def names(form: Callable[[str], Any], text: str) -> list[str | None]:
    found = parse_space(form(text), fences=True)
    assert found.text() == text
    return [section.name for section in found.sections]


@FORMS
@pytest.mark.parametrize("sign", "`~")
@pytest.mark.parametrize("indent", range(6))
@pytest.mark.parametrize("many", range(1, 6))
def test_opens_with_three_signs_behind_three_spaces_at_most(
    twin: str, form: Callable[[str], Any], sign: str, indent: int, many: int
) -> None:
    opens = indent <= 3 and many >= 3
    assert names(form, f"⫻a\n{' ' * indent}{sign * many}\n⫻b\n") == (["a"] if opens else ["a", "b"])


@FORMS
@pytest.mark.parametrize("sign", "`~")
@pytest.mark.parametrize("indent", range(6))
@pytest.mark.parametrize("many", range(2, 7))
def test_closes_with_as_many_signs_behind_three_spaces_at_most(
    twin: str, form: Callable[[str], Any], sign: str, indent: int, many: int
) -> None:
    closes = indent <= 3 and many >= 4
    text = f"⫻a\n{sign * 4}\n⫻no\n{' ' * indent}{sign * many}\n⫻b\n"
    assert names(form, text) == (["a", "b"] if closes else ["a"])


@FORMS
@pytest.mark.parametrize(
    ("line", "opens"),
    [
        ("", False), ("   ", False), ("    ", False), ("\t```", False), ("``` `", False), ("```py", True),
        ("~~~ `", True), ("~~~ ~", True), ("``~", False), ("~~`", False), ("```~", True), ("```\r", True),
        (" \t```", False),
    ],
)  # fmt: skip
def test_what_stands_beside_the_signs_of_an_opening(
    twin: str, form: Callable[[str], Any], line: str, opens: bool
) -> None:
    assert names(form, f"⫻a\n{line}\n⫻b\n") == (["a"] if opens else ["a", "b"])


@FORMS
@pytest.mark.parametrize(
    ("line", "closes"),
    [
        ("```", True), ("``` ", True), ("```\t", True), ("``` \t \r", True), ("```\r", True), ("```\r ", False),
        ("```x", False), ("``` x", False), ("```\r\r", False), ("~~~", False), ("```~", False), ("```\v", False),
    ],
)  # fmt: skip
def test_what_stands_beside_the_signs_of_a_closing(
    twin: str, form: Callable[[str], Any], line: str, closes: bool
) -> None:
    assert names(form, f"⫻a\n```\n⫻no\n{line}\n⫻b\n") == (["a", "b"] if closes else ["a"])
    assert names(form, f"⫻a\n```\n⫻no\n{line}") == ["a"]


@pytest.mark.parametrize(
    ("line", "behind"), [("```", ""), ("``` \t", ""), ("````\r", ""), ("``` x", "```"), ("``", "```"), ("~~~", "```")]
)
def test_what_closes_a_fence(line: str, behind: str) -> None:
    """A run of the same sign, at least as long, with nothing behind it (CommonMark 0.31, section 4.5)."""
    assert fence_behind(line, "```") == behind
