"""What a definition changes of another: random ones out of few names, marks and values, on both cores."""

from __future__ import annotations

import random
from importlib import import_module
from itertools import count
from typing import Any

import pytest

from tests.conftest import BACKENDS
from turnwire.session._drafts_py import Array, Given, Member, merged
from turnwire.session.definitions import key_of

Chance = random.Random
CORES = [import_module(f"turnwire._{backend}.session.drafts") for backend in BACKENDS]
NAMES = ("a", "b", "c", "d", "e f", "é")
MARKS = ("", "", "", "?", "~", "=id", "$")
TEXTS = ("null", "5", "word", '"x y"', "true", "é", "a:b", '"&!null"', "[1]")


def draft(chance: Chance, leaves: Any, depth: int = 2) -> list[Member]:
    """A draft, whose leaves are numbered on."""
    found = []
    for name in chance.sample(NAMES, chance.randrange(1 if depth < 2 else 0, 5)):
        kind, node = chance.random(), None
        if depth and kind < 0.2:
            node = draft(chance, leaves, depth - 1)
        elif depth and kind < 0.4:
            node = Array([draft(chance, leaves, depth - 1) for _ in range(chance.randrange(1, 4))])
        found.append(Member(name, chance.choice(MARKS), next(leaves) if node is None else node))
    return found


def again(chance: Chance, node: Any, leaves: Any) -> Any:
    """A draft that is much like another: now and then a member goes, comes, moves, or is another one."""
    if isinstance(node, Array):
        items = [again(chance, each, leaves) for each in node.items]
        return Array(items[: chance.choice((None, None, None, 1))])
    if not isinstance(node, list):
        return next(leaves)
    found = [Member(one.name, one.mark, again(chance, one.node, leaves)) for one in node]
    for _ in range(chance.choice((0, 0, 0, 1, 2, 3))):
        change, at = chance.randrange(4), chance.randrange(len(found) + 1)
        free = [name for name in NAMES if name not in {one.name for one in found}]
        if change == 0 and free:
            found.insert(at, Member(chance.choice(free), chance.choice(MARKS), next(leaves)))
        elif found and change == 1:
            del found[at - 1]
        elif found and change == 2:
            found.insert(at - 1, found.pop(chance.randrange(len(found))))
        elif found:
            found[at - 1] = found[at - 1]._replace(mark=chance.choice(MARKS))
    return found


def named(node: Any) -> Any:
    """A draft without the numbers of its leaves."""
    if isinstance(node, Array):
        return Array([named(each) for each in node.items])
    return [(one.name, one.mark, named(one.node)) for one in node] if isinstance(node, list) else None


@pytest.mark.parametrize("seed", range(8))
def test_what_makes_one_of_another(seed: int) -> None:
    chance, told, unsaid = random.Random(seed), 0, 0
    for _ in range(150):
        base_leaves, leaves = count(), count()
        base = draft(chance, base_leaves)
        target = again(chance, base, leaves)
        same = [number if chance.random() < 0.7 else -1 for number in range(next(leaves))]
        first, *others = (core.changes(base, target, same) for core in CORES)
        assert others in ([], [first])
        if first is None:
            unsaid += 1
            continue
        told += 1
        assert named(merged(base, first)) == named(target)
        texts = [chance.choice(TEXTS) for _ in same]
        for one in (first, target):
            written = {core.written(one, texts, key_of) for core in CORES}
            assert len(written) == 1
    assert told > 50 and unsaid > 5


@pytest.mark.parametrize("core", CORES)
def test_examples(core: Any) -> None:
    """Arrays are told whole where anything in them is; a member that goes makes room for one that comes."""
    base = [
        Member("a", "", 0),
        Member("b", "", Array([[Member("x", "", 1)], [Member("y", "", 2)]])),
        Member("c", "", 3),
    ]
    assert core.changes(base, base, [0, 1, 2, 3]) == []
    assert core.changes(base, base, [0, 1, -1, 3]) == [base[1]]
    assert core.changes(base, base, [-1, 1, 2, 3]) == [base[0]]
    shorter = [base[0], Member("b", "", Array([[Member("x", "", 1)]])), base[2]]
    assert core.changes(base, shorter, [0, 1, 2, 3]) == [shorter[1]]
    other = [base[0], Member("n", "?", 1), base[2]]
    gone = Member("b", "-", Given(b"0"))
    assert core.changes(base, other, [0, 1, 2, 3]) == [gone, other[1]]
    assert core.changes(base, base[:1], [0]) == [gone, Member("c", "-", Given(b"0"))]
    assert core.changes(base, [base[2], base[0]], [0, 1, 2, 3]) is None
    texts = ["1", "null", "word", "é"]
    assert core.written(base, texts, key_of) == "{a:1 b:[{x:null},{y word}] c é}"
    assert core.written([gone, other[1]], texts, key_of) == "{b- n?}"
