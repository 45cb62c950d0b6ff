"""The Merkle tree of RFC 9162, section 2.1: roots, inclusion and consistency proofs, and their verification.

A tree is given by a function ``node(level, index)``: the hash of the complete subtree over the leaves
``index * 2**level`` up to ``(index + 1) * 2**level``. Nothing here knows where leaves are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

Node = Callable[[int, int], bytes]

EMPTY_ROOT = sha256().digest()


def leaf_hash(data: bytes) -> bytes:
    """The hash of one leaf: SHA-256(0x00 || data)."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: SHA-256(0x01 || left || right)."""
    return sha256(b"\x01" + left + right).digest()


class Frontier:
    """The right edge of a growing tree: the roots of its complete subtrees, largest first.

    Attributes:
        size: how many leaves were pushed.
    """

    __slots__ = ("_roots", "size")

    def __init__(self) -> None:
        self._roots: list[bytes] = []
        self.size = 0

    def push(self, leaf: bytes) -> list[bytes]:
        """Adds a leaf hash; answers the hashes of the subtrees it completes, from level 0 upwards."""
        completed = [leaf]
        roots = self._roots
        count = self.size
        while count & 1:
            leaf = sha256(b"\x01" + roots.pop() + leaf).digest()
            completed.append(leaf)
            count >>= 1
        roots.append(leaf)
        self.size += 1
        return completed

    def root(self) -> bytes:
        """The root over all leaves pushed so far."""
        return _fold(self._roots)


def _fold(roots: Sequence[bytes]) -> bytes:
    if not roots:
        return EMPTY_ROOT
    top = roots[-1]
    for left in reversed(roots[:-1]):
        top = node_hash(left, top)
    return top


def subtree(start: int, end: int, node: Node) -> bytes:
    """The root over the leaves ``start .. end``; ``start`` is a multiple of the power of two that covers the range."""
    roots = []
    while start < end:
        level = (end - start).bit_length() - 1
        roots.append(node(level, start >> level))
        start += 1 << level
    return _fold(roots)


def root(size: int, node: Node) -> bytes:
    """The root of a tree of ``size`` leaves (section 2.1.1)."""
    return subtree(0, size, node)


def inclusion(index: int, size: int, node: Node) -> list[bytes]:
    """The proof that leaf ``index`` is in the tree of ``size`` leaves (section 2.1.3.1)."""
    if not 0 <= index < size:
        raise IndexError(f"leaf {index} is not in a tree of {size}")
    path: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(subtree(middle, end, node))
            end = middle
        else:
            path.append(subtree(start, middle, node))
            start = middle
    return path[::-1]


def _split(size: int) -> int:
    """The largest power of two smaller than ``size``."""
    return 1 << ((size - 1).bit_length() - 1)


def consistency(old: int, new: int, node: Node) -> list[bytes]:
    """The proof that the tree of ``new`` leaves continues the tree of ``old`` leaves (section 2.1.4.1)."""
    if not 0 <= old <= new:
        raise IndexError(f"a tree of {new} leaves does not continue one of {old}")
    path: list[bytes] = []
    if old in (0, new):
        return path
    start, end, whole = 0, new, True
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            path.append(subtree(middle, end, node))
            end = middle
        else:
            path.append(subtree(start, middle, node))
            start, whole = middle, False
    if not whole:
        path.append(subtree(start, end, node))
    return path[::-1]


def root_from_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that an inclusion proof leads to, or None when the proof has the wrong shape (section 2.1.3.2)."""
    if not 0 <= index < size:
        return None
    roots = _climb(leaf, index, size - 1, path)
    return None if roots is None else roots[1]


def roots_from_consistency(old: int, new: int, old_root: bytes, path: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """The two roots that a consistency proof leads to, or None when its shape is wrong (section 2.1.4.2).

    A tree of zero leaves is continued by every tree and equal sizes by the same root: their proofs are empty, and the
    second root is then ``old_root`` (equal sizes) or unknown and given as b"" (nothing to compare).
    """
    if not 0 <= old <= new:
        return None
    if old in (0, new):
        if path:
            return None
        return (EMPTY_ROOT, b"") if old == 0 != new else (old_root, old_root)
    steps = [old_root, *path] if old & (old - 1) == 0 else list(path)
    if not steps:
        return None
    position, last = old - 1, new - 1
    while position & 1:
        position >>= 1
        last >>= 1
    return _climb(steps[0], position, last, steps[1:])


def _climb(node: bytes, position: int, last: int, path: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """The roots over a node and what is left of it, and over all, by the siblings on the way up. position: of the node
    on its level; last: of the last one there. None where the path has another length."""
    first = second = node
    for sibling in path:
        if last == 0:
            return None
        if position & 1 or position == last:
            first = node_hash(sibling, first)
            second = node_hash(sibling, second)
            while position and not position & 1:
                position >>= 1
                last >>= 1
        else:
            second = node_hash(second, sibling)
        position >>= 1
        last >>= 1
    return (first, second) if last == 0 else None
