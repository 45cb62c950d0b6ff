"""Numbers that commands count by, each just below, at and above."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnwire.cli import inputs
from turnwire.cli.tables import GAP, NARROW, fitted
from turnwire.cli.text import shortened, width


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
