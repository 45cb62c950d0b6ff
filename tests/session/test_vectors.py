"""The vectors: what other readers of the form are tested with, too."""

from __future__ import annotations

import json

import pytest

from tests.session import make_vectors
from turnwire import session
from turnwire.errors import DecodeError

pytestmark = pytest.mark.once

VECTORS = [json.loads(line) for line in make_vectors.PATH.read_text("utf-8").split("\n") if line]


def test_there_are_enough_and_they_are_in_step() -> None:
    """What is written changes with the planning; what is read never does."""
    good = [vector for vector in VECTORS if "lines" in vector]
    assert len(good) == 200 and len(VECTORS) == 400
    assert len({vector["text"] for vector in VECTORS}) > 390
    text = "".join(vector["text"] for vector in good)
    for part in (
        "\n^",
        " &あ",
        " &\u0430",
        " &\u03b1",
        " &あ-",
        " &-",
        "\n ",
        "~",
        "!null",
        "=a{",
        "#k,v",
        "$1",
        "time- ",
    ):
        assert part in text, part
    assert {vector["reason"] for vector in VECTORS if "reason" in vector} >= {"digest_mismatch", "cut_off", "bad_json"}


def test_good_ones() -> None:
    for vector in VECTORS:
        if "lines" in vector:
            assert session.lines_of(vector["text"], sealed=vector["sealed"]) == vector["lines"], vector["id"]


def test_damaged_ones() -> None:
    for vector in VECTORS:
        if "reason" in vector:
            with pytest.raises(DecodeError) as caught:
                session.decode(vector["text"])
            assert (caught.value.reason, caught.value.line) == (vector["reason"], vector["line"]), vector["id"]
