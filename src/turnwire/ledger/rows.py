"""The rows of a ledger: their hashes, the chain that proves each, and the Merkle tree over all (RFC 9162, section 2.1)
with its proofs.

entry  = seq (8 bytes) at (8) length of kind (2) length of key (4) kind key body      big-endian, UTF-8
leaf   = SHA-256(0x00 entry)          a leaf of RFC 9162
chain  = SHA-256(0x02 previous leaf)  the hash chain

The cost of proving a row by its link and the previous one does not depend on the later rows. If somebody
rewrites a row, its link and all later rows, only a head that was saved elsewhere reveals it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from turnwire.errors import Reason, RuleError

if TYPE_CHECKING:
    import sqlite3

    from turnwire.ledger.checkpoint import Checkpoint

FORMAT = "2"
SELECT = (
    "SELECT (SELECT chain FROM entries AS before WHERE before.rowid = entries.rowid - 1), "
    "rowid, at, kind, key, body, chain FROM entries"
)
"""The link before an entry, and its values."""
_BEHIND = "SELECT rowid, at, kind, key, body, chain FROM entries WHERE rowid > ? ORDER BY rowid"
_TILE = "SELECT rowid, at, kind, key, body FROM entries WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
TILE = 8
"""The level of the inner nodes that are kept: one for 256 leaves."""
TILE_SIZE = 1 << TILE
Node = Callable[[int, int], bytes]
"""``node(level, index)``: the hash of the complete subtree over the leaves ``index * 2**level`` up to
``(index + 1) * 2**level``."""
EMPTY_ROOT = sha256().digest()
_HEAD = struct.Struct(">cQqHI")

Row = tuple[int, int, str, str, bytes, bytes]  # seq, at, kind, key, body, chain


class Fault(NamedTuple):
    """The first failure. ``seq``: the entry, or None; ``where``: the part that was checked."""

    where: str
    seq: int | None
    text: str


class ProofFailed(Exception):
    """The proof fails; ``fault`` says where."""

    def __init__(self, where: str, text: str, seq: int | None = None) -> None:
        self.fault = Fault(where, seq, text)


class Entry(NamedTuple):
    """One entry. seq: 1, 2, 3 ...; at: UTC microseconds since 1970; key: the name for :meth:`Ledger.find` ("" for
    none)."""

    seq: int
    at: int
    kind: str
    key: str
    body: bytes
    chain: bytes

    @property
    def leaf(self) -> bytes:
        """The leaf hash of this entry, as in its inclusion proof."""
        return leaf_of(self.seq, self.at, self.kind, self.key, self.body)

    def json(self) -> Any:
        """Returns the body, parsed as JSON."""
        return msgspec.json.decode(self.body)


def broken(text: str) -> RuleError:
    """RuleError(ledger_broken) with these words."""
    return RuleError(Reason.LEDGER_BROKEN, text, rule="ledger")


def refused(fault: Fault) -> RuleError:
    """RuleError(ledger_broken) with the words of a fault."""
    return broken(f"{fault.where}{'' if fault.seq is None else f' at entry {fault.seq}'}: {fault.text}")


def first_link(ledger_id: str) -> bytes:
    """The start of a ledger's chain: two ledgers never share a chain."""
    return sha256(f"turnwire ledger {FORMAT}\n{ledger_id}".encode()).digest()


def leaf_of(seq: int, at: int, kind: str, key: str, body: bytes) -> bytes:
    """The leaf hash of an entry. at: UTC microseconds since 1970."""
    kind_bytes, key_bytes = kind.encode(), key.encode()
    head = _HEAD.pack(b"\x00", seq, at, len(kind_bytes), len(key_bytes))
    return sha256(head + kind_bytes + key_bytes + body).digest()


def link(previous: bytes, leaf: bytes) -> bytes:
    """The next link of the hash chain."""
    return sha256(b"\x02" + previous + leaf).digest()


def _stored_leaf(seq: Any, at: Any, kind: Any, key: Any, body: Any) -> bytes | None:
    """The leaf hash of a stored row; None for types, lengths and times that were never written."""
    try:
        return leaf_of(seq, at, kind, key, body)
    except (struct.error, UnicodeEncodeError, AttributeError, TypeError):
        return None


def seal(last: int, at: int, items: Sequence[tuple[str, bytes, str]], chain: bytes) -> tuple[list[Row], bytes]:
    """Rows for (kind, body, key) items that follow entry ``last``, and the chain after them."""
    rows: list[Row] = []
    for seq, (kind, body, key) in enumerate(items, last + 1):
        chain = link(chain, leaf_of(seq, at, kind, key, body))
        rows.append((seq, at, kind, key, body, chain))
    return rows, chain


