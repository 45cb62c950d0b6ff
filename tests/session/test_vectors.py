"""The vectors: what other readers of the form are tested with, too.

A good one is ``{"id", "text", "sealed", "lines"}``: the events as minified JSON. A damaged one has ``reason`` and
``line`` in place of ``lines``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import raised
from turnwire import session
from turnwire.errors import DecodeError

pytestmark = pytest.mark.once

PATH = Path(__file__).parent.parent / "vectors" / "session.jsonl"
VECTORS = [json.loads(line) for line in PATH.read_text("utf-8").split("\n") if line]


def test_there_are_enough_of_all_that_the_form_has() -> None:
    """They stay: writing changes with the planning, reading never does."""
    good = [vector for vector in VECTORS if "lines" in vector]
    assert len(good) == 200 and len(VECTORS) == 400
    assert len({vector["text"] for vector in VECTORS}) > 390
    text = "".join(vector["text"] for vector in good)
    parts = ("\n^", " &あ", " &\u0430", " &\u03b1", " &あ-", " &-", "\n ", "~", "!null", "=a{", "#k,v", "$1", "time- ")
    for part in parts:
        assert part in text, part
    assert {vector["reason"] for vector in VECTORS if "reason" in vector} >= {"digest_mismatch", "cut_off", "bad_json"}


def test_good_ones() -> None:
    for vector in VECTORS:
        if "lines" in vector:
            assert session.lines_of(vector["text"], sealed=vector["sealed"]) == vector["lines"], vector["id"]


def test_damaged_ones() -> None:
    for vector in VECTORS:
        if "reason" in vector:
            caught = raised(DecodeError, session.decode, vector["text"])
            assert (caught.reason, caught.line) == (vector["reason"], vector["line"]), vector["id"]


def test_what_the_page_says_of_headers_and_distances() -> None:
    """By hand, without checks: a header over lines, nothing told under ``~``, values behind a space."""
    for text, events in (
        ("%1 a word\n and more\n={a:1}\n.1\n", [{"a": 1}]),
        ('%1 @i\n d\na={"i\n d":1 b+:5}\na 2\n.2\n', [{"i\nd": 1, "b": 5}, {"i\nd": 1, "b": 2}]),
        ("%1\na={n~:5}\n={n~}\n.2\n", [{"n": 5}, {"n": 5}]),
        ("%1\n={act ASK n:1 at:12:30 é⫻ 007}\n.1\n", [{"act": "ASK", "n": 1, "at": "12:30", "é⫻": "007"}]),
        ("%1\n={a,b x}\n.1\n", [{"a": None, "b": "x"}]),
        ("%1 &\n={a:1}\n^1 @other\n={a:2}\n.2\n", [{"a": 1}, {"a": 2}]),
        ('%1\n={n:5}\n={n~:"-2"}\n={n~:"&!\\"-2x\\""}\n.3\n', [{"n": 5}, {"n": 3}, {"n": "-2x"}]),
        ("%1\na={n~:5}\na 3\na\n.3\n", [{"n": 5}, {"n": 8}, {"n": 8}]),
    ):
        assert session.decode(text, sealed=False) == events
    for text in (
        "%1\n x\n={a:1}\n.1\n",
        "%1\na={t~:2026-01-01T00:00:00Z}\n={t~}\n.2\n",
        "%1\n={a b:1}\n.1\n",
        "%1\n={a {b:1}}\n.1\n",
        '%1\n={n:5}\n={n~:"-2x"}\n.2\n',
        "%1\na={n~:5}\na -3\n.2\n",
        "%1\na={n~:T-5}\na 3\n.2\n",
        "%1\n={a$5:{b:1}}\n.1\n",
        "%1\n={a:1}\n\n={a:2}\n.2\n",
        "%1\n={a:1}\n.1\n\n",
        "%1\n={a:1}\n^1 @a\n \n={a:2}\n.2\n",
    ):
        with pytest.raises(DecodeError):
            session.decode(text, sealed=False)
