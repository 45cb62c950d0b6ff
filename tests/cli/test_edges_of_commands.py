"""What commands count, take and refuse, at the edges: models' tools, conversions, measured messages, extras."""

from __future__ import annotations

import pytest

from turnwire.cli.commands import mcp as model_tools

pytestmark = pytest.mark.once


@pytest.mark.parametrize("more", [-1, 0, 1, 30])
def test_so_many_records_and_faults_are_named_to_models(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_tools, "MOST", 5)
    count = 5 + more
    good, bad = "@a3|f0|c1|S0|d1|T1#\n" * count, "@a3|f0|c$|S0|d1|T1#\n" * count
    found = model_tools._scan(good)
    assert (found["records"], len(found["found"])) == (count, min(count, 5))
    judged = model_tools._validate(bad)
    assert (judged["rejects"], len(judged["faults"]), judged["more"]) == (count, min(count, 5), max(more, 0))
    taken = model_tools._extract(good)
    assert (len(taken["messages"]), taken["more"]) == (min(count, 5), max(more, 0))
