"""A persistent map: a change makes a new map that shares all but a path of nodes with the old one.

A hash array mapped trie with 32-way nodes. ``set`` and ``remove`` cost O(log n), two maps that came from one another
compare in the time of what they do not share, and a map, once made, never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, overload

_BITS = 5
_MASK = 31
_HASH_MASK = (1 << 60) - 1
_MISSING: Any = object()
_Default = TypeVar("_Default")

# A node is (bitmap, entry, entry, ...): the entry of a hash part is a leaf or a node; its place is the number of lower
# bits set. A leaf is (key, value, hash, next leaf or None); keys with equal hashes share one chain at the bottom. All
# are plain tuples of plain values: the garbage collector stops looking at them.
Node = tuple[Any, ...]
Leaf = tuple[str, str, int, Any]
_EMPTY: Node = (0,)


def _is_node(entry: Any) -> bool:
    return type(entry[0]) is int


def _hash(key: str) -> int:
    return hash(key) & _HASH_MASK


def _place(bitmap: int, bit: int) -> int:
    return (bitmap & (bit - 1)).bit_count() + 1


def _with(node: Node, shift: int, leaf: Leaf) -> tuple[Node, bool]:
    bit = 1 << ((leaf[2] >> shift) & _MASK)
    bitmap = node[0]
    place = _place(bitmap, bit)
    if not bitmap & bit:
        return (bitmap | bit, *node[1:place], leaf, *node[place:]), True
    old = node[place]
    entry: Any
    added = True
    if type(old[0]) is int:
        entry, added = _with(old, shift + _BITS, leaf)
    elif old[2] == leaf[2]:
        entry, added = _chain_with(old, leaf)
    else:
        entry, _ = _with(_with(_EMPTY, shift + _BITS, old)[0], shift + _BITS, leaf)
    return (*node[:place], entry, *node[place + 1 :]), added


def _with_all(node: Node, shift: int, leaves: list[Leaf]) -> tuple[Node, int]:
    """The node with many leaves of different keys, and how many of the keys are new: each node is made once."""
    if len(leaves) == 1:
        return _with(node, shift, leaves[0])
    groups: dict[int, list[Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(1 << ((leaf[2] >> shift) & _MASK), []).append(leaf)
    there: dict[int, Any] = {}
    if node[0]:
        bits = (1 << place for place in range(_MASK + 1) if node[0] >> place & 1)
        there.update(zip(bits, node[1:], strict=True))
    added = 0
    for bit, several in groups.items():
        entry = there.get(bit)
        if entry is None:
            entry = several.pop()
            added += 1
        if several:
            entry, more = _entry_with_all(entry, shift + _BITS, several)
            added += more
        there[bit] = entry
    order = sorted(there)
    return (sum(order), *map(there.__getitem__, order)), added


def _entry_with_all(entry: Any, shift: int, leaves: list[Leaf]) -> tuple[Any, int]:
    """An entry of a node with further leaves of its place; shift: of the node that it is or becomes."""
    added = 0
    if not _is_node(entry):
        if all(leaf[2] == entry[2] for leaf in leaves):
            for leaf in leaves:
                entry, new = _chain_with(entry, leaf)
                added += new
            return entry, added
        entry = _with(_EMPTY, shift, entry)[0]
    return _with_all(entry, shift, leaves)


def _chain_with(chain: Leaf, leaf: Leaf) -> tuple[Leaf, bool]:
    result: Any = None
    added = True
    for one in _chain(chain):
        if one[0] == leaf[0]:
            added = False
        else:
            result = (*one[:3], result)
    return (*leaf[:3], result), added


def _chain(leaf: Any) -> Iterator[Leaf]:
    while leaf is not None:
        yield leaf
        leaf = leaf[3]


def _without(node: Node, shift: int, hash_: int, key: str) -> Node:
    """The node without a key that is there. An emptied child is dropped, a child with one leaf becomes the leaf."""
    bit = 1 << ((hash_ >> shift) & _MASK)
    place = _place(node[0], bit)
    old = node[place]
    entry: Any = None
    if _is_node(old):
        entry = _without(old, shift + _BITS, hash_, key)
        if len(entry) == 1:
            entry = None
        elif len(entry) == 2 and not _is_node(entry[1]):
            entry = entry[1]
    else:
        for one in _chain(old):
            if one[0] != key:
                entry = (*one[:3], entry)
    if entry is None:
        return (node[0] ^ bit, *node[1:place], *node[place + 1 :])
    return (*node[:place], entry, *node[place + 1 :])


def _leaves_of(items: Mapping[str, str]) -> list[Leaf]:
    return [(key, value, _hash(key), None) for key, value in items.items()]


def _leaves(entry: Any) -> Iterator[Leaf]:
    if entry is None:
        return
    if not _is_node(entry):
        yield from _chain(entry)
        return
    for child in entry[1:]:
        yield from _leaves(child)


def _changed(left: Any, right: Any) -> Iterator[str]:
    """Keys under two entries of the same place that may differ; shared entries are not entered."""
    if left is right:
        return
    if left is not None and right is not None and _is_node(left) and _is_node(right):
        bits = left[0] | right[0]
        while bits:
            bit = bits & -bits
            bits ^= bit
            one = left[_place(left[0], bit)] if left[0] & bit else None
            other = right[_place(right[0], bit)] if right[0] & bit else None
            yield from _changed(one, other)
        return
    yield from {leaf[0] for side in (left, right) for leaf in _leaves(side)}


class PersistentMap(Mapping[str, str]):
    """A frozen mapping of names to values; iterates in the order of the names."""

    __slots__ = ("_root", "_size")

    def __init__(self, items: Mapping[str, str] | None = None) -> None:
        self._root: Node = _EMPTY
        self._size = 0
        if items:
            self._root, self._size = _with_all(_EMPTY, 0, _leaves_of(items))

    @classmethod
    def _made(cls, root: Node, size: int) -> PersistentMap:
        result = cls()
        result._root = root
        result._size = size
        return result

    def set(self, key: str, value: str) -> PersistentMap:
        """A map with ``key`` set to ``value``."""
        root, added = _with(self._root, 0, (key, value, _hash(key), None))
        return self._made(root, self._size + added)

    def update(self, items: Mapping[str, str]) -> PersistentMap:
        """A map with several keys set."""
        if not items:
            return self
        root, added = _with_all(self._root, 0, _leaves_of(items))
        return self._made(root, self._size + added)

    def remove(self, key: str) -> PersistentMap:
        """A map without ``key``. Raises KeyError where it is not there."""
        if key not in self:
            raise KeyError(key)
        return self._made(_without(self._root, 0, _hash(key), key), self._size - 1)

    def _find(self, key: str) -> Any:
        left = hash_ = _hash(key)
        node: Any = self._root
        while type(bitmap := node[0]) is int:  # every name that is spoken comes by here
            bit = 1 << (left & _MASK)
            if not bitmap & bit:
                return _MISSING
            node = node[(bitmap & (bit - 1)).bit_count() + 1]
            left >>= _BITS
        if node[2] != hash_:
            return _MISSING
        while node[0] != key:
            node = node[3]
            if node is None:
                return _MISSING
        return node[1]

    @overload
    def get(self, key: str, /) -> str | None: ...

    @overload
    def get(self, key: str, /, default: str | _Default) -> str | _Default: ...

    def get(self, key: str, /, default: Any = None) -> Any:
        """The value of ``key``, or ``default``."""
        value = self._find(key) if isinstance(key, str) else _MISSING
        return default if value is _MISSING else value

    def __getitem__(self, key: str) -> str:
        value = self._find(key) if isinstance(key, str) else _MISSING
        if value is _MISSING:
            raise KeyError(key)
        found: str = value
        return found

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._find(key) is not _MISSING

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(leaf[0] for leaf in _leaves(self._root)))

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"PersistentMap({dict(self)!r})"

    def changed(self, other: PersistentMap) -> list[str]:
        """Names whose presence or value differs between the two maps, in order."""
        return sorted(key for key in _changed(self._root, other._root) if self.get(key) != other.get(key))
