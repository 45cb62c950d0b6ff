"""The store: reconstruction, refusal, proof; and several of them on one ledger."""

from __future__ import annotations

import itertools
import random
import sys
from linecache import getline

import pytest
from hypothesis import given, settings, strategies as st

from tests.above import backend  # noqa: F401  (a fixture)
from tests.conftest import SOAK, raised
from tests.csp.generate import kept
from turnwire import csp
from turnwire.csp.state import Snapshot
from turnwire.errors import EncodeError, Reason, RuleError
from turnwire.ledger import Ledger

pytestmark = pytest.mark.once


def patch(number, *ops, base=None, apply=None, sender="A", ctx=None):
    base = f"C{number - 1}" if base is None else base
    apply = f"C{number}" if apply is None else apply
    return csp.message(sender, "B", ctx or base, csp.Patch(f"P{number}", base, ops, apply))


def refused(store, message):
    before = kept(store)
    caught = raised(RuleError, store.apply, message)
    assert kept(store) == before
    return str(caught.reason), caught.path


@pytest.fixture
def store():
    store = csp.Store(defs={"SRC": "src/", "LIB": "lib/"}, laws={"L1": "Web search -> WEB_RES only"})
    store.apply(patch(1, ("+", "T", "tests/"), sender="MAIN"))
    store.apply(csp.message("MAIN", "CODER", "C0", csp.Task("T1", {"REQ": "x"})))
    store.apply(patch(2, ("~", "SRC", "source/"), ("-", "LIB")))
    return store


def test_any_point_is_there_again(store):
    assert (store.head, store.checkpoints, len(store)) == ("C2", ["C0", "C1", "C2"], 3)
    assert dict(store.at("C0").defs) == {"SRC": "src/", "LIB": "lib/"}
    assert dict(store.at("C1").defs) == {"SRC": "src/", "LIB": "lib/", "T": "tests/"}
    assert dict(store.at("C2").defs) == {"SRC": "source/", "T": "tests/"}
    assert store.at("C2").parent == "C1"
    assert store.at("C2").patch == "P2"
    assert store.at("C2").laws == {"L1": "Web search -> WEB_RES only"}
    with pytest.raises(TypeError):
        store.laws["L2"] = "x"
    assert raised(RuleError, store.at, "C9").reason == "checkpoint_unknown"


def test_diff_and_inverse(store):
    assert store.diff("C0", "C2") == [("-", "LIB", None), ("~", "SRC", "source/"), ("+", "T", "tests/")]
    assert store.diff("C2", "C0") == [("+", "LIB", "lib/"), ("~", "SRC", "src/"), ("-", "T", None)]
    assert store.diff("C1", "C1") == []
    undo = store.inverse("P2")
    assert undo == csp.Patch("P3", "C2", [("+", "LIB", "lib/"), ("~", "SRC", "src/")], "C3")
    store.apply(csp.message("A", "B", "C2", undo))
    assert store.at("C3").defs == store.at("C1").defs
    assert store.inverse(store.log[0].message).ops == [("-", "T", None)]
    assert store.verify()


def test_the_patch_that_undoes_has_the_number_after_the_highest(store):
    store.apply(patch(40, ("+", "A", "1"), base="C2", apply="C7"))
    store.apply(csp.message("A", "B", "C7", csp.Patch("P5", "C7", [("+", "B", "1")], "C3")))
    undo = store.inverse("P40")
    assert (undo.id, undo.apply) == ("P41", "C8")


def test_explain(store):
    assert store.explain("SRC") == [
        csp.Change("C0", None, 0, None, None, "+", None, "src/"),
        csp.Change("C2", "P2", 3, "A", "C1", "~", "src/", "source/"),
    ]
    assert store.explain("T") == [csp.Change("C1", "P1", 1, "MAIN", "C0", "+", None, "tests/")]
    assert [change.sign for change in store.explain("LIB", at="C1")] == ["+"]
    assert store.explain("NEVER") == []


def test_replay_is_idempotent(store):
    before = kept(store)
    for entry in store.log:
        if isinstance(entry.message.block, csp.Patch):
            assert store.apply(entry.text).id == entry.message.block.apply
    assert kept(store) == before


def test_ids_are_opaque(store):
    store.apply(csp.message("A", "B", "C2", csp.Patch("P001", "C2", [], "C02")))
    store.apply(csp.message("A", "B", "C02", csp.Generic("MEM", "M1", text="no letter of its own")))
    assert store.head == "C02"


def test_what_is_no_valid_message_is_refused(store):
    with pytest.raises(EncodeError):
        store.apply(csp.message("A", "B", "C2", csp.Patch("X", "C2", [], "C3")))


def test_verify_names_the_first_difference(store):
    kept = store._log[1]
    store._log[1] = kept._replace(entry=kept.entry._replace(text=kept.entry.text.replace("REQ x", "REQ y")))
    assert (store.verify().ok, store.verify().place) == (False, "entry 2")
    store._log[1] = kept
    assert store.verify()


class FullLedger(Ledger):
    """Writes nothing while it is full."""

    full = False

    def append(self, *entry, **options):
        if self.full:
            raise OSError("disk full")
        return super().append(*entry, **options)


def test_the_ledger_comes_first():
    """A row that was not written is written though the same was before."""
    with FullLedger(":memory:") as ledger:
        store, task = csp.Store({"A": "1"}, journal=ledger), csp.message("A", "B", "C0", csp.Task("T1", {"REQ": "x"}))
        store.apply(patch(1))
        for message in (patch(2), task):
            store.apply(task)
            ledger.full = True
            raised(OSError, store.apply, message)
            assert store.head == "C1"
            ledger.full = False
        store.apply(task)
        assert [entry.kind for entry in ledger] == ["csp-init", *["csp"] * 4]
        assert [entry.body.decode() for entry in ledger][1:] == [entry.text for entry in store.log]


