"""Errors of checkpoints and proofs that are none; which checkpoints continue each other: without a file."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from turnwire import Reason, RuleError
from turnwire.ledger import Checkpoint, ConsistencyProof, InclusionProof, merkle

LEAVES = [hashlib.sha256(bytes([0, number])).digest() for number in range(12)]


def node(level: int, index: int) -> bytes:
    if not level:
        return LEAVES[index]
    return hashlib.sha256(b"\x01" + node(level - 1, 2 * index) + node(level - 1, 2 * index + 1)).digest()


def head(size: int) -> Checkpoint:
    return Checkpoint("ab" * 8, size, merkle.root(size, node).hex(), f"{size:064x}", "2026-01-15T00:00:00Z")


def bent_heads() -> tuple[dict[str, Any], ...]:
    return {"root": "00" * 32}, {"size": 99}


def consistency(old: int, new: int) -> ConsistencyProof:
    path = tuple(merkle.consistency(old, new, node))
    return ConsistencyProof(old, new, path, merkle.root(old, node), merkle.root(new, node))


FIELDS: dict[str, Any] = {**json.loads(head(3).to_json()), "key": "aa", "signature": "bb"}


@pytest.mark.parametrize(
    "changes",
    [
        {"odd": 1},
        *({name: value} for name in ("ledger", "root", "chain", "time") for value in (None, 1, ...)),
        *({"size": value} for value in (None, "3", 3.0, True, ...)),
        *({name: value} for name in ("key", "signature") for value in (None, 1, [])),
    ],
)
def test_what_is_no_checkpoint_is_refused(changes: dict[str, Any]) -> None:
    fields = {name: value for name, value in (FIELDS | changes).items() if value is not ...}
    with pytest.raises(RuleError) as caught:
        Checkpoint.from_json(json.dumps(fields))
    assert (caught.value.reason, caught.value.rule) == (Reason.BAD_CHECKPOINT, "checkpoint")
    assert next(iter(changes)) in caught.value.text


@pytest.mark.parametrize("text", ["", "{", '{"a":1}x', "[]", "3", "null"])
def test_what_is_no_object_is_no_checkpoint(text: str) -> None:
    with pytest.raises(RuleError) as caught:
        Checkpoint.from_json(text)
    assert caught.value.reason is Reason.BAD_CHECKPOINT


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
@pytest.mark.parametrize("new", range(6))
def test_a_proof_holds_between_its_own_two_heads(old: int, new: int) -> None:
    if old > new:
        with pytest.raises(IndexError, match=f"^a tree of {new} leaves does not continue one of {old}$"):
            merkle.consistency(old, new, node)
        return
    proof = consistency(old, new)
    before, after = head(old), head(new)
    assert proof.holds() and proof.holds(before) and proof.holds(None, after) and proof.holds(before, after)
    for change in bent_heads():
        assert not proof.holds(before._replace(**change)) and not proof.holds(None, after._replace(**change))
        assert not proof.holds(before, after._replace(**change))
    assert not proof._replace(old_root=b"x").holds()
    if old:
        assert not proof._replace(new_root=b"x").holds()
    for path in ((*proof.path, LEAVES[0]), proof.path[:-1] if proof.path else (LEAVES[0],)):
        assert not proof._replace(path=path).holds()


@pytest.mark.parametrize("size", range(1, 12))
def test_a_path_of_another_length_leads_nowhere(size: int) -> None:
    for index in range(size):
        path = merkle.inclusion(index, size, node)
        top = merkle.root(size, node)
        proof = InclusionProof(index + 1, size, LEAVES[index], tuple(path), top)
        assert proof.holds(head(size), leaf=LEAVES[index])
        assert not proof.holds(head(size), leaf=LEAVES[index - 1]) or size == 1
        for change in bent_heads():
            assert not proof.holds(head(size)._replace(**change))
        assert not proof._replace(root=LEAVES[-1]).holds()
        for wrong in ([*path, LEAVES[0]], path[:-1] if path else [LEAVES[0]], [*path, *path, LEAVES[0]]):
            assert merkle.root_from_inclusion(LEAVES[index], index, size, wrong) is None
    for index in (-1, size, size + 1):
        assert merkle.root_from_inclusion(LEAVES[0], index, size, []) is None
        with pytest.raises(IndexError, match=f"^leaf {index} is not in a tree of {size}$"):
            merkle.inclusion(index, size, node)
    for old in range(1, size):
        path = merkle.consistency(old, size, node)
        for wrong in ([*path, LEAVES[0]], path[:-1], [], [*path, *path, LEAVES[0]]):
            assert merkle.roots_from_consistency(old, size, merkle.root(old, node), wrong) is None
    assert merkle.roots_from_consistency(-1, size, b"", []) is None
    assert merkle.roots_from_consistency(0, 0, b"x", []) == (b"x", b"x")
