"""The halves of `make test` leave nothing out: what is run once is about no codec, and is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.halves import ABOVE, BOTH, CODECS, ONCE, PARTS, TESTS, is_in_part, is_once

pytestmark = pytest.mark.once


def _files() -> list[Path]:
    return sorted(TESTS.rglob("test_*.py"))


def _of_codecs() -> set[str]:
    names = {path.relative_to(TESTS).as_posix() for path in _files()}
    return {name for name in names if name in CODECS or name.partition("/")[0] in CODECS} - {*ABOVE}


def test_what_is_named_is_there() -> None:
    assert [name for name in (*ONCE, *BOTH, *CODECS) if not (TESTS / name).exists()] == []
    assert [name for name in BOTH if name.partition("/")[0] not in ONCE] == []
    assert [name for name in ABOVE if name not in ONCE] == []


def test_codecs_are_tested_on_both_cores() -> None:
    """No file of a codec is run once, neither by the table nor by a mark in it."""
    names = _of_codecs()
    assert len(names) > 30
    assert [name for name in names if is_once(TESTS / name)] == []
    assert [name for name in names if re.search(r"\bmark\.once\b", (TESTS / name).read_text("utf-8"))] == []


def test_each_file_is_in_one_part() -> None:
    parts = [{path for path in _files() if is_in_part(path, part)} for part in (0, 1, 2)]
    assert sorted(path for part in parts for path in part) == _files()
    assert all(len(part) > 50 for part in parts)
    assert [name for names in PARTS for name in names if not (TESTS / name).exists()] == []
