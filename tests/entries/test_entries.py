"""Each entry of the native core gives back what it takes, with and without memory; `make test-references` for long."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import PURE_ONLY
from tests.entries.counting import ALLOWED, HEAP, growth

pytestmark = [pytest.mark.once, pytest.mark.skipif(PURE_ONLY, reason="the compiled core is left out")]
ROUNDS = 60
STARVED = (
    "ledger.hashing",
    "csp.codec.usual",
    "json.write",
    "json.canonical",
    "nslip.codec.encode",
    "space.format.opening",
    "log.views.text_views",  # and the scan that asks for it
)
"""Entries that are starved of memory in the suite; the rest with `python -m tests.entries.starving`."""
REACHING = ("decode-csp", "write", "nslip-many", "conform", "sections", "ledger", "arrow")
"""The targets of fuzzing whose calls of these entries are kept: all targets together add none."""


def test_every_entry_has_calls() -> None:
    from tests.entries.work import WHOLE, calls

    assert [name for name, made in calls().items() if not made] == []
    assert all(work() for work in WHOLE)
    assert len(calls()) > 80


def test_nothing_stays_behind() -> None:
    """A leak grows in every round, a cache does not: what grows in a few rounds is asked again, for longer."""
    from tests.entries.work import calls

    every = {id(call): (name, call) for name, made in calls().items() for call in made}
    grown = list(every.values())
    for rounds in (ROUNDS, 5 * ROUNDS, 20 * ROUNDS):
        grown = [(name, call) for name, call in grown if growth(call, rounds) > ALLOWED]
    assert [name for name, _ in grown] == []


def test_a_leak_is_seen() -> None:
    kept: list[Any] = []
    assert growth(lambda: kept.append(object()), 100) >= 1
    assert growth(object, 100) < ALLOWED


def test_a_leak_of_objects_that_hold_each_other_is_seen() -> None:
    kept: list[Any] = []

    def one(keep: bool) -> None:
        ring: list[Any] = [object()]
        ring.append(ring)
        if keep:
            kept.append(ring)

    assert growth(lambda: one(True), 100) >= 1
    assert growth(lambda: one(False), 100) < ALLOWED  # the collector finds these


@pytest.mark.skipif(HEAP is None, reason="nothing says what malloc has given out")
def test_a_leak_of_c_is_seen() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    library.free.argtypes = (ctypes.c_void_p,)
    taken: list[int] = []
    for size in (24, 5000, 1 << 20):
        assert growth(lambda size=size: taken.append(library.malloc(size)), 100) >= 1  # type: ignore[misc]
        assert growth(lambda size=size: library.free(library.malloc(size)), 100) < ALLOWED  # type: ignore[misc]
    for one in taken:
        library.free(one)


@pytest.mark.skipif(importlib.util.find_spec("_testcapi") is None, reason="the interpreter has no test module")
def test_without_memory_an_entry_refuses_or_does_its_work() -> None:
    """In a process of its own, which a crash would end."""
    code = f"import sys; from tests.entries.starving import main; sys.exit(main({STARVED!r}, {REACHING!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]