def proved(row: tuple[Any, ...], first_link: bytes) -> Entry:
    """The entry of a row of :data:`SELECT`. Raises RuleError(ledger_broken) if its link is not that of its content
    after the link before it; first_link: the one before the first entry."""
    before, seq, *values, chain = row
    if seq == 1:
        before = first_link
    leaf = _stored_leaf(seq, *values)
    if type(before) is not bytes or leaf is None or link(before, leaf) != chain:
        raise broken(f"entry {seq} is not the one that was appended: its link does not match the chain")
    return Entry(*row[1:])


def last_link(connection: sqlite3.Connection, first_link: bytes) -> tuple[int, bytes]:
    """The number of the last entry, which is proved, and its link of the chain; (0, the first link) if there is
    none. Raises RuleError(ledger_broken)."""
    row = connection.execute(f"{SELECT} ORDER BY rowid DESC LIMIT 1").fetchone()
    if row is None:
        return 0, first_link
    last = proved(row, first_link)
    return last.seq, last.chain


def require_continued(connection: sqlite3.Connection, size: int, link: bytes) -> None:
    """Raises RuleError(ledger_broken) if entry ``size`` is not there with that link of the chain."""
    if size and connection.execute("SELECT chain FROM entries WHERE rowid = ?", (size,)).fetchone() != (link,):
        raise broken(f"the file does not continue the {size} entries that it had")


# --- the tree ---------------------------------------------------------------------------------------------------------


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


# --- what was proved --------------------------------------------------------------------------------------------------


class ProvedRows:
    """The rows of a ledger that were read and proved, from the first on: their chain and their tree.

    identity: of the ledger. size, chain: how many rows, and the link of the last.
    """

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.size = 0
        self.chain = self._first_link = first_link(identity)
        self._tiles: list[bytes] = []
        self._open: list[bytes] = []  # leaves behind the last whole tile

    def go_on(self, connection: sqlite3.Connection) -> None:
        """Reads the rows after those that were read. Raises ProofFailed at the first that the chain does not fit."""
        for seq, *values, chain in connection.execute(_BEHIND, (self.size,)):
            expected = self.size + 1
            if seq != expected:
                raise ProofFailed("rows", "the entry is missing", expected)
            leaf = _stored_leaf(seq, *values)
            if leaf is None:
                raise ProofFailed("rows", "the type of a value was changed", expected)
            following = link(self.chain, leaf)
            if following != chain:
                raise ProofFailed("chain", "the entry does not match the chain", expected)
            self.chain, self.size = following, expected
            self._open.append(leaf)
            if len(self._open) == TILE_SIZE:
                self._tiles.append(fold(self._open))
                self._open = []

    def sized(self, size: int | None) -> int:
        """The number of rows that is asked for; None: all. Raises IndexError for more than there are."""
        if size is not None and size > self.size:
            raise IndexError(f"the ledger has {self.size} entries, not {size}")
        return self.size if size is None else size

    def nodes(self, connection: sqlite3.Connection) -> Node:
        """The tree over these rows. Leaves of whole tiles are hashed again, from a connection that still has them;
        raises RuleError(ledger_broken) if they are not those that were proved."""

        @cache
        def leaves_of(tile: int) -> Sequence[bytes]:
            if tile == len(self._tiles):
                return self._open
            end = (tile + 1) * TILE_SIZE
            found = [_stored_leaf(*row) or b"" for row in connection.execute(_TILE, (end - TILE_SIZE, end))]
            if len(found) < TILE_SIZE or fold(found) != self._tiles[tile]:
                raise broken(f"the entries up to {end} have changed since they were proved")
            return found

        def node(level: int, position: int) -> bytes:
            if level >= TILE:
                return fold(self._tiles[position << (level - TILE) : (position + 1) << (level - TILE)])
            tile, inside = divmod(position << level, TILE_SIZE)
            return fold(leaves_of(tile)[inside : inside + (1 << level)])

        return node

    def root(self, connection: sqlite3.Connection, size: int | None = None) -> bytes:
        """The tree head over the first ``size`` rows, or over all."""
        return root(self.size if size is None else size, self.nodes(connection))

    def require_continues(self, connection: sqlite3.Connection, head: Checkpoint) -> None:
        """Raises ProofFailed if these rows do not begin with those of a kept head."""
        if head.ledger != self.identity:
            raise ProofFailed("head", f"the saved head is of ledger {head.ledger}, this is {self.identity}")
        if head.size > self.size:
            text = f"the saved head has {head.size} entries, the file has {self.size}: it was truncated"
            raise ProofFailed("head", text, self.size + 1)
        row = connection.execute("SELECT chain FROM entries WHERE rowid = ?", (head.size,)).fetchone()
        chain = (row or (self._first_link,))[0].hex()
        if head.size < 0 or (chain, self.root(connection, head.size).hex()) != (head.chain, head.root):
            raise ProofFailed("head", f"the first {head.size} entries are not those of the saved head")
