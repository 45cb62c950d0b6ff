"""Several stores on one ledger: whoever is late or interrupted, nothing is doubled and everything can be read."""

from __future__ import annotations

import itertools
import random
import sys
from linecache import getline

import pytest

from tests.above import backend  # noqa: F401  (a fixture)
from tests.conftest import SOAK, raised
from tests.csp.generate import kept
from turnwire import csp
from turnwire.errors import Reason, RuleError
from turnwire.ledger import Ledger

pytestmark = pytest.mark.once

INTERRUPTED = ("csp/store.py", "csp/state.py", "ledger/store.py")
"""Files of whose lines each is a place of an interruption."""


class Interruption(BaseException):
    """Comes between any two lines."""


class Interrupting:
    """Raises Interruption before the line number ``at`` that runs in the store and the ledger; counts the lines."""

    def __init__(self, at=None):
        self.at = at
        self.count = 0

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def _call(self, frame, event, _):
        code = frame.f_code
        reads_all = code.co_name == "plain"  # a thousand lines that change nothing
        return self._line if code.co_filename.endswith(INTERRUPTED) and not reads_all else None

    def _line(self, frame, event, _):
        # CPython looks for signals after calls and at jumps: none comes between the end of a block and its __exit__,
        # which may be one that calls that of a lock, and none at a try, which does nothing.
        line = getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
        if event == "line" and not line.startswith(("with ", "try:", "self.lock.__exit__(")):
            self.count += 1
            if self.count == self.at:
                raise Interruption
        return self._line


def patch(number, *ops, base=None, apply=None, sender="A"):
    base = f"C{number - 1}" if base is None else base
    apply = f"C{number}" if apply is None else apply
    return csp.message(sender, "B", "C0", csp.Patch(f"P{number}", base, ops, apply))


def task(number):
    return csp.message("A", "B", "C0", csp.Task(f"T{number}", {"REQ": "x"}))


def test_a_late_store_is_refused_and_learns(tmp_path):
    path = tmp_path / "store.ledger"
    with Ledger(path) as one, Ledger(path) as two:
        first, second = csp.Store({"A": "1"}, journal=one), csp.Store({"A": "1"}, journal=two)
        first.apply(patch(1, ("+", "B", "2")))
        two.append("other", b"of somebody else")
        caught = raised(RuleError, second.apply, patch(2, ("+", "C", "3"), base="C0", apply="C9"))
        assert caught.reason is Reason.BASE_NOT_HEAD
        assert second.head == "C1"
        second.apply(patch(2, ("+", "C", "3")))
        assert first.head == "C1"
        assert first.apply(patch(2, ("+", "C", "3"))).id == "C2", "the same patch is nothing, whoever wrote it"
        assert kept(first) == kept(second) == kept(csp.Store.reopen(one))
        assert len(one) == 4
        first.apply(task(1))
        assert (second.head, second.catch_up(), len(second)) == ("C2", 1, 3)
        with pytest.raises(RuleError, match="another store"):
            csp.Store({"A": "2"}, journal=two)


def test_what_late_writers_left_is_nothing(tmp_path):
    """As older versions wrote it, which appended without a condition."""
    with Ledger(tmp_path / "store.ledger") as ledger:
        store = csp.Store({"A": "1"}, journal=ledger)
        store.apply(patch(1, ("+", "B", "2")))
        ledger.append("csp-init", ledger[1].body)
        ledger.append("csp", csp.encode(patch(2, base="C0", apply="C9")))  # on an old base
        ledger.append("csp", csp.encode(patch(1, ("+", "B", "2"))))  # a second time
        ledger.append("csp", csp.encode(patch(1, ("+", "B", "3"))))  # an id that is taken
        ledger.append("csp", csp.encode(csp.message("A", "B", "C9", csp.Task("T1", {"REQ": "x"}))))
        again = csp.Store.reopen(ledger)
        assert kept(again) == kept(store)
        assert list(again.skipped) == [3, 4, 5, 6, 7]
        assert again.skipped[4].startswith("csp: base_not_head in P2")
        again.apply(patch(2, ("+", "C", "3")))
        store.apply(patch(3, ("+", "D", "4")))
        assert again.catch_up() == 1
        assert kept(store) == kept(again)
        assert store.verify()
        ledger.append("csp", b"no message")
        with pytest.raises(RuleError, match="digest_mismatch"):
            csp.Store.reopen(ledger)


