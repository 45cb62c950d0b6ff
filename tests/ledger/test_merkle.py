"""RFC 9162 proofs against the recursive definitions of the standard, for every tree up to 70 leaves."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from turnwire.errors import RuleError
from turnwire.ledger import Ledger, merkle, rows

pytestmark = pytest.mark.once

LEAVES = tuple(sha256(bytes([0, number])).digest() for number in range(70))


@cache
def by_definition(leaves: tuple[bytes, ...]) -> bytes:
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + by_definition(leaves[:split]) + by_definition(leaves[split:])).digest()


def node(level: int, index: int) -> bytes:
    return by_definition(LEAVES[index << level : (index + 1) << level])


def test_the_known_roots_of_the_certificate_transparency_test_vectors() -> None:
    leaves = [b"", b"\x00", b"\x10", b"\x20\x21", b"\x30\x31", b"\x40\x41\x42\x43"]
    hashes = tuple(sha256(b"\0" + leaf).digest() for leaf in leaves)
    assert hashes[0].hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert by_definition(hashes[:2]).hex() == "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
    assert merkle.fold(hashes[:4]) == by_definition(hashes[:4])
    assert merkle.root(6, lambda level, at: by_definition(hashes[at << level : at + 1 << level])) == by_definition(
        hashes
    )


@pytest.mark.parametrize("size", range(71))
def test_roots_and_proofs_of_every_shape(size: int) -> None:
    expected = by_definition(LEAVES[:size])
    assert merkle.root(size, node) == expected
    for index in range(size):
        path = merkle.inclusion(index, size, node)
        assert merkle.root_from_inclusion(LEAVES[index], index, size, path) == expected
    for old in range(size + 1):
        path = merkle.consistency(old, size, node)
        roots = merkle.roots_from_consistency(old, size, by_definition(LEAVES[:old]), path)
        assert roots is not None
        assert roots[0] == by_definition(LEAVES[:old])
        assert roots[1] == expected or (old == 0 and roots[1] == b"")


def test_heads_and_proofs_hash_each_entry_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ever larger entries, a head after each would else cost many times what is written."""
    of_row = rows.leaf_of
    with Ledger(tmp_path / "a.ledger", synchronous="NORMAL") as ledger:
        hashed: list[int] = []
        for number in (1, 1, 3, 250, 1, 1, 40, 0, 220, 5):  # up to each side of a whole tile, and over one
            ledger.append_many(("x", b"y" * 9) for _ in range(number))
            size = len(ledger)
            hashed.clear()
            with monkeypatch.context() as patch:
                patch.setattr(rows, "leaf_of", lambda *row: hashed.append(row[0]) or of_row(*row))
                head = ledger.head()
            assert hashed == [*range(size - number + 1, size + 1)]
            assert (head.size, head.root) == (size, by_definition(tuple(entry.leaf for entry in ledger)).hex())
        raw = ledger._writer.connection  # type: ignore[union-attr]
        raw.execute("DROP TRIGGER entries_no_update")
        raw.execute("UPDATE entries SET body = X'00' WHERE rowid = 300")
        with pytest.raises(RuleError, match="entries up to 512 have changed"):
            ledger.prove(301)
        assert ledger.prove(1).holds(head)
