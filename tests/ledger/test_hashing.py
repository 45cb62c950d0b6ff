"""The hashing twins: SHA-256 of any length against hashlib, and the same answers for the same rows."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import PURE_ONLY
from turnwire.ledger import _hashing_py as pure

if PURE_ONLY:
    pytest.skip("there is no twin to compare with", allow_module_level=True)

from turnwire._backend import core_module
from turnwire._native.ledger import hashing as native

START = b"s" * 32
ITEMS = st.lists(st.tuples(st.text(max_size=9), st.binary(max_size=300), st.text(max_size=600)), max_size=9)


@pytest.fixture(params=[False, True], ids=["machine", "portable"], autouse=True)
def instructions(request: pytest.FixtureRequest) -> Iterator[None]:
    native.use_portable(request.param)
    yield
    native.use_portable(False)


def test_every_length_in_two_pieces() -> None:
    text = bytes(range(256)) * 2
    for size in range(260):
        for cut in {0, 1, size // 2, size - 1, size, 63, 64, 65, 23}:
            if 0 <= cut <= size:
                assert native.digest(text[:cut], text[cut:size]) == sha256(text[:size]).digest(), (size, cut)
    assert native.digest(b"", b"x" * 1_000_003) == sha256(b"x" * 1_000_003).digest()


@given(last=st.integers(0, 2**62), at=st.integers(-(2**63), 2**63 - 1), items=ITEMS)
def test_the_twins_seal_and_follow_alike(last: int, at: int, items: list[Any]) -> None:
    try:
        rows, leaves, chain = pure.seal(last, at, items, START)
    except UnicodeEncodeError:
        with pytest.raises(UnicodeEncodeError):
            native.seal(last, at, items, START)
        return
    assert native.seal(last, at, items, START) == (rows, leaves, chain)
    assert native.follow(rows, last, START) == pure.follow(rows, last, START) == (leaves, chain, None)
    for row, leaf in zip(rows, leaves, strict=True):
        assert native.leaf_of(*row[:5]) == pure.leaf_of(*row[:5]) == leaf
        assert native.link(START, leaf) == pure.link(START, leaf)


@pytest.mark.parametrize("size", [0, 1, 55, 56, 64, 2000, 4000, 0xFFFF, 0x10000, 0x10001, 70_000])
def test_a_kind_has_65535_bytes_at_most(size: int) -> None:
    """Its size stands in two bytes in front of it; a key may have any."""
    for letters, width in (("k", 1), ("\u00e9", 2)):
        kind = (letters * size)[: size // width]
        found = [hashed(core.leaf_of, 1, 2, kind, "key", b"body") for core in (native, pure)]
        assert found[0] == found[1]
        assert (found[0] is None) == (len(kind.encode()) > 0xFFFF)
        keyed = [core.leaf_of(1, 2, "k", kind, b"body") for core in (native, pure)]
        assert keyed[0] == keyed[1]


def hashed(call: Any, *arguments: Any) -> bytes | None:
    """What a call gives; None where a size is too large for its place."""
    try:
        found: bytes = call(*arguments)
    except (OverflowError, struct.error):
        return None
    return found


VALUES = st.none() | st.integers() | st.floats() | st.binary(max_size=40) | st.text(max_size=5) | st.just("\ud800")


@given(items=ITEMS.filter(bool), column=st.integers(0, 5), value=VALUES, data=st.data())
def test_the_twins_find_the_same_fault(items: list[Any], column: int, value: Any, data: st.DataObject) -> None:
    rows, _, _ = pure.seal(7, 1, items, START)
    at = data.draw(st.integers(0, len(rows) - 1))
    bent = list(rows[at])
    same = bent[column] == value and type(bent[column]) is type(value)
    bent[column] = value
    rows[at] = tuple(bent)  # type: ignore[call-overload]
    found = pure.follow(rows, 7, START)
    assert native.follow(rows, 7, START) == found
    assert (found[2] is None) is same or (column == 0 and value == at + 8)


@pytest.mark.parametrize("count", [1, 2, 4, 8, 256])
def test_the_twins_fold_alike(count: int) -> None:
    leaves = [sha256(bytes([number % 256])).digest() for number in range(count)]
    assert native.fold(leaves) == pure.fold(leaves)


def test_what_is_no_hash_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        native.link(b"short", START)
    with pytest.raises(TypeError):
        native.fold([None])


@pytest.mark.parametrize("call", ["follow", "seal", "fold"])
def test_what_is_no_row_is_refused_by_both_ledgers(call: str, backend: str) -> None:
    core = core_module(backend, "ledger.hashing")
    start = bytes(32)
    if call == "follow":
        with pytest.raises(ValueError, match="value"):
            core.follow([(1, 2)], 0, start)
    elif call == "seal":
        with pytest.raises(ValueError, match="value"):
            core.seal(0, 5, [("k",)], start)
        with pytest.raises(TypeError):
            core.seal(0, 5, [("k", None, "x")], start)
    else:
        for wrong in ([], [start] * 3):
            with pytest.raises(IndexError):
                core.fold(wrong)
