"""The nodes of a ledger's tree: stored inner nodes, leaves hashed again from their rows."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from turnwire import _backend
from turnwire.ledger import merkle
from turnwire.ledger.schema import TILE

if TYPE_CHECKING:
    from turnwire.ledger import _hashing_py as _core
else:
    _core = _backend.load("ledger.hashing")

_TILE_SIZE = 1 << TILE


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
        tile, inside = divmod(position << level, _TILE_SIZE)
        if tile not in self.tiles:
            first = tile * _TILE_SIZE + 1
            query = "SELECT rowid, at, kind, key, body FROM entries WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
            rows = self.connection.execute(query, (first, first + _TILE_SIZE - 1))
            self.tiles[tile] = [_core.leaf_of(*row) for row in rows]
        hashes = self.tiles[tile][inside : inside + (1 << level)]
        return _core.fold(hashes)


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
        tile = size // _TILE_SIZE
        if not self._goes_on(nodes.connection, tile * _TILE_SIZE, size):
            self._size, self._leaves = tile * _TILE_SIZE, []
        query = "SELECT rowid, at, kind, key, body FROM entries WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
        self._leaves += [_core.leaf_of(*row) for row in nodes.connection.execute(query, (self._size, size))]
        self._size, self._chain = size, chain
        nodes.tiles[tile] = self._leaves

    def _goes_on(self, connection: sqlite3.Connection, begin: int, size: int) -> bool:
        if not begin < self._size <= size:
            return False
        query = "SELECT chain FROM entries WHERE rowid = ?"
        return bool(connection.execute(query, (self._size,)).fetchone() == (self._chain,))
