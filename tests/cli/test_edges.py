"""Numbers that commands count by, each just below, at and above."""

from __future__ import annotations

import time
from pathlib import Path

import click
import pytest

from turnwire.cli import inputs, options

pytestmark = pytest.mark.once


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 100])
def test_what_is_read_at_once_is_bounded(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * size)
    for piece in (1, 7, 16, 17, 1 << 20):
        monkeypatch.setattr(inputs, "_PIECE", piece)
        if size <= 16:
            assert inputs.content(str(path), 16) == b"x" * size
        else:
            with pytest.raises(inputs.Refused):
                inputs.content(str(path), 16)


@pytest.mark.parametrize(
    ("given", "conditions"),
    [
        (["offset=1..5"], {"offset": (1, 5)}),
        (["length=3"], {"length": {3}}),
        (["length=3", "length=5"], {"length": {3, 5}}),
        (["offset=..9"], {"offset": (None, 9)}),
        (["text=a,b"], {"text": {"a,b"}}),
        (["text=a", "text=b,c"], {"text": {"a", "b,c"}}),
        (["subject=a,b"], {"subject": {"a", "b"}}),
    ],
)
def test_conditions_by_what_their_column_is(given: list[str], conditions: dict[str, object]) -> None:
    assert options.conditions(given, ()) == conditions


@pytest.mark.parametrize(
    "given", [["offset=1..5", "offset=7"], ["offset=7", "offset=1..5"], ["offset=1..2", "offset=3..4"]]
)
def test_a_range_stands_alone(given: list[str]) -> None:
    with pytest.raises(click.UsageError, match="a range cannot be combined"):
        options.conditions(given, ())


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone is the system's")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_moment_without_a_zone_is_of_utc_wherever_that_is(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for text in ("2026-01-01T00:00:00", "2026-01-01T00:00:00Z", "2026-01-01T09:00:00+09:00"):
            assert options.Moment().convert(text, None, None) == 1767225600.0
    finally:
        monkeypatch.undo()
        time.tzset()
