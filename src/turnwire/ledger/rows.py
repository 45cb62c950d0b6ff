"""The rows of a ledger: their hashes, the chain that proves each, and the Merkle tree over all.

entry  = seq (8 bytes) at (8) length of kind (2) length of key (4) kind key body      big-endian, UTF-8
leaf   = SHA-256(0x00 entry)          a leaf of RFC 9162
chain  = SHA-256(0x02 previous leaf)  the hash chain

The cost of proving a row by its link and the previous one does not depend on the later rows. If somebody
rewrites a row, its link and all later rows, only a head that was saved elsewhere reveals it.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from turnwire.errors import Reason, RuleError, expect
from turnwire.ledger import merkle
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
                self._tiles.append(merkle.fold(self._open))
                self._open = []

    def sized(self, size: int | None) -> int:
        """The number of rows that is asked for; None: all. Raises IndexError for more than there are."""
        if size is not None and size > self.size:
            raise IndexError(f"the ledger has {self.size} entries, not {size}")
        return self.size if size is None else size

    def nodes(self, connection: sqlite3.Connection) -> merkle.Node:
        """The tree over these rows. Leaves of whole tiles are hashed again, from a connection that still has them;
        raises RuleError(ledger_broken) if they are not those that were proved."""

        @cache
        def leaves_of(tile: int) -> Sequence[bytes]:
            if tile == len(self._tiles):
                return self._open
            end = (tile + 1) * TILE_SIZE
            found = [_stored_leaf(*row) or b"" for row in connection.execute(_TILE, (end - TILE_SIZE, end))]
            if len(found) < TILE_SIZE or merkle.fold(found) != self._tiles[tile]:
                raise broken(f"the entries up to {end} have changed since they were proved")
            return found

        def node(level: int, position: int) -> bytes:
            if level >= TILE:
                return merkle.fold(self._tiles[position << (level - TILE) : (position + 1) << (level - TILE)])
            tile, inside = divmod(position << level, TILE_SIZE)
            return merkle.fold(leaves_of(tile)[inside : inside + (1 << level)])

        return node

    def root(self, connection: sqlite3.Connection, size: int | None = None) -> bytes:
        """The tree head over the first ``size`` rows, or over all."""
        return merkle.root(self.size if size is None else size, self.nodes(connection))

    def require_continues(self, connection: sqlite3.Connection, head: Checkpoint) -> None:
        """Raises ProofFailed if these rows do not begin with those of a kept head."""
        expect(head, Checkpoint, "after must be a Checkpoint")
        if head.ledger != self.identity:
            raise ProofFailed("head", f"the saved head is of ledger {head.ledger}, this is {self.identity}")
        if head.size > self.size:
            text = f"the saved head has {head.size} entries, the file has {self.size}: it was truncated"
            raise ProofFailed("head", text, self.size + 1)
        row = connection.execute("SELECT chain FROM entries WHERE rowid = ?", (head.size,)).fetchone()
        chain = (row or (self._first_link,))[0].hex()
        if head.size < 0 or (chain, self.root(connection, head.size).hex()) != (head.chain, head.root):
            raise ProofFailed("head", f"the first {head.size} entries are not those of the saved head")
