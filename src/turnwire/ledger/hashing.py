"""Hashing of ledger entries.

entry  = seq (8 bytes) at (8) length of kind (2) length of key (4) kind key body      big-endian, UTF-8
leaf   = SHA-256(0x00 entry)          a leaf of RFC 9162
node   = SHA-256(0x01 left right)     an inner node of RFC 9162
chain  = SHA-256(0x02 previous leaf)  the hash chain
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

_HEAD = struct.Struct(">cQqHI")

MISSING, TYPE, CHAIN = "missing", "type", "chain"
"""The faults that :func:`follow` finds in a row."""

Row = tuple[int, int, str, str, bytes, bytes]  # seq, at, kind, key, body, chain


def leaf_of(seq: int, at: int, kind: str, key: str, body: bytes) -> bytes:
    """The leaf hash of an entry. at: UTC microseconds since 1970."""
    kind_bytes, key_bytes = kind.encode(), key.encode()
    head = _HEAD.pack(b"\x00", seq, at, len(kind_bytes), len(key_bytes))
    return sha256(head + kind_bytes + key_bytes + body).digest()


def link(previous: bytes, leaf: bytes) -> bytes:
    """The next link of the hash chain."""
    return sha256(b"\x02" + previous + leaf).digest()


def seal(
    last: int, at: int, items: Sequence[tuple[str, bytes, str]], chain: bytes
) -> tuple[list[Row], list[bytes], bytes]:
    """Rows for (kind, body, key) items that follow entry ``last``, their leaf hashes, and the chain after them."""
    rows: list[Row] = []
    leaves: list[bytes] = []
    for kind, body, key in items:
        last += 1
        leaf = leaf_of(last, at, kind, key, body)
        chain = link(chain, leaf)
        rows.append((last, at, kind, key, body, chain))
        leaves.append(leaf)
    return rows, leaves, chain


def follow(rows: Sequence[tuple[Any, ...]], last: int, chain: bytes) -> tuple[list[bytes], bytes, str | None]:
    """Checks stored rows that should follow entry ``last``.

    Returns the leaf hashes of the rows that are right, the chain after them, and what is wrong with the next one:
    "missing" (its number), "type" (a value's type), "chain" (its content), or None when all are right.
    """
    leaves: list[bytes] = []
    for seq, at, kind, key, body, stored in rows:
        last += 1
        if seq != last:
            return leaves, chain, MISSING
        if type(at) is not int or type(kind) is not str or type(key) is not str or type(body) is not bytes:
            return leaves, chain, TYPE
        try:
            leaf = leaf_of(seq, at, kind, key, body)
        except (struct.error, UnicodeEncodeError):  # lengths and times that were never written
            return leaves, chain, TYPE
        following = link(chain, leaf)
        if following != stored:
            return leaves, chain, CHAIN
        chain = following
        leaves.append(leaf)
    return leaves, chain, None


def link_of(before: bytes, seq: int, at: int, kind: str, key: str, body: bytes) -> bytes | None:
    """The link of an entry behind the link ``before``; None for types, lengths and times that were never written."""
    try:
        return link(before, leaf_of(seq, at, kind, key, body))
    except (struct.error, UnicodeEncodeError, AttributeError, TypeError):
        return None


def fold(leaves: Sequence[bytes]) -> bytes:
    """The root over 1, 2, 4 ... leaf hashes or inner nodes of one level."""
    while len(leaves) > 1:
        pairs = range(0, len(leaves), 2)
        leaves = [sha256(b"\x01" + leaves[at] + leaves[at + 1]).digest() for at in pairs]
    return leaves[0]
