"""Hashes, the chain, the tree of RFC 9162, and proofs and checkpoints as objects: all without a file, but for costs."""

from __future__ import annotations

import json
import struct
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.conftest import raised
from turnwire import Reason, RuleError
from turnwire.ledger import Checkpoint, ConsistencyProof, InclusionProof, Ledger, rows
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


def test_hashes_are_those_of_the_documents() -> None:
    """A kind has 65,535 bytes at most: its size stands in two bytes. Equal bytes of other names hash otherwise."""
    assert len(leaf_of(1, 2, "k" * 0xFFFF, "key", b"body")) == 32
    raised(struct.error, leaf_of, 1, 2, "k" * 0x10000, "key", b"body")
    names = (("ab", "c", b"d"), ("a", "bc", b"d"), ("a", "b", b"cd"))
    assert len({leaf_of(1, 2, kind, key, body) for kind, key, body in names}) == 3
    a, b = sha256(b"a").digest(), sha256(b"b").digest()
    assert link(a, b) == sha256(b"\x02" + a + b).digest()
    assert rows.fold([a]) == a and rows.fold([a, b]) == sha256(b"\x01" + a + b).digest()


LEAVES = tuple(sha256(bytes([0, number])).digest() for number in range(70))


@cache
def by_definition(leaves: tuple[bytes, ...]) -> bytes:
    """The recursive definition of the standard."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else sha256(b"").digest()
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    return sha256(b"\x01" + by_definition(leaves[:split]) + by_definition(leaves[split:])).digest()


def node(level: int, index: int) -> bytes:
    return by_definition(LEAVES[index << level : (index + 1) << level])


def test_the_known_roots_of_the_certificate_transparency_test_vectors() -> None:
    leaves = [b"", b"\x00", b"\x10", b"\x20\x21", b"\x30\x31", b"\x40\x41\x42\x43"]
    hashes = tuple(sha256(b"\0" + leaf).digest() for leaf in leaves)
    assert hashes[0].hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert by_definition(hashes[:2]).hex() == "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
    assert rows.fold(hashes[:4]) == by_definition(hashes[:4])
    found = rows.root(6, lambda level, at: by_definition(hashes[at << level : at + 1 << level]))
    assert found == by_definition(hashes)


@pytest.mark.parametrize("size", range(71))
def test_roots_and_proofs_of_every_shape(size: int) -> None:
    expected = by_definition(LEAVES[:size])
    assert rows.root(size, node) == expected
    for index in range(size):
        path = rows.inclusion(index, size, node)
        assert rows.root_from_inclusion(LEAVES[index], index, size, path) == expected
    for old in range(size + 1):
        path = rows.consistency(old, size, node)
        before = by_definition(LEAVES[:old])
        found = rows.roots_from_consistency(old, size, before, path)
        assert found == (before, expected) or (old == 0 and found == (before, b""))


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
        raw: Any = ledger._writer
        raw.execute("DROP TRIGGER entries_no_update")
        raw.execute("UPDATE entries SET body = X'00' WHERE rowid = 300")
        with pytest.raises(RuleError, match="entries up to 512 have changed"):
            ledger.prove(301)
        assert ledger.prove(1).holds(head)


# ---------------------------------------------------------------- checkpoints and proofs


def head(size: int) -> Checkpoint:
    return Checkpoint("ab" * 8, size, rows.root(size, node).hex(), f"{size:064x}", "2026-01-15T00:00:00Z")


BENT_HEADS: tuple[dict[str, Any], ...] = ({"root": "00" * 32}, {"size": 99})
FIELDS: dict[str, Any] = {**json.loads(head(3).to_json()), "key": "aa", "signature": "bb"}


@pytest.mark.parametrize(
    "changes",
    [
        *("", "{", '{"a":1}x', "[]", "3", "null"),
        {"odd": 1},
        *({name: value} for name in ("ledger", "root", "chain", "time") for value in (None, 1, ...)),
        *({"size": value} for value in (None, "3", 3.0, True, ...)),
        *({name: value} for name in ("key", "signature") for value in (None, 1, [])),
    ],
    ids=str,
)
def test_what_is_no_checkpoint_is_refused(changes: dict[str, Any] | str) -> None:
    text = (
        changes
        if isinstance(changes, str)
        else json.dumps({name: value for name, value in (FIELDS | changes).items() if value is not ...})
    )
    caught = raised(RuleError, Checkpoint.from_json, text)
    assert (caught.reason, caught.rule) == (Reason.BAD_CHECKPOINT, "checkpoint")
    assert isinstance(changes, str) or next(iter(changes)) in caught.text


def test_a_checkpoint_without_key_or_signature_is_one() -> None:
    for left_out in ((), ("key",), ("signature",), ("key", "signature")):
        fields = {name: value for name, value in FIELDS.items() if name not in left_out}
        made = Checkpoint.from_json(json.dumps(fields))
        assert json.loads(made.to_json()) == fields
        assert (made.key, made.signature) == (fields.get("key"), fields.get("signature"))


@pytest.mark.parametrize(
    ("made", "names"),
    [(InclusionProof, "seq, size, leaf, path, root"), (ConsistencyProof, "old, new, path, old_root, new_root")],
)
def test_a_proof_that_lacks_a_field_names_all(made: Any, names: str) -> None:
    whole = {"seq": 1, "size": 2, "old": 1, "new": 2, "path": ["00"], "leaf": "01", "root": "02", "old_root": "03"}
    whole["new_root"] = "04"
    fields = {name: whole[name] for name in names.split(", ")}
    assert made.from_dict({**fields, "more": 1}).to_dict() == fields
    for name in fields:
        with pytest.raises(ValueError, match=f"^a proof has the fields {names}$"):
            made.from_dict({key: value for key, value in fields.items() if key != name})


@pytest.mark.parametrize("old", range(6))
def test_a_proof_holds_between_its_own_two_heads(old: int) -> None:
    for new in range(old):
        with pytest.raises(IndexError, match=f"^a tree of {new} leaves does not continue one of {old}$"):
            rows.consistency(old, new, node)
    for new in range(old, 6):
        path = tuple(rows.consistency(old, new, node))
        proof = ConsistencyProof(old, new, path, rows.root(old, node), rows.root(new, node))
        before, after = head(old), head(new)
        assert proof.holds() and proof.holds(before) and proof.holds(None, after) and proof.holds(before, after)
        for change in BENT_HEADS:
            assert not proof.holds(before._replace(**change)) and not proof.holds(None, after._replace(**change))
            assert not proof.holds(before, after._replace(**change))
        assert not proof._replace(old_root=b"x").holds()
        assert not old or not proof._replace(new_root=b"x").holds()
        for wrong in ((*path, LEAVES[0]), path[:-1] if path else (LEAVES[0],)):
            assert not proof._replace(path=wrong).holds()


@pytest.mark.parametrize("size", range(1, 12))
def test_a_path_of_another_length_leads_nowhere(size: int) -> None:
    for index in range(size):
        path = rows.inclusion(index, size, node)
        proof = InclusionProof(index + 1, size, LEAVES[index], tuple(path), rows.root(size, node))
        assert proof.holds(head(size), leaf=LEAVES[index])
        assert not proof.holds(head(size), leaf=LEAVES[index + 1])
        for change in BENT_HEADS:
            assert not proof.holds(head(size)._replace(**change))
        assert not proof._replace(root=LEAVES[-1]).holds()
        for wrong in ([*path, LEAVES[0]], path[:-1] if path else [LEAVES[0]], [*path, *path, LEAVES[0]]):
            assert rows.root_from_inclusion(LEAVES[index], index, size, wrong) is None
    for index in (-1, size, size + 1):
        assert rows.root_from_inclusion(LEAVES[0], index, size, []) is None
        with pytest.raises(IndexError, match=f"^leaf {index} is not in a tree of {size}$"):
            rows.inclusion(index, size, node)
    for old in range(1, size):
        path = rows.consistency(old, size, node)
        for wrong in ([*path, LEAVES[0]], path[:-1], [], [*path, *path, LEAVES[0]]):
            assert rows.roots_from_consistency(old, size, rows.root(old, node), wrong) is None
    assert rows.roots_from_consistency(-1, size, b"", []) is None
    assert rows.roots_from_consistency(0, 0, b"x", []) == (b"x", b"x")
