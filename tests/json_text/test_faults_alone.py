"""Openings of text that is not a JSON object."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire import LIMITS
from turnwire.errors import DecodeError, Reason
from turnwire.json import faults, text

OPENINGS = {
    Reason.EMPTY_MESSAGE: ["", " ", "\t\r\n "],
    Reason.CODE_FENCE: ["```json\n{}\n```", "~~~\n{}"],
    Reason.NOT_FINITE: ["NaN", "Infinity", "-Infinity", "NaNx", "-Infinity,"],
    Reason.NOT_OBJECT: ["[]", '"x"', "-1", "0", "9", "-", "-Inf", "true", "false", "null", "null \n"],
    Reason.PROSE: ["true x", "nul", "Here is {", "Inf", "nan", "é {", "'", "+1", "``{", "``"],
}


@pytest.mark.parametrize("reason", OPENINGS)
@pytest.mark.parametrize("before", ["", " ", "\n\t\r "])
def test_what_text_that_is_no_object_begins_with(backend: Any, reason: Reason, before: str) -> None:
    for begun in OPENINGS[reason]:
        place = 0 if reason is Reason.EMPTY_MESSAGE else len(before)
        assert faults.opening(f"{before}{begun}".encode()) == (reason, place), begun
        with pytest.raises(DecodeError) as caught:
            text.reader("x").read(f"{before}{begun}".encode(), LIMITS)
        assert (caught.value.reason, caught.value.offset) == (reason, place), begun
