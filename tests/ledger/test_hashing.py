"""Hashes of entries: what follows a chain, and what does not."""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, strategies as st

from turnwire.errors import RuleError
from turnwire.ledger import merkle
from turnwire.ledger.rows import leaf_of, link, proved, seal

pytestmark = pytest.mark.once

START = b"s" * 32
NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=9)
ITEMS = st.lists(st.tuples(NAMES, st.binary(max_size=300), NAMES), max_size=9)
VALUES = st.none() | st.integers() | st.floats() | st.binary(max_size=40) | st.text(max_size=5) | st.just("\ud800")


@given(last=st.integers(0, 2**62), at=st.integers(-(2**63), 2**63 - 1), items=ITEMS)
def test_sealed_rows_follow(last: int, at: int, items: list[Any]) -> None:
    rows, chain = seal(last, at, items, START)
    assert [row[0] for row in rows] == list(range(last + 1, last + 1 + len(items)))
    for before, row in zip([START, *(row[5] for row in rows)], rows, strict=False):
        assert proved((before, *row), START) == row and link(before, leaf_of(*row[:5])) == row[5]
    assert chain == [START, *(row[5] for row in rows)][-1]


@given(column=st.integers(0, 6), value=VALUES, item=ITEMS.filter(bool))
def test_a_row_is_proved_by_its_own_link_and_the_one_before(column: int, value: Any, item: list[Any]) -> None:
    rows, _ = seal(7, 1, item[:1], START)
    bent = [START, *rows[0]]
    same = bent[column] == value and type(bent[column]) is type(value)
    bent[column] = value
    if same:
        assert proved(tuple(bent), b"") == rows[0]
    else:
        with pytest.raises(RuleError, match="not the one that was appended"):
            proved(tuple(bent), b"")


@pytest.mark.parametrize("size", [0, 1, 0xFFFF, 0x10000])
def test_a_kind_has_65535_bytes_at_most(size: int) -> None:
    """Its size stands in two bytes in front of it."""
    if size <= 0xFFFF:
        assert len(leaf_of(1, 2, "k" * size, "key", b"body")) == 32
    else:
        with pytest.raises(struct.error):
            leaf_of(1, 2, "k" * size, "key", b"body")


def test_names_and_bodies_of_equal_bytes_are_not_mixed_up() -> None:
    assert (
        len(
            {
                leaf_of(1, 2, kind, key, body)
                for kind, key, body in (("ab", "c", b"d"), ("a", "bc", b"d"), ("a", "b", b"cd"))
            }
        )
        == 3
    )


def test_the_chain_and_the_tree_are_those_of_rfc_9162() -> None:
    a, b = sha256(b"a").digest(), sha256(b"b").digest()
    assert link(a, b) == sha256(b"\x02" + a + b).digest()
    assert merkle.fold([a]) == a and merkle.fold([a, b]) == sha256(b"\x01" + a + b).digest()