def test_replay_of_a_document():
    text = (
        "DEF A = 1\nLAWS\n- L1: x\n"
        + csp.encode(patch(1, ("+", "B", "2")))
        + csp.encode(patch(3))
        + "\n```\nDEF A = 2\n"
    )
    store, failed = csp.replay(text)
    assert dict(store.defs) == {"A": "1", "B": "2"}
    assert dict(store.laws) == {"L1": "x"}
    assert [str(error.reason) for _, error in failed] == ["ctx_unknown", "restate"]
    assert csp.replay("").store.head == "C0"


def test_history_is_linear_and_any_point_is_as_near():
    store = csp.Store()
    for number in range(1, 3001):
        store.apply(patch(number, ("+", f"N{number}", "v")))
    assert len(store.at("C1000").defs) == 1000
    assert len(store.at("C3000").defs) == 3000
    assert any(store.at(name).whole for name in store.checkpoints[1:])
    assert store.verify()


KEYS = st.text(st.sampled_from("ABCD"), min_size=1, max_size=3)
CHANGES = st.dictionaries(KEYS, st.one_of(st.none(), st.text(max_size=2)), max_size=4)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), CHANGES), max_size=40))
def test_every_version_of_a_map_is_a_dict_that_never_changes(steps):
    """However they branch off from one another."""
    maps, models = [Snapshot({"A": "0"})], [{"A": "0"}]
    for back, changes in steps:
        place = -1 if back > 40 else back % len(maps)
        changed = {**models[place], **changes}
        maps.append(maps[place].changed_by(changes))
        models.append({name: value for name, value in changed.items() if value is not None})
    for one, model in zip(maps, models, strict=True):
        assert dict(one) == model == one == one.plain()
        assert (len(one), list(one)) == (len(model), sorted(model))
        assert one.size == sum(len((name + value).encode()) for name, value in model.items())
        expected = sorted(name for name in {*model, *models[-1]} if model.get(name) != models[-1].get(name))
        assert one.changed(maps[-1]) == maps[-1].changed(one) == expected


def test_a_store_on_a_ledger_file_is_there_again(tmp_path):
    path = tmp_path / "store.ledger"
    with Ledger(path) as ledger:
        ledger.append("other", b"passed over")
        store = csp.Store({"A": "1"}, {"L2": "b", "L1": "a"}, journal=ledger)
        store.apply(patch(1, ("+", "B", "2")))
        store.apply(csp.message("A", "B", "C1", csp.Task("T1", {"REQ": "x"})))
        store.apply(patch(2, ("~", "A", "3"), ("-", "B", None)))
    with Ledger(path) as ledger:
        again = csp.Store.reopen(ledger)
        assert kept(again) == kept(store)
        assert (again.head, dict(again.at("C1").defs), list(again.laws)) == ("C2", {"A": "1", "B": "2"}, ["L2", "L1"])
        assert again.verify()
        again.apply(patch(3, ("+", "B", "4")))
        assert len(ledger) == 6
    with Ledger(path) as ledger:
        assert kept(csp.Store.reopen(ledger)) == kept(again)
        assert ledger.verify()


@pytest.mark.parametrize(
    ("kinds", "reason", "place"),
    [
        ([], Reason.BAD_LEDGER, None),
        (["csp"], Reason.BAD_LEDGER, "entry 1"),
        (["csp-init", "other-init"], Reason.BAD_LEDGER, "entry 2"),
        (["csp-init", "junk"], Reason.DIGEST_MISMATCH, "entry 2"),
        (["strange-init"], Reason.DIGEST_MISMATCH, "entry 1"),
        (["no-init"], Reason.DIGEST_MISMATCH, "entry 1"),
    ],
)
def test_a_journal_that_no_store_wrote_is_refused(kinds, reason, place):
    ledger = Ledger(":memory:")
    csp.Store({"A": "1"}, journal=ledger)
    init = ledger[1].body
    bodies = {
        "csp-init": ("csp-init", init),
        "csp": ("csp", csp.encode(patch(1, ("+", "B", "2"))).encode()),
        "junk": ("csp", b"junk"),
        "strange-init": ("csp-init", init + b" "),
        "no-init": ("csp-init", b"[]"),
        "other-init": ("csp-init", init.replace(b'"A":"1"', b'"A":"2"')),
    }
    with Ledger(":memory:") as other:
        for kind in kinds:
            other.append(*bodies[kind])
        caught = raised(RuleError, csp.Store.reopen, other)
    assert (caught.reason, caught.path) == (reason, place)


CHANGED = {
    "id": "C9",
    "parent": "C9",
    "patch": "P9",
    "digest": "0" * 64,
    "seq": 9,
    "whole": "0" * 64,
    "defs": Snapshot({"A": "other"}),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_proof_tells_every_attribute_of_a_checkpoint_that_was_changed(name):
    store = csp.Store({"A": "1"})
    for number in (1, 2):
        block = csp.Patch(f"P{number}", f"C{number - 1}", [("~", "A", f"v{number}")], f"C{number}")
        store.apply(csp.message("A", "B", f"C{number - 1}", block))
    assert store.verify()
    for place in ("C1", "C2"):
        kept = store._checkpoints[place]
        store._checkpoints["C9" if name == "id" else place] = kept._replace(**{name: CHANGED[name]})
        proof = store.verify()
        assert not proof and proof.place in (place, "C9")
        store._checkpoints.pop("C9", None)
        store._checkpoints[place] = kept
    assert store.verify()


# --- several stores on one ledger: whoever is late or interrupted, nothing is doubled and everybody sees all ----------


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
