"""The Merkle tree of RFC 9162, section 2.1: roots, inclusion and consistency proofs, and their verification.

A tree is given by a function ``node(level, index)``: the hash of the complete subtree over the leaves
``index * 2**level`` up to ``(index + 1) * 2**level``. Nothing here knows where leaves are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

Node = Callable[[int, int], bytes]

EMPTY_ROOT = sha256().digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: SHA-256(0x01 || left || right)."""
    return sha256(b"\x01" + left + right).digest()


def fold(hashes: Sequence[bytes]) -> bytes:
    """The root over 1, 2, 4 ... leaf hashes or inner nodes of one level."""
    while len(hashes) > 1:
        hashes = list(map(node_hash, hashes[::2], hashes[1::2]))
    return hashes[0]


def root(size: int, node: Node, start: int = 0) -> bytes:
    """The root over the leaves from ``start`` up to ``size`` (section 2.1.1). ``start`` is a multiple of the power of
    two that covers them."""
    if start == size:
        return EMPTY_ROOT
    level = (size - start).bit_length() - 1
    middle = start + (1 << level)
    first = node(level, start >> level)
    return first if middle == size else node_hash(first, root(size, node, middle))


def inclusion(index: int, size: int, node: Node) -> list[bytes]:
    """The proof that leaf ``index`` is in the tree of ``size`` leaves (section 2.1.3.1)."""
    if not 0 <= index < size:
        raise IndexError(f"leaf {index} is not in a tree of {size}")
    return _siblings(index + 1, size, node, False)


def consistency(old: int, new: int, node: Node) -> list[bytes]:
    """The proof that the tree of ``new`` leaves continues the tree of ``old`` leaves (section 2.1.4.1)."""
    if not 0 <= old <= new:
        raise IndexError(f"a tree of {new} leaves does not continue one of {old}")
    return [] if old in (0, new) else _siblings(old, new, node, True)


def _siblings(last: int, end: int, node: Node, is_subtree: bool) -> list[bytes]:
    """The siblings on the path from the leaf before ``last``, or from the subtree that ends there, up to the root over
    ``end`` leaves; where that subtree is not a tree's beginning, its own root comes first."""
    path: list[bytes] = []
    start = 0
    while last != end if is_subtree else end - start > 1:
        middle = start + (1 << ((end - start - 1).bit_length() - 1))  # the largest power of two that is smaller
        if last <= middle:
            path.append(root(end, node, middle))
            end = middle
        else:
            path.append(root(middle, node, start))
            start = middle
    if is_subtree and start:
        path.append(root(end, node, start))
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
    on its level; last: of the last one there. None if the path has another length."""
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