def lines_of(message):
    """How many lines run while a store on a ledger takes a message."""
    with Ledger(":memory:") as ledger:
        store, _ = (csp.Store({"A": "1"}, journal=ledger) for _ in range(2))
        with Interrupting() as counted:
            store.apply(message)
    return counted.count


@pytest.mark.parametrize("message", [patch(1, ("+", "B", "2"), ("~", "A", "3")), task(1)], ids=["patch", "task"])
def test_an_interruption_at_any_line_and_a_second_try(message):
    lines = lines_of(message)
    assert lines > 60
    for at in range(1, lines, 1 if SOAK else 3):  # the last line returns: whether it did, nobody can tell the caller
        with Ledger(":memory:") as ledger:
            store, other = (csp.Store({"A": "1"}, journal=ledger) for _ in range(2))
            with pytest.raises(Interruption), Interrupting(at):
                store.apply(message)
            seen = kept(store)
            assert len(store.log) == len(store), "no half of a step is seen"
            assert store.verify(), at
            other.apply(task(2))
            store.apply(message)
            store.apply(task(3))
            again = csp.Store.reopen(ledger)
            assert kept(again) == kept(store) != seen, at
            assert sorted(entry.text for entry in again.log) == sorted(map(csp.encode, (message, task(2), task(3)))), at
            assert ledger.verify()


def test_an_interrupted_beginning_and_a_second_try():
    for at in itertools.count(1, 1 if SOAK else 3):
        with Ledger(":memory:") as ledger:
            try:
                with Interrupting(at):
                    csp.Store({"A": "1"}, journal=ledger)
            except Interruption:
                store = csp.Store({"A": "1"}, journal=ledger)
                store.apply(patch(1))
                assert len(ledger) == 2, at
                assert kept(csp.Store.reopen(ledger)) == kept(store)
            else:
                break
    assert at > 30


def test_any_history_of_crashes_and_late_writers(tmp_path):
    """Random writers, each with its own connection, interrupted anywhere, begun anew at times, trying again."""
    rng = random.Random(7)
    for round_ in range(6):
        path = tmp_path / f"{round_}.ledger"
        ledgers = [Ledger(path, synchronous="NORMAL") for _ in range(3)]
        stores = [csp.Store({"A": "1"}, journal=ledger) for ledger in ledgers]
        acknowledged: list[str] = []
        refused = set()
        for number in range(1, 16):
            who = rng.randrange(3)
            if rng.random() < 0.2:
                stores[who] = csp.Store({"A": "1"}, journal=ledgers[who])
            message = csp.message(
                "A", "B", "C0", csp.Patch(f"P{number}", stores[who].head, [("+", f"N{number}", "v")], f"C{number}")
            )
            while True:
                try:
                    with Interrupting(rng.randrange(1, 400)):
                        stores[who].apply(message)
                    acknowledged.append(f"C{number}")
                except Interruption:
                    continue
                except RuleError as error:
                    refused.add(error.reason)
                break
        again = csp.Store.reopen(ledgers[0])
        assert again.checkpoints == ["C0", *acknowledged]
        assert len(again) == len(acknowledged)
        assert refused <= {Reason.BASE_NOT_HEAD}
        assert ledgers[0].verify()
        for store in stores:
            store.catch_up()
            assert kept(store) == kept(again)
        for ledger in ledgers:
            ledger.close()
