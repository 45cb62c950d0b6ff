"""A persistent map: a change makes a new map that shares all but a path of nodes with the old one.

A hash array mapped trie with 32-way nodes. ``set`` and ``remove`` cost O(log n), two maps that came from one another
compare in the time of what they do not share, and a map, once made, never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, overload

_BITS = 5
_MASK = 31
_FEW = 4  # changes of a node that are made one after the other: that is sooner done than all at once
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
    added = 0
    if len(leaves) <= _FEW:
        for leaf in leaves:
            node, one = _with(node, shift, leaf)
            added += one
        return node, added
    groups: dict[int, list[Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(1 << ((leaf[2] >> shift) & _MASK), []).append(leaf)
    bitmap, *entries = node
    for bit, several in groups.items():
        place = _place(bitmap, bit) - 1
        if not bitmap & bit:
            bitmap |= bit
            entries.insert(place, several.pop())
            added += 1
        if several:
            entries[place], more = _entry_with_all(entries[place], shift + _BITS, several)
            added += more
    return (bitmap, *entries), added


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


def _without_all(node: Node, shift: int, gone: list[tuple[int, str]]) -> Node:
    """The node without many keys (hash, key) that are there: each node is made once."""
    if len(gone) <= _FEW:
        for one in gone:
            node = _without(node, shift, *one)
        return node
    groups: dict[int, list[tuple[int, str]]] = {}
    for one in gone:
        groups.setdefault(1 << ((one[0] >> shift) & _MASK), []).append(one)
    bitmap, *entries = node
    for bit, several in groups.items():
        place = _place(bitmap, bit) - 1
        entry = _entry_without_all(entries[place], shift + _BITS, several)
        if entry is None:
            bitmap ^= bit
            del entries[place]
        else:
            entries[place] = entry
    return (bitmap, *entries)


def _entry_without_all(entry: Any, shift: int, gone: list[tuple[int, str]]) -> Any:
    """An entry of a node without keys that are there; None where nothing is left."""
    if _is_node(entry):
        node = _without_all(entry, shift, gone)
        if len(node) == 2 and not _is_node(node[1]):
            return node[1]
        return node if len(node) > 1 else None
    keys = {key for _, key in gone}
    left: Any = None
    for one in _chain(entry):
        if one[0] not in keys:
            left = (*one[:3], left)
    return left


def _leaves_of(items: Mapping[str, str]) -> list[Leaf]:
    return [(key, value, _hash(key), None) for key, value in items.items()]


def _leaves(entry: Any) -> Iterator[Leaf]:
    waiting = [] if entry is None else [entry]
    while waiting:
        one = waiting.pop()
        if type(one[0]) is int:
            waiting += one[1:]
        else:
            yield from _chain(one) if one[3] else (one,)


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

    def changed_by(self, changes: Mapping[str, str | None]) -> PersistentMap:
        """A map with several changes: a value sets its key, None removes it where it is there."""
        gone = [
            (_hash(key), key) for key, value in changes.items() if value is None and self._find(key) is not _MISSING
        ]
        new = {key: value for key, value in changes.items() if value is not None}
        kept = self._made(_without_all(self._root, 0, gone), self._size - len(gone)) if gone else self
        return kept.update(new)

    def plain(self) -> dict[str, str]:
        """The same as a dict, in no order: all of it costs less than asking for each key."""
        return {leaf[0]: leaf[1] for leaf in _leaves(self._root)}

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
