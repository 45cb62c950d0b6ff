"""A persistent map: a change makes a new map that shares all but a path of nodes with the old one.

A hash array mapped trie with 32-way nodes. ``set`` and ``remove`` cost O(log n), two maps that came from one another
compare in the time of what they do not share, and a map, once made, never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_BITS = 5
_MASK = 31
_HASH_MASK = (1 << 60) - 1
_DEEPEST = 60
_MISSING: Any = object()

# A node is (bitmap, entry, entry, ...): the entry of a hash part is a leaf or a node; its place is the number of lower
# bits set. A leaf is _Leaf; keys whose 60 hash bits are all equal share one _Leaf chain at the bottom.
Node = tuple[Any, ...]
_EMPTY: Node = (0,)


class _Leaf:
    __slots__ = ("hash", "key", "next", "value")

    def __init__(self, hash_: int, key: str, value: str, next_: _Leaf | None = None) -> None:
        self.hash = hash_
        self.key = key
        self.value = value
        self.next = next_


def _hash(key: str) -> int:
    return hash(key) & _HASH_MASK


def _place(bitmap: int, bit: int) -> int:
    return (bitmap & (bit - 1)).bit_count() + 1


def _with(node: Node, shift: int, leaf: _Leaf) -> tuple[Node, bool]:
    bit = 1 << ((leaf.hash >> shift) & _MASK)
    bitmap = node[0]
    place = _place(bitmap, bit)
    if not bitmap & bit:
        return (bitmap | bit, *node[1:place], leaf, *node[place:]), True
    old = node[place]
    entry: Any
    added = True
    if type(old) is tuple:
        entry, added = _with(old, shift + _BITS, leaf)
    elif old.hash == leaf.hash:
        entry, added = _chain_with(old, leaf)
    else:
        entry, _ = _with(_with(_EMPTY, shift + _BITS, old)[0], shift + _BITS, leaf)
    return (*node[:place], entry, *node[place + 1 :]), added


def _chain_with(chain: _Leaf, leaf: _Leaf) -> tuple[_Leaf, bool]:
    kept = [(one.key, one.value) for one in _chain(chain) if one.key != leaf.key]
    added = len(kept) == sum(1 for _ in _chain(chain))
    result = _Leaf(leaf.hash, leaf.key, leaf.value)
    for key, value in kept:
        result = _Leaf(leaf.hash, key, value, result)
    return result, added


def _chain(leaf: _Leaf | None) -> Iterator[_Leaf]:
    while leaf is not None:
        yield leaf
        leaf = leaf.next


def _without(node: Node, shift: int, hash_: int, key: str) -> Node:
    """The node without a key that is there. An emptied child is dropped, a child with one leaf becomes the leaf."""
    bit = 1 << ((hash_ >> shift) & _MASK)
    place = _place(node[0], bit)
    old = node[place]
    entry: Any = None
    if type(old) is tuple:
        entry = _without(old, shift + _BITS, hash_, key)
        if len(entry) == 1:
            entry = None
        elif len(entry) == 2 and type(entry[1]) is not tuple:
            entry = entry[1]
    else:
        for one in _chain(old):
            if one.key != key:
                entry = _Leaf(one.hash, one.key, one.value, entry)
    if entry is None:
        return (node[0] ^ bit, *node[1:place], *node[place + 1 :])
    return (*node[:place], entry, *node[place + 1 :])


def _leaves(entry: Any) -> Iterator[_Leaf]:
    if type(entry) is tuple:
        for child in entry[1:]:
            yield from _leaves(child)
    elif entry is not None:
        yield from _chain(entry)


def _changed(left: Any, right: Any, shift: int) -> Iterator[str]:
    """Keys under two entries of the same place that may differ; shared entries are not entered."""
    if left is right:
        return
    if type(left) is tuple and type(right) is tuple:
        bits = left[0] | right[0]
        while bits:
            bit = bits & -bits
            bits ^= bit
            one = left[_place(left[0], bit)] if left[0] & bit else None
            other = right[_place(right[0], bit)] if right[0] & bit else None
            yield from _changed(one, other, shift + _BITS)
        return
    yield from {leaf.key for side in (left, right) for leaf in _leaves(side)}


class PersistentMap(Mapping[str, str]):
    """A frozen mapping of names to values; iterates in the order of the names."""

    __slots__ = ("_root", "_size")

    def __init__(self, items: Mapping[str, str] | None = None) -> None:
        self._root: Node = _EMPTY
        self._size = 0
        for key, value in (items or {}).items():
            self._root, added = _with(self._root, 0, _Leaf(_hash(key), key, value))
            self._size += added

    @classmethod
    def _made(cls, root: Node, size: int) -> PersistentMap:
        result = cls()
        result._root = root
        result._size = size
        return result

    def set(self, key: str, value: str) -> PersistentMap:
        """A map with ``key`` set to ``value``."""
        root, added = _with(self._root, 0, _Leaf(_hash(key), key, value))
        return self._made(root, self._size + added)

    def remove(self, key: str) -> PersistentMap:
        """A map without ``key``. Raises KeyError where it is not there."""
        if key not in self:
            raise KeyError(key)
        return self._made(_without(self._root, 0, _hash(key), key), self._size - 1)

    def _find(self, key: str) -> Any:
        hash_ = _hash(key)
        node: Any = self._root
        for shift in range(0, _DEEPEST + _BITS, _BITS):
            bit = 1 << ((hash_ >> shift) & _MASK)
            if not node[0] & bit:
                return _MISSING
            node = node[_place(node[0], bit)]
            if type(node) is not tuple:
                return next((leaf.value for leaf in _chain(node) if leaf.key == key), _MISSING)
        raise AssertionError("a trie is never deeper than its hashes")

    def __getitem__(self, key: str) -> str:
        value = self._find(key) if isinstance(key, str) else _MISSING
        if value is _MISSING:
            raise KeyError(key)
        found: str = value
        return found

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._find(key) is not _MISSING

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(leaf.key for leaf in _leaves(self._root)))

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"PersistentMap({dict(self)!r})"

    def changed(self, other: PersistentMap) -> list[str]:
        """Names whose presence or value differs between the two maps, in order."""
        return sorted(key for key in _changed(self._root, other._root, 0) if self.get(key) != other.get(key))
