"""Numbers that commands count by, each just below, at and above."""

from __future__ import annotations

import time
from pathlib import Path

import click
import pytest

from turnwire import Issue, Reason
from turnwire.cli import documents, inputs, policies, where
from turnwire.cli.outcome import explained
from turnwire.cli.tables import GAP, NARROW, fitted
from turnwire.cli.text import shortened, width
from turnwire.progress import amount

pytestmark = pytest.mark.once


@pytest.mark.parametrize("size", [32, 160, 4096])
def test_a_text_may_have_a_sixteenth_of_zeros(size: int) -> None:
    for zeros in (0, 1, size // 16 - 1, size // 16, size // 16 + 1):
        for first in (b"\0" * zeros + b"a" * (size - zeros), b"a" * (size - zeros) + b"\0" * zeros):
            assert inputs.is_binary(first) is (zeros > size // 16)


@pytest.mark.parametrize("bad", [0, 1, 3, 4])
def test_three_bytes_that_are_no_text_may_be_cut_off(bad: int) -> None:
    assert inputs.is_binary(b"\0" + b"a" * 99 + b"\xff" * bad) is (bad > 3)
    assert not inputs.is_binary(b"a" * 99 + b"\xff" * bad)  # without a zero it is a text, however bad


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


@pytest.mark.parametrize("cells", range(1, 12))
@pytest.mark.parametrize(
    "text", ["abc" + "e\u0301" * 6, "\u0301" * 3 + "abcdefghijkl", "\u4e2d" * 9, "a\U0001f3fb" * 9]
)
def test_what_is_shortened_fits_and_keeps_no_mark_without_its_letter(text: str, cells: int) -> None:
    for from_start in (False, True):
        short = shortened(text, cells, from_start)
        if width(text) <= cells:
            assert short == text
            continue
        assert width(short) <= cells and "…" in short
        kept = short[1:] if from_start else short[:-1]
        assert text.endswith(kept) if from_start else text.startswith(kept)
        assert not from_start or kept[:1] not in ("\u0301", "\U0001f3fb")


@pytest.mark.parametrize("room", [20, 40, 60, 89, 90, 91, 120, 122, 123, 200])
def test_what_is_left_over_goes_to_all_columns_that_want_it(room: int) -> None:
    texts = ["x" * 40, "y" * 40, "z" * 40]
    found = fitted(["a", "b", "c"], [texts], [False] * 3, room)
    used = sum(found) + GAP * (len(found) - 1)
    assert used <= room and (used == room or found == [40] * 3 or len(found) < 3)
    if len(found) == 3 and room < 120:
        assert max(found) - min(found) <= 1
    short = fitted(["a", "b", "c"], [["x" * (NARROW + 3), *texts[1:]]], [False] * 3, 90)
    assert short[0] == NARROW + 3 and abs(short[1] - short[2]) <= 1 and sum(short) == 90 - 2 * GAP
    assert fitted(["a", "b"], [["7" * 30, "y" * 40]], [True, False], 20) == [20]


def test_what_is_told_of_a_document_comes_in_the_order_of_its_lines() -> None:
    issues = [Issue(Reason.JUNK, str(line), "warning", f"at {line}") for line in (3, 1, 2)]
    found = documents.told(b"a\nb\nc\nd\n", [], issues)
    assert [(one.line, one.offset, one.text) for one in found] == [(1, 0, "at 1"), (2, 2, "at 2"), (3, 4, "at 3")]


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
    assert where.parsed(given, ()) == conditions


@pytest.mark.parametrize(
    "given", [["offset=1..5", "offset=7"], ["offset=7", "offset=1..5"], ["offset=1..2", "offset=3..4"]]
)
def test_a_range_stands_alone(given: list[str]) -> None:
    with pytest.raises(click.UsageError, match="a range cannot be combined"):
        where.parsed(given, ())


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone is the system's")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_a_moment_without_a_zone_is_of_utc_wherever_that_is(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for text in ("2026-01-01T00:00:00", "2026-01-01T00:00:00Z", "2026-01-01T09:00:00+09:00"):
            assert policies.Moment().convert(text, None, None) == 1767225600.0
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (9999, "9,999 B"),
        (10_000, "10.0 kB"),
        (999_949, "999.9 kB"),
        (10**6, "1.0 MB"),
        (10**9, "1.0 GB"),
        (10**12, "1.0 TB"),
    ],
)
def test_amounts_of_bytes(number: int, told: str) -> None:
    assert amount(number) == told


@pytest.mark.parametrize(("name", "told"), [("-", "<stdin>: gone"), ("a.log", "a.log: gone"), (None, "gone")])
def test_an_error_of_the_system_names_its_file(name, told):
    assert explained(OSError(2, "gone", name)) == told
