"""The Merkle tree over a ledger's rows: read from stored nodes, or hashed again from the first row on."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import NamedTuple

from turnwire.ledger import hashing, merkle
from turnwire.ledger.schema import TILE, TILE_SIZE, first_link

_ROWS = "SELECT rowid, at, kind, key, body, chain FROM entries{} ORDER BY rowid"
_WHERE = {"missing": "rows", "type": "rows", "chain": "chain"}
_TEXT = {
    "missing": "the entry is missing",
    "type": "a value has another type than was written",
    "chain": "the entry is not what the chain says",
}


class Fault(NamedTuple):
    """The first place that fails. ``seq``: the entry, None where it is in no entry; ``where``: what was looked at."""

    where: str
    seq: int | None
    text: str


class ProofFailed(Exception):
    """The proof fails; ``fault`` says where."""

    def __init__(self, where: str, text: str, seq: int | None = None) -> None:
        self.fault = Fault(where, seq, text)


def _leaves(connection: sqlite3.Connection, after: int, last: int) -> list[bytes]:
    """The leaf hashes of the entries behind ``after``, up to ``last``."""
    query = "SELECT rowid, at, kind, key, body FROM entries WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
    return [hashing.leaf_of(*row) for row in connection.execute(query, (after, last))]


class Nodes:
    """The ledger's tree as :mod:`merkle` asks for it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.tiles: dict[int, list[bytes]] = {}

    def __call__(self, level: int, position: int) -> bytes:
        if level < TILE:
            return self._in_tile(level, position)
        if not level % TILE:
            query = "SELECT hash FROM nodes WHERE level = ? AND position = ?"
            row = self.connection.execute(query, (level, position)).fetchone()
            if row is not None:
                stored: bytes = row[0]
                return stored
        return self.computed(level, position)

    def computed(self, level: int, position: int) -> bytes:
        """The node from the two below it."""
        return merkle.node_hash(self(level - 1, position * 2), self(level - 1, position * 2 + 1))

    def _in_tile(self, level: int, position: int) -> bytes:
        tile, inside = divmod(position << level, TILE_SIZE)
        if tile not in self.tiles:
            self.tiles[tile] = _leaves(self.connection, tile * TILE_SIZE, (tile + 1) * TILE_SIZE)
        hashes = self.tiles[tile][inside : inside + (1 << level)]
        return hashing.fold(hashes)


class OpenTile:
    """The leaves of the tile that is not whole yet, each hashed once: a head goes on where the one before it ended."""

    def __init__(self) -> None:
        self._size = 0
        self._chain = b""
        self._leaves: list[bytes] = []

    def give(self, nodes: Nodes, size: int, chain: bytes) -> None:
        """Gives ``nodes`` the leaves of the open tile of a ledger of ``size`` entries; ``chain``: the link of the last.

        All are hashed anew where the last one that was hashed is not there with its link of the chain.
        """
        tile = size // TILE_SIZE
        if not self._goes_on(nodes.connection, tile * TILE_SIZE, size):
            self._size, self._leaves = tile * TILE_SIZE, []
        self._leaves += _leaves(nodes.connection, self._size, size)
        self._size, self._chain = size, chain
        nodes.tiles[tile] = self._leaves

    def _goes_on(self, connection: sqlite3.Connection, begin: int, size: int) -> bool:
        if not begin < self._size <= size:
            return False
        query = "SELECT chain FROM entries WHERE rowid = ?"
        return bool(connection.execute(query, (self._size,)).fetchone() == (self._chain,))


class HashedRows:
    """The chain and the tree over the rows that were read, of ``size`` entries; :meth:`go_on` reads what came since.

    seen: size -> (root, chain) there, both hex, for the sizes that were wanted.
    """

    def __init__(self, identity: str) -> None:
        self.size = 0
        self.chain = first_link(identity)
        self.nodes: dict[tuple[int, int], bytes] = {}
        self.seen: dict[int, tuple[str, str]] = {}
        self._tree = merkle.Frontier()

    def go_on(self, connection: sqlite3.Connection, wanted: Collection[int] = ()) -> None:
        """Reads the rows behind those that were read. Raises ProofFailed at the first that the chain does not fit."""
        if 0 in wanted:
            self.seen[0] = (self.root(), self.chain.hex())
        rows = connection.execute(_ROWS.format(f" WHERE rowid > {self.size}" if self.size else ""))
        while page := rows.fetchmany(TILE_SIZE):
            leaves, self.chain, wrong = hashing.follow(page, self.size, self.chain)
            for row, leaf in zip(page, leaves, strict=False):
                completed = self._tree.push(leaf)
                self.size += 1
                for level in range(TILE, len(completed), TILE):
                    self.nodes[level, (self.size >> level) - 1] = completed[level]
                if self.size in wanted:
                    self.seen[self.size] = (self.root(), row[5].hex())
            if wrong is not None:
                raise ProofFailed(_WHERE[wrong], _TEXT[wrong], self.size + 1)

    def root(self) -> str:
        """The tree head (hex) over what was read."""
        return self._tree.root().hex()
