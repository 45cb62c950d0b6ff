"""Blocks from keywords, and the next free ids of a store."""

from __future__ import annotations

import pytest

from tests.above import backend  # noqa: F401  (a fixture)
from tests.conftest import raised
from turnwire import csp
from turnwire.errors import UnknownName


def test_keys_as_keywords() -> None:
    assert csp.Task("T2", req="find it", in_="SRC") == csp.Task("T2", {"REQ": "find it", "IN": "SRC"})
    assert csp.Task("T2", {"REQ": "x"}, owner="A").fields == [("REQ", "x"), ("OWNER", "A")]
    assert csp.FileOp("F1", "DELETE", path="a") == csp.FileOp("F1", "DELETE", {"PATH": "a"})
    assert csp.Error("E1", at="T1", cause="x", next="y").get("NEXT") == "y"
    assert csp.Generic("MEM", "M1", note="n").fields == [("NOTE", "n")]
    assert csp.encode(csp.message("A", "B", "C0", csp.Task("T1", priority="P1", req="x"))).endswith(
        "REQ x\nPRIORITY P1\n"
    )


@pytest.mark.parametrize("named", [{"request": "x"}, {"req": "x", "req_": "y"}, {"status": "OK"}])
def test_a_key_that_there_is_not_is_named(named: dict[str, str]) -> None:
    assert next(iter(reversed(named))).removesuffix("_").upper() in str(raised(TypeError, csp.Task, "T1", **named))
    raised(TypeError, csp.Task, "T1", {"REQ": "x"}, req="y")


def test_the_next_id_of_a_store() -> None:
    store = csp.Store({"SRC": "src/"})
    assert [store.next_id(letter) for letter in "TEPFC"] == ["T1", "E1", "P1", "F1", "C1"]
    store.apply(csp.message("A", "B", "C0", csp.Task("T009", req="x")))
    store.apply(csp.message("A", "B", "C0", csp.Task("T3", req="x")))
    store.apply(csp.message("A", "B", "C0", csp.Patch("P1", "C0", [("+", "LIB", "lib/")], "C1")))
    assert [store.next_id(letter) for letter in "TEPFC"] == ["T010", "E1", "P2", "F1", "C2"]
    store.apply(csp.message("A", "B", "C1", csp.Task(store.next_id("T"), req="y")))
    assert store.next_id("T") == "T011"
    for wrong in ("X", "", None, "TE"):
        with pytest.raises((UnknownName, TypeError)):
            store.next_id(wrong)  # type: ignore[arg-type]
