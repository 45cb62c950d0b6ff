"""What the compiled core reads, writes, checks and scans without asking Python's rules stays so: texts of all wires at
the edges of what the rules allow. Each tells a planted fault (``make plant-all``) that does no more than leave a quick
way."""

from __future__ import annotations

import pytest

import turnwire
from tests.conftest import PURE_ONLY
from tests.fuzz.edits import MESSAGES
from tests.fuzz.ways import ENTRIES, kept, quick, usual

pytestmark = [pytest.mark.once, pytest.mark.skipif(PURE_ONLY, reason="the compiled core is left out")]


@pytest.mark.parametrize("wire", MESSAGES)
def test_no_entry_asks_python_where_it_did_not(wire: str) -> None:
    texts = kept(wire)
    assert len(texts) > 5
    slow = {text: missing for text, entries in texts if (missing := set(entries) - set(quick(wire, text, turnwire)))}
    assert slow == {}


@pytest.mark.parametrize("wire", MESSAGES)
def test_the_usual_way_is_without_the_rules(wire: str) -> None:
    """What is compared with is no detour itself."""
    for entry in ENTRIES:
        assert not [one for one in usual(entry, wire, turnwire) if "rules.py:findings" in one or "_pure" in one]
