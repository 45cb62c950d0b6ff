"""Conversations that are judged by their text get the checklists that judging each message gives: every line, place and
count, on both cores."""

from __future__ import annotations

from typing import Any

import pytest

from tests.log.conftest import scan_core as scan_core
from tests.read.honest import kick, sap, sstp
from turnwire import checklists
from turnwire.checklists import Checklist
from turnwire.read.judging import conform, specification

TABLES = {"sstp": sstp, "sap": sap, "kick": kick}


def both_ways(wire: str, data: bytes, **options: Any) -> tuple[Checklist, Checklist, int]:
    """The checklist by text, and by messages; and how many records were settled by their text."""
    judge = specification(wire).judge
    settled, count = judge.settled, [0]

    def counting(self: Any, *args: Any) -> bool:
        done: bool = settled(self, *args)
        count[0] += done
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "settled", counting)
        quick = conform(wire, data, **options)
        patch.setattr(judge, "settled", checklists.RecordChecklist.settled)
        return quick, conform(wire, data, **options), count[0]


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", TABLES)
def test_the_honest_logs_are_judged_by_text_as_by_messages(wire: str) -> None:
    for cases in (TABLES[wire].BROKEN, TABLES[wire].GOOD):  # type: ignore[attr-defined]
        for name, log in cases.items():
            quick, slow, _ = both_ways(wire, log.encode())
            assert quick == slow, name
