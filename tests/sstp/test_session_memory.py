"""What a session keeps of clocks, however often they come."""

from __future__ import annotations

from tests.sstp.test_session import message
from turnwire import sstp
from turnwire.sstp.session import Clocks


def test_a_clock_that_comes_again_takes_no_room(monkeypatch):
    added = []
    monkeypatch.setattr(Clocks, "add", lambda self, clock, add=Clocks.add: (added.append(clock), add(self, clock)))
    session = sstp.Session()
    for clock in (1, 2, 2, 2, 1, 3, 3):
        session.feed(message("a", clock))
    assert added == [1, 2, 3] and session.next_clock("a", "s-1") == 4
